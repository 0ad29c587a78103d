/** Sums of attempts, and what went wrong, read from the records themselves. */
import type { AttemptDimension } from '../../../../core/log/attempts.ts';
import type { Fault, LogQuery } from '../../../../core/log/store.ts';
import { attemptSql } from '../sql/attempts.ts';
import type { Queries } from '../sql/engine.ts';
import { Params, rangeSql, selectionOf, whereSql } from '../sql/where.ts';

/** A table `x (at, value, failed, rescued, duration_ms)` with a row for each attempt of the requests that the query selects. */
export function attemptsSql(query: LogQuery, by: AttemptDimension, params: Params): string {
  const [attempt, request] = attemptSql[by];
  const alone = selectionOf(query, params, { withText: true });
  const others = selectionOf(query, params, { withText: true, isLed: true });
  // cost: these conditions find the few requests whose attempts have rows
  const where = [...rangeSql('a.id', query, params), ...others.where, 'a.id = r.id'];
  return `(
    select r.created_at as at, ${request} as value, 0 as failed, 0 as rescued, r.duration_ms
    from ${alone.from}${whereSql([...alone.where, 'r.target is not null'])}
    union all
    select r.created_at as at, ${attempt} as value, ${oneOrNone('a.failed')} as failed, ${oneOrNone('a.rescued')} as rescued, a.duration_ms
    from gateway_attempts a cross join gateway_requests r${whereSql(where)}
  ) x`;
}

const oneOrNone = (flag: string): string => `case when ${flag} then 1 else 0 end`;

const mostFaults = 50;

/** Attempts that failed, and requests that failed without an attempt. The most recent first. */
export async function faultsOf({ engine: { grammar }, found }: Queries, query: LogQuery): Promise<Fault[]> {
  const params = new Params(grammar);
  const led = selectionOf(query, params, { withText: true, isLed: true });
  const attempts = `
    select a.provider as provider, a.code as code, ${oneOrNone('a.rescued')} as rescued, r.created_at as at
    from gateway_attempts a cross join gateway_requests r
    ${whereSql([...rangeSql('a.id', query, params), ...led.where, 'a.id = r.id', 'a.failed'])}`;
  const alone = selectionOf(query, params, { withText: true });
  const requests = `
    select null as provider, r.error_code as code, 0 as rescued, r.created_at as at
    from ${alone.from}${whereSql([...alone.where, 'r.failed', 'r.attempts = 0', 'r.error_code is not null'])}`;
  const rows = await found(
    `select provider, code, count(*) as count, sum(rescued) as rescued, min(at) as first_at, max(at) as last_at
    from (${attempts} union all ${requests}) x
    group by provider, code order by max(at) desc, provider nulls first, code limit ${mostFaults}`,
    params,
  );
  return rows.map((row) => ({
    provider: row['provider'] as string | null,
    code: row['code'] as string,
    count: Number(row['count']),
    rescued: Number(row['rescued']),
    firstAt: Number(row['first_at']),
    lastAt: Number(row['last_at']),
  }));
}
