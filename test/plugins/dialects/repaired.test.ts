/** Conversations that a provider refuses, and what it gets in their place. `valid-requests.test.ts` tries many others. */
import { describe, expect, it } from 'vitest';
import type { ChatRequest, Message, ToolCall } from '../../../core/chat.ts';
import type { AnyPlugin } from '../../../core/host/plugin.ts';
import { encodeBy } from '../../../core/wire/native.ts';
import anthropic from '../../../plugins/dialects/anthropic/index.ts';
import bedrock from '../../../plugins/dialects/bedrock/index.ts';
import { beganWithoutThinking } from '../../../plugins/dialects/families/thinking-blocks.ts';
import gemini from '../../../plugins/dialects/gemini/index.ts';
import chat from '../../../plugins/dialects/openai-chat/index.ts';
import responses from '../../../plugins/dialects/openai-responses/index.ts';
import { parseMessages } from '../../../plugins/endpoints/messages/parse/request.ts';
import { parseResponseRequest } from '../../../plugins/endpoints/responses/parse.ts';
import { requestOf, targetOf } from '../../contract/dialect.ts';

const plugins: readonly AnyPlugin[] = [anthropic, bedrock, gemini, chat, responses];
const dialects = new Map(plugins.flatMap(({ dialects: all = [] }) => all.map((dialect) => [dialect.name, dialect] as const)));

/** What a model at a provider gets: `anthropic claude-opus-4-6`. */
function sent(to: string, said: Partial<ChatRequest>): { readonly body: Record<string, any>; readonly changes: readonly string[] } {
  const [name = '', externalId = ''] = to.split(' ');
  const dialect = dialects.get(name);
  if (dialect === undefined) throw new Error(`no dialect ${name}`);
  const { body, adjustments } = encodeBy(dialect, requestOf(said), targetOf(name, { externalId }));
  return { body: JSON.parse(body) as Record<string, any>, changes: adjustments.map(({ parameter, change }) => `${parameter} ${change}`) };
}

const turnsIn = (body: Record<string, any>): readonly any[] => body['messages'] ?? body['contents'] ?? body['input'];
const user: Message = { role: 'user', content: 'Hi' };
const assistant: Message = { role: 'assistant', content: 'The answer is' };
const call = (id: string, name = 'f'): ToolCall => ({ id, type: 'function', function: { name, arguments: '{}' } });
const tool = (name: string) => ({ type: 'function', function: { name, parameters: { type: 'object', properties: { a: {} } } } });

describe('an answer that the caller began', () => {
  it.each(['anthropic claude-opus-4-6', 'bedrock anthropic.claude-sonnet-4-6', 'google gemini-3.6-flash', 'google gemini-3.5-flash-lite'])(
    'has a message of the user behind it for %s',
    (to) => {
      const { body, changes } = sent(to, { messages: [user, assistant] });
      expect(turnsIn(body)).toHaveLength(3);
      expect(turnsIn(body).at(-1)).toMatchObject({ role: 'user' });
      expect(changes).toEqual(['messages a user message put last']);
    },
  );

  it.each(['anthropic claude-opus-4-5', 'bedrock anthropic.claude-sonnet-4-5', 'google gemini-3.5-flash', 'google gemini-2.5-flash'])(
    'stays the last for %s',
    (to) => {
      const { body, changes } = sent(to, { messages: [user, assistant] });
      expect(turnsIn(body)).toHaveLength(2);
      expect(changes).toEqual([]);
    },
  );

  it.each([
    { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} },
    { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] },
    { type: 'compaction', content: 'What was said.' },
  ])('stays the last where Claude paused it behind a block of the type $type', (block) => {
    const paused = { role: 'assistant', content: [{ type: 'text', text: 'I search.' }, block] };
    const { body, changes } = sent('anthropic claude-opus-4-6', parseMessages({ model: 'm', messages: [user, paused] }, {}));
    expect(turnsIn(body).at(-1)).toEqual(paused);
    expect(changes).toEqual([]);
  });
});

it.each(['anthropic claude-opus-4-5', 'bedrock anthropic.claude-sonnet-4-5', 'google gemini-2.5-flash', 'openai-responses gpt-5'])(
  'a conversation in which nobody said anything has a message of the user for %s',
  (to) => {
    const { body, changes } = sent(to, { messages: [{ role: 'assistant', content: '' }] });
    expect(turnsIn(body)).toMatchObject([{ role: 'user' }]);
    expect(JSON.stringify(turnsIn(body))).toContain('"…"');
    expect(changes).toEqual(['messages an empty user message filled in']);
  },
);

describe('tools', () => {
  it.each(['anthropic claude-opus-4-5', 'bedrock anthropic.claude-sonnet-4-5', 'google gemini-2.5-flash'])(
    'of one name are sent once to %s',
    (to) => {
      const { body, changes } = sent(to, { tools: [tool('a'), tool('b'), tool('a')] });
      expect(JSON.stringify(body).match(/"name":"\w"/g)).toEqual(['"name":"a"', '"name":"b"']);
      expect(changes).toEqual(['tools others of the same name dropped']);
    },
  );

  const mark = { cache_control: { type: 'ephemeral' } };
  const hour = { cache_control: { type: 'ephemeral', ttl: '1h' } };

  it('of one name end the cached part of the prompt where the caller ended it', () => {
    const { body } = sent('anthropic claude-opus-4-5', { tools: [tool('a'), tool('b'), { ...tool('a'), ...mark }, tool('c')] });
    expect(body['tools'].map((one: any) => one.cache_control)).toEqual([undefined, mark.cache_control, undefined]);
  });

  it('of one name leave the tool before them the breakpoint that it has', () => {
    const { body } = sent('anthropic claude-opus-4-5', { tools: [tool('a'), { ...tool('b'), ...hour }, { ...tool('a'), ...mark }] });
    expect(body['tools'].map((one: any) => one.cache_control)).toEqual([undefined, hour.cache_control]);
  });

  it.each([
    'anthropic claude-opus-4-5',
    'bedrock anthropic.claude-sonnet-4-5',
    'google gemini-2.5-flash',
    'openai gpt-5',
    'openai-responses gpt-5',
  ])('do not have the one that the caller chose, which is an error before %s is asked', (to) => {
    const said = { tools: [tool('a')], toolChoice: { type: 'function', function: { name: 'b' } } };
    expect(() => sent(to, said)).toThrow(expect.objectContaining({ status: 400, code: 'unsupported_value', param: 'tool_choice' }));
  });

  it('of a set whose names nobody knows before may be chosen at Anthropic', () => {
    const choice = { type: 'tool', name: 'search' };
    const asked = { model: 'm', messages: [user], tools: [{ type: 'mcp_toolset', mcp_server_name: 's' }], tool_choice: choice };
    expect(sent('anthropic claude-opus-4-5', parseMessages(asked, {})).body['tool_choice']).toEqual(choice);
  });

  it('of a namespace may be chosen by their own names at OpenAI', () => {
    const tools = [{ type: 'namespace', name: 'crm', tools: [{ type: 'function', name: 'find', parameters: {} }] }];
    const choice = { type: 'function', name: 'find' };
    const { request } = parseResponseRequest({ model: 'm', input: 'Hi', tools, tool_choice: choice });
    expect(sent('openai-responses gpt-5', request).body).toMatchObject({ tools, tool_choice: choice });
  });

  it.each([
    ['the custom tool that is chosen', { type: 'custom', name: 'files/read' }],
    ['the tools that are allowed', { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'custom', name: 'files/read' }] }],
  ])('have the same names everywhere in a request of the Responses API: %s', (_, choice) => {
    const input = [
      { type: 'custom_tool_call', call_id: 'c', name: 'files/read', input: 'a' },
      { type: 'custom_tool_call_output', call_id: 'c', output: '1' },
    ];
    const { request } = parseResponseRequest({ model: 'm', input, tools: [{ type: 'custom', name: 'files/read' }], tool_choice: choice });
    const { body } = sent('openai-responses gpt-5', request);
    expect(JSON.stringify(body)).not.toContain('files/read');
    expect(JSON.stringify(body['tool_choice'])).toMatch(/"type":"custom","name":"files_read_[\da-f]{8}"/);
    expect(JSON.stringify(body).match(/"files_read_[\da-f]{8}"/g)).toHaveLength(3);
  });

  it.each(['openai gpt-4o', 'openai-responses gpt-5'])('have names that %s takes', (to) => {
    const messages: Message[] = [
      user,
      { role: 'assistant', tool_calls: [call('c', 'files/read')] },
      { role: 'tool', tool_call_id: 'c', content: '1' },
    ];
    const { body } = sent(to, { messages, tools: [tool('files/read')] });
    expect(JSON.stringify(body)).not.toContain('files/read');
    expect(JSON.stringify(body).match(/"files_read_[\da-f]{8}"/g)).toHaveLength(2);
  });
});

describe('cache breakpoints', () => {
  const marked = (ttl?: string) => ({
    type: 'text',
    text: 'Long.',
    cache_control: { type: 'ephemeral', ...(ttl !== undefined && { ttl }) },
  });

  it.each(['anthropic claude-opus-4-5', 'bedrock anthropic.claude-sonnet-4-5'])('of an hour lose it behind a shorter one at %s', (to) => {
    const { body, changes } = sent(to, { messages: [{ role: 'user', content: [marked('1h'), marked(), marked('1h')] }] });
    expect(JSON.stringify(body).match(/"ttl":"1h"/g)).toHaveLength(1);
    expect(changes).toEqual(['cache_control.ttl dropped behind a shorter one']);
  });

  it('for the whole request count as the last one', () => {
    const rest = { cache_control: { type: 'ephemeral' } };
    const { body, changes } = sent('anthropic claude-opus-4-5', { messages: [{ role: 'user', content: [marked('1h')] }], rest });
    expect(body['messages'][0].content[0].cache_control).toEqual({ type: 'ephemeral', ttl: '1h' });
    expect([body['cache_control'], changes]).toEqual([{ type: 'ephemeral' }, []]);
  });
});

describe('calls and results', () => {
  it('have ids of their own in one message for OpenAI', () => {
    const results = ['1', '2'].map((content): Message => ({ role: 'tool', tool_call_id: 'c', content }));
    const { body } = sent('openai gpt-4o', { messages: [user, { role: 'assistant', tool_calls: [call('c'), call('c')] }, ...results] });
    const ids = body['messages'][1].tool_calls.map(({ id }: any) => id);
    expect(new Set(ids).size).toBe(2);
    expect(body['messages'].slice(2).map(({ tool_call_id: id }: any) => id)).toEqual(ids);
  });

  it('have images behind all results of a turn, for OpenAI', () => {
    const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } };
    const messages: Message[] = [
      user,
      { role: 'assistant', tool_calls: [call('a'), call('b')] },
      { role: 'tool', tool_call_id: 'a', content: [image] },
      { role: 'tool', tool_call_id: 'b', content: 'x' },
    ];
    const { body, changes } = sent('openai gpt-4o', { messages });
    expect(body['messages'].slice(2)).toEqual([
      { role: 'tool', tool_call_id: 'a', content: 'See the message after the results.' },
      { role: 'tool', tool_call_id: 'b', content: 'x' },
      { role: 'user', content: [{ type: 'text', text: 'The tool call a gave this:' }, image] },
    ]);
    expect(changes).toEqual(['messages images and files of tool results put behind the results']);
    expect(sent('openrouter a/b', { messages }).body['messages'][2].content).toEqual([image]);
  });

  it.each(['anthropic claude-opus-4-5', 'openai gpt-4o', 'openai-responses gpt-5'])('have a result for a call without one at %s', (to) => {
    const { body, changes } = sent(to, { messages: [user, { role: 'assistant', tool_calls: [call('c')] }, user] });
    expect(JSON.stringify(turnsIn(body)[2])).toContain('There is no result.');
    expect(changes).toEqual(['messages missing tool results filled in']);
  });
});

it.each(['anthropic claude-opus-4-5', 'bedrock anthropic.claude-sonnet-4-5', 'google gemini-2.5-flash', 'openai-responses gpt-5'])(
  'a result of a call that a message of the user holds is a text for %s, because no model made the call',
  (to) => {
    const messages: Message[] = [
      { ...user, tool_calls: [call('c')] },
      { role: 'tool', tool_call_id: 'c', content: '1' },
    ];
    const { body, changes } = sent(to, { messages });
    expect(JSON.stringify(turnsIn(body))).toContain('The tool call c gave this result:');
    expect(changes).toContain('messages tool results without a call sent as text');
  },
);

it('thinking that does not begin the turn does not count as its beginning', () => {
  const thought: Message = { role: 'assistant', tool_calls: [call('c')] };
  const turn = (...messages: readonly Message[]) => [{ role: 'assistant' as const, messages }];
  expect(beganWithoutThinking(turn(assistant, thought), (message) => message === thought)).toBe(true);
  expect(beganWithoutThinking(turn(thought, assistant), (message) => message === thought)).toBe(false);
  expect(beganWithoutThinking(turn({ role: 'assistant', content: ' ' }, thought), (message) => message === thought)).toBe(false);
});

it('a blank text of the user, which is not sent, begins no turn', () => {
  const turns = (text: string) => [
    { role: 'assistant' as const, messages: [{ role: 'assistant' as const, tool_calls: [call('c')] }] },
    { role: 'user' as const, results: [{ role: 'tool' as const, tool_call_id: 'c', content: '1' }], parts: [{ type: 'text', text }] },
    { role: 'assistant' as const, messages: [{ role: 'assistant' as const, content: '' }] },
  ];
  expect(beganWithoutThinking(turns('\n'), () => false)).toBe(true);
  expect(beganWithoutThinking(turns('Go on.'), () => false)).toBe(false);
});

it('an input of reasoning alone is refused by the endpoint', () => {
  const input = [{ type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm.' }] }];
  expect(() => parseResponseRequest({ model: 'm', input })).toThrow(expect.objectContaining({ status: 400, param: 'input' }));
});
