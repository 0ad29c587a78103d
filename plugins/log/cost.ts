/**
 * What a request cost, from its counts and the prices in the catalogue, at `settle`; the prices go on record with it. Integer
 * arithmetic of 10^-12 dollar. A count or a price that is not known makes the cost unknown (null), never 0: only
 * what is free costs nothing, however it counts.
 */
import type { Usage } from '../../core/chat.ts';
import type { Pricing } from '../../core/config.ts';
import { formatDollars, parseDollars } from '../../core/money.ts';
import { definePlugin } from '../../core/host/plugin.ts';

const name = 'log/cost';

export default definePlugin({
  name,
  summary: 'cost of each request in dollars, from usage and catalogue prices',
  schema: { type: 'object', additionalProperties: false, properties: {} },
  apply({ hooks }) {
    hooks.settle.tap(name, (record) => {
      if (record.served === null) return record;
      const { mapping, model, usage } = record.served;
      const pricing = mapping.pricing ?? model.pricing;
      const cost = costOf(usage, pricing);
      return cost === null ? record : { ...record, cost: formatDollars(cost), prices: pricing };
    });
  },
});

// cost: the catalogue has few prices, and each is read once
const prices = new Map<string, bigint | null>();

function price(text: string | undefined): bigint | null {
  if (text === undefined) return null;
  const known = prices.get(text);
  if (known !== undefined) return known;
  const read = parseDollars(text) ?? null;
  prices.set(text, read);
  return read;
}

/** In 10^-12 dollar. Each token is priced once: cached, cache-write and reasoning tokens at their own price where there is one. */
export function costOf(usage: Usage, pricing: Pricing): bigint | null {
  const prompt = price(pricing.prompt);
  const completion = price(pricing.completion);
  if (prompt === null && completion === null) return null;
  const cacheWrite = price(pricing.input_cache_write) ?? prompt;
  const hour = Math.min(usage.cacheWrite1h ?? 0, usage.cacheWrite ?? 0);
  const parts: readonly (readonly [tokens: number | null, price: bigint | null])[] = [
    [usage.input, prompt],
    [usage.cacheRead ?? 0, price(pricing.input_cache_read) ?? prompt],
    [(usage.cacheWrite ?? 0) - hour, cacheWrite],
    [hour, price(pricing.input_cache_write_1h) ?? cacheWrite],
    [usage.answer, completion],
    [usage.reasoning ?? 0, price(pricing.internal_reasoning) ?? completion],
  ];
  let total = price(pricing.request) ?? 0n;
  for (const [tokens, each] of parts) {
    if (each === 0n || tokens === 0) continue;
    // safety: a provider may count in fractions or beyond all numbers; what cannot be priced exactly is not known
    if (each === null || !Number.isSafeInteger(tokens)) return null;
    total += BigInt(tokens as number) * each;
  }
  return total;
}
