/**
 * The place of an answer in its conversation: after which words of the user, and at which step of the tool loop. A tool call is
 * identified by its place too, because ids repeat: Kimi counts them from 0 in each conversation (`functions.weather:0`), other
 * models in each answer. What clients change on the way back, such as arguments and the results of old calls, is no part of a place.
 */
import { hash } from 'node:crypto';
import type { Message } from '../../../core/chat.ts';

/** The id of a message's first tool call. */
export const called = ({ role, tool_calls: calls }: Message): string | undefined => (role === 'assistant' ? calls?.[0]?.id : undefined);

export class Place {
  #words = '';
  #step = 0;

  /** The place at the end of a conversation. */
  static after(messages: readonly Message[]): Place {
    const place = new Place();
    const start = Math.max(
      0,
      messages.findLastIndex(({ role }) => role === 'user'),
    );
    for (const message of messages.slice(start)) place.pass(message);
    return place;
  }

  /** Moves the place to the position after a message. */
  pass(message: Message): void {
    if (message.role === 'user') {
      this.#words = hash('sha256', wordsOf(message), 'base64url');
      this.#step = 0;
    } else if (called(message) !== undefined) this.#step++;
  }

  /**
   * A name for the tool call with this id at this place. For a random id, the id
   * alone: it never repeats, and a client may have rewritten the words meanwhile.
   */
  idOf(id: string): string {
    return isDrawn(id) ? id : `${id} ${this.#step} ${this.#words}`;
  }
}

/** Whether an id is random, as those of most vendors are, and not a count: it has a long run of letters with digits among them. */
const isDrawn = (id: string): boolean => (id.match(/[a-z\d]{12,}/gi) ?? []).some((run) => /\d/.test(run) && /[a-z]/i.test(run));

const wordsOf = ({ content }: Message): string =>
  typeof content === 'string' ? content : (content ?? []).map(({ text }) => text ?? '').join('\n');
