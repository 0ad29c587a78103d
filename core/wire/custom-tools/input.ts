/**
 * The plain text in the arguments of a custom tool's call. Inside the gateway, a custom tool is a
 * function with one parameter, so its input comes as the JSON `{"input":"…"}`, cut at any places.
 */
import { type Fields, fieldsOf } from '../fields.ts';

/** The schema of the function. A provider cannot force the model to follow a grammar, but the model can read it. */
export function inputSchema(format: unknown): Fields {
  const { definition, syntax } = fieldsOf(format);
  const plain = 'The whole input of the tool, as plain text.';
  const description =
    typeof definition === 'string'
      ? `${plain} It must follow this ${typeof syntax === 'string' ? `${syntax} ` : ''}grammar:\n${definition}`
      : plain;
  return { type: 'object', properties: { input: { type: 'string', description } }, required: ['input'], additionalProperties: false };
}

/** Whether a format asks for nothing special. */
export const isFreeText = (format: unknown): boolean => format === undefined || fieldsOf(format)['type'] === 'text';

/** The start of the JSON has about ten characters, and blanks between them. */
const longestStart = 256;

export class CustomInput {
  /** The text so far. */
  text = '';
  /** Pieces that have come and are not read yet. */
  #held = '';
  #state: 'before' | 'inside' | 'after' = 'before';

  /** Takes the next piece of the arguments, gives the text that it adds. */
  push(piece: string): string {
    if (this.#state === 'after') return '';
    this.#held += piece;
    if (this.#state === 'before') this.#findStart();
    return this.#state === 'inside' ? this.#read() : '';
  }

  /**
   * Returns the rest of the text. If the model did not follow the form, that is the only text in its JSON, or all of its arguments.
   * @param whole the whole arguments
   */
  end(whole: string): string {
    // the arguments were cut inside the text: the text that was read is the result
    if (this.#state === 'inside') return '';
    const input = inputIn(whole);
    const rest = input.startsWith(this.text) ? input.slice(this.text.length) : '';
    this.text += rest;
    return rest;
  }

  #findStart(): void {
    const start = /^\s*\{\s*"input"\s*:\s*"/.exec(this.#held);
    if (start === null) {
      // cost: to search again at each piece of a text in another form would take quadratic time; `end` reads it
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

/** Where the readable text ends now: at the closing quote, or before an incomplete escape. */
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

/** The length of an escape. The two escapes of a surrogate pair count as one, because a delta with half a pair is not valid text. */
function escapeLength(escape: string): number {
  if (escape[1] !== 'u') return 2;
  const digits = /^\\u[\da-fA-F]{0,4}/.exec(escape)?.[0].length ?? 0;
  // not a valid escape: a quote after it is the closing quote
  if (digits < 6 && digits < escape.length) return digits;
  return halves.test(escape) ? 12 : 6;
}

/** The first escape of a surrogate pair, with as much of the second as has come. */
const halves = /^\\u[dD][89abAB][\da-fA-F]{2}(?:\\(?:u[\da-fA-F]{0,4})?)?$/;

/** An escape of JSON, or a character that a model writes and JSON does not allow: a backslash, a line break. */
const signs = /\\(?:["\\/bfnrt]|u[\da-fA-F]{4})|[\\\p{Cc}]/gu;

/** The text of a piece. An invalid escape is kept as it is: the text before it has been sent, so the rest cannot be read in another way. */
const unescaped = (raw: string): string =>
  JSON.parse(`"${raw.replaceAll(signs, (sign) => (sign.length > 1 ? sign : JSON.stringify(sign).slice(1, -1)))}"`) as string;

function inputIn(whole: string): string {
  try {
    const value: unknown = JSON.parse(whole);
    if (typeof value === 'string') return value;
    const { input } = fieldsOf(value);
    if (typeof input === 'string') return input;
    const [only = '', ...others] = Object.values(fieldsOf(value));
    return typeof only === 'string' && others.length === 0 ? only : whole;
  } catch {
    // the arguments were cut by the length limit, or are not JSON: they count as the text, unless a part of it was read before
    return whole;
  }
}
