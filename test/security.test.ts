/** SECURITY.md names the tests for each threat. A test that is renamed or removed makes this test fail. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '..');
const page = readFileSync(join(root, 'SECURITY.md'), 'utf8');

interface Named {
  readonly file: string;
  readonly title: string;
}

/** The last cell of each row: files in backquotes, each with its titles in quotes. */
const rows = page
  .slice(page.indexOf('| threat |'))
  .split('\n')
  .filter((line) => line.startsWith('|'))
  .slice(2)
  .map((line) => line.split(' | ').at(-1) ?? '');
const namedIn = (cell: string): Named[] =>
  cell
    .split(/(?=`test\/)/)
    .flatMap((part) => Array.from(part.matchAll(/"([^"]+)"/g), ([, title = '']) => ({ file: /`([^`]+)`/.exec(part)?.[1] ?? '', title })));

/** The text of a test file, which has its titles. */
const textOf = (file: string): string => (existsSync(join(root, file)) ? readFileSync(join(root, file), 'utf8') : '');
const has = ({ file, title }: Named): boolean =>
  title.split(' › ').every((part) => [`'${part}'`, `"${part}"`, `\`${part}\``].some((literal) => textOf(file).includes(literal)));

test('each threat of SECURITY.md names a test, and each of these tests exists', () => {
  expect(rows.length).toBeGreaterThan(30);
  expect(rows.filter((cell) => namedIn(cell).length === 0)).toEqual([]);
  expect(rows.flatMap(namedIn).filter((named) => !has(named))).toEqual([]);
});

test('each file that SECURITY.md links exists', () => {
  const files = Array.from(page.matchAll(/\]\(([\w./-]+)\)|`((?:core|config|test)\/[\w./-]+)`/g), ([, link, file]) => link ?? file ?? '');
  expect(files.filter((file) => !existsSync(join(root, file)))).toEqual([]);
});
