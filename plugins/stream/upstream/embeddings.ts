/** Asks a provider for vectors. A list that is longer than the provider takes is sent as several calls, some of them at one time. */
import type { ChatRequest, Chunk, EmbeddingAsk, Usage } from '../../../core/chat.ts';
import { unknownUsage } from '../../../core/chat.ts';
import type { Embedder, WireRequest } from '../../../core/wire/dialect.ts';
import { GatewayError } from '../../../core/errors.ts';
import { invalidAnswer } from '../../../core/wire/upstream-error.ts';
import type { Streaming } from '../../../core/pipeline/context.ts';
import { withWholeCharacters } from '../../../core/wire/native.ts';
import { sourceOf } from '../../../core/pipeline/hooks.ts';
import type { ChunkSource } from '../../../core/pipeline/hooks.ts';
import { bodyReader, jsonBody } from './answer.ts';
import { bytesOf } from './unpacked.ts';
import { dispatch } from './dispatch.ts';
import type { AttemptParts } from './dispatch.ts';
import { inTurns } from './in-turns.ts';

/** The vectors of one call. */
interface Part {
  readonly vectors: readonly (readonly number[])[];
  readonly tokens: number | null;
}

/** Resolves when all vectors are there, because an answer without some of them is of no use. */
export async function embed(context: Streaming, parts: AttemptParts): Promise<ChunkSource> {
  const { dialect, target } = parts;
  const request = context.request as ChatRequest & { readonly ask: EmbeddingAsk };
  const embedder = dialect.embedder?.(target);
  if (embedder === undefined) {
    throw new GatewayError('unsupported_value', `The format of this provider (${dialect.name}) has no embeddings.`, { param: 'model' });
  }
  const { inputs } = request.ask;
  const calls = Array.from({ length: Math.ceil(inputs.length / embedder.most) }, (_, at) =>
    withWholeCharacters(embedder.encode(inputs.slice(at * embedder.most, (at + 1) * embedder.most), request, target)),
  );
  const answered: Part[] = [];
  let underWay = 0;
  const found = await inTurns(calls, async (wire) => {
    underWay++;
    try {
      const part = await call(wire, embedder, { context, parts });
      answered.push(part);
      // the provider bills these calls, even if others fail
      parts.attempt.counts(usageOf(tokensOf(answered)));
      return part;
    } catch (thrown) {
      if (underWay > 1) parts.attempt.leaves();
      throw thrown;
    } finally {
      underWay--;
    }
  });
  const vectors = found.flatMap((part) => part.vectors);
  if (vectors.length !== inputs.length) {
    throw invalidAnswer(`${vectors.length} vectors for ${inputs.length} inputs`);
  }
  return { ...sourceOf(chunksOf(vectors, tokensOf(found))), adjustments: calls[0]?.adjustments ?? [] };
}

/** The provider's counts; null: it sent none. */
const tokensOf = (parts: readonly Part[]): number | null =>
  parts.reduce<number | null>((sum, { tokens }) => (sum === null || tokens === null ? null : sum + tokens), 0);

const usageOf = (input: number | null): Usage => ({ ...unknownUsage, input, answer: 0 });

function chunksOf(vectors: Part['vectors'], tokens: number | null): Chunk[] {
  return [
    ...vectors.map((vector, at): Chunk => ({ type: 'vector', choice: 0, at, vector })),
    { type: 'usage', usage: usageOf(tokens) },
    { type: 'finish', choice: 0, reason: 'completed', native: null },
  ];
}

async function call(wire: WireRequest, embedder: Embedder, { context, parts }: { context: Streaming; parts: AttemptParts }): Promise<Part> {
  const answer = await dispatch(wire, parts);
  const { limits } = context.config.server;
  const bytes = bytesOf(answer);
  const take = bodyReader(bytes, limits);
  let whole: Buffer | null = null;
  while (whole === null) {
    await bytes.ready();
    whole = take();
  }
  return embedder.decode({ body: jsonBody(whole, answer, limits), headers: answer.headers });
}
