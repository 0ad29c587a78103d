/**
 * Tries the candidates in order until one answers; then those again whose failure may have passed. A stream may move on to the next
 * candidate until the first piece of its answer has come; a plain request may do so until the last piece. All time limits but that of
 * connecting are kept here, so they hold for every plugin that supplies chunks.
 */
import { setTimeout as wait } from 'node:timers/promises';
import type { Chunk } from '../chat.ts';
import type { AttemptResult, Candidate } from './context.ts';
import { GatewayError } from '../errors.ts';
import type { Exchange } from './exchange.ts';
import { deciderOf, isThenable } from '../taps/runners.ts';
import type { ChunkSource, RequestHooks } from './hooks.ts';
import { unlessCancelled } from '../cancellation.ts';
import { Reply } from './reply.ts';
import { cancelSource, RunningAttempt } from './attempt.ts';

/** safety: a source that always has something at once, and be it nothing, would keep all other requests and all time limits waiting. */
const readsInARow = 64;

/** A candidate that is to be asked. */
interface Turn {
  readonly candidate: Candidate;
  /** How often it was asked before. */
  readonly round: number;
  /** `performance.now()` from which on its provider wants to be asked. */
  readonly notBefore: number;
}

export class Attempts {
  readonly #exchange: Exchange;
  readonly #hooks: RequestHooks;
  #running: RunningAttempt | null = null;
  #reads = 0;

  constructor(exchange: Exchange, hooks: RequestHooks) {
    this.#exchange = exchange;
    this.#hooks = hooks;
  }

  /** The next pieces of the answer, at least one; null at its clean end. Throws when no candidate answers, or the answer breaks. */
  async read(): Promise<readonly Chunk[] | null> {
    if (this.#running === null) return await this.#begin();
    try {
      const chunks = await this.#next(this.#running);
      if (chunks === null) this.#settle(null);
      return chunks;
    } catch (thrown) {
      throw this.#broke(thrown);
    }
  }

  /** The answer is not wanted any more: the running attempt ends, and its connection closes. */
  cancel(reason: GatewayError): void {
    this.#exchange.cancel(reason);
    if (this.#running !== null) this.#broke(reason);
  }

  /** Asks one candidate after the other, and then those again whose failure may have passed, until one has begun to answer. */
  async #begin(): Promise<readonly Chunk[] | null> {
    const { candidates, cancellation } = this.#exchange;
    const { policy } = this.#exchange.as();
    const errors: GatewayError[] = [];
    /** The largest context window that was too small. */
    let tooSmall = 0;
    let turns: readonly Turn[] = candidates.filter(({ dropped }) => dropped === null).map((candidate) => ({ candidate, round: 0, notBefore: 0 }));
    while (turns[0] !== undefined && errors.length < policy.maxAttempts) {
      const { candidate, round, notBefore } = turns[0];
      turns = turns.slice(1);
      if (tooSmall > 0 && candidate.model.context_length <= tooSmall) continue;
      if (round > 0 && !(await this.#pause(round, notBefore))) continue;
      try {
        return await this.#try(candidate, errors.length + 1);
      } catch (thrown) {
        const error = this.#broke(thrown);
        if (cancellation.isCancelled || !mayMoveOn(error)) throw error;
        errors.push(error);
        if (error.code === 'context_length_exceeded') tooSmall = Math.max(tooSmall, candidate.model.context_length, 1);
        if (!ofKey.has(error.code)) turns = behindOthers(turns, candidate);
        // a candidate whose failure may pass gets another turn behind all others
        if (round < policy.retry.sameTarget && mayPass.has(error.code)) turns = [...turns, { candidate, round: round + 1, notBefore: performance.now() + (error.retryAfterMs ?? 0) }];
      }
    }
    throw worthTelling(errors);
  }

  /** Waits before a target is asked again: a random time, and at least until its provider wants to be asked. False where that is too long. */
  async #pause(round: number, notBefore: number): Promise<boolean> {
    const { cancellation } = this.#exchange;
    const { policy, startedAt } = this.#exchange.as();
    const { baseMs, maxMs } = policy.retry;
    const now = performance.now();
    const pauseMs = Math.max(notBefore - now, Math.random() * Math.min(maxMs, baseMs * 2 ** (round - 1)));
    if (pauseMs > maxMs || now + pauseMs >= startedAt + policy.timeouts.total) return false;
    await unlessCancelled(cancellation, wait(pauseMs));
    return true;
  }

  async #try(candidate: Candidate, number: number): Promise<readonly Chunk[] | null> {
    const exchange = this.#exchange;
    const { policy, request } = exchange.as();
    exchange.cancellation.throwIfCancelled();
    const running = new RunningAttempt({ number, candidate, reasoning: candidate.reasoning ?? request.reasoning, policy }, exchange.cancellation);
    this.#running = running;
    exchange.attempt = running.seen;
    exchange.reply = new Reply();
    const opening = this.#hooks.open.promise(exchange.as());
    const opened = isThenable(opening) ? await running.unlessCancelled(opening, cancelSource) : opening;
    if (opened === undefined) throw new GatewayError('internal_error', `No plugin opens the dialect "${candidate.provider.dialect}". Add stream/upstream to the plugins.`);
    running.source = opened;
    const source = this.#hooks.opened.taps.length > 0 ? this.#hooks.opened.call(opened, exchange.as()) : opened;
    running.source = source;
    exchange.adjustments = source.adjustments;
    const first = await this.#begun(running);
    exchange.firstPieceAt = running.firstPieceAt = performance.now();
    if (request.stream) return first;
    // a plain reply is sent as a whole, so this attempt may still give way to the next one
    while ((await this.#next(running)) !== null);
    this.#settle(null);
    return null;
  }

  /** Reads until the answer has begun. Token counts alone are no answer: they give nothing to send. */
  async #begun(running: RunningAttempt): Promise<readonly Chunk[] | null> {
    let first: readonly Chunk[] = [];
    for (;;) {
      const more = await this.#next(running);
      if (more === null) return null;
      first = first.length === 0 ? more : [...first, ...more];
      if (more.some(({ type }) => type !== 'usage')) return first;
    }
  }

  /** Reads until there is a chunk to pass on, and adds what it read to the exchange's reply. Null at the clean end. */
  async #next(running: RunningAttempt): Promise<readonly Chunk[] | null> {
    const { reply, config } = this.#exchange;
    const { upstreamBody } = config.server.limits;
    for (;;) {
      let read: readonly Chunk[] | null;
      if (++this.#reads % readsInARow === 0) await new Promise((resolve) => setImmediate(resolve));
      try {
        read = await running.read();
      } catch (thrown) {
        read = this.#endOfWhole(running, thrown);
      }
      if (read === null) {
        if (!reply.finished) throw new GatewayError('upstream_truncated', 'The provider ended its answer before it was complete.');
        return null;
      }
      // tapable's isUsed() is always true here: the guard has an interceptor on each hook
      const chunks = this.#hooks.chunk.taps.length > 0 ? this.#tapped(read) : read;
      for (const chunk of chunks) {
        reply.add(chunk);
        if (chunk.type === 'finish' && this.#isWhole()) running.finishing();
      }
      // safety: the record holds the whole answer in memory, and nothing else bounds a stream
      if (reply.size > upstreamBody) throw new GatewayError('upstream_response_too_large', `The provider's answer is larger than ${upstreamBody} characters.`);
      if (chunks.length > 0) return chunks;
    }
  }

  /** An answer whose finish has come is whole, even if the provider then breaks the connection or leaves it open: null, its end. Else throws what was thrown. */
  #endOfWhole(running: RunningAttempt, thrown: unknown): null {
    const isLost = GatewayError.is(thrown) && lostConnection.has(thrown.code) && !this.#exchange.cancellation.isCancelled;
    if (!isLost || !this.#isWhole()) throw thrown;
    cancelSource(running.source);
    return null;
  }

  /** Whether each of the `n` answers that were asked for has its finish. */
  #isWhole(): boolean {
    const { reply } = this.#exchange;
    return reply.finished && reply.choices.length >= (this.#exchange.as().request.n ?? 1);
  }

  #tapped(read: readonly Chunk[]): Chunk[] {
    const context = this.#exchange.as();
    const kept: Chunk[] = [];
    for (const chunk of read) {
      const result = this.#hooks.chunk.call(chunk, context);
      if (result !== null) kept.push(result);
    }
    return kept;
  }

  /** Closes the running attempt as broken. Returns why: what ended the request from outside, or else what was thrown. */
  #broke(thrown: unknown): GatewayError {
    const { cancellation, id } = this.#exchange;
    const reason = cancellation.isCancelled ? cancellation.reason : thrown;
    const error = faultOf(reason, this.#running?.source ?? null) ?? GatewayError.from(reason, id);
    this.#settle(error);
    return error;
  }

  /** Closes the running attempt and tells what came of it, once. */
  #settle(error: GatewayError | null): void {
    const exchange = this.#exchange;
    const running = this.#running;
    if (running === null || running.settled) return;
    running.close(error !== null);
    // no provider was asked
    if (running.seen.candidate.answeredBy !== null) return;
    const result = resultOf(exchange, running, error);
    exchange.attempts.push(result);
    this.#hooks.attempted.call(result, exchange.as());
  }
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

/** Whether another candidate may answer where this one failed: also one whose format can express the request, or whose context window is larger. */
const mayMoveOn = (error: GatewayError): boolean => error.retryable || cannotSay(error) || error.code === 'context_length_exceeded';

/** Whether the dialect refused before anything was sent, because this provider's format cannot express the request. Another provider's format may. */
const cannotSay = ({ code, upstreamStatus }: GatewayError): boolean => code === 'unsupported_value' && upstreamStatus === null;

const lostConnection: ReadonlySet<string> = new Set(['upstream_truncated', 'upstream_unreachable', 'upstream_idle_timeout']);

/** An error that names the plugin whose source threw; null where the gateway's own code threw. */
function faultOf(reason: unknown, source: ChunkSource | null): GatewayError | null {
  const plugin = source === null || GatewayError.is(reason) ? undefined : deciderOf(source);
  return plugin === undefined ? null : new GatewayError('plugin_error', `The plugin "${plugin}" failed in the middle of its answer.`, { plugin, cause: reason });
}

function resultOf({ startedAt }: Exchange, { seen: attempt, firstPieceAt }: RunningAttempt, error: GatewayError | null): AttemptResult {
  const { provider, model, mapping } = attempt.candidate;
  const since = (at: number | null): number | null => (at === null ? null : Math.round(at - attempt.startedAt));
  return {
    provider: provider.id,
    model: model.id,
    externalId: mapping.externalId,
    outcome: error === null ? 'answered' : error.code,
    status: error === null ? 200 : error.upstreamStatus,
    startedMs: Math.round(attempt.startedAt - startedAt),
    durationMs: since(performance.now()) ?? 0,
    timeToFirstTokenMs: since(firstPieceAt),
    retryAfterMs: error?.retryAfterMs ?? null,
    error: error === null ? null : error.message,
  };
}

/** The failure that helps the caller most: first a fault of the caller's own (400), then a rate limit (429), else the last one. */
function worthTelling(errors: readonly GatewayError[]): GatewayError {
  const found = errors.find(({ status }) => status === 400) ?? errors.find(({ status }) => status === 429) ?? errors.at(-1);
  return found ?? new GatewayError('no_provider_available', 'No provider is left to try.');
}
