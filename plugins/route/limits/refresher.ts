/** When the sums are read again, for what other processes have spent that write the same log. */
const refreshMs = { first: 5000, later: 60_000 };
/** cost: reading the sums may take at most so much of the time of the log's thread. */
const mostShare = 0.01;

/** Does something again and again, as long as it takes only a small share of the time. */
export class Refresher {
  readonly #work: () => Promise<void>;
  readonly #isMine: () => Promise<boolean>;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;
  #running: Promise<void> = Promise.resolve();
  #next: Promise<void> | null = null;

  /** @param isMine whether this process is to do it, where one does it for several */
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

  /** Does it at once, once more. cost: who asks while it is being done shares one more time with all others who do, such as for many changes of keys. */
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
