/**
 * Thinking on its way out and back: a block becomes a `reasoning_details` entry, and the entry becomes the same block again on
 * the next turn, byte for byte and in its place, or it is left out.
 */
import type { Message, ReasoningDetail } from '../../../core/chat.ts';
import type { Target } from '../../../core/wire/dialect.ts';

/** What stands before a thinking block in its message: characters of text, and tool calls. */
export interface Place {
  readonly text: number;
  readonly calls: number;
}

export interface ThinkingBlock {
  readonly block: { readonly type: 'thinking'; readonly thinking: string; readonly signature: string } | { readonly type: 'redacted_thinking'; readonly data: string };
  readonly place: Place;
}

const format = 'anthropic-messages';

interface Issued {
  readonly index: number;
  readonly place: Place;
  readonly state: Pick<ReasoningDetail, 'text' | 'signature' | 'data'>;
}

/** An entry that alone is enough to build the block again. */
export function detailOf({ provider, mapping }: Target, { index, place, state }: Issued): ReasoningDetail {
  const detail: ReasoningDetail = { type: state.data === undefined ? 'reasoning.text' : 'reasoning.encrypted', provider: provider.id, format, model: mapping.externalId, index, ...state };
  return place.text === 0 && place.calls === 0 ? detail : { ...detail, after: place };
}

/**
 * The blocks that go back with a message: those that this provider and model issued, whole.
 * wire: a block of another model, or without its signature, is refused.
 */
export function thinkingOf({ reasoning_details: details }: Message, { provider, mapping }: Target): readonly ThinkingBlock[] {
  if (!Array.isArray(details)) return [];
  const own = (details as readonly ReasoningDetail[]).filter((detail) => detail.provider === provider.id && (detail['model'] ?? mapping.externalId) === mapping.externalId);
  return own.flatMap((detail) => {
    const block = blockOf(detail);
    return block === null ? [] : [{ block, place: placeOf(detail['after']) }];
  });
}

function blockOf({ type, text, signature, data }: ReasoningDetail): ThinkingBlock['block'] | null {
  if (type === 'reasoning.encrypted') return typeof data === 'string' && data !== '' ? { type: 'redacted_thinking', data } : null;
  return typeof signature === 'string' && signature !== '' ? { type: 'thinking', thinking: typeof text === 'string' ? text : '', signature } : null;
}

function placeOf(after: unknown): Place {
  const { text, calls } = (typeof after === 'object' && after !== null ? after : {}) as Partial<Place>;
  return { text: typeof text === 'number' ? text : 0, calls: typeof calls === 'number' ? calls : 0 };
}
