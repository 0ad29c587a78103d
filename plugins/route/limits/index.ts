/**
 * Limits and budgets of callers, models and providers. What a request may take is reserved at `route`, after all other plugins have chosen the
 * candidates and before any provider is asked; what it really took is counted at `settle`. Spent dollars are read from the request log at start, so
 * that they outlive the process.
 */
import { definePlugin } from '../../../core/host/plugin.ts';
import { EARLY, LATE } from '../../../core/pipeline/hooks.ts';
import type { Candidate } from '../../../core/pipeline/context.ts';
import { Admission, name } from './admission.ts';
import { MemoryLedger } from './memory.ts';
import { Rules } from './rules.ts';
import { Sums } from './sums.ts';
import type { SumsParts } from './sums.ts';

/** How long the start waits for the sums of the log. */
const openMs = 1500;
/** When the sums are read again, for what other processes have spent that write the same log. */
const refreshMs = { first: 5000, later: 60_000 };
/** cost: reading the sums may take at most so much of the time of the log's thread. */
const mostShare = 0.01;

export default definePlugin({
  name,
  summary: 'limits and budgets by key, model, provider and metadata, from `limits` of the YAML',
  schema: { type: 'object', additionalProperties: false, properties: {} },
  apply({ hooks, config, state, clock, log, logger }) {
    const rules = new Rules(config);
    if (rules.isEmpty) return undefined;
    const kinds = rules.budgets(config);
    const parts: SumsParts = { log, logger, clock, readers: state('readers', () => new Set()) };
    const sums = new Sums(kinds, parts, clock());
    const ledger = state('ledger', () => new MemoryLedger(clock));
    const refusals = state('refusals', () => new Map<string, number>());
    const admission = new Admission({ rules, ledger, sums, clock });

    // LATE: the plugin that keeps the log has opened it by then
    hooks.boot.tapPromise({ stage: LATE }, async () => {
      if (kinds.length > 0 && log.reader() === null) logger.warn('there are budgets, and no plugin keeps a log: what was spent is forgotten when this process ends');
      await sums.open(openMs);
      ledger.spentBefore = (subject, per, start) => sums.spentBefore(subject, per, start);
      if (kinds.length > 0) refresher.start();
    });
    // after route/health, so that only what will be asked is counted
    hooks.route.tap({ stage: LATE + 1 }, (candidates, context) => admission.admit(candidates, context) as readonly Candidate[]);
    if (rules.hasTargets) {
      hooks.open.tap({ stage: EARLY }, (context) => admission.open(context) as undefined);
      hooks.attempted.tap((result, context) => admission.attempted(result, context, context));
    }
    hooks.explain.tap((explanation, context) => ({ ...explanation, limits: [...explanation.limits, ...admission.explain(context)] }));
    hooks.reply.tap((headers, context) => {
      const more = admission.headers(context);
      return more === null ? headers : { ...headers, ...more };
    });
    // LATE: the cost is known by then
    hooks.settle.tap({ stage: LATE }, (record, context) => {
      admission.settle(record, context);
      if (record.error?.plugin === name) refusals.set(record.error.code, (refusals.get(record.error.code) ?? 0) + 1);
      return record;
    });

    const refresher = new Refresher(async () => {
      await sums.refresh();
      for (const { kind, start, value, pico } of sums.known()) {
        const subject = rules.of(kind.by, value);
        if (subject !== null) ledger.atLeast(subject, { per: kind.per, start, pico });
      }
    });
    return () => {
      refresher.stop();
      sums.close();
    };
  },
});

/** Does something again and again, as long as it takes only a small share of the time. */
class Refresher {
  readonly #work: () => Promise<void>;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(work: () => Promise<void>) {
    this.#work = work;
  }

  start(): void {
    this.#later(refreshMs.first);
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  #later(ms: number): void {
    if (this.#isStopped) return;
    this.#timer = setTimeout(() => void this.#run(), ms);
    this.#timer.unref();
  }

  async #run(): Promise<void> {
    const startedAt = performance.now();
    // the log reports its own failures, and the next time it may answer
    await this.#work().catch(() => {});
    this.#later(Math.max(refreshMs.later, (performance.now() - startedAt) / mostShare));
  }
}
