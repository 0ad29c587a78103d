/**
 * The cost of an answer that its provider ends with an error: the provider
 * counted its tokens, and bills them. Over real sockets, plain and streamed.
 */
import { describe, expect, it } from 'vitest';
import { answers, completion, streams } from '../../_kit/upstream.ts';
import type { Step } from '../../_kit/upstream.ts';
import { gatewayOf, provider } from '../../core/scene.ts';
import { frameOf } from './bedrock/frame.ts';

const whole = answers({ ...completion('whole'), usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } });
const sse = (...events: readonly object[]): Step =>
  streams(events.map((event) => `${'type' in event ? `event: ${String(event.type)}\n` : ''}data: ${JSON.stringify(event)}\n\n`));
const frames = (...events: readonly [name: string, payload: object][]): Step =>
  streams(
    events.map(([name, payload]) =>
      frameOf({ ':message-type': 'event', ':event-type': name, ':content-type': 'application/json' }, JSON.stringify(payload)),
    ),
    { type: 'application/vnd.amazon.eventstream' },
  );

const chat = {
  id: 'c',
  object: 'chat.completion',
  choices: [{ index: 0, message: { role: 'assistant', content: 'half' }, delta: { content: 'half' }, finish_reason: 'error' }],
  usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
};
const gemini = {
  candidates: [{ content: { parts: [{ text: '' }], role: 'model' }, finishReason: 'MALFORMED_FUNCTION_CALL', index: 0 }],
  usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 },
};
const response = {
  id: 'r',
  object: 'response',
  status: 'failed',
  error: { code: 'server_error', message: 'It broke.' },
  output: [],
  usage: { input_tokens: 10, output_tokens: 5, total_tokens: 15 },
};
const converse = {
  output: { message: { role: 'assistant', content: [{ text: 'half' }] } },
  stopReason: 'malformed_tool_use',
  usage: { inputTokens: 10, outputTokens: 5, totalTokens: 15 },
};

const cases: readonly (readonly [dialect: string, plain: Step, streamed: Step])[] = [
  ['openai-chat', answers(chat), sse({ ...chat, object: 'chat.completion.chunk' })],
  ['gemini', answers(gemini), sse(gemini)],
  ['openai-responses', answers(response), sse({ type: 'response.failed', response })],
  [
    'bedrock',
    answers(converse),
    frames(
      ['messageStart', { role: 'assistant' }],
      ['messageStop', { stopReason: 'malformed_tool_use' }],
      ['metadata', { usage: converse.usage }],
    ),
  ],
];

const scene = async (dialect: string, step: Step) =>
  await gatewayOf({
    providers: {
      faulty: { dialect, base_url: (await provider(step)).url, api_key: 'k' },
      other: { dialect: 'openai-chat', base_url: (await provider(whole)).url, api_key: 'k' },
    },
    models: [
      {
        id: 'plain',
        pricing: { prompt: '1', completion: '2' },
        providers: [
          { providerId: 'faulty', streaming: true },
          { providerId: 'other', streaming: false },
        ],
      },
    ],
    routing: { default: { strategy: 'ordered', retry: { same_target: 0 } } },
  });

describe.each(cases)('an answer of %s that ends with an error', (dialect, plain, streamed) => {
  it('costs the tokens that its provider counted, in addition to the later answer', async () => {
    const gateway = await scene(dialect, plain);
    const reply = await gateway.chat({ model: 'plain' });
    expect([reply.status, reply.headers.get('x-provider')]).toEqual([200, 'other']);
    expect(gateway.records[0]).toMatchObject({
      cost: '23',
      costIsUpperBound: false,
      attempts: [{ provider: 'faulty' }, { provider: 'other', outcome: 'answered' }],
    });
  });

  it('costs the tokens that its provider counted, also streamed', async () => {
    const gateway = await scene(dialect, streamed);
    const reply = await gateway.chat({ model: 'plain', stream: true });
    await reply.text();
    expect(gateway.records[0]).toMatchObject({ cost: expect.stringMatching(/^2[03]$/) as string, costIsUpperBound: false });
  });
});

it.each<readonly [string, string, object]>([
  ['without candidates', 'gemini', { ...gemini, candidates: [] }],
  ['whose candidate is empty', 'gemini', { ...gemini, candidates: [{ content: { role: 'model' }, index: 0 }] }],
])('an answer %s of %s costs the tokens that its provider counted', async (_, dialect, body) => {
  const gateway = await scene(dialect, answers(body));
  await gateway.chat({ model: 'plain' });
  expect(gateway.records[0]).toMatchObject({ cost: '23', attempts: [{ provider: 'faulty' }, { provider: 'other', outcome: 'answered' }] });
});

it('a stream of chat completions costs the tokens that its provider counted in an event after the error', async () => {
  const { usage, ...last } = chat;
  const gateway = await scene(
    'openai-chat',
    sse({ ...last, object: 'chat.completion.chunk' }, { ...last, object: 'chat.completion.chunk', choices: [], usage }),
  );
  const reply = await gateway.chat({ model: 'plain', stream: true });
  await reply.text();
  expect(gateway.records[0]).toMatchObject({ cost: '20', costIsUpperBound: false });
});

describe('an error beside the choices of an answer', () => {
  const error = { code: 502, message: 'Provider disconnected' };

  it('costs the tokens that its provider counted in a whole body', async () => {
    const gateway = await scene('openai-chat', answers({ ...chat, error }));
    const reply = await gateway.chat({ model: 'plain' });
    expect([reply.status, reply.headers.get('x-provider')]).toEqual([200, 'other']);
    expect(gateway.records[0]).toMatchObject({ cost: '23', costIsUpperBound: false });
  });

  const { usage, ...last } = { ...chat, object: 'chat.completion.chunk', error };
  it.each<readonly [string, readonly object[]]>([
    ['in its event', [{ ...last, usage }]],
    ['in an event behind it', [last, { object: 'chat.completion.chunk', choices: [], usage }]],
  ])('costs the tokens that its provider counted %s', async (_, events) => {
    const gateway = await scene('openai-chat', sse(...events));
    const reply = await gateway.chat({ model: 'plain', stream: true });
    expect(await reply.text()).toContain('Provider disconnected');
    expect(gateway.records[0]).toMatchObject({ cost: '20', costIsUpperBound: false, attempts: [{ outcome: 'upstream_error' }] });
  });
});

describe('an error in place of the choices of an answer', () => {
  const error = { code: 502, message: 'Provider disconnected' };
  const { usage } = chat;

  it('costs the tokens that its provider counted in a whole body', async () => {
    const gateway = await scene('openai-chat', answers({ error, usage }));
    expect((await gateway.chat({ model: 'plain' })).headers.get('x-provider')).toBe('other');
    expect(gateway.records[0]).toMatchObject({ cost: '23', costIsUpperBound: false });
  });

  it('costs the tokens that its provider counted in an event', async () => {
    const gateway = await scene(
      'openai-chat',
      sse({ object: 'chat.completion.chunk', choices: [{ index: 0, delta: { content: 'half' } }] }, { error, usage }),
    );
    expect(await (await gateway.chat({ model: 'plain', stream: true })).text()).toContain('Provider disconnected');
    expect(gateway.records[0]).toMatchObject({ cost: '20', usageEstimated: false, attempts: [{ outcome: 'upstream_error' }] });
  });
});

const { usage: _, ...uncounted } = chat;
const open = { end: 'hang' } as const;
it.each<readonly [string, Step]>([
  ['openai-chat', streams([`data: ${JSON.stringify(uncounted)}\n\n`], open)],
  ['gemini', streams([`data: ${JSON.stringify(gemini)}\n\n`], open)],
  [
    'bedrock',
    streams(
      [
        ['messageStart', { role: 'assistant' }],
        ['messageStop', { stopReason: 'malformed_tool_use' }],
      ].map(([name, payload]) =>
        frameOf({ ':message-type': 'event', ':event-type': name as string, ':content-type': 'application/json' }, JSON.stringify(payload)),
      ),
      { ...open, type: 'application/vnd.amazon.eventstream' },
    ),
  ],
])('a stream of %s that ends with an error ends soon, also where its connection stays open and no counts come', async (dialect, step) => {
  const gateway = await scene(dialect, step);
  await (await gateway.chat({ model: 'plain', stream: true })).text();
  expect(gateway.records[0]?.attempts[0]).toMatchObject({ provider: 'faulty', outcome: 'upstream_error' });
});
