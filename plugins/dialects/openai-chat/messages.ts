/** Encodes messages in the way that one vendor takes them. Parts that need no change go out as the same object. */
import type { Adjust } from '../../../core/wire/adjustments.ts';
import type { ContentPart, Message, ToolCall } from '../../../core/chat.ts';
import { fieldsOf, listOf, textOf } from '../../../core/wire/fields.ts';
import { listOfParts, withResultsAtCalls, withPairedResults } from '../../../core/wire/turns.ts';
import { callIdFrom, CallIds, nineCharacters } from '../families/calls.ts';
import { extrasOf, issuedDetails } from './details.ts';
import type { Habits, Vendor } from './habits.ts';

/** What the encoding of a message depends on. */
export interface MessageWays {
  readonly vendor: Vendor;
  readonly habits: Habits;
  /** The id of the provider entry. Opaque reasoning goes back only to the provider that issued it. */
  readonly provider: string;
  readonly adjust: Adjust;
}

/** Fields that only answers have. A caller who sends an answer back unchanged does not ask for anything by them. */
const answerFields = ['reasoning', 'reasoning_content', 'reasoning_details', 'annotations', 'citations', 'search_results', 'images'];

/** Encodes the messages of a request. */
export function encodeMessages(sent: readonly Message[], ways: MessageWays): readonly Message[] {
  const given = withPairedResults(sent, ways.adjust);
  const ordered = withResultsAtCalls(given, { inTurns: false });
  if (ordered !== given) ways.adjust('messages', 'results of tools put behind their calls');
  const plain = ways.vendor.textResults === true ? withMediaBehind(ordered) : ordered;
  if (plain !== ordered) ways.adjust('messages', 'images and files of tool results put behind the results');
  const messages = ways.habits.instructions === 'first' ? withFirstInstructions(plain, ways) : plain;
  const turns = messages.findIndex(({ role }) => !isInstruction(role));
  const leading = turns === -1 ? messages.length : turns;
  const encoded = messages.map((message, at) =>
    encodeMessage(
      ways.vendor.takesRefusal === true ? message : withSaidRefusal(message),
      roleOf(message.role, at < leading, ways.habits),
      ways,
    ),
  );
  const own = withOwnIds(encoded, ways.vendor);
  if (ways.habits.answersResults === true) return withAnsweredResults(own, ways);
  return ways.vendor.alternates === true ? withTurns(own, ways) : own;
}

/**
 * The messages with the images and files of tool results behind the results, in a message of the user; the same list where there are none.
 * wire: 400 "Image URLs are only allowed for messages with role 'user', but this message with role 'tool' contains
 * an image URL" (OpenHands/OpenHands#7700, 2025-04); Mistral takes texts only too (LibreChat-AI/agents#344, 2026-07)
 */
export function withMediaBehind(messages: readonly Message[]): readonly Message[] {
  if (!messages.some((message) => message.role === 'tool' && hasMedia(message))) return messages;
  const moved: Message[] = [];
  let behind: ContentPart[] = [];
  for (const [at, message] of messages.entries()) {
    if (message.role === 'tool' && hasMedia(message)) {
      const parts = listOfParts(message.content);
      const texts = parts.filter(isText);
      moved.push({ ...message, content: texts.length > 0 ? texts : 'See the message after the results.' });
      behind.push({ type: 'text', text: `The tool call ${message.tool_call_id ?? ''} gave this:` });
      // safety: `push(...parts)` would overflow the stack where the list is long
      for (const part of parts) if (!isText(part)) behind.push(part);
    } else moved.push(message);
    if (behind.length === 0 || messages[at + 1]?.role === 'tool') continue;
    moved.push({ role: 'user', content: behind });
    behind = [];
  }
  return moved;
}

const isText = ({ type }: ContentPart): boolean => type === 'text';
const hasMedia = ({ content }: Message): boolean => Array.isArray(content) && !(content as readonly ContentPart[]).every(isText);

/** One system message, at the beginning. A later one becomes the user's, and is joined with the user messages beside it. */
function withFirstInstructions(messages: readonly Message[], { adjust }: MessageWays): readonly Message[] {
  const start = messages.findIndex(({ role }) => !isInstruction(role));
  const leading = start === -1 ? messages : messages.slice(0, start);
  const others = messages.slice(leading.length);
  const [first, ...more] = leading;
  if (more.length === 0 && !others.some(({ role }) => isInstruction(role))) return messages;
  // cost: a turn grows in place, as in `withTurns`
  const turns: { readonly messages: [Message, ...Message[]]; isChanged: boolean }[] = [];
  for (const message of others) {
    const isChanged = isInstruction(message.role);
    const said: Message = isChanged ? { ...message, role: 'user' } : message;
    const last = turns.at(-1);
    if (said.role === 'user' && last?.messages[0].role === 'user' && (isChanged || last.isChanged)) {
      last.messages.push(said);
      last.isChanged = true;
    } else turns.push({ messages: [said], isChanged });
  }
  if (more.length > 0) adjust('messages', 'system messages joined');
  if (turns.some(({ isChanged }) => isChanged)) adjust('messages', 'later system messages sent as the user');
  return [...(first === undefined ? [] : [joined([first, ...more])]), ...turns.map((turn) => joined(turn.messages))];
}

/**
 * wire: "user or tool message(s) should alternate with assistant message(s)" is a
 * 400 of Perplexity (SidhuK/WardenApp#24, 2026-01; perplexityai/api-discussion#265).
 */
function withTurns(messages: readonly Message[], { adjust }: MessageWays): readonly Message[] {
  // cost: a turn grows in place; copying it for each message would take quadratic time in a conversation of one role
  const turns: [Message, ...Message[]][] = [];
  for (const message of messages) {
    const last = turns.at(-1);
    if (last?.[0].role === message.role && (message.role === 'user' || message.role === 'assistant')) last.push(message);
    else turns.push([message]);
  }
  if (turns.length === messages.length) return messages;
  adjust('messages', 'those of one role in a row joined');
  return turns.map(joined);
}

function joined(turn: readonly [Message, ...Message[]]): Message {
  if (turn.length === 1) return turn[0];
  const said = turn.map(({ content }) => content ?? '').filter(({ length }) => length > 0);
  const content = said.every((one) => typeof one === 'string') ? said.join('\n\n') : said.flatMap(listOfParts);
  const calls = turn.flatMap(({ tool_calls: own = [] }) => own);
  return { ...turn[0], content: said.length === 0 ? turn[0].content : content, ...(calls.length > 0 && { tool_calls: calls }) };
}

/**
 * wire: "Unexpected role 'user' after role 'tool'" is a 400 of Mistral (zed-industries/zed#37021,
 * 2026-04), and Claude Code sends this order (BerriAI/litellm#17761, 2025-12).
 */
function withAnsweredResults(messages: readonly Message[], { adjust }: MessageWays): readonly Message[] {
  return messages.flatMap((message, at) => {
    if (message.role !== 'user' || messages[at - 1]?.role !== 'tool') return [message];
    adjust('messages', 'an assistant message put after tool results');
    return [{ role: 'assistant', content: '…' } as const, message];
  });
}

/**
 * Sends a refusal as text, because it is what the assistant said.
 * wire: fields and parts that a server does not know may be refused (Mistral: error text "Extra inputs are not permitted").
 */
function withSaidRefusal(message: Message): Message {
  if (message.role !== 'assistant') return message;
  const { content } = message;
  const isPart = Array.isArray(content) && content.some(({ type }) => type === 'refusal');
  if (typeof message['refusal'] !== 'string' && !isPart) return message;
  const { refusal, ...others } = message;
  const said = [...listOfParts(content), { type: 'refusal', refusal }]
    .map((part): ContentPart => (part.type === 'refusal' ? { type: 'text', text: textOf(part['refusal']) ?? '' } : part))
    .filter(({ type, text }) => type !== 'text' || text !== '');
  const isText = said.every(({ type, ...more }) => type === 'text' && Object.keys(more).length === 1);
  return { ...others, role: message.role, content: isText ? said.map(({ text }) => text).join('\n') : said };
}

const isInstruction = (role: Message['role']): boolean => role === 'system' || role === 'developer';

function roleOf(role: Message['role'], isLeading: boolean, { instructions }: Habits): Message['role'] {
  if (!isInstruction(role)) return role;
  switch (instructions) {
    case 'system':
    case 'first':
      return 'system';
    case 'leading-developer':
      return isLeading ? 'developer' : role;
    case 'leading-user':
      return isLeading ? 'user' : role;
    case 'as-sent':
      return role;
    default:
      return instructions satisfies never;
  }
}

function encodeMessage(message: Message, role: Message['role'], ways: MessageWays): Message {
  const { vendor } = ways;
  const encoded: Record<string, unknown> = { ...message, role };
  // wire: an empty list is a 400 `empty_array` (OpenAI: error text "empty array"); tools that say nothing give one
  if (Array.isArray(message.content)) {
    encoded['content'] = message.content.length === 0 ? '' : contentOf(message.content as readonly ContentPart[], role, ways);
  }
  for (const field of vendor.messageDrops ?? []) {
    if (!(field in encoded)) continue;
    delete encoded[field];
    ways.adjust(`messages.${field}`, 'dropped');
  }
  if (message.tool_calls !== undefined) encoded['tool_calls'] = callsOf(message, message.tool_calls, ways);
  if (role === 'assistant') withAnswerFields(encoded, message, ways);
  return encoded as unknown as Message;
}

function callsOf(message: Message, calls: readonly ToolCall[], { vendor, provider, adjust }: MessageWays): readonly ToolCall[] {
  const extras = extrasOf(message, provider);
  return calls.map((call) => {
    const extra = extras.get(call.id);
    const whole = withArguments(call);
    return without(extra === undefined ? whole : { ...whole, extra_content: extra }, vendor.messageDrops, (field) =>
      adjust(`messages.tool_calls.${field}`, 'dropped'),
    );
  });
}

function contentOf(parts: readonly ContentPart[], role: Message['role'], ways: MessageWays): string | readonly ContentPart[] {
  const { plainText, messageDrops } = ways.vendor;
  const isFlattened = plainText === 'all' || (plainText === 'system' && isInstruction(role));
  if (isFlattened && parts.every((part) => part.type === 'text')) return parts.map((part) => part.text ?? '').join('\n');
  return parts.map((part) => without(part, messageDrops, (field) => ways.adjust(`messages.content.${field}`, 'dropped')));
}

/** An object without the fields that a vendor refuses; the same object where it has none of them. */
export function without<Item extends object>(item: Item, refused: readonly string[] | undefined, dropped: (field: string) => void): Item {
  const found = refused?.filter((field) => field in item) ?? [];
  if (found.length === 0) return item;
  for (const field of found) dropped(field);
  return Object.fromEntries(Object.entries(item).filter(([field]) => !found.includes(field))) as Item;
}

/** wire: models give a call without arguments as "", which servers that parse the history refuse (mlflow/mlflow#18248, 2025-10). */
const withArguments = (call: ToolCall): ToolCall =>
  call.function?.arguments.trim() === '' ? { ...call, function: { ...call.function, arguments: '{}' } } : call;

/** Removes the fields of answers, and adds the one field in which this vendor takes earlier reasoning. */
function withAnswerFields(encoded: Record<string, unknown>, message: Message, { vendor, habits, provider }: MessageWays): void {
  for (const field of answerFields) delete encoded[field];
  const files = vendor.takesReadFiles === true ? listOf(message['annotations']).filter((one) => fieldsOf(one)['type'] === 'file') : [];
  if (files.length > 0) encoded['annotations'] = files;
  if (message['refusal'] === null) delete encoded['refusal'];
  // wire: a message without content must have calls, a refusal or audio (OpenAI: error text "expected
  // a string, got null"). An answer that the token limit cut while the model thought has none of them
  if (saysNothing(encoded)) encoded['content'] = '';
  const { replay } = habits;
  if (replay === null) return;
  if (replay.field === 'reasoning_details') {
    const own = issuedDetails(message, provider);
    if (own.length > 0) encoded['reasoning_details'] = own;
    return;
  }
  const blank = (message.tool_calls ?? []).length > 0 ? (replay.blankWithCalls ?? replay.blank) : replay.blank;
  const reasoning = [message.reasoning_content, message.reasoning, blank].find((text) => typeof text === 'string' && text !== '') ?? blank;
  if (reasoning !== undefined) encoded[replay.field] = reasoning;
}

const saysNothing = ({ content, tool_calls: calls, function_call: call, refusal, audio }: Record<string, unknown>): boolean =>
  [content, calls, call, refusal, audio].every((said) => said === null || said === undefined);

/**
 * The messages with ids that the vendor takes. In a message with one id several times, as some models give them, each call gets its own.
 * wire: "Duplicate value for 'tool_call_id'" is a 400 of OpenAI (openclaw/openclaw#47136 and can1357/oh-my-pi#2055, 2026)
 */
function withOwnIds(messages: readonly Message[], { callIds }: Vendor): readonly Message[] {
  // cost: most conversations have no calls
  if (!messages.some(({ tool_calls: calls, tool_call_id: id }) => calls !== undefined || id !== undefined)) return messages;
  const taken = callIds === 'nine' ? nineCharacters : callIds === 'forty' ? fortyCharacters : (id: string): string => id;
  let ids = new CallIds(taken);
  return messages.map((message) => {
    const { tool_calls: calls, tool_call_id: id } = message;
    if (calls !== undefined) {
      ids = new CallIds(taken);
      return { ...message, tool_calls: calls.map((call): ToolCall => ({ ...call, id: ids.ofCall(call.id) })) };
    }
    return id === undefined ? message : { ...message, tool_call_id: ids.ofResult(id) };
  });
}

/** wire: OpenAI answers 400 to an id of more than 40 characters (error text of `tool_calls[].id`); ids of vLLM have had 46. */
const fortyCharacters = (id: string): string => (id.length <= 40 ? id : callIdFrom(id));
