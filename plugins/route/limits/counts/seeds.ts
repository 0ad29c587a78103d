/** Gives Redis the sums of budgets from the log. Redis lacks them if it is new, has lost them, or a period has begun. */
import type { SharedRedis } from '../../../../core/host/redis.ts';
import { nameOfPeriod, unreadOf } from '../ledger.ts';
import type { BudgetPeriod, Level, Spent, Subject } from '../ledger.ts';
import type { MemoryLedger } from './memory.ts';
import { valuesPerCall } from './missed.ts';
import { aliveKey, expiryOf, spentKey } from './redis-keys.ts';
import { atLeastScript } from './scripts.ts';

/** The spending of a budget in the log now; null: it cannot be read. */
export type ReadSpent = (period: BudgetPeriod) => Promise<bigint | null>;

interface SeedsParts {
  readonly redis: SharedRedis;
  readonly memory: MemoryLedger;
  readonly clock: () => number;
}

export class Seeds {
  readonly #parts: SeedsParts;
  /** Set by the gateway that serves now. */
  read: ReadSpent = async () => null;
  readonly #under = new Map<string, Promise<void>>();

  constructor(parts: SeedsParts) {
    this.#parts = parts;
  }

  /** Sends Redis the sums that these levels lack. */
  async tell(subjects: readonly Subject[], levels: readonly Level[]): Promise<void> {
    await Promise.all(unreadOf(subjects, levels, this.#parts.clock()).map((unread) => this.#once(unread)));
  }

  /** Sends Redis sums of the log. */
  atLeast(sums: readonly Spent[]): void {
    for (let at = 0; at < sums.length; at += valuesPerCall) {
      const some = sums.slice(at, at + valuesPerCall);
      const keys = some.map(({ subject, per, start }) => spentKey(subject, per, start));
      // the client of Redis reports its own failures, and the sums are read again and again
      this.#parts.redis
        .run(
          atLeastScript,
          [aliveKey, ...keys],
          some.flatMap(({ per, start, pico }) => [String(pico), expiryOf(per, start)]),
        )
        .catch(() => {});
    }
  }

  async #once(period: BudgetPeriod): Promise<void> {
    const name = nameOfPeriod(period);
    const telling = this.#under.get(name) ?? this.#tell(period).finally(() => this.#under.delete(name));
    this.#under.set(name, telling);
    await telling;
  }

  async #tell(period: BudgetPeriod): Promise<void> {
    const { redis, memory } = this.#parts;
    const { subject, per, start } = period;
    const read = await this.read(period);
    if (read === null) return;
    // this gateway may know of spending by another gateway that the log does not show yet
    const seen = memory.spent(period) ?? 0n;
    await redis.run(atLeastScript, [aliveKey, spentKey(subject, per, start)], [String(read > seen ? read : seen), expiryOf(per, start)]);
  }
}
