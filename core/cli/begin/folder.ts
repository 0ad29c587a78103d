/** Keeps the process in a folder that exists: somebody may remove the one in which it was started, such as that of a former release. */
import { realpath } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type { Logger } from '../../logger.ts';

const lookMs = 1000;

/**
 * Goes into the folder of the config when that of this process is removed: without a folder the system starts no thread and no
 * process, so after a reload no record would reach the log, and no worker and no restart would begin.
 * @param config its absolute path
 */
export async function keepFolder(config: string, logger: Logger, moved: (config: string) => void): Promise<void> {
  const folder = dirname(config);
  for (;;) {
    await wait(lookMs, undefined, { ref: false });
    if (!(await realpath('.').then(() => false, isGone))) continue;
    try {
      process.chdir(folder);
    } catch {
      // the folder of the config is gone too, and may come back
      continue;
    }
    // workers and the next process get this command line, and its last --config counts
    if (process.argv.at(-1) !== config) process.argv.push('--config', config);
    moved(config);
    logger.warn('the folder in which the gateway was started does not exist any more; the gateway goes on in the folder of its config', {
      folder,
    });
  }
}

const isGone = (error: unknown): boolean => (error as NodeJS.ErrnoException | null)?.code === 'ENOENT';
