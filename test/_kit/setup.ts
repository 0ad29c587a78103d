import type { TestProject } from 'vitest/node';
import { lackText } from './machine.ts';
import type { Lack } from './machine.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    readonly lacks: readonly Lack[];
  }
}

/** One loud line for each thing that the tests need and this machine lacks. */
export default function setup(project: TestProject): void {
  for (const lack of project.getProvidedContext().lacks) project.vitest.logger.warn(`SKIPPED: ${lackText(lack)}`);
}
