/**
 * Vectors without a model: the same text gives the same vector, of length 1, and another text another one. They say nothing about meaning.
 */
import { hash } from 'node:crypto';
import type { Chunk, ChatRequest, EmbeddingAsk } from '../../../core/chat.ts';
import { unknownUsage } from '../../../core/chat.ts';
import { GatewayError } from '../../../core/errors.ts';
import { promptEstimate } from '../../../core/wire/estimate.ts';

const usualDimensions = 256;
/** safety: a vector is made in one go, and no other request is served meanwhile. */
const mostDimensions = 4096;

/** Throws `invalid_value` for more than `mostDimensions` dimensions. */
export function vectorChunks(request: ChatRequest, { inputs, dimensions }: EmbeddingAsk): Chunk[] {
  if (dimensions !== null && dimensions > mostDimensions) {
    throw new GatewayError('invalid_value', `"dimensions" must be at most ${mostDimensions} for this model.`, {
      param: 'dimensions',
      upstreamStatus: 400,
    });
  }
  return [
    ...inputs.map((input, at): Chunk => ({
      type: 'vector',
      choice: 0,
      at,
      vector: vectorOf(JSON.stringify(input), dimensions ?? usualDimensions),
    })),
    { type: 'usage', usage: { ...unknownUsage, input: promptEstimate(request), answer: 0 } },
    { type: 'finish', choice: 0, reason: 'completed', native: 'stop' },
  ];
}

function vectorOf(text: string, dimensions: number): number[] {
  const bytes = Buffer.concat(
    Array.from({ length: Math.ceil(dimensions / 32) }, (_, block) => hash('sha256', `${block} ${text}`, 'buffer')),
  );
  const numbers = Array.from({ length: dimensions }, (_, at) => (bytes[at] as number) - 127.5);
  const length = Math.hypot(...numbers);
  return numbers.map((number) => number / length);
}
