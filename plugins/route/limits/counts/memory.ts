/** Counts in the memory of this process. The counts outlive a reload of the config. */
import type { Budget } from '../../../../core/limits.ts';
import { periodOf, refusalOf } from '../ledger.ts';
import type { Ask, BudgetCap, BudgetPeriod, Charge, Hold, Ledger, Level, Spent, Subject, Verdict } from '../ledger.ts';
import { Window, windowMs } from './window.ts';

/** The amount that was spent in a period before this process began to count; null: not known yet. */
type SpentBefore = (period: BudgetPeriod) => bigint | null;

/** One budget of one value in one period. */
class Account {
  readonly per: Budget['per'];
  readonly start: number;
  /** Null: not known yet. */
  spent: bigint | null = null;
  held = 0n;

  constructor(per: Budget['per'], start: number) {
    this.per = per;
    this.start = start;
  }
}

/** The usage of other gateways at a moment. It counts for a minute, because after that it is outside of every window. */
interface Others {
  readonly at: number;
  readonly requests: number;
  readonly tokens: number;
  readonly running: number;
}

const nobody: Others = { at: -Infinity, requests: 0, tokens: 0, running: 0 };

/** The requests of one value that this process has admitted within the last minute. */
interface Own {
  readonly subject: Subject;
  readonly requests: Window;
  readonly tokens: Window;
}

/** All counts of one value. */
class Counts {
  readonly requests = new Window();
  readonly tokens = new Window();
  heldTokens = 0;
  running = 0;
  /** The usage of other gateways when Redis was asked last. */
  others: Others = nobody;
  subject: Subject;
  /** Accounts of ended periods are kept for a while too: a clock that was set back goes on with them. */
  accounts: readonly Account[] = [];

  constructor(subject: Subject) {
    this.subject = subject;
  }

  othersAt(now: number): Others {
    // safety: after the clock was set back, the usage would count until the clock reaches the old time again
    return Math.abs(now - this.others.at) < windowMs ? this.others : nobody;
  }

  accountOf(per: Budget['per'], at: number): Account | undefined {
    const { start } = periodOf(per, at);
    return this.accounts.find((one) => one.per === per && one.start === start);
  }

  /**
   * Forgets old accounts, and what windows have left behind: a value keeps them as long as its budget counts.
   * An account without spending can be made again unchanged.
   */
  sweep(now: number): void {
    this.requests.free(now);
    this.tokens.free(now);
    this.accounts = this.accounts.filter(
      ({ per, start, spent, held }) => held !== 0n || (start === periodOf(per, now).start && (spent ?? 0n) !== 0n),
    );
  }

  isIdle(now: number): boolean {
    return this.running === 0 && this.accounts.length === 0 && this.requests.sum(now) === 0 && this.tokens.sum(now) === 0;
  }
}

export class MemoryLedger implements Ledger {
  readonly #counts = new Map<string, Counts>();
  readonly #clock: () => number;
  /** The gateway that serves now sets how to find out the earlier spending. */
  spentBefore: SpentBefore = () => 0n;
  #sweepAt = 0;

  constructor(clock: () => number) {
    this.#clock = clock;
  }

  reserve(ask: Ask): Verdict {
    const now = this.#clock();
    const { subjects } = ask;
    const levels: Level[] = [];
    for (let at = 0; at < subjects.length; at++) levels.push(this.#levelOf(subjects[at] as Subject, now, ask.tokens));
    const refusal = refusalOf(ask, levels);
    if (refusal !== null || ask.isLook) return { hold: null, refusal, levels };
    return { hold: this.take(ask, levels), refusal: null, levels };
  }

  /** Reserves what the request asks for, whether there is room or not, and adds it to these levels, one for each of its subjects. */
  take({ subjects, tokens, pico, isLight }: Ask, levels: readonly Level[]): Hold {
    const now = this.#clock();
    this.#sweep(now);
    for (let at = 0; at < subjects.length; at++) {
      const subject = subjects[at] as Subject;
      const level = levels[at] as Level;
      const counts = this.#countsOf(subject);
      if (subject.caps.requests !== null) counts.requests.add(now, 1);
      level.requests++;
      if (level.requestsResetMs === 0) level.requestsResetMs = counts.requests.resetMs(now);
      if (isLight) continue;
      counts.running++;
      counts.heldTokens += tokens;
      for (const { per } of subject.caps.budgets) this.#accountOf(subject, per, now).held += pico;
      level.running++;
      level.tokens += tokens;
      for (const budget of level.budgets) budget.held += pico;
    }
    return { subjects, tokens, pico, isLight, at: now };
  }

  split(hold: Hold, count: number): readonly [Hold, Hold] {
    return [
      { ...hold, subjects: hold.subjects.slice(0, count) },
      { ...hold, subjects: hold.subjects.slice(count) },
    ];
  }

  settle({ subjects, tokens: held, pico, isLight, at }: Hold, tokens: number): void {
    if (isLight) return;
    const now = this.#clock();
    for (const subject of subjects) {
      const counts = this.#countsOf(subject);
      counts.running--;
      counts.heldTokens -= held;
      if (subject.caps.tokens !== null && tokens > 0) counts.tokens.add(now, tokens);
      for (const { per } of subject.caps.budgets) {
        const account = counts.accountOf(per, at);
        if (account !== undefined) account.held -= pico;
      }
    }
  }

  charge({ subjects, pico, at }: Charge): void {
    for (const subject of subjects) {
      for (const { per } of subject.caps.budgets) {
        const account = this.#accountOf(subject, per, at);
        if (account.spent !== null) account.spent += pico;
      }
    }
  }

  levels(subjects: readonly Subject[]): readonly Level[] {
    const now = this.#clock();
    return subjects.map((subject) => this.#levelOf(subject, now, 0));
  }

  atLeast(sums: readonly Spent[]): void {
    for (const { subject, per, start, pico } of sums) {
      const account = this.#accountOf(subject, per, this.#clock());
      if (account.start === start && account.spent !== null && account.spent < pico) account.spent = pico;
    }
  }

  /** The spending that this process knows; null: not known. */
  spent({ subject, per, start }: BudgetPeriod): bigint | null {
    const account = this.#accountOf(subject, per, this.#clock());
    return account.start === start ? account.spent : null;
  }

  /** Takes over the usage of all gateways together: if this process has to count by itself, it goes on from there. */
  observe(subject: Subject, level: Level): void {
    const now = this.#clock();
    const counts = this.#countsOf(subject);
    counts.others = {
      at: now,
      requests: Math.max(0, level.requests - counts.requests.sum(now)),
      tokens: Math.max(0, level.tokens - counts.tokens.sum(now) - counts.heldTokens),
      running: Math.max(0, level.running - counts.running),
    };
    for (const [at, { per }] of subject.caps.budgets.entries()) {
      const spent = level.budgets[at]?.spent ?? null;
      const account = this.#accountOf(subject, per, now);
      if (spent !== null && (account.spent === null || account.spent < spent)) account.spent = spent;
    }
  }

  /**
   * For people: the level, with the spending that this process knows of budgets
   * that Redis or the parent does not have, because no request has asked there yet.
   */
  filled(subject: Subject, level: Level): Level {
    const now = this.#clock();
    const spentOf = ({ per }: BudgetCap): bigint | null => {
      const account = this.#counts.get(subject.id)?.accountOf(per, now);
      return account?.spent ?? this.spentBefore({ subject, per, start: periodOf(per, now).start });
    };
    return {
      ...level,
      budgets: level.budgets.map(({ spent, held }, at) => ({ held, spent: spent ?? spentOf(subject.caps.budgets[at] as BudgetCap) })),
    };
  }

  /** Whether anything is counted for the value with this id. */
  counts(id: string): boolean {
    return this.#counts.has(id);
  }

  known(): readonly Subject[] {
    return Array.from(this.#counts.values(), ({ subject }) => subject);
  }

  /** Everything that this process has admitted within the last minute. */
  own(): readonly Own[] {
    return Array.from(this.#counts.values(), ({ subject, requests, tokens }) => ({ subject, requests, tokens }));
  }

  #levelOf(subject: Subject, now: number, tokens: number): Level {
    const { caps } = subject;
    const counts = this.#countsOf(subject);
    const others = counts.othersAt(now);
    const level: Level = {
      requests: 0,
      requestsResetMs: 0,
      requestsWaitMs: null,
      tokens: 0,
      tokensResetMs: 0,
      tokensWaitMs: null,
      running: counts.running + others.running,
      budgets: caps.budgets.length === 0 ? none : this.#budgetsOf(subject, now),
    };
    if (caps.requests !== null) {
      level.requests = counts.requests.sum(now) + others.requests;
      level.requestsResetMs = counts.requests.resetMs(now) || resetOf(others, now);
      // several requests must leave the window where a reload has made the limit smaller
      const missing = level.requests + 1 - caps.requests;
      if (missing > 0) level.requestsWaitMs = counts.requests.waitMs(now, missing) ?? resetOf(others, now);
    }
    if (caps.tokens !== null) {
      level.tokens = counts.tokens.sum(now) + counts.heldTokens + others.tokens;
      level.tokensResetMs = counts.tokens.resetMs(now);
      const missing = level.tokens + tokens - caps.tokens;
      if (missing > 0) level.tokensWaitMs = counts.tokens.waitMs(now, missing);
    }
    return level;
  }

  #budgetsOf(subject: Subject, now: number): Level['budgets'] {
    return subject.caps.budgets.map(({ per }) => {
      const { spent, held } = this.#accountOf(subject, per, now);
      return { spent, held };
    });
  }

  #countsOf(subject: Subject): Counts {
    let counts = this.#counts.get(subject.id);
    if (counts === undefined) {
      // safety: refused requests, and requests that only look, also add new values
      this.#sweep(this.#clock());
      counts = new Counts(subject);
      this.#counts.set(subject.id, counts);
    }
    // a reload may have given the value other limits
    counts.subject = subject;
    return counts;
  }

  #accountOf(subject: Subject, per: Budget['per'], at: number): Account {
    const counts = this.#countsOf(subject);
    let account = counts.accountOf(per, at);
    if (account === undefined) {
      account = new Account(per, periodOf(per, at).start);
      counts.accounts = [...counts.accounts, account];
    }
    account.spent ??= this.spentBefore({ subject, per, start: account.start });
    return account;
  }

  /** Forgets values without any counts, because callers can make up any number of values. */
  #sweep(now: number): void {
    // safety: after the clock was set back, nothing would be forgotten until the clock reaches the old time again
    if (now < this.#sweepAt && this.#sweepAt - now <= sweepEveryMs) return;
    this.#sweepAt = now + sweepEveryMs;
    for (const [id, counts] of this.#counts) {
      counts.sweep(now);
      if (counts.isIdle(now)) this.#counts.delete(id);
    }
  }
}

const none: Level['budgets'] = [];
const sweepEveryMs = 30_000;

const resetOf = ({ at, requests }: Others, now: number): number => (requests > 0 ? at + windowMs - now : 0);
