/** The order in which one request asks its candidates, what a failure changes in it, and who is asked beside one that does not begin (`hedge_ms`). */
import type { Cancellation } from '../cancellation.ts';
import { within } from '../cancellation.ts';
import type { Policy } from '../config.ts';
import type { Reasoning } from '../chat.ts';
import { reasoningField, unsetReasoning } from '../chat.ts';
import { GatewayError } from '../errors.ts';
import type { Candidate } from './context.ts';

/** A candidate that is to be asked. */
export interface Turn {
  readonly candidate: Candidate;
  /** How often it was asked before. */
  readonly round: number;
  /** `performance.now()` from which on its provider wants to be asked. */
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
  /** Those that the limit of calls does not count. */
  #uncounted = 0;
  /** The largest context window that was too small. */
  #tooSmall = 0;

  constructor(candidates: readonly Candidate[], policy: Policy) {
    this.#policy = policy;
    this.#waiting = candidates.filter(({ dropped }) => dropped === null).map((candidate) => ({ candidate, round: 0, notBefore: 0 }));
  }

  /** The number of the call that was given out last, from 1. */
  get calls(): number {
    return this.#calls;
  }

  /** The next one to ask; null: all have been asked, or as many as the policy allows. */
  next(): Turn | null {
    return this.#taken(this.#waiting.find((turn) => this.#fits(turn)));
  }

  /** The one to ask beside this one: nobody is asked twice meanwhile. Where one key hangs, the provider's others may too, so another provider comes first. */
  nextBeside({ candidate: { mapping } }: Turn): Turn | null {
    const fresh = this.#waiting.filter((turn) => turn.round === 0 && this.#fits(turn));
    return this.#taken(fresh.find(({ candidate }) => candidate.mapping !== mapping) ?? fresh[0]);
  }

  #fits({ candidate }: Turn): boolean {
    return this.#tooSmall === 0 || candidate.model.context_length > this.#tooSmall;
  }

  #taken(turn: Turn | undefined): Turn | null {
    if (turn === undefined || this.#calls - this.#uncounted >= this.#policy.maxAttempts) return null;
    this.#waiting = this.#waiting.filter((one) => one !== turn);
    this.#calls++;
    return turn;
  }

  /** The turn is given back without a call: its provider does not want to be asked so soon. */
  skipped(): void {
    this.#calls--;
  }

  /** What a failure changes. Throws the error where no other candidate may do better. */
  failed({ turn, error }: Failed): void {
    const { candidate, round } = turn;
    const again = withoutRefused(candidate, error);
    if (again !== null) {
      // the caller did not ask for it
      this.#uncounted++;
      this.#waiting = [turn, ...this.#waiting].map((one) => (one.candidate.mapping === candidate.mapping ? { ...one, candidate: { ...one.candidate, ...again } } : one));
      return;
    }
    if (!mayMoveOn(error)) throw error;
    if (isUnasked(error)) this.#uncounted++;
    this.#errors.push(error);
    if (error.code === 'context_length_exceeded') this.#tooSmall = Math.max(this.#tooSmall, candidate.model.context_length, 1);
    if (!ofKey.has(error.code)) this.#waiting = behindOthers(this.#waiting, candidate);
    // a candidate whose failure may pass gets another turn behind all others
    if (round < this.#policy.retry.sameTarget && mayPass.has(error.code)) this.#waiting = [...this.#waiting, { candidate, round: round + 1, notBefore: performance.now() + (error.retryAfterMs ?? 0) }];
  }

  /** Call it for a turn that was asked beside another one, which began first: should that one break, this turn is asked again, behind all others; where it has failed by itself, as after any failure. @param error how it ended: its own, or that it was cancelled; null: it had begun too */
  passedBy(turn: Turn, error: GatewayError | null): void {
    if (error !== null && mayMoveOn(error)) this.failed(new Failed(turn, error));
    else if (error === null || error.code === 'client_closed') this.#waiting = [...this.#waiting, turn];
  }

  /** The failure that helps the caller most: first a fault of the caller's own (400), then the rate limit (429) that is over soonest, else the last one. */
  worthTelling(): GatewayError {
    const limited = this.#errors.filter(({ status }) => status === 429).toSorted((one, other) => (one.retryAfterMs ?? 0) - (other.retryAfterMs ?? 0));
    const found = this.#errors.find(({ status }) => status === 400) ?? limited[0] ?? this.#errors.at(-1);
    return found ?? new GatewayError('no_provider_available', 'No provider is left to try.');
  }
}

/** What the gateway chooses where the model has refused what it chose before. */
const chosenNone: Reasoning = { ...unsetReasoning, isAutomatic: true };

/** What changes of a candidate that refused what the gateway asked for and the caller did not: it is asked again without. Null: it refused something else. */
function withoutRefused({ reasoning, mapping }: Candidate, { code, param, upstreamStatus }: GatewayError): Pick<Candidate, 'reasoning'> | Pick<Candidate, 'mapping'> | null {
  if (upstreamStatus === null) return null;
  if (reasoning?.isAutomatic === true && reasoning.effort !== null && param === reasoningField(reasoning)) return { reasoning: chosenNone };
  // wire: accounts that are not verified get no summaries (OpenAI: API organization verification; continuedev/continue#9602, 2026-01)
  if (code === 'unsupported_value' && param === 'reasoning.summary' && mapping.reasoning?.exposes === 'text') return { mapping: { ...mapping, reasoning: { ...mapping.reasoning, exposes: 'nothing' } } };
  return null;
}

/** Failures that may be over in a moment, so that the same target may be asked again. A time limit that has passed is not waited for once more. */
const mayPass: ReadonlySet<string> = new Set(['upstream_rate_limited', 'upstream_unreachable', 'upstream_invalid_response', 'upstream_truncated', 'upstream_error', 'upstream_unavailable', 'upstream_overloaded']);

/** Failures of one key: another key of the same provider may do better. All other failures are the provider's, so its other keys are asked last. */
const ofKey: ReadonlySet<string> = new Set(['upstream_rate_limited', 'upstream_auth_error', 'upstream_quota_exhausted']);

/** The turns with those of the candidate's other keys behind all others. */
function behindOthers(turns: readonly Turn[], { mapping }: Candidate): readonly Turn[] {
  if (!turns.some(({ candidate }) => candidate.mapping === mapping)) return turns;
  return [...turns.filter(({ candidate }) => candidate.mapping !== mapping), ...turns.filter(({ candidate }) => candidate.mapping === mapping)];
}

/** Whether a failure leaves others to ask. Else it is what the caller is told. */
const leavesOthers = ({ turn: { candidate }, error }: Failed): boolean => withoutRefused(candidate, error) !== null || mayMoveOn(error);

/** Whether another candidate may answer where this one failed: also one whose format can express the request, or whose context window is larger. */
const mayMoveOn = (error: GatewayError): boolean => error.retryable || cannotSay(error) || error.code === 'context_length_exceeded';

/** Whether the dialect refused before anything was sent, because this provider's format cannot express the request. Another provider's format may. */
const cannotSay = ({ code, upstreamStatus }: GatewayError): boolean => code === 'unsupported_value' && upstreamStatus === null;

/** A limit of the gateway's own, of the model or the provider. Those of providers have other codes. */
const noRoom: ReadonlySet<string> = new Set(['rate_limit_exceeded', 'concurrency_limit_exceeded', 'budget_exceeded']);

/** Whether nobody was asked: such a turn is no call. */
const isUnasked = (error: GatewayError): boolean => cannotSay(error) || (error.upstreamStatus === null && noRoom.has(error.code));

interface Racing<Begun extends { readonly turn: Turn }> {
  readonly turns: Turns;
  readonly hedgeMs: number;
  /** Of the request. */
  readonly cancellation: Cancellation;
  /** Rejects with a Failed. */
  ask(turn: Turn, isBeside: boolean): Promise<Begun>;
  /** Ends all attempts but this one. */
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
 * `hedge_ms`: asks a candidate, and the next one beside it where it has not begun to answer in time. The first that begins is the answer. Where one of the
 * two fails, the other one goes on as the first, and so gets another one beside it: no request waits for a candidate that hangs while one is left to ask.
 * Throws a Failed where none has begun.
 */
export async function race<Begun extends { readonly turn: Turn }>(first: Turn, racing: Racing<Begun>): Promise<Begun> {
  const { turns, hedgeMs, cancellation, cancelOthers } = racing;
  let asked = askedBy(racing, first, false);
  for (;;) {
    const isOver = await within(asked.end.then(() => true), Math.max(0, asked.at + hedgeMs - performance.now()), false);
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
    // the caller is told of it, unless the other one answers all the same
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

/** @param failure is thrown instead of the attempt's own one */
function begunIn<Begun>(end: Begun | Failed, failure?: Failed): Begun {
  if (end instanceof Failed) throw failure ?? end;
  return end;
}
