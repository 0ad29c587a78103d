import { closeAll, compare, cpuOf, lineTo } from './load.ts';
import type { Cost } from './load.ts';
import { microseconds, ratioFigure } from './figures.ts';
import type { Figure, Subject } from './figures.ts';
import { startBenchGateway, startBenchProvider, startFloor } from './gateway.ts';
import { chunksPerStream, doorRequestFor, doors, requestFor } from './workload.ts';

const connections = 16;

const variants = [
  { model: 'single', label: 'a write per chunk' },
  { model: 'packed', label: 'ten chunks per write' },
];

export default {
  name: 'doors',
  about: `streams of ${chunksPerStream} chunks through each door, 16 at a time; CPU of the whole request divided by its chunks. The floor and the provider speak chat completions`,
  async measure() {
    const provider = await startBenchProvider();
    const floor = lineTo(await startFloor(provider.url), connections);
    const lines = [floor];
    // a gateway for each door, so that each door has the cost of its own records
    for (const _ of doors) lines.push(lineTo(await startBenchGateway({ upstream: provider.url }), connections));
    const figures: Figure[] = [];
    for (const { model, label } of variants) {
      const common = { connections, requests: 80 };
      const load = [
        { ...common, bodies: [requestFor(model, { stream: true })] },
        ...doors.map((door) => ({ ...common, path: door.path, bodies: [doorRequestFor(door, model)] })),
      ];
      const [least, ...costs] = (await compare(lines, { warmUp: 240, rounds: 9, load })) as [Cost[], ...Cost[][]];
      for (const [at, { path }] of doors.entries()) {
        figures.push(
          ratioFigure(`${path}, ${label}`, {
            gateway: cpuOf(costs[at] as Cost[]),
            floor: cpuOf(least),
            show: (ms) => microseconds(ms / chunksPerStream),
            most: 1.3,
          }),
        );
      }
    }
    await closeAll(lines);
    await provider.stop();
    return figures;
  },
} satisfies Subject;
