/** Requests whose hold has no dollars or no tokens, counted in a real Redis. */
import { expect, test } from 'vitest';
import { oneUpstream } from '../../../_kit/gateway.ts';
import { connected, holdOf, ledgerOver, limited, redisOfFile, seenIn, touch } from './redis-scene.ts';
import { costOfOne, scene, statusOf } from './scene.ts';

const own = redisOfFile();

const limits = [{ by: 'key', tokens_per_minute: 100_000, concurrent: 5, budget: { dollars: '1', per: 'day' } }];

test.each([
  ['a free model', 'caller-1', { free: true }],
  ['a model whose price nobody knows', 'caller-2', { pricing: 'unknown' }],
])('%s beside a request that costs: Redis accepts every command, and the spent sum is exactly that of the log', async (_, name, other) => {
  const config = (url: string): Record<string, unknown> => {
    const base = oneUpstream(url, {
      limits,
      keys: [{ name, key: `sk-the-key-of-${name}` }],
      server: { admin_open: true },
      redis: { url: own.server.url },
    });
    const [plain] = base['models'] as Record<string, unknown>[];
    return { ...base, models: [plain, { ...plain, id: 'other', ...other }] };
  };
  const { gateway } = await scene({ config, clock: { now: Date.now() } });
  const as = { authorization: `Bearer sk-the-key-of-${name}` };
  for (const model of ['other', 'plain', 'other', 'other']) expect(await statusOf(gateway.chat({ model, max_tokens: 5 }, as))).toBe(200);
  const budget = async () =>
    ((await (await gateway.get('/api/limits?by=key')).json()) as any).data.find(({ limit }: any) => limit === 'budget');
  await expect.poll(budget).toMatchObject({ value: name, used: costOfOne, held: '0' });
  expect(gateway.lines.filter((line) => line.includes('Redis refuses'))).toEqual([]);
});

test('a window whose amounts Redis has evicted, but not their order, starts again', async () => {
  const client = await connected(own.server.url);
  const [ledger, other] = [ledgerOver(client), ledgerOver(client)];
  const one = limited('evicted', { requests: 9 });
  const amounts = 'model-gateway:{limits}:requests:meta.x evicted';
  await holdOf(ledger, [one]);
  // a Redis that is slow for a moment gets the request a little later
  await expect.poll(async () => (await touch(ledger), await own.redis.del(amounts))).toBe(1);
  await holdOf(other, [one]);
  await expect.poll(async () => (await touch(other), (await seenIn(own, one))?.requests)).toBe(1);
});
