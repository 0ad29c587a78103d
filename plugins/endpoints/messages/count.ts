/**
 * POST /v1/messages/count_tokens: the number of tokens of a request. The
 * provider counts if it can; otherwise the gateway estimates the count.
 */
import type { Chunk, ChatRequest, ContentPart } from '../../../core/chat.ts';
import { unknownUsage } from '../../../core/chat.ts';
import { bodyFields } from '../../../core/wire/checks.ts';
import type { ChunkSource } from '../../../core/pipeline/hooks.ts';
import { sourceOf } from '../../../core/pipeline/hooks.ts';
import type { Door } from '../../../core/pipeline/door.ts';
import type { Reply } from '../../../core/pipeline/reply.ts';
import { promptEstimate } from '../../../core/wire/estimate.ts';
import { fieldsOf, textOf } from '../../../core/wire/fields.ts';
import { isOurs } from './encode/ending.ts';
import { form, parseMessages } from './parse/request.ts';

export const parseCount: Door['parse'] = (body, headers) => ({
  ...parseMessages({ ...bodyFields(body), stream: false }, headers),
  ask: { kind: 'count' },
});

/** The JSON body of the reply. */
export function encodeCount(reply: Reply): string {
  const counted = reply.pieces(0).find((piece) => isOurs(piece) && piece.name === 'count');
  return JSON.stringify(counted?.type === 'native' ? counted.value : { input_tokens: 0 });
}

/** The gateway's own estimate of the count, in the form of a provider's answer. */
export function estimated(request: ChatRequest): ChunkSource {
  let tokens = 0;
  const texts = request.messages.map((message) => {
    if (!Array.isArray(message.content)) return message;
    const parts = message.content as readonly ContentPart[];
    for (const part of parts) if (!isText(part)) tokens += sizeOf(part);
    return { ...message, content: parts.filter(isText) };
  });
  tokens += promptEstimate({ ...request, messages: texts }) ?? 0;
  const chunks: Chunk[] = [
    { type: 'native', choice: 0, form, name: 'count', value: { input_tokens: tokens } },
    { type: 'usage', usage: { ...unknownUsage, input: 0, answer: 0 } },
    { type: 'finish', choice: 0, reason: 'completed', native: null },
  ];
  return sourceOf(chunks);
}

/**
 * safety: some servers answer every path with a message. Without this function such an answer would be read as a count of 0 tokens.
 * @param told called where the gateway estimates instead
 */
export function countedBy(source: ChunkSource, request: ChatRequest, told: () => void): ChunkSource {
  let instead: ChunkSource | null = null;
  return {
    adjustments: source.adjustments,
    async read() {
      if (instead !== null) return await instead.read();
      const chunks = await source.read();
      if (chunks === null || chunks.length === 0 || chunks.some(isTheCount)) return chunks;
      source.cancel();
      told();
      instead = estimated(request);
      return await instead.read();
    },
    cancel: () => source.cancel(),
  };
}

const isTheCount = (chunk: Chunk): boolean => chunk.type === 'native' && chunk.name === 'count';

const isText = ({ type }: ContentPart): boolean => type === 'text';

/** wire: the most tokens that an image takes (Anthropic: Vision) */
const perImage = 1600;
/** A page of a PDF has about 50 kB and takes about 2,000 tokens; base64 is a third longer. */
const charactersPerToken = 33;

/** About how many tokens a part takes that is not text. */
const sizeOf = (part: ContentPart): number =>
  part.type === 'file' ? Math.ceil((textOf(fieldsOf(part['file'])['file_data'])?.length ?? 0) / charactersPerToken) : perImage;
