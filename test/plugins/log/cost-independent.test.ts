/** Our arithmetic beside a calculator that we did not write, over usages as providers report them. */
import { calcPrice } from '@pydantic/genai-prices';
import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import { loadConfig } from '../../../config/load.ts';
import { shippedPlugins } from '../../../config/shipped-plugins.ts';
import type { Usage } from '../../../core/chat.ts';
import type { Config, Pricing } from '../../../core/config.ts';
import { costOf, formatDollars } from '../../../core/money.ts';
import { loadPlugin } from '../../_kit/gateway.ts';

let config: Config;

beforeAll(async () => {
  const loaded = await loadConfig('gateway.config.yaml', { env: {}, loadPlugin, shippedPlugins });
  if (!loaded.ok) throw new Error('the shipped config does not load');
  config = loaded.config;
});

/** Root id, our provider, theirs. Models without price tiers below 100,000 tokens. */
const models = [
  ['gpt-5', 'openai', 'openai'],
  ['gpt-5-mini', 'openai', 'openai'],
  ['gpt-4.1', 'openai', 'openai'],
  ['claude-sonnet-4-5', 'anthropic', 'anthropic'],
  ['claude-haiku-4-5', 'anthropic', 'anthropic'],
  ['gemini-2.5-flash', 'google', 'google'],
] as const;

function pricesOf(id: string, provider: string): { pricing: Pricing; externalId: string } {
  const model = config.models.find((one) => one.id === id);
  const mapping = model?.providers.find(({ providerId }) => providerId === provider);
  if (model === undefined || mapping === undefined) throw new Error(`${provider} does not serve ${id}`);
  return { pricing: mapping.pricing ?? model.pricing, externalId: mapping.externalId };
}

const tokens = fc.integer({ min: 0, max: 30_000 });

test.each(models)('costs what the independent calculator says: %s on %s', (id, provider, theirs) => {
  const { pricing, externalId } = pricesOf(id, provider);
  fc.assert(
    fc.property(tokens, tokens, tokens, tokens, tokens, (input, cacheRead, written, answer, reasoning) => {
      const cacheWrite = pricing.input_cache_write === undefined ? 0 : written;
      const usage: Usage = { input, cacheRead, cacheWrite, cacheWrite1h: null, answer, reasoning };
      const result = calcPrice({ input_tokens: input + cacheRead + cacheWrite, cache_read_tokens: cacheRead, cache_write_tokens: cacheWrite, output_tokens: answer + reasoning }, externalId, { providerId: theirs });
      expect(Number(formatDollars(costOf(usage, pricing) ?? -1n))).toBeCloseTo(result?.total_price ?? NaN, 9);
    }),
  );
});

test('leaves a cost unknown where the provider gave no counts', () => {
  const { pricing } = pricesOf('gpt-5', 'openai');
  expect(costOf({ input: null, cacheRead: null, cacheWrite: null, cacheWrite1h: null, answer: 5, reasoning: null }, pricing)).toBeNull();
});
