/** A database file of the log whose first pages are whole and whose later pages are damaged. */
import { closeSync, openSync, readdirSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { noChange } from '../../../../../core/log/keys.ts';
import type { KeyChange } from '../../../../../core/log/keys.ts';
import { faultOf } from '../../../../../plugins/log/journal/store/store.ts';
import type { Store } from '../../../../../plugins/log/journal/store/store.ts';
import { begin, folder, idAt, request, rowFor, storeIn } from '../scene.ts';

let place: ReturnType<typeof folder>;
beforeEach(() => void (place = folder()));
afterEach(() => place.remove());

async function opened(): Promise<Store> {
  const store = await storeIn(place.path);
  return store;
}

const pageBytes = 8192;
/** The tables, the keys and the first records are before this page. */
const firstDamaged = 40;

function damage(): void {
  const file = join(place.path, 'logs.db');
  const pages = statSync(file).size / pageBytes;
  const fd = openSync(file, 'r+');
  for (let page = firstDamaged; page < pages; page++) writeSync(fd, Buffer.alloc(pageBytes, 0x5a), 0, pageBytes, page * pageBytes);
  closeSync(fd);
}

const made = (name: string): KeyChange => ({
  name,
  from: 0,
  data: `{"name":"${name}"}`,
  event: { at: begin, action: 'created', by: 'admin', address: null, details: '{}' },
});

test('a damaged file is moved aside, and the new file gets the keys of callers', async () => {
  const first = await opened();
  for (const name of ['one', 'two']) await first.keyStore.write(made(name));
  for (let at = 0; at < 20; at++) {
    await first.insert(
      Array.from({ length: 250 }, (_, number) =>
        rowFor({ number: at * 250 + number, metadata: { tenant: `t-${number}` }, request: request(`hello ${number} ${Math.random()}`) }),
      ),
    );
  }
  await first.close();
  damage();
  const second = await opened();
  await second.insert([rowFor({ number: 999_999, request: request('new') })]);
  expect(await second.get(idAt(begin, 999_999))).not.toBeNull();
  expect(readdirSync(place.path).some((name) => name.startsWith('logs.db.broken-'))).toBe(true);
  // a gateway that knows two changes sees the third
  expect((await second.keyStore.changes(noChange)).keys.map(({ name }) => name)).toEqual(['one', 'two']);
  await second.keyStore.write(made('three'));
  expect(await second.keyStore.changes({ version: 2, changedAt: begin })).toMatchObject({
    version: 3,
    keys: [{ name: 'three' }],
    isWhole: false,
  });
  await second.close();
});

test('a query that meets the damage first reports it as damage', async () => {
  const first = await opened();
  await first.insert(Array.from({ length: 5000 }, (_, number) => rowFor({ number })));
  await first.close();
  damage();
  const second = await opened();
  expect(faultOf(await second.get(idAt(begin, 4000)).catch((error: unknown) => error))).toBe('damaged');
  await second.close();
});

/** Reverts the last migration, so that the file is one of an earlier version. */
function makeOlder(): void {
  const database = new DatabaseSync(join(place.path, 'logs.db'));
  database.exec(`drop index gateway_requests_door; alter table gateway_requests drop column door; alter table gateway_requests drop column prompt_start;
    delete from gateway_migrations where id = 7; pragma wal_checkpoint(truncate)`);
  database.close();
}

test('a damaged file is moved aside also where a migration meets the damage first', async () => {
  const first = await opened();
  await first.keyStore.write(made('one'));
  await first.insert(Array.from({ length: 5000 }, (_, number) => rowFor({ number })));
  await first.close();
  makeOlder();
  damage();
  const second = await opened();
  await second.insert([rowFor({ number: 999_999 })]);
  expect(await second.get(idAt(begin, 999_999))).not.toBeNull();
  expect(readdirSync(place.path).some((name) => /^logs\.db\.broken-\d+$/.test(name))).toBe(true);
  expect((await second.keyStore.changes(noChange)).keys.map(({ name }) => name)).toEqual(['one']);
  await second.close();
});
