/**
 * The counts of all workers of this machine, in their parent process.
 * When a worker has ended, for any reason, its reservations are released.
 */
import type { ParentSide } from '../../../../core/workers/relay.ts';
import type { Budget } from '../../../../core/limits.ts';
import { periodOf } from '../ledger.ts';
import type { Hold } from '../ledger.ts';
import type { MemoryLedger } from './memory.ts';
import { fromWire, levelToWire, toWire } from './wire.ts';
import type { Reserved, Said } from './wire.ts';

/** The most charges whose names are remembered. Within a second or two, a worker repeats a message that may have been lost. */
const mostCharged = 50_000;
const sweepEveryMs = 30_000;

/** The most values in one answer. */
const mostKnown = 10_000;

interface Held extends Hold {
  readonly worker: number;
}

export class ParentCounts implements ParentSide {
  readonly #memory: MemoryLedger;
  readonly #held = new Map<string, Held>();
  /** The spending of budgets before this process began to count, as workers have read it from the log: by value and period. */
  readonly #spentBefore = new Map<
    string,
    { readonly id: string; readonly per: Budget['per']; readonly start: number; readonly pico: bigint }
  >();
  /** Budgets without spending, whose values had no counts at the last check. */
  #unused: ReadonlySet<string> = new Set();
  #sweepAt = 0;
  /** Names of the last charges. */
  readonly #charged = new Set<string>();

  constructor(memory: MemoryLedger) {
    this.#memory = memory;
    memory.spentBefore = ({ subject: { id }, per, start }) => {
      const known = this.#spentBefore.get(`${id} ${per}`);
      return known?.start === start ? known.pico : null;
    };
  }

  answer(message: unknown, worker: number): unknown {
    const said = message as Said;
    if (said.what === 'reserve') return this.#reserve(said, worker);
    if (said.what === 'settle') return this.#settle(said);
    if (said.what === 'charge') return this.#charge(said);
    if (said.what === 'spent') return this.#learn(said);
    if (said.what === 'known') return this.#memory.known().slice(0, mostKnown).map(toWire);
    return this.#memory.levels(said.subjects.map(fromWire)).map(levelToWire);
  }

  gone(worker: number): void {
    for (const [name, held] of this.#held) {
      if (held.worker !== worker) continue;
      this.#held.delete(name);
      this.#memory.settle(held, 0);
    }
  }

  #reserve({ name, ask: { subjects, pico, ...ask } }: Extract<Said, { what: 'reserve' }>, worker: number): Reserved {
    const { hold, refusal, levels } = this.#memory.reserve({ ...ask, subjects: subjects.map(fromWire), pico: BigInt(pico) });
    if (hold !== null && !hold.isLight) this.#held.set(name, { ...hold, worker });
    return { hasRoom: refusal === null, levels: levels.map(levelToWire) };
  }

  /** How many sums that workers have read are kept. */
  get remembered(): number {
    return this.#spentBefore.size;
  }

  /** Forgets ended periods, and values without any counts: callers can make up any number of values. */
  forget(now: number): void {
    this.#sweepAt = now + sweepEveryMs;
    const unused = new Set<string>();
    for (const [name, { id, per, start, pico }] of this.#spentBefore) {
      const isUnused = pico === 0n && !this.#memory.counts(id);
      // safety: the charge of a request may come a moment after the release of its hold
      if (start !== periodOf(per, now).start || (isUnused && this.#unused.has(name))) this.#spentBefore.delete(name);
      else if (isUnused) unused.add(name);
    }
    this.#unused = unused;
  }

  #charge({ name, subjects, pico, at }: Extract<Said, { what: 'charge' }>): void {
    if (this.#charged.has(name)) return;
    this.#charged.add(name);
    if (this.#charged.size > mostCharged) this.#charged.delete(this.#charged.keys().next().value as string);
    this.#memory.charge({ subjects: subjects.map(fromWire), pico: BigInt(pico), at });
  }

  /**
   * Settles a part of a hold; the other part may be settled later. A hold that was settled before, or ended with its worker, is no fault.
   */
  #settle({ name, subjects, tokens }: Extract<Said, { what: 'settle' }>): void {
    const held = this.#held.get(name);
    if (held === undefined) return;
    const isOver = ({ id }: Hold['subjects'][number]): boolean => subjects.includes(id);
    this.#memory.settle({ ...held, subjects: held.subjects.filter(isOver) }, tokens);
    const left = held.subjects.filter((subject) => !isOver(subject));
    if (left.length === 0) this.#held.delete(name);
    else this.#held.set(name, { ...held, subjects: left });
  }

  #learn({ sums, isNew }: Extract<Said, { what: 'spent' }>): void {
    const now = Date.now();
    if (now >= this.#sweepAt) this.forget(now);
    const spent = sums.map(({ subject, pico, ...sum }) => ({ ...sum, subject: fromWire(subject), pico: BigInt(pico) }));
    for (const { subject, per, start, pico } of isNew ? spent : []) {
      const name = `${subject.id} ${per}`;
      if (start === periodOf(per, now).start && this.#spentBefore.get(name)?.start !== start) {
        this.#spentBefore.set(name, { id: subject.id, per, start, pico });
      }
    }
    this.#memory.atLeast(spent);
  }
}
