import { describe, expect, it } from 'vitest';
import type { ChatRequest, ContentPart, Effort, Message, Tool } from '../../../../core/chat.ts';
import type { Dialect, WireRequest } from '../../../../core/wire/dialect.ts';
import plugin from '../../../../plugins/dialects/gemini/index.ts';
import { requestOf, type TargetWishes, targetOf } from '../../../contract/dialect.ts';
import { cpuMsOf } from '../../../_kit/cpu.ts';

const gemini = (plugin.dialects ?? [])[0] as Dialect;

const wireOf = (said: Partial<ChatRequest>, wishes?: TargetWishes): WireRequest =>
  gemini.encode(requestOf(said), targetOf('gemini', { externalId: 'gemini-2.5-flash-lite', ...wishes }));

const bodyOf = (said: Partial<ChatRequest>, wishes?: TargetWishes): Record<string, unknown> =>
  JSON.parse(wireOf(said, wishes).body) as Record<string, unknown>;

const configOf = (said: Partial<ChatRequest>, wishes?: TargetWishes): unknown => bodyOf(said, wishes)['generationConfig'];

const contentsOf = (messages: readonly Message[], wishes?: TargetWishes): unknown => bodyOf({ messages }, wishes)['contents'];

const changesOf = (said: Partial<ChatRequest>, wishes?: TargetWishes): string[] =>
  wireOf(said, wishes).adjustments.map(({ parameter, change }) => `${parameter} ${change}`);

const old = { externalId: 'gemini-2.0-flash' };
const vertex = { provider: { settings: { project: 'p' } } };

const user = (content: Message['content'] & {}): Message => ({ role: 'user', content });
const asks = (part: object): Partial<ChatRequest> => ({ messages: [user('Look:'), user([part as ContentPart])] });
const call = (id: string, name: string, input = '{}') => ({ id, type: 'function' as const, function: { name, arguments: input } });
const result = (id: string, content: Message['content'] & {}): Message => ({ role: 'tool', tool_call_id: id, content });

const image = (url: string) => ({ type: 'image_url', image_url: { url } });

const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false };
const tool: Tool = { type: 'function', function: { name: 'weather', description: 'Tells it.', parameters: schema } };

describe('the body', () => {
  it('has the fields of the caller and no others', () => {
    expect(bodyOf({})).toEqual({ contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] });
    expect(wireOf({})).toMatchObject({ headers: { 'content-type': 'application/json' }, adjustments: [] });
  });

  it('has sampling limits under their names', () => {
    const said = {
      maxTokens: 500,
      temperature: 0.5,
      topP: 0.9,
      seed: 7,
      n: 2,
      presencePenalty: 0.1,
      frequencyPenalty: 0.2,
      logprobs: true,
      topLogprobs: 3,
      stop: ['END', 'STOP'],
    };
    expect(configOf(said, old)).toEqual({
      maxOutputTokens: 500,
      temperature: 0.5,
      topP: 0.9,
      seed: 7,
      candidateCount: 2,
      presencePenalty: 0.1,
      frequencyPenalty: 0.2,
      responseLogprobs: true,
      logprobs: 3,
      stopSequences: ['END', 'STOP'],
    });
    expect(configOf({ stop: 'END' })).toEqual({ stopSequences: ['END'] });
  });

  it.each([
    ['gemini-2.0-flash', {}, true],
    ['gemini-2.5-flash', {}, false],
    ['gemini-2.5-flash', vertex, true],
    ['gemini-3.1-pro-preview', {}, false],
    ['gemini-3-flash-preview', vertex, false],
  ])('has penalties for the models that take them: %s %o %s', (externalId, more, takes) => {
    const wishes = { externalId, ...more };
    const said = { presencePenalty: 0.5, frequencyPenalty: -1 };
    const { presencePenalty, frequencyPenalty } = configOf({ ...said, seed: 1 }, wishes) as Partial<typeof said>;
    expect([presencePenalty, frequencyPenalty]).toEqual(takes ? [0.5, -1] : [undefined, undefined]);
    expect(changesOf(said, wishes)).toEqual(takes ? [] : ['presence_penalty dropped', 'frequency_penalty dropped']);
    expect(changesOf({ presencePenalty: 0, frequencyPenalty: 0 }, wishes)).toEqual([]);
  });

  it('has a number of alternatives only with the probabilities', () => {
    expect(configOf({ logprobs: true, topLogprobs: 0 })).toEqual({ responseLogprobs: true, logprobs: 0 });
    for (const logprobs of [null, false]) {
      expect(configOf({ logprobs, topLogprobs: 2, seed: 1 })).not.toHaveProperty('logprobs');
      expect(changesOf({ logprobs, topLogprobs: 2 })).toEqual(['top_logprobs dropped']);
      expect(changesOf({ logprobs, topLogprobs: 0 })).toEqual([]);
    }
  });

  it('names the fields that this API does not have', () => {
    expect(
      changesOf({
        user: 'u1',
        logitBias: { 5: 1 },
        parallelToolCalls: false,
        rest: { metadata: {}, service_tier: 'flex', constructor: 1 },
      }),
    ).toEqual([
      'logit_bias dropped',
      'user dropped',
      'parallel_tool_calls dropped',
      'metadata dropped',
      'service_tier dropped',
      'constructor dropped',
    ]);
    expect(changesOf({ parallelToolCalls: true })).toEqual([]);
  });

  it('accepts fields that this API has too, in both spellings', () => {
    const safety = [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }];
    const expected = {
      safetySettings: safety,
      cachedContent: 'cachedContents/1',
      generationConfig: { topK: 40, mediaResolution: 'MEDIA_RESOLUTION_LOW' },
    };
    expect(
      bodyOf({
        rest: { safety_settings: safety, cached_content: 'cachedContents/1', top_k: 40, media_resolution: 'MEDIA_RESOLUTION_LOW' },
      }),
    ).toMatchObject(expected);
    expect(
      bodyOf({ rest: { safetySettings: safety, cachedContent: 'cachedContents/1', topK: 40, mediaResolution: 'MEDIA_RESOLUTION_LOW' } }),
    ).toMatchObject(expected);
    expect(configOf({ rest: { modalities: ['text', 'image'] } })).toEqual({ responseModalities: ['TEXT', 'IMAGE'] });
    expect(changesOf({ rest: { modalities: 'text' } })).toEqual(['modalities dropped']);
    expect(wireOf({ rest: { top_k: null, modalities: null, store: null } })).toEqual(wireOf({}));
  });
});

const system = (content: string): Message => ({ role: 'system', content });

describe('messages', () => {
  it('have leading instructions apart, and later ones in the user turn at their place', () => {
    const messages: Message[] = [
      system('Be brief.'),
      { role: 'developer', content: 'In French.' },
      user('Hello'),
      { role: 'assistant', content: 'Salut' },
      system('Now in German.'),
      user('Again'),
    ];
    expect(bodyOf({ messages })).toEqual({
      systemInstruction: { parts: [{ text: 'Be brief.' }, { text: 'In French.' }] },
      contents: [
        { role: 'user', parts: [{ text: 'Hello' }] },
        { role: 'model', parts: [{ text: 'Salut' }] },
        { role: 'user', parts: [{ text: 'Now in German.' }, { text: 'Again' }] },
      ],
    });
  });

  it('have the instructions in the first user turn for Gemma, and where there is no other turn', () => {
    const gemma = { externalId: 'gemma-3-27b-it' };
    expect(bodyOf({ messages: [system('Be brief.'), user('Hello')] }, gemma)).toEqual({
      contents: [{ role: 'user', parts: [{ text: 'Be brief.' }, { text: 'Hello' }] }],
    });
    expect(contentsOf([system('Be brief.'), { role: 'assistant', content: 'Yes?' }], gemma)).toEqual([
      { role: 'user', parts: [{ text: 'Be brief.' }] },
      { role: 'model', parts: [{ text: 'Yes?' }] },
    ]);
    expect(bodyOf({ messages: [system('Say hello.')] })).toEqual({ contents: [{ role: 'user', parts: [{ text: 'Say hello.' }] }] });
  });

  it('have no turn without parts for Gemma where there are no instructions', () => {
    expect(contentsOf([{ role: 'assistant', content: 'Yes?' }], { externalId: 'gemma-3-27b-it' })).toEqual([
      { role: 'user', parts: [{ text: '…' }] },
      { role: 'model', parts: [{ text: 'Yes?' }] },
    ]);
  });

  it('are joined where neighbours have one role, over an empty answer too', () => {
    const foreign = [{ type: 'reasoning.encrypted', provider: 'other', data: 'x' }] as const;
    expect(
      contentsOf([
        user('One'),
        { role: 'assistant', content: '' },
        { role: 'assistant', content: null, reasoning_details: foreign },
        user('Two'),
      ]),
    ).toEqual([{ role: 'user', parts: [{ text: 'One' }, { text: 'Two' }] }]);
  });

  it('get a text in an empty user turn, which the reply names', () => {
    const messages = [user(''), { role: 'assistant' as const, content: 'Yes?' }, user([{ type: 'text', text: '' }])];
    expect(contentsOf(messages)).toEqual([
      { role: 'user', parts: [{ text: '…' }] },
      { role: 'model', parts: [{ text: 'Yes?' }] },
      { role: 'user', parts: [{ text: '…' }] },
    ]);
    expect(changesOf({ messages })).toEqual(['messages an empty user message filled in']);
  });

  it('get a user turn before a call that begins the conversation, which the reply names', () => {
    const loop: Message[] = [
      { role: 'assistant', content: null, tool_calls: [{ id: 'c1', type: 'function', function: { name: 'weather', arguments: '{}' } }] },
      { role: 'tool', tool_call_id: 'c1', content: 'Sun.' },
    ];
    expect((contentsOf([system('Be brief.'), ...loop]) as object[]).map((turn) => Object.entries(turn)[0]?.[1])).toEqual([
      'user',
      'model',
      'user',
    ]);
    expect(changesOf({ messages: loop })).toEqual(['messages a user message put first']);
    expect(contentsOf([{ role: 'assistant', content: 'Yes?' }, user('Hi.')])).toHaveLength(2);
  });

  it('keep the inline images of an earlier answer, and the reply names dropped ones', () => {
    const messages: Message[] = [
      { ...user('Draw.'), name: 'ada' },
      { role: 'assistant', content: 'Here:', images: [image('data:image/png;base64,AAAA'), image('https://example.com/x.png'), null] },
    ];
    expect(contentsOf(messages)).toContainEqual({
      role: 'model',
      parts: [{ text: 'Here:' }, { inlineData: { mimeType: 'image/png', data: 'AAAA' } }],
    });
    expect(changesOf({ messages })).toEqual(['messages.name dropped', 'messages.images dropped']);
  });

  it('leave out the readable reasoning of an answer, and have its refusal as text', () => {
    const answer: Message = {
      role: 'assistant',
      content: [{ type: 'refusal', refusal: 'No.' }],
      reasoning: 'Hm.',
      reasoning_content: 'Hm.',
    };
    expect(contentsOf([user('Hi'), answer])).toContainEqual({ role: 'model', parts: [{ text: 'No.' }] });
    expect(contentsOf([user('Hi'), { role: 'assistant', content: null, refusal: 'No.' }, user('Why?')])).toContainEqual({
      role: 'model',
      parts: [{ text: 'No.' }],
    });
  });
});

describe('media', () => {
  const png = { mimeType: 'image/png', data: 'AAAA' };

  it.each<[string, object, object]>([
    ['an image', { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }, { inlineData: png }],
    [
      'an image with a name in its URL',
      { type: 'image_url', image_url: { url: 'data:image/png;name=x.png;base64,AAAA', detail: 'auto' } },
      { inlineData: png },
    ],
    ['an image that is a plain string', { type: 'image_url', image_url: 'data:image/png;base64,AAAA' }, { inlineData: png }],
    [
      'a file of AI Studio',
      { type: 'image_url', image_url: { url: 'https://generativelanguage.googleapis.com/v1beta/files/f1' } },
      { fileData: { fileUri: 'https://generativelanguage.googleapis.com/v1beta/files/f1' } },
    ],
    [
      'a video of YouTube',
      { type: 'video_url', video_url: { url: 'https://www.youtube.com/watch?v=abc' } },
      { fileData: { fileUri: 'https://www.youtube.com/watch?v=abc' } },
    ],
    [
      'audio',
      { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } },
      { inlineData: { mimeType: 'audio/wav', data: 'AAAA' } },
    ],
    [
      'audio in a data URL',
      { type: 'input_audio', input_audio: { data: 'data:audio/ogg;base64,AAAA' } },
      { inlineData: { mimeType: 'audio/ogg', data: 'AAAA' } },
    ],
    [
      'a PDF',
      { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' } },
      { inlineData: { mimeType: 'application/pdf', data: 'AAAA' } },
    ],
    ['a file in bare base64', { type: 'file', file: { filename: 'a.png', file_data: 'AAAA' } }, { inlineData: png }],
    [
      'a table in bare base64',
      { type: 'file', file: { filename: 'A.CSV', file_data: 'AAAA' } },
      { inlineData: { mimeType: 'text/csv', data: 'AAAA' } },
    ],
    [
      'a file of AI Studio by its id',
      { type: 'file', file: { file_id: 'https://generativelanguage.googleapis.com/v1beta/files/f1' } },
      { fileData: { fileUri: 'https://generativelanguage.googleapis.com/v1beta/files/f1' } },
    ],
  ])('are sent: %s', (_, part, sent) => {
    expect(bodyOf(asks(part))['contents']).toEqual([{ role: 'user', parts: [{ text: 'Look:' }, sent] }]);
  });

  it.each(['https://example.com/cat.png?w=1', 'gs://bucket/cat.png'])('are fetched by Vertex AI from %s', (url) => {
    expect(bodyOf(asks({ type: 'image_url', image_url: { url } }), vertex)).toMatchObject({
      contents: [{ parts: [{ text: 'Look:' }, { fileData: { fileUri: url, mimeType: 'image/png' } }] }],
    });
  });

  it.each([
    ['https://example.com/cat.png?w=1', true],
    ['https://example.com/photo?id=5', false],
    ['https://www.youtube.com/watch?v=abc', true],
  ])('from %s are fetched by Vertex AI: %s, which needs to know the type', (url, isLeft) => {
    expect(gemini.fetchesImage?.(url, targetOf('gemini', vertex))).toBe(isLeft);
  });

  it('have a type for Vertex AI where they are a video of YouTube', () => {
    const url = 'https://youtu.be/abc';
    expect(bodyOf(asks({ type: 'video_url', video_url: { url } }), vertex)).toMatchObject({
      contents: [{ parts: [{ text: 'Look:' }, { fileData: { fileUri: url, mimeType: 'video/mp4' } }] }],
    });
  });

  it.each<[string, object, string, string]>([
    ['an image elsewhere', { type: 'image_url', image_url: { url: 'https://example.com/cat.png' } }, 'unsupported_value', 'image_url.url'],
    ['a bucket', { type: 'image_url', image_url: { url: 'gs://bucket/cat.png' } }, 'unsupported_value', 'image_url.url'],
    ['an image without an address', { type: 'image_url', image_url: {} }, 'missing_required_parameter', 'image_url.url'],
    ['a file elsewhere', { type: 'file', file: { file_id: 'file-123' } }, 'unsupported_value', 'file.file_id'],
    ['a file at an address', { type: 'file', file: { file_data: 'https://example.com/a.pdf' } }, 'unsupported_value', 'file.file_data'],
    ['a file without data', { type: 'file' }, 'missing_required_parameter', 'file.file_data'],
    ['audio without data', { type: 'input_audio', input_audio: { format: 'wav' } }, 'missing_required_parameter', 'input_audio.data'],
    ['audio of no form', { type: 'input_audio', input_audio: { data: 'AAAA' } }, 'missing_required_parameter', 'input_audio.format'],
    ['a part of an unknown type', { type: 'hologram' }, 'unsupported_value', 'type'],
  ])('are refused with their place: %s', (_, part, code, field) => {
    expect(() => wireOf(asks(part))).toThrow(expect.objectContaining({ status: 400, code, param: `messages[1].content[0].${field}` }));
  });

  it.each<[string, object, string]>([
    ['an image', { type: 'image_url', image_url: { url: 'https://example.com/cat.png' } }, 'image/png'],
    ['a video', { type: 'video_url', video_url: { url: 'https://example.com/cat.mp4' } }, 'video/mp4'],
    ['a file', { type: 'file', file: { file_data: 'https://example.com/a.pdf' } }, 'application/pdf'],
  ])('are refused at an address with the form in which to send %s', (_, part, type) => {
    expect(() => wireOf(asks(part))).toThrow(`Send the content as a data URL (data:${type};base64,...)`);
  });

  it('are refused among the instructions', () => {
    const messages: Message[] = [
      { role: 'system', content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }] },
      user('Hi'),
    ];
    expect(() => wireOf({ messages })).toThrow(expect.objectContaining({ status: 400, param: 'messages[0].content[0].type' }));
  });

  it('may have addresses and file names of any length', () => {
    const long = `${'.a?'.repeat(300_000)}\n`;
    const parts = [
      { type: 'image_url', image_url: { url: `https://youtu.be/${long}` } },
      { type: 'file', file: { filename: long, file_data: 'AAAA' } },
    ];
    const cpuMs = cpuMsOf(() =>
      expect(contentsOf([{ role: 'user', content: parts }])).toMatchObject([
        { parts: [{ fileData: {} }, { inlineData: { mimeType: 'application/pdf', data: 'AAAA' } }] },
      ]),
    );
    expect(cpuMs).toBeLessThan(5000);
  });

  it('lose unknown fields of a part, which the reply names', () => {
    const messages = [
      user([
        { type: 'text', text: 'A', cache_control: { type: 'ephemeral' } },
        { type: 'text', text: 'B', cache_control: { type: 'ephemeral' } },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA', detail: 'low' } },
      ]),
    ];
    expect(changesOf({ messages })).toEqual(['messages.content.cache_control dropped', 'messages.content.image_url.detail dropped']);
    expect(wireOf({ messages }).body).not.toContain('cache_control');
  });
});

describe('tools', () => {
  it('are declared with JSON Schema, and for older models in its subset', () => {
    const declared = { name: 'weather', description: 'Tells it.' };
    expect(bodyOf({ tools: [tool] })['tools']).toEqual([{ functionDeclarations: [{ ...declared, parametersJsonSchema: schema }] }]);
    expect(bodyOf({ tools: [tool] }, old)['tools']).toEqual([
      {
        functionDeclarations: [
          { ...declared, parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } },
        ],
      },
    ]);
  });

  it('have each reference of their schema alone in its object, for tools and answers', () => {
    const place = { $ref: '#/$defs/Place' };
    const $defs = { Place: { type: 'object', properties: { near: { ...place, title: 'Near', default: null } } } };
    const given = {
      type: 'object',
      properties: {
        where: { ...place, description: 'Where to look.' },
        all: { type: 'array', items: { ...place, description: 'One of them.' } },
        $ref: { type: 'string' },
        // a default is a value, and no schema
        end: { anyOf: [place, { type: 'null' }], default: { ...place, name: 'Rome' } },
      },
      $defs,
    };
    const sent = {
      ...given,
      properties: {
        ...given.properties,
        where: { description: 'Where to look.', anyOf: [place] },
        all: { type: 'array', items: { description: 'One of them.', anyOf: [place] } },
      },
      $defs: { Place: { type: 'object', properties: { near: { title: 'Near', default: null, anyOf: [place] } } } },
    };
    expect(bodyOf({ tools: [{ type: 'function', function: { name: 'look', parameters: given } }] })['tools']).toMatchObject([
      { functionDeclarations: [{ parametersJsonSchema: sent }] },
    ]);
    expect(configOf(wanted(given))).toMatchObject({ responseJsonSchema: sent });
  });

  it('have no parameters where none are given', () => {
    const bare: Tool[] = [
      { type: 'function', function: { name: 'a' } },
      { type: 'function', function: { name: 'b', parameters: { type: 'object', properties: {} } } },
    ];
    expect(bodyOf({ tools: bare }, old)['tools']).toEqual([{ functionDeclarations: [{ name: 'a' }, { name: 'b' }] }]);
  });

  it('lose parts of a schema for an older model, and strictness, and the reply names these', () => {
    const strict: Tool = {
      type: 'function',
      function: { name: 'a', strict: true, parameters: { type: 'object', properties: { a: { type: 'string', not: {} } } } },
      cache_control: {},
    };
    expect(changesOf({ tools: [strict] }, old)).toEqual([
      'tools.function.strict dropped',
      'tools.cache_control dropped',
      'tools.function.parameters without not',
    ]);
    expect(changesOf({ tools: [tool] })).toEqual([]);
  });

  it.each<[ChatRequest['toolChoice'] & {}, object]>([
    ['auto', { mode: 'AUTO' }],
    ['none', { mode: 'NONE' }],
    ['required', { mode: 'ANY' }],
    [
      { type: 'function', function: { name: 'weather' } },
      { mode: 'ANY', allowedFunctionNames: ['weather'] },
    ],
  ])('are chosen by %j', (toolChoice, functionCallingConfig) => {
    expect(bodyOf({ tools: [tool], toolChoice })['toolConfig']).toEqual({ functionCallingConfig });
  });

  it('send no choice where there are none', () => {
    for (const toolChoice of ['auto', 'required'] as const) {
      expect(bodyOf({ tools: [], toolChoice })).toEqual({ contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] });
    }
    expect(changesOf({ toolChoice: 'required' })).toEqual(['tool_choice dropped']);
    expect(changesOf({ toolChoice: 'none' })).toEqual([]);
  });

  it.each<[string, Partial<ChatRequest>, string]>([
    [
      'a tool with the name of the answer tool',
      { tools: [{ type: 'function', function: { name: 'answer_in_json' } }] },
      'tools[0].function.name',
    ],
    ['a tool of another kind', { tools: [tool, { type: 'web_search' }] }, 'tools[1].type'],
    ['a choice of another kind', { tools: [tool], toolChoice: { type: 'allowed_tools' } }, 'tool_choice'],
    [
      'a call of another kind',
      { messages: [user('Hi'), { role: 'assistant', tool_calls: [{ id: 'c', type: 'custom' } as never] }] },
      'messages[1].tool_calls[0].type',
    ],
    [
      'a part whose type is the name of a property of every object',
      { messages: [{ role: 'user', content: [{ type: 'constructor' }] }] },
      'messages[0].content[0].type',
    ],
    ['a part whose type is __proto__', { messages: [{ role: 'user', content: [{ type: '__proto__' }] }] }, 'messages[0].content[0].type'],
    ['a format of another kind', { responseFormat: { type: 'grammar' } }, 'response_format.type'],
  ])('are refused: %s', (_, said, param) => {
    expect(() => wireOf(said)).toThrow(expect.objectContaining({ status: 400, param }));
  });
});

const tooDeep = `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;

it.each([
  ['half an object', '{"half'],
  ['a list', '[1]'],
  ['an object that is too deep to be written again', tooDeep],
])('arguments of a call in the history that are %s are wrapped in an object', (_, text) => {
  const messages: Message[] = [user('Hi'), { role: 'assistant', tool_calls: [call('a', 'x', text)] }, result('a', 'no')];
  expect(contentsOf(messages)).toMatchObject([
    {},
    { parts: [{ functionCall: { id: 'a', name: 'x', args: { arguments: text } } }] },
    { parts: [{ functionResponse: { id: 'a' } }] },
  ]);
  expect(changesOf({ messages })).toEqual(['messages.tool_calls.function.arguments wrapped in an object']);
});

const turn = (results: readonly Message[], wishes?: TargetWishes): unknown =>
  contentsOf(
    [
      user('Weather?'),
      { role: 'assistant', content: 'Asking.', tool_calls: [call('c1', 'weather', '{"city":"Rome"}'), call('c2', 'clock', '')] },
      ...results,
    ],
    wishes,
  );

describe('tool turns', () => {
  it('have all results in one user turn, by name and in the order of the calls, and then the text of the user', () => {
    expect(turn([result('c2', '12:00'), user('Quick.'), result('c1', '{"degrees":20}')])).toEqual([
      { role: 'user', parts: [{ text: 'Weather?' }] },
      {
        role: 'model',
        parts: [
          { text: 'Asking.' },
          { functionCall: { id: 'c1', name: 'weather', args: { city: 'Rome' } } },
          { functionCall: { id: 'c2', name: 'clock', args: {} } },
        ],
      },
      {
        role: 'user',
        parts: [
          { functionResponse: { id: 'c1', name: 'weather', response: { degrees: 20 } } },
          { functionResponse: { id: 'c2', name: 'clock', response: { output: '12:00' } } },
          { text: 'Quick.' },
        ],
      },
    ]);
  });

  it('have no ids for Vertex AI', () => {
    expect(JSON.stringify(turn([result('c1', 'x')], vertex))).not.toContain('"id"');
  });

  it.each([
    ['text', '20 degrees', { output: '20 degrees' }],
    [
      'parts',
      [
        { type: 'text', text: 'a' },
        { type: 'text', text: 'b' },
      ],
      { output: 'a\nb' },
    ],
    ['a list', '[1,2]', { output: '[1,2]' }],
    ['nothing', '', { output: '' }],
    ['an object', '{"a":[1]}', { a: [1] }],
    ['an object with a number that JSON.parse would change', '{"id":12345678901234567890}', { output: '{"id":12345678901234567890}' }],
    ['an object with a reference', '{"items": {"$ref" : "#/$defs/Place"}}', { output: '{"items": {"$ref" : "#/$defs/Place"}}' }],
    ['an object that has the word for references as a value', '{"key":"$ref"}', { key: '$ref' }],
    ['an object whose text speaks of a reference', '{"said":"{\\"$ref\\":1}"}', { said: '{"$ref":1}' }],
  ])('have an object in place of %s', (_, content, response) => {
    expect(turn([result('c1', content), result('c2', 'x')])).toMatchObject([
      {},
      {},
      { role: 'user', parts: [{ functionResponse: { id: 'c1', name: 'weather', response } }, {}] },
    ]);
  });

  it.each([
    ['no such city', { error: 'no such city' }],
    ['{"code":7}', { error: { code: 7 } }],
  ])('mark a failed tool: %s', (content, response) => {
    expect(turn([{ ...result('c1', content), is_error: true }, result('c2', 'x')])).toMatchObject([
      {},
      {},
      { role: 'user', parts: [{ functionResponse: { id: 'c1', name: 'weather', response } }, {}] },
    ]);
  });

  it('have the images of a result after the results', () => {
    const image: ContentPart = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } };
    expect(turn([result('c1', [{ type: 'text', text: 'See.' }, image]), result('c2', 'x')])).toMatchObject([
      {},
      {},
      {
        parts: [
          { functionResponse: { response: { output: 'See.' } } },
          { functionResponse: { response: { output: 'x' } } },
          { inlineData: { data: 'AAAA' } },
        ],
      },
    ]);
  });

  it('have a result whose call is missing as text, and a result for a call that has none', () => {
    const messages = [
      user('Hi'),
      { ...result('gone', 'x'), name: 'weather' },
      { role: 'assistant', tool_calls: [call('c', 'one')] },
      user('Stop.'),
    ] as const;
    expect(contentsOf(messages)).toMatchObject([
      { role: 'user', parts: [{ text: 'Hi' }, { text: 'The tool weather gave this result:' }, { text: 'x' }] },
      { role: 'model', parts: [{ functionCall: { name: 'one' } }] },
      { role: 'user', parts: [{ functionResponse: { name: 'one', response: { output: 'There is no result.' } } }, { text: 'Stop.' }] },
    ]);
    expect(changesOf({ messages })).toEqual([
      'messages tool results without a call sent as text',
      'messages missing tool results filled in',
    ]);
  });

  it('pair a repeated id with the latest call', () => {
    const messages = [
      user('Hi'),
      { role: 'assistant', tool_calls: [call('c', 'one')] },
      result('c', 'x'),
      { role: 'assistant', tool_calls: [call('c', 'two')] },
      result('c', 'y'),
    ] as const;
    expect(contentsOf(messages)).toMatchObject([
      {},
      {},
      { parts: [{ functionResponse: { name: 'one' } }] },
      {},
      { parts: [{ functionResponse: { name: 'two' } }] },
    ]);
  });

  it('have a placeholder for a missing signature of a 3.x model, on the first call of each answer', () => {
    const messages = [
      user('Hi'),
      { role: 'assistant', tool_calls: [call('a', 'x'), call('b', 'x')] },
      result('a', '1'),
      result('b', '2'),
      { role: 'assistant', tool_calls: [call('c', 'x')] },
      result('c', '3'),
    ] as const;
    const signaturesOf = (externalId: string) =>
      (contentsOf(messages, { externalId }) as { parts: { thoughtSignature?: string }[] }[]).flatMap(({ parts }) =>
        parts.map((part) => part.thoughtSignature ?? null),
      );
    const value = 'skip_thought_signature_validator';
    expect(signaturesOf('gemini-3-pro-preview')).toEqual([null, value, null, null, null, value, null]);
    expect(signaturesOf('gemini-2.5-pro')).toEqual(Array.from({ length: 7 }, () => null));
  });
});

const wanted = (form: object | undefined) => ({
  responseFormat: { type: 'json_schema', json_schema: { name: 'answer', strict: true, ...(form !== undefined && { schema: form }) } },
});

describe('the form of an answer', () => {
  it('is JSON, or JSON of a schema', () => {
    expect(configOf({ responseFormat: { type: 'json_object' } })).toEqual({ responseMimeType: 'application/json' });
    expect(configOf(wanted(schema))).toEqual({ responseMimeType: 'application/json', responseJsonSchema: schema });
    expect(configOf(wanted(schema), old)).toEqual({
      responseMimeType: 'application/json',
      responseSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    });
    expect(configOf(wanted(undefined))).toEqual({ responseMimeType: 'application/json' });
    expect(configOf({ responseFormat: { type: 'text' } })).toBeUndefined();
  });

  describe('beside tools, which models before Gemini 3 refuse', () => {
    const beside = (toolChoice: ChatRequest['toolChoice'], wishes?: TargetWishes): unknown[] => {
      const { tools, toolConfig, generationConfig } = bodyOf({ ...wanted(schema), tools: [tool], toolChoice }, wishes) as any;
      return [
        tools[0].functionDeclarations.map(({ name }: { name: string }) => name),
        toolConfig?.functionCallingConfig,
        generationConfig?.responseMimeType,
      ];
    };

    it.each([
      [null, { mode: 'ANY' }],
      ['auto', { mode: 'ANY' }],
      ['none', { mode: 'ANY', allowedFunctionNames: ['answer_in_json'] }],
    ] as const)('is the input of a tool of its own: tool_choice %s', (toolChoice, calling) => {
      expect(beside(toolChoice)).toEqual([['weather', 'answer_in_json'], calling, undefined]);
      expect(changesOf({ ...wanted(schema), tools: [tool], toolChoice })).toEqual([]);
    });

    it('has its schema in that tool', () => {
      const { tools } = bodyOf({ ...wanted(schema), tools: [tool] }) as any;
      expect(tools[0].functionDeclarations[1]).toMatchObject({ description: expect.any(String), parametersJsonSchema: schema });
    });

    it('is left out where the caller forces a call, because that call is the answer', () => {
      expect(beside('required')).toEqual([['weather'], { mode: 'ANY' }, undefined]);
      expect(beside({ type: 'function', function: { name: 'weather' } })).toEqual([
        ['weather'],
        { mode: 'ANY', allowedFunctionNames: ['weather'] },
        undefined,
      ]);
    });

    it('is a field for Gemini 3', () => {
      expect(beside('auto', { externalId: 'gemini-3.5-flash' })).toEqual([['weather'], { mode: 'AUTO' }, 'application/json']);
    });

    it('without a schema goes out as it is, because a tool without properties would get no input', () => {
      expect(bodyOf({ responseFormat: { type: 'json_object' }, tools: [tool] })).toMatchObject({
        tools: [{ functionDeclarations: [{ name: 'weather' }] }],
        generationConfig: { responseMimeType: 'application/json' },
      });
    });
  });
});

const thinkingOf = (externalId: string, reasoning: TargetWishes['reasoning'] = {}): unknown =>
  (configOf({}, { externalId, reasoning }) as { thinkingConfig?: unknown } | undefined)?.thinkingConfig;

describe('reasoning', () => {
  const efforts: readonly Effort[] = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'];
  it.each<[string, readonly (string | number | null)[]]>([
    ['gemini-2.5-pro', [null, 128, 1024, 8192, 24_576, 32_768]],
    ['gemini-2.5-flash', [0, 512, 1024, 8192, 24_576, 24_576]],
    ['gemini-2.5-flash-lite', [0, 512, 1024, 8192, 24_576, 24_576]],
    ['gemini-3-pro-preview', [null, 'low', 'low', 'high', 'high', 'high']],
    ['gemini-3.1-pro-preview', [null, 'low', 'low', 'medium', 'high', 'high']],
    ['gemini-3-flash-preview', ['minimal', 'minimal', 'low', 'medium', 'high', 'high']],
    ['gemini-3.5-flash', ['minimal', 'minimal', 'low', 'medium', 'high', 'high']],
    ['gemini-3.7-flash', [null, 'low', 'low', 'medium', 'high', 'high']],
    ['gemini-flash-latest', [null, 'low', 'low', 'medium', 'high', 'high']],
    ['models/gemini-pro-latest', [null, 'low', 'low', 'medium', 'high', 'high']],
    ['gemma-4-31b-it', ['minimal', 'minimal', 'minimal', 'high', 'high', 'high']],
    ['tunedModels/mine', ['low', 'low', 'low', 'medium', 'high', 'high']],
  ])('has each effort for %s in its own fields', (externalId, words) => {
    for (const [at, effort] of efforts.entries()) {
      const said = words[at];
      if (said === null) continue;
      const form = typeof said === 'number' ? { thinkingBudget: said } : { thinkingLevel: said };
      expect(thinkingOf(externalId, { effort }), effort).toEqual(effort === 'none' ? form : { ...form, includeThoughts: true });
    }
  });

  it('is that of the catalogue’s model where the name of an endpoint does not tell the model', () => {
    const tuned = { ...vertex, externalId: 'endpoints/123', reasoning: { effort: 'low' } } as const;
    const thinkingIn = (modelId: string): unknown => configOf({}, { ...tuned, modelId });
    expect(thinkingIn('gemini-2.5-flash')).toEqual({ thinkingConfig: { thinkingBudget: 1024, includeThoughts: true } });
    expect(thinkingIn('our-own')).toEqual({ thinkingConfig: { thinkingLevel: 'low', includeThoughts: true } });
  });

  it.each<[string, Effort, string[]]>([
    ['gemini-3-flash-preview', 'high', []],
    ['gemini-3-pro-preview', 'medium', ['reasoning_effort changed to high']],
    ['gemini-3-flash-preview', 'none', ['reasoning_effort changed to minimal']],
    ['gemini-2.5-flash', 'none', []],
    ['gemma-4-31b-it', 'minimal', []],
    ['gemini-2.5-flash', 'medium', ['reasoning_effort changed to 8192 tokens']],
  ])('is named for %s %s where it changed', (externalId, effort, changes) => {
    expect(changesOf({}, { externalId, reasoning: { effort } })).toEqual(changes);
  });

  it.each(['gemini-2.5-pro', 'gemini-2.5-flash', 'gemini-3-pro-preview'])('has a budget for %s unchanged, and no level', (externalId) => {
    for (const maxTokens of [-1, 1, 777, 500_000]) {
      expect(thinkingOf(externalId, { maxTokens })).toEqual({ thinkingBudget: maxTokens, includeThoughts: true });
    }
    expect(thinkingOf(externalId, { maxTokens: 0 })).toEqual({ thinkingBudget: 0 });
    expect(changesOf({}, { externalId, reasoning: { maxTokens: 777 } })).toEqual([]);
  });

  it.each([
    ['gemini-2.5-pro', { includeThoughts: true }],
    ['gemini-3-flash-preview', { includeThoughts: true }],
    ['gemini-2.5-flash-lite', undefined],
    ['tunedModels/mine', undefined],
  ])('of %s is shown by default only where the model thinks by default', (externalId, config) => {
    expect(thinkingOf(externalId)).toEqual(config);
  });

  it('is not shown where the model shows none, and is dropped where the model does not reason', () => {
    const target = targetOf('gemini', { externalId: 'gemini-2.5-pro', reasoning: { effort: 'low' } });
    const asked = (reasoning: object | null) =>
      gemini.encode(requestOf(), { ...target, mapping: { ...target.mapping, reasoning } as typeof target.mapping });
    expect(JSON.parse(asked({ ...target.mapping.reasoning, exposes: 'nothing' }).body)).toMatchObject({
      generationConfig: { thinkingConfig: { thinkingBudget: 1024 } },
    });
    expect(asked({ ...target.mapping.reasoning, exposes: 'nothing' }).body).not.toContain('includeThoughts');
    expect(asked(null).body).not.toContain('thinking');
    expect(asked(null).adjustments).toEqual([{ parameter: 'reasoning_effort', change: 'dropped' }]);
  });
});
