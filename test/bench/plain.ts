import { ratioFigure, microseconds, perSecond } from './figures.ts';
import type { Figure, Subject } from './figures.ts';
import { kernelPlugins, startBenchGateway, startBenchProvider, startFloor } from './gateway.ts';
import { closeAll, compare, cpuOf, lineTo, rateOf } from './load.ts';
import type { Cost } from './load.ts';
import { bytesIn } from './processes.ts';
import { requestFor } from './workload.ts';

const connections = 32;
const rounds = 5;
/** V8 compiles until some 30,000 requests are served. */
const warmUp = 40_000;
/** A round takes some seconds. The work after a round (storing records, garbage collection of an idle heap) slows down the other lines, and was a quarter of the figure with rounds of 0.6 s. */
const requests = 8000;

export default {
  name: 'plain',
  about: `a request with a prompt of 600 characters and an answer in one body, at ${connections} connections, every shipped plugin on; CPU of all threads, until the records are in SQLite`,
  async measure() {
    const provider = await startBenchProvider();
    const everything = await startBenchGateway({ upstream: provider.url });
    const kernel = await startBenchGateway({ upstream: provider.url, plugins: kernelPlugins });
    const lines = [await startFloor(provider.url), everything, kernel].map((process) => lineTo(process, connections));
    const load = { connections, requests, bodies: [requestFor('plain')] };
    const [floor, gateway, bare] = (await compare(lines, { warmUp, rounds, load })) as [Cost[], Cost[], Cost[]];
    await closeAll(lines);
    const stored = bytesIn(everything.dataDir) / (warmUp + rounds * requests);
    await provider.stop();
    const compared = (name: string, costs: readonly Cost[], limits: { most?: number; least?: number }): Figure[] => [
      ratioFigure(`CPU per request, ${name}`, { gateway: cpuOf(costs), floor: cpuOf(floor), show: microseconds, ...(limits.most !== undefined && { most: limits.most }) }),
      ratioFigure(`requests per second, ${name}`, { gateway: rateOf(costs), floor: rateOf(floor), show: perSecond, ...(limits.least !== undefined && { least: limits.least }) }),
    ];
    return [
      ...compared('everything on', gateway, { most: 2, least: 0.5 }),
      ...compared('the kernel alone', bare, {}),
      { what: 'on disk per request, with bodies', gateway: `${(stored / 1000).toFixed(2)} kB`, target: '≤ 1.5 kB', isMet: stored <= 1500 },
    ];
  },
} satisfies Subject;
