/**
 * Numbers and keys at the limits of the Redis scripts: amounts that are too
 * large, a period that ends while Redis answers, keys that were evicted.
 */
import { expect, onTestFinished, test } from 'vitest';
import type { Level, Subject } from '../../../../plugins/route/limits/ledger.ts';
import { closeScript, missedScript } from '../../../../plugins/route/limits/counts/known-scripts.ts';
import { MemoryLedger } from '../../../../plugins/route/limits/counts/memory.ts';
import { aliveKey, heardKey, keysOf, toldKey } from '../../../../plugins/route/limits/counts/redis-keys.ts';
import { proxyTo } from '../../../_kit/proxy.ts';
import { asking, farFrom, holdOf, ledgerAt, limited, patient, redisOfFile, registered, seenIn, touch } from './redis-scene.ts';

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
  ledger.seeds.read = async ({ subject: { value } }) => (value === 'one' ? 8n * 10n ** 18n : 0n);
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

test('Redis tells for how long requests and tokens still count', async () => {
  const one = limited('reset', { requests: 9, tokens: 100 });
  const ledger = await ledgerAt(own.server.url);
  expect(await seen(one)).toMatchObject({ requestsResetMs: 0, tokensResetMs: 0 });
  const startedAt = performance.now();
  ledger.settle(await holdOf(ledger, [one]), 50);
  await ledger.levels([one]);
  const { requestsResetMs, tokensResetMs } = (await seen(one)) as Level;
  // a part of the minute has passed on a slow machine, but no more than the test took
  const least = 60_000 - (performance.now() - startedAt) - 1;
  for (const reset of [requestsResetMs, tokensResetMs]) {
    expect(reset).toBeGreaterThanOrEqual(least);
    expect(reset).toBeLessThanOrEqual(60_000);
  }
});

test('Redis tells when there is room for the tokens of a refused request, and keeps room for smaller ones', async () => {
  const one = limited('wait', { tokens: 100 });
  const ledger = await ledgerAt(own.server.url);
  ledger.settle(await holdOf(ledger, [one]), 90);
  const { refusal } = await ledger.reserve(asking([one], { tokens: 11 }));
  expect([refusal?.lack, (refusal?.waitMs ?? 0) > 1000, (refusal?.waitMs ?? 0) <= 60_000]).toEqual(['tokens', true, true]);
  expect((await ledger.reserve(asking([one], { tokens: 10 }))).refusal).toBeNull();
});

test('every key of a value and of a message expires, because callers make up values and gateways take new names', async () => {
  const one = limited('expiring', { requests: 9, tokens: 100, concurrent: 9, budgets: [budget('day', 100n)] });
  const { ledger, away, back } = await farFrom(own.server.url);
  const endless = async (): Promise<string[]> => {
    const keys = await own.redis.keys('*');
    const times = await Promise.all(keys.map((key) => own.redis.pttl(key)));
    return keys.filter((key, at) => times[at] === -1 && !/:(alive|era)$/.test(key));
  };
  await registered(ledger);
  const hold = await holdOf(ledger, [one]);
  expect(await endless()).toEqual([]);
  await away();
  await holdOf(ledger, [one]);
  await back();
  await registered(ledger);
  ledger.settle(hold, 5);
  ledger.charge({ subjects: [one], pico: 7n, at: Date.now() });
  await expect.poll(async () => (await touch(ledger), (await seen(one))?.budgets[0]?.spent)).toBe(7n);
  const keys = await own.redis.keys('*');
  const kinds = ['requests', 'requests-order', 'tokens', 'tokens-order', 'tokens-held', 'running', 'spent', 'held', 'heard', 'told'];
  for (const kind of kinds) expect(keys.some((key) => key.includes(`}:${kind}:`))).toBe(true);
  expect(await endless()).toEqual([]);
});

test('a window in Redis keeps nothing of an amount that is 60 s old', async () => {
  const one = limited('old', { requests: 9 });
  const ledger = await ledgerAt(own.server.url);
  const keys = keysOf([one], Date.now());
  const told = [{ requests: [[59_950, 1]], tokens: [], charged: [] }];
  await patient(own.server.url).run(missedScript, [aliveKey, toldKey('once'), ...keys], [JSON.stringify(told)]);
  await new Promise((resolve) => setTimeout(resolve, 60));
  expect((await ledger.reserve(asking([one]))).levels[0]?.requests).toBe(1);
  const [amounts, order] = keys as [string, string];
  // the amount of the new request, its time, and the sum
  expect([await own.redis.hlen(amounts), await own.redis.llen(order)]).toEqual([3, 1]);
});

test('tokens count as they are if Redis has evicted the order of the earlier ones while a request ran', async () => {
  const one = limited('order', { tokens: 100 });
  const ledger = await ledgerAt(own.server.url);
  ledger.settle(await holdOf(ledger, [one]), 50);
  const hold = await holdOf(ledger, [one]);
  await own.redis.del('model-gateway:{limits}:tokens-order:meta.x order');
  ledger.settle(hold, 7);
  await expect.poll(async () => (await touch(ledger), (await seen(one))?.tokens)).toBe(7);
});

test('a message that reaches Redis after its name was closed counts nothing, and the gateway sends it once more under another name', async () => {
  const one = limited('closed', { budgets: [budget('total', 100n)] });
  const ledger = await ledgerAt(own.server.url);
  await holdOf(ledger, [one]);
  const [name] = (await own.redis.zrange(aliveKey, '0', '-1')) as [string];
  const last = Number(await own.redis.hget(heardKey(name), 'last'));
  expect(await patient(own.server.url).run(closeScript, [heardKey(name)], [])).toBe(last);
  ledger.charge({ subjects: [one], pico: 50n, at: Date.now() });
  await ledger.levels([one]);
  expect(await own.redis.hget(heardKey(name), 'last')).toBe(String(last));
  await registered(ledger);
  expect((await seen(one))?.budgets[0]?.spent).toBe(50n);
});

test('a name that Redis never heard is closed for a day', async () => {
  const key = heardKey('never heard');
  expect(await patient(own.server.url).run(closeScript, [key], [])).toBe(0);
  expect(await own.redis.ttl(key)).toBeGreaterThan(0);
});

test('a budget whose spending Redis has evicted while a request ran is read from the log, with that request in it', async () => {
  const one = limited('evicted', { budgets: [budget('total', 1000n)] });
  const ledger = await ledgerAt(own.server.url);
  ledger.seeds.read = async () => 100n;
  const hold = await holdOf(ledger, [one]);
  await own.redis.del('model-gateway:{limits}:spent:total 0:meta.x evicted');
  ledger.seeds.read = async () => 107n;
  ledger.charge({ subjects: [one], pico: 7n, at: Date.now() });
  ledger.settle(hold, 0);
  ledger.settle(await holdOf(ledger, [one]), 0);
  await expect.poll(async () => (await seen(one))?.budgets[0]?.spent).toBe(107n);
});

test('the spending in Redis is never lowered by a log that is behind', async () => {
  const one = limited('behind', { budgets: [budget('total', 10_000n)] });
  const ledger = await ledgerAt(own.server.url);
  ledger.seeds.read = async () => 0n;
  await holdOf(ledger, [one]);
  const told: [bigint, bigint][] = [
    [99n, 99n],
    [98n, 99n],
    [100n, 100n],
    [99n, 100n],
    [250n, 250n],
    [249n, 250n],
    [1000n, 1000n],
  ];
  for (const [pico, spent] of told) {
    ledger.atLeast([{ subject: one, per: 'total', start: 0, pico }]);
    expect((await seen(one))?.budgets[0]?.spent).toBe(spent);
  }
});

test('a Redis that has lost the spending gets what the gateway saw last, if the log is behind that', async () => {
  const one = limited('seen', { budgets: [budget('total', 1000n)] });
  const [near, other] = [await ledgerAt(own.server.url), await ledgerAt(own.server.url)];
  await holdOf(other, [one]);
  other.charge({ subjects: [one], pico: 50n, at: Date.now() });
  await other.levels([one]);
  await holdOf(near, [one]);
  await own.redis.del('model-gateway:{limits}:spent:total 0:meta.x seen');
  near.seeds.read = async () => 40n;
  await holdOf(near, [one]);
  expect((await seen(one))?.budgets[0]?.spent).toBe(50n);
});

test('the sums of more values than one call takes all reach Redis', async () => {
  const ledger = await ledgerAt(own.server.url);
  const all = Array.from({ length: 401 }, (_, at) => limited(`sum-${at}`, { budgets: [budget('total', 1000n)] }));
  ledger.atLeast(all.map((subject, at) => ({ subject, per: 'total', start: 0, pico: BigInt(at + 1) })));
  const spent = (await ledger.levels(all)).map(({ budgets }) => budgets[0]?.spent);
  const keys = all.map(({ id }) => `model-gateway:{limits}:spent:total 0:${id}`);
  expect(await own.redis.mget(keys)).toEqual(all.map((_, at) => String(at + 1)));
  expect(spent).toEqual(all.map((_, at) => BigInt(at + 1)));
});

test('a hold of yesterday is not held today after the gateway registers again', async () => {
  const midnight = Date.UTC(2030, 0, 2);
  const clock = { now: midnight - 1000 };
  const one = limited('yesterday', { concurrent: 9, budgets: [budget('day', 100n)] });
  const ledger = await ledgerAt(own.server.url, { clock: () => clock.now });
  await holdOf(ledger, [one], { pico: 60n });
  clock.now = midnight + 1000;
  await own.redis.del(aliveKey);
  await registered(ledger);
  expect(await seen(one, () => clock.now)).toMatchObject({ running: 1, budgets: [{ held: 0n }] });
});

test('the holds of a gateway are in Redis again after Redis was emptied, although no request comes', async () => {
  const one = limited('running', { concurrent: 9 });
  const ledger = await ledgerAt(own.server.url, { leaseMs: 3000 });
  await holdOf(ledger, [one]);
  await own.redis.flushall();
  await expect.poll(async () => (await seen(one))?.running).toBe(1);
  expect(await own.redis.ttl('model-gateway:{limits}:running:meta.x running')).toBeGreaterThan(0);
});

test('requests that need the same sum while it is read share one read', async () => {
  const one = limited('once', { budgets: [budget('total', 1000n)] });
  const ledger = await ledgerAt(own.server.url);
  const sum = Promise.withResolvers<bigint>();
  let reads = 0;
  ledger.seeds.read = () => (reads++, sum.promise);
  const holds = [1, 2, 3].map(() => holdOf(ledger, [one]));
  // Redis answers in order, so it has answered all three
  await ledger.levels([one]);
  await new Promise((resolve) => setImmediate(resolve));
  sum.resolve(0n);
  await Promise.all(holds);
  expect(reads).toBe(1);
});
