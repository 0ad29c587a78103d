/** The folder of a new journal, where the file system has no locks. */
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { createInstance } from '../../../../../plugins/log/journal/write/segments.ts';
import { mountSmallDisk } from '../../../../_kit/small-disk.ts';
import { folder } from '../scene.ts';

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
