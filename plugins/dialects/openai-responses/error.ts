/** Decodes the errors of the Responses API, in the shapes of OpenAI and of the other servers that speak it. */
import type { Target, WireError } from '../../../core/wire/dialect.ts';
import type { GatewayError } from '../../../core/errors.ts';
import { codeIn, type Complaint, statusOfWords, upstreamError } from '../../../core/wire/upstream-error.ts';
import { type Fields, fieldsOf, isFields, wordsOf } from '../../../core/wire/fields.ts';

/** Decodes an error reply, which has a status of its own. */
export const decodeError = (error: WireError, target: Target): GatewayError =>
  upstreamError({ ...error, complaint: readComplaint(error.body) }, target);

/** Decodes an error in an answer that began with status 200: an `error` event, a failed response, or a body. */
export function decodeAnswerError(body: unknown, target: Target): GatewayError {
  const complaint = readComplaint(body);
  return upstreamError({ status: statusOf(body, complaint), headers: {}, body, complaint, isInAnswer: true }, target);
}

// wire: codes of `response.failed` that blame the request: invalid_prompt,
// image_too_small, failed_to_download_image, ... (OpenAI: Responses, `error.code`)
const promptWords = /^(?:invalid_|image_|empty_image|unsupported_|failed_to_download)|policy|content_filter/;

function statusOf(body: unknown, { type, code }: Complaint): number {
  const error = errorOf(body);
  for (const value of [error['status_code'], error['code'], error['status']]) {
    const status = typeof value === 'string' ? Number(value) : value;
    if (typeof status === 'number' && Number.isInteger(status) && status >= 400 && status <= 599) return status;
  }
  // a code that is a sentence is not given to callers, but its words say which kind of error it is
  return promptWords.test(code ?? '') ? statusOfPrompt(code) : statusOfWords(`${type ?? ''} ${code ?? wordsOf(error['code']) ?? ''}`);
}

/** The object with the fields of the error: `error`, or the body itself. */
function errorOf(body: unknown): Fields {
  const outer = fieldsOf(body);
  return isFields(outer['error']) ? outer['error'] : outer;
}

/** The status of a code that `promptWords` matches. `invalid_api_key` matches too, but does not blame the request. */
const statusOfPrompt = (code: string | null): number => (/key/.test(code ?? '') ? 401 : 400);

/** The names of parameters in this API, and the names that a caller of chat completions knows. */
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

/**
 * Reads an `error` object or string, an `error` event with its fields at
 * the top, `detail` of FastAPI, or plain text. HTML gives no message.
 */
function readComplaint(body: unknown): Complaint {
  const error = errorOf(body);
  const metadata = fieldsOf(error['metadata']);
  const inner = fieldsOf(error['innererror']);
  const code = codeIn(error['code']);
  const param = wordsOf(error['param']);
  const type = wordsOf(error['type']);
  return {
    message: withCause(messageOf(isFields(body) ? error : body), metadata['raw']),
    // in an event with its fields at the top, `type` is the type of the event
    type: type === 'error' ? null : type,
    param: param === null ? null : (parameters.get(param) ?? param),
    code,
    isModerated:
      code === 'content_filter' ||
      (code ?? '').includes('policy_violation') ||
      inner['code'] === 'ResponsibleAIPolicyViolation' ||
      Array.isArray(metadata['reasons']),
  };
}

/** wire: the message of the provider behind OpenRouter is in `metadata.raw`, as text or as JSON in a text (OpenRouter: Errors). */
function withCause(message: string | null, raw: unknown): string | null {
  const cause = messageOf(typeof raw === 'string' && raw.startsWith('{') ? (parsed(raw) ?? raw) : raw);
  return message !== null && cause !== null ? `${message}: ${cause}` : (message ?? cause);
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    // the text is not JSON, so it is the message itself
    return null;
  }
}

const messageFields = ['message', 'error', 'detail', 'msg'];

/** The message in a value. safety: the depth is limited, because a recursion without a limit could overflow the stack. */
function messageOf(value: unknown, depth = 0): string | null {
  if (typeof value === 'string') return /^\s*</.test(value) ? null : wordsOf(value);
  if (depth > 4) return null;
  if (Array.isArray(value)) {
    return wordsOf(
      (value as unknown[])
        .map((item) => messageOf(item, depth + 1))
        .filter((message) => message !== null)
        .join('; '),
    );
  }
  if (!isFields(value)) return null;
  for (const field of messageFields) {
    const message = messageOf(value[field], depth + 1);
    if (message !== null) return message;
  }
  return null;
}
