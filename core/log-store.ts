/**
 * What is on record, and how it is asked for. The journal plugin keeps it; the log API, the dashboard and the command line ask.
 * Field names of records are those of the log API.
 */
import type { RequestRecord } from './context.ts';

/** A record as the log shows it in a list. */
export type LoggedRequest = Omit<RequestRecord, 'request' | 'response' | 'reasoningContent' | 'served'>;

/** One record, whole. `null`: bodies were not stored, or retention has dropped them. */
export interface LoggedDetail extends LoggedRequest {
  readonly request: unknown;
  readonly response: unknown;
  readonly reasoningContent: string | null;
}

/** A condition on a field: one of the values, or a bound. */
export interface Condition {
  /** `model`, `provider`, `status`, `key`, `finish`, `stream`, `outcome`, `latency`, `cost`, or `meta.<name>`. */
  readonly field: string;
  readonly operator: 'in' | '>' | '<' | '>=' | '<=';
  readonly values: readonly string[];
}

/** What a list, a sum or an export is about. */
export interface LogQuery {
  /** Epoch milliseconds, from inclusive, to exclusive; null: open. */
  readonly from: number | null;
  readonly to: number | null;
  readonly conditions: readonly Condition[];
  /** Text in bodies; null: not asked. */
  readonly text: string | null;
}

export interface LogPage {
  readonly data: readonly LoggedRequest[];
  /** Opaque; null at the end. */
  readonly next: string | null;
}

export interface StatsRow {
  /** The value of the dimension; null: records that have none. */
  readonly value: string | null;
  readonly requests: number;
  readonly errors: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly reasoningTokens: number;
  readonly cachedTokens: number;
  /** Dollars, decimal; null: no request of the row has a known cost. */
  readonly cost: string | null;
  /** Requests whose cost is not known, and which `cost` leaves out. */
  readonly unpriced: number;
  readonly latencyP50Ms: number | null;
  readonly latencyP95Ms: number | null;
  readonly timeToFirstTokenP50Ms: number | null;
  readonly timeToFirstTokenP95Ms: number | null;
}

export interface SeriesPoint extends StatsRow {
  /** Epoch milliseconds of the bucket's begin. */
  readonly at: number;
}
