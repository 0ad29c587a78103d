/** The sums for the rules: in memory, and of the last minutes only. */
import type { AlertRule } from '../../../core/limits.ts';

/** Sums of requests. `bad`: the requests that the rule is about, failed or slow. `dollars`: their cost. */
export interface Sum {
  requests: number;
  bad: number;
  dollars: number;
}

export const noRequests = (): Sum => ({ requests: 0, bad: 0, dollars: 0 });

export function addTo(sum: Sum, { requests, bad, dollars }: Sum): void {
  sum.requests += requests;
  sum.bad += bad;
  sum.dollars += dollars;
}

/** What is added to one value of one rule. Plain data: a worker sends it to the parent. */
export type Addition = readonly [rule: string, value: string, more: Sum];

/** The parts of a window. The oldest part is dropped as a whole. */
const parts = 60;
/**
 * How many values are kept from one look to the next.
 * safety: callers can make up any number of metadata values, which must neither fill the memory nor keep an alert about another value away.
 */
const mostValues = 1000;

/** The identity of a rule, which a reload does not change, so that its sums go on. */
export const idOf = (rule: AlertRule): string => JSON.stringify(rule);

/** The sums of one value over a window. */
class Window {
  /** The oldest first. */
  readonly #parts: (Sum & { at: number })[] = [];
  readonly #partMs: number;
  readonly #windowMs: number;

  constructor(windowMs: number) {
    this.#windowMs = windowMs;
    this.#partMs = windowMs / parts;
  }

  add(more: Sum, now: number): void {
    const at = Math.floor(now / this.#partMs) * this.#partMs;
    let part = this.#parts.at(-1);
    if (part === undefined || part.at < at) this.#parts.push((part = { at, ...noRequests() }));
    addTo(part, more);
  }

  sum(now: number): Sum {
    while (this.#parts[0] !== undefined && this.#parts[0].at <= now - this.#windowMs) this.#parts.shift();
    const sum = noRequests();
    for (const part of this.#parts) {
      // after the clock was set back, the part would stay until its time comes again, with everything that is added to it
      part.at = Math.min(part.at, now);
      addTo(sum, part);
    }
    return sum;
  }
}

/** The windows of all values of one rule. */
export class RuleSums {
  readonly #windows = new Map<string, Window>();
  readonly #windowMs: number;
  readonly #counts: 'dollars' | 'bad';

  constructor({ windowMs, watches }: AlertRule) {
    this.#windowMs = windowMs;
    this.#counts = watches === 'cost' ? 'dollars' : 'bad';
  }

  add([, value, more]: Addition, now: number): void {
    let window = this.#windows.get(value);
    if (window === undefined) this.#windows.set(value, (window = new Window(this.#windowMs)));
    window.add(more, now);
  }

  /**
   * The sum of each value. A value without requests is reported once more, and then forgotten. Of too many values, those with the
   * lowest cost or the fewest bad requests are forgotten. Each of these is reported as a value without requests, so that its alert ends.
   */
  *sums(now: number): Generator<readonly [value: string, sum: Sum]> {
    const found = Array.from(this.#windows, ([value, window]) => [value, window.sum(now)] as const);
    const counts = this.#counts;
    if (found.length > mostValues) found.sort(([, one], [, other]) => other[counts] - one[counts] || other.requests - one.requests);
    for (const [at, [value, sum]] of found.entries()) {
      const isKept = sum.requests > 0 && at < mostValues;
      if (!isKept) this.#windows.delete(value);
      yield [value, isKept ? sum : noRequests()];
    }
  }
}
