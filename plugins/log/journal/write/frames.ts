/**
 * The frames of the journal, as pure functions of bytes: `u32 length | u32 crc32 | u8 kind | payload`, little-endian. The length is
 * that of the payload; the checksum covers kind and payload. A reader finds the next sound frame after damage of any kind.
 */
import { crc32 } from 'node:zlib';

export const STARTED = 1;
export const FINISHED = 2;
export type Kind = typeof STARTED | typeof FINISHED;

export interface Frame {
  readonly kind: Kind;
  /** JSON of an object. */
  readonly payload: string;
}

/** `incomplete`: the bytes end before the frame ends. `damaged`: these bytes are no frame. */
export type Decoded = { readonly kind: Kind; readonly payload: Buffer; readonly end: number } | 'incomplete' | 'damaged';

const head = 9;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/** safety: a damaged length must not make a reader wait for gigabytes. Requests are bounded, so no real frame is that large. */
const largest = 512 * 1024 * 1024;

/** cost: one buffer for the whole group, so that one write takes it. */
export function encodeFrames(frames: readonly Frame[]): Buffer {
  const sizes = frames.map(({ payload }) => Buffer.byteLength(payload));
  const bytes = Buffer.allocUnsafe(sizes.reduce((sum, size) => sum + head + size, 0));
  let at = 0;
  for (const [index, { kind, payload }] of frames.entries()) {
    const size = sizes[index] as number;
    const end = at + head + size;
    bytes.writeUInt32LE(size, at);
    bytes.writeUInt8(kind, at + 8);
    bytes.write(payload, at + head, 'utf8');
    bytes.writeUInt32LE(crc32(bytes.subarray(at + 8, end)), at + 4);
    at = end;
  }
  return bytes;
}

export function decodeFrame(bytes: Buffer, at: number): Decoded {
  if (at + head > bytes.length) return 'incomplete';
  const size = bytes.readUInt32LE(at);
  const kind = bytes.readUInt8(at + 8);
  if ((kind !== STARTED && kind !== FINISHED) || size < 2 || size > largest) return 'damaged';
  const end = at + head + size;
  if (end > bytes.length) return 'incomplete';
  if (bytes[at + head] !== openBrace || bytes[end - 1] !== closeBrace) return 'damaged';
  return crc32(bytes.subarray(at + 8, end)) === bytes.readUInt32LE(at + 4) ? { kind, payload: bytes.subarray(at + head, end), end } : 'damaged';
}

/** The size of this frame by the length in its head; the size of a head where the head is not complete. */
export const wantedBytes = (bytes: Buffer, at: number): number => (at + head > bytes.length ? head : head + bytes.readUInt32LE(at));

/** The place of the first sound frame from here on; the end of the bytes where there is none. */
export function nextSound(bytes: Buffer, from: number): number {
  for (let at = from; at + head < bytes.length; at++) {
    // cost: the brace rules out all but a few places before any checksum is computed
    if (bytes[at + head] === openBrace && typeof decodeFrame(bytes, at) === 'object') return at;
  }
  return bytes.length;
}
