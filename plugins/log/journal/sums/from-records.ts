/** Sums read from the records themselves. */
import { setImmediate } from 'node:timers/promises';
import { isOfAttempts } from '../../../../core/log/filters.ts';
import type { AttemptDimension } from '../../../../core/log/attempts.ts';
import type { LogQuery, Rank } from '../../../../core/log/store.ts';
import type { Queries } from '../sql/engine.ts';
import { dimensionSql, Params, selectionOf, whereSql } from '../sql/where.ts';
import type { Grammar } from '../sql/where.ts';
import type { StoredRow } from '../sql/rows.ts';
import { attemptsSql } from './from-attempts.ts';
import { noSums } from './sums.ts';
import type { Counted, Spread, Sums } from './sums.ts';

export interface Group {
  /** Epoch milliseconds at which the bucket begins; 0 if there is one bucket for all. */
  readonly at: number;
  readonly value: string | null;
  readonly sums: Sums;
}

export interface Grouping {
  /** A dimension; null: none. */
  readonly by: string | null;
  /** null: one bucket for all. */
  readonly bucketMs: number | null;
  /** Only these values. */
  readonly only?: readonly (string | null)[];
  /** At most so many groups, the largest by `rank`. */
  readonly most?: number;
  readonly rank?: Rank;
}

/** The limit of groups, because a dimension may have as many values as there are records. */
const mostGroups = 20_000;
const million = 1_000_000;
const generated = 'r.stream and r.ttft_ms is not null and r.completion_tokens is not null and not r.estimated';

/** Of a request whose process died nobody knows how long it took: its 0 is in no percentile. */
const knownMs = "case when r.outcome <> 'interrupted' then r.duration_ms end";

const counts: Readonly<Record<Counted, string>> = {
  requests: 'count(*)',
  // one that was refused before its key and its model were known says nothing about the service
  errors: `sum(case when r.failed and not (r.outcome = 'refused' and r.key_name is null and r.requested_model is null) then 1 else 0 end)`,
  promptTokens: 'sum(r.prompt_tokens)',
  completionTokens: 'sum(r.completion_tokens)',
  reasoningTokens: 'sum(r.reasoning_tokens)',
  cachedTokens: 'sum(r.cached_tokens)',
  // a request without a provider costs nothing: a dry run, or a client that left before
  // any attempt. A request that failed counts only where its provider may charge for it
  unpriced:
    "sum(case when r.cost is null and r.provider is not null and (r.used or r.outcome not in ('refused', 'failed')) then 1 else 0 end)",
  estimated: 'sum(case when r.estimated then 1 else 0 end)',
  generatedTokens: `sum(case when ${generated} then r.completion_tokens end)`,
  generatedMs: `sum(case when ${generated} then r.duration_ms - r.ttft_ms end)`,
  rescued: 'sum(case when r.rescued then 1 else 0 end)',
};

const columnsOf = ({ list }: Grammar): string =>
  [
    ...Object.entries(counts).map(([name, sql]) => `cast(coalesce(${sql}, 0) as text) as "${name}"`),
    // in two parts, because the sum of many costs is more than 64 bits hold
    `cast(sum(r.cost / ${million}) as text) as cost_millions`,
    `cast(sum(r.cost % ${million}) as text) as cost_rest`,
    `${list(knownMs)} as latency`,
    `${list('r.ttft_ms')} as ttft`,
  ].join(', ');

/** Largest first. Costs are compared as floats, because the exact sum of many costs is more than 64 bits hold. */
const orders: Readonly<Record<Rank, string>> = {
  requests: 'count(*) desc',
  errors: `${counts.errors} desc`,
  tokens: `coalesce(${counts.promptTokens}, 0) + coalesce(${counts.completionTokens}, 0) desc`,
  cost: 'coalesce(sum(cast(r.cost as double precision)), -1) desc',
};

const mostBuckets = 400;

/**
 * Reads the records themselves. cost: without a dimension it reads bucket by bucket, which needs no sorting, and lets other queries
 * and writes have their turn in between.
 */
export async function sumsOf(queries: Queries, query: LogQuery, grouping: Grouping): Promise<Group[]> {
  const { by, bucketMs } = grouping;
  const { from, to } = query;
  if (by !== null || bucketMs === null || from === null) return await readGroups(queries, query, grouping);
  const first = Math.floor(from / bucketMs) * bucketMs;
  const end = to ?? Date.now();
  if ((end - first) / bucketMs > mostBuckets) return await readGroups(queries, query, grouping);
  const groups: Group[] = [];
  for (let at = first; at < end; at += bucketMs) {
    const isLast = at + bucketMs >= end;
    const found = await readGroups(
      queries,
      { ...query, from: Math.max(at, from), to: isLast ? to : at + bucketMs },
      // where the clock of another gateway is ahead, the last range has buckets that begin after now
      { by, bucketMs: isLast ? bucketMs : null },
    );
    groups.push(...(isLast ? found : found.map((group) => ({ ...group, at }))));
    await setImmediate();
  }
  return groups;
}

/**
 * cost: the values of a percentile come as a list and are sorted here. That is
 * faster than an aggregate of our own in SQLite, and as fast as PostgreSQL's.
 */
async function readGroups(queries: Queries, query: LogQuery, grouping: Grouping): Promise<Group[]> {
  const { by, bucketMs, only, most = mostGroups, rank = 'requests' } = grouping;
  if (isOfAttempts(by)) return await readAttempts(queries, query, { ...grouping, by });
  const params = new Params(queries.engine.grammar);
  const dimension = by === null ? 'null' : dimensionSql(by, params);
  // where a clock was set back, the id of a record, which the range is about, is later than the record
  const at = query.from === null ? 'r.created_at' : `(case when r.created_at < ${query.from} then ${query.from} else r.created_at end)`;
  const bucket = bucketMs === null ? '0' : `cast(${at} / ${bucketMs} as bigint)`;
  const { from, where } = selectionOf(query, params, { withText: true });
  const all = only === undefined ? where : [...where, onlySql(dimension, only, params)];
  const groups = [...(bucketMs === null ? [] : ['1']), ...(by === null ? [] : ['2'])];
  const largest = bucketMs === null && by !== null ? ` order by ${orders[rank]}, 2 nulls first limit ${most}` : '';
  const rows = await queries.found(
    `select ${bucket} as bucket, ${dimension} as value, ${columnsOf(params.grammar)}
    from ${from}${whereSql(all)}${groups.length === 0 ? '' : ` group by ${groups.join(', ')}`}${largest}`,
    params,
  );
  return rows
    .filter(({ requests }) => requests !== '0')
    .map((row) => ({ at: Number(row['bucket']) * (bucketMs ?? 0), value: row['value'] as string | null, sums: readSums(row) }));
}

async function readAttempts(
  { engine: { grammar }, found }: Queries,
  query: LogQuery,
  { by, bucketMs, only, most = mostGroups, rank }: Grouping & { readonly by: AttemptDimension },
): Promise<Group[]> {
  const params = new Params(grammar);
  const bucket = bucketMs === null ? '0' : `cast(x.at / ${bucketMs} as bigint)`;
  const attempts = attemptsSql(query, by, params);
  const largest =
    bucketMs === null ? ` order by ${rank === 'errors' ? 'sum(x.failed)' : 'count(*)'} desc, 2 nulls first limit ${most}` : '';
  const rows = await found(
    `select ${bucket} as bucket, x.value as value, count(*) as requests, sum(x.failed) as errors,
      sum(x.rescued) as rescued, ${grammar.list('x.duration_ms')} as latency
    from ${attempts}${only === undefined ? '' : ` where ${onlySql('x.value', only, params)}`}
    group by 1, 2${largest}`,
    params,
  );
  return rows.map((row) => {
    const sums = noSums();
    for (const name of ['requests', 'errors', 'rescued'] as const) sums[name] = Number(row[name]);
    addList(sums.latency, row['latency']);
    return { at: Number(row['bucket']) * (bucketMs ?? 0), value: row['value'] as string | null, sums };
  });
}

function onlySql(dimension: string, only: readonly (string | null)[], params: Params): string {
  const named = only.filter((value) => value !== null).map((value) => params.add(value));
  const parts = [
    ...(named.length > 0 ? [`${dimension} in (${named.join(', ')})`] : []),
    ...(only.includes(null) ? [`${dimension} is null`] : []),
  ];
  return `(${parts.join(' or ') || 'false'})`;
}

function readSums(row: StoredRow): Sums {
  const sums = noSums();
  for (const name of Object.keys(counts) as Counted[]) sums[name] = Number(row[name]);
  const millions = row['cost_millions'] as string | null;
  if (millions !== null) sums.cost = BigInt(millions) * BigInt(million) + BigInt(row['cost_rest'] as string);
  addList(sums.latency, row['latency']);
  addList(sums.ttft, row['ttft']);
  return sums;
}

const addList = (spread: Spread, list: unknown): void =>
  spread.addValues((typeof list === 'string' ? JSON.parse(list) : (list ?? [])) as (number | null)[]);
