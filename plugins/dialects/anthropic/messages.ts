/** The conversation as the Messages API takes it: user and assistant in alternation, beginning with the user. */
import { createHash } from 'node:crypto';
import { objectIn } from '../../../core/wire/json.ts';
import type { ContentPart, Message, ToolCall } from '../../../core/chat.ts';
import type { Target } from '../../../core/wire/dialect.ts';
import { partsOf, type Turn } from '../../../core/wire/turns.ts';
import { type Block, blocksOf, isBlank, textOf, type Writing } from './content.ts';
import { thinkingOf } from './thinking.ts';

export interface WireMessage {
  readonly role: 'user' | 'assistant';
  readonly content: readonly Block[];
}

export interface Conversation {
  readonly target: Target;
  readonly writing: Writing;
  /** The model may think in this request. */
  readonly thinks: boolean;
}

/** The messages to send. Turns that have nothing to say are left out. */
export function encodeTurns(turns: readonly Turn[], conversation: Conversation): readonly WireMessage[] {
  const messages = turns.map((turn, at) => encodeTurn(turn, at === turns.length - 1, conversation)).filter(({ content }) => content.length > 0);
  if (messages[0]?.role !== 'assistant') return messages;
  // wire: the first message must be the user's
  conversation.writing.adjust('messages', 'a user message put first');
  return [{ role: 'user', content: [{ type: 'text', text: '…' }] }, ...messages];
}

function encodeTurn(turn: Turn, isLast: boolean, conversation: Conversation): WireMessage {
  const { writing } = conversation;
  if (turn.role === 'user') return { role: 'user', content: [...turn.results.map((result) => resultBlock(result, writing)), ...blocksOf(turn.parts, writing)] };
  const content = turn.messages.flatMap((message) => assistantBlocks(message, isLast, conversation));
  return { role: 'assistant', content: isLast ? withoutTrailingSpace(content, writing) : content };
}

function resultBlock(message: Message, writing: Writing): Block {
  const blocks = blocksOf(partsOf(message), writing);
  return {
    type: 'tool_result',
    tool_use_id: callId(message.tool_call_id ?? ''),
    ...(typeof message.content === 'string' && blocks.length > 0 ? { content: message.content } : blocks.length > 0 ? { content: blocks } : {}),
    ...(message['is_error'] === true ? { is_error: true } : {}),
    ...writing.breakpoints.of(message),
  };
}

/** wire: other providers' ids have `.` and `:` in them, which are refused here. Call and result get the same id. */
const callId = (id: string): string => (/^[\w-]{1,64}$/.test(id) ? id : `toolu_${createHash('sha256').update(id).digest('base64url').slice(0, 24)}`);

/** Text, then calls, as the API orders them; thinking in front, or at the place in the answer where it stood. */
function assistantBlocks(message: Message, isLast: boolean, { target, writing, thinks }: Conversation): Block[] {
  const texts = textParts(message).toReversed();
  const calls = message.tool_calls ?? [];
  const sent = { text: 0, calls: 0 };
  const blocks: Block[] = [];
  // wire: thinking at the end of a conversation that is not to think is a 400
  const thinking = isLast && !thinks ? [] : thinkingOf(message, target);
  const sendUpTo = (place: { text: number; calls: number }): void => {
    const part = takeText(texts, place.text - sent.text);
    sent.text += part.reduce((total, { text }) => total + (text?.length ?? 0), 0);
    for (const block of blocksOf(part, writing)) blocks.push(block);
    for (; sent.calls < Math.min(place.calls, calls.length); sent.calls++) blocks.push(callBlock(calls[sent.calls] as ToolCall, writing));
  };
  for (const { block, place } of thinking) {
    sendUpTo(place);
    blocks.push(block);
  }
  sendUpTo({ text: Number.POSITIVE_INFINITY, calls: Number.POSITIVE_INFINITY });
  return blocks;
}

/** A refusal that is sent back is what the assistant said. */
function textParts(message: Message): ContentPart[] {
  const parts = partsOf(message).map((part) => (part.type === 'refusal' && typeof part['refusal'] === 'string' ? { type: 'text', text: part['refusal'] } : part));
  const refusal = message['refusal'];
  return typeof refusal === 'string' && refusal !== '' ? [...parts, { type: 'text', text: refusal }] : parts;
}

/**
 * Takes `length` characters of the first parts, cutting the last one taken where it must.
 * cost: the parts come in reverse, as taking from the front would move all others each time
 */
function takeText(reversed: ContentPart[], length: number): ContentPart[] {
  const taken: ContentPart[] = [];
  for (let left = length; left > 0 && reversed.length > 0; ) {
    const part = reversed.pop() as ContentPart;
    const text = textOf(part);
    if (text.length > left) {
      reversed.push({ ...part, text: text.slice(left) });
      taken.push({ type: 'text', text: text.slice(0, left) });
    } else taken.push(part);
    left -= text.length;
  }
  return taken;
}

function callBlock(call: ToolCall, writing: Writing): Block {
  return { type: 'tool_use', id: callId(call.id), name: call.function.name, input: inputOf(call.function.arguments, writing), ...writing.breakpoints.of(call) };
}

/** wire: the input must be an object; a call without arguments has `""` at some clients. */
function inputOf(text: string, writing: Writing): Block {
  if (isBlank(text)) return {};
  const input = objectIn(text);
  if (input !== null) return input as Block;
  // a call that was cut short: what there is of it goes out as text
  writing.adjust('messages.tool_calls.function.arguments', 'wrapped in an object');
  return { arguments: text };
}

/** wire: a last assistant text that ends with white space is a 400. */
function withoutTrailingSpace(content: readonly Block[], writing: Writing): readonly Block[] {
  const last = content.at(-1);
  const text = last?.['text'];
  if (typeof text !== 'string' || text === text.trimEnd()) return content;
  writing.adjust('messages', 'trailing white space removed');
  return [...content.slice(0, -1), { ...last, text: text.trimEnd() }];
}
