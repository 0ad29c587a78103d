/** A changed config: a good one is loaded; a bad one and a half-written one are not. */
import { appendFileSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import type { Config } from '../../../core/config.ts';
import type { RunningGateway } from '../../../core/host/gateway.ts';
import { startGateway } from '../../../core/host/gateway.ts';
import { lastReload } from '../../../core/host/reloads/history.ts';
import { createLogger } from '../../../core/logger.ts';
import type { LoadedPlugin } from '../../../core/host/plugin.ts';
import { listen } from '../../../core/http/listen.ts';
import { ConfigWatch } from '../../../core/host/reload.ts';
import type { Rebuilt } from '../../../core/host/reload.ts';
import { loadConfig } from '../../../config/load.ts';
import { formatProblems } from '../../../config/problems.ts';
import { certificate } from '../../_kit/certificate.ts';
import { loadPlugin, oneUpstream, quietPlugins, readEvents } from '../../_kit/gateway.ts';
import { pause, said, streams } from '../../_kit/upstream.ts';
import { probe, provider } from '../scene.ts';

const ends: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});

async function watched(
  url = 'http://127.0.0.1:9/v1',
  meanwhile: (write: (name: string) => void) => Promise<void> = async () => {},
  first: object = {},
) {
  // the name of the folder is no part of a glob in `include`
  const folder = mkdtempSync(join(tmpdir(), 'reload-test-[1] {a,b} (c)-'));
  const file = join(folder, 'gateway.config.yaml');
  const lines: string[] = [];
  const closed: string[] = [];
  /** Configs of which a gateway was built after the first. */
  const built: Config[] = [];
  /** Run while the next gateway is built, after its config was read, and a moment after it was built. */
  const during = { rebuild: (): void => {}, built: (): void => {} };
  const write = (name: string, more: object = {}): void =>
    writeFileSync(
      file,
      JSON.stringify({
        plugins: quietPlugins,
        ...oneUpstream(url, { routing: { models: { [name]: { candidates: ['plain'] } } } }),
        ...more,
      }),
    );

  const rebuild = async (): Promise<Rebuilt> => {
    const loaded = await loadConfig(file, { env: {}, loadPlugin, shippedPlugins: quietPlugins });
    if (!loaded.ok) return { problems: formatProblems(loaded.problems), files: loaded.files };
    const name = [...loaded.config.routing.models.keys()][0] ?? '';
    built.push(loaded.config);
    try {
      during.rebuild();
    } catch (error) {
      return { problems: String(error), files: loaded.files };
    }
    const own: LoadedPlugin = { plugin: probe(() => () => void closed.push(name)), options: {} };
    const gateway = await startGateway({ config: loaded.config, plugins: [...loaded.plugins, own], write: () => {} });
    setImmediate(during.built);
    return { gateway, files: loaded.files };
  };

  write('first', first);
  // the file was written in this millisecond or before it
  const readAt = Date.now() + 1;
  let current = ((await rebuild()) as { gateway: RunningGateway }).gateway;
  built.length = 0;
  const bound = current.config.server;
  const swap = (next: RunningGateway): RunningGateway => {
    const old = current;
    current = next;
    return old;
  };
  await meanwhile(write);
  const watching = new ConfigWatch({
    logger: createLogger((line) => void lines.push(line)),
    files: [file],
    bound,
    rebuild,
    swap,
    everyMs: 1_000_000,
    readAt,
  });
  const look = (): Promise<void> => watching.look();
  const reload = (): Promise<void> => look().then(look);
  await reload();
  ends.push(async () => {
    watching.stop();
    await current.close();
    rmSync(folder, { recursive: true });
  });
  const name = (): string | undefined => [...current.config.routing.models.keys()][0];
  return {
    file,
    write,
    lines,
    closed,
    built,
    during,
    name,
    look,
    reload,
    readNow: () => watching.readNow(),
    stop: () => watching.stop(),
    current: () => current,
  };
}

describe('a config that', () => {
  it('has not changed is not loaded again', async () => {
    const { reload, lines, current } = await watched();
    const before = current();
    await reload();
    expect([current() === before, lines]).toEqual([true, []]);
  });

  it('has changed is loaded and reported', async () => {
    const { write, reload, name, lines } = await watched();
    write('second');
    await reload();
    expect([name(), lines.length, lines[0]]).toEqual(['second', 1, expect.stringContaining('config reloaded')]);
  });

  it('has another address is loaded, and each reload names the settings that wait for a restart', async () => {
    const { write, reload, name, lines } = await watched();
    const told = (): unknown[] =>
      lines.splice(0).map((line) => {
        const { level, msg, settings } = JSON.parse(line) as Record<string, unknown>;
        return { level, msg, settings };
      });
    const reloaded = { level: 'info', msg: 'config reloaded' };
    write('second', { server: { port: 4001, host: 'localhost' } });
    await reload();
    expect([name(), lastReload()?.problems]).toEqual(['second', null]);
    expect(told()).toEqual([
      reloaded,
      {
        level: 'warn',
        msg: expect.stringContaining('restart'),
        settings: ['server.host: 127.0.0.1 → localhost', 'server.port: 4000 → 4001'],
      },
    ]);
    write('third', { server: { port: 4001 } });
    await reload();
    expect(told()).toEqual([reloaded, { level: 'warn', msg: expect.stringContaining('restart'), settings: ['server.port: 4000 → 4001'] }]);
    write('fourth');
    await reload();
    expect(told()).toEqual([reloaded]);
  });

  it('has another time for TLS handshakes is loaded, and the reload says that this time waits for a restart', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'reload-test-'));
    ends.push(() => rmSync(folder, { recursive: true }));
    const { cert, key } = certificate('IP:127.0.0.1');
    const tls = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') };
    writeFileSync(tls.cert, cert);
    writeFileSync(tls.key, key);
    const { write, reload, lines } = await watched(undefined, undefined, { server: { tls } });
    write('second', { server: { tls, limits: { header_time_ms: 5000, drain_ms: 1 } } });
    await reload();
    expect(JSON.parse(lines[1] ?? '{}')).toMatchObject({
      msg: expect.stringContaining('restart'),
      settings: ['server.limits.header_time_ms (of TLS handshakes): 10000 → 5000'],
    });
    write('third', { server: { tls, limits: { drain_ms: 2 } } });
    await reload();
    expect(lines).toHaveLength(3);
  });

  it('turns a provider off is loaded, and its first reload names the provider, as a warning where it was on', async () => {
    const { write, reload, lines } = await watched();
    const told = (): unknown[] =>
      lines
        .splice(0)
        .map((line) => JSON.parse(line) as { level: string; msg: string })
        .map(({ level, msg }) => `${level} ${msg}`);
    const providers = (key: string): object => ({
      providers: {
        up: { dialect: 'openai-chat', base_url: 'http://127.0.0.1:9/v1', api_key: 'k' },
        more: { dialect: 'openai-chat', base_url: 'http://127.0.0.1:9/v1', api_key: key },
      },
    });
    write('second', providers('${KEY_OF_MORE}'));
    await reload();
    expect(told()).toEqual(['info config reloaded', 'info provider off: KEY_OF_MORE is not set']);
    write('third', providers('${KEY_OF_MORE}'));
    await reload();
    expect(told()).toEqual(['info config reloaded']);
    write('fourth', providers('a key'));
    await reload();
    write('fifth', providers('${OTHER_KEY}'));
    await reload();
    expect(told()).toEqual(['info config reloaded', 'info config reloaded', 'warn provider off: OTHER_KEY is not set']);
  });

  it('has changed after it was read and before it is watched is loaded', async () => {
    const { reload, name } = await watched(undefined, async (write) => {
      await pause(50);
      write('second');
    });
    await reload();
    expect(name()).toBe('second');
  });

  it('has a fault is reported once, and the last good config goes on', async () => {
    const { write, reload, name, lines } = await watched();
    write('second', { sever: {} });
    await reload();
    await reload();
    expect([name(), lines.length]).toEqual(['first', 1]);
    expect(lines[0]).toContain('did you mean');
  });

  it('gets a .env, or a file that a glob finds, is loaded again', async () => {
    const { file, write, reload, name, built } = await watched();
    write('second', { include: ['./more/*.yaml'], server: { admin_key: '${NOT_YET:-a-key-that-is-long-enough}' } });
    const more = join(dirname(file), 'more');
    mkdirSync(more);
    writeFileSync(join(more, 'a.yaml'), 'models: [{ id: a, free: true, providers: [{ providerId: up }] }]');
    await reload();
    expect(name()).toBe('second');
    writeFileSync(join(more, 'b.yaml'), 'models: [{ id: b, free: true, providers: [{ providerId: up }] }]');
    await reload();
    expect(built.at(-1)?.models.map(({ id }) => id)).toEqual(['a', 'b', 'plain', 'thinker', 'budgeted']);
    writeFileSync(join(dirname(file), '.env'), 'NOT_YET=another-key-that-is-long-enough');
    await reload();
    expect(built.at(-1)?.server.adminKey?.reveal()).toBe('another-key-that-is-long-enough');
  });

  it('loses the folder of its includes is not used, until the folder is back', async () => {
    const { file, write, reload, lines, built } = await watched();
    write('second', { include: ['./more/*.yaml'] });
    const more = join(dirname(file), 'more');
    mkdirSync(more);
    writeFileSync(join(more, 'a.yaml'), 'models: [{ id: a, free: true, providers: [{ providerId: up }] }]');
    await reload();
    renameSync(more, `${more}-away`);
    await reload();
    expect([built.length, lines.at(-1)]).toEqual([1, expect.stringContaining('include[0]: matches no file')]);
    mkdirSync(more);
    writeFileSync(join(more, 'b.yaml'), 'models: [{ id: b, free: true, providers: [{ providerId: up }] }]');
    await reload();
    expect(built.at(-1)?.models.some(({ id }) => id === 'b')).toBe(true);
  });

  it('names a file that is missing is used when the file is there', async () => {
    const { file, write, reload, lines, built } = await watched();
    const put = (name: string, text: string): void => writeFileSync(join(dirname(file), name), text);
    put('a.yaml', 'models: [{ id: a, free: true, providers: [{ providerId: up }] }]');
    write('second', { include: ['./a.yaml'] });
    await reload();
    rmSync(join(dirname(file), 'a.yaml'));
    await reload();
    expect([built.length, lines.at(-1)]).toEqual([1, expect.stringContaining('include[0]: no such file')]);
    put('a.yaml', 'models: [{ id: b, free: true, providers: [{ providerId: up }] }]');
    await reload();
    expect(built.at(-1)?.models.some(({ id }) => id === 'b')).toBe(true);
    write('third', { plugins: [...quietPlugins, './late.mjs'] });
    await reload();
    expect([built.length, lines.at(-1)]).toEqual([2, expect.stringContaining('there is no file')]);
    put('late.mjs', "export default { name: 'log/late', summary: 'comes after the line that names it', apply() {} };");
    await reload();
    expect(built.at(-1)?.plugins.at(-1)?.use).toBe('./late.mjs');
  });

  it('was refused is read again on request, although no file has changed', async () => {
    const { write, reload, readNow, name, during, lines } = await watched();
    during.rebuild = () => {
      throw new Error('the folder cannot be written');
    };
    write('second');
    await reload();
    await reload();
    expect([name(), lines.length]).toEqual(['first', 1]);
    await readNow();
    expect([name(), lines.length]).toEqual(['first', 2]);
    during.rebuild = () => {};
    await readNow();
    await readNow();
    expect([name(), lines.length]).toEqual(['second', 3]);
  });

  it('was repaired is loaded', async () => {
    const { write, reload, name } = await watched();
    write('second', { sever: {} });
    await reload();
    write('third');
    await reload();
    expect(name()).toBe('third');
  });

  it.each(['rebuild', 'built'] as const)(
    'has changed when the process begins to end is not used, and its gateway is closed: at %s',
    async (moment) => {
      const { write, reload, name, during, stop, closed } = await watched();
      write('second');
      during[moment] = stop;
      await reload();
      expect([name(), closed]).toEqual(['first', ['second']]);
    },
  );

  it.each([
    ['empty', ''],
    ['half written', '{"plugins": ["auth/keys", "rou'],
  ])('is %s for a moment is not loaded', async (_, text) => {
    const { file, write, look, name, lines } = await watched();
    writeFileSync(file, text);
    await look();
    write('second');
    await look();
    await look();
    expect(name()).toBe('second');
    expect(lines.filter((line) => line.includes('"error"'))).toEqual([]);
  });

  it('is half written and still valid is not loaded until two looks in a row see the same', async () => {
    const { file, look, built } = await watched();
    writeFileSync(file, stringify({ plugins: quietPlugins, ...oneUpstream('http://127.0.0.1:9/v1') }));
    await look();
    expect(built).toEqual([]);
    appendFileSync(file, 'server:\n  port: 4001\n');
    await look();
    expect(built).toEqual([]);
    await look();
    expect(built.map(({ server }) => server.port)).toEqual([4001]);
  });

  it('changes again while its gateway is built is loaded again', async () => {
    const { write, reload, name, during } = await watched();
    write('second');
    during.rebuild = () => {
      during.rebuild = () => {};
      write('third');
    };
    await reload();
    expect(name()).toBe('second');
    await reload();
    expect(name()).toBe('third');
  });

  it('changes during a long build is read again after the usual pause, because it may be half written', async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'reload-test-')), 'gateway.config.yaml');
    const everyMs = 100;
    const [begun, over, again] = [Promise.withResolvers<void>(), Promise.withResolvers<void>(), Promise.withResolvers<number>()];
    const builds = [
      async () => {
        writeFileSync(file, 'half of the th');
        begun.resolve();
        await over.promise;
      },
      async () => again.resolve(performance.now()),
    ];
    const rebuild = async (): Promise<Rebuilt> => {
      await builds.shift()?.();
      return { problems: 'no config', files: [file] };
    };
    writeFileSync(file, 'the first');
    const watching = new ConfigWatch({
      logger: createLogger(() => {}),
      files: [file],
      bound: { host: '127.0.0.1', port: 4000, workers: 1 },
      rebuild,
      swap: (former) => former,
      everyMs,
    });
    ends.push(() => {
      watching.stop();
      rmSync(dirname(file), { recursive: true });
    });
    await watching.look();
    writeFileSync(file, 'the second');
    await begun.promise;
    await pause(10 * everyMs);
    const overAt = performance.now();
    over.resolve();
    expect((await again.promise) - overAt).toBeGreaterThan(everyMs * 0.9);
  });

  it.each([
    ['empty', ''],
    ['half written', '{"plugins": ["auth/keys", "rou'],
  ])('stays %s is not used', async (_, text) => {
    const { file, reload, name } = await watched();
    writeFileSync(file, text);
    await reload();
    expect(name()).toBe('first');
  });

  it('is missing for a while is loaded when it is back', async () => {
    const { file, write, reload, name } = await watched();
    rmSync(file);
    await reload();
    expect(name()).toBe('first');
    write('second');
    await reload();
    expect(name()).toBe('second');
  });
});

describe('the former gateway', () => {
  it('closes once its last request has ended', async () => {
    const isLooked = Promise.withResolvers<void>();
    const up = await provider(async (response) => {
      const [role, word, ...rest] = said('a', 'b', 'c');
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(`${role}${word}`);
      await isLooked.promise;
      response.end(rest.join(''));
    });
    const { write, reload, closed, current } = await watched(up.url);
    const body = JSON.stringify({ model: 'plain', stream: true, messages: [{ role: 'user', content: 'hi' }] });
    const { url, drain } = await listen({ ...current().config.server, port: 0, service: current });
    ends.push(() => drain(0, []));
    const running = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    write('second');
    await reload();
    expect(closed).toEqual([]);
    isLooked.resolve();
    expect((await readEvents(running)).done).toBe(true);
    await expect.poll(() => closed).toEqual(['first']);
  });

  it('serves a running request to its end where the next config disables its key, and refuses new requests with the key', async () => {
    const up = await provider(streams(said('a', 'b', 'c'), { everyMs: 30 }), streams(said('d')));
    const { write, reload, current } = await watched(up.url);
    const keys = (more: object = {}): object => ({
      keys: [
        { name: 'a', key: ['key-of-a-0123456789', 'new-of-a-0123456789'], ...more },
        { name: 'b', key: 'key-of-b-0123456789' },
      ],
    });
    write('second', keys());
    await reload();
    const { url, drain } = await listen({ ...current().config.server, port: 0, service: current });
    ends.push(() => drain(0, []));
    const ask = (key: string): Promise<Response> =>
      fetch(`${url}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
        body: JSON.stringify({ model: 'plain', stream: true, messages: [{ role: 'user', content: 'hi' }] }),
      });
    const running = await ask('new-of-a-0123456789');
    write('third', keys({ disabled: true }));
    await reload();
    const after = await Promise.all(['key-of-a-0123456789', 'new-of-a-0123456789', 'key-of-b-0123456789'].map(ask));
    expect(after.map(({ status }) => status)).toEqual([401, 401, 200]);
    expect(await readEvents(running)).toMatchObject({ done: true, text: 'abc' });
    await Promise.all(after.map((response) => response.text()));
  });
});
