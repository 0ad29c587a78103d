/** `gateway logs prune` on a disk that has no room to write the rest of the file anew. */
import { randomBytes } from 'node:crypto';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createStore } from '../../../../plugins/log/journal/store/open.ts';
import { prune } from '../../../../plugins/log/journal/upkeep.ts';
import { mountSmallDisk } from '../../../_kit/small-disk.ts';
import { folder, request, rowFor } from './scene.ts';

test('the file keeps its size where the disk has no room to make it smaller, and the command says so', async () => {
  const place = folder();
  const disk = mountSmallDisk(place.path, '32m');
  const settings = { store: 'sqlite', url: null, dataDir: place.path, retentionDays: 0, isDurable: false } as const;
  const store = await createStore(settings);
  onTestFinished(async () => {
    await store.close();
    disk.unmount();
    place.remove();
  });
  await store.open();
  const longAgo = Date.now() - 60 * 86_400_000;
  await store.insert(
    Array.from({ length: 900 }, (_, number) =>
      rowFor({ at: (number < 400 ? longAgo : Date.now()) + number, number, request: request(randomBytes(4000).toString('base64')) }),
    ),
  );
  const usedKb = readdirSync(place.path).reduce((sum, file) => sum + statSync(join(place.path, file)).size, 0) / 1024;
  disk.grow(`${Math.ceil(usedKb) + 1500}k`);
  const pruned = async (): Promise<string> => {
    let said = '';
    await prune(settings, { flags: { text: () => '30d' } as never, json: false, print: (text) => void (said += text), say: () => {} });
    return said;
  };
  expect(await pruned()).toMatch(
    /^400 of 900 records deleted: [^]* The file keeps its size, because \d\.\d MB of free disk are needed to make it smaller; new records use its empty \d\.\d MB\.\n$/,
  );
  disk.grow('32m');
  expect(await pruned()).toMatch(/^0 of 500 records deleted: [^]* The file is made smaller by \d\.\d MB\.\n$/);
});
