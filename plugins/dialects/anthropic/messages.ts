/** Encodes a conversation for the Messages API, in which user and assistant alternate and the user comes first. */
import type { ContentPart, Message, ToolCall } from '../../../core/chat.ts';
import type { Target } from '../../../core/wire/dialect.ts';
import { partsOf, type Turn, turnsOf, withResultsAtCalls } from '../../../core/wire/turns.ts';
import { textOf } from '../../../core/wire/fields.ts';
import { argumentsIn, callIdFrom } from '../families/calls.ts';
import { refusesPrefill } from '../families/claude.ts';
import { type BlockPlace, cutAt } from '../families/thinking-blocks.ts';
import { type Block, blocksOf, type Writing } from './content.ts';
import { nativeOf } from './form.ts';
import { thinkingOf } from './thinking.ts';

/** The text of a message that has none. */
export const dots: Block = { type: 'text', text: '…' };

/** A message of the Messages API. */
export interface WireMessage {
  readonly role: 'user' | 'assistant' | 'system';
  readonly content: readonly Block[];
}

/** What the encoding of a message depends on. */
export interface Conversation {
  readonly target: Target;
  readonly writing: Writing;
  /** True if the model may think in this request. */
  readonly thinks: boolean;
}

/** Instructions between two turns. */
interface Instructions {
  readonly role: 'system';
  readonly parts: readonly ContentPart[];
}

/** The turns, and the instructions between them if `mayInstructLater` allows such instructions; for all other requests see `turnsOf`. */
export function turnsWithInstructions(given: readonly Message[]): readonly (Turn | Instructions)[] {
  const messages = withResultsAtCalls(given, { inTurns: true });
  const start = messages.findIndex(({ role }) => role !== 'system' && role !== 'developer');
  const turns: (Turn | Instructions)[] = [];
  let section: Message[] = [];
  const close = (): void => {
    for (const turn of turnsOf(section).turns) turns.push(turn);
    section = [];
  };
  for (const message of start < 0 ? [] : messages.slice(start)) {
    if (message.role === 'system') {
      close();
      turns.push({ role: 'system', parts: partsOf(message) });
    } else section.push(message);
  }
  close();
  return turns;
}

/**
 * Encodes the turns as messages. Turns of the assistant without content are left out, and a user message without
 * content becomes `…`. If the first turn is the assistant's, a user message `…` is put before it, and noted; if
 * the last one is, and the model takes no beginning of its answer, such a message is put behind it, but not behind a paused answer.
 */
export function encodeTurns(turns: readonly (Turn | Instructions)[], conversation: Conversation): readonly WireMessage[] {
  const endsAsUser = refusesPrefill(conversation.target) && !isPaused(turns.at(-1));
  const messages = turns
    .map((turn, at) => encodeTurn(turn, at === turns.length - 1 && !endsAsUser, conversation))
    .filter(({ content }) => content.length > 0);
  const { adjust } = conversation.writing;
  // wire: the first message must be a user message (Anthropic: Errors, "first message must use the user role")
  const isBegun = messages[0]?.role !== 'assistant';
  if (!isBegun) adjust('messages', 'a user message put first');
  const isEnded = !endsAsUser || messages.at(-1)?.role !== 'assistant';
  if (!isEnded) adjust('messages', 'a user message put last');
  return [...(isBegun ? [] : [asUser]), ...messages, ...(isEnded ? [] : [asUser])];
}

/**
 * Whether the provider paused the answer behind a block of its own: a tool that it runs, or a summary.
 * wire: sent back as it is, such an answer goes on, at models without prefill too (Anthropic: Handling stop reasons, `pause_turn`;
 * Compaction, `pause_after_compaction`); with a message behind it, a tool that still runs has no result
 */
function isPaused(turn: Turn | Instructions | undefined): boolean {
  const last = turn?.role === 'assistant' ? turn.messages.at(-1) : undefined;
  return last !== undefined && partsOf(last).at(-1)?.native?.fields['type'] !== undefined;
}

const asUser: WireMessage = { role: 'user', content: [dots] };

function encodeTurn(turn: Turn | Instructions, isLast: boolean, conversation: Conversation): WireMessage {
  const { writing } = conversation;
  if (turn.role === 'system') return { role: 'system', content: blocksOf(turn.parts, writing) };
  if (turn.role === 'user') return { role: 'user', content: saidBy(turn, writing) };
  const content = turn.messages.flatMap((message) => assistantBlocks(message, isLast, conversation));
  return { role: 'assistant', content: isLast ? withoutTrailingSpace(content, writing) : content };
}

function saidBy({ results, parts }: Turn & { role: 'user' }, writing: Writing): Block[] {
  const content = [...results.map((result) => resultBlock(result, writing)), ...blocksOf(parts, writing)];
  if (content.length > 0) return content;
  // wire: without this message the answer before it would be the last message, which newer models refuse (Anthropic: Prefill)
  writing.adjust('messages', 'an empty user message filled in');
  return [dots];
}

function resultBlock(message: Message, writing: Writing): Block {
  const isError = message['is_error'] === true;
  const content = resultContent(message, isError, writing);
  return {
    type: 'tool_result',
    tool_use_id: writing.callIds.ofResult(message.tool_call_id ?? ''),
    ...(content !== null && { content }),
    ...(isError && { is_error: true }),
    ...nativeOf(message),
    ...writing.breakpoints.of(message),
  };
}

/** The content of a result; null where it is empty. */
function resultContent(message: Message, isError: boolean, writing: Writing): string | readonly Block[] | null {
  const blocks = blocksOf(partsOf(message), writing);
  if (blocks.length > 0) return typeof message.content === 'string' ? message.content : blocks;
  if (!isError) return null;
  // wire: a failed call's result without content is a 400 (Anthropic: error text
  // "content cannot be empty if `is_error` is true"), at each later turn too
  writing.adjust('messages', 'an empty tool result filled in');
  return '…';
}

/**
 * wire: an id must match `^[a-zA-Z0-9_-]+$` (Anthropic: error text of `tool_use.id`), and
 * ids of other providers have `.` and `:`. A hash gives the call and its result the same id.
 */
export const callId = (id: string): string => (/^[\w-]{1,64}$/.test(id) ? id : callIdFrom(id, 'toolu'));

/**
 * The blocks of an assistant message: texts, then calls. A thinking block, and a block
 * of a tool that the provider ran, goes to the place in the answer where it was.
 */
function assistantBlocks(message: Message, isLast: boolean, { target, writing, thinks }: Conversation): Block[] {
  const texts = textParts(message).toReversed();
  const calls = message.tool_calls ?? [];
  const sent = { text: 0, calls: 0, parts: 0 };
  const blocks: Block[] = [];
  // wire: while thinking is off, a last turn with thinking blocks is a 400 (Anthropic: Extended thinking)
  const thinking = isLast && !thinks ? [] : thinkingOf(message, target);
  const sendCalls = (upTo: number): void => {
    for (; sent.calls < Math.min(upTo, calls.length); sent.calls++) blocks.push(callBlock(calls[sent.calls] as ToolCall, writing));
  };
  const sendUpTo = (place: BlockPlace): void => {
    const taken = place.parts === undefined ? takeText(texts, place.text - sent.text) : takeParts(texts, place.parts - sent.parts);
    sent.text += taken.reduce((total, { text }) => total + (text?.length ?? 0), 0);
    sent.parts += taken.length;
    for (const part of taken) {
      sendCalls(part.native?.afterCalls ?? 0);
      blocks.push(...blocksOf([part], writing));
    }
    sendCalls(place.calls);
  };
  for (const { block, place } of thinking) {
    sendUpTo(place);
    blocks.push(block);
  }
  sendUpTo({ text: Number.POSITIVE_INFINITY, calls: Number.POSITIVE_INFINITY });
  return blocks;
}

/** The texts of an assistant message. A refusal goes out as text, because it is what the assistant said. */
function textParts(message: Message): ContentPart[] {
  const parts = partsOf(message).map((part) =>
    part.type === 'refusal' && typeof part['refusal'] === 'string' ? { type: 'text', text: part['refusal'] } : part,
  );
  const refusal = message['refusal'];
  return typeof refusal === 'string' && refusal !== '' ? [...parts, { type: 'text', text: refusal }] : parts;
}

/** Takes the first parts. */
const takeParts = (reversed: ContentPart[], count: number): ContentPart[] =>
  reversed.splice(Math.max(0, reversed.length - Math.max(0, count))).toReversed();

/**
 * Takes the first `length` characters out of the parts. The last part that is taken may be cut.
 * cost: the parts are in reverse order, because removing the first item of a list moves all others.
 */
function takeText(reversed: ContentPart[], length: number): ContentPart[] {
  const taken: ContentPart[] = [];
  for (let left = length; left > 0 && reversed.length > 0;) {
    const part = reversed.pop() as ContentPart;
    const text = textOf(part.text) ?? '';
    const cut = cutAt(text, left);
    if (text.length > cut) {
      reversed.push({ ...part, text: text.slice(cut) });
      taken.push({ type: 'text', text: text.slice(0, cut) });
    } else taken.push(part);
    left -= text.length;
  }
  return taken;
}

/** wire: `input` must be an object (Anthropic: Messages). */
function callBlock(call: ToolCall, writing: Writing): Block {
  return {
    type: 'tool_use',
    id: writing.callIds.ofCall(call.id),
    name: call.function.name,
    input: argumentsIn(call.function.arguments, writing.adjust),
    ...nativeOf(call),
    ...writing.breakpoints.of(call),
  };
}

/**
 * wire: a last assistant text that ends with white space is a 400 (Anthropic:
 * Errors, "final assistant content cannot end with trailing whitespace").
 */
function withoutTrailingSpace(content: readonly Block[], writing: Writing): readonly Block[] {
  const last = content.at(-1);
  const text = last?.['text'];
  if (typeof text !== 'string' || text === text.trimEnd()) return content;
  writing.adjust('messages', 'trailing white space removed');
  return [...content.slice(0, -1), { ...last, text: text.trimEnd() }];
}
