/**
 * Ids of requests: as people write them (whole, or their beginning), and the time in them. A
 * UUID of version 7 begins with its time in milliseconds, so a range of time is a range of ids.
 */

const prefix =
  /^[0-9a-f]{8}(?:-[0-9a-f]{0,4}|-[0-9a-f]{4}-[0-9a-f]{0,4}|(?:-[0-9a-f]{4}){2}-[0-9a-f]{0,4}|(?:-[0-9a-f]{4}){3}-[0-9a-f]{0,12})?$/i;

/** Whether a text is the id of a request, or its first 8 characters or more. */
export const isIdPrefix = (text: string): boolean => prefix.test(text);

/** The prefixes of an answer's id, before the id of its request. */
const answerId = /^(?:chatcmpl-|resp_|msg_)/;

/**
 * The id of a request, where the text is nothing else: the id itself, its beginning, or the id of the answer. Null: the text is no id. Ids
 * of this century begin with a 0, and a date or an amount does not.
 */
export function idAlone(text: string): string | null {
  const id = text
    .trim()
    .replace(answerId, '')
    .replace(/^([\da-f]{8})([\da-f]{4})([\da-f]{4})([\da-f]{4})([\da-f]{12})$/i, '$1-$2-$3-$4-$5');
  return id.startsWith('0') && isIdPrefix(id) ? id : null;
}

/** The digits of an id alone, in lower case. */
export const hexOf = (id: string): string => id.replaceAll('-', '').toLowerCase();

/** The id with these 32 digits. */
export const idOfHex = (hex: string): string =>
  `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;

const whole = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Whether a text is a whole id, in lower case; a database refuses any other. */
export const isId = (text: string): boolean => whole.test(text);

/** The time in an id, epoch milliseconds. */
export const timeOfId = (id: string): number => Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);

const longestMs = 3_600_000;

/**
 * Whether the record of this id may have been written a moment ago. The time in an id is that
 * of the arrival, an answer may take long, and the clock of another gateway may be ahead.
 */
export const isFresh = (id: string, now: number): boolean => Math.abs(now - timeOfId(id)) < longestMs;

/** The lowest id that a request of this millisecond could have. */
export const firstIdAt = (ms: number): string =>
  idOfHex(
    Math.max(0, Math.min(Math.floor(ms), 2 ** 48 - 1))
      .toString(16)
      .padStart(12, '0')
      .padEnd(32, '0'),
  );
