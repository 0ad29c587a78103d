/** stream/upstream: the bytes of requests and answers, and the connections. core/attempts.test.ts tests what callers get after a fault. */
import { createSecureServer } from 'node:http2';
import { createServer as createTlsServer } from 'node:https';
import { createServer } from 'node:net';
import type { Server, Socket } from 'node:net';
import { brotliCompressSync, constants, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Dialect } from '../../../core/wire/dialect.ts';
import { trustedCertificate } from '../../_kit/certificate.ts';
import { listen } from '../../../core/http/listen.ts';
import { oneUpstream, readEvents, twoUpstreams } from '../../_kit/gateway.ts';
import type { TestGateway } from '../../_kit/gateway.ts';
import type { Step } from '../../_kit/upstream.ts';
import { answers, completion, event, pause, said, streams, usage } from '../../_kit/upstream.ts';
import { contentOf, errorOf, gatewayOf, probe, provider, routing } from '../../core/scene.ts';
import { portOf } from './port.ts';

const hello = answers(completion('hello'));

const listening = async (server: Server): Promise<string> => `https://127.0.0.1:${await portOf(server)}/v1`;

describe('the request', () => {
  it('names the gateway, and accepts no compression', async () => {
    const up = await provider();
    const { chat } = await gatewayOf(oneUpstream(up.url));
    await chat({});
    expect(up.asked[0]).toMatchObject({
      method: 'POST',
      url: '/v1/chat/completions',
      headers: {
        'user-agent': expect.stringMatching(/^model-gateway\/\d/),
        'accept-encoding': 'identity',
        authorization: 'Bearer up-key',
        'content-type': 'application/json',
      },
    });
  });

  it.each(['', '/', '/v1', '/v1/', '/deep/er/v1'])('goes below the base URL %j', async (path) => {
    const up = await provider();
    const { chat } = await gatewayOf(oneUpstream(up.url.replace('/v1', path)));
    await chat({});
    expect(up.asked[0]?.url).toBe(`${path.replace(/\/$/, '')}/chat/completions`);
  });

  it('has none of the caller’s headers', async () => {
    const up = await provider();
    const { chat } = await gatewayOf(oneUpstream(up.url));
    await chat(
      {},
      {
        authorization: 'Bearer callers-own',
        cookie: 'a=b',
        'x-forwarded-for': '1.2.3.4',
        'openai-organization': 'org',
        'x-request-id': 'mine',
      },
    );
    expect(JSON.stringify(up.asked[0]?.headers)).not.toMatch(/callers-own|a=b|1\.2\.3\.4|org|mine/);
  });

  it('has the headers of the provider’s entry', async () => {
    const up = await provider();
    const { chat } = await gatewayOf(
      oneUpstream(up.url, {
        providers: { up: { dialect: 'openai-chat', base_url: up.url, api_key: 'k', headers: { 'x-title': 'house' } } },
      }),
    );
    await chat({});
    expect(up.asked[0]?.headers['x-title']).toBe('house');
  });

  it.each<[string, Record<string, string>, Record<string, string>]>([
    [
      'keeps a list that includes those of the entry',
      { 'anthropic-beta': 'a-1, b-2' },
      { 'anthropic-beta': 'a-1,b-2,files-api-2025-04-14' },
    ],
    [
      'keeps a list that includes the one of the entry',
      { 'anthropic-beta': 'files-api' },
      { 'anthropic-beta': 'files-api,files-api-2025-04-14' },
    ],
    ['gives way to a value of the entry that is a part of its own', { 'anthropic-version': '2023-06' }, { 'anthropic-version': '2023-06' }],
    ['gives way to an empty value of the entry', { 'anthropic-version': '' }, { 'anthropic-version': '' }],
  ])('has the headers of the provider’s entry: the dialect’s header %s', async (_, headers, sent) => {
    const up = await provider();
    const { chat } = await gatewayOf(
      oneUpstream(up.url, { providers: { up: { dialect: 'anthropic', base_url: up.url, api_key: 'k', headers } } }),
    );
    await chat({ messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: 'file_1' } }] }] });
    expect(up.asked[0]?.headers).toMatchObject(sent);
  });

  it('asks for a stream if the caller did', async () => {
    const up = await provider(streams(said('a')));
    const { chat } = await gatewayOf(oneUpstream(up.url));
    await (await chat({ stream: true })).text();
    await chat({});
    expect(up.asked.map(({ json }) => json['stream'] === true)).toEqual([true, false]);
  });
});

const compressed =
  (encoding: string, body: Buffer, type = 'application/json'): Step =>
  (response) =>
    void response.writeHead(200, { 'content-type': type, 'content-encoding': encoding }).end(body);

describe('the answer', () => {
  const text = JSON.stringify(completion('unpacked'));

  it.each([
    ['gzip', gzipSync(text)],
    ['GZIP', gzipSync(text)],
    ['x-gzip', gzipSync(text)],
    ['br', brotliCompressSync(text)],
    ['deflate', deflateSync(text)],
    ['zstd', zstdCompressSync(text)],
    ...['identity', 'none', 'UTF-8'].map((coding): [string, Buffer] => [coding, Buffer.from(text)]),
    ['deflate, Br , none, identity', brotliCompressSync(deflateSync(text))],
  ])('in %s is decompressed', async (encoding, body) => {
    const up = await provider(compressed(encoding, body));
    const { chat } = await gatewayOf(oneUpstream(up.url));
    expect(await contentOf(await chat({}))).toBe('unpacked');
  });

  it.each([
    ['gzip', gzipSync],
    ['zstd', zstdCompressSync],
    ['none', Buffer.from],
  ])('as a stream in %s is decompressed', async (encoding, pack) => {
    const up = await provider(compressed(encoding, pack(said('a', 'b').join('')), 'text/event-stream'));
    const { chat } = await gatewayOf(oneUpstream(up.url));
    expect(await readEvents(await chat({ stream: true }))).toMatchObject({ text: 'ab', done: true });
  });

  it.each<[string, Step, string]>([
    ['that says it is compressed and is not', compressed('gzip', Buffer.from(text)), 'upstream_invalid_response'],
    ['that says it is zstd and is not', compressed('zstd', Buffer.from(text)), 'upstream_invalid_response'],
    ['that ends in the middle of its compression', compressed('zstd', zstdCompressSync(text).subarray(0, -20)), 'upstream_truncated'],
    [
      'that wants more memory to be unpacked than HTTP allows',
      compressed('zstd', zstdCompressSync(Buffer.alloc(20_000_000), { params: { [constants.ZSTD_c_windowLog]: 24 } })),
      'upstream_invalid_response',
    ],
    [
      'in more compressions than make sense',
      compressed('gzip, gzip, gzip, gzip', gzipSync(gzipSync(gzipSync(gzipSync(text))))),
      'upstream_invalid_response',
    ],
    [
      'that unpacks to a thousand times its size',
      compressed('gzip', gzipSync(Buffer.alloc(50_000_000, 0x20))),
      'upstream_response_too_large',
    ],
    [
      'of 100 MB',
      (response) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        const more = (): void => {
          while (!response.destroyed && response.write(Buffer.alloc(65_536, 0x20)));
        };
        response.on('drain', more);
        more();
      },
      'upstream_response_too_large',
    ],
  ])('%s is refused', async (_, step, code) => {
    const up = await provider(step);
    const { chat } = await gatewayOf(oneUpstream(up.url, { server: { limits: { upstream_body: 1_000_000 } } }));
    const response = await chat({});
    expect([response.status, (await errorOf(response)).code]).toEqual([502, expect.stringContaining(code)]);
    await up.asked[0]?.closed;
  });

  it.each([[{}], [{ stream: true }]])('in an unknown compression is refused with its name: %o', async (more) => {
    const up = await provider(compressed('gzip, Compress', Buffer.from([1, 2, 3])));
    const { chat } = await gatewayOf(oneUpstream(up.url));
    expect(await errorOf(await chat(more))).toMatchObject({
      code: 'upstream_invalid_response',
      message: expect.stringContaining('"gzip, compress"'),
    });
    await up.asked[0]?.closed;
  });

  it('in an unknown compression still gives the error of its status', async () => {
    const up = await provider((response) => void response.writeHead(429, { 'content-encoding': 'compress' }).end('?'));
    const { chat } = await gatewayOf(oneUpstream(up.url));
    expect((await errorOf(await chat({}))).code).toBe('upstream_rate_limited');
  });

  it.each([
    [{}, 'application/json', text],
    [{ stream: true }, 'text/event-stream', said('unpacked').join('')],
  ])('is read after a byte order mark: %o', async (more, type, body) => {
    const up = await provider((response) => void response.writeHead(200, { 'content-type': type }).end(`\uFEFF${body}`));
    const { chat } = await gatewayOf(oneUpstream(up.url));
    expect(await (await chat(more)).text()).toContain('"content":"unpacked"');
  });

  it.each(['text/plain', 'text/html', 'application/json', 'text/event-stream', 'application/octet-stream'])(
    'with the type %s is read by its bytes',
    async (type) => {
      const up = await provider(
        ...['', '\uFEFF'].flatMap((mark) => [
          streams([mark + said('hello').join('')], { type }),
          streams([mark + JSON.stringify(completion('whole'))], { type }),
        ]),
      );
      const { chat } = await gatewayOf(oneUpstream(up.url));
      for (const content of ['hello', 'whole', 'hello', 'whole']) {
        expect(await readEvents(await chat({ stream: true }))).toMatchObject({ text: content, done: true });
      }
    },
  );

  it.each([
    ['Application/JSON', [JSON.stringify(completion('hello'))]],
    ['Text/Event-Stream', said('hello')],
  ])('of the type %s, in capitals, is read correctly', async (type, parts) => {
    const up = await provider(streams(parts, { type }));
    const { chat } = await gatewayOf(oneUpstream(up.url));
    expect(await contentOf(await chat({}))).toBe('hello');
    expect(await readEvents(await chat({ stream: true }))).toMatchObject({ text: 'hello', done: true });
  });

  it.each([
    [
      'bedrock',
      '{"output":{"message":{"role":"assistant","content":[{"toolUse":{"toolUseId":"a","name":"find","input":{"id": 1234567890123456789}}}]}},"stopReason":"tool_use"}',
    ],
    [
      'anthropic',
      '{"type":"message","role":"assistant","content":[{"type":"tool_use","id":"a","name":"find","input":{"id": 1234567890123456789}}],"stop_reason":"tool_use"}',
    ],
  ])('of %s keeps all digits of a number in a tool call', async (dialect, body) => {
    const up = await provider((response) => void response.writeHead(200, { 'content-type': 'application/json' }).end(body));
    const { chat } = await gatewayOf(oneUpstream(up.url, { providers: { up: { dialect, base_url: up.url, api_key: 'k' } } }));
    expect(await (await chat({})).json()).toMatchObject({
      choices: [{ message: { tool_calls: [{ function: { arguments: '{"id":1234567890123456789}' } }] } }],
    });
  });

  it.each([
    ['text/html; charset=utf-8', '<html>Sign in</html>', 'The provider did not answer with valid JSON (status 200, text/html).'],
    ['application/json', '', 'The provider answered with status 200 and an empty body.'],
    ['<script>', 'no', 'The provider did not answer with valid JSON (status 200, no media type).'],
  ])('that is no JSON is named by its media type: %s', async (type, body, message) => {
    const up = await provider((response) => void response.writeHead(200, { 'content-type': type }).end(body));
    const { chat } = await gatewayOf(oneUpstream(up.url));
    expect(await errorOf(await chat({}))).toMatchObject({ code: 'upstream_invalid_response', message });
  });

  it('with an error page of any size becomes a short message', async () => {
    const up = await provider(
      (response) => void response.writeHead(500, { 'content-type': 'text/html' }).end(`<html>${'x'.repeat(1_000_000)}`),
    );
    const { chat } = await gatewayOf(oneUpstream(up.url));
    expect((await errorOf(await chat({}))).message.length).toBeLessThan(3000);
  });

  it('with an error of any size is judged by its first part, without the key', async () => {
    const up = await provider(
      (response) =>
        void response
          .writeHead(400, { 'content-type': 'application/json' })
          .end(
            `{"error":{"message":"This model's maximum context length is 4096 tokens. Key: up-key.","input":"${'x'.repeat(1_000_000)}"}}`,
          ),
    );
    const { chat } = await gatewayOf(oneUpstream(up.url));
    const response = await chat({});
    const { code, message } = await errorOf(response);
    expect([response.status, code, Buffer.byteLength(message) <= 2048]).toEqual([400, 'context_length_exceeded', true]);
    expect(message).toContain('maximum context length is 4096 tokens. Key: [redacted]');
    await up.asked[0]?.closed;
  });

  it.each([
    ['cookie', 'session=s3cret-1234', 's3cret-1234'],
    ['x-credential', 's3cret-1234', 's3cret-1234'],
    ['x-signature', 's3cret-1234', 's3cret-1234'],
    ['authorization', 'Basic czNjcmV0LTEyMzQ=', 'czNjcmV0LTEyMzQ='],
    ['authorization', 'Basic dXNlcjpzM2NyZXQtMTIzNA==', 'user:s3cret-1234'],
    ['authorization', 'Basic dXNlcjpzM2NyZXQtMTIzNA==', 's3cret-1234'],
    ['authorization', 'Basic czNjcmV0LTEyMzQ6', 's3cret-1234'],
    ['authorization', 'Bearer s3cret/1234+5==', 's3cret%2F1234%2B5%3D%3D'],
    ['x-api-key', 's3cret"1234', 's3cret\\"1234'],
    ['x-auth', 'Token s3cret-1234', 's3cret-1234'],
    ['x-team', 's3cret-1234', 's3cret-1234'],
  ])('with an error shows no %s of the entry, %s', async (name, value, secret) => {
    const up = await provider(
      (response) =>
        void response
          .writeHead(400, { 'content-type': 'application/json' })
          .end(JSON.stringify({ error: { message: `I do not like "${secret}".` } })),
    );
    const { chat, records } = await gatewayOf(
      oneUpstream(up.url, { providers: { up: { dialect: 'openai-chat', base_url: up.url, api_key: 'k', headers: { [name]: value } } } }),
    );
    expect((await errorOf(await chat({}))).message).toBe('I do not like "[redacted]".');
    expect(JSON.stringify(records)).not.toContain(secret);
  });

  it('with an error shows no part of a secret that begins with another secret', async () => {
    const up = await provider(answers({ error: { message: 'I do not like "team-key-of-payments".' } }, { status: 400 }));
    const headers = { 'x-extra-key': 'team-key-of-payments' };
    const { chat } = await gatewayOf(
      oneUpstream(up.url, { providers: { up: { dialect: 'openai-chat', base_url: up.url, api_key: 'team-key', headers } } }),
    );
    expect((await errorOf(await chat({}))).message).toBe('I do not like "[redacted]".');
  });

  it('with an error that comes in pieces is read whole', async () => {
    const up = await provider(async (response) => {
      response.writeHead(400, { 'content-type': 'application/json' }).write('{"error":{"message":"Bad temp');
      await pause(20);
      response.end('erature","code":"out_of_range"}}');
    });
    const { chat } = await gatewayOf(oneUpstream(up.url));
    expect(await errorOf(await chat({}))).toMatchObject({ code: 'out_of_range', message: 'Bad temperature' });
  });

  it('with an error without an end is judged by its first part, and closed', async () => {
    const up = await provider((response) => {
      response.writeHead(400, { 'content-type': 'text/plain' }).write('The prompt is too long. ');
      const more = (): void => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536, 0x20)));
      };
      response.on('drain', more);
      more();
    });
    const { chat } = await gatewayOf(oneUpstream(up.url));
    expect((await errorOf(await chat({}))).code).toBe('context_length_exceeded');
    await up.asked[0]?.closed;
  });

  it('with an error that breaks off is judged by its first part', async () => {
    const up = await provider((response) => {
      response
        .writeHead(400, { 'content-type': 'application/json', 'content-length': '5000' })
        .write('{"error":{"message":"Your prompt is too long: 9', () => response.destroy());
    });
    const { chat } = await gatewayOf(oneUpstream(up.url));
    expect(await errorOf(await chat({}))).toMatchObject({
      code: 'context_length_exceeded',
      message: expect.stringContaining('prompt is too long'),
    });
  });
});

/** The bytes that a client gets over a socket. */
async function overSocket(url: string, more: object): Promise<{ gateway: TestGateway; reply: Response }> {
  const gateway = await gatewayOf(oneUpstream(url));
  const { limits } = gateway.gateway.config.server;
  const listening = await listen({ host: '127.0.0.1', port: 0, limits, service: () => gateway.gateway });
  onTestFinished(async () => await listening.drain(0, []));
  const body = JSON.stringify({ model: 'plain', messages: [{ role: 'user', content: 'hi' }], ...more });
  return {
    gateway,
    reply: await fetch(`${listening.url}/v1/chat/completions`, { method: 'POST', headers: { 'content-type': 'application/json' }, body }),
  };
}

describe.each([
  ['without a line end', ''],
  ['with one line end', '\n'],
  ['with half of two line ends', '\r\n\r'],
])('a stream that ends %s', (_, end) => {
  const counts = `data: ${JSON.stringify({ choices: [], usage })}`;
  const lastWord = [event({ content: 'a' }), event({ content: 'b' }, 'stop').trimEnd() + end];
  const lastCount = [event({ content: 'a' }), event({ content: 'b' }, 'stop'), counts + end];

  it('gives its last event to a client that streams', async () => {
    const one = await overSocket((await provider(streams(lastWord))).url, { stream: true });
    expect(await readEvents(one.reply)).toMatchObject({ text: 'ab', done: true });
    const two = await overSocket((await provider(streams(lastCount))).url, { stream: true, stream_options: { include_usage: true } });
    expect((await readEvents(two.reply)).events.at(-1)).toMatchObject({ usage });
    expect(two.gateway.records[0]).toMatchObject({ outcome: 'answered', usage: { totalTokens: 15 } });
  });

  it('gives its last event to a client that does not stream', async () => {
    const one = await overSocket((await provider(streams(lastWord))).url, {});
    expect(await contentOf(one.reply)).toBe('ab');
    const two = await overSocket((await provider(streams(lastCount))).url, {});
    expect(await two.reply.json()).toMatchObject({ choices: [{ message: { content: 'ab' } }], usage });
  });
});

/** Reads the answer to its end. The pool gets the connection back after the last byte. */
const free = async (response: Response): Promise<void> => {
  await response.text();
  await pause(20);
};

/** Writes these parts unchanged, one by one. */
const raw =
  (...parts: string[]): Step =>
  async ({ req: { socket } }) => {
    socket.setNoDelay();
    for (const part of parts) {
      socket.write(part);
      await pause(1);
    }
  };

const whole = (status: string, body: string): string =>
  `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
const final = whole('200 OK', JSON.stringify(completion('hello 100')));
const goOn = 'HTTP/1.1 100 Continue\r\n\r\n';

describe('an interim answer', () => {
  it.each<[string, Step]>([
    ['100 Continue', raw(goOn + final)],
    ['100 Continue with headers', raw(`HTTP/1.1 100 Continue\r\nx-note: HTTP/1.1 100\r\nx-more: 1\r\n\r\n${final}`)],
    ['100 Continue without a reason', raw(`HTTP/1.1 100\r\n\r\n${final}`)],
    [
      '100 Continue more than once, among others',
      raw(`HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n${goOn}HTTP/1.1 102 Processing\r\n\r\n${goOn}${final}`),
    ],
    ['100 Continue in single bytes', raw(...(goOn + goOn).split(''), final.slice(0, 5), final.slice(5))],
    [
      '100 Continue long before the answer',
      async (response, asked) => {
        response.writeContinue();
        await pause(50);
        await answers(completion('hello 100'))(response, asked);
      },
    ],
  ])('%s is skipped', async (_, step) => {
    const up = await provider(step);
    const { chat } = await gatewayOf(oneUpstream(up.url));
    for (let at = 0; at < 3; at++) {
      const response = await chat({});
      expect(await contentOf(response)).toBe('hello 100');
      await pause(20);
    }
    expect(up.asked).toHaveLength(3);
  });

  it('is skipped over TLS', async () => {
    const server = createTlsServer(trustedCertificate(), (_, response) => {
      response.writeContinue();
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(completion('hello 100')));
    });
    const { chat } = await gatewayOf(oneUpstream(await listening(server)));
    expect(await contentOf(await chat({}))).toBe('hello 100');
  });

  it('is skipped before a stream', async () => {
    const up = await provider(async (response, asked) => {
      response.writeContinue();
      await streams(said('a', 'HTTP/1.1 100 Continue'))(response, asked);
    });
    const { chat } = await gatewayOf(oneUpstream(up.url));
    expect(await readEvents(await chat({ stream: true }))).toMatchObject({ text: 'aHTTP/1.1 100 Continue', done: true });
  });

  it.each(['100 Continue', '102 Processing'])('that is repeated without end is cut, and its connection is closed: %s', async (status) => {
    const up = await provider(({ req: { socket } }) => {
      const more = (): void => {
        while (!socket.destroyed && socket.write(`HTTP/1.1 ${status}\r\n\r\n`.repeat(100)));
      };
      socket.on('drain', more).on('error', () => {});
      more();
    });
    const { chat } = await gatewayOf(oneUpstream(up.url, { routing: { default: { timeout_ms: { first_byte: 1500 } } } }));
    expect((await errorOf(await chat({}))).code).toBe('upstream_invalid_response');
    await up.asked[0]?.closed;
  });

  it('long before an error is not taken as the answer', async () => {
    const up = await provider(async (response, asked) => {
      response.writeProcessing();
      await pause(50);
      await answers({ error: { message: 'slow down' } }, { status: 429 })(response, asked);
    });
    const { chat } = await gatewayOf(oneUpstream(up.url));
    const response = await chat({});
    expect([response.status, (await errorOf(response)).code]).toEqual([429, 'upstream_rate_limited']);
  });

  it.each<[string, Step]>([
    ['that changes the protocol', raw('HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n')],
    [
      'that nothing follows',
      async (response, asked) => {
        await raw(goOn)(response, asked);
        await pause(20);
        response.socket?.resetAndDestroy();
      },
    ],
    [
      'that is cut',
      async (response, asked) => {
        await raw('HTTP/1.1 1')(response, asked);
        await pause(20);
        response.socket?.end();
      },
    ],
  ])('%s does not cause a second request', async (_, step) => {
    const up = await provider(hello, step);
    const { chat } = await gatewayOf(oneUpstream(up.url));
    await free(await chat({}));
    expect((await chat({})).status).toBe(502);
    expect(up.asked).toHaveLength(2);
  });
});

const half: Step = (response) =>
  void response
    .writeHead(200, { 'content-type': 'application/json', 'content-length': '100' })
    .write('{', () => response.socket?.destroy());

describe('a connection', () => {
  const ports: (number | undefined)[] = [];
  const noting =
    (step: Step): Step =>
    async (response, asked) => {
      ports.push(response.socket?.remotePort);
      await step(response, asked);
    };
  const resets = noting((response) => void response.socket?.resetAndDestroy());
  const ends = noting((response) => void response.socket?.end());

  it('is used again', async () => {
    ports.length = 0;
    const up = await provider(noting(hello));
    const { chat } = await gatewayOf(oneUpstream(up.url));
    for (let at = 0; at < 3; at++) await free(await chat({}));
    expect(new Set(ports).size).toBe(1);
  });

  it('that a request waits for is logged once', async () => {
    const up = await provider(async (response, asked) => {
      await pause(100);
      await hello(response, asked);
    });
    const base = oneUpstream(up.url) as { providers: { up: object } };
    const { chat, lines } = await gatewayOf({ ...base, providers: { up: { ...base.providers.up, connections: 1 } } });
    await Promise.all([1, 2, 3].map(async () => await free(await chat({}))));
    expect(up.asked).toHaveLength(3);
    expect(lines.filter((line) => line.includes('requests wait for one'))).toEqual([
      expect.stringContaining('"provider":"up","connections":1'),
    ]);
  });

  it('is used again after a stream', async () => {
    ports.length = 0;
    const up = await provider(noting(streams(said('a'))));
    const { chat } = await gatewayOf(oneUpstream(up.url));
    for (let at = 0; at < 3; at++) await free(await chat({ stream: true }));
    expect(new Set(ports).size).toBe(1);
  });

  it.each([
    ['resets', resets],
    ['ends', ends],
  ])('that the provider %s when it is used again is replaced without an error', async (_, breaks) => {
    const up = await provider(hello, breaks, hello);
    const { chat, records } = await gatewayOf(oneUpstream(up.url));
    await free(await chat({}));
    expect(await contentOf(await chat({}))).toBe('hello');
    expect(up.asked).toHaveLength(3);
    expect(records[1]?.attempts).toHaveLength(1);
  });

  it.each([
    ['resets', resets],
    ['ends', ends],
  ])('that the provider %s at its first use causes no retry', async (_, breaks) => {
    const [one, two] = [await provider(breaks), await provider()];
    const { chat, records } = await gatewayOf(twoUpstreams(one.url, two.url));
    expect(await contentOf(await chat({}))).toBe('hello');
    expect([one.asked.length, records[0]?.attempts[0]?.outcome]).toEqual([1, 'upstream_unreachable']);
  });

  it('that is stale at each of four tries is an error, without a fifth try', async () => {
    // the provider answers the first request of each connection and resets at the second. There is one connection at a time, and a
    // retried request goes to the end of the queue: the last of sixteen requests is always the second on its connection
    const count = 16;
    const used = new WeakSet<Socket>();
    const asked: string[] = [];
    const { promise: allWait, resolve: go } = Promise.withResolvers<void>();
    const up = await provider(async (response, one) => {
      const socket = response.socket as Socket;
      asked.push(one.json['user']);
      await allWait;
      if (used.has(socket)) socket.resetAndDestroy();
      else void hello(response, one);
      used.add(socket);
    });
    let opened = 0;
    const counting = probe(({ hooks }) => hooks.open.tap('test/probe', () => void (++opened === count && setImmediate(go))));
    const { chat } = await gatewayOf(
      oneUpstream(up.url, { providers: { up: { dialect: 'openai-chat', base_url: up.url, api_key: 'k', connections: 1 } } }),
      { plugins: [counting] },
    );
    const replies = await Promise.all(Array.from({ length: count }, async (_, at) => await chat({ user: `${at + 1}` })));
    expect(replies.map(({ status }) => status)).toEqual([...Array.from({ length: count - 1 }, () => 200), 502]);
    expect((await errorOf(replies.at(-1) as Response)).code).toBe('upstream_unreachable');
    expect(['1', '2', '4', '8', '16'].map((user) => asked.filter((one) => one === user).length)).toEqual([1, 2, 3, 4, 4]);
  });

  it('that breaks in the middle of an answer causes no retry', async () => {
    const up = await provider(hello, half);
    const { chat } = await gatewayOf(oneUpstream(up.url));
    await free(await chat({}));
    expect((await errorOf(await chat({}))).code).toBe('upstream_truncated');
    expect(up.asked).toHaveLength(2);
  });

  it('that is idle and is closed by the provider causes no error', async () => {
    const up = await provider((response, asked) => {
      void hello(response, asked);
      response.once('finish', () => setImmediate(() => response.socket?.destroy()));
    });
    const { chat } = await gatewayOf(oneUpstream(up.url));
    for (let at = 0; at < 20; at++) expect((await chat({})).status).toBe(200);
  });

  it('is closed when the gateway closes', async () => {
    let closed: Promise<unknown> = Promise.resolve();
    const up = await provider((response, asked) => {
      closed = new Promise((resolve) => response.socket?.once('close', resolve));
      void hello(response, asked);
    });
    const { chat, close } = await gatewayOf(oneUpstream(up.url));
    await (await chat({})).text();
    await close();
    await closed;
  });
});

/** Accepts connections and sends nothing, so that no TLS handshake completes. */
const silentServer = async (): Promise<string> => await listening(createServer());

/** Speaks HTTP/2 and HTTP/1.1, and prefers HTTP/2. */
function http2Server(afterMs: number, headers: Record<string, string> = {}) {
  const spoken: string[] = [];
  const server = createSecureServer({ allowHTTP1: true, ...trustedCertificate() }, (request, response) => {
    spoken.push(request.httpVersion);
    setTimeout(
      () => response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(completion('hello'))),
      afterMs,
    );
  });
  return { server, spoken };
}

describe('a provider that speaks HTTP/2 too', () => {
  // both sides close idle connections, and a pause of the machine makes a connection idle
  it('is asked over HTTP/1.1, on connections that are used again', { retry: 2 }, async () => {
    let connections = 0;
    const { server, spoken } = http2Server(50);
    server.on('secureConnection', () => {
      connections += 1;
    });
    const { chat } = await gatewayOf(oneUpstream(await listening(server)));
    for (let round = 0; round < 2; round++) await Promise.all(Array.from({ length: 4 }, async () => await free(await chat({}))));
    expect([spoken, connections]).toEqual([Array.from({ length: 8 }, () => '1.1'), 4]);
  });
});

describe('a connection that cannot be opened', () => {
  it.each<[string, Record<string, number>, Record<string, number>, number]>([
    ['the default', { connect: 200 }, {}, 200],
    ['a shorter one of the model', { connect: 5000 }, { connect: 200 }, 200],
    ['a longer one of the model', { connect: 50 }, { connect: 250 }, 250],
  ])('is given up after its time limit: %s', async (_, byDefault, own, ms) => {
    const two = await provider();
    const { routing: policy } = routing(byDefault) as { routing: object };
    const { chat, records } = await gatewayOf(
      twoUpstreams(await silentServer(), two.url, { routing: { ...policy, models: { plain: { timeout_ms: own } } } }),
    );
    for (let at = 0; at < 3; at++) expect(await contentOf(await chat({}))).toBe('hello');
    const first = records.map(({ attempts: [one] }) => one);
    for (const one of first) {
      expect(one).toMatchObject({ outcome: 'upstream_timeout', error: 'The gateway could not connect to the provider in time.' });
    }
    const shortest = Math.min(...first.map((one) => one?.durationMs ?? Infinity));
    // each waits for the limit; a pause of this process makes one wait longer, not all
    expect([shortest >= ms - 5, shortest < ms + 2000], String(shortest)).toEqual([true, true]);
  });

  it('is given up after the time limit of the request that waits for it', async () => {
    const { server } = http2Server(100, { connection: 'close' });
    let connections = 0;
    // the server answers on the first connection, and not on the next one
    const url = await listening(
      createServer((socket) => {
        if (connections++ === 0) server.emit('connection', socket);
      }),
    );
    const models = { plain: { timeout_ms: { connect: 600_000 } }, thinker: { timeout_ms: { connect: 200 } } };
    const { chat } = await gatewayOf(
      oneUpstream(url, { providers: { up: { dialect: 'openai-chat', base_url: url, api_key: 'k', connections: 1 } }, routing: { models } }),
    );
    const [first, second] = await Promise.all([chat({}), chat({ model: 'thinker' })]);
    expect(await contentOf(first)).toBe('hello');
    expect((await errorOf(second)).code).toBe('upstream_timeout');
  });

  // a pause of the machine makes the wait longer
  it('delays no other request', { retry: 2 }, async () => {
    const two = await provider();
    const { chat, records } = await gatewayOf(twoUpstreams(await silentServer(), two.url, routing({ connect: 600 })));
    await Promise.all(Array.from({ length: 5 }, () => chat({})));
    expect(Math.max(...records.map(({ attempts: [first] }) => first?.durationMs ?? Infinity))).toBeLessThan(2400);
  });
});

describe('an address', () => {
  it('that does not exist is not shown to the caller', async () => {
    const { chat } = await gatewayOf(oneUpstream('http://nowhere.invalid:1234/v1'));
    const response = await chat({});
    const { message, code } = await errorOf(response);
    expect([response.status, code]).toEqual([502, 'upstream_unreachable']);
    expect(message).not.toMatch(/nowhere|1234/);
  });

  it.each([
    ['speaks another protocol', '220 mail.example ESMTP\r\n'],
    ['sends a chunk without a length', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nZZ\r\n{}'],
    ['names two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\n{}   '],
  ])('that %s is reported so', async (_, reply) => {
    const server = createServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', () => socket.end(reply));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const { chat } = await gatewayOf(oneUpstream(`http://127.0.0.1:${(server.address() as { port: number }).port}/v1`));
    expect(await errorOf(await chat({}))).toMatchObject({
      code: 'upstream_invalid_response',
      message: 'The provider did not answer in valid HTTP.',
    });
  });
});

describe('a dialect with a fault', () => {
  const chunks = () => [{ type: 'finish' as const, choice: 0, reason: 'completed' as const, native: null }];
  const fails = (): never => {
    throw new Error('no');
  };
  // the config of a test knows the shipped dialects only, so this one takes the place of one of them
  const own: Dialect = {
    name: 'openai-chat',
    baseUrl: null,
    encode: () => ({ path: '/own', headers: {}, body: '{}', adjustments: [] }),
    decoder: () => ({ push: chunks, end: () => [] }),
    decodeBody: chunks,
    decodeError: fails,
  };
  const plain = answers({});
  const stream = streams([event({})]);
  const ask = async (step: Step, more: object) => {
    const up = await provider(step);
    const gateway = await gatewayOf(oneUpstream(up.url), { plugins: [{ ...probe(() => {}), dialects: [{ ...own, ...more }] }] });
    return { ...gateway, up, error: await errorOf(await gateway.chat({ stream: step === stream })) };
  };

  it.each<[string, Step, object]>([
    ['encode', plain, { encode: fails }],
    ['authorise', plain, { authorise: fails }],
    ['decodeBody', plain, { decodeBody: fails }],
    ['decodeError', answers({}, { status: 400 }), {}],
    ['frames', stream, { frames: fails }],
    ['decoder', stream, { decoder: fails }],
    ['push', stream, { decoder: () => ({ push: fails, end: () => [] }) }],
    ['a push that gives nothing', stream, { decoder: () => ({ push() {}, end: () => [] }) }],
    ['end', stream, { decoder: () => ({ push: () => [], end: fails }) }],
    ['a body that gives nothing', plain, { decodeBody() {} }],
    ['a body that gives null', plain, { decodeBody: () => null }],
    ['a body that gives one chunk without a list', plain, { decodeBody: () => chunks()[0] }],
    ['a body with a text that is a number', plain, { decodeBody: () => [{ type: 'text-delta', choice: 0, text: 5 }, ...chunks()] }],
    ...[
      { type: 'text-delta', choice: 0, text: 5 },
      { type: 'text-delta', choice: 20_000, text: 'x' },
      { type: 'text', choice: 0, text: 'x' },
      { type: 'finish', choice: 0, reason: 'stop', native: 'stop' },
      { type: 'usage', usage: null },
      null,
    ].map((odd): [string, Step, object] => [
      `a push that gives ${JSON.stringify(odd)}`,
      stream,
      { decoder: () => ({ push: () => [odd, ...chunks()], end: () => [] }) },
    ]),
  ])('has the name of its plugin in the error: %s', async (_, step, more) => {
    const { error, lines, records } = await ask(step, more);
    expect(error).toMatchObject({ code: 'plugin_error', message: 'The plugin "test/probe" failed in its dialect "openai-chat".' });
    expect(records).toMatchObject([{ error: { plugin: 'test/probe' } }]);
    expect(lines.find((line) => line.includes('a request met a bug'))).toContain('"plugin":"test/probe"');
  });

  it.each<[string, unknown]>([
    ['a promise', Promise.resolve(own.encode({} as never, {} as never))],
    ['a body that is an object', { path: '/own', headers: {}, body: {}, adjustments: [] }],
    ['no adjustments', { path: '/own', headers: {}, body: '{}' }],
    ['nothing', undefined],
  ])('sends nothing, and has the name of its plugin in the error, where it encodes to %s', async (_, wire) => {
    const { error, up, lines } = await ask(plain, { encode: () => wire });
    expect(error).toMatchObject({ code: 'plugin_error', message: 'The plugin "test/probe" failed in its dialect "openai-chat".' });
    expect(up.asked).toEqual([]);
    expect(lines.join('')).toContain('encode() must give { path, headers, body, adjustments }');
  });

  it('sends nothing without its credentials, where `authorise` gives a promise of them', async () => {
    const { error, up, lines } = await ask(plain, { authorise: async () => ({ 'x-key': 'up-key' }) });
    expect(error).toMatchObject({ code: 'plugin_error', message: 'The plugin "test/probe" failed in its dialect "openai-chat".' });
    expect(up.asked).toEqual([]);
    expect(lines.join('')).toContain('authorise() must give an object of headers, and gave a promise');
  });

  it('sends no request for vectors that is encoded to a promise', async () => {
    const up = await provider(plain);
    const embedder = { most: 1, encode: async () => own.encode({} as never, {} as never), decode: fails };
    const architecture = { input_modalities: ['text'], output_modalities: ['embeddings'] };
    const config = oneUpstream(up.url, { models: [{ id: 'vectors', architecture, providers: [{ providerId: 'up', streaming: false }] }] });
    const dialects = [{ ...own, embedder: () => embedder }] as unknown as Dialect[];
    const { post, lines } = await gatewayOf(config, { plugins: [{ ...probe(() => {}), dialects }] });
    await post({ model: 'vectors', input: 'Hello' }, { path: '/v1/embeddings' });
    expect(up.asked).toEqual([]);
    expect(lines.join('')).toContain('encode() must give { path, headers, body, adjustments }');
  });

  it('is not taken for a provider whose connection failed: a header that HTTP does not allow', async () => {
    const { error } = await ask(plain, { encode: () => ({ path: '/own', headers: { 'x-a': 'a\r\nb' }, body: '{}', adjustments: [] }) });
    expect(error.message).toMatch(/the path, a header or the body of the request to it is not valid in HTTP/);
  });
});
