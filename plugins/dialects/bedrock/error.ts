/** What Bedrock says when it refuses, before an answer or inside one → the error that the caller gets. */
import type { Target, WireError } from '../../../core/wire/dialect.ts';
import { GatewayError } from '../../../core/errors.ts';
import { type Complaint, sanitise, statusOfWords, upstreamError } from '../../../core/wire/upstream-error.ts';

type Fields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);

const text = (value: unknown): string | null => (typeof value === 'string' && value.trim() !== '' ? value : null);

/** An error reply: `{message}`, its type in a header. */
export function decodeError({ status, headers, body }: WireError, target: Target): GatewayError {
  const header = headers['x-amzn-errortype'];
  const complaint = readComplaint(typeof header === 'string' ? header : null, body);
  // wire: the reply to an id that does not exist. It keeps its status, as every 400 here does, under the code that says what it is
  if (status === 400 && /model identifier is invalid/i.test(complaint.message ?? '')) {
    return new GatewayError({ status, type: 'invalid_request_error', code: 'model_not_found' }, sanitise(complaint.message ?? '', target.provider), { upstreamStatus: status });
  }
  return upstreamError({ status, headers, body, complaint }, target);
}

/** An exception inside a stream that began with status 200. */
export function decodeException(type: string, body: unknown, target: Target): GatewayError {
  const complaint = readComplaint(type, body);
  const original = isFields(body) ? body['originalStatusCode'] : null;
  const status = typeof original === 'number' && retryWords.has(original) ? original : statusOfWords(type);
  return upstreamError({ status, headers: {}, body, complaint, isInAnswer: true }, target);
}

/** wire: `modelStreamErrorException` tells what the model itself answered; only these say more than that it failed. */
const retryWords = new Set([429, 503, 529]);

/** An answer with status 200 in which there is none. */
export function noOutput(body: unknown, target: Target): GatewayError {
  const { message } = readComplaint(null, body);
  return new GatewayError('upstream_invalid_response', sanitise(`The provider answered without an output${message === null ? '.' : `: ${message}`}`, target.provider));
}

/**
 * wire: faults that come with status 400 although the caller has no part in them, and the words by which the core knows them.
 */
const operatorsFault: readonly (readonly [RegExp, string])[] = [
  [/ServiceQuotaExceeded/i, 'insufficient_quota'],
  [/UnrecognizedClient|ExpiredToken|IncompleteSignature|InvalidSignature|MissingAuthenticationToken/i, 'invalid_api_key'],
  [/on-demand throughput isn.t supported|inference profile/i, 'model_not_found'],
];

function readComplaint(type: string | null, body: unknown): Complaint {
  const outer: Fields = isFields(body) ? body : {};
  const message = text(outer['message']) ?? text(outer['Message']) ?? text(outer['originalMessage']) ?? plainText(body);
  const name = nameOf(type ?? text(outer['__type']) ?? typeInside(outer));
  const inner = message === null ? null : innerComplaint(message);
  const fault = operatorsFault.find(([pattern]) => pattern.test(`${name ?? ''} ${message ?? ''}`))?.[1];
  return { message: message ?? name, type: null, param: inner?.param ?? null, code: fault ?? inner?.code ?? name };
}

/** wire: `ValidationException:http://internal.amazon.com/...` in the header, `com.amazon.coral.service#UnknownOperationException` in a body. */
function nameOf(type: string | null): string | null {
  const name = type?.split(':')[0]?.split('#').at(-1) ?? '';
  return /^\w{1,64}$/.test(name) ? name : null;
}

const typeInside = ({ Output: output }: Fields): string | null => (isFields(output) ? text(output['__type']) : null);

const plainText = (body: unknown): string | null => (typeof body === 'string' && body.trim() !== '' && !/^\s*</.test(body) ? body.trim() : null);

/** wire: OpenAI's models here answer inside the message: `The model returned the following errors: {"error":{...}}`. */
function innerComplaint(message: string): { readonly param: string | null; readonly code: string | null } | null {
  const start = message.indexOf('{"error"');
  if (start < 0) return null;
  try {
    const { error } = JSON.parse(message.slice(start)) as { error?: unknown };
    return isFields(error) ? { param: text(error['param']), code: text(error['code']) } : null;
  } catch {
    // a message that only looks like it
    return null;
  }
}
