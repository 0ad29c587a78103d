/** Wildcards: a model whose id ends with `*` accepts names that no entry has. */
import { describe, expect, it } from 'vitest';
import { answers } from '../../_kit/upstream.ts';
import { errorOf, gatewayOf, provider } from '../scene.ts';

const known = {
  id: 'gpt-known',
  pricing: { prompt: '0.001', completion: '0.002' },
  context_length: 1000,
  providers: [{ providerId: 'openai', externalId: 'gpt-known' }],
};

async function scene(more: object = {}) {
  const up = await provider();
  const gateway = await gatewayOf({
    providers: { openai: { dialect: 'openai-chat', base_url: up.url, api_key: 'k' } },
    models: [
      known,
      { id: 'openai/*', providers: [{ providerId: 'openai' }] },
      { id: 'ft-*', providers: [{ providerId: 'openai', externalId: 'ft:company:*' }] },
    ],
    ...more,
  });
  return { ...gateway, up, sent: () => up.asked.map(({ json }) => json['model']) };
}

describe('a wildcard', () => {
  it('lets an unknown name through to embeddings too, and not to a chat where the wildcard is for embeddings alone', async () => {
    const up = await provider(
      answers({
        object: 'list',
        model: 'm',
        data: [{ object: 'embedding', index: 0, embedding: [0.5] }],
        usage: { prompt_tokens: 1, total_tokens: 1 },
      }),
    );
    const gateway = await gatewayOf({
      providers: { up: { dialect: 'openai-chat', base_url: up.url, api_key: 'k' } },
      models: [
        { id: 'up/*', providers: [{ providerId: 'up' }] },
        { id: 'vectors/*', architecture: { output_modalities: ['embeddings'] }, providers: [{ providerId: 'up' }] },
      ],
    });
    const embed = async (model: string): Promise<unknown> =>
      (
        (await (await gateway.post({ model, input: 'a', encoding_format: 'float' }, { path: '/v1/embeddings' })).json()) as {
          data?: unknown;
        }
      ).data;
    for (const model of ['up/new-embedder', 'vectors/new-embedder']) {
      expect(await embed(model)).toEqual([{ object: 'embedding', index: 0, embedding: [0.5] }]);
    }
    expect((await errorOf(await gateway.chat({ model: 'vectors/new-embedder' }))).code).toBe('model_not_supported');
  });

  it.each([
    ['openai/gpt-new', 'gpt-new', 'gpt-new'],
    ['openai/meta/llama-9:free', 'meta/llama-9:free', 'meta/llama-9:free'],
    ['ft-7', 'ft:company:7', 'ft-7'],
  ])('lets %s through as %s, without a known price', async (model, name, id) => {
    const { chat, records, sent } = await scene();
    expect(await (await chat({ model })).json()).toMatchObject({ model: `openai/${id}`, provider: 'openai' });
    expect(sent()).toEqual([name]);
    expect(records[0]).toMatchObject({ model: id, requestedModel: model, cost: null });
  });

  it('takes the price from the catalogue where the model is there', async () => {
    const { chat, records } = await scene();
    expect((await chat({ model: 'openai/gpt-known' })).status).toBe(200);
    expect(records[0]).toMatchObject({ model: 'gpt-known', cost: '0.02' });
  });

  it('lets tools, images and efforts through', async () => {
    const { chat, up } = await scene();
    const content = [
      { type: 'text', text: 'What?' },
      { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
    ];
    expect(
      (
        await chat({
          model: 'openai/gpt-new',
          reasoning_effort: 'high',
          messages: [{ role: 'user', content }],
          tools: [{ type: 'function', function: { name: 'f' } }],
        })
      ).status,
    ).toBe(200);
    expect(up.asked[0]?.json).toMatchObject({ reasoning_effort: 'high', tools: [{}] });
  });

  it.each(['openai/', 'openai/../admin', 'openai/a?b', 'openai/a b', 'openai/a//b', `openai/${'x'.repeat(300)}`, 'openai'])(
    'refuses a name that is not complete, is too long or could change the URL: %j',
    async (model) => {
      const { chat, up } = await scene();
      expect((await errorOf(await chat({ model }))).code).toBe('model_not_found');
      expect(up.asked).toEqual([]);
    },
  );

  it('accepts only the models of the key', async () => {
    const { chat } = await scene({ keys: [{ name: 'a', key: 'the-key-of-the-caller', models: ['openai/gpt-*'] }] });
    const key = { authorization: 'Bearer the-key-of-the-caller' };
    expect((await chat({ model: 'openai/gpt-new' }, key)).status).toBe(200);
    expect((await errorOf(await chat({ model: 'openai/o9' }, key))).code).toBe('model_not_allowed');
  });
});
