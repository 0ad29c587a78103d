/** The limits as operators see them: GET /api/limits, the metrics, gateway limits. */
import { describe, expect, test } from 'vitest';
import type { CallerKeys } from '../../../../core/api-key.ts';
import { MemoryLedger } from '../../../../plugins/route/limits/counts/memory.ts';
import type { Subject } from '../../../../plugins/route/limits/ledger.ts';
import { Rules } from '../../../../plugins/route/limits/rules.ts';
import { limitMetrics } from '../../../../plugins/route/limits/shown.ts';
import { Sums } from '../../../../plugins/route/limits/sums.ts';
import { mockConfig, run, start } from '../../../_kit/executable.ts';
import { asking } from './redis-scene.ts';
import { costOfOne, gate, noon, scene, statusOf } from './scene.ts';

const tenant = (name: string): Record<string, string> => ({ 'x-gateway-tenant-id': name });
const limits = [
  { by: 'meta.tenant-id', requests_per_minute: 4, budget: { dollars: '1', per: 'day' } },
  { by: 'all', concurrent: 10 },
];

describe('the limits', () => {
  test('have a budget as used to the share that is spent or that running requests may still cost', async () => {
    const held = gate();
    const { gateway } = await scene({ limits: [{ by: 'all', budget: { dollars: '1', per: 'day' } }], step: held.step });
    const running = gateway.chat({ max_tokens: 400_000 });
    await expect.poll(() => held.waiting()).toBe(1);
    const { data } = (await (await gateway.get('/api/limits')).json()) as any;
    held.letGo();
    await statusOf(running);
    expect([data[0].used, data[0].share]).toEqual(['0', Number(data[0].held)]);
    expect(data[0].share).toBeGreaterThan(0.8);
  });

  test('have a budget of 0 dollars as full, before those that have room', async () => {
    const { gateway } = await scene({ limits: [...limits, { by: 'all', budget: { dollars: '0', per: 'day' } }] });
    await statusOf(gateway.chat({}, tenant('acme')));
    const { data } = (await (await gateway.get('/api/limits')).json()) as any;
    expect(data[0]).toMatchObject({ by: 'all', limit: 'budget', allowed: '0', share: 1 });
  });

  test('are listed with their use, the fullest first', async () => {
    const { gateway } = await scene({ limits });
    await statusOf(gateway.chat({}, tenant('acme')));
    for (let at = 0; at < 5; at++) await statusOf(gateway.chat({}, tenant('globex')));
    const { data, total, refusals } = (await (await gateway.get('/api/limits')).json()) as any;
    expect(data.slice(0, 2)).toEqual([
      {
        by: 'meta.tenant-id',
        value: 'globex',
        limit: 'requests_per_minute',
        per: null,
        allowed: 4,
        used: 4,
        held: null,
        remaining: 0,
        share: 1,
        beginsAnewAt: null,
      },
      {
        by: 'meta.tenant-id',
        value: 'acme',
        limit: 'requests_per_minute',
        per: null,
        allowed: 4,
        used: 1,
        held: null,
        remaining: 3,
        share: 0.25,
        beginsAnewAt: null,
      },
    ]);
    expect(data).toContainEqual({
      by: 'meta.tenant-id',
      value: 'acme',
      limit: 'budget',
      per: 'day',
      allowed: '1',
      used: costOfOne,
      held: '0',
      remaining: '0.99998',
      share: 0.00002,
      beginsAnewAt: '2026-03-02T00:00:00.000Z',
    });
    expect([total, refusals]).toEqual([5, { rate_limit_exceeded: 1 }]);
    expect(((await (await gateway.get('/api/limits?by=all')).json()) as any).data.map(({ by }: any) => by)).toEqual(['all']);
  });

  test('can be filtered by what they count, and by nothing else', async () => {
    const { gateway } = await scene({ limits });
    await statusOf(gateway.chat({}, tenant('acme')));
    const asked = async (query: string) => {
      const reply = await gateway.get(`/api/limits?${query}`);
      const { data, error } = (await reply.json()) as any;
      return [reply.status, error?.code ?? data.length, error?.param ?? null];
    };
    expect(await asked('by=meta.Tenant-ID')).toEqual([200, 2, null]);
    expect(await asked('by=meta.team')).toEqual([200, 0, null]);
    for (const query of ['by=tenant-id', 'by=kye', 'by=', 'by=meta.', 'by=all&by=key']) {
      expect(await asked(query)).toEqual([400, 'invalid_value', 'by']);
    }
  });

  test('are metrics, with their refusals', async () => {
    const { gateway } = await scene({ limits });
    for (let at = 0; at < 5; at++) await statusOf(gateway.chat({}, tenant('globex')));
    const text = await (await gateway.get('/metrics')).text();
    expect(text).toContain('gateway_limit_used{by="meta.tenant-id",value="globex",limit="requests_per_minute"} 4\n');
    expect(text).toContain('gateway_limit_allowed{by="meta.tenant-id",value="globex",limit="requests_per_minute"} 4\n');
    expect(text).toContain('gateway_limit_used{by="meta.tenant-id",value="globex",limit="budget",per="day"} 0.00008\n');
    expect(text).toContain('gateway_limit_refusals_total{code="rate_limit_exceeded"} 1\n');
  });

  test('count no refusal of a dry run, such as that of gateway route', async () => {
    const { gateway } = await scene({ limits: [{ by: 'all', budget: { dollars: '0.000001', per: 'day' } }] });
    const refusals = async (): Promise<object> => ((await (await gateway.get('/api/limits')).json()) as { refusals: object }).refusals;
    expect([await statusOf(gateway.chat({}, { 'x-dry-run': 'true' })), await refusals()]).toEqual([402, {}]);
    expect([await statusOf(gateway.chat({})), await refusals()]).toEqual([402, { budget_exceeded: 1 }]);
  });

  test('have at most a hundred series each, however many values callers make up', async () => {
    const { gateway } = await scene({ limits });
    await Promise.all(Array.from({ length: 150 }, (_, at) => statusOf(gateway.chat({}, tenant(`t-${at}`)))));
    const text = await (await gateway.get('/metrics')).text();
    expect(text.split('\n').filter((line) => line.startsWith('gateway_limit_used{')).length).toBe(100);
  });

  test('of many values are collected in slices, and requests are served in between', async () => {
    const memory = new MemoryLedger(() => noon);
    const rules = new Rules(
      { limits: [{ by: 'meta.x', match: null, requestsPerMinute: 10, tokensPerMinute: null, concurrent: null, budget: null }] },
      [],
    );
    const use = (value: string): void => void memory.reserve(asking([rules.of('meta.x', value) as Subject]));
    for (let at = 0; at < 2000; at++) use(`value-${at}`);
    for (const value of ['value-7', 'value-1990', 'value-1990']) use(value);
    let turns = 0;
    const count = (): void => void (turns++, (next = setImmediate(count)));
    let next = setImmediate(count);
    const [used] = await limitMetrics({
      rules,
      ledger: memory,
      keys: { all: () => [] } as unknown as CallerKeys,
      clock: () => noon,
      sums: new Sums([], {} as never, noon),
      refusals: new Map(),
      peers: null,
    });
    clearImmediate(next);
    expect(turns).toBeGreaterThan(5);
    expect([used?.samples.length, used?.samples.slice(0, 3).map(([{ value }, amount]) => [value, amount])]).toEqual([
      100,
      [
        ['value-1990', 3],
        ['value-7', 2],
        ['value-0', 1],
      ],
    ]);
  });

  test('are an empty list where the config has none', async () => {
    const { gateway } = await scene({});
    expect(await (await gateway.get('/api/limits')).json()).toEqual({ data: [], total: 0, refusals: {} });
  });
});

test('gateway limits prints each limit with its use', async () => {
  const gateway = await start({
    ...mockConfig(),
    keys: [
      { name: 'search-team', key: 'the-key-of-the-team', limits: { requests_per_minute: 4, budget: { dollars: '50', per: 'month' } } },
    ],
  });
  const headers = { 'content-type': 'application/json', authorization: 'Bearer the-key-of-the-team' };
  expect(
    (
      await fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers,
        body: JSON.stringify({ model: 'mock', messages: [{ role: 'user', content: 'hi' }] }),
      })
    ).status,
  ).toBe(200);
  const { code, stdout, stderr } = await run(['limits', '--config', gateway.file]);
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toMatch(
    /^BY +VALUE +LIMIT +USED +OF +FULL +BEGINS ANEW \(UTC\)\nkey +search-team +requests per minute +1 +4 +25 %\nkey +search-team +budget per month +\$0\.0000\d+ +\$50 +0 % +20\d\d-\d\d-01 00:00\n\n2 of 2 limits\n$/,
  );
  const machine = await run(['limits', '--json', '--by', 'key', '--config', gateway.file]);
  expect(JSON.parse(machine.stdout)).toMatchObject([
    { value: 'search-team', limit: 'requests_per_minute', used: 1 },
    { limit: 'budget', per: 'month', allowed: '50' },
  ]);
  await gateway.stop();
});
