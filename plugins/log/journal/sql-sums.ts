/** Sums read from the records themselves. */
import type { LogQuery } from '../../../core/log-store.ts';
import type { Asking } from './sql-read.ts';
import { dimensionSql, Params, sourceOf } from './sql-where.ts';
import type { Grammar } from './sql-where.ts';
import type { Found } from './rows.ts';
import { noSums } from './sums.ts';
import type { Counted, Spread, Sums } from './sums.ts';

export interface Group {
  /** Epoch milliseconds of the bucket's begin; 0 where there is one for all. */
  readonly at: number;
  readonly value: string | null;
  readonly sums: Sums;
}

export interface Grouping {
  /** A dimension; null: none. */
  readonly by: string | null;
  /** null: one for all. */
  readonly bucketMs: number | null;
  /** Groups, the largest; where it is not said, as many as there may be. */
  readonly most?: number;
}

/** A dimension may have as many values as there are records. */
const mostGroups = 20_000;
const million = 1_000_000;
const generated = 'r.stream and r.ttft_ms is not null and r.completion_tokens is not null and not r.estimated';

const counts: Readonly<Record<Counted, string>> = {
  requests: 'count(*)',
  errors: 'sum(case when r.failed then 1 else 0 end)',
  promptTokens: 'sum(r.prompt_tokens)',
  completionTokens: 'sum(r.completion_tokens)',
  reasoningTokens: 'sum(r.reasoning_tokens)',
  cachedTokens: 'sum(r.cached_tokens)',
  unpriced: "sum(case when r.cost is null and r.outcome <> 'refused' then 1 else 0 end)",
  estimated: 'sum(case when r.estimated then 1 else 0 end)',
  generatedTokens: `sum(case when ${generated} then r.completion_tokens end)`,
  generatedMs: `sum(case when ${generated} then r.duration_ms - r.ttft_ms end)`,
};

const columnsOf = ({ list }: Grammar): string => [
  ...Object.entries(counts).map(([name, sql]) => `cast(coalesce(${sql}, 0) as text) as "${name}"`),
  // in two parts, as the sum of many costs is more than 64 bits hold
  `cast(sum(r.cost / ${million}) as text) as cost_millions`,
  `cast(sum(r.cost % ${million}) as text) as cost_rest`,
  `${list('r.duration_ms')} as latency`,
  `${list('r.ttft_ms')} as ttft`,
].join(', ');

/** cost: values come as a list and are ordered here: faster than an aggregate of ours in SQLite, as fast as PostgreSQL's. */
export async function sumsOf({ engine: { grammar }, found }: Asking, query: LogQuery, { by, bucketMs, most = mostGroups }: Grouping): Promise<Group[]> {
  const params = new Params(grammar);
  const dimension = by === null ? 'null' : dimensionSql(by, params, grammar);
  const bucket = bucketMs === null ? '0' : `cast(r.created_at / ${bucketMs} as bigint)`;
  const { from, where } = sourceOf(query, { params, grammar, withText: true });
  const groups = by === null && bucketMs === null ? '' : ` group by 1, 2 order by count(*) desc limit ${most}`;
  const rows = await found(`select ${bucket} as bucket, ${dimension} as value, ${columnsOf(grammar)} from ${from}${where.length === 0 ? '' : ` where ${where.join(' and ')}`}${groups}`, params);
  return rows.filter(({ requests }) => requests !== '0').map((row) => ({ at: Number(row['bucket']) * (bucketMs ?? 0), value: row['value'] as string | null, sums: readSums(row) }));
}

function readSums(row: Found): Sums {
  const sums = noSums();
  for (const name of Object.keys(counts) as Counted[]) sums[name] = Number(row[name]);
  const millions = row['cost_millions'] as string | null;
  if (millions !== null) sums.cost = BigInt(millions) * BigInt(million) + BigInt(row['cost_rest'] as string);
  addList(sums.latency, row['latency']);
  addList(sums.ttft, row['ttft']);
  return sums;
}

const addList = (spread: Spread, list: unknown): void => spread.addValues((typeof list === 'string' ? JSON.parse(list) : (list ?? [])) as (number | null)[]);
