/**
 * Bytes of an event stream → its events. `stream/upstream` owns one reader per attempt and hands the events to a decoder.
 * Comments give no event: that bytes came is for the caller to notice.
 */
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import type { WireEvent } from './dialect.ts';
import { GatewayError } from '../errors.ts';

/** Reads one stream, torn anywhere. */
export interface SseReader {
  push(bytes: Uint8Array): WireEvent[];
  /** The body has ended: an event that no blank line closed. */
  end(): WireEvent[];
}

export interface SseReaderOptions {
  /** UTF-8 bytes of the data of one event. */
  readonly maxEventBytes: number;
}

/** What the parser counts beside the data of an event: `data: ` and a line end that it has not understood yet. */
const framing = 16;

/** A reader for one stream. Throws `upstream_event_too_large` as soon as an event is known to exceed the limit. */
export function createSseReader({ maxEventBytes }: SseReaderOptions): SseReader {
  let events: WireEvent[] = [];
  let isTooLarge = false;
  // safety: the parser strips the byte order mark; a decoder that strips one too would eat a second, which is data.
  const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });
  const parser = createParser({
    // safety: the parser counts characters, of which there are never more than bytes. It bounds memory; `exceeds` is exact.
    maxBufferSize: maxEventBytes + framing,
    onEvent(event: EventSourceMessage) {
      if (exceeds(event.data, maxEventBytes)) isTooLarge = true;
      else events.push(event);
    },
    onError(error) {
      if (error.type === 'max-buffer-size-exceeded') isTooLarge = true;
    },
  });

  function read(text: string): WireEvent[] {
    if (!isTooLarge) parser.feed(text);
    if (isTooLarge) throw new GatewayError('upstream_event_too_large', `The provider sent an event of more than ${maxEventBytes} bytes.`);
    const found = events;
    if (found.length > 0) events = [];
    return found;
  }

  return {
    push: (bytes) => read(utf8.decode(bytes, { stream: true })),
    end: () => read(`${utf8.decode()}\n\n`),
  };
}

/** cost: bytes are counted only where the characters leave a doubt; a character is at most three bytes. */
const exceeds = (data: string, maxBytes: number): boolean =>
  data.length > maxBytes || (data.length * 3 > maxBytes && Buffer.byteLength(data) > maxBytes);
