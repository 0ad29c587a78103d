/**
 * One request under way, and the part of it that plugins see, which grows from stage
 * to stage (context.ts). Only this folder and `core/http` assign to the fields.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Adjustment, ChatRequest } from '../chat.ts';
import type { Config, Policy } from '../config.ts';
import type { SeenAttempt } from './attempt.ts';
import type {
  Addressing,
  Arrived,
  Attempt,
  AttemptResult,
  Candidate,
  Metadata,
  Principal,
  Replying,
  SentBy,
  Streaming,
} from './context.ts';
import type { Door } from './door.ts';
import { GatewayError } from '../errors.ts';
import { Reply } from './reply.ts';
import { createRequestId } from '../request-id.ts';
import { Cancellation } from '../cancellation.ts';
import { pendingTaps } from '../taps/tap.ts';
import { becomes } from '../taps/runners.ts';
import type { Given } from '../taps/runners.ts';

/** The data of a request at its arrival. */
type Arrival = Pick<Arrived, 'method' | 'path' | 'address' | 'headers' | 'config' | 'createdAt'>;

/**
 * The attempt that the running code is opening, where a request may have several.
 * safety: a connection to a provider keeps this value as long as it is open, so it must not hold the texts of the request that opened it.
 */
const opened = new AsyncLocalStorage<{ readonly request: string; readonly attempt: WeakRef<Attempt> }>();

const noParams = Object.freeze({});

/** An attempt that broke in the middle of its answer, or that was hedged by a quicker one. */
interface Lost {
  readonly at: number;
  readonly candidate: Candidate;
  readonly reply: Reply;
  /** The gateway closed the connection before the provider's answer was whole. */
  readonly isLeft: boolean;
}

// cost: every field from the start, so that all requests share one hidden class
export class Exchange implements Arrived {
  readonly view = new View(this);
  readonly id: string;
  readonly startedAt: number = performance.now();
  readonly createdAt: number;
  readonly method: string;
  readonly path: string;
  readonly address: string | null;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly config: Config;

  /** Null: the request came to no door, or was refused before it was read. */
  door: Door | null = null;
  /** The parameters of the door's path. */
  params: Readonly<Record<string, string>> = noParams;
  principal: Principal | null = null;
  metadata: Metadata | null = null;
  /** The model that the caller named, known as soon as the body could be read. */
  requestedModel: string | null = null;
  wantsStream = false;
  /** The caller asks how the request would be routed: no provider is asked, and nothing is reserved. */
  readonly isDryRun: boolean;
  request: ChatRequest | null = null;
  addressing: Addressing | null = null;
  policy: Policy | null = null;
  /** All candidates, including those that a plugin ruled out. */
  candidates: readonly Candidate[] = [];
  attempt: SeenAttempt | null = null;
  readonly attempts: AttemptResult[] = [];
  readonly sent: SentBy[] = [];
  /** Attempts that used tokens and whose answers the caller did not get, by their index in `attempts`. */
  readonly lost: Lost[] = [];
  /** Milliseconds by plugin. */
  readonly timings: Record<string, number> = {};
  readonly given: Given[] = [];
  adjustments: readonly Adjustment[] = [];
  reply: Reply = new Reply();
  /** `performance.now()` of the first piece of the answer. */
  firstPieceAt: number | null = null;
  /** HTTP status of the reply, and the error in the reply. Set when the reply begins. */
  status = 200;
  error: GatewayError | null = null;
  /** Bytes that count for this request among those of all running requests. */
  heldBytes = 0;
  /** Where the request counts as running; null: it has not begun to, or it is over. */
  room: { hold(bytes: number, exchange: Exchange): void } | null = null;
  /** The reply begins with the status 200, which a later failure cannot change. */
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
    this.address = arrival.address;
    this.headers = arrival.headers;
    this.config = arrival.config;
    this.isDryRun = arrival.headers['x-dry-run']?.toLowerCase() === 'true';
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
    const tap = this.attempt === null ? pendingTaps.get(this.view) : this.attempt.pendingTap;
    if (tap === undefined) return new GatewayError('upstream_timeout', `The request took longer than ${total / 1000} s.`);
    const { plugin, hook } = tap;
    // a tap of `open` acts for a provider, and may be waiting for its answer
    return new GatewayError(
      hook === 'open' ? 'upstream_timeout' : 'plugin_error',
      `The plugin "${plugin}" did not answer at "${hook}" within the ${total / 1000} s of the request.`,
      { plugin },
    );
  }

  /** Counts bytes that are kept for the request, until it is over. */
  hold(bytes: number): void {
    this.room?.hold(bytes, this);
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

  /**
   * Runs the taps that open an attempt. Where a request may have several attempts at
   * one time, each tap sees its own attempt, before and after each of its awaits.
   */
  opening<Value>(attempt: Attempt, open: (context: Streaming) => Value): Value {
    return this.policy?.hedgeMs === null
      ? open(this.as())
      : opened.run({ request: this.id, attempt: new WeakRef(attempt) }, open, this.as());
  }

  /** The request as the stages see it. The type of a hook says which fields are set by then. */
  as(): Streaming {
    return this.view as unknown as Streaming;
  }
}

/** All fields that a stage may see; each is `null` until it is known. */
interface Seen extends Replying {
  readonly addressing: Addressing | null;
  readonly policy: Policy | null;
  readonly isDryRun: boolean;
  hold(bytes: number): void;
  /** Milliseconds by plugin: the time of taps is added to it. */
  readonly timings: Record<string, number>;
  /** Sources of chunks and who gave them: taps that give one are added to it. */
  readonly given: Given[];
}

/** What a view reads of its exchange. `request` can be set, because a tap of `normalise` makes another one. */
type Viewed = Omit<Seen, 'request'> & Pick<Exchange, 'cancellation' | 'request'>;

/**
 * A request as plugins see it. The fields are read from the exchange and cannot be set; nothing can be added.
 * safety: if a tap could set the id or the metadata of a request, nobody would find the record of the request.
 */
class View implements Seen {
  readonly #exchange: Viewed;

  constructor(exchange: Viewed) {
    this.#exchange = exchange;
    Object.freeze(this);
  }

  get id(): Seen['id'] {
    return this.#exchange.id;
  }
  get createdAt(): Seen['createdAt'] {
    return this.#exchange.createdAt;
  }
  get startedAt(): Seen['startedAt'] {
    return this.#exchange.startedAt;
  }
  get method(): Seen['method'] {
    return this.#exchange.method;
  }
  get path(): Seen['path'] {
    return this.#exchange.path;
  }
  get address(): Seen['address'] {
    return this.#exchange.address;
  }
  get headers(): Seen['headers'] {
    return this.#exchange.headers;
  }
  get signal(): Seen['signal'] {
    return this.#exchange.signal;
  }
  /** For the core, which asks between taps whether the request is over. cost: reading `signal` creates an AbortSignal. */
  get cancellation(): Cancellation {
    return this.#exchange.cancellation;
  }
  get config(): Seen['config'] {
    return this.#exchange.config;
  }
  get principal(): Seen['principal'] {
    return this.#exchange.principal;
  }
  get metadata(): Seen['metadata'] {
    return this.#exchange.metadata;
  }
  get request(): Seen['request'] {
    return this.#exchange.request;
  }
  get addressing(): Seen['addressing'] {
    return this.#exchange.addressing;
  }
  get policy(): Seen['policy'] {
    return this.#exchange.policy;
  }
  get isDryRun(): Seen['isDryRun'] {
    return this.#exchange.isDryRun;
  }
  hold(bytes: number): void {
    this.#exchange.hold(bytes);
  }
  get attempt(): Seen['attempt'] {
    const own = opened.getStore();
    return (own?.request === this.#exchange.id ? own.attempt.deref() : undefined) ?? this.#exchange.attempt;
  }
  get status(): Seen['status'] {
    return this.#exchange.status;
  }
  get error(): Seen['error'] {
    return this.#exchange.error;
  }
  get timings(): Seen['timings'] {
    return this.#exchange.timings;
  }
  get given(): Seen['given'] {
    return this.#exchange.given;
  }
  [becomes](request: ChatRequest): void {
    this.#exchange.request = request;
  }
}
