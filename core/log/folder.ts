import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Makes a folder for data, and the folders above it, for this user alone.
 * safety: one by one, because Node's own `recursive` never returns where the
 * system makes no folders, as in /proc, and hides why a read-only disk refuses
 */
export function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  makeFolder(dirname(folder));
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    // another process may have made it in this moment
    if (!existsSync(folder)) throw error;
  }
}
