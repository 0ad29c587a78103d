import { median, milliseconds, ratioFigure } from './figures.ts';
import type { Subject } from './figures.ts';
import { startBenchGateway, startBenchProvider, startFloor } from './gateway.ts';
import { ask, lineTo } from './load.ts';
import { cpuMsOf, residentMbOf, wait } from './processes.ts';
import type { Started } from './processes.ts';
import { requestFor } from './workload.ts';

const starts = 5;
const idleMs = 5000;

interface Begun {
  readonly ms: number;
  readonly cpuMs: number;
  readonly process: Started;
}

/** The time from the spawn to the first answer. */
async function begin(start: () => Promise<Started>): Promise<Begun> {
  const startedAt = performance.now();
  const process = await start();
  const line = lineTo(process, 1);
  await ask(line, requestFor('plain'));
  const ms = performance.now() - startedAt;
  const cpuMs = cpuMsOf(process.pid);
  await line.pool.close();
  return { ms, cpuMs, process };
}

const idleMb = (list: readonly Begun[]): number => median(list.map(({ process }) => residentMbOf(process.pid) ?? NaN));

export default {
  name: 'start',
  about: `from the spawn to the first answered request, and resident memory after ${idleMs / 1000} s of idling; median of ${starts} starts`,
  async measure() {
    const provider = await startBenchProvider();
    const floors: Begun[] = [];
    const gateways: Begun[] = [];
    for (let at = 0; at < starts; at++) {
      floors.push(await begin(() => startFloor(provider.url)));
      gateways.push(await begin(() => startBenchGateway({ upstream: provider.url })));
    }
    await wait(idleMs);
    const memory = { floor: idleMb(floors), gateway: idleMb(gateways) };
    for (const { process } of [...floors, ...gateways]) await process.stop();
    await provider.stop();
    const taken = { floor: median(floors.map(({ ms }) => ms)), gateway: median(gateways.map(({ ms }) => ms)) };
    return [
      {
        what: 'start to first answer',
        gateway: milliseconds(taken.gateway),
        floor: milliseconds(taken.floor),
        ratio: taken.gateway / taken.floor,
        target: '≤ 500 ms',
        isMet: taken.gateway <= 500,
      },
      ratioFigure('CPU until then', {
        gateway: gateways.map(({ cpuMs }) => cpuMs),
        floor: floors.map(({ cpuMs }) => cpuMs),
        show: milliseconds,
      }),
      {
        what: 'idle memory (RSS)',
        gateway: `${memory.gateway.toFixed(0)} MB`,
        floor: `${memory.floor.toFixed(0)} MB`,
        ratio: memory.gateway / memory.floor,
        target: '≤ 120 MB',
        isMet: memory.gateway <= 120,
      },
    ];
  },
} satisfies Subject;
