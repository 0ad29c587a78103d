/**
 * Attributes in the JSON form of OTLP, in which 64-bit integers are texts. The functions return null for a value that is not known;
 * `attributes` leaves out such values.
 */

/** One value in the JSON form of OTLP. */
export type Value =
  | { readonly stringValue: string }
  | { readonly boolValue: boolean }
  | { readonly intValue: string }
  | { readonly doubleValue: number }
  | { readonly arrayValue: { readonly values: readonly Value[] } };

/** One named value. */
export interface Attribute {
  readonly key: string;
  readonly value: Value;
}

type Known<T> = T | null | undefined;

const longest = 1024;

/**
 * A text, cut to `limit` characters.
 * safety: half of a surrogate pair is not valid UTF-8, and a collector may refuse a whole batch because of it.
 */
export const text = (value: Known<string>, limit = longest): Value | null =>
  value === null || value === undefined ? null : { stringValue: value.slice(0, limit).toWellFormed() };

/** True; null where the flag is not set. */
export const flag = (isSet: Known<boolean>): Value | null => (isSet === true ? { boolValue: true } : null);

/** A whole number; null for a number that is not a safe integer. */
export const int = (value: Known<number>): Value | null => (Number.isSafeInteger(value) ? { intValue: String(value) } : null);

/** A number with a fraction; null where it is not finite. */
export const double = (value: Known<number>): Value | null =>
  typeof value === 'number' && Number.isFinite(value) ? { doubleValue: value } : null;

/** A list of texts; null where the list is empty. */
export function texts(values: Known<readonly string[]>): Value | null {
  if (values === null || values === undefined || values.length === 0) return null;
  return { arrayValue: { values: values.flatMap((value) => text(value) ?? []) } };
}

/** A time: takes milliseconds, gives seconds. */
export const seconds = (milliseconds: Known<number>): Value | null =>
  milliseconds === null || milliseconds === undefined ? null : double(milliseconds / 1000);

/** The list of all attributes whose value is known. */
export function attributes(values: Readonly<Record<string, Value | null>>): Attribute[] {
  const known: Attribute[] = [];
  for (const key in values) {
    const value = values[key];
    if (value !== null && value !== undefined) known.push({ key, value });
  }
  return known;
}
