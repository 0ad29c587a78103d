/** What a store is: two there are, SQLite and PostgreSQL, and one contract suite runs on both. Used by the worker only. */
import type { ListOptions, LogFacets, LoggedDetail, LogPage, LogQuery, Series, SeriesOptions, StatsOptions, StatsRow } from '../../../../core/log/store.ts';
import type { Row } from '../sql/rows.ts';

/** Where records are kept. */
export interface StoreSettings {
  readonly store: 'sqlite' | 'postgres';
  /** Of PostgreSQL. */
  readonly url: string | null;
  readonly dataDir: string;
  /** 0: for ever. */
  readonly retentionDays: number;
  /** What is committed survives a power cut. */
  readonly isDurable: boolean;
}

export interface Reader {
  /** Newest first. */
  list(query: LogQuery, options: ListOptions): Promise<LogPage>;
  /** As `list`, with bodies. */
  exportRows(query: LogQuery, options: ListOptions): Promise<{ readonly data: readonly LoggedDetail[]; readonly next: string | null }>;
  get(id: string): Promise<LoggedDetail | null>;
  stats(query: LogQuery, options: StatsOptions): Promise<readonly StatsRow[]>;
  series(query: LogQuery, options: SeriesOptions): Promise<Series>;
  facets(query: LogQuery): Promise<LogFacets>;
  /** Names of metadata, most used first. */
  metadataKeys(query: LogQuery): Promise<readonly string[]>;
}

export interface Store extends Reader {
  /** Connects and migrates. A migration that fails throws a MigrationError, anything else may be tried again. */
  open(): Promise<void>;
  /** Resolves when all of them are there to stay. Rows that are there already are left as they are. */
  insert(rows: readonly Row[]): Promise<void>;
  /** Whether it answers. */
  ping(): Promise<void>;
  /** Drops a part of what is older; false when nothing more is. */
  retain(before: number): Promise<boolean>;
  /** Sums up a time that is over, for the reader to find; false when nothing is left to do. */
  roll(): Promise<boolean>;
  /** What the fault of a statement calls for: `row`: one of the rows is not acceptable. `store`: it may go well later. */
  blame(error: unknown): 'row' | 'store';
  close(): Promise<void>;
}

/** safety: told to anybody who asks for the health, so it says nothing of addresses or names. */
export type StoreFault = 'timeout' | 'refused' | 'auth_failed';

export function faultOf(error: unknown): StoreFault {
  const { code, message } = error as { code?: unknown; message?: unknown };
  if (typeof code === 'string' && code.startsWith('28')) return 'auth_failed';
  if (code === '57014' || code === 'ETIMEDOUT' || /time(?:d )?out/i.test(String(message))) return 'timeout';
  return 'refused';
}

const day = 86_400_000;

/** Before this moment nothing is shown, and everything may be dropped; -Infinity where all is kept. */
export const floorOf = (retentionDays: number, now: number): number => (retentionDays === 0 ? -Infinity : now - retentionDays * day);
