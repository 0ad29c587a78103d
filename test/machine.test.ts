/** Each thing that this machine lacks is a skipped test. */
import { expect, inject, test } from 'vitest';
import { lacking, lackText } from './_kit/machine.ts';

for (const lack of inject('lacks')) test.skip(lackText(lack), () => {});

test('the list has every test file that needs something of the machine', () => {
  const root = new URL('..', import.meta.url).pathname;
  const before = process.env['PATH'];
  // without a PATH no program can be found or installed, and mounting needs a program
  process.env['PATH'] = '';
  const found = lacking(root);
  process.env['PATH'] = before;
  const disk = found.find(({ name }) => name.startsWith('the right to mount'));
  expect(disk?.files.toSorted()).toEqual([
    'test/core/cli/doctor-disk.test.ts',
    'test/e2e/backup-disk.test.ts',
    'test/e2e/log-disk.test.ts',
    'test/e2e/restart-disk.test.ts',
    'test/plugins/log/journal/prune-disk.test.ts',
    'test/plugins/log/journal/reload.test.ts',
    'test/plugins/log/journal/store/full-disk.test.ts',
    'test/plugins/log/journal/strict.test.ts',
    'test/plugins/log/journal/write/segments.test.ts',
    'test/plugins/log/journal/write/writer.test.ts',
  ]);
});
