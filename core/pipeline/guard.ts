/**
 * Wraps every tap of every hook, because tapable leaves five traps open: a tap that throws synchronously hangs the call,
 * `tap(name, async fn)` is not awaited, a wrong `before` puts the tap in front, `null` and `false` end a bail hook, and one
 * observer that throws silences the rest. The wrapper also puts the plugin's name on its errors and takes its time.
 */
import { GatewayError } from '../errors.ts';
import type { Logger } from '../logger.ts';

type Fn = (...args: unknown[]) => unknown;

interface TapInfo {
  name: string;
  type: 'sync' | 'async' | 'promise';
  fn: Fn;
  before?: string | string[];
}

interface AnyHook {
  readonly taps: readonly { name: string }[];
  intercept(interceptor: { register(tap: TapInfo): TapInfo }): void;
}

export interface TapTiming {
  calls: number;
  totalMs: number;
  maxMs: number;
}

export interface Guard {
  /** From here on only this plugin may tap, under its own name; null: nobody. */
  enter(plugin: string | null): void;
  /** No tap after this, and every `before` must have named a tap. */
  seal(): void;
  /** By `hook plugin`, in milliseconds. */
  readonly timings: ReadonlyMap<string, TapTiming>;
}

/** Hooks whose taps are observers: what an observer throws is reported to the process log and changes nothing. */
const observers = new Set(['attempted', 'reply', 'settle', 'log', 'health', 'close']);
/** How long an observer may keep the others waiting, in milliseconds. */
const patience: Readonly<Record<string, number>> = { log: 1000, health: 1000, close: 10_000 };
/** An observer that was late so often, without a call in time in between, is not waited for any more. */
const overrunsAtMost = 3;

const isAsyncFunction = (fn: Fn): boolean => fn.constructor.name === 'AsyncFunction';
const isThenable = (value: unknown): value is Promise<unknown> => typeof (value as { then?: unknown } | null | undefined)?.then === 'function';

/** One tap of one hook, as its wrapper needs to know it. */
interface GuardedTap {
  readonly hook: string;
  readonly plugin: string;
  readonly isBail: boolean;
  readonly isWaterfall: boolean;
  readonly run: Fn;
  readonly logger: Logger;
}

export function guard(hooks: Readonly<Record<string, object>>, logger: Logger): Guard {
  const timings = new Map<string, TapTiming>();
  const placed: { hook: string; plugin: string; before: string }[] = [];
  let owner: string | null = null;

  for (const [name, hook] of Object.entries(hooks) as [string, AnyHook][]) {
    const kind = hook.constructor.name;
    const isAsync = kind.startsWith('Async');
    hook.intercept({
      register(tap) {
        refuseTap(name, tap, { isAsync, owner });
        for (const before of [tap.before ?? []].flat()) placed.push({ hook: name, plugin: tap.name, before });
        const tapped: GuardedTap = {
          hook: name,
          plugin: tap.name,
          isBail: kind.includes('Bail'),
          isWaterfall: kind.includes('Waterfall'),
          run: timed(tap.fn, { hook: name, plugin: tap.name, timings }),
          logger,
        };
        const wrap = isAsync ? (observers.has(name) ? observing : deciding) : observers.has(name) ? observingAtOnce : decidingAtOnce;
        // safety: as a promise, a synchronous throw rejects and an async function under `tap` is awaited
        return Object.assign(tap, { type: isAsync ? 'promise' : 'sync', fn: wrap(tapped) });
      },
    });
  }

  return {
    timings,
    enter(plugin) {
      owner = plugin;
    },
    seal() {
      owner = null;
      for (const { hook, plugin, before } of placed) {
        const known = (hooks[hook] as AnyHook).taps.map((tap) => tap.name);
        if (!known.includes(before)) throw new Error(`plugin "${plugin}" taps "${hook}" before "${before}", which does not tap it (there are: ${known.join(', ')})`);
      }
    },
  };
}

const deciders = new WeakMap<object, string>();

/** The plugin whose tap decided on this value. */
export const deciderOf = (value: object): string | undefined => deciders.get(value);

const deciding = (tapped: GuardedTap): Fn => async (...args) => {
  try {
    const value = await tapped.run(...args);
    if (tapped.isBail && typeof value === 'object' && value !== null) deciders.set(value, tapped.plugin);
    // safety: tapable ends a bail hook on null and false too; only a value decides
    return tapped.isBail && (value === null || value === false) ? undefined : value;
  } catch (thrown) {
    throw named(thrown, tapped);
  }
};

const observing = (tapped: GuardedTap): Fn => {
  const wait = new Wait(tapped);
  return async (...args) => {
    try {
      const value = tapped.run(...args);
      return isThenable(value) ? await wait.for(value) : value;
    } catch (thrown) {
      report(thrown, tapped);
      return tapped.isWaterfall ? args[0] : undefined;
    }
  };
};

const decidingAtOnce = (tapped: GuardedTap): Fn => (...args) => {
  // an earlier tap has dropped the chunk: later taps do not see it
  if (tapped.isWaterfall && args[0] === null) return null;
  try {
    return refusePromise(tapped.run(...args), tapped);
  } catch (thrown) {
    throw named(thrown, tapped);
  }
};

const observingAtOnce = (tapped: GuardedTap): Fn => (...args) => {
  try {
    return refusePromise(tapped.run(...args), tapped);
  } catch (thrown) {
    report(thrown, tapped);
    return tapped.isWaterfall ? args[0] : undefined;
  }
};

const report = (thrown: unknown, { plugin, hook, logger }: GuardedTap): void => logger.error('an observer failed; the request is untouched', { plugin, hook, error: thrown });

function refusePromise(value: unknown, { hook }: GuardedTap): unknown {
  if (!isThenable(value)) return value;
  value.then(undefined, () => {});
  throw new Error(`the hook "${hook}" is synchronous and the tap returned a promise`);
}

function refuseTap(hook: string, tap: TapInfo, { isAsync, owner }: { isAsync: boolean; owner: string | null }): void {
  if (owner === null) throw new Error(`plugin "${tap.name}" taps "${hook}" after the start; tap in apply()`);
  if (tap.name !== owner) throw new Error(`plugin "${owner}" taps "${hook}" under the name "${tap.name}"; a tap carries its plugin's name`);
  if (tap.type === 'async') throw new Error(`plugin "${tap.name}" uses tapAsync on "${hook}"; use tapPromise`);
  if (!isAsync && isAsyncFunction(tap.fn)) throw new Error(`plugin "${tap.name}" taps "${hook}" with an async function; this hook is synchronous`);
}

/** What of a request a tap's time is added to; the last argument of each hook that runs within a request has it. */
const timingsOf = (args: readonly unknown[]): Record<string, number> | undefined => (args.at(-1) as { readonly timings?: Record<string, number> } | null | undefined)?.timings;

function timed(fn: Fn, { hook, plugin, timings }: { hook: string; plugin: string; timings: Map<string, TapTiming> }): Fn {
  const timing: TapTiming = { calls: 0, totalMs: 0, maxMs: 0 };
  timings.set(`${hook} ${plugin}`, timing);
  const took = (startedAt: number, args: readonly unknown[], value?: unknown): void => {
    const ms = performance.now() - startedAt;
    timing.calls++;
    timing.totalMs += ms;
    if (ms > timing.maxMs) timing.maxMs = ms;
    // a tap that opens the answer has waited for its provider
    if (hook === 'open' && value !== undefined) return;
    const request = timingsOf(args);
    if (request !== undefined) request[plugin] = Math.round(((request[plugin] ?? 0) + ms) * 1000) / 1000;
  };
  return (...args) => {
    const startedAt = performance.now();
    let value: unknown;
    try {
      value = fn(...args);
    } catch (thrown) {
      took(startedAt, args);
      throw thrown;
    }
    if (isThenable(value)) void value.then((result) => took(startedAt, args, result), () => took(startedAt, args));
    else took(startedAt, args, value);
    return value;
  };
}

/** What a tap threw, under its plugin's name. Errors meant for the caller pass through. */
function named(thrown: unknown, { hook, plugin }: GuardedTap): GatewayError {
  if (GatewayError.is(thrown)) {
    thrown.plugin ??= plugin;
    return thrown;
  }
  return new GatewayError('plugin_error', `The plugin "${plugin}" failed at "${hook}".`, { plugin, cause: thrown });
}

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
    return this.#tapped.isWaterfall || this.#overruns < overrunsAtMost;
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
