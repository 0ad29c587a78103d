/** The `models` block: records of `GET /v1/models` under their own field names, and what routing needs to know. */
import type { FromSchema, JSONSchema } from 'json-schema-to-ts';
import { pricingSchema } from './pricing.ts';

const words = { type: 'array', items: { type: 'string', minLength: 1 } } as const satisfies JSONSchema;
const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'] as const;

const reasoningSchema = {
  type: ['boolean', 'object'],
  description: 'Whether the model reasons here: true, false, or how, for example { efforts: [low, high], exposes: nothing }.',
  additionalProperties: false,
  default: false,
  properties: {
    efforts: { type: 'array', minItems: 1, items: { type: 'string', enum: efforts }, description: 'Efforts that the provider takes, for example [low, medium, high]; without it, any may be sent.' },
    max_tokens: { type: 'boolean', default: false, description: 'Whether the provider takes an explicit reasoning budget in tokens.' },
    auto_effort: { type: ['string', 'null'], enum: [...efforts, null], description: 'Effort of an auto-routed request that sets none (low where the provider takes it); null leaves it to the provider.' },
    exposes: { type: 'string', enum: ['text', 'nothing'], default: 'text', description: 'What comes back of the reasoning: its text, or nothing.' },
    think_tags: { type: 'boolean', default: false, description: 'Whether the reasoning arrives inside a leading <think> block of the answer.' },
  },
} as const satisfies JSONSchema;

export const mappingSchema = {
  type: 'object',
  description: 'One provider that serves the model.',
  additionalProperties: false,
  required: ['providerId'],
  properties: {
    providerId: { type: 'string', minLength: 1, description: 'Id of an entry of `providers`, for example openai.' },
    externalId: { type: 'string', minLength: 1, description: 'The model\'s name at this provider, for example gpt-5-2025-08-07; the model\'s id where it is left out.' },
    dialect: { type: 'string', minLength: 1, description: 'Another dialect than the provider\'s for this model, for example openai-responses.' },
    supportedVideoSizes: { ...words, default: [], description: 'Sizes of video that it makes, for example [1280x720].' },
    supportsVideoAudio: { type: 'boolean', default: false, description: 'Whether it makes video with sound.' },
    supportsVideoWithoutAudio: { type: 'boolean', default: false, description: 'Whether it makes video without sound.' },
    pricing: pricingSchema,
    streaming: { type: 'boolean', default: true, description: 'Whether it can stream.' },
    vision: { type: 'boolean', default: false, description: 'Whether it takes images.' },
    cancellation: { type: 'boolean', default: false, description: 'Whether it stops, and stops billing, when a request is cancelled.' },
    tools: { type: 'boolean', default: false, description: 'Whether it calls tools.' },
    parallelToolCalls: { type: 'boolean', default: false, description: 'Whether it calls several tools in one turn.' },
    reasoning: reasoningSchema,
    stability: { type: 'string', minLength: 1, default: 'stable', description: 'How settled this mapping is, for example stable or beta.' },
  },
} as const satisfies JSONSchema;

const architectureSchema = {
  type: 'object',
  description: 'What goes into the model and what comes out.',
  additionalProperties: false,
  default: {},
  properties: {
    input_modalities: { ...words, default: ['text'], description: 'What it reads, for example [text, image].' },
    output_modalities: { ...words, default: ['text'], description: 'What it writes, for example [text].' },
    tokenizer: { type: 'string', default: 'other', description: 'Name of its tokenizer, for example o200k.' },
  },
} as const satisfies JSONSchema;

const topProviderSchema = {
  type: 'object',
  description: 'Facts of the provider that is asked first.',
  additionalProperties: false,
  default: {},
  properties: {
    is_moderated: { type: 'boolean', default: false, description: 'Whether the provider filters requests before the model sees them.' },
  },
} as const satisfies JSONSchema;

export const modelSchema = {
  type: 'object',
  description: 'One model of the catalogue.',
  additionalProperties: false,
  required: ['id', 'providers'],
  properties: {
    id: { type: 'string', minLength: 1, pattern: '^[^\\s*]+$', description: 'Root name that callers ask for, without spaces or *, for example gpt-5.' },
    name: { type: 'string', minLength: 1, description: 'Name to show, for example GPT-5; the id where it is left out.' },
    aliases: { ...words, default: [], description: 'Other names that callers may use, for example [gpt-5-2025-08-07].' },
    created: { type: 'integer', minimum: 0, default: 0, description: 'When the model came out, in Unix seconds, for example 1754524800.' },
    description: { type: 'string', default: '', description: 'A sentence about the model.' },
    family: { type: 'string', minLength: 1, default: 'other', description: 'Whose model it is, for example openai.' },
    architecture: architectureSchema,
    top_provider: topProviderSchema,
    providers: { type: 'array', minItems: 1, items: mappingSchema, description: 'Providers that serve the model, at least one, for example [{ providerId: openai }].' },
    pricing: pricingSchema,
    context_length: { type: 'integer', minimum: 0, default: 0, description: 'Tokens of prompt and answer together, for example 400000; 0 where it is not known.' },
    max_output_tokens: { type: ['integer', 'null'], minimum: 1, description: 'Most tokens of one answer, for example 128000.' },
    per_request_limits: { type: ['object', 'null'], additionalProperties: { type: 'string' }, description: 'Limits of one request by name, values in quotes, for example { prompt_tokens: "272000" }.' },
    supported_parameters: { ...words, default: [], description: 'Request parameters that the model knows, for example [max_tokens, tools].' },
    json_output: { type: 'boolean', default: false, description: 'Whether it can be held to JSON.' },
    structured_outputs: { type: 'boolean', default: false, description: 'Whether it can be held to a JSON Schema.' },
    free: { type: 'boolean', default: false, description: 'Whether it costs nothing; a model with neither this nor prices is refused.' },
    deprecated_at: { type: ['string', 'null'], description: 'Date from which it is deprecated, for example 2026-01-31.' },
    deactivated_at: { type: ['string', 'null'], description: 'Date from which it is gone and requests get 410, for example 2026-07-31.' },
    stability: { type: 'string', minLength: 1, default: 'stable', description: 'How settled the model is, for example stable or beta.' },
  },
} as const satisfies JSONSchema;

export const modelsSchema = {
  type: 'array',
  description: 'The catalogue: records of GET /v1/models under their own field names, and how each provider serves them.',
  items: modelSchema,
} as const satisfies JSONSchema;

/** A model as validated, defaults filled in. */
export type ModelBlock = FromSchema<typeof modelSchema>;
/** One of its providers. */
export type MappingBlock = FromSchema<typeof mappingSchema>;
/** What it says about reasoning. */
export type ReasoningBlock = FromSchema<typeof reasoningSchema>;
