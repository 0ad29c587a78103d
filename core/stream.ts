/**
 * The point of no return and what comes after it. Until the first piece of an answer is there, nothing is sent and a failure
 * is a plain status; then one write per network read, and a failure is one error event without a clean end.
 */
import type { ReadableStreamDefaultController, UnderlyingSource } from 'node:stream/web';
import type { Chunk } from './chat.ts';
import { Attempts } from './attempts.ts';
import { GatewayError } from './errors.ts';
import type { Exchange } from './exchange.ts';
import type { Hooks } from './hooks.ts';
import type { Encoder } from './reply.ts';

const keepAlive = Buffer.from(': keep-alive\n\n');

export interface Ending {
  /** Puts the request on record. Resolves before the last byte may leave. */
  (error: GatewayError | null): Promise<void>;
}

/** Reads the whole answer into the exchange's reply. */
export async function collect(exchange: Exchange, hooks: Hooks): Promise<void> {
  const attempts = new Attempts(exchange, hooks);
  while ((await attempts.read()) !== null);
}

export interface StreamParts {
  readonly hooks: Hooks;
  /** Called once the answering provider is known, or when waiting has gone on for so long that the reply must begin. */
  readonly encoder: () => Encoder;
  readonly ended: Ending;
}

/** Resolves with the reply's body once its status is certain; rejects while it can still be an error status. */
export async function openStream(exchange: Exchange, parts: StreamParts): Promise<ReadableStream<Uint8Array>> {
  const attempts = new Attempts(exchange, parts.hooks);
  const first = attempts.read();
  const patience = exchange.config.server.limits.keepAliveMs;
  const began = await settledWithin(first, patience);
  exchange.committed = true;
  return new ReadableStream(new Pump({ exchange, attempts, first, ...parts }, began ? null : keepAlive), { highWaterMark: 0 });
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

/** Pulled by the client's socket: a slow reader slows the upstream. */
class Pump implements UnderlyingSource<Uint8Array> {
  readonly #parts: PumpParts;
  #next: Promise<readonly Chunk[] | null> | null;
  #greeting: Uint8Array | null;
  #encoder: Encoder | null = null;
  #heartbeat: NodeJS.Timeout | undefined;
  #silentSince = performance.now();
  #waiting = false;
  #over = false;

  constructor(parts: PumpParts, greeting: Uint8Array | null) {
    this.#parts = parts;
    this.#next = parts.first;
    this.#greeting = greeting;
  }

  start(controller: ReadableStreamDefaultController<Uint8Array>): void {
    const { exchange } = this.#parts;
    const { keepAliveMs } = exchange.config.server.limits;
    exchange.signal.addEventListener('abort', () => void this.#abandon(controller), { once: true });
    this.#heartbeat = setInterval(() => {
      if (this.#waiting && performance.now() - this.#silentSince >= keepAliveMs) this.#send(controller, keepAlive);
    }, keepAliveMs);
  }

  async pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    if (this.#greeting !== null) {
      this.#send(controller, this.#greeting);
      this.#greeting = null;
      return;
    }
    try {
      this.#waiting = true;
      const text = await this.#text();
      this.#waiting = false;
      if (text === null) await this.#end(controller, null);
      else this.#send(controller, Buffer.from(text));
    } catch (thrown) {
      await this.#end(controller, GatewayError.from(thrown, this.#parts.exchange.id));
    }
  }

  async cancel(): Promise<void> {
    this.#close();
    const gone = new GatewayError('client_closed', 'The client closed the connection before the answer was complete.');
    this.#parts.attempts.cancel(gone);
    await this.#parts.ended(gone);
  }

  /** What to write next, never empty; null at the clean end. */
  async #text(): Promise<string | null> {
    for (;;) {
      const chunks = await (this.#next ?? this.#parts.attempts.read());
      this.#next = null;
      if (chunks === null) return null;
      this.#encoder ??= this.#parts.encoder();
      const text = this.#encoder.chunks(chunks);
      if (text !== '') return text;
    }
  }

  /** The deadline has passed or the client has left while nothing was being read: nobody may ever read again. */
  async #abandon(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    const { attempts, exchange } = this.#parts;
    // a read under way ends by itself, in `pull`
    if (this.#waiting || this.#over) return;
    const reason = GatewayError.from(exchange.signal.reason, exchange.id);
    attempts.cancel(reason);
    // safety: the client may let go of the stream while its record is written; then there is nothing left to write to
    await this.#end(controller, reason).catch(() => {});
  }

  async #end(controller: ReadableStreamDefaultController<Uint8Array>, error: GatewayError | null): Promise<void> {
    if (this.#over) return;
    this.#close();
    this.#encoder ??= this.#parts.encoder();
    const last = error === null ? this.#encoder.end() : this.#encoder.error(error.body());
    await this.#parts.ended(error);
    controller.enqueue(Buffer.from(last));
    controller.close();
  }

  #send(controller: ReadableStreamDefaultController<Uint8Array>, bytes: Uint8Array): void {
    this.#silentSince = performance.now();
    controller.enqueue(bytes);
  }

  #close(): void {
    this.#over = true;
    this.#waiting = false;
    clearInterval(this.#heartbeat);
  }
}
