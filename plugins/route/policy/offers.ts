/** The offers among the candidates of a request: one provider's offer of one model, with all of its keys. */
import { price, pricesNow } from '../../../core/money.ts';
import type { Pricing } from '../../../core/config.ts';
import type { Candidate } from '../../../core/pipeline/context.ts';
import type { Observed, Seen } from './observed.ts';

export interface Offer {
  readonly first: Candidate;
  /** One for each of the provider's keys, in their order. */
  readonly candidates: readonly Candidate[];
  readonly seen: Seen;
  /**
   * What three prompt tokens and one of the answer cost now, a usual ratio in chats, in 10^-12 dollar; infinite where a price is not known.
   */
  price(): number;
}

interface Found {
  readonly among: readonly Candidate[];
  readonly offers: readonly Offer[];
}

/**
 * cost: a model mostly has the same candidates for each request, and their offers are
 * cached. Thousands of offers are in no CPU cache: finding them one by one takes 2 µs.
 */
export class Offers {
  readonly #observed: Observed;
  /** The offers by the first of the candidates. */
  readonly #found = new WeakMap<Candidate, Found>();

  constructor(observed: Observed) {
    this.#observed = observed;
  }

  /** @param standing the candidates of the config, which are the same objects for all requests */
  among(standing: readonly Candidate[]): readonly Offer[] {
    const [first] = standing;
    if (first === undefined) return [];
    const found = this.#found.get(first);
    if (found !== undefined && areSame(found.among, standing)) return found.offers;
    const offers = this.#offersOf(standing);
    this.#found.set(first, { among: standing, offers });
    return offers;
  }

  #offersOf(standing: readonly Candidate[]): readonly Offer[] {
    const groups: Candidate[][] = [];
    for (const candidate of standing) {
      const last = groups.at(-1);
      if (last?.[0]?.mapping === candidate.mapping) last.push(candidate);
      else groups.push([candidate]);
    }
    return groups.map((candidates) => {
      const first = candidates[0] as Candidate;
      const pricing = first.mapping.pricing ?? first.model.pricing;
      const usual = priceOf(pricing);
      return {
        first,
        candidates,
        seen: this.#observed.of(first.mapping),
        price: pricing.peak === undefined ? () => usual : () => priceOf(pricesNow(pricing)),
      };
    });
  }
}

function areSame(one: readonly Candidate[], other: readonly Candidate[]): boolean {
  if (one.length !== other.length) return false;
  for (let at = 0; at < one.length; at++) if (one[at] !== other[at]) return false;
  return true;
}

function priceOf(pricing: Pricing): number {
  const prompt = price(pricing.prompt);
  const completion = price(pricing.completion);
  return prompt === null || completion === null ? Infinity : Number(3n * prompt + completion);
}
