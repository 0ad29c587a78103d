import { LRUCache } from 'lru-cache';
import type { Thought } from './index.ts';

/** A memory that several gateways share. Failures are its own business: it forgets. */
export interface Shared {
  keep(key: string, text: string): void;
  recall(key: string): Promise<string | undefined>;
}

export interface Memory {
  keep(key: string, thought: Thought): void;
  recall(key: string): Promise<Thought | undefined>;
}

export function createMemory({ maxBytes, ttlSeconds, shared }: { maxBytes: number; ttlSeconds: number; shared: Shared | null }): Memory {
  // as text: its size is known, and what was kept cannot be changed by anyone
  const own = new LRUCache<string, string>({ maxSize: maxBytes, sizeCalculation: (text, key) => 2 * (text.length + key.length), ttl: ttlSeconds * 1000 });
  return {
    keep(key, thought) {
      const text = JSON.stringify(thought);
      own.set(key, text);
      shared?.keep(key, text);
    },
    async recall(key) {
      const text = own.get(key) ?? (await shared?.recall(key));
      return text === undefined ? undefined : (JSON.parse(text) as Thought);
    },
  };
}
