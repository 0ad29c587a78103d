/** Kept sums agree with the records: exact sums, and percentiles within one percent. In SQLite and PostgreSQL. */
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Condition, LogQuery, StatsRow } from '../../../../../core/log/store.ts';
import type { Store } from '../../../../../plugins/log/journal/store/store.ts';
import { ruleOf } from '../../../../../plugins/log/journal/sums/rollup-rules.ts';
import { complete, summed } from '../../../../../plugins/log/journal/sums/rollup.ts';
import { startPostgres } from '../../../../_kit/servers.ts';
import type { PostgresServer } from '../../../../_kit/servers.ts';
import { pause } from '../../../../_kit/upstream.ts';
import { attempt, everything, folder, rowFor, storeIn } from '../scene.ts';

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(async () => await server.stop());

test('the name of the sums changes with a new dimension, so that they are made again', () => {
  expect([complete, summed.join(' ')]).toEqual([
    'complete 4',
    'status outcome model provider key agent stream finish error door attempt.provider attempt.model attempt.code attempt.target failed',
  ]);
});

const minute = 60_000;
const hour = 60 * minute;
/** The time of the first record: all records are in the recent past. */
const begin = Math.floor(Date.now() / hour) * hour - 20 * hour;

/** 440 records of all kinds, from fourteen hours, with one empty hour and one busy hour. */
const records = Array.from({ length: 440 }, (_, at) => ({
  at: at >= 400 ? begin + 5 * hour + at : begin + at * 2 * minute + (at > 200 ? hour : 0),
  number: at,
  model: ['plain', 'thinker', null][at % 3] as string | null,
  provider: at % 3 === 2 ? null : 'up',
  stream: at % 5 === 0,
  status: at % 10 === 9 ? 429 : 200,
  outcome:
    at % 10 === 9
      ? ('refused' as const)
      : at % 50 === 7
        ? ('cut' as const)
        : at % 50 === 20 || at % 50 === 21
          ? ('gone' as const)
          : ('answered' as const),
  durationMs: 1 + at * 7,
  timeToFirstTokenMs: at % 5 === 0 ? 1 + at : null,
  cost: at % 10 === 9 ? null : `0.${String(at + 1).padStart(6, '0')}`,
  usageEstimated: at % 50 === 7,
  ...(at % 10 === 9 && {
    attempts: [],
    error: { code: at % 20 === 19 ? 'DataInspectionFailed' : 'rate_limit_exceeded', message: 'later', plugin: null },
  }),
  ...(at % 8 === 3 &&
    at % 10 !== 9 && {
      attempts: [attempt('upstream_error', { durationMs: at }), attempt('answered', { provider: 'other', durationMs: 3 * at })],
    }),
  userAgent: at % 2 === 0 ? 'curl/8' : null,
  key: at % 7 === 0 ? '' : `team-${at % 3}`,
  metadata: {
    ...(at % 13 !== 0 && { empty: at % 11 === 0 ? '' : 'full' }),
    tenant: `tenant-${at % 6}`,
    request: `r-${at}`,
    ...(at < 60 && { 'early "bird"': 'ä' }),
  } as Record<string, string>,
  fields: {
    ...(at % 13 !== 0 && { verdict: at % 4 === 0 ? 'bad' : 'good' }),
    score: at % 3,
    isKnown: at % 2 === 0,
    ...(at < 60 && { early: 0.1 }),
  } as Record<string, string | number | boolean>,
}));

const where = (field: string, operator: Condition['operator'], ...values: string[]): LogQuery => ({
  ...everything,
  conditions: [{ field, operator, values }],
});

const queries: readonly (readonly [what: string, query: LogQuery, by: string | null])[] = [
  ['all', everything, null],
  ['all by model', everything, 'model'],
  ['all by status', everything, 'status'],
  ['all by stream', everything, 'stream'],
  ['all by user agent', everything, 'agent'],
  ['all by a tenant', everything, 'meta.tenant'],
  ['all by a metadata key that only some have', everything, 'meta.early "bird"'],
  ['a part that begins and ends within an hour', { ...everything, from: begin + 11 * minute, to: begin + 10 * hour + 7 * minute }, 'model'],
  ['one model', where('model', 'in', 'plain'), 'model'],
  ['no model', where('model', 'in', ''), null],
  ['any model', where('model', 'not in', ''), null],
  ['errors: a caller that left in the middle of a stream is no error', where('status', 'in', 'error'), null],
  ['what is no error', where('status', 'in', 'ok'), null],
  ['all but the errors', where('status', 'not in', 'error'), null],
  ['what is no 4xx', where('status', 'not in', '4xx'), 'status'],
  ['streams', where('stream', 'in', 'true'), null],
  ['a metadata key whose values hardly repeat, and are not kept for each hour', everything, 'meta.request'],
  ['records without a metadata key; an empty value is a value', where('meta.empty', 'in', ''), null],
  ['records with a metadata key, also with an empty value', where('meta.empty', 'not in', ''), 'meta.empty'],
  ['an empty key', where('key', 'not in', ''), 'key'],
  ['all by a field of a plugin', everything, 'field.verdict'],
  ['all by a number of a plugin', everything, 'field.score'],
  ['all by a field that only some have', everything, 'field.early'],
  ['records with a field', where('field.verdict', 'not in', ''), null],
  ['a flag of a plugin', where('field.isKnown', 'in', 'true'), 'field.isKnown'],
  ['attempts by provider', everything, 'attempt.provider'],
  ['attempts by model', everything, 'attempt.model'],
  ['attempts by their result', everything, 'attempt.code'],
  ['attempts by target', everything, 'attempt.target'],
  ['all by error', everything, 'error'],
  ['errors of a kind', where('error', 'in', 'rate_*'), 'error'],
  ['an error that a provider writes with capitals', where('error', 'in', 'DataInspectionFailed'), 'error'],
  ['errors of a kind with capitals', where('error', 'in', 'data*'), 'error'],
  ['no error', where('error', 'in', ''), null],
  ['two tenants', where('meta.tenant', 'in', 'tenant-1', 'tenant-2'), 'meta.tenant'],
];
/** Answers that are read from the records themselves, before and after the sums are made. */
const others: typeof queries = [
  ['attempts of one tenant', where('meta.tenant', 'in', 'tenant-3'), 'attempt.provider'],
  ['requests with an attempt of a kind', where('attempt.code', 'in', 'upstream_error'), null],
  ['all attempts of requests with one of a kind', where('attempt.code', 'in', 'upstream_error'), 'attempt.code'],
  ['requests that were tried at a model', where('attempt.model', 'in', 'plain'), null],
  ['rescued requests by the results of their attempts', where('rescued', 'in', 'true'), 'attempt.code'],
  ['a model by provider', where('model', 'in', 'plain'), 'provider'],
  ['slow requests', where('latency', '>', '1000'), null],
  ['high scores', where('field.score', '>', '1'), 'field.score'],
];

const percentiles = ['latencyP50Ms', 'latencyP95Ms', 'latencyP99Ms', 'timeToFirstTokenP50Ms', 'timeToFirstTokenP95Ms'] as const;
const exactOf = (rows: readonly StatsRow[]): object[] =>
  rows.map((row) => ({ ...row, ...Object.fromEntries(percentiles.map((name) => [name, null])) }));
const roughOf = (rows: readonly StatsRow[]): (number | null)[] => rows.flatMap((row) => percentiles.map((name) => row[name]));

function expectSame(rolled: readonly StatsRow[], raw: readonly StatsRow[]): void {
  expect(exactOf(rolled)).toEqual(exactOf(raw));
  const [a, b] = [roughOf(rolled), roughOf(raw)];
  expect(b.filter((value, at) => a[at] !== value && !(Math.abs((a[at] ?? NaN) - (value ?? NaN)) <= 1 + (value ?? 0) / 100))).toEqual([]);
}

describe.each(['sqlite', 'postgres'] as const)('sums kept in %s', (kind) => {
  const place = folder();
  let store: Store;
  const rollAll = async (): Promise<void> => {
    while (await store.roll());
  };
  const raw = new Map<string, { stats: readonly StatsRow[]; series: readonly StatsRow[] }>();
  const ask = async (query: LogQuery, by: string | null): Promise<{ stats: readonly StatsRow[]; series: readonly StatsRow[] }> => ({
    stats: await store.stats(query, { by, limit: 1000 }),
    series: (await store.series(query, { bucketMs: 2 * hour, by })).points,
  });
  beforeAll(async () => {
    store = await storeIn(place.path, kind === 'postgres' ? server.database() : null);
    await store.insert(records.map(rowFor));
    for (const [what, query, by] of [...queries, ...others]) raw.set(what, await ask(query, by));
    await rollAll();
  });
  afterAll(async () => {
    await store.close();
    place.remove();
  });

  test.each(queries)('answer for %s', async (what, query, by) => {
    const { stats, series } = await ask(query, by);
    expect(stats.length).toBeGreaterThan(0);
    expectSame(stats, raw.get(what)?.stats ?? []);
    expectSame(series, raw.get(what)?.series ?? []);
    // the sums alone cannot show that the records were not read; the percentiles show it
    expect(roughOf(stats)).not.toEqual(roughOf(raw.get(what)?.stats ?? []));
  });

  test.each(others)('are not used for %s', async (what, query, by) => {
    expect(await ask(query, by)).toEqual(raw.get(what));
  });

  test('count a late record, at once and when the sums are made again', async () => {
    const late = { ...records[5], at: begin + 3 * hour + 1, number: 5000, model: 'late' };
    await store.insert([rowFor(late)]);
    const counted = async (): Promise<(number | undefined)[]> => [
      (await store.stats(everything, { by: null, limit: 1000 }))[0]?.requests,
      (await store.stats(everything, { by: 'model', limit: 1000 })).find(({ value }) => value === 'late')?.requests,
      (await store.stats(everything, { by: 'meta.tenant', limit: 1000 }))[0]?.requests,
    ];
    expect(await counted()).toEqual([441, 1, 74]);
    await rollAll();
    expect(await counted()).toEqual([441, 1, 74]);
  });

  test('count a record of a time that a fast clock considered past', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 3 * hour });
    await rollAll();
    vi.useRealTimers();
    const before = (await store.stats(everything, { by: 'model', limit: 1000 })).find(({ value }) => value === 'soon');
    await store.insert([rowFor({ at: Date.now() + 100, number: 5001, model: 'soon' })]);
    expect([before, (await store.stats(everything, { by: 'model', limit: 1000 })).find(({ value }) => value === 'soon')?.requests]).toEqual(
      [undefined, 1],
    );
  });

  test('count a record at the time of its id', async () => {
    await rollAll();
    const at = begin + 4 * hour + 60;
    await store.insert([rowFor({ at, number: 5002, createdAt: new Date(at - 2 * hour).toISOString(), model: 'backwards' })]);
    expect(
      (await store.stats({ ...everything, from: begin + 4 * hour, to: begin + 10 * hour }, { by: 'model', limit: 1000 })).find(
        ({ value }) => value === 'backwards',
      )?.requests,
    ).toBe(1);
  });

  test('are deleted with dropped records', async () => {
    while (await store.retain(Date.now() + 8 * 24 * hour));
    await rollAll();
    expect((await store.stats(everything, { by: null, limit: 1000 }))[0]?.requests).toBe(0);
    expect(await store.stats(everything, { by: 'model', limit: 1000 })).toEqual([]);
  });
});

describe.each(['sqlite', 'postgres'] as const)('what callers make up, in %s', (kind) => {
  const place = folder();
  let store: Store;
  const busy = 2600;
  const usual = busy / 5;
  /**
   * An hour with more user agents (2,080) than are kept for an hour (2,000) and hundreds of metadata names, and quiet
   * hours with few requests of many tenants. cost: the sums of three times as many records take seconds.
   */
  const crowd = Array.from({ length: busy }, (_, at) => ({
    at: begin + 2 * hour + at,
    number: at,
    userAgent: at % 5 === 0 ? 'usual' : `agent-${at}`,
    metadata: { tenant: `t-${at % 60}`, [`name-${at % 200}`]: 'x' } as Record<string, string>,
  }));
  const quiet = Array.from({ length: 80 }, (_, at) => ({
    at: begin + 5 * hour + at,
    number: at,
    userAgent: 'usual',
    metadata: { tenant: `t-${at % 60}` },
  }));
  beforeAll(async () => {
    store = await storeIn(place.path, kind === 'postgres' ? server.database() : null);
    for (let at = 0; at < busy; at += 500) await store.insert(crowd.slice(at, at + 500).map(rowFor));
    await store.insert(quiet.map(rowFor));
    while (await store.roll());
  });
  afterAll(async () => {
    await store.close();
    place.remove();
  });

  test('thousands of user agents are all counted', async () => {
    expect((await store.stats(where('agent', 'not in', 'usual'), { by: null, limit: 1000 }))[0]?.requests).toBe(busy - usual);
    expect((await store.stats(everything, { by: 'agent', limit: 1000 }))[0]).toMatchObject({ value: 'usual', requests: usual + 80 });
  });

  test('hundreds of metadata names are counted separately', async () => {
    for (const name of ['name-0', 'name-199']) {
      expect(await store.stats(everything, { by: `meta.${name}`, limit: 1000 })).toMatchObject([
        { value: null, requests: busy + 80 - busy / 200 },
        { value: 'x', requests: busy / 200 },
      ]);
    }
    expect((await store.stats(everything, { by: 'meta.tenant', limit: 1000 })).length).toBe(60);
  });

  test('a series shows the complete largest values, however many values there are', async () => {
    const { points, total } = await store.series(everything, { bucketMs: 60_000, by: 'agent' });
    expect(points.filter(({ value }) => value === 'usual').map(({ at, requests }) => [at - begin, requests])).toEqual([
      [2 * hour, usual],
      [5 * hour, 80],
    ]);
    expect([points.length, total.requests]).toEqual([11, busy + 80]);
  });
});

describe.each(['sqlite', 'postgres'] as const)('an hour with so many records that it is read in slices, in %s', (kind) => {
  const place = folder();
  let store: Store;
  const count = 5500;
  const from = begin + 7 * hour;
  const isLate = (at: number): boolean => at >= count / 2;
  /** Each of two slices has half of all users, tenants and names. */
  const steady = Array.from({ length: count }, (_, at) => ({
    at: from + Math.floor((at * hour) / count),
    number: at,
    durationMs: 1 + at,
    model: at % 3 === 0 ? 'plain' : 'thinker',
    metadata: { user: `u-${at % 1050}-${isLate(at)}`, tenant: `t-${at % 4}-${isLate(at)}`, [isLate(at) ? 'late' : 'early']: 'x' } as Record<
      string,
      string
    >,
  }));
  const ask = async (by: string | null): Promise<readonly StatsRow[]> =>
    await store.stats({ ...everything, from, to: from + hour }, { by, limit: 1000 });
  const dimensions = [null, 'model', 'attempt.provider', 'meta.tenant', 'meta.late', 'meta.early'];
  const raw = new Map<string | null, readonly StatsRow[]>();
  beforeAll(async () => {
    store = await storeIn(place.path, kind === 'postgres' ? server.database() : null);
    for (let at = 0; at < count; at += 500) await store.insert(steady.slice(at, at + 500).map(rowFor));
    for (const by of [...dimensions, 'meta.user']) raw.set(by, await ask(by));
    while (await store.roll());
  });
  afterAll(async () => {
    await store.close();
    place.remove();
  });

  test.each(dimensions)('its sums by %s are those of its records', async (by) => {
    const rolled = await ask(by);
    expectSame(rolled, raw.get(by) ?? []);
    expect(roughOf(rolled)).not.toEqual(roughOf(raw.get(by) ?? []));
  });

  test('too many values are recognised, although each slice has few', async () => {
    expect(await ask('meta.user')).toEqual(raw.get('meta.user'));
  });
});

test('a period is summed up again soon after PostgreSQL went away in the middle of it', async () => {
  const place = folder();
  const url = server.database();
  const store = await storeIn(place.path, url);
  await store.insert([rowFor({ at: Date.now() - 3 * hour })]);
  expect(await store.roll()).toBe(true);
  const other = new Client(url);
  other.on('error', () => {});
  await other.connect();
  await other.query('begin; lock table gateway_rollup in exclusive mode');
  const failed = expect(store.roll()).rejects.toThrow();
  while (server.psql(url, 'select count(*) from pg_locks where not granted') === '0') await pause(20);
  await server.kill();
  await failed;
  await server.start();
  while (await store.roll());
  vi.useFakeTimers({ toFake: ['performance'] });
  vi.advanceTimersByTime(hour);
  while (await store.roll());
  vi.useRealTimers();
  const quarters = "from gateway_rollup where span_ms = 900000 and dimension = ''";
  expect(server.psql(url, `select (max(starts_at) - min(starts_at)) / 900000 + 1 - count(*) ${quarters}`)).toBe('0');
  await other.end();
  await store.close();
  place.remove();
});

test('kept sums know a class of statuses in capital letters too, as the records do', () => {
  const rule = ruleOf({ field: 'status', operator: 'in', values: ['4XX'] });
  expect(['404', '499', '500'].map((status) => rule?.keeps(status))).toEqual([true, true, false]);
});
