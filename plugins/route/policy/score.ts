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
import type { Offer } from './offers.ts';
import { successOf, usualMs } from './observed.ts';

/** 10^-12 dollar for four tokens. */
const addedPrice = 4 * 100_000;
const goodMs = 1000;

export interface Score {
  readonly total: number;
  /** The formula with its numbers. */
  text(): string;
}

export function scoresOf(offers: readonly Offer[], stream: boolean): Score[] {
  const prices = offers.map((offer) => offer.price());
  const cheapest = Math.min(...prices.filter((price) => price !== Infinity), Infinity);
  return offers.map(({ first: { weight }, seen }, at) => {
    const price = cheapest === Infinity ? 1 : (cheapest + addedPrice) / (known(prices[at] as number, cheapest) + addedPrice);
    const success = successOf(seen);
    const ms = usualMs(seen, stream);
    // infinite: the policy of another name measures it at present
    const speed = ms === null || ms === Infinity ? 1 : goodMs / (goodMs + ms);
    const total = weight * rounded(price * success ** 2 * speed);
    return { total, text: () => `score ${shown(total)} = weight ${shown(weight)} × rounded(price ${shown(price)} × success ${shown(success)}² × speed ${shown(speed)})` };
  });
}

const known = (price: number, cheapest: number): number => (price === Infinity ? 2 * cheapest + addedPrice : price);
const rounded = (product: number): number => 2 ** (Math.round(4 * Math.log2(product)) / 4);
const shown = (number: number): string => String(Number(number.toFixed(3)));
