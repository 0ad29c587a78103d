/** The generator of the catalogue: which values it writes into the files, and which it does not change. */
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { describe, expect, test } from 'vitest';
import { valuesFile } from '../../config/yaml/shipped.ts';
import { valuesText } from '../../schemas/generate.ts';
import { catalogueFiles, fillIn, modelsOf } from '../../schemas/catalogue/build.ts';
import { overrides } from '../../schemas/catalogue/sources.ts';

const files = catalogueFiles();
const models = [...files.values()].flatMap(modelsOf);
const names = models.flatMap(({ id, aliases = [], providers }) =>
  [id, ...aliases, ...providers.map(({ externalId = '' }) => externalId)].map((name) => [id, name] as const),
);

const head = '# by hand\nmodels:\n';
const filled = (...lines: readonly string[]): string =>
  fillIn(`${head}${lines.join('\n')}\n`)
    .slice(head.length)
    .trimEnd();

describe('the generator', () => {
  test('was run: the values of each file are up to date', () => {
    expect(readFileSync(valuesFile, 'utf8')).toBe(valuesText());
  });

  test.each([...files].map(([file, text]) => [basename(file), text]))('changes nothing in %s', (_, text) => {
    expect(fillIn(text)).toBe(text);
  });

  test('fills in the values of the sources for a new model, at the place of each key', () => {
    expect(
      filled(
        '  - id: claude-sonnet-4-5',
        '    name: Mine # my own words',
        '    providers: [{ providerId: anthropic, externalId: claude-sonnet-4-5-20250929, tools: true }]',
      )
        .split('\n')
        .map((line) => line.replace(/tiers: .*/, 'tiers')),
    ).toEqual([
      '  - id: claude-sonnet-4-5',
      '    name: Mine # my own words',
      '    created: 1759104000',
      '    architecture: { tokenizer: claude }',
      '    context_length: 200000',
      '    max_output_tokens: 64000',
      '    pricing: { prompt: "0.000003", completion: "0.000015", input_cache_read: "0.0000003", input_cache_write: "0.00000375", input_cache_write_1h: "0.000006", web_search: "0.01", tiers',
      '    providers: [{ providerId: anthropic, externalId: claude-sonnet-4-5-20250929, tools: true }]',
    ]);
  });

  test('does not change limits that are written, and prices that no source has', () => {
    const written = [
      '  - id: gpt-mine',
      '    architecture: { tokenizer: o200k }',
      '    context_length: 5',
      '    pricing: { prompt: "0.1", completion: "0.2" }',
      '    providers:',
      '      - { providerId: openai }',
    ];
    expect(filled(...written)).toBe(written.join('\n'));
  });

  test('writes its own price into a dearer mapping, in flow or block style, and removes one that equals the price of the model', () => {
    const lines = filled(
      '  - id: gpt-5-nano',
      '    context_length: 400000',
      '    pricing: {}',
      '    providers:',
      '      - { providerId: openai, pricing: { prompt: "1" }, tools: true }',
      '      - { providerId: openrouter, externalId: openai/gpt-5-nano, tools: true }',
      '      - providerId: openrouter',
      '        externalId: openai/gpt-5-nano',
      '        tools: true',
    ).split('\n');
    const own = 'pricing: { prompt: "0.00000005", completion: "0.0000004", input_cache_read: "0.00000001" }';
    expect(lines.slice(lines.indexOf('    providers:') + 1)).toEqual([
      '      - { providerId: openai, tools: true }',
      `      - { providerId: openrouter, externalId: openai/gpt-5-nano, ${own}, tools: true }`,
      '      - providerId: openrouter',
      '        externalId: openai/gpt-5-nano',
      `        ${own}`,
      '        tools: true',
    ]);
  });
});

describe('the catalogue files', () => {
  test('have the date of each model with a date in a name', () => {
    const dated = new Set(names.filter(([, name]) => /20\d\d-?[01]\d-?[0-3]\d/.test(name)).map(([id]) => id));
    expect(models.filter(({ id, created = 0 }) => dated.has(id) && created === 0).map(({ id }) => id)).toEqual([]);
    expect(dated.size).toBeGreaterThan(20);
  });

  test('have no model twice, and no name for two models', () => {
    const owners = Map.groupBy(
      models.flatMap(({ id, aliases = [] }) => [id, ...aliases].map((name) => [name, id] as const)),
      ([name]) => name,
    );
    expect([...owners].filter(([, all]) => all.length > 1).map(([name]) => name)).toEqual([]);
  });

  test('have the tokenizer of each model whose vendor publishes it', () => {
    const unsaid = models.filter(({ architecture }) => architecture?.['tokenizer'] === undefined).map(({ id }) => id);
    expect(unsaid.filter((id) => !/^(?:mock|gpt-6|sonar|muse-|titan-|hy\d|step-|inkling|palmyra-)/.test(id))).toEqual([]);
  });
});

describe('the overrides', () => {
  test('name existing models, and providers that serve them', () => {
    const unknown = overrides.overrides.flatMap(({ models: all }) =>
      Object.entries(all).flatMap(([id, { at = {} }]) => {
        const providers = models.find((model) => model.id === id)?.providers.map(({ providerId }) => providerId) ?? [];
        return [
          ...(providers.length === 0 ? [id] : []),
          ...Object.keys(at)
            .filter((provider) => !providers.includes(provider))
            .map((provider) => `${id} ${provider}`),
        ];
      }),
    );
    expect(unknown).toEqual([]);
  });

  test('have a reason each', () => {
    expect(overrides.overrides.filter(({ why }) => why.length < 20)).toEqual([]);
  });
});
