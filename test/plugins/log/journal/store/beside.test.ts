/** A store in PostgreSQL while other clients use the same database: a second client blocks each of them at a given place. */
import { readFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { checkStore } from '../../../../../plugins/log/journal/commands.ts';
import { createStore } from '../../../../../plugins/log/journal/store/open.ts';
import { floorOf } from '../../../../../plugins/log/journal/store/store.ts';
import type { Store } from '../../../../../plugins/log/journal/store/store.ts';
import { prune } from '../../../../../plugins/log/journal/upkeep.ts';
import { proxyTo } from '../../../../_kit/proxy.ts';
import { startPostgres } from '../../../../_kit/servers.ts';
import type { PostgresServer } from '../../../../_kit/servers.ts';
import { attempt, begin, everything, idAt, request, response, rowFor } from '../scene.ts';

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(async () => await server.stop());

const week = 7 * 86_400_000;
const settingsOf = (url: string) => ({ store: 'postgres', url, dataDir: '', retentionDays: 0, isDurable: false }) as const;

async function opened(url: string): Promise<Store> {
  const store = await createStore(settingsOf(url));
  await store.open();
  onTestFinished(() => store.close());
  return store;
}

/** Another client of the database, in a transaction. */
async function other(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  onTestFinished(() => client.end());
  await client.query('begin');
  return client;
}

/**
 * Whether a client waits for a lock of another client. The client that holds the lock asks: a
 * waiting client gives up after two seconds, in which a busy machine can hardly start a psql.
 */
const waiting = (client: pg.Client) => async (): Promise<boolean> =>
  (
    await client.query(
      'select from pg_locks l join pg_database d on d.oid = l.database where not l.granted and d.datname = current_database()',
    )
  ).rowCount !== 0;

test('a reader sees a record with all of its parts, or not at all', async () => {
  const url = server.database();
  const [store, reader] = [await opened(url), await opened(url)];
  await store.insert([rowFor({ number: 1 })]);
  const client = await other(url);
  await client.query('lock table gateway_bodies in share mode');
  const inserted = store.insert([rowFor({ number: 2, request: request('hi'), response: response('Hello.') })]);
  await expect.poll(waiting(client)).toBe(true);
  expect(await reader.get(idAt(begin, 2))).toBeNull();
  await client.query('commit');
  await inserted;
  expect((await reader.get(idAt(begin, 2)))?.response).not.toBeNull();
});

test('a client that has read one table and then reads another waits for no lock while a week is dropped', async () => {
  const url = server.database();
  const store = await opened(url);
  await store.insert([rowFor({ number: 1 })]);
  const client = await other(url);
  await client.query('select from gateway_tags');
  const changed = store.retain(begin + 10 * week);
  await expect.poll(waiting(client)).toBe(true);
  await client.query("set local lock_timeout = '500ms'");
  await client.query('select from gateway_bodies');
  await client.query('select from gateway_requests');
  await client.query('commit');
  await changed;
});

test('a week that was dropped in part, because a view of the operator reads one of its tables, is dropped once the view is gone', async () => {
  const url = server.database();
  const store = await opened(url);
  await store.insert([rowFor({ number: 1 })]);
  const client = await other(url);
  const parts = "select inhrelid::regclass::text as name from pg_inherits join pg_class p on p.oid = inhparent where p.relkind = 'p'";
  const bodies = (await client.query<{ name: string }>(parts)).rows.find(({ name }) => name.startsWith('gateway_bodies_'));
  await client.query(`create view mine as select id from ${bodies?.name}; commit`);
  await expect(store.retain(begin + 10 * week)).rejects.toThrow('cannot drop table');
  await client.query('drop view mine');
  await store.retain(begin + 10 * week);
  expect((await client.query(parts)).rows).toEqual([]);
});

test('a gateway whose clock is ahead drops no records that the others still keep', async () => {
  const store = await opened(server.database());
  const now = Date.now();
  await store.insert([rowFor({ at: now - 3 * week, number: 1 }), rowFor({ at: now, number: 2 })]);
  vi.useFakeTimers({ toFake: ['Date'], now: now + 52 * week });
  onTestFinished(() => void vi.useRealTimers());
  while (await store.retain(floorOf(8, Date.now())));
  expect((await store.list(everything, { limit: 10 })).data.map(({ id }) => id)).toEqual([idAt(now, 2)]);
});

test('records are stored over the one connection that a full server leaves', async () => {
  const url = server.database();
  const name = new URL(url).pathname.slice(1);
  server.psql(server.url, `create role crowded login; alter database ${name} owner to crowded`);
  const crowded = url.replace('gateway@', 'crowded@');
  await (await opened(crowded)).insert([rowFor({ number: 1 })]);
  server.psql(server.url, 'alter role crowded connection limit 1');
  server.psql(server.url, "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'crowded'");
  const texts = { metadata: { team: 'a' }, request: request('hi'), response: response('Hello.') };
  const row = rowFor({ number: 2, ...texts, outcome: 'failed', attempts: [attempt('upstream_error')] });
  const store = await opened(crowded);
  // the server may not have ended the former connections yet
  await expect.poll(() => store.insert([row]).then(() => 'stored', String)).toBe('stored');
  expect(server.psql(url, 'select (select count(*) from gateway_tags), (select count(*) from gateway_attempts)')).toBe('1|1');
});

test('the first record of a week is stored while another client reads all tables for a long time, as pg_dump does', async () => {
  const url = server.database();
  const store = await opened(url);
  await store.insert([rowFor({ number: 1 })]);
  const client = await other(url);
  for (const table of ['requests', 'bodies', 'tags', 'attempts']) await client.query(`lock table gateway_${table} in access share mode`);
  const [one, many] = [
    rowFor({ at: begin + week, number: 2 }),
    { at: begin + week, number: 3, metadata: { team: 'a' }, request: request('hi'), response: response('Hello.') },
  ];
  await store.insert([one, rowFor({ ...many, outcome: 'failed', attempts: [attempt('upstream_error')] })]);
  expect((await store.list(everything, { limit: 10 })).data.map(({ id }) => id)).toEqual([
    idAt(begin + week, 3),
    idAt(begin + week, 2),
    idAt(begin, 1),
  ]);
  const indexes = '(select count(*) from pg_index where indrelid = ';
  const { rows } = await client.query(
    `select ${indexes} inhrelid) - ${indexes} inhparent) as more from pg_inherits join pg_class p on p.oid = inhparent where p.relkind = 'p'`,
  );
  expect(rows).toEqual(Array.from({ length: 8 }, () => ({ more: '0' })));
});

test('pages of a search have no record twice, although records arrive while a page is read', async () => {
  const url = server.database();
  const store = await opened(url);
  // the match is the last of the 50 records that the first query of a search looks through
  await store.insert(
    Array.from({ length: 150 }, (_, number) => rowFor({ at: begin, number, request: request(number === 100 ? 'needle' : 'hay') })),
  );
  const proxy = await proxyTo(url);
  onTestFinished(() => proxy.close());
  const reader = await opened(url.replace(String(server.port), new URL(proxy.url).port));
  let isLater = false;
  proxy.translate = (piece) => {
    if (isLater || !piece.includes(idAt(begin, 100))) return piece;
    isLater = true;
    server.psql(
      url,
      `insert into gateway_requests select (jsonb_populate_record(r, jsonb_build_object('id', '${idAt(begin, 9000).slice(0, -1)}' || n))).* from gateway_requests r, generate_series(1, 5) n where r.id = '${idAt(begin, 100)}'`,
    );
    return piece;
  };
  const query = { ...everything, text: 'needle' };
  let page = await reader.list(query, { limit: 10 });
  const found = [...page.data];
  while (page.next !== null) {
    page = await reader.list(query, { limit: 10, cursor: page.next });
    found.push(...page.data);
  }
  expect(isLater).toBe(true);
  expect(found.map(({ id }) => id)).toEqual([idAt(begin, 100)]);
});

test('a search reads the bodies of the records in its time range, and not those of all weeks', async () => {
  const url = server.database();
  const store = await opened(url);
  const rows = Array.from({ length: 8000 }, (_, number) =>
    rowFor({ at: begin + Math.floor(number / 2000) * week, number, request: request('hay'.repeat(20)) }),
  );
  await store.insert(rows);
  server.psql(url, 'vacuum analyze');
  const reader = await createStore(settingsOf(url));
  await reader.open();
  const last = { ...everything, from: begin + 3 * week, text: 'needle' };
  await reader.list(last, { limit: 10 });
  await reader.stats(last, { by: null, limit: 1 });
  await reader.close();
  const read = `select sum(idx_tup_fetch) > 0, sum(seq_tup_read) from pg_stat_user_tables where relname like 'gateway\\_bodies\\_%'`;
  await expect.poll(() => server.psql(url, read)).toBe('t|0');
});

test('gateway logs prune counts the records that it deleted, not those that came meanwhile', async () => {
  const url = server.database();
  const store = await opened(url);
  await store.insert([
    ...Array.from({ length: 10 }, (_, number) => rowFor({ at: Date.now() - 60 * 86_400_000, number })),
    rowFor({ at: Date.now(), number: 10 }),
  ]);
  const client = await other(url);
  await client.query('lock table gateway_rollup in share mode');
  let said = '';
  const pruned = prune(settingsOf(url), {
    flags: { text: () => '30d' } as never,
    json: true,
    print: (text) => void (said += text),
    say: () => {},
  });
  await expect.poll(waiting(client)).toBe(true);
  const inserted = store.insert(Array.from({ length: 20 }, (_, number) => rowFor({ at: Date.now(), number: 11 + number })));
  await expect.poll(async () => (await client.query('select from gateway_requests')).rowCount).toBe(31);
  await client.query('commit');
  await Promise.all([pruned, inserted]);
  expect(JSON.parse(said)).toMatchObject({ deleted: 10 });
});

test('a migration takes the time that it needs, also where the database has a time limit for each statement', async () => {
  const url = server.database();
  server.psql(url, `alter database ${new URL(url).pathname.slice(1)} set statement_timeout = '1s'`);
  server.psql(
    url,
    `create table slept (at timestamptz);
    create function sleep_once() returns event_trigger language plpgsql as $$ begin
      if not exists (select from slept) then
        insert into slept values (now());
        perform pg_sleep(1.5);
      end if;
    end $$;
    create event trigger slow on ddl_command_start when tag in ('CREATE INDEX') execute function sleep_once()`,
  );
  const store = await opened(url);
  await store.insert([rowFor({ number: 1 })]);
  expect(await store.get(idAt(begin, 1))).not.toBeNull();
});

/** An error as PgBouncer sends it. wire: `E`, the length, and fields that end with a zero, of severity, code and message. */
function errorOf(message: string): Buffer {
  const fields = Buffer.from(`SFATAL\0VFATAL\0C08P01\0M${message}\0\0`);
  const head = Buffer.from('E\0\0\0\0');
  head.writeUInt32BE(fields.length + 4, 1);
  return Buffer.concat([head, fields]);
}

/**
 * Starts a proxy that refuses time limits, as PgBouncer does, and returns its address.
 * @param heard gets the bytes of each connection after its first message
 */
async function poolerOf(url: string, heard: Buffer[][] = []): Promise<string> {
  const { hostname, port } = new URL(url);
  const pooler = createServer(
    (client) =>
      void client
        .on('error', () => {})
        .once('data', (startup) => {
          const [refused] = /[a-z_]+_timeout/.exec(startup.toString('latin1')) ?? [];
          if (refused !== undefined) {
            client.end(errorOf(`unsupported startup parameter: ${refused}`));
            return;
          }
          const upstream = connect(Number(port), hostname).on('error', () => client.destroy());
          upstream.write(startup);
          const sent: Buffer[] = [];
          heard.push(sent);
          client.on('data', (bytes: Buffer) => void sent.push(bytes));
          client.pipe(upstream).pipe(client);
        }),
  );
  await new Promise<void>((resolve) => pooler.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void pooler.close());
  return Object.assign(new URL(url), { host: `127.0.0.1:${(pooler.address() as AddressInfo).port}` }).href;
}

test('a pooler that refuses time limits gets connections without them', async () => {
  const url = await poolerOf(server.database());
  const store = await opened(url);
  await store.insert([rowFor({ number: 1 })]);
  expect(await store.get(idAt(begin, 1))).not.toBeNull();
});

/** After how many seconds of silence the kernel asks whether the other end is there, for each connection to a port. */
function silences(port: number): number[] {
  const remote = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const rows = readFileSync('/proc/self/net/tcp', 'utf8')
    .split('\n')
    .map((row) => row.trim().split(/\s+/));
  const open = rows.filter(([, , to, state]) => to?.endsWith(remote) === true && state === '01');
  // a timer of the kind 02 is that of a keep-alive, and has hundredths of a second
  return open.map(([, , , , , timer = '']) => (timer.startsWith('02:') ? Number.parseInt(timer.slice(3), 16) / 100 : Infinity));
}

test('a migration may take days, and a server that is gone is noticed meanwhile', async () => {
  const url = server.database();
  const pooler = await poolerOf(url);
  const client = await other(url);
  // the lock of migrations
  await client.query('select pg_advisory_xact_lock(727472101)');
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const opening = opened(pooler);
  await expect.poll(waiting(client)).toBe(true);
  // a connection has one timer, and while its last bytes are not acknowledged, that is another one
  if (process.platform === 'linux') await expect.poll(() => Math.max(...silences(Number(new URL(pooler).port)))).toBeLessThan(60);
  await vi.advanceTimersByTimeAsync(3 * 86_400_000);
  await client.query('commit');
  await opening;
});

/** The names of the statements that a client prepares. wire: `P`, the length, the name and a zero. */
function namesIn(sent: Buffer): string[] {
  const names: string[] = [];
  for (let at = 0; at < sent.length; at += 1 + sent.readUInt32BE(at + 1)) {
    if (sent[at] === 0x50) names.push(sent.toString('latin1', at + 5, sent.indexOf(0, at + 5)));
  }
  return names;
}

test('no statement has a name, so that a pooler may send each statement over another connection', async () => {
  const heard: Buffer[][] = [];
  const store = await opened(await poolerOf(server.database(), heard));
  await store.insert([rowFor({ number: 1, metadata: { tenant: 'a' }, request: request('hi'), response: response('hello') })]);
  await store.get(idAt(begin, 1));
  await store.roll();
  const names = heard.flatMap((sent) => namesIn(Buffer.concat(sent)));
  expect(names.length).toBeGreaterThan(4);
  expect(new Set(names)).toEqual(new Set(['']));
});

describe('gateway doctor, for a database that answers and accepts no records', () => {
  const found = async (url: string): Promise<readonly unknown[]> => {
    const { state, text, fix } = await checkStore('', { store: 'postgres', url, retention_days: 0 });
    return [state, text.replace(/^postgres \S+ /, ''), fix];
  };
  const as = (user: string, url: string): string => Object.assign(new URL(url), { username: user }).href;

  test('says that it is read-only', async () => {
    const url = server.database();
    await opened(url);
    expect((await found(url))[0]).toBe('good');
    server.psql(url, `alter database ${new URL(url).pathname.slice(1)} set default_transaction_read_only = on`);
    expect(await found(url)).toEqual([
      'fault',
      'takes no records, because it is read-only',
      expect.stringContaining('to the address of the primary'),
    ]);
  });

  test('says which right its user lacks', async () => {
    const url = server.database();
    server.psql(url, 'create role modest login; revoke create on schema public from public');
    const modest = as('modest', url);
    expect(await found(modest)).toEqual([
      'fault',
      'takes no records of a new week, because modest may not create tables in the schema public',
      'grant create on schema public to modest',
    ]);
    server.psql(url, 'grant create on schema public to modest');
    expect((await found(modest))[0]).toBe('note');
    await opened(url);
    server.psql(url, 'grant all on all tables in schema public to modest');
    expect(await found(modest)).toEqual([
      'fault',
      expect.stringMatching(/^takes no records of a new week, because modest does not own gateway_attempts, .*gateway_tags$/),
      'alter table … owner to modest',
    ]);
    server.psql(url, 'alter role modest set search_path = nowhere');
    expect(await found(modest)).toEqual([
      'fault',
      'has no schema for tables: none of the search_path of modest is there',
      'create one of them',
    ]);
  });

  test('says that the database cannot store all characters', async () => {
    server.psql(server.url, "create database latin encoding 'LATIN1' template template0 lc_collate 'C' lc_ctype 'C'");
    expect(await found(Object.assign(new URL(server.url), { pathname: '/latin' }).href)).toEqual([
      'fault',
      'is in LATIN1, so records with other characters become dead letters',
      expect.stringContaining('encoding UTF8'),
    ]);
  });
});
