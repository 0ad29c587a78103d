/**
 * The interface of a store. There are two stores, SQLite and PostgreSQL, and one contract
 * suite runs on both. The worker uses one, and so do the commands of this plugin.
 */
import type {
  ExportedPage,
  Fault,
  ListOptions,
  LogFacets,
  LoggedWhole,
  LogPage,
  LogQuery,
  Series,
  SeriesOptions,
  StatsOptions,
  StatsRow,
} from '../../../../core/log/store.ts';
import type { Row } from '../sql/rows.ts';
import { messageOf } from '../../../../core/exit.ts';
import { isUntrusted } from '../../../../core/wire/address.ts';
import type { KeyStore } from './keys.ts';

/** Where records are kept. */
export interface StoreSettings {
  readonly store: 'sqlite' | 'postgres';
  /** Address of PostgreSQL. */
  readonly url: string | null;
  readonly dataDir: string;
  /** 0: for ever. */
  readonly retentionDays: number;
  /** Whether committed records survive a power cut. */
  readonly isDurable: boolean;
}

export interface Reader {
  /** Newest first. */
  list(query: LogQuery, options: ListOptions): Promise<LogPage>;
  /** As `list` without `sort`, with bodies. */
  exportRows(query: LogQuery, options: ListOptions): Promise<ExportedPage>;
  get(id: string): Promise<LoggedWhole | null>;
  /** As `get`, as JSON in UTF-8, in memory of its own. */
  getJson(id: string): Promise<Uint8Array<ArrayBuffer> | null>;
  stats(query: LogQuery, options: StatsOptions): Promise<readonly StatsRow[]>;
  series(query: LogQuery, options: SeriesOptions): Promise<Series>;
  faults(query: LogQuery): Promise<readonly Fault[]>;
  facets(query: LogQuery): Promise<LogFacets>;
  /** Names of metadata, most used first. */
  metadataKeys(query: LogQuery): Promise<readonly string[]>;
}

export interface Store extends Reader {
  /** The number of rows that the store inserts best in one batch. */
  readonly batch: number;
  /** Connects and migrates. A migration that fails throws a MigrationError; after any other error the caller may try again. */
  open(): Promise<void>;
  /** Resolves when all rows are committed. Rows that are there already stay as they are. */
  insert(rows: readonly Row[]): Promise<void>;
  /** Rejects where the store does not answer, or has no tables. */
  ping(): Promise<void>;
  /**
   * Deletes some older records; false if none are left. `isExact`: the sums of a period that
   * begins before this moment are computed again, so that they count no deleted record.
   */
  retain(before: number, isExact?: boolean): Promise<boolean>;
  /** Fills in some rows of an earlier version, or sums up one period that is over; false if there is nothing left to do. */
  roll(): Promise<boolean>;
  /**
   * The cause of an error of a statement. `row`: the store does not accept one of the rows. `store`: the same statement may succeed later.
   */
  blame(error: unknown): 'row' | 'store';
  /** Deletes the bodies of a record. False: it had none. */
  forget(id: string): Promise<boolean>;
  /** Callers' keys. */
  readonly keyStore: KeyStore;
  close(): Promise<void>;
}

/** SQLite's primary code of an error; 0: the error is not from SQLite. */
export const codeOf = (error: unknown): number => ((error as { errcode?: number }).errcode ?? 0) & 0xff;

/** SQLITE_NOTADB and SQLITE_CORRUPT: the file is no database, or is damaged. */
const broken = new Set([26, 11]);
export const isBroken = (error: unknown): boolean => broken.has(codeOf(error));

/** safety: the health endpoint gives this word to anybody, so it holds no address and no name. */
export type StoreFault = 'timeout' | 'refused' | 'auth_failed' | 'damaged' | 'disk_full';

/** SQLITE_FULL, and the SQLSTATE disk_full of PostgreSQL. */
const isFull = (error: unknown): boolean => codeOf(error) === 13 || (error as { code?: unknown }).code === '53100';

export function faultOf(error: unknown): StoreFault {
  const { code, message } = error as { code?: unknown; message?: unknown };
  if (typeof code === 'string' && code.startsWith('28')) return 'auth_failed';
  if (code === '57014' || code === 'ETIMEDOUT' || /\btime(?:d )?out\b/i.test(String(message))) return 'timeout';
  if (isFull(error)) return 'disk_full';
  return isBroken(error) ? 'damaged' : 'refused';
}

/** SQLSTATE of a table, a column or a schema that is not there. */
const lacking = new Set(['42P01', '42703', '3F000']);

/** Whether the opened database was replaced by an empty or an older one. `open` brings it into the form that this program needs. */
export const lacksTables = (error: unknown): boolean => lacking.has(String((error as { code?: unknown }).code));

/**
 * The text for an error of the store in the process log and in `gateway doctor`.
 * Where each address of a host refused, the error has a code and no message.
 */
export function reasonOf(error: unknown): string {
  const code = String((error as { code?: unknown }).code);
  const message = messageOf(error) || code;
  if (!isUntrusted(code)) return message;
  return `${message.split(';', 1).join('')}: write sslrootcert=FILE into the url, where FILE has the certificate of the authority that signed the server's certificate; sslmode=no-verify takes any certificate`;
}

const day = 86_400_000;

/** Records before this moment are not shown and may be deleted; -Infinity if all are kept. */
export const floorOf = (retentionDays: number, now: number): number => (retentionDays === 0 ? -Infinity : now - retentionDays * day);
