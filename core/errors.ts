/**
 * Every error a caller can meet, in one table: code, HTTP status, type, and whether the next candidate may be tried.
 * Callers branch on `code`; messages may change. `docs` beside: core/errors.md (a test holds the two together).
 */

type Row = readonly [status: number, type: string, retryable?: 'retryable'];

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
  streaming_not_supported: [400, 'invalid_request_error'],
  context_length_exceeded: [400, 'invalid_request_error'],
  bad_request: [400, 'invalid_request_error'],
  missing_api_key: [401, 'invalid_request_error'],
  invalid_api_key: [401, 'invalid_request_error'],
  model_not_allowed: [403, 'permission_error'],
  permission_denied: [403, 'permission_error'],
  content_policy_violation: [403, 'permission_error'],
  unknown_url: [404, 'invalid_request_error'],
  model_not_found: [404, 'invalid_request_error'],
  provider_not_found: [404, 'invalid_request_error'],
  record_not_found: [404, 'invalid_request_error'],
  method_not_allowed: [405, 'invalid_request_error'],
  request_timeout: [408, 'invalid_request_error'],
  model_deactivated: [410, 'invalid_request_error'],
  request_too_large: [413, 'invalid_request_error'],
  unsupported_media_type: [415, 'invalid_request_error'],
  headers_too_large: [431, 'invalid_request_error'],
  client_closed: [499, 'invalid_request_error'],
  plugin_error: [500, 'server_error'],
  internal_error: [500, 'server_error'],
  server_shutting_down: [503, 'server_error'],
  log_unavailable: [503, 'server_error'],
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

export type ErrorCode = keyof typeof errorTable;

export interface ErrorFacts {
  /** JSON path of the offending parameter. */
  readonly param?: string | null;
  /** Earliest moment for another try, in milliseconds from now. */
  readonly retryAfterMs?: number | null;
  /** The plugin that threw. */
  readonly plugin?: string;
  /** HTTP status that the provider answered with. */
  readonly upstreamStatus?: number | null;
  readonly cause?: unknown;
  /** Extra reply headers, such as `allow`. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** An error that is not in the table: a plugin's own, or what a provider said of a caller's own fault. */
export interface ErrorKind {
  /** HTTP status of the reply. */
  readonly status: number;
  readonly type: string;
  readonly code: string;
  /** The next candidate may succeed where this one failed. */
  readonly retryable?: boolean;
  /** Another try by the client cannot help, although the status invites one: the reply carries `x-should-retry: false`. */
  readonly isFinal?: boolean;
}

/** The type that goes with a status where a plugin does not name one. */
const typeOf = (status: number): string => (status === 429 ? 'rate_limit_error' : status === 403 ? 'permission_error' : status >= 500 ? 'server_error' : 'invalid_request_error');

/**
 * An error code of a plugin's own, to be listed in the plugin's `errors` and thrown as `new GatewayError(kind, message, facts)`.
 * Throws where the code is not lower_snake_case, is a code of the core, or the status is no error status.
 */
export function defineError({ type, ...kind }: Omit<ErrorKind, 'type'> & { readonly type?: string }): ErrorKind {
  if (!/^[a-z][a-z0-9_]{2,63}$/.test(kind.code)) throw new Error(`The error code "${kind.code}" must be lower_snake_case, 3 to 64 characters.`);
  if (Object.hasOwn(errorTable, kind.code)) throw new Error(`The error code "${kind.code}" is one of the gateway's own; choose another.`);
  if (!Number.isInteger(kind.status) || kind.status < 400 || kind.status > 599) throw new Error(`The status ${kind.status} of the error "${kind.code}" must be from 400 to 599.`);
  return { ...kind, type: type ?? typeOf(kind.status) };
}

/** Faults that another try by the client cannot mend although their status invites one. */
const final = new Set(['upstream_auth_error', 'upstream_quota_exhausted', 'upstream_model_not_found', 'plugin_error']);

const brand = Symbol.for('model-gateway.error');

export class GatewayError extends Error {
  readonly [brand] = true;
  readonly code: string;
  readonly status: number;
  readonly type: string;
  readonly param: string | null;
  /** The next candidate may succeed where this one failed. */
  readonly retryable: boolean;
  readonly retryAfterMs: number | null;
  readonly upstreamStatus: number | null;
  readonly headers: Readonly<Record<string, string>>;
  plugin: string | null;
  readonly #isFinal: boolean;

  constructor(code: ErrorCode | ErrorKind, message: string, facts: ErrorFacts = {}) {
    super(message, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.name = 'GatewayError';
    if (typeof code === 'string') {
      const [status, type, retryable] = errorTable[code] as Row;
      this.code = code;
      this.status = status;
      this.type = type;
      this.retryable = retryable !== undefined;
      this.#isFinal = final.has(code);
    } else {
      this.code = code.code;
      this.status = code.status;
      this.type = code.type;
      this.retryable = code.retryable ?? false;
      this.#isFinal = code.isFinal ?? false;
    }
    this.param = facts.param ?? null;
    this.retryAfterMs = facts.retryAfterMs ?? null;
    this.upstreamStatus = facts.upstreamStatus ?? null;
    this.headers = facts.headers ?? {};
    this.plugin = facts.plugin ?? null;
  }

  /** Recognises errors of another copy of this module too (a plugin may bring its own). */
  static is(value: unknown): value is GatewayError {
    return typeof value === 'object' && value !== null && brand in value;
  }

  /** Anything thrown, as an error that may be shown: the cause stays inside. */
  static from(thrown: unknown, requestId?: string): GatewayError {
    if (GatewayError.is(thrown)) return thrown;
    const where = requestId === undefined ? '' : ` Request id ${requestId}.`;
    return new GatewayError('internal_error', `Internal error.${where}`, { cause: thrown });
  }

  get isFinal(): boolean {
    return this.#isFinal;
  }

  /** The wire form, the same on every route. */
  body(): { error: { message: string; type: string; param: string | null; code: string } } {
    return { error: { message: this.message, type: this.type, param: this.param, code: this.code } };
  }
}
