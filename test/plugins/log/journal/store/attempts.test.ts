/** Attempts in the store, in SQLite and PostgreSQL: each attempt counts, whichever provider answered in the end. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Condition, LogQuery } from '../../../../../core/log/store.ts';
import { createStore } from '../../../../../plugins/log/journal/store/open.ts';
import { floorOf } from '../../../../../plugins/log/journal/store/store.ts';
import type { Store, StoreSettings } from '../../../../../plugins/log/journal/store/store.ts';
import { startPostgres } from '../../../../_kit/servers.ts';
import type { PostgresServer } from '../../../../_kit/servers.ts';
import { attempt, everything, folder, request, rowFor, storeIn } from '../scene.ts';

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(async () => await server.stop());

const minute = 60_000;
const day = 1440 * minute;
const now = Date.now();
const begin = now - 2 * 3_600_000;

const busy = attempt('rate_limit_exceeded', { status: 429, durationMs: 10, target: 'up#2/plain-1' });
const down = attempt('upstream_error', { durationMs: 1000 });
const other = attempt('answered', { provider: 'other', externalId: 'same', durationMs: 200 });
const left = attempt('client_closed', { status: null, durationMs: 50 });

/** The attempts of each of the twelve requests. */
const lives: readonly Partial<Parameters<typeof rowFor>[0] & object>[] = [
  {},
  {},
  {},
  {},
  { provider: 'other', attempts: [down, other] },
  { provider: 'other', attempts: [busy, down, other], metadata: { team: 'a' } },
  {
    provider: 'other',
    attempts: [down, { ...other, outcome: 'upstream_timeout' }],
    outcome: 'failed',
    status: 504,
    error: { code: 'upstream_timeout', message: 'late', plugin: null },
  },
  { provider: null, attempts: [], outcome: 'refused', status: 400, error: { code: 'invalid_value', message: 'no', plugin: null } },
  { attempts: [left], outcome: 'gone', status: 499, error: { code: 'client_closed', message: 'left', plugin: null } },
  { provider: 'other', attempts: [attempt('outrun', { durationMs: 300 }), other] },
  { provider: 'other', attempts: [{ ...other, durationMs: 9 }] },
  { provider: 'cached', attempts: [] },
];

/** Answered without another provider, after its only attempt failed: the gateway itself counts the tokens. */
const countedHere = rowFor({ at: begin - 60 * minute, number: 12, provider: 'up', attempts: [busy], door: 'count_tokens', metadata: {} });
const rows = () => lives.map((life, number) => rowFor({ at: begin + number * minute, number, durationMs: 100, metadata: {}, ...life }));

const where = (field: string, operator: Condition['operator'], ...values: string[]): LogQuery => ({
  ...everything,
  conditions: [{ field, operator, values }],
});

const both = (...queries: LogQuery[]): LogQuery => ({ ...everything, conditions: queries.flatMap(({ conditions }) => conditions) });

describe.each(['sqlite', 'postgres'] as const)('attempts in %s', (kind) => {
  const place = folder();
  const settingsOf = (dataDir: string, retentionDays = 0): StoreSettings => ({
    store: kind,
    url: kind === 'postgres' ? server.database() : null,
    dataDir,
    retentionDays,
    isDurable: false,
  });
  let settings: StoreSettings;
  let store: Store;
  beforeAll(async () => {
    settings = settingsOf(place.path);
    store = await createStore(settings);
    await store.open();
    await store.insert(rows());
  });
  afterAll(async () => {
    await store.close();
    place.remove();
  });
  const found = async (query: LogQuery): Promise<number[]> =>
    (await store.list(query, { limit: 100 })).data.map(({ id }) => Number.parseInt(id.slice(24), 16));
  const counted = async (by: string, query = everything, from = store) =>
    (await from.stats(query, { by, limit: 100 })).map(({ value, requests, errors, rescued }) => [value, requests, errors, rescued]);

  const byProvider = [
    ['up', 10, 4, 3],
    ['other', 5, 1, 0],
  ];

  test.each([
    ['attempt.provider', byProvider],
    ['attempt.model', [['plain', 15, 5, 3]]],
    [
      'attempt.code',
      [
        ['answered', 8, 0, 0],
        ['upstream_error', 3, 3, 2],
        ['client_closed', 1, 0, 0],
        ['outrun', 1, 0, 0],
        ['rate_limit_exceeded', 1, 1, 1],
        ['upstream_timeout', 1, 1, 0],
      ],
    ],
    [
      'attempt.target',
      [
        ['up/plain-1', 9, 3, 2],
        ['other/same', 5, 1, 0],
        ['up#2/plain-1', 1, 1, 1],
      ],
    ],
  ])('are summed up by %s', async (by, expected) => {
    expect(await counted(by)).toEqual(expected);
  });

  test('are found in a request that was answered although its only attempt failed', async () => {
    const own = join(place.path, 'alone');
    mkdirSync(own);
    const alone = await createStore(settingsOf(own));
    await alone.open();
    await alone.insert([...rows(), countedHere]);
    const numbers = async (query: LogQuery) =>
      (await alone.list(query, { limit: 100 })).data.map(({ id }) => Number.parseInt(id.slice(24), 16));
    const [all] = await alone.stats(everything, { by: null, limit: 1 });
    const [rescued] = await alone.stats(where('rescued', 'in', 'true'), { by: null, limit: 1 });
    expect([
      all?.rescued,
      rescued?.requests,
      await numbers(where('rescued', 'in', 'true')),
      (await numbers(where('rescued', 'in', 'false'))).length,
    ]).toEqual([3, 3, [5, 4, 12], 10]);
    await alone.close();
  });

  test('have a latency of their own', async () => {
    const [up, others] = await store.stats(everything, { by: 'attempt.provider', limit: 10 });
    expect([up?.latencyP50Ms, up?.latencyP99Ms, others?.latencyP50Ms]).toEqual([100, 1000, 200]);
  });

  test('are counted over time', async () => {
    const { points } = await store.series(
      { ...everything, from: begin, to: begin + 12 * minute },
      { bucketMs: 6 * minute, by: 'attempt.provider' },
    );
    expect(
      points.reduce<Record<string, number[]>>(
        (sums, { value, errors, requests }) => ({
          ...sums,
          [value ?? '']: [(sums[value ?? '']?.[0] ?? 0) + requests, (sums[value ?? '']?.[1] ?? 0) + errors],
        }),
        {},
      ),
    ).toEqual({ up: [10, 4], other: [5, 1] });
    expect(new Set(points.map(({ at }) => at)).size).toBeGreaterThan(1);
  });

  test.each<[string, LogQuery, unknown]>([
    [
      'a time',
      { ...everything, from: begin, to: begin + 5 * minute },
      [
        ['up', 5, 1, 1],
        ['other', 1, 0, 0],
      ],
    ],
    [
      'metadata',
      where('meta.team', 'in', 'a'),
      [
        ['up', 2, 2, 2],
        ['other', 1, 0, 0],
      ],
    ],
    [
      'those that were tried',
      where('tried', 'in', 'other'),
      [
        ['other', 5, 1, 0],
        ['up', 5, 4, 3],
      ],
    ],
    [
      'an error',
      where('error', 'in', 'upstream_*'),
      [
        ['other', 1, 1, 0],
        ['up', 1, 1, 0],
      ],
    ],
  ])('are those of requests that the filter selects: %s', async (_, query, expected) => {
    expect(await counted('attempt.provider', query)).toEqual(expected);
  });

  test.each<[string, LogQuery, number[]]>([
    ['tried', where('tried', 'in', 'up'), [9, 8, 6, 5, 4, 3, 2, 1, 0]],
    ['not tried', where('tried', 'not in', 'up'), [11, 10, 7]],
    ['tried one of two', where('tried', 'in', 'other', 'none'), [10, 9, 6, 5, 4]],
    ['tried nobody', where('tried', 'in', ''), [11, 7]],
    ['a model that was tried', where('attempt.model', 'in', 'plain'), [10, 9, 8, 6, 5, 4, 3, 2, 1, 0]],
    ['the result of an attempt', where('attempt.code', 'in', 'upstream_error'), [6, 5, 4]],
    [
      'the result of an attempt, also where only its request is stored',
      where('attempt.code', 'in', 'answered', 'outrun'),
      [10, 9, 5, 4, 3, 2, 1, 0],
    ],
    ['no attempt with one of two results', where('attempt.code', 'not in', 'answered', 'upstream_error'), [11, 8, 7]],
    ['a target', where('attempt.target', 'in', 'up#2/plain-1'), [5]],
    ['the result of an attempt at one provider', both(where('tried', 'in', 'other'), where('attempt.code', 'in', 'upstream_error')), []],
    [
      'one of two results of an attempt at one provider',
      both(where('tried', 'in', 'up'), where('attempt.code', 'in', 'upstream_error', 'rate_limit_exceeded')),
      [6, 5, 4],
    ],
    [
      'no result of an attempt, because no provider was tried',
      both(where('tried', 'in', '', 'up'), where('attempt.code', 'in', '')),
      [11, 7],
    ],
    ['rescued', where('rescued', 'in', 'true'), [5, 4]],
    ['not rescued', where('rescued', 'in', 'false'), [11, 10, 9, 8, 7, 6, 3, 2, 1, 0]],
    ['more than one attempt', where('attempts', '>', '1'), [9, 6, 5, 4]],
    ['at least three attempts', where('attempts', '>=', '3'), [5]],
    ['no attempt', where('attempts', '<', '1'), [11, 7]],
    ['an error code', where('error', 'in', 'upstream_timeout'), [6]],
    ['an error glob', where('error', 'in', '*_T*out', 'invalid_value'), [7, 6]],
    ['any error', where('error', 'in', '*'), [8, 7, 6]],
    ['no error', where('error', 'in', ''), [11, 10, 9, 5, 4, 3, 2, 1, 0]],
    ['not an error', where('error', 'not in', 'upstream_timeout', ''), [8, 7]],
    ['a sign that is no star', where('error', 'in', 'invalid%*'), []],
  ])('find requests: %s', async (_, query, expected) => {
    expect(await found(query)).toEqual(expected);
  });

  test('find requests by an error code with capitals', async () => {
    const own = await createStore(settingsOf(folder().path, 30));
    await own.open();
    await own.insert([
      rowFor({ at: now, outcome: 'refused', status: 400, error: { code: 'DataInspectionFailed', message: 'no', plugin: null } }),
    ]);
    const counts = ['DataInspectionFailed', 'datainspection*', 'DATA*', 'inspection'].map(
      async (code) => (await own.list(where('error', 'in', code), { limit: 10 })).data.length,
    );
    expect(await Promise.all(counts)).toEqual([1, 1, 1, 0]);
    await own.close();
  });

  test('are grouped by error, with the times and the number of requests that were answered after all', async () => {
    const faults = await store.faults(everything);
    expect(faults.map(({ provider, code, count, rescued }) => [provider, code, count, rescued])).toEqual([
      [null, 'invalid_value', 1, 0],
      ['other', 'upstream_timeout', 1, 0],
      ['up', 'upstream_error', 3, 2],
      ['up', 'rate_limit_exceeded', 1, 1],
    ]);
    expect(faults[2]).toMatchObject({ firstAt: begin + 4 * minute, lastAt: begin + 6 * minute });
    expect(await store.faults(where('meta.team', 'in', 'a'))).toHaveLength(2);
  });

  test('are grouped in one order where they came at one time: first the requests that asked no provider', async () => {
    const own = await createStore(settingsOf(folder().path, 30));
    await own.open();
    const broke = { outcome: 'failed' as const, status: 502, error: { code: 'upstream_error', message: 'no', plugin: null } };
    await own.insert([
      rowFor({ ...broke, at: now, number: 1, attempts: [attempt('upstream_error')] }),
      rowFor({ ...broke, at: now, number: 2, attempts: [] }),
    ]);
    expect((await own.faults(everything)).map(({ provider }) => provider)).toEqual([null, 'up']);
    await own.close();
  });

  test('count once, however often their record arrives, and survive a restart', async () => {
    await store.insert(rows());
    const again = await createStore(settings);
    await again.open();
    expect(await counted('attempt.provider', everything, again)).toEqual(byProvider);
    await again.close();
  });

  test('are not counted after the retention of their records', async () => {
    const keeping = await createStore(settingsOf(folder().path, 30));
    await keeping.open();
    await keeping.insert([90, 60, 1].map((age, number) => rowFor({ at: now - age * day, number, attempts: [down, other] })));
    expect(await counted('attempt.provider', everything, keeping)).toEqual([
      ['other', 1, 0, 0],
      ['up', 1, 1, 1],
    ]);
    await keeping.close();
  });

  test('are deleted with their records, as the texts and the metadata are', async () => {
    const place = settingsOf(folder().path, 30);
    const keeping = await createStore(place);
    await keeping.open();
    const life = { attempts: [down, other], metadata: { team: 'a' }, request: request('a secret of a customer') };
    await keeping.insert([90, 60, 1].map((age, number) => rowFor({ at: now - age * day, number, ...life })));
    while (await keeping.retain(floorOf(30, now)));
    await keeping.close();
    const tables = ['requests', 'attempts', 'tags'].map((table) => `(select count(distinct id) from gateway_${table}) as ${table}`);
    const sql = `select ${tables.join(', ')}, (select count(*) from gateway_bodies) as bodies`;
    const [left] =
      kind === 'sqlite' ? new DatabaseSync(`${place.dataDir}/logs.db`).prepare(sql).all() : await within(place.url as string, sql);
    expect(Object.fromEntries(Object.entries(left ?? {}).map(([table, count]) => [table, Number(count)]))).toEqual({
      requests: 1,
      attempts: 1,
      tags: 1,
      bodies: 1,
    });
  });

  test('are filled in from the data of an earlier version', async () => {
    const old = settingsOf(folder().path);
    const before = await createStore(old);
    await before.open();
    await before.insert(rows());
    const forget =
      "update gateway_requests set attempts = null, target = null, rescued = false, error_code = null; delete from gateway_attempts; delete from gateway_rollup where dimension like 'attempt%' or dimension like 'complete%';";
    while (await before.roll());
    await (kind === 'sqlite' ? new DatabaseSync(`${old.dataDir}/logs.db`).exec(forget) : within(old.url as string, forget));
    await before.close();
    const store = await createStore(old);
    await store.open();
    expect(await counted('attempt.provider', everything, store)).toEqual([]);
    while (await store.roll());
    expect(await counted('attempt.provider', everything, store)).toEqual(byProvider);
    expect((await store.list(where('rescued', 'in', 'true'), { limit: 10 })).data).toHaveLength(2);
    expect(await counted('error', where('status', 'in', 'error'), store)).toEqual([
      ['client_closed', 1, 1, 0],
      ['invalid_value', 1, 1, 0],
      ['upstream_timeout', 1, 1, 0],
    ]);
    await store.close();
  });
});

async function within(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query<Record<string, unknown>>(sql);
  await client.end();
  return rows;
}

test('a chart of requests that a provider was asked for reads no attempts of other times', async () => {
  const place = folder();
  const store = await storeIn(place.path);
  const rescued = (at: number) => Array.from({ length: 500 }, (_, number) => rowFor({ at, number, attempts: [down, other] }));
  for (let batch = 1; batch <= 12; batch++) await store.insert(rescued(begin - batch * day));
  await store.insert(rescued(begin));
  const before = process.threadCpuUsage();
  const { total } = await store.series(
    { ...where('tried', 'in', 'up'), from: begin - 360 * minute, to: begin + minute },
    { bucketMs: minute },
  );
  const { user } = process.threadCpuUsage(before);
  expect(total.requests).toBe(500);
  // reading the six thousand others for each of the columns takes seconds
  expect(user / 1000).toBeLessThan(1000);
  await store.close();
  place.remove();
});
