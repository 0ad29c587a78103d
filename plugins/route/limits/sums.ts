/**
 * The money that was spent before this process began to count, from the request log. The log has every request
 * with its cost, so the sums outlive the process, however it ended, and agree with the log to the last digit.
 */
import type { Budget } from '../../../core/limits.ts';
import { mostRows } from '../../../core/log/store.ts';
import type { LogAccess, LogReader } from '../../../core/log/store.ts';
import type { Logger } from '../../../core/logger.ts';
import { parseDollars } from '../../../core/money.ts';
import { within } from '../../../core/cancellation.ts';
import { nameOfPeriod, periodOf } from './ledger.ts';
import type { BudgetPeriod } from './ledger.ts';

/** One kind of budget: its `by`, and its period. */
export interface Kind {
  readonly by: string;
  readonly per: Budget['per'];
}

/** Sums of one period, by value. An absent value has spent nothing, unless there were too many values to read. */
interface Read {
  readonly start: number;
  readonly spent: ReadonlyMap<string, bigint>;
  readonly isWhole: boolean;
}

interface SumsParts {
  readonly log: LogAccess;
  readonly logger: Logger;
  readonly clock: () => number;
  /**
   * The logs of all gateways of this process: during a reload of the config, the former gateway still has records that cannot be read yet.
   */
  readonly readers: Set<LogReader>;
}

const tryAgainMs = { first: 200, most: 5000 };

export class Sums {
  readonly #parts: SumsParts;
  #kinds: readonly Kind[];
  readonly #read = new Map<string, Read>();
  /** Values that were read one by one: the sums of their periods, by the id of the value. */
  readonly #single = new Map<string, Map<string, bigint>>();
  /** Values whose sums are no longer valid, each with the number of its last change. */
  readonly #stale = new Map<string, number>();
  #changes = 0;
  readonly #asking = new Map<string, Promise<void>>();
  /** When this process began to count, in epoch milliseconds: later periods begin at 0. */
  readonly #since: number;
  #isClosed = false;

  constructor(kinds: readonly Kind[], parts: SumsParts, since: number) {
    this.#kinds = kinds;
    this.#parts = parts;
    this.#since = since;
  }

  /**
   * Called when some keys have other budgets. The spending of a key is read again at its next request: a key without a
   * budget was not counted, and the sums that were read are up to a minute old.
   */
  watch(kinds: readonly Kind[], keys: readonly string[]): void {
    this.#kinds = kinds;
    for (const key of keys) {
      this.#stale.set(`key ${key}`, ++this.#changes);
      this.#single.delete(`key ${key}`);
    }
  }

  /** Null: not known yet. */
  spentBefore(period: BudgetPeriod): bigint | null {
    if (this.#parts.log.reader() === null) return 0n;
    const { subject, per, start } = period;
    const single = this.#single.get(subject.id)?.get(nameOfPeriod(period)) ?? null;
    if (this.#stale.has(subject.id)) return single;
    if (start > this.#since) return 0n;
    const read = this.#read.get(nameOf({ by: subject.by, per }));
    if (read === undefined || read.start !== start) return single;
    return read.spent.get(subject.value) ?? single ?? (read.isWhole ? 0n : null);
  }

  /** Reads all sums, and goes on trying in the background where the log cannot be read within this time. */
  async open(withinMs: number): Promise<void> {
    if (this.#kinds.length === 0 || this.#parts.log.reader() === null) return;
    const read = this.#readAll();
    const isRead = await within(
      read.then(() => true),
      withinMs,
      false,
    );
    if (!isRead) {
      this.#parts.logger.warn(
        'what was spent of the budgets cannot be read from the log yet; callers with budgets get 503 until it is read, except those whose sums this gateway or Redis knows',
      );
    }
  }

  async #readAll(): Promise<void> {
    for (let pauseMs = tryAgainMs.first; !this.#isClosed; pauseMs = Math.min(pauseMs * 2, tryAgainMs.most)) {
      try {
        await this.refresh();
        return;
      } catch {
        await new Promise((resolve) => setTimeout(resolve, pauseMs).unref());
      }
    }
  }

  /** Reads all sums again, including those of records that wait to be stored. Rejects where the log cannot be read. */
  async refresh(): Promise<void> {
    const reader = this.#parts.log.reader();
    if (reader === null) return;
    const before = this.#changes;
    await this.#catchUp(reader);
    for (const kind of this.#kinds) this.#read.set(nameOf(kind), await readKind(reader, kind, this.#parts.clock()));
    this.#single.clear();
    // what has changed in the meantime is not in these sums
    for (const [id, change] of this.#stale) if (change <= before) this.#stale.delete(id);
  }

  /** All sums as they were read last. */
  *known(): Generator<{ readonly kind: Kind; readonly start: number; readonly value: string; readonly pico: bigint }> {
    for (const kind of this.#kinds) {
      const read = this.#read.get(nameOf(kind));
      if (read !== undefined) for (const [value, pico] of read.spent) yield { kind, start: read.start, value, pico };
    }
  }

  /** Reads the sum of one value where it is not known. Rejects where the log cannot be read. */
  async readOne(period: BudgetPeriod): Promise<void> {
    const name = nameOfPeriod(period);
    const asking = this.#asking.get(name) ?? this.#askOne(period, name).finally(() => this.#asking.delete(name));
    this.#asking.set(name, asking);
    await asking;
  }

  async #askOne(period: BudgetPeriod, name: string): Promise<void> {
    const { id } = period.subject;
    const change = this.#stale.get(id);
    const spent = await this.fresh(period);
    if (this.#stale.get(id) !== change) return await this.#askOne(period, name);
    if (spent !== null) this.#single.set(id, (this.#single.get(id) ?? new Map<string, bigint>()).set(name, spent));
  }

  /** The present sum of one value in the log; null: no plugin keeps a log. Rejects where the log cannot be read. */
  async fresh({ subject: { by, value }, per, start }: BudgetPeriod): Promise<bigint | null> {
    const reader = this.#parts.log.reader();
    if (reader === null) return null;
    await this.#catchUp(reader);
    const conditions = by === 'all' ? [] : [{ field: by, operator: 'in' as const, values: [value] }];
    const [row] = await reader.stats({ ...rangeOf(per, start), conditions, text: null }, { by: null, limit: 1, isUrgent: true });
    return picoOf(row?.cost ?? null);
  }

  async #catchUp(reader: LogReader): Promise<void> {
    const others = [...this.#parts.readers].filter((other) => other !== reader);
    // a former gateway that has closed its log has stored everything in it
    await Promise.all([reader.catchUp(), ...others.map((other) => other.catchUp().catch(() => {}))]);
  }

  close(): void {
    this.#isClosed = true;
  }
}

const nameOf = ({ by, per }: Kind): string => `${by} ${per}`;

const picoOf = (cost: string | null): bigint => (cost === null ? 0n : (parseDollars(cost) ?? 0n));

/** The range has an end: a clock that was ahead, here or at another gateway, has put requests on record under a future time. */
const rangeOf = (per: Budget['per'], start: number): { readonly from: number | null; readonly to: number | null } =>
  per === 'total' ? { from: null, to: null } : { from: start, to: periodOf(per, start).end };

async function readKind(reader: LogReader, { by, per }: Kind, now: number): Promise<Read> {
  const { start } = periodOf(per, now);
  const rows = await reader.stats(
    { ...rangeOf(per, start), conditions: [], text: null },
    { by: by === 'all' ? null : by, limit: mostRows, rank: 'cost', isUrgent: true },
  );
  // requests without the value do not count towards such a budget
  const spent = new Map(rows.flatMap(({ value, cost }) => (by === 'all' || value ? [[value ?? '', picoOf(cost)] as const] : [])));
  // the values with the largest sums are read at once; if there may be more values, the others are read one by one
  return { start, spent, isWhole: rows.length < mostRows };
}
