/**
 * Reasoning details on their way back to the vendor that issued them.
 * What a vendor wants back with a tool call is kept as such a detail too.
 */
import type { Message, ReasoningDetail } from '../../../core/chat.ts';
import type { Target } from '../../../core/wire/dialect.ts';
import type { Fields } from '../../../core/wire/fields.ts';
import { objectIn } from '../../../core/wire/json.ts';
import { detailsOf } from '../../../core/wire/native.ts';
import { JoinedDetail } from '../../../core/wire/opaque.ts';

/**
 * The details of a message that a provider issued, each whole and as it was sent.
 * wire: in a stream a thought comes in pieces of one index, its signature in the last. Sent back
 * in pieces, it is a 400 "Invalid `signature` in `thinking` block" (agno-agi/agno#8794, 2026-07)
 * @param provider the id of the provider entry
 */
export function issuedDetails(message: Message, provider: string): readonly ReasoningDetail[] {
  const thoughts: JoinedDetail[] = [];
  // null: the next detail begins a thought
  let open: JoinedDetail | null = null;
  for (const detail of detailsOf(message)) {
    if (detail.provider !== provider || detail['format'] === besideCall) continue;
    if (open === null || !open.takes(detail) || !isPiece(open.whole, detail)) thoughts.push((open = new JoinedDetail()));
    if (open.take(detail)) open = null;
  }
  return thoughts.flatMap(({ whole }) => (whole === null ? [] : [asIssued(whole)]));
}

/** The `format` of a detail that holds the field of this name, which the provider sent beside a tool call. */
const besideCall = 'extra_content';

/**
 * The extra field that the provider sent beside a tool call, as a detail.
 * wire: Gemini has the state of its thinking there, as `google.thought_signature` or `vertex.thought_signature`. Without it
 * the next turn is a 400 "Function call is missing a thought_signature" (earendil-works/pi#3234, 2026-04, and #7745, 2026-08)
 */
export const detailBeside = (call: string, extra: Fields, { provider, mapping }: Target): ReasoningDetail => ({
  type: 'reasoning.encrypted',
  provider: provider.account,
  model: mapping.externalId,
  format: besideCall,
  id: call,
  data: JSON.stringify(extra),
});

/** The extra fields that this provider sent beside the tool calls of a message, by the id of the call. */
export function extrasOf(message: Message, provider: string): ReadonlyMap<string, object> {
  const extras = new Map<string, object>();
  for (const { provider: issuer, format, id, data } of detailsOf(message)) {
    if (issuer !== provider || format !== besideCall || typeof id !== 'string' || typeof data !== 'string') continue;
    const extra = objectIn(data);
    if (extra !== null) extras.set(id, extra);
  }
  return extras;
}

/** Whether a detail has the place and the id of the thought before it. */
const isPiece = (before: ReasoningDetail | null, { index, id }: ReasoningDetail): boolean =>
  before !== null && typeof index === 'number' && index === before.index && (id ?? before.id) === (before.id ?? id);

/**
 * The detail as the provider sent it, without the names that the gateway added.
 * safety: with any other change its signature would be invalid.
 */
function asIssued(detail: ReasoningDetail): ReasoningDetail {
  const { provider: _, model: __, after: ___, ...issued } = detail;
  return issued;
}
