/**
 * route/capability: candidates that cannot do what the request asks are left out; if none is left, the error says what the request asked.
 */
import { describe, expect, it } from 'vitest';
import type { AnyPlugin } from '../../../core/host/plugin.ts';
import type { Candidate } from '../../../core/pipeline/context.ts';
import { EARLY } from '../../../core/pipeline/hooks.ts';
import { errorOf, gatewayOf, probe, provider } from '../../core/scene.ts';

const tool = [{ type: 'function', function: { name: 'f', parameters: {} } }];
const image = [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } }] }];
const all = { streaming: true, tools: true, vision: true, reasoning: { max_tokens: true } };

async function gatewayWith(...abilities: object[]) {
  const up = await provider();
  const ids = abilities.map((_, at) => `p${at}`);
  return await gatewayOf({
    providers: Object.fromEntries(ids.map((id) => [id, { dialect: 'openai-chat', base_url: up.url, api_key: 'k' }])),
    models: [{ id: 'plain', free: true, providers: ids.map((providerId, at) => ({ providerId, externalId: 'x', ...abilities[at] })) }],
    routing: { default: { strategy: 'ordered' } },
  });
}

const wishes: [string, object, object, string, string][] = [
  ['tools', { tools: tool }, { ...all, tools: false }, 'model_not_supported', 'tools'],
  ['images', { messages: image }, { ...all, vision: false }, 'model_not_supported', 'messages'],
  ['a stream', { stream: true }, { ...all, streaming: false }, 'streaming_not_supported', 'stream'],
  ['an effort', { reasoning_effort: 'low' }, { ...all, reasoning: false }, 'model_not_supported', 'reasoning_effort'],
  ['a budget', { reasoning: { max_tokens: 2000 } }, { ...all, reasoning: true }, 'model_not_supported', 'reasoning.max_tokens'],
];

describe('a request for', () => {
  it.each(wishes)('%s goes to a provider that supports it', async (_, wish, unable) => {
    const { chat } = await gatewayWith(unable, all);
    expect((await chat(wish)).headers.get('x-provider')).toBe('p1');
  });

  it.each(wishes)('%s that no provider supports is refused with an error that says so', async (_, wish, unable, code, param) => {
    const { chat, records } = await gatewayWith(unable, unable);
    const response = await chat(wish);
    expect([response.status, await errorOf(response)]).toMatchObject([
      400,
      { type: 'invalid_request_error', code, param, message: expect.stringContaining('"plain"') },
    ]);
    expect(records[0]).toMatchObject({ outcome: 'refused', ruledOut: [{ by: 'route/capability' }, { by: 'route/capability' }] });
  });

  it.each(wishes)('%s that only a provider without its key supports names the variable of the key', async (_, wish, unable) => {
    const { chat } = await gatewayOf({
      providers: {
        off: { dialect: 'openai-chat', base_url: 'http://127.0.0.1:9', api_key: '${OFF_KEY}' },
        on: { dialect: 'openai-chat', base_url: 'http://127.0.0.1:9', api_key: 'k' },
      },
      models: [
        {
          id: 'plain',
          free: true,
          providers: [
            { providerId: 'off', externalId: 'x', ...all },
            { providerId: 'on', externalId: 'x', ...unable },
          ],
        },
      ],
    });
    const response = await chat(wish);
    expect([response.status, await errorOf(response)]).toMatchObject([
      503,
      { code: 'no_provider_available', message: expect.stringContaining('OFF_KEY is not set') },
    ]);
  });

  it('nothing special may go to any provider', async () => {
    const { chat } = await gatewayWith({ streaming: false, tools: false, vision: false, reasoning: false });
    expect((await chat({})).status).toBe(200);
  });

  it('an empty list of tools is not a request for tools', async () => {
    const { chat } = await gatewayWith({ ...all, tools: false });
    expect((await chat({ tools: [] })).status).toBe(200);
  });
});

/** Models m0, m1, … of one provider each, behind the policy `plain`. */
const models = async (...entries: object[]) => await modelsWith([], entries);

async function modelsWith(plugins: readonly AnyPlugin[], entries: object[]) {
  const up = await provider();
  const ids = entries.map((_, at) => `m${at}`);
  const config = {
    providers: { up: { dialect: 'openai-chat', base_url: up.url, api_key: 'k' } },
    models: entries.map((entry, at) => ({
      id: ids[at],
      free: true,
      providers: [{ providerId: 'up', externalId: `x${at}`, ...all, reasoning: false }],
      ...entry,
    })),
    routing: { default: { strategy: 'ordered' }, models: { plain: { candidates: ids } } },
  };
  const gateway = await gatewayOf(config, { plugins });
  return { ...gateway, up, asked: () => up.asked.map(({ json }) => json?.model) };
}

const part = (content: object): object => ({ messages: [{ role: 'user', content: [{ type: 'text', text: 'What is it?' }, content] }] });
const kinds = {
  audio: part({ type: 'input_audio', input_audio: { data: 'AA==', format: 'wav' } }),
  file: part({ type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AA==' } }),
  video: part({ type: 'video_url', video_url: { url: 'https://example.com/a.mp4' } }),
};
const reading = (...list: string[]): object => ({ architecture: { input_modalities: ['text', ...list] } });
const json = { response_format: { type: 'json_object' } };
const schema = { response_format: { type: 'json_schema', json_schema: { name: 'a', schema: { type: 'object' } } } };

/** How often a request looks at its candidates. */
async function looksFor(wish: object, entries: object[]): Promise<number> {
  let looks = 0;
  const looked = <Value>(value: Value): Value => {
    looks++;
    return value;
  };
  const counted = (candidate: Candidate): Candidate => ({
    ...candidate,
    get dropped() {
      return looked(candidate.dropped);
    },
    get model() {
      return looked(candidate.model);
    },
  });
  const counter = probe(({ hooks }) => hooks.route.tap({ stage: EARLY }, (candidates) => candidates.map(counted)));
  const { chat } = await modelsWith([counter], entries);
  await chat(wish);
  return looks;
}

describe('twice as many candidates are looked at twice as often by a request for', () => {
  const blind = { ...all, reasoning: false, vision: false };
  const many = (size: number, entry: (at: number) => object): object[] => Array.from({ length: size }, (_, at) => entry(at));

  it.each<[string, object, (at: number) => object]>([
    ['images', { messages: image }, (at) => ({ providers: [{ providerId: 'up', externalId: `x${at}`, ...blind }] })],
    ['sounds', kinds.audio, (at) => (at === 0 ? reading() : reading('image'))],
  ])('%s', async (_, wish, entry) => {
    const [some, more] = [await looksFor(wish, many(100, entry)), await looksFor(wish, many(200, entry))];
    expect(some).toBeGreaterThan(100);
    expect(more).toBeLessThan(2.5 * some);
  });
});

describe('the capabilities in the entry of a model', () => {
  it.each<[string, object, object, object, string]>([
    ...(['audio', 'file', 'video'] as const).map((kind): [string, object, object, object, string] => [
      kind,
      kinds[kind],
      reading(),
      reading(kind),
      'messages',
    ]),
    ['JSON', json, { json_output: false }, { json_output: true }, 'response_format'],
    ['a schema', schema, { json_output: true, structured_outputs: false }, { structured_outputs: true }, 'response_format'],
  ])(
    'send %s to a model that supports it, and without one it is refused before a provider is asked',
    async (_, wish, unable, able, param) => {
      const { chat, records, asked } = await models(unable, able);
      expect((await chat(wish)).status).toBe(200);
      const refusal = await chat({ ...wish, model: 'm0' });
      expect([refusal.status, await errorOf(refusal)]).toMatchObject([
        400,
        { code: 'model_not_supported', param, message: expect.stringContaining('"m0"') },
      ]);
      expect((await chat({ model: 'm0' })).status).toBe(200);
      expect(asked()).toEqual(['x1', 'x0']);
      expect(records[0]?.ruledOut).toEqual([
        { provider: 'up', model: 'm0', by: 'route/capability', reason: expect.stringMatching(/^(takes|gives) no /) },
      ]);
    },
  );

  it('are unknown where the entry does not name them: then the provider decides', async () => {
    const { chat, asked } = await models({});
    for (const wish of [...Object.values(kinds), json, schema]) expect((await chat(wish)).status).toBe(200);
    expect(asked()).toHaveLength(5);
  });

  it('that name only images are no reason to drop a model, unless another model names the asked kind', async () => {
    const { chat, asked } = await models(reading('image'), {}, reading('image', 'audio'));
    await chat({ ...kinds.audio, model: 'm0' });
    await chat(kinds.video);
    await chat(kinds.audio);
    expect(asked()).toEqual(['x0', 'x0', 'x1']);
  });

  it('that include answers by a schema include answers in JSON', async () => {
    const { chat } = await models({ json_output: false, structured_outputs: true });
    expect((await chat(json)).status).toBe(200);
  });
});

describe('a prompt', () => {
  const words = (count: number): object => ({ messages: [{ role: 'user', content: 'word '.repeat(count) }] });
  const tool2 = [{ type: 'function', function: { name: 'f', description: 'word '.repeat(3000), parameters: {} } }];

  it('that is much longer than a context goes to a model with a larger one', async () => {
    const { chat, records, asked } = await models({ context_length: 1000 }, { context_length: 10_000 });
    expect((await chat(words(3000))).status).toBe(200);
    expect(asked()).toEqual(['x1']);
    expect(records[0]?.ruledOut).toEqual([
      {
        provider: 'up',
        model: 'm0',
        by: 'route/capability',
        reason: expect.stringMatching(/^has a smaller context than the prompt, which is about 30\d\d tokens$/),
      },
    ]);
  });

  it('that is too long for every context is refused before a provider is asked', async () => {
    const { chat, up } = await models({ context_length: 1000 }, { context_length: 1200 });
    const refusal = await chat(words(3000));
    expect([refusal.status, await errorOf(refusal)]).toMatchObject([
      400,
      {
        code: 'context_length_exceeded',
        param: 'messages',
        message: expect.stringMatching(/about 30\d\d tokens, and the context of "plain" is 1200/),
      },
    ]);
    expect((await chat({ messages: [{ role: 'user', content: 'hi' }], tools: tool2 })).status).toBe(400);
    expect(
      (await chat({ messages: [{ role: 'user', content: [{ type: 'text', text: 'word '.repeat(3000) }, ...(image[0]?.content ?? [])] }] }))
        .status,
    ).toBe(400);
    expect(up.asked).toEqual([]);
  });

  it('that is too long for the remaining models gets an error without the larger context of a model that is ruled out', async () => {
    const { chat } = await models({ context_length: 1000 }, { context_length: 1_000_000, structured_outputs: false });
    const { message } = await errorOf(
      await chat({ ...words(3000), response_format: { type: 'json_schema', json_schema: { name: 'a', schema: {} } } }),
    );
    expect(message).toMatch(/and the context of "plain" is 1000\. /);
  });

  it.each([
    ['as long as the estimate may err', { context_length: 1000 }, words(1900)],
    ['to a model whose context nobody knows', {}, words(3000)],
    [
      'with a large image',
      { context_length: 1000 },
      { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(50_000)}` } }] }] },
    ],
  ])('%s is judged by the provider', async (_, entry, wish) => {
    const { chat } = await models(entry);
    expect((await chat(wish)).status).toBe(200);
  });
});

describe('a model that a wildcard allows', () => {
  it.each([
    ['alone', []],
    ['beside a model that can do everything', [all]],
    ['beside a model that can do nothing', [{ streaming: false }]],
  ])('is judged by its own entry, %s', async (_, others: object[]) => {
    const { url } = await provider();
    const { chat } = await gatewayOf({
      providers: { up: { dialect: 'openai-chat', base_url: url, api_key: 'k' } },
      models: [
        ...others.map((abilities) => ({ id: 'other', free: true, providers: [{ providerId: 'up', ...abilities }] })),
        { id: 'plain-*', providers: [{ providerId: 'up', streaming: false }] },
        { id: 'able-*', providers: [{ providerId: 'up', reasoning: { max_tokens: true } }] },
      ],
    });
    const budget = { reasoning: { max_tokens: 2000 } };
    const answered = [
      await chat({ model: 'plain-1', stream: true }),
      await chat({ model: 'able-1', stream: true }),
      await chat({ model: 'plain-1', ...budget }),
      await chat({ model: 'able-1', ...budget }),
    ];
    expect(answered.map(({ status }) => status)).toEqual([400, 200, 400, 200]);
  });
});
