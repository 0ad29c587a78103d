import { ratioFigure, microseconds, perSecond } from './figures.ts';
import type { Subject } from './figures.ts';
import { startBenchGateway, startBenchProvider, startFloor } from './gateway.ts';
import { closeAll, compare, cpuOf, lineTo, rateOf } from './load.ts';
import type { Cost } from './load.ts';
import { requestFor } from './workload.ts';

const connections = 32;

export default {
  name: 'plain',
  about: 'a request of 1.5 kB and an answer in one body, at 32 connections',
  async measure() {
    const provider = await startBenchProvider();
    const lines = [lineTo(await startFloor(provider.url), connections), lineTo(await startBenchGateway({ upstream: provider.url }), connections)];
    const load = { connections, requests: 1000, bodies: [requestFor('plain')] };
    const [floor, gateway] = (await compare(lines, { warmUp: 4000, rounds: 15, load })) as [Cost[], Cost[]];
    await closeAll(lines);
    await provider.stop();
    return [
      ratioFigure('CPU per request', { gateway: cpuOf(gateway), floor: cpuOf(floor), show: microseconds, most: 2 }),
      ratioFigure('requests per second', { gateway: rateOf(gateway), floor: rateOf(floor), show: perSecond, least: 0.5 }),
    ];
  },
} satisfies Subject;
