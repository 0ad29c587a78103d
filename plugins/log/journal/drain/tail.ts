/**
 * Reads the journal of one instance, on the worker's thread: matches requests that started with their end, steps over damage, and
 * deletes segments when the store has them. A batch counts as stored when it is committed; after a crash before that, it is read again.
 */
import { closeSync, existsSync, fstatSync, openSync, readSync, statSync, unlinkSync } from 'node:fs';
import { messageOf } from '../../../../core/exit.ts';
import type { Entry } from '../write/entry.ts';
import { decodeFrame, frameOf, idOf, lengthOf, nextSound, STARTED, wantedBytes } from '../write/frames.ts';
import type { Frame } from '../write/frames.ts';
import { pathOf, readCursor, segmentsOf, writeCursor } from '../write/segments.ts';

export interface Taken {
  readonly entries: readonly Entry[];
  readonly end: { readonly segment: number; readonly offset: number };
  readonly open: ReadonlyMap<string, string>;
  /** The batch is as large as allowed, so there is probably more. */
  readonly isFull: boolean;
  /** The journal has ended, and this batch is its last one. */
  readonly isLast: boolean;
}

interface TailEvents {
  /** Segments of this size were deleted. */
  removed(bytes: number): void;
  /** Called with the number of bytes that were not a frame, and were skipped. */
  damaged(bytes: number, segment: number): void;
  /** Called when the cursor cannot be written. */
  unnoted(reason: string): void;
  /** Whether the end of this request is in another journal. */
  endsElsewhere?(id: string): boolean;
}

const maxBytes = 8 * 1024 * 1024;
const readBytes = 1024 * 1024;
const none: Buffer = Buffer.alloc(0);
const cursorEveryMs = 1000;

export class Tail {
  readonly folder: string;
  readonly #events: TailEvents;
  #segment: number;
  #offset: number;
  #oldest: number;
  #file: number | null = null;
  readonly #most: number;
  #open: Map<string, string>;
  /**
   * cost: all reads go into the same memory. V8 counts the bytes of buffers,
   * and collected the whole heap for each new buffer of eight megabytes.
   */
  #room: Buffer = none;
  /** The part of that memory that was read last. */
  #buffer: Buffer = none;
  /** The instance writes no more, so an incomplete frame will stay incomplete. */
  #isEnded: boolean;
  #isDone = false;
  #cursorAt = 0;
  #saved = '';
  #isUnnoted = false;

  /** @param most entries of one batch */
  constructor(folder: string, { isEnded, most, ...events }: TailEvents & { isEnded: boolean; most: number }) {
    this.folder = folder;
    this.#most = most;
    this.#events = events;
    this.#isEnded = isEnded;
    const { segment, offset, open } = readCursor(folder);
    const segments = segmentsOf(folder);
    this.#oldest = segments[0] ?? 1;
    this.#segment = Math.max(segment, this.#oldest);
    this.#offset = this.#segment === segment ? offset : 0;
    this.#open = new Map(open.map((payload) => [idOf(payload), payload]));
  }

  /** Call this when the writer has closed the journal: what is read from now on is its end. */
  end(): void {
    this.#isEnded = true;
  }

  /** Bytes that the store does not have yet. */
  get behindBytes(): number {
    let sum = 0;
    for (const segment of segmentsOf(this.folder)) {
      const size = segment < this.#segment ? 0 : sizeOf(pathOf(this.folder, segment));
      // a segment that was deleted meanwhile has no bytes any more
      sum += segment === this.#segment ? Math.max(0, size - this.#offset) : size;
    }
    return sum;
  }

  /**
   * The next batch; with `after`, the batch that follows that one, which need not be committed yet. Null where there is nothing
   * new. The last batch of an ended journal also holds the requests that started and never finished.
   */
  take(after: Taken | null = null): Taken | null {
    if (this.#isDone || after?.isLast === true) return null;
    const from = after?.end ?? { segment: this.#segment, offset: this.#offset };
    const open = new Map(after?.open ?? this.#open);
    const entries: Entry[] = [];
    const at = { ...from };
    let size = 0;
    let isLast = false;
    while (entries.length < this.#most && size < maxBytes) {
      const frame = this.#next(at);
      if (frame === 'waiting') break;
      if (frame === 'over') {
        isLast = true;
        break;
      }
      size += lengthOf(frame);
      const id = idOf(frame.payload);
      if (frame.kind === STARTED) open.set(id, frame.payload);
      else {
        open.delete(id);
        entries.push({ payload: frame.payload, parts: frame.parts, isInterrupted: false });
      }
    }
    const isFull = entries.length === this.#most || size >= maxBytes;
    if (isLast) {
      for (const [id, payload] of open) if (this.#events.endsElsewhere?.(id) !== true) entries.push({ payload, isInterrupted: true });
      open.clear();
    }
    const moved = at.segment !== from.segment || at.offset !== from.offset;
    return moved || isLast ? { entries, end: at, open, isFull, isLast } : null;
  }

  /** Call this when the store has the batch. */
  commit({ end, open, isLast }: Taken): void {
    this.#segment = end.segment;
    this.#offset = end.offset;
    this.#open = new Map(open);
    this.#isDone = isLast;
    const leaves = this.#oldest < this.#segment;
    if (leaves) this.#saveAndUnlink();
    else if (performance.now() - this.#cursorAt > cursorEveryMs) this.note();
  }

  /**
   * Writes the cursor, and goes on where the folder takes no new file. Without the cursor a process
   * that starts after a crash reads records again that the store has; the store keeps its rows.
   */
  note(): void {
    try {
      this.#save();
      this.#isUnnoted = false;
    } catch (error) {
      if (!existsSync(this.folder)) throw error;
      if (!this.#isUnnoted) this.#events.unnoted(messageOf(error));
      this.#isUnnoted = true;
    }
  }

  /** Writes the cursor: the place up to which the store has the journal. */
  #save(): void {
    const cursor = { segment: this.#segment, offset: this.#offset, open: [...this.#open.values()] };
    this.#cursorAt = performance.now();
    const key = `${cursor.segment} ${cursor.offset}`;
    if (key === this.#saved) return;
    writeCursor(this.folder, cursor);
    this.#saved = key;
  }

  close(): void {
    this.#leave();
    this.#buffer = this.#room = none;
  }

  #leave(): void {
    if (this.#file !== null) closeSync(this.#file);
    this.#file = null;
    this.#buffer = none;
    // one large frame must not keep its memory for ever
    if (this.#room.length > readBytes) this.#room = none;
  }

  /** Saves the cursor, then deletes the segments that the store has; on a full disk the oldest of them first, so that the cursor fits. */
  #saveAndUnlink(): void {
    try {
      this.#save();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
      this.#unlink(this.#oldest + 1);
      this.#save();
    }
    this.#unlink(this.#segment);
  }

  #unlink(end: number): void {
    let bytes = 0;
    for (; this.#oldest < end; this.#oldest++) {
      const path = pathOf(this.folder, this.#oldest);
      bytes += sizeOf(path);
      if (existsSync(path)) unlinkSync(path);
    }
    this.#events.removed(bytes);
  }

  /** `#buffer` holds the bytes of this segment, from this offset on. */
  #bufferSegment = 0;
  #bufferFrom = 0;

  #next(at: { segment: number; offset: number }): Frame | 'waiting' | 'over' {
    for (;;) {
      const { bytes, from } = this.#bytesAt(at, 0);
      let decoded = decodeFrame(bytes, from);
      let whole = bytes;
      let begin = from;
      if (decoded === 'incomplete') {
        const more = this.#bytesAt(at, wantedBytes(bytes, from));
        [whole, begin] = [more.bytes, more.from];
        decoded = decodeFrame(whole, begin);
      }
      if (typeof decoded === 'object') {
        at.offset += decoded.end - begin;
        return frameOf(decoded.kind, decoded.content);
      }
      const isClosed = this.#isEnded || this.#hasAfter(at.segment);
      // the writer may have added to this segment after the read above, and then have begun the next segment
      if (decoded === 'incomplete' && (!isClosed || this.#grown(at, whole.length - begin))) return 'waiting';
      if (whole.length > begin) {
        this.#stepOver(at);
        continue;
      }
      const following = segmentsOf(this.folder).find((segment) => segment > at.segment);
      if (following === undefined) return this.#isEnded ? 'over' : 'waiting';
      at.segment = following;
      at.offset = 0;
    }
  }

  /** Whether the writer has left this segment. Segments in between may have been deleted. */
  #hasAfter(segment: number): boolean {
    return (
      existsSync(pathOf(this.folder, segment + 1)) || (existsSync(this.folder) && segmentsOf(this.folder).some((one) => one > segment))
    );
  }

  #grown({ segment, offset }: { segment: number; offset: number }, known: number): boolean {
    return sizeOf(pathOf(this.folder, segment)) > offset + known;
  }

  /** Skips bytes that are no frame, up to the next sound frame or to the end of the segment. */
  #stepOver(at: { segment: number; offset: number }): void {
    const { bytes, from } = this.#bytesAt(at, Infinity);
    const end = nextSound(bytes, from + 1);
    this.#events.damaged(end - from, at.segment);
    at.offset += end - from;
  }

  /** The bytes of the segment from this offset on: at least `wanted`, where the segment has so many. */
  #bytesAt({ segment, offset }: { segment: number; offset: number }, wanted: number): { bytes: Buffer; from: number } {
    const from = offset - this.#bufferFrom;
    const isHere = this.#file !== null && segment === this.#bufferSegment && from >= 0 && from <= this.#buffer.length;
    if (isHere && this.#buffer.length - from >= Math.max(wanted, 1)) return { bytes: this.#buffer, from };
    if (segment !== this.#bufferSegment) this.#leave();
    this.#bufferSegment = segment;
    this.#bufferFrom = offset;
    this.#file ??= openIfThere(pathOf(this.folder, segment));
    if (this.#file === null) return { bytes: (this.#buffer = none), from: 0 };
    const size = Math.max(0, Math.min(fstatSync(this.#file).size - offset, Math.max(wanted, readBytes)));
    if (this.#room.length < size) this.#room = Buffer.allocUnsafeSlow(Math.max(size, readBytes));
    let read = 0;
    while (read < size) {
      const count = readSync(this.#file, this.#room, read, size - read, offset + read);
      if (count === 0) break;
      read += count;
    }
    this.#buffer = this.#room.subarray(0, read);
    return { bytes: this.#buffer, from: 0 };
  }
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

function openIfThere(path: string): number | null {
  try {
    return openSync(path, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}
