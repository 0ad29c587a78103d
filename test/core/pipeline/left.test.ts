/** A client that leaves while a plugin is at work: its record is written then, and nothing more is taken for it. */
import { describe, expect, it } from 'vitest';
import type { Gateway } from '../../../core/host/plugin.ts';
import { EARLY } from '../../../core/pipeline/hooks.ts';
import { oneUpstream } from '../../_kit/gateway.ts';
import { gatewayOf, probe, provider } from '../scene.ts';

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
