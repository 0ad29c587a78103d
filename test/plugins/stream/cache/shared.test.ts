/** Gateways that share a Redis have the same answers. */
import { Redis } from 'ioredis';
import { describe, expect, it, onTestFinished } from 'vitest';
import { oneUpstream } from '../../../_kit/gateway.ts';
import type { TestGateway } from '../../../_kit/gateway.ts';
import { proxyTo } from '../../../_kit/proxy.ts';
import { startRedis } from '../../../_kit/servers.ts';
import { answers, completion } from '../../../_kit/upstream.ts';
import type { ScriptedUpstream, Step } from '../../../_kit/upstream.ts';
import { gatewayOf, provider } from '../../../core/scene.ts';
import { counting, plain } from './scene.ts';

interface Scene {
  readonly up: ScriptedUpstream;
  readonly one: TestGateway;
  readonly two: TestGateway;
  readonly proxy: Awaited<ReturnType<typeof proxyTo>>;
  /** Reads and writes past the gateways. */
  readonly redis: Redis;
}

async function scene(step: Step = counting()): Promise<Scene> {
  const server = await startRedis();
  const proxy = await proxyTo(server.url);
  const redis = new Redis(server.url);
  onTestFinished(async () => {
    redis.disconnect();
    await proxy.close();
    await server.stop();
  });
  const up = await provider(step);
  const config = oneUpstream(up.url, { redis: { url: proxy.url } });
  return { up, one: await gatewayOf(config), two: await gatewayOf(config), proxy, redis };
}

/** Resolves when an answer has reached Redis. */
const kept = async ({ redis }: Scene, count = 1): Promise<void> => await expect.poll(() => redis.dbsize()).toBe(count);

describe('gateways with one Redis', () => {
  it('answer from what the other one has kept', async () => {
    const all = await scene();
    expect(await plain(all.one)).toEqual({ text: 'answer 1', cache: 'miss' });
    await kept(all);
    expect(await plain(all.two)).toEqual({ text: 'answer 1', cache: 'hit' });
    expect(await plain(all.two, { seed: 1 })).toEqual({ text: 'answer 2', cache: 'miss' });
    expect(all.two.records).toMatchObject([{ cost: '0', attempts: [], fields: { cache: 'hit' } }, { fields: { cache: 'miss' } }]);
  });

  it('see what the other one has replaced', async () => {
    const all = await scene();
    await plain(all.one);
    await kept(all);
    expect((await plain(all.two)).text).toBe('answer 1');
    await plain(all.two, {}, { 'x-cache': 'refresh' });
    await expect.poll(async () => (await all.redis.mget(await all.redis.keys('*'))).join()).toContain('answer 2');
    expect(await plain(all.one)).toEqual({ text: 'answer 2', cache: 'hit' });
  });

  it('forget what is dropped from Redis', async () => {
    const all = await scene();
    await plain(all.one);
    await kept(all);
    expect(await all.redis.ttl((await all.redis.keys('*'))[0] ?? '')).toBeGreaterThan(3500);
    await all.redis.flushdb();
    expect(await plain(all.one)).toEqual({ text: 'answer 2', cache: 'miss' });
  });

  it('ask once for equal requests at one time, and look up once', async () => {
    const all = await scene();
    await plain(all.one);
    await kept(all);
    const before = all.proxy.requests;
    expect(new Set((await Promise.all(Array.from({ length: 20 }, () => plain(all.two)))).map(({ cache }) => cache))).toEqual(new Set(['hit']));
    expect([all.up.asked.length, all.proxy.requests - before < 20]).toEqual([1, true]);
  });

  it('answer from their own memory while Redis is silent, and no request fails', async () => {
    const all = await scene();
    await plain(all.one);
    await kept(all);
    all.proxy.isMute = true;
    for (let at = 0; at < 5; at++) expect(await plain(all.one)).toEqual({ text: 'answer 1', cache: 'hit' });
    expect(await plain(all.two)).toEqual({ text: 'answer 2', cache: 'miss' });
  });

  it('take a text in Redis that is no answer for none', async () => {
    const all = await scene();
    await plain(all.one);
    await kept(all);
    const [key = ''] = await all.redis.keys('*');
    for (const [at, text] of ['no JSON', '{}', 'null', '{"provider":"up","model":"plain","externalId":"plain-1","adjustments":[],"chunks":{}}'].entries()) {
      await all.redis.set(key, text);
      expect(await plain(all.one)).toEqual({ text: `answer ${at + 2}`, cache: 'miss' });
      await expect.poll(() => all.redis.get(key)).toContain(`answer ${at + 2}`);
    }
  });

  it('keep an answer above a mebibyte to themselves', async () => {
    const all = await scene(answers(completion('x'.repeat(1_100_000))));
    expect((await plain(all.one)).cache).toBe('miss');
    expect((await plain(all.one)).cache).toBe('hit');
    expect(await all.redis.dbsize()).toBe(0);
    expect((await plain(all.two)).cache).toBe('miss');
  });

  it('hold no prompt in the keys', async () => {
    const all = await scene();
    await plain(all.one, { messages: [{ role: 'user', content: 'secret question' }] });
    await kept(all);
    const [key = ''] = await all.redis.keys('*');
    expect(key).toMatch(/^model-gateway:cache:1:[\w-]{43}$/);
    expect(await all.redis.get(key)).not.toContain('secret question');
  });
});
