/** Embeddings at the vendors of the chat completions API: the request to each. */
import { describe, expect, it } from 'vitest';
import type { ChatRequest, EmbeddingAsk } from '../../../../core/chat.ts';
import type { Dialect, Embedder } from '../../../../core/wire/dialect.ts';
import plugin from '../../../../plugins/dialects/openai-chat/index.ts';
import { requestOf, targetOf } from '../../../contract/dialect.ts';

const dialects = new Map((plugin.dialects ?? []).map((dialect) => [dialect.name, dialect]));

type Settings = Readonly<Record<string, string>>;

function embedderOf(name: string, settings: Settings = {}): { readonly embedder: Embedder; readonly target: ReturnType<typeof targetOf> } {
  const target = targetOf(name, { externalId: 'model-1', provider: { settings } });
  return { embedder: (dialects.get(name) as Dialect).embedder?.(target) as Embedder, target };
}

function sent(
  name: string,
  said: Partial<ChatRequest> & { readonly dimensions?: number; readonly format?: EmbeddingAsk['format'] },
  settings: Settings = {},
): { readonly path: string; readonly body: Record<string, unknown>; readonly changes: string[] } {
  const { embedder, target } = embedderOf(name, settings);
  const { dimensions = null, format = 'float', ...others } = said;
  const ask: EmbeddingAsk = { kind: 'embeddings', inputs: ['a text'], dimensions, format };
  const { path, body, adjustments } = embedder.encode(ask.inputs, { ...requestOf(others), ask }, target);
  const { model: _, input: __, ...fields } = JSON.parse(body) as Record<string, unknown>;
  return { path, body: fields, changes: adjustments.map(({ parameter, change }) => `${parameter} ${change}`) };
}

describe('embeddings', () => {
  it('have the API version for Azure, which answers 404 without it', () => {
    expect(sent('azure', {}, { api_version: '2024-10-21' }).path).toBe('/embeddings?api-version=2024-10-21');
    expect(sent('azure', {}).path).toBe('/embeddings');
  });

  it('have dimensions under Mistral’s own name, and leave out the fields that it answers with 422', () => {
    expect(sent('mistral', { dimensions: 256, user: 'ann', rest: { output_dtype: 'int8', store: true } })).toEqual({
      path: '/embeddings',
      body: { output_dimension: 256, output_dtype: 'int8' },
      changes: ['user dropped', 'store dropped'],
    });
  });

  it('refuse dimensions that Cohere does not take by this API, because another vector would spoil the index', () => {
    expect(() => sent('cohere', { dimensions: 256 })).toThrow(expect.objectContaining({ code: 'unsupported_value', param: 'dimensions' }));
    expect(sent('cohere', { user: 'ann', rest: { truncate: 'END' } })).toMatchObject({
      body: { truncate: 'END' },
      changes: ['user dropped'],
    });
  });

  it.each(['openai', 'azure'])('are asked of %s in the form that the caller wants', (name) => {
    expect(sent(name, { format: 'base64' }).body).toEqual({ encoding_format: 'base64' });
    expect(sent(name, { format: 'float' }).body).toEqual({});
  });

  it('are asked as numbers of servers that may not have base64', () => {
    expect(sent('vllm', { format: 'base64' }).body).toEqual({});
  });

  it.each([
    ['a text that is no vector', '&'],
    ['half a number', Buffer.alloc(6).toString('base64')],
    ['nothing', ''],
  ])('are not taken from %s', (_, embedding) => {
    expect(() => embedderOf('openai').embedder.decode({ body: { data: [{ index: 0, embedding }] }, headers: {} })).toThrow(
      expect.objectContaining({ code: 'upstream_invalid_response' }),
    );
  });

  it.each([
    ['openai', 256],
    ['cohere', 96],
    ['alibaba', 10],
  ])('go to %s in calls of at most %i texts', (name, most) => {
    expect(embedderOf(name).embedder.most).toBe(most);
  });

  it('are unchanged for any other server', () => {
    expect(sent('vllm', { dimensions: 256, user: 'ann', rest: { truncate_prompt_tokens: 9 } })).toEqual({
      path: '/embeddings',
      body: { dimensions: 256, user: 'ann', truncate_prompt_tokens: 9 },
      changes: [],
    });
  });
});
