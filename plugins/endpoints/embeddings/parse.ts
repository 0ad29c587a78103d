/** Checks the body of an embedding request. Fields that are not known here are kept in `rest`. */
import { mostInputs, unsetParameters, unsetReasoning } from '../../../core/chat.ts';
import type { ChatRequest, EmbeddingAsk } from '../../../core/chat.ts';
import { bodyFields, count, missing, modelName, optional, text, wrongType, wrongValue } from '../../../core/wire/checks.ts';

/** Throws a `GatewayError` with the `param` at fault: `missing_required_parameter`, `invalid_type` or `invalid_value`. */
export function parseEmbeddingRequest(body: unknown): ChatRequest {
  const { model, input, dimensions, encoding_format: format, user, ...rest } = bodyFields(body);
  const checked = { model: modelName(model), user: optional('user', user, text) };
  const ask: EmbeddingAsk = {
    kind: 'embeddings',
    inputs: inputsOf(input),
    dimensions: optional('dimensions', dimensions, count),
    format: formatOf(format),
  };
  return { ...noChat, ...checked, ask, rest };
}

/** The fields that only a chat has. */
const noChat: Omit<ChatRequest, 'model' | 'ask' | 'rest'> = {
  messages: [],
  stream: false,
  includeUsage: false,
  reasoning: unsetReasoning,
  ...unsetParameters,
};

function inputsOf(input: unknown): EmbeddingAsk['inputs'] {
  if (input === undefined || input === null) throw missing('input', 'a text, a list of texts, or tokens');
  if (typeof input === 'string') return [filled('input', input)];
  if (!Array.isArray(input)) throw wrongType('input', 'a string or an array', input);
  if (input.length === 0) throw wrongValue('input', 'must not be empty');
  if (isTokens(input)) return [input];
  if (input.length > mostInputs) throw wrongValue('input', `must have at most ${mostInputs} entries, and has ${input.length}`);
  const entries = input as unknown[];
  const isOfTexts = typeof entries[0] === 'string';
  return entries.map((entry, at) => {
    const param = `input[${at}]`;
    if (isOfTexts && typeof entry === 'string') return filled(param, entry);
    if (!isOfTexts && Array.isArray(entry) && entry.length > 0 && isTokens(entry)) return entry;
    throw wrongType(param, isOfTexts ? 'a string, as the entries before it' : 'a string, or an array of tokens that is not empty', entry);
  });
}

const isTokens = (list: unknown[]): list is number[] => list.every((token) => Number.isSafeInteger(token) && (token as number) >= 0);

function filled(param: string, input: string): string {
  if (input === '') throw wrongValue(param, 'must not be an empty text');
  return input;
}

function formatOf(value: unknown): EmbeddingAsk['format'] {
  if (value === undefined || value === null) return 'float';
  if (value !== 'float' && value !== 'base64') throw wrongValue('encoding_format', 'must be "float" or "base64"');
  return value;
}
