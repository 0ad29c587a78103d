/**
 * Counts in Redis, shared by all gateways that use it. Each request that is let in is counted in memory too: while Redis is away, this gateway goes on
 * by itself from what it knew last, and tells Redis afterwards what it has let in meanwhile.
 */
import { randomUUID } from 'node:crypto';
import type { Redis } from '../../../../core/config.ts';
import type { Budget } from '../../../../core/limits.ts';
import type { SharedRedis } from '../../../../core/host/redis.ts';
import { Away, periodOf, refusalOf } from '../ledger.ts';
import type { Ask, Charge, Hold, Ledger, Level, Spent, Subject, Verdict } from '../ledger.ts';
import type { MemoryLedger } from './memory.ts';
import { heldValues } from './held.ts';
import type { Owned } from './held.ts';
import { chunk, Missed, toldOf } from './missed.ts';
import type { Said } from './missed.ts';
import { aliveKey, eraKey, expiryOf, heardKey, keysOf, levelsOf, periodName, spentKey, toldKey } from './redis-keys.ts';
import { aliveScript, atLeastScript, chargeScript, closeScript, missedScript, registerScript, reserveScript, settleScript } from './scripts.ts';

export interface RedisParts {
  readonly redis: SharedRedis;
  readonly memory: MemoryLedger;
  readonly clock: () => number;
  /** A gateway that is not heard of for so long holds nothing any more. */
  readonly leaseMs?: number;
}

/** What was spent of a budget, as the log has it now; null: it cannot be read. */
export type ReadSpent = (subject: Subject, per: Budget['per'], start: number) => Promise<bigint | null>;

/** Redis gave no verdict. `said`: it was asked, and no reply came; null: it was not asked. */
interface Unanswered {
  readonly said: Said | null;
}

const usualLeaseMs = 10_000;

export class RedisLedger implements Ledger {
  readonly #redis: SharedRedis;
  readonly #memory: MemoryLedger;
  readonly #clock: () => number;
  readonly #leaseMs: number;
  /** The gateway that serves now says how to find out what was spent, and what to do while Redis is away. */
  readSpent: ReadSpent = async () => null;
  whenAway: Redis['whenAway'] = 'local';
  #name = randomUUID();
  /** Of what was said last. */
  #number = 0;
  /** Names under which Redis may know this gateway. */
  #formers: string[] = [];
  #era: string | null = null;
  #isKnown = false;
  #registering: Promise<void> | null = null;
  readonly #running = new Set<Owned>();
  readonly #missed = new Missed();
  readonly #seeding = new Map<string, Promise<void>>();
  #heart: NodeJS.Timeout | undefined;

  constructor({ redis, memory, clock, leaseMs = usualLeaseMs }: RedisParts) {
    this.#redis = redis;
    this.#memory = memory;
    this.#clock = clock;
    this.#leaseMs = leaseMs;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#heart);
  }

  async reserve(ask: Ask): Promise<Verdict> {
    const reached = await this.#shared(ask);
    return 'levels' in reached ? reached : this.#alone(ask, reached);
  }

  async #shared(ask: Ask): Promise<Verdict | Unanswered> {
    if (this.#redis.isAway) return { said: null };
    try {
      const verdict = await this.#askKnown(ask);
      if (verdict === null) return { said: null };
      if (!isUnread(verdict)) return verdict;
      await this.#seedAll(ask.subjects, verdict.levels);
      return (await this.#askKnown(ask)) ?? { said: null };
    } catch (thrown) {
      // the client of Redis reports its own failures
      return { said: thrown instanceof NoReply ? thrown.said : null };
    }
  }

  /** Asks as a gateway that Redis knows; null: Redis does not. */
  async #askKnown(ask: Ask): Promise<Verdict | null> {
    if (!this.#isKnown) await this.#register();
    const name = this.#name;
    const verdict = await this.#ask(ask);
    if (verdict !== null) return verdict;
    // another request may have made this gateway known meanwhile
    if (this.#name === name) this.#isKnown = false;
    if (!this.#isKnown) await this.#register();
    return await this.#ask(ask);
  }

  /** This gateway counts for itself. */
  #alone(ask: Ask, { said }: Unanswered): Verdict {
    // what Redis may hold for this request ends with the name of the gateway
    if (said !== null) this.#isKnown = false;
    if (this.whenAway === 'refuse') throw new Away('Redis, which has the counts of limits and budgets, is away.');
    const verdict = this.#memory.reserve(ask);
    if (verdict.hold === null) return verdict;
    this.#isKnown = false;
    const now = this.#clock();
    const remember = (): void => this.#missed.requests(ask.subjects, now);
    if (said === null) remember();
    else this.#missed.perhaps(said, remember);
    return { ...verdict, hold: this.#own(verdict.hold, this.#name) };
  }

  #own(hold: Hold, owner: string): Hold {
    if (hold.isLight) return hold;
    const owned: Owned = { ...hold, owner };
    this.#running.add(owned);
    return owned;
  }

  /** Null: Redis does not know this gateway. */
  async #ask(ask: Ask): Promise<Verdict | null> {
    const { subjects, tokens, pico, isLight, isLook } = ask;
    const now = this.#clock();
    const said = { name: this.#name, number: isLook ? 0 : ++this.#number };
    const limits = subjects.flatMap(({ caps }) => [caps.requests ?? -1, caps.tokens ?? -1, caps.concurrent ?? -1, caps.budgets.length, ...caps.budgets.flatMap((cap) => [String(cap.pico), expiryOf(cap.per, now)])]);
    const asked = this.#redis.run(reserveScript, [aliveKey, heardKey(said.name), ...keysOf(subjects, now)], [said.name, said.number, isLight ? 1 : 0, tokens, String(pico), ...limits]);
    const reply = (await asked.catch((cause: unknown) => {
      throw new NoReply(said, cause);
    })) as [number, ...string[]];
    if (reply[0] === -1) return null;
    const levels = levelsOf(subjects, reply.slice(1) as string[]);
    for (const [at, subject] of subjects.entries()) this.#memory.observe(subject, levels[at] as Level);
    if (reply[0] === 0) return { hold: null, levels, refusal: refusalOf(ask, levels) };
    if (isLook) return { hold: null, refusal: null, levels };
    return { hold: this.#own(this.#memory.take(ask, levels), said.name), refusal: null, levels };
  }

  split(hold: Hold, count: number): readonly [Hold, Hold] {
    const [one, other] = this.#memory.split(hold, count);
    if (this.#running.delete(hold as Owned)) {
      this.#running.add(one as Owned);
      this.#running.add(other as Owned);
    }
    return [one, other];
  }

  settle(hold: Hold, tokens: number): void {
    this.#memory.settle(hold, tokens);
    if (hold.isLight) return;
    const { owner } = hold as Owned;
    this.#running.delete(hold as Owned);
    const values = hold.subjects.flatMap(({ caps }) => [caps.tokens === null ? 0 : 1, caps.budgets.length]);
    const args = [owner, hold.tokens, tokens, String(hold.pico), ...values];
    const now = this.#clock();
    this.#tell({ script: settleScript, keys: keysOf(hold.subjects, hold.at), args }, () => this.#missed.tokens(hold.subjects, tokens, now));
  }

  charge(charge: Charge): void {
    this.#memory.charge(charge);
    const keys = charge.subjects.flatMap((subject) => subject.caps.budgets.map(({ per }) => spentKey(subject, per, charge.at)));
    this.#tell({ script: chargeScript, keys, args: [String(charge.pico)] }, () => this.#missed.charge(charge));
  }

  async levels(subjects: readonly Subject[]): Promise<readonly Level[]> {
    const levels: Level[] = [];
    for (let at = 0; at < subjects.length; at += chunk) {
      const some = subjects.slice(at, at + chunk);
      const verdict = this.#redis.isAway ? null : await this.#ask({ subjects: some, tokens: 0, pico: 0n, isLight: false, isLook: true }).catch(() => null);
      levels.push(...(verdict === null ? this.#memory.levels(some) : verdict.levels));
    }
    return levels;
  }

  /** Those of this gateway. */
  known(): readonly Subject[] {
    return this.#memory.known();
  }

  atLeast(sums: readonly Spent[]): void {
    this.#memory.atLeast(sums);
    if (this.#redis.isAway) return;
    for (let at = 0; at < sums.length; at += chunk) {
      const some = sums.slice(at, at + chunk);
      const keys = some.map(({ subject, per, start }) => spentKey(subject, per, start));
      // the client of Redis reports its own failures, and the sums are read again and again
      this.#redis.run(atLeastScript, [aliveKey, ...keys], some.flatMap(({ per, start, pico }) => [String(pico), expiryOf(per, start)])).catch(() => {});
    }
  }

  /** Runs a script that nobody waits for. Where Redis does not hear of it, this gateway makes itself known again. */
  #tell({ script, keys, args }: Telling, remember: () => void): void {
    const said = { name: this.#name, number: ++this.#number };
    const unheard = (): void => {
      this.#isKnown = false;
      remember();
    };
    if (this.#redis.isAway) return unheard();
    const heard = (reply: unknown): void => void (reply === 0 && unheard());
    const perhaps = (): void => {
      this.#isKnown = false;
      this.#missed.perhaps(said, remember);
    };
    this.#redis.run(script, [aliveKey, heardKey(said.name), ...keys], [said.name, said.number, ...args]).then(heard, perhaps);
  }

  /** Puts the sums of budgets into Redis that it does not have: it is new, it has lost them, or a period has begun. */
  async #seedAll(subjects: readonly Subject[], levels: readonly Level[]): Promise<void> {
    const missing = subjects.flatMap((subject, at) => subject.caps.budgets.flatMap(({ per }, index) => (levels[at]?.budgets[index]?.spent === null ? [{ subject, per }] : [])));
    await Promise.all(missing.map(({ subject, per }) => this.#seed(subject, per)));
  }

  async #seed(subject: Subject, per: Budget['per']): Promise<void> {
    const { start } = periodOf(per, this.#clock());
    const name = `${subject.id} ${periodName(per, start)}`;
    const seeding = this.#seeding.get(name) ?? this.#readAndSeed(subject, per, start).finally(() => this.#seeding.delete(name));
    this.#seeding.set(name, seeding);
    await seeding;
  }

  async #readAndSeed(subject: Subject, per: Budget['per'], start: number): Promise<void> {
    const read = await this.readSpent(subject, per, start);
    if (read === null) return;
    // this gateway may have seen spending of another one that the log does not show yet
    const seen = this.#memory.spent(subject, per, start) ?? 0n;
    await this.#redis.run(atLeastScript, [aliveKey, spentKey(subject, per, start)], [String(read > seen ? read : seen), expiryOf(per, start)]);
  }

  async #register(): Promise<void> {
    await (this.#registering ??= this.#makeKnown().finally(() => (this.#registering = null)));
  }

  /** Gets a new name in Redis, under which all holds of this gateway stand, and tells what Redis has missed. */
  async #makeKnown(): Promise<void> {
    this.#name = randomUUID();
    for (const hold of this.#running) hold.owner = this.#name;
    for (const name of this.#missed.unsureNames()) this.#missed.heard(name, (await this.#redis.run(closeScript, [heardKey(name)], [])) as number);
    const era = await this.#takeName();
    const isLost = this.#era !== null && this.#era !== era;
    this.#era = era;
    // safety: Redis was emptied, and everything that this gateway has let in within the last minute counts on
    if (isLost) this.#missed.lost(this.#memory.own());
    for (let batch = this.#missed.next(); batch !== null; batch = this.#missed.next()) {
      const now = this.#clock();
      await this.#redis.run(missedScript, [aliveKey, toldKey(batch.name), ...keysOf(batch.values.map(({ subject }) => subject), now)], [JSON.stringify(batch.values.map((value) => toldOf(value, now)))]);
      this.#missed.wasTold();
    }
    // what was said before Redis knew the name is missed too
    this.#isKnown = this.#missed.isEmpty;
    this.#heart ??= setInterval(() => void this.#beat(), this.#leaseMs / 3).unref();
  }

  /** Returns the era of Redis. */
  async #takeName(): Promise<string> {
    const values = heldValues(this.#running, this.#clock());
    const formers = this.#formers.join(' ');
    this.#formers.push(this.#name);
    let era = '';
    for (let at = 0; at === 0 || at < values.length; at += chunk) {
      const some = values.slice(at, at + chunk);
      era = (await this.#redis.run(registerScript, [aliveKey, eraKey, ...keysOf(some.map(({ subject }) => subject), this.#clock())], [this.#name, formers, this.#leaseMs, randomUUID(), JSON.stringify(some.map(({ held }) => held))])) as string;
    }
    this.#formers = [this.#name];
    return era;
  }

  async #beat(): Promise<void> {
    if (this.#redis.isAway || (!this.#isKnown && this.#running.size === 0 && this.#missed.isEmpty)) return;
    try {
      if (!this.#isKnown) await this.#register();
      else if ((await this.#redis.run(aliveScript, [aliveKey], [this.#name, this.#leaseMs])) === 0) await this.#register();
    } catch {
      // the client of Redis reports its own failures, and the next beat tries again
      this.#isKnown = false;
    }
  }
}

interface Telling {
  readonly script: string;
  readonly keys: readonly string[];
  readonly args: readonly (string | number)[];
}

const isUnread = ({ levels, refusal }: Verdict): boolean => refusal !== null && levels.some(({ budgets }) => budgets.some(({ spent }) => spent === null));

/** Redis was asked to let a request in, and no reply came. */
class NoReply extends Error {
  readonly said: Said;

  constructor(said: Said, cause: unknown) {
    super('Redis gave no reply.', { cause });
    this.said = said;
  }
}
