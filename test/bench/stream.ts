import { ratioFigure, microseconds, perSecond } from './figures.ts';
import type { Figure, Subject } from './figures.ts';
import { startBenchGateway, startBenchProvider, startFloor } from './gateway.ts';
import { closeAll, compare, cpuOf, lineTo, rateOf } from './load.ts';
import type { Cost } from './load.ts';
import { chunksPerStream, requestFor } from './workload.ts';

const connections = 16;

const variants = [
  { model: 'single', label: 'a write per chunk', rounds: 11, most: 1.3 },
  { model: 'packed', label: 'ten chunks per write', rounds: 11, most: 1.3 },
];

export default {
  name: 'stream',
  about: `streams of ${chunksPerStream} chunks, 16 at a time; CPU of the whole request divided by its chunks`,
  async measure() {
    const provider = await startBenchProvider();
    const lines = [
      lineTo(await startFloor(provider.url), connections),
      lineTo(await startBenchGateway({ upstream: provider.url }), connections),
    ];
    const figures: Figure[] = [];
    for (const { model, label, rounds, most } of variants) {
      const load = { connections, requests: 80, bodies: [requestFor(model, { stream: true })] };
      const [floor, gateway] = (await compare(lines, { warmUp: 240, rounds, load })) as [Cost[], Cost[]];
      figures.push(
        ratioFigure(`CPU per chunk, ${label}`, {
          gateway: cpuOf(gateway),
          floor: cpuOf(floor),
          show: (ms) => microseconds(ms / chunksPerStream),
          most,
        }),
        ratioFigure(`chunks per second, ${label}`, {
          gateway: rateOf(gateway),
          floor: rateOf(floor),
          show: (rate) => perSecond(rate * chunksPerStream),
        }),
      );
    }
    await closeAll(lines);
    await provider.stop();
    return figures;
  },
} satisfies Subject;
