/** A text as its difference from another text: pieces of its own, and places of the other text that it copies. */

/** Its own pieces as they are; copies as pairs of place and length, counted in units of strings. */
export type Difference = readonly (string | readonly [from: number, length: number])[];

/** Shorter copies take more room than the text itself. */
const shortest = 32;
/**
 * cost: for a large text at most this many places are looked up, at larger
 * distances. Copies that are shorter than the distance may be missed.
 */
const mostPlaces = 4096;
/** cost: a text without copies is not searched to its end. */
const mostLooks = 200_000;

/**
 * cost: the gap between two copies, or after the last one, is searched for copies only if
 * it is longer than this: each place is a look-up, and a store compresses the rest anyway.
 */
const fewLeft = 256;

/**
 * Returns a function that gives the difference of a text from `base`.
 * cost: most texts begin or end as `base` does. Its index is built once for all texts: that takes longer than comparing a short text.
 */
export function differencesFrom(base: string): (text: string) => Difference {
  let places: ReadonlyMap<string, number> | null = null;
  return (text) => {
    const head = worthCopying(sameFrom(text, base, { at: 0, place: 0 }));
    const tail = worthCopying(
      sameBefore(text, base, { at: text.length, place: base.length, most: Math.min(text.length, base.length) - head }),
    );
    const own = text.slice(head, text.length - tail);
    const isShort = own.length <= fewLeft && head + tail > 0;
    const between = own === '' ? [] : isShort ? [own] : differenceOf(own, base, (places ??= placesOf(base)));
    return [...(head === 0 ? [] : [[0, head] as const]), ...between, ...(tail === 0 ? [] : [[base.length - tail, tail] as const])];
  };
}

const worthCopying = (length: number): number => (length >= shortest ? length : 0);

function differenceOf(text: string, base: string, places: ReadonlyMap<string, number>): Difference[number][] {
  const pieces: (string | readonly [number, number])[] = [];
  let done = 0;
  let looks = 0;
  for (let at = 0; at + shortest <= text.length && looks < mostLooks; at++, looks++) {
    const place = places.get(text.slice(at, at + shortest));
    if (place === undefined) continue;
    const before = sameBefore(text, base, { at, place, most: at - done });
    const length = before + shortest + sameFrom(text, base, { at: at + shortest, place: place + shortest });
    if (at - before > done) pieces.push(text.slice(done, at - before));
    pieces.push([place - before, length]);
    done = at - before + length;
    if (text.length - done <= fewLeft) break;
    at = done - 1;
  }
  if (done < text.length) pieces.push(text.slice(done));
  return pieces;
}

export const restored = (difference: Difference, base: string): string =>
  difference.map((piece) => (typeof piece === 'string' ? piece : base.slice(piece[0], piece[0] + piece[1]))).join('');

function placesOf(base: string): ReadonlyMap<string, number> {
  const places = new Map<string, number>();
  const step = Math.max(shortest, Math.ceil(base.length / mostPlaces));
  for (let at = 0; at + shortest <= base.length; at += step) {
    const piece = base.slice(at, at + shortest);
    // the first place is kept, because a copy from there may be longer
    if (!places.has(piece)) places.set(piece, at);
  }
  return places;
}

interface Match {
  readonly at: number;
  readonly place: number;
}

/** cost: texts of this length are compared by V8 at once, which takes a tenth of the time for each unit. */
const block = 128;

/** How many units before both places are equal. */
function sameBefore(text: string, base: string, { at, place, most }: Match & { readonly most: number }): number {
  const end = Math.min(most, place);
  let same = 0;
  while (same + block <= end && text.slice(at - same - block, at - same) === base.slice(place - same - block, place - same)) same += block;
  while (same < end && text.charCodeAt(at - same - 1) === base.charCodeAt(place - same - 1)) same++;
  return same;
}

/** How many units from both places on are equal. */
function sameFrom(text: string, base: string, { at, place }: Match): number {
  const end = Math.min(text.length - at, base.length - place);
  let same = 0;
  while (same + block <= end && text.slice(at + same, at + same + block) === base.slice(place + same, place + same + block)) same += block;
  while (same < end && text.charCodeAt(at + same) === base.charCodeAt(place + same)) same++;
  return same;
}
