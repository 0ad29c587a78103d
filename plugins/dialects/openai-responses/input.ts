/** Encodes the messages of a chat as items of `input`. */
import type { Adjust } from '../../../core/wire/adjustments.ts';
import type { ContentPart, Message, ToolCall } from '../../../core/chat.ts';
import type { Target } from '../../../core/wire/dialect.ts';
import { type Fields, fieldsOf, isFields, listOf } from '../../../core/wire/fields.ts';
import { fieldsIn } from '../../../core/wire/json.ts';
import { GatewayError } from '../../../core/errors.ts';
import { listOfParts, withPairedResults } from '../../../core/wire/turns.ts';
import { callIdFrom, CallIds } from '../families/calls.ts';
import { replayOf, thoughtsOf } from './details.ts';
import type { Habits } from './habits.ts';

/** An item of `input`, or a part of one. */
type Item = Fields;

/** What the encoding of a message depends on. */
interface InputWays extends Conversation {
  readonly callIds: CallIds;
}

/** What the encoding of a conversation depends on. */
interface Conversation {
  readonly target: Target;
  readonly habits: Habits;
  /** True: the caller speaks this API too. */
  readonly isOwn: boolean;
  readonly adjust: Adjust;
}

/** Encodes the messages as `input`. Throws `unsupported_value` for a part that the API cannot carry, with its path. */
export function encodeInput(given: readonly Message[], conversation: Conversation): readonly Item[] {
  const ways = { ...conversation, callIds: new CallIds(shortId) };
  const messages = withPairedResults(given, ways.adjust);
  const items = messages.flatMap((message, at) => {
    for (const [field, value] of Object.entries(message)) {
      if (!knownFields.has(field) && value !== null && value !== undefined) ways.adjust(`messages.${field}`, 'dropped');
    }
    return itemsOf(message, `messages[${at}]`, ways);
  });
  if (items.length > 0 || messages.length === 0) return items;
  // wire: an empty input is a 400 (OpenAI: error text "One of "input" or "previous_response_id" ... must be provided")
  ways.adjust('messages', 'an empty user message filled in');
  return [{ role: 'user', content: [{ type: 'input_text', text: '…' }] }];
}

/**
 * Fields that are encoded here, and fields that only answers have: a caller
 * who sends an answer back unchanged does not ask for anything by them.
 */
const knownFields = new Set([
  'role',
  'content',
  'tool_calls',
  'tool_call_id',
  'refusal',
  'reasoning',
  'reasoning_content',
  'reasoning_details',
  'annotations',
  'citations',
  'search_results',
  'images',
  'native',
]);

function itemsOf(message: Message, path: string, ways: InputWays): readonly Item[] {
  const own = message.native?.fields ?? {};
  const { tool_call_id: answered } = message;
  if (isFields(own['item'])) return [answered === undefined ? own['item'] : { ...own['item'], call_id: ways.callIds.ofResult(answered) }];
  switch (message.role) {
    case 'system':
    case 'developer':
      return [{ role: ways.habits.hasOnlySystem ? 'system' : message.role, content: partsOf(message.content, path, ways), ...own }];
    case 'user':
      return [{ role: 'user', content: partsOf(message.content, path, ways), ...own }];
    case 'assistant':
      return orderedItems(message, { path, ways }) ?? assistantItems(message, path, ways);
    case 'tool':
      return [
        {
          type: 'function_call_output',
          call_id: ways.callIds.ofResult(answered ?? ''),
          output: outputOf(message.content, path, ways),
          ...own,
        },
      ];
    default:
      return message.role satisfies never;
  }
}

type Content = Message['content'];

function partsOf(content: Content, path: string, ways: InputWays): readonly Item[] {
  if (typeof content === 'string') return [{ type: 'input_text', text: content }];
  return (content ?? []).map((part, at) => partOf(part, `${path}.content[${at}]`, ways));
}

/**
 * The `output` of a tool result.
 * wire: every server takes a string; a list is only for results with images and files (OpenAI: Responses).
 */
function outputOf(content: Content, path: string, ways: InputWays): string | readonly Item[] {
  if (typeof content === 'string') return content;
  const parts = partsOf(content, path, ways);
  return parts.every(({ type }) => type === 'input_text') ? parts.map(({ text }) => text).join('\n') : parts;
}

/** The other fields of a part. Only a cache breakpoint is sent, because it is the same on both APIs. */
function sideFields(part: ContentPart, own: string, ways: InputWays): Item {
  const kept: Record<string, unknown> = { ...part.native?.fields };
  for (const [field, value] of Object.entries(part)) {
    if (field === 'type' || field === own || field === 'native') continue;
    if (field === 'prompt_cache_breakpoint') kept[field] = value;
    else ways.adjust(`messages.content.${field}`, 'dropped');
  }
  return kept;
}

function partOf(part: ContentPart, path: string, ways: InputWays): Item {
  if (part.native?.isAll === true) return part.native.fields;
  const inner = part[part.type];
  const own = fieldsOf(inner);
  switch (part.type) {
    case 'text':
      return { type: 'input_text', text: part.text ?? '', ...sideFields(part, 'text', ways) };
    case 'image_url': {
      const { url = inner, detail } = own;
      return { type: 'input_image', image_url: url, ...(detail !== undefined && { detail }), ...sideFields(part, 'image_url', ways) };
    }
    case 'file':
      return { type: 'input_file', ...fileOf(own), ...sideFields(part, 'file', ways) };
    case 'input_audio':
      if (!ways.isOwn) throw unsupported('The Responses API takes no audio.', path);
      return part;
    default:
      throw unsupported(`A content part of the type "${part.type}" cannot be sent by the Responses API.`, path);
  }
}

const unsupported = (message: string, param: string): GatewayError => new GatewayError('unsupported_value', message, { param });

/** wire: `file_data` needs a `filename`, and `file_url` takes none (OpenAI: File inputs). */
function fileOf({ file_id: id, filename, file_data: data }: Item): Item {
  if (id !== undefined) return { file_id: id };
  if (typeof data === 'string' && /^https?:\/\//.test(data)) return { file_url: data };
  return { filename: filename ?? 'document.pdf', file_data: data };
}

/**
 * The items of an assistant message: text, then calls, each directly after the reasoning that led to it. The items get no ids, because
 * with an id the API asks for the reasoning item of that answer, which the caller may not have kept.
 */
function assistantItems(message: Message, path: string, ways: InputWays): readonly Item[] {
  const content = assistantContent(message, path, ways);
  const calls = message.tool_calls ?? [];
  const { before, phase } = replayOf(message, content === null ? (calls[0]?.id ?? '') : 'message', ways.target);
  // safety: no `push(...)`, as in `orderedItems`
  const said = content === null ? [] : [...(before.get('message') ?? []), { role: 'assistant', content, ...(phase !== null && { phase }) }];
  return [...said, ...calls.flatMap((call) => [...(before.get(call.id) ?? []), callOf(call, ways)])];
}

/**
 * The content of an assistant message, or null if it is empty. wire: every server takes a string; with `output_text` parts vLLM and
 * OpenRouter need an id, a status and annotations as well (vLLM and OpenRouter, as of 2026-11).
 */
function assistantContent({ content, refusal }: Message, path: string, ways: InputWays): string | readonly Item[] | null {
  const refused = typeof refusal === 'string' && refusal !== '' ? [{ type: 'refusal', refusal }] : [];
  if (refused.length === 0 && typeof content === 'string') return content === '' ? null : content;
  const said = listOfParts(content)
    .filter(({ type, text }) => type !== 'text' || text !== '')
    .map((part, at) => saidPart(part, `${path}.content[${at}]`, ways));
  return said.length + refused.length === 0 ? null : [...said, ...refused];
}

/** The text of a list that holds one text and nothing else; null for any other. */
function plainText([only, ...others]: readonly ContentPart[]): string | null {
  return only?.type === 'text' && only.native === undefined && others.length === 0 ? (only.text ?? '') : null;
}

function saidPart(part: ContentPart, path: string, ways: InputWays): Item {
  if (part.native?.isAll === true) return part.native.fields;
  switch (part.type) {
    case 'text':
      return { type: 'output_text', text: part.text ?? '', ...sideFields(part, 'text', ways) };
    case 'refusal':
      return { type: 'refusal', refusal: part['refusal'] };
    default:
      throw unsupported(`An assistant's message cannot hold a part of the type "${part.type}".`, path);
  }
}

/** wire: a `call_id` may have at most 64 characters (OpenAI: Responses), and other providers have given longer ones. */
const shortId = (id: string): string => (id.length <= 64 ? id : callIdFrom(id));

function callOf({ id, function: { name, arguments: input }, native }: ToolCall, { habits, callIds }: InputWays): Item {
  const own = native?.fields ?? {};
  const callId = callIds.ofCall(id);
  if (isFields(own['item'])) return { ...own['item'], call_id: callId };
  const plain = own['type'] === 'custom_tool_call' ? inputIn(input) : null;
  return {
    type: 'function_call',
    ...(habits.needsItemIds && { id: `fc_${callId}` }),
    call_id: callId,
    name,
    ...(plain === null ? { arguments: input === '' ? '{}' : input } : { input: plain }),
    ...own,
  };
}

/** The plain text of a custom tool's call, which the gateway keeps as the arguments of a function with one parameter. */
function inputIn(json: string): string {
  const input = fieldsIn(json)?.['input'];
  // where a plugin has changed the arguments, they are the text itself
  return typeof input === 'string' ? input : json;
}

/**
 * The items of an assistant message in the order in which the caller sent them, for a caller who speaks this API.
 * Null where the message has no order, or a plugin has changed the message so that the order does not fit any more.
 */
function orderedItems(message: Message, { path, ways }: { path: string; ways: InputWays }): readonly Item[] | null {
  const order = listOf(message.native?.fields['order']).map(fieldsOf);
  if (order.length === 0) return null;
  const parts = listOfParts(message.content);
  const calls = message.tool_calls ?? [];
  const wanted = order.reduce((sum, { type, parts: some }) => sum + (type === 'message' ? Number(some) : 0), 0);
  if (wanted !== parts.length || order.filter(({ type }) => type === 'call').length !== calls.length) return null;
  const thoughts = thoughtsOf(message, ways.target);
  const items: Item[] = [];
  // safety: no `push(...)`, which overflows the stack where a caller sends some hundred thousand details
  const think = (led: readonly Item[]): void => led.forEach((item) => items.push(item));
  let part = 0;
  let call = 0;
  for (const entry of order) {
    switch (entry['type']) {
      case 'item':
        items.push(fieldsOf(entry['item']));
        break;
      case 'reasoning':
        think(thoughts.take(entry));
        break;
      case 'call': {
        const next = calls[call++] as ToolCall;
        think(thoughts.before(next.id));
        items.push(callOf(next, ways));
        break;
      }
      default: {
        const some = parts.slice(part, (part += Number(entry['parts'])));
        const content = assistantContent({ role: 'assistant', content: plainText(some) ?? some }, path, ways) ?? '';
        think(thoughts.before('message'));
        items.push({ role: 'assistant', content, ...fieldsOf(entry['fields']) });
      }
    }
  }
  // wire: reasoning without the item that it led to is a 400 (OpenAI: error text "without its required following item")
  return items.slice(0, items.findLastIndex(({ type }) => type !== 'reasoning') + 1);
}
