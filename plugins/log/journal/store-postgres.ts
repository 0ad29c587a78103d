/** Records in PostgreSQL 13 or newer. Nothing here waits without end: connecting, each statement and each lock have their time. */
import { Pool, types } from 'pg';
import type { PoolClient } from 'pg';
import { migrate } from './migrations.ts';
import { postgresMigrations } from './migrations-postgres.ts';
import { createWeek, dropOld, listPartitions, weekOf } from './partitions.ts';
import { tagOf } from './rows.ts';
import type { Row } from './rows.ts';
import { Roller } from './roller.ts';
import { spans, timesOver } from './rollup.ts';
import type { Time } from './rollup.ts';
import { createReader } from './sql-read.ts';
import type { Engine } from './sql-read.ts';
import type { Grammar } from './sql-where.ts';
import { floorOf } from './store.ts';
import type { Store, StoreSettings } from './store.ts';

const grammar: Grammar = {
  placeholder: (number) => `$${number}`,
  id: (id) => id,
  idOf: String,
  meta: (name) => `(r.metadata ->> cast(${name} as text)) collate "C"`,
  like: 'ilike',
  list: (column) => `json_agg(${column})`,
  metadataKeys: 'jsonb_object_keys(r.metadata) j(key)',
};

/** Advisory locks: any two numbers that nobody else is likely to use. */
const migrationLock = '727472101';
const partitionLock = '727472102';
const rollupLock = '727472103';

/** cost: one parameter, one text of the statement for any number of rows; a list of values would be parsed anew for each size. */
const insertRequests = `
  insert into gateway_requests select * from json_to_recordset($1::json) as x(
    id uuid, created_at bigint, requested_model text, model text, provider text, key_name text, stream boolean, status integer, failed boolean, outcome text,
    finish_reason text, duration_ms integer, ttft_ms integer, prompt_tokens integer, completion_tokens integer, reasoning_tokens integer, cached_tokens integer,
    cache_write_tokens integer, total_tokens integer, cost bigint, metadata jsonb, more text, user_agent text, estimated boolean
  ) on conflict do nothing`;
const insertBodies = 'insert into gateway_bodies select * from json_to_recordset($1::json) as x(id uuid, request text, response text, reasoning text) on conflict do nothing';
const insertTags = 'insert into gateway_tags select * from json_to_recordset($1::json) as x(name text, value text, id uuid) on conflict do nothing';

/** Classes of SQLSTATE that blame what was sent: data exceptions, constraints, and limits of the program. */
const ofRows = new Set(['22', '23', '54']);
const stateOf = (error: unknown): string => (error as { code?: string }).code ?? '';
const isOfServer = (error: unknown): boolean => /^(?:08|53|55|57|58|40|25|28|3D)/.test(stateOf(error)) || !/^[0-9A-Z]{5}$/.test(stateOf(error));

const statementMs = 5000;

function createPool(url: string): Pool {
  const pool = new Pool({
    connectionString: url,
    application_name: 'model-gateway',
    max: 6,
    connectionTimeoutMillis: 1000,
    query_timeout: statementMs + 500,
    statement_timeout: statementMs,
    lock_timeout: 2000,
    idle_in_transaction_session_timeout: statementMs,
    keepAlive: true,
    types: { getTypeParser: types.getTypeParser },
  });
  // safety: without a listener the end of an idle connection ends the process
  pool.on('error', () => {});
  return pool;
}

export function createPostgresStore({ url, retentionDays }: StoreSettings): Store {
  const pool = createPool(url ?? '');
  const weeks = new Set<number>();
  const engineOn = (client: Pick<Pool, 'query'>): Engine => ({
    grammar,
    all: async (sql, params) => (await client.query<Record<string, unknown>>(sql, [...params])).rows,
    floor: () => floorOf(retentionDays, Date.now()),
    exclusively: (work) => connected(pool, (held) => within(held, async () => {
      const { rows } = await held.query<{ held: boolean }>(`select pg_try_advisory_xact_lock(${rollupLock}) as held`);
      if (rows[0]?.held === true) await work(engineOn(held));
    })),
  });
  const engine = engineOn(pool);
  const roller = new Roller(engine);
  return {
    ...createReader(engine),
    open: () => connected(pool, (client) => migrateOn(client)),
    async insert(rows) {
      try {
        await insertInto(pool, rows, weeks);
      } catch (error) {
        // this or another process has dropped a week that was believed to be there
        if (!isMissingWeek(error)) throw error;
        weeks.clear();
        await insertInto(pool, rows, weeks);
      }
      const over = timesOver(rows.map(({ request }) => request.created_at), Date.now());
      if (over.length > 0) await connected(pool, (client) => unroll(client, over));
    },
    async ping() {
      await pool.query('select 1');
    },
    async retain(before) {
      await pool.query('delete from gateway_rollup where starts_at < $1', [before - spans[0]]);
      return await connected(pool, (client) => dropWeek(client, before));
    },
    roll: () => roller.step(Date.now()),
    blame: (error) => (ofRows.has(stateOf(error).slice(0, 2)) ? 'row' : 'store'),
    close: () => pool.end(),
  };
}

const isMissingWeek = (error: unknown): boolean => stateOf(error) === '23514' && /no partition/.test((error as Error).message);

/** safety: a connection on which something went wrong is not used again. */
async function connected<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  client.on('error', ignore);
  let fault: unknown = null;
  try {
    return await work(client);
  } catch (error) {
    fault = error;
    throw error;
  } finally {
    client.off('error', ignore);
    client.release(fault !== null);
  }
}

function ignore(): void {
  // the query under way rejects with the same error
}

async function within<T>(client: PoolClient, work: () => Promise<T>): Promise<T> {
  await client.query('begin');
  const result = await work();
  await client.query('commit');
  return result;
}

/**
 * cost: one statement for each table, side by side on connections of their own. Each is a transaction: where one fails the batch
 * comes again, and what is there already stays.
 */
async function insertInto(pool: Pool, rows: readonly Row[], weeks: Set<number>): Promise<void> {
  for (const week of new Set(rows.map(({ request }) => weekOf(request.id)))) {
    if (!weeks.has(week)) await connected(pool, (client) => ensureWeek(client, week));
    weeks.add(week);
  }
  const bodies = rows.flatMap(({ body }) => (body === null ? [] : [body]));
  const tags = rows.flatMap(({ request: { id, metadata } }) => Object.entries(metadata).map(([name, value]) => ({ name: tagOf(name), value: tagOf(value), id })));
  const inserts = [
    pool.query({ name: 'requests', text: insertRequests, values: [JSON.stringify(rows.map(({ request }) => request))] }),
    ...(bodies.length > 0 ? [pool.query({ name: 'bodies', text: insertBodies, values: [JSON.stringify(bodies)] })] : []),
    ...(tags.length > 0 ? [pool.query({ name: 'tags', text: insertTags, values: [JSON.stringify(tags)] })] : []),
  ];
  // safety: all have ended before any of it is tried again
  const failed = (await Promise.allSettled(inserts)).find(({ status }) => status === 'rejected');
  if (failed !== undefined) throw (failed as PromiseRejectedResult).reason;
}

async function ensureWeek(client: PoolClient, week: number): Promise<void> {
  await within(client, async () => {
    await client.query(`select pg_advisory_xact_lock(${partitionLock})`);
    for (const sql of createWeek(week)) await client.query(sql);
  });
}

/** safety: the records are there; whoever sums up at this moment has not seen them, and is waited for. */
async function unroll(client: PoolClient, times: readonly Time[]): Promise<void> {
  await within(client, async () => {
    await client.query(`select pg_advisory_xact_lock(${rollupLock})`);
    await client.query('delete from gateway_rollup where (starts_at, span_ms) in (select * from unnest($1::bigint[], $2::bigint[]))', [times.map(({ start }) => start), times.map(({ span }) => span)]);
  });
}

async function dropWeek(client: PoolClient, before: number): Promise<boolean> {
  const { rows } = await client.query<{ name: string }>(listPartitions);
  const drop = dropOld(rows.map(({ name }) => name), before);
  if (drop === null) return false;
  await within(client, async () => {
    await client.query(`select pg_advisory_xact_lock(${partitionLock})`);
    await client.query(drop);
  });
  return true;
}

async function migrateOn(client: PoolClient): Promise<void> {
  const connection = {
    run: async (sql: string) => void (await client.query(sql)),
    all: async (sql: string) => (await client.query(sql)).rows as Record<string, unknown>[],
    async transaction<T>(work: () => Promise<T>): Promise<T> {
      await client.query('begin');
      try {
        await client.query(`select pg_advisory_xact_lock(${migrationLock})`);
        const result = await work();
        await client.query('commit');
        return result;
      } catch (error) {
        await client.query('rollback').catch(ignore);
        throw error;
      }
    },
  };
  await migrate(connection, postgresMigrations, isOfServer);
}
