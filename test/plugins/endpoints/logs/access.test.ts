/** Access to the log. */
import { describe, expect, it } from 'vitest';
import { newSession } from '../../../../core/http/sessions.ts';
import { Secret } from '../../../../core/secret.ts';
import { logScene, noon } from './scene.ts';

const key = 'the-admin-key-of-the-test';
const valueOf = (expiresAt: number, signedBy = key): string => newSession(new Secret(signedBy), expiresAt).value;
const session = (expiresAt: number, signedBy = key): string => `gateway_admin=${valueOf(expiresAt, signedBy)}`;
const open = { host: '127.0.0.1' };
const wide = { host: '0.0.0.0' };
const keyed = { host: '0.0.0.0', admin_key: key };
const opened = { host: '0.0.0.0', admin_open: true };

type Row = [what: string, server: object, headers: Record<string, string>, status: number];

describe('without keys', () => {
  it.each<Row>([
    ['lets this machine in', open, {}, 200],
    ['lets this machine in by its name', open, { host: 'localhost:4000' }, 200],
    ['lets this machine in by its address', open, { host: '127.0.0.1:4000' }, 200],
    ['lets this machine in by its newer address', { host: '::1' }, { host: '[::1]:4000' }, 200],
    ['refuses another name that leads here', open, { host: 'evil.example:4000' }, 403],
    [
      'refuses a name that is allowed for requests to models',
      { allowed_hosts: ['host.docker.internal'] },
      { host: 'host.docker.internal:4000' },
      403,
    ],
    ['refuses what a proxy forwards', open, { 'x-forwarded-for': '10.0.0.1' }, 403],
    ['refuses what a proxy forwards under another header', open, { 'x-forwarded-proto': 'https' }, 403],
    ['refuses a request with the header forwarded', open, { forwarded: 'for=10.0.0.1' }, 403],
    ['refuses a request with the header via', open, { via: '1.1 proxy' }, 403],
    ['refuses a request with the header x-real-ip', open, { 'x-real-ip': '10.0.0.1' }, 403],
    ['wants an admin key where there is one', { ...open, admin_key: key }, {}, 401],
  ])('%s', async (_, server, headers, status) => expect(await statusOf(server, headers, { keys: [] })).toBe(status));
});

describe('with keys', () => {
  it.each<Row>([
    ['takes the admin key as a bearer token', keyed, { authorization: `Bearer ${key}` }, 200],
    ['takes the admin key as x-api-key', keyed, { 'x-api-key': key }, 200],
    ['takes the admin key through a proxy', keyed, { authorization: `Bearer ${key}`, 'x-forwarded-for': '10.0.0.1' }, 200],
    ['takes a session', keyed, { cookie: `a=b; ${session(noon + 1)}; c=d` }, 200],
    ['wants the admin key', keyed, {}, 401],
    ['wants the admin key on this machine too', { ...open, admin_key: key }, {}, 401],
    ['refuses this machine where there is no admin key', open, {}, 403],
    ['refuses any key where there is no admin key', wide, { authorization: 'Bearer ' }, 403],
    ['refuses another key', keyed, { authorization: 'Bearer the-admin-key-of-the-tesx' }, 401],
    ['refuses a part of the admin key', keyed, { authorization: 'Bearer the-admin' }, 401],
    ['refuses another scheme', keyed, { authorization: `Basic ${key}` }, 401],
    ['refuses the key of a caller', keyed, { authorization: 'Bearer a-caller-key' }, 401],
    ['refuses a session that is over', keyed, { cookie: session(noon - 1) }, 401],
    ['refuses a session at the moment of its end', keyed, { cookie: session(noon) }, 401],
    ['refuses a session of another key', keyed, { cookie: session(noon + 1, 'the-former-key') }, 401],
    ['refuses the admin key itself as a session', keyed, { cookie: `gateway_admin=${key}` }, 401],
    [
      'refuses a session with a later end than was signed',
      keyed,
      { cookie: session(noon - 1).replace(String(noon - 1), String(noon + 1)) },
      401,
    ],
    [
      'refuses a session with another number than was signed',
      keyed,
      { cookie: session(noon + 1).replace(/\.[0-9a-f]{32}\./, `.${'0'.repeat(32)}.`) },
      401,
    ],
  ])('%s', async (_, server, headers, status) => expect(await statusOf(server, headers)).toBe(status));
});

describe('with keys, and open on this machine', () => {
  it.each<Row>([
    ['lets this machine in', opened, {}, 200],
    ['refuses another name that leads here', opened, { host: 'evil.example' }, 403],
    ['refuses what a proxy forwards', opened, { 'x-forwarded-for': '127.0.0.1' }, 403],
    ['lets this machine in beside an admin key', { ...opened, admin_key: key }, {}, 200],
    ['wants the admin key from others', { ...opened, admin_key: key }, { host: 'gateway.example' }, 401],
    ['takes the admin key from others', { ...opened, admin_key: key }, { host: 'gateway.example', authorization: `Bearer ${key}` }, 200],
  ])('%s', async (_, server, headers, status) => expect(await statusOf(server, headers)).toBe(status));
});

describe('every page of the API', () => {
  it.each([
    '/api/logs',
    '/api/logs/x',
    '/api/logs/export',
    '/api/logs/stream',
    '/api/stats',
    '/api/series',
    '/api/facets',
    '/api/metadata-keys',
    '/api/status',
  ])('needs access: %s', async (path) => {
    expect(await statusOf(keyed, {}, { path })).toBe(401);
  });

  it('tells who sends no key where the admin key is', async () => {
    const scene = await logScene(keyed);
    expect(await (await scene.get('/api/logs')).json()).toMatchObject({
      error: { code: 'missing_api_key', message: expect.stringContaining('the key in the file admin-key of server.data_dir') },
    });
    await scene.close();
  });

  it('refuses with the common form of errors, without the key', async () => {
    const scene = await logScene(keyed);
    const response = await scene.get('/api/logs', { authorization: 'Bearer wrong' });
    expect([response.headers.get('www-authenticate'), await response.json()]).toEqual([
      'Bearer',
      { error: { message: 'The admin key is not valid.', type: 'invalid_request_error', param: null, code: 'invalid_api_key' } },
    ]);
    await scene.close();
  });
});

async function statusOf(
  server: object,
  headers: Record<string, string>,
  { path = '/api/logs', keys }: { path?: string; keys?: [] } = {},
): Promise<number> {
  const scene = await logScene(server, keys);
  const { status } = await scene.get(path, headers);
  await scene.close();
  return status;
}
