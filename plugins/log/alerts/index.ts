/**
 * Tells the operator about problems, by `alerts` of the YAML: on the dashboard, in the
 * process log, and at a webhook. Its counts are in memory, and begin at 0 with the process.
 */
import { definePlugin } from '../../../core/host/plugin.ts';
import { LATE } from '../../../core/pipeline/hooks.ts';
import { json, protective } from '../../../core/pipeline/answer.ts';
import type { Peers } from '../../../core/workers/peers.ts';
import { Collector } from './collector.ts';
import type { Addition } from './sums.ts';
import { everyMs, Watch } from './watch.ts';
import type { ShownAlerts } from './watch.ts';

/** safety: a busy parent handles a message later. A worker that stopped waiting before that would send the same counts again. */
const patienceMs = 86_400_000;

const nothing = { webhook: null, rules: [] };

export default definePlugin({
  name: 'log/alerts',
  summary: 'tells of errors, latency, cost and dead providers, by `alerts` of the YAML',
  apply({ hooks, routes, config, state, clock, logger, peers }) {
    const rules = (config.alerts ?? nothing).rules;
    const collector = state('collector', () => new Collector());
    // after all other plugins have booted: a config that is refused changes nothing for the running gateway
    hooks.boot.tap({ stage: LATE }, () => collector.follow(rules));
    if (rules.length > 0) {
      hooks.log.tap((record) => collector.ended(record));
      hooks.attempted.tap((result) => collector.attempted(result));
    }
    const shown = peers === null ? alone() : behindParent(peers);
    routes.add({
      method: 'GET',
      path: '/api/alerts',
      auth: 'admin',
      about: { summary: 'The active alerts, the oldest first', answer: { 'application/json': 'ShownAlerts' } },
      handle: async () => json(await shown(), { headers: protective }),
    });

    function alone(): () => ShownAlerts {
      const watch = state('watch', () => new Watch());
      const learn = (): void => watch.add(collector.take());
      hooks.boot.tap({ stage: LATE }, () => {
        watch.follow(config.alerts ?? nothing, { logger, clock, providers: config.providers });
        watch.begin(learn);
      });
      return () => {
        learn();
        watch.look();
        return watch.shown();
      };
    }

    /** Runs where a worker counts only a part: the parent has the sums of all workers. */
    function behindParent(parent: Pick<Peers, 'atParent'>): () => Promise<ShownAlerts> {
      const timer = setInterval(() => {
        const additions = collector.take();
        if (additions.length === 0) return;
        parent.atParent(additions, patienceMs).catch((error: unknown) => {
          collector.putBack(additions);
          logger.warn('the parent did not receive the counts for the alerts; they are sent again', { error });
        });
      }, everyMs).unref();
      hooks.close.tap(() => clearInterval(timer));
      return async () => (await parent.atParent(null)) as ShownAlerts;
    }
  },
  atParent({ config, state, logger }) {
    const watch = state('watch', () => new Watch());
    watch.follow(config.alerts ?? nothing, { logger, clock: Date.now, providers: config.providers });
    watch.begin();
    return {
      answer(additions) {
        if (additions === null) {
          watch.look();
          return watch.shown();
        }
        watch.add(additions as readonly Addition[]);
        return null;
      },
    };
  },
});
