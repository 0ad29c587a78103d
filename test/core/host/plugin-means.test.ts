/** What any plugin can do, besides tapping hooks: metrics, headers, errors, fields, endpoints and checks, each in a real gateway. */
import { afterEach, describe, expect, test } from 'vitest';
import { defineError, GatewayError } from '../../../core/errors.ts';
import type { AnyPlugin, Gateway } from '../../../core/host/plugin.ts';
import { adminCookie } from '../../../core/http/admin.ts';
import { newSession } from '../../../core/http/sessions.ts';
import { json } from '../../../core/pipeline/answer.ts';
import { withCheck } from '../../../core/pipeline/hooks.ts';
import { Secret } from '../../../core/secret.ts';
import { oneUpstream, testGateway } from '../../_kit/gateway.ts';
import type { TestGateway } from '../../_kit/gateway.ts';
import { answers, completion, pause, said, startUpstream, streams } from '../../_kit/upstream.ts';
import type { ScriptedUpstream } from '../../_kit/upstream.ts';

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});

const pluginOf = (apply: (gateway: Gateway) => void, more: Partial<AnyPlugin> = {}): AnyPlugin => ({
  name: 'test/means',
  summary: 'a plugin of a test',
  apply,
  ...more,
});

async function gatewayWith(
  plugin: AnyPlugin,
  more: Record<string, unknown> = {},
): Promise<{ gateway: TestGateway; upstream: ScriptedUpstream }> {
  const upstream = await startUpstream(answers(completion('Hello.')));
  const gateway = await testGateway({ config: oneUpstream(upstream.url, more), plugins: [plugin] });
  open.push(gateway, upstream);
  return { gateway, upstream };
}

describe('data that a plugin keeps by the context of a request', () => {
  const refusing = { role: 'user', content: 'refuse me' };
  const steps = [
    ['answered', { messages: [{ role: 'user', content: 'hi' }] }, 200],
    ['refused by normalise', { messages: [refusing] }, 403],
  ] as const;

  test.each(steps)('can be read in reply, and then in settle, of a request that is %s', async (_, body, status) => {
    const seen: string[] = [];
    const lengths = new WeakMap<object, number>();
    const { gateway } = await gatewayWith(
      pluginOf(({ hooks }) => {
        hooks.normalise.tap((request, context) => {
          lengths.set(context, request.messages.length);
          if (request.messages[0]?.content === refusing.content) throw new GatewayError('content_policy_violation', 'No.');
          return request;
        });
        hooks.reply.tap((headers, context) => {
          seen.push(`reply ${lengths.get(context)} ${context.request?.model}`);
          return headers;
        });
        hooks.settle.tap((record, context) => {
          seen.push(`settle ${lengths.get(context)} ${record.request?.model} ${context.status}`);
          return record;
        });
      }),
    );
    expect((await gateway.chat(body)).status).toBe(status);
    expect(seen).toEqual(['reply 1 plain', `settle 1 plain ${status}`]);
  });
});

test('a gateway without models says so at its start', async () => {
  const gateway = await testGateway({ config: { providers: { mock: { dialect: 'mock' } }, models: [] } });
  await gateway.close();
  expect(gateway.lines.join()).toContain('the config serves no model, so every request for a model is refused with 404');
});

test('a gateway in which no plugin recognises callers says so at its start', async () => {
  const { gateway } = await gatewayWith(
    pluginOf(() => {}),
    { plugins: ['endpoints/chat-completions', 'stream/upstream', 'dialects/openai-chat'] },
  );
  expect((await gateway.chat({})).status).toBe(401);
  expect(gateway.lines.join()).toContain('no plugin recognises callers');
});

test('metrics of a plugin are at /metrics, and a source that cannot be read is left out and named once', async () => {
  const { gateway } = await gatewayWith(
    pluginOf(({ metrics }) => {
      metrics.add(() => [
        {
          type: 'gauge',
          name: 'my_queue_length',
          help: 'What waits.',
          samples: [
            [{ queue: 'a' }, 3],
            [{ queue: 'b' }, 0],
          ],
        },
      ]);
      metrics.add(() => {
        throw new Error('not now');
      });
    }),
  );
  for (let scrape = 0; scrape < 2; scrape++) {
    expect(await (await gateway.get('/metrics')).text()).toContain(
      '# HELP my_queue_length What waits.\n# TYPE my_queue_length gauge\nmy_queue_length{queue="a"} 3\nmy_queue_length{queue="b"} 0\n',
    );
  }
  expect(gateway.lines.filter((line) => line.includes('not now'))).toHaveLength(1);
});

describe('a tap of reply', () => {
  const greeting = pluginOf(({ hooks }) =>
    hooks.reply.tap((headers, { status, error }) => ({
      ...headers,
      'X-Greeting': `${status} ${error?.code ?? 'fine'}`,
      'content-type': 'text/plain',
      'content-length': '1',
      'x-bad': 'a\r\nb: c',
    })),
  );

  test('adds headers to an answer, plain and streamed', async () => {
    const { gateway, upstream } = await gatewayWith(greeting);
    expect((await gateway.chat({})).headers.get('x-greeting')).toBe('200 fine');
    upstream.script(streams(said('Hello.')));
    expect((await gateway.chat({ stream: true })).headers.get('x-greeting')).toBe('200 fine');
  });

  test('adds headers to an error of the gateway and of a provider', async () => {
    const { gateway, upstream } = await gatewayWith(greeting);
    expect((await gateway.post('{')).headers.get('x-greeting')).toBe('400 invalid_json');
    upstream.script(answers({}, { status: 503 }));
    expect((await gateway.chat({})).headers.get('x-greeting')).toBe('503 upstream_unavailable');
  });

  test('does not replace the gateway’s own headers', async () => {
    const { gateway } = await gatewayWith(greeting);
    const response = await gateway.chat({});
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(await response.json()).toMatchObject({ object: 'chat.completion' });
  });

  test('is named when HTTP does not allow its header, and the reply goes without that header', async () => {
    const { gateway } = await gatewayWith(greeting);
    const response = await gateway.chat({});
    expect([response.headers.get('x-bad'), response.headers.get('b')]).toEqual([null, null]);
    expect(gateway.lines.join()).toContain('x-bad');
  });

  test('that throws does not change the reply', async () => {
    const { gateway } = await gatewayWith(
      pluginOf(({ hooks }) =>
        hooks.reply.tap(() => {
          throw new Error('no');
        }),
      ),
    );
    expect((await gateway.chat({})).status).toBe(200);
    expect(gateway.lines.join()).toContain('test/means');
  });
});

describe('an error of a plugin', () => {
  const closed = defineError({ code: 'shop_closed', status: 423, isFinal: true });

  test('reaches the caller with its own code, status and time to wait', async () => {
    const { gateway } = await gatewayWith(
      pluginOf(
        ({ hooks }) =>
          hooks.normalise.tap(() => {
            throw new GatewayError(closed, 'The shop is closed.', { retryAfterMs: 1500 });
          }),
        { errors: [closed] },
      ),
    );
    const response = await gateway.chat({});
    expect([response.status, response.headers.get('retry-after-ms'), response.headers.get('x-should-retry')]).toEqual([
      423,
      '1500',
      'false',
    ]);
    expect(await response.json()).toEqual({
      error: { message: 'The shop is closed.', type: 'invalid_request_error', param: null, code: 'shop_closed' },
    });
    expect(gateway.records[0]?.error).toMatchObject({ code: 'shop_closed', plugin: 'test/means' });
  });

  const failingWith = async (facts: object): ReturnType<typeof gatewayWith> =>
    await gatewayWith(
      pluginOf(
        ({ hooks }) =>
          hooks.normalise.tap(() => {
            throw new GatewayError(closed, 'The shop is closed.', facts);
          }),
        { errors: [closed] },
      ),
    );

  test('may have headers, but none that the gateway itself writes', async () => {
    const { gateway } = await failingWith({ headers: { 'X-Shop': 'a', 'Content-Type': 'text/html', 'x-request-id': 'mine' } });
    const { status, headers } = await gateway.chat({});
    expect([status, headers.get('x-shop'), headers.get('content-type'), headers.get('x-request-id')]).toEqual([
      423,
      'a',
      'application/json',
      gateway.records[0]?.id,
    ]);
  });

  test.each<[string, unknown]>([
    ['x-shop', 'a\r\nb: c'],
    ['x-shop', '東京'],
    ['x-shop', 5],
    ['x shop', 'a'],
    ['Content-Length', '3'],
    ['transfer-encoding', 'chunked'],
  ])('with a header that cannot be sent, %s: %j, is a plugin_error, and the process log names the header', async (name, value) => {
    const { gateway } = await failingWith({ headers: { [name]: value } });
    const response = await gateway.chat({});
    expect([response.status, ((await response.json()) as { error: object }).error]).toMatchObject([
      500,
      { code: 'plugin_error', message: 'The plugin "test/means" failed at "normalise".' },
    ]);
    expect(gateway.lines.join('')).toContain(`TypeError: a GatewayError cannot have the header \\"${name}\\"`);
  });

  test.each([
    [-5, '0'],
    [Number.NaN, null],
    [Infinity, null],
  ])('whose time to wait is %s has the header retry-after-ms: %s', async (retryAfterMs, wanted) => {
    const { gateway } = await failingWith({ retryAfterMs });
    expect((await gateway.chat({})).headers.get('retry-after-ms')).toBe(wanted);
  });

  test.each<[unknown, string]>([
    ['shop_closed', 'the gateway has no error code "shop_closed"'],
    ['constructor', 'the gateway has no error code "constructor"'],
    [{ code: 'shop_closed' }, 'a GatewayError needs an error code'],
    [{ code: 'shop_closed', status: 200 }, 'a GatewayError needs an error code'],
    [{ status: 423 }, 'a GatewayError needs an error code'],
    [null, 'a GatewayError needs an error code'],
  ])('that is made of %j is a plugin_error on record, and the process log says why', async (kind, words) => {
    const { gateway } = await gatewayWith(
      pluginOf(({ hooks }) =>
        hooks.normalise.tap(() => {
          throw new GatewayError(kind as never, 'The shop is closed.');
        }),
      ),
    );
    const response = await gateway.chat({});
    expect([response.status, await response.json()]).toEqual([
      500,
      { error: expect.objectContaining({ type: 'server_error', code: 'plugin_error' }) },
    ]);
    expect(gateway.records.map(({ status, error }) => [status, error?.code, error?.plugin])).toEqual([[500, 'plugin_error', 'test/means']]);
    expect(gateway.lines.join('')).toContain(JSON.stringify(words).slice(1, -1));
  });

  test('that was not made by defineError has the type of its status', async () => {
    const { gateway } = await gatewayWith(
      pluginOf(({ hooks }) =>
        hooks.normalise.tap(() => {
          throw new GatewayError({ code: 'shop_closed', status: 403 } as never, 'The shop is closed.');
        }),
      ),
    );
    expect(await (await gateway.chat({})).json()).toMatchObject({ error: { type: 'permission_error', code: 'shop_closed' } });
  });

  test('cannot have the code of another plugin', async () => {
    const twin = { ...pluginOf(() => {}, { errors: [closed] }), name: 'test/twin' };
    const upstream = await startUpstream();
    open.push(upstream);
    await expect(
      testGateway({ config: oneUpstream(upstream.url), plugins: [pluginOf(() => {}, { errors: [closed] }), twin] }),
    ).rejects.toThrow('"test/means" and "test/twin" both declare the error code "shop_closed"');
  });

  test.each([
    [{ code: 'Shop', status: 400 }, 'lower_snake_case'],
    [{ code: 'invalid_json', status: 400 }, "gateway's own"],
    [{ code: 'shop_closed', status: 200 }, 'from 400 to 599'],
  ])('cannot be defined as %j', (kind, words) => {
    expect(() => defineError(kind)).toThrow(words);
  });
});

test('a field that two plugins declare must have the same kind in both', async () => {
  const field = (name: string, kind: 'text' | 'number'): AnyPlugin => ({
    ...pluginOf(() => {}, { fields: { score: { kind, description: 'x' } } }),
    name,
  });
  const upstream = await startUpstream();
  open.push(upstream);
  await expect(
    testGateway({ config: oneUpstream(upstream.url), plugins: [field('test/a', 'text'), field('test/b', 'number')] }),
  ).rejects.toThrow('"test/a" and "test/b" both declare the field "score", as text and as number');
  open.push(await testGateway({ config: oneUpstream(upstream.url), plugins: [field('test/a', 'text'), field('test/b', 'text')] }));
});

describe('an endpoint of a plugin', () => {
  const keys = [{ name: 'ann', key: 'a-key-of-ann-0123456789' }];
  const server = { admin_key: 'an-admin-key-of-some-length' };
  const shop = pluginOf(({ routes }) => {
    const handle = ({ principal }: { principal: { key: string | null } | null }) => json({ key: principal?.key ?? null });
    routes.add({ method: 'GET', path: '/default', handle });
    routes.add({ method: 'GET', path: '/key', auth: 'key', handle });
    routes.add({ method: 'GET', path: '/admin', auth: 'admin', handle });
    routes.add({ method: 'GET', path: '/none', auth: 'none', handle });
  });
  const asAnn = { authorization: 'Bearer a-key-of-ann-0123456789' };
  const asAdmin = { authorization: 'Bearer an-admin-key-of-some-length' };

  test.each([
    ['/key', {}, 401],
    ['/key', asAnn, 200],
    ['/key', asAdmin, 401],
    ['/default', {}, 401],
    ['/default', asAnn, 200],
    ['/admin', {}, 401],
    ['/admin', asAnn, 401],
    ['/admin', asAdmin, 200],
    ['/none', {}, 200],
  ])('%s with %j answers %i', async (path, headers, status) => {
    const { gateway } = await gatewayWith(shop, { keys, server });
    expect((await gateway.get(path, headers)).status).toBe(status);
  });

  test('that changes something is not opened by the cookie of a browser when another site asks', async () => {
    const write = pluginOf(({ routes }) =>
      routes.add({ method: 'POST', path: '/write', auth: 'admin', handle: () => json({ written: true }) }),
    );
    const { gateway } = await gatewayWith(write, { server });
    const cookie = `${adminCookie}=${newSession(new Secret(server.admin_key), Date.now() + 60_000).value}`;
    const asked = async (site: string): Promise<number> =>
      (await gateway.post({}, { path: '/write', headers: { cookie, 'sec-fetch-site': site } })).status;
    expect([await asked('same-origin'), await asked('cross-site'), await asked('none')]).toEqual([200, 401, 401]);
    // over plain HTTP from another machine, a browser sends its origin alone
    const from = async (origin: string): Promise<number> =>
      (await gateway.post({}, { path: '/write', headers: { cookie, origin } })).status;
    expect([
      await from(gateway.url),
      await from('http://elsewhere.example'),
      await from('null'),
      (await gateway.post({}, { path: '/write', headers: { cookie } })).status,
    ]).toEqual([200, 401, 401, 401]);
  });

  test('that changes something is refused to a page of another site where nobody needs the admin key', async () => {
    const write = pluginOf(({ routes }) =>
      (['GET', 'POST', 'DELETE'] as const).forEach((method) =>
        routes.add({ method, path: '/write', auth: 'admin', handle: () => json({ written: true }) }),
      ),
    );
    for (const config of [{}, { server: { ...server, admin_open: true } }]) {
      const { gateway } = await gatewayWith(write, config);
      const status = async (headers: Record<string, string>, method: 'GET' | 'POST' | 'DELETE' = 'POST'): Promise<number> =>
        (await gateway.ask('/write', { method, headers })).status;
      expect([
        await status({ 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }),
        await status({ 'sec-fetch-site': 'same-site' }, 'DELETE'),
        await status({ origin: 'https://evil.example' }),
        await status({ origin: 'null' }),
      ]).toEqual([403, 403, 403, 403]);
      // programs send no such headers, and a link on a page of another site only reads
      expect([
        await status({}),
        await status({ 'sec-fetch-site': 'same-origin' }),
        await status({ origin: gateway.url }),
        await status({ 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'document' }, 'GET'),
      ]).toEqual([200, 200, 200, 200]);
    }
  });

  test('is not asked by a page of another site, which learns from the time of an answer what it cannot read', async () => {
    const search = pluginOf(({ routes }) =>
      routes.add({ method: 'GET', path: '/search', auth: 'admin', handle: () => json({ found: 1 }) }),
    );
    const cookie = `${adminCookie}=${newSession(new Secret(server.admin_key), Date.now() + 60_000).value}`;
    for (const [config, sent, refused] of [
      [{}, {}, 403],
      [{ server }, { cookie }, 401],
    ] as const) {
      const { gateway } = await gatewayWith(search, config);
      const status = async (site: string, dest: string): Promise<number> =>
        (await gateway.get('/search', { ...sent, 'sec-fetch-site': site, 'sec-fetch-dest': dest })).status;
      expect([await status('cross-site', 'empty'), await status('cross-site', 'iframe'), await status('same-site', 'image')]).toEqual([
        refused,
        refused,
        refused,
      ]);
      // the gateway's own page, an address that somebody types, and a link
      expect([await status('same-origin', 'empty'), await status('none', 'document'), await status('same-site', 'document')]).toEqual([
        200, 200, 200,
      ]);
    }
  });

  test('is told the key of the caller', async () => {
    const { gateway } = await gatewayWith(shop, { keys });
    expect(await (await gateway.get('/key', asAnn)).json()).toEqual({ key: 'ann' });
  });
});

describe('a check of a plugin', () => {
  test('is shown under its own name, and one that fails makes the gateway degraded', async () => {
    const { gateway } = await gatewayWith(
      pluginOf(({ hooks }) => hooks.health.tap((report) => withCheck(report, 'vault', { connected: false, error: 'sealed' }))),
    );
    const response = await gateway.get('/');
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({
      health: { status: 'degraded', vault: { connected: false, error: 'sealed' }, redis: { connected: false } },
    });
  });
});

describe('a tap', () => {
  test('needs no name, and has that of its plugin', async () => {
    const { gateway } = await gatewayWith(
      pluginOf(({ hooks }) =>
        hooks.normalise.tap(() => {
          throw new Error('no');
        }),
      ),
    );
    expect(await (await gateway.chat({})).json()).toMatchObject({
      error: { code: 'plugin_error', message: expect.stringContaining('test/means') },
    });
  });

  test('cannot call the hooks of others', async () => {
    let seen: object = {};
    await gatewayWith(pluginOf(({ hooks }) => void (seen = hooks.chunk)));
    expect(Object.keys(seen)).toEqual(['tap']);
  });

  test('has its time on record, and the time of the provider does not count for the plugin that supplied the answer', async () => {
    const slow = pluginOf(({ hooks }) =>
      hooks.normalise.tapPromise(async (request) => {
        await new Promise((resolve) => setTimeout(resolve, 20));
        return request;
      }),
    );
    const { gateway, upstream } = await gatewayWith(slow);
    upstream.script(async (response, asked) => {
      await pause(200);
      await answers(completion('Hello.'))(response, asked);
    });
    for (let times = 0; times < 3; times++) await gateway.chat({});
    const timesOf = (plugin: string): number[] => gateway.records.map(({ timings }) => timings[plugin] ?? 0);
    expect(Math.min(...timesOf('test/means'))).toBeGreaterThan(15);
    expect(gateway.gateway.spentMs().get('log/cost')).toBeGreaterThan(0);
    // its other taps may take a moment in the first request, and a pause of the machine counts as theirs
    expect(Math.min(...timesOf('stream/upstream'))).toBeLessThan(100);
  });
});
