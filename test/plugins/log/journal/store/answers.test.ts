/**
 * Any question to the log API has one answer: that of SQLite, that of PostgreSQL, and the one that the list of all records gives by the
 * words of the README. Also after the records were summed up, after late records, and after old ones were deleted.
 */
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { parseLogFilter, resolveQuery } from '../../../../../core/log/query.ts';
import type { LogReader } from '../../../../../core/log/store.ts';
import type { RequestRecord } from '../../../../../core/pipeline/context.ts';
import { rowOf } from '../../../../../plugins/log/journal/sql/rows.ts';
import type { Store } from '../../../../../plugins/log/journal/store/store.ts';
import { finishedFrameWithBodies } from '../../../../../plugins/log/journal/write/entry.ts';
import { runs } from '../../../../_kit/fuzz.ts';
import { oneUpstream, testGateway } from '../../../../_kit/gateway.ts';
import type { TestGateway } from '../../../../_kit/gateway.ts';
import { keeping, memoryLog } from '../../../../_kit/log.ts';
import { anyQuestion, anyRecords, newYear, now } from '../../../../_kit/log-rules/any-log.ts';
import type { Question } from '../../../../_kit/log-rules/any-log.ts';
import * as oracle from '../../../../_kit/log-rules/oracle.ts';
import type { Filters, Kept, Row } from '../../../../_kit/log-rules/oracle.ts';
import { startPostgres } from '../../../../_kit/servers.ts';
import type { PostgresServer } from '../../../../_kit/servers.ts';
import { folder, request, response, storeIn } from '../scene.ts';

const [minute, hour, day, week] = [60_000, 3_600_000, 86_400_000, 7 * 86_400_000];

/** One seed for the records and the questions, which fast-check prints when a question has a wrong answer. */
const seed = fc.readConfigureGlobal().seed ?? Date.now() | 0;
const [early = [], late = [], newer = []] = [
  [100, 0],
  [25, 1000],
  [50, 2000],
].map(([count = 0, from = 0]) => fc.sample(anyRecords(count, from), { seed: seed + from, numRuns: 1 })[0]);

/** The texts of the generated records as bodies. */
const recordFor = ({ mayBeCharged, ...record }: Kept) => ({
  ...record,
  request: record.request === null ? null : request(record.request as string),
  response: record.response === null ? null : response(record.response as string),
  served: mayBeCharged ? { lost: [{}] } : null,
});

function rowFor(record: Kept) {
  if (record.outcome === 'interrupted') return rowOf({ payload: JSON.stringify(record), isInterrupted: true });
  const { payload, parts } = finishedFrameWithBodies(recordFor(record) as unknown as RequestRecord);
  return rowOf({ payload, parts, isInterrupted: false });
}

/** A gateway with a store, and the list of what it keeps. */
interface Side {
  readonly kind: 'sqlite' | 'postgres';
  readonly gateway: TestGateway;
  store: Store;
  kept: readonly Kept[];
}

let server: PostgresServer;
const place = folder();
const sides: Side[] = [];
let urlOfPostgres = '';

async function openStore(kind: Side['kind']): Promise<Store> {
  const url = kind === 'postgres' ? urlOfPostgres : null;
  const store = await storeIn(place.path, url);
  return store;
}

async function openSide(kind: Side['kind']): Promise<void> {
  const store = await openStore(kind);
  const reader = (side: Side): LogReader => ({
    ...memoryLog(),
    list: (query, page) => side.store.list(query, page),
    exportRows: (query, page) => side.store.exportRows(query, page),
    stats: (query, options) => side.store.stats(query, options),
    series: (query, options) => side.store.series(query, options),
    facets: (query) => side.store.facets(query),
    metadataKeys: (query) => side.store.metadataKeys(query),
  });
  const side: Side = { kind, store, kept: [], gateway: null as unknown as TestGateway };
  const config = oneUpstream('http://127.0.0.1:9/v1', { plugins: ['endpoints/logs', 'dialects/openai-chat'] });
  const gateway = await testGateway({ config, plugins: [keeping(reader(side))], clock: () => now });
  sides.push(Object.assign(side, { gateway }));
}

const eachSide = async (work: (side: Side) => Promise<void>): Promise<void> => {
  for (const side of sides) await work(side);
};

async function insert(records: readonly Kept[]): Promise<void> {
  await eachSide(async (side) => {
    await side.store.insert(records.map(rowFor));
    side.kept = [...side.kept, ...records];
  });
}

/** A store that was opened anew looks at once for what is to be summed up. */
const sumUp = (): Promise<void> =>
  eachSide(async (side) => {
    await side.store.close();
    side.store = await openStore(side.kind);
    while (await side.store.roll());
  });

beforeAll(async () => {
  server = await startPostgres();
  urlOfPostgres = server.database();
  vi.useFakeTimers({ toFake: ['Date'], now });
  await openSide('sqlite');
  await openSide('postgres');
});
afterAll(async () => {
  vi.useRealTimers();
  await eachSide(async ({ store }) => await store.close());
  place.remove();
  await server.stop();
});

const addressOf = (params: Filters): string => new URLSearchParams(params.map((pair): [string, string] => [...pair])).toString();

async function get({ gateway }: Side, path: string, params: Filters): Promise<any> {
  const reply = await gateway.get(`${path}?${addressOf(params)}`);
  const text = await reply.text();
  expect([reply.status, text]).toEqual([200, text]);
  return path.endsWith('export')
    ? text
        .split('\n')
        .filter((line) => line !== '')
        .map((line): unknown => JSON.parse(line))
    : JSON.parse(text);
}

const given = (name: string, value: string | number | null): Filters => (value === null ? [] : [[name, String(value)]]);

/** All pages of a list, one after the other. @param between runs after each page */
async function pagesOf(side: Side, { filters, limit, sort, order }: Extract<Question, { path: 'list' }>, between = async () => {}) {
  const found: Kept[] = [];
  for (let cursor: string | null = ''; cursor !== null; await between()) {
    const way = sort === null ? [] : [...given('sort', sort), ...given('order', order)];
    const page = await get(side, '/api/logs', [
      ...filters,
      ...way,
      ...given('limit', limit),
      ...given('cursor', cursor === '' ? null : cursor),
    ]);
    expect(page.data.length === limit || page.next === null).toBe(true);
    found.push(...page.data);
    cursor = page.next;
  }
  return found;
}

const shown = ({ mayBeCharged: _charged, request: _request, response: _response, reasoningContent: _thinking, ...record }: Kept): object =>
  JSON.parse(JSON.stringify(record)) as object;

async function expectList(side: Side, asked: Extract<Question, { path: 'list' }>): Promise<void> {
  const all = oracle.selected(side.kept, asked.filters, now);
  const expected = asked.sort === null ? all : oracle.sorted(all, asked.sort, asked.order);
  expect(await pagesOf(side, asked)).toEqual(expected.map(shown));
}

const isPercentile = (name: string): boolean => /P\d\dMs$/.test(name);
const without = (row: Row): object => Object.fromEntries(Object.entries(row).filter(([name]) => !isPercentile(name)));

function isNear(found: unknown, exact: unknown): boolean {
  return found === exact || (typeof found === 'number' && typeof exact === 'number' && Math.abs(found - exact) <= 1 + exact / 100);
}

/** Percentiles of kept sums are within one percent and a millisecond. */
function expectRows(found: readonly Row[], expected: readonly Row[], isExact: boolean): void {
  if (isExact) return expect(found).toEqual(expected);
  expect(found.map(without)).toEqual(expected.map(without));
  const far = expected.flatMap((row, at) =>
    Object.entries(row)
      .filter(([name, exact]) => isPercentile(name) && !isNear(found[at]?.[name], exact))
      .map(([name, exact]) => [name, exact, found[at]]),
  );
  expect(far).toEqual([]);
}

/** Without a beginning a series is of a day. */
function rangeOf(filters: Filters): Filters {
  if (filters.some(([name]) => name === 'from' || name === 'since')) return filters;
  const to = filters.find(([name]) => name === 'to')?.[1];
  const end = to === undefined ? now : oracle.momentOf(to);
  return [...filters, ['from', new Date(end - day).toISOString()]];
}

async function expectSeries(side: Side, { filters, by, bucket }: Extract<Question, { path: 'series' }>, isExact: boolean): Promise<void> {
  const found = await get(side, '/api/series', [...filters, ...given('by', by), ...given('bucket', bucket)]);
  if (bucket !== null) expect(found.bucketMs).toBe(oracle.spanOf(bucket));
  const records = oracle.selected(side.kept, rangeOf(filters), now);
  expectRows(found.data, oracle.series(records, by, found.bucketMs), isExact);
}

async function expectRanked({ store, kept }: Side, { filters, by, rank, most }: Extract<Question, { path: 'ranked' }>, isExact: boolean) {
  const query = resolveQuery(parseLogFilter(new URLSearchParams(addressOf(filters))), now);
  const found = await store.stats(query, { by, limit: most, rank });
  expectRows(found as unknown as Row[], oracle.stats(oracle.selected(kept, filters, now), by, rank).slice(0, most), isExact);
}

async function expectRest(side: Side, path: 'export' | 'facets' | 'metadata-keys', filters: Filters): Promise<void> {
  const records = oracle.selected(side.kept, filters, now);
  if (path === 'export') {
    // what comes while an export runs is not in it
    const past = records.filter(({ createdAt }) => Date.parse(createdAt) <= now);
    return expect((await get(side, '/api/logs/export', filters)).map(shown)).toEqual(past.map(shown));
  }
  const expected = path === 'facets' ? oracle.facets(records) : oracle.metadataKeys(records);
  expect((await get(side, `/api/${path}`, filters)).data).toEqual(expected);
}

async function expectAnswer(side: Side, asked: Question, isExact: boolean): Promise<void> {
  if (asked.path === 'list') return await expectList(side, asked);
  if (asked.path === 'series') return await expectSeries(side, asked, isExact);
  if (asked.path === 'ranked') return await expectRanked(side, asked, isExact);
  if (asked.path !== 'stats') return await expectRest(side, asked.path, asked.filters);
  const { filters, by, limit } = asked;
  const { data } = await get(side, '/api/stats', [...filters, ...given('by', by), ...given('limit', limit)]);
  expectRows(data, oracle.stats(oracle.selected(side.kept, filters, now), by).slice(0, limit), isExact);
}

async function expectAnswers(few: number, isExact: boolean): Promise<void> {
  await fc.assert(
    fc.asyncProperty(anyQuestion, async (asked) => await eachSide((side) => expectAnswer(side, asked, isExact))),
    { ...runs(few), seed },
  );
}

/** The oracle searches bodies as the API shows them. */
async function takeBodies(): Promise<void> {
  await eachSide(async (side) => {
    const found = new Map(
      (await side.store.exportRows({ from: null, to: null, conditions: [], text: null }, { limit: 1000 })).data.map((one) => [one.id, one]),
    );
    side.kept = side.kept.map((one) => ({
      ...one,
      request: found.get(one.id)?.request ?? null,
      response: found.get(one.id)?.response ?? null,
    }));
  });
}

describe('any question to the log has the answer that its records give', () => {
  test('where the records are read', async () => {
    await insert(early);
    await takeBodies();
    await expectAnswers(45, true);
  }, 600_000);

  test('where the records are summed up', async () => {
    await sumUp();
    await expectAnswers(45, false);
  }, 600_000);

  const lists = [
    [null, 'desc'],
    ['cost', 'desc'],
    ['cost', 'asc'],
    ['duration', 'desc'],
    ['tokens', 'asc'],
  ] as const;
  test('where records come between the pages of a list: each that was there is listed once, in its order', async () => {
    let inserted = 0;
    await eachSide(async (side) => {
      for (const [sort, order] of lists) {
        const known = new Set(side.kept.map(({ id }) => id));
        const expected = sort === null ? oracle.selected(side.kept, [], now) : oracle.sorted(side.kept, sort, order);
        const found = await pagesOf(side, { path: 'list', filters: [], limit: 50, sort, order }, async () =>
          insert(newer.slice(inserted, ++inserted)),
        );
        const ids = found.map(({ id }) => id);
        expect(ids.length).toBe(new Set(ids).size);
        expect(ids.filter((id) => known.has(id))).toEqual(expected.map(({ id }) => id));
        expect(ids.filter((id) => !side.kept.some((one) => one.id === id))).toEqual([]);
      }
    });
  }, 600_000);

  test('after late records', async () => {
    await insert(late);
    await takeBodies();
    await expectAnswers(25, false);
  }, 600_000);

  test('after old records were deleted in the middle of an hour', async () => {
    const before = newYear + hour + 37 * minute;
    await eachSide(async (side) => {
      while (await side.store.retain(before, true));
      const end = side.kind === 'sqlite' ? before : Math.floor(before / week) * week;
      side.kept = side.kept.filter(({ createdAt }) => Date.parse(createdAt) >= end);
    });
    await sumUp();
    await expectAnswers(25, false);
  }, 600_000);
});
