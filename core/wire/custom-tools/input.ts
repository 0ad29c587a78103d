/**
 * The plain text in the arguments of a custom tool's call. In the middle a custom tool is a function with one parameter, so its input comes
 * as the JSON `{"input":"…"}`, torn anywhere.
 */
import { type Fields, fieldsOf } from '../fields.ts';

/** The schema of that function. A provider cannot hold the model to a grammar, but the model can read it. */
export function inputSchema(format: unknown): Fields {
  const { definition, syntax } = fieldsOf(format);
  const plain = 'The whole input of the tool, as plain text.';
  const description = typeof definition === 'string' ? `${plain} It must follow this ${typeof syntax === 'string' ? `${syntax} ` : ''}grammar:\n${definition}` : plain;
  return { type: 'object', properties: { input: { type: 'string', description } }, required: ['input'], additionalProperties: false };
}

/** Whether a format asks for nothing. */
export const isFreeText = (format: unknown): boolean => format === undefined || fieldsOf(format)['type'] === 'text';

/** The beginning of the form has some ten characters, and blanks between them. */
const longestStart = 256;

export class CustomInput {
  /** The text so far. */
  text = '';
  /** What has come and is not read yet. */
  #held = '';
  #state: 'before' | 'inside' | 'after' = 'before';

  /** Takes the next piece of the arguments, gives the text that it adds. */
  push(piece: string): string {
    if (this.#state === 'after') return '';
    this.#held += piece;
    if (this.#state === 'before') this.#findStart();
    return this.#state === 'inside' ? this.#read() : '';
  }

  /** Gives the rest. A model that did not keep to the form gets its one text taken, or all that it said. @param whole the whole arguments */
  end(whole: string): string {
    // cut inside the text: what has been read stands
    if (this.#state === 'inside') return '';
    const input = inputIn(whole);
    const rest = input.startsWith(this.text) ? input.slice(this.text.length) : '';
    this.text += rest;
    return rest;
  }

  #findStart(): void {
    const start = /^\s*\{\s*"input"\s*:\s*"/.exec(this.#held);
    if (start === null) {
      // cost: to look again at each piece of a text that is of another form takes quadratic time; `end` takes it
      if (this.#held.length > longestStart) this.#state = 'after';
      return;
    }
    this.#held = this.#held.slice(start[0].length);
    this.#state = 'inside';
  }

  #read(): string {
    const end = endOf(this.#held);
    const raw = this.#held.slice(0, end.at);
    this.#held = this.#held.slice(end.at);
    if (end.isOver) this.#state = 'after';
    const said = unescaped(raw);
    this.text += said;
    return said;
  }
}

/** Where the text ends that can be read now: at the closing quote, or before an escape that is not whole. */
function endOf(held: string): { at: number; isOver: boolean } {
  let at = 0;
  while (at < held.length) {
    const sign = held[at];
    if (sign === '"') return { at, isOver: true };
    const length = sign === '\\' ? escapeLength(held.slice(at, at + 12)) : 1;
    if (at + length > held.length) break;
    at += length;
  }
  return { at, isOver: false };
}

/** How long an escape is. The two halves of one character are one: a delta with a half of it is no valid text. */
function escapeLength(escape: string): number {
  if (escape[1] !== 'u') return 2;
  const digits = /^\\u[\da-fA-F]{0,4}/.exec(escape)?.[0].length ?? 0;
  // no escape at all: a quote behind it is the closing one
  if (digits < 6 && digits < escape.length) return digits;
  return halves.test(escape) ? 12 : 6;
}

/** The first half of a character, with as much of the second as has come. */
const halves = /^\\u[dD][89abAB][\da-fA-F]{2}(?:\\(?:u[\da-fA-F]{0,4})?)?$/;

/** An escape of JSON, or what a model writes as it is and JSON does not allow: a backslash, a line break. */
const signs = /\\(?:["\\/bfnrt]|u[\da-fA-F]{4})|[\\\p{Cc}]/gu;

/** The text of a piece. What is no escape stands for itself: what came before it has gone out, so the rest cannot be read in another way. */
const unescaped = (raw: string): string => JSON.parse(`"${raw.replaceAll(signs, (sign) => (sign.length > 1 ? sign : JSON.stringify(sign).slice(1, -1)))}"`) as string;

function inputIn(whole: string): string {
  try {
    const value: unknown = JSON.parse(whole);
    if (typeof value === 'string') return value;
    const { input } = fieldsOf(value);
    if (typeof input === 'string') return input;
    const [only = '', ...others] = Object.values(fieldsOf(value));
    return typeof only === 'string' && others.length === 0 ? only : whole;
  } catch {
    // cut by the length limit, or no JSON: what has been read so far stands, or else all of it
    return whole;
  }
}
