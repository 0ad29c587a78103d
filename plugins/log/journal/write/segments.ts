/**
 * Where a journal lies: `<data_dir>/journal/<instance>/00000001.seg …`, each instance in a folder of its own, with a `lock` that
 * is held as long as the instance lives and a `cursor` that says how far the store has it. Used by both threads.
 */
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, readdirSync, readFileSync, renameSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { v7 as uuid } from 'uuid';

export const rootOf = (dataDir: string): string => join(dataDir, 'journal');
export const pathOf = (folder: string, segment: number): string => join(folder, `${String(segment).padStart(8, '0')}.seg`);

/** Numbers of the segments there are, in order. */
export function segmentsOf(folder: string): number[] {
  return readdirSync(folder).flatMap((file) => (/^\d{8}\.seg$/.test(file) ? [Number.parseInt(file, 10)] : [])).sort((a, b) => a - b);
}

export interface Claim {
  release(): void;
}

/**
 * The right to a folder; null while another has it.
 * safety: the lock is the kernel's (by way of SQLite), and goes with its process however that dies. A file with a process id
 * would not tell the truth across containers, and Node has no flock.
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

/** A new folder, claimed. Throws where the data directory cannot be written. */
export function createInstance(root: string): Instance {
  mkdirSync(root, { recursive: true, mode: 0o700 });
  for (;;) {
    const folder = join(root, uuid());
    mkdirSync(folder, { mode: 0o700 });
    const claimed = claim(folder);
    if (claimed === null) continue;
    closeSync(openSync(pathOf(folder, 1), 'a', 0o600));
    // safety: somebody who looks for orphans may have taken the folder for one and removed its lock before it was held
    if (existsSync(join(folder, 'lock'))) return { folder, claim: claimed };
    claimed.release();
  }
}

/** Folders of instances that are no more, claimed. */
export function adoptOrphans(root: string, mine: ReadonlySet<string>): Instance[] {
  if (!existsSync(root)) return [];
  const names = readdirSync(root).filter((name) => /^[0-9a-f-]{36}$/.test(name));
  return names.flatMap((name) => {
    const folder = join(root, name);
    if (mine.has(folder) || !existsSync(join(folder, 'lock'))) return [];
    const claimed = claim(folder);
    return claimed === null ? [] : [{ folder, claim: claimed }];
  });
}

/** Gives up a folder of which nothing is wanted any more. */
export function removeInstance({ folder, claim: claimed }: Instance): void {
  rmSync(join(folder, 'lock'), { force: true });
  claimed.release();
  rmSync(folder, { recursive: true, force: true });
}

export interface Cursor {
  readonly segment: number;
  readonly offset: number;
  /** Payloads of requests that had started and not finished up to here. */
  readonly open: readonly string[];
}

const beginning: Cursor = { segment: 0, offset: 0, open: [] };

/** What the store has. A cursor that is lost or broken costs a replay, and rows that are there already are left alone. */
export function readCursor(folder: string): Cursor {
  try {
    const { segment, offset, open } = JSON.parse(readFileSync(join(folder, 'cursor'), 'utf8')) as Partial<Cursor>;
    return typeof segment === 'number' && typeof offset === 'number' && Array.isArray(open) ? { segment, offset, open } : beginning;
  } catch {
    return beginning;
  }
}

/** safety: on disk under its own name before any segment that it stands for is unlinked. */
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
