/** `gateway backup` onto a disk that has no room for the log. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { run } from '../_kit/executable.ts';
import { mountSmallDisk } from '../_kit/small-disk.ts';

test('a backup that fails says where, and leaves no partial file that looks like a log', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-backup-'));
  const full = join(folder, 'full');
  mkdirSync(full);
  const disk = mountSmallDisk(full, '64k');
  onTestFinished(() => {
    disk.unmount();
    rmSync(folder, { recursive: true });
  });
  const config = join(folder, 'gateway.config.yaml');
  writeFileSync(config, 'providers: { mock: {} }\nplugins: [stream/mock, log/journal]\n');
  const backup = async () => await run(['backup', join(full, 'monday'), '--config', config]);
  expect(await backup()).toMatchObject({
    code: 4,
    stderr: `The backup to ${join(full, 'monday')} failed, and nothing of it is left there: database or disk is full\n`,
  });
  expect(readdirSync(join(full, 'monday'))).toEqual([]);
  disk.grow('4m');
  expect(await backup()).toMatchObject({ code: 0, stderr: '' });
});
