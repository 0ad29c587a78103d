/** Answers over a socket whose client does not read. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import type { UnderlyingSource } from 'node:stream/web';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { AnyPlugin } from '../../../core/host/plugin.ts';
import { oneUpstream } from '../../_kit/gateway.ts';
import { answers, completion, event, pause } from '../../_kit/upstream.ts';
import type { Step } from '../../_kit/upstream.ts';
import { gatewayOf, probe, provider, routing } from '../scene.ts';

const minute = 60_000;
const long = 'x'.repeat(10_000_000);

// the fake clock runs, and a test can advance it
beforeEach(
  () =>
    void vi.useFakeTimers({
      toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'],
      shouldAdvanceTime: true,
    }),
);
afterEach(() => void vi.useRealTimers());

/** A gateway on a port, and the socket of its one client. */
async function served(step: Step, plugins: readonly AnyPlugin[] = []) {
  const up = await provider(step);
  const { gateway, records } = await gatewayOf(
    oneUpstream(up.url, routing({ total: 5 * minute, idle: 10 * minute, first_byte: 10 * minute })),
    { plugins },
  );
  const server = createServer(gateway.node);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const askedBy = async (request: string): Promise<{ client: Socket; socket: Socket }> => {
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1').pause();
    client.on('error', () => {});
    client.write(request);
    const [socket] = (await once(server, 'connection')) as [Socket];
    return { client, socket };
  };
  return { askedBy, records };
}

function post(path: string, more: object = {}): string {
  const body = JSON.stringify({ model: 'plain', messages: [{ role: 'user', content: 'hi' }], ...more });
  return `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
}

const endless: Step = async (response) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  while (!response.destroyed) if (!response.write(event({ content: 'x'.repeat(100_000) }))) await once(response, 'drain').catch(() => {});
};

/** Waits until the client takes no more bytes from the socket. */
async function stuck(socket: Socket): Promise<void> {
  for (let before = -1; socket.bytesWritten !== before || socket.writableLength === 0; await pause(200)) before = socket.bytesWritten;
}

const paths = ['/v1/chat/completions', '/v1/chat/completions?a=b'];

describe.each(paths)('a client of %s that does not read', (path) => {
  it('has the total time and one minute to take a plain answer, which is on record', async () => {
    const { askedBy, records } = await served(answers(completion(long)));
    const { socket } = await askedBy(post(path));
    await stuck(socket);
    await vi.advanceTimersByTimeAsync(5.5 * minute);
    expect(socket.destroyed).toBe(false);
    await vi.advanceTimersByTimeAsync(minute);
    await expect.poll(() => socket.destroyed).toBe(true);
    expect(records).toMatchObject([{ outcome: 'answered', status: 200 }]);
  });

  it('has one minute to take the rest of a stream whose time is over', async () => {
    const { askedBy, records } = await served(endless);
    const { socket } = await askedBy(post(path, { stream: true }));
    await stuck(socket);
    await vi.advanceTimersByTimeAsync(5.5 * minute);
    // the record does not wait for the client
    await expect.poll(() => records).toMatchObject([{ outcome: 'cut', error: { code: 'upstream_timeout' } }]);
    expect(socket.destroyed).toBe(false);
    await vi.advanceTimersByTimeAsync(minute);
    await expect.poll(() => socket.destroyed).toBe(true);
  });
});

describe('a client that reads late', () => {
  it('gets all of its answer', async () => {
    const { askedBy } = await served(answers(completion(long)));
    const { client, socket } = await askedBy(post('/v1/chat/completions'));
    await stuck(socket);
    await vi.advanceTimersByTimeAsync(5.5 * minute);
    let size = 0;
    client.on('data', (part: Buffer) => (size += part.length)).resume();
    await expect.poll(() => size).toBeGreaterThan(long.length);
    await vi.advanceTimersByTimeAsync(2 * minute);
    expect(socket.destroyed).toBe(false);
  });
});

describe('the stream of an endpoint', () => {
  const streaming = async (source: (signal: AbortSignal) => UnderlyingSource<Uint8Array>) =>
    await gatewayOf(oneUpstream('http://127.0.0.1:9'), {
      plugins: [
        probe(({ routes }) =>
          routes.add({
            method: 'GET',
            path: '/probe',
            auth: 'none',
            handle: ({ arrived }) => ({ body: new ReadableStream(source(arrived.signal)), isEndless: true }),
          }),
        ),
      ],
    });
  const told = 'an endpoint broke off its answer';

  it('that fails is logged with its plugin, its path and the reason', async () => {
    const { get, lines } = await streaming(() => ({ pull: () => Promise.reject(new Error('the disk is gone')) }));
    await expect(get('/probe').then((response) => response.text())).rejects.toThrow();
    expect(lines.filter((line) => line.includes(told))).toEqual([
      expect.stringMatching(/"plugin":"test\/probe","path":"\/probe".*the disk is gone/),
    ]);
  });

  it('that gives something else than text or bytes is logged and cancelled', async () => {
    const { promise: letGo, resolve } = Promise.withResolvers<void>();
    const { get, lines } = await streaming(() => ({
      start: (controller) => controller.enqueue({ a: 1 } as never),
      cancel: () => resolve(),
    }));
    await expect(get('/probe').then((response) => response.text())).rejects.toThrow();
    await letGo;
    expect(lines.filter((line) => line.includes(told))).toEqual([expect.stringContaining('neither a text nor bytes')]);
  });

  it('that comes after its client has left is cancelled', async () => {
    const [begun, goOn, letGo] = [Promise.withResolvers<void>(), Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const late = probe(({ routes }) =>
      routes.add({
        method: 'GET',
        path: '/probe',
        auth: 'none',
        handle: async () => {
          begun.resolve();
          await goOn.promise;
          return { body: new ReadableStream<Uint8Array>({ cancel: () => letGo.resolve() }) };
        },
      }),
    );
    const { ask, gateway } = await gatewayOf(oneUpstream('http://127.0.0.1:9'), { plugins: [late] });
    const client = new AbortController();
    const left = expect(ask('/probe', { signal: client.signal })).rejects.toThrow();
    await begun.promise;
    client.abort();
    await left;
    await expect.poll(() => gateway.running.size).toBe(0);
    goOn.resolve();
    await letGo.promise;
  });

  it('that ends because its client has left is not logged as a fault', async () => {
    const { promise: left, resolve } = Promise.withResolvers<void>();
    const { ask, lines, gateway } = await streaming((signal) => ({
      start(controller) {
        controller.enqueue(new Uint8Array(1));
        signal.addEventListener('abort', () => {
          controller.error(signal.reason);
          resolve();
        });
      },
    }));
    const client = new AbortController();
    await ask('/probe', { signal: client.signal });
    client.abort();
    await left;
    await expect.poll(() => gateway.running.size).toBe(0);
    expect(lines.join('')).not.toContain(told);
  });
});

describe('an endpoint’s client that does not read', () => {
  const asking = 'GET /probe HTTP/1.1\r\nhost: localhost\r\n\r\n';
  const endpoint = (body: () => string | ReadableStream<Uint8Array>): AnyPlugin =>
    probe(({ routes }) => routes.add({ method: 'GET', path: '/probe', handle: () => ({ body: body() }) }));
  /** A stream that goes on as long as somebody reads it. */
  const flow = (): ReadableStream<Uint8Array> =>
    new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(65_536)) }, { highWaterMark: 0 });

  it('loses its connection', async () => {
    const { askedBy } = await served(answers(completion('')), [endpoint(() => long)]);
    const { socket } = await askedBy(asking);
    await stuck(socket);
    await vi.advanceTimersByTimeAsync(6.5 * minute);
    await expect.poll(() => socket.destroyed).toBe(true);
  });

  it('loses its connection two minutes after it last took bytes of a stream, which has no total time', async () => {
    const { askedBy } = await served(answers(completion('')), [endpoint(flow)]);
    const { client, socket } = await askedBy(asking);
    await stuck(socket);
    await vi.advanceTimersByTimeAsync(minute);
    client.resume();
    const before = socket.bytesWritten;
    await expect.poll(() => socket.bytesWritten).toBeGreaterThan(before);
    client.pause();
    await vi.advanceTimersByTimeAsync(minute);
    expect(socket.destroyed).toBe(false);
    await stuck(socket);
    await vi.advanceTimersByTimeAsync(2 * minute);
    await expect.poll(() => socket.destroyed).toBe(true);
  });

  it('keeps its connection while it takes bytes of a large piece of a stream, however slowly', async () => {
    const { askedBy } = await served(answers(completion('')), [endpoint(() => ReadableStream.from([new Uint8Array(40_000_000)]))]);
    const { client, socket } = await askedBy(asking);
    let [taken, most] = [0, 0];
    client.on('data', (part: Buffer) => void ((taken += part.length) > most && client.pause())).pause();
    for (let round = 1; round <= 4; round++) {
      await stuck(socket);
      await vi.advanceTimersByTimeAsync(minute);
      expect(socket.destroyed).toBe(false);
      most += 4_000_000;
      client.resume();
      await expect.poll(() => taken).toBeGreaterThan(most);
    }
  });
});
