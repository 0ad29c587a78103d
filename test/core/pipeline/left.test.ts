/** What ends while a plugin is at work: a client leaves, and its record is written then; an attempt is over. Nothing more is taken for either. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import type { Gateway } from '../../../core/host/plugin.ts';
import { EARLY } from '../../../core/pipeline/hooks.ts';
import { oneUpstream, twoUpstreams } from '../../_kit/gateway.ts';
import { contentOf, gatewayOf, probe, provider } from '../scene.ts';

const ask = { model: 'plain', messages: [{ role: 'user', content: 'hi' }] };

/** The first tap of a hook waits, and the second says that it was reached. All four hooks take a tap that decides nothing. */
function taps({ hooks }: Gateway, hook: 'auth' | 'normalise' | 'route' | 'open', { wait, reached }: { wait: () => Promise<void>; reached: () => void }): void {
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
  it.each(['auth', 'normalise', 'route', 'open'] as const)('while a tap of %s is at work has no tap after it, and is in flight no more', async (hook) => {
    const [begun, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let isReached = false;
    const wait = async (): Promise<void> => {
      begun.resolve();
      await goOn.promise;
    };
    const up = await provider();
    const gateway = await gatewayOf(oneUpstream(up.url), { plugins: [probe((own) => taps(own, hook, { wait, reached: () => (isReached = true) }))] });
    const leaving = new AbortController();
    const left = expect(gateway.post(ask, { signal: leaving.signal })).rejects.toThrow();
    await begun.promise;
    leaving.abort();
    await left;
    await expect.poll(() => gateway.records.map(({ outcome }) => outcome)).toEqual(['gone']);
    goOn.resolve();
    const inFlight = async (): Promise<string | undefined> => /gateway_requests_in_flight \d+/.exec(await (await gateway.get('/metrics')).text())?.[0];
    await expect.poll(inFlight).toBe('gateway_requests_in_flight 0');
    expect([gateway.records.length, isReached, up.asked.length]).toEqual([1, false, 0]);
  });
});

describe('an attempt that is over while a tap of open is at work', () => {
  const ends = [['another one was quicker', 'outrun', { hedge_ms: 20 }], ['its time was over', 'upstream_timeout', { timeout_ms: { first_byte: 50 } }]] as const;

  it.each(ends)('has no tap after it, and holds nothing of a limit, where %s', async (_, outcome, more) => {
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
    const gateway = await gatewayOf(twoUpstreams(one.url, two.url, { routing: { default: policy }, limits: [{ by: 'provider', concurrent: 5 }] }), { plugins: [slow] });
    expect(await contentOf(await gateway.chat({}))).toBe('hello');
    expect(gateway.records[0]?.attempts.map((attempt) => [attempt.provider, attempt.outcome])).toEqual([['one', outcome], ['two', 'answered']]);
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

  it.each([['its client', {}], ['its provider, which it opened while another target might be asked beside', { hedge_ms: 5000 }]])('is not kept by an idle connection of %s', async (_, more) => {
    const contexts: WeakRef<object>[] = [];
    const watching = probe(({ hooks }) => hooks.settle.tap((record, context) => (contexts.push(new WeakRef(context)), record)));
    const [one, two] = [await provider(), await provider()];
    const gateway = await gatewayOf(twoUpstreams(one.url, two.url, { routing: { default: { strategy: 'ordered', ...more } } }), { plugins: [watching] });
    expect(await contentOf(await gateway.chat({}))).toBe('hello');
    expect(contexts).toHaveLength(1);
    // a boolean: a poll that fails keeps the value it was given until its next look, and so would keep the context itself
    await expect.poll(() => (collect(), contexts[0]?.deref() === undefined)).toBe(true);
  });
});
