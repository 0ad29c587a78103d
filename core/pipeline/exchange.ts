/** One request under way. Plugins see a part of it (view.ts), which grows from stage to stage (context.ts). Only this folder assigns to its fields. */
import type { ChatRequest } from '../chat.ts';
import type { Config, Policy } from '../config.ts';
import type { Addressing, Arrived, Attempt, AttemptResult, Candidate, Metadata, Principal, Streaming } from './context.ts';
import type { Adjustment } from '../wire/dialect.ts';
import { GatewayError } from '../errors.ts';
import { Reply } from './reply.ts';
import { createRequestId } from '../request-id.ts';
import { Cancellation } from '../cancellation.ts';
import { View } from './view.ts';
import { pendingTap } from '../taps/pending.ts';

export interface Arrival {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly config: Config;
  /** Epoch milliseconds. */
  readonly createdAt: number;
}

// cost: every field from the start, so that all requests share one hidden class
export class Exchange implements Arrived {
  readonly view = new View(this);
  readonly id: string;
  readonly startedAt: number = performance.now();
  readonly createdAt: number;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly config: Config;

  principal: Principal | null = null;
  metadata: Metadata | null = null;
  /** What the caller named, known as soon as the body could be read. */
  requestedModel: string | null = null;
  wantsStream = false;
  /** The caller asks how the request would be routed: nobody is asked, and nothing is held. */
  readonly isDryRun: boolean;
  request: ChatRequest | null = null;
  addressing: Addressing | null = null;
  policy: Policy | null = null;
  /** All candidates, those that a plugin ruled out too. */
  candidates: readonly Candidate[] = [];
  attempt: Attempt | null = null;
  readonly attempts: AttemptResult[] = [];
  /** Milliseconds by plugin. */
  readonly timings: Record<string, number> = {};
  adjustments: readonly Adjustment[] = [];
  reply: Reply = new Reply();
  /** `performance.now()` of the first piece of the answer. */
  firstPieceAt: number | null = null;
  /** HTTP status of the reply, and the error that it tells of. Set when the reply begins. */
  status = 200;
  error: GatewayError | null = null;
  /** Bytes of its body that count among those of all running requests; null where the request does not count as running. */
  heldBytes: number | null = null;
  /** The reply's status has been sent. */
  committed = false;
  recorded = false;

  readonly cancellation = new Cancellation();
  #deadline: NodeJS.Timeout | undefined;
  #total = 0;
  #whenClosed: (() => void) | null = null;
  #isClosed = false;

  constructor(arrival: Arrival) {
    this.id = createRequestId(arrival.createdAt);
    this.createdAt = arrival.createdAt;
    this.method = arrival.method;
    this.path = arrival.path;
    this.headers = arrival.headers;
    this.config = arrival.config;
    this.isDryRun = arrival.headers['x-dry-run'] === 'true';
  }

  get signal(): AbortSignal {
    return this.cancellation.signal;
  }

  /** Ends the request from outside: the client has left, the deadline has passed, the gateway stops. */
  cancel(reason: GatewayError): void {
    this.cancellation.cancel(reason);
  }

  /** Starts the clock of a policy's total time, instead of the one before. The time counts from the arrival of the request. */
  expire({ timeouts: { total } }: Policy): void {
    if (this.recorded || total === this.#total) return;
    clearTimeout(this.#deadline);
    this.#total = total;
    const left = this.startedAt + total - performance.now();
    if (left <= 0) this.cancel(this.#late(total));
    else this.#deadline = setTimeout(() => this.cancel(this.#late(total)), left);
  }

  #late(total: number): GatewayError {
    const tap = pendingTap(this.view);
    if (tap === undefined) return new GatewayError('upstream_timeout', `The request took longer than ${total / 1000} s.`);
    return new GatewayError('plugin_error', `The plugin "${tap.plugin}" did not answer at "${tap.hook}" within the ${total / 1000} s of the request.`, { plugin: tap.plugin });
  }

  stopClock(): void {
    clearTimeout(this.#deadline);
  }

  /** Calls back once the request is over and on record. */
  whenClosed(callback: () => void): void {
    if (this.#isClosed) callback();
    else this.#whenClosed = callback;
  }

  close(): void {
    this.#isClosed = true;
    this.#whenClosed?.();
  }

  /** What the stages see of it: the hook's type says which fields are set by then. */
  as(): Streaming {
    return this.view as unknown as Streaming;
  }
}
