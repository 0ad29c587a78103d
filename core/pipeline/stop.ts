/**
 * A way to end work from outside that costs next to nothing while nobody does.
 * cost: an AbortSignal with its listeners is a tenth of the CPU of a plain request (test/bench), so it is made when asked for.
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

  /** For those who know AbortSignal and nothing else. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#hasCome) this.#controller.abort(this.#reason);
    return this.#controller.signal;
  }

  /** The first reason counts. */
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

  /** Returns the way to take the listener back. Never calls it where the stop has come before. */
  on(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** What undici takes in the place of a signal. */
  emitter(): EventEmitter {
    const emitter = new EventEmitter();
    this.on(() => emitter.emit('abort'));
    return emitter;
  }
}
