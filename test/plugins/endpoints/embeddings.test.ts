/** POST /v1/embeddings, over sockets: requests of callers, requests to providers, and replies. */
import { describe, expect, it } from 'vitest';
import { answers, pause } from '../../_kit/upstream.ts';
import type { Asked, ScriptedUpstream, Step } from '../../_kit/upstream.ts';
import type { TestGateway } from '../../_kit/gateway.ts';
import { errorOf, gatewayOf, provider } from '../../core/scene.ts';

/** The vector of a text at the scripted providers. */
const vectorOf = (text: unknown): number[] => [String(text).length, 0.5, -1.25];
const listOf = (input: unknown): unknown[] => (Array.isArray(input) && typeof input[0] !== 'number' ? (input as unknown[]) : [input]);

const likeOpenAi: Step = (response, asked) => {
  const list = listOf(asked.json['input']);
  // in another order than in the request
  const data = list.map((text, index) => ({ object: 'embedding', index, embedding: vectorOf(text) })).toReversed();
  return answers({ object: 'list', data, model: 'x', usage: { prompt_tokens: 7 * list.length, total_tokens: 7 * list.length } })(
    response,
    asked,
  );
};
/** As OpenAI does it: base64 where it was asked for, else numbers, each on a line of its own. */
const likeOpenAiAtLength: Step = (response, asked) => {
  const data = listOf(asked.json['input']).map((_, index) => ({
    object: 'embedding',
    index,
    embedding: asked.json['encoding_format'] === 'base64' ? Buffer.from(longVector.buffer).toString('base64') : [...longVector],
  }));
  response
    .writeHead(200, { 'content-type': 'application/json' })
    .end(JSON.stringify({ object: 'list', data, usage: { prompt_tokens: 1, total_tokens: 1 } }, null, 2));
};
const longVector = Float32Array.from({ length: 1024 }, (_, at) => Math.sin(at) / 32);
const likeGemini: Step = (response, asked) => {
  const requests = asked.json['requests'] as { content: { parts: { text: string }[] } }[];
  return answers({ embeddings: requests.map(({ content }) => ({ values: vectorOf(content.parts[0]?.text) })) })(response, asked);
};
const likeTitan: Step = (response, asked) =>
  answers({ embedding: vectorOf(asked.json['inputText']), inputTextTokenCount: 3 })(response, asked);
const likeCohere: Step = (response, asked) =>
  answers({ embeddings: (asked.json['texts'] as string[]).map(vectorOf) }, { headers: { 'x-amzn-bedrock-input-token-count': '11' } })(
    response,
    asked,
  );

interface Scene extends TestGateway {
  readonly up: ScriptedUpstream;
  embed(body: object, headers?: Record<string, string>, signal?: AbortSignal): Promise<Response>;
}

/** `tokens`: the count for two texts. The one of Gemini, which counts none, is estimated. */
const kinds: Record<string, { dialect: string; externalId: string; step: Step; tokens: number }> = {
  openai: { dialect: 'openai-chat', externalId: 'text-embedding-3-small', step: likeOpenAi, tokens: 14 },
  gemini: { dialect: 'google', externalId: 'gemini-embedding-001', step: likeGemini, tokens: 2 },
  titan: { dialect: 'bedrock', externalId: 'amazon.titan-embed-text-v2:0', step: likeTitan, tokens: 6 },
  cohere: { dialect: 'bedrock', externalId: 'cohere.embed-english-v3', step: likeCohere, tokens: 11 },
};

async function scene(
  kind: string,
  step: Step = kinds[kind]?.step as Step,
  {
    mapping = {},
    policy = {},
    provider: more = {},
    limits = {},
  }: { mapping?: object; policy?: object; provider?: object; limits?: object } = {},
): Promise<Scene> {
  const up = await provider(step);
  const { dialect = '', externalId = '' } = kinds[kind] ?? {};
  const architecture = { input_modalities: ['text'], output_modalities: ['embeddings'] };
  const gateway = await gatewayOf({
    server: { limits },
    providers: { up: { dialect, base_url: up.url, api_key: 'k', ...more }, mock: { dialect: 'mock' } },
    models: [
      {
        id: 'vectors',
        architecture,
        pricing: { prompt: '0.000001', completion: '0' },
        providers: [{ providerId: 'up', externalId, streaming: false, ...mapping }],
      },
      { id: 'mocked', free: true, architecture, providers: [{ providerId: 'mock', streaming: false }] },
      { id: 'chat', free: true, providers: [{ providerId: 'up' }] },
    ],
    routing: { default: { retry: { same_target: 0 }, ...policy } },
  });
  return {
    ...gateway,
    up,
    embed: (body, headers = {}, signal) =>
      gateway.post({ model: 'vectors', ...body }, { path: '/v1/embeddings', headers, ...(signal && { signal }) }),
  };
}

const vectorsIn = async (response: Response): Promise<unknown[]> =>
  ((await response.json()) as { data: { embedding: unknown }[] }).data.map(({ embedding }) => embedding);

describe.each(Object.keys(kinds))('to a provider like %s', (kind) => {
  it('gives a vector for each text, in their order', async () => {
    const { embed } = await scene(kind);
    expect(await vectorsIn(await embed({ input: 'one' }))).toEqual([vectorOf('one')]);
    const texts = ['one', 'a second', 'the third of them'];
    expect(await vectorsIn(await embed({ input: texts }))).toEqual(texts.map(vectorOf));
  });

  it('has the request, its tokens and its cost on record', async () => {
    const { embed, records } = await scene(kind);
    await embed({ input: ['one', 'two'] });
    expect(records[0]).toMatchObject({
      requestedModel: 'vectors',
      provider: 'up',
      outcome: 'answered',
      stream: false,
      finishReason: 'completed',
      usage: { promptTokens: kinds[kind]?.tokens, completionTokens: 0 },
    });
    expect(Number(records[0]?.cost)).toBeCloseTo((kinds[kind]?.tokens ?? NaN) * 0.000001, 12);
  });
});

describe('POST /v1/embeddings', () => {
  it('sends the fields of the caller, except those that may hold the caller’s own key', async () => {
    const { embed, up } = await scene('openai');
    const settings = {
      api_key: 'sk-of-the-caller',
      api_base: 'http://else.example',
      base_url: 'http://else.example',
      extra_headers: { a: 'b' },
      headers: { authorization: 'Bearer sk-of-the-caller' },
      user_config: { model_list: [] },
    };
    const { headers } = await embed({ input: [1, 2, 3], dimensions: 3, user: 'ann', of_tomorrow: true, ...settings });
    expect(up.asked[0]?.url).toBe('/v1/embeddings');
    expect(up.asked[0]?.json).toEqual({ model: 'text-embedding-3-small', input: [1, 2, 3], dimensions: 3, user: 'ann', of_tomorrow: true });
    expect(headers.get('x-adjusted')).toBe(
      Object.keys(settings)
        .map((field) => `${field}: dropped`)
        .join(', '),
    );
  });

  it('gives base64 of 32-bit floats if the request asks for it', async () => {
    const { embed } = await scene('openai');
    const [text] = (await vectorsIn(await embed({ input: 'one', encoding_format: 'base64' }))) as [string];
    expect([...new Float32Array(new Uint8Array(Buffer.from(text, 'base64')).buffer)]).toEqual(vectorOf('one'));
  });

  it('takes base64 from a provider that has it: a long list of vectors is too large as numbers', async () => {
    const { embed, records } = await scene('openai', likeOpenAiAtLength, {
      provider: { dialect: 'openai' },
      limits: { upstream_body: 150_000 },
    });
    const texts = Array.from({ length: 24 }, () => 'x');
    const vectors = (await vectorsIn(await embed({ input: texts, encoding_format: 'base64' }))) as string[];
    expect(vectors).toEqual(texts.map(() => Buffer.from(longVector.buffer).toString('base64')));
    expect((await embed({ input: texts })).status).toBe(502);
    expect(records.map(({ error }) => error?.code)).toEqual([undefined, 'upstream_response_too_large']);
  });

  it.each<[string, number, number]>([
    ['gemini', 100, 2],
    ['cohere', 96, 2],
    ['titan', 1, 130],
  ])('splits a long list for %s, which takes %i texts', async (kind, most, calls) => {
    const { embed, up } = await scene(kind);
    const texts = Array.from({ length: 130 }, (_, at) => 'x'.repeat(at + 1));
    expect(await vectorsIn(await embed({ input: texts }))).toEqual(texts.map(vectorOf));
    expect(up.asked).toHaveLength(calls);
    const sizes = up.asked.map(({ json }: Asked) => (json['requests'] ?? json['texts'] ?? [1]).length as number);
    expect(Math.max(...sizes)).toBe(most);
  });

  it('fails as a whole if one of several calls fails', async () => {
    let calls = 0;
    const { embed } = await scene('gemini', (response, asked) =>
      (calls++ === 1 ? answers({ error: { code: 503, message: 'no', status: 'UNAVAILABLE' } }, { status: 503 }) : likeGemini)(
        response,
        asked,
      ),
    );
    expect((await embed({ input: Array.from({ length: 150 }, () => 'x') })).status).toBe(503);
  });

  it.each([['gemini'], ['titan'], ['cohere']])('refuses tokens for %s, which takes texts', async (kind) => {
    const { embed, up } = await scene(kind);
    expect(await errorOf(await embed({ input: [1, 2] }))).toMatchObject({ code: 'unsupported_value', param: 'input' });
    expect(up.asked).toEqual([]);
  });

  describe('if one of several calls fails, has on record', () => {
    const fails = answers({ message: 'overloaded' }, { status: 503 });

    it.each<[string, boolean, object]>([
      [
        'what the answered calls used, at a provider that stops a call that the gateway leaves',
        true,
        { cost: '0.000003', costIsUpperBound: false },
      ],
      ['the most that all calls may use, at a provider that goes on', false, { cost: '0.000024', costIsUpperBound: true }],
    ])('%s', async (_, cancellation, cost) => {
      // eight calls run at one time, so the ninth begins after the first answer
      const step: Step = (response, asked) =>
        asked.json['inputText'] === 'text 0'
          ? likeTitan(response, asked)
          : asked.json['inputText'] === 'text 8'
            ? fails(response, asked)
            : undefined;
      const { embed, up, records } = await scene('titan', step, { mapping: { cancellation } });
      expect((await embed({ input: Array.from({ length: 12 }, (_, at) => `text ${at}`) })).status).toBe(503);
      expect(up.asked).toHaveLength(9);
      expect(records[0]).toMatchObject({ outcome: 'failed', usage: { promptTokens: 3 }, ...cost });
    });

    const goesOn = { mapping: { cancellation: false } };

    it('the most that both calls may use where one runs and the other fails, at a provider that goes on', async () => {
      const step: Step = (response, asked) => (asked.json['inputText'] === 'text 0' ? undefined : fails(response, asked));
      const { embed, records } = await scene('titan', step, goesOn);
      expect((await embed({ input: ['text 0', 'text 1'] })).status).toBe(503);
      expect(records[0]).toMatchObject({ cost: '0.000004', costIsUpperBound: true });
    });

    it('what the answered calls used where no other call runs, at a provider that goes on', async () => {
      const step: Step = async (response, asked) => {
        if (asked.json['inputText'] !== 'text 8') return await likeTitan(response, asked);
        // the ninth call is sent after the first answer; now the gateway reads the other answers
        await pause(100);
        return await fails(response, asked);
      };
      const { embed, records } = await scene('titan', step, goesOn);
      expect((await embed({ input: Array.from({ length: 9 }, (_, at) => `text ${at}`) })).status).toBe(503);
      expect(records[0]).toMatchObject({ usage: { promptTokens: 24 }, cost: '0.000024', costIsUpperBound: false });
    });

    it('no usage where it was the only call', async () => {
      const { embed, records } = await scene('titan', fails, goesOn);
      expect((await embed({ input: 'one' })).status).toBe(503);
      expect(records[0]).toMatchObject({ cost: null, usage: { promptTokens: null } });
    });
  });

  describe.each<[string, object]>([
    ['its client leaves', {}],
    ['its time is over', { timeout_ms: { first_byte: 1000 } }],
  ])('where %s after some of its calls were answered', (end, policy) => {
    // eight calls run at one time, so the ninth is sent after the first answer
    const firstOnly: Step = (response, asked) => (asked.json['inputText'] === 'text 0' ? likeTitan(response, asked) : undefined);

    it.each<[string, boolean, object]>([
      ['what the answered calls used, at a provider that stops', true, { cost: '0.000003', costIsUpperBound: false }],
      ['the most that all calls may use, at a provider that goes on', false, { cost: '0.000024', costIsUpperBound: true }],
    ])('has on record %s', async (_, cancellation, cost) => {
      const { embed, up, records } = await scene('titan', firstOnly, { mapping: { cancellation }, policy });
      const leaving = new AbortController();
      const asking = embed({ input: Array.from({ length: 12 }, (_, at) => `text ${at}`) }, {}, leaving.signal).catch(() => null);
      await expect.poll(() => up.asked.length).toBe(9);
      if (end === 'its client leaves') leaving.abort();
      await asking;
      await expect.poll(() => records.length).toBe(1);
      expect(records[0]).toMatchObject({ outcome: end === 'its client leaves' ? 'gone' : 'failed', usage: { promptTokens: 3 }, ...cost });
    });
  });

  it('counts the answers of a provider that another provider outran', async () => {
    const firstOnly: Step = (response, asked) => (asked.json['inputText'] === 'text 0' ? likeTitan(response, asked) : undefined);
    const slow = await provider(firstOnly);
    const quick = await provider(async (response, asked) => {
      // the ninth call is sent after the first answer
      while (slow.asked.length < 9) await pause(1);
      await likeTitan(response, asked);
    });
    const mapping = (providerId: string): object => ({
      providerId,
      externalId: 'amazon.titan-embed-text-v2:0',
      streaming: false,
      cancellation: true,
    });
    const { post, records } = await gatewayOf({
      providers: {
        slow: { dialect: 'bedrock', base_url: slow.url, api_key: 'k' },
        quick: { dialect: 'bedrock', base_url: quick.url, api_key: 'k' },
      },
      models: [
        {
          id: 'vectors',
          architecture: { input_modalities: ['text'], output_modalities: ['embeddings'] },
          pricing: { prompt: '0.000001', completion: '0' },
          providers: [mapping('slow'), mapping('quick')],
        },
      ],
      routing: { default: { strategy: 'ordered', hedge_ms: 50, retry: { same_target: 0 } } },
    });
    expect(
      (await post({ model: 'vectors', input: Array.from({ length: 12 }, (_, at) => `text ${at}`) }, { path: '/v1/embeddings' })).status,
    ).toBe(200);
    expect(records[0]?.attempts.map(({ provider: name, outcome, used }) => [name, outcome, used?.usage.promptTokens])).toEqual([
      ['slow', 'outrun', 3],
      ['quick', 'answered', undefined],
    ]);
  });

  it('reports an error with status 200 with the provider’s message and the right code', async () => {
    const { embed, records } = await scene('openai', answers({ error: { message: 'Slow down, please', code: 429 } }));
    const response = await embed({ input: 'one' });
    expect([response.status, (await errorOf(response)).code]).toEqual([429, 'upstream_rate_limited']);
    expect(records[0]?.error?.message).toContain('Slow down, please');
  });

  it('refuses dimensions for a model with one length, because another vector would spoil the index', async () => {
    const { embed } = await scene('cohere');
    expect(await errorOf(await embed({ input: 'x', dimensions: 256 }))).toMatchObject({ code: 'unsupported_value', param: 'dimensions' });
  });

  it('names the fields that a provider does not take', async () => {
    const { embed } = await scene('titan');
    expect((await embed({ input: 'x', user: 'ann' })).headers.get('x-adjusted')).toBe('user: dropped');
  });

  it('names a field that Gemini takes as a text only, where it is no text', async () => {
    const { embed, up } = await scene('gemini', undefined, { mapping: { externalId: 'gemini-embedding-001' } });
    const response = await embed({ input: 'one', task_type: 4, title: ['Tides'], user: 'ann' });
    expect(response.headers.get('x-adjusted')).toBe('task_type: dropped, title: dropped, user: dropped');
    expect(up.asked[0]?.json).toEqual({ requests: [{ model: 'models/gemini-embedding-001', content: { parts: [{ text: 'one' }] } }] });
  });

  it.each<[string, string, object, object]>([
    [
      'gemini',
      'gemini-embedding-001',
      { dimensions: 3, task_type: 'RETRIEVAL_DOCUMENT', title: 'Tides', user: null },
      {
        requests: [
          {
            model: 'models/gemini-embedding-001',
            content: { parts: [{ text: 'one' }] },
            outputDimensionality: 3,
            taskType: 'RETRIEVAL_DOCUMENT',
            title: 'Tides',
          },
        ],
      },
    ],
    [
      'titan',
      'amazon.titan-embed-text-v2:0',
      { dimensions: 256, normalize: false },
      { inputText: 'one', dimensions: 256, normalize: false },
    ],
    ['titan', 'amazon.titan-embed-text-v2:0', { normalize: null }, { inputText: 'one' }],
    [
      'cohere',
      'us.cohere.embed-v4:0',
      { dimensions: 512, input_type: 'search_query', truncate: 'END' },
      { texts: ['one'], input_type: 'search_query', output_dimension: 512, truncate: 'END' },
    ],
    ['cohere', 'cohere.embed-english-v3', { truncate: null }, { texts: ['one'], input_type: 'search_document' }],
  ])('sends to a provider like %s the fields that %s takes, and none that is null: %j', async (kind, externalId, fields, wanted) => {
    const { embed, up } = await scene(kind, undefined, { mapping: { externalId } });
    const response = await embed({ input: 'one', ...fields });
    expect([await vectorsIn(response), response.headers.get('x-adjusted'), up.asked[0]?.json]).toEqual([[vectorOf('one')], null, wanted]);
  });

  it('takes the vectors of Cohere where they are sorted by their type', async () => {
    const { embed } = await scene('cohere', answers({ embeddings: { float: [vectorOf('one')] } }), {
      mapping: { externalId: 'cohere.embed-v4:0' },
    });
    expect(await vectorsIn(await embed({ input: 'one' }))).toEqual([vectorOf('one')]);
  });

  it('refuses a model of Bedrock whose form is not known, and asks no provider', async () => {
    const { embed, up } = await scene('titan', undefined, { mapping: { externalId: 'amazon.nova-2-multimodal-embeddings-v1:0' } });
    expect(await errorOf(await embed({ input: 'one' }))).toMatchObject({ code: 'unsupported_value', param: 'model' });
    expect(up.asked).toEqual([]);
  });

  it('refuses Vertex AI, whose vectors have another operation, and asks no provider', async () => {
    const { embed, up } = await scene('gemini', undefined, { provider: { dialect: 'vertex', project: 'p' } });
    expect(await errorOf(await embed({ input: 'one' }))).toMatchObject({ code: 'unsupported_value', param: 'model' });
    expect(up.asked).toEqual([]);
  });

  it('takes as many texts as clients send at most, 2048', async () => {
    const { embed } = await scene('openai');
    const response = await embed({ input: Array.from({ length: 2048 }, () => 'x') });
    expect([response.status, ((await response.json()) as { data: unknown[] }).data.length]).toEqual([200, 2048]);
  });

  it.each<[string, object, string, string]>([
    ['no input', {}, 'missing_required_parameter', 'input'],
    ['an empty list', { input: [] }, 'invalid_value', 'input'],
    ['an empty text', { input: ['one', ''] }, 'invalid_value', 'input[1]'],
    ['a number', { input: 7 }, 'invalid_type', 'input'],
    ['texts and tokens', { input: ['one', 2] }, 'invalid_type', 'input[1]'],
    ['an empty list of tokens', { input: [[1, 2], []] }, 'invalid_type', 'input[1]'],
    ['tokens below 0', { input: [[1, -2]] }, 'invalid_type', 'input[0]'],
    ['too many', { input: Array.from({ length: 2049 }, () => 'x') }, 'invalid_value', 'input'],
    ['an unknown format', { input: 'x', encoding_format: 'hex' }, 'invalid_value', 'encoding_format'],
    ['dimensions of 0', { input: 'x', dimensions: 0 }, 'invalid_value', 'dimensions'],
    ['an empty model', { input: 'x', model: '' }, 'invalid_value', 'model'],
    ['a model for chats', { input: 'x', model: 'chat' }, 'model_not_supported', 'model'],
  ])('refuses %s, and asks no provider', async (_, body, code, param) => {
    const { embed, up } = await scene('openai');
    const response = await embed(body);
    expect([response.status, await errorOf(response), up.asked.length]).toMatchObject([400, { code, param }, 0]);
  });

  it('is the endpoint for embedding models, and chat completions refuse them', async () => {
    const { chat } = await scene('openai');
    expect(await errorOf(await chat({ model: 'vectors' }))).toMatchObject({
      code: 'model_not_supported',
      message: expect.stringContaining('POST /v1/embeddings') as string,
    });
  });

  it.each<[string, unknown]>([
    ['no list', {}],
    ['fewer vectors than inputs', { data: [{ index: 0, embedding: [1] }] }],
    [
      'a vector of words',
      {
        data: [
          { index: 0, embedding: ['a'] },
          { index: 1, embedding: [1] },
        ],
      },
    ],
    ['no JSON', 'oops'],
  ])('treats an answer with %s as broken', async (_, body) => {
    const { embed } = await scene('openai', answers(body));
    expect((await errorOf(await embed({ input: ['one', 'two'] }))).code).toBe('upstream_invalid_response');
  });

  it.each<[string, unknown]>([
    ['gemini', { embeddings: [{ values: [] }] }],
    ['gemini', { embeddings: [{ values: [1, 'a'] }] }],
    ['gemini', []],
    ['titan', {}],
    ['titan', { embedding: [1, null] }],
    ['cohere', { embeddings: [[]] }],
    ['cohere', { embeddings: { int8: [[1]] } }],
  ])('treats an answer without vectors of a provider like %s as broken: %j', async (kind, body) => {
    const { embed } = await scene(kind, answers(body));
    expect((await errorOf(await embed({ input: 'one' }))).code).toBe('upstream_invalid_response');
  });

  it('gives vectors of the mock without a network, the same for the same text', async () => {
    const { embed } = await scene('openai');
    const [one, again, other] = (await vectorsIn(
      await embed({ model: 'mocked', input: ['one', 'one', 'other'], dimensions: 5 }),
    )) as number[][];
    expect(one).toEqual(again);
    expect(one).not.toEqual(other);
    expect(Math.hypot(...(one ?? []))).toBeCloseTo(1, 9);
  });

  it('refuses more dimensions than the mock gives, because these would block the process', async () => {
    const { embed } = await scene('openai');
    const answers = await Promise.all([4096, 4097, 1e6].map((dimensions) => embed({ model: 'mocked', input: 'hi', dimensions })));
    expect(answers.map(({ status }) => status)).toEqual([200, 400, 400]);
    expect(await errorOf(answers[2] as Response)).toMatchObject({ code: 'invalid_value', param: 'dimensions' });
  });

  it('counts in a limit the tokens of its texts, and none of an answer', async () => {
    const { up } = await scene('openai');
    const gateway = await gatewayOf({
      providers: { up: { dialect: 'openai-chat', base_url: up.url, api_key: 'k' } },
      models: [
        {
          id: 'vectors',
          architecture: { output_modalities: ['embeddings'] },
          pricing: { prompt: '0.000001', completion: '0' },
          providers: [{ providerId: 'up', externalId: 'x', streaming: false }],
        },
      ],
      limits: [{ by: 'all', tokens_per_minute: 100 }],
    });
    const embed = (input: unknown, headers: Record<string, string> = {}): Promise<Response> =>
      gateway.post({ model: 'vectors', input }, { path: '/v1/embeddings', headers });
    expect((await embed('a text of some words')).headers.get('x-ratelimit-remaining-tokens')).toBe('95');
    expect((await embed('x'.repeat(500))).status).toBe(429);
    const explained = (await (await embed('a text of some words', { 'x-dry-run': 'true' })).json()) as {
      candidates: { estimatedCost: string }[];
    };
    expect(Number(explained.candidates[0]?.estimatedCost)).toBeLessThan(0.00001);
  });

  it('keeps answers for exact repeats if the cache is asked for', async () => {
    const { embed, up } = await scene('openai');
    const asked = [await embed({ input: 'one' }, { 'x-cache': 'on' }), await embed({ input: 'one' }, { 'x-cache': 'on' })];
    expect([asked.map(({ headers }) => headers.get('x-cache')), await vectorsIn(asked[1] as Response), up.asked.length]).toEqual([
      ['miss', 'hit'],
      [vectorOf('one')],
      1,
    ]);
  });
});
