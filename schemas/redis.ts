/** The `redis` block: one Redis through which several gateways share what they count and keep. */
import type { FromSchema, JSONSchema } from 'json-schema-to-ts';

/** The `redis` block. */
export const redisSchema = {
  type: 'object',
  description: 'One Redis through which several gateways share limits, budgets, the cache and reasoning state.',
  additionalProperties: false,
  required: ['url'],
  properties: {
    url: {
      type: 'string',
      minLength: 1,
      description: 'Address of the Redis, for example ${REDIS_URL} or redis://127.0.0.1:6379. rediss:// speaks TLS.',
    },
    when_away: {
      type: 'string',
      enum: ['local', 'refuse'],
      default: 'local',
      description: 'What becomes of limited callers while Redis does not answer: local (each gateway counts for itself) or refuse (503).',
    },
  },
} as const satisfies JSONSchema;

/** The block after it passed the schema, with its defaults. */
export type RedisBlock = FromSchema<typeof redisSchema>;
