/** JSON is read as JSON only where YAML would give the same values, and its faults have the same places. */
import * as fc from 'fast-check';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { expandDocument } from '../../config/expand.ts';
import { readJson } from '../../config/json.ts';
import type { Loaded } from '../../config/load.ts';
import { loadConfig } from '../../config/load.ts';
import { createFindings, headline } from '../../config/problems.ts';
import type { Path } from '../../config/source.ts';
import { parseSource } from '../../config/source.ts';
import { anyText, runs } from '../_kit/fuzz.ts';
import { folderOf } from './folder.ts';
import { options } from './plugins.ts';

/** The content of a JSON string: plain letters, and each kind of escape. */
const letter = fc.oneof(
  anyText({ maxLength: 3 }).map((text) => JSON.stringify(text).slice(1, -1)),
  fc.nat(0xffff).map((code) => `\\u${code.toString(16).padStart(4, '0')}`),
  fc.constantFrom(
    '\\n',
    '\\t',
    '\\r',
    '\\b',
    '\\f',
    '\\/',
    '\\"',
    '\\\\',
    '\\ud83d\\ude00',
    '\\u00E9',
    '\\u0024',
    '$',
    '{',
    '}',
    ':',
    ': ',
    ' #',
    '- ',
    '&a',
    '*a',
    '!!str',
    '%',
    '<<',
    ',',
    '[',
    '\u00a0',
    '\u0085',
    '\u2028',
    '\ue000',
    '\ue001',
  ),
);
const quoted = fc.array(letter, { maxLength: 6 }).map((letters) => `"${letters.join('')}"`);
const word = fc.constantFrom(
  '""',
  '":"',
  '"a"',
  '"b"',
  '"null"',
  '"~"',
  '"1"',
  '"0x1F"',
  '"<<"',
  '"toString"',
  '"constructor"',
  '"\\u0061"',
  '"__proto_"',
  '"_\\u005fproto__"',
  '"$"',
  '"$$"',
  '"yes"',
  '"2001-01-01"',
);
const number = fc.oneof(
  fc.double({ noDefaultInfinity: true, noNaN: true }).map((value) => JSON.stringify(value)),
  fc.bigInt().map(String),
  fc.constantFrom('0', '-0', '0.0', '1.50', '1E+5', '-1e-7', '0e0', '1e400', '123456789012345678901234567890.5'),
);
const space = fc.constantFrom('', ' ', '  ', '\n', '\r\n ', '\n  ');
const around = (inner: fc.Arbitrary<string>): fc.Arbitrary<string> => fc.tuple(space, inner, space).map((parts) => parts.join(''));
const { map } = fc.letrec<{ tree: string; map: string }>((tie) => ({
  tree: fc.oneof(
    { depthSize: 'small' },
    quoted,
    word,
    number,
    fc.constantFrom('null', 'true', 'false'),
    fc.array(around(tie('tree')), { maxLength: 4 }).map((items) => `[${items.join(',')}]`),
    tie('map'),
  ),
  map: fc
    .array(fc.tuple(around(fc.oneof(quoted, word)), around(tie('tree'))), { maxLength: 4 })
    .map((pairs) => `{${pairs.map((pair) => pair.join(':')).join(',')}}`),
}));

const load = async (text: string, env: Record<string, string> = {}): Promise<Loaded> =>
  await loadConfig(join(folderOf({ 'gateway.config.yaml': text }), 'gateway.config.yaml'), options(env));

/** All messages about a file with this text. */
async function told(text: string, env: Record<string, string> = {}): Promise<string[]> {
  const loaded = await load(text, env);
  return (loaded.ok ? loaded.warnings : loaded.problems).map((problem) => headline(problem).replace(/^.*yaml:(?=\d)/, ''));
}

/** The value of the text as YAML, or null where the YAML reader finds a fault. */
function asYaml(text: string): unknown {
  const findings = createFindings();
  const source = parseSource('', '', text);
  expandDocument({ source, env: {}, findings });
  const { errors, warnings } = source.document;
  return [...errors, ...warnings, ...findings.problems].length === 0 ? source.document.toJS() : null;
}

/** The paths of everything in a value, and one path that does not exist. */
const pathsIn = (value: unknown): Path[] => [
  [],
  ['not there'],
  ...(typeof value === 'object' && value !== null
    ? Object.entries(value).flatMap(([key, item]) => pathsIn(item).map((path): Path => [Array.isArray(value) ? Number(key) : key, ...path]))
    : []),
];

describe('JSON', () => {
  test('of any kind has the same values as in YAML', () => {
    let read = 0;
    fc.assert(
      fc.property(around(map), (text) => {
        const { value } = readJson(text);
        if (value === null) return;
        read += 1;
        expect(value).toEqual(asYaml(text));
      }),
      runs(2000),
    );
    expect(read).toBeGreaterThan(800);
  });

  test('has everything at the same place as YAML', () => {
    fc.assert(
      fc.property(around(map), (text) => {
        const json = parseSource('', '', text);
        if (json.json.value === null) return;
        // the same text, with a change that makes it invalid JSON
        const yaml = parseSource('', '', `${text} #`);
        const paths = pathsIn(json.json.value);
        expect(paths.map((path) => json.find(path))).toEqual(paths.map((path) => yaml.find(path)));
      }),
      runs(1000),
    );
  });

  test.each([
    ['a repeated key', '{"a": 1, "b": 2, "a" : 3}', 'a key is in the same map twice'],
    ['a repeated key in an inner map', '{"a": [{"b": {"c": 1, "c": 2}}]}', 'a key is in the same map twice'],
    ['a repeated key, once with escapes', '{"a": 1, "\\u0061": 2}', 'a key is in the same map twice'],
    ['a reference', '{"a": "${B}"}', 'it has a reference, ${...} or $$'],
    ['a reference in escapes', '{"a": "\\u0024{B}"}', 'it has a reference, ${...} or $$'],
    ['a doubled dollar sign', '{"a": "$$"}', 'it has a reference, ${...} or $$'],
    ['a prototype', '{"__proto__": {}}', 'it has the key "__proto__"'],
    ['a prototype in escapes', '{"a": {"\\u005f_proto__": {}}}', 'it has the key "__proto__"'],
    ['a backslash in a key', '{"a": {"\\\\": 1}}', 'it has a key with a backslash'],
    ['a list', '[1]', 'it does not begin with {'],
    ['a comment', '{"a": 1} # one', 'it is not valid JSON'],
    ['YAML in braces', '{a: secret}', 'it is not valid JSON'],
    ['nothing', '', 'it does not begin with {'],
  ])('with %s is left to the YAML reader', (_, text, why) => expect(readJson(text)).toEqual({ value: null, why }));

  test.each([
    '{}',
    ' {"a": {"b": [1, {"b": "c"}]}, "b": 1e3}\n',
    '{"a": "caf\\u00e9 \\ud83d\\ude00\\n", "b\\"": "\\\\"}',
    '{"a": "from $5", "b": ":x", "c": ": ", "d": "\\": ", "e": "__proto__"}',
  ])('is read: %s', (text) => expect(readJson(text)).toEqual({ value: JSON.parse(text) as unknown }));

  test('has its faults reported at their places', async () => {
    expect(await told('{\n "providers": {"mock": {}},\n "modles": [],\r\n "server": {"port": "80", "data_dir": 1.50}\n}')).toEqual([
      '3:2 modles: unknown key, did you mean "models"?',
      '4:21 server.port: expected integer, got string "80", did you mean 80 (without quotes)?',
      '4:39 server.data_dir: expected string, got number 1.50, write "1.50" in quotes',
    ]);
  });

  test('with references has them resolved, and their faults reported at their places', async () => {
    const text = '{"server": {"port": "${PORT}",\n "admin_key": "${KEY}"}}';
    const good = await load(text, { PORT: '5000', KEY: 'caf\u00e9-0123456789abcdef' });
    expect(good.ok && [good.config.server.port, good.config.server.adminKey?.reveal()]).toEqual([5000, 'caf\u00e9-0123456789abcdef']);
    expect(await told(text, { PORT: '5000' })).toEqual([
      '2:15 server.admin_key: KEY is not set, set the variable, or write ${KEY:-a default}',
    ]);
  });

  test('on one long line has its faults reported without the line', async () => {
    const loaded = await load(JSON.stringify({ models: Array.from({ length: 200 }, (_, at) => ({ id: `m-${at}`, nme: '' })) }));
    expect(loaded.ok ? [] : loaded.problems).toContainEqual(
      expect.objectContaining({ line: 1, col: 46, path: 'models[1].nme', source: '', length: 5 }),
    );
  });
});

describe('a large file', () => {
  const mebibyte = 1024 * 1024;
  const large = (size: number, more: object): string =>
    JSON.stringify({
      providers: { mock: {} },
      models: [{ id: 'a', free: true, providers: [{ providerId: 'mock' }], description: 'x'.repeat(size), ...more }],
    });
  const isNot = 'but this file is not read as JSON: it has a reference, ${...} or $$';

  test.each([
    ['in JSON is taken', large(15 * mebibyte, {}), []],
    ['that is no more than a MiB is taken as YAML', large(mebibyte - 1000, { name: '$$' }), []],
    [
      'that the gateway reads as YAML is taken with a warning',
      large(mebibyte, { name: '$$' }),
      [`1:1 is large for YAML: each reload delays all requests, JSON is read in a sixth of the time, ${isNot}`],
    ],
    [
      'that the gateway reads as YAML is refused above 4 MiB',
      large(4 * mebibyte, { name: '$$' }),
      [`1:1 is larger than 4 MiB, the limit for YAML; JSON may have 16 MiB, ${isNot}`],
    ],
    [
      'in YAML is refused above 4 MiB',
      `# ${'x'.repeat(4 * mebibyte)}`,
      ['1:1 is larger than 4 MiB, the limit for YAML; JSON may have 16 MiB, but this file is not read as JSON: it does not begin with {'],
    ],
    [
      'in JSON is refused above 16 MiB',
      large(16 * mebibyte, {}),
      ['1:1 is larger than 16 MiB, split it into JSON files and name them under `include`'],
    ],
  ])('%s', async (_, text, expected) => expect(await told(text)).toEqual(expected));
});
