/** Requests whose hold has no dollars or no tokens, counted in a real Redis. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startRedis } from '../../../_kit/servers.ts';
import type { RedisServer } from '../../../_kit/servers.ts';
import { oneUpstream } from '../../../_kit/gateway.ts';
import { asking, connected, holdOf, ledgerOver, limited } from './redis-scene.ts';
import { costOfOne, scene, statusOf } from './scene.ts';

let server: RedisServer;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(async () => await server.stop());

const limits = [{ by: 'key', tokens_per_minute: 100_000, concurrent: 5, budget: { dollars: '1', per: 'day' } }];

test.each([
  ['a free model', 'caller-1', { free: true }],
  ['a model whose price nobody knows', 'caller-2', { pricing: 'unknown' }],
])('%s beside a request that costs: Redis accepts every command, and the spent sum is exactly that of the log', async (_, name, other) => {
  const config = (url: string): Record<string, unknown> => {
    const base = oneUpstream(url, { limits, keys: [{ name, key: `sk-the-key-of-${name}` }], server: { admin_open: true }, redis: { url: server.url } });
    const [plain] = base['models'] as Record<string, unknown>[];
    return { ...base, models: [plain, { ...plain, id: 'other', ...other }] };
  };
  const { gateway } = await scene({ config, clock: { now: Date.now() } });
  const as = { authorization: `Bearer sk-the-key-of-${name}` };
  for (const model of ['other', 'plain', 'other', 'other']) expect(await statusOf(gateway.chat({ model, max_tokens: 5 }, as))).toBe(200);
  const budget = async () => ((await (await gateway.get('/api/limits?by=key')).json()) as any).data.find(({ limit }: any) => limit === 'budget');
  await expect.poll(budget).toMatchObject({ value: name, used: costOfOne, held: '0' });
  expect(gateway.lines.filter((line) => line.includes('Redis refuses'))).toEqual([]);
});

test('a window whose amounts Redis has evicted, but not their order, starts again', async () => {
  const client = await connected(server.url);
  const [ledger, other] = [ledgerOver(client), ledgerOver(client)];
  const subjects = [limited('evicted', { requests: 9 })];
  await holdOf(ledger, subjects);
  await client.run("return redis.call('DEL', KEYS[1])", ['model-gateway:{limits}:requests:meta.x evicted'], []);
  await holdOf(other, subjects);
  expect((await ledger.reserve(asking(subjects, { isLook: true }))).levels[0]).toMatchObject({ requests: 1 });
});
