import { describe, expect, it } from 'vitest';
import { createPartialArgs } from '../../../../plugins/dialects/gemini/partial-args.ts';

const argsOf = (...pieces: unknown[]): unknown => {
  const args = createPartialArgs();
  for (const piece of pieces) args.add(piece);
  return JSON.parse(args.text());
};

describe('arguments in pieces', () => {
  it.each<[string, object[], object]>([
    ['values of every kind', [{ jsonPath: '$.a', stringValue: '' }, { jsonPath: '$.b', numberValue: 0 }, { jsonPath: '$.c', boolValue: false }, { jsonPath: '$.d', nullValue: 'NULL_VALUE' }], { a: '', b: 0, c: false, d: null }],
    ['a string that goes on', [{ jsonPath: '$.a', stringValue: 'New ', willContinue: true }, { jsonPath: '$.a', stringValue: 'Delhi' }], { a: 'New Delhi' }],
    ['lists and objects', [{ jsonPath: '$.a[0].b[1]', numberValue: 2 }, { jsonPath: '$.a[0].b[0]', numberValue: 1 }, { jsonPath: '$.a[1].c', boolValue: true }], { a: [{ b: [1, 2] }, { c: true }] }],
    ['names in brackets', [{ jsonPath: "$['post code']", stringValue: 'x' }, { jsonPath: String.raw`$["a\"b"].c`, stringValue: 'y' }], { 'post code': 'x', 'a"b': { c: 'y' } }],
    ['a value where an object was to be', [{ jsonPath: '$.a', stringValue: 'x' }, { jsonPath: '$.a.b', stringValue: 'y' }], { a: { b: 'y' } }],
  ])('puts %s together', (_, pieces, args) => {
    expect(argsOf(...pieces)).toEqual(args);
  });

  it('leaves out what has no place or no value', () => {
    expect(argsOf(null, 'x', {}, { jsonPath: '$.a' }, { jsonPath: 'a', stringValue: 'x' }, { jsonPath: '$', stringValue: 'x' }, { jsonPath: '$..a', stringValue: 'x' }, { jsonPath: '$.a[999999999]', stringValue: 'x' }, { jsonPath: `$${'.a'.repeat(200)}`, stringValue: 'x' })).toEqual({});
  });

  it('takes __proto__ for a name like any other', () => {
    const args = createPartialArgs();
    args.add({ jsonPath: '$.__proto__.isAdmin', boolValue: true });
    expect(args.text()).toBe('{"__proto__":{"isAdmin":true}}');
    expect({}).not.toHaveProperty('isAdmin');
  });
});
