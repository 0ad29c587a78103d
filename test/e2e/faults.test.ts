/** The effect of failing providers on callers. `npm run bench -- faults` measures the same at full size. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { faultyProviders, startFaultyProvider } from '../_kit/faulty-provider.ts';
import type { Calls, FaultyProvider } from '../_kit/faulty-provider.ts';
import { readEvents } from '../_kit/gateway.ts';
import type { TestGateway } from '../_kit/gateway.ts';
import { pause } from '../_kit/upstream.ts';
import { gatewayOf } from '../core/scene.ts';

let faulty: FaultyProvider;
beforeEach(async () => {
  faulty = await startFaultyProvider();
});
afterEach(() => faulty.close());

/** A gateway with the model `plain`, which these providers serve in this order. */
const gatewayWith = async (
  faults: Readonly<Record<string, string>>,
  { policy = {}, provider = {} }: { policy?: object; provider?: object } = {},
): Promise<TestGateway> =>
  await gatewayOf({
    providers: faultyProviders(faulty.url, faults, provider),
    models: [
      {
        id: 'plain',
        free: true,
        providers: Object.keys(faults).map((providerId) => ({ providerId, externalId: 'plain', streaming: true })),
      },
    ],
    routing: { default: { strategy: 'ordered', ...policy } },
  });

const callsOf = (name: string): Calls => faulty.calls.get(name) ?? { at: [], answered: 0 };

/** Sends a request; every second one is a stream. Resolves to whether the answer was complete. */
async function isAnswered({ chat }: TestGateway, at: number): Promise<boolean> {
  const isStream = at % 2 === 0;
  const response = await chat({ stream: isStream });
  if (response.status !== 200) {
    await response.body?.cancel();
    return false;
  }
  return isStream ? (await readEvents(response)).done : (await response.text()).includes('hello');
}

/** The number of answered requests, of `requests` with `atOnce` at a time. */
async function answered(gateway: TestGateway, { requests, atOnce }: { requests: number; atOnce: number }): Promise<number> {
  let [sent, done] = [0, 0];
  const work = async (): Promise<void> => {
    while (sent < requests) if (await isAnswered(gateway, sent++)) done++;
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return done;
}

describe('a caller', () => {
  it('does not notice a first provider that fails three calls of ten, and the providers get few extra calls', async () => {
    const gateway = await gatewayWith({ flaky: 'fails-30', good: 'fine', spare: 'fine' });
    expect(await answered(gateway, { requests: 1000, atOnce: 8 })).toBe(1000);
    const calls = ['flaky', 'good', 'spare'].map((name) => callsOf(name).at.length);
    expect(calls[0]).toBeGreaterThan(500);
    expect(calls.reduce((sum, count) => sum + count, 0) / 1000).toBeLessThanOrEqual(1.4);
  });

  it('is answered in more than 99 cases of 100 where each of three providers fails three calls of ten', async () => {
    const gateway = await gatewayWith(
      { one: 'fails-30', two: 'fails-30', three: 'fails-30' },
      { policy: { strategy: 'balanced', max_attempts: 6, retry: { same_target: 1, base_ms: 20 } } },
    );
    expect(await answered(gateway, { requests: 1000, atOnce: 8 })).toBeGreaterThanOrEqual(995);
  });
});

describe('a provider', () => {
  it('that always fails gets a few requests before it rests, and then one after each rest', async () => {
    const gateway = await gatewayWith({ broken: 'dead', good: 'fine' }, { provider: { breaker: { failures: 5, rest_ms: 200 } } });
    for (let at = 0; callsOf('broken').at.length < 8; at++) {
      expect(await isAnswered(gateway, at)).toBe(true);
      await pause(5);
    }
    const { at } = callsOf('broken');
    const gaps = at.slice(1).map((came, index) => came - (at[index] as number));
    // after five calls there is one trial after each rest, and each rest is twice as long as the previous one
    expect(gaps.slice(4).map((gap, index) => gap >= 200 * 2 ** index - 20)).toEqual([true, true, true]);
  });

  it('that asks for a minute of rest gets only the requests that were already running', async () => {
    const gateway = await gatewayWith({ full: 'limited-60', good: 'fine' });
    expect(await answered(gateway, { requests: 200, atOnce: 8 })).toBe(200);
    expect(callsOf('full').at.length).toBeLessThanOrEqual(8);
  });

  it.each([1, 3])('with a limit of 20 requests for each key answers 20 requests for each of %i keys', async (keys) => {
    const gateway = await gatewayWith(
      { up: 'each-20-60000' },
      { provider: { api_key: Array.from({ length: keys }, (_, at) => `key-${at}`) } },
    );
    expect(await answered(gateway, { requests: 20 * keys + 10, atOnce: 1 })).toBe(20 * keys);
    expect(callsOf('up').at.length).toBeLessThanOrEqual(20 * keys + keys);
  });
});
