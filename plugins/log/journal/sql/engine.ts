/** A database as the SQL of this folder asks it: rows for a statement, and two statements in one transaction. */
import type { Found } from './rows.ts';
import type { Grammar, Params } from './where.ts';

export interface Statement {
  readonly sql: string;
  readonly values: readonly unknown[];
}

export interface Engine {
  readonly grammar: Grammar;
  all(sql: string, params: readonly unknown[]): Promise<readonly Found[]>;
  /** Epoch milliseconds before which nothing is shown. */
  floor(): number;
  /** Both in one transaction; the second only where the first has changed a row. */
  swap(first: Statement, second: Statement): Promise<void>;
}

export interface Asking {
  readonly engine: Engine;
  found(this: void, sql: string, params: Params): Promise<readonly Found[]>;
}

export function askingOf(engine: Engine): Asking {
  const { idOf } = engine.grammar;
  return { engine, found: async (sql, { values }) => (await engine.all(sql, values)).map((row) => ('id' in row ? { ...row, id: idOf(row['id']) } : row)) };
}
