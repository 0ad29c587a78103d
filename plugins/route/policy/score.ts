/**
 * The score of the strategy `balanced`:
 *
 *   weight × rounded(price × success² × speed)
 *
 * `price`: the lowest price divided by this one, each with $0.10 for a million tokens added, so that a free offer does not get all
 * requests. An unknown price counts as twice the lowest. `success`: the share of recent calls that were answered. `speed`: 1 s divided by
 * the sum of 1 s and the usual time to the first piece. Each of the three is between 0 and 1. A factor that is not known counts as 1.
 * `rounded`: to 1, 0.84, 0.71, 0.59, 0.5, … (four steps for each half), so that small differences do not count and equal offers take turns.
 */
import type { Offer } from './offers.ts';
import { successOf, usualMs } from './observed.ts';
import type { Weighed } from './turns.ts';

/** 10^-12 dollar for four tokens. */
const addedPrice = 4 * 100_000;
const goodMs = 1000;

/** An offer with its score as the weight. cost: `why` makes the text only when a dry run asks for it, not for each request. */
class Scored implements Weighed {
  readonly offer: Offer;
  readonly weight: number;
  readonly #price: number;
  readonly #success: number;
  readonly #speed: number;

  constructor(offer: Offer, { price, success, speed }: { price: number; success: number; speed: number }) {
    this.offer = offer;
    this.weight = offer.first.weight * rounded(price * success ** 2 * speed);
    this.#price = price;
    this.#success = success;
    this.#speed = speed;
  }

  get id(): string {
    return this.offer.first.target;
  }

  /** The formula with its numbers. */
  why(): string {
    return `score ${shown(this.weight)} = weight ${shown(this.offer.first.weight)} × rounded(price ${shown(this.#price)} × success ${shown(this.#success)}² × speed ${shown(this.#speed)})`;
  }
}

export function scored(offers: readonly Offer[], stream: boolean): readonly Weighed[] {
  let cheapest = Infinity;
  for (const offer of offers) cheapest = Math.min(cheapest, offer.price());
  return offers.map((offer) => {
    const price = cheapest === Infinity ? 1 : (cheapest + addedPrice) / (known(offer.price(), cheapest) + addedPrice);
    const ms = usualMs(offer.seen, stream);
    // infinite: a request of a policy with the strategy `fastest` is measuring the speed
    const speed = ms === null || ms === Infinity ? 1 : goodMs / (goodMs + ms);
    return new Scored(offer, { price, success: successOf(offer.seen), speed });
  });
}

const known = (price: number, cheapest: number): number => (price === Infinity ? 2 * cheapest + addedPrice : price);
const rounded = (product: number): number => 2 ** (Math.round(4 * Math.log2(product)) / 4);
const shown = (number: number): string => String(Number(number.toFixed(3)));
