/**
 * Changes the keys in the store. Each change starts from what the store has, is written
 * together with its line of the audit list, and is known in this process when it is done.
 */
import { isDeepStrictEqual } from 'node:util';
import { createApiKey, prefixOf } from '../../../core/api-key.ts';
import type { CallerKeys } from '../../../core/api-key.ts';
import { GatewayError } from '../../../core/errors.ts';
import type { KeyEvent, KeyTable } from '../../../core/log/keys.ts';
import type { Kept, KeptKeys, StoredKey, StoredSecret } from './kept.ts';
import { plainSettings } from './settings.ts';
import type { KeySettings } from './settings.ts';

/** Who makes a change, for the audit list. */
export type Author = Pick<KeyEvent, 'by' | 'address'>;

export interface ChangeParts {
  /** The keys of the store; at `boot` they come from the database. */
  kept(): KeptKeys;
  readonly keys: CallerKeys;
  /** Throws where no database keeps keys. */
  table(): KeyTable;
  clock(): number;
  /** Makes the other workers read the change. Resolves when they have, or are late. */
  tellOthers(): Promise<void>;
}

/** A new key, with its text, which is shown only now. */
export interface Made {
  readonly name: string;
  readonly key: string;
}

interface Step {
  readonly stored: StoredKey | null;
  readonly action: string;
  readonly details: object;
}

const tries = 3;

export class KeyChanges {
  readonly #parts: ChangeParts;

  constructor(parts: ChangeParts) {
    this.#parts = parts;
  }

  /** @param name null: the key gets a name of its own */
  async create(name: string | null, given: Partial<KeySettings>, author: Author): Promise<Made> {
    const now = this.#parts.clock();
    const { key, secret, id } = newSecret(now);
    const settings = { ...plainSettings, ...given };
    const own = name ?? `key-${id}`;
    await this.#write(own, author, (known) => {
      if (known !== undefined || this.#parts.keys.isWritten(own)) {
        throw new GatewayError(
          'key_exists',
          `There is a key with the name "${own}" already, in the ${known === undefined ? 'config' : 'store'}.`,
          { param: 'name' },
        );
      }
      return { stored: { createdAt: now, secrets: [secret], settings }, action: 'create', details: differing(plainSettings, settings) };
    });
    return { name: own, key };
  }

  async change(name: string, given: Partial<KeySettings>, author: Author): Promise<void> {
    await this.#write(name, author, (known) => {
      const { stored } = this.#there(name, known);
      const settings = { ...stored.settings, ...given };
      return {
        stored: { ...stored, settings },
        action: actionOf(given),
        details: differing(stored.settings, settings),
      };
    });
  }

  /** Makes a new key under the same name. The earlier keys stay valid for `overlapMs`, but not longer than before. */
  async rotate(name: string, overlapMs: number, author: Author): Promise<Made> {
    const now = this.#parts.clock();
    const { key, secret } = newSecret(now);
    await this.#write(name, author, (known) => {
      const { stored } = this.#there(name, known);
      const before = stored.secrets
        .map((one) => ({ ...one, expiresAt: Math.min(one.expiresAt ?? Infinity, now + overlapMs) }))
        .filter(({ expiresAt }) => expiresAt > now);
      return {
        stored: { ...stored, secrets: [secret, ...before] },
        action: 'rotate',
        details: { prefix: secret.prefix, overlap_ms: overlapMs },
      };
    });
    return { name, key };
  }

  async remove(name: string, author: Author): Promise<void> {
    await this.#write(name, author, (known) => {
      this.#there(name, known);
      return { stored: null, action: 'delete', details: {} };
    });
  }

  #there(name: string, known: Kept | undefined): Kept {
    if (known !== undefined) return known;
    const writtenAt = this.#parts.keys.get(name)?.writtenAt ?? null;
    if (writtenAt !== null) {
      throw new GatewayError('key_in_config', `The key "${name}" is written in ${writtenAt()}. Change it there.`);
    }
    throw new GatewayError('key_not_found', `The store has no key with the name "${name.slice(0, 100)}".`);
  }

  async #write(name: string, { by, address }: Author, step: (known: Kept | undefined) => Step): Promise<void> {
    const { clock, tellOthers } = this.#parts;
    const kept = this.#parts.kept();
    const table = this.#parts.table();
    for (let left = tries; left > 0; left--) {
      await kept.refresh(table);
      const known = kept.get(name);
      const { stored, action, details } = step(known);
      const data = stored === null ? null : JSON.stringify(stored);
      const version = await table.write({
        name,
        from: known?.version ?? 0,
        data,
        event: { at: clock(), action, by, address, details: JSON.stringify(details) },
      });
      if (version === null) continue;
      kept.take({ name, version, data });
      return await tellOthers();
    }
    throw new GatewayError('key_exists', `Somebody else changes the key "${name.slice(0, 100)}" at the same moment. Try again.`);
  }
}

/** What the audit list calls a change. */
function actionOf({ disabled, ...others }: Partial<KeySettings>): string {
  if (disabled === undefined || Object.keys(others).length > 0) return 'change';
  return disabled ? 'disable' : 'enable';
}

/** The settings that have changed. */
const differing = (before: KeySettings, now: KeySettings): Partial<KeySettings> =>
  Object.fromEntries(Object.entries(now).filter(([name, value]) => !isDeepStrictEqual(value, before[name as keyof KeySettings])));

function newSecret(now: number): { readonly key: string; readonly secret: StoredSecret; readonly id: string } {
  const { key, hash, id } = createApiKey();
  return { key, id, secret: { hash: hash.slice('sha256:'.length), prefix: prefixOf(key) ?? '', createdAt: now, expiresAt: null } };
}
