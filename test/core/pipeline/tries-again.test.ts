/** Retries: a target is asked again where no other target is left. */
import { describe, expect, it } from 'vitest';
import { oneUpstream, readEvents, twoUpstreams } from '../../_kit/gateway.ts';
import { answers, completion, said, streams } from '../../_kit/upstream.ts';
import type { Step } from '../../_kit/upstream.ts';
import { contentOf, errorOf, gatewayOf, provider } from '../scene.ts';

const fault = (status: number, headers: Record<string, string> = {}): Step => answers({ error: { message: 'no' } }, { status, headers });
const fine = answers(completion('hello'));

const policy = (more: object = {}): Record<string, unknown> => ({
  routing: {
    default: {
      strategy: 'ordered',
      retry: { same_target: 1, base_ms: 10, max_ms: 1500, ...(more as { retry?: object }).retry },
      ...Object.fromEntries(Object.entries(more).filter(([key]) => key !== 'retry')),
    },
  },
});

describe('the only target', () => {
  it.each([429, 500, 502, 503, 529])('is asked again after a %i', async (status) => {
    const up = await provider(fault(status), fine);
    const { chat, records } = await gatewayOf(oneUpstream(up.url, policy()));
    expect([(await chat({})).status, up.asked.length]).toEqual([200, 2]);
    expect(records).toMatchObject([{ outcome: 'answered', attempts: [{ status }, { outcome: 'answered' }] }]);
  });

  it.each([500, 503, 529])('is asked again after a %i whose headers say when the limits of the account are renewed', async (status) => {
    const limits = {
      'x-ratelimit-remaining-requests': '199',
      'x-ratelimit-reset-requests': '6m0s',
      'x-ratelimit-remaining-tokens': '29000',
      'x-ratelimit-reset-tokens': '8.64s',
    };
    const up = await provider(fault(status, limits), fine);
    const { chat } = await gatewayOf(oneUpstream(up.url, policy()));
    expect([(await chat({})).status, up.asked.length]).toEqual([200, 2]);
    up.script(fault(status, limits));
    expect((await chat({})).headers.get('retry-after-ms')).toBeNull();
  });

  it('is asked again for a stream that has not begun', async () => {
    const up = await provider(streams([], { end: 'reset' }), streams(said('hello')));
    const { chat } = await gatewayOf(oneUpstream(up.url, policy()));
    expect(await readEvents(await chat({ stream: true }))).toMatchObject({ text: 'hello', done: true });
  });

  it('is asked once more, and no more often', async () => {
    const up = await provider(fault(503));
    const { chat } = await gatewayOf(oneUpstream(up.url, policy()));
    expect([(await chat({})).status, up.asked.length]).toEqual([503, 2]);
  });

  it('is asked as often as the policy says', async () => {
    const up = await provider(fault(503));
    const { chat } = await gatewayOf(oneUpstream(up.url, policy({ max_attempts: 9, retry: { same_target: 4 } })));
    await chat({});
    expect(up.asked).toHaveLength(5);
  });

  it('is asked no more often than max_attempts', async () => {
    const up = await provider(fault(503));
    const { chat } = await gatewayOf(oneUpstream(up.url, policy({ max_attempts: 2, retry: { same_target: 4 } })));
    await chat({});
    expect(up.asked).toHaveLength(2);
  });

  it.each([400, 401, 402, 403, 404, 413, 422])('is not asked again after a %i', async (status) => {
    const up = await provider(fault(status), fine);
    const { chat } = await gatewayOf(oneUpstream(up.url, policy()));
    expect((await chat({})).status).toBeGreaterThanOrEqual(400);
    expect(up.asked).toHaveLength(1);
  });

  it('is asked again only after its retry-after', async () => {
    let [refusedAt, askedAt] = [0, 0];
    const refuse: Step = (response, asked) => {
      refusedAt = performance.now();
      return fault(429, { 'retry-after-ms': '300' })(response, asked);
    };
    const answer: Step = (response, asked) => {
      askedAt = performance.now();
      return fine(response, asked);
    };
    const up = await provider(refuse, answer);
    const { chat } = await gatewayOf(oneUpstream(up.url, policy()));
    expect((await chat({})).status).toBe(200);
    expect(askedAt - refusedAt).toBeGreaterThanOrEqual(295);
  });

  it('is not asked again where it wants a pause longer than max_ms', async () => {
    const up = await provider(fault(429, { 'retry-after': '60' }), fine);
    const { chat } = await gatewayOf(oneUpstream(up.url, policy()));
    const response = await chat({});
    expect([response.status, response.headers.get('retry-after'), (await errorOf(response)).code, up.asked.length]).toEqual([
      429,
      '60',
      'upstream_rate_limited',
      1,
    ]);
  });

  it('is not asked again beyond the time of the request', async () => {
    const up = await provider(fault(429, { 'retry-after': '60' }), fine);
    const { chat } = await gatewayOf(oneUpstream(up.url, policy({ timeout_ms: { total: 50_000 }, retry: { max_ms: 60_000 } })));
    expect([(await chat({})).status, up.asked.length]).toEqual([429, 1]);
  });
});

describe('of two targets', () => {
  it('the other is asked before one is asked again', async () => {
    const [one, two] = [await provider(fault(503)), await provider(fault(503), fine)];
    const { chat, records } = await gatewayOf(twoUpstreams(one.url, two.url, policy({ max_attempts: 9 })));
    expect((await chat({})).status).toBe(200);
    expect(records[0]?.attempts.map(({ provider: id }) => id)).toEqual(['one', 'two', 'one', 'two']);
  });

  it.each([
    ['first', fault(429, { 'retry-after': '60' }), [fault(503), fine], ['one', 'two', 'two']],
    ['second', fault(503), [fault(429, { 'retry-after': '60' })], ['one', 'two', 'one']],
  ] as const)('the one with a long retry-after is skipped: the %s', async (_, first, second, order) => {
    const [one, two] = [await provider(first, fine), await provider(...second)];
    const { chat, records } = await gatewayOf(twoUpstreams(one.url, two.url, policy({ max_attempts: 9 })));
    expect((await chat({})).status).toBe(200);
    expect(records[0]?.attempts.map(({ provider: id }) => id)).toEqual(order);
  });

  it('only the one with a temporary failure is asked again', async () => {
    const [one, two] = [await provider(fault(401)), await provider(fault(503), fine)];
    const { chat, records } = await gatewayOf(twoUpstreams(one.url, two.url, policy({ max_attempts: 9 })));
    expect((await chat({})).status).toBe(200);
    expect(records[0]?.attempts.map(({ provider: id }) => id)).toEqual(['one', 'two', 'two']);
  });
});

describe('a prompt that is too long for a model', () => {
  const tooLong = answers({ error: { message: 'too long', code: 'context_length_exceeded' } }, { status: 400 });
  const models = (windows: readonly number[]): object => ({
    models: windows.map((length, at) => ({
      id: `m${at}`,
      context_length: length,
      pricing: { prompt: '0', completion: '0' },
      providers: [{ providerId: 'up', externalId: `m${at}` }],
    })),
    routing: { default: { strategy: 'ordered' }, models: { auto: { candidates: windows.map((_, at) => `m${at}`) } } },
  });

  it('goes to a model with a larger window and skips smaller ones', async () => {
    const up = await provider(tooLong, fine);
    const { chat, records } = await gatewayOf(oneUpstream(up.url, models([8000, 4000, 8000, 128_000]) as Record<string, unknown>));
    expect(await contentOf(await chat({ model: 'auto' }))).toBe('hello');
    expect(records[0]?.attempts.map(({ model }) => model)).toEqual(['m0', 'm3']);
  });

  it('is refused where no window is larger', async () => {
    const up = await provider(tooLong, fine);
    const { chat } = await gatewayOf(oneUpstream(up.url, models([8000, 4000]) as Record<string, unknown>));
    const response = await chat({ model: 'auto' });
    expect([response.status, (await errorOf(response)).code, up.asked.length]).toEqual([400, 'context_length_exceeded', 1]);
  });
});
