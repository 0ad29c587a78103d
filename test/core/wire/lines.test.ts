/** Lines of a stream, from bytes that are split anywhere. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createLineReader } from '../../../core/wire/lines.ts';

const read = (pieces: readonly Uint8Array[], maxEventBytes = 1 << 20): string[] => {
  const reader = createLineReader({ maxEventBytes });
  return [...pieces.flatMap((bytes) => reader.push(bytes)), ...reader.end()].map(({ data }) => data);
};
const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

describe('the reader of lines', () => {
  it('returns each line when it has ended, and the last one at the end', () => {
    const reader = createLineReader({ maxEventBytes: 100 });
    expect(reader.push(bytesOf('{"a":1}\n{"b"'))).toEqual([{ data: '{"a":1}' }]);
    expect(reader.push(bytesOf(':2}'))).toEqual([]);
    expect(reader.end()).toEqual([{ data: '{"b":2}' }]);
  });

  it('skips blank lines', () => expect(read([bytesOf('\n\r\n {}\n\n')])).toEqual([' {}']));

  it('returns the same lines for every split, inside a character too', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: 'grapheme', minLength: 1 }).filter((line) => line.trim() !== '' && !line.includes('\n'))),
        fc.array(fc.nat()),
        (lines, cuts) => {
          const bytes = bytesOf(lines.join('\n'));
          const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).toSorted((a, b) => a - b), bytes.length];
          expect(read(places.slice(1).map((end, at) => bytes.subarray(places[at], end)))).toEqual(lines);
        },
      ),
    );
  });

  it.each([
    ['in one piece', ['123456\n']],
    ['in two pieces', ['123', '456']],
    ['after a shorter line', ['1\n', '12345\n123456\n']],
    ['in bytes, of which a character has several', ['ééé']],
  ])('refuses a line over the limit, %s', (_, pieces) => {
    expect(() => read(pieces.map(bytesOf), 5)).toThrow(expect.objectContaining({ code: 'upstream_event_too_large' }));
  });

  it('accepts a line of exactly the limit', () => expect(read([bytesOf('12345\n'), bytesOf('12345')], 5)).toEqual(['12345', '12345']));
});
