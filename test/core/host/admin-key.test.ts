/** The admin key in its file: several threads make it in the same moment, and what is no key. test/e2e/admin-key.test.ts starts gateways with it. */
import { chownSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { expect, onTestFinished, test } from 'vitest';
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

/** A data directory, which is removed after the test. */
function newDataDir(): string {
  const dataDir = mkdtempSync(join(tmpdir(), 'admin-key-'));
  onTestFinished(() => rmSync(dataDir, { recursive: true }));
  return dataDir;
}

const completed = (dataDir: string) =>
  createAdminKeys()({ server: { dataDir, isGuarded: true, adminKey: null, adminOpen: false } } as Config);

test('a folder that has the name of the key file is named as the reason why the key is not kept', () => {
  const dataDir = newDataDir();
  mkdirSync(join(dataDir, 'admin-key'));
  expect(completed(dataDir).made).toMatchObject({ file: null, reason: `${join(dataDir, 'admin-key')} is a folder` });
});

test.each([
  ['a short text', 'short\n'],
  // a disk may leave null bytes in a file after a power cut; no header can carry them, so nobody could sign in
  ['null bytes', '\0'.repeat(54)],
])('a file with %s instead of a key is refused', (_, text) => {
  const dataDir = newDataDir();
  writeFileSync(join(dataDir, 'admin-key'), text, { mode: 0o600 });
  expect(() => completed(dataDir)).toThrow('holds no admin key of 16 characters or more. Delete the file');
});

test.runIf(process.getuid?.() === 0)('a key that root makes belongs to the owner of the data directory', () => {
  const dataDir = newDataDir();
  chownSync(dataDir, 65_534, 65_533);
  completed(dataDir);
  expect(statSync(join(dataDir, 'admin-key'))).toMatchObject({ uid: 65_534, gid: 65_533 });
});
