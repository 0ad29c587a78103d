/** `gateway logs prune`, and the file of SQLite after it; test/e2e/log.test.ts runs it beside a gateway. */
import { randomBytes } from 'node:crypto';
import { statSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createStore } from '../../../../plugins/log/journal/store/open.ts';
import { sqliteFile } from '../../../../plugins/log/journal/store/sqlite.ts';
import type { Store, StoreSettings } from '../../../../plugins/log/journal/store/store.ts';
import { prune } from '../../../../plugins/log/journal/upkeep.ts';
import { everything, folder, request, rowFor } from './scene.ts';

let place: ReturnType<typeof folder>;
let settings: StoreSettings;
/** The store of a gateway that serves. */
let store: Store;
const day = 86_400_000;
const longAgo = Date.now() - 60 * day;

beforeEach(async () => {
  remarks.length = 0;
  place = folder();
  settings = { store: 'sqlite', url: null, dataDir: place.path, retentionDays: 0, isDurable: false };
  store = await createStore(settings);
  await store.open();
});
afterEach(async () => {
  await store.close();
  place.remove();
});

const rowsAt = (at: number, from: number, count: number) =>
  Array.from({ length: count }, (_, number) =>
    rowFor({ at: at + from + number, number: from + number, request: request(randomBytes(4000).toString('base64')) }),
  );

const remarks: string[] = [];

/** What the command prints. */
async function pruned(span: string | null): Promise<string> {
  let printed = '';
  const flags = { text: () => span } as never;
  await prune(settings, { flags, json: false, print: (text) => void (printed += text), say: (text) => void remarks.push(text) });
  return printed;
}

const sizeOf = (): number =>
  ['', '-wal'].reduce((sum, part) => sum + (statSync(sqliteFile(place.path) + part, { throwIfNoEntry: false })?.size ?? 0), 0);

test('a prune without an age is refused as a wrong usage, and one of an age that no record has deletes none', async () => {
  await store.insert(rowsAt(Date.now(), 0, 2));
  await expect(pruned(null)).rejects.toMatchObject({ code: 2, message: expect.stringContaining('needs --older-than') });
  expect(await pruned('1h')).toMatch(/^0 of 2 records deleted/);
});

test('the room of deleted records goes back to the disk, also beside a gateway that serves', async () => {
  await store.insert(rowsAt(longAgo, 0, 500));
  await store.insert(rowsAt(Date.now(), 500, 5));
  const before = sizeOf();
  expect(before).toBeGreaterThan(2_000_000);
  expect(await pruned('30d')).toMatch(/^500 of 505 records deleted: [^]* The file is made smaller by [12]\.\d MB\.\n$/);
  expect(sizeOf()).toBeLessThan(before / 5);
  await store.insert(rowsAt(Date.now(), 505, 1));
  expect((await store.list(everything, { limit: 10, cursor: null })).data).toHaveLength(6);
});

test('the room stays in the file for new records where it is a small part of the file', async () => {
  await store.insert(rowsAt(longAgo, 0, 20));
  await store.insert(rowsAt(longAgo + 50 * day, 20, 500));
  expect(await pruned('30d')).toMatch(/^20 of 520 records deleted: those before \S+\.\n$/);
});

test('a prune that deletes spending says that budgets forget it', async () => {
  await store.insert(rowsAt(longAgo, 0, 1));
  await pruned('90d');
  expect(remarks).toEqual([]);
  await pruned('30d');
  expect(remarks).toEqual([expect.stringMatching(/^A budget that began before .* forgets what these requests cost/)]);
});
