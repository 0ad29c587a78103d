/** The beginning of what a user asked, for lists of requests. Where the bodies are not kept, this text is not kept either. */
import type { ChatRequest, Message } from '../../../../core/chat.ts';
import { beginning } from '../../../../core/names.ts';

const longest = 120;
/** cost: only this many characters are read; several blanks are reduced to one. */
const lookedAt = 240;
/** Several blanks, or a blank that is not a space. */
const blanks = /[^\S ]\s*| \s+/g;

/** The beginning of the last message of the user, or, where the user has said nothing, of the last message with a text. */
export function promptStartOf(request: ChatRequest | null): string | null {
  if (request === null) return null;
  if (request.ask?.kind === 'embeddings') return startOf(request.ask.inputs[0]);
  let last: string | null = null;
  for (let at = request.messages.length - 1; at >= 0; at--) {
    const message = request.messages[at] as Message;
    const text = textOf(message);
    if (text !== null && message.role === 'user') return startOf(text);
    last ??= text;
  }
  return startOf(last);
}

const isText = (value: unknown): value is string => typeof value === 'string' && /\S/.test(value);

/** The text of a message. Of several parts, the last one counts, because programs put instructions and documents before the question. */
function textOf({ content }: Message): string | null {
  if (isText(content)) return content;
  return Array.isArray(content) ? ((content as { text?: unknown }[]).map((part) => part?.text).findLast(isText) ?? null) : null;
}

function startOf(text: unknown): string | null {
  if (!isText(text)) return null;
  const start = beginning(text.trimStart(), lookedAt).replaceAll(blanks, ' ').trimEnd();
  return start.length <= longest ? start : `${beginning(start, longest - 1)}…`;
}
