/** Requests and attempts that end while a tap runs: a client leaves, or an attempt is over. No other tap is called for them. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import type { Gateway } from '../../../core/host/plugin.ts';
import { EARLY, LATE } from '../../../core/pipeline/hooks.ts';
import { oneUpstream, twoUpstreams } from '../../_kit/gateway.ts';
import { answers, completion, said, streams } from '../../_kit/upstream.ts';
import { contentOf, gatewayOf, probe, provider } from '../scene.ts';

const ask = { model: 'plain', messages: [{ role: 'user', content: 'hi' }] };

/** The first tap of a hook waits, and the second calls `reached`. All four hooks accept a tap that returns undefined. */
function taps(
  { hooks }: Gateway,
  hook: 'auth' | 'normalise' | 'route' | 'open',
  { wait, reached }: { wait: () => Promise<void>; reached: () => void },
): void {
  const tapped = hooks[hook] as Gateway['hooks']['open'];
  tapped.tapPromise({ stage: EARLY - 2 }, async () => {
    await wait();
    return undefined;
  });
  tapped.tap({ stage: EARLY - 1 }, () => {
    reached();
    return undefined;
  });
}

describe('a client that leaves', () => {
  it.each(['auth', 'normalise', 'route', 'open'] as const)(
    'while a tap of %s runs causes no call of the next tap, and no longer counts as in flight',
    async (hook) => {
      const [begun, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      let isReached = false;
      const wait = async (): Promise<void> => {
        begun.resolve();
        await goOn.promise;
      };
      const up = await provider();
      const gateway = await gatewayOf(oneUpstream(up.url), {
        plugins: [probe((own) => taps(own, hook, { wait, reached: () => (isReached = true) }))],
      });
      const leaving = new AbortController();
      const left = expect(gateway.post(ask, { signal: leaving.signal })).rejects.toThrow();
      await begun.promise;
      leaving.abort();
      await left;
      await expect.poll(() => gateway.records.map(({ outcome }) => outcome)).toEqual(['gone']);
      goOn.resolve();
      const inFlight = async (): Promise<string | undefined> =>
        /gateway_requests_in_flight \d+/.exec(await (await gateway.get('/metrics')).text())?.[0];
      await expect.poll(inFlight).toBe('gateway_requests_in_flight 0');
      expect([gateway.records.length, isReached, up.asked.length]).toEqual([1, false, 0]);
    },
  );
});

it.each([false, true])(
  'a request that was answered is not cancelled when its connection is used again or closed, streamed: %s',
  async (stream) => {
    const signals: AbortSignal[] = [];
    const up = await provider();
    up.script(stream ? streams(said('Hello.')) : answers(completion('Hello.')));
    const { post, close } = await gatewayOf(oneUpstream(up.url), {
      plugins: [probe(({ hooks }) => hooks.normalise.tap((_, { signal }) => void signals.push(signal)))],
    });
    for (let times = 0; times < 2; times++) await (await post({ ...ask, stream })).text();
    await close();
    expect(signals.map(({ aborted }) => aborted)).toEqual([false, false]);
  },
);

describe('an attempt that ends while a tap of open runs', () => {
  const ends = [
    ['another attempt was quicker', 'outrun', { hedge_ms: 20 }],
    ['it timed out', 'upstream_timeout', { timeout_ms: { first_byte: 500 } }],
  ] as const;

  // a pause of the machine that is longer than `first_byte` ends the other attempt too
  it.each(ends)('calls no other tap, and frees its limits, where %s', { retry: 2 }, async (_, outcome, more) => {
    const [goOn, wentOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const reached: number[] = [];
    const slow = probe(({ hooks }) => {
      hooks.open.tapPromise({ stage: EARLY - 2 }, async (context) => {
        if (context.attempt.number > 1) return undefined;
        await goOn.promise;
        wentOn.resolve();
        return undefined;
      });
      hooks.open.tap({ stage: EARLY - 1 }, ({ attempt }) => void reached.push(attempt.number));
    });
    const [one, two] = [await provider(), await provider()];
    const policy = { strategy: 'ordered', retry: { same_target: 0 }, ...more };
    const gateway = await gatewayOf(
      twoUpstreams(one.url, two.url, { routing: { default: policy }, limits: [{ by: 'provider', concurrent: 5 }] }),
      { plugins: [slow] },
    );
    expect(await contentOf(await gateway.chat({}))).toBe('hello');
    expect(gateway.records[0]?.attempts.map((attempt) => [attempt.provider, attempt.outcome])).toEqual([
      ['one', outcome],
      ['two', 'answered'],
    ]);
    goOn.resolve();
    await wentOn.promise;
    const { data } = (await (await gateway.get('/api/limits')).json()) as { data: { used: number }[] };
    expect([reached, one.asked.length, two.asked.length]).toEqual([[2], 0, 1]);
    expect(data.map(({ used }) => used)).toEqual([0, 0]);
  });
});

describe('a request that is over', () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;

  it.each([
    ['its client', {}],
    ['its provider, with hedging', { hedge_ms: 5000 }],
  ])('is not kept in memory by an idle connection of %s', async (_, more) => {
    const contexts: WeakRef<object>[] = [];
    const watching = probe(({ hooks }) => hooks.settle.tap((record, context) => (contexts.push(new WeakRef(context)), record)));
    const [one, two] = [await provider(), await provider()];
    const gateway = await gatewayOf(twoUpstreams(one.url, two.url, { routing: { default: { strategy: 'ordered', ...more } } }), {
      plugins: [watching],
    });
    expect(await contentOf(await gateway.chat({}))).toBe('hello');
    expect(contexts).toHaveLength(1);
    // a boolean: expect.poll keeps the last value until the next call, and would keep the context in memory
    await expect.poll(() => (collect(), contexts[0]?.deref() === undefined)).toBe(true);
  });

  it.each(['balanced', 'fastest'])(
    'is not kept in memory by the strategy %s, where its client left while a tap of route ran',
    async (strategy) => {
      const contexts: WeakRef<object>[] = [];
      const [begun, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const watching = probe(({ hooks }) => {
        hooks.route.tapPromise({ stage: LATE }, async (candidates) => {
          begun.resolve();
          await goOn.promise;
          return candidates;
        });
        hooks.settle.tap((record, context) => (contexts.push(new WeakRef(context)), record));
      });
      const [one, two] = [await provider(), await provider()];
      const { post } = await gatewayOf(twoUpstreams(one.url, two.url, { routing: { default: { strategy } } }), { plugins: [watching] });
      const leaving = new AbortController();
      const left = expect(post(ask, { signal: leaving.signal })).rejects.toThrow();
      await begun.promise;
      leaving.abort();
      await left;
      await expect.poll(() => contexts.length).toBe(1);
      goOn.resolve();
      await expect.poll(() => (collect(), contexts[0]?.deref() === undefined)).toBe(true);
    },
  );
});
