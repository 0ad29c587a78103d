/** The `routing` block: which candidates are tried, in what order, how many, and for how long. */
import type { FromSchema, JSONSchema } from 'json-schema-to-ts';
import { efforts } from './models.ts';
import { longestMs } from './server.ts';

const strategy = {
  type: 'string',
  enum: ['balanced', 'cheapest', 'fastest', 'ordered', 'weighted'],
  description:
    'Order of the candidates: balanced (shares by price, success and speed), cheapest (by price), fastest (by the time to the first piece), ordered (as written), or weighted (shares by `weight`).',
} as const satisfies JSONSchema;

const attempts = {
  type: 'integer',
  minimum: 1,
  maximum: 10,
  description: 'Limit of calls of providers for one request, the first call and all retries, 1 to 10.',
} as const satisfies JSONSchema;

const milliseconds = { type: 'integer', minimum: 1, maximum: longestMs } as const satisfies JSONSchema;
const connect = {
  ...milliseconds,
  description: 'Limit of the time to connect to a provider, in milliseconds.',
} as const satisfies JSONSchema;
const firstByte = {
  ...milliseconds,
  description: 'Limit of the time from the start of an attempt to the first byte of its answer, in milliseconds.',
} as const satisfies JSONSchema;
const idle = {
  ...milliseconds,
  description: 'Limit of silence inside an answer, in milliseconds. Comments and spaces end the silence.',
} as const satisfies JSONSchema;
const total = {
  ...milliseconds,
  description: 'Limit of the whole request with all its attempts, from its arrival, in milliseconds.',
} as const satisfies JSONSchema;

const sameTarget = {
  type: 'integer',
  minimum: 0,
  maximum: 10,
  description: 'Limit of retries of one target, where no other target is left.',
} as const satisfies JSONSchema;
const base = {
  ...milliseconds,
  description: 'The longest pause before the first retry, in milliseconds; it doubles with each retry.',
} as const satisfies JSONSchema;
const most = {
  ...milliseconds,
  description: 'Limit of a pause, and of the wait for a target that rests, in milliseconds.',
} as const satisfies JSONSchema;
const retry = { type: 'object', description: 'Retries of the same target.', additionalProperties: false } as const satisfies JSONSchema;

const sticky = {
  anyOf: [{ type: 'string', pattern: '^(?:conversation|meta\\.[a-z0-9._-]+)$' }, { const: false }],
  description:
    'Requests with the same value go to the same target while that target is available: a metadata value, for example meta.session-id, or `conversation` for the first messages. false: none.',
} as const satisfies JSONSchema;
const hedge = {
  anyOf: [milliseconds, { const: false }],
  description:
    'Milliseconds after which the next target is asked too, where the first has not begun to answer, for example 800. Absent: off. Both providers may charge for the request.',
} as const satisfies JSONSchema;
const cache = {
  type: 'boolean',
  description:
    'Whether the answer of a request is kept, and given again to exact repeats by the same caller. Needs the plugin stream/cache.',
} as const satisfies JSONSchema;

const choices = {
  type: 'array',
  minItems: 1,
  items: {
    anyOf: [
      { type: 'string', minLength: 1 },
      {
        type: 'object',
        additionalProperties: false,
        required: ['model'],
        properties: {
          model: { type: 'string', minLength: 1, description: 'Id of the model, for example claude-haiku-4-5.' },
          weight: {
            type: 'number',
            exclusiveMinimum: 0,
            maximum: 1000,
            description:
              'Its share of the requests, relative to the other models, 1 where it is left out, for example 3. For the strategies weighted and balanced.',
          },
        },
      },
    ],
  },
  description: 'Ids of the models behind this name, for example [gpt-5-mini, { model: claude-haiku-4-5, weight: 3 }].',
} as const satisfies JSONSchema;

const glob = { type: 'string', minLength: 1 } as const satisfies JSONSchema;
const amount = { type: 'string', pattern: '^[<>]\\s*\\d+$' } as const satisfies JSONSchema;
const when = {
  type: 'object',
  minProperties: 1,
  additionalProperties: false,
  description: 'Conditions of a request, which must all hold, for example { meta.tier: "gold*", stream: true }.',
  properties: {
    key: { ...glob, description: 'Name of the caller\'s key; * matches any text, for example "team-*".' },
    stream: { type: 'boolean', description: 'Whether the request asks for a stream.' },
    tools: { type: 'boolean', description: 'Whether the request has tools.' },
    images: { type: 'boolean', description: 'Whether the request has images.' },
    reasoning: {
      anyOf: [{ type: 'boolean' }, { type: 'string', enum: efforts }],
      description: 'Whether the caller asks for reasoning, or the effort that it asks for, for example high.',
    },
    prompt_tokens: { ...amount, description: 'Estimated tokens of the prompt, for example ">100000".' },
    max_tokens: { ...amount, description: 'The limit that the caller sets for the answer, for example "<500".' },
  },
  patternProperties: { '^meta\\.[a-z0-9._-]+$': { ...glob, description: 'A metadata value; * matches any text, for example "gold*".' } },
} as const satisfies JSONSchema;

const rules = {
  type: 'array',
  items: { type: 'object', additionalProperties: false, required: ['when', 'candidates'], properties: { when, candidates: choices } },
  description: 'The first rule that fits a request replaces the candidates. Needs the plugin route/rules.',
} as const satisfies JSONSchema;

const timeouts = {
  type: 'object',
  description: 'Time limits of a request, in milliseconds.',
  additionalProperties: false,
} as const satisfies JSONSchema;

/** `routing.default`. */
const defaultPolicySchema = {
  type: 'object',
  description: 'The policy of every model, except where `models` has another one.',
  additionalProperties: false,
  default: {},
  properties: {
    strategy: { ...strategy, default: 'balanced' },
    max_attempts: { ...attempts, default: 3 },
    retry: {
      ...retry,
      default: {},
      properties: { same_target: { ...sameTarget, default: 1 }, base_ms: { ...base, default: 200 }, max_ms: { ...most, default: 2000 } },
    },
    sticky,
    hedge_ms: hedge,
    cache: { ...cache, default: false },
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
    candidates: choices,
    fallbacks: {
      ...choices,
      description: 'Models that are asked, in this order, where no candidate before has answered, for example [claude-sonnet-4-5].',
    },
    rules,
    strategy,
    max_attempts: attempts,
    retry: { ...retry, properties: { same_target: sameTarget, base_ms: base, max_ms: most } },
    sticky,
    hedge_ms: hedge,
    cache,
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
    models: {
      type: 'object',
      additionalProperties: policySchema,
      default: {},
      description: 'Policies by the id of a model, or by a new name that callers may ask for, for example auto.',
    },
  },
} as const satisfies JSONSchema;

/** `routing.default` after it passed the schema, with its defaults. */
export type DefaultPolicyBlock = FromSchema<typeof defaultPolicySchema>;
/** One policy of `routing.models`. A field that is absent comes from `routing.default`. */
export type PolicyBlock = FromSchema<typeof policySchema>;
