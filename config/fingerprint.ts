/** The short hash of a configuration. Each log record keeps it, so that a reader can tell which configuration was in force. */
import { hash } from 'node:crypto';
import { Secret } from '../core/secret.ts';

/** SHA-256 of a text, as 64 hex digits. */
export const sha256 = (text: string): string => hash('sha256', text);

/** A hash of everything in `value`, as 16 hex digits. The order of keys does not change it; a changed secret does. */
export const fingerprint = (value: unknown): string => sha256(JSON.stringify(canonical(value))).slice(0, 16);

/** A copy of a value with its keys sorted and its secrets replaced by their hashes. */
function canonical(value: unknown): unknown {
  if (value instanceof Secret) return `sha256:${sha256(value.reveal())}`;
  if (Array.isArray(value)) return value.map(canonical);
  if (typeof value !== 'object' || value === null) return value;
  const entries: [string, unknown][] = value instanceof Map ? [...(value as Map<string, unknown>)] : Object.entries(value);
  return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([key, item]) => [key, canonical(item)]));
}
