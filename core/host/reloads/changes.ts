/** What differs between two configs, in words, without a secret. */
import type { Config } from '../../config.ts';
import { Secret, withoutSecrets, saysSecret } from '../../secret.ts';

interface Change {
  /** For example `models.gpt-5.pricing.prompt`. */
  readonly path: string;
  /** JSON of the value, without secrets; null: it was not there. */
  readonly before: string | null;
  /** Null: it is gone. */
  readonly after: string | null;
}

export interface Changes {
  readonly shown: readonly Change[];
  /** Changes beyond those that are shown. */
  readonly more: number;
}

const mostShown = 40;
const longest = 160;

/** Marks a value that is absent, because a config may hold null. */
const absent = Symbol('absent');

export function changesOf(before: Config, after: Config): Changes {
  const found = [...differences([], [contentOf(before), contentOf(after)], false)];
  return { shown: found.slice(0, mostShown), more: Math.max(0, found.length - mostShown) };
}

/**
 * The config without derived values, and without the lines of the keys.
 * safety: the hash of a key is a secret here, as it is on the page Keys.
 */
const contentOf = ({ hash: _hash, keys, ...config }: Config): object => ({
  ...config,
  keys: keys.map(({ writtenAt: _place, hashes, ...key }) => ({ ...key, key: hashes.map(({ hash }) => new Secret(hash)) })),
});

type Pair = readonly [before: unknown, after: unknown];

function* differences(path: readonly string[], [before, after]: Pair, isSecret: boolean): Generator<Change> {
  const [one, other] = [partsOf(before), partsOf(after)];
  if (one !== null && other !== null) {
    for (const name of new Set([...one.keys(), ...other.keys()])) {
      yield* differences(
        [...path, name],
        [one.has(name) ? one.get(name) : absent, other.has(name) ? other.get(name) : absent],
        isSecret || saysSecret(name),
      );
    }
    return;
  }
  if (exact(before) !== exact(after)) yield { path: path.join('.'), before: shown(before, isSecret), after: shown(after, isSecret) };
}

/** The parts of a value by name; also those of a list in which each part has a name. Null: the value has no named parts. */
function partsOf(value: unknown): ReadonlyMap<string, unknown> | null {
  if (value instanceof Map) return value as Map<string, unknown>;
  if (Array.isArray(value)) return namedParts(value);
  return typeof value === 'object' && value !== null && !(value instanceof Secret) ? new Map(Object.entries(value)) : null;
}

function namedParts(list: readonly unknown[]): ReadonlyMap<string, unknown> | null {
  const names = list.map((item) => nameOf(item));
  if (names.some((name) => name === null)) return null;
  const seen = new Map<string, number>();
  return new Map(
    list.map((item, at) => {
      const name = names[at] as string;
      const times = (seen.get(name) ?? 0) + 1;
      seen.set(name, times);
      return [times === 1 ? name : `${name}#${times}`, item];
    }),
  );
}

function nameOf(item: unknown): string | null {
  if (typeof item !== 'object' || item === null) return null;
  const { id, name, use, providerId, externalId } = item as Partial<Record<string, unknown>>;
  const found = id ?? (typeof providerId === 'string' ? `${providerId}/${String(externalId)}` : undefined) ?? name ?? use;
  return typeof found === 'string' ? found : null;
}

/** A text that differs for any two values, secrets included: it must not leave this file. */
const exact = (value: unknown): string => (value === absent ? '' : `=${JSON.stringify(revealed(value))}`);

function revealed(value: unknown): unknown {
  if (value instanceof Secret) return ['secret', value.reveal()];
  if (value instanceof Map) return Array.from(value, revealed);
  if (Array.isArray(value)) return value.map(revealed);
  return typeof value === 'object' && value !== null ? Object.entries(value).map(revealed) : value;
}

function shown(value: unknown, isSecret: boolean): string | null {
  if (value === absent || value === undefined) return null;
  const text = JSON.stringify(withoutSecrets(value instanceof Map ? Object.fromEntries(value) : value, isSecret)) ?? 'null';
  return text.length > longest ? `${text.slice(0, longest - 1).toWellFormed()}…` : text;
}
