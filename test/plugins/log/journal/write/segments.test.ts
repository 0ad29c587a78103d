/** The folder of a journal: its lock, where the file system has none, and where the folder goes away and comes back. */
import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import {
  adoptOrphans,
  claim,
  createInstance,
  pathOf,
  remakeInstance,
  removeInstance,
  segmentsOf,
} from '../../../../../plugins/log/journal/write/segments.ts';
import { mountSmallDisk } from '../../../../_kit/small-disk.ts';
import { folder, openBelow } from '../scene.ts';

test('a data directory without locks is refused, and not changed', () => {
  const place = folder();
  // SQLite takes the locks, and opens no path of more than 512 bytes
  const root = join(place.path, ...Array.from({ length: 5 }, () => 'd'.repeat(100)));
  mkdirSync(root, { recursive: true });
  // an endless loop would stop the tests: the time limit of a context ends it
  expect(() => runInNewContext('create()', { create: () => createInstance(root) }, { timeout: 60_000 })).toThrow('can be locked');
  expect(readdirSync(root)).toEqual([]);
  place.remove();
});

test('a disk that is mounted read-only is reported as read-only', () => {
  const place = folder();
  const disk = mountSmallDisk(place.path, '64k');
  disk.refuseWrites();
  try {
    expect(() => createInstance(join(place.path, 'data', 'journal'))).toThrow('EROFS: read-only file system');
  } finally {
    disk.unmount();
    place.remove();
  }
});

test('a journal whose disk comes back is still that of its gateway, in the new folder and in the former one', () => {
  const place = folder();
  const instance = createInstance(place.path);
  const away = `${instance.folder}-away`;
  renameSync(instance.folder, away);
  const again = remakeInstance(instance);
  expect([again.folder, claim(again.folder)]).toEqual([instance.folder, null]);
  rmSync(again.folder, { recursive: true });
  renameSync(away, instance.folder);
  expect(adoptOrphans(place.path, new Set())).toEqual([]);
  again.claim.release();
  const [adopted] = adoptOrphans(place.path, new Set());
  expect(adopted?.folder).toBe(instance.folder);
  adopted?.claim.release();
  place.remove();
});

test('a gateway that is told to release its journal twice does so once, and the lock is free', () => {
  const place = folder();
  const instance = createInstance(place.path);
  instance.claim.release();
  instance.claim.release();
  const next = claim(instance.folder);
  expect(next).not.toBeNull();
  next?.release();
  place.remove();
});

test('only folders of journals are adopted, not one of the own process, and not one that is being made', () => {
  const place = folder();
  const [mine, dead, unlocked] = [createInstance(place.path), createInstance(place.path), createInstance(place.path)];
  for (const { claim: held } of [mine, dead, unlocked]) held.release();
  rmSync(`${unlocked.folder}/lock`);
  mkdirSync(join(place.path, 'backup'));
  writeFileSync(join(place.path, 'backup', 'lock'), '');
  const adopted = adoptOrphans(place.path, new Set([mine.folder]));
  expect(adopted.map((one) => one.folder)).toEqual([dead.folder]);
  for (const one of adopted) removeInstance(one);
  expect(readdirSync(place.path).sort()).toEqual([mine.folder, unlocked.folder, 'backup'].map((path) => basename(path)).sort());
  expect(adoptOrphans(join(place.path, 'nowhere'), new Set())).toEqual([]);
  place.remove();
});

test('a journal that is removed leaves no file open', () => {
  const place = folder();
  const instance = createInstance(place.path);
  expect(openBelow(place.path)).not.toEqual([]);
  removeInstance(instance);
  expect([readdirSync(place.path), openBelow(place.path)]).toEqual([[], []]);
  place.remove();
});

test('segments are read in the order of their numbers, and other files of the folder are not', () => {
  const place = folder();
  for (const segment of [10, 9, 1]) writeFileSync(pathOf(place.path, segment), '');
  for (const file of ['1.seg', '00000002.seg.bak', 'x00000003.seg', 'cursor']) writeFileSync(join(place.path, file), '');
  expect(segmentsOf(place.path)).toEqual([1, 9, 10]);
  place.remove();
});
