/**
 * Reads server-sent events. `stream/upstream` makes one reader for each attempt and gives the events to a decoder. Comments give no
 * event, and neither does `data: null`; the code that reads the bytes still sees that the provider is alive.
 */
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import type { Framer, WireEvent } from './dialect.ts';
import { eventTooLarge } from './upstream-error.ts';

/** Characters that the parser counts beside the data of an event: `data: `, and a line end that it has not recognised yet. */
const framing = 16;

/**
 * Makes the reader of one stream. It throws `upstream_event_too_large` as soon as the data of an event is known to have more than
 * `maxEventBytes` bytes of UTF-8; the events that came together with it, before it, are returned first, and the next call throws.
 */
export function createSseReader({ maxEventBytes }: { readonly maxEventBytes: number }): Framer {
  let events: WireEvent[] = [];
  let isTooLarge = false;
  // safety: the parser strips the byte order mark. If the TextDecoder did so as well, a second mark, which is data, would be lost
  const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });
  const parser = createParser({
    // safety: this bounds memory. The parser counts characters, and a text never has more of them than bytes; `exceeds` counts exactly
    maxBufferSize: maxEventBytes + framing,
    onEvent(event: EventSourceMessage) {
      if (isNothing(event)) return;
      isTooLarge ||= exceeds(event.data, maxEventBytes);
      if (!isTooLarge) events.push(event);
    },
    onError(error) {
      if (error.type === 'max-buffer-size-exceeded') isTooLarge = true;
    },
  });

  function read(text: string): WireEvent[] {
    if (!isTooLarge) parser.feed(text);
    if (isTooLarge && events.length === 0) throw eventTooLarge(maxEventBytes);
    const found = events;
    if (found.length > 0) events = [];
    return found;
  }

  return {
    push: (bytes) => read(utf8.decode(bytes, { stream: true })),
    end: () => read(`${utf8.decode()}\n\n`),
  };
}

/**
 * wire: servers and proxies write `data: null` between the events of an answer, or after them
 * (anomalyco/opencode#50314, decolua/9router#1148, 2026). An `error` event counts whatever its data is.
 */
const isNothing = ({ event, data }: EventSourceMessage): boolean => data === 'null' && event !== 'error';

/**
 * cost: counting bytes is slow, so they are counted only if the number of characters does not decide. A UTF-16 unit is at most three bytes.
 */
const exceeds = (data: string, maxBytes: number): boolean =>
  data.length > maxBytes || (data.length * 3 > maxBytes && Buffer.byteLength(data) > maxBytes);
