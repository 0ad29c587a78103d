/** route/capability: candidates that cannot do what is asked are left out; when none is left, the caller learns what it was. */
import { describe, expect, it } from 'vitest';
import { errorOf, gatewayOf, provider } from '../../core/scene.ts';

const tool = [{ type: 'function', function: { name: 'f', parameters: {} } }];
const image = [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } }] }];
const all = { streaming: true, tools: true, vision: true, reasoning: { max_tokens: true } };

async function house(...abilities: object[]) {
  const up = await provider();
  const ids = abilities.map((_, at) => `p${at}`);
  return await gatewayOf({
    providers: Object.fromEntries(ids.map((id) => [id, { dialect: 'openai-chat', base_url: up.url, api_key: 'k' }])),
    models: [{ id: 'plain', free: true, providers: ids.map((providerId, at) => ({ providerId, externalId: 'x', ...abilities[at] })) }],
    routing: { default: { strategy: 'ordered' } },
  });
}

const wishes: [string, object, object, string, string][] = [
  ['tools', { tools: tool }, { ...all, tools: false }, 'model_not_supported', 'tools'],
  ['images', { messages: image }, { ...all, vision: false }, 'model_not_supported', 'messages'],
  ['a stream', { stream: true }, { ...all, streaming: false }, 'streaming_not_supported', 'stream'],
  ['an effort', { reasoning_effort: 'low' }, { ...all, reasoning: false }, 'model_not_supported', 'reasoning_effort'],
  ['a budget', { reasoning: { max_tokens: 2000 } }, { ...all, reasoning: true }, 'model_not_supported', 'reasoning.max_tokens'],
];

describe('a request for', () => {
  it.each(wishes)('%s goes to a provider that can', async (_, wish, unable) => {
    const { chat } = await house(unable, all);
    expect((await chat(wish)).headers.get('x-provider')).toBe('p1');
  });

  it.each(wishes)('%s that nobody can meet says so', async (_, wish, unable, code, param) => {
    const { chat, records } = await house(unable, unable);
    const response = await chat(wish);
    expect([response.status, await errorOf(response)]).toMatchObject([400, { type: 'invalid_request_error', code, param, message: expect.stringContaining('"plain"') }]);
    expect(records[0]).toMatchObject({ outcome: 'refused', ruledOut: [{ by: 'route/capability' }, { by: 'route/capability' }] });
  });

  it.each(wishes)('%s that a provider without its key could meet names the variable', async (_, wish, unable) => {
    const { chat } = await gatewayOf({
      providers: { off: { dialect: 'openai-chat', base_url: 'http://127.0.0.1:9', api_key: '${OFF_KEY}' }, on: { dialect: 'openai-chat', base_url: 'http://127.0.0.1:9', api_key: 'k' } },
      models: [{ id: 'plain', free: true, providers: [{ providerId: 'off', externalId: 'x', ...all }, { providerId: 'on', externalId: 'x', ...unable }] }],
    });
    const response = await chat(wish);
    expect([response.status, await errorOf(response)]).toMatchObject([503, { code: 'no_provider_available', message: expect.stringContaining('OFF_KEY is not set') }]);
  });

  it('nothing special goes to anybody', async () => {
    const { chat } = await house({ streaming: false, tools: false, vision: false, reasoning: false });
    expect((await chat({})).status).toBe(200);
  });

  it('an empty list of tools asks for none', async () => {
    const { chat } = await house({ ...all, tools: false });
    expect((await chat({ tools: [] })).status).toBe(200);
  });
});
