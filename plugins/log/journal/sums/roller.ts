/**
 * Sums up periods that are over, newest first, while the worker has nothing else to do. It needs no lock: it claims a period, reads
 * its records, and keeps the sums only if the claim is still there. Storing a record deletes the claims and the sums of its periods.
 */
import { randomUUID } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { isKeyed, keyedName } from '../../../../core/log/filters.ts';
import type { Keyed } from '../../../../core/log/filters.ts';
import { allIn, complete, groupsToKeep, keepsKeyed, leftOut, slicesOf, spans, startOf, summed, whole } from './rollup.ts';
import type { KeptValues, Period } from './rollup.ts';
import { queriesOf } from '../sql/engine.ts';
import type { Engine, Queries, Statement } from '../sql/engine.ts';
import { Params, selectionOf, whereSql } from '../sql/where.ts';
import type { Grammar } from '../sql/where.ts';
import { timeOfId } from '../../../../core/log/record-id.ts';
import { keptOf } from './sums.ts';

/** A request may end after the period in which it began; most end within this time. */
const graceMs = 300_000;
const lookEveryMs = 60_000;
/** A period that could not be summed up, although the store answers, is tried again after this time. */
const failedMs = 600_000;
/** Older periods are not summed up: a query reads their records. */
const longestMs = 400 * 86_400_000;
/** The most values of one dimension that are kept; callers may make up any number of them. */
const mostValues = 2000;
/** If a name has more values than this and most of them occur once, they are not kept. */
const fewValues = 50;
/** The most names of plugin fields and metadata that are kept for a period. */
const mostNames = 50;
const mostLeftOut = 1000;
/** Records that are read at once, if they are spread evenly over the period. */
const perSlice = 5000;
const minute = 60_000;

const claim = '~';

export class Roller {
  readonly #engine: Engine;
  #due: Period[] = [];
  #lookAt = -Infinity;
  /** Periods that failed, each with the time at which it is tried again. */
  readonly #failed = new Map<string, number>();

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** Sums up one period. True: there are more. */
  async step(now: number): Promise<boolean> {
    if (this.#due.length === 0) {
      if (performance.now() < this.#lookAt) return false;
      this.#lookAt = performance.now() + lookEveryMs;
      const due = await duePeriods(queriesOf(this.#engine), now);
      this.#due = due.filter((period) => (this.#failed.get(nameOf(period)) ?? 0) <= now);
    }
    const next = this.#due.pop();
    if (next !== undefined) await this.#sumUp(next, now);
    return this.#due.length > 0;
  }

  async #sumUp(period: Period, now: number): Promise<void> {
    try {
      await sumUp(queriesOf(this.#engine), period);
      this.#failed.delete(nameOf(period));
    } catch (error) {
      // a period that failed while the store was away is tried again at the next look
      await this.#engine.all('select 1', []);
      this.#failed.set(nameOf(period), now + failedMs);
      throw error;
    }
  }
}

const nameOf = ({ span, start }: Period): string => `${span} ${start}`;

/**
 * The oldest period first; `step` begins at the end of the list. Of periods with the same start, the
 * longest is first, and so is summed up last, because it is made of the shorter ones.
 */
async function duePeriods({ engine, found }: Queries, now: number): Promise<Period[]> {
  const [oldest] = await found('select id from gateway_requests order by id limit 1', new Params(engine.grammar));
  if (oldest === undefined) return [];
  const from = Math.max(timeOfId(oldest['id'] as string), engine.floor(), now - longestMs);
  const due: Period[] = [];
  for (const span of spans) {
    const params = new Params(engine.grammar);
    const first = startOf(from, span);
    const kept = new Set(
      (
        await found(
          `select starts_at from gateway_rollup
          where span_ms = ${params.add(span)} and dimension = ${params.add(complete)} and starts_at >= ${params.add(first)}`,
          params,
        )
      ).map((row) => Number(row['starts_at'])),
    );
    for (let start = first; start + span + graceMs <= now; start += span) if (!kept.has(start)) due.push({ span, start });
  }
  return due.sort((a, b) => a.start - b.start);
}

type Row = readonly [dimension: string, data: unknown];

async function sumUp(queries: Queries, period: Period): Promise<void> {
  const { engine } = queries;
  const { grammar } = engine;
  const token = randomUUID();
  const claimed = put(grammar, period, [[claim, token]]);
  await engine.all(claimed.sql, claimed.values);
  await engine.swap(unclaim(grammar, period, token), put(grammar, period, await rowsOf(queries, period)));
}

function put(grammar: Grammar, { span, start }: Period, rows: readonly Row[]): Statement {
  const params = new Params(grammar);
  const whole = (number: number): string => `cast(${params.add(number)} as bigint)`;
  const values = rows.map(
    ([dimension, data]) => `(${whole(span)}, ${params.add(dimension)}, ${whole(start)}, ${params.add(JSON.stringify(data))})`,
  );
  return {
    sql: `insert into gateway_rollup (span_ms, dimension, starts_at, data) values ${values.join(', ')}
      on conflict (span_ms, dimension, starts_at) do update set data = excluded.data`,
    values: params.values,
  };
}

function unclaim(grammar: Grammar, { span, start }: Period, token: string): Statement {
  const params = new Params(grammar);
  return {
    sql: `delete from gateway_rollup
      where span_ms = ${params.add(span)} and dimension = ${params.add(claim)}
      and starts_at = ${params.add(start)} and data = ${params.add(JSON.stringify(token))}`,
    values: params.values,
  };
}

async function rowsOf(queries: Queries, period: Period): Promise<Row[]> {
  const [all] = await groupsToKeep(queries, period, {
    by: null,
    sliceMs: (await hasMany(queries, period)) ? minute : period.span,
    most: 1,
  });
  const done = [complete, true] as const;
  if (all === undefined || all.sums.requests === 0) return [[whole, []], done];
  const { requests } = all.sums;
  const part: Part = { period, requests, sliceMs: Math.ceil(period.span / Math.ceil(requests / perSlice)) };
  const names = keepsKeyed(period.span)
    ? [...(await namesIn(queries, part, 'fields')), ...(await namesIn(queries, part, 'metadata'))].filter(isKeyed)
    : [];
  const left = names.slice(mostNames);
  const rows: Row[] = [
    [whole, [[null, keptOf(all.sums)]]],
    done,
    ...(left.length > 0 ? [[leftOut, left.length > mostLeftOut ? null : left] as const] : []),
  ];
  for (const name of [...summed, ...names.slice(0, mostNames)]) rows.push([name, await valuesOf(queries, part, name)]);
  return rows;
}

async function hasMany({ engine: { grammar }, found }: Queries, { start, span }: Period): Promise<boolean> {
  const params = new Params(grammar);
  const { where } = selectionOf(allIn({ from: start, to: start + span }), params);
  return (await found(`select 1 from gateway_requests r${whereSql(where)} limit 1 offset ${perSlice}`, params)).length > 0;
}

/** What is summed up, and in which slices its records are read. */
interface Part {
  readonly period: Period;
  readonly requests: number;
  readonly sliceMs: number;
}

async function valuesOf(queries: Queries, { period, requests, sliceMs }: Part, name: string): Promise<KeptValues> {
  if (await wereTooMany(queries, period, name)) return null;
  const groups = await groupsToKeep(queries, period, { by: name, sliceMs, most: mostValues });
  if (groups.length > mostValues) return null;
  if (isKeyed(name) && groups.length > fewValues && groups.length > requests / 2) return false;
  return groups.map(({ value, sums }) => [value, keptOf(sums)]);
}

/** cost: if a part of a period had too many values, the whole period has too many as well, and is not read. */
async function wereTooMany({ engine: { grammar }, found }: Queries, { start, span }: Period, name: string): Promise<boolean> {
  const params = new Params(grammar);
  const without = await found(
    `select 1 from gateway_rollup
    where dimension = ${params.add(name)} and starts_at >= ${params.add(start)} and starts_at < ${params.add(start + span)}
    and span_ms in (${spans.join(', ')}) and data = 'null' limit 1`,
    params,
  );
  return without.length > 0;
}

/** `field.<name>` or `meta.<key>` of each name that records of the period have, the most used first. */
async function namesIn(
  { engine: { grammar }, found }: Queries,
  { period: { start, span }, sliceMs }: Part,
  part: Keyed['part'],
): Promise<string[]> {
  const counts = new Map<string, number>();
  for (const slice of slicesOf({ from: start, to: start + span }, sliceMs)) {
    await setImmediate();
    const params = new Params(grammar);
    const { where } = selectionOf(allIn(slice), params);
    // beyond this limit, the list of the names that were left out would be too long
    const rows = await found(
      `select j.key as name, count(*) as count from gateway_requests r, ${grammar.keys(part)}${whereSql(where)}
      group by j.key order by count(*) desc limit ${mostNames + mostLeftOut + 1}`,
      params,
    );
    for (const { name, count } of rows) counts.set(name as string, (counts.get(name as string) ?? 0) + Number(count));
  }
  return Array.from(counts)
    .sort(([, a], [, b]) => b - a)
    .map(([key]) => keyedName({ part, key }));
}
