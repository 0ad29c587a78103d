/** Bodies: `Gathered` collects their bytes, and `readBody` reads the body of a request, and stops as soon as the body is too large. */
import type { Readable } from 'node:stream';
import { GatewayError } from '../errors.ts';

const mebibyte = 1_048_576;
const sizeOf = (bytes: number): string => (bytes % mebibyte === 0 ? `${bytes / mebibyte} MiB` : `${bytes} bytes`);

const tooLarge = (limit: number): GatewayError =>
  new GatewayError('request_too_large', `The request body is larger than ${sizeOf(limit)}.`, { headers: { connection: 'close' } });

const brokenOff = (cause?: unknown): GatewayError =>
  new GatewayError('client_closed', 'The client closed the connection before its request was complete.', { cause });

/** A part with fewer bytes is copied. */
const smallPart = 4096;
const blockBytes = 65_536;
const noRoom = Buffer.alloc(0);

/**
 * The bytes of a body while they come.
 * safety: a body may come in parts of one byte. Each part takes 350 bytes of memory, or keeps the whole buffer in which it was read from
 * the socket. A body of 30 MB in parts of one byte would take 10 GB.
 */
export class Gathered {
  size = 0;
  readonly #parts: Buffer[] = [];
  /** The buffer into which the next small parts are copied. */
  #room: Buffer = noRoom;
  #used = 0;

  add(part: Buffer): void {
    this.size += part.length;
    // cost: most bodies come in one part
    if (part.length >= smallPart || this.size === part.length) {
      this.#closeBlock();
      this.#parts.push(part);
      return;
    }
    if (this.#used + part.length > this.#room.length) {
      this.#closeBlock();
      this.#room = Buffer.allocUnsafeSlow(blockBytes);
    }
    this.#used += part.copy(this.#room, this.#used);
  }

  /** All bytes so far. */
  whole(): Buffer {
    this.#closeBlock();
    const [first] = this.#parts;
    return first !== undefined && this.#parts.length === 1 ? first : Buffer.concat(this.#parts, this.size);
  }

  /** Drops all bytes. */
  clear(): void {
    this.#parts.length = 0;
    this.#room = noRoom;
    this.#used = 0;
    this.size = 0;
  }

  #closeBlock(): void {
    if (this.#used === 0) return;
    this.#parts.push(this.#room.subarray(0, this.#used));
    this.#room = this.#room.subarray(this.#used);
    this.#used = 0;
  }
}

interface BodyBounds {
  /** Bytes. */
  readonly limit: number;
  /** The header `content-length`. */
  readonly announced: string | undefined;
  /**
   * Called with a number of bytes before they are kept: once for a body whose
   * length is announced, else for each part. It throws where there is no room.
   */
  readonly hold?: (bytes: number) => void;
}

/** Reads at most `limit` bytes. Throws `request_too_large`, without reading, for a body whose `content-length` announces more. */
export async function readBody(source: Readable, { limit, announced, hold }: BodyBounds): Promise<Buffer> {
  if (announced !== undefined) {
    const length = Number(announced);
    if (length > limit) throw tooLarge(limit);
    hold?.(length);
  }
  return await new Promise((resolve, reject) => {
    const parts = new Gathered();
    let size = 0;
    let isRefused = false;
    const stop = (error: unknown): void => {
      source.removeAllListeners('data').pause();
      reject(error);
    };
    const onData = (part: Buffer): void => {
      size += part.length;
      if (isRefused) return void (size > limit && source.destroy());
      if (size > limit) return stop(tooLarge(limit));
      try {
        if (announced === undefined) hold?.(part.length);
        parts.add(part);
      } catch (error) {
        // the reply keeps the connection open, so the rest of the body is read and dropped: the next request comes after it
        isRefused = true;
        parts.clear();
        reject(error);
      }
    };
    // cost: `end` removes this listener, because every request emits `close` after its end, and an error captures its stack
    const onClose = (): void => reject(brokenOff());
    const onError = (error: Error): void => reject(brokenOff(error));
    source.on('data', onData);
    source.once('end', () => {
      // an idle connection keeps its last request, and must not keep the texts of it
      source.off('close', onClose).off('data', onData).off('error', onError).on('error', ignored);
      if (!isRefused) resolve(parts.whole());
    });
    source.once('error', onError);
    source.once('close', onClose);
  });
}

const ignored = (): void => {};
