/**
 * Merges the entries of all files by id. Where two files have the same id, the
 * including file wins over the included one; a model is laid over the included one.
 */
import { fieldsOf, listOf } from '../core/wire/fields.ts';
import type { KeyBlock } from '../schemas/keys.ts';
import type { ModelBlock } from '../schemas/models.ts';
import type { ProviderBlock } from '../schemas/providers.ts';
import type { PolicyBlock } from '../schemas/routing.ts';
import { laidOver } from './overlay.ts';
import type { Findings, Place } from './problems.ts';
import type { Reading } from './read.ts';
import type { Path } from './source.ts';
import { locate } from './source.ts';

/** One provider, key, model or policy as one file has it. */
export interface Layer<T> {
  /** The value with its defaults. It has the type `T` only where `isSound` is true. */
  readonly value: T;
  /** The file that has the entry. */
  readonly reading: Reading;
  /** Where the entry is in that file. */
  readonly path: Path;
  /** Whether the entry passed the schema. */
  readonly isSound: boolean;
}

/** The effective form of one provider, key, model or policy, and the place where the outermost file defines it. */
export interface Entry<T> extends Layer<T> {
  readonly id: string;
  /** The entry in each file that has it, the outermost first: one layer, except for a model that is laid over an included one. */
  readonly layers: readonly Layer<T>[];
}

/** Entries by id, in the order of the files. */
export type Entries<T> = ReadonlyMap<string, Entry<T>>;

/** The merged entries of each block. */
export interface Blocks {
  readonly providers: Entries<ProviderBlock>;
  readonly keys: Entries<KeyBlock>;
  readonly models: Entries<ModelBlock>;
  readonly policies: Entries<PolicyBlock>;
}

/**
 * Merges the entries of a file and of its includes. Call it after the files
 * are validated. Ids that one file has twice are reported to `findings`.
 */
export function mergeReadings(main: Reading, findings: Findings): Blocks {
  const merge = <T>(kind: Kind): Entries<T> => mergeKind(main, kind, findings) as Map<string, Entry<T>>;
  return { providers: merge(kinds.providers), keys: merge(kinds.keys), models: merge(kinds.models), policies: merge(kinds.policies) };
}

/** The place of an entry's value, or of a value inside the entry. */
export const placeOf = ({ reading, path }: Layer<unknown>, ...inside: Path): Place => ({
  source: reading.source,
  path: [...path, ...inside],
});

/** The place of an entry's key, or of a key inside the entry. */
export const keyOf = (entry: Layer<unknown>, ...inside: Path): Place => ({ ...placeOf(entry, ...inside), at: 'key' });

interface Written {
  readonly id: string;
  readonly value: unknown;
  readonly path: Path;
}

interface Kind {
  readonly word: string;
  /** The path from an entry to its id; empty where the id is the entry's key. */
  readonly idAt: Path;
  written(file: Record<string, unknown>): Written[];
}

const fromMap = (value: unknown, path: Path): Written[] =>
  Object.entries(fieldsOf(value)).map(([id, item]) => ({ id, value: item, path: [...path, id] }));

const fromList = (value: unknown, idKey: string, block: string): Written[] =>
  listOf(value).flatMap((item, index) => {
    const id = fieldsOf(item)[idKey];
    return typeof id === 'string' ? [{ id, value: item, path: [block, index] }] : [];
  });

const kinds: Readonly<Record<keyof Blocks, Kind>> = {
  providers: { word: 'provider', idAt: [], written: (file) => fromMap(file['providers'], ['providers']) },
  keys: { word: 'key', idAt: ['name'], written: (file) => fromList(file['keys'], 'name', 'keys') },
  models: { word: 'model', idAt: ['id'], written: (file) => fromList(file['models'], 'id', 'models') },
  policies: { word: 'policy', idAt: [], written: (file) => fromMap(fieldsOf(file['routing'])['models'], ['routing', 'models']) },
};

function mergeKind(reading: Reading, kind: Kind, findings: Findings): Map<string, Entry<unknown>> {
  const merged = new Map<string, Entry<unknown>>();
  const reportTwice = (entry: Entry<unknown>, first: Entry<unknown>): void => {
    const at = kind.idAt.length === 0 ? 'key' : 'value';
    const { file, line } = locate(first.reading.source, [...first.path, ...kind.idAt], at);
    const way = entry.reading === first.reading ? '' : '; to change an entry of another file, write it in the file that includes that one';
    findings.error(
      { ...placeOf(entry, ...kind.idAt), at },
      `the ${kind.word} "${entry.id}" is defined twice`,
      `the other one is at ${file}:${line}${way}`,
    );
  };
  for (const included of reading.includes) {
    for (const [id, entry] of mergeKind(included, kind, findings)) {
      const first = merged.get(id);
      if (first === undefined) merged.set(id, entry);
      else reportTwice(entry, first);
    }
  }
  const own = new Map<string, Entry<unknown>>();
  for (const { id, value, path } of kind.written(reading.value)) {
    const layer = { value, reading, path, isSound: findings.isSound({ source: reading.source, path }) };
    const entry = { id, ...layer, layers: [layer] };
    const first = own.get(id);
    if (first === undefined) own.set(id, entry);
    else reportTwice(entry, first);
  }
  for (const [id, entry] of own) merged.set(id, kind === kinds.models ? over(merged.get(id), entry) : entry);
  return merged;
}

/** The entry laid over the included one. If one of them has a fault, they are not merged. */
function over(base: Entry<unknown> | undefined, own: Entry<unknown>): Entry<unknown> {
  if (base === undefined) return own;
  const layers = [...own.layers, ...base.layers];
  if (!own.isSound || !base.isSound) return { ...own, layers, isSound: false };
  const written = own.reading.written[own.path.at(-1) as number] as Record<string, unknown>;
  return { ...own, layers, value: laidOver(base.value as ModelBlock, own.value as ModelBlock, written) };
}
