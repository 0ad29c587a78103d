/** The `routing` block: which candidates are tried, in what order, how many, and for how long. */
import type { FromSchema, JSONSchema } from 'json-schema-to-ts';

const strategy = {
  type: 'string',
  enum: ['balanced', 'cheapest', 'ordered'],
  description: 'Order of the candidates: balanced (each request begins at the next one), cheapest (by price), or ordered (as written).',
} as const satisfies JSONSchema;

const attempts = { type: 'integer', minimum: 1, maximum: 10, description: 'Limit of calls of providers for one request, the first and all tries again, 1 to 10.' } as const satisfies JSONSchema;

const milliseconds = { type: 'integer', minimum: 1 } as const satisfies JSONSchema;
const connect = { ...milliseconds, description: 'Limit of the time to connect to a provider, in milliseconds.' } as const satisfies JSONSchema;
const firstByte = { ...milliseconds, description: 'Limit of the time from the start of an attempt to the first byte of its answer, in milliseconds.' } as const satisfies JSONSchema;
const idle = { ...milliseconds, description: 'Limit of silence inside an answer, in milliseconds. Comments and spaces end the silence.' } as const satisfies JSONSchema;
const total = { ...milliseconds, description: 'Limit of the whole request with all its attempts, from its arrival, in milliseconds.' } as const satisfies JSONSchema;

const sameTarget = { type: 'integer', minimum: 0, maximum: 10, description: 'Limit of tries again of one target, where no other one is left.' } as const satisfies JSONSchema;
const base = { ...milliseconds, description: 'The longest pause before the first try again, in milliseconds; it doubles from try to try.' } as const satisfies JSONSchema;
const most = { ...milliseconds, description: 'Limit of a pause, and of the wait for a target that rests, in milliseconds.' } as const satisfies JSONSchema;
const retry = { type: 'object', description: 'Tries again of the same target.', additionalProperties: false } as const satisfies JSONSchema;

const timeouts = { type: 'object', description: 'Time limits of a request, in milliseconds.', additionalProperties: false } as const satisfies JSONSchema;

/** `routing.default`. */
export const defaultPolicySchema = {
  type: 'object',
  description: 'The policy of every model, except where `models` has another one.',
  additionalProperties: false,
  default: {},
  properties: {
    strategy: { ...strategy, default: 'balanced' },
    max_attempts: { ...attempts, default: 3 },
    retry: { ...retry, default: {}, properties: { same_target: { ...sameTarget, default: 1 }, base_ms: { ...base, default: 200 }, max_ms: { ...most, default: 2000 } } },
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

/** One entry of `routing.models`. */
export const policySchema = {
  type: 'object',
  description: 'The policy of one model, or of a new name with `candidates`. What the policy leaves out comes from `default`.',
  additionalProperties: false,
  properties: {
    candidates: { type: 'array', minItems: 1, items: { type: 'string', minLength: 1 }, description: 'Ids of the models behind this name, for example [gpt-5-mini, gpt-4o-mini].' },
    strategy,
    max_attempts: attempts,
    retry: { ...retry, properties: { same_target: sameTarget, base_ms: base, max_ms: most } },
    timeout_ms: { ...timeouts, properties: { connect, first_byte: firstByte, idle, total } },
  },
} as const satisfies JSONSchema;

/** The `routing` block. */
export const routingSchema = {
  type: 'object',
  description: 'Which candidates are tried, in what order, how many, and for how long.',
  additionalProperties: false,
  default: {},
  properties: {
    default: defaultPolicySchema,
    models: { type: 'object', additionalProperties: policySchema, default: {}, description: 'Policies by the id of a model, or by a new name that callers may ask for, for example auto.' },
  },
} as const satisfies JSONSchema;

/** `routing.default` after it passed the schema, with its defaults. */
export type DefaultPolicyBlock = FromSchema<typeof defaultPolicySchema>;
/** One policy of `routing.models`. A field that is absent comes from `routing.default`. */
export type PolicyBlock = FromSchema<typeof policySchema>;
