/** Faults between a ledger and its Redis: replies that are late or lost, errors, failovers. Each request still counts once. */
import { Redis } from 'ioredis';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { RedisClient } from '../../../../core/host/redis.ts';
import { Missed } from '../../../../plugins/route/limits/counts/missed.ts';
import { MemoryLedger } from '../../../../plugins/route/limits/counts/memory.ts';
import { ParentCounts } from '../../../../plugins/route/limits/counts/parent.ts';
import { Window } from '../../../../plugins/route/limits/counts/window.ts';
import type { RedisLedger } from '../../../../plugins/route/limits/counts/redis.ts';
import type { Subject } from '../../../../plugins/route/limits/ledger.ts';
import { periodOf } from '../../../../plugins/route/limits/ledger.ts';
import { startRedis } from '../../../_kit/servers.ts';
import { pause } from '../../../_kit/upstream.ts';
import {
  asking,
  connected,
  farFrom,
  holdOf,
  ledgerAt,
  ledgerOver,
  limited,
  other,
  redisOfFile,
  registered,
  seenIn,
  touch,
} from './redis-scene.ts';

const own = redisOfFile();
const seen = (subject: Subject): ReturnType<typeof seenIn> => seenIn(own, subject);

const forget = async (): Promise<void> => void (await own.redis.del('model-gateway:{limits}:alive'));
const budget = (pico: bigint) => ({ per: 'month' as const, pico, refusesUnknown: false });

describe('the hold of a request', () => {
  test.each([
    ['a request', false, 3],
    ['a look', true, 2],
  ])(
    'stays and is released where %s is given up, and the gateway gets another name before a reply arrives',
    async (what, isLook, count) => {
      const one = limited(what, { concurrent: 5 });
      const { ledger, proxy } = await farFrom(own.server.url);
      ledger.settle(await holdOf(ledger, [one]), 0);
      proxy.delayMs = 400;
      const late = ledger.reserve(asking([one], { isLook }));
      await pause(250);
      proxy.delayMs = 100;
      // sent under the former name, and answered after the call that is given up
      const running = holdOf(ledger, [one]);
      const holds = [(await late).hold, await holdOf(ledger, [one]), await running].filter((hold) => hold !== null);
      proxy.delayMs = 0;
      await expect.poll(async () => (await touch(ledger), (await seen(one))?.running)).toBe(count);
      for (const hold of holds) ledger.settle(hold, 0);
      await expect.poll(async () => (await touch(ledger), (await seen(one))?.running)).toBe(0);
    },
  );

  test('on more values than one call takes is released if the request ends while the gateway registers itself', async () => {
    const all = Array.from({ length: 450 }, (_, at) => limited(`many-${at}`, { concurrent: 9 }));
    const { ledger, proxy } = await farFrom(own.server.url);
    const holds = await Promise.all(all.map((one, at) => holdOf(ledger, [one, all[(at + 1) % 450] as Subject])));
    await forget();
    proxy.delayMs = 30;
    const again = holdOf(ledger, [other]);
    await pause(45);
    for (const hold of holds) ledger.settle(hold, 0);
    ledger.settle(await again, 0);
    proxy.delayMs = 0;
    const near = await ledgerAt(own.server.url);
    await expect.poll(async () => (await touch(ledger), (await near.levels(all)).reduce((sum, { running }) => sum + running, 0))).toBe(0);
  });

  test('is released where no reply came and the request was refused, although no other request comes', async () => {
    const one = limited('unheard', { concurrent: 1 });
    const { ledger, proxy } = await farFrom(own.server.url, { leaseMs: 3000 });
    ledger.whenAway = 'refuse';
    await registered(ledger);
    // answers come in order, so the answer to the end of the earlier request has come too
    await ledger.levels([other]);
    const names = (): Promise<string[]> => own.redis.zrange('model-gateway:{limits}:alive', '0', '-1');
    const [former] = await names();
    proxy.delayMs = 3_600_000;
    await expect(ledger.reserve(asking([one]))).rejects.toThrow('away');
    await expect.poll(() => own.redis.hget('model-gateway:{limits}:running:meta.x unheard', former as string)).toBe('1');
    proxy.delayMs = 0;
    proxy.cut();
    // a gateway registers under a new name, and all that Redis keeps under the former one ends
    await expect.poll(names).toEqual([expect.not.stringContaining(former as string)]);
    expect((await seen(one))?.running).toBe(0);
  });

  test('is never negative after a failover to a replica that was behind', async () => {
    const replica = await startRedis();
    const two = new Redis(replica.url);
    onTestFinished(async () => {
      two.disconnect();
      await replica.stop();
    });
    const one = limited('failover', { concurrent: 3 });
    const { ledger, client, proxy } = await farFrom(own.server.url);
    await holdOf(ledger, [one]);
    await own.redis.config('SET', 'repl-diskless-sync-delay', '0');
    await two.replicaof('127.0.0.1', new URL(own.server.url).port);
    await expect.poll(async () => await two.hlen('model-gateway:{limits}:running:meta.x failover')).toBe(1);
    await two.replicaof('NO', 'ONE');
    const holds = [await holdOf(ledger, [one]), await holdOf(ledger, [one])];
    proxy.port = Number(new URL(replica.url).port);
    proxy.cut();
    await vi.waitFor(() => client.get('connected again'), { timeout: 60_000 });
    for (const hold of holds) ledger.settle(hold, 0);
    const near = await ledgerAt(replica.url);
    await expect.poll(async () => (await touch(ledger), (await near.levels([one]))[0]?.running)).toBe(1);
  });

  test('in two parts, of the caller and of the target, is held again as two after the gateway registers anew', async () => {
    const [caller, target] = [limited('caller', { concurrent: 5, tokens: 100 }), limited('target', { concurrent: 5, tokens: 100 })];
    const ledger = await ledgerAt(own.server.url);
    const [first, second] = ledger.split(await holdOf(ledger, [caller, target], { tokens: 10 }), 1);
    await forget();
    await registered(ledger);
    expect([await seen(caller), await seen(target)]).toMatchObject([
      { running: 1, tokens: 10 },
      { running: 1, tokens: 10 },
    ]);
    ledger.settle(first, 4);
    await expect.poll(async () => [await seen(caller), await seen(target)]).toMatchObject([{ running: 0, tokens: 4 }, { running: 1 }]);
    ledger.settle(second, 5);
    await expect.poll(() => seen(target)).toMatchObject({ running: 0, tokens: 5 });
  });

  test('on a value without a limit of tokens has no tokens', async () => {
    const [tight, free] = [limited('tight', { tokens: 1000 }), limited('free', { requests: 100 })];
    const ledger = await ledgerAt(own.server.url);
    const hold = await holdOf(ledger, [tight, free], { tokens: 500 });
    await forget();
    await registered(ledger);
    ledger.settle(hold, 0);
    // a reload gives it a limit of tokens
    expect((await ledger.levels([limited('free', { requests: 100, tokens: 1000 })]))[0]?.tokens).toBe(0);
  });
});

test('the counts that people ask for are those of this gateway while Redis is away', async () => {
  const one = limited('shown', { requests: 9, concurrent: 9, budgets: [budget(100n)] });
  const { ledger, away } = await farFrom(own.server.url);
  await registered(ledger);
  const near = await ledgerAt(own.server.url);
  await holdOf(near, [one]);
  await holdOf(ledger, [one]);
  await expect.poll(async () => (await touch(ledger), (await ledger.levels([one]))[0]?.requests)).toBe(2);
  await away();
  await holdOf(ledger, [one]);
  // the request of the other gateway was known before
  expect(await ledger.levels([one])).toMatchObject([{ requests: 3, running: 3, budgets: [{ spent: 0n }] }]);
});

describe('what was spent', () => {
  test('counts once if one gateway had no Redis and another one has read it in the log', async () => {
    const paid = limited('paid', { budgets: [budget(1000n)] });
    const log = { sum: 0n };
    const tell = (ledger: RedisLedger): void =>
      ledger.atLeast([{ subject: paid, per: 'month', start: periodOf('month', Date.now()).start, pico: log.sum }]);
    const { ledger: far, away, back } = await farFrom(own.server.url);
    const near = await ledgerAt(own.server.url);
    for (const one of [far, near]) {
      one.seeds.read = async () => log.sum;
      one.readAgain = () => tell(one);
    }
    const spend = async (ledger: RedisLedger, pico: bigint): Promise<void> => {
      ledger.settle(await holdOf(ledger, [paid]), 1);
      ledger.charge({ subjects: [paid], pico, at: Date.now() });
      log.sum += pico;
    };
    await spend(far, 10n);
    await expect.poll(async () => (await seen(paid))?.budgets[0]?.spent).toBe(10n);
    await spend(near, 10n);
    await away();
    await spend(far, 100n);
    // the work of each gateway once a minute
    tell(near);
    await back();
    await touch(far);
    await spend(far, 1n);
    await expect.poll(async () => (await seen(paid))?.budgets[0]?.spent).toBe(121n);
  });

  test('is exact where the budget is larger than a number of Lua', async () => {
    const ledger = await ledgerAt(own.server.url);
    for (let at = 0; at < 60; at++) {
      const cap = 9_000_000n * 10n ** 12n - BigInt(at) * 12_345_678_901_234n - 1n;
      const one = limited(`huge-${at}`, { budgets: [budget(cap)] });
      ledger.seeds.read = async () => cap - 1000n;
      expect([
        (await ledger.reserve(asking([one], { pico: 1001n }))).refusal?.lack,
        (await ledger.reserve(asking([one], { pico: 1000n }))).hold?.pico,
      ]).toEqual(['budget', 1000n]);
    }
  });

  test('on past days is removed from the parent of workers', () => {
    const counts = new ParentCounts(new MemoryLedger(Date.now));
    const { start } = periodOf('day', Date.now());
    const subject = { id: 'meta.x a', by: 'meta.x', value: 'a', caps: { requests: null, tokens: null, concurrent: null, budgets: [] } };
    const tell = (day: number): unknown =>
      counts.answer(
        { what: 'spent', isNew: true, sums: [{ subject: { ...subject, id: `meta.x ${day}` }, per: 'day', start, pico: '0' }] },
        1,
      );
    for (let day = 0; day < 3; day++) tell(day);
    expect(counts.remembered).toBe(3);
    counts.forget(start + 86_400_000);
    expect(counts.remembered).toBe(0);
  });
});

describe('a request counts once', () => {
  test('if Redis refused it, the reply of Redis was lost, and the gateway let it in', async () => {
    const three = limited('three', { requests: 3 });
    const { ledger: far, proxy } = await farFrom(own.server.url);
    const near = await ledgerAt(own.server.url);
    await registered(far);
    for (let at = 0; at < 3; at++) await near.reserve(asking([three]));
    proxy.delayMs = 3_600_000;
    expect((await far.reserve(asking([three]))).refusal).toBeNull();
    proxy.delayMs = 0;
    proxy.cut();
    await expect.poll(async () => (await touch(far), (await seen(three))?.requests)).toBe(4);
  });

  // a gateway that registers itself waits 300 ms for Redis: where the machine stands still for longer, it counts alone
  test('if Redis has forgotten the gateway: it registers, and Redis decides', { retry: 2 }, async () => {
    const three = limited('forgotten', { requests: 3 });
    const [far, near] = [await ledgerAt(own.server.url), await ledgerAt(own.server.url)];
    for (let at = 0; at < 3; at++) await near.reserve(asking([three]));
    await forget();
    expect((await far.reserve(asking([three]))).refusal?.lack).toBe('requests');
    expect((await seen(three))?.requests).toBe(3);
  });

  test('if Redis has no memory left for several at one time', async () => {
    const one = limited('full', { requests: 100_000, tokens: 1_000_000, budgets: [budget(10n ** 9n)] });
    const ledger = ledgerOver(await connected(own.server.url));
    onTestFinished(async () => void (await own.redis.config('SET', 'maxmemory', '0')));
    const serve = async (): Promise<void> => {
      ledger.settle(await holdOf(ledger, [one]), 5);
      ledger.charge({ subjects: [one], pico: 3n, at: Date.now() });
      await pause(5);
    };
    const serveMany = async (): Promise<void> =>
      void (await Promise.all(
        [1, 2, 3, 4, 5].map(async () => {
          for (let at = 0; at < 20; at++) await serve();
        }),
      ));
    await serveMany();
    await own.redis.config('SET', 'maxmemory', '1');
    await serveMany();
    await own.redis.config('SET', 'maxmemory', '0');
    await serveMany();
    await expect
      .poll(async () => (await touch(ledger), await seen(one)))
      .toMatchObject({ requests: 300, tokens: 1500, running: 0, budgets: [{ spent: 900n, held: 0n }] });
  });

  test('if Redis has no memory left and all its answers were lost: what was charged is not lost', async () => {
    const one = limited('charged', { concurrent: 5, budgets: [budget(1000n)] });
    const { ledger, proxy } = await farFrom(own.server.url);
    onTestFinished(async () => void (await own.redis.config('SET', 'maxmemory', '0')));
    await registered(ledger);
    const hold = await holdOf(ledger, [one]);
    await own.redis.config('SET', 'maxmemory', '1');
    proxy.delayMs = 3_600_000;
    ledger.charge({ subjects: [one], pico: 7n, at: Date.now() });
    ledger.settle(hold, 0);
    await expect.poll(async () => (await seen(one))?.running).toBe(0);
    await own.redis.config('SET', 'maxmemory', '0');
    proxy.delayMs = 0;
    proxy.cut();
    await expect.poll(async () => (await touch(ledger), (await seen(one))?.budgets[0]?.spent)).toBe(7n);
  });

  test('if Redis refuses writes for long, and each call sends no more than the one before', async () => {
    const one = limited('refused', { requests: 100_000 });
    const ledger = ledgerOver(await connected(own.server.url));
    onTestFinished(async () => void (await own.redis.config('SET', 'min-replicas-to-write', '0')));
    const heard = async (): Promise<number> => Number(/total_net_input_bytes:(\d+)/.exec(await own.redis.info('stats'))?.[1]);
    const bytesOf = async (requests: number): Promise<number> => {
      const before = await heard();
      for (let at = 0; at < requests; at++) ledger.settle(await holdOf(ledger, [one]), 0);
      return (await heard()) - before;
    };
    // there is no replica, so Redis refuses each write
    await own.redis.config('SET', 'min-replicas-to-write', '1');
    const first = await bytesOf(50);
    await bytesOf(150);
    expect(await bytesOf(50)).toBeLessThan(1.5 * first);
    await own.redis.config('SET', 'min-replicas-to-write', '0');
    await expect.poll(async () => (await touch(ledger), (await seen(one))?.requests)).toBe(250);
  });

  test('if Redis is slow and has just started, so that it knows no script', async () => {
    const near = await ledgerAt(own.server.url);
    let number = 0;
    const counted = async (): Promise<number | undefined> => {
      const three = limited(`begun ${++number}`, { requests: 3 });
      for (let at = 0; at < 2; at++) await near.reserve(asking([three]));
      const { ledger: far, proxy } = await farFrom(own.server.url);
      await own.redis.script('FLUSH');
      // two such answers are too late, one is in time, with the most room for a busy machine
      proxy.delayMs = 155;
      return (await far.reserve(asking([three]))).levels[0]?.requests;
    };
    // the gateway waits 300 ms for an answer: where a pause of the machine makes it too late, the next gateway asks
    await expect.poll(counted).toBe(3);
  });

  test('more tokens than Redis can count are counted as the most that it can, and Redis refuses nothing', async () => {
    const one = limited('endless', { tokens: 1000 });
    const client: RedisClient = await connected(own.server.url);
    const ledger = ledgerOver(client);
    const holds = await Promise.all([1, 2, 3].map(() => holdOf(ledger, [one])));
    for (const hold of holds) ledger.settle(hold, 1e20);
    await ledger.levels([one]);
    // a script that counts in more than 64 bits is refused, and then health says so
    expect(await client.health()).toEqual({ connected: true });
    expect(await seen(one)).toMatchObject({ running: 0, tokens: 3 * Number.MAX_SAFE_INTEGER });
  });
});

describe('a minute is any 60 s', () => {
  // the time of Redis is the real one: a machine that stands still for 2 s lets the minute pass
  test('also for events that reach Redis late', { retry: 2 }, async () => {
    const two = limited('late', { requests: 2 });
    const clock = { shift: -58_000 };
    const { ledger: far, away, back } = await farFrom(own.server.url, { clock: () => Date.now() + clock.shift });
    await away();
    expect((await far.reserve(asking([two]))).refusal).toBeNull();
    clock.shift = 0;
    expect((await (await ledgerAt(own.server.url)).reserve(asking([two]))).refusal).toBeNull();
    await back();
    await registered(far);
    const { refusal } = await far.reserve(asking([two]));
    expect(refusal?.lack).toBe('requests');
    await pause((refusal?.waitMs ?? 0) + 5);
    expect((await far.reserve(asking([two]))).refusal).toBeNull();
  });

  const names = ['model-gateway:{limits}:requests:meta.x shifted', 'model-gateway:{limits}:requests-order:meta.x shifted'] as const;

  test('also if the clock of Redis was set back by an hour', async () => {
    const two = limited('shifted', { requests: 2 });
    const ledger = await ledgerAt(own.server.url);
    for (let at = 0; at < 2; at++) await ledger.reserve(asking([two]));
    await own.redis.eval(
      `
      local slots = redis.call('LRANGE', KEYS[2], 0, -1)
      redis.call('DEL', KEYS[2])
      for _, slot in ipairs(slots) do
        local amount, at, later = redis.call('HGET', KEYS[1], slot), redis.call('HGET', KEYS[1], slot .. 't'), string.format('%.0f', tonumber(slot) + 36000)
        redis.call('HDEL', KEYS[1], slot, slot .. 't')
        redis.call('HSET', KEYS[1], later, amount, later .. 't', string.format('%.0f', tonumber(at) + 3600000))
        redis.call('RPUSH', KEYS[2], later)
      end`,
      2,
      ...names,
    );
    const { refusal, levels } = await ledger.reserve(asking([two]));
    expect(levels[0]?.requests).toBe(2);
    expect(refusal?.waitMs).toBeLessThanOrEqual(60_000);
  });

  test('and begins anew if Redis has evicted the order of its counts', async () => {
    const five = limited('shifted', { requests: 5 });
    const ledger = await ledgerAt(own.server.url);
    for (let at = 0; at < 3; at++) await ledger.reserve(asking([five]));
    await own.redis.del(names[1]);
    expect((await ledger.reserve(asking([five]))).levels[0]?.requests).toBe(1);
  });
});

describe('a count that Redis has missed', () => {
  test('is sent in calls of at most a thousand amounts, each amount once', () => {
    const missed = new Missed();
    const now = Date.now();
    const values = Array.from({ length: 30 }, (_, at) => limited(`v-${at}`, { requests: 5, tokens: 5 }));
    for (let slot = 0; slot < 600; slot++) {
      missed.requests(values, now + slot * 100);
      missed.tokens(values, 7, now + slot * 100);
    }
    let [requests, tokens] = [0, 0];
    for (let batch = missed.next(); batch !== null; batch = missed.next()) {
      const amounts = batch.values.flatMap((value) => [...value.requests, ...value.tokens]);
      expect(amounts.length).toBeLessThanOrEqual(1000);
      requests += batch.values.flatMap((value) => value.requests).reduce((sum, [, amount]) => sum + amount, 0);
      tokens += batch.values.flatMap((value) => value.tokens).reduce((sum, [, amount]) => sum + amount, 0);
      missed.wasTold();
    }
    expect([requests, tokens]).toEqual([30 * 600, 30 * 600 * 7]);
  });

  test('is that of the messages after the last one that Redis received', () => {
    const missed = new Missed();
    const counted: number[] = [];
    for (const number of [4, 5, 6]) missed.perhaps({ name: 'former', number }, () => void counted.push(number));
    missed.heard('former', 5);
    expect([counted, missed.isEmpty]).toEqual([[6], true]);
  });

  test('is replaced by all that the gateway has admitted, where Redis has lost everything', () => {
    const missed = new Missed();
    const [one, now] = [limited('lost', { requests: 5 }), Date.now()];
    missed.requests([one], now);
    // a call that Redis did not take
    expect(missed.next()).not.toBeNull();
    missed.requests([one], now);
    const requests = new Window();
    requests.add(now, 3);
    missed.lost([{ subject: one, requests, tokens: new Window() }]);
    expect(missed.next()?.values.map((value) => value.requests)).toEqual([[[now, 3]]]);
    missed.wasTold();
    expect(missed.next()).toBeNull();
  });

  test('without spending lets nobody read the log again', async () => {
    const one = limited('unspent', { requests: 9, budgets: [budget(100n)] });
    const { ledger, away, back } = await farFrom(own.server.url);
    const reads: string[] = [];
    ledger.readAgain = () => void reads.push('again');
    await touch(ledger);
    await away();
    ledger.settle(await holdOf(ledger, [one]), 0);
    await back();
    await expect.poll(async () => (await touch(ledger), (await seen(one))?.requests)).toBe(1);
    await registered(ledger);
    expect(reads).toEqual([]);
    await away();
    ledger.charge({ subjects: [one], pico: 7n, at: Date.now() });
    await back();
    await expect.poll(async () => (await touch(ledger), reads)).toEqual(['again']);
  });

  test('is sent in calls of at most two hundred values, each value once', () => {
    const missed = new Missed();
    for (let at = 0; at < 450; at++) missed.requests([limited(`v-${at}`, { requests: 5 })], Date.now());
    const sizes: number[] = [];
    const told = new Set<string>();
    for (let batch = missed.next(); batch !== null; batch = missed.next()) {
      sizes.push(batch.values.length);
      for (const { subject } of batch.values) told.add(subject.id);
      missed.wasTold();
    }
    expect([sizes, told.size]).toEqual([[200, 200, 50], 450]);
  });

  test('is the same call again until Redis has it, and what was spent is in one call only, however many amounts a value has', () => {
    const missed = new Missed();
    const now = Date.now();
    const one = limited('long', { requests: 5, budgets: [budget(100n)] });
    for (let slot = 0; slot < 1200; slot++) missed.requests([one], now + slot * 100);
    missed.charge({ subjects: [one], pico: 3n, at: now });
    missed.charge({ subjects: [one], pico: 4n, at: now });
    const spent: bigint[] = [];
    for (let batch = missed.next(); batch !== null; batch = missed.next()) {
      expect(missed.next()).toBe(batch);
      spent.push(...batch.values.flatMap(({ charged }) => [...charged.values()]));
      missed.wasTold();
    }
    expect([spent, missed.isEmpty]).toEqual([[7n], true]);
  });

  test('is sent although no other request comes, also where the first request found no Redis', async () => {
    const one = limited('first', { requests: 5 });
    const { ledger, away, back } = await farFrom(own.server.url, { leaseMs: 3000 });
    await away();
    await holdOf(ledger, [one]);
    await back();
    await expect.poll(async () => (await seen(one))?.requests).toBe(1);
  });

  test('is dropped when it no longer counts', () => {
    const missed = new Missed();
    for (let at = 0; at < 20_000; at++) missed.requests([limited(`made-up-${at}`, { requests: 5 })], at * 1000);
    let told = 0;
    for (let batch = missed.next(); batch !== null; batch = missed.next()) {
      told += batch.values.length;
      missed.wasTold();
    }
    expect(told).toBeLessThan(1100);
  });

  // the time is that of one request: a pause of the machine makes it longer
  test('for ten thousand values delays no request', { retry: 2 }, async () => {
    const { ledger, proxy, away, back } = await farFrom(own.server.url);
    await touch(ledger);
    await away();
    for (let at = 0; at < 10_000; at++) ledger.settle(await holdOf(ledger, [limited(`v-${at}`, { requests: 100 })]), 0);
    proxy.delayMs = 10;
    await back();
    const startedAt = performance.now();
    await ledger.reserve(asking([other]));
    expect(performance.now() - startedAt).toBeLessThan(450);
    proxy.delayMs = 0;
    await expect.poll(async () => (await touch(ledger), (await seen(limited('v-9999', { requests: 100 })))?.requests)).toBe(1);
  });
});

describe('the keys of a budget', () => {
  const keyOf = (part: string, { id }: Subject): string => `model-gateway:{limits}:${part}:total 0:${id}`;
  const total = (value: string): Subject => limited(value, { budgets: [{ per: 'total', pico: 100n, refusesUnknown: false }] });
  const hour = 3_600_000;

  test('expire within an hour if nothing was spent, and those of holds within a day, because callers make up values', async () => {
    const ledger = await ledgerAt(own.server.url);
    const [refused, free] = [total('refused'), total('free')];
    expect((await ledger.reserve(asking([refused], { pico: 101n }))).refusal?.lack).toBe('budget');
    ledger.settle(await holdOf(ledger, [free]), 0);
    for (const key of [keyOf('spent', refused), keyOf('spent', free)]) {
      expect(Math.abs((await own.redis.pttl(key)) - hour / 2)).toBeLessThanOrEqual(hour / 2);
    }
    expect(Math.abs((await own.redis.pttl(keyOf('held', free))) - 12 * hour)).toBeLessThanOrEqual(12 * hour);
  });

  test('stay for a value in use, and until the end of the period for a value that has spent', async () => {
    const ledger = await ledgerAt(own.server.url);
    const one = total('one');
    ledger.settle(await holdOf(ledger, [one]), 0);
    await own.redis.pexpire(keyOf('spent', one), 1000);
    const hold = await holdOf(ledger, [one]);
    expect(await own.redis.pttl(keyOf('spent', one))).toBeGreaterThan(hour - 60_000);
    ledger.settle(hold, 0);
    ledger.charge({ subjects: [one], pico: 7n, at: Date.now() });
    await expect.poll(async () => await own.redis.get(keyOf('spent', one))).toBe('7');
    expect(await own.redis.pttl(keyOf('spent', one))).toBeGreaterThan(1000 * 24 * hour);
    ledger.settle(await holdOf(ledger, [one]), 0);
    expect(await own.redis.pttl(keyOf('spent', one))).toBeGreaterThan(1000 * 24 * hour);
  });

  test('stay until the end of the period if the value has spent while Redis was away', async () => {
    const { ledger, away, back } = await farFrom(own.server.url);
    const one = total('one');
    const hold = await holdOf(ledger, [one]);
    await away();
    ledger.settle(hold, 0);
    ledger.charge({ subjects: [one], pico: 7n, at: Date.now() });
    await back();
    await expect.poll(async () => (await touch(ledger), await own.redis.get(keyOf('spent', one)))).toBe('7');
    expect(await own.redis.pttl(keyOf('spent', one))).toBeGreaterThan(1000 * 24 * hour);
  });
});
