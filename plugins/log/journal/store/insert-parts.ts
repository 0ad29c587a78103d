/** Inserts the rows of several tables into PostgreSQL at the same time, or one after the other where the server has no connection left. */
import type { Pool } from 'pg';

/** The server, the database or the user has as many connections as it may have. */
const tooMany = '53300';

/** The rows of one table, and the statement that inserts them. */
export interface Part {
  readonly sql: string;
  readonly values: readonly object[];
}

export const insertPart = async (pool: Pool, { sql, values }: Part): Promise<unknown> => await pool.query(sql, [JSON.stringify(values)]);

/**
 * Inserts the parts at the same time. Those for which the server has no connection left come after the others, over their connections.
 * safety: while the server is full, a process may have one connection for hours, and its records must not wait as long.
 */
export async function insertAtOnce(pool: Pool, parts: readonly Part[]): Promise<void> {
  const late: Part[] = [];
  const inserts = parts.map(async (part) => {
    try {
      await insertPart(pool, part);
    } catch (error) {
      if ((error as { code?: unknown }).code !== tooMany) throw error;
      late.push(part);
    }
  });
  // safety: all inserts must have ended before the batch is tried again
  const failed = (await Promise.allSettled(inserts)).find(({ status }) => status === 'rejected');
  if (failed !== undefined) throw (failed as PromiseRejectedResult).reason;
  for (const part of late) await insertPart(pool, part);
}
