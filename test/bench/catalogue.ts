import { median, microseconds, milliseconds, ratioFigure } from './figures.ts';
import type { Figure, Subject } from './figures.ts';
import { catalogueOf, startBenchGateway, startBenchProvider } from './gateway.ts';
import { closeAll, compare, cpuOf, lineTo } from './load.ts';
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
    // each gateway gets its own models: the small catalogue repeats ten names, the large one has a new name for each request
    const bodies = (size: number): string[] => Array.from({ length: many }, (_, at) => requestFor(`model-${(at * 7) % size}`));
    const load = [few, many].map((size) => ({ connections, requests: 1000, bodies: bodies(size) }));
    const [fewCosts, manyCosts] = (await compare([small, large], { warmUp: 4000, rounds: 11, load })) as [Cost[], Cost[]];
    const figures = [
      ratioFigure('CPU per request', { gateway: cpuOf(manyCosts), floor: cpuOf(fewCosts), show: microseconds, most: 1.1 }),
      ...(await listings(large)),
      { what: 'start until it listens', gateway: milliseconds(startMs) },
    ];
    await closeAll([small, large]);
    await provider.stop();
    return figures;
  },
} satisfies Subject;
