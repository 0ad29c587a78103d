import { closeSync, constants, existsSync, fchownSync, fstatSync, mkdirSync, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Makes a folder for data, and the folders above it, for this user alone; where root makes it, for the owner of the folder above it.
 * safety: one by one, because Node's own `recursive` never returns where the
 * system makes no folders, as in /proc, and hides why a read-only disk refuses
 */
export function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  makeFolder(dirname(folder));
  try {
    mkdirSync(folder, { mode: 0o700 });
    giveToOwner(folder);
  } catch (error) {
    // another process may have made it in this moment
    if (!existsSync(folder)) throw error;
  }
}

/** Gives what root has made to the owner of the folder `beside`: the gateway runs as that user, and could not use a file of root. */
export function giveToOwner(path: string, beside = dirname(path)): void {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = statSync(beside);
  let made: number | null = null;
  try {
    // safety: the owner of the folder may have put a link to a file of root at this path
    made = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW);
    const found = fstatSync(made);
    if (found.isDirectory() || found.nlink === 1) fchownSync(made, uid, gid);
  } catch {
    // root in a container may have no permission to change the owner
  } finally {
    if (made !== null) closeSync(made);
  }
}
