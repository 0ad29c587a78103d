/**
 * The interface of a ledger. A ledger counts in this process, in Redis, or in the parent process. One call admits
 * a request: in one step it checks that all limits of the request have room, and reserves that room.
 */
import type { Budget } from '../../../core/limits.ts';

/** A limit of dollars. */
export interface BudgetCap {
  readonly per: Budget['per'];
  /** 10^-12 dollar. */
  readonly pico: bigint;
  /** True: a request without a known price is refused. */
  readonly refusesUnknown: boolean;
}

/** The strictest of all limits of one value; null: none. */
export interface Caps {
  readonly requests: number | null;
  readonly tokens: number | null;
  readonly concurrent: number | null;
  /** One budget for each period. */
  readonly budgets: readonly BudgetCap[];
}

/** A value that is limited, such as the key `search-team`. */
export interface Subject {
  /** `key search-team`: the name of the subject, unique among all values. */
  readonly id: string;
  /** `all`, `key`, `model`, `provider` or `meta.<name>`. */
  readonly by: string;
  readonly value: string;
  readonly caps: Caps;
}

/** What a request wants to reserve. */
export interface Ask {
  readonly subjects: readonly Subject[];
  /** The tokens of the prompt and of the longest answer. */
  readonly tokens: number;
  /** The most that the request may cost; 0 where that is not known. */
  readonly pico: bigint;
  /** True: the request is answered without a provider, so only the request itself counts. */
  readonly isLight: boolean;
  /** True: nothing is reserved. */
  readonly isLook: boolean;
}

/** The usage of one subject: with this request where it was admitted, without it where it was refused. */
export interface Level {
  /** The requests of the last 60 seconds. */
  requests: number;
  /** Milliseconds until the oldest of these requests counts no more. */
  requestsResetMs: number;
  /** Milliseconds until there is room for one more request; null: there is. */
  requestsWaitMs: number | null;
  /** The tokens of the last 60 seconds, and those that are reserved. */
  tokens: number;
  tokensResetMs: number;
  /** Milliseconds until there is room for the tokens of the request; null: that depends on running requests. */
  tokensWaitMs: number | null;
  running: number;
  /** One level for each of `caps.budgets`. */
  readonly budgets: readonly BudgetLevel[];
}

export interface BudgetLevel {
  /** The spent amount; null: not known yet. */
  readonly spent: bigint | null;
  held: bigint;
}

/** What a request has reserved, to be settled at its end. */
export interface Hold {
  readonly subjects: readonly Subject[];
  readonly tokens: number;
  readonly pico: bigint;
  readonly isLight: boolean;
  /** Epoch milliseconds of the reservation, which decide the periods of its budgets. */
  readonly at: number;
}

export interface Verdict {
  /** Null: the request was refused, or nothing was to be reserved. */
  readonly hold: Hold | null;
  readonly refusal: Refusal | null;
  /** One level for each subject of the request. */
  readonly levels: readonly Level[];
}

type Lack = 'requests' | 'tokens' | 'concurrent' | 'budget';

/** Why a request is refused. */
export interface Refusal {
  readonly subject: Subject;
  readonly lack: Lack;
  readonly level: Level;
  /** Index in `caps.budgets`, if a budget is what lacks. */
  readonly budget: number;
  /** Null: waiting does not help, or the time is not known. */
  readonly waitMs: number | null;
}

/** Money that these values have spent. */
export interface Charge {
  /** The values that have budgets. */
  readonly subjects: readonly Subject[];
  readonly pico: bigint;
  /** When the request came, in epoch milliseconds: the log adds its cost up under this time. */
  readonly at: number;
}

/** A budget of one value, in the period that begins at `start`. */
export interface BudgetPeriod {
  readonly subject: Subject;
  readonly per: Budget['per'];
  readonly start: number;
}

/** `key search-team day 1767225600000` */
export const nameOfPeriod = ({ subject, per, start }: BudgetPeriod): string => `${subject.id} ${per} ${start}`;

/** What was spent of a budget in a period. */
export interface Spent extends BudgetPeriod {
  readonly pico: bigint;
}

/** Counts the limits. No method throws, except `Away`. */
export interface Ledger {
  /** Answers without a promise where the counts are in this process. */
  reserve(ask: Ask): Verdict | Promise<Verdict>;
  /** Splits a hold in two: that of the first `count` subjects, and that of the others. Each is settled by itself. */
  split(hold: Hold, count: number): readonly [Hold, Hold];
  /** Called when the request is over, with the tokens that it used. */
  settle(hold: Hold, tokens: number): void;
  charge(charge: Charge): void;
  /** The usage of these values. */
  levels(subjects: readonly Subject[]): readonly Level[] | Promise<readonly Level[]>;
  /** The values for which something was counted lately. */
  known(): readonly Subject[] | Promise<readonly Subject[]>;
  /** Sets lower bounds from the log: other processes may have spent some of the money. */
  atLeast(sums: readonly Spent[]): void;
}

/** Thrown when counting is not possible now, and the config says that limited callers are then refused. */
export class Away extends Error {}

/** A period of a budget, epoch milliseconds by UTC; `end` is infinite where it has none. */
interface Period {
  readonly start: number;
  readonly end: number;
}

// cost: most questions are about the same period as the one before
const known = new Map<Budget['per'], Period>();

/** The period in which a moment is. */
export function periodOf(per: Budget['per'], at: number): Period {
  const last = known.get(per);
  if (last !== undefined && at >= last.start && at < last.end) return last;
  const period = reckon(per, at);
  known.set(per, period);
  return period;
}

const dayMs = 86_400_000;

function reckon(per: Budget['per'], at: number): Period {
  const date = new Date(at);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  const day = Math.floor(at / dayMs) * dayMs;
  // 1 January 1970 was a Thursday
  const monday = day - ((Math.floor(at / dayMs) + 3) % 7) * dayMs;
  if (per === 'day') return { start: day, end: day + dayMs };
  if (per === 'week') return { start: monday, end: monday + 7 * dayMs };
  if (per === 'month') return { start: Date.UTC(year, month, 1), end: Date.UTC(year, month + 1, 1) };
  return { start: 0, end: Infinity };
}

/** Whether a request was refused because of a budget whose spending is not known yet. */
export const isUnread = ({ refusal, levels }: Verdict): boolean =>
  refusal?.lack === 'budget' && levels.some(({ budgets }) => budgets.some(({ spent }) => spent === null));

/** The budgets whose spending is not known yet, each with its present period. */
export const unreadOf = (subjects: readonly Subject[], levels: readonly Level[], now: number): BudgetPeriod[] =>
  subjects.flatMap((subject, at) =>
    subject.caps.budgets.flatMap(({ per }, index) =>
      levels[at]?.budgets[index]?.spent === null ? [{ subject, per, start: periodOf(per, now).start }] : [],
    ),
  );

/** Why there is no room for the request; null: there is room. Of several reasons, the one that lasts longest. */
export function refusalOf({ subjects, tokens, pico, isLight }: Ask, levels: readonly Level[]): Refusal | null {
  let found: Refusal | null = null;
  for (let at = 0; at < subjects.length; at++) {
    const subject = subjects[at] as Subject;
    const level = levels[at] as Level;
    const { caps } = subject;
    const tell = (lack: Lack, waitMs: number | null, budget = -1): void => {
      const refusal = { subject, lack, level, budget, waitMs };
      if (found === null || weight(refusal) > weight(found)) found = refusal;
    };
    if (caps.requests !== null && level.requests + 1 > caps.requests) tell('requests', level.requestsWaitMs);
    if (isLight) continue;
    if (caps.tokens !== null && tokens > 0 && level.tokens + tokens > caps.tokens) {
      tell('tokens', tokens > caps.tokens ? null : (level.tokensWaitMs ?? unknownWaitMs));
    }
    if (caps.concurrent !== null && level.running + 1 > caps.concurrent) tell('concurrent', unknownWaitMs);
    for (const [index, cap] of caps.budgets.entries()) {
      if (!hasDollars(cap, level.budgets[index] as BudgetLevel, pico)) tell('budget', null, index);
    }
  }
  return found;
}

/** Whether a budget has so much left. An overspent budget has 0 left, which is enough for a request that costs nothing. */
export const hasDollars = ({ pico: most }: BudgetCap, { spent, held }: BudgetLevel, pico: bigint): boolean =>
  spent !== null && (pico === 0n || spent + held + pico <= most);

/** How long a client should wait for running requests, whose end is not known. */
const unknownWaitMs = 1000;

const weight = ({ lack, waitMs }: Refusal): number => (lack === 'budget' ? Infinity : (waitMs ?? Number.MAX_VALUE));
