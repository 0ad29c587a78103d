/** `gateway db status` and `gateway db migrate`: the tables of the log, and whether this version knows them. */
import type { Output } from './logs.ts';
import { printable } from './table.ts';

export interface MigrationLine {
  readonly id: number;
  readonly name: string;
  readonly isApplied: boolean;
}

/** The store that the config names, not opened. */
export interface Database {
  /** `sqlite /var/lib/gateway/logs.db`, or the address of a server without its password. */
  readonly place: string;
  /** Changes nothing. */
  migrations(): Promise<readonly MigrationLine[]>;
  migrate(): Promise<void>;
}

export async function showDatabase(database: Database, { json }: { json: boolean }, { print }: Pick<Output, 'print'>): Promise<void> {
  const migrations = await database.migrations();
  const waiting = migrations.filter(({ isApplied }) => !isApplied);
  if (json) return print(`${JSON.stringify({ store: database.place, upToDate: waiting.length === 0, migrations }, null, 2)}\n`);
  const lines = migrations.map(({ id, name, isApplied }) => `  ${String(id).padStart(3)}  ${isApplied ? 'applied' : 'waiting'}  ${name}\n`);
  const state = waiting.length === 0 ? 'up to date' : `${waiting.length} of ${migrations.length} migrations are waiting; the next start applies them, or: gateway db migrate`;
  return print(`store  ${printable(database.place)}\nstate  ${state}\n${lines.join('')}`);
}

export async function migrateDatabase(database: Database, flags: { json: boolean }, output: Pick<Output, 'print'>): Promise<void> {
  await database.migrate();
  await showDatabase(database, flags, output);
}
