/** One attempt while it runs: what plugins see of it, its time limits, and the source of its chunks. */
import type { Reasoning, Usage } from '../chat.ts';
import type { Policy } from '../config.ts';
import type { Attempt, Candidate, SentRequest } from './context.ts';
import { GatewayError } from '../errors.ts';
import type { ChunkSource, Pieces } from './hooks.ts';
import { Cancellation, isThenable, timeLimit } from '../cancellation.ts';
import { CallNumbers, Reply } from './reply.ts';
import { pendingTaps } from '../taps/tap.ts';
import type { Pending } from '../taps/tap.ts';

/** After the finish of an answer its token counts may still come. They come at once or never, so the wait for them is short. */
const afterFinishMs = 5000;

const nothing: readonly SentRequest[] = [];

/** What plugins see of an attempt. */
export class SeenAttempt implements Attempt {
  readonly number: number;
  readonly candidate: Candidate;
  readonly reasoning: Reasoning;
  readonly policy: Policy;
  readonly startedAt = performance.now();
  readonly cancellation = new Cancellation();
  #sent: readonly SentRequest[] = nothing;
  #counted: Usage | null = null;
  #hasBegun = false;
  #providerRequestId: string | null = null;
  #isLeft = false;

  constructor({ number, candidate, reasoning, policy }: AttemptStart) {
    this.number = number;
    this.candidate = candidate;
    this.reasoning = reasoning;
    this.policy = policy;
    Object.freeze(this);
  }

  get signal(): AbortSignal {
    return this.cancellation.signal;
  }

  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  begins(): void {
    this.#hasBegun = true;
  }

  sends(request: SentRequest): void {
    this.#sent = this.#sent.length === 0 ? [request] : [...this.#sent, request];
  }

  get sent(): readonly SentRequest[] {
    return this.#sent;
  }

  /** The tap that has not answered yet and has asked no provider; undefined: there is none. */
  get pendingTap(): Pending | undefined {
    return this.#sent.length === 0 ? pendingTaps.get(this) : undefined;
  }

  counts(usage: Usage): void {
    this.#counted = usage;
  }

  get counted(): Usage | null {
    return this.#counted;
  }

  learnsId(id: string): void {
    this.#providerRequestId = id;
  }

  get providerRequestId(): string | null {
    return this.#providerRequestId;
  }

  leaves(): void {
    this.#isLeft = true;
  }

  get isLeft(): boolean {
    return this.#isLeft;
  }
}

/** What an attempt begins with. */
type AttemptStart = Pick<Attempt, 'number' | 'candidate' | 'reasoning' | 'policy'>;

export class RunningAttempt {
  readonly seen: SeenAttempt;
  /** `performance.now()` of the first piece of this attempt's answer. */
  firstPieceAt: number | null = null;
  source: ChunkSource | null = null;
  /** What it has answered so far. */
  readonly reply = new Reply();
  readonly calls = new CallNumbers();
  /** True: the result of this attempt was reported. */
  settled = false;
  /** What a tap threw at a chunk of the answer: the answer ends there. */
  fault: { readonly thrown: unknown } | null = null;

  readonly #request: Cancellation;
  #idleMs: number;
  readonly #stopListening: () => void;
  #stopLooking: () => void;
  #soon: NodeJS.Immediate | undefined;
  #isHeard = false;
  #waitingSince = 0;
  /** True: the finish of the answer has come. */
  #isFinishing = false;
  /** The milliseconds that reads have waited since the finish. */
  #waited = 0;
  #reject: ((reason: unknown) => void) | null = null;

  /** @param request the cancellation of the request, which ends its attempt too */
  constructor(start: AttemptStart, request: Cancellation) {
    this.seen = new SeenAttempt(start);
    this.#request = request;
    const { timeouts } = start.policy;
    this.#idleMs = timeouts.idle;
    this.#stopListening = request.onCancel(() => this.#cancel(request.reason));
    this.#stopLooking = this.#lookIn(Math.min(timeouts.firstByte, this.#idleMs));
  }

  /** Ends with the request's cancellation, or when this attempt times out. */
  get cancellation(): Cancellation {
    return this.seen.cancellation;
  }

  /** Called when the first piece of the answer has come. */
  begins(): void {
    this.firstPieceAt = performance.now();
    this.seen.begins();
  }

  read(): Pieces | Promise<Pieces> {
    this.#waitingSince = performance.now();
    const read = (this.source as ChunkSource).read();
    if (isThenable(read)) return this.unlessCancelled(read);
    this.#arrives();
    this.cancellation.throwIfCancelled();
    return read;
  }

  /**
   * Settles as `work` does, or rejects when the attempt is cancelled,
   * whichever comes first: a plugin that ignores its signal delays nobody.
   */
  unlessCancelled<T>(work: Promise<T>, whenLate?: (value: T) => void): Promise<T> {
    // cost: one promise per read; Promise.race on a long-lived promise would keep a reaction for each read
    return new Promise((resolve, reject) => {
      this.#reject = reject;
      const arrive = (value: T): void => {
        this.#arrives();
        if (this.cancellation.isCancelled) whenLate?.(value);
        resolve(value);
      };
      // a source of a plugin in JavaScript may give another kind of promise
      Promise.resolve(work).then(arrive, reject);
      if (this.cancellation.isCancelled) reject(this.cancellation.reason);
    });
  }

  /** Called when what was waited for has come. */
  #arrives(): void {
    // comments after the finish do not make the wait longer
    if (this.#isFinishing && this.#waitingSince > 0) this.#waited += performance.now() - this.#waitingSince;
    this.#waitingSince = 0;
    // wire: while it thinks, a provider may send only comments or blanks. They show that the provider is
    // alive: after the first of them, the limit of silence applies instead of the limit of the first byte
    this.#isHeard = this.source !== null;
  }

  /** Called when the finish of the answer has come: only its token counts may follow. */
  finishing(): void {
    this.#isFinishing = true;
    if (this.#idleMs <= afterFinishMs) return;
    this.#idleMs = afterFinishMs;
    // cost: a plain answer is over within this tick, and a timer for it is 2 % of the CPU of its request
    this.#soon = setImmediate(() => {
      this.#stopLooking();
      this.#stopLooking = this.#lookIn(afterFinishMs);
    });
  }

  // cost: one timer checks how long the gateway has waited for the provider, instead of one timer for each read and each limit
  #lookIn(ms: number): () => void {
    return timeLimit(ms, () => {
      const left = this.#isHeard ? this.#silenceLeft() : this.#firstByteLeft();
      if (left > 0) this.#stopLooking = this.#lookIn(Math.max(1, Math.min(left, this.#idleMs)));
    });
  }

  /** The milliseconds that are left for the first byte. Cancels the attempt when none are left. */
  #firstByteLeft(): number {
    const { policy, startedAt } = this.seen;
    const { firstByte } = policy.timeouts;
    const left = startedAt + firstByte - performance.now();
    if (left > 0) return left;
    const tap = this.seen.pendingTap;
    this.#cancel(
      tap === undefined
        ? new GatewayError('upstream_timeout', `The provider did not begin to answer within ${seconds(firstByte)}.`)
        : new GatewayError(
            'upstream_timeout',
            `The plugin "${tap.plugin}" did not answer at "${tap.hook}" within ${seconds(firstByte)}, and asked no provider.`,
            { plugin: tap.plugin },
          ),
    );
    return left;
  }

  /**
   * The milliseconds of silence that are left. Cancels the attempt when none are left. Nothing is read while the client does not take its
   * pieces, so a slow client is not taken for a silent provider.
   */
  #silenceLeft(): number {
    const waited = this.#waited + (this.#waitingSince === 0 ? 0 : performance.now() - this.#waitingSince);
    if (waited >= this.#idleMs) {
      this.#cancel(
        new GatewayError(
          'upstream_idle_timeout',
          `The provider sent nothing for ${seconds(this.#idleMs)} ${this.firstPieceAt === null ? 'before' : 'in the middle of'} its answer.`,
        ),
      );
    }
    return this.#idleMs - waited;
  }

  #cancel(reason: unknown): void {
    this.cancellation.cancel(reason);
    this.#reject?.(reason);
  }

  /**
   * Ends the time limits, and also the source if the answer is not whole.
   * @param reason why the answer is no longer wanted; undefined where the cancellation of the request has the reason, or there is none
   */
  close(isBroken: boolean, reason?: unknown): void {
    this.settled = true;
    this.#stopLooking();
    clearImmediate(this.#soon);
    this.#stopListening();
    if (isBroken) {
      this.#cancel(reason ?? this.#request.reason);
      cancelSource(this.source);
    }
  }
}

/**
 * Cancels a source.
 * safety: nobody waits for the source any more, so an error that its plugin throws here, now or later, would end the process.
 */
export function cancelSource(source: ChunkSource | null | undefined): void {
  try {
    const cancelled = source?.cancel() as unknown;
    if (isThenable(cancelled)) cancelled.then(undefined, () => {});
  } catch {
    // the attempt is over, and its record says why
  }
}

const seconds = (ms: number): string => `${ms / 1000} s`;

/** An answer without its finish: the fault of the provider, or of the plugin that answers in its place. */
export const unfinished = ({ answeredBy: plugin }: Candidate): GatewayError =>
  plugin === null
    ? new GatewayError('upstream_truncated', 'The provider ended its answer before it was complete.')
    : new GatewayError('plugin_error', `The plugin "${plugin}" ended its answer before it was complete.`, { plugin });
