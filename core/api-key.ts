import { createHash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

/** A caller's key: shown once, kept as its hash. */
export interface ApiKey {
  /** `gwk_<id>_<secret><checksum>`: its form lets secret scanners find it, and tells a mistyped one without a look-up. */
  readonly key: string;
  /** Public: tells keys apart. */
  readonly id: string;
  /** As the config takes it. */
  readonly hash: string;
}

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** The last so many digits of a number to the base of 62. */
function base62(number: bigint, length: number): string {
  let text = '';
  for (let rest = number; text.length < length; rest /= 62n) text = (digits[Number(rest % 62n)] as string) + text;
  return text;
}

const random = (bytes: number): bigint => BigInt(`0x${randomBytes(bytes).toString('hex')}`);

/** 256 bits from the system's generator: so many that a fast hash keeps them safe. */
export function createApiKey(): ApiKey {
  const id = base62(random(16), 12);
  const body = `gwk_${id}_${base62(random(32), 43)}`;
  const key = body + base62(BigInt(crc32(body)), 6);
  return { key, id, hash: `sha256:${createHash('sha256').update(key).digest('hex')}` };
}
