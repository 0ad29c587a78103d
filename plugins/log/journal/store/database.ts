/** The store for `gateway db`: reads which migrations it has without changing it, and applies the others. */
import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import type { MigrationState } from './migrations.ts';
import { stateOf } from './migrations.ts';
import { sqliteMigrations } from './sqlite-migrations.ts';
import { createStore } from './open.ts';
import { verified } from './postgres-address.ts';
import type { StoreSettings } from './store.ts';
import { sqliteFile } from './sqlite.ts';

export interface Database {
  /** Its address without a password. */
  readonly place: string;
  migrations(): Promise<readonly MigrationState[]>;
  migrate(): Promise<void>;
}

const connectMs = 5000;

export function databaseOf(settings: StoreSettings): Database {
  const { store, url, dataDir } = settings;
  const isServer = store === 'postgres';
  return {
    place: isServer ? `postgres ${placeOf(url ?? '')}` : `sqlite ${sqliteFile(dataDir)}`,
    migrations: () => (isServer ? ofServer(url ?? '') : ofFile(sqliteFile(dataDir))),
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

async function ofServer(url: string): Promise<readonly MigrationState[]> {
  const [{ Client }, { postgresMigrations }] = await Promise.all([import('pg'), import('./postgres-migrations.ts')]);
  const client = new Client({ connectionString: verified(url), connectionTimeoutMillis: connectMs, query_timeout: connectMs });
  // safety: without a listener an error of the connection ends the process
  client.on('error', () => {});
  await client.connect();
  try {
    const { rows } = await client.query<{ found: string | null }>("select to_regclass('gateway_migrations') as found");
    const isBegun = rows[0]?.found != null;
    return await stateOf(async (sql) => (isBegun ? (await client.query<Record<string, unknown>>(sql)).rows : []), postgresMigrations);
  } finally {
    await client.end();
  }
}
