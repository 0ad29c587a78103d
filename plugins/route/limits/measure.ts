/** How much a request may take, before anybody knows how much it takes. */
import type { ChatRequest, Usage } from '../../../core/chat.ts';
import { costOf } from '../../../core/money.ts';
import type { Candidate } from '../../../core/pipeline/context.ts';
import { usualAnswer } from '../../../core/pipeline/explain.ts';
import { promptEstimate, tokensIn } from '../../../core/wire/estimate.ts';
import { partsOf } from '../../../core/wire/turns.ts';

/** Tokens of an image, a sound or a file, which only the provider can count. wire: an image of a megapixel is 765 to 1,600 tokens for the large vendors, July 2025. */
const tokensPerPart = 1000;

export const promptOf = (request: ChatRequest): number => promptEstimate(request) ?? roughly(request);

function roughly({ messages, tools }: ChatRequest): number {
  const parts = messages.flatMap(partsOf);
  const texts = parts.flatMap(({ text }) => (typeof text === 'string' ? [text] : []));
  return tokensIn([...texts, ...(tools ?? []).map((tool) => JSON.stringify(tool))]) + (parts.length - texts.length) * tokensPerPart;
}

const answerOf = ({ maxTokens, n }: ChatRequest): number => (maxTokens ?? usualAnswer) * (n ?? 1);

/** Tokens of the prompt and of the longest answer. */
export const tokensOf = (request: ChatRequest): number => promptOf(request) + answerOf(request);

/** The most that it may cost at a candidate, in 10^-12 dollar; null: nobody knows the price. */
export function priceAt({ mapping, model }: Candidate, request: ChatRequest): bigint | null {
  const usage: Usage = { input: promptOf(request), cacheRead: null, cacheWrite: null, cacheWrite1h: null, answer: answerOf(request), reasoning: null };
  return costOf(usage, mapping.pricing ?? model.pricing);
}
