/** Faults of one of several processes: it dies, hangs, starts late or gets signals. The other processes keep serving. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { certificate } from '../_kit/certificate.ts';
import { start } from '../_kit/executable.ts';
import type { Running } from '../_kit/executable.ts';
import { closeAtEndOfFile } from '../_kit/left-open.ts';
import { pause } from '../_kit/upstream.ts';
import { admin, ask, config, isAlive, logged, measured, newsOf, times, workersOf } from './workers-scene.ts';

/** A plugin that reports which process answers, and delays the start of a worker as long as the test wants. */
const staged = `import { existsSync, writeFileSync } from 'node:fs';
  export default { name: 'log/staged', summary: 'holds a worker', schema: { type: 'object', properties: { round: { type: 'integer' } } },
    apply({ hooks, routes, peers }, { round = 0 }) {
      routes.add({ method: 'GET', path: '/who', auth: 'none', handle: () => ({ body: String(process.pid) }) });
      hooks.boot.tap(async () => {
        const of = peers.number + '-' + round;
        writeFileSync(import.meta.dirname + '/began-' + of, String(process.pid));
        while ([of, 'all'].some((held) => existsSync(import.meta.dirname + '/hold-' + held))) await new Promise((resolve) => setTimeout(resolve, 20));
      });
    } };`;

/** The folder of a gateway with few plugins, and the files with which the test controls them. */
class Stage {
  readonly folder = mkdtempSync(join(tmpdir(), 'gateway-workers-'));

  constructor() {
    this.add('staged', staged);
    closeAtEndOfFile({ close: () => rmSync(this.folder, { recursive: true, force: true }) });
  }

  /** Adds a plugin. */
  add(name: string, source: string): void {
    this.put(`${name}.mjs`, source);
  }

  put(name: string, text = ''): void {
    writeFileSync(join(this.folder, name), text);
  }

  remove(name: string): void {
    rmSync(join(this.folder, name));
  }

  has(name: string): boolean {
    return existsSync(join(this.folder, name));
  }

  /** @param round each config with another `round` has another plugin too */
  config({ server = {}, round = 0, use = [] }: { server?: object; round?: number; use?: readonly unknown[] } = {}): object {
    const plugins = ['endpoints/chat-completions', 'endpoints/health', 'endpoints/logs', 'auth/keys', 'stream/mock'];
    return config(server, { plugins: [...plugins, { use: './staged.mjs', with: { round } }, ...use] });
  }

  start(parts: Parameters<Stage['config']>[0] = {}, by: readonly string[] = []): Promise<Running> {
    return start(this.config(parts), {}, { folder: this.folder, by });
  }

  /** The processes that began to build a gateway: the last one of each worker and config. */
  begun(): number[] {
    return readdirSync(this.folder)
      .filter((name) => name.startsWith('began-'))
      .map((name) => Number(readFileSync(join(this.folder, name), 'utf8')));
  }

  numberOf(pid: number): number {
    return [1, 2, 3].find((worker) => this.pidOf(worker) === pid) ?? 0;
  }

  /** The id of the process that started last as this worker; 0: none has started. */
  pidOf(worker: number, round = 0): number {
    return this.has(`began-${worker}-${round}`) ? Number(readFileSync(join(this.folder, `began-${worker}-${round}`), 'utf8')) : 0;
  }
}

/** The answer of each worker, by process id. Resolves when all workers have answered, also starting and stopping ones. */
async function answersOf(gateway: Running, path: string): Promise<Map<number, string>> {
  const answers = new Map<number, string>();
  let former: Agent | undefined;
  while (!workersOf(gateway).every((pid) => answers.has(pid))) {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const of = async (asked: string): Promise<string> => (await ask(`${gateway.url}${asked}`, { headers: admin, agent })).text;
    // one connection leads to one worker. The former connection is still open, so this worker is not the one that was asked before
    const pid = Number(await of('/who'));
    answers.set(pid, await of(path));
    former?.destroy();
    former = agent;
    // cost: the starting processes need the cores
    await pause(50);
  }
  former?.destroy();
  return answers;
}

const inOrder = (pids: Iterable<number>): number[] => [...pids].sort((a, b) => a - b);
const serving = async (gateway: Running): Promise<number[]> => inOrder((await answersOf(gateway, '/who')).keys());
/** The serving processes that are not among these. */
const othersThan = async (gateway: Running, known: readonly number[]): Promise<number[]> =>
  (await serving(gateway)).filter((pid) => !known.includes(pid));
/** The configs in use. */
const hashes = async (gateway: Running): Promise<string[]> => [
  ...new Set(
    Array.from(
      (await answersOf(gateway, '/api/status')).values(),
      (text) => (JSON.parse(text) as { config: { hash: string } }).config.hash,
    ),
  ),
];

/**
 * The answers of the workers to load balancers. The requests go one after the other,
 * so that each worker is asked: a worker that stops closes its connection after one.
 */
async function readiness({ url }: Running): Promise<string[]> {
  const seen = new Set<string>();
  for (let at = 0; at < 12; at++) seen.add((JSON.parse((await ask(`${url}/health/ready`)).text) as { status: string }).status);
  return [...seen];
}

/** Writes a config and has it used at once. */
function change(gateway: Running, next: object): void {
  gateway.write(next);
  gateway.child.kill('SIGHUP');
}

/** Stops a process as a debugger does. */
function freeze(pid: number): void {
  process.kill(pid, 'SIGSTOP');
  closeAtEndOfFile({ close: () => isAlive(pid) && process.kill(pid, 'SIGKILL') });
}

/** Whether the port accepts connections, of any process. */
const isOpen = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });

describe.concurrent('a worker that takes the place of another one', () => {
  test('starts while the other workers of the same start do', async ({ expect }) => {
    const stage = new Stage();
    stage.put('hold-2-0');
    const starting = stage.start();
    await expect.poll(() => stage.pidOf(2)).toBeGreaterThan(0);
    const first = stage.pidOf(1);
    process.kill(first, 'SIGKILL');
    await expect.poll(() => [0, first].includes(stage.pidOf(1))).toBe(false);
    stage.remove('hold-2-0');
    const gateway = await starting;
    await expect.poll(() => serving(gateway)).toEqual(inOrder([stage.pidOf(1), stage.pidOf(2)]));
    await gateway.stop();
  });

  // the metrics lack a worker that the machine does not run for a second
  test('gives the others no metrics of a config that is not used yet', { retry: 2 }, async ({ expect }) => {
    const stage = new Stage();
    const parts = (round: number, labels: readonly string[]) => ({
      round,
      use: [{ use: 'log/metrics', with: { metadata_labels: labels } }],
    });
    const gateway = await stage.start(parts(0, []));
    const answered = async (): Promise<number> =>
      Number(
        /^gateway_requests_total\{.*outcome="answered".*\} (\d+)$/m.exec(
          (await ask(`${gateway.url}/metrics`, { headers: admin })).text,
        )?.[1],
      );
    for (let at = 0; at < 10; at++) {
      await ask(`${gateway.url}/v1/chat/completions`, { body: { model: 'mock', messages: [{ role: 'user', content: 'hello' }] } });
    }
    expect(await answered()).toBe(10);
    stage.put('hold-2-1');
    change(gateway, stage.config(parts(1, ['tenant-id'])));
    await expect.poll(() => stage.pidOf(2, 1)).toBeGreaterThan(0);
    for (let at = 0; at < 6; at++) expect(await answered()).toBe(10);
    stage.remove('hold-2-1');
    await expect.poll(() => gateway.output().stderr).toContain('config reloaded');
    await gateway.stop();
  });
});

// cost: a start of three processes takes as long as the rest of a test. Each test leaves two workers that serve
describe('in one gateway, a worker that takes the place of another one', () => {
  const stage = new Stage();
  let gateway: Running;

  beforeAll(async () => void (gateway = await stage.start()));
  afterAll(async () => void (await gateway.stop()));

  /** Has the next worker wait in its start, until `stage.remove('hold-all')`. Returns its process id once it waits; 0: it has not begun. */
  function holdNext(): () => number {
    const known = stage.begun();
    stage.put('hold-all');
    return () => stage.begun().find((pid) => !known.includes(pid)) ?? 0;
  }

  test('is only one, also if the old worker gets the signal to end twice', async ({ expect }) => {
    const news = newsOf(gateway);
    const [first = 0, second = 0] = workersOf(gateway);
    const next = holdNext();
    process.kill(first, 'SIGTERM');
    // the old worker has handled the first signal, and cannot end before the new one serves
    await expect.poll(next).toBeGreaterThan(0);
    process.kill(first, 'SIGTERM');
    stage.remove('hold-all');
    await expect.poll(() => isAlive(first)).toBe(false);
    expect(times(news(), 'another one takes its place')).toBe(1);
    await expect.poll(() => serving(gateway)).toEqual(inOrder([second, next()]));
    expect(workersOf(gateway)).toEqual([second, next()]);
  });

  test('is only one, also if the old worker is killed before its end', async ({ expect }) => {
    const news = newsOf(gateway);
    const [first = 0, second = 0] = workersOf(gateway);
    const next = holdNext();
    process.kill(first, 'SIGTERM');
    await expect.poll(next).toBeGreaterThan(0);
    process.kill(first, 'SIGKILL');
    await expect.poll(() => workersOf(gateway)).not.toContain(first);
    stage.remove('hold-all');
    await expect.poll(() => serving(gateway)).toEqual(inOrder([second, next()]));
    expect(news()).not.toContain('a worker has ended');
    expect(workersOf(gateway)).toEqual([second, next()]);
  });

  test('serves a plain port without TLS, although the config has changed since the start', async ({ expect }) => {
    const news = newsOf(gateway);
    const { cert, key } = certificate('IP:127.0.0.1');
    stage.put('cert.pem', cert);
    stage.put('key.pem', key);
    change(gateway, stage.config({ server: { tls: { cert: './cert.pem', key: './key.pem' } } }));
    await expect.poll(news).toContain('wait for a restart');
    const old = workersOf(gateway);
    process.kill(old[0] as number, 'SIGKILL');
    await expect.poll(() => othersThan(gateway, old)).toHaveLength(1);
  });

  test('uses the changed config of the other workers, also if it started with the previous one', async ({ expect }) => {
    const news = newsOf(gateway);
    const [before = ''] = await hashes(gateway);
    const [first = 0, second = 0] = workersOf(gateway);
    const next = holdNext();
    process.kill(first, 'SIGKILL');
    await expect.poll(next).toBeGreaterThan(0);
    const prepared = `${stage.numberOf(second)}-1`;
    stage.put(`hold-${prepared}`);
    change(gateway, stage.config({ round: 1 }));
    await expect.poll(() => stage.has(`began-${prepared}`)).toBe(true);
    // the new worker starts to serve while the other one still prepares
    stage.remove('hold-all');
    await expect.poll(() => serving(gateway)).toContain(next());
    stage.remove(`hold-${prepared}`);
    await expect.poll(news).toContain('config reloaded');
    await expect.poll(() => hashes(gateway)).toEqual([expect.not.stringMatching(before)]);
  });

  test('makes all workers use a config that one of them refused before', async ({ expect }) => {
    stage.add(
      'moody',
      `import { existsSync, readFileSync } from 'node:fs';
      const bad = import.meta.dirname + '/bad';
      export default { name: 'log/moody', summary: 'refuses in one worker',
        apply({ hooks }) { hooks.boot.tap(() => { if (existsSync(bad) && readFileSync(bad, 'utf8') === String(process.pid)) throw new Error('not in the mood'); }); } };`,
    );
    const news = newsOf(gateway);
    const [before = ''] = await hashes(gateway);
    const [first = 0, second = 0] = workersOf(gateway);
    stage.put('bad', String(second));
    change(gateway, stage.config({ use: ['./moody.mjs'] }));
    await expect.poll(news).toContain('not in the mood');
    stage.remove('bad');
    process.kill(first, 'SIGKILL');
    await expect.poll(news).toContain('config reloaded');
    await expect.poll(() => hashes(gateway)).toEqual([expect.not.stringMatching(before)]);
  });

  test('cannot start with a config that ends its process: the others serve with the former config until the file is corrected', async ({
    expect,
  }) => {
    stage.add(
      'deadly',
      `export default { name: 'log/deadly', summary: 'ends each worker', apply({ hooks }) { hooks.boot.tap(() => process.exit(9)); } };`,
    );
    const news = newsOf(gateway);
    const old = workersOf(gateway);
    change(gateway, stage.config({ use: ['./deadly.mjs'] }));
    await expect.poll(news).toContain('the others keep serving');
    expect(news()).toContain('the changed config is not used; the last good one stays in use');
    expect(workersOf(gateway).filter((pid) => old.includes(pid))).toHaveLength(1);
    expect((await ask(`${gateway.url}/health/live`)).status).toBe(200);
    change(gateway, stage.config());
    await expect.poll(async () => new Set(await serving(gateway)).size).toBe(2);
    expect(news()).not.toContain('no other one serves');
  });
});

describe.concurrent('a gateway with workers that gets SIGTERM', () => {
  // a pause of the machine that is longer than lame_duck_ms hides the effect
  test('is not ready again before its port is closed, if the signal goes to all processes', { retry: 2 }, async ({ expect }) => {
    const stage = new Stage();
    // enough time for a slow machine to ask all workers twice
    const gateway = await stage.start({ server: { limits: { lame_duck_ms: 6000 } } });
    const workers = workersOf(gateway);
    const ended = gateway.stop('SIGTERM');
    for (const pid of workers) process.kill(pid, 'SIGTERM');
    await expect.poll(() => readiness(gateway)).toEqual(['stopping']);
    const seen = new Set<string>();
    while (await isOpen(gateway.port)) {
      for (const status of await readiness(gateway).catch(() => [])) seen.add(status);
      // cost: a worker that replaces another one would be ready for much longer
      await pause(200);
    }
    expect(seen).not.toContain('ready');
    expect(await ended).toBe(0);
    expect(gateway.output().stderr).not.toContain('takes its place');
  });

  test('is not ready again if a worker dies meanwhile', async ({ expect }) => {
    const stage = new Stage();
    const gateway = await stage.start({ server: { limits: { lame_duck_ms: 60_000 } } });
    const old = workersOf(gateway);
    gateway.child.kill('SIGTERM');
    await expect.poll(() => readiness(gateway)).toEqual(['stopping']);
    process.kill(stage.pidOf(1), 'SIGKILL');
    await expect.poll(() => othersThan(gateway, old)).toHaveLength(1);
    expect(await readiness(gateway)).toEqual(['stopping']);
    await gateway.stop('SIGKILL');
  });

  test('tells every worker, also a worker that has not read for a while', async ({ expect }) => {
    const stage = new Stage();
    // after an answer, or a timeout, the parent has passed on all earlier messages
    stage.add(
      'flood',
      `import { existsSync, writeFileSync } from 'node:fs';
      export default { name: 'log/flood', summary: 'says much', schema: { type: 'object' },
        apply({ peers }) {
          const flood = async () => {
            for (let round = 0; round < 6; round++) {
              for (let at = 0; at < 300; at++) peers.broadcast('news', 'y'.repeat(10_000));
              await peers.ask('nobody', null, 50);
            }
            writeFileSync(import.meta.dirname + '/flooded', '');
          };
          const timer = setInterval(() => {
            if (peers.number !== 2 || !existsSync(import.meta.dirname + '/flood')) return;
            clearInterval(timer);
            void flood();
          }, 20);
          return () => writeFileSync(import.meta.dirname + '/ended-' + peers.number, '');
        } };`,
    );
    const gateway = await stage.start({ use: ['./flood.mjs'] });
    freeze(stage.pidOf(1));
    stage.put('flood');
    await expect.poll(() => stage.has('flooded')).toBe(true);
    const ended = gateway.stop('SIGTERM');
    await expect.poll(() => isOpen(gateway.port)).toBe(false);
    process.kill(stage.pidOf(1), 'SIGCONT');
    expect(await ended).toBe(0);
    expect(stage.has('ended-1'), 'it ended, and was not killed').toBe(true);
  });

  test('waits only a few seconds for a hanging worker after the second signal', async ({ expect }) => {
    const stage = new Stage();
    // without the second signal the parent would wait longer than the test may take
    const gateway = await stage.start({ server: { limits: { drain_ms: 3_600_000 } } });
    freeze(stage.pidOf(1));
    const ended = gateway.stop('SIGTERM');
    await expect.poll(() => isOpen(gateway.port)).toBe(false);
    // two signals within a second count as one
    await pause(1600);
    gateway.child.kill('SIGTERM');
    await ended;
  });
});

describe.concurrent('workers', () => {
  test('that hang when their parent is killed end, and do not use a core for ever', async ({ expect }) => {
    const stage = new Stage();
    // cost: a loop without a pause uses a core for seconds
    stage.add(
      'stuck',
      `const pause = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
      export default { name: 'log/stuck', summary: 'holds its process for ever', apply({ routes }) {
        routes.add({ method: 'GET', path: '/stick', auth: 'none', handle: () => { for (;;) pause(); } });
      } };`,
    );
    const gateway = await stage.start({ use: ['./stuck.mjs'] });
    const workers = workersOf(gateway);
    for (const pid of workers) closeAtEndOfFile({ close: () => isAlive(pid) && process.kill(pid, 'SIGKILL') });
    ask(`${gateway.url}/stick`).catch(() => {});
    await expect.poll(() => gateway.output().stderr).toContain('the event loop is blocked by the plugin');
    gateway.child.kill('SIGKILL');
    await expect.poll(() => workers.filter(isAlive)).toEqual([]);
  });

  test('that have all ended and cannot start again are reported, and serve waiting requests when they can', async ({ expect }) => {
    const stage = new Stage();
    stage.add(
      'choosy',
      `import { existsSync } from 'node:fs';
      export default { name: 'log/choosy', summary: 'refuses to start', apply({ peers }) { if (peers !== null && existsSync(import.meta.dirname + '/refuse')) throw new Error('not now'); } };`,
    );
    const gateway = await stage.start({ use: ['./choosy.mjs'] });
    stage.put('refuse');
    for (const pid of workersOf(gateway)) process.kill(pid, 'SIGKILL');
    await expect
      .poll(() => gateway.output().stderr)
      .toContain('a worker could not be started, and no other one serves; new connections wait until one does');
    const waiting = ask(`${gateway.url}/health/live`);
    stage.remove('refuse');
    expect((await waiting).status).toBe(200);
    await gateway.stop();
  });

  test('each report that one of them cannot write its journal', async ({ expect }) => {
    const folder = mkdtempSync(join(tmpdir(), 'gateway-workers-'));
    closeAtEndOfFile({ close: () => rmSync(folder, { recursive: true, force: true }) });
    const gateway = await start(config({ data_dir: folder }, logged));
    const journals = join(folder, 'journal');
    renameSync(journals, `${journals}-away`);
    // the gateway would make a missing folder again
    writeFileSync(journals, '');
    await ask(`${gateway.url}/v1/chat/completions`, { body: { model: 'mock', messages: [{ role: 'user', content: 'hi' }] } });
    const states = async (): Promise<Set<string>> =>
      new Set(
        await Promise.all(Array.from({ length: 30 }, async () => JSON.parse((await ask(`${gateway.url}/`)).text).health.status as string)),
      );
    await expect.poll(states).toEqual(new Set(['degraded']));
    rmSync(journals);
    renameSync(`${journals}-away`, journals);
    await expect.poll(states).toEqual(new Set(['ok']));
    await gateway.stop();
  });

  test('accept the connections that a worker without a free file descriptor cannot', async ({ expect }) => {
    const stage = new Stage();
    stage.add(
      'full',
      `import { existsSync, mkdirSync, openSync } from 'node:fs';
      export default { name: 'log/full', summary: 'takes all descriptors of the first worker', schema: { type: 'object' },
        apply({ peers }) { setInterval(() => {
          if (peers.number !== 1 || !existsSync(import.meta.dirname + '/fill')) return;
          try { for (;;) openSync('/dev/null'); } catch { mkdirSync(import.meta.dirname + '/full', { recursive: true }); }
        }, 10).unref(); } };`,
    );
    const gateway = await stage.start({ use: ['./full.mjs'] }, ['sh', '-c', 'ulimit -n 200; exec "$@"', 'sh']);
    stage.put('fill');
    await expect.poll(() => stage.has('full')).toBe(true);
    const statuses: number[] = [];
    for (let at = 0; at < 12; at++) {
      void ask(`${gateway.url}/health/live`).then(
        ({ status }) => statuses.push(status),
        () => statuses.push(0),
      );
    }
    await expect.poll(() => statuses).toEqual(Array.from({ length: 12 }, () => 200));
    await gateway.stop('SIGKILL');
  });

  test('know the spending of another gateway, also after the first worker was replaced', async ({ expect }) => {
    const limits = [{ by: 'meta.tenant-id', match: 'paid-*', budget: { dollars: '0.0001', per: 'day' } }];
    const stage = new Stage();
    const shared = (server: object): object => config({ data_dir: join(stage.folder, 'data'), ...server }, { ...measured, limits });
    const gateway = await start(shared({}));
    const other = await start(shared({ workers: 1 }));
    const [first = 0] = workersOf(gateway);
    process.kill(first, 'SIGTERM');
    await expect.poll(() => isAlive(first)).toBe(false);
    // one of the workers with the changed config reads after five seconds, and then each minute
    change(gateway, shared({ limits: { keep_alive_ms: 1000 } }));
    await expect.poll(() => gateway.output().stderr).toContain('config reloaded');
    const spend = async (): Promise<number> =>
      (
        await ask(`${other.url}/v1/chat/completions`, {
          body: { model: 'mock', messages: [{ role: 'user', content: 'hi' }], max_tokens: 10 },
          headers: { 'x-gateway-tenant-id': 'paid-one' },
        })
      ).status;
    expect(await spend()).toBe(200);
    // if the machine was too slow for the first reading, the second one, a minute later, or the third has it
    await expect
      .poll(async () => (await ask(`${gateway.url}/api/limits`, { headers: admin })).text, { timeout: 140_000, interval: 500 })
      .toContain('paid-one');
    await gateway.stop();
    await other.stop();
  });
});
