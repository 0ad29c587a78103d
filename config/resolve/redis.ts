/** Resolves `redis`. The address stays a secret, because it may hold a password. */
import type { Redis } from '../../core/config.ts';
import { Secret } from '../../core/secret.ts';
import { isFields } from '../../core/wire/fields.ts';
import type { RedisBlock } from '../../schemas/redis.ts';
import type { Findings } from '../problems.ts';
import type { Reading } from '../read.ts';

/** Resolves the block of the main file. Null: there is none, or its address has not passed the schema. An address that is no Redis URL is reported to `findings`. */
export function resolveRedis(main: Reading, findings: Findings): Redis | null {
  const block = main.value['redis'] as RedisBlock | undefined;
  if (!isFields(block) || typeof block.url !== 'string' || !findings.isSound({ source: main.source, path: ['redis', 'url'] })) return null;
  const url = block.url.trim();
  const parsed = URL.parse(url);
  // safety: behind p@ss#word the rest is a fragment, and a part of the password would be looked up as the host
  const isAddress = parsed !== null && /^rediss?:$/.test(parsed.protocol) && parsed.hash === '';
  // safety: the message does not quote the address
  if (!isAddress) findings.error({ source: main.source, path: ['redis', 'url'] }, 'is no address of a Redis', 'for example redis://127.0.0.1:6379; in a password write % codes for / # ? %, such as %23 for #');
  return { url: new Secret(url), whenAway: block.when_away };
}
