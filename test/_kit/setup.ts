import { ensurePostgres, ensureProgram } from './servers.ts';

/** What the tests start for themselves must be on the machine: once, before they run side by side. */
export default function setup(): void {
  ensureProgram(['/usr/bin/redis-server'], 'redis-server');
  ensureProgram(['/usr/bin/chromium'], 'chromium');
  ensurePostgres();
}
