/** A gateway that is restarted: no client notices, and no record is missing. */
import { closeSync, existsSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, test } from 'vitest';
import { mockConfig, run, start, underShell } from '../_kit/executable.ts';
import type { Running } from '../_kit/executable.ts';
import { closeAtEndOfFile } from '../_kit/left-open.ts';
import { pause } from '../_kit/upstream.ts';
import { isAlive } from './workers-scene.ts';

const key = 'the-admin-key-of-the-test';
/** cost: a start with all plugins takes twice the CPU. */
const plugins = ['endpoints/chat-completions', 'endpoints/health', 'auth/keys', 'stream/mock'];
const mock = (limits: object = {}): Record<string, unknown> => ({
  server: { admin_key: `\${ADMIN_KEY_OF_THE_TEST:-${key}}`, limits },
  ...mockConfig(),
  plugins,
});
/** A config with a log. */
const logged = (): Record<string, unknown> => ({ ...mock(), plugins: [...plugins, 'endpoints/logs', 'log/journal'] });

/** systemd sets the id of the process that it starts: here the shell sets its own id, and becomes the gateway. */
const asSystemd = (names: string): string[] => ['sh', '-c', `${names} exec "$@"`, 'sh'];

const ask = (url: string, content: string, { stream = false, connection = 'keep-alive' } = {}): Promise<Response> =>
  fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', connection },
    body: JSON.stringify({ model: 'mock', messages: [{ role: 'user', content }], stream }),
  });

interface Process {
  readonly pid: number;
  readonly follows: number | null;
}

const processesOf = ({ file }: Running): Process[] => {
  const folder = join(dirname(file), 'data/running');
  return existsSync(folder)
    ? readdirSync(folder)
        .filter((name) => name.endsWith('.json'))
        .map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as Process)
    : [];
};

const restart = (gateway: Running, ...more: string[]) => run(['restart', '--config', gateway.file, ...more]);
const idsIn = async (url: string): Promise<Set<string>> => {
  const text = await (await fetch(`${url}/api/logs/export?format=jsonl&since=1h`, { headers: { authorization: `Bearer ${key}` } })).text();
  return new Set(
    text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => (JSON.parse(line) as { id: string }).id),
  );
};

/** A client that sends requests without pause until it is stopped: the ids of its replies, and its errors. */
class Client {
  readonly ids: string[] = [];
  readonly faults: string[] = [];
  readonly #done: Promise<void>;
  #isStopped = false;

  constructor(send: () => Promise<Response>, isWhole: (text: string) => boolean) {
    // after a failed test the client would go on until the last file has run
    closeAtEndOfFile({ close: () => void (this.#isStopped = true) });
    this.#done = this.#run(send, isWhole);
  }

  async #run(send: () => Promise<Response>, isWhole: (text: string) => boolean): Promise<void> {
    while (!this.#isStopped) {
      try {
        const response = await send();
        const text = await response.text();
        if (response.status !== 200 || !isWhole(text)) this.faults.push(`${response.status} ${text.slice(-200)}`);
        this.ids.push(response.headers.get('x-request-id') ?? '');
        // the starting processes need the cores
        await pause(60);
      } catch (error) {
        this.faults.push(String((error as Error).cause ?? error));
      }
    }
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#done;
  }
}

const isAnswer = (text: string): boolean => text.includes('"content":"again"');
const isStream = (text: string): boolean => text.endsWith('data: [DONE]\n\n');

describe.concurrent('gateway restart', () => {
  test('loses no request of clients that send without pause, and no record', async ({ expect }) => {
    const gateway = await start(logged(), {}, { by: underShell });
    const { url } = gateway;
    const first = processesOf(gateway)[0]?.pid ?? 0;
    const long = await ask(url, '[[words:100]] [[pace:40]]', { stream: true });
    const clients = [
      new Client(() => ask(url, 'again'), isAnswer),
      new Client(() => ask(url, 'again', { connection: 'close' }), isAnswer),
      new Client(() => ask(url, '[[words:5]] [[pace:20]]', { stream: true }), isStream),
      new Client(() => ask(url, '[[words:30]] [[pace:10]]', { stream: true }), isStream),
    ];
    for (const time of [1, 2]) {
      const before = clients.map(({ ids }) => ids.length);
      const { code, stdout, stderr } = await restart(gateway);
      expect([code, stderr], gateway.output().stderr).toEqual([0, '']);
      expect(stdout).toContain(`serves at ${url}`);
      expect(processesOf(gateway), `after restart ${time}`).toHaveLength(1);
      await expect.poll(() => clients.every(({ ids }, at) => ids.length > (before[at] ?? 0) + 2)).toBe(true);
    }
    for (const client of clients) await client.stop();
    expect(clients.flatMap(({ faults }) => faults)).toEqual([]);
    expect(await long.text()).toContain('[DONE]');
    await expect.poll(() => isAlive(first)).toBe(false);
    const asked = [long.headers.get('x-request-id') ?? '', ...clients.flatMap(({ ids }) => ids)];
    const missing = async (): Promise<string[]> => {
      const stored = await idsIn(url);
      return asked.filter((id) => !stored.has(id));
    };
    await expect.poll(missing).toEqual([]);
    const last = processesOf(gateway)[0]?.pid ?? 0;
    process.kill(last, 'SIGTERM');
    await expect.poll(() => isAlive(last)).toBe(false);
    expect(processesOf(gateway)).toEqual([]);
    gateway.child.stdin?.end();
    await gateway.stop();
  });

  test('does not change the gateway if the new process refuses to start', async ({ expect }) => {
    const folder = mkdtempSync(join(tmpdir(), 'gateway-restart-'));
    const plugin = `import { existsSync } from 'node:fs';
      export default { name: 'log/moody', summary: 'refuses a second start', apply({ hooks }) {
        hooks.boot.tap(() => { if (existsSync('${folder}/refuse')) throw new Error('not in the mood'); });
      } };`;
    writeFileSync(join(folder, 'moody.ts'), plugin);
    const gateway = await start({ ...mock(), plugins: [...plugins, './moody.ts'] }, {}, { by: underShell, folder });
    const before = processesOf(gateway);
    writeFileSync(join(folder, 'refuse'), '');
    for (const _ of [1, 2]) {
      const { code, stdout, stderr } = await restart(gateway);
      expect([code, stdout]).toEqual([1, '']);
      expect(stderr).toContain(`process ${before[0]?.pid} keeps serving. The new process refused to serve: `);
      expect(stderr).toMatch(/gateway\.config\.yaml:\d+:\d+ The plugin "log\/moody" refuses to start: not in the mood/);
      expect(processesOf(gateway)).toMatchObject(before.map(({ pid }) => ({ pid })));
      expect((await ask(gateway.url, 'still here')).status).toBe(200);
    }
    rmSync(join(folder, 'refuse'));
    expect((await restart(gateway)).code).toBe(0);
    gateway.child.stdin?.end();
    await gateway.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  // cost: one restart shows how the gateway is found, and what becomes of an idle connection.
  // The former process closes a connection after a silence of ten seconds, and a pause of the machine may be longer
  test(
    'finds a gateway whose data directory was changed by a reload, or emptied; an idle connection gets one more reply, which closes it',
    { retry: 2 },
    async ({ expect }) => {
      const gateway = await start(mock(), {}, { by: underShell });
      const folder = dirname(gateway.file);
      const config = mock();
      gateway.write({ ...config, server: { ...(config['server'] as object), data_dir: './other' } });
      const listed = (): string[] => readdirSync(join(folder, 'other/running'));
      await expect.poll(listed).toEqual([expect.stringMatching(/\.json$/)]);
      expect(processesOf(gateway)).toEqual([]);
      rmSync(join(folder, 'other'), { recursive: true });
      await expect.poll(listed).toEqual([expect.stringMatching(/\.json$/)]);

      const bytes = `GET /health/ready HTTP/1.1\r\nhost: localhost\r\n\r\n`;
      let answer = '';
      const socket = connect(gateway.port, '127.0.0.1', () => socket.write(bytes));
      const closed = new Promise<void>((resolve) => void socket.once('close', () => resolve()));
      socket.on('data', (data) => (answer += data));
      await expect.poll(() => answer).toContain('"ready"');
      const { code, stdout } = await restart(gateway);
      expect([code, stdout]).toEqual([0, expect.stringContaining(`serves at ${gateway.url}`)]);
      answer = '';
      socket.write(bytes);
      await closed;
      expect(answer).toMatch(/^HTTP\/1\.1 200 [^]*connection: close[^]*"ready"/i);
      expect((await fetch(`${gateway.url}/health/ready`)).status).toBe(200);
      gateway.child.stdin?.end();
      await gateway.stop();
    },
  );

  test('says that no gateway runs', async ({ expect }) => {
    const gateway = await start(mock());
    expect(await restart(gateway, '--pid', '4194304')).toMatchObject({
      code: 5,
      stdout: '',
      stderr: expect.stringContaining('There is no gateway to restart'),
    });
    gateway.child.kill('SIGKILL');
    await expect.poll(() => gateway.child.signalCode).toBe('SIGKILL');
    expect(processesOf(gateway)).toHaveLength(1);
    expect(await restart(gateway)).toMatchObject({ code: 5, stderr: expect.stringContaining(`none serves with ${gateway.file}`) });
    await gateway.stop();
  });

  test('refuses for a gateway that systemd has started', async ({ expect }) => {
    const gateway = await start(mock(), {}, { by: asSystemd('SYSTEMD_EXEC_PID=$$') });
    expect(await restart(gateway)).toMatchObject({ code: 5, stderr: expect.stringContaining('Run systemctl restart') });
    expect((await ask(gateway.url, 'still here')).status).toBe(200);
    await gateway.stop();
  });
});

/** Opens a port as systemd does, and starts a gateway that gets it as its first descriptor after stderr. */
async function startOnSocket(host: string, names: string, config = mock()): Promise<{ port: number; started: Promise<Running> }> {
  const server = createServer();
  await new Promise<void>((resolve) => void server.listen(0, host, resolve));
  const { port } = server.address() as AddressInfo;
  const { fd } = (server as unknown as Record<'_handle', { fd: number }>)['_handle'];
  const started = start(config, {}, { by: asSystemd(names), descriptors: [fd] });
  // the process has its own copy now, and this socket would accept connections too
  server.close();
  return { port, started };
}

describe.concurrent('a socket that systemd passes', () => {
  test('is the only port that is served', async ({ expect }) => {
    const { port, started } = await startOnSocket('127.0.0.1', 'LISTEN_PID=$$ LISTEN_FDS=1');
    const early = ask(`http://127.0.0.1:${port}`, 'early');
    const gateway = await started;
    expect(gateway.url).toBe(`http://127.0.0.1:${port}`);
    expect((await early).status).toBe(200);
    expect(await restart(gateway)).toMatchObject({ code: 5, stderr: expect.stringContaining('Run systemctl restart') });
    expect(await gateway.stop()).toBe(0);
  });

  test('is not used if it is for another process', async ({ expect }) => {
    const { port, started } = await startOnSocket('127.0.0.1', 'LISTEN_PID=1 LISTEN_FDS=1');
    const gateway = await started;
    expect(gateway.port).not.toBe(port);
    await gateway.stop();
  });

  test('is refused if other machines can reach it and there are no keys', async ({ expect }) => {
    const { server: _, ...open } = mock();
    const { started } = await startOnSocket('0.0.0.0', 'LISTEN_PID=$$ LISTEN_FDS=1', open);
    await expect(started).rejects.toThrow(/ended with 1\n[^]*has the address 0\.0\.0\.0, where other machines can reach the gateway/);
  });

  test('is refused if it is one of several, or not a socket', async ({ expect }) => {
    const { started } = await startOnSocket('127.0.0.1', 'LISTEN_PID=$$ LISTEN_FDS=2');
    await expect(started).rejects.toThrow(/ended with 1\n[^]*systemd hands over 2 sockets/);
    const file = openSync('/dev/null', 'r');
    await expect(start(mock(), {}, { by: asSystemd('LISTEN_PID=$$ LISTEN_FDS=1'), descriptors: [file] })).rejects.toThrow(
      /ended with 1\n[^]*no open port/,
    );
    closeSync(file);
  });
});

test('records in the journal of a killed process are stored by another process that runs', async ({ expect }) => {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-restart-'));
  const [killed, other] = [await start(logged(), {}, { folder }), await start(logged(), {}, { folder })];
  const stream = await ask(killed.url, '[[words:500]] [[pace:50]]', { stream: true });
  await stream.body?.getReader().read();
  const id = stream.headers.get('x-request-id') ?? '';
  expect(await idsIn(other.url)).not.toContain(id);
  killed.child.kill('SIGKILL');
  await expect.poll(() => idsIn(other.url)).toContain(id);
  const record = (await (await fetch(`${other.url}/api/logs/${id}`, { headers: { authorization: `Bearer ${key}` } })).json()) as {
    outcome: string;
  };
  expect(record.outcome).toBe('interrupted');
  await expect.poll(() => readdirSync(join(folder, 'data/journal')).length).toBe(1);
  await killed.stop();
  await other.stop();
  rmSync(folder, { recursive: true, force: true });
});

test('the folder in which a gateway was started can be removed', async ({ expect }) => {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-release-'));
  const [shell = '', option = '', script = ''] = underShell;
  const config = { ...logged(), server: { ...(logged()['server'] as object), workers: 2 } };
  const gateway = await start(config, {}, { by: [shell, option, script.replace('"$@"', `(cd '${folder}' && exec "$@")`), 'sh'] });
  rmSync(folder, { recursive: true });
  const moves = (): number => gateway.output().stderr.split('goes on in the folder of its config').length - 1;
  await expect.poll(moves).toBe(3);
  gateway.write({ ...config, limits: [] });
  process.kill(processesOf(gateway)[0]?.pid ?? 0, 'SIGHUP');
  await expect.poll(() => gateway.output().stderr).toContain('config reloaded');
  const reply = await ask(gateway.url, 'again');
  await reply.text();
  expect([...(await idsIn(gateway.url))]).toEqual([reply.headers.get('x-request-id')]);
  expect((await restart(gateway)).code).toBe(0);
  expect(gateway.output().stderr).not.toContain('uv_cwd');
  gateway.child.stdin?.end();
  await gateway.stop();
});
