/** Records and sums as rows of a spreadsheet. */
import { recordFields } from '../../../core/log/fields.ts';
import { isOfAttempts } from '../../../core/log/filters.ts';
import type { RecordField } from '../../../core/log/fields.ts';
import type { LoggedRequest, StatsRow } from '../../../core/log/store.ts';

type Cell = string | number | boolean | null;

/** A name is the last part of the field's name in the API: `promptTokens`. */
const columns = recordFields
  .filter(({ isDetail }) => isDetail !== true)
  .map(({ name, kind, read }) => ({
    name: name.split('.').at(-1) as string,
    cell: kind === 'json' ? jsonCell(read) : (read as (record: LoggedRequest) => Cell),
  }));

/** JSON, and nothing for an object without members. */
function jsonCell(read: RecordField['read']): (record: LoggedRequest) => Cell {
  return (record) => {
    const text = JSON.stringify(read(record));
    return text === '{}' ? null : text;
  };
}

const line = (cells: readonly Cell[]): string => `${cells.map(csvCell).join(',')}\r\n`;

/** @param metadataKeys each has a column, `meta.<key>`; the last column has all other metadata of a record as JSON */
export const csvHead = (metadataKeys: readonly string[]): string =>
  line([...columns.map(({ name }) => name), ...metadataKeys.map((key) => `meta.${key}`), 'otherMetadata']);

export function csvLine(record: LoggedRequest, metadataKeys: readonly string[]): string {
  const { metadata } = record;
  const others = Object.entries(metadata).filter(([key]) => !metadataKeys.includes(key));
  const cells = metadataKeys.map((key) => (Object.hasOwn(metadata, key) ? (metadata[key] ?? null) : null));
  return line([
    ...columns.map(({ cell }) => cell(record)),
    ...cells,
    others.length === 0 ? null : JSON.stringify(Object.fromEntries(others)),
  ]);
}

/**
 * The position before a formula. Japanese spreadsheets also treat full-width signs as formulas.
 * cost: only spaces, tabs and quotes may come before a formula, and each is read once.
 */
const formula = /(^(?=[\t\r])|(?:^|[;\r\n])(?=[ \t"]*[=+\-@\uFF1D\uFF0B\uFF0D\uFF20]))/g;

/** The names of the JSON, in its order. */
const statsColumns = [
  'value',
  'requests',
  'errors',
  'rescued',
  'promptTokens',
  'completionTokens',
  'reasoningTokens',
  'cachedTokens',
  'cost',
  'unpriced',
  'estimated',
  'tokensPerSecond',
  'latencyP50Ms',
  'latencyP95Ms',
  'latencyP99Ms',
  'timeToFirstTokenP50Ms',
  'timeToFirstTokenP95Ms',
] as const satisfies readonly (keyof StatsRow)[];

/** The columns for sums of attempts, which have no tokens and no cost of their own. */
const attemptColumns = [
  'value',
  'requests',
  'errors',
  'rescued',
  'latencyP50Ms',
  'latencyP95Ms',
  'latencyP99Ms',
] as const satisfies readonly (keyof StatsRow)[];

/** A row of sums of attempts. */
export type AttemptSums = Pick<StatsRow, (typeof attemptColumns)[number]>;

/** The columns of sums by a dimension. */
export const columnsBy = (by: string | null): readonly (keyof StatsRow)[] => (isOfAttempts(by) ? attemptColumns : statsColumns);

export const csvOf = <Name extends string>(names: readonly Name[], rows: readonly Readonly<Record<Name, Cell>>[]): string =>
  [names, ...rows.map((row) => names.map((name) => row[name]))].map(line).join('');

/**
 * safety: a spreadsheet runs a text that begins like a formula, and callers choose metadata and model names. An
 * apostrophe before the text prevents that. A spreadsheet that splits cells at semicolons ignores the quotes inside a
 * cell, so an apostrophe also comes after a semicolon or a line break that a formula follows. Numbers stay numbers.
 */
export function csvCell(value: Cell): string {
  if (value === null) return '';
  if (typeof value !== 'string') return String(value);
  const text = value.replaceAll(formula, "$1'");
  return /[",\r\n\t]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
