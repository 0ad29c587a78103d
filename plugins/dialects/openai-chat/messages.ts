/** Messages of a request as one vendor takes them. What nothing has to change goes out as the same object. */
import { createHash } from 'node:crypto';
import type { ContentPart, Message, ReasoningDetail, ToolCall } from '../../../core/chat.ts';
import type { Habits, Vendor } from './habits.ts';

export interface MessageWays {
  readonly vendor: Vendor;
  readonly habits: Habits;
  /** The provider entry that is asked: opaque reasoning goes back to its issuer only. */
  readonly provider: string;
  /** Told of a field that could not go out. */
  dropped(parameter: string): void;
}

/** Fields that only answers have. A caller who sends an answer back as it came means no request by them. */
const answerFields = ['reasoning', 'reasoning_content', 'reasoning_details', 'annotations', 'citations', 'images'];

/** The messages to send. */
export function encodeMessages(messages: readonly Message[], ways: MessageWays): readonly Message[] {
  const turns = messages.findIndex(({ role }) => !isInstruction(role));
  const leading = turns === -1 ? messages.length : turns;
  return messages.map((message, at) => encodeMessage(message, roleOf(message.role, at < leading, ways.habits), ways));
}

const isInstruction = (role: Message['role']): boolean => role === 'system' || role === 'developer';

function roleOf(role: Message['role'], isLeading: boolean, { instructions }: Habits): Message['role'] {
  if (!isInstruction(role)) return role;
  switch (instructions) {
    case 'system':
      return 'system';
    case 'leading-developer':
      return isLeading ? 'developer' : role;
    case 'leading-user':
      return isLeading ? 'user' : role;
    case 'as-sent':
      return role;
    default:
      return instructions satisfies never;
  }
}

function encodeMessage(message: Message, role: Message['role'], ways: MessageWays): Message {
  const { vendor } = ways;
  const encoded: Record<string, unknown> = { ...message, role };
  if (Array.isArray(message.content)) encoded['content'] = contentOf(message.content as readonly ContentPart[], role, ways);
  for (const field of vendor.messageDrops ?? []) {
    if (!(field in encoded)) continue;
    delete encoded[field];
    ways.dropped(`messages.${field}`);
  }
  if (role === 'assistant') withAnswerFields(encoded, message, ways);
  if (vendor.nineCharacterIds === true) withNineCharacterIds(encoded, message);
  return encoded as unknown as Message;
}

function contentOf(parts: readonly ContentPart[], role: Message['role'], ways: MessageWays): string | readonly ContentPart[] {
  const { plainText, messageDrops = [] } = ways.vendor;
  const isFlattened = plainText === 'all' || (plainText === 'system' && isInstruction(role));
  if (isFlattened && parts.every((part) => part.type === 'text')) return parts.map((part) => part.text ?? '').join('\n');
  return parts.map((part) => {
    const refused = messageDrops.filter((field) => field in part);
    if (refused.length === 0) return part;
    for (const field of refused) ways.dropped(`messages.content.${field}`);
    return Object.fromEntries(Object.entries(part).filter(([field]) => !refused.includes(field))) as unknown as ContentPart;
  });
}

/** Takes off what answers have, and puts back the one field in which this vendor wants earlier reasoning. */
function withAnswerFields(encoded: Record<string, unknown>, message: Message, { habits, provider }: MessageWays): void {
  for (const field of answerFields) delete encoded[field];
  if (message['refusal'] === null) delete encoded['refusal'];
  const { replay } = habits;
  if (replay === null) return;
  if (replay.field === 'reasoning_details') {
    const own = (message.reasoning_details ?? []).filter((detail) => detail.provider === provider);
    if (own.length > 0) encoded['reasoning_details'] = own.map(asIssued);
    return;
  }
  const reasoning = message.reasoning_content ?? message.reasoning ?? replay.blank;
  if (reasoning !== undefined) encoded[replay.field] = reasoning;
}

/** safety: byte for byte as the provider sent it, or its signature fails; the issuer's name is our own addition. */
function asIssued(detail: ReasoningDetail): ReasoningDetail {
  const { provider: _, ...issued } = detail;
  return issued;
}

function withNineCharacterIds(encoded: Record<string, unknown>, message: Message): void {
  if (message.tool_calls !== undefined) encoded['tool_calls'] = message.tool_calls.map((call): ToolCall => ({ ...call, id: nineCharacters(call.id) }));
  if (message.tool_call_id !== undefined) encoded['tool_call_id'] = nineCharacters(message.tool_call_id);
}

/** wire: Mistral takes ids of nine letters or digits only. A hash keeps parallel calls apart where cutting would not. */
const nineCharacters = (id: string): string =>
  /^[a-zA-Z0-9]{9}$/.test(id) ? id : createHash('sha256').update(id).digest('base64url').replaceAll(/[-_]/g, '').slice(0, 9);
