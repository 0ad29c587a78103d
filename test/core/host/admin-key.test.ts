/** The admin key in its file, where several threads make it in the same moment. */
import { chownSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import type { Config } from '../../../core/config.ts';
import { createAdminKeys } from '../../../core/host/admin-key.ts';

/**
 * Each thread waits until all are ready, and then completes a config for
 * each directory. It posts the keys that it got, and the files that it made.
 */
const worker = `
  import { parentPort, workerData } from 'node:worker_threads';
  const { createAdminKeys } = await import(workerData.module);
  const ready = new Int32Array(workerData.ready);
  const told = workerData.folders.map((dataDir, round) => {
    Atomics.add(ready, round, 1);
    while (Atomics.load(ready, round) < workerData.workers);
    const { config, made } = createAdminKeys()({ server: { dataDir, isGuarded: true, adminKey: null, adminOpen: false } });
    return { key: config.server.adminKey.reveal(), made: made?.file ?? null };
  });
  parentPort.postMessage(told);
`;

interface Told {
  readonly key: string;
  readonly made: string | null;
}

test('all threads get the same key, and one of them has made it', async () => {
  const root = mkdtempSync(join(tmpdir(), 'admin-key-'));
  const workers = 4;
  const folders = Array.from({ length: 50 }, (_, at) => join(root, `${at}`, 'data'));
  const workerData = {
    module: new URL('../../../core/host/admin-key.ts', import.meta.url).href,
    ready: new SharedArrayBuffer(4 * folders.length),
    folders,
    workers,
  };
  const told = await Promise.all(
    Array.from(
      { length: workers },
      async () =>
        await new Promise<Told[]>((resolve, reject) =>
          new Worker(new URL(`data:text/javascript,${encodeURIComponent(worker)}`), { workerData })
            .once('message', resolve)
            .once('error', reject),
        ),
    ),
  );
  for (const [at, folder] of folders.entries()) {
    const file = join(folder, 'admin-key');
    const key = readFileSync(file, 'utf8').trim();
    expect(told.map((list) => list[at]?.key)).toEqual(Array.from({ length: workers }, () => key));
    expect(told.flatMap((list) => list[at]?.made ?? [])).toEqual([file]);
    expect(readdirSync(folder)).toEqual(['admin-key']);
  }
  rmSync(root, { recursive: true });
});

test.runIf(process.getuid?.() === 0)('a key that root makes belongs to the owner of the data directory', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'admin-key-'));
  chownSync(dataDir, 65_534, 65_533);
  createAdminKeys(new Map())({ server: { dataDir, isGuarded: true, adminKey: null, adminOpen: false } } as Config);
  expect(statSync(join(dataDir, 'admin-key'))).toMatchObject({ uid: 65_534, gid: 65_533 });
  rmSync(dataDir, { recursive: true });
});
