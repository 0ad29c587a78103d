/**
 * The live tail of several workers: a worker with a watcher gets the records of all other workers. They send records only
 * while a worker has a watcher.
 */
import type { LoggedRequest, LogReader } from '../../../core/log/store.ts';
import type { Peers } from '../../../core/workers/peers.ts';

interface SharedTailParts {
  readonly peers: Peers;
  reader(): LogReader | null;
  /** Whether this worker has a watcher. */
  hasWatchers(): boolean;
  /** Called with the records of the other workers. */
  heard(records: readonly LoggedRequest[]): void;
}

/** How long a worker sends its records after the last announcement of a watcher; announcements are repeated. */
const leaseMs = 15_000;
const renewMs = 5000;
/** How long records wait, to be sent together. */
const batchMs = 50;
const mostWaiting = 1000;

export class SharedTail {
  readonly #parts: SharedTailParts;
  /** The workers with a watcher, and until when their announcement holds. */
  readonly #watched = new Map<number, number>();
  #waiting: LoggedRequest[] = [];
  #unsubscribe: (() => void) | null = null;
  #timers: NodeJS.Timeout[] = [];

  constructor(parts: SharedTailParts) {
    this.#parts = parts;
    const { peers } = parts;
    peers.on('records', (records) => parts.heard(records as LoggedRequest[]));
    peers.on('watched', (_, from) => this.#watchedBy(from));
    peers.on('who watches', () => this.announce());
  }

  /** Called when this worker can send records: from now on it sends them to workers with a watcher. */
  open(): void {
    this.#parts.peers.broadcast('who watches', null);
    this.#timers.push(setInterval(() => this.announce(), renewMs).unref(), setInterval(() => this.#flush(), batchMs).unref());
  }

  /** Tells the other workers that this worker has a watcher, if it has one. */
  announce(): void {
    if (this.#parts.hasWatchers()) this.#parts.peers.broadcast('watched', null);
  }

  close(): void {
    for (const timer of this.#timers) clearInterval(timer);
    this.#flush();
    this.#unsubscribe?.();
    this.#unsubscribe = null;
  }

  /** From now on, until its lease ends, that worker gets the records of this one. */
  #watchedBy(worker: number): void {
    this.#watched.set(worker, performance.now() + leaseMs);
    this.#unsubscribe ??= this.#parts.reader()?.onRecord((record) => this.#add(record)) ?? null;
  }

  /** safety: while this process is too busy to send, records do not fill its memory. */
  #add(record: LoggedRequest): void {
    if (this.#waiting.length < mostWaiting) this.#waiting.push(record);
  }

  #flush(): void {
    const records = this.#waiting;
    if (records.length > 0) {
      this.#waiting = [];
      for (const to of this.#watched.keys()) this.#parts.peers.tell(to, 'records', records);
    }
    const now = performance.now();
    for (const [worker, until] of this.#watched) if (until < now) this.#watched.delete(worker);
    if (this.#watched.size > 0) return;
    this.#unsubscribe?.();
    this.#unsubscribe = null;
  }
}
