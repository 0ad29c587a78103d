/** Gives the calls of an answer the caller's names of its tools, where the wire has other names (`Dialect.toolName`). */
import type { Chunk } from '../../../core/chat.ts';
import type { ChunkSource } from '../../../core/pipeline/hooks.ts';

/** @param names of the caller, by the names on the wire */
export function withCallersNames(source: ChunkSource, names: ReadonlyMap<string, string>): ChunkSource {
  const named = (chunk: Chunk): Chunk => (chunk.type === 'tool-start' ? { ...chunk, name: names.get(chunk.name) ?? chunk.name } : chunk);
  return {
    adjustments: source.adjustments,
    cancel: () => source.cancel(),
    read: async () => (await source.read())?.map(named) ?? null,
  };
}
