import { describe, expect, it } from 'vitest';
import type { ChatRequest, Message, ReasoningDetail, ToolCall } from '../../../../core/chat.ts';
import type { Dialect, WireRequest } from '../../../../core/wire/dialect.ts';
import plugin from '../../../../plugins/dialects/openai-chat/index.ts';
import { cpuMsOf } from '../../../_kit/cpu.ts';
import { describeDialect, requestOf, type TargetWishes, targetOf, testKey } from '../../../contract/dialect.ts';

const dialects = new Map((plugin.dialects ?? []).map((dialect) => [dialect.name, dialect]));

const fixtures = new URL('../../../fixtures/openai-chat/', import.meta.url).pathname;
for (const dialect of dialects.values()) describeDialect({ dialect, fixtures: fixtures + dialect.name });

const dialectNamed = (name: string): Dialect => dialects.get(name) as Dialect;

const wireOf = (name: string, said: Partial<ChatRequest>, wishes?: TargetWishes): WireRequest =>
  dialectNamed(name).encode(requestOf(said), targetOf(name, wishes));

const bodyOf = (name: string, said: Partial<ChatRequest>, wishes?: TargetWishes): Record<string, unknown> =>
  JSON.parse(wireOf(name, said, wishes).body) as Record<string, unknown>;

const credentialsOf = (name: string, wishes?: TargetWishes): object =>
  dialectNamed(name).authorise?.(targetOf(name, wishes).provider) ?? {};

const messagesOf = (name: string, messages: Message[], wishes?: TargetWishes): Message[] =>
  bodyOf(name, { messages }, wishes)['messages'] as Message[];

const changesOf = (name: string, said: Partial<ChatRequest>, wishes?: TargetWishes): string[] =>
  wireOf(name, said, wishes).adjustments.map(({ parameter, change }) => `${parameter} ${change}`);

describe('where a request goes', () => {
  it('has the key as a bearer token, apart from the request', () => {
    expect(credentialsOf('openai')).toEqual({ authorization: `Bearer ${testKey}` });
    expect(wireOf('openai', {}).headers).toEqual({ 'content-type': 'application/json' });
  });

  it('has no key where there is none', () => {
    expect(credentialsOf('vllm', { provider: { apiKey: null } })).toEqual({});
  });

  it("has Azure's key and version where Azure reads them", () => {
    expect(credentialsOf('azure')).toEqual({ 'api-key': testKey });
    expect(wireOf('azure', {}, { provider: { settings: { api_version: '2024-12-01-preview' } } }).path).toBe(
      '/chat/completions?api-version=2024-12-01-preview',
    );
    expect(wireOf('azure', {}).path).toBe('/chat/completions');
  });

  it.each([
    ['openai-chat', true],
    ['ollama', true],
    ['vllm', true],
    ['openai', false],
  ])('may have no key for %s: %s', (name, keyless) => {
    expect(dialectNamed(name).keyless).toBe(keyless);
  });
});

describe('the body', () => {
  it('has the fields of the caller and no others', () => {
    expect(bodyOf('openai', {})).toEqual({ model: 'model-1', messages: [{ role: 'user', content: 'Hello' }], stream: false });
  });

  it('passes unknown fields through, but no fields that name keys and addresses', () => {
    const settings = { api_key: 'x', api_base: 'x', base_url: 'x', extra_headers: {}, headers: {}, user_config: {} };
    const wire = wireOf('openai-chat', { rest: { top_k: 40, ...settings } });
    expect(JSON.parse(wire.body)).toMatchObject({ top_k: 40 });
    expect(wire.body).not.toMatch(/api_|headers|user_config/);
    expect(wire.adjustments.map(({ parameter }) => parameter)).toEqual(Object.keys(settings));
  });

  it('asks for usage in a stream where the vendor supports it', () => {
    expect(bodyOf('deepseek', { stream: true })).toMatchObject({ stream: true, stream_options: { include_usage: true } });
    for (const vendor of ['mistral', 'databricks']) expect(bodyOf(vendor, { stream: true }), vendor).not.toHaveProperty('stream_options');
    expect(bodyOf('deepseek', {})).not.toHaveProperty('stream_options');
  });

  it.each([
    ['openai', 'gpt-4o', 'max_completion_tokens'],
    ['azure', 'gpt-4o', 'max_tokens'],
    ['azure', 'o3', 'max_completion_tokens'],
    ['groq', 'llama-3.3-70b', 'max_completion_tokens'],
    ['mistral', 'mistral-large', 'max_tokens'],
    ['openai-chat', 'gpt-5', 'max_tokens'],
  ])('limits tokens of %s %s with %s', (name, externalId, field) => {
    expect(bodyOf(name, { maxTokens: 50 }, { externalId })).toMatchObject({ [field]: 50 });
  });

  it.each<[string, Partial<ChatRequest>, object, string[]]>([
    ['mistral', { seed: 7, toolChoice: 'required', n: 2 }, { random_seed: 7, tool_choice: 'any', n: 2 }, []],
    ['mistral', { user: 'u', logitBias: { 5: 1 } }, {}, ['logit_bias dropped', 'user dropped']],
    ['groq', { n: 1, logprobs: true }, {}, ['logprobs dropped']],
    ['groq', { logprobs: false, topLogprobs: 0 }, {}, []],
    ['sambanova', { presencePenalty: 0 }, {}, []],
    [
      'groq',
      { rest: { metadata: { a: 'b' }, prompt_cache_key: 'k', verbosity: 'low', service_tier: 'flex' } },
      { service_tier: 'flex' },
      ['metadata dropped', 'prompt_cache_key dropped', 'verbosity dropped'],
    ],
    [
      'mistral',
      { rest: { store: false, verbosity: 'low', safety_identifier: 'u', safe_prompt: true } },
      { safe_prompt: true },
      ['store dropped', 'verbosity dropped', 'safety_identifier dropped'],
    ],
    ['groq', { rest: { metadata: null, prompt_cache_key: null } }, {}, []],
    [
      'cerebras',
      { logitBias: { 5: 1 }, rest: { metadata: { a: 'b' }, store: true } },
      {},
      ['metadata dropped', 'store dropped', 'logit_bias dropped'],
    ],
    ['zai', { temperature: 1.5 }, { temperature: 1 }, ['temperature clamped to 1']],
    ['mistral', { temperature: 2 }, { temperature: 1.5 }, ['temperature clamped to 1.5']],
    ['zai', { temperature: 0.5 }, { temperature: 0.5 }, []],
    ['ollama', { n: 1, user: 'u', logitBias: { 5: 1 }, seed: 7 }, { seed: 7 }, ['logit_bias dropped', 'user dropped']],
    ['perplexity', { stop: 'x', temperature: 1 }, { temperature: 1 }, ['stop dropped']],
    ['fireworks', { logprobs: true, topLogprobs: 3 }, { logprobs: 3 }, []],
    ['fireworks', { responseFormat: { type: 'text' }, logprobs: false }, {}, []],
    ['openai', { tools: [], responseFormat: { type: 'json_object' } }, { response_format: { type: 'json_object' } }, []],
    ['openai', { tools: [], toolChoice: 'auto', parallelToolCalls: false }, {}, []],
    ['openai', { toolChoice: 'none', parallelToolCalls: true }, {}, []],
    ['openai', { stop: [] }, {}, []],
    ['perplexity', { stop: [] }, {}, []],
    ['openai', { toolChoice: 'required' }, { tool_choice: 'required' }, []],
  ])('has the fields that %s expects: %j', (name, said, wanted, changes) => {
    const { model: _, messages: _messages, stream: _stream, ...sent } = bodyOf(name, said);
    expect(sent).toEqual(wanted);
    expect(changesOf(name, said)).toEqual(changes);
  });

  it('has no $schema in tools for Moonshot', () => {
    const tools = [{ type: 'function', function: { name: 'f', parameters: { $schema: 'x', type: 'object', properties: {} } } }];
    expect(bodyOf('moonshot', { tools })['tools']).toEqual([
      { type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } },
    ]);
    expect(bodyOf('openai', { tools })['tools']).toEqual(tools);
  });

  it.each<[string, object, object]>([
    [
      'without properties',
      { type: 'object', additionalProperties: false },
      { type: 'object', properties: {}, additionalProperties: false },
    ],
    ['without anything', {}, { type: 'object', properties: {} }],
    ['of a choice', { anyOf: [{ type: 'object' }] }, { anyOf: [{ type: 'object' }] }],
    ['that is a reference', { $ref: '#/$defs/a', $defs: { a: {} } }, { $ref: '#/$defs/a', $defs: { a: {} } }],
  ])('has properties in the schema of each tool: one %s', (_, parameters, sent) => {
    expect(bodyOf('openai', { tools: [{ type: 'function', function: { name: 'f', parameters } }] })['tools']).toEqual([
      { type: 'function', function: { name: 'f', parameters: sent } },
    ]);
  });
});

it.each(['kimi-k2.5', 'kimi-k2.6', 'kimi-k2.7-code', 'kimi-k3'])(
  '%s gets none of the parameters with fixed values at Moonshot',
  (externalId) => {
    const said = { temperature: 0.2, topP: 0.9, presencePenalty: 1, frequencyPenalty: 1, n: 1, seed: 7 };
    expect(changesOf('moonshot', said, { externalId })).toEqual([
      'temperature dropped',
      'top_p dropped',
      'presence_penalty dropped',
      'frequency_penalty dropped',
    ]);
    expect(bodyOf('moonshot', { ...said, n: 2 }, { externalId: 'moonshot-v1-8k' })).toMatchObject({ temperature: 0.2, top_p: 0.9, n: 2 });
  },
);

it.each([
  ['groq', 'llama-3.3-70b'],
  ['cohere', 'command-a'],
  ['minimax', 'minimax-m2'],
  ['perplexity', 'sonar'],
  ['ollama', 'llama3'],
  ['moonshot', 'kimi-k2.6'],
])('%s is not asked for several answers, because it would give one', (name, externalId) => {
  expect(() => bodyOf(name, { n: 2 }, { externalId })).toThrow(
    expect.objectContaining({ status: 400, code: 'unsupported_value', param: 'n', upstreamStatus: null }),
  );
});

it.each([
  'grok-4.20-reasoning',
  'grok-4.20-non-reasoning',
  'grok-4.20-0309-reasoning',
  'grok-4.20-0309-non-reasoning',
  'grok-4.20-beta-0309-reasoning',
])('%s gets neither an effort nor penalties, which xAI refuses', (externalId) => {
  const wishes: TargetWishes = { externalId, reasoning: { effort: 'low' } };
  expect(changesOf('xai', { temperature: 0.2, presencePenalty: 1, frequencyPenalty: 1 }, wishes)).toEqual([
    'presence_penalty dropped',
    'frequency_penalty dropped',
    'reasoning_effort dropped',
  ]);
});

describe("OpenAI's reasoning models", () => {
  const sampling = { temperature: 0.2, topP: 0.9, presencePenalty: 1 };

  it.each(['o1', 'o3-mini', 'o4-mini-2025-04-16', 'gpt-5', 'gpt-5-nano', 'gpt-5.1-codex', 'gpt-6'])(
    'get no sampling parameters: %s',
    (externalId) => {
      expect(changesOf('openai', sampling, { externalId })).toEqual(['temperature dropped', 'top_p dropped', 'presence_penalty dropped']);
    },
  );

  it.each(['gpt-4o-search-preview', 'gpt-4o-mini-search-preview-2025-03-11'])(
    'are not the only models without sampling parameters: %s gets none either',
    (externalId) => {
      expect(changesOf('openai', { ...sampling, frequencyPenalty: 1 }, { externalId })).toEqual([
        'temperature dropped',
        'top_p dropped',
        'presence_penalty dropped',
        'frequency_penalty dropped',
      ]);
    },
  );

  it.each(['gpt-4o', 'gpt-4.1', 'gpt-5-chat-latest', 'gpt-35-turbo', 'ft:gpt-5:x', 'omni', 'chatgpt-4o-latest'])(
    'do not include %s',
    (externalId) => {
      expect(bodyOf('openai', sampling, { externalId })).toMatchObject({ temperature: 0.2, top_p: 0.9, presence_penalty: 1 });
      expect(changesOf('openai', sampling, { externalId })).toEqual([]);
    },
  );

  it('keep temperature and top_p from gpt-5.1 on while they do not think', () => {
    const off: TargetWishes = { externalId: 'gpt-5.2', reasoning: { effort: 'none' } };
    expect(bodyOf('openai', sampling, off)).toMatchObject({ temperature: 0.2, top_p: 0.9, reasoning_effort: 'none' });
    expect(changesOf('openai', sampling, off)).toEqual(['presence_penalty dropped']);
    for (const externalId of ['gpt-5.1', 'gpt-5.2-2025-12-11', 'gpt-5.4']) {
      expect(bodyOf('openai', sampling, { externalId })).toMatchObject({ temperature: 0.2, top_p: 0.9 });
    }
    expect(changesOf('openai', { temperature: 1 }, { ...off, externalId: 'gpt-5' })).toEqual(['temperature dropped']);
  });

  it('are recognised on Azure by the catalogue where the deployment does not name the model', () => {
    expect(changesOf('azure', { temperature: 1 }, { externalId: 'prod-1', modelId: 'gpt-5-mini' })).toEqual(['temperature dropped']);
  });

  it('are not recognised at other vendors', () => {
    expect(changesOf('openai-chat', { temperature: 1 }, { externalId: 'gpt-5' })).toEqual([]);
  });
});

describe('roles', () => {
  const messages: Message[] = [
    { role: 'system', content: 'a' },
    { role: 'developer', content: 'b' },
    { role: 'user', content: 'c' },
    { role: 'system', content: 'd' },
  ];

  it.each([
    ['openai', 'gpt-5', ['developer', 'developer', 'user', 'system']],
    ['openai', 'gpt-4o', ['system', 'developer', 'user', 'system']],
    ['openai', 'o1-mini', ['user', 'user', 'user', 'system']],
    ['deepseek', 'deepseek-chat', ['system', 'system', 'user', 'system']],
    ['openai-chat', 'gpt-5', ['system', 'system', 'user', 'system']],
  ])('of instructions at %s %s', (name, externalId, wanted) => {
    expect(messagesOf(name, messages, { externalId }).map(({ role }) => role)).toEqual(wanted);
  });
});

describe('content of messages', () => {
  it('becomes a string where a vendor expects one and it is only text', () => {
    const parts = [
      { type: 'text', text: 'a' },
      { type: 'text', text: 'b' },
    ];
    const image = { type: 'image_url', image_url: { url: 'data:,' } };
    expect(messagesOf('perplexity', [{ role: 'user', content: parts }])[0]?.content).toBe('a\nb');
    expect(
      messagesOf('groq', [
        { role: 'system', content: parts },
        { role: 'user', content: parts },
      ]).map(({ content }) => content),
    ).toEqual(['a\nb', parts]);
    expect(messagesOf('perplexity', [{ role: 'user', content: [...parts, image] }])[0]?.content).toEqual([...parts, image]);
  });

  it('loses the fields that a vendor refuses, and the reply names each once', () => {
    const messages: Message[] = [
      {
        role: 'user',
        name: 'Ada',
        content: [
          { type: 'text', text: 'a', cache_control: { type: 'ephemeral' } },
          { type: 'image_url', cache_control: {} },
        ],
      },
    ];
    expect(messagesOf('openrouter', messages)).toEqual(messages);
    expect(changesOf('groq', { messages })).toEqual(['messages.content.cache_control dropped', 'messages.name dropped']);
    expect(JSON.stringify(messagesOf('groq', messages))).not.toContain('cache_control');
  });

  it('has no cache breakpoint anywhere where a vendor refuses them', () => {
    const marked = { cache_control: { type: 'ephemeral' } };
    const named = { name: 'f', ...marked };
    const request = {
      rest: marked,
      tools: [
        { type: 'function', function: { name: 'g' }, ...marked },
        { type: 'function', function: named },
      ],
      messages: [
        {
          role: 'assistant' as const,
          content: null,
          tool_calls: [{ id: 'c', type: 'function' as const, function: { name: 'f', arguments: '{}' }, ...marked }],
        },
        { role: 'tool' as const, tool_call_id: 'c', content: '1' },
      ],
    };
    for (const name of ['openai', 'fireworks']) expect(wireOf(name, request).body).not.toContain('cache_control');
    expect(changesOf('openai', request)).toEqual([
      'cache_control dropped',
      'messages.tool_calls.cache_control dropped',
      'tools.cache_control dropped',
      'tools.function.cache_control dropped',
    ]);
    expect(bodyOf('openrouter', request)).toMatchObject({
      ...marked,
      tools: [marked, { function: named }],
      messages: [{ tool_calls: [marked] }, {}],
    });
  });

  it('has no empty list and no empty arguments, which servers refuse', () => {
    const messages: Message[] = [
      { role: 'user', content: [] },
      {
        role: 'assistant',
        content: [],
        tool_calls: ['', ' \n', '{"a":1}'].map((text, at) => ({
          id: `c${at}`,
          type: 'function',
          function: { name: 'f', arguments: text },
        })),
      },
      ...['c0', 'c1', 'c2'].map((id): Message => ({ role: 'tool', tool_call_id: id, content: [] })),
    ];
    for (const name of ['openai-chat', 'openai', 'vllm', 'mistral']) {
      const [asked, said, result] = messagesOf(name, messages);
      expect([asked?.content, said?.content, result?.content]).toEqual(['', '', '']);
      expect(said?.tool_calls?.map((call) => call.function.arguments)).toEqual(['{}', '{}', '{"a":1}']);
    }
  });

  it('goes into a user message where a tool returned images, any number of them', () => {
    const content = Array.from({ length: 150_000 }, () => ({ type: 'image_url', image_url: { url: 'https://a.example/b.png' } }));
    const messages: Message[] = [
      { role: 'assistant', tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } }] },
      { role: 'tool', tool_call_id: 'c1', content },
    ];
    expect((bodyOf('openai', { form: 'messages', messages })['messages'] as Message[])[2]).toMatchObject({
      role: 'user',
      content: { length: 150_001 },
    });
  });

  it('gets ids of nine characters at Mistral, the same for a call and its result', () => {
    const [turn, first, second] = messagesOf('mistral', [
      {
        role: 'assistant',
        content: null,
        tool_calls: ['tooluse_Ab-1', 'tooluse_Ab-2', 'D681PevKs'].map((id) => ({
          id,
          type: 'function',
          function: { name: 'f', arguments: '{}' },
        })),
      },
      { role: 'tool', tool_call_id: 'tooluse_Ab-1', content: '1' },
      { role: 'tool', tool_call_id: 'tooluse_Ab-2', content: '2' },
      { role: 'tool', tool_call_id: 'D681PevKs', content: '3' },
    ]);
    const ids = turn?.tool_calls?.map(({ id }) => id) ?? [];
    expect(ids).toEqual([expect.stringMatching(/^[a-zA-Z0-9]{9}$/), expect.stringMatching(/^[a-zA-Z0-9]{9}$/), 'D681PevKs']);
    expect(ids.slice(0, 2)).toEqual([first?.tool_call_id, second?.tool_call_id]);
    expect(new Set(ids).size).toBe(3);
  });

  it.each(['openai', 'azure'])('gets ids of no more than 40 characters at %s, the same for a call and its result', (name) => {
    const long = ['1', '2'].map((end) => `chatcmpl-tool-${'a'.repeat(31)}${end}`);
    const [turn, ...results] = messagesOf(name, [
      {
        role: 'assistant',
        content: null,
        tool_calls: [...long, 'call_short'].map((id) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } })),
      },
      ...[...long, 'call_short'].map((id): Message => ({ role: 'tool', tool_call_id: id, content: '1' })),
    ]);
    const ids = turn?.tool_calls?.map(({ id }) => id) ?? [];
    expect(ids).toEqual([expect.stringMatching(/^call_[\w-]{1,35}$/), expect.stringMatching(/^call_[\w-]{1,35}$/), 'call_short']);
    expect(ids).toEqual(results.map(({ tool_call_id: id }) => id));
    expect(new Set(ids).size).toBe(3);
  });
});

it('an assistant message is added between tool results and a user message for Mistral, which refuses that order', () => {
  const call: Message = {
    role: 'assistant',
    content: null,
    tool_calls: ['a', 'b'].map((id) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } })),
  };
  const results: Message[] = ['a', 'b'].map((id) => ({ role: 'tool', tool_call_id: id, content: '1' }));
  const messages: Message[] = [
    { role: 'user', content: 'Go.' },
    call,
    ...results,
    { role: 'user', content: 'And?' },
    { role: 'user', content: 'Well?' },
  ];
  expect(messagesOf('mistral', messages).map(({ role }) => role)).toEqual([
    'user',
    'assistant',
    'tool',
    'tool',
    'assistant',
    'user',
    'user',
  ]);
  expect(changesOf('mistral', { messages })).toEqual(['messages an assistant message put after tool results']);
  expect(messagesOf('openai', messages)).toHaveLength(messages.length);
});

it('consecutive messages of one role are joined for Perplexity, which expects turns', () => {
  const image = { type: 'image_url', image_url: { url: 'https://x.example/a.png' } };
  const messages: Message[] = [
    { role: 'system', content: 'a' },
    { role: 'user', content: 'b' },
    { role: 'user', content: [{ type: 'text', text: 'c' }] },
    { role: 'user', content: [image] },
    { role: 'assistant', content: 'd' },
    { role: 'user', content: 'e' },
  ];
  expect(messagesOf('perplexity', messages)).toEqual([
    { role: 'system', content: 'a' },
    { role: 'user', content: [{ type: 'text', text: 'b' }, { type: 'text', text: 'c' }, image] },
    { role: 'assistant', content: 'd' },
    { role: 'user', content: 'e' },
  ]);
  expect(changesOf('perplexity', { messages })).toEqual(['messages those of one role in a row joined']);
  expect(changesOf('perplexity', { messages: messages.slice(4) })).toEqual([]);
});

it('messages joined for Perplexity keep their calls, and a text stays a text', () => {
  const call = (id: string): ToolCall => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } });
  const messages: Message[] = [
    { role: 'assistant', content: 'a' },
    { role: 'assistant', content: null, tool_calls: [call('b')] },
  ];
  expect(messagesOf('perplexity', messages).slice(0, 1)).toEqual([{ role: 'assistant', content: 'a', tool_calls: [call('b')] }]);
});

it('tens of thousands of messages are joined for Perplexity in linear time', () => {
  const messages = Array.from({ length: 40_000 }, (): Message => ({
    role: 'user',
    content: [{ type: 'image_url', image_url: { url: 'x' } }],
  }));
  expect(cpuMsOf(() => expect(messagesOf('perplexity', messages)[0]?.content).toHaveLength(40_000))).toBeLessThan(2000);
});

it.each([
  ['openrouter', true],
  ['alibaba', true],
  ['zai', false],
])('a cache breakpoint of a caller of the Messages API goes to %s: %s', (name, isTaken) => {
  const marked = { type: 'text', text: 'Long.', cache_control: { type: 'ephemeral' } };
  const said: Partial<ChatRequest> = { form: 'anthropic', messages: [{ role: 'user', content: [marked] }] };
  expect(JSON.parse(wireOf(name, said).body)).toMatchObject({
    messages: [{ content: [isTaken ? marked : { type: 'text', text: 'Long.' }] }],
  });
  expect(changesOf(name, said)).toEqual(isTaken ? [] : ['messages.content.cache_control dropped']);
});

describe('an answer that comes back as the gateway gave it', () => {
  it('has no sources, which only answers have', () => {
    const [, answer] = messagesOf('openai', [
      { role: 'user', content: 'Who?' },
      { role: 'assistant', content: 'She.', citations: ['https://x.example'], search_results: [{ url: 'https://x.example' }] },
      { role: 'user', content: 'Sure?' },
    ]);
    expect(answer).toEqual({ role: 'assistant', content: 'She.' });
  });

  it('has OpenRouter’s text of a file for OpenRouter only, so that it does not read and bill the file again', () => {
    const file = { type: 'file', file: { hash: 'a1', name: 'a.pdf', content: [{ type: 'text', text: 'Page 1' }] } };
    const messages: Message[] = [
      { role: 'assistant', content: 'A page.', annotations: [{ type: 'url_citation', url_citation: { url: 'https://x.example' } }, file] },
    ];
    expect(messagesOf('openrouter', messages)).toEqual([{ role: 'assistant', content: 'A page.', annotations: [file] }]);
    for (const name of ['openai', 'openai-chat']) expect(messagesOf(name, messages)).toEqual([{ role: 'assistant', content: 'A page.' }]);
  });
});

describe('reasoning of earlier answers', () => {
  const detail = { type: 'reasoning.text', text: 'Hm.', signature: 'c2ln', format: 'f', index: 0 } as const;
  const answer: Message = {
    role: 'assistant',
    content: 'Yes.',
    refusal: null,
    annotations: [],
    reasoning: 'Hm.',
    reasoning_content: 'Hm.',
    reasoning_details: [{ ...detail, provider: 'openrouter' }, { ...detail, provider: 'elsewhere' }, detail],
  };
  const plain = { role: 'assistant', content: 'Yes.' };

  it.each<[string, string, object]>([
    ['openai', 'gpt-5', plain],
    ['openai-chat', 'any', plain],
    ['mistral', 'magistral', plain],
    ['deepseek', 'deepseek-r1', plain],
    ['groq', 'qwen3', plain],
    ['deepseek', 'deepseek-v4', { ...plain, reasoning_content: 'Hm.' }],
    ['deepseek', 'deepseek-reasoner', { ...plain, reasoning_content: 'Hm.' }],
    ['moonshot', 'kimi-k3', { ...plain, reasoning_content: 'Hm.' }],
    ['zai', 'glm-4.7', { ...plain, reasoning_content: 'Hm.' }],
    ['fireworks', 'accounts/fireworks/models/kimi-k2p5', { ...plain, reasoning_content: 'Hm.' }],
    ['groq', 'openai/gpt-oss-120b', { ...plain, reasoning: 'Hm.' }],
    ['vllm', 'qwen3', { ...plain, reasoning: 'Hm.' }],
    ['openrouter', 'anthropic/claude-sonnet-4.5', { ...plain, reasoning_details: [detail] }],
  ])('goes to %s %s in its own field or not at all', (name, externalId, wanted) => {
    expect(messagesOf(name, [answer], { externalId })).toEqual([wanted]);
  });

  it.each(['deepseek-v4', 'deepseek-flash'])('is blank for %s where an answer had none', (externalId) => {
    expect(messagesOf('deepseek', [{ role: 'assistant', content: 'Yes.' }], { externalId })).toEqual([{ ...plain, reasoning_content: '' }]);
  });

  it('has a refusal for OpenAI, and a text for servers that may not support refusals', () => {
    const refused: Message[] = [
      { role: 'assistant', content: null, refusal: 'No.' },
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'Well.' },
          { type: 'refusal', refusal: 'No.' },
        ],
      },
    ];
    expect(messagesOf('openai', refused)).toEqual(refused);
    expect(messagesOf('mistral', refused)).toEqual([
      { role: 'assistant', content: 'No.' },
      { role: 'assistant', content: 'Well.\nNo.' },
    ]);
  });

  it('has an empty text where an answer had only reasoning, and none beside a refusal', () => {
    expect(
      messagesOf('openai', [
        { role: 'assistant', content: null, reasoning: 'Hm.' },
        { role: 'assistant', reasoning: 'Hm.' },
      ]),
    ).toEqual([
      { role: 'assistant', content: '' },
      { role: 'assistant', content: '' },
    ]);
    expect(messagesOf('openai', [{ role: 'assistant', content: null, refusal: 'No.' }])).toEqual([
      { role: 'assistant', content: null, refusal: 'No.' },
    ]);
  });
});

describe('reasoning that came in the pieces of a stream', () => {
  const piece = (more: object): ReasoningDetail => ({
    type: 'reasoning.text',
    format: 'f',
    index: 0,
    provider: 'openrouter',
    model: 'model-1',
    ...more,
  });
  const sentBack = (...details: ReasoningDetail[]): unknown =>
    messagesOf('openrouter', [{ role: 'assistant', content: 'Yes.', reasoning_details: details }])[0]?.reasoning_details;

  it('goes back whole, because its signature signs the whole text', () => {
    expect(sentBack(piece({ text: 'Let', signature: null }), piece({ text: ' me.' }), piece({ text: null, signature: 'c2ln' }))).toEqual([
      { type: 'reasoning.text', format: 'f', index: 0, text: 'Let me.', signature: 'c2ln' },
    ]);
    expect(
      sentBack(
        piece({ type: 'reasoning.summary', summary: 'A' }),
        piece({ type: 'reasoning.summary', summary: 'b.' }),
        piece({ type: 'reasoning.encrypted', data: 'ZW5j' }),
      ),
    ).toEqual([
      { type: 'reasoning.summary', format: 'f', index: 0, summary: 'Ab.' },
      { type: 'reasoning.encrypted', format: 'f', index: 0, data: 'ZW5j' },
    ]);
  });

  it('stays separate where it is several thoughts', () => {
    const { index: _, ...bare } = piece({ text: 'C' });
    const thoughts = [
      piece({ text: 'A', signature: 'c2ln' }),
      piece({ text: 'B' }),
      piece({ text: 'D', index: 1 }),
      piece({ text: 'E', index: 1, id: 'x' }),
      piece({ text: 'F', index: 1, id: 'y' }),
      bare,
      bare,
    ];
    expect(sentBack(...thoughts)).toMatchObject([
      { text: 'A' },
      { text: 'B' },
      { text: 'DE' },
      { text: 'F' },
      { text: 'C' },
      { text: 'C' },
    ]);
  });
});

it.each([{}, { reasoning_content: '' }, { reasoning: '', reasoning_content: '' }])(
  'a call without reasoning, %j, goes to Kimi with a space, because Moonshot requires a text there',
  (said) => {
    const called: Message = {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }],
      ...said,
    };
    const messages: Message[] = [called, { role: 'tool', tool_call_id: 'a', content: '1' }, { role: 'assistant', content: 'Yes.' }];
    const [call, , answer] = messagesOf('moonshot', messages, { externalId: 'kimi-k2.6' });
    expect(call).toHaveProperty('reasoning_content', ' ');
    expect(answer).not.toHaveProperty('reasoning_content');
  },
);

/** The fields of a request besides its model and messages. */
const fieldsOf = (name: string, externalId: string, reasoning: TargetWishes['reasoning'] & object): Record<string, unknown> => {
  const { model: _, messages: _messages, stream: _stream, ...fields } = bodyOf(name, {}, { externalId, reasoning });
  return fields;
};

describe('efforts and budgets', () => {
  it.each(['none', 'minimal', 'low', 'medium', 'high', 'xhigh'] as const)(
    'reach OpenAI, Azure and unknown servers unchanged: %s',
    (effort) => {
      for (const name of ['openai', 'azure', 'openai-chat']) {
        expect(fieldsOf(name, 'gpt-5', { effort })).toEqual({ reasoning_effort: effort });
      }
    },
  );

  it.each<[string, string, 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh', object, string[]]>([
    ['deepseek', 'deepseek-v4', 'none', { thinking: { type: 'disabled' } }, []],
    ['deepseek', 'deepseek-v4', 'xhigh', { thinking: { type: 'enabled' }, reasoning_effort: 'max' }, ['reasoning_effort changed to max']],
    ['deepseek', 'deepseek-r1', 'high', {}, ['reasoning_effort dropped']],
    [
      'groq',
      'qwen/qwen3-32b',
      'high',
      { reasoning_format: 'parsed', reasoning_effort: 'default' },
      ['reasoning_effort changed to default'],
    ],
    ['groq', 'qwen/qwen3.8-27b', 'low', { reasoning_format: 'parsed', reasoning_effort: 'low' }, []],
    ['groq', 'qwen/qwen3.8-27b', 'none', { reasoning_format: 'parsed', reasoning_effort: 'none' }, []],
    ['xai', 'grok-4.20-reasoning', 'low', {}, ['reasoning_effort dropped']],
    ['xai', 'grok-4.6', 'xhigh', { reasoning_effort: 'xhigh' }, []],
    ['mistral', 'mistral-small-latest', 'low', { reasoning_effort: 'high' }, ['reasoning_effort changed to high']],
    ['together', 'qwen3.5', 'none', { reasoning: { enabled: false } }, []],
    ['openrouter', 'x/y', 'minimal', { reasoning: { effort: 'minimal' } }, []],
    ['zai', 'glm-4.7', 'low', { thinking: { type: 'enabled', clear_thinking: false } }, ['reasoning_effort changed to enabled']],
    [
      'zai',
      'glm-5.2',
      'xhigh',
      { thinking: { type: 'enabled', clear_thinking: false }, reasoning_effort: 'max' },
      ['reasoning_effort changed to max'],
    ],
    ['moonshot', 'kimi-k3', 'medium', { reasoning_effort: 'high' }, ['reasoning_effort changed to high']],
    ['fireworks', 'accounts/fireworks/models/glm-5p3', 'xhigh', { reasoning_effort: 'max' }, ['reasoning_effort changed to max']],
    [
      'fireworks',
      'accounts/fireworks/models/deepseek-v4p1-flash',
      'xhigh',
      { reasoning_effort: 'max' },
      ['reasoning_effort changed to max'],
    ],
    ['fireworks', 'accounts/fireworks/models/kimi-k3', 'xhigh', { reasoning_effort: 'max' }, ['reasoning_effort changed to max']],
    ['fireworks', 'accounts/fireworks/models/kimi-k3', 'minimal', { reasoning_effort: 'low' }, ['reasoning_effort changed to low']],
    ['fireworks', 'accounts/fireworks/models/qwen3p8-max', 'xhigh', { reasoning_effort: 'high' }, ['reasoning_effort changed to high']],
    ['perplexity', 'sonar-deep-research', 'minimal', { reasoning_effort: 'minimal' }, []],
    ['perplexity', 'sonar', 'low', {}, ['reasoning_effort dropped']],
    ['vllm', 'qwen3', 'none', { chat_template_kwargs: { enable_thinking: false } }, []],
    ['alibaba', 'qwen3-max', 'low', { enable_thinking: true, thinking_budget: 2048 }, ['reasoning_effort changed to 2048 tokens']],
    ['ollama', 'qwen3', 'minimal', { reasoning_effort: 'low' }, ['reasoning_effort changed to low']],
  ])('reach %s %s in its own fields: %s', (name, externalId, effort, fields, changes) => {
    expect(fieldsOf(name, externalId, { effort })).toEqual(fields);
    expect(changesOf(name, {}, { externalId, reasoning: { effort } })).toEqual(changes);
  });

  it.each<[string, object]>([
    ['openrouter', { reasoning: { max_tokens: 3000 } }],
    ['alibaba', { enable_thinking: true, thinking_budget: 3000 }],
    ['fireworks', { thinking: { type: 'enabled', budget_tokens: 3000 } }],
    ['moonshot', { thinking: { type: 'enabled', budget_tokens: 3000 } }],
  ])('reach %s as budgets', (name, fields) => {
    expect(fieldsOf(name, 'm', { maxTokens: 3000 })).toEqual(fields);
  });

  it('name a budget that cannot be sent, or is too small', () => {
    expect(changesOf('openai', {}, { reasoning: { maxTokens: 3000 } })).toEqual(['reasoning.max_tokens dropped']);
    expect(changesOf('moonshot', {}, { reasoning: { maxTokens: 10 } })).toEqual(['reasoning.max_tokens clamped to 1024']);
  });

  it('keep other fields of `reasoning` where the vendor knows them, and name them elsewhere', () => {
    const rest = { reasoning: { exclude: true } };
    expect(bodyOf('openrouter', { rest }, { reasoning: { effort: 'low' } })['reasoning']).toEqual({ exclude: true, effort: 'low' });
    expect(bodyOf('deepseek', { rest })).not.toHaveProperty('reasoning');
    expect(changesOf('deepseek', { rest })).toEqual(['reasoning.exclude dropped']);
  });

  it("keep the caller's own fields", () => {
    const rest = { chat_template_kwargs: { custom: 1 }, reasoning_format: 'hidden' };
    expect(bodyOf('vllm', { rest }, { reasoning: { effort: 'none' } })['chat_template_kwargs']).toEqual({
      custom: 1,
      enable_thinking: false,
    });
    expect(bodyOf('groq', { rest }, { externalId: 'qwen3' })['reasoning_format']).toBe('hidden');
  });
});

it.each([['null'], [''], [null]])('a stream continues after a piece with the finish reason %j', (none) => {
  const open = dialectNamed('openai-chat').decoder(targetOf('openai-chat'));
  const pieces = [
    ['a', none],
    ['b', none],
    ['', 'stop'],
  ].map(([content, finish]) => ({ id: 'x', choices: [{ index: 0, delta: { content }, finish_reason: finish }] }));
  const chunks = pieces.flatMap((piece) => open.push({ data: JSON.stringify(piece) }));
  expect(chunks).toEqual([
    { type: 'text-delta', choice: 0, text: 'a' },
    { type: 'text-delta', choice: 0, text: 'b' },
    { type: 'finish', choice: 0, reason: 'completed', native: 'stop' },
  ]);
});

it('an answer that Z.ai cut because its context is full is not complete', () => {
  const open = dialectNamed('zai').decoder(targetOf('zai'));
  const cut = { id: 'x', choices: [{ index: 0, delta: { content: 'The' }, finish_reason: 'model_context_window_exceeded' }] };
  expect(open.push({ data: JSON.stringify(cut) })).toContainEqual({
    type: 'finish',
    choice: 0,
    reason: 'length_limit',
    native: 'model_context_window_exceeded',
  });
});

it.each([{ finish_reason: 'insufficient_system_resource' }, { finish_reason: 'error', error: { code: 502, message: 'Gone.' } }])(
  'an answer that ends with an error gives its last text and its usage before the error: %j',
  (end) => {
    const open = dialectNamed('deepseek').decoder(targetOf('deepseek'));
    const last = {
      id: 'x',
      choices: [{ index: 0, delta: { content: 'Wait' }, ...end }],
      usage: { prompt_tokens: 9, completion_tokens: 4 },
    };
    expect(open.push({ data: JSON.stringify(last) })).toMatchObject([
      { type: 'text-delta', text: 'Wait' },
      { type: 'usage', usage: { input: 9, answer: 4 } },
    ]);
    expect(open.done).toBe(true);
    expect(() => open.end()).toThrow(expect.objectContaining({ code: 'upstream_error' }));
  },
);

it.each(['network_error', 'error'])(
  'an answer whose vendor failed is an error, although OpenRouter says `stop` beside the native reason %s',
  (native) => {
    const last = {
      id: 'x',
      choices: [{ index: 0, delta: { content: '' }, message: { content: '' }, finish_reason: 'stop', native_finish_reason: native }],
    };
    const failed = expect.objectContaining({
      code: 'upstream_error',
      message: `The provider ended its answer with \`${native}\`.`,
    }) as unknown;
    expect(() => dialectNamed('openrouter').decodeBody(last, targetOf('openrouter'))).toThrow(failed);
    const open = dialectNamed('openrouter').decoder(targetOf('openrouter'));
    open.push({ data: JSON.stringify(last) });
    expect(() => open.end()).toThrow(failed);
  },
);

it("the thinking of Gemini is counted, which Google's own endpoint of this API has only in the total", () => {
  const body = {
    id: 'x',
    choices: [{ index: 0, message: { content: '1, 2, 3' }, finish_reason: 'stop' }],
    usage: { completion_tokens: 3, prompt_tokens: 9, total_tokens: 105 },
  };
  const usageOf = (externalId: string): unknown =>
    dialectNamed('openai-chat')
      .decodeBody(body, targetOf('openai-chat', { externalId }))
      .find(({ type }) => type === 'usage');
  expect(usageOf('google/gemini-3-flash-preview')).toMatchObject({ usage: { input: 9, answer: 3, reasoning: 93 } });
  expect(usageOf('qwen3')).toMatchObject({ usage: { input: 9, answer: 3, reasoning: null } });
});

it('sources are given once, although Perplexity repeats them after the finish', () => {
  const open = dialectNamed('perplexity').decoder(targetOf('perplexity'));
  const chunks = [null, 'stop', 'stop'].flatMap((finish) =>
    open.push({ data: JSON.stringify({ id: 'x', citations: ['u'], choices: [{ index: 0, delta: {}, finish_reason: finish }] }) }),
  );
  expect(chunks.filter(({ type }) => type === 'extra')).toEqual([
    { type: 'extra', choice: 0, on: 'message', field: 'citations', value: ['u'] },
  ]);
});

it("a stream ends as filtered where Azure's asynchronous filter says so after the finish; its other results change nothing", () => {
  const filtered = (finish: string | null): object => ({
    id: '',
    object: '',
    model: '',
    choices: [
      {
        index: 0,
        finish_reason: finish,
        content_filter_results: {},
        content_filter_offsets: { check_offset: 44, start_offset: 44, end_offset: 198 },
      },
    ],
    usage: null,
  });
  const answer = (last: string | null): object[] => [
    { choices: [], prompt_filter_results: [] },
    { choices: [{ index: 0, delta: { content: 'Hey' } }] },
    filtered(null),
    { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
    filtered(last),
  ];
  const finishes = (last: string | null): unknown[] => {
    const open = dialectNamed('azure').decoder(targetOf('azure'));
    return answer(last)
      .flatMap((event) => open.push({ data: JSON.stringify(event) }))
      .flatMap((chunk) => (chunk.type === 'finish' ? [chunk.reason] : []));
  };
  expect([finishes(null), finishes('content_filter').at(-1)]).toEqual([['completed'], 'content_filter']);
});
