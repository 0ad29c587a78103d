import { describe, expect, it } from 'vitest';
import type { ChatRequest, Effort, Message, Tool } from '../../../../core/chat.ts';
import type { GatewayError } from '../../../../core/errors.ts';
import { requestOf, type TargetWishes, targetOf } from '../../../contract/dialect.ts';
import { cpuMsOf } from '../../../_kit/cpu.ts';
import { type Body, bodyOf, call, changesOf, dialect, llama, nova, sonnet, tide, user, wireOf } from './encoded.ts';

const sonnet45 = 'us.anthropic.claude-sonnet-4-5-20250929-v1:0';
const nova2 = 'us.amazon.nova-2-lite-v1:0';
const qwen = 'qwen.qwen3-235b-a22b-2507-v1:0';

function refusalOf(...asked: Parameters<typeof wireOf>): GatewayError {
  try {
    wireOf(...asked);
  } catch (error) {
    return error as GatewayError;
  }
  throw new Error('it was not refused');
}

const contentOf = (messages: Message[], externalId?: string): Body[][] =>
  bodyOf({ messages }, externalId)['messages'].map(({ content }: { content: Body[] }) => content);
const tideSpec = { toolSpec: { name: 'tide', description: 'Tells the tide.', inputSchema: { json: tide.function?.parameters } } };

describe('where a request goes', () => {
  it.each([
    ['a plain id', nova, 'amazon.nova-micro-v1%3A0'],
    [
      'an ARN',
      'arn:aws:bedrock:eu-west-1:123:inference-profile/eu.x-v1:0',
      'arn%3Aaws%3Abedrock%3Aeu-west-1%3A123%3Ainference-profile%2Feu.x-v1%3A0',
    ],
  ])('has %s as one segment of the path', (_, externalId, segment) => {
    expect(wireOf({}, externalId).path).toBe(`/model/${segment}/converse`);
    expect(wireOf({ stream: true }, externalId).path).toBe(`/model/${segment}/converse-stream`);
  });

  it.each([llama, 'mistral.mistral-large-2407-v1:0'])(
    'is the plain API for a stream with tools from %s, which streams no calls',
    (externalId) => {
      const said = { stream: true, tools: [tide] };
      expect(wireOf(said, externalId)).toMatchObject({
        path: expect.stringMatching(/\/converse$/),
        headers: { accept: 'application/json' },
      });
      expect(changesOf(said, externalId)).toEqual(['stream: the answer comes whole, because of the tools']);
      expect(wireOf({ stream: true }, externalId).path).toMatch(/\/converse-stream$/);
      expect(wireOf(said, sonnet).path).toMatch(/\/converse-stream$/);
    },
  );

  it('names the form of answer that it accepts', () => {
    expect(wireOf({}).headers).toEqual({ 'content-type': 'application/json', accept: 'application/json' });
    expect(wireOf({ stream: true }).headers).toMatchObject({ accept: 'application/vnd.amazon.eventstream' });
  });

  it('has the fields of the caller and no others', () => {
    expect(bodyOf({})).toEqual({ messages: [{ role: 'user', content: [{ text: 'Hello' }] }] });
    expect(bodyOf({}, sonnet)).toEqual({ messages: [{ role: 'user', content: [{ text: 'Hello' }] }] });
  });
});

describe('parameters', () => {
  it.each<[string, Partial<ChatRequest>, object, string[]]>([
    [
      'limits and sampling',
      { maxTokens: 50, temperature: 0.5, topP: 0.9, stop: ['a', 'b'] },
      { inferenceConfig: { maxTokens: 50, temperature: 0.5, topP: 0.9, stopSequences: ['a', 'b'] } },
      [],
    ],
    ['one stop sequence', { stop: 'END' }, { inferenceConfig: { stopSequences: ['END'] } }, []],
    ['a blank stop sequence', { stop: ['\n', 'END'] }, { inferenceConfig: { stopSequences: ['END'] } }, ['stop: blank sequences dropped']],
    ['a temperature out of range', { temperature: 1.7 }, { inferenceConfig: { temperature: 1 } }, ['temperature: clamped to 1']],
    [
      'what there is no place for',
      { seed: 1, presencePenalty: 1, frequencyPenalty: 1, logitBias: { 5: 1 }, logprobs: true, topLogprobs: 2, user: 'u' },
      {},
      ['seed', 'presence_penalty', 'frequency_penalty', 'logit_bias', 'logprobs', 'top_logprobs', 'user'].map((name) => `${name}: dropped`),
    ],
    [
      'values that ask for nothing',
      { presencePenalty: 0, frequencyPenalty: 0, logprobs: false, topLogprobs: 0, n: 1, tools: [], responseFormat: { type: 'text' } },
      {},
      [],
    ],
    [
      'fields of Converse itself',
      { rest: { guardrailConfig: { guardrailIdentifier: 'g' }, performanceConfig: { latency: 'optimized' } } },
      { guardrailConfig: { guardrailIdentifier: 'g' }, performanceConfig: { latency: 'optimized' } },
      [],
    ],
    [
      "fields of the model's own",
      { rest: { additionalModelRequestFields: { a: 1 }, top_k: 7 } },
      { additionalModelRequestFields: { a: 1, inferenceConfig: { topK: 7 } } },
      [],
    ],
    ['a service tier', { rest: { service_tier: 'flex' } }, { serviceTier: { type: 'flex' } }, []],
    ['the usual service tier', { rest: { service_tier: 'auto' } }, {}, []],
    [
      'metadata',
      { rest: { metadata: { team: 'tide', odd: 'a{b' } } },
      { requestMetadata: { team: 'tide' } },
      ['metadata: cut to 1 entries'],
    ],
    ['unknown fields', { rest: { store: true, prediction: null, tags: { team: 'tide' } } }, {}, ['store: dropped', 'tags: dropped']],
  ])('are sent in their fields: %s', (_, said, wanted, changes) => {
    const { messages: _messages, ...sent } = bodyOf(said);
    expect(sent).toEqual(wanted);
    expect(changesOf(said)).toEqual(changes);
  });

  it('ask for one answer only', () => {
    expect(refusalOf({ n: 2 })).toMatchObject({ status: 400, code: 'unsupported_value', param: 'n' });
  });

  it('are sent in the fields of Claude', () => {
    expect(bodyOf({ temperature: 1.5, rest: { top_k: 5 } }, sonnet)).toMatchObject({
      inferenceConfig: { temperature: 1 },
      additionalModelRequestFields: { top_k: 5 },
    });
    expect(changesOf({ temperature: 0.2, topP: 0.9 }, sonnet45)).toEqual(['top_p: dropped']);
  });

  it.each([
    ['openai.gpt-5.6', ['temperature: dropped', 'top_p: dropped', 'stop: dropped', 'top_k: dropped']],
    ['openai.gpt-oss-120b-1:0', ['top_k: dropped']],
  ])('are dropped where %s refuses them', (externalId, changes) => {
    expect(
      changesOf({ temperature: 1.5, topP: 0.5, stop: 'x', rest: { top_k: 1 } }, externalId)
        .filter((change) => change.endsWith('dropped'))
        .toSorted(),
    ).toEqual(changes.toSorted());
  });
});

describe('messages', () => {
  it('begin with system texts, and their roles alternate', () => {
    const messages: Message[] = [
      { role: 'system', content: 'Be brief.' },
      { role: 'developer', content: [{ type: 'text', text: 'Be kind.' }] },
      user('One.'),
      user('Two.'),
      { role: 'assistant', content: 'Three.' },
      { role: 'system', content: 'Now in verse.' },
      user('Four.'),
    ];
    expect(bodyOf({ messages })).toEqual({
      system: [{ text: 'Be brief.' }, { text: 'Be kind.' }],
      messages: [
        { role: 'user', content: [{ text: 'One.' }, { text: 'Two.' }] },
        { role: 'assistant', content: [{ text: 'Three.' }] },
        { role: 'user', content: [{ text: 'Now in verse.' }, { text: 'Four.' }] },
      ],
    });
  });

  it('have no blank texts and no empty turn', () => {
    const messages: Message[] = [
      user([
        { type: 'text', text: ' \n' },
        { type: 'text', text: 'One.' },
      ]),
      { role: 'assistant', content: '' },
      user('Two.'),
    ];
    expect(contentOf(messages)).toEqual([[{ text: 'One.' }, { text: 'Two.' }]]);
  });

  it('get a text in an empty user turn, which the reply names', () => {
    const messages: Message[] = [user('One.'), { role: 'assistant', content: 'Two.' }, user([{ type: 'text', text: ' \n' }])];
    expect(contentOf(messages)).toEqual([[{ text: 'One.' }], [{ text: 'Two.' }], [{ text: '…' }]]);
    expect(changesOf({ messages })).toEqual(['messages: an empty user message filled in']);
  });

  it('end without white space after the beginning of an answer', () => {
    expect(contentOf([user('Go.'), { role: 'assistant', content: 'Well \n' }])[1]).toEqual([{ text: 'Well' }]);
    expect(contentOf([user('Go.'), { role: 'assistant', content: 'Well ' }, user('?')])[1]).toEqual([{ text: 'Well ' }]);
  });

  it.each<[string, Message[], object[], string]>([
    [
      'instructions are all there is',
      [{ role: 'system', content: 'Go.' }],
      [{ role: 'user', content: [{ text: 'Go.' }] }],
      'messages: instructions sent as the user',
    ],
    [
      'the assistant speaks first',
      [{ role: 'assistant', content: 'Hi!' }, user('Hi.')],
      [
        { role: 'user', content: [{ text: '…' }] },
        { role: 'assistant', content: [{ text: 'Hi!' }] },
        { role: 'user', content: [{ text: 'Hi.' }] },
      ],
      'messages: a user message put first',
    ],
  ])('begin with the user where %s', (_, messages, wanted, change) => {
    expect(bodyOf({ messages })).toEqual({ messages: wanted });
    expect(changesOf({ messages })).toEqual([change]);
  });

  it('have the refusal of an assistant', () => {
    expect(contentOf([user('?'), { role: 'assistant', content: null, refusal: 'No.' }, user('!')])[1]).toEqual([{ text: 'No.' }]);
    expect(contentOf([user('?'), { role: 'assistant', content: 'Well.', refusal: 'No.' }, user('!')])[1]).toEqual([
      { text: 'Well.' },
      { text: 'No.' },
    ]);
    expect(contentOf([user('?'), { role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] }, user('!')])[1]).toEqual([
      { text: 'No.' },
    ]);
  });
});

const image = (url: string) => ({ type: 'image_url', image_url: { url } });

const file = (data: string, filename?: string) => ({
  type: 'file',
  file: { file_data: data, ...(filename !== undefined && { filename }) },
});

describe('images and documents', () => {
  it('are named as dropped where Bedrock has no field for them, and so are names and details', () => {
    const messages: Message[] = [
      {
        ...user([{ ...image('data:image/png;base64,AAAA'), image_url: { url: 'data:image/png;base64,AAAA', detail: 'low' } }]),
        name: 'ada',
      },
      { role: 'assistant', content: 'Here.', images: [image('data:image/png;base64,AAAA')] },
      user('And?'),
    ];
    expect(changesOf({ messages })).toEqual([
      'messages.name: dropped',
      'messages.images: dropped',
      'messages.content.image_url.detail: dropped',
    ]);
    expect(
      changesOf({
        messages: [
          user([{ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA', detail: 'auto' } }]),
          { role: 'assistant', content: 'Here.', images: [] },
          user('And?'),
        ],
      }),
    ).toEqual([]);
  });

  it.each([
    ['image/png', 'png'],
    ['image/jpg', 'jpeg'],
    ['image/jpeg;name=x.jpg', 'jpeg'],
    ['image/gif', 'gif'],
    ['image/webp', 'webp'],
  ])('are sent as bytes: %s', (type, format) => {
    expect(contentOf([user([image(`data:${type};base64,AAAA`)])])).toEqual([[{ image: { format, source: { bytes: 'AAAA' } } }]]);
  });

  it('have unique names that Bedrock accepts', () => {
    const pdf = 'data:application/pdf;base64,JVBERi0=';
    const parts = [
      file(pdf, "John's  résumé, #1.pdf"),
      file(pdf, 'report.pdf'),
      file(pdf, 'report.pdf'),
      file('data:text/csv;base64,YQ==', '.csv'),
      file('YQ==', 'notes.md'),
      { type: 'text', text: 'Compare.' },
    ];
    const [blocks = []] = contentOf([user(parts)]);
    expect(blocks.slice(0, -1).map(({ document: { name, format } }) => `${name}.${format}`)).toEqual([
      'John-s r-sum- -1.pdf',
      'report.pdf',
      'report (2).pdf',
      'document.csv',
      'notes.md',
    ]);
  });

  // a search through the whole conversation for each, or a test of each name from the first, would take minutes for this many
  it('may be thousands', () => {
    const one = user([
      { type: 'text', text: 'See:' },
      image('data:image/png;base64,AAAA'),
      file('data:application/pdf;base64,JVBERi0=', 'a.pdf'),
    ]);
    const cpuMs = cpuMsOf(() => {
      const [blocks = []] = contentOf(Array.from({ length: 20_000 }, () => one));
      expect(new Set(blocks.flatMap(({ document }) => document?.name ?? [])).size).toBe(20_000);
    });
    expect(cpuMs).toBeLessThan(5000);
  });

  it('may have names of any length', () => {
    const parts = [file('JVBERi0=', `${'-'.repeat(1_000_000)}a.pdf`), file('JVBERi0=', `a${' -'.repeat(500_000)}.pdf`)].map((part) => ({
      ...part,
      file: { ...part.file, file_data: 'data:application/pdf;base64,JVBERi0=' },
    }));
    const cpuMs = cpuMsOf(() => {
      const [[block] = []] = contentOf([user(parts)]);
      expect(block).toMatchObject({ document: { name: 'document' } });
    });
    expect(cpuMs).toBeLessThan(5000);
  });

  it('may not be addresses', () => {
    for (const part of [image('https://a.example/b.png'), file('https://a.example/b.pdf', 'b.pdf'), file('s3://bucket/b.pdf', 'b.pdf')]) {
      expect(refusalOf({ messages: [user([part])] })).toMatchObject({
        status: 400,
        code: 'unsupported_value',
        param: expect.stringContaining('messages[0].content[0]'),
      });
    }
  });

  it.each(['constructor', '__proto__'])('may not have the name of a JavaScript property as type: %s', (type) => {
    for (const part of [image(`data:${type};base64,AAAA`), file(`data:${type};base64,AAAA`)]) {
      expect(refusalOf({ messages: [user([part])] })).toMatchObject({ status: 400, code: 'unsupported_value' });
    }
  });

  it('get a text beside them', () => {
    const messages = [user([file('data:application/pdf;base64,JVBERi0=', 'a.pdf')])];
    expect(contentOf(messages)[0]?.[1]).toEqual({ text: 'See the document.' });
    expect(changesOf({ messages })).toEqual(['messages: a text added beside the document']);
  });

  it.each<[string, Message, string]>([
    ['an image by URL', user([image('https://example.com/a.png')]), 'messages[1].content[0].image_url'],
    ['an image of another kind', user([image('data:image/tiff;base64,AAAA')]), 'messages[1].content[0].image_url'],
    ['an image without any', user([{ type: 'image_url' }]), 'messages[1].content[0].image_url'],
    [
      'a file by id',
      user([
        { type: 'text', text: 'See:' },
        { type: 'file', file: { file_id: 'file-1' } },
      ]),
      'messages[1].content[1].file',
    ],
    ['a file of another kind', user([file('data:application/zip;base64,AAAA', 'a.zip')]), 'messages[1].content[0].file'],
    ['sound', user([{ type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }]), 'messages[1].content[0]'],
    ['an image of the assistant', { role: 'assistant', content: [image('data:image/png;base64,AAAA')] }, 'messages[1].content[0]'],
    ['an image among instructions', { role: 'system', content: [image('data:image/png;base64,AAAA')] }, 'messages[1].content[0]'],
  ])('are refused by name: %s', (_, message, param) => {
    expect(refusalOf({ messages: [{ role: 'system', content: 'x' }, message] })).toMatchObject({
      status: 400,
      code: 'unsupported_value',
      param,
    });
  });
});

const choiceOf = (toolChoice: ChatRequest['toolChoice'], externalId?: string) =>
  bodyOf({ tools: [tide], toolChoice }, externalId)['toolConfig'];

describe('tools', () => {
  it('are sent with their whole schemas', () => {
    expect(choiceOf(null)).toEqual({ tools: [tideSpec] });
    expect(bodyOf({ tools: [{ type: 'function', function: { name: 'now', description: ' ' } }] })['toolConfig']).toEqual({
      tools: [{ toolSpec: { name: 'now', inputSchema: { json: { type: 'object', properties: {} } } } }],
    });
  });

  it('are chosen as the caller says', () => {
    expect(choiceOf('auto')).toEqual({ tools: [tideSpec] });
    expect(choiceOf('required')).toEqual({ tools: [tideSpec], toolChoice: { any: {} } });
    expect(choiceOf({ type: 'function', function: { name: 'tide' } })).toEqual({
      tools: [tideSpec],
      toolChoice: { tool: { name: 'tide' } },
    });
    expect(choiceOf('none')).toBeUndefined();
    expect(refusalOf({ tools: [tide], toolChoice: { type: 'allowed_tools' } })).toMatchObject({ status: 400, param: 'tool_choice' });
  });

  it('cannot be forced where there are none, and the reply says so', () => {
    expect(changesOf({ toolChoice: 'required' })).toEqual(['tool_choice: dropped']);
  });

  it.each([llama, 'anthropic.claude-opus-5-5'])('are not forced on %s, and the reply says so', (externalId) => {
    const said: Partial<ChatRequest> = { tools: [tide], toolChoice: 'required' };
    expect(bodyOf(said, externalId)['toolConfig']).toEqual({ tools: [tideSpec] });
    expect(changesOf(said, externalId).join()).toContain('tool_choice: relaxed to auto');
  });

  it('are forced on a Claude that can stop thinking for it', () => {
    const said: Partial<ChatRequest> = { tools: [tide], toolChoice: 'required' };
    expect(bodyOf(said, 'global.anthropic.claude-haiku-5-5')).toMatchObject({
      toolConfig: { toolChoice: { any: {} } },
      additionalModelRequestFields: { thinking: { type: 'disabled' } },
    });
    expect(changesOf(said, 'global.anthropic.claude-haiku-5-5')).toEqual(['reasoning: turned off']);
  });

  it('are not forced while Claude thinks', () => {
    const asked = [{ tools: [tide], toolChoice: 'required' as const }, sonnet, { effort: 'low' as const }] as const;
    expect(bodyOf(...asked)['toolConfig']).toEqual({ tools: [tideSpec] });
    expect(changesOf(...asked)).toEqual(['tool_choice: relaxed to auto']);
  });

  it('are called one at a time by Claude, and by no other model', () => {
    const said: Partial<ChatRequest> = {
      tools: [tide],
      toolChoice: { type: 'function', function: { name: 'tide' } },
      parallelToolCalls: false,
    };
    expect(bodyOf(said, sonnet)).toMatchObject({
      toolConfig: { tools: [tideSpec] },
      additionalModelRequestFields: { tool_choice: { type: 'tool', name: 'tide', disable_parallel_tool_use: true } },
    });
    expect(bodyOf(said, sonnet)['toolConfig']).not.toHaveProperty('toolChoice');
    expect(changesOf(said)).toEqual(['parallel_tool_calls: dropped']);
    expect(changesOf({ ...said, parallelToolCalls: true })).toEqual([]);
  });

  it('are strict where the model supports schemas', () => {
    const strict: Tool = {
      type: 'function',
      function: {
        ...(tide.function as { name: string }),
        parameters: { type: 'object', properties: { n: { type: 'integer', minimum: 1 } } },
        strict: true,
      },
    };
    expect(bodyOf({ tools: [strict] }, sonnet45)['toolConfig'].tools[0].toolSpec).toMatchObject({
      strict: true,
      inputSchema: { json: { additionalProperties: false } },
    });
    expect(changesOf({ tools: [strict] }, sonnet45)).toEqual(['tools.function.parameters: not enforced: minimum']);
    expect(changesOf({ tools: [strict] }, 'anthropic.claude-opus-4-7')).toEqual(['tools.function.strict: dropped']);
  });

  it('of other kinds are refused, like the reserved name', () => {
    expect(refusalOf({ tools: [{ type: 'web_search' }] })).toMatchObject({
      status: 400,
      code: 'unsupported_value',
      param: 'tools[0].type',
    });
    expect(refusalOf({ tools: [tide, { type: 'function', function: { name: 'answer_in_json' } }] })).toMatchObject({
      status: 400,
      code: 'invalid_value',
      param: 'tools[1].function.name',
    });
  });
});

const namesOf = (said: Partial<ChatRequest>, externalId?: string): string[] =>
  bodyOf(said, externalId)['toolConfig'].tools.map(({ toolSpec }: Body) => toolSpec.name);

describe('structured answers', () => {
  const schema = { type: 'object', properties: { tide: { type: 'string', minLength: 1 } }, required: ['tide'] };
  const responseFormat = { type: 'json_schema', json_schema: { name: 'tide', schema } };
  it.each([nova, sonnet, qwen, 'anthropic.claude-opus-4-8'])('are the input of a tool that %s must call', (externalId) => {
    const { toolConfig } = bodyOf({ responseFormat }, externalId);
    expect(toolConfig).toMatchObject({
      tools: [{ toolSpec: { name: 'answer_in_json', inputSchema: { json: schema } } }],
      toolChoice: { any: {} },
    });
  });

  it("are one tool among the caller's tools", () => {
    expect(bodyOf({ responseFormat, tools: [tide] })['toolConfig'].toolChoice).toEqual({ any: {} });
    expect(namesOf({ responseFormat, tools: [tide] })).toEqual(['tide', 'answer_in_json']);
    expect(namesOf({ responseFormat, tools: [tide], toolChoice: 'none' })).toEqual(['answer_in_json']);
    expect(namesOf({ responseFormat, tools: [tide], toolChoice: 'required' })).toEqual(['tide']);
  });

  it('use the schema of the model where Bedrock supports it, and thinking stays on', () => {
    expect(bodyOf({ responseFormat }, sonnet45, { effort: 'low' })).toMatchObject({
      additionalModelRequestFields: {
        thinking: { type: 'enabled' },
        output_config: { format: { type: 'json_schema', schema: { required: ['tide'], additionalProperties: false } } },
      },
    });
    expect(changesOf({ responseFormat }, sonnet45)).toEqual(['response_format: not enforced: minLength']);
  });

  it('are the input of a tool where the schema has a map, which the model can only leave empty', () => {
    const prices = { type: 'object', additionalProperties: { type: 'number' } };
    const open = { responseFormat: { type: 'json_schema', json_schema: { name: 'prices', schema: prices } } };
    expect(bodyOf(open, sonnet45)).toMatchObject({
      toolConfig: { tools: [{ toolSpec: { name: 'answer_in_json', inputSchema: { json: prices } } }], toolChoice: { any: {} } },
    });
    expect(changesOf(open, sonnet45)).toEqual([]);
  });

  it('turn thinking off where both are impossible', () => {
    expect(bodyOf({ responseFormat }, sonnet, { effort: 'low' })).not.toHaveProperty('additionalModelRequestFields');
    expect(changesOf({ responseFormat }, sonnet, { effort: 'low' })).toEqual(['reasoning_effort: dropped']);
  });

  it('of any form do not turn thinking off', () => {
    const said = { responseFormat: { type: 'json_object' } };
    expect(bodyOf(said, sonnet, { effort: 'low' })).toMatchObject({ additionalModelRequestFields: { thinking: { type: 'enabled' } } });
    expect(changesOf(said, sonnet, { effort: 'low' })).toEqual(['response_format: asked for, not enforced']);
    expect(bodyOf(said)['toolConfig']).toMatchObject({
      tools: [{ toolSpec: { inputSchema: { json: { type: 'object' } } } }],
      toolChoice: { any: {} },
    });
  });

  it('are only offered as a tool where no tool can be forced, and other formats are refused', () => {
    expect(changesOf({ responseFormat }, llama)).toEqual(['response_format: asked for, not enforced']);
    expect(refusalOf({ responseFormat: { type: 'grammar' } })).toMatchObject({ status: 400, param: 'response_format.type' });
  });
});

describe('cache points', () => {
  const control = { type: 'ephemeral' };
  const point = { cachePoint: { type: 'default' } };
  const marked = (text: string, cacheControl: object = control) => ({ type: 'text', text, cache_control: cacheControl });

  it('come after the parts that they cache: tools, instructions, texts, results', () => {
    const body = bodyOf({
      tools: [{ ...tide, cache_control: control }],
      messages: [
        { role: 'system', content: [marked('Long.')] },
        { role: 'user', content: 'Tide?', cache_control: control },
        { role: 'assistant', content: null, tool_calls: [call('a', 'tide')] },
        { role: 'tool', tool_call_id: 'a', content: [marked('High')] },
      ],
    });
    expect(body['toolConfig'].tools).toEqual([tideSpec, point]);
    expect(body['system']).toEqual([{ text: 'Long.' }, point]);
    expect(body['messages'].map(({ content }: Body) => content.at(-1))).toEqual([
      point,
      expect.objectContaining({ toolUse: expect.anything() }),
      point,
    ]);
  });

  it('come after a marked call, and after a marked empty result', () => {
    const marks = { cache_control: control };
    const messages: Message[] = [
      user('Tide?'),
      { role: 'assistant', content: null, tool_calls: [{ ...call('a', 'tide'), ...marks }, call('b', 'tide')] },
      { role: 'tool', tool_call_id: 'a', content: '', ...marks },
      { role: 'tool', tool_call_id: 'b', content: 'Low' },
    ];
    const [, calls, results] = bodyOf({ messages, tools: [tide] })['messages'].map(({ content }: Body) =>
      content.map((block: Body) => Object.keys(block)[0] as string),
    ) as string[][];
    expect([calls, results]).toEqual([
      ['toolUse', 'cachePoint', 'toolUse'],
      ['toolResult', 'cachePoint', 'toolResult'],
    ]);
  });

  it('are four at most, and none comes after a blank text', () => {
    const messages = [user([marked(' '), ...['a', 'b', 'c', 'd', 'e'].map((text) => marked(text))])];
    expect(contentOf(messages)[0]?.map((block) => Object.keys(block)[0])).toEqual([
      'text',
      'cachePoint',
      'text',
      'cachePoint',
      'text',
      'cachePoint',
      'text',
      'cachePoint',
      'text',
    ]);
    expect(changesOf({ messages })).toEqual(['cache_control: dropped after the first 4']);
  });

  it.each([
    ['a PDF', 'a.pdf', ['text', 'document', 'cachePoint', 'text'], []],
    ['a table', 'a.csv', ['text', 'cachePoint', 'document', 'text'], ['cache_control: moved before a document that is no PDF']],
  ])('never come directly after a document that Bedrock reads as text: %s', (_, filename, kinds, changes) => {
    const messages = [
      user([
        { type: 'text', text: 'Read.' },
        { type: 'file', file: { filename, file_data: 'AAAA' }, cache_control: control },
        { type: 'text', text: 'Well?' },
      ]),
    ];
    expect(contentOf(messages, sonnet)[0]?.map((block) => Object.keys(block)[0])).toEqual(kinds);
    expect(changesOf({ messages }, sonnet)).toEqual(changes);
  });

  it('take linear time where a caller asks for one after each of many documents that Bedrock reads as text', () => {
    const table = { type: 'file', file: { filename: 'a.csv', file_data: 'AAAA' }, cache_control: control };
    const content = Array.from({ length: 80_000 }, () => table);
    expect(cpuMsOf(() => void changesOf({ messages: [user(content)] }, sonnet))).toBeLessThan(3000);
    expect(cpuMsOf(() => void changesOf({ messages: [user([{ type: 'text', text: 'Well?' }, ...content])] }, sonnet))).toBeLessThan(3000);
  });

  it('are left out where only a document that Bedrock reads as text comes before them, and come once before several of these', () => {
    const table = { type: 'file', file: { filename: 'a.csv', file_data: 'AAAA' }, cache_control: control };
    expect(contentOf([user([table, { type: 'text', text: 'Well?' }])], sonnet)[0]?.map((block) => Object.keys(block)[0])).toEqual([
      'document',
      'text',
    ]);
    expect(changesOf({ messages: [user([table, { type: 'text', text: 'Well?' }])] }, sonnet)).toEqual([
      'cache_control: dropped after a document that is no PDF',
    ]);
    expect(contentOf([user([marked('Read.'), table, table])], sonnet)[0]?.map((block) => Object.keys(block)[0])).toEqual([
      'text',
      'cachePoint',
      'document',
      'document',
    ]);
  });

  it('last an hour where the model supports it', () => {
    const messages = [user([marked('a', { type: 'ephemeral', ttl: '1h' })])];
    expect(contentOf(messages, sonnet45)[0]?.[1]).toEqual({ cachePoint: { type: 'default', ttl: '1h' } });
    expect(contentOf(messages, sonnet)[0]?.[1]).toEqual(point);
    expect(changesOf({ messages }, sonnet)).toEqual(['cache_control.ttl: dropped']);
  });

  it('are not sent to models without a cache', () => {
    const messages = [user([marked('a')])];
    expect(contentOf(messages, qwen)).toEqual([[{ text: 'a' }]]);
    expect(changesOf({ messages }, qwen)).toEqual(['cache_control: dropped']);
  });
});

const fieldsOf = (externalId: string, reasoning: TargetWishes['reasoning'], said: Partial<ChatRequest> = {}): unknown =>
  bodyOf(said, externalId, reasoning)['additionalModelRequestFields'];

describe('reasoning', () => {
  it.each<[string, string, Partial<Record<Effort, object | undefined>>]>([
    [
      'Claude with budgets',
      sonnet,
      {
        none: undefined,
        minimal: { thinking: { type: 'enabled', budget_tokens: 1024 } },
        xhigh: { thinking: { type: 'enabled', budget_tokens: 32_768 } },
      },
    ],
    [
      'Claude that adapts',
      'eu.anthropic.claude-opus-4-7',
      {
        none: { thinking: { type: 'disabled' } },
        minimal: { thinking: { type: 'adaptive', display: 'summarized' }, output_config: { effort: 'low' } },
        xhigh: { thinking: { type: 'adaptive', display: 'summarized' }, output_config: { effort: 'xhigh' } },
      },
    ],
    [
      'gpt-oss',
      'openai.gpt-oss-120b-1:0',
      {
        minimal: { reasoning_effort: 'low' },
        low: { reasoning_effort: 'low' },
        medium: { reasoning_effort: 'medium' },
        high: { reasoning_effort: 'high' },
        xhigh: { reasoning_effort: 'high' },
      },
    ],
    [
      'OpenAI across regions',
      'us.openai.gpt-5.6',
      {
        none: { reasoning: { effort: 'none' } },
        minimal: { reasoning: { effort: 'low' } },
        medium: { reasoning: { effort: 'medium' } },
        xhigh: { reasoning: { effort: 'xhigh' } },
      },
    ],
    [
      'Nova 2',
      nova2,
      {
        none: { reasoningConfig: { type: 'disabled' } },
        minimal: { reasoningConfig: { type: 'enabled', maxReasoningEffort: 'low' } },
        xhigh: { reasoningConfig: { type: 'enabled', maxReasoningEffort: 'high' } },
      },
    ],
    [
      'Qwen',
      qwen,
      {
        none: undefined,
        minimal: { reasoning_config: 'low' },
        medium: { reasoning_config: 'medium' },
        xhigh: { reasoning_config: 'high' },
      },
    ],
    ['DeepSeek R1', 'us.deepseek.r1-v1:0', { high: undefined }],
    ['Nova', nova, { high: undefined }],
  ])('is set for %s in its own fields', (_, externalId, wanted) => {
    for (const [effort, fields] of Object.entries(wanted)) {
      expect(fieldsOf(externalId, { effort: effort as Effort }), effort).toEqual(fields);
    }
  });

  it.each(['us.deepseek.r1-v1:0', 'openai.gpt-oss-120b-1:0'])(
    'cannot be turned off for %s, so the effort none is refused',
    (externalId) => {
      expect(refusalOf({}, externalId, { effort: 'none' })).toMatchObject({ status: 400, code: 'unsupported_value' });
    },
  );

  it('is known from the catalogue where the inference profile does not name the model', () => {
    const target = targetOf('bedrock', {
      externalId: 'arn:aws:bedrock:us-east-1:1:application-inference-profile/x1',
      modelId: 'claude-sonnet-4',
      reasoning: { effort: 'minimal' },
    });
    expect(JSON.parse(dialect.encode(requestOf(), target).body)).toMatchObject({
      additionalModelRequestFields: { thinking: { budget_tokens: 1024 } },
    });
  });

  it('is named as changed where it is sent in another form', () => {
    expect(changesOf({}, qwen, { effort: 'xhigh' })).toEqual(['reasoning_effort: changed to high']);
    expect(changesOf({}, qwen, { effort: 'none' })).toEqual(['reasoning_effort: dropped']);
    expect(changesOf({}, qwen, { maxTokens: 4000 })).toEqual(['reasoning.max_tokens: dropped']);
    expect(changesOf({ maxTokens: 9, temperature: 0.5, topP: 0.5 }, nova2, { effort: 'high' })).toEqual([
      'max_tokens: dropped',
      'temperature: dropped',
      'top_p: dropped',
    ]);
    expect(changesOf({ maxTokens: 9, temperature: 0.5, topP: 0.5 }, nova2, { effort: 'low' })).toEqual([]);
  });

  it("has a budget beside the caller's limit", () => {
    expect(bodyOf({ maxTokens: 500 }, sonnet, { maxTokens: 4000 })).toMatchObject({
      inferenceConfig: { maxTokens: 4500 },
      additionalModelRequestFields: { thinking: { type: 'enabled', budget_tokens: 4000 } },
    });
    expect(bodyOf({ temperature: 0.2 }, sonnet, { maxTokens: 4000 })['inferenceConfig']).toEqual({ maxTokens: 64_000 });
  });

  it('is refused for a model without reasoning', () => {
    expect(refusalOf({}, 'anthropic.claude-3-haiku-20240307-v1:0', { effort: 'low' })).toMatchObject({
      status: 400,
      code: 'model_not_supported',
    });
  });
});

const block = (text: string, signature: string) => ({ reasoningContent: { reasoningText: { text, signature } } });

const thinkingOver = (messages: Message[]) => [{ messages, tools: [tide] }, sonnet, { effort: 'low' as const }] as const;
const use = (toolUseId: string) => ({ toolUse: { toolUseId, name: 'tide', input: {} } });

describe('reasoning of earlier answers', () => {
  const own = { provider: 'bedrock', format: 'bedrock-converse', model: sonnet };
  const first = { type: 'reasoning.text', ...own, index: 0, text: ' Think \n', signature: 'c2ln' } as const;
  const hidden = { type: 'reasoning.encrypted', ...own, index: 1, data: 'aGlkZGVu', after: { text: 5, calls: 0 } } as const;
  const second = { type: 'reasoning.text', ...own, index: 2, text: 'More.', signature: 'Mm5k', after: { text: 10, calls: 1 } } as const;
  const answer: Message = {
    role: 'assistant',
    content: 'Both. Now.',
    reasoning: 'Think',
    tool_calls: [call('a', 'tide'), call('b', 'tide')],
    reasoning_details: [first, hidden, second],
  };
  const loop: Message[] = [
    user('?'),
    answer,
    { role: 'tool', tool_call_id: 'a', content: 'High' },
    { role: 'tool', tool_call_id: 'b', content: 'Low' },
  ];
  const turnOf = (message: Message, externalId = sonnet): Body[] =>
    bodyOf({ messages: [user('?'), message, ...loop.slice(2)], tools: [tide] }, externalId)['messages'][1].content as Body[];

  it('goes back byte for byte, each block at its place', () => {
    expect(turnOf(answer)).toEqual([
      block(' Think \n', 'c2ln'),
      { text: 'Both.' },
      { reasoningContent: { redactedContent: 'aGlkZGVu' } },
      { text: ' Now.' },
      use('a'),
      block('More.', 'Mm5k'),
      use('b'),
    ]);
  });

  it('splits no character of a text that the client has changed', () => {
    const said = turnOf({ ...answer, content: 'Both😀 Now.' }).flatMap(({ text }) => (text === undefined ? [] : [text as string]));
    expect([said.join(''), said.map((text) => text.isWellFormed())]).toEqual(['Both😀 Now.', [true, true]]);
  });

  it('goes back in front of an answer that has no text', () => {
    expect(turnOf({ ...answer, content: null, reasoning_details: [first] })[0]).toEqual(block(' Think \n', 'c2ln'));
  });

  it.each<[string, object]>([
    ['another provider', { ...first, provider: 'anthropic' }],
    ['nobody', { ...first, provider: undefined }],
    ['another wire', { ...first, format: 'anthropic-messages' }],
    ['another model', { ...first, model: sonnet45 }],
    ['a model that signs nothing', { ...first, signature: undefined }],
  ])('is left out where it is of %s', (_, detail) => {
    expect(JSON.stringify(turnOf({ ...answer, reasoning_details: [detail as typeof first] }))).not.toContain('reasoningContent');
  });

  it('keeps thinking on in a tool loop; without it thinking is off', () => {
    expect(bodyOf(...thinkingOver(loop))['additionalModelRequestFields']).toMatchObject({ thinking: { type: 'enabled' } });
    const forgetful = loop.map((message) => ({ ...message, reasoning_details: [] }));
    expect(bodyOf(...thinkingOver(forgetful))).not.toHaveProperty('additionalModelRequestFields');
    expect(changesOf(...thinkingOver(forgetful))).toEqual(['reasoning_effort: dropped']);
  });
});
