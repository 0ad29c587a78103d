/** Configs of LiteLLM become configs of this gateway: each setting is taken over, or listed with its line. */
import { readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { formatProblems } from '../../../config/problems.ts';
import type { Config } from '../../../core/config.ts';
import { example, examples, imported } from './scene.ts';
import type { Imported } from './scene.ts';

/** The import of an example, with the new config. */
async function of(name: string, ...pages: readonly string[]): Promise<Imported & { readonly config: Config }> {
  const all = await imported(example(name), ...pages);
  if (!all.loaded.ok) throw new Error(formatProblems(all.loaded.problems));
  return { ...all, config: all.loaded.config };
}

const model = ({ models }: Config, id: string): Config['models'][number] | undefined => models.find((one) => one.id === id);
const targets = ({ providers }: Config['models'][number]): string[] =>
  providers.map(({ providerId, externalId, weight }) => `${providerId}/${externalId} ${weight}`);
const provider = ({ providers }: Config, id: string): Config['providers'] extends ReadonlyMap<string, infer P> ? P | undefined : never =>
  providers.get(id);

describe('every example', () => {
  test.each(readdirSync(examples).filter((name) => name.endsWith('.yaml')))('%s passes gateway check and shows no secret', async (name) => {
    const { loaded, text } = await imported(example(name), ...(name === 'keys-and-budgets.yaml' ? [example('keys.json')] : []));
    expect(loaded.ok ? formatProblems(loaded.warnings, 'warning') : formatProblems(loaded.problems)).toBe(formatProblems([], 'warning'));
    expect(text).not.toContain('SECRET-');
  });
});

describe('providers', () => {
  test('are made one for each account, with the deployment in the address of an older Azure API', async () => {
    const { config } = await of('quick-start.yaml');
    expect(provider(config, 'azure')).toMatchObject({
      baseUrl: 'https://west.openai.azure.com/openai/deployments/chat-west',
      settings: { api_version: '2025-02-01-preview' },
    });
    expect(provider(config, 'azure-chat-north')).toMatchObject({
      dialect: 'azure',
      baseUrl: 'https://north.openai.azure.com/openai/deployments/chat-north',
      settings: { api_version: '2024-10-21' },
    });
    expect(provider(config, 'openai-compatible')).toMatchObject({
      dialect: 'openai-chat',
      baseUrl: 'http://10.0.0.5:4000/v1',
      apiKey: null,
    });
  });

  test('use the identity of this machine where the file has no key of a cloud', async () => {
    const { config, notes } = await of('clouds.yaml');
    expect([...config.providers.values()].map(({ id, auth }) => [id, auth])).toEqual([
      ['vertex', 'google'],
      ['vertex-2', 'google'],
      ['google', null],
      ['bedrock', 'aws'],
      ['bedrock-eu-central-1', null],
      ['azure', null],
      ['azure-2', 'entra'],
    ]);
    expect(provider(config, 'bedrock-eu-central-1')?.settings).toMatchObject({ region: 'eu-central-1' });
    expect(model(config, 'claude')?.providers[0]).toMatchObject({
      externalId: 'us.anthropic.claude-sonnet-4-5-20250929-v1:0',
      reasoning: { max_tokens: true },
    });
    expect(model(config, 'azure-responses')?.providers[0]).toMatchObject({ externalId: 'gpt-5', dialect: 'openai-responses' });
    expect(model(config, 'claude-vertex')?.providers[0]).toMatchObject({ externalId: 'claude-sonnet-4-5@20250929', dialect: 'anthropic' });
    expect(model(config, 'tuned')?.providers[0]).toMatchObject({ externalId: 'endpoints/4965075652664360960' });
    expect(notes).toContainEqual('12: pictures (openai/dall-e-3): left out: the gateway has no endpoint for the mode image_generation');
    expect(notes.filter((note) => note.includes('left out')).map((note) => note.split(' ')[1])).toEqual([
      'llama-vertex',
      'sage',
      'pictures',
    ]);
  });

  test('are named by the prefix, by custom_llm_provider, or by the name of the model', async () => {
    const { config, notes } = await of('vendors.yaml');
    expect([...config.providers.keys()]).toEqual([
      'groq',
      'mistral',
      'deepseek',
      'xai',
      'perplexity',
      'openrouter',
      'together',
      'fireworks',
      'huggingface',
      'databricks',
      'cloudflare',
      'lmstudio',
      'openai-chat',
      'anthropic',
      'nvidia',
    ]);
    expect(provider(config, 'anthropic')?.baseUrl).toBe('https://claude.internal/v1');
    expect(model(config, 'fireworks')?.providers[0]?.externalId).toBe('accounts/fireworks/models/llama-v3p3-70b-instruct');
    expect(model(config, 'hf')?.providers[0]?.externalId).toBe('deepseek-ai/DeepSeek-R1:together');
    expect(model(config, 'openrouter')?.providers[0]?.externalId).toBe('anthropic/claude-sonnet-4.5');
    expect(notes.find((note) => note.startsWith('17:'))).toContain(
      'nobody-knows (some-model): left out: the name has no prefix of a known vendor',
    );
  });

  test('have their keys in variables, one variable for each secret', async () => {
    const { draft, config } = await of('credentials.yaml');
    expect([...draft.secrets]).toEqual([
      ['OPENAI_API_KEY', { file: 'config.yaml', line: 3 }],
      ['OPENAI_API_KEY_2', { file: 'config.yaml', line: 4 }],
    ]);
    expect(config.models.map(({ id, providers }) => [id, providers[0]?.providerId])).toEqual([
      ['gpt-4o', 'azure'],
      ['gpt-4o-mini', 'openai'],
      ['gpt-4', 'openai-2'],
      ['gpt-4-turbo', 'openai'],
    ]);
    expect(provider(config, 'azure')?.baseUrl).toBe('https://azure-api-base.example/openai/deployments/gpt-4o');
  });

  test('have headers, an organisation, and addresses without their passwords', async () => {
    const { draft, config, notes } = await of('parameters.yaml');
    expect(provider(config, 'openai')?.headers).toEqual({
      'openai-organization': 'org-1',
      'ai-resource-group': 'openai-ai-resource-group-with-enough-characters',
      'x-title': 'our-app',
    });
    expect([...draft.secrets.keys()]).toEqual(['AZURE_API_KEY', 'OPENAI_API_KEY', 'OPENAI_AI_RESOURCE_GROUP', 'API_BASE']);
    expect(provider(config, 'azure')).toMatchObject({ auth: 'entra', apiKey: null });
    expect(provider(config, 'ollama')?.baseUrl).toBe('http://ollama.internal:11434/v1');
    expect(notes.filter((note) => note.includes('sets no parameters')).map((note) => note.split(':')[0])).toEqual(['8', '9', '11']);
    expect(notes).toContainEqual('18: a local one: ids have no spaces: it is a-local-one here, and callers may ask for the old name too');
  });
});

describe('models', () => {
  test('have the prices and abilities of the file, and then those of the catalogue', async () => {
    const { config } = await of('prices.yaml');
    expect(model(config, 'own-price')).toMatchObject({
      pricing: { prompt: '0.000000075', completion: '0.0000003' },
      max_output_tokens: 4096,
      providers: [{ tools: false, vision: true }],
    });
    expect(model(config, 'gpt-4o')).toMatchObject({
      context_length: 128_000,
      pricing: { prompt: '0.0000025' },
      providers: [{ pricing: { prompt: '0.000001' }, tools: true, vision: true, reasoning: null }, { pricing: null }],
    });
  });

  test('that nobody knows accept every request, and get no effort of the gateway', async () => {
    const { config } = await of('quick-start.yaml');
    expect(model(config, 'our-server')?.providers[0]).toMatchObject({
      tools: true,
      vision: true,
      reasoning: { efforts: null, auto_effort: null },
    });
    const { config: others } = await of('clouds.yaml');
    expect(others.models.map(({ providers }) => providers[0]?.reasoning?.auto_effort ?? null)).toEqual(others.models.map(() => null));
  });

  test('share requests by weight, rpm or tpm, and in their order', async () => {
    const { config } = await of('load-balancing.yaml');
    expect(targets(model(config, 'small')!)).toEqual(['azure/small-eu 4.17', 'azure-small-fr/small-fr 1000']);
    expect(targets(model(config, 'ordered')!)).toEqual(['cerebras/llama-3.3-70b 1', 'groq/llama-3.3-70b-versatile 1']);
    expect(config.routing.models.get('ordered')).toMatchObject({ strategy: 'ordered', timeouts: { firstByte: 30_000 } });
    expect(targets(model((await of('quick-start.yaml')).config, 'chat')!)).toEqual(['azure/chat-west 6', 'azure-chat-north/chat-north 18']);
  });

  test('have aliases', async () => {
    const { config, notes } = await of('load-balancing.yaml');
    expect([model(config, 'small')?.aliases, model(config, 'ordered')?.aliases]).toEqual([['large'], ['Ordered']]);
    expect(notes).toContainEqual('13: router_settings.model_group_alias.nothing: left out: no model of this file is called nobody');
  });

  test('return vectors where they are embedding models', async () => {
    const { config } = await of('cache.yaml');
    expect(config.models.map(({ architecture }) => architecture.output_modalities)).toEqual([
      ['embeddings'],
      ['embeddings'],
      ['embeddings'],
    ]);
    expect(model(config, 'own-embedder')?.context_length).toBe(512);
  });

  test('can be wildcards, with the catalogue where it makes no other model reachable', async () => {
    const { config, draft, notes } = await of('wildcards.yaml');
    expect(config.wildcards.map(({ id, providers }) => [id, providers[0]?.externalId])).toEqual([
      ['anthropic/*', '*'],
      ['groq/*', '*'],
    ]);
    expect(draft.includes).toBe(true);
    expect(targets(model(config, 'claude-sonnet-4-5')!)).toEqual(['anthropic/claude-sonnet-4-5-20250929 1']);
    expect(notes).toContainEqual('4: fo::*:static::*: left out: a wildcard has its * at the end');
    const other = await of('quick-start.yaml');
    expect([other.config.wildcards.map(({ id }) => id), other.draft.includes]).toEqual([['openai/*', 'anthropic/*', 'gemini/*'], false]);
    expect(other.text).toContain('wildcards: the prices of models behind a wildcard are not known');
  });
});

describe('routing', () => {
  test('has fallbacks by name, the fallbacks of a fallback before the next one, and enough calls for them', async () => {
    const { config, notes } = await of('fallbacks.yaml');
    const of_ = (id: string): unknown => config.routing.models.get(id)?.fallbacks.map((choice) => choice.model);
    expect([of_('zephyr'), of_('claude'), of_('gpt-4o-mini'), of_('gpt-4o')]).toEqual([
      ['gpt-4o-mini', 'claude', 'gpt-4o'],
      ['gpt-4o-mini'],
      ['claude', 'gpt-4o'],
      ['claude', 'gpt-4o-mini'],
    ]);
    expect(config.routing.models.get('zephyr')).toMatchObject({ maxAttempts: 8 });
    expect(config.routing.default).toMatchObject({
      strategy: 'weighted',
      maxAttempts: 2,
      retry: { sameTarget: 1 },
      timeouts: { firstByte: 10_000 },
    });
    expect(notes).toContainEqual('11: fallback nobody: left out: no model of this file has this name');
  });

  test('has the cooldown of providers, the limits of deployments where LiteLLM enforces them, and Redis', async () => {
    const { config } = await of('load-balancing.yaml');
    expect(provider(config, 'groq')?.breaker).toEqual({ failures: 4, restMs: 60_000 });
    expect(
      config.limits.map(({ by, match, requestsPerMinute, tokensPerMinute, concurrent }) => [
        by,
        match,
        requestsPerMinute,
        tokensPerMinute,
        concurrent,
      ]),
    ).toEqual([
      ['provider', 'azure', 6, null, 4],
      ['provider', 'azure-small-fr', 1440, 100_000, null],
    ]);
    expect(config.redis?.url.reveal()).toBe('redis://:redis-password-with-enough-characters@redis.internal:1992');
    expect((await of('quick-start.yaml')).config.limits).toEqual([]);
  });
});

describe('settings', () => {
  test('become keys, limits and budgets', async () => {
    const { config, notes } = await of('keys-and-budgets.yaml');
    expect(config.keys.map(({ name }) => name)).toEqual(['master']);
    expect(
      config.limits.map(({ by, match, concurrent, requestsPerMinute, budget }) => [
        by,
        match,
        concurrent,
        requestsPerMinute,
        budget?.per ?? null,
      ]),
    ).toEqual([
      ['all', null, null, null, 'month'],
      ['key', null, null, 60, 'week'],
      ['all', null, 200, null, null],
      ['provider', 'openai', null, null, 'day'],
      ['provider', 'openai', null, null, 'day'],
    ]);
    expect(notes).toContainEqual(
      '15: router_settings.provider_budget_config.anthropic: a budget is for a day, a week, a month or all time, not 10d',
    );
    expect(notes).toContainEqual('3: model_list[1].litellm_params.max_budget: a budget is for a day, a week, a month or all time, not 12d');
  });

  test('with a budget for a vendor with several accounts set no budget and are listed', async () => {
    const two = ['', ', organization: org-2'].map(
      (more, at) => `  - { model_name: m${at}, litellm_params: { model: openai/gpt-4o, api_key: os.environ/OPENAI_API_KEY${more} } }`,
    );
    const { loaded, notes } = await imported(
      ['model_list:', ...two, 'router_settings: { provider_budget_config: { openai: { budget_limit: 10, time_period: 1d } } }'].join('\n'),
    );
    expect(loaded.ok && loaded.config.limits).toEqual([]);
    expect(notes).toContainEqual(
      '4: router_settings.provider_budget_config.openai: no budget is set: a limit counts one provider, and here are openai, openai-2; give each a part of it in `limits`',
    );
  });

  test('keep the virtual keys of several pages, and say where a page is missing', async () => {
    const page = (...names: readonly string[]): string =>
      JSON.stringify({ keys: names.map((name) => ({ token: name.repeat(64), key_alias: name })), total_count: 3, total_pages: 2 });
    const whole = await of('keys-and-budgets.yaml', page('a', 'b'), page('c'));
    expect([whole.config.keys.map(({ name }) => name), whole.notes.filter((note) => note.includes('page'))]).toEqual([
      ['master', 'a', 'b', 'c'],
      [],
    ]);
    expect((await of('keys-and-budgets.yaml', page('a', 'b'))).notes).toContain(
      '0: keys.json: LiteLLM has 3 keys, and 2 of them are here: ask LiteLLM for the other pages too (page=2), and write the names of all key files after the config',
    );
  });

  test('keep the virtual keys, so that callers need no new ones', async () => {
    const { config, notes } = await of('keys-and-budgets.yaml', example('keys.json'));
    expect(config.keys.slice(1)).toMatchObject([
      {
        name: 'search',
        hashes: [{ hash: 'a'.repeat(64) }],
        models: ['gpt-4o', 'haiku'],
        metadata: { 'cost-center': '7', team: 'team-search' },
        limits: { requestsPerMinute: 100, tokensPerMinute: null },
        disabled: false,
      },
      { name: 'search-2', models: null, disabled: true, expiresAt: Date.parse('2099-01-31T10:00:00Z') },
    ]);
    expect(notes.find((note) => note.startsWith('5: keys.json: old'))).toContain('left out: it has no `token`');
  });

  test('become the cache and the log, and callbacks are listed', async () => {
    const { config, notes } = await of('cache.yaml');
    const options = (all: Config, name: string): unknown => all.plugins.find(({ use }) => use === name)?.with;
    expect([config.routing.default.cache, options(config, 'stream/cache')]).toEqual([true, expect.objectContaining({ ttl_seconds: 600 })]);
    expect(config.redis?.url.reveal()).toBe('rediss://:redis-password-with-enough-characters@redis-host-with-enough-characters:6379');
    expect(options(config, 'log/journal')).toMatchObject({ bodies: false });
    expect(options((await of('keys-and-budgets.yaml')).config, 'log/journal')).toMatchObject({ bodies: true, retention_days: 90 });
    expect(notes.filter((note) => note.startsWith('15:') || note.startsWith('16:'))).toHaveLength(2);
    const semantic = await of('semantic-cache.yaml');
    expect(semantic.config.routing.default.cache).toBe(false);
    expect(semantic.notes).toContainEqual('5: qdrant-semantic: only exact repeats are answered from the cache, in memory or in Redis');
    const { notes: called } = await of('prices.yaml');
    expect(called.filter((note) => note.startsWith('5:')).map((note) => note.split(':')[1]?.trim())).toEqual([
      'otel',
      'sentry',
      'litellm_settings.retry_policy',
    ]);
  });

  test('that are unknown are listed with their lines', async () => {
    const { notes } = await of('credentials.yaml');
    expect(notes.filter((note) => /^1\d:/.test(note)).map((note) => note.split(':').slice(0, 2).join(':'))).toEqual([
      '11: environment_variables.AZURE_API_KEY',
      '12: mcp_servers',
    ]);
    const strange = await imported(
      'model_list: [{ model_name: a, litellm_params: { model: groq/a, new_thing: 1 } }]\nlitellm_settings:\n  newer_thing: true\nnewest: {}\n',
    );
    expect(strange.notes.filter((note) => note.endsWith('has no counterpart'))).toEqual([
      '1: model_list[0].litellm_params.new_thing: has no counterpart',
      '3: litellm_settings.newer_thing: has no counterpart',
      '4: newest: has no counterpart',
    ]);
  });
});
