/** A source of chunks for a plugin that answers in place of a provider. */
import type { Chunk } from '../chat.ts';
import type { ChunkSource } from './hooks.ts';

/** Gives these chunks in one read, and then the end. A whole answer ends with a `finish` chunk. */
export function sourceOf(chunks: readonly Chunk[]): ChunkSource {
  let isRead = false;
  return {
    adjustments: [],
    async read() {
      if (isRead) return null;
      isRead = true;
      return chunks;
    },
    cancel: () => {},
  };
}
