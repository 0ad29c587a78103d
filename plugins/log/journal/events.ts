import type { RequestRecord } from '../../../core/pipeline/context.ts';
import type { LoggedRequest } from '../../../core/log/store.ts';
import type { Logger } from '../../../core/logger.ts';
import { loggedOf } from './write/entry.ts';

/**
 * Called with each record when its request ends, before the store has it.
 * The request waits for this call, so a listener must do its work later.
 */
type RecordListener = (record: LoggedRequest) => void;

export interface LogEvents {
  /** Returns a function that ends the listening. */
  onRecord(listener: RecordListener): () => void;
  /** @param hasBodies whether its bodies are kept */
  tell(record: RequestRecord, hasBodies: boolean): void;
}

/** Tells listeners in this process of each record when its request ends (the live tail). */
export function createEvents(logger: Logger): LogEvents {
  const listeners = new Set<RecordListener>();
  return {
    onRecord(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    tell(record, hasBodies) {
      if (listeners.size === 0) return;
      const logged = loggedOf(record, hasBodies);
      for (const listener of listeners) {
        try {
          listener(logged);
        } catch (error) {
          listeners.delete(listener);
          logger.error('a listener of the live log failed and is not called any more', { error });
        }
      }
    },
  };
}
