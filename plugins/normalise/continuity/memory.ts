import { LRUCache } from 'lru-cache';
import type { ReasoningDetail } from '../../../core/chat.ts';

/** What a turn leaves behind for the next one. */
export interface Thought {
  readonly details: readonly ReasoningDetail[];
  readonly reasoning: string;
}

/** A memory that several gateways share. Failures are its own business: it forgets. */
export interface Shared {
  keep(key: string, text: string): void;
  recall(key: string): Promise<string | undefined>;
}

export interface Memory {
  keep(key: string, thought: Thought): void;
  recall(key: string): Promise<Thought | undefined>;
  /** Forgets all, once nobody else remembers the same. */
  leave(): void;
}

export interface Bounds {
  readonly maxBytes: number;
  readonly ttlSeconds: number;
}

// as text: its size is known, and what was kept cannot be changed by anyone
type Texts = LRUCache<string, string>;

const textsWithin = ({ maxBytes, ttlSeconds }: Bounds): Texts => new LRUCache({ maxSize: maxBytes, sizeCalculation: (text, key) => 2 * (text.length + key.length), ttl: ttlSeconds * 1000 });

/** What one process remembers for one data directory. */
interface Kept {
  texts: Texts;
  bounds: Bounds;
  users: number;
}

/**
 * A change of the config makes a new gateway while the old one ends its requests, and tool loops go on from the one to the
 * other. By data directory, which is one gateway's own.
 */
const kept = new Map<string, Kept>();

/** Joins what is remembered for a data directory. The bounds hold from the first use on: a gateway that did not start changes nothing. */
export function joinMemory(dataDir: string, { bounds, shared }: { bounds: Bounds; shared: Shared | null }): Memory {
  const own = kept.get(dataDir) ?? { texts: textsWithin(bounds), bounds, users: 0 };
  kept.set(dataDir, own);
  own.users++;
  let isUsed = false;
  let hasLeft = false;
  const texts = (): Texts => {
    if (!isUsed) rebound(own, bounds);
    isUsed = true;
    return own.texts;
  };
  return {
    keep(key, thought) {
      const text = JSON.stringify(thought);
      texts().set(key, text);
      shared?.keep(key, text);
    },
    async recall(key) {
      const text = texts().get(key) ?? (await shared?.recall(key));
      return text === undefined ? undefined : (JSON.parse(text) as Thought);
    },
    leave() {
      if (hasLeft) return;
      hasLeft = true;
      if (--own.users === 0) kept.delete(dataDir);
    },
  };
}

/** Moves what is kept into new bounds, each at its age, the oldest first. */
function rebound(own: Kept, bounds: Bounds): void {
  if (own.bounds.maxBytes === bounds.maxBytes && own.bounds.ttlSeconds === bounds.ttlSeconds) return;
  const texts = textsWithin(bounds);
  for (const [key, text] of own.texts.rentries()) {
    if (key === undefined || text === undefined) continue;
    const age = own.bounds.ttlSeconds * 1000 - own.texts.getRemainingTTL(key);
    texts.set(key, text, { start: performance.now() - age });
  }
  Object.assign(own, { texts, bounds });
}
