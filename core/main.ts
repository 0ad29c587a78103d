#!/usr/bin/env node
/**
 * The executable: keeps compiled code for the next start, and runs the program.
 * cost: from the second start on this halves the time to the first answer (test/bench); the sources need not be stripped again.
 */
import module from 'node:module';
import { dirname } from 'node:path';
import { collectAfterStart, collectAsForRequests } from './host/threads/collect.ts';

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 22 || (major === 22 && minor < 19)) {
  process.stderr.write(
    `Model Gateway needs Node 22.19 or newer, this is ${process.version}. This runs it with the right version: npx -p node@24 -p model-gateway model-gateway (in the project's own folder: npm start)\n`,
  );
  process.exit(1);
}

// Node 22 calls its SQLite experimental at each start, as plain text in a log of JSON, and no operator can do anything about that
const tellers = process.listeners('warning');
process.removeAllListeners('warning');
process.on('warning', (warning) => warning.name !== 'ExperimentalWarning' && tellers.forEach((tell) => tell(warning)));

// the kernel does not deliver a signal to process 1 of a container unless
// that process listens to it, and the program listens only once it is loaded
if (process.pid === 1) {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => void (process.listenerCount(signal) === 1 && process.exit(0)));
  }
}

// loaded only here, behind the check above: an older Node lacks modules that these files import
await import(new URL('compile-cache.mjs', import.meta.url).href);
const cache = module.getCompileCacheDir();
// cost: threads read the folder from this variable. The thread of the log
// then loads no TypeScript compiler, which saves 30 MB and 150 ms of a start
if (cache !== undefined) process.env['NODE_COMPILE_CACHE'] ??= dirname(cache);
const { importDirectly } = await import('./host/own-files.ts');
importDirectly();
await import('./cli/program.ts');

collectAfterStart();

const startedMs = 2000;

setTimeout(() => {
  // code that is compiled under other flags cannot be read by the next start
  module.flushCompileCache();
  collectAsForRequests();
}, startedMs).unref();
