/** Draws docs/flame.svg: the main thread's time by call, under plain requests, after a warm-up. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { draw } from './drawing.ts';
import { microseconds } from './figures.ts';
import type { Subject } from './figures.ts';
import { fold } from './frames.ts';
import { startBenchGateway, startBenchProvider } from './gateway.ts';
import { lineTo, run } from './load.ts';
import { fileBeside, workFolder } from './processes.ts';
import { mainProfileIn, profilerOptions } from './profile.ts';
import { requestFor } from './workload.ts';

const connections = 32;
const warmUp = 20_000;
const requests = 20_000;
const mostBytes = 80_000;
const load = { connections, requests, bodies: [requestFor('plain')] };

const now = (): number => Number(process.hrtime.bigint() / 1000n);

export default {
  name: 'flame',
  about: `docs/flame.svg: the main thread's time by call, every shipped plugin on, ${requests} plain requests at ${connections} connections after ${warmUp} others`,
  async measure() {
    const folder = join(workFolder, 'flame');
    mkdirSync(folder);
    const provider = await startBenchProvider();
    const line = lineTo(await startBenchGateway({ upstream: provider.url, nodeOptions: profilerOptions(folder) }), connections);
    await run(line, { ...load, requests: warmUp });
    const from = now();
    await run(line, load);
    const to = now();
    await line.pool.close();
    await line.process.stop();
    await provider.stop();
    const whole = fold(mainProfileIn(folder), { from, to });
    const about = `Load: plain requests (a prompt of 600 characters, an answer in one body) at ${connections} connections, every shipped plugin on, records into SQLite. Node ${process.version}.`;
    const drawing = draw({ whole, requests, about });
    writeFileSync(fileBeside('../../docs/flame.svg'), drawing);
    const bytes = Buffer.byteLength(drawing);
    return [
      { what: 'time of the main thread per request, with the profiler on', gateway: microseconds(whole.ms / requests) },
      {
        what: 'size of docs/flame.svg',
        gateway: `${(bytes / 1000).toFixed(1)} kB`,
        target: `≤ ${mostBytes / 1000} kB`,
        isMet: bytes <= mostBytes,
      },
    ];
  },
} satisfies Subject;
