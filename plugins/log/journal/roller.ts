/** Sums up what is over, time by time, newest first, while there is nothing better to do. */
import type { LogQuery } from '../../../core/log-store.ts';
import { dimensions, groupsOf, isKept, spans, startOf, whole } from './rollup.ts';
import type { KeptValues, Time } from './rollup.ts';
import { askingOf } from './sql-read.ts';
import type { Asking, Engine } from './sql-read.ts';
import { Params, sourceOf } from './sql-where.ts';
import { timeOf } from './store.ts';
import { keptOf } from './sums.ts';

/** Requests that began in a time end after it: most of them within this. */
const graceMs = 300_000;
const lookEveryMs = 60_000;
const failedMs = 3_600_000;
/** What is older is summed up from the records when it is asked for. */
const longestMs = 400 * 86_400_000;
/** Values of metadata that hardly repeat are not worth keeping. */
const fewValues = 50;
const mostValues = 2000;

export class Roller {
  readonly #engine: Engine;
  #due: Time[] = [];
  #lookAt = -Infinity;
  /** What went wrong, with when to try it again: a time with more records than can be summed up is not tried all day. */
  readonly #failed = new Map<string, number>();

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** Sums up one time. True: there are more. */
  async step(now: number): Promise<boolean> {
    if (this.#due.length === 0) {
      if (performance.now() < this.#lookAt) return false;
      this.#lookAt = performance.now() + lookEveryMs;
      const due = await dueTimes(askingOf(this.#engine), now);
      this.#due = due.filter((time) => (this.#failed.get(nameOf(time)) ?? 0) <= now);
    }
    const next = this.#due.pop();
    if (next !== undefined) await this.#sumUp(next, now);
    return this.#due.length > 0;
  }

  async #sumUp(time: Time, now: number): Promise<void> {
    try {
      await this.#engine.exclusively((engine) => sumUp(askingOf(engine), time));
      this.#failed.delete(nameOf(time));
    } catch (error) {
      this.#failed.set(nameOf(time), now + failedMs);
      throw error;
    }
  }
}

const nameOf = ({ span, start }: Time): string => `${span} ${start}`;

/** Oldest first, and of those that begin together the longest: it is made of the shorter ones. */
async function dueTimes({ engine, found }: Asking, now: number): Promise<Time[]> {
  const [oldest] = await found('select id from gateway_requests order by id limit 1', new Params(engine.grammar));
  if (oldest === undefined) return [];
  const from = Math.max(timeOf(oldest['id'] as string), engine.floor(), now - longestMs);
  const due: Time[] = [];
  for (const span of spans) {
    const params = new Params(engine.grammar);
    const first = startOf(from, span);
    const kept = new Set((await found(`select starts_at from gateway_rollup where span_ms = ${params.add(span)} and dimension = ${params.add(whole)} and starts_at >= ${params.add(first)}`, params)).map((row) => Number(row['starts_at'])));
    for (let start = first; start + span + graceMs <= now; start += span) if (!kept.has(start)) due.push({ span, start });
  }
  return due.sort((a, b) => a.start - b.start);
}

async function sumUp(asking: Asking, { span, start }: Time): Promise<void> {
  const query: LogQuery = { from: start, to: start + span, conditions: [], text: null };
  const [all] = await groupsOf(asking, query, { by: null, bucketMs: null });
  const kept: [dimension: string, values: KeptValues][] = [[whole, all === undefined ? [] : [[null, keptOf(all.sums)]]]];
  const names = all === undefined ? [] : [...dimensions, ...(await metadataNames(asking, query))].filter((name) => isKept(name, span));
  for (const name of names) kept.push([name, await valuesOf(asking, query, { name, requests: all?.sums.requests ?? 0 })]);
  const params = new Params(asking.engine.grammar);
  const rows = kept.map(([dimension, values]) => `(cast(${params.add(span)} as bigint), ${params.add(dimension)}, cast(${params.add(start)} as bigint), ${params.add(JSON.stringify(values))})`);
  await asking.found(`insert into gateway_rollup (span_ms, dimension, starts_at, data) values ${rows.join(', ')} on conflict do nothing`, params);
}

async function valuesOf(asking: Asking, query: LogQuery, { name, requests }: { readonly name: string; readonly requests: number }): Promise<KeptValues> {
  if (await wereTooMany(asking, query, name)) return null;
  const groups = await groupsOf(asking, query, { by: name, bucketMs: null });
  const isWorth = !name.startsWith('meta.') || groups.length <= fewValues || (groups.length <= mostValues && groups.length <= requests / 2);
  return isWorth ? groups.map(({ value, sums }) => [value, keptOf(sums)]) : null;
}

/** cost: what was too much for a part of a time is so for the whole of it, and is not read again. */
async function wereTooMany({ engine: { grammar }, found }: Asking, { from, to }: LogQuery, name: string): Promise<boolean> {
  const params = new Params(grammar);
  return (await found(`select 1 from gateway_rollup where dimension = ${params.add(name)} and starts_at >= ${params.add(from)} and starts_at < ${params.add(to)} and span_ms in (${spans.join(', ')}) and data = 'null' limit 1`, params)).length > 0;
}

async function metadataNames({ engine: { grammar }, found }: Asking, query: LogQuery): Promise<string[]> {
  const params = new Params(grammar);
  const { where } = sourceOf(query, { params, grammar });
  return (await found(`select distinct j.key as name from gateway_requests r, ${grammar.metadataKeys} where ${where.join(' and ')}`, params)).map(({ name }) => `meta.${name as string}`);
}
