/** Checks the body of an embedding request. Fields that are not known here are kept in `rest`. */
import type { ChatRequest, EmbeddingAsk } from '../../../core/chat.ts';
import { GatewayError } from '../../../core/errors.ts';
import { kindOf } from '../../../core/taps/returns.ts';
import { isFields } from '../../../core/wire/fields.ts';

/** wire: OpenAI: Create embeddings */
const mostInputs = 2048;

const wrongValue = (param: string, text: string): GatewayError => new GatewayError('invalid_value', `"${param}" ${text}.`, { param });
const wrongType = (param: string, wanted: string, value: unknown): GatewayError => new GatewayError('invalid_type', `"${param}" must be ${wanted}, not ${kindOf(value)}.`, { param });

/** Throws a `GatewayError` with the `param` at fault: `missing_required_parameter`, `invalid_type` or `invalid_value`. */
export function parseEmbeddingRequest(body: unknown): ChatRequest {
  if (!isFields(body)) throw new GatewayError('invalid_type', `The request body must be a JSON object, not ${kindOf(body)}.`);
  const { model, input, dimensions = null, encoding_format: format, user = null, ...rest } = body;
  if (model === undefined || model === null) throw new GatewayError('missing_required_parameter', '"model" is required: the id of a model, see GET /v1/models.', { param: 'model' });
  if (typeof model !== 'string') throw wrongType('model', 'a string', model);
  if (user !== null && typeof user !== 'string') throw wrongType('user', 'a string', user);
  const ask: EmbeddingAsk = { kind: 'embeddings', inputs: inputsOf(input), dimensions: dimensionsOf(dimensions), format: formatOf(format) };
  return { ...noChat, model, ask, user, rest };
}

/** What a chat would have. */
const noChat: Omit<ChatRequest, 'model' | 'ask' | 'user' | 'rest'> = {
  messages: [], stream: false, includeUsage: false, reasoning: { effort: null, maxTokens: null }, tools: null, toolChoice: null, parallelToolCalls: null, responseFormat: null, maxTokens: null,
  temperature: null, topP: null, stop: null, seed: null, n: null, presencePenalty: null, frequencyPenalty: null, logitBias: null, logprobs: null, topLogprobs: null,
};

function inputsOf(input: unknown): EmbeddingAsk['inputs'] {
  if (input === undefined || input === null) throw new GatewayError('missing_required_parameter', '"input" is required: a text, a list of texts, or tokens.', { param: 'input' });
  if (typeof input === 'string') return [textOf('input', input)];
  if (!Array.isArray(input)) throw wrongType('input', 'a string or an array', input);
  if (input.length === 0) throw wrongValue('input', 'must not be empty');
  if (isTokens(input)) return [input];
  if (input.length > mostInputs) throw wrongValue('input', `must have at most ${mostInputs} entries, and has ${input.length}`);
  const entries = input as unknown[];
  const isOfTexts = typeof entries[0] === 'string';
  return entries.map((entry, at) => {
    const param = `input[${at}]`;
    if (isOfTexts && typeof entry === 'string') return textOf(param, entry);
    if (!isOfTexts && Array.isArray(entry) && entry.length > 0 && isTokens(entry)) return entry;
    throw wrongType(param, isOfTexts ? 'a string, as the entries before it' : 'a string, or an array of tokens that is not empty', entry);
  });
}

const isTokens = (list: unknown[]): list is number[] => list.every((token) => Number.isSafeInteger(token) && (token as number) >= 0);

function textOf(param: string, text: string): string {
  if (text === '') throw wrongValue(param, 'must not be an empty text');
  return text;
}

function dimensionsOf(value: unknown): number | null {
  if (value === null) return null;
  if (typeof value !== 'number') throw wrongType('dimensions', 'a number', value);
  if (!Number.isSafeInteger(value) || value < 1) throw wrongValue('dimensions', 'must be a whole number of at least 1');
  return value;
}

function formatOf(value: unknown): EmbeddingAsk['format'] {
  if (value === undefined || value === null) return 'float';
  if (value !== 'float' && value !== 'base64') throw wrongValue('encoding_format', 'must be "float" or "base64"');
  return value;
}
