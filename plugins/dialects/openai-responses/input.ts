/** Encodes the messages of a chat as items of `input`. */
import type { ContentPart, Message, ToolCall } from '../../../core/chat.ts';
import type { Target } from '../../../core/wire/dialect.ts';
import { type Fields, fieldsOf } from '../../../core/wire/fields.ts';
import { GatewayError } from '../../../core/errors.ts';
import { replayOf } from './details.ts';
import type { Habits } from './habits.ts';

/** An item of `input`, or a part of one. */
type Item = Fields;

/** What the encoding of a message depends on. */
export interface InputWays {
  readonly target: Target;
  readonly habits: Habits;
  /** Is called with each field that is dropped. */
  dropped(parameter: string): void;
}

/** Encodes the messages as `input`. Throws `unsupported_value` for a part that the API cannot carry, with its path. */
export const encodeInput = (messages: readonly Message[], ways: InputWays): readonly Item[] =>
  messages.flatMap((message, at) => {
    for (const [field, value] of Object.entries(message)) if (!knownFields.has(field) && value !== null && value !== undefined) ways.dropped(`messages.${field}`);
    return itemsOf(message, `messages[${at}]`, ways);
  });

/** Fields that are encoded here, and fields that only answers have: a caller who sends an answer back unchanged does not ask for anything by them. */
const knownFields = new Set(['role', 'content', 'tool_calls', 'tool_call_id', 'refusal', 'reasoning', 'reasoning_content', 'reasoning_details', 'annotations', 'citations', 'search_results', 'images']);

function itemsOf(message: Message, path: string, ways: InputWays): readonly Item[] {
  switch (message.role) {
    case 'system':
    case 'developer':
      return [{ role: ways.habits.hasOnlySystem ? 'system' : message.role, content: partsOf(message.content, path, ways) }];
    case 'user':
      return [{ role: 'user', content: partsOf(message.content, path, ways) }];
    case 'assistant':
      return assistantItems(message, path, ways);
    case 'tool':
      return [{ type: 'function_call_output', call_id: message.tool_call_id, output: outputOf(message.content, path, ways) }];
    default:
      return message.role satisfies never;
  }
}

type Content = Message['content'];

function partsOf(content: Content, path: string, ways: InputWays): readonly Item[] {
  if (typeof content === 'string') return [{ type: 'input_text', text: content }];
  return (content ?? []).map((part, at) => partOf(part, `${path}.content[${at}]`, ways));
}

/** The `output` of a tool result. wire: every server takes a string; a list is only for results with images and files (OpenAI: Responses). */
function outputOf(content: Content, path: string, ways: InputWays): string | readonly Item[] {
  if (typeof content === 'string') return content;
  const parts = partsOf(content, path, ways);
  return parts.every(({ type }) => type === 'input_text') ? parts.map(({ text }) => text).join('\n') : parts;
}

/** The other fields of a part. Only a cache breakpoint is sent, because it is the same on both APIs. */
function sideFields(part: ContentPart, own: string, ways: InputWays): Item {
  const kept: Record<string, unknown> = {};
  for (const [field, value] of Object.entries(part)) {
    if (field === 'type' || field === own) continue;
    if (field === 'prompt_cache_breakpoint') kept[field] = value;
    else ways.dropped(`messages.content.${field}`);
  }
  return kept;
}

function partOf(part: ContentPart, path: string, ways: InputWays): Item {
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
      throw unsupported('The Responses API takes no audio.', path);
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
  const items: Item[] = [];
  if (content !== null) items.push(...(before.get('message') ?? []), { role: 'assistant', content, ...(phase !== null && { phase }) });
  for (const call of calls) items.push(...(before.get(call.id) ?? []), callOf(call, ways));
  return items;
}

/**
 * The content of an assistant message, or null if it is empty. wire: every server takes a string; with `output_text` parts vLLM and
 * OpenRouter need an id, a status and annotations as well (vLLM and OpenRouter, as of 2026-11).
 */
function assistantContent({ content, refusal }: Message, path: string, ways: InputWays): string | readonly Item[] | null {
  const refused = typeof refusal === 'string' && refusal !== '' ? [{ type: 'refusal', refusal }] : [];
  if (refused.length === 0 && typeof content === 'string') return content === '' ? null : content;
  const parts: readonly ContentPart[] = typeof content === 'string' ? [{ type: 'text', text: content }] : (content ?? []);
  const said = parts.filter(({ type, text }) => type !== 'text' || text !== '').map((part, at) => saidPart(part, `${path}.content[${at}]`, ways));
  return said.length + refused.length === 0 ? null : [...said, ...refused];
}

function saidPart(part: ContentPart, path: string, ways: InputWays): Item {
  switch (part.type) {
    case 'text':
      return { type: 'output_text', text: part.text ?? '', ...sideFields(part, 'text', ways) };
    case 'refusal':
      return { type: 'refusal', refusal: part['refusal'] };
    default:
      throw unsupported(`An assistant's message cannot hold a part of the type "${part.type}".`, path);
  }
}

const callOf = ({ id, function: { name, arguments: input } }: ToolCall, { habits }: InputWays): Item => ({
  type: 'function_call',
  ...(habits.needsItemIds && { id: `fc_${id}` }),
  call_id: id,
  name,
  arguments: input === '' ? '{}' : input,
});
