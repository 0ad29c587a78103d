/**
 * Embeddings at Amazon Bedrock, by the operation InvokeModel, whose body is the model's own. wire: Amazon Bedrock: Titan Text
 * Embeddings (one text in a call), Cohere Embed (at most 96).
 */
import type { ChatRequest } from '../../../core/chat.ts';
import type { Embedder, Target, WireRequest } from '../../../core/wire/dialect.ts';
import { Adjustments } from '../../../core/wire/adjustments.ts';
import { countOf, fieldsOf, listOf } from '../../../core/wire/fields.ts';
import { GatewayError } from '../../../core/errors.ts';
import { numbersOf, textInput } from '../families/vectors.ts';

/** Throws `unsupported_value` for a model of another vendor. */
export function embedderOf({ mapping: { externalId } }: Target): Embedder {
  if (/(?:^|\.)amazon\.titan-embed/.test(externalId)) return titan;
  if (/(?:^|\.)cohere\.embed/.test(externalId)) return cohere;
  throw new GatewayError('unsupported_value', `Embeddings of "${externalId}" at Bedrock are not supported: Titan and Cohere are.`, {
    param: 'model',
  });
}

const titan: Embedder = {
  most: 1,
  encode: ([input = ''], request, target) =>
    invoke(
      { inputText: textInput(input), ...(request.ask.dimensions !== null && { dimensions: request.ask.dimensions }) },
      { request, target, knows: ['normalize'] },
    ),
  decode: ({ body }) => {
    const { embedding, inputTextTokenCount } = fieldsOf(body);
    return { vectors: [numbersOf(embedding)], tokens: countOf(inputTextTokenCount) };
  },
};

const cohere: Embedder = {
  most: 96,
  encode(inputs, request, target) {
    const { dimensions } = request.ask;
    // safety: a vector of another length than was asked for would spoil the caller's index
    if (dimensions !== null && /embed-(?:english|multilingual)-v3/.test(target.mapping.externalId)) {
      throw new GatewayError('unsupported_value', 'This model has one length of vectors. Leave out "dimensions".', { param: 'dimensions' });
    }
    return invoke(
      {
        texts: inputs.map(textInput),
        input_type: request.rest['input_type'] ?? 'search_document',
        ...(dimensions !== null && { output_dimension: dimensions }),
      },
      { request, target, knows: ['truncate', 'input_type'] },
    );
  },
  decode({ body, headers }) {
    const { embeddings } = fieldsOf(body);
    const list = Array.isArray(embeddings) ? embeddings : listOf(fieldsOf(embeddings)['float']);
    return { vectors: list.map(numbersOf), tokens: countOf(Number(headers['x-amzn-bedrock-input-token-count'] ?? NaN)) };
  },
};

/** @param knows fields of the caller's request that the model takes under the same name */
function invoke(
  body: Record<string, unknown>,
  { request: { rest, user }, target, knows }: { request: ChatRequest; target: Target; knows: readonly string[] },
): WireRequest {
  const adjustments = new Adjustments();
  const sent = { ...body };
  for (const [field, value] of Object.entries({ ...rest, user })) {
    if (!knows.includes(field)) adjustments.dropField(field, value);
    // a field that the caller set to null is left out
    else if (value !== null) sent[field] ??= value;
  }
  return {
    path: `/model/${encodeURIComponent(target.mapping.externalId)}/invoke`,
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify(sent),
    adjustments: adjustments.list,
  };
}
