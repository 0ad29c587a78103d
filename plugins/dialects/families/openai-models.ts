/**
 * Which parameters each family of OpenAI's models refuses, on chat completions and on
 * Responses, and which schemas and names of tools they take. Parameters have their names of chat completions.
 */
import type { Adjust } from '../../../core/wire/adjustments.ts';
import type { ChatRequest, Reasoning, Tool } from '../../../core/chat.ts';
import { toolNameBy } from '../../../core/names.ts';
import type { Target } from '../../../core/wire/dialect.ts';
import { type Fields, fieldsOf, isFields, listOf } from '../../../core/wire/fields.ts';
import { isObjectSchema, schemasIn } from './claude-schema.ts';
import { isClaude } from './claude.ts';

/** A family of models that refuse the same parameters. */
export interface OpenaiFamily {
  /** Is matched with the model's name in lower case, without a vendor's name before it. */
  readonly match: RegExp;
  /** Parameters that are a 400. */
  readonly refuses: readonly string[];
  /** The parameters of `refuses` that it takes while the effort is `none`. */
  readonly takesUnthinking: readonly string[];
  /** True if the effort of the model is `none` where the request names no effort. */
  readonly restsUnasked?: true;
}

/** The parameters that ask for the probabilities of tokens. */
export const logOfTokens: readonly string[] = ['logprobs', 'top_logprobs'];
const sampling: readonly string[] = ['temperature', 'top_p', ...logOfTokens, 'presence_penalty', 'frequency_penalty', 'logit_bias'];

/**
 * The families, in the order in which they are tried. A model that none matches (a fine-tune, an unknown name) takes every parameter.
 * wire: OpenAI: Reasoning models, and Using GPT-5, Parameter compatibility.
 */
export const openaiModels = {
  oSeries: { match: /^(?:o\d|codex)(?:-|$)/, refuses: sampling, takesUnthinking: [] },
  // wire: the default effort of these is `none` (OpenAI: Using GPT-5.1, Using GPT-5.2, Using GPT-5.4); no page says this of their variants
  resting: {
    match: /^gpt-5\.[124](?:-\d{4}-|$)/,
    refuses: sampling,
    takesUnthinking: ['temperature', 'top_p', ...logOfTokens],
    restsUnasked: true,
  },
  // wire: gpt-5.1 and later take temperature, top_p and logprobs while
  // the effort is `none` (OpenAI: Using GPT-5.2, Parameter compatibility)
  sinceGpt51: {
    match: /^gpt-(?:5\.\d|(?:[6-9]|1\d)(?:[.-]|$))/,
    refuses: sampling,
    takesUnthinking: ['temperature', 'top_p', ...logOfTokens],
  },
  gpt5: { match: /^gpt-5(?!-chat)(?:-|$)/, refuses: sampling, takesUnthinking: [] },
  // wire: "Model incompatible request arguments supplied: frequency_penalty,
  // presence_penalty, temperature, top_p" (vercel/ai#5647, 2025-04)
  searchPreview: {
    match: /-search-preview/,
    refuses: ['temperature', 'top_p', 'presence_penalty', 'frequency_penalty'],
    takesUnthinking: [],
  },
} as const satisfies Record<string, OpenaiFamily>;

const families: readonly OpenaiFamily[] = Object.values(openaiModels);

/** Whether a family takes a parameter at this effort. */
export const takes = (
  parameter: string,
  {
    refuses,
    takesUnthinking,
    restsUnasked,
  }: Pick<OpenaiFamily, 'takesUnthinking' | 'restsUnasked'> & { readonly refuses: readonly string[] },
  { effort, maxTokens }: Reasoning,
): boolean =>
  !refuses.includes(parameter) ||
  (takesUnthinking.includes(parameter) && (effort === 'none' || (restsUnasked === true && effort === null && maxTokens === null)));

/**
 * The family of a model, found by any of its names: `gpt-5`, `openai/gpt-5`, or the
 * name of a deployment beside the id in the catalogue. Undefined if no family matches.
 */
export function openaiFamilyOf(names: readonly string[]): OpenaiFamily | undefined {
  const plain = names.map((name) => name.toLowerCase().replace(/^.*\//, ''));
  return families.find(({ match }) => plain.some((name) => match.test(name)));
}

/**
 * The schema of a function's arguments as OpenAI takes it: an object schema gets `type` and `properties`,
 * even where it has no properties. Any other schema, and a schema that has both fields, is returned unchanged.
 * wire: without one of these fields it is a 400 "object schema missing properties", or "schema must be a JSON Schema
 * of 'type: "object"', got 'type: "None"'"; Claude Code and MCP servers leave out both for a tool without
 * arguments, which Anthropic takes (maximhq/bifrost#1752, 2026-02; github/copilot-cli#2223, 2026-03)
 */
export function completeSchema(schema: object): object {
  const { type = 'object' } = schema as { readonly type?: unknown };
  const isComplete = 'type' in schema && 'properties' in schema;
  return isComplete || type !== 'object' || composing.some((keyword) => keyword in schema) ? schema : { type, properties: {}, ...schema };
}

const composing = ['$ref', 'anyOf', 'oneOf', 'allOf'] as const;

/**
 * The request of a caller of the Messages API, with `strict` only where its schema can be strict. A caller of another API
 * wrote its schemas for OpenAI, and gets the refusal of the provider.
 * wire: each object of a strict schema is closed and requires all its properties, else 400 `invalid_json_schema` "'required' is
 * required to be supplied and to be an array including every key in properties" (OpenAI: Structured outputs). The Messages API takes
 * optional properties, and its SDKs write them (BerriAI/litellm#38211).
 */
export function withPossibleStrict(request: ChatRequest, target: Target, adjust: Adjust): ChatRequest {
  if (request.form !== 'messages' || isClaude(target)) return request;
  const { responseFormat, tools } = request;
  const described = responseFormat?.json_schema;
  const isFormatLoose = described?.strict === true && !canBeStrict(described.schema);
  const isToolLoose = tools?.some(isLoose) === true;
  if (!isFormatLoose && !isToolLoose) return request;
  if (isFormatLoose) adjust('response_format.json_schema.strict', 'dropped');
  if (isToolLoose) adjust('tools.function.strict', 'dropped');
  return {
    ...request,
    ...(isFormatLoose && { responseFormat: { ...responseFormat, type: 'json_schema', json_schema: { ...described, strict: false } } }),
    ...(isToolLoose && { tools: tools.map(loosened) }),
  };
}

const isLoose = ({ function: described }: Tool): boolean => described?.strict === true && !canBeStrict(described.parameters);

const loosened = (tool: Tool): Tool =>
  tool.function !== undefined && isLoose(tool) ? { ...tool, type: tool.type, function: { ...tool.function, strict: false } } : tool;

const canBeStrict = (schema: unknown): boolean =>
  !isFields(schema) ||
  (isComplete(schema) && Object.entries(schema).every(([keyword, value]) => schemasIn(keyword, value).every(canBeStrict)));

/** Whether a schema, unless it is none of an object, allows its own properties alone and requires all of them. */
function isComplete(schema: Fields): boolean {
  if (!isObjectSchema(schema)) return true;
  const required = new Set(listOf(schema['required']));
  return schema['additionalProperties'] === false && Object.keys(fieldsOf(schema['properties'])).every((name) => required.has(name));
}

/**
 * The name of a tool for OpenAI.
 * wire: another name is a 400 "Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'" or "string too long. Expected
 * a string with maximum length 64" (nanbingxyz/5ire#33; redhat-community-ai-tools/UnifAI#266, 2026-09)
 */
export const plainToolName = (name: string): string => toolNameBy(/^[\w-]{1,64}$/, name);
