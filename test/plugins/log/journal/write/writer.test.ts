import { execFileSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, onTestFinished, vi } from 'vitest';
import type { Logger } from '../../../../../core/logger.ts';
import { FINISHED } from '../../../../../plugins/log/journal/write/frames.ts';
import type { Frame } from '../../../../../plugins/log/journal/write/frames.ts';
import {
  adoptOrphans,
  claim,
  createInstance,
  pathOf,
  readCursor,
  removeInstance,
  segmentsOf,
  writeCursor,
} from '../../../../../plugins/log/journal/write/segments.ts';
import { Tail } from '../../../../../plugins/log/journal/drain/tail.ts';
import { JournalWriter } from '../../../../../plugins/log/journal/write/writer.ts';
import { mountSmallDisk } from '../../../../_kit/small-disk.ts';
import { pause } from '../../../../_kit/upstream.ts';
import { folder, idAt } from '../scene.ts';

let place: ReturnType<typeof folder>;
let lines: string[];
const logger: Logger = {
  info: (message) => void lines.push(message),
  warn: (message) => void lines.push(message),
  error: (message) => void lines.push(message),
};
const payload = (number: number, text = ''): string => JSON.stringify({ id: idAt(1, number), text });
const frame = (number: number, text = ''): Frame => ({ kind: FINISHED, payload: payload(number, text) });

beforeEach(() => {
  place = folder();
  lines = [];
});
afterEach(() => place.remove());

/** The records that a reader finds in a closed journal. It does not change the journal. */
function readAll(path: string): { payloads: string[]; damaged: number } {
  let damaged = 0;
  const tail = new Tail(path, {
    isEnded: true,
    most: 1000,
    removed: () => {},
    damaged: (bytes) => void (damaged += bytes),
    unnoted: () => {},
  });
  const payloads: string[] = [];
  for (let taken = tail.take(); taken !== null; taken = tail.take(taken)) payloads.push(...taken.entries.map((entry) => entry.payload));
  tail.close();
  return { payloads, damaged };
}

const writerIn = (path: string, more: object = {}): JournalWriter =>
  new JournalWriter({ folder: path, maxBytes: 2 ** 30, isDurable: false, logger, ...more });

/** A journal of ten records; its only segment. */
async function write(): Promise<string> {
  const writer = writerIn(place.path);
  for (let at = 0; at < 10; at++) await writer.append(frame(at));
  await writer.close();
  return pathOf(place.path, 1);
}

/** A writer on a disk that has room for about thirty records of a kilobyte. */
async function onSmallDisk(
  more: object,
  work: (scene: { disk: string; writer: JournalWriter; grow: () => void }) => Promise<void>,
): Promise<void> {
  const disk = join(place.path, 'disk');
  mkdirSync(disk);
  const small = mountSmallDisk(disk, '64k');
  const writer = writerIn(disk, more);
  try {
    writeFileSync(join(disk, 'filler'), Buffer.alloc(30_000));
    await work({ disk, writer, grow: () => small.grow('4m') });
  } finally {
    await writer.close();
    small.unmount();
  }
}

const tailOf = (): Tail => new Tail(place.path, { isEnded: false, most: 1000, removed: () => {}, damaged: () => {}, unnoted: () => {} });

describe('the writer', () => {
  test.each([false, true])('resolves after the write (to the device: %s)', async (isDurable) => {
    const writer = writerIn(place.path, { isDurable });
    await Promise.all(Array.from({ length: 100 }, (_, at) => writer.append(frame(at))));
    // this reads before the writer is closed
    expect(readAll(place.path).payloads).toEqual(Array.from({ length: 100 }, (_, at) => payload(at)));
    await writer.close();
  });

  test.each([false, true])(
    'syncs each group before it resolves, if the option says so (%s), and writes a group that could not be synced into another file',
    async (isDurable) => {
      // the kernel takes what is written to /dev/null, and refuses to sync it
      symlinkSync('/dev/null', pathOf(place.path, 1));
      const writer = writerIn(place.path, { isDurable, retryMs: 5 });
      await writer.append(frame(1));
      expect(writer.trouble).toBe(isDurable ? 'journal_not_written' : null);
      while (writer.trouble !== null) await pause(5);
      await writer.append(frame(2));
      await writer.close();
      expect(segmentsOf(place.path)).toEqual(isDurable ? [1, 2] : [1]);
      expect(readAll(place.path).payloads).toEqual(isDurable ? [payload(1), payload(2)] : []);
    },
  );

  const nextTurn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

  test('writes within the turn of the event loop, once its file is open', async () => {
    const writer = writerIn(place.path, { slowMs: 60_000 });
    expect(writer.writesNow).toBe(false);
    await writer.append(frame(0));
    expect(writer.writesNow).toBe(true);
    void writer.append(frame(1));
    await nextTurn();
    expect(readAll(place.path).payloads).toEqual([payload(0), payload(1)]);
    await writer.close();
  });

  test('writes in other threads as long as the disk stays slow', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const writer = writerIn(place.path, { slowMs: -1 });
    await writer.append(frame(0));
    vi.advanceTimersByTime(9000);
    await writer.append(frame(1));
    vi.advanceTimersByTime(9000);
    expect(writer.writesNow).toBe(false);
    vi.advanceTimersByTime(2000);
    expect(writer.writesNow).toBe(true);
    await writer.close();
  });

  test('writes in other threads when the disk is slow', async () => {
    const writer = writerIn(place.path, { slowMs: -1 });
    await writer.append(frame(0));
    expect(writer.writesNow).toBe(false);
    await Promise.all([writer.append(frame(1)), writer.append(frame(2))]);
    expect(readAll(place.path).payloads).toEqual([payload(0), payload(1), payload(2)]);
    await writer.close();
  });

  test('does not report an immediate write where it waits for the device', async () => {
    const writer = writerIn(place.path, { isDurable: true });
    await writer.append(frame(0));
    expect(writer.writesNow).toBe(false);
    await writer.close();
  });

  test('begins a new segment when one is full, and readers follow', async () => {
    const writer = writerIn(place.path, { maxBytes: 80_000 });
    for (let at = 0; at < 50; at++) await writer.append(frame(at, 'x'.repeat(1000)));
    await writer.close();
    expect(segmentsOf(place.path).length).toBeGreaterThan(3);
    expect(readAll(place.path).payloads).toHaveLength(50);
  });

  test('reports when room gets scarce, and counts the records that do not fit', async () => {
    const writer = writerIn(place.path, { maxBytes: 100_000 });
    const seen = new Set<string>();
    for (let at = 0; at < 120; at++) {
      await writer.append(frame(at, 'x'.repeat(1000)));
      seen.add(writer.pressure);
    }
    expect([...seen]).toEqual(['none', 'bodies', 'full']);
    expect(writer.counts.dropped).toBe(120 - writer.counts.written);
    expect(readAll(place.path).payloads).toHaveLength(writer.counts.written);
    writer.onDisk(60_000, 0);
    expect(writer.pressure).toBe('none');
    await writer.close();
  });

  test('counts what the journals of dead gateways take on the disk against its limit', async () => {
    const writer = writerIn(place.path, { maxBytes: 100_000 });
    const seen = [0, 90_000, 100_000, 0].map((elsewhere) => {
      writer.onDisk(0, elsewhere);
      return writer.pressure;
    });
    expect(seen).toEqual(['none', 'bodies', 'full', 'none']);
    await writer.close();
  });

  test('accepts more records than may wait in memory, as long as the disk accepts them', async () => {
    const writer = writerIn(place.path, { maxWaiting: 10_000 });
    expect(writer.hasRoomFor(20_000)).toBe(true);
    const written = [writer.append(frame(1, 'x'.repeat(20_000))), writer.append(frame(2))];
    expect([writer.pressure, await Promise.all(written)]).toEqual(['none', [true, true]]);
    await writer.close();
  });

  test.each(['refuses to be written', 'does not answer'])('limits the records that wait in memory while the disk %s', async (how) => {
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const isAway = how === 'refuses to be written';
    // the kernel blocks a writer of a pipe until a reader reads
    if (!isAway) execFileSync('mkfifo', [pathOf(place.path, 1)]);
    const writer = writerIn(isAway ? join(place.path, 'nowhere') : place.path, { maxWaiting: 10_000, retryMs: 60_000 });
    const first = writer.append(frame(1));
    if (isAway) await first;
    else await nextTurn();
    vi.advanceTimersByTime(2000);
    expect(writer.hasRoomFor(20_000)).toBe(false);
    void writer.append(frame(2, 'x'.repeat(20_000)));
    expect([writer.pressure, await writer.append(frame(3)), writer.counts.dropped]).toEqual(['full', false, 1]);
    if (!isAway) closeSync(openSync(pathOf(place.path, 1), 'r'));
    // records that the pipe does not accept go into the next segment
    expect(await writer.close()).toHaveLength(isAway ? 2 : 0);
  });

  test('survives a full disk: reports it once, delays no request, and writes all records when there is room', async () => {
    await onSmallDisk({ retryMs: 20 }, async ({ disk, writer, grow }) => {
      for (let at = 0; at < 60; at++) await writer.append(frame(at, 'x'.repeat(1000)));
      expect(lines.filter((line) => line.includes('cannot be written'))).toHaveLength(1);
      expect(readAll(disk).payloads.length).toBeLessThan(60);
      grow();
      while (!lines.includes('the journal is written again')) await pause(5);
      await writer.close();
      expect(new Set(readAll(disk).payloads).size).toBe(60);
      expect(readAll(disk).damaged).toBe(0);
    });
  });

  test('cuts off a record that a full disk took in part, and tries once more when it closes', async () => {
    await onSmallDisk({ retryMs: 60_000 }, async ({ disk, writer, grow }) => {
      for (let at = 0; at < 60; at++) await writer.append(frame(at, 'x'.repeat(1000)));
      expect(writer.trouble).toBe('journal_not_written');
      expect(readAll(disk).damaged).toBe(0);
      grow();
      await writer.close();
      expect(readAll(disk).payloads).toEqual(Array.from({ length: 60 }, (_, at) => payload(at, 'x'.repeat(1000))));
    });
  });

  test('reports once that it is full, and once that it has room again', async () => {
    const writer = writerIn(place.path, { maxBytes: 65_536 });
    while (writer.trouble === null) await writer.append(frame(1, 'x'.repeat(1000)));
    expect(await writer.append(frame(2))).toBe(false);
    expect([writer.trouble, writer.counts.dropped]).toEqual(['journal_full', 1]);
    writer.onDisk(60_000, 0);
    expect(await writer.append(frame(3))).toBe(true);
    expect(lines).toEqual(['the journal is full: records are lost until the store takes some', 'the journal has room again']);
    await writer.close();
  });

  test('gives up a deleted folder, and no request fails', async () => {
    const writer = writerIn(join(place.path, 'nowhere'), { retryMs: 5 });
    await writer.append(frame(1));
    await pause(20);
    await writer.append(frame(2));
    expect(await writer.close()).toEqual([frame(1), frame(2)]);
  });
});

describe('a damaged journal', () => {
  test('with a cut end loses only the cut record', async () => {
    const file = await write();
    const bytes = readFileSync(file);
    writeFileSync(file, bytes.subarray(0, bytes.length - 5));
    expect(readAll(place.path).payloads).toEqual(Array.from({ length: 9 }, (_, at) => payload(at)));
  });

  test('with a changed byte loses only that record', async () => {
    const file = await write();
    const bytes = readFileSync(file);
    bytes[Math.floor(bytes.length / 2)] = 0;
    writeFileSync(file, bytes);
    const { payloads, damaged } = readAll(place.path);
    expect(payloads).toHaveLength(9);
    expect(damaged).toBeGreaterThan(0);
  });

  test('that is not a journal has no records', () => {
    writeFileSync(pathOf(place.path, 3), 'garbage'.repeat(1000));
    writeFileSync(pathOf(place.path, 5), Buffer.alloc(9000));
    writeFileSync(join(place.path, 'cursor'), '{"segment":');
    expect(readAll(place.path).payloads).toEqual([]);
  });
});

describe('a reader', () => {
  test('follows a writer, and waits at the end', async () => {
    const writer = writerIn(place.path, { maxBytes: 80_000 });
    const tail = tailOf();
    const seen: string[] = [];
    for (let at = 0; at < 40; at++) {
      await writer.append(frame(at, 'x'.repeat(900)));
      const taken = tail.take();
      seen.push(...(taken?.entries ?? []).map((entry) => entry.payload));
      if (taken !== null) tail.commit(taken);
      expect(tail.take()).toBeNull();
    }
    expect(seen).toHaveLength(40);
    expect(segmentsOf(place.path)).toHaveLength(1);
    await writer.close();
    tail.close();
  });

  test('begins again where the last commit was saved', async () => {
    const writer = writerIn(place.path);
    await writer.append(frame(1));
    const tail = tailOf();
    const taken = tail.take();
    if (taken !== null) tail.commit(taken);
    tail.note();
    tail.close();
    await writer.append(frame(2));
    expect(
      tailOf()
        .take()
        ?.entries.map((entry) => entry.payload),
    ).toEqual([payload(2)]);
    await writer.close();
  });

  test('reads records that are not committed again', async () => {
    const writer = writerIn(place.path);
    await writer.append(frame(1));
    const tail = tailOf();
    expect(tail.take()).toEqual(tail.take());
    await writer.close();
    tail.close();
  });
});

describe('a cursor', () => {
  test('replaces the former one only after it is on the disk', () => {
    const cursor = { segment: 1, offset: 2, open: ['{}'] };
    writeCursor(place.path, cursor);
    // the kernel takes what is written to /dev/null, and refuses to sync it
    symlinkSync('/dev/null', join(place.path, 'cursor.next'));
    expect(() => writeCursor(place.path, { ...cursor, offset: 3 })).toThrow('EINVAL');
    expect(readCursor(place.path)).toEqual(cursor);
    rmSync(join(place.path, 'cursor.next'));
    writeCursor(place.path, { ...cursor, offset: 3 });
    expect(readCursor(place.path)).toEqual({ ...cursor, offset: 3 });
  });
});

describe('a cursor that is broken', () => {
  test.each([
    '',
    '{"segment":1,',
    '{"segment":1}',
    '{"segment":1,"offset":5}',
    '{"segment":"1","offset":5,"open":[]}',
    '{"segment":1,"offset":5,"open":{}}',
    'null',
  ])('costs a replay: %s', async (text) => {
    await write();
    writeFileSync(join(place.path, 'cursor'), text);
    expect(readAll(place.path).payloads).toHaveLength(10);
  });
});

describe('a folder of a journal', () => {
  test('belongs to one process at a time, and to the next when that one has ended', () => {
    const instance = createInstance(place.path);
    expect(claim(instance.folder)).toBeNull();
    expect(adoptOrphans(place.path, new Set())).toEqual([]);
    instance.claim.release();
    const adopted = adoptOrphans(place.path, new Set());
    expect(adopted.map(({ folder: path }) => path)).toEqual([instance.folder]);
    expect(adoptOrphans(place.path, new Set())).toEqual([]);
    for (const one of adopted) removeInstance(one);
    expect(readdirSync(place.path)).toEqual([]);
  });
});
