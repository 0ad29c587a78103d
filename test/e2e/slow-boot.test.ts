/** A plugin whose `boot` never ends, in a changed config: with the executable, alone and with workers. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'vitest';
import { start } from '../_kit/executable.ts';
import { closeAtEndOfFile } from '../_kit/left-open.ts';
import { config, newsOf } from './workers-scene.ts';

const slow = `export default { name: 'log/slow', summary: 'does not end its start', schema: { type: 'object', properties: { hangs: { type: 'boolean' } } },
  apply({ hooks }, { hangs }) { hooks.boot.tap(() => hangs ? new Promise(() => {}) : undefined); } };`;
const configOf = (workers: number, hangs: boolean): object =>
  config({ workers }, { plugins: ['endpoints/health', 'stream/mock', 'auth/keys', { use: './slow.mjs', with: { hangs } }] });

test.concurrent.for([1, 2])(
  'is refused after 30 seconds, and the next change is taken over, with workers: %i',
  async (workers, { expect }) => {
    const folder = mkdtempSync(join(tmpdir(), 'gateway-slow-'));
    closeAtEndOfFile({ close: () => rmSync(folder, { recursive: true, force: true }) });
    writeFileSync(join(folder, 'slow.mjs'), slow);
    const gateway = await start(configOf(workers, false), {}, { folder });
    const reload = async (hangs: boolean, expected: string): Promise<void> => {
      const news = newsOf(gateway);
      gateway.write(configOf(workers, hangs));
      gateway.child.kill('SIGHUP');
      await expect.poll(news).toContain(expected);
    };
    await reload(true, 'The plugin \\"log/slow\\" refuses to start: its `boot` has not ended within 30 s');
    expect((await fetch(gateway.url)).status).toBe(200);
    await reload(false, 'config reloaded');
  },
);
