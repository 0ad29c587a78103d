/** `max_tokens: true` of a mapping, checked with the shipped dialects: check warns where a dialect has no field for a budget. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadConfig } from '../../config/load.ts';
import { formatProblems } from '../../config/problems.ts';
import { shippedPlugins } from '../../config/shipped-plugins.ts';
import { createPluginLoader } from '../../core/host/loader.ts';
import { folderOf } from './folder.ts';

const loadPlugin = createPluginLoader(new URL('../../plugins/', import.meta.url));
const address = 'base_url: "http://127.0.0.1:9/v1", api_key: none';

async function warningsOf(provider: string, mapping: string) {
  const plugins = '[dialects/openai-chat, dialects/openai-responses, dialects/anthropic, dialects/gemini, dialects/bedrock]';
  const yaml = `plugins: ${plugins}\nproviders:\n  up: { ${provider} }\nmodels:\n  - { id: a, free: true, providers: [{ providerId: up, ${mapping} }] }\n`;
  const loaded = await loadConfig(join(folderOf({ 'gateway.config.yaml': yaml }), 'gateway.config.yaml'), {
    env: {},
    loadPlugin,
    shippedPlugins,
  });
  if (!loaded.ok) throw new Error(formatProblems(loaded.problems));
  return loaded.warnings.map(({ path, message, line, isFault }) => ({ path, message, line, isFault }));
}

test.each<[string, string, boolean]>([
  ['openai-chat', '', false],
  ['openai', '', false],
  ['openai', ', dialect: openai-responses', false],
  ['deepseek', '', false],
  ['fireworks', '', true],
  ['openrouter', '', true],
  ['openrouter', ', dialect: openai-responses', true],
  ['alibaba', '', true],
  ['anthropic', '', true],
  ['google', '', true],
  ['bedrock', ', externalId: "us.amazon.nova-2-lite-v1:0"', false],
  ['bedrock', ', externalId: us.anthropic.claude-sonnet-4-6', true],
])('a budget has a field at %s%s: %s', async (dialect, more, hasField) => {
  const warnings = await warningsOf(`dialect: ${dialect}, ${address}`, `reasoning: { max_tokens: true }${more}`);
  if (hasField) return expect(warnings).toEqual([]);
  const named = more.includes('openai-responses') ? 'openai-responses' : dialect;
  expect(warnings).toEqual([
    {
      path: 'models[0].providers[0].reasoning.max_tokens',
      message: `the dialect "${named}" has no field for a budget of this model, so budgets of callers are dropped`,
      line: 5,
      isFault: true,
    },
  ]);
});

test('a mapping that declares no budget has no warning', async () => {
  expect(await warningsOf(`dialect: openai-chat, ${address}`, 'reasoning: { max_tokens: false }')).toEqual([]);
});
