/** The order in which a request asks its candidates, what a failure changes in that order, and who is asked as a hedge (`hedge_ms`). */
import type { Cancellation } from '../cancellation.ts';
import { within } from '../cancellation.ts';
import type { Policy } from '../config.ts';
import type { Reasoning } from '../chat.ts';
import { reasoningField, unsetReasoning } from '../chat.ts';
import { GatewayError } from '../errors.ts';
import { stands } from './context.ts';
import type { Candidate } from './context.ts';
import { thawed } from '../wire/fields.ts';

/** A candidate that is to be asked. */
export interface Turn {
  readonly candidate: Candidate;
  /** How many times this candidate was asked before. */
  readonly round: number;
  /** The candidate is not asked before this time of `performance.now()`, because its provider asked to wait. */
  readonly notBefore: number;
}

/** A turn that brought no answer. */
export class Failed {
  readonly turn: Turn;
  readonly error: GatewayError;

  constructor(turn: Turn, error: GatewayError) {
    this.turn = turn;
    this.error = error;
  }
}

export class Turns {
  readonly #policy: Policy;
  #waiting: readonly Turn[];
  readonly #errors: GatewayError[] = [];
  /** Calls so far. */
  #calls = 0;
  /** Calls that do not count towards the limit of calls. */
  #uncounted = 0;
  /** The largest context window that was too small. */
  #tooSmall = 0;

  constructor(candidates: readonly Candidate[], policy: Policy) {
    this.#policy = policy;
    this.#waiting = thawed(candidates)
      .filter(stands)
      .map((candidate) => ({ candidate, round: 0, notBefore: 0 }));
  }

  /** The number of the latest call, from 1. */
  get calls(): number {
    return this.#calls;
  }

  /** The next candidate to ask; null: all have been asked, or as many as the policy allows. */
  next(): Turn | null {
    return this.#taken(this.#waiting.find((turn) => this.#fits(turn)));
  }

  /**
   * The candidate to ask as a hedge of this turn; no candidate is asked twice at one time. If
   * one key hangs, the provider's other keys may hang too, so another provider comes first.
   */
  nextBeside({ candidate }: Turn): Turn | null {
    const fresh = this.#waiting.filter((turn) => turn.round === 0 && this.#fits(turn));
    return this.#taken(behindOthers(fresh, candidate, this.#left)[0]);
  }

  /** How many more calls the policy allows. */
  get #left(): number {
    return this.#policy.maxAttempts - (this.#calls - this.#uncounted);
  }

  #fits({ candidate }: Turn): boolean {
    return this.#tooSmall === 0 || candidate.model.context_length > this.#tooSmall;
  }

  #taken(turn: Turn | undefined): Turn | null {
    if (turn === undefined || this.#left <= 0) return null;
    this.#waiting = this.#waiting.filter((one) => one !== turn);
    this.#calls++;
    return turn;
  }

  /** The turn was not used for a call, because its provider does not want to be asked so soon. */
  skipped(): void {
    this.#calls--;
  }

  /** Updates the order after a failure. Throws the error where no other candidate may do better. */
  failed({ turn, error }: Failed): void {
    const { candidate, round } = turn;
    const again = withoutRefused(candidate, error);
    if (again !== null) {
      // the caller did not ask for what was refused, so this call does not count
      this.#uncounted++;
      this.#waiting = [turn, ...this.#waiting].map((one) =>
        one.candidate.mapping === candidate.mapping ? { ...one, candidate: { ...one.candidate, ...again } } : one,
      );
      return;
    }
    if (!mayMoveOn(error)) throw error;
    if (isUnasked(error)) this.#uncounted++;
    this.#errors.push(error);
    if (error.code === 'context_length_exceeded') this.#tooSmall = Math.max(this.#tooSmall, candidate.model.context_length, 1);
    if (!ofKey.has(error.code)) this.#waiting = behindOthers(this.#waiting, candidate, this.#left);
    // a candidate whose failure may pass gets another turn behind all others
    if (round < this.#policy.retry.sameTarget && mayPass.has(error.code)) {
      this.#waiting = [...this.#waiting, { candidate, round: round + 1, notBefore: performance.now() + (error.retryAfterMs ?? 0) }];
    }
  }

  /**
   * Called for a hedged turn when another turn began to answer first. If the other answer breaks, this turn
   * is asked again, behind all others; if this turn has failed by itself, the failure counts as usual.
   * @param error how this turn ended: its own error, or that it was cancelled; null: it had begun to answer too
   */
  passedBy(turn: Turn, error: GatewayError | null): void {
    if (error !== null && mayMoveOn(error)) this.failed(new Failed(turn, error));
    else if (error === null || error.code === 'client_closed') this.#waiting = [...this.#waiting, turn];
  }

  /**
   * The failure that helps the caller most: a fault of the caller's own (400),
   * otherwise the rate limit (429) that ends first, otherwise the last failure.
   */
  worthTelling(): GatewayError {
    const limited = this.#errors
      .filter(({ status }) => status === 429)
      .toSorted((one, other) => (one.retryAfterMs ?? 0) - (other.retryAfterMs ?? 0));
    const found = this.#errors.find(({ status }) => status === 400) ?? limited[0] ?? this.#errors.at(-1);
    return found ?? new GatewayError('no_provider_available', 'No provider is left to try.');
  }
}

/** The reasoning that the gateway chooses after the model has refused its first choice. */
const chosenNone: Reasoning = { ...unsetReasoning, isAutomatic: true };

/**
 * The change to a candidate that refused something which the gateway added and the caller
 * did not ask for: the candidate is asked again without it. Null: it refused something else.
 */
function withoutRefused(
  { reasoning, mapping }: Candidate,
  { code, param, upstreamStatus }: GatewayError,
): Pick<Candidate, 'reasoning'> | Pick<Candidate, 'mapping'> | null {
  if (upstreamStatus === null) return null;
  if (reasoning?.isAutomatic === true && reasoning.effort !== null && param === reasoningField(reasoning)) return { reasoning: chosenNone };
  // wire: accounts that are not verified get no summaries (OpenAI: API organization verification; continuedev/continue#9602, 2026-01)
  if (code === 'unsupported_value' && param === 'reasoning.summary' && mapping.reasoning?.exposes === 'text') {
    return { mapping: { ...mapping, reasoning: { ...mapping.reasoning, exposes: 'nothing' } } };
  }
  return null;
}

/** Failures that may be over in a moment, so that the same target may be retried. After a timeout, the same target is not retried. */
const mayPass: ReadonlySet<string> = new Set([
  'upstream_rate_limited',
  'upstream_unreachable',
  'upstream_invalid_response',
  'upstream_truncated',
  'upstream_error',
  'upstream_unavailable',
  'upstream_overloaded',
]);

/**
 * Failures of one key: another key of the same provider may succeed. Any other failure is the provider's, so its other keys are asked last.
 */
const ofKey: ReadonlySet<string> = new Set(['upstream_rate_limited', 'upstream_auth_error', 'upstream_quota_exhausted']);

/**
 * The turns, with the turns of the candidate's other keys behind all others. A fallback
 * still comes after the other providers, or gets the last of the calls that are left.
 */
function behindOthers(turns: readonly Turn[], { mapping }: Candidate, left: number): readonly Turn[] {
  const [same, others] = parted(turns, ({ candidate }) => candidate.mapping === mapping);
  if (same.length === 0) return turns;
  const [fresh, behind] = parted(others, ({ candidate, round }) => round === 0 && candidate.isBehind !== true);
  const [fallbacks, own] = parted(fresh, ({ candidate }) => candidate.isFallback);
  const place = Math.max(0, left - 1);
  return [...own.slice(0, place), ...fallbacks, ...own.slice(place), ...behind, ...same];
}

const parted = (turns: readonly Turn[], is: (turn: Turn) => boolean): readonly [Turn[], Turn[]] => [
  turns.filter(is),
  turns.filter((turn) => !is(turn)),
];

/** Whether a failure leaves other candidates to ask. If not, the caller gets this failure. */
const leavesOthers = ({ turn: { candidate }, error }: Failed): boolean => withoutRefused(candidate, error) !== null || mayMoveOn(error);

/**
 * Whether another candidate may answer after this failure. This includes a candidate
 * whose format can express the request, or whose context window is larger.
 */
const mayMoveOn = (error: GatewayError): boolean => error.retryable || cannotSay(error) || error.code === 'context_length_exceeded';

/**
 * Whether the dialect refused before anything was sent, because this
 * provider's format cannot express the request. Another provider's format may.
 */
const cannotSay = ({ code, upstreamStatus }: GatewayError): boolean => code === 'unsupported_value' && upstreamStatus === null;

/** A limit of the gateway itself, on the model or the provider. The limits of providers have other codes. */
const noRoom: ReadonlySet<string> = new Set(['rate_limit_exceeded', 'concurrency_limit_exceeded', 'budget_exceeded']);

/** Whether no provider was asked: such a turn is not a call. */
const isUnasked = (error: GatewayError): boolean => cannotSay(error) || (error.upstreamStatus === null && noRoom.has(error.code));

interface Racing<Begun extends { readonly turn: Turn }> {
  readonly turns: Turns;
  readonly hedgeMs: number;
  /** The cancellation of the request. */
  readonly cancellation: Cancellation;
  /** Rejects with a Failed. */
  ask(turn: Turn, isBeside: boolean): Promise<Begun>;
  /** Ends all other attempts. */
  cancelOthers(begun: Begun): void;
}

/** A candidate that is being asked. */
interface Asked<Begun> {
  readonly turn: Turn;
  /** `performance.now()` */
  readonly at: number;
  readonly end: Promise<Begun | Failed>;
}

/**
 * `hedge_ms`: asks a candidate, and also the next one if the first has not begun to answer in time. The first
 * candidate that begins is the answer. If one of the two fails, the other one is hedged in turn: no request
 * waits for a candidate that hangs while another candidate is left to ask. Throws a Failed where none has begun.
 */
export async function race<Begun extends { readonly turn: Turn }>(first: Turn, racing: Racing<Begun>): Promise<Begun> {
  const { turns, hedgeMs, cancellation, cancelOthers } = racing;
  let asked = askedBy(racing, first, false);
  for (;;) {
    const ends = asked.end.then(() => true);
    const isOver = await within(ends, Math.max(0, asked.at + hedgeMs - performance.now()), false);
    const beside = isOver || cancellation.isCancelled ? null : turns.nextBeside(asked.turn);
    if (beside === null) return begunIn(await asked.end);
    const other = askedBy(racing, beside, true);
    const end = await Promise.race([asked.end, other.end]);
    const left = end.turn === beside ? asked : other;
    if (!(end instanceof Failed)) {
      cancelOthers(end);
      const slower = await left.end;
      turns.passedBy(left.turn, slower instanceof Failed ? slower.error : null);
      return end;
    }
    if (cancellation.isCancelled) throw end;
    // the caller gets this failure, unless the other candidate answers after all
    if (!leavesOthers(end)) return begunIn(await left.end, end);
    turns.failed(end);
    asked = left;
  }
}

const askedBy = <Begun extends { readonly turn: Turn }>({ ask }: Racing<Begun>, turn: Turn, isBeside: boolean): Asked<Begun> => ({
  turn,
  at: performance.now(),
  end: ask(turn, isBeside).catch((thrown: unknown) => {
    if (thrown instanceof Failed) return thrown;
    throw thrown;
  }),
});

/** @param failure is thrown instead of the attempt's own failure */
function begunIn<Begun>(end: Begun | Failed, failure?: Failed): Begun {
  if (end instanceof Failed) throw failure ?? end;
  return end;
}
