/** The limits of the config: of callers and their budgets, of the gateway itself, and the thresholds of alerts. */
import type { Secret } from './secret.ts';

/** How much is allowed in any 60 seconds, and at one time (`concurrent`); null: no limit. */
export interface Amounts {
  readonly requestsPerMinute: number | null;
  readonly tokensPerMinute: number | null;
  readonly concurrent: number | null;
  readonly budget: Budget | null;
}

/**
 * Dollars, as a decimal, for a period in UTC; a week begins on Monday.
 * `unknown`: whether a request without a known price is served and not charged.
 */
export interface Budget {
  readonly dollars: string;
  readonly per: 'day' | 'week' | 'month' | 'total';
  readonly unknown: 'admit' | 'refuse';
}

/** One entry of `limits`. Each value of the dimension `by` (`all`, `key`, `model`, `provider`, `meta.<name>`) is counted separately. */
export interface Limit extends Amounts {
  readonly by: string;
  /** Glob of the values that are limited; null: all values. */
  readonly match: string | null;
}

/** The `alerts` block. */
export interface Alerts {
  /** Where `{"text": "…"}` is posted; null: nowhere. */
  readonly webhook: Secret | null;
  readonly rules: readonly AlertRule[];
}

/** One entry of `alerts.rules`. */
export interface AlertRule {
  readonly name: string;
  readonly watches: 'errors' | 'latency' | 'cost' | 'provider';
  /** The threshold of the alert: per cent of the requests that failed or were slow, or dollars. */
  readonly above: number;
  /** A request that takes longer than this is slow; null: the rule is not about latency. */
  readonly slowMs: number | null;
  readonly windowMs: number;
  /** The rule is not checked while its window has fewer requests (for `provider`: attempts) than this. */
  readonly least: number;
  /** As `by` of a `Limit`. */
  readonly by: string;
  readonly match: string | null;
}

/** The `server.limits` block: limits of size and time. */
export interface ServerLimits {
  /** Bytes of a request body. */
  readonly body: number;
  /** Bytes of the bodies of all completion requests that run at one time in one process. */
  readonly inFlightBytes: number;
  /** Completion requests that run at one time in one process. */
  readonly inFlightRequests: number;
  /** Requests of one connection that run at one time. */
  readonly connectionRequests: number;
  /** Levels of nesting in a JSON body. */
  readonly jsonDepth: number;
  /** Bytes of all request headers together. */
  readonly headers: number;
  /** Milliseconds for a client to send its headers. */
  readonly headerTimeMs: number;
  /** Milliseconds for a client to send a whole request. */
  readonly requestTimeMs: number;
  /** Bytes of one event of a provider's stream. */
  readonly upstreamEvent: number;
  /** Bytes of a provider's plain answer, and characters of the text in a provider's stream. */
  readonly upstreamBody: number;
  /** Milliseconds of silence after which the gateway sends a keep-alive comment into a stream. */
  readonly keepAliveMs: number;
  /** Milliseconds between the stop signal and the closing of the port, so that load balancers can move to other gateways. */
  readonly lameDuckMs: number;
  /** Milliseconds that running requests get when the gateway stops. */
  readonly drainMs: number;
}
