/**
 * Logged requests in the form of their door: the body that is shown is the
 * body that the caller wrote, and means the same when it is sent again.
 */
import { describe, expect, it } from 'vitest';
import type { ChatRequest } from '../../../core/chat.ts';
import { askedBody } from '../../../core/log/asked.ts';
import { toOpaque } from '../../../core/wire/opaque.ts';
import { completionsDoor } from '../../../plugins/endpoints/chat-completions/completions.ts';
import { parseChatRequest } from '../../../plugins/endpoints/chat-completions/parse.ts';
import { parseMessages } from '../../../plugins/endpoints/messages/parse/request.ts';
import { parseResponseRequest } from '../../../plugins/endpoints/responses/parse.ts';
import { requestBody } from '../../../plugins/log/journal/sql/bodies.ts';

const logged = (request: ChatRequest): unknown => JSON.parse(JSON.stringify(requestBody(request)));
const mark = { cache_control: { type: 'ephemeral' } };
const state = toOpaque({ type: 'reasoning.text', text: 'Hm.', signature: 'S1', provider: 'p' }, 'Hm.');
const sealed = toOpaque({ type: 'reasoning.encrypted', data: 'D1', provider: 'p' });
const noState = toOpaque({ type: 'reasoning.text', text: '' });
const schema = { type: 'object', properties: {} };
const png = { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' };
const user = { role: 'user', content: 'Hi' };

describe('a request of the Messages API', () => {
  const base = { model: 'm', max_tokens: 3000, messages: [user] };

  it.each<[string, object]>([
    [
      'a text',
      {
        ...base,
        stream: true,
        temperature: 0.5,
        top_p: 0.9,
        top_k: 5,
        stop_sequences: ['x'],
        metadata: { user_id: 'u' },
        service_tier: 'auto',
      },
    ],
    ['no stop sequence in a list of them', { ...base, stop_sequences: [] }],
    ['instructions', { ...base, system: 'Be terse.' }],
    ['instructions with a mark', { ...base, system: [{ type: 'text', text: 'Be terse.', ...mark }] }],
    [
      'images and documents',
      {
        ...base,
        messages: [
          {
            role: 'user',
            content: [
              { type: 'image', source: png, ...mark },
              { type: 'image', source: { type: 'url', url: 'https://a.example/b.png' } },
              { type: 'document', title: 'T', source: { type: 'text', media_type: 'text/plain', data: 'doc' } },
              { type: 'document', title: 'P', source: { ...png, media_type: 'application/pdf' } },
              { type: 'image', source: { type: 'file', file_id: 'f' } },
            ],
          },
        ],
      },
    ],
    [
      'search results',
      {
        ...base,
        messages: [
          {
            role: 'user',
            content: [
              { type: 'search_result', title: 'T', source: 'S', content: [{ type: 'text', text: 'x' }], citations: { enabled: true } },
              { type: 'text', text: 'So?' },
            ],
          },
        ],
      },
    ],
    [
      'a tool loop',
      {
        ...base,
        tools: [
          { name: 'look', description: 'd', input_schema: schema, ...mark },
          { type: 'web_search_20250305', name: 'web_search', max_uses: 2 },
        ],
        tool_choice: { type: 'any', disable_parallel_tool_use: true },
        messages: [
          user,
          {
            role: 'assistant',
            content: [
              { type: 'thinking', thinking: 'Hm.', signature: state },
              { type: 'redacted_thinking', data: sealed },
              { type: 'text', text: 'I look.' },
              { type: 'tool_use', id: 't1', name: 'look', input: { a: 1 } },
            ],
          },
          {
            role: 'user',
            content: [
              { type: 'tool_result', tool_use_id: 't1', content: '20', is_error: true },
              { type: 'text', text: 'Go on.' },
            ],
          },
        ],
      },
    ],
    [
      'two results',
      {
        ...base,
        messages: [
          user,
          {
            role: 'assistant',
            content: [
              { type: 'tool_use', id: 't1', name: 'look', input: {} },
              { type: 'tool_use', id: 't2', name: 'look', input: {} },
            ],
          },
          {
            role: 'user',
            content: [
              { type: 'tool_result', tool_use_id: 't1', content: '1' },
              { type: 'tool_result', tool_use_id: 't2', content: [{ type: 'text', text: '2', ...mark }] },
            ],
          },
        ],
      },
    ],
    [
      'a tool with a long name',
      {
        ...base,
        tools: [{ name: 'n'.repeat(70), input_schema: schema }],
        tool_choice: { type: 'tool', name: 'n'.repeat(70) },
        messages: [user, { role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: 'n'.repeat(70), input: {} }] }, user],
      },
    ],
    [
      'a thought without state',
      {
        ...base,
        tool_choice: { type: 'tool', name: 'look' },
        messages: [
          user,
          {
            role: 'assistant',
            content: [
              { type: 'thinking', thinking: 'Hm.', signature: noState },
              { type: 'text', text: 'Yes.' },
            ],
          },
          user,
        ],
      },
    ],
    ['a budget', { ...base, thinking: { type: 'enabled', budget_tokens: 2048, display: 'omitted' } }],
    ['an effort', { ...base, thinking: { type: 'adaptive' }, output_config: { effort: 'low', format: { type: 'json_schema', schema } } }],
    ['the most effort', { ...base, thinking: { type: 'adaptive' }, output_config: { effort: 'max' } }],
    ['no thinking', { ...base, thinking: { type: 'disabled' } }],
  ])('is shown as it was sent: %s', (_, body) => {
    expect(askedBody('/v1/messages', logged(parseMessages(body, { 'anthropic-beta': 'b1' })))).toEqual(body);
  });
});

it('the log shows the parts of a user message, in any number, in one message with the tool results before it', () => {
  const parts = Array.from({ length: 200_000 }, () => ({ type: 'text', text: 'a' }));
  const shown = askedBody('/v1/messages', {
    model: 'm',
    messages: [
      { role: 'tool', tool_call_id: 't1', content: '20' },
      { role: 'user', content: parts },
    ],
  });
  expect(shown).toMatchObject({ messages: [{ role: 'user', content: { length: 200_001 } }] });
});

it('the log shows the results of tools where a plugin has removed the content of the user message after them', () => {
  const shown = askedBody('/v1/messages', {
    model: 'm',
    messages: [
      { role: 'tool', tool_call_id: 't1', content: '20' },
      { role: 'user', content: null },
    ],
  });
  expect(shown).toMatchObject({ messages: [{ role: 'user', content: [{ type: 'tool_result', content: '20' }] }] });
});

describe('a request of the Responses API', () => {
  const base = { model: 'm', store: false };
  const input = [{ role: 'user', content: 'Hi' }];

  it.each<[string, object]>([
    [
      'messages',
      {
        ...base,
        input,
        instructions: 'Be terse.',
        reasoning: { effort: 'low', summary: 'auto' },
        text: { format: { type: 'json_object' }, verbosity: 'low' },
        max_output_tokens: 100,
        temperature: 0.5,
        include: ['reasoning.encrypted_content'],
        metadata: { job: '7' },
        stream: true,
        truncation: 'auto',
      },
    ],
    [
      'a thought without state',
      {
        ...base,
        input: [
          ...input,
          { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm.' }] },
          { role: 'assistant', content: 'Yes.', phase: 'commentary' },
          ...input,
        ],
      },
    ],
    [
      'parts',
      {
        ...base,
        input: [
          { role: 'developer', content: 'x' },
          {
            role: 'user',
            content: [
              { type: 'input_text', text: 'a' },
              { type: 'input_image', image_url: 'https://a.example/b.png', detail: 'low' },
              { type: 'input_file', filename: 'f.pdf', file_data: 'data:application/pdf;base64,AAAA' },
            ],
          },
        ],
      },
    ],
    [
      'a tool loop',
      {
        ...base,
        tools: [
          { type: 'function', name: 'look', parameters: schema, strict: true },
          { type: 'custom', name: 'patch' },
          { type: 'web_search' },
        ],
        tool_choice: 'required',
        input: [
          ...input,
          { type: 'function_call', call_id: 'c1', name: 'look', arguments: '{}' },
          { type: 'custom_tool_call', call_id: 'c2', name: 'patch', input: 'x' },
          { type: 'function_call_output', call_id: 'c1', output: '20' },
          { type: 'custom_tool_call_output', call_id: 'c2', output: [{ type: 'input_text', text: 'ok' }] },
        ],
      },
    ],
  ])('is shown as it was sent: %s', (_, body) => {
    expect(askedBody('/responses', logged(parseResponseRequest(body).request))).toEqual(body);
  });

  it('means the same when it is sent again: thoughts, items of tools that ran, unknown items', () => {
    const given = [
      ...input,
      { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm.' }], encrypted_content: sealed },
      { type: 'message', role: 'assistant', phase: 'commentary', content: [{ type: 'output_text', text: 'I look.' }] },
      { type: 'web_search_call', id: 'ws', status: 'completed' },
      { type: 'function_call', call_id: 'c1', name: 'look', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c1', output: '20' },
      { type: 'computer_call_output', call_id: 'c9', output: {} },
    ];
    const first = logged(parseResponseRequest({ ...base, input: given }).request);
    expect(logged(parseResponseRequest(askedBody('/v1/responses', first)).request)).toEqual(first);
  });
});

describe('a request of chat completions', () => {
  it('is shown without the fields that the log keeps with it', () => {
    const body = {
      model: 'm',
      messages: [user],
      stream: true,
      stream_options: { include_usage: true },
      reasoning_effort: 'low',
      temperature: 0.5,
      verbosity: 'low',
    };
    expect(askedBody('/v1/chat/completions', { ...(logged(parseChatRequest(body)) as object), door: { usage_apart: true } })).toEqual(body);
  });

  it('with a prompt is shown with its prompt', () => {
    const body = { model: 'm', prompt: 'Hello', max_tokens: 5, stream: true };
    expect(askedBody('/v1/completions', logged(completionsDoor.parse(body, {}, {})))).toEqual(body);
  });
});

it.each([null, 'cut', undefined])('the log shows the request %j as it is', (request) =>
  expect(askedBody('/v1/messages', request)).toBe(request),
);

it('the log shows the request of an embedding', () =>
  expect(askedBody('/v1/embeddings', { model: 'm', input: ['a'] })).toEqual({ model: 'm', input: ['a'] }));
