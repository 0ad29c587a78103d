/** POST /v1/messages/count_tokens. */
import { describe, expect, it } from 'vitest';
import { answers, completion, hangs, streams } from '../../../_kit/upstream.ts';
import { gatewayOf, provider } from '../../../core/scene.ts';
import { type Fields, message, scene } from './scene.ts';

const path = '/v1/messages/count_tokens';
const events = [
  { type: 'message_start', message: message([]) },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'Yes.' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 3 } },
  { type: 'message_stop' },
].map((data) => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`);

describe('a count of tokens', () => {
  it('is that of a provider that counts, and costs nothing', async () => {
    const { ask, gateway } = await scene(answers({ input_tokens: 77, context_management: { original_input_tokens: 90 } }));
    const { body, asked, sent, headers } = await ask(
      {
        model: 'claude',
        system: 'Be terse.',
        tools: [{ name: 'f', input_schema: { type: 'object' } }],
        thinking: { type: 'enabled', budget_tokens: 2048 },
        max_tokens: 9000,
        temperature: 1,
        metadata: { user_id: 'u' },
        stop_sequences: ['x'],
        stream: true,
      },
      { 'anthropic-beta': 'b1' },
      path,
    );
    expect(body).toEqual({ input_tokens: 77, context_management: { original_input_tokens: 90 } });
    expect(headers.get('x-estimated')).toBeNull();
    expect([asked.url, asked.headers['anthropic-beta']]).toEqual(['/v1/messages/count_tokens', 'b1']);
    expect(sent).toEqual({
      model: 'claude-sonnet-4-5',
      system: [{ type: 'text', text: 'Be terse.' }],
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }],
      tools: [{ name: 'f', input_schema: { type: 'object' } }],
      thinking: { type: 'enabled', budget_tokens: 2048 },
    });
    await expect
      .poll(() => gateway.records.at(-1))
      .toMatchObject({ path, provider: 'vendor', cost: '0', usage: { promptTokens: 0, completionTokens: 0 } });
  });

  it.each([
    ['has a price for each request', { prompt: '0', completion: '0', request: '0.3' }],
    ['has an unknown price', 'unknown'],
  ])('uses no budget where the model %s, and a dry run says so', async (_, pricing) => {
    const up = await provider(answers({ input_tokens: 77 }));
    const gateway = await gatewayOf({
      providers: { vendor: { dialect: 'anthropic', base_url: up.url, api_key: 'k' } },
      models: [{ id: 'claude', pricing, providers: [{ providerId: 'vendor' }] }],
      limits: [{ by: 'all', budget: { dollars: '0.01', per: 'day', unknown: 'refuse' } }],
    });
    const asked = { model: 'claude', messages: [{ role: 'user', content: 'Hi' }] };
    // first the count of the provider, then the estimate of the gateway
    expect(await (await gateway.post(asked, { path, headers: { 'x-dry-run': 'true' } })).json()).toMatchObject({
      candidates: [{ estimatedCost: '0' }, { estimatedCost: '0' }],
    });
    expect(await (await gateway.post(asked, { path })).json()).toEqual({ input_tokens: 77 });
    expect((await gateway.post({ ...asked, max_tokens: 5 }, { path: '/v1/messages' })).status).toBe(402);
  });

  it('is estimated for other providers without a request, also while the target rests, and the reply says so', async () => {
    const { ask, gateway, up } = await scene(answers({ error: { message: 'wrong key' } }, { status: 401 }));
    for (const _ of [1, 2]) expect((await ask({ model: 'open' })).status).not.toBe(200);
    // an estimate is not cached
    const on = { 'x-cache': 'on' };
    const count = async (...content: Fields[]): Promise<number> => {
      const { body, headers } = await ask({ model: 'open', messages: [{ role: 'user', content }] }, on, path);
      expect(headers.get('x-estimated')).toBe('true');
      return body['input_tokens'] as number;
    };
    const text = { type: 'text', text: 'Hi there. '.repeat(50) };
    const few = await count(text);
    expect(few).toBeGreaterThan(50);
    expect(await count(text)).toBe(few);
    expect(await count(text, text)).toBeGreaterThan(few + 50);
    expect(await count(text, { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } })).toBe(few + 1600);
    expect(
      await count(text, { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'A'.repeat(33_000) } }),
    ).toBeGreaterThan(few + 1000);
    expect(up.asked).toHaveLength(1);
    // no provider was asked, so there is no attempt
    await expect.poll(() => gateway.records).toHaveLength(7);
    for (const record of gateway.records.slice(2)) {
      expect(record).toMatchObject({ model: 'open', provider: 'other', cost: '0', attempts: [] });
    }
  });

  it.each([404, 405, 503])('is estimated where the provider has the same format and answers %i', async (status) => {
    const { ask, gateway, up } = await scene(
      answers({ type: 'error', error: { type: 'not_found_error', message: 'no such path' } }, { status }),
    );
    const { body, headers } = await ask({ model: 'claude', messages: [{ role: 'user', content: 'Hi there. '.repeat(50) }] }, {}, path);
    expect(body['input_tokens']).toBeGreaterThan(50);
    expect(headers.get('x-estimated')).toBe('true');
    expect(up.asked).toHaveLength(1);
    await expect.poll(() => gateway.records.at(-1)).toMatchObject({ path, status: 200, cost: '0', attempts: [{ status }] });
  });

  it.each([
    ['a message', answers(message([{ type: 'text', text: 'Yes.' }]))],
    [
      'a message with fields that only this API has',
      answers(message([{ type: 'text', text: 'Yes.' }], { usage: { input_tokens: 5, output_tokens: 3, service_tier: 'standard' } })),
    ],
    ['a stream of a message', streams(events)],
  ])('is estimated where the provider answers each path with %s, which is no count', async (_, step) => {
    const { ask, gateway, up } = await scene(step);
    const { body, headers } = await ask({ model: 'claude', messages: [{ role: 'user', content: 'Hi there. '.repeat(50) }] }, {}, path);
    expect(body['input_tokens']).toBeGreaterThan(50);
    expect(headers.get('x-estimated')).toBe('true');
    expect(up.asked).toHaveLength(1);
    await expect
      .poll(() => gateway.records.at(-1))
      .toMatchObject({
        path,
        status: 200,
        cost: '0',
        usage: { promptTokens: 0, completionTokens: 0 },
        attempts: [{ outcome: 'answered' }],
      });
  });

  it('is asked of the available targets, and estimated after the last call that the policy allows', async () => {
    const tools = [{ name: 'f', input_schema: { type: 'object' } }];
    const { ask, up } = await scene(answers({ input_tokens: 77 }), answers({}, { status: 503 }));
    const { body, sent } = await ask({ model: 'several', tools }, {}, path);
    expect([body['input_tokens'], sent['model']]).toEqual([77, 'claude-3']);
    expect((await ask({ model: 'several', tools }, {}, path)).headers.get('x-estimated')).toBe('true');
    expect(up.asked.map(({ json }) => json['model'])).toEqual(['claude-3', 'claude-3', 'claude-4']);
  });

  it.each([
    ['has refused the key', 401, {}],
    ['is out of money', 402, {}],
    ['limits the rate', 429, { 'retry-after': '60' }],
  ])('is estimated while the target rests because its provider %s', async (_, status, headers) => {
    const { ask, up } = await scene(answers({ type: 'error', error: { type: 'error', message: 'no' } }, { status, headers }));
    await ask({ model: 'claude' });
    const { body, headers: replied } = await ask({ model: 'claude' }, {}, path);
    expect([body['input_tokens'] > 0, replied.get('x-estimated'), up.asked.length]).toEqual([true, 'true', 1]);
  });

  const asked = { model: 'claude', messages: [{ role: 'user', content: 'Hi' }] };
  const counting = (url: string, more: object = {}): object => ({ dialect: 'anthropic', base_url: url, api_key: 'k', ...more });
  const limited = answers({}, { status: 429, headers: { 'retry-after': '60' } });

  it.each([
    ['another key of its provider', ['k1', 'k2'], {}],
    ['a target that rests and a fallback', 'k', { claude: { fallbacks: ['more'] } }],
  ])('is estimated as the last call that the policy allows, also beside %s', async (_, key, models) => {
    const [first, second] = [await provider(limited), await provider(answers({}, { status: 503 }))];
    const gateway = await gatewayOf({
      providers: { first: counting(first.url), second: counting(second.url, { api_key: key }), third: counting(second.url) },
      models: [
        { id: 'claude', free: true, providers: ['first', 'second', 'third'].map((providerId) => ({ providerId })) },
        { id: 'more', free: true, providers: [{ providerId: 'third' }] },
      ],
      routing: { default: { strategy: 'ordered', max_attempts: 2, retry: { same_target: 0 } }, models },
    });
    await gateway.post({ ...asked, max_tokens: 5 }, { path: '/v1/messages' });
    const before = second.asked.length;
    const reply = await gateway.post(asked, { path });
    expect([reply.status, reply.headers.get('x-estimated'), second.asked.length - before]).toEqual([200, 'true', 1]);
  });

  it('is asked of a target that was outrun before, and not estimated before that', async () => {
    const yes = answers(message([{ type: 'text', text: 'Yes.' }]));
    const [slow, quick] = [await provider(hangs, answers({ input_tokens: 77 })), await provider(yes, limited)];
    const breaker = { failures: 1, rest_ms: 60_000 };
    const gateway = await gatewayOf({
      providers: { slow: counting(slow.url, { breaker }), quick: counting(quick.url, { breaker }) },
      models: [{ id: 'claude', free: true, providers: [{ providerId: 'slow' }, { providerId: 'quick' }] }],
      routing: { default: { strategy: 'ordered', hedge_ms: 300, retry: { same_target: 0 } } },
    });
    await gateway.post({ ...asked, max_tokens: 5 }, { path: '/v1/messages' });
    expect(await (await gateway.post(asked, { path })).json()).toEqual({ input_tokens: 77 });
    expect([slow.asked.length, quick.asked.length]).toEqual([2, 2]);
  });

  it('is estimated where the limit of the provider has no room', async () => {
    const up = await provider(answers({ input_tokens: 77 }));
    const gateway = await gatewayOf({
      providers: { vendor: counting(up.url) },
      models: [{ id: 'claude', free: true, providers: [{ providerId: 'vendor' }] }],
      limits: [{ by: 'provider', requests_per_minute: 1 }],
    });
    const replies = [await gateway.post(asked, { path }), await gateway.post(asked, { path })];
    expect(replies.map(({ status, headers }) => [status, headers.get('x-estimated')])).toEqual([
      [200, null],
      [200, 'true'],
    ]);
    expect(up.asked).toHaveLength(1);
  });

  it('marks no answers as estimates, and has the request id in the header that the SDKs read', async () => {
    const { ask } = await scene(answers(completion('Yes.')));
    const { headers } = await ask({ model: 'open' });
    expect([headers.get('x-estimated'), headers.get('request-id')]).toEqual([null, headers.get('x-request-id')]);
  });

  it('fails with errors in the form of the API', async () => {
    const { ask } = await scene(answers({ type: 'error', error: { type: 'invalid_request_error', message: 'wrong' } }, { status: 400 }));
    expect(await ask({ model: 'none' }, {}, path)).toMatchObject({
      status: 404,
      body: { type: 'error', error: { type: 'not_found_error' } },
    });
    expect(await ask({ model: 'claude' }, {}, '/messages/count_tokens')).toMatchObject({
      status: 400,
      body: { error: { type: 'invalid_request_error', message: expect.stringContaining('wrong') } },
    });
  });
});
