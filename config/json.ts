/**
 * Reads a config file that is JSON with the JSON parser. JSON is also YAML, and programs often write large catalogues as JSON:
 * the JSON parser takes 30 ms for 2.6 MB, the YAML parser 1.2 s. A text that the two parsers could read differently is left to
 * the YAML parser. The positions of values are found here too: otherwise the first fault would need the YAML parser after all.
 */

/** The map that the text holds, or the reason why the text is not read as JSON. */
export type Json = { readonly value: Record<string, unknown> } | { readonly value: null; readonly why: string };

/** Reads a text as JSON, where YAML would give the same value. Never throws. */
export function readJson(text: string): Json {
  if (!/^\s*\{/.test(text)) return { value: null, why: 'it does not begin with {' };
  // the YAML reader hides the braces of references before it parses, so a text with references belongs to it
  if (text.includes('${')) return { value: null, why: hasReference };
  try {
    const value = JSON.parse(text) as Record<string, unknown>;
    // JSON.parse keeps the last of two equal keys: the value then has fewer keys than the text
    if (keysIn(value) !== keysWritten(text)) throw new NotForJson('a key is in the same map twice');
    return { value };
  } catch (thrown) {
    // safety: the parser's message quotes the text, and the text may hold a secret
    return { value: null, why: thrown instanceof NotForJson ? thrown.message : 'it is not valid JSON' };
  }
}

/** The text is JSON, but the YAML parser would read it differently. The message says why. */
class NotForJson extends Error {}

const hasReference = 'it has a reference, ${...} or $$';

/** The number of keys in a value and in everything below it. Throws `NotForJson`. */
function keysIn(value: unknown): number {
  if (typeof value === 'string' && /\$[${]/.test(value)) throw new NotForJson(hasReference);
  if (typeof value !== 'object' || value === null) return 0;
  if (Object.hasOwn(value, '__proto__')) throw new NotForJson('it has the key "__proto__"');
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + keysIn(item), 0);
  // safety: V8 13.6 confuses keys with backslashes: after {"\\": 1} it reads the key of {"\n": 1} as a backslash
  return Object.entries(value).reduce<number>((sum, [key, item]) => {
    if (key.includes('\\')) throw new NotForJson('it has a key with a backslash');
    return sum + keysIn(item);
  }, Object.keys(value).length);
}

/** A part of a text, in UTF-16 units; `end` is the position after the last one. */
export type Range = readonly [start: number, end: number];

/** Where a value and its key are in the text; null where the text does not have them. */
export interface Ranges {
  readonly key: Range | null;
  readonly value: Range | null;
}

/**
 * Returns a function that finds the ranges of the key and the value at a path. `text` is a text that `readJson` accepted.
 * The function reads through a map or a list once, when a path into it is first asked for.
 */
export function createFinder(text: string): (path: readonly (string | number)[]) => Ranges {
  const nowhere: Ranges = { key: null, value: null };
  const known = new Map<number, ReadonlyMap<string, Ranges>>();
  const membersAt = (start: number): ReadonlyMap<string, Ranges> => {
    const members = known.get(start) ?? membersOf(text, start);
    known.set(start, members);
    return members;
  };
  const start = skip(text, 0);
  const root: Ranges = { key: null, value: [start, endOfValue(text, start)] };
  return (path) =>
    path.reduce<Ranges>(({ value }, step) => (value === null ? nowhere : (membersAt(value[0]).get(String(step)) ?? nowhere)), root);
}

function membersOf(text: string, start: number): Map<string, Ranges> {
  const members = new Map<string, Ranges>();
  const isMap = text[start] === '{';
  if (!isMap && text[start] !== '[') return members;
  for (let at = skip(text, start + 1); text[at] !== '}' && text[at] !== ']'; at = skip(text, at, ',')) {
    const key: Range | null = isMap ? [at, endOfString(text, at)] : null;
    const from = key === null ? at : skip(text, key[1], ':');
    at = endOfValue(text, from);
    members.set(key === null ? String(members.size) : (JSON.parse(text.slice(...key)) as string), { key, value: [from, at] });
  }
  return members;
}

/** The position behind the value that begins at `start`. */
function endOfValue(text: string, start: number): number {
  if (text[start] === '"') return endOfString(text, start);
  if (text[start] !== '{' && text[start] !== '[') return start + text.slice(start).search(/[\s,}\]]/);
  const mark = /["{}[\]]/g;
  mark.lastIndex = start;
  let depth = 0;
  do {
    const [found] = mark.exec(text) ?? [''];
    if (found === '"') mark.lastIndex = endOfString(text, mark.lastIndex - 1);
    else depth += found === '{' || found === '[' ? 1 : -1;
  } while (depth > 0);
  return mark.lastIndex;
}

/** The number of keys in the text: strings that a colon follows. */
function keysWritten(text: string): number {
  let keys = 0;
  for (let at = text.indexOf('"'); at >= 0; at = text.indexOf('"', at)) {
    at = skip(text, endOfString(text, at));
    if (text[at] === ':') keys += 1;
  }
  return keys;
}

/** The position behind the closing quote of the string whose opening quote is at `start`. */
function endOfString(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); ; at = text.indexOf('"', at + 1)) {
    let before = at - 1;
    while (text[before] === '\\') before -= 1;
    if ((at - before) % 2 === 1) return at + 1;
  }
}

const blank = ' \t\n\r';

/** The position of the next character, from `from` on, that is neither white space nor one of `more`. */
function skip(text: string, from: number, more = ''): number {
  let at = from;
  while (at < text.length && (blank.includes(text[at] ?? '') || more.includes(text[at] ?? ''))) at += 1;
  return at;
}
