/** Reads a request body, and stops as soon as it is too large. */
import type { Readable } from 'node:stream';
import { GatewayError } from '../errors.ts';

const mebibytes = (bytes: number): string => (bytes >= 1_048_576 ? `${Math.floor(bytes / 1_048_576)} MiB` : `${bytes} bytes`);

const tooLarge = (limit: number): GatewayError =>
  new GatewayError('request_too_large', `The request body is larger than ${mebibytes(limit)}.`, { headers: { connection: 'close' } });

const brokenOff = (cause?: unknown): GatewayError => new GatewayError('client_closed', 'The client closed the connection before its request was complete.', { cause });

export interface BodyBounds {
  /** Bytes. */
  readonly limit: number;
  /** The header `content-length`. */
  readonly announced: string | undefined;
  /** Called with a number of bytes before they are kept: once for a body whose length is announced, else for each part. It throws where there is no room. */
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
    const parts: Buffer[] = [];
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
        parts.push(part);
      } catch (error) {
        // the reply keeps the connection, so the rest is read and let go: the next request comes behind it
        isRefused = true;
        parts.length = 0;
        reject(error);
      }
    };
    // cost: every request closes after its end, and an error captures its stack
    const onClose = (): void => reject(brokenOff());
    const onError = (error: Error): void => reject(brokenOff(error));
    source.on('data', onData);
    source.once('end', () => {
      // an idle connection keeps its last request, and must not keep the texts of it
      source.off('close', onClose).off('data', onData).off('error', onError).on('error', ignored);
      if (!isRefused) resolve(parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts, size));
    });
    source.once('error', onError);
    source.once('close', onClose);
  });
}

const ignored = (): void => {};
