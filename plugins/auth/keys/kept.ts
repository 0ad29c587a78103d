/**
 * The keys of the store, as this process knows them. They are in memory, so that no request reads the database, and stay there over
 * reloads and while the database is away.
 */
import { earliest, momentOf } from '../../../core/api-key.ts';
import type { KeyEntry, KeyHash } from '../../../core/api-key.ts';
import { noChange } from '../../../core/log/keys.ts';
import type { KeptKey, KeyTable } from '../../../core/log/keys.ts';
import { amountsOf } from './settings.ts';
import type { KeySettings } from './settings.ts';

/** One key of a caller. While a key is rotated, its caller has several. */
export interface StoredSecret extends KeyHash {
  readonly prefix: string;
  /** Epoch milliseconds. */
  readonly createdAt: number;
}

/** A row of the table. */
export interface StoredKey {
  readonly createdAt: number;
  /** The newest first. */
  readonly secrets: readonly StoredSecret[];
  readonly settings: KeySettings;
}

export interface Kept {
  readonly version: number;
  readonly stored: StoredKey;
  readonly entry: KeyEntry;
}

/** Changes by name; null: the key is gone. */
export type Changed = ReadonlyMap<string, KeyEntry | null>;

export class KeptKeys {
  readonly #keys = new Map<string, Kept>();
  readonly #listeners = new Set<(changed: Changed) => void>();
  /** The versions of the keys that this process has written since the newest read began. */
  #written = new Map<string, number>();
  #newest = noChange;
  #reading: Promise<void> | null = null;
  #next: Promise<void> | null = null;
  #isRead = false;

  /** Whether the store has been read since the process began. */
  get isRead(): boolean {
    return this.#isRead;
  }

  get(name: string): Kept | undefined {
    return this.#keys.get(name);
  }

  all(): ReadonlyMap<string, Kept> {
    return this.#keys;
  }

  /** Calls back with all keys at once, and later with the keys that change. Returns the function that ends this. */
  follow(listener: (changed: Changed) => void): () => void {
    listener(new Map(Array.from(this.#keys, ([name, { entry }]) => [name, entry])));
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Reads what has changed in the store until the time of the call. Rejects while the store is away. */
  refresh(table: KeyTable): Promise<void> {
    if (this.#next !== null) return this.#next;
    if (this.#reading === null) return this.#begin(table);
    // the running read may have begun before the change that the caller knows of
    this.#next = this.#reading
      .catch(() => {})
      .then(() => {
        this.#next = null;
        return this.#begin(table);
      });
    return this.#next;
  }

  #begin(table: KeyTable): Promise<void> {
    this.#reading = this.#read(table).finally(() => {
      this.#reading = null;
    });
    return this.#reading;
  }

  async #read(table: KeyTable): Promise<void> {
    const written = (this.#written = new Map<string, number>());
    const { keys, isWhole, version, changedAt } = await table.changes(this.#newest);
    const found = new Set(keys.map(({ name }) => name));
    const gone = isWhole ? [...this.#keys.keys()].filter((name) => !found.has(name)) : [];
    this.#newest = { version, changedAt };
    this.#isRead = true;
    const read = [...keys, ...gone.map((name) => ({ name, version, data: null }))];
    // this process may have written a key meanwhile, and the read has it as it was before
    this.#take(read.filter((key) => (written.get(key.name) ?? -1) < key.version));
  }

  /** Takes a key that this process has just written. */
  take(key: KeptKey): void {
    // a read was faster, and may know of a later change
    if (key.version <= this.#newest.version) return;
    this.#written.set(key.name, key.version);
    this.#take([key]);
  }

  #take(keys: readonly KeptKey[]): void {
    const changed = new Map<string, KeyEntry | null>();
    for (const { name, version, data } of keys) {
      const kept = data === null ? null : keptOf(name, version, JSON.parse(data) as StoredKey);
      if (kept === null) this.#keys.delete(name);
      else this.#keys.set(name, kept);
      changed.set(name, kept?.entry ?? null);
    }
    if (changed.size > 0) for (const listener of this.#listeners) listener(changed);
  }
}

function keptOf(name: string, version: number, stored: StoredKey): Kept {
  const { models, metadata, log_bodies: logBodies, cache, reasoning_fields: reasoningFields, limits, expires, disabled } = stored.settings;
  const expiresAt = expires === null ? null : momentOf(expires);
  const hashes = stored.secrets.map(({ hash, prefix, expiresAt: own }): KeyHash => ({ hash, prefix, expiresAt: earliest(own, expiresAt) }));
  const entry: KeyEntry = {
    name,
    hashes,
    expiresAt,
    disabled,
    since: stored.createdAt,
    writtenAt: null,
    models,
    metadata,
    logBodies,
    cache,
    reasoningFields,
    limits: amountsOf(limits),
  };
  return { version, stored, entry };
}
