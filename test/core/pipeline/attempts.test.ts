/** Candidates are asked in order until one answers: which failures lead to the next one, what the caller gets, and what is on record. */
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { unknownUsage } from '../../../core/chat.ts';
import type { Chunk } from '../../../core/chat.ts';
import { GatewayError } from '../../../core/errors.ts';
import { cpuMsUntil } from '../../_kit/cpu.ts';
import { oneUpstream, quietPlugins, readEvents, twoUpstreams } from '../../_kit/gateway.ts';
import type { Step } from '../../_kit/upstream.ts';
import { answers, completion, event, hangs, pause, said, streams, usage } from '../../_kit/upstream.ts';
import { contentOf, errorOf, gatewayOf, probe, provider, routing } from '../scene.ts';

const fault = (status: number, error: object = { message: 'no' }, headers: Record<string, string> = {}): Step =>
  answers({ error }, { status, headers });
const resets: Step = (response) => void response.socket?.resetAndDestroy();
const saysShort: Step = (response) =>
  void response
    .writeHead(200, { 'content-type': 'application/json', 'content-length': '500' })
    .write('{"choices":', () => response.socket?.destroy());
const html: Step = (response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<html><body>Welcome</body></html>');
const redirects: Step = (response) => void response.writeHead(307, { location: 'http://127.0.0.1:1/secret' }).end();
const empty: Step = (response) => void response.writeHead(200, { 'content-type': 'application/json' }).end();

const faults: [string, Step, string][] = [
  ['answers 500', fault(500), 'upstream_error'],
  ['answers 503', fault(503), 'upstream_unavailable'],
  ['answers 529', fault(529), 'upstream_overloaded'],
  ['answers 429', fault(429), 'upstream_rate_limited'],
  ['answers 401', fault(401), 'upstream_auth_error'],
  ['answers 403', fault(403), 'upstream_auth_error'],
  ['answers 402', fault(402), 'upstream_quota_exhausted'],
  ['answers 404', fault(404), 'upstream_model_not_found'],
  ['answers 408', fault(408), 'upstream_timeout'],
  ['resets the connection', resets, 'upstream_unreachable'],
  ['does not answer in time', hangs, 'upstream_timeout'],
  ['redirects', redirects, 'upstream_redirect'],
  ['answers with HTML', html, 'upstream_invalid_response'],
  ['answers with an empty body', empty, 'upstream_invalid_response'],
  ['answers with broken JSON', answers('{"choices":['), 'upstream_invalid_response'],
  ['answers with JSON that is no answer', answers([1, 2]), 'upstream_invalid_response'],
  ['answers with an error and status 200', answers({ error: { message: 'down', code: 503 } }), 'upstream_unavailable'],
  ['breaks off in its body', saysShort, 'upstream_truncated'],
];

const counted = `data: ${JSON.stringify({ choices: [], usage })}\n\n`;

/** Short limits. A pause of the machine may be longer, so their tests have `retry`. */
const quick = routing({ first_byte: 2000, idle: 2000 });
const streamHangs = streams([': hm\n\n'], { end: 'hang' });
/** The limits for a provider that takes this step: short where only a limit ends its attempt. */
const limitsFor = (step: Step): Record<string, unknown> => (step === hangs || step === streamHangs ? quick : routing());

describe('the next candidate answers when the first one', () => {
  it.each(faults)('%s', { retry: 2 }, async (_, step, outcome) => {
    const [one, two] = [await provider(step), await provider()];
    const { chat, records } = await gatewayOf(twoUpstreams(one.url, two.url, limitsFor(step)));
    const response = await chat({});
    expect([response.status, response.headers.get('x-provider'), await contentOf(response)]).toEqual([200, 'two', 'hello']);
    expect(records[0]?.attempts.map((attempt) => [attempt.provider, attempt.outcome])).toEqual([
      ['one', outcome],
      ['two', 'answered'],
    ]);
  });

  it.each(faults)('%s to a request for a stream', { retry: 2 }, async (_, step, outcome) => {
    const [one, two] = [await provider(step), await provider(streams(said('hel', 'lo')))];
    const { chat, records } = await gatewayOf(twoUpstreams(one.url, two.url, limitsFor(step)));
    const { text, done, events } = await readEvents(await chat({ stream: true }));
    expect([text, done]).toEqual(['hello', true]);
    expect(new Set(events.map(({ model }) => model as string))).toEqual(new Set(['two/plain']));
    expect(records[0]?.attempts[0]?.outcome).toBe(outcome);
  });

  it.each<[string, Step, string]>([
    ['ends its stream before its first event', streams([]), 'upstream_truncated'],
    ['streams only comments', streams([': waiting\n\n', ': waiting\n\n']), 'upstream_truncated'],
    [
      'streams an error first',
      streams([`data: ${JSON.stringify({ error: { message: 'busy', type: 'overloaded_error' } })}\n\n`]),
      'upstream_overloaded',
    ],
    [
      'counts tokens and then streams an error',
      streams([counted, `data: ${JSON.stringify({ error: { message: 'busy', type: 'overloaded_error' } })}\n\n`], { everyMs: 20 }),
      'upstream_overloaded',
    ],
    ['streams garbage first', streams(['data: {"cho\n\n']), 'upstream_invalid_response'],
    ['resets before its first event', streams([': hm\n\n'], { end: 'reset' }), 'upstream_truncated'],
    ['streams comments and then hangs', streamHangs, 'upstream_idle_timeout'],
    ['sends an event that is too large', streams([`data: ${'x'.repeat(4000)}\n\n`]), 'upstream_event_too_large'],
  ])('%s', { retry: 2 }, async (_, step, outcome) => {
    const [one, two] = [await provider(step), await provider(streams(said('hello')))];
    const { chat, records } = await gatewayOf(
      twoUpstreams(one.url, two.url, { ...limitsFor(step), server: { limits: { upstream_event: 2048 } } }),
    );
    const { text, done } = await readEvents(await chat({ stream: true }));
    expect([text, done]).toEqual(['hello', true]);
    expect(records[0]?.attempts.map((attempt) => attempt.outcome)).toEqual([outcome, 'answered']);
  });

  it('begins a plain answer and falls silent', { retry: 2 }, async () => {
    const begins: Step = (response) => void response.writeHead(200, { 'content-type': 'application/json' }).write(' ');
    const [one, two] = [await provider(begins), await provider()];
    const { chat, records } = await gatewayOf(twoUpstreams(one.url, two.url, quick));
    expect(await contentOf(await chat({}))).toBe('hello');
    expect(records[0]?.attempts).toMatchObject([
      { outcome: 'upstream_idle_timeout', error: 'The provider sent nothing for 2 s before its answer.' },
      { outcome: 'answered' },
    ]);
  });

  it('has a format that cannot express the request', async () => {
    const [one, two] = [await provider(), await provider()];
    const base = twoUpstreams(one.url, two.url, { plugins: [...quietPlugins] }) as { providers: Record<string, object> };
    const { chat, records } = await gatewayOf({
      ...base,
      providers: { ...base.providers, one: { ...base.providers['one'], dialect: 'anthropic' } },
    });
    expect(await contentOf(await chat({ n: 2 }))).toBe('hello');
    expect([one.asked.length, records[0]?.attempts.map(({ provider: name, outcome }) => [name, outcome])]).toEqual([
      0,
      [
        ['one', 'unsupported_value'],
        ['two', 'answered'],
      ],
    ]);
  });

  it('refuses the connection', async () => {
    const closed = createServer();
    await new Promise<void>((resolve) => closed.listen(0, '127.0.0.1', resolve));
    const { port } = closed.address() as AddressInfo;
    await new Promise((resolve) => closed.close(resolve));
    const two = await provider();
    const { chat, records } = await gatewayOf(twoUpstreams(`http://127.0.0.1:${port}/v1`, two.url));
    expect(await contentOf(await chat({}))).toBe('hello');
    expect(records[0]?.attempts[0]).toMatchObject({
      outcome: 'upstream_unreachable',
      error: 'The provider cannot be reached: it refused the connection.',
    });
  });

  it('breaks off a stream that nobody asked for', async () => {
    const [one, two] = [await provider(streams([event({ role: 'assistant', content: 'half an ' })])), await provider()];
    const { chat, records } = await gatewayOf(twoUpstreams(one.url, two.url));
    expect(await contentOf(await chat({}))).toBe('hello');
    expect(records).toMatchObject([
      {
        outcome: 'answered',
        attempts: [{ outcome: 'upstream_truncated' }, { outcome: 'answered' }],
        response: { choices: [{ text: 'hello' }] },
      },
    ]);
  });

  it('has an answer larger than the limit', async () => {
    const [one, two] = [await provider(answers(completion('x'.repeat(5000)))), await provider()];
    const { chat, records } = await gatewayOf(twoUpstreams(one.url, two.url, { server: { limits: { upstream_body: 2048 } } }));
    expect(await contentOf(await chat({}))).toBe('hello');
    expect(records[0]?.attempts[0]?.outcome).toBe('upstream_response_too_large');
  });
});

describe('a candidate that is not asked does not count for max_attempts', () => {
  const calls = async (second: object, more: object): Promise<readonly unknown[]> => {
    const [one, two, three] = [await provider(fault(500)), await provider(), await provider()];
    const open = (url: string): object => ({ dialect: 'openai-chat', base_url: url, api_key: 'k' });
    const { chat, records } = await gatewayOf({
      providers: { one: open(one.url), two: { ...open(two.url), ...second }, three: open(three.url) },
      models: [
        { id: 'plain', free: true, providers: ['one', 'two', 'three'].map((providerId) => ({ providerId, externalId: 'plain-1' })) },
      ],
      ...routing({}, { max_attempts: 2 }),
      ...more,
    });
    expect(await contentOf(await chat({ n: 2 }))).toBe('hello');
    expect(two.asked).toHaveLength(0);
    return records[0]?.attempts.map(({ outcome }) => outcome) ?? [];
  };

  it('where its format cannot express the request', async () => {
    expect(await calls({ dialect: 'anthropic' }, {})).toEqual(['upstream_error', 'unsupported_value', 'answered']);
  });

  it('where a limit of its provider has no room', async () => {
    expect(await calls({}, { limits: [{ by: 'provider', match: 'two', tokens_per_minute: 1 }] })).toEqual([
      'upstream_error',
      'rate_limit_exceeded',
      'answered',
    ]);
  });
});

describe('a provider that thinks for long does not time out', () => {
  it.each([
    ['spaces before a plain answer', ' ', false],
    ['comments before a stream', ': thinking\n\n', true],
  ])('while it sends %s', { retry: 2 }, async (_, sign, stream) => {
    const { url } = await provider(async (response) => {
      response.writeHead(200, { 'content-type': stream ? 'text/event-stream' : 'application/json' });
      // longer than its limits
      for (let at = 0; at < 25; at++) {
        response.write(sign);
        await pause(100);
      }
      response.end(stream ? said('hello').join('') : JSON.stringify(completion('hello')));
    });
    const { chat, records } = await gatewayOf(twoUpstreams(url, url, quick));
    expect(await (await chat({ stream })).text()).toContain('hello');
    expect(records[0]?.attempts).toMatchObject([{ outcome: 'answered' }]);
  });
});

describe('a redirect', () => {
  it('is not followed', async () => {
    const secret = await provider();
    const one = await provider((response) => void response.writeHead(302, { location: `${secret.url}/chat/completions` }).end());
    const { chat } = await gatewayOf(twoUpstreams(one.url, one.url));
    expect((await errorOf(await chat({}))).code).toBe('upstream_redirect');
    expect(secret.asked).toEqual([]);
  });
});

describe('no other candidate is asked', () => {
  it.each([400, 413, 422])('when the provider blames the request with %d', async (status) => {
    const [one, two] = [
      await provider(fault(status, { message: 'Too odd.', type: 'invalid_request_error', code: 'odd', param: 'messages' })),
      await provider(),
    ];
    const { chat } = await gatewayOf(twoUpstreams(one.url, two.url));
    const response = await chat({});
    expect([response.status, await errorOf(response)]).toEqual([
      status,
      { message: 'Too odd.', type: 'invalid_request_error', param: 'messages', code: 'odd' },
    ]);
    expect(two.asked).toEqual([]);
  });

  it('when the provider itself says that it does not support a value', async () => {
    const [one, two] = [
      await provider(fault(400, { message: 'No.', type: 'invalid_request_error', code: 'unsupported_value', param: 'temperature' })),
      await provider(),
    ];
    const { chat } = await gatewayOf(twoUpstreams(one.url, two.url));
    expect((await errorOf(await chat({}))).code).toBe('unsupported_value');
    expect(two.asked).toEqual([]);
  });

  it('when the dialect blames the request before the provider is asked', async () => {
    const two = await provider();
    const base = twoUpstreams('http://127.0.0.1:9', two.url) as { providers: Record<string, object> };
    const { chat } = await gatewayOf({
      ...base,
      providers: { ...base.providers, one: { ...base.providers['one'], dialect: 'anthropic' } },
    });
    expect((await chat({ messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'ftp://x' } }] }] })).status).toBe(
      400,
    );
    expect(two.asked).toEqual([]);
  });

  it('once max_attempts is used up', async () => {
    const [one, two] = [await provider(fault(500)), await provider()];
    const { chat } = await gatewayOf(twoUpstreams(one.url, two.url, routing({}, { max_attempts: 1 })));
    expect((await chat({})).status).toBe(502);
    expect([one.asked.length, two.asked.length]).toEqual([1, 0]);
  });

  it('once the total time of the request is over', async () => {
    const [one, two] = [await provider(hangs), await provider()];
    const { chat, records } = await gatewayOf(twoUpstreams(one.url, two.url, routing({ total: 600 })));
    const response = await chat({});
    expect([response.status, await errorOf(response)]).toMatchObject([
      504,
      { code: 'upstream_timeout', message: 'The request took longer than 0.6 s.' },
    ]);
    await one.asked[0]?.closed;
    expect([two.asked.length, records[0]?.outcome]).toEqual([0, 'failed']);
  });
});

const both = async (first: Step, second: Step) => {
  const [one, two] = [await provider(first), await provider(second)];
  return await gatewayOf(twoUpstreams(one.url, two.url, limitsFor(second)));
};

describe('after several failures the caller gets', () => {
  it.each<[string, Step, Step, number, string]>([
    ['the last', fault(500), fault(503), 503, 'upstream_unavailable'],
    ['a rate limit before a server fault', fault(429), fault(500), 429, 'upstream_rate_limited'],
    ['a fault of the request before a rate limit', fault(429), fault(400), 400, 'upstream_invalid_request'],
    ['a timeout as 504', fault(500), hangs, 504, 'upstream_timeout'],
    [
      'nothing of a refused credential',
      fault(401, { message: 'Incorrect API key provided: k1' }),
      fault(401, { message: 'Incorrect API key provided: k2' }),
      502,
      'upstream_auth_error',
    ],
  ])('%s', { retry: 2 }, async (_, first, second, status, code) => {
    const { chat } = await both(first, second);
    const response = await chat({});
    const text = await response.text();
    expect([response.status, (JSON.parse(text) as { error: { code: string } }).error.code]).toEqual([status, code]);
    expect(text).not.toMatch(/k1|k2|127\.0\.0\.1/);
  });

  it('the retry delay of a rate limit', async () => {
    const { chat } = await both(fault(429, { message: 'slow down' }, { 'retry-after': '2' }), fault(500));
    const { headers } = await chat({});
    expect([headers.get('retry-after'), headers.get('retry-after-ms')]).toEqual(['2', '2000']);
  });

  it('the shorter retry delay of two rate limits', async () => {
    const { chat } = await both(
      fault(429, { message: 'slow down' }, { 'retry-after': '60' }),
      fault(429, { message: 'slow down' }, { 'retry-after': '5' }),
    );
    expect((await chat({})).headers.get('retry-after')).toBe('5');
  });

  it('a prompt that was too long before the failure of a larger model', async () => {
    const small = await provider(fault(400, { message: 'too long', code: 'context_length_exceeded' }));
    const large = await provider(fault(500));
    const { chat } = await gatewayOf({
      providers: Object.fromEntries(
        Object.entries({ small, large }).map(([id, { url }]) => [id, { dialect: 'openai-chat', base_url: url, api_key: 'k' }]),
      ),
      models: [
        { id: 'short', free: true, context_length: 1000, providers: [{ providerId: 'small' }] },
        { id: 'long', free: true, context_length: 9000, providers: [{ providerId: 'large' }] },
      ],
      routing: { models: { auto: { candidates: ['short', 'long'], strategy: 'ordered', retry: { same_target: 0 } } } },
    });
    const response = await chat({ model: 'auto' });
    expect([response.status, (await errorOf(response)).code, large.asked.length]).toEqual([400, 'context_length_exceeded', 1]);
  });

  it('x-should-retry: false where a retry cannot help', async () => {
    const { chat } = await both(fault(401), fault(401));
    expect((await chat({})).headers.get('x-should-retry')).toBe('false');
  });

  it('the last failure for a request for a stream too', async () => {
    const { chat } = await both(fault(500), fault(503));
    const response = await chat({ stream: true });
    expect([response.status, response.headers.get('content-type'), (await errorOf(response)).code]).toEqual([
      503,
      'application/json',
      'upstream_unavailable',
    ]);
  });
});

describe('the record', () => {
  it('has every attempt with its status, duration and error', async () => {
    const [one, two] = [await provider(fault(500, { message: 'on fire' })), await provider()];
    const { chat, records } = await gatewayOf(twoUpstreams(one.url, two.url));
    await chat({});
    expect(records[0]).toMatchObject({
      provider: 'two',
      outcome: 'answered',
      attempts: [
        {
          provider: 'one',
          model: 'plain',
          externalId: 'plain-1',
          outcome: 'upstream_error',
          status: 500,
          durationMs: expect.any(Number),
          timeToFirstTokenMs: null,
          error: expect.stringContaining('on fire'),
        },
        {
          provider: 'two',
          model: 'plain',
          externalId: 'plain-1',
          outcome: 'answered',
          status: 200,
          durationMs: expect.any(Number),
          timeToFirstTokenMs: expect.any(Number),
          error: null,
        },
      ],
    });
  });

  it('has the answer of the attempt that succeeded', async () => {
    const [one, two] = [await provider(streams([event({ role: 'assistant', content: '' })])), await provider(streams(said('clean')))];
    const { chat, records } = await gatewayOf(twoUpstreams(one.url, two.url));
    await readEvents(await chat({ stream: true }));
    expect(records[0]?.response?.choices.map(({ text }) => text)).toEqual(['clean']);
  });

  it('says failed, not cut, when a plain answer broke off', async () => {
    const one = await provider(streams([event({ role: 'assistant', content: 'half an ' })]));
    const { chat, records } = await gatewayOf(twoUpstreams(one.url, one.url));
    expect([(await chat({})).status, records[0]?.outcome, records[0]?.status]).toEqual([502, 'failed', 502]);
  });

  it('says failed when no candidate answered', async () => {
    const [one, two] = [await provider(fault(500)), await provider(fault(500))];
    const { chat, records } = await gatewayOf(twoUpstreams(one.url, two.url));
    await chat({});
    expect(records).toMatchObject([{ outcome: 'failed', status: 502, error: { code: 'upstream_error' }, attempts: [{}, {}] }]);
  });
});

describe('a client that leaves', () => {
  it('during the first attempt is not served by the second', async () => {
    const [one, two] = [await provider(hangs), await provider()];
    const { post, records } = await gatewayOf(twoUpstreams(one.url, two.url));
    const leaving = new AbortController();
    one.script(() => leaving.abort());
    await expect(post({ model: 'plain', messages: [{ role: 'user', content: 'hi' }] }, { signal: leaving.signal })).rejects.toThrow(
      'aborted',
    );
    await one.asked[0]?.closed;
    await expect.poll(() => records).toMatchObject([{ outcome: 'gone', status: 499, error: { code: 'client_closed' } }]);
    expect(two.asked).toEqual([]);
  });

  it('between two attempts is not served by the second', async () => {
    const [one, two] = [await provider(fault(500)), await provider()];
    let leave = (): void => {};
    const plugin = {
      name: 'test/leave',
      summary: '',
      schema: {},
      apply: ({ hooks }: any) => hooks.attempted.tap('test/leave', () => leave()),
    };
    const { chat, gateway, records } = await gatewayOf(twoUpstreams(one.url, two.url), { plugins: [plugin] });
    // a socket closes later, when the second attempt may have begun
    leave = () => {
      for (const exchange of gateway.running) exchange.cancel(new GatewayError('client_closed', 'The client has left.'));
    };
    await chat({});
    expect([two.asked.length, records[0]?.outcome]).toEqual([0, 'gone']);
  });
});

it('names the dialect of the mapping where no plugin opens it', async () => {
  const config = {
    ...oneUpstream('http://127.0.0.1:9'),
    models: [{ id: 'plain', pricing: 'unknown', providers: [{ providerId: 'up', externalId: 'p', dialect: 'openai-responses' }] }],
    plugins: quietPlugins.filter((name) => name !== 'stream/upstream'),
  };
  const { chat, records } = await gatewayOf(config);
  expect((await chat({})).status).toBe(500);
  expect(records[0]?.attempts[0]?.error).toContain('the dialect "openai-responses"');
});

describe('counts that come before the answer', () => {
  /** The CPU time of a request whose provider reports its counts this many times before it says anything. */
  async function cpuMsOfCounts(reports: number): Promise<number> {
    const said: Chunk[] = [
      { type: 'text-delta', choice: 0, text: 'hello' },
      { type: 'finish', choice: 0, reason: 'completed', native: null },
    ];
    const parts = [...Array.from({ length: reports }, (): Chunk[] => [{ type: 'usage', usage: unknownUsage }]), said, null];
    let at = 0;
    const source = { adjustments: [], read: () => parts[at++] ?? null, cancel() {} };
    const { chat } = await gatewayOf(oneUpstream('http://127.0.0.1:9'), {
      plugins: [probe(({ hooks }) => hooks.open.tap({}, () => source))],
    });
    return await cpuMsUntil(async () => expect(await contentOf(await chat({}))).toBe('hello'));
  }

  it('take linear time', async () => {
    await cpuMsOfCounts(4000);
    const some = await cpuMsOfCounts(4000);
    expect(await cpuMsOfCounts(20_000)).toBeLessThan(10 * some);
  });
});
