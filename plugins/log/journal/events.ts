import type { RequestRecord } from '../../../core/pipeline/context.ts';
import type { LoggedRequest } from '../../../core/log/store.ts';
import type { Logger } from '../../../core/logger.ts';
import { loggedOf } from './write/entry.ts';

/**
 * Called with each record when its request ends, before the store has it.
 * The request waits for this call, so a listener must do its work later.
 */
type RecordListener = (record: LoggedRequest) => void;

/** Tells listeners in this process of each record when its request ends (the live tail). */
export class LogEvents {
  readonly #listeners = new Set<RecordListener>();
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Returns a function that ends the listening. */
  onRecord(listener: RecordListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** @param hasBodies whether its bodies are kept */
  tell(record: RequestRecord, hasBodies: boolean): void {
    if (this.#listeners.size === 0) return;
    const logged = loggedOf(record, hasBodies);
    for (const listener of this.#listeners) {
      try {
        listener(logged);
      } catch (error) {
        this.#listeners.delete(listener);
        this.#logger.error('a listener of the live log failed and is not called any more', { error });
      }
    }
  }
}
