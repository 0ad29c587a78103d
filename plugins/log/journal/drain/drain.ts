/**
 * Moves records from the journals into the store, batch by batch, on the worker's thread: from the journal of this gateway, and
 * from the journals that dead gateways left behind (orphans).
 */
import { appendFileSync, existsSync, fsyncSync, openSync, closeSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../../../../core/exit.ts';
import { rowOf } from '../sql/rows.ts';
import type { Row } from '../sql/rows.ts';
import { adoptOrphans, removeInstance } from '../write/segments.ts';
import type { Instance } from '../write/segments.ts';
import { faultOf, floorOf } from '../store/store.ts';
import type { Store } from '../store/store.ts';
import { Tail } from './tail.ts';
import type { Entry } from '../write/entry.ts';
import type { Taken } from './tail.ts';

interface DrainSettings {
  readonly store: Store;
  readonly root: string;
  /** The journal of this gateway. */
  readonly folder: string;
  readonly retentionDays: number;
  readonly warn: (message: string, facts: Readonly<Record<string, unknown>>) => void;
  /** Called when bytes of this gateway's journal were removed, or when the bytes of orphans (`elsewhere`) changed. */
  readonly disk: (change: { readonly removed: number; readonly elsewhere: number }) => void;
  /** Called when the store has taken so many records of this gateway. */
  readonly drained: (records: number) => void;
  /** Called when the store has refused a record. */
  readonly buried: () => void;
}

interface Batch {
  readonly taken: Taken;
  readonly rows: readonly Row[];
  /** How many records of the batch are in the store. */
  stored: number;
}

const lookForOrphansMs = 5000;
const retainEveryMs = 600_000;
const retainAgainMs = 60_000;
const readAgainMs = 60_000;

/** The disk cannot read what is in a journal. */
class Unreadable extends Error {}

function read(tail: Tail, after: Taken | undefined): Taken | null {
  try {
    return tail.take(after);
  } catch (cause) {
    throw new Unreadable(messageOf(cause), { cause });
  }
}

/**
 * The bytes of an orphan that are not stored.
 * safety: a journal whose folder cannot be read must not keep the others from being stored. It is put off when it is read.
 */
function behindOf(orphan: Tail): number {
  try {
    return orphan.behindBytes;
  } catch {
    return 0;
  }
}

export class Drain {
  lastDrainAt: number | null = null;
  /** Whether the last step stored all records that the journals had when it began. Records that came later may wait for more. */
  isCaughtUp = false;

  readonly #settings: DrainSettings;
  readonly #own: Tail;
  readonly #orphans = new Map<Tail, Instance>();
  /** Folders of dead gateways that could not be read, and when they are looked at again. */
  readonly #unreadable = new Map<string, number>();
  /** safety: batches that were read and are not in the store yet. A batch that the store did not take stays here, and is tried again. */
  readonly #ready = new Map<Tail, Batch[]>();
  /** Requests whose start is in a journal here and whose end another writer of the process has. */
  readonly #endElsewhere = new Set<string>();
  /** How many rows are inserted at once: fewer after the store has taken too long. */
  #atOnce: number;
  #lookAt = 0;
  #retainAt = 0;

  constructor(settings: DrainSettings) {
    this.#settings = settings;
    this.#atOnce = settings.store.batch;
    this.#own = this.#tail(settings.folder, false);
  }

  /** Takes over the journals of dead gateways; from now on they count as bytes that wait. */
  adopt(): void {
    if (performance.now() < this.#lookAt) return;
    this.#lookAt = performance.now() + lookForOrphansMs;
    const mine = new Set([this.#own, ...this.#orphans.keys()].map(({ folder }) => folder));
    for (const [folder, until] of this.#unreadable) if (performance.now() < until) mine.add(folder);
    const closed = (folder: string, error: unknown): void => this.#putOff(folder, messageOf(error));
    for (const instance of adoptOrphans(this.#settings.root, mine, closed)) this.#take(instance);
    if (this.#orphans.size > 0) this.#settings.disk({ removed: 0, elsewhere: this.#elsewhere() });
  }

  /** Drains one batch of each journal and drops one part of the old records. True: there may be more to do. Throws when the store fails. */
  async step(): Promise<boolean> {
    this.adopt();
    this.isCaughtUp = false;
    // a batch that was read before this step lacks the records that were written since
    const hasWaited = (this.#ready.get(this.#own)?.length ?? 0) > 0;
    const worked = await this.#drain(this.#own);
    const isBehind = hasWaited || this.#ready.get(this.#own)?.length !== 0;
    const orphans = [...this.#orphans];
    for (const [tail, instance] of orphans) await this.#drainOrphan(tail, instance);
    const retained = await this.#retain();
    this.isCaughtUp = !isBehind && !retained && orphans.length === 0;
    return retained || worked || orphans.length > 0;
  }

  /** From now on, a journal that ends does not mark these requests as interrupted. */
  endElsewhere(ids: readonly string[]): void {
    for (const id of ids) this.#endElsewhere.add(id);
  }

  /** Writes the cursor; call this when nothing waits. Without the cursor the next process stores again what was deleted in the store. */
  rest(): void {
    this.#own.note();
  }

  /** Call it when the gateway has closed its journal. Resolves when the store has the whole journal. */
  async finish(): Promise<void> {
    this.#own.end();
    while (await this.#drain(this.#own));
  }

  /** Bytes that the store does not have yet. */
  depthBytes(): number {
    return this.#own.behindBytes + this.#elsewhere();
  }

  close(): void {
    for (const tail of [this.#own, ...this.#orphans.keys()]) {
      if (existsSync(tail.folder)) tail.note();
      tail.close();
    }
    for (const { claim } of this.#orphans.values()) claim.release();
  }

  #tail(folder: string, isEnded: boolean): Tail {
    const { store, warn, disk } = this.#settings;
    return new Tail(folder, {
      isEnded,
      most: store.batch,
      removed: (bytes) => disk({ removed: isEnded ? 0 : bytes, elsewhere: this.#elsewhere() }),
      unnoted: (reason) =>
        warn('the folder of the journal takes no new file, so what is stored cannot be noted there; records are stored all the same', {
          folder,
          reason,
        }),
      endsElsewhere: (id) => this.#endElsewhere.has(id),
      damaged: (bytes, segment) => warn('a part of the journal is damaged and was left out', { folder, segment, bytes }),
    });
  }

  #elsewhere(): number {
    return [...this.#orphans.keys()].reduce((sum, tail) => sum + behindOf(tail), 0);
  }

  async #drain(tail: Tail): Promise<boolean> {
    const ready = this.#ready.get(tail) ?? [];
    this.#ready.set(tail, ready);
    const batch = ready[0] ?? this.#prepare(tail, ready);
    if (batch === undefined) return false;
    const { taken } = batch;
    const inserted = this.#store(batch);
    try {
      // cost: the next batch is prepared while the database works
      if (ready.length === 1 && taken.isFull) this.#prepare(tail, ready);
    } catch {
      // safety: the next step reads the journal again, and throws. A throw here would leave the insert running, and the next
      // step would insert the same batch beside it
    }
    await inserted;
    // safety: the cursor moves after the insert, never before it: a crash between the two repeats rows, and loses none
    ready.shift();
    tail.commit(taken);
    if (tail === this.#own) this.#settings.drained(taken.entries.length);
    this.lastDrainAt = Date.now();
    return !taken.isLast;
  }

  #prepare(tail: Tail, ready: Batch[]): Batch | undefined {
    const taken = read(tail, ready.at(-1)?.taken);
    if (taken === null) return undefined;
    const batch = { taken, rows: taken.entries.flatMap((entry) => this.#rowOf(entry)), stored: 0 };
    ready.push(batch);
    return batch;
  }

  #take(instance: Instance): void {
    try {
      this.#orphans.set(this.#tail(instance.folder, true), instance);
    } catch (error) {
      this.#putOff(instance.folder, messageOf(error));
      instance.claim.release();
    }
  }

  /** safety: a journal that cannot be read must not keep all other journals, and the log itself, from being read. */
  #putOff(folder: string, reason: string): void {
    if (!this.#unreadable.has(folder)) {
      this.#settings.warn(
        'the journal that a dead gateway left cannot be read; it stays where it is and is tried again, and the others are stored',
        { folder, reason },
      );
    }
    this.#unreadable.set(folder, performance.now() + readAgainMs);
  }

  #giveUp(folder: string): void {
    this.#unreadable.delete(folder);
    this.#settings.warn('the journal that a dead gateway left was deleted before all of it was stored', { folder });
  }

  async #drainOrphan(tail: Tail, instance: Instance): Promise<void> {
    try {
      if (await this.#drain(tail)) return;
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      this.#forget(tail);
      if (existsSync(instance.folder)) this.#putOff(instance.folder, error.message);
      else this.#giveUp(instance.folder);
      return instance.claim.release();
    }
    // the store has the last batch of this journal, and nobody writes to it any more
    this.#forget(tail);
    this.#unreadable.delete(tail.folder);
    removeInstance(instance);
  }

  #forget(tail: Tail): void {
    tail.close();
    this.#ready.delete(tail);
    this.#orphans.delete(tail);
    this.#settings.disk({ removed: 0, elsewhere: this.#elsewhere() });
  }

  async #retain(): Promise<boolean> {
    const { store, retentionDays } = this.#settings;
    if (retentionDays === 0 || performance.now() < this.#retainAt) return false;
    try {
      if (await store.retain(floorOf(retentionDays, Date.now()))) return true;
      this.#retainAt = performance.now() + retainEveryMs;
    } catch (error) {
      // dropping old records can wait; storing new ones cannot
      this.#retainAt = performance.now() + retainAgainMs;
      this.#settings.warn('old records could not be dropped; it is tried again', { reason: messageOf(error) });
    }
    return false;
  }

  #rowOf(entry: Entry): Row[] {
    try {
      return [rowOf(entry)];
    } catch (error) {
      this.#bury(entry, error);
      return [];
    }
  }

  /** safety: a batch that took too long is retried in smaller pieces. Otherwise a slow store would get the same batch for ever. */
  async #store(batch: Batch): Promise<void> {
    while (batch.stored < batch.rows.length) {
      const piece = batch.rows.slice(batch.stored, batch.stored + this.#atOnce);
      try {
        await this.#insert(piece);
      } catch (error) {
        if (faultOf(error) === 'timeout') this.#atOnce = Math.max(1, piece.length >> 1);
        throw error;
      }
      batch.stored += piece.length;
      this.#atOnce = Math.min(this.#atOnce * 2, this.#settings.store.batch);
    }
  }

  /** safety: when the store refuses a row, only that row becomes a dead letter: the batch is halved until the row is found. */
  async #insert(rows: readonly Row[]): Promise<void> {
    const { store } = this.#settings;
    try {
      await store.insert(rows);
    } catch (error) {
      if (store.blame(error) === 'store') throw error;
      if (rows.length === 1) {
        this.#bury((rows[0] as Row).entry, error);
        return;
      }
      const half = rows.length >> 1;
      await this.#insert(rows.slice(0, half));
      await this.#insert(rows.slice(half));
    }
  }

  #bury({ payload, parts }: Entry, error: unknown): void {
    const reason = messageOf(error);
    const file = openSync(join(this.#settings.root, 'dead-letter.jsonl'), 'a', 0o600);
    try {
      appendFileSync(file, `${JSON.stringify({ at: new Date().toISOString(), reason, record: payload, ...parts })}\n`);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    this.#settings.buried();
    this.#settings.warn('the store does not take a record; it is kept in journal/dead-letter.jsonl', { reason });
  }
}
