/**
 * The request log: its records, and the interface for reading it. The journal plugin keeps the log; the log API, the dashboard and
 * the command line read it. The names of a record's fields are those of the log API.
 */
import type { RequestRecord } from '../pipeline/context.ts';
import { GatewayError } from '../errors.ts';
import type { KeyTable } from './keys.ts';

/** A record as the log shows it in a list. */
export interface LoggedRequest extends Omit<RequestRecord, 'request' | 'response' | 'reasoningContent' | 'served' | 'sent' | 'standsFor'> {
  /** The door by which it came in: `chat`, `messages`; null: none of those that ship, or the record is older than the field. */
  readonly door: string | null;
  /** The beginning of what the user asked, at most 120 characters; null: bodies were not stored, or the record is older than the field. */
  readonly promptStart: string | null;
}

/** One record with its bodies. `null`: bodies were not stored, or the retention has deleted them. */
export interface LoggedDetail extends LoggedRequest {
  readonly request: unknown;
  readonly response: unknown;
  readonly reasoningContent: string | null;
}

/** One request that went to a provider. */
export interface UpstreamRequest {
  /** Its attempt, from 1. */
  readonly attempt: number;
  readonly method: string;
  readonly url: string;
  /** Without credentials. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body as it was sent: a JSON body as a value, every other body as text. */
  readonly body: unknown;
}

/** One record with all that is kept of it. */
export interface LoggedWhole extends LoggedDetail {
  /** `null`: bodies were not stored, or the record is older than the field. Empty: no provider was asked. */
  readonly upstream: readonly UpstreamRequest[] | null;
}

/** A condition on a field: one of the values (`in`), none of them, or a bound. */
export interface Condition {
  /**
   * Name of a filter in the table of `fields.ts`, `meta.<key>` or `field.<name>`. An empty value asks for records that have none.
   * A bound is in milliseconds, in tokens, in dollars, or for `field.<name>` a number.
   */
  readonly field: string;
  readonly operator: 'in' | 'not in' | '>' | '<' | '>=' | '<=';
  readonly values: readonly string[];
}

/** Which records a list, a sum or an export is about. */
export interface LogQuery {
  /** Epoch milliseconds, from inclusive, to exclusive; null: open. */
  readonly from: number | null;
  readonly to: number | null;
  readonly conditions: readonly Condition[];
  /** Text in bodies; null: not asked. */
  readonly text: string | null;
}

/** The caller's fault: a condition that no store can answer. */
export class BadQuery extends Error {
  /** The parameter that is at fault, where it is one alone. */
  readonly param: string | null;

  constructor(message: string, param: string | null = null) {
    super(message);
    this.param = param;
  }
}

export interface ListOptions {
  /** At most 1000. */
  readonly limit: number;
  /** The `next` of the previous page. */
  readonly cursor?: string | null;
  /** What the list is ordered by; records without it are last. Absent: the newest first. */
  readonly sort?: Sort | null;
  /** `desc`, the largest first, where absent. */
  readonly order?: Order;
}

export const sorts = ['cost', 'duration', 'tokens'] as const;
export type Sort = (typeof sorts)[number];
export const orders = ['desc', 'asc'] as const;
export type Order = (typeof orders)[number];

/** What each read of a `LogReader` takes. */
interface ReadOptions {
  /** Aborted when nobody waits for the read any more: then it is not begun, and a search ends. */
  readonly signal?: AbortSignal;
}

/** What `LogReader.list` takes. */
export interface PageOptions extends ListOptions, ReadOptions {
  readonly cursor: string | null;
}

export interface LogPage {
  readonly data: readonly LoggedRequest[];
  /** Opaque; null at the end. A store may give a page of a search that is not full although a next page exists; a `LogReader` does not. */
  readonly next: string | null;
}

/** A page of records with their bodies. */
export interface ExportedPage {
  readonly data: readonly LoggedDetail[];
  readonly next: string | null;
  /** The page ends before it is full, because its bodies are large. */
  readonly isCut?: boolean;
}

export interface StatsRow {
  /** The value of the dimension; null: records that have none. */
  readonly value: string | null;
  readonly requests: number;
  readonly errors: number;
  /**
   * In a row of requests: requests that were answered after an attempt had
   * failed. In a row of attempts: failed attempts whose request was answered.
   */
  readonly rescued: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly reasoningTokens: number;
  readonly cachedTokens: number;
  /** Dollars, decimal; null: no request of the row has a known cost. */
  readonly cost: string | null;
  /**
   * Requests whose cost is not known; `cost` leaves them out. A request that no provider answered
   * is counted here where a provider may charge for it: a time limit passed, or an answer broke.
   */
  readonly unpriced: number;
  /** Requests whose tokens, and so their cost, are an estimate. The sums include them. */
  readonly estimated: number;
  /** The speed of streams, counted from the first token; null: the row has no stream. */
  readonly tokensPerSecond: number | null;
  readonly latencyP50Ms: number | null;
  readonly latencyP95Ms: number | null;
  readonly latencyP99Ms: number | null;
  readonly timeToFirstTokenP50Ms: number | null;
  readonly timeToFirstTokenP95Ms: number | null;
}

/** The measure by which the largest values of a dimension are chosen. */
export const ranks = ['requests', 'errors', 'tokens', 'cost'] as const;
export type Rank = (typeof ranks)[number];

/** Rows that an answer has at most, however many are asked for. */
export const mostRows = 1000;

export interface StatsOptions extends ReadOptions {
  /**
   * A dimension, `meta.<key>` or `field.<name>`; null: one row over all records, even if there are none. A dimension of attempts,
   * such as `attempt.provider`: the rows count attempts, and have their latency, and no tokens and no cost.
   */
  readonly by: string | null;
  readonly limit: number;
  /** `requests` where absent. */
  readonly rank?: Rank;
  /** True: a request to a model, or the list of the keys, waits for the answer, so it must not wait for searches and exports. */
  readonly isUrgent?: boolean;
}

export interface SeriesOptions extends ReadOptions {
  readonly bucketMs: number;
  /** A dimension: separate points for each of its largest values. */
  readonly by?: string | null;
  /** For how many values; ten where absent. */
  readonly most?: number;
  /** `requests` where absent. */
  readonly rank?: Rank;
}

export interface SeriesPoint extends StatsRow {
  /** Epoch milliseconds of the bucket's begin. */
  readonly at: number;
}

export interface Series {
  readonly points: readonly SeriesPoint[];
  /** The sums of all records, including records of smaller values. */
  readonly total: StatsRow;
}

/** Attempts that failed in the same way, and requests that failed before anybody was asked. */
export interface Fault {
  /** null: no provider was asked. */
  readonly provider: string | null;
  readonly code: string;
  readonly count: number;
  /** How many of them a later attempt rescued, so that no caller noticed. */
  readonly rescued: number;
  /** Epoch milliseconds. */
  readonly firstAt: number;
  readonly lastAt: number;
}

/** Values seen among the newest records of a query, with their counts, most frequent first. */
export interface LogFacets {
  /** By name of the filter: those fields of `fields.ts` that are facets, and each `meta.<key>` and `field.<name>` seen. */
  readonly [field: string]: readonly { readonly value: string; readonly count: number }[];
}

/** The state of the log: what waits to be stored, and what was lost. */
export interface StoreStatus {
  readonly connected: boolean;
  /** `timeout`, `refused`, `auth_failed`, `damaged`, `disk_full`, `journal_not_written`, `journal_full`; null while connected. */
  readonly error: string | null;
  /** Bytes that wait in the journal, including those of earlier runs. */
  readonly waitingBytes: number;
  /** Records of this run that wait in the journal. */
  readonly waitingRecords: number;
  /** Records lost since the start because the journal was full. */
  readonly dropped: number;
  /** Records stored without their bodies because the journal was nearly full. */
  readonly bodiesDropped: number;
  /** Records that the store refused, kept in `journal/dead-letter.jsonl`. */
  readonly deadLettered: number;
  /** Epoch milliseconds; null: never yet. */
  readonly lastDrainAt: number | null;
  readonly retentionDays: number;
  /** Whether bodies are stored. */
  readonly bodies: boolean;
}

/**
 * The read side of the store. Every call has its own time limit and rejects
 * with a GatewayError when the store is away, or cannot answer what was asked.
 */
export interface LogReader {
  /** Newest first, unless `sort` says otherwise. A search in bodies goes on until the page is full, or the end is reached. */
  list(query: LogQuery, page: PageOptions): Promise<LogPage>;
  /** As `list` without `sort`, with bodies: what an export is made of. A page may end early, but has a record unless it is the last one. */
  exportRows(query: LogQuery, page: PageOptions): Promise<ExportedPage>;
  /** Also a record that this process has just written, and that a list may not have yet. Null: there is none. */
  get(id: string): Promise<LoggedWhole | null>;
  /**
   * What `get` gives, as JSON in UTF-8; absent: this log has it as an object only.
   * cost: the bodies of a record may have 60 MB. To take their parts from another thread and write them as text held the event loop.
   */
  getJson?(id: string): Promise<Uint8Array | null>;
  /** Deletes the bodies of a record, which stays without them. False: it had none. */
  forget(id: string): Promise<boolean>;
  /** The largest first. */
  stats(query: LogQuery, options: StatsOptions): Promise<readonly StatsRow[]>;
  series(query: LogQuery, options: SeriesOptions): Promise<Series>;
  /** What went wrong, by provider and error code, the most recent first. */
  faults(query: LogQuery, options?: ReadOptions): Promise<readonly Fault[]>;
  /** Values to filter by, seen in the query's range. */
  facets(query: LogQuery, options?: ReadOptions): Promise<LogFacets>;
  /** Names of metadata on record, most used first. */
  metadataKeys(query: LogQuery, options?: ReadOptions): Promise<readonly string[]>;
  status(): Promise<StoreStatus>;
  /**
   * Resolves when all records that were written before this call can be read,
   * those too that other processes left behind. Rejects while the store is away.
   */
  catchUp(): Promise<void>;
  /** Calls back with each record as it is finished; returns a function that ends the calls. Synchronous and in this process. */
  onRecord(listener: (record: LoggedRequest) => void): () => void;
  /** Callers' keys that are kept in the same database; absent: this log keeps none. */
  readonly keys?: KeyTable;
}

/** Connects the plugin that keeps the log with the plugins that show it. Each gateway has one. */
export interface LogAccess {
  /** The log that this gateway keeps, from `boot` on; null if no plugin keeps one. Call it at each use, not in `apply`. */
  reader(): LogReader | null;
  /** Called once, by the plugin that keeps the log. */
  provide(reader: LogReader): void;
}

export const noLog = (): GatewayError =>
  new GatewayError('unknown_url', 'This gateway keeps no log: no plugin for it, such as log/journal, is listed in its config.');

export function createLogAccess(): LogAccess {
  let provided: LogReader | null = null;
  return {
    reader: () => provided,
    provide(reader) {
      if (provided !== null) throw new Error('two plugins keep the log; leave one of them out');
      provided = reader;
    },
  };
}
