import type { Metric } from '../../../core/host/metric-sources.ts';
import type { Reach } from './routes.ts';
import type { Targets } from './targets.ts';

/** safety: each target is a time series in Prometheus. */
const mostTargets = 1000;

/**
 * The metrics of the targets that were asked: whether each is available, how often it rested, and how often it was tried after a rest.
 * A target that a reload removed is left out: no request would try it after its rest, so it would be shown as resting for ever.
 */
export function metricsOf(targets: Targets, { has }: Reach): Metric[] {
  const known = Array.from(targets.known())
    .filter(([target]) => has(target))
    .slice(0, mostTargets);
  return [
    {
      type: 'gauge',
      across: 'least',
      name: 'gateway_target_standing',
      help: 'Whether requests are sent to a target (provider, key and model); 0 while it rests. Targets that were asked, the first 1,000.',
      samples: known.map(([target, , isStanding]) => [{ target }, Number(isStanding)]),
    },
    {
      type: 'counter',
      name: 'gateway_target_rests_total',
      help: 'How often a target was put to rest, by the reason.',
      samples: known.flatMap(([target, { rests }]) =>
        Object.entries(rests).flatMap(([reason, times]) => (times === 0 ? [] : [[{ target, reason }, times] as const])),
      ),
    },
    {
      type: 'counter',
      name: 'gateway_target_probes_total',
      help: 'Requests that tried a target after a rest.',
      samples: known.flatMap(([target, { probes }]) => (probes === 0 ? [] : [[{ target }, probes] as const])),
    },
  ];
}
