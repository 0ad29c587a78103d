/**
 * Brings the tables into the form that this program needs: migrations run
 * in order, with checksums, each in one transaction, one process at a time.
 */
import { hash } from 'node:crypto';

/** Refuses the start: the store answers, but its tables cannot be brought into the form that this program needs. */
export class MigrationError extends Error {
  readonly exitCode = 4;
}

export interface Migration {
  /** From 1, without gaps; never changed once released. */
  readonly id: number;
  readonly name: string;
  readonly sql: string;
}

export interface MigrationState {
  readonly id: number;
  readonly name: string;
  readonly isApplied: boolean;
  /** False: a newer version of the program has applied it. */
  readonly isKnown: boolean;
}

/** The connection that migrates. */
export interface Migrating {
  run(sql: string): Promise<void>;
  all(sql: string): Promise<readonly Record<string, unknown>[]>;
  /** Holds the migration lock during `work`. If `work` throws, it rolls back and throws the same error. */
  transaction<T>(work: () => Promise<T>): Promise<T>;
}

const ledger =
  'create table if not exists gateway_migrations (id integer primary key, name text not null, checksum text not null, applied_at text not null)';

export const checksumOf = ({ sql }: Migration): string => hash('sha256', sql);

const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`;

/** @param isTransient whether the store is at fault, not the migration. Such an error is thrown as it is, and the caller tries again */
export async function migrate(
  connection: Migrating,
  migrations: readonly Migration[],
  isTransient: (error: unknown) => boolean,
): Promise<void> {
  await connection.transaction(() => connection.run(ledger));
  for (const migration of migrations) {
    try {
      await connection.transaction(() => apply(connection, migration));
    } catch (error) {
      if (error instanceof MigrationError || isTransient(error)) throw error;
      throw new MigrationError(
        `The migration ${migration.id} (${migration.name}) of the log store failed and was rolled back: ${(error as Error).message}`,
        { cause: error },
      );
    }
  }
  const newer = await connection.all(`select id from gateway_migrations where id > ${migrations.length}`);
  if (newer.length > 0) {
    process.emitWarning(
      'The log store is newer than this program, which may not store or read all of its records; `gateway db status` says what to do.',
    );
  }
}

async function apply(connection: Migrating, migration: Migration): Promise<void> {
  const [known] = await connection.all(`select checksum from gateway_migrations where id = ${migration.id}`);
  const checksum = checksumOf(migration);
  if (known === undefined) {
    await connection.run(migration.sql);
    await connection.run(
      `insert into gateway_migrations (id, name, checksum, applied_at) values (${migration.id}, ${quoted(migration.name)}, '${checksum}', '${new Date().toISOString()}')`,
    );
  } else if (known['checksum'] !== checksum) {
    throw new MigrationError(
      `The migration ${migration.id} (${migration.name}) was applied to the log store in another form than this program knows. Use the version that applied it, or another database.`,
    );
  }
}

/** Which migrations are applied. A store with migrations that this program does not know is left unchanged, and is used. */
export async function stateOf(all: Migrating['all'], migrations: readonly Migration[]): Promise<readonly MigrationState[]> {
  const applied = new Map(
    (await all('select id, name from gateway_migrations order by id')).map(({ id, name }) => [Number(id), String(name)]),
  );
  const known = migrations.map(({ id, name }) => ({ id, name, isApplied: applied.has(id), isKnown: true }));
  const newer = [...applied].filter(([id]) => !migrations.some((migration) => migration.id === id));
  return [...known, ...newer.map(([id, name]) => ({ id, name, isApplied: true, isKnown: false }))];
}
