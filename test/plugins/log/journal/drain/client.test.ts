import { renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Worker } from 'node:worker_threads';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import type { LoggedRequest, LogReader } from '../../../../../core/log/store.ts';
import { createLogger } from '../../../../../core/logger.ts';
import { createClient } from '../../../../../plugins/log/journal/drain/client.ts';
import type { StoreClient } from '../../../../../plugins/log/journal/drain/client.ts';
import { LogEvents } from '../../../../../plugins/log/journal/events.ts';
import { encodeFrames, FINISHED } from '../../../../../plugins/log/journal/write/frames.ts';
import { OtherJournals } from '../../../../../plugins/log/journal/other-journals.ts';
import { createLogReader } from '../../../../../plugins/log/journal/reader.ts';
import { createInstance, pathOf, readCursor, rootOf } from '../../../../../plugins/log/journal/write/segments.ts';
import type { Instance } from '../../../../../plugins/log/journal/write/segments.ts';
import { JournalWriter } from '../../../../../plugins/log/journal/write/writer.ts';
import { proxyTo } from '../../../../_kit/proxy.ts';
import { startPostgres } from '../../../../_kit/servers.ts';
import type { PostgresServer } from '../../../../_kit/servers.ts';
import { pause } from '../../../../_kit/upstream.ts';
import { begin, everything, finished, folder, idAt, request } from '../scene.ts';

let place: ReturnType<typeof folder>;
let instance: Instance;
let writer: JournalWriter;
let client: StoreClient;
let events: LogEvents;
let reader: LogReader;
const lines: string[] = [];
const logger = createLogger((line) => void lines.push(line));

async function openOn(store: 'sqlite' | 'postgres', url: string | null): Promise<void> {
  await client.open({
    store,
    url,
    dataDir: place.path,
    root: rootOf(place.path),
    folder: instance.folder,
    retentionDays: 0,
    isDurable: false,
  });
}

beforeEach(() => {
  place = folder();
  instance = createInstance(rootOf(place.path));
  writer = new JournalWriter({ folder: instance.folder, maxBytes: 2 ** 30, isDurable: false, logger });
  client = createClient({
    logger,
    disk: ({ removed, elsewhere }) => writer.onDisk(removed, elsewhere),
    gone: () => {},
    buried: () => void writer.lost.deadLettered++,
  });
  events = new LogEvents(logger);
  reader = createLogReader({
    client,
    others: new OtherJournals(null, client),
    events,
    counts: () => writer.counts,
    trouble: () => writer.trouble,
    retentionDays: 0,
    bodies: true,
    place: 'of the test',
  });
});
afterEach(async () => {
  await writer.close();
  await client.close(500);
  instance.claim.release();
  place.remove();
});

const write = (number: number): Promise<boolean> => writer.append({ kind: FINISHED, payload: JSON.stringify(finished({ number })) });

const startedThread = (): Promise<Worker> => new Promise((resolve) => void process.once('worker', resolve));

/** Resolves to the exit code of a thread: 0 where the thread ended by itself. */
const endOf = (thread: Worker): Promise<number> => new Promise((resolve) => void thread.once('exit', resolve));

/** Ends a thread by an uncaught error. */
async function fails(thread: Worker): Promise<void> {
  const ended = endOf(thread);
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker has no origin
  thread.postMessage(null);
  await ended;
}

/** Resolves when the journal reports that the store has all records. */
const cursorIsAtEnd = (): Promise<void> =>
  expect.poll(() => readCursor(instance.folder).offset).toBe(statSync(pathOf(instance.folder, 1)).size);

describe('the client of the store', () => {
  test('reads records that were written before, although the drain waits for more', async () => {
    await openOn('sqlite', null);
    for (const number of [1, 2, 3]) {
      await write(number);
      expect(await reader.get(idAt(begin, number))).toMatchObject({ id: idAt(begin, number) });
      // reads in a shorter interval share one reading of the journal
      await pause(150);
    }
  });

  test('gives the thread a few reads at one time, and none that nobody waits for any more', async () => {
    const starting = startedThread();
    await openOn('sqlite', null);
    const thread = await starting;
    const asked: unknown[] = [];
    const post = thread.postMessage.bind(thread);
    thread.postMessage = (ask) => {
      if (ask.call === 'list') asked.push(ask);
      post(ask);
    };
    const leaving = new AbortController();
    const page = { limit: 1, cursor: null };
    const staying = Array.from({ length: 10 }, () => reader.list(everything, page));
    const left = Array.from({ length: 40 }, () => reader.list(everything, { ...page, signal: leaving.signal }));
    await Promise.resolve();
    const atOnce = asked.length;
    leaving.abort(new Error('the client has left'));
    const ends = await Promise.allSettled([...staying, ...left]);
    expect([atOnce, asked.length, ends.filter(({ status }) => status === 'fulfilled').length]).toEqual([1, 10, 10]);
  });

  test('gives the thread a read at once that a request to a model waits for', async () => {
    const starting = startedThread();
    await openOn('sqlite', null);
    const thread = await starting;
    const asked: string[] = [];
    const post = thread.postMessage.bind(thread);
    thread.postMessage = (ask) => {
      asked.push(ask.call);
      post(ask);
    };
    const pages = Array.from({ length: 10 }, () => reader.list(everything, { limit: 1, cursor: null }));
    const urgent = [reader.get(idAt(begin, 1)), reader.stats(everything, { by: null, limit: 1, isUrgent: true })];
    await Promise.resolve();
    expect(asked).toEqual(['list', 'get', 'stats']);
    await Promise.all([...pages, ...urgent]);
  });

  test('gives the thread no read whose time was over before its turn came', async () => {
    const starting = startedThread();
    await openOn('sqlite', null);
    const thread = await starting;
    const post = thread.postMessage.bind(thread);
    let asked = 0;
    // the thread never answers a list
    thread.postMessage = (ask) => void (ask.call === 'list' ? asked++ : post(ask));
    vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'] });
    const ends = Promise.allSettled(Array.from({ length: 8 }, () => reader.list(everything, { limit: 1, cursor: null })));
    await vi.advanceTimersByTimeAsync(20_000);
    vi.useRealTimers();
    const codes = (await ends).map((end) => end.status === 'rejected' && end.reason.code);
    expect([asked, codes]).toEqual([1, Array.from({ length: 8 }, () => 'log_unavailable')]);
  });

  test('reads written records after a flush', async () => {
    await openOn('sqlite', null);
    await Promise.all([write(1), write(2)]);
    await client.flush();
    expect((await reader.list(everything, { limit: 1, cursor: null })).next).toBe(idAt(begin, 2));
    expect(await reader.get(idAt(begin, 1))).toMatchObject({ id: idAt(begin, 1) });
    expect(await reader.stats(everything, { by: 'model', limit: 10 })).toMatchObject([{ value: 'plain', requests: 2 }]);
    expect(await reader.stats(everything, { by: null, limit: 10 })).toMatchObject([{ value: null, requests: 2 }]);
    expect((await reader.series(everything, { bucketMs: 1000, by: null })).points).toHaveLength(1);
    expect(await reader.facets(everything)).toMatchObject({ model: [{ value: 'plain', count: 2 }] });
    expect(await reader.status()).toMatchObject({
      connected: true,
      error: null,
      waitingBytes: 0,
      waitingRecords: 0,
      dropped: 0,
      bodiesDropped: 0,
      deadLettered: 0,
    });
  });

  test('distinguishes a fault of the query from a fault of the store', async () => {
    await openOn('sqlite', null);
    await expect(reader.stats(everything, { by: 'nonsense', limit: 10 })).rejects.toMatchObject({ code: 'invalid_value' });
    await client.close(500);
    await expect(reader.get('x')).rejects.toMatchObject({ code: 'log_unavailable' });
  });

  test('counts no stored record as waiting, also while nothing answers', async () => {
    await openOn('sqlite', null);
    await Promise.all([write(1), write(2)]);
    await client.flush();
    expect(await reader.status()).toMatchObject({ connected: true, waitingRecords: 0 });
    await client.close(500);
    await write(3);
    expect(await reader.status()).toMatchObject({ connected: false, waitingRecords: 1 });
  });

  test('counts the records that the journal could not write as waiting, and not as lost', async () => {
    await openOn('sqlite', null);
    writer = new JournalWriter({ folder: join(place.path, 'nowhere'), maxBytes: 2 ** 30, isDurable: false, logger });
    await Promise.all([write(1), write(2)]);
    expect(await reader.status()).toMatchObject({ error: 'journal_not_written', waitingBytes: 0, waitingRecords: 2 });
  });

  test('opens without a store, counts the waiting records, and says why they wait', async () => {
    await openOn('postgres', 'postgres://nobody@127.0.0.1:1/none');
    await write(1);
    await expect(reader.list(everything, { limit: 1, cursor: null })).rejects.toMatchObject({
      code: 'log_unavailable',
      message: expect.stringContaining('refused'),
    });
    const status = await reader.status();
    expect(status).toMatchObject({ connected: false, error: 'refused', waitingRecords: 1 });
    expect(status.waitingBytes).toBeGreaterThan(0);
  });

  test('counts the records that an earlier gateway left, also without a store', async () => {
    const { folder: left, claim } = createInstance(rootOf(place.path));
    writeFileSync(pathOf(left, 1), encodeFrames([{ kind: FINISHED, payload: JSON.stringify(finished({ number: 7 })) }]));
    claim.release();
    await openOn('postgres', 'postgres://nobody@127.0.0.1:1/none');
    expect(await reader.status()).toMatchObject({ connected: false, waitingBytes: statSync(pathOf(left, 1)).size });
  });

  test('starts its thread again after the thread failed', async () => {
    renameSync(instance.folder, `${instance.folder}-away`);
    await openOn('sqlite', null);
    await expect(reader.list(everything, { limit: 1, cursor: null })).rejects.toMatchObject({
      code: 'log_unavailable',
      message: expect.stringContaining('refused'),
    });
    renameSync(`${instance.folder}-away`, instance.folder);
    await write(1);
    while ((await reader.list(everything, { limit: 1, cursor: null }).catch(() => null))?.data.length !== 1) await pause(20);
  });

  test.each(['sqlite', 'postgres'] as const)('lets its thread end by itself, with %s', async (store) => {
    const started = startedThread();
    await openOn(store, store === 'sqlite' ? null : 'postgres://nobody@127.0.0.1:1/none');
    await write(1);
    const ended = endOf(await started);
    await client.close(500);
    expect(await ended).toBe(0);
  });

  test('does not count as waiting a record that a previous thread has stored', async () => {
    const started = startedThread();
    await openOn('sqlite', null);
    await Promise.all([write(1), write(2)]);
    await client.flush();
    await cursorIsAtEnd();
    await fails(await started);
    while (!(await reader.status()).connected) await pause(20);
    expect(await reader.status()).toMatchObject({ waitingRecords: 0, waitingBytes: 0 });
  });

  test('counts the records that a previous thread could not store, also while no thread answers', async () => {
    const started = startedThread();
    await openOn('sqlite', null);
    await writer.append({ kind: FINISHED, payload: '{"id":"no uuid"}' });
    await client.flush();
    expect(await reader.status()).toMatchObject({ deadLettered: 1 });
    await cursorIsAtEnd();
    await fails(await started);
    expect(await reader.status()).toMatchObject({ connected: false, deadLettered: 1 });
    while (!(await reader.status()).connected) await pause(20);
    expect(await reader.status()).toMatchObject({ deadLettered: 1 });
  });

  test('saves how far the store is, although no more records come', async () => {
    await openOn('sqlite', null);
    for (const number of [1, 2, 3]) {
      await write(number);
      await client.flush();
    }
    await cursorIsAtEnd();
  });

  test('calls listeners for records, and removes a listener that fails', () => {
    const heard: LoggedRequest[] = [];
    const stop = events.onRecord((record) => void heard.push(record));
    events.onRecord(() => {
      throw new Error('no');
    });
    const record = { ...finished(), request: request('Where is my order?'), response: null, reasoningContent: null, served: null };
    events.tell(record, true);
    events.tell(record, false);
    stop();
    events.tell(record, true);
    expect(heard.map(({ promptStart, door }) => [promptStart, door])).toEqual([
      ['Where is my order?', 'chat'],
      [null, 'chat'],
    ]);
    expect(heard[0]).not.toHaveProperty('request');
    expect(lines.filter((line) => line.includes('a listener of the live log failed'))).toHaveLength(1);
  });
});

/** cost: a server for each test takes half a second of CPU more, so each test has a database of its own. */
describe('over one PostgreSQL,', () => {
  let server: PostgresServer;
  beforeAll(async () => void (server = await startPostgres()));
  afterAll(async () => await server.stop());

  test('a thread that ends does not report that a store answers again, if the store was not asked', async () => {
    const url = server.database();
    const proxy = await proxyTo(url);
    await openOn('postgres', url.replace(new URL(url).host, new URL(proxy.url).host));
    const before = lines.length;
    const said = (): string => lines.slice(before).join('\n');
    proxy.isMute = true;
    await write(1);
    await expect.poll(said).toContain('does not take records');
    // the second call waits for the first, and both wait for the end of the thread
    const asked = [client.flush(), client.flush()].map((one) => one.catch(() => {}));
    const closed = client.close(15_000);
    // the first call does not wait for its time limit
    proxy.isShut = true;
    proxy.cut();
    await closed;
    await Promise.all(asked);
    expect(said()).not.toContain('answers again');
    await proxy.close();
  });

  test('a PostgreSQL on another continent gets the records, although each connection takes more than a second to open', async () => {
    const url = server.database();
    const proxy = await proxyTo(url);
    // the answer that accepts the login of the gateway
    const isWelcome = (piece: Buffer): boolean => piece.toString('latin1', 0, 1) === 'R';
    proxy.translate = (piece) => {
      proxy.delayMs = isWelcome(piece) ? 1200 : 0;
      return piece;
    };
    await openOn('postgres', url.replace(new URL(url).host, new URL(proxy.url).host));
    await write(1);
    await expect.poll(() => reader.get(idAt(begin, 1)).catch(() => null)).toMatchObject({ id: idAt(begin, 1) });
    await client.close(5000);
    await proxy.close();
  });

  describe('a PostgreSQL that has changed', () => {
    /** The name of a database that has one record. */
    async function withOneStored(): Promise<string> {
      const url = server.database();
      await openOn('postgres', url);
      await write(1);
      await client.flush();
      return new URL(url).pathname.slice(1);
    }

    test('gets its tables again after an empty database has replaced the one in use', async () => {
      const name = await withOneStored();
      server.psql(server.url, `drop database ${name} with (force)`);
      server.psql(server.url, `create database ${name}`);
      await Promise.all([write(2), write(3)]);
      await expect.poll(() => reader.get(idAt(begin, 3)).catch(() => null)).toMatchObject({ id: idAt(begin, 3) });
      expect((await reader.list(everything, { limit: 10, cursor: null })).data.map(({ id }) => id)).toEqual([
        idAt(begin, 3),
        idAt(begin, 2),
      ]);
      await client.close(5000);
    });

    test('gets its tables again at a health check too, and is not reported as healthy before', async () => {
      const name = await withOneStored();
      server.psql(server.url, `drop database ${name} with (force)`);
      server.psql(server.url, `create database ${name}`);
      const isWell = (): Promise<boolean> =>
        client.ping().then(
          () => true,
          () => false,
        );
      expect(await isWell()).toBe(false);
      await expect.poll(isWell).toBe(true);
      expect((await reader.list(everything, { limit: 10, cursor: null })).data).toEqual([]);
      await client.close(5000);
    });

    test('that accepts no records is reported once for each reason', async () => {
      const name = await withOneStored();
      const before = lines.length;
      const reasons = (): readonly string[] =>
        lines
          .slice(before)
          .flatMap((line) => (line.includes('does not take records') ? [(JSON.parse(line) as { reason: string }).reason] : []));
      server.psql(server.url, `alter database ${name} allow_connections false`);
      server.psql(server.url, `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`);
      await write(2);
      await expect.poll(reasons).toContainEqual(expect.stringContaining('not currently accepting connections'));
      await server.kill();
      await expect.poll(reasons).toContainEqual(expect.stringContaining('ECONNREFUSED'));
      await server.start();
      await client.flush().catch(() => {});
      expect(new Set(reasons()).size).toBe(reasons().length);
      await client.close(500);
    });
  });
});
