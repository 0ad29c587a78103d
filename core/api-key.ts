import { createHash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

/** A new key for a caller. The key is shown once; only its hash is kept. */
export interface ApiKey {
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
  return { key, id, hash: `sha256:${createHash('sha256').update(key).digest('hex')}` };
}

/** The least characters of an admin key: nobody can try all keys of this length, at the rate at which wrong ones are answered. */
export const shortestKey = 16;

/** Makes an admin key with 256 random bits. Its prefix tells it from a caller's key. */
export function createAdminKey(): string {
  const body = `gwa_${base62(random(32), 43)}`;
  return body + base62(BigInt(crc32(body)), 6);
}

/** The part of a caller's key that is no secret; null: it is no key of this form. */
export const prefixOf = (key: string): string | null => /^(gwk_[0-9A-Za-z]{12})_/.exec(key)?.[1] ?? null;

/** The moment of a date (its first one, by UTC), or of a time with its zone, both in ISO 8601, in epoch milliseconds. Null: it is none, or of a day that does not exist. */
export function momentOf(text: string): number | null {
  const [, day = ''] = /^(\d{4}-\d{2}-\d{2})(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2}))?$/.exec(text) ?? [];
  const midnight = new Date(`${day}T00:00:00Z`);
  const moment = Date.parse(text);
  return Number.isNaN(moment) || Number.isNaN(midnight.getTime()) || !midnight.toISOString().startsWith(day) ? null : moment;
}
