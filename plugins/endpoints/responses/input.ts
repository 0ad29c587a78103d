/** The messages of a kept request as items of this API: the way back from `items.ts` and `content.ts`. */
import type { ContentPart, Message, ReasoningDetail, ToolCall } from '../../../core/chat.ts';
import { wrongValue } from '../../../core/wire/checks.ts';
import { type Fields, fieldsOf, isFields, listOf, textOf } from '../../../core/wire/fields.ts';
import { fieldsIn } from '../../../core/wire/json.ts';
import { listOfParts } from '../../../core/wire/turns.ts';
import { listedId } from './items.ts';
import { opaqueOf } from './thoughts.ts';
import { shown } from './tools.ts';
import type { InputItem, InputItemPage } from './wire.ts';

/**
 * The items of a conversation, each with an id. An item keeps the id of its provider.
 * safety: no id is there twice, or a client would read the same page for ever.
 * @param hex of the id of the response
 */
export function inputItems(messages: readonly Message[], hex: string, wantsState: boolean): readonly InputItem[] {
  const seen = new Set<unknown>();
  return messages.flatMap(itemsIn).map((item, at) => {
    const { type, id: own, ...more } = { ...item, ...changed(item, wantsState) };
    const id = textOf(own) === null || seen.has(own) ? listedId(hex, at) : (own as string);
    seen.add(id);
    return { id, type: type as string, ...more };
  });
}

/** What an item shows in another way than it was sent. */
const changed = ({ type, tools }: Fields, wantsState: boolean): Fields => ({
  ...(type === 'reasoning' && !wantsState && { encrypted_content: undefined }),
  ...(Array.isArray(tools) && { tools: tools.map((tool: unknown) => (isFields(tool) ? shown(tool) : tool)) }),
});

/** wire: the newest items come first, 20 on a page, and a page has at most 100 (OpenAI: List input items) */
export function pageOf(items: readonly InputItem[], query: URLSearchParams): InputItemPage {
  const order = query.get('order') ?? 'desc';
  if (order !== 'asc' && order !== 'desc') throw wrongValue('order', 'must be "asc" or "desc"');
  const limit = Number(query.get('limit') ?? 20);
  if (!Number.isInteger(limit) || limit < 1 || limit > 100) throw wrongValue('limit', 'must be a whole number from 1 to 100');
  const ordered = order === 'asc' ? items : items.toReversed();
  const after = query.get('after');
  const before = after === null ? -1 : ordered.findIndex(({ id }) => id === after);
  if (after !== null && before < 0) throw wrongValue('after', 'names no input item of this response');
  const data = ordered.slice(before + 1, before + 1 + limit);
  return {
    object: 'list',
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: before + 1 + limit < ordered.length,
  };
}

function itemsIn(message: Message): readonly Fields[] {
  const { role, content, native, tool_call_id: callId } = message;
  const own = native?.fields ?? {};
  if (isFields(own['item'])) return [own['item']];
  if (role === 'assistant') return turnOf(message);
  if (role === 'tool') {
    const output = typeof content === 'string' ? content : partsIn(content, 'input_text');
    return [{ type: 'function_call_output', status: 'completed', call_id: callId, output, ...own }];
  }
  return [{ type: 'message', status: 'completed', role, content: partsIn(content, 'input_text'), ...own }];
}

/** What the model said in one turn. Where a plugin has changed the message so that its order does not fit, the text comes before the calls. */
function turnOf(message: Message): readonly Fields[] {
  const { content, tool_calls: calls = [], reasoning_details: details = [], reasoning, native } = message;
  const parts = partsIn(content, 'output_text');
  const images = listOf(message['images']);
  const given = listOf(native?.fields['order']).map(fieldsOf);
  const text = { type: 'message', parts: parts.length };
  const usual = [...(parts.length + images.length > 0 ? [text] : []), ...calls.map(() => ({ type: 'call' }))];
  const order: readonly Fields[] = fits(given, parts.length, calls.length) ? given : usual;
  const placed = order.filter(({ type }) => type === 'reasoning').length;
  const thoughts = details.map(thoughtOf);
  const said = textOf(reasoning);
  // the text of a thought without a state is in the message alone
  if (said !== null && !thoughts.some(({ summary }) => listOf(summary).length > 0)) {
    thoughts[0] = { type: 'reasoning', ...thoughts[0], summary: summaryOf([said]) };
  }
  let [part, call, thought] = [0, 0, Math.max(0, thoughts.length - placed)];
  const first = thoughts.slice(0, thought);
  const last = order.findLastIndex(({ type }) => type === 'message');
  const rest = order.flatMap((entry, at): Fields | readonly Fields[] => {
    if (entry['type'] === 'item') return fieldsOf(entry['item']);
    if (entry['type'] === 'reasoning') return thoughts[thought++] ?? [];
    if (entry['type'] === 'call') return callOf(calls[call++] as ToolCall);
    const some = parts.slice(part, (part += Number(entry['parts'])));
    const drawn = at === last && images.length > 0 ? { images } : {};
    return { type: 'message', status: 'completed', role: 'assistant', content: some, ...fieldsOf(entry['fields']), ...drawn };
  });
  return [...first, ...rest];
}

const fits = (order: readonly Fields[], parts: number, calls: number): boolean =>
  order.length > 0 &&
  order.reduce((sum, { type, parts: some }) => sum + (type === 'message' ? Number(some) : 0), 0) === parts &&
  order.filter(({ type }) => type === 'call').length === calls;

const summaryOf = (texts: readonly string[]): readonly Fields[] => texts.map((text) => ({ type: 'summary_text', text }));

function thoughtOf(detail: ReasoningDetail): Fields {
  const { text, summary } = detail;
  const texts = [text, ...(Array.isArray(summary) ? (summary as unknown[]) : [summary])].filter(
    (words) => textOf(words) !== null,
  ) as string[];
  return { type: 'reasoning', summary: summaryOf(texts), encrypted_content: opaqueOf(detail, texts) };
}

function callOf({ id, function: { name, arguments: given }, native }: ToolCall): Fields {
  const own = native?.fields ?? {};
  if (isFields(own['item'])) return own['item'];
  const { input } = own['type'] === 'custom_tool_call' ? { input: given, ...fieldsIn(given) } : {};
  return {
    type: 'function_call',
    status: 'completed',
    call_id: id,
    name,
    ...(input === undefined ? { arguments: given } : { input }),
    ...own,
  };
}

const partsIn = (content: Message['content'], text: 'input_text' | 'output_text'): readonly Fields[] =>
  listOfParts(content).map((part) => partOf(part, text));

function partOf(part: ContentPart, text: 'input_text' | 'output_text'): Fields {
  const { native, ...given } = part;
  const own = native?.fields ?? {};
  if (native?.isAll === true) return part.type === 'input_image' ? { detail: 'auto', ...own } : own;
  const inner = fieldsOf(part[part.type]);
  switch (part.type) {
    case 'text':
      return { type: text, text: part.text ?? '', ...(text === 'output_text' && { annotations: [] }), ...own };
    case 'image_url':
      return { type: 'input_image', image_url: inner['url'], detail: inner['detail'] ?? 'auto', ...own };
    case 'file': {
      const { file_data: data, ...named } = inner;
      const field = typeof data === 'string' && /^https?:\/\//.test(data) ? 'file_url' : 'file_data';
      return { type: 'input_file', ...named, ...(data !== undefined && { [field]: data }), ...own };
    }
    default:
      return { ...given, ...own };
  }
}
