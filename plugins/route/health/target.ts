/**
 * The state of one target (a provider with one of its keys, and the model that it is asked for), or of one key with all its
 * models. A target rests after a rate limit or after failures, a key after it was refused. When the rest is over, one request at a
 * time tries the target, until one succeeds.
 */
import { retryableCodes } from '../../../core/errors.ts';
import type { AttemptResult } from '../../../core/pipeline/context.ts';

/** When a target rests because of failures; null: only limits and refused keys make it rest. */
export type Breaker = { readonly failures: number; readonly restMs: number } | null;

/**
 * Outcomes that speak against a key. Other failures of the provider speak against
 * the target; all other outcomes are the caller's, the gateway's or the client's.
 */
const keyFaults: ReadonlySet<string> = new Set(['upstream_auth_error', 'upstream_quota_exhausted']);
export const isOfKey = (outcome: string): boolean => keyFaults.has(outcome);

const keyRestMs = 60_000;
const limitRestMs = { first: 1000, most: 60_000, told: 600_000 };
export const mostRestMs = 60_000;
const windowSeconds = 30;
const busySeconds = 10;
/** From this many calls in the window on, the share of failures counts. With so many in 10 s, a rest needs twice the failures in a row. */
const manyCalls = 20;

/** Why a target rests. */
type Why = 'rate limit' | 'failures' | 'refused key';

export type Standing =
  | { readonly is: 'standing' }
  /** The rest of the target is over, and this request is the one that tries it. */
  | { readonly is: 'to be tried'; readonly why: Why }
  | { readonly is: 'tried by another'; readonly why: Why }
  | { readonly is: 'rests'; readonly ms: number; readonly why: Why };

/** The request that tries a target, and what it does now: it asks another target, it waits for this target, or this target answers it. */
export interface Probe {
  readonly id: string;
  is(): 'elsewhere' | 'waiting' | 'answered';
}

/** An attempt, and what is known about its request. */
interface Learning {
  readonly request: string;
  readonly now: number;
  readonly breaker: Breaker;
  /**
   * The request had no other available target: then the target rests only after more failures, because a flaky target is not a dead one.
   */
  readonly isAlone: boolean;
  /** When the attempt began. An attempt that began before the present rest says nothing new about the target. */
  readonly startedAt?: number;
  /** Another worker reported the outcome, and counts the rest. */
  readonly isHeard?: boolean;
}

export const available: Standing = { is: 'standing' };

export class Target {
  /** Why the target rests, or must be tried; null: it is available. */
  #why: Why | null = null;
  readonly #fallen: Set<Target>;
  #restFrom = 0;
  #restUntil = 0;
  /** The length of the last rest; a rest that follows it is twice as long. */
  #restMs = 0;
  /** The request that tries the target after a rest. */
  #probe: Probe | null = null;
  #inRow = 0;
  /** How often it rested, by the reason, and how often a request tried it after a rest. */
  readonly rests: Record<Why, number> = { 'rate limit': 0, failures: 0, 'refused key': 0 };
  probes = 0;
  /** Calls and failures of each of the last seconds. */
  readonly #seconds: { at: number; calls: number; failures: number }[] = [];

  /** @param fallen a set that holds this target while it is not available */
  constructor(fallen: Set<Target>) {
    this.#fallen = fallen;
  }

  /** True: the target does not rest, and need not be tried. */
  get stands(): boolean {
    return this.#why === null;
  }

  get isRefused(): boolean {
    return this.#why === 'refused key';
  }

  /** Whether this request may ask the target now. Where the rest is over and no request tries the target, this request may `claim` it. */
  standing(request: string, now: number): Standing {
    if (this.#why === null) return available;
    if (now < this.#restUntil) return { is: 'rests', ms: this.#restUntil - now, why: this.#why };
    const found = this.#probe === null || this.#probe.id === request ? 'elsewhere' : this.#probe.is();
    // a target that has begun to answer is alive, and its answer may take long; if the answer breaks, the target rests again
    if (found === 'answered') return available;
    return { is: found === 'elsewhere' ? 'to be tried' : 'tried by another', why: this.#why };
  }

  /** Makes this request the one that tries the target. */
  claim(request: string, is: Probe['is'] = () => 'waiting'): void {
    this.#probe = { id: request, is };
  }

  /** The request is over: if it was to try the target and did not, another request may. */
  release(request: string): void {
    if (this.#probe?.id === request) this.#probe = null;
  }

  /** Learns from the outcome of an attempt. */
  learn(
    { outcome, retryAfterMs }: Pick<AttemptResult, 'outcome' | 'retryAfterMs'>,
    { request, now, breaker, isAlone, startedAt = now, isHeard = false }: Learning,
  ): void {
    if (this.#probe?.id === request) this.probes++;
    this.release(request);
    const isOld = this.wasUnderWay(startedAt);
    if (outcome === 'answered') return this.#succeeded(now, isOld);
    if (isOfKey(outcome)) return this.refuseKey(now, isHeard);
    if (outcome === 'upstream_rate_limited') {
      if (retryAfterMs !== null) this.#rest('rate limit', { ms: Math.min(retryAfterMs, limitRestMs.told), now, isHeard });
      else if (!isOld && !this.#isResting(now)) {
        this.#rest('rate limit', { ms: this.#longer('rate limit', limitRestMs.first, limitRestMs.most), now, isHeard });
      }
      return;
    }
    if (!retryableCodes.has(outcome) || breaker === null) return;
    this.#count(now, true);
    if (isOld) return;
    this.#inRow++;
    if (this.#why === 'failures' || this.#isBroken(now, breaker, isAlone)) {
      this.#rest('failures', { ms: this.#longer('failures', breaker.restMs, mostRestMs), now });
    }
  }

  /** Whether an attempt was running when the rest began. */
  wasUnderWay(startedAt: number): boolean {
    return this.#why !== null && startedAt < this.#restFrom;
  }

  /** The provider refused the key, or the account is empty. */
  refuseKey(now: number, isHeard = false): void {
    this.#rest('refused key', { ms: keyRestMs, now, isHeard });
  }

  /** Ends the rest of the target. */
  wake(): void {
    this.#why = null;
    this.#fallen.delete(this);
    this.#restMs = 0;
    this.#probe = null;
    this.#inRow = 0;
    this.#seconds.length = 0;
  }

  /** Any answer ends a rest after failures, because the target is not dead. Other rests end only with an answer to a newer attempt. */
  #succeeded(now: number, isOld: boolean): void {
    if (this.#why === 'failures' || (this.#why !== null && !isOld)) this.wake();
    this.#inRow = 0;
    this.#count(now, false);
  }

  /** Twice the last rest, if that was for the same reason. */
  #longer(why: Why, first: number, most: number): number {
    return this.#why === why ? Math.max(first, Math.min(most, this.#restMs * 2)) : first;
  }

  #isResting(now: number): boolean {
    return this.#why !== null && now < this.#restUntil;
  }

  #rest(why: Why, { ms, now, isHeard = false }: { ms: number; now: number; isHeard?: boolean }): void {
    // results of requests that were running when the rest began do not make it longer
    const isResting = this.#isResting(now);
    if (isResting && now + ms <= this.#restUntil) return;
    if (isResting && why === 'failures') return;
    // a rest that becomes longer is still the same rest
    if (!isHeard && !(isResting && this.#why === why)) this.rests[why]++;
    this.#why = why;
    this.#fallen.add(this);
    this.#restMs = ms;
    this.#restFrom = now;
    this.#restUntil = now + ms;
  }

  #count(now: number, isFailure: boolean): void {
    const at = Math.floor(now / 1000);
    let last = this.#seconds.at(-1);
    if (last?.at !== at) {
      last = { at, calls: 0, failures: 0 };
      this.#seconds.push(last);
      while ((this.#seconds[0]?.at ?? at) <= at - windowSeconds) this.#seconds.shift();
    }
    last.calls++;
    if (isFailure) last.failures++;
  }

  /** Calls and failures of the last 30 s, or of a shorter time. */
  recent(now: number, seconds = windowSeconds): { readonly calls: number; readonly failures: number } {
    const from = Math.floor(now / 1000) - seconds;
    const within = this.#seconds.filter(({ at }) => at > from);
    return { calls: within.reduce((sum, { calls }) => sum + calls, 0), failures: within.reduce((sum, { failures }) => sum + failures, 0) };
  }

  #isBroken(now: number, { failures: most }: { failures: number }, isAlone: boolean): boolean {
    const isBusy = this.recent(now, busySeconds).calls >= manyCalls;
    if (this.#inRow >= (isAlone || isBusy ? most * 2 : most)) return true;
    const { calls, failures } = this.recent(now);
    return calls >= manyCalls && failures * 2 >= calls;
  }
}
