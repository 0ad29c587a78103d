/**
 * Passes finished requests to the watchers of the live tail: one subscription to the log, from the first watcher on, and a short memory for
 * watchers that reconnect. The records of other workers are added by `offer`.
 */
import { selects } from '../../../core/log/match.ts';
import type { LoggedRequest, LogQuery, LogReader } from '../../../core/log/store.ts';

/** Records that wait for one watcher before it is dropped. */
const mostWaiting = 1000;
const mostRemembered = 1000;

/** A connection that watches the live tail. */
export interface Watcher {
  /** The records since the last call; null after `silenceMs` without a record, or when the watcher was dropped or stopped. */
  next(silenceMs: number): Promise<readonly LoggedRequest[] | null>;
  /** True: the watcher did not read, so the records that waited for it were dropped, and no more come. */
  readonly isDropped: boolean;
  readonly isStopped: boolean;
  stop(): void;
}

export interface Hub {
  watch(query: LogQuery): Watcher;
  /** The records that ended after the record of that id, in the order in which they ended; null where that record is not remembered. */
  since(id: string): readonly LoggedRequest[] | null;
  /** Adds records of other workers. */
  offer(records: readonly LoggedRequest[]): void;
  readonly hasWatchers: boolean;
  /** All remembered records, in the order in which they ended. */
  remembered(): readonly LoggedRequest[];
  close(): void;
}

export function createHub(reader: LogReader): Hub {
  const queues = new Set<Queue>();
  let recent: LoggedRequest[] = [];
  const unsubscribe = reader.onRecord((record) => {
    recent.push(record);
    // cost: cut rarely and by half, because removing one record from the front copies all others
    if (recent.length >= 2 * mostRemembered) recent = recent.slice(-mostRemembered);
    for (const queue of queues) queue.offer(record);
  });
  return {
    watch(query) {
      const queue: Queue = new Queue(query, () => void queues.delete(queue));
      queues.add(queue);
      return queue;
    },
    since(id) {
      const at = recent.findLastIndex((record) => record.id === id);
      return at < 0 ? null : recent.slice(at + 1);
    },
    offer(records) {
      for (const record of records) for (const queue of queues) queue.offer(record);
    },
    get hasWatchers() {
      return queues.size > 0;
    },
    remembered: () => [...recent],
    close() {
      unsubscribe();
      for (const queue of queues) queue.stop();
    },
  };
}

/** safety: a request only adds its record to this queue: it makes no text, and waits for nobody. */
class Queue implements Watcher {
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
