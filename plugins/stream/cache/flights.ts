/**
 * Equal requests that run at one time: one of them asks, and the others wait for its answer. Where the one that asks fails, or its
 * client leaves, the next one asks.
 */
import type { Entry } from './entry.ts';

/** What a request that waited gets: an answer, or `ask`. */
export type Turn = Entry | 'ask';

/** Why there is no answer for those who wait. */
export type Miss = 'failed' | 'left';

/** A request on its way through the cache. */
export interface Traveller {
  readonly key: string;
  /** The flight in which the traveller asks for all that wait under its key; null: it does not ask for others. */
  leads: Flight | null;
  /** Ends its wait; null: it waits for nobody. */
  resolve: ((turn: Turn) => void) | null;
}

/** safety: after so many failures in a row everybody asks for himself, so that nobody waits for a row of slow failures. */
const mostFailures = 2;

interface Flight {
  /** In the order of their arrival. */
  readonly waiting: Traveller[];
  failures: number;
  /** The one that asks wants a new answer, whatever is kept. */
  renews: boolean;
}

/** The flights of one process, by key. They outlive a reload: requests of the old gateway and of the new one wait for each other. */
export class Flights {
  readonly #flights = new Map<string, Flight>();

  /** The traveller asks, unless somebody asks under its key already. */
  lead(traveller: Traveller, renews: boolean): boolean {
    const { key } = traveller;
    if (this.#flights.has(key)) return false;
    traveller.leads = { waiting: [], failures: 0, renews };
    this.#flights.set(key, traveller.leads);
    return true;
  }

  /** Whether the one that asks under this key would ask although there is a kept answer. */
  renews(key: string): boolean {
    return this.#flights.get(key)?.renews === true;
  }

  /** Resolves when it is this traveller's turn. */
  wait(traveller: Traveller): Promise<Turn> {
    return new Promise((resolve) => {
      const flight = this.#flights.get(traveller.key);
      if (flight === undefined) return resolve('ask');
      traveller.resolve = resolve;
      flight.waiting.push(traveller);
    });
  }

  /** The traveller waits no more; its turn is to ask, for itself. */
  leave(traveller: Traveller): void {
    if (traveller.resolve === null) return;
    const { waiting = [] } = this.#flights.get(traveller.key) ?? {};
    const at = waiting.indexOf(traveller);
    if (at >= 0) waiting.splice(at, 1);
    call(traveller, 'ask');
  }

  /** What came of the traveller that asked. All that wait get its answer; where there is none, the first of them asks. */
  end(leader: Traveller, result: Entry | Miss): void {
    const flight = leader.leads;
    if (flight === null) return;
    leader.leads = null;
    if (result === 'failed') flight.failures++;
    const isPassedOn = result === 'left' || (result === 'failed' && flight.failures < mostFailures);
    const next = isPassedOn ? flight.waiting.shift() : undefined;
    if (next === undefined) {
      this.#flights.delete(leader.key);
      for (const traveller of flight.waiting) call(traveller, typeof result === 'string' ? 'ask' : result);
      return;
    }
    // safety: it leads from this moment on, and not from when its promise is looked at: its client may have left by then
    next.leads = flight;
    flight.renews = false;
    call(next, 'ask');
  }
}

function call(traveller: Traveller, turn: Turn): void {
  traveller.resolve?.(turn);
  traveller.resolve = null;
}
