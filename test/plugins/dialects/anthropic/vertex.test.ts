/** Claude on Vertex AI: the model and the operation are in the path, and the version is in the body. */
import { describe, expect, it } from 'vitest';
import type { ChatRequest } from '../../../../core/chat.ts';
import type { Dialect } from '../../../../core/wire/dialect.ts';
import plugin from '../../../../plugins/dialects/anthropic/index.ts';
import { requestOf, targetOf } from '../../../contract/dialect.ts';

const dialect = plugin.dialects?.[0] as Dialect;
const models = '/projects/p1/locations/europe-west1/publishers/anthropic/models';

const wireOf = (said: Partial<ChatRequest>): { readonly path: string; readonly headers: Record<string, string>; readonly body: Record<string, unknown> } => {
  const target = targetOf('vertex', { externalId: 'claude-sonnet-4-5@20250929', provider: { settings: { project: 'p1', location: 'europe-west1' } } });
  const { path, headers, body } = dialect.encode(requestOf(said), target);
  return { path, headers, body: JSON.parse(body) as Record<string, unknown> };
};
const answered = { anthropic_version: 'vertex-2023-10-16', max_tokens: 64_000, messages: [{ role: 'user', content: [{ type: 'text', text: 'Hello' }] }] };

describe('Claude on Vertex AI', () => {
  it('is asked for a whole answer at rawPredict, without a model in the body', () => {
    expect(wireOf({})).toEqual({ path: `${models}/claude-sonnet-4-5@20250929:rawPredict`, headers: { 'content-type': 'application/json' }, body: answered });
  });

  it('is asked for a stream at streamRawPredict', () => {
    expect(wireOf({ stream: true })).toMatchObject({ path: `${models}/claude-sonnet-4-5@20250929:streamRawPredict`, body: { ...answered, stream: true } });
  });

  it('counts tokens at a separate path, with the model in the body', () => {
    const { path, body } = wireOf({ ask: { kind: 'count' } });
    expect(path).toBe(`${models}/count-tokens:rawPredict`);
    expect(body).toEqual({ model: 'claude-sonnet-4-5@20250929', messages: answered.messages });
  });

  it('gets the betas in a header', () => {
    const file = { messages: [{ role: 'user' as const, content: [{ type: 'file', file: { file_id: 'file_1' } }] }] };
    expect(wireOf(file).headers).toEqual({ 'content-type': 'application/json', 'anthropic-beta': 'files-api-2025-04-14' });
  });
});
