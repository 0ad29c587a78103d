/** JSON is read as JSON only where YAML would read the same. */
import * as fc from 'fast-check';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseDocument } from 'yaml';
import { readJson } from '../../config/json.ts';
import { loadConfig } from '../../config/load.ts';
import { headline } from '../../config/problems.ts';
import { folderOf } from './folder.ts';
import { options } from './plugins.ts';

const key = fc.constantFrom('a', 'b', '', '1', ':', 'null', 'a b', '#', 'toString', '- x', 'é');
const leaf = fc.oneof(fc.constantFrom<unknown>(null, true, false, 0, -0, 1, -1.5, 1e21, 1e-7, 2 ** 60, '', ':', 'a: b', '# no', 'yes', '0x1F', '{', ', ', '~', '\u00a0'), fc.string());
const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({ tree: fc.oneof({ depthSize: 'small' }, leaf, fc.array(tie('tree')), fc.dictionary(key, tie('tree'))) }));

describe('JSON', () => {
  test('of any kind means what it means as YAML', () => {
    let read = 0;
    fc.assert(
      fc.property(fc.dictionary(key, tree), fc.constantFrom(0, 1, 2), (value, indent) => {
        const text = JSON.stringify(value, null, indent);
        const known = readJson(text);
        if (known === null) return;
        read += 1;
        expect(known).toEqual(parseDocument(text).toJS());
      }),
      { numRuns: 2000 },
    );
    expect(read).toBeGreaterThan(100);
  });

  test.each([
    ['a key that stands twice', '{"a": 1, "b": 2, "a" : 3}'],
    ['a key that stands twice further in', '{"a": [{"b": {"c": 1, "c": 2}}]}'],
    ['a reference', '{"a": "${B}"}'],
    ['an escape', '{"a": "\\u0024{B}"}'],
    ['a prototype', '{"__proto__": {}}'],
    ['a list', '[1]'],
    ['a comment', '{"a": 1} # one'],
    ['YAML in braces', '{a: 1}'],
    ['nothing', ''],
  ])('with %s is left to YAML', (_, text) => expect(readJson(text)).toBe(null));

  test.each(['{}', ' {"a": {"b": [1, {"b": "c"}]}, "b": 1e3}\n'])('is read: %s', (text) => expect(readJson(text)).toEqual(JSON.parse(text)));

  test('has its faults told at their places', async () => {
    const file = join(folderOf({ 'gateway.config.yaml': '{\n "providers": {"mock": {}},\n "modles": [],\n "server": {"port": "80"}\n}' }), 'gateway.config.yaml');
    const loaded = await loadConfig(file, options());
    expect(loaded.ok ? [] : loaded.problems.map((problem) => headline(problem).replace(`${file}:`, ''))).toEqual([
      '3:2 modles: unknown key, did you mean "models"?',
      '4:21 server.port: expected integer, got string "80", did you mean 80 (without quotes)?',
    ]);
  });
});
