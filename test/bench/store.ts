/** The stores with a million records of thirty days: draining them from a journal, and queries. */
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Condition, LogQuery } from '../../core/log/store.ts';
import { createStore } from '../../plugins/log/journal/store/open.ts';
import type { Store } from '../../plugins/log/journal/store/store.ts';
import { startPostgres } from '../_kit/servers.ts';
import type { PostgresServer } from '../_kit/servers.ts';
import { idAt } from '../plugins/log/journal/scene.ts';
import { median, milliseconds, perSecond } from './figures.ts';
import type { Figure, Subject } from './figures.ts';
import { begin, day, days, end, fill, idOf, records, stores } from './fill.ts';
import { workFolder } from './processes.ts';

const rounds = 9;

const everything: LogQuery = { from: null, to: null, conditions: [], text: null };
const where = (field: string, operator: Condition['operator'], ...values: string[]): LogQuery => ({
  ...everything,
  conditions: [{ field, operator, values }],
});
const last = (hours: number, query: LogQuery = everything): LogQuery => ({ ...query, from: end - hours * 3_600_000 });

interface Asked {
  readonly what: string;
  readonly most: number;
  ask(store: Store, round: number): Promise<unknown>;
}

const list = (what: string, query: LogQuery, most = 50): Asked => ({
  what: `list, ${what}`,
  most,
  ask: (store) => store.list(query, { limit: 50 }),
});

const asked: readonly Asked[] = [
  list('first page', everything),
  {
    what: 'list, any further page',
    most: 50,
    ask: (store, round) => store.list(everything, { limit: 50, cursor: idAt(begin + ((round + 0.5) / rounds) * days * day) }),
  },
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
  list(
    'a tenant and a model',
    { ...everything, conditions: [...where('meta.tenant-id', 'in', 'tenant-9').conditions, ...where('model', 'in', 'model-3').conditions] },
    100,
  ),
  { what: 'one record', most: 50, ask: (store, round) => store.get(idOf(Math.floor((records * round) / rounds))) },
  { what: '24 h by tenant', most: 300, ask: (store) => store.stats(last(24), { by: 'meta.tenant-id', limit: 1000 }) },
  { what: '24 h by model', most: 300, ask: (store) => store.stats(last(24), { by: 'model', limit: 1000 }) },
  { what: '24 h series by country, hours', most: 300, ask: (store) => store.series(last(24), { bucketMs: 3_600_000, by: 'meta.country' }) },
  { what: 'values seen', most: 300, ask: (store) => store.facets(last(24)) },
  {
    what: 'search in bodies, one page of 5,000',
    most: 1000,
    ask: (store) => store.list({ ...everything, text: 'no such words' }, { limit: 50 }),
  },
];

async function measure(kind: 'sqlite' | 'postgres', server: PostgresServer | null): Promise<Figure[]> {
  const url = server?.database() ?? null;
  const dataDir = join(workFolder, `store-${kind}`);
  mkdirSync(dataDir);
  const store = await createStore({ store: kind, url, dataDir, retentionDays: 0, isDurable: false });
  await store.open();
  const { drainMs, cpuUs } = await fill(store, dataDir);
  // autovacuum does the same within minutes
  if (server !== null && url !== null) server.psql(url, 'vacuum analyze');
  const figures: Figure[] = [
    {
      what: `${kind}: drained, ${records} records in all`,
      gateway: perSecond((records * 1000) / drainMs),
      target: '≥ 10000/s',
      isMet: (records * 1000) / drainMs >= 10_000,
    },
    { what: `${kind}: CPU of the draining process for a record`, gateway: `${(cpuUs / records).toFixed(1)} µs` },
  ];
  for (const { what, most, ask } of asked) {
    const times: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const started = performance.now();
      await ask(store, round);
      times.push(performance.now() - started);
    }
    figures.push({
      what: `${kind}: ${what}`,
      gateway: `${milliseconds(median(times))} (most ${milliseconds(Math.max(...times))})`,
      target: `≤ ${most} ms`,
      isMet: median(times) <= most,
    });
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
