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

/** What root makes belongs to the owner of the data beside it, as that is the user of the gateway, which could not use a file of root. */
export function giveToOwner(path: string, beside = dirname(path)): void {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = statSync(beside);
  let made: number | null = null;
  try {
    // safety: that owner may have put a link to a file of root in its place
    made = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW);
    const found = fstatSync(made);
    if (found.isDirectory() || found.nlink === 1) fchownSync(made, uid, gid);
  } catch {
    // the root of a container may not be allowed to
  } finally {
    if (made !== null) closeSync(made);
  }
}
