/** Looks regularly whether keys of the store have changed: another gateway on the same database, or a command, may have changed them. */
import { messageOf } from '../../../core/exit.ts';
import type { Logger } from '../../../core/logger.ts';

/** How long a change by another gateway may stay unknown here. */
const everyMs = 2000;

export class Poll {
  readonly #read: () => Promise<void>;
  readonly #logger: Logger;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;
  #isAway = false;

  constructor(read: () => Promise<void>, logger: Logger) {
    this.#read = read;
    this.#logger = logger;
  }

  start(): void {
    if (this.#isStopped) return;
    this.#timer = setTimeout(() => void this.now().then(() => this.start()), everyMs);
    this.#timer.unref();
  }

  /** Looks at once. Never rejects: without the store, the known keys stay valid. */
  async now(): Promise<void> {
    try {
      await this.#read();
      if (this.#isAway) this.#logger.info('the keys of the store can be read again');
      this.#isAway = false;
    } catch (error) {
      if (!this.#isAway && !this.#isStopped) {
        this.#logger.warn('the keys of the store cannot be read; the known keys stay valid', { reason: messageOf(error) });
      }
      this.#isAway = true;
    }
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }
}
