/** Counts requests and attempts for the rules while a request runs. It only adds numbers. */
import { isFault } from '../../../core/log/attempts.ts';
import { isError, isOfCaller } from '../../../core/log/outcome.ts';
import type { AlertRule } from '../../../core/limits.ts';
import { patternOf } from '../../../core/names.ts';
import type { AttemptResult, RequestRecord } from '../../../core/pipeline/context.ts';
import { addTo, idOf, noRequests } from './sums.ts';
import type { Addition, Sum } from './sums.ts';

interface Counted {
  readonly rule: AlertRule;
  readonly id: string;
  readonly pattern: RegExp | null;
  readonly sums: Map<string, Sum>;
}

/** Statuses by which a provider says that the request is at fault, and not the provider. */
const ofTheRequest = new Set([400, 404, 405, 406, 409, 410, 413, 414, 415, 422]);

export class Collector {
  #requests: readonly Counted[] = [];
  #attempts: readonly Counted[] = [];

  /** From now on these rules count. What was counted for a rule that stays is kept. */
  follow(rules: readonly AlertRule[]): void {
    const before = this.#byId();
    // a rule that is written twice is one rule, so its sums are counted once
    const different = new Map(rules.map((rule) => [idOf(rule), rule]));
    const counted = Array.from(different, ([id, rule]) => before.get(id) ?? begun(id, rule));
    this.#requests = counted.filter(({ rule }) => rule.watches !== 'provider');
    this.#attempts = counted.filter(({ rule }) => rule.watches === 'provider');
  }

  #byId(): ReadonlyMap<string, Counted> {
    return new Map([...this.#requests, ...this.#attempts].map((counted) => [counted.id, counted]));
  }

  /** Counts a request that is over. A sampled record of refused strangers does not count. */
  ended(record: RequestRecord): void {
    if (record.standsFor !== undefined) return;
    const isCallers = isOfCaller(record);
    for (const counted of this.#requests) {
      const isOfErrors = counted.rule.watches === 'errors';
      if (isOfErrors && isCallers && record.outcome === 'refused') continue;
      const value = valueOf(record, counted.rule.by);
      const isBad = isOfErrors ? isError(record) && !isCallers : counted.rule.slowMs !== null && record.durationMs > counted.rule.slowMs;
      if (value !== null) count(counted, value, { requests: 1, bad: Number(isBad), dollars: Number(record.cost ?? 0) });
    }
  }

  attempted(result: AttemptResult): void {
    if (this.#attempts.length === 0) return;
    const isBad = isFault(result);
    if (isBad ? ofTheRequest.has(result.status ?? 0) : result.outcome !== 'answered') return;
    for (const counted of this.#attempts) count(counted, result.provider, { requests: 1, bad: Number(isBad), dollars: 0 });
  }

  /** The counts since the last call. */
  take(): Addition[] {
    const all: Addition[] = [];
    for (const { id, sums } of [...this.#requests, ...this.#attempts]) {
      for (const [value, sum] of sums) all.push([id, value, sum]);
      sums.clear();
    }
    return all;
  }

  /** Puts back counts that could not be delivered: the next call of `take` returns them. */
  putBack(additions: readonly Addition[]): void {
    const known = this.#byId();
    for (const [id, value, more] of additions) {
      const counted = known.get(id);
      if (counted !== undefined) add(counted, value, more);
    }
  }
}

const begun = (id: string, rule: AlertRule): Counted => ({
  id,
  rule,
  pattern: rule.match === null ? null : patternOf(rule.match),
  sums: new Map(),
});

function count(counted: Counted, value: string, one: Sum): void {
  if (counted.pattern?.test(value) !== false) add(counted, value, one);
}

function add({ sums }: Counted, value: string, more: Sum): void {
  let sum = sums.get(value);
  if (sum === undefined) sums.set(value, (sum = noRequests()));
  addTo(sum, more);
}

/** The value that the rule is by, such as the model. Null: the request has no such value, and the rule does not count it. */
function valueOf({ key, model, provider, metadata }: RequestRecord, by: string): string | null {
  if (by === 'all') return '';
  if (by === 'key') return key;
  if (by === 'model') return model;
  if (by === 'provider') return provider;
  return metadata[by.slice('meta.'.length)] ?? null;
}
