/** Readers for JSON that a provider or a caller sent. Each reader returns a default for a value of another kind, so no reader throws. */

/** A JSON object whose values may be of any kind. */
export type Fields = Readonly<Record<string, unknown>>;

const noFields: Fields = Object.freeze({});

const Bare = function bareObject() {} as unknown as new () => object;
Bare.prototype = Object.freeze(Object.create(null) as object);

/**
 * A copy that inherits nothing: a name such as `constructor` or `__proto__` is a field like any other.
 * cost: V8 keeps what `Object.create(null)` gives as a hash table, which takes four times as long to fill and to write as JSON.
 */
export const bare = <Value>(fields: Readonly<Record<string, Value>>): Record<string, Value> =>
  Object.assign(new Bare(), fields) as Record<string, Value>;

/** True if the value is an object: not null, and not a list. */
export const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);

/** The kind of a value, for an error message about a value of the wrong kind. */
export function kindOf(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  return Array.isArray(value) ? 'an array' : typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

/** The object; an empty object for a value of another kind, also for a list. */
export const fieldsOf = (value: unknown): Fields => (isFields(value) ? value : noFields);

/**
 * A copy of a list that the core has frozen, for a call of one of its methods.
 * cost: on a frozen list of two, V8 takes 0.6 µs for `filter` and 0.17 for `some`; on a copy, together with the copying, 0.05 and 0.04
 */
export const thawed = <Value>(list: readonly Value[]): Value[] => [...list];

/** The list; an empty list for a value of another kind. */
export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? (value as unknown[]) : []);

/** The text, unchanged; null for an empty text and for a value of another kind. */
export const textOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);

/**
 * The text without white space around it; null for a text that has nothing else,
 * and for a value of another kind. For messages and names that people read.
 */
export const wordsOf = (value: unknown): string | null => (typeof value === 'string' ? textOf(value.trim()) : null);

/** The number of tokens or of other things; null for a number below 0, for one that is not a safe integer, and for a value of another kind. */
export const countOf = (value: unknown): number | null =>
  Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : null;

/**
 * A part of a count, limited to the whole count: some providers report more
 * thinking than answer. A part or a whole that is null limits nothing.
 */
export const atMost = (part: number | null, whole: number | null): number | null =>
  part === null || whole === null ? part : Math.min(part, whole);
