/** Counts in the memory of this process. The counts outlive a reload of the config. */
import type { Budget } from '../../../core/config.ts';
import { periodOf, refusalOf } from './ledger.ts';
import type { Ask, Charge, Hold, Ledger, Level, Subject, Verdict } from './ledger.ts';
import { Window } from './window.ts';

/** What was spent in a period before this process began to count; null: not known yet. */
export type SpentBefore = (subject: Subject, per: Budget['per'], start: number) => bigint | null;

/** One budget of one value in one period. */
class Account {
  readonly start: number;
  /** Null: not known yet. */
  spent: bigint | null;
  held = 0n;

  constructor(start: number, spent: bigint | null) {
    this.start = start;
    this.spent = spent;
  }
}

/** All that is counted of one value. */
class Counts {
  readonly requests = new Window();
  readonly tokens = new Window();
  heldTokens = 0;
  running = 0;
  readonly accounts = new Map<Budget['per'], Account>();

  isIdle(now: number): boolean {
    if (this.running > 0 || this.requests.sum(now) > 0 || this.tokens.sum(now) > 0) return false;
    for (const [per, { start }] of this.accounts) if (start !== periodOf(per, now).start) this.accounts.delete(per);
    return this.accounts.size === 0;
  }
}

export class MemoryLedger implements Ledger {
  readonly #counts = new Map<string, Counts>();
  readonly #clock: () => number;
  /** The gateway that serves now says how to find out what was spent before. */
  spentBefore: SpentBefore = () => 0n;
  readonly #sweeper: NodeJS.Timeout;

  constructor(clock: () => number, sweepEveryMs = 30_000) {
    this.#clock = clock;
    this.#sweeper = setInterval(() => this.#sweep(), sweepEveryMs);
    this.#sweeper.unref();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#sweeper);
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

  /** Takes what the request asks for, whether there is room or not, and adds it to these levels. */
  take({ subjects, tokens, pico, isLight }: Ask, levels: readonly Level[] = []): Hold {
    const now = this.#clock();
    for (let at = 0; at < subjects.length; at++) {
      const subject = subjects[at] as Subject;
      const level = levels[at];
      const counts = this.#countsOf(subject);
      if (subject.caps.requests !== null) counts.requests.add(now, 1);
      if (level !== undefined) {
        level.requests++;
        level.requestsResetMs = counts.requests.resetMs(now);
      }
      if (isLight) continue;
      counts.running++;
      counts.heldTokens += tokens;
      for (const { per } of subject.caps.budgets) this.#accountOf(subject, per, now).held += pico;
      if (level !== undefined) addTo(level, tokens, pico);
    }
    return { subjects, tokens, pico, isLight, at: now };
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
        const account = counts.accounts.get(per);
        // what was held in a period that is over ended with it
        if (account !== undefined && account.start === periodOf(per, at).start) account.held -= pico;
      }
    }
  }

  charge({ subjects, pico, at }: Charge): void {
    for (const subject of subjects) {
      for (const { per } of subject.caps.budgets) {
        const account = this.#accountOf(subject, per, this.#clock());
        if (account.spent !== null && account.start === periodOf(per, at).start) account.spent += pico;
      }
    }
  }

  levels(subjects: readonly Subject[]): readonly Level[] {
    const now = this.#clock();
    return subjects.map((subject) => this.#levelOf(subject, now, 0));
  }

  /** The log knows of more than this process has counted: other processes write the same log. */
  atLeast(subject: Subject, { per, start, pico }: { readonly per: Budget['per']; readonly start: number; readonly pico: bigint }): void {
    const account = this.#accountOf(subject, per, this.#clock());
    if (account.start === start && account.spent !== null && account.spent < pico) account.spent = pico;
  }

  #levelOf(subject: Subject, now: number, tokens: number): Level {
    const { caps } = subject;
    const counts = this.#countsOf(subject);
    const level: Level = { requests: 0, requestsResetMs: 0, tokens: 0, tokensResetMs: 0, tokensWaitMs: null, running: counts.running, budgets: caps.budgets.length === 0 ? none : this.#budgetsOf(subject, now) };
    if (caps.requests !== null) {
      level.requests = counts.requests.sum(now);
      level.requestsResetMs = counts.requests.resetMs(now);
    }
    if (caps.tokens !== null) {
      level.tokens = counts.tokens.sum(now) + counts.heldTokens;
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

  #countsOf({ id }: Subject): Counts {
    const known = this.#counts.get(id);
    if (known !== undefined) return known;
    const counts = new Counts();
    this.#counts.set(id, counts);
    return counts;
  }

  #accountOf(subject: Subject, per: Budget['per'], now: number): Account {
    const { accounts } = this.#countsOf(subject);
    const { start } = periodOf(per, now);
    let account = accounts.get(per);
    if (account === undefined || account.start !== start) {
      account = new Account(start, null);
      accounts.set(per, account);
    }
    account.spent ??= this.spentBefore(subject, per, start);
    return account;
  }

  #sweep(): void {
    const now = this.#clock();
    for (const [id, counts] of this.#counts) if (counts.isIdle(now)) this.#counts.delete(id);
  }
}

const none: Level['budgets'] = [];

function addTo(level: Level, tokens: number, pico: bigint): void {
  level.running++;
  level.tokens += tokens;
  for (const budget of level.budgets) budget.held += pico;
}
