/**
 * Numbers and keys at the limits of the Redis scripts: amounts that are too
 * large, a period that ends while Redis answers, keys that were evicted.
 */
import { expect, onTestFinished, test } from 'vitest';
import type { Level, Subject } from '../../../../plugins/route/limits/ledger.ts';
import { MemoryLedger } from '../../../../plugins/route/limits/counts/memory.ts';
import { proxyTo } from '../../../_kit/proxy.ts';
import { asking, farFrom, holdOf, ledgerAt, limited, redisOfFile, registered, seenIn, touch } from './redis-scene.ts';

const own = redisOfFile();
const seen = (subject: Subject, clock?: () => number): ReturnType<typeof seenIn> => seenIn(own, subject, clock);

const budget = (per: 'day' | 'total', pico: bigint) => ({ per, pico, refusesUnknown: false });

test('a day that ends while Redis answers leaves no room that the next day does not have', async () => {
  const midnight = Date.UTC(2030, 0, 2);
  const clock = { now: midnight - 1000 };
  const one = limited('midnight', { budgets: [budget('day', 100n)] });
  const proxy = await proxyTo(own.server.url);
  onTestFinished(() => proxy.close());
  const ledger = await ledgerAt(proxy.url, { clock: () => clock.now });
  ledger.settle(await holdOf(ledger, [one]), 0);
  proxy.delayMs = 60;
  const late = holdOf(ledger, [one], { pico: 60n });
  await new Promise((resolve) => setTimeout(resolve, 10));
  clock.now = midnight + 1000;
  const before = await late;
  proxy.delayMs = 0;
  await holdOf(ledger, [one], { pico: 70n });
  ledger.settle(before, 0);
  await expect.poll(async () => (await touch(ledger), (await seen(one, () => clock.now))?.budgets[0]?.held)).toBe(70n);
  expect((await ledger.reserve(asking([one], { pico: 40n }))).refusal?.lack).toBe('budget');
});

test('a number of tokens that is too large for Redis does not change the other amounts', async () => {
  const [endless, plain] = [limited('endless', { tokens: 1000 }), limited('plain', { requests: 100, tokens: 1000 })];
  const { ledger, away, back } = await farFrom(own.server.url);
  await touch(ledger);
  await away();
  ledger.settle(await holdOf(ledger, [endless]), 1e20);
  ledger.settle(await holdOf(ledger, [plain]), 7);
  await back();
  await expect.poll(async () => (await touch(ledger), await seen(plain))).toMatchObject({ requests: 1, tokens: 7 });
  expect((await seen(endless))?.tokens).toBeGreaterThan(1000);
});

test('an amount of dollars that is too large for Redis counts, and does not change the other amounts', async () => {
  const [one, two] = [
    limited('one', { budgets: [budget('total', 9n * 10n ** 18n)] }),
    limited('two', { budgets: [budget('total', 100n)] }),
  ];
  const ledger = await ledgerAt(own.server.url);
  ledger.seeds.read = async ({ value }) => (value === 'one' ? 8n * 10n ** 18n : 0n);
  const hold = await holdOf(ledger, [one, two]);
  ledger.charge({ subjects: [one, two], pico: 2n * 10n ** 18n, at: Date.now() });
  ledger.settle(hold, 0);
  await expect.poll(async () => (await touch(ledger), (await seen(two))?.budgets[0]?.spent)).toBe(2n * 10n ** 18n);
  expect((await ledger.reserve(asking([one]))).refusal?.lack).toBe('budget');
});

test.each([
  ['tokens', 'tokens-held:meta.x', { tokens: 100 }, (level?: Level) => level?.tokens],
  ['dollars', 'held:total 0:meta.x', { budgets: [budget('total', 100n)] }, (level?: Level) => Number(level?.budgets[0]?.held)],
])('held %s that Redis has evicted are sent again, and are never negative', async (what, key, caps, read) => {
  const one = limited(what, caps);
  const ledger = await ledgerAt(own.server.url);
  const first = await holdOf(ledger, [one], { tokens: 60, pico: 60n });
  await own.redis.del(`model-gateway:{limits}:${key} ${what}`);
  await holdOf(ledger, [one], { tokens: 20, pico: 20n });
  ledger.settle(first, 0);
  await expect.poll(async () => (await touch(ledger), read(await seen(one)))).toBe(20);
});

test('a window whose amounts Redis has evicted refuses with a time to wait, also after a late report of another gateway', async () => {
  const one = limited('evicted', { tokens: 100 });
  const clock = { shift: 0 };
  const { ledger, client, away, back } = await farFrom(own.server.url, { clock: () => Date.now() + clock.shift });
  const near = await ledgerAt(own.server.url);
  await registered(ledger);
  near.settle(await holdOf(near, [one]), 50);
  await near.levels([one]);
  await own.redis.del('model-gateway:{limits}:tokens:meta.x evicted');
  await away();
  clock.shift = -10_000;
  ledger.settle(await holdOf(ledger, [one]), 20);
  clock.shift = 0;
  await back();
  await registered(ledger);
  near.settle(await holdOf(near, [one]), 30);
  await near.levels([one]);
  const { refusal } = await near.reserve(asking([one], { tokens: 90 }));
  expect(refusal?.lack).toBe('tokens');
  expect(refusal?.level.tokens).toBe(50);
  await expect.poll(() => client.health()).toEqual({ connected: true });
});

test('a number of tokens that is too large for an exact sum is left out in memory too, and other amounts count', () => {
  const clock = { now: Date.UTC(2030, 0, 1) };
  const memory = new MemoryLedger(() => clock.now);
  const one = limited('endless', { tokens: 1000 });
  const use = (tokens: number): void =>
    memory.settle(memory.reserve(asking([one])).hold ?? memory.take(asking([one]), memory.levels([one])), tokens);
  use(1e20);
  clock.now += 10_000;
  use(7);
  clock.now += 50_000;
  expect(memory.levels([one])[0]?.tokens).toBe(7);
  clock.now += 10_000;
  expect(memory.levels([one])[0]?.tokens).toBe(0);
});

test('the evicted name of the era is written to Redis again, and nothing counts twice', async () => {
  const one = limited('era', { requests: 100 });
  const ledger = await ledgerAt(own.server.url, { leaseMs: 3000 });
  for (let at = 0; at < 6; at++) ledger.settle(await holdOf(ledger, [one]), 0);
  await own.redis.del('model-gateway:{limits}:era');
  await expect.poll(async () => await own.redis.exists('model-gateway:{limits}:era')).toBe(1);
  await own.redis.del('model-gateway:{limits}:alive');
  await registered(ledger);
  expect((await seen(one))?.requests).toBe(6);
});

test('requests above a limit that was lowered have room when enough of them are 60 s old', async () => {
  const one = limited('smaller', { requests: 10 });
  const clock = { shift: -50_000 };
  const { ledger, away, back } = await farFrom(own.server.url, { clock: () => Date.now() + clock.shift });
  await touch(ledger);
  await away();
  await holdOf(ledger, [one]);
  clock.shift = -10_000;
  await holdOf(ledger, [one]);
  clock.shift = 0;
  await back();
  await expect.poll(async () => (await touch(ledger), await seen(one))).toMatchObject({ requests: 2, requestsWaitMs: null });
  const { refusal } = await ledger.reserve(asking([limited('smaller', { requests: 1 })]));
  expect(refusal?.lack).toBe('requests');
  // the older request is 60 s old within 10 s, and the other one still counts
  expect(refusal?.waitMs).toBeGreaterThan(10_000);
});

test('an amount of 0 has room even where more than the limit was taken', async () => {
  const one = limited('overspent', { tokens: 100, budgets: [budget('day', 100n)] });
  const ledger = await ledgerAt(own.server.url);
  const hold = await holdOf(ledger, [one]);
  ledger.charge({ subjects: [one], pico: 150n, at: Date.now() });
  ledger.settle(hold, 150);
  expect((await ledger.reserve(asking([one]))).refusal?.lack).toBe('budget');
  expect((await ledger.reserve(asking([one], { pico: 0n }))).refusal?.lack).toBe('tokens');
  expect((await ledger.reserve(asking([one], { tokens: 0, pico: 0n }))).hold).not.toBeNull();
});
