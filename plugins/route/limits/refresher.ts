/** When the sums are read again, for what other processes have spent that write the same log. */
const refreshMs = { first: 5000, later: 60_000 };
/** cost: reading the sums may take at most so much of the time of the log's thread. */
const mostShare = 0.01;

/** Does something again and again, as long as it takes only a small share of the time. */
export class Refresher {
  readonly #work: () => Promise<void>;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(work: () => Promise<void>) {
    this.#work = work;
  }

  start(): void {
    this.#later(refreshMs.first);
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  /** Does it at once, once more. */
  async now(): Promise<void> {
    // the log reports its own failures
    await this.#work().catch(() => {});
  }

  #later(ms: number): void {
    if (this.#isStopped) return;
    this.#timer = setTimeout(() => void this.#run(), ms);
    this.#timer.unref();
  }

  async #run(): Promise<void> {
    const startedAt = performance.now();
    await this.now();
    this.#later(Math.max(refreshMs.later, (performance.now() - startedAt) / mostShare));
  }
}
