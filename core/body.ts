/** A request body: bounded while it arrives, checked before it is parsed. */
import { isUtf8 } from 'node:buffer';
import type { Readable } from 'node:stream';
import { GatewayError } from './errors.ts';

const mebibytes = (bytes: number): string => (bytes >= 1_048_576 ? `${Math.floor(bytes / 1_048_576)} MiB` : `${bytes} bytes`);

const tooLarge = (limit: number): GatewayError =>
  new GatewayError('request_too_large', `The request body is larger than ${mebibytes(limit)}.`, { headers: { connection: 'close' } });

const brokenOff = (cause?: unknown): GatewayError => new GatewayError('client_closed', 'The client closed the connection before its request was complete.', { cause });

/** Reads at most `limit` bytes. A body that announces more is refused before it is read. */
export async function readBody(source: Readable | ReadableStream<Uint8Array> | null, { limit, announced }: { limit: number; announced: string | undefined }): Promise<Buffer> {
  if (announced !== undefined && Number(announced) > limit) throw tooLarge(limit);
  if (source === null) return Buffer.alloc(0);
  if (!('on' in source)) return await readWeb(source, limit);
  return await new Promise((resolve, reject) => {
    const parts: Buffer[] = [];
    let size = 0;
    source.on('data', (part: Buffer) => {
      size += part.length;
      if (size > limit) {
        source.removeAllListeners('data').pause();
        reject(tooLarge(limit));
      } else parts.push(part);
    });
    // cost: every request closes after its end, and an error captures its stack
    const onClose = (): void => reject(brokenOff());
    source.once('end', () => {
      source.off('close', onClose);
      resolve(parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts, size));
    });
    source.once('error', (error) => reject(brokenOff(error)));
    source.once('close', onClose);
  });
}

async function readWeb(source: ReadableStream<Uint8Array>, limit: number): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const part of source) {
      size += part.length;
      if (size > limit) throw tooLarge(limit);
      parts.push(part);
    }
  } catch (thrown) {
    throw GatewayError.is(thrown) ? thrown : brokenOff(thrown);
  }
  return Buffer.concat(parts);
}

/** Of a key that comes twice the last value rules, and what is sent on is written from it: nobody sees another. */
export function parseJson(bytes: Buffer, maxDepth: number): unknown {
  if (bytes.length === 0) throw new GatewayError('invalid_json', 'The request body is empty; a JSON object is expected.');
  if (!isUtf8(bytes)) throw new GatewayError('invalid_utf8', 'The request body is not valid UTF-8.');
  if (isDeeper(bytes, maxDepth)) throw new GatewayError('json_too_deep', `The request body is nested deeper than ${maxDepth} levels.`);
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString('utf8'));
  } catch (cause) {
    const place = /position (\d+)/.exec(String(cause))?.[1];
    throw new GatewayError('invalid_json', `The request body is not valid JSON${place === undefined ? '' : ` (at character ${place})`}.`, { cause });
  }
  if (typeof value === 'object' && value !== null && Object.hasOwn(value, '__proto__')) {
    throw new GatewayError('invalid_request', 'The key "__proto__" is not accepted.', { param: '__proto__' });
  }
  return value;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN = [0x5b, 0x7b];
const CLOSE = [0x5d, 0x7d];

/**
 * Whether brackets outside strings nest deeper than `limit`.
 * cost: JSON.parse and JSON.stringify overflow or crawl on deep input; strings are jumped over, so long texts cost little.
 */
export function isDeeper(bytes: Buffer, limit: number): boolean {
  let depth = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] as number;
    if (byte === QUOTE) {
      at = endOfString(bytes, at);
      if (at < 0) return false;
    } else if (byte === OPEN[0] || byte === OPEN[1]) {
      if (++depth > limit) return true;
    } else if (byte === CLOSE[0] || byte === CLOSE[1]) depth--;
  }
  return false;
}

/** Index of the quote that closes the string opened at `start`, or -1. */
function endOfString(bytes: Buffer, start: number): number {
  for (let end = bytes.indexOf(QUOTE, start + 1); end >= 0; end = bytes.indexOf(QUOTE, end + 1)) {
    let slashes = 0;
    while (bytes[end - 1 - slashes] === BACKSLASH) slashes++;
    if (slashes % 2 === 0) return end;
  }
  return -1;
}
