/** The journal of one gateway counts what it leaves out. */
import { expect, test } from 'vitest';
import { createLogger } from '../../../../../core/logger.ts';
import { nothingLost } from '../../../../../plugins/log/journal/write/lost.ts';
import { OwnJournal } from '../../../../../plugins/log/journal/write/own-journal.ts';
import { finished, folder, request } from '../scene.ts';

test('a journal without room for bodies counts the records that had some, and no others', async () => {
  const place = folder();
  const settings = { root: place.path, maxBytes: 1000, isDurable: false, isStrict: false, logger: createLogger(() => {}) };
  const journal = new OwnJournal({ ...settings, lost: nothingLost() });
  const { writer } = journal.begin();
  const bare = { ...finished(), reasoningContent: null, request: null, response: null, served: null };
  while (writer.pressure === 'none') await journal.finish(bare, true);
  await journal.finish(bare, true);
  const before = journal.counts.bodiesDropped;
  await journal.finish({ ...bare, request: request('hello') }, true);
  expect([before, journal.counts.bodiesDropped]).toEqual([0, 1]);
  await writer.close();
  journal.leave(true);
  place.remove();
});
