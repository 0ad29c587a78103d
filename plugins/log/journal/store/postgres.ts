/** Records in PostgreSQL 13 or newer. Connecting, each lock, and each statement but those of a migration have a time limit: nothing waits for ever. */
import { Client, Pool, types } from 'pg';
import type { ClientConfig, PoolClient, PoolConfig } from 'pg';
import { migrate } from './migrations.ts';
import { connectionOf, refusesLimits, unlimited } from './postgres-address.ts';
import { postgresMigrations } from './postgres-migrations.ts';
import { createWeek, dropOld, findWeek, listPartitions, weekOf } from './partitions.ts';
import type { FieldKind } from '../../../../core/log/fields.ts';
import { requestColumns, tagsOf } from '../sql/rows.ts';
import { insertAtOnce, insertPart } from './insert-parts.ts';
import type { Part } from './insert-parts.ts';
import type { Row } from '../sql/rows.ts';
import { askedColumns, attemptColumns } from '../sql/attempts.ts';
import { Roller } from '../sums/roller.ts';
import { complete, periodsOf, spans } from '../sums/rollup.ts';
import { unfilled } from '../sql/backfill.ts';
import type { Filled } from '../sql/backfill.ts';
import type { Period } from '../sums/rollup.ts';
import { createKeyStore } from './keys.ts';
import type { KeyStore, Steps } from './keys.ts';
import { createReader } from './read.ts';
import { queriesOf } from '../sql/engine.ts';
import type { Engine } from '../sql/engine.ts';
import type { Grammar } from '../sql/where.ts';
import { floorOf } from './store.ts';
import { isId, timeOfId } from '../../../../core/log/record-id.ts';
import type { Store, StoreSettings } from './store.ts';

const grammar: Grammar = {
  id: (id) => id,
  idOf: String,
  keyedText: ({ part, key }, bind) => `(r.${part} ->> cast(${bind(key)} as text)) collate "C"`,
  fieldNumber(name, bind) {
    const key = `cast(${bind(name)} as text)`;
    return `(case when json_typeof(r.fields -> ${key}) = 'number' then cast(r.fields ->> ${key} as double precision) end)`;
  },
  like: 'ilike',
  body: (column) => `b.${column}`,
  // cost: in the collation of the database each letter of a body is folded by its locale, which takes five times as long
  searched: (column) => `b.${column} collate "C"`,
  list: (column) => `json_agg(${column})`,
  keys: (part) => `${part === 'metadata' ? 'jsonb' : 'json'}_object_keys(r.${part}) j(key)`,
};

/**
 * cost: a round trip to the server takes the same time for one row and for a thousand; with 250 rows a backlog is drained a tenth slower.
 */
const batch = 1000;

/** Keys of the advisory locks: two numbers that no other program is likely to use. */
const migrationLock = '727472101';
const partitionLock = '727472102';
const keyLock = '727472103';

/** Types of the columns, by what they hold. A column of the type `jsonb` takes `json` too. */
const columnTypes: Readonly<Record<FieldKind, string>> = {
  id: 'uuid',
  time: 'bigint',
  text: 'text',
  flag: 'boolean',
  status: 'integer',
  number: 'integer',
  rate: 'real',
  milliseconds: 'integer',
  dollars: 'bigint',
  json: 'json',
};
const typed = ({ column, kind }: { readonly column: string; readonly kind: FieldKind }): string => `${column} ${columnTypes[kind]}`;
const requestNames = requestColumns.map(({ column }) => column).join(', ');
const attemptNames = Object.keys(attemptColumns).join(', ');
const attemptTypes = Object.entries(attemptColumns).map((pair) => pair.join(' '));

/** cost: one parameter, so the statement is the same text for any number of rows; a list of values would be parsed anew for each number. */
const insertRequests = `
  insert into gateway_requests (${requestNames}) select ${requestNames} from json_to_recordset($1::json)
  as x(${requestColumns.map(typed).join(', ')}) on conflict do nothing`;
const insertBodies = `
  insert into gateway_bodies (id, request, response, reasoning, upstream) select * from json_to_recordset($1::json)
  as x(id uuid, request text, response text, reasoning text, upstream text) on conflict do nothing`;
const insertAttempts = `
  insert into gateway_attempts (${attemptNames}) select ${attemptNames} from json_to_recordset($1::json)
  as x(${attemptTypes.join(', ')}) on conflict do nothing`;
const insertTags = `
  insert into gateway_tags select * from json_to_recordset($1::json)
  as x(name text, value text, id uuid) on conflict do nothing`;
const fillRequests = `
  update gateway_requests r set ${askedColumns.map(({ column }) => `${column} = x.${column}`).join(', ')}
  from json_to_recordset($1::json) as x(id uuid, ${askedColumns.map(typed).join(', ')})
  where r.id = x.id and r.id between $2 and $3`;
const forgetBodies = `
  update gateway_bodies set request = null, response = null, reasoning = null, upstream = null
  where id = $1 and (request is not null or response is not null or reasoning is not null or upstream is not null)`;

/** Classes of SQLSTATE for faults of the sent values: data exceptions, constraints, and limits of the program. */
const ofRows = new Set(['22', '23', '54']);
const stateOf = (error: unknown): string => (error as { code?: string }).code ?? '';
const isOfServer = (error: unknown): boolean =>
  /^(?:08|53|55|57|58|40|25|28|3D)/.test(stateOf(error)) || !/^[0-9A-Z]{5}$/.test(stateOf(error));

const settingsOf = (url: string | null): ClientConfig => ({ ...connectionOf(url ?? ''), types: { getTypeParser: types.getTypeParser } });

function createPool(url: string | null, more: PoolConfig): Pool {
  const pool = new Pool({ ...settingsOf(url), ...more });
  // safety: without a listener an error of an idle connection ends the process
  pool.on('error', ignore);
  return pool;
}

export function createPostgresStore({ url, retentionDays }: StoreSettings): Store {
  const writing = createPool(url, { max: 4 });
  // reads have connections of their own: a page sends several queries at once, and records must not wait for a page
  const reading = createPool(url, { max: 6 });
  const weeks = new Set<number>();
  const engine = engineOn({ reading, writing, retentionDays });
  const roller = new Roller(engine);
  return {
    batch,
    ...createReader(engine),
    keyStore: keyStoreOf(writing),
    open: async () => await openThrough(url, [writing, reading]),
    async insert(rows) {
      try {
        await insertWith(weeks, rows, writing);
      } finally {
        // an insert that fails may have stored some of its parts
        await unroll(writing, periodsOf(rows.map(({ request }) => timeOfId(request.id))));
      }
    },
    async ping() {
      await writing.query('select 1 from gateway_migrations limit 1');
    },
    async retain(asked, isExact = false) {
      const before = asked - (await aheadMs(writing));
      await writing.query('delete from gateway_rollup where starts_at < $1', [isExact ? before : before - spans[0]]);
      return await dropWeek(writing, before);
    },
    async roll() {
      const rows = await unfilled(queriesOf(engine));
      if (rows.length === 0) return await roller.step(Date.now());
      await connected(writing, (client) => fillIn(client, rows));
      return true;
    },
    blame: (error) => (ofRows.has(stateOf(error).slice(0, 2)) ? 'row' : 'store'),
    async forget(id) {
      if (!isId(id)) return false;
      await writing.query('update gateway_requests set prompt_start = null where id = $1', [id]);
      // safety: an empty row stays, or a journal that is read again after a crash would bring the bodies back
      const { rowCount } = await writing.query(forgetBodies, [id]);
      return rowCount !== 0;
    },
    close: async () => void (await Promise.all([writing.end(), reading.end()])),
  };
}

interface Pools {
  readonly reading: Pool;
  readonly writing: Pool;
}

const engineOn = ({ reading, writing, retentionDays }: Pools & Pick<StoreSettings, 'retentionDays'>): Engine => ({
  grammar,
  isSerial: false,
  all: async (sql, params) => (await reading.query<Record<string, unknown>>(sql, [...params])).rows,
  floor: () => floorOf(retentionDays, Date.now()),
  swap: (first, second) =>
    connected(writing, (client) =>
      within(client, async () => {
        const { rowCount } = await client.query(first.sql, [...first.values]);
        if (rowCount !== 0) await client.query(second.sql, [...second.values]);
      }),
    ),
});

/** @param weeks those whose partitions are known to exist */
async function insertWith(weeks: Set<number>, rows: readonly Row[], pool: Pool): Promise<void> {
  try {
    await insertInto(pool, rows, weeks);
  } catch (error) {
    // this or another process has dropped a week that is still in `weeks`
    if (!isMissingWeek(error)) throw error;
    weeks.clear();
    await insertInto(pool, rows, weeks);
  }
}

/**
 * Whether the partition of a week is missing. The tables have no checks of their own, so this error
 * means nothing else. The message does not help, because it is in the language of the server.
 */
const isMissingWeek = (error: unknown): boolean =>
  stateOf(error) === '23514' && (error as { constraint?: string }).constraint === undefined;

/** safety: a connection on which a query failed is not used again. */
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
  // the running query rejects with the same error
}

async function within<T>(client: PoolClient, work: () => Promise<T>): Promise<T> {
  await client.query('begin');
  const result = await work();
  await client.query('commit');
  return result;
}

/**
 * cost: each table has one statement, and these run at the same time on separate connections. Each is a transaction of its own: if one
 * fails, the whole batch is inserted again, and rows that are there already stay as they are.
 * safety: no statement has a name. A pooler may send each over another connection, which does not know the name, or uses it already.
 * safety: the requests come last. A record is seen as soon as its request is there, and must not be seen without its texts.
 */
async function insertInto(pool: Pool, rows: readonly Row[], weeks: Set<number>): Promise<void> {
  for (const week of new Set(rows.map(({ request }) => weekOf(request.id)))) {
    if (!weeks.has(week)) await makeWeek(pool, week);
    weeks.add(week);
  }
  const bodies = rows.flatMap(({ body }) => (body === null ? [] : [body]));
  const attempts = rows.flatMap((row) => row.attempts);
  const tags = rows.flatMap(({ request }) => tagsOf(request).map(([name, value]) => ({ name, value, id: request.id })));
  const parts: readonly Part[] = [
    { sql: insertBodies, values: bodies },
    { sql: insertAttempts, values: attempts },
    { sql: insertTags, values: tags },
  ];
  await insertAtOnce(
    pool,
    parts.filter(({ values }) => values.length > 0),
  );
  await insertPart(pool, { sql: insertRequests, values: rows.map(({ request }) => request) });
}

/** cost: where the week is there, which is so at nearly every start, this takes one connection; to make it takes two. */
async function makeWeek(pool: Pool, week: number): Promise<void> {
  const { rows } = await pool.query<{ isThere: boolean }>(findWeek(week));
  if (rows[0]?.isThere !== true) await oneByOne(pool, createWeek(week));
}

const keyStoreOf = (pool: Pool): KeyStore =>
  createKeyStore({
    ...grammar,
    all: async (sql, params) => (await pool.query<Record<string, unknown>>(sql, [...params])).rows,
    change: (steps) =>
      connected(pool, (client) =>
        within(client, async () => {
          await client.query(`select pg_advisory_xact_lock(${keyLock})`);
          return await runSteps(client, steps);
        }),
      ),
    list: 'json_array_elements_text($1::json) k(value)',
  });

async function runSteps<T>(client: PoolClient, steps: Steps<T>): Promise<T> {
  let step = steps.next();
  while (step.done !== true) {
    const [sql, params] = step.value;
    step = steps.next((await client.query<Record<string, unknown>>(sql, [...params])).rows);
  }
  return step.value;
}

/** The condition for rows of some periods, whose `arraysOf` are the first two values. */
const inPeriods = '(starts_at, span_ms) in (select * from unnest($1::bigint[], $2::bigint[]))';

const arraysOf = (periods: readonly Period[]): [starts: number[], spans: number[]] => [
  periods.map(({ start }) => start),
  periods.map(({ span }) => span),
];

async function fillIn(client: PoolClient, rows: readonly Filled[]): Promise<void> {
  const filled = rows.map(({ id, asked }) => ({ id, ...asked }));
  const attempts = rows.flatMap((row) => row.attempts);
  const periods = periodsOf(rows.map(({ id }) => timeOfId(id)));
  await within(client, async () => {
    await client.query(fillRequests, [JSON.stringify(filled), rows.at(-1)?.id, rows[0]?.id]);
    if (attempts.length > 0) await client.query(insertAttempts, [JSON.stringify(attempts)]);
    await client.query(`delete from gateway_rollup where dimension = $3 and ${inPeriods}`, [...arraysOf(periods), complete]);
  });
}

/**
 * Each statement is a transaction of its own, while no other process makes or drops weeks.
 * safety: a query that reads several tables holds one while it waits for the next. If a transaction here locked several tables too, the
 * two would wait for each other, and one of them would fail.
 */
async function oneByOne(pool: Pool, statements: readonly string[]): Promise<void> {
  await connected(pool, (client) =>
    within(client, async () => {
      await client.query(`select pg_advisory_xact_lock(${partitionLock})`);
      for (const sql of statements) await pool.query(sql);
    }),
  );
}

/**
 * Takes away the claims and the sums of these periods, because their records have changed. The same statement runs twice, because a
 * statement does not see what is committed while it runs: the first deletes the claim, or waits for a process that replaces the claim
 * by sums at this moment; the second deletes those sums. A claim that comes later sees the new records.
 */
async function unroll(pool: Pool, periods: readonly Period[]): Promise<void> {
  const values = arraysOf(periods);
  for (let time = 0; time < 2; time++) {
    await pool.query(`delete from gateway_rollup where starts_at = any($1) and ${inPeriods}`, values);
  }
}

/**
 * How far the clock of this gateway is ahead of that of the server.
 * safety: without this, one gateway whose clock is ahead by a month would drop the records of all gateways.
 */
async function aheadMs(pool: Pool): Promise<number> {
  const own = Date.now();
  const { rows } = await pool.query<{ now: string }>('select extract(epoch from clock_timestamp()) * 1000 as now');
  return Math.max(0, Math.floor(own - Number(rows[0]?.now)));
}

async function dropWeek(pool: Pool, before: number): Promise<boolean> {
  const { rows } = await pool.query<{ name: string }>(listPartitions);
  const names = rows.map(({ name }) => name);
  const drops = dropOld(names, before);
  if (drops.length === 0) return false;
  await oneByOne(pool, drops);
  return true;
}

/** Applies migrations. Where a pooler in front of the server refuses time limits, no limits are sent from then on. */
async function openThrough(url: string | null, pools: readonly Pool[]): Promise<void> {
  try {
    await migrateAt(url);
  } catch (error) {
    if (!refusesLimits(error)) throw error;
    for (const pool of pools) Object.assign(pool.options, unlimited);
    await migrateAt(url, unlimited);
  }
}

/**
 * No limit of the client, and the kernel asks a silent server whether it is there.
 * safety: without that, the gateway would wait for ever for a server that is gone, because nothing is sent while a statement runs.
 */
const patient: Partial<ClientConfig> = { query_timeout: 0, keepAliveInitialDelayMillis: 10_000 };
/**
 * safety: an index on years of records takes long. Without these words a limit of the role or of the database would end each migration
 * in the middle, and records would wait in the journal for ever. wire: pg does not send a limit of 0.
 */
const beginUnhurried = 'begin; set local statement_timeout = 0; set local idle_in_transaction_session_timeout = 0';

/** Migrates on a connection of its own without a time limit for statements. */
async function migrateAt(url: string | null, limits: Partial<ClientConfig> = {}): Promise<void> {
  const client = new Client({ ...settingsOf(url), ...limits, ...patient });
  client.on('error', ignore);
  try {
    await client.connect();
    await migrateOn(client);
  } finally {
    await client.end();
  }
}

async function migrateOn(client: Client): Promise<void> {
  const connection = {
    run: async (sql: string) => void (await client.query(sql)),
    all: async (sql: string) => (await client.query(sql)).rows as Record<string, unknown>[],
    async transaction<T>(work: () => Promise<T>): Promise<T> {
      await client.query(beginUnhurried);
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
