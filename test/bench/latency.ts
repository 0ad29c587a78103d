import { median, milliseconds, percentile } from './figures.ts';
import type { Subject } from './figures.ts';
import { startBenchGateway, startBenchProvider, startFloor } from './gateway.ts';
import { ask, closeAll, lineTo, requestsToWarmUp, run } from './load.ts';
import type { Line } from './load.ts';
import type { Started } from './processes.ts';
import { requestFor } from './workload.ts';

const body = requestFor('plain');

async function times(line: Line, requests: number): Promise<number[]> {
  const list: number[] = [];
  for (let at = 0; at < requests; at++) {
    const startedAt = performance.now();
    await ask(line, body);
    list.push(performance.now() - startedAt);
  }
  return list;
}

async function warmUp(process: Started): Promise<void> {
  const line = lineTo(process, 32);
  await run(line, { connections: 32, requests: requestsToWarmUp, bodies: [body] });
  await process.drained?.();
  await line.pool.close();
}

export default {
  name: 'latency',
  about: 'time added to a plain request at one connection: through it, less directly to the provider',
  async measure() {
    const provider = await startBenchProvider();
    const lines = [
      lineTo(provider, 1),
      lineTo(await startFloor(provider.url), 1),
      lineTo(await startBenchGateway({ upstream: provider.url }), 1),
    ];
    for (const { process } of lines) await warmUp(process);
    const taken = lines.map((): number[] => []);
    for (let round = 0; round < 10; round++) for (const [at, line] of lines.entries()) taken[at]?.push(...(await times(line, 300)));
    await closeAll(lines.toReversed());
    const [direct, floor, gateway] = taken as [number[], number[], number[]];
    const added = (list: readonly number[], share: number): number => percentile(list, share) - percentile(direct, share);
    return [
      { what: 'directly to the provider, p50', gateway: '', floor: milliseconds(median(direct)) },
      {
        what: 'added, p50',
        gateway: milliseconds(added(gateway, 0.5)),
        floor: milliseconds(added(floor, 0.5)),
        ratio: added(gateway, 0.5) / added(floor, 0.5),
        target: '< 0.3 ms',
        isMet: added(gateway, 0.5) < 0.3,
      },
      { what: 'added beyond what the floor adds, p50', gateway: milliseconds(added(gateway, 0.5) - added(floor, 0.5)) },
      { what: 'added, p99', gateway: milliseconds(added(gateway, 0.99)), floor: milliseconds(added(floor, 0.99)) },
    ];
  },
} satisfies Subject;
