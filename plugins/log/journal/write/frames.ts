/**
 * The frames of the journal, as pure functions of bytes: `u32 length | u32 crc32 | u8 kind | content`, little-endian. The length is that
 * of the content; the checksum covers kind and content. The content is JSON of an object or, in a frame in parts, `u32 × 3 | record |
 * more | request | response`: the lengths of the first three parts, then the parts, each JSON of an object or empty. A frame with what
 * was sent has `u32 × 4 | record | more | sent | request | response`. A reader finds the next sound frame after damage of any kind.
 */
import { crc32 } from 'node:zlib';

export const STARTED = 1;
/** A finished request as one object. Earlier versions wrote it; what they left is still read. */
export const FINISHED = 2;
/** cost: the parts of a finished request that the store takes as they are. The worker does not parse them. */
export const IN_PARTS = 3;
/** A frame as `IN_PARTS`, with what was sent to providers. */
export const WITH_SENT = 4;
type Kind = typeof STARTED | typeof FINISHED | typeof IN_PARTS | typeof WITH_SENT;

/** JSON of objects, as the store keeps them; empty where there is none. */
export interface Parts {
  /** The fields of the record that have no column. */
  readonly more: string;
  /** The requests to providers, in a frame with `sent`: see `sql/upstream.ts`. The text is not JSON, and is never the last part. */
  readonly sent?: string;
  readonly request: string;
  readonly response: string;
}

export interface Frame {
  readonly kind: Kind;
  /** JSON of an object. */
  readonly payload: string;
  /** In a frame in parts. */
  readonly parts?: Parts;
}

/** `incomplete`: the bytes end before the frame ends. `damaged`: these bytes are no frame. */
type Decoded = { readonly kind: Kind; readonly content: Buffer; readonly end: number } | 'incomplete' | 'damaged';

const head = 9;
const lengthsOf = (kind: number): number => (kind === WITH_SENT ? 4 : 3);
const partsHead = (kind: number): number => (isInParts(kind) ? 4 * lengthsOf(kind) : 0);
const isInParts = (kind: number): boolean => kind === IN_PARTS || kind === WITH_SENT;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/** safety: a damaged length must not make a reader wait for gigabytes. Requests are bounded, so no real frame is that large. */
const largest = 512 * 1024 * 1024;

/** The most bytes of UTF-8 for one unit of a string's length. */
const widest = 3;

/** The characters of a frame: at least a third of its bytes. */
export const lengthOf = ({ payload, parts }: Frame): number =>
  payload.length + (parts === undefined ? 0 : parts.more.length + (parts.sent?.length ?? 0) + parts.request.length + parts.response.length);

/** The frames as bytes, in `scratch` where they fit in it. One buffer for the whole group, so that one write takes it. */
export function encodeFrames(frames: readonly Frame[], scratch: Buffer = Buffer.alloc(0)): Buffer {
  // cost: the exact size would be another walk through each text
  const most = frames.reduce((sum, frame) => sum + head + partsHead(frame.kind) + lengthOf(frame) * widest, 0);
  const bytes = most <= scratch.length ? scratch : Buffer.allocUnsafe(most);
  let at = 0;
  for (const frame of frames) {
    const end =
      frame.parts === undefined
        ? at + head + bytes.write(frame.payload, at + head)
        : writeParts(bytes, at + head, textsOf(frame.payload, frame.parts, frame.kind));
    bytes.writeUInt32LE(end - at - head, at);
    bytes.writeUInt8(frame.kind, at + 8);
    bytes.writeUInt32LE(crc32(bytes.subarray(at + 8, end)), at + 4);
    at = end;
  }
  return bytes.subarray(0, at);
}

const textsOf = (record: string, { more, sent = '', request, response }: Parts, kind: Kind): readonly string[] =>
  kind === WITH_SENT ? [record, more, sent, request, response] : [record, more, request, response];

/** Writes the lengths of all texts but the last one, and the texts. Returns the place after the last one. */
function writeParts(bytes: Buffer, at: number, texts: readonly string[]): number {
  let end = at + 4 * (texts.length - 1);
  for (const [index, text] of texts.entries()) {
    const length = bytes.write(text, end);
    end += length;
    if (index < texts.length - 1) bytes.writeUInt32LE(length, at + 4 * index);
  }
  return end;
}

export function decodeFrame(bytes: Buffer, at: number): Decoded {
  if (at + head > bytes.length) return 'incomplete';
  const size = bytes.readUInt32LE(at);
  const kind = bytes.readUInt8(at + 8);
  if (!isKind(kind) || size < 2 || size > largest) return 'damaged';
  const end = at + head + size;
  if (end > bytes.length) return 'incomplete';
  if (bytes[textAt(kind, at)] !== openBrace || bytes[end - 1] !== closeBrace) return 'damaged';
  return crc32(bytes.subarray(at + 8, end)) === bytes.readUInt32LE(at + 4)
    ? { kind, content: bytes.subarray(at + head, end), end }
    : 'damaged';
}

const isKind = (kind: number): kind is Kind => kind === STARTED || kind === FINISHED || isInParts(kind);

/** Where the JSON of a frame begins. */
const textAt = (kind: number | undefined, at: number): number => at + head + partsHead(kind ?? 0);

/** The content of a sound frame as text. */
export function frameOf(kind: Kind, content: Buffer): Frame {
  if (!isInParts(kind)) return { kind, payload: content.toString('utf8') };
  let at = partsHead(kind);
  const next = (part: number): string => {
    const begin = at;
    at += content.readUInt32LE(4 * part);
    return content.toString('utf8', begin, at);
  };
  const [payload, more] = [next(0), next(1)];
  const sent = kind === WITH_SENT ? { sent: next(2) } : {};
  const request = next(lengthsOf(kind) - 1);
  return { kind, payload, parts: { more, ...sent, request, response: content.toString('utf8', at) } };
}

/** The size of this frame by the length in its head; the size of a head where the head is not complete. */
export const wantedBytes = (bytes: Buffer, at: number): number => (at + head > bytes.length ? head : head + bytes.readUInt32LE(at));

/** The place of the first sound frame from here on; the end of the bytes where there is none. */
export function nextSound(bytes: Buffer, from: number): number {
  for (let at = from; at + head < bytes.length; at++) {
    // cost: the brace rules out all but a few places before any checksum is computed
    if (bytes[textAt(bytes[at + 8], at)] === openBrace && typeof decodeFrame(bytes, at) === 'object') return at;
  }
  return bytes.length;
}

const beforeId = '{"id":"';
const longestId = 64;

/** The id of the request that a payload is about; empty where it has none. */
export function idOf(payload: string): string {
  if (!payload.startsWith(beforeId)) return '';
  const end = payload.indexOf('"', beforeId.length);
  return end > 0 && end <= beforeId.length + longestId ? payload.slice(beforeId.length, end) : '';
}
