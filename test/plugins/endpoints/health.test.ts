/** GET /: the health record, the parts that `skip` leaves out, and the status 503. */
import { describe, expect, it } from 'vitest';
import type { HealthReport } from '../../../core/pipeline/hooks.ts';
import { oneUpstream } from '../../_kit/gateway.ts';
import { gatewayOf, probe } from '../../core/scene.ts';

const health = async (query = '', check?: (report: HealthReport, query: { skip: ReadonlySet<string> }) => HealthReport) => {
  const plugins = check === undefined ? [] : [probe(({ hooks }) => hooks.health.tap('test/probe', check))];
  const { get } = await gatewayOf(oneUpstream('http://127.0.0.1:9/v1'), { plugins });
  const response = await get(`/${query}`);
  return { status: response.status, body: (await response.json()) as { message: string; version: string; health: HealthReport } };
};

describe('the health record', () => {
  it('has every field', async () => {
    expect(await health()).toEqual({
      status: 200,
      body: {
        message: 'OK',
        version: expect.stringMatching(/^\d+\.\d+\.\d+/),
        health: {
          status: 'ok',
          redis: { connected: false, error: 'not configured' },
          database: { connected: false, error: 'not configured' },
        },
      },
    });
  });

  it.each<[string, string, string]>([
    ['?skip=redis', 'skipped', 'not configured'],
    ['?skip=database', 'not configured', 'skipped'],
    ['?skip=redis,database', 'skipped', 'skipped'],
    ['?skip=redis&skip=database', 'skipped', 'skipped'],
    ['?skip=%20redis%20,%20database', 'skipped', 'skipped'],
    ['?skip=', 'not configured', 'not configured'],
    ['?skip=teapot', 'not configured', 'not configured'],
  ])('with %s has redis %s, database %s, and is ok', async (query, redis, database) => {
    const { status, body } = await health(query);
    expect([status, body.health]).toEqual([
      200,
      { status: 'ok', redis: { connected: false, error: redis }, database: { connected: false, error: database } },
    ]);
  });

  it('passes `skip` to a check, and shows skipped parts as skipped whatever the check reports', async () => {
    const { body } = await health('?skip=database', (report, { skip }) => ({
      ...report,
      status: skip.has('database') ? report.status : 'degraded',
      database: { connected: true },
    }));
    expect(body.health).toMatchObject({ status: 'ok', database: { connected: false, error: 'skipped' } });
  });

  it('is degraded and still 200 when a store is down', async () => {
    const { status, body } = await health('', (report) => ({
      ...report,
      status: 'degraded',
      database: { connected: false, error: 'refused' },
    }));
    expect([status, body.health.status, body.health.database]).toEqual([200, 'degraded', { connected: false, error: 'refused' }]);
  });

  it('is 503 when the gateway cannot serve', async () => {
    expect((await health('', (report) => ({ ...report, status: 'error' }))).status).toBe(503);
  });
});

describe('the probes', () => {
  it.each(['/health/live', '/health/ready'])('%s is 200 without a key, in any state of the stores', async (path) => {
    const { get } = await gatewayOf(oneUpstream('http://127.0.0.1:9/v1', { keys: [{ name: 'one', key: 'a-key-of-one-caller' }] }), {
      plugins: [probe(({ hooks }) => hooks.health.tap('test/probe', (report) => ({ ...report, status: 'error' })))],
    });
    const response = await get(path);
    expect([response.status, response.headers.get('cache-control'), await response.json()]).toEqual([
      200,
      'no-store',
      { status: path.slice('/health/'.length) },
    ]);
    expect((await get('/')).status).toBe(503);
  });

  it('report that a gateway which is about to stop is alive, and is not ready', async () => {
    const { get, gateway } = await gatewayOf(oneUpstream('http://127.0.0.1:9/v1'));
    gateway.leave();
    const [live, ready] = [await get('/health/live'), await get('/health/ready')];
    expect([live.status, ready.status, await ready.json()]).toEqual([200, 503, { status: 'stopping' }]);
  });
});
