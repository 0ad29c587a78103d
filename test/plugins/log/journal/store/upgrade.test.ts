/** A database of the version before migration 3 is migrated when it is opened; its rows stay, and all filters work on them. */
import { DatabaseSync } from 'node:sqlite';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { databaseOf } from '../../../../../plugins/log/journal/store/database.ts';
import { checksumOf } from '../../../../../plugins/log/journal/store/migrations.ts';
import { createStore } from '../../../../../plugins/log/journal/store/open.ts';
import { createWeek, weekOf } from '../../../../../plugins/log/journal/store/partitions.ts';
import { postgresMigrations } from '../../../../../plugins/log/journal/store/postgres-migrations.ts';
import { sqliteFile } from '../../../../../plugins/log/journal/store/sqlite.ts';
import { sqliteMigrations } from '../../../../../plugins/log/journal/store/sqlite-migrations.ts';
import type { Store, StoreSettings } from '../../../../../plugins/log/journal/store/store.ts';
import { startPostgres } from '../../../../_kit/servers.ts';
import type { PostgresServer } from '../../../../_kit/servers.ts';
import { begin, everything, folder, idAt, rowFor } from '../scene.ts';

/** The migrations of that version. A released migration is never changed: a database with another checksum is refused. */
const released = {
  sqlite: [
    '9640e129304d33bd712b74dbb2ed6eaf2fb36c88d363f69252a33b15a6c94dfc',
    'bb5e87a3853799edbcb2f0dc3ac67dba70113b8977c5edc85858b1117c33ca03',
  ],
  postgres: [
    '6f6874e0189a226c563cbbc772dab5427d9e5e631f99293efe4ed484b5403bf4',
    '0543f9d2b89a88882145b11dcf7589ad619ce694661f9d60e90a49dcbbcb1ab1',
  ],
};

const migrationsOf = { sqlite: sqliteMigrations.slice(0, 2), postgres: postgresMigrations.slice(0, 2) };
const ledgerSql =
  'create table gateway_migrations (id integer primary key, name text not null, checksum text not null, applied_at text not null)';

const columns =
  'id, created_at, requested_model, model, provider, key_name, stream, status, failed, outcome, finish_reason, duration_ms, ttft_ms, prompt_tokens, completion_tokens, reasoning_tokens, cached_tokens, cache_write_tokens, total_tokens, cost, metadata, more, user_agent, estimated';
const more = {
  clientRequestId: null,
  method: 'POST',
  path: '/v1/chat/completions',
  nativeFinishReason: 'stop',
  tokensPerSecond: null,
  prices: { prompt: '0.000001', completion: '0.000002' },
  attempts: [
    {
      provider: 'up',
      model: 'plain',
      externalId: 'plain-1',
      outcome: 'answered',
      status: 200,
      startedMs: 5,
      durationMs: 90,
      timeToFirstTokenMs: 20,
      error: null,
    },
  ],
  ruledOut: [],
  adjustments: [],
  error: null,
  configHash: 'hash',
};

/** Values in the form of that version; a flag is 0 or 1 in SQLite. */
const rowValues = (number: number, flag: (value: boolean) => unknown) => [
  begin + number,
  'auto',
  number === 2 ? null : 'plain',
  'up',
  'team',
  flag(number === 1),
  number === 2 ? 429 : 200,
  flag(number === 2),
  number === 2 ? 'refused' : 'answered',
  'completed',
  100 + number * 1000,
  null,
  10,
  5,
  2,
  0,
  null,
  15,
  123_000_000,
  JSON.stringify({ 'tenant-id': `tenant-${number}` }),
  JSON.stringify(more),
  'curl/8',
  flag(false),
];

function makeSqlite(file: string): void {
  const database = new DatabaseSync(file);
  database.exec(ledgerSql);
  for (const { id, name, sql } of migrationsOf.sqlite) {
    database.exec(sql);
    database
      .prepare('insert into gateway_migrations values (?, ?, ?, ?)')
      .run(id, name, released.sqlite[id - 1] as string, '2026-01-01T00:00:00Z');
  }
  for (const number of [0, 1, 2]) {
    const id = Buffer.from(idAt(begin + number, number).replaceAll('-', ''), 'hex');
    database
      .prepare(`insert into gateway_requests (${columns}) values (${'?, '.repeat(23)}?)`)
      .run(id, ...(rowValues(number, Number) as number[]));
    database.prepare('insert into gateway_tags values (?, ?, ?)').run('tenant-id', `tenant-${number}`, id);
    if (number === 0) database.prepare('insert into gateway_bodies values (?, ?, ?, ?)').run(id, '{"model":"plain"}', null, null);
  }
  database.close();
}

async function makePostgres(url: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(ledgerSql);
  for (const { id, name, sql } of migrationsOf.postgres) {
    await client.query(sql);
    await client.query('insert into gateway_migrations values ($1, $2, $3, $4)', [
      id,
      name,
      released.postgres[id - 1],
      '2026-01-01T00:00:00Z',
    ]);
  }
  for (const sql of createWeek(weekOf(idAt(begin))).filter((one) => !one.includes('gateway_attempts'))) await client.query(sql);
  for (const number of [0, 1, 2]) {
    const id = idAt(begin + number, number);
    await client.query(
      `insert into gateway_requests (${columns}) values (${Array.from({ length: 24 }, (_, at) => `$${at + 1}`).join(', ')})`,
      [id, ...rowValues(number, (value) => value)],
    );
    await client.query('insert into gateway_tags values ($1, $2, $3)', ['tenant-id', `tenant-${number}`, id]);
    if (number === 0) await client.query('insert into gateway_bodies values ($1, $2, $3, $4)', [id, '{"model":"plain"}', null, null]);
  }
  await client.end();
}

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(async () => await server.stop());

describe.each(['sqlite', 'postgres'] as const)('a database of the previous version, in %s', (kind) => {
  const place = folder();
  let settings: StoreSettings;
  let store: Store;
  beforeAll(async () => {
    settings = {
      store: kind,
      url: kind === 'postgres' ? server.database() : null,
      dataDir: place.path,
      retentionDays: 0,
      isDurable: false,
    };
    await (kind === 'sqlite' ? makeSqlite(`${place.path}/logs.db`) : makePostgres(settings.url as string));
    store = await createStore(settings);
  });
  afterAll(async () => {
    await store.close();
    place.remove();
  });
  const found = async (address: Record<string, [operator: any, value: string]>): Promise<number[]> => {
    const conditions = Object.entries(address).map(([field, [operator, value]]) => ({ field, operator, values: [value] }));
    return (await store.list({ ...everything, conditions }, { limit: 10 })).data.map(({ id }) => Number.parseInt(id.slice(24), 16));
  };

  const later = (kind === 'sqlite' ? sqliteMigrations : postgresMigrations).slice(2).map(({ id }) => id);

  test('has migrations that are unchanged since their release', () => {
    expect(migrationsOf[kind].map(checksumOf)).toEqual(released[kind]);
  });

  test('is migrated when it is opened', async () => {
    const applied = async () => (await databaseOf(settings).migrations()).map(({ id, isApplied }) => [id, isApplied]);
    expect(await applied()).toEqual([[1, true], [2, true], ...later.map((id) => [id, false])]);
    await store.open();
    expect(await applied()).toEqual([[1, true], [2, true], ...later.map((id) => [id, true])]);
  });

  test('keeps all of its rows', async () => {
    expect(await store.get(idAt(begin, 0))).toEqual({
      ...more,
      id: idAt(begin, 0),
      createdAt: new Date(begin).toISOString(),
      userAgent: 'curl/8',
      clientAddress: null,
      requestedModel: 'auto',
      model: 'plain',
      provider: 'up',
      key: 'team',
      stream: false,
      status: 200,
      outcome: 'answered',
      finishReason: 'completed',
      durationMs: 100,
      timeToFirstTokenMs: null,
      usage: { promptTokens: 10, completionTokens: 5, reasoningTokens: 2, cachedTokens: 0, cacheWriteTokens: null, totalTokens: 15 },
      usageEstimated: false,
      reasoningEstimated: false,
      cost: '0.000123',
      costIsUpperBound: false,
      providerCost: null,
      usageDetails: null,
      door: null,
      promptStart: null,
      metadata: { 'tenant-id': 'tenant-0' },
      timings: {},
      fields: {},
      request: { model: 'plain' },
      response: null,
      reasoningContent: null,
      upstream: null,
    });
    expect(await found({})).toEqual([2, 1, 0]);
  });

  test.each<[Record<string, [string, string]>, number[]]>([
    [{ model: ['in', 'plain'] }, [1, 0]],
    [{ model: ['in', ''] }, [2]],
    [{ status: ['in', 'error'] }, [2]],
    [{ stream: ['in', 'true'] }, [1]],
    [{ agent: ['in', 'curl/8'] }, [2, 1, 0]],
    [{ reasoning: ['in', 'true'] }, [2, 1, 0]],
    [{ latency: ['>', '1000'] }, [2, 1]],
    [{ cost: ['>', '0.0001'] }, [2, 1, 0]],
    [{ 'meta.tenant-id': ['in', 'tenant-1'] }, [1]],
    [{ 'field.verdict': ['in', ''] }, [2, 1, 0]],
    [{ 'field.verdict': ['in', 'bad'] }, []],
    [{ 'field.score': ['>', '0'] }, []],
    [{ door: ['in', ''] }, [2, 1, 0]],
    [{ door: ['in', 'chat'] }, []],
  ])('filters its rows by %j', async (conditions, numbers) => {
    expect(await found(conditions)).toEqual(numbers);
  });

  test('accepts records with fields of plugins', async () => {
    await store.insert([rowFor({ at: begin + 3, number: 3, fields: { verdict: 'bad', score: 3 } })]);
    expect([
      await found({ 'field.verdict': ['in', 'bad'] }),
      await found({ 'field.score': ['>=', '3'] }),
      await found({ 'field.verdict': ['in', ''] }),
    ]).toEqual([[3], [3], [2, 1, 0]]);
    expect((await store.stats(everything, { by: 'field.verdict', limit: 10 })).map(({ value, requests }) => [value, requests])).toEqual([
      [null, 3],
      ['bad', 1],
    ]);
  });
});

test('a store that is newer than this program is used, and a warning says so', async () => {
  const place = folder();
  const settings: StoreSettings = { store: 'sqlite', url: null, dataDir: place.path, retentionDays: 0, isDurable: false };
  const opened = async (): Promise<void> => {
    const store = await createStore(settings);
    await store.open();
    await store.close();
  };
  const warnings: string[] = [];
  const listen = ({ message }: Error): void => void warnings.push(message);
  process.on('warning', listen);
  await opened();
  const file = new DatabaseSync(sqliteFile(place.path));
  file.exec("insert into gateway_migrations values (1000, 'of the future', 'x', '2030-01-01')");
  file.close();
  expect(warnings).toEqual([]);
  await opened();
  await new Promise((resolve) => setImmediate(resolve));
  process.off('warning', listen);
  expect(warnings).toEqual([expect.stringMatching(/newer than this program.*gateway db status/)]);
  place.remove();
});
