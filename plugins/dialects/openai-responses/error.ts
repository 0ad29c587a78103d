/** What a provider says when it refuses, in the shapes of this API and of those who took it over → the error that the caller gets. */
import type { Target, WireError } from '../../../core/wire/dialect.ts';
import type { GatewayError } from '../../../core/errors.ts';
import { type Complaint, statusOfWords, upstreamError } from '../../../core/wire/upstream-error.ts';

type Fields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);

const text = (value: unknown): string | null => (typeof value === 'string' && value.trim() !== '' ? value.trim() : null);

/** An error reply with its own status. */
export const decodeError = ({ status, headers, body }: WireError, target: Target): GatewayError => upstreamError({ status, headers, body, complaint: readComplaint(body) }, target);

/** An error in an answer that began with status 200: an event of a stream, a response that failed, a body. */
export function decodeAnswerError(body: unknown, target: Target): GatewayError {
  const complaint = readComplaint(body);
  return upstreamError({ status: statusOf(body, complaint), headers: {}, body, complaint }, target);
}

// wire: codes of `response.failed` that speak of what was sent: invalid_prompt, image_too_small, failed_to_download_image, ...
const promptWords = /^(?:invalid_|image_|empty_image|unsupported_|failed_to_download)|policy|content_filter/;

function statusOf(body: unknown, { type, code }: Complaint): number {
  const error = errorOf(body);
  for (const value of [error['status_code'], error['code'], error['status']]) {
    const status = typeof value === 'string' ? Number(value) : value;
    if (typeof status === 'number' && Number.isInteger(status) && status >= 400 && status <= 599) return status;
  }
  // a code that is a sentence is none for callers, and yet it tells what it is about
  return promptWords.test(code ?? '') ? statusOfPrompt(code) : statusOfWords(`${type ?? ''} ${code ?? text(error['code']) ?? ''}`);
}

/** The object that has the fields of an error. */
function errorOf(body: unknown): Fields {
  const outer: Fields = isFields(body) ? body : {};
  return isFields(outer['error']) ? outer['error'] : outer;
}

/** wire: `invalid_api_key` begins like the words about prompts and is none. */
const statusOfPrompt = (code: string | null): number => (/key/.test(code ?? '') ? 401 : 400);

/** This API's names of parameters → the names that the caller knows. */
const parameters: ReadonlyMap<string, string> = new Map([
  ['reasoning.effort', 'reasoning_effort'],
  ['max_output_tokens', 'max_tokens'],
  ['text.verbosity', 'verbosity'],
  ['text.format', 'response_format'],
  ['text.format.type', 'response_format.type'],
  ['text.format.name', 'response_format.json_schema.name'],
  ['text.format.schema', 'response_format.json_schema.schema'],
  ['input', 'messages'],
]);

/** `error` objects and strings, an `error` event with its fields on top, FastAPI's `detail`, plain text, HTML, nothing. */
function readComplaint(body: unknown): Complaint {
  const error = errorOf(body);
  const metadata: Fields = isFields(error['metadata']) ? error['metadata'] : {};
  const inner: Fields = isFields(error['innererror']) ? error['innererror'] : {};
  const code = codeOf(error['code']);
  const param = text(error['param']);
  const type = text(error['type']);
  return {
    message: withCause(messageOf(isFields(body) ? error : body), metadata['raw']),
    // of an event with its fields on top, `type` is the event's
    type: type === 'error' ? null : type,
    param: param === null ? null : (parameters.get(param) ?? param),
    code,
    isModerated: code === 'content_filter' || (code ?? '').includes('policy_violation') || inner['code'] === 'ResponsibleAIPolicyViolation' || Array.isArray(metadata['reasons']),
  };
}

/** wire: xAI writes a sentence where others write a code; OpenRouter a number. */
function codeOf(code: unknown): string | null {
  if (typeof code === 'number') return String(code);
  return typeof code === 'string' && /^[\w.:-]{1,64}$/.test(code) ? code : null;
}

/** wire: OpenRouter's own message says little; the provider's is in `metadata.raw`, as text or as JSON in text. */
function withCause(message: string | null, raw: unknown): string | null {
  const cause = messageOf(typeof raw === 'string' && raw.startsWith('{') ? (parsed(raw) ?? raw) : raw);
  return message !== null && cause !== null ? `${message}: ${cause}` : (message ?? cause);
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    // it only looked like JSON: the text itself will do
    return null;
  }
}

const messageFields = ['message', 'error', 'detail', 'msg'];

/** safety: no deeper than a real error goes, whatever is sent. */
function messageOf(value: unknown, depth = 0): string | null {
  if (typeof value === 'string') return /^\s*</.test(value) ? null : text(value);
  if (depth > 4) return null;
  if (Array.isArray(value)) return text((value as unknown[]).map((item) => messageOf(item, depth + 1)).filter((message) => message !== null).join('; '));
  if (!isFields(value)) return null;
  for (const field of messageFields) {
    const message = messageOf(value[field], depth + 1);
    if (message !== null) return message;
  }
  return null;
}
