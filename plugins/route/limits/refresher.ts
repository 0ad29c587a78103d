/** How often the sums are read again, because other processes that write the same log spend money too. */
const refreshMs = { first: 5000, later: 60_000 };
/** cost: reading the sums may take at most this share of the time of the log's thread. */
const mostShare = 0.01;

/** Repeats some work, as long as it takes only a small share of the time. */
export class Refresher {
  readonly #work: () => Promise<void>;
  readonly #isMine: () => Promise<boolean>;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;
  #running: Promise<void> = Promise.resolve();
  #next: Promise<void> | null = null;

  /** @param isMine whether this process does the work, where one process does it for several */
  constructor(work: () => Promise<void>, isMine: () => Promise<boolean> = async () => true) {
    this.#work = work;
    this.#isMine = isMine;
  }

  start(): void {
    this.#later(refreshMs.first);
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  /** Does the work at once. cost: all calls during a run share one more run, for example after many changes of keys. */
  now(): Promise<void> {
    this.#next ??= this.#running.then(() => {
      this.#next = null;
      // the log reports its own failures
      this.#running = this.#work().catch(() => {});
      return this.#running;
    });
    return this.#next;
  }

  #later(ms: number): void {
    if (this.#isStopped) return;
    this.#timer = setTimeout(() => void this.#run(), ms);
    this.#timer.unref();
  }

  async #run(): Promise<void> {
    const isMine = await this.#isMine();
    const startedAt = performance.now();
    if (isMine) await this.now();
    this.#later(Math.max(refreshMs.later, (performance.now() - startedAt) / mostShare));
  }
}
