/** "Did you mean": the known name that an unknown one was probably meant to be. */
import { distance } from 'fastest-levenshtein';

const bare = (name: string): string => name.replaceAll(/[-_\s]/g, '').toLowerCase();

/** The nearest of `known`, or null when none is near. `apiKey` is as near to `api_key` as can be; `retention` means `retention_days`. */
export function nearest(name: string, known: Iterable<string>): string | null {
  const candidates = [...known];
  let best: string | null = null;
  let least = Math.max(1, Math.floor(name.length / 3)) + 1;
  for (const candidate of candidates) {
    const steps = Math.min(edits(name, candidate), bare(name) === '' ? Infinity : edits(bare(name), bare(candidate)) + 0.5);
    if (steps < least) [best, least] = [candidate, steps];
  }
  if (best !== null || bare(name).length < 3) return best;
  const longer = candidates.filter((candidate) => bare(candidate).startsWith(bare(name)));
  return longer.length === 1 ? (longer[0] ?? null) : null;
}

/** The sentence of a hint, or null. */
export function didYouMean(name: string, known: Iterable<string>): string | null {
  const best = nearest(name, known);
  return best === null ? null : `did you mean "${best}"?`;
}

/** Letters to insert, delete or replace; two neighbours that changed places are one slip of the finger. */
function edits(name: string, candidate: string): number {
  const steps = distance(name, candidate);
  if (steps !== 2 || name.length !== candidate.length) return steps;
  for (let at = 0; at < name.length - 1; at += 1) {
    if (name.slice(0, at) + name.charAt(at + 1) + name.charAt(at) + name.slice(at + 2) === candidate) return 1;
  }
  return steps;
}
