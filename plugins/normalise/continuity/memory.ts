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
}

export interface Bounds {
  readonly maxBytes: number;
  readonly ttlSeconds: number;
}

// as text: its size is known, and what was kept cannot be changed by anyone
type Texts = LRUCache<string, string>;

const textsWithin = ({ maxBytes, ttlSeconds }: Bounds): Texts => new LRUCache({ maxSize: maxBytes, sizeCalculation: (text, key) => 2 * (text.length + key.length), ttl: ttlSeconds * 1000 });

/** What one process remembers. It outlives a reload: tool loops go on from the old gateway to the new one. */
export class Kept {
  texts: Texts;
  bounds: Bounds;

  constructor(bounds: Bounds) {
    this.texts = textsWithin(bounds);
    this.bounds = bounds;
  }

  /** Moves what is kept into new bounds, each text at its age, the oldest first. */
  rebound(bounds: Bounds): void {
    if (this.bounds.maxBytes === bounds.maxBytes && this.bounds.ttlSeconds === bounds.ttlSeconds) return;
    const texts = textsWithin(bounds);
    for (const [key, text] of this.texts.rentries()) {
      if (key === undefined || text === undefined) continue;
      const age = this.bounds.ttlSeconds * 1000 - this.texts.getRemainingTTL(key);
      texts.set(key, text, { start: performance.now() - age });
    }
    this.texts = texts;
    this.bounds = bounds;
  }
}

/** What is remembered, as one gateway uses it. Its bounds hold from its first use on: a gateway that did not start changes nothing. */
export function createMemory(kept: Kept, { bounds, shared }: { bounds: Bounds; shared: Shared | null }): Memory {
  let isUsed = false;
  const texts = (): Texts => {
    if (!isUsed) kept.rebound(bounds);
    isUsed = true;
    return kept.texts;
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
  };
}
