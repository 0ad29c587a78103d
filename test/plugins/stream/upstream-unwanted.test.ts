/**
 * stream/upstream: a request whose client has left, a request that must not be sent again, and the rest of an answer that is not needed.
 */
import type { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { GatewayError } from '../../../core/errors.ts';
import { EARLY } from '../../../core/pipeline/hooks.ts';
import { HttpAnswer } from '../../../plugins/stream/upstream/http-answer.ts';
import { bytesOf } from '../../../plugins/stream/upstream/unpacked.ts';
import { oneUpstream, readEvents } from '../../_kit/gateway.ts';
import type { Step } from '../../_kit/upstream.ts';
import { answers, completion, pause, said } from '../../_kit/upstream.ts';
import { contentOf, errorOf, gatewayOf, probe, provider, routing } from '../../core/scene.ts';

const hello = answers(completion('hello'));
const ask = { model: 'plain', messages: [{ role: 'user', content: 'hi' }] };

/**
 * One connection to the provider. `ports` has the port of the gateway's connection for each request; `opened` gives the number of requests
 * that have reached the point at which they ask for a connection.
 */
async function oneConnection(...steps: Step[]) {
  let opened = 0;
  const counting = probe(({ hooks }) => hooks.open.tap('test/probe', () => void opened++));
  const ports: (number | undefined)[] = [];
  const up = await provider(
    ...steps.map((step): Step => async (response, asked) => {
      ports.push((response.socket as Socket).remotePort);
      await step(response, asked);
    }),
  );
  const gateway = await gatewayOf(
    oneUpstream(up.url, { providers: { up: { dialect: 'openai-chat', base_url: up.url, api_key: 'k', connections: 1 } } }),
    { plugins: [counting] },
  );
  return { up, ports, opened: () => opened, ...gateway };
}

describe('a request whose client leaves', () => {
  it('while it waits for a connection is not sent, and opens no connection', async () => {
    const { promise: isLet, resolve: letGo } = Promise.withResolvers<void>();
    const { chat, post, up, ports, opened, records } = await oneConnection(async (response, asked) => {
      await isLet;
      await hello(response, asked);
    }, hello);
    const first = chat({});
    await expect.poll(() => up.asked).toHaveLength(1);
    const leaving = new AbortController();
    const left = expect(post({ ...ask, user: 'gone' }, { signal: leaving.signal })).rejects.toThrow('aborted');
    await expect.poll(opened).toBe(2);
    leaving.abort();
    await left;
    await expect.poll(() => records.map(({ outcome }) => outcome)).toEqual(['gone']);
    letGo();
    await contentOf(await first);
    expect(await contentOf(await chat({ user: 'next' }))).toBe('hello');
    expect(up.asked.map(({ json }) => json['user'])).toEqual([undefined, 'next']);
    expect(new Set(ports).size).toBe(1);
  });

  it('before a connection is asked for is not sent', async () => {
    const up = await provider();
    let leave = (): void => {};
    const leaving = probe(({ hooks }) =>
      hooks.open.tap({ name: 'test/probe', stage: EARLY }, () => {
        leave();
        return undefined;
      }),
    );
    const { chat, gateway, records } = await gatewayOf(oneUpstream(up.url), { plugins: [leaving] });
    leave = () => {
      for (const exchange of gateway.running) exchange.cancel(new GatewayError('client_closed', 'The client has left.'));
    };
    await chat({});
    await pause(50);
    expect([up.asked.length, records[0]?.outcome]).toEqual([0, 'gone']);
  });
});

describe('a compressed answer', () => {
  it('that is cancelled while its bytes wait ends, and its connection is closed', async () => {
    let aborted = 0;
    const controller = { aborted: false, paused: false, reason: null, pause: () => {}, resume: () => {}, abort: () => void aborted++ };
    const answer = new HttpAnswer();
    answer.onRequestStart(controller);
    answer.onResponseStart(controller, 200, { 'content-encoding': 'gzip' });
    await answer.head;
    const bytes = bytesOf(answer);
    answer.onResponseData(controller, gzipSync(Buffer.alloc(10_000_000)).subarray(0, 9000));
    await bytes.ready();
    bytes.cancel();
    await expect.poll(() => aborted).toBe(1);
    expect(() => answer.take()).toThrow('cancelled');
  });
});

describe('data after the end mark of a stream', () => {
  it('is dropped, and its connection is used again', async () => {
    const rest = Buffer.alloc(1_000_000, ': more\n');
    const { chat, ports } = await oneConnection(async (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const part of said('a')) response.write(part);
      await pause(20);
      response.end(rest);
    });
    for (let at = 0; at < 2; at++) {
      expect(await readEvents(await chat({ stream: true }))).toMatchObject({ text: 'a', done: true });
      await pause(100);
    }
    expect([ports.length, new Set(ports).size]).toEqual([2, 1]);
  });

  it.each<[string, (text: string) => Uint8Array]>([
    ['identity', (text) => Buffer.from(text)],
    ['gzip', (text) => gzipSync(text)],
  ])('is waited for about a second, and then its connection is closed: %s', async (coding, packed) => {
    let saidAt = 0;
    const { chat, up } = await oneConnection((response) => {
      saidAt = performance.now();
      response.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': coding }).write(packed(said('a').join('')));
    });
    await (await chat({ stream: true })).text();
    await up.asked[0]?.closed;
    expect(performance.now() - saidAt).toBeGreaterThan(900);
  });
});

describe('the bytes before a broken connection', () => {
  it('are used, however late they are read', async () => {
    const { chat, records } = await oneConnection((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(said('a', 'b').slice(0, 2).join(''), () => response.socket?.resetAndDestroy());
    });
    await (await chat({ stream: true })).text();
    expect(records[0]).toMatchObject({ error: { code: 'upstream_truncated' }, response: { choices: [{ text: 'a' }] } });
  });
});

it('an error that stops in the middle is judged by its first part, and its connection is closed', async () => {
  const up = await provider((response) => {
    response
      .writeHead(429, { 'content-type': 'application/json', 'content-length': '5000', 'retry-after': '7' })
      .write('{"error":{"message":"Too many');
  });
  const { chat } = await gatewayOf(oneUpstream(up.url, routing({ first_byte: 8000 })));
  const reply = await chat({});
  expect([reply.headers.get('retry-after'), (await errorOf(reply)).code]).toEqual(['7', 'upstream_rate_limited']);
  await up.asked[0]?.closed;
});

it('a request whose connection closes long after it was sent is not sent again, because the provider may charge it', async () => {
  const { up, chat, ports } = await oneConnection(hello, async (response) => {
    await pause(5500);
    response.socket?.destroy();
  });
  expect(await contentOf(await chat(ask))).toBe('hello');
  expect((await errorOf(await chat(ask))).code).toBe('upstream_unreachable');
  expect([up.asked.length, ports[0]]).toEqual([2, ports[1]]);
});
