/** The short name of a configuration: what each record keeps so that it can be told under which one it ran. */
import { createHash } from 'node:crypto';
import { Secret } from '../core/secret.ts';

/** SHA-256 of a text, hex. */
export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** 16 hex digits of everything in `value`. Comments, spelling and order of keys do not matter; a changed secret does. */
export const fingerprint = (value: unknown): string => sha256(JSON.stringify(canonical(value))).slice(0, 16);

/** Keys sorted, and secrets replaced by their hash. */
function canonical(value: unknown): unknown {
  if (value instanceof Secret) return `sha256:${sha256(value.reveal())}`;
  if (Array.isArray(value)) return value.map(canonical);
  if (typeof value !== 'object' || value === null) return value;
  const entries: [string, unknown][] = value instanceof Map ? [...(value as Map<string, unknown>)] : Object.entries(value);
  return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([key, item]) => [key, canonical(item)]));
}
