/** Parses JSON that comes from outside: request bodies, and texts inside a request that hold JSON. Depth is checked before parsing. */
import { isUtf8 } from 'node:buffer';
import { GatewayError } from '../errors.ts';
import { type Fields, isFields } from './fields.ts';

/**
 * Parses the body of a request. If a key comes twice, the last value counts, also in what is sent to the provider.
 * Throws a GatewayError: `invalid_json`, `invalid_utf8`, `json_too_deep` (more than `maxDepth` levels), `invalid_request` for the key
 * `__proto__` or too many keys at the top, `invalid_value` for a number beyond the range of a double.
 * @param weigh called with the number of objects, members and arrays before they are made; it throws where there is no memory for them
 */
export function parseJson(bytes: Buffer, maxDepth: number, weigh?: (parts: number) => void): unknown {
  if (bytes.length === 0) throw new GatewayError('invalid_json', 'The request body is empty; a JSON object is expected.');
  if (!isUtf8(bytes)) throw new GatewayError('invalid_utf8', 'The request body is not valid UTF-8.');
  const shape = shapeOf(bytes, maxDepth);
  if (shape === null) throw new GatewayError('json_too_deep', `The request body is nested deeper than ${maxDepth} levels.`);
  weigh?.(shape.parts);
  let value: unknown;
  try {
    const text = bytes.toString('utf8');
    value = shape.hasLongNumber ? JSON.parse(text, noteLongIntegers) : JSON.parse(text);
  } catch (cause) {
    if (bytes.subarray(0, 3).equals(byteOrderMark)) {
      throw new GatewayError(
        'invalid_json',
        'The request body begins with a byte order mark (U+FEFF), which some editors add invisibly. Save and send the JSON without it.',
        { cause },
      );
    }
    const place = /position (\d+)/.exec(String(cause))?.[1];
    throw new GatewayError('invalid_json', `The request body is not valid JSON${place === undefined ? '' : ` (at character ${place})`}.`, {
      cause,
    });
  }
  if (typeof value === 'object' && value !== null) checkTop(value);
  // cost: to look at every value takes a tenth as long as the parsing of a large request
  const param = shape.hasExponent || shape.hasLongNumber ? infiniteIn(value)?.replace(/^\./, '').slice(0, longestPath) : undefined;
  if (param !== undefined) {
    throw new GatewayError(
      'invalid_value',
      `"${param}" is beyond the range of a double (about 1.8e308). Send another number, or a string.`,
      { param },
    );
  }
  return value;
}

/**
 * safety: the fields at the top of a request are copied several times on its way to the
 * provider. A body of 4 MB with nothing but fields took the event loop five seconds.
 */
const mostFields = 1000;

function checkTop(value: object): void {
  if (Object.hasOwn(value, '__proto__')) {
    throw new GatewayError('invalid_request', 'The key "__proto__" is not accepted.', { param: '__proto__' });
  }
  if (!Array.isArray(value) && Object.keys(value).length > mostFields) {
    throw new GatewayError('invalid_request', `The request body has more than ${mostFields} fields.`);
  }
}

const byteOrderMark = Buffer.from('\uFEFF');

// safety: a key may be as long as a body, and an error message must not be
const longestPath = 256;

/**
 * The path of the first number that JSON.parse reads as infinite, such as `.messages[0].size`;
 * undefined if there is none. JSON.stringify would write such a number as null.
 */
function infiniteIn(value: unknown): string | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : '';
  if (typeof value !== 'object' || value === null) return undefined;
  if (Array.isArray(value)) {
    // cost: this loop visits every value of a body, and an iterator takes three times as long
    for (let at = 0; at < value.length; at++) {
      const place = infiniteIn(value[at]);
      if (place !== undefined) return `[${at}]${place}`;
    }
    return undefined;
  }
  for (const key in value) {
    const place = infiniteIn((value as Readonly<Record<string, unknown>>)[key]);
    if (place !== undefined) return `.${key}${place}`;
  }
  return undefined;
}

/**
 * safety: JSON.stringify overflows the stack at some thousand levels (Node 26 not, but what reads its text does). The depth of
 * a request's body is checked, but not that of JSON inside a text, nor that of an answer.
 */
const deepest = 512;

/** Whether a JSON text is nested deeper than 512 levels. cost: a text that is too short for so many brackets is not searched */
export const isTooDeep = (json: string): boolean => json.length > 2 * deepest && isDeeper(Buffer.from(json), deepest);

/** `JSON.rawJSON` of Node, which TypeScript does not know yet: JSON.stringify writes its text unchanged. */
const { rawJSON } = JSON as unknown as { rawJSON(json: string): unknown };

/**
 * The JSON object in a text, such as the arguments of a tool call. JSON.stringify writes its numbers with all digits that they have
 * in the text. Null if the text is not a JSON object, or is nested deeper than 512 levels.
 */
export function objectIn(text: string): object | null {
  if (!/^\s*\{/.test(text) || isTooDeep(text)) return null;
  try {
    const value: unknown = /(?:\d\.?){16}|\d[eE]/.test(text) ? JSON.parse(text, withDigits) : JSON.parse(text);
    return isFields(value) ? value : null;
  } catch {
    // the text is not JSON; null tells the caller so
    return null;
  }
}

/** The JSON object in a text, as `JSON.parse` reads it; null for any other text. */
export function fieldsIn(text: string): Fields | null {
  try {
    const value: unknown = JSON.parse(text);
    return isFields(value) ? value : null;
  } catch {
    // the text is not JSON; null tells the caller so
    return null;
  }
}

/** What `JSON.parse` tells a reviver about a number. */
export interface NumberText {
  /** The text of the value. */
  readonly source?: string;
}

/** A reviver for JSON.parse: JSON.stringify writes the numbers of the result with all digits that they have in the text. */
export const withDigits = (_: string, value: unknown, context?: NumberText): unknown =>
  typeof value === 'number' && context?.source !== undefined && String(value) !== context.source ? rawJSON(context.source) : value;

/**
 * Parses the answer of a provider. JSON.stringify writes a whole number of sixteen or more digits as it was: an id among the arguments
 * of a tool call must not change. Throws a SyntaxError.
 * cost: a reviver makes parsing several times slower, so it is used only where such a number may be.
 */
export const parseAnswer = (text: string): unknown =>
  sixteenDigits.test(text) && /[[:,]\s*-?\d{16}/.test(text) ? JSON.parse(text, withLongIntegers) : JSON.parse(text);

/** cost: V8 looks for sixteen single digits by leaps. The exact pattern takes four times as long (7 % of a chunk's CPU), and `\d{16}` nine times. */
const sixteenDigits = new RegExp(String.raw`\d`.repeat(16));

const withLongIntegers = (key: string, value: unknown, context?: NumberText): unknown =>
  isLong(value, context) ? withDigits(key, value, context) : value;

const isLong = (value: unknown, context?: NumberText): boolean => typeof value === 'number' && /^-?\d{16,}$/.test(context?.source ?? '');

/**
 * Whole numbers of a request that lose digits, by the object or the list that holds them. Code that checks a parameter still gets a number.
 */
const longIntegers = new WeakMap<object, Map<string, string>>();

/** cost: as long as the process has seen no number that loses digits, nothing searches the requests for one. */
let isNoted = false;

function noteLongIntegers(this: object, ...[key, value, context]: [key: string, value: unknown, context?: NumberText]): unknown {
  if (!isLong(value, context) || String(value) === context?.source) return value;
  isNoted = true;
  const known = longIntegers.get(this);
  if (known === undefined) longIntegers.set(this, new Map([[key, context?.source ?? '']]));
  else known.set(key, context?.source ?? '');
  return value;
}

/**
 * An object of a request, or one that has objects of a request in it, as JSON text, with all digits of their whole numbers.
 * cost: only a text with a long number is written with a replacer
 */
export function asGiven(value: object): string {
  const text = JSON.stringify(value);
  return isNoted && longNumber.test(text) ? JSON.stringify(value, withGivenDigits) : text;
}

/**
 * JSON text without halves of characters (lone surrogates): U+FFFD is in their place.
 * wire: Anthropic and others answer 400 to such a half, "no low surrogate in string" (anthropics/claude-code#3277, 2025-07), and
 * servers in Python fail with 500 (JustVugg/colibri#1589, 2026-09). Clients make one where they cut a text in the middle of an emoji.
 * cost: only a text with an escape that may be a half is searched
 */
export const wellFormedJson = (json: string): string =>
  mayHaveHalf.test(json) ? json.replaceAll(escapes, (escape, half?: string) => (half === undefined ? escape : '\ufffd')) : json;

const mayHaveHalf = /\\ud[89a-f]/i;
/** An escape of JSON; captured is one of half of a character. */
const escapes = /\\ud[89ab][\da-f]{2}\\ud[c-f][\da-f]{2}|\\u(d[89a-f][\da-f]{2})|\\[^]/gi;

const longNumber = /[:,[]-?\d(?:\d{15}|[\d.]*e\+)/;

/**
 * An object of a request, for code that copies its parts: JSON.stringify writes the whole
 * numbers of the result, and of its copies, with all their digits. Without long numbers the result is the same object.
 */
export function withGivenNumbers(value: object): object {
  const text = isNoted ? asGiven(value) : '';
  return longNumber.test(text) ? (objectIn(text) ?? value) : value;
}

function withGivenDigits(this: object, key: string, value: unknown): unknown {
  const source = typeof value === 'number' ? longIntegers.get(this)?.get(key) : undefined;
  return source === undefined ? value : rawJSON(source);
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const OPEN = [0x5b, 0x7b];
const CLOSE = [0x5d, 0x7d];
const [ZERO, NINE] = [0x30, 0x39];
const EXPONENT = [0x45, 0x65];
/** A number with fewer digits is always exact in a double. */
const manyDigits = 16;

/** True if the brackets outside strings are nested deeper than `limit` levels. */
export const isDeeper = (bytes: Buffer, limit: number): boolean => shapeOf(bytes, limit) === null;

/** The number of objects, members and arrays in a JSON text. */
export const partsIn = (bytes: Buffer): number => shapeOf(bytes, Infinity)?.parts ?? 0;

interface Shape {
  /** The number of objects, members and arrays. */
  readonly parts: number;
  /** A number outside of strings may lose digits in a double. */
  readonly hasLongNumber: boolean;
  /** A number outside of strings has an exponent: `1e5`. */
  readonly hasExponent: boolean;
}

/**
 * What JSON is made of; null if it is nested deeper than `limit` levels.
 * cost: JSON.parse and JSON.stringify are slow on deep input, or overflow the stack. This look skips strings, so long texts cost little.
 */
function shapeOf(bytes: Buffer, limit: number): Shape | null {
  let [depth, parts, digits] = [0, 0, 0];
  let [hasLongNumber, hasExponent] = [false, false];
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] as number;
    if (byte >= ZERO && byte <= NINE) {
      if (++digits >= manyDigits) hasLongNumber = true;
      continue;
    }
    if (digits > 0 && (byte === EXPONENT[0] || byte === EXPONENT[1])) hasExponent = true;
    digits = 0;
    if (byte === QUOTE) {
      at = endOfString(bytes, at);
      if (at < 0) break;
    } else if (byte === OPEN[0] || byte === OPEN[1]) {
      parts++;
      if (++depth > limit) return null;
    } else if (byte === COLON) parts++;
    else if (byte === CLOSE[0] || byte === CLOSE[1]) depth--;
  }
  return { parts, hasLongNumber, hasExponent };
}

/** cost: a call of `indexOf` takes as long as a loop over so many bytes. Most strings are shorter, and so is most text between two quotes. */
const nearby = 24;

/** Index of the quote that closes the string opened at `start`, or -1. */
function endOfString(bytes: Buffer, start: number): number {
  for (let from = start + 1; ;) {
    for (const end = from + nearby; from < end; from++) {
      if (bytes[from] === QUOTE) return from;
      if (bytes[from] === BACKSLASH) from++;
    }
    const quote = bytes.indexOf(QUOTE, from);
    if (quote < 0) return -1;
    let slashes = 0;
    while (bytes[quote - 1 - slashes] === BACKSLASH) slashes++;
    if (slashes % 2 === 0) return quote;
    from = quote + 1;
  }
}

/**
 * Looks for the end of a JSON object that comes in pieces.
 * cost: it looks at each character once; parsing the text at each piece would take quadratic time.
 */
export class ObjectEnd {
  /** The brackets are closed: the object is whole if it is valid JSON. */
  isReached = false;
  #depth = 0;
  #isInString = false;
  #isEscaped = false;

  look(piece: string): void {
    for (let at = 0; at < piece.length && !this.isReached; at++) {
      const unit = piece.charCodeAt(at);
      if (this.#isEscaped) this.#isEscaped = false;
      else if (unit === QUOTE) this.#isInString = !this.#isInString;
      else if (this.#isInString) this.#isEscaped = unit === BACKSLASH;
      else if (unit === OPEN[0] || unit === OPEN[1]) this.#depth++;
      else if (unit === CLOSE[0] || unit === CLOSE[1]) this.isReached = --this.#depth <= 0;
    }
  }
}
