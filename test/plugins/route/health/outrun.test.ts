/** Targets that hang and are outrun by the hedge of `hedge_ms` each time, over sockets. */
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Candidate } from '../../../../core/pipeline/context.ts';
import { LATE } from '../../../../core/pipeline/hooks.ts';
import { cpuMsOf } from '../../../_kit/cpu.ts';
import { oneUpstream, twoUpstreams } from '../../../_kit/gateway.ts';
import type { TestGateway } from '../../../_kit/gateway.ts';
import { answers, completion, hangs, pause } from '../../../_kit/upstream.ts';
import type { Asked, ScriptedUpstream, Step } from '../../../_kit/upstream.ts';
import { Outrun } from '../../../../plugins/route/health/outrun.ts';
import type { ShownTarget } from '../../../../plugins/route/health/routes.ts';
import { gatewayOf, probe, provider } from '../../../core/scene.ts';

const fine = answers(completion('hello'));
const slow: Step = async (response, asked) => {
  await pause(600);
  await fine(response, asked);
};

interface Pair extends TestGateway {
  readonly one: ScriptedUpstream;
  readonly two: ScriptedUpstream;
  /** The provider that each request was to ask first. */
  readonly routed: string[];
}

async function pair(one: Step, two: Step, breaker: object | false, models: object = {}): Promise<Pair> {
  const [first, second] = [await provider(one), await provider(two)];
  const config = twoUpstreams(first.url, second.url, {
    routing: { default: { strategy: 'ordered', hedge_ms: 200, retry: { same_target: 0 } }, models },
  }) as { providers: { one: object; two: object } };
  const providers = { one: { ...config.providers.one, breaker }, two: { ...config.providers.two, breaker } };
  const routed: string[] = [];
  const noting = probe(({ hooks }) =>
    hooks.route.tap({ stage: LATE + 1 }, (candidates) => (routed.push(candidates[0]?.provider.id ?? ''), candidates)),
  );
  return { one: first, two: second, routed, ...(await gatewayOf({ ...config, providers }, { plugins: [noting] })) };
}

async function firstAsked({ chat, records }: TestGateway, times: number): Promise<string[]> {
  const from = records.length;
  for (let at = 0; at < times; at++) await chat({});
  return records.slice(from).map(({ attempts }) => attempts.toSorted((a, b) => (a.startedMs ?? 0) - (b.startedMs ?? 0))[0]?.provider ?? '');
}

describe('a target that is outrun each time', () => {
  it('is asked after the others, so that no request waits for it', async () => {
    const gateway = await pair(hangs, fine, { failures: 3, rest_ms: 60_000 });
    expect(await firstAsked(gateway, 8)).toEqual(['one', 'one', 'one', 'two', 'two', 'two', 'two', 'two']);
  });

  it('is asked first by one request when its time is over, and by all requests after an answer', async () => {
    // a rest ends when the test says so, and no machine is too slow for it
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const gateway = await pair(hangs, fine, { failures: 1, rest_ms: 60_000 });
    await gateway.chat({});
    vi.advanceTimersByTime(61_000);
    await Promise.all([1, 2, 3].map(() => gateway.chat({})));
    expect(gateway.routed.slice(1).toSorted()).toEqual(['one', 'two', 'two']);
    gateway.one.script(fine);
    vi.advanceTimersByTime(121_000);
    for (let at = 0; at < 3; at++) await gateway.chat({});
    expect(gateway.routed.slice(4)).toEqual(['one', 'one', 'one']);
  });

  it('is still asked where the others fail', async () => {
    const gateway = await pair(hangs, fine, { failures: 1, rest_ms: 60_000 });
    expect(await firstAsked(gateway, 2)).toEqual(['one', 'two']);
    gateway.one.script(fine);
    gateway.two.script(answers({ error: { message: 'no' } }, { status: 503 }));
    const response = await gateway.chat({});
    expect([response.status, response.headers.get('x-provider'), gateway.records[2]?.ruledOut]).toEqual([200, 'one', []]);
  });

  it('is named in a dry run, which does not ask it', async () => {
    const gateway = await pair(hangs, fine, { failures: 1, rest_ms: 60_000 });
    await gateway.chat({});
    const { candidates } = (await (await gateway.chat({}, { 'x-dry-run': 'true' })).json()) as {
      candidates: { provider: string; standing: boolean; reason: string }[];
    };
    expect(candidates.map(({ provider: id, standing }) => [id, standing])).toEqual([
      ['two', true],
      ['one', true],
    ]);
    expect(candidates[1]?.reason).toMatch(/was outrun again and again, so the others are asked before it for \d+ s/);
  });

  it('is listed with the time until which it is asked last, unless it is woken', async () => {
    const gateway = await pair(hangs, fine, { failures: 1, rest_ms: 60_000 });
    await gateway.chat({});
    const listed = async (): Promise<readonly ShownTarget[]> =>
      ((await (await gateway.get('/api/targets')).json()) as { data: ShownTarget[] }).data;
    const [one, two] = await listed();
    expect([one, two]).toMatchObject([
      { target: 'one/plain-1', state: 'standing', why: null },
      { target: 'two/plain-1', state: 'standing' },
    ]);
    const forMs = Date.parse(one?.askedLastUntil ?? '') - Date.now();
    expect(forMs).toBeGreaterThan(0);
    expect(forMs).toBeLessThanOrEqual(60_000);
    const woken = await gateway.post('', { path: '/api/targets/wake?name=one%2Fplain-1' });
    for (const target of [two, (await woken.json()) as ShownTarget, ...(await listed())]) {
      expect(target).not.toHaveProperty('askedLastUntil');
    }
  });

  it.each([
    ['in any policy', {}],
    ['where a request has no session', { sticky: 'meta.session-id' }],
  ])('gives its share evenly to all others, not to the next one, %s', async (_, more) => {
    const [bad, good] = [await provider(hangs), await provider(fine)];
    const ids = ['a', 'b', 'c', 'd'];
    const gateway = await gatewayOf({
      providers: Object.fromEntries(
        ids.map((id) => [
          id,
          { dialect: 'openai-chat', base_url: id === 'a' ? bad.url : good.url, api_key: 'k', breaker: { failures: 1, rest_ms: 60_000 } },
        ]),
      ),
      models: [{ id: 'plain', free: true, providers: ids.map((providerId) => ({ providerId, externalId: 'x' })) }],
      routing: { default: { strategy: 'weighted', hedge_ms: 400, ...more } },
    });
    const served = (await firstAsked(gateway, 40)).slice(4);
    for (const id of ['b', 'c', 'd']) expect(Math.abs(served.filter((one) => one === id).length - 12)).toBeLessThanOrEqual(2);
  });

  it('gives the turns of its key evenly to all other keys', async () => {
    const keyOf = ({ headers }: Asked): string => String(headers.authorization).replace('Bearer ', '');
    const up = await provider((response, asked) => (keyOf(asked) === 'a' ? hangs : fine)(response, asked));
    const gateway = await gatewayOf({
      ...oneUpstream(up.url, { routing: { default: { strategy: 'ordered', hedge_ms: 400 } } }),
      providers: {
        up: { dialect: 'openai-chat', base_url: up.url, api_key: ['a', 'b', 'c', 'd'], breaker: { failures: 1, rest_ms: 60_000 } },
      },
    });
    await firstAsked(gateway, 1);
    const before = up.asked.length;
    await firstAsked(gateway, 12);
    expect(up.asked.slice(before).map(keyOf).toSorted().join('')).toBe('bbbbccccdddd');
  });

  it('stays after a model of the fallbacks where a limit changes the order', async () => {
    const [bad, good] = [await provider(hangs), await provider(fine)];
    const gateway = await gatewayOf({
      providers: {
        one: { dialect: 'openai-chat', base_url: bad.url, api_key: 'k', breaker: { failures: 1, rest_ms: 60_000 } },
        two: { dialect: 'openai-chat', base_url: good.url, api_key: 'k' },
      },
      models: ['plain', 'other'].map((id, at) => ({ id, free: true, providers: [{ providerId: ['one', 'two'][at], externalId: 'x' }] })),
      routing: { default: { strategy: 'ordered', hedge_ms: 200 }, models: { plain: { fallbacks: ['other'] } } },
      limits: [{ by: 'all', budget: { dollars: '1', per: 'day', unknown: 'refuse' } }],
    });
    expect(await firstAsked(gateway, 3)).toEqual(['one', 'two', 'two']);
  });

  it('keeps its place in a policy with a longer `hedge_ms`', async () => {
    const gateway = await pair(hangs, fine, { failures: 1, rest_ms: 60_000 }, { patient: { candidates: ['plain'], hedge_ms: 5000 } });
    expect(await firstAsked(gateway, 2)).toEqual(['one', 'two']);
    gateway.one.script(fine);
    await gateway.chat({ model: 'patient' });
    expect(gateway.records.at(-1)?.provider).toBe('one');
  });

  it('stays first where its circuit breaker is off', async () => {
    const gateway = await pair(hangs, fine, false);
    expect(await firstAsked(gateway, 4)).toEqual(['one', 'one', 'one', 'one']);
  });
});

it('a target that had less time than the target that outran it keeps its place', async () => {
  const gateway = await pair(slow, hangs, { failures: 1, rest_ms: 60_000 });
  expect(await firstAsked(gateway, 3)).toEqual(['one', 'one', 'one']);
  gateway.one.script(answers({ error: { message: 'no' } }, { status: 429, headers: { 'retry-after': '60' } }));
  gateway.two.script(fine);
  await gateway.chat({});
  expect(await firstAsked(gateway, 2)).toEqual(['two', 'two']);
});

it('targets that were outrun are found among thousands in linear time', () => {
  const ordering = (size: number): (() => void) => {
    const outrun = new Outrun();
    const candidates = Array.from({ length: size }, (_, at) => ({ target: `t-${at}`, dropped: null, answeredBy: null })) as Candidate[];
    const seen = { hedgeMs: 200, breaker: { failures: 1, restMs: 600_000 }, startedAt: 0, now: performance.now() };
    for (const { target } of candidates.slice(size / 2)) outrun.count(target, seen);
    return () => expect(outrun.inOrder(candidates.toReversed(), 200, false)[0]).toBe(candidates[size / 2 - 1]);
  };
  const [few, many] = [ordering(1000), ordering(32_000)];
  few();
  const some = cpuMsOf(() => Array.from({ length: 32 }, few));
  expect(cpuMsOf(many)).toBeLessThan(10 + 4 * some);
});
