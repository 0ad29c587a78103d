/** The mock and real providers in one config. */
import { describe, expect, it } from 'vitest';
import { answers } from '../../_kit/upstream.ts';
import { contentOf, errorOf, gatewayOf, provider } from '../../core/scene.ts';

const configOf = (providers: object, order: readonly string[]): Record<string, unknown> => ({
  providers: { mock: { dialect: 'mock' }, ...providers },
  models: [
    { id: 'mixed', free: true, providers: order.map((providerId) => ({ providerId })) },
    { id: 'mock', free: true, providers: [{ providerId: 'mock' }] },
  ],
  routing: { default: { strategy: 'ordered', retry: { same_target: 0 } } },
});

describe('the mock', () => {
  it('does not replace a real provider that is down', async () => {
    const down = await provider(answers({ error: { message: 'down' } }, { status: 503 }));
    const gateway = await gatewayOf(configOf({ real: { dialect: 'openai-chat', base_url: down.url, api_key: 'k' } }, ['real', 'mock']));
    expect((await errorOf(await gateway.chat({ model: 'mixed' }))).code).toBe('upstream_unavailable');
    expect(gateway.records[0]?.attempts.map(({ provider: id }) => id)).toEqual(['real']);
  });

  it('answers for models of its own beside a real provider', async () => {
    const up = await provider();
    const gateway = await gatewayOf(configOf({ real: { dialect: 'openai-chat', base_url: up.url, api_key: 'k' } }, ['real']));
    expect(await contentOf(await gateway.chat({ model: 'mock', messages: [{ role: 'user', content: 'echo' }] }))).toContain('echo');
  });

  it('answers for mixed models only if no real provider is on', async () => {
    const gateway = await gatewayOf(
      configOf({ real: { dialect: 'openai-chat', base_url: 'http://127.0.0.1:1', api_key: '${NEVER_SET_IN_TESTS}' } }, ['real', 'mock']),
    );
    expect((await gateway.chat({ model: 'mixed' })).status).toBe(200);
  });

  it.each([
    [
      '/v1/messages',
      { max_tokens: 100, messages: [{ role: 'user', content: 'hi' }], tools: [{ type: 'web_search_20250305', name: 'web_search' }] },
    ],
    ['/v1/responses', { input: 'hi', tools: [{ type: 'web_search' }] }],
  ])('accepts parameters that others refuse or drop, as its page says: %s', async (path, body) => {
    const able = { models: [{ id: 'mock', free: true, providers: [{ providerId: 'mock', tools: true }] }] };
    const gateway = await gatewayOf({ ...configOf({}, ['mock']), ...able });
    const reply = await gateway.post({ model: 'mock', ...body }, { path });
    expect([reply.status, reply.headers.get('x-adjusted')]).toEqual([200, null]);
  });
});
