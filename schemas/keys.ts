/** The `keys` block: who may call. */
import type { FromSchema, JSONSchema } from 'json-schema-to-ts';

export const keySchema = {
  type: 'object',
  description: 'One caller\'s key.',
  additionalProperties: false,
  required: ['name'],
  properties: {
    name: { type: 'string', minLength: 1, description: 'Name of the key in logs and the dashboard, for example search-team.' },
    key: { type: 'string', minLength: 1, description: 'The key itself, for example ${SEARCH_KEY}; give this or `hash`.' },
    hash: { type: 'string', pattern: '^sha256:[0-9a-f]{64}$', description: 'What `gateway keys create` prints, sha256: and 64 hex digits; give this or `key`.' },
    models: { type: 'array', minItems: 1, items: { type: 'string', minLength: 1 }, description: 'Models that this key may use, * for any text, for example ["gpt-5*"]; without it, all.' },
    metadata: { type: 'object', additionalProperties: { type: 'string' }, default: {}, description: 'Metadata added to each request of this key, for example { team: search }.' },
    log_bodies: { type: 'boolean', default: true, description: 'Whether prompts and answers of this key are stored, where the log stores them, for example false.' },
  },
} as const satisfies JSONSchema;

export const keysSchema = {
  type: 'array',
  description: 'Keys that callers send as a bearer token; without any the gateway is open and listens on loopback only.',
  items: keySchema,
} as const satisfies JSONSchema;

/** An entry as validated, defaults filled in. */
export type KeyBlock = FromSchema<typeof keySchema>;
