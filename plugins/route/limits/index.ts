/**
 * Limits and budgets of callers, models and providers. The most that a request may use is reserved at `route`,
 * after all other plugins have chosen the candidates and before any provider is asked; its real usage is
 * counted at `settle`. Spent dollars are read from the request log at start, so that they outlive the process.
 */
import { definePlugin } from '../../../core/host/plugin.ts';
import type { LogReader } from '../../../core/log/store.ts';
import { EARLY, LATE } from '../../../core/pipeline/hooks.ts';
import { Admission } from './admission.ts';
import { limitCommands } from './commands.ts';
import { createCounting } from './counting.ts';
import { MemoryLedger } from './counts/memory.ts';
import { ParentCounts } from './counts/parent.ts';
import { name } from './refusal.ts';
import { Rules } from './rules.ts';
import { addLimitRoutes, limitMetrics } from './shown.ts';
import { followSpending, keepReader } from './spending.ts';
import { Sums } from './sums.ts';

export default definePlugin({
  name,
  summary: 'limits and budgets by key, model, provider and metadata, from `limits` of the YAML',
  commands: limitCommands,
  atParent: ({ state }) => state('counts', () => new ParentCounts(new MemoryLedger(Date.now))),
  apply(gateway) {
    const { hooks, config, keys, state, clock, log, logger, peers } = gateway;
    const rules = new Rules(config, keys.all());
    const readers = state('readers', () => new Set<LogReader>());
    const leave = keepReader(gateway, readers);
    const sums = new Sums(rules.budgets(), { log, logger, clock, readers }, clock());
    const { ledger, begin } = createCounting(gateway, sums);
    const spending = followSpending(gateway, { rules, sums, ledger, begin });
    keys.onChange((names) => {
      rules.limitKeys(names.map((one) => ({ name: one, limits: keys.get(one)?.limits ?? null })));
      spending.budgetsChanged(names);
    });
    const refusals = state('refusals', () => new Map<string, number>());
    const shown = { rules, ledger, keys, clock, sums, refusals, peers };
    addLimitRoutes(gateway.routes, shown);
    gateway.metrics.add(() => limitMetrics(shown));

    const admission = new Admission({ rules, ledger, sums, clock });
    const dryRuns = new WeakSet<object>();
    // after route/health, so that only candidates that will be asked are counted
    hooks.route.tap({ stage: LATE + 1 }, (candidates, context) => {
      if (context.isDryRun) dryRuns.add(context);
      return rules.isEmpty ? candidates : admission.admit(candidates, context);
    });
    if (rules.hasTargets) {
      // what a request needs of the limits of a model and a provider is reserved when the provider is asked
      hooks.open.tap({ stage: EARLY }, (context) => admission.open(context));
      hooks.attempted.tap((result, context) => admission.attempted(result, context));
    }
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

    return () => {
      spending.close();
      leave();
    };
  },
});
