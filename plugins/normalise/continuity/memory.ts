import { LRUCache } from 'lru-cache';
import type { ReasoningDetail } from '../../../core/chat.ts';

/** The reasoning state of one answer: opaque details for the provider, and the reasoning text. */
export interface Thought {
  readonly details: readonly ReasoningDetail[];
  readonly reasoning: string;
}

/** A memory that several gateways share. It never throws: where it fails, `keep` does nothing and `recall` finds nothing. */
export interface Shared {
  /** Keeps a thought, as JSON. */
  keep(key: string, text: string): void;
  /** The JSON of a thought; undefined where there is none. */
  recall(key: string): Promise<string | undefined>;
}

/** The memory of one gateway; it never throws. */
export interface Memory {
  keep(key: string, thought: Thought): void;
  recall(key: string): Promise<Thought | undefined>;
}

/** The limits of the memory in the process. */
export interface Bounds {
  readonly maxBytes: number;
  /** The age at which a thought is dropped. */
  readonly ttlSeconds: number;
}

// thoughts are kept as JSON text: a text has a known size, and nobody can change it later
type Texts = LRUCache<string, string>;

const textsWithin = ({ maxBytes, ttlSeconds }: Bounds): Texts => new LRUCache({ maxSize: maxBytes, sizeCalculation: (text, key) => 2 * (text.length + key.length), ttl: ttlSeconds * 1000 });

/** The thoughts that one process keeps. They outlive a reload, so a tool loop that began before it can go on after it. */
export class Kept {
  texts: Texts;
  bounds: Bounds;

  constructor(bounds: Bounds) {
    this.texts = textsWithin(bounds);
    this.bounds = bounds;
  }

  /** Applies new bounds: copies the texts, the oldest first, so that each keeps its age and the oldest are dropped first. */
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

/** Makes the memory of one gateway over the thoughts of the process. The gateway's bounds apply from its first use of the memory, so a gateway that does not start changes nothing. */
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
