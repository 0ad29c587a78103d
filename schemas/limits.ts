/** The `limits` block: how much callers may ask for in a minute, at one time, and for how many dollars. */
import type { FromSchema, JSONSchema } from 'json-schema-to-ts';
import { decimal } from './pricing.ts';
import { mostCount } from './server.ts';

const budget = {
  type: 'object',
  description: 'The most dollars in a period, for example { dollars: "20", per: day }.',
  additionalProperties: false,
  required: ['dollars', 'per'],
  properties: {
    dollars: { type: 'string', pattern: decimal, description: 'Dollars, a decimal in quotes, for example "20".' },
    per: {
      type: 'string',
      enum: ['day', 'week', 'month', 'total'],
      description: 'The period, by UTC: a day, a week from Monday on, a month, or all time.',
    },
    unknown: {
      type: 'string',
      enum: ['admit', 'refuse'],
      default: 'admit',
      description: 'What happens to a request whose price is unknown: admit (it is served and not charged) or refuse (402).',
    },
  },
} as const satisfies JSONSchema;

const amounts = {
  requests_per_minute: {
    type: 'integer',
    minimum: 1,
    maximum: mostCount,
    description: 'Most requests in any 60 seconds, for example 600.',
  },
  tokens_per_minute: {
    type: 'integer',
    minimum: 1,
    maximum: mostCount,
    description: 'Most tokens of prompts and answers in any 60 seconds, for example 100000.',
  },
  concurrent: { type: 'integer', minimum: 1, maximum: mostCount, description: 'Most requests that run at one time, for example 10.' },
  budget,
} as const satisfies Record<string, JSONSchema>;

/** `keys[].limits`. */
export const keyLimitsSchema = {
  type: 'object',
  description:
    'Limits of this key, for example { requests_per_minute: 60, budget: { dollars: "50", per: month } }. Needs the plugin route/limits.',
  additionalProperties: false,
  properties: amounts,
} as const satisfies JSONSchema;

/** What requests have in common that are counted together: `by` of a limit and of an alert. */
export const countedBy = '^(?:all|key|model|provider|meta\\.[a-z0-9._-]+)$';

/** One entry of `limits`. */
const limitSchema = {
  type: 'object',
  description: 'One limit, for example { by: key, requests_per_minute: 600 }.',
  additionalProperties: false,
  required: ['by'],
  properties: {
    by: {
      type: 'string',
      pattern: countedBy,
      description:
        'What is counted, each value by itself: key, model, provider, a metadata value such as meta.tenant-id, or all requests (all).',
    },
    match: { type: 'string', minLength: 1, description: 'Only values like this; * matches any text, for example "free-*".' },
    ...amounts,
  },
} as const satisfies JSONSchema;

/** The `limits` block. */
export const limitsSchema = {
  type: 'array',
  description: 'Limits and budgets. Each counts by itself, and all must have room for a request. Needs the plugin route/limits.',
  items: limitSchema,
} as const satisfies JSONSchema;

/** An entry of `limits` that passed the schema, with its defaults. */
export type LimitBlock = FromSchema<typeof limitSchema>;
/** The limits of a key that passed the schema, with their defaults. */
export type KeyLimitsBlock = FromSchema<typeof keyLimitsSchema>;
