/** What both wire formats of Claude need to carry a block of thinking through the caller, as an entry of `reasoning_details`. */
import type { ReasoningDetail } from '../../../core/chat.ts';
import type { Target } from '../../../core/wire/dialect.ts';
import { fieldsOf } from '../../../core/wire/fields.ts';

/** The place of a block in its answer: how many characters of text (UTF-16 units) and how many tool calls come before it. */
export interface BlockPlace {
  readonly text: number;
  readonly calls: number;
  /**
   * How many parts of the content come before the block, where the caller's format has parts in their
   * order. This is exact even for parts without text, such as those of tools that the provider runs.
   */
  readonly parts?: number;
}

/** A block, its number among the thinking blocks of the answer, and its place. */
interface IssuedBlock {
  readonly format: string;
  readonly index: number;
  readonly place: BlockPlace;
  readonly state: Pick<ReasoningDetail, 'text' | 'signature' | 'data'>;
}

/** The `reasoning_details` entry of a block. The block can be built from the entry alone. */
export function detailOf({ provider, mapping }: Target, { format, index, place, state }: IssuedBlock): ReasoningDetail {
  const detail: ReasoningDetail = {
    type: state.data === undefined ? 'reasoning.text' : 'reasoning.encrypted',
    provider: provider.account,
    format,
    model: mapping.externalId,
    index,
    ...state,
  };
  return place.text === 0 && place.calls === 0 ? detail : { ...detail, after: place };
}

/** The place of a block, from `after` of its entry. */
export function placeOf(after: unknown): BlockPlace {
  const { text, calls, parts } = fieldsOf(after);
  return {
    text: typeof text === 'number' ? text : 0,
    calls: typeof calls === 'number' ? calls : 0,
    ...(typeof parts === 'number' && { parts }),
  };
}

/**
 * The place to cut a text after `units` UTF-16 units; one unit later where the cut would part a character.
 * wire: half of a character is a 400 (Anthropic: error text "not valid JSON:
 * no low surrogate in string"). A client may have changed the text since.
 */
export const cutAt = (text: string, units: number): number =>
  /^[\ud800-\udbff][\udc00-\udfff]$/.test(text.slice(Math.max(0, units - 1), units + 1)) ? units + 1 : units;
