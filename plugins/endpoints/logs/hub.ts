/**
 * Where finished requests meet those who watch: one subscription to the log, from the first watcher on, and a short memory for
 * those who come back. The records of other workers come from outside.
 */
import { selects } from '../../../core/log/match.ts';
import type { LoggedRequest, LogQuery, LogReader } from '../../../core/log/store.ts';

/** Records that wait for one watcher before it is dropped. */
const mostWaiting = 1000;
const mostRemembered = 1000;

/** One who watches. */
export interface Watcher {
  /** What has come since the last call, or null after so many milliseconds of silence, or when it was dropped or stopped. */
  next(silenceMs: number): Promise<readonly LoggedRequest[] | null>;
  /** The watcher did not read: the records that waited for it are gone, and no more come. */
  readonly isDropped: boolean;
  readonly isStopped: boolean;
  stop(): void;
}

export interface Hub {
  watch(query: LogQuery): Watcher;
  /** What ended after the record of that id, in the order in which it ended; null where that is not remembered. */
  since(id: string): readonly LoggedRequest[] | null;
  /** Shows records of other workers to those who watch. */
  offer(records: readonly LoggedRequest[]): void;
  readonly hasWatchers: boolean;
  /** All that is remembered, in the order in which it ended. */
  remembered(): readonly LoggedRequest[];
  close(): void;
}

export function createHub(reader: LogReader): Hub {
  const queues = new Set<Queue>();
  let recent: LoggedRequest[] = [];
  const unsubscribe = reader.onRecord((record) => {
    recent.push(record);
    // cost: cut rarely and by half, as cutting one off the front copies all the others
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

/** safety: offering is all that a request does for its watchers: no text is made, nothing is waited for. */
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
