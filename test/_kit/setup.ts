import { accessSync, chmodSync, constants, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { lackText } from './machine.ts';
import type { Lack } from './machine.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    readonly lacks: readonly Lack[];
  }
}

const memory = '/dev/shm';
const gibibyte = 2 ** 30;

/**
 * The folder for the files of the tests: in memory, where there is enough.
 * cost: a run makes thousands of files that live for seconds. In memory it takes 6 % less time than on an ext4 disk.
 */
function spacious(): string {
  if (process.env['TMPDIR'] !== undefined) return tmpdir();
  try {
    accessSync(memory, constants.W_OK | constants.X_OK);
    const { bavail, bsize } = statfsSync(memory);
    return bavail * bsize >= 4 * gibibyte && process.availableMemory() >= 6 * gibibyte ? memory : tmpdir();
  } catch {
    return tmpdir();
  }
}

/**
 * Prints a line for each thing that the tests need and this machine lacks, and makes
 * a folder for the files of one run. Returns the function that deletes the folder.
 */
export default function setup(project: TestProject): () => void {
  for (const lack of project.getProvidedContext().lacks) project.vitest.logger.warn(`SKIPPED: ${lackText(lack)}`);
  const folder = mkdtempSync(join(spacious(), 'gateway-tests-'));
  // PostgreSQL runs as another user
  chmodSync(folder, 0o1777);
  process.env['GATEWAY_TESTS_FOLDER'] = folder;
  process.env['TMPDIR'] = folder;
  return () => rmSync(folder, { recursive: true, force: true });
}
