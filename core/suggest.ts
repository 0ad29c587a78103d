/** "Did you mean": the known names that an unknown one was probably meant to be. For callers, operators, and the config. */
import { distance } from 'fastest-levenshtein';

/** The nearest of `known`, best first. `apiKey` is as near to `api_key` as can be; `retention` means `retention_days`. */
export function suggest(word: string, known: Iterable<string>, most = 2): string[] {
  // safety: the word may come from a caller; its length bounds the work
  const asked = wordOf(word.slice(0, 100));
  const reach = Math.max(1, Math.floor(asked.text.length / 3)) + 1;
  const words = Array.from(known, wordOf);
  const near = words.map((one) => ({ name: one.name, far: far(asked, one, reach) })).filter((one) => one.far < reach);
  if (near.length > 0) return near.sort((a, b) => a.far - b.far).slice(0, most).map(({ name }) => name);
  if (asked.bare.length < 3) return [];
  const longer = words.filter(({ bare }) => bare.startsWith(asked.bare));
  return longer.length === 1 ? longer.map(({ name }) => name) : [];
}

/** The nearest, or null when none is near. */
export const nearest = (word: string, known: Iterable<string>): string | null => suggest(word, known, 1)[0] ?? null;

/** ` Did you mean "a" or "b"?`, or nothing. */
export function didYouMean(word: string, known: Iterable<string>): string {
  const found = suggest(word, known);
  return found.length === 0 ? '' : ` Did you mean ${found.map((name) => `"${name}"`).join(' or ')}?`;
}

interface Word {
  readonly name: string;
  readonly text: string;
  /** Without what stands between its parts. */
  readonly bare: string;
}

const wordOf = (name: string): Word => ({ name, text: name.toLowerCase(), bare: name.replaceAll(/[-_\s]/g, '').toLowerCase() });

/** Less than `reach`, or anything from there on. */
function far(asked: Word, one: Word, reach: number): number {
  const apart = edits(asked.text, one.text, reach);
  return asked.bare === '' ? apart : Math.min(apart, edits(asked.bare, one.bare, reach) + 0.5);
}

/** Letters to insert, delete or replace; two neighbours that changed places are one slip of the finger. */
function edits(asked: string, one: string, reach: number): number {
  // cost: most of a large catalogue differs too much in length alone
  if (Math.abs(asked.length - one.length) >= reach) return reach;
  const steps = distance(asked, one);
  if (steps !== 2 || asked.length !== one.length) return steps;
  for (let at = 0; at < asked.length - 1; at += 1) {
    if (asked.slice(0, at) + asked.charAt(at + 1) + asked.charAt(at) + asked.slice(at + 2) === one) return 1;
  }
  return steps;
}
