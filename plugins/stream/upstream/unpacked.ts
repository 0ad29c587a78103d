/** Unpacks compressed answers. The gateway asks for `identity`, but some servers compress their answers nevertheless. */
import { pipeline, Readable } from 'node:stream';
import type { Duplex } from 'node:stream';
import { constants, createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib';
import { invalidAnswer } from '../../../core/wire/upstream-error.ts';
import type { Bytes, HttpAnswer } from './http-answer.ts';

const decompressors: ReadonlyMap<string, () => Duplex> = new Map<string, () => Duplex>([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['br', createBrotliDecompress],
  ['deflate', createInflate],
  // safety: without this limit zstd may take 128 MB for one answer; HTTP allows a window of at most 8 MB (RFC 9659)
  ['zstd', () => createZstdDecompress({ params: { [constants.ZSTD_d_windowLogMax]: 23 } })],
]);

/**
 * Names that change nothing in the bytes.
 * wire: `none` keeps compression by a framework off (vercel/ai, pull request
 * 17007), `utf-8` is a mistake for a charset (locustio/locust, issue 1233).
 */
const plain: readonly string[] = ['', 'identity', 'none', 'utf-8'];

// safety: each coding of `content-encoding` costs memory, and the header has room for thousands
const mostCodings = 3;

/** The bytes of an answer, unpacked. The limits of size apply to the unpacked bytes. */
export function bytesOf(answer: HttpAnswer): Bytes {
  const header = answer.headers['content-encoding'];
  if (header === undefined) return answer;
  const codings = String(header)
    .toLowerCase()
    .split(',')
    .map((coding) => coding.trim())
    .filter((coding) => !plain.includes(coding));
  if (codings.length === 0) return answer;
  const unpackers = codings.toReversed().map((coding) => decompressors.get(coding));
  if (unpackers.length > mostCodings || unpackers.includes(undefined)) {
    throw invalidAnswer(`a compressed answer that cannot be unpacked: its coding is "${codings.join(', ').slice(0, 100)}"`);
  }
  // the reader of the last stream gets the error of any of them
  const stream = pipeline([streamOf(answer), ...unpackers.map((unpack) => (unpack as () => Duplex)())], () => {});
  return new UnpackedBytes(answer, stream as Duplex);
}

function streamOf(answer: HttpAnswer): Readable {
  return new Readable({
    async read() {
      try {
        await answer.ready();
        this.push(answer.take());
      } catch (thrown) {
        this.destroy(thrown as Error);
      }
    },
    destroy(error, done) {
      answer.cancel();
      done(error);
    },
  });
}

class UnpackedBytes implements Bytes {
  isOver = false;
  readonly #answer: HttpAnswer;
  readonly #stream: Readable;
  readonly #parts: AsyncIterator<Buffer>;
  #part: Buffer | null = null;
  #error: unknown = null;

  constructor(answer: HttpAnswer, stream: Readable) {
    this.#answer = answer;
    // safety: an error without a pending read would end the process; the next read throws it
    this.#stream = stream.on('error', () => {});
    this.#parts = stream[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  }

  async ready(): Promise<void> {
    if (this.#part !== null || this.isOver || this.#error !== null) return;
    try {
      const { value, done } = await this.#parts.next();
      this.isOver = done === true;
      this.#part = this.isOver ? null : (value as Buffer);
    } catch (thrown) {
      this.#error = thrown;
    }
  }

  peek(): Buffer | null {
    return this.#part;
  }

  skip(count: number): void {
    const part = this.#part;
    this.#part = part === null || count >= part.length ? null : part.subarray(count);
  }

  take(): Buffer | null {
    if (this.#error !== null) throw this.#error;
    const part = this.#part;
    this.#part = null;
    return part;
  }

  cancel(): void {
    this.#stream.destroy();
  }

  release(): void {
    this.#answer.release();
  }
}

const codeOf = (thrown: unknown): string => (thrown as { code?: string }).code ?? '';

/** Whether the error comes from unpacking, by the codes of zlib and zstd. */
export const isUnpacking = (thrown: unknown): boolean => /^(?:Z_|ERR__|ZSTD_)/.test(codeOf(thrown));

/** Whether the bytes are not of the compression that the header names. Bytes that only end too early are truncated, not malformed. */
export const isMalformed = (thrown: unknown): boolean => isUnpacking(thrown) && codeOf(thrown) !== 'Z_BUF_ERROR';
