/** The prices of a model, or of one mapping of the model to a provider. */
import type { FromSchema, JSONSchema } from 'json-schema-to-ts';
import { mostCount } from './server.ts';

/** Dollars as text: a decimal without sign and exponent. */
export const decimal = '^[0-9]+(\\.[0-9]+)?$';

/** Prices of tokens that a tier may replace. */
export const ofTokens = {
  prompt: { type: 'string', pattern: decimal, description: 'Dollars per prompt token, a decimal in quotes, for example "0.00000125".' },
  completion: {
    type: 'string',
    pattern: decimal,
    description: 'Dollars per completion token, a decimal in quotes, for example "0.00001".',
  },
  input_cache_read: {
    type: 'string',
    pattern: decimal,
    description: 'Dollars per prompt token read from a cache, a decimal in quotes, for example "0.000000125".',
  },
  input_cache_write: {
    type: 'string',
    pattern: decimal,
    description: 'Dollars per prompt token written to a cache, a decimal in quotes, for example "0.00000375".',
  },
  input_cache_write_1h: {
    type: 'string',
    pattern: decimal,
    description: 'Dollars per prompt token written to a cache that lasts an hour, a decimal in quotes, for example "0.000006".',
  },
  internal_reasoning: {
    type: 'string',
    pattern: decimal,
    description: 'Dollars per reasoning token where it differs from `completion`, a decimal in quotes, for example "0.00001".',
  },
} as const satisfies Readonly<Record<string, JSONSchema>>;

/** One `pricing` block. */
export const pricingSchema = {
  type: ['object', 'string'],
  pattern: '^unknown$',
  description:
    'Prices in dollars as decimals in quotes, for example { prompt: "0.00000125", completion: "0.00001" }; or the word unknown, and then costs are unknown too.',
  additionalProperties: false,
  properties: {
    ...ofTokens,
    tiers: {
      type: 'array',
      minItems: 1,
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['above'],
        minProperties: 2,
        properties: {
          above: { type: 'integer', minimum: 1, maximum: mostCount, description: 'Prompt tokens of a request, for example 200000.' },
          ...ofTokens,
        },
      },
      description:
        'Prices of requests with a long prompt: where the prompt has more than `above` tokens, all tokens of the request cost the prices of the tier, for example [{ above: 200000, prompt: "0.000006", completion: "0.0000225" }]. Prices that a tier leaves out stay.',
    },
    peak: {
      type: 'object',
      additionalProperties: false,
      required: ['hours'],
      minProperties: 2,
      properties: {
        hours: {
          type: 'array',
          minItems: 1,
          items: {
            type: 'string',
            pattern: '^([01][0-9]|2[0-3]):[0-5][0-9]-([01][0-9]|2[0-3]):[0-5][0-9]$',
            description: 'Two times of the day, for example "22:00-02:00"; midnight is 00:00.',
          },
          description: 'Hours in UTC, the last minute not included, for example ["01:00-04:00", "22:00-02:00"].',
        },
        weekdays: { type: 'boolean', default: false, description: 'Whether the hours are only those from Monday to Friday, in UTC.' },
        ...ofTokens,
      },
      description:
        'Prices at some hours of the day, for example { hours: ["01:00-04:00"], weekdays: true, prompt: "0.0000013", completion: "0.000004" }. Prices that `peak` leaves out stay. Not together with `tiers`.',
    },
    image: { type: 'string', pattern: decimal, description: 'Dollars per image of the prompt, a decimal in quotes, for example "0.04".' },
    request: { type: 'string', pattern: decimal, description: 'Dollars per request, a decimal in quotes, for example "0.005".' },
    web_search: { type: 'string', pattern: decimal, description: 'Dollars per web search, a decimal in quotes, for example "0.01".' },
    per_second: {
      type: 'object',
      description: 'Dollars per second of video by size, decimals in quotes, for example { 720p: "0.10" }.',
      additionalProperties: {
        type: 'string',
        pattern: decimal,
        description: 'Dollars per second, a decimal in quotes, for example "0.10".',
      },
    },
  },
} as const satisfies JSONSchema;

/** A `pricing` block that passed the schema. No price has a default. */
export type PricingBlock = FromSchema<typeof pricingSchema>;
