/** "Did you mean": the known name that an unknown one was probably meant to be. */
import { distance } from 'fastest-levenshtein';

const bare = (name: string): string => name.replaceAll(/[-_\s]/g, '').toLowerCase();

/** The nearest of `known`, or null when none is near. `apiKey` is as near to `api_key` as can be. */
export function nearest(name: string, known: Iterable<string>): string | null {
  const reach = Math.max(1, Math.floor(name.length / 3));
  let best: string | null = null;
  let least = reach + 1;
  for (const candidate of known) {
    const steps = Math.min(distance(name, candidate), bare(name) === '' ? Infinity : distance(bare(name), bare(candidate)) + 0.5);
    if (steps < least) [best, least] = [candidate, steps];
  }
  return best;
}

/** The sentence of a hint, or null. */
export function didYouMean(name: string, known: Iterable<string>): string | null {
  const best = nearest(name, known);
  return best === null ? null : `did you mean "${best}"?`;
}
