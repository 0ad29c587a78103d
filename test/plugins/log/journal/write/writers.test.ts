/** The writers of a process while its config is reloaded: one closes, and another writes what the first one could not write. */
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createLogger } from '../../../../../core/logger.ts';
import { FINISHED, STARTED } from '../../../../../plugins/log/journal/write/frames.ts';
import { pathOf } from '../../../../../plugins/log/journal/write/segments.ts';
import { JournalWriter } from '../../../../../plugins/log/journal/write/writer.ts';
import { Writers } from '../../../../../plugins/log/journal/write/writers.ts';
import { begin, finished, folder, idAt } from '../scene.ts';

let place: ReturnType<typeof folder>;
let lines: string[];
const logger = createLogger((line) => void lines.push(line));
beforeEach(() => {
  place = folder();
  lines = [];
});
afterEach(() => place.remove());

const writerAt = (path: string): JournalWriter => new JournalWriter({ folder: path, maxBytes: 2 ** 30, isDurable: false, logger });

/** A writer whose folder takes records. */
function writing(name: string): JournalWriter {
  const path = join(place.path, name);
  mkdirSync(path);
  return writerAt(path);
}

/** A writer whose folder does not exist: the begin of one request waits in its memory, and the end of another. */
async function unable(): Promise<JournalWriter> {
  const writer = writerAt(join(place.path, 'nowhere'));
  await writer.append({ kind: STARTED, payload: JSON.stringify(finished({ number: 1 })) });
  await writer.append({ kind: FINISHED, payload: JSON.stringify(finished({ number: 2 })) });
  return writer;
}

const journalOf = (name: string): string => readFileSync(pathOf(join(place.path, name), 1), 'utf8');

test('the threads of both journals are told which requests end in the other journal, and of no others', async () => {
  const writers = new Writers();
  const [former, heir] = [await unable(), writing('heir')];
  const told: unknown[] = [];
  writers.add(former, async (ids) => void told.push(['former', ids]));
  writers.add(heir, async (ids) => void told.push(['heir', ids]));
  await writers.close(former, logger);
  expect(told).toEqual([
    ['former', [idAt(begin, 2)]],
    ['heir', [idAt(begin, 2)]],
  ]);
  await writers.close(heir, logger);
  for (const number of [1, 2]) expect(journalOf('heir')).toContain(idAt(begin, number));
});

test('the newest writer gets the records of a writer that closes, although a thread does not take the message', async () => {
  const writers = new Writers();
  const [former, older, newest] = [await unable(), writing('older'), writing('newest')];
  for (const writer of [former, older, newest]) writers.add(writer, () => Promise.reject(new Error('the thread has ended')));
  await writers.close(former, logger);
  for (const writer of [older, newest]) await writers.close(writer, logger);
  expect(journalOf('newest')).toContain(idAt(begin, 2));
  expect(() => journalOf('older')).toThrow('ENOENT');
});

test('without another writer the records are lost, counted and reported, and the begin of a request is no record', async () => {
  const writers = new Writers();
  const former = await unable();
  writers.add(former, async () => {});
  await writers.close(former, logger);
  const losses = lines
    .filter((line) => line.includes('records were lost'))
    .map((line) => (JSON.parse(line) as { records: number }).records);
  expect([former.lost.dropped, losses]).toEqual([1, [1]]);
});
