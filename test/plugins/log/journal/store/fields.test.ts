/** The contract of the table of fields: both stores, the live tail and the API agree on each of its entries. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { recordFields } from '../../../../../core/log/fields.ts';
import { dimensions, filteredFields } from '../../../../../core/log/filters.ts';
import type { FilteredField } from '../../../../../core/log/filters.ts';
import { selects } from '../../../../../core/log/match.ts';
import { parseLogFilter } from '../../../../../core/log/query.ts';
import type { LoggedRequest, LogReader } from '../../../../../core/log/store.ts';
import type { Store } from '../../../../../plugins/log/journal/store/store.ts';
import { oneUpstream, testGateway } from '../../../../_kit/gateway.ts';
import type { TestGateway } from '../../../../_kit/gateway.ts';
import { keeping, memoryLog } from '../../../../_kit/log.ts';
import { startPostgres } from '../../../../_kit/servers.ts';
import type { PostgresServer } from '../../../../_kit/servers.ts';
import { begin, everything, finished, folder, idAt, rowFor, storeIn } from '../scene.ts';

type Finished = ReturnType<typeof finished>;

/** Values of a field: that of one record, that of another record, and the filters that select only one of them. */
function sampleOf({ name, kind, filter: { kind: asks, words = [] } }: FilteredField): {
  values: [unknown, unknown];
  first: string;
  neither: string;
} {
  if (asks === 'prefix') {
    return {
      values: [idAt(begin + hourOfId * 3_600_000, 0), idAt(begin + hourOfId * 3_600_000, 1)],
      first: idAt(begin + hourOfId * 3_600_000, 0),
      neither: 'ffffffff-f',
    };
  }
  if (name === 'attempts') {
    return {
      values: [
        [broken, answered, answered, answered, answered],
        [broken, answered],
      ],
      first: '>4',
      neither: '>6',
    };
  }
  if (asks === 'any') {
    return {
      values: [[broken, { ...answered, provider: 'other', model: 'other', outcome: 'other', target: 'other' }], [answered]],
      first: 'other',
      neither: 'neither',
    };
  }
  if (name === 'rescued') {
    return {
      values: [
        [broken, answered],
        [{ ...broken, outcome: 'outrun' }, answered],
      ],
      first: 'true',
      neither: '',
    };
  }
  if (asks === 'glob') {
    return { values: [{ code: 'upstream_timeout', message: 'late', plugin: null }, null], first: 'up*_time*', neither: 'upstream' };
  }
  if (kind === 'status') return { values: [503, 429], first: '503', neither: '404' };
  if (asks === 'flag') return { values: [true, false], first: 'true', neither: '' };
  if (asks === 'some') return { values: [7, 0], first: 'true', neither: '' };
  if (kind === 'dollars') return { values: ['0.5', '0.3'], first: '>0.4', neither: '>0.6' };
  if (kind === 'milliseconds') return { values: [5000, 3000], first: '>4s', neither: '>6s' };
  if (asks === 'bound') return { values: [5, 3], first: '>4', neither: '>6' };
  const [one = 'one', two = 'two', three = 'three'] = words;
  return { values: [one, two], first: one, neither: three };
}

const [answered] = finished().attempts as [Finished['attempts'][number]];
const broken = { ...answered, outcome: 'upstream_error', status: 500, error: 'It broke.' };
/** The index of the field whose samples need ids of a certain time. */
const hourOfId = filteredFields.findIndex(({ filter }) => filter.kind === 'prefix');

function put<Whole extends object>(record: Whole, name: string, value: unknown): Whole {
  const [outer = '', inner] = name.split('.');
  return { ...record, [outer]: inner === undefined ? value : { ...(record as any)[outer], [inner]: value } };
}

/** Two records for each filter, an hour after those of the previous filter. */
const samples = filteredFields.map((field, hour) => {
  const sample = sampleOf(field);
  const at = begin + hour * 3_600_000;
  const [has, hasNot] = sample.values.map((value, number) =>
    put(finished({ at, number }), field.filter.kind === 'any' || field.name === 'rescued' ? 'attempts' : field.name, value),
  ) as [Finished, Finished];
  return {
    ...sample,
    name: field.filter.name,
    has,
    hasNot,
    range: `from=${new Date(at).toISOString()}&to=${new Date(at + 1000).toISOString()}`,
  };
});

/** A record in which every field has a value. */
const full = finished({
  at: begin - 3_600_000,
  number: 77,
  clientRequestId: 'theirs',
  userAgent: 'curl/8',
  clientAddress: '203.0.113.0',
  key: 'team',
  stream: true,
  finishReason: 'length_limit',
  nativeFinishReason: 'MAX',
  timeToFirstTokenMs: 11,
  tokensPerSecond: 12.5,
  usageEstimated: true,
  reasoningEstimated: true,
  cost: '0.25',
  costIsUpperBound: true,
  providerCost: '0.2',
  usageDetails: { audioPromptTokens: 3 } as Finished['usageDetails'],
  usage: { promptTokens: 1, completionTokens: 2, reasoningTokens: 3, cachedTokens: 4, cacheWriteTokens: 5, totalTokens: 6 },
  metadata: { 'tenant-id': 'acme' },
  error: { code: 'rate_limit_exceeded', message: 'later', plugin: null },
  ruledOut: [{ provider: 'other', model: 'plain', by: 'route/capability', reason: 'no tools' }],
  adjustments: [{ parameter: 'n', change: 'left out' }],
  timings: { 'auth/keys': 0.25 },
  door: 'responses',
  promptStart: 'Ärger…',
  fields: {
    verdict: 'bad "x"',
    score: 3.25,
    tiny: 1e-7,
    huge: 1e21,
    third: 0.1 + 0.2,
    isKnown: true,
    'odd-name.x': -4,
    'no filter for this': 'ä',
  },
});
const bare = finished({ at: begin - 3_600_000, number: 78, fields: { verdict: 'good', score: 10, isKnown: false, third: '3' } });
const hourBefore = `from=${new Date(begin - 3_600_000).toISOString()}&to=${new Date(begin).toISOString()}`;

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(async () => await server.stop());

describe.each(['sqlite', 'postgres'] as const)('the fields of a record, in %s', (kind) => {
  const place = folder();
  let store: Store;
  let gateway: TestGateway;
  const records = [...samples.flatMap(({ has, hasNot }) => [has, hasNot]), full, bare];

  beforeAll(async () => {
    store = await storeIn(place.path, kind === 'postgres' ? server.database() : null);
    await store.insert(
      records.map((record) => rowFor({ ...record, at: Date.parse(record.createdAt), number: Number.parseInt(record.id.slice(24), 16) })),
    );
    const { status, onRecord } = memoryLog();
    const reader: LogReader = { ...store, list: store.list, status, onRecord, catchUp: async () => {} };
    gateway = await testGateway({
      config: oneUpstream('http://127.0.0.1:9/v1', { plugins: ['endpoints/logs', 'dialects/openai-chat'] }),
      plugins: [keeping(reader)],
    });
  });
  afterAll(async () => {
    await gateway.close();
    await store.close();
    place.remove();
  });

  /** The ids that a filter selects: the store, the API and the matcher must give the same. */
  async function found(address: string): Promise<string[]> {
    const query = parseLogFilter(new URLSearchParams(address));
    const matched = records
      .filter((record) => selects(query, record as LoggedRequest))
      .map(({ id }) => id)
      .sort((a, b) => (a < b ? 1 : -1));
    const stored = (await store.list(query, { limit: 1000 })).data.map(({ id }) => id);
    const { data } = (await (await gateway.get(`/api/logs?limit=1000&${address}`)).json()) as { data: LoggedRequest[] };
    expect([stored, data.map(({ id }) => id)]).toEqual([matched, matched]);
    return matched;
  }
  const address = (range: string, name: string, value: string): string =>
    `${range}&${encodeURIComponent(name)}=${encodeURIComponent(value)}`;

  test.each(samples.map((sample) => [sample.name, sample] as const))(
    '%s selects the record that has the value, and no other',
    async (name, { first, neither, has, hasNot, range }) => {
      expect(await found(address(range, name, first))).toEqual([has.id]);
      if (neither !== '') expect(await found(address(range, name, neither))).toEqual([]);
      if (!first.startsWith('>')) expect(await found(address(range, `-${name}`, first))).toEqual([hasNot.id]);
    },
  );

  test.each([
    ['field.verdict', 'bad "x"', [77]],
    ['field.verdict', 'good', [78]],
    ['field.verdict', 'none', []],
    ['-field.verdict', 'good', [77]],
    ['field.score', '3.25', [77]],
    ['field.score', '>3', [78, 77]],
    ['field.score', '>3.25', [78]],
    ['field.score', '<=3.25', [77]],
    ['field.odd-name.x', '<-3.5', [77]],
    ['field.verdict', '>1', []],
    ['field.isKnown', 'true', [77]],
    ['field.isKnown', 'false', [78]],
    ['field.isKnown', '>0', []],
    ['field.tiny', '1e-7', [77]],
    ['field.tiny', '<0.000001', [77]],
    ['field.huge', '1e+21', [77]],
    ['field.third', '0.30000000000000004', [77]],
    ['field.third', '3', [78]],
    ['field.third', '>0', [77]],
    ['field.tiny', '', [78]],
    ['-field.tiny', '', [77]],
    ['field.constructor', '', [78, 77]],
    ['meta.verdict', 'good', []],
    ['meta.tenant-id', 'acme', [77]],
  ])('%s=%s selects %j', async (name, value, numbers) => {
    expect(await found(address(hourBefore, name, value))).toEqual(numbers.map((number) => idAt(begin - 3_600_000, number)));
  });

  test.each<[string, (attempts: number) => boolean]>([
    ['attempts=2', (attempts) => attempts === 2],
    ['attempts=1&attempts=5', (attempts) => attempts === 1 || attempts === 5],
    ['-attempts=1&-attempts=2', (attempts) => attempts > 2],
    ['attempts=0', () => false],
  ])('%s selects the requests with this number of attempts', async (filter, has) => {
    expect(await found(filter)).toHaveLength(records.filter(({ attempts }) => has(attempts.length)).length);
  });

  test('refuses a number of attempts that is not a number', async () => {
    await expect(
      store.list({ ...everything, conditions: [{ field: 'attempts', operator: 'in', values: ['1) or (1=1'] }] }, { limit: 1 }),
    ).rejects.toThrow(/a whole number, or a bound/);
  });

  test('counts attempts, error codes and endpoints', async () => {
    const count = (values: readonly (string | undefined)[]) =>
      Array.from(
        Map.groupBy(
          values.filter((value) => value !== undefined),
          (value) => value,
        ),
        ([value, all]) => ({ value, count: all.length }),
      ).sort((a, b) => b.count - a.count || (a.value < b.value ? -1 : 1));
    expect(await store.facets(everything)).toMatchObject({
      attempts: count(records.map(({ attempts }) => String(attempts.length))),
      error: count(records.map(({ error }) => error?.code)),
      door: count(records.map(({ door }) => door ?? undefined)),
    });
  });

  test("several values of a plugin's field mean any of them", async () => {
    const either = `${address(hourBefore, 'field.third', '3')}&field.third=0.30000000000000004`;
    expect(await found(either)).toHaveLength(2);
    expect(await found(`${either}&field.verdict=good`)).toEqual([bare.id]);
  });

  test('come back as they were stored', async () => {
    const {
      request: _request,
      response: _response,
      reasoningContent: _reasoning,
      upstream: _upstream,
      ...record
    } = (await store.get(full.id)) ?? ({} as never);
    expect(record).toEqual(full);
    for (const { name, read } of recordFields) expect([name, read(record as LoggedRequest)]).not.toEqual([name, null]);
  });

  test.each([...dimensions, 'meta.tenant-id', 'field.verdict', 'field.score', 'field.isKnown', 'field.huge', 'field.third'])(
    '%s groups sums by the value of its filter',
    async (by) => {
      const range = `from=${new Date(begin - 3_600_000).toISOString()}`;
      const rows = await store.stats(parseLogFilter(new URLSearchParams(range)), { by, limit: 1000 });
      expect(rows.length).toBeGreaterThan(1);
      for (const { value, requests } of rows) {
        expect([value, (await found(address(range, by, value ?? ''))).length]).toEqual([value, requests]);
      }
    },
  );

  test('counts texts and flags of plugins, and names their numbers', async () => {
    expect(await store.facets(parseLogFilter(new URLSearchParams(hourBefore)))).toMatchObject({
      'field.verdict': [
        { value: 'bad "x"', count: 1 },
        { value: 'good', count: 1 },
      ],
      'field.isKnown': [
        { value: 'false', count: 1 },
        { value: 'true', count: 1 },
      ],
      'field.score': [],
    });
  });

  test("refuses a bound of a plugin's field that is not a number", async () => {
    await expect(
      store.list({ ...everything, conditions: [{ field: 'field.score', operator: '>', values: ['high'] }] }, { limit: 1 }),
    ).rejects.toThrow(/no number/);
  });
});

test('requests without a metadata key are found without reading all records of that key for each request', async () => {
  const place = folder();
  const store = await storeIn(place.path);
  for (let batch = 0; batch < 24; batch++) {
    await store.insert(
      Array.from({ length: 500 }, (_, number) => rowFor({ at: begin + batch, number, metadata: { session: `s-${batch}-${number}` } })),
    );
  }
  await store.insert([rowFor({ at: begin, number: 9999, metadata: {} })]);
  const ask = async (operator: 'in' | 'not in') =>
    (await store.list({ ...everything, conditions: [{ field: 'meta.session', operator, values: [''] }] }, { limit: 1000, cursor: null }))
      .data.length;
  const before = process.threadCpuUsage();
  expect([await ask('in'), await ask('not in')]).toEqual([1, 1000]);
  const { user } = process.threadCpuUsage(before);
  // twelve thousand times twelve thousand tags take seconds
  expect(user / 1000).toBeLessThan(1000);
  await store.close();
  place.remove();
});
