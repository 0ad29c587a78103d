/** The quick reader of YAML beside the YAML parser: it gives the same values, or null. */
import { globSync, readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readQuickYaml } from '../../config/yaml/quick.ts';
import { parseSource } from '../../config/source.ts';
import { cpuMsOf } from '../_kit/cpu.ts';

const files = globSync(['gateway.config.yaml', 'config/catalogue/*.yaml'])
  .sort()
  .map((file): [string, string] => [file, readFileSync(file, 'utf8')]);

/** The value of the YAML parser; null: the text has a fault, or is not a map. */
function parsed(text: string): unknown {
  const { document } = parseSource('', '', text);
  return document.errors.length + document.warnings.length > 0 ? null : document.toJS();
}

describe('the quick reader', () => {
  test.each(files)('reads every shipped file: %s', (_, text) => {
    expect(readQuickYaml(text)).toEqual(parsed(text));
  });

  test.each([
    ['a: 1\nb:\n- x\n- y: 2\n  z: [a b, "c: d", { e: true }] # why\nc: f'],
    ['a:\n    b: 1\n    c:\n      - d: x\n\n  # a comment\n        e: null'],
    ['a: { b: [], c: {}, d: accounts/x/y-1.5 }'],
    ['a: ${B}\nb: { c: ${D}, e: "x${F:-y}$$ $G ${", ${H}: "${file:/run/x}" }'],
    ['text: For hard problems, "code" and [agents] by `dimensions`: {not a map}'.replace(': {', ' {')],
  ])('gives the values of the YAML parser: %j', (text) => {
    const value = readQuickYaml(text);
    expect(value).not.toBeNull();
    expect(value).toEqual(parsed(text));
  });

  test.each([
    ['a: 1\na: 2'],
    ['__proto__: 1'],
    ['a: { __proto__: 1 }'],
    ['a: &x 1'],
    ['a: *x'],
    ['a: !!str 1'],
    ['null: 1'],
    ['? a\n: b'],
    ['a: [b'],
    ['- a'],
    ['a'],
    [''],
    ['a:\n\t- b'],
    ['  a:\n  \t'],
    ['    ---\n\n   b:  x\n'],
    ['...\na: b'],
    ['# c\n...\na: b'],
    ['a: b\r\nc: d'],
  ])('leaves a text to the YAML parser: %j', (text) => {
    expect(readQuickYaml(text)).toBeNull();
  });

  test('takes a time that grows linearly with the text', () => {
    const models = Array.from({ length: 20_000 }, (_, at) => `- id: m${at}\n  free: true\n`).join('');
    for (const text of [
      `models:\n${models}`,
      `a: b\n${'\n'.repeat(200_000)}`,
      `a: ${'x '.repeat(200_000)}`,
      `a: null${' '.repeat(200_000)}b`,
    ]) {
      // the reader takes 60 ms; it takes 8 s where a pattern looks beyond its line
      expect(cpuMsOf(() => void readQuickYaml(text))).toBeLessThan(4000);
    }
  });

  test('gives the values of the YAML parser, or null, for files with random changes', () => {
    const pieces = [
      ...files.flatMap(([, text]) => text.split(/\n(?= {2}- id)/).slice(1, 4)).map((piece) => `models:\n${piece}\n`),
      'a: ${B}\nb: { c: ${D}, e: "x${F:-y}$$", g: "${file:/run/x}" }\n',
    ];
    const edit = fc.record({
      at: fc.nat(),
      cut: fc.nat(3),
      put: fc.oneof(
        fc.constantFrom(
          '${',
          '}',
          '$',
          '${A}',
          '\n',
          '\n  ',
          ' ',
          '  ',
          ': ',
          ':',
          '- ',
          '-',
          '#',
          ' #',
          ',',
          '{',
          '}',
          '[',
          ']',
          '"',
          "'",
          '&',
          '*',
          '!',
          '|',
          '>',
          '%',
          '@',
          '`',
          '?',
          '0',
          '1e3',
          'null',
          'true',
          '~',
          '.',
          '\t',
          '\r',
          '…',
          '\u00a0',
          '\u2028',
        ),
        fc.string({ maxLength: 3 }),
      ),
    });
    const changed = fc
      .tuple(fc.constantFrom(...pieces), fc.array(edit, { minLength: 1, maxLength: 3 }))
      .map(([piece, edits]) =>
        edits.reduce((text, { at, cut, put }) => `${text.slice(0, at % text.length)}${put}${text.slice((at % text.length) + cut)}`, piece),
      );
    fc.assert(
      fc.property(changed, (text) => {
        const value = readQuickYaml(text);
        if (value !== null) expect(value).toEqual(parsed(text));
      }),
      { numRuns: Math.max(1000, fc.readConfigureGlobal().numRuns ?? 0) },
    );
  });
});
