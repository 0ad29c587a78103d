/** What both wire formats of Claude need to carry a block of thinking through the caller, as an entry of `reasoning_details`. */
import type { ContentPart, Message, ReasoningDetail } from '../../../core/chat.ts';
import type { Target } from '../../../core/wire/dialect.ts';
import { fieldsOf } from '../../../core/wire/fields.ts';
import { partsOf, type Turn } from '../../../core/wire/turns.ts';

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

/**
 * True if the answer continues an assistant turn whose thinking is missing. An answer continues a turn after tool results, or if the
 * caller wrote its beginning. Thinking is missing if the client did not keep `reasoning_details`, or if another model gave the turn.
 * `hasThinking` says whether a message has thinking that can go back to this provider.
 */
export function beganWithoutThinking(turns: readonly Turn[], hasThinking: (message: Message) => boolean): boolean {
  const rest = [...turns];
  let begin: readonly Message[] = [];
  for (let turn = rest.pop(); turn !== undefined; turn = rest.pop()) {
    if (turn.role === 'assistant') begin = turn.messages;
    // the text of a user begins a new turn; tool results alone continue the turn before them
    else if (turn.results.length === 0 || (turn.parts.some(isSaid) && begin.length > 0)) break;
  }
  const first = begin.find((message) => saysSomething(message) || hasThinking(message));
  return first !== undefined && !hasThinking(first);
}

const saysSomething = (message: Message): boolean =>
  (message.tool_calls ?? []).length > 0 || typeof message['refusal'] === 'string' || partsOf(message).some(isSaid);

/** False for a blank text, which is not sent. */
const isSaid = ({ type, text }: ContentPart): boolean => type !== 'text' || text?.trim() !== '';
