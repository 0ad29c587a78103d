/**
 * Ends work from outside: the client has left, a time limit has passed, the gateway stops. The same as an AbortController.
 * cost: an AbortSignal with its listeners is a tenth of the CPU of a plain request (test/bench), so one is made only when a
 * plugin asks for it.
 */
import { EventEmitter } from 'node:events';

export class Stop {
  #reason: unknown = undefined;
  #hasCome = false;
  readonly #listeners = new Set<() => void>();
  #controller: AbortController | null = null;

  get hasCome(): boolean {
    return this.#hasCome;
  }

  get reason(): unknown {
    return this.#reason;
  }

  /** The same as an AbortSignal, for APIs that take one. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#hasCome) this.#controller.abort(this.#reason);
    return this.#controller.signal;
  }

  /** Ends the work. A second call changes nothing: the first reason counts. */
  stop(reason: unknown): void {
    if (this.#hasCome) return;
    this.#hasCome = true;
    this.#reason = reason;
    this.#controller?.abort(reason);
    for (const listener of this.#listeners) listener();
    this.#listeners.clear();
  }

  throwIfCome(): void {
    if (this.#hasCome) throw this.#reason;
  }

  /** Calls back when the work is ended. Does not call back where it was ended before. Returns a function that removes the listener. */
  on(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** An event emitter with `abort`, which undici takes in place of a signal. */
  emitter(): EventEmitter {
    const emitter = new EventEmitter();
    this.on(() => emitter.emit('abort'));
    return emitter;
  }
}
