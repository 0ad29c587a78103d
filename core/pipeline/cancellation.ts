/**
 * Ends work before its time: the client has left, a time limit has passed, the gateway stops. It does what an AbortController does.
 * cost: an AbortSignal with its listeners is a tenth of the CPU of a plain request (test/bench), so one is made only when a
 * plugin asks for it.
 */
import { EventEmitter } from 'node:events';

export class Cancellation {
  #reason: unknown = undefined;
  #isCancelled = false;
  readonly #listeners = new Set<() => void>();
  #controller: AbortController | null = null;

  get isCancelled(): boolean {
    return this.#isCancelled;
  }

  /** Why the work was cancelled; undefined before that. */
  get reason(): unknown {
    return this.#reason;
  }

  /** The same as an AbortSignal, for APIs that take one. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#isCancelled) this.#controller.abort(this.#reason);
    return this.#controller.signal;
  }

  /** A second call changes nothing: the first reason counts. */
  cancel(reason: unknown): void {
    if (this.#isCancelled) return;
    this.#isCancelled = true;
    this.#reason = reason;
    this.#controller?.abort(reason);
    for (const listener of this.#listeners) listener();
    this.#listeners.clear();
  }

  throwIfCancelled(): void {
    if (this.#isCancelled) throw this.#reason;
  }

  /** Calls back when the work is cancelled, but not where it was cancelled before. Returns a function that removes the listener. */
  onCancel(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** An event emitter with `abort`, which undici takes in place of a signal. */
  emitter(): EventEmitter {
    const emitter = new EventEmitter();
    this.onCancel(() => emitter.emit('abort'));
    return emitter;
  }
}
