/** What a provider says when it refuses, in any of the shapes in use → the error that the caller gets. */
import type { Provider } from '../../../core/config.ts';
import type { Target, WireError } from '../../../core/dialect.ts';
import { type ErrorCode, GatewayError } from '../../../core/errors.ts';
import { type ReplyHeaders, retryAfterMs } from '../../../core/retry-after.ts';
import { Secret } from '../../../core/secret.ts';

type Fields = Readonly<Record<string, unknown>>;

/** An error body, read. */
interface Complaint {
  readonly message: string | null;
  readonly type: string | null;
  readonly param: string | null;
  readonly code: string | null;
  /** A status that the body names. */
  readonly status: number | null;
  /** Refused for what it is about. */
  readonly isModerated: boolean;
}

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);

const text = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);

/** An error reply with its own status. */
export function decodeError({ status, headers, body }: WireError, target: Target): GatewayError {
  return errorOf({ status, manner: `answered ${status}`, headers, body, complaint: readComplaint(body) }, target);
}

/** An error inside an answer that began with status 200: its body, or else its words, say what the status would have been. */
export function decodeAnswerError(body: unknown, target: Target): GatewayError {
  const complaint = readComplaint(body);
  const words = `${complaint.type ?? ''} ${complaint.code ?? ''}`;
  const status = complaint.status ?? statusWords.find(([pattern]) => pattern.test(words))?.[1] ?? 500;
  return errorOf({ status, manner: 'reported an error in its answer', headers: {}, body, complaint }, target);
}

const statusWords: readonly (readonly [RegExp, number])[] = [
  [/quota|billing/i, 402],
  [/rate.?limit|too.?many/i, 429],
  [/overloaded/i, 529],
  [/unavailable|capacity/i, 503],
  [/auth|api.?key|permission/i, 401],
  [/not.?found/i, 404],
  [/timeout/i, 408],
  [/invalid.?request|unsupported|context.?length|content.?filter|tool.?use.?failed/i, 400],
];

interface Refusal {
  readonly status: number;
  /** How the provider refused, for messages. */
  readonly manner: string;
  readonly headers: ReplyHeaders;
  readonly body: unknown;
  readonly complaint: Complaint;
}

const callersFault = new Set([400, 413, 422]);

function errorOf(refusal: Refusal, target: Target): GatewayError {
  const { status, complaint } = refusal;
  const code = codeOf(refusal);
  if (code === null) return passedThrough(refusal, target);
  const facts = { upstreamStatus: status, retryAfterMs: retryAfterMs(refusal.headers, refusal.body) };
  // safety: an authentication error quotes the key that was wrong.
  if (code === 'upstream_auth_error') return new GatewayError(code, "The provider rejected the gateway's credentials.", facts);
  const said = complaint.message === null ? '.' : `: ${complaint.message}`;
  return new GatewayError(code, sanitise(`Provider \`${target.provider.id}\` ${refusal.manner}${said}`, target), facts);
}

const quotaWords = /insufficient.?(?:quota|balance|credit|fund)|exceeded.current.quota|billing|credit balance/i;
const keyWords = /(?:incorrect|invalid).api.?key/i;

/** The gateway's own code; null: the caller's fault, to be passed on. */
function codeOf({ status, complaint }: Refusal): ErrorCode | null {
  const { message, type, code, isModerated } = complaint;
  const words = `${type ?? ''} ${code ?? ''}`;
  // wire: quota is a 429 at OpenAI and Moonshot, a 402 at DeepSeek; asking again helps with none of them.
  if (status === 402 || (status < 500 && quotaWords.test(`${words} ${status === 400 ? (message ?? '') : ''}`))) return 'upstream_quota_exhausted';
  if (callersFault.has(status)) {
    if (code === 'model_not_found') return 'upstream_model_not_found';
    // wire: xAI answers 400 to a wrong key.
    return keyWords.test(`${words} ${message ?? ''}`) ? 'upstream_auth_error' : null;
  }
  if (status === 403 && isModerated) return null;
  return statusCodes[status] ?? 'upstream_error';
}

const statusCodes: Readonly<Record<number, ErrorCode>> = {
  401: 'upstream_auth_error',
  403: 'upstream_auth_error',
  404: 'upstream_model_not_found',
  408: 'upstream_timeout',
  429: 'upstream_rate_limited',
  503: 'upstream_unavailable',
  529: 'upstream_overloaded',
};

function passedThrough({ status, manner, complaint }: Refusal, target: Target): GatewayError {
  const { message, type, param, code, isModerated } = complaint;
  const clean = (words: string): string => sanitise(words, target);
  const passed = {
    status: isModerated && status === 403 ? 400 : status,
    type: clean(type ?? 'invalid_request_error'),
    code: isModerated ? 'content_filter' : clean(meaning(complaint) ?? code ?? 'upstream_invalid_request'),
  };
  const said = clean(message ?? `Provider \`${target.provider.id}\` ${manner}.`);
  return new GatewayError(passed, said, { param: param === null ? null : clean(param), upstreamStatus: status });
}

const effortWords = /reasoning[_ .]?effort|effort level|thinking[_ ]?level/i;
const refusalWords = /not support|unsupported|not allowed|invalid|must be|should be|one of|expected/i;
// wire: each vendor has its own words for it, and most have no code.
const lengthWords =
  /maximum context length|context window|context limit|prompt is too long|reduce the length of the messages|too large for model with \d+ maximum|current length is \d+ while limit is|max_new_tokens.{0,20}must be|maximum number of tokens allowed/i;

/** A code that callers branch on, where the provider says the same in other words. */
function meaning({ message, param, code }: Complaint): string | null {
  if (code === 'unsupported_value' || code === 'unsupported_parameter' || code === 'context_length_exceeded') return code;
  const said = `${param ?? ''} ${message ?? ''}`;
  if (effortWords.test(said) && refusalWords.test(said)) return 'unsupported_value';
  return lengthWords.test(said) && code !== 'string_above_max_length' ? 'context_length_exceeded' : null;
}

/** `error` objects and strings, FastAPI's `detail`, Mistral's nested message, Fireworks' `fault`, plain text, HTML, nothing. */
function readComplaint(body: unknown): Complaint {
  const whole = Array.isArray(body) && isFields((body as unknown[])[0]) && 'error' in ((body as Fields[])[0] as Fields) ? (body as unknown[])[0] : body;
  const outer: Fields = isFields(whole) ? whole : {};
  const error = isFields(outer['error']) ? outer['error'] : isFields(outer['fault']) ? outer['fault'] : outer;
  const metadata: Fields = isFields(error['metadata']) ? error['metadata'] : {};
  const inner = parsed(metadata['raw']);
  const cause = inner === null ? null : readComplaint(inner);
  const causeText = cause?.message ?? (inner === null ? text(metadata['raw']) : null);
  const own = messageOf(error === outer ? whole : error);
  const code = codeText(error['code']);
  return {
    message: own !== null && causeText !== null ? `${own}: ${causeText}` : (own ?? causeText),
    type: text(error['type']) ?? cause?.type ?? null,
    param: text(error['param']) ?? cause?.param ?? locationOf(outer['detail']),
    // wire: OpenRouter's own code repeats the status; the provider's is inside metadata.raw.
    code: (typeof error['code'] === 'number' ? cause?.code : null) ?? code ?? cause?.code ?? null,
    status: statusOf(error['status_code']) ?? statusOf(error['code']) ?? statusOf(error['status']),
    isModerated: Array.isArray(metadata['reasons']) || metadata['flagged_input'] !== undefined,
  };
}

/** wire: xAI writes a sentence where others write a code. */
function codeText(code: unknown): string | null {
  if (typeof code === 'number') return String(code);
  return typeof code === 'string' && /^[\w.:-]{1,64}$/.test(code) ? code : null;
}

const statusOf = (value: unknown): number | null => {
  const status = typeof value === 'string' && /^\d{3}$/.test(value) ? Number(value) : value;
  return typeof status === 'number' && Number.isInteger(status) && status >= 400 && status <= 599 ? status : null;
};

function parsed(raw: unknown): Fields | null {
  if (isFields(raw)) return raw;
  if (typeof raw !== 'string' || !raw.startsWith('{')) return null;
  try {
    const value: unknown = JSON.parse(raw);
    return isFields(value) ? value : null;
  } catch {
    return null;
  }
}

const messageFields = ['message', 'Message', 'msg', 'detail', 'error', 'faultstring', 'description'];

function messageOf(value: unknown): string | null {
  if (typeof value === 'string') return value.trim() === '' || /^\s*</.test(value) ? null : value.trim();
  if (Array.isArray(value)) return text((value as unknown[]).map(messageOf).filter((message) => message !== null).join('; '));
  if (!isFields(value)) return null;
  for (const field of messageFields) {
    const message = messageOf(value[field]);
    if (message === null) continue;
    const where = field === 'msg' ? pathOf(value['loc']) : null;
    return where === null ? message : `${where}: ${message}`;
  }
  return null;
}

/** wire: FastAPI's `loc` begins with where it looked: `["body", "temperature"]`. */
function pathOf(location: unknown): string | null {
  if (!Array.isArray(location)) return null;
  return text((location as unknown[]).filter((part, at) => !(at === 0 && part === 'body')).join('.'));
}

const locationOf = (detail: unknown): string | null => (Array.isArray(detail) && isFields((detail as unknown[])[0]) ? pathOf(((detail as Fields[])[0] as Fields)['loc']) : null);

const longestMessage = 2048;

/** safety: a provider's words may quote what it was sent. No credential of ours leaves in them, nor a page of text. */
function sanitise(message: string, { provider }: Target): string {
  let clean = message;
  for (const secret of secretsOf(provider)) if (secret.length >= 4) clean = clean.replaceAll(secret, '[redacted]');
  clean = clean.replaceAll(/\b(?:sk|gsk|xai)-[\w*-]{12,}/g, '[redacted]');
  if (Buffer.byteLength(clean) <= longestMessage) return clean;
  return `${new TextDecoder().decode(Buffer.from(clean).subarray(0, longestMessage - 8), { stream: true })}…`;
}

function secretsOf({ apiKey, settings, headers }: Provider): string[] {
  const wrapped = [apiKey, ...Object.values(settings)].flatMap((value) => (value instanceof Secret ? [value.reveal()] : []));
  const sent = Object.entries(headers).flatMap(([name, value]) => (/auth|key|token|secret/i.test(name) ? [value.replace(/^bearer /i, '')] : []));
  return [...wrapped, ...sent];
}
