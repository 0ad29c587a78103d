/** Access to the log of a gateway with keys, over starts, reloads and several processes: with the executable, its files and its sockets. */
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { networkInterfaces, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { mockConfig, run, start } from '../_kit/executable.ts';
import type { Running } from '../_kit/executable.ts';

const caller = 'a-callers-key-0123456789';
// cost: a start with all plugins takes twice the CPU
const plugins = [
  'endpoints/chat-completions',
  'endpoints/models',
  'endpoints/health',
  'endpoints/logs',
  'endpoints/dashboard',
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
const keys = [{ name: 'web', key: caller }];
const keyed = { ...mock, keys };
/** A config with a log. cost: its thread and its store take a third of a start. */
const logged = { ...keyed, plugins: [...plugins, 'log/cost', 'log/journal'] };
const made = /gwa_\w{49}/g;

const ends: (() => Promise<unknown> | void)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});

async function started(config: object, more: { folder?: string; env?: Record<string, string> } = {}): Promise<Running> {
  const gateway = await start(config, more.env, more.folder === undefined ? {} : { folder: more.folder });
  ends.push(() => gateway.stop());
  return gateway;
}

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-admin-'));
  ends.push(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const keyFileOf = ({ file }: Running): string => join(dirname(file), 'data/admin-key');
const keptKey = (gateway: Running): string => readFileSync(keyFileOf(gateway), 'utf8').trim();
const printedKeys = (gateway: Running): string[] => Object.values(gateway.output()).join('\n').match(made) ?? [];
const bearer = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` });
const statusOf = async ({ url }: Running, path = '/api/status', headers: Record<string, string> = {}): Promise<number> =>
  (await fetch(url + path, { headers })).status;
const chat = async ({ url }: Running, headers: Record<string, string> = {}): Promise<number> =>
  (
    await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ model: 'mock', messages: [{ role: 'user', content: 'hi' }] }),
    })
  ).status;
const told = (gateway: Running, text: string) => expect.poll(() => gateway.output().stderr).toContain(text);

/** Writes a config and waits until it is used. */
async function reload(gateway: Running, config: object, expected = 'config reloaded'): Promise<void> {
  const before = gateway.output().stderr.split(expected).length;
  gateway.write(config);
  gateway.child.kill('SIGHUP');
  await expect.poll(() => gateway.output().stderr.split(expected).length).toBe(before + 1);
}

function expectNoKey(gateway: Running): void {
  expect(readdirSync(join(dirname(gateway.file), 'data'))).not.toContain('admin-key');
  expect(printedKeys(gateway)).toEqual([]);
}

async function signIn({ url }: Running, key: string): Promise<string> {
  const response = await fetch(`${url}/api/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ key }),
  });
  return (response.headers.get('set-cookie') ?? '').split(';')[0] as string;
}
const signOut = ({ url }: Running, cookie: string): Promise<Response> =>
  fetch(`${url}/api/session`, { method: 'DELETE', headers: { 'content-type': 'application/json', cookie } });

describe('the first start of a gateway with keys', () => {
  let gateway: Running;

  beforeAll(async () => void (gateway = await start(logged)));
  afterAll(async () => void (await gateway.stop()));

  test('makes an admin key that the log, the dashboard and the metrics need', async () => {
    const key = keptKey(gateway);
    expect(statSync(keyFileOf(gateway)).mode & 0o777).toBe(0o600);
    for (const path of ['/api/logs', '/api/status', '/api/views/overview', '/api/config', '/metrics']) {
      expect([
        path,
        await statusOf(gateway, path),
        await statusOf(gateway, path, bearer(caller)),
        await statusOf(gateway, path, bearer(key)),
      ]).toEqual([path, 401, 401, 200]);
    }
    expect([await statusOf(gateway, '/'), await chat(gateway, bearer(caller))]).toEqual([200, 200]);
  });

  test('prints the key once, with the address of the dashboard, and not in the process log', async () => {
    await told(gateway, keptKey(gateway));
    await told(gateway, `Sign in with it at ${gateway.url}/dashboard\n`);
    expect(printedKeys(gateway)).toEqual([keptKey(gateway)]);
    expect(
      Object.values(gateway.output())
        .join('\n')
        .split('\n')
        .filter((line) => line.startsWith('{') && line.includes('gwa_')),
    ).toEqual([]);
    expect(await (await fetch(`${gateway.url}/api/config`, { headers: bearer(keptKey(gateway)) })).text()).not.toMatch(made);
  });

  test('lets the command line find the key', async () => {
    expect(await chat(gateway, bearer(caller))).toBe(200);
    for (const command of ['logs', 'stats']) {
      const { code, stdout, stderr } = await run([command, '--limit', '1', '--config', gateway.file, '--port', String(gateway.port)]);
      expect([command, code, stderr, stdout.split('\n').length]).toEqual([command, 0, '', 3]);
    }
  });

  test('an open live tail ends with its session, and shows no later request', async () => {
    const key = keptKey(gateway);
    const tail = async (headers: Record<string, string>) =>
      (await fetch(`${gateway.url}/api/logs/stream`, { headers })).body
        ?.pipeThrough(new TextDecoderStream())
        .getReader() as ReadableStreamDefaultReader<string>;
    const mine = await signIn(gateway, key);
    const [watched, copied, byKey] = [
      await tail({ cookie: await signIn(gateway, key) }),
      await tail({ cookie: mine }),
      await tail(bearer(key)),
    ];
    for (const one of [watched, copied, byKey]) expect((await one.read()).value).toContain(': connected');
    await signOut(gateway, mine);
    await chat(gateway, bearer(caller));
    expect((await copied.read()).done).toBe(true);
    for (const one of [watched, byKey]) {
      expect((await one.read()).value).toContain('event: request');
      await one.cancel();
    }
  });

  test('prints the key even where the port is taken', async () => {
    const folder = newFolder();
    const file = join(folder, 'gateway.config.yaml');
    writeFileSync(file, JSON.stringify(keyed));
    const { code, stderr } = await run(['start', '--config', file, '--port', String(gateway.port)]);
    expect([code, stderr.match(made)]).toEqual([3, [readFileSync(join(folder, 'data/admin-key'), 'utf8').trim()]]);
  });

  test('makes a key for the lifetime of the process where the data directory cannot be written', async () => {
    const folder = newFolder();
    writeFileSync(join(folder, 'taken'), '');
    const gateway = await started(
      {
        ...keyed,
        server: { data_dir: './taken/data' },
        plugins: ['endpoints/chat-completions', 'endpoints/models', 'auth/keys', 'stream/mock', 'log/metrics'],
      },
      { folder },
    );
    await told(gateway, 'It could not be kept (ENOTDIR');
    const [key = ''] = printedKeys(gateway);
    expect([await statusOf(gateway, '/metrics'), await statusOf(gateway, '/metrics', bearer(key))]).toEqual([401, 200]);
    await reload(gateway, {
      ...keyed,
      server: { data_dir: './taken/data' },
      routing: { default: { max_attempts: 2 } },
      plugins: ['endpoints/models', 'auth/keys', 'stream/mock', 'log/metrics'],
    });
    expect([await statusOf(gateway, '/metrics', bearer(key)), printedKeys(gateway)]).toEqual([200, [key]]);
  });

  test('refuses a file that holds no key', async () => {
    const folder = newFolder();
    const file = join(folder, 'gateway.config.yaml');
    writeFileSync(file, JSON.stringify(keyed));
    mkdirSync(join(folder, 'data'), { mode: 0o700 });
    writeFileSync(join(folder, 'data/admin-key'), 'short\n', { mode: 0o600 });
    const { code, stderr } = await run(['start', '--config', file, '--port', '0']);
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/data\/admin-key holds no admin key of 16 characters or more\. Delete the file/),
    ]);
  });
});

/** Two processes over one data directory. The first of them is then reloaded, and started again. */
describe('the kept key', () => {
  let folder: string;
  let gateway: Running;
  let key: string;
  let sessions: readonly [ended: string, open: string];

  beforeAll(() => void (folder = mkdtempSync(join(tmpdir(), 'gateway-admin-'))));
  afterAll(async () => {
    await gateway?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const sessionsAt = async (at: Running): Promise<number[]> => [
    await statusOf(at, '/api/status', { cookie: sessions[0] }),
    await statusOf(at, '/api/status', { cookie: sessions[1] }),
  ];

  test('is the same for all processes that start at the same time', async () => {
    const [one, two] = await Promise.all([start(keyed, {}, { folder }), start(keyed, {}, { folder })]);
    ends.push(() => two.stop());
    gateway = one;
    key = keptKey(one);
    expect([await statusOf(one, '/api/status', bearer(key)), await statusOf(two, '/api/status', bearer(key))]).toEqual([200, 200]);
    await told(printedKeys(two).length > 0 ? two : one, key);
    expect([one, two].flatMap(printedKeys)).toEqual([key]);
    expect(readdirSync(join(folder, 'data')).filter((name) => name.startsWith('admin-key'))).toEqual(['admin-key']);
  });

  test('has sessions that a reload does not end, and the end of a session survives a reload', async () => {
    sessions = [await signIn(gateway, key), await signIn(gateway, key)];
    await reload(gateway, { ...keyed, routing: { default: { max_attempts: 2 } } });
    expect(await sessionsAt(gateway)).toEqual([200, 200]);
    expect((await signOut(gateway, sessions[0])).status).toBe(200);
    expect(await sessionsAt(gateway)).toEqual([401, 200]);
    await reload(gateway, keyed);
    expect(await sessionsAt(gateway)).toEqual([401, 200]);
  });

  test('is used at the next start, which prints nothing, lets no ended session in, and makes the file readable for its owner only', async () => {
    await gateway.stop();
    chmodSync(keyFileOf(gateway), 0o644);
    gateway = await start(keyed, {}, { folder });
    expect([await statusOf(gateway), await statusOf(gateway, '/api/status', bearer(key)), printedKeys(gateway)]).toEqual([401, 200, []]);
    expect(statSync(keyFileOf(gateway)).mode & 0o777).toBe(0o600);
    expect(await sessionsAt(gateway)).toEqual([401, 200]);
  });
});

/** One gateway, which the second test reloads. */
describe('a gateway that starts with server.admin_key', () => {
  const own = { ...keyed, server: { admin_key: 'an-admin-key-of-the-config' } };
  let gateway: Running;

  beforeAll(async () => void (gateway = await start(own)));
  afterAll(async () => void (await gateway.stop()));

  test('makes no key', async () => {
    expect(await statusOf(gateway)).toBe(401);
    expectNoKey(gateway);
  });

  test('makes the admin key at a reload that adds keys, and requires it; a reload that removes keys requires none', async () => {
    await reload(gateway, mock);
    expect(await statusOf(gateway)).toBe(200);
    expectNoKey(gateway);
    await reload(gateway, keyed);
    expect([await statusOf(gateway), await statusOf(gateway, '/api/status', bearer(keptKey(gateway))), printedKeys(gateway)]).toEqual([
      401,
      200,
      [keptKey(gateway)],
    ]);
    await reload(gateway, own);
    expect([
      await statusOf(gateway, '/api/status', bearer(keptKey(gateway))),
      await statusOf(gateway, '/api/status', bearer('an-admin-key-of-the-config')),
    ]).toEqual([401, 200]);
    await reload(gateway, keyed);
    expect([await statusOf(gateway, '/api/status', bearer(keptKey(gateway))), printedKeys(gateway)]).toEqual([200, [keptKey(gateway)]]);
    await reload(gateway, mock);
    expect(await statusOf(gateway)).toBe(200);
  });
});

const outer = Object.values(networkInterfaces())
  .flatMap((list) => list ?? [])
  .find(({ internal, family }) => !internal && family === 'IPv4')?.address;

/** One gateway, which the last test reloads. */
describe('a gateway whose config has server.admin_open', () => {
  let gateway: Running;

  beforeAll(async () => void (gateway = await start({ ...keyed, server: { host: '0.0.0.0', admin_open: true } })));
  afterAll(async () => void (await gateway.stop()));

  const ask = async (host: string): Promise<number | undefined> =>
    await new Promise(
      (resolve, reject) =>
        void get({ host, port: gateway.port, path: '/api/status', headers: { host: '127.0.0.1' } }, (reply) =>
          resolve(reply.resume().statusCode),
        ).on('error', reject),
    );

  test('makes no key', async () => {
    expect(await ask('127.0.0.1')).toBe(200);
    expectNoKey(gateway);
  });

  test.runIf(outer !== undefined)('a client counts as local by the address of its socket, whatever its headers say', async () => {
    expect([await ask('127.0.0.1'), await ask(outer as string)]).toEqual([200, 403]);
  });

  test('a reload that would open the port to others is refused, and the page Config says so', async () => {
    const at = { ...gateway, url: gateway.url.replace('0.0.0.0', '127.0.0.1') };
    await reload(at, { ...keyed, server: { host: '0.0.0.0' } });
    const key = keptKey(gateway);
    await reload(at, { ...mock, server: { host: '127.0.0.1' } }, 'the changed config is not used');
    expect(gateway.output().stderr).toContain('the running gateway listens on 0.0.0.0 until it is restarted');
    expect([await chat(at), await statusOf(at), await chat(at, bearer(caller)), await statusOf(at, '/api/status', bearer(key))]).toEqual([
      401, 401, 200, 200,
    ]);
    const { reload: shown } = (await (await fetch(`${at.url}/api/config`, { headers: bearer(key) })).json()) as {
      reload: { problems: string };
    };
    expect(shown.problems).toContain('listens on 0.0.0.0 until it is restarted');
  });
});
