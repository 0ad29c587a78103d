/** From a caller's body to a request. core/bad-input.test.ts tests refusals end to end, with status and record. */
import { describe, expect, it } from 'vitest';
import { parseChatRequest } from '../../../../plugins/endpoints/chat-completions/parse.ts';

const hi = { role: 'user', content: 'hi' };
const parsed = (more: object) => parseChatRequest({ model: 'm', messages: [hi], ...more });
const answer = (more: object): object => ({ messages: [hi, { role: 'assistant', content: 'a', ...more }] });
const call = { id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } };
const tool = (more: object): object => ({ tools: [{ type: 'function', function: { name: 'f', ...more } }] });
const format = (more: object): object => ({ response_format: { type: 'json_schema', json_schema: { name: 'x', ...more } } });

describe('a body', () => {
  it('loses an empty list of calls, because OpenAI refuses it', () => {
    const [, answer] = parseChatRequest({
      model: 'm',
      messages: [
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: 'Yes.', tool_calls: [] },
      ],
    }).messages;
    expect(answer).toEqual({ role: 'assistant', content: 'Yes.' });
  });

  it('that is valid is not changed', () => {
    const messages = [
      { role: 'system', content: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }] },
      hi,
      { role: 'assistant', content: null, tool_calls: [call], other: [null] },
      { role: 'tool', tool_call_id: 'c1', content: 'r' },
    ];
    const tools = [
      {
        type: 'function',
        function: { name: 'f', description: 'F.', parameters: { type: 'object', properties: { a: { default: null } } } },
      },
      { type: 'web_search_20250305', name: 'web_search' },
    ];
    expect(parsed({ messages, tools, seed: 7, verbosity: 'low' })).toMatchObject({ messages, tools, seed: 7, rest: { verbosity: 'low' } });
  });

  it('may have a call without a type, which is a function', () => {
    const { type: _, ...untyped } = call;
    for (const one of [untyped, { ...untyped, type: null }]) {
      expect(parsed(answer({ tool_calls: [one] }))).toEqual(parsed(answer({ tool_calls: [call] })));
    }
  });

  it.each<[string, object, object]>([
    [
      'a message',
      { messages: [{ ...hi, name: null, tool_calls: null, tool_call_id: null, reasoning: null, reasoning_details: null }] },
      { messages: [hi] },
    ],
    ['an answer', answer({ content: null, refusal: null, audio: null, tool_calls: [call] }), answer({ content: null, tool_calls: [call] })],
    [
      'a part',
      { messages: [{ role: 'user', content: [{ type: 'text', text: null, cache_control: null }] }] },
      { messages: [{ role: 'user', content: [{ type: 'text' }] }] },
    ],
    [
      'a tool',
      { tools: [{ type: 'function', cache_control: null, function: { name: 'f', description: null, parameters: null, strict: null } }] },
      tool({}),
    ],
    ['a choice of tool', { tool_choice: { type: 'auto', function: null } }, { tool_choice: { type: 'auto' } }],
    ['a format', format({ schema: null, strict: null, description: null }), format({})],
    ['another format', { response_format: { type: 'json_object', json_schema: null } }, { response_format: { type: 'json_object' } }],
  ])('may have null in %s, which counts as not set', (_, more, same) => expect(parsed(more)).toEqual(parsed(same)));

  it.each<[string, object]>([
    [
      'messages[0].content[1].text',
      {
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'a' },
              { type: 'text', text: 5 },
            ],
          },
        ],
      },
    ],
    ['messages[0].content[0].text', { messages: [{ role: 'user', content: [{ type: 'image_url', text: {} }] }] }],
    ['messages[0].tool_call_id', { messages: [{ ...hi, tool_call_id: 5 }] }],
    ['messages[1].reasoning', answer({ reasoning: { toString: null } })],
    ['messages[1].reasoning_content', answer({ reasoning_content: [] })],
    ['messages[1].reasoning_details', answer({ reasoning_details: { type: 'reasoning.text' } })],
    ['messages[1].reasoning_details[1]', answer({ reasoning_details: [{ type: 'reasoning.text' }, null] })],
    ['messages[1].tool_calls[0].type', answer({ tool_calls: [{ ...call, type: 5 }] })],
    ['messages[1].tool_calls[0].function.arguments', answer({ tool_calls: [{ ...call, function: { name: 'f', arguments: {} } }] })],
    ['tools[0].function.description', tool({ description: 5 })],
    ['tools[0].function.parameters', tool({ parameters: [] })],
    ['tools[0].function.strict', tool({ strict: 'yes' })],
    ['tools[0].function', { tools: [{ type: 'builtin_function', function: 'search' }] }],
    ['tool_choice.type', { tool_choice: {} }],
    ['tool_choice.function', { tool_choice: { type: 'function', function: 'f' } }],
    ['tool_choice.function.name', { tool_choice: { type: 'function', function: { name: null } } }],
    ['response_format.json_schema.schema', format({ schema: 'x' })],
    ['response_format.json_schema.strict', format({ strict: 1 })],
    ['logit_bias', { logit_bias: { 50: 'x' } }],
  ])('with another type is refused, with %s', (param, more) => {
    expect(() => parsed(more)).toThrow(expect.objectContaining({ status: 400, code: 'invalid_type', param }) as Error);
  });

  it('that asks for a schema and has none is refused', () => {
    expect(() => parsed({ response_format: { type: 'json_schema' } })).toThrow(
      expect.objectContaining({ status: 400, param: 'response_format.json_schema' }) as Error,
    );
  });

  it.each(['seed', 'top_logprobs', 'max_tokens', 'max_completion_tokens', 'n'])('with %s beyond the exact integers is refused', (param) => {
    for (const value of [2 ** 53, 1e20, 1.5]) {
      expect(() => parsed({ [param]: value })).toThrow(expect.objectContaining({ code: 'invalid_value', param }) as Error);
    }
    expect(() => parsed({ [param]: 2 ** 53 - 1 })).not.toThrow();
  });
});

it('other options of a stream are named as dropped, and options that are off are not', () => {
  const adjusted = (options: object): unknown => parsed({ stream: true, stream_options: options }).adjustments;
  expect(adjusted({ include_usage: true, include_obfuscation: true, continuous_usage_stats: true })).toEqual([
    { parameter: 'stream_options.include_obfuscation', change: 'dropped' },
    { parameter: 'stream_options.continuous_usage_stats', change: 'dropped' },
  ]);
  expect(adjusted({ include_usage: true, include_obfuscation: false, continuous_usage_stats: null })).toBeUndefined();
});
