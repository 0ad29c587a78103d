/**
 * The store for `gateway db` and `gateway doctor`: reads which migrations it has
 * without changing it, applies the others, and says why the store takes no records.
 */
import { accessSync, constants, existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Client } from 'pg';
import type { MigrationState } from './migrations.ts';
import { stateOf } from './migrations.ts';
import { sqliteMigrations } from './sqlite-migrations.ts';
import { createStore } from './open.ts';
import { verified } from './postgres-address.ts';
import type { StoreSettings } from './store.ts';
import { sqliteFile } from './sqlite.ts';
import { rootOf } from '../write/segments.ts';

export interface Database {
  /** Its address without a password. */
  readonly place: string;
  migrations(): Promise<readonly MigrationState[]>;
  /** Why the database takes no records although it answers, and what to do; null: no reason is known. */
  hindrance(): Promise<{ readonly text: string; readonly fix: string } | null>;
  migrate(): Promise<void>;
}

const connectMs = 5000;

export function databaseOf(settings: StoreSettings): Database {
  const { store, url, dataDir } = settings;
  const isServer = store === 'postgres';
  return {
    place: isServer ? `postgres ${placeOf(url ?? '')}` : `sqlite ${sqliteFile(dataDir)}`,
    migrations: () => (isServer ? onServer(url ?? '', ofServer) : ofFile(sqliteFile(dataDir))),
    hindrance: async () => hindranceIn(settings) ?? (isServer ? await onServer(url ?? '', hindranceOn) : null),
    async migrate() {
      const opened = await createStore(settings);
      try {
        await opened.open();
      } finally {
        await opened.close();
      }
    },
  };
}

/** safety: an address that is no URL may hold its password anywhere, so it is not shown. */
function placeOf(url: string): string {
  const parsed = URL.parse(url);
  return parsed === null ? '(address not shown)' : `${parsed.host}${parsed.pathname}`;
}

/** Finds a file that this user may not read and write. `migrations` does not notice that, because it only reads, and only the store. */
function hindranceIn({ store, dataDir }: StoreSettings): { text: string; fix: string } | null {
  const root = rootOf(dataDir);
  const files = store === 'sqlite' ? ['', '-wal', '-shm'].map((part) => sqliteFile(dataDir) + part) : [];
  const closed =
    [...files, root].find(isClosed) ??
    (existsSync(root)
      ? readdirSync(root)
          .map((name) => join(root, name))
          .find(isClosed)
      : undefined);
  if (closed === undefined) return null;
  return {
    text: `does not get all records, because this user may not read and write ${closed}`,
    fix: 'give all of server.data_dir to the user of the gateway (chown -R)',
  };
}

function isClosed(path: string): boolean {
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
    return false;
  } catch (error) {
    // a disk that is mounted read-only, and a file in the place of the folder, are findings about the disk
    return !['ENOENT', 'ENOTDIR', 'EROFS'].includes((error as NodeJS.ErrnoException).code ?? '');
  }
}

const tableNames = "select name from sqlite_master where type = 'table' and name = 'gateway_migrations'";

async function ofFile(file: string): Promise<readonly MigrationState[]> {
  if (!existsSync(file)) return await stateOf(async () => [], sqliteMigrations);
  const database = new DatabaseSync(file, { readOnly: true, timeout: connectMs });
  try {
    const isBegun = database.prepare(tableNames).get() !== undefined;
    return await stateOf(async (sql) => (isBegun ? database.prepare(sql).all() : []), sqliteMigrations);
  } finally {
    database.close();
  }
}

async function onServer<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  const { Client } = await import('pg');
  const client = new Client({ connectionString: verified(url), connectionTimeoutMillis: connectMs, query_timeout: connectMs });
  // safety: without a listener an error of the connection ends the process
  client.on('error', () => {});
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

async function ofServer(client: Client): Promise<readonly MigrationState[]> {
  const { postgresMigrations } = await import('./postgres-migrations.ts');
  const { rows } = await client.query<{ found: string | null }>("select to_regclass('gateway_migrations') as found");
  const isBegun = rows[0]?.found != null;
  return await stateOf(async (sql) => (isBegun ? (await client.query<Record<string, unknown>>(sql)).rows : []), postgresMigrations);
}

/** Only the owner of a table can add a partition to it, so the user needs more than the right to insert. */
const standing = `
  select current_user as name, current_setting('transaction_read_only') = 'on' as "isReadOnly", current_setting('server_encoding') as encoding,
  current_schema() as schema, coalesce(has_schema_privilege(current_schema()::text, 'CREATE'), false) as "mayCreate",
  (
    select string_agg(relname, ', ' order by relname) from pg_class
    where relnamespace = (select oid from pg_namespace where nspname = current_schema()) and relname like 'gateway\\_%'
    and relkind in ('r', 'p') and not pg_has_role(relowner, 'USAGE')
  ) as foreign`;

interface Standing {
  readonly name: string;
  readonly isReadOnly: boolean;
  readonly encoding: string;
  readonly schema: string | null;
  readonly mayCreate: boolean;
  readonly foreign: string | null;
}

async function hindranceOn(client: Client): Promise<{ text: string; fix: string } | null> {
  const { name, isReadOnly, encoding, schema, mayCreate, foreign } = (await client.query<Standing>(standing)).rows[0] as Standing;
  if (isReadOnly) {
    return {
      text: 'takes no records, because it is read-only',
      fix: 'set url of log/journal to the address of the primary; if it is that already, look at default_transaction_read_only',
    };
  }
  if (schema === null) return { text: `has no schema for tables: none of the search_path of ${name} is there`, fix: 'create one of them' };
  if (!mayCreate) {
    return {
      text: `takes no records of a new week, because ${name} may not create tables in the schema ${schema}`,
      fix: `grant create on schema ${schema} to ${name}`,
    };
  }
  if (foreign !== null) {
    return { text: `takes no records of a new week, because ${name} does not own ${foreign}`, fix: `alter table … owner to ${name}` };
  }
  // SQL_ASCII stores every byte as it is, so UTF-8 text stays whole
  if (encoding !== 'UTF8' && encoding !== 'SQL_ASCII') {
    return {
      text: `is in ${encoding}, so records with other characters become dead letters`,
      fix: 'set url of log/journal to a database with the encoding UTF8',
    };
  }
  return null;
}
