/**
 * The files of a journal: `<data_dir>/journal/<instance>/00000001.seg …`. Each instance has its own folder, with a `lock` that the
 * instance holds as long as it lives, and a `cursor`: the place up to which the store has the journal. The request thread and the
 * worker both use this module.
 */
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { v7 as uuid } from 'uuid';
import { makeFolder } from '../../../../core/log/folder.ts';

export const rootOf = (dataDir: string): string => join(dataDir, 'journal');
export const pathOf = (folder: string, segment: number): string => join(folder, `${String(segment).padStart(8, '0')}.seg`);

/** The numbers of the segments in a folder, in order. */
export function segmentsOf(folder: string): number[] {
  return readdirSync(folder)
    .flatMap((file) => (/^\d{8}\.seg$/.test(file) ? [Number.parseInt(file, 10)] : []))
    .sort((a, b) => a - b);
}

interface Claim {
  release(): void;
}

/**
 * Takes the lock of a folder; null while another instance holds it.
 * safety: the lock is the kernel's (by way of SQLite), and ends with its process however the process dies. A file with a process id
 * would be wrong across containers, and Node has no flock.
 */
export function claim(folder: string): Claim | null {
  let lock: DatabaseSync | null = null;
  try {
    lock = new DatabaseSync(join(folder, 'lock'));
    lock.exec('pragma busy_timeout = 0; pragma journal_mode = memory; begin exclusive');
  } catch {
    lock?.close();
    return null;
  }
  const held = lock;
  return {
    release() {
      if (held.isOpen) held.close();
    },
  };
}

export interface Instance {
  readonly folder: string;
  readonly claim: Claim;
}

/** Another instance may hold the lock of a new folder for a moment. If this many new folders cannot be locked, the disk has no locks. */
const mostTries = 20;

/** Makes a new folder and takes its lock. Throws where the data directory cannot be written, or has no locks. */
export function createInstance(root: string): Instance {
  makeFolder(root);
  for (let tries = 0; tries < mostTries; tries++) {
    const folder = join(root, uuid());
    mkdirSync(folder, { mode: 0o700 });
    const claimed = claim(folder);
    if (claimed === null) {
      rmSync(folder, { recursive: true, force: true });
      continue;
    }
    closeSync(openSync(pathOf(folder, 1), 'a', 0o600));
    // safety: before the lock was taken, another instance may have taken the folder for an orphan and removed the lock
    if (existsSync(join(folder, 'lock'))) return { folder, claim: claimed };
    claimed.release();
  }
  throw new Error(`no file in ${root} can be locked`);
}

/** Makes the folder of a running instance again, which somebody has deleted, and takes its lock. Throws where it cannot be made. */
export function remakeInstance({ folder, claim: former }: Instance): Instance {
  makeFolder(folder);
  const claimed = claim(folder);
  // safety: a disk that was unmounted may come back with the former folder. The lock of that folder must still be held then
  if (claimed !== null) return { folder, claim: { release: () => [claimed, former].forEach((one) => one.release()) } };
  rmSync(folder, { recursive: true, force: true });
  throw new Error(`no file in ${folder} can be locked`);
}

/**
 * Takes the locks of all folders whose instances are dead, and returns them.
 * @param closed is told of each folder into which this process may not look, for example that of another user
 */
export function adoptOrphans(root: string, mine: ReadonlySet<string>, closed?: (folder: string, error: unknown) => void): Instance[] {
  if (!existsSync(root)) return [];
  const names = readdirSync(root).filter((name) => /^[0-9a-f-]{36}$/.test(name));
  return names.flatMap((name) => {
    const folder = join(root, name);
    try {
      if (mine.has(folder) || statSync(join(folder, 'lock'), { throwIfNoEntry: false }) === undefined) return [];
    } catch (error) {
      closed?.(folder, error);
      return [];
    }
    const claimed = claim(folder);
    return claimed === null ? [] : [{ folder, claim: claimed }];
  });
}

/** Deletes a folder. Call this when the store has everything that is in it. */
export function removeInstance({ folder, claim: claimed }: Instance): void {
  rmSync(join(folder, 'lock'), { force: true });
  claimed.release();
  rmSync(folder, { recursive: true, force: true });
}

interface Cursor {
  readonly segment: number;
  readonly offset: number;
  /** Payloads of requests that started before this place and did not finish before it. */
  readonly open: readonly string[];
}

const beginning: Cursor = { segment: 0, offset: 0, open: [] };

/**
 * The place up to which the store has the journal. Where the cursor is lost or broken,
 * the journal is read from its start, and the store ignores rows that it has already.
 */
export function readCursor(folder: string): Cursor {
  try {
    const { segment, offset, open } = JSON.parse(readFileSync(join(folder, 'cursor'), 'utf8')) as Partial<Cursor>;
    return typeof segment === 'number' && typeof offset === 'number' && Array.isArray(open) ? { segment, offset, open } : beginning;
  } catch {
    return beginning;
  }
}

/**
 * Writes the cursor.
 * safety: when this returns, the cursor is on the disk under its final name. Only then may earlier segments be deleted.
 */
export function writeCursor(folder: string, cursor: Cursor): void {
  const next = join(folder, 'cursor.next');
  const file = openSync(next, 'w', 0o600);
  try {
    const bytes = Buffer.from(JSON.stringify(cursor));
    for (let at = 0; at < bytes.length;) at += writeSync(file, bytes, at);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(next, join(folder, 'cursor'));
}
