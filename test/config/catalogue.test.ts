/** The shipped catalogue beside other sources: prices and contexts of `@pydantic/genai-prices`, reasoning as the wire formats have it. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { calcPrice } from '@pydantic/genai-prices';
import { describe, expect, test } from 'vitest';
import { loadConfig } from '../../config/load.ts';
import { formatProblems } from '../../config/problems.ts';
import { shippedPlugins } from '../../config/shipped-plugins.ts';
import type { Mapping, Model, Pricing, ReasoningAbility } from '../../core/config.ts';
import { createPluginLoader } from '../../core/host/loader.ts';

const loadPlugin = createPluginLoader(new URL('../../plugins/', import.meta.url));
const loaded = await loadConfig(fileURLToPath(new URL('../../gateway.config.yaml', import.meta.url)), {
  env: {},
  loadPlugin,
  shippedPlugins,
});
if (!loaded.ok) throw new Error(formatProblems(loaded.problems));
const { models, providers } = loaded.config;

describe('the shipped catalogue', () => {
  test('loads without a warning', () => {
    expect(loaded.warnings).toEqual([]);
  });

  test('has at least 200 models, and more than 48 % of them have two providers or more', () => {
    expect(models.length).toBeGreaterThanOrEqual(200);
    expect(models.filter((model) => model.providers.length > 1).length).toBeGreaterThan(models.length * 0.48);
  });

  test('has prices for every model, except models without a known price', () => {
    const unpriced = models.filter(({ free, pricing }) => !free && (pricing.prompt === undefined || pricing.completion === undefined));
    expect(unpriced.map(({ id }) => id)).toEqual(['qwen3-max', 'qwen3-coder-plus', 'deepseek-v4-flash-0731']);
  });

  test('has the context length of every model', () => {
    expect(models.filter((model) => model.context_length === 0).map(({ id }) => id)).toEqual([]);
  });

  test('uses every provider of the config file, except hosts without prices in any source', () => {
    const used = new Set(models.flatMap((model) => model.providers.map(({ providerId }) => providerId)));
    const unused = [...providers.keys()].filter((id) => !used.has(id));
    expect(
      unused.filter(
        (id) =>
          !['huggingface', 'sambanova', 'nebius', 'deepinfra', 'novita', 'hyperbolic', 'databricks', 'cloudflare', 'github'].includes(id),
      ),
    ).toEqual([]);
  });

  test('has dimensions for models with a choice of lengths, and for no model with vectors of one length', () => {
    const vectors = models.filter(({ architecture }) => architecture.output_modalities.includes('embeddings'));
    const fixed = vectors.filter((model) => !model.supported_parameters.includes('dimensions'));
    expect(fixed.map(({ id }) => id).toSorted()).toEqual([
      'cohere-embed-english-v3',
      'cohere-embed-multilingual-v3',
      'mistral-embed',
      'text-embedding-ada-002',
    ]);
  });

  test('names no provider twice for one model', () => {
    const twice = models.filter((model) => new Set(model.providers.map(({ providerId }) => providerId)).size < model.providers.length);
    expect(twice.map(({ id }) => id)).toEqual([]);
  });
});

/** Our provider → its name in the other source, which does not know the providers that are missing here. */
const theirProvider: Readonly<Record<string, string>> = {
  openai: 'openai',
  anthropic: 'anthropic',
  google: 'google',
  xai: 'x-ai',
  deepseek: 'deepseek',
  groq: 'groq',
  mistral: 'mistral',
  together: 'together',
  fireworks: 'fireworks',
  openrouter: 'openrouter',
  cerebras: 'cerebras',
  perplexity: 'perplexity',
  moonshot: 'moonshotai',
  zai: 'zai',
  bedrock: 'aws',
  azure: 'azure',
  vertex: 'google',
  cohere: 'cohere',
  minimax: 'minimax',
  baseten: 'baseten',
};

/** Our price → its name in the other source, and the number of units that it is for. */
const theirPrice: Readonly<
  Record<Exclude<keyof Pricing, 'image' | 'internal_reasoning' | 'per_second' | 'tiers' | 'peak'>, readonly [name: string, units: number]>
> = {
  prompt: ['input_mtok', 1e6],
  completion: ['output_mtok', 1e6],
  input_cache_read: ['cache_read_mtok', 1e6],
  input_cache_write: ['cache_write_mtok', 1e6],
  input_cache_write_1h: ['cache_write_1h_mtok', 1e6],
  web_search: ['web_searches_kcount', 1e3],
  request: ['requests_kcount', 1e3],
};

/** The time when the catalogue was made, at an hour when DeepSeek has its usual price. */
const timestamp = new Date('2026-11-21T12:00:00Z');

function findTheirs({ providerId, externalId }: Mapping): ReturnType<typeof calcPrice> {
  const id = theirProvider[providerId];
  return id === undefined ? null : calcPrice({ input_tokens: 1 }, externalId, { providerId: id, timestamp });
}

/** `model provider price`, for each price that differs from the other source or is missing here. For a price in tiers the first tier counts. */
function differingPrices(model: Model): string[] {
  return model.providers.flatMap((mapping) => {
    const theirs = findTheirs(mapping)?.model_price ?? {};
    const ours = mapping.pricing ?? model.pricing;
    const differing = Object.entries(theirPrice).filter(([name, [theirName, units]]) => {
      const known = theirs[theirName];
      if (known === undefined) return false;
      const price = (typeof known === 'object' ? known.base : known) / units;
      return ours[name as keyof typeof theirPrice] !== price.toFixed(12).replace(/0+$/, '');
    });
    return differing.map(([name]) => `${model.id} ${mapping.providerId} ${name}`);
  });
}

/** The price of a long prompt in the other source and at the first provider here, in dollars per prompt token. */
function longPrompt({ pricing, providers: [mapping] }: Model): readonly [theirs: number, ours: number] | null {
  const theirs = mapping === undefined ? undefined : findTheirs(mapping)?.model_price.input_mtok;
  if (mapping === undefined || theirs === undefined || typeof theirs !== 'object') return null;
  const last = theirs.tiers.at(-1);
  const tier = (mapping.pricing ?? pricing).tiers?.at(-1);
  return last === undefined ? null : [last.price / 1e6, Number(tier?.prompt ?? NaN)];
}

/** `model context_length` where it differs from that of the first provider whose context the other source has. */
function differingContext({ id, context_length: ours, providers: mappings }: Model): string[] {
  const theirs = mappings.map((mapping) => findTheirs(mapping)?.model.context_window).find((context) => context !== undefined);
  return theirs === undefined || theirs === ours ? [] : [`${id} context_length`];
}
/** Exceptions: values that differ from the other source, and why. A value that does not differ any more must leave this table. */
const exceptions: readonly { readonly why: string; readonly what: readonly string[] }[] = [
  {
    why: 'they round what the vendor and OpenRouter give exactly',
    what: [
      'gpt-5.5 context_length',
      'gpt-5.5-pro context_length',
      'gpt-4.1 context_length',
      'gpt-4.1-mini context_length',
      'gpt-4.1-nano context_length',
      'gemini-3.8-flash context_length',
      'gemini-3.7-flash context_length',
      'gemini-3.6-flash context_length',
      'gemini-3.5-flash context_length',
      'gemini-3.5-flash-lite context_length',
      'gemini-3.1-flash-lite context_length',
      'gemini-3-flash-preview context_length',
      'gemini-2.5-flash-lite context_length',
      'qwen3-coder-30b-a3b context_length',
      'qwen3-vl-235b-a22b context_length',
      'deepseek-v4-pro-0813 context_length',
    ],
  },
  {
    why: 'they have the context of one host only, where it is different',
    what: [
      'qwen3-coder-480b-a35b context_length',
      'qwen3-32b context_length',
      'deepseek-r1 context_length',
      'nemotron-3-super-120b-a12b context_length',
      'nemotron-3-ultra-550b-a55b context_length',
    ],
  },
  {
    why: 'they give it the prices of Claude Sonnet 5, whose cache reads cost twice as much',
    what: [
      'claude-sonnet-5-5 anthropic input_cache_read',
      'claude-sonnet-5-5 anthropic web_search',
      'claude-sonnet-5-5 bedrock input_cache_read',
    ],
  },
  {
    why: 'they give it the prices of GPT-6 Sol there; OpenRouter has the prices of OpenAI',
    what: [
      'gpt-5.6-sol openrouter prompt',
      'gpt-5.6-sol openrouter completion',
      'gpt-5.6-sol openrouter input_cache_read',
      'gpt-5.6-sol openrouter input_cache_write',
    ],
  },
  {
    why: 'they have the prices of the promotion that ended on 2026-09-09',
    what: [
      'glm-5.3-flash zai prompt',
      'glm-5.3-flash zai completion',
      'glm-5.3-flash zai input_cache_read',
      'glm-5.3-flash openrouter prompt',
      'glm-5.3-flash openrouter completion',
      'glm-5.3-flash openrouter input_cache_read',
    ],
  },
  {
    why: 'embeddings have no completion tokens; and for Titan they have the price of the first version (aws.amazon.com/bedrock/pricing: $0.00002 for 1,000 tokens of V2)',
    what: ['mistral-embed mistral completion', 'titan-embed-text-v2 bedrock prompt'],
  },
  {
    why: 'they give it the prices of gpt-oss-120b on Groq; its prices are those of gpt-oss-20b, which they have for OpenRouter',
    what: ['gpt-oss-safeguard-20b groq prompt', 'gpt-oss-safeguard-20b groq completion', 'gpt-oss-safeguard-20b groq input_cache_read'],
  },
];

describe('prices and contexts', () => {
  test('of long prompts are those of the other source', () => {
    const known = models.flatMap((model) => {
      const prices = longPrompt(model);
      return prices === null ? [] : [{ id: model.id, prices }];
    });
    expect(known.length).toBeGreaterThan(15);
    for (const {
      id,
      prices: [theirs, ours],
    } of known) {
      expect(ours, id).toBeCloseTo(theirs, 12);
    }
  });

  test('are in the other source for most of the catalogue', () => {
    const mappings = models.flatMap((model) => model.providers);
    expect(mappings.filter((mapping) => findTheirs(mapping) !== null).length).toBeGreaterThan(mappings.length * 0.7);
  });

  test('are those of the other source, except the exceptions, which still differ', () => {
    const differing = [...models.flatMap(differingPrices), ...models.flatMap(differingContext)];
    expect(differing.sort()).toEqual(exceptions.flatMap(({ what }) => what).sort());
  });
});

const mappingsOf = (ids: RegExp, providerIds: RegExp): Mapping[] =>
  models.filter(({ id }) => ids.test(id)).flatMap((model) => model.providers.filter(({ providerId }) => providerIds.test(providerId)));

const toHigh = ['low', 'medium', 'high'] as const;
const toXhigh = [...toHigh, 'xhigh'] as const;
const budget = { efforts: null, max_tokens: true } as const;
const openai = /^(?:openai|azure)$/;
const claude = /^(?:anthropic|bedrock)$/;

/** A sentence, the models and providers that it is about, and the reasoning settings that the wire format takes there. */
const wireFacts: readonly (readonly [words: string, models: RegExp, providers: RegExp, facts: Partial<ReasoningAbility>])[] = [
  [
    'takes minimal to high of the first GPT-5',
    /^gpt-5(?:-mini|-nano)?$/,
    openai,
    { efforts: ['minimal', ...toHigh], auto_effort: 'minimal', max_tokens: false },
  ],
  ['takes nothing but high of GPT-5 Pro', /^gpt-5-pro$/, openai, { efforts: ['high'], auto_effort: 'high' }],
  ['takes none instead of minimal from GPT-5.1 on', /^gpt-5\.1$/, openai, { efforts: ['none', ...toHigh], auto_effort: 'low' }],
  [
    'takes xhigh from GPT-5.2 on',
    /^gpt-5\.(?:2|[45](?:-mini|-nano)?|6-\w+)$/,
    openai,
    { efforts: ['none', ...toXhigh], auto_effort: 'low' },
  ],
  ['cannot be turned off in Codex', /^gpt-5\.3-codex$/, openai, { efforts: toXhigh }],
  ['takes low to high of the o-series', /^o\d/, openai, { efforts: toHigh }],
  ['takes low to high of gpt-oss at every host', /^gpt-oss/, /./, { efforts: toHigh, max_tokens: false }],
  ['takes a budget of Claude 4.5', /^claude-(?:opus|sonnet|haiku)-4-5$/, claude, budget],
  ['takes efforts and a budget of Claude 4.6', /^claude-(?:opus|sonnet)-4-6$/, claude, { efforts: ['none', ...toHigh], max_tokens: true }],
  [
    'takes efforts alone of later Claudes',
    /^claude-(?:opus-4-[78]|opus-5|sonnet-5)$/,
    claude,
    { efforts: ['none', ...toXhigh], max_tokens: false },
  ],
  ['cannot be turned off in Claude Fable', /^claude-fable/, claude, { efforts: toXhigh, max_tokens: false }],
  ['takes a budget of Gemini 2.5', /^gemini-2\.5/, /^google$/, budget],
  [
    'takes levels and a budget of Gemini 3 Flash',
    /^gemini-3(?:\.[1-6])?-flash/,
    /^google$/,
    { efforts: ['minimal', ...toHigh], max_tokens: true },
  ],
  ['begins at low in Gemini 3.1 Pro and 3.7 Flash', /^gemini-3\.(?:1-pro|7-flash)/, /^google$/, { efforts: toHigh, max_tokens: true }],
  ['takes a budget of Qwen at Alibaba', /^qwen3\.\d-(?:max|plus|flash)/, /^alibaba$/, budget],
  ['takes xhigh of Grok 4.6', /^grok-4\.6$/, /^xai$/, { efforts: toXhigh }],
  ['takes none to xhigh of DeepSeek V4', /^deepseek-v4-/, /^deepseek$/, { efforts: ['none', ...toXhigh] }],
  ['takes none and high of Mistral', /^mistral-(?:small-4|medium-3\.5)$/, /^mistral$/, { efforts: ['none', 'high'], auto_effort: 'high' }],
  ['takes no effort of Magistral', /^magistral/, /^mistral$/, { auto_effort: null }],
  ['has no medium in Kimi K3', /^kimi-k3$/, /^moonshot$/, { efforts: ['none', 'low', 'high', 'xhigh'] }],
  ['has no medium in GLM-5.2', /^glm-5\.2$/, /^zai$/, { efforts: ['none', 'low', 'high', 'xhigh'] }],
  ['cannot be turned off in GLM-5.3', /^glm-5\.3/, /^zai$/, { efforts: ['low', 'high', 'xhigh'] }],
  ['hides its text in Nova 2', /^nova-2-lite$/, /^bedrock$/, { exposes: 'nothing' }],
  ['comes in think tags from Sonar', /^sonar-reasoning-pro$/, /^perplexity$/, { think_tags: true }],
];

describe('reasoning', () => {
  test.each(wireFacts)('%s', (_, ids, providerIds, facts) => {
    const abilities = mappingsOf(ids, providerIds).map(({ reasoning }) => reasoning);
    expect(abilities).not.toEqual([]);
    for (const ability of abilities) expect(ability).toMatchObject(facts);
  });

  test('takes a budget for Claude up to 4.6, Gemini 2.5 and 3, and Qwen, on OpenRouter too, and for no other model', () => {
    const taking = models.filter((model) => model.providers.some(({ reasoning }) => reasoning?.max_tokens === true)).map(({ id }) => id);
    expect(
      taking.filter((id) => !/^(?:mock$|claude-(?:opus|sonnet|haiku)-4(?:-[156])?$|gemini-[23]|qwen3\.[678]-(?:max|plus|flash))/.test(id)),
    ).toEqual([]);
    for (const { providerId, reasoning } of mappingsOf(/^(?:claude-\w+-4(?:-[156])?$|gemini-[23])/, /^openrouter$/)) {
      expect([providerId, reasoning?.max_tokens]).toEqual(['openrouter', true]);
    }
  });

  test('of auto-routed requests is minimal for the first GPT-5 only', () => {
    const minimal = models
      .filter((model) => model.providers.some(({ reasoning }) => reasoning?.auto_effort === 'minimal'))
      .map(({ id }) => id);
    expect(minimal).toEqual(['gpt-5', 'gpt-5-mini', 'gpt-5-nano']);
  });

  test('has no effort for auto-routed requests exactly where plugins/dialects/reasoning.md gives a reason', () => {
    const without = models.flatMap(({ id, providers: all }) => (all.some(({ reasoning }) => reasoning?.auto_effort === null) ? [id] : []));
    const told = readFileSync(new URL('../../plugins/dialects/reasoning.md', import.meta.url), 'utf8');
    const rows = told.slice(told.indexOf('| no effort is chosen for |')).split('\n\n')[0] ?? '';
    const named = new Set(Array.from(rows.matchAll(/`([^`]+)`/g), ([, id]) => id));
    expect(named).toEqual(new Set(without));
  });

  test('of auto-routed requests has the lowest effort of the model from low on, except for the first GPT-5', () => {
    const upwards = ['low', 'medium', 'high', 'xhigh'] as const;
    for (const { id, providers: all } of models) {
      for (const { providerId, reasoning } of all) {
        if (reasoning === null || reasoning.auto_effort === null || reasoning.auto_effort === 'minimal') continue;
        const { efforts: taken, auto_effort: auto } = reasoning;
        expect([id, providerId, auto]).toEqual([id, providerId, taken === null ? 'low' : upwards.find((effort) => taken.includes(effort))]);
      }
    }
  });

  test("of OpenAI's models uses the Responses API, which shows it; models without reasoning use chat completions", () => {
    for (const { externalId, dialect, reasoning } of mappingsOf(/^(?:gpt-(?!oss)|o\d)/, openai)) {
      expect([externalId, dialect]).toEqual([externalId, reasoning === null ? null : 'openai-responses']);
    }
  });

  test('is off for GPT-4', () => {
    expect(mappingsOf(/^gpt-4/, /./).filter(({ reasoning }) => reasoning !== null)).toEqual([]);
  });
});
