import { LRUCache } from 'lru-cache';

/** The limits of texts in the memory of the process. */
export interface Bounds {
  readonly maxBytes: number;
  /** The age at which a text is dropped. */
  readonly ttlSeconds: number;
}

type Texts = LRUCache<string, string>;

/** The memory of an entry besides its text and its key: its places in the tables of the LRU list. */
const bytesPerEntry = 200;

const textsWithin = ({ maxBytes, ttlSeconds }: Bounds): Texts =>
  new LRUCache({
    maxSize: maxBytes,
    sizeCalculation: (text, key) => 2 * (text.length + key.length) + bytesPerEntry,
    ttl: ttlSeconds * 1000,
  });

/**
 * Texts that one process keeps by key, for a plugin's `state`: they outlive a reload of the config. They are bounded in bytes and in
 * age. A text has a known size, and nobody can change it later.
 */
export class KeptTexts {
  #texts: Texts;
  #bounds: Bounds;

  constructor(bounds: Bounds) {
    this.#texts = textsWithin(bounds);
    this.#bounds = bounds;
  }

  /** Bytes of all texts, with the memory of their entries. */
  get bytes(): number {
    return this.#texts.calculatedSize;
  }

  /**
   * The texts under the bounds of one gateway. The bounds apply from its
   * first use of the texts, so a gateway that does not start changes nothing.
   */
  within(bounds: Bounds): () => Pick<Texts, 'get' | 'peek' | 'set'> {
    let isUsed = false;
    return () => {
      if (!isUsed) this.#rebound(bounds);
      isUsed = true;
      return this.#texts;
    };
  }

  /** Applies new bounds: copies the texts, the oldest first, so that each keeps its age and the oldest are dropped first. */
  #rebound(bounds: Bounds): void {
    if (this.#bounds.maxBytes === bounds.maxBytes && this.#bounds.ttlSeconds === bounds.ttlSeconds) return;
    const texts = textsWithin(bounds);
    for (const [key, text] of this.#texts.rentries()) {
      if (key === undefined || text === undefined) continue;
      const age = this.#bounds.ttlSeconds * 1000 - this.#texts.getRemainingTTL(key);
      texts.set(key, text, { start: performance.now() - age });
    }
    this.#texts = texts;
    this.#bounds = bounds;
  }
}
