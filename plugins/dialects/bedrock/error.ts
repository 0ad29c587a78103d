/** Decodes the errors of Amazon Bedrock, before an answer and inside one. */
import type { Target, WireError } from '../../../core/wire/dialect.ts';
import { GatewayError } from '../../../core/errors.ts';
import { type Complaint, sanitise, statusOfWords, upstreamError } from '../../../core/wire/upstream-error.ts';
import { type Fields, fieldsOf, isFields, wordsOf } from '../../../core/wire/fields.ts';

/** Decodes an error reply: `{message}`, with its type in the header `x-amzn-errortype`. */
export function decodeError(error: WireError, target: Target): GatewayError {
  const { status, headers, body } = error;
  const header = headers['x-amzn-errortype'];
  const complaint = readComplaint(typeof header === 'string' ? header : null, body);
  // wire: Bedrock answers 400 to a model id that does not exist, not 404 (recorded
  // traffic, as of 2026-11). The caller gets this status, and the code `model_not_found`
  if (status === 400 && /model identifier is invalid/i.test(complaint.message ?? '')) {
    return new GatewayError(
      { status, type: 'invalid_request_error', code: 'model_not_found' },
      sanitise(complaint.message ?? '', target.provider),
      { upstreamStatus: status },
    );
  }
  return upstreamError({ ...error, complaint }, target);
}

/** Decodes an exception inside a stream that began with status 200. */
export function decodeException(type: string, body: unknown, target: Target): GatewayError {
  const complaint = readComplaint(type, body);
  const original = fieldsOf(body)['originalStatusCode'];
  const status = typeof original === 'number' && retryWords.has(original) ? original : statusOfWords(type);
  return upstreamError({ status, headers: {}, body, complaint, isInAnswer: true }, target);
}

/**
 * wire: `modelStreamErrorException` has the status of the model (Amazon Bedrock:
 * ModelStreamErrorException). Only these statuses say more than that the model failed.
 */
const retryWords = new Set([429, 503, 529]);

/** The error for a reply with status 200 that has no output. */
export function noOutput(body: unknown, target: Target): GatewayError {
  const { message } = readComplaint(null, body);
  return new GatewayError(
    'upstream_invalid_response',
    sanitise(`The provider answered without an output${message === null ? '.' : `: ${message}`}`, target.provider),
  );
}

/**
 * Faults of the operator that come with status 400, and the code by which `core/wire/upstream-error.ts` knows each.
 * wire: Amazon Bedrock: Troubleshooting API error codes; AWS: Common errors.
 */
const operatorsFault: readonly (readonly [RegExp, string])[] = [
  [/ServiceQuotaExceeded/i, 'insufficient_quota'],
  [/UnrecognizedClient|ExpiredToken|IncompleteSignature|InvalidSignature|MissingAuthenticationToken/i, 'invalid_api_key'],
];
/**
 * The whole begin of the message.
 * wire: langchain-ai/langchain-aws#1019 (2026-04), aws-samples/bedrock-chat#508 (2024-08)
 */
const wantsProfile =
  /^(?:Invocation of model ID \S+ with on-demand throughput isn.t supported|The provided model doesn.t support on-demand)/i;

/**
 * safety: a message may repeat words of a caller, who could make the key or the target rest for all callers. Where the error has a name,
 * only the name says that the key is at fault, and only the begin of the message says that the model is.
 */
function faultOf(name: string | null, message: string | null): string | undefined {
  const found = operatorsFault.find(([pattern]) => pattern.test(name ?? message ?? ''))?.[1];
  return found ?? (wantsProfile.test(message ?? '') ? 'model_not_found' : undefined);
}

function readComplaint(type: string | null, body: unknown): Complaint {
  const outer = fieldsOf(body);
  const message = wordsOf(outer['message']) ?? wordsOf(outer['Message']) ?? wordsOf(outer['originalMessage']) ?? plainText(body);
  const name = nameOf(type ?? wordsOf(outer['__type']) ?? typeInside(outer));
  const inner = message === null ? null : innerComplaint(message);
  return { message: message ?? name, type: null, param: inner?.param ?? null, code: faultOf(name, message) ?? inner?.code ?? name };
}

/**
 * The plain name of a type.
 * wire: the header has `ValidationException:http://internal.amazon.com/...`, a body
 * `com.amazon.coral.service#UnknownOperationException` (Smithy: AWS restJson1, Operation error serialization).
 */
function nameOf(type: string | null): string | null {
  const name = type?.split(':')[0]?.split('#').at(-1) ?? '';
  return /^\w{1,64}$/.test(name) ? name : null;
}

const typeInside = ({ Output: output }: Fields): string | null => wordsOf(fieldsOf(output)['__type']);

const plainText = (body: unknown): string | null =>
  typeof body === 'string' && body.trim() !== '' && !/^\s*</.test(body) ? body.trim() : null;

/**
 * wire: OpenAI's models on Bedrock put their error into the message: `The model
 * returned the following errors: {"error":{...}}` (recorded traffic, as of 2026-11).
 */
function innerComplaint(message: string): { readonly param: string | null; readonly code: string | null } | null {
  const start = message.indexOf('{"error"');
  if (start < 0) return null;
  try {
    const { error } = JSON.parse(message.slice(start)) as { error?: unknown };
    return isFields(error) ? { param: wordsOf(error['param']), code: wordsOf(error['code']) } : null;
  } catch {
    // the message has no JSON of this form
    return null;
  }
}
