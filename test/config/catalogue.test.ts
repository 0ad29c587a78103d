/** The shipped catalogue against what others know: prices and contexts of `@pydantic/genai-prices`, reasoning as the wire has it. */
import { fileURLToPath } from 'node:url';
import { calcPrice } from '@pydantic/genai-prices';
import { describe, expect, test } from 'vitest';
import { loadConfig } from '../../config/load.ts';
import { formatProblems } from '../../config/problems.ts';
import { shippedPlugins } from '../../config/shipped-plugins.ts';
import type { Mapping, Model, Pricing, ReasoningAbility } from '../../core/config.ts';
import { createPluginLoader } from '../../core/loader.ts';

const loadPlugin = createPluginLoader(new URL('../../plugins/', import.meta.url));
const loaded = await loadConfig(fileURLToPath(new URL('../../gateway.config.yaml', import.meta.url)), { env: {}, loadPlugin, shippedPlugins });
if (!loaded.ok) throw new Error(formatProblems(loaded.problems));
const { models, providers } = loaded.config;

describe('the shipped catalogue', () => {
  test('loads without a warning', () => {
    expect(loaded.warnings).toEqual([]);
  });

  test('has at least 80 models, most of them with two providers or more', () => {
    expect(models.length).toBeGreaterThanOrEqual(80);
    expect(models.filter((model) => model.providers.length > 1).length).toBeGreaterThan(models.length / 2);
  });

  test('prices every model, or says that it is free', () => {
    const unpriced = models.filter(({ free, pricing }) => !free && (pricing.prompt === undefined || pricing.completion === undefined));
    expect(unpriced.map(({ id }) => id)).toEqual([]);
  });

  test('knows the context of every model', () => {
    expect(models.filter((model) => model.context_length === 0).map(({ id }) => id)).toEqual([]);
  });

  test('uses every provider that the file has', () => {
    const used = new Set(models.flatMap((model) => model.providers.map(({ providerId }) => providerId)));
    expect([...used].sort()).toEqual([...providers.keys()].sort());
  });

  test('names no provider twice for one model', () => {
    const twice = models.filter((model) => new Set(model.providers.map(({ providerId }) => providerId)).size < model.providers.length);
    expect(twice.map(({ id }) => id)).toEqual([]);
  });
});

/** Our provider → theirs. Those that are missing here they do not know. */
const theirProvider: Readonly<Record<string, string>> = {
  openai: 'openai', anthropic: 'anthropic', google: 'google', xai: 'x-ai', deepseek: 'deepseek', groq: 'groq', mistral: 'mistral', together: 'together', fireworks: 'fireworks',
  openrouter: 'openrouter', cerebras: 'cerebras', perplexity: 'perplexity', moonshot: 'moonshotai', zai: 'zai', bedrock: 'aws', azure: 'azure',
};

/** Our price → theirs, and of how many units it is the price. */
const theirPrice: Readonly<Record<Exclude<keyof Pricing, 'image' | 'internal_reasoning' | 'per_second'>, readonly [name: string, units: number]>> = {
  prompt: ['input_mtok', 1e6],
  completion: ['output_mtok', 1e6],
  input_cache_read: ['cache_read_mtok', 1e6],
  input_cache_write: ['cache_write_mtok', 1e6],
  input_cache_write_1h: ['cache_write_1h_mtok', 1e6],
  web_search: ['web_searches_kcount', 1e3],
  request: ['requests_kcount', 1e3],
};

/** When the catalogue was made, at an hour when DeepSeek asks its usual price. */
const timestamp = new Date('2026-11-21T12:00:00Z');

function findTheirs({ providerId, externalId }: Mapping): ReturnType<typeof calcPrice> {
  const id = theirProvider[providerId];
  return id === undefined ? null : calcPrice({ input_tokens: 1 }, externalId, { providerId: id, timestamp });
}

/** `model provider price`, for each price that they have otherwise. A price by tiers counts by its first. */
function differencesOf(model: Model): string[] {
  return model.providers.flatMap((mapping) => {
    const theirs = findTheirs(mapping);
    const ours = mapping.pricing ?? model.pricing;
    if (theirs === null) return [];
    const differing = Object.entries(theirPrice).filter(([name, [theirName, units]]) => {
      const price = theirs.model_price[theirName];
      const known = typeof price === 'object' ? price.base : price;
      return known !== undefined && Math.abs(Number(ours[name as keyof typeof theirPrice] ?? Number.NaN) - known / units) >= 1e-12 === !Object.is(known, null) || (known !== undefined && ours[name as keyof typeof theirPrice] === undefined);
    });
    return differing.map(([name]) => `${model.id} ${mapping.providerId} ${name}`);
  });
}
