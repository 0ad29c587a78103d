import { ratioFigure, microseconds, perSecond } from './figures.ts';
import type { Figure, Subject } from './figures.ts';
import { kernelPlugins, startBenchGateway, startBenchProvider, startFloor } from './gateway.ts';
import { closeAll, compare, cpuOf, lineTo, rateOf, requestsToWarmUp, run } from './load.ts';
import type { Cost, Line } from './load.ts';
import { bytesIn, wait } from './processes.ts';
import { requestFor } from './workload.ts';

const connections = 32;
const rounds = 5;
const requests = 8000;
/** V8 collects garbage some 10 s after the last request, and then compiles again what it forgot. */
const pauseMs = 25_000;

export default {
  name: 'plain',
  about: `a request with a prompt of 600 characters and an answer in one body, at ${connections} connections, every shipped plugin on; CPU of all threads, until the records are in SQLite`,
  async measure() {
    const provider = await startBenchProvider();
    const everything = await startBenchGateway({ upstream: provider.url });
    const kernel = await startBenchGateway({ upstream: provider.url, plugins: kernelPlugins });
    const lines = [await startFloor(provider.url), everything, kernel].map((process) => lineTo(process, connections));
    const load = { connections, requests, bodies: [requestFor('plain')] };
    const [floor, gateway, bare] = (await compare(lines, { warmUp: requestsToWarmUp, rounds, load, drainsEachRound: true })) as [
      Cost[],
      Cost[],
      Cost[],
    ];
    await wait(pauseMs);
    const [floorLine, gatewayLine] = lines as [Line, Line, Line];
    const floorAfter = await run(floorLine, load);
    const gatewayAfter = await run(gatewayLine, load);
    await everything.drained?.();
    await closeAll(lines);
    const stored = bytesIn(everything.dataDir) / (requestsToWarmUp + (rounds + 1) * requests);
    await provider.stop();
    const compared = (name: string, costs: readonly Cost[], limits: { most?: number; least?: number }): Figure[] => [
      ratioFigure(`CPU per request, ${name}`, {
        gateway: cpuOf(costs),
        floor: cpuOf(floor),
        show: microseconds,
        ...(limits.most !== undefined && { most: limits.most }),
      }),
      ratioFigure(`requests per second, ${name}`, {
        gateway: rateOf(costs),
        floor: rateOf(floor),
        show: perSecond,
        ...(limits.least !== undefined && { least: limits.least }),
      }),
    ];
    return [
      ...compared('everything on', gateway, { most: 2, least: 0.5 }),
      ratioFigure(`requests per second, everything on, after ${pauseMs / 1000} s of quiet`, {
        gateway: [gatewayAfter.requestsPerSecond],
        floor: [floorAfter.requestsPerSecond],
        show: perSecond,
      }),
      ...compared('the kernel alone', bare, {}),
      { what: 'on disk per request, with bodies', gateway: `${(stored / 1000).toFixed(2)} kB`, target: '≤ 1.5 kB', isMet: stored <= 1500 },
    ];
  },
} satisfies Subject;
