/** A provider whose bytes are damaged: each request ends soon, with an answer or an error of the provider, and the gateway continues. */
import { createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runs } from '../../_kit/fuzz.ts';
import { oneUpstream, quietPlugins, testGateway } from '../../_kit/gateway.ts';
import type { TestGateway } from '../../_kit/gateway.ts';
import { completion, said } from '../../_kit/upstream.ts';
import { exchangeBytes } from '../../_kit/wire.ts';

interface Answer {
  readonly parts: readonly Buffer[];
  readonly end: 'close' | 'reset' | 'keep';
}

const secret = 'sk-S3CRETprovider0a1b2c3d4';
const answers = new Map<string, Answer>();
const open = new Set<Socket>();
let server: Server;
let gateway: TestGateway;

/** Uncaught errors. One of them would end a gateway. */
const uncaught: unknown[] = [];
const keep = (error: unknown): void => void uncaught.push(error);

beforeAll(async () => {
  process.on('uncaughtException', keep);
  server = createServer((socket) => {
    open.add(socket.on('error', () => {}).on('close', () => void open.delete(socket)));
    let asked = '';
    socket.on('data', (bytes) => {
      asked += bytes.toString('latin1');
      const answer = answers.get(/case-(\d+)/.exec(asked)?.[0] ?? '');
      if (answer === undefined) return;
      asked = '';
      void (async () => {
        for (const part of answer.parts) await new Promise<void>((written) => socket.write(part, () => setImmediate(written)));
        if (answer.end === 'close') socket.end();
        if (answer.end === 'reset') socket.resetAndDestroy();
      })();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  // no provider rests, because a resting provider is not asked
  const plugins = quietPlugins.filter((name) => name !== 'route/health');
  const config = oneUpstream(url, {
    plugins,
    routing: { default: { strategy: 'ordered', max_attempts: 1, timeout_ms: { connect: 2000, first_byte: 300, idle: 300, total: 1000 } } },
  });
  Object.assign((config['providers'] as { up: object }).up, { api_key: secret });
  gateway = await testGateway({ config });
});
afterAll(async () => {
  process.off('uncaughtException', keep);
  for (const socket of open) socket.destroy();
  await gateway.close();
  await new Promise((resolve) => server.close(resolve));
});

const head = (status: number, headers: readonly string[], body: string): string =>
  `HTTP/1.1 ${status} OK\r\n${headers.map((one) => `${one}\r\n`).join('')}\r\n${body}`;
const sized = (status: number, body: string, ...more: string[]): string =>
  head(
    status,
    ['content-type: application/json', `content-length: ${Buffer.byteLength(body)}`, ...more],
    Buffer.from(body).toString('latin1'),
  );
const chunk = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${Buffer.from(text).toString('latin1')}\r\n`;
const chunks = said('one', 'two').map(chunk).join('');
const zipped = gzipSync(JSON.stringify(completion('hello'))).toString('latin1');
const sound: readonly string[] = [
  sized(200, JSON.stringify(completion('hello'))),
  head(200, ['content-type: text/event-stream', 'transfer-encoding: chunked'], `${chunks}0\r\n\r\n`),
  head(200, ['content-type: text/event-stream'], said('one').join('')),
  head(200, ['content-type: application/json', 'content-encoding: gzip', `content-length: ${zipped.length}`], zipped),
  sized(401, `{"error":{"message":"Incorrect API key provided: ${secret}."}}`),
  sized(429, '{"error":{"message":"slow down"}}', 'retry-after: 2'),
  sized(302, '', 'location: http://127.0.0.1:9/'),
  sized(500, '<html>oh no</html>'),
  `HTTP/1.1 103 Early\r\nlink: <x>\r\n\r\n${sized(200, JSON.stringify(completion('hello')))}`,
];

const put = fc.constantFrom(
  '',
  '\r\n',
  '\n',
  '\r',
  '\0',
  ':',
  ' ',
  '\xff',
  '{',
  '"',
  '}',
  'zz\r\n',
  '0\r\n\r\n',
  'HTTP/1.1 200 OK\r\n\r\n',
  'HTTP/1.1 100 Continue\r\n\r\n',
  'HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n',
  'HTTP/2.0 ',
  '999',
  'content-length: 5\r\n',
  'content-length: -1\r\n',
  'content-length: 99999999999999999999\r\n',
  'transfer-encoding: chunked\r\n',
  'transfer-encoding: gzip\r\n',
  'content-encoding: br\r\n',
  'content-encoding: zstd, gzip, deflate\r\n',
  'content-type: text/plain\r\n',
  'content-type: text/event-stream\r\n',
  'retry-after: soon\r\n',
  'retry-after: 1e99\r\n',
  'x-a: \x80\xff\r\n',
  'set-cookie: a=b\r\n',
  'connection: close\r\n',
  `x: ${'y'.repeat(70_000)}\r\n`,
  'data: [DONE]\n\n',
  'data: {"error":{"message":"x","code":null}}\n\n',
  'data: null\n\n',
  'event: error\n',
  '\x16\x03\x01\x02',
);
const damage = fc.tuple(fc.nat(), fc.nat(4), put);
const answer: fc.Arbitrary<Answer> = fc
  .record({
    text: fc.constantFrom(...sound),
    damages: fc.array(damage, { maxLength: 3 }),
    tear: fc.nat(),
    end: fc.constantFrom<Answer['end']>('close', 'close', 'reset', 'keep'),
  })
  .map(({ text, damages, tear, end }) => {
    let all = text;
    for (const [at, length, more] of damages) {
      all = all.slice(0, at % (all.length + 1)) + more + all.slice((at % (all.length + 1)) + length);
    }
    const bytes = Buffer.from(all, 'latin1');
    return { parts: [bytes.subarray(0, tear % (bytes.length + 1)), bytes.subarray(tear % (bytes.length + 1))], end };
  });

let number = 0;

async function expectSound(one: Answer, isStream: boolean): Promise<void> {
  const name = `case-${++number}`;
  answers.set(name, one);
  const body = JSON.stringify({ model: 'plain', stream: isStream, user: name, messages: [{ role: 'user', content: 'hi' }] });
  const {
    replies: [reply],
    rest,
  } = await exchangeBytes(gateway.url, {
    parts: [
      Buffer.from(
        `POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`,
      ),
    ],
    wanted: 1,
  });
  answers.delete(name);
  const text = reply?.body.toString() ?? '';
  expect([reply === undefined, rest.length]).toEqual([false, 0]);
  expect(`${JSON.stringify([...(reply?.headers ?? [])])}${text}`).not.toContain(secret);
  expect(text).not.toMatch(/"code":"(?:internal_error|plugin_error)"/);
  if (reply?.status === 200) return;
  expect((JSON.parse(text) as { error: { code: string } }).error.code, text).toMatch(/^(?:upstream_|rate_limit|context_length)/);
}

describe('a provider whose bytes are damaged', () => {
  it('affects only its own requests, which end soon with an answer or an error of the provider', async () => {
    const many = fc.array(fc.tuple(answer, fc.boolean()), { minLength: 1, maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(many, async (all) => {
        await Promise.all(all.map(async ([one, isStream]) => await expectSound(one, isStream)));
        expect(uncaught.splice(0)).toEqual([]);
      }),
      runs(5, 12),
    );
    expect(gateway.lines).toEqual([]);
    expect(JSON.stringify(gateway.records)).not.toContain(secret);
    expect(new Set(gateway.records.map(({ id }) => id)).size).toBe(number);
  }, 600_000);
});
