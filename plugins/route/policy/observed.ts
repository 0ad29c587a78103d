/** The results of recent attempts at each offer: how many were answered, and how soon. Learned at `attempted`; they outlive a reload. */
import { retryableCodes } from '../../../core/errors.ts';
import type { AttemptResult, Candidate } from '../../../core/pipeline/context.ts';

/** How much of the average each new time is. */
const share = 0.2;
/** Each call lessens the weight of the calls before it by this factor: about the last fifty count. */
const memory = 0.98;
/** An older time is measured again. */
const freshMs = 60_000;
/** The score before the first calls, as if two calls had been answered. */
const trusted = 2;

const mostSeen = 20_000;

export interface Times {
  ms: number | null;
  /** `performance.now()` of the last answer, or of the request that is to measure. */
  at: number;
}

export interface Seen {
  calls: number;
  answered: number;
  /** Streams begin with their first piece, plain answers with their last. */
  readonly plain: Times;
  readonly stream: Times;
}

export class Observed {
  readonly #seen = new Map<string, Seen>();
  // cost: the key of an offer is not concatenated for each request
  readonly #known = new WeakMap<Candidate['mapping'], Seen>();

  learn({ outcome, durationMs, timeToFirstTokenMs }: AttemptResult, { mapping }: Candidate, stream: boolean): void {
    const isAnswer = outcome === 'answered';
    // the caller's own faults say nothing about the provider
    if (!isAnswer && !retryableCodes.has(outcome)) return;
    const seen = this.of(mapping);
    seen.calls = seen.calls * memory + 1;
    seen.answered = seen.answered * memory + (isAnswer ? 1 : 0);
    if (!isAnswer) return;
    const times = timesOf(seen, stream);
    const ms = stream ? (timeToFirstTokenMs ?? durationMs) : durationMs;
    const before = times.ms ?? Infinity;
    times.ms = before === Infinity ? ms : before + share * (ms - before);
    times.at = performance.now();
  }

  of(mapping: Candidate['mapping']): Seen {
    const known = this.#known.get(mapping);
    if (known !== undefined) return known;
    const name = `${mapping.providerId}/${mapping.externalId}`;
    const seen = this.#seen.get(name) ?? { calls: 0, answered: 0, plain: { ms: null, at: 0 }, stream: { ms: null, at: 0 } };
    // safety: callers choose the names behind a wildcard
    if (this.#seen.size >= mostSeen) this.#seen.clear();
    this.#seen.set(name, seen);
    this.#known.set(mapping, seen);
    return seen;
  }
}

/** The share of the recent calls that were answered, from 0 to 1. */
export const successOf = ({ answered, calls }: Seen): number => (answered + trusted) / (calls + trusted);

/** Milliseconds until an answer usually begins; null where nothing recent is known. */
export function usualMs(seen: Seen, stream: boolean): number | null {
  const { ms, at } = timesOf(seen, stream);
  return ms === null || performance.now() - at > freshMs ? null : ms;
}

/** Notes that a request is measuring the time; until it has, the known time counts. */
export function markMeasuring(seen: Seen, stream: boolean): Times {
  const times = timesOf(seen, stream);
  times.at = performance.now();
  times.ms ??= Infinity;
  return times;
}

const timesOf = (seen: Seen, stream: boolean): Times => (stream ? seen.stream : seen.plain);
