/**
 * Limits and budgets of callers, models and providers. The most that a request may use is reserved at `route`,
 * after all other plugins have chosen the candidates and before any provider is asked; its real usage is
 * counted at `settle`. Spent dollars are read from the request log at start, so that they outlive the process.
 */
import { definePlugin } from '../../../core/host/plugin.ts';
import type { Gateway } from '../../../core/host/plugin.ts';
import { EARLY, LATE } from '../../../core/pipeline/hooks.ts';
import type { LogReader } from '../../../core/log/store.ts';
import { Admission } from './admission.ts';
import { limitCommands } from './commands.ts';
import { createCounting } from './counting.ts';
import type { Spent } from './ledger.ts';
import { MemoryLedger } from './counts/memory.ts';
import { ParentCounts } from './counts/parent.ts';
import { Refresher } from './refresher.ts';
import { name } from './refusal.ts';
import { Rules } from './rules.ts';
import { addLimitRoutes, limitMetrics } from './shown.ts';
import { Sums } from './sums.ts';
import type { Kind } from './sums.ts';

/** How long the start waits for the sums of the log. */
const openMs = 1500;

export default definePlugin({
  name,
  summary: 'limits and budgets by key, model, provider and metadata, from `limits` of the YAML',
  schema: { type: 'object', additionalProperties: false, properties: {} },
  commands: limitCommands,
  atParent: ({ state }) => state('counts', () => new ParentCounts(new MemoryLedger(Date.now))),
  apply(gateway) {
    const { hooks, config, keys, state, clock, log, logger, peers } = gateway;
    const rules = new Rules(config, keys.all());
    const readers = state('readers', () => new Set<LogReader>());
    const leave = keepReader(gateway, readers);
    const dryRuns = new WeakSet<object>();
    const refusals = state('refusals', () => new Map<string, number>());
    const sums = new Sums(rules.budgets(), { log, logger, clock, readers }, clock());
    const { ledger, begin } = createCounting(gateway, sums);
    const shown = { rules, ledger, keys, clock, sums, refusals, peers };
    addLimitRoutes(gateway.routes, shown);
    gateway.metrics.add(() => limitMetrics(shown));
    const admission = new Admission({ rules, ledger, sums, clock });

    // LATE: the plugin that keeps the log has opened it by then
    hooks.boot.tapPromise({ stage: LATE }, async () => {
      await sums.open(openMs);
      for (const warning of await warningsOf(rules.budgets(), log.reader())) logger.warn(warning);
      begin(() => void refresher.now());
      // while a reload had removed a budget, its spending was not counted
      ledger.atLeast(spentIn(sums, rules));
      refresher.start();
    });
    // after route/health, so that only candidates that will be asked are counted
    hooks.route.tap({ stage: LATE + 1 }, (candidates, context) => {
      if (context.isDryRun) dryRuns.add(context);
      return rules.isEmpty ? candidates : admission.admit(candidates, context);
    });
    if (rules.hasTargets) limitTargets(gateway, admission);
    hooks.explain.tap((explanation, context) => ({ ...explanation, limits: [...explanation.limits, ...admission.explain(context)] }));
    hooks.reply.tap((headers, context) => {
      const more = admission.headers(context);
      return more === null ? headers : { ...headers, ...more };
    });
    // LATE: the cost is known by then
    hooks.settle.tap({ stage: LATE }, (record, context) => {
      admission.settle(record, context);
      if (record.error?.plugin === name && !dryRuns.has(context)) {
        refusals.set(record.error.code, (refusals.get(record.error.code) ?? 0) + 1);
      }
      return record;
    });

    keys.onChange((names) => {
      rules.limitKeys(names.map((one) => ({ name: one, limits: keys.get(one)?.limits ?? null })));
      sums.watch(rules.budgets(), names);
      // while a key had no budget, its spending was not counted
      void refresher.now();
    });
    const refresher = new Refresher(
      async () => {
        if (!rules.hasBudgets) return;
        await sums.refresh();
        ledger.atLeast(spentIn(sums, rules));
      },
      () => isReader(peers),
    );
    peers?.answer('number', () => peers.number);
    return () => {
      refresher.stop();
      sums.close();
      leave();
    };
  },
});

/** Reserves the part of a model and a provider when they are asked. */
function limitTargets({ hooks }: Pick<Gateway, 'hooks'>, admission: Admission): void {
  hooks.open.tap({ stage: EARLY }, (context) => admission.open(context));
  hooks.attempted.tap((result, context) => admission.attempted(result, context));
}

/** The sums of the log for values that have limits. */
const spentIn = (sums: Sums, rules: Rules): Spent[] =>
  Array.from(sums.known()).flatMap(({ kind: { by, per }, start, value, pico }) => {
    const subject = rules.of(by, value);
    return subject === null ? [] : [{ subject, per, start, pico }];
  });

/** Whether this worker reads for all workers: it does if no other running worker has a lower number. */
const isReader = async (peers: Gateway['peers']): Promise<boolean> =>
  peers === null || (await peers.ask('number', null)).every((other) => (other as number) > peers.number);

const longestDays = { day: 1, week: 7, month: 31, total: Infinity };

/** Warnings about budgets whose period is longer than the log keeps records. */
async function warningsOf(kinds: readonly Kind[], reader: LogReader | null): Promise<string[]> {
  if (kinds.length === 0) return [];
  if (reader === null) return ['there are budgets, and no plugin keeps a log: what was spent is forgotten when this process ends'];
  const { retentionDays } = await reader.status();
  const tooLong = new Set(kinds.filter(({ per }) => retentionDays > 0 && longestDays[per] > retentionDays).map(({ per }) => per));
  return Array.from(
    tooLong,
    (per) =>
      `the log keeps ${retentionDays} days, so a budget with per: ${per} forgets older spending when the process starts again; retention_days: 0 of the log keeps everything`,
  );
}

/**
 * Keeps the reader of the log, because the next config may have limits and then needs the records of this gateway. Returns the teardown.
 */
function keepReader({ hooks, log }: Pick<Gateway, 'hooks' | 'log'>, readers: Set<LogReader>): () => void {
  hooks.boot.tap({ stage: LATE }, () => {
    const reader = log.reader();
    if (reader !== null) readers.add(reader);
  });
  return () => {
    const reader = log.reader();
    if (reader !== null) readers.delete(reader);
  };
}
