/** Turns the HTTP answer of a provider into chunks: a stream of events, one JSON body, or an error. Each form has a limit of bytes. */
import type { Duplex, Readable } from 'node:stream';
import { constants, createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib';
import type { Dispatcher } from 'undici';
import type { Chunk } from '../../../core/chat.ts';
import type { Limits } from '../../../core/config.ts';
import type { Dialect, Target, WireEvent, WireRequest } from '../../../core/wire/dialect.ts';
import { GatewayError } from '../../../core/errors.ts';
import type { ChunkSource } from '../../../core/pipeline/hooks.ts';
import { createSseReader } from '../../../core/wire/sse.ts';
import { unreachable } from './connection.ts';

/** What reading an answer needs: the request as it was sent, and how to decode its answer. */
export interface AnswerParts {
  readonly wire: WireRequest;
  readonly dialect: Dialect;
  readonly target: Target;
  readonly limits: Limits;
}

const decompressors: ReadonlyMap<string, () => Duplex> = new Map<string, () => Duplex>([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['br', createBrotliDecompress],
  ['deflate', createInflate],
  // safety: without this limit zstd may take 128 MB for one answer; HTTP allows a window of at most 8 MB (RFC 9659)
  ['zstd', () => createZstdDecompress({ params: { [constants.ZSTD_d_windowLogMax]: 23 } })],
]);

// safety: each coding of `content-encoding` costs memory, and the header has room for thousands
const mostCodings = 3;

/** The bytes of an answer, unpacked. The gateway asks for `identity`, but some servers compress all the same. The limits of size apply to the unpacked bytes. */
function bytesOf({ headers, body }: Dispatcher.ResponseData): Readable {
  const codings = String(headers['content-encoding'] ?? '').toLowerCase().split(',').map((coding) => coding.trim()).filter((coding) => coding !== '' && coding !== 'identity');
  let bytes: Readable = body;
  for (const [at, coding] of codings.toReversed().entries()) {
    const unpack = decompressors.get(coding);
    if (unpack === undefined || at >= mostCodings) {
      bytes.destroy();
      throw new GatewayError('upstream_invalid_response', `The provider sent a compressed answer that cannot be unpacked: its coding is "${codings.join(', ').slice(0, 100)}".`);
    }
    bytes = through(bytes, unpack());
  }
  return bytes;
}

/** Pipes one stream into another; where one of the two ends by an error, so does the other. */
function through(packed: Readable, unpacked: Duplex): Readable {
  packed.once('error', (error) => unpacked.destroy(error));
  unpacked.once('close', () => packed.destroy());
  return packed.pipe(unpacked);
}

const codeOf = (thrown: unknown): string => (thrown as { code?: string }).code ?? '';

/** The error codes of zlib and zstd. */
const unpacking = /^(?:Z_|ERR__|ZSTD_)/;

/** Whether the bytes are not of the compression that the header names. Bytes that only end too early are truncated, not malformed. */
const isMalformed = (thrown: unknown): boolean => unpacking.test(codeOf(thrown)) && codeOf(thrown) !== 'Z_BUF_ERROR';

function truncated(thrown: unknown): GatewayError {
  if (GatewayError.is(thrown)) return thrown;
  if (isMalformed(thrown)) return new GatewayError('upstream_invalid_response', 'The provider sent a compressed answer that cannot be unpacked.', { cause: thrown });
  return new GatewayError('upstream_truncated', 'The connection to the provider broke in the middle of its answer.', { cause: thrown });
}

/** The error of an answer with status 400 or more, as the dialect decodes it. A body that is longer than 64 KiB or breaks off counts as far as it was read. Never rejects. */
export async function failure(answer: Dispatcher.ResponseData, { dialect, target }: AnswerParts): Promise<GatewayError> {
  const text = await readError(answer);
  return dialect.decodeError({ status: answer.statusCode, headers: answer.headers, body: parsed(text) }, target);
}

const errorBytes = 65_536;

/** The first 64 KiB of an error body, or less if it is shorter or breaks off. */
async function readError(answer: Dispatcher.ResponseData): Promise<string> {
  const parts: Buffer[] = [];
  try {
    await readParts(bytesOf(answer), parts);
  } catch {
    // the body broke off or cannot be unpacked; the status and what came before say what is wrong
  }
  return new TextDecoder().decode(Buffer.concat(parts).subarray(0, errorBytes), { stream: true });
}

async function readParts(bytes: Readable, parts: Buffer[]): Promise<void> {
  const reads = createReads(bytes, truncated);
  try {
    for (let size = 0; size <= errorBytes; ) {
      const part = await reads.next();
      if (part === null) return;
      parts.push(part);
      size += part.length;
    }
  } finally {
    bytes.destroy();
  }
}

/** Collects the bytes of a body, up to a limit. */
class Body {
  size = 0;
  readonly #parts: Buffer[] = [];
  readonly #limit: number;

  constructor(limit: number) {
    this.#limit = limit;
  }

  add(part: Buffer): void {
    this.size += part.length;
    if (this.size > this.#limit) throw new GatewayError('upstream_response_too_large', `The provider's answer is larger than ${this.#limit} bytes.`);
    this.#parts.push(part);
  }

  text(): string {
    return Buffer.concat(this.#parts, this.size).toString('utf8');
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // the body is not JSON, for example the HTML page of a proxy; the dialect gets it as a text
    return text;
  }
}

/** The source of a plain answer, one JSON body. Its chunks come all at once, when the whole body has come. */
export function bodySource(answer: Dispatcher.ResponseData, { dialect, target, wire, limits }: AnswerParts): ChunkSource {
  const bytes = bytesOf(answer);
  const body = new Body(limits.upstreamBody);
  const reads = createReads(bytes, (thrown) => (body.size === 0 && !unpacking.test(codeOf(thrown)) ? unreachable(thrown) : truncated(thrown)));
  let isOver = false;
  return {
    adjustments: wire.adjustments,
    async read() {
      if (isOver) return null;
      const part = await reads.next();
      if (part !== null) {
        body.add(part);
        return [];
      }
      isOver = true;
      return decodeBody(body.text(), { dialect, target });
    },
    cancel: () => void bytes.destroy(),
  };
}

function decodeBody(text: string, { dialect, target }: { dialect: Dialect; target: Target }): readonly Chunk[] {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch (cause) {
    throw new GatewayError('upstream_invalid_response', 'The provider did not answer with valid JSON.', { cause });
  }
  return dialect.decodeBody(body, target);
}

/** The source of a streamed answer. Each read returns the chunks of the bytes that came together. */
export async function streamSource(answer: Dispatcher.ResponseData, { dialect, target, wire, limits }: AnswerParts): Promise<ChunkSource> {
  const bytes = bytesOf(answer);
  const bounds = { maxEventBytes: limits.upstreamEvent };
  const events = dialect.frames === undefined ? createSseReader(bounds) : await dialect.frames(bounds);
  const decoder = dialect.decoder(target);
  const reads = createReads(bytes, truncated);
  const state: { failed: GatewayError | null; isOver: boolean } = { failed: null, isOver: false };

  const decode = (list: readonly WireEvent[]): Chunk[] => {
    const chunks: Chunk[] = [];
    try {
      for (const event of list) for (const chunk of decoder.push(event)) chunks.push(chunk);
    } catch (thrown) {
      // the chunks before the broken event are returned first; the next read throws
      state.failed = GatewayError.from(thrown);
    }
    return chunks;
  };

  return {
    adjustments: wire.adjustments,
    async read() {
      if (state.failed !== null) throw state.failed;
      if (state.isOver) return null;
      const part = await reads.next();
      const chunks = decode(part === null ? events.end() : events.push(part));
      if (state.failed === null && (part === null || decoder.done === true)) {
        state.isOver = true;
        chunks.push(...decoder.end());
        if (part !== null) release(bytes);
      }
      if (state.failed !== null && chunks.length === 0) throw state.failed;
      return chunks;
    },
    cancel: () => void bytes.destroy(),
  };
}

/** Reads the rest of a complete answer, so that the connection can be used again. After a second the connection is closed instead. */
function release(bytes: Readable): void {
  const timer = setTimeout(() => bytes.destroy(), 1000);
  bytes.once('close', () => clearTimeout(timer));
  bytes.resume();
}

/**
 * Reads a stream part by part: `next` returns all bytes that are buffered, or null at the end. `fault` turns an error of the stream
 * into the error that `next` throws.
 * cost: an async iterator would make several promises for each part; this has one listener for the whole stream.
 */
function createReads(bytes: Readable, fault: (thrown: unknown) => GatewayError): { next(): Promise<Buffer | null> } {
  let ended = false;
  let error: unknown = null;
  let wake: (() => void) | null = null;
  const wakeReader = (): void => {
    wake?.();
    wake = null;
  };
  bytes.on('readable', wakeReader);
  bytes.once('end', () => {
    ended = true;
    wakeReader();
  });
  bytes.once('error', (thrown) => {
    error = thrown;
    wakeReader();
  });
  bytes.once('close', wakeReader);
  return {
    async next() {
      for (;;) {
        const part = bytes.read() as Buffer | null;
        if (part !== null) return part;
        if (error !== null) throw fault(error);
        if (ended) return null;
        if (bytes.destroyed) throw fault(new Error('closed'));
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
  };
}
