/** What was not exported, by reason. Of each reason the first is said at once, and the sum when exports arrive again. */
import type { Facts, Logger } from '../../../core/logger.ts';

/** Where losses and arrivals take turns, they are told once in this time. */
const quietMs = 60_000;

export class Losses {
  readonly #logger: Logger;
  readonly #collector: string;
  readonly #counts = new Map<string, number>();
  #quietUntil = 0;

  constructor(logger: Logger, collector: string) {
    this.#logger = logger;
    this.#collector = collector;
  }

  add(count: number, reason: string, facts: Facts = {}): void {
    const before = this.#counts.get(reason);
    this.#counts.set(reason, (before ?? 0) + count);
    if (before === undefined) this.#logger.warn('traces are dropped', { collector: this.#collector, reason, ...facts });
  }

  arrived(): void {
    if (performance.now() >= this.#quietUntil) this.sum('traces are exported again');
  }

  sum(message: string): void {
    if (this.#counts.size === 0) return;
    this.#logger.info(message, { collector: this.#collector, dropped: Object.fromEntries(this.#counts) });
    this.#counts.clear();
    this.#quietUntil = performance.now() + quietMs;
  }
}
