/** Who may see the log. */
import { describe, expect, it } from 'vitest';
import { adminSession } from '../../../../core/http/admin.ts';
import { Secret } from '../../../../core/secret.ts';
import { logScene, noon } from './scene.ts';

const key = 'the-admin-key';
const session = (expiresAt: number, signedBy = key): string => `gateway_admin=${adminSession(new Secret(signedBy), expiresAt)}`;
const open = { host: '127.0.0.1' };
const wide = { host: '0.0.0.0' };
const keyed = { host: '0.0.0.0', admin_key: key };

type Row = [what: string, server: object, headers: Record<string, string>, status: number];

describe('without an admin key', () => {
  it.each<Row>([
    ['lets this machine in', open, {}, 200],
    ['lets this machine in by its name', open, { host: 'localhost:4000' }, 200],
    ['lets this machine in by its address', open, { host: '127.0.0.1:4000' }, 200],
    ['lets this machine in by its newer address', { host: '::1' }, { host: '[::1]:4000' }, 200],
    ['refuses another name that leads here', open, { host: 'evil.example:4000' }, 403],
    ['refuses what a proxy forwards', open, { 'x-forwarded-for': '10.0.0.1' }, 403],
    ['refuses what a proxy forwards under another header', open, { 'x-forwarded-proto': 'https' }, 403],
    ['refuses the standard header', open, { forwarded: 'for=10.0.0.1' }, 403],
    ['refuses a hop', open, { via: '1.1 proxy' }, 403],
    ['refuses a real address', open, { 'x-real-ip': '10.0.0.1' }, 403],
    ['refuses everybody where others can reach it', wide, {}, 403],
    ['does not take any key where others can reach it', wide, { authorization: 'Bearer ' }, 403],
  ])('%s', async (_, server, headers, status) => expect(await statusOf(server, headers)).toBe(status));
});

describe('with an admin key', () => {
  it.each<Row>([
    ['takes it as a bearer token', keyed, { authorization: `Bearer ${key}` }, 200],
    ['takes it as x-api-key', keyed, { 'x-api-key': key }, 200],
    ['takes it through a proxy', keyed, { authorization: `Bearer ${key}`, 'x-forwarded-for': '10.0.0.1' }, 200],
    ['takes a session', keyed, { cookie: `a=b; ${session(noon + 1)}; c=d` }, 200],
    ['wants one', keyed, {}, 401],
    ['wants one on this machine too', { ...open, admin_key: key }, {}, 401],
    ['refuses another', keyed, { authorization: 'Bearer the-admin-kex' }, 401],
    ['refuses a part of it', keyed, { authorization: 'Bearer the-admin' }, 401],
    ['refuses another scheme', keyed, { authorization: `Basic ${key}` }, 401],
    ['refuses the key of a caller', keyed, { authorization: 'Bearer a-caller-key' }, 401],
    ['refuses a session that is over', keyed, { cookie: session(noon - 1) }, 401],
    ['refuses a session of another key', keyed, { cookie: session(noon + 1, 'the-former-key') }, 401],
    ['refuses the key itself as a session', keyed, { cookie: `gateway_admin=${key}` }, 401],
    ['refuses a session with a later end than was signed', keyed, { cookie: session(noon - 1).replace(String(noon - 1), String(noon + 1)) }, 401],
  ])('%s', async (_, server, headers, status) => expect(await statusOf(server, headers)).toBe(status));
});

describe('every page of the API', () => {
  it.each(['/api/logs', '/api/logs/x', '/api/logs/export', '/api/logs/stream', '/api/stats', '/api/series', '/api/facets', '/api/metadata-keys', '/api/status'])('asks for access: %s', async (path) => {
    expect(await statusOf(keyed, {}, path)).toBe(401);
  });

  it('refuses in the shape of every other error, without a word of the key', async () => {
    const scene = await logScene(keyed);
    const response = await scene.get('/api/logs', { authorization: 'Bearer wrong' });
    expect([response.headers.get('www-authenticate'), await response.json()]).toEqual(['Bearer', { error: { message: 'The admin key is not valid.', type: 'invalid_request_error', param: null, code: 'invalid_api_key' } }]);
    await scene.close();
  });
});

async function statusOf(server: object, headers: Record<string, string>, path = '/api/logs'): Promise<number> {
  const scene = await logScene(server);
  const { status } = await scene.get(path, headers);
  await scene.close();
  return status;
}
