import { hash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { ReasoningField } from './chat.ts';
import type { Amounts } from './limits.ts';

/** A new key for a caller. The key is shown once; only its hash is kept. */
interface ApiKey {
  /** `gwk_<id>_<secret><checksum>`. Secret scanners recognise the form, and the checksum shows a mistyped key without a look-up. */
  readonly key: string;
  /** The part of the key that is not secret. */
  readonly id: string;
  /** `sha256:` and 64 hex digits, as `keys[].hash` of the config takes it. */
  readonly hash: string;
}

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** The last `length` digits of a number in base 62. */
function base62(number: bigint, length: number): string {
  let text = '';
  for (let rest = number; text.length < length; rest /= 62n) text = (digits[Number(rest % 62n)] as string) + text;
  return text;
}

const random = (bytes: number): bigint => BigInt(`0x${randomBytes(bytes).toString('hex')}`);

/** Makes a key with 256 random bits from the system. Nobody can try so many values, so a fast hash (SHA-256) is enough to protect them. */
export function createApiKey(): ApiKey {
  const id = base62(random(16), 12);
  const body = `gwk_${id}_${base62(random(32), 43)}`;
  const key = body + base62(BigInt(crc32(body)), 6);
  return { key, id, hash: `sha256:${hash('sha256', key)}` };
}

/** The minimum length of an admin key. Wrong keys are answered so slowly that nobody can try all keys of this length. */
export const shortestKey = 16;

/** Makes an admin key with 256 random bits. Its prefix tells it from a caller's key. */
export function createAdminKey(): string {
  const body = `gwa_${base62(random(32), 43)}`;
  return body + base62(BigInt(crc32(body)), 6);
}

/** The public part of a caller's key; null where the text is not a key of this form. */
export const prefixOf = (key: string): string | null => /^(gwk_[0-9A-Za-z]{12})_/.exec(key)?.[1] ?? null;

/** The key of an `authorization` header; undefined: it has none in a valid form. Several spaces before it are valid (RFC 9110 §11.4). */
export const bearerOf = (header: string | undefined): string | undefined => /^Bearer +([\x21-\x7e]{1,512})$/i.exec(header ?? '')?.[1];

/**
 * Epoch milliseconds of an ISO 8601 date (its start in UTC), or of an ISO 8601
 * time with a zone. Null where the text is neither, or the day does not exist.
 */
export function momentOf(text: string): number | null {
  const [, day = ''] = /^(\d{4}-\d{2}-\d{2})(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2}))?$/.exec(text) ?? [];
  const midnight = new Date(`${day}T00:00:00Z`);
  const moment = Date.parse(text);
  return Number.isNaN(moment) || Number.isNaN(midnight.getTime()) || !midnight.toISOString().startsWith(day) ? null : moment;
}

/** The earlier of two ends of a key; null: it has none. */
export const earliest = (one: number | null, other: number | null): number | null =>
  one === null || other === null ? (one ?? other) : Math.min(one, other);

/** What is known of one key. The key itself is not kept. */
export interface KeyHash {
  /** SHA-256 of the key as 64 hex digits. */
  readonly hash: string;
  /** The public part of the key, `gwk_` and its id; null: the key has none, or it is not known. */
  readonly prefix: string | null;
  /** The key is refused from this time on, in epoch milliseconds: its own end or that of its entry, whichever is earlier. Null: never. */
  readonly expiresAt: number | null;
}

/** One entry of `keys`. */
export interface KeyEntry {
  readonly name: string;
  /** One for each key of the caller: while a key is rotated, the new one and the old one. */
  readonly hashes: readonly KeyHash[];
  /** No key of the caller is valid from this time on, in epoch milliseconds; null: never. */
  readonly expiresAt: number | null;
  /** Every key of the caller is refused. */
  readonly disabled: boolean;
  /**
   * Epoch milliseconds. Data that was kept under this name before this time belongs to another
   * caller, whose key was deleted from the store. Null: the name alone identifies the caller.
   */
  readonly since: number | null;
  /** Gives the place of the entry in the config: `gateway.config.yaml:12`. Null: it is not from the config. */
  readonly writtenAt: (() => string) | null;
  /** Globs over root ids, aliases and policy names; null: every model. */
  readonly models: readonly string[] | null;
  /** Metadata that is added to each request with this key. */
  readonly metadata: Readonly<Record<string, string>>;
  /** Whether the log may store the prompts and answers of requests with this key. */
  readonly logBodies: boolean;
  /** Whether answers to requests with this key are kept for exact repeats by the same caller. */
  readonly cache: boolean;
  /** The names of the reasoning fields in replies to this caller; null: those of the server. */
  readonly reasoningFields: readonly ReasoningField[] | null;
  /** Null: only the limits of the `limits` block apply. */
  readonly limits: Amounts | null;
}

/**
 * Callers' keys by name: those of the config, and those that a plugin adds.
 * The settings of a caller (models, limits, metadata) are found here by name.
 */
export class CallerKeys {
  readonly #written: ReadonlyMap<string, KeyEntry>;
  readonly #brought = new Map<string, KeyEntry>();
  readonly #listeners: ((names: readonly string[]) => void)[] = [];

  constructor(written: readonly KeyEntry[]) {
    this.#written = new Map(written.map((key) => [key.name, key]));
  }

  /** Null: there is no such key. */
  get(name: string): KeyEntry | null {
    return this.#written.get(name) ?? this.#brought.get(name) ?? null;
  }

  all(): KeyEntry[] {
    return [...this.#written.values(), ...this.#brought.values()];
  }

  /** Whether the config has a key of this name. Then a plugin cannot add a key of this name. */
  isWritten(name: string): boolean {
    return this.#written.has(name);
  }

  /** Adds keys, or removes those whose entry is null, and calls the listeners. */
  bring(changes: ReadonlyMap<string, KeyEntry | null>): void {
    for (const [name, key] of changes) {
      if (key === null || this.#written.has(name)) this.#brought.delete(name);
      else this.#brought.set(name, key);
    }
    for (const listener of this.#listeners) listener([...changes.keys()]);
  }

  /** Calls back with the names of the keys that have changed. The listener lives as long as the gateway. */
  onChange(listener: (names: readonly string[]) => void): void {
    this.#listeners.push(listener);
  }
}
