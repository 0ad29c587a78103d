/**
 * Equal requests that run at one time: one of them asks the provider, and the others wait for its answer. If the request that asks fails,
 * or its client leaves, the next one asks.
 */
import type { Entry } from './entry.ts';

/** What a waiting request gets: an answer, or `ask`, which means that it must ask the provider itself. */
export type Turn = Entry | 'ask';

/** Why there is no answer for the waiting requests. */
type Miss = 'failed' | 'left';

/** A request that uses the cache. */
export interface Traveller {
  readonly key: string;
  /** The flight for which this request asks, so that all others under its key wait; null: it asks for no flight. */
  leads: Flight | null;
  /** The flight for whose answer this request waits, and what ends the wait; null: it does not wait. */
  waits: { readonly flight: Flight; readonly resolve: (turn: Turn) => void } | null;
}

/** safety: after this many failures in a row, each request asks for itself, so that none waits for a series of slow failures. */
const mostFailures = 2;

interface Flight {
  /** The waiting requests, in the order of their arrival. */
  readonly waiting: Traveller[];
  failures: number;
  /** True: the request that asks wants a new answer, even if one is kept. */
  renews: boolean;
  /** The older flight that this flight replaced, and the newer one that replaced this flight; null: no such flight is under way. */
  former: Flight | null;
  later: Flight | null;
  /** True: a newer answer is kept, so the answer of this flight is not kept. */
  isOutdated: boolean;
}

/** The flights of one process, by key. They outlive a reload: requests of the old gateway and of the new one wait for each other. */
export class Flights {
  readonly #flights = new Map<string, Flight>();

  /**
   * Makes this request the one that asks, unless another request already asks under its key. A request
   * for a new answer takes the place of the request that asks: requests that come later get the new answer.
   */
  lead(traveller: Traveller, renews: boolean): boolean {
    const { key } = traveller;
    const former = this.#flights.get(key) ?? null;
    if (former !== null && !renews) return false;
    const flight: Flight = { waiting: [], failures: 0, renews, former, later: null, isOutdated: false };
    if (former !== null) former.later = flight;
    traveller.leads = flight;
    this.#flights.set(key, flight);
    return true;
  }

  /** Called when the answer of this request is kept: an older request that is still answered must not replace it. */
  kept({ leads }: Traveller): void {
    for (let former = leads?.former ?? null; former !== null; former = former.former) former.isOutdated = true;
  }

  /** Whether the request that asks under this key wants a new answer, even if one is kept. */
  renews(key: string): boolean {
    return this.#flights.get(key)?.renews === true;
  }

  /** Resolves when it is this request's turn. */
  wait(traveller: Traveller): Promise<Turn> {
    return new Promise((resolve) => {
      const flight = this.#flights.get(traveller.key);
      if (flight === undefined) return resolve('ask');
      traveller.waits = { flight, resolve };
      flight.waiting.push(traveller);
    });
  }

  /** Ends the wait of this request, which then asks for itself. */
  leave(traveller: Traveller): void {
    if (traveller.waits === null) return;
    const { waiting } = traveller.waits.flight;
    const at = waiting.indexOf(traveller);
    if (at >= 0) waiting.splice(at, 1);
    call(traveller, 'ask');
  }

  /** Ends the flight of a request that asked. All waiting requests get its answer; without one, the first of them asks. */
  end(leader: Traveller, result: Entry | Miss): void {
    const flight = leader.leads;
    if (flight === null) return;
    leader.leads = null;
    if (result === 'failed') flight.failures++;
    const isPassedOn = result === 'left' || (result === 'failed' && flight.failures < mostFailures);
    const next = isPassedOn ? flight.waiting.shift() : undefined;
    if (next === undefined) {
      this.#land(leader.key, flight);
      for (const traveller of flight.waiting) call(traveller, typeof result === 'string' ? 'ask' : result);
      return;
    }
    // safety: the next request leads from this moment on, and not from the
    // moment when its promise is handled: its client may have left by then
    next.leads = flight;
    flight.renews = false;
    call(next, 'ask');
  }

  /** Removes an ended flight. If its answer was not kept, later requests wait again for the older flight that it replaced. */
  #land(key: string, flight: Flight): void {
    const { former, later } = flight;
    if (former !== null) former.later = later;
    if (later !== null) later.former = former;
    if (this.#flights.get(key) !== flight) return;
    if (former === null || former.isOutdated) this.#flights.delete(key);
    else this.#flights.set(key, former);
  }
}

function call(traveller: Traveller, turn: Turn): void {
  traveller.waits?.resolve(turn);
  traveller.waits = null;
}
