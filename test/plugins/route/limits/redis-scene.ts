/** Ledgers over a real Redis. */
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, onTestFinished } from 'vitest';
import { RedisClient } from '../../../../core/host/redis.ts';
import type { SharedRedis } from '../../../../core/host/redis.ts';
import { createLogger } from '../../../../core/logger.ts';
import { Secret } from '../../../../core/secret.ts';
import type { Ask, Hold, Level, Subject } from '../../../../plugins/route/limits/ledger.ts';
import type { Owned } from '../../../../plugins/route/limits/counts/held.ts';
import { MemoryLedger } from '../../../../plugins/route/limits/counts/memory.ts';
import { RedisLedger } from '../../../../plugins/route/limits/counts/redis.ts';
import { proxyTo } from '../../../_kit/proxy.ts';
import type { Proxy } from '../../../_kit/proxy.ts';
import { startRedis } from '../../../_kit/servers.ts';
import type { RedisServer } from '../../../_kit/servers.ts';

const soon = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5));

/** The client of a gateway. It waits for an answer only for 300 ms: a ledger over it may count by itself where the machine stands still. */
export async function connected(url: string): Promise<RedisClient> {
  const client = new RedisClient(
    new Secret(url),
    createLogger(() => {}),
  );
  onTestFinished(() => client[Symbol.dispose]());
  await client.open();
  while (client.isAway) await soon();
  return client;
}

/** A client that waits for each answer. */
export function patient(url: string): SharedRedis {
  const redis = new Redis(url);
  redis.on('error', () => {});
  onTestFinished(() => redis.disconnect());
  return {
    isAway: false,
    get: (key) => redis.get(key),
    set: async (key, text, ttlSeconds) => void (await redis.set(key, text, 'EX', ttlSeconds)),
    run: (script, keys, args) => redis.eval(script, keys.length, ...keys, ...args),
    health: async () => ({ connected: true }),
  };
}

export function ledgerOver(redis: SharedRedis, more: { leaseMs?: number; clock?: () => number } = {}): RedisLedger {
  const clock = more.clock ?? Date.now;
  const ledger = new RedisLedger({ redis, memory: new MemoryLedger(clock), clock, ...more });
  ledger.seeds.read = async () => 0n;
  onTestFinished(() => ledger[Symbol.dispose]());
  return ledger;
}

/**
 * Resolves when Redis knows the gateway: a gateway that has to register
 * first does not wait for that longer than 300 ms, and counts by itself.
 */
export async function registered(ledger: RedisLedger): Promise<RedisLedger> {
  for (;;) {
    const hold = await holdOf(ledger, []);
    ledger.settle(hold, 0);
    if ((hold as Owned).owner !== '') return ledger;
    await soon();
  }
}

/** A ledger that counts everything in Redis, however long that takes. */
export const ledgerAt = async (url: string, more: Parameters<typeof ledgerOver>[1] = {}): Promise<RedisLedger> =>
  await registered(ledgerOver(patient(url), more));

/** A Redis for the tests of a file, empty before each of them. */
export interface OwnRedis {
  readonly server: RedisServer;
  /** A connection of the test, not of a gateway. */
  readonly redis: Redis;
}

export function redisOfFile(): OwnRedis {
  const own = {} as { server: RedisServer; redis: Redis };
  beforeAll(async () => {
    own.server = await startRedis();
    own.redis = new Redis(own.server.url);
  });
  afterAll(async () => {
    own.redis.disconnect();
    await own.server.stop();
  });
  beforeEach(async () => void (await own.redis.flushall()));
  return own;
}

/** The counts of a value in Redis, as another gateway reads them. */
export async function seenIn({ server }: OwnRedis, subject: Subject, clock: () => number = Date.now): Promise<Level | undefined> {
  const [level] = await ledgerOver(patient(server.url), { clock }).levels([subject]);
  return level;
}

/** A ledger, and the proxy before its Redis. */
export interface Far {
  readonly ledger: RedisLedger;
  readonly client: RedisClient;
  readonly proxy: Proxy;
  /** Closes the proxy: there is no connection until it opens again. */
  away(): Promise<void>;
  /** Opens the proxy, and resolves when the ledger is connected. */
  back(): Promise<void>;
}

export async function farFrom(url: string, more: Parameters<typeof ledgerOver>[1] = {}): Promise<Far> {
  const proxy = await proxyTo(url);
  onTestFinished(() => proxy.close());
  const client = await connected(proxy.url);
  const until = async (isAway: boolean): Promise<void> => {
    proxy.isShut = isAway;
    if (isAway) proxy.cut();
    while (client.isAway !== isAway) await soon();
  };
  return { ledger: ledgerOver(client, more), client, proxy, away: () => until(true), back: () => until(false) };
}

/** A value with these limits. */
export const limited = (value: string, caps: Partial<Subject['caps']>): Subject => ({
  id: `meta.x ${value}`,
  by: 'meta.x',
  value,
  caps: { requests: null, tokens: null, concurrent: null, budgets: [], ...caps },
});
export const asking = (subjects: readonly Subject[], more: Partial<Ask> = {}): Ask => ({
  subjects,
  tokens: 10,
  pico: 1n,
  isLight: false,
  isLook: false,
  ...more,
});
/** The hold of a request that was let in. */
export const holdOf = async (ledger: RedisLedger, subjects: readonly Subject[], more: Partial<Ask> = {}): Promise<Hold> =>
  (await ledger.reserve(asking(subjects, more))).hold as Hold;

/** A value with room for every test. */
export const other = limited('other', { requests: 1000, concurrent: 1000 });
/** Begins and ends a request, so that the gateway registers itself in Redis if it must. */
export const touch = async (ledger: RedisLedger): Promise<void> => ledger.settle(await holdOf(ledger, [other]), 0);
