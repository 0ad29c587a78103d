/** A conversation in turns, for wire formats that take user and assistant strictly in alternation. */
import type { ContentPart, Message } from '../chat.ts';

export interface Turns {
  /** Texts of the system and developer messages before the first turn. */
  readonly system: readonly ContentPart[];
  readonly turns: readonly Turn[];
}

/** Neighbours of one role, together. */
export type Turn = { readonly role: 'user'; /** Tool results first, as they answer the turn before. */ readonly results: readonly Message[]; readonly parts: readonly ContentPart[] } | { readonly role: 'assistant'; readonly messages: readonly Message[] };

/** The content of a message as parts; empty texts left out. */
export const partsOf = ({ content }: Message): readonly ContentPart[] =>
  typeof content === 'string' ? (content === '' ? [] : [{ type: 'text', text: content }]) : (content ?? []).filter(({ type, text }) => type !== 'text' || text !== '');

/** A turn that still grows. */
type Growing = { readonly role: 'user'; readonly results: Message[]; readonly parts: ContentPart[] } | { readonly role: 'assistant'; readonly messages: Message[] };

/**
 * A system message after the first turn is folded into the user turn at its place.
 * cost: a turn grows in place, so that a conversation of one role is read in one pass.
 */
export function turnsOf(messages: readonly Message[]): Turns {
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
