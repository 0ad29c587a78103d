/**
 * Runs the taps of a hook one after the other, at once as long as they answer at once; a promise is made only when a tap returns one.
 * cost: with a promise for each tap, a plain request makes forty promises and as many turns of the microtask queue.
 */
import { inTime, isThenable } from '../cancellation.ts';
import type { Cancellation } from '../cancellation.ts';
import { GatewayError } from '../errors.ts';
import { kindOf } from '../wire/fields.ts';
import { startLap } from './lap.ts';
import { pendingTaps, report } from './tap.ts';
import type { GuardedTap, Run } from './tap.ts';
import { Wait } from './wait.ts';

/** A source of chunks, and the plugin whose tap gave it. */
export interface Given {
  readonly source: object;
  readonly plugin: string;
}

/** An error that names the plugin whose source threw; null where the gateway's own code threw. */
export function faultOf(reason: unknown, given: Given | undefined): GatewayError | null {
  if (given === undefined || GatewayError.is(reason)) return null;
  return new GatewayError('plugin_error', `The plugin "${given.plugin}" failed in the middle of its answer.`, {
    plugin: given.plugin,
    cause: reason,
  });
}

/** safety: a value of another shape would fail later, in the core or in another plugin, and nobody would know whose it is. */
function sound(value: unknown, before: unknown, { returns }: GuardedTap): unknown {
  if (returns === undefined) return value;
  if (!returns.holds(value, before)) {
    throw new TypeError(
      `the tap returned ${kindOf(value)}, and not ${typeof returns.expected === 'string' ? returns.expected : returns.expected(value)}`,
    );
  }
  return returns.fix?.(value as never, before as never) ?? value;
}

/**
 * Notes which plugin gave a source of chunks, so that a later error of the source names the plugin.
 * @param context of the request, where the hook runs within one
 */
function remember(value: unknown, { hook, plugin }: GuardedTap, context: unknown): void {
  if ((hook === 'open' || hook === 'opened') && typeof value === 'object' && value !== null) {
    (context as { readonly given?: Given[] } | undefined)?.given?.push({ source: value, plugin });
  }
}

/**
 * The name of the function that puts the result of a tap of `normalise` into the request. A symbol, so that no tap calls it by mistake.
 */
export const becomes = Symbol('becomes');

/**
 * The value that a tap of a waterfall returned, checked.
 * safety: a later tap may refuse the request, which is then on record, so what this tap has masked must stay masked.
 */
function improved(value: unknown, before: unknown, { tap, context }: { tap: GuardedTap; context: unknown }): unknown {
  const better = checked(value, before, tap);
  if (tap.hook === 'normalise') (context as { readonly [becomes]?: (request: unknown) => void } | undefined)?.[becomes]?.(better);
  return better;
}

/** safety: tapable ends a bail hook on null and false too; only a value decides. */
const isDecision = (value: unknown): boolean => value !== undefined && value !== null && value !== false;

/** A tap that decides, and the value or promise that it returned. */
interface Begun {
  readonly at: number;
  readonly returned: unknown;
}

/** The first decision; undefined where no tap decides. */
export const bail =
  (taps: readonly GuardedTap[]): Run =>
  (first) => {
    for (let at = 0; at < taps.length; at++) {
      const returned = decided(taps[at] as GuardedTap, first);
      if (isThenable(returned)) return bailLater(taps, { at, returned }, first);
      if (isDecision(returned)) return decision(returned, taps[at] as GuardedTap, first);
    }
    return undefined;
  };

function decision(value: unknown, tap: GuardedTap, context: unknown): unknown {
  const found = checked(value, undefined, tap);
  remember(found, tap, context);
  return found;
}

/**
 * Called before the taps after one that was awaited.
 * safety: if a request ended meanwhile, later taps would reserve things for it that nobody releases.
 */
function goOn(work: unknown): void {
  (work as { readonly cancellation?: Cancellation } | null | undefined)?.cancellation?.throwIfCancelled();
  startLap();
}

/**
 * The work of a bail hook: the attempt that its taps open, or otherwise the request.
 * An attempt may be over while its request goes on, or is answered by another attempt.
 */
const workOf = (context: unknown): unknown => (context as { readonly attempt?: object | null } | null | undefined)?.attempt ?? context;

async function bailLater(taps: readonly GuardedTap[], begun: Begun, first: unknown): Promise<unknown> {
  const work = workOf(first);
  for (let at = begun.at; at < taps.length; at++) {
    const tap = taps[at] as GuardedTap;
    if (at > begun.at) goOn(work);
    const returned = at === begun.at ? begun.returned : decided(tap, first);
    const value = isThenable(returned) ? await awaited(returned, tap, work) : returned;
    if (isDecision(value)) return decision(value, tap, first);
  }
  return undefined;
}

/** Each tap gets what the one before it returned; undefined leaves it as it is. */
export const waterfall =
  (taps: readonly GuardedTap[]): Run =>
  (first, context) => {
    let value = first;
    for (let at = 0; at < taps.length; at++) {
      const returned = decided(taps[at] as GuardedTap, value, context);
      if (returned === undefined || returned === value) continue;
      if (isThenable(returned)) return waterfallLater(taps, { at, returned }, { value, context });
      value = improved(returned, value, { tap: taps[at] as GuardedTap, context });
    }
    return value;
  };

async function waterfallLater(
  taps: readonly GuardedTap[],
  begun: Begun,
  { value: before, context }: { value: unknown; context: unknown },
): Promise<unknown> {
  let value = before;
  for (let at = begun.at; at < taps.length; at++) {
    const tap = taps[at] as GuardedTap;
    if (at > begun.at) goOn(context);
    const returned = at === begun.at ? begun.returned : decided(tap, value, context);
    const better = isThenable(returned) ? await awaited(returned, tap, context) : returned;
    if (better !== undefined && better !== value) value = improved(better, value, { tap, context });
  }
  return value;
}

/** One tap after the other; the first that throws ends the series. */
export const series =
  (taps: readonly GuardedTap[]): Run =>
  async (first) => {
    const startedAt = performance.now();
    for (const tap of taps) await patiently(awaited(bounded(decided(tap, first), tap, startedAt), tap), tap);
  };

/**
 * safety: a `boot` that never ends would keep a process from all later changes of its config.
 * @param startedAt when the first `boot` began: all of them have this time together
 */
async function bounded(work: unknown, { bootMs }: GuardedTap, startedAt: number): Promise<void> {
  if (bootMs === undefined) return void (await work);
  const late = `its \`boot\` has not ended within ${bootMs / 1000} s, which is the time for all plugins; only a start waits longer`;
  await inTime(Promise.resolve(work), startedAt + bootMs - performance.now(), late);
}

/** How long a plugin may take to start before the log reports it, and before each next report. */
const slowMs = 10_000;

/** safety: a plugin may open something that takes time. The log names a plugin that never ends; the timer also keeps the process alive. */
async function patiently(work: Promise<unknown>, { plugin, hook, logger }: GuardedTap): Promise<void> {
  const startedAt = performance.now();
  const timer = setInterval(
    () =>
      logger.warn('a plugin has not started yet; the gateway waits for it', {
        plugin,
        hook,
        waitedMs: Math.round(performance.now() - startedAt),
      }),
    slowMs,
  );
  try {
    await work;
  } finally {
    clearInterval(timer);
  }
}

/** As `waterfall`, without promises. A chunk that a tap has dropped (null) is not shown to later taps. */
export const waterfallAtOnce =
  (taps: readonly GuardedTap[]): Run =>
  (first, context) => {
    let value = first;
    for (let at = 0; at < taps.length && value !== null; at++) {
      const tap = taps[at] as GuardedTap;
      const returned = decided(tap, value, context);
      if (returned === undefined || returned === value) continue;
      value = checked(returned, value, tap);
      remember(value, tap, context);
    }
    return value;
  };

/** As `waterfallAtOnce`; a tap that throws is reported, and leaves the value as it is. */
export const observedWaterfall =
  (taps: readonly GuardedTap[]): Run =>
  (first, context) => {
    let value = first;
    for (let at = 0; at < taps.length; at++) {
      value = observed(taps[at] as GuardedTap, value, context) ?? value;
    }
    return value;
  };

/** Runs every tap, whatever the other taps throw. */
export const observers =
  (taps: readonly GuardedTap[]): Run =>
  (first, context) => {
    for (let at = 0; at < taps.length; at++) observed(taps[at] as GuardedTap, first, context);
  };

interface Observer {
  readonly tap: GuardedTap;
  readonly wait: Wait;
}

const observersOf = (taps: readonly GuardedTap[]): readonly Observer[] => taps.map((tap) => ({ tap, wait: new Wait(tap) }));

/** Runs all taps at the same time, whatever the other taps throw. Undefined where all of them answered at once. */
export const parallelObservers = (taps: readonly GuardedTap[]): Run => {
  const all = observersOf(taps);
  return (first) => {
    let pending: Promise<unknown>[] | undefined;
    for (const observer of all) {
      const waiting = begin(observer, first);
      if (isThenable(waiting)) (pending ??= []).push(waiting);
    }
    return pending === undefined || pending.length === 1 ? pending?.[0] : Promise.all(pending);
  };
};

/** Runs one tap after the other, whatever they throw; each tap gets what the one before it returned. */
export const seriesOfObservers = (taps: readonly GuardedTap[]): Run => {
  const all = observersOf(taps);
  return async (first, context) => {
    let value = first;
    for (const observer of all) value = soundOr(value, await begin(observer, value, context), observer.tap);
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

function checked(value: unknown, before: unknown, tap: GuardedTap): unknown {
  try {
    return sound(refusePromise(value, tap), before, tap);
  } catch (thrown) {
    throw named(thrown, tap);
  }
}

/** What an observer returned; the value before where it returned nothing, or something else than its hook takes. */
function soundOr(before: unknown, value: unknown, tap: GuardedTap): unknown {
  try {
    return value === undefined ? before : sound(value, before, tap);
  } catch (thrown) {
    report(thrown, tap);
    return before;
  }
}

/** @param work the request or the attempt that waits for the tap; undefined: none does */
async function awaited(value: unknown, tap: GuardedTap, work?: unknown): Promise<unknown> {
  const waiting = typeof work === 'object' ? work : null;
  if (waiting !== null) pendingTaps.set(waiting, tap);
  try {
    return await value;
  } catch (thrown) {
    throw named(thrown, tap);
  } finally {
    if (waiting !== null) pendingTaps.delete(waiting);
  }
}

/** cost: what a hook freezes cannot have changed since it was checked, and to check a record again takes 0.3 µs for each tap. */
const isFixed = ({ returns }: GuardedTap): boolean => returns?.fix !== undefined;

/** What the tap returned; undefined where it returned nothing, or failed. */
function observed(tap: GuardedTap, first: unknown, second: unknown): unknown {
  try {
    const value = refusePromise(tap.run(first, second), tap);
    return value === undefined || (value === first && isFixed(tap)) ? value : sound(value, first, tap);
  } catch (thrown) {
    return report(thrown, tap);
  }
}

/**
 * safety: a plugin that must not lose a record refuses the reply at `log` with this
 * one error. All else that an observer throws is reported, and changes nothing.
 */
function told(thrown: unknown, tap: GuardedTap): void {
  if (tap.hook === 'log' && GatewayError.is(thrown) && thrown.code === 'log_unavailable') throw thrown;
  report(thrown, tap);
}

/** Starts an observer. Returns a promise only where there is something to wait for. */
function begin({ tap, wait }: Observer, first: unknown, context?: unknown): unknown {
  try {
    const value = tap.run(first, context);
    return isThenable(value) ? wait.for(value).catch((thrown: unknown) => told(thrown, tap)) : value;
  } catch (thrown) {
    return told(thrown, tap);
  }
}

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
