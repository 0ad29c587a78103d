import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
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

/** One loud line for each thing that the tests need and this machine lacks, and a folder for what tests of one run can share. Gives what removes the folder. */
export default function setup(project: TestProject): () => void {
  for (const lack of project.getProvidedContext().lacks) project.vitest.logger.warn(`SKIPPED: ${lackText(lack)}`);
  const folder = mkdtempSync(join(tmpdir(), 'gateway-tests-'));
  // PostgreSQL runs as another user
  chmodSync(folder, 0o755);
  process.env['GATEWAY_TESTS_FOLDER'] = folder;
  return () => rmSync(folder, { recursive: true, force: true });
}
