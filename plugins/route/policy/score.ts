/**
 * The score of the strategy `balanced`:
 *
 *   weight × rounded(price × success² × speed)
 *
 * `price`: that of the cheapest beside this one's, each with $0.10 for a million tokens added, so that what is free does not get all.
 * A price that nobody knows is taken as twice that of the cheapest. `success`: the share of recent calls that were answered. `speed`: 1 s
 * beside 1 s and the usual time to the first piece. Each of the three is between 0 and 1. What is not known of a target counts as 1.
 * `rounded`: to 1, 0.84, 0.71, 0.59, 0.5, … (four steps for each half), so that small differences do not count and equals take turns.
 */
import { parseDollars, pricesNow } from '../../../core/money.ts';
import type { Candidate } from '../../../core/pipeline/context.ts';
import type { Observed } from './observed.ts';

/** 10^-12 dollar for four tokens. */
const addedPrice = 4 * 100_000;
const goodMs = 1000;

export interface Score {
  readonly total: number;
  /** The formula with its numbers. */
  text(): string;
}

export function scoresOf(candidates: readonly Candidate[], { stream, observed }: { readonly stream: boolean; readonly observed: Observed }): Score[] {
  const prices = candidates.map(priceOf);
  const cheapest = Math.min(...prices.filter((price) => price !== Infinity), Infinity);
  return candidates.map((candidate, at) => {
    const price = cheapest === Infinity ? 1 : (cheapest + addedPrice) / (known(prices[at] as number, cheapest) + addedPrice);
    const { success, usualMs } = observed.at(candidate, stream);
    const speed = usualMs === null ? 1 : goodMs / (goodMs + usualMs);
    const { weight } = candidate;
    const total = weight * rounded(price * success ** 2 * speed);
    return { total, text: () => `score ${shown(total)} = weight ${shown(weight)} × rounded(price ${shown(price)} × success ${shown(success)}² × speed ${shown(speed)})` };
  });
}

const known = (price: number, cheapest: number): number => (price === Infinity ? 2 * cheapest + addedPrice : price);
const rounded = (product: number): number => 2 ** (Math.round(4 * Math.log2(product)) / 4);
const shown = (number: number): string => String(Number(number.toFixed(3)));

// cost: a mapping's price is parsed once
const prices = new WeakMap<object, number>();

/** What three prompt tokens and one of the answer cost, a usual ratio in chats, in 10^-12 dollar; infinite where a price is not known. */
export function priceOf({ mapping, model }: Candidate): number {
  const pricing = pricesNow(mapping.pricing ?? model.pricing);
  const parsed = prices.get(pricing);
  if (parsed !== undefined) return parsed;
  const input = parseDollars(pricing.prompt ?? '');
  const output = parseDollars(pricing.completion ?? '');
  const price = input === undefined || output === undefined ? Infinity : Number(3n * input + output);
  prices.set(pricing, price);
  return price;
}
