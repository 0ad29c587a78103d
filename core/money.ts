/**
 * Money is counted in whole pico-dollars (10^-12 dollar) as bigints, never in floats, so sums are exact. A price of $0.0375 per
 * million tokens is 37,500 pico-dollars per token.
 */

import { promptTokens } from './chat.ts';
import type { Usage } from './chat.ts';
import type { Pricing } from './config.ts';

const digits = 12;
const pattern = /^(\d+)(?:\.(\d+))?$/;

/** Dollars as text → pico-dollars: `"0.00000125"` → `1250000n`. Undefined where the text is not a plain decimal, or is finer than 10^-12 dollar. */
export function parseDollars(text: string): bigint | undefined {
  const match = pattern.exec(text);
  if (match === null) return undefined;
  const [, whole = '0', fraction = ''] = match;
  const trimmed = fraction.replace(/0+$/, '');
  if (trimmed.length > digits) return undefined;
  return BigInt(whole + trimmed.padEnd(digits, '0'));
}

/** Pico-dollars → dollars as text, without zeros at the end: `1250000n` → `"0.00000125"`. */
export function formatDollars(pico: bigint): string {
  const text = (pico < 0n ? -pico : pico).toString().padStart(digits + 1, '0');
  const fraction = text.slice(-digits).replace(/0+$/, '');
  return `${pico < 0n ? '-' : ''}${text.slice(0, -digits)}${fraction === '' ? '' : `.${fraction}`}`;
}

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

/** The prices of a request with these counts: those of the highest tier that its prompt reaches. */
export function pricesFor(usage: Usage, pricing: Pricing): Pricing {
  const { tiers, ...base } = pricing;
  if (tiers === undefined) return pricing;
  const tokens = promptTokens(usage) ?? 0;
  const reached = tiers.filter(({ above }) => tokens > above).toSorted((a, b) => b.above - a.above)[0];
  if (reached === undefined) return base;
  const { above: _, ...prices } = reached;
  return { ...base, ...prices };
}

/**
 * The cost of token counts in 10^-12 dollar; null where it is not known. Each token is counted once: cached tokens, tokens written
 * to a cache and reasoning tokens cost their own price where there is one, else the price of prompt or completion tokens.
 */
export function costOf(usage: Usage, listed: Pricing): bigint | null {
  const pricing = pricesFor(usage, listed);
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
