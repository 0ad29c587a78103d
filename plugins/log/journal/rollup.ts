/**
 * Sums of times that are over, kept beside the records, so that a month of them is answered in milliseconds: of each day, hour
 * and quarter of an hour, by each dimension. What is not kept yet, and the ends of a range, are read from the records: an answer
 * never waits for it, and is the same but for its percentiles, which are within one percent.
 */
import type { LogQuery } from '../../../core/log-store.ts';
import { ruleOf } from './rollup-rules.ts';
import type { Rule } from './rollup-rules.ts';
import type { Asking } from './sql-read.ts';
import { sumsOf } from './sql-sums.ts';
import type { Group, Grouping } from './sql-sums.ts';
import { Params } from './sql-where.ts';
import { addKept, addSums, noSums } from './sums.ts';
import type { Kept, Sums } from './sums.ts';

export const dimensions = ['model', 'provider', 'key', 'status', 'finish', 'outcome', 'stream', 'agent'] as const;

/** The dimension of all records together. */
export const whole = '';

/** Milliseconds; each is a multiple of the next. Metadata, whose values are many, is not summed up for the shortest. */
export const spans = [86_400_000, 3_600_000, 900_000] as const;
export type Span = (typeof spans)[number];
const hour = spans[1];

export const isKept = (dimension: string, span: Span): boolean => (dimension.startsWith('meta.') ? span >= hour : dimension === whole || (dimensions as readonly string[]).includes(dimension));

/** Of a dimension: its values with their sums; null where they were too many to be kept. */
export type KeptValues = readonly (readonly [value: string | null, sums: Kept])[] | null;

export interface Time {
  readonly span: Span;
  /** Epoch milliseconds. */
  readonly start: number;
}

export const startOf = (ms: number, span: Span): number => Math.floor(ms / span) * span;

/** The times that are over and to which a record of one of these moments belongs. */
export function timesOver(moments: readonly number[], now: number): Time[] {
  return spans.flatMap((span) => [...new Set(moments.map((at) => startOf(at, span)))].filter((start) => start + span <= now).map((start) => ({ span, start })));
}

type Range = Pick<LogQuery, 'from' | 'to'>;

/** What is asked, where kept sums of one dimension can say it. */
interface Plan {
  readonly dimension: string;
  readonly rules: readonly Rule[];
  readonly by: string | null;
  into(start: number, value: string | null): Sums;
}

/** Holes in what is kept that are read one by one; where there are more, all is read at once. */
const mostGaps = 8;

export async function groupsOf(asking: Asking, query: LogQuery, grouping: Grouping): Promise<readonly Group[]> {
  const { by, bucketMs } = grouping;
  const rules = query.conditions.map(ruleOf);
  const asked = new Set([...(by === null ? [] : [by]), ...rules.map((rule) => rule?.dimension)]);
  const [dimension = whole] = asked;
  const usable = spans.filter((span) => isKept(dimension, span) && (bucketMs === null || bucketMs % span === 0));
  if (query.text !== null || rules.includes(null) || asked.size > 1 || (query.from !== null && (query.to ?? Date.now()) - query.from < hour)) return await sumsOf(asking, query, grouping);
  const groups = new Map<string, Group>();
  const into = (ms: number, value: string | null): Sums => {
    const at = bucketMs === null ? 0 : Math.floor(ms / bucketMs) * bucketMs;
    const name = `${at} ${value === null ? '' : `=${value}`}`;
    const known = groups.get(name) ?? { at, value, sums: noSums() };
    groups.set(name, known);
    return known.sums;
  };
  const rest = await addKeptTimes(asking, query, { spans: usable, plan: { dimension, rules: rules as Rule[], by, into } });
  // cost: of many values the small ones do not count, unless they are large elsewhere
  const most = groups.size === 0 && rest.length === 1 ? grouping : { by, bucketMs };
  const read = await Promise.all(rest.map((gap) => sumsOf(asking, { ...query, ...gap }, most)));
  for (const { at, value, sums } of read.flat()) addSums(into(at, value), sums);
  return [...groups.values()];
}

/** Adds what is kept for a range, the longest times first; says what is left of it. */
async function addKeptTimes(asking: Asking, range: Range, { spans: [span, ...shorter], plan }: { readonly spans: readonly Span[]; readonly plan: Plan }): Promise<Range[]> {
  if (span === undefined) return [range];
  const times = await keptTimes(asking, range, { span, dimension: plan.dimension });
  const gaps = gapsOf(times.map(({ start }) => start), { ...range, span });
  const isUseful = gaps.length <= mostGaps;
  if (isUseful) for (const { start, values } of times) for (const [value, sums] of values) if (plan.rules.every((rule) => rule.keeps(value))) addKept(plan.into(start, plan.by === null ? null : value), sums);
  return (await Promise.all((isUseful ? gaps : [range]).map((gap) => addKeptTimes(asking, gap, { spans: shorter, plan })))).flat();
}

interface KeptTime {
  readonly start: number;
  readonly values: NonNullable<KeptValues>;
}

async function keptTimes({ engine: { grammar }, found }: Asking, { from, to }: Range, { span, dimension }: { readonly span: Span; readonly dimension: string }): Promise<KeptTime[]> {
  const first = Math.ceil((from ?? 0) / span) * span;
  const last = startOf(to ?? Date.now(), span);
  if (first >= last) return [];
  const params = new Params(grammar);
  const names = [...new Set([whole, dimension])].map((name) => params.add(name)).join(', ');
  const rows = await found(`select dimension, starts_at, data from gateway_rollup where span_ms = ${params.add(span)} and dimension in (${names}) and starts_at >= ${params.add(first)} and starts_at < ${params.add(last)} order by starts_at`, params);
  const data = Map.groupBy(rows, ({ dimension: name }) => name);
  const own = new Map((data.get(dimension) ?? []).map((row) => [row['starts_at'], row['data'] as string]));
  // a time is kept where its whole is; a dimension that none of its records has is not
  return (data.get(whole) ?? []).flatMap((row) => {
    const values = JSON.parse(own.get(row['starts_at']) ?? (row['data'] as string)) as KeptValues;
    return values === null ? [] : [{ start: Number(row['starts_at']), values }];
  });
}

/** What of a range these times leave open. */
function gapsOf(starts: readonly number[], { from, to, span }: Range & { readonly span: Span }): Range[] {
  const gaps: Range[] = [];
  let done = from;
  for (const start of starts) {
    if (done === null || start > done) gaps.push({ from: done, to: start });
    done = start + span;
  }
  if (to === null || done === null || done < to) gaps.push({ from: done, to });
  return gaps;
}
