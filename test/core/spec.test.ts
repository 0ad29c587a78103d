/** The specification, sentence by sentence, in its order, tested on the whole gateway. */
import { describe, expect, it } from 'vitest';
import { oneUpstream, readEvents } from '../_kit/gateway.ts';
import { answers, completion, event, said, streams } from '../_kit/upstream.ts';
import { errorOf, gatewayOf, provider } from './scene.ts';

const can = { streaming: true, tools: true, vision: true, parallelToolCalls: true, cancellation: true };
const prices = { prompt: '0.000001', completion: '0.000002' };
const mapping = (providerId: string, more: object = {}): object => ({ providerId, externalId: `${providerId}-model`, ...can, ...more });

/** Providers `plain`, `thinks`, `budgets` and `original` over one upstream; models that mix them. */
async function house(more: Record<string, unknown> = {}) {
  const up = await provider();
  const dialect = { dialect: 'openai-chat', base_url: up.url, api_key: 'k' };
  const thinks = mapping('thinks', { reasoning: { auto_effort: 'low' } });
  const budgets = mapping('budgets', { reasoning: { max_tokens: true, auto_effort: 'low' } });
  const original = mapping('original', { reasoning: { efforts: ['minimal', 'low', 'medium', 'high'], auto_effort: 'minimal' } });
  const gateway = await gatewayOf({
    providers: { plain: dialect, thinks: dialect, budgets: dialect, original: dialect },
    models: [
      { id: 'root', aliases: ['root-2025'], pricing: prices, providers: [mapping('plain'), thinks, budgets] },
      { id: 'first-of-its-kind', pricing: prices, providers: [original] },
      { id: 'later-kind', pricing: prices, providers: [thinks] },
      { id: 'silent', pricing: prices, providers: [mapping('plain')] },
    ],
    routing: {
      default: { strategy: 'ordered' },
      models: { auto: { candidates: ['first-of-its-kind', 'later-kind'], strategy: 'ordered' } },
    },
    ...more,
  });
  const asked = (): Record<string, any> | undefined => up.asked.at(-1)?.json;
  return { ...gateway, up, asked };
}

describe('What the service does', () => {
  it('1: all providers take one request format and give one response format', async () => {
    const { chat } = await house();
    const shapes = await Promise.all(
      ['plain/root', 'thinks/root', 'budgets/root'].map(async (model) => Object.keys((await (await chat({ model })).json()) as object)),
    );
    expect(new Set(shapes.map(String)).size).toBe(1);
  });

  it('3: reasoning text is returned when the model exposes it', async () => {
    const { chat, up } = await house();
    up.script(answers(completion('4', { reasoning_content: '2 and 2' })));
    expect(await (await chat({ model: 'thinks/root' })).json()).toMatchObject({
      choices: [{ message: { role: 'assistant', content: '4', reasoning: '2 and 2', reasoning_content: '2 and 2' } }],
    });
  });

  it('4: a model may reason unasked', async () => {
    const { chat, up, asked } = await house();
    up.script(answers(completion('4', { reasoning: 'hm' })));
    const body = await (await chat({ model: 'plain/root' })).json();
    expect(body).toMatchObject({ choices: [{ message: { reasoning: 'hm' } }] });
    expect(Object.keys(asked() ?? {})).not.toContain('reasoning_effort');
  });

  it('4: a model may reason and never show it', async () => {
    const { chat, up, records } = await house();
    up.script(
      answers({
        ...completion('4'),
        usage: { prompt_tokens: 10, completion_tokens: 30, total_tokens: 40, completion_tokens_details: { reasoning_tokens: 25 } },
      }),
    );
    const body = (await (await chat({ model: 'thinks/root', reasoning_effort: 'high' })).json()) as {
      choices: { message: object }[];
      usage: object;
    };
    expect(body.choices[0]?.message).not.toHaveProperty('reasoning');
    expect(body.usage).toMatchObject({ reasoning_tokens: 25 });
    expect(records[0]).toMatchObject({ reasoningContent: null, usage: { reasoningTokens: 25 } });
  });

  it('8: a root name lets the service pick the provider', async () => {
    const { chat } = await house();
    expect((await chat({ model: 'root' })).headers.get('x-provider')).toBe('plain');
  });
});

describe('Chat completion request', () => {
  it.each([
    ['root', 'plain', 'plain-model'],
    ['root-2025', 'plain', 'plain-model'],
    ['thinks/root', 'thinks', 'thinks-model'],
    ['budgets/root-2025', 'budgets', 'budgets-model'],
    ['budgets/budgets-model', 'budgets', 'budgets-model'],
    ['auto', 'original', 'original-model'],
  ])('model %s is served by %s', async (model, served, external) => {
    const { chat, asked } = await house();
    expect([(await chat({ model })).headers.get('x-provider'), asked()?.['model']]).toEqual([served, external]);
  });

  it('a named provider is not replaced by another one', async () => {
    const { chat, up } = await house();
    up.script(answers({ error: { message: 'no' } }, { status: 401 }));
    await chat({ model: 'thinks/root' });
    expect(up.asked).toHaveLength(1);
  });

  it('unknown fields go to the provider', async () => {
    const { chat, asked } = await house();
    await chat({ model: 'root', service_tier: 'flex', verbosity: 'low' });
    expect(asked()).toMatchObject({ service_tier: 'flex', verbosity: 'low' });
  });
});

describe('Chat completion response', () => {
  it('has every field', async () => {
    const { chat } = await house();
    expect(await (await chat({ model: 'root' })).json()).toEqual({
      id: expect.stringMatching(/^chatcmpl-/),
      object: 'chat.completion',
      created: expect.any(Number),
      model: 'plain/root',
      provider: 'plain',
      system_fingerprint: null,
      choices: [{ index: 0, message: { role: 'assistant', content: 'hello' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
    });
  });

  it('created is in seconds', async () => {
    const up = await provider();
    const { chat } = await gatewayOf(oneUpstream(up.url), { clock: () => 1_750_000_000_999 });
    expect(await (await chat({})).json()).toMatchObject({ created: 1_750_000_000 });
  });

  it('total_tokens is prompt plus completion, reasoning inside completion', async () => {
    const { chat, up } = await house();
    up.script(
      answers({
        ...completion('4'),
        usage: { prompt_tokens: 10, completion_tokens: 30, total_tokens: 40, completion_tokens_details: { reasoning_tokens: 25 } },
      }),
    );
    expect(await (await chat({ model: 'root' })).json()).toMatchObject({
      usage: { prompt_tokens: 10, completion_tokens: 30, reasoning_tokens: 25, total_tokens: 40 },
    });
  });

  it('finish_reason is completed where the operator wants the unified words', async () => {
    const { chat } = await house({ server: { finish_reason: 'unified' } });
    expect(await (await chat({ model: 'root' })).json()).toMatchObject({ choices: [{ finish_reason: 'completed' }] });
  });

  it('counts that the provider did not give are absent, and estimates in the log alone', async () => {
    const { chat, up, records } = await house();
    up.script(answers({ ...completion('4'), usage: undefined }));
    expect(await (await chat({ model: 'root' })).json()).not.toHaveProperty('usage');
    expect(records[0]).toMatchObject({ usageEstimated: true, usage: { promptTokens: 5, completionTokens: 1, reasoningTokens: null } });
  });
});

describe('Streamed chunk', () => {
  it('has every field, the role in the first, null as finish_reason until the last', async () => {
    const { chat, up } = await house();
    up.script(streams(said('a', 'b')));
    const { events } = await readEvents(await chat({ model: 'root', stream: true }));
    for (const chunk of events) {
      expect(chunk).toMatchObject({
        id: events[0].id,
        object: 'chat.completion.chunk',
        created: expect.any(Number),
        model: 'plain/root',
        choices: [{ index: 0, delta: expect.any(Object) }],
      });
    }
    expect(events.map(({ choices: [choice] }) => [choice.delta.role, choice.finish_reason])).toEqual([
      ['assistant', null],
      [undefined, null],
      [undefined, 'stop'],
    ]);
  });

  it('reasoning comes in delta.reasoning, before the answer', async () => {
    const { chat, up } = await house();
    up.script(
      streams([
        event({ role: 'assistant', reasoning_content: 'let me ' }),
        event({ reasoning_content: 'think' }),
        ...said('done').slice(1),
      ]),
    );
    const { events, reasoning, text } = await readEvents(await chat({ model: 'root', stream: true }));
    const kinds = events.map(({ choices: [{ delta }] }) => ('reasoning' in delta ? 'reasoning' : 'content' in delta ? 'content' : 'end'));
    expect([reasoning, text, kinds]).toEqual(['let me think', 'done', ['reasoning', 'reasoning', 'content', 'end']]);
  });

  it('usage comes with the finish, or in a chunk of its own where the request asks for it', async () => {
    const { chat, up } = await house();
    up.script(streams(said('a')));
    const inline = (await readEvents(await chat({ model: 'root', stream: true }))).events;
    const apart = (await readEvents(await chat({ model: 'root', stream: true, stream_options: { include_usage: true } }))).events;
    expect(inline.at(-1)).toMatchObject({ choices: [{ finish_reason: 'stop' }], usage: { total_tokens: 15 } });
    expect(apart.at(-1)).toMatchObject({ choices: [], usage: { total_tokens: 15 } });
    expect(apart.at(-2)).not.toHaveProperty('usage');
  });
});

describe('Reasoning effort', () => {
  it.each(['none', 'minimal', 'low', 'medium', 'high', 'xhigh'])('%s is sent on, from either field', async (effort) => {
    const { chat, asked } = await house();
    await chat({ model: 'later-kind', reasoning_effort: effort });
    expect(asked()).toMatchObject({ reasoning_effort: effort });
    await chat({ model: 'later-kind', reasoning: { effort } });
    expect(asked()).toMatchObject({ reasoning_effort: effort });
  });

  it.each([
    ['low', 'high'],
    ['low', 'low'],
  ])('rule 1: %s and %s in one request are refused', async (topLevel, effort) => {
    const { chat, up } = await house();
    const response = await chat({ model: 'later-kind', reasoning_effort: topLevel, reasoning: { effort } });
    expect([response.status, await errorOf(response)]).toEqual([
      400,
      {
        message: 'Send either reasoning_effort or reasoning.effort, not both.',
        type: 'invalid_request_error',
        param: 'reasoning_effort',
        code: 'invalid_request',
      },
    ]);
    expect(up.asked).toEqual([]);
  });

  it.each([
    { reasoning_effort: null, reasoning: { effort: 'low' } },
    { reasoning_effort: 'low', reasoning: { effort: null } },
    { reasoning_effort: 'low', reasoning: {} },
    { reasoning_effort: 'low', reasoning: null },
  ])('rule 1: null means the same as an absent field: %o', async (more) => {
    const { chat, asked } = await house();
    expect((await chat({ model: 'later-kind', ...more })).status).toBe(200);
    expect(asked()).toMatchObject({ reasoning_effort: 'low' });
  });

  it.each([{ reasoning_effort: 'high', reasoning: { max_tokens: 5000 } }, { reasoning: { effort: 'high', max_tokens: 5000 } }])(
    'rule 2: max_tokens overrides the effort: %o',
    async (more) => {
      const { chat, records } = await house();
      expect((await chat({ model: 'root', ...more })).status).toBe(200);
      expect(records[0]?.request?.reasoning).toMatchObject({ effort: null, maxTokens: 5000 });
    },
  );

  it('rule 3: unsupported_value of the provider passes unchanged', async () => {
    const { chat, up } = await house();
    const said = {
      message: "Unsupported value: 'minimal'.",
      type: 'invalid_request_error',
      param: 'reasoning_effort',
      code: 'unsupported_value',
    };
    up.script(answers({ error: said }, { status: 400 }));
    const response = await chat({ model: 'later-kind', reasoning_effort: 'minimal' });
    expect([response.status, await errorOf(response)]).toEqual([400, said]);
  });

  it.each([{ reasoning_effort: 'low' }, { reasoning: { effort: 'low' } }])(
    'rule 4: %o for a model that does not reason fails',
    async (more) => {
      const { chat, up } = await house();
      const response = await chat({ model: 'silent', ...more });
      const { message, ...error } = await errorOf(response);
      expect([response.status, error]).toMatchObject([400, { type: 'invalid_request_error', code: 'model_not_supported' }]);
      expect(message).toMatch(/"silent".*[Rr]emove.*reasoning_effort.*reasoning-capable model/s);
      expect(up.asked).toEqual([]);
    },
  );
});

describe('Reasoning token budget', () => {
  it('rule 3: a budget for a model that takes none fails', async () => {
    const { chat } = await house();
    const response = await chat({ model: 'later-kind', reasoning: { max_tokens: 5000 } });
    const { message, ...error } = await errorOf(response);
    expect([response.status, error]).toMatchObject([400, { type: 'invalid_request_error', code: 'model_not_supported' }]);
    expect(message).toMatch(/"later-kind".*Remove the "reasoning" parameter, or use a model that supports explicit budgets/s);
  });

  it('rule 4: a root name goes only to providers that take a budget', async () => {
    const { chat, records } = await house();
    expect((await chat({ model: 'root', reasoning: { max_tokens: 5000 } })).headers.get('x-provider')).toBe('budgets');
    expect(records[0]?.ruledOut.map(({ provider: id, reason }) => [id, reason])).toEqual([
      ['plain', 'takes no reasoning budget'],
      ['thinks', 'takes no reasoning budget'],
    ]);
  });

  it('rule 4: no fallback goes to a provider that takes no budget', async () => {
    const { chat, up } = await house();
    up.script(answers({ error: { message: 'no' } }, { status: 401 }));
    expect((await chat({ model: 'root', reasoning: { max_tokens: 5000 } })).status).toBe(502);
    expect(up.asked).toHaveLength(1);
  });
});

describe('Auto-routing and reasoning', () => {
  it.each([
    ['1', 'first-of-its-kind', 'minimal'],
    ['2', 'later-kind', 'low'],
  ])('rule %s: the root name %s gets the effort %s', async (_, model, effort) => {
    const { chat, asked } = await house();
    await chat({ model });
    expect(asked()).toMatchObject({ reasoning_effort: effort });
  });

  it('a request with a setting for reasoning keeps it', async () => {
    const { chat, asked } = await house();
    await chat({ model: 'first-of-its-kind', reasoning_effort: 'high' });
    expect(asked()).toMatchObject({ reasoning_effort: 'high' });
  });

  it.each(['original/first-of-its-kind', 'root-2025'])('%s is not auto-routed', async (model) => {
    const { chat, asked } = await house();
    await chat({ model });
    expect(asked()).not.toHaveProperty('reasoning_effort');
  });

  it('each candidate gets its own effort, the fallback too', async () => {
    const { chat, up } = await house();
    up.script(answers({ error: { message: 'no' } }, { status: 500 }), answers(completion('ok')));
    await chat({ model: 'auto' });
    expect(up.asked.map(({ json }) => [json['model'], json['reasoning_effort']])).toEqual([
      ['original-model', 'minimal'],
      ['thinks-model', 'low'],
    ]);
  });

  it.each([{ reasoning_effort: 'medium' }, { reasoning: { effort: 'medium' } }])(
    'rule 3: with %o only providers that reason are considered',
    async (more) => {
      const { chat } = await house();
      expect((await chat({ model: 'root', ...more })).headers.get('x-provider')).toBe('thinks');
    },
  );
});

describe('Streaming', () => {
  it('1: every line begins with data:', async () => {
    const { chat, up } = await house();
    up.script(streams(said('a', 'b')));
    const response = await chat({ model: 'root', stream: true });
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    for (const line of (await response.text()).split('\n').filter((text) => text !== '')) expect(line).toMatch(/^data: (\{.*\}|\[DONE\])$/);
  });

  it('3: the record has the full reasoning text, its count, and the times', async () => {
    const { chat, up, records } = await house();
    const counted = `data: ${JSON.stringify({ id: 'up-1', choices: [], usage: { prompt_tokens: 10, completion_tokens: 30, total_tokens: 40, completion_tokens_details: { reasoning_tokens: 25 } } })}\n\n`;
    up.script(
      streams(
        [
          event({ reasoning_content: 'let me ' }),
          event({ reasoning_content: 'think' }),
          event({ content: '4' }),
          event({}, 'stop'),
          counted,
          'data: [DONE]\n\n',
        ],
        { everyMs: 3 },
      ),
    );
    await (await chat({ model: 'later-kind', stream: true })).text();
    expect(records[0]).toMatchObject({
      reasoningContent: 'let me think',
      usage: { reasoningTokens: 25, completionTokens: 30 },
      timeToFirstTokenMs: expect.any(Number),
      durationMs: expect.any(Number),
      tokensPerSecond: expect.any(Number),
    });
  });
});

describe('Metadata headers', () => {
  it('1: every X-Gateway- header is stored, in lower case', async () => {
    const { chat, records } = await house();
    await chat(
      { model: 'root' },
      {
        'X-Gateway-Country': 'DE',
        'X-Gateway-User-ID': 'u1',
        'X-Gateway-Tenant-ID': 't1',
        'X-Gateway-App-Version': '1.2',
        'X-Gateway-Feature': 'search',
        'X-Other': 'no',
      },
    );
    expect({ ...records[0]?.metadata }).toEqual({
      country: 'DE',
      'user-id': 'u1',
      'tenant-id': 't1',
      'app-version': '1.2',
      feature: 'search',
    });
  });

  it('1: metadata headers do not go to the provider', async () => {
    const { chat, up } = await house();
    await chat({ model: 'root' }, { 'X-Gateway-Tenant-ID': 't1' });
    expect(Object.keys(up.asked[0]?.headers ?? {}).filter((name) => name.startsWith('x-'))).toEqual([]);
  });

  it('1: metadata is stored with requests that fail too', async () => {
    const { chat, records } = await house();
    await chat({ model: 'nothing' }, { 'X-Gateway-Tenant-ID': 't1' });
    expect({ ...records[0]?.metadata }).toEqual({ 'tenant-id': 't1' });
  });

  it('the control headers of replies never use the prefix', async () => {
    const { chat } = await house();
    expect([...(await chat({ model: 'root' })).headers.keys()].filter((name) => name.startsWith('x-gateway-'))).toEqual([]);
  });
});

describe('Authentication', () => {
  it('1: chat requests carry a bearer key', async () => {
    const { chat } = await house({ keys: [{ name: 'team', key: 'the-only-key-1234' }] });
    expect([
      (await chat({ model: 'root' })).status,
      (await chat({ model: 'root' }, { authorization: 'Bearer the-only-key-1234' })).status,
    ]).toEqual([401, 200]);
  });

  it('2: the health check and the list need no key', async () => {
    const { get } = await house({ keys: [{ name: 'team', key: 'the-only-key-1234' }] });
    expect([(await get('/')).status, (await get('/v1/models')).status]).toEqual([200, 200]);
  });
});

describe('Errors', () => {
  it('have one shape everywhere', async () => {
    const { post, get, chat } = await house();
    const replies = [
      await post('{'),
      await get('/nowhere'),
      await get('/v1/models/none'),
      await chat({ model: 'none' }),
      await post({}, { path: '/v1/models' }),
    ];
    for (const reply of replies) {
      const { error } = (await reply.json()) as { error: object };
      expect([reply.headers.get('content-type'), Object.keys(error)]).toEqual(['application/json', ['message', 'type', 'param', 'code']]);
      expect(reply.headers.get('x-request-id')).toMatch(/^[\da-f-]{36}$/);
    }
  });
});
