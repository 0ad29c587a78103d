/** Limits of requests, tokens and concurrent requests, by each kind of value. */
import { describe, expect, onTestFinished, test } from 'vitest';
import { hash } from 'node:crypto';
import type { Gateway } from '../../../../core/host/plugin.ts';
import { States } from '../../../../core/host/state.ts';
import { headerValue } from '../../../../core/names.ts';
import { oneUpstream, readEvents, twoUpstreams } from '../../../_kit/gateway.ts';
import { answers, completion, said, startUpstream, streams } from '../../../_kit/upstream.ts';
import type { Step } from '../../../_kit/upstream.ts';
import { errorOf, gate, noon, scene, statusOf, tally } from './scene.ts';

const tenant = (name: string): Record<string, string> => ({ 'x-gateway-tenant-id': name });
const perMinute = (count: number, more: object = {}): object => ({ by: 'meta.tenant-id', requests_per_minute: count, ...more });

describe('requests per minute', () => {
  test('are not counted for a header without a value, because the log shows such a request without the name', async () => {
    const { gateway } = await scene({ limits: [perMinute(1)] });
    const next = async (): Promise<number> => await statusOf(gateway.chat({}, tenant('')));
    expect([await next(), await next()]).toEqual([200, 200]);
  });

  test('are refused above the limit, for each value separately, and callers without limits get no limit headers', async () => {
    const { gateway, upstream } = await scene({ limits: [perMinute(2)] });
    const first = await gateway.chat({}, tenant('acme'));
    expect([
      first.status,
      first.headers.get('x-ratelimit-limit-requests'),
      first.headers.get('x-ratelimit-remaining-requests'),
      first.headers.get('x-ratelimit-reset-requests'),
    ]).toEqual([200, '2', '1', '60s']);
    expect(first.headers.get('x-ratelimit-limit-tokens')).toBeNull();
    expect(await statusOf(gateway.chat({}, tenant('acme')))).toBe(200);
    const refused = await gateway.chat({}, tenant('acme'));
    expect(refused.status).toBe(429);
    expect(await errorOf(refused)).toEqual({
      code: 'rate_limit_exceeded',
      type: 'rate_limit_error',
      param: null,
      message: 'The limit of 2 requests per minute for meta.tenant-id "acme" is reached. There is room again in 60 s.',
    });
    expect(refused.headers.get('x-ratelimit-remaining-requests')).toBe('0');
    expect(await statusOf(gateway.chat({}, tenant('globex')))).toBe(200);
    const free = await gateway.chat({});
    expect(free.status).toBe(200);
    expect([...free.headers.keys()].filter((name) => name.startsWith('x-ratelimit') || name.startsWith('x-budget'))).toEqual([]);
    expect(upstream.asked.length).toBe(4);
    expect(gateway.records.map(({ outcome, error }) => [outcome, error?.plugin ?? null])).toEqual([
      ['answered', null],
      ['answered', null],
      ['refused', 'route/limits'],
      ['answered', null],
      ['answered', null],
    ]);
  });

  test('have room again when the oldest is 60 s old, at any time of the clock', async () => {
    const { gateway, clock } = await scene({ limits: [perMinute(2)] });
    clock.now += 30_000;
    expect(await statusOf(gateway.chat({}, tenant('acme')))).toBe(200);
    clock.now += 40_000;
    expect(await statusOf(gateway.chat({}, tenant('acme')))).toBe(200);
    clock.now += 19_999;
    const refused = await gateway.chat({}, tenant('acme'));
    expect([refused.status, refused.headers.get('retry-after'), refused.headers.get('retry-after-ms')]).toEqual([429, '1', '1']);
    clock.now += 1;
    expect(await statusOf(gateway.chat({}, tenant('acme')))).toBe(200);
    expect(await statusOf(gateway.chat({}, tenant('acme')))).toBe(429);
  });

  test('are let in up to the exact limit, of 200 at one time', async () => {
    const { gateway, upstream } = await scene({
      limits: [{ by: 'key', requests_per_minute: 60 }],
      more: { keys: [{ name: 'team', key: 'team-key-of-the-test' }] },
    });
    const replies = await Promise.all(
      Array.from({ length: 200 }, () => gateway.chat({}, { authorization: 'Bearer team-key-of-the-test' })),
    );
    expect(tally(replies)).toEqual({ 200: 60, 429: 140 });
    expect(upstream.asked.length).toBe(60);
  });

  test('that were refused count at no limit', async () => {
    const { gateway, clock } = await scene({ limits: [perMinute(1), { by: 'all', requests_per_minute: 3 }] });
    await gateway.chat({}, tenant('acme'));
    for (let at = 0; at < 5; at++) expect(await statusOf(gateway.chat({}, tenant('acme')))).toBe(429);
    expect(await statusOf(gateway.chat({}, tenant('b')))).toBe(200);
    expect(await statusOf(gateway.chat({}, tenant('c')))).toBe(200);
    const full = await gateway.chat({}, tenant('d'));
    expect([full.status, (await errorOf(full)).message]).toEqual([
      429,
      'The limit of 3 requests per minute for all requests is reached. There is room again in 60 s.',
    ]);
    clock.now += 60_000;
    expect(await statusOf(gateway.chat({}, tenant('acme')))).toBe(200);
  });

  test('are limited for matching values, by the strictest of several limits', async () => {
    const { gateway } = await scene({ limits: [perMinute(3), perMinute(1, { match: 'free-*' })] });
    const reply = await gateway.chat({}, tenant('free-1'));
    expect([reply.headers.get('x-ratelimit-limit-requests'), await statusOf(gateway.chat({}, tenant('free-1')))]).toEqual(['1', 429]);
    expect(await statusOf(gateway.chat({}, tenant('free-2')))).toBe(200);
    const paying = [
      await gateway.chat({}, tenant('gold')),
      await gateway.chat({}, tenant('gold')),
      await gateway.chat({}, tenant('gold')),
      await gateway.chat({}, tenant('gold')),
    ];
    expect(tally(paying)).toEqual({ 200: 3, 429: 1 });
  });

  test('are limited for matching values with a line separator in them, so that a name which a user chose has no way out', async () => {
    const { gateway } = await scene({ limits: [perMinute(1, { match: 'free-*' })] });
    const sly = tenant(headerValue('free-sly\u2028name'));
    expect([await statusOf(gateway.chat({}, sly)), await statusOf(gateway.chat({}, sly))]).toEqual([200, 429]);
  });

  test('of a key are limited by the key’s own limits', async () => {
    const keys = [
      { name: 'small', hash: `sha256:${hash('sha256', 'small-key')}`, limits: { requests_per_minute: 1 } },
      { name: 'large', key: 'large-key' },
    ];
    const { gateway } = await scene({ more: { keys } });
    const small = { 'x-api-key': 'small-key' };
    expect([
      await statusOf(gateway.chat({}, small)),
      await statusOf(gateway.chat({}, small)),
      await statusOf(gateway.chat({}, { 'x-api-key': 'large-key' })),
    ]).toEqual([200, 429, 200]);
  });

  test('by metadata of a key cannot be evaded by a header of the same name', async () => {
    const { gateway } = await scene({
      limits: [{ by: 'meta.team', requests_per_minute: 1 }],
      more: { keys: [{ name: 'a', key: 'key-a', metadata: { team: 'search' } }] },
    });
    const headers = { 'x-api-key': 'key-a' };
    expect([
      await statusOf(gateway.chat({}, headers)),
      await statusOf(gateway.chat({}, { ...headers, 'x-gateway-team': 'other' })),
    ]).toEqual([200, 429]);
  });

  test('keep their count after a reload of the config', async () => {
    const states = new States();
    const one = await scene({ limits: [perMinute(2)], states });
    await one.gateway.chat({}, tenant('acme'));
    await one.gateway.chat({}, tenant('acme'));
    const two = await scene({ limits: [perMinute(3)], states });
    expect([await statusOf(two.gateway.chat({}, tenant('acme'))), await statusOf(two.gateway.chat({}, tenant('acme')))]).toEqual([
      200, 429,
    ]);
  });

  test('above a limit that was lowered have room at the time that the refusal names', async () => {
    const [states, clock] = [new States(), { now: noon }];
    const one = await scene({ limits: [perMinute(10)], states, clock });
    for (let at = 0; at < 4; at++) {
      expect(await statusOf(one.gateway.chat({}, tenant('acme')))).toBe(200);
      clock.now += 10_000;
    }
    const two = await scene({ limits: [perMinute(2)], states, clock });
    const refused = await two.gateway.chat({}, tenant('acme'));
    expect([
      refused.status,
      refused.headers.get('retry-after'),
      refused.headers.get('x-ratelimit-reset-requests'),
      (await errorOf(refused)).message,
    ]).toEqual([429, '40', '20s', 'The limit of 2 requests per minute for meta.tenant-id "acme" is reached. There is room again in 40 s.']);
    clock.now += 39_999;
    expect(await statusOf(two.gateway.chat({}, tenant('acme')))).toBe(429);
    clock.now += 1;
    expect(await statusOf(two.gateway.chat({}, tenant('acme')))).toBe(200);
  });

  test('that a provider fails to answer count, and requests that are refused before routing do not', async () => {
    const { gateway } = await scene({ limits: [perMinute(2)], step: answers({ error: { message: 'no' } }, { status: 500 }) });
    expect(await statusOf(gateway.chat({ model: 'none' }, tenant('acme')))).toBe(404);
    expect(await statusOf(gateway.chat({ temperature: 'hot' }, tenant('acme')))).toBe(400);
    expect([
      await statusOf(gateway.chat({}, tenant('acme'))),
      await statusOf(gateway.chat({}, tenant('acme'))),
      await statusOf(gateway.chat({}, tenant('acme'))),
    ]).toEqual([502, 502, 429]);
  });
});

describe('tokens per minute', () => {
  const limits = [{ by: 'meta.tenant-id', tokens_per_minute: 2000 }];

  test('count the whole answer where the provider sends no counts, an image forbids an estimate, and the answer is longer than allowed', async () => {
    const { gateway } = await scene({
      limits: [{ by: 'meta.tenant-id', tokens_per_minute: 2500 }],
      step: answers({ ...completion('word '.repeat(3000)), usage: undefined }),
    });
    const messages = [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }] }];
    const ask = async (): Promise<number> => await statusOf(gateway.chat({ max_tokens: 5, messages }, tenant('acme')));
    expect([await ask(), gateway.records[0]?.usage.totalTokens, await ask()]).toEqual([200, null, 429]);
  });

  test('count the prompt too where the provider sends no counts, and the answer is longer than allowed', async () => {
    const { gateway } = await scene({
      limits: [{ by: 'meta.tenant-id', tokens_per_minute: 9000 }],
      step: answers({ ...completion('word '.repeat(3000)), usage: undefined }),
    });
    const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } };
    const messages = [{ role: 'user', content: [{ type: 'text', text: 'word '.repeat(2000) }, image] }];
    const ask = async (): Promise<Response> => await gateway.chat({ max_tokens: 5, messages }, tenant('acme'));
    const replies = [await ask(), await ask()];
    expect(replies.map(({ status }) => status)).toEqual([200, 429]);
  });

  test('are held while the request runs, and replaced by its usage', async () => {
    const held = gate();
    const { gateway, upstream } = await scene({ limits, step: held.step });
    const first = gateway.chat({ max_tokens: 1500 }, tenant('acme'));
    await expect.poll(() => upstream.asked.length).toBe(1);
    const refused = await gateway.chat({ max_tokens: 600 }, tenant('acme'));
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1']);
    expect((await errorOf(refused)).message).toMatch(
      /^The limit of 2000 tokens per minute for meta.tenant-id "acme" has no room for this request, which may take 60\d\. There is room again in 1 s\.$/,
    );
    held.letGo();
    await (await first).text();
    const next = await gateway.chat({ max_tokens: 600 }, tenant('acme'));
    expect([next.status, next.headers.get('x-ratelimit-limit-tokens'), next.headers.get('x-ratelimit-reset-tokens')]).toEqual([
      200,
      '2000',
      '60s',
    ]);
    // the first request used 15; this one holds 600 and its prompt
    expect(Number(next.headers.get('x-ratelimit-remaining-tokens'))).toBeGreaterThan(2000 - 15 - 600 - 20);
    expect(Number(next.headers.get('x-ratelimit-remaining-tokens'))).toBeLessThan(2000 - 15 - 600);
  });

  test('are assumed to be 1,024 for an answer without a limit, for each of several answers', async () => {
    const { gateway } = await scene({ limits });
    const reply = await gateway.chat({}, tenant('acme'));
    expect(2000 - Number(reply.headers.get('x-ratelimit-remaining-tokens'))).toBeGreaterThan(1024);
    const two = await gateway.chat({ n: 2 }, tenant('globex'));
    expect([two.status, two.headers.get('x-should-retry')]).toEqual([429, 'false']);
  });

  test('have room again when enough of them are 60 s old', async () => {
    const { gateway, clock } = await scene({
      limits,
      step: answers({ ...completion('Hello.'), usage: { prompt_tokens: 500, completion_tokens: 400, total_tokens: 900 } }),
    });
    await gateway.chat({ max_tokens: 100 }, tenant('acme'));
    clock.now += 10_000;
    await gateway.chat({ max_tokens: 100 }, tenant('acme'));
    clock.now += 10_000;
    const refused = await gateway.chat({ max_tokens: 1000 }, tenant('acme'));
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '40']);
    clock.now += 40_000;
    expect(await statusOf(gateway.chat({ max_tokens: 1000 }, tenant('acme')))).toBe(200);
  });

  test('of a request that is larger than the whole limit are refused for good', async () => {
    const { gateway, upstream } = await scene({ limits });
    const refused = await gateway.chat({ max_tokens: 2001 }, tenant('acme'));
    expect([refused.status, refused.headers.get('x-should-retry')]).toEqual([429, 'false']);
    expect((await errorOf(refused)).message).toMatch(
      /^This request may take 20\d\d tokens, more than the whole limit of 2000 tokens per minute for meta.tenant-id "acme"\. Send a shorter prompt, or a smaller max_tokens\.$/,
    );
    expect(upstream.asked.length).toBe(0);
  });

  test('of a stream whose client has left are those that arrived', async () => {
    const { gateway } = await scene({ limits, step: streams(said('Hello,').slice(0, 2), { end: 'hang' }) });
    const reply = await gateway.chat({ stream: true, max_tokens: 1500 }, tenant('acme'));
    await reply.body?.cancel();
    await expect.poll(() => gateway.records.length).toBe(1);
    const next = await gateway.chat({ max_tokens: 1500, stream: true }, tenant('acme'));
    expect(next.status).toBe(200);
    await next.body?.cancel();
  });
});

describe('requests at one time', () => {
  test('are let in up to the limit, and again when one has ended', async () => {
    const held = gate();
    const { gateway } = await scene({ limits: [{ by: 'meta.tenant-id', concurrent: 3 }], step: held.step });
    let ended = 0;
    const running = Array.from({ length: 20 }, async () => await gateway.chat({}, tenant('acme')).finally(() => (ended += 1)));
    await expect.poll(() => [held.waiting(), ended]).toEqual([3, 17]);
    const refused = await gateway.chat({}, tenant('acme'));
    expect([refused.status, refused.headers.get('retry-after'), await errorOf(refused)]).toEqual([
      429,
      '1',
      {
        code: 'concurrency_limit_exceeded',
        type: 'rate_limit_error',
        param: null,
        message: 'The limit of 3 requests at one time for meta.tenant-id "acme" is reached. There is room again when one of them ends.',
      },
    ]);
    held.letGo();
    const replies = await Promise.all(running);
    expect(tally(replies)).toEqual({ 200: 3, 429: 17 });
    await Promise.all(replies.map((reply) => reply.text()));
    expect(await statusOf(gateway.chat({}, tenant('acme')))).toBe(200);
  });

  test('stop counting when their client leaves, their provider fails, or their stream is cut', async () => {
    const { gateway, upstream } = await scene({
      limits: [{ by: 'all', concurrent: 1 }],
      step: streams(said('Hello,').slice(0, 2), { end: 'hang' }),
    });
    const reply = await gateway.chat({ stream: true });
    expect(await statusOf(gateway.chat({}))).toBe(429);
    await reply.body?.cancel();
    await expect.poll(() => gateway.records.length).toBe(2);
    upstream.script(streams(said('Hello,').slice(0, 2), { end: 'reset' }));
    await readEvents(await gateway.chat({ stream: true }));
    upstream.script(answers('broken', { status: 500 }));
    expect(await statusOf(gateway.chat({}))).toBe(502);
    upstream.script(answers(completion('Hello.')));
    expect(await statusOf(gateway.chat({}))).toBe(200);
  });
});

describe('limits by provider and model', () => {
  const both = async (
    limits: object[],
    more: object = {},
  ): Promise<Awaited<ReturnType<typeof scene>> & { second: Awaited<ReturnType<typeof startUpstream>> }> => {
    const second = await startUpstream(answers(completion('Hello.')));
    const found = await scene({ config: (url) => twoUpstreams(url, second.url, { limits, ...more }) });
    return { ...found, second };
  };

  test('skip a provider that has no room, and refuse where none has', async () => {
    const { gateway, upstream, second } = await both([{ by: 'provider', requests_per_minute: 2 }]);
    const asked: (string | null)[] = [];
    for (let at = 0; at < 4; at++) asked.push((await gateway.chat({})).headers.get('x-provider'));
    expect(asked).toEqual(['one', 'one', 'two', 'two']);
    const refused = await gateway.chat({});
    expect([refused.status, refused.headers.get('retry-after'), (await errorOf(refused)).code]).toEqual([429, '60', 'rate_limit_exceeded']);
    expect(gateway.records[2]?.ruledOut).toEqual([
      { provider: 'one', model: 'plain', by: 'route/limits', reason: 'the limit of requests for the provider "one" has no room for 60 s' },
    ]);
    expect([upstream.asked.length, second.asked.length]).toEqual([2, 2]);
    await second.close();
  });

  test('name the time at which the first of the providers has room', async () => {
    const { gateway, clock, second } = await both([{ by: 'provider', requests_per_minute: 1 }]);
    expect((await gateway.chat({ model: 'two/plain' })).headers.get('x-provider')).toBe('two');
    clock.now += 40_000;
    expect((await gateway.chat({})).headers.get('x-provider')).toBe('one');
    const refused = await gateway.chat({});
    expect([refused.status, refused.headers.get('retry-after'), (await errorOf(refused)).message]).toEqual([
      429,
      '20',
      'The limit of 1 request per minute for the provider "two" is reached. There is room again in 20 s.',
    ]);
    clock.now += 20_000;
    expect((await gateway.chat({})).headers.get('x-provider')).toBe('two');
    await second.close();
  });

  test('count the next provider of a request, and release the previous one', async () => {
    const { gateway, upstream, second } = await both([
      { by: 'provider', concurrent: 1 },
      { by: 'model', concurrent: 5 },
    ]);
    upstream.script(answers('no', { status: 500 }));
    const held = gate();
    second.script(held.step);
    const first = gateway.chat({});
    await expect.poll(() => held.waiting()).toBe(1);
    // the failed attempt holds nothing of its provider any more; the second provider has no room
    const refused = await gateway.chat({});
    expect([refused.status, upstream.asked.length, second.asked.length]).toEqual([429, 2, 1]);
    held.letGo();
    expect((await first).status).toBe(200);
    expect(await statusOf(gateway.chat({}))).toBe(200);
    await second.close();
  });

  test.each([
    ['was outrun', 'outrun'],
    ['has failed while the other provider was asked', 'upstream_error'],
  ])('release the provider that %s, although the other provider answers for long', async (_, outcome) => {
    const [isBeside, hasFailed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const first: Step = async (response, asked) => {
      await isBeside.promise;
      if (outcome !== 'outrun') await answers('no', { status: 500 })(response, asked);
    };
    const second = await startUpstream(async (response, asked) => {
      isBeside.resolve();
      if (outcome !== 'outrun') await hasFailed.promise;
      await streams(said('Hello,').slice(0, 2), { end: 'hang' })(response, asked);
    });
    const listens = {
      name: 'test/listens',
      summary: 'tells when an attempt is over',
      schema: {},
      apply: ({ hooks }: Gateway) => hooks.attempted.tap(() => hasFailed.resolve()),
    };
    const routing = { default: { strategy: 'ordered', hedge_ms: 50, retry: { same_target: 0 } } };
    const { gateway } = await scene({
      step: first,
      plugins: [listens],
      config: (url) => twoUpstreams(url, second.url, { routing, limits: [{ by: 'provider', concurrent: 5 }] }),
    });
    const reply = await gateway.chat({ stream: true });
    const { data } = (await (await gateway.get('/api/limits')).json()) as { data: { value: string; used: number }[] };
    expect(Object.fromEntries(data.map(({ value, used }) => [value, used]))).toEqual({ one: 0, two: 1 });
    await reply.body?.cancel();
    await expect.poll(() => gateway.records[0]?.attempts.map((attempt) => attempt.outcome)).toEqual([outcome, 'client_closed']);
    await second.close();
  });

  test('are in the headers of a reply only where the limited provider has served it', async () => {
    const { gateway, second } = await both([
      { by: 'provider', match: 'one', requests_per_minute: 1 },
      { by: 'meta.tenant-id', requests_per_minute: 5 },
    ]);
    const told = async (headers: Record<string, string> = {}): Promise<(string | null)[]> => {
      const reply = await gateway.chat({}, headers);
      return ['x-provider', 'x-ratelimit-limit-requests', 'x-ratelimit-remaining-requests'].map((name) => reply.headers.get(name));
    };
    expect([await told(tenant('acme')), await told(), await told(tenant('acme'))]).toEqual([
      ['one', '1', '0'],
      ['two', null, null],
      ['two', '5', '3'],
    ]);
    await second.close();
  });

  test('that refuse still tell a limited caller how much is left', async () => {
    const { gateway } = await scene({
      limits: [
        { by: 'provider', requests_per_minute: 1 },
        { by: 'all', requests_per_minute: 10, budget: { dollars: '1', per: 'day' } },
      ],
    });
    expect(await statusOf(gateway.chat({}))).toBe(200);
    const refused = await gateway.chat({});
    expect([
      refused.status,
      refused.headers.get('x-ratelimit-limit-requests'),
      refused.headers.get('x-ratelimit-remaining-requests'),
      refused.headers.get('x-budget-remaining'),
    ]).toEqual([429, '1', '0', '0.99998']);
  });

  test('refuse a model whose limit is reached, by any of its names', async () => {
    const { gateway } = await scene({ limits: [{ by: 'model', match: 'thinker', requests_per_minute: 1 }] });
    expect([
      await statusOf(gateway.chat({ model: 'thinker' })),
      await statusOf(gateway.chat({ model: 'thinker-2025' })),
      await statusOf(gateway.chat({ model: 'up/thinker' })),
      await statusOf(gateway.chat({})),
    ]).toEqual([200, 429, 429, 200]);
  });
});

describe('a dry run', () => {
  test('shows the limits of its caller, and uses nothing of them', async () => {
    const { gateway } = await scene({
      limits: [perMinute(1, { tokens_per_minute: 5000, concurrent: 2, budget: { dollars: '1', per: 'day' } })],
    });
    const dry = { ...tenant('acme'), 'x-dry-run': 'true' };
    for (let at = 0; at < 3; at++) {
      const { limits } = (await (await gateway.chat({}, dry)).json()) as any;
      expect(limits).toEqual([
        { by: 'meta.tenant-id', value: 'acme', limit: 'requests_per_minute', per: null, allowed: 1, used: 0, held: null, remaining: 1 },
        { by: 'meta.tenant-id', value: 'acme', limit: 'tokens_per_minute', per: null, allowed: 5000, used: 0, held: null, remaining: 5000 },
        { by: 'meta.tenant-id', value: 'acme', limit: 'concurrent', per: null, allowed: 2, used: 0, held: null, remaining: 2 },
        { by: 'meta.tenant-id', value: 'acme', limit: 'budget', per: 'day', allowed: '1', used: '0', held: '0', remaining: '1' },
      ]);
    }
    expect(((await (await gateway.chat({}, { 'x-dry-run': 'true' })).json()) as any).limits).toEqual([]);
    expect(await statusOf(gateway.chat({}, tenant('acme')))).toBe(200);
    const refused = await gateway.chat({}, dry);
    expect([refused.status, (await errorOf(refused)).code]).toEqual([429, 'rate_limit_exceeded']);
  });
});

test('a cached answer counts as a request, and uses no tokens and no dollars', async () => {
  const limits = [perMinute(3, { tokens_per_minute: 5000, concurrent: 1, budget: { dollars: '0.00002', per: 'day' } })];
  const { gateway, upstream } = await scene({ limits });
  const ask = async (): Promise<Response> => await gateway.chat({ max_tokens: 5 }, { ...tenant('acme'), 'x-cache': 'on' });
  const replies = [await ask(), await ask(), await ask(), await ask()];
  expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 429]);
  expect(replies.slice(0, 3).map(({ headers }) => [headers.get('x-cache'), headers.get('x-ratelimit-remaining-requests')])).toEqual([
    ['miss', '2'],
    ['hit', '1'],
    ['hit', '0'],
  ]);
  expect(upstream.asked.length).toBe(1);
  // the first request used 15 tokens and the budget; hits need no budget
  expect(replies[2]?.headers.get('x-ratelimit-remaining-tokens')).toBe('4985');
  expect(gateway.records.slice(0, 3).map(({ cost }) => cost)).toEqual(['0.00002', '0', '0']);
});

test('limits are off where the plugin is not listed', async () => {
  const { gateway } = await scene({
    config: (url) => ({
      ...oneUpstream(url, { limits: [perMinute(1)] }),
      plugins: ['endpoints/chat-completions', 'metadata/headers', 'auth/keys', 'stream/upstream', 'dialects/openai-chat'],
    }),
  });
  expect([await statusOf(gateway.chat({}, tenant('acme'))), await statusOf(gateway.chat({}, tenant('acme')))]).toEqual([200, 200]);
});

describe('a target that is asked again', () => {
  test('stays held while another target is asked in parallel', async () => {
    const held = gate();
    const [one, two] = [
      await startUpstream(answers({ error: { message: 'reasoning_effort is not supported' } }, { status: 400 }), held.step),
      await startUpstream(() => {}),
    ];
    onTestFinished(async () => void (await Promise.all([one.close(), two.close()])));
    const providers = {
      one: { dialect: 'openai-chat', base_url: one.url, api_key: 'k1' },
      two: { dialect: 'openai-chat', base_url: two.url, api_key: 'k2' },
    };
    const models = [
      { id: 'plain', free: true, providers: ['one', 'two'].map((providerId) => ({ providerId, externalId: 'plain-1', reasoning: true })) },
    ];
    const { gateway } = await scene({
      config: () => ({
        providers,
        models,
        limits: [{ by: 'provider', concurrent: 5 }],
        routing: { default: { strategy: 'ordered', hedge_ms: 50, retry: { same_target: 0 } } },
      }),
    });
    const reply = gateway.chat({});
    await expect.poll(() => [one.asked.length, two.asked.length]).toEqual([2, 1]);
    const usedOf = async (): Promise<object> =>
      Object.fromEntries(
        ((await (await gateway.get('/api/limits')).json()) as { data: { value: string; used: number }[] }).data.map(({ value, used }) => [
          value,
          used,
        ]),
      );
    expect(await usedOf()).toEqual({ one: 1, two: 1 });
    held.letGo();
    expect((await reply).status).toBe(200);
    expect(await usedOf()).toEqual({ one: 0, two: 0 });
  });
});
