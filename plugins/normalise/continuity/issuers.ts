/** Who issued an opaque string that comes back alone. */
import { hash } from 'node:crypto';
import type { ChatRequest, Message, ReasoningDetail } from '../../../core/chat.ts';
import type { RequestRecord } from '../../../core/pipeline/context.ts';
import type { Recall } from './memory.ts';

/** The opaque string of a detail; null where it has none. */
function opaqueOf({ signature, data }: ReasoningDetail): string | null {
  const opaque = signature ?? data;
  return typeof opaque === 'string' && opaque !== '' ? opaque : null;
}

const idOf = (opaque: string): string => `issued ${hash('sha256', opaque, 'base64url')}`;

/** The details of an answer by their opaque strings. Only the door of chat completions gives a string out as it is; the strings of other doors say themselves who issued them. */
export function* issuedDetails({ request, response }: RequestRecord): Generator<readonly [id: string, detail: ReasoningDetail]> {
  if (request?.form !== undefined) return;
  for (const detail of (response?.choices ?? []).flatMap(({ details }) => details)) {
    const opaque = opaqueOf(detail);
    if (opaque !== null) yield [idOf(opaque), detail];
  }
}

/** safety: a request with thousands of strange strings would ask a shared memory as often */
const mostAsked = 256;

/** The request with the rest of those details that have only their opaque string. Their places in the message are the client's. */
export async function withIssuers(request: ChatRequest, recall: Recall): Promise<ChatRequest> {
  const strange = request.messages.flatMap(detailsOf).filter((detail) => detail.provider === undefined && opaqueOf(detail) !== null);
  if (strange.length === 0) return request;
  const known = new Map(await Promise.all(strange.slice(0, mostAsked).map(async (detail) => [detail, (await recall(idOf(opaqueOf(detail) as string)))?.details[0]] as const)));
  const whole = (detail: ReasoningDetail): ReasoningDetail => {
    const found = known.get(detail);
    if (found === undefined) return detail;
    // wire: where the text came in pieces, the last detail has the state and no text (OpenRouter: Reasoning tokens)
    return { ...found, ...(found.text === '' && detail.text !== undefined && { text: detail.text }), ...('after' in detail && { after: detail['after'] }) };
  };
  return { ...request, messages: request.messages.map((message) => (detailsOf(message).some((detail) => known.has(detail)) ? { ...message, reasoning_details: detailsOf(message).map(whole) } : message)) };
}

const detailsOf = ({ reasoning_details: details }: Message): readonly ReasoningDetail[] => (Array.isArray(details) ? (details as readonly ReasoningDetail[]) : []);
