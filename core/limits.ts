/** Limits and budgets, as the config has them. */

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
