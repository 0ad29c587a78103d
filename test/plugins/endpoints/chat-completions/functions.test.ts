/** The older form of tools, `functions`: requests and answers have the old form, and every provider gets tools. */
import OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { oneUpstream, readEvents } from '../../../_kit/gateway.ts';
import { answers, calling, completion, event, streams } from '../../../_kit/upstream.ts';
import { errorOf, gatewayOf, provider } from '../../../core/scene.ts';

const weather = { name: 'weather', description: 'Now.', parameters: { type: 'object', properties: { city: { type: 'string' } } } };
const call = { id: 'c1', type: 'function', function: { name: 'weather', arguments: '{"city":"Rome"}' } };
const user = { role: 'user', content: 'Rome?' };
const conversation = [
  user,
  { role: 'assistant', content: null, function_call: call.function },
  { role: 'function', name: 'weather', content: 'sun' },
];

async function scene(...steps: Parameters<typeof provider>) {
  const up = await provider(...steps);
  const gateway = await gatewayOf(oneUpstream(up.url));
  return { ...gateway, up };
}

describe('functions', () => {
  it('are sent as tools, and one call comes back in the old form', async () => {
    const { chat, up, records } = await scene(answers(calling(call, { ...call, id: 'c2' })));
    const response = await chat({ functions: [weather], function_call: { name: 'weather' } });
    expect(await response.json()).toMatchObject({
      choices: [{ message: { role: 'assistant', content: null, function_call: call.function }, finish_reason: 'function_call' }],
    });
    expect(up.asked[0]?.json).toMatchObject({
      tools: [{ type: 'function', function: weather }],
      tool_choice: { type: 'function', function: { name: 'weather' } },
      parallel_tool_calls: false,
    });
    expect(JSON.stringify(up.asked[0]?.json)).not.toMatch(/"functions"|"function_call"/);
    expect(records[0]?.finishReason).toBe('tool_calls');
  });

  it.each([
    [{}, 'user: dropped'],
    [{ parallel_tool_calls: false }, 'user: dropped, parallel_tool_calls: dropped'],
  ])('with %j name only those parameters in x-adjusted that the caller sent', async (more, adjusted) => {
    const up = await provider(answers({ candidates: [{ content: { role: 'model', parts: [{ text: 'sunny' }] }, finishReason: 'STOP' }] }));
    const { chat } = await gatewayOf({
      providers: { up: { dialect: 'gemini', base_url: up.url, api_key: 'k' } },
      models: [{ id: 'plain', free: true, providers: [{ providerId: 'up', tools: true }] }],
    });
    expect((await chat({ functions: [weather], user: 'u', ...more })).headers.get('x-adjusted')).toBe(adjusted);
  });

  it('are answered with text where the model calls none', async () => {
    const { chat, up } = await scene(answers(completion('sunny')));
    expect(await (await chat({ functions: [weather], function_call: 'auto' })).json()).toMatchObject({
      choices: [{ message: { content: 'sunny' }, finish_reason: 'stop' }],
    });
    expect(up.asked[0]?.json['tool_choice']).toBe('auto');
  });

  it('come back in pieces of the old form', async () => {
    const piece = (index: number, more: object): string => event({ tool_calls: [{ index, ...more }] });
    const steps = [
      event({ role: 'assistant', content: null }),
      piece(0, { ...call, function: { name: 'weather', arguments: '' } }),
      piece(0, { function: { arguments: '{"city":' } }),
      piece(0, { function: { arguments: '"Rome"}' } }),
      piece(1, { ...call, id: 'c2' }),
      event({}, 'tool_calls'),
    ];
    const { chat } = await scene(streams(steps));
    const { events } = await readEvents(await chat({ functions: [weather], stream: true }));
    const deltas = events.map(({ choices: [{ delta, finish_reason: finish }] }) => ({ ...delta, ...(finish !== null && { finish }) }));
    expect(deltas).toEqual([
      { role: 'assistant', content: null, function_call: { name: 'weather', arguments: '' } },
      { function_call: { arguments: '{"city":' } },
      { function_call: { arguments: '"Rome"}' } },
      { finish: 'function_call' },
    ]);
  });

  it('are read by the official client, plain and streamed', async () => {
    const start = event({ role: 'assistant', tool_calls: [{ index: 0, ...call }] });
    const { url } = await scene(answers(calling(call)), streams([start, event({}, 'tool_calls')]));
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'none', maxRetries: 0 });
    const asked = { model: 'plain', messages: [{ role: 'user' as const, content: 'Rome?' }], functions: [weather] };
    const plain = await client.chat.completions.create(asked);
    const streamed = await client.chat.completions.stream(asked).finalChatCompletion();
    for (const {
      choices: [choice],
    } of [plain, streamed]) {
      expect(choice).toMatchObject({ finish_reason: 'function_call', message: { function_call: call.function } });
    }
  });

  it('are tools in the answer if only the history has the old form', async () => {
    const { chat, up } = await scene(answers(calling(call)));
    expect(await (await chat({ messages: conversation, tools: [{ type: 'function', function: weather }] })).json()).toMatchObject({
      choices: [{ message: { tool_calls: [call] }, finish_reason: 'tool_calls' }],
    });
    expect(up.asked[0]?.json['parallel_tool_calls']).toBeUndefined();
  });
});

describe('a history of functions', () => {
  it('is sent as calls and results, each result with the id of its call', async () => {
    const { chat, up } = await scene();
    const again = [
      { role: 'assistant', content: 'And?', function_call: { name: 'weather', arguments: '{}' } },
      { role: 'function', name: 'weather', content: null },
    ];
    expect((await chat({ messages: [...conversation, ...again], functions: [weather] })).status).toBe(200);
    expect(up.asked[0]?.json['messages']).toEqual([
      user,
      { role: 'assistant', content: null, tool_calls: [{ ...call, id: 'call_function1' }] },
      { role: 'tool', tool_call_id: 'call_function1', content: 'sun' },
      {
        role: 'assistant',
        content: 'And?',
        tool_calls: [{ id: 'call_function3', type: 'function', function: { name: 'weather', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'call_function3', content: '' },
    ]);
  });

  it('is sent in another wire format too', async () => {
    const up = await provider(answers({ content: [{ type: 'text', text: 'sunny' }], stop_reason: 'end_turn', usage: {} }));
    const { chat } = await gatewayOf(oneUpstream(up.url, { providers: { up: { dialect: 'anthropic', base_url: up.url, api_key: 'k' } } }));
    expect((await chat({ messages: conversation, functions: [weather] })).status).toBe(200);
    expect(up.asked[0]?.json['messages']).toMatchObject([
      { role: 'user' },
      { role: 'assistant', content: [{ type: 'tool_use', name: 'weather' }] },
      { role: 'user', content: [{ type: 'tool_result' }] },
    ]);
  });
});

describe('an impossible request', () => {
  it.each<[object, string, string]>([
    [{ functions: [weather], tools: [{ type: 'function', function: weather }] }, 'invalid_request', 'tools'],
    [{ functions: [weather], tool_choice: 'auto' }, 'invalid_request', 'tool_choice'],
    [{ functions: 'weather' }, 'invalid_type', 'functions'],
    [{ functions: [{ description: 'no name' }] }, 'invalid_type', 'functions[0].name'],
    [{ functions: [{ name: 'a', parameters: 5 }] }, 'invalid_type', 'functions[0].parameters'],
    [{ functions: [weather], function_call: 'always' }, 'invalid_value', 'function_call'],
    [{ functions: [weather], function_call: {} }, 'invalid_type', 'function_call.name'],
    [{ messages: [user, { role: 'function', name: 'weather', content: 'sun' }] }, 'invalid_value', 'messages[1].name'],
    [{ messages: [...conversation, conversation[2]] }, 'invalid_value', 'messages[3].name'],
    [{ messages: [user, { role: 'function', content: 'sun' }] }, 'missing_required_parameter', 'messages[1].name'],
    [
      { messages: [user, { role: 'assistant', function_call: { name: 'weather' } }] },
      'invalid_type',
      'messages[1].function_call.arguments',
    ],
    [{ messages: [user, { role: 'robot', content: 'x' }] }, 'invalid_value', 'messages[1].role'],
  ])('is refused: %o', async (more, code, param) => {
    const { chat, up } = await scene();
    const response = await chat(more);
    expect([response.status, await errorOf(response)]).toMatchObject([400, { code, param }]);
    expect(up.asked).toEqual([]);
  });
});

describe('tool_choice', () => {
  it.each<[unknown, unknown]>([
    ['any', 'required'],
    [{ type: 'any' }, 'required'],
    [{ type: 'auto' }, 'auto'],
    [{ type: 'none' }, 'none'],
    [{ type: 'required' }, 'required'],
    [
      { type: 'tool', name: 'weather' },
      { type: 'function', function: { name: 'weather' } },
    ],
    [
      { type: 'function', name: 'weather' },
      { type: 'function', function: { name: 'weather' } },
    ],
    [
      { type: 'web_search', name: 'weather' },
      { type: 'web_search', name: 'weather' },
    ],
    [{ type: 'function' }, { type: 'function' }],
  ])('%o is %o', async (given, sent) => {
    const { chat, up } = await scene();
    await chat({ tools: [{ type: 'function', function: weather }], tool_choice: given });
    expect(up.asked[0]?.json['tool_choice']).toEqual(sent);
  });
});
