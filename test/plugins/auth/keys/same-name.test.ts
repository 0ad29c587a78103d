/** A key of the store that is made under the name of a deleted key gets no data of the former holder. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { oneUpstream, testGateway } from '../../../_kit/gateway.ts';
import type { TestGateway } from '../../../_kit/gateway.ts';
import { answers, completion, startUpstream } from '../../../_kit/upstream.ts';
import type { ScriptedUpstream } from '../../../_kit/upstream.ts';
import { folder } from '../../log/journal/scene.ts';

const admin = { authorization: 'Bearer the-admin-key-of-the-test', 'content-type': 'application/json' };
const files = folder();
let up: ScriptedUpstream;
let gateway: TestGateway;
let now = Date.now();
beforeEach(async () => {
  up = await startUpstream();
  const config = oneUpstream(up.url, {
    providers: { up: { dialect: 'openrouter', base_url: up.url, api_key: 'k' } },
    server: { admin_key: 'the-admin-key-of-the-test', data_dir: files.path, require_keys: true },
  });
  gateway = await testGateway({ config, use: ['log/journal'], clock: () => now });
});
afterEach(async () => {
  await Promise.all([gateway.close(), up.close()]);
  files.remove();
});

type Headers = Record<string, string>;

async function holder(): Promise<Headers> {
  const made = await gateway.ask('/api/keys', { method: 'POST', headers: admin, body: JSON.stringify({ name: 'team', cache: true }) });
  return { authorization: `Bearer ${((await made.json()) as { key: string }).key}` };
}
async function nextHolder(): Promise<Headers> {
  await gateway.ask('/api/keys/team', { method: 'DELETE', headers: admin });
  now += 1000;
  return await holder();
}
async function rotated(): Promise<Headers> {
  now += 1000;
  const made = await gateway.ask('/api/keys/team/rotate', { method: 'POST', headers: admin });
  return { authorization: `Bearer ${((await made.json()) as { key: string }).key}` };
}

test('a key with the name of a deleted key gets no responses of the deleted key', async () => {
  up.script(answers(completion('A secret.')));
  const respond = (more: object, headers: Headers): Promise<Response> =>
    gateway.post({ model: 'plain', input: 'hi', ...more }, { path: '/v1/responses', headers });
  const { id, output } = (await (await respond({}, await holder())).json()) as { id: string; output: [{ id: string }] };
  const same = await rotated();
  expect((await gateway.get(`/v1/responses/${id}`, same)).status).toBe(200);
  const next = await nextHolder();
  expect((await gateway.get(`/v1/responses/${id}`, next)).status).toBe(404);
  expect((await respond({ previous_response_id: id }, next)).status).toBe(400);
  expect((await respond({ input: [{ type: 'item_reference', id: output[0].id }] }, next)).status).toBe(400);
  expect((await gateway.ask(`/v1/responses/${id}`, { method: 'DELETE', headers: next })).status).toBe(404);
  const own = (await (await respond({}, next)).json()) as { id: string };
  expect((await gateway.get(`/v1/responses/${own.id}`, next)).status).toBe(200);
});

test('a key with the name of a deleted key gets no cached answers of the deleted key', async () => {
  up.script(answers(completion('hello')));
  const ask = async (headers: Headers): Promise<string | null> => (await gateway.chat({}, headers)).headers.get('x-cache');
  expect([await ask(await holder()), await ask(await rotated()), await ask(await nextHolder())]).toEqual(['miss', 'hit', 'miss']);
});

test('a key with the name of a deleted key gets no reasoning state of the deleted key', async () => {
  const call = { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{}' } };
  const detail = { type: 'reasoning.encrypted', data: 'sealed', id: 'rs_1', format: 'x', index: 0 };
  up.script(answers(completion('', { content: null, reasoning_details: [detail], tool_calls: [call] })));
  const asked = { model: 'thinker', tools: [{ type: 'function', function: { name: 'weather' } }] };
  const messages = [
    { role: 'user', content: 'hi' },
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', tool_call_id: 'call_1', content: '21 degrees' },
  ];
  await gateway.chat(asked, { ...(await holder()), 'x-cache': 'no-store' });
  const sentBy = async (headers: Headers): Promise<unknown> => {
    await gateway.chat({ ...asked, messages }, { ...headers, 'x-cache': 'no-store' });
    return up.asked.at(-1)?.json['messages'][1].reasoning_details;
  };
  expect([await sentBy(await rotated()), await sentBy(await nextHolder())]).toEqual([[detail], undefined]);
});
