/** One answer for each view of the page, so that a page needs one request. The filters are those of the log API. */
import { setTimeout as pause } from 'node:timers/promises';
import { GatewayError } from '../../../core/errors.ts';
import { isKeyed, keyedName, keyedOf, isOfAttempts } from '../../../core/log/filters.ts';
import { parseDimension, parseLogFilter, parseSort, resolveQuery } from '../../../core/log/query.ts';
import { ranks } from '../../../core/log/store.ts';
import type { LogQuery, LogReader, StatsRow } from '../../../core/log/store.ts';

export type ViewReader = Omit<LogReader, 'forget' | 'catchUp' | 'onRecord' | 'keys'>;

export interface ViewRequest {
  readonly reader: ViewReader;
  readonly params: URLSearchParams;
  readonly now: number;
}

/** The log for one client. A view reads it many times: what still waits for its turn when the client leaves is not read. */
export const readerFor = (log: LogReader, signal: AbortSignal): ViewReader => ({
  list: (query, page) => log.list(query, { ...page, signal }),
  exportRows: (query, page) => log.exportRows(query, { ...page, signal }),
  get: (id) => log.get(id),
  stats: (query, options) => log.stats(query, { ...options, signal }),
  series: (query, options) => log.series(query, { ...options, signal }),
  faults: (query) => log.faults(query, { signal }),
  facets: (query) => log.facets(query, { signal }),
  metadataKeys: (query) => log.metadataKeys(query, { signal }),
  status: () => log.status(),
});

const others = ['bucket', 'limit', 'cursor', 'by', 'meta', 'rank', 'sort', 'order', 'after'];
const largestPage = 500;
const topRows = 5;
const mostFaults = 8;
/** Providers whose attempts are shown over time. */
const mostProviders = 50;
/** How long rows wait for the sums of their filter, in milliseconds. After that the rows are sent without the sums. */
const patienceMs = 100;
const day = 86_400_000;
const hour = day / 24;

/** The range and the filters of a view. */
export function queryOf({ params, now }: ViewRequest): LogQuery {
  const filter = parseLogFilter(params, others);
  // an id contains the time of its request, so the store needs no range to find the request
  if (filter.conditions.some(({ field, operator }) => field === 'id' && operator === 'in')) {
    return resolveQuery({ ...filter, since: null, from: null, to: null }, now);
  }
  // a view without a range is about the last day: everything on record may be too much to sum up
  return resolveQuery(filter.since === null && filter.from === null ? { ...filter, since: day } : filter, now);
}

/** The range of the same length before the query's range; null if the log does not keep all of it: a part cannot be compared. */
async function before(query: LogQuery, { reader, now }: ViewRequest): Promise<LogQuery | null> {
  const to = query.from ?? now - day;
  const from = to - ((query.to ?? now) - to);
  const { retentionDays } = await reader.status();
  return retentionDays > 0 && from < now - retentionDays * day ? null : { ...query, from, to };
}

/** A width that keeps a chart to at most a few hundred points. */
function bucketOf({ params, now }: ViewRequest, query: LogQuery, by: string | null = null): number {
  const span = (query.to ?? now) - (query.from ?? now - day);
  const asked = Number(params.get('bucket'));
  const bucketMs = Math.max(Number.isSafeInteger(asked) && asked >= 1000 ? asked : 60_000, Math.ceil(span / 300 / 1000) * 1000);
  const isOfKeyed = [by, ...query.conditions.map(({ field }) => field)].some((name) => name !== null && isKeyed(name));
  if (!isOfKeyed || span <= day / 2) return bucketMs;
  // cost: sums by metadata and by fields of plugins are kept for hours and days alone
  return Math.max(bucketMs, span > 10 * day ? day : hour);
}

const roundWidths = [1, 5, 15, 30, 60, 180, 360].map((minutes) => minutes * 60_000);

/**
 * The width of narrower columns for a new log: the range ends now, and no request came before its second half. Else null.
 */
function narrowFor(
  { from, to }: LogQuery,
  { now, first, before }: { readonly now: number; readonly first: number | undefined; readonly before: number },
): number | null {
  if (to !== null || from === null || before > 0 || first === undefined || first < (from + now) / 2) return null;
  return roundWidths.find((width) => (now - first) / width <= 90) ?? null;
}

/** With fewer columns, one request would be as wide as the chart. */
const fewestColumns = 15;

/** The time at which narrower columns begin. */
const beginOf = (points: readonly { readonly at: number }[], width: number, now: number): number =>
  Math.min(points[0]?.at ?? now, Math.floor(now / width - fewestColumns) * width);

/** A part of an answer; `more` says that another one follows. */
export type Part = Readonly<Record<string, unknown>> & { readonly more: boolean };

/**
 * One part, or two: first the rows with `more: true`, later the sums of all requests that the filter selects. If the sums cannot be
 * made, `total` is null and `fault` is an error in the form of the API.
 */
export async function* logsView(asked: ViewRequest): AsyncGenerator<Part, void> {
  const { reader, params } = asked;
  const query = queryOf(asked);
  const bucketMs = bucketOf(asked, query);
  const limit = Math.min(largestPage, Math.max(1, Number(params.get('limit') ?? 100) || 100));
  const [page, facets, { retentionDays }] = await Promise.all([
    reader.list(query, { limit, cursor: params.get('cursor'), ...parseSort(params) }),
    reader.facets(query),
    reader.status(),
  ]);
  // cost: the sums begin after the rows are read: a store that answers several queries at once would give the rows later
  const summing = sumsOf(asked, query, bucketMs).catch((thrown: unknown) => ({ points: [], total: null, fault: faultOf(thrown) }));
  const sums = await Promise.race([summing, pause(patienceMs, null, { ref: false })]);
  yield { ...page, facets, retentionDays, bucketMs, ...sums, more: sums === null };
  if (sums === null) yield { ...(await summing), more: false };
}

/** The sums over time. In the first hours of a log they have narrow columns, as the charts of the Overview have. */
async function sumsOf({ reader, now }: ViewRequest, query: LogQuery, bucketMs: number): Promise<object> {
  const wide = await reader.series(query, { bucketMs, by: null });
  // in an old log, the requests of a filter may all be new
  if (query.conditions.length > 0 || query.text !== null) return wide;
  const narrow = narrowFor(query, { now, first: wide.points[0]?.at, before: 0 });
  if (narrow === null) return wide;
  const older = await reader.list({ ...query, from: null, to: query.from }, { limit: 1, cursor: null });
  if (older.data.length > 0) return wide;
  const width = Math.min(bucketMs, narrow);
  const series = width === bucketMs ? wide : await reader.series(query, { bucketMs: width, by: null });
  return { ...series, bucketMs: width, begin: beginOf(series.points, width, now) };
}

function faultOf(thrown: unknown): object {
  if (!GatewayError.is(thrown)) throw thrown;
  return thrown.body().error;
}

/** The sums of attempts. */
type Totals = Pick<StatsRow, 'requests' | 'errors' | 'rescued'>;

/** The sums of the attempts of all rows. Percentiles cannot be added up, so they are left out. */
export function totalOf(rows: readonly Totals[]): Totals {
  const sum = (of: keyof Totals): number => rows.reduce((total, row) => total + row[of], 0);
  return { requests: sum('requests'), errors: sum('errors'), rescued: sum('rescued') };
}

/** The sums of the attempts at one provider. */
export interface Tried extends Totals {
  readonly provider: string | null;
  /** The sums over time. */
  readonly points: readonly (readonly [at: number, requests: number, errors: number, rescued: number])[];
}

/** The attempts at each provider, also those after which another provider answered. The provider with the most attempts is first. */
export async function attemptsOver(reader: ViewReader, query: LogQuery, bucketMs: number): Promise<readonly Tried[]> {
  const { points } = await reader.series(query, { bucketMs, by: 'attempt.provider', most: mostProviders });
  const tried = Array.from(
    Map.groupBy(points, ({ value }) => value),
    ([provider, own]) => ({
      provider,
      ...totalOf(own),
      points: own.map(({ at, requests, errors, rescued }) => [at, requests, errors, rescued] as const),
    }),
  );
  return tried.sort((a, b) => b.requests - a.requests);
}

/**
 * The slowest values are searched among this many values with the most requests: the latency of a value with three requests says little.
 */
const mostCompared = 100;

/** The largest values of a dimension, by one of `ranks` or by their latency. */
async function largest(
  reader: ViewReader,
  query: LogQuery,
  { by, rank: asked }: { readonly by: string; readonly rank: string | null },
): Promise<readonly StatsRow[]> {
  if (asked !== 'latency') return await reader.stats(query, { by, limit: topRows, rank: ranks.find((one) => one === asked) ?? 'requests' });
  return (await reader.stats(query, { by, limit: mostCompared }))
    .toSorted((a, b) => (b.latencyP95Ms ?? -1) - (a.latencyP95Ms ?? -1))
    .slice(0, topRows);
}

/**
 * `meta`: the metadata key whose largest values are shown; the most used key where none is named. `rank`: the measure by which values
 * are the largest. `after`: points before that time are left out, because the page has them. `begin` in the answer: where the charts
 * begin, if that is after the beginning of the range.
 */
export async function overviewView(asked: ViewRequest): Promise<object> {
  const { reader, params } = asked;
  const query = queryOf(asked);
  const bucketMs = bucketOf(asked, query);
  const [metaKeys, earlierQuery] = await Promise.all([reader.metadataKeys(query), before(query, asked)]);
  const meta = (params.get('meta') || metaKeys[0]) ?? null;
  const top = (by: string): Promise<readonly StatsRow[]> => largest(reader, query, { by, rank: params.get('rank') });
  const overTime = (width: number) =>
    Promise.all([
      reader.series(query, { bucketMs: width, by: null }),
      attemptsOver(reader, query, width),
      reader.series(query, { bucketMs: width, by: 'model', rank: 'cost' }),
    ]);
  const [wide, [earlier = null], faults, models, providers, keys, values, cached] = await Promise.all([
    overTime(bucketMs),
    earlierQuery === null ? [] : reader.stats(earlierQuery, { by: null, limit: 1 }),
    reader.faults(query),
    top('model'),
    top('provider'),
    top('key'),
    meta === null ? [] : top(`meta.${meta}`),
    top('field.cache'),
  ]);
  const isCacheUsed = cached.some(({ value }) => value !== null);
  const cacheHits = isCacheUsed ? (cached.find(({ value }) => value === 'hit')?.requests ?? 0) : null;
  const narrow = narrowFor(query, { now: asked.now, first: wide[0].points[0]?.at, before: earlier?.requests ?? 0 });
  const width = Math.min(bucketMs, narrow ?? bucketMs);
  const [series, attempts, { points: byModel }] = width === bucketMs ? wide : await overTime(width);
  const begin = narrow === null ? null : beginOf(series.points, width, asked.now);
  // a page that still has wider columns gets all narrow ones
  const after = narrow === null ? Number(params.get('after')) : 0;
  const isLacking = ({ at }: { readonly at: number }): boolean => at >= after;
  return {
    ...series,
    points: series.points.filter(isLacking),
    after,
    earlier,
    bucketMs: width,
    begin,
    faults: faults.slice(0, mostFaults),
    attempts: attempts.map((one) => ({ ...one, points: one.points.filter(([at]) => at >= after) })),
    byModel: byModel.filter(isLacking).map(({ at, value, requests, cost, estimated }) => ({ at, value, requests, cost, estimated })),
    models,
    providers,
    keys,
    meta,
    metaKeys,
    values,
    cacheHits,
  };
}

/**
 * `by`: the dimension of the groups, with the period before for comparison. `bucket`:
 * also the largest values over time. `rank`: the measure by which values are the largest.
 */
export async function breakdownView(asked: ViewRequest): Promise<object> {
  const { reader, params } = asked;
  const by = parseDimension(params.get('by') ?? 'model');
  const query = queryOf(asked);
  const bucketMs = bucketOf(asked, query, by);
  const isOverTime = params.has('bucket');
  const rank = ranks.find((one) => one === params.get('rank')) ?? 'requests';
  const earlierQuery = await before(query, asked);
  const [rows, earlier, keyed, series, whole] = await Promise.all([
    reader.stats(query, { by, limit: 1000, rank }),
    earlierQuery === null ? [] : reader.stats(earlierQuery, { by, limit: 1000, rank }),
    keyedNames(reader, query),
    isOverTime ? reader.series(query, { bucketMs, by, rank }) : null,
    // for attempts, the sum of the rows is the whole: the series of all requests also counts requests without an attempt
    isOverTime && !isOfAttempts(by)
      ? reader.series(query, { bucketMs, by: null })
      : reader.stats(query, { by: null, limit: 1 }).then(([total]) => ({ points: [], total })),
  ]);
  return {
    by,
    total: isOfAttempts(by) ? totalOf(rows) : whole.total,
    rows,
    earlier,
    bucketMs,
    points: series?.points ?? [],
    all: whole.points,
    keyed,
  };
}

/** What can be grouped by beside the dimensions: `meta.<key>`, most used first, then `field.<name>`. */
async function keyedNames(reader: ViewReader, query: LogQuery): Promise<readonly string[]> {
  const [keys, facets] = await Promise.all([reader.metadataKeys(query), reader.facets(query)]);
  return [
    ...keys.map((key) => keyedName({ part: 'metadata', key })),
    ...Object.keys(facets).filter((name) => keyedOf(name)?.part === 'fields'),
  ];
}
