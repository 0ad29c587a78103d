/** Brings a conversation into the order that wire formats want: results at their calls, user and assistant in turns. */
import type { ContentPart, Message } from '../chat.ts';
import type { Adjust } from './adjustments.ts';

/** A conversation: its instructions and its turns. */
export interface Turns {
  /** The parts of the system and developer messages that come before the first turn. */
  readonly system: readonly ContentPart[];
  readonly turns: readonly Turn[];
}

/** Neighbouring messages of one role. */
export type Turn =
  | {
      readonly role: 'user';
      /** The tool messages, which answer the calls of the turn before. */
      readonly results: readonly Message[];
      readonly parts: readonly ContentPart[];
    }
  | { readonly role: 'assistant'; readonly messages: readonly Message[] };

/** The content of a message as a list of parts. */
export const listOfParts = (content: Message['content']): readonly ContentPart[] =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : (content ?? []);

/** The parts of a message without its empty texts. */
export const partsOf = ({ content }: Message): readonly ContentPart[] =>
  listOfParts(content).filter(({ type, text }) => type !== 'text' || text !== '');

/** A turn to which messages are still added. */
type Growing =
  | { readonly role: 'user'; readonly results: Message[]; readonly parts: ContentPart[] }
  | { readonly role: 'assistant'; readonly messages: Message[] };

/**
 * The messages with each tool result after the message that called the tool; the same list where each result is there
 * already. With `inTurns`, assistant messages in a row are one turn, and the results of all of its calls come after it.
 * wire: the Responses API takes messages between a call and its output, all
 * other APIs refuse them (router-for-me/CLIProxyAPI#3152, livekit/agents#1977).
 */
export function withResultsAtCalls(messages: readonly Message[], { inTurns }: { readonly inTurns: boolean }): readonly Message[] {
  if (!messages.some(({ role }) => role === 'tool')) return messages;
  const callers = new Map<string | undefined, Message[]>();
  const groups: Message[][] = [];
  let isMoved = false;
  for (const message of messages) {
    const caller = message.role === 'tool' ? callers.get(message.tool_call_id) : undefined;
    if (caller !== undefined) {
      isMoved ||= caller !== groups.at(-1);
      caller.push(message);
      continue;
    }
    const last = groups.at(-1);
    const group = inTurns && message.role === 'assistant' && last?.at(-1)?.role === 'assistant' ? last : [];
    if (group !== last) groups.push(group);
    group.push(message);
    for (const { id } of message.tool_calls ?? []) callers.set(id, group);
  }
  return isMoved ? groups.flat() : messages;
}

/**
 * Groups messages into turns. A system message after the first turn becomes a part of the user turn at its place.
 * cost: a turn grows in place; copying it for each message would take quadratic time in a conversation of one role.
 */
export function turnsOf(given: readonly Message[]): Turns {
  const messages = withResultsAtCalls(given, { inTurns: true });
  const start = messages.findIndex(({ role }) => role !== 'system' && role !== 'developer');
  const leading = start < 0 ? messages : messages.slice(0, start);
  const turns: Growing[] = [];
  for (const message of start < 0 ? [] : messages.slice(start)) {
    const role = message.role === 'assistant' ? 'assistant' : 'user';
    const last = turns.at(-1);
    if (last?.role === role) grow(last, message);
    else turns.push(grow(role === 'assistant' ? { role, messages: [] } : { role, results: [], parts: [] }, message));
  }
  return { system: leading.flatMap(partsOf), turns };
}

function grow(turn: Growing, message: Message): Growing {
  if (turn.role === 'assistant') turn.messages.push(message);
  else if (message.role === 'tool') turn.results.push(message);
  else for (const part of partsOf(message)) turn.parts.push(part);
  return turn;
}

export const hasImages = (messages: readonly Message[]): boolean =>
  messages.some(({ content }) => Array.isArray(content) && content.some(({ type }: { type: string }) => type === 'image_url'));

/** A call and its results. */
interface Slot {
  readonly id: string;
  readonly results: Message[];
}

/** The calls of one message that have the same id, and the number of those that have a result. */
interface Namesakes {
  readonly slots: readonly Slot[];
  answered: number;
}

/**
 * The messages with one result for each call: the same list where it is so already. A call without a result gets one that says so, several
 * results of one call are joined, and a result without a call before it becomes a text of the user. Clients send such conversations when a
 * user stops a tool, or when they drop old turns.
 * wire: OpenAI answers 400 "must be followed by tool messages responding to each 'tool_call_id'", "must be a response to a preceeding message
 * with 'tool_calls'" and "Duplicate value for 'tool_call_id'" (agno-agi/agno#5116), on Responses "No tool output found for function call"
 * (openai/codex#93); Anthropic "`tool_use` ids were found without `tool_result` blocks immediately after" (github/copilot-cli#102); Bedrock
 * "The number of toolResult blocks exceeds the number of toolUse blocks" (strands-agents/harness-sdk#1435) and "contain duplicate Ids"
 * (BerriAI/litellm#20048); Gemini wants as many results as calls (google-gemini/gemini-cli#5443)
 * @param adjust notes a change that the model sees
 */
export function withPairedResults(messages: readonly Message[], adjust: Adjust): readonly Message[] {
  if (!messages.some(({ role, tool_calls: calls }) => role === 'tool' || calls !== undefined)) return messages;
  const { slots, places } = matched(messages);
  const paired: Message[] = [];
  let isChanged = false;
  for (const [at, message] of messages.entries()) {
    const place = places.get(message);
    if (message.role === 'tool' && message.native?.fields['item'] === undefined && place === undefined) {
      adjust('messages', 'tool results without a call sent as text');
      isChanged = true;
      paired.push(asText(message));
    } else if (place === undefined || place.results[0] === message) {
      isChanged ||= (place?.results.length ?? 1) > 1;
      paired.push(place === undefined ? message : joined(place.results));
    }
    for (const { id, results } of slots.get(at) ?? []) {
      if (results.length > 0) continue;
      adjust('messages', 'missing tool results filled in');
      isChanged = true;
      paired.push({ role: 'tool', tool_call_id: id, content: 'There is no result.' });
    }
  }
  return isChanged ? paired : messages;
}

/** The calls of each message of the assistant, by its number, and the call of each result: the last one with its id that comes before it. */
function matched(messages: readonly Message[]): {
  readonly slots: ReadonlyMap<number, readonly Slot[]>;
  readonly places: ReadonlyMap<Message, Slot>;
} {
  const slots = new Map<number, readonly Slot[]>();
  const places = new Map<Message, Slot>();
  const latest = new Map<string | undefined, Namesakes>();
  for (const [at, message] of messages.entries()) {
    const calls = message.role === 'assistant' ? (message.tool_calls ?? []) : [];
    const own = calls.map(({ id }): Slot => ({ id, results: [] }));
    if (own.length > 0) slots.set(at, own);
    for (const [id, all] of Map.groupBy(own, (slot) => slot.id)) latest.set(id, { slots: all, answered: 0 });
    const called = message.role === 'tool' ? latest.get(message.tool_call_id) : undefined;
    if (called === undefined) continue;
    const slot = called.slots[Math.min(called.answered++, called.slots.length - 1)] as Slot;
    slot.results.push(message);
    places.set(message, slot);
  }
  return { slots, places };
}

function joined(results: readonly Message[]): Message {
  const [first, ...more] = results as [Message, ...Message[]];
  return more.length === 0 ? first : { ...first, content: results.flatMap(partsOf) };
}

function asText(result: Message): Message {
  const { cache_control: control, tool_call_id: id, name } = result;
  const of = typeof name === 'string' && name !== '' ? `The tool ${name}` : `The tool call ${id ?? ''}`;
  return {
    role: 'user',
    content: [{ type: 'text', text: `${of} gave this result:` }, ...partsOf(result)],
    ...(control !== undefined && { cache_control: control }),
  };
}
