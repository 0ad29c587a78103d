/**
 * Carries reasoning items through the caller. A chat message has no order between its text and its calls, so a detail names the item
 * that came after the reasoning. wire: a reasoning item without the item after it is a 400 (OpenAI: error text "without its required
 * following item").
 */
import type { Message, ReasoningDetail } from '../../../core/chat.ts';
import type { Target } from '../../../core/wire/dialect.ts';
import { type Fields, fieldsOf, isFields, listOf } from '../../../core/wire/fields.ts';

const format = 'openai-responses';

/** The item that came after the reasoning. */
export interface NextItem {
  /** `message`, or the id of a call; absent where the reasoning has its own place in a list of items. */
  readonly before?: string;
  /** The `phase` of that message, which newer models set and must get back (wire: OpenAI: Responses). */
  readonly phase?: string | undefined;
}

/** The number of a detail in its answer, and the item after it. */
interface DetailPlace extends NextItem {
  readonly index: number;
}

const textsOf = (parts: unknown): string[] =>
  listOf(parts)
    .map((part) => fieldsOf(part)['text'])
    .filter(filled);

const filled = (value: unknown): value is string => typeof value === 'string' && value !== '';

/** The `reasoning_details` entry of a complete reasoning item. Null if the item has nothing that could be sent back. */
export function detailOf(item: Fields, { provider, mapping }: Target, { index, before, phase }: DetailPlace): ReasoningDetail | null {
  const { id, encrypted_content: data } = item;
  const about = {
    provider: provider.account,
    format,
    model: mapping.externalId,
    index,
    ...(filled(id) && { id }),
    ...(before !== undefined && { before }),
    ...(phase !== undefined && { phase }),
  };
  if (filled(data)) {
    const summary = textsOf(item['summary']);
    return { type: 'reasoning.encrypted', ...about, data, ...(summary.length > 0 && { summary }) };
  }
  // wire: open models encrypt nothing, and take the text of the thought back (OpenAI: gpt-oss, Responses)
  const thought = textsOf(item['content']);
  return thought.length === 0 ? null : { type: 'reasoning.text', ...about, text: thought.join('\n\n') };
}

/** The reasoning items of one assistant message, by the item that came after each, and the `phase` of its text. */
export interface Replay {
  readonly before: ReadonlyMap<string, readonly Fields[]>;
  readonly phase: string | null;
}

const nothing: Replay = { before: new Map(), phase: null };

const noDetails: readonly Fields[] = [];

/** The details of a message that this provider issued; none for a model that does not reason. */
function issuedDetails({ reasoning_details: details }: Message, { provider, mapping }: Target): readonly Fields[] {
  // wire: other models answer 400 "Reasoning input items can only be provided to a reasoning or computer use model" (OpenAI)
  if (mapping.reasoning === null || !Array.isArray(details)) return noDetails;
  return (details as readonly unknown[]).filter(
    (detail): detail is Fields => isFields(detail) && detail['provider'] === provider.account && detail['format'] === format,
  );
}

/** The reasoning that this provider issued with a message. A detail that no longer names the item after it goes before `first`. */
export function replayOf(message: Message, first: string, target: Target): Replay {
  const issued = issuedDetails(message, target);
  if (issued.length === 0) return nothing;
  const before = new Map<string, Fields[]>();
  let phase: string | null = null;
  for (const detail of issued) {
    const item = itemOf(detail);
    if (item === null) continue;
    const next = filled(detail['before']) ? detail['before'] : first;
    const items = before.get(next);
    if (items === undefined) before.set(next, [item]);
    else items.push(item);
    if (filled(detail['phase'])) phase = detail['phase'];
  }
  return { before, phase };
}

/**
 * The reasoning items of a message whose order is known: the caller, or
 * the plugin that put the reasoning back, says where each item belongs.
 */
export interface Thoughts {
  /** The item of an entry of the order; an empty list where another provider or model issued it. */
  take(entry: Fields): readonly Fields[];
  /** The items without an entry that led to this call, or to the text. */
  before(next: string): readonly Fields[];
}

/** cost: the details are grouped once; a search among all of them for each entry takes quadratic time, 16 s for 80,000 of them. */
export function thoughtsOf(message: Message, target: Target): Thoughts {
  const issued = issuedDetails(message, target);
  const order = listOf(message.native?.fields['order']).map(fieldsOf);
  const entries = new Set(order.filter(({ type }) => type === 'reasoning').map(keyOf));
  const withEntry = Map.groupBy(
    issued.filter((detail) => entries.has(keyOf(detail))),
    keyOf,
  );
  const withoutEntry = Map.groupBy(
    issued.filter((detail) => !entries.has(keyOf(detail))),
    (detail) => detail['before'],
  );
  // the first one of a group is taken first; to take it from the end of a list is fast
  for (const details of withEntry.values()) details.reverse();
  return {
    take: (entry) => itemsOf(withEntry.get(keyOf(entry))?.splice(-1)),
    before: (next) => itemsOf(withoutEntry.get(next)?.splice(0)),
  };
}

/** What an entry of the order and its detail have in common. */
const keyOf = ({ provider, index, id }: Fields): string => JSON.stringify([provider, index, id]);

const itemsOf = (details: readonly Fields[] = noDetails): readonly Fields[] => details.map(itemOf).filter((item) => item !== null);

function itemOf({ id, data, text, summary }: Fields): Fields | null {
  const known = { type: 'reasoning', ...(filled(id) && { id }) };
  const texts = listOf(summary).filter(filled);
  const parts = texts.map((said) => ({ type: 'summary_text', text: said }));
  if (filled(data)) return { ...known, summary: parts, encrypted_content: data };
  return filled(text) ? { ...known, summary: parts, content: [{ type: 'reasoning_text', text }] } : null;
}
