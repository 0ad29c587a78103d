/** A config file that changes the models that it includes. */
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { loadConfig } from '../../config/load.ts';
import type { Loaded } from '../../config/load.ts';
import { headline } from '../../config/problems.ts';
import type { Model } from '../../core/config.ts';
import { folderOf } from './folder.ts';
import { options } from './plugins.ts';

const catalogue = `models:
  - id: large
    aliases: [large-1]
    context_length: 1000
    architecture: { input_modalities: [text, image], tokenizer: o200k }
    pricing: { prompt: "0.000001", completion: "0.000002" }
    providers:
      - { providerId: mock, externalId: large-2025, tools: true, vision: true, reasoning: { efforts: [low, high] } }
      - { providerId: elsewhere, externalId: v/large }
  - id: small
    free: true
    providers: [{ providerId: elsewhere }]
`;

async function load(main: string): Promise<Loaded> {
  const folder = folderOf({
    'gateway.config.yaml': `include: [catalogue.yaml]\nproviders: { mock: {} }\n${main}`,
    'catalogue.yaml': catalogue,
  });
  return await loadConfig(join(folder, 'gateway.config.yaml'), options({}));
}

async function modelsOf(main: string): Promise<readonly Model[]> {
  const loaded = await load(main);
  if (!loaded.ok) throw new Error(loaded.problems.map(headline).join('\n'));
  return loaded.config.models;
}

const said = async (main: string): Promise<string[]> => {
  const loaded = await load(main);
  return (loaded.ok ? loaded.warnings : loaded.problems).map((problem) => headline(problem).replace(/^.*?yaml:/, ''));
};

describe('an included catalogue', () => {
  test('offers the models that the declared providers serve, and no others', async () => {
    expect((await modelsOf('')).map(({ id, providers }) => [id, providers.map(({ providerId }) => providerId)])).toEqual([
      ['large', ['mock']],
    ]);
  });

  test('has models left out of policies where no declared provider serves them', async () => {
    expect(await said('routing: { models: { auto: { candidates: [small, large] }, small: { strategy: ordered } } }')).toEqual([
      '3:43 routing.models.auto.candidates[0]: no declared provider serves "small", so it is left out',
      '3:60 routing.models.small: no declared provider serves "small", so it is left out',
    ]);
  });

  test('has no faults, but a policy without any model left is a fault', async () => {
    expect(await said('routing: { models: { auto: { candidates: [small] } } }')).toEqual([
      '3:42 routing.models.auto.candidates: none of these models is served here, name another one, or declare a provider that serves one of them',
    ]);
  });

  test('may have an undeclared provider, and the file that includes it may not', async () => {
    expect(await said('models: [{ id: own, free: true, providers: [{ providerId: moc }] }]')).toEqual([
      '3:59 models[0].providers[0].providerId: no provider is called "moc", did you mean "mock"?',
    ]);
  });
});

describe("a model of one's own file", () => {
  const large = async (own: string): Promise<Model> => (await modelsOf(`models:\n  - { id: large, ${own} }\n`))[0] as Model;

  test('changes the fields that it has, and keeps the rest of the included model', async () => {
    const model = await large('name: Our large one, architecture: { tokenizer: own }');
    expect(model).toMatchObject({
      name: 'Our large one',
      aliases: ['large-1'],
      context_length: 1000,
      architecture: { input_modalities: ['text', 'image'], tokenizer: 'own' },
      pricing: { prompt: '0.000001' },
    });
    expect(model.providers).toMatchObject([{ externalId: 'large-2025', tools: true }]);
  });

  test('replaces all prices together', async () => {
    expect((await large('pricing: { prompt: "0.5" }')).pricing).toEqual({ prompt: '0.5' });
  });

  test('changes the included mapping of the same provider', async () => {
    const { providers } = await large('providers: [{ providerId: mock, externalId: our-name }]');
    expect(providers).toMatchObject([{ externalId: 'our-name', tools: true, vision: true, reasoning: { efforts: ['low', 'high'] } }]);
  });

  test('adds mappings of other providers after the included ones', async () => {
    const loaded = await modelsOf(
      'models:\n  - { id: large, providers: [{ providerId: mock, externalId: a }] }\n  - { id: small, providers: [{ providerId: mock, externalId: b, tools: true }] }\n',
    );
    expect(loaded.map(({ id, providers }) => [id, providers.map(({ externalId, tools }) => [externalId, tools])])).toEqual([
      ['large', [['a', true]]],
      ['small', [['b', true]]],
    ]);
  });

  test('replaces the whole list of mappings where it asks for that', async () => {
    const { providers } = await large('providers: { replace: [{ providerId: mock, externalId: only }] }');
    expect(providers).toMatchObject([{ externalId: 'only', tools: false, vision: false, reasoning: null }]);
  });

  test('needs its providers where no included model has any', async () => {
    expect(await said('models: [{ id: own, free: true }]')).toEqual([
      '3:10 models[0]: needs "providers", no included file has a model with this id',
    ]);
  });

  test('has its faults at their places in the file', async () => {
    expect(await said('models: [{ id: large, deprecated_at: soon }]')).toEqual([
      '3:38 models[0].deprecated_at: "soon" is not a date, write it as 2026-01-31 or 2026-01-31T12:00:00Z',
    ]);
  });
});

describe('deployments of a provider', () => {
  const deployed = (deployments: string): Promise<Loaded> => {
    const folder = folderOf({
      'gateway.config.yaml': `include: [catalogue.yaml]\nproviders: { mock: { deployments: ${deployments} } }\n`,
      'catalogue.yaml': catalogue,
    });
    return loadConfig(join(folder, 'gateway.config.yaml'), options({}));
  };

  test('set the names of models at the provider', async () => {
    const loaded = await deployed('{ large: our-large }');
    expect(loaded.ok && loaded.config.models[0]?.providers[0]).toMatchObject({ externalId: 'our-large', tools: true });
  });

  test('leave a model its own name, even one that every object of JavaScript has', async () => {
    const yaml =
      'models:\n  - { id: constructor, free: true, providers: [{ providerId: mock }] }\nproviders: { mock: { deployments: {} } }\n';
    const loaded = await loadConfig(join(folderOf({ 'gateway.config.yaml': yaml }), 'gateway.config.yaml'), options({}));
    expect(loaded.ok && loaded.config.models[0]?.providers[0]).toMatchObject({ externalId: 'constructor' });
  });

  test('give a warning where the provider does not serve the model', async () => {
    const loaded = await deployed('{ larg: our-large }');
    expect(loaded.ok && loaded.warnings.map(({ message, hint }) => [message, hint])).toEqual([
      ['the provider serves no model with the id "larg"', 'did you mean "large"?'],
    ]);
  });

  test('give a warning without a suggestion of the same name where only another provider serves the model', async () => {
    const files = {
      'gateway.config.yaml':
        'include: [catalogue.yaml]\nproviders: { mock: {}, other: { dialect: mock, deployments: { large: our-large, larg: b } } }\n',
      'catalogue.yaml': catalogue,
    };
    const loaded = await loadConfig(join(folderOf(files), 'gateway.config.yaml'), options({}));
    expect(loaded.ok && loaded.warnings.map(({ message, hint }) => [message, hint])).toEqual([
      ['the provider serves no model with the id "large"', 'add { providerId: other } to the `providers` of that model'],
      ['the provider serves no model with the id "larg"', 'add it under `models`'],
    ]);
  });
});

describe('a fault of a whole block', () => {
  test('is reported, and the faults that it causes are counted', async () => {
    const { formatProblems } = await import('../../config/problems.ts');
    const folder = folderOf({
      'gateway.config.yaml':
        'provders: { openai: { api_key: "${NOT_SET}" } }\nmodels:\n  - { id: a, free: true, providers: [{ providerId: openai }] }\n  - { id: b, free: true, providers: [{ providerId: openai }] }\n',
    });
    const loaded = await loadConfig(join(folder, 'gateway.config.yaml'), options({}));
    const text = loaded.ok ? '' : formatProblems(loaded.problems);
    expect(text).toContain('provders: unknown key, did you mean "providers"?');
    expect(text).toContain('\n\n... and 3 that follow from it\n\n4 errors in');
    expect(text).not.toContain('providerId');
  });
});
