/**
 * A number with more digits than a double holds, in the arguments of a call or the schema of a tool, passes through the gateway unchanged.
 */
import { describe, expect, it } from 'vitest';
import { oneUpstream, readEvents } from '../../_kit/gateway.ts';
import { answers, completion, streams } from '../../_kit/upstream.ts';
import { gatewayOf, provider } from '../../core/scene.ts';

const input = '{"id":1234567890123456789,"more":[{"id":-98765432109876543210}],"few":12}';

const events = (...data: string[]): string[] => data.map((one) => `data: ${one}\n\n`);

describe.each<[string, string[]]>([
  [
    'openai-chat',
    events(
      `{"id":"c","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"find","arguments":${input}}}]},"finish_reason":"tool_calls"}]}`,
      '[DONE]',
    ),
  ],
  [
    'openai-responses',
    events(
      '{"type":"response.created","response":{"id":"r"}}',
      `{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","call_id":"a","name":"find","arguments":${input}}}`,
      '{"type":"response.completed","response":{"id":"r","status":"completed","output":[]}}',
    ),
  ],
  [
    'anthropic',
    events(
      '{"type":"message_start","message":{"id":"m"}}',
      `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"find","input":${input}}}`,
      '{"type":"content_block_stop","index":0}',
      '{"type":"message_delta","delta":{"stop_reason":"tool_use"}}',
      '{"type":"message_stop"}',
    ),
  ],
  [
    'gemini',
    events(`{"candidates":[{"index":0,"content":{"parts":[{"functionCall":{"name":"find","args":${input}}}]},"finishReason":"STOP"}]}`),
  ],
])('a long number from a provider that streams whole arguments as an object: %s', (dialect, parts) => {
  it('reaches the caller', async () => {
    const up = await provider(streams(parts));
    const { chat } = await gatewayOf(oneUpstream(up.url, { providers: { up: { dialect, base_url: up.url, api_key: 'k' } } }));
    const { events: found } = await readEvents(await chat({ stream: true }));
    expect(
      found
        .flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? [])
        .map((call: any) => call.function.arguments)
        .join(''),
    ).toBe(input);
  });
});

describe('a long number in a call that the caller sends back by the Messages API', () => {
  const said = `{"model":"plain","max_tokens":9,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"find","input":${input}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"ok"}]}]}`;

  it('reaches a provider that takes arguments as text', async () => {
    const up = await provider(answers(completion('hello')));
    const { post } = await gatewayOf(oneUpstream(up.url));
    await post(said, { path: '/v1/messages' });
    expect(up.asked[0]?.json['messages'][1].tool_calls[0].function.arguments).toBe(input);
  });

  it('reaches a provider of the same form', async () => {
    const up = await provider(
      answers({ type: 'message', role: 'assistant', content: [{ type: 'text', text: 'hello' }], stop_reason: 'end_turn' }),
    );
    const { post } = await gatewayOf(oneUpstream(up.url, { providers: { up: { dialect: 'anthropic', base_url: up.url, api_key: 'k' } } }));
    await post(said, { path: '/v1/messages' });
    expect(up.asked[0]?.text).toContain(`"input":${input}`);
  });
});

it('a long number in a call of a tool that the provider runs comes back to a caller of the Messages API', async () => {
  const up = await provider(
    streams(
      events(
        '{"type":"message_start","message":{"id":"m"}}',
        '{"type":"content_block_start","index":0,"content_block":{"type":"mcp_tool_use","id":"a","name":"find","server_name":"s","input":{}}}',
        `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":${JSON.stringify(input)}}}`,
        '{"type":"content_block_stop","index":0}',
        '{"type":"message_delta","delta":{"stop_reason":"end_turn"}}',
        '{"type":"message_stop"}',
      ),
    ),
  );
  const { post } = await gatewayOf(oneUpstream(up.url, { providers: { up: { dialect: 'anthropic', base_url: up.url, api_key: 'k' } } }));
  const reply = await post(
    { model: 'plain', max_tokens: 9, stream: true, messages: [{ role: 'user', content: 'hi' }] },
    { path: '/v1/messages' },
  );
  expect(await reply.text()).toContain(`"partial_json":${JSON.stringify(input)}`);
});

describe.each([
  ['openai-chat', 'gpt-5'],
  ['openai-responses', 'gpt-5'],
  ['anthropic', 'claude-sonnet-4-5'],
  ['gemini', 'gemini-2.5-pro'],
  ['gemini', 'gemini-2.0-flash'],
  ['bedrock', 'anthropic.claude-sonnet-4-5-v1:0'],
  ['bedrock', 'amazon.nova-pro-v1:0'],
])('a bound of 64 bits in the schema of a tool reaches %s, %s', (dialect, externalId) => {
  const bounds = '"minimum":-9223372036854775808,"maximum":9223372036854775807';
  const schema = `{"type":"object","properties":{"id":{"type":"integer",${bounds}},"list":{"type":"array","items":{"anyOf":[{"allOf":[{"description":"id"}],"enum":[9007199254740993,1]},{"type":"null"}]}}},"required":["id"]}`;
  const hi = '"messages":[{"role":"user","content":"hi"}]';

  it.each<[string, string, string]>([
    ['chat completions', '/v1/chat/completions', `${hi},"tools":[{"type":"function","function":{"name":"find","parameters":${schema}}}]`],
    [
      'chat completions, strictly',
      '/v1/chat/completions',
      `${hi},"tools":[{"type":"function","function":{"name":"find","strict":true,"parameters":${schema}}}]`,
    ],
    [
      'a format of the answer',
      '/v1/chat/completions',
      `${hi},"response_format":{"type":"json_schema","json_schema":{"name":"answer","schema":${schema}}}`,
    ],
    ['messages', '/v1/messages', `"max_tokens":9,${hi},"tools":[{"name":"find","input_schema":${schema}}]`],
    ['responses', '/v1/responses', `"input":"hi","tools":[{"type":"function","name":"find","parameters":${schema}}]`],
  ])('from %s', async (_, path, said) => {
    const up = await provider(answers({}));
    const models = [{ id: 'plain', free: true, providers: [{ providerId: 'up', externalId, tools: true }] }];
    const { post } = await gatewayOf(oneUpstream(up.url, { providers: { up: { dialect, base_url: up.url, api_key: 'k' } }, models }));
    await post(`{"model":"plain",${said}}`, { path });
    for (const number of ['-9223372036854775808', '9223372036854775807', '9007199254740993']) {
      expect(up.asked[0]?.text).toMatch(new RegExp(`${number}(?!\\d)`));
    }
  });
});
