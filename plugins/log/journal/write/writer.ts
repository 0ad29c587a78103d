/**
 * Writes the journal, on the request thread: all frames of one tick go into one write, and their promises resolve when it has
 * returned. A disk that is full or broken delays no request: frames wait in memory, within bounds, and records that do not fit
 * are dropped and counted. Near the bound records are written without their bodies, so that more of them fit.
 */
import { close, fdatasync, ftruncate, open, write, writeSync } from 'node:fs';
import { promisify } from 'node:util';
import type { Logger } from '../../../../core/logger.ts';
import { encodeFrames, lengthOf, STARTED } from './frames.ts';
import type { Frame } from './frames.ts';
import { nothingLost } from './lost.ts';
import type { Counts, Lost } from './lost.ts';
import { pathOf } from './segments.ts';

const files = { open: promisify(open), close: promisify(close), truncate: promisify(ftruncate), sync: promisify(fdatasync) };

interface WriterSettings {
  readonly folder: string;
  /** The bound of the journal on disk. */
  readonly maxBytes: number;
  /** Waits until the device has the bytes (fdatasync), not only the operating system. */
  readonly isDurable: boolean;
  readonly logger: Logger;
  /** The bound of the frames that wait in memory while the disk takes none, in bytes. */
  readonly maxWaiting?: number;
  readonly retryMs?: number;
  /** The counts of losses to continue. */
  readonly lost?: Lost;
  /** After a write that took longer than this, other threads write for a while. */
  readonly slowMs?: number;
}

/** `bodies`: there is room for records, but not for their bodies. `full`: there is no room at all. */
type Pressure = 'none' | 'bodies' | 'full';

const largestSegment = 16 * 1024 * 1024;
const roomForBodies = 0.8;
/** How long other threads write after a slow write. */
const slowForMs = 10_000;
/** The core waits this long for a tap of `log`. After that, only the waiting frames hold memory, and they count against `maxWaiting`. */
const heldUpMs = 1000;
/** For about twenty requests in one write; a larger group gets memory of its own. */
const scratchBytes = 256 * 1024;

export class JournalWriter {
  readonly lost: Lost;
  #written = 0;

  readonly #settings: Required<WriterSettings>;
  readonly #segmentBytes: number;
  #file: number | null = null;
  #segment = 0;
  #offset = 0;
  #onDisk = 0;
  #elsewhere = 0;
  /** cost: groups are written one after the other, so each may use the memory of the one before it. */
  readonly #scratch = Buffer.allocUnsafeSlow(scratchBytes);
  #waiting: Frame[] = [];
  #waitingBytes = 0;
  #told = Promise.withResolvers<boolean>();
  #running: Promise<void> | null = null;
  #fault: unknown = null;
  #isFull = false;
  /** When the write of a group began; null: no group is being written. */
  #writingSince: number | null = null;
  /** safety: a disk that delays writes must not stop all requests again and again. Until this time, other threads write. */
  #slowUntil = 0;
  #retry: NodeJS.Timeout | undefined;
  /** True: the open segment was deleted. */
  #isLost = false;

  constructor(settings: WriterSettings) {
    this.#settings = { maxWaiting: 64 * 1024 * 1024, retryMs: 1000, slowMs: 20, lost: nothingLost(), ...settings };
    this.lost = this.#settings.lost;
    this.#segmentBytes = Math.min(largestSegment, Math.ceil(settings.maxBytes / 8));
  }

  get counts(): Counts {
    return { ...this.lost, written: this.#written };
  }

  /** How full the journal is. */
  get pressure(): Pressure {
    const used = this.#used(0);
    return used >= 1 ? 'full' : used >= roomForBodies ? 'bodies' : 'none';
  }

  /** Whether there is still room for later records after bodies of this size. */
  hasRoomFor(bytes: number): boolean {
    return this.#used(bytes) < roomForBodies;
  }

  /** Whether a frame that is appended now is written in this turn of the event loop, on this thread. */
  get writesNow(): boolean {
    return this.#file !== null && this.#writingSince === null && !this.#settings.isDurable && performance.now() >= this.#slowUntil;
  }

  /** Why records are not kept as they should be: the last write failed and records wait in memory, or there is no room for more. */
  get trouble(): 'journal_not_written' | 'journal_full' | null {
    return this.#fault !== null ? 'journal_not_written' : this.pressure === 'full' ? 'journal_full' : null;
  }

  get #isHeldUp(): boolean {
    return this.#fault !== null || (this.#writingSince !== null && performance.now() - this.#writingSince > heldUpMs);
  }

  /** The share of the room that is used when so many bytes are added. */
  #used(more: number): number {
    const { maxBytes, maxWaiting } = this.#settings;
    const waiting = this.#waitingBytes + more;
    const ofDisk = (this.#onDisk + this.#elsewhere + waiting) / maxBytes;
    // a working disk takes everything at once, even bodies that are larger than the limit of waiting bytes
    return this.#isHeldUp ? Math.max(ofDisk, waiting / maxWaiting) : ofDisk;
  }

  /** Called with the number of deleted bytes, and of bytes that orphans hold: these count towards the bound too. */
  onDisk(removed: number, elsewhere: number): void {
    this.#onDisk -= removed;
    this.#elsewhere = elsewhere;
  }

  /**
   * Resolves to true when the frame is written; to false when it was dropped, or when
   * the write failed and the frame waits in memory: no request waits for a broken disk.
   */
  append(frame: Frame): Promise<boolean> {
    const isRecord = frame.kind !== STARTED;
    const { pressure } = this;
    this.#say(pressure);
    if (pressure === 'full') {
      if (isRecord) this.lost.dropped++;
      return Promise.resolve(false);
    }
    if (isRecord) this.#written++;
    this.#waiting.push(frame);
    this.#waitingBytes += lengthOf(frame);
    if (this.#fault !== null) return Promise.resolve(false);
    this.#running ??= this.#run();
    return this.#told.promise;
  }

  /**
   * Call this when the folder was deleted and made again. The next group goes into another segment, because nobody would find the open one.
   */
  moveOn(): void {
    this.#isLost = true;
    this.#onDisk = 0;
    // safety: a reader may have the first segment of the new folder open, and does not look for another segment with that number
    this.#segment = Math.max(this.#segment, 1);
  }

  /** Tries once more to write the waiting frames, and closes the segment. Resolves with the frames that could not be written. */
  async close(): Promise<readonly Frame[]> {
    await this.#running;
    clearTimeout(this.#retry);
    if (this.#waiting.length > 0) await this.#run();
    clearTimeout(this.#retry);
    if (this.#file !== null) await files.close(this.#file);
    this.#file = null;
    return this.#waiting;
  }

  async #run(): Promise<void> {
    // cost: everything that is appended in this tick goes into the first group
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#waiting.length > 0) {
      const group = this.#waiting;
      const told = this.#told;
      this.#waiting = [];
      this.#waitingBytes = 0;
      this.#told = Promise.withResolvers();
      this.#writingSince = performance.now();
      try {
        await this.#write(encodeFrames(group, this.#scratch));
        this.#recovered();
        told.resolve(true);
      } catch (error) {
        this.#waiting = [...group, ...this.#waiting];
        this.#waitingBytes = this.#waiting.reduce((sum, frame) => sum + lengthOf(frame), 0);
        this.#failed(error);
        told.resolve(false);
        this.#told.resolve(false);
        break;
      }
    }
    this.#writingSince = null;
    this.#running = null;
  }

  async #write(bytes: Buffer): Promise<void> {
    const file = await this.#opened();
    try {
      await this.#writeAll(file, bytes);
    } catch (error) {
      await this.#undo(file);
      throw error;
    }
    if (this.#settings.isDurable) await this.#sync(file);
    this.#offset += bytes.length;
    if (!this.#isLost) this.#onDisk += bytes.length;
    if (this.#offset >= this.#segmentBytes) await this.#leave(file);
  }

  /** The open segment. A segment that was deleted, even while it was opened, is replaced by the next one. */
  async #opened(): Promise<number> {
    while (this.#file === null || this.#isLost) {
      if (this.#file !== null) await this.#leave(this.#file);
      this.#isLost = false;
      this.#file = await this.#begin();
    }
    return this.#file;
  }

  async #writeAll(file: number, bytes: Buffer): Promise<void> {
    for (let at = this.#writeNow(file, bytes); at < bytes.length;) {
      const from = at;
      const startedAt = performance.now();
      // safety: a disk that fills up may take a part of the bytes, and the count says how many
      at += await new Promise<number>((resolve, reject) => {
        write(file, bytes, from, bytes.length - from, this.#offset + from, (error, count) =>
          error === null ? resolve(count) : reject(error),
        );
      });
      this.#noteTime(startedAt);
      if (at === from) throw Object.assign(new Error('ENOSPC: nothing was written'), { code: 'ENOSPC' });
    }
  }

  /**
   * Returns how many bytes the kernel took. The other bytes are written on another thread, and that write reports what is wrong.
   * cost: the kernel copies the bytes into its cache in microseconds. A write on another thread costs two switches of threads, 25 µs
   * of CPU and, twice a request, 0.1 ms of waiting.
   */
  #writeNow(file: number, bytes: Buffer): number {
    const startedAt = performance.now();
    if (startedAt < this.#slowUntil) return 0;
    try {
      return writeSync(file, bytes, 0, bytes.length, this.#offset);
    } catch {
      return 0;
    } finally {
      this.#noteTime(startedAt);
    }
  }

  /** safety: a slow write on another thread counts too. Otherwise a slow disk would stop the requests again every ten seconds. */
  #noteTime(startedAt: number): void {
    const now = performance.now();
    if (now - startedAt > this.#settings.slowMs) this.#slowUntil = now + slowForMs;
  }

  /**
   * Cuts off a group that was written in part. Where that fails too, the
   * next group goes into another segment: readers step over a torn tail.
   */
  async #undo(file: number): Promise<void> {
    try {
      await files.truncate(file, this.#offset);
    } catch {
      await this.#leave(file);
    }
  }

  async #sync(file: number): Promise<void> {
    try {
      await files.sync(file);
    } catch (error) {
      // safety: after a failed sync nobody knows what the disk has, and a second sync of the same file may report success
      // (Linux drops the pages that failed), so the group is written again into another file
      await this.#leave(file);
      throw error;
    }
  }

  async #begin(): Promise<number> {
    const segment = this.#segment + 1;
    const file = await files.open(pathOf(this.#settings.folder, segment), 'w', 0o600);
    this.#segment = segment;
    this.#offset = 0;
    return file;
  }

  async #leave(file: number): Promise<void> {
    this.#file = null;
    await files.close(file).catch(() => {});
  }

  /** Logs once that the journal is full, and once that it has room again. */
  #say(pressure: Pressure): void {
    const { logger, maxBytes, maxWaiting } = this.#settings;
    const { dropped, bodiesDropped } = this.lost;
    if (pressure === 'full' && !this.#isFull) {
      logger.error('the journal is full: records are lost until the store takes some', { maxBytes, maxWaiting, bodiesDropped });
    }
    if (pressure === 'none' && this.#isFull) logger.info('the journal has room again', { dropped, bodiesDropped });
    if (pressure !== 'bodies') this.#isFull = pressure === 'full';
  }

  #failed(error: unknown): void {
    const { logger, maxWaiting } = this.#settings;
    if (this.#fault === null) {
      logger.error(
        'the journal cannot be written; requests are still served, and their records wait in memory, where the end of the process loses them',
        { error, maxWaiting, dropped: this.lost.dropped },
      );
    }
    this.#fault = error;
    this.#retry = setTimeout(() => void (this.#running ??= this.#run()), this.#settings.retryMs);
    this.#retry.unref();
  }

  #recovered(): void {
    if (this.#fault === null) return;
    this.#fault = null;
    this.#settings.logger.info('the journal is written again', { dropped: this.lost.dropped, bodiesDropped: this.lost.bodiesDropped });
  }
}
