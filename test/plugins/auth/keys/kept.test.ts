/** The keys of the store that this process knows, while the store answers late. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { noChange } from '../../../../core/log/keys.ts';
import type { KeptChanges, KeptKey, KeyTable, NewestChange } from '../../../../core/log/keys.ts';
import { KeptKeys } from '../../../../plugins/auth/keys/kept.ts';
import { plainSettings } from '../../../../plugins/auth/keys/settings.ts';

const keyOf = (name: string, version: number, disabled = false): KeptKey => ({
  name,
  version,
  data: JSON.stringify({ createdAt: 0, secrets: [], settings: { ...plainSettings, disabled } }),
});

/** A store that answers a question when the test says so. */
function slowStore(isWhole = true) {
  const asked = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<KeptChanges>();
  const table = { changes: () => (asked.resolve(), answer.promise) } as unknown as KeyTable;
  return {
    table,
    asked: asked.promise,
    answer: (keys: readonly KeptKey[]) =>
      answer.resolve({ version: Math.max(...keys.map(({ version }) => version)), changedAt: 0, keys, isWhole }),
  };
}

test('a key that was made while all keys were read stays', async () => {
  const kept = new KeptKeys();
  const store = slowStore();
  const reading = kept.refresh(store.table);
  await store.asked;
  kept.take(keyOf('second', 2));
  store.answer([keyOf('first', 1)]);
  await reading;
  expect([...kept.all().keys()].sort()).toEqual(['first', 'second']);
});

test('a key that was disabled while all keys were read stays disabled', async () => {
  const kept = new KeptKeys();
  const store = slowStore();
  const reading = kept.refresh(store.table);
  await store.asked;
  kept.take(keyOf('first', 2, true));
  store.answer([keyOf('first', 1)]);
  await reading;
  expect(kept.get('first')?.entry.disabled).toBe(true);
});

test.each([true, false])('a key that was deleted while keys were read stays deleted; all keys were read: %s', async (isWhole) => {
  const kept = new KeptKeys();
  kept.take(keyOf('first', 1));
  const store = slowStore(isWhole);
  const reading = kept.refresh(store.table);
  await store.asked;
  kept.take({ name: 'first', version: 2, data: null });
  store.answer([keyOf('first', 1)]);
  await reading;
  expect([...kept.all().keys()]).toEqual([]);
});

test('a key that another process deletes before this one knows that its own change is written stays deleted', async () => {
  const kept = new KeptKeys();
  const store = slowStore();
  store.answer([{ name: 'first', version: 3, data: null }]);
  await kept.refresh(store.table);
  kept.take(keyOf('first', 2));
  expect([...kept.all().keys()]).toEqual([]);
});

test('a key that this process makes is not lost to two reads at one time: there is one read at a time', async () => {
  const kept = new KeptKeys();
  let [running, most] = [0, 0];
  const table = {
    async changes(): Promise<KeptChanges> {
      most = Math.max(most, ++running);
      await nextTurn();
      running--;
      return { version: 1, changedAt: 0, keys: [keyOf('first', 1)], isWhole: true };
    },
  } as unknown as KeyTable;
  const reads = [kept.refresh(table), kept.refresh(table)];
  // the first read is over, and the second one has not begun
  reads.push(reads[0]?.then(() => kept.refresh(table)) as Promise<void>);
  await Promise.all(reads);
  expect(most).toBe(1);
});

test('the keys of a database that was replaced are forgotten', async () => {
  const kept = new KeptKeys();
  kept.take(keyOf('old', 7));
  kept.take(keyOf('both', 8, true));
  const store = slowStore();
  const reading = kept.refresh(store.table);
  store.answer([keyOf('both', 3)]);
  await reading;
  expect([...kept.all().keys()]).toEqual(['both']);
  expect(kept.get('both')?.entry.disabled).toBe(false);
});

test('each read asks what has changed since the last read', async () => {
  const kept = new KeptKeys();
  const asked: NewestChange[] = [];
  const table = {
    async changes(since: NewestChange): Promise<KeptChanges> {
      asked.push(since);
      return { version: 7, changedAt: 1000, keys: [], isWhole: false };
    },
  } as unknown as KeyTable;
  await kept.refresh(table);
  await kept.refresh(table);
  expect(asked).toEqual([noChange, { version: 7, changedAt: 1000 }]);
});

test('20,000 keys of a database that was replaced are forgotten in linear time', async () => {
  const kept = new KeptKeys();
  for (let at = 0; at < 20_000; at++) kept.take(keyOf(`old-${at}`, 7));
  const store = slowStore();
  const reading = kept.refresh(store.table);
  store.answer(Array.from({ length: 20_000 }, (_, at) => keyOf(`new-${at}`, 3)));
  const before = process.threadCpuUsage();
  await reading;
  expect(process.threadCpuUsage(before).user / 1000).toBeLessThan(1000);
  expect(kept.all().size).toBe(20_000);
});
