/** A request as plugins see it. The fields are read from the exchange and cannot be set; nothing can be added. */
import type { Addressing, Replying } from './context.ts';
import type { Policy } from '../config.ts';

/** All fields that a stage may see, `null` as long as they are not known. */
export interface Seen extends Replying {
  readonly addressing: Addressing | null;
  readonly policy: Policy | null;
  readonly isDryRun: boolean;
  /** Milliseconds by plugin: the time of taps is added to it. */
  readonly timings: Record<string, number>;
}

// safety: a tap that set the id or the metadata of a request would take its record away from it
export class View implements Seen {
  readonly #exchange: Seen;

  constructor(exchange: Seen) {
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
  get headers(): Seen['headers'] {
    return this.#exchange.headers;
  }
  get signal(): Seen['signal'] {
    return this.#exchange.signal;
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
  get attempt(): Seen['attempt'] {
    return this.#exchange.attempt;
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
}
