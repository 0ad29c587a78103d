/**
 * Watches over the taps of every hook. tapable keeps them in their order; they are run by `runners.ts`, because tapable leaves
 * five traps open: a tap that throws synchronously hangs the call, `tap(name, async fn)` is not awaited, a wrong `before` puts the
 * tap in front, `null` and `false` end a bail hook, and one observer that throws silences the rest.
 */
import type { Logger } from '../logger.ts';
import { endLap, lapStart, startLap } from './lap.ts';
import { bail, observedWaterfall, observers, parallelObservers, series, seriesOfObservers, waterfall, waterfallAtOnce } from './runners.ts';
import type { GuardedTap, Run } from './tap.ts';
import type { Returns } from './returns.ts';
import { isThenable } from '../cancellation.ts';

interface TapInfo {
  readonly name: string;
  readonly type: 'sync' | 'async' | 'promise';
  readonly fn: Run;
  readonly before?: string | readonly string[];
}

interface AnyHook {
  readonly taps: readonly TapInfo[];
  intercept(interceptor: { register(tap: TapInfo): TapInfo }): void;
  /** tapable calls it at the first use after a tap was added, and uses the function that it returns. */
  compile(of: { readonly taps: readonly TapInfo[] }): Run;
}

export interface Guard {
  /** From here on only this plugin may tap, under its own name; null: no plugin may. */
  enter(plugin: string | null): void;
  /**
   * No tap after this, and every `before` must have named a tap.
   * @param placeOf the place of a plugin in the config, for the message
   */
  seal(placeOf?: (plugin: string) => string): void;
  /** Milliseconds that each plugin has taken of all requests so far. */
  spentMs(): ReadonlyMap<string, number>;
}

/** Hooks whose taps are observers: what an observer throws is reported to the process log and changes nothing. */
const observing = new Set(['attempted', 'reply', 'settle', 'log', 'health', 'close']);

const runners: Readonly<Record<string, (taps: readonly GuardedTap[]) => Run>> = {
  AsyncSeriesBailHook: bail,
  AsyncSeriesWaterfallHook: waterfall,
  AsyncSeriesHook: series,
  SyncWaterfallHook: waterfallAtOnce,
  'observed SyncHook': observers,
  'observed SyncWaterfallHook': observedWaterfall,
  'observed AsyncParallelHook': parallelObservers,
  'observed AsyncSeriesHook': seriesOfObservers,
  'observed AsyncSeriesWaterfallHook': seriesOfObservers,
};

interface GuardLimits {
  /** What taps may return, by hook. */
  readonly returns?: Readonly<Record<string, Returns>>;
  /** How long all taps of `boot` together may take; absent: until they have ended. */
  readonly bootMs?: number | undefined;
}

export function guard(hooks: Readonly<Record<string, object>>, logger: Logger, { returns = {}, bootMs }: GuardLimits = {}): Guard {
  const placed: { hook: string; plugin: string; before: string }[] = [];
  const spent = new Map<string, Spent>();
  let owner: string | null = null;

  for (const [name, hook] of Object.entries(hooks) as [string, AnyHook][]) {
    const kind = hook.constructor.name;
    const isAsync = kind.startsWith('Async');
    const runnerOf = runners[observing.has(name) ? `observed ${kind}` : kind];
    if (runnerOf === undefined) throw new Error(`the hook "${name}" has a type that the gateway does not run: ${kind}`);
    hook.compile = ({ taps }) => {
      const run = runnerOf(
        taps.map(({ name: plugin, fn }) => ({
          hook: name,
          plugin,
          run: timed(fn, { hook: name, plugin, spent: spentBy(plugin, spent) }),
          logger,
          returns: returns[name],
          bootMs,
        })),
      );
      return (first, second) => {
        startLap();
        return run(first, second);
      };
    };
    hook.intercept({
      register(tap) {
        refuseTap(name, tap, { isAsync, owner });
        for (const before of [tap.before ?? []].flat()) placed.push({ hook: name, plugin: tap.name, before });
        return tap;
      },
    });
  }

  return {
    spentMs: () => new Map(Array.from(spent, ([plugin, { ms }]) => [plugin, ms])),
    enter(plugin) {
      owner = plugin;
    },
    seal(placeOf = () => '') {
      owner = null;
      for (const { hook, plugin, before } of placed) {
        const known = (hooks[hook] as AnyHook).taps.map((tap) => tap.name);
        if (!known.includes(before)) {
          throw new Error(
            `${placeOf(plugin)}plugin "${plugin}" taps "${hook}" before "${before}", but no plugin of this name taps "${hook}" (these do: ${known.join(', ')})`,
          );
        }
      }
    },
  };
}

const isAsyncFunction = (fn: Run): boolean => fn.constructor.name === 'AsyncFunction';

function refuseTap(hook: string, tap: TapInfo, { isAsync, owner }: { isAsync: boolean; owner: string | null }): void {
  if (owner === null) throw new Error(`plugin "${tap.name}" taps "${hook}" after the start; tap in apply()`);
  if (tap.name !== owner) {
    throw new Error(`plugin "${owner}" taps "${hook}" under the name "${tap.name}"; a tap must have its plugin's name`);
  }
  if (typeof tap.fn !== 'function') throw new Error(`plugin "${tap.name}" taps "${hook}" without a function`);
  if (tap.type === 'async') throw new Error(`plugin "${tap.name}" uses tapAsync on "${hook}"; use tapPromise`);
  if (!isAsync && isAsyncFunction(tap.fn)) {
    throw new Error(`plugin "${tap.name}" taps "${hook}" with an async function; this hook is synchronous`);
  }
}

/** Milliseconds that taps took, of all requests together. */
interface Spent {
  ms: number;
}

function spentBy(plugin: string, spent: Map<string, Spent>): Spent {
  const known = spent.get(plugin) ?? { ms: 0 };
  spent.set(plugin, known);
  return known;
}

/**
 * The times of plugins of the request, to which the time of a tap is added.
 * The last argument of each hook that runs within a request holds them.
 */
const timingsOf = (first: unknown, second: unknown): Record<string, number> | undefined =>
  ((second ?? first) as { readonly timings?: Record<string, number> } | null | undefined)?.timings;

/**
 * cost: a request lists only taps that took at least this many milliseconds.
 * Listing all of them is a fiftieth of the CPU of a plain request (test/bench).
 */
const noticeableMs = 0.05;

/** The tap, with the time that it takes added to its plugin's and, where it is noticeable, to the request's. */
function timed(fn: Run, { hook, plugin, spent }: { hook: string; plugin: string; spent: Spent }): Run {
  const took = (startedAt: number, request: Record<string, number> | undefined): void => {
    const ms = endLap(startedAt);
    if (request === undefined) return;
    spent.ms += ms;
    if (ms >= noticeableMs) request[plugin] = Math.round(((request[plugin] ?? 0) + ms) * 1000) / 1000;
  };
  // a tap of `open` waits for its provider, and that time belongs to the attempt
  const isOwn = (value: unknown): boolean => hook !== 'open' || value === undefined;
  return (first, second) => {
    const startedAt = lapStart();
    let value: unknown;
    try {
      value = fn(first, second);
    } catch (thrown) {
      startLap();
      throw thrown;
    }
    const request = timingsOf(first, second);
    // cost: most taps return nothing or what they were given, and to ask each shape of value for its `then` takes 0.03 µs
    if (value === undefined || value === first || !isThenable(value)) {
      if (isOwn(value)) took(startedAt, request);
      return value;
    }
    // this tap goes on beside the next ones
    startLap();
    void value.then(
      (settled) => void (isOwn(settled) && took(startedAt, request)),
      () => took(startedAt, request),
    );
    return value;
  };
}
