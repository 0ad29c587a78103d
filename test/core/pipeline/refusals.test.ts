/** Requests of unknown callers: anybody can send them at any rate, and they must not fill the disk or the error counts. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { Refusals } from '../../../core/pipeline/refusals.ts';
import { oneUpstream } from '../../_kit/gateway.ts';
import type { TestGateway } from '../../_kit/gateway.ts';
import { rawExchange } from '../../_kit/executable.ts';
import { EARLY } from '../../../core/pipeline/hooks.ts';
import { gatewayOf, probe, provider } from '../scene.ts';

const keys = [{ name: 'team', key: 'the-only-key-1234' }];
const known = { authorization: 'Bearer the-only-key-1234' };

const serving = async (more: object = {}): Promise<TestGateway> =>
  await gatewayOf({ ...oneUpstream((await provider()).url), keys, ...more });

const refusedOf = ({ records }: TestGateway, code: string): readonly object[] => records.filter(({ error }) => error?.code === code);

describe('requests of unknown callers:', () => {
  const many = 50;
  const ways: [string, string, (gateway: TestGateway) => Promise<unknown>][] = [
    ['an unknown URL', 'unknown_url', ({ get }) => get('/nowhere')],
    ['an unknown URL with a key that is not known', 'unknown_url', ({ get }) => get('/nowhere', { authorization: 'Bearer wrong' })],
    ['a wrong method', 'method_not_allowed', ({ ask }) => ask('/v1/chat/completions', { method: 'DELETE' })],
    ['a malformed address', 'bad_request', ({ get }) => get('/%ff')],
    ['bytes that are not HTTP', 'bad_request', ({ url }) => rawExchange(Number(new URL(url).port), 'HELLO\r\n\r\n')],
    ['no key', 'missing_api_key', ({ chat }) => chat({})],
    ['a wrong key', 'invalid_api_key', ({ chat }) => chat({}, { authorization: 'Bearer wrong' })],
  ];

  it.each(ways)('a few are on record and all are counted: %s', async (_, code, send) => {
    const gateway = await serving();
    const startedAt = performance.now();
    await Promise.all(Array.from({ length: many }, () => send(gateway)));
    const seconds = Math.floor((performance.now() - startedAt) / 1000);
    const rows = refusedOf(gateway, code);
    expect(rows.length).toBeGreaterThan(0);
    expect(rows.length).toBeLessThanOrEqual(1 + seconds);
    expect(gateway.records).toHaveLength(rows.length);
    expect(rows[0]).toMatchObject({ outcome: 'refused', key: null, standsFor: 1 });
  });

  it('each reason has its own row', async () => {
    const gateway = await serving();
    await Promise.all([gateway.get('/nowhere'), gateway.chat({}), gateway.get('/nowhere'), gateway.chat({})]);
    // a reason has a second row where it comes again more than a second later
    expect(new Set(gateway.records.map(({ error }) => error?.code))).toEqual(new Set(['missing_api_key', 'unknown_url']));
  });

  it('a row has the number of requests that it stands for', async () => {
    const gateway = await serving();
    let sent = 0;
    const last = (): number => gateway.records.at(-1)?.standsFor ?? 0;
    await expect
      .poll(async () => {
        await gateway.get('/nowhere');
        sent++;
        return last();
      })
      .toBeGreaterThan(1);
    expect(gateway.records.reduce((sum, { standsFor }) => sum + (standsFor ?? 0), 0)).toBe(sent);
    expect(gateway.records.at(-1)?.error?.message).toContain(`${last() - 1} more were refused for the same reason`);
  });
});

describe('the metadata of a refused request', () => {
  it('is on record, with that of the key where the caller is known', async () => {
    const gateway = await gatewayOf({
      ...oneUpstream((await provider()).url),
      keys: [{ name: 'team', key: 'the-key-of-the-team', metadata: { Team: 'search', shop: 'a' } }],
    });
    const mine = { 'x-gateway-Tenant-ID': 'acme', 'x-gateway-shop': 'b' };
    const key = { authorization: 'Bearer the-key-of-the-team' };
    await gateway.chat({}, mine);
    await gateway.chat({}, { ...mine, authorization: 'Bearer wrong' });
    await gateway.get('/nowhere', mine);
    await gateway.get('/nowhere', { ...mine, ...key });
    await gateway.chat({ model: 'none' }, { ...mine, ...key });
    await gateway.chat({ messages: 1 }, { ...mine, ...key });
    await gateway.post('{', { headers: { ...mine, ...key } });
    await gateway.chat({}, { ...mine, ...key });
    const own = { 'tenant-id': 'acme', shop: 'b' };
    expect(gateway.records.map(({ status, metadata }) => [status, { ...metadata }])).toEqual([
      [401, own],
      [401, own],
      [404, own],
      ...[404, 404, 400, 400, 200].map((status) => [status, { ...own, team: 'search', shop: 'a' }]),
    ]);
  });

  it('is cut where it is too long', async () => {
    const gateway = await gatewayOf(oneUpstream((await provider()).url));
    await gateway.get('/nowhere', { 'x-gateway-long': 'x'.repeat(300) });
    expect([gateway.records[0]?.metadata['long']?.length, gateway.records[0]?.adjustments]).toEqual([
      256,
      [expect.objectContaining({ parameter: 'metadata' })],
    ]);
  });

  it('has names in lower case, also those of a plugin', async () => {
    const naming = probe(({ hooks }) => hooks.metadata.tap('test/probe', (metadata) => ({ ...metadata, tenantTier: 'gold', plain: 'x' })));
    const gateway = await gatewayOf(oneUpstream((await provider()).url), { plugins: [naming] });
    await gateway.chat({});
    expect({ ...gateway.records[0]?.metadata }).toEqual({ tenanttier: 'gold', plain: 'x' });
  });
});

describe('a caller with a key that is known', () => {
  it('has a row for each request, refused ones too', async () => {
    const gateway = await serving();
    await Promise.all(
      Array.from({ length: 20 }, (_, at) => (at % 2 === 0 ? gateway.get('/nowhere', known) : gateway.chat({ model: 'nothing' }, known))),
    );
    expect(gateway.records).toHaveLength(20);
    expect(gateway.records.every(({ key, standsFor }) => key === 'team' && standsFor === undefined)).toBe(true);
  });

  it('counts as unknown where the config has no keys', async () => {
    const gateway = await gatewayOf(oneUpstream((await provider()).url));
    await Promise.all(Array.from({ length: 20 }, () => gateway.get('/nowhere', known)));
    expect(gateway.records.length).toBeLessThanOrEqual(2);
  });
});

it('each request at which a plugin fails to check the key has its row', async () => {
  const failing = probe(({ hooks }) =>
    hooks.auth.tap({ stage: EARLY }, () => {
      throw new Error('down');
    }),
  );
  const gateway = await gatewayOf({ ...oneUpstream((await provider()).url), keys }, { plugins: [failing] });
  await Promise.all([gateway.chat({}), gateway.chat({}), gateway.chat({})]);
  expect(refusedOf(gateway, 'plugin_error')).toHaveLength(3);
});

it('a connection that opens and closes without a byte leaves no trace', async () => {
  const gateway = await serving();
  const ways = ['end', 'destroy', 'resetAndDestroy'] as const;
  for (const way of ways) {
    const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1');
    await once(socket, 'connect');
    socket.resume()[way]();
    await once(socket, 'close');
  }
  await gateway.get('/nowhere');
  expect([gateway.records.map(({ error }) => error?.code), gateway.lines]).toEqual([['unknown_url'], []]);
  expect(gateway.gateway.running.size).toBe(0);
});

describe('the count of refusals', () => {
  it('allows one row in a second for each code', () => {
    const refusals = new Refusals();
    const at = [0, 1, 999, 1000, 1001, 5000].map((now) => refusals.count('a', now));
    expect(at).toEqual([1, null, null, 3, null, 2]);
    expect(refusals.count('b', 1)).toBe(1);
    expect(Object.fromEntries(refusals.counts)).toEqual({ a: 6, b: 1 });
  });

  it('counts a hundred codes separately, and no more', () => {
    const refusals = new Refusals();
    for (let at = 0; at < 1000; at++) refusals.count(`code_${at}`, at);
    expect([refusals.counts.size, refusals.counts.get('(other)')]).toEqual([101, 900]);
  });
});
