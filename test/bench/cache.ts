import { shippedPlugins } from '../../config/shipped-plugins.ts';
import { median, microseconds, ratioFigure } from './figures.ts';
import type { Figure, Subject } from './figures.ts';
import { startBenchGateway, startBenchProvider } from './gateway.ts';
import type { GatewayOptions } from './gateway.ts';
import { closeAll, compare, cpuOf, lineTo } from './load.ts';
import { callerKey, requestFor } from './workload.ts';

const connections = 16;
const requests = 2000;

/** The plugins, with a cache that has room for a few hundred answers, fewer than the requests of a round. */
const smallCache: readonly (string | object)[] = shippedPlugins.map((use) =>
  use === 'stream/cache' ? { use, with: { max_bytes: 1_048_576 } } : use,
);

const withKey = (cache: boolean): Pick<GatewayOptions, 'more'> => ({
  more: { keys: [{ name: 'bench', key: callerKey, metadata: { team: 'bench' }, cache }] },
});

export default {
  name: 'cache',
  about: 'CPU for a plain request where the cache is off, misses and hits; the floor is the gateway without the plugin',
  async measure() {
    const { url: upstream, stop } = await startBenchProvider();
    const without = shippedPlugins.filter((name) => name !== 'stream/cache');
    const options: readonly GatewayOptions[] = [
      { upstream, plugins: without },
      { upstream, ...withKey(false) },
      { upstream, plugins: smallCache, ...withKey(true) },
      { upstream, ...withKey(true) },
    ];
    const lines = await Promise.all(options.map(async (one) => lineTo(await startBenchGateway(one), connections)));
    const bodies = Array.from({ length: requests }, (_, seed) => requestFor('plain', { seed }));
    const costs = await compare(lines, { warmUp: 4000, rounds: 9, load: { connections, requests, bodies } });
    await closeAll(lines);
    await stop();
    const [floor = [], ...others] = costs.map(cpuOf);
    return ['off', 'misses', 'hits'].map((what, at): Figure => {
      const gateway = others[at] ?? [];
      const added = median(gateway.map((cost, round) => cost - (floor[round] as number)));
      return { ...ratioFigure(`${what}: ${microseconds(added)} more`, { gateway, floor, show: microseconds }) };
    });
  },
} satisfies Subject;
