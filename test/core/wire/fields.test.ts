import { expect, test } from 'vitest';
import { countOf, fieldsOf, isFields, listOf, textOf, wordsOf } from '../../../core/wire/fields.ts';

const others = [undefined, null, true, 7, -1, Number.NaN, Number.POSITIVE_INFINITY, '', ' ', ' two words\n', [], ['a'], { a: 1 }];

/** The results of the reader for `others`, without those that are empty. */
const read = (reader: (value: unknown) => unknown, nothing: unknown): unknown[] =>
  others.map(reader).filter((value) => JSON.stringify(value) !== JSON.stringify(nothing));

test('isFields and fieldsOf read objects, but not lists and null', () => {
  expect(others.filter(isFields)).toEqual([{ a: 1 }]);
  expect(read(fieldsOf, {})).toEqual([{ a: 1 }]);
});

test('listOf reads lists', () => {
  expect(read(listOf, [])).toEqual([['a']]);
});

test('textOf reads a text unchanged, and wordsOf reads it without the white space around it', () => {
  expect(read(textOf, null)).toEqual([' ', ' two words\n']);
  expect(read(wordsOf, null)).toEqual(['two words']);
});

test('countOf reads counts, and refuses all other values', () => {
  expect(read(countOf, null)).toEqual([7]);
  expect(countOf(0)).toBe(0);
  expect(countOf('7')).toBeNull();
  // typed clients read counts as whole numbers and lose the whole answer over another one, and no cost can be computed of it
  expect([countOf(1.5), countOf(1e21), countOf(Number.MAX_SAFE_INTEGER)]).toEqual([null, null, Number.MAX_SAFE_INTEGER]);
});

test('fieldsOf returns a frozen empty object where there is none', () => {
  expect(() => Object.assign(fieldsOf(null), { a: 1 })).toThrow(TypeError);
});
