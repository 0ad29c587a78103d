/**
 * Reasoning on its way out and back: a signed or redacted block becomes a `reasoning_details` entry, and on the next turn the
 * same block again, byte for byte and in its place. Unsigned reasoning has nothing to prove and does not go back.
 */
import type { Message, ReasoningDetail } from '../../../core/chat.ts';
import type { Target } from '../../../core/wire/dialect.ts';
import type { Block } from './media.ts';

/** What stands before a block in its answer: characters of text, and tool calls. */
export interface Place {
  readonly text: number;
  readonly calls: number;
}

export interface Issued {
  readonly index: number;
  readonly place: Place;
  readonly state: Pick<ReasoningDetail, 'text' | 'signature' | 'data'>;
}

export interface Thought {
  readonly block: Block;
  readonly place: Place;
}

const format = 'bedrock-converse';

/** An entry that alone is enough to build the block again. */
export function detailOf({ provider, mapping }: Target, { index, place, state }: Issued): ReasoningDetail {
  const detail: ReasoningDetail = { type: state.data === undefined ? 'reasoning.text' : 'reasoning.encrypted', provider: provider.id, format, model: mapping.externalId, index, ...state };
  return place.text === 0 && place.calls === 0 ? detail : { ...detail, after: place };
}

/** The blocks that go back with a message: those that this provider issued for this model, in their order. */
export function thoughtsOf({ reasoning_details: details }: Message, { provider, mapping }: Target): readonly Thought[] {
  if (!Array.isArray(details)) return [];
  return (details as readonly ReasoningDetail[]).flatMap((detail) => {
    if (detail.provider !== provider.id || detail['format'] !== format || detail['model'] !== mapping.externalId) return [];
    const block = blockOf(detail);
    return block === null ? [] : [{ block, place: placeOf(detail['after']) }];
  });
}

function blockOf({ text, signature, data }: ReasoningDetail): Block | null {
  if (typeof data === 'string' && data !== '') return { reasoningContent: { redactedContent: data } };
  if (typeof signature !== 'string' || signature === '') return null;
  return { reasoningContent: { reasoningText: { text: typeof text === 'string' ? text : '', signature } } };
}

function placeOf(after: unknown): Place {
  const { text, calls } = (typeof after === 'object' && after !== null ? after : {}) as Partial<Place>;
  return { text: typeof text === 'number' ? text : 0, calls: typeof calls === 'number' ? calls : 0 };
}
