/**
 * Computes the cost of a request at `settle`, from its token counts and the prices of the catalogue. The record keeps the prices
 * too. Amounts are integers of 10^-12 dollar. Where a needed count or price is not known, the cost is unknown (null) and never 0.
 * Tokens whose price is 0 cost nothing, whether their count is known or not.
 */
import type { Usage } from '../../core/chat.ts';
import type { Pricing } from '../../core/config.ts';
import { formatDollars, parseDollars } from '../../core/money.ts';
import { definePlugin } from '../../core/host/plugin.ts';

export default definePlugin({
  name: 'log/cost',
  summary: 'cost of each request in dollars, from usage and catalogue prices',
  schema: { type: 'object', additionalProperties: false, properties: {} },
  apply({ hooks }) {
    hooks.settle.tap((record) => {
      if (record.served === null) return record;
      const { mapping, model, usage } = record.served;
      const pricing = mapping.pricing ?? model.pricing;
      const cost = costOf(usage, pricing);
      return cost === null ? record : { ...record, cost: formatDollars(cost), prices: pricing };
    });
  },
});

// cost: a catalogue has few different prices, and each is parsed once
const prices = new Map<string, bigint | null>();

function price(text: string | undefined): bigint | null {
  if (text === undefined) return null;
  const known = prices.get(text);
  if (known !== undefined) return known;
  const read = parseDollars(text) ?? null;
  prices.set(text, read);
  return read;
}

/**
 * The cost of token counts in 10^-12 dollar; null where it is not known. Each token is counted once: cached tokens, tokens written
 * to a cache and reasoning tokens cost their own price where `pricing` has one, else the price of prompt or completion tokens.
 */
export function costOf(usage: Usage, pricing: Pricing): bigint | null {
  const prompt = price(pricing.prompt);
  const completion = price(pricing.completion);
  if (prompt === null && completion === null) return null;
  const cacheWrite = price(pricing.input_cache_write) ?? prompt;
  const hourWrites = Math.min(usage.cacheWrite1h ?? 0, usage.cacheWrite ?? 0);
  const total = new Total(price(pricing.request) ?? 0n);
  total.add(usage.input, prompt);
  total.add(usage.cacheRead ?? 0, price(pricing.input_cache_read) ?? prompt);
  total.add((usage.cacheWrite ?? 0) - hourWrites, cacheWrite);
  total.add(hourWrites, price(pricing.input_cache_write_1h) ?? cacheWrite);
  total.add(usage.answer, completion);
  total.add(usage.reasoning ?? 0, price(pricing.internal_reasoning) ?? completion);
  return total.known;
}

/** A sum that is unknown (null) once one of its parts is. */
class Total {
  known: bigint | null;

  constructor(first: bigint) {
    this.known = first;
  }

  add(tokens: number | null, each: bigint | null): void {
    if (each === 0n || tokens === 0 || this.known === null) return;
    // safety: a provider may send a count that is a fraction or too large to be exact; its cost is then unknown
    this.known = each === null || !Number.isSafeInteger(tokens) ? null : this.known + BigInt(tokens as number) * each;
  }
}
