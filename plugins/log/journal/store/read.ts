/** The read side of a store, as SQL: lists by keyset, one record, sums and series. */
import { facetFields, keyedName } from '../../../../core/log/filters.ts';
import { queriesOf } from '../sql/engine.ts';
import type { Engine, Queries } from '../sql/engine.ts';
import { mostRows } from '../../../../core/log/store.ts';
import type {
  ExportedPage,
  ListOptions,
  LoggedDetail,
  LoggedWhole,
  LogFacets,
  LogPage,
  LogQuery,
  Rank,
  Series,
  SeriesOptions,
  SeriesPoint,
  StatsRow,
} from '../../../../core/log/store.ts';
import { parsedJson, readDetail, readRecord, readWhole } from '../sql/rows.ts';
import type { StoredRow } from '../sql/rows.ts';
import { groupsOf } from '../sums/rollup.ts';
import type { Group } from '../sums/from-records.ts';
import { faultsOf } from '../sums/from-attempts.ts';
import { bodyColumns, Params, selectionOf, whereSql } from '../sql/where.ts';
import type { Grammar } from '../sql/where.ts';
import { firstIdAt, isId } from '../../../../core/log/record-id.ts';
import { pageOf, rowColumns } from './pages.ts';
import type { Page } from './pages.ts';
import type { Reader } from './store.ts';
import { addSums, noSums, statsOf } from '../sums/sums.ts';
import type { Sums } from '../sums/sums.ts';

const bodiesSql = ({ body }: Grammar): string => bodyColumns.map((column) => `${body(column)} as ${column}`).join(', ');
const withBodies = 'left join gateway_bodies b on b.id = r.id';

const facetRows = 10_000;
const seriesValues = 10;
/**
 * The bodies of the first query of a page; each further query reads twice as many.
 * cost: a store that is far away is asked four times for a page of 50.
 */
const firstBodies = 5;
/**
 * A page ends early once its bodies have more characters.
 * safety: a body may have 32 MiB, and 50 of them at once end the process, or are longer than a string can be. An export holds its page
 * until its client has read it: forty slow clients took 1.2 GB with pages four times as large.
 */
const mostCharacters = 4_194_304;

export function createReader(engine: Engine): Reader {
  const { grammar } = engine;
  const shown = (query: LogQuery): LogQuery => {
    const floor = engine.floor();
    return floor === -Infinity ? query : { ...query, from: Math.max(query.from ?? floor, floor) };
  };
  const queries = queriesOf(engine);
  const page = (query: LogQuery, options: ListOptions): Promise<Page> => pageOf(queries, shown(query), options);
  const get = async (id: string): Promise<LoggedWhole | null> => {
    if (!isId(id)) return null;
    const params = new Params(grammar);
    const [row] = await queries.found(
      `select ${rowColumns}, ${bodiesSql(grammar)}, ${grammar.body('upstream')} as upstream
      from gateway_requests r ${withBodies}
      where r.id = ${params.id(id)} and r.id >= ${params.id(firstIdAt(engine.floor()))}`,
      params,
    );
    return row === undefined ? null : readWhole(row);
  };
  return {
    async list(query, options): Promise<LogPage> {
      const { rows, next } = await page(query, options);
      return { data: rows.map(readRecord), next };
    },
    async exportRows(query, options): Promise<ExportedPage> {
      const { rows, next } = await page(query, options);
      const data: LoggedDetail[] = [];
      let characters = 0;
      for (let size = firstBodies; data.length < rows.length; size *= 2) {
        const some = rows.slice(data.length, data.length + size);
        const bodies = await bodiesById(queries, some);
        for (const { request, response, reasoning } of bodies.values()) {
          characters += lengthOf(request) + lengthOf(response) + lengthOf(reasoning);
        }
        data.push(...some.map((row) => readDetail({ ...row, ...(bodies.get(row['id']) ?? noBodies) })));
        if (characters > mostCharacters && data.length < rows.length) return { data, next: some.at(-1)?.['id'] as string, isCut: true };
      }
      return { data, next };
    },
    get,
    async getJson(id) {
      const whole = await get(id);
      return whole === null ? null : new TextEncoder().encode(JSON.stringify(whole));
    },
    async stats(query, { by, limit, rank = 'requests' }): Promise<StatsRow[]> {
      if (by === null) return [await wholeOf(queries, shown(query))];
      const groups = await largestOf(queries, shown(query), { by, rank, most: Math.min(limit, mostRows) });
      return groups.map(({ value, sums }) => statsOf(value, sums));
    },
    series: (query, options) => series(queries, shown(query), options),
    faults: (query) => faultsOf(queries, shown(query)),
    facets: (query) => facets(queries, shown(query)),
    metadataKeys: (query) => metadataKeys(queries, shown(query)),
  };
}

/** Null comes first. */
function byText(a: string | null, b: string | null): number {
  if (a === b) return 0;
  return a === null || (b !== null && a < b) ? -1 : 1;
}

const noBodies = { request: null, response: null, reasoning: null };

const lengthOf = (text: unknown): number => (typeof text === 'string' ? text.length : 0);

/** The bodies of these rows, by id. */
async function bodiesById({ engine: { grammar }, found }: Queries, rows: readonly StoredRow[]): Promise<ReadonlyMap<unknown, StoredRow>> {
  if (rows.length === 0) return new Map();
  const params = new Params(grammar);
  const ids = rows.map(({ id }) => params.id(id as string)).join(', ');
  return new Map(
    (await found(`select b.id, ${bodiesSql(grammar)} from gateway_bodies b where b.id in (${ids})`, params)).map((row) => [row['id'], row]),
  );
}

/** Sums over time. With a dimension, the largest values are found first, and only those are then read over time. */
async function series(
  queries: Queries,
  query: LogQuery,
  { bucketMs: width, by = null, rank = 'requests', most = seriesValues }: SeriesOptions,
): Promise<Series> {
  const bucketMs = Math.max(1000, Math.floor(width));
  if (by === null) {
    const groups = await groupsOf(queries, query, { by, bucketMs });
    const sums = noSums();
    for (const group of groups) addSums(sums, group.sums);
    return { points: pointsOf(groups), total: statsOf(null, sums) };
  }
  const only = (await largestOf(queries, query, { by, rank, most })).map(({ value }) => value);
  const total = await wholeOf(queries, query);
  return { points: pointsOf(await groupsOf(queries, query, { by, bucketMs, only })), total };
}

/** The sums of all records that a query selects. */
async function wholeOf(queries: Queries, query: LogQuery): Promise<StatsRow> {
  const [all] = await groupsOf(queries, query, { by: null, bucketMs: null });
  return statsOf(null, all?.sums ?? noSums());
}

async function largestOf(
  queries: Queries,
  query: LogQuery,
  { by, rank, most }: { readonly by: string; readonly rank: Rank; readonly most: number },
): Promise<readonly Group[]> {
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

const pointsOf = (groups: readonly Group[]): SeriesPoint[] =>
  groups.map(({ at, value, sums }) => ({ at, ...statsOf(value, sums) })).sort((a, b) => a.at - b.at || byText(a.value, b.value));

/** Values of the newest rows, counted. A plugin field with numbers is listed by its name only, because it may have any number of values. */
async function facets({ engine: { grammar }, found }: Queries, query: LogQuery): Promise<LogFacets> {
  const params = new Params(grammar);
  const { from, where, key } = selectionOf({ ...query, text: null }, params);
  const rows = await found(
    `select ${facetFields.map(({ asked }) => `r.${asked}`).join(', ')}, r.metadata, r.fields
    from ${from}${whereSql(where)} order by ${key} desc limit ${facetRows}`,
    params,
  );
  const counts = new Map<string, Map<string, number>>();
  const seen = (field: string, value: unknown): void => {
    const values = counts.get(field) ?? new Map<string, number>();
    counts.set(field, typeof value === 'number' ? values : values.set(String(value), (values.get(String(value)) ?? 0) + 1));
  };
  for (const row of rows) {
    for (const { filter, asked } of facetFields) if (row[asked as string] !== null) seen(filter.name, String(row[asked as string]));
    for (const part of ['metadata', 'fields'] as const) {
      for (const [key, value] of Object.entries(partOf(row, part))) if (key !== '') seen(keyedName({ part, key }), value);
    }
  }
  return Object.fromEntries(Array.from(counts, ([field, values]) => [field, top(values)]));
}

const partOf = (row: StoredRow, part: 'metadata' | 'fields'): Readonly<Record<string, unknown>> =>
  parsedJson(row[part]) as Readonly<Record<string, unknown>>;

async function metadataKeys({ engine: { grammar }, found }: Queries, query: LogQuery): Promise<string[]> {
  const params = new Params(grammar);
  const { from, where, key } = selectionOf({ ...query, text: null }, params);
  const rows = await found(`select r.metadata from ${from}${whereSql(where)} order by ${key} desc limit ${facetRows}`, params);
  const uses = new Map<string, number>();
  for (const name of rows.flatMap((row) => Object.keys(partOf(row, 'metadata')))) uses.set(name, (uses.get(name) ?? 0) + 1);
  // the metadata of a caller's key may have an empty name, which no filter can name
  uses.delete('');
  return [...uses].sort(([a, more], [b, less]) => less - more || (a < b ? -1 : 1)).map(([name]) => name);
}

/** Most frequent first. */
const top = (values: ReadonlyMap<string, number>): { value: string; count: number }[] =>
  Array.from(values, ([value, count]) => ({ value, count }))
    .sort((a, b) => b.count - a.count || (a.value < b.value ? -1 : 1))
    .slice(0, 50);
