/** The file of the log in SQLite: opened, put aside where it is damaged, or created again where somebody has deleted it. */
import { closeSync, existsSync, openSync, renameSync, rmSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import type { SQLInputValue } from 'node:sqlite';
import { giveToOwner } from '../../../../core/log/folder.ts';
import { defineBody } from './blocks.ts';
import { isBroken } from './store.ts';

/** The open file. A damaged file is renamed and a new one is created, so that the journal can still be drained. */
export class SqliteFile {
  readonly #file: string;
  readonly #isDurable: boolean;
  #database: DatabaseSync | null = null;
  #inode: number | undefined;
  /** A damaged file whose keys are still to be copied. */
  #aside: string | null = null;

  constructor(file: string, isDurable: boolean) {
    this.#file = file;
    this.#isDurable = isDurable;
  }

  get database(): DatabaseSync {
    if (this.#database === null) throw new Error('the database is not open');
    return this.#database;
  }

  open(): DatabaseSync {
    this.#database ??= this.#opened();
    this.#inode = inodeOf(this.#file);
    return this.#database;
  }

  #opened(): DatabaseSync {
    try {
      return configured(this.#file, this.#isDurable);
    } catch (error) {
      if (!isBroken(error) || !existsSync(this.#file)) throw error;
      this.#aside = putAside(this.#file);
      return configured(this.#file, this.#isDurable);
    }
  }

  /** Copies the keys of a file that was put aside into this one. Call this when this file has its tables. */
  takeOver(): void {
    if (this.#aside !== null) keepKeys(this.database, this.#aside);
    this.#aside = null;
  }

  /** Puts the file aside. Damage in the middle of a file shows only while the file is used. */
  putAside(): void {
    this.close();
    // if the path leads to another file now, another process has put this one aside already
    if (inodeOf(this.#file) === this.#inode) this.#aside = putAside(this.#file);
  }

  /** Whether somebody has deleted or replaced the file. Anything that is written into the open file is lost when it is closed. */
  get isGone(): boolean {
    return this.#database !== null && inodeOf(this.#file) !== this.#inode;
  }

  /** Closes a file that was deleted or replaced. The next `open` opens the file at its path. */
  leave(): void {
    this.close();
    const how = beginsAnew(this.#file) ? 'was deleted, and a new one was begun' : 'is another file now, which is used from here on';
    process.emitWarning(`The log database ${this.#file} was in use and ${how}.`);
  }

  close(): void {
    this.#database?.close();
    this.#database = null;
  }
}

const inodeOf = (file: string): number | undefined => statSync(file, { throwIfNoEntry: false })?.ino;

/** Creates an empty file where there is none; false: there is one, perhaps from another process. */
function beginsAnew(file: string): boolean {
  try {
    closeSync(openSync(file, 'wx', 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
  // safety: -wal and -shm belong to the deleted file. A process that has it open keeps them; SQLite must not read them with the new file
  for (const part of ['-wal', '-shm']) rmSync(file + part, { force: true });
  return true;
}

/** Returns the new name. */
function putAside(file: string): string {
  const aside = `${file}.broken-${Date.now()}`;
  for (const part of ['', '-wal', '-shm']) if (existsSync(file + part)) renameSync(file + part, aside + part);
  process.emitWarning(`The log database was damaged; it is kept as ${aside}, and a new one was begun.`);
  return aside;
}

/** Callers' keys are in the file of the log too. The keys that can still be read are copied into the new file, with their history. */
function keepKeys(database: DatabaseSync, aside: string): void {
  for (const [table, columns] of Object.entries(ofKeys)) {
    try {
      copy(table, columns, { from: aside, to: database });
    } catch {
      process.emitWarning(
        `The table ${table} cannot be read in ${aside}. Callers' keys that were made at runtime may have to be made again.`,
      );
    }
  }
  // the numbers of changes continue, because a number that was given before would hide a change
  database.exec(`delete from sqlite_sequence where name = 'gateway_key_events'; insert into sqlite_sequence (name, seq)
    select 'gateway_key_events', max((select coalesce(max(id), 0) from gateway_key_events), (select coalesce(max(version), 0) from gateway_keys))`);
}

const ofKeys = {
  gateway_keys: ['name', 'version', 'data'],
  gateway_key_events: ['id', 'at', 'name', 'action', 'actor', 'address', 'details'],
};

function copy(table: string, columns: readonly string[], { from, to }: { from: string; to: DatabaseSync }): void {
  const damaged = new DatabaseSync(from, { readOnly: true });
  try {
    const keep = to.prepare(`insert or ignore into ${table} (${columns.join(', ')}) values (${columns.map(() => '?').join(', ')})`);
    for (const row of damaged.prepare(`select ${columns.join(', ')} from ${table}`).iterate()) {
      keep.run(...columns.map((column) => row[column] as SQLInputValue));
    }
  } finally {
    damaged.close();
  }
}

function configured(file: string, isDurable: boolean): DatabaseSync {
  // safety: the file holds prompts, so nobody else may read it; SQLite gives its other files the same rights
  closeSync(openSync(file, 'a', 0o600));
  if (statSync(file).size === 0) giveToOwner(file);
  const database = new DatabaseSync(file, { timeout: 5000 });
  try {
    // cost: the cache has 8 MB; one of 32 MB saves 2 of 68 µs a record, and stays in memory
    database.exec(`
      pragma page_size = 8192;
      pragma journal_mode = wal;
      pragma synchronous = ${isDurable ? 'full' : 'normal'};
      pragma cache_size = -8192;
      pragma temp_store = memory;
      pragma wal_autocheckpoint = 8000`);
    defineBody(database);
  } catch (error) {
    database.close();
    throw error;
  }
  return database;
}
