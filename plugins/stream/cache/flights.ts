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
  /** The traveller asks for all that wait under its key. */
  leads: boolean;
}

interface Waiting {
  readonly traveller: Traveller;
  readonly resolve: (turn: Turn) => void;
}

/** safety: after so many failures in a row everybody asks for himself, so that nobody waits for a row of slow failures. */
const mostFailures = 2;

interface Flight {
  /** In the order of their arrival. */
  readonly waiting: Waiting[];
  failures: number;
  /** The one that asks wants a new answer, whatever is kept. */
  renews: boolean;
}

/** The flights of one process, by key. They outlive a reload: requests of the old gateway and of the new one wait for each other. */
export class Flights {
  readonly #flights = new Map<string, Flight>();

  /** The traveller asks, unless somebody asks under this key already. */
  lead(key: string, traveller: Traveller, renews: boolean): boolean {
    if (this.#flights.has(key)) return false;
    this.#flights.set(key, { waiting: [], failures: 0, renews });
    traveller.leads = true;
    return true;
  }

  /** Whether the one that asks under this key would ask although there is a kept answer. */
  renews(key: string): boolean {
    return this.#flights.get(key)?.renews === true;
  }

  /** Resolves when it is this traveller's turn. */
  wait(key: string, traveller: Traveller): Promise<Turn> {
    return new Promise((resolve) => {
      const flight = this.#flights.get(key);
      if (flight === undefined) resolve('ask');
      else flight.waiting.push({ traveller, resolve });
    });
  }

  /** The traveller waits no more; its turn is to ask, for itself. */
  leave(key: string, traveller: Traveller): void {
    const { waiting = [] } = this.#flights.get(key) ?? {};
    const at = waiting.findIndex((one) => one.traveller === traveller);
    if (at >= 0) waiting.splice(at, 1)[0]?.resolve('ask');
  }

  /** What came of the traveller that asked. All that wait get its answer; where there is none, the first of them asks. */
  end(key: string, leader: Traveller, result: Entry | Miss): void {
    const flight = this.#flights.get(key);
    if (!leader.leads || flight === undefined) return;
    leader.leads = false;
    if (result === 'failed') flight.failures++;
    const isPassedOn = result === 'left' || (result === 'failed' && flight.failures < mostFailures);
    const next = isPassedOn ? flight.waiting.shift() : undefined;
    if (next === undefined) {
      this.#flights.delete(key);
      for (const { resolve } of flight.waiting) resolve(typeof result === 'string' ? 'ask' : result);
      return;
    }
    // safety: it leads from this moment on, and not from when its promise is looked at: its client may have left by then
    next.traveller.leads = true;
    flight.renews = false;
    next.resolve('ask');
  }
}
