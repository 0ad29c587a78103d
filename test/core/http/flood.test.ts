/** More than the gateway has room for: bodies, requests at one time, requests on one connection. */
import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { describe, expect, it, onTestFinished } from 'vitest';
import { json } from '../../../core/pipeline/answer.ts';
import { rawExchange } from '../../_kit/executable.ts';
import { oneUpstream } from '../../_kit/gateway.ts';
import type { TestGateway } from '../../_kit/gateway.ts';
import { answers, completion } from '../../_kit/upstream.ts';
import type { Step } from '../../_kit/upstream.ts';
import { contentOf, errorOf, gatewayOf, probe, provider } from '../scene.ts';

const body = (content: string): string => JSON.stringify({ model: 'plain', messages: [{ role: 'user', content }] });

/** A provider that answers when it is told to. */
function held(): { step: Step; letGo: () => void } {
  const told = Promise.withResolvers<void>();
  const step: Step = async (response, request) => {
    await told.promise;
    const [{ content }] = request.json['messages'] as [{ content: string }];
    await answers(completion(content.startsWith('number') ? content : 'hello'))(response, request);
  };
  return { step, letGo: () => told.resolve() };
}

const limited = (limits: object, more: object = {}) => ({ server: { limits, ...more } });

/** A body without an announced length, of which only these bytes come. */
function unfinished(bytes: string | Buffer): Readable {
  const stream = new Readable({ read: () => {} });
  stream.push(bytes);
  return stream;
}

describe('the body of an endpoint', () => {
  const taking = async (bodyLimit?: number) => {
    const handle = async ({ body: read }: { body(): Promise<Buffer> }) => json({ size: (await read()).length });
    return await gatewayOf(oneUpstream('http://127.0.0.1:9/v1'), {
      plugins: [
        probe(({ routes }) =>
          routes.add({ method: 'POST', path: '/probe', auth: 'none', ...(bodyLimit !== undefined && { bodyLimit }), handle }),
        ),
      ],
    });
  };

  it.each([
    [undefined, 65_536],
    [100, 100],
    [100_000_000, 33_554_432],
  ])('is limited by what the endpoint needs: %s', async (needs, most) => {
    const { post } = await taking(needs);
    expect((await post('x'.repeat(most), { path: '/probe' })).status).toBe(200);
    const response = await post('x'.repeat(most + 1), { path: '/probe' });
    expect([response.status, (await errorOf(response)).code]).toEqual([413, 'request_too_large']);
  });

  it('is read up to its limit where its length is not announced', async () => {
    const { ask } = await taking(100);
    expect((await ask('/probe', { method: 'POST', body: unfinished('x'.repeat(101)) })).status).toBe(413);
  });

  it('that signs in is refused unread beyond 4 KiB', async () => {
    const { ask } = await gatewayOf(
      { ...oneUpstream('http://127.0.0.1:9/v1'), server: { admin_key: 'an-admin-key-of-a-test' } },
      { use: ['endpoints/dashboard'] },
    );
    const asked = { method: 'POST', headers: { 'content-type': 'application/json' } } as const;
    expect((await ask('/api/session', { ...asked, body: JSON.stringify({ key: 'x'.repeat(4000) }) })).status).toBe(401);
    expect((await ask('/api/session', { ...asked, body: unfinished('x'.repeat(4097)) })).status).toBe(413);
    expect(
      (await ask('/api/session', { ...asked, headers: { ...asked.headers, 'content-length': '31457280' }, body: unfinished('{') })).status,
    ).toBe(413);
  });
});

async function expectOverload(gateway: TestGateway, response: Response): Promise<void> {
  expect([response.status, response.headers.get('retry-after'), await errorOf(response)]).toMatchObject([
    503,
    '1',
    { code: 'server_overloaded', type: 'server_error' },
  ]);
  expect(gateway.records).toContainEqual(
    expect.objectContaining({ id: response.headers.get('x-request-id'), status: 503, outcome: 'refused' }),
  );
}

describe('the bytes of all bodies', () => {
  const size = 100_000;
  const scene = async (limits: object = { in_flight_bytes: 250_000 }) => {
    const { step, letGo } = held();
    const up = await provider(step);
    const gateway = await gatewayOf({ ...oneUpstream(up.url), ...limited(limits) });
    return { up, gateway, letGo, large: async () => await gateway.post(body('x'.repeat(size))) };
  };

  it('have a limit: a request beyond it is refused, and served once there is room again', async () => {
    const { up, gateway, letGo, large } = await scene();
    const first = [large(), large()];
    await expect.poll(() => up.asked.length).toBe(2);
    await expectOverload(gateway, await large());
    expect((await gateway.get('/')).status).toBe(200);
    letGo();
    expect(await Promise.all(first.map(async (one) => await contentOf(await one)))).toEqual(['hello', 'hello']);
    expect((await large()).status).toBe(200);
    expect(up.asked).toHaveLength(3);
  });

  it('are counted by the announced length, before the body comes', async () => {
    const { gateway, up, letGo, large } = await scene();
    const first = [large(), large()];
    await expect.poll(() => up.asked.length).toBe(2);
    const response = await gateway.ask('/v1/chat/completions', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'content-length': String(size) },
      body: unfinished('{'),
    });
    await expectOverload(gateway, response);
    letGo();
    await Promise.all(first);
  });

  it('are counted as they come where no length is announced', async () => {
    const { gateway, up, letGo, large } = await scene();
    const first = [large(), large()];
    await expect.poll(() => up.asked.length).toBe(2);
    const response = await gateway.ask('/v1/chat/completions', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: unfinished('x'.repeat(60_000)),
    });
    await expectOverload(gateway, response);
    letGo();
    await Promise.all(first);
    expect((await large()).status).toBe(200);
  });

  it('leave no room: a body without an announced length is refused, and its connection serves the next request', async () => {
    const { gateway, up, letGo, large } = await scene();
    const first = [large(), large()];
    await expect.poll(() => up.asked.length).toBe(2);
    const part = `4000\r\n${' '.repeat(0x4000)}\r\n`;
    const bytes = [
      'POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n',
      ...Array<string>(30).fill(part),
      '0\r\n\r\nGET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n',
    ];
    expect((await rawExchange(Number(new URL(gateway.url).port), bytes)).match(/HTTP\/1\.1 \d+/g)).toEqual([
      'HTTP/1.1 503',
      'HTTP/1.1 200',
    ]);
    letGo();
    await Promise.all(first);
  });

  it('are free again when a client leaves in the middle of its body', async () => {
    const { gateway, large, letGo } = await scene();
    letGo();
    const client = new AbortController();
    const left = expect(
      gateway.ask('/v1/chat/completions', {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'content-length': '240000' },
        body: unfinished('{'),
        signal: client.signal,
      }),
    ).rejects.toThrow('abort');
    await expect.poll(async () => (await large()).status).toBe(503);
    client.abort();
    await left;
    await expect.poll(async () => (await large()).status).toBe(200);
  });

  it('have a limit beyond which a single body is refused with 413, because it could never be served', async () => {
    const { gateway } = await scene();
    const response = await gateway.post(body('x'.repeat(250_000)));
    expect([response.status, (await errorOf(response)).code]).toEqual([413, 'request_too_large']);
  });

  it('are counted higher for a body with many objects, which take more of the heap than their text', async () => {
    const { gateway, letGo } = await scene();
    letGo();
    const many = (containers: number): Promise<Response> =>
      gateway.post(`${body('hi').slice(0, -1)},"metadata":[${'{},'.repeat(containers)}{}]}`);
    expect((await many(10_000)).status).toBe(200);
    const response = await many(16_000);
    expect([response.status, (await errorOf(response)).code]).toEqual([413, 'request_too_large']);
    expect((await gateway.post(body('x'.repeat(48_000)))).status).toBe(200);
  });

  it('are counted higher for a body with many names, which take more of the heap than their text', async () => {
    const { gateway, letGo } = await scene();
    letGo();
    const many = (names: number): Promise<Response> =>
      gateway.post(`${body('hi').slice(0, -1)},"metadata":{${Array.from({ length: names }, (_, at) => `"${at}a":0`).join(',')}}}`);
    expect((await many(8000)).status).toBe(200);
    const response = await many(12_000);
    expect([response.status, (await errorOf(response)).code]).toEqual([413, 'request_too_large']);
  });

  it('are in the health report and in the metrics, with the refusals', async () => {
    const { gateway, up, large, letGo } = await scene();
    const health = async (): Promise<object> => (await (await gateway.get('/')).json()) as object;
    expect(await health()).not.toHaveProperty('health.load');
    const first = [large(), large()];
    await expect.poll(() => up.asked.length).toBe(2);
    await large();
    expect(await health()).toMatchObject({ health: { status: 'degraded', load: { connected: false, error: 'overloaded' } } });
    const text = await (await gateway.get('/metrics')).text();
    expect(text).toContain('gateway_overloaded_total{limit="bytes"} 1\n');
    expect(Number(/^gateway_in_flight_bytes (\d+)$/m.exec(text)?.[1])).toBeGreaterThan(2 * size);
    expect(text).toContain('gateway_in_flight_bytes_limit 250000\n');
    letGo();
    await Promise.all(first);
    expect(await (await gateway.get('/metrics')).text()).toContain('gateway_in_flight_bytes 0\n');
  });
});

describe('running requests', () => {
  it('have a limit, and health, models and metrics still answer', async () => {
    const { step, letGo } = held();
    const up = await provider(step);
    const gateway = await gatewayOf({ ...oneUpstream(up.url), ...limited({ in_flight_requests: 2 }) });
    const first = [gateway.chat({}), gateway.chat({})];
    await expect.poll(() => up.asked.length).toBe(2);
    await expectOverload(gateway, await gateway.chat({}));
    expect([(await gateway.get('/')).status, (await gateway.get('/v1/models')).status, (await gateway.get('/metrics')).status]).toEqual([
      200, 200, 200,
    ]);
    letGo();
    await Promise.all(first);
    expect((await gateway.chat({})).status).toBe(200);
  });
});

const post = (content: string, more = ''): string =>
  `POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n${more}content-length: ${Buffer.byteLength(body(content))}\r\n\r\n${body(content)}`;

async function socketTo(url: string): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.on('error', () => {});
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  return socket;
}

/** All that was received so far. */
function readings(socket: Socket): () => string {
  let text = '';
  socket.on('data', (bytes) => (text += bytes));
  return () => text;
}

const repliesIn = (text: string): number => text.match(/HTTP\/1\.1 200 /g)?.length ?? 0;

describe('requests that an endpoint refuses', () => {
  const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;

  it.each(['/v1/models?no_training=yes', '/v1/models/none', '/api/logs', '/nowhere'])('leave no timer behind: %s', async (path) => {
    const { get } = await gatewayOf(
      oneUpstream('http://127.0.0.1:9/v1', {
        keys: [{ name: 'a', key: 'a-key-of-a-caller' }],
        server: { admin_key: 'an-admin-key-of-16' },
      }),
    );
    await (await get(path)).text();
    const before = timers();
    for (let count = 0; count < 30; count++) expect((await (await get(path)).text()).slice(0, 8)).toBe('{"error"');
    // each timer would stay for the longest time of a request, 15 minutes, and keep the data of the request in memory
    expect(timers() - before).toBeLessThan(10);
  });
});

describe('pipelined requests', () => {
  const scene = async (limits: object = {}) => {
    const { step, letGo } = held();
    const up = await provider(step);
    const gateway = await gatewayOf({ ...oneUpstream(up.url), ...limited(limits) });
    return { up, gateway, letGo, socket: await socketTo(gateway.url) };
  };

  it('run a few at a time, and all get their replies in order', async () => {
    const { up, gateway, letGo, socket } = await scene({ connection_requests: 3 });
    const text = readings(socket);
    for (let at = 0; at < 500; at++) socket.write(post(`number ${at}`));
    await expect.poll(() => up.asked.length).toBe(3);
    expect([(await gateway.get('/')).status, up.asked.length]).toEqual([200, 3]);
    letGo();
    await expect.poll(() => repliesIn(text())).toBe(500);
    expect(Array.from(text().matchAll(/"content":"(number \d+)"/g), ([, said]) => said)).toEqual(
      Array.from({ length: 500 }, (_, at) => `number ${at}`),
    );
    const three = Promise.withResolvers<void>();
    let asked = 0;
    up.script(async (response, request) => {
      if (++asked === 3) three.resolve();
      await three.promise;
      await answers(completion('hello'))(response, request);
    });
    socket.write(post('again').repeat(10));
    await expect.poll(() => repliesIn(text())).toBe(510);
  });

  it('end when their client leaves, also those that wait', async () => {
    const { up, gateway, socket } = await scene({ connection_requests: 3 });
    for (let at = 0; at < 10; at++) socket.write(post(`number ${at}`));
    await expect.poll(() => up.asked.length).toBe(3);
    socket.destroy();
    await expect.poll(() => gateway.gateway.running.size).toBe(0);
    await expect.poll(() => gateway.records.map(({ outcome }) => outcome)).toEqual(['gone', 'gone', 'gone']);
    expect(up.asked).toHaveLength(3);
  });

  it('lose their connection when too many of them wait', async () => {
    const { up, gateway, socket } = await scene({ connection_requests: 1 });
    socket.write(post('first') + 'GET / HTTP/1.1\r\nhost:a\r\n\r\n'.repeat(2000));
    await once(socket, 'close');
    expect(up.asked.length).toBeLessThanOrEqual(1);
    expect(await (await gateway.get('/metrics')).text()).toContain('gateway_overloaded_total{limit="connection"} 1\n');
  });

  it('are answered up to the first one with a broken body', async () => {
    const { up, letGo, socket } = await scene({ connection_requests: 1 });
    const text = readings(socket);
    const closed = once(socket, 'close');
    socket.write(
      `${post('first')}${post('second')}POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n`,
    );
    await expect.poll(() => up.asked.length).toBe(1);
    letGo();
    await closed;
    expect([repliesIn(text()), up.asked.length]).toEqual([2, 2]);
  });

  it('with bodies larger than a read of the socket are answered too', async () => {
    const { letGo, socket } = await scene({ connection_requests: 2 });
    const text = readings(socket);
    letGo();
    for (let at = 0; at < 6; at++) socket.write(post('x'.repeat(300_000)));
    await expect.poll(() => repliesIn(text())).toBe(6);
  });
});
