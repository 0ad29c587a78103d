/** Resolves `redis`. The address stays a secret, because it may hold a password. */
import type { Redis } from '../../core/config.ts';
import { isRedisAddress, noRedisAddress } from '../../core/host/redis-server.ts';
import { Secret } from '../../core/secret.ts';
import { isFields } from '../../core/wire/fields.ts';
import type { RedisBlock } from '../../schemas/redis.ts';
import type { Findings } from '../problems.ts';
import type { Reading } from '../read.ts';

/**
 * Resolves the block of the main file. Null: there is none, or its address has not
 * passed the schema. An address that is no Redis URL is reported to `findings`.
 */
export function resolveRedis(main: Reading, findings: Findings): Redis | null {
  const block = main.value['redis'] as RedisBlock | undefined;
  if (!isFields(block) || typeof block.url !== 'string' || !findings.isSound({ source: main.source, path: ['redis', 'url'] })) return null;
  const url = block.url.trim();
  if (!isRedisAddress(url)) findings.error({ source: main.source, path: ['redis', 'url'] }, noRedisAddress.text, noRedisAddress.fix);
  return { url: new Secret(url), whenAway: block.when_away };
}
