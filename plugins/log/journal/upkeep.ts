/** `gateway logs prune` and `gateway backup`. Both may run beside a gateway that serves. */
import { closeSync, copyFileSync, existsSync, openSync, readdirSync, renameSync, rmSync, statfsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';
import { Exit, messageOf, UsageError } from '../../../core/exit.ts';
import { adminKeyFile } from '../../../core/host/admin-key.ts';
import type { CommandRun } from '../../../core/host/command.ts';
import { giveToOwner, makeFolder } from '../../../core/log/folder.ts';
import { spanOfFlag } from '../../../core/log/query.ts';
import { createStore } from './store/open.ts';
import { sqliteFile } from './store/sqlite.ts';
import type { Store, StoreSettings } from './store/store.ts';

export async function prune(
  settings: StoreSettings,
  { flags, json, print, say }: Pick<CommandRun, 'flags' | 'json' | 'print' | 'say'>,
): Promise<void> {
  const span = flags.text('older-than');
  if (span === null) throw new UsageError('gateway logs prune needs --older-than, for example --older-than 90d');
  const before = Date.now() - spanOfFlag('older-than', span);
  const store = await createStore({ ...settings, retentionDays: 0 });
  try {
    await store.open();
    const [all, older] = [await count(store, null), await count(store, before)];
    while (await store.retain(before, true));
    // new records may come meanwhile, so only the older ones are counted again
    const left = await count(store, before);
    const deleted = older - left;
    const room = settings.store === 'sqlite' ? giveBack(settings.dataDir) : '';
    const date = new Date(before).toISOString();
    // a gateway that starts reads from the log what its budgets have spent
    if (deleted > 0) say(`A budget that began before ${date} forgets what these requests cost when the gateway starts again.\n`);
    if (json) return print(`${JSON.stringify({ deleted, before: date })}\n`);
    return print(
      `${deleted} of ${all} records deleted: those before ${date}.${left > 0 ? ` ${left} older ones go with the rest of their week, which PostgreSQL drops as a whole.` : ''}${room}\n`,
    );
  } finally {
    await store.close();
  }
}

/** The file is made smaller where at least this share of it is empty. */
const worthwhile = 0.25;
const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;

/**
 * Gives the room of deleted records back to the disk: SQLite would keep that room in its file, for new records.
 * Returns what the operator reads about the file; empty where less than a quarter of the file is empty.
 */
function giveBack(dataDir: string): string {
  // the folder that SQLite takes for temporary files by default may be in memory
  process.env['SQLITE_TMPDIR'] ??= dataDir;
  const database = new DatabaseSync(sqliteFile(dataDir), { timeout: 5000 });
  try {
    const pragma = (name: string): number => Number(Object.values(database.prepare(`pragma ${name}`).get() ?? {})[0]);
    const [empty, all, pageBytes] = [pragma('freelist_count'), pragma('page_count'), pragma('page_size')];
    if (empty < all * worthwhile) return '';
    const { bavail, bsize } = statfsSync(dataDir);
    // `vacuum` writes the records that stay into a temporary file, and from there into the write-ahead log (-wal)
    const needed = 2 * (all - empty) * pageBytes;
    // safety: if `vacuum` filled the disk, a gateway that serves could write no records
    if (bavail * bsize < needed) {
      return ` The file keeps its size, because ${megabytes(needed)} of free disk are needed to make it smaller; new records use its empty ${megabytes(empty * pageBytes)}.`;
    }
    database.exec('vacuum; pragma wal_checkpoint(truncate)');
    return ` The file is made smaller by ${megabytes((all - pragma('page_count')) * pageBytes)}.`;
  } catch (error) {
    return ` The file keeps its size (${messageOf(error)}); new records use its empty part.`;
  } finally {
    database.close();
  }
}

async function count(store: Store, before: number | null): Promise<number> {
  const rows = await store.stats({ from: null, to: before, conditions: [], text: null }, { by: null, limit: 1 });
  return rows.reduce((sum, { requests }) => sum + requests, 0);
}

export async function backUp(
  { store, dataDir }: StoreSettings,
  { words, json, print, openLog }: Pick<CommandRun, 'words' | 'json' | 'print' | 'openLog'>,
): Promise<void> {
  const [name] = words;
  if (name === undefined || words.length > 1) {
    throw new UsageError('gateway backup needs the name of one folder: gateway backup /var/backups/gateway-monday');
  }
  if (store === 'postgres') {
    throw new Exit(
      1,
      `The log is in PostgreSQL, which has its own tools: pg_dump --table 'gateway_*' --format custom "$DATABASE_URL". What else must be kept is the config and, where it exists, ${adminKeyFile(dataDir)}`,
    );
  }
  const folder = resolve(name);
  refuseFull(folder);
  // first store what a killed gateway left in its journal
  await openLog();
  // another backup may have begun in this folder meanwhile
  let isOurs = false;
  try {
    const unfinished = begin(folder);
    isOurs = true;
    await copyInto(folder, { unfinished, dataDir });
  } catch (cause) {
    // safety: the files of another backup in this folder are not deleted
    if (!isOurs) refuseFull(folder);
    else for (const file of readdirSync(folder)) rmSync(join(folder, file));
    throw new Exit(4, `The backup to ${folder} failed, and nothing of it is left there: ${messageOf(cause)}`, { cause });
  }
  const files = readdirSync(folder).map((file) => join(folder, file));
  if (json) return print(`${JSON.stringify({ folder, files })}\n`);
  return print(`${files.join('\n')}\nThe folder can be the data_dir of a gateway. The config file and its .env are not in it.\n`);
}

function refuseFull(folder: string): void {
  if (existsSync(folder) && readdirSync(folder).length > 0) throw new UsageError(`${folder} is not empty, and a backup overwrites nothing`);
}

/** Makes the file into which the log is copied. */
function begin(folder: string): string {
  refuseFull(folder);
  makeFolder(folder);
  const unfinished = `${sqliteFile(folder)}.unfinished`;
  // safety: a file that SQLite makes may be read by all users of the machine, and all prompts are in it
  closeSync(openSync(unfinished, 'wx', 0o600));
  return unfinished;
}

/** safety: the copy gets the name of a log last, so a backup that is killed leaves no part of a log that could be taken for the whole. */
async function copyInto(folder: string, { unfinished, dataDir }: { readonly unfinished: string; readonly dataDir: string }): Promise<void> {
  const database = new DatabaseSync(sqliteFile(dataDir), { readOnly: true, timeout: 5000 });
  try {
    // safety: SQLite begins a copy anew when another process has written meanwhile, and a
    // large log under traffic would never be copied. An open read transaction shows the copy one unchanged state of the log
    database.exec('begin; select 1 from sqlite_master');
    await backup(database, unfinished);
  } finally {
    database.close();
  }
  const key = adminKeyFile(dataDir);
  if (existsSync(key)) copyFileSync(key, adminKeyFile(folder));
  for (const path of [...readdirSync(folder).map((file) => join(folder, file)), folder]) giveToOwner(path, dataDir);
  renameSync(unfinished, sqliteFile(folder));
}
