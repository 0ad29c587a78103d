import { describe, expect, it } from 'vitest';
import type { ChatRequest, ContentPart, Message, Tool } from '../../../../core/chat.ts';
import type { Dialect, WireRequest } from '../../../../core/wire/dialect.ts';
import plugin from '../../../../plugins/dialects/anthropic/index.ts';
import { describeDialect, requestOf, type TargetWishes, targetOf, testKey } from '../../../contract/dialect.ts';

const dialect = plugin.dialects?.[0] as Dialect;

describeDialect({
  dialect,
  fixtures: new URL('../../../fixtures/anthropic/', import.meta.url).pathname,
  target: (wishes) => ({ ...targetOf('anthropic', wishes), form: 'messages' }),
});

type Fields = Record<string, any>;

const sonnet: TargetWishes = { externalId: 'claude-sonnet-4-5' };
const older: TargetWishes = { externalId: 'claude-sonnet-4-0' };

const wireOf = (said: Partial<ChatRequest>, wishes: TargetWishes = sonnet): WireRequest =>
  dialect.encode(requestOf(said), targetOf('anthropic', wishes));
const bodyOf = (said: Partial<ChatRequest>, wishes?: TargetWishes): Fields => JSON.parse(wireOf(said, wishes).body) as Fields;
const changesOf = (said: Partial<ChatRequest>, wishes?: TargetWishes): string[] =>
  wireOf(said, wishes).adjustments.map(({ parameter, change }) => `${parameter} ${change}`);
const messagesOf = (messages: Message[], wishes?: TargetWishes): Fields[] => bodyOf({ messages }, wishes)['messages'] as Fields[];
const userBlocks = (...content: ContentPart[]): Fields[] => messagesOf([{ role: 'user', content }])[0]?.['content'] as Fields[];

const user: Message = { role: 'user', content: 'Weather?' };
const call = (id: string, text = '{"city":"Rome"}') => ({ id, type: 'function' as const, function: { name: 'weather', arguments: text } });
const calling = (...ids: string[]): Message => ({ role: 'assistant', content: null, tool_calls: ids.map((id) => call(id)) });
const result = (id: string, content: Message['content'] = '20', more = {}): Message => ({
  role: 'tool',
  tool_call_id: id,
  content,
  ...more,
});
const tooDeep = `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
const weather: Tool = {
  type: 'function',
  function: {
    name: 'weather',
    description: 'Tells it.',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, $defs: {} },
  },
};

describe('fields of an answer that only this API has', () => {
  const body = {
    id: 'm',
    content: [
      { type: 'server_tool_use', id: 's', name: 'web_search', input: {} },
      { type: 'text', text: 'a', citations: [{ cited_text: 'a' }] },
      { type: 'text', text: 'b' },
    ],
    stop_reason: 'stop_sequence',
    stop_sequence: 'END',
    usage: { input_tokens: 1, output_tokens: 1, service_tier: 'standard' },
  };
  const nativesOf = (form?: string): unknown[] =>
    dialect.decodeBody(body, { ...targetOf('anthropic', sonnet), form }).flatMap((chunk) => (chunk.type === 'native' ? [chunk.name] : []));

  it('reach callers of this API only', () => {
    expect(nativesOf('messages')).toEqual(['block', 'citation', 'break', 'message', 'usage']);
    expect([nativesOf(), nativesOf('responses')]).toEqual([[], []]);
  });
});

it('two calls to which a server gave the same id get two ids', () => {
  const call = (command: string) => ({ type: 'tool_use', id: 'grep:3', name: 'grep', input: { command } });
  const chunks = dialect.decodeBody({ id: 'm', content: [call('a'), call('b')], stop_reason: 'tool_use' }, targetOf('anthropic', sonnet));
  const ids = chunks.flatMap((chunk) => (chunk.type === 'tool-start' ? [chunk.id] : []));
  expect(ids).toEqual(['grep:3', expect.stringMatching(/^toolu_/)]);
});

it('calls without an id get ids that differ from answer to answer, because a conversation has all of them', () => {
  const idsIn = (id: string): string[] => {
    const content = [1, 2].map(() => ({ type: 'tool_use', name: 'grep', input: {} }));
    const chunks = dialect.decodeBody({ id, type: 'message', content, stop_reason: 'tool_use' }, targetOf('anthropic', sonnet));
    return chunks.flatMap((chunk) => (chunk.type === 'tool-start' ? [chunk.id] : []));
  };
  expect(new Set([...idsIn('msg_1'), ...idsIn('msg_2')]).size).toBe(4);
});

describe('where a request goes', () => {
  it('has the key and the version in the headers that the provider reads', () => {
    expect(dialect.authorise?.(targetOf('anthropic').provider)).toEqual({ 'x-api-key': testKey });
    expect(wireOf({})).toMatchObject({
      path: '/messages',
      headers: { 'content-type': 'application/json', 'anthropic-version': '2023-06-01' },
    });
    expect(wireOf({}).headers).not.toHaveProperty('anthropic-beta');
  });

  it('has no key where there is none', () => {
    expect(dialect.authorise?.(targetOf('anthropic', { provider: { apiKey: null } }).provider)).toEqual({});
  });

  it("lists its betas and those of the provider's entry, each once", () => {
    const file = { messages: [{ role: 'user' as const, content: [{ type: 'file', file: { file_id: 'file_1' } }] }] };
    expect(wireOf(file).headers['anthropic-beta']).toBe('files-api-2025-04-14');
    expect(
      wireOf(file, { ...sonnet, provider: { headers: { 'anthropic-beta': 'context-1m-2025-08-07, files-api-2025-04-14' } } }).headers[
        'anthropic-beta'
      ],
    ).toBe('context-1m-2025-08-07,files-api-2025-04-14');
  });
});

describe('the body', () => {
  it('has the fields of the caller, and the limit that the API requires', () => {
    expect(bodyOf({})).toEqual({
      model: 'claude-sonnet-4-5',
      max_tokens: 64_000,
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Hello' }] }],
    });
  });

  it.each<[string, Partial<ChatRequest>, Fields]>([
    ['stream', { stream: true }, { stream: true }],
    ['max_tokens', { maxTokens: 100 }, { max_tokens: 100 }],
    ['one stop sequence', { stop: 'END' }, { stop_sequences: ['END'] }],
    ['several', { stop: ['a', 'b'] }, { stop_sequences: ['a', 'b'] }],
    ['the user', { user: 'u1' }, { metadata: { user_id: 'u1' } }],
    ['the user in metadata', { rest: { metadata: { user_id: 'u2' } } }, { metadata: { user_id: 'u2' } }],
    ['temperature', { temperature: 0.2 }, { temperature: 0.2 }],
    ['top_k', { rest: { top_k: 5 } }, { top_k: 5 }],
    ['service_tier', { rest: { service_tier: 'default' } }, { service_tier: 'standard_only' }],
    [
      'fields of its own API',
      { rest: { container: 'c1', cache_control: { type: 'ephemeral' } } },
      { container: 'c1', cache_control: { type: 'ephemeral' } },
    ],
  ])('has %s', (_, said, wanted) => {
    expect(bodyOf(said)).toMatchObject(wanted);
    expect(changesOf(said)).toEqual([]);
  });

  it.each<[Partial<ChatRequest>, string[]]>([
    [
      { seed: 1, presencePenalty: 0.5, frequencyPenalty: 0.5, logitBias: { 1: 2 }, logprobs: true, topLogprobs: 3 },
      ['seed', 'presence_penalty', 'frequency_penalty', 'logit_bias', 'logprobs', 'top_logprobs'].map((name) => `${name} dropped`),
    ],
    [{ presencePenalty: 0, frequencyPenalty: 0, logprobs: false, topLogprobs: 0, n: 1 }, []],
    [{ rest: { verbosity: 'low', store: null, api_key: 'x' } }, ['verbosity dropped', 'api_key dropped']],
    [{ rest: { metadata: { team: 'x' }, service_tier: 'flex' } }, ['metadata.team dropped', 'service_tier dropped']],
    [{ rest: { metadata: { user_id: 5 }, service_tier: 'constructor' } }, ['metadata.user_id dropped', 'service_tier dropped']],
    [{ user: 'u1', rest: { metadata: { user_id: 'flex' } } }, ['metadata.user_id dropped']],
    [{ rest: { metadata: 'team' } }, ['metadata dropped']],
    [{ rest: { reasoning: { exclude: true } } }, ['reasoning.exclude dropped']],
    [{ stop: ['END', ' \n'] }, ['stop blank sequences dropped']],
  ])('names the fields that it cannot send: %o', (said, changes) => {
    expect(changesOf(said).sort()).toEqual(changes.sort());
    expect(JSON.stringify(bodyOf(said))).not.toMatch(/seed|penalty|logit|logprobs|verbosity|api_key|team|flex/);
  });

  it('refuses to give several answers', () => {
    expect(() => wireOf({ n: 2 })).toThrow(expect.objectContaining({ status: 400, param: 'n' }));
  });
});

describe('instructions', () => {
  it('at the start become the system text, in any role', () => {
    const messages: Message[] = [
      { role: 'system', content: 'Be brief.' },
      { role: 'developer', content: [{ type: 'text', text: 'Be kind.' }] },
      user,
    ];
    expect(bodyOf({ messages })).toMatchObject({
      system: [
        { type: 'text', text: 'Be brief.' },
        { type: 'text', text: 'Be kind.' },
      ],
      messages: [{ role: 'user' }],
    });
  });

  it('at a later place become part of the user turn', () => {
    expect(
      messagesOf([
        user,
        { role: 'assistant', content: 'Where?' },
        { role: 'system', content: 'Only Rome.' },
        { role: 'user', content: 'Rome' },
      ]),
    ).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'Weather?' }] },
      { role: 'assistant', content: [{ type: 'text', text: 'Where?' }] },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'Only Rome.' },
          { type: 'text', text: 'Rome' },
        ],
      },
    ]);
  });

  it('without other messages are sent as the user', () => {
    const messages: Message[] = [{ role: 'system', content: 'Say hello.' }];
    expect(bodyOf({ messages })).toMatchObject({ messages: [{ role: 'user', content: [{ type: 'text', text: 'Say hello.' }] }] });
    expect(bodyOf({ messages })).not.toHaveProperty('system');
    expect(changesOf({ messages })).toEqual(['messages instructions sent as the user']);
  });
});

describe('the conversation', () => {
  it.each([' ', ''])('ends with an empty user turn (%j), and not with the previous answer', (content) => {
    const messages: Message[] = [user, { role: 'assistant', content: 'Sunny.' }, { role: 'user', content }];
    expect(messagesOf(messages).at(-1)).toEqual({ role: 'user', content: [{ type: 'text', text: '…' }] });
    expect(changesOf({ messages })).toEqual(['messages an empty user message filled in']);
  });

  it('alternates, begins with the user, and has no empty texts', () => {
    const messages: Message[] = [
      { role: 'assistant', content: 'Hi.' },
      user,
      { role: 'user', content: ' ' },
      { role: 'user', content: 'Now?' },
      { role: 'assistant', content: '' },
      { role: 'assistant', content: 'Sunny.' },
      user,
    ];
    expect(messagesOf(messages).map(({ role, content }) => [role, content.length])).toEqual([
      ['user', 1],
      ['assistant', 1],
      ['user', 2],
      ['assistant', 1],
      ['user', 1],
    ]);
    expect(changesOf({ messages })).toEqual(['messages a user message put first']);
  });

  it('has no white space at the end of an answer’s beginning', () => {
    const messages: Message[] = [user, { role: 'assistant', content: 'It is \n' }];
    expect(messagesOf(messages)[1]).toEqual({ role: 'assistant', content: [{ type: 'text', text: 'It is' }] });
    expect(changesOf({ messages })).toEqual(['messages trailing white space removed']);
  });

  it('keeps the texts before the one that ends with white space', () => {
    const content = ['Rain.', 'Sun. '].map((text) => ({ type: 'text', text }));
    expect(messagesOf([user, { role: 'assistant', content }])[1]).toEqual({
      role: 'assistant',
      content: [
        { type: 'text', text: 'Rain.' },
        { type: 'text', text: 'Sun.' },
      ],
    });
  });

  it('names dropped names of speakers', () => {
    expect(changesOf({ messages: [{ ...user, name: 'Ann' }, calling('a'), result('a', '20', { name: 'weather' })] })).toEqual([
      'messages.name dropped',
    ]);
  });

  it('names the dropped images of an earlier answer', () => {
    const drawn: Message = {
      role: 'assistant',
      content: 'Here.',
      images: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }],
    };
    expect(messagesOf([user, drawn, user])[1]).toEqual({ role: 'assistant', content: [{ type: 'text', text: 'Here.' }] });
    expect(changesOf({ messages: [user, drawn, user] })).toEqual(['messages.images dropped']);
  });

  it('repeats a refusal as text of the assistant', () => {
    expect(messagesOf([user, { role: 'assistant', content: null, refusal: 'No.' }, user])[1]).toEqual({
      role: 'assistant',
      content: [{ type: 'text', text: 'No.' }],
    });
  });
});

describe('content', () => {
  it.each<[string, ContentPart, Fields]>([
    [
      'an image by its URL',
      { type: 'image_url', image_url: { url: 'https://x.example/a.png' } },
      { type: 'image', source: { type: 'url', url: 'https://x.example/a.png' } },
    ],
    [
      'an image inline',
      { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
    ],
    [
      'an image inline with parameters',
      { type: 'image_url', image_url: { url: 'data:image/png;name=x;base64,AAAA' } },
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
    ],
    [
      'an image as a bare string',
      { type: 'image_url', image_url: 'https://x.example/a.png' },
      { type: 'image', source: { type: 'url', url: 'https://x.example/a.png' } },
    ],
    [
      'a PDF',
      { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBE' } },
      { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBE' }, title: 'a.pdf' },
    ],
    [
      'a PDF without its type',
      { type: 'file', file: { file_data: 'JVBE' } },
      { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBE' } },
    ],
    [
      'an image in bare base64',
      { type: 'file', file: { filename: 'a.PNG', file_data: 'AAAA' } },
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
    ],
    [
      'a photograph in bare base64',
      { type: 'file', file: { filename: 'my.photo.jpg', file_data: 'AAAA' } },
      { type: 'image', source: { type: 'base64', media_type: 'image/jpeg', data: 'AAAA' } },
    ],
    [
      'a table in bare base64',
      { type: 'file', file: { filename: 'a.csv', file_data: 'w7g=' } },
      { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'ø' }, title: 'a.csv' },
    ],
    [
      'a file with an ending that nobody knows',
      { type: 'file', file: { filename: 'report.v2', file_data: 'JVBE' } },
      { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBE' }, title: 'report.v2' },
    ],
    [
      'a text file',
      { type: 'file', file: { file_data: 'data:text/csv;base64,w7g=' } },
      { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'ø' } },
    ],
    [
      'a file by its URL',
      { type: 'file', file: { file_data: 'https://x.example/a.pdf' } },
      { type: 'document', source: { type: 'url', url: 'https://x.example/a.pdf' } },
    ],
    ['a file by its id', { type: 'file', file: { file_id: 'file_1' } }, { type: 'document', source: { type: 'file', file_id: 'file_1' } }],
    [
      "a block of the provider's own",
      { type: 'search_result', source: 'x', title: 't', content: [] },
      { type: 'search_result', source: 'x', title: 't', content: [] },
    ],
  ])('can be %s', (_, part, block) => {
    expect(userBlocks(part)).toEqual([block]);
  });

  it.each<[string, ContentPart]>([
    ['audio', { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }],
    ['a file of another kind', { type: 'file', file: { file_data: 'data:application/zip;base64,AAAA' } }],
    ['an image on a disk', { type: 'image_url', image_url: { url: 'file:///a.png' } }],
    ['an image without a URL', { type: 'image_url' }],
    ['a file without content', { type: 'file', file: {} }],
  ])('cannot be %s', (_, part) => {
    expect(() => userBlocks(part)).toThrow(expect.objectContaining({ status: 400, param: 'messages' }));
  });

  it('names an image detail that it cannot ask for', () => {
    expect(
      changesOf({
        messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://x.example/a.png', detail: 'high' } }] }],
      }),
    ).toEqual(['messages.content.image_url.detail dropped']);
  });
});

describe('tools', () => {
  it('keep their schema whole', () => {
    expect(bodyOf({ tools: [weather] })['tools']).toEqual([
      { name: 'weather', description: 'Tells it.', input_schema: weather.function?.parameters },
    ]);
  });

  it('without parameters get an empty object', () => {
    expect(bodyOf({ tools: [{ type: 'function', function: { name: 'now' } }] })['tools']).toEqual([
      { name: 'now', input_schema: { type: 'object', properties: {} } },
    ]);
  });

  it('are strict where the model supports it', () => {
    const tools: Tool[] = [
      {
        type: 'function',
        function: { name: 'weather', strict: true, parameters: { type: 'object', properties: { days: { type: 'integer', maximum: 5 } } } },
      },
    ];
    expect(bodyOf({ tools })['tools']).toEqual([
      {
        name: 'weather',
        strict: true,
        input_schema: {
          type: 'object',
          additionalProperties: false,
          properties: { days: { type: 'integer', description: '(maximum: 5)' } },
        },
      },
    ]);
    expect(changesOf({ tools })).toEqual(['tools.function.parameters not enforced: maximum']);
    expect(changesOf({ tools }, older)).toEqual(['tools.function.strict dropped']);
  });

  it('that the provider runs pass, other kinds are refused', () => {
    const tools = [
      { type: 'web_search_20250305', name: 'web_search' },
      { type: 'mcp_toolset', mcp_server_name: 'm' },
    ];
    expect(bodyOf({ tools })['tools']).toEqual(tools);
    expect(() => bodyOf({ tools: [{ type: 'custom', custom: {} }] })).toThrow(expect.objectContaining({ status: 400, param: 'tools' }));
    expect(() => bodyOf({ tools: [{ type: 'function', function: { name: 'answer_in_json' } }] })).toThrow(
      expect.objectContaining({ status: 400, param: 'tools' }),
    );
  });

  it.each<[string, Partial<ChatRequest>, Fields | undefined]>([
    ['nothing said', {}, undefined],
    ['auto', { toolChoice: 'auto' }, { type: 'auto' }],
    ['none', { toolChoice: 'none' }, { type: 'none' }],
    ['required', { toolChoice: 'required' }, { type: 'any' }],
    ['one function', { toolChoice: { type: 'function', function: { name: 'weather' } } }, { type: 'tool', name: 'weather' }],
    ['one at a time', { parallelToolCalls: false }, { type: 'auto', disable_parallel_tool_use: true }],
    [
      'one at a time, and one at least',
      { parallelToolCalls: false, toolChoice: 'required' },
      { type: 'any', disable_parallel_tool_use: true },
    ],
    ['none of one at a time', { parallelToolCalls: false, toolChoice: 'none' }, { type: 'none' }],
    ['several at a time', { parallelToolCalls: true }, undefined],
  ])('are chosen as the caller says: %s', (_, said, choice) => {
    expect(bodyOf({ tools: [weather], ...said })['tool_choice']).toEqual(choice);
  });

  it('have no choice where there are none', () => {
    expect(bodyOf({ tools: [], toolChoice: 'auto', parallelToolCalls: false })).not.toMatchObject({ tool_choice: {} });
  });

  it.each<ChatRequest['toolChoice']>(['required', { type: 'function', function: { name: 'weather' } }])(
    'cannot be forced where there are none, and the reply says so: %j',
    (toolChoice) => {
      expect(changesOf({ toolChoice })).toEqual(['tool_choice dropped']);
    },
  );

  it('change nothing of a request that thinks and leaves the choice to the model', () => {
    expect(changesOf({ tools: [weather] }, { ...sonnet, reasoning: { effort: 'low' } })).toEqual([]);
  });

  it('cannot be forced while thinking', () => {
    const said: Partial<ChatRequest> = { tools: [weather], toolChoice: 'required' };
    expect(bodyOf(said, { ...sonnet, reasoning: { effort: 'low' } })).toMatchObject({
      tool_choice: { type: 'auto' },
      thinking: { type: 'enabled', budget_tokens: 2048 },
    });
    expect(changesOf(said, { ...sonnet, reasoning: { effort: 'low' } })).toEqual(['tool_choice relaxed to auto']);
  });
});

describe('tool turns', () => {
  it('answer the calls of one turn in one user turn, results first', () => {
    const messages = messagesOf([user, calling('a', 'b'), { role: 'user', content: 'Quick!' }, result('b', 'rain'), result('a', 'sun')]);
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
    expect(messages[1]?.['content']).toEqual(['a', 'b'].map((id) => ({ type: 'tool_use', id, name: 'weather', input: { city: 'Rome' } })));
    expect(messages[2]?.['content']).toEqual([
      { type: 'tool_result', tool_use_id: 'b', content: 'rain' },
      { type: 'tool_result', tool_use_id: 'a', content: 'sun' },
      { type: 'text', text: 'Quick!' },
    ]);
  });

  it.each<[string, Message, Fields]>([
    ['nothing', result('a', ''), {}],
    ['an error', result('a', 'no such city', { is_error: true }), { content: 'no such city', is_error: true }],
    [
      'an image',
      result('a', [
        { type: 'text', text: 'Look:' },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
      ]),
      {
        content: [
          { type: 'text', text: 'Look:' },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
        ],
      },
    ],
  ])('can have %s as a result', (_, message, fields) => {
    expect(messagesOf([user, calling('a'), message])[2]?.['content']).toEqual([{ type: 'tool_result', tool_use_id: 'a', ...fields }]);
  });

  it.each(['', ' \n'])('have an ellipsis in the empty result of a failed call: %j', (said) => {
    const messages: Message[] = [user, calling('a'), result('a', said, { is_error: true })];
    expect(messagesOf(messages)[2]?.['content']).toEqual([{ type: 'tool_result', tool_use_id: 'a', content: '…', is_error: true }]);
    expect(changesOf({ messages })).toEqual(['messages an empty tool result filled in']);
  });

  it.each<[string, string, Fields, string[]]>([
    ['an object', '{"a":[1]}', { a: [1] }, []],
    ['nothing', '', {}, []],
    ['half an object', '{"a":', { arguments: '{"a":' }, ['messages.tool_calls.function.arguments wrapped in an object']],
    ['a list', '[1]', { arguments: '[1]' }, ['messages.tool_calls.function.arguments wrapped in an object']],
    [
      'one that is too deep to be written again',
      tooDeep,
      { arguments: tooDeep },
      ['messages.tool_calls.function.arguments wrapped in an object'],
    ],
  ])('give arguments as an object: %s', (_, text, input, changes) => {
    const messages: Message[] = [user, { role: 'assistant', content: 'So:', tool_calls: [call('a', text)] }, result('a')];
    expect(messagesOf(messages)[1]?.['content']).toEqual([
      { type: 'text', text: 'So:' },
      { type: 'tool_use', id: 'a', name: 'weather', input },
    ]);
    expect(changesOf({ messages })).toEqual(changes);
  });

  it('keep the digits of large numbers', () => {
    expect(
      wireOf({ messages: [user, { role: 'assistant', tool_calls: [call('a', '{"id": 9007199254740993}')] }, result('a')] }).body,
    ).toContain('"input":{"id":9007199254740993}');
  });

  it('change ids of other providers, in the same way on call and result', () => {
    const [, calls, results] = messagesOf([
      user,
      calling('functions.weather:0', 'functions.weather:1'),
      result('functions.weather:1'),
      result('functions.weather:0'),
    ]);
    const ids = (calls as Fields)['content'].map(({ id }: Fields) => id as string);
    expect(new Set(ids).size).toBe(2);
    for (const id of ids) expect(id).toMatch(/^[\w-]+$/);
    expect((results as Fields)['content'].map(({ tool_use_id: id }: Fields) => id as string)).toEqual(ids.toReversed());
  });

  it.each(['call_0', 'functions.weather:0'])(
    'have each id once, the same for a call and its result, where a model counts its calls anew in each answer: %s',
    (id) => {
      const sent = messagesOf([user, calling(id), result(id), calling(id, id), result(id), result(id), user]);
      const idsOf = (field: string): string[] =>
        sent.flatMap(({ content }) => content.flatMap((block: Fields) => block[field] ?? []) as string[]);
      expect(new Set(idsOf('id')).size).toBe(3);
      for (const one of idsOf('id')) expect(one).toMatch(/^[\w-]{1,64}$/);
      expect(idsOf('tool_use_id')).toEqual(idsOf('id'));
    },
  );
});

it('a stop reason with the name of a property that every object has ends the answer as completed', () => {
  const content = [{ type: 'text', text: 'Hi.' }];
  const chunks = dialect.decodeBody({ id: 'm', content, stop_reason: 'constructor' }, targetOf('anthropic'));
  expect(chunks.at(-1)).toEqual({ type: 'finish', choice: 0, reason: 'completed', native: 'constructor' });
});

it('a block ends where another of its number begins, so its signature is not lost', () => {
  const decoder = dialect.decoder(targetOf('anthropic', sonnet));
  const thinking = { type: 'thinking', thinking: 'It rains.', signature: 's' };
  decoder.push({ data: JSON.stringify({ type: 'content_block_start', index: 0, content_block: thinking }) });
  expect(
    decoder.push({ data: JSON.stringify({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'Rain.' } }) }),
  ).toMatchObject([{ type: 'reasoning-detail', detail: { text: 'It rains.', signature: 's' } }, { type: 'text-delta' }]);
});

describe('a piece of the input of a call', () => {
  const begun = { type: 'content_block_start', index: 0, content_block: { type: 'tool_use', id: 'a', name: 'delete', input: {} } };
  const ended = { type: 'content_block_stop', index: 0 };

  it.each([
    ['that has not begun', [begun], 1],
    ['that has ended', [begun, ended], 0],
  ])('%s is an error, because the call would go out without it', (_, before, index) => {
    const decoder = dialect.decoder(targetOf('anthropic', sonnet));
    for (const event of before) decoder.push({ data: JSON.stringify(event) });
    const delta = { type: 'input_json_delta', partial_json: '{"path":"/tmp"}' };
    expect(() => decoder.push({ data: JSON.stringify({ type: 'content_block_delta', index, delta }) })).toThrow(
      'The provider sent a part of a tool call that has not begun.',
    );
  });
});

describe('structured answers', () => {
  const schema = { type: 'object', properties: { city: { type: 'string', minLength: 2 } }, required: ['city'] };
  const asked: Partial<ChatRequest> = { responseFormat: { type: 'json_schema', json_schema: { name: 'place', schema, strict: true } } };
  const single = { type: 'tool', name: 'answer_in_json', disable_parallel_tool_use: true };

  it('use the schema of the API where it has one', () => {
    expect(bodyOf(asked)).toMatchObject({
      output_config: { format: { type: 'json_schema', schema: { type: 'object', additionalProperties: false, required: ['city'] } } },
    });
    expect(bodyOf(asked)).not.toHaveProperty('tools');
    expect(changesOf(asked)).toEqual(['response_format not enforced: minLength']);
  });

  it('work together with an effort', () => {
    expect(bodyOf(asked, { externalId: 'claude-opus-4-8', reasoning: { effort: 'low' } })['output_config']).toMatchObject({
      effort: 'low',
      format: { type: 'json_schema' },
    });
  });

  it('are the arguments of a tool where the API has no schema', () => {
    expect(bodyOf(asked, older)).toMatchObject({ tools: [{ name: 'answer_in_json', input_schema: schema }], tool_choice: single });
    expect(changesOf(asked, older)).toEqual([]);
  });

  it('are the arguments of a tool where the schema has a map, which the API can only leave empty', () => {
    const prices = { type: 'object', properties: { prices: { type: 'object', additionalProperties: { type: 'number' } } } };
    const responseFormat = { type: 'json_schema', json_schema: { name: 'prices', schema: prices } };
    expect(bodyOf({ responseFormat })).toMatchObject({ tools: [{ name: 'answer_in_json', input_schema: prices }], tool_choice: single });
    expect(bodyOf({ responseFormat })).not.toHaveProperty('output_config');
    expect(changesOf({ responseFormat })).toEqual([]);
  });

  it('turn thinking off where they need the tool', () => {
    expect(bodyOf(asked, { ...older, reasoning: { effort: 'high' } })).toMatchObject({ tool_choice: single });
    expect(changesOf(asked, { ...older, reasoning: { effort: 'high' } })).toEqual(['reasoning_effort dropped']);
  });

  it("keep the caller's tools for the model", () => {
    expect(bodyOf({ ...asked, tools: [weather] }, older)).toMatchObject({
      tools: [{ name: 'weather' }, { name: 'answer_in_json' }],
      tool_choice: { type: 'any', disable_parallel_tool_use: true },
    });
    expect(bodyOf({ ...asked, tools: [weather], toolChoice: 'none' }, older)).toMatchObject({ tool_choice: single });
    expect(bodyOf({ ...asked, tools: [weather], toolChoice: { type: 'function', function: { name: 'weather' } } }, older)).toMatchObject({
      tool_choice: { type: 'tool', name: 'weather' },
    });
  });

  it('of any form are the arguments of a tool', () => {
    expect(bodyOf({ responseFormat: { type: 'json_object' } })).toMatchObject({
      tools: [{ name: 'answer_in_json', input_schema: { type: 'object' } }],
      tool_choice: single,
    });
  });

  it('are alone in a plain answer, without the text beside the call of the tool', () => {
    const content = [
      { type: 'text', text: 'Here it is:' },
      { type: 'tool_use', id: 't', name: 'answer_in_json', input: { city: 'Rome' } },
    ];
    const chunks = dialect.decodeBody({ id: 'm', content, stop_reason: 'tool_use' }, targetOf('anthropic', sonnet));
    expect(chunks).toEqual([
      { type: 'text-delta', choice: 0, text: '{"city":"Rome"}' },
      { type: 'finish', choice: 0, reason: 'completed', native: 'tool_use' },
    ]);
  });

  const answerCall = (at: number, input: object): object[] => [
    { type: 'content_block_start', index: at, content_block: { type: 'tool_use', id: `t${at}`, name: 'answer_in_json', input: {} } },
    { type: 'content_block_delta', index: at, delta: { type: 'input_json_delta', partial_json: JSON.stringify(input) } },
    { type: 'content_block_stop', index: at },
  ];

  it('are those of the first call, where a server lets the model call the tool again', () => {
    const content = ['Rome', 'Oslo'].map((city) => ({ type: 'tool_use', id: city, name: 'answer_in_json', input: { city } }));
    const whole = dialect.decodeBody({ id: 'm', content, stop_reason: 'tool_use' }, targetOf('anthropic', sonnet));
    const decoder = dialect.decoder(targetOf('anthropic', sonnet));
    const streamed = [...answerCall(0, { city: 'Rome' }), ...answerCall(1, { city: 'Oslo' })].flatMap((event) =>
      decoder.push({ data: JSON.stringify(event) }),
    );
    const said = [{ type: 'text-delta', choice: 0, text: '{"city":"Rome"}' }];
    expect(whole.filter(({ type }) => type === 'text-delta')).toEqual(said);
    expect(streamed).toEqual(said);
  });

  it('of any form are asked for without force while thinking', () => {
    const thinking: TargetWishes = { ...sonnet, reasoning: { effort: 'low' } };
    expect(bodyOf({ responseFormat: { type: 'json_object' } }, thinking)).toMatchObject({
      tool_choice: { type: 'auto', disable_parallel_tool_use: true },
      thinking: { type: 'enabled' },
    });
    expect(changesOf({ responseFormat: { type: 'json_object' } }, thinking)).toEqual(['response_format asked for, not enforced']);
  });

  it('of plain text change nothing, and unknown kinds are refused', () => {
    expect(bodyOf({ responseFormat: { type: 'text' } })).toEqual(bodyOf({}));
    expect(() => bodyOf({ responseFormat: { type: 'grammar' } })).toThrow(
      expect.objectContaining({ status: 400, param: 'response_format' }),
    );
  });
});

describe('cache breakpoints', () => {
  const mark = { cache_control: { type: 'ephemeral', ttl: '1h' } };

  it('stay where the caller set them, with their time to live', () => {
    const body = bodyOf({
      tools: [{ ...weather, ...mark }],
      messages: [
        { role: 'system', content: [{ type: 'text', text: 'Long.', ...mark }] },
        { role: 'user', content: 'Also long.', ...mark },
        calling('a'),
        result('a', '20', mark),
      ],
    });
    expect(
      [body['tools'][0], body['system'][0], body['messages'][0].content[0], body['messages'][2].content[0]].map(
        (block) => (block as Fields)['cache_control'] as unknown,
      ),
    ).toEqual(Array(4).fill(mark.cache_control));
  });

  it.each([null, 'I look.'])('of a whole message that calls tools are on its last call (%j)', (content) => {
    const body = bodyOf({ messages: [user, { ...calling('a', 'b'), content, ...mark }, result('a'), result('b')] });
    const marks = (body['messages'][1].content as Fields[]).map((block) => block['cache_control'] as unknown);
    expect(marks).toEqual([...Array(content === null ? 1 : 2).fill(undefined), mark.cache_control]);
  });

  it('are four at most', () => {
    const messages: Message[] = [
      { role: 'user', content: Array.from({ length: 6 }, (_, at) => ({ type: 'text', text: `${at}`, ...mark })) },
    ];
    expect(messagesOf(messages)[0]?.['content'].map((block: Fields) => 'cache_control' in block)).toEqual([
      true,
      true,
      true,
      true,
      false,
      false,
    ]);
    expect(changesOf({ messages })).toEqual(['cache_control dropped beyond 4']);
  });

  it('on an empty text are dropped with it', () => {
    expect(userBlocks({ type: 'text', text: '', ...mark }, { type: 'text', text: 'a' })).toEqual([{ type: 'text', text: 'a' }]);
  });
});
