/**
 * Counts traces that were dropped, by reason. The process log says when
 * a reason first occurs, and gives the sums when exports succeed again.
 */
import type { Facts, Logger } from '../../../core/logger.ts';

/** Where exports fail and succeed by turns, the sums are logged once in this time. */
const quietMs = 60_000;

/** The traces of one collector that were dropped. */
export class Losses {
  readonly #logger: Logger;
  readonly #collector: string;
  readonly #counts = new Map<string, number>();
  #quietUntil = 0;

  constructor(logger: Logger, collector: string) {
    this.#logger = logger;
    this.#collector = collector;
  }

  /** Counts dropped traces, and logs the reason where it is new since the last sums; `facts` are logged with it. */
  add(count: number, reason: string, facts: Facts = {}): void {
    const before = this.#counts.get(reason);
    this.#counts.set(reason, (before ?? 0) + count);
    if (before === undefined) this.#logger.warn('traces are dropped', { collector: this.#collector, reason, ...facts });
  }

  /** To be called when an export has succeeded: logs the sums. */
  arrived(): void {
    if (performance.now() >= this.#quietUntil) this.sum('traces are exported again');
  }

  /** Logs the sums under this message, and begins to count at 0. Logs nothing where nothing was dropped. */
  sum(message: string): void {
    if (this.#counts.size === 0) return;
    this.#logger.info(message, { collector: this.#collector, dropped: Object.fromEntries(this.#counts) });
    this.#counts.clear();
    this.#quietUntil = performance.now() + quietMs;
  }
}
