/** Gateways that share a Redis share answers. */
import { Redis } from 'ioredis';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { AnyPlugin } from '../../../../core/host/plugin.ts';
import { LATE } from '../../../../core/pipeline/hooks.ts';
import { oneUpstream } from '../../../_kit/gateway.ts';
import type { TestGateway } from '../../../_kit/gateway.ts';
import { startRedis } from '../../../_kit/servers.ts';
import type { RedisServer } from '../../../_kit/servers.ts';
import { answers, completion } from '../../../_kit/upstream.ts';
import type { ScriptedUpstream, Step } from '../../../_kit/upstream.ts';
import { gatewayOf, probe, provider } from '../../../core/scene.ts';
import { counting, plain } from './scene.ts';

interface Scene {
  readonly up: ScriptedUpstream;
  readonly one: TestGateway;
  readonly two: TestGateway;
  readonly server: RedisServer;
  /** Reads and writes without the gateways. */
  readonly redis: Redis;
}

/** @param plugins of the second gateway */
async function scene(step: Step = counting(), plugins: readonly AnyPlugin[] = []): Promise<Scene> {
  const server = await startRedis();
  const redis = new Redis(server.url);
  onTestFinished(async () => {
    redis.disconnect();
    await server.stop();
  });
  const up = await provider(step);
  const config = oneUpstream(up.url, { redis: { url: server.url } });
  const [one, two] = [await gatewayOf(config), await gatewayOf(config, { plugins })];
  for (const gateway of [one, two]) {
    await expect
      .poll(async () => ((await (await gateway.get('/')).json()) as { health: object }).health)
      .toMatchObject({ redis: { connected: true } });
  }
  return { up, one, two, server, redis };
}

/** Resolves when an answer has reached Redis. */
const kept = async ({ redis }: Scene, count = 1): Promise<void> => await expect.poll(() => redis.dbsize()).toBe(count);

// a gateway waits 50 ms for a text in Redis: where a pause of the machine makes it late, the gateway goes on without it
describe('gateways with one Redis', { retry: 3 }, () => {
  it('answer with the answers that the other gateway has kept', async () => {
    const all = await scene();
    expect(await plain(all.one)).toEqual({ text: 'answer 1', cache: 'miss' });
    await kept(all);
    expect(await plain(all.two)).toEqual({ text: 'answer 1', cache: 'hit' });
    expect(await plain(all.two, { seed: 1 })).toEqual({ text: 'answer 2', cache: 'miss' });
    expect(all.two.records).toMatchObject([{ cost: '0', attempts: [], fields: { cache: 'hit' } }, { fields: { cache: 'miss' } }]);
  });

  it('give the new answer after the other gateway has replaced it', async () => {
    const all = await scene();
    await plain(all.one);
    await kept(all);
    expect((await plain(all.two)).text).toBe('answer 1');
    await plain(all.two, {}, { 'x-cache': 'refresh' });
    await expect.poll(async () => (await all.redis.mget(await all.redis.keys('*'))).join()).toContain('answer 2');
    expect(await plain(all.one)).toEqual({ text: 'answer 2', cache: 'hit' });
  });

  it('drop answers that are dropped from Redis', async () => {
    const all = await scene();
    await plain(all.one);
    await kept(all);
    expect(await all.redis.ttl((await all.redis.keys('*'))[0] ?? '')).toBeGreaterThan(3500);
    await all.redis.flushdb();
    expect(await plain(all.one)).toEqual({ text: 'answer 2', cache: 'miss' });
  });

  it('ask the provider and Redis once for simultaneous equal requests', async () => {
    let here = 0;
    const { promise: allHere, resolve: goOn } = Promise.withResolvers<void>();
    const gathering = probe(({ hooks }) =>
      hooks.route.tapPromise({ stage: LATE - 3 }, async (candidates) => {
        if (++here === 20) goOn();
        await allHere;
        return candidates;
      }),
    );
    const all = await scene(counting(), [gathering]);
    await plain(all.one);
    await kept(all);
    const lookups = async (): Promise<number> => Number(/^cmdstat_get:calls=(\d+)/m.exec(await all.redis.info('commandstats'))?.[1] ?? 0);
    const before = await lookups();
    expect(new Set((await Promise.all(Array.from({ length: 20 }, () => plain(all.two)))).map(({ cache }) => cache))).toEqual(
      new Set(['hit']),
    );
    expect([all.up.asked.length, (await lookups()) - before]).toEqual([1, 1]);
  });

  it('remove an old answer from Redis where the new one is too large', async () => {
    const large = 'x'.repeat(1_100_000);
    const all = await scene(answers(completion('small')));
    expect((await plain(all.one)).text).toBe('small');
    await kept(all);
    all.up.script(answers(completion(large)));
    expect((await plain(all.one, {}, { 'x-cache': 'refresh' })).text).toBe(large);
    await expect.poll(() => all.redis.dbsize()).toBe(0);
    expect(await plain(all.one)).toEqual({ text: large, cache: 'hit' });
  });

  it('remove an old answer from Redis where Redis has no memory for the new one', async () => {
    const all = await scene();
    await plain(all.one);
    await kept(all);
    await all.redis.config('SET', 'maxmemory', '1');
    expect(await plain(all.one, {}, { 'x-cache': 'refresh' })).toEqual({ text: 'answer 2', cache: 'miss' });
    await kept(all, 0);
    expect((await plain(all.two)).text).toBe('answer 3');
  });

  it('answer from their own memory while Redis does not answer, and no request fails', async () => {
    const all = await scene();
    await plain(all.one);
    await kept(all);
    all.server.freeze();
    for (let at = 0; at < 5; at++) expect(await plain(all.one)).toEqual({ text: 'answer 1', cache: 'hit' });
    expect(await plain(all.two)).toEqual({ text: 'answer 2', cache: 'miss' });
  });

  it('ignore a text in Redis that is not an answer', async () => {
    const all = await scene();
    await plain(all.one);
    await kept(all);
    const [key = ''] = await all.redis.keys('*');
    for (const [at, text] of [
      'no JSON',
      '{}',
      'null',
      '{"provider":"up","model":"plain","externalId":"plain-1","adjustments":[],"chunks":{}}',
    ].entries()) {
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

  it('have no prompt in the keys of Redis', async () => {
    const all = await scene();
    await plain(all.one, { messages: [{ role: 'user', content: 'secret question' }] });
    await kept(all);
    const [key = ''] = await all.redis.keys('*');
    expect(key).toMatch(/^model-gateway:cache:1:[\w-]{43}$/);
    expect(await all.redis.get(key)).not.toContain('secret question');
  });
});
