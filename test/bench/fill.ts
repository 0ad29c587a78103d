/** A million records of thirty days, drained from a journal into a store as a gateway does it: the data for the benches of the log. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Drain } from '../../plugins/log/journal/drain/drain.ts';
import { encodeFrames, FINISHED } from '../../plugins/log/journal/write/frames.ts';
import { createInstance, pathOf } from '../../plugins/log/journal/write/segments.ts';
import type { Store } from '../../plugins/log/journal/store/store.ts';
import { finished, idAt, request, response } from '../plugins/log/journal/scene.ts';

/** `RECORDS=100000` makes the run shorter, `STORES=sqlite` leaves PostgreSQL out. */
export const records = Number(process.env['RECORDS'] ?? 1_000_000);
export const stores = (process.env['STORES'] ?? 'sqlite,postgres').split(',') as ('sqlite' | 'postgres')[];

export const days = 30;
export const day = 86_400_000;
export const end = Date.now();
export const begin = end - days * day;
const perSegment = 5000;
const slice = 100_000;

const prompt = request('The gateway reads the request, asks a provider, and hands the answer on as it comes. '.repeat(16));
const answer = response('It does so, and then some. '.repeat(24), 'First I consider what is asked. '.repeat(4));

/** The same records in each run: spread evenly, twenty models, five hundred tenants of unequal size, one record in a hundred slow. */
function payloadOf(number: number): string {
  const at = begin + Math.floor((number / records) * days * day);
  const isBad = number % 37 === 0;
  const scattered = (number * 7919) % 10_007;
  return JSON.stringify({
    ...finished({
      at,
      number,
      model: `model-${scattered % 20}`,
      provider: `provider-${scattered % 5}`,
      key: `team-${scattered % 12}`,
      stream: scattered % 3 !== 0,
      status: isBad ? (number % 2 === 0 ? 429 : 500) : 200,
      outcome: isBad ? 'failed' : 'answered',
      finishReason: isBad ? null : 'completed',
      durationMs: scattered % 100 === 0 ? 60_000 + scattered : 300 + scattered,
      timeToFirstTokenMs: 50 + (scattered % 900),
      cost: `0.00${String(scattered).padStart(5, '0')}`,
      metadata: {
        'tenant-id': `tenant-${Math.floor(500 * (scattered / 10_007) ** 2)}`,
        country: ['DE', 'FR', 'US', 'JP'][scattered % 4] as string,
        'user-id': `user-${number % 50_000}`,
      },
    }),
    // the store takes the start of the prompt from the request
    promptStart: undefined,
    request: prompt,
    response: answer,
  });
}

/** The records that are drained: their number, and each as the JSON of a record with its bodies. */
export interface Traffic {
  readonly records: number;
  payloadOf(this: void, number: number): string;
}

/** A journal with these records, as a gateway leaves it. */
function writeJournal(folder: string, { from, to, payloadOf }: { from: number; to: number; payloadOf: Traffic['payloadOf'] }): void {
  for (let at = from, segment = 2; at < to; at += perSegment, segment++) {
    const frames = Array.from(
      { length: Math.min(perSegment, to - at) },
      (_, index) => ({ kind: FINISHED, payload: payloadOf(at + index) }) as const,
    );
    writeFileSync(pathOf(folder, segment), encodeFrames(frames));
  }
}

/** The id of the record with this number. */
export const idOf = (number: number): string => idAt(begin + Math.floor((number / records) * days * day), number);

/** Milliseconds and CPU microseconds that draining took. */
export async function fill(
  store: Store,
  dataDir: string,
  traffic: Traffic = { records, payloadOf },
): Promise<{ drainMs: number; cpuUs: number }> {
  const root = join(dataDir, 'journal');
  let drainMs = 0;
  let cpuUs = 0;
  for (let at = 0; at < traffic.records; at += slice) {
    const { folder, claim } = createInstance(root);
    writeJournal(folder, { from: at, to: Math.min(traffic.records, at + slice), payloadOf: traffic.payloadOf });
    const drain = new Drain({
      store,
      root,
      folder,
      retentionDays: 0,
      warn: (message, facts) => process.stderr.write(`${message} ${JSON.stringify(facts)}\n`),
      disk: () => {},
      drained: () => {},
      buried: () => {},
    });
    const [started, cpu] = [performance.now(), process.cpuUsage()];
    await drain.finish();
    drainMs += performance.now() - started;
    const { user, system } = process.cpuUsage(cpu);
    cpuUs += user + system;
    drain.close();
    claim.release();
    rmSync(folder, { recursive: true });
  }
  return { drainMs, cpuUs };
}
