import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { sqliteFile } from '../../../../../plugins/log/journal/store/sqlite.ts';
import type { Store } from '../../../../../plugins/log/journal/store/store.ts';
import { cpuMsUntil } from '../../../../_kit/cpu.ts';
import { begin, everything, folder, idAt, request, response, rowFor, storeIn } from '../scene.ts';

let place: ReturnType<typeof folder>;
let store: Store;
const row = (number: number, text = 'x'.repeat(2000)) =>
  rowFor({
    at: begin + number,
    number,
    request: request(`question ${number} ${text}`),
    response: response(`answer ${number}`),
    reasoningContent: number % 2 === 0 ? 'rewritten' : null,
  });

/** The numbers that this statement returns, over a separate connection. */
function numbersOf(sql: string): unknown[] {
  const database = new DatabaseSync(sqliteFile(place.path), { readOnly: true });
  const [found = {}] = database.prepare(sql).all();
  database.close();
  return Object.values(found);
}

/** Milliseconds of CPU time of a search through records that ended in this order, in a store that has not read them yet. */
async function cpuMsOfSearch(numbers: readonly number[]): Promise<number> {
  const room = folder();
  const searched = await storeIn(room.path);
  await searched.insert(numbers.map((number) => row(number)));
  const ms = await cpuMsUntil(() => searched.list({ ...everything, text: 'needle' }, { limit: 10 }));
  await searched.close();
  room.remove();
  return ms;
}

beforeEach(async () => {
  place = folder();
  store = await storeIn(place.path);
});
afterEach(async () => {
  await store.close();
  place.remove();
});

describe('bodies in SQLite', () => {
  test('that are deleted are no longer in their block', async () => {
    await store.insert([row(1, 'secret'), row(2)]);
    const [before] = numbersOf('select sum(length(data)) from gateway_body_blocks') as [number];
    expect(await store.forget(idAt(begin + 1, 1))).toBe(true);
    const [after] = numbersOf('select sum(length(data)) from gateway_body_blocks') as [number];
    expect(after).toBeLessThan(before);
    expect(await store.get(idAt(begin + 2, 2))).toMatchObject({ response: { choices: [{ text: 'answer 2' }] } });
  });

  test('are compressed, many in one block, and each is read back for its record', async () => {
    await store.insert(Array.from({ length: 100 }, (_, number) => row(number)));
    const [blocks, bytes] = numbersOf('select count(*), sum(length(data)) from gateway_body_blocks');
    expect(blocks).toBe(4);
    expect(bytes).toBeLessThan(100 * 100);
    for (const number of [0, 1, 50, 99]) {
      expect(await store.get(idAt(begin + number, number))).toMatchObject({
        request: { messages: [{ content: `question ${number} ${'x'.repeat(2000)}` }] },
        response: { choices: [{ text: `answer ${number}` }] },
        reasoningContent: number % 2 === 0 ? 'rewritten' : null,
      });
    }
    expect((await store.list({ ...everything, text: 'answer 77' }, { limit: 10 })).data.map(({ id }) => id)).toEqual([
      idAt(begin + 77, 77),
    ]);
  });

  test('are in blocks of one size, also where most of a body is the request to the provider', async () => {
    const rows = Array.from({ length: 100 }, (_, number) => row(number, 'short')).map((one) => ({
      ...one,
      body: one.body && { ...one.body, upstream: 'x'.repeat(2000) },
    }));
    await store.insert(rows);
    expect(numbersOf('select count(*) from gateway_body_blocks')).toEqual([4]);
  });

  test('are searched for the same CPU time where requests end in another order than they began', async () => {
    const inOrder = Array.from({ length: 1000 }, (_, number) => number);
    const scattered = inOrder.map((number) => (number * 377) % inOrder.length);
    const ordered = [await cpuMsOfSearch(inOrder), await cpuMsOfSearch(inOrder)];
    const mixed = [await cpuMsOfSearch(scattered), await cpuMsOfSearch(scattered)];
    expect(Math.min(...mixed)).toBeLessThan(4 * Math.min(...ordered));
  });

  test('that are stored already are not stored again', async () => {
    await store.insert([row(1), row(2)]);
    await store.insert([row(1), row(2)]);
    await store.insert([row(2), row(3)]);
    expect(numbersOf('select count(*) from gateway_body_blocks')).toEqual([2]);
    expect(await store.get(idAt(begin + 3, 3))).toMatchObject({ response: { choices: [{ text: 'answer 3' }] } });
  });

  test('are deleted with the last record of their block, and are not mistaken for later blocks', async () => {
    await store.insert([row(2), row(3), row(1)]);
    await store.insert([row(10)]);
    expect(await store.get(idAt(begin + 10, 10))).toMatchObject({ response: { choices: [{ text: 'answer 10' }] } });
    while (await store.retain(begin + 3));
    expect(await store.get(idAt(begin + 3, 3))).toMatchObject({ response: { choices: [{ text: 'answer 3' }] } });
    expect(numbersOf('select count(*), min(id) from gateway_body_blocks')).toEqual([2, 1]);
    while (await store.retain(begin + 20));
    expect(numbersOf('select (select count(*) from gateway_body_blocks), (select count(*) from gateway_bodies)')).toEqual([0, 0]);
    // without a sequence of its own the second block would get the id of the block that was read before
    for (const number of [30, 31]) await store.insert([row(number)]);
    expect(await store.get(idAt(begin + 31, 31))).toMatchObject({ response: { choices: [{ text: 'answer 31' }] } });
  });
});
