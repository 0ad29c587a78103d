/** `gateway doctor` before a disk that the kernel has made read-only. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { run } from '../../_kit/executable.ts';
import { mountSmallDisk } from '../../_kit/small-disk.ts';

test('gateway doctor says that a disk is mounted read-only, and blames no rights of a user', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-doctor-'));
  const data = join(folder, 'data');
  mkdirSync(data);
  const disk = mountSmallDisk(data, '1m');
  onTestFinished(() => {
    disk.unmount();
    rmSync(folder, { recursive: true });
  });
  disk.refuseWrites();
  writeFileSync(join(folder, 'gateway.config.yaml'), 'providers: { mock: {} }\n');
  const { stdout } = await run(['doctor', '--config', join(folder, 'gateway.config.yaml')]);
  expect(stdout).toMatch(/✗ disk +\S+data is on a disk that is mounted read-only +→ find out why \(dmesg\)/);
});
