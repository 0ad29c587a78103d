/** The address of the client: that of the connection, or the one that a trusted proxy names. */
import { describe, expect, it } from 'vitest';
import { oneUpstream } from '../../_kit/gateway.ts';
import { gatewayOf, probe, provider } from '../scene.ts';

const admin = 'admin-0123456789abcdef';

/** Asks a gateway once with each of these headers; returns the addresses on record. */
async function recorded(server: object, asked: readonly Record<string, string>[]): Promise<(string | null | undefined)[]> {
  const { chat, records } = await gatewayOf(oneUpstream((await provider()).url, { server }));
  for (const headers of asked) await chat({}, headers);
  return records.map(({ clientAddress }) => clientAddress);
}

describe('the address of a client', () => {
  it('is that of the connection, and no header changes it', async () => {
    expect(await recorded({ log_addresses: 'full' }, [{}, { 'x-forwarded-for': '203.0.113.9' }, { forwarded: 'for=203.0.113.9' }])).toEqual(
      ['127.0.0.1', '127.0.0.1', '127.0.0.1'],
    );
    expect(await recorded({ log_addresses: 'full', trusted_proxies: ['10.0.0.0/8'] }, [{ 'x-forwarded-for': '203.0.113.9' }])).toEqual([
      '127.0.0.1',
    ]);
  });

  it('is the one that a trusted proxy names', async () => {
    const cases: [Record<string, string>, string][] = [
      [{}, '127.0.0.1'],
      [{ 'x-forwarded-for': '203.0.113.9' }, '203.0.113.9'],
      // the client wrote the first address
      [{ 'x-forwarded-for': '127.0.0.1, 203.0.113.9' }, '203.0.113.9'],
      [{ 'x-forwarded-for': '198.51.100.1, 203.0.113.9, 10.1.2.3' }, '203.0.113.9'],
      [{ 'x-forwarded-for': '10.9.9.9, 10.1.2.3' }, '10.9.9.9'],
      [{ 'x-forwarded-for': '203.0.113.9:4711' }, '203.0.113.9'],
      [{ 'x-forwarded-for': '::ffff:203.0.113.9' }, '203.0.113.9'],
      [{ 'x-forwarded-for': 'nonsense, fd00::7' }, 'fd00::7'],
      [{ 'x-forwarded-for': '' }, '127.0.0.1'],
      [{ forwarded: 'proto=https;for="[2001:db8::17]:4711", for=10.1.2.3' }, '2001:db8::17'],
      [{ forwarded: 'For = 203.0.113.9;by=10.0.0.1' }, '203.0.113.9'],
      [{ forwarded: 'for=203.0.113.9, for=_hidden, for=10.1.2.3' }, '10.1.2.3'],
      [{ forwarded: 'for=203.0.113.9', 'x-forwarded-for': '203.0.113.9' }, '203.0.113.9'],
      // one of the two headers came from the client
      [{ forwarded: 'for=198.51.100.1', 'x-forwarded-for': '203.0.113.9' }, '127.0.0.1'],
    ];
    const found = await recorded(
      { log_addresses: 'full', trusted_proxies: ['127.0.0.1', '10.0.0.0/8', 'fd00::/8'] },
      cases.map(([headers]) => headers),
    );
    expect(cases.map(([headers], at) => [headers, found[at]])).toEqual(cases);
  });

  it.each([
    [
      'masked',
      [{}, { 'x-forwarded-for': '203.0.113.9' }, { 'x-forwarded-for': '2001:0db8:1:2:3::4' }, { 'x-forwarded-for': '2001::4' }],
      ['127.0.0.0', '203.0.113.0', '2001:db8:1::', '2001:0:0::'],
    ],
    ['none', [{}, { 'x-forwarded-for': '203.0.113.9' }], [null, null]],
  ])('is recorded as log_addresses: %s asks', async (how, asked, wanted) => {
    expect(await recorded({ log_addresses: how, trusted_proxies: ['127.0.0.1'] }, asked as Record<string, string>[])).toEqual(wanted);
  });

  it('is masked on record by default, and plugins see it whole', async () => {
    const seen: (string | null)[] = [];
    const { chat, records } = await gatewayOf(oneUpstream((await provider()).url), {
      plugins: [probe(({ hooks }) => hooks.metadata.tap('test/probe', (metadata, { address }) => (seen.push(address), metadata)))],
    });
    await chat({});
    expect([seen, records[0]?.clientAddress]).toEqual([['127.0.0.1'], '127.0.0.0']);
  });

  it('decides who counts as a program on this machine', async () => {
    const { get } = await gatewayOf({ ...oneUpstream((await provider()).url), server: { trusted_proxies: ['127.0.0.1'] } });
    expect((await get('/metrics')).status).toBe(200);
    const refused = await get('/metrics', { 'x-forwarded-for': '203.0.113.9' });
    expect([refused.status, await refused.text()]).toEqual([403, expect.stringContaining('comes from another machine')]);
    // a header never makes a client local: a proxy may pass on what its client wrote
    expect((await get('/metrics', { 'x-forwarded-for': '127.0.0.1' })).status).toBe(403);
  });

  it('is the one for which wrong admin keys are delayed', async () => {
    const { get } = await gatewayOf({
      ...oneUpstream((await provider()).url),
      server: { trusted_proxies: ['127.0.0.1'], admin_key: admin },
    });
    const guess = async (from: string): Promise<number> => {
      const began = performance.now();
      await get('/metrics', { authorization: 'Bearer wrong', 'x-forwarded-for': from });
      return performance.now() - began;
    };
    for (let times = 0; times < 5; times++) await guess('203.0.113.9');
    expect(await guess('203.0.113.9')).toBeGreaterThan(200);
    const others: number[] = [];
    for (let times = 0; times < 5; times++) others.push(await guess('203.0.113.10'));
    // a busy machine may answer some of them late
    expect(Math.min(...others)).toBeLessThan(200);
  });
});
