/** route/policy: the order in which candidates are tried. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Explanation } from '../../../core/pipeline/hooks.ts';
import { Shares } from '../../../plugins/route/policy/shares.ts';
import { twoUpstreams } from '../../_kit/gateway.ts';
import { answers, completion, event, hangs, said, streams } from '../../_kit/upstream.ts';
import type { Step } from '../../_kit/upstream.ts';
import { gatewayOf, provider } from '../../core/scene.ts';

// only the provider moves the clock that measures its speed, so the time of other work is not measured
beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }));
afterEach(() => void vi.useRealTimers());

/** An answer of the Messages API. */
const message = { type: 'message', role: 'assistant', content: [{ type: 'text', text: 'Yes.' }], stop_reason: 'end_turn' };

const price = (prompt: string, completion: string): object => ({ prompt, completion });

async function order(strategy: string, pricing: readonly (object | undefined)[], times = 1): Promise<string[][]> {
  const up = await provider(answers({ error: { message: 'no' } }, { status: 500 }));
  const ids = pricing.map((_, at) => `p${at}`);
  const { chat, records } = await gatewayOf({
    providers: Object.fromEntries(ids.map((id) => [id, { dialect: 'openai-chat', base_url: up.url, api_key: 'k' }])),
    models: [
      {
        id: 'plain',
        pricing: price('0.5', '0.5'),
        providers: ids.map((providerId, at) => ({ providerId, externalId: 'x', ...(pricing[at] && { pricing: pricing[at] }) })),
      },
    ],
    routing: { default: { strategy, max_attempts: 9, retry: { same_target: 0 } } },
  });
  for (let at = 0; at < times; at++) await chat({});
  return records.map(({ attempts }) => attempts.map(({ provider: id }) => id));
}

describe('route/policy', () => {
  it('ordered follows the file', async () => {
    expect(await order('ordered', [price('3', '3'), price('1', '1'), price('2', '2')], 2)).toEqual([
      ['p0', 'p1', 'p2'],
      ['p0', 'p1', 'p2'],
    ]);
  });

  it('balanced begins each request at the next candidate', async () => {
    expect(await order('balanced', [undefined, undefined, undefined], 4)).toEqual([
      ['p0', 'p1', 'p2'],
      ['p1', 'p2', 'p0'],
      ['p2', 'p0', 'p1'],
      ['p0', 'p1', 'p2'],
    ]);
  });

  it('cheapest orders by price', async () => {
    expect(await order('cheapest', [price('3', '3'), price('1', '1'), price('2', '2')])).toEqual([['p1', 'p2', 'p0']]);
  });

  it('cheapest weighs three prompt tokens and one of the answer', async () => {
    expect(await order('cheapest', [price('2', '1'), price('1', '3')])).toEqual([['p1', 'p0']]);
  });

  it('cheapest compares prices as decimals, not as text', async () => {
    expect(await order('cheapest', [price('0.00001', '0.00001'), price('0.000009', '0.000009'), price('0.0000000001', '0')])).toEqual([
      ['p2', 'p1', 'p0'],
    ]);
  });

  it('cheapest uses the price of the hour', async () => {
    const always = { ...price('1', '1'), peak: { hours: ['00:00-12:00', '12:00-00:00'], prompt: '9' } };
    expect(await order('cheapest', [always, price('2', '2')])).toEqual([['p1', 'p0']]);
  });

  it('cheapest tells a dry run each price, and which one is not known', async () => {
    const { chat } = await gatewayOf({
      providers: Object.fromEntries(['a', 'b'].map((id) => [id, { dialect: 'openai-chat', base_url: 'http://127.0.0.1:1', api_key: 'k' }])),
      models: [
        {
          id: 'plain',
          providers: [
            { providerId: 'a', externalId: 'x' },
            { providerId: 'b', externalId: 'x', pricing: price('0.000001', '0.000002') },
          ],
        },
      ],
      routing: { default: { strategy: 'cheapest' } },
    });
    const { candidates } = (await (await chat({}, { 'x-dry-run': 'true' })).json()) as Explanation;
    expect(candidates.map(({ provider: id, reason }) => [id, reason])).toEqual([
      ['b', 'cheapest: costs $1.25 for a million tokens, three quarters prompt and one quarter answer'],
      ['a', 'cheapest: its price is not known'],
    ]);
  });

  it('cheapest keeps the order of equal prices', async () => {
    expect(await order('cheapest', [price('1', '1'), price('1', '1')], 2)).toEqual([
      ['p0', 'p1'],
      ['p0', 'p1'],
    ]);
  });
});

interface Offer {
  readonly weight?: number;
  readonly price?: string;
  readonly step?: Step;
}

const fine = answers(completion('hello'));
const after =
  (ms: number): Step =>
  async (response, asked) => {
    vi.advanceTimersByTime(ms);
    await fine(response, asked);
  };

/** The first provider of each of this many requests. */
async function begins(strategy: string, offers: Readonly<Record<string, Offer>>, times: number): Promise<string[]> {
  const ups = await Promise.all(Object.entries(offers).map(async ([id, { step = fine }]) => [id, await provider(step)] as const));
  const { chat, records } = await gatewayOf({
    providers: Object.fromEntries(
      ups.map(([id, { url }]) => [id, { dialect: 'openai-chat', base_url: url, api_key: 'k', breaker: false }]),
    ),
    models: [
      {
        id: 'plain',
        pricing: price('0.000001', '0.000001'),
        providers: Object.entries(offers).map(([providerId, { weight, price: each }]) => ({
          providerId,
          externalId: 'x',
          ...(weight && { weight }),
          ...(each && { pricing: price(each, each) }),
        })),
      },
    ],
    routing: { default: { strategy, max_attempts: 9, retry: { same_target: 0 } } },
  });
  for (let at = 0; at < times; at++) await chat({});
  return records.map(({ attempts }) => attempts[0]?.provider ?? '');
}

const count = (names: readonly string[]): Record<string, number> =>
  Object.fromEntries(
    Array.from(
      Map.groupBy(names, (one) => one),
      ([one, all]) => [one, all.length],
    ),
  );

describe('weighted', () => {
  it('gives each candidate its share, evenly mixed', async () => {
    const names = await begins('weighted', { a: { weight: 3 }, b: {} }, 8);
    expect(names.join('')).toBe('aabaaaba');
  });

  it.each(['weighted', 'balanced'])(
    '%s gives each its share of the answers where a client counts before each message',
    async (strategy) => {
      const step: Step = (response, asked) => answers(asked.url.endsWith('/count_tokens') ? { input_tokens: 7 } : message)(response, asked);
      const up = await provider(step);
      const { post, records } = await gatewayOf({
        providers: Object.fromEntries(['a', 'b'].map((id) => [id, { dialect: 'anthropic', base_url: up.url, api_key: 'k' }])),
        models: [{ id: 'claude', free: true, providers: [{ providerId: 'a' }, { providerId: 'b' }] }],
        routing: { default: { strategy } },
      });
      const asked = { model: 'claude', max_tokens: 5, messages: [{ role: 'user', content: 'Hi' }] };
      for (let at = 0; at < 4; at++) for (const path of ['/v1/messages/count_tokens', '/v1/messages']) await post(asked, { path });
      expect(records.map(({ provider: id }) => id).join('')).toBe('aabbaabb');
    },
  );

  it('gives the share of a resting target to all others, not to the next one', async () => {
    const limited = answers({ error: { message: 'slow down' } }, { status: 429, headers: { 'retry-after': '300' } });
    const [asked, ...behind] = await begins('weighted', { a: { step: limited }, b: {}, c: {}, d: { weight: 2 } }, 41);
    expect([asked, count(behind)]).toEqual(['d', { a: 1, b: 10, c: 10, d: 19 }]);
  });

  it('gives each target its share again after two of three have rested for long', async () => {
    const limited = answers({ error: { message: 'slow down' } }, { status: 429, headers: { 'retry-after': '300' } });
    const ups = { a: await provider(limited, fine), b: await provider(limited, fine), c: await provider(fine) };
    const { chat, post, records } = await gatewayOf({
      providers: Object.fromEntries(
        Object.entries(ups).map(([id, { url }]) => [id, { dialect: 'openai-chat', base_url: url, api_key: 'k' }]),
      ),
      models: [{ id: 'plain', free: true, providers: Object.keys(ups).map((providerId) => ({ providerId, externalId: 'x' })) }],
      routing: { default: { strategy: 'weighted', retry: { same_target: 0 } } },
    });
    for (let at = 0; at < 40; at++) await chat({});
    for (const id of ['a', 'b']) await post({}, { path: `/api/targets/wake?name=${id}/x` });
    for (let at = 0; at < 12; at++) await chat({});
    expect(count(records.slice(-12).map(({ provider: id }) => id ?? ''))).toEqual({ a: 4, b: 4, c: 4 });
  });

  it.each([
    ['its limit', { by: 'key', match: 'refused', tokens_per_minute: 1000 }],
    ['the limits of all providers', { by: 'provider', tokens_per_minute: 1000 }],
  ])('gives no turn to a request that is refused because of %s', async (_, limit) => {
    const [one, two] = [await provider(fine), await provider(fine)];
    const { chat } = await gatewayOf(
      twoUpstreams(one.url, two.url, {
        routing: { default: { strategy: 'weighted' } },
        keys: ['refused', 'served'].map((name) => ({ name, key: `key-${name}` })),
        limits: [limit],
      }),
    );
    const statusOf = async (name: string, most: number): Promise<number> =>
      (await chat({ max_tokens: most }, { authorization: `Bearer key-${name}` })).status;
    for (let at = 0; at < 4; at++) expect([await statusOf('refused', 5000), await statusOf('served', 5)]).toEqual([429, 200]);
    expect([one.asked.length, two.asked.length]).toEqual([2, 2]);
  });

  it('multiplies the weight of a model by that of its provider', async () => {
    const up = await provider();
    const ids = ['p', 'q'];
    const { chat, records } = await gatewayOf({
      providers: Object.fromEntries(ids.map((id) => [id, { dialect: 'openai-chat', base_url: up.url, api_key: 'k' }])),
      models: [
        {
          id: 'one',
          free: true,
          providers: [
            { providerId: 'p', externalId: 'x', weight: 2 },
            { providerId: 'q', externalId: 'x' },
          ],
        },
        { id: 'two', free: true, providers: [{ providerId: 'p', externalId: 'y' }] },
      ],
      routing: { models: { mix: { strategy: 'weighted', candidates: [{ model: 'one', weight: 2 }, 'two'] } } },
    });
    for (let at = 0; at < 14; at++) await chat({ model: 'mix' });
    expect(count(records.map(({ attempts }) => `${attempts[0]?.provider} ${attempts[0]?.externalId}`))).toEqual({
      'p x': 8,
      'q x': 4,
      'p y': 2,
    });
  });
});

describe('fastest', () => {
  it('measures each target once, and then asks the fastest', async () => {
    expect(await begins('fastest', { slow: { step: after(150) }, quick: {}, slower: { step: after(200) } }, 6)).toEqual([
      'slow',
      'quick',
      'slower',
      'quick',
      'quick',
      'quick',
    ]);
  });

  it('lets the next request measure a target where the request that was to measure it was refused', async () => {
    const [one, two] = [await provider(fine), await provider(fine)];
    const { chat } = await gatewayOf(
      twoUpstreams(one.url, two.url, {
        routing: { default: { strategy: 'fastest' } },
        keys: ['a', 'b'].map((name) => ({ name, key: `key-${name}` })),
        limits: [{ by: 'key', match: 'a', requests_per_minute: 1 }],
      }),
    );
    const statusBy = async (name: string): Promise<number> => (await chat({}, { authorization: `Bearer key-${name}` })).status;
    expect([await statusBy('a'), await statusBy('a'), await statusBy('b')]).toEqual([200, 429, 200]);
    expect([one.asked.length, two.asked.length]).toEqual([1, 1]);
  });

  it('takes the time to the first piece for the speed of streams', async () => {
    let goOn = (): void => {};
    const early = await provider(async (response) => {
      vi.advanceTimersByTime(100);
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(event({ content: 'a' }));
      await new Promise<void>((resolve) => (goOn = resolve));
      vi.advanceTimersByTime(900);
      response.end(said('c').join(''));
    });
    const late = await provider((response, asked) => {
      vi.advanceTimersByTime(300);
      return streams(said('a'))(response, asked);
    });
    const { chat, records } = await gatewayOf(twoUpstreams(early.url, late.url, { routing: { default: { strategy: 'fastest' } } }));
    for (let at = 0; at < 4; at++) {
      const response = await chat({ stream: true });
      goOn();
      await response.text();
    }
    expect(records.map(({ provider: id }) => id)).toEqual(['one', 'two', 'one', 'one']);
  });

  it('does not take the time of a count of tokens for the speed of answers', async () => {
    const offer =
      (answerMs: number, countMs: number): Step =>
      (response, asked) => {
        const isCount = asked.url.endsWith('/count_tokens');
        vi.advanceTimersByTime(isCount ? countMs : answerMs);
        return (isCount ? answers({ input_tokens: 7 }) : answers(message))(response, asked);
      };
    const [slow, quick] = [await provider(offer(900, 0)), await provider(offer(100, 200))];
    const { post, records } = await gatewayOf({
      providers: Object.fromEntries(
        Object.entries({ slow, quick }).map(([id, { url }]) => [id, { dialect: 'anthropic', base_url: url, api_key: 'k' }]),
      ),
      models: [{ id: 'claude', free: true, providers: [{ providerId: 'slow' }, { providerId: 'quick' }] }],
      routing: { default: { strategy: 'fastest' } },
    });
    const asked = { model: 'claude', max_tokens: 5, messages: [{ role: 'user', content: 'Hi' }] };
    for (const path of ['/v1/messages/count_tokens', '/v1/messages']) for (let at = 0; at < 4; at++) await post(asked, { path });
    expect(records.slice(4).map(({ provider: id }) => id)).toEqual(['slow', 'quick', 'quick', 'quick']);
  });

  it('says that the speed of a target that is being measured is not known yet', async () => {
    const [one, two] = [await provider(hangs), await provider()];
    const { chat, post } = await gatewayOf(twoUpstreams(one.url, two.url, { routing: { default: { strategy: 'fastest' } } }));
    const leaves = new AbortController();
    const first = post({ model: 'plain', messages: [{ role: 'user', content: 'hi' }] }, { signal: leaves.signal }).catch(() => null);
    await expect.poll(() => one.asked.length).toBe(1);
    const { candidates } = (await (await chat({}, { 'x-dry-run': 'true' })).json()) as Explanation;
    leaves.abort();
    await first;
    expect(candidates.map(({ provider: id, reason }) => [id, reason])).toEqual([
      ['two', 'fastest: its speed is not known, so a request measures it'],
      ['one', 'fastest: its speed is not known yet, a request measures it now'],
    ]);
  });
});

describe('balanced', () => {
  it('takes turns where targets do not differ', async () => {
    expect((await begins('balanced', { a: {}, b: {} }, 8)).join('')).toBe('abababab');
  });

  it('gives more to cheap targets, and some to all', async () => {
    expect(count(await begins('balanced', { dear: { price: '0.000004' }, cheap: { price: '0.000001' } }, 20))).toEqual({
      cheap: 16,
      dear: 4,
    });
  });

  it('takes a price that is not known for twice the lowest', async () => {
    const up = await provider();
    const { chat, records } = await gatewayOf({
      providers: Object.fromEntries(['known', 'unknown'].map((id) => [id, { dialect: 'openai-chat', base_url: up.url, api_key: 'k' }])),
      models: [
        {
          id: 'plain',
          providers: [
            { providerId: 'known', externalId: 'x', pricing: price('0.000001', '0.000001') },
            { providerId: 'unknown', externalId: 'x' },
          ],
        },
      ],
      routing: { default: { strategy: 'balanced' } },
    });
    for (let at = 0; at < 9; at++) await chat({});
    expect(count(records.map(({ provider: id }) => id ?? ''))).toEqual({ known: 6, unknown: 3 });
  });

  it('gives less to targets that fail', async () => {
    let calls = 0;
    const failsOften: Step = (response, asked) =>
      (calls++ % 2 === 0 ? answers({ error: { message: 'no' } }, { status: 500 }) : fine)(response, asked);
    const { good = 0, bad = 0 } = count(await begins('balanced', { bad: { step: failsOften }, good: {} }, 40));
    expect(good).toBeGreaterThan(2 * bad);
    expect(bad).toBeGreaterThan(3);
  });

  it('gives less to slow targets', async () => {
    const { quick = 0, slow = 0 } = count(await begins('balanced', { slow: { step: after(700) }, quick: {} }, 8));
    expect(quick).toBeGreaterThan(slow);
  });

  it('takes turns also with a target whose measurement by another policy failed', async () => {
    const refuses = answers({ error: { message: 'no' } }, { status: 400 });
    const [one, two] = [await provider(fine), await provider(refuses, fine)];
    const quick = { strategy: 'fastest', candidates: ['plain'] };
    const { chat, records } = await gatewayOf(
      twoUpstreams(one.url, two.url, { routing: { default: { strategy: 'balanced', retry: { same_target: 0 } }, models: { quick } } }),
    );
    expect([(await chat({ model: 'quick' })).status, (await chat({ model: 'quick' })).status]).toEqual([200, 400]);
    for (let at = 0; at < 8; at++) await chat({});
    expect(count(records.slice(2).map(({ attempts }) => attempts[0]?.provider ?? ''))).toEqual({ one: 4, two: 4 });
  });
});

it('weights that were all 0 for a turn do not end the rotation', () => {
  const shares = new Shares();
  const first = (weight: number): string | undefined =>
    shares.turn(
      ['a', 'b'].map((id) => ({ id, weight })),
      false,
    ).order[0]?.id;
  expect([0, 0, 1, 1, 1, 1].map(first)).toEqual(['a', 'b', 'a', 'b', 'a', 'b']);
});

it('a target that is listed twice does not take the turns of another one', () => {
  const shares = new Shares();
  const first = (): string =>
    shares.turn(
      ['twice', 'twice', 'other'].map((id) => ({ id, weight: 1 })),
      false,
    ).order[0]?.id ?? '';
  expect(count(Array.from({ length: 12 }, first))['other']).toBeGreaterThan(0);
});

it('a target that only some requests can use gets its share of them, also after another target has rested for long', () => {
  const shares = new Shares();
  const turn = (...ids: string[]) =>
    shares.turn(
      ids.map((id) => ({ id, weight: 1 })),
      false,
    );
  for (let at = 0; at < 100; at++) {
    const { order, taken } = turn('resting', 'other');
    if (order[0]?.id === 'resting') shares.passOn(taken, 1, (at) => at === 1);
  }
  expect(count(Array.from({ length: 9 }, () => turn('resting', 'other', 'rare').order[0]?.id ?? ''))).toEqual({
    resting: 3,
    other: 3,
    rare: 3,
  });
});
