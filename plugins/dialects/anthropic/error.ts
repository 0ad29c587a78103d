/** Decodes the errors of the Messages API. */
import type { Target, WireError } from '../../../core/wire/dialect.ts';
import type { GatewayError } from '../../../core/errors.ts';
import { codeIn, type Complaint, statusOfWords, upstreamError } from '../../../core/wire/upstream-error.ts';
import { fieldsOf, wordsOf } from '../../../core/wire/fields.ts';

/** Decodes an error reply, which has a status of its own. */
export const decodeError = (error: WireError, target: Target): GatewayError =>
  upstreamError({ ...error, complaint: readComplaint(error.body) }, target);

/**
 * Decodes an error inside an answer that began with status 200. The error's
 * type says which status it would have had (wire: Anthropic: Errors).
 */
export function decodeAnswerError(body: unknown, target: Target): GatewayError {
  const complaint = readComplaint(body);
  return upstreamError({ status: statusOfWords(complaint.type ?? ''), headers: {}, body, complaint, isInAnswer: true }, target);
}

/**
 * Reads `{type: 'error', error: {type, message}}`. Proxies before the provider send `error` as a string, only a `message`, or an HTML page.
 */
function readComplaint(body: unknown): Complaint {
  const outer = fieldsOf(body);
  const error = fieldsOf(outer['error']);
  const page = wordsOf(body);
  return {
    message:
      wordsOf(error['message']) ?? wordsOf(outer['error']) ?? wordsOf(outer['message']) ?? (page?.startsWith('<') === true ? null : page),
    type: wordsOf(error['type']),
    param: wordsOf(error['param']),
    // wire: the exact reason, where there is one (anthropic-sdk-typescript 1.14, APIError)
    code: wordsOf(error['code']) ?? codeIn(fieldsOf(error['details'])['error_code']),
  };
}
