/**
 * Records as rows, and rows as records. A record is one narrow row in `gateway_requests`, as the table in `core/log/fields.ts` says;
 * its bodies are in a table of their own; each metadata value and each field of a plugin has a row in `gateway_tags`.
 */
import { doorOf } from '../../../../core/log/doors.ts';
import { recordFields } from '../../../../core/log/fields.ts';
import type { FieldKind, RecordField } from '../../../../core/log/fields.ts';
import type { Keyed } from '../../../../core/log/filters.ts';
import { isError } from '../../../../core/log/outcome.ts';
import { isId } from '../../../../core/log/record-id.ts';
import type { LoggedDetail, LoggedRequest, LoggedWhole } from '../../../../core/log/store.ts';
import { parseDollars, formatDollars } from '../../../../core/money.ts';
import { isFields } from '../../../../core/wire/fields.ts';
import type { Fields } from '../../../../core/wire/fields.ts';
import { reasoningOf } from '../../../../core/pipeline/reply.ts';
import { requestBody, responseBody } from './bodies.ts';
import type { StoredChoice } from './bodies.ts';
import { cleanJson, count, longestText, parseClean, real, text } from './clean.ts';
import { attemptsOf, askedColumns } from './attempts.ts';
import type { AttemptRow } from './attempts.ts';
import { storedSent, upstreamOf } from './upstream.ts';
import { promptStartOf } from '../write/prompt-start.ts';
import type { Columns, Entry, Finished, Started } from '../write/entry.ts';
import type { Parts } from '../write/frames.ts';

type Cell = string | number | boolean | null;
type Cells<Value> = Readonly<Record<string, Value>>;

/** A row of `gateway_requests`. Its cost is 10^-12 dollar as text, because that is more than a float holds. */
export interface RequestRow extends Cells<Cell | Cells<Cell>> {
  readonly id: string;
  readonly metadata: Cells<string>;
  readonly fields: Cells<string | number | boolean>;
  /** Whether the outcome is another one than `answered`. */
  readonly failed: boolean;
  /** JSON of the fields that have no column. */
  readonly more: string;
}

type ColumnField = RecordField & { readonly column: string };
const columnFields = recordFields.filter((field): field is ColumnField => field.column !== null);
const moreFields = recordFields.filter(({ column }) => column === null);

interface Column {
  readonly column: string;
  readonly kind: FieldKind;
}

/** The columns of `gateway_requests` from which a record is read, with what each holds. */
export const recordColumns: readonly Column[] = [
  ...columnFields.map(({ column, kind }) => ({ column, kind })),
  { column: 'more', kind: 'text' },
];
/** All columns of `gateway_requests`. */
export const requestColumns: readonly Column[] = [...recordColumns, { column: 'failed', kind: 'flag' }, ...askedColumns];

export interface BodyRow {
  readonly id: string;
  readonly request: string | null;
  readonly response: string | null;
  readonly reasoning: string | null;
  /** The requests to providers, as `storedSent` gives them. */
  readonly upstream: string | null;
}

export interface Row {
  readonly request: RequestRow;
  /** The attempts that need rows of their own. */
  readonly attempts: readonly AttemptRow[];
  readonly body: BodyRow | null;
  /** The entry as it came from the journal, for the dead letters. */
  readonly entry: Entry;
}

const longestField = 1024;
const largestCost = 9_000_000_000_000_000_000n;

/** Throws if an entry is not a record at all. */
export function rowOf(entry: Entry): Row {
  const parsed = parseClean(entry.payload);
  const row = entry.parts === undefined ? rowOfWhole(parsed, entry.isInterrupted) : rowOfParts(parsed as Columns, entry.parts);
  if (!isId(row.request.id)) throw new Error('its id is no UUID');
  return { ...row, entry };
}

const rowOfParts = (columns: Columns, { more, sent = '', request, response }: Parts): Omit<Row, 'entry'> => ({
  ...requestRow(columns, cleanJson(more)),
  body: request === '' && response === '' ? null : bodyOf(columns, { sent, request: cleanJson(request), response: cleanJson(response) }),
});

const bodyOf = (
  { id, reasoningContent }: Columns,
  { sent, request, response }: Readonly<Record<'sent' | 'request' | 'response', string>>,
): BodyRow => ({
  id,
  request: request || null,
  response: response || null,
  reasoning: reasoningContent ?? null,
  upstream: sent === '' ? null : storedSent(sent, request),
});

function rowOfWhole(parsed: unknown, isInterrupted: boolean): Omit<Row, 'entry'> {
  const entry = isInterrupted ? interrupted(parsed as Started) : (parsed as Finished);
  const more = moreFields.map(({ name, kind }) => [name, kind === 'rate' ? real(valueIn(entry, name)) : valueIn(entry, name)]);
  // an earlier version wrote neither of these two fields
  const record = { door: doorOf(entry.path), promptStart: promptStartOf(entry.request ?? null), ...entry };
  return { ...requestRow(record, JSON.stringify(Object.fromEntries(more))), body: bodyRow(entry) };
}

const unknownUsage = {
  promptTokens: null,
  completionTokens: null,
  reasoningTokens: null,
  cachedTokens: null,
  cacheWriteTokens: null,
  totalTokens: null,
};

/** The record of a request whose process died: it may have cost money, but nobody knows how much. */
function interrupted(started: Started): Finished {
  const error = { code: 'interrupted', message: 'The gateway ended before the answer was complete.', plugin: null };
  const nothing = {
    finishReason: null,
    nativeFinishReason: null,
    timeToFirstTokenMs: null,
    tokensPerSecond: null,
    cost: null,
    costIsUpperBound: false,
    providerCost: null,
    usageDetails: null,
    prices: null,
  };
  const createdAt = new Date(started.createdAt).toISOString();
  return {
    ...started,
    ...nothing,
    createdAt,
    door: doorOf(started.path),
    promptStart: null,
    status: 0,
    outcome: 'interrupted',
    durationMs: 0,
    usage: unknownUsage,
    usageEstimated: false,
    attempts: [],
    ruledOut: [],
    adjustments: [],
    error,
    timings: {},
    fields: {},
  };
}

/** The place of a value in a record, by its name in the API: `usage.totalTokens` is in an object of its own. */
type Path = readonly [outer: string, inner?: string];
const pathOf = (name: string): Path => name.split('.') as unknown as Path;

function valueAt(record: object, [outer, inner]: Path): unknown {
  const value = (record as Cells<unknown>)[outer];
  return inner === undefined ? value : (value as Cells<unknown> | null | undefined)?.[inner];
}

const valueIn = (record: object, name: string): unknown => valueAt(record, pathOf(name));

/** How a value goes into its column; null: the record has none. JSON columns have rules of their own. */
const written: Readonly<Record<FieldKind, (value: unknown) => Cell>> = {
  id: (value) => value as string,
  time: timeOf,
  text: (value) => text(value, longestText),
  flag: (value) => value === true,
  status: count,
  number: count,
  milliseconds: count,
  rate: real,
  dollars: costOf,
  json: () => null,
};

/** cost: paths are split once, not for each record. */
const cellsOf = columnFields
  .filter(({ kind }) => kind !== 'json')
  .map(({ name, column, kind, otherwise = null }) => ({ path: pathOf(name), column, write: written[kind], otherwise: otherwise as Cell }));

/** cost: a copy of this object has room for all columns. An object that gets them one by one grows ten times, which takes 3 of 35 µs a record. */
const noCells: Cells<Cell> = Object.fromEntries(requestColumns.map(({ column }) => [column, null]));

function requestRow(record: Columns, more: string): Pick<Row, 'request' | 'attempts'> {
  const cells: Record<string, Cell | Cells<Cell>> = { ...noCells };
  for (const { path, column, write, otherwise } of cellsOf) cells[column] = write(valueAt(record, path)) ?? otherwise;
  cells['metadata'] = metadataOf(record.metadata);
  cells['fields'] = pluginFieldsOf(record.fields);
  cells['failed'] = isError(record);
  cells['more'] = more;
  const { asked, attempts } = attemptsOf(record, more);
  Object.assign(cells, asked);
  return { request: cells as RequestRow, attempts };
}

function timeOf(value: unknown): number {
  const at = Date.parse(value as string);
  if (Number.isNaN(at)) throw new Error('its time is not valid');
  return at;
}

function costOf(dollars: unknown): string | null {
  const pico = typeof dollars === 'string' ? parseDollars(dollars) : undefined;
  return pico === undefined ? null : String(pico > largestCost ? largestCost : pico);
}

const entriesOf = (value: unknown): [string, unknown][] => (typeof value === 'object' && value !== null ? Object.entries(value) : []);

/** cost: mostly all values are texts, and need no conversion. */
const metadataOf = (metadata: unknown): Cells<string> =>
  isFields(metadata) && areTexts(metadata)
    ? metadata
    : Object.fromEntries(
        entriesOf(metadata).map(([name, value]) => [name, typeof value === 'string' ? value : (JSON.stringify(value) ?? '')]),
      );

function areTexts(values: Fields): values is Cells<string> {
  for (const name in values) if (typeof values[name] !== 'string') return false;
  return true;
}

/** A plugin may put anything on the record; what is neither text, number nor flag is left out. */
function pluginFieldsOf(fields: unknown): Record<string, string | number | boolean> {
  return Object.fromEntries(
    entriesOf(fields).flatMap(([name, value]): [string, string | number | boolean][] => {
      const kept = typeof value === 'boolean' ? value : (real(value) ?? text(value, longestField));
      return kept === null ? [] : [[name, kept]];
    }),
  );
}

/** The index holds no long text: a value is found by its first characters. */
export const tagText = (text: string): string => (text.length <= longestText ? text : text.slice(0, longestText).toWellFormed());

/** The name of a tag. No header has this character in its name, so a plugin's field is never taken for metadata. */
export const tagName = ({ part, key }: Keyed): string => tagText(part === 'metadata' ? key : `\u0001${key}`);

const tagsIn = (part: Keyed['part'], values: Cells<Cell>): [string, string][] =>
  Object.entries(values).map(([key, value]) => [tagName({ part, key }), tagText(String(value))]);

/** Names and values of all tags of a row. */
export const tagsOf = ({ metadata, fields }: Pick<RequestRow, 'metadata' | 'fields'>): [name: string, value: string][] => [
  ...tagsIn('metadata', metadata),
  ...tagsIn('fields', fields),
];

function bodyRow({ id, request, response, reasoningContent }: Finished): BodyRow | null {
  if (request === undefined && response === undefined) return null;
  return {
    id,
    request: request ? JSON.stringify(requestBody(request)) : null,
    response: response ? JSON.stringify(responseBody(response.choices)) : null,
    reasoning: reasoningContent ?? null,
    upstream: null,
  };
}

/** A row as a database gives it back; numbers may come as text. */
export type StoredRow = Readonly<Record<string, unknown>>;

/** JSON of a column: PostgreSQL gives it parsed, SQLite as text. */
export const parsedJson = (value: unknown): unknown => (typeof value === 'string' ? JSON.parse(value) : value);

const numberOf = (value: unknown): number | null => (value === null || value === undefined ? null : Number(value));

/** How a value comes back from its column. */
const readBack: Readonly<Record<FieldKind, (value: unknown) => unknown>> = {
  id: (value) => value,
  time: (value) => new Date(Number(value)).toISOString(),
  text: (value) => value,
  flag: Boolean,
  status: numberOf,
  number: numberOf,
  milliseconds: numberOf,
  rate: numberOf,
  dollars: (value) => (typeof value === 'string' ? formatDollars(BigInt(value)) : null),
  json: parsedJson,
};

export function readRecord(row: StoredRow): LoggedRequest {
  const more = parsedJson(row['more']) as StoredRow;
  const record: Record<string, unknown> = {};
  for (const { name, kind, column, otherwise = null } of recordFields) {
    const value = (column === null ? more[name] : readBack[kind](row[column])) ?? otherwise;
    const [outer = '', inner] = name.split('.');
    if (inner === undefined) record[outer] = value;
    else ((record[outer] ??= {}) as Record<string, unknown>)[inner] = value;
  }
  const found = record as unknown as LoggedRequest;
  // attempts that are older than the field do not say when they began
  return {
    ...found,
    attempts: found.attempts.map((attempt) => ({ ...attempt, startedMs: (attempt.startedMs as number | null | undefined) ?? null })),
  };
}

/** A row joined with its bodies. */
export function readDetail(row: StoredRow): LoggedDetail {
  const response = row['response'] === null ? null : (parsedJson(row['response']) as { choices: StoredChoice[] });
  const reasoning = row['reasoning'] as string | null;
  return {
    ...readRecord(row),
    request: row['request'] === null ? null : parsedJson(row['request']),
    response,
    reasoningContent: reasoning ?? (response === null ? null : reasoningOf(response.choices)),
  };
}

/** The detail with the requests to providers. */
export function readWhole(row: StoredRow): LoggedWhole {
  const { upstream, request } = row as Readonly<Record<string, string | null | undefined>>;
  return { ...readDetail(row), upstream: upstream ? upstreamOf(upstream, request ?? '') : null };
}
