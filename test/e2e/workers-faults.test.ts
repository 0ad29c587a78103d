/** Faults of one of several processes: it dies, hangs, starts late or gets signals. The other processes keep serving. */
import { existsSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, test } from 'vitest';
import { certificate } from '../_kit/certificate.ts';
import { start } from '../_kit/executable.ts';
import type { Running } from '../_kit/executable.ts';
import { closeAtEndOfFile } from '../_kit/left-open.ts';
import { pause } from '../_kit/upstream.ts';
import { admin, ask, config, freeze, isAlive, isOpen, Lent, measured, newsOf, times, workersOf } from './workers-scene.ts';

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

// cost: a start of three processes takes as long as the rest of a test. Each test leaves two workers that serve
describe('in one gateway, a worker that takes the place of another one', () => {
  const stage = new Stage();
  let gateway: Running;
  /** The first worker, which was killed while the second one started, and those that began to start and served then. */
  let killed: number;
  let begun: readonly number[];
  let first: readonly number[] = [];

  beforeAll(async () => {
    stage.put('hold-2-0');
    const starting = stage.start({}, ['sh', '-c', 'ulimit -n 200; exec "$@"', 'sh']);
    while (stage.pidOf(2) === 0) await pause(20);
    killed = stage.pidOf(1);
    process.kill(killed, 'SIGKILL');
    while ([0, killed].includes(stage.pidOf(1))) await pause(20);
    stage.remove('hold-2-0');
    gateway = await starting;
    begun = [stage.pidOf(1), stage.pidOf(2)];
    do first = await serving(gateway);
    while (first.length < 2);
  });

  /** Has the next worker wait in its start, until `stage.remove('hold-all')`. Returns its process id once it waits; 0: it has not begun. */
  function holdNext(): () => number {
    const known = stage.begun();
    stage.put('hold-all');
    return () => stage.begun().find((pid) => !known.includes(pid)) ?? 0;
  }

  test('starts while the other workers of the same start do', ({ expect }) => {
    expect(begun).not.toContain(killed);
    expect(first).toEqual(inOrder(begun));
  });

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

  test('gets back its connections to others that it lost for want of a free file descriptor; meanwhile the others answer', async ({
    expect,
  }) => {
    stage.add(
      'full',
      `import { closeSync, existsSync, mkdirSync, openSync } from 'node:fs';
      export default { name: 'log/full', summary: 'takes all descriptors of one worker',
        apply() {
          const taken = [];
          const timer = setInterval(() => {
            if (!existsSync(import.meta.dirname + '/fill-' + process.pid)) return taken.splice(0).forEach((descriptor) => closeSync(descriptor));
            try { for (;;) taken.push(openSync('/dev/null')); } catch { mkdirSync(import.meta.dirname + '/full', { recursive: true }); }
          }, 10);
          return () => clearInterval(timer);
        } };`,
    );
    const news = newsOf(gateway);
    change(gateway, stage.config({ use: ['./full.mjs'] }));
    await expect.poll(news).toContain('config reloaded');
    const [first = 0] = workersOf(gateway);
    stage.put(`fill-${first}`);
    await expect.poll(() => stage.has('full')).toBe(true);
    const statuses: number[] = [];
    for (let at = 0; at < 12; at++) {
      void ask(`${gateway.url}/health/live`).then(
        ({ status }) => statuses.push(status),
        () => statuses.push(0),
      );
    }
    await expect.poll(() => statuses).toEqual(Array.from({ length: 12 }, () => 200));
    stage.remove(`fill-${first}`);
    await expect.poll(() => serving(gateway)).toContain(first);
  });

  // the last test: the gateway ends
  test('is told to end, also if it has not read for a while', async ({ expect }) => {
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
            if (!existsSync(import.meta.dirname + '/flood-' + process.pid)) return;
            clearInterval(timer);
            void flood();
          }, 20);
          return () => writeFileSync(import.meta.dirname + '/ended-' + process.pid, '');
        } };`,
    );
    const news = newsOf(gateway);
    change(gateway, stage.config({ use: ['./flood.mjs'] }));
    await expect.poll(news).toContain('config reloaded');
    const [deaf = 0, loud = 0] = workersOf(gateway);
    freeze(deaf);
    stage.put(`flood-${loud}`);
    await expect.poll(() => stage.has('flooded')).toBe(true);
    const ended = gateway.stop('SIGTERM');
    await expect.poll(() => isOpen(gateway.port)).toBe(false);
    process.kill(deaf, 'SIGCONT');
    expect(await ended).toBe(0);
    expect(stage.has(`ended-${deaf}`), 'it ended, and was not killed').toBe(true);
  });
});

describe('workers', () => {
  // cost: one gateway for these tests. Only the last test leaves no workers that serve
  const parts = (round: number, labels: readonly string[]) => ({
    round,
    use: [{ use: 'log/metrics', with: { metadata_labels: labels } }, './choosy.mjs', './stuck.mjs'],
  });
  const lent = new Lent(async () => {
    const stage = new Stage();
    stage.add(
      'choosy',
      `import { existsSync } from 'node:fs';
      export default { name: 'log/choosy', summary: 'refuses to start', apply({ peers }) { if (peers !== null && existsSync(import.meta.dirname + '/refuse')) throw new Error('not now'); } };`,
    );
    // cost: a loop without a pause uses a core for seconds
    stage.add(
      'stuck',
      `const pause = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
      export default { name: 'log/stuck', summary: 'holds its process for ever', apply({ routes }) {
        routes.add({ method: 'GET', path: '/stick', auth: 'none', handle: () => { for (;;) pause(); } });
      } };`,
    );
    return { stage, gateway: await stage.start(parts(0, [])) };
  });

  // the metrics lack a worker that the machine does not run for a second
  test('that take the place of others give them no metrics of a config that is not used yet', { retry: 2 }, async ({ expect }) => {
    const { stage, gateway } = await lent.take();
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
    lent.giveBack({ stage, gateway });
  });

  test('that have all ended and cannot start again are reported, and serve waiting requests when they can', async ({ expect }) => {
    const { stage, gateway } = await lent.take();
    stage.put('refuse');
    for (const pid of workersOf(gateway)) process.kill(pid, 'SIGKILL');
    await expect
      .poll(() => gateway.output().stderr)
      .toContain('a worker could not be started, and no other one serves; new connections wait until one does');
    const waiting = ask(`${gateway.url}/health/live`);
    stage.remove('refuse');
    expect((await waiting).status).toBe(200);
    await expect.poll(() => serving(gateway)).toHaveLength(2);
    lent.giveBack({ stage, gateway });
  });

  test('that hang when their parent is killed end, and do not use a core for ever', async ({ expect }) => {
    const { gateway } = await lent.take();
    const workers = workersOf(gateway);
    for (const pid of workers) closeAtEndOfFile({ close: () => isAlive(pid) && process.kill(pid, 'SIGKILL') });
    ask(`${gateway.url}/stick`).catch(() => {});
    await expect.poll(() => gateway.output().stderr).toContain('the event loop is blocked by the plugin');
    gateway.child.kill('SIGKILL');
    await expect.poll(() => workers.filter(isAlive)).toEqual([]);
  });
});

describe('workers with a journal', () => {
  // cost: one gateway for these tests. The last test ends it
  const lent = new Lent(async () => {
    const stage = new Stage();
    return { stage, gateway: await stage.start({ server: { limits: { lame_duck_ms: 60_000 } }, use: ['log/cost', 'log/journal'] }) };
  });

  test('each report that one of them cannot write its journal', async ({ expect }) => {
    const { stage, gateway } = await lent.take();
    const journals = join(stage.folder, 'data/journal');
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
    lent.giveBack({ stage, gateway });
  });

  test('are not ready again after SIGTERM if one of them dies meanwhile', async ({ expect }) => {
    const { gateway } = await lent.take();
    const old = workersOf(gateway);
    gateway.child.kill('SIGTERM');
    await expect.poll(() => readiness(gateway)).toEqual(['stopping']);
    process.kill(old[0] as number, 'SIGKILL');
    await expect.poll(() => othersThan(gateway, old)).toHaveLength(1);
    expect(await readiness(gateway)).toEqual(['stopping']);
    await gateway.stop('SIGKILL');
  });
});

describe('workers with limits', () => {
  // cost: one gateway for these tests. The last test ends it
  const limits = [{ by: 'meta.tenant-id', match: 'paid-*', budget: { dollars: '0.0001', per: 'day' } }];
  // lame_duck_ms: enough time for a slow machine to ask all workers twice
  const shared = ({ folder }: Stage, server: object): object =>
    config({ data_dir: join(folder, 'data'), limits: { lame_duck_ms: 6000 }, ...server }, { ...measured, limits });
  const lent = new Lent(async () => {
    const stage = new Stage();
    return { stage, gateway: await start(shared(stage, {})) };
  });

  test('know the spending of another gateway, also after the first worker was replaced', async ({ expect }) => {
    const { stage, gateway } = await lent.take();
    const other = await start(shared(stage, { workers: 1 }));
    expect(workersOf(other), 'with one worker there is no parent').toEqual([]);
    const [first = 0] = workersOf(gateway);
    process.kill(first, 'SIGTERM');
    await expect.poll(() => isAlive(first)).toBe(false);
    // one of the workers with the changed config reads after five seconds, and then each minute
    change(gateway, shared(stage, { limits: { keep_alive_ms: 1000, lame_duck_ms: 6000 } }));
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
    await other.stop();
    lent.giveBack({ stage, gateway });
  });

  // a pause of the machine that is longer than lame_duck_ms hides the effect
  test('are not ready again before their port is closed, if SIGTERM goes to all processes', { retry: 2 }, async ({ expect }) => {
    const { gateway } = await lent.take();
    const news = newsOf(gateway);
    const workers = workersOf(gateway);
    const ended = gateway.stop('SIGTERM');
    for (const pid of workers) process.kill(pid, 'SIGTERM');
    await expect.poll(() => readiness(gateway)).toEqual(['stopping']);
    const seen = new Set<string>();
    while (await isOpen(gateway.port)) {
      for (const status of await readiness(gateway).catch(() => [])) seen.add(status);
      // cost: a worker that replaces another one would be ready for much longer
      await pause(400);
    }
    expect(seen).not.toContain('ready');
    expect(await ended).toBe(0);
    expect(news()).not.toContain('takes its place');
  });
});
