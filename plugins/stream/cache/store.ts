/** Where answers are kept: in the memory of the process, and in Redis where gateways share one. */
import type { KeptTexts, Bounds } from '../../../core/host/kept-texts.ts';
import type { SharedRedis } from '../../../core/host/redis.ts';
import { isRefused } from '../../../core/host/redis-server.ts';
import { entryIn } from './entry.ts';
import type { Entry } from './entry.ts';

/** A store never throws: where Redis fails, the memory serves. */
export interface Store {
  /** Null: there is no answer. A promise only where Redis is asked. */
  find(key: string): Entry | null | Promise<Entry | null>;
  keep(key: string, entry: Entry): void;
}

/** `1` is the version of `Entry`. */
const prefix = 'model-gateway:cache:1:';

/**
 * safety: Redis has 50 ms for an answer, and its failures count for limits and budgets too. A larger answer is kept in this process only.
 */
const mostShared = 1_048_576;

const drop = "return redis.call('DEL', KEYS[1])";

export function createStore(texts: KeptTexts, { bounds, redis }: { bounds: Bounds; redis: SharedRedis | null }): Store {
  const memory = texts.within(bounds);
  const inMemory = (key: string): Entry | null => {
    const text = memory().get(key);
    return text === undefined ? null : entryIn(text);
  };
  /** The answer in Redis wins over the answer in memory, so that all gateways give the same answers; a large answer is not in Redis. */
  const inRedis = async (key: string, shared: SharedRedis): Promise<Entry | null> => {
    try {
      const text = await shared.get(prefix + key);
      return text === null ? largeInMemory(key) : entryIn(text);
    } catch {
      return inMemory(key);
    }
  };
  const largeInMemory = (key: string): Entry | null => ((memory().peek(key)?.length ?? 0) > mostShared ? inMemory(key) : null);
  return {
    find: (key) => (redis === null || redis.isAway ? inMemory(key) : inRedis(key, redis)),
    keep(key, entry) {
      const text = JSON.stringify(entry);
      memory().set(key, text);
      if (redis === null) return;
      // otherwise an older answer in Redis would be given instead of the large one
      const told = text.length <= mostShared ? redis.set(prefix + key, text, bounds.ttlSeconds) : redis.run(drop, [prefix + key], []);
      // the memory has the answer, even if Redis fails
      told.catch((error) => {
        // a Redis without memory refuses the new answer, and an older one in it would be given instead
        if (isRefused(error, 'OOM')) redis.run(drop, [prefix + key], []).catch(() => {});
      });
    },
  };
}
