/** Whose turn it is, for each name that requests ask for, and who gets the turn of an offer that rests or has no room. */
import { isCount } from '../../../core/chat.ts';
import { beforeFallbacks, isAnswered } from '../../../core/pipeline/catalogue.ts';
import { stands } from '../../../core/pipeline/context.ts';
import type { Candidate, Normalised } from '../../../core/pipeline/context.ts';
import { markMeasuring } from './observed.ts';
import type { Times } from './observed.ts';
import type { Offer } from './offers.ts';
import { Shares } from './shares.ts';
import type { Sharing, Taken } from './shares.ts';

const mostNames = 20_000;

/** An offer at its position. */
export interface Placed {
  readonly offer: Offer;
  /** Why the offer has this position: for a dry run. */
  why(): string;
}

/** `id` is the id of the first target. */
export interface Weighed extends Placed, Sharing {}

/** The turn of a request, before it is known which of its candidates rest. */
interface Dealt {
  readonly shares: Shares;
  readonly taken: Taken;
  readonly placed: readonly Placed[];
}

export class Turns {
  /** The shares by the name that requests ask for, so that each name spreads its own requests evenly. */
  readonly #shares = new Map<string, Shares>();
  /**
   * The state by context, from one tap of `route` to another.
   * cost: a WeakMap costs the collector more than a Map from which each request is removed.
   */
  readonly #dealt = new Map<object, Dealt>();
  /** Speeds that a request is to measure, by context, and when they were marked; kept until the request is certain to ask a provider. */
  readonly #measuring = new Map<object, { readonly times: Times; readonly at: number }>();

  /** The offers, in the order of a turn in which each offer gets its share. */
  deal(weighed: readonly Weighed[], context: Normalised): readonly Placed[] {
    const { isDryRun, request } = context;
    const shares = this.#sharesOf(request.model);
    // a client may count the tokens of each message before it sends it: then all messages would go to every second offer
    const isPeek = isDryRun || isCount(request);
    const { order, taken } = shares.turn(weighed, isPeek);
    if (!isDryRun) {
      if (!isPeek) this.#dealt.set(context, { shares, taken, placed: order });
      return order;
    }
    const all = weighed.reduce((sum, { weight }) => sum + weight, 0);
    const condition = order.length > 1 ? ' while no target rests' : '';
    return order.map((one) => ({
      offer: one.offer,
      why: () => `${one.why()}, so ${Math.round((100 * one.weight) / all)} % of the requests begin here${condition}`,
    }));
  }

  /** Makes this request the one that measures the speed of an offer. */
  measure({ seen }: Offer, context: Normalised): void {
    const times = markMeasuring(seen, context.request.stream);
    this.#measuring.set(context, { times, at: times.at });
  }

  /**
   * If the offer that has the turn was ruled out since, or put behind all others, the offer that is asked instead gets the turn.
   * Without this, the next offer in the list would get the share of each offer that rests. If a cache has the answer, no offer is
   * left, or a session has a target of its own, nobody gets the turn: an offer that lost its turn without being asked would get
   * fewer of the other requests.
   */
  passOn(candidates: readonly Candidate[], context: object): void {
    const isKept = isAnswered(candidates);
    if (!isKept) this.#measuring.delete(context);
    const dealt = this.#dealt.get(context);
    if (dealt === undefined) return;
    this.#dealt.delete(context);
    const { shares, taken, placed } = dealt;
    if (isKept) return shares.undo(taken);
    const asked = beforeFallbacks(candidates)[0]?.mapping;
    if (asked === placed[0]?.offer.first.mapping) return;
    const standing = new Set<unknown>();
    for (const candidate of candidates) if (stands(candidate) && candidate.isBehind !== true) standing.add(candidate.mapping);
    const to = placed.findIndex(({ offer }) => standing.has(offer.first.mapping));
    // a session has another target than the one to which the turn would go
    if (to < 0 || placed[to]?.offer.first.mapping !== asked) return shares.undo(taken);
    shares.passOn(taken, to, (at) => standing.has(placed[at]?.offer.first.mapping));
  }

  /** Called when the request is over. If it ended between the two taps of `route`, the next request gets its turn and its measurement. */
  forget(context: object): void {
    const dealt = this.#dealt.get(context);
    this.#dealt.delete(context);
    dealt?.shares.undo(dealt.taken);
    const measuring = this.#measuring.get(context);
    this.#measuring.delete(context);
    if (measuring !== undefined && measuring.times.at === measuring.at) measuring.times.at = -Infinity;
  }

  #sharesOf(name: string): Shares {
    const own = this.#shares.get(name) ?? new Shares();
    // safety: callers choose the names behind a wildcard
    if (this.#shares.size > mostNames) this.#shares.clear();
    this.#shares.set(name, own);
    return own;
  }
}
