/**
 * The stores at size: a million records of thirty days, drained from a journal into each and asked for. `RECORDS=100000` makes it
 * shorter, `STORES=sqlite` leaves PostgreSQL out.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Condition, LogQuery } from '../../core/log-store.ts';
import { Drain } from '../../plugins/log/journal/drain.ts';
import { encodeFrames, FINISHED } from '../../plugins/log/journal/frames.ts';
import { createInstance, pathOf } from '../../plugins/log/journal/segments.ts';
import { createStore } from '../../plugins/log/journal/store.ts';
import type { Store } from '../../plugins/log/journal/store.ts';
import { startPostgres } from '../_kit/servers.ts';
import type { PostgresServer } from '../_kit/servers.ts';
import { finished, idAt, request, response } from '../plugins/log/journal/scene.ts';
import { median, milliseconds, perSecond } from './figures.ts';
import type { Figure, Subject } from './figures.ts';
import { workFolder } from './processes.ts';

const records = Number(process.env['RECORDS'] ?? 1_000_000);
const stores = (process.env['STORES'] ?? 'sqlite,postgres').split(',') as ('sqlite' | 'postgres')[];
const days = 30;
const day = 86_400_000;
const end = Date.now();
const begin = end - days * day;
const perSegment = 5000;
const rounds = 9;

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
      metadata: { 'tenant-id': `tenant-${Math.floor(500 * (scattered / 10_007) ** 2)}`, country: ['DE', 'FR', 'US', 'JP'][scattered % 4] as string, 'user-id': `user-${number % 50_000}` },
    }),
    request: prompt,
    response: answer,
  });
}

/** A journal of that many segments, as a gateway would have left it behind. */
function writeJournal(folder: string, from: number, to: number): void {
  for (let at = from, segment = 2; at < to; at += perSegment, segment++) {
    const frames = Array.from({ length: Math.min(perSegment, to - at) }, (_, index) => ({ kind: FINISHED, payload: payloadOf(at + index) }) as const);
    writeFileSync(pathOf(folder, segment), encodeFrames(frames));
  }
}

const everything: LogQuery = { from: null, to: null, conditions: [], text: null };
const where = (field: string, operator: Condition['operator'], ...values: string[]): LogQuery => ({ ...everything, conditions: [{ field, operator, values }] });
const last = (hours: number, query: LogQuery = everything): LogQuery => ({ ...query, from: end - hours * 3_600_000 });

interface Asked {
  readonly what: string;
  readonly most: number;
  ask(store: Store, round: number): Promise<unknown>;
}

const list = (what: string, query: LogQuery, most = 50): Asked => ({ what: `list, ${what}`, most, ask: (store) => store.list(query, { limit: 50 }) });

const asked: readonly Asked[] = [
  list('first page', everything),
  { what: 'list, any further page', most: 50, ask: (store, round) => store.list(everything, { limit: 50, cursor: idAt(begin + ((round + 0.5) / rounds) * days * day) }) },
  list('a model', where('model', 'in', 'model-7')),
  list('three models', where('model', 'in', 'model-7', 'model-8', 'model-9')),
  list('errors', where('status', 'in', 'error')),
  list('status 429', where('status', 'in', '429')),
  list('a key, last hour', last(1, where('key', 'in', 'team-3'))),
  list('longer than 60 s', where('latency', '>', '60000')),
  list('longer than 69 s, rare', where('latency', '>', '69900')),
  list('longer than 1 s, common', where('latency', '>', '1000')),
  list('dearer than a cent, none', where('cost', '>', '0.0999')),
  list('no such model', where('model', 'in', 'model-x')),
  list('the largest tenant', where('meta.tenant-id', 'in', 'tenant-0'), 100),
  list('a small tenant', where('meta.tenant-id', 'in', 'tenant-499'), 100),
  list('a user, 20 records', where('meta.user-id', 'in', 'user-4711'), 100),
  list('a country, 250,000 records', where('meta.country', 'in', 'DE'), 100),
  list('two countries', where('meta.country', 'in', 'DE', 'FR'), 100),
  list('a tenant and a model', { ...everything, conditions: [...where('meta.tenant-id', 'in', 'tenant-9').conditions, ...where('model', 'in', 'model-3').conditions] }, 100),
  { what: 'one record', most: 50, ask: (store, round) => store.get(idOf(Math.floor((records * round) / rounds))) },
  { what: '24 h by tenant', most: 300, ask: (store) => store.stats(last(24), 'meta.tenant-id') },
  { what: '24 h by model', most: 300, ask: (store) => store.stats(last(24), 'model') },
  { what: '24 h series by country, hours', most: 300, ask: (store) => store.series(last(24), { bucketMs: 3_600_000, by: 'meta.country' }) },
  { what: 'values seen', most: 300, ask: (store) => store.facets(last(24)) },
  { what: 'search in bodies, one page of 5,000', most: 1000, ask: (store) => store.list({ ...everything, text: 'no such words' }, { limit: 50 }) },
];

const idOf = (number: number): string => idAt(begin + Math.floor((number / records) * days * day), number);

async function measure(kind: 'sqlite' | 'postgres', server: PostgresServer | null): Promise<Figure[]> {
  const url = server?.database() ?? null;
  const dataDir = join(workFolder, `store-${kind}`);
  mkdirSync(dataDir);
  const root = join(dataDir, 'journal');
  const store = await createStore({ store: kind, url, dataDir, retentionDays: 0, isDurable: false });
  await store.open();
  const slice = 100_000;
  let drainMs = 0;
  let cpuUs = 0;
  for (let at = 0; at < records; at += slice) {
    const { folder, claim } = createInstance(root);
    writeJournal(folder, at, Math.min(records, at + slice));
    const drain = new Drain({ store, root, folder, retentionDays: 0, warn: (message, facts) => process.stderr.write(`${message} ${JSON.stringify(facts)}\n`), disk: () => {} });
    const [started, cpu] = [performance.now(), process.cpuUsage()];
    await drain.finish();
    drainMs += performance.now() - started;
    const { user, system } = process.cpuUsage(cpu);
    cpuUs += user + system;
    drain.close();
    claim.release();
    rmSync(folder, { recursive: true });
  }
  // as autovacuum does within minutes
  if (server !== null && url !== null) server.psql(url, 'vacuum analyze');
  const figures: Figure[] = [
    { what: `${kind}: drained, ${records} records in all`, gateway: perSecond((records * 1000) / drainMs), target: '≥ 10000/s', isMet: (records * 1000) / drainMs >= 10_000 },
    { what: `${kind}: CPU of the draining process for a record`, gateway: `${(cpuUs / records).toFixed(1)} µs` },
  ];
  for (const { what, most, ask } of asked) {
    const times: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const started = performance.now();
      await ask(store, round);
      times.push(performance.now() - started);
    }
    figures.push({ what: `${kind}: ${what}`, gateway: `${milliseconds(median(times))} (most ${milliseconds(Math.max(...times))})`, target: `≤ ${most} ms`, isMet: median(times) <= most });
  }
  await store.close();
  rmSync(dataDir, { recursive: true });
  return figures;
}

export default {
  name: 'store',
  about: `${records} records of ${days} days with bodies of 2 kB and three metadata values each; median of ${rounds} and the slowest`,
  async measure() {
    const figures: Figure[] = [];
    for (const kind of stores) {
      const server = kind === 'postgres' ? await startPostgres() : null;
      figures.push(...(await measure(kind, server)));
      await server?.stop();
    }
    return figures;
  },
} satisfies Subject;
