/** A database as the SQL of this folder needs it: rows for a statement, and two statements in one transaction. */
import type { StoredRow } from './rows.ts';
import type { Grammar, Params } from './where.ts';

export interface Statement {
  readonly sql: string;
  readonly values: readonly unknown[];
}

export interface Engine {
  readonly grammar: Grammar;
  /** True: it answers one question at a time. */
  readonly isSerial: boolean;
  all(sql: string, params: readonly unknown[]): Promise<readonly StoredRow[]>;
  /** Epoch milliseconds: older records are not shown. */
  floor(): number;
  /** Both in one transaction; the second only where the first has changed a row. */
  swap(first: Statement, second: Statement): Promise<void>;
}

/**
 * How many bodies the first statement of a search reads; later ones read more, as long as they take less than this time.
 * safety: bodies have any size, and SQLite does nothing else meanwhile. 5,000 bodies of 200 kB took seven seconds at once: other reads
 * waited, new records too, and the search itself ran out of time.
 */
export const firstSearched = 50;
export const searchMs = 100;

/** An engine whose rows are uniform: an id is always a text. */
export interface Queries {
  readonly engine: Engine;
  found(this: void, sql: string, params: Params): Promise<readonly StoredRow[]>;
}

export function queriesOf(engine: Engine): Queries {
  const { idOf } = engine.grammar;
  return {
    engine,
    found: async (sql, { values }) => (await engine.all(sql, values)).map((row) => ('id' in row ? { ...row, id: idOf(row['id']) } : row)),
  };
}
