/** Random requests to every route: the gateway never fails, never ends, never shows a secret, and frames each reply correctly. */
import { once } from 'node:events';
import { mkdtempSync, globSync, readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { filterNames } from '../../../core/log/query.ts';
import { newSession } from '../../../core/http/sessions.ts';
import { Secret } from '../../../core/secret.ts';
import { runs } from '../../_kit/fuzz.ts';
import { oneUpstream, quietPlugins, testGateway } from '../../_kit/gateway.ts';
import type { TestGateway } from '../../_kit/gateway.ts';
import { answers, completion, pause, said, startUpstream, streams } from '../../_kit/upstream.ts';
import type { ScriptedUpstream, Step } from '../../_kit/upstream.ts';
import { exchangeBytes } from '../../_kit/wire.ts';
import type { WireReply } from '../../_kit/wire.ts';

const secrets = {
  provider: 'sk-provider-S3CRETa1b2c3d4e5f6',
  header: 'S3CRETheaderOfTheProvider77',
  caller: 'gwk_S3CRETcaller_0123456789',
  admin: 'gwa_S3CRETadmin_0123456789',
};
const root = join(import.meta.dirname, '../../..');

/** Every path of an endpoint, as the source of its plugin names it. */
const routes = [
  ...new Set(
    globSync('plugins/**/*.ts', { cwd: root }).flatMap((file) =>
      Array.from(
        readFileSync(join(root, file), 'utf8').matchAll(/'(\/|\/(?:v1|api|dashboard|metrics|health)[\w/:*-]*)'/g),
        ([, path = '']) => path,
      ),
    ),
  ),
].sort();

const answersAny: Step = (response, asked) => {
  if (asked.json['model'] === 'budgeted-1') {
    return answers({ error: { message: `Incorrect API key provided: ${secrets.provider}.`, code: 'invalid_api_key' } }, { status: 401 })(
      response,
      asked,
    );
  }
  return asked.json['stream'] === true ? streams(said('one', 'two'))(response, asked) : answers(completion('hello'))(response, asked);
};

/** Without the circuit breaker: it would stop the requests to the provider. */
const asking = quietPlugins.filter((name) => name !== 'route/health');

let up: ScriptedUpstream;
const folder = mkdtempSync(join(tmpdir(), 'gateway-fuzz-'));
const gateways: TestGateway[] = [];

/** Uncaught errors. One of them ends a gateway. */
const uncaught: unknown[] = [];
const keep = (error: unknown): void => void uncaught.push(error);

beforeAll(async () => {
  process.on('uncaughtException', keep);
  up = await startUpstream(answersAny);
  const gatewayOf = async (
    name: string,
    server: object,
    keys: readonly object[] = [{ name: 'team', key: secrets.caller }],
  ): Promise<TestGateway> => {
    const config = oneUpstream(up.url, {
      server: { ...server, data_dir: join(folder, name) },
      keys,
      plugins: [...asking, 'log/journal', 'endpoints/dashboard'],
    });
    Object.assign((config['providers'] as { up: object }).up, { api_key: secrets.provider, headers: { 'x-team': secrets.header } });
    return await testGateway({ config });
  };
  gateways.push(
    await gatewayOf('keyed', { admin_key: secrets.admin }),
    await gatewayOf('open', {}, []),
    await gatewayOf('neighbours', { admin_open: true }),
  );
});
afterAll(async () => {
  process.off('uncaughtException', keep);
  for (const gateway of gateways) await gateway.close();
  await up.close();
  rmSync(folder, { recursive: true });
});

const oddText = fc.constantFrom(
  '',
  '..',
  '.',
  '%2e%2e',
  '%00',
  '%ff',
  '%',
  '%zz',
  'a%2Fb',
  '//',
  '\\',
  '__proto__',
  'constructor',
  ';',
  "'",
  '"',
  '<script>',
  '\x80\xff',
  '%E2%80%AE',
  '-1',
  '1e999',
  '9'.repeat(30),
  'x'.repeat(600),
  '*',
  '[',
  '{}',
  '${HOME}',
  '0199a3b4-0000-7000-8000-000000000000',
  'plain',
  'up/plain',
  '\t',
  '=',
  '&',
  '?',
  '#',
  '@',
  ':',
  'null',
  'true',
);
const anyText = fc.oneof(
  { arbitrary: oddText, weight: 3 },
  fc.string({ maxLength: 12 }),
  fc.string({ unit: fc.constantFrom(...Array.from('%&=?/.:-_"\\ abz019\xe9')), maxLength: 12 }),
);

const path = fc
  .tuple(fc.constantFrom(...routes), fc.array(anyText, { minLength: 2, maxLength: 2 }), fc.option(fc.tuple(fc.nat(40), anyText)))
  .map(([route, values, more]) => {
    let at = 0;
    const filled = route.replaceAll(/(?:\*\*)?:\w+|\*\*/g, () => values[at++ % 2] as string);
    return more === null ? filled : filled.slice(0, more[0]) + more[1] + filled.slice(more[0]);
  });
const others = [
  'limit',
  'cursor',
  'by',
  'bucket',
  'format',
  'rank',
  'meta',
  'skip',
  'include_deactivated',
  'exclude_deprecated',
  'no_training',
  'meta.a',
  'field.a',
  'meta.',
  'field.',
];
const oddValue = fc.oneof(
  anyText,
  fc.constantFrom(
    'csv',
    'jsonl',
    'json',
    '24h',
    '1000w',
    '>2s',
    '>=1',
    '<$1',
    'error',
    '4xx',
    '5',
    'model',
    'meta.a',
    '2026-03-01',
    'redis,database',
    'eyJ9',
    'null',
  ),
);
const query = fc
  .array(fc.tuple(fc.oneof({ arbitrary: fc.constantFrom(...filterNames, ...others), weight: 4 }, anyText), oddValue), { maxLength: 3 })
  .map((pairs) => (pairs.length === 0 ? '' : `?${pairs.map(([name, value]) => `${name}=${value}`).join('&')}`));
const target = fc.oneof(
  { arbitrary: fc.constantFrom(...routes), weight: 2 },
  { arbitrary: fc.tuple(path, query).map((parts) => parts.join('')), weight: 8 },
  fc.constantFrom(
    '*',
    'http://evil.example/',
    'http://localhost/api/logs',
    '/v1/chat/completions?x',
    '/v1/chat%2Fcompletions',
    'evil.example:443',
    '/' + 'a'.repeat(9000),
  ),
);

const chat = { model: 'plain', messages: [{ role: 'user', content: 'hi' }] };
const json = fc.oneof(
  fc.constantFrom<unknown>(
    chat,
    { ...chat, stream: true },
    { ...chat, model: 'budgeted' },
    { ...chat, model: 'none' },
    { key: secrets.admin },
    { key: 'x'.repeat(5000) },
    [],
    null,
    5,
  ),
  fc.jsonValue(),
);
const body = fc.oneof(
  fc.constant(''),
  json.map((value) => JSON.stringify(value)),
  fc.string({ unit: 'binary-ascii', maxLength: 30 }),
);

const names = [
  'host',
  'cookie',
  'origin',
  'referer',
  'sec-fetch-site',
  'content-type',
  'content-encoding',
  'accept',
  'accept-encoding',
  'accept-language',
  'range',
  'if-none-match',
  'if-modified-since',
  'last-event-id',
  'x-forwarded-for',
  'x-forwarded-proto',
  'forwarded',
  'via',
  'x-request-id',
  'x-gateway-a',
  'x-gateway-',
  'x-log-bodies',
  'traceparent',
  'tracestate',
  'upgrade',
  'te',
  'user-agent',
  'x-api-key',
  'authorization',
  'baggage',
  'expect',
  'priority',
  'http2-settings',
];
const headerValue = fc
  .oneof(
    anyText,
    fc.constantFrom(
      'localhost',
      '127.0.0.1',
      '[::1]',
      '[::1',
      'evil.example',
      'gzip, br;q=0',
      'bytes=0-5',
      'same-origin',
      'cross-site',
      'http://localhost',
      'https://evil.example',
      'null',
      'application/json',
      'text/plain',
      '100-continue',
      'websocket',
      'h2c',
      'off',
      'Bearer',
      'Bearer ',
      'Basic x',
      '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      'gateway_admin=1.2.3',
      'x'.repeat(3000),
    ),
  )
  .map((text) => text.replaceAll(/(?!\t)\p{Cc}/gu, ''));
const header = fc
  .tuple(fc.oneof({ arbitrary: fc.constantFrom(...names), weight: 6 }, fc.stringMatching(/^[\w.~^-]{1,12}$/)), headerValue)
  .filter(([name]) => !/^(?:content-length|transfer-encoding|connection|upgrade)$/i.test(name));

const claims: Readonly<Record<string, () => readonly string[]>> = {
  nobody: () => [],
  caller: () => [`authorization: Bearer ${secrets.caller}`],
  'caller by x-api-key': () => [`x-api-key: ${secrets.caller}`],
  admin: () => [`authorization: Bearer ${secrets.admin}`],
  session: () => [`cookie: gateway_admin=${newSession(new Secret(secrets.admin), Date.now() + 60_000).value}`],
};

interface Asked {
  readonly method: string;
  readonly target: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: string;
  readonly claim: string;
}

const asked: fc.Arbitrary<Asked> = fc.record({
  method: fc.oneof(
    { arbitrary: fc.constantFrom('GET', 'POST'), weight: 4 },
    fc.constantFrom('HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'QUERY', 'SEARCH', 'PURGE', 'CONNECT', 'get', 'X'),
  ),
  target: target.map((text) => text.replaceAll(/ |(?![\x80-\x9f])\p{Cc}/gu, '%20') || '/'),
  headers: fc.array(header, { maxLength: 4 }),
  body,
  claim: fc.constantFrom(...Object.keys(claims)),
});

const bytesOf = (text: string): Buffer => Buffer.from(text, 'latin1');

/** The bytes of a request; it closes its connection unless others follow. */
function wireOf({ method, target: address, headers, body: text, claim }: Asked, isLast = true): Buffer {
  const own = headers.map(([name, value]) => `${name}: ${value}`);
  const host = headers.some(([name]) => name === 'host') ? [] : ['host: localhost'];
  const type = headers.some(([name]) => name === 'content-type') || text === '' ? [] : ['content-type: application/json'];
  const lines = [
    `${method} ${address} HTTP/1.1`,
    ...host,
    ...type,
    ...(claims[claim]?.() ?? []),
    ...own,
    ...(text === '' ? [] : [`content-length: ${bytesOf(text).length}`]),
    ...(isLast ? ['connection: close'] : []),
  ];
  return bytesOf(`${lines.join('\r\n')}\r\n\r\n${text}`);
}

/** The reply is not a fault of the gateway, an error has the shape of its door, and no reply has a secret. */
function expectSound({ status, headers, body: bytes }: WireReply, isHead: boolean): void {
  const text = `${JSON.stringify([...headers])}${bytes.toString('utf8')}`;
  for (const secret of Object.values(secrets)) expect(text).not.toContain(secret);
  expect(status).not.toBe(500);
  if (status < 400 || isHead) return;
  expect(headers.get('content-type')).toBe('application/json');
  const { error, ...rest } = JSON.parse(bytes.toString('utf8')) as {
    error: { message: string; type: string; param: string | null; code: string };
    type?: string;
    request_id?: string;
  };
  if (rest.type === 'error') {
    return expect([rest.request_id, Object.keys(error), error.message === '']).toEqual([
      headers.get('x-request-id'),
      ['type', 'message'],
      false,
    ]);
  }
  expect([rest, Object.keys(error)]).toEqual([{}, ['message', 'type', 'param', 'code']]);
  expect([
    typeof error.message,
    error.message === '',
    typeof error.type,
    typeof error.code,
    error.param === null || typeof error.param === 'string',
  ]).toEqual(['string', false, 'string', 'string', true]);
  if (status >= 500) expect(error.code, JSON.stringify(error)).toMatch(/^(?:upstream_|server_overloaded)/);
}

/** The gateway has logged no fault, has recorded no secret, and serves. */
async function expectWell({ lines, records, gateway, get }: TestGateway): Promise<void> {
  expect(lines.filter((line) => !line.includes('wrong admin keys were sent'))).toEqual([]);
  const said = lines.splice(0).join('\n') + JSON.stringify(records.splice(0));
  for (const secret of Object.values(secrets)) expect(said).not.toContain(secret);
  expect((await get('/')).status).toBe(200);
  await expect.poll(() => gateway.running.size).toBe(0);
}

const place = fc.nat(2);

describe('a random request', () => {
  it('to any route gets a correct reply', async () => {
    expect(routes).toEqual(
      expect.arrayContaining([
        '/',
        '/api/logs/:id',
        '/api/session',
        '/api/views/logs',
        '/dashboard/**:path',
        '/metrics',
        '/v1/chat/completions',
        '/v1/models',
      ]),
    );
    const address = fc.nat(0xfffff).map((number) => `127.${1 + (number >> 16)}.${(number >> 8) & 255}.${1 + (number & 127)}`);
    const many = fc.array(fc.tuple(asked, address), { minLength: 1, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(place, many, async (at, all) => {
        const gateway = gateways[at] as TestGateway;
        await Promise.all(
          all.map(async ([one, from]) => {
            const isHead = one.method === 'HEAD';
            const { replies, rest } = await exchangeBytes(gateway.url, { parts: [wireOf(one)], isHead, from, wanted: 1 });
            const isEndless = one.target.includes('/api/logs/stream');
            // the reply to what is not HTTP has a body for each method, and closes the connection
            const isBroken = isHead && replies[0]?.status === 400 && replies[0].headers.get('connection') === 'close';
            if (!isEndless) expect([replies.length, isBroken ? 0 : rest.length], JSON.stringify(one)).toEqual([1, 0]);
            for (const reply of replies) expectSound(reply, isHead);
          }),
        );
        expect(uncaught.splice(0)).toEqual([]);
      }),
      runs(150, 8),
    );
    for (const gateway of gateways) await expectWell(gateway);
  }, 600_000);

  it('of bytes that are hardly HTTP gets correct replies', async () => {
    const damage = fc.tuple(
      fc.nat(),
      fc.nat(3),
      fc.constantFrom(
        '',
        '\r\n',
        '\n',
        '\r',
        '\0',
        ' ',
        ':',
        'Content-Length: 5\r\n',
        'Transfer-Encoding: chunked\r\n',
        'Host: evil.example\r\n',
        'Connection: close\r\n',
        'Connection: upgrade\r\nUpgrade: h2c\r\n',
        '0\r\n\r\n',
        'zz\r\n',
        '\xff',
        'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
        '\x16\x03\x01',
        'HTTP/1.1 200 OK\r\n\r\n',
        'HTTP/1.0',
        '-1',
        '9'.repeat(20),
        ';',
        ',',
        '\t',
      ),
    );
    const noHead = asked.filter(({ method }) => method !== 'HEAD');
    const raw = fc.record({
      all: fc.array(noHead, { minLength: 1, maxLength: 3 }),
      damages: fc.array(damage, { maxLength: 3 }),
      tears: fc.array(fc.nat(), { maxLength: 2 }),
      reset: fc.option(fc.nat(20), { freq: 3 }),
    });
    await fc.assert(
      fc.asyncProperty(place, fc.array(raw, { minLength: 1, maxLength: 12 }), async (at, sent) => {
        const gateway = gateways[at] as TestGateway;
        await Promise.all(
          sent.map(async ({ all, damages, tears, reset }) => {
            let text = all.map((one) => wireOf(one, false).toString('latin1')).join('');
            for (const [where, length, put] of damages) {
              text = text.slice(0, where % (text.length + 1)) + put + text.slice((where % (text.length + 1)) + length);
            }
            const bytes = bytesOf(text);
            const cuts = [0, ...tears.map((tear) => tear % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
            const parts = cuts.slice(1).map((cut, index) => bytes.subarray(cuts[index], cut));
            const { replies } = await exchangeBytes(gateway.url, { parts, ...(reset !== null && { resetMs: reset }) });
            expect(replies.length).toBeLessThanOrEqual(20);
            for (const reply of replies) expectSound(reply, false);
          }),
        );
        expect(uncaught.splice(0)).toEqual([]);
      }),
      runs(20, 12),
    );
    for (const gateway of gateways) await expectWell(gateway);
  }, 600_000);
});

describe('faults that random runs found:', () => {
  it.each([
    ['a host that looks like an address and is not one', 'GET /a/../b HTTP/1.1\r\nhost: 99999999999999\r\n\r\n'],
    ['a host with too many numbers', 'GET /api/logs?q=<a> HTTP/1.1\r\nhost: 1.2.3.4.5\r\n\r\n'],
    ['a host whose port is too large', 'GET /%2e/ HTTP/1.1\r\nhost: localhost:99999\r\n\r\n'],
    [
      'a host that looks like an address, sent to a door',
      'POST /v1/chat/completions?a=<b> HTTP/1.1\r\nhost: 99999999999999\r\ncontent-length: 2\r\n\r\n{}',
    ],
  ])('a wrong host is refused, and the gateway goes on: %s', async (_, text) => {
    const gateway = gateways[0] as TestGateway;
    const { replies } = await exchangeBytes(gateway.url, { parts: [bytesOf(text)], wanted: 1 });
    expect(
      replies.map(({ status, body: bytes }) => [status, (JSON.parse(bytes.toString()) as { error: { code: string } }).error.code]),
    ).toEqual([[400, 'bad_request']]);
    expect(uncaught.splice(0)).toEqual([]);
    await expectWell(gateway);
  });

  const connected = async (gateway: TestGateway): Promise<Socket> => {
    const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1').on('error', () => {});
    await once(socket, 'connect');
    return socket;
  };
  const proxied = 'CONNECT elsewhere:443 HTTP/1.1\r\nhost: localhost\r\n\r\n';

  it('a CONNECT request whose connection is reset does not end the gateway', async () => {
    const gateway = gateways[0] as TestGateway;
    for (let waitMs = 0; waitMs < 5; waitMs++) {
      const socket = await connected(gateway);
      socket.write(proxied);
      await pause(waitMs);
      socket.resetAndDestroy();
      await expectWell(gateway);
    }
    expect(uncaught.splice(0)).toEqual([]);
  });

  it.each(['end', 'resetAndDestroy'] as const)(
    'a stream that is followed by a CONNECT request ends when its client leaves: %s',
    async (leave) => {
      const gateway = gateways[0] as TestGateway;
      const socket = await connected(gateway);
      socket.write(wireOf({ method: 'GET', target: '/api/logs/stream', headers: [], body: '', claim: 'admin' }, false));
      await once(socket, 'data');
      socket.write(proxied);
      await pause(50);
      expect(gateway.gateway.running.size).toBe(1);
      socket[leave]();
      await expectWell(gateway);
      expect(uncaught.splice(0)).toEqual([]);
      socket.destroy();
    },
  );

  it('requests that follow one whose reply closes the connection are dropped', async () => {
    const gateway = gateways[0] as TestGateway;
    const behind = (target: string, text = '{}'): string =>
      `POST ${target} HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${text.length}\r\n\r\n${text}`;
    const unnamed = 'GET / HTTP/1.1\r\n\r\n';
    for (const targets of [
      ['/a', '/b'],
      ['/api/session', '/a', '/b', '/a'],
      ['/v1/chat%2Fcompletions', '/health/live', '/v1/models', '/a', '/b'],
    ]) {
      const { replies } = await exchangeBytes(gateway.url, {
        parts: [bytesOf([unnamed, ...targets.map((target) => behind(target))].join(''))],
      });
      expect(replies.map(({ status }) => status)).toEqual([400]);
    }
    expect(uncaught.splice(0)).toEqual([]);
    await expectWell(gateway);
  });
});
