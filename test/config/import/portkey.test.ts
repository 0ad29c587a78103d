/** Configs of Portkey become models, and a policy with the name of the file. */
import { readFileSync, readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { formatProblems } from '../../../config/problems.ts';
import type { Config } from '../../../core/config.ts';
import { importedPortkey } from './scene.ts';
import type { Imported } from './scene.ts';

const folder = new URL('portkey/', import.meta.url);

async function of(name: string): Promise<Imported & { readonly config: Config }> {
  const all = await importedPortkey(name, readFileSync(new URL(name, folder), 'utf8'));
  expect(all.loaded.ok ? formatProblems(all.loaded.warnings, 'warning') : formatProblems(all.loaded.problems)).toBe(
    formatProblems([], 'warning'),
  );
  if (!all.loaded.ok) throw new Error('it has faults');
  expect(all.text).not.toContain('SECRET-');
  return { ...all, config: all.loaded.config };
}

const targets = ({ models }: Config): string[] =>
  models.flatMap(({ id, providers }) =>
    providers.map(({ providerId, externalId, weight }) => `${id}: ${providerId}/${externalId} ${weight}`),
  );

describe('a config of Portkey', () => {
  test.each(readdirSync(folder))('%s passes gateway check and shows no secret', async (name) => {
    await of(name);
  });

  test('with fallbacks is an ordered policy, with its retries, its cache and its timeout', async () => {
    const { config, draft, notes } = await of('fallback.json');
    expect(targets(config)).toEqual([
      'gpt-4o: openai/gpt-4o 1',
      'claude-haiku-4-5: anthropic/claude-haiku-4-5 1',
      'our-4o: azure/our-4o 1',
    ]);
    expect(config.routing.models.get('fallback')).toMatchObject({
      strategy: 'ordered',
      candidates: [{ model: 'gpt-4o' }, { model: 'claude-haiku-4-5' }, { model: 'our-4o' }],
      retry: { sameTarget: 2 },
      maxAttempts: 10,
      cache: true,
      timeouts: { firstByte: 20_000 },
    });
    expect(config.providers.get('azure')).toMatchObject({
      baseUrl: 'https://west.openai.azure.com/openai/deployments/our-4o',
      settings: { api_version: '2024-10-21' },
    });
    expect([...draft.secrets.keys()]).toEqual(['ANTHROPIC_API_KEY', 'AZURE_API_KEY']);
    expect(notes.map((note) => note.split(': ').slice(0, 2).join(': '))).toEqual([
      '7: targets[0].override_params.temperature',
      '7: @openai-prod',
      '10: target',
      '2: strategy.on_status_codes',
      '4: cache.max_age',
    ]);
  });

  test('with shares is a weighted policy, with all targets in one list', async () => {
    const { config, notes } = await of('load-balance.json');
    expect(targets(config)).toEqual([
      'gpt-4o-mini: openai/gpt-4o-mini 0.7',
      'gpt-4o-mini: openai-2/gpt-4o-mini 0.1',
      'llama-3.3-70b-versatile: groq/llama-3.3-70b-versatile 1',
    ]);
    expect(config.routing.models.get('load-balance')).toMatchObject({
      strategy: 'weighted',
      candidates: [
        { model: 'gpt-4o-mini', weight: 0.8 },
        { model: 'llama-3.3-70b-versatile', weight: 0.2 },
      ],
    });
    expect(notes.filter((note) => note.includes('left out')).map((note) => note.slice(0, 15))).toEqual(['8: targets[3]: ']);
    expect(notes.find((note) => note.includes('input_guardrails'))).toContain('10: input_guardrails: a plugin at `normalise`');
  });

  test('with its own hosts asks the same addresses as Portkey, which adds the version for some vendors', async () => {
    const { config } = await of('hosts.json');
    expect(
      Object.fromEntries([...config.providers.values()].map(({ id, baseUrl }) => [id, baseUrl?.replace('https://proxy.internal', '')])),
    ).toEqual({
      'openai-compatible': '/openai/v1',
      deepseek: '/deepseek/v1',
      openrouter: '/openrouter/api/v1',
      azure: '/azure/openai/deployments/our-4o',
      anthropic: '/anthropic/v1',
    });
  });

  test('takes the vendor from `provider` where the virtual key has another name', async () => {
    const { text, notes } = await of('virtual-keys.json');
    expect(text).toContain('openai: { api_key: "${MAIN_258F4D_API_KEY}" }');
    expect(text).toContain('anthropic: { api_key: "${CLAUDE_TEST_4110DD_API_KEY}" }');
    expect(notes).toContainEqual('5: main-258f4d: its key is in Portkey: set MAIN_258F4D_API_KEY to the key of the vendor');
  });

  test('without models is a wildcard of all names', async () => {
    const { config } = await of('any-model.json');
    expect(config.wildcards.map(({ id, providers }) => [id, providers.map(({ providerId }) => providerId)])).toEqual([
      ['*', ['openai-compatible', 'openrouter']],
    ]);
    expect(config.routing.default).toMatchObject({ strategy: 'ordered', retry: { sameTarget: 1 }, maxAttempts: 4 });
  });

  test('with conditions has rules by metadata', async () => {
    const { config, notes } = await of('conditional.json');
    expect(config.routing.models.get('conditional')).toMatchObject({
      candidates: [{ model: 'anthropic.claude-haiku-4-5-20251001-v1:0' }],
      rules: [{ when: { 'meta.user-plan': 'paid' }, candidates: [{ model: 'claude-sonnet-4-5' }] }],
    });
    expect(config.providers.get('cloudflare')?.baseUrl).toBe('https://api.cloudflare.com/client/v4/accounts/acc/ai/v1');
    expect(notes).toContainEqual('5: meta.user-plan: send it as the header X-Gateway-user-plan');
    expect(notes.find((note) => note.startsWith('6:'))).toContain('left out: a rule compares metadata');
  });

  test('chooses a group of targets by the name of the group', async () => {
    const target = (model: string): object => ({ provider: 'groq', api_key: 'a', override_params: { model } });
    const groups = [
      { name: 'large', strategy: { mode: 'fallback' }, targets: [target('l1'), target('l2')] },
      { name: 'small', strategy: { mode: 'fallback' }, targets: [target('s1'), target('s2')] },
    ];
    const strategy =
      '{ "mode": "conditional", "conditions": [{ "query": { "metadata.plan": { "$eq": "paid" } }, "then": "large" }], "default": "small" }';
    const { loaded } = await importedPortkey('groups.json', `{ "strategy": ${strategy}, "targets": ${JSON.stringify(groups)} }`);
    expect(loaded.ok && loaded.config.routing.models.get('groups')).toMatchObject({
      candidates: [{ model: 's1' }, { model: 's2' }],
      rules: [{ when: { 'meta.plan': 'paid' }, candidates: [{ model: 'l1' }, { model: 'l2' }] }],
    });
  });

  const asks = (model: string, more: object = {}): object => ({ provider: 'groq', api_key: 'a', override_params: { model }, ...more });
  const policyOf = async (config: object): Promise<unknown> => {
    const { loaded } = await importedPortkey('p.json', JSON.stringify(config));
    return loaded.ok && loaded.config.routing.models.get('p');
  };

  test('with shares of groups divides each share in its group; what a group asks after its first target is a fallback', async () => {
    const pair = { strategy: { mode: 'loadbalance' }, weight: 0.8, targets: [asks('a', { weight: 3 }), asks('b')] };
    const chain = { strategy: { mode: 'fallback' }, targets: [asks('c'), asks('d'), asks('a')], weight: 0.2 };
    expect(await policyOf({ strategy: { mode: 'loadbalance' }, targets: [pair, chain] })).toMatchObject({
      strategy: 'weighted',
      candidates: [
        { model: 'a', weight: 0.6 },
        { model: 'b', weight: 0.2 },
        { model: 'c', weight: 0.2 },
      ],
      fallbacks: [{ model: 'd' }],
    });
  });

  test('with fallbacks for a group with shares keeps the shares', async () => {
    const pair = { strategy: { mode: 'loadbalance' }, targets: [asks('a', { weight: 3 }), asks('b', { weight: 1 })] };
    expect(await policyOf({ strategy: { mode: 'fallback' }, targets: [pair, asks('c', { weight: 5 })] })).toMatchObject({
      strategy: 'weighted',
      candidates: [
        { model: 'a', weight: 3 },
        { model: 'b', weight: 1 },
      ],
      fallbacks: [{ model: 'c' }],
    });
  });

  test('counts a target without a weight as one share', async () => {
    const { loaded } = await importedPortkey(
      'p.json',
      JSON.stringify({ strategy: { mode: 'loadbalance' }, targets: [asks('a', { weight: 3 }), asks('a', { api_key: 'b' })] }),
    );
    expect(loaded.ok && targets(loaded.config)).toEqual(['a: groq/a 3', 'a: groq-2/a 1']);
  });

  test('takes the account from a model that names it, as @slug/model', async () => {
    const { loaded, notes } = await importedPortkey(
      'p.json',
      '{ "strategy": { "mode": "fallback" }, "targets": [\n{ "override_params": { "model": "@openai-prod/gpt-4o" } },\n{ "provider": "openai", "override_params": { "model": "@anthropic-prod/claude-haiku-4-5" } }] }',
    );
    expect(loaded.ok && targets(loaded.config)).toEqual(['gpt-4o: openai/gpt-4o 1', 'claude-haiku-4-5: anthropic/claude-haiku-4-5 1']);
    expect(notes.slice(0, 2)).toEqual(
      [
        ['2', 'openai', 'OPENAI'],
        ['3', 'anthropic', 'ANTHROPIC'],
      ].map(([line, slug, name]) => `${line}: @${slug}-prod: its key is in Portkey: set ${name}_PROD_API_KEY to the key of the vendor`),
    );
  });

  test('gives a key of the file and a key in Portkey two variables', async () => {
    const { text, loaded } = await importedPortkey(
      'p.json',
      '{ "targets": [{ "provider": "openai", "apiKey": "SECRET-1", "override_params": { "model": "a" } }, { "provider": "@openai", "override_params": { "model": "b" } }] }',
    );
    expect(loaded.ok && targets(loaded.config)).toEqual(['a: openai/a 1', 'b: openai-2/b 1']);
    expect(text).toContain('openai: { api_key: "${OPENAI_API_KEY_2}" }');
  });

  test('compares metadata with a value without an operator', async () => {
    const strategy: unknown = JSON.parse(
      '{ "mode": "conditional", "conditions": [{ "query": { "metadata.plan": "paid" }, "then": "a" }], "default": "b" }',
    );
    expect(await policyOf({ strategy, targets: [asks('a', { name: 'a' }), asks('b', { name: 'b' })] })).toMatchObject({
      candidates: [{ model: 'b' }],
      rules: [{ when: { 'meta.plan': 'paid' }, candidates: [{ model: 'a' }] }],
    });
  });

  test('has no word about another gateway in its notes', async () => {
    const { notes } = await importedPortkey(
      'p.json',
      '{ "provider": "openai", "custom_host": "http://own/v1", "override_params": { "model": "a" } }',
    );
    expect(notes.join('\n')).not.toContain('LiteLLM sends');
    expect(notes).toContainEqual(expect.stringContaining('so it gets none here'));
  });

  test('of one target is a policy of one model', async () => {
    const { config } = await of('single.json');
    expect(targets(config)).toEqual(['gemini-2.5-flash: vertex/gemini-2.5-flash 1']);
    expect(config.providers.get('vertex')).toMatchObject({
      auth: 'google',
      settings: { project: 'our-project', location: 'europe-west4' },
    });
  });
});
