/** Targets that rest, over sockets: which targets are asked, and what callers get. */
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { States } from '../../../../core/host/state.ts';
import type { Explanation } from '../../../../core/pipeline/hooks.ts';
import { oneUpstream, twoUpstreams } from '../../../_kit/gateway.ts';
import type { TestGateway } from '../../../_kit/gateway.ts';
import { answers, completion, hangs } from '../../../_kit/upstream.ts';
import type { ScriptedUpstream, Step } from '../../../_kit/upstream.ts';
import { errorOf, gatewayOf, provider } from '../../../core/scene.ts';

const fault = (status: number, headers: Record<string, string> = {}): Step => answers({ error: { message: 'no' } }, { status, headers });
const fine = answers(completion('hello'));
const once = { routing: { default: { strategy: 'ordered', retry: { same_target: 0, base_ms: 10, max_ms: 300 } } } };

interface Pair extends TestGateway {
  readonly one: ScriptedUpstream;
  readonly two: ScriptedUpstream;
}

async function pair(one: Step[], two: Step[] = [fine], more: Record<string, unknown> = once): Promise<Pair> {
  const [first, second] = [await provider(...one), await provider(...two)];
  return { one: first, two: second, ...(await gatewayOf(twoUpstreams(first.url, second.url, more))) };
}

async function statusesOf({ chat }: TestGateway, times: number): Promise<number[]> {
  const statuses: number[] = [];
  for (let at = 0; at < times; at++) statuses.push((await chat({})).status);
  return statuses;
}

describe('a target that is limited', () => {
  it('is not asked while another target is available', async () => {
    const gateway = await pair([fault(429, { 'retry-after': '60' })]);
    expect(new Set(await statusesOf(gateway, 20))).toEqual(new Set([200]));
    expect([gateway.one.asked.length, gateway.two.asked.length]).toEqual([1, 20]);
    expect(gateway.records[1]?.ruledOut).toEqual([
      {
        provider: 'one',
        model: 'plain',
        by: 'route/health',
        reason: expect.stringMatching(/^rests for [56]\d s \(rate limit\)$/) as string,
      },
    ]);
  });

  it('is asked again when its rest is over', async () => {
    const gateway = await pair([fault(429, { 'retry-after-ms': '100' }), fine]);
    await gateway.chat({});
    await expect.poll(async () => (await gateway.chat({})).headers.get('x-provider')).toBe('one');
  });

  it('rests after a reload too', async () => {
    const one = await provider(fault(429, { 'retry-after': '60' }));
    const two = await provider(fine);
    const states = new States();
    const before = await gatewayOf(twoUpstreams(one.url, two.url, once), { states });
    await before.chat({});
    const after = await gatewayOf(twoUpstreams(one.url, two.url, once), { states });
    await after.chat({});
    expect([one.asked.length, two.asked.length]).toEqual([1, 2]);
  });
});

describe('a reload that replaces the key', () => {
  /** A gateway whose provider refuses one key and limits another; the next gateway has the state of the one before. */
  async function withKeys(): Promise<(keys: string | string[]) => Promise<TestGateway>> {
    const verdicts: Record<string, Step> = { 'Bearer revoked': fault(401), 'Bearer limited': fault(429, { 'retry-after': '60' }) };
    const up = await provider((response, asked) => (verdicts[asked.headers.authorization ?? ''] ?? fine)(response, asked));
    const states = new States();
    return (keys) =>
      gatewayOf(
        {
          ...once,
          providers: { up: { dialect: 'openai-chat', base_url: up.url, api_key: keys } },
          models: [{ id: 'plain', free: true, providers: [{ providerId: 'up' }] }],
        },
        { states },
      );
  }
  const statesOf = async ({ get }: TestGateway): Promise<string[]> =>
    ((await (await get('/api/targets')).json()) as { data: { target: string; state: string }[] }).data.map(
      ({ target, state }) => `${target} ${state}`,
    );

  it.each(['revoked', 'limited'])('ends the rest of a key that is %s: the new key is asked at once', async (key) => {
    const gatewayWith = await withKeys();
    expect(await statusesOf(await gatewayWith(key), 2)).not.toContain(200);
    const after = await gatewayWith('new');
    expect(await statesOf(after)).toEqual(['up/plain standing']);
    expect(await statusesOf(after, 1)).toEqual([200]);
  });

  it('ends the rest in the metrics too, before a request has asked the target', async () => {
    const gatewayWith = await withKeys();
    await statusesOf(await gatewayWith('revoked'), 1);
    expect(await (await (await gatewayWith('new')).get('/metrics')).text()).toContain('gateway_target_standing{target="up/plain"} 1');
  });

  it('ends no rest of a key that stays', async () => {
    const gatewayWith = await withKeys();
    await statusesOf(await gatewayWith('revoked'), 1);
    expect(await statesOf(await gatewayWith('revoked'))).toEqual(['up/plain resting']);
  });

  it('does not give the rest of a key that left a pool to another key', async () => {
    const gatewayWith = await withKeys();
    await statusesOf(await gatewayWith(['revoked', 'one', 'two']), 1);
    expect(await statesOf(await gatewayWith(['one', 'two']))).toEqual(['up#1/plain standing', 'up#2/plain standing']);
  });
});

describe('a dead target', () => {
  it('is asked five times, and then rests', async () => {
    const gateway = await pair([fault(503)]);
    expect(new Set(await statusesOf(gateway, 30))).toEqual(new Set([200]));
    expect(gateway.one.asked).toHaveLength(5);
  });

  it('is asked as often as its circuit breaker allows', async () => {
    const [one, two] = [await provider(fault(503)), await provider(fine)];
    const config = twoUpstreams(one.url, two.url, once) as { providers: { one: object } };
    const gateway = await gatewayOf({
      ...config,
      providers: { ...config.providers, one: { ...config.providers.one, breaker: { failures: 2 } } },
    });
    await statusesOf(gateway, 10);
    expect(one.asked).toHaveLength(2);
  });

  it('is always asked where its circuit breaker is off', async () => {
    const [one, two] = [await provider(fault(503)), await provider(fine)];
    const config = twoUpstreams(one.url, two.url, once) as { providers: { one: object } };
    const gateway = await gatewayOf({ ...config, providers: { ...config.providers, one: { ...config.providers.one, breaker: false } } });
    await statusesOf(gateway, 10);
    expect(one.asked).toHaveLength(10);
  });

  it('is tried by one request when its rest is over, while other requests go to another target', async () => {
    const [one, two] = [await provider(fault(503)), await provider(fine)];
    const config = twoUpstreams(one.url, two.url, once) as { providers: { one: object } };
    const gateway = await gatewayOf({
      ...config,
      providers: { ...config.providers, one: { ...config.providers.one, breaker: { failures: 1, rest_ms: 50 } } },
    });
    await gateway.chat({});
    one.script(hangs);
    const left = new AbortController();
    const tries = (async () => {
      for (let asked = one.asked.length; one.asked.length === asked;) {
        await Promise.race([
          gateway.post({ model: 'plain', messages: [{ role: 'user', content: 'hi' }] }, { signal: left.signal }),
          new Promise((resolve) => setTimeout(resolve, 60)),
        ]).catch(() => {});
      }
    })();
    await tries;
    const asked = one.asked.length;
    expect(await statusesOf(gateway, 5)).toEqual([200, 200, 200, 200, 200]);
    expect(one.asked).toHaveLength(asked);
    left.abort();
  });
});

describe('where every target rests', () => {
  it('after a limit, a caller gets retry-after at once, and no provider is asked', async () => {
    const up = await provider(fault(429, { 'retry-after': '60' }));
    const { chat } = await gatewayOf(oneUpstream(up.url, once));
    await chat({});
    const response = await chat({});
    const seconds = response.headers.get('retry-after') ?? '';
    expect([response.status, Number(seconds) > 50]).toEqual([429, true]);
    expect(await errorOf(response)).toMatchObject({
      code: 'upstream_rate_limited',
      message: `The providers of "plain" are rate limited; the next try is possible in ${seconds} s.`,
    });
    expect(up.asked).toHaveLength(1);
  });

  it('after failures, a caller gets retry-after at once', async () => {
    const up = await provider(fault(503));
    const { chat, records } = await gatewayOf(oneUpstream(up.url, once));
    for (let at = 0; at < 10; at++) await chat({});
    const response = await chat({});
    expect([response.status, Number(response.headers.get('retry-after')) > 0, (await errorOf(response)).code, up.asked.length]).toEqual([
      503,
      true,
      'no_provider_available',
      10,
    ]);
    expect(records.at(-1)).toMatchObject({
      outcome: 'refused',
      attempts: [],
      ruledOut: [{ by: 'route/health', reason: expect.stringMatching(/^rests for \d s \(failures\)$/) as string }],
    });
  });

  it.each([
    ['60', '20'],
    ['20', '60'],
  ])('after %s s and %s s of two targets, a caller gets the shorter one', async (...[one, two]) => {
    const { chat } = await pair([fault(429, { 'retry-after': one })], [fault(429, { 'retry-after': two })]);
    await chat({});
    expect(Number((await chat({})).headers.get('retry-after'))).toBeOneOf([19, 20]);
  });

  it('a dry run says for which target a request waits', async () => {
    const { chat } = await pair([fault(429, { 'retry-after': '60' })], [fault(429, { 'retry-after': '20' })], {
      routing: { default: { strategy: 'ordered', retry: { same_target: 0, max_ms: 30_000 } } },
    });
    await chat({});
    const { candidates } = (await (await chat({}, { 'x-dry-run': 'true' })).json()) as Explanation;
    expect(candidates).toMatchObject([
      { provider: 'two', standing: true, reason: expect.stringMatching(/; rests for \d+ s \(rate limit\); the request waits until then$/) },
      { provider: 'one', standing: false, reason: expect.stringMatching(/^rests for \d+ s \(rate limit\)$/) },
    ]);
  });

  it('a request waits for the first rest to end, where that is soon', async () => {
    const up = await provider(fault(429, { 'retry-after-ms': '200' }), fine);
    const { chat } = await gatewayOf(oneUpstream(up.url, once));
    expect((await chat({})).status).toBe(429);
    expect([(await chat({})).status, up.asked.length]).toEqual([200, 2]);
  });
});

it('a refused key rests for a minute', async () => {
  const gateway = await pair([fault(401)]);
  await statusesOf(gateway, 5);
  expect(gateway.one.asked).toHaveLength(1);
  expect(gateway.records.at(-1)?.ruledOut).toMatchObject([
    { reason: expect.stringMatching(/^rests for [56]\d s \(refused key\)$/) as string },
  ]);
});

describe('where every key is refused', () => {
  const retryOf = ({ status, headers }: Response): unknown[] => [
    status,
    headers.get('retry-after') !== null,
    headers.get('x-should-retry'),
  ];

  it('a caller is told not to try again, as the caller before was, whose request was refused', async () => {
    const up = await provider(fault(401));
    const { chat } = await gatewayOf(oneUpstream(up.url, once));
    expect(retryOf(await chat({}))).toEqual([502, false, 'false']);
    expect(retryOf(await chat({}))).toEqual([503, true, 'false']);
    expect(await errorOf(await chat({}))).toMatchObject({
      code: 'no_provider_available',
      message: expect.stringMatching(/^The providers of "plain" refuse their keys; the next try is possible in [56]\d s\.$/) as string,
    });
    expect(up.asked).toHaveLength(1);
  });

  it('but another request tries one of them, a caller may try again', async () => {
    vi.useFakeTimers({ toFake: ['performance'], shouldAdvanceTime: true });
    onTestFinished(() => void vi.useRealTimers());
    const up = await provider(fault(401), hangs);
    const { chat } = await gatewayOf(oneUpstream(up.url, once));
    await chat({});
    vi.advanceTimersByTime(60_000);
    void chat({}).catch(() => {});
    await expect.poll(() => up.asked.length).toBe(2);
    expect(retryOf(await chat({}))).toEqual([503, true, null]);
  });

  it('but one target rests after failures, a caller may try again', async () => {
    const gateway = await pair([fault(401)], [fault(503)]);
    await statusesOf(gateway, 12);
    expect(retryOf(await gateway.chat({}))).toEqual([503, true, null]);
  });
});

it('errors of callers put no target to rest', async () => {
  const gateway = await pair([fault(400)]);
  expect(new Set(await statusesOf(gateway, 30))).toEqual(new Set([400]));
  expect(gateway.one.asked).toHaveLength(30);
});

it('a file that the caller names and the key may not read puts no target to rest, and another target is asked', async () => {
  const gateway = await pair([
    answers({ error: { message: 'You do not have permission to access the File f1 or it may not exist.' } }, { status: 403 }),
  ]);
  expect(new Set(await statusesOf(gateway, 30))).toEqual(new Set([200]));
  expect(gateway.one.asked).toHaveLength(30);
});

it.each([403, 404])(
  'a %d does not put a target to rest that answers other requests, because the caller may have named a wrong file',
  async (status) => {
    const refusing: Step = (response, asked) => (asked.text.includes('file of nobody') ? fault(status) : fine)(response, asked);
    const gateway = await pair([refusing]);
    const served = async (content: string): Promise<string | null> =>
      (await gateway.chat({ messages: [{ role: 'user', content }] })).headers.get('x-provider');
    expect(await served('hi')).toBe('one');
    for (let at = 0; at < 12; at++) expect(await served('file of nobody')).toBe('two');
    expect([await served('hi'), gateway.one.asked.length]).toEqual(['one', 14]);
  },
);

it.each([
  ['a key that is wrong', (name: string) => `${name}: Extra inputs are not permitted`, 'invalid api key'],
  ['a key that is wrong, in capitals', (name: string) => `Unrecognized request argument supplied: ${name}`, 'INCORRECT API key'],
  ['a key that is wrong, behind a quote', (name: string) => `Invalid 'metadata.${name}': string too long.`, "x'api key"],
  ['an empty account', (name: string) => `${name}: Extra inputs are not permitted`, 'credit balance is too low'],
  ['a spent quota', (name: string) => `${name}: Extra inputs are not permitted`, 'you exceeded your current quota'],
  ['an unknown model', (name: string) => `${name}: Extra inputs are not permitted`, 'x is not a valid model id'],
  ['a place that is not served', (name: string) => `${name}: Extra inputs are not permitted`, 'operation not allowed'],
])('a field of the caller whose name says that there is %s puts no target to rest', async (_, refusal, name) => {
  const up = await provider(answers({ error: { message: refusal(name) } }, { status: 400 }));
  const { chat } = await gatewayOf(oneUpstream(up.url, once));
  for (let at = 0; at < 12; at++) expect((await chat({ [name]: 1 })).status).toBe(400);
  expect(up.asked).toHaveLength(12);
});

describe('a count of tokens', () => {
  const reply = answers({ type: 'message', role: 'assistant', content: [{ type: 'text', text: 'Yes.' }], stop_reason: 'end_turn' });
  const isCount = (url: string): boolean => url.endsWith('/count_tokens');

  /** The status of a message after more counts than failures that make a target rest. */
  async function afterCounts(step: Step): Promise<number> {
    const up = await provider((response, asked) => (isCount(asked.url) ? step : reply)(response, asked));
    const { post } = await gatewayOf({
      ...once,
      providers: { up: { dialect: 'anthropic', base_url: up.url, api_key: 'k' } },
      models: [{ id: 'claude', free: true, providers: [{ providerId: 'up' }] }],
    });
    const asked = { model: 'claude', max_tokens: 5, messages: [{ role: 'user', content: 'Hi' }] };
    for (let at = 0; at < 12; at++) await post(asked, { path: '/v1/messages/count_tokens' });
    return (await post(asked, { path: '/v1/messages' })).status;
  }

  it.each([
    ['the provider has no such path', fault(404)],
    ['the path takes no such request', fault(405)],
    ['the key may not count', fault(403)],
    ['the limit of counts is used up', fault(429, { 'retry-after': '60' })],
  ])('puts no target to rest where %s', async (_, step) => {
    expect(await afterCounts(step)).toBe(200);
  });

  it('puts the target to rest where the key is refused', async () => {
    expect(await afterCounts(fault(401))).toBe(503);
  });

  it('does not wait for another count after the rest of its target', async () => {
    const counted = answers({ input_tokens: 5 });
    const up = await provider(fault(401));
    const { post } = await gatewayOf({
      ...once,
      providers: { up: { dialect: 'anthropic', base_url: up.url, api_key: 'k' } },
      models: [{ id: 'claude', free: true, providers: [{ providerId: 'up' }] }],
    });
    const count = async (): Promise<number> =>
      (await post({ model: 'claude', messages: [{ role: 'user', content: 'Hi' }] }, { path: '/v1/messages/count_tokens' })).status;
    await count();
    const now = performance.now.bind(performance);
    const later = vi.spyOn(performance, 'now').mockImplementation(() => now() + 61_000);
    const waiting: (() => unknown)[] = [];
    up.script((response, asked) => {
      waiting.push(() => counted(response, asked));
      // the provider answers when it has got them all
      if (waiting.length === 3) for (const answer of waiting) answer();
    });
    expect(await Promise.all([count(), count(), count()])).toEqual([200, 200, 200]);
    later.mockRestore();
  });
});
