/**
 * Ends work before its time: the client has left, a time limit has passed, the gateway stops. It does what an AbortController does.
 * cost: an AbortSignal with its listeners is a tenth of the CPU of a plain request (test/bench), so one is made only when a
 * plugin asks for it.
 */
export class Cancellation {
  #reason: unknown = undefined;
  #isCancelled = false;
  /**
   * Null where a listener was removed, so that the others keep their places while they are called.
   * cost: an array for the two or three listeners of a request is made at the first of them; a Set would be a hash table for each request.
   */
  #listeners: ((() => void) | null)[] | null = null;
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
    const listeners = this.#listeners ?? [];
    for (let at = 0; at < listeners.length; at++) listeners[at]?.();
    this.#listeners = null;
  }

  throwIfCancelled(): void {
    if (this.#isCancelled) throw this.#reason;
  }

  /** Calls back when the work is cancelled; never where it was cancelled before this call. Returns a function that removes the listener. */
  onCancel(listener: () => void): () => void {
    this.#listeners ??= [];
    this.#listeners.push(listener);
    return () => this.#remove(listener);
  }

  #remove(listener: () => void): void {
    const listeners = this.#listeners ?? [];
    const at = listeners.indexOf(listener);
    if (at >= 0) listeners[at] = null;
    while (listeners.at(-1) === null) listeners.pop();
  }
}

/** Whether a value must be waited for. A plugin may give another kind of promise than Node's. */
export const isThenable = <Value>(value: Value | Promise<Value>): value is Promise<Value> =>
  typeof (value as { then?: unknown } | null | undefined)?.then === 'function';

/**
 * Settles as `work` does, or rejects when the request is cancelled, whichever comes first, so a plugin that
 * hangs cannot delay the record. `whenLate` gets a result of `work` that comes after the cancellation.
 */
export function unlessCancelled<T>(cancellation: Cancellation, work: T | Promise<T>, whenLate?: (value: T) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    cancellation.onCancel(() => reject(cancellation.reason));
    const arrive = (value: T): void => {
      if (cancellation.isCancelled) whenLate?.(value);
      resolve(value);
    };
    Promise.resolve(work).then(arrive, reject);
    if (cancellation.isCancelled) reject(cancellation.reason);
  });
}

/**
 * Calls `act` after `ms` milliseconds. Returns the function that clears the timer.
 * safety: after a pause of the event loop, due timers run before the sockets
 * are read. `act` waits for that read, so that data which came in time counts.
 */
export function timeLimit(ms: number, act: () => void): () => void {
  let soon: NodeJS.Immediate | undefined;
  const timer = setTimeout(() => void (soon = setImmediate(act)), ms);
  return () => {
    clearTimeout(timer);
    clearImmediate(soon);
  };
}

/** Resolves with the result of `work`, or with `late` where `work` takes longer than `ms` milliseconds. Rejects as `work` does. */
export async function within<Value, Late>(work: Promise<Value>, ms: number, late: Late): Promise<Value | Late> {
  const { promise: over, resolve } = Promise.withResolvers<Late>();
  const lift = timeLimit(ms, () => resolve(late));
  try {
    return await Promise.race([work, over]);
  } finally {
    lift();
  }
}

const tooLate = Symbol('too late');

/** Resolves with the result of `work`. Throws an error with the message `late` where `work` takes longer than `ms` milliseconds. */
export async function inTime<Value>(work: Promise<Value>, ms: number, late = `no answer within ${ms} ms`): Promise<Value> {
  const value = await within(work, ms, tooLate);
  if (value === tooLate) throw new Error(late);
  return value;
}
