import { distance } from 'fastest-levenshtein';

/** The nearest of the known words, best first, as far as a slip of the fingers goes. */
export function suggest(word: string, known: Iterable<string>, most = 2): string[] {
  // safety: the word may come from a caller; its length bounds the work
  const asked = word.slice(0, 100).toLowerCase();
  // two letters swapped are two edits
  const reach = Math.max(asked.length > 3 ? 2 : 1, Math.floor(asked.length / 3));
  return Array.from(known, (name) => ({ name, far: distance(asked, name.toLowerCase()) }))
    .filter(({ far }) => far <= reach)
    .sort((a, b) => a.far - b.far)
    .slice(0, most)
    .map(({ name }) => name);
}

/** ` Did you mean "a" or "b"?`, or nothing. */
export function didYouMean(word: string, known: Iterable<string>): string {
  const found = suggest(word, known);
  return found.length === 0 ? '' : ` Did you mean ${found.map((name) => `"${name}"`).join(' or ')}?`;
}
