/** The traps of tapable: each shown on a bare hook first, then on a guarded one. */
import { AsyncParallelHook, AsyncSeriesBailHook, AsyncSeriesHook, AsyncSeriesWaterfallHook, SyncHook, SyncWaterfallHook } from 'tapable';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { GatewayError } from '../../../core/errors.ts';
import { guard } from '../../../core/taps/guard.ts';
import type { Guard } from '../../../core/taps/guard.ts';
import { createLogger } from '../../../core/logger.ts';

interface Scene {
  readonly hooks: ReturnType<typeof bareHooks>;
  readonly watch: Guard;
  readonly lines: string[];
  /** Makes taps in the name of this plugin. */
  as(plugin: string, tap: () => void): void;
}

const bareHooks = () => ({
  boot: new AsyncSeriesHook<[]>([]),
  auth: new AsyncSeriesBailHook<[string], unknown>(['who']),
  chunk: new SyncWaterfallHook<[unknown, object], unknown>(['chunk', 'context']),
  attempted: new SyncHook<[string]>(['result']),
  settle: new SyncWaterfallHook<[object], object>(['record']),
  log: new AsyncParallelHook<[string]>(['record']),
  open: new AsyncSeriesBailHook<[string], unknown>(['context']),
  health: new AsyncSeriesWaterfallHook<[string], unknown>(['report']),
});

function guarded(limits: Parameters<typeof guard>[2] = {}): Scene {
  const hooks = bareHooks();
  const lines: string[] = [];
  const watch = guard(
    hooks,
    createLogger((line) => void lines.push(line)),
    limits,
  );
  return {
    hooks,
    watch,
    lines,
    as(plugin, tap) {
      watch.enter(plugin);
      tap();
      watch.enter(null);
    },
  };
}

/** An async call: a hook whose taps throw synchronously throws synchronously. */
const asking = async ({ auth }: Scene['hooks']): Promise<unknown> => await auth.promise('x');

const throws = (message: string) => (): never => {
  throw new Error(message);
};

/** An async function that looks like a plain one. */
const later =
  (work: () => void): (() => void) =>
  async () => {
    await new Promise(setImmediate);
    work();
  };

const pending = (promise: Promise<unknown>): Promise<string> =>
  Promise.race([
    promise.then(
      () => 'settled',
      () => 'settled',
    ),
    new Promise<string>((resolve) => setTimeout(resolve, 30, 'pending')),
  ]);

describe('a second tapPromise that throws synchronously', () => {
  it('makes a bare hook hang', async () => {
    const { boot } = bareHooks();
    boot.tapPromise('a/one', async () => await Promise.resolve());
    boot.tapPromise('a/two', throws('sync'));
    const escaped: unknown[] = [];
    const others = process.listeners('unhandledRejection');
    process.removeAllListeners('unhandledRejection').on('unhandledRejection', (error) => void escaped.push(error));
    expect(await pending(boot.promise())).toBe('pending');
    process.removeAllListeners('unhandledRejection');
    for (const listener of others) process.on('unhandledRejection', listener);
  });

  it('rejects a guarded hook', async () => {
    const { hooks, as } = guarded();
    as('a/one', () => hooks.boot.tapPromise('a/one', async () => await Promise.resolve()));
    as('a/two', () => hooks.boot.tapPromise('a/two', throws('sync')));
    await expect(hooks.boot.promise()).rejects.toMatchObject({ code: 'plugin_error', plugin: 'a/two' });
  });
});

describe('the time of a reload', () => {
  it('is one for the boots of all plugins, so a few slow ones together are refused as one is', async () => {
    const clock = vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'clearImmediate', 'performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const { hooks, as } = guarded({ bootMs: 30_000 });
    for (const plugin of ['a/one', 'a/two']) {
      as(plugin, () => hooks.boot.tapPromise(plugin, async () => await new Promise((end) => setTimeout(end, 20_000))));
    }
    const refused = expect(hooks.boot.promise()).rejects.toMatchObject({
      plugin: 'a/two',
      cause: { message: expect.stringContaining('30 s') },
    });
    await clock.advanceTimersByTimeAsync(40_000);
    await refused;
  });
});

describe('an async function under tap', () => {
  it('is not awaited by a bare hook', async () => {
    const { boot } = bareHooks();
    let done = false;
    boot.tap(
      'a/one',
      later(() => void (done = true)),
    );
    await boot.promise();
    expect(done).toBe(false);
  });

  it('is awaited by a guarded hook', async () => {
    const { hooks, as } = guarded();
    let done = false;
    as('a/one', () =>
      hooks.boot.tap(
        'a/one',
        later(() => void (done = true)),
      ),
    );
    await hooks.boot.promise();
    expect(done).toBe(true);
  });

  it('is refused on a synchronous hook', () => {
    const { hooks, as } = guarded();
    expect(() => as('a/one', () => hooks.chunk.tap('a/one', async (chunk) => await Promise.resolve(chunk)))).toThrow(
      '"a/one" taps "chunk" with an async function',
    );
  });

  it('fails at the call where a plain function hides the promise', () => {
    const { hooks, as } = guarded();
    as('a/one', () => hooks.chunk.tap('a/one', (chunk) => Promise.resolve(chunk)));
    expect(() => hooks.chunk.call('x', {})).toThrow(expect.objectContaining({ code: 'plugin_error', plugin: 'a/one' }) as Error);
  });
});

describe('a `before` that names nobody', () => {
  it('moves a tap to the front of a bare hook', () => {
    const { attempted } = bareHooks();
    const order: string[] = [];
    attempted.tap('a/one', () => void order.push('one'));
    attempted.tap({ name: 'a/two', before: 'a/misspelt' }, () => void order.push('two'));
    attempted.call('');
    expect(order).toEqual(['two', 'one']);
  });

  it('is refused with the plugin’s name when a guarded hook is sealed', () => {
    const { hooks, watch, as } = guarded();
    as('a/one', () => hooks.attempted.tap('a/one', () => {}));
    as('a/two', () => hooks.attempted.tap({ name: 'a/two', before: 'a/misspelt' }, () => {}));
    expect(() => watch.seal((plugin) => `file of ${plugin}: `)).toThrow(
      'file of a/two: plugin "a/two" taps "attempted" before "a/misspelt"',
    );
  });

  it('moves a tap to the front where the name exists', () => {
    const { hooks, watch, as } = guarded();
    const order: string[] = [];
    as('a/one', () => hooks.attempted.tap('a/one', () => void order.push('one')));
    as('a/two', () => hooks.attempted.tap({ name: 'a/two', before: 'a/one' }, () => void order.push('two')));
    watch.seal();
    hooks.attempted.call('');
    expect(order).toEqual(['two', 'one']);
  });
});

describe.each([null, false])('%s from a bail tap', (nothing) => {
  it('ends a bare hook', async () => {
    const { auth } = bareHooks();
    auth.tap('a/one', () => nothing);
    auth.tap('a/two', () => 'found');
    expect(await auth.promise('x')).toBe(nothing);
  });

  it('passes to the next tap of a guarded hook', async () => {
    const { hooks, as } = guarded();
    as('a/one', () => hooks.auth.tapPromise('a/one', async () => await Promise.resolve(nothing)));
    as('a/two', () => hooks.auth.tap('a/two', () => 'found'));
    expect(await hooks.auth.promise('x')).toBe('found');
  });
});

describe('an observer that fails', () => {
  it('stops the rest of a bare hook', () => {
    const { attempted } = bareHooks();
    const heard: string[] = [];
    attempted.tap('a/one', throws('broken'));
    attempted.tap('a/two', (result) => void heard.push(result));
    expect(() => attempted.call('x')).toThrow('broken');
    expect(heard).toEqual([]);
  });

  it('does not stop the rest of a guarded hook', () => {
    const { hooks, as } = guarded();
    const heard: string[] = [];
    as('a/one', () => hooks.attempted.tap('a/one', throws('broken')));
    as('a/two', () => hooks.attempted.tap('a/two', (result) => void heard.push(result)));
    hooks.attempted.call('x');
    expect(heard).toEqual(['x']);
  });

  it('does not stop the rest of a guarded asynchronous hook', async () => {
    const { hooks, as } = guarded();
    const heard: string[] = [];
    as('a/one', () => hooks.log.tap('a/one', throws('broken')));
    as('a/two', () => hooks.log.tapPromise('a/two', async (record) => void heard.push(await Promise.resolve(record))));
    await hooks.log.promise('x');
    expect(heard).toEqual(['x']);
  });

  it('is reported with its plugin and its hook', () => {
    const { hooks, as, lines } = guarded();
    as('a/one', () => hooks.attempted.tap('a/one', throws('broken')));
    hooks.attempted.call('x');
    expect(JSON.parse(lines[0] as string)).toMatchObject({
      level: 'error',
      plugin: 'a/one',
      hook: 'attempted',
      error: expect.stringContaining('broken'),
    });
  });

  it('does not change the record that it was to complete', () => {
    const { hooks, as } = guarded();
    as('a/one', () => hooks.settle.tap('a/one', throws('broken')));
    as('a/two', () => hooks.settle.tap('a/two', (record) => ({ ...record, two: true })));
    expect(hooks.settle.call({ id: 1 })).toEqual({ id: 1, two: true });
  });

  it.each<[string, () => unknown]>([
    ['an object that JSON cannot write', () => Object.assign({}, { big: 1n })],
    [
      'an object that holds itself',
      () => {
        const loop: Record<string, unknown> = {};
        loop['self'] = loop;
        return loop;
      },
    ],
    [
      'an error that is its own cause',
      () => {
        const error = new Error('loop');
        error.cause = error;
        return error;
      },
    ],
    ['undefined', () => undefined],
  ])('does not stop the call when it throws %s', async (_, thrown) => {
    const { hooks, as, lines } = guarded();
    as('a/one', () =>
      hooks.log.tap('a/one', () => {
        throw thrown();
      }),
    );
    await hooks.log.promise('x');
    expect(lines).toHaveLength(1);
  });

  it('does not block the call when it hangs', async () => {
    const { hooks, as, lines } = guarded();
    as('a/one', () => hooks.log.tapPromise('a/one', () => new Promise(() => {})));
    await hooks.log.promise('x');
    expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
      {
        level: 'warn',
        msg: 'an observer is late; the gateway goes on without waiting for it',
        plugin: 'a/one',
        hook: 'log',
        waitedMs: 1000,
      },
    ]);
  });
});

describe('an observer that is late', () => {
  /** One tap of `log` that answers when the test lets it, and a call that returns how long the hook waited. */
  const watched = () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const { hooks, as, lines } = guarded();
    const asked: { answer(): void; fail(): void }[] = [];
    as('a/one', () =>
      hooks.log.tapPromise(
        'a/one',
        () => new Promise<void>((resolve, reject) => asked.push({ answer: resolve, fail: () => reject(new Error('broken')) })),
      ),
    );
    const call = async (afterMs = Infinity): Promise<number> => {
      const began = performance.now();
      const ended = hooks.log.promise('x').then(() => performance.now() - began);
      if (afterMs !== Infinity) setTimeout(() => asked.at(-1)?.answer(), afterMs);
      await vi.advanceTimersByTimeAsync(1000);
      return Math.round(await ended);
    };
    const told = (): string[] => lines.map((line) => (JSON.parse(line) as { level: string }).level);
    return { call, asked, told, hooks };
  };

  it('three times is not waited for any more, and is still called', async () => {
    const { call, asked, told } = watched();
    expect([await call(), await call(), await call(), await call(), await call()]).toEqual([1000, 1000, 1000, 0, 0]);
    expect([asked.length, told()]).toEqual([5, ['warn', 'warn', 'warn']]);
  });

  it('is waited for again once it answers in time', async () => {
    const { call, told } = watched();
    for (let times = 0; times < 3; times++) await call();
    expect([await call(300), await call(300)]).toEqual([0, 300]);
    expect(told().slice(3)).toEqual(['info']);
  });

  it('at health is waited for each time, because the report needs what it returns', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const { hooks, as } = guarded();
    let afterMs = 5000;
    as('a/one', () =>
      hooks.health.tapPromise('a/one', async () => await new Promise((resolve) => setTimeout(() => resolve('of a/one'), afterMs))),
    );
    const call = async (): Promise<unknown> => {
      const reported = hooks.health.promise('before');
      await vi.advanceTimersByTimeAsync(1000);
      return await reported;
    };
    expect([await call(), await call(), await call()]).toEqual(['before', 'before', 'before']);
    afterMs = 10;
    expect(await call()).toBe('of a/one');
  });

  it('only now and then is always waited for', async () => {
    const { call } = watched();
    expect([await call(), await call(), await call(5), await call(), await call(), await call(5)]).toEqual([1000, 1000, 5, 1000, 1000, 5]);
  });

  it('for many requests at once counts as late once, and is reported once', async () => {
    const { call, told } = watched();
    await Promise.all(Array.from({ length: 10 }, async () => await call()));
    expect([await call(10), told()]).toEqual([10, ['warn']]);
  });

  it('and then fails is reported', async () => {
    const { call, asked, told } = watched();
    await call();
    asked.at(-1)?.fail();
    await vi.advanceTimersByTimeAsync(0);
    expect(told()).toEqual(['warn', 'error']);
  });

  it('and then fails is reported, also when it is not waited for', async () => {
    const { call, asked, told, hooks } = watched();
    for (let times = 0; times < 3; times++) await call();
    await hooks.log.promise('x');
    asked.at(-1)?.fail();
    await vi.advanceTimersByTimeAsync(0);
    expect(told().slice(3)).toEqual(['info', 'error']);
  });
});

describe('a plugin that takes long to start', () => {
  it('is named every ten seconds, until it has started', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const { hooks, as, lines } = guarded();
    const { promise, resolve } = Promise.withResolvers<void>();
    as('a/one', () => hooks.boot.tapPromise('a/one', async () => await promise));
    const booted = hooks.boot.promise();
    await vi.advanceTimersByTimeAsync(25_000);
    const warning = { level: 'warn', msg: 'a plugin has not started yet; the gateway waits for it', plugin: 'a/one', hook: 'boot' };
    expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
      { ...warning, waitedMs: 10_000 },
      { ...warning, waitedMs: 20_000 },
    ]);
    resolve();
    await booted;
    expect(vi.getTimerCount()).toBe(0);
  });

  it('is refused where its time is limited, and no plugin after it starts, not even when it has started at last', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const { hooks, as } = guarded({ bootMs: 30_000 });
    const { promise, resolve } = Promise.withResolvers<void>();
    const started: string[] = [];
    const sleep = () => new Promise<void>((wake) => setTimeout(wake, 29_000));
    as('a/first', () => hooks.boot.tapPromise('a/first', async () => await sleep()));
    as('a/slow', () => hooks.boot.tapPromise('a/slow', async () => await promise));
    as('a/last', () => hooks.boot.tap('a/last', () => void started.push('a/last')));
    const booted = hooks.boot.promise().catch((error: unknown) => error as GatewayError);
    await vi.advanceTimersByTimeAsync(60_000);
    resolve();
    const { plugin, cause } = (await booted) as GatewayError;
    expect([plugin, String(cause), started, vi.getTimerCount()]).toEqual([
      'a/slow',
      'Error: its `boot` has not ended within 30 s, which is the time for all plugins; only a start waits longer',
      [],
      0,
    ]);
  });
});

describe('a tap', () => {
  it('that throws is an error with its plugin and hook', async () => {
    const { hooks, as } = guarded();
    as('a/one', () => hooks.auth.tap('a/one', throws('secret detail')));
    const error = await asking(hooks).catch((thrown: unknown) => thrown as GatewayError);
    expect(error).toMatchObject({ code: 'plugin_error', plugin: 'a/one', message: 'The plugin "a/one" failed at "auth".' });
  });

  it('that throws a GatewayError is that error, with the plugin added', async () => {
    const { hooks, as } = guarded();
    const refusal = new GatewayError('permission_denied', 'Not at night.');
    as('a/one', () =>
      hooks.auth.tap('a/one', () => {
        throw refusal;
      }),
    );
    await expect(asking(hooks)).rejects.toBe(refusal);
    expect(refusal.plugin).toBe('a/one');
  });

  it('cannot be added after the hooks are sealed', () => {
    const { hooks, watch } = guarded();
    watch.enter('a/one');
    watch.seal();
    expect(() => hooks.log.tap('a/one', () => {})).toThrow('plugin "a/one" taps "log" after the start');
  });

  it('must have the name of its own plugin', () => {
    const { hooks, as } = guarded();
    expect(() => as('a/one', () => hooks.log.tap('b/two', () => {}))).toThrow('plugin "a/one" taps "log" under the name "b/two"');
  });

  it('must be a function', () => {
    const { hooks, as } = guarded();
    expect(() => as('a/one', () => hooks.log.tap('a/one', undefined as never))).toThrow('plugin "a/one" taps "log" without a function');
  });

  it('takes no callback', () => {
    const { hooks, as } = guarded();
    expect(() => as('a/one', () => hooks.log.tapAsync('a/one', (_, done) => done()))).toThrow('use tapPromise');
  });

  it('is not called for a chunk that an earlier tap dropped', () => {
    const { hooks, as } = guarded();
    const seen: unknown[] = [];
    as('a/one', () => hooks.chunk.tap('a/one', () => null));
    as('a/two', () =>
      hooks.chunk.tap('a/two', (chunk) => {
        seen.push(chunk);
        return 'back again';
      }),
    );
    expect(hooks.chunk.call('x', {})).toBe(null);
    expect(seen).toEqual([]);
  });

  it('adds its time to the request, without the time to open an answer', async () => {
    const { hooks, as } = guarded();
    const timings: Record<string, number> = {};
    const takes = async (): Promise<undefined> => void (await new Promise((resolve) => setTimeout(resolve, 5)));
    as('a/one', () => hooks.auth.tapPromise('a/one', takes));
    as('a/two', () => hooks.auth.tapPromise('a/two', takes));
    as('a/two', () => hooks.open.tapPromise('a/two', async () => await takes().then(() => 'a source')));
    await hooks.auth.promise({ timings } as never);
    const before = { ...timings };
    await hooks.open.promise({ timings } as never);
    expect([Object.keys(timings), timings['a/one']! >= 4, timings]).toEqual([['a/one', 'a/two'], true, before]);
  });

  it('has no time of a tap before it, which failed or goes on, or of what was done before its hook', async () => {
    const { hooks, as } = guarded();
    let now = 0;
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now);
    onTestFinished(() => clock.mockRestore());
    const timings: Record<string, number> = {};
    const takes = (ms: number): void => void (now += ms);
    as('a/one', () => hooks.auth.tap('a/one', () => undefined));
    as('a/one', () =>
      hooks.log.tap('a/one', () => {
        takes(1000);
        throw new Error('no');
      }),
    );
    as('a/two', () => hooks.log.tapPromise('a/two', async () => takes(20)));
    as('a/three', () => hooks.log.tap('a/three', () => takes(3)));
    await hooks.auth.promise({ timings } as never);
    takes(500);
    await hooks.log.promise({ timings } as never);
    expect(timings).toEqual({ 'a/three': 3, 'a/two': 23 });
  });

  it('that answers synchronously makes no promise', () => {
    const { hooks, as } = guarded();
    as('a/one', () => hooks.auth.tap('a/one', () => undefined));
    as('a/two', () => hooks.auth.tap('a/two', () => 'found'));
    as('a/one', () => hooks.log.tap('a/one', () => {}));
    expect([hooks.auth.promise('x'), hooks.log.promise('x')]).toEqual(['found', undefined]);
  });
});
