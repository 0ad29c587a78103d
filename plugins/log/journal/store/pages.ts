/** Lists by keyset: the newest first, by the size of a number, or by a text in bodies. */
import { setImmediate } from 'node:timers/promises';
import { filteredField } from '../../../../core/log/filters.ts';
import type { FilteredField } from '../../../../core/log/filters.ts';
import { BadQuery } from '../../../../core/log/store.ts';
import type { Condition, ListOptions, LogQuery, Order, Sort } from '../../../../core/log/store.ts';
import { binOf, binsOf, binSql } from '../sql/bins.ts';
import type { Binned } from '../sql/bins.ts';
import { firstSearched, searchMs } from '../sql/engine.ts';
import type { Queries } from '../sql/engine.ts';
import { isId } from '../../../../core/log/record-id.ts';
import { recordColumns } from '../sql/rows.ts';
import type { StoredRow } from '../sql/rows.ts';
import { isProbed, knownSql, Params, probeSql, selectionOf, textSql, unknownSql, whereSql } from '../sql/where.ts';
import type { Selection } from '../sql/where.ts';

/** Dollars as text, because a database's driver gives large integers as floats. */
export const rowColumns = recordColumns
  .map(({ column, kind }) => (kind === 'dollars' ? `cast(r.${column} as text) as ${column}` : `r.${column}`))
  .join(', ');

const largestPage = 1000;
/** An index that is not in the order of the list is used only where fewer rows than this match. */
const rareRows = 2000;

export interface Page {
  readonly rows: readonly StoredRow[];
  readonly next: string | null;
}

export function pageOf(queries: Queries, query: LogQuery, options: ListOptions): Promise<Page> {
  const { sort = null } = options;
  if (sort === null) return (query.text === null ? plainPage : searchedPage)(queries, query, options);
  if (query.text !== null) throw new BadQuery('A search in bodies gives the newest first: leave "sort" or "q" out.', 'sort');
  return sortedPage(queries, query, { ...options, sort });
}

const sizeOf = ({ limit }: ListOptions): number => Math.max(1, Math.min(Math.floor(limit), largestPage));

const noCursor = (): BadQuery => new BadQuery('The cursor is not valid: take it from "next" of the page before.', 'cursor');

function beforeCursor({ where, key }: Selection, cursor: string | null, params: Params): readonly string[] {
  if (cursor === null) return where;
  if (!isId(cursor)) throw noCursor();
  return [...where, `${key} < ${params.id(cursor)}`];
}

async function plainPage(queries: Queries, query: LogQuery, options: ListOptions): Promise<Page> {
  const { grammar } = queries.engine;
  const rare = await rareConditions(queries, query);
  const params = new Params(grammar);
  const selection = selectionOf(query, params, { rare });
  const size = sizeOf(options);
  const rows = await queries.found(
    `select ${rowColumns} from ${selection.from}${whereSql(beforeCursor(selection, options.cursor ?? null, params))}
    order by ${selection.key} desc limit ${size + 1}`,
    params,
  );
  return { rows: rows.slice(0, size), next: rows.length > size ? (rows[size - 1]?.['id'] as string) : null };
}

/**
 * cost: an index on a number helps if few rows match; if many match, sorting
 * them costs more than it saves. So up to a limit the ids are fetched first.
 */
async function rareConditions({ engine, found }: Queries, { conditions }: LogQuery): Promise<Map<Condition, readonly string[]>> {
  const rare = new Map<Condition, readonly string[]>();
  for (const condition of conditions.filter(isProbed)) {
    const params = new Params(engine.grammar);
    const rows = await found(probeSql(condition, params, rareRows), params);
    if (rows.length < rareRows) {
      rare.set(
        condition,
        rows.map(({ id }) => id as string),
      );
    }
  }
  return rare;
}

/**
 * A search in bodies. There is no index of words, so a page searches for a
 * limited time, and its cursor says where the next page begins.
 */
async function searchedPage(queries: Queries, query: LogQuery, options: ListOptions): Promise<Page> {
  const until = performance.now() + searchMs;
  const size = sizeOf(options);
  const rows: StoredRow[] = [];
  let cursor = options.cursor ?? null;
  for (let bodies = firstSearched; ; bodies *= 2) {
    const found = await searchedRows(queries, query, { limit: size - rows.length, cursor, bodies });
    rows.push(...found.rows);
    cursor = found.next;
    if (cursor === null || rows.length === size || performance.now() >= until) return { rows, next: cursor };
    // new records and other reads have their turn
    await setImmediate();
  }
}

interface Window {
  readonly limit: number;
  readonly cursor: string | null;
  /** How many bodies are looked through. */
  readonly bodies: number;
}

async function searchedRows({ engine: { grammar }, found }: Queries, query: LogQuery, { limit, cursor, bodies }: Window): Promise<Page> {
  const window = (params: Params): string => {
    const selection = selectionOf(query, params);
    return `
      select ${selection.key} as id from ${selection.from}${whereSql(beforeCursor(selection, cursor, params))}
      order by ${selection.key} desc limit ${bodies}`;
  };
  const params = new Params(grammar);
  const within = window(params);
  const rows = await found(
    `select ${rowColumns} from (${within}) i
    join gateway_requests r on r.id = i.id
    where ${textSql(query.text ?? '', 'i.id', params)} order by r.id desc limit ${limit + 1}`,
    params,
  );
  if (rows.length > limit) return { rows: rows.slice(0, limit), next: rows[limit - 1]?.['id'] as string };
  const again = new Params(grammar);
  const [last] = await found(`select id from (${window(again)}) w order by id desc limit 1 offset ${bodies - 1}`, again);
  if (last === undefined) return { rows, next: null };
  const next = last['id'] as string;
  // records that came between the two queries have moved the end: the next page finds the rest
  return { rows: rows.filter(({ id }) => (id as string) >= next), next };
}

const sortFilters: Readonly<Record<Sort, string>> = { cost: 'cost', duration: 'latency', tokens: 'tokens' };

/** A row's place in a sorted list. */
interface Place {
  /** The number as an integer; null: the row has no such number, and comes after the rows that have one. */
  readonly value: string | null;
  readonly id: string;
}

/** What a column of 64 bits holds. */
const largestValue = 2n ** 63n - 1n;

function placeOf(cursor: string | null | undefined): Place | null {
  if (cursor === null || cursor === undefined) return null;
  const [, value = '', id = ''] = /^(\d{0,19})~(.+)$/.exec(cursor) ?? [];
  if (!isId(id) || (value !== '' && BigInt(value) > largestValue)) throw noCursor();
  return { value: value === '' ? null : value, id };
}

/**
 * The largest first, or the smallest, and among equal ones the newest. Reads
 * bin by bin, in the order of the index; the rows without a number come last.
 * cost: the first bins hold few rows, so a page does not sort all records.
 */
async function sortedPage(queries: Queries, query: LogQuery, options: ListOptions & { readonly sort: Sort }): Promise<Page> {
  const field = filteredField(sortFilters[options.sort]) as FilteredField;
  const column = field.asked as Binned;
  const { order = 'desc' } = options;
  const after = placeOf(options.cursor);
  const size = sizeOf(options);
  const places: Place[] = [];
  const bins = order === 'desc' ? binsOf(column) : binsOf(column).toReversed();
  const first = after === null ? 0 : after.value === null ? bins.length : bins.indexOf(binOf(column, BigInt(after.value)));
  for (const bin of [...bins.slice(first), null]) {
    if (places.length > size) break;
    places.push(...(await placesIn(queries, query, { field, order, bin, after, limit: size + 1 - places.length })));
  }
  const shown = places.slice(0, size);
  const last = shown.at(-1);
  return { rows: await rowsOf(queries, shown), next: places.length > size && last !== undefined ? `${last.value ?? ''}~${last.id}` : null };
}

interface Part {
  readonly field: FilteredField;
  readonly order: Order;
  /** null: the rows without a number. */
  readonly bin: number | null;
  readonly after: Place | null;
  readonly limit: number;
}

/** cost: the index holds every column of this query, so it reads no row where there is no other filter. */
async function placesIn(
  { engine: { grammar }, found }: Queries,
  query: LogQuery,
  { field, order, bin, after, limit }: Part,
): Promise<Place[]> {
  const column = field.asked as Binned;
  const params = new Params(grammar);
  const { from, where, key } = selectionOf(query, params);
  const conditions = [...where, ...(bin === null ? [unknownSql(field)] : [`r.${column} is not null`, `${binSql(column)} = ${bin}`])];
  // cost: the other bins hold no 0, so their queries read the index alone
  if (bin === 0) conditions.push(knownSql(field));
  // rows without a number come after each row that has one
  if (after !== null && bin === null && after.value === null) conditions.push(`${key} < ${params.id(after.id)}`);
  if (after !== null && bin !== null) {
    const isBelow = order === 'desc';
    conditions.push(behindSql(`r.${column}`, { key, isBelow, value: params.add(after.value), id: params.id(after.id) }));
  }
  const rows = await found(
    `select ${key} as id, ${bin === null ? 'null' : `cast(r.${column} as text)`} as value
    from ${from}${whereSql(conditions)}
    order by ${bin === null ? '' : `r.${column} ${order}, `}${key} desc limit ${limit}`,
    params,
  );
  return rows.map(({ id, value }) => ({ id: id as string, value: value as string | null }));
}

interface Behind extends Readonly<Record<keyof Place, string>> {
  readonly key: string;
  readonly isBelow: boolean;
}

const behindSql = (column: string, { key, isBelow, value, id }: Behind): string =>
  `(${column} ${isBelow ? '<' : '>'} cast(${value} as bigint) or (${column} = cast(${value} as bigint) and ${key} < ${id}))`;

/** The rows with these ids, in this order. */
async function rowsOf({ engine: { grammar }, found }: Queries, places: readonly Place[]): Promise<StoredRow[]> {
  if (places.length === 0) return [];
  const params = new Params(grammar);
  const rows = await found(
    `select ${rowColumns} from gateway_requests r where r.id in (${places.map(({ id }) => params.id(id)).join(', ')})`,
    params,
  );
  const byId = new Map(rows.map((row) => [row['id'] as string, row]));
  return places.map(({ id }) => byId.get(id)).filter((row) => row !== undefined);
}
