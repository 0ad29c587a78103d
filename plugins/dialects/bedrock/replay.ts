/**
 * Carries reasoning through the caller. A signed or redacted block becomes an entry of `reasoning_details`, and on the next turn the entry
 * becomes the same block again, byte for byte and at its place. Reasoning without a signature is not sent back.
 */
import type { Message, ReasoningDetail } from '../../../core/chat.ts';
import type { Target } from '../../../core/wire/dialect.ts';
import { fieldsOf } from '../../../core/wire/fields.ts';
import type { Block } from './media.ts';

/** The place of a block in its answer: how many characters of text (UTF-16 units) and how many tool calls come before it. */
export interface BlockPlace {
  readonly text: number;
  readonly calls: number;
}

/** A block, its number among the reasoning blocks of the answer, and its place. */
export interface Issued {
  readonly index: number;
  readonly place: BlockPlace;
  readonly state: Pick<ReasoningDetail, 'text' | 'signature' | 'data'>;
}

/** A reasoning block to send, and its place. */
export interface Thought {
  readonly block: Block;
  readonly place: BlockPlace;
}

const format = 'bedrock-converse';

/** The `reasoning_details` entry of a block. The block can be built from the entry alone. */
export function detailOf({ provider, mapping }: Target, { index, place, state }: Issued): ReasoningDetail {
  const detail: ReasoningDetail = { type: state.data === undefined ? 'reasoning.text' : 'reasoning.encrypted', provider: provider.account, format, model: mapping.externalId, index, ...state };
  return place.text === 0 && place.calls === 0 ? detail : { ...detail, after: place };
}

/** The reasoning blocks that go back with a message: those that this provider and this model issued, in their order. */
export function thoughtsOf({ reasoning_details: details }: Message, { provider, mapping }: Target): readonly Thought[] {
  if (!Array.isArray(details)) return [];
  return (details as readonly ReasoningDetail[]).flatMap((detail) => {
    if (detail.provider !== provider.account || detail['format'] !== format || detail['model'] !== mapping.externalId) return [];
    const block = blockOf(detail);
    return block === null ? [] : [{ block, place: placeOf(detail['after']) }];
  });
}

function blockOf({ text, signature, data }: ReasoningDetail): Block | null {
  if (typeof data === 'string' && data !== '') return { reasoningContent: { redactedContent: data } };
  if (typeof signature !== 'string' || signature === '') return null;
  return { reasoningContent: { reasoningText: { text: typeof text === 'string' ? text : '', signature } } };
}

function placeOf(after: unknown): BlockPlace {
  const { text, calls } = fieldsOf(after);
  return { text: typeof text === 'number' ? text : 0, calls: typeof calls === 'number' ? calls : 0 };
}
