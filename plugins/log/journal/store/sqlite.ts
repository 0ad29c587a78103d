/** Records in one file beside the gateway, by the SQLite that Node brings. A query blocks its thread, so only the worker uses it. */
import { join } from 'node:path';
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import type { FieldKind } from '../../../../core/log/fields.ts';
import { makeFolder } from '../../../../core/log/folder.ts';
import { migrate } from './migrations.ts';
import type { Migrating } from './migrations.ts';
import { sqliteMigrations } from './sqlite-migrations.ts';
import { parsedJson, requestColumns, tagsOf } from '../sql/rows.ts';
import type { RequestRow, Row } from '../sql/rows.ts';
import { askedColumns, attemptColumns } from '../sql/attempts.ts';
import type { AttemptRow } from '../sql/attempts.ts';
import { Roller } from '../sums/roller.ts';
import { complete, periodsOf, spans } from '../sums/rollup.ts';
import { unfilled } from '../sql/backfill.ts';
import type { Filled } from '../sql/backfill.ts';
import { bodySql, forgetBody, insertBodies, prepareBlocks } from './blocks.ts';
import type { BlockStatements, StoredBody } from './blocks.ts';
import { SqliteFile } from './sqlite-file.ts';
import { createKeyStore } from './keys.ts';
import type { Steps } from './keys.ts';
import { createReader } from './read.ts';
import { queriesOf } from '../sql/engine.ts';
import type { Engine, Statement } from '../sql/engine.ts';
import type { Grammar } from '../sql/where.ts';
import { firstIdAt, idOfHex, isId, timeOfId } from '../../../../core/log/record-id.ts';
import { codeOf, floorOf, isBroken } from './store.ts';
import type { Store, StoreSettings } from './store.ts';

const grammar: Grammar = {
  id: bytesOf,
  idOf: textOf,
  keyedText: ({ part, key }, bind) => (part === 'metadata' ? metadataText(key, bind) : fieldText(key, bind)),
  fieldNumber(name, bind) {
    const path = bind(`$."${name}"`);
    return `(case when json_type(r.fields, ${path}) in ('integer', 'real') then r.fields ->> ${path} end)`;
  },
  like: 'like',
  body: bodySql,
  searched: bodySql,
  list: (column) => `json_group_array(${column})`,
  keys: (part) => `json_each(r.${part}) j`,
};

type Bind = (value: unknown) => string;

/** cost: `->>` is faster than `json_each`, but may read a name with special characters as a JSON path. */
const metadataText = (key: string, bind: Bind): string =>
  /^\w[\w.-]*$/.test(key) ? `(r.metadata ->> ${bind(key)})` : `(select value from json_each(r.metadata) where key = ${bind(key)})`;

/** Numbers and flags as they are written in the JSON: `->>` would return true as 1, and a number with 15 digits. */
function fieldText(name: string, bind: Bind): string {
  const path = bind(`$."${name}"`);
  return `(case json_type(r.fields, ${path}) when 'text' then r.fields ->> ${path} else r.fields -> ${path} end)`;
}

/**
 * The values of `$1`, `$2` and so on. Node before 22.20 and 24.7 binds no value to a placeholder with a number, as `?1`, but to one with a name.
 * cost: SQLite looks each name up in the list of all, which takes 30 ms for two thousand, the most that a query has.
 */
const bound = (values: readonly unknown[]): Record<string, SQLInputValue> =>
  Object.fromEntries(values.map((value, index) => [`$${index + 1}`, value as SQLInputValue]));

function bytesOf(id: string): Buffer {
  return Buffer.from(id.replaceAll('-', ''), 'hex');
}

function textOf(value: unknown): string {
  return idOfHex(Buffer.from(value as Uint8Array).toString('hex'));
}

/** SQLITE_TOOBIG, CONSTRAINT, MISMATCH, RANGE: one of the rows is at fault. */
const ofRows = new Set([18, 19, 20, 25]);

/**
 * cost: rows of a small batch are garbage before V8 moves them to the old generation. With 1,000 rows a request costs 5 % more CPU
 * and the process takes 30 MB more, for a backlog that is drained an eighth quicker.
 */
const batch = 250;

/** How many rows one step of the retention deletes. cost: the drain waits for a step, a few milliseconds. */
const rowsAtOnce = 500;

interface Statements extends BlockStatements {
  readonly request: StatementSync;
  readonly tag: StatementSync;
  readonly attempt: StatementSync;
  readonly unroll: StatementSync;
}

const attemptNames = Object.keys(attemptColumns) as (keyof AttemptRow)[];

/** The statement leaves a row that is there already as it is. */
const insertSql = (table: string, columns: readonly string[]): string =>
  `insert into ${table} (${columns.join(', ')}) values (${columns.map(() => '?').join(', ')}) on conflict do nothing`;

const prepareInserts = (database: DatabaseSync): Statements => ({
  request: database.prepare(
    insertSql(
      'gateway_requests',
      requestColumns.map(({ column }) => column),
    ),
  ),
  ...prepareBlocks(database),
  tag: database.prepare(insertSql('gateway_tags', ['name', 'value', 'id'])),
  attempt: database.prepare(insertSql('gateway_attempts', attemptNames)),
  unroll: database.prepare('delete from gateway_rollup where starts_at = ? and span_ms = ?'),
});

export const sqliteFile = (dataDir: string): string => join(dataDir, 'logs.db');

/** Opens the file with its tables, and opens it again where it was damaged, deleted or replaced. */
function tablesIn({ dataDir, isDurable }: Pick<StoreSettings, 'dataDir' | 'isDurable'>) {
  let inserts: Statements | null = null;
  /** True: a deleted, replaced or damaged file was closed, and no other file is open yet, for example because the disk has no room. */
  let isLeft = false;
  const file = new SqliteFile(sqliteFile(dataDir), isDurable);
  const opened = (): DatabaseSync => file.database;
  const migrated = async (): Promise<void> => await migrate(migrating(file.open()), sqliteMigrations, (error) => codeOf(error) !== 1);
  const open = async (): Promise<void> => {
    makeFolder(dataDir);
    try {
      await migrated();
    } catch (error) {
      if (!isBroken(error)) throw error;
      // safety: a migration reads whole tables. Without this line, damage in
      // them would end every try, and no record would ever leave the journal
      file.putAside();
      await migrated();
    }
    file.takeOver();
    inserts = prepareInserts(opened());
    isLeft = false;
  };
  const leave = (how: () => void): void => {
    inserts = null;
    isLeft = true;
    how();
  };
  const openAnew = async (): Promise<void> => {
    if (file.isGone) leave(() => file.leave());
    if (isLeft) await open();
  };
  let renewing: Promise<void> = Promise.resolve();
  /** Call this before a change: a change in a deleted file would be lost with it. Calls wait for each other. */
  const renew = (): Promise<void> => {
    renewing = renewing.catch(() => {}).then(openAnew);
    return renewing;
  };
  const insert = async (rows: readonly Row[]): Promise<void> => {
    await renew();
    try {
      insertRows(opened(), inserts, rows);
    } catch (error) {
      if (!isBroken(error)) throw error;
      // safety: otherwise records would wait in the journal for ever
      leave(() => file.putAside());
      await open();
      insertRows(opened(), inserts, rows);
    }
  };
  const close = async (): Promise<void> => {
    file.close();
    inserts = null;
  };
  return { opened, open, renew, insert, close };
}

export function createSqliteStore({ retentionDays, ...place }: StoreSettings): Store {
  const { opened, open, renew, insert, close } = tablesIn(place);
  const engine: Engine = {
    grammar,
    isSerial: true,
    all: async (sql: string, params: readonly unknown[]) => opened().prepare(sql).all(bound(params)),
    floor: () => floorOf(retentionDays, Date.now()),
    swap: async (first, second) => within(opened(), () => swap(opened(), first, second)),
  };
  const changed = async <T>(work: () => T): Promise<T> => {
    await renew();
    return within(opened(), work);
  };
  const roller = new Roller(engine);
  return {
    batch,
    ...createReader(engine),
    keyStore: createKeyStore({
      ...grammar,
      all: engine.all,
      change: (steps) => changed(() => runSteps(opened(), steps)),
      list: 'json_each($1) k',
    }),
    open,
    insert,
    ping: async () => void opened().prepare('select 1').get(),
    async retain(before, isExact = false) {
      opened()
        .prepare('delete from gateway_rollup where starts_at < ?')
        .run(isExact ? before : before - spans[0]);
      return deleteSome(opened(), firstIdAt(before));
    },
    async roll() {
      const rows = await unfilled(queriesOf(engine));
      return rows.length === 0 ? await roller.step(Date.now()) : fillIn(opened(), rows);
    },
    blame: (error) => (ofRows.has(codeOf(error)) || error instanceof RangeError || error instanceof TypeError ? 'row' : 'store'),
    forget: async (id) => isId(id) && (await changed(() => forgetTexts(opened(), bytesOf(id)))),
    close,
  };
}

function within<T>(database: DatabaseSync, work: () => T): T {
  database.exec('begin immediate');
  try {
    const result = work();
    database.exec('commit');
    return result;
  } catch (error) {
    if (database.isTransaction) database.exec('rollback');
    throw error;
  }
}

function insertRows(database: DatabaseSync, statements: Statements | null, rows: readonly Row[]): void {
  if (statements === null) throw new Error('the database is not open');
  within(database, () => {
    const bodies: StoredBody[] = [];
    for (const row of rows) {
      const id = bytesOf(row.request.id);
      if (insertRow(statements, row, id) && row.body !== null) bodies.push({ id, body: row.body });
    }
    insertBodies(statements, bodies);
    for (const { span, start } of periodsOf(rows.map(({ request }) => timeOfId(request.id)))) statements.unroll.run(start, span);
  });
}

/** False: the row was there before. */
function insertRow({ request, tag, attempt }: Statements, row: Row, id: Buffer): boolean {
  const cells = requestColumns.map(({ column, kind }) => (kind === 'id' ? id : cellOf(row.request[column] ?? null, kind)));
  const { changes } = request.run(...cells);
  if (changes === 0) return false;
  for (const [name, value] of tagsOf(row.request)) tag.run(name, value, id);
  for (const one of row.attempts) insertAttempt(attempt, one);
  return true;
}

function insertAttempt(statement: StatementSync, row: AttemptRow): void {
  statement.run(...attemptNames.map((name) => cellOf(row[name], name === 'id' ? 'id' : 'text')));
}

function fillIn(database: DatabaseSync, rows: readonly Filled[]): true {
  const update = database.prepare(
    `update gateway_requests set ${askedColumns.map(({ column }) => `${column} = ?`).join(', ')} where id = ?`,
  );
  const { attempt } = prepareInserts(database);
  const incomplete = database.prepare('delete from gateway_rollup where starts_at = ? and span_ms = ? and dimension = ?');
  within(database, () => {
    for (const { id, asked, attempts } of rows) {
      update.run(...askedColumns.map(({ column, kind }) => cellOf(asked[column], kind)), bytesOf(id));
      for (const one of attempts) insertAttempt(attempt, one);
    }
    for (const { span, start } of periodsOf(rows.map(({ id }) => timeOfId(id)))) incomplete.run(start, span, complete);
  });
  return true;
}

function cellOf(value: RequestRow[string], kind: FieldKind): SQLInputValue {
  if (value === null) return null;
  if (kind === 'id') return bytesOf(value as string);
  if (kind === 'dollars') return BigInt(value as string);
  if (typeof value === 'object') return JSON.stringify(value);
  return typeof value === 'boolean' ? Number(value) : value;
}

function deleteSome(database: DatabaseSync, before: string): boolean {
  const found = database
    .prepare('select id, metadata, fields from gateway_requests where id < ? order by id limit ?')
    .all(bytesOf(before), rowsAtOnce);
  if (found.length === 0) return false;
  const last = found.at(-1)?.['id'] as Uint8Array;
  within(database, () => {
    const tag = database.prepare('delete from gateway_tags where name = ? and value = ? and id = ?');
    for (const { id, metadata, fields } of found) {
      const row = { metadata: parsedJson(metadata), fields: parsedJson(fields) } as Pick<RequestRow, 'metadata' | 'fields'>;
      for (const [name, value] of tagsOf(row)) tag.run(name, value, id as Uint8Array);
    }
    database.prepare('delete from gateway_bodies where id <= ?').run(last);
    database.prepare('delete from gateway_attempts where id <= ?').run(last);
    database.prepare('delete from gateway_body_blocks where last <= ?').run(last);
    database.prepare('delete from gateway_requests where id <= ?').run(last);
  });
  return true;
}

function forgetTexts(database: DatabaseSync, id: Uint8Array): boolean {
  database.prepare('update gateway_requests set prompt_start = null where id = ?').run(id);
  return forgetBody(database, id);
}

function swap(database: DatabaseSync, first: Statement, second: Statement): void {
  const run = ({ sql, values }: Statement): number => Number(database.prepare(sql).run(bound(values)).changes);
  if (run(first) > 0) run(second);
}

function runSteps<T>(database: DatabaseSync, steps: Steps<T>): T {
  let step = steps.next();
  while (step.done !== true) {
    const [sql, params] = step.value;
    step = steps.next(database.prepare(sql).all(bound(params)));
  }
  return step.value;
}

function migrating(database: DatabaseSync): Migrating {
  return {
    run: async (sql) => database.exec(sql),
    all: async (sql) => database.prepare(sql).all(),
    async transaction(work) {
      // one process migrates, others wait for it up to the timeout
      database.exec('begin exclusive');
      try {
        const result = await work();
        database.exec('commit');
        return result;
      } catch (error) {
        if (database.isTransaction) database.exec('rollback');
        throw error;
      }
    },
  };
}
