/**
 * The log has each reply that a caller saw: the executable is killed fifty times under load (KILLS=50), and PostgreSQL is stopped,
 * killed and absent for a minute each (OUTAGE_S=60). It counts complete replies that are not on record, or are on record twice.
 */
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { createStore } from '../../plugins/log/journal/store/open.ts';
import { start } from '../_kit/executable.ts';
import { startPostgres } from '../_kit/servers.ts';
import type { PostgresServer } from '../_kit/servers.ts';
import { call, journalled, nothingSeen, startProvider } from '../plugins/log/journal/load.ts';
import type { Journal, Seen } from '../plugins/log/journal/load.ts';
import { everything } from '../plugins/log/journal/scene.ts';
import type { Figure, Subject } from './figures.ts';
import { wait, workFolder } from './processes.ts';

const kills = Number(process.env['KILLS'] ?? 50);
const outageMs = Number(process.env['OUTAGE_S'] ?? 60) * 1000;
const connections = 24;

function journalOf(name: string, server: PostgresServer | null): Journal {
  const dataDir = join(workFolder, name);
  mkdirSync(dataDir);
  return { store: server === null ? 'sqlite' : 'postgres', url: server?.database() ?? null, dataDir };
}

/** The outcomes by id; throws on an id that is there twice. */
async function onRecord(journal: Journal): Promise<Map<string, string>> {
  const store = await createStore({ ...journal, retentionDays: 0, isDurable: false });
  await store.open();
  const outcomes = new Map<string, string>();
  for (let cursor: string | null = null, isFirst = true; isFirst || cursor !== null; isFirst = false) {
    const page = await store.list(everything, { limit: 1000, cursor });
    for (const { id, outcome } of page.data) {
      if (outcomes.has(id)) throw new Error(`${id} is there twice`);
      outcomes.set(id, outcome);
    }
    cursor = page.next;
  }
  await store.close();
  return outcomes;
}

const journals = (dataDir: string): number =>
  readdirSync(join(dataDir, 'journal')).filter((name) => existsSync(join(dataDir, 'journal', name, 'lock'))).length;

function verdict(what: string, seen: Seen, outcomes: ReadonlyMap<string, string>): Figure[] {
  const missing = [...seen.complete].filter((id) => outcomes.get(id) !== 'answered').length;
  const holes = [...seen.broken].filter((id) => !outcomes.has(id)).length;
  const interrupted = [...outcomes.values()].filter((outcome) => outcome === 'interrupted').length;
  return [
    { what: `${what}: complete replies missing`, gateway: `${missing} of ${seen.complete.size}`, target: '0', isMet: missing === 0 },
    {
      what: `${what}: broken replies without a record`,
      gateway: `${holes} of ${seen.broken.size} (${interrupted} interrupted)`,
      target: '0',
      isMet: holes === 0,
    },
  ];
}

async function killed(upstream: string, server: PostgresServer | null): Promise<Figure[]> {
  const journal = journalOf(server === null ? 'kill-sqlite' : 'kill-postgres', server);
  const seen = nothingSeen();
  for (let kill = 0; kill < kills; kill++) {
    const gateway = await start(journalled(upstream, journal));
    const stop = call(gateway.url, connections, seen);
    await wait(300 + Math.random() * 700);
    await gateway.stop('SIGKILL');
    await stop();
  }
  const last = await start(journalled(upstream, journal));
  while (journals(journal.dataDir) > 1) await wait(100);
  await last.stop();
  return verdict(`${journal.store}, ${kills} kills`, seen, await onRecord(journal));
}

/** The 99th percentile of the callers' waiting times, measured for this long. */
async function p99(url: string, ms: number): Promise<number> {
  const times: number[] = [];
  for (const until = performance.now() + ms; performance.now() < until;) {
    const began = performance.now();
    await (
      await fetch(`${url}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{"model":"plain","messages":[{"role":"user","content":"hi"}]}',
      })
    ).arrayBuffer();
    times.push(performance.now() - began);
  }
  return times.sort((a, b) => a - b)[Math.floor(times.length * 0.99)] as number;
}

async function outage(upstream: string, how: 'stopped' | 'killed' | 'absent at the start'): Promise<Figure[]> {
  const server = await startPostgres();
  const journal = journalOf(`outage-${how}`, server);
  if (how === 'absent at the start') await server.kill();
  const gateway = await start(journalled(upstream, journal));
  const seen = nothingSeen();
  const stop = call(gateway.url, 8, seen);
  const before = how === 'absent at the start' ? null : await p99(gateway.url, Math.min(outageMs, 20_000));
  if (how === 'stopped') server.freeze();
  if (how === 'killed') await server.kill();
  const during = await p99(gateway.url, outageMs);
  if (how === 'stopped') server.thaw();
  else await server.start();
  await stop();
  const back = performance.now();
  let outcomes = new Map<string, string>();
  while ([...seen.complete].some((id) => !outcomes.has(id)) && performance.now() - back < 60_000) {
    await wait(500);
    outcomes = await onRecord(journal).catch(() => new Map<string, string>());
  }
  const backS = (performance.now() - back) / 1000;
  await gateway.stop();
  await server.stop();
  const name = `postgres ${how} for ${outageMs / 1000} s`;
  return [
    {
      what: `${name}: failed requests`,
      gateway: `${seen.failed + seen.broken.size} of ${seen.complete.size}`,
      target: '0',
      isMet: seen.failed + seen.broken.size === 0,
    },
    ...(before === null
      ? []
      : [
          {
            what: `${name}: p99`,
            gateway: `${during.toFixed(1)} ms`,
            floor: `${before.toFixed(1)} ms`,
            ratio: during / before,
            target: '≤ 1.1 ×, or 1 ms',
            isMet: during <= Math.max(before * 1.1, before + 1),
          },
        ]),
    { what: `${name}: all rows there after`, gateway: `${backS.toFixed(1)} s`, target: '≤ 30 s', isMet: backS <= 30 },
  ];
}

export default {
  name: 'kill',
  about: `kill -9 under ${connections} callers, and PostgreSQL going away`,
  async measure() {
    const provider = await startProvider();
    const server = await startPostgres();
    const figures = [...(await killed(provider.url, null)), ...(await killed(provider.url, server))];
    await server.stop();
    for (const how of ['stopped', 'killed', 'absent at the start'] as const) figures.push(...(await outage(provider.url, how)));
    await provider.close();
    return figures;
  },
} satisfies Subject;
