/**
 * Sums up what is over, period by period, newest first, while there is nothing better to do. Without a lock: a period is claimed,
 * read, and kept only if the claim still stands. Whoever stores a record takes the claims and the sums of its periods away.
 */
import { randomUUID } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { dimensions, isMeta } from '../../../../core/log/query.ts';
import type { LogQuery } from '../../../../core/log/store.ts';
import { groupsOf, keepsMetadata, leftOut, spans, startOf, whole } from './rollup.ts';
import type { KeptValues, Period } from './rollup.ts';
import { askingOf } from '../sql/engine.ts';
import type { Asking, Engine, Statement } from '../sql/engine.ts';
import { Params, sourceOf, whereSql } from '../sql/where.ts';
import type { Grammar } from '../sql/where.ts';
import { timeOf } from '../sql/id-time.ts';
import { keptOf } from './sums.ts';

/** Requests that began in a period end after it: most of them within this. */
const graceMs = 300_000;
const lookEveryMs = 60_000;
/** What could not be summed up, for being too much, is not tried again at once. */
const failedMs = 600_000;
/** What is older is summed up from the records when it is asked for. */
const longestMs = 400 * 86_400_000;
/** Values of one dimension; the callers may make up any number of them. */
const mostValues = 2000;
/** Above so many, values of metadata that hardly repeat are not kept. */
const fewValues = 50;
/** Metadata names of one period, the most used ones. */
const mostNames = 50;
const mostLeftOut = 1000;

const claim = '~';

export class Roller {
  readonly #engine: Engine;
  #due: Period[] = [];
  #lookAt = -Infinity;
  /** With when to try it again. */
  readonly #failed = new Map<string, number>();

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** Sums up one period. True: there are more. */
  async step(now: number): Promise<boolean> {
    if (this.#due.length === 0) {
      if (performance.now() < this.#lookAt) return false;
      this.#lookAt = performance.now() + lookEveryMs;
      const due = await duePeriods(askingOf(this.#engine), now);
      this.#due = due.filter((period) => (this.#failed.get(nameOf(period)) ?? 0) <= now);
    }
    const next = this.#due.pop();
    if (next !== undefined) await this.#sumUp(next, now);
    return this.#due.length > 0;
  }

  async #sumUp(period: Period, now: number): Promise<void> {
    try {
      await sumUp(askingOf(this.#engine), period);
      this.#failed.delete(nameOf(period));
    } catch (error) {
      this.#failed.set(nameOf(period), now + failedMs);
      throw error;
    }
  }
}

const nameOf = ({ span, start }: Period): string => `${span} ${start}`;

/** Oldest first, and of those that begin together the longest: it is made of the shorter ones. */
async function duePeriods({ engine, found }: Asking, now: number): Promise<Period[]> {
  const [oldest] = await found('select id from gateway_requests order by id limit 1', new Params(engine.grammar));
  if (oldest === undefined) return [];
  const from = Math.max(timeOf(oldest['id'] as string), engine.floor(), now - longestMs);
  const due: Period[] = [];
  for (const span of spans) {
    const params = new Params(engine.grammar);
    const first = startOf(from, span);
    const kept = new Set((await found(`select starts_at from gateway_rollup where span_ms = ${params.add(span)} and dimension = ${params.add(whole)} and starts_at >= ${params.add(first)}`, params)).map((row) => Number(row['starts_at'])));
    for (let start = first; start + span + graceMs <= now; start += span) if (!kept.has(start)) due.push({ span, start });
  }
  return due.sort((a, b) => a.start - b.start);
}

type Row = readonly [dimension: string, data: unknown];

async function sumUp(asking: Asking, period: Period): Promise<void> {
  const { engine } = asking;
  const { grammar } = engine;
  const token = randomUUID();
  const claimed = put(grammar, period, [[claim, token]]);
  await engine.all(claimed.sql, claimed.values);
  await engine.swap(unclaim(grammar, period, token), put(grammar, period, await rowsOf(asking, period)));
}

function put(grammar: Grammar, { span, start }: Period, rows: readonly Row[]): Statement {
  const params = new Params(grammar);
  const values = rows.map(([dimension, data]) => `(cast(${params.add(span)} as bigint), ${params.add(dimension)}, cast(${params.add(start)} as bigint), ${params.add(JSON.stringify(data))})`);
  return { sql: `insert into gateway_rollup (span_ms, dimension, starts_at, data) values ${values.join(', ')} on conflict (span_ms, dimension, starts_at) do update set data = excluded.data`, values: params.values };
}

function unclaim(grammar: Grammar, { span, start }: Period, token: string): Statement {
  const params = new Params(grammar);
  return { sql: `delete from gateway_rollup where span_ms = ${params.add(span)} and dimension = ${params.add(claim)} and starts_at = ${params.add(start)} and data = ${params.add(JSON.stringify(token))}`, values: params.values };
}

async function rowsOf(asking: Asking, { span, start }: Period): Promise<Row[]> {
  const query: LogQuery = { from: start, to: start + span, conditions: [], text: null };
  const [all] = await groupsOf(asking, query, { by: null, bucketMs: null });
  if (all === undefined || all.sums.requests === 0) return [[whole, []]];
  const names = keepsMetadata(span) ? await metadataNames(asking, query) : [];
  const left = names.slice(mostNames);
  const rows: Row[] = [[whole, [[null, keptOf(all.sums)]]], ...(left.length > 0 ? [[leftOut, left.length > mostLeftOut ? null : left] as const] : [])];
  for (const name of [...dimensions, ...names.slice(0, mostNames)]) {
    // the thread of the store has records to store
    await setImmediate();
    rows.push([name, await valuesOf(asking, query, { name, requests: all.sums.requests })]);
  }
  return rows;
}

async function valuesOf(asking: Asking, query: LogQuery, { name, requests }: { readonly name: string; readonly requests: number }): Promise<KeptValues> {
  if (await wereTooMany(asking, query, name)) return null;
  const groups = await groupsOf(asking, query, { by: name, bucketMs: null, most: mostValues + 1 });
  if (groups.length > mostValues) return null;
  if (isMeta(name) && groups.length > fewValues && groups.length > requests / 2) return false;
  return groups.map(({ value, sums }) => [value, keptOf(sums)]);
}

/** cost: what was too much for a part of a period is so for the whole of it, and is not read again. */
async function wereTooMany({ engine: { grammar }, found }: Asking, { from, to }: LogQuery, name: string): Promise<boolean> {
  const params = new Params(grammar);
  return (await found(`select 1 from gateway_rollup where dimension = ${params.add(name)} and starts_at >= ${params.add(from)} and starts_at < ${params.add(to)} and span_ms in (${spans.join(', ')}) and data = 'null' limit 1`, params)).length > 0;
}

/** As dimensions, the most used first. */
async function metadataNames({ engine: { grammar }, found }: Asking, query: LogQuery): Promise<string[]> {
  const params = new Params(grammar);
  const { where } = sourceOf(query, { params, grammar });
  const rows = await found(`select j.key as name from gateway_requests r, ${grammar.metadataKeys}${whereSql(where)} group by j.key order by count(*) desc limit ${mostNames + mostLeftOut + 1}`, params);
  return rows.map(({ name }) => `meta.${name as string}`);
}
