import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { configDefaults, defineConfig } from 'vitest/config';
import { lacking } from './test/_kit/machine.ts';

const source = (file: string): string => fileURLToPath(new URL(file, import.meta.url));

const lacks = lacking(source('.'));

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // what a file needs and the machine lacks, `test/machine.test.ts` shows as skipped
    exclude: [...configDefaults.exclude, ...lacks.flatMap(({ files }) => files)],
    provide: { lacks },
    globalSetup: ['test/_kit/setup.ts'],
    setupFiles: ['test/_kit/properties.ts'],
    // cost: Node loads the sources itself, as it does for users. Vite would rewrite each
    // file, and each use of an import would be a call: a third more CPU. `vi.mock` needs Vite
    experimental: { viteModuleRunner: false, nodeLoader: false },
    // a test and a plugin beside it import the gateway by its name, as an installed package; here that is the sources
    execArgv: ['--conditions=model-gateway-source'],
    // cost: a worker for each file would load the gateway's sources and their packages 128 times, a third of the CPU of a run
    isolate: false,
    // half of a test's time is waiting: on two cores four workers leave a fifth
    // of the CPU idle, and five a tenth. Six use all of it, and take no less time
    maxWorkers: Math.max(5, availableParallelism() - 1),
    // safety: without it each thread that a test starts loads Node's TypeScript compiler, which is
    // WebAssembly. Threads share parts of such code, and one that ends while another compiles can
    // end the process: "Check failed: end > addr" in WasmImportWrapperCache::Free (Node 24.21)
    env: { NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? join(tmpdir(), 'node-compile-cache') },
    // the limits of a hanging test: a busy machine takes ten times as long as a quiet one, and stands still for up to 20 s.
    // A test with a limit of its own, or a poll with one, fails there before all others
    testTimeout: 240_000,
    hookTimeout: 240_000,
    expect: { poll: { timeout: 90_000 } },
    // a test of several processes starts three: five such tests at one time take a slow machine a minute to begin
    maxConcurrency: 3,
  },
});
