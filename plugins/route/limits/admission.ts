/** The way of one request through the limits: reserved at `route` and `open`, settled at `settle`. */
import { isThenable, within } from '../../../core/cancellation.ts';
import { GatewayError } from '../../../core/errors.ts';
import type { ErrorKind } from '../../../core/errors.ts';
import { parseDollars } from '../../../core/money.ts';
import { inOrderStill } from '../../../core/pipeline/catalogue.ts';
import { drop, stands } from '../../../core/pipeline/context.ts';
import type { AttemptResult, Candidate, Normalised, Replying, RequestRecord, Streaming } from '../../../core/pipeline/context.ts';
import { priceAt } from '../../../core/pipeline/explain.ts';
import type { ExplainedLimit } from './explained.ts';
import { explainedLimits } from './explained.ts';
import { Away, hasDollars, isUnread, unreadOf } from './ledger.ts';
import type { Ask, BudgetCap, BudgetLevel, Hold, Ledger, Level, Refusal, Subject, Verdict } from './ledger.ts';
import { forgetMeasure, measureOf } from './measure.ts';
import type { Measure } from './measure.ts';
import { errorOf, headersOf, name, nameOf, unavailable, unknownPrice } from './refusal.ts';
import type { Rules } from './rules.ts';
import type { Sums } from './sums.ts';
import { thawed } from '../../../core/wire/fields.ts';

/** safety: no request waits longer than this for the sum of its budget. */
const readMs = 1000;

/** The state of one request. */
interface Booked {
  /** What the request has reserved of its caller's limits. */
  hold: Hold | null;
  /** What the request has reserved of the limits of models and providers, by target; null: none of them is limited. */
  targets: Map<string, Hold> | null;
  /** Targets that are being asked. */
  asked: string[];
  /** Targets that are being asked, or were, and whose reservation is not decided yet; null: none. */
  deciding: Map<string, Promise<undefined>> | null;
  /** Targets whose attempt has failed, and that may be asked again. */
  failed: string[];
  readonly subjects: readonly Subject[];
  readonly levels: readonly Level[];
}

export interface AdmissionParts {
  readonly rules: Rules;
  readonly ledger: Ledger;
  readonly sums: Sums;
  readonly clock: () => number;
}

export class Admission {
  readonly #parts: AdmissionParts;
  /**
   * The state of each request, by its context.
   * cost: a WeakMap costs the collector more than a Map from which each request is removed at its end.
   */
  readonly #booked = new Map<object, Booked>();

  constructor(parts: AdmissionParts) {
    this.#parts = parts;
  }

  /** Reserves what the request needs of all limits, or throws. Candidates whose own limits have no room are dropped. */
  admit(candidates: readonly Candidate[], context: Normalised): readonly Candidate[] | Promise<readonly Candidate[]> {
    const { rules } = this.#parts;
    const caller = rules.ofCaller(context.principal, context.metadata);
    if (caller.length === 0 && !rules.hasTargets) return candidates;
    const standing = rules.refusesUnknown ? inOrderStill(this.#withKnownPrices(candidates, caller, context), context.policy) : candidates;
    const first = thawed(standing).find(stands);
    if (first === undefined) return standing;
    const ofFirst = first.answeredBy === null ? rules.ofCandidate(first) : [];
    const subjects = ofFirst.length === 0 ? caller : [...caller, ...ofFirst];
    if (subjects.length === 0) return standing;
    // a budget of the caller needs room for the most expensive candidate, which may serve; other budgets only for the first candidate
    const ask = askOf(subjects, caller.some(hasBudgets) ? standing : [first], context);
    return this.#decide(this.#reserve(ask), { ask, standing, first, caller, context });
  }

  #decide(verdict: Verdict | Promise<Verdict>, acting: Acting): readonly Candidate[] | Promise<readonly Candidate[]> {
    if (!isThenable(verdict)) return this.#act(verdict, acting);
    const { ask, context, standing } = acting;
    const waiting = booked(ask.subjects, []);
    this.#booked.set(context, waiting);
    return verdict.then((reached) => (this.#isOver(context, waiting, reached) ? standing : this.#act(reached, acting)));
  }

  /**
   * Whether the request ended while the ledger was asked, because its client left or
   * its time was over: nobody settles it any more, so its reservation is released here.
   */
  #isOver(context: object, waiting: Booked, { hold }: Verdict): boolean {
    if (this.#booked.get(context) === waiting) return false;
    if (hold !== null) this.#parts.ledger.settle(hold, 0);
    return true;
  }

  #act(verdict: Verdict, acting: Acting): readonly Candidate[] | Promise<readonly Candidate[]> {
    const { ask, standing, first, caller, context } = acting;
    const { refusal, hold, levels } = verdict;
    if (refusal === null) {
      this.#booked.set(context, this.#bookedWith(hold, { first, caller, levels, subjects: ask.subjects }));
      return standing;
    }
    const error = errorOf(refusal, ask, this.#parts.clock());
    this.#booked.set(context, booked(ask.subjects, levels));
    if (caller.includes(refusal.subject)) throw error;
    if (fitsByItself(verdict, acting)) return this.#decide(this.#reserveCaller(acting, levels), acting);
    // another model or provider may have room
    const { rules } = this.#parts;
    const isFull = (candidate: Candidate): boolean =>
      candidate.answeredBy === null && rules.ofCandidate(candidate).includes(refusal.subject);
    const dropped = standing.map((candidate) =>
      isFull(candidate) ? drop(candidate, { by: name, reason: reasonOf(refusal), error }) : candidate,
    );
    return this.admit(inOrderStill(dropped, context.policy), context);
  }

  /**
   * Reserves the caller's part only. The part of the first candidate is reserved when that candidate is asked.
   * @param levels of all subjects
   */
  #reserveCaller({ ask, caller }: Acting, levels: readonly Level[]): Verdict | Promise<Verdict> {
    const withAll = (reached: Verdict): Verdict => ({ ...reached, levels: [...reached.levels, ...levels.slice(caller.length)] });
    const verdict = this.#reserve({ ...ask, subjects: caller });
    return isThenable(verdict) ? verdict.then(withAll) : withAll(verdict);
  }

  /** Drops candidates without a known price, where a budget refuses them. */
  #withKnownPrices(candidates: readonly Candidate[], caller: readonly Subject[], { request }: Normalised): readonly Candidate[] {
    return candidates.map((candidate) => {
      if (!stands(candidate) || candidate.answeredBy !== null) return candidate;
      for (const subject of [...caller, ...this.#parts.rules.ofCandidate(candidate)]) {
        const cap = subject.caps.budgets.find(({ refusesUnknown }) => refusesUnknown);
        if (cap !== undefined && priceAt(candidate, measureOf(request)) === null) return withoutPrice(candidate, subject, cap);
      }
      return candidate;
    });
  }

  /** Splits the reservation in two: that of the caller, and that of the candidate that is asked first. */
  #bookedWith(
    hold: Hold | null,
    { first, caller, levels, subjects }: Pick<Acting, 'first' | 'caller'> & Pick<Booked, 'levels' | 'subjects'>,
  ): Booked {
    const made = booked(subjects, levels);
    made.hold = hold;
    if (hold === null || hold.subjects.length === caller.length) return made;
    const [ofCaller, ofTarget] = this.#parts.ledger.split(hold, caller.length);
    made.hold = ofCaller;
    made.targets = new Map([[first.target, ofTarget]]);
    return made;
  }

  /** Asks the ledger; where the sum of a budget is not known, reads it first. */
  #reserve(ask: Ask): Verdict | Promise<Verdict> {
    const verdict = this.#parts.ledger.reserve(ask);
    if (isThenable(verdict)) {
      return verdict.then((reached) => (isUnread(reached) ? this.#readAndReserve(ask, reached) : reached), awayOrThrow);
    }
    return isUnread(verdict) ? this.#readAndReserve(ask, verdict) : verdict;
  }

  async #readAndReserve(ask: Ask, first: Verdict): Promise<Verdict> {
    const { ledger, sums, clock } = this.#parts;
    const reading = Promise.all(unreadOf(ask.subjects, first.levels, clock()).map((unread) => sums.readOne(unread)));
    await within(
      reading.catch(() => null),
      readMs,
      null,
    );
    return await ledger.reserve(ask);
  }

  /** Reserves what the candidate that is asked now needs of the limits of its model and provider. */
  open(context: Streaming): undefined | Promise<undefined> {
    const { rules } = this.#parts;
    const { candidate } = context.attempt;
    if (!rules.hasTargets || candidate.answeredBy !== null) return undefined;
    const known = this.#booked.get(context) ?? booked([], []);
    this.#booked.set(context, known);
    known.asked.push(candidate.target);
    const deciding = known.deciding?.get(candidate.target);
    if (deciding !== undefined || known.targets?.has(candidate.target) === true) {
      // the candidate is asked again, so its reservation is not released when a hedge is asked
      known.failed = known.failed.filter((failed) => failed !== candidate.target);
      return deciding;
    }
    const subjects = rules.ofCandidate(candidate);
    for (const failed of known.failed.splice(0)) this.#letGo(known, failed);
    if (subjects.length === 0) return undefined;
    const ask = askOf(subjects, [candidate], context);
    const verdict = this.#reserve(ask);
    const act = ({ refusal, hold }: Verdict): undefined => {
      known.deciding?.delete(candidate.target);
      if (refusal !== null) throw this.#passedBy(refusal, ask);
      if (hold === null) return;
      (known.targets ??= new Map()).set(candidate.target, hold);
      // a hedge may have outrun this candidate while the ledger was asked
      if (!known.asked.includes(candidate.target)) this.#letGo(known, candidate.target);
    };
    if (!isThenable(verdict)) return act(verdict);
    verdict.catch(() => known.deciding?.delete(candidate.target));
    const decided = verdict.then((reached) => (this.#isOver(context, known, reached) ? undefined : act(reached)));
    (known.deciding ??= new Map()).set(candidate.target, decided);
    return decided;
  }

  /** The error of a candidate without room: the next candidate is asked. */
  #passedBy(refusal: Refusal, ask: Ask): GatewayError {
    const { code, status, type, isFinal, message, retryAfterMs } = errorOf(refusal, ask, this.#parts.clock());
    const kind: ErrorKind = { code, status, type, isFinal, retryable: true };
    return new GatewayError(kind, message, { retryAfterMs, plugin: name });
  }

  attempted({ outcome }: AttemptResult, context: Streaming): void {
    const known = this.#booked.get(context);
    const { target } = context.attempt.candidate;
    if (known === undefined) return;
    known.asked = known.asked.filter((asked) => asked !== target);
    if (outcome === 'answered') return;
    // the request goes on at another candidate, which may take long
    if (known.asked.length > 0) this.#letGo(known, target);
    else known.failed.push(target);
  }

  #letGo(known: Booked, target: string): void {
    const hold = known.targets?.get(target);
    known.targets?.delete(target);
    if (hold !== undefined) this.#parts.ledger.settle(hold, 0);
  }

  /** Releases what was reserved, and counts what was really used. */
  settle(record: RequestRecord, context: Replying): void {
    const known = this.#booked.get(context);
    if (known === undefined) return forgetMeasure(context.request);
    this.#booked.delete(context);
    const { ledger } = this.#parts;
    const served = context.attempt?.candidate.target;
    // charge before the release: otherwise another process may admit a request between the two
    this.#charge(record, known, context);
    if (known.hold !== null) ledger.settle(known.hold, lostTokens(record) + answerTokens(record, known.hold, context));
    for (const [target, hold] of known.targets ?? []) ledger.settle(hold, target === served ? answerTokens(record, hold, context) : 0);
    forgetMeasure(context.request);
  }

  #charge(record: RequestRecord, { hold }: Booked, context: Replying): void {
    const { ledger, rules } = this.#parts;
    if (!rules.hasBudgets) return;
    const pico = spentBy(record, context);
    const charged = [...(hold?.subjects ?? []), ...rules.ofTarget(record.provider, record.model)].filter(hasBudgets);
    if (charged.length > 0 && pico > 0n) ledger.charge({ subjects: charged, pico, at: context.createdAt });
  }

  /** The headers for a limited caller. */
  headers(context: Replying): Record<string, string> | null {
    const known = this.#booked.get(context);
    return known === undefined || known.levels.length === 0 ? null : headersOf(known.subjects, known.levels, context);
  }

  explain(context: Normalised): readonly ExplainedLimit[] {
    const known = this.#booked.get(context);
    return known === undefined ? [] : explainedLimits(known.subjects, known.levels);
  }
}

interface Acting {
  readonly ask: Ask;
  readonly standing: readonly Candidate[];
  /** The first candidate that is not ruled out: the one that is asked first. */
  readonly first: Candidate;
  readonly caller: readonly Subject[];
  readonly context: Normalised;
}

const hasBudgets = ({ caps }: Subject): boolean => caps.budgets.length > 0;

/** Whether the budgets of the first candidate have no room for the price of a more expensive candidate, but have room for its own price. */
function fitsByItself({ refusal, levels }: Verdict, { ask, first, caller, context }: Acting): boolean {
  const own = priceAt(first, measureOf(context.request)) ?? 0n;
  if (refusal?.lack !== 'budget' || own >= ask.pico) return false;
  return ask.subjects.every(
    ({ caps }, at) =>
      at < caller.length || caps.budgets.every((cap, index) => hasDollars(cap, levels[at]?.budgets[index] as BudgetLevel, own)),
  );
}

const booked = (subjects: readonly Subject[], levels: readonly Level[]): Booked => ({
  hold: null,
  targets: null,
  asked: [],
  deciding: null,
  failed: [],
  subjects,
  levels,
});

function askOf(subjects: readonly Subject[], candidates: readonly Candidate[], { request, isDryRun }: Normalised): Ask {
  const isLight = candidates.find(stands)?.answeredBy !== null;
  const countsTokens = !isLight && subjects.some(({ caps }) => caps.tokens !== null);
  const countsDollars = !isLight && subjects.some(hasBudgets);
  const measure = countsTokens || countsDollars ? measureOf(request) : nothing;
  return {
    subjects,
    tokens: measure.prompt + measure.answer,
    pico: countsDollars ? dearest(candidates, measure) : 0n,
    isLight,
    isLook: isDryRun,
  };
}

const nothing: Measure = { prompt: 0, answer: 0, circumstances: { images: 0, maySearch: false, from: 0, to: 0 }, isFree: true };

/** The price of the most expensive candidate whose price is known. */
function dearest(candidates: readonly Candidate[], measure: Measure): bigint {
  let most = 0n;
  let last: Candidate | null = null;
  for (const candidate of candidates) {
    // the keys of a pool have the same prices
    if (!stands(candidate) || candidate.mapping === last?.mapping) continue;
    last = candidate;
    const price = priceAt(candidate, measure) ?? 0n;
    if (price > most) most = price;
  }
  return most;
}

const withoutPrice = (candidate: Candidate, subject: Subject, cap: BudgetCap): Candidate =>
  drop(candidate, {
    by: name,
    reason: `its price is not known, and a budget for ${nameOf(subject)} refuses that`,
    error: unknownPrice(subject, cap, candidate.model.id),
  });

const awayOrThrow = (thrown: unknown): never => {
  throw thrown instanceof Away ? unavailable(thrown.message) : thrown;
};

const reasonOf = ({ subject, lack, waitMs }: Refusal): string =>
  `the ${lack === 'budget' ? 'budget' : `limit of ${lack}`} for ${nameOf(subject)} has no room${waitMs === null ? '' : ` for ${Math.ceil(waitMs / 1000)} s`}`;

/**
 * The cost of a record, in 10^-12 dollar. Where it is not known, an answer costs the most that was estimated for it.
 * safety: a caller who sends an image, and leaves before the counts come, would never use up a budget.
 */
function spentBy({ cost, response, usage }: RequestRecord, { attempt, request }: Replying): bigint {
  if (cost !== null) return parseDollars(cost) ?? 0n;
  if (response === null || request === null || attempt === null || attempt.candidate.answeredBy !== null) return 0n;
  const measure = measureOf(request);
  return priceAt(attempt.candidate, { ...measure, answer: Math.max(measure.answer, usage.completionTokens ?? 0) }) ?? 0n;
}

/** The provider's counts of the answer. Where it came without counts, the reservation counts as used, or the prompt and the answer if they are more. */
function answerTokens({ usage, response }: RequestRecord, { tokens }: Hold, { request }: Replying): number {
  if (usage.totalTokens !== null) return usage.totalTokens;
  return response === null || request === null ? 0 : Math.max(tokens, measureOf(request).prompt + (usage.completionTokens ?? 0));
}

/** The counts of attempts that broke or came too late. */
const lostTokens = ({ attempts }: RequestRecord): number => attempts.reduce((sum, { used }) => sum + (used?.usage.totalTokens ?? 0), 0);
