/** Claude on Vertex AI: the model and the operation are in the path, and the version is in the body. */
import { describe, expect, it } from 'vitest';
import type { ChatRequest } from '../../../../core/chat.ts';
import type { Dialect } from '../../../../core/wire/dialect.ts';
import plugin from '../../../../plugins/dialects/anthropic/index.ts';
import { requestOf, targetOf } from '../../../contract/dialect.ts';

const dialect = plugin.dialects?.[0] as Dialect;
const models = '/projects/p1/locations/europe-west1/publishers/anthropic/models';

const wireOf = (
  said: Partial<ChatRequest>,
): { readonly path: string; readonly headers: Record<string, string>; readonly body: Record<string, unknown> } => {
  const target = targetOf('vertex', {
    externalId: 'claude-sonnet-4-5@20250929',
    provider: { settings: { project: 'p1', location: 'europe-west1' } },
  });
  const { path, headers, body } = dialect.encode(requestOf(said), target);
  return { path, headers, body: JSON.parse(body) as Record<string, unknown> };
};
const answered = {
  anthropic_version: 'vertex-2023-10-16',
  max_tokens: 64_000,
  messages: [{ role: 'user', content: [{ type: 'text', text: 'Hello' }] }],
};

describe('Claude on Vertex AI', () => {
  it('is asked for a whole answer at rawPredict, without a model in the body', () => {
    expect(wireOf({})).toEqual({
      path: `${models}/claude-sonnet-4-5@20250929:rawPredict`,
      headers: { 'content-type': 'application/json' },
      body: answered,
    });
  });

  it('is asked for a stream at streamRawPredict', () => {
    expect(wireOf({ stream: true })).toMatchObject({
      path: `${models}/claude-sonnet-4-5@20250929:streamRawPredict`,
      body: { ...answered, stream: true },
    });
  });

  it('counts tokens at a separate path, with the model in the body', () => {
    const { path, body } = wireOf({ ask: { kind: 'count' } });
    expect(path).toBe(`${models}/count-tokens:rawPredict`);
    expect(body).toEqual({ model: 'claude-sonnet-4-5@20250929', messages: answered.messages });
  });

  it('gets only the betas that it knows, and the reply names the others', () => {
    const target = targetOf('vertex', {
      externalId: 'claude-sonnet-4-5@20250929',
      provider: { settings: { project: 'p1', location: 'europe-west1' } },
    });
    const anthropic_beta = [
      'claude-code-20250219',
      'context-management-2025-06-27',
      'prompt-caching-scope-2026-01-05',
      'advanced-tool-use-2025-11-20',
    ];
    const { headers, adjustments } = dialect.encode({ ...requestOf(), form: 'messages', native: { fields: { anthropic_beta } } }, target);
    expect(headers['anthropic-beta']).toBe('context-management-2025-06-27,tool-search-tool-2025-10-19');
    expect(adjustments).toEqual(
      ['claude-code-20250219', 'prompt-caching-scope-2026-01-05'].map((beta) => ({
        parameter: 'anthropic-beta',
        change: `${beta} dropped`,
      })),
    );
  });

  it('gets cache breakpoints without a scope, whose beta it does not know', () => {
    const target = targetOf('vertex', { provider: { settings: { project: 'p1', location: 'europe-west1' } } });
    const cache_control = { type: 'ephemeral', ttl: '1h', scope: 'global' };
    const { body, adjustments } = dialect.encode(
      requestOf({ messages: [{ role: 'user', content: [{ type: 'text', text: 'Hello', cache_control }] }] }),
      target,
    );
    expect(JSON.parse(body)).toMatchObject({
      messages: [{ content: [{ type: 'text', text: 'Hello', cache_control: { type: 'ephemeral', ttl: '1h' } }] }],
    });
    expect(body).not.toContain('scope');
    expect(adjustments).toEqual([{ parameter: 'cache_control.scope', change: 'dropped' }]);
  });

  it('gets the betas in a header', () => {
    const file = { messages: [{ role: 'user' as const, content: [{ type: 'file', file: { file_id: 'file_1' } }] }] };
    expect(wireOf(file).headers).toEqual({ 'content-type': 'application/json', 'anthropic-beta': 'files-api-2025-04-14' });
  });
});
