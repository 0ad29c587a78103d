/** The spellings of paths and of the key's header that clients use. */
import { AzureOpenAI } from 'openai';
import { describe, expect, it } from 'vitest';
import { oneUpstream } from '../../_kit/gateway.ts';
import type { TestGateway } from '../../_kit/gateway.ts';
import { contentOf, gatewayOf, provider } from '../scene.ts';

const open = async (more: Record<string, unknown> = {}): Promise<TestGateway> => await gatewayOf(oneUpstream((await provider()).url, more));
const hi = { messages: [{ role: 'user', content: 'hi' }] };

describe('a chat', () => {
  it.each(['//v1/chat/completions', '///v1/chat/completions?x=1', '/chat/completions'])('is served at %s', async (path) => {
    const gateway = await open();
    expect(await contentOf(await gateway.post({ model: 'plain', ...hi }, { path }))).toBe('hello');
  });

  it('is served at the path of an Azure deployment, which names the model, with the key in `api-key`', async () => {
    const gateway = await open({ keys: [{ name: 'k', key: 'caller-key' }] });
    const path = '/openai/deployments/plain/chat/completions?api-version=2024-10-21';
    expect(await contentOf(await gateway.post(hi, { path, headers: { 'api-key': 'caller-key' } }))).toBe('hello');
    expect(gateway.records[0]).toMatchObject({ requestedModel: 'plain', key: 'k' });
    expect((await gateway.post(hi, { path, headers: { 'api-key': 'wrong' } })).status).toBe(401);
  });
});

describe('the SDK for Azure', () => {
  it('reaches each of its doors at the path of a deployment', async () => {
    const vectors = {
      id: 'vectors',
      free: true,
      architecture: { output_modalities: ['embeddings'] },
      providers: [{ providerId: 'mock', streaming: false }],
    };
    const text = { id: 'text', free: true, providers: [{ providerId: 'mock' }] };
    const { url, records } = await gatewayOf({ providers: { mock: { dialect: 'mock' } }, models: [vectors, text] });
    const client = new AzureOpenAI({ endpoint: url, apiKey: 'k', apiVersion: '2024-10-21', maxRetries: 0 });
    expect((await client.embeddings.create({ model: 'vectors', input: ['one', 'two'] })).data).toHaveLength(2);
    expect((await client.completions.create({ model: 'text', prompt: 'Say hello' })).choices[0]?.text).not.toBe('');
    expect(
      (await client.chat.completions.create({ model: 'text', messages: [{ role: 'user', content: 'hi' }] })).choices[0]?.message.content,
    ).not.toBe('');
    expect(records.map(({ requestedModel, outcome }) => [requestedModel, outcome])).toEqual([
      ['vectors', 'answered'],
      ['text', 'answered'],
      ['text', 'answered'],
    ]);
  });

  it('reaches the door of responses, whose path names no deployment, and what refuses', async () => {
    const { url } = await gatewayOf({
      providers: { mock: { dialect: 'mock' } },
      models: [{ id: 'text', free: true, providers: [{ providerId: 'mock' }] }],
    });
    const client = new AzureOpenAI({ endpoint: url, apiKey: 'k', apiVersion: '2025-04-01-preview', maxRetries: 0 });
    expect((await client.responses.create({ model: 'text', input: 'hi' })).output_text).not.toBe('');
    expect((await client.responses.stream({ model: 'text', input: 'hi' }).finalResponse()).output_text).not.toBe('');
    await expect(client.responses.retrieve('resp_1')).rejects.toMatchObject({ code: 'record_not_found' });
    await expect(client.conversations.create()).rejects.toThrow('previous_response_id');
  });
});

describe('the models', () => {
  it.each(['/v1/models', '/models', '//v1/models'])('are listed at %s', async (path) => {
    const gateway = await open();
    expect(((await (await gateway.get(path)).json()) as { data: object[] }).data).toHaveLength(3);
  });

  it.each(['/v1/models/plain', '/models/plain', '/v1/models/up%2Fplain', '/v1/models/up/plain'])('are found at %s', async (path) => {
    const gateway = await open();
    expect(await (await gateway.get(path)).json()).toMatchObject({ id: 'plain' });
  });

  it.each(['/v1/models/nowhere%2Fplain', '/v1/models/up%2Fnothing'])('are not found at %s', async (path) => {
    const gateway = await open();
    expect((await gateway.get(path)).status).toBe(404);
  });
});
