/**
 * Counts in Redis, shared by all gateways that use it. Each admitted request is counted in memory too: while Redis is away, this
 * gateway goes on by itself from its last known counts, and afterwards sends Redis the requests that it has admitted meanwhile.
 */
import { randomUUID } from 'node:crypto';
import type { Redis } from '../../../../core/config.ts';
import type { SharedRedis } from '../../../../core/host/redis.ts';
import { isRefused } from '../../../../core/host/redis-server.ts';
import { within } from '../../../../core/cancellation.ts';
import { Away, isUnread, refusalOf } from '../ledger.ts';
import type { Ask, Charge, Hold, Ledger, Level, Spent, Subject, Verdict } from '../ledger.ts';
import type { MemoryLedger } from './memory.ts';
import { heldValues, subjectsOf } from './held.ts';
import type { Owned } from './held.ts';
import { valuesPerCall, Missed, NoReply, toldOf } from './missed.ts';
import type { Said } from './missed.ts';
import { aliveKey, eraKey, expiryOf, heardKey, keysOf, levelsOf, spentKey, toldKey } from './redis-keys.ts';
import { aliveScript, closeScript, missedScript, registerScript } from './known-scripts.ts';
import { chargeScript, reserveScript, settleScript } from './scripts.ts';
import { Seeds } from './seeds.ts';

interface RedisParts {
  readonly redis: SharedRedis;
  readonly memory: MemoryLedger;
  readonly clock: () => number;
  /** After this time without a heartbeat, the reservations of a gateway are released. */
  readonly leaseMs?: number;
}

/** No verdict from Redis. `said`: the message without a reply, which may have reserved something; null: Redis has reserved nothing. */
interface Unanswered {
  readonly said: Said | null;
}

const usualLeaseMs = 10_000;
/** safety: no request waits longer than this for data that Redis must get first. */
const patienceMs = 300;

export class RedisLedger implements Ledger {
  readonly #redis: SharedRedis;
  readonly #memory: MemoryLedger;
  readonly #clock: () => number;
  readonly #leaseMs: number;
  /** The gateway that serves now sets how to find out the spending, and what to do while Redis is away. */
  readonly seeds: Seeds;
  /**
   * Reads the sums of the log again, and gives them to `atLeast`; null: there is no log. Spending from the time without Redis
   * is in the log, and another gateway may have read it there already: if it were sent to Redis as well, it would count twice.
   */
  readAgain: (() => void) | null = null;
  whenAway: Redis['whenAway'] = 'local';
  #name = randomUUID();
  /** The number of the last message. */
  #number = 0;
  /** Names under which Redis may know this gateway. */
  #formers: string[] = [];
  #era: string | null = null;
  #isKnown = false;
  /** How many events there were of which Redis may not know. */
  #doubts = 0;
  /** Requests about which Redis is being asked. */
  readonly #asking = new Set<Promise<unknown>>();
  #registering: Promise<void> | null = null;
  readonly #running = new Set<Owned>();
  readonly #missed = new Missed();
  readonly #heart: NodeJS.Timeout;

  constructor({ redis, memory, clock, leaseMs = usualLeaseMs }: RedisParts) {
    this.#redis = redis;
    this.#memory = memory;
    this.#clock = clock;
    this.#leaseMs = leaseMs;
    this.seeds = new Seeds({ redis, memory, clock });
    // starts now, not at the first reply: if Redis is away at the first request and no other comes, a heartbeat reports that request later
    this.#heart = setInterval(() => void this.#beat(), leaseMs / 3).unref();
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
      await this.seeds.tell(ask.subjects, verdict.levels);
      return (await this.#askKnown(ask)) ?? { said: null };
    } catch (thrown) {
      // the client of Redis reports its own failures
      return { said: thrown instanceof NoReply && !isRefused(thrown.cause) ? thrown.said : null };
    }
  }

  /** Asks under a name that Redis knows; null: Redis does not know it. */
  async #askKnown(ask: Ask): Promise<Verdict | null> {
    if (!this.#isKnown && !(await this.#registered())) return null;
    const name = this.#name;
    const verdict = await this.#asked(ask);
    if (verdict !== null) return verdict;
    // another request may have registered this gateway meanwhile
    if (this.#name === name) this.#doubt();
    if (!this.#isKnown && !(await this.#registered())) return null;
    return await this.#asked(ask);
  }

  /** Asks Redis. The gateway keeps its name until the reply comes: a reservation without a reply would not move to a new name. */
  async #asked(ask: Ask): Promise<Verdict | null> {
    const asking = this.#ask(ask);
    this.#asking.add(asking);
    return await asking.finally(() => this.#asking.delete(asking));
  }

  #doubt(): void {
    this.#isKnown = false;
    this.#doubts++;
  }

  /** Counts the request in this gateway alone. */
  #alone(ask: Ask, { said }: Unanswered): Verdict {
    const verdict = this.whenAway === 'refuse' ? null : this.#memory.reserve(ask);
    const hold = verdict?.hold ?? null;
    const now = this.#clock();
    const remember = (): void => void (hold !== null && this.#missed.requests(ask.subjects, now));
    if (said !== null || hold !== null) this.#doubt();
    if (said === null) remember();
    // Redis may have reserved something for this request, even if the request is refused here. That reservation
    // ends with the present name of the gateway: the next heartbeat registers the gateway under a new name
    else this.#missed.perhaps(said, remember);
    if (verdict === null) throw new Away('Redis, which has the counts of limits and budgets, is away.');
    return hold === null ? verdict : { ...verdict, hold: this.#own(hold, '', now) };
  }

  #own(hold: Hold, owner: string, askedAt: number): Hold {
    if (hold.isLight) return hold;
    const owned: Owned = { ...hold, owner, askedAt };
    this.#running.add(owned);
    return owned;
  }

  /** Null: Redis does not know this gateway. */
  async #ask(ask: Ask): Promise<Verdict | null> {
    const { subjects, tokens, pico, isLight, isLook } = ask;
    const now = this.#clock();
    const said = { name: this.#name, number: isLook ? 0 : ++this.#number };
    const limits = subjects.flatMap(({ caps }) => [
      caps.requests ?? -1,
      caps.tokens ?? -1,
      caps.concurrent ?? -1,
      caps.budgets.length,
      ...caps.budgets.map((cap) => String(cap.pico)),
    ]);
    const asked = this.#redis.run(
      reserveScript,
      [aliveKey, heardKey(said.name), ...keysOf(subjects, now)],
      [said.name, said.number, isLight ? 1 : 0, tokens, String(pico), ...limits],
    );
    const reply = (await asked.catch((cause: unknown) => {
      throw new NoReply(said, cause);
    })) as [number, ...string[]];
    if (reply[0] === -1) return null;
    const levels = levelsOf(subjects, reply.slice(1) as string[]);
    for (const [at, subject] of subjects.entries()) this.#memory.observe(subject, levels[at] as Level);
    if (reply[0] === 0) return { hold: null, levels, refusal: refusalOf(ask, levels) };
    if (isLook) return { hold: null, refusal: null, levels };
    return { hold: this.#own(this.#memory.take(ask, levels), said.name, now), refusal: null, levels };
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
    const { owner, askedAt } = hold as Owned;
    this.#running.delete(hold as Owned);
    const values = hold.subjects.flatMap(({ caps }) => [caps.tokens === null ? 0 : 1, caps.budgets.length]);
    const args = [owner, hold.tokens, tokens, String(hold.pico), ...values];
    const now = this.#clock();
    this.#tell({ script: settleScript, keys: keysOf(hold.subjects, askedAt), args }, () => this.#missed.tokens(hold.subjects, tokens, now));
  }

  charge(charge: Charge): void {
    this.#memory.charge(charge);
    const budgets = charge.subjects.flatMap((subject) =>
      subject.caps.budgets.map(({ per }) => ({ key: spentKey(subject, per, charge.at), expires: expiryOf(per, charge.at) })),
    );
    this.#tell(
      { script: chargeScript, keys: budgets.map(({ key }) => key), args: [String(charge.pico), ...budgets.map(({ expires }) => expires)] },
      () => this.#missed.charge(charge),
    );
  }

  async levels(subjects: readonly Subject[]): Promise<readonly Level[]> {
    const levels: Level[] = [];
    for (let at = 0; at < subjects.length; at += valuesPerCall) {
      const some = subjects.slice(at, at + valuesPerCall);
      const verdict = this.#redis.isAway
        ? null
        : await this.#ask({ subjects: some, tokens: 0, pico: 0n, isLight: false, isLook: true }).catch(() => null);
      levels.push(
        ...(verdict === null
          ? this.#memory.levels(some)
          : verdict.levels.map((level, index) => this.#memory.filled(some[index] as Subject, level))),
      );
    }
    return levels;
  }

  /** The values that this gateway has counted. */
  known(): readonly Subject[] {
    return this.#memory.known();
  }

  atLeast(sums: readonly Spent[]): void {
    this.#memory.atLeast(sums);
    if (!this.#redis.isAway) this.seeds.atLeast(sums);
  }

  /** Runs a script for which nobody waits. If Redis does not hear of it, this gateway registers again. */
  #tell({ script, keys, args }: Telling, remember: () => void): void {
    const said = { name: this.#name, number: ++this.#number };
    const unheard = (): void => {
      this.#doubt();
      remember();
    };
    if (this.#redis.isAway) return unheard();
    const heard = (reply: unknown): void => void (reply === 0 && unheard());
    const perhaps = (thrown: unknown): void => {
      // Redis has answered with an error, so it has not run the script
      if (isRefused(thrown)) return unheard();
      this.#doubt();
      this.#missed.perhaps(said, remember);
    };
    this.#redis.run(script, [aliveKey, heardKey(said.name), ...keys], [said.name, said.number, ...args]).then(heard, perhaps);
  }

  /** False: Redis must get much data first, and the request does not wait for that. */
  async #registered(): Promise<boolean> {
    return await within(
      this.#register().then(() => true),
      patienceMs,
      false,
    );
  }

  async #register(): Promise<void> {
    await (this.#registering ??= this.#makeKnown().finally(() => (this.#registering = null)));
  }

  /** Registers this gateway under a new name with all of its holds, and sends Redis what it has missed. */
  async #makeKnown(): Promise<void> {
    this.#name = randomUUID();
    for (const name of this.#missed.unsureNames()) {
      this.#missed.heard(name, (await this.#redis.run(closeScript, [heardKey(name)], [])) as number);
    }
    while (this.#asking.size > 0) await Promise.allSettled(this.#asking);
    const doubts = this.#doubts;
    const era = await this.#takeName();
    const isLost = this.#era !== null && this.#era !== era;
    this.#era = era;
    // safety: Redis was emptied, and everything that this gateway has admitted within the last minute must still count
    if (isLost) this.#missed.lost(this.#memory.own());
    await this.#tellMissed();
    // Redis also lacks the messages that were sent before it knew the name
    this.#isKnown = this.#missed.isEmpty && this.#doubts === doubts;
  }

  async #tellMissed(): Promise<void> {
    let hasSpent = false;
    for (let batch = this.#missed.next(); batch !== null; batch = this.#missed.next()) {
      const now = this.#clock();
      const subjects = batch.values.map(({ subject }) => subject);
      const told = batch.values.map((value) => toldOf(value, now, this.readAgain === null));
      await this.#redis.run(missedScript, [aliveKey, toldKey(batch.name), ...keysOf(subjects, now)], [JSON.stringify(told)]);
      this.#missed.wasTold();
      hasSpent ||= batch.values.some(({ charged }) => charged.size > 0);
    }
    if (hasSpent) this.readAgain?.();
  }

  /** Returns the era of Redis. */
  async #takeName(): Promise<string> {
    for (const hold of this.#running) hold.owner = this.#name;
    const subjects = subjectsOf(this.#running);
    const formers = this.#formers.join(' ');
    let era = '';
    try {
      for (let at = 0; at === 0 || at < subjects.length; at += valuesPerCall) {
        const some = subjects.slice(at, at + valuesPerCall);
        const now = this.#clock();
        // requests that have ended meanwhile hold nothing any more
        const held = heldValues(some, this.#running, now);
        era = (await this.#redis.run(
          registerScript,
          [aliveKey, eraKey, ...keysOf(some, now)],
          [this.#name, formers, this.#leaseMs, randomUUID(), JSON.stringify(held)],
        )) as string;
      }
    } catch (error) {
      // safety: a Redis that refuses writes has not stored the name, and each request tries a new name: this list would grow without end
      if (era !== '' || !isRefused(error)) this.#formers.push(this.#name);
      throw error;
    }
    this.#formers = [this.#name];
    return era;
  }

  async #beat(): Promise<void> {
    if (this.#redis.isAway || (!this.#isKnown && this.#running.size === 0 && this.#missed.isEmpty)) return;
    try {
      if (!this.#isKnown) await this.#register();
      else if ((await this.#redis.run(aliveScript, [aliveKey, eraKey], [this.#name, this.#leaseMs, this.#era as string])) === 0) {
        await this.#register();
      }
    } catch {
      // the client of Redis reports its own failures, and the next heartbeat tries again
      this.#doubt();
    }
  }
}

interface Telling {
  readonly script: string;
  readonly keys: readonly string[];
  readonly args: readonly (string | number)[];
}
