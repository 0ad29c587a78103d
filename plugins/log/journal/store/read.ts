/** The read side of a store, as SQL: lists by keyset, one record, sums and series. */
import { facetFields, keyedName } from '../../../../core/log/fields.ts';
import { queriesOf } from '../sql/engine.ts';
import type { Engine, Queries } from '../sql/engine.ts';
import { BadQuery } from '../../../../core/log/store.ts';
import type { Condition, ListOptions, LoggedDetail, LogFacets, LogPage, LogQuery, Rank, Series, SeriesOptions, SeriesPoint, StatsRow } from '../../../../core/log/store.ts';
import { parsedJson, readDetail, readRecord, recordColumns } from '../sql/rows.ts';
import type { StoredRow } from '../sql/rows.ts';
import { groupsOf } from '../sums/rollup.ts';
import type { Group } from '../sums/from-records.ts';
import { faultsOf } from '../sums/from-attempts.ts';
import { bodyColumns, isProbed, Params, probeSql, selectionOf, textSql, whereSql } from '../sql/where.ts';
import type { Grammar, Selection } from '../sql/where.ts';
import { firstIdAt, isId } from '../sql/id-time.ts';
import type { Reader } from './store.ts';
import { addSums, noSums, statsOf } from '../sums/sums.ts';
import type { Sums } from '../sums/sums.ts';

/** Dollars as text, because a database's driver gives large integers as floats. */
const rowColumns = recordColumns.map(({ column, kind }) => (kind === 'dollars' ? `cast(r.${column} as text) as ${column}` : `r.${column}`)).join(', ');
const bodiesSql = ({ body }: Grammar): string => bodyColumns.map((column) => `${body(column)} as ${column}`).join(', ');
const withBodies = 'left join gateway_bodies b on b.id = r.id';

const largestPage = 1000;
/** The most rows for which a bound's index pays. */
const rareRows = 2000;
/** How many bodies one page of a search looks through. */
const searchedRows = 5000;
const largestGroups = 1000;
const facetRows = 10_000;
const seriesValues = 10;

export function createReader(engine: Engine): Reader {
  const { grammar } = engine;
  const shown = (query: LogQuery): LogQuery => {
    const floor = engine.floor();
    return floor === -Infinity ? query : { ...query, from: Math.max(query.from ?? floor, floor) };
  };
  const queries = queriesOf(engine);
  const page = (query: LogQuery, options: ListOptions): Promise<Page> => (query.text === null ? plainPage : searchedPage)(queries, shown(query), options);
  return {
    async list(query, options): Promise<LogPage> {
      const { rows, next } = await page(query, options);
      return { data: rows.map(readRecord), next };
    },
    async exportRows(query, options) {
      const { rows, next } = await page(query, options);
      const bodies = await bodiesById(queries, rows);
      return { data: rows.map((row) => readDetail({ ...row, ...(bodies.get(row['id']) ?? noBodies) })), next };
    },
    async get(id): Promise<LoggedDetail | null> {
      if (!isId(id)) return null;
      const params = new Params(grammar);
      const [row] = await queries.rows(`select ${rowColumns}, ${bodiesSql(grammar)} from gateway_requests r ${withBodies} where r.id = ${params.id(id)} and r.id >= ${params.id(firstIdAt(engine.floor()))}`, params);
      return row === undefined ? null : readDetail(row);
    },
    async stats(query, { by, limit, rank = 'requests' }): Promise<StatsRow[]> {
      if (by !== null) return (await largestOf(queries, shown(query), { by, rank, most: Math.min(limit, largestGroups) })).map(({ value, sums }) => statsOf(value, sums));
      const [all] = await groupsOf(queries, shown(query), { by, bucketMs: null });
      return [statsOf(null, all?.sums ?? noSums())];
    },
    series: (query, options) => series(queries, shown(query), options),
    faults: (query) => faultsOf(queries, shown(query)),
    facets: (query) => facets(queries, shown(query)),
    metadataKeys: (query) => metadataKeys(queries, shown(query)),
  };
}

const byText = (a: string | null, b: string | null): number => (a === b ? 0 : a === null || (b !== null && a < b) ? -1 : 1);

interface Page {
  readonly rows: readonly StoredRow[];
  readonly next: string | null;
}

const sizeOf = ({ limit }: ListOptions): number => Math.max(1, Math.min(Math.floor(limit), largestPage));

function beforeCursor({ where, key }: Selection, { cursor }: ListOptions, params: Params): readonly string[] {
  if (cursor === null || cursor === undefined) return where;
  if (!isId(cursor)) throw new BadQuery('This is no cursor: take it from "next" of the page before.');
  return [...where, `${key} < ${params.id(cursor)}`];
}

async function plainPage(queries: Queries, query: LogQuery, options: ListOptions): Promise<Page> {
  const { grammar } = queries.engine;
  const rare = await rareConditions(queries, query);
  const params = new Params(grammar);
  const selection = selectionOf(query, { params, grammar, rare });
  const size = sizeOf(options);
  const rows = await queries.rows(`select ${rowColumns} from ${selection.from}${whereSql(beforeCursor(selection, options, params))} order by ${selection.key} desc limit ${size + 1}`, params);
  return { rows: rows.slice(0, size), next: rows.length > size ? (rows[size - 1]?.['id'] as string) : null };
}

const noBodies = { request: null, response: null, reasoning: null };

/** By id. */
async function bodiesById({ engine: { grammar }, rows: found }: Queries, rows: readonly StoredRow[]): Promise<ReadonlyMap<unknown, StoredRow>> {
  if (rows.length === 0) return new Map();
  const params = new Params(grammar);
  const ids = rows.map(({ id }) => params.id(id as string)).join(', ');
  return new Map((await found(`select b.id, ${bodiesSql(grammar)} from gateway_bodies b where b.id in (${ids})`, params)).map((row) => [row['id'], row]));
}

/** cost: an index on a number helps if few rows match; if many match, sorting them costs more than it saves. So up to a limit the ids are fetched first. */
async function rareConditions({ engine, rows: found }: Queries, { conditions }: LogQuery): Promise<Map<Condition, readonly string[]>> {
  const rare = new Map<Condition, readonly string[]>();
  for (const condition of conditions.filter(isProbed)) {
    const params = new Params(engine.grammar);
    const rows = await found(probeSql(condition, params, rareRows), params);
    if (rows.length < rareRows) rare.set(condition, rows.map(({ id }) => id as string));
  }
  return rare;
}

/** There is no index of words: a page looks through a fixed number of bodies, and its cursor says where the next page begins. */
async function searchedPage({ engine: { grammar }, rows: found }: Queries, query: LogQuery, options: ListOptions): Promise<Page> {
  const size = sizeOf(options);
  const window = (params: Params): string => {
    const selection = selectionOf(query, { params, grammar });
    return `select ${selection.key} as id from ${selection.from}${whereSql(beforeCursor(selection, options, params))} order by ${selection.key} desc limit ${searchedRows}`;
  };
  const params = new Params(grammar);
  const within = window(params);
  const rows = await found(`select ${rowColumns} from (${within}) i join gateway_requests r on r.id = i.id join gateway_bodies b on b.id = r.id where ${textSql(query.text ?? '', { params, grammar })} order by r.id desc limit ${size + 1}`, params);
  if (rows.length > size) return { rows: rows.slice(0, size), next: rows[size - 1]?.['id'] as string };
  const again = new Params(grammar);
  const [last] = await found(`select id from (${window(again)}) w order by id desc limit 1 offset ${searchedRows - 1}`, again);
  return { rows, next: (last?.['id'] as string | undefined) ?? null };
}

/** With a dimension, the largest values are found first, and then only those are read over time. */
async function series(queries: Queries, query: LogQuery, { bucketMs: width, by = null, rank = 'requests' }: SeriesOptions): Promise<Series> {
  const bucketMs = Math.max(1000, Math.floor(width));
  if (by === null) {
    const groups = await groupsOf(queries, query, { by, bucketMs });
    return { points: pointsOf(groups), total: statsOf(null, groups.reduce((sums, group) => addSums(sums, group.sums), noSums())) };
  }
  const only = (await largestOf(queries, query, { by, rank, most: seriesValues })).map(({ value }) => value);
  const [all] = await groupsOf(queries, query, { by: null, bucketMs: null });
  return { points: pointsOf(await groupsOf(queries, query, { by, bucketMs, only })), total: statsOf(null, all?.sums ?? noSums()) };
}

async function largestOf(queries: Queries, query: LogQuery, { by, rank, most }: { readonly by: string; readonly rank: Rank; readonly most: number }): Promise<readonly Group[]> {
  const groups = await groupsOf(queries, query, { by, bucketMs: null, most, rank });
  return groups.toSorted((a, b) => bySize[rank](a.sums, b.sums) || byText(a.value, b.value)).slice(0, most);
}

/** Largest first. */
const bySize: Readonly<Record<Rank, (a: Sums, b: Sums) => number>> = {
  requests: (a, b) => b.requests - a.requests,
  errors: (a, b) => b.errors - a.errors,
  tokens: (a, b) => b.promptTokens + b.completionTokens - a.promptTokens - a.completionTokens,
  cost: (a, b) => Number((b.cost ?? -1n) - (a.cost ?? -1n)),
};

const pointsOf = (groups: readonly Group[]): SeriesPoint[] => groups.map(({ at, value, sums }) => ({ at, ...statsOf(value, sums) })).sort((a, b) => a.at - b.at || byText(a.value, b.value));

/** Values of the newest rows, counted. A number of a plugin is listed by its name alone: it may have any value. */
async function facets({ engine: { grammar }, rows: found }: Queries, query: LogQuery): Promise<LogFacets> {
  const params = new Params(grammar);
  const { from, where, key } = selectionOf({ ...query, text: null }, { params, grammar });
  const rows = await found(`select ${facetFields.map(({ asked }) => `r.${asked}`).join(', ')}, r.metadata, r.fields from ${from}${whereSql(where)} order by ${key} desc limit ${facetRows}`, params);
  const counts = new Map<string, Map<string, number>>();
  const seen = (field: string, value: unknown): void => {
    const values = counts.get(field) ?? new Map<string, number>();
    counts.set(field, typeof value === 'number' ? values : values.set(String(value), (values.get(String(value)) ?? 0) + 1));
  };
  for (const row of rows) {
    for (const { filter, asked } of facetFields) if (row[asked as string] !== null) seen(filter.name, String(row[asked as string]));
    for (const part of ['metadata', 'fields'] as const) for (const [key, value] of Object.entries(partOf(row, part))) seen(keyedName({ part, key }), value);
  }
  return Object.fromEntries(Array.from(counts, ([field, values]) => [field, top(values)]));
}

const partOf = (row: StoredRow, part: 'metadata' | 'fields'): Readonly<Record<string, unknown>> => parsedJson(row[part]) as Readonly<Record<string, unknown>>;

async function metadataKeys({ engine: { grammar }, rows: found }: Queries, query: LogQuery): Promise<string[]> {
  const params = new Params(grammar);
  const { from, where, key } = selectionOf({ ...query, text: null }, { params, grammar });
  const rows = await found(`select r.metadata from ${from}${whereSql(where)} order by ${key} desc limit ${facetRows}`, params);
  const uses = new Map<string, number>();
  for (const name of rows.flatMap((row) => Object.keys(partOf(row, 'metadata')))) uses.set(name, (uses.get(name) ?? 0) + 1);
  return [...uses].sort(([a, more], [b, less]) => less - more || (a < b ? -1 : 1)).map(([name]) => name);
}

/** Most frequent first. */
const top = (values: ReadonlyMap<string, number>): { value: string; count: number }[] =>
  Array.from(values, ([value, count]) => ({ value, count })).sort((a, b) => b.count - a.count || (a.value < b.value ? -1 : 1)).slice(0, 50);
