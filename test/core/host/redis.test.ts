/** The shared Redis behind a proxy that can fall silent, be slow, or cut its connections. */
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test, vi } from 'vitest';
import { defineError } from '../../../core/errors.ts';
import type { AnyPlugin } from '../../../core/host/plugin.ts';
import { RedisClient } from '../../../core/host/redis.ts';
import { createLogger } from '../../../core/logger.ts';
import { Secret } from '../../../core/secret.ts';
import { proxyTo } from '../../_kit/proxy.ts';
import { startRedis } from '../../_kit/servers.ts';
import { oneUpstream, testGateway } from '../../_kit/gateway.ts';

interface Scene {
  readonly client: RedisClient;
  readonly proxy: Awaited<ReturnType<typeof proxyTo>>;
  /** Another client of the same Redis. */
  readonly admin: Redis;
  readonly messages: () => string[];
}

/** A client that is connected: on a busy machine its time for that may be over before, and then another one tries. */
async function connected(url: string, lines: string[], refusedForMs?: number): Promise<RedisClient> {
  lines.length = 0;
  const client = new RedisClient(
    new Secret(url),
    createLogger((line) => void lines.push(line)),
    refusedForMs,
  );
  onTestFinished(() => client[Symbol.dispose]());
  await client.open();
  return client.isAway ? await connected(url, lines, refusedForMs) : client;
}

async function scene(refusedForMs?: number): Promise<Scene> {
  const redis = await startRedis();
  onTestFinished(() => redis.stop());
  const proxy = await proxyTo(redis.url);
  onTestFinished(() => proxy.close());
  const lines: string[] = [];
  const client = await connected(proxy.url, lines, refusedForMs);
  const admin = new Redis(redis.url);
  onTestFinished(() => admin.disconnect());
  return { client, proxy, admin, messages: () => lines.map((line) => (JSON.parse(line) as { msg: string }).msg) };
}

/** Asks until Redis answers in time: on a busy machine the time limits, 50 ms for a text and 300 ms for a script, may be over before. */
const inTime = <Value>(ask: () => Promise<Value>): Promise<Value> => vi.waitFor(ask, { timeout: 60_000 });

const outcome = (work: Promise<unknown>): Promise<unknown> => work.catch((error: Error) => error.message);

test('the Redis client is connected when open() has resolved, and keeps a text for the given seconds', async () => {
  const { client } = await scene();
  expect(client.isAway).toBe(false);
  expect(await inTime(() => client.get('none'))).toBeNull();
  const before = performance.now();
  await inTime(() => client.set('one', 'text', 60));
  expect(await inTime(() => client.get('one'))).toBe('text');
  const left = Number(await inTime(() => client.run('return redis.call("PTTL", KEYS[1])', ['one'], [])));
  expect(left).toBeLessThanOrEqual(60_000);
  expect(left).toBeGreaterThan(60_000 - (performance.now() - before) - 10);
  await expect.poll(() => client.health()).toEqual({ connected: true });
});

test('the Redis client sends a script by its hash, and as text where Redis does not know it any more', async () => {
  const { client } = await scene();
  const script = 'return {KEYS[1], ARGV[1]}';
  expect(await inTime(() => client.run(script, ['a'], [1]))).toEqual(['a', '1']);
  await client.run('return redis.call("SCRIPT", "FLUSH")', [], []).catch(() => {});
  expect(await inTime(() => client.run(script, ['a'], [2]))).toEqual(['a', '2']);
});

test('the Redis client does not ask a Redis that failed three times in a row, until it answers again', async () => {
  const { client, proxy, messages } = await scene();
  proxy.isMute = true;
  const before = proxy.requests;
  for (let at = 0; at < 6; at++) expect(await outcome(client.get('one'))).toMatch(/in time|away/);
  expect(proxy.requests - before).toBe(3);
  expect(client.isAway).toBe(true);

  proxy.isMute = false;
  await expect.poll(() => client.isAway).toBe(false);
  expect(await inTime(() => client.get('one'))).toBeNull();
  // on a busy machine Redis may be away again meanwhile
  expect(messages().slice(0, 2)).toEqual([
    'Redis does not answer; until it does, nothing is shared with other gateways',
    'Redis answers again',
  ]);
});

test('the Redis client reports that Redis without memory refuses writes, while it answers reads', async () => {
  const { client, admin, messages } = await scene(100);
  await admin.config('SET', 'maxmemory', '1');
  await expect.poll(() => outcome(client.set('one', 'text', 60))).toContain('OOM command not allowed');
  expect(await inTime(() => client.get('one'))).toBeNull();
  await expect
    .poll(async () => (await outcome(client.set('one', 'text', 60)), client.health()))
    .toEqual({ connected: false, error: 'refused' });
  expect(client.isAway).toBe(false);
  for (let at = 0; at < 4; at++) await outcome(client.set('one', 'text', 60));

  await admin.config('SET', 'maxmemory', '0');
  const accepted = 'Redis accepts commands again';
  const told = (): string[] => messages().filter((message) => /refuses|accepts/.test(message));
  await expect.poll(async () => (await outcome(client.set('one', 'text', 60)), told().at(-1))).toBe(accepted);
  // on a busy machine the client may have logged this before, when the time of the first refusal was over
  expect(new Set(told())).toEqual(
    new Set(['Redis refuses commands; the data of these commands is not shared with other gateways', accepted]),
  );
  expect(await inTime(() => client.get('one'))).toBe('text');
  await expect.poll(() => client.health()).toEqual({ connected: true });
});

test('the Redis client does not wait for answers that come after the time limit, and reports a timeout', async () => {
  const { client, proxy } = await scene();
  proxy.delayMs = 2000;
  const took: number[] = [];
  for (let at = 0; at < 20; at++) {
    const startedAt = performance.now();
    await outcome(client.run('return 1', [], []));
    took.push(performance.now() - startedAt);
  }
  // a pause of this machine makes some of the calls longer, and not half of them
  expect(took.toSorted((a, b) => a - b)[10]).toBeLessThan(1000);
  expect(await client.health()).toEqual({ connected: false, error: 'timeout' });
});

test('the Redis client connects to a Redis that was away when the gateway started', async () => {
  const redis = await startRedis();
  await redis.stop();
  const client = new RedisClient(
    new Secret(redis.url),
    createLogger(() => {}),
  );
  onTestFinished(() => client[Symbol.dispose]());
  await client.open();
  expect(client.isAway).toBe(true);
  expect(await client.health()).toEqual({ connected: false, error: 'refused' });
  expect(await outcome(client.get('one'))).toBe('Redis is away');
  const again = await startRedis(Number(new URL(redis.url).port));
  onTestFinished(() => again.stop());
  await expect.poll(() => client.isAway).toBe(false);
});

test('the Redis client says whether Redis refuses the password, says nothing, or is not there', async () => {
  const redis = await startRedis();
  const owner = new Redis(redis.url);
  await owner.config('SET', 'requirepass', 'right');
  const silent = createServer(() => {});
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const address = new URL(redis.url);
  const reasons = [
    [redis.url, 'auth_failed'],
    [`redis://:wrong@${address.host}`, 'auth_failed'],
    [`redis://127.0.0.1:${(silent.address() as AddressInfo).port}`, 'timeout'],
    ['redis://127.0.0.1:1', 'refused'],
  ] as const;
  for (const [url, reason] of reasons) {
    const client = new RedisClient(
      new Secret(url),
      createLogger(() => {}),
    );
    await client.open();
    await expect.poll(() => client.health()).toEqual({ connected: false, error: reason });
    client[Symbol.dispose]();
  }
  owner.disconnect();
  silent.close();
  await redis.stop();
});

test('Redis is in the health report of GET /, also after it has stopped', async () => {
  const redis = await startRedis();
  onTestFinished(() => redis.stop());
  const gateway = await testGateway({ config: oneUpstream('http://127.0.0.1:9/v1', { redis: { url: redis.url } }) });
  onTestFinished(() => gateway.close());
  const health = async (query = ''): Promise<any> => ((await (await gateway.get(`/${query}`)).json()) as any).health;
  await expect.poll(() => health()).toMatchObject({ status: 'ok', redis: { connected: true } });
  await redis.stop();
  await expect.poll(() => health()).toMatchObject({ status: 'degraded', redis: { connected: false, error: 'refused' } });
  expect(await health('?skip=redis')).toMatchObject({ status: 'ok', redis: { connected: false, error: 'skipped' } });
});

test('the Redis client never prints the password of its address', async () => {
  const lines: string[] = [];
  const client = new RedisClient(
    new Secret('redis://user:hunter2hunter@127.0.0.1:1'),
    createLogger((line) => void lines.push(line)),
  );
  onTestFinished(() => client[Symbol.dispose]());
  await client.open();
  expect(lines.length).toBeGreaterThan(0);
  expect(lines.join('')).not.toContain('hunter2');
});

test('a gateway whose start is refused leaves no connection to Redis open', async () => {
  const server = createServer(() => {});
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const shop = defineError({ code: 'shop_closed', status: 403 });
  const plugins = ['one', 'two'].map((name): AnyPlugin => ({
    name: `test/${name}`,
    summary: 'a plugin with an error of its own',
    errors: [shop],
    apply() {},
  }));
  const redis = { url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}` };
  await expect(testGateway({ config: { ...oneUpstream('http://127.0.0.1:9'), redis }, plugins })).rejects.toThrow(
    'both declare the error code',
  );
  expect(await new Promise((resolve) => server.getConnections((_, count) => resolve(count)))).toBe(0);
});
