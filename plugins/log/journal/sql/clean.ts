/** Replaces values that a database would refuse, so that no record is lost because of an odd character. */

/** JSON without this pattern needs no cleaning. */
const suspicious = /\\u0000|\\ud[89a-f][0-9a-f]{2}/i;

/** cost: searching the text once is ten times cheaper than walking through the value. */
const isSuspicious = (json: string): boolean => json.includes('\\u') && suspicious.test(json);

/** Parses JSON, and replaces NUL characters and lone surrogates in it. */
export function parseClean(json: string): unknown {
  const value: unknown = JSON.parse(json);
  return isSuspicious(json) ? cleaned(value) : value;
}

/** As `parseClean`, for JSON that stays text. */
export const cleanJson = (json: string): string => (isSuspicious(json) ? JSON.stringify(cleaned(JSON.parse(json))) : json);

const cleanText = (text: string): string => text.replaceAll('\0', '\ufffd').toWellFormed();

function cleaned(value: unknown): unknown {
  if (typeof value === 'string') return cleanText(value);
  if (Array.isArray(value)) return value.map(cleaned);
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [cleanText(name), cleaned(each)]));
  }
  return value;
}

const largestInteger = 2_147_483_647;

/** A whole number that a 32-bit column can hold; null for a value that is not a number. */
export function count(value: unknown): number | null {
  if (typeof value !== 'number' || Number.isNaN(value)) return null;
  return Math.min(Math.max(Math.round(value), 0), largestInteger);
}

export const real = (value: unknown): number | null => (typeof value === 'number' && Number.isFinite(value) ? value : null);

/** The limit of a text by which records are found, in a column and in the index of tags. */
export const longestText = 256;

/** A text of at most so many characters; null for a value that is not a text. */
export function text(value: unknown, most: number): string | null {
  if (typeof value !== 'string') return null;
  return value.length <= most ? value : value.slice(0, most).toWellFormed();
}
