/**
 * Passes finished requests to the watchers of the live tail: one subscription to the log, from the first watcher on, and a short memory for
 * watchers that reconnect. The records of other workers are added by `offer`.
 */
import { selects } from '../../../core/log/match.ts';
import type { LoggedRequest, LogQuery, LogReader } from '../../../core/log/store.ts';

/** Records that wait for one watcher before it is dropped. */
const mostWaiting = 1000;
const mostRemembered = 1000;

export class Hub {
  readonly #watchers = new Set<Watcher>();
  readonly #unsubscribe: () => void;
  #recent: LoggedRequest[] = [];

  constructor(reader: LogReader) {
    this.#unsubscribe = reader.onRecord((record) => {
      this.#recent.push(record);
      // cost: cut rarely and by half, because removing one record from the front copies all others
      if (this.#recent.length >= 2 * mostRemembered) this.#recent = this.#recent.slice(-mostRemembered);
      for (const watcher of this.#watchers) watcher.offer(record);
    });
  }

  watch(query: LogQuery): Watcher {
    const watcher: Watcher = new Watcher(query, () => void this.#watchers.delete(watcher));
    this.#watchers.add(watcher);
    return watcher;
  }

  /** The records that ended after the record of that id, in the order in which they ended; null where that record is not remembered. */
  since(id: string): readonly LoggedRequest[] | null {
    const at = this.#recent.findLastIndex((record) => record.id === id);
    return at < 0 ? null : this.#recent.slice(at + 1);
  }

  /** Gives records of other workers to the watchers. They are not remembered. */
  offer(records: readonly LoggedRequest[]): void {
    for (const record of records) for (const watcher of this.#watchers) watcher.offer(record);
  }

  get hasWatchers(): boolean {
    return this.#watchers.size > 0;
  }

  /** All remembered records, in the order in which they ended. */
  remembered(): readonly LoggedRequest[] {
    return [...this.#recent];
  }

  close(): void {
    this.#unsubscribe();
    for (const watcher of this.#watchers) watcher.stop();
  }
}

/**
 * A connection that watches the live tail.
 * safety: a request only adds its record to the queue of the watcher: it makes no text, and waits for nobody.
 */
export class Watcher {
  /** True: the watcher did not read, so the records that waited for it were dropped, and no more come. */
  isDropped = false;
  isStopped = false;
  #waiting: LoggedRequest[] = [];
  #wake: (() => void) | null = null;
  readonly #query: LogQuery;
  readonly #leave: () => void;

  constructor(query: LogQuery, leave: () => void) {
    this.#query = query;
    this.#leave = leave;
  }

  offer(record: LoggedRequest): void {
    if (!selects(this.#query, record)) return;
    this.#waiting.push(record);
    if (this.#waiting.length > mostWaiting) {
      this.isDropped = true;
      this.#waiting = [];
      this.#leave();
    }
    this.#wake?.();
  }

  /** The records since the last call; null after `silenceMs` without a record, or when the watcher was dropped or stopped. */
  async next(silenceMs: number): Promise<readonly LoggedRequest[] | null> {
    if (this.#waiting.length === 0 && !this.isDropped && !this.isStopped) await this.#something(silenceMs);
    const records = this.#waiting;
    this.#waiting = [];
    return records.length === 0 ? null : records;
  }

  #something(silenceMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#wake?.(), silenceMs);
      this.#wake = () => {
        clearTimeout(timer);
        this.#wake = null;
        resolve();
      };
    });
  }

  stop(): void {
    this.isStopped = true;
    this.#leave();
    this.#wake?.();
  }
}
