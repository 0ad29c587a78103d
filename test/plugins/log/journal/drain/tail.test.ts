/** The reader of a journal that has filled its disk, and of a journal whose segments were deleted. */
import { rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Tail } from '../../../../../plugins/log/journal/drain/tail.ts';
import type { Taken } from '../../../../../plugins/log/journal/drain/tail.ts';
import { encodeFrames, FINISHED } from '../../../../../plugins/log/journal/write/frames.ts';
import { pathOf, readCursor, segmentsOf } from '../../../../../plugins/log/journal/write/segments.ts';
import { finished, folder } from '../scene.ts';

let place: ReturnType<typeof folder>;
beforeEach(() => {
  place = folder();
  for (const number of [1, 2, 3]) {
    writeFileSync(pathOf(place.path, number), encodeFrames([{ kind: FINISHED, payload: JSON.stringify(finished({ number })) }]));
  }
});
afterEach(() => place.remove());

const tailOf = (removed: () => void): Tail =>
  new Tail(place.path, { isEnded: false, most: 1000, removed, damaged: () => {}, unnoted: () => {} });

/** Leaves no room for a new cursor until `makeRoom` is called. */
function fillDisk(): { makeRoom(): void } {
  const next = join(place.path, 'cursor.next');
  // the kernel reports that /dev/full has no space left
  symlinkSync('/dev/full', next);
  return { makeRoom: () => rmSync(next, { force: true }) };
}

describe('a journal that has filled its disk', () => {
  test('deletes a stored segment to make room for the cursor', () => {
    const { makeRoom } = fillDisk();
    const tail = tailOf(makeRoom);
    tail.commit(tail.take() as Taken);
    tail.close();
    expect(segmentsOf(place.path)).toEqual([3]);
    expect(readCursor(place.path)).toMatchObject({ segment: 3 });
  });

  test('deletes only one segment while the cursor cannot be written', () => {
    fillDisk();
    const tail = tailOf(() => {});
    expect(() => tail.commit(tail.take() as Taken)).toThrow('ENOSPC');
    tail.close();
    expect(segmentsOf(place.path)).toEqual([2, 3]);
  });
});

describe('a journal whose segments were deleted', () => {
  test.each([
    ['read', true],
    ['not read', false],
  ])('and which were %s has no waiting bytes, and a later segment is read', (_, isRead) => {
    const tail = tailOf(() => {});
    if (isRead) tail.commit(tail.take() as Taken);
    for (const number of segmentsOf(place.path)) rmSync(pathOf(place.path, number));
    expect(tail.behindBytes).toBe(0);
    writeFileSync(pathOf(place.path, 9), encodeFrames([{ kind: FINISHED, payload: JSON.stringify(finished({ number: 9 })) }]));
    expect(tail.take()?.entries).toHaveLength(1);
    tail.close();
  });
});
