/**
 * Sums of periods that are over, kept beside the records, so that a query over a month takes milliseconds: for each day, hour and
 * quarter of an hour, by each dimension. Where no sums are kept, and at the two ends of a range, the records themselves are read. The
 * answer is the same either way, except that percentiles from kept sums are within one percent and a millisecond.
 */
import { setImmediate } from 'node:timers/promises';
import { attemptDimensions, dimensions, isKeyed } from '../../../../core/log/filters.ts';
import type { LogQuery } from '../../../../core/log/store.ts';
import { ruleOf } from './rollup-rules.ts';
import type { Rule } from './rollup-rules.ts';
import { firstSearched, searchMs } from '../sql/engine.ts';
import type { Queries } from '../sql/engine.ts';
import { sumsOf } from './from-records.ts';
import type { Group, Grouping } from './from-records.ts';
import { failed, Params, selectionOf, whereSql } from '../sql/where.ts';
import { timeOfId } from '../../../../core/log/record-id.ts';
import { addKept, addSums, keptOf, noSums } from './sums.ts';
import type { Kept, Sums } from './sums.ts';

/** Milliseconds; each is a multiple of the next. Metadata and plugin fields, whose values are many, are not summed up for the shortest. */
export const spans = [86_400_000, 3_600_000, 900_000] as const;
type Span = (typeof spans)[number];
const hour = spans[1];

export interface Period {
  readonly span: Span;
  /** Epoch milliseconds. */
  readonly start: number;
}

/** The name under which the sums of all records are kept, beside the dimensions. If this row exists, the period is kept. */
export const whole = '';
/** The name of the row that marks sums with all dimensions. Sums without it, of earlier versions, are used until they are made again. */
export const complete = 'complete 4';
/** All dimensions by which every period is summed up. */
export const summed: readonly string[] = [...dimensions, ...attemptDimensions, failed];
/** The name of the row that lists the metadata keys and plugin fields without sums; the list is null if it would be too long. */
export const leftOut = 'meta';

/**
 * The values of a dimension with their sums. null: there were too many values to keep. false: most values occurred once. A metadata
 * key or plugin field that no record of the period has is not there.
 */
export type KeptValues = readonly (readonly [value: string | null, sums: Kept])[] | null | false;

export const keepsKeyed = (span: Span): boolean => span >= hour;
const isKept = (dimension: string, span: Span): boolean =>
  isKeyed(dimension) ? keepsKeyed(span) : dimension === whole || summed.includes(dimension);

export const startOf = (ms: number, span: Span): number => Math.floor(ms / span) * span;

/** The periods to which these moments belong. */
export function periodsOf(moments: readonly number[]): Period[] {
  // cost: the records of a batch mostly belong to one quarter of an hour, and longer periods consist of quarters
  const quarters = [...new Set(moments.map((at) => startOf(at, spans[2])))];
  return spans.flatMap((span) => Array.from(new Set(quarters.map((at) => startOf(at, span))), (start) => ({ span, start })));
}

interface Plan {
  readonly dimension: string;
  readonly rules: readonly Rule[];
  /** Longest first. */
  readonly spans: readonly Span[];
}

/** How kept sums can answer a query; null if they cannot: they know one dimension at a time, no text and no bounds. */
function planOf({ from, to, conditions, text }: LogQuery, { by, bucketMs }: Grouping): Plan | null {
  if (text !== null) return null;
  if (from !== null && (to ?? Date.now()) - from < hour) return null;
  const rules = conditions.map(ruleOf).filter((rule) => rule !== null);
  if (rules.length < conditions.length) return null;
  const [dimension = whole, ...others] = new Set([...(by === null ? [] : [by]), ...rules.map((rule) => rule.dimension)]);
  if (others.length > 0) return null;
  return { dimension, rules, spans: spans.filter((span) => isKept(dimension, span) && (bucketMs === null || bucketMs % span === 0)) };
}

export async function groupsOf(queries: Queries, query: LogQuery, grouping: Grouping): Promise<readonly Group[]> {
  const kept = await fromKept(queries, query, grouping);
  if (kept === null && (query.text === null || !queries.engine.isSerial)) return await sumsOf(queries, query, grouping);
  const { by, bucketMs, only } = grouping;
  const { groups, gaps } = kept ?? { groups: new Groups(bucketMs), gaps: searchedIn(queries, query) };
  for await (const gap of gaps) {
    for (const { at, value, sums } of await sumsOf(queries, { ...query, ...gap }, { by, bucketMs, ...(only && { only }) })) {
      addSums(groups.sums(at, value), sums);
    }
  }
  return groups.all;
}

/** After this time the caller of a search has stopped waiting. */
const longestSearchMs = 10_000;

/**
 * The range of a search in parts, the newest first.
 * cost: SQLite answers one query at a time. While it read all bodies at once, all other queries and new records waited for seconds.
 * PostgreSQL takes longer for parts than for the whole, and nobody waits for it.
 * Bodies have any size, so the time of a part decides how many bodies the next part has.
 */
async function* searchedIn({ engine: { grammar }, found }: Queries, query: LogQuery): AsyncGenerator<Range> {
  const until = performance.now() + longestSearchMs;
  for (let { to } = query, bodies = firstSearched; ;) {
    const began = performance.now();
    const params = new Params(grammar);
    const { from: table, where, key } = selectionOf({ ...query, to, text: null }, params);
    const sql = `select ${key} as id from ${table}${whereSql(where)} order by ${key} desc limit 1 offset ${bodies}`;
    const [row] = await found(sql, params);
    if (row === undefined) return yield { from: query.from, to };
    const from = timeOfId(row['id'] as string);
    yield { from, to };
    const now = performance.now();
    if (now > until) throw new Error('the search timed out');
    bodies = now - began < searchMs / 2 ? bodies * 2 : Math.max(firstSearched, bodies >> 1);
    to = from;
    await setImmediate();
  }
}

/** The groups that kept sums give, and the ranges whose records have to be read. null: none are kept. */
async function fromKept(
  queries: Queries,
  query: LogQuery,
  grouping: Grouping,
): Promise<{ readonly groups: Groups; readonly gaps: readonly Range[] } | null> {
  const plan = planOf(query, grouping);
  if (plan === null) return null;
  const { kept, gaps } = await keptIn(queries, query, plan);
  if (kept.length === 0) return null;
  const { by, bucketMs, only } = grouping;
  const groups = new Groups(bucketMs);
  for (const { start, values } of kept) {
    for (const [value, sums] of values) {
      if (plan.rules.every((rule) => rule.keeps(value)) && only?.includes(value) !== false) {
        addKept(groups.sums(start, by === null ? null : value), sums);
      }
    }
  }
  return { groups, gaps };
}

interface Slicing {
  /** A dimension; null: none. */
  readonly by: string | null;
  readonly sliceMs: number;
  /** Where there are more groups than this, some of them are left out. */
  readonly most: number;
}

/**
 * The groups of a period, for keeping: percentiles are within one percent and a millisecond.
 * cost: records are read slice by slice. To read a million at once took 250 MB that
 * the process never gave back, and the store answered nobody else for 4.6 seconds.
 */
export async function groupsToKeep(queries: Queries, { start, span }: Period, { by, sliceMs, most }: Slicing): Promise<readonly Group[]> {
  const period = { from: start, to: start + span };
  const { groups, gaps } = (await fromKept(queries, allIn(period), { by, bucketMs: null })) ?? { groups: new Groups(null), gaps: [period] };
  for (const slice of gaps.flatMap(({ from, to }) => slicesOf({ from: from ?? period.from, to: to ?? period.to }, sliceMs))) {
    if (groups.size > most) break;
    // records that wait to be stored come first
    await setImmediate();
    for (const { value, sums } of await sumsOf(queries, allIn(slice), { by, bucketMs: null, most: most + 1 })) {
      addKept(groups.sums(0, value), keptOf(sums));
    }
  }
  return groups.all;
}

/** All records of a range. */
export const allIn = (range: Range): LogQuery => ({ ...range, conditions: [], text: null });

export function slicesOf({ from, to }: { readonly from: number; readonly to: number }, sliceMs: number): Range[] {
  return Array.from({ length: Math.ceil((to - from) / sliceMs) }, (_, at) => ({
    from: from + at * sliceMs,
    to: Math.min(from + (at + 1) * sliceMs, to),
  }));
}

class Groups {
  readonly #bucketMs: number | null;
  readonly #groups = new Map<string, Group>();

  constructor(bucketMs: number | null) {
    this.#bucketMs = bucketMs;
  }

  get size(): number {
    return this.#groups.size;
  }

  get all(): Group[] {
    return [...this.#groups.values()];
  }

  sums(ms: number, value: string | null): Sums {
    const at = this.#bucketMs === null ? 0 : Math.floor(ms / this.#bucketMs) * this.#bucketMs;
    const name = `${at} ${value === null ? '' : `=${value}`}`;
    const group = this.#groups.get(name) ?? { at, value, sums: noSums() };
    this.#groups.set(name, group);
    return group.sums;
  }
}

type Range = Pick<LogQuery, 'from' | 'to'>;

interface KeptPeriod {
  readonly start: number;
  readonly values: Exclude<KeptValues, null | false>;
}

/** The most holes that are filled one by one; if there are more, shorter periods or the records answer for the whole range. */
const mostGaps = 8;

/** The longest periods first, then shorter ones for the gaps between them. */
async function keptIn(queries: Queries, { from, to }: Range, plan: Plan): Promise<{ kept: KeptPeriod[]; gaps: Range[] }> {
  const kept: KeptPeriod[] = [];
  let gaps: Range[] = [{ from, to }];
  for (const span of plan.spans) {
    const open: Range[] = [];
    for (const gap of gaps) {
      const found = await keptPeriods(queries, gap, { span, dimension: plan.dimension });
      const rest = gapsOf(
        found.map(({ start }) => start),
        { ...gap, span },
      );
      const isUseful = rest.length <= mostGaps;
      open.push(...(isUseful ? rest : [gap]));
      if (isUseful) kept.push(...found);
    }
    gaps = open;
  }
  return { kept, gaps };
}

async function keptPeriods(
  { engine: { grammar }, found }: Queries,
  { from, to }: Range,
  { span, dimension }: { readonly span: Span; readonly dimension: string },
): Promise<KeptPeriod[]> {
  const first = Math.ceil((from ?? 0) / span) * span;
  const last = startOf(to ?? Date.now(), span);
  if (first >= last) return [];
  const params = new Params(grammar);
  const names = [...new Set([whole, dimension, ...(isKeyed(dimension) ? [leftOut] : [])])].map((name) => params.add(name)).join(', ');
  const rows = await found(
    `select dimension, starts_at, data from gateway_rollup
    where span_ms = ${params.add(span)} and dimension in (${names})
    and starts_at >= ${params.add(first)} and starts_at < ${params.add(last)}
    order by starts_at`,
    params,
  );
  const data = Map.groupBy(rows, ({ dimension: name }) => name);
  const byStart = (name: string): ReadonlyMap<unknown, string> =>
    new Map(data.get(name)?.map((row) => [row['starts_at'], row['data'] as string]));
  const [own, without] = [byStart(dimension), byStart(leftOut)];
  const kept: KeptPeriod[] = [];
  for (const { starts_at: at, data: all } of data.get(whole) ?? []) {
    // where no record of the period has this key or field, all records have the value null: the row of all records has their sums
    const isAbsent = all === '[]' || (isKeyed(dimension) && !isLeftOut(dimension, without.get(at)));
    const text = own.get(at) ?? (isAbsent ? (all as string) : 'null');
    const values = JSON.parse(text) as KeptValues;
    if (values !== null && values !== false) kept.push({ start: Number(at), values });
  }
  return kept;
}

function isLeftOut(dimension: string, data: string | undefined): boolean {
  if (data === undefined) return false;
  const names = JSON.parse(data) as readonly string[] | null;
  return names === null || names.includes(dimension);
}

/** The parts of a range that these periods do not cover. */
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
