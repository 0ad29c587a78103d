/** The limits as operators see them: `GET /api/limits`, `gateway limits`, the metrics and the dashboard. */
import { setImmediate } from 'node:timers/promises';
import type { CallerKeys } from '../../../core/api-key.ts';
import { GatewayError } from '../../../core/errors.ts';
import type { Metric } from '../../../core/host/metric-sources.ts';
import { nameAsWritten } from '../../../core/log/filters.ts';
import { didYouMean } from '../../../core/names.ts';
import { json, protective } from '../../../core/pipeline/answer.ts';
import type { Routes } from '../../../core/http/routes.ts';
import type { Peers } from '../../../core/workers/peers.ts';
import { explainedLimits } from './explained.ts';
import type { ExplainedLimit } from './explained.ts';
import { periodOf } from './ledger.ts';
import type { Ledger, Subject } from './ledger.ts';
import type { Rules } from './rules.ts';
import type { Sums } from './sums.ts';

interface ShownParts {
  readonly rules: Rules;
  readonly ledger: Ledger;
  readonly keys: CallerKeys;
  readonly clock: () => number;
  readonly sums: Sums;
  /** The refusals of this process, by the code of the error. */
  readonly refusals: ReadonlyMap<string, number>;
  readonly peers: Peers | null;
}

/** One limit of one value. */
export interface ShownLimit extends ExplainedLimit {
  /** The used share of the limit, from 0 to 1; null: not known. */
  readonly share: number | null;
  /** ISO time at which a budget begins again; null: the limit is not a budget, or never begins again. */
  readonly beginsAnewAt: string | null;
}

export interface ShownLimits {
  /** At most 1,000. */
  readonly data: readonly ShownLimit[];
  /** How many limits there are. */
  readonly total: number;
  /** Requests that were refused because of a limit, by the code of the error. */
  readonly refusals: Readonly<Record<string, number>>;
}

/** safety: callers can make up any number of metadata values. */
const mostShown = 1000;
/** safety: each value is a time series in Prometheus. */
const mostSeries = 100;
/** cost: this many values take a millisecond or two, and there may be hundreds of thousands. Requests are served in between. */
const sliceOf = 200;

/** `GET /api/limits`: the limits of the values that were counted lately or have spent something, the fullest first. */
export function addLimitRoutes(routes: Routes, parts: ShownParts): void {
  parts.peers?.answer('refusals', () => [...parts.refusals]);
  routes.add({
    method: 'GET',
    path: '/api/limits',
    auth: 'admin',
    about: {
      summary: 'The limits and budgets that are in use, the fullest first',
      query: { by: 'all, key, model, provider or meta.<name>: only those.' },
      answer: { 'application/json': 'ShownLimits' },
    },
    async handle({ query }) {
      return json({ ...(await shownLimits(parts, askedBy(query))), refusals: await allRefusals(parts) } satisfies ShownLimits, {
        headers: protective,
      });
    },
  });
}

const counted = ['all', 'key', 'model', 'provider'];

/** The `by` of the limits that are asked for; null: all. Throws for a value that no limit can have. Metadata has lower-case names. */
function askedBy(query: URLSearchParams): string | null {
  const [by = null, ...others] = query.getAll('by');
  if (others.length > 0) throw new GatewayError('invalid_value', '"by" can be given once.', { param: 'by' });
  if (by === null) return null;
  if (counted.includes(by) || /^meta\../s.test(by)) return nameAsWritten(by);
  throw new GatewayError(
    'invalid_value',
    `No limit counts by "${by.slice(0, 100)}".${didYouMean(by, counted)} There are ${counted.join(', ')} and meta.<name>.`,
    { param: 'by' },
  );
}

/** The refusals of all workers. */
async function allRefusals({ refusals, peers }: ShownParts): Promise<ShownLimits['refusals']> {
  const all = new Map(refusals);
  for (const others of ((await peers?.ask('refusals', null)) ?? []) as [string, number][][]) {
    for (const [code, count] of others) all.set(code, (all.get(code) ?? 0) + count);
  }
  return Object.fromEntries(all);
}

/** @param only the `by` of the limits; null: all */
async function shownLimits(parts: ShownParts, only: string | null = null): Promise<Pick<ShownLimits, 'data' | 'total'>> {
  const { ledger, clock } = parts;
  const values = (await valuesOf(parts)).filter(({ by }) => only === null || by === only);
  const now = clock();
  let [data, total]: [ShownLimit[], number] = [[], 0];
  for (let at = 0; at < values.length; at += sliceOf) {
    const subjects = values.slice(at, at + sliceOf).flatMap(({ by, value }) => parts.rules.of(by, value) ?? []);
    const limits = explainedLimits(subjects, await ledger.levels(subjects)).map((limit): ShownLimit => ({
      ...limit,
      share: shareOf(limit),
      beginsAnewAt: limit.per === null ? null : endOf(limit.per, now),
    }));
    total += limits.length;
    data = [...data, ...limits].sort((one, other) => (other.share ?? 0) - (one.share ?? 0)).slice(0, mostShown);
    await setImmediate();
  }
  return { data, total };
}

/** The values that may have limits, each once. After a reload, a value may have other limits, or none. */
async function valuesOf({ rules, ledger, keys, sums }: ShownParts): Promise<readonly Pick<Subject, 'by' | 'value'>[]> {
  const known = await ledger.known();
  const spent = Array.from(sums.known(), ({ kind: { by }, value }) => ({ by, value })).slice(0, mostShown);
  return [...new Map([...rules.named(keys.all()), ...known, ...spent].map((one) => [`${one.by} ${one.value}`, one])).values()];
}

function shareOf({ allowed, used, held }: ExplainedLimit): number | null {
  if (used === null) return null;
  const taken = Number(used) + Number(held ?? 0);
  return Number(allowed) === 0 ? 1 : Math.min(1, taken / Number(allowed));
}

function endOf(per: NonNullable<ExplainedLimit['per']>, now: number): string | null {
  const { end } = periodOf(per, now);
  return end === Infinity ? null : new Date(end).toISOString();
}

/** The limits nearest to their end, and how often callers were refused. */
export async function limitMetrics(parts: ShownParts): Promise<Metric[]> {
  const fullest = (await shownLimits(parts)).data.filter(({ share }) => share !== null).slice(0, mostSeries);
  const samples = (read: (limit: ShownLimit) => number): Metric['samples'] =>
    fullest.map(
      (one) => [{ by: one.by, value: one.value, limit: one.limit, ...(one.per !== null && { per: one.per }) }, read(one)] as const,
    );
  return [
    {
      type: 'gauge',
      across: 'largest',
      name: 'gateway_limit_used',
      help: 'How much of a limit is used: requests or tokens of the last minute, requests that run, dollars of a budget. The 100 fullest.',
      samples: samples(({ used }) => Number(used)),
    },
    {
      type: 'gauge',
      across: 'largest',
      name: 'gateway_limit_allowed',
      help: 'The size of each limit that gateway_limit_used shows.',
      samples: samples(({ allowed }) => Number(allowed)),
    },
    {
      type: 'counter',
      name: 'gateway_limit_refusals_total',
      help: 'Requests that were refused because of a limit or a budget, by the code of the error.',
      samples: Array.from(parts.refusals, ([code, count]) => [{ code }, count] as const),
    },
  ];
}
