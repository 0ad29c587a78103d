/** Reasoning state goes back only to the account and the model that issued it: others cannot read it, and some refuse the whole request. */
import type { Adjustment, ChatRequest, Message, ReasoningDetail } from '../chat.ts';
import type { Target } from './dialect.ts';
import { isFields } from './fields.ts';

const leftOut: readonly Adjustment[] = [{ parameter: 'messages.reasoning', change: 'left out: issued by another provider or model' }];

/** The request with no other reasoning state than the target's own. A detail that names no model is the account's. The text of the reasoning stays, which is no state. */
export function withOwnReasoning(request: ChatRequest, target: Target): { readonly request: ChatRequest; readonly adjustments: readonly Adjustment[] } {
  if (!request.messages.some((message) => hasForeign(message, target))) return { request, adjustments: [] };
  return { request: { ...request, messages: request.messages.map((message) => (hasForeign(message, target) ? withOwn(message, target) : message)) }, adjustments: leftOut };
}

const detailsOf = ({ reasoning_details: details }: Message): readonly ReasoningDetail[] => (Array.isArray(details) ? (details as readonly ReasoningDetail[]) : []);

const hasForeign = (message: Message, target: Target): boolean => detailsOf(message).some((detail) => !isOwn(detail, target));

const isOwn = (detail: ReasoningDetail, { provider, mapping }: Target): boolean => isFields(detail) && detail.provider === provider.account && (detail['model'] ?? mapping.externalId) === mapping.externalId;

function withOwn(message: Message, target: Target): Message {
  const { reasoning_details: _, ...others } = message;
  const own = detailsOf(message).filter((detail) => isOwn(detail, target));
  return { ...others, role: message.role, ...(own.length > 0 && { reasoning_details: own }) };
}
