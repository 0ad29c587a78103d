/** Decodes the errors of chat servers, in all the shapes that they use. `core/wire/upstream-error.ts` decides what an error means. */
import type { Target, WireError } from '../../../core/wire/dialect.ts';
import type { GatewayError } from '../../../core/errors.ts';
import { codeIn, type Complaint, statusOfWords, upstreamError } from '../../../core/wire/upstream-error.ts';
import { type Fields, fieldsOf, isFields, listOf, textOf } from '../../../core/wire/fields.ts';
import { fieldsIn } from '../../../core/wire/json.ts';
import type { Vendor } from './habits.ts';

/** What an error body says, and the status that it names, if it names one. */
interface StatedComplaint extends Complaint {
  readonly status: number | null;
}

/** Decodes an error reply, which has a status of its own. */
export function decodeError(error: WireError, target: Target, { limitCode }: Pick<Vendor, 'limitCode'> = {}): GatewayError {
  const said = readComplaint(error.body);
  const complaint = error.status === 429 && limitCode !== undefined && said.code === limitCode ? { ...said, type: null, code: null } : said;
  return upstreamError({ ...error, complaint }, target);
}

/** Whether an answer is an error, which some servers send with status 200. */
export const isError = (value: Fields): boolean =>
  Boolean(value['error']) || value['object'] === 'error' || (codeOfMinimax(value) !== null && listOf(value['choices']).length === 0);

/**
 * wire: MiniMax may give a failure with status 200, without choices, and a code of its own in
 * `base_resp`, which is 0 in a good answer (MiniMax: Error codes; CherryHQ/cherry-studio#11287, 2026-09).
 */
function codeOfMinimax(value: Fields): number | null {
  const code = fieldsOf(value['base_resp'])['status_code'];
  return typeof code === 'number' && code !== 0 ? code : null;
}

/** The statuses for the codes of MiniMax; for all others 500. */
const minimaxStatuses: ReadonlyMap<number, number> = new Map([
  [1001, 408],
  [1002, 429],
  [1004, 401],
  [1008, 402],
  [1026, 400],
  [1027, 400],
  [1039, 429],
  [1041, 429],
  [1042, 400],
  [2013, 400],
  [2045, 429],
  [2049, 401],
  [2056, 429],
]);

const minimaxComplaint = (code: number, body: Fields): StatedComplaint => ({
  message: textOf(fieldsOf(body['base_resp'])['status_msg']),
  type: null,
  param: null,
  code: String(code),
  status: minimaxStatuses.get(code) ?? 500,
  isModerated: code === 1026 || code === 1027,
});

/**
 * Decodes an error inside an answer that began with status 200. The status that it
 * would have had comes from a number in its body, or else from its type and code.
 */
export function decodeAnswerError(body: unknown, target: Target): GatewayError {
  const complaint = readComplaint(body);
  const status = complaint.status ?? statusOfWords(`${complaint.type ?? ''} ${complaint.code ?? ''}`);
  return upstreamError({ status, headers: {}, body, complaint, isInAnswer: true }, target);
}

/** safety: an error body may be nested without end, and a recursion as deep would overflow the stack. */
const deepest = 4;

/**
 * Reads an `error` object or string, `detail` of FastAPI, the nested message
 * of Mistral, `fault` of Fireworks, or plain text. HTML gives no message.
 */
function readComplaint(body: unknown, depth = 0): StatedComplaint {
  const first = fieldsOf(listOf(body)[0]);
  const whole = 'error' in first ? first : body;
  const outer = fieldsOf(whole);
  const minimaxCode = codeOfMinimax(outer);
  if (minimaxCode !== null && !outer['error']) return minimaxComplaint(minimaxCode, outer);
  const error = [outer['error'], outer['fault']].find(isFields) ?? outer;
  const metadata = fieldsOf(error['metadata']);
  const inner = depth < deepest ? parsed(metadata['raw']) : null;
  const cause = inner === null ? null : readComplaint(inner, depth + 1);
  const causeText = cause?.message ?? (inner === null ? textOf(metadata['raw']) : null);
  const own = messageOf(error === outer ? whole : error);
  const code = codeIn(error['code']);
  return {
    message: own !== null && causeText !== null ? `${own}: ${causeText}` : (own ?? causeText),
    type: textOf(error['type']) ?? cause?.type ?? null,
    param: textOf(error['param']) ?? cause?.param ?? locationOf(outer['detail']),
    // wire: `code` of OpenRouter is the HTTP status as a number; the code
    // of the provider behind it is in `metadata.raw` (OpenRouter: Errors)
    code: (typeof error['code'] === 'number' ? cause?.code : null) ?? code ?? cause?.code ?? null,
    status: statusOf(error['status_code']) ?? statusOf(error['code']) ?? statusOf(error['status']),
    isModerated: Array.isArray(metadata['reasons']) || metadata['flagged_input'] !== undefined,
  };
}

const statusOf = (value: unknown): number | null => {
  const status = typeof value === 'string' && /^\d{3}$/.test(value) ? Number(value) : value;
  return typeof status === 'number' && Number.isInteger(status) && status >= 400 && status <= 599 ? status : null;
};

function parsed(raw: unknown): Fields | null {
  if (isFields(raw)) return raw;
  return typeof raw === 'string' && raw.startsWith('{') ? fieldsIn(raw) : null;
}

// wire: `errors` is a list (Cloudflare: Workers AI, Errors; anomalyco/opencode#23773, 2026-04)
const messageFields = ['message', 'Message', 'msg', 'detail', 'error', 'errors', 'faultstring', 'description'];

function messageOf(value: unknown, depth = 0): string | null {
  if (depth > deepest) return null;
  // wire: messages of DashScope begin with the status, as in "<400>
  // InternalError.Algo.InvalidParameter: ..." (QwenLM/Qwen-Agent#941, 2026-08)
  if (typeof value === 'string') return value.trim() === '' || /^\s*<(?!\d+>)/.test(value) ? null : value.trim();
  if (Array.isArray(value)) {
    return textOf(
      (value as unknown[])
        .map((part) => messageOf(part, depth + 1))
        .filter((message) => message !== null)
        .join('; '),
    );
  }
  if (!isFields(value)) return null;
  for (const field of messageFields) {
    const message = messageOf(value[field], depth + 1);
    if (message === null) continue;
    const where = field === 'msg' ? pathOf(value['loc']) : null;
    return where === null ? message : `${where}: ${message}`;
  }
  return null;
}

/**
 * The path of a parameter.
 * wire: `loc` of FastAPI begins with the part of the request: `["body", "temperature"]` (FastAPI: Handling errors).
 */
function pathOf(location: unknown): string | null {
  if (!Array.isArray(location)) return null;
  return textOf((location as unknown[]).filter((part, at) => !(at === 0 && part === 'body')).join('.'));
}

const locationOf = (detail: unknown): string | null => pathOf(fieldsOf(listOf(detail)[0])['loc']);
