/**
 * A streamed answer. Nothing is sent until the provider has sent the first piece of its answer, or `keep_alive_ms` have passed, so a
 * failure before that is an HTTP status. Afterwards each network read becomes one write, and a failure becomes one error event without
 * the mark of a clean end.
 */
import type { StreamedBody } from './answer.ts';
import { Attempts } from './attempts.ts';
import { GatewayError } from '../errors.ts';
import type { Exchange } from './exchange.ts';
import type { Pieces, RequestHooks } from './hooks.ts';
import type { Encoder } from './door.ts';
import { within } from '../cancellation.ts';

const keepAlive = ': keep-alive\n\n';

/**
 * Puts the request on record. Resolves before the last byte may leave. Resolves with an
 * error where the stream must end as broken, because the request cannot be on record.
 */
type Ending = (error: GatewayError | null) => Promise<GatewayError | null>;

/** Reads the whole answer into the exchange's reply. */
export async function collect(exchange: Exchange, hooks: RequestHooks): Promise<void> {
  const attempts = new Attempts(exchange, hooks);
  while ((await attempts.read()) !== null);
}

interface StreamParts {
  readonly hooks: RequestHooks;
  /**
   * Makes the encoder of the reply. Called once: when a provider has begun to
   * answer, or when the wait is so long that the reply must begin earlier.
   */
  readonly encoder: () => Encoder;
  readonly ended: Ending;
}

/** Resolves with the body of the reply once its status is certain to be 200. Rejects with an error while the status can still report it. */
export async function openStream(exchange: Exchange, parts: StreamParts): Promise<Pump> {
  const attempts = new Attempts(exchange, parts.hooks);
  const first = attempts.read();
  const begins = first.then(() => true);
  const began = await within(begins, exchange.config.server.limits.keepAliveMs, false);
  exchange.committed = true;
  return new Pump({ exchange, attempts, ...parts }, first, began ? null : keepAlive);
}

interface PumpParts extends StreamParts {
  readonly exchange: Exchange;
  readonly attempts: Attempts;
}

/**
 * The text of a streamed answer, piece by piece. The writer asks for the next piece when the client has taken the last, so a slow
 * client slows the provider. The request is on record before `next()` gives its last piece.
 */
class Pump implements StreamedBody {
  readonly #parts: PumpParts;
  #first: Promise<Pieces> | null;
  #greeting: string | null;
  #encoder: Encoder | null = null;
  #heartbeat: NodeJS.Timeout | undefined;
  #silentSince = performance.now();
  #isReading = false;
  #isOver = false;

  constructor(parts: PumpParts, first: Promise<Pieces>, greeting: string | null) {
    this.#parts = parts;
    this.#first = first;
    this.#greeting = greeting;
  }

  attach({ comment, cancelled }: { comment(text: string): void; cancelled(): void }): void {
    const { exchange } = this.#parts;
    this.#watch(exchange.config.server.limits.keepAliveMs, comment);
    // the writer then asks for the next piece: that read fails, and the record is written
    exchange.cancellation.onCancel(cancelled);
  }

  /** Sends a comment after each silence of `keep_alive_ms`. Some clients give up soon after that, so each look is at its very end. */
  #watch(ms: number, comment: (text: string) => void): void {
    this.#heartbeat = setTimeout(() => {
      const { keepAliveMs } = this.#parts.exchange.config.server.limits;
      const left = this.#isReading ? keepAliveMs - (performance.now() - this.#silentSince) : keepAliveMs;
      this.#watch(left > 0 ? Math.ceil(left) : keepAliveMs, comment);
      if (left > 0) return;
      this.#silentSince = performance.now();
      comment(keepAlive);
    }, ms);
  }

  async next(): Promise<string | null> {
    this.#silentSince = performance.now();
    if (this.#greeting !== null) {
      const greeting = this.#greeting;
      this.#greeting = null;
      return greeting;
    }
    if (this.#isOver) return null;
    let error: GatewayError | null = null;
    try {
      this.#isReading = true;
      const text = await this.#text();
      if (text !== null) return text;
    } catch (thrown) {
      error = GatewayError.from(thrown, this.#parts.exchange.id);
      // the encoder of the door has failed and the provider still answers, so the attempt is cancelled
      this.#parts.attempts.cancel(error);
    } finally {
      this.#isReading = false;
    }
    return await this.#end(error);
  }

  /** The next text to write, which is never empty; null at the clean end of the answer. */
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

  /** The last text of the stream. The request is on record when this resolves. */
  async #end(error: GatewayError | null): Promise<string> {
    this.#close();
    const { ended, encoder: make, exchange } = this.#parts;
    let last: string;
    try {
      this.#encoder ??= make();
      last = error === null ? this.#encoder.end() : this.#encoder.error(error);
    } catch (thrown) {
      // the encoder cannot write the error event, so the connection breaks, but only after the request is on record
      await ended(error ?? GatewayError.from(thrown, exchange.id));
      throw thrown;
    }
    const unlogged = await ended(error);
    return unlogged === null ? last : this.#encoder.error(unlogged);
  }

  #close(): void {
    this.#isOver = true;
    clearTimeout(this.#heartbeat);
  }
}
