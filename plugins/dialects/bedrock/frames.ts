/**
 * Cuts the binary event stream of AWS into events. A frame is used only if both of its checksums are right.
 * wire: Smithy: Amazon Event Stream.
 */
import { crc32 } from 'node:zlib';
import { Gathered } from '../../../core/http/body.ts';
import type { Framer, WireEvent } from '../../../core/wire/dialect.ts';
import { GatewayError } from '../../../core/errors.ts';
import { eventTooLarge, invalidAnswer } from '../../../core/wire/upstream-error.ts';

/** The part of the codec that is used: it decodes one whole frame into headers and payload, and checks both checksums. */
interface FrameCodec {
  decode(frame: Uint8Array): { readonly headers: Readonly<Record<string, { readonly value: unknown }>>; readonly body: Uint8Array };
}

/** The limits of a framer. */
interface FrameLimits {
  /** The most bytes that the payload of one frame may have. */
  readonly maxEventBytes: number;
}

/** Makes the framer of one stream. The first call loads the codec. */
export async function frames(limits: FrameLimits): Promise<Framer> {
  return createFramer(await loadCodec(), limits);
}

/** Loads the codec of `@smithy/eventstream-codec`. */
export async function loadCodec(): Promise<FrameCodec> {
  const { EventStreamCodec } = await import('@smithy/eventstream-codec');
  return new EventStreamCodec(textOf, (text) => Buffer.from(text));
}

/** The same bytes, not copied. */
const bufferOf = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
const textOf = (bytes: Uint8Array | string): string => (typeof bytes === 'string' ? bytes : bufferOf(bytes).toString('utf8'));

/** The prelude: total length, length of the headers, and a checksum of the two. */
const preludeBytes = 12;
/** The prelude and the checksum at the end. */
const overheadBytes = 16;

const noEvents: WireEvent[] = [];

const damaged = (cause?: unknown): GatewayError => invalidAnswer('a frame that is damaged', cause);

/**
 * Makes a framer with a codec. The bytes may be cut at any place. Events before a damaged frame are returned first; the next call throws.
 */
export function createFramer(codec: FrameCodec, limits: FrameLimits): Framer {
  /** safety: a provider may send single bytes, and each would keep its own buffer: 300 MB for a frame of 1 MB. */
  const held = new Gathered();
  /** The number of bytes that must be there before more can be read. */
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
      broken = GatewayError.is(thrown) ? thrown : damaged(thrown);
      if (events.length === 0) throw broken;
    }
    if (held.size > 0) held.clear();
    if (at < bytes.length) held.add(bufferOf(bytes.subarray(at)));
    return events;
  }

  return {
    push(bytes) {
      if (broken !== null) throw broken;
      if (held.size === 0 && bytes.length >= needed) return cut(bytes);
      // cost: a large frame that arrives in many reads is joined once, when it is complete
      held.add(bufferOf(bytes));
      return held.size < needed ? noEvents : cut(held.whole());
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
  // safety: the codec checks a length only when the frame is whole. With a damaged length the framer would wait for bytes that never come
  if (payload < 0 || crc32(bytes.subarray(0, 8)) !== view.getUint32(8)) {
    throw damaged();
  }
  if (payload > maxEventBytes || length > maxEventBytes + mostHeaderBytes) throw eventTooLarge(maxEventBytes);
  return length;
}

/** wire: a frame may have 128 KiB of headers (Smithy: Amazon Event Stream). Those of Bedrock take less than 200 bytes. */
const mostHeaderBytes = 131_072;

/**
 * The event of a frame. An exception or an error gets a name that begins with `exception:` or `error:`.
 * wire: such a frame has no `:event-type`; only `:message-type` says what it is (Smithy: Amazon Event Stream).
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
