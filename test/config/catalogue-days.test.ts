/** The shipped catalogue through GET /v1/models: how the dates of release, deprecation and deactivation change the list. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { modelsOf, type Written } from '../../schemas/catalogue/build.ts';
import { gatewayOf } from '../core/scene.ts';

const makers = ['openai', 'xai', 'anthropic'];
const models = makers.flatMap((name) => modelsOf(readFileSync(new URL(`../../config/catalogue/${name}.yaml`, import.meta.url), 'utf8')));

/** Every provider of these models, each with a key. */
const providers = Object.fromEntries(
  models
    .flatMap((model: Written) => model.providers)
    .map(({ providerId }) => [
      providerId,
      { dialect: makers.includes(providerId) ? providerId : 'openai-chat', base_url: 'http://127.0.0.1:9/v1', api_key: 'k' },
    ]),
);

const mappingOf = ({ providerId, externalId }: Written['providers'][number]): object => ({
  providerId,
  ...(externalId !== undefined && { externalId }),
});

async function listed(): Promise<(query: string) => Promise<Map<string, Record<string, unknown>>>> {
  const { get } = await gatewayOf(
    { providers, models: models.map((model) => ({ ...model, providers: model.providers.map(mappingOf) })) },
    { clock: () => Date.parse('2026-11-22T12:00:00Z') },
  );
  return async (query) => {
    const { data } = (await (await get(`/v1/models${query}`)).json()) as { data: ({ id: string } & Record<string, unknown>)[] };
    return new Map(data.map((model) => [model.id, model]));
  };
}

test('the list leaves out deactivated models, unless it is asked for them, and deprecated models where it is asked', async () => {
  const list = await listed();
  const [usual, withGone, current] = await Promise.all([list(''), list('?include_deactivated=true'), list('?exclude_deprecated=true')]);
  const gone = ['grok-3', 'grok-4-fast', 'grok-code-fast-1', 'gpt-4', 'o1', 'claude-opus-4'];
  expect(gone.filter((id) => usual.has(id))).toEqual([]);
  expect(gone.filter((id) => !withGone.has(id))).toEqual([]);
  expect(withGone.get('grok-3')).toMatchObject({ deactivated_at: '2026-05-15' });
  const deprecated = ['gpt-5', 'gpt-5-mini', 'o3', 'gpt-4o', 'claude-sonnet-4'];
  expect(deprecated.filter((id) => !usual.has(id) || current.has(id))).toEqual([]);
  expect([...usual].filter(([, model]) => model['deprecated_at'] === undefined).map(([id]) => id)).toEqual([...current.keys()]);
});

test('the list has the release date of a model', async () => {
  const list = await listed();
  expect((await list('')).get('gpt-5.6-sol')).toMatchObject({
    created: Date.parse('2026-07-09') / 1000,
    architecture: { tokenizer: 'o200k' },
  });
});
