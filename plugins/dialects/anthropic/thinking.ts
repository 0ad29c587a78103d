/**
 * Carries thinking through the caller. A thinking block becomes an entry of `reasoning_details`, and on the next turn the entry becomes
 * the same block again, byte for byte and at its place. An entry that is not complete is left out.
 */
import type { Message, ReasoningDetail } from '../../../core/chat.ts';
import type { Target } from '../../../core/wire/dialect.ts';
import { fieldsOf } from '../../../core/wire/fields.ts';

/** The place of a thinking block in its message: how many characters of text (UTF-16 units) and how many tool calls come before it. */
export interface BlockPlace {
  readonly text: number;
  readonly calls: number;
  /** How many parts of its content come before it, where the caller's form has parts in their order. This is exact where parts have no text, such as those of tools that the provider runs. */
  readonly parts?: number;
}

/** A thinking block to send, and its place. */
export interface ThinkingBlock {
  readonly block: { readonly type: 'thinking'; readonly thinking: string; readonly signature: string } | { readonly type: 'redacted_thinking'; readonly data: string };
  readonly place: BlockPlace;
}

const format = 'anthropic-messages';

interface Issued {
  readonly index: number;
  readonly place: BlockPlace;
  readonly state: Pick<ReasoningDetail, 'text' | 'signature' | 'data'>;
}

/** The `reasoning_details` entry of a block. The block can be built from the entry alone. */
export function detailOf({ provider, mapping }: Target, { index, place, state }: Issued): ReasoningDetail {
  const detail: ReasoningDetail = { type: state.data === undefined ? 'reasoning.text' : 'reasoning.encrypted', provider: provider.account, format, model: mapping.externalId, index, ...state };
  return place.text === 0 && place.calls === 0 ? detail : { ...detail, after: place };
}

/**
 * The thinking blocks that go back with a message: the complete ones that this provider and this model issued.
 * wire: a block without its signature is a 400, and a block of another model must not be sent (Anthropic: Extended thinking).
 */
export function thinkingOf({ reasoning_details: details }: Message, { provider, mapping }: Target): readonly ThinkingBlock[] {
  if (!Array.isArray(details)) return [];
  const own = (details as readonly ReasoningDetail[]).filter((detail) => detail.provider === provider.account && (detail['model'] ?? mapping.externalId) === mapping.externalId);
  return own.flatMap((detail) => {
    const block = blockOf(detail);
    return block === null ? [] : [{ block, place: placeOf(detail['after']) }];
  });
}

function blockOf({ type, text, signature, data }: ReasoningDetail): ThinkingBlock['block'] | null {
  if (type === 'reasoning.encrypted') return typeof data === 'string' && data !== '' ? { type: 'redacted_thinking', data } : null;
  return typeof signature === 'string' && signature !== '' ? { type: 'thinking', thinking: typeof text === 'string' ? text : '', signature } : null;
}

function placeOf(after: unknown): BlockPlace {
  const { text, calls, parts } = fieldsOf(after);
  return { text: typeof text === 'number' ? text : 0, calls: typeof calls === 'number' ? calls : 0, ...(typeof parts === 'number' && { parts }) };
}
