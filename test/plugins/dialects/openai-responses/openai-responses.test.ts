import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ChatRequest, Message, ReasoningDetail } from '../../../../core/chat.ts';
import type { Dialect, Target, WireRequest } from '../../../../core/wire/dialect.ts';
import { GatewayError } from '../../../../core/errors.ts';
import plugin from '../../../../plugins/dialects/openai-responses/index.ts';
import { cpuMsOf } from '../../../_kit/cpu.ts';
import { describeDialect, requestOf, type TargetWishes, targetOf, testKey } from '../../../contract/dialect.ts';

const dialect = plugin.dialects?.[0] as Dialect;

describeDialect({ dialect, fixtures: new URL('../../../fixtures/openai-responses/', import.meta.url).pathname });

type Fields = Record<string, unknown>;

/** A target of `vendor` that is asked through the Responses API. */
const at = (vendor: string, wishes: TargetWishes = {}): Target => targetOf(vendor, wishes);

/** The same for a model that does not reason. */
function plain(wishes: TargetWishes = {}): Target {
  const target = targetOf('openai', wishes);
  return { ...target, mapping: { ...target.mapping, reasoning: null } };
}

const wireOf = (said: Partial<ChatRequest>, target: Target = at('openai')): WireRequest => dialect.encode(requestOf(said), target);
const bodyOf = (said: Partial<ChatRequest>, target?: Target): Fields => JSON.parse(wireOf(said, target).body) as Fields;
const changesOf = (said: Partial<ChatRequest>, target?: Target): string[] =>
  wireOf(said, target).adjustments.map(({ parameter, change }) => `${parameter} ${change}`);
const inputOf = (messages: Message[], target?: Target): Fields[] => bodyOf({ messages }, target)['input'] as Fields[];
const callTo = (id: string, text: string) => ({ id, type: 'function', function: { name: 'f', arguments: text } }) as const;
const turn = (details: unknown[], content: string | null = 'Look.'): Message[] => [
  { role: 'assistant', content, reasoning_details: details as ReasoningDetail[], tool_calls: [callTo('call_1', '{}')] },
];
const item = (data: string) => ({ type: 'reasoning', id: `rs_${data}`, summary: [], encrypted_content: data });
const decoder = () => dialect.decoder(at('openai'));
const event = (type: string, more: Fields = {}) => ({ event: type, data: JSON.stringify({ type, ...more }) });
const asks = (said: Partial<ChatRequest>, target?: Target) => () => wireOf(said, target);

it.each([
  ['Upstream gone', 'Upstream gone'],
  ['"Upstream gone"', 'Upstream gone'],
])('an event of the type error is an error with any data: %j', (data, message) => {
  expect(() => decoder().push({ event: 'error', data })).toThrow(
    expect.objectContaining({ code: 'upstream_error', message: `Provider "openai" reported an error in its answer: ${message}` }),
  );
});

describe('where a request goes', () => {
  it('is /responses, with the key apart from the request', () => {
    expect(wireOf({})).toMatchObject({ path: '/responses', headers: { 'content-type': 'application/json' } });
    expect(dialect.authorise?.(at('openai').provider)).toEqual({ authorization: `Bearer ${testKey}` });
    expect(dialect.authorise?.(at('openai', { provider: { apiKey: null } }).provider)).toEqual({});
  });

  it('has the API version for Azure', () => {
    expect(wireOf({}, at('azure', { provider: { settings: { api_version: 'preview' } } })).path).toBe('/responses?api-version=preview');
    expect(wireOf({}, at('openai', { provider: { settings: { api_version: 'preview' } } })).path).toBe('/responses');
  });
});

describe('the body', () => {
  it('stores nothing at the provider, and asks for the state that the next turn needs', () => {
    expect(bodyOf({})).toEqual({
      model: 'model-1',
      input: [{ role: 'user', content: [{ type: 'input_text', text: 'Hello' }] }],
      stream: false,
      store: false,
      reasoning: { summary: 'auto' },
      include: ['reasoning.encrypted_content'],
    });
  });

  it('has no field of reasoning for a model that does not reason', () => {
    expect(bodyOf({ stream: true }, plain())).toEqual({
      model: 'model-1',
      input: [{ role: 'user', content: [{ type: 'input_text', text: 'Hello' }] }],
      stream: true,
      store: false,
    });
  });

  it.each<[string, Partial<ChatRequest>, Fields, string[]]>([
    [
      'limits and sampling',
      { maxTokens: 500, temperature: 0.2, topP: 0.9, user: 'u', parallelToolCalls: false },
      { max_output_tokens: 500, temperature: 0.2, top_p: 0.9, user: 'u', parallel_tool_calls: false },
      [],
    ],
    ['a limit below the least', { maxTokens: 5 }, { max_output_tokens: 16 }, ['max_tokens clamped to 16']],
    [
      'what the API does not have',
      { seed: 7, stop: ['END'], presencePenalty: 1, frequencyPenalty: -1, logitBias: { 5: 1 } },
      {},
      ['seed dropped', 'stop dropped', 'presence_penalty dropped', 'frequency_penalty dropped', 'logit_bias dropped'],
    ],
    [
      'what asks for nothing',
      {
        n: 1,
        presencePenalty: 0,
        frequencyPenalty: 0,
        logprobs: false,
        responseFormat: { type: 'text' },
        tools: [],
        stop: [],
        logitBias: {},
      },
      {},
      [],
    ],
    ['log probabilities', { logprobs: true, topLogprobs: 2 }, { include: ['message.output_text.logprobs'], top_logprobs: 2 }, []],
    ['no alternatives', { topLogprobs: 0 }, {}, []],
    ['alternatives without probabilities', { topLogprobs: 2 }, {}, ['top_logprobs dropped']],
    ['JSON', { responseFormat: { type: 'json_object' } }, { text: { format: { type: 'json_object' } } }, []],
    [
      'a schema',
      { responseFormat: { type: 'json_schema', json_schema: { name: 'a', description: 'b', schema: { type: 'object' }, strict: true } } },
      { text: { format: { type: 'json_schema', name: 'a', description: 'b', schema: { type: 'object' }, strict: true } } },
      [],
    ],
    [
      'a schema that need not be strict',
      { responseFormat: { type: 'json_schema', json_schema: { name: 'a', schema: {} } } },
      { text: { format: { type: 'json_schema', name: 'a', schema: {}, strict: false } } },
      [],
    ],
    [
      'verbosity',
      { rest: { verbosity: 'low' }, responseFormat: { type: 'json_object' } },
      { text: { format: { type: 'json_object' }, verbosity: 'low' } },
      [],
    ],
    [
      'fields of both APIs',
      { rest: { metadata: { a: 'b' }, service_tier: 'flex', prompt_cache_key: 'k', safety_identifier: 's', store: false } },
      { metadata: { a: 'b' }, service_tier: 'flex', prompt_cache_key: 'k', safety_identifier: 's' },
      [],
    ],
    [
      'fields of neither',
      { rest: { top_k: 4, api_key: 'x', stream_options: null, previous_response_id: 'resp_1' } },
      {},
      ['top_k dropped', 'api_key dropped', 'previous_response_id dropped'],
    ],
    ['a wish to store', { rest: { store: true } }, {}, ['store changed to false']],
    ['more to include', { rest: { include: ['file_search_call.results'] } }, { include: ['file_search_call.results'] }, []],
    ['an include of no form', { rest: { include: 'all' } }, {}, ['include dropped']],
  ])('has %s', (_, said, wanted, changes) => {
    const { model: _model, input: _input, stream: _stream, store: _store, ...sent } = bodyOf(said, plain());
    expect(sent).toEqual(wanted);
    expect(changesOf(said, plain())).toEqual(changes);
  });

  it('cannot ask for several answers', () => {
    expect(asks({ n: 2 })).toThrow(expect.objectContaining({ status: 400, code: 'unsupported_value', param: 'n' }));
  });

  it("keeps xAI's seed and OpenRouter's own fields", () => {
    expect(bodyOf({ seed: 7 }, at('xai'))).toMatchObject({ seed: 7 });
    expect(bodyOf({ rest: { provider: { order: ['a'] }, top_k: 4 } }, at('openrouter'))).toMatchObject({
      provider: { order: ['a'] },
      top_k: 4,
    });
  });
});

describe('sampling parameters', () => {
  const said: Partial<ChatRequest> = { temperature: 0.2, topP: 0.9, logprobs: true, topLogprobs: 1 };
  const dropped = ['temperature dropped', 'top_p dropped', 'logprobs dropped', 'top_logprobs dropped'];

  it.each([
    'o1',
    'o3-mini',
    'o4-mini-2025-04-16',
    'codex-mini-latest',
    'gpt-5',
    'gpt-5-nano-2025-08-07',
    'gpt-5.1-codex',
    'gpt-6',
    'openai/gpt-5',
  ])('are dropped for %s, which thinks', (externalId) => {
    expect(changesOf(said, at('openai', { externalId }))).toEqual(dropped);
  });

  it.each(['gpt-4o', 'gpt-4.1', 'gpt-5-chat-latest', 'ft:gpt-5:x', 'omni', 'gpt-oss-120b'])('reach %s', (externalId) => {
    expect(changesOf(said, at('openai', { externalId }))).toEqual([]);
  });

  it('go to gpt-5.1 and later while they do not think, and never to gpt-5', () => {
    const reasoning = { effort: 'none' } as const;
    expect(bodyOf(said, at('openai', { externalId: 'gpt-5.2', reasoning }))).toMatchObject({
      temperature: 0.2,
      top_p: 0.9,
      top_logprobs: 1,
      include: ['reasoning.encrypted_content', 'message.output_text.logprobs'],
      reasoning: { effort: 'none' },
    });
    expect(changesOf(said, at('openai', { externalId: 'gpt-5', reasoning }))).toEqual(dropped);
    for (const externalId of ['gpt-5.1', 'gpt-5.2-2025-12-11', 'gpt-5.4']) {
      expect(changesOf(said, at('openai', { externalId }))).toEqual([]);
    }
  });

  it.each<[string, Partial<ChatRequest>]>([
    ['the Responses API', { form: 'responses', native: { fields: { include: ['message.output_text.logprobs', 'a'] } } }],
    ['chat completions', { rest: { include: ['message.output_text.logprobs', 'a'] } }],
  ])('are dropped for a model that thinks, also where they are asked for in fields of %s', (_, more) => {
    const body = bodyOf({ ...said, ...more }, at('openai', { externalId: 'gpt-5' }));
    expect([body['include'], body['top_logprobs'], changesOf({ ...said, ...more }, at('openai', { externalId: 'gpt-5' }))]).toEqual([
      ['a', 'reasoning.encrypted_content'],
      undefined,
      dropped,
    ]);
  });

  it('follow the catalogue where a deployment does not name its model', () => {
    expect(changesOf(said, at('azure', { externalId: 'prod-1', modelId: 'gpt-5-mini' }))).toEqual(dropped);
    expect(changesOf(said, at('openai', { externalId: 'prod-1', modelId: 'gpt-5-mini' }))).toEqual([]);
  });
});

describe('reasoning', () => {
  it.each(['minimal', 'low', 'medium', 'high', 'xhigh'] as const)('is sent unchanged with the effort %s, and with a summary', (effort) => {
    const target = at('openai', { externalId: 'gpt-5', reasoning: { effort } });
    expect(bodyOf({}, target)['reasoning']).toEqual({ effort, summary: 'auto' });
    expect(changesOf({}, target)).toEqual([]);
  });

  it('is asked for no summary when it is off, or when none is to be shown', () => {
    expect(bodyOf({}, at('openai', { reasoning: { effort: 'none' } }))['reasoning']).toEqual({ effort: 'none' });
    const target = at('openai', { reasoning: { effort: 'high' } });
    const silent = {
      ...target,
      mapping: {
        ...target.mapping,
        reasoning: { efforts: null, max_tokens: false, auto_effort: null, exposes: 'nothing', think_tags: false } as const,
      },
    };
    expect(bodyOf({}, silent)['reasoning']).toEqual({ effort: 'high' });
  });

  it('has a budget only at OpenRouter', () => {
    const reasoning = { maxTokens: 4000 };
    expect(changesOf({}, at('openai', { reasoning }))).toEqual(['reasoning.max_tokens dropped']);
    expect(bodyOf({}, at('openrouter', { reasoning }))['reasoning']).toEqual({ max_tokens: 4000, summary: 'auto' });
  });

  it.each([
    ['grok-4', 'minimal', { effort: 'low' }, ['reasoning_effort changed to low']],
    ['grok-4', 'medium', { effort: 'medium' }, []],
    ['grok-4', 'xhigh', { effort: 'high' }, ['reasoning_effort changed to high']],
    ['grok-4.6', 'xhigh', { effort: 'xhigh' }, []],
    ['grok-3-mini', 'medium', { effort: 'low' }, ['reasoning_effort changed to low']],
    ['grok-4.20-non-reasoning', 'none', undefined, ['reasoning_effort dropped']],
  ] as const)('reaches %s at %s as an effort that it knows', (externalId, effort, wanted, changes) => {
    const target = at('xai', { externalId, reasoning: { effort } });
    expect(bodyOf({}, target)['reasoning']).toEqual(wanted);
    expect(changesOf({}, target)).toEqual(changes);
  });

  it('is refused with the effort none where the model cannot stop reasoning', () => {
    expect(() => wireOf({}, at('xai', { externalId: 'grok-3-mini', reasoning: { effort: 'none' } }))).toThrow(
      expect.objectContaining({ status: 400, code: 'unsupported_value' }),
    );
  });
});

describe('tools', () => {
  const described = { name: 'weather', description: 'Now.', parameters: { type: 'object', properties: {} } };

  it('are flat, and strict only when asked', () => {
    expect(
      bodyOf({
        tools: [
          { type: 'function', function: described },
          { type: 'function', function: { name: 'now', strict: true } },
        ],
      })['tools'],
    ).toEqual([
      { type: 'function', ...described, strict: false },
      { type: 'function', name: 'now', parameters: { type: 'object', properties: {} }, strict: true },
    ]);
  });

  it('have properties in their schema, where the caller’s has none', () => {
    expect(bodyOf({ tools: [{ type: 'function', function: { name: 'now', parameters: { type: 'object' } } }] })['tools']).toMatchObject([
      { parameters: { type: 'object', properties: {} } },
    ]);
  });

  it('that run at the provider are sent as they came', () => {
    expect(bodyOf({ tools: [{ type: 'web_search', search_context_size: 'low' }] })['tools']).toEqual([
      { type: 'web_search', search_context_size: 'low' },
    ]);
  });

  it('lose unknown fields, which the reply names', () => {
    expect(changesOf({ tools: [{ type: 'function', function: described, cache_control: { type: 'ephemeral' } }] })).toEqual([
      'tools.cache_control dropped',
    ]);
  });

  it('are refused where their calls could not be given back', () => {
    expect(asks({ tools: [{ type: 'custom', custom: { name: 'x' } }] })).toThrow(
      expect.objectContaining({ status: 400, param: 'tools[0].type' }),
    );
  });

  it.each<[ChatRequest['toolChoice'], unknown]>([
    ['auto', 'auto'],
    ['none', 'none'],
    ['required', 'required'],
    [
      { type: 'function', function: { name: 'weather' } },
      { type: 'function', name: 'weather' },
    ],
    [
      { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [{ type: 'function', function: { name: 'weather' } }] } },
      { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'weather' }] },
    ],
  ])('are chosen by %j', (toolChoice, wanted) => {
    expect(bodyOf({ toolChoice })['tool_choice']).toEqual(wanted);
  });
});

describe('messages', () => {
  it('keep their role and place, system messages too', () => {
    const messages: Message[] = [
      { role: 'system', content: 'a' },
      { role: 'user', content: 'b' },
      { role: 'developer', content: [{ type: 'text', text: 'c' }] },
    ];
    expect(inputOf(messages)).toEqual([
      { role: 'system', content: [{ type: 'input_text', text: 'a' }] },
      { role: 'user', content: [{ type: 'input_text', text: 'b' }] },
      { role: 'developer', content: [{ type: 'input_text', text: 'c' }] },
    ]);
    expect(inputOf(messages, at('xai')).map(({ role }) => role)).toEqual(['system', 'user', 'system']);
  });

  it.each<[string, Fields, Fields]>([
    [
      'an image by URL',
      { type: 'image_url', image_url: { url: 'https://a.example/b.png', detail: 'low' } },
      { type: 'input_image', image_url: 'https://a.example/b.png', detail: 'low' },
    ],
    [
      'an image as data',
      { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
      { type: 'input_image', image_url: 'data:image/png;base64,AAAA' },
    ],
    [
      'an image by a bare URL',
      { type: 'image_url', image_url: 'https://a.example/b.png' },
      { type: 'input_image', image_url: 'https://a.example/b.png' },
    ],
    [
      'a PDF',
      { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' } },
      { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' },
    ],
    [
      'a PDF without a name',
      { type: 'file', file: { file_data: 'data:application/pdf;base64,AAAA' } },
      { type: 'input_file', filename: 'document.pdf', file_data: 'data:application/pdf;base64,AAAA' },
    ],
    [
      'a file by URL',
      { type: 'file', file: { file_data: 'https://a.example/b.pdf' } },
      { type: 'input_file', file_url: 'https://a.example/b.pdf' },
    ],
    ['a file by id', { type: 'file', file: { file_id: 'file-1' } }, { type: 'input_file', file_id: 'file-1' }],
    [
      'a cache breakpoint',
      { type: 'text', text: 'a', prompt_cache_breakpoint: { mode: 'explicit' } },
      { type: 'input_text', text: 'a', prompt_cache_breakpoint: { mode: 'explicit' } },
    ],
  ])('hold %s', (_, part, wanted) => {
    expect(inputOf([{ role: 'user', content: [part as { type: string }] }])).toEqual([{ role: 'user', content: [wanted] }]);
  });

  it.each(['input_audio', 'video_url'])('have no %s', (type) => {
    expect(asks({ messages: [{ role: 'user', content: [{ type: 'text', text: 'a' }, { type }] }] })).toThrow(
      expect.objectContaining({ status: 400, param: 'messages[0].content[1]' }),
    );
    expect(asks({ messages: [{ role: 'assistant', content: [{ type }] }] })).toThrow(
      expect.objectContaining({ status: 400, param: 'messages[0].content[0]' }),
    );
  });

  it('lose unknown fields, which the reply names, and fields of answers, which it does not name', () => {
    const cached = { type: 'text', text: 'a', cache_control: { type: 'ephemeral' } };
    expect(changesOf({ messages: [{ role: 'user', name: 'Ann', content: [cached, cached] }] })).toEqual([
      'messages.name dropped',
      'messages.content.cache_control dropped',
    ]);
    expect(
      changesOf({
        messages: [
          { role: 'assistant', content: 'a', reasoning: 'b', reasoning_content: 'b', annotations: [], refusal: null, audio: null },
        ],
      }),
    ).toEqual([]);
  });

  it('of an assistant become text, refusal and calls', () => {
    expect(
      inputOf([
        { role: 'assistant', content: 'Let me see.', tool_calls: [callTo('call_1', '{"a":1}'), callTo('call_2', '')] },
        {
          role: 'tool',
          tool_call_id: 'call_2',
          content: [
            { type: 'text', text: 'two' },
            { type: 'text', text: 'lines' },
          ],
        },
        { role: 'tool', tool_call_id: 'call_1', content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }] },
        { role: 'assistant', content: null, refusal: 'No.' },
        {
          role: 'assistant',
          content: [
            { type: 'text', text: 'a' },
            { type: 'text', text: '' },
            { type: 'refusal', refusal: 'b' },
          ],
        },
        { role: 'assistant', content: '' },
      ]),
    ).toEqual([
      { role: 'assistant', content: 'Let me see.' },
      { type: 'function_call', call_id: 'call_1', name: 'f', arguments: '{"a":1}' },
      { type: 'function_call', call_id: 'call_2', name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: 'call_2', output: 'two\nlines' },
      { type: 'function_call_output', call_id: 'call_1', output: [{ type: 'input_image', image_url: 'data:image/png;base64,AAAA' }] },
      { role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] },
      {
        role: 'assistant',
        content: [
          { type: 'output_text', text: 'a' },
          { type: 'refusal', refusal: 'b' },
        ],
      },
    ]);
  });

  it('repeat the names of their calls for OpenRouter', () => {
    const messages: Message[] = [
      { role: 'assistant', tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } }] },
      { role: 'tool', tool_call_id: 'call_1', content: '1' },
    ];
    expect(inputOf(messages, at('openrouter'))[0]).toEqual({
      type: 'function_call',
      id: 'fc_call_1',
      call_id: 'call_1',
      name: 'f',
      arguments: '{}',
    });
  });

  it('shorten the id of a call and of its result in the same way where it is too long for the API', () => {
    const long = `call_${'a'.repeat(111)}`;
    const [call, result] = inputOf([
      { role: 'assistant', tool_calls: [{ id: long, type: 'function', function: { name: 'f', arguments: '{}' } }] },
      { role: 'tool', tool_call_id: long, content: '1' },
    ]);
    expect(call).toMatchObject({ call_id: expect.stringMatching(/^call_[\w-]{1,59}$/) });
    expect(result).toMatchObject({ call_id: call?.['call_id'] });
  });

  it('have each id once, the same for a call and its output, where a model counts its calls anew in each answer', () => {
    const step: Message[] = [
      { role: 'assistant', tool_calls: [callTo('f:0', '{}')] },
      { role: 'tool', tool_call_id: 'f:0', content: '1' },
    ];
    const input = inputOf([...step, ...step], at('openrouter'));
    const [first, second] = [input[0], input[2]];
    expect([first?.['id'], first?.['call_id']]).toEqual(['fc_f:0', 'f:0']);
    expect([second?.['id'], second?.['call_id']]).toEqual([
      expect.stringMatching(/^fc_call_[\w-]+$/),
      expect.stringMatching(/^call_[\w-]+$/),
    ]);
    expect([input[1]?.['call_id'], input[3]?.['call_id']]).toEqual([first?.['call_id'], second?.['call_id']]);
  });
});

describe('reasoning of earlier turns', () => {
  const own = { provider: 'openai', format: 'openai-responses', index: 0 };
  const sealed = (data: string, before?: string): ReasoningDetail => ({
    type: 'reasoning.encrypted',
    ...own,
    id: `rs_${data}`,
    data,
    ...(before !== undefined && { before }),
  });
  const text = { role: 'assistant', content: 'Look.' };
  const call = { type: 'function_call', call_id: 'call_1', name: 'f', arguments: '{}' };
  /** The items of a turn whose call has its result. */
  const itemsOf = (messages: readonly Message[], target?: Target) =>
    inputOf([...messages, { role: 'tool', tool_call_id: 'call_1', content: '1' }], target).filter(
      ({ type }) => type !== 'function_call_output',
    );

  it('is directly before the item that it led to', () => {
    expect(itemsOf(turn([sealed('a', 'message'), sealed('b', 'call_1'), sealed('c', 'call_1')]))).toEqual([
      item('a'),
      text,
      item('b'),
      item('c'),
      call,
    ]);
  });

  it('has its summary, the thought of an open model, and the phase of its message', () => {
    const thought = { type: 'reasoning.text', ...own, text: 'Hm.', before: 'call_1' };
    expect(itemsOf(turn([{ ...sealed('a', 'message'), summary: ['One.', 'Two.'], phase: 'commentary' }, thought]))).toEqual([
      {
        ...item('a'),
        summary: [
          { type: 'summary_text', text: 'One.' },
          { type: 'summary_text', text: 'Two.' },
        ],
      },
      { ...text, phase: 'commentary' },
      { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'Hm.' }] },
      call,
    ]);
  });

  it.each(['message', 'call_1'])('may be any number of items before %s', (before) => {
    const many = Array.from({ length: 150_000 }, () => sealed('a', before));
    expect(itemsOf(turn(many))).toHaveLength(150_002);
  });

  const ordered = (details: readonly ReasoningDetail[], order: readonly object[]): Message[] => [
    { role: 'assistant', content: 'Look.', reasoning_details: details, native: { fields: { order } } },
  ];
  const textEntry = { type: 'message', parts: 1, fields: {} };

  it('may be any number of items without a place of their own, where the message has an order', () => {
    const many = Array.from({ length: 150_000 }, () => sealed('a', 'message'));
    expect(inputOf(ordered(many, [textEntry]))).toHaveLength(150_001);
  });

  it('may be any number of items with places of their own, in linear time', () => {
    const many = Array.from({ length: 80_000 }, (_, index) => ({ ...sealed('a', 'message'), index: index % 3 }));
    const places = many.map(({ provider, id, index }) => ({ type: 'reasoning', provider, id, index }));
    const cpuMs = cpuMsOf(() => expect(inputOf(ordered(many, [...places, textEntry]))).toHaveLength(80_001));
    expect(cpuMs).toBeLessThan(5000);
  });

  it('is at its own place where it has one, and else before what it led to', () => {
    const [first, second] = [
      { ...sealed('a', 'message'), index: 0 },
      { ...sealed('b', 'message'), index: 1 },
    ];
    const place = { type: 'reasoning', provider: 'openai', id: 'rs_a', index: 0 };
    expect(inputOf(ordered([second, first, first], [place, place, place, textEntry]))).toEqual([item('a'), item('a'), item('b'), text]);
  });

  it('goes before its call in a message with an order too', () => {
    const [message] = turn([sealed('a', 'call_1')]);
    const order = [textEntry, { type: 'call' }];
    expect(itemsOf([{ ...message!, native: { fields: { order } } }])).toEqual([text, item('a'), call]);
  });

  it('is left out without its next item', () => {
    expect(itemsOf(turn([sealed('a', 'message'), sealed('b', 'call_9')], null))).toEqual([call]);
    expect(
      inputOf([
        { role: 'user', content: 'Hi' },
        { role: 'assistant', content: '', reasoning_details: [sealed('a', 'message'), sealed('b')] },
      ]),
    ).toHaveLength(1);
  });

  it('is first where its place was lost', () => {
    expect(itemsOf(turn([sealed('a')]))).toEqual([item('a'), text, call]);
    expect(itemsOf(turn([sealed('a')], null))).toEqual([item('a'), call]);
  });

  it.each<[string, unknown]>([
    ['another provider', { ...sealed('a', 'message'), provider: 'azure' }],
    ['nobody', { ...sealed('a', 'message'), provider: undefined }],
    ['another wire', { ...sealed('a', 'message'), format: 'anthropic' }],
    ['no data', { type: 'reasoning.encrypted', ...own, before: 'message' }],
    ['no object', 'rs_1'],
  ])('is left out when it is of %s', (_, detail) => {
    expect(itemsOf(turn([detail]))).toEqual([text, call]);
  });

  it('is not sent to a model that does not reason', () => {
    expect(itemsOf(turn([sealed('a', 'message')]), plain())).toEqual([text, call]);
  });

  it('goes back as it came, through a caller who keeps the message', () => {
    const target = at('openai');
    const output = [
      { type: 'reasoning', id: 'rs_1', encrypted_content: 'sealed', summary: [{ type: 'summary_text', text: 'One.' }] },
      { type: 'message', id: 'msg_1', role: 'assistant', content: [{ type: 'output_text', text: 'Look.' }] },
      { type: 'reasoning', id: 'rs_2', encrypted_content: 'again', summary: [] },
      { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'f', arguments: '{}' },
    ];
    const details = dialect
      .decodeBody({ status: 'completed', output }, target)
      .flatMap((chunk) => (chunk.type === 'reasoning-detail' ? [chunk.detail] : []));
    expect(itemsOf(turn(JSON.parse(JSON.stringify(details)) as unknown[]), target)).toEqual([output[0], text, output[2], call]);
  });
});

describe('a stream', () => {
  it('ends with its response, and gives nothing after it', () => {
    const open = decoder();
    expect(open.done).toBe(false);
    open.push(event('response.completed', { response: { status: 'completed', output: [] } }));
    expect(open.done).toBe(true);
    expect(open.push(event('response.output_text.delta', { output_index: 0, delta: 'more' }))).toEqual([]);
  });

  it('is read without announcements of its items, and without numbers', () => {
    const open = decoder();
    expect(open.push(event('response.reasoning_summary_text.delta', { delta: 'a' }))).toEqual([
      { type: 'reasoning-delta', choice: 0, text: 'a' },
    ]);
    expect(open.push(event('response.output_text.delta', { delta: 'b' }))).toEqual([{ type: 'text-delta', choice: 0, text: 'b' }]);
    expect(open.push(event('response.output_text.delta', { delta: 'c' }))).toEqual([{ type: 'text-delta', choice: 0, text: 'c' }]);
  });

  it('gives reasoning once where it comes as a summary and as a thought', () => {
    const open = decoder();
    const said = ['response.reasoning_summary_text.delta', 'response.reasoning_text.delta'].flatMap((type) =>
      open.push(event(type, { output_index: 0, delta: 'a' })),
    );
    expect(said).toHaveLength(1);
  });

  it('fails at an error in any of its forms', () => {
    const wanted = expect.objectContaining({ code: 'upstream_overloaded' });
    expect(() => decoder().push({ data: '{"error":{"message":"Busy","type":"overloaded_error"}}' })).toThrow(wanted);
    expect(() => decoder().push({ event: 'error', data: '{"type":"overloaded_error","message":"Busy"}' })).toThrow(wanted);
    expect(() => decoder().push(event('error', { error: { message: 'Busy', code: 529 } }))).toThrow(wanted);
  });

  it('accepts known events with any content', () => {
    const names = [
      'created',
      'output_item.added',
      'output_item.done',
      'output_text.delta',
      'output_text.done',
      'output_text.annotation.added',
      'refusal.done',
      'reasoning_summary_text.delta',
      'reasoning_text.done',
      'function_call_arguments.delta',
      'function_call_arguments.done',
      'completed',
      'incomplete',
      'failed',
    ];
    const keys = [
      'output_index',
      'content_index',
      'summary_index',
      'delta',
      'item',
      'response',
      'text',
      'arguments',
      'annotation',
      'annotations',
      'logprobs',
      'call_id',
      'name',
      'type',
      'output',
      'usage',
      'status',
      'error',
      'content',
      'summary',
      'tools',
      'encrypted_content',
      'phase',
    ];
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 5 },
        fc.constantFrom<unknown>(
          null,
          true,
          0,
          1,
          -1,
          1e9,
          '',
          'parallel',
          'reasoning',
          'message',
          'function_call',
          'completed',
          '{"tool_uses":[{}]}',
          '__proto__',
          [],
        ),
        fc.array(tie('value'), { maxLength: 3 }),
        fc.dictionary(fc.constantFrom(...keys), tie('value'), { maxKeys: 6 }),
      ),
    }));
    const events = fc.array(fc.tuple(fc.constantFrom(...names), fc.dictionary(fc.constantFrom(...keys), value, { maxKeys: 6 })), {
      maxLength: 8,
    });
    fc.assert(
      fc.property(events, (list) => {
        const open = decoder();
        try {
          for (const [name, { type: _, ...fields }] of list) open.push(event(`response.${name}`, fields));
        } catch (error) {
          if (!GatewayError.is(error)) throw error;
        }
      }),
      { numRuns: 500 },
    );
  });

  it('refuses a call that has no name until its end', () => {
    const open = decoder();
    open.push(event('response.output_item.added', { output_index: 0, item: { type: 'function_call', call_id: 'call_1' } }));
    expect(() => open.push(event('response.completed', { response: {} }))).toThrow(
      expect.objectContaining({ code: 'upstream_invalid_response' }),
    );
  });
});
