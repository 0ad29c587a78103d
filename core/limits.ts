/** Limits as the config has them: of callers and their budgets, of the gateway itself, and those beyond which somebody is told. */
import type { Secret } from './secret.ts';

/** How much is allowed in any 60 seconds, and at one time (`concurrent`); null: as much as one likes. */
export interface Amounts {
  readonly requestsPerMinute: number | null;
  readonly tokensPerMinute: number | null;
  readonly concurrent: number | null;
  readonly budget: Budget | null;
}

/** Dollars, a decimal, for a period by UTC; a week begins on Monday. `unknown`: whether a request whose price nobody knows is served and not charged. */
export interface Budget {
  readonly dollars: string;
  readonly per: 'day' | 'week' | 'month' | 'total';
  readonly unknown: 'admit' | 'refuse';
}

/** One entry of `limits`: each value of what `by` names counts by itself (`all`, `key`, `model`, `provider`, `meta.<name>`). */
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
  /** Beyond this somebody is told: per cent of the requests that failed or were slow, or dollars. */
  readonly above: number;
  /** A request is slow that takes longer; null: the rule is not about latency. */
  readonly slowMs: number | null;
  readonly windowMs: number;
  /** Fewer requests (for `provider`: attempts) in the window say nothing. */
  readonly least: number;
  /** As `by` of a `Limit`. */
  readonly by: string;
  readonly match: string | null;
}

/** `server.limits`: of size and time. */
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
  /** Bytes of a provider's plain answer, and characters of what a provider's stream says. */
  readonly upstreamBody: number;
  /** Milliseconds of silence after which the gateway sends a keep-alive comment into a stream. */
  readonly keepAliveMs: number;
  /** Milliseconds between the signal to stop and the end of the port, for load balancers to look elsewhere. */
  readonly lameDuckMs: number;
  /** Milliseconds that running requests get when the gateway stops. */
  readonly drainMs: number;
}
