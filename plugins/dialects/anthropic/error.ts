/** What the provider says when it refuses → the error that the caller gets. */
import type { Target, WireError } from '../../../core/wire/dialect.ts';
import type { GatewayError } from '../../../core/errors.ts';
import { type Complaint, statusOfWords, upstreamError } from '../../../core/wire/upstream-error.ts';

type Fields = Readonly<Record<string, unknown>>;

const fieldsOf = (value: unknown): Fields => (typeof value === 'object' && value !== null ? (value as Fields) : {});

const text = (value: unknown): string | null => (typeof value === 'string' && value.trim() !== '' ? value.trim() : null);

/** An error reply with its own status. */
export const decodeError = ({ status, headers, body }: WireError, target: Target): GatewayError => upstreamError({ status, headers, body, complaint: readComplaint(body) }, target);

/** An error inside an answer that began with status 200: its type says what the status would have been. */
export function decodeAnswerError(body: unknown, target: Target): GatewayError {
  const complaint = readComplaint(body);
  return upstreamError({ status: statusOfWords(complaint.type ?? ''), headers: {}, body, complaint }, target);
}

/** `{type: 'error', error: {type, message}}`; proxies in front send `error` as a string, `message` alone, or a page. */
function readComplaint(body: unknown): Complaint {
  const outer = fieldsOf(body);
  const error = fieldsOf(outer['error']);
  const page = text(body);
  return {
    message: text(error['message']) ?? text(outer['error']) ?? text(outer['message']) ?? (page?.startsWith('<') === true ? null : page),
    type: text(error['type']),
    param: text(error['param']),
    code: text(error['code']),
  };
}
