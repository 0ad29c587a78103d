/**
 * Runs the taps of a hook one after the other, at once as long as they answer at once; a promise is made only when a tap returns one.
 * cost: with a promise for each tap, a plain request makes forty promises and as many turns of the microtask queue.
 */
import { GatewayError } from '../errors.ts';
import type { Logger } from '../logger.ts';

/** All that a hook passes to its taps: the value, and the context where it has one. */
export type Run = (first: unknown, second?: unknown) => unknown;

/** One tap of one hook. */
export interface GuardedTap {
  readonly hook: string;
  readonly plugin: string;
  readonly run: Run;
  readonly logger: Logger;
}

export const isThenable = <Value>(value: Value | Promise<Value>): value is Promise<Value> => typeof (value as { then?: unknown } | null | undefined)?.then === 'function';

const deciders = new WeakMap<object, string>();

/** The plugin whose tap gave this source of chunks. */
export const deciderOf = (value: object): string | undefined => deciders.get(value);

function remember(value: unknown, { hook, plugin }: GuardedTap): void {
  if ((hook === 'open' || hook === 'opened') && typeof value === 'object' && value !== null) deciders.set(value, plugin);
}

/** safety: tapable ends a bail hook on null and false too; only a value decides. */
const isDecision = (value: unknown): boolean => value !== undefined && value !== null && value !== false;

/** A tap that decides, and the value or promise that it returned. */
interface Begun {
  readonly at: number;
  readonly returned: unknown;
}

/** The first decision; undefined where no tap decides. */
export const bail = (taps: readonly GuardedTap[]): Run => (first) => {
  for (let at = 0; at < taps.length; at++) {
    const returned = decided(taps[at] as GuardedTap, first);
    if (isThenable(returned)) return bailLater(taps, { at, returned }, first);
    if (!isDecision(returned)) continue;
    remember(returned, taps[at] as GuardedTap);
    return returned;
  }
  return undefined;
};

async function bailLater(taps: readonly GuardedTap[], begun: Begun, first: unknown): Promise<unknown> {
  for (let at = begun.at; at < taps.length; at++) {
    const tap = taps[at] as GuardedTap;
    const value = await awaited(at === begun.at ? begun.returned : decided(tap, first), tap);
    if (!isDecision(value)) continue;
    remember(value, tap);
    return value;
  }
  return undefined;
}

/** Each tap gets what the one before it returned; undefined leaves it as it is. */
export const waterfall = (taps: readonly GuardedTap[]): Run => (first, context) => {
  let value = first;
  for (let at = 0; at < taps.length; at++) {
    const returned = decided(taps[at] as GuardedTap, value, context);
    if (isThenable(returned)) return waterfallLater(taps, { at, returned }, { value, context });
    if (returned !== undefined) value = returned;
  }
  return value;
};

async function waterfallLater(taps: readonly GuardedTap[], begun: Begun, { value: before, context }: { value: unknown; context: unknown }): Promise<unknown> {
  let value = before;
  for (let at = begun.at; at < taps.length; at++) {
    const tap = taps[at] as GuardedTap;
    const returned = await awaited(at === begun.at ? begun.returned : decided(tap, value, context), tap);
    if (returned !== undefined) value = returned;
  }
  return value;
}

/** One tap after the other; the first that throws ends the series. */
export const series = (taps: readonly GuardedTap[]): Run => async (first) => {
  for (const tap of taps) await awaited(decided(tap, first), tap);
};

/** As `waterfall`, in one go. A chunk that a tap has dropped (null) is shown to no later tap. */
export const waterfallAtOnce = (taps: readonly GuardedTap[]): Run => (first, context) => {
  let value = first;
  for (let at = 0; at < taps.length && value !== null; at++) {
    const tap = taps[at] as GuardedTap;
    let returned: unknown;
    try {
      returned = refusePromise(tap.run(value, context), tap);
    } catch (thrown) {
      throw named(thrown, tap);
    }
    if (returned === undefined || returned === value) continue;
    remember(returned, tap);
    value = returned;
  }
  return value;
};

/** As `waterfallAtOnce`; a tap that throws is reported, and leaves the value as it is. */
export const observedWaterfall = (taps: readonly GuardedTap[]): Run => (first, context) => {
  let value = first;
  for (let at = 0; at < taps.length; at++) {
    const returned = observed(taps[at] as GuardedTap, value, context);
    if (returned !== undefined) value = returned;
  }
  return value;
};

/** Every tap, whatever the others throw. */
export const observers = (taps: readonly GuardedTap[]): Run => (first, context) => {
  for (let at = 0; at < taps.length; at++) observed(taps[at] as GuardedTap, first, context);
};

/** Every tap at the same time, whatever the others throw. Undefined where all of them answered at once. */
export const parallelObservers = (taps: readonly GuardedTap[]): Run => {
  const waits = taps.map((tap) => new Wait(tap));
  return (first) => {
    let pending: Promise<unknown>[] | undefined;
    for (const [at, tap] of taps.entries()) {
      const waiting = begin(tap, waits[at] as Wait, [first]);
      if (isThenable(waiting)) (pending ??= []).push(waiting);
    }
    return pending === undefined || pending.length === 1 ? pending?.[0] : Promise.all(pending);
  };
};

/** One tap after the other, whatever they throw; each gets what the one before it returned. */
export const seriesOfObservers = (taps: readonly GuardedTap[]): Run => {
  const waits = taps.map((tap) => new Wait(tap));
  return async (first, context) => {
    let value = first;
    for (const [at, tap] of taps.entries()) value = (await begin(tap, waits[at] as Wait, [value, context])) ?? value;
    return value;
  };
};

function decided(tap: GuardedTap, first: unknown, second?: unknown): unknown {
  try {
    return tap.run(first, second);
  } catch (thrown) {
    throw named(thrown, tap);
  }
}

async function awaited(value: unknown, tap: GuardedTap): Promise<unknown> {
  try {
    return await value;
  } catch (thrown) {
    throw named(thrown, tap);
  }
}

function observed(tap: GuardedTap, first: unknown, second: unknown): unknown {
  try {
    return refusePromise(tap.run(first, second), tap);
  } catch (thrown) {
    return report(thrown, tap);
  }
}

/** Starts an observer. Returns a promise, which never rejects, only where there is something to wait for. */
function begin(tap: GuardedTap, wait: Wait, args: readonly [unknown, unknown?]): unknown {
  try {
    const value = tap.run(...args);
    return isThenable(value) ? wait.for(value).catch((thrown: unknown) => report(thrown, tap)) : value;
  } catch (thrown) {
    return report(thrown, tap);
  }
}

const report = (thrown: unknown, { plugin, hook, logger }: GuardedTap): void => logger.error('an observer failed; the request is untouched', { plugin, hook, error: thrown });

function refusePromise(value: unknown, { hook }: GuardedTap): unknown {
  if (!isThenable(value)) return value;
  value.then(undefined, () => {});
  throw new Error(`the hook "${hook}" is synchronous and the tap returned a promise`);
}

/** What a tap threw, under its plugin's name. Errors meant for the caller pass through. */
function named(thrown: unknown, { hook, plugin }: GuardedTap): GatewayError {
  if (GatewayError.is(thrown)) {
    thrown.plugin ??= plugin;
    return thrown;
  }
  return new GatewayError('plugin_error', `The plugin "${plugin}" failed at "${hook}".`, { plugin, cause: thrown });
}

/** How long an observer may keep the others waiting, in milliseconds. */
const patience: Readonly<Record<string, number>> = { log: 1000, health: 1000, close: 10_000 };
/** An observer that was late so often, without a call in time in between, is not waited for any more. */
const overrunsAtMost = 3;

/** How long one observer is waited for: as long as its hook allows, and not at all once it has been late too often. A call in time makes it waited for again. */
class Wait {
  readonly #tapped: GuardedTap;
  readonly #ms: number;
  #overruns = 0;
  #overranAt = -Infinity;

  constructor(tapped: GuardedTap) {
    this.#tapped = tapped;
    this.#ms = patience[tapped.hook] ?? 1000;
  }

  /** Resolves as the observer's promise does, and rejects when that is late. Resolves at once where the observer is not waited for. */
  for(answer: Promise<unknown>): Promise<unknown> {
    const startedAt = performance.now();
    const isTrusted = this.#isTrusted;
    return new Promise((resolve, reject) => {
      const timer = isTrusted ? setTimeout(() => reject(this.#overrun(startedAt)), this.#ms) : undefined;
      if (!isTrusted) resolve(undefined);
      const came = (): void => {
        clearTimeout(timer);
        if (performance.now() - startedAt < this.#ms) this.#inTime();
      };
      const answered = (value: unknown): void => {
        came();
        resolve(value);
      };
      const failed = (thrown: unknown): void => {
        came();
        if (isTrusted) reject(thrown);
        else report(thrown, this.#tapped);
      };
      answer.then(answered, failed);
    });
  }

  get #isTrusted(): boolean {
    // a waterfall needs the value that its tap returns
    return this.#tapped.hook === 'health' || this.#overruns < overrunsAtMost;
  }

  #overrun(startedAt: number): Error {
    // calls that were under way at the same time count as one overrun
    if (startedAt >= this.#overranAt) {
      this.#overranAt = performance.now();
      this.#overruns++;
      if (!this.#isTrusted) this.#tell('warn', 'an observer is late again and again; it goes on, but nobody waits for it until it is in time');
    }
    return new Error(`no answer within ${this.#ms} ms`);
  }

  #inTime(): void {
    if (!this.#isTrusted) this.#tell('info', 'an observer is in time again, and waited for');
    this.#overruns = 0;
  }

  #tell(level: 'info' | 'warn', message: string): void {
    const { plugin, hook, logger } = this.#tapped;
    logger[level](message, { plugin, hook });
  }
}
