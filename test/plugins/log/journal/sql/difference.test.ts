import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { differencesFrom, restored } from '../../../../../plugins/log/journal/sql/difference.ts';
import { sentText, storedSent } from '../../../../../plugins/log/journal/sql/upstream.ts';
import { cpuMsOf } from '../../../../_kit/cpu.ts';

/** Longer than the text that is searched for copies. */
const long = Array.from({ length: 120 }, (_, at) => at * 7919).join(' ');

const words = fc
  .array(fc.constantFrom('the gateway ', 'asks a provider ', 'é', '\ud83d', '😀', '"role":"user",', 'x'.repeat(40), long), {
    maxLength: 60,
  })
  .map((parts) => parts.join(''));

describe('a difference', () => {
  test('gives the text back, for any two texts', () => {
    fc.assert(
      fc.property(words, words, (text, base) => {
        expect(restored(differencesFrom(base)(text), base)).toBe(text);
      }),
    );
  });

  test('of two nearly equal texts is short', () => {
    const prompt = JSON.stringify(
      Array.from({ length: 40 }, (_, at) => ({
        role: at % 2 === 0 ? 'user' : 'assistant',
        content: `Turn ${at}: what does the gateway do with "this"?`,
      })),
    );
    const [base, text] = [
      `{"model":"gpt-5","messages":${prompt},"stream":true}`,
      `{"model":"gpt-5-2025-08-07","messages":${prompt},"stream":true,"stream_options":{"include_usage":true}}`,
    ];
    expect(JSON.stringify(differencesFrom(base)(text)).length).toBeLessThan(150);
  });

  test('copies the beginning and the end that both texts have', () => {
    const [begin, end] = ['{"messages":"What does it do?","model":"', '","stream":true,"user":"user-4711"}'];
    expect(differencesFrom(`${begin}gpt-5${end}`)(`${begin}gpt-5-2025-08-07${end}`)).toEqual([
      [0, begin.length + 5],
      '-2025-08-07',
      [begin.length + 5, end.length],
    ]);
  });

  test('finds a long copy between the two', () => {
    const [begin, end] = ['a'.repeat(40), 'b'.repeat(40)];
    expect(JSON.stringify(differencesFrom(`${begin}1${long}2${end}`)(`${begin}3333${long}44${end}`)).length).toBeLessThan(60);
  });

  test('of a large text without copies is found in a short time', () => {
    const text = Array.from({ length: 400_000 }, (_, at) => String.fromCharCode(97 + ((at * 7919) % 26), 65 + (at % 23))).join('');
    expect(cpuMsOf(() => expect(restored(differencesFrom('x'.repeat(100_000))(text), 'x'.repeat(100_000))).toBe(text))).toBeLessThan(2000);
  });

  test('for many bodies reads the request of the caller once', () => {
    const inputs = Array.from({ length: 400 }, (_, at) => `Text ${at}. ${'Lorem ipsum dolor sit amet. '.repeat(20)}`);
    const request = JSON.stringify({ model: 'm', input: inputs });
    const bodies = inputs.map((inputText) => JSON.stringify({ inputText }));
    const sent = sentText(
      { sent: [{ at: 0, requests: bodies.map((body) => ({ method: 'POST', url: 'https://x.example', headers: {}, body })) }] },
      (body) => body,
    );
    const msOf = (act: () => unknown): number => {
      const started = performance.now();
      act();
      return performance.now() - started;
    };
    // the shortest of three: a pause of this process makes one of them longer
    const together = Math.min(...[1, 2, 3].map(() => msOf(() => storedSent(sent, request))));
    const each = msOf(() => bodies.map((body) => differencesFrom(request)(body)));
    expect(together).toBeLessThan(each / 3);
  });
});
