/** Finds the holder of a key by the hash of the key. */
import { hash } from 'node:crypto';
import type { KeyEntry } from '../../../core/api-key.ts';
import { principalOf } from '../../../core/pipeline/context.ts';
import type { Principal } from '../../../core/pipeline/context.ts';
import type { Changed } from './kept.ts';

export interface Holder {
  readonly principal: Principal;
  /** Epoch milliseconds from which on the key is refused; null: never. */
  readonly expiresAt: number | null;
  readonly disabled: boolean;
}

export class Holders {
  readonly #written: ReadonlyMap<string, Holder>;
  /** The holders of keys of the store. */
  readonly #kept = new Map<string, Holder>();
  readonly #hashesOf = new Map<string, readonly string[]>();
  // cost: a hash for each request is a fortieth of the CPU of a plain request
  // (test/bench). Only keys that are known get in, so callers cannot fill it
  readonly #known = new Map<string, Holder>();

  constructor(written: readonly KeyEntry[]) {
    this.#written = new Map(written.flatMap(holdersOf));
  }

  get size(): number {
    return this.#written.size + this.#kept.size;
  }

  of(key: string): Holder | undefined {
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    // a lookup's time may reveal something about a hash, but a hash reveals nothing about the key: no constant time is needed
    const digest = hash('sha256', key);
    const holder = this.#written.get(digest) ?? this.#kept.get(digest);
    if (holder !== undefined) this.#known.set(key, holder);
    return holder;
  }

  /** Takes over keys of the store, by their names; null: the key was deleted. */
  take(changed: Changed): void {
    this.#known.clear();
    for (const [name, entry] of changed) {
      for (const digest of this.#hashesOf.get(name) ?? []) this.#kept.delete(digest);
      this.#hashesOf.delete(name);
      if (entry === null) continue;
      const holders = holdersOf(entry);
      this.#hashesOf.set(
        name,
        holders.map(([digest]) => digest),
      );
      for (const [digest, holder] of holders) this.#kept.set(digest, holder);
    }
  }
}

/** The holder of each key of an entry, by the hash of the key. */
function holdersOf(entry: KeyEntry): [string, Holder][] {
  const { hashes, disabled } = entry;
  const principal = principalOf(entry);
  return hashes.map(({ hash: digest, expiresAt }) => [digest, { principal, expiresAt, disabled }]);
}
