/**
 * The point of no return and what comes after it. Until the first piece of an answer is there, nothing is sent and a failure
 * is a plain status; then one write per network read, and a failure is one error event without a clean end.
 */
import type { Chunk } from '../chat.ts';
import type { StreamedBody } from './answer.ts';
import { Attempts } from './attempts.ts';
import { GatewayError } from '../errors.ts';
import type { Exchange } from './exchange.ts';
import type { RequestHooks } from './hooks.ts';
import type { Encoder } from './door.ts';

const keepAlive = ': keep-alive\n\n';

export interface Ending {
  /** Puts the request on record. Resolves before the last byte may leave. */
  (error: GatewayError | null): Promise<void>;
}

/** Reads the whole answer into the exchange's reply. */
export async function collect(exchange: Exchange, hooks: RequestHooks): Promise<void> {
  const attempts = new Attempts(exchange, hooks);
  while ((await attempts.read()) !== null);
}

export interface StreamParts {
  readonly hooks: RequestHooks;
  /** Called once the answering provider is known, or when waiting has gone on for so long that the reply must begin. */
  readonly encoder: () => Encoder;
  readonly ended: Ending;
}

/** Resolves with the reply's body once its status is certain; rejects while it can still be an error status. */
export async function openStream(exchange: Exchange, parts: StreamParts): Promise<Pump> {
  const attempts = new Attempts(exchange, parts.hooks);
  const first = attempts.read();
  const patience = exchange.config.server.limits.keepAliveMs;
  const began = await settledWithin(first, patience);
  exchange.committed = true;
  return new Pump({ exchange, attempts, first, ...parts }, began ? null : keepAlive);
}

/** True when the promise fulfils in time, false when it is still pending; rejects as it rejects. */
async function settledWithin(work: Promise<unknown>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, ms, false);
  });
  try {
    return await Promise.race([work.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}

interface PumpParts extends StreamParts {
  readonly exchange: Exchange;
  readonly attempts: Attempts;
  readonly first: Promise<readonly Chunk[] | null>;
}

/**
 * The text of a streamed answer, piece by piece, for a writer that asks for the next one when the client has taken the last: a
 * slow reader slows the upstream. `next()` gives null once all is written; the request is on record before its last piece comes.
 */
export class Pump implements StreamedBody {
  readonly #parts: PumpParts;
  #first: Promise<readonly Chunk[] | null> | null;
  #greeting: string | null;
  #encoder: Encoder | null = null;
  #heartbeat: NodeJS.Timeout | undefined;
  #silentSince = performance.now();
  #isReading = false;
  #isOver = false;
  /** The last piece of a stream that was ended from outside between two reads. */
  #last: Promise<string> | null = null;

  constructor(parts: PumpParts, greeting: string | null) {
    this.#parts = parts;
    this.#first = parts.first;
    this.#greeting = greeting;
  }

  /** Comments go out by themselves while nothing comes; `stopped` tells a writer that waits for its client. */
  attach({ comment, stopped }: { comment(text: string): void; stopped(): void }): void {
    const { exchange } = this.#parts;
    const { keepAliveMs } = exchange.config.server.limits;
    this.#heartbeat = setInterval(() => {
      if (!this.#isReading || performance.now() - this.#silentSince < keepAliveMs) return;
      this.#silentSince = performance.now();
      comment(keepAlive);
    }, keepAliveMs);
    exchange.stop.on(() => {
      this.#abandon();
      stopped();
    });
  }

  async next(): Promise<string | null> {
    this.#silentSince = performance.now();
    if (this.#greeting !== null) {
      const greeting = this.#greeting;
      this.#greeting = null;
      return greeting;
    }
    if (this.#last !== null) {
      const last = this.#last;
      this.#last = null;
      return await last;
    }
    if (this.#isOver) return null;
    let error: GatewayError | null = null;
    try {
      this.#isReading = true;
      const text = await this.#text();
      if (text !== null) return text;
    } catch (thrown) {
      error = GatewayError.from(thrown, this.#parts.exchange.id);
    } finally {
      this.#isReading = false;
    }
    return this.#isOver ? null : await this.#end(error);
  }

  /** The client has left. */
  async cancel(): Promise<void> {
    if (this.#isOver) return;
    this.#close();
    const gone = new GatewayError('client_closed', 'The client closed the connection before the answer was complete.');
    this.#parts.attempts.cancel(gone);
    await this.#parts.ended(gone);
  }

  /** What to write next, never empty; null at the clean end. */
  async #text(): Promise<string | null> {
    for (;;) {
      const chunks = await (this.#first ?? this.#parts.attempts.read());
      this.#first = null;
      if (chunks === null) return null;
      this.#encoder ??= this.#parts.encoder();
      const text = this.#encoder.chunks(chunks);
      if (text !== '') return text;
    }
  }

  /** The deadline has passed or the client has left while nothing was being read: nobody may ever read again. */
  #abandon(): void {
    // a read under way ends by itself
    if (this.#isReading || this.#isOver) return;
    const { attempts, exchange } = this.#parts;
    const reason = GatewayError.from(exchange.stop.reason, exchange.id);
    attempts.cancel(reason);
    this.#last = this.#end(reason);
  }

  /** The last piece, once the request is on record. */
  async #end(error: GatewayError | null): Promise<string> {
    this.#close();
    this.#encoder ??= this.#parts.encoder();
    const last = error === null ? this.#encoder.end() : this.#encoder.error(error.body());
    await this.#parts.ended(error);
    return last;
  }

  #close(): void {
    this.#isOver = true;
    clearInterval(this.#heartbeat);
  }
}
