import { expect, it } from 'vitest';
import { createKey } from '../../../core/cli/keys.ts';

const printed = (name: string | null, json = false): string => {
  let text = '';
  createKey({ name, json }, { print: (more) => void (text += more) });
  return text;
};

it('gateway keys create prints a key once, and the lines for the config with its hash alone', () => {
  const text = printed('search: "team"');
  expect(text).toMatch(/^gwk_\w+\n[\s\S]*keys:\n  - name: "search: \\"team\\""\n    hash: sha256:[0-9a-f]{64}\n$/);
  expect(text.match(/gwk_/g)).toHaveLength(1);
});

it('gateway keys create gives a name to a key without one', () => {
  expect(JSON.parse(printed(null, true))).toEqual({
    name: expect.stringMatching(/^key-\w+$/),
    key: expect.stringMatching(/^gwk_/),
    hash: expect.stringMatching(/^sha256:/),
  });
});

it('gateway keys create refuses an empty name, which gateway check would refuse too', () => {
  expect(() => printed('')).toThrow('--name must not be empty');
});
