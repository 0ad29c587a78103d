/** Budgets: reserved, settled with the cost of the record, read from the log at start. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { States } from '../../../../core/host/state.ts';
import { formatDollars, parseDollars } from '../../../../core/money.ts';
import { periodOf } from '../../../../plugins/route/limits/ledger.ts';
import { oneUpstream, quietPlugins } from '../../../_kit/gateway.ts';
import { keeping, memoryLog } from '../../../_kit/log.ts';
import { answers, completion, said, streams } from '../../../_kit/upstream.ts';
import { rowFor, storeIn } from '../../log/journal/scene.ts';
import { costOfOne, errorOf, gate, noon, scene, statusOf, tally } from './scene.ts';

const tenant = (name: string): Record<string, string> => ({ 'x-gateway-tenant-id': name });
const budget = (dollars: string, more: object = {}): object => ({ by: 'meta.tenant-id', budget: { dollars, per: 'day', ...more } });
const times = (count: number): string => formatDollars((parseDollars(costOfOne) as bigint) * BigInt(count));
/** A request whose longest answer has as many tokens as the provider's answer. */
const small = { max_tokens: 5 };

async function folder(): Promise<string> {
  const path = mkdtempSync(join(tmpdir(), 'gateway-limits-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

describe('a budget', () => {
  test('is spent by the cost of each record, and refuses with 402 a request that does not fit', async () => {
    const { gateway } = await scene({ limits: [budget(times(3))] });
    const left: (string | null)[] = [];
    for (let at = 0; at < 3; at++) left.push((await gateway.chat(small, tenant('acme'))).headers.get('x-budget-remaining'));
    // the most that a request may cost is held while it runs: 5 tokens of answer and the prompt
    for (const [at, dollars] of left.entries()) {
      expect(Number(dollars)).toBeLessThan(Number(times(3 - at)));
      expect(Number(dollars)).toBeGreaterThanOrEqual(Number(times(2 - at)));
    }
    const refused = await gateway.chat(small, tenant('acme'));
    expect([
      refused.status,
      refused.headers.get('x-should-retry'),
      refused.headers.get('x-budget-remaining'),
      refused.headers.get('retry-after'),
    ]).toEqual([402, 'false', '0', null]);
    const { code, type, message } = await errorOf(refused);
    expect([code, type]).toEqual(['budget_exceeded', 'insufficient_quota']);
    expect(message).toMatch(
      /^The budget of \$0\.00006 per day for meta\.tenant-id "acme" has \$0 left, and this request may cost \$0\.0000\d+\. It begins anew at 2026-03-02T00:00:00Z\.$/,
    );
    expect(await statusOf(gateway.chat(small, tenant('globex')))).toBe(200);
    expect((await gateway.chat(small)).headers.get('x-budget-remaining')).toBeNull();
  });

  test('refuses a request whose longest answer has more tokens than can be counted', async () => {
    const { gateway } = await scene({ limits: [budget('1')] });
    expect(await statusOf(gateway.chat({ max_tokens: Number.MAX_SAFE_INTEGER, n: 2 }, tenant('acme')))).toBe(402);
  });

  test('starts again with its period', async () => {
    const { gateway, clock } = await scene({ limits: [budget(times(1)), budget(times(2), { per: 'week' })] });
    const next = async (): Promise<number> => await statusOf(gateway.chat(small, tenant('acme')));
    expect([await next(), await next()]).toEqual([200, 402]);
    clock.now = Date.parse('2026-03-01T23:59:59.999Z');
    expect(await next()).toBe(402);
    clock.now += 1;
    // Monday: both start again
    expect([await next(), await next()]).toEqual([200, 402]);
    clock.now += 86_400_000;
    expect([await next(), await next()]).toEqual([200, 402]);
    clock.now += 86_400_000;
    // the day has room, the week has none
    const refused = await gateway.chat(small, tenant('acme'));
    expect((await errorOf(refused)).message).toContain('per week for meta.tenant-id "acme" has $0 left');
  });

  test('is not overspent by 50 simultaneous requests', async () => {
    const held = gate();
    const { gateway } = await scene({ limits: [budget(times(10))], step: held.step });
    const asked = Array.from({ length: 50 }, () => gateway.chat({ max_tokens: 20 }, tenant('acme')));
    await expect.poll(() => gateway.records.length + held.waiting()).toBe(50);
    const running = held.waiting();
    expect(running).toBeGreaterThan(2);
    held.letGo();
    expect(tally(await Promise.all(asked))).toEqual({ 200: running, 402: 50 - running });
    await expect.poll(() => gateway.records.length).toBe(50);
    const spent = gateway.records.reduce((sum, { cost }) => sum + (parseDollars(cost ?? '0') as bigint), 0n);
    expect(spent).toBeLessThanOrEqual(parseDollars(times(10)) as bigint);
    // held dollars that were not used are available again
    expect(await statusOf(gateway.chat({ max_tokens: 5 }, tenant('acme')))).toBe(200);
  });

  test('is charged the reserved price for an answer whose cost stays unknown: an image, and the client left before the counts', async () => {
    const { gateway } = await scene({ limits: [budget('0.005')], step: streams(said('One', ' two').slice(0, 3), { end: 'hang' }) });
    const content = [
      { type: 'text', text: 'What is it?' },
      { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
    ];
    const statuses: number[] = [];
    for (let at = 1; at <= 4; at++) {
      const left = new AbortController();
      const response = await gateway.post(
        { model: 'plain', stream: true, max_tokens: 500, messages: [{ role: 'user', content }] },
        { headers: tenant('acme'), signal: left.signal },
      );
      statuses.push(response.status);
      if (response.status === 200) await response.body?.getReader().read();
      left.abort();
      await expect.poll(() => gateway.records.length).toBe(at);
    }
    expect(gateway.records.map(({ cost }) => cost)).toEqual([null, null, null, null]);
    // 1,000 tokens for the image and the text at $0.000001, 500 of the answer at $0.000002
    expect(statuses).toEqual([200, 200, 402, 402]);
  });

  test('is charged the whole answer where its cost stays unknown, and it is longer than the caller allowed: an image, and no counts', async () => {
    const { gateway } = await scene({
      limits: [budget('0.005')],
      step: answers({ ...completion('word '.repeat(3000)), usage: undefined }),
    });
    const messages = [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }] }];
    const ask = async (): Promise<number> => await statusOf(gateway.chat({ ...small, messages }, tenant('acme')));
    expect([await ask(), gateway.records[0]?.cost, await ask()]).toEqual([200, null, 402]);
  });

  test('counts the schema of the answer as a part of the prompt, beforehand, and where the client left before the counts', async () => {
    const { gateway } = await scene({ limits: [budget('0.005')], step: streams(said('One', ' two').slice(0, 3), { end: 'hang' }) });
    const asked = (tokens: number): object => ({
      stream: true,
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'told', schema: { type: 'object', description: ' word'.repeat(tokens) } },
      },
    });
    expect(await statusOf(gateway.chat(asked(5000), tenant('acme')))).toBe(402);
    const response = await gateway.chat(asked(1000), tenant('acme'));
    const reader = response.body?.getReader();
    await reader?.read();
    await reader?.cancel();
    await expect.poll(() => gateway.records.length).toBe(2);
    expect(Number(gateway.records[1]?.cost)).toBeGreaterThan(0.001);
  });

  test.each(['data:text/plain;base64,', 'data:application/octet-stream;base64,', ''])(
    'counts a file of text as its text before a provider is asked, whatever type it is said to have: %j',
    async (start) => {
      const { gateway } = await scene({ limits: [budget('0.005')] });
      const asked = (tokens: number): object => {
        const file = { filename: 'notes.txt', file_data: start + Buffer.from(' word'.repeat(tokens)).toString('base64') };
        return { messages: [{ role: 'user', content: [{ type: 'file', file }] }] };
      };
      expect(await statusOf(gateway.chat(asked(5000), tenant('acme')))).toBe(402);
      expect(await statusOf(gateway.chat(asked(100), tenant('acme')))).toBe(200);
    },
  );

  test('holds the price of the most expensive candidate', async () => {
    const able = { streaming: true };
    const dear = { prompt: '0.0001', completion: '0.0001' };
    const { gateway } = await scene({
      config: (url) => ({
        providers: {
          up: { dialect: 'openai-chat', base_url: url, api_key: 'k' },
          dear: { dialect: 'openai-chat', base_url: url, api_key: 'k' },
        },
        models: [
          {
            id: 'plain',
            pricing: { prompt: '0.000001', completion: '0.000001' },
            providers: [
              { providerId: 'up', externalId: 'a', ...able },
              { providerId: 'dear', externalId: 'b', pricing: dear, ...able },
            ],
          },
        ],
        routing: { default: { strategy: 'ordered' } },
        limits: [{ by: 'all', budget: { dollars: '0.05', per: 'total' } }],
      }),
    });
    expect(await statusOf(gateway.chat({ max_tokens: 100 }))).toBe(200);
    const refused = await gateway.chat({ max_tokens: 1000 });
    expect([refused.status, (await errorOf(refused)).message]).toEqual([
      402,
      expect.stringMatching(/has \$0\.0499\d+ left, and this request may cost \$0\.100\d\. It does not begin anew\.$/),
    ]);
  });

  describe('of a provider', () => {
    const prices = (dollars: string): object => ({ prompt: dollars, completion: dollars });
    const both =
      (limits: readonly object[]) =>
      (url: string): Record<string, unknown> => ({
        providers: {
          near: { dialect: 'openai-chat', base_url: url, api_key: 'k' },
          dear: { dialect: 'openai-chat', base_url: url, api_key: 'k' },
        },
        models: [
          {
            id: 'plain',
            providers: [
              { providerId: 'near', externalId: 'a', pricing: prices('0.000001') },
              { providerId: 'dear', externalId: 'b', pricing: prices('0.0001') },
            ],
          },
        ],
        routing: { default: { strategy: 'ordered' } },
        limits,
      });
    const ofNear = { by: 'provider', match: 'near', budget: { dollars: '0.001', per: 'total' } };
    const askedFor = async ({ gateway }: Awaited<ReturnType<typeof scene>>, max_tokens: number): Promise<string | number | null> => {
      const reply = await gateway.chat({ max_tokens });
      return reply.headers.get('x-provider') ?? reply.status;
    };

    test.each([
      ['alone', [ofNear]],
      ['beside a budget of the caller', [ofNear, { by: 'all', budget: { dollars: '1', per: 'total' } }]],
    ])('holds the price of that provider, not that of the most expensive candidate: %s', async (_, limits) => {
      const made = await scene({ config: both(limits) });
      expect([await askedFor(made, 500), await askedFor(made, 2000), await askedFor(made, 500)]).toEqual(['near', 'dear', 'near']);
    });

    test('does not change the budget of the caller, which pays for any provider', async () => {
      const made = await scene({ config: both([ofNear, { by: 'all', budget: { dollars: '0.04', per: 'total' } }]) });
      expect([await askedFor(made, 100), await askedFor(made, 500)]).toEqual(['near', 402]);
    });

    test('is held while its request runs, in addition to the budget of the caller', async () => {
      const held = gate();
      const made = await scene({ config: both([ofNear, { by: 'all', budget: { dollars: '1', per: 'total' } }]), step: held.step });
      const first = made.gateway.chat({ max_tokens: 700 });
      await expect.poll(() => held.waiting()).toBe(1);
      const second = made.gateway.chat({ max_tokens: 700 });
      await expect.poll(() => held.waiting()).toBe(2);
      held.letGo();
      expect([(await first).headers.get('x-provider'), (await second).headers.get('x-provider')]).toEqual(['near', 'dear']);
      expect(await askedFor(made, 700)).toBe('near');
    });
  });

  test('serves a request without a known price and charges nothing, unless it is set to refuse', async () => {
    const unpriced = (url: string, unknown: string): Record<string, unknown> => {
      const base = oneUpstream(url, { limits: [budget(times(2), { unknown })] }) as any;
      return { ...base, models: [...base.models.slice(1), { ...base.models[0], pricing: { image: '0.01' } }] };
    };
    const admitting = await scene({ config: (url) => unpriced(url, 'admit') });
    for (let at = 0; at < 5; at++) expect(await statusOf(admitting.gateway.chat({}, tenant('acme')))).toBe(200);
    expect(admitting.gateway.records.at(-1)?.cost).toBeNull();
    const refusing = await scene({ config: (url) => unpriced(url, 'refuse') });
    const refused = await refusing.gateway.chat({}, tenant('acme'));
    expect([refused.status, await errorOf(refused)]).toEqual([
      402,
      expect.objectContaining({
        code: 'budget_exceeded',
        message:
          'The price of the model "plain" is not known, and the budget of $0.00004 per day for meta.tenant-id "acme" refuses such requests.',
      }),
    ]);
    expect(await statusOf(refusing.gateway.chat({}))).toBe(200);
    expect(await statusOf(refusing.gateway.chat({ ...small, model: 'thinker' }, tenant('acme')))).toBe(200);
  });

  test('refuses a request without a known price where one of several budgets of a value does, whatever their order', async () => {
    const unpriced = (url: string, budgets: readonly object[]): Record<string, unknown> => {
      const base = oneUpstream(url, { limits: budgets }) as any;
      return { ...base, models: [{ ...base.models[0], pricing: { image: '0.01' } }] };
    };
    const budgets = [budget('5', { unknown: 'refuse' }), budget('1')];
    for (const limits of [budgets, budgets.toReversed()]) {
      const { gateway } = await scene({ config: (url) => unpriced(url, limits) });
      expect(await statusOf(gateway.chat({}, tenant('acme')))).toBe(402);
    }
  });

  test('has the same amount left where a clock went past midnight and was set back, and its holds are never negative', async () => {
    const held = gate();
    const { gateway, upstream, clock } = await scene({ limits: [{ by: 'all', budget: { dollars: '0.002', per: 'day' } }] });
    const state = async (): Promise<readonly string[]> =>
      ((await (await gateway.get('/api/limits')).json()) as any).data.flatMap(({ used, held: holds }: any) => [used, holds]);
    expect(await statusOf(gateway.chat(small))).toBe(200);
    upstream.script(held.step);
    const running = gateway.chat({ max_tokens: 500 });
    await expect.poll(held.waiting).toBe(1);
    const before = await state();
    expect([before[0], Number(before[1]) > 0.001]).toEqual([costOfOne, true]);
    clock.now += 86_400_000;
    expect(await state()).toEqual(['0', '0']);
    clock.now -= 86_400_000;
    expect(await state()).toEqual(before);
    held.letGo();
    expect(await statusOf(running)).toBe(200);
    expect(await state()).toEqual([times(2), '0']);
    expect(await statusOf(gateway.chat({ max_tokens: 1000 }))).toBe(402);
  });

  test('that is overspent serves free requests, and requests without a known price', async () => {
    const step = answers({ ...completion('Hello.'), usage: { prompt_tokens: 500, completion_tokens: 400, total_tokens: 900 } });
    const withFree = (url: string): Record<string, unknown> => {
      const { models, ...base } = oneUpstream(url, { limits: [{ ...budget(times(2)), tokens_per_minute: 100 }] }) as any;
      return {
        ...base,
        models: [
          ...models,
          { ...models[0], id: 'free', aliases: [], free: true },
          { ...models[0], id: 'unpriced', aliases: [], pricing: 'unknown' },
        ],
      };
    };
    const { gateway, clock } = await scene({ step, config: withFree });
    const next = async (model: string, path?: string): Promise<number> =>
      await statusOf(
        gateway.post({ model, ...small, messages: [{ role: 'user', content: 'Hi' }] }, { headers: tenant('acme'), ...(path && { path }) }),
      );
    expect(await next('plain')).toBe(200);
    // counting tokens costs nothing
    expect([await next('plain'), await next('plain', '/v1/messages/count_tokens')]).toEqual([402, 200]);
    clock.now += 60_100;
    expect([await next('plain'), await next('free')]).toEqual([402, 200]);
    clock.now += 60_100;
    expect([await next('unpriced'), await next('plain')]).toEqual([200, 402]);
  });

  test('of a model and a provider is charged for their answers', async () => {
    const { gateway } = await scene({
      limits: [
        { by: 'model', match: 'thinker', budget: { dollars: times(1), per: 'month' } },
        { by: 'provider', budget: { dollars: times(2), per: 'month' } },
      ],
    });
    const next = async (model: string): Promise<number> => await statusOf(gateway.chat({ ...small, model }));
    expect([await next('thinker'), await next('thinker'), await next('plain'), await next('plain')]).toEqual([200, 402, 200, 402]);
  });

  test('counts a cut stream, and a client that left, by the cost on record', async () => {
    const { gateway, upstream } = await scene({ limits: [budget('1')], step: streams(said('Hello,').slice(0, 2), { end: 'reset' }) });
    await (await gateway.chat({ stream: true }, tenant('acme'))).text();
    upstream.script(streams(said('Hello,').slice(0, 2), { end: 'hang' }));
    await (await gateway.chat({ stream: true }, tenant('acme'))).body?.cancel();
    await expect.poll(() => gateway.records.length).toBe(2);
    const spent = gateway.records.map(({ cost }) => parseDollars(cost as string) as bigint).reduce((a, b) => a + b);
    expect(spent).toBeGreaterThan(0n);
    const { limits } = (await (await gateway.chat({}, { ...tenant('acme'), 'x-dry-run': 'true' })).json()) as any;
    expect(limits[0].used).toBe(formatDollars(spent));
  });
});

describe('what was spent', () => {
  const withJournal =
    (dataDir: string, more: object = {}) =>
    (url: string): Record<string, unknown> =>
      oneUpstream(url, {
        server: { data_dir: dataDir },
        plugins: [...quietPlugins, { use: 'log/journal', with: {} }],
        limits: [budget(times(4)), { by: 'all', budget: { dollars: '1', per: 'month' } }],
        ...more,
      });
  const used = async (gateway: any, name: string): Promise<Record<string, string>> => {
    const { limits } = await (await gateway.chat({ max_tokens: 1 }, { ...tenant(name), 'x-dry-run': 'true' })).json();
    return Object.fromEntries(limits.map((one: any) => [one.by, one.used]));
  };

  /** Stores records in the log. cost: a thousand requests take a second of CPU */
  const fill = async (dataDir: string, records: readonly Parameters<typeof rowFor>[0][]): Promise<void> => {
    const store = await storeIn(dataDir);
    await store.insert(records.map(rowFor));
    await store.close();
  };

  test('survives a restart, and is exactly the sum of the log', async () => {
    const dataDir = await folder();
    const clock = { now: Date.now() };
    const one = await scene({ config: withJournal(dataDir), clock });
    for (let at = 0; at < 3; at++) await statusOf(one.gateway.chat(small, tenant('acme')));
    await statusOf(one.gateway.chat(small, tenant('globex')));
    expect(await used(one.gateway, 'acme')).toEqual({ all: times(4), 'meta.tenant-id': times(3) });
    await one.gateway.close();
    const two = await scene({ config: withJournal(dataDir), clock });
    expect(await used(two.gateway, 'acme')).toEqual({ all: times(4), 'meta.tenant-id': times(3) });
    expect([await statusOf(two.gateway.chat(small, tenant('acme'))), await statusOf(two.gateway.chat(small, tenant('acme')))]).toEqual([
      200, 402,
    ]);
    expect(await statusOf(two.gateway.chat(small, tenant('new')))).toBe(200);
    const sums = async (): Promise<object> =>
      Object.fromEntries(
        ((await (await two.gateway.get('/api/stats?by=meta.tenant-id')).json()) as any).data.map(({ value, cost }: any) => [value, cost]),
      );
    await expect.poll(sums).toMatchObject({ acme: times(4), globex: times(1), new: times(1) });
    expect(await used(two.gateway, 'new')).toEqual({ all: times(6), 'meta.tenant-id': times(1) });
    // the log keeps a whole month where nothing is said
    expect([...one.gateway.lines, ...two.gateway.lines]).toEqual([]);
  });

  test('of more values than the log sums at once is read for each value', async () => {
    const dataDir = await folder();
    const clock = { now: Date.now() };
    await fill(dataDir, [
      ...Array.from({ length: 1000 }, (_, at) => ({ at: clock.now, number: at, cost: times(2), metadata: { 'tenant-id': `a-${at}` } })),
      { at: clock.now, number: 1000, cost: times(1), metadata: { 'tenant-id': 'z' } },
    ]);
    const { gateway } = await scene({ config: withJournal(dataDir, { limits: [budget(times(2))] }), clock });
    expect(await used(gateway, 'z')).toEqual({ 'meta.tenant-id': times(1) });
    expect([await statusOf(gateway.chat(small, tenant('z'))), await statusOf(gateway.chat(small, tenant('z')))]).toEqual([200, 402]);
  });

  test('by requests without the metadata key, or with an empty value, counts in no budget by that key', async () => {
    const log = memoryLog();
    const clock = { now: Date.now() };
    const at = { createdAt: new Date(clock.now).toISOString() };
    log.add({ ...at, cost: '5' });
    log.add({ ...at, cost: '7', metadata: { 'tenant-id': '' } });
    log.add({ ...at, cost: '0.5', metadata: { 'tenant-id': 'acme' } });
    const { gateway } = await scene({ limits: [budget('1')], plugins: [keeping(log)], clock });
    const { data } = (await (await gateway.get('/api/limits')).json()) as any;
    expect(data.map(({ value, used }: any) => [value, used])).toEqual([['acme', '0.5']]);
    expect(await statusOf(gateway.chat(small, tenant('')))).toBe(200);
  });

  test('at a time in the future, by a clock that was ahead, does not count in an earlier period', async () => {
    const log = memoryLog();
    const clock = { now: noon };
    const spent = (at: number, value: string): void =>
      void log.add({ createdAt: new Date(at).toISOString(), metadata: { 'tenant-id': value }, cost: times(4) });
    spent(noon + 86_400_000, 'acme');
    spent(noon, 'globex');
    const { gateway } = await scene({
      limits: [budget(times(4)), { by: 'all', budget: { dollars: '1', per: 'total' } }],
      plugins: [keeping(log)],
      clock,
    });
    const usedOf = async (): Promise<object> =>
      Object.fromEntries(((await (await gateway.get('/api/limits')).json()) as any).data.map(({ value, used }: any) => [value, used]));
    expect(await usedOf()).toEqual({ '': times(8), globex: times(4) });
    expect([await statusOf(gateway.chat(small, tenant('acme'))), await statusOf(gateway.chat(small, tenant('globex')))]).toEqual([
      200, 402,
    ]);
  });

  test('counts for a budget that a reload adds', async () => {
    const dataDir = await folder();
    const states = new States();
    const clock = { now: Date.now() };
    const one = await scene({ config: withJournal(dataDir, { limits: [] }), states, clock });
    for (let at = 0; at < 4; at++) await statusOf(one.gateway.chat(small, tenant('acme')));
    const two = await scene({ config: withJournal(dataDir), states, clock });
    expect(await statusOf(two.gateway.chat(small, tenant('acme')))).toBe(402);
  });

  test('counts for a budget that one reload removes and another one adds again', async () => {
    const dataDir = await folder();
    const states = new States();
    const clock = { now: Date.now() };
    const one = await scene({ config: withJournal(dataDir), states, clock });
    expect(await statusOf(one.gateway.chat(small, tenant('acme')))).toBe(200);
    const two = await scene({ config: withJournal(dataDir, { limits: [] }), states, clock });
    for (let at = 0; at < 3; at++) expect(await statusOf(two.gateway.chat(small, tenant('acme')))).toBe(200);
    const three = await scene({ config: withJournal(dataDir), states, clock });
    expect(await statusOf(three.gateway.chat(small, tenant('acme')))).toBe(402);
  });

  test('is unknown while the log is away: only callers with budgets get 503', async () => {
    const log = memoryLog();
    const clock = { now: Date.now() };
    log.add({ createdAt: new Date(clock.now).toISOString(), metadata: { 'tenant-id': 'acme' }, cost: times(4) });
    log.fail(new Error('away'));
    const { gateway } = await scene({ limits: [budget(times(4))], plugins: [keeping(log)], clock });
    const refused = await gateway.chat(small, tenant('acme'));
    expect([refused.status, refused.headers.get('retry-after'), await errorOf(refused)]).toEqual([
      503,
      '1',
      {
        code: 'budget_unavailable',
        type: 'server_error',
        param: null,
        message: 'What was spent of the budget of $0.00008 per day for meta.tenant-id "acme" is not known yet. Try again in a moment.',
      },
    ]);
    expect(await statusOf(gateway.chat(small))).toBe(200);
    log.fail(null);
    await expect.poll(() => statusOf(gateway.chat(small, tenant('acme')))).toBe(402);
    expect(await statusOf(gateway.chat(small, tenant('other')))).toBe(200);
  });

  test('is known over a reload while the log is away: only callers that were not counted before get 503, and the process log says so', async () => {
    const log = memoryLog();
    const states = new States();
    const clock = { now: Date.now() };
    const reloaded = { limits: [budget(times(2))], plugins: [keeping(log)], states, clock };
    const before = await scene(reloaded);
    expect(await statusOf(before.gateway.chat(small, tenant('acme')))).toBe(200);
    log.fail(new Error('away'));
    const { gateway } = await scene(reloaded);
    expect(await statusOf(gateway.chat(small, tenant('other')))).toBe(503);
    expect([await statusOf(gateway.chat(small, tenant('acme'))), await statusOf(gateway.chat(small, tenant('acme')))]).toEqual([200, 402]);
    expect(gateway.lines.join()).toContain('except those whose sums this gateway or Redis knows');
  });

  test('has cents in the words of a 402', async () => {
    const log = memoryLog();
    const clock = { now: Date.now() };
    log.add({ createdAt: new Date(clock.now).toISOString(), metadata: { 'tenant-id': 'acme' }, cost: '0.1' });
    const { gateway } = await scene({ limits: [budget('0.1')], plugins: [keeping(log)], clock });
    expect((await errorOf(await gateway.chat(small, tenant('acme')))).message).toMatch(
      /^The budget of \$0\.10 per day for .* has \$0 left/,
    );
  });

  test('is forgotten at a restart where the log is missing or shorter than the period, and a warning says so', async () => {
    const messages = ({ gateway }: Awaited<ReturnType<typeof scene>>): string[] =>
      gateway.lines.map((line) => (JSON.parse(line) as { msg: string }).msg);
    const short = await scene({
      limits: [budget('1'), budget('1', { per: 'month' }), budget('1', { per: 'total' })],
      plugins: [keeping(memoryLog())],
      clock: { now: Date.now() },
    });
    expect(messages(short)).toEqual(
      [['month', 31] as const, ['total', 0] as const].map(
        ([per, days]) =>
          `the log keeps 30 days, so a budget with per: ${per} forgets older spending when the process starts again; set retention_days of the log to ${days}`,
      ),
    );
    const all = memoryLog();
    const whole = keeping({ ...all, status: async () => ({ ...(await all.status()), retentionDays: 0 }) });
    expect(messages(await scene({ limits: [budget('1', { per: 'total' })], plugins: [whole] }))).toEqual([]);
    expect(messages(await scene({ limits: [budget('1')] }))).toEqual([
      'there are budgets, and no plugin keeps a log: what was spent is forgotten when this process ends',
    ]);
    expect(messages(await scene({ limits: [{ by: 'all', concurrent: 1 }] }))).toEqual([]);
  });

  test('by another process is counted when the log is read again', async () => {
    const log = memoryLog();
    const clock = { now: Date.now() };
    const { gateway } = await scene({ limits: [budget(times(4))], plugins: [keeping(log)], clock });
    expect(await statusOf(gateway.chat(small, tenant('acme')))).toBe(200);
    log.add({ createdAt: new Date(clock.now).toISOString(), metadata: { 'tenant-id': 'acme' }, cost: times(4) });
    await expect.poll(() => statusOf(gateway.chat(small, tenant('acme'))), { interval: 1000 }).toBe(402);
  });
});

test('each moment is in exactly one period, which begins at or before it', () => {
  expect(
    ['day', 'week', 'month', 'total'].map((per) =>
      Object.values(periodOf(per as any, noon)).map((at) => (Number.isFinite(at) ? new Date(at).toISOString().slice(0, 10) : at)),
    ),
  ).toEqual([
    ['2026-03-01', '2026-03-02'],
    ['2026-02-23', '2026-03-02'],
    ['2026-03-01', '2026-04-01'],
    ['1970-01-01', Infinity],
  ]);
  fc.assert(
    fc.property(fc.constantFrom('day' as const, 'week' as const, 'month' as const), fc.integer({ min: 0, max: 4e12 }), (per, at) => {
      const { start, end } = periodOf(per, at);
      expect(start <= at && at < end).toBe(true);
      expect(periodOf(per, end).start).toBe(end);
      expect(new Date(start).toISOString().endsWith('T00:00:00.000Z')).toBe(true);
      if (per === 'week') expect(new Date(start).getUTCDay()).toBe(1);
      if (per === 'month') expect(new Date(start).getUTCDate()).toBe(1);
    }),
  );
});
