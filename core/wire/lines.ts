/** Bytes of a stream of lines (JSON, one object a line) → its events: the `frames` of a dialect that has no server-sent events. */
import type { Framer, WireEvent } from './dialect.ts';
import { GatewayError } from '../errors.ts';

/** A reader for one stream, torn anywhere; blank lines give no event. Throws `upstream_event_too_large` for a line over the limit. */
export function createLineReader({ maxEventBytes }: { readonly maxEventBytes: number }): Framer {
  const utf8 = new TextDecoder();
  let held: string[] = [];
  let heldBytes = 0;

  const bounded = (line: string): string => {
    if (Buffer.byteLength(line) > maxEventBytes) throw new GatewayError('upstream_event_too_large', `The provider sent an event of more than ${maxEventBytes} bytes.`);
    return line;
  };
  const read = (text: string): WireEvent[] => {
    const [first = '', ...others] = text.split('\n');
    held.push(first);
    heldBytes += first.length;
    if (heldBytes > maxEventBytes) bounded(held.join(''));
    const last = others.pop();
    if (last === undefined) return [];
    // cost: the pieces of a line are put together once, when it has ended
    const lines = [held.join(''), ...others];
    held = [last];
    heldBytes = last.length;
    return lines.flatMap((line) => (line.trim() === '' ? [] : [{ data: bounded(line) }]));
  };
  return { push: (bytes) => read(utf8.decode(bytes, { stream: true })), end: () => read(`${utf8.decode()}\n`) };
}
