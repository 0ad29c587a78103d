/**
 * Which requests may ask a target after a rest, and what ends or lengthens a
 * rest, over sockets: with clients that leave, long streams and late answers.
 */
import { describe, expect, it } from 'vitest';
import type { ShownTarget } from '../../../../plugins/route/health/routes.ts';
import { oneUpstream, twoUpstreams } from '../../../_kit/gateway.ts';
import type { TestGateway } from '../../../_kit/gateway.ts';
import { answers, completion, event, hangs, pause, streams } from '../../../_kit/upstream.ts';
import type { ScriptedUpstream, Step } from '../../../_kit/upstream.ts';
import { errorOf, gatewayOf, probe, provider } from '../../../core/scene.ts';

const fault = (status: number, headers: Record<string, string> = {}): Step => answers({ error: { message: 'no' } }, { status, headers });
const limited = fault(429, { 'retry-after': '60' });
/** A request that comes before the end of the rest waits for it. */
const limitedBriefly = fault(429, { 'retry-after-ms': '1' });
const fine = answers(completion('hello'));
const long = streams([event({ role: 'assistant', content: 'a' })], { end: 'hang' });
const once = { routing: { default: { strategy: 'ordered', retry: { same_target: 0, base_ms: 10, max_ms: 600 } } } };

/** Sends a request whose client can disconnect. */
function asks(gateway: TestGateway, more: object = {}): { readonly response: Promise<Response | null>; leave(): void } {
  const controller = new AbortController();
  const body = { model: 'plain', messages: [{ role: 'user', content: 'hi' }], ...more };
  const response = gateway.post(body, { signal: controller.signal }).catch(() => null);
  return { response, leave: () => controller.abort() };
}

const stateOf = async (gateway: TestGateway, name: string): Promise<string | undefined> => {
  const { data } = (await (await gateway.get('/api/targets')).json()) as { data: ShownTarget[] };
  return data.find(({ target }) => target === name)?.state;
};

/** How often a target was put to rest for a limit. */
async function restsOf(gateway: TestGateway, target: string): Promise<number> {
  const text = await (await gateway.get('/metrics')).text();
  const line = text
    .split('\n')
    .find((one) => one.startsWith('gateway_target_rests_total') && one.includes(`"${target}"`) && one.includes('"rate limit"'));
  return Number(line?.split(' ').at(-1));
}

/** Answers with the step when the test allows it. */
function held(step: Step): { readonly step: Step; goOn(): void } {
  const told = Promise.withResolvers<void>();
  return {
    goOn: told.resolve,
    step: async (response, asked) => {
      await told.promise;
      await step(response, asked);
    },
  };
}

it('a client that leaves while it waits for the end of a rest leaves the target to other requests', async () => {
  const up = await provider(limitedBriefly, hangs, fine);
  let routed = 0;
  const counting = probe(({ hooks }) => hooks.route.tap((candidates) => (routed++, candidates)));
  const gateway = await gatewayOf(oneUpstream(up.url, once), { plugins: [counting] });
  expect((await gateway.chat({})).status).toBe(429);
  const trying = asks(gateway);
  await expect.poll(() => up.asked.length).toBe(2);
  const waiting = asks(gateway);
  await expect.poll(() => routed).toBe(3);
  waiting.leave();
  await expect.poll(() => gateway.records.length).toBe(2);
  trying.leave();
  await expect.poll(() => gateway.records.length).toBe(3);
  // a waiting request looks every 20 ms
  await pause(600);
  expect([(await gateway.chat({})).status, up.asked.length]).toEqual([200, 3]);
});

describe('a request that tries a target', () => {
  it('lets other requests ask it as soon as a long stream begins', async () => {
    const up = await provider(limitedBriefly, long, fine);
    const gateway = await gatewayOf(oneUpstream(up.url, once));
    expect((await gateway.chat({})).status).toBe(429);
    const trying = asks(gateway, { stream: true });
    expect((await trying.response)?.status).toBe(200);
    expect((await gateway.chat({})).status).toBe(200);
    trying.leave();
  });

  it('is waited for where every other target rests for longer than a request may wait', async () => {
    const first = held(fine);
    const up = [await provider(limitedBriefly, first.step), await provider(fault(429, { 'retry-after': '600' }))] as const;
    let routed = 0;
    const counting = probe(({ hooks }) => hooks.route.tap((candidates) => (routed++, candidates)));
    const gateway = await gatewayOf(
      twoUpstreams(up[0].url, up[1].url, {
        routing: { default: { strategy: 'ordered', retry: { same_target: 0, base_ms: 10, max_ms: 30_000 } } },
      }),
      { plugins: [counting] },
    );
    expect((await gateway.chat({})).status).toBe(429);
    const trying = asks(gateway);
    await expect.poll(() => up[0].asked.length).toBe(2);
    const waiting = asks(gateway);
    await expect.poll(() => routed).toBe(3);
    first.goOn();
    expect([(await trying.response)?.status, (await waiting.response)?.status]).toEqual([200, 200]);
  });

  /** Two providers: the first is asked first, and the second may be tried after its rest. */
  async function pair(first: Step): Promise<TestGateway & { readonly one: ScriptedUpstream }> {
    const [one, two] = [await provider(first, fault(503)), await provider(limitedBriefly, fine)];
    const gateway = await gatewayOf(twoUpstreams(one.url, two.url, once));
    expect((await gateway.chat({ model: 'two/plain' })).status).toBe(429);
    await expect.poll(async () => await stateOf(gateway, 'two/plain-1')).toBe('trying');
    return { ...gateway, one };
  }

  it('leaves the trial to other requests where another target answers with a long stream', async () => {
    const gateway = await pair(long);
    const streaming = asks(gateway, { stream: true });
    expect((await streaming.response)?.headers.get('x-provider')).toBe('one');
    expect((await gateway.chat({})).headers.get('x-provider')).toBe('two');
    streaming.leave();
  });

  it('leaves the trial to other requests where another target does not answer for long', async () => {
    const gateway = await pair(hangs);
    const waiting = asks(gateway);
    await expect.poll(() => gateway.one.asked.length).toBe(1);
    expect((await gateway.chat({})).headers.get('x-provider')).toBe('two');
    waiting.leave();
  });
});

describe('a rest for a limit', () => {
  it('continues when a request that was sent before is answered', async () => {
    const late = held(fine);
    const up = await provider(late.step, limited, fine);
    const gateway = await gatewayOf(oneUpstream(up.url, once));
    const slow = gateway.chat({});
    await expect.poll(() => up.asked.length).toBe(1);
    expect((await gateway.chat({})).status).toBe(429);
    late.goOn();
    expect((await slow).status).toBe(200);
    expect([(await gateway.chat({})).status, up.asked.length]).toEqual([429, 2]);
  });

  it('counts once where ten requests are refused at once', async () => {
    const late = held(fault(429));
    const up = await provider(late.step);
    const gateway = await gatewayOf(oneUpstream(up.url, once));
    const all = Array.from({ length: 10 }, () => gateway.chat({}));
    await expect.poll(() => up.asked.length).toBe(10);
    late.goOn();
    expect(new Set((await Promise.all(all)).map(({ status }) => status))).toEqual(new Set([429]));
    expect(await restsOf(gateway, 'up/plain-1')).toBe(1);
  });
});

describe('a refused key', () => {
  const byModel =
    (steps: Readonly<Record<string, Step>>): Step =>
    (response, asked) =>
      (steps[String(asked.json['model'])] ?? fine)(response, asked);

  it('keeps resting when the client of a request that was sent before leaves', async () => {
    const up = await provider(byModel({ 'thinker-1': hangs, 'plain-1': fault(401) }));
    const gateway = await gatewayOf(oneUpstream(up.url, once));
    const slow = asks(gateway, { model: 'thinker' });
    await expect.poll(() => up.asked.length).toBe(1);
    await gateway.chat({});
    slow.leave();
    await expect.poll(() => gateway.records.length).toBe(2);
    expect([(await gateway.chat({ model: 'budgeted' })).status, up.asked.length]).toEqual([503, 2]);
  });

  it('keeps resting when a request that was sent before is answered', async () => {
    const late = held(fine);
    const up = await provider(byModel({ 'thinker-1': late.step, 'plain-1': fault(401) }));
    const gateway = await gatewayOf(oneUpstream(up.url, once));
    const slow = gateway.chat({ model: 'thinker' });
    await expect.poll(() => up.asked.length).toBe(1);
    await gateway.chat({});
    late.goOn();
    expect((await slow).status).toBe(200);
    expect([(await gateway.chat({ model: 'budgeted' })).status, up.asked.length]).toEqual([503, 2]);
  });

  it('is one line of the process log, however many models are asked with it', async () => {
    const refused = held(fault(401));
    const up = await provider(refused.step);
    const gateway = await gatewayOf(oneUpstream(up.url, once));
    const all = ['plain', 'plain', 'thinker'].map((model) => gateway.chat({ model }));
    await expect.poll(() => up.asked.length).toBe(3);
    refused.goOn();
    await Promise.all(all);
    expect(gateway.lines.map((line) => JSON.parse(line)).filter(({ level }) => level === 'warn')).toMatchObject([
      {
        msg: 'a target rests, because its key is refused',
        target: expect.stringMatching(/^up\//),
        code: 'upstream_auth_error',
        status: 401,
      },
    ]);
  });
});

it('a request that a limit refuses leaves the trial to the next request', async () => {
  const up = await provider(limitedBriefly, fine);
  const gateway = await gatewayOf({ ...oneUpstream(up.url, once), limits: [{ by: 'all', tokens_per_minute: 1000 }] });
  expect((await gateway.chat({ max_tokens: 5 })).status).toBe(429);
  const refused = await gateway.chat({ max_tokens: 5000 });
  expect((await errorOf(refused)).code).toBe('rate_limit_exceeded');
  expect([(await gateway.chat({ max_tokens: 5 })).status, up.asked.length]).toEqual([200, 2]);
});

it('only a request that asks the target counts as a try', async () => {
  const [one, two] = [await provider(fine), await provider(limitedBriefly, fine)];
  const gateway = await gatewayOf(twoUpstreams(one.url, two.url));
  const tries = async (): Promise<string | undefined> =>
    (await (await gateway.get('/metrics')).text()).split('\n').find((line) => line.startsWith('gateway_target_probes_total'));
  expect((await gateway.chat({ model: 'two/plain' })).status).toBe(429);
  await expect.poll(() => stateOf(gateway, 'two/plain-1')).toBe('trying');
  for (let at = 0; at < 3; at++) await gateway.chat({});
  expect([one.asked.length, two.asked.length, await tries()]).toEqual([3, 1, undefined]);
  expect((await gateway.chat({ model: 'two/plain' })).status).toBe(200);
  expect(await tries()).toMatch(/"two\/plain-1"\} 1$/);
});
