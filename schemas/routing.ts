/** The `routing` block: which candidate is tried, in what order, how often and how long. */
import type { FromSchema, JSONSchema } from 'json-schema-to-ts';

const strategy = {
  type: 'string',
  enum: ['balanced', 'cheapest', 'ordered'],
  description: 'Order of the candidates: balanced by health and speed, cheapest first, or ordered as written.',
} as const satisfies JSONSchema;

const attempts = { type: 'integer', minimum: 1, maximum: 10, description: 'Most candidates tried for one request, 1 to 10.' } as const satisfies JSONSchema;

const milliseconds = { type: 'integer', minimum: 1 } as const satisfies JSONSchema;
const connect = { ...milliseconds, description: 'Milliseconds to connect to a provider.' } as const satisfies JSONSchema;
const firstByte = { ...milliseconds, description: 'Milliseconds from the start of an attempt to the first byte of its answer.' } as const satisfies JSONSchema;
const idle = { ...milliseconds, description: 'Milliseconds of silence in an answer; comments and spaces are none.' } as const satisfies JSONSchema;
const total = { ...milliseconds, description: 'Milliseconds for the whole request from its arrival, all attempts together.' } as const satisfies JSONSchema;

const timeouts = { type: 'object', description: 'How long to wait, in milliseconds.', additionalProperties: false } as const satisfies JSONSchema;

export const defaultPolicySchema = {
  type: 'object',
  description: 'How every model is routed, unless `models` says otherwise.',
  additionalProperties: false,
  default: {},
  properties: {
    strategy: { ...strategy, default: 'balanced' },
    max_attempts: { ...attempts, default: 3 },
    timeout_ms: {
      ...timeouts,
      default: {},
      properties: {
        connect: { ...connect, default: 5000 },
        first_byte: { ...firstByte, default: 120000 },
        idle: { ...idle, default: 60000 },
        total: { ...total, default: 900000 },
      },
    },
  },
} as const satisfies JSONSchema;

export const policySchema = {
  type: 'object',
  description: 'How one model, or a name of its own with `candidates`, is routed; what it leaves out comes from `default`.',
  additionalProperties: false,
  properties: {
    candidates: { type: 'array', minItems: 1, items: { type: 'string', minLength: 1 }, description: 'Models behind this name, by root id, for example [gpt-5-mini, gpt-4o-mini].' },
    strategy,
    max_attempts: attempts,
    timeout_ms: { ...timeouts, properties: { connect, first_byte: firstByte, idle, total } },
  },
} as const satisfies JSONSchema;

export const routingSchema = {
  type: 'object',
  description: 'Which candidate is tried, in what order, how often and how long.',
  additionalProperties: false,
  default: {},
  properties: {
    default: defaultPolicySchema,
    models: { type: 'object', additionalProperties: policySchema, default: {}, description: 'Policies by root id, or by a name that callers may ask for, for example auto.' },
  },
} as const satisfies JSONSchema;

/** `routing.default` as validated, defaults filled in. */
export type DefaultPolicyBlock = FromSchema<typeof defaultPolicySchema>;
/** One of `routing.models`; what is absent is inherited. */
export type PolicyBlock = FromSchema<typeof policySchema>;
