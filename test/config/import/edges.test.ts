/** Single settings of LiteLLM and Portkey: what each becomes, or which note is printed about it. */
import { describe, expect, test, vi } from 'vitest';
import { formatProblems } from '../../../config/problems.ts';
import type { Config } from '../../../core/config.ts';
import { noteLines } from '../../../config/import/write.ts';
import journal from '../../../plugins/log/journal/index.ts';
import cache from '../../../plugins/stream/cache/index.ts';
import { imported, importedPortkey } from './scene.ts';

const one = 'model_list: [{ model_name: a, litellm_params: { model: groq/a } }]\n';

async function configOf(yaml: string): Promise<Config> {
  const { loaded } = await imported(yaml);
  if (!loaded.ok) throw new Error(formatProblems(loaded.problems));
  return loaded.config;
}

const noteOf = async (yaml: string): Promise<string | undefined> =>
  (await imported(yaml)).notes.find((note) => !note.startsWith('0: log/journal'));

describe('a setting', () => {
  test.each<[string, (config: Config) => unknown, unknown]>([
    ['router_settings: { disable_cooldowns: true, allowed_fails: 1 }', ({ providers }) => providers.get('groq')?.breaker, null],
    ['router_settings: { allowed_fails: 0 }', ({ providers }) => providers.get('groq')?.breaker?.failures, 1],
    ['router_settings: { cooldown_time: 0.5 }', ({ providers }) => providers.get('groq')?.breaker, { failures: 5, restMs: 500 }],
    [
      'router_settings: { timeout: 1200 }\nlitellm_settings: { request_timeout: 5 }',
      ({ routing }) => [routing.default.timeouts.firstByte, routing.default.timeouts.total],
      [1_200_000, 1_200_000],
    ],
    [
      'litellm_settings: { request_timeout: 900 }',
      ({ routing }) => [routing.default.timeouts.firstByte, routing.default.timeouts.total],
      [900_000, 900_000],
    ],
    [
      'router_settings: { timeout: 99999999 }',
      ({ routing }) => [routing.default.timeouts.firstByte, routing.default.timeouts.total],
      [2_000_000_000, 2_000_000_000],
    ],
    ['litellm_settings: { num_retries: 0 }', ({ routing }) => [routing.default.maxAttempts, routing.default.retry.sameTarget], [1, 0]],
    ['router_settings: { num_retries: 30 }', ({ routing }) => [routing.default.maxAttempts, routing.default.retry.sameTarget], [10, 10]],
    ['router_settings: { routing_strategy: latency-based-routing }', ({ routing }) => routing.default.strategy, 'fastest'],
    ['router_settings: { routing_strategy: cost-based-routing }', ({ routing }) => routing.default.strategy, 'cheapest'],
    ['router_settings: { redis_url: os.environ/REDIS_URL }', ({ redis }) => redis?.url.reveal(), 'redis://redis-url.example'],
    ['router_settings: { redis_host: h, redis_db: 2 }', ({ redis }) => redis?.url.reveal(), 'redis://h:6379/2'],
    [
      'litellm_settings: { cache: true, cache_params: { type: redis } }\nrouter_settings: { redis_host: h }',
      ({ redis }) => redis?.url.reveal(),
      'redis://h:6379',
    ],
    [
      'litellm_settings: { cache: true, cache_params: { host: h } }\nrouter_settings: { redis_host: other }',
      ({ redis }) => redis?.url.reveal(),
      'redis://h:6379',
    ],
    ['litellm_settings: { cache: true }', ({ routing, redis }) => [routing.default.cache, redis], [true, null]],
    [
      'litellm_settings: { cache: true, cache_params: { type: local } }',
      ({ routing, redis }) => [routing.default.cache, redis],
      [true, null],
    ],
    ...[
      ['24h', 1],
      ['90d', 90],
      ['2w', 14],
      // a whole month, as a budget of a month needs it
      ['1mo', 31],
      ['3600s', 1],
    ].map(([period, days]): [string, (config: Config) => unknown, unknown] => [
      `general_settings: { maximum_spend_logs_retention_period: ${period} }`,
      ({ plugins }) => plugins.find(({ use }) => use === 'log/journal')?.with,
      expect.objectContaining({ retention_days: days }),
    ]),
    ['general_settings: { global_max_parallel_requests: 1e30 }', ({ limits }) => limits[0]?.concurrent, 1e12],
    ['general_settings: { max_request_size_mb: 1e30 }', ({ server }) => server.limits.body, 2 ** 40],
    ['general_settings: { max_request_size_mb: 2 }', ({ server }) => server.limits.body, 2_097_152],
    [
      'general_settings: { max_parallel_requests: 7 }',
      ({ limits }) => limits.map(({ by, concurrent }) => [by, concurrent]),
      [['provider', 7]],
    ],
    [
      'litellm_settings: { default_key_generate_params: { max_budget: 3, budget_duration: 12h, rpm_limit: 5 } }',
      ({ limits }) => limits.map(({ by, requestsPerMinute, budget }) => [by, requestsPerMinute, budget]),
      [['key', 5, null]],
    ],
    ['litellm_settings: { max_budget: 0, budget_duration: 30d }', ({ limits }) => limits, []],
    [
      'litellm_settings: { max_budget: 0.5 }',
      ({ limits }) => limits.map(({ by, budget }) => [by, budget?.dollars, budget?.per]),
      [['all', '0.5', 'total']],
    ],
  ])('%s is taken over', async (yaml, pick, expected) => {
    expect(pick(await configOf(`${one}${yaml}\n`))).toEqual(expected);
  });

  test.each([
    [
      'router_settings: { stream_timeout: 5 }',
      '2: router_settings.stream_timeout: plain requests and streams have the same limits: timeout_ms.first_byte and timeout_ms.idle',
    ],
    [
      'router_settings: { routing_strategy: least-busy }',
      '2: router_settings.routing_strategy: least-busy: the strategy here is balanced: shares by price, success and speed',
    ],
    [
      'router_settings: { routing_strategy: newest }',
      '2: router_settings.routing_strategy: newest: has no counterpart; the strategy here is weighted',
    ],
    ['router_settings: { num_retries: 10 }', '2: router_settings.num_retries: a request asks providers 10 times at most'],
    ['router_settings: { cooldown_time: 61 }', '2: router_settings.cooldown_time: the first rest is a minute at most'],
    [
      'router_settings: { redis_host: h, redis_startup_nodes: [] }',
      '2: router_settings.redis_startup_nodes: one Redis is asked, at one address: write redis: { url: … }',
    ],
    [
      'router_settings: { model_group_alias: { a: a } }',
      '2: router_settings.model_group_alias.a: left out: a is the name of a model itself',
    ],
    [
      'router_settings: { fallbacks: [{ b: [a] }] }',
      '2: fallbacks of b: left out: fallbacks stand under the id of a model, and no model has this name',
    ],
    ['litellm_settings: { default_fallbacks: [b] }', '2: fallback b: left out: no model of this file has this name'],
    [
      'litellm_settings: { max_budget: 1, budget_duration: 3d }',
      '2: litellm_settings.max_budget: a budget is for a day, a week, a month or all time, not 3d',
    ],
    [
      'general_settings: { disable_spend_logs: true }',
      '2: general_settings.disable_spend_logs: every request is on record; to keep no record, remove `log/journal` from `plugins`',
    ],
    [
      'litellm_settings: { max_budget: 1000000000 }',
      '2: litellm_settings.max_budget: the budget is more than can be counted, at most "9000000"',
    ],
    [
      'router_settings: { provider_budget_config: { groq: { time_period: 1d } } }',
      '2: router_settings.provider_budget_config.groq: it names no amount of dollars',
    ],
    ['general_settings: { enable_jwt_auth: true }', '2: general_settings.enable_jwt_auth: tokens of other issuers need a plugin at `auth`'],
    [
      'general_settings: { alerting: [slack] }',
      "2: general_settings.alerting: `alerts` tells a webhook, Slack's too, of errors, latency, cost and providers that are down (docs/alerts.md)",
    ],
    [
      'general_settings: { database_url: os.environ/PG }',
      '2: general_settings.database_url: the log has its own database: log/journal with { store: postgres, url: ${PG} }, not the database of LiteLLM.',
    ],
  ])('%s is listed', async (yaml, expected) => {
    expect(await noteOf(`${one}${yaml}\n`)).toContain(expected);
  });

  test.each(['drop_params: true', 'set_verbose: true', 'modify_params: true', 'cache: false', 'callbacks: [prometheus]'])(
    '%s needs nothing',
    async (setting) => {
      expect(await noteOf(`${one}litellm_settings: { ${setting} }\n`)).toBe(undefined);
    },
  );
});

test('a second Redis, of the router, is listed, and the same one is not', async () => {
  const redisNotes = async (router: string): Promise<readonly string[]> =>
    (await imported(`${one}litellm_settings: { cache: true, cache_params: { host: h } }\nrouter_settings: { ${router} }\n`)).notes.filter(
      (note) => note.includes('the Redis of'),
    );
  expect(await redisNotes('redis_host: other')).toEqual([
    '3: the Redis of router_settings: limits, the cache and all else share one Redis: the address of the cache was imported, and this one was not',
  ]);
  expect(await redisNotes('redis_host: h, redis_port: 6379')).toEqual([]);
});

test.each([
  'router_settings: { redis_url: os.environ/REDIS_URL, redis_password: SECRET-1 }',
  'litellm_settings: { cache: true, cache_params: { password: SECRET-1 } }',
])('%s asks for no variable with a password that no address has', async (yaml) => {
  const { text, notes } = await imported(`${one}${yaml}\n`);
  expect([text.includes('REDIS_PASSWORD'), notes.filter((note) => note.includes('the password of Redis'))]).toEqual([false, []]);
});

describe('a name that only a wildcard has', () => {
  const wildcards =
    'model_list:\n  - { model_name: a, litellm_params: { model: groq/a } }\n  - { model_name: "openai/*", litellm_params: { model: "openai/*", api_key: os.environ/OWN, max_parallel_requests: 3 } }\n  - { model_name: "*", litellm_params: { model: "*" } }\n';

  test('is a model of its own where it has fallbacks, is a fallback, or has an alias', async () => {
    const { loaded, notes } = await imported(
      `${wildcards}router_settings:\n  model_group_alias: { usual: openai/gpt-4o, usual-2: usual }\n  fallbacks: [{ a: [openai/gpt-4o, { model: mistral/m }, usual, a-*] }, { openai/o3: [a] }]\n  default_fallbacks: [openai/gpt-4o-mini]\n`,
    );
    if (!loaded.ok) throw new Error(formatProblems(loaded.problems));
    const { models, routing, limits } = loaded.config;
    expect(
      models.flatMap(({ id, aliases, providers }) =>
        providers.map(({ providerId, externalId }) => [id, aliases, `${providerId}/${externalId}`]),
      ),
    ).toEqual([
      ['a', [], 'groq/a'],
      ['openai/gpt-4o', ['usual'], 'openai/gpt-4o'],
      ['mistral/m', [], 'mistral/m'],
      ['openai/o3', [], 'openai/o3'],
      ['openai/gpt-4o-mini', [], 'openai/gpt-4o-mini'],
    ]);
    expect(routing.models.get('a')?.fallbacks.map(({ model }) => model)).toEqual(['openai/gpt-4o', 'openai/gpt-4o-mini', 'mistral/m']);
    expect(routing.models.get('openai/o3')?.fallbacks[0]?.model).toBe('a');
    expect(limits.map(({ by, match, concurrent }) => [by, match, concurrent])).toEqual([['provider', 'openai', 3]]);
    expect(notes.filter((note) => note.includes('left out')).map((note) => note.split(': ')[1])).toEqual([
      'router_settings.model_group_alias.usual-2',
      'fallback a-*',
    ]);
  });
});

describe('an entry of model_list', () => {
  const entry = (params: string, more = ''): string => `model_list: [{ model_name: a, litellm_params: { ${params} }${more} }]\n`;

  test.each<[string, (config: Config) => unknown, unknown]>([
    [
      entry('model: azure/a, api_base: "https://a.openai.azure.com/openai/deployments/own/chat/completions", api_key: k, api_version: v'),
      ({ providers }) => providers.get('azure')?.baseUrl,
      'https://a.openai.azure.com/openai/deployments/own',
    ],
    [
      `${entry('model: azure/a, api_base: "https://a.openai.azure.com"')}litellm_settings: { enable_azure_ad_token_refresh: true }\n`,
      ({ providers }) => providers.get('azure')?.auth,
      'entra',
    ],
    [entry('model: openai/gpt-4o, api_base: "https://api.openai.com/v1/"'), ({ providers }) => [...providers.keys()], ['openai']],
    [
      entry('model: openai/gpt-4o, api_base: "http://own/v1", api_key: k'),
      ({ providers }) => providers.get('openai-compatible')?.dialect,
      'openai',
    ],
    [entry('model: openai/responses/gpt-4o'), ({ models }) => models[0]?.providers[0]?.dialect, 'openai-responses'],
    [entry('model: openai/gpt-5'), ({ models }) => models[0]?.providers[0]?.dialect, 'openai-responses'],
    [entry('model: openai/gpt-5, api_base: "http://own/v1", api_key: k'), ({ models }) => models[0]?.providers[0]?.dialect, null],
    [
      entry('model: bedrock/a, aws_access_key_id: i, aws_secret_access_key: s, aws_session_token: t, model_id: "arn:aws:bedrock:x"'),
      ({ providers, models }) => [providers.get('bedrock')?.auth, models[0]?.providers[0]?.externalId],
      [null, 'arn:aws:bedrock:x'],
    ],
    [
      entry('model: groq/a, rpm: 5, max_parallel_requests: 2'),
      ({ limits }) => limits.map(({ match, concurrent, requestsPerMinute }) => [match, concurrent, requestsPerMinute]),
      [['groq', 2, null]],
    ],
    [
      `${entry('model: groq/a, rpm: 5')}router_settings: { optional_pre_call_checks: [enforce_model_rate_limits] }\n`,
      ({ limits }) => limits[0]?.requestsPerMinute,
      5,
    ],
    [
      entry(
        'model: groq/a',
        ', model_info: { supports_vision: false, supports_reasoning: false, supports_parallel_function_calling: false }',
      ),
      ({ models }) => [models[0]?.providers[0]?.vision, models[0]?.providers[0]?.reasoning, models[0]?.providers[0]?.parallelToolCalls],
      [false, null, false],
    ],
    [
      entry('model: groq/a, timeout: 1000'),
      ({ routing }) => [routing.models.get('a')?.timeouts.firstByte, routing.models.get('a')?.timeouts.total],
      [1_000_000, 1_000_000],
    ],
    ['model_list: [{ litellm_params: { model: groq/a } }]\n', ({ models }) => models[0]?.id, 'groq/a'],
    [
      'base: &base { api_key: k }\nmodel_list: [{ model_name: a, litellm_params: { <<: *base, model: groq/a } }]\n',
      ({ providers }) => providers.get('groq')?.apiKey?.reveal(),
      'groq-api-key-with-enough-characters',
    ],
  ])('%s', async (yaml, pick, expected) => {
    expect(pick(await configOf(yaml))).toEqual(expected);
  });

  test.each([
    ['stream_timeout: 20', 'plain requests and streams have the same limits: timeout_ms.first_byte and timeout_ms.idle'],
    ['num_retries: 1', 'retries belong to the name that callers ask for: `retry` and `max_attempts` of its policy under routing.models'],
    ['max_retries: 0', 'retries belong to the name that callers ask for: `retry` and `max_attempts` of its policy under routing.models'],
  ])('lists its own %s', async (setting, todo) => {
    expect(await noteOf(entry(`model: groq/a, ${setting}`))).toContain(`1: model_list[0].litellm_params.${setting.split(':')[0]}: ${todo}`);
  });

  test('that shares its provider gets no limit by provider, and this is listed', async () => {
    const { notes, loaded } = await imported(
      'model_list:\n  - { model_name: a, litellm_params: { model: groq/a, max_parallel_requests: 2 } }\n  - { model_name: b, litellm_params: { model: groq/b } }\n',
    );
    expect(loaded.ok && loaded.config.limits).toEqual([]);
    expect(notes).toContainEqual(
      '2: limits of a: limits count by provider, and groq serves other models too: give this model a provider of its own, or limit by model',
    );
  });

  test('of another vendor at the same address and key gets its own provider, with its own dialect', async () => {
    const { providers } = await configOf(
      'model_list:\n  - { model_name: a, litellm_params: { model: anthropic/claude-haiku-4-5, api_base: "http://proxy/v1", api_key: os.environ/PROXY_KEY } }\n  - { model_name: b, litellm_params: { model: mistral/m, api_base: "http://proxy/v1", api_key: os.environ/PROXY_KEY } }\n',
    );
    expect([...providers.values()].map(({ id, dialect }) => [id, dialect])).toEqual([
      ['anthropic', 'anthropic'],
      ['mistral', 'mistral'],
    ]);
  });

  test('of a server without a key reads the variable of LiteLLM, and has no key where it is not set', async () => {
    const { text, loaded } = await imported(entry('model: hosted_vllm/a, api_base: "http://own/v1"'));
    expect(text).toContain('vllm: { base_url: http://own/v1, api_key: "${HOSTED_VLLM_API_KEY:-none}" }');
    expect(loaded.ok && loaded.config.providers.get('vllm')).toMatchObject({ apiKey: null });
  });

  test('whose name has spaces is asked by that name too, so callers change nothing', async () => {
    const yaml =
      'model_list: [{ model_name: my model, litellm_params: { model: groq/a } }, { model_name: " b ", litellm_params: { model: groq/b } }]\n';
    const { models } = await configOf(`${yaml}router_settings: { model_group_alias: { other: my model } }\n`);
    expect(models.map(({ id, aliases }) => [id, aliases])).toEqual([
      ['my-model', ['my model', 'other']],
      ['b', []],
    ]);
    expect((await imported(yaml)).notes[0]).toBe(
      '1: my model: ids have no spaces: it is my-model here, and callers may ask for the old name too',
    );
  });

  test('whose name without spaces is that of another entry is left out and listed', async () => {
    const { loaded, notes } = await imported(
      'model_list:\n  - { model_name: my-model, litellm_params: { model: groq/a } }\n  - { model_name: my model, litellm_params: { model: groq/b } }\n',
    );
    expect(loaded.ok && loaded.config.models.map(({ providers }) => providers[0]?.externalId)).toEqual(['a']);
    expect(notes).toContainEqual('3: my model: left out: my-model is the name of another model');
  });

  test('has a fallback that is written as a map, without its parameters, and this is listed', async () => {
    const { loaded, notes } = await imported(
      'model_list: [{ model_name: a, litellm_params: { model: groq/a } }, { model_name: b, litellm_params: { model: groq/b } }]\nlitellm_settings: { fallbacks: [{ a: [{ model: b, temperature: 0 }] }] }\n',
    );
    expect(loaded.ok && loaded.config.routing.models.get('a')?.fallbacks.map(({ model }) => model)).toEqual(['b']);
    expect(notes).toContainEqual('2: fallback b: the gateway sets no parameters for its callers: only the model was imported');
  });

  test('that names no model behind its vendor is left out and listed', async () => {
    const { loaded, notes } = await imported(`${one}  \n`.replace('groq/a', 'azure/'));
    expect(loaded.ok).toBe(true);
    expect(notes[0]).toBe('1: a (azure/): left out: it names no model');
  });

  test('that is listed twice is one target', async () => {
    const { models } = await configOf(
      'model_list:\n  - { model_name: a, litellm_params: { model: groq/a } }\n  - { model_name: a, litellm_params: { model: groq/a } }\n',
    );
    expect(models[0]?.providers).toHaveLength(1);
  });

  test.each([
    [
      ['groq/a, weight: 1', 'cerebras/a, weight: 3', 'groq/a, weight: 6'],
      [7, 3],
    ],
    [
      ['groq/a', 'cerebras/a', 'groq/a'],
      [2, 1],
    ],
  ])('that is listed twice has both shares of the requests: %j', async (list, shares) => {
    const { models } = await configOf(
      `model_list:\n${list.map((params) => `  - { model_name: a, litellm_params: { model: ${params} } }\n`).join('')}`,
    );
    expect(models[0]?.providers.map(({ weight }) => weight)).toEqual(shares);
  });
});

describe('a virtual key', () => {
  const token = 'a'.repeat(64);
  const ofKey = (fields: object): ReturnType<typeof imported> =>
    imported(
      'model_list: [{ model_name: my model, litellm_params: { model: groq/a } }, { model_name: all-minilm, litellm_params: { model: openai/e } }]\n',
      JSON.stringify({ keys: [{ token, key_alias: 'k', ...fields }] }),
    );

  test('cannot write a setting by its name, whatever the name is', async () => {
    const { text, loaded } = await ofKey({
      key_alias: 'k\nserver: { admin_open: true }\n#\u001b[2J',
      max_budget: 3,
      budget_duration: '13h',
    });
    expect(text).toContain('keys.json: k?server: { admin_open: true }?#?[2J: a budget is for');
    expect(loaded.ok && loaded.config.server.adminOpen).toBe(false);
  });

  test('keeps its other limits where its budget is for a time that budgets here do not have', async () => {
    const { loaded, notes } = await ofKey({ max_budget: 3, budget_duration: '12h', rpm_limit: 5, max_parallel_requests: 2 });
    expect(loaded.ok && loaded.config.keys[0]?.limits).toEqual({
      requestsPerMinute: 5,
      tokensPerMinute: null,
      concurrent: 2,
      budget: null,
    });
    expect(notes).toContainEqual('1: keys.json: k: a budget is for a day, a week, a month or all time, not 12h');
  });

  test.each(['two\nlines', 'first\r\nsecond', `${'long '.repeat(20)}\nand more\n`])(
    'keeps line breaks in its metadata: %j',
    async (note) => {
      const { loaded } = await ofKey({ metadata: { note } });
      expect(loaded.ok && loaded.config.keys[0]?.metadata).toEqual({ note });
    },
  );

  test('writes no control character of its names and values, which a terminal would obey, and keeps them in the config', async () => {
    const note = '\u009b2J \u202etxt.exe\u0085 \u007f\u2028';
    const { text, loaded } = await ofKey({ key_alias: `k${note}`, metadata: { note } });
    expect(text.match(/(?!\n)[\p{Cc}\p{Cf}\u2028\u2029]/gu)).toBeNull();
    expect(loaded.ok && loaded.config.keys.map(({ name, metadata }) => [name, metadata])).toEqual([[`k${note}`, { note }]]);
  });

  test.each([
    ['of a model with a space in its name is for the model under its new name', ['my model'], ['my-model']],
    ['of a model whose name begins with all- is for that model alone', ['all-minilm'], ['all-minilm']],
    ['of all models has no list', ['all-proxy-models'], null],
  ])('%s', async (_, models, expected) => {
    const { loaded } = await ofKey({ models });
    expect(loaded.ok && loaded.warnings.map(({ message }) => message)).toEqual([]);
    expect(loaded.ok && loaded.config.keys[0]?.models).toEqual(expected);
  });

  test('has its limits by model and its aliases listed, because they are not imported', async () => {
    const { notes } = await ofKey({ aliases: { cheap: 'a' }, allowed_routes: [], metadata: { model_rpm_limit: { a: 5 } } });
    expect(notes.filter((note) => note.startsWith('1: keys.json: k: ')).map((note) => note.split(': ')[3])).toEqual([
      'aliases',
      'model_rpm_limit',
    ]);
  });

  test.each([{ models: ['all-team-models'] }, { models: [] }, {}])(
    'of a team with %j may use what its team may, and this is listed',
    async (row) => {
      const { notes } = await ofKey({ team_id: 't', ...row });
      expect(notes).toContain('1: keys.json: k: it may use the models of its team: write them under `models`');
      expect((await ofKey({ team_id: 't', models: ['all-minilm'] })).notes.join()).not.toContain('of its team');
    },
  );

  test.each(['rpm_limit', 'tpm_limit', 'max_parallel_requests'])('with the %s 0 may ask nothing, as at LiteLLM', async (limit) => {
    const { loaded, notes } = await ofKey({ [limit]: 0 });
    expect(loaded.ok && loaded.config.keys[0]?.disabled).toBe(true);
    expect(notes).toContain(`1: keys.json: k: ${limit}: 0 lets nothing through, so the key is disabled here`);
  });

  test('has its fallbacks and its budgets for several times listed', async () => {
    const { notes } = await ofKey({
      router_settings: { fallbacks: [{ a: ['b'] }] },
      budget_limits: [{ max_budget: 1, budget_duration: '1d' }],
    });
    expect(notes.filter((note) => note.startsWith('1: keys.json: k: ')).map((note) => note.split(': ')[3])).toEqual([
      'router_settings',
      'budget_limits',
    ]);
  });

  test('with the name under which the dashboard asks gets another one', async () => {
    const { loaded } = await ofKey({ key_alias: 'dashboard' });
    expect(loaded.ok && loaded.config.keys.map(({ name }) => name)).toEqual(['dashboard-2']);
  });

  test.each(['2099-01-31T10:00:00', '2099-01-31 10:00:00+00:00', '2099-01-31T12:00:00+02:00', '2099-01-31T10:00:00.000000Z'])(
    'with the end time %s ends at the same moment on every machine',
    async (expires) => {
      vi.stubEnv('TZ', 'America/New_York');
      const { loaded } = await ofKey({ expires });
      vi.unstubAllEnvs();
      expect(loaded.ok && loaded.config.keys[0]?.expiresAt).toBe(Date.UTC(2099, 0, 31, 10));
    },
  );

  test('with an unreadable end time is left out and listed', async () => {
    const { loaded, notes } = await ofKey({ expires: 'soon' });
    expect(loaded.ok && loaded.config.keys).toEqual([]);
    expect(notes).toContainEqual('1: keys.json: k: left out: the time in `expires` cannot be read');
  });
});

test('notes that many lines share are one note, in the order of the file', () => {
  const at = (line: number, what: string): { line: number; what: string; todo: string } => ({ line, what, todo: 'gone' });
  expect(
    noteLines([at(9, 'model_list[8].x'), at(2, 'y'), ...[3, 4, 5, 6, 7].map((line) => at(line, `model_list[${line - 1}].x`)), at(0, 'z')]),
  ).toEqual(['z: gone', 'line 2: y: gone', 'line 3, 4, 5, 6, 7 and 1 more: model_list[].x: gone']);
});

test('a key that stands in the file goes to its own server, and not to another one that has its key from the environment', async () => {
  const { loaded, draft } = await imported(
    'model_list:\n  - { model_name: a, litellm_params: { model: hosted_vllm/a, api_base: http://one/v1 } }\n  - { model_name: b, litellm_params: { model: hosted_vllm/b, api_base: http://two/v1, api_key: k } }\n' +
      '  - { model_name: c, litellm_params: { model: groq/c, api_key: l } }\n  - { model_name: d, litellm_params: { model: groq/d } }\n',
  );
  expect([...draft.secrets.keys()]).toEqual(['HOSTED_VLLM_API_KEY_2', 'GROQ_API_KEY_2']);
  expect(loaded.ok && loaded.config.models.map(({ providers }) => providers[0]?.providerId)).toEqual(['vllm', 'vllm-2', 'groq', 'groq-2']);
});

test('a wildcard has the prices of its entry', async () => {
  const { wildcards } = await configOf(
    'model_list: [{ model_name: "vllm/*", litellm_params: { model: "hosted_vllm/*", api_base: http://h/v1, input_cost_per_token: 0.000002 } }]\n',
  );
  expect(wildcards[0]?.providers[0]?.pricing?.prompt).toBe('0.000002');
});

test('a number that comes from the environment is listed, because its value is not known', async () => {
  const { notes } = await imported(
    'model_list: [{ model_name: a, litellm_params: { model: groq/a, rpm: os.environ/RPM, api_key: os.environ/KEY } }]\n' +
      'router_settings: { timeout: os.environ/T }\nlitellm_settings: { cache: true, cache_params: { ttl: os.environ/TTL, host: os.environ/H, port: os.environ/P } }\n',
  );
  const todo = 'its value is in the environment, so it was not imported: write the number';
  expect(notes.filter((note) => note.includes('environment'))).toEqual([
    `1: model_list[0].litellm_params.rpm: ${todo}`,
    `2: router_settings.timeout: ${todo}`,
    `3: litellm_settings.cache_params.ttl: ${todo}`,
  ]);
});

test('entries of the same order, and those with the weight 0, are listed, because they get other shares here', async () => {
  const list = (...more: readonly string[]): string =>
    `model_list:\n${more.map((one_, at) => `  - { model_name: a, litellm_params: { model: groq/a${at}, ${one_} } }\n`).join('')}`;
  const notesOf = async (...more: readonly string[]): Promise<readonly string[]> =>
    (await imported(list(...more))).notes.filter((note) => !note.startsWith('0:'));
  expect(await notesOf('order: 1', 'order: 1', 'order: 2')).toEqual([
    '2: order of a: deployments of the same order are asked one after the other here, and do not share the requests',
  ]);
  expect(await notesOf('order: 1', 'order: 2')).toEqual([]);
  expect(await notesOf('weight: 0', 'weight: 1')).toEqual([
    '2: model_list[0].litellm_params.weight: a weight of 0 is a very small share here, and the deployment is asked where others fail: delete the entry if it must get no requests',
  ]);
});

test('the cache keeps answers as long as LiteLLM, and its other settings are listed', async () => {
  const kept = async (params: string): Promise<unknown> => {
    const { loaded, notes } = await imported(`${one}litellm_settings: { cache: true, cache_params: { ${params} } }\n`);
    const plugin = loaded.ok && loaded.config.plugins.find(({ use }) => use === 'stream/cache');
    return [plugin && (plugin.with as { ttl_seconds?: number }).ttl_seconds, notes.filter((note) => note.includes('cache_params'))];
  };
  expect(await kept('host: h, ttl: 5, default_in_redis_ttl: 120, default_in_memory_ttl: 60, redis_flush_size: 9')).toEqual([
    120,
    ['2: litellm_settings.cache_params.redis_flush_size: has no counterpart'],
  ]);
  expect(await kept('type: local, default_in_memory_ttl: 60, default_in_redis_ttl: 120')).toEqual([60, []]);
});

test('a time that is too long becomes the longest that its plugin takes', async () => {
  const { plugins } = await configOf(
    `${one}general_settings: { maximum_spend_logs_retention_period: 99999999d }\nlitellm_settings: { cache: true, cache_params: { ttl: 99999999999 } }\n`,
  );
  const imports = (name: string): unknown => plugins.find(({ use }) => use === name)?.with;
  const longest = ({ schema }: { readonly schema?: object }, option: string): unknown =>
    (schema as { properties: Record<string, { maximum?: number }> }).properties[option]?.maximum;
  expect(imports('log/journal')).toMatchObject({ retention_days: longest(journal, 'retention_days') });
  expect(imports('stream/cache')).toMatchObject({ ttl_seconds: longest(cache, 'ttl_seconds') });
});

describe('in a config of Portkey', () => {
  const shared = (targets: object, more: object = {}): ReturnType<typeof importedPortkey> =>
    importedPortkey('p.json', JSON.stringify({ strategy: { mode: 'loadbalance' }, ...more, targets }));

  test('a time limit of any length becomes one that gateway check accepts', async () => {
    const firstByte = async (ms: number): Promise<unknown> => {
      const { loaded } = await importedPortkey('p.json', JSON.stringify({ request_timeout: ms, provider: 'groq', api_key: 'k' }));
      return loaded.ok && loaded.config.routing.default.timeouts.firstByte;
    };
    expect([await firstByte(1e12), await firstByte(0.2)]).toEqual([2_000_000_000, 1]);
  });

  test('a target with the weight 0 is left out and listed', async () => {
    const { loaded, notes } = await shared([
      { provider: 'groq', weight: 1, override_params: { model: 'a' } },
      { provider: 'mistral-ai', weight: 0, override_params: { model: 'b' } },
    ]);
    expect(loaded.ok && [...loaded.config.providers.keys()]).toEqual(['groq']);
    expect(notes).toEqual(['1: target: left out: its weight is 0, so it gets no requests']);
  });

  test('weights of any size become shares that gateway check accepts', async () => {
    const { loaded } = await shared([
      { provider: 'groq', weight: 5000, override_params: { model: 'a' } },
      { provider: 'groq', weight: 2500, override_params: { model: 'b' } },
      { provider: 'groq', weight: 0.0001, override_params: { model: 'c' } },
    ]);
    expect(loaded.ok && loaded.config.routing.models.get('p')?.candidates?.map(({ weight }) => weight)).toEqual([1000, 500, 0.001]);
  });

  test('a model that the gateway cannot reach at its vendor is listed with the reason', async () => {
    const { notes } = await importedPortkey(
      'p.json',
      '{ "provider": "vertex-ai", "vertex_project_id": "p", "override_params": { "model": "meta/llama" } }',
    );
    expect(notes).toEqual(['1: target: left out: the gateway asks only Gemini and Claude at Vertex AI']);
  });

  test('a target without a model has the model of the whole config', async () => {
    const { loaded } = await shared(
      [{ provider: 'groq' }, { provider: 'cerebras' }, { provider: 'groq', override_params: { model: 'b' } }],
      { overrideParams: { model: 'a' } },
    );
    expect(loaded.ok && loaded.config.models.map(({ id, providers }) => [id, providers.map(({ providerId }) => providerId)])).toEqual([
      ['a', ['groq', 'cerebras']],
      ['b', ['groq']],
    ]);
  });

  test('a target without an address has that of the config around it, as at Portkey', async () => {
    const { loaded } = await importedPortkey(
      'p.json',
      '{ "custom_host": "http://own/v1", "targets": [{ "provider": "openai", "override_params": { "model": "a" } }, { "customHost": "http://inner/v1", "targets": [{ "provider": "groq", "override_params": { "model": "b" } }] }] }',
    );
    expect(loaded.ok && [...loaded.config.providers.values()].map(({ baseUrl }) => baseUrl)).toEqual(['http://own/v1', 'http://inner/v1']);
  });

  test('the settings of a group of targets are listed', async () => {
    const { notes } = await importedPortkey(
      'p.json',
      '{ "targets": [{ "retry": { "attempts": 2 }, "request_timeout": 5, "override_params": { "top_p": 1 }, "strategy": { "mode": "fallback", "on_status_codes": [429] }, "targets": [{ "provider": "groq", "override_params": { "model": "a" } }] }] }',
    );
    expect(notes.map((note) => note.split(': ')[1])).toEqual([
      'targets[0].targets',
      'targets[0].retry',
      'targets[0].request_timeout',
      'targets[0].override_params.top_p',
      'targets[0].strategy.on_status_codes',
    ]);
  });

  test('a model that stands in two places of the order is listed, because all its targets are asked in the first', async () => {
    const target = (provider: string, model: string, key: string): object => ({ provider, api_key: key, override_params: { model } });
    const notesOf = async (...targets: readonly object[]): Promise<readonly string[]> =>
      (await importedPortkey('p.json', JSON.stringify({ strategy: { mode: 'fallback' }, targets }))).notes;
    const [first, other, second] = [target('groq', 'a', '1'), target('cerebras', 'b', '2'), target('groq', 'a', '3')];
    expect(await notesOf(first, other, second)).toEqual([
      '1: targets[2]: this target is asked together with the first target of a, before the targets of other models: a policy names each model once',
    ]);
    expect(await notesOf(first, second, other)).toEqual([]);
  });

  test('a key that stands in the file goes to its own server, and not to another one that has its key from the environment', async () => {
    const { draft } = await importedPortkey(
      'p.json',
      '{ "targets": [{ "provider": "ollama", "custom_host": "http://one/v1", "override_params": { "model": "a" } }, { "provider": "ollama", "custom_host": "http://two/v1", "api_key": "k", "override_params": { "model": "b" } }] }',
    );
    expect([...draft.secrets.keys()]).toEqual(['OLLAMA_API_KEY_2']);
  });

  test('a file with the name of one of its models becomes a policy with another name', async () => {
    const { loaded, notes } = await importedPortkey(
      'a.json',
      '{ "strategy": { "mode": "fallback" }, "targets": [{ "provider": "groq", "override_params": { "model": "a" } }, { "provider": "groq", "override_params": { "model": "b" } }] }',
    );
    expect(loaded.ok && [...loaded.config.routing.models.keys()]).toEqual(['a-policy']);
    expect(notes).toEqual(['0: a: is the name of a model too: callers ask for the policy by a-policy']);
  });
});

test('a semantic cache of Portkey becomes a cache for exact repeats', async () => {
  const { notes } = await importedPortkey(
    'p.json',
    '{ "provider": "groq", "override_params": { "model": "a" }, "cache": { "mode": "semantic" } }',
  );
  expect(notes).toContainEqual('1: cache: only exact repeats are answered from the cache');
});

test('a price with more decimals than the gateway counts is rounded to those', async () => {
  const { models } = await configOf(
    'model_list: [{ model_name: a, litellm_params: { model: groq/a, input_cost_per_token: 3.33333333e-8, output_cost_per_token: 0.5e-6 } }]\n',
  );
  expect(models.map(({ pricing }) => pricing)).toEqual([{ prompt: '0.000000033333', completion: '0.0000005' }]);
});

test('a model at Vertex AI has the facts of the catalogue, whose version is written behind -', async () => {
  expect(
    (
      await imported(
        'model_list: [{ model_name: c, litellm_params: { model: vertex_ai/claude-sonnet-4@20250514, vertex_project: p, vertex_location: us-east5 } }]\n',
      )
    ).text,
  ).toContain('prices and abilities are those of claude-sonnet-4 in the catalogue');
});

test('names behind a wildcard have no default fallbacks, and the list says so', async () => {
  const { notes } = await imported(
    'model_list:\n  - { model_name: "groq/*", litellm_params: { model: "groq/*" } }\n  - { model_name: b, litellm_params: { model: groq/b } }\nrouter_settings: { default_fallbacks: [b] }\n',
  );
  expect(notes).toContain(
    '4: router_settings.default_fallbacks: not for names behind a wildcard: a name that needs fallbacks is a model of its own under `models`, with a policy',
  );
});

test('a wildcard has no policy, so its time limit, its order and its fallbacks are listed', async () => {
  const { notes } = await imported(
    'model_list:\n  - { model_name: "groq/*", litellm_params: { model: "groq/*", timeout: 20, order: 1 } }\n  - { model_name: b, litellm_params: { model: groq/b } }\nrouter_settings: { fallbacks: [{ "*": [b] }] }\n',
  );
  expect(notes.filter((note) => /^[24]/.test(note))).toEqual([
    '2: model_list[0].litellm_params.order: not for names behind a wildcard: a name that needs it is a model of its own under `models`, with a policy',
    '2: model_list[0].litellm_params.timeout: not for names behind a wildcard: a name that needs it is a model of its own under `models`, with a policy',
    '4: router_settings.fallbacks: not for names behind a wildcard: a name that needs fallbacks is a model of its own under `models`, with a policy',
  ]);
});

test('a model whose entries have different time limits has the longest, and the list says so', async () => {
  const yaml = (second: string): string =>
    `model_list:\n  - { model_name: a, litellm_params: { model: groq/a, timeout: 5 } }\n  - { model_name: a, litellm_params: { model: cerebras/a${second} } }\nrouter_settings: { timeout: 300 }\n`;
  const firstByte = async (second: string): Promise<unknown> => {
    const { loaded, notes } = await imported(yaml(second));
    return [loaded.ok && loaded.config.routing.models.get('a')?.timeouts.firstByte, notes.filter((note) => note.startsWith('2: '))];
  };
  const listed = ['2: time limits of a: the providers of a model have one limit here, the longest of these: 90 seconds'];
  expect(await firstByte(', timeout: 90')).toEqual([90_000, listed]);
  expect(await firstByte('')).toEqual([300_000, [listed[0]?.replace('90', '300')]]);
  expect(await firstByte(', timeout: 5')).toEqual([5000, []]);
});

test('a name that every object of JavaScript has is a name like any other that has no counterpart', async () => {
  const { notes } = await imported(
    'model_list: [{ model_name: a, litellm_params: { model: groq/a, constructor: 1, max_budget: 5, budget_duration: toString } }]\n' +
      'litellm_settings: { constructor: 1 }\nrouter_settings: { routing_strategy: valueOf }\ntoString: 1\n',
  );
  expect(notes).toEqual([
    '1: model_list[0].litellm_params.constructor: has no counterpart',
    '2: litellm_settings.constructor: has no counterpart',
    '4: toString: has no counterpart',
    expect.stringMatching('^0: log/journal: '),
    '3: router_settings.routing_strategy: valueOf: has no counterpart; the strategy here is weighted',
    '1: model_list[0].litellm_params.max_budget: a budget is for a day, a week, a month or all time, not toString',
  ]);
  const portkey = await importedPortkey('p.json', '{ "provider": "groq", "override_params": { "model": "a" }, "constructor": 1 }');
  expect(portkey.notes).toContain('1: constructor: has no counterpart');
});
