import { promptTokens } from '../../../core/chat.ts';
import type { ReplyHead } from '../../../core/pipeline/door.ts';
import type { Reply } from '../../../core/pipeline/reply.ts';
import type { Embeddings } from './wire.ts';

/** The JSON body of a reply. A count that the provider did not give is null. */
export function encodeVectors({ vectors, usage }: Reply, { model, request }: ReplyHead): string {
  const isBase64 = request.ask?.kind === 'embeddings' && request.ask.format === 'base64';
  const tokens = promptTokens(usage);
  const answer: Embeddings = {
    object: 'list',
    data: vectors.map((vector, index) => ({ object: 'embedding', index, embedding: isBase64 ? base64Of(vector) : vector })),
    model,
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  };
  return JSON.stringify(answer);
}

/** 32-bit floats, little-endian, as OpenAI gives them. */
function base64Of(vector: readonly number[]): string {
  return Buffer.from(new Float32Array(vector).buffer).toString('base64');
}
