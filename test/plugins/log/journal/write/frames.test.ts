import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  decodeFrame,
  encodeFrames,
  FINISHED,
  frameOf,
  IN_PARTS,
  nextSound,
  STARTED,
  WITH_SENT,
} from '../../../../../plugins/log/journal/write/frames.ts';
import type { Frame } from '../../../../../plugins/log/journal/write/frames.ts';
import { anyText } from '../../../../_kit/fuzz.ts';

const json = fc.dictionary(fc.string(), anyText()).map((value) => JSON.stringify(value));
const body = fc.oneof(json, fc.constant(''));
const frame: fc.Arbitrary<Frame> = fc.oneof(
  fc.record({ kind: fc.constantFrom(STARTED, FINISHED), payload: json }),
  fc.record({ kind: fc.constant(IN_PARTS), payload: json, parts: fc.record({ more: json, request: body, response: body }) }),
  fc.record({
    kind: fc.constant(WITH_SENT),
    payload: json,
    parts: fc.record({ more: json, sent: fc.string({ unit: 'grapheme' }), request: body, response: json }),
  }),
);

const bytesOf = (one: Frame): number => encodeFrames([one]).length;

/** All valid frames: damaged bytes are skipped, as a reader skips them. */
function read(bytes: Buffer): Frame[] {
  const found: Frame[] = [];
  for (let at = 0; at < bytes.length;) {
    const decoded = decodeFrame(bytes, at);
    if (typeof decoded === 'object') {
      found.push(frameOf(decoded.kind, decoded.content));
      at = decoded.end;
    } else at = nextSound(bytes, at + 1);
  }
  return found;
}

describe('frames', () => {
  test('are read as they were written', () => {
    fc.assert(
      fc.property(fc.array(frame), (frames) => {
        expect(read(encodeFrames(frames))).toEqual(frames);
      }),
    );
  });

  test('are read from memory that is used again', () => {
    const scratch = Buffer.alloc(4096, 0xff);
    fc.assert(
      fc.property(fc.array(frame), (frames) => {
        expect(read(encodeFrames(frames, scratch))).toEqual(frames);
      }),
    );
  });

  test('cut anywhere, lose the cut frame and none before it', () => {
    fc.assert(
      fc.property(fc.array(frame, { minLength: 1 }), fc.nat(), (frames, seed) => {
        const bytes = encodeFrames(frames);
        const cut = seed % bytes.length;
        let whole = 0;
        for (let end = 0; whole < frames.length && (end += bytesOf(frames[whole] as Frame)) <= cut;) whole++;
        expect(read(bytes.subarray(0, cut))).toEqual(frames.slice(0, whole));
      }),
    );
  });

  test('with a byte changed, lose one frame, and later frames are found', () => {
    fc.assert(
      fc.property(fc.array(frame, { minLength: 1 }), fc.nat(), fc.integer({ min: 1, max: 255 }), (frames, seed, change) => {
        const bytes = encodeFrames(frames);
        const at = seed % bytes.length;
        bytes[at] = (bytes[at] as number) ^ change;
        let hit = 0;
        for (let end = 0; (end += bytesOf(frames[hit] as Frame)) <= at;) hit++;
        expect(read(bytes)).toEqual(frames.filter((_, index) => index !== hit));
      }),
    );
  });

  test('are found after and before garbage, and not in garbage', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), frame, (garbage, one) => {
        const bytes = encodeFrames([one]);
        expect(read(Buffer.concat([garbage, bytes, garbage]))).toEqual([one]);
        expect(read(Buffer.from(garbage))).toEqual([]);
      }),
    );
  });

  test('of an earlier version can still be read', () => {
    const bytes = Buffer.from('0d000000b9ecf69e017b226964223a2273656c66227d02000000c0a0ba1e027b7d', 'hex');
    expect(read(bytes)).toEqual([
      { kind: STARTED, payload: '{"id":"self"}' },
      { kind: FINISHED, payload: '{}' },
    ]);
  });

  test.each([0, 1, 512 * 1024 * 1024 + 1, 2 ** 32 - 1])(
    'with an impossible length (%i) are damaged: no reader waits for their end',
    (length) => {
      const bytes = Buffer.concat([encodeFrames([{ kind: FINISHED, payload: '{}' }]), Buffer.alloc(20)]);
      bytes.writeUInt32LE(length, 0);
      expect(decodeFrame(bytes, 0)).toBe('damaged');
    },
  );

  test('of zeros are not valid', () => expect(read(Buffer.alloc(64 * 1024))).toEqual([]));
});
