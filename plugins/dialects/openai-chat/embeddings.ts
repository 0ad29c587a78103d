/** Embeddings in the form of OpenAI, which most vendors of chat completions have too. wire: OpenAI: Create embeddings. */
import type { Embedder, Target } from '../../../core/wire/dialect.ts';
import { Adjustments } from '../../../core/wire/adjustments.ts';
import { countOf, fieldsOf, isFields, listOf } from '../../../core/wire/fields.ts';
import { GatewayError } from '../../../core/errors.ts';
import { decodeAnswerError, isError } from './error.ts';
import { isClientSetting } from '../families/client-settings.ts';
import { queryOf } from '../families/query.ts';
import { noVectors, numbersOf } from '../families/vectors.ts';
import type { Vendor } from './habits.ts';

/**
 * wire: OpenAI takes 2,048 inputs, and writes 3,072 numbers of 22 bytes for each input: 138 MB in
 * one reply. The reply to an eighth of the inputs is half of `server.limits.upstream_body`.
 */
const mostInputs = 256;

export const embedderOf = (vendor: Vendor, target: Target): Embedder => ({
  most: vendor.embeddings?.most ?? mostInputs,
  encode(inputs, { ask: { dimensions, format }, user, rest }) {
    const adjustments = new Adjustments();
    const refused = [...(vendor.drops ?? []), ...(vendor.embeddings?.drops ?? [])];
    const body: Record<string, unknown> = { model: target.mapping.externalId, input: inputs.length === 1 ? inputs[0] : inputs };
    if (dimensions !== null) body[dimensionsFieldOf(vendor)] = dimensions;
    // cost: OpenAI writes each number on a line of its own: four times the bytes of base64, and
    // 30 times the time to read them. A caller who wants numbers gets them as OpenAI writes them
    if (format === 'base64' && vendor.embeddings?.hasBase64 === true) body['encoding_format'] = format;
    for (const [field, value] of Object.entries({ ...(user !== null && { user }), ...rest })) {
      if (isClientSetting(field) || refused.includes(field)) adjustments.dropField(field, value);
      else body[field] = value;
    }
    return {
      path: `/embeddings${queryOf(vendor.query, target.provider)}`,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      adjustments: adjustments.list,
    };
  },
  decode({ body }) {
    if (!isFields(body)) throw noVectors();
    if (isError(body)) throw decodeAnswerError(body, target);
    // wire: the order is not promised, each entry has the number of its input
    const entries = listOf(body['data'])
      .map(fieldsOf)
      .toSorted((a, b) => Number(a['index'] ?? 0) - Number(b['index'] ?? 0));
    const { prompt_tokens: tokens, total_tokens: all } = fieldsOf(body['usage']);
    return { vectors: entries.map(({ embedding }) => vectorOf(embedding)), tokens: countOf(tokens) ?? countOf(all) };
  },
});

/** safety: a vector of another length than was asked for would spoil the caller's index, so the dimensions are not dropped. */
function dimensionsFieldOf({ embeddings: { dimensions = 'dimensions' } = {} }: Vendor): string {
  if (dimensions !== null) return dimensions;
  throw new GatewayError('unsupported_value', 'This provider takes no dimensions. Leave out "dimensions".', { param: 'dimensions' });
}

/** A list of numbers, or base64 of 32-bit floats, little-endian. */
const vectorOf = (embedding: unknown): readonly number[] =>
  typeof embedding === 'string' ? numbersIn(new Uint8Array(Buffer.from(embedding, 'base64'))) : numbersOf(embedding);

function numbersIn(bytes: Uint8Array<ArrayBuffer>): number[] {
  if (bytes.length === 0 || bytes.length % 4 !== 0) throw noVectors();
  const floats = new Float32Array(bytes.buffer);
  // cost: Array.from takes 34 us for 1,536 numbers, and this loop 14 us
  const numbers: number[] = [];
  for (let at = 0; at < floats.length; at++) numbers.push(floats[at] as number);
  return numbers;
}
