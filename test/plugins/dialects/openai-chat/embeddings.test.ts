/** Embeddings at the vendors of the chat completions API: what each is sent. */
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

function sent(name: string, said: Partial<ChatRequest> & { readonly dimensions?: number }, settings: Settings = {}): { readonly path: string; readonly body: Record<string, unknown>; readonly changes: string[] } {
  const { embedder, target } = embedderOf(name, settings);
  const { dimensions = null, ...others } = said;
  const ask: EmbeddingAsk = { kind: 'embeddings', inputs: ['a text'], dimensions, format: 'float' };
  const { path, body, adjustments } = embedder.encode(ask.inputs, { ...requestOf(others), ask }, target);
  const { model: _, input: __, ...fields } = JSON.parse(body) as Record<string, unknown>;
  return { path, body: fields, changes: adjustments.map(({ parameter, change }) => `${parameter} ${change}`) };
}

describe('embeddings', () => {
  it('name the version of the API to Azure, which answers 404 without it', () => {
    expect(sent('azure', {}, { api_version: '2024-10-21' }).path).toBe('/embeddings?api-version=2024-10-21');
    expect(sent('azure', {}).path).toBe('/embeddings');
  });
});
