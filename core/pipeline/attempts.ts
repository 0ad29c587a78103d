/**
 * Tries the candidates in order until one answers; then those again whose failure may have passed. A stream may move on to the next
 * candidate until the first piece of its answer has come; a plain request may do so until the last piece. All time limits but that of
 * connecting are kept in this folder, so they hold for every plugin that supplies chunks.
 */
import { setTimeout as wait } from 'node:timers/promises';
import type { Chunk } from '../chat.ts';
import type { AttemptResult, SentRequest, Streaming } from './context.ts';
import { GatewayError } from '../errors.ts';
import type { Exchange } from './exchange.ts';
import { faultOf } from '../taps/runners.ts';
import type { ChunkSource, Pieces, RequestHooks } from './hooks.ts';
import { isThenable, unlessCancelled } from '../cancellation.ts';
import { cancelSource, RunningAttempt, unfinished } from './attempt.ts';
import { Failed, race, type Turn, Turns } from './turns.ts';
import { dialectNameOf } from '../wire/dialect.ts';
import { kindOf } from '../wire/fields.ts';

/** safety: a source whose reads always resolve at once, even without a chunk, would keep all other requests and all time limits waiting. */
const readsInARow = 64;

export class Attempts {
  readonly #exchange: Exchange;
  readonly #hooks: RequestHooks;
  /** The attempt whose answer is the request's; null: none has begun. */
  #running: RunningAttempt | null = null;
  /** All attempts that run: several only while one hedges another. */
  readonly #open: RunningAttempt[] = [];
  #reads = 0;

  constructor(exchange: Exchange, hooks: RequestHooks) {
    this.#exchange = exchange;
    this.#hooks = hooks;
  }

  /** The next pieces of the answer, at least one; null at its clean end. Throws when no candidate answers, or the answer breaks. */
  read(): Promise<Pieces> {
    return this.#running === null ? this.#begin() : this.#goOn(this.#running);
  }

  async #goOn(running: RunningAttempt): Promise<Pieces> {
    try {
      const chunks = await this.#next(running);
      if (chunks === null) this.#settle(running, null);
      return chunks;
    } catch (thrown) {
      throw this.#broke(running, thrown);
    }
  }

  /**
   * Called when the answer is no longer wanted: each running attempt ends, and its connection closes.
   * The record is written next, so no attempt may end later, not even one whose answer has not begun.
   */
  cancel(reason: GatewayError): void {
    for (const running of this.#open.slice()) this.#broke(running, reason);
  }

  /** Asks one candidate after the other, and then those again whose failure may have passed, until one has begun to answer. */
  async #begin(): Promise<Pieces> {
    const { policy } = this.#exchange.as();
    const turns = new Turns(this.#exchange.candidates, policy);
    for (let turn = turns.next(); turn !== null; turn = turns.next()) {
      if (turn.round > 0 && !(await this.#pause(turn))) {
        turns.skipped();
        continue;
      }
      try {
        return await this.#answerOf(await this.#firstOf(turn, turns));
      } catch (thrown) {
        if (!(thrown instanceof Failed)) throw thrown;
        if (this.#exchange.cancellation.isCancelled) throw thrown.error;
        turns.failed(thrown);
      }
    }
    throw turns.worthTelling();
  }

  /** Waits before a retry of a target: a random time, and at least as long as its provider has asked for. False where that is too long. */
  async #pause({ round, notBefore }: Turn): Promise<boolean> {
    const { cancellation } = this.#exchange;
    const { policy, startedAt } = this.#exchange.as();
    const { baseMs, maxMs } = policy.retry;
    const now = performance.now();
    const pauseMs = Math.max(notBefore - now, Math.random() * Math.min(maxMs, baseMs * 2 ** (round - 1)));
    if (pauseMs > maxMs || now + pauseMs >= startedAt + policy.timeouts.total) return false;
    await unlessCancelled(cancellation, wait(pauseMs));
    return true;
  }

  /** The attempt that has begun to answer: at this candidate, or at one that was asked as a hedge. */
  #firstOf(turn: Turn, turns: Turns): Promise<Begun> {
    const { hedgeMs } = this.#exchange.as().policy;
    if (hedgeMs === null) return this.#try(turn, turns.calls);
    return race(turn, {
      turns,
      hedgeMs,
      cancellation: this.#exchange.cancellation,
      ask: (one, isBeside) => this.#try(one, turns.calls, isBeside),
      cancelOthers: ({ running }) => {
        for (const other of this.#open.filter((one) => one !== running)) this.#settle(other, 'outrun');
      },
    });
  }

  /**
   * The first pieces of a stream. Null for a plain reply: it is sent as a whole,
   * so it is read to its end here, while another attempt may still replace it.
   */
  async #answerOf({ turn, running, first }: Begun): Promise<Pieces> {
    const exchange = this.#exchange;
    this.#running = running;
    this.#show(running);
    exchange.adjustments = adjustmentsOf(exchange, running.source);
    exchange.firstPieceAt = running.firstPieceAt;
    try {
      if (exchange.wantsStream && first !== null) return first;
      if (first !== null) while ((await this.#next(running)) !== null);
      this.#settle(running, null);
      return null;
    } catch (thrown) {
      throw new Failed(turn, this.#broke(running, thrown));
    }
  }

  /** Asks a candidate until it has begun to answer. Throws a Failed. */
  async #try(turn: Turn, number: number, isBeside = false): Promise<Begun> {
    const exchange = this.#exchange;
    const { policy, request } = exchange.as();
    const { candidate } = turn;
    exchange.cancellation.throwIfCancelled();
    const running = new RunningAttempt(
      { number, candidate, reasoning: candidate.reasoning ?? request.reasoning, policy },
      exchange.cancellation,
    );
    this.#open.push(running);
    if (!isBeside) this.#show(running);
    try {
      const source = await this.#sourceOf(running);
      if (!isBeside) exchange.adjustments = adjustmentsOf(exchange, source);
      const first = await this.#begun(running);
      running.begins();
      return { turn, running, first };
    } catch (thrown) {
      if (!isBeside && running.source === null) exchange.adjustments = adjustmentsOf(exchange, running.seen.sent.at(-1));
      throw new Failed(turn, this.#broke(running, thrown));
    }
  }

  async #sourceOf(running: RunningAttempt): Promise<ChunkSource> {
    const opening = this.#exchange.opening(running.seen, (context) => this.#hooks.open.promise(context));
    const opened = isThenable(opening) ? await running.unlessCancelled(opening, cancelSource) : opening;
    // another attempt may have won while this one was opened, when its source did not exist yet and could not be cancelled
    if (running.settled) cancelSource(opened);
    running.cancellation.throwIfCancelled();
    if (opened === undefined) {
      const dialect = dialectNameOf(running.seen.candidate);
      throw new GatewayError('internal_error', `No plugin opens the dialect "${dialect}". Add stream/upstream to the plugins.`);
    }
    running.source = opened;
    if (this.#hooks.opened.taps.length > 0) running.source = this.#hooks.opened.call(opened, this.#show(running));
    return running.source;
  }

  /** From here on, taps and the record see the request with this attempt, which may be one of several. Returns what the taps see. */
  #show(running: RunningAttempt): Streaming {
    this.#exchange.attempt = running.seen;
    this.#exchange.reply = running.reply;
    return this.#exchange.as();
  }

  /** Reads until the answer has begun. Token counts alone do not begin an answer, because they give nothing to send. */
  async #begun(running: RunningAttempt): Promise<Pieces> {
    const counts: Chunk[] = [];
    for (;;) {
      const more = await this.#next(running);
      if (more === null) return null;
      if (more.some(({ type }) => type !== 'usage')) return counts.length === 0 ? more : [...counts, ...more];
      // cost: the list grows in place; a copy for each read would take quadratic time
      for (const chunk of more) counts.push(chunk);
    }
  }

  /** Reads until there is a chunk to pass on, and adds what it read to the attempt's reply. Null at the clean end. */
  async #next(running: RunningAttempt): Promise<Pieces> {
    const { reply } = running;
    const { upstreamBody } = this.#exchange.config.server.limits;
    for (;;) {
      if (running.fault !== null) throw running.fault.thrown;
      let read: Pieces;
      if (++this.#reads % readsInARow === 0) await new Promise((resolve) => setImmediate(resolve));
      try {
        const reading = running.read();
        read = isThenable(reading) ? await reading : reading;
      } catch (thrown) {
        read = this.#endOfWhole(running, thrown);
      }
      if (read === null) {
        if (!reply.finished) throw unfinished(running.seen.candidate);
        return null;
      }
      // safety: a generator without an end would fill the memory of the process within one turn
      if (!Array.isArray(read)) throw new TypeError(`read() gave ${kindOf(read)}, and not a list of chunks, or null`);
      // tapable's isUsed() is always true here: the guard has an interceptor on each hook
      const chunks = running.calls.numbered(this.#hooks.chunk.taps.length > 0 ? this.#tapped(read, running) : read);
      for (const chunk of chunks) {
        reply.add(chunk);
        if (chunk.type === 'finish' && this.#isWhole(running)) running.finishing();
      }
      // safety: the record holds the whole answer in memory, and nothing else bounds a stream
      if (reply.size > upstreamBody) {
        throw new GatewayError('upstream_response_too_large', `The provider's answer is larger than ${upstreamBody} characters.`);
      }
      if (chunks.length > 0) return chunks;
    }
  }

  /**
   * Returns null, the end, where the answer has its finish: such an answer is whole, even if the
   * provider then breaks the connection or leaves it open. Otherwise throws what was thrown.
   */
  #endOfWhole(running: RunningAttempt, thrown: unknown): null {
    const isLost = GatewayError.is(thrown) && lostConnection.has(thrown.code) && !this.#exchange.cancellation.isCancelled;
    if (!isLost || !this.#isWhole(running)) throw thrown;
    cancelSource(running.source);
    return null;
  }

  /** Whether each of the `n` answers that were asked for has its finish. */
  #isWhole({ reply }: RunningAttempt): boolean {
    return reply.finished && reply.choices.length >= (this.#exchange.as().request.n ?? 1);
  }

  /**
   * Where a tap throws, the chunks before it are passed on first, so that the result does not depend on which chunks came in one packet.
   */
  #tapped(read: readonly Chunk[], running: RunningAttempt): Chunk[] {
    const context = this.#show(running);
    const kept: Chunk[] = [];
    try {
      for (const chunk of read) {
        const result = this.#hooks.chunk.call(chunk, context);
        if (result !== null) kept.push(result);
      }
    } catch (thrown) {
      if (kept.length === 0) throw thrown;
      running.fault = { thrown };
    }
    return kept;
  }

  /** Closes an attempt as broken. Returns why: what ended the request from outside, or else what was thrown. */
  #broke(running: RunningAttempt, thrown: unknown): GatewayError {
    const { cancellation, id, given } = this.#exchange;
    const reason = cancellation.isCancelled ? cancellation.reason : thrown;
    const giver = given.findLast(({ source }) => source === running.source);
    const error = faultOf(reason, giver) ?? GatewayError.from(reason, id);
    this.#settle(running, error);
    return error;
  }

  /** Closes an attempt and reports its result, once. @param end null: the attempt's answer is the request's answer */
  #settle(running: RunningAttempt, end: GatewayError | 'outrun' | null): void {
    const exchange = this.#exchange;
    if (running.settled) return;
    const isLeft = end !== null && !this.#isWhole(running) && (end === 'outrun' || leaves(running, end));
    running.close(end !== null, end === 'outrun' ? new GatewayError('client_closed', 'Another provider was quicker.') : undefined);
    this.#open.splice(this.#open.indexOf(running), 1);
    const { seen, reply } = running;
    // no provider was asked
    if (seen.candidate.answeredBy !== null) return;
    const counted = end === null ? null : ((GatewayError.is(end) ? end.usage : null) ?? seen.counted);
    if (counted !== null) reply.add({ type: 'usage', usage: counted });
    // a provider that goes on after the gateway has left bills the request, whatever it had answered by then
    const isUsed = end === 'outrun' || !reply.isEmpty || reply.usage.input !== null || (isLeft && !seen.candidate.mapping.cancellation);
    if (end !== null && isUsed) exchange.lost.push({ at: exchange.attempts.length, candidate: seen.candidate, reply, isLeft });
    if (seen.sent.length > 0) exchange.sent.push({ at: exchange.attempts.length, requests: seen.sent });
    const result = Object.freeze(resultOf(exchange, running, end));
    exchange.attempts.push(result);
    this.#hooks.attempted.call(result, this.#show(running));
  }
}

/** An attempt that has begun to answer. */
interface Begun {
  readonly turn: Turn;
  readonly running: RunningAttempt;
  /** Null: the answer is over already. */
  readonly first: Pieces;
}

/** The adjustments of the door, and then those of the attempt, without the parameters that the door itself added. */
function adjustmentsOf({ request }: Exchange, attempt: Pick<SentRequest, 'adjustments'> | null | undefined): Exchange['adjustments'] {
  const { adjustments = [], implied = [] } = request ?? {};
  return [...adjustments, ...(attempt?.adjustments ?? []).filter(({ parameter }) => !implied.includes(parameter))];
}

const lostConnection: ReadonlySet<string> = new Set(['upstream_truncated', 'upstream_unreachable', 'upstream_idle_timeout']);

/** Errors at which the gateway closes the connection while the provider goes on. */
const weLeave: ReadonlySet<string> = new Set(['upstream_response_too_large', 'upstream_event_too_large', 'plugin_error', 'internal_error']);

/**
 * Whether a provider may still work on an attempt that has failed. After an invalid event the gateway
 * reads no further. An answer that is invalid from its first byte is not an answer of a model.
 */
const leaves = ({ cancellation, seen, reply }: RunningAttempt, { code }: GatewayError): boolean =>
  cancellation.isCancelled || seen.isLeft || weLeave.has(code) || (code === 'upstream_invalid_response' && !reply.isEmpty);

function resultOf(
  { startedAt }: Exchange,
  { seen: attempt, firstPieceAt, reply: { answeredAt } }: RunningAttempt,
  end: GatewayError | 'outrun' | null,
): AttemptResult {
  const error = end === 'outrun' ? null : end;
  const { candidate, providerRequestId } = attempt;
  const { provider, model, mapping, target } = candidate;
  const since = (at: number | null): number | null => (at === null ? null : Math.round(at - attempt.startedAt));
  const [firstMs, answerMs] = [since(firstPieceAt), since(answeredAt)];
  return {
    provider: provider.id,
    model: model.id,
    externalId: mapping.externalId,
    ...(provider.account !== provider.id && { target }),
    outcome: end === 'outrun' ? end : error === null ? 'answered' : error.code,
    status: end === null ? 200 : (error?.upstreamStatus ?? null),
    startedMs: Math.round(attempt.startedAt - startedAt),
    durationMs: since(performance.now()) ?? 0,
    timeToFirstTokenMs: firstMs,
    ...(firstMs !== null && answerMs !== null && answerMs > firstMs && { timeToAnswerMs: answerMs }),
    retryAfterMs: error?.retryAfterMs ?? null,
    error: error === null ? null : error.message,
    ...(providerRequestId !== null && { providerRequestId }),
  };
}
