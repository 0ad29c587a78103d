/**
 * The requests that this gateway has admitted and that Redis has not
 * received, or may not have received: Redis was away, or its reply was lost.
 */
import { randomUUID } from 'node:crypto';
import type { Charge, Subject } from '../ledger.ts';
import { expiryOf, periodName } from './redis-keys.ts';
import { Window, windowMs } from './window.ts';

type Amounts = readonly (readonly [at: number, amount: number])[];

/** The counts of one value that Redis has missed. */
interface MissedOf {
  readonly subject: Subject;
  readonly requests: Window;
  readonly tokens: Window;
  /** The charged amounts, by the period of the budget and its start. */
  readonly charged: Map<string, bigint>;
}

/** The data that Redis gets for one value. */
interface Told {
  readonly subject: Subject;
  readonly requests: Amounts;
  readonly tokens: Amounts;
  readonly charged: ReadonlyMap<string, bigint>;
}

/** Redis counts a batch once, because it remembers the batch's name. */
interface Batch {
  readonly name: string;
  readonly values: readonly Told[];
}

/** A message to Redis. */
export interface Said {
  /** The name of the gateway. */
  readonly name: string;
  readonly number: number;
}

/** Redis was asked to admit a request, and no reply came. */
export class NoReply extends Error {
  readonly said: Said;

  constructor(said: Said, cause: unknown) {
    super('Redis gave no reply.', { cause });
    this.said = said;
  }
}

interface Unsure {
  readonly number: number;
  readonly remember: () => void;
}

/** The most values in one call of Redis. */
export const valuesPerCall = 200;
/** The most amounts in one call. cost: Redis takes 14 µs for each, and does nothing else meanwhile. */
const mostAmounts = 1000;
const sweepEvery = 1000;

export class Missed {
  /** The counts that Redis has missed, by value. */
  readonly #values = new Map<string, MissedOf>();
  /** Messages that Redis may not have received, by the name under which they were sent. */
  readonly #unsure = new Map<string, Unsure[]>();
  #batches: Batch[] = [];
  #added = 0;

  get isEmpty(): boolean {
    return this.#values.size === 0 && this.#unsure.size === 0 && this.#batches.length === 0;
  }

  requests(subjects: readonly Subject[], now: number): void {
    this.#sweep(now);
    for (const subject of subjects) if (subject.caps.requests !== null) this.#of(subject).requests.add(now, 1);
  }

  tokens(subjects: readonly Subject[], tokens: number, now: number): void {
    if (tokens > 0) for (const subject of subjects) if (subject.caps.tokens !== null) this.#of(subject).tokens.add(now, tokens);
  }

  charge({ subjects, pico, at }: Charge): void {
    for (const subject of subjects) {
      const { charged } = this.#of(subject);
      for (const { per } of subject.caps.budgets) charged.set(periodName(per, at), (charged.get(periodName(per, at)) ?? 0n) + pico);
    }
  }

  /** Notes a message without a reply: Redis may have received it. `remember` is called if Redis turns out not to have it. */
  perhaps({ name, number }: Said, remember: () => void): void {
    const unsure = this.#unsure.get(name) ?? [];
    unsure.push({ number, remember });
    this.#unsure.set(name, unsure);
  }

  /** The names with messages whose reply is missing. */
  unsureNames(): readonly string[] {
    return [...this.#unsure.keys()];
  }

  /** @param last the number of the last message that Redis has received under this name, which is closed */
  heard(name: string, last: number): void {
    const unsure = this.#unsure.get(name) ?? [];
    this.#unsure.delete(name);
    for (const { number, remember } of unsure) if (number > last) remember();
  }

  /**
   * Redis has lost everything. In place of what it missed, it gets everything that this gateway has admitted; the spending is in the log.
   */
  lost(all: readonly Omit<MissedOf, 'charged'>[]): void {
    this.#values.clear();
    this.#batches = [];
    this.#pack(all.map((own) => ({ ...own, charged: new Map() })));
  }

  /** The next data for Redis, the same batch until `wasTold`; null: there is none. */
  next(): Batch | null {
    if (this.#batches.length === 0) {
      this.#pack([...this.#values.values()]);
      this.#values.clear();
    }
    return this.#batches[0] ?? null;
  }

  wasTold(): void {
    this.#batches.shift();
  }

  #pack(all: readonly MissedOf[]): void {
    const values = all.map(({ subject, requests, tokens, charged }) => ({
      subject,
      requests: requests.entries(),
      tokens: tokens.entries(),
      charged,
    }));
    let [batch, amounts]: [Told[], number] = [[], 0];
    for (const value of values.flatMap(inParts)) {
      const more = value.requests.length + value.tokens.length;
      if (batch.length > 0 && (batch.length === valuesPerCall || amounts + more > mostAmounts)) {
        this.#batches.push({ name: randomUUID(), values: batch });
        [batch, amounts] = [[], 0];
      }
      batch.push(value);
      amounts += more;
    }
    if (batch.length > 0) this.#batches.push({ name: randomUUID(), values: batch });
  }

  /** Forgets values without any counts, because callers can make up any number of values. */
  #sweep(now: number): void {
    if (++this.#added % sweepEvery !== 0) return;
    for (const [id, { requests, tokens, charged }] of this.#values) {
      if (charged.size === 0 && requests.sum(now) === 0 && tokens.sum(now) === 0) this.#values.delete(id);
    }
  }

  #of(subject: Subject): MissedOf {
    const known = this.#values.get(subject.id) ?? { subject, requests: new Window(), tokens: new Window(), charged: new Map() };
    this.#values.set(subject.id, known);
    return known;
  }
}

/**
 * A value in the form that the script takes, with its spending or without.
 * The clock of Redis is another one, so each amount comes with its age.
 */
export const toldOf = ({ subject: { caps }, requests, tokens, charged }: Told, now: number, tellsSpent: boolean): object => ({
  requests: agesOf(requests, now),
  tokens: agesOf(tokens, now),
  charged: caps.budgets.map(({ per }) => ({
    pico: String((tellsSpent ? charged.get(periodName(per, now)) : undefined) ?? 0n),
    expires: String(expiryOf(per, now)),
  })),
});

const agesOf = (amounts: Amounts, now: number): readonly (readonly [age: number, amount: number])[] =>
  amounts.filter(([at]) => at > now - windowMs).map(([at, amount]) => [Math.max(0, now - at), amount] as const);

/** Splits a value with more amounts than one call takes into several. */
function inParts({ subject, requests, tokens, charged }: Told): Told[] {
  const most = mostAmounts / 2;
  const parts = [{ subject, requests: requests.slice(0, most), tokens: tokens.slice(0, most), charged }];
  for (let at = most; at < Math.max(requests.length, tokens.length); at += most) {
    parts.push({ subject, requests: requests.slice(at, at + most), tokens: tokens.slice(at, at + most), charged: new Map() });
  }
  return parts;
}
