/**
 * Carries reasoning through the caller. A signed or redacted block becomes an entry of `reasoning_details`, and on the next turn the entry
 * becomes the same block again, byte for byte and at its place. Reasoning without a signature is not sent back.
 */
import type { Message, ReasoningDetail } from '../../../core/chat.ts';
import type { Target } from '../../../core/wire/dialect.ts';
import { type BlockPlace, placeOf } from '../families/thinking-blocks.ts';
import type { Block } from './media.ts';

/** A reasoning block to send, and its place. */
export interface Thought {
  readonly block: Block;
  readonly place: BlockPlace;
}

/** `format` of the entries. */
export const format = 'bedrock-converse';

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
