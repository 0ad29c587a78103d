/** Several gateways over one Redis, and a Redis that is away, slow, flapping or emptied. */
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { AnyPlugin } from '../../../../core/host/plugin.ts';
import { formatDollars, parseDollars } from '../../../../core/money.ts';
import { keeping, memoryLog } from '../../../_kit/log.ts';
import type { MemoryLog } from '../../../_kit/log.ts';
import { proxyTo } from '../../../_kit/proxy.ts';
import type { Proxy } from '../../../_kit/proxy.ts';
import { startRedis } from '../../../_kit/servers.ts';
import type { RedisServer } from '../../../_kit/servers.ts';
import { answers, completion, pause } from '../../../_kit/upstream.ts';
import { costOfOne, errorOf, gate, scene, statusOf, tally } from './scene.ts';
import type { Scene, SceneSetup } from './scene.ts';

const tenant = (name: string): Record<string, string> => ({ 'x-gateway-tenant-id': name });
const times = (count: number): string => formatDollars((parseDollars(costOfOne) as bigint) * BigInt(count));
const small = { max_tokens: 5 };

let server: RedisServer;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(async () => await server.stop());

let number = 0;
/** A value that no other test uses. */
const fresh = (): string => `tenant-${++number}`;

const over = async (
  url: string,
  limits: readonly object[],
  { whenAway = 'local', ...setup }: SceneSetup & { whenAway?: string } = {},
): Promise<Scene> => await scene({ limits, clock: { now: Date.now() }, ...setup, more: { redis: { url, when_away: whenAway } } });

/** A log that several gateways write and read, as they do one PostgreSQL. */
function sharedLog(): { readonly log: MemoryLog; readonly plugins: readonly AnyPlugin[] } {
  const log = memoryLog();
  const writing: AnyPlugin = {
    name: 'test/write',
    summary: 'writes the shared log of a test',
    schema: {},
    apply: ({ hooks }) => hooks.log.tap((record) => void log.add({ ...record, request: null, response: null })),
  };
  return { log, plugins: [keeping(log), writing] };
}

describe('four gateways', () => {
  // a gateway waits 300 ms for Redis, and then lets requests in alone: where the machine stands still for longer, the counts are not exact
  test('share one limit exactly', { retry: 3 }, async () => {
    const name = fresh();
    const gateways = await Promise.all([1, 2, 3, 4].map(() => over(server.url, [{ by: 'meta.tenant-id', requests_per_minute: 100 }])));
    const replies: Response[] = [];
    // a busy machine needs more than 300 ms for 240 requests at once, and the gateway waits only that long for Redis
    for (let round = 0; round < 4; round++) {
      replies.push(
        ...(await Promise.all(gateways.flatMap(({ gateway }) => Array.from({ length: 15 }, () => gateway.chat(small, tenant(name)))))),
      );
    }
    expect(tally(replies)).toEqual({ 200: 100, 429: 140 });
    expect(
      replies
        .filter(({ status }) => status === 200)
        .map((reply) => Number(reply.headers.get('x-ratelimit-remaining-requests')))
        .sort((a, b) => a - b),
    ).toEqual(Array.from({ length: 100 }, (_, at) => at));
  });

  test('share limits of concurrent requests and of tokens', async () => {
    const name = fresh();
    const held = gate();
    const gateways = await Promise.all(
      [1, 2, 3, 4].map(() => over(server.url, [{ by: 'meta.tenant-id', concurrent: 6, tokens_per_minute: 10_000 }], { step: held.step })),
    );
    const asked = gateways.flatMap(({ gateway }) => Array.from({ length: 10 }, () => gateway.chat(small, tenant(name))));
    await expect.poll(() => gateways.reduce((sum, { gateway }) => sum + gateway.records.length, 0)).toBe(34);
    await expect.poll(held.waiting).toBe(6);
    const full = await (gateways[0] as Scene).gateway.chat({ max_tokens: 9990 }, tenant(name));
    expect(full.status).toBe(429);
    held.letGo();
    expect(tally(await Promise.all(asked))).toEqual({ 200: 6, 429: 34 });
    await expect.poll(async () => await statusOf((gateways[3] as Scene).gateway.chat(small, tenant(name)))).toBe(200);
  });

  // a gateway waits 300 ms for Redis, and then lets requests in alone: where the machine stands still for longer, the counts are not exact
  test('do not overspend a budget together', { retry: 3 }, async () => {
    const name = fresh();
    const { plugins } = sharedLog();
    const gateways = await Promise.all(
      [1, 2, 3, 4].map(() => over(server.url, [{ by: 'meta.tenant-id', budget: { dollars: times(30), per: 'day' } }], { plugins })),
    );
    for (let round = 0; round < 4; round++) {
      await Promise.all(gateways.flatMap(({ gateway }) => Array.from({ length: 4 }, () => gateway.chat({ max_tokens: 20 }, tenant(name)))));
    }
    const spent = gateways
      .flatMap(({ gateway }) => gateway.records)
      .reduce((sum, { cost }) => sum + (parseDollars(cost ?? '0') as bigint), 0n);
    expect(spent).toBeGreaterThan(parseDollars(times(22)) as bigint);
    expect(spent).toBeLessThanOrEqual(parseDollars(times(30)) as bigint);
    const used = async (): Promise<unknown[]> =>
      await Promise.all(
        gateways.map(
          async ({ gateway }) =>
            ((await (await gateway.chat({ max_tokens: 1 }, { ...tenant(name), 'x-dry-run': 'true' })).json()) as any).limits?.[0]?.used,
        ),
      );
    // a reply does not wait until Redis has the cost of the request
    await expect.poll(async () => new Set((await used()).filter((one) => one !== undefined)).size).toBeLessThanOrEqual(1);
  });
});

test('the cost of a request counts before its hold is released: no request of another gateway gets in between', async () => {
  const name = fresh();
  const client = new Redis(server.url);
  onTestFinished(() => client.disconnect());
  const monitor = await client.monitor();
  onTestFinished(() => monitor.disconnect());
  const steps: string[] = [];
  monitor.on('monitor', (_time: string, [command = '', key = '', ...args]: string[]) => {
    if (!key.endsWith(name)) return;
    if (command.toLowerCase() === 'incrby' && key.includes(':spent:')) steps.push('charged');
    if (command.toLowerCase() === 'hincrby' && key.includes(':held:')) steps.push(args.at(-1)?.startsWith('-') ? 'let go' : 'held');
  });
  const { gateway } = await over(server.url, [{ by: 'meta.tenant-id', budget: { dollars: '1', per: 'day' } }], {
    plugins: sharedLog().plugins,
  });
  await gateway.chat(small, tenant(name));
  await expect.poll(() => steps).toEqual(['held', 'charged', 'let go']);
});

describe('a client that leaves while Redis is asked', () => {
  test.each([
    ['its own limit', 'meta.tenant-id'],
    ['the limit of the model', 'model'],
  ])('leaves no hold in %s', async (_, by) => {
    const name = fresh();
    const proxy = await proxyTo(server.url);
    onTestFinished(() => proxy.close());
    const limits = [{ by, concurrent: 5, budget: { dollars: '1', per: 'total' } }];
    const [near, far] = [await over(server.url, limits), await over(proxy.url, limits)];
    expect(await statusOf(far.gateway.chat(small, tenant(name)))).toBe(200);
    proxy.delayMs = 200;
    for (let at = 0; at < 3; at++) {
      const before = proxy.requests;
      const leaving = new AbortController();
      const left = expect(
        far.gateway.post(
          { model: 'plain', messages: [{ role: 'user', content: 'Hi' }], ...small },
          { headers: tenant(name), signal: leaving.signal },
        ),
      ).rejects.toThrow();
      await expect.poll(() => proxy.requests).toBeGreaterThan(before);
      leaving.abort();
      await left;
    }
    await expect.poll(() => far.gateway.records).toHaveLength(4);
    proxy.delayMs = 0;
    const used = async (): Promise<unknown> =>
      ((await (await near.gateway.chat(small, { ...tenant(name), 'x-dry-run': 'true' })).json()) as any).limits.map(
        ({ used, held }: any) => [used, held],
      );
    await expect.poll(used).toEqual([
      [0, null],
      [times(1), '0'],
    ]);
  });
});

describe('what was spent', () => {
  test('is rebuilt exactly from the log when Redis was emptied', async () => {
    const name = fresh();
    const { log, plugins } = sharedLog();
    const [one, two] = await Promise.all(
      [1, 2].map(() => over(server.url, [{ by: 'meta.tenant-id', budget: { dollars: times(20), per: 'month' } }], { plugins })) as [
        Promise<Scene>,
        Promise<Scene>,
      ],
    );
    for (let at = 0; at < 4; at++) {
      for (const { gateway } of [one, two]) expect(await statusOf(gateway.chat(small, tenant(name)))).toBe(200);
    }
    await server.flush();
    const used = async ({ gateway }: Scene): Promise<string> =>
      ((await (await gateway.chat(small, { ...tenant(name), 'x-dry-run': 'true' })).json()) as any).limits[0].used;
    expect([await used(one), await used(two)]).toEqual([times(8), times(8)]);
    expect((await log.stats({ from: null, to: null, conditions: [], text: null }, { by: null, limit: 1 }))[0]?.cost).toBe(times(8));
    expect(await statusOf(two.gateway.chat(small, tenant(name)))).toBe(200);
    await expect.poll(() => used(one)).toBe(times(9));
  });

  test('is shown before the first request, where Redis was emptied', async () => {
    const name = fresh();
    const { log, plugins } = sharedLog();
    log.add({ metadata: { 'tenant-id': name }, cost: times(3) });
    await server.flush();
    const { gateway } = await over(server.url, [{ by: 'meta.tenant-id', match: name, budget: { dollars: times(9), per: 'month' } }], {
      plugins,
    });
    expect(((await (await gateway.get('/api/limits')).json()) as any).data).toMatchObject([{ value: name, used: times(3) }]);
  });

  test('is known to a gateway that starts with an empty Redis', async () => {
    const name = fresh();
    const { log, plugins } = sharedLog();
    log.add({ metadata: { 'tenant-id': name }, cost: times(3) });
    const { gateway } = await over(server.url, [{ by: 'meta.tenant-id', budget: { dollars: times(3), per: 'month' } }], { plugins });
    expect(await statusOf(gateway.chat(small, tenant(name)))).toBe(402);
  });
});

describe('while Redis is away', () => {
  const limits = [{ by: 'meta.tenant-id', requests_per_minute: 5, budget: { dollars: '1', per: 'day' } }];

  test('`local` keeps counting from the last known counts, and Redis gets the counts afterwards', async () => {
    const name = fresh();
    const proxy = await proxyTo(server.url);
    onTestFinished(() => proxy.close());
    const [near, far] = [await over(server.url, limits), await over(proxy.url, limits)];
    expect(await statusOf(near.gateway.chat(small, tenant(name)))).toBe(200);
    expect(await statusOf(far.gateway.chat(small, tenant(name)))).toBe(200);
    proxy.isShut = true;
    proxy.cut();
    const replies = [];
    for (let at = 0; at < 5; at++) replies.push(await statusOf(far.gateway.chat(small, tenant(name))));
    // one of the other gateway and one of its own were known
    expect(replies).toEqual([200, 200, 200, 429, 429]);
    proxy.isShut = false;
    await expect.poll(async () => await statusOf(near.gateway.chat(small, { ...tenant(name), 'x-dry-run': 'true' }))).toBe(429);
  });

  test('`refuse` answers limited callers with 503 at once, and serves all others', async () => {
    const name = fresh();
    const proxy = await proxyTo(server.url);
    onTestFinished(() => proxy.close());
    const { gateway } = await over(proxy.url, limits, { whenAway: 'refuse' });
    await expect.poll(() => statusOf(gateway.chat(small, { ...tenant(name), 'x-dry-run': 'true' }))).toBe(200);
    proxy.isShut = true;
    proxy.cut();
    const refused = await gateway.chat(small, tenant(name));
    expect([refused.status, refused.headers.get('retry-after'), await errorOf(refused)]).toEqual([
      503,
      '1',
      {
        code: 'budget_unavailable',
        type: 'server_error',
        param: null,
        message: 'Redis, which has the counts of limits and budgets, is away. Try again in a moment.',
      },
    ]);
    expect(await statusOf(gateway.chat(small))).toBe(200);
    expect(await statusOf(gateway.chat(small, { ...tenant(name), 'x-dry-run': 'true' }))).toBe(503);
    proxy.isShut = false;
    await expect.poll(async () => await statusOf(gateway.chat(small, tenant(name)))).toBe(200);
  });

  test('a slow Redis delays no request for a second', async () => {
    const name = fresh();
    const proxy = await proxyTo(server.url);
    onTestFinished(() => proxy.close());
    const { gateway } = await over(proxy.url, [{ by: 'meta.tenant-id', requests_per_minute: 1000 }]);
    expect(await statusOf(gateway.chat(small, tenant(name)))).toBe(200);
    proxy.delayMs = 2000;
    const took: number[] = [];
    for (let at = 0; at < 10; at++) {
      const startedAt = performance.now();
      expect(await statusOf(gateway.chat(small, tenant(name)))).toBe(200);
      took.push(performance.now() - startedAt);
    }
    // three requests wait for Redis, then Redis counts as away; a pause of this machine makes one of them longer, not all
    expect(took.toSorted((a, b) => b - a)[2]).toBeLessThan(1000);
  });

  describe('a request counts once', () => {
    const counted = [{ by: 'meta.tenant-id', requests_per_minute: 50, tokens_per_minute: 10_000, budget: { dollars: '1', per: 'day' } }];
    const onceEach = (count: number): unknown[] => [count, count * 15, times(count)];

    /** Two gateways that have each sent one request. */
    async function nearAndFar(name: string): Promise<{
      near: Scene;
      far: Scene;
      proxy: Proxy;
      letInAlone(count: number): Promise<void>;
      used(): Promise<unknown[]>;
      untilTold(): Promise<void>;
    }> {
      const proxy = await proxyTo(server.url);
      onTestFinished(() => proxy.close());
      const [near, far] = [await over(server.url, counted), await over(proxy.url, counted)];
      for (const { gateway } of [near, far]) expect(await statusOf(gateway.chat(small, tenant(name)))).toBe(200);
      const usedBy = async (one: string): Promise<unknown[]> =>
        ((await (await near.gateway.chat(small, { ...tenant(one), 'x-dry-run': 'true' })).json()) as any).limits.map(
          ({ used }: any) => used,
        );
      const untilTold = async (): Promise<void> => {
        const other = fresh();
        await expect
          .poll(async () => [await statusOf(far.gateway.chat(small, tenant(other))), Number((await usedBy(other))[0]) > 0])
          .toEqual([200, true]);
      };
      const letInAlone = async (count: number): Promise<void> => {
        proxy.isShut = true;
        proxy.cut();
        for (let at = 0; at < count; at++) expect(await statusOf(far.gateway.chat(small, tenant(name)))).toBe(200);
      };
      return { near, far, proxy, letInAlone, used: async () => await usedBy(name), untilTold };
    }

    test('if Redis counted it, and its reply was lost', async () => {
      const name = fresh();
      const { far, proxy, used, untilTold } = await nearAndFar(name);
      proxy.losesAnswersAfter = '';
      expect(await statusOf(far.gateway.chat(small, tenant(name)))).toBe(200);
      await expect.poll(async () => (await used())[0]).toBe(3);
      proxy.losesAnswersAfter = null;
      proxy.cut();
      await untilTold();
      await expect.poll(used).toEqual(onceEach(3));
    });

    test('if the gateway let it in alone and told Redis later, and the reply was lost', async () => {
      const name = fresh();
      const { far, proxy, letInAlone, used, untilTold } = await nearAndFar(name);
      await letInAlone(3);
      proxy.losesAnswersAfter = '"requests":[';
      proxy.isShut = false;
      await expect.poll(async () => [await statusOf(far.gateway.chat(small, tenant(fresh()))), await used()]).toEqual([200, onceEach(5)]);
      proxy.losesAnswersAfter = null;
      proxy.cut();
      await untilTold();
      expect(await used()).toEqual(onceEach(5));
    });

    test('if the gateway let it in alone, and Redis was emptied before it was back', async () => {
      const name = fresh();
      const { near, proxy, letInAlone, used, untilTold } = await nearAndFar(name);
      await letInAlone(3);
      await server.flush();
      proxy.isShut = false;
      await untilTold();
      expect(await statusOf(near.gateway.chat(small, tenant(name)))).toBe(200);
      await expect.poll(async () => (await used()).slice(0, 2)).toEqual([6, 90]);
    });
  });

  // a gateway waits 300 ms for Redis, and then lets requests in alone: where the machine stands still for longer, the counts are not exact
  test('an unstable Redis lets in at most a tenth too many requests, and none fails', { retry: 3 }, async () => {
    const name = fresh();
    const proxies = await Promise.all([1, 2, 3].map(() => proxyTo(server.url)));
    onTestFinished(async () => void (await Promise.all(proxies.map((proxy) => proxy.close()))));
    const gateways = await Promise.all(
      proxies.map((proxy) =>
        over(proxy.url, [{ by: 'meta.tenant-id', requests_per_minute: 300 }], { step: answers(completion('Hello.')) }),
      ),
    );
    const found: number[] = [];
    const asked = { all: false };
    const flapping = (async () => {
      while (!asked.all) {
        await pause(500);
        for (const proxy of proxies) {
          proxy.isShut = !proxy.isShut;
          if (proxy.isShut) proxy.cut();
        }
      }
    })();
    // near the limit the requests come slowly: while Redis is away, no gateway knows the requests of the two others
    const asking = gateways.map(async ({ gateway }) => {
      for (let at = 0; at < 130; at++) {
        found.push(await statusOf(gateway.chat(small, tenant(name))));
        await pause(at < 60 ? 20 : 70);
      }
    });
    await Promise.all(asking);
    asked.all = true;
    await flapping;
    const admitted = found.filter((status) => status === 200).length;
    expect(new Set(found)).toEqual(new Set([200, 429]));
    expect(admitted).toBeGreaterThanOrEqual(295);
    expect(admitted).toBeLessThanOrEqual(330);
  });
});
