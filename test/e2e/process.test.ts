/** The process: its start, refusals, reload and stop, and its answers to invalid HTTP. */
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { mockConfig, rawExchange, run, start } from '../_kit/executable.ts';
import type { Running } from '../_kit/executable.ts';
import { pause } from '../_kit/upstream.ts';

// cost: a start with all plugins takes twice the CPU
const plugins = [
  'endpoints/chat-completions',
  'endpoints/health',
  'endpoints/logs',
  'endpoints/dashboard',
  'endpoints/models',
  'auth/keys',
  'metadata/headers',
  'stream/mock',
  'log/console',
  'log/metrics',
];
const mock = {
  plugins,
  ...mockConfig(),
};

const ask = (url: string, content: string, more: object = {}): Promise<Response> =>
  fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'mock', messages: [{ role: 'user', content }], ...more }),
  });

describe.concurrent('the command line', () => {
  // cost: the shipped config lists all plugins and models, and a command that reads it takes twice the CPU
  const small = join(mkdtempSync(join(tmpdir(), 'gateway-small-')), 'gateway.config.yaml');
  writeFileSync(small, JSON.stringify({ ...mock, plugins: ['stream/mock'] }));

  test('finds no fault in the shipped config', async () => {
    const { code, stdout, stderr } = await run(['check']);
    expect([code, stdout, stderr]).toEqual([0, expect.stringMatching(/^gateway\.config\.yaml is fine: \d+ models/), '']);
  });

  test('says that its folder is gone', async () => {
    const gone = mkdtempSync(join(tmpdir(), 'gateway-gone-'));
    const { code, stderr } = await run(['check'], { by: ['sh', '-c', 'cd "$0" && rmdir "$0" && exec "$@"', gone] });
    expect([code, stderr]).toEqual([1, 'This folder is gone. Change into one that exists.\n']);
  });

  test('prints the help of a command, and its version', async () => {
    expect((await run(['start', '--help'])).stdout).toContain('--port N');
    expect((await run(['--version'])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  test('lists the models', async () => {
    expect((await run(['models', '--config', small])).stdout).toMatch(/^MODEL +PROVIDERS/);
    expect(JSON.parse((await run(['models', '--json', '--config', small])).stdout)[0]).toHaveProperty('id');
  });

  test('says in check that a config serves no model', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gateway-check-'));
    const file = join(folder, 'gateway.config.yaml');
    writeFileSync(file, 'providers: { mock: {} }\nplugins: [stream/mock]');
    const { code, stdout, stderr } = await run(['check', '--config', file]);
    expect([code, stdout, stderr]).toEqual([
      0,
      expect.stringMatching(
        /is fine: 0 models, 1 of 1 provider on, 1 plugin\nIt serves no model, so callers can ask for nothing: add models, or include: \[model-gateway\/config\/catalogue\/\*\.yaml\]\n$/,
      ),
      '',
    ]);
    rmSync(folder, { recursive: true });
  });

  test('names in check what is missing where every provider is off', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gateway-check-'));
    const file = join(folder, 'gateway.config.yaml');
    const model = '{ id: m, free: true, providers: [{ providerId: openai }, { providerId: groq }] }';
    writeFileSync(
      file,
      `providers: { openai: { api_key: "\${NO_KEY_A}" }, groq: { api_key: "\${NO_KEY_B}" } }\nmodels: [${model}]\nplugins: [dialects/openai-chat]`,
    );
    const { code, stdout } = await run(['check', '--config', file]);
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(
        /is fine: 1 model, 0 of 2 providers on, 1 plugin\nEvery provider is off, so each request for a model gets 503\. Set NO_KEY_A for openai, or NO_KEY_B for groq, in the environment or in \.env beside the config\.\n$/,
      ),
    ]);
    rmSync(folder, { recursive: true });
  });

  test('finds in check what a start would refuse, because check applies plugins too', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gateway-check-'));
    const file = join(folder, 'gateway.config.yaml');
    writeFileSync(file, 'providers: { mock: {} }\nplugins: [stream/mock, { use: log/journal, with: { store: postgres } }]');
    const { code, stderr } = await run(['check', '--config', file]);
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining(`${file}:2:31 The plugin "log/journal" refuses to start: \`store: postgres\` needs \`url\``),
    ]);
    expect(readdirSync(folder)).toEqual(['gateway.config.yaml']);
    rmSync(folder, { recursive: true });
  });

  test.runIf(existsSync('/proc/self'))('says that no folder can be made for the data, where the system makes none', async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'gateway-no-folder-')), 'gateway.config.yaml');
    writeFileSync(file, JSON.stringify({ ...mock, plugins: ['stream/mock', 'log/journal'], server: { data_dir: '/proc/gateway/data' } }));
    const { code, stderr } = await run(['start', '--port', '0', '--config', file]);
    expect([code, stderr]).toEqual([
      4,
      expect.stringContaining("ENOENT: no such file or directory, mkdir '/proc/gateway'. Name another place with server.data_dir."),
    ]);
    rmSync(dirname(file), { recursive: true });
  });

  test('refuses to be open on a network', async () => {
    const { code, stderr } = await run(['start', '--config', small, '--host', '0.0.0.0', '--port', '0']);
    expect(stderr).toContain('add `keys`');
    expect(code).toBe(1);
  });
});

/** A request for a completion, as bytes. */
function post(content: string, more: object = {}): string {
  const body = JSON.stringify({ model: 'mock', messages: [{ role: 'user', content }], ...more });
  return `POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
}

/** A request whose body, or the rest of it, is still to come. */
const begun = (framing: string, path = '/v1/chat/completions'): string =>
  `POST ${path} HTTP/1.1\r\nhost: localhost\r\nx-gateway-team: a\r\ncontent-type: application/json\r\n${framing}\r\n\r\n`;

const brokenBody = `${begun('transfer-encoding: chunked')}zz\r\n`;

/** A path that goes directly to the pipeline, and one through the router. */
const paths = ['/v1/chat/completions', '/v1/chat/completions?a=b'];

/** A second model, which takes budgets that its provider cannot be sent. */
const lossy = {
  ...mock,
  plugins: [...plugins, 'dialects/openai-chat'],
  providers: { ...mock.providers, up: { dialect: 'openai-chat', base_url: 'http://127.0.0.1:9/v1' } },
  models: [...mock.models, { ...mock.models[0], id: 'lossy', providers: [{ providerId: 'up', reasoning: { max_tokens: true } }] }],
};

// cost: the tests share two gateways. No test changes their config, and each looks only at the lines of the log since its own beginning
describe('a running gateway', () => {
  let gateway: Running;
  /** Its clients have a second for their requests: on a slow machine any request to it may be late. */
  let hasty: Running;

  beforeAll(async () => {
    [gateway, hasty] = await Promise.all([
      start(lossy),
      start({ ...mock, server: { limits: { header_time_ms: 1000, request_time_ms: 1500 } } }),
    ]);
  });
  afterAll(async () => void (await Promise.all([gateway.stop(), hasty.stop()])));

  test('writes a JSON line for a request', async () => {
    await ask(gateway.url, 'count me', { user: 'u' });
    await expect.poll(() => gateway.output().stdout).toContain('"requestedModel":"mock"');
  });

  test('has started with a warning about a budget that no field can send, which check refuses', async () => {
    expect(gateway.output().stderr).toContain('1 warning in');
    const { code, stderr } = await run(['check', '--config', gateway.file]);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/has no field for a budget of this model.*1 error in/s)]);
  });

  test('answers headers that are too large with 431', async () => {
    const answer = await rawExchange(gateway.port, `GET / HTTP/1.1\r\nhost: localhost\r\nx-big: ${'a'.repeat(20_000)}\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1\.1 431 /);
    expect(JSON.parse(answer.split('\r\n\r\n')[1] ?? '')).toMatchObject({ error: { code: 'headers_too_large' } });
  });

  test('answers 100,000 headers with 431', async () => {
    const headers = Array.from({ length: 100_000 }, (_, at) => `x-gateway-${at}: v\r\n`);
    expect(await rawExchange(gateway.port, ['GET / HTTP/1.1\r\nhost: localhost\r\n', headers.join(''), '\r\n'])).toMatch(
      /^HTTP\/1\.1 431 /,
    );
  });

  test('answers bytes that are not HTTP with 400', async () => {
    const answer = await rawExchange(gateway.port, 'HELLO\r\n\r\n');
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(JSON.parse(answer.split('\r\n\r\n')[1] ?? '')).toMatchObject({ error: { code: 'bad_request' } });
  });

  test('answers with a body where Node would refuse without one', async () => {
    for (const [request, status, code] of [
      ['GET / HTTP/1.1\r\n\r\n', 400, 'bad_request'],
      ['CONNECT elsewhere:443 HTTP/1.1\r\nhost: localhost\r\n\r\n', 405, 'method_not_allowed'],
    ] as const) {
      const answer = await rawExchange(gateway.port, request);
      expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
      expect(answer).toMatch(/x-request-id: /);
      expect(answer).toContain(`"code":"${code}"`);
    }
    expect(await rawExchange(gateway.port, 'GET / HTTP/1.1\r\nhost: localhost\r\nexpect: more\r\nconnection: close\r\n\r\n')).toMatch(
      /^HTTP\/1\.1 200 /,
    );
  });

  test('refuses a body of 100 MB without reading it', async () => {
    const answer = await rawExchange(
      gateway.port,
      'POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 104857600\r\n\r\n{',
    );
    expect(answer).toMatch(/^HTTP\/1\.1 413 /);
  });

  test('closes sockets that send their headers slowly', async () => {
    const socket = connect(hasty.port, '127.0.0.1', () => socket.write('GET / HTTP/1.1\r\n'));
    let answer = '';
    socket.on('data', (data) => (answer += data));
    await new Promise((resolve) => socket.once('close', resolve));
    expect(answer).toMatch(/^HTTP\/1\.1 408 /);
  });

  /** The output, when it has the lines of all requests so far. */
  const linesSoFar = async (at = gateway): Promise<string> => {
    const { headers } = await ask(at.url, 'marks the place');
    await expect.poll(() => at.output().stdout).toContain(`${headers.get('x-request-id')}`);
    return at.output().stdout;
  };

  /** The lines of the request log since `before`. */
  const requestsSince = (before: string, at = gateway): object[] =>
    at
      .output()
      .stdout.slice(before.length)
      .trim()
      .split('\n')
      .filter((line) => line.includes('"msg":"request"'))
      .map((line) => JSON.parse(line) as object);

  // browsers open more connections than they need, and so does fetch after an abort
  test('closes a connection on which no request came, without an answer and without a record', async () => {
    const before = await linesSoFar(hasty);
    expect(await rawExchange(hasty.port, '')).toBe('');
    const after = await linesSoFar(hasty);
    expect(after.slice(before.length)).not.toContain('request_timeout');
  });

  test.each(paths)('answers a body that does not arrive with 408, and has it on record once: %s', async (path) => {
    const before = await linesSoFar(hasty);
    const answer = await rawExchange(hasty.port, `${begun('content-length: 500', path)}{`);
    expect(answer).toMatch(/^HTTP\/1\.1 408 /);
    const id = /x-request-id: (\S+)/.exec(answer)?.[1];
    await expect
      .poll(() => requestsSince(before, hasty))
      .toMatchObject([{ id, status: 408, outcome: 'refused', metadata: { team: 'a' }, error: { code: 'request_timeout' } }]);
  });

  test.each(paths)('answers a broken body with 400, and has it on record once: %s', async (path) => {
    const before = await linesSoFar();
    const answer = await rawExchange(gateway.port, `${begun('transfer-encoding: chunked', path)}zz\r\n`);
    expect(answer).toMatch(/^HTTP\/1\.1 400 [^]*"code":"bad_request"/);
    const id = /x-request-id: (\S+)/.exec(answer)?.[1];
    await expect.poll(() => requestsSince(before)).toMatchObject([{ id, status: 400, outcome: 'refused', error: { code: 'bad_request' } }]);
  });

  test('answers a broken body of an endpoint with 400', async () => {
    const answer = await rawExchange(gateway.port, `${begun('transfer-encoding: chunked', '/api/session')}zz\r\n`);
    expect(answer).toMatch(/^HTTP\/1\.1 400 [^]*"code":"bad_request"/);
    expect(answer.match(/HTTP\/1\.1 /g)).toHaveLength(1);
  });

  test('answers once if a body breaks after the answer', async () => {
    const before = await linesSoFar();
    let answer = '';
    const socket = connect(gateway.port, '127.0.0.1', () => socket.write(begun('transfer-encoding: chunked', '/nothing')));
    socket.on('data', (data) => (answer += data));
    socket.once('data', () => socket.write('zz\r\n'));
    socket.on('error', () => {});
    await new Promise((resolve) => socket.once('close', resolve));
    expect(answer).toMatch(/^HTTP\/1\.1 404 /);
    expect(answer.match(/HTTP\/1\.1 /g)).toHaveLength(1);
    await linesSoFar();
    expect(requestsSince(before).slice(0, -1)).toMatchObject([{ status: 404, error: { code: 'unknown_url' } }]);
  });

  /** The number of requests that the gateway has begun. */
  const inFlight = async (): Promise<number> =>
    Number(/^gateway_requests_in_flight (\d+)$/m.exec(await (await fetch(`${gateway.url}/metrics`)).text())?.[1]);

  const ways: [string, (socket: Socket) => void][] = [
    ['ends', (socket) => void socket.end()],
    ['closes', (socket) => void socket.destroy()],
    ['resets', (socket) => void socket.resetAndDestroy()],
  ];
  test.each(ways.flatMap(([how, leave]) => paths.map((path) => [how, path, leave] as const)))(
    'records a client that %s its connection during its body once, as gone: %s',
    async (_, path, leave) => {
      const before = await linesSoFar();
      const socket = connect(gateway.port, '127.0.0.1', () => socket.write(`${begun('content-length: 500', path)}{`));
      await expect.poll(inFlight).toBe(1);
      leave(socket);
      await expect.poll(() => requestsSince(before)).toHaveLength(1);
      await linesSoFar();
      expect(requestsSince(before).slice(0, -1)).toMatchObject([
        { status: 499, outcome: 'gone', metadata: { team: 'a' }, error: { code: 'client_closed' } },
      ]);
    },
  );

  test('records nothing of a client that leaves before its request', async () => {
    const before = await linesSoFar();
    const socket = connect(gateway.port, '127.0.0.1', () => socket.end('GET / HT'));
    socket.resume();
    await new Promise((resolve) => socket.once('close', resolve));
    await linesSoFar();
    expect(requestsSince(before)).toHaveLength(1);
  });

  test.each<[string, string, string?]>([
    ['what is no HTTP', 'HELLO\r\n\r\n'],
    ['CONNECT', 'CONNECT elsewhere:443 HTTP/1.1\r\nhost: localhost\r\n\r\n'],
    ['a request that does not come in time', 'GET / HT', '[[words:30]] [[pace:120]]'],
    ['headers that are too large', `GET / HTTP/1.1\r\nhost: localhost\r\nx-big: ${'a'.repeat(20_000)}\r\n\r\n`],
    ['a body that is broken', brokenBody],
    ['a body of an endpoint that is broken', brokenBody.replace('/chat/completions', '/nothing')],
  ])('does not write into a running stream when %s follows it', async (_, bytes, prompt = '[[words:30]] [[pace:10]]') => {
    const answer = await rawExchange(hasty.port, [post(prompt, { stream: true }), bytes], 100);
    const [stream = '', rest = ''] = answer.split('data: [DONE]');
    expect(stream.match(/HTTP\/1\.1 /g)).toHaveLength(1);
    expect(stream.match(/"content":/g)).toHaveLength(30);
    expect(rest).toMatch(/^\n\n\r\n0\r\n\r\n(?:HTTP\/1\.1 4\d\d |$)/);
  });

  test('still answers a request that is directly followed by invalid bytes', async () => {
    const answer = await rawExchange(gateway.port, `${post('hello')}HELLO\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1\.1 200 [^]*"content":"hello"[^]*\}$/);
  });

  test('still answers a request after the invalid requests of the tests before', async () => {
    expect((await ask(gateway.url, 'hello')).status).toBe(200);
  });
});

// cost: the two tests share a gateway, which the second one ends
describe('a gateway that serves a stream', () => {
  let gateway: Running;
  const streamed = (): Promise<Response> => ask(gateway.url, '[[words:40]] [[pace:50]]', { stream: true });
  beforeAll(async () => void (gateway = await start(mock)));
  afterAll(async () => void (await gateway?.stop()));

  test('takes a change of the config, and not an invalid one', async () => {
    const stream = await streamed();
    gateway.write({ ...mock, models: [...mock.models, { ...mock.models[0], id: 'second' }] });
    const ids = async (): Promise<string[]> =>
      ((await (await fetch(`${gateway.url}/v1/models`)).json()) as { data: { id: string }[] }).data.map(({ id }) => id);
    await expect.poll(ids).toEqual(['mock', 'second']);
    gateway.write('models: [');
    await expect.poll(() => gateway.output().stderr).toContain('the last good one stays in use');
    expect(await ids()).toEqual(['mock', 'second']);
    expect(await stream.text()).toContain('[DONE]');
  });

  test('ends after the stream, refuses new requests, exits 0', async () => {
    const stream = await streamed();
    // Ctrl-C under npm start arrives twice: from the terminal and from npm
    gateway.child.kill('SIGTERM');
    gateway.child.kill('SIGINT');
    await expect
      .poll(() =>
        ask(gateway.url, 'late').then(
          ({ status }) => status,
          () => 'closed',
        ),
      )
      .not.toBe(200);
    // someone who has pressed Ctrl-C sees why the process goes on running, and how to end it
    expect(gateway.output().stderr.match(/.*a second signal ends it at once.*/g)).toEqual([
      expect.stringMatching(/"by":"SIG(?:TERM|INT)","drainMs":120000/),
    ]);
    expect(await stream.text()).toContain('[DONE]');
    expect(await gateway.stop()).toBe(0);
  });
});

const signalsAtBoot = `export default { name: 'test/signals', summary: 'signals its own process', apply: ({ hooks }) => hooks.boot.tap(() => { for (const signal of ['SIGHUP', 'SIGUSR2']) process.kill(process.pid, signal); }) };`;

test.each([1, 2])('SIGHUP and SIGUSR2 do not end a gateway that starts, with %i workers', async (workers) => {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-e2e-'));
  writeFileSync(join(folder, 'signals.mjs'), signalsAtBoot);
  const gateway = await start(
    { ...mock, server: { workers }, plugins: ['endpoints/models', 'stream/mock', 'auth/keys', './signals.mjs'] },
    {},
    { folder },
  );
  expect((await fetch(`${gateway.url}/v1/models`)).status).toBe(200);
  expect(await gateway.stop()).toBe(0);
  rmSync(folder, { recursive: true });
});

// cost: the tests share a gateway. Each writes the whole config that it needs, and counts the lines of the log from its own beginning
describe.each([
  [1, 4],
  [2, 1],
])('a gateway with server.workers: %i', (workers, others) => {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-e2e-'));
  const plugin = (options: string): void =>
    writeFileSync(
      join(folder, 'own.mjs'),
      `export default { name: 'test/own', summary: 's', schema: { type: 'object', additionalProperties: false, properties: {${options}} }, apply() {} };`,
    );
  const config = (more: object, number = workers): object => ({
    ...mock,
    server: { workers: number, limits: { in_flight_bytes: 200_000_000 } },
    plugins: ['endpoints/models', 'stream/mock', 'auth/keys', 'log/metrics', ...Object.values(more)],
  });
  let gateway: Running;
  /** Counts a text in the log of the process from now on. */
  const countFromNow = (text: string): (() => number) => {
    const count = (): number => gateway.output().stderr.split(text).length - 1;
    const before = count();
    return () => count() - before;
  };

  beforeAll(async () => {
    plugin('');
    gateway = await start(config({ own: './own.mjs' }), {}, { folder });
  });
  afterAll(async () => {
    expect(await gateway?.stop()).toBe(0);
    rmSync(folder, { recursive: true });
  });

  test('names at a reload the plugins whose file has changed, which waits for a restart', async () => {
    const told = countFromNow('"a changed plugin waits for a restart","plugins":["test/own"]');
    const [reloaded, refused] = [countFromNow('config reloaded'), countFromNow('the last good one stays in use')];
    // as after a new volume of Kubernetes: the file is another one, and holds the same
    plugin('');
    gateway.write(config({ own: './own.mjs', more: 'endpoints/health' }));
    await expect.poll(reloaded).toBe(1);
    expect(told()).toBe(0);
    plugin('a: {}');
    gateway.write(config({ own: { use: './own.mjs', with: { a: 1 } } }));
    await expect.poll(refused).toBe(1);
    expect(told()).toBe(1);
    gateway.write(config({}));
    await expect.poll(reloaded).toBe(2);
    expect(told()).toBe(1);
  });

  // the metrics lack a worker that the machine does not run for a second
  test(`does not change the limits of the machine before the restart, when it is to have ${others}`, { retry: 2 }, async () => {
    const limit = async (): Promise<number> =>
      Number(/^gateway_in_flight_bytes_limit (\d+)$/m.exec(await (await fetch(`${gateway.url}/metrics`)).text())?.[1]);
    expect(await limit()).toBe(200_000_000);
    gateway.write(config({}, others));
    await expect.poll(() => gateway.output().stderr).toContain(`server.workers: ${workers} → ${others}`);
    // a worker that is told to use the config answers a moment later
    for (let at = 0; at < 5; at++) expect(await limit()).toBe(200_000_000);
  });
});

describe.concurrent('the end', () => {
  // cost: a reload and an end show the limits of the port and the cut of streams. Each in a test of its own needs a gateway more
  test('cuts streams after drain_ms with an error event; a reload sets it and the limits of the port, also for older streams', async ({
    expect,
  }) => {
    const long = (): Promise<Response> => ask(gateway.url, '[[words:2000]] [[pace:50]]', { stream: true });
    const gateway = await start({ ...mock, server: { limits: { header_time_ms: 60_000, request_time_ms: 30_000 } } });
    const before = await long();
    gateway.write({ ...mock, server: { limits: { headers: 2000, header_time_ms: 1000, request_time_ms: 1500, drain_ms: 200 } } });
    await expect.poll(() => gateway.output().stderr).toContain('config reloaded');
    expect(await rawExchange(gateway.port, `GET / HTTP/1.1\r\nhost: localhost\r\nx-big: ${'a'.repeat(3000)}\r\n\r\n`)).toMatch(
      /^HTTP\/1\.1 431 [^]*larger than 2000 bytes/,
    );
    expect(await rawExchange(gateway.port, 'GET / HTTP/1.1\r\n')).toMatch(/^HTTP\/1\.1 408 /);
    expect(await rawExchange(gateway.port, begun('content-length: 500'))).toMatch(/^HTTP\/1\.1 408 /);
    const after = await long();
    gateway.child.kill('SIGTERM');
    for (const text of [await before.text(), await after.text()]) {
      expect(text).toContain('server_shutting_down');
      expect(text).not.toContain('[DONE]');
    }
    expect(await gateway.stop()).toBe(0);
  });

  // a pause of the machine that is longer than lame_duck_ms hides the effect
  test('keeps serving for lame_duck_ms while load balancers are told, then closes the port', { retry: 2 }, async ({ expect }) => {
    const gateway = await start({ ...mock, server: { limits: { lame_duck_ms: 3000 } } });
    const stream = await ask(gateway.url, '[[words:90]] [[pace:50]]', { stream: true });
    const probe = async (name: string): Promise<number> => (await fetch(`${gateway.url}/health/${name}`)).status;
    expect([await probe('live'), await probe('ready')]).toEqual([200, 200]);
    const signalAt = performance.now();
    gateway.child.kill('SIGTERM');
    await expect.poll(() => probe('ready'), { interval: 10 }).toBe(503);
    const late = await ask(gateway.url, 'late');
    expect([late.status, late.headers.get('connection'), await probe('live')]).toEqual([200, 'close', 200]);
    expect(await late.text()).toContain('late');
    await expect
      .poll(
        () =>
          ask(gateway.url, 'later').then(
            ({ status }) => status,
            () => 'closed',
          ),
        { interval: 200 },
      )
      .toBe('closed');
    expect(performance.now() - signalAt).toBeGreaterThan(2900);
    expect(await stream.text()).toContain('[DONE]');
    expect(await gateway.stop()).toBe(0);
  });

  test('comes at once at the second signal, also during lame_duck_ms', async ({ expect }) => {
    const gateway = await start({ ...mock, server: { limits: { lame_duck_ms: 60_000 } } });
    gateway.child.kill('SIGTERM');
    await expect.poll(async () => (await fetch(`${gateway.url}/health/ready`)).status).toBe(503);
    // a signal within a second is the same signal, and a timer may be a millisecond early
    await pause(1100);
    expect(await gateway.stop()).toBe(0);
    expect(gateway.output().stderr).toContain('the gateway ends at once; its running requests break off');
  });
});
