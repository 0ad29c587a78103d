/** The commands of this plugin: `gateway db status` and `gateway db migrate`, about the tables of the log. */
import { Exit } from '../../../core/exit.ts';
import type { Command, CommandRun, Output } from '../../../core/host/command.ts';
import { printable } from '../../../core/table.ts';
import type { Database } from './store/database.ts';

/** The options of the plugin that name the store. */
export interface StoreOptions {
  readonly store: 'sqlite' | 'postgres';
  readonly url?: string;
  readonly retention_days: number;
}

export const databaseCommands: readonly Command<StoreOptions>[] = [
  { name: 'db status', summary: 'say where requests are stored, and which migrations are applied', run: (run) => withDatabase(run, (database) => showDatabase(database, run)) },
  { name: 'db migrate', summary: 'bring the store into the form that this version needs', run: (run) => withDatabase(run, (database) => migrateDatabase(database, run)) },
];

/** A fault of the store ends the program with code 4. */
async function withDatabase({ config, options }: CommandRun<StoreOptions>, work: (database: Database) => Promise<void>): Promise<void> {
  const { store, url = null, retention_days: retentionDays } = options;
  // cost: a gateway that serves opens the store in a worker, and need not load its code here
  const { databaseOf } = await import('./store/database.ts');
  try {
    await work(databaseOf({ store, url, dataDir: config.server.dataDir, retentionDays, isDurable: false }));
  } catch (cause) {
    throw new Exit(4, `The log store cannot be used: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
}

type Printing = Pick<Output, 'print'> & { readonly json: boolean };

export async function showDatabase(database: Pick<Database, 'place' | 'migrations'>, { json, print }: Printing): Promise<void> {
  const migrations = await database.migrations();
  const waiting = migrations.filter(({ isApplied }) => !isApplied);
  if (json) return print(`${JSON.stringify({ store: database.place, upToDate: waiting.length === 0, migrations }, null, 2)}\n`);
  const lines = migrations.map(({ id, name, isApplied }) => `  ${String(id).padStart(3)}  ${isApplied ? 'applied' : 'waiting'}  ${name}\n`);
  const state = waiting.length === 0 ? 'up to date' : `${waiting.length} of ${migrations.length} migrations are waiting; the next start applies them, or: gateway db migrate`;
  return print(`store  ${printable(database.place)}\nstate  ${state}\n${lines.join('')}`);
}

async function migrateDatabase(database: Database, printing: Printing): Promise<void> {
  await database.migrate();
  await showDatabase(database, printing);
}
