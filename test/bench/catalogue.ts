import { microseconds, milliseconds, ratioFigure } from './figures.ts';
import type { Figure, Subject } from './figures.ts';
import { catalogueOf, startBenchGateway, startBenchProvider } from './gateway.ts';
import { closeAll, compare, lineTo, median } from './load.ts';
import type { Cost, Line } from './load.ts';
import { requestFor } from './workload.ts';

const connections = 16;
const many = 2000;
const few = 10;

async function listing({ pool }: Line): Promise<{ ms: number; bytes: number }> {
  const startedAt = performance.now();
  const { body } = await pool.request({ method: 'GET', path: '/v1/models' });
  const bytes = (await body.arrayBuffer()).byteLength;
  return { ms: performance.now() - startedAt, bytes };
}

async function listings(line: Line): Promise<Figure[]> {
  const first = await listing(line);
  const rest: number[] = [];
  for (let at = 0; at < 25; at++) rest.push((await listing(line)).ms);
  const size = `${(first.bytes / 1e6).toFixed(1)} MB`;
  return [
    { what: `GET /v1/models, ${size}, the first`, gateway: milliseconds(first.ms) },
    { what: `GET /v1/models, ${size}, later ones`, gateway: milliseconds(median(rest)), target: '< 20 ms', isMet: median(rest) < 20 },
  ];
}

export default {
  name: 'catalogue',
  about: `${many} models with five mappings each; the floor here is the gateway with ${few}`,
  async measure() {
    const provider = await startBenchProvider();
    const small = lineTo(await startBenchGateway({ upstream: provider.url, catalogue: catalogueOf(few) }), connections);
    const startedAt = performance.now();
    const large = lineTo(await startBenchGateway({ upstream: provider.url, catalogue: catalogueOf(many) }), connections);
    const startMs = performance.now() - startedAt;
    // each line gets its own models: the small one repeats ten names, as the large one goes through all
    const bodies = (size: number): string[] => Array.from({ length: many }, (_, at) => requestFor(`model-${(at * 7) % size}`));
    const measured = async (line: Line, size: number, rounds: number): Promise<Cost> => ((await compare([line], { warmUp: rounds === 1 ? 0 : 3000, rounds, load: { connections, requests: 2000, bodies: bodies(size) } })) as [Cost])[0];
    const costs: { small: number[]; large: number[] } = { small: [], large: [] };
    await measured(small, few, 2);
    await measured(large, many, 2);
    for (let round = 0; round < 5; round++) {
      costs.small.push((await measured(small, few, 1)).cpuMsPerRequest);
      costs.large.push((await measured(large, many, 1)).cpuMsPerRequest);
    }
    const figures = [
      ratioFigure('CPU per request', { gateway: median(costs.large), floor: median(costs.small), show: microseconds, most: 1.1 }),
      ...(await listings(large)),
      { what: 'start until it listens', gateway: milliseconds(startMs) },
    ];
    await closeAll([small, large]);
    await provider.stop();
    return figures;
  },
} satisfies Subject;
