/** The text of a custom tool's call, read from arguments that come in pieces. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CustomInput } from '../../../../core/wire/custom-tools/input.ts';
import { anyText } from '../../../_kit/fuzz.ts';

/** The whole text of a call whose arguments come in these pieces. */
function said(...pieces: string[]): string {
  const input = new CustomInput();
  const deltas = [...pieces.map((piece) => input.push(piece)), input.end(pieces.join(''))];
  expect(deltas.join('')).toBe(input.text);
  return input.text;
}

/** The text, split at these places. */
function torn(text: string, places: readonly number[]): string[] {
  const ends = [...places.map((place) => place % (text.length + 1)).toSorted((a, b) => a - b), text.length];
  return ends.map((end, at) => text.slice(ends[at - 1] ?? 0, end));
}

const places = fc.array(fc.nat(50), { maxLength: 4 });

describe('the input of a custom tool', () => {
  it('is the text in the JSON, also when it is split anywhere', () => {
    fc.assert(
      fc.property(anyText(), places, (text, places) => {
        expect(said(...torn(JSON.stringify({ input: text }), places))).toBe(text);
      }),
      { numRuns: 1000 },
    );
  });

  it('is the same when it is split anywhere, also where it is not JSON', () => {
    const letters = fc.string({
      unit: fc.constantFrom(
        'a',
        'b',
        '\\',
        '\\',
        '\\',
        '"',
        'u',
        'n',
        'U',
        'N',
        'd',
        'D',
        '8',
        'f',
        '0',
        '\n',
        '\t',
        '\u0000',
        '\u{1f600}',
      ),
    });
    fc.assert(
      fc.property(letters, places, (text, places) => {
        const whole = `{"input":"${text}"}`;
        expect(said(...torn(whole, places))).toBe(said(whole));
      }),
      { numRuns: 1000 },
    );
  });

  it.each([
    ['a backslash', 'abc\\d+ def', 'abc\\d+ def'],
    ['a path', 'C:\\path\\Bin\\U', 'C:\\path\\Bin\\U'],
    ['half an escape', 'abc\\u00zz \\"', 'abc\\u00zz "'],
    ['an escape that the end of the text cuts', 'abc\\u00', 'abc\\u00'],
    ['half a character and no other half', 'a\\ud83d\\u00zz', 'a\ud83d\\u00zz'],
    ['a sign that JSON does not allow', 'abc\u0001\n\tdef', 'abc\u0001\n\tdef'],
  ])('keeps %s of the model unchanged, also when it is split anywhere', (_, written, text) => {
    const whole = `{"input":"${written}"}`;
    for (let at = 0; at <= whole.length; at++) expect(said(whole.slice(0, at), whole.slice(at))).toBe(text);
  });

  it.each(['a\\ud83d\\ude00b', 'a\\uD83D\\uDE00b'])('has no half of a character in any of its pieces: %s', (written) => {
    const whole = `{"input":"${written}"}`;
    for (let at = 0; at <= whole.length; at++) {
      const input = new CustomInput();
      expect([whole.slice(0, at), whole.slice(at)].map((piece) => input.push(piece)).filter((delta) => !delta.isWellFormed())).toEqual([]);
    }
  });
});
