/** Answers in one piece: JSON, and for sums also CSV. */
import type { Arrived } from '../../../core/pipeline/context.ts';
import { GatewayError } from '../../../core/errors.ts';
import { badFilter, parseDimension, parseLogFilter, parseSort, parseSpan, resolveQuery } from '../../../core/log/query.ts';
import type { LogFacets, LogQuery, LogReader, StatsRow } from '../../../core/log/store.ts';
import type { Answer } from '../../../core/pipeline/answer.ts';
import { json } from '../../../core/pipeline/answer.ts';
import { columnsBy, csvOf } from './csv.ts';
import type { AttemptSums } from './csv.ts';

export interface LogSums {
  readonly data: readonly (StatsRow | AttemptSums)[];
}

export interface LogSeries {
  readonly from: string;
  readonly to: string;
  readonly bucketMs: number;
  /** `at` is the beginning of the step. */
  readonly data: readonly ((StatsRow & { readonly at: string }) | (AttemptSums & { readonly at: string }))[];
}

export interface LogFacetList {
  readonly data: LogFacets;
}

export interface MetadataKeys {
  readonly data: readonly string[];
}

/** A request that was admitted. */
export interface LogRequest {
  readonly arrived: Arrived;
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly reader: LogReader;
  /** Epoch milliseconds. */
  readonly now: number;
}

/** The filters of a request. @param others its parameters that are not filters */
export const queryOf = ({ query, now }: Pick<LogRequest, 'query' | 'now'>, others: readonly string[] = []): LogQuery =>
  resolveQuery(parseLogFilter(query, others), now);

const mostRecords = 1000;

/** @param most the largest that is allowed */
export function limitOf(query: URLSearchParams, { otherwise, most }: { otherwise: number; most: number }): number {
  const text = query.get('limit');
  if (text === null) return otherwise;
  const limit = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > most) throw badFilter('limit', `"limit" is a number from 1 to ${most}.`);
  return limit;
}

/** The requested format; the first of the formats where none is requested. */
export function formatOf<Format extends string>(query: URLSearchParams, formats: readonly [Format, ...Format[]]): Format {
  const asked = query.get('format') ?? formats[0];
  const format = formats.find((one) => one === asked);
  if (format === undefined) throw badFilter('format', `"format" is ${formats.join(' or ')}.`);
  return format;
}

const types = { csv: 'text/csv; charset=utf-8; header=present', jsonl: 'application/jsonl; charset=utf-8' };

/** A file to keep: `requests-2026-03-01T12-00-00.csv`. */
export function fileOf({ name, format, body }: { name: string; format: keyof typeof types; body: Answer['body'] }, now: number): Answer {
  const moment = new Date(now).toISOString().slice(0, 19).replaceAll(':', '-');
  return { headers: { 'content-type': types[format], 'content-disposition': `attachment; filename="${name}-${moment}.${format}"` }, body };
}

export async function listRequests(asked: LogRequest): Promise<Answer> {
  const query = queryOf(asked, ['limit', 'cursor', 'sort', 'order']);
  const page = {
    limit: limitOf(asked.query, { otherwise: 50, most: mostRecords }),
    cursor: asked.query.get('cursor'),
    ...parseSort(asked.query),
    signal: asked.arrived.signal,
  };
  return json(await asked.reader.list(query, page));
}

export async function oneRequest({ params, reader }: LogRequest): Promise<Answer> {
  const id = params['id'] ?? '';
  const record = reader.getJson === undefined ? await reader.get(id) : await reader.getJson(id);
  if (record === null) throw new GatewayError('record_not_found', `There is no request "${id.slice(0, 100)}" on record.`, { param: 'id' });
  return record instanceof Uint8Array ? { headers: { 'content-type': 'application/json' }, body: record } : json(record);
}

export async function stats(asked: LogRequest): Promise<Answer> {
  const by = dimensionOf(asked.query);
  const format = formatOf(asked.query, ['json', 'csv']);
  const options = { by, limit: limitOf(asked.query, { otherwise: 100, most: mostRecords }), signal: asked.arrived.signal };
  const data = await asked.reader.stats(queryOf(asked, ['by', 'limit', 'format']), options);
  const columns = columnsBy(by);
  return format === 'csv'
    ? fileOf({ name: 'stats', format, body: csvOf(columns, data) }, asked.now)
    : json({ data: data.map((row) => only(columns, row)) });
}

function dimensionOf(query: URLSearchParams): string | null {
  const by = query.get('by');
  return by === null ? null : parseDimension(by);
}

const only = <Name extends string>(names: readonly Name[], row: Readonly<Record<Name, unknown>>): object =>
  Object.fromEntries(names.map((name) => [name, row[name]]));

const day = 86_400_000;
const mostBuckets = 2000;
const niceBuckets = [1, 5, 15, 60, 300, 900, 3600, 3 * 3600, 6 * 3600, 12 * 3600, 86_400, 7 * 86_400].map((seconds) => seconds * 1000);

/** Sums over time. Without a range, those of the last day. */
export async function series(asked: LogRequest): Promise<Answer> {
  const by = dimensionOf(asked.query);
  const format = formatOf(asked.query, ['json', 'csv']);
  const asking = queryOf(asked, ['by', 'bucket', 'format']);
  const to = asking.to ?? asked.now;
  const from = asking.from ?? to - day;
  const bucketMs = bucketOf(asked.query.get('bucket'), Math.max(0, to - from));
  const { points } = await asked.reader.series({ ...asking, from }, { bucketMs, by, signal: asked.arrived.signal });
  const data = points.map(({ at, ...point }) => ({ at: new Date(at).toISOString(), ...point }));
  const columns = ['at', ...columnsBy(by)] as const;
  if (format === 'csv') return fileOf({ name: 'series', format, body: csvOf(columns, data) }, asked.now);
  return json({
    from: new Date(from).toISOString(),
    to: new Date(to).toISOString(),
    bucketMs,
    data: data.map((row) => only(columns, row)),
  });
}

/** About a hundred buckets where no width is given. */
function bucketOf(text: string | null, range: number): number {
  if (text === null) return niceBuckets.find((size) => range / size <= 120) ?? Math.ceil(range / 100 / day) * day;
  const size = parseSpan('bucket', text);
  if (size < 1000 || range / size > mostBuckets) {
    throw badFilter('bucket', `"bucket" must be at least 1s, and large enough that the time asked for has at most ${mostBuckets} buckets.`);
  }
  return size;
}

export const listFacets = async (asked: LogRequest): Promise<Answer> =>
  json({ data: await asked.reader.facets(queryOf(asked), { signal: asked.arrived.signal }) } satisfies LogFacetList);

export const listMetadataKeys = async (asked: LogRequest): Promise<Answer> =>
  json({ data: await asked.reader.metadataKeys(queryOf(asked), { signal: asked.arrived.signal }) } satisfies MetadataKeys);
