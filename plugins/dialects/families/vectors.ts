/** What the dialects have in common for models that give vectors. */
import type { EmbeddingAsk } from '../../../core/chat.ts';
import { GatewayError } from '../../../core/errors.ts';
import { listOf } from '../../../core/wire/fields.ts';
import { invalidAnswer } from '../../../core/wire/upstream-error.ts';

/** An input of the request, for a provider that takes no tokens. */
export function textInput(input: EmbeddingAsk['inputs'][number]): string {
  if (typeof input === 'string') return input;
  throw new GatewayError('unsupported_value', 'This provider takes texts and no tokens. Send "input" as text.', { param: 'input' });
}

/** The error for an answer without vectors. */
export const noVectors = (): GatewayError => invalidAnswer('an answer without embeddings');

/** The numbers of one vector of an answer. Throws if it has none, or holds something else. */
export function numbersOf(vector: unknown): readonly number[] {
  const numbers = listOf(vector);
  if (numbers.length === 0 || !numbers.every((number) => typeof number === 'number')) throw noVectors();
  return numbers;
}
