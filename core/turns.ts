/** A conversation in turns, for wire formats that take user and assistant strictly in alternation. */
import type { ContentPart, Message } from './chat.ts';

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

/** A system message after the first turn is folded into the user turn at its place. */
export function turnsOf(messages: readonly Message[]): Turns {
  const start = messages.findIndex(({ role }) => role !== 'system' && role !== 'developer');
  const leading = start < 0 ? messages : messages.slice(0, start);
  const turns: Turn[] = [];
  for (const message of start < 0 ? [] : messages.slice(start)) {
    const last = turns.at(-1);
    if (message.role === 'assistant') {
      if (last?.role === 'assistant') turns[turns.length - 1] = { role: 'assistant', messages: [...last.messages, message] };
      else turns.push({ role: 'assistant', messages: [message] });
      continue;
    }
    const user = last?.role === 'user' ? last : { role: 'user' as const, results: [], parts: [] };
    const grown: Turn = message.role === 'tool' ? { ...user, results: [...user.results, message] } : { ...user, parts: [...user.parts, ...partsOf(message)] };
    if (last?.role === 'user') turns[turns.length - 1] = grown;
    else turns.push(grown);
  }
  return { system: leading.flatMap(partsOf), turns };
}
