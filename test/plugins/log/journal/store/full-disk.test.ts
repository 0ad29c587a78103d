/** A database file of the log on a disk that is full. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createStore } from '../../../../../plugins/log/journal/store/open.ts';
import { faultOf } from '../../../../../plugins/log/journal/store/store.ts';
import { mountSmallDisk } from '../../../../_kit/small-disk.ts';
import { request, rowFor } from '../scene.ts';

test('a write that meets a full disk is reported as disk_full', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'gateway-full-store-'));
  const disk = mountSmallDisk(dataDir, '4m');
  const store = await createStore({ store: 'sqlite', url: null, dataDir, retentionDays: 0, isDurable: false });
  onTestFinished(async () => {
    await store.close();
    disk.unmount();
    rmSync(dataDir, { recursive: true });
  });
  await store.open();
  expect(() => writeFileSync(join(dataDir, 'fill'), Buffer.alloc(4_000_000))).toThrow('ENOSPC');
  const rows = Array.from({ length: 2000 }, (_, number) => rowFor({ number, request: request(`hello ${number}`) }));
  expect(faultOf(await store.insert(rows).catch((error: unknown) => error))).toBe('disk_full');
});
