/** Endpoints of plugins: answers, streams, faults, and what HTTP requires. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import type { UnderlyingSource } from 'node:stream/web';
import { describe, expect, it } from 'vitest';
import { GatewayError } from '../../../core/errors.ts';
import type { AnyPlugin } from '../../../core/host/plugin.ts';
import { adminCookie } from '../../../core/http/admin.ts';
import type { Endpoint } from '../../../core/http/routes.ts';
import { newSession } from '../../../core/http/sessions.ts';
import { EARLY } from '../../../core/pipeline/hooks.ts';
import { json } from '../../../core/pipeline/answer.ts';
import { Secret } from '../../../core/secret.ts';
import { oneUpstream } from '../../_kit/gateway.ts';
import { errorOf, gatewayOf, probe } from '../scene.ts';

const withEndpoint = async (handle: Endpoint['handle'], more: Partial<Endpoint> = {}) =>
  await gatewayOf(oneUpstream('http://127.0.0.1:9/v1'), {
    plugins: [probe(({ routes }) => routes.add({ method: 'GET', path: '/probe', handle, ...more }))],
  });

const bytes = (text: string): Uint8Array => Buffer.from(text);

describe('an endpoint', () => {
  it('answers with its status, headers and body', async () => {
    const { get } = await withEndpoint(() => json({ a: 1 }, { status: 202, headers: { 'x-a': 'b' } }));
    const response = await get('/probe');
    expect([response.status, response.headers.get('x-a'), response.headers.get('content-type'), await response.json()]).toEqual([
      202,
      'b',
      'application/json',
      { a: 1 },
    ]);
  });

  it('gets its parameters, decoded once, its query and its body', async () => {
    const seen: unknown[] = [];
    const { post } = await withEndpoint(
      async ({ params, query, body, arrived }) => {
        seen.push(params['id'], query.get('q'), (await body()).toString(), arrived.path);
        return json({});
      },
      { method: 'POST', path: '/probe/:id' },
    );
    await post('text', { path: '/probe/a%20b%2Fc%2561?q=1' });
    expect(seen).toEqual(['a b/c%61', '1', 'text', '/probe/a%20b%2Fc%2561']);
  });

  it('has the request id in its reply', async () => {
    const { get } = await withEndpoint(({ arrived }) => json({ id: arrived.id }));
    const response = await get('/probe');
    expect(response.headers.get('x-request-id')).toBe(((await response.json()) as { id: string }).id);
  });

  it('answers HEAD without a body', async () => {
    const { ask } = await withEndpoint(() => json({ a: 1 }));
    const response = await ask('/probe', { method: 'HEAD' });
    expect([response.status, response.headers.get('content-type'), await response.text()]).toEqual([200, 'application/json', '']);
  });

  it('can refuse with an error of its choice', async () => {
    const { get, lines } = await withEndpoint(() => {
      throw new GatewayError('permission_denied', 'Not you.');
    });
    const response = await get('/probe');
    expect([response.status, (await errorOf(response)).code, lines]).toEqual([403, 'permission_denied', []]);
  });

  it('that has a bug is answered with the name of its plugin alone, and logged with the error', async () => {
    const { get, lines } = await withEndpoint(() => {
      throw new Error('password is hunter2');
    });
    const response = await get('/probe');
    expect([response.status, await errorOf(response)]).toMatchObject([
      500,
      { code: 'plugin_error', message: 'The plugin "test/probe" failed to answer.' },
    ]);
    expect(lines.join('')).toContain('hunter2');
  });

  it('gets its body each time that it asks for the body', async () => {
    const { post } = await withEndpoint(async ({ body }) => json([String(await body()), String(await body())]), { method: 'POST' });
    expect(await (await post('hello', { path: '/probe' })).json()).toEqual(['hello', 'hello']);
  });

  it('has a limit for its body', async () => {
    const { post } = await withEndpoint(async ({ body }) => json({ size: (await body()).length }), { method: 'POST' });
    expect((await post('x'.repeat(33_554_433), { path: '/probe' })).status).toBe(413);
  });
});

describe('an endpoint whose client leaves', () => {
  const leaving = async (path: string, endpoint: Partial<Endpoint>, plugin: AnyPlugin) => {
    const client = new AbortController();
    const { ask, gateway } = await gatewayOf(oneUpstream('http://127.0.0.1:9/v1'), {
      plugins: [plugin, probe(({ routes }) => routes.add({ method: 'POST', path, handle: () => json({}), ...endpoint }), 'test/endpoint')],
    });
    const left = expect(ask(path, { method: 'POST', body: 'text', signal: client.signal })).rejects.toThrow('aborted');
    return {
      gateway,
      leave: async () => {
        client.abort();
        await left;
      },
    };
  };

  it('ends while a plugin checks the key', async () => {
    const asked = Promise.withResolvers<void>();
    const hanging = probe(({ hooks }) =>
      hooks.auth.tapPromise({ name: 'test/probe', stage: EARLY }, async () => {
        asked.resolve();
        return await new Promise(() => {});
      }),
    );
    const { gateway, leave } = await leaving('/probe', { auth: 'key' }, hanging);
    await asked.promise;
    expect(gateway.running.size).toBe(1);
    await leave();
    await expect.poll(() => gateway.running.size).toBe(0);
  });

  it('gets no body when it reads the body after its client has left', async () => {
    const asked = Promise.withResolvers<void>();
    const read = Promise.withResolvers<unknown>();
    const handle: Endpoint['handle'] = async ({ arrived, body }) => {
      asked.resolve();
      await new Promise((resolve) => arrived.signal.addEventListener('abort', resolve));
      await body().catch(read.resolve);
      return json({});
    };
    const { gateway, leave } = await leaving(
      '/probe',
      { handle, auth: 'none' },
      probe(() => {}),
    );
    await asked.promise;
    await leave();
    expect(await read.promise).toMatchObject({ code: 'client_closed' });
    await expect.poll(() => gateway.running.size).toBe(0);
  });
});

describe('a request from the same process', () => {
  it('reaches an endpoint without a socket', async () => {
    const { gateway } = await withEndpoint(
      async ({ arrived, body }) => json({ body: (await body()).toString(), as: arrived.headers['x-as'] }),
      { method: 'POST' },
    );
    const ask = async (body: string | null): Promise<unknown> =>
      await (await gateway.fetch(new Request('http://localhost/probe', { method: 'POST', headers: { 'x-as': 'me' }, body }))).json();
    expect([await ask('text'), await ask(null), gateway.running.size]).toEqual([{ body: 'text', as: 'me' }, { body: '', as: 'me' }, 0]);
  });

  it('for a completion is refused, and the log says why', async () => {
    const { gateway, lines } = await withEndpoint(() => json({}));
    expect((await gateway.fetch(new Request('http://localhost/v1/chat/completions', { method: 'POST', body: '{}' }))).status).toBe(500);
    expect(lines.join('')).toContain('needs a socket');
  });
});

describe('a gateway that stops', () => {
  it.each(['/v1/chat/completions', '/v1/chat/completions?a=b', '/probe'])('refuses a new request for %s', async (path) => {
    const { gateway, post } = await withEndpoint(() => json({}), { method: 'POST', auth: 'none' });
    gateway.drain();
    const response = await post({}, { path });
    expect([
      response.status,
      response.headers.get('connection'),
      response.headers.get('retry-after'),
      (await errorOf(response)).code,
    ]).toEqual([503, 'close', '1', 'server_shutting_down']);
  });
});

const streaming = async (source: UnderlyingSource<Uint8Array>, more: { isEndless?: boolean } = {}) =>
  await withEndpoint(() => ({ headers: { 'content-type': 'text/event-stream' }, body: new ReadableStream(source), ...more }));

describe('an endpoint that streams', () => {
  it('counts as running until its end', async () => {
    let end = (): void => {};
    const { get, gateway } = await streaming({
      start: (controller) => {
        controller.enqueue(bytes('a'));
        controller.enqueue(bytes('b'));
        end = () => controller.close();
      },
    });
    const response = await get('/probe');
    expect(gateway.running.size).toBe(1);
    end();
    expect([await response.text(), gateway.running.size]).toEqual(['ab', 0]);
  });

  it('is cancelled when its client leaves', async () => {
    let cancelled = false;
    const { get, gateway } = await streaming({
      pull: (controller) => controller.enqueue(bytes('a')),
      cancel: () => void (cancelled = true),
    });
    await (await get('/probe')).body?.cancel();
    await expect.poll(() => [cancelled, gateway.running.size]).toEqual([true, 0]);
  });

  it('ends normally when the gateway stops', async () => {
    const { get, gateway } = await streaming({
      start: (controller) => {
        controller.enqueue(bytes('a'));
        controller.close();
      },
    });
    const response = await get('/probe');
    gateway.drain();
    expect(await response.text()).toBe('a');
  });

  it('breaks the connection when it is cut, so that a part does not look complete', async () => {
    const { get, gateway } = await streaming({ start: (controller) => controller.enqueue(bytes('a')) });
    const response = await get('/probe');
    for (const exchange of gateway.running) exchange.cancel(new GatewayError('server_shutting_down', 'Stop.'));
    await expect(response.text()).rejects.toThrow('closed');
  });

  it('is not read for HEAD', async () => {
    let cancelled = false;
    const { ask, gateway } = await streaming({ cancel: () => void (cancelled = true) });
    await ask('/probe', { method: 'HEAD' });
    expect([cancelled, gateway.running.size]).toEqual([true, 0]);
  });

  it('ends when the gateway stops, where it is endless', async () => {
    let cancelled = false;
    const { get, gateway } = await streaming(
      { start: (controller) => controller.enqueue(bytes('a')), cancel: () => void (cancelled = true) },
      { isEndless: true },
    );
    const response = await get('/probe');
    gateway.drain();
    expect([await response.text(), cancelled, gateway.running.size]).toEqual(['a', true, 0]);
  });

  it('is cancelled when the session that opened it is over, where it is endless', async () => {
    const key = 'the-admin-key-of-the-test';
    let now = Date.now();
    let cancelled = false;
    const handle: Endpoint['handle'] = () => ({
      body: new ReadableStream<Uint8Array>({
        pull: (controller) => controller.enqueue(bytes('a')),
        cancel: () => void (cancelled = true),
      }),
      isEndless: true,
    });
    const { get, gateway } = await gatewayOf(oneUpstream('http://127.0.0.1:9/v1', { server: { admin_key: key } }), {
      plugins: [probe(({ routes }) => routes.add({ method: 'GET', path: '/probe', auth: 'admin', handle }))],
      clock: () => now,
    });
    const response = await get('/probe', { cookie: `${adminCookie}=${newSession(new Secret(key), now + 1000).value}` });
    now += 1000;
    expect(await response.text()).toMatch(/^a+$/);
    expect([cancelled, gateway.running.size]).toEqual([true, 0]);
  });

  it('ends when its source fails', async () => {
    const { get, gateway } = await streaming({ pull: (controller) => controller.error(new Error('broken')) });
    await expect(get('/probe')).rejects.toThrow('closed');
    expect(gateway.running.size).toBe(0);
  });
});

it('an idle connection is kept longer than load balancers keep it, and its client is told a shorter time', async () => {
  const sockets: Socket[] = [];
  const see = (message: unknown): void => void sockets.push((message as { readonly socket: Socket }).socket);
  subscribe('net.server.socket', see);
  const { get } = await gatewayOf(oneUpstream('http://127.0.0.1:9/v1'));
  const response = await get('/health/live');
  await response.text();
  unsubscribe('net.server.socket', see);
  expect(response.headers.get('keep-alive')).toBe('timeout=75');
  await expect.poll(() => sockets.map(({ timeout }) => timeout)).toEqual([620_000]);
});
