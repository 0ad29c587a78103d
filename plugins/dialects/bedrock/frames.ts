/** The binary event stream of AWS → events. A frame is taken only when both of its checksums are right. */
import { crc32 } from 'node:zlib';
import type { Framer, WireEvent } from '../../../core/wire/dialect.ts';
import { GatewayError } from '../../../core/errors.ts';

/** What is needed of the codec: one whole frame → its headers and its payload, checksums verified. */
export interface FrameCodec {
  decode(frame: Uint8Array): { readonly headers: Readonly<Record<string, { readonly value: unknown }>>; readonly body: Uint8Array };
}

export interface FrameLimits {
  /** Of a payload. */
  readonly maxEventBytes: number;
}

/** A framer for one stream; the codec loads with the first. */
export async function frames(limits: FrameLimits): Promise<Framer> {
  return createFramer(await loadCodec(), limits);
}

export async function loadCodec(): Promise<FrameCodec> {
  const { EventStreamCodec } = await import('@smithy/eventstream-codec');
  return new EventStreamCodec(textOf, (text) => Buffer.from(text));
}

const textOf = (bytes: Uint8Array | string): string => (typeof bytes === 'string' ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8'));

/** Total length, length of the headers, and a checksum of the two. */
const preludeBytes = 12;
/** The prelude and the checksum at the end. */
const overheadBytes = 16;

const noEvents: WireEvent[] = [];

/** Cuts a stream into events, however torn. What stands before a broken frame is still given. */
export function createFramer(codec: FrameCodec, limits: FrameLimits): Framer {
  let held: Uint8Array[] = [];
  let size = 0;
  /** Bytes without which nothing more can be read. */
  let needed = preludeBytes;
  let broken: GatewayError | null = null;

  function cut(bytes: Uint8Array): WireEvent[] {
    const events: WireEvent[] = [];
    let at = 0;
    try {
      while (bytes.length - at >= needed) {
        const length = lengthOf(bytes.subarray(at), limits);
        needed = length;
        if (bytes.length - at < length) break;
        events.push(eventOf(codec, bytes.subarray(at, at + length)));
        at += length;
        needed = preludeBytes;
      }
    } catch (thrown) {
      broken = GatewayError.is(thrown) ? thrown : new GatewayError('upstream_invalid_response', 'The provider sent a frame that is damaged.', { cause: thrown });
      if (events.length === 0) throw broken;
    }
    size = bytes.length - at;
    held = size === 0 ? [] : [bytes.subarray(at)];
    return events;
  }

  return {
    push(bytes) {
      if (broken !== null) throw broken;
      size += bytes.length;
      held.push(bytes);
      // cost: a large frame in many reads is joined once, when it is complete
      return size < needed ? noEvents : cut(held.length === 1 ? bytes : Buffer.concat(held, size));
    },
    end() {
      if (broken !== null) throw broken;
      return noEvents;
    },
  };
}

function lengthOf(bytes: Uint8Array, { maxEventBytes }: FrameLimits): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const length = view.getUint32(0);
  const payload = length - view.getUint32(4) - overheadBytes;
  // safety: a length that arrived damaged would be waited for; the codec looks at it only when the frame is whole
  if (payload < 0 || crc32(bytes.subarray(0, 8)) !== view.getUint32(8)) throw new GatewayError('upstream_invalid_response', 'The provider sent a frame that is damaged.');
  if (payload > maxEventBytes || length > maxEventBytes + mostHeaderBytes) throw new GatewayError('upstream_event_too_large', `The provider sent an event of more than ${maxEventBytes} bytes.`);
  return length;
}

/** wire: AWS allows 128 KiB of headers; those in use take less than 200 bytes. */
const mostHeaderBytes = 131_072;

/**
 * `exception:` and `error:` before its type mark an event that ends the answer.
 * wire: an exception has no `:event-type`, and its kind stands in `:message-type` alone.
 */
function eventOf(codec: FrameCodec, frame: Uint8Array): WireEvent {
  const { headers, body } = codec.decode(frame);
  const header = (name: string): string => {
    const value = headers[name]?.value;
    return typeof value === 'string' ? value : '';
  };
  switch (header(':message-type')) {
    case 'exception':
      return { event: `exception:${header(':exception-type')}`, data: textOf(body) };
    case 'error':
      return { event: `error:${header(':error-code')}`, data: JSON.stringify({ message: header(':error-message') }) };
    default:
      return { event: header(':event-type'), data: textOf(body) };
  }
}
