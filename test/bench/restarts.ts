/**
 * Two workers under a steady load while the gateway is restarted twelve times, and then
 * while a worker is killed: how many callers see a failure, and which records are missing.
 */
import { execFile } from 'node:child_process';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { runningWith } from '../../core/cli/running-files.ts';
import type { Seen } from './callers.ts';
import type { Figure, Subject } from './figures.ts';
import { startBenchGateway, startBenchProvider, waitingRecordsOf } from './gateway.ts';
import { familyOf, fileBeside, startProcess, wait } from './processes.ts';
import type { Started } from './processes.ts';
import { adminHeaders } from './workload.ts';

const offered = 500;
const streams = 100;
const restarts = 12;
const betweenMs = 2000;

const run = promisify(execFile);

interface Load {
  readonly plain: Started;
  readonly streamed: Started;
}

interface Counts {
  served: number;
  errors: number;
  first: string | null;
}

const seenBy = async ({ url }: Started): Promise<Seen> => (await (await fetch(url)).json()) as Seen;

async function add(load: Load, to: Counts): Promise<number> {
  const seen = [await seenBy(load.plain), await seenBy(load.streamed)];
  for (const { served, errors, firstError } of seen) {
    to.served += served;
    to.errors += errors;
    to.first ??= firstError;
  }
  return seen.reduce((sum, { open }) => sum + open, 0);
}

const newest = (dataDir: string): number => runningWith(dataDir).at(-1)?.pid ?? NaN;

async function recordsIn(url: string): Promise<number> {
  while ((await waitingRecordsOf(url)) > 0) await wait(200);
  const { data } = (await (await fetch(`${url}/api/stats?by=model`, { headers: adminHeaders })).json()) as { data: { requests: number }[] };
  return data.reduce((sum, { requests }) => sum + requests, 0);
}

export default {
  name: 'restarts',
  about: `${offered} plain requests a second and ${streams} streams at a time, two workers, ${restarts} restarts, then one worker killed`,
  async measure() {
    const provider = await startBenchProvider();
    const gateway = await startBenchGateway({ upstream: provider.url, server: { workers: 2 } });
    const callers = (kind: string, number: number): Promise<Started> =>
      startProcess({ name: `callers-${kind}`, args: [fileBeside('./callers.ts'), kind, String(number), gateway.url] });
    const load: Load = { streamed: await callers('streams', streams), plain: await callers('plain', offered) };
    const file = join(dirname(gateway.dataDir), 'gateway.config.yaml');
    const [whileRestarted, whileKilled]: Counts[] = [
      { served: 0, errors: 0, first: null },
      { served: 0, errors: 0, first: null },
    ];
    await wait(3000);
    for (let at = 0; at < restarts; at++) {
      await run(process.execPath, [fileBeside('../../core/main.ts'), 'restart', '--config', file]);
      await wait(betweenMs);
    }
    await wait(5000);
    await add(load, whileRestarted as Counts);
    const parent = newest(gateway.dataDir);
    const worker = familyOf(parent).find((pid) => pid !== parent);
    const { open: streamsOpen } = await seenBy(load.streamed);
    process.kill(worker as number, 'SIGKILL');
    await wait(8000);
    const open = await add(load, whileKilled as Counts);
    await load.plain.stop();
    await load.streamed.stop();
    await wait(1000);
    const records = await recordsIn(gateway.url);
    process.kill(newest(gateway.dataDir), 'SIGTERM');
    await gateway.stop();
    await provider.stop();
    return figuresOf({ whileRestarted, whileKilled } as { whileRestarted: Counts; whileKilled: Counts }, { records, open, streamsOpen });
  },
} satisfies Subject;

/** Requests without an answer when the callers ended are on record too, so there may be more records than answers, and never fewer. */
function figuresOf(
  { whileRestarted, whileKilled }: { whileRestarted: Counts; whileKilled: Counts },
  { records, open, streamsOpen }: { records: number; open: number; streamsOpen: number },
): Figure[] {
  const answered = whileRestarted.served + whileKilled.served;
  const missing = Math.max(0, answered - records);
  const why = (text: string | null): string => (text === null ? '' : `, the first: ${text.slice(0, 120)}`);
  return [
    {
      what: `requests that failed or were cut in ${restarts} restarts${why(whileRestarted.first)}`,
      gateway: String(whileRestarted.errors),
      target: '0',
      isMet: whileRestarted.errors === 0,
    },
    { what: 'answers in that time', gateway: String(whileRestarted.served) },
    {
      what: `requests that failed with a killed worker, of ${streamsOpen} open streams and those that ran${why(whileKilled.first)}`,
      gateway: String(whileKilled.errors),
      target: `≤ ${streamsOpen + 64}`,
      isMet: whileKilled.errors <= streamsOpen + 64,
    },
    { what: 'answers in that time', gateway: String(whileKilled.served) },
    { what: 'answers that are not in the log', gateway: String(missing), target: '0', isMet: missing === 0 },
    {
      what: 'records of requests that were under way at the end, or failed',
      gateway: `${records - answered} of ${open + whileRestarted.errors + whileKilled.errors}`,
    },
  ];
}
