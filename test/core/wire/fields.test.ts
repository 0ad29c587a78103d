import { expect, test } from 'vitest';
import { countOf, fieldsOf, isFields, listOf, textOf, wordsOf } from '../../../core/wire/fields.ts';

const others = [undefined, null, true, 7, -1, Number.NaN, Number.POSITIVE_INFINITY, '', ' ', ' two words\n', [], ['a'], { a: 1 }];

/** The values of `others` for which the reader gives something, and what it gives. */
const read = (reader: (value: unknown) => unknown, nothing: unknown): unknown[] => others.map(reader).filter((value) => JSON.stringify(value) !== JSON.stringify(nothing));

test('reads objects, and takes neither lists nor null for one', () => {
  expect(others.filter(isFields)).toEqual([{ a: 1 }]);
  expect(read(fieldsOf, {})).toEqual([{ a: 1 }]);
});

test('reads lists', () => {
  expect(read(listOf, [])).toEqual([['a']]);
});

test('reads a text unchanged, or without the white space around it', () => {
  expect(read(textOf, null)).toEqual([' ', ' two words\n']);
  expect(read(wordsOf, null)).toEqual(['two words']);
});

test('reads counts, and refuses what no count can be', () => {
  expect(read(countOf, null)).toEqual([7]);
  expect(countOf(0)).toBe(0);
  expect(countOf('7')).toBeNull();
});

test('gives an empty object that nobody can fill', () => {
  expect(() => Object.assign(fieldsOf(null), { a: 1 })).toThrow(TypeError);
});
