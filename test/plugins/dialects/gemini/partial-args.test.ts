import { describe, expect, it } from 'vitest';
import type { Dialect } from '../../../../core/wire/dialect.ts';
import plugin from '../../../../plugins/dialects/gemini/index.ts';
import { createPartialArgs } from '../../../../plugins/dialects/gemini/partial-args.ts';
import { targetOf } from '../../../contract/dialect.ts';

const argsOf = (...pieces: unknown[]): unknown => {
  const args = createPartialArgs();
  for (const piece of pieces) args.add(piece);
  return JSON.parse(args.text());
};

describe('arguments in pieces', () => {
  it.each<[string, object[], object]>([
    [
      'values of every kind',
      [
        { jsonPath: '$.a', stringValue: '' },
        { jsonPath: '$.b', numberValue: 0 },
        { jsonPath: '$.c', boolValue: false },
        { jsonPath: '$.d', nullValue: 'NULL_VALUE' },
      ],
      { a: '', b: 0, c: false, d: null },
    ],
    [
      'a string that goes on',
      [
        { jsonPath: '$.a', stringValue: 'New ', willContinue: true },
        { jsonPath: '$.a', stringValue: 'Delhi' },
      ],
      { a: 'New Delhi' },
    ],
    [
      'lists and objects',
      [
        { jsonPath: '$.a[0].b[1]', numberValue: 2 },
        { jsonPath: '$.a[0].b[0]', numberValue: 1 },
        { jsonPath: '$.a[1].c', boolValue: true },
      ],
      { a: [{ b: [1, 2] }, { c: true }] },
    ],
    [
      'names in brackets',
      [
        { jsonPath: "$['post code']", stringValue: 'x' },
        { jsonPath: String.raw`$["a\"b"].c`, stringValue: 'y' },
      ],
      { 'post code': 'x', 'a"b': { c: 'y' } },
    ],
    [
      'a value where an object was to be',
      [
        { jsonPath: '$.a', stringValue: 'x' },
        { jsonPath: '$.a.b', stringValue: 'y' },
      ],
      { a: { b: 'y' } },
    ],
  ])('are joined: %s', (_, pieces, args) => {
    expect(argsOf(...pieces)).toEqual(args);
  });

  it('are left out where they have no path or no value', () => {
    expect(
      argsOf(
        null,
        'x',
        {},
        { jsonPath: '$.a' },
        { jsonPath: 'a', stringValue: 'x' },
        { jsonPath: '$', stringValue: 'x' },
        { jsonPath: '$..a', stringValue: 'x' },
        { jsonPath: '$.a[999999999]', stringValue: 'x' },
        { jsonPath: `$${'.a'.repeat(200)}`, stringValue: 'x' },
      ),
    ).toEqual({});
  });

  it.each<[string, (at: number) => object]>([
    ['a string that goes on', () => ({ jsonPath: '$.a', stringValue: 'x'.repeat(10_000) })],
    ['new names', (at) => ({ jsonPath: `$.a${at}${'x'.repeat(10_000)}`, boolValue: true })],
    ['lists with gaps', (at) => ({ jsonPath: `$.a${at}${'[10000]'.repeat(63)}`, boolValue: true })],
  ])('are limited: %s', (_, piece) => {
    const args = createPartialArgs();
    expect(() => {
      for (let at = 0; at < 3000; at++) args.add(piece(at));
    }).toThrow('too long');
    expect(args.text().length).toBeLessThan(25_000_000);
  });

  it('are not ended twice: an empty piece after a whole call is ignored', () => {
    const decoder = (plugin.dialects as readonly [Dialect])[0].decoder(targetOf('gemini'));
    const push = (functionCall: object) =>
      decoder.push({ data: JSON.stringify({ candidates: [{ content: { parts: [{ functionCall }] } }] }) });
    expect(push({ name: 'find', args: { a: 1 } })).toMatchObject([{ type: 'tool-start' }, { type: 'tool-delta', arguments: '{"a":1}' }]);
    expect(push({})).toEqual([]);
  });

  it('are limited over all choices of an answer, also where each event has token counts', () => {
    const decoder = (plugin.dialects as readonly [Dialect])[0].decoder(targetOf('gemini'));
    const push = (index: number): void => {
      const functionCall = { name: 'find', willContinue: true, partialArgs: [{ jsonPath: '$.a', stringValue: 'x'.repeat(900_000) }] };
      decoder.push({
        data: JSON.stringify({
          candidates: [{ index, content: { parts: [{ functionCall }] } }],
          usageMetadata: { promptTokenCount: 1, candidatesTokenCount: index },
        }),
      });
    };
    expect(() => {
      for (let index = 0; index < 100; index++) push(index);
    }).toThrow('too long');
  });

  it.each<[string, Record<string, unknown>, readonly object[], string]>([
    [
      'an object that came whole',
      { filter: {} },
      [{ jsonPath: '$.filter.__proto__.isAdmin', boolValue: true }],
      '{"filter":{"__proto__":{"isAdmin":true}}}',
    ],
    [
      'an object that came whole, by its last step',
      { filter: {} },
      [{ jsonPath: '$.filter.__proto__', stringValue: 'a' }],
      '{"filter":{"__proto__":"a"}}',
    ],
    [
      'an object whose class has a field of that name',
      { filter: {} },
      [{ jsonPath: '$.filter.toString.isAdmin', boolValue: true }],
      '{"filter":{"toString":{"isAdmin":true}}}',
    ],
    [
      'a list',
      {},
      [
        { jsonPath: '$.all[0]', stringValue: 'a' },
        { jsonPath: '$.all.__proto__.isAdmin', boolValue: true },
      ],
      '{"all":["a"]}',
    ],
    [
      'the length of a list',
      {},
      [
        { jsonPath: '$.all[0]', stringValue: 'a' },
        { jsonPath: '$.all.length', numberValue: 4e9 },
      ],
      '{"all":["a"]}',
    ],
  ])('change only the arguments, also by a path into %s', (_, whole, pieces, json) => {
    const args = createPartialArgs(whole);
    for (const piece of pieces) args.add(piece);
    const polluted = [Object.prototype, Array.prototype].filter((one) => Object.hasOwn(one, 'isAdmin'));
    for (const one of polluted) delete (one as { isAdmin?: unknown }).isAdmin;
    expect([polluted, args.text()]).toEqual([[], json]);
  });

  it('treat __proto__ like any other name', () => {
    const args = createPartialArgs();
    args.add({ jsonPath: '$.__proto__.isAdmin', boolValue: true });
    expect(args.text()).toBe('{"__proto__":{"isAdmin":true}}');
    expect({}).not.toHaveProperty('isAdmin');
  });
});
