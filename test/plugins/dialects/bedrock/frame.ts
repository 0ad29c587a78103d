/** Writes frames of the AWS event stream as its documentation describes them, without the library that reads them. */
import { crc32 } from 'node:zlib';

/** `boolean`, `integer` and `string` headers, by the type of their values. */
export type FrameHeaders = Readonly<Record<string, string | number | boolean>>;

export function frameOf(headers: FrameHeaders, payload: string): Buffer {
  const head = Buffer.concat(
    Object.entries(headers).map(([name, value]) =>
      Buffer.concat([Buffer.from([Buffer.byteLength(name)]), Buffer.from(name), valueOf(value)]),
    ),
  );
  const body = Buffer.from(payload);
  const frame = Buffer.alloc(16 + head.length + body.length);
  frame.writeUInt32BE(frame.length, 0);
  frame.writeUInt32BE(head.length, 4);
  frame.writeUInt32BE(crc32(frame.subarray(0, 8)), 8);
  head.copy(frame, 12);
  body.copy(frame, 12 + head.length);
  frame.writeUInt32BE(crc32(frame.subarray(0, -4)), frame.length - 4);
  return frame;
}

function valueOf(value: string | number | boolean): Buffer {
  if (typeof value === 'boolean') return Buffer.from([value ? 0 : 1]);
  if (typeof value === 'number') {
    const bytes = Buffer.alloc(5, 4);
    bytes.writeInt32BE(value, 1);
    return bytes;
  }
  const bytes = Buffer.alloc(3, 7);
  bytes.writeUInt16BE(Buffer.byteLength(value), 1);
  return Buffer.concat([bytes, Buffer.from(value)]);
}

export const eventFrame = (type: string, payload: object): Buffer =>
  frameOf({ ':event-type': type, ':content-type': 'application/json', ':message-type': 'event' }, JSON.stringify(payload));

export const exceptionFrame = (type: string, payload: object): Buffer =>
  frameOf({ ':message-type': 'exception', ':exception-type': type, ':content-type': 'application/json' }, JSON.stringify(payload));

export const errorFrame = (code: string, message: string): Buffer =>
  frameOf({ ':message-type': 'error', ':error-code': code, ':error-message': message }, '');
