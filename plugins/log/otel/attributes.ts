/** Attributes as OTLP writes them in JSON: 64-bit integers are text, and a value that is not known has no attribute. */

export type Value =
  | { readonly stringValue: string }
  | { readonly boolValue: boolean }
  | { readonly intValue: string }
  | { readonly doubleValue: number }
  | { readonly arrayValue: { readonly values: readonly Value[] } };

export interface Attribute {
  readonly key: string;
  readonly value: Value;
}

type Known<T> = T | null | undefined;

const longest = 1024;

/** safety: half of a surrogate pair is no UTF-8, and a collector may refuse a whole batch for it. */
export const text = (value: Known<string>, limit = longest): Value | null => (value === null || value === undefined ? null : { stringValue: value.slice(0, limit).toWellFormed() });

export const flag = (value: Known<boolean>): Value | null => (value === null || value === undefined ? null : { boolValue: value });

export const int = (value: Known<number>): Value | null => (Number.isSafeInteger(value) ? { intValue: String(value) } : null);

export const double = (value: Known<number>): Value | null => (typeof value === 'number' && Number.isFinite(value) ? { doubleValue: value } : null);

export function texts(values: Known<readonly string[]>): Value | null {
  if (values === null || values === undefined || values.length === 0) return null;
  return { arrayValue: { values: values.flatMap((value) => text(value) ?? []) } };
}

/** Milliseconds as seconds. */
export const seconds = (milliseconds: Known<number>): Value | null => (milliseconds === null || milliseconds === undefined ? null : double(milliseconds / 1000));

export function attributes(values: Readonly<Record<string, Value | null>>): Attribute[] {
  const known: Attribute[] = [];
  for (const key in values) {
    const value = values[key];
    if (value !== null && value !== undefined) known.push({ key, value });
  }
  return known;
}
