import type { ReasoningDetail } from '../../../core/chat.ts';
import type { Bounds, KeptTexts } from '../../../core/host/kept-texts.ts';
import { isFields } from '../../../core/wire/fields.ts';
import { fieldsIn } from '../../../core/wire/json.ts';

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

/** Finds what was kept under an id for the caller of one request. */
export type Recall = (id: string) => Promise<Thought | undefined>;

/** Makes the memory of one gateway over the thoughts of the process, which are kept as JSON. */
export function createMemory(kept: KeptTexts, { bounds, shared }: { bounds: Bounds; shared: Shared | null }): Memory {
  const texts = kept.within(bounds);
  return {
    keep(key, thought) {
      const text = JSON.stringify(thought);
      texts().set(key, text);
      shared?.keep(key, text);
    },
    async recall(key) {
      const text = texts().get(key) ?? (await shared?.recall(key));
      return text === undefined ? undefined : thoughtIn(text);
    },
  };
}

/** The thought in a text; undefined where it holds none. safety: a text in Redis may come from another program. */
function thoughtIn(text: string): Thought | undefined {
  const value = fieldsIn(text);
  if (value === null) return undefined;
  const { details, reasoning } = value;
  const isSound = Array.isArray(details) && details.every(isFields) && typeof reasoning === 'string';
  return isSound ? (value as unknown as Thought) : undefined;
}
