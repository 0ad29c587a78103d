/**
 * The executable under load, with faults of every kind: the log has each complete reply exactly once. What has to survive a signal or has
 * an exit code is a process. cost: a gateway in this process takes a third of the CPU, so the gateway that only has to store what
 * another one left is one of those.
 */
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { LoggedRequest } from '../../../../core/log/store.ts';
import { createStore } from '../../../../plugins/log/journal/store/open.ts';
import { run, start } from '../../../_kit/executable.ts';
import type { Running } from '../../../_kit/executable.ts';
import { testGateway } from '../../../_kit/gateway.ts';
import type { TestGateway } from '../../../_kit/gateway.ts';
import { freePort, startPostgres } from '../../../_kit/servers.ts';
import type { PostgresServer } from '../../../_kit/servers.ts';
import { pause } from '../../../_kit/upstream.ts';
import type { ScriptedUpstream } from '../../../_kit/upstream.ts';
import { call, journalled, nothingSeen, startProvider } from './load.ts';
import type { Journal } from './load.ts';
import { everything, folder } from './scene.ts';

/** cost: a server for each test takes half a second of CPU more, so each test has a database of its own. */
let server: PostgresServer;
let provider: ScriptedUpstream;
let place: ReturnType<typeof folder>;
const running = new Set<Running>();

beforeAll(async () => {
  [server, provider] = await Promise.all([startPostgres(), startProvider()]);
});
afterAll(async () => {
  await server.stop();
  await provider.close();
});
beforeEach(() => void (place = folder()));
afterEach(async () => {
  for (const gateway of running) await gateway.stop('SIGKILL');
  running.clear();
  place.remove();
});

async function gatewayWith(journal: Journal): Promise<Running> {
  const gateway = await start(journalled(provider.url, journal));
  running.add(gateway);
  return gateway;
}

const gatewayInside = async (journal: Journal): Promise<TestGateway> => await testGateway({ config: journalled(provider.url, journal) });

/** A new gateway stores what all former ones left, and ends. */
async function takeOver(journal: Journal): Promise<void> {
  const next = await gatewayInside(journal);
  await until(() => journalsIn(place.path).length === 1);
  await next.close();
  expect(journalsIn(place.path)).toEqual([]);
}

const journalIn = (store: Journal['store'], url?: string): Journal => ({
  store,
  url: store === 'postgres' ? (url ?? server.database()) : null,
  dataDir: place.path,
});

/** All records, when no record waits in a journal any more. */
async function recordsIn(journal: Journal): Promise<LoggedRequest[]> {
  const store = await createStore({ ...journal, retentionDays: 0, isDurable: false });
  await store.open();
  const records: LoggedRequest[] = [];
  let cursor: string | null = null;
  do {
    const page: Awaited<ReturnType<typeof store.list>> = await store.list(everything, { limit: 1000, cursor });
    records.push(...page.data);
    cursor = page.next;
  } while (cursor !== null);
  await store.close();
  return records;
}

const journalsIn = (dataDir: string): string[] =>
  readdirSync(join(dataDir, 'journal')).filter((name) => existsSync(join(dataDir, 'journal', name, 'lock')));

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await pause(50);
}

/**
 * Freezes or kills PostgreSQL, and returns what brings it back. A test that fails before brings it back at its end, for the tests after it.
 */
async function takeAway(how: 'frozen' | 'killed'): Promise<() => Promise<void>> {
  if (how === 'frozen') server.freeze();
  else await server.kill();
  let isAway = true;
  const bringBack = async (): Promise<void> => {
    if (!isAway) return;
    isAway = false;
    if (how === 'frozen') server.thaw();
    else await server.start();
  };
  onTestFinished(bringBack);
  return bringBack;
}

const health = async ({ url }: { readonly url: string }): Promise<any> => ((await (await fetch(url)).json()) as any).health;

describe.each(['sqlite', 'postgres'] as const)('killed under load, with %s', (kind) => {
  test('the log has every complete reply once', async () => {
    const journal = journalIn(kind);
    const seen = nothingSeen();
    // the second one is killed while it may still store what the first one left
    for (const [afterReplies, afterMs] of [
      [20, 0],
      [40, 90],
    ] as const) {
      const gateway = await gatewayWith(journal);
      const stop = call(gateway.url, 12, seen);
      await until(() => seen.complete.size > afterReplies);
      await pause(afterMs);
      await gateway.stop('SIGKILL');
      await stop();
    }
    await takeOver(journal);
    const records = await recordsIn(journal);
    const byId = new Map(records.map((record) => [record.id, record]));
    expect(byId.size).toBe(records.length);
    expect([...seen.complete].filter((id) => byId.get(id)?.outcome !== 'answered')).toEqual([]);
    expect([...seen.broken].filter((id) => !byId.has(id))).toEqual([]);
    // requests that ran at a kill, whether their clients had read the head of the reply or not
    expect(records.some(({ outcome }) => outcome === 'interrupted')).toBe(true);
  });
});

describe('two gateways on one data directory', () => {
  test('do not disturb each other', async () => {
    const journal = journalIn('sqlite');
    const seen = nothingSeen();
    const [one, two] = await Promise.all([gatewayWith(journal), gatewayWith(journal)]);
    const stops = [one, two].map(({ url }) => call(url, 3, seen));
    await pause(500);
    await stops[0]?.();
    await one.stop('SIGKILL');
    await pause(100);
    await stops[1]?.();
    expect(await two.stop()).toBe(0);
    await takeOver(journal);
    const ids = (await recordsIn(journal)).map(({ id }) => id);
    expect(seen.failed + seen.broken.size).toBe(0);
    expect(ids.toSorted()).toEqual([...seen.complete].toSorted());
  });
});

/** One gateway for these tests: it starts without PostgreSQL, and PostgreSQL goes away twice more. */
describe('one gateway, whose PostgreSQL', () => {
  const files = folder();
  const seen = nothingSeen();
  let journal: Journal;
  let gateway: Running;

  beforeAll(() => void (journal = { store: 'postgres', url: server.database(), dataDir: files.path }));
  afterAll(async () => {
    await gateway?.stop('SIGKILL');
    files.remove();
  });

  const hasAll = async (): Promise<boolean> => (await recordsIn(journal).catch(() => [])).length === seen.complete.size;

  test('is absent at the start, serves, and stores the records when PostgreSQL comes', async () => {
    const bringBack = await takeAway('killed');
    gateway = await start(journalled(provider.url, journal));
    const stop = call(gateway.url, 2, seen);
    await pause(100);
    await stop();
    expect(await health(gateway)).toMatchObject({ status: 'degraded', database: { connected: false, error: 'refused' } });
    await bringBack();
    await until(hasAll);
    await until(async () => (await health(gateway)).status === 'ok');
  });

  test.each(['frozen', 'killed'] as const)('is %s under load, fails no request, and stores all records when it is back', async (how) => {
    const stop = call(gateway.url, 3, seen);
    await pause(200);
    const bringBack = await takeAway(how);
    await until(async () => (await health(gateway)).status === 'degraded');
    expect((await health(gateway)).database).toEqual({ connected: false, error: how === 'frozen' ? 'timeout' : 'refused' });
    await pause(300);
    await bringBack();
    await until(async () => (await health(gateway)).status === 'ok');
    await stop();
    expect(seen.failed + seen.broken.size).toBe(0);
    await until(hasAll);
  });

  test('is back, ends with code 0', async () => expect(await gateway.stop()).toBe(0));
});

describe('PostgreSQL', () => {
  test('frozen during a write, one gateway ended by SIGTERM and one by SIGKILL: the next gateway stores each record once', async () => {
    const journal = journalIn('postgres');
    const former = await Promise.all([gatewayWith(journal), gatewayWith(journal)]);
    const bringBack = await takeAway('frozen');
    const seen = nothingSeen();
    const stops = former.map(({ url }) => call(url, 2, seen));
    for (const one of former) await until(async () => (await health(one)).status === 'degraded');
    for (const stop of stops) await stop();
    await Promise.all([former[0].stop('SIGTERM'), former[1].stop('SIGKILL')]);
    expect(journalsIn(place.path)).toHaveLength(2);
    await bringBack();
    await takeOver(journal);
    expect(seen.failed + seen.broken.size).toBe(0);
    expect((await recordsIn(journal)).map(({ id }) => id).toSorted()).toEqual([...seen.complete].toSorted());
  });

  test('absent to the end: the journal stays, and another gateway stores it', async () => {
    const url = `postgres://gateway@127.0.0.1:${await freePort()}/nowhere`;
    const gateway = await gatewayWith(journalIn('postgres', url));
    const seen = nothingSeen();
    const stop = call(gateway.url, 2, seen);
    await pause(100);
    await stop();
    expect(await gateway.stop()).toBe(0);
    expect(journalsIn(place.path)).toHaveLength(1);
    await takeOver(journalIn('sqlite'));
    expect((await recordsIn(journalIn('sqlite'))).map(({ id }) => id).toSorted()).toEqual([...seen.complete].toSorted());
  });

  test('that refuses the password is reported as auth_failed', async () => {
    const url = server.database();
    server.psql(url, 'create role guest login');
    const gateway = await gatewayInside(journalIn('postgres', url.replace('gateway@', 'nobody@')));
    expect((await health(gateway)).database).toEqual({ connected: false, error: 'auth_failed' });
    await gateway.close();
  });
});

const file = (): string => join(place.path, 'logs.db');

describe('a migration that fails', () => {
  test('refuses the start with exit code 4, in SQLite', async () => {
    const database = new DatabaseSync(file());
    database.exec('create table gateway_tags (something text)');
    database.close();
    const config = join(place.path, 'gateway.config.yaml');
    writeFileSync(config, JSON.stringify(journalled(provider.url, journalIn('sqlite'))));
    const { code, stderr } = await run(['start', '--config', config]);
    expect(stderr).toMatch(/migration 1 .* failed and was rolled back: table gateway_tags already exists/);
    expect(code).toBe(4);
    const after = new DatabaseSync(file());
    expect(after.prepare("select name from sqlite_master where name = 'gateway_requests'").all()).toEqual([]);
    after.close();
  });

  test('refuses the start with exit code 4, in PostgreSQL', async () => {
    const journal = journalIn('postgres');
    server.psql(journal.url as string, 'create table gateway_bodies (something text)');
    await expect(gatewayInside(journal)).rejects.toMatchObject({
      exitCode: 4,
      message: expect.stringMatching(/migration 1 .* failed and was rolled back: relation "gateway_bodies" already exists/),
    });
    expect(server.psql(journal.url as string, "select to_regclass('gateway_requests') is null")).toBe('t');
  });

  test('refuses the start too where a migration was applied in another form', async () => {
    // a read prepares the store, as a start does
    await recordsIn(journalIn('sqlite'));
    const database = new DatabaseSync(file());
    database.exec("update gateway_migrations set checksum = 'other'");
    database.close();
    await expect(gatewayInside(journalIn('sqlite'))).rejects.toMatchObject({
      exitCode: 4,
      message: expect.stringContaining('in another form'),
    });
  });
});
