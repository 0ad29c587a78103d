/** Decodes the errors of the Gemini API. */
import type { Target, WireError } from '../../../core/wire/dialect.ts';
import type { GatewayError } from '../../../core/errors.ts';
import { type Complaint, statusOfWords, upstreamError } from '../../../core/wire/upstream-error.ts';
import { fieldsOf, isFields, listOf, wordsOf } from '../../../core/wire/fields.ts';

/** Decodes an error reply, which has a status of its own. */
export const decodeError = (error: WireError, target: Target): GatewayError =>
  upstreamError({ ...error, complaint: readComplaint(error.body) }, target);

/** Decodes an error inside an answer that began with status 200. Its `code` or its status word says which status it would have had. */
export function decodeAnswerError(body: unknown, target: Target): GatewayError {
  const error = errorIn(body);
  const { code } = fieldsOf(error);
  const complaint = readComplaint(body);
  const status =
    typeof code === 'number' && Number.isInteger(code) && code >= 400 && code <= 599 ? code : statusOfWords(complaint.code ?? '');
  return upstreamError({ status, headers: {}, body, complaint, isInAnswer: true }, target);
}

/** True if a body or an event is an error. */
export const isError = (body: unknown): boolean => {
  const error = errorIn(body);
  return isFields(error) || wordsOf(error) !== null;
};

/** wire: the error may be inside a list, on Vertex AI and in streams without `alt=sse` (recorded traffic, as of 2026-11). */
function errorIn(body: unknown): unknown {
  const outer = Array.isArray(body) ? (body as unknown[])[0] : body;
  return isFields(outer) ? outer['error'] : undefined;
}

function readComplaint(body: unknown): Complaint {
  const error = errorIn(body);
  const { message, status, details } = isFields(error) ? error : { message: error ?? plainText(body) };
  return { message: wordsOf(message), type: null, param: null, code: keyFault(details) ?? wordsOf(status) };
}

/** The plain text of a proxy before the provider. HTML gives no message. */
const plainText = (body: unknown): string | null => (typeof body === 'string' && !body.trimStart().startsWith('<') ? body : null);

/**
 * wire: a wrong or expired key is a 400 with the status word INVALID_ARGUMENT;
 * only `reason` in the details says API_KEY_INVALID (google.rpc.ErrorInfo).
 */
function keyFault(details: unknown): string | null {
  return listOf(details).some((detail) => fieldsOf(detail)['reason'] === 'API_KEY_INVALID') ? 'API_KEY_INVALID' : null;
}
