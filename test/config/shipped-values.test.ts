/** The kept values of files of the shipped catalogue: they save time, and a start works without them. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createShippedReader, hashOfText } from '../../config/yaml/shipped.ts';
import { folderOf } from './folder.ts';

const text = 'models: [{ id: a }]';
const line = `${hashOfText(text)} {"models":[{"id":"a"}]}`;
const valuesOf = (kept: string): Record<string, unknown> | null =>
  createShippedReader(join(folderOf({ 'values.jsonl': kept }), 'values.jsonl'))(text);

test('kept values are used for the same text only, and are new at each call', () => {
  const read = createShippedReader(join(folderOf({ 'values.jsonl': `0123456789abcdef {}\n${line}\n` }), 'values.jsonl'));
  expect(read(text)).toEqual({ models: [{ id: 'a' }] });
  expect(read(text)).not.toBe(read(text));
  expect(read(`${text} `)).toBeNull();
});

test.each([
  ['whose end is missing', line.slice(0, -4)],
  ['that is no map', `${hashOfText(text)} 5`],
  ['without values', hashOfText(text)],
])('kept values in a line %s are not used: the text is read as YAML', (_, broken) => expect(valuesOf(broken)).toBeNull());

test.each([
  ['is not there', 'values.jsonl'],
  ['cannot be read', '.'],
])('kept values are not used where their file %s', (_, name) => {
  expect(createShippedReader(join(folderOf({ 'other.yaml': '' }), name))(text)).toBeNull();
});
