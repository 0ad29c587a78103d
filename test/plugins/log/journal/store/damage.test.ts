/** The log in SQLite whose pages are damaged, or whose file is deleted or replaced, while gateways use it. */
import { closeSync, mkdirSync, openSync, readdirSync, renameSync, rmSync, statSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { noChange } from '../../../../../core/log/keys.ts';
import { Drain } from '../../../../../plugins/log/journal/drain/drain.ts';
import { sqliteFile } from '../../../../../plugins/log/journal/store/sqlite.ts';
import type { Store } from '../../../../../plugins/log/journal/store/store.ts';
import { encodeFrames, FINISHED } from '../../../../../plugins/log/journal/write/frames.ts';
import { createInstance, pathOf } from '../../../../../plugins/log/journal/write/segments.ts';
import { begin, finished, folder, idAt, request, rowFor, storeIn } from '../scene.ts';

const pageBytes = 8192;
/** The tables and the migrations are before this page: the file can still be opened. */
const firstDamagedPage = 40;

let place: ReturnType<typeof folder>;
const stores: Store[] = [];

beforeEach(() => void (place = folder()));
afterEach(async () => {
  for (const store of stores.splice(0)) await store.close();
  place.remove();
});

async function open(): Promise<Store> {
  const store = await storeIn(place.path);
  stores.push(store);
  return store;
}

/** Damages all pages of records; open stores see the damage at their next transaction. */
function damage(): void {
  const file = sqliteFile(place.path);
  const database = new DatabaseSync(file);
  // a connection that has pages in memory reads them again after a change by another connection
  database.exec('delete from gateway_rollup; pragma wal_checkpoint(truncate)');
  database.close();
  const opened = openSync(file, 'r+');
  for (let page = firstDamagedPage; page < statSync(file).size / pageBytes; page++) {
    writeSync(opened, Buffer.alloc(pageBytes, 0x5a), 0, pageBytes, page * pageBytes);
  }
  closeSync(opened);
}

const asideFiles = (): string[] => readdirSync(place.path).filter((name) => /^logs\.db\.broken-\d+$/.test(name));

describe('a database whose pages are damaged while it is open', () => {
  test('is moved aside, and the journal is drained into a new database', async () => {
    const store = await open();
    await store.insert(
      Array.from({ length: 1000 }, (_, number) =>
        rowFor({ number, metadata: { tenant: `t-${number}` }, request: request(`hello ${number}`) }),
      ),
    );
    damage();
    const root = join(place.path, 'journal');
    const instance = createInstance(root);
    writeFileSync(pathOf(instance.folder, 1), encodeFrames([{ kind: FINISHED, payload: JSON.stringify(finished({ number: 5000 })) }]));
    await new Drain({
      store,
      root,
      folder: instance.folder,
      retentionDays: 0,
      warn: () => {},
      disk: () => {},
      drained: () => {},
      buried: () => {},
    }).finish();
    instance.claim.release();
    expect(await store.get(idAt(begin, 5000))).not.toBeNull();
    expect(asideFiles()).toHaveLength(1);
  });

  test('is moved aside once, and all gateways that used it use the new database', async () => {
    const [first, second] = [await open(), await open()];
    await first.insert(
      Array.from({ length: 1000 }, (_, number) =>
        rowFor({ number, metadata: { tenant: `t-${number}` }, request: request(`hello ${number}`) }),
      ),
    );
    damage();
    await first.insert([rowFor({ number: 5000 })]);
    await second.insert([rowFor({ number: 5001 })]);
    for (const store of [first, second]) for (const number of [5000, 5001]) expect(await store.get(idAt(begin, number))).not.toBeNull();
    expect(asideFiles()).toHaveLength(1);
  });
});

describe('a database that is deleted while it is open', () => {
  test.each([
    ['alone', ['']],
    ['with the files beside it', ['', '-wal', '-shm']],
  ])('is created again, %s, and all gateways that used it use the new one', async (_, parts) => {
    const [first, second] = [await open(), await open()];
    await first.insert([rowFor({ number: 1 })]);
    for (const part of parts) rmSync(sqliteFile(place.path) + part);
    await first.insert([rowFor({ number: 2 })]);
    await second.insert([rowFor({ number: 3 })]);
    await first.insert([rowFor({ number: 4 })]);
    for (const store of stores.splice(0)) await store.close();
    const next = await open();
    expect(await Promise.all([1, 2, 3, 4].map(async (number) => (await next.get(idAt(begin, number))) !== null))).toEqual([
      false,
      true,
      true,
      true,
    ]);
  });

  test('is created again as soon as a file can be made there', async () => {
    const store = await open();
    await store.insert([rowFor({ number: 1 })]);
    for (const part of ['', '-wal', '-shm']) rmSync(sqliteFile(place.path) + part);
    // SQLite cannot open a folder
    mkdirSync(sqliteFile(place.path));
    await expect(store.insert([rowFor({ number: 2 })])).rejects.toThrow();
    await expect(store.insert([rowFor({ number: 2 })])).rejects.toThrow();
    rmSync(sqliteFile(place.path), { recursive: true });
    await store.insert([rowFor({ number: 2 })]);
    expect(await store.get(idAt(begin, 2))).not.toBeNull();
  });

  test('is replaced by the database that an operator has put in its place', async () => {
    const store = await open();
    await store.insert([rowFor({ number: 1 })]);
    await store.close();
    renameSync(sqliteFile(place.path), join(place.path, 'backup.db'));
    const other = await open();
    await other.insert([rowFor({ number: 2 })]);
    for (const part of ['-wal', '-shm']) rmSync(sqliteFile(place.path) + part);
    renameSync(join(place.path, 'backup.db'), sqliteFile(place.path));
    await other.insert([rowFor({ number: 3 })]);
    await other.close();
    const next = await open();
    expect(await Promise.all([1, 2, 3].map(async (number) => (await next.get(idAt(begin, number))) !== null))).toEqual([true, false, true]);
  });

  test.each([
    ['and before the next record', false],
    ['while a record is stored', true],
  ])('keeps a key that is made after the deletion, %s', async (_, isBeside) => {
    const store = await open();
    await store.insert([rowFor({ number: 1 })]);
    for (const part of ['', '-wal', '-shm']) rmSync(sqliteFile(place.path) + part);
    const made = store.keyStore.write({
      name: 'one',
      from: 0,
      data: '{}',
      event: { at: begin, action: 'created', by: 'admin', address: null, details: '{}' },
    });
    await Promise.all([made, ...(isBeside ? [store.insert([rowFor({ number: 2 })])] : [])]);
    const next = await open();
    expect((await next.keyStore.changes(noChange)).keys.map(({ name }) => name)).toEqual(['one']);
    expect((await next.get(idAt(begin, 2))) !== null).toBe(isBeside);
  });

  test('loses the texts of a record also in the database that an operator has put in its place', async () => {
    const former = await open();
    await former.insert([rowFor({ number: 1, request: request('hello') })]);
    await former.close();
    renameSync(sqliteFile(place.path), join(place.path, 'backup.db'));
    const store = await open();
    for (const part of ['-wal', '-shm']) rmSync(sqliteFile(place.path) + part);
    renameSync(join(place.path, 'backup.db'), sqliteFile(place.path));
    expect(await store.forget(idAt(begin, 1))).toBe(true);
    expect((await (await open()).get(idAt(begin, 1)))?.request).toBeNull();
  });
});
