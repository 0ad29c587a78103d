/** Embeddings of Gemini models. wire: Gemini API: batchEmbedContents, at most 100 texts in one call. */
import type { Embedder, Target } from '../../../core/wire/dialect.ts';
import { Adjustments } from '../../../core/wire/adjustments.ts';
import { countOf, fieldsOf, listOf } from '../../../core/wire/fields.ts';
import { GatewayError } from '../../../core/errors.ts';
import { numbersOf, textInput } from '../families/vectors.ts';
import { isVertex } from '../families/vertex.ts';
import { studioPath, wholeName } from './address.ts';

/** Throws `unsupported_value` for Vertex AI, which has another operation for vectors. */
export function embedderOf({ provider }: Target): Embedder {
  if (isVertex(provider)) {
    throw new GatewayError('unsupported_value', 'Embeddings of Vertex AI are not supported. Use the same model by a key of AI Studio.', {
      param: 'model',
    });
  }
  return embedder;
}

/** Fields of a request that Gemini takes where they are texts. */
const ownTexts: ReadonlySet<string> = new Set(['task_type', 'title']);

const embedder: Embedder = {
  most: 100,
  encode(inputs, { ask: { dimensions }, user, rest }, { mapping: { externalId } }) {
    const adjustments = new Adjustments();
    const { task_type: task, title } = rest;
    for (const [field, value] of Object.entries({ ...rest, user })) {
      if (typeof value !== 'string' || !ownTexts.has(field)) adjustments.dropField(field, value);
    }
    const model = wholeName(externalId);
    const more = {
      ...(dimensions !== null && { outputDimensionality: dimensions }),
      ...(typeof task === 'string' && { taskType: task }),
      ...(typeof title === 'string' && { title }),
    };
    const requests = inputs.map((input) => ({ model, content: { parts: [{ text: textInput(input) }] }, ...more }));
    return {
      path: `${studioPath(externalId)}:batchEmbedContents`,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ requests }),
      adjustments: adjustments.list,
    };
  },
  decode({ body }) {
    const vectors = listOf(fieldsOf(body)['embeddings']).map((entry) => numbersOf(fieldsOf(entry)['values']));
    return { vectors, tokens: countOf(fieldsOf(fieldsOf(body)['usageMetadata'])['promptTokenCount']) };
  },
};
