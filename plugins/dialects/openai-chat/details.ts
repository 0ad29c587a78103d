/** Reasoning details on their way back to the vendor that issued them. */
import type { Message, ReasoningDetail } from '../../../core/chat.ts';
import { detailsOf } from '../../../core/wire/native.ts';
import { JoinedDetail } from '../../../core/wire/opaque.ts';

/**
 * The details of a message that a provider issued, each whole and as it was sent.
 * wire: in a stream a thought comes in pieces of one index, its signature in the last. Sent back in pieces, it is a 400 "Invalid `signature` in `thinking` block" (agno-agi/agno#8794, 2026-07)
 * @param provider the id of the provider entry
 */
export function issuedDetails(message: Message, provider: string): readonly ReasoningDetail[] {
  const thoughts: JoinedDetail[] = [];
  // null: the next detail begins a thought
  let open: JoinedDetail | null = null;
  for (const detail of detailsOf(message)) {
    if (detail.provider !== provider) continue;
    if (open === null || !open.takes(detail) || !isPiece(open.whole, detail)) thoughts.push((open = new JoinedDetail()));
    if (open.take(detail)) open = null;
  }
  return thoughts.flatMap(({ whole }) => (whole === null ? [] : [asIssued(whole)]));
}

/** Whether a detail has the place and the id of the thought before it. */
const isPiece = (before: ReasoningDetail | null, { index, id }: ReasoningDetail): boolean =>
  before !== null && typeof index === 'number' && index === before.index && (id ?? before.id) === (before.id ?? id);

/** The detail as the provider sent it, without the names that the gateway added. safety: with any other change its signature would be invalid. */
function asIssued(detail: ReasoningDetail): ReasoningDetail {
  const { provider: _, model: __, after: ___, ...issued } = detail;
  return issued;
}
