/** The `keys` block: the callers and what each may use. */
import type { FromSchema, JSONSchema } from 'json-schema-to-ts';
import { keyLimitsSchema } from './limits.ts';
import { reasoningFields } from './server.ts';

const expires = {
  type: 'string',
  minLength: 1,
  description: 'From this date or time on the key is refused, for example 2027-01-31 (its first moment, by UTC) or 2027-01-31T18:00:00Z.',
} as const;
const hashPattern = '^sha256:[0-9a-f]{64}$';

/** One entry of `keys`. */
const keySchema = {
  type: 'object',
  description: 'The key of one caller.',
  additionalProperties: false,
  required: ['name'],
  properties: {
    name: { type: 'string', minLength: 1, description: 'Name of the key in the log and on the dashboard, for example search-team.' },
    key: {
      type: ['string', 'array'],
      minLength: 1,
      minItems: 1,
      items: {
        type: ['string', 'object'],
        minLength: 1,
        additionalProperties: false,
        required: ['key'],
        properties: { key: { type: 'string', minLength: 1, description: 'One of several keys of the caller.' }, expires },
      },
      description:
        'The key itself, for example ${SEARCH_KEY}. Several as a list, while one takes the place of another: ["${NEW}", { key: "${OLD}", expires: 2027-01-31 }]. Write this or `hash`, not both.',
    },
    hash: {
      type: ['string', 'array'],
      pattern: hashPattern,
      minItems: 1,
      items: {
        type: ['string', 'object'],
        pattern: hashPattern,
        additionalProperties: false,
        required: ['hash'],
        properties: { hash: { type: 'string', pattern: hashPattern, description: 'Hash of one of several keys of the caller.' }, expires },
      },
      description:
        'Hash of the key, as `gateway keys create` prints it: sha256: and 64 hex digits. Several as a list, as `gateway keys rotate` prints them. Write this or `key`, not both.',
    },
    expires,
    disabled: { type: 'boolean', default: false, description: 'Whether the key is refused for now, for example true.' },
    models: {
      type: 'array',
      minItems: 1,
      items: { type: 'string', minLength: 1 },
      description:
        'Models that this key may use, for example ["gpt-5*"]; * matches any text. Without this list the key may use all models.',
    },
    metadata: {
      type: 'object',
      additionalProperties: { type: 'string' },
      default: {},
      description: 'Metadata that is added to each request with this key, for example { team: search }.',
    },
    log_bodies: {
      type: 'boolean',
      default: true,
      description: 'Whether the log may store prompts and answers of requests with this key, for example false.',
    },
    reasoning_fields: reasoningFields,
    cache: {
      type: 'boolean',
      default: false,
      description: 'Whether answers to this key are kept, and given again to its exact repeats. Needs the plugin stream/cache.',
    },
    limits: keyLimitsSchema,
  },
} as const satisfies JSONSchema;

/** The `keys` block. */
export const keysSchema = {
  type: 'array',
  description: 'Keys that callers send as a bearer token. Without keys the gateway takes every request and listens on loopback only.',
  items: keySchema,
} as const satisfies JSONSchema;

/** An entry that passed the schema, with its defaults. */
export type KeyBlock = FromSchema<typeof keySchema>;
