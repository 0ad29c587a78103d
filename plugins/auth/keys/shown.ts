/** What `/api/keys`, `gateway keys` and the dashboard show of keys: no key itself, and no hash. */
import type { CallerKeys, KeyEntry } from '../../../core/api-key.ts';
import type { LogReader, StatsRow } from '../../../core/log/store.ts';
import type { Kept } from './kept.ts';
import { limitsOf } from './settings.ts';
import type { KeySettings } from './settings.ts';

/** A key as it is shown: its settings have the names that they have in the YAML. */
export interface ShownKey extends KeySettings {
  /** The name. */
  readonly id: string;
  readonly name: string;
  readonly source: 'yaml' | 'store';
  /** `gateway.config.yaml:12`; null: it is kept in the store. */
  readonly writtenAt: string | null;
  /** True: the config has a key of this name too, so this key is not used. */
  readonly isShadowed: boolean;
  /** The public part of the newest key; null: not known. */
  readonly prefix: string | null;
  /** The keys of the caller, the newest first: several while a key is rotated. */
  readonly keys: readonly ShownSecret[];
  /** ISO time; null: the config does not say. */
  readonly createdAt: string | null;
  /** ISO time of the newest request on record; null: none. */
  readonly lastUsedAt: string | null;
  /** The use in the last 30 days; null: the key was not used. */
  readonly use: StatsRow | null;
}

export interface ShownSecret {
  readonly prefix: string | null;
  readonly createdAt: string | null;
  /** The key is refused from this time on; null: never. */
  readonly expires: string | null;
}

/** `GET /api/keys`. */
export interface ShownKeys {
  readonly data: readonly ShownKey[];
  /** Callers need no key. */
  readonly isOpen: boolean;
  /** Use without a key, where callers need none. */
  readonly open: StatsRow | null;
  /** Whether keys can be made and changed: `away` while the database does not answer, `none` where nothing keeps keys. */
  readonly store: 'good' | 'away' | 'none';
}

const iso = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString());

interface Uses {
  readonly use: ReadonlyMap<string | null, StatsRow>;
  readonly lastUsed: Readonly<Record<string, number>>;
}

function shownWritten(entry: KeyEntry, { use, lastUsed }: Uses): ShownKey {
  const { name, hashes, expiresAt, disabled, writtenAt, models, metadata, logBodies, cache, reasoningFields, limits } = entry;
  return {
    id: name,
    name,
    source: 'yaml',
    writtenAt: writtenAt?.() ?? null,
    isShadowed: false,
    prefix: hashes[0]?.prefix ?? null,
    keys: hashes.map((one) => ({ prefix: one.prefix, createdAt: null, expires: iso(one.expiresAt) })),
    createdAt: null,
    lastUsedAt: iso(usedAt(name, lastUsed)),
    use: use.get(name) ?? null,
    models,
    metadata,
    log_bodies: logBodies,
    cache,
    reasoning_fields: reasoningFields,
    limits: limitsOf(limits),
    expires: iso(expiresAt),
    disabled,
  };
}

export function shownKept({ entry, stored }: Kept, isShadowed: boolean, { use, lastUsed }: Uses = noUses): ShownKey {
  const { name } = entry;
  return {
    id: name,
    name,
    source: 'store',
    writtenAt: null,
    isShadowed,
    prefix: stored.secrets[0]?.prefix ?? null,
    keys: stored.secrets.map((one) => ({ prefix: one.prefix, createdAt: iso(one.createdAt), expires: iso(one.expiresAt) })),
    createdAt: iso(stored.createdAt),
    lastUsedAt: iso(usedAt(name, lastUsed)),
    use: use.get(name) ?? null,
    ...stored.settings,
  };
}

/** safety: a key may have the name of a property that every object has, such as `constructor`. */
const usedAt = (name: string, lastUsed: Uses['lastUsed']): number | null =>
  Object.hasOwn(lastUsed, name) ? (lastUsed[name] ?? null) : null;

const noUses: Uses = { use: new Map(), lastUsed: {} };
const useMs = 30 * 86_400_000;
const most = 1000;

/** The use of keys in the log; empty while the log does not answer, because keys can be shown without it. */
export async function usesOf(names: readonly string[], reader: LogReader | null, now: number): Promise<Uses> {
  const [rows, lastUsed] = await Promise.all([
    reader
      ?.stats({ from: now - useMs, to: null, conditions: [], text: null }, { by: 'key', limit: most, isUrgent: true })
      .catch(() => []) ?? [],
    reader?.keys?.lastUsed(names).catch(() => ({})) ?? {},
  ]);
  return { use: new Map(rows.map((row) => [row.value, row])), lastUsed };
}

export function shownKeys(keys: CallerKeys, kept: ReadonlyMap<string, Kept>, uses: Uses): ShownKey[] {
  const written = keys.all().filter(({ writtenAt }) => writtenAt !== null);
  return [
    ...written.map((entry) => shownWritten(entry, uses)),
    ...Array.from(kept.values(), (one) => shownKept(one, keys.isWritten(one.entry.name), uses)).sort((a, b) => (a.name < b.name ? -1 : 1)),
  ];
}
