import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { configDefaults, defineConfig } from 'vitest/config';
import { lacking } from './test/_kit/machine.ts';

const source = (file: string): string => fileURLToPath(new URL(file, import.meta.url));

const lacks = lacking(source('.'));

export default defineConfig({
  // a test and a plugin beside it import the gateway by its name, as an installed package; here that is the sources
  resolve: {
    alias: [
      { find: /^model-gateway$/, replacement: source('core/index.ts') },
      { find: /^model-gateway\/testing$/, replacement: source('test/contract/index.ts') },
    ],
  },
  test: {
    include: ['test/**/*.test.ts'],
    // what a file needs and the machine lacks, `test/machine.test.ts` shows as skipped
    exclude: [...configDefaults.exclude, ...lacks.flatMap(({ files }) => files)],
    provide: { lacks },
    globalSetup: ['test/_kit/setup.ts'],
    setupFiles: ['test/_kit/properties.ts'],
    // cost: a worker for each file would load the gateway's sources and their packages 128 times, a third of the CPU of a run
    isolate: false,
    // a quarter of a test is waiting: two workers would leave two cores idle for that time
    maxWorkers: Math.max(3, availableParallelism() - 1),
    // the limits of a hanging test: a busy machine takes several times as long as a quiet one
    testTimeout: 90_000,
    hookTimeout: 90_000,
    expect: { poll: { timeout: 20_000 } },
  },
});
