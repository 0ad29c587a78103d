/** A session calls models from the dashboard's own pages, and no other page can call them by its cookie. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { oneUpstream, quietPlugins, testGateway } from '../../../_kit/gateway.ts';
import type { TestGateway } from '../../../_kit/gateway.ts';
import { answers, completion, startUpstream } from '../../../_kit/upstream.ts';
import type { ScriptedUpstream } from '../../../_kit/upstream.ts';

let upstream: ScriptedUpstream;
let gateway: TestGateway;
beforeAll(async () => {
  upstream = await startUpstream(answers(completion('Hello.')));
  const config = oneUpstream(upstream.url, {
    server: { admin_key: 'the-admin-key-of-the-test' },
    keys: [{ name: 'team', key: 'a-caller-key' }],
    plugins: ['endpoints/dashboard', ...quietPlugins],
  });
  gateway = await testGateway({ config });
});
afterAll(async () => await Promise.all([gateway.close(), upstream.close()]));

async function signIn(): Promise<string> {
  const response = await gateway.ask('/api/session', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"key":"the-admin-key-of-the-test"}',
  });
  return (response.headers.get('set-cookie') ?? '').split(';')[0] as string;
}

/** The status of a chat request, and its key on record. */
async function call(headers: Record<string, string>): Promise<[number, string | null | undefined]> {
  const response = await gateway.chat({}, headers);
  await response.text();
  return [response.status, gateway.records.find(({ id }) => id === response.headers.get('x-request-id'))?.key];
}

test('a page of the dashboard calls models with its session, under a separate key', async () => {
  const cookie = await signIn();
  expect(await call({ cookie, 'sec-fetch-site': 'same-origin' })).toEqual([200, 'dashboard']);
  // plain HTTP to another machine
  expect(await call({ cookie, origin: gateway.url })).toEqual([200, 'dashboard']);
  expect(await call({ cookie, 'sec-fetch-site': 'same-origin', authorization: 'Bearer a-caller-key' })).toEqual([200, 'team']);
});

test.each<[string, (cookie: string) => Record<string, string>]>([
  ['another site', (cookie) => ({ cookie, 'sec-fetch-site': 'cross-site' })],
  ['another site of the same owner', (cookie) => ({ cookie, 'sec-fetch-site': 'same-site' })],
  ['another origin', (cookie) => ({ cookie, origin: 'http://evil.example' })],
  ['a program that has only the cookie', (cookie) => ({ cookie })],
  ['a client with a made-up cookie', (cookie) => ({ cookie: `${cookie.slice(0, -3)}abc`, 'sec-fetch-site': 'same-origin' })],
  ['a client without a cookie', () => ({ 'sec-fetch-site': 'same-origin' })],
  ['a session that sends a wrong key too', (cookie) => ({ cookie, 'sec-fetch-site': 'same-origin', 'x-api-key': 'wrong' })],
])('%s cannot call models', async (_, headersOf) => {
  expect((await call(headersOf(await signIn())))[0]).toBe(401);
});

test('a session that has ended cannot call models', async () => {
  const cookie = await signIn();
  await gateway.ask('/api/session', {
    method: 'DELETE',
    headers: { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin', cookie },
  });
  expect((await call({ cookie, 'sec-fetch-site': 'same-origin' }))[0]).toBe(401);
});
