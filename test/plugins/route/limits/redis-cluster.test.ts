/** Gateways whose Redis is a cluster: the address is that of one node. */
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { adminOf, opened } from '../../../_kit/redis-client.ts';
import { startCluster } from '../../../_kit/servers.ts';
import type { RedisCluster, RedisServer } from '../../../_kit/servers.ts';
import { proxyTo } from '../../../_kit/proxy.ts';
import { asking, holdOf, ledgerOver, limited, registered, touch } from './redis-scene.ts';

let cluster: RedisCluster;
beforeAll(async () => {
  cluster = await startCluster();
});
afterAll(() => cluster.stop());

const node = (at: number): RedisServer => cluster.nodes[at] as RedisServer;
const inTime = <Value>(ask: () => Promise<Value>): Promise<Value> => vi.waitFor(ask, { timeout: 90_000 });

test.each([
  ['primary', 0],
  ['primary', 1],
  ['primary', 2],
  ['replica', 4],
])('each %s gives access to all keys, on any node (node %d)', async (_, at) => {
  const { client, messages } = await opened(node(at).url);
  await expect.poll(async () => [client.isAway, await client.health()]).toEqual([false, { connected: true }]);
  const keys = Array.from({ length: 30 }, (_none, index) => `model-gateway:cache:1:${index}`);
  for (const key of keys) await inTime(() => client.set(key, `${key} by ${at}`, 60));
  for (const key of keys) expect(await inTime(() => client.get(key))).toBe(`${key} by ${at}`);
  for (const key of keys) expect(await inTime(() => client.run("return redis.call('EXISTS', KEYS[1])", [key], []))).toBe(1);
  // on a busy machine a node may not answer in time
  expect(messages().filter((one) => !/does not answer|answers again/.test(one))).toEqual([]);
});

let number = 0;
// a gateway waits 300 ms for Redis, and then counts by itself: where the
// machine stands still for longer, the gateways do not count together
test('gateways at different nodes count together, also where a node is announced under another address', { retry: 3 }, async () => {
  const three = limited(`together ${++number}`, {
    requests: 3,
    tokens: 1000,
    concurrent: 3,
    budgets: [{ per: 'month', pico: 1000n, refusesUnknown: false }],
  });
  const proxy = await proxyTo(node(2).url);
  onTestFinished(() => proxy.close());
  const ledgers = await Promise.all(
    [node(0).url, node(1).url, proxy.url].map(async (url) => await registered(ledgerOver((await opened(url)).client))),
  );
  for (const ledger of ledgers) expect((await ledger.reserve(asking([three]))).refusal).toBeNull();
  for (const ledger of ledgers) expect((await ledger.reserve(asking([three]))).refusal?.lack).toBe('requests');
});

test('a database number that a cluster does not have is not replaced by database 0', async () => {
  const { client } = await opened(`${node(0).url}/3`);
  expect([client.isAway, await client.health()]).toEqual([true, { connected: false, error: 'no_database' }]);
});

test('while one primary hangs, each health check fails, and each succeeds once it is back', async () => {
  const admins = cluster.nodes.map(({ url }) => adminOf(url));
  for (const admin of admins) await admin.config('SET', 'cluster-replica-no-failover', 'yes');
  const { client } = await opened(node(0).url);
  await expect.poll(() => client.health()).toEqual({ connected: true });
  node(2).freeze();
  const seen = new Set<boolean>();
  for (let look = 0; look < 20; look++) seen.add((await client.health()).connected);
  const refused = adminOf(node(0).url);
  await expect.poll(() => refused.set('one', 'text').catch(String)).toContain('CLUSTERDOWN');
  for (let key = 0; key < 5; key++) await client.set(`model-gateway:cache:1:${key}`, 'text', 60).catch(() => {});
  node(2).thaw();
  expect([...seen]).toEqual([false]);
  await expect.poll(() => client.health()).toEqual({ connected: true });
  for (const admin of admins) await admin.config('SET', 'cluster-replica-no-failover', 'no');
});

test('a node that cannot be reached at its announced address is reported with its error', async () => {
  const admins = cluster.nodes.map(({ url }) => adminOf(url));
  for (const admin of admins) await admin.config('SET', 'cluster-announce-port', '1');
  await expect.poll(async () => String(await admins[0]?.call('CLUSTER', 'SLOTS'))).not.toMatch(/127\.0\.0\.1,(?!1,)/);
  const { client, logged } = await opened(node(0).url);
  expect([client.isAway, await client.health(), logged().map(({ error }) => error)]).toEqual([
    true,
    { connected: false, error: 'refused' },
    [expect.stringContaining('ECONNREFUSED')],
  ]);
  for (const admin of admins) await admin.config('SET', 'cluster-announce-port', '0');
  await expect.poll(() => client.isAway).toBe(false);
});

test('a primary that hangs fails no request, and its replica takes over with all counts', async () => {
  const names = ['model-gateway:{limits}:alive'] as const;
  const ids = await Promise.all(cluster.nodes.map((one) => adminOf(one.url).call('CLUSTER', 'MYID') as Promise<string>));
  const owner = await ownerOf(names[0]);
  const replicaId = ((await adminOf(node(0).url).call('CLUSTER', 'REPLICAS', ids[owner] as string)) as string[])[0]?.split(' ')[0];
  const replica = node(ids.indexOf(replicaId as string));
  const one = limited('failover', { requests: 100, concurrent: 50 });
  const { client, messages } = await opened(node((owner + 1) % 3).url);
  const ledger = ledgerOver(client);
  const holds = [await holdOf(ledger, [one]), await holdOf(ledger, [one])];

  await copied(node(owner));
  node(owner).freeze();
  onTestFinished(() => node(owner).thaw());
  for (let at = 0; at < 10; at++) holds.push(await holdOf(ledger, [one]));
  expect(holds.every((hold) => hold !== null)).toBe(true);
  expect(client.isAway).toBe(true);
  await adminOf(replica.url).call('CLUSTER', 'FAILOVER', 'TAKEOVER');
  await expect.poll(() => client.isAway).toBe(false);
  await touch(ledger);
  const near = ledgerOver((await opened(replica.url)).client);
  await expect.poll(async () => (await touch(ledger), (await near.levels([one]))[0])).toMatchObject({ requests: 12, running: 12 });
  for (const hold of holds) ledger.settle(hold, 0);
  await expect.poll(async () => (await touch(ledger), (await near.levels([one]))[0]?.running)).toBe(0);
  // the messages come again where a node that does not know the new primary yet sends the gateway to the former one
  const both = ['Redis does not answer; until it does, nothing is shared with other gateways', 'Redis answers again'];
  expect(messages()).toEqual(Array.from({ length: Math.max(1, messages().length / 2) }, () => both).flat());
});

/** Waits until the replica of a primary has all earlier writes: a replica that takes over before that has lost some. */
async function copied(primary: RedisServer): Promise<void> {
  const admin = adminOf(primary.url);
  await admin.set('model-gateway:{limits}:copied', 'so far');
  expect(await admin.wait(1, 20_000)).toBe(1);
}

/** The index of the primary that has this key. */
async function ownerOf(key: string): Promise<number> {
  for (let at = 0; at < 3; at++) {
    if (
      await adminOf(node(at).url)
        .exists(key)
        .then(
          () => true,
          () => false,
        )
    ) {
      return at;
    }
  }
  throw new Error('no primary has the key');
}
