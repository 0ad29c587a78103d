/** The `models` block: the catalogue. Its fields have the names that `GET /v1/models` uses; mappings add what routing needs. */
import type { FromSchema, JSONSchema } from 'json-schema-to-ts';
import { pricingSchema } from './pricing.ts';
import { mostCount } from './server.ts';

const words = { type: 'array', items: { type: 'string', minLength: 1 } } as const satisfies JSONSchema;
/** The efforts that a caller may ask for. */
export const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'] as const;

const reasoningSchema = {
  type: ['boolean', 'object'],
  description:
    'Whether the model reasons at this provider: true, false, or a map that says how, for example { efforts: [low, high], exposes: nothing }.',
  additionalProperties: false,
  default: false,
  properties: {
    efforts: {
      type: 'array',
      minItems: 1,
      items: { type: 'string', enum: efforts },
      description:
        'Efforts that the provider takes, for example [low, medium, high]. Without this list every effort is sent to the provider.',
    },
    max_tokens: { type: 'boolean', default: false, description: 'Whether the provider takes an explicit reasoning budget in tokens.' },
    auto_effort: {
      type: ['string', 'null'],
      enum: [...efforts, null],
      description:
        'Effort of an auto-routed request that sets none, for example minimal. Without this, the smallest that the provider takes from low on; null leaves the effort to the provider.',
    },
    exposes: {
      type: 'string',
      enum: ['text', 'nothing'],
      default: 'text',
      description: 'What the provider returns of the reasoning: text (the reasoning itself) or nothing.',
    },
    think_tags: {
      type: 'boolean',
      default: false,
      description: 'Whether the provider sends the reasoning as a <think> block at the start of the answer.',
    },
  },
} as const satisfies JSONSchema;

/** One entry of a model's `providers`. */
export const mappingSchema = {
  type: 'object',
  description: 'One provider that serves the model.',
  additionalProperties: false,
  required: ['providerId'],
  properties: {
    providerId: { type: 'string', minLength: 1, description: 'Id of an entry of `providers`, for example openai.' },
    externalId: {
      type: 'string',
      minLength: 1,
      description: 'Name of the model at this provider, for example gpt-5-2025-08-07. Without this, the id of the model.',
    },
    dialect: {
      type: 'string',
      minLength: 1,
      description: "Dialect for this model where it differs from the provider's, for example openai-responses.",
    },
    supportedVideoSizes: { ...words, default: [], description: 'Sizes of video that the model makes here, for example [1280x720].' },
    supportsVideoAudio: { type: 'boolean', default: false, description: 'Whether the model makes video with sound here.' },
    supportsVideoWithoutAudio: { type: 'boolean', default: false, description: 'Whether the model makes video without sound here.' },
    pricing: pricingSchema,
    streaming: { type: 'boolean', default: true, description: 'Whether the model can stream its answer here.' },
    vision: { type: 'boolean', default: false, description: 'Whether the model takes images here.' },
    cancellation: {
      type: 'boolean',
      default: false,
      description: 'Whether the provider stops the answer, and stops billing, when the request is cancelled.',
    },
    tools: { type: 'boolean', default: false, description: 'Whether the model calls tools here.' },
    parallelToolCalls: { type: 'boolean', default: false, description: 'Whether the model calls several tools in one turn here.' },
    weight: {
      type: 'number',
      exclusiveMinimum: 0,
      maximum: 1000,
      default: 1,
      description:
        "Its share of the requests, relative to the model's other providers, for example 3. For the strategies weighted and balanced.",
    },
    reasoning: reasoningSchema,
    stability: { type: 'string', minLength: 1, default: 'stable', description: 'How stable this mapping is, for example stable or beta.' },
  },
} as const satisfies JSONSchema;

const architectureSchema = {
  type: 'object',
  description: 'What the model reads and writes.',
  additionalProperties: false,
  default: {},
  properties: {
    input_modalities: {
      ...words,
      description:
        'Kinds of input that the model reads: text, image, audio, file and video. Requests with another kind go to other models; a list of text and image says nothing about the others. Without this list nothing is known. Example: [text, image].',
    },
    output_modalities: { ...words, default: ['text'], description: 'Kinds of output that the model writes, for example [text].' },
    tokenizer: { type: 'string', default: 'other', description: "Name of the model's tokenizer, for example o200k." },
  },
} as const satisfies JSONSchema;

const topProviderSchema = {
  type: 'object',
  description: 'Facts about the provider that is asked first.',
  additionalProperties: false,
  default: {},
  properties: {
    is_moderated: { type: 'boolean', default: false, description: 'Whether the provider filters requests before the model sees them.' },
  },
} as const satisfies JSONSchema;

/** One entry of `models`. An entry that is laid over an included one needs nothing but its id. */
export const modelSchema = {
  type: 'object',
  description: 'One model of the catalogue.',
  additionalProperties: false,
  required: ['id'],
  properties: {
    id: {
      type: 'string',
      minLength: 1,
      pattern: '^(?:[^\\s*]+\\*?|\\*)$',
      description:
        'Id that callers ask for, without spaces, for example gpt-5. With * at its end it takes every name with this beginning: openai/* asks the provider for the model named after openai/.',
    },
    name: { type: 'string', minLength: 1, description: 'Name for people, for example GPT-5. Without this, the id.' },
    aliases: { ...words, default: [], description: 'Other names that callers may use, for example [gpt-5-2025-08-07].' },
    created: {
      type: 'integer',
      minimum: 0,
      maximum: mostCount,
      default: 0,
      description: 'When the model was published, in Unix seconds, for example 1754524800.',
    },
    description: { type: 'string', default: '', description: 'One sentence about the model.' },
    family: { type: 'string', minLength: 1, default: 'other', description: 'Maker of the model, for example openai.' },
    architecture: architectureSchema,
    top_provider: topProviderSchema,
    providers: {
      // both forms are in one schema, because no defaults are filled in within the branches of an `anyOf`
      type: ['array', 'object'],
      minItems: 1,
      items: mappingSchema,
      additionalProperties: false,
      required: ['replace'],
      properties: {
        replace: { type: 'array', minItems: 1, items: mappingSchema, description: 'Providers that serve the model, at least one.' },
      },
      description:
        'Providers that serve the model, for example [{ providerId: openai }]. Where an included file has a model with the same id, each entry changes the entry of the same provider, and the other entries stay; { replace: [...] } is the whole list.',
    },
    pricing: pricingSchema,
    context_length: {
      type: 'integer',
      minimum: 0,
      maximum: mostCount,
      default: 0,
      description: 'Limit of prompt and answer together, in tokens, for example 400000; 0 where it is unknown.',
    },
    max_output_tokens: {
      type: ['integer', 'null'],
      minimum: 1,
      maximum: mostCount,
      description: 'Limit of one answer in tokens, for example 128000.',
    },
    per_request_limits: {
      type: ['object', 'null'],
      additionalProperties: { type: 'string' },
      description: 'Limits of one request by name, with values in quotes, for example { prompt_tokens: "272000" }.',
    },
    supported_parameters: {
      ...words,
      default: [],
      description:
        'Request parameters that the model supports, for example [max_tokens, tools]. Without this list, those that follow from what its providers can do.',
    },
    json_output: {
      type: 'boolean',
      description:
        'Whether the model can be made to answer in JSON. With false, requests that ask for it go to other models; without this field it is unknown.',
    },
    structured_outputs: {
      type: 'boolean',
      description:
        'Whether the model can be made to answer by a JSON Schema. With false, requests that ask for it go to other models; without this field it is unknown.',
    },
    free: {
      type: 'boolean',
      default: false,
      description: 'Whether the model costs nothing. With true, `pricing` has no effect.',
    },
    deprecated_at: { type: ['string', 'null'], description: 'Date from which the model is deprecated, for example 2026-01-31.' },
    deactivated_at: {
      type: ['string', 'null'],
      description: 'Date from which requests for the model are answered with 410, for example 2026-07-31.',
    },
    stability: { type: 'string', minLength: 1, default: 'stable', description: 'How stable the model is, for example stable or beta.' },
  },
} as const satisfies JSONSchema;

/** The `models` block. */
export const modelsSchema = {
  type: 'array',
  description: 'The catalogue: each model with the fields of GET /v1/models, and how each provider serves it.',
  items: modelSchema,
} as const satisfies JSONSchema;

/** A model that passed the schema, with its defaults. */
export type ModelBlock = FromSchema<typeof modelSchema>;
/** One mapping of a model to a provider, with its defaults. */
export type MappingBlock = FromSchema<typeof mappingSchema>;
/** The `reasoning` of a mapping: true, false, or a map. */
export type ReasoningBlock = FromSchema<typeof reasoningSchema>;
