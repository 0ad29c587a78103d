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
import type { Weighed } from './turns.ts';

/** 10^-12 dollar for four tokens. */
const addedPrice = 4 * 100_000;
const goodMs = 1000;

/** An offer with its score as the weight. cost: a text for each offer would be made for each request, and only a dry run reads it. */
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
    // infinite: the policy of another name measures it at present
    const speed = ms === null || ms === Infinity ? 1 : goodMs / (goodMs + ms);
    return new Scored(offer, { price, success: successOf(offer.seen), speed });
  });
}

const known = (price: number, cheapest: number): number => (price === Infinity ? 2 * cheapest + addedPrice : price);
const rounded = (product: number): number => 2 ** (Math.round(4 * Math.log2(product)) / 4);
const shown = (number: number): string => String(Number(number.toFixed(3)));
