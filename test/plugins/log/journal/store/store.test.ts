/** The contract of a store, with the same records in SQLite and PostgreSQL: both give the same answers. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { noChange } from '../../../../../core/log/keys.ts';
import { BadQuery, orders, sorts } from '../../../../../core/log/store.ts';
import type { Condition, LogQuery } from '../../../../../core/log/store.ts';
import { createStore } from '../../../../../plugins/log/journal/store/open.ts';
import { floorOf } from '../../../../../plugins/log/journal/store/store.ts';
import type { Store } from '../../../../../plugins/log/journal/store/store.ts';
import { proxyTo } from '../../../../_kit/proxy.ts';
import { startPostgres } from '../../../../_kit/servers.ts';
import type { PostgresServer } from '../../../../_kit/servers.ts';
import { begin, everything, finished, folder, idAt, request, response, rowFor, storeIn } from '../scene.ts';

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(async () => await server.stop());

const minute = 60_000;
const models = ['plain', 'thinker', null];

/** The requests whose process died: nobody knows how long they took. */
const died = new Set([1, 101, 202]);
/** 300 records of all kinds, from five hours. */
const records = Array.from({ length: 300 }, (_, at) => ({
  at: begin + at * minute,
  number: at,
  model: models[at % 3] as string | null,
  provider: at % 3 === 2 ? null : 'up',
  key: at % 4 === 0 ? null : `team-${at % 2}`,
  stream: at % 5 === 0,
  status: at % 10 === 9 ? 429 : at % 10 === 8 ? 500 : 200,
  outcome: died.has(at)
    ? ('interrupted' as const)
    : at % 10 >= 8
      ? ('refused' as const)
      : at % 50 === 7
        ? ('cut' as const)
        : ('answered' as const),
  finishReason: at % 10 >= 8 ? null : at % 7 === 0 ? 'tool_calls' : 'completed',
  durationMs: died.has(at) ? 0 : at === 123 ? 60_000 : at * 3,
  timeToFirstTokenMs: at % 5 === 0 ? at : null,
  cost: at % 10 >= 8 ? null : `0.${String(at + 1).padStart(6, '0')}`,
  usage: {
    promptTokens: 10,
    completionTokens: 5,
    reasoningTokens: 2,
    cachedTokens: 0,
    cacheWriteTokens: null,
    totalTokens: at % 9 === 0 ? null : at % 4 === 0 ? 15 : 15 + at * at * 10,
  },
  metadata: { 'tenant-id': `tenant-${at % 6}`, ...(at % 2 === 0 && { 'odd "name".x': 'ä%_' }) } as Record<string, string>,
  ...(at % 2 === 0 && {
    request: request(`Tell me 100% of "number" ${at}, Ärger_x`),
    response: response(`It is ${at}`, at % 4 === 0 ? 'I thought about it' : ''),
  }),
}));

const where = (field: string, operator: Condition['operator'], ...values: string[]): LogQuery => ({
  ...everything,
  conditions: [{ field, operator, values }],
});
const both = (...queries: LogQuery[]): LogQuery => ({ ...everything, conditions: queries.flatMap(({ conditions }) => conditions) });
const expected = (keep: (record: (typeof records)[number], at: number) => boolean): number[] =>
  records.flatMap((record, at) => (keep(record, at) ? [at] : [])).toReversed();
const numbers = (data: readonly { id: string }[]): number[] => data.map(({ id }) => Number.parseInt(id.slice(24), 16));

describe.each(['sqlite', 'postgres'] as const)('a store in %s', (kind) => {
  const place = folder();
  const open = async (retentionDays = 0): Promise<Store> => {
    const store = await createStore({
      store: kind,
      url: kind === 'postgres' ? server.database() : null,
      dataDir: retentionDays === 0 ? place.path : folder().path,
      retentionDays,
      isDurable: false,
    });
    await store.open();
    return store;
  };
  let store: Store;
  beforeAll(async () => {
    store = await open();
    await store.insert(records.map(rowFor));
  });
  afterAll(async () => {
    await store.close();
    place.remove();
  });
  const found = async (query: LogQuery, limit = 1000): Promise<number[]> => numbers((await store.list(query, { limit })).data);

  test('deletes the bodies of one record, and keeps the record', async () => {
    const own = await open(1000);
    const [first, second, plain] = [120, 122, 121].map((at) => ({ ...records[at], at: Date.now() - at })) as [
      (typeof records)[0],
      (typeof records)[0],
      (typeof records)[0],
    ];
    await own.insert([first, second, plain].map((one) => rowFor({ ...one, promptStart: 'Tell me' })));
    const { id } = finished(first);
    expect([await own.forget(id), await own.forget(id), await own.forget(finished(plain).id), await own.forget('no id')]).toEqual([
      true,
      false,
      false,
      false,
    ]);
    expect(await own.get(id)).toMatchObject({ id, status: 200, promptStart: null, request: null, response: null, reasoningContent: null });
    expect(await own.get(finished(second).id)).toMatchObject({
      promptStart: 'Tell me',
      request: { messages: [{ content: 'Tell me 100% of "number" 122, Ärger_x' }] },
    });
    expect((await own.list({ ...everything, text: '"number" 120' }, { limit: 10 })).data).toEqual([]);
    await own.close();
  });

  test('gives a record back as it was', async () => {
    const { id, ...rest } = finished(records[120]);
    const detail = await store.get(id);
    const { request: _request, response: _response, ...logged } = rest;
    expect(detail).toEqual({
      id,
      ...logged,
      request: {
        model: 'plain',
        messages: [{ role: 'user', content: 'Tell me 100% of "number" 120, Ärger_x' }],
        reasoning_effort: 'low',
        max_completion_tokens: 64,
        top_k: 4,
      },
      response: { choices: [{ text: 'It is 120', reasoning: 'I thought about it', finishReason: 'completed' }] },
      reasoningContent: 'I thought about it',
      upstream: null,
    });
    expect(await store.get(idAt(begin + 121 * minute, 121))).toMatchObject({ request: null, response: null, reasoningContent: null });
    expect(await store.get(idAt(1))).toBeNull();
    expect(await store.get("'; drop table gateway_requests")).toBeNull();
  });

  test('keeps a record once, however often it arrives', async () => {
    await store.insert(records.slice(0, 50).map(rowFor));
    expect(await found(everything)).toEqual(expected(() => true));
  });

  test('gives pages without a gap between them', async () => {
    const seen: number[] = [];
    let cursor: string | null = null;
    do {
      const page: Awaited<ReturnType<Store['list']>> = await store.list(everything, { limit: 70, cursor });
      seen.push(...numbers(page.data));
      cursor = page.next;
    } while (cursor !== null);
    expect(seen).toEqual(expected(() => true));
  });

  test.each<[string, LogQuery, (record: (typeof records)[number], at: number) => boolean]>([
    ['a model', where('model', 'in', 'plain'), ({ model }) => model === 'plain'],
    ['one of two', where('model', 'in', 'plain', 'thinker'), ({ model }) => model !== null],
    ['no model', where('model', 'in', ''), ({ model }) => model === null],
    ['not a model', where('model', 'not in', 'plain'), ({ model }) => model !== 'plain'],
    ['a provider', where('provider', 'in', 'up'), ({ provider }) => provider === 'up'],
    ['a key', where('key', 'in', 'team-1'), ({ key }) => key === 'team-1'],
    ['a finish reason', where('finish', 'in', 'tool_calls'), ({ finishReason }) => finishReason === 'tool_calls'],
    ['an outcome', where('outcome', 'in', 'cut'), ({ outcome }) => outcome === 'cut'],
    ['streams', where('stream', 'in', 'true'), ({ stream }) => stream],
    ['ok', where('status', 'in', 'ok'), ({ outcome }) => outcome === 'answered'],
    ['errors', where('status', 'in', 'error'), ({ outcome }) => outcome !== 'answered'],
    ['a hundred of statuses', where('status', 'in', '4xx'), ({ status }) => status === 429],
    ['two statuses', where('status', 'in', '429', '500'), ({ status }) => status >= 400],
    ['a long time', where('latency', '>', '59999'), (_, at) => at === 123],
    ['a short time', where('latency', '<=', '30'), ({ outcome }, at) => at <= 10 && outcome !== 'interrupted'],
    ['a time of 0 or more', where('latency', '>=', '0'), ({ outcome }) => outcome !== 'interrupted'],
    ['a time to the first token', where('ttft', '>=', '290'), ({ timeToFirstTokenMs: ms }) => ms !== null && ms >= 290],
    ['tokens', where('tokens', '>', '14'), ({ usage }) => usage.totalTokens !== null],
    ['a cost', where('cost', '>', '0.00029'), ({ cost }, at) => cost !== null && at + 1 > 290],
    ['metadata', where('meta.tenant-id', 'in', 'tenant-4'), (_, at) => at % 6 === 4],
    ['one of two metadata values', where('meta.tenant-id', 'in', 'tenant-4', 'tenant-5'), (_, at) => at % 6 >= 4],
    ['no such metadata', where('meta.odd "name".x', 'in', ''), (_, at) => at % 2 === 1],
    ['not a metadata value', where('meta.tenant-id', 'not in', 'tenant-4'), (_, at) => at % 6 !== 4],
    ['an odd name', where('meta.odd "name".x', 'in', 'ä%_'), (_, at) => at % 2 === 0],
    [
      'several at once',
      both(
        where('meta.tenant-id', 'in', 'tenant-4'),
        where('meta.odd "name".x', 'in', 'ä%_'),
        where('model', 'in', 'thinker'),
        where('latency', '>', '100'),
      ),
      ({ durationMs }, at) => at % 6 === 4 && at % 3 === 1 && durationMs > 100,
    ],
    ['from and to', { ...everything, from: begin + 10 * minute, to: begin + 20 * minute }, (_, at) => at >= 10 && at < 20],
    [
      'metadata within a time',
      { ...where('meta.tenant-id', 'in', 'tenant-4'), from: begin + 100 * minute, to: begin + 200 * minute },
      (_, at) => at % 6 === 4 && at >= 100 && at < 200,
    ],
    ['text', { ...everything, text: 'is 120' }, (_, at) => at === 120],
    [
      'text with signs that have a meaning in SQL',
      { ...everything, text: '100% of "NUMBER" 12' },
      (_, at) => at % 2 === 0 && (at === 12 || (at >= 120 && at < 130)),
    ],
    ['text that looks like a pattern', { ...everything, text: 'It_is' }, () => false],
    ['text in metadata of one tenant', { ...where('meta.tenant-id', 'in', 'tenant-0'), text: 'thought about' }, (_, at) => at % 12 === 0],
  ])('finds %s', async (_, query, keep) => {
    expect(await found(query)).toEqual(expected(keep));
  });

  const amounts: Readonly<Record<string, (at: number) => number>> = {
    duration: (at) => (records[at]?.outcome === 'interrupted' ? -1 : (records[at]?.durationMs ?? -1)),
    cost: (at) => Number(records[at]?.cost ?? -1),
    tokens: (at) => records[at]?.usage.totalTokens ?? -1,
  };
  test.each(sorts.flatMap((sort) => orders.map((order) => [sort, order] as const)))(
    'lists by %s, %s, in pages without a gap between them',
    async (sort, order) => {
      for (const [query, keep] of [
        [everything, () => true],
        [where('meta.tenant-id', 'in', 'tenant-4'), (at: number) => at % 6 === 4],
      ] as const) {
        const seen: number[] = [];
        let cursor: string | null = null;
        do {
          const page: Awaited<ReturnType<Store['list']>> = await store.list(query, {
            limit: 7,
            cursor,
            sort,
            ...(order === 'asc' && { order }),
          });
          seen.push(...numbers(page.data));
          cursor = page.next;
        } while (cursor !== null);
        const amount = (at: number): number => (amounts[sort] as (at: number) => number)(at);
        const way = order === 'desc' ? 1 : -1;
        // records without such a number are last in both directions
        const rank = (at: number): number => (amount(at) < 0 ? -Infinity : way * amount(at));
        expect(seen).toEqual(
          records
            .map((_, at) => at)
            .filter(keep)
            .sort((a, b) => (rank(a) === rank(b) ? b - a : rank(b) - rank(a))),
        );
      }
    },
  );

  test('refuses to sort a search, and a cursor of another list', async () => {
    await expect(store.list({ ...everything, text: 'x' }, { limit: 1, sort: 'cost' })).rejects.toThrow(/leave "sort" or "q" out/);
    await expect(store.list(everything, { limit: 1, sort: 'cost', cursor: idAt(begin) })).rejects.toThrow(/take it from "next"/);
  });

  test.each(['9223372036854775808', '9999999999999999999'])('refuses a cursor with %s, which does not fit into 64 bits', async (value) => {
    const listed = (number: string): Promise<unknown> =>
      store.list(everything, { limit: 1, sort: 'cost', cursor: `${number}~${idAt(begin)}` });
    await expect(listed(value)).rejects.toThrow(BadQuery);
    await expect(listed('9223372036854775807')).resolves.toMatchObject({ data: [expect.anything()] });
  });

  test.each(['nothing', 'meta', 'id) or 1=1 --'])('refuses the field %s', async (field) => {
    await expect(store.list(where(field, 'in', 'x'), { limit: 1 })).rejects.toThrow(/no field/);
    await expect(store.stats(everything, { by: field, limit: 1000 })).rejects.toThrow(/no field/);
  });

  test.each([
    ['latency', 'soon'],
    ['cost', '1e-3'],
    ['status', 'bad'],
    ['stream', '1'],
  ])('refuses %s of "%s"', async (field, value) => {
    const operator = field === 'latency' || field === 'cost' ? '>' : 'in';
    await expect(store.list(where(field, operator, value), { limit: 1 })).rejects.toThrow(/is no|true or false/);
  });

  test('sums by a dimension, with exact percentiles', async () => {
    const rows = await store.stats(everything, { by: 'model', limit: 1000 });
    expect(rows.map(({ value, requests }) => [value, requests])).toEqual(
      expect.arrayContaining([
        ['plain', 100],
        ['thinker', 100],
        [null, 100],
      ]),
    );
    const plain = rows.find(({ value }) => value === 'plain');
    const own = records.filter(({ model }) => model === 'plain');
    const sorted = own.map(({ durationMs }) => durationMs).sort((a, b) => a - b);
    const priced = own.filter(({ cost }) => cost !== null);
    const micro = priced.reduce((sum, { cost }) => sum + Number(cost?.slice(2)), 0);
    expect(plain).toMatchObject({
      errors: own.filter(({ outcome }) => outcome !== 'answered').length,
      promptTokens: 1000,
      completionTokens: 500,
      reasoningTokens: 200,
      cachedTokens: 0,
      cost: `0.${String(micro).padStart(6, '0')}`.replace(/0+$/, ''),
      unpriced: 0,
      latencyP50Ms: sorted[49],
      latencyP95Ms: sorted[94],
    });
  });

  test('sums no request whose process died under a short time', async () => {
    const [sums] = await store.stats(where('latency', '<=', '30'), { by: null, limit: 1 });
    expect(sums?.requests).toBe(expected(({ durationMs }, at) => durationMs <= 30 && !died.has(at)).length);
  });

  test('sums by metadata, also over records without it', async () => {
    const rows = await store.stats(everything, { by: 'meta.odd "name".x', limit: 1000 });
    expect(rows.map(({ value, requests }) => [value, requests])).toEqual(
      expect.arrayContaining([
        ['ä%_', 150],
        [null, 150],
      ]),
    );
    expect(
      (await store.stats(where('meta.tenant-id', 'in', 'tenant-1'), { by: 'meta.tenant-id', limit: 1000 })).map(({ value, requests }) => [
        value,
        requests,
      ]),
    ).toEqual([['tenant-1', 50]]);
  });

  test.each([
    ['cost', '1'],
    ['tokens', '2'],
    ['errors', '3'],
    ['requests', '4'],
  ] as const)('ranks by %s', async (rank, largest) => {
    const ranked = await open(36_500);
    const one = (key: string, more: object) =>
      rowFor({ at: Date.now(), number: Math.floor(Math.random() * 2 ** 31), key, cost: '0.1', ...more });
    await ranked.insert([
      one('1', { cost: '9' }),
      one('2', {
        usage: {
          promptTokens: 10,
          completionTokens: 900,
          reasoningTokens: null,
          cachedTokens: null,
          cacheWriteTokens: null,
          totalTokens: 910,
        },
      }),
      ...[1, 2].map(() => one('3', { outcome: 'failed', status: 500 })),
      ...[1, 2, 3].map(() => one('4', { cost: null })),
    ]);
    expect(await ranked.stats(everything, { by: 'key', limit: 1, rank })).toMatchObject([{ value: largest }]);
    await ranked.close();
  });

  test('ranks by cost also requests that cost less than a millionth of a dollar each', async () => {
    const ranked = await open(36_500);
    const cheap = Array.from({ length: 10 }, (_, number) => rowFor({ at: Date.now(), number, key: 'often', cost: '0.0000009' }));
    await ranked.insert([...cheap, rowFor({ at: Date.now(), number: 10, key: 'once', cost: '0.000002' })]);
    expect(await ranked.stats(everything, { by: 'key', limit: 1, rank: 'cost' })).toMatchObject([{ value: 'often', cost: '0.000009' }]);
    await ranked.close();
  });

  test('ranks by cost what costs nothing before what has an unknown cost', async () => {
    const ranked = await open(36_500);
    await ranked.insert([null, '0'].map((cost, number) => rowFor({ at: Date.now(), number, key: ['a', 'b'][number] as string, cost })));
    const rows = await ranked.stats(everything, { by: 'key', limit: 2, rank: 'cost' });
    expect(rows.map(({ value, cost }) => [value, cost])).toEqual([
      ['b', '0'],
      ['a', null],
    ]);
    await ranked.close();
  });

  test('sums numbers that do not fit into 64 bits', async () => {
    const rich = await open(36_500);
    await rich.insert([0, 1, 2].map((number) => rowFor({ at: Date.now(), number, cost: '9000000' })));
    expect((await rich.stats(everything, { by: 'model', limit: 1000 }))[0]?.cost).toBe('27000000');
    await rich.close();
  });

  test('lets another query run while it adds up', async () => {
    const order: string[] = [];
    const adding = store
      .series({ ...everything, from: begin, to: begin + 300 * minute }, { bucketMs: minute })
      .then(() => order.push('sums'));
    await new Promise((resolve) => setImmediate(resolve));
    await store.list(everything, { limit: 1 });
    order.push('list');
    await adding;
    expect(order).toEqual(['list', 'sums']);
  });

  test('gives series, in total and by a dimension', async () => {
    const { points: hours, total } = await store.series(everything, { bucketMs: 3_600_000 });
    expect([total]).toEqual(await store.stats(everything, { by: null, limit: 1000 }));
    expect(hours.map(({ at, requests }) => [at, requests])).toEqual([0, 1, 2, 3, 4].map((hour) => [begin + hour * 3_600_000, 60]));
    const { points: byTenant } = await store.series(everything, { bucketMs: 3_600_000, by: 'meta.tenant-id' });
    expect(byTenant).toHaveLength(30);
    expect(byTenant[0]).toMatchObject({ at: begin, value: 'tenant-0', requests: 10 });
  });

  test('gives a record of a gateway whose clock is ahead in the step of its own time', async () => {
    const own = await open(36_500);
    const now = Math.floor(Date.now() / minute) * minute;
    const ats = [now - minute, now + 5 * minute];
    await own.insert(ats.map((at) => rowFor({ at })));
    for (const by of [null, 'model']) {
      const { points } = await own.series({ ...everything, from: now - 10 * minute }, { bucketMs: minute, by });
      expect([by, points.map(({ at }) => at)]).toEqual([by, ats]);
    }
    // the clock was set back, so the record is older than its id
    await own.insert([rowFor({ at: now, number: 1, createdAt: new Date(now - 5000).toISOString() })]);
    const { points } = await own.series({ ...everything, from: now - 10 * minute }, { bucketMs: minute });
    expect(points.map(({ at }) => at)).toEqual([now - minute, now, now + 5 * minute]);
    await own.close();
  });

  test('tells long texts apart that differ behind the part that the index holds', async () => {
    const own = await open(36_500);
    const texts = ['x'.repeat(256), `${'x'.repeat(300)}a`, `${'x'.repeat(300)}b`];
    await own.insert(texts.map((text, number) => rowFor({ at: Date.now(), number, metadata: { note: text }, fields: { note: text } })));
    for (const field of ['meta.note', 'field.note']) {
      for (const [number, text] of texts.entries()) {
        const listed = async (...[operator, ...values]: [Condition['operator'], ...string[]]): Promise<number[]> =>
          numbers((await own.list(where(field, operator, ...values), { limit: 10 })).data);
        expect(await listed('in', text)).toEqual([number]);
        expect(await listed('in', text, 'short')).toEqual([number]);
        expect(await listed('not in', text)).toEqual([2, 1, 0].filter((one) => one !== number));
        expect(await listed('not in', text, '')).toEqual([2, 1, 0].filter((one) => one !== number));
      }
    }
    await own.close();
  });

  test('lists metadata keys by use, however many values they have', async () => {
    expect(await store.metadataKeys(everything)).toEqual(['tenant-id', 'odd "name".x']);
  });

  test('lists no metadata key with an empty name, because no filter can name it', async () => {
    const own = await open(36_500);
    await own.insert([rowFor({ at: Date.now(), metadata: { '': 'x', team: 'a' } })]);
    expect(await own.metadataKeys(everything)).toEqual(['team']);
    expect(Object.keys(await own.facets(everything))).not.toContain('meta.');
    await own.close();
  });

  test('refuses a cursor that is not from a page', async () => {
    await expect(store.list(everything, { limit: 1, cursor: 'garbage' })).rejects.toThrow(/take it from "next"/);
  });

  test('counts the values of the records', async () => {
    const facets = await store.facets(where('model', 'in', 'plain'));
    expect(facets['provider']).toEqual([{ value: 'up', count: 100 }]);
    expect(facets['meta.tenant-id']).toEqual([
      { value: 'tenant-0', count: 50 },
      { value: 'tenant-3', count: 50 },
    ]);
  });

  test('exports with bodies', async () => {
    const { data, next } = await store.exportRows(everything, { limit: 10 });
    expect(next).toBe(idAt(begin + 290 * minute, 290));
    expect(data[1]).toMatchObject({ id: idAt(begin + 298 * minute, 298), response: { choices: [{ text: 'It is 298' }] } });
  });

  test('ends a page of an export early where bodies are large, and continues after it', async () => {
    const large = await open(3650);
    // cost: the rows share one body, because each one made anew takes as much CPU as its way through the store
    const { body } = rowFor({ request: request('x'.repeat(1_000_000)) });
    const rows = Array.from({ length: 12 }, (_, number) => rowFor({ at: begin + number, number }));
    await large.insert(rows.map((row) => ({ ...row, body: body && { ...body, id: row.request.id } })));
    const pages: { found: number[]; isCut: boolean | undefined }[] = [];
    for (let cursor: string | null = null, isOver = false; !isOver;) {
      const page = await large.exportRows(everything, { limit: 50, cursor });
      pages.push({ found: numbers(page.data), isCut: page.isCut });
      cursor = page.next;
      isOver = cursor === null;
    }
    expect(pages).toEqual([
      { found: [11, 10, 9, 8, 7], isCut: true },
      { found: [6, 5, 4, 3, 2], isCut: true },
      { found: [1, 0], isCut: undefined },
    ]);
    await large.close();
  });

  test('deletes old records, shows none of them, and keeps accepting records', async () => {
    const day = 86_400_000;
    const now = Date.now();
    const keeping = await open(30);
    const ages = [90, 60, 45, 31, 29, 1];
    await keeping.insert(
      ages.map((age, number) => rowFor({ at: now - age * day, number, metadata: { age: String(age) }, request: request('x') })),
    );
    expect(numbers((await keeping.list(everything, { limit: 10 })).data)).toEqual([5, 4]);
    expect(await keeping.get(idAt(now - 31 * day, 3))).toBeNull();
    while (await keeping.retain(floorOf(30, now)));
    expect(numbers((await keeping.list(everything, { limit: 10 })).data)).toEqual([5, 4]);
    await keeping.insert([rowFor({ at: now - 60 * day, number: 9 })]);
    expect(numbers((await keeping.list(where('meta.age', 'in', '1'), { limit: 10 })).data)).toEqual([5]);
    await keeping.close();
  });

  test("keeps callers' keys, each change with its event, and lists the changes since a version", async () => {
    const own = await open(1000);
    const { keyStore: keys } = own;
    const change = (name: string, from: number, data: string | null, action = 'create') => ({
      name,
      from,
      data,
      event: { at: 1000 + from, action, by: 'api', address: from === 0 ? '10.0.0.7' : null, details: '{"a":"ä"}' },
    });
    expect(await keys.changes(noChange)).toEqual({ ...noChange, keys: [], isWhole: false });
    const a = (await keys.write(change('a', 0, '{"n":1}'))) as number;
    const b = (await keys.write(change('b', 0, '{"n":2}'))) as number;
    expect(b).toBeGreaterThan(a);
    const known = await keys.changes(noChange);
    expect(known).toEqual({
      version: b,
      changedAt: 1000,
      keys: [
        { name: 'a', version: a, data: '{"n":1}' },
        { name: 'b', version: b, data: '{"n":2}' },
      ],
      isWhole: true,
    });
    const changed = (await keys.write(change('a', a, '{"n":3}', 'change'))) as number;
    expect([
      await keys.write(change('a', 0, '{}')),
      await keys.write(change('a', a, '{}')),
      await keys.write(change('c', 9, '{}')),
    ]).toEqual([null, null, null]);
    const gone = (await keys.write(change('b', b, null, 'delete'))) as number;
    const later = await keys.changes(known);
    expect(later).toEqual({
      version: gone,
      changedAt: 1000 + b,
      keys: [
        { name: 'a', version: changed, data: '{"n":3}' },
        { name: 'b', version: gone, data: null },
      ],
      isWhole: false,
    });
    expect(await keys.changes(later)).toEqual({ version: gone, changedAt: 1000 + b, keys: [], isWhole: false });
    const again = (await keys.write(change('b', 0, '{"n":4}'))) as number;
    // the database was restored to an earlier state
    expect(await keys.changes({ version: again + 100, changedAt: 1000 })).toMatchObject({
      version: again,
      isWhole: true,
      keys: [{ name: 'a' }, { name: 'b', data: '{"n":4}' }],
    });
    const events = await keys.events({ name: null, before: null, limit: 10 });
    expect(events.map(({ id, name, action }) => [id, name, action])).toEqual([
      [again, 'b', 'create'],
      [gone, 'b', 'delete'],
      [changed, 'a', 'change'],
      [b, 'b', 'create'],
      [a, 'a', 'create'],
    ]);
    expect(events[4]).toEqual({ id: a, at: 1000, name: 'a', action: 'create', by: 'api', address: '10.0.0.7', details: '{"a":"ä"}' });
    expect((await keys.events({ name: 'b', before: again, limit: 1 })).map(({ id }) => id)).toEqual([gone]);
    expect((await keys.events({ name: null, before: b, limit: 10 })).map(({ id }) => id)).toEqual([a]);
    await own.close();
  });

  test.each([1, 2])(
    'gives all keys to a reader that knows another database, with as many or fewer changes than this one: %i',
    async (more) => {
      const [former, next] = [await open(1000), await open(1000)];
      const change = (name: string, at: number) => ({
        name,
        from: 0,
        data: '{}',
        event: { at, action: 'create', by: 'api', address: null, details: '{}' },
      });
      await former.keyStore.write(change('lost', 1000));
      const known = await former.keyStore.changes(noChange);
      for (let at = 0; at < more; at++) await next.keyStore.write(change(`kept-${at}`, 2000));
      const { keys, isWhole } = await next.keyStore.changes(known);
      expect([keys.map(({ name }) => name), isWhole]).toEqual([['kept-0', 'kept-1'].slice(0, more), true]);
      await Promise.all([former.close(), next.close()]);
    },
  );

  test('accepts one of several changes of a key at the same moment, with one event', async () => {
    const own = await open(1000);
    const event = { at: 1, action: 'create', by: 'api', address: null, details: '{}' };
    const written = await Promise.all(
      Array.from({ length: 20 }, (_, at) => own.keyStore.write({ name: `k${at % 4}`, from: 0, data: '{}', event })),
    );
    expect(written.filter((version) => version !== null)).toHaveLength(4);
    expect(await own.keyStore.events({ name: null, before: null, limit: 100 })).toHaveLength(4);
    await own.close();
  });

  test('knows when each key was last used', async () => {
    const last = (key: string): number => Math.max(...records.filter((record) => record.key === key).map(({ at }) => at));
    expect(await store.keyStore.lastUsed(['team-1', 'nobody', 'team-0'])).toEqual({ 'team-0': last('team-0'), 'team-1': last('team-1') });
    expect(await store.keyStore.lastUsed([])).toEqual({});
  });

  test('opens again with its records', async () => {
    await store.open();
    expect(await found(where('model', 'in', 'plain'), 1)).toEqual([297]);
  });
});

test('a week that another process has dropped is made again, in whatever language PostgreSQL reports it', async () => {
  const url = server.database();
  const proxy = await proxyTo(url);
  // of the same length, because a message contains its length
  proxy.translate = (piece) =>
    Buffer.from(piece.toString('latin1').replaceAll('no partition of relation', 'keine Partition fuer Rel'), 'latin1');
  const store = await storeIn('', url.replace(String(server.port), new URL(proxy.url).port));
  await store.insert([rowFor({ at: begin, number: 1 })]);
  while (await store.retain(begin + 30 * 86_400_000, true));
  await store.insert([rowFor({ at: begin, number: 2 })]);
  expect(numbers((await store.list(everything, { limit: 10 })).data)).toEqual([2]);
  await store.close();
  await proxy.close();
});
