/** Servers at the address of the Redis that gateways cannot share: a replica, a Sentinel, a missing database, a wrong certificate. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer } from 'node:tls';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test, vi } from 'vitest';
import { isRedisAddress } from '../../../core/host/redis-server.ts';
import { certificate, trustedCertificate } from '../../_kit/certificate.ts';
import { proxyTo } from '../../_kit/proxy.ts';
import { adminOf, opened } from '../../_kit/redis-client.ts';
import { startRedis } from '../../_kit/servers.ts';
import type { RedisServer } from '../../_kit/servers.ts';

async function started(...words: readonly string[]): Promise<RedisServer> {
  const redis = await startRedis(undefined, { words });
  onTestFinished(() => redis.stop());
  return redis;
}

/** Asks until Redis answers in time. */
const inTime = <Value>(ask: () => Promise<Value>): Promise<Value> => vi.waitFor(ask, { timeout: 60_000 });

const isAway = 'Redis cannot be used; until it can, nothing is shared with other gateways';
const isSilent = 'Redis does not answer; until it does, nothing is shared with other gateways';
const isBack = 'Redis answers again';
const portOf = ({ url }: RedisServer): string => new URL(url).port;

test.each([
  'redis://127.0.0.1',
  'redis://127.0.0.1:6379/',
  'rediss://user:p%40ss%25@cache.example:6380/7',
  'redis://[::1]:6379',
  'redis://:secret@cache?family=6',
])('%s is an address', (url) => {
  expect(isRedisAddress(url)).toBe(true);
});

test.each([
  ['is another scheme', 'http://127.0.0.1:6379'],
  ['has no slashes', 'redis:127.0.0.1:6379'],
  ['has no host', 'redis:///2'],
  ['is in capitals, without TLS for ioredis', 'REDISS://127.0.0.1'],
  ['has a database that is no number', 'redis://127.0.0.1:6379/main'],
  ['has a database and a slash', 'redis://127.0.0.1:6379/1/'],
  ['has a password with a percent sign', 'redis://:p%ss@127.0.0.1'],
  ['has a password with a number sign', 'redis://:p@ss#word@127.0.0.1'],
  ['has no port behind the colon', 'redis://127.0.0.1:port'],
])('what %s is no address', (_, url) => {
  expect(isRedisAddress(url)).toBe(false);
});

test('a replica is not used, and is reported once, until the address leads to the primary', async () => {
  const primary = await started();
  const replica = await started('--replicaof', '127.0.0.1', portOf(primary));
  const proxy = await proxyTo(replica.url);
  onTestFinished(() => proxy.close());
  const { client, logged, messages } = await opened(proxy.url);
  expect(client.isAway).toBe(true);
  await expect.poll(() => client.health()).toEqual({ connected: false, error: 'replica' });
  const admin = adminOf(replica.url);
  const connections = async (): Promise<number> => Number(/total_connections_received:(\d+)/.exec(await admin.info('stats'))?.[1]);
  const before = await connections();
  await expect.poll(connections).toBeGreaterThan(before + 1);
  expect(logged()).toEqual([expect.objectContaining({ msg: isAway, error: expect.stringContaining('replica, which takes no writes') })]);

  proxy.port = Number(portOf(primary));
  await expect.poll(() => client.isAway).toBe(false);
  await inTime(() => client.set('one', 'text', 60));
  expect(messages().slice(0, 2)).toEqual([isAway, isBack]);
});

test('a replica that takes the place of a dead primary is reported as a replica, although the primary was reported as silent', async () => {
  const primary = await started();
  const replica = await started('--replicaof', '127.0.0.1', '1');
  const proxy = await proxyTo(primary.url);
  onTestFinished(() => proxy.close());
  const { logged, messages } = await opened(proxy.url);
  proxy.isShut = true;
  proxy.cut();
  await expect.poll(messages).toContain(isSilent);
  proxy.port = Number(portOf(replica));
  proxy.isShut = false;
  await expect
    .poll(logged)
    .toContainEqual(expect.objectContaining({ msg: isAway, error: expect.stringContaining('replica, which takes no writes') }));

  proxy.port = Number(portOf(primary));
  proxy.cut();
  await expect.poll(() => messages().at(-1)).toBe(isBack);
  expect(messages()).toEqual([isSilent, isAway, isBack]);
});

test('after its primary became a replica, the client uses the next primary at the address', async () => {
  const [one, two] = [await started(), await started()];
  const proxy = await proxyTo(one.url);
  onTestFinished(() => proxy.close());
  const { client, messages } = await opened(proxy.url);
  await inTime(() => client.set('one', 'text', 60));
  await adminOf(one.url).replicaof('127.0.0.1', portOf(two));
  proxy.port = Number(portOf(two));
  expect(await inTime(() => client.run('return redis.call("SET", KEYS[1], 1)', ['one'], []))).toBe('OK');
  expect(messages().filter((message) => message.startsWith('Redis refuses'))).toEqual([]);
  await expect.poll(() => client.health()).toEqual({ connected: true });
});

test('after its primary hung, the client uses the primary to which a Sentinel moves the address, also where it had connected to the old one again', async () => {
  const one = await started();
  const two = await started('--replicaof', '127.0.0.1', portOf(one), '--repl-diskless-sync-delay', '0');
  await expect.poll(() => adminOf(two.url).info('replication')).toContain('master_link_status:up');
  const sentinel = await startRedis(undefined, { sentinelOf: Number(portOf(one)) });
  onTestFinished(() => sentinel.stop());
  const asked = adminOf(sentinel.url);
  const primary = async (): Promise<string | undefined> =>
    ((await asked.call('SENTINEL', 'get-master-addr-by-name', 'main')) as string[])[1];
  await expect.poll(() => asked.call('SENTINEL', 'replicas', 'main')).toHaveLength(1);
  const proxy = await proxyTo(one.url);
  onTestFinished(() => proxy.close());
  const { client, messages } = await opened(proxy.url);
  await inTime(() => client.set('one', 'text', 60));

  const before = messages().length;
  one.freeze();
  onTestFinished(() => one.thaw());
  const connections = proxy.connections;
  await expect.poll(() => (void client.get('one').catch(() => {}), proxy.connections)).toBeGreaterThan(connections + 1);
  await expect.poll(primary).toBe(portOf(two));
  proxy.port = Number(portOf(two));
  await inTime(() => client.set('one', 'by the second', 60));
  expect(await adminOf(two.url).get('one')).toBe('by the second');
  // Redis may be away again for a moment where the machine is busy
  expect(new Set(messages().slice(before))).toEqual(new Set([isSilent, isBack]));
});

test('a Sentinel is reported as a Sentinel', async () => {
  const sentinel = await startRedis(undefined, { sentinelOf: 1 });
  onTestFinished(() => sentinel.stop());
  const { client, logged } = await opened(sentinel.url);
  expect([client.isAway, await client.health()]).toEqual([true, { connected: false, error: 'sentinel' }]);
  expect(logged()).toEqual([expect.objectContaining({ msg: isAway, error: expect.stringContaining('Sentinel') })]);
});

test.each([
  ['that Redis does not have', 'redis://', 'ERR DB index is out of range'],
  ['that its user may not select', 'redis://gateway:right@', 'NOPERM'],
])('a database %s is not replaced by the first one', async (_, scheme, why) => {
  const { url } = await started();
  const admin = adminOf(url);
  await admin.acl('SETUSER', 'gateway', 'on', '>right', '~*', '+@all', '-select');
  const { client, logged } = await opened(`${scheme}${new URL(url).host}/${why === 'NOPERM' ? 3 : 99}`);
  await client.set('one', 'text', 60).catch(() => {});
  expect(await admin.dbsize()).toBe(0);
  expect(await client.health()).toEqual({ connected: false, error: 'no_database' });
  expect(logged()).toEqual([expect.objectContaining({ msg: isAway, error: expect.stringContaining(why) })]);
});

test('a user with only the commands of the docs waits until Redis has loaded its data, and nothing is written outside of the log', async () => {
  const printed = vi.spyOn(console, 'warn').mockImplementation(() => {});
  onTestFinished(() => printed.mockRestore());
  const folder = mkdtempSync(join(tmpdir(), 'gateway-redis-data-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const users = join(folder, 'users.acl');
  writeFileSync(users, 'user default on nopass ~* &* +@all\nuser gateway on >right ~model-gateway:* +@all -@dangerous\n');
  const first = await started('--dir', folder, '--rdbcompression', 'no');
  await adminOf(first.url).eval("for at = 1, 10000 do redis.call('SET', at, string.rep('x', 1024)) end", 0);
  await adminOf(first.url).save();
  // Redis handles commands after each key, and would load for three minutes
  const { url } = await started(
    '--dir',
    folder,
    '--aclfile',
    users,
    '--key-load-delay',
    '20000',
    '--loading-process-events-interval-bytes',
    '1024',
  );
  const { client, messages } = await opened(`redis://gateway:right@${new URL(url).host}`);
  expect([client.isAway, await client.health()]).toEqual([true, { connected: false, error: 'loading' }]);
  const admin = new Redis(url, { enableReadyCheck: false });
  onTestFinished(() => admin.disconnect());
  await admin.config('SET', 'key-load-delay', '0');
  await expect.poll(() => client.isAway).toBe(false);
  await inTime(() => client.set('model-gateway:one', 'text', 60));
  expect(messages().slice(0, 2)).toEqual([isAway, isBack]);
  expect(printed).not.toHaveBeenCalled();
});

test.each([
  ['that nobody signed', () => certificate('IP:127.0.0.1')],
  ['for another name', () => trustedCertificate('DNS:other.example')],
])('a Redis with a certificate %s is reported with the certificate as the reason', async (_, made) => {
  const server = createServer(made());
  server.on('tlsClientError', () => {});
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { client } = await opened(`rediss://127.0.0.1:${(server.address() as AddressInfo).port}`);
  expect([client.isAway, await client.health()]).toEqual([true, { connected: false, error: 'certificate' }]);
});

test('a Redis whose user may not run PING is healthy', async () => {
  const { url } = await started();
  await adminOf(url).acl('SETUSER', 'gateway', 'on', '>right', '~*', '+@all', '-ping');
  const { client, messages } = await opened(`redis://gateway:right@${new URL(url).host}`);
  await expect.poll(() => client.health()).toEqual({ connected: true });
  expect([client.isAway, messages()]).toEqual([false, []]);
});
