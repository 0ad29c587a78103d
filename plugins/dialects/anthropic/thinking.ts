/**
 * Carries thinking through the caller. A thinking block becomes an entry of `reasoning_details`, and on the next turn the entry becomes
 * the same block again, byte for byte and at its place. An entry that is not complete is left out.
 */
import type { Message, ReasoningDetail } from '../../../core/chat.ts';
import type { Target } from '../../../core/wire/dialect.ts';
import { detailsOf, isOwn } from '../../../core/wire/native.ts';
import { type BlockPlace, placeOf } from '../families/thinking-blocks.ts';

/** A thinking block to send, and its place. */
interface ThinkingBlock {
  readonly block:
    | { readonly type: 'thinking'; readonly thinking: string; readonly signature: string }
    | { readonly type: 'redacted_thinking'; readonly data: string };
  readonly place: BlockPlace;
}

/** `format` of the entries. */
export const format = 'anthropic-messages';

/**
 * The thinking blocks that go back with a message: the complete ones that this provider and this model issued.
 * wire: a block without its signature is a 400, and a block of another model must not be sent (Anthropic: Extended thinking).
 */
export const thinkingOf = (message: Message, target: Target): readonly ThinkingBlock[] =>
  detailsOf(message).flatMap((detail) => {
    const block = isOwn(detail, target) ? blockOf(detail) : null;
    return block === null ? [] : [{ block, place: placeOf(detail['after']) }];
  });

function blockOf({ type, text, signature, data }: ReasoningDetail): ThinkingBlock['block'] | null {
  if (type === 'reasoning.encrypted') return typeof data === 'string' && data !== '' ? { type: 'redacted_thinking', data } : null;
  return typeof signature === 'string' && signature !== ''
    ? { type: 'thinking', thinking: typeof text === 'string' ? text : '', signature }
    : null;
}
