/** A framer for streams of lines, such as JSON with one object on each line. A dialect without server-sent events uses it in `frames`. */
import type { Framer, WireEvent } from './dialect.ts';
import { eventTooLarge } from './upstream-error.ts';

/**
 * Makes the framer of one stream. Each line is an event without a name; a blank line gives
 * none. Throws `upstream_event_too_large` if a line has more than `maxEventBytes` bytes.
 */
export function createLineReader({ maxEventBytes }: { readonly maxEventBytes: number }): Framer {
  const utf8 = new TextDecoder();
  let held: string[] = [];
  /** In UTF-16 units: a text has at least as many bytes. */
  let heldLength = 0;

  const bounded = (line: string): string => {
    if (Buffer.byteLength(line) > maxEventBytes) throw eventTooLarge(maxEventBytes);
    return line;
  };
  const read = (text: string): WireEvent[] => {
    const [first = '', ...others] = text.split('\n');
    held.push(first);
    heldLength += first.length;
    if (heldLength > maxEventBytes) bounded(held.join(''));
    const last = others.pop();
    if (last === undefined) return [];
    // cost: the pieces of a line are joined once, when the line has ended
    const lines = [held.join(''), ...others];
    held = [last];
    heldLength = last.length;
    return lines.flatMap((line) => (line.trim() === '' ? [] : [{ data: bounded(line) }]));
  };
  return { push: (bytes) => read(utf8.decode(bytes, { stream: true })), end: () => read(`${utf8.decode()}\n`) };
}
