/** Counts in the parent process, for the workers of one machine. Where the parent does not answer, a worker counts for itself. */
import { randomUUID } from 'node:crypto';
import type { Peers } from '../../../../core/workers/peers.ts';
import { isUnread, refusalOf, unreadOf } from '../ledger.ts';
import type { Ask, Charge, Hold, Ledger, Level, Spent, Subject, Verdict } from '../ledger.ts';
import type { MemoryLedger } from './memory.ts';
import type { ReadSpent } from './seeds.ts';
import { fromWire, levelFromWire, toWire } from './wire.ts';
import type { NamedHold, Reserved, Said, WiredLevel, WiredSubject } from './wire.ts';

/** safety: no request waits longer than this for the parent. */
const patienceMs = 500;
const againMs = 1000;

export class PeerLedger implements Ledger {
  readonly #peers: Peers;
  readonly #memory: MemoryLedger;
  readonly #clock: () => number;
  readonly #readSpent: ReadSpent;
  readonly #prefix = randomUUID();
  #last = 0;
  /** Messages that the parent has not confirmed yet. */
  readonly #untold: Said[] = [];
  #isWaiting = false;

  constructor({ peers, memory, clock, readSpent }: { peers: Peers; memory: MemoryLedger; clock: () => number; readSpent: ReadSpent }) {
    this.#peers = peers;
    this.#memory = memory;
    this.#clock = clock;
    this.#readSpent = readSpent;
  }

  async reserve(ask: Ask): Promise<Verdict> {
    try {
      const verdict = await this.#reserve(ask);
      if (!isUnread(verdict)) return verdict;
      await this.#readAll(ask.subjects, verdict.levels);
      return await this.#reserve(ask);
    } catch {
      return this.#memory.reserve(ask);
    }
  }

  async #reserve(ask: Ask): Promise<Verdict> {
    const { subjects, tokens, pico, isLight, isLook } = ask;
    const name = this.#nextName();
    try {
      const { hasRoom, levels: wired } = (await this.#ask({
        what: 'reserve',
        name,
        ask: { subjects: subjects.map(toWire), tokens, pico: String(pico), isLight, isLook },
      })) as Reserved;
      const levels = wired.map(levelFromWire);
      const hold: NamedHold | null = hasRoom && !isLook ? { subjects, tokens, pico, isLight, at: this.#clock(), name } : null;
      return { levels, refusal: hasRoom ? null : refusalOf(ask, levels), hold };
    } catch (error) {
      // safety: the parent may have received the request although its reply was lost, and would then keep the reservation for ever
      this.#tell({ what: 'settle', name, subjects: subjects.map(({ id }) => id), tokens: 0 });
      throw error;
    }
  }

  #nextName(): string {
    return `${this.#prefix} ${++this.#last}`;
  }

  split(hold: Hold, count: number): readonly [Hold, Hold] {
    return this.#memory.split(hold, count);
  }

  settle(hold: Hold, tokens: number): void {
    if (hold.isLight) return;
    const { name } = hold as Partial<NamedHold>;
    if (name === undefined) this.#memory.settle(hold, tokens);
    else this.#tell({ what: 'settle', name, subjects: hold.subjects.map(({ id }) => id), tokens });
  }

  charge({ subjects, pico, at }: Charge): void {
    this.#tell({ what: 'charge', name: this.#nextName(), subjects: subjects.map(toWire), pico: String(pico), at });
  }

  async levels(subjects: readonly Subject[]): Promise<readonly Level[]> {
    if (subjects.length === 0) return [];
    const wired = (await this.#ask({ what: 'levels', subjects: subjects.map(toWire) }).catch(() => null)) as readonly WiredLevel[] | null;
    return wired === null
      ? this.#memory.levels(subjects)
      : wired.map((level, at) => this.#memory.filled(subjects[at] as Subject, levelFromWire(level)));
  }

  async known(): Promise<readonly Subject[]> {
    const wired = (await this.#ask({ what: 'known' }).catch(() => [])) as readonly WiredSubject[];
    return wired.map(fromWire);
  }

  atLeast(sums: readonly Spent[]): void {
    this.#memory.atLeast(sums);
    this.#learn(sums, false);
  }

  #learn(sums: readonly Spent[], isNew: boolean): void {
    if (sums.length > 0) {
      this.#tell({
        what: 'spent',
        isNew,
        sums: sums.map(({ subject, per, start, pico }) => ({ subject: toWire(subject), per, start, pico: String(pico) })),
      });
    }
  }

  /** Reads from the log what was spent of the budgets whose spending the parent does not know, and sends it to the parent. */
  async #readAll(subjects: readonly Subject[], levels: readonly Level[]): Promise<void> {
    const unread = unreadOf(subjects, levels, this.#clock());
    const read = await Promise.all(unread.map(async (period) => ({ ...period, pico: await this.#readSpent(period) })));
    this.#learn(
      read.flatMap(({ pico, ...period }) => (pico === null ? [] : [{ ...period, pico }])),
      true,
    );
  }

  #ask(said: Said): Promise<unknown> {
    return this.#peers.atParent(said, patienceMs);
  }

  /**
   * Sends a message until the parent confirms it.
   * safety: an unheard message would leave a reservation for ever, or a request uncharged.
   */
  #tell(said: Said): void {
    this.#ask(said).catch(() => {
      this.#untold.push(said);
      if (!this.#isWaiting) setTimeout(() => this.#tellAgain(), againMs).unref();
      this.#isWaiting = true;
    });
  }

  #tellAgain(): void {
    this.#isWaiting = false;
    for (const said of this.#untold.splice(0)) this.#tell(said);
  }
}
