/** An answer as the cache keeps it, and how it is recorded from the chunks of a provider. */
import type { Chunk, FinishReason } from '../../../core/chat.ts';
import { stands } from '../../../core/pipeline/context.ts';
import type { Candidate } from '../../../core/pipeline/context.ts';
import type { ChunkSource } from '../../../core/pipeline/hooks.ts';
import { sourceOf } from '../../../core/pipeline/hooks.ts';
import type { Adjustment } from '../../../core/chat.ts';
import { joinedBase64 } from '../../../core/wire/data-url.ts';
import { fieldsOf } from '../../../core/wire/fields.ts';
import { fieldsIn } from '../../../core/wire/json.ts';

export interface Entry {
  readonly provider: string;
  readonly model: string;
  readonly externalId: string;
  /** Parameters that could not be sent as the caller set them; a hit reports them again. */
  readonly adjustments: readonly Adjustment[];
  /** In the order of the provider; neighbours of one kind are joined. */
  readonly chunks: readonly Chunk[];
}

/** The entry in a text; null where it holds none. safety: a text in Redis may come from another program. */
export function entryIn(text: string): Entry | null {
  const value = fieldsIn(text);
  if (value === null) return null;
  const { provider, model, externalId, adjustments, chunks } = value;
  const isSound =
    typeof provider === 'string' &&
    typeof model === 'string' &&
    typeof externalId === 'string' &&
    Array.isArray(adjustments) &&
    Array.isArray(chunks);
  return isSound ? (value as unknown as Entry) : null;
}

/** Replays the kept answer as a provider gives it, without the provider's charge, which happens once. */
export const replayOf = ({ chunks, adjustments }: Entry): ChunkSource => ({ ...sourceOf(chunks.map(uncharged)), adjustments });

function uncharged(chunk: Chunk): Chunk {
  if (chunk.type !== 'usage' || chunk.usage.charged === undefined) return chunk;
  const { charged: _, ...usage } = chunk.usage;
  return { type: 'usage', usage };
}

/** The candidate that gave this answer; undefined where it is ruled out or no longer exists. */
export const giverOf = ({ provider, model, externalId }: Entry, candidates: readonly Candidate[]): Candidate | undefined =>
  candidates.find(
    (candidate) =>
      stands(candidate) &&
      candidate.mapping.externalId === externalId &&
      candidate.provider.id === provider &&
      candidate.model.id === model,
  );

/**
 * Only an answer with one of these endings is kept. An answer that was
 * cut at a limit or by a filter may be better when it is asked for again.
 */
const kept: ReadonlySet<FinishReason> = new Set(['completed', 'tool_calls']);

export const isKept = ({ chunks }: Entry): boolean => chunks.every((chunk) => chunk.type !== 'finish' || kept.has(chunk.reason));

/** Records the answer of one attempt while it passes. */
export class Recording {
  readonly #chunks: Chunk[] = [];
  /** The index of the last chunk of each choice. */
  readonly #lastOf: number[] = [];
  #usage: Chunk | null = null;
  #adjustments: readonly Adjustment[] = [];
  #hasEnded = false;

  /** The source, which is recorded while it is read. */
  of(source: ChunkSource): ChunkSource {
    this.#adjustments = source.adjustments;
    return {
      adjustments: source.adjustments,
      read: async () => {
        const chunks = await source.read();
        if (chunks === null) this.#hasEnded = true;
        else for (const chunk of chunks) this.#add(chunk);
        return chunks;
      },
      cancel: () => source.cancel(),
    };
  }

  /** The recorded answer; null where it did not come to its clean end. */
  entryFrom({ provider, model, mapping: { externalId } }: Candidate): Entry | null {
    if (!this.#hasEnded) return null;
    return {
      provider: provider.id,
      model: model.id,
      externalId,
      adjustments: this.#adjustments,
      chunks: withWholeSounds(this.#usage === null ? this.#chunks : [...this.#chunks, this.#usage]),
    };
  }

  #add(chunk: Chunk): void {
    // the last counts replace earlier ones, and their place does not matter
    if (chunk.type === 'usage') {
      this.#usage = chunk;
      return;
    }
    const at = this.#lastOf[chunk.choice] ?? this.#chunks.length;
    const longer = joined(this.#chunks[at], chunk);
    if (longer !== null) this.#chunks[at] = longer;
    else this.#lastOf[chunk.choice] = this.#chunks.push(chunk) - 1;
  }
}

/**
 * Both chunks as one; null where they are of two kinds. A provider sends a word
 * at a time, which as a list of chunks is many times the size of the text.
 */
function joined(first: Chunk | undefined, second: Chunk): Chunk | null {
  if (first?.type !== second.type) return null;
  switch (second.type) {
    case 'text-delta':
    case 'reasoning-delta':
    case 'refusal-delta':
      return { ...second, text: (first as typeof second).text + second.text };
    case 'tool-delta':
      return (first as typeof second).index === second.index
        ? { ...second, arguments: (first as typeof second).arguments + second.arguments }
        : null;
    default:
      return null;
  }
}

type Sound = Chunk & { readonly type: 'extra' };

const isSound = (chunk: Chunk): chunk is Sound => chunk.type === 'extra' && chunk.field === 'audio';

/** The pieces of each sound as one, because a whole reply has only the last piece of several. */
function withWholeSounds(chunks: readonly Chunk[]): readonly Chunk[] {
  const sounds = Map.groupBy(chunks.filter(isSound), ({ choice }) => choice);
  if (sounds.size === 0) return chunks;
  return [...[...sounds.values()].map(wholeOf), ...chunks.filter((chunk) => !isSound(chunk))];
}

function wholeOf(pieces: readonly Sound[]): Sound {
  const values = pieces.map(({ value }) => fieldsOf(value));
  const textsOf = (field: string): string[] => values.map((value) => value[field]).filter((text) => typeof text === 'string');
  const [data, words] = [textsOf('data'), textsOf('transcript')];
  const value: object = Object.assign(
    {},
    ...values,
    data.length > 0 && { data: joinedBase64(data) },
    words.length > 0 && { transcript: words.join('') },
  );
  return { ...(pieces[0] as Sound), value };
}
