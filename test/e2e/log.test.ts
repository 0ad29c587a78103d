/** The log for its users: the executable, the real store, the API, the command line. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { launch, mockConfig, rawExchange, run, start } from '../_kit/executable.ts';
import type { Running } from '../_kit/executable.ts';
import { testGateway } from '../_kit/gateway.ts';
import { pause } from '../_kit/upstream.ts';

// cost: each command reads the config, and all plugins in it
const plugins = [
  'endpoints/chat-completions',
  'endpoints/health',
  'endpoints/logs',
  'auth/keys',
  { use: 'metadata/headers', with: { max_length: 1000 } },
  'stream/mock',
  'log/estimate',
  'log/cost',
  'log/journal',
  'log/metrics',
];
const config = (more: object = {}) => ({
  plugins,
  server: { admin_key: '${ADMIN_KEY_OF_THE_TEST:-the-admin-key-of-the-test}', ...more },
  ...mockConfig(),
});
const admin = { authorization: 'Bearer the-admin-key-of-the-test' };

let gateway: Running;
const ask = async (more: object = {}, headers: Record<string, string> = {}): Promise<string> => {
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model: 'mock', messages: [{ role: 'user', content: 'hi' }], ...more }),
  });
  await response.text();
  return response.headers.get('x-request-id') as string;
};
const get = async (path: string): Promise<any> => await (await fetch(gateway.url + path, { headers: admin })).json();
/** Runs a command of the executable with the config of this gateway. */
const gatewayCli = async (...args: string[]) => await run([...args, '--config', gateway.file, '--port', String(gateway.port)]);

let acme = '';
let refused = '';

beforeAll(async () => {
  gateway = await start(config());
  acme = await ask({}, { 'x-gateway-tenant-id': 'acme' });
  await ask({ stream: true }, { 'x-gateway-tenant-id': 'globex' });
  refused = await ask({ model: 'no-such-model' });
  while ((await get('/api/logs?since=1h')).data.length < 3) await pause(20);
});
afterAll(async () => void (await gateway.stop()));

describe('an answer to a caller', () => {
  test('is on record under the id of the reply', async () => {
    expect(await get(`/api/logs/${acme}`)).toMatchObject({
      id: acme,
      status: 200,
      outcome: 'answered',
      metadata: { 'tenant-id': 'acme' },
      request: { model: 'mock' },
      response: { choices: [{}] },
    });
  });

  test.each([
    ['status=error', () => [refused]],
    ['status=404', () => [refused]],
    ['outcome=refused', () => [refused]],
    ['meta.tenant-id=acme', () => [acme]],
    ['stream=false&model=mock', () => [acme]],
    ['-meta.tenant-id=acme&-meta.tenant-id=globex', () => [refused]],
    ['provider=mock&finish=completed&tokens=>0&cost=>0&latency=<1m&-stream=true', () => [acme]],
    ['since=1h&to=2020-01-01', () => []],
  ])('is found by %s', async (filter, ids) => expect((await get(`/api/logs?${filter}`)).data.map(({ id }: any) => id)).toEqual(ids()));

  test('is summed up by any metadata key', async () => {
    const { data } = await get('/api/stats?by=meta.tenant-id');
    expect(new Set(data.map(({ value, requests, errors }: any) => `${value}: ${requests}, ${errors} failed`))).toEqual(
      new Set(['acme: 1, 0 failed', 'globex: 1, 0 failed', 'null: 1, 1 failed']),
    );
  });

  test('is summed up as a whole', async () => expect((await get('/api/stats')).data).toMatchObject([{ requests: 3, errors: 1 }]));

  test('is exported with its bodies', async () => {
    const text = await (await fetch(`${gateway.url}/api/logs/export?format=jsonl`, { headers: admin })).text();
    expect(
      text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line))
        .find(({ id }) => id === acme),
    ).toHaveProperty('request.messages');
  });
});

describe('the command line', () => {
  test('lists the records of the running gateway', async () => {
    const { code, stdout } = await gatewayCli('logs', '--meta', 'tenant-id=acme');
    expect([code, stdout]).toEqual([0, expect.stringMatching(new RegExp(`^TIME.*\\n.*mock → mock.*${acme}.*\\n$`))]);
  });

  test('shows no records of another gateway on the port of the config', async () => {
    const folder = join(dirname(gateway.file), 'another');
    mkdirSync(folder);
    const file = join(folder, 'gateway.config.yaml');
    writeFileSync(file, JSON.stringify(config({ port: gateway.port })));
    const { code, stdout } = await run(['logs', '--json', '--config', file]);
    expect([code, stdout]).toEqual([0, '']);
  });

  test('follows the gateway at the port of its start, whatever the config says', async () => {
    const follower = launch(['logs', '-f', '--json', '--config', gateway.file], {});
    await expect.poll(() => follower.output().stdout).toContain(acme);
    const id = await ask();
    await expect.poll(() => follower.output().stdout).toContain(id);
    follower.child.kill('SIGKILL');
    await follower.ended;
  });

  test('shows the sums', async () =>
    expect((await gatewayCli('stats', '--by', 'meta.tenant-id')).stdout).toMatch(/META\.TENANT-ID[\s\S]*acme +1[\s\S]*globex +1/));

  test('shows one request', async () => expect((await gatewayCli('logs', acme)).stdout).toContain('"content": "hi"'));

  test('says that its admin key is not valid if the gateway has another one', async () => {
    const other = join(dirname(gateway.file), 'other.yaml');
    writeFileSync(other, JSON.stringify(config({ admin_key: 'another-admin-key-0123' })));
    const { code, stderr } = await run(['logs', '--config', other, '--port', String(gateway.port)]);
    expect([code, stderr]).toEqual([1, expect.stringContaining('The admin key is not valid.')]);
  });

  test('ends with code 0 where the reader of its output is gone', () => {
    const command = `node_modules/.bin/node core/main.ts logs --json --config ${gateway.file} --port ${gateway.port}`;
    // the command begins to write long after `true` has ended
    const { stderr } = spawnSync('sh', ['-c', `{ ${command}; echo "code $?" >&2; } | true`], { encoding: 'utf8' });
    expect(stderr).toBe('code 0\n');
  });
});

/** A live tail over its own socket, which is only read while the test waits for data. */
function tail(headers = ''): Promise<{ until(text: string): Promise<string>; close(): void }> {
  return new Promise((resolve) => {
    let text = '';
    const socket = connect(gateway.port, '127.0.0.1', () =>
      socket.write(`GET /api/logs/stream HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer the-admin-key-of-the-test\r\n${headers}\r\n`),
    );
    socket.on('error', () => {});
    socket.on('data', (bytes) => (text += bytes));
    socket.once('data', () => {
      socket.pause();
      const until = async (wanted: string): Promise<string> => {
        socket.resume();
        await expect.poll(() => text).toContain(wanted);
        return text;
      };
      resolve({ until, close: () => socket.destroy() });
    });
  });
}

/** Sends requests over one connection, and returns all answers. cost: `fetch` takes more CPU for a request than the gateway does. */
function pipelined(times: number, headers: string): Promise<string> {
  const body = JSON.stringify({ model: 'mock', messages: [{ role: 'user', content: 'hi' }] });
  const one = (last: boolean): string =>
    `POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\n${last ? 'connection: close\r\n' : ''}${headers}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
  return rawExchange(
    gateway.port,
    Array.from({ length: times }, (_, at) => one(at === times - 1)),
  );
}

describe('the live tail', () => {
  test('shows a request when it ends', async () => {
    const watching = await tail();
    const id = await ask();
    expect(await watching.until(id)).toContain('event: request');
    watching.close();
  });

  test('disconnects a client that does not read, and serves all others meanwhile', async () => {
    const idle = await tail();
    // the records of the large requests fill the buffers of the socket, and then more records wait than the tail keeps for one client
    const metadata = Array.from({ length: 14 }, (_, at) => `x-gateway-m${at}: ${'x'.repeat(1000)}\r\n`).join('');
    for (const [times, headers] of [
      [430, metadata],
      [1010, ''],
    ] as const) {
      expect((await pipelined(times, headers)).match(/HTTP\/1\.1 200 /g)).toHaveLength(times);
    }
    expect(await idle.until('event: dropped')).toContain('Last-Event-ID');
    idle.close();
  });

  test('sends missed requests, although the config was reloaded meanwhile and none is in memory', async () => {
    const [first, missed] = [await ask(), await ask()];
    await expect.poll(async () => (await get('/api/logs?limit=1')).data[0].id).toBe(missed);
    gateway.write(config({ limits: { drain_ms: 60_000 } }));
    await expect.poll(() => gateway.output().stderr).toContain('config reloaded');
    const watching = await tail(`last-event-id: ${first}\r\n`);
    expect(await watching.until(`id: ${missed}`)).not.toContain(`id: ${first}`);
    watching.close();
  });
});

describe('a maintenance command, while the gateway runs,', () => {
  const folder = (): string => join(dirname(gateway.file), 'backup');

  test('copies the log into a folder that can be the data_dir of a gateway, readable for its owner only', async () => {
    mkdirSync(folder(), { mode: 0o755 });
    const { code, stdout } = await run(['backup', folder(), '--config', gateway.file]);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/backup\/logs\.db\nThe folder can be the data_dir/)]);
    expect(statSync(join(folder(), 'logs.db')).mode & 0o777).toBe(0o600);
    const restored = await testGateway({ config: config({ data_dir: folder() }) });
    expect(await (await restored.get(`/api/logs/${acme}`, admin)).json()).toMatchObject({ id: acme, request: { model: 'mock' } });
    await restored.close();
  });

  test('deletes old records', async () => {
    const { data } = await get('/api/stats');
    await pause(1100);
    expect(await run(['logs', 'prune', '--older-than', '1s', '--json', '--config', gateway.file])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(`"deleted":${data[0].requests}`),
    });
    expect([(await get('/api/logs')).data, (await get('/api/stats')).data]).toMatchObject([[], [{ requests: 0 }]]);
  });
});

/** The last test, because it kills the gateway. */
test('without a gateway, the command line reads the store itself', async () => {
  const last = await ask();
  gateway.child.kill('SIGKILL');
  await expect.poll(() => gateway.child.signalCode).toBe('SIGKILL');
  const { code, stdout, stderr } = await gatewayCli('logs', '--json');
  expect([code, stdout]).toEqual([0, expect.stringContaining(last)]);
  expect(stderr).not.toContain('error');
  const { stdout: status } = await run(['db', 'status', '--config', gateway.file]);
  expect(status).toContain('up to date');
});
