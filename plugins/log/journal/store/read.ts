/** The read side of a store, as SQL: lists by keyset, one record, sums and series. */
import { askingOf } from '../sql/engine.ts';
import type { Asking, Engine } from '../sql/engine.ts';
import { BadQuery } from '../../../../core/log/store.ts';
import type { Condition, ListOptions, LoggedDetail, LogFacets, LogPage, LogQuery, Rank, Series, SeriesOptions, SeriesPoint, StatsRow } from '../../../../core/log/store.ts';
import { detailOf, recordOf, requestColumns } from '../sql/rows.ts';
import type { Found } from '../sql/rows.ts';
import { groupsOf } from '../sums/rollup.ts';
import type { Group } from '../sums/from-records.ts';
import { isProbed, Params, probeSql, sourceOf, textSql, whereSql } from '../sql/where.ts';
import type { Source } from '../sql/where.ts';
import { firstIdAt } from '../sql/id-time.ts';
import type { Reader } from './store.ts';
import { addSums, noSums, statsOf } from '../sums/sums.ts';
import type { Sums } from '../sums/sums.ts';

const rowColumns = requestColumns.map((column) => (column === 'cost' ? 'cast(r.cost as text) as cost' : `r.${column}`)).join(', ');
const allColumns = `${rowColumns}, b.request, b.response, b.reasoning`;
const withBodies = 'left join gateway_bodies b on b.id = r.id';

const largestPage = 1000;
/** Above so many rows a bound's index does not pay. */
const rareRows = 2000;
/** Bodies that one page of a search looks through. */
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
  const asking = askingOf(engine);
  const { found } = asking;
  const page = (query: LogQuery, options: ListOptions): Promise<Page> => (query.text === null ? plainPage : searchedPage)(asking, shown(query), options);
  return {
    async list(query, options): Promise<LogPage> {
      const { rows, next } = await page(query, options);
      return { data: rows.map(recordOf), next };
    },
    async exportRows(query, options) {
      const { rows, next } = await page(query, options);
      const bodies = await bodiesOf(asking, rows);
      return { data: rows.map((row) => detailOf({ ...row, ...(bodies.get(row['id']) ?? noBodies) })), next };
    },
    async get(id): Promise<LoggedDetail | null> {
      if (!isId(id)) return null;
      const params = new Params(grammar);
      const [row] = await found(`select ${allColumns} from gateway_requests r ${withBodies} where r.id = ${params.id(id)} and r.id >= ${params.id(firstIdAt(engine.floor()))}`, params);
      return row === undefined ? null : detailOf(row);
    },
    async stats(query, { by, limit, rank = 'requests' }): Promise<StatsRow[]> {
      if (by !== null) return (await largestOf(asking, shown(query), { by, rank, most: Math.min(limit, largestGroups) })).map(({ value, sums }) => statsOf(value, sums));
      const [all] = await groupsOf(asking, shown(query), { by, bucketMs: null });
      return [statsOf(null, all?.sums ?? noSums())];
    },
    series: (query, options) => series(asking, shown(query), options),
    facets: (query) => facets(asking, shown(query)),
    metadataKeys: (query) => metadataKeys(asking, shown(query)),
  };
}

const byText = (a: string | null, b: string | null): number => (a === b ? 0 : a === null || (b !== null && a < b) ? -1 : 1);

interface Page {
  readonly rows: readonly Found[];
  readonly next: string | null;
}

const isId = (id: string): boolean => /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id);
const sizeOf = ({ limit }: ListOptions): number => Math.max(1, Math.min(Math.floor(limit), largestPage));

function beforeCursor({ where, key }: Source, { cursor }: ListOptions, params: Params): readonly string[] {
  if (cursor === null || cursor === undefined) return where;
  if (!isId(cursor)) throw new BadQuery('This cursor is none: take it from "next" of the page before.');
  return [...where, `${key} < ${params.id(cursor)}`];
}

async function plainPage(asking: Asking, query: LogQuery, options: ListOptions): Promise<Page> {
  const { grammar } = asking.engine;
  const rare = await rareConditions(asking, query);
  const params = new Params(grammar);
  const source = sourceOf(query, { params, grammar, rare });
  const size = sizeOf(options);
  const rows = await asking.found(`select ${rowColumns} from ${source.from}${whereSql(beforeCursor(source, options, params))} order by ${source.key} desc limit ${size + 1}`, params);
  return { rows: rows.slice(0, size), next: rows.length > size ? (rows[size - 1]?.['id'] as string) : null };
}

const noBodies = { request: null, response: null, reasoning: null };

/** By id. */
async function bodiesOf({ engine: { grammar }, found }: Asking, rows: readonly Found[]): Promise<ReadonlyMap<unknown, Found>> {
  if (rows.length === 0) return new Map();
  const params = new Params(grammar);
  const ids = rows.map(({ id }) => params.id(id as string)).join(', ');
  return new Map((await found(`select b.id, b.request, b.response, b.reasoning from gateway_bodies b where b.id in (${ids})`, params)).map((row) => [row['id'], row]));
}

/** cost: an index on a number helps when few rows match, and ruins the order of the list when many do: so they are fetched, up to a limit. */
async function rareConditions({ engine, found }: Asking, { conditions }: LogQuery): Promise<Map<Condition, readonly string[]>> {
  const rare = new Map<Condition, readonly string[]>();
  for (const condition of conditions.filter(isProbed)) {
    const params = new Params(engine.grammar);
    const rows = await found(probeSql(condition, params, rareRows), params);
    if (rows.length < rareRows) rare.set(condition, rows.map(({ id }) => id as string));
  }
  return rare;
}

/** There is no index of words: a page looks through so many bodies and says where the next one is to go on. */
async function searchedPage({ engine: { grammar }, found }: Asking, query: LogQuery, options: ListOptions): Promise<Page> {
  const size = sizeOf(options);
  const window = (params: Params): string => {
    const source = sourceOf(query, { params, grammar });
    return `select ${source.key} as id from ${source.from}${whereSql(beforeCursor(source, options, params))} order by ${source.key} desc limit ${searchedRows}`;
  };
  const params = new Params(grammar);
  const within = window(params);
  const rows = await found(`select ${rowColumns} from (${within}) i join gateway_requests r on r.id = i.id join gateway_bodies b on b.id = r.id where ${textSql(query.text ?? '', { params, grammar })} order by r.id desc limit ${size + 1}`, params);
  if (rows.length > size) return { rows: rows.slice(0, size), next: rows[size - 1]?.['id'] as string };
  const again = new Params(grammar);
  const [last] = await found(`select id from (${window(again)}) w order by id desc limit 1 offset ${searchedRows - 1}`, again);
  return { rows, next: (last?.['id'] as string | undefined) ?? null };
}

/** By a dimension: the largest values first, then those alone over time. */
async function series(asking: Asking, query: LogQuery, { bucketMs: width, by = null, rank = 'requests' }: SeriesOptions): Promise<Series> {
  const bucketMs = Math.max(1000, Math.floor(width));
  if (by === null) {
    const groups = await groupsOf(asking, query, { by, bucketMs });
    return { points: pointsOf(groups), total: statsOf(null, groups.reduce((sums, group) => addSums(sums, group.sums), noSums())) };
  }
  const only = (await largestOf(asking, query, { by, rank, most: seriesValues })).map(({ value }) => value);
  const [all] = await groupsOf(asking, query, { by: null, bucketMs: null });
  return { points: pointsOf(await groupsOf(asking, query, { by, bucketMs, only })), total: statsOf(null, all?.sums ?? noSums()) };
}

async function largestOf(asking: Asking, query: LogQuery, { by, rank, most }: { readonly by: string; readonly rank: Rank; readonly most: number }): Promise<readonly Group[]> {
  const groups = await groupsOf(asking, query, { by, bucketMs: null, most, rank });
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

const facetColumns = { model: 'model', provider: 'provider', key: 'key_name', finish: 'finish_reason', status: 'status' } as const;

async function facets({ engine: { grammar }, found }: Asking, query: LogQuery): Promise<LogFacets> {
  const params = new Params(grammar);
  const { from, where, key } = sourceOf({ ...query, text: null }, { params, grammar });
  const rows = await found(`select r.model, r.provider, r.key_name, r.finish_reason, r.status, r.metadata from ${from}${whereSql(where)} order by ${key} desc limit ${facetRows}`, params);
  const counts = new Map<string, Map<string, number>>();
  const seen = (field: string, value: unknown): void => {
    if (typeof value !== 'string' && typeof value !== 'number') return;
    const values = counts.get(field) ?? new Map<string, number>();
    counts.set(field, values.set(`${value}`, (values.get(`${value}`) ?? 0) + 1));
  };
  for (const row of rows) {
    for (const [field, column] of Object.entries(facetColumns)) seen(field, row[column]);
    for (const [name, value] of Object.entries(metadataOf(row))) seen(`meta.${name}`, value);
  }
  return Object.fromEntries(Array.from(counts, ([field, values]) => [field, top(values)]));
}

const metadataOf = ({ metadata }: Found): Readonly<Record<string, string>> => (typeof metadata === 'string' ? JSON.parse(metadata) : metadata) as Record<string, string>;

async function metadataKeys({ engine: { grammar }, found }: Asking, query: LogQuery): Promise<string[]> {
  const params = new Params(grammar);
  const { from, where, key } = sourceOf({ ...query, text: null }, { params, grammar });
  const rows = await found(`select r.metadata from ${from}${whereSql(where)} order by ${key} desc limit ${facetRows}`, params);
  const uses = new Map<string, number>();
  for (const name of rows.flatMap((row) => Object.keys(metadataOf(row)))) uses.set(name, (uses.get(name) ?? 0) + 1);
  return [...uses].sort(([a, more], [b, less]) => less - more || (a < b ? -1 : 1)).map(([name]) => name);
}

/** Most frequent first. */
const top = (values: ReadonlyMap<string, number>): { value: string; count: number }[] =>
  Array.from(values, ([value, count]) => ({ value, count })).sort((a, b) => b.count - a.count || (a.value < b.value ? -1 : 1)).slice(0, 50);
