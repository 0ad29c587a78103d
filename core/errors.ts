/**
 * The table of all errors that the gateway itself makes, and the class that carries them. Callers branch on `code`; messages
 * may change. core/errors.md describes each code, and a test compares the two lists.
 */

import type { Usage } from './chat.ts';
import { framingHeaders, isHeaderName, isHeaderValue } from './names.ts';

type Row = readonly [status: number, type: string, retryable?: 'retryable'];

/** For each code: the HTTP status, the `type` of the reply, and whether the next candidate may succeed where this one failed. */
export const errorTable = {
  invalid_json: [400, 'invalid_request_error'],
  invalid_utf8: [400, 'invalid_request_error'],
  json_too_deep: [400, 'invalid_request_error'],
  invalid_request: [400, 'invalid_request_error'],
  missing_required_parameter: [400, 'invalid_request_error'],
  invalid_type: [400, 'invalid_request_error'],
  invalid_value: [400, 'invalid_request_error'],
  model_not_supported: [400, 'invalid_request_error'],
  unsupported_value: [400, 'invalid_request_error'],
  previous_response_not_found: [400, 'invalid_request_error'],
  streaming_not_supported: [400, 'invalid_request_error'],
  context_length_exceeded: [400, 'invalid_request_error'],
  bad_request: [400, 'invalid_request_error'],
  missing_api_key: [401, 'invalid_request_error'],
  invalid_api_key: [401, 'invalid_request_error'],
  budget_exceeded: [402, 'insufficient_quota'],
  model_not_allowed: [403, 'permission_error'],
  permission_denied: [403, 'permission_error'],
  host_not_allowed: [403, 'permission_error'],
  content_policy_violation: [403, 'permission_error'],
  unknown_url: [404, 'invalid_request_error'],
  model_not_found: [404, 'invalid_request_error'],
  provider_not_found: [404, 'invalid_request_error'],
  record_not_found: [404, 'invalid_request_error'],
  key_not_found: [404, 'invalid_request_error'],
  method_not_allowed: [405, 'invalid_request_error'],
  request_timeout: [408, 'invalid_request_error'],
  key_exists: [409, 'invalid_request_error'],
  key_in_config: [409, 'invalid_request_error'],
  model_deactivated: [410, 'invalid_request_error'],
  request_too_large: [413, 'invalid_request_error'],
  unsupported_media_type: [415, 'invalid_request_error'],
  too_many_attempts: [429, 'rate_limit_error'],
  rate_limit_exceeded: [429, 'rate_limit_error'],
  concurrency_limit_exceeded: [429, 'rate_limit_error'],
  headers_too_large: [431, 'invalid_request_error'],
  client_closed: [499, 'invalid_request_error'],
  plugin_error: [500, 'server_error'],
  internal_error: [500, 'server_error'],
  server_overloaded: [503, 'server_error'],
  server_shutting_down: [503, 'server_error'],
  log_unavailable: [503, 'server_error'],
  budget_unavailable: [503, 'server_error'],
  keys_unavailable: [503, 'server_error'],
  no_provider_available: [503, 'upstream_error'],
  upstream_invalid_request: [400, 'invalid_request_error'],
  upstream_auth_error: [502, 'upstream_error', 'retryable'],
  upstream_quota_exhausted: [502, 'upstream_error', 'retryable'],
  upstream_model_not_found: [502, 'upstream_error', 'retryable'],
  upstream_rate_limited: [429, 'rate_limit_error', 'retryable'],
  upstream_unreachable: [502, 'upstream_error', 'retryable'],
  upstream_invalid_response: [502, 'upstream_error', 'retryable'],
  upstream_response_too_large: [502, 'upstream_error', 'retryable'],
  upstream_event_too_large: [502, 'upstream_error', 'retryable'],
  upstream_redirect: [502, 'upstream_error', 'retryable'],
  upstream_truncated: [502, 'upstream_error', 'retryable'],
  upstream_error: [502, 'upstream_error', 'retryable'],
  upstream_unavailable: [503, 'upstream_error', 'retryable'],
  upstream_overloaded: [503, 'upstream_error', 'retryable'],
  upstream_timeout: [504, 'upstream_error', 'retryable'],
  upstream_idle_timeout: [504, 'upstream_error', 'retryable'],
} as const satisfies Record<string, Row>;

/** A code of the table. */
export type ErrorCode = keyof typeof errorTable;

/** Codes of failures of a provider: the next candidate may succeed. */
export const retryableCodes: ReadonlySet<string> = new Set(
  Object.entries(errorTable).flatMap(([code, [, , retryable]]: [string, Row]) => (retryable === undefined ? [] : [code])),
);

/** What an error may say besides its code and its message. */
export interface ErrorFacts {
  /** JSON path of the faulty parameter of the request. */
  readonly param?: string | null;
  /** How long the client should wait before another try, in milliseconds. */
  readonly retryAfterMs?: number | null;
  /** Name of the plugin that threw the error. */
  readonly plugin?: string;
  /** HTTP status of the provider's answer. */
  readonly upstreamStatus?: number | null;
  /** The original error. The process log shows it; no reply does. */
  readonly cause?: unknown;
  /** Extra reply headers, such as `allow`. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** An error that is not in the table: one that a plugin defines, or a provider's refusal of the caller's request. */
export interface ErrorKind {
  /** HTTP status of the reply. */
  readonly status: number;
  readonly type: string;
  readonly code: string;
  /** The next candidate may succeed where this one failed. */
  readonly retryable?: boolean;
  /** Another try by the client cannot succeed, although SDKs retry this status: the reply carries `x-should-retry: false`. */
  readonly isFinal?: boolean;
}

/** The `type` of an error whose plugin names none. */
const typeOf = (status: number): string =>
  status === 429 ? 'rate_limit_error' : status === 403 ? 'permission_error' : status >= 500 ? 'server_error' : 'invalid_request_error';

const isErrorStatus = (status: unknown): boolean => Number.isInteger(status) && (status as number) >= 400 && (status as number) <= 599;

/**
 * Defines an error of a plugin. The plugin lists the result in its `errors` and throws it as
 * `new GatewayError(kind, message, facts)`. Throws an `Error` where the code is not lower_snake_case or is a code of the core, or
 * where the status is not from 400 to 599.
 */
export function defineError({ type, ...kind }: Omit<ErrorKind, 'type'> & { readonly type?: string }): ErrorKind {
  if (!/^[a-z][a-z0-9_]{2,63}$/.test(kind.code)) {
    throw new Error(`The error code "${kind.code}" must be lower_snake_case, 3 to 64 characters.`);
  }
  if (Object.hasOwn(errorTable, kind.code)) {
    throw new Error(`The error code "${kind.code}" is one of the gateway's own codes; choose another code.`);
  }
  if (!isErrorStatus(kind.status)) throw new Error(`The status ${kind.status} of the error "${kind.code}" must be from 400 to 599.`);
  return { ...kind, type: type ?? typeOf(kind.status) };
}

/** Errors for which another try by the client cannot succeed, although SDKs retry their status. */
const final = new Set(['budget_exceeded', 'upstream_auth_error', 'upstream_quota_exhausted', 'upstream_model_not_found', 'plugin_error']);

/** Whether the fault is one of the gateway's code or of a plugin's: the caller gets a short message, the operator's log gets the cause. */
export const isBug = ({ code }: GatewayError): boolean => code === 'internal_error' || code === 'plugin_error';

/**
 * safety: a plugin may be JavaScript. An error of a plugin without an error status
 * would reach the caller as a success, and the request would have no record.
 */
function kindOf(code: ErrorCode | ErrorKind): Omit<ErrorKind, 'type'> & { readonly type?: string } {
  if (typeof code !== 'string') {
    if (typeof code?.code !== 'string' || !isErrorStatus(code.status)) {
      throw new TypeError('a GatewayError needs an error code of the gateway, or the result of defineError({ code, status })');
    }
    return code;
  }
  const row: Row | undefined = Object.hasOwn(errorTable, code) ? errorTable[code] : undefined;
  if (row === undefined) throw new TypeError(`the gateway has no error code "${code}"; define your own with defineError({ code, status })`);
  const [status, type, retryable] = row;
  return { code, status, type, retryable: retryable !== undefined, isFinal: final.has(code) };
}

const brand = Symbol.for('model-gateway.error');

/**
 * safety: a text of a caller that was cut may end with half of a character, and strict readers of JSON
 * refuse all of a reply that has one. A plugin may be JavaScript, and pass a value that is not a text.
 */
const wellFormed = <Text extends string | null>(text: Text): Text => (typeof text === 'string' ? (text.toWellFormed() as Text) : text);

/**
 * The headers, with names in lower case.
 * safety: a header that HTTP does not allow would leave the caller without a reply, and a plugin may make one of what a caller sent.
 */
function sendable(headers: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => {
      const lower = name.toLowerCase();
      const isSendable = isHeaderName(name) && !framingHeaders.has(lower) && typeof value === 'string' && isHeaderValue(value);
      if (!isSendable) throw new TypeError(`a GatewayError cannot have the header ${JSON.stringify(name.slice(0, 100))} with this value`);
      return [lower, value];
    }),
  );
}

/** A time to wait as a header can say it: 0 for a time that is over, null for a time that is not known. */
const waitOf = (ms: number | null): number | null => (Number.isFinite(ms) ? Math.max(0, ms as number) : null);

/** An error that a caller may see. Its message must not contain a key, an address of a provider, or a prompt. */
export class GatewayError extends Error {
  readonly [brand] = true;
  readonly code: string;
  /** HTTP status of the reply. */
  readonly status: number;
  /** The `type` in the body of the reply. */
  readonly type: string;
  /** JSON path of the faulty parameter, or null. */
  readonly param: string | null;
  /** Whether the next candidate may succeed where this one failed. */
  readonly retryable: boolean;
  /** How long the client should wait before another try, in milliseconds; null where this is not known. */
  readonly retryAfterMs: number | null;
  /** HTTP status of the provider's answer; null where no provider answered. */
  readonly upstreamStatus: number | null;
  /** Extra headers of the reply. */
  readonly headers: Readonly<Record<string, string>>;
  /**
   * The token counts that the provider bills for the answer that ends in this
   * error; null where the provider gave none, or gave them in an earlier chunk.
   */
  usage: Usage | null = null;
  /** Name of the plugin that threw the error, or null. */
  plugin: string | null;
  /** Whether the reply carries `x-should-retry: false`. */
  readonly isFinal: boolean;

  constructor(code: ErrorCode | ErrorKind, message: string, facts: ErrorFacts = {}) {
    super(wellFormed(message), facts.cause === undefined ? undefined : { cause: facts.cause });
    this.name = 'GatewayError';
    const kind = kindOf(code);
    this.code = kind.code;
    this.status = kind.status;
    this.type = kind.type ?? typeOf(kind.status);
    this.retryable = kind.retryable ?? false;
    this.isFinal = kind.isFinal ?? false;
    this.param = wellFormed(facts.param ?? null);
    this.retryAfterMs = waitOf(facts.retryAfterMs ?? null);
    this.upstreamStatus = facts.upstreamStatus ?? null;
    this.headers = facts.headers === undefined ? {} : sendable(facts.headers);
    this.plugin = facts.plugin ?? null;
  }

  /** Whether a value is a `GatewayError`, also one of another copy of this module: the package of a plugin may contain a copy. */
  static is(value: unknown): value is GatewayError {
    return typeof value === 'object' && value !== null && brand in value;
  }

  /**
   * Turns anything thrown into an error that a caller may see: a `GatewayError`
   * stays as it is, anything else becomes the cause of an `internal_error`.
   */
  static from(thrown: unknown, requestId?: string): GatewayError {
    if (GatewayError.is(thrown)) return thrown;
    const where = requestId === undefined ? '' : ` Request id ${requestId}.`;
    return new GatewayError('internal_error', `Internal error.${where}`, { cause: thrown });
  }

  /** The JSON body of the reply, the same on every route. */
  body(): { error: { message: string; type: string; param: string | null; code: string } } {
    return { error: { message: this.message, type: this.type, param: this.param, code: this.code } };
  }
}
