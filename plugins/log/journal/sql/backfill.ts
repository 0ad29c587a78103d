/**
 * Fills in values that rows of an earlier version lack: the attempts, which are
 * only in the JSON of their other fields. It runs in the background, newest first.
 */
import { attemptsOf } from './attempts.ts';
import type { Asked, AttemptRow } from './attempts.ts';
import type { Queries } from './engine.ts';
import { Params } from './where.ts';
import type { LoggedRequest } from '../../../../core/log/store.ts';

/** How many rows one step fills in. cost: new records wait for a step, some milliseconds. */
const rowsAtOnce = 500;

export interface Filled {
  readonly id: string;
  readonly asked: Asked;
  readonly attempts: readonly AttemptRow[];
}

/** The next rows with the values that they lack; an empty list: all rows are complete. */
export async function unfilled({ engine: { grammar }, found }: Queries): Promise<readonly Filled[]> {
  const rows = await found(
    `select id, outcome, more from gateway_requests where attempts is null order by id desc limit ${rowsAtOnce}`,
    new Params(grammar),
  );
  return rows.map((row) => {
    const id = row['id'] as string;
    return { id, ...attemptsOf({ id, outcome: row['outcome'] as LoggedRequest['outcome'] }, row['more'] as string) };
  });
}
