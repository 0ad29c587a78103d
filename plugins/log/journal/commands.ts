/** The commands of this plugin, about the store of the log. */
import { Exit } from '../../../core/exit.ts';
import type { Finding } from '../../../core/host/plugin.ts';
import type { Command, CommandRun, Output } from '../../../core/host/command.ts';
import { jsonText, printable } from '../../../core/table.ts';
import type { Database } from './store/database.ts';
import type { MigrationState } from './store/migrations.ts';
import { faultOfAddress } from './store/postgres-address.ts';
import { codeOf, reasonOf } from './store/store.ts';
import type { StoreSettings } from './store/store.ts';

/** The options of the plugin that name the store. */
interface StoreOptions {
  readonly store: 'sqlite' | 'postgres';
  readonly url?: string;
  readonly retention_days: number;
}

export const databaseCommands: readonly Command<StoreOptions>[] = [
  {
    name: 'db status',
    summary: 'say where requests are stored, and which migrations are applied',
    run: (run) => withDatabase(run, (database) => showDatabase(database, run)),
  },
  {
    name: 'db migrate',
    summary: 'bring the store into the form that this version needs',
    run: (run) =>
      withDatabase(run, async (database) => {
        await database.migrate();
        await showDatabase(database, run);
      }),
  },
  {
    name: 'logs prune',
    summary: 'delete the records that are older than a span of time, now',
    flags: { 'older-than': { type: 'string', value: 'SPAN', help: 'such as 90d, 12h or 4w' } },
    examples: ['gateway logs prune --older-than 90d'],
    run: (run) => withStore(run, async (settings) => await (await import('./upkeep.ts')).prune(settings, run)),
  },
  {
    name: 'backup',
    summary: 'copy the log and the admin key into a new folder, while the gateway runs',
    words: 'FOLDER',
    examples: ['gateway backup /var/backups/gateway-monday'],
    run: (run) => withStore(run, async (settings) => await (await import('./upkeep.ts')).backUp(settings, run)),
  },
];

async function withDatabase(run: CommandRun<StoreOptions>, work: (database: Database) => Promise<void>): Promise<void> {
  // cost: a gateway that serves opens the store in a worker, so this thread need not load its code
  const { databaseOf } = await import('./store/database.ts');
  await withStore(run, async (settings) => await work(databaseOf(settings)));
}

const settingsOf = (dataDir: string, { store, url, retention_days: retentionDays }: StoreOptions): StoreSettings => ({
  store,
  url: url ?? null,
  dataDir,
  retentionDays,
  isDurable: false,
});

/** A fault of the store ends the program with code 4. */
async function withStore({ config, options }: CommandRun<StoreOptions>, work: (settings: StoreSettings) => Promise<void>): Promise<void> {
  const settings = settingsOf(config.server.dataDir, options);
  try {
    await work(settings);
  } catch (cause) {
    if (cause instanceof Exit) throw cause;
    const { databaseOf } = await import('./store/database.ts');
    throw new Exit(4, `The log store cannot be used: ${reasonOf(cause)} (${databaseOf(settings).place})`, { cause });
  }
}

/** What `gateway doctor` says of the store. */
export async function checkStore(dataDir: string, options: StoreOptions): Promise<Finding> {
  const part = 'store';
  const fault = options.store === 'postgres' ? faultOfAddress(options.url ?? null) : null;
  if (fault !== null) return { part, state: 'fault', text: `postgres cannot be used: ${fault}` };
  const { databaseOf } = await import('./store/database.ts');
  const database = databaseOf(settingsOf(dataDir, options));
  try {
    const hindrance = await database.hindrance();
    if (hindrance !== null) return { part, state: 'fault', text: `${database.place} ${hindrance.text}`, fix: hindrance.fix };
    const migrations = await database.migrations();
    if (migrations.some(({ isKnown }) => !isKnown)) return { part, state: 'fault', text: `${database.place} is ${stateText(migrations)}` };
    const applied = migrations.filter(({ isApplied }) => isApplied).length;
    if (applied === migrations.length) return { part, state: 'good', text: `${database.place}: up to date` };
    return {
      part,
      state: 'note',
      text: `${database.place}: ${applied === 0 ? 'empty, the first start prepares it' : 'the next start brings it into the form of this version'}`,
    };
  } catch (error) {
    return {
      part,
      state: 'fault',
      text: `${database.place} cannot be used: ${reasonOf(error)}`,
      fix: options.store === 'postgres' ? 'start the database, or fix url of log/journal' : fixOf(error),
    };
  }
}

/** SQLITE_IOERR and SQLITE_FULL. SQLite reports SQLITE_IOERR also where the disk has no room for the files beside the database. */
const ofDisk = new Set([10, 13]);

const fixOf = (error: unknown): string =>
  ofDisk.has(codeOf(error))
    ? 'make space on the disk; if it has space, the disk may have a fault (dmesg)'
    : 'give the file to the user of the gateway';

type Printing = Pick<Output, 'print'> & { readonly json: boolean };

export async function showDatabase(database: Pick<Database, 'place' | 'migrations'>, { json, print }: Printing): Promise<void> {
  const migrations = await database.migrations();
  const isNewer = migrations.some(({ isKnown }) => !isKnown);
  const upToDate = !isNewer && migrations.every(({ isApplied }) => isApplied);
  if (json) return print(jsonText({ store: database.place, upToDate, isNewer, migrations }));
  const lines = migrations.map(
    ({ id, name, isApplied, isKnown }) =>
      `  ${String(id).padStart(3)}  ${isKnown ? (isApplied ? 'applied' : 'waiting') : 'newer  '}  ${printable(name)}\n`,
  );
  return print(`store  ${printable(database.place)}\nstate  ${stateText(migrations)}\n${lines.join('')}`);
}

function stateText(migrations: readonly MigrationState[]): string {
  const known = migrations.filter(({ isKnown }) => isKnown);
  const waiting = known.filter(({ isApplied }) => !isApplied);
  const newer = migrations.length - known.length;
  if (newer > 0) {
    return `newer than this program: another version has applied ${newer} migration${newer === 1 ? '' : 's'} that this one does not know; go back to that version, or restore the backup from before it`;
  }
  return waiting.length === 0
    ? 'up to date'
    : `${waiting.length} of ${migrations.length} migrations are waiting; the next start applies them, or: gateway db migrate`;
}
