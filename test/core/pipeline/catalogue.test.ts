/** The name in a request, and the candidates that it resolves to. */
import { describe, expect, it } from 'vitest';
import { createCatalogue, inOrderStill } from '../../../core/pipeline/catalogue.ts';
import type { Catalogue } from '../../../core/pipeline/catalogue.ts';
import type { Candidate } from '../../../core/pipeline/context.ts';
import { cpuMsOf } from '../../_kit/cpu.ts';
import { gatewayOf } from '../scene.ts';

const now = Date.parse('2026-01-01T00:00:00Z');
const model = (id: string, providers: string[], more: object = {}): object => ({
  id,
  free: true,
  providers: providers.map((providerId) => ({ providerId, externalId: `${id}-ext` })),
  ...more,
});

async function catalogueOf(models: object[], routing: object = {}): Promise<Catalogue> {
  const dialect = { dialect: 'openai-chat', base_url: 'http://127.0.0.1:9/v1', api_key: 'k' };
  const { gateway } = await gatewayOf({
    providers: { one: dialect, two: dialect, off: { ...dialect, api_key: '${OFF_KEY}' } },
    models,
    routing: { models: routing },
  });
  return createCatalogue(gateway.config, () => now);
}

const shown = (catalogue: Catalogue, name: string): [string, string[]] => {
  const { addressing, candidates } = catalogue.resolve(name, null);
  return [addressing, candidates.map(({ provider, model: { id } }) => `${provider.id}/${id}`)];
};

describe('a name', () => {
  it.each<[string, string, string[]]>([
    ['big', 'root', ['one/big', 'two/big']],
    ['big-2025', 'alias', ['one/big', 'two/big']],
    ['two/big', 'provider', ['two/big']],
    ['two/big-2025', 'provider', ['two/big']],
    ['two/big-ext', 'provider', ['two/big']],
    ['any', 'policy', ['two/small', 'one/big', 'two/big']],
    ['org/model', 'root', ['one/org/model']],
    ['one/org/model', 'provider', ['one/org/model']],
  ])('%s is a %s for %j', async (name, addressing, candidates) => {
    const catalogue = await catalogueOf(
      [model('big', ['one', 'two'], { aliases: ['big-2025'] }), model('small', ['two']), model('org/model', ['one'])],
      { any: { candidates: ['small', 'big'] } },
    );
    expect(shown(catalogue, name)).toEqual([addressing, candidates]);
  });

  it.each(['gpt-5.6', 'deepseek-flash', 'open-mistral-nemo', 'magistral-medium-latest', 'llama-3.1-405b', 'claude-opus-4-5'])(
    '%s, an alias without a version, is a root name',
    async (name) => {
      expect(shown(await catalogueOf([model('big', ['one'], { aliases: [name] })]), name)).toEqual(['root', ['one/big']]);
    },
  );

  it.each([
    'gpt-5-2025-08-07',
    'claude-opus-4-5-20251101',
    'claude-haiku-4-5@20251001',
    'mistral-large-2512',
    'deepseek-r1-0528',
    'gemini-2.0-flash-001',
    'gemini-2.5-pro-preview-05-06',
    'gpt-4-0613:free',
  ])('%s, an alias with a version, is no root name', async (name) => {
    expect(shown(await catalogueOf([model('big', ['one'], { aliases: [name] })]), name)).toEqual(['alias', ['one/big']]);
  });

  it('of a model has the policy of that model', async () => {
    const catalogue = await catalogueOf([model('big', ['one'])], { big: { max_attempts: 7 } });
    expect(['big', 'one/big'].map((name) => catalogue.resolve(name, null).policy.maxAttempts)).toEqual([7, 7]);
  });

  it.each<[string, string, RegExp]>([
    ['bg', 'model_not_found', /Did you mean "big"/],
    ['nothing-like-it', 'model_not_found', /does not exist or is not configured\. See GET/],
    ['three/big', 'provider_not_found', /No provider "three"/],
    ['ones/big', 'provider_not_found', /Did you mean "one"/],
    ['one/small', 'model_not_found', /"one" does not serve "small"\. It serves other models/],
    ['big:free', 'model_not_found', /Did you mean "big"\? See GET/],
    ['one/big:nitro', 'model_not_found', /Did you mean "big"\? See GET/],
    ['/big', 'model_not_found', /./],
    ['one/', 'model_not_found', /./],
    ['__proto__', 'model_not_found', /./],
    ['toString', 'model_not_found', /./],
    ['__proto__/big', 'provider_not_found', /./],
  ])('%s is refused with %s', async (name, code, message) => {
    const catalogue = await catalogueOf([model('big', ['one']), model('big-free', ['one']), model('small', ['two'])]);
    expect(() => catalogue.resolve(name, null)).toThrow(
      expect.objectContaining({ code, param: 'model', status: 404, message: expect.stringMatching(message) as string }) as Error,
    );
  });

  it.each<[string, string[], RegExp]>([
    ['bg', ['small'], /configured\. See GET/],
    ['bg', ['big'], /Did you mean "big"/],
    ['bg-2025', ['big'], /Did you mean "big-2025"/],
    ['big-2024', ['big-2025'], /Did you mean "big-2025"\?/],
    ['ani', ['small'], /Did you mean "any"/],
    ['ani', ['tiny'], /configured\. See GET/],
    ['ones/big', ['small'], /configured, and no model "ones\/big"\. See GET/],
    ['twos/big', ['small'], /Did you mean "two"/],
    ['two/big', ['small'], /does not serve "big"\. See GET/],
    ['two/big', ['b*'], /served elsewhere/],
  ])('%s is refused to a key with the models %j, with a suggestion among these models alone', async (name, globs, message) => {
    const catalogue = await catalogueOf([model('big', ['one'], { aliases: ['big-2025'] }), model('small', ['two'])], {
      any: { candidates: ['small', 'big'] },
    });
    expect(() => catalogue.resolve(name, globs)).toThrow(message);
  });

  it('drops a provider that is off, with the reason', async () => {
    const catalogue = await catalogueOf([model('big', ['off', 'one'])]);
    expect(catalogue.resolve('big', null).candidates.map(({ dropped }) => dropped?.reason ?? null)).toEqual(['OFF_KEY is not set', null]);
  });
});

const ends = (date: string): object => ({ deactivated_at: date });

describe('a model with a date of deactivation', () => {
  it('is served until then', async () => {
    expect(shown(await catalogueOf([model('big', ['one'], ends('2026-01-01T00:00:01Z'))]), 'big')[0]).toBe('root');
  });

  it.each(['big', 'big-2025', 'one/big'])('is refused from then on, as %s too', async (name) => {
    const catalogue = await catalogueOf([model('big', ['one'], { ...ends('2026-01-01T00:00:00Z'), aliases: ['big-2025'] })]);
    expect(() => catalogue.resolve(name, null)).toThrow(expect.objectContaining({ code: 'model_deactivated', status: 410 }) as Error);
  });

  it('is left out of a policy that has others', async () => {
    const catalogue = await catalogueOf([model('big', ['one'], ends('2025-01-01T00:00:00Z')), model('small', ['two'])], {
      any: { candidates: ['big', 'small'] },
    });
    expect(shown(catalogue, 'any')).toEqual(['policy', ['two/small']]);
  });
});

describe('the order after some candidates were ruled out', () => {
  it('is found in linear time', async () => {
    const { gateway } = await gatewayOf({
      providers: { one: { dialect: 'openai-chat', base_url: 'http://127.0.0.1:9/v1', api_key: 'k' } },
      models: [model('main', ['one']), model('spare', ['one'])],
      routing: { models: { main: { fallbacks: ['spare'] } } },
    });
    const { candidates, policy } = createCatalogue(gateway.config, () => now).resolve('main', null);
    const [first, fallback] = candidates as [Candidate, Candidate];
    const ordered = (size: number): readonly Candidate[] =>
      inOrderStill([...Array.from({ length: size }, () => ({ ...first, isBehind: true })), first, fallback], policy);
    expect(ordered(2).map(({ isBehind = false, isFallback }) => [isBehind, isFallback])).toEqual([
      [false, false],
      [false, true],
      [true, false],
      [true, false],
    ]);
    ordered(1000);
    const some = cpuMsOf(() => Array.from({ length: 64 }, () => ordered(1000)));
    expect(cpuMsOf(() => ordered(64_000))).toBeLessThan(10 + 4 * some);
  });
});
