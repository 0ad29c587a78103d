/** log/alerts: which alerts are sent, when and to whom, and that each is sent once. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, createServer } from 'node:http';
import { connect, createServer as createSilent } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Config } from '../../../core/config.ts';
import type { AnyPlugin } from '../../../core/host/plugin.ts';
import { States } from '../../../core/host/state.ts';
import { defineError, GatewayError } from '../../../core/errors.ts';
import type { AlertRule } from '../../../core/limits.ts';
import { createLogger } from '../../../core/logger.ts';
import { EARLY } from '../../../core/pipeline/hooks.ts';
import { Secret } from '../../../core/secret.ts';
import { postJson } from '../../../core/wire/egress/post.ts';
import { Collector } from '../../../plugins/log/alerts/collector.ts';
import { Courier } from '../../../plugins/log/alerts/courier.ts';
import alerts from '../../../plugins/log/alerts/index.ts';
import { idOf } from '../../../plugins/log/alerts/sums.ts';
import { Watch } from '../../../plugins/log/alerts/watch.ts';
import { pluginContract } from '../../contract/plugin.ts';
import { probe } from '../../core/scene.ts';
import { admin, ask, config as ofWorkers } from '../../e2e/workers-scene.ts';
import { start } from '../../_kit/executable.ts';
import { oneUpstream, quietPlugins, testGateway } from '../../_kit/gateway.ts';
import type { TestGateway } from '../../_kit/gateway.ts';
import { answers, completion, event, pause, startUpstream, streams } from '../../_kit/upstream.ts';
import type { ScriptedUpstream, Step } from '../../_kit/upstream.ts';
import { attempt } from './journal/scene.ts';

pluginContract({ use: 'log/alerts' });

const minute = 60_000;
const begin = Date.parse('2026-11-22T12:00:00Z');
const good = answers(completion('Hello.'));
const bad = answers({ error: { message: 'broken' } }, { status: 500 });

let upstream: ScriptedUpstream;
let hook: ScriptedUpstream;
let now: number;
const open: TestGateway[] = [];

beforeEach(async () => {
  now = begin;
  [upstream, hook] = await Promise.all([startUpstream(good), startUpstream(answers('ok'))]);
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((gateway) => gateway.close()));
  await Promise.all([upstream.close(), hook.close()]);
});

interface More {
  readonly webhook?: string;
  readonly states?: States;
  readonly config?: object;
  readonly plugins?: readonly AnyPlugin[];
}

/** A plugin that refuses the config after all others have been applied. */
const refusing = probe(
  ({ hooks }) =>
    hooks.boot.tap(() => {
      throw new Error('no');
    }),
  'test/refusing',
);

async function gatewayWith(
  rules: readonly object[],
  { webhook = `${hook.url}/secret-path`, states = new States(), config = {}, plugins = [] }: More = {},
): Promise<TestGateway> {
  const gateway = await testGateway({
    config: {
      ...oneUpstream(upstream.url, { routing: { default: { strategy: 'ordered', retry: { same_target: 0 } } } }),
      alerts: { webhook, rules },
      plugins: [...quietPlugins],
      ...config,
    },
    clock: () => now,
    states,
    plugins,
  });
  open.push(gateway);
  return gateway;
}

/** Sends this many requests, which the provider answers with this reply. */
async function send(gateway: TestGateway, times: number, step: Step, headers: Record<string, string> = {}): Promise<void> {
  upstream.script(step);
  for (let at = 0; at < times; at++) await (await gateway.chat({}, headers)).text();
}

const messages = (): string[] => hook.asked.map(({ json }) => json['text'] as string);
const openAlerts = async (gateway: TestGateway): Promise<any> => await (await gateway.get('/api/alerts', { host: 'localhost' })).json();

/** Alerts are checked once a second, and at each request of the API. */
const looked = async (count: number, gateway?: TestGateway): Promise<void> => {
  if (gateway !== undefined) await openAlerts(gateway);
  await expect.poll(messages).toHaveLength(count);
};
const nothingTold = async (gateway: TestGateway, count = 0): Promise<void> => {
  await openAlerts(gateway);
  await pause(30);
  expect(messages()).toHaveLength(count);
};

describe('errors', () => {
  test('are reported once at their beginning and once at their end, and the API lists them between', async () => {
    const gateway = await gatewayWith([{ errors_percent: 20, min_requests: 4 }]);
    await send(gateway, 3, good);
    await send(gateway, 2, bad);
    await looked(1);
    expect(messages()).toEqual(['Alert: errors above 20 %. 40 % of 5 requests failed in 5 min, since 2026-11-22 12:00 UTC.']);
    expect(await openAlerts(gateway)).toEqual({
      data: [
        {
          name: 'errors above 20 %',
          watches: 'errors',
          of: '',
          facts: '40 % of 5 requests failed in 5 min',
          since: '2026-11-22T12:00:00.000Z',
        },
      ],
      rules: 1,
      webhook: { isSet: true, fault: null },
    });
    now += minute;
    await send(gateway, 1, bad);
    await expect.poll(async () => (await openAlerts(gateway)).data[0]?.facts).toBe('50 % of 6 requests failed in 5 min');
    expect(messages()).toHaveLength(1);
    now += 6 * minute;
    await looked(2, gateway);
    expect(messages()[1]).toBe('Ended: errors above 20 %. no request in 5 min. It lasted 7 min.');
    expect((await openAlerts(gateway)).data).toEqual([]);
    expect(gateway.lines.filter((line) => line.includes('errors above 20 %'))).toHaveLength(2);
  });

  test('are a share of the requests of known callers: a stranger that is refused is not one of them', async () => {
    const gateway = await gatewayWith([{ errors_percent: 20, min_requests: 1 }]);
    await gateway.get('/unknown');
    await expect.poll(() => gateway.records).toMatchObject([{ outcome: 'refused' }]);
    await send(gateway, 1, bad);
    await looked(1);
    expect(messages()[0]).toContain('100 % of 1 request failed');
  });

  test('include requests that a plugin fails before their key and their model are known', async () => {
    const broken = probe(
      ({ hooks }) =>
        hooks.auth.tap({ stage: EARLY }, () => {
          throw new Error('no');
        }),
      'test/broken',
    );
    const gateway = await gatewayWith([{ errors_percent: 20, min_requests: 1 }], { plugins: [broken] });
    expect((await gateway.chat({})).status).toBe(500);
    await looked(1, gateway);
    expect(messages()[0]).toContain('100 % of 1 request failed');
  });

  test('include callers that leave before the first token, and not callers that leave in the middle of a stream', async () => {
    const gateway = await gatewayWith([{ errors_percent: 0, min_requests: 1 }]);
    const leave = async (leaving: AbortController): Promise<void> => {
      const before = gateway.records.length;
      await gateway
        .post({ model: 'plain', messages: [{ role: 'user', content: 'hi' }], stream: true }, { signal: leaving.signal })
        .then((reply) => reply.body?.getReader().read())
        .then(
          () => leaving.abort(),
          () => {},
        );
      await expect.poll(() => gateway.records.slice(before)).toMatchObject([{ outcome: 'gone' }]);
    };
    upstream.script(streams([event({ content: 'half an ' })], { end: 'hang' }));
    await leave(new AbortController());
    await nothingTold(gateway);
    const leaving = new AbortController();
    upstream.script(() => leaving.abort());
    await leave(leaving);
    await looked(1, gateway);
    expect(messages()).toEqual(['Alert: errors above 0 %. 50 % of 2 requests failed in 5 min, since 2026-11-22 12:00 UTC.']);
  });

  test('that a caller causes are not counted: a broken body, an unknown model, what a provider refuses in the request', async () => {
    const gateway = await gatewayWith([{ errors_percent: 0, min_requests: 1 }]);
    expect((await gateway.post('{"model":')).status).toBe(400);
    expect((await gateway.chat({ model: 'nobody' })).status).toBe(404);
    expect((await gateway.chat({ temperature: 'hot' })).status).toBe(400);
    await send(gateway, 1, answers({ error: { message: 'no' } }, { status: 400 }));
    await send(gateway, 1, answers({ error: { message: 'too long', code: 'string_above_max_length' } }, { status: 400 }));
    await nothingTold(gateway);
    await send(gateway, 1, answers({ error: { message: 'slow down' } }, { status: 429 }));
    await looked(1, gateway);
    expect(messages()[0]).toContain('33.3 % of 3 requests failed in 5 min');
  });

  test.each(['request', 'answer'])(
    'of a stream that has begun with a comment are those of its error event: of a plugin that drops the %s, and of no refusal',
    async (what) => {
      const drops = defineError({ code: 'drops_request', status: 503 });
      let goOn: () => void;
      let asked: Promise<void>;
      const dropping = probe(({ hooks }) => {
        hooks.open.tap({ stage: EARLY }, async ({ headers }) => {
          await asked;
          if (headers['x-drop'] === 'request') throw new GatewayError(drops, 'Dropped.');
          return undefined;
        });
        hooks.chunk.tap((chunk, { headers }) => {
          if (headers['x-drop'] === 'answer') throw new GatewayError(drops, 'Dropped.');
          return chunk;
        });
      });
      const config = { server: { limits: { keep_alive_ms: 40 } } };
      const gateway = await gatewayWith([{ errors_percent: 0, min_requests: 1 }], { config, plugins: [dropping] });
      // the head of a stream is sent with its first comment
      const late = async (headers: Record<string, string>): Promise<string> => {
        ({ promise: asked, resolve: goOn } = Promise.withResolvers<void>());
        const response = await gateway.chat({ stream: true }, headers);
        goOn();
        return await response.text();
      };
      upstream.script(answers({ error: { message: 'too long', code: 'string_above_max_length' } }, { status: 400 }));
      expect(await late({})).toMatch(/^: keep-alive[^]*string_above_max_length/);
      await nothingTold(gateway);
      upstream.script(good);
      expect(await late({ 'x-drop': what })).toMatch(/^: keep-alive[^]*drops_request/);
      await looked(1, gateway);
      expect(messages()[0]).toContain('50 % of 2 requests failed in 5 min');
    },
  );

  test('of too few requests, or within the limit, are not reported', async () => {
    const gateway = await gatewayWith([{ errors_percent: 20 }, { name: 'half', errors_percent: 50, min_requests: 2 }]);
    await send(gateway, 3, good);
    await send(gateway, 3, bad);
    await nothingTold(gateway);
  });

  test('stay reported while the requests are as bad, also where they become fewer than an alert begins with', async () => {
    const gateway = await gatewayWith([{ errors_percent: 20, min_requests: 4 }]);
    await send(gateway, 4, bad);
    await looked(1, gateway);
    now += 4 * minute;
    await send(gateway, 1, bad);
    now += 2 * minute;
    await nothingTold(gateway, 1);
    expect((await openAlerts(gateway)).data).toMatchObject([{ facts: expect.stringContaining('of 1 request') }]);
  });

  test('are counted for each value of a metadata key, and cannot become markup', async () => {
    const gateway = await gatewayWith([{ name: 'a & b', errors_percent: 0, min_requests: 1, by: 'meta.team', match: '<*' }]);
    await send(gateway, 2, bad, { 'x-gateway-team': '<!channel>' });
    await send(gateway, 2, bad, { 'x-gateway-team': 'search' });
    await send(gateway, 2, bad);
    await looked(1, gateway);
    expect(messages()[0]).toMatch(/^Alert: a &amp; b \(meta\.team &lt;!channel&gt;\)\. 100 % of 2 requests failed/);
  });

  test('cannot mention a chat user, or hide an address, by a value that a caller made up', async () => {
    const gateway = await gatewayWith([{ errors_percent: 0, min_requests: 1, by: 'meta.team' }]);
    await send(gateway, 2, bad, {
      'x-gateway-team': '@channel [reset](https://example.com) ![](https://example.com/x.png) ann@example.com www.example.com',
    });
    await looked(1, gateway);
    expect(messages()[0]).not.toMatch(/@\w|\]\(|:\/\/|www\./);
    expect(messages()[0]?.replaceAll('\u200b', '')).toContain(
      '(meta.team @channel [reset](https://example.com) ![](https://example.com/x.png) ann@example.com www.example.com)',
    );
    expect((await openAlerts(gateway)).data[0]?.of).toBe(
      'meta.team @channel [reset](https://example.com) ![](https://example.com/x.png) ann@example.com www.example.com',
    );
  });
});

describe('thousands of values that callers make up', () => {
  test.each([
    ['errors', 20, 20, 0],
    ['latency', 20, 20, 0],
    ['cost', 1, 0, 20],
  ] as const)('do not suppress an alert about another value: %s', (watches, requests, bad, dollars) => {
    const rule: AlertRule = { name: watches, watches, above: 10, slowMs: 1, windowMs: minute, least: 20, by: 'meta.team', match: null };
    using watch = new Watch();
    watch.follow({ webhook: null, rules: [rule] }, { logger: createLogger(() => {}), clock: () => now, providers: new Map() });
    const id = idOf(rule);
    const flood = (): void => {
      watch.add(Array.from({ length: 3000 }, (_, at) => [id, `made up ${now} ${at}`, { requests: 1, bad: 1, dollars: 0.1 }] as const));
      now += 1000;
      watch.look();
    };
    flood();
    watch.add([[id, 'search', { requests, bad, dollars }]]);
    flood();
    flood();
    expect(watch.shown().data.map(({ of }) => of)).toEqual(['meta.team search']);
  });

  test('have at most 1,000 alerts: those with fewer errors end', () => {
    const rule: AlertRule = {
      name: 'a',
      watches: 'errors',
      above: 0,
      slowMs: null,
      windowMs: minute,
      least: 1,
      by: 'meta.team',
      match: null,
    };
    using watch = new Watch();
    watch.follow({ webhook: null, rules: [rule] }, { logger: createLogger(() => {}), clock: () => now, providers: new Map() });
    const add = (name: string, count: number): void => {
      watch.add(
        Array.from({ length: 1000 }, (_, at) => [idOf(rule), `${name} ${at}`, { requests: count, bad: count, dollars: 0 }] as const),
      );
      watch.look();
    };
    add('before', 1);
    expect(watch.shown().data).toHaveLength(1000);
    add('after', 2);
    const shown = watch.shown().data;
    expect(shown).toHaveLength(1000);
    expect(shown.every(({ of }) => of.startsWith('meta.team after'))).toBe(true);
  });
});

describe('a provider', () => {
  const two = (): object => ({
    providers: { up: { dialect: 'openai-chat', base_url: upstream.url, api_key: 'k' }, rescue: { dialect: 'mock' } },
    models: [
      {
        id: 'plain',
        free: true,
        providers: [
          { providerId: 'up', externalId: 'plain', streaming: true },
          { providerId: 'rescue', externalId: 'plain', streaming: true },
        ],
      },
    ],
    plugins: quietPlugins.filter((name) => name !== 'route/health'),
  });

  test('is down when all its attempts fail, although the next provider answers, until it answers itself', async () => {
    const gateway = await gatewayWith([{ provider_down: true }], { config: two() });
    await send(gateway, 2, bad);
    await nothingTold(gateway);
    await send(gateway, 1, bad);
    await looked(1, gateway);
    expect(messages()[0]).toBe('Alert: provider down (up). 3 of 3 attempts failed in 5 min, since 2026-11-22 12:00 UTC.');
    now += 20 * minute;
    await nothingTold(gateway, 1);
    expect((await openAlerts(gateway)).data).toMatchObject([{ of: 'up', facts: '3 of 3 attempts failed in 5 min' }]);
    await send(gateway, 1, good);
    await looked(2, gateway);
    expect(messages()[1]).toBe('Ended: provider down (up). 1 of 1 attempts answered in 5 min. It lasted 20 min.');
  });

  test.each(['outrun', 'client_closed'])('has not answered, and has not failed, with an attempt that ended as %s', (outcome) => {
    const collector = new Collector();
    collector.follow([
      { name: 'down', watches: 'provider', above: 0, slowMs: null, windowMs: 5 * minute, least: 3, by: 'provider', match: null },
    ]);
    for (const one of [outcome, 'answered', 'upstream_error']) collector.attempted(attempt(one));
    expect(collector.take().map(([, ...counts]) => counts)).toEqual([['up', { requests: 2, bad: 1, dollars: 0 }]]);
  });

  test('that the config no longer has is not down, although its failures are of the last minutes', async () => {
    const states = new States();
    const former = await gatewayWith([{ provider_down: true }], { config: two(), states });
    await send(former, 3, bad);
    await looked(1, former);
    const rescue = {
      providers: { rescue: { dialect: 'mock' } },
      models: [{ id: 'plain', free: true, providers: [{ providerId: 'rescue', externalId: 'plain', streaming: true }] }],
    };
    const next = await gatewayWith([{ provider_down: true }], { config: { ...two(), ...rescue }, states });
    await nothingTold(next, 1);
    expect((await openAlerts(next)).data).toEqual([]);
  });

  test('that refuses bad requests is not down', async () => {
    const gateway = await gatewayWith([{ provider_down: true }], { config: two() });
    await send(gateway, 4, answers({ error: { message: 'no such field' } }, { status: 400 }));
    await nothingTold(gateway);
  });
});

test('slow requests and expensive requests are reported', async () => {
  const config = {
    models: [
      {
        id: 'plain',
        pricing: { prompt: '0.1', completion: '0.1' },
        providers: [{ providerId: 'up', externalId: 'plain', streaming: true }],
      },
    ],
  };
  const gateway = await gatewayWith(
    [
      { latency_p95_ms: 40, min_requests: 1 },
      { cost_dollars: '1.40', window_minutes: 60 },
      { cost_dollars: '1.50', window_minutes: 60 },
    ],
    { config },
  );
  await send(gateway, 1, async (response, asked) => {
    await pause(60);
    await good(response, asked);
  });
  await looked(2, gateway);
  expect(messages().toSorted()).toEqual([
    'Alert: cost above $1.40. $1.50 for 1 request in 60 min, since 2026-11-22 12:00 UTC.',
    'Alert: latency p95 above 40 ms. 100 % of 1 request took longer than 40 ms in 5 min, since 2026-11-22 12:00 UTC.',
  ]);
});

test('a cost that is exactly the limit is not reported, and a rule that is written twice counts once', async () => {
  const costing = (id: string, dollars: string): object => ({
    id,
    pricing: { prompt: '0', completion: '0', request: dollars },
    providers: [{ providerId: 'up', externalId: id, streaming: true }],
  });
  const rule = { cost_dollars: '0.3' };
  const gateway = await gatewayWith([rule, rule], { config: { models: [costing('plain', '0.1'), costing('dear', '0.2')] } });
  for (const model of ['plain', 'dear']) await (await gateway.chat({ model })).text();
  await nothingTold(gateway);
  await send(gateway, 1, good);
  await looked(1, gateway);
  expect(messages()[0]).toMatch(/^Alert: cost above \$0\.30\. \$0\.40 for 3 requests/);
});

test('a cost of less than a hundredth of a cent is not told as $0.0000', async () => {
  const model = { id: 'plain', pricing: { prompt: '0', completion: '0', request: '0.0000123456' } };
  const config = { models: [{ ...model, providers: [{ providerId: 'up', externalId: 'plain', streaming: true }] }] };
  const gateway = await gatewayWith([{ cost_dollars: '0.00001' }], { config });
  await send(gateway, 1, good);
  await looked(1, gateway);
  expect(messages()[0]).toMatch(/\. \$0\.00001235 for 1 request in 5 min/);
});

test('an alert ends after its window, although the clock was set back meanwhile', async () => {
  const gateway = await gatewayWith([{ errors_percent: 20, min_requests: 2 }]);
  await send(gateway, 2, bad);
  await looked(1, gateway);
  now -= 60 * minute;
  await openAlerts(gateway);
  now += 6 * minute;
  await send(gateway, 1, good);
  await looked(2, gateway);
  expect(messages()[1]).toMatch(/^Ended: errors above 20 %\. 0 % of 1 request failed in 5 min\./);
});

test('counts and open alerts survive a reload and a refused reload; a removed rule sends nothing more', async () => {
  const states = new States();
  const rules = [{ errors_percent: 20, min_requests: 4 }];
  const former = await gatewayWith(rules, { states });
  await send(former, 2, bad);
  await expect(gatewayWith([], { states, plugins: [refusing] })).rejects.toThrow('test/refusing');
  expect((await openAlerts(former)).rules).toBe(1);
  await send(former, 1, bad);
  const next = await gatewayWith(rules, { states });
  await former.close();
  open.splice(open.indexOf(former), 1);
  await send(next, 1, bad);
  await looked(1, next);
  const last = await gatewayWith([{ errors_percent: 30, min_requests: 100 }], { states });
  expect((await openAlerts(last)).data).toEqual([]);
  now += 10 * minute;
  await nothingTold(last, 1);
});

describe('the webhook', () => {
  test('that fails is called again, and the process log does not show its address', async () => {
    hook.script(answers('no', { status: 500 }), answers('ok'));
    const gateway = await gatewayWith([{ errors_percent: 0, min_requests: 1 }]);
    await send(gateway, 1, bad);
    await expect.poll(async () => (await openAlerts(gateway)).webhook.fault).toBe('it answered 500');
    await looked(2, gateway);
    await expect.poll(async () => (await openAlerts(gateway)).webhook.fault).toBe(null);
    expect(messages()[0]).toBe(messages()[1]);
    expect(gateway.lines.join('')).not.toContain('secret-path');
  });

  test('that cannot be reached is reported without its address', async () => {
    const gateway = await gatewayWith([{ errors_percent: 0, min_requests: 1 }], { webhook: 'http://127.0.0.1:9/secret-path' });
    await send(gateway, 1, bad);
    await expect.poll(async () => (await openAlerts(gateway)).webhook.fault).toBe('it cannot be reached (ECONNREFUSED)');
    expect(gateway.lines.join('') + JSON.stringify(await openAlerts(gateway))).not.toContain('secret-path');
  });

  test('that fails has its address neither in any answer nor in the records', async () => {
    hook.script(answers('no', { status: 500 }));
    const gateway = await gatewayWith([{ errors_percent: 0, min_requests: 1 }]);
    await send(gateway, 1, bad);
    await expect.poll(async () => (await openAlerts(gateway)).webhook.fault).toBe('it answered 500');
    const paths = [
      '/api/alerts',
      '/api/logs',
      '/api/status',
      '/metrics',
      '/',
      '/health/live',
      '/health/ready',
      '/openapi.json',
      '/nowhere',
    ];
    for (const path of paths) {
      const reply = await gateway.get(path, { host: 'localhost' });
      expect((await reply.text()) + JSON.stringify([...reply.headers, gateway.records]), path).not.toContain('secret-path');
    }
  });

  test('of a changed config does not inherit the fault of the previous webhook', async () => {
    const states = new States();
    const rules = [{ errors_percent: 0, min_requests: 1 }];
    const gateway = await gatewayWith(rules, { webhook: 'http://127.0.0.1:9/secret-path', states });
    await send(gateway, 1, bad);
    const fault = 'it cannot be reached (ECONNREFUSED)';
    await expect.poll(async () => (await openAlerts(gateway)).webhook.fault).toBe(fault);
    await gatewayWith([...rules, { provider_down: true }], { webhook: 'http://127.0.0.1:9/secret-path', states });
    expect((await openAlerts(gateway)).webhook.fault).toBe(fault);
    const next = await gatewayWith(rules, { webhook: '', states });
    expect((await openAlerts(next)).webhook).toEqual({ isSet: false, fault: null });
  });

  test('that answers with an upgrade has not received the message, and gets the later messages', async () => {
    hook.script((response) => void response.writeHead(101, { connection: 'upgrade', upgrade: 'x' }).end(), answers('ok'));
    const gateway = await gatewayWith([{ errors_percent: 0, min_requests: 1 }]);
    await send(gateway, 1, bad);
    await looked(2, gateway);
    await expect.poll(async () => (await openAlerts(gateway)).webhook.fault).toBe(null);
    expect(messages()[0]).toBe(messages()[1]);
  });

  test('that accepts a connection for TLS and sends nothing fails after the time limit', async () => {
    const silent = createSilent((socket) => void socket.on('error', () => {}));
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    try {
      const url = `https://127.0.0.1:${(silent.address() as AddressInfo).port}/`;
      await expect(postJson(url, {}, AbortSignal.timeout(50))).rejects.toMatchObject({ name: 'TimeoutError' });
    } finally {
      silent.close();
    }
  });

  test('gets the newest hundred of the messages that had to wait', async () => {
    const courier = new Courier();
    let free = (): void => {};
    const freed = new Promise<void>((resolve) => (free = resolve));
    hook.script(async (response, asked) => {
      await freed;
      await answers('ok')(response, asked);
    }, answers('ok'));
    courier.follow(
      new Secret(hook.url),
      createLogger(() => {}),
    );
    for (let at = 0; at <= 102; at++) courier.send(String(at));
    free();
    await expect.poll(() => messages().at(-1)).toBe('102');
    expect(messages()).toEqual(['0', ...Array.from({ length: 100 }, (_, at) => String(at + 3))]);
    courier.stop();
  });

  test('gets no message after the stop, and the process log does not say that one is missing', async () => {
    const courier = new Courier();
    const lines: string[] = [];
    courier.follow(
      new Secret(hook.url),
      createLogger((line) => void lines.push(line)),
    );
    courier.send('before');
    await looked(1);
    courier.stop();
    courier.send('after');
    await pause(30);
    expect([messages(), lines]).toEqual([['before'], []]);
  });

  test('is optional: without it the alert is on the page', async () => {
    const gateway = await gatewayWith([{ errors_percent: 0, min_requests: 1 }], { webhook: '' });
    await send(gateway, 1, bad);
    await expect.poll(async () => (await openAlerts(gateway)).data).toHaveLength(1);
    expect((await openAlerts(gateway)).webhook).toEqual({ isSet: false, fault: null });
  });

  test('is reached through the proxy of the environment, like providers', async () => {
    const targets: (string | undefined)[] = [];
    const proxy = createServer().on('connect', ({ url }, near) => {
      targets.push(url);
      const far = connect(Number(new URL(hook.url).port), '127.0.0.1', () => {
        near.write('HTTP/1.1 200 Connection established\r\n\r\n');
        near.pipe(far).pipe(near);
      });
      for (const socket of [near, far]) socket.on('error', () => socket.destroy());
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    const before = process.env['HTTP_PROXY'];
    process.env['HTTP_PROXY'] = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    try {
      const gateway = await gatewayWith([{ errors_percent: 0, min_requests: 1 }], { webhook: 'http://hooks.example/services/T1' });
      await send(gateway, 1, bad);
      await looked(1, gateway);
      expect([targets, hook.asked[0]?.url, hook.asked[0]?.headers.host]).toEqual([['hooks.example:80'], '/services/T1', 'hooks.example']);
      expect(await postJson('http://me:p%40ss@[2001:db8::1]/x', {}, AbortSignal.timeout(4000))).toBe(200);
      expect([targets[1], hook.asked[1]?.headers]).toMatchObject([
        '[2001:db8::1]:80',
        { host: '[2001:db8::1]', authorization: `Basic ${btoa('me:p@ss')}` },
      ]);
    } finally {
      if (before === undefined) delete process.env['HTTP_PROXY'];
      else process.env['HTTP_PROXY'] = before;
      proxy.closeAllConnections();
      proxy.close();
    }
  });
});

test('without rules there are no alerts', async () => {
  const gateway = await testGateway({ config: oneUpstream(upstream.url, { plugins: [...quietPlugins] }) });
  open.push(gateway);
  expect(await openAlerts(gateway)).toEqual({ data: [], rules: 0, webhook: { isSet: false, fault: null } });
});

test('the parent of the workers adds up the counts of all workers', async () => {
  const states = new States().forGateway();
  const rule: AlertRule = {
    name: 'errors',
    watches: 'errors',
    above: 20,
    slowMs: null,
    windowMs: 5 * minute,
    least: 4,
    by: 'all',
    match: null,
  };
  const config = { alerts: { webhook: null, rules: [rule] }, providers: new Map() } as unknown as Config;
  const side = alerts.atParent?.(
    { config, state: states.of('log/alerts'), logger: createLogger(() => {}), ask: () => Promise.resolve([]) },
    undefined,
  );
  for (const worker of [1, 2]) side?.answer([[JSON.stringify(rule), '', { requests: 2, bad: 1, dollars: 0 }]], worker);
  expect(side?.answer(null, 1)).toMatchObject({ data: [{ facts: '50 % of 4 requests failed in 5 min' }], rules: 1 });
  states.release();
});

test('counts that a parent did not receive, because it read no messages, are sent again', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-alerts-'));
  const handle =
    "async () => { for (let at = 0; at < 1100; at++) peers.broadcast('nothing', 'x'.repeat(10_000)); return { status: 200, body: 'told' }; }";
  writeFileSync(
    join(folder, 'flood.mjs'),
    `export default { name: 'test/flood', summary: 'fills the way to the parent', apply: ({ routes, peers }) => routes.add({ method: 'GET', path: '/flood', auth: 'none', handle: ${handle} }) };`,
  );
  const { plugins, ...more } = ofWorkers();
  const gateway = await start(
    {
      ...more,
      plugins: [...(plugins as string[]), 'log/alerts', './flood.mjs'],
      routing: { default: { retry: { same_target: 0 } } },
      alerts: { rules: [{ errors_percent: 0, min_requests: 1 }] },
    },
    {},
    { folder },
  );
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const of = (path: string, body?: object): ReturnType<typeof ask> =>
    ask(`${gateway.url}${path}`, { agent, headers: admin, ...(body && { body }) });
  try {
    await of('/health/live');
    gateway.child.kill('SIGSTOP');
    await of('/flood');
    // the kernel has taken a part of the first messages, so there is room again
    await of('/flood');
    await of('/v1/chat/completions', { model: 'mock', messages: [{ role: 'user', content: '[[status:500]]' }] });
    await expect.poll(() => gateway.output().stderr).toContain('reads no messages');
    gateway.child.kill('SIGCONT');
    await expect.poll(async () => (await of('/api/alerts')).text).toContain('100 % of 1 request failed in 5 min');
  } finally {
    agent.destroy();
    gateway.child.kill('SIGCONT');
    await gateway.stop();
    rmSync(folder, { recursive: true, force: true });
  }
});
