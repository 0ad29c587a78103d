import { hash, timingSafeEqual } from 'node:crypto';
import { inspect } from 'node:util';

/** The text that replaces a secret wherever people read. */
export const mask = '[redacted]';

/** A text that nobody can print by accident: strings, JSON and `console.log` show `[redacted]`. Only `reveal()` returns the text. */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return mask;
  }

  toJSON(): string {
    return mask;
  }

  [inspect.custom](): string {
    return mask;
  }
}

/** Compares two secrets in constant time, whatever their lengths. */
export const isSame = (given: string, right: string): boolean =>
  timingSafeEqual(hash('sha256', given, 'buffer'), hash('sha256', right, 'buffer'));

const secretName = /(?:key|token|passphrase)$|access_key_id|secret|password|credential|authorization|dsn|^headers$/i;

/** Whether the name of a setting says that what it holds is a secret. */
export const saysSecret = (name: string): boolean => secretName.test(name);

/** Whether a header of this name holds a credential. */
export const isCredential = (header: string): boolean => /auth|key|token|cookie|secret|signature|credential/i.test(header);

/**
 * The parts of a header that a server may quote in its message: the whole value, what
 * follows the scheme (`Basic …`), the login in it, the values of a cookie.
 */
export const quotable = (value: string): string[] => [
  value,
  value.replace(/^[a-z][\w-]*\s+/i, ''),
  ...loginIn(value),
  ...Array.from(value.matchAll(/=([^;=\s]+)(?=;|$)/g), ([, one = '']) => one),
];

/** The name and password of a `Basic` header, and the password alone. Some servers take a key as the name, and no password. */
function loginIn(value: string): string[] {
  const coded = /^basic\s+(\S+)$/i.exec(value)?.[1] ?? '';
  const login = Buffer.from(coded, 'base64').toString();
  const [, name = '', password = ''] = /^([^:]*):(.*)$/s.exec(login) ?? [];
  return [login, password === '' ? name : password];
}

/** How a server may write a secret that it quotes: as it is, as a part of an address, or as JSON inside a text. */
export const spellingsOf = (secret: string): string[] => [
  ...new Set([secret, encodeURIComponent(secret.toWellFormed()), JSON.stringify(secret).slice(1, -1)]),
];

/** Whether a word in a header of any name may be a secret. Shorter words and phrases are ordinary names, which an error message needs. */
export const mayBeSecret = (word: string): boolean => /^\S{8,}$/.test(word);

/**
 * The secrets that are masked wherever a text has them, in the order of masking. Those below `shortest` may be a part of any word.
 * safety: where a secret begins with another one, the rest of it would stay if the short one were masked first
 */
export const maskable = (secrets: readonly string[], shortest = 4): string[] =>
  secrets.filter(({ length }) => length >= shortest).sort((a, b) => b.length - a.length);

/** safety: an address can hold a name and password, or a key in its query. One without its `//` has the password in its path. */
export function addressWithoutSecrets(address: string): string {
  const url = URL.parse(address);
  return url === null || (url.host === '' && url.pathname.includes('@')) ? mask : `${url.protocol}//${url.host}${url.pathname}`;
}

/** Whether a text may be an address, also one that is written wrongly, as `user:password@host` without a scheme. */
const mayBeAddress = (text: string): boolean => text.includes('://') || /:[^\s:]*@/.test(text);

/**
 * A copy of a value in which a mask replaces each secret: a `Secret`, or a text whose name says that it is one.
 * @param isSecret whether the name of an outer value says that it is a secret; then every text inside is one
 */
export function withoutSecrets(value: unknown, isSecret = false): unknown {
  if (value instanceof Secret) return mask;
  if (typeof value === 'string') return isSecret && value !== '' ? mask : mayBeAddress(value) ? addressWithoutSecrets(value) : value;
  if (Array.isArray(value)) return value.map((item) => withoutSecrets(item, isSecret));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, withoutSecrets(inner, isSecret || saysSecret(name))]));
}
