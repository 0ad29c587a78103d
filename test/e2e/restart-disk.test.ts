/** A gateway that is restarted while its disk is full. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { mockConfig, run, start, underShell } from '../_kit/executable.ts';
import { mountSmallDisk } from '../_kit/small-disk.ts';

const config = {
  ...mockConfig({ prompt: '0', completion: '0' }),
  plugins: ['endpoints/chat-completions', 'endpoints/health', 'auth/keys', 'stream/mock'],
};

test('a restart is reported as successful while the disk is full, and the next one finds the new process when there is room', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-full-'));
  const data = join(folder, 'data');
  mkdirSync(data);
  const disk = mountSmallDisk(data, '64k');
  const gateway = await start(config, {}, { folder, by: underShell });
  const restart = () => run(['restart', '--config', gateway.file]);
  expect(() => writeFileSync(join(data, 'fill'), Buffer.alloc(1_000_000))).toThrow('ENOSPC');
  const full = await restart();
  expect([full.code, full.stderr, full.stdout]).toEqual([
    0,
    '',
    expect.stringMatching(`^another process serves at ${gateway.url}; .*\\n.*could not write into ${data}/running`),
  ]);
  expect((await fetch(`${gateway.url}/health/live`)).status).toBe(200);
  rmSync(join(data, 'fill'));
  await expect.poll(() => readdirSync(join(data, 'running')).filter((name) => name.endsWith('.json'))).toHaveLength(1);
  expect((await restart()).stdout).toContain(`serves at ${gateway.url}`);
  gateway.child.stdin?.end();
  await gateway.stop();
  disk.unmount();
  rmSync(folder, { recursive: true });
});
