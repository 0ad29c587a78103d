import type { RequestRecord } from '../../../core/pipeline/context.ts';
import type { LoggedRequest } from '../../../core/log/store.ts';
import type { Logger } from '../../../core/logger.ts';
import { loggedOf } from './write/entry.ts';

/** Hears of each request when it ends, before the store has it. Called on the request path: it keeps, and works later. */
export type RecordListener = (record: LoggedRequest) => void;

export interface LogEvents {
  /** Returns the way to stop. */
  onRecord(listener: RecordListener): () => void;
  tell(record: RequestRecord): void;
}

/** Records as they come, for those who watch: in this process, at once. */
export function createEvents(logger: Logger): LogEvents {
  const listeners = new Set<RecordListener>();
  return {
    onRecord(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    tell(record) {
      if (listeners.size === 0) return;
      const logged = loggedOf(record);
      for (const listener of listeners) {
        try {
          listener(logged);
        } catch (error) {
          listeners.delete(listener);
          logger.error('a listener of the live log failed and hears no more', { error });
        }
      }
    },
  };
}
