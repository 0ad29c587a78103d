import { describe, expect, test } from 'vitest';
import { States } from '../../core/host/state.ts';
import { answers, completion } from '../_kit/upstream.ts';
import { withExample } from './scene.ts';

const acme = { 'x-gateway-tenant-id': 'acme' };
const steps = [answers(completion('Hello.'))];
const options = { per_minute: 2 };

describe('tenant-quota', () => {
  test('refuses a request over the quota with its own code, a time to wait and its own header', async () => {
    const { gateway, upstream } = await withExample('tenant-quota', { options, steps });
    await gateway.chat({}, acme);
    const second = await gateway.chat({}, acme);
    expect([second.status, second.headers.get('x-quota-remaining')]).toEqual([200, '0']);
    const third = await gateway.chat({}, acme);
    expect([third.status, third.headers.get('x-quota-remaining')]).toEqual([429, '0']);
    expect(await third.json()).toMatchObject({ error: { code: 'tenant_quota_exceeded', type: 'rate_limit_error' } });
    expect(Number(third.headers.get('retry-after'))).toBeGreaterThan(50);
    expect(upstream.asked).toHaveLength(2);
  });

  test('counts each tenant separately, and no requests without a tenant', async () => {
    const { gateway } = await withExample('tenant-quota', { options: { per_minute: 1 }, steps });
    const statuses = [];
    for (const headers of [acme, { 'x-gateway-tenant-id': 'other' }, {}, {}, acme]) statuses.push((await gateway.chat({}, headers)).status);
    expect(statuses).toEqual([200, 200, 200, 200, 429]);
  });

  test('accepts requests again after a minute', async () => {
    let now = Date.now();
    const { gateway } = await withExample('tenant-quota', { options: { per_minute: 1 }, steps, setup: { clock: () => now } });
    await gateway.chat({}, acme);
    now += 59_000;
    expect((await gateway.chat({}, acme)).status).toBe(429);
    now += 2000;
    expect((await gateway.chat({}, acme)).status).toBe(200);
  });

  test('keeps its counts over a reload', async () => {
    const setup = { states: new States() };
    const before = await withExample('tenant-quota', { options, steps, setup });
    await before.gateway.chat({}, acme);
    const after = await withExample('tenant-quota', { options, steps, setup });
    await before.gateway.close();
    expect((await after.gateway.chat({}, acme)).headers.get('x-quota-remaining')).toBe('0');
  });

  test('writes the remaining quota into the record, and shows all quotas only to the admin', async () => {
    const { gateway } = await withExample('tenant-quota', {
      options,
      steps,
      more: { server: { admin_key: 'an-admin-key-of-some-length' } },
    });
    await gateway.chat({}, acme);
    expect(gateway.records[0]?.fields).toEqual({ quota_left: 1 });
    expect((await gateway.get('/quotas')).status).toBe(401);
    expect(await (await gateway.get('/quotas', { authorization: 'Bearer an-admin-key-of-some-length' })).json()).toEqual({ acme: 1 });
  });
});
