/** Finds the issuer of an opaque string that comes back alone. */
import { hash } from 'node:crypto';
import type { ChatRequest, ReasoningDetail } from '../../../core/chat.ts';
import type { RequestRecord } from '../../../core/pipeline/context.ts';
import { detailsOf } from '../../../core/wire/native.ts';
import { opaqueIn } from '../../../core/wire/opaque.ts';
import type { Recall, Thought } from './memory.ts';

const idOf = (opaque: string): string => `issued ${hash('sha256', opaque, 'base64url')}`;

/** safety: the details of an answer are kept under each of their strings, and an answer may have thousands of strings */
const mostStrings = 16;

/**
 * The details of an answer, by their opaque strings. Only the door of chat completions
 * gives such a string out unchanged; the strings of other doors hold their issuer.
 */
export function* issuedThoughts({ request, response }: RequestRecord): Generator<readonly [id: string, thought: Thought]> {
  if (request?.form !== undefined) return;
  for (const { details } of response?.choices ?? []) {
    const opaques = details.map(opaqueIn).filter((opaque) => opaque !== null);
    for (const opaque of opaques.slice(0, mostStrings)) yield [idOf(opaque), { details, reasoning: '' }];
  }
}

/** safety: a request with thousands of unknown strings would send as many look-ups to a shared memory */
const mostAsked = 64;

/** The request with the whole details of an answer where a message has only an opaque string of them. */
export async function withIssuers(request: ChatRequest, recall: Recall): Promise<ChatRequest> {
  const bare = request.messages.flatMap((message) => {
    const opaque = detailsOf(message).filter(isBare).map(opaqueIn)[0];
    return typeof opaque === 'string' ? [[message, opaque] as const] : [];
  });
  if (bare.length === 0) return request;
  const known = new Map(
    await Promise.all(bare.slice(-mostAsked).map(async ([message, opaque]) => [message, await recall(idOf(opaque))] as const)),
  );
  const messages = request.messages.map((message) => {
    const thought = known.get(message);
    return thought === undefined
      ? message
      : { ...message, reasoning_details: [...thought.details, ...detailsOf(message).filter((detail) => !isBare(detail))] };
  });
  return { ...request, messages };
}

/** True if the detail has an opaque string and does not name its issuer. */
const isBare = (detail: ReasoningDetail): boolean => detail.provider === undefined && opaqueIn(detail) !== null;
