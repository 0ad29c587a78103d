/** JSON from outside: bounded in depth and checked before it is parsed; and the JSON that stands in texts of a request. */
import { isUtf8 } from 'node:buffer';
import { GatewayError } from '../errors.ts';

/** Of a key that comes twice the last value rules, and what is sent on is written from it: nobody sees another. */
export function parseJson(bytes: Buffer, maxDepth: number): unknown {
  if (bytes.length === 0) throw new GatewayError('invalid_json', 'The request body is empty; a JSON object is expected.');
  if (!isUtf8(bytes)) throw new GatewayError('invalid_utf8', 'The request body is not valid UTF-8.');
  if (isDeeper(bytes, maxDepth)) throw new GatewayError('json_too_deep', `The request body is nested deeper than ${maxDepth} levels.`);
  let value: unknown;
  try {
    value = JSON.parse(bytes.toString('utf8'));
  } catch (cause) {
    const place = /position (\d+)/.exec(String(cause))?.[1];
    throw new GatewayError('invalid_json', `The request body is not valid JSON${place === undefined ? '' : ` (at character ${place})`}.`, { cause });
  }
  if (typeof value === 'object' && value !== null && Object.hasOwn(value, '__proto__')) {
    throw new GatewayError('invalid_request', 'The key "__proto__" is not accepted.', { param: '__proto__' });
  }
  const param = infiniteIn(value)?.replace(/^\./, '').slice(0, longestPath);
  if (param !== undefined) throw new GatewayError('invalid_value', `"${param}" is beyond the numbers that can be sent on.`, { param });
  return value;
}

// safety: a key may be as long as a body
const longestPath = 256;

/** Where a number is too large for JSON.parse, as in `messages[0].size`: it would be sent on as null. Undefined: nowhere. */
function infiniteIn(value: unknown): string | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : '';
  if (typeof value !== 'object' || value === null) return undefined;
  if (Array.isArray(value)) {
    // cost: every value of a body is looked at, and an iterator takes three times as long
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

/** safety: JSON.stringify overflows the stack some thousand levels deep, and a text has been through no check of its depth. */
const deepest = 512;

/** Node's own, which TypeScript does not know yet: text that JSON.stringify writes as it is. */
const { rawJSON } = JSON as unknown as { rawJSON(json: string): unknown };

/** The object in a text, such as the arguments of a call, with all digits of its numbers. Null: there is none, or none that could be written again. */
export function objectIn(text: string): object | null {
  if (!/^\s*\{/.test(text) || isDeeper(Buffer.from(text), deepest)) return null;
  try {
    const value: unknown = /\d{16}|\d[eE]/.test(text) ? JSON.parse(text, withDigits) : JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : null;
  } catch {
    // no JSON: what that means is the caller's to say
    return null;
  }
}

const withDigits = (_: string, value: unknown, context?: { readonly source?: string }): unknown =>
  typeof value === 'number' && context?.source !== undefined && String(value) !== context.source ? rawJSON(context.source) : value;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN = [0x5b, 0x7b];
const CLOSE = [0x5d, 0x7d];

/**
 * Whether brackets outside strings nest deeper than `limit`.
 * cost: JSON.parse and JSON.stringify overflow or crawl on deep input; strings are jumped over, so long texts cost little.
 */
export function isDeeper(bytes: Buffer, limit: number): boolean {
  let depth = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] as number;
    if (byte === QUOTE) {
      at = endOfString(bytes, at);
      if (at < 0) return false;
    } else if (byte === OPEN[0] || byte === OPEN[1]) {
      if (++depth > limit) return true;
    } else if (byte === CLOSE[0] || byte === CLOSE[1]) depth--;
  }
  return false;
}

/** Index of the quote that closes the string opened at `start`, or -1. */
function endOfString(bytes: Buffer, start: number): number {
  for (let end = bytes.indexOf(QUOTE, start + 1); end >= 0; end = bytes.indexOf(QUOTE, end + 1)) {
    let slashes = 0;
    while (bytes[end - 1 - slashes] === BACKSLASH) slashes++;
    if (slashes % 2 === 0) return end;
  }
  return -1;
}
