/** Groups a conversation into turns, for wire formats in which user and assistant must alternate. */
import type { ContentPart, Message } from '../chat.ts';

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

/** The content of a message as a list of parts. Empty texts are left out. */
export function partsOf({ content }: Message): readonly ContentPart[] {
  const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : (content ?? []);
  return parts.filter(({ type, text }) => type !== 'text' || text !== '');
}

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
  for (let at = 1; at < turns.length; at++) joinResults(turns[at] as Growing, turns[at - 1] as Growing);
  return { system: leading.flatMap(partsOf), turns };
}

/**
 * Joins several results of one call, which clients send.
 * wire: Bedrock answers 400 "contain duplicate Ids", and Anthropic refuses them too (BerriAI/litellm#20048, 2026-01);
 * Gemini wants as many results as calls (Gemini API: Function calling).
 */
function joinResults(turn: Growing, before: Growing): void {
  if (turn.role === 'assistant' || before.role === 'user' || turn.results.length < 2) return;
  const calls = before.messages.flatMap(({ tool_calls: own = [] }) => own);
  if (turn.results.length <= calls.length) return;
  const open = Map.groupBy(calls, ({ id }): string | undefined => id);
  const last = new Map<string | undefined, Message[]>();
  const groups: Message[][] = [];
  for (const result of turn.results.splice(0)) {
    const { tool_call_id: id } = result;
    const group = open.get(id)?.length === 0 ? (last.get(id) ?? []) : [];
    open.get(id)?.pop();
    if (group.push(result) === 1) groups.push(group);
    last.set(id, group);
  }
  for (const [first, ...more] of groups as [Message, ...Message[]][]) {
    turn.results.push(more.length === 0 ? first : { ...first, content: [first, ...more].flatMap(partsOf) });
  }
}

function grow(turn: Growing, message: Message): Growing {
  if (turn.role === 'assistant') turn.messages.push(message);
  else if (message.role === 'tool') turn.results.push(message);
  else for (const part of partsOf(message)) turn.parts.push(part);
  return turn;
}

export const hasImages = (messages: readonly Message[]): boolean =>
  messages.some(({ content }) => Array.isArray(content) && content.some(({ type }: { type: string }) => type === 'image_url'));
