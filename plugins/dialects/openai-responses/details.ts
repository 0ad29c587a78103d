/**
 * Carries reasoning items through the caller. A chat message has no order between its text and its calls, so a detail names the item
 * that came after the reasoning. wire: a reasoning item without the item after it is a 400 (OpenAI: error text "without its required
 * following item").
 */
import type { Message, ReasoningDetail } from '../../../core/chat.ts';
import type { Target } from '../../../core/wire/dialect.ts';

type Fields = Readonly<Record<string, unknown>>;

const format = 'openai-responses';

/** The item after the reasoning. */
export interface Place {
  /** `message`, or the id of a call. */
  readonly before: string;
  /** The `phase` of that message, which newer models set and must get back (wire: OpenAI: Responses). */
  readonly phase?: string | undefined;
}

/** Who issued a detail: the provider entry's id, and the number of the detail in the answer. */
export interface Issue extends Place {
  readonly provider: string;
  readonly index: number;
}

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);

const textsOf = (parts: unknown): string[] => (Array.isArray(parts) ? (parts as unknown[]).flatMap((part) => (isFields(part) && typeof part['text'] === 'string' && part['text'] !== '' ? [part['text']] : [])) : []);

const filled = (value: unknown): value is string => typeof value === 'string' && value !== '';

/** The `reasoning_details` entry of a complete reasoning item. Null if the item has nothing that could be sent back. */
export function detailOf(item: Fields, { provider, index, before, phase }: Issue): ReasoningDetail | null {
  const { id, encrypted_content: data } = item;
  const about = { provider, format, index, ...(filled(id) && { id }), before, ...(phase !== undefined && { phase }) };
  if (filled(data)) {
    const summary = textsOf(item['summary']);
    return { type: 'reasoning.encrypted', ...about, data, ...(summary.length > 0 && { summary }) };
  }
  // wire: open models encrypt nothing, and take the text of the thought back (OpenAI: gpt-oss, Responses)
  const thought = textsOf(item['content']);
  return thought.length === 0 ? null : { type: 'reasoning.text', ...about, text: thought.join('\n\n') };
}

/** The reasoning items of one assistant message by their place, and the `phase` of its text. */
export interface Replay {
  readonly before: ReadonlyMap<string, readonly Fields[]>;
  readonly phase: string | null;
}

const nothing: Replay = { before: new Map(), phase: null };

/** The reasoning that this provider issued with a message. A detail that has lost its place goes to `first`. */
export function replayOf(message: Message, first: string, target: Target): Replay {
  // wire: other models answer 400 "Reasoning input items can only be provided to a reasoning or computer use model" (OpenAI)
  if (target.mapping.reasoning === null || !Array.isArray(message.reasoning_details)) return nothing;
  const before = new Map<string, Fields[]>();
  let phase: string | null = null;
  for (const detail of message.reasoning_details as readonly unknown[]) {
    if (!isFields(detail) || detail['provider'] !== target.provider.id || detail['format'] !== format) continue;
    const item = itemOf(detail);
    if (item === null) continue;
    const place = filled(detail['before']) ? detail['before'] : first;
    const items = before.get(place);
    if (items === undefined) before.set(place, [item]);
    else items.push(item);
    if (filled(detail['phase'])) phase = detail['phase'];
  }
  return { before, phase };
}

function itemOf({ id, data, text, summary }: Fields): Fields | null {
  const known = { type: 'reasoning', ...(filled(id) && { id }) };
  const texts = Array.isArray(summary) ? (summary as unknown[]).filter(filled) : [];
  const parts = texts.map((said) => ({ type: 'summary_text', text: said }));
  if (filled(data)) return { ...known, summary: parts, encrypted_content: data };
  return filled(text) ? { ...known, summary: parts, content: [{ type: 'reasoning_text', text }] } : null;
}
