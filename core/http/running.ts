/** The requests that one service is serving, and whether it still takes new ones. */
import { GatewayError, isBug } from '../errors.ts';
import type { Logger } from '../logger.ts';
import type { Answer } from '../pipeline/answer.ts';
import type { Exchange } from '../pipeline/exchange.ts';
import { refusal } from '../pipeline/pipeline.ts';
import { Slots } from './slots.ts';

/** The error for requests that come while the gateway stops. */
export const shuttingDown = (): GatewayError =>
  new GatewayError('server_shutting_down', 'The gateway is shutting down.', { retryAfterMs: 1000, headers: { connection: 'close' } });

export class RunningRequests {
  readonly exchanges = new Slots<Exchange>();
  /** Requests whose answer is an endless stream. A gateway that stops ends them instead of waiting for them. */
  readonly endless = new WeakSet<Exchange>();
  readonly #logger: Logger;
  isDraining = false;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /**
   * Serves one request. It counts as running until it is answered; one whose answer is a stream, until the stream is over. What
   * `work` throws becomes the answer. `whenOver` is called at the end. Never rejects.
   */
  async serve<Body>(
    exchange: Exchange,
    { work, whenOver }: { work: () => Promise<Answer<Body>>; whenOver: () => void },
  ): Promise<Answer<Body | string>> {
    const leave = this.exchanges.add(exchange);
    const over = (): void => {
      whenOver();
      leave();
    };
    try {
      const answer = await work();
      if (typeof answer.body === 'string' || answer.body instanceof Uint8Array) over();
      else exchange.whenClosed(over);
      return answer;
    } catch (thrown) {
      over();
      exchange.stopClock();
      return this.#refused(thrown, exchange);
    }
  }

  /** From now on new requests are to be refused. */
  drain(): void {
    this.isDraining = true;
    this.endTails();
  }

  /** Ends the endless streams. */
  endTails(): void {
    for (const exchange of this.exchanges) if (this.endless.has(exchange)) exchange.cancel(shuttingDown());
  }

  #refused(thrown: unknown, { id, path }: Exchange): Answer<string> {
    const error = GatewayError.from(thrown, id);
    if (isBug(error)) this.#logger.error('an endpoint met a bug', { request: id, path, plugin: error.plugin, error: error.cause ?? error });
    return refusal(error, id);
  }
}
