/**
 * Names that people write: patterns over them, the known names that an unknown one was probably meant to be, and short forms of long ones.
 */
import { isUtf8 } from 'node:buffer';
import { hash } from 'node:crypto';
import { distance } from 'fastest-levenshtein';
import type { Model } from './config.ts';

/**
 * Returns at most `most` names of `known` that are similar to `word`, the nearest first; an empty list where none is similar. Capitals
 * do not count, and separators count little: `apiKey` finds `api_key`. A prefix finds a name if no other name has it: `retention` finds
 * `retention_days`.
 */
export function suggest(word: string, known: Iterable<string>, most = 2): string[] {
  // safety: the word may come from a caller, and a long one would make this slow
  const asked = wordOf(word.slice(0, 100));
  const reach = Math.max(1, Math.floor(asked.text.length / 3)) + 1;
  const words = Array.from(known, wordOf);
  const near = words.map((one) => ({ name: one.name, far: far(asked, one, reach) })).filter((one) => one.far < reach);
  if (near.length > 0) {
    return near
      .sort((a, b) => a.far - b.far)
      .slice(0, most)
      .map(({ name }) => name);
  }
  if (asked.bare.length < 3) return [];
  const longer = words.filter(({ bare }) => bare.startsWith(asked.bare));
  return longer.length === 1 ? longer.map(({ name }) => name) : [];
}

/** The name of `known` that is nearest to `word`; null where none is near. */
export const nearest = (word: string, known: Iterable<string>): string | null => suggest(word, known, 1)[0] ?? null;

/** The sentence ` Did you mean "a" or "b"?` with the space before it; an empty text where no name is near. */
export function didYouMean(word: string, known: Iterable<string>): string {
  const found = suggest(word, known);
  return found.length === 0 ? '' : ` Did you mean ${found.map((name) => `"${name}"`).join(' or ')}?`;
}

/**
 * wire: the name of a tool may have at most 64 characters at most providers
 * (error texts of `tools[].function.name` and of `function_declarations[].name`).
 */
const longestOfTool = 64;

/** The beginning of a name, with a hash of the whole name behind it. */
const marked = (start: string, name: string): string => `${start}_${hash('sha256', name).slice(0, 8)}`;

/**
 * The name of a tool in the length that every provider takes. A longer name ends with
 * a hash of the whole, so that two names with the same beginning stay apart.
 */
export const shortToolName = (name: string): string =>
  name.length <= longestOfTool ? name : marked(name.slice(0, longestOfTool - 9), name);

/**
 * The name itself where a provider takes it. Any other becomes letters, digits, `_` and `-`, at most 64 of them. It
 * ends with a hash of the caller's name, so that two names stay apart, and one name is the same in each turn.
 */
export function toolNameBy(taken: RegExp, name: string): string {
  if (taken.test(name)) return name;
  const plain = name.replaceAll(/[^\w-]/g, '_').slice(0, longestOfTool - 10);
  return marked(/^[a-z_]/i.test(plain) ? plain : `_${plain}`, name);
}

/** The first characters of a text. A surrogate pair that would be cut in half is left out. */
export function beginning(text: string, length: number): string {
  if (text.length <= length) return text;
  const last = text.charCodeAt(length - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? length - 1 : length);
}

const mostKept = 1000;
const longestKept = 64;

/**
 * Wraps a function of a name, so that it computes the value once for each name.
 * safety: callers may make up names, so beyond the first thousand, and for long ones, it computes the value each time.
 */
export function oncePerName<Value extends string | null>(valueOf: (name: string) => Value): (name: string) => Value {
  const kept = new Map<string, Value>();
  return (name) => {
    const known = kept.get(name);
    if (known !== undefined) return known;
    const value = valueOf(name);
    if (kept.size < mostKept && name.length <= longestKept) kept.set(name, value);
    return value;
  };
}

/** Whether HTTP allows it as the name of a header (RFC 9110 §5.6.2). */
export const isHeaderName = (name: string): boolean => /^[!#$%&'*+.^`|~\w-]+$/.test(name);

/** Whether HTTP allows it as the value of a header (RFC 9110 §5.5). */
export const isHeaderValue = (value: string): boolean => /^[\t\x20-\x7e\x80-\xff]*$/.test(value);

/**
 * The text of a header value. Node makes each byte one character; most
 * clients send UTF-8, so valid UTF-8 is decoded, anything else is kept.
 */
export function headerText(value: string): string {
  if (!/[\x80-\xff]/.test(value)) return value;
  const bytes = Buffer.from(value, 'latin1');
  return isUtf8(bytes) ? bytes.toString('utf8') : value;
}

/** The value of a header that `headerText` reads as this text. */
export const headerValue = (text: string): string => Buffer.from(text).toString('latin1');

/** Headers that say where a reply ends: only the server writes them. */
export const framingHeaders: ReadonlySet<string> = new Set(['content-length', 'transfer-encoding', 'trailer', 'upgrade']);

interface Word {
  readonly name: string;
  readonly text: string;
  /** `text` without dashes, underscores and spaces. */
  readonly bare: string;
}

const wordOf = (name: string): Word => ({ name, text: name.toLowerCase(), bare: name.replaceAll(/[-_\s]/g, '').toLowerCase() });

/** The distance of two words in edits. Distances of `reach` and more are not exact: they only say that the words are not near. */
function far(asked: Word, one: Word, reach: number): number {
  const apart = edits(asked.text, one.text, reach);
  return asked.bare === '' ? apart : Math.min(apart, edits(asked.bare, one.bare, reach) + 0.5);
}

/**
 * The number of letters to insert, delete or replace; two neighbours that
 * changed places count as one edit, because one slip of the finger does it.
 */
function edits(asked: string, one: string, reach: number): number {
  // cost: most names of a large catalogue differ so much in length that no comparison is needed
  if (Math.abs(asked.length - one.length) >= reach) return reach;
  const steps = distance(asked, one);
  if (steps !== 2 || asked.length !== one.length) return steps;
  for (let at = 0; at < asked.length - 1; at += 1) {
    if (asked.slice(0, at) + asked.charAt(at + 1) + asked.charAt(at) + asked.slice(at + 2) === one) return 1;
  }
  return steps;
}

/**
 * The regular expression of a glob over model names: `*` matches any text, slashes included, because model ids may contain slashes.
 * safety: line breaks included too. A limit on `free-*` counts a value with U+2028 in it, which a caller can write into a header
 * cost: each part matches only at the first place where it fits, because a
 * look-ahead is never tried again. So the time does not grow with each star.
 */
export function patternOf(glob: string): RegExp {
  const [first = '', ...others] = glob.split(/\*+/).map((part) => part.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&'));
  const last = others.pop();
  const between = others.map((part, at) => `(?=(.*?${part}))\\${at + 1}`).join('');
  return new RegExp(last === undefined ? `^${first}$` : `^${first}${between}.*${last}$`, 's');
}

/** The names of models that callers can use. */
export interface Askable {
  /** Ids, aliases and policies, and each model with its provider in front. */
  readonly names: ReadonlySet<string>;
  /** The prefixes of the names that wildcards let through, and of the models behind those names. */
  readonly beginnings: readonly string[];
}

/** @param models wildcards too. @param more names besides those of the models: policies */
export function askableOf(models: readonly Pick<Model, 'id' | 'aliases' | 'providers'>[], more: Iterable<string>): Askable {
  const names = new Set(more);
  const beginnings = new Set<string>();
  const addresses = new Set(models.flatMap(({ providers }) => providers.map(({ providerId }) => `${providerId}/*`)));
  for (const { id, aliases, providers } of models) {
    if (id.endsWith('*')) {
      beginnings.add(id.slice(0, -1));
      // with the wildcard `north/*`, the model behind `north/large` is called `large`
      if (addresses.has(id)) beginnings.add('');
      continue;
    }
    for (const name of [id, ...aliases]) {
      names.add(name);
      for (const { providerId, externalId } of providers) names.add(`${providerId}/${name}`).add(`${providerId}/${externalId}`);
    }
  }
  return { names, beginnings: [...beginnings] };
}

/** Whether a glob over model names fits something that callers can ask for. */
export function fitsSome(glob: string, { names, beginnings }: Askable): boolean {
  const [start = '', ...others] = glob.split('*');
  const canBegin = (beginning: string): boolean => start.startsWith(beginning) || (others.length > 0 && beginning.startsWith(start));
  if (beginnings.some(canBegin)) return true;
  const pattern = patternOf(glob);
  return [...names].some((name) => pattern.test(name));
}
