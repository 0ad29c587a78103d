/** The cost of the record of a request: the gateway with `log/journal` beside one without it. */
import { shippedPlugins } from '../../config/shipped-plugins.ts';
import { microseconds, perSecond, ratioFigure } from './figures.ts';
import type { Subject } from './figures.ts';
import { startBenchGateway, startBenchProvider } from './gateway.ts';
import { closeAll, compare, cpuOf, lineTo, rateOf } from './load.ts';
import type { Cost } from './load.ts';
import { requestFor } from './workload.ts';

const connections = 32;

export default {
  name: 'journal',
  about:
    'a request of 1.5 kB at 32 connections, with its record and bodies in SQLite; the floor is the gateway without log/journal. CPU of the whole process, the thread of the store included',
  async measure() {
    const provider = await startBenchProvider();
    const without = shippedPlugins.filter((plugin) => plugin !== 'log/journal');
    const lines = [
      lineTo(await startBenchGateway({ upstream: provider.url, plugins: without }), connections),
      lineTo(await startBenchGateway({ upstream: provider.url, plugins: [...without, 'log/journal'] }), connections),
    ];
    const load = { connections, requests: 1000, bodies: [requestFor('plain')] };
    const [floor, gateway] = (await compare(lines, { warmUp: 4000, rounds: 9, load })) as [Cost[], Cost[]];
    await closeAll(lines);
    await provider.stop();
    return [
      ratioFigure('CPU per request', { gateway: cpuOf(gateway), floor: cpuOf(floor), show: microseconds, most: 1.25 }),
      ratioFigure('requests per second', { gateway: rateOf(gateway), floor: rateOf(floor), show: perSecond, least: 0.8 }),
    ];
  },
} satisfies Subject;
