/** CORS: which web pages may send requests to the gateway. */
import { describe, expect, it } from 'vitest';
import { rawExchange } from '../../_kit/executable.ts';
import { oneUpstream } from '../../_kit/gateway.ts';
import type { TestGateway } from '../../_kit/gateway.ts';
import { gatewayOf, probe, provider } from '../scene.ts';

const app = 'https://app.example';

const gatewayFor = async (server: object): Promise<TestGateway> =>
  await gatewayOf(oneUpstream((await provider()).url, { server, keys: [{ name: 'k', key: 'caller-key' }] }));
const preflight = (gateway: TestGateway, path: string, origin = app): Promise<Response> =>
  gateway.ask(path, {
    method: 'OPTIONS',
    headers: { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'content-type,x-anything' },
  });
const allowed = ({ headers }: Response): string | null => headers.get('access-control-allow-origin');

describe('an allowed origin', () => {
  const server = { cors: { origins: [app] } };

  it('gets an answer to its preflight, with the headers that it asks for, and no record', async () => {
    const gateway = await gatewayFor(server);
    const { status, headers } = await preflight(gateway, '/v1/chat/completions');
    expect([
      status,
      headers.get('access-control-allow-origin'),
      headers.get('access-control-allow-methods'),
      headers.get('access-control-allow-headers'),
      headers.get('vary'),
    ]).toEqual([204, app, 'GET, POST, PATCH, DELETE', 'content-type,x-anything', 'origin']);
    expect(gateway.records).toEqual([]);
  });

  it.each<[string, object, string]>([
    ['an answer', {}, 'Bearer caller-key'],
    ['a stream', { stream: true }, 'Bearer caller-key'],
    ['a refusal', {}, 'Bearer wrong'],
  ])('may read %s', async (_, body, authorization) => {
    const gateway = await gatewayFor(server);
    const response = await gateway.chat(body, { origin: app, authorization });
    await response.text();
    expect(allowed(response)).toBe(app);
    const exposed = response.headers.get('access-control-expose-headers')?.split(', ');
    // `request-id`, `x-should-retry`: the SDKs read them
    expect(exposed).toEqual(expect.arrayContaining(['x-request-id', 'request-id', 'x-estimated', 'x-should-retry', 'x-adjusted']));
  });

  it('may read the headers that a plugin adds', async () => {
    const plugins = [probe(({ hooks }) => hooks.reply.tap('test/probe', (headers) => ({ ...headers, 'x-quota-remaining': '7' })))];
    const gateway = await gatewayOf(oneUpstream((await provider()).url, { server }), { plugins });
    const { headers } = await gateway.chat({}, { origin: app });
    // only requests without cookies are allowed, and for them the star means all names
    expect([
      headers.get('x-quota-remaining'),
      headers.get('access-control-expose-headers')?.split(', '),
      headers.get('access-control-allow-credentials'),
    ]).toEqual(['7', expect.arrayContaining(['*']), null]);
  });

  it('may read the list of models', async () => {
    const gateway = await gatewayFor(server);
    expect(allowed(await gateway.get('/v1/models', { origin: app, authorization: 'Bearer caller-key' }))).toBe(app);
  });

  it.each(['/api/logs', '/dashboard', '/metrics', '/%61pi/logs', '//api/logs', '/api%', '/%6Detrics?a=%'])(
    'may not read %s',
    async (path) => {
      const gateway = await gatewayFor(server);
      expect([allowed(await gateway.get(path, { origin: app })), allowed(await preflight(gateway, path))]).toEqual([null, null]);
    },
  );

  it.each([
    '/./metrics',
    '/x/../metrics',
    '/x/%2e%2E/metrics',
    'http://localhost/metrics',
    '/v1/../x/.%2e/metrics',
    String.raw`/x\..\metrics`,
  ])('may not read the page behind %s', async (path) => {
    const gateway = await gatewayFor(server);
    const text = await rawExchange(
      Number(new URL(gateway.url).port),
      `GET ${path} HTTP/1.1\r\nhost: localhost\r\norigin: ${app}\r\nconnection: close\r\n\r\n`,
    );
    expect(text.toLowerCase()).not.toContain('access-control-allow-origin');
  });
});

const adminKey = 'admin-0123456789abcdef';

describe.each<[string, object, Record<string, string>, number]>([
  ['that answers', { admin_key: adminKey }, { authorization: `Bearer ${adminKey}` }, 200],
  ['that needs the admin key', { admin_key: adminKey }, {}, 401],
  ['that needs no key', {}, {}, 403],
])('an endpoint for admins of a plugin, %s,', (_, guard, sent, status) => {
  const endpoint = probe(({ routes }) => {
    for (const method of ['GET', 'POST'] as const) {
      routes.add({
        method,
        path: '/quotas/:tenant',
        auth: 'admin',
        handle: () => ({ headers: { 'content-type': 'text/plain' }, body: 'secret' }),
      });
    }
  });

  it.each(['/quotas/acme', '/quotas/acme?a=b', '/%71uotas/acme', '//quotas/acme'])(
    'cannot be read by pages of an allowed origin: %s',
    async (path) => {
      const server = { cors: { origins: ['*'] }, ...guard };
      const gateway = await gatewayOf(oneUpstream((await provider()).url, { server }), { plugins: [endpoint] });
      const response = await gateway.get(path, { ...sent, origin: app });
      expect([response.status, allowed(response), response.headers.get('access-control-expose-headers')]).toEqual([status, null, null]);
      expect(allowed(await gateway.get('/v1/models', { origin: app }))).toBe(app);
    },
  );
});

it('CORS allows no other origin, and `vary` says that the answer depends on the origin', async () => {
  const gateway = await gatewayFor({ cors: { origins: [app] } });
  const response = await gateway.chat({}, { origin: 'https://evil.example', authorization: 'Bearer caller-key' });
  expect([response.status, allowed(response), response.headers.get('vary')]).toEqual([200, null, 'origin']);
  expect(allowed(await preflight(gateway, '/v1/chat/completions', 'https://evil.example'))).toBeNull();
});

it('CORS allows every origin where the list says so', async () => {
  const gateway = await gatewayFor({ cors: { origins: ['*'] } });
  expect(allowed(await preflight(gateway, '/v1/chat/completions', 'http://localhost:5173'))).toBe('http://localhost:5173');
});

it('CORS is off without a list of origins', async () => {
  const gateway = await gatewayFor({});
  const response = await gateway.chat({}, { origin: app, authorization: 'Bearer caller-key' });
  expect([allowed(response), response.headers.get('vary'), (await preflight(gateway, '/v1/chat/completions')).status]).toEqual([
    null,
    null,
    405,
  ]);
});
