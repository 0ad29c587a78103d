/** Several real processes behind one port, which are killed, reloaded and restarted while clients send requests without pause. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import type { ClientRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { rawExchange, run, start, underShell } from '../_kit/executable.ts';
import type { Running } from '../_kit/executable.ts';
import { closeAtEndOfFile } from '../_kit/left-open.ts';
import { pause } from '../_kit/upstream.ts';
import {
  admin,
  adminKey,
  ask,
  childrenOf,
  config,
  freeze,
  hasConnection,
  isAlive,
  isOpen,
  Lent,
  logged,
  measured,
  newsOf,
  times,
  workersOf,
} from './workers-scene.ts';
import type { Reply } from './workers-scene.ts';

const callerKey = 'the-only-caller-of-the-test';
/** A gateway without `keys` lets every caller in. */
const asCaller = { authorization: `Bearer ${callerKey}` };
const keys = [{ name: 'one', key: callerKey }];

const chat = (
  url: string,
  content: string,
  { model = 'mock', stream = false, agent = false }: { model?: string; stream?: boolean; agent?: Agent | false } = {},
): Promise<Reply> =>
  ask(`${url}/v1/chat/completions`, { body: { model, messages: [{ role: 'user', content }], stream }, headers: asCaller, agent });

/** Four open streams, each on its own connection. */
const begun = async (url: string, content: string): Promise<Response[]> =>
  await Promise.all(
    [1, 2, 3, 4].map(() =>
      fetch(`${url}/v1/chat/completions`, {
        method: 'POST',
        headers: { ...asCaller, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'mock', messages: [{ role: 'user', content }], stream: true }),
      }),
    ),
  );

/** A stream that ends only when its worker ends or its client leaves. It counts as open when its first bytes have arrived. */
class OpenStream {
  bytes = 0;
  hasBrokenOff = false;
  readonly #asked: ClientRequest;
  readonly #port: number;

  static open(url: string): Promise<OpenStream> {
    return new Promise((resolve, reject) => {
      const body = { model: 'mock', messages: [{ role: 'user', content: '[[words:100000]] [[pace:20]]' }], stream: true };
      const asked = request(
        `${url}/v1/chat/completions`,
        { method: 'POST', agent: false, headers: { 'content-type': 'application/json' } },
        (response) => {
          const stream = new OpenStream(asked);
          response.on('data', (bytes: Buffer) => {
            stream.bytes += bytes.length;
            resolve(stream);
          });
          response.on('error', () => (stream.hasBrokenOff = true));
        },
      );
      asked.on('error', reject).end(JSON.stringify(body));
    });
  }

  constructor(asked: ClientRequest) {
    this.#asked = asked;
    this.#port = asked.socket?.localPort ?? 0;
    closeAtEndOfFile({ close: () => this.leave() });
  }

  /** Resolves when more bytes have arrived. */
  async more(): Promise<void> {
    const before = this.bytes;
    while (this.bytes === before) await pause(20);
  }

  isAt(pid: number): boolean {
    return hasConnection(pid, this.#port);
  }

  leave(): void {
    this.#asked.destroy();
  }
}

const idOf = ({ headers }: Reply): string => String(headers['x-request-id']);

/** The outcomes on record, by id. */
async function outcomesAt(url: string): Promise<Map<string, string>> {
  const { text } = await ask(`${url}/api/logs/export?format=jsonl&since=1h`, { headers: admin });
  return new Map(
    text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as { id: string; outcome: string })
      .map(({ id, outcome }) => [id, outcome]),
  );
}

/**
 * Clients that send requests without pause, on one connection each or on a new one each time: the ids of their replies, and their errors.
 */
class Clients {
  readonly ids: string[] = [];
  readonly faults: string[] = [];
  readonly counts: number[];
  readonly #done: Promise<unknown>;
  #isStopped = false;

  constructor(url: string) {
    const kept = (): Agent => new Agent({ keepAlive: true, maxSockets: 1 });
    const ways: [string, boolean, Agent | false][] = [
      ['again', false, kept()],
      ['again', false, false],
      ['[[words:5]] [[pace:20]]', true, kept()],
      ['[[words:30]] [[pace:10]]', true, false],
    ];
    this.counts = ways.map(() => 0);
    // after a failed test the clients would go on until the last file has run
    closeAtEndOfFile({ close: () => void (this.#isStopped = true) });
    this.#done = Promise.all(
      ways.map(async ([content, stream, agent], at) => {
        while (!this.#isStopped) {
          try {
            const reply = await chat(url, content, { stream, agent });
            if (reply.status !== 200 || (stream && !reply.text.endsWith('data: [DONE]\n\n'))) {
              this.faults.push(`${reply.status} ${reply.text.slice(-200)}`);
            }
            this.ids.push(idOf(reply));
            this.counts[at] = (this.counts[at] ?? 0) + 1;
            // the starting processes need the cores
            await pause(120);
          } catch (error) {
            this.faults.push(String(error));
          }
        }
        if (agent !== false) agent.destroy();
      }),
    );
  }

  /** Resolves when each client has got more replies. */
  async more(): Promise<void> {
    const before = [...this.counts];
    while (!this.counts.every((count, at) => count > (before[at] ?? 0) + 2)) await new Promise((resolve) => setTimeout(resolve, 20));
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#done;
  }
}

// cost: a start of three processes takes as long as the rest of a test. Each test leaves two workers that serve
describe('the workers of one gateway', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-workers-'));
  const odd = {
    plugins: [...logged.plugins, 'endpoints/dashboard'],
    providers: { mock: { dialect: 'mock', deployments: { nobody: 'x' } } },
  };
  let gateway: Running;

  beforeAll(async () => void (gateway = await start(config({}, odd), {}, { folder })));
  afterAll(async () => {
    expect(await gateway.stop()).toBe(0);
    rmSync(folder, { recursive: true, force: true });
  });

  test('keep serving after one is killed: only its own requests fail, and no record is lost', async ({ expect }) => {
    const news = newsOf(gateway);
    const { url } = gateway;
    const [first = 0, second = 0] = workersOf(gateway);
    const streams: OpenStream[] = [];
    // a worker that the machine has not run for two seconds gets no connection until it reports again
    while (![first, second].every((pid) => streams.some((stream) => stream.isAt(pid)))) streams.push(await OpenStream.open(url));
    const lost = streams.filter((stream) => stream.isAt(first));
    const clients = new Clients(url);
    await clients.more();
    process.kill(first, 'SIGKILL');
    await clients.more();
    await expect.poll(() => workersOf(gateway).filter((pid) => pid !== first && pid !== second)).toHaveLength(1);
    await clients.more();
    await clients.stop();
    expect(streams.filter(({ hasBrokenOff }) => hasBrokenOff)).toEqual(lost);
    for (const stream of streams.filter(({ hasBrokenOff }) => !hasBrokenOff)) {
      await stream.more();
      stream.leave();
    }
    // each of the four clients has one connection at a time
    expect(clients.faults.length, clients.faults.join('\n')).toBeLessThanOrEqual(4);
    expect(clients.faults.filter((fault) => !/ECONNRESET|socket hang up|aborted/.test(fault))).toEqual([]);
    await expect
      .poll(async () => {
        const outcomes = await outcomesAt(url);
        return [
          clients.ids.filter((id) => outcomes.get(id) !== 'answered'),
          [...outcomes.values()].filter((outcome) => outcome === 'interrupted').length >= lost.length,
        ];
      })
      .toEqual([[], true]);
    expect(times(news(), 'another one takes its place')).toBe(1);
  });

  test('that get a signal are replaced first, and their requests are completed', async ({ expect }) => {
    const [first = 0, second = 0] = workersOf(gateway);
    const streams = await begun(gateway.url, '[[words:50]] [[pace:50]]');
    // the first worker cannot end before the client of this stream leaves
    let held = await OpenStream.open(gateway.url);
    while (!held.isAt(first)) {
      held.leave();
      held = await OpenStream.open(gateway.url);
    }
    process.kill(first, 'SIGTERM');
    await expect.poll(() => workersOf(gateway)).toEqual([first, second, expect.any(Number)]);
    expect((await Promise.all(streams.map((stream) => stream.text()))).map((text) => text.endsWith('data: [DONE]\n\n'))).toEqual([
      true,
      true,
      true,
      true,
    ]);
    await held.more();
    held.leave();
    await expect.poll(() => workersOf(gateway).filter(isAlive)).toEqual([second, expect.any(Number)]);
    expect((await chat(gateway.url, 'hello')).status).toBe(200);
  });

  test('use a changed config without a failed request, and refuse an invalid one together', async ({ expect }) => {
    expect(times(gateway.output().stderr, 'serves no model with the id "nobody"')).toBe(1);
    const news = newsOf(gateway);
    const { url } = gateway;
    const hashes = async (): Promise<string[]> => [
      ...new Set(
        await Promise.all(
          Array.from(
            { length: 8 },
            async () => (JSON.parse((await ask(`${url}/api/config`, { headers: admin })).text) as { hash: string }).hash,
          ),
        ),
      ),
    ];
    const [before = ''] = await hashes();
    const clients = new Clients(url);
    gateway.write(config({ limits: { keep_alive_ms: 1000 } }, odd));
    await expect.poll(news).toContain('config reloaded');
    expect(times(news(), 'serves no model with the id "nobody"')).toBe(1);
    await expect.poll(hashes).toEqual([expect.not.stringMatching(before)]);
    const good = await hashes();
    gateway.write(config({ limits: { keep_alive_ms: 1000 } }, { plugins: ['no/such'] }));
    await expect.poll(news).toContain('there is no plugin');
    await clients.more();
    await clients.stop();
    expect(clients.faults).toEqual([]);
    // a worker that the machine has not run for two seconds is not asked, and may be the last to use the changed config
    await expect.poll(hashes).toEqual(good);
    expect([times(news(), 'config reloaded'), times(news(), 'the changed config is not used')]).toEqual([1, 1]);
    const shown = async (): Promise<{ loadedAt: number; reload: { problems: string | null } | null; reloads: object[] }> =>
      JSON.parse((await ask(`${url}/api/config`, { headers: admin })).text) as never;
    // each worker has got the message
    await expect
      .poll(async () =>
        (await Promise.all(Array.from({ length: 8 }, shown))).filter(
          ({ reload }) => reload?.problems?.includes('there is no plugin') !== true,
        ),
      )
      .toEqual([]);
    const changed = { problems: null, changes: { shown: [{ path: 'server.limits.keepAliveMs', after: '1000' }] } };
    expect((await shown()).reloads).toMatchObject([{ problems: expect.stringContaining('there is no plugin'), changes: null }, changed]);
    // a worker that replaces another one gets the history from the other workers
    gateway.write(config({ limits: { keep_alive_ms: 1000 } }, odd));
    await expect.poll(() => times(news(), 'config reloaded')).toBe(2);
    const { loadedAt: usedFrom } = await shown();
    process.kill(workersOf(gateway)[0] as number, 'SIGKILL');
    await expect
      .poll(
        async () =>
          (await Promise.all(Array.from({ length: 8 }, shown)))
            .filter(({ loadedAt }) => loadedAt > usedFrom + 100)
            .map(({ reloads }) => reloads)[0],
      )
      .toMatchObject([{ changes: { shown: [] } }, { changes: null }, changed]);
  });

  test('use a config together or not at all: if one worker or the parent refuses it, no worker uses it', async ({ expect }) => {
    writeFileSync(
      join(folder, 'moody.mjs'),
      `export default { name: 'log/moody', summary: 'refuses in one worker or in the parent', schema: { type: 'object', properties: { moody: { type: 'string' } } },
      apply({ hooks }, { moody }) { hooks.boot.tap(() => { if (moody === String(process.pid)) throw new Error('not in the mood'); }); },
      atParent(parent, { moody }) { if (moody === 'parent') throw new Error('no parent in the mood'); return { answer: () => null }; } };`,
    );
    const plugins = (moody: string): object => ({
      plugins: [
        'endpoints/chat-completions',
        'endpoints/health',
        'endpoints/logs',
        'auth/keys',
        'stream/mock',
        { use: './moody.mjs', with: { moody } },
      ],
    });
    const news = newsOf(gateway);
    const hashes = async (): Promise<Set<string>> =>
      new Set(
        await Promise.all(
          Array.from(
            { length: 8 },
            async () =>
              (JSON.parse((await ask(`${gateway.url}/api/status`, { headers: admin })).text) as { config: { hash: string } }).config.hash,
          ),
        ),
      );
    const before = await hashes();
    gateway.write(config({}, plugins(String(workersOf(gateway)[1]))));
    await expect.poll(news).toContain('not in the mood');
    expect(await hashes()).toEqual(before);
    expect(times(news(), 'the changed config is not used')).toBe(1);
    gateway.write(config({}, plugins('parent')));
    await expect.poll(news).toMatch(/gateway\.config\.yaml:\d+:\d+ The plugin \\"log\/moody\\" refuses to start: no parent in the mood/);
    expect(times(news(), 'the changed config is not used')).toBe(2);
    expect(await hashes()).toEqual(before);
    expect((await chat(gateway.url, 'hello')).status).toBe(200);
    gateway.write(config({ limits: { keep_alive_ms: 1000 } }, plugins('nobody')));
    await expect.poll(news).toContain('config reloaded');
  });
});

// cost: one gateway for these tests. The last test ends it
describe('without an admin key in the config', () => {
  const { server: _, ...rest } = config({}, { keys });
  // drain_ms: without a second signal the parent waits longer than a test may take
  const limits = { drain_ms: 3_600_000 };
  const folder = mkdtempSync(join(tmpdir(), 'gateway-workers-'));
  let gateway: Running;

  beforeAll(async () => void (gateway = await start({ ...rest, server: { workers: 2, limits } })));
  afterAll(async () => {
    await gateway?.stop('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });

  test('a start with workers makes one admin key, and prints it once', async ({ expect }) => {
    expect(workersOf(gateway)).toHaveLength(2);
    await expect.poll(() => gateway.output().stderr).toContain('gwa_');
    expect(times(gateway.output().stderr, 'gwa_')).toBe(1);
    const key = /gwa_\w+/.exec(gateway.output().stderr)?.[0] ?? '';
    const statuses = await Promise.all(
      Array.from(
        { length: 6 },
        async () => (await ask(`${gateway.url}/api/status`, { headers: { authorization: `Bearer ${key}` } })).status,
      ),
    );
    expect(new Set(statuses)).toEqual(new Set([200]));
  });

  test('workers use, at SIGHUP, a config whose admin key could not be read before', async ({ expect }) => {
    writeFileSync(join(folder, 'admin-key'), 'short');
    gateway.write({ ...rest, server: { workers: 2, limits, data_dir: folder } });
    await expect.poll(() => gateway.output().stderr).toContain('holds no admin key');
    writeFileSync(join(folder, 'admin-key'), adminKey);
    gateway.child.kill('SIGHUP');
    await expect.poll(() => gateway.output().stderr).toContain('config reloaded');
    expect(times(gateway.output().stderr, 'the changed config is not used')).toBe(1);
  });

  test('workers close connections of clients that send their requests slowly', async ({ expect }) => {
    const news = newsOf(gateway);
    gateway.write({ ...rest, server: { workers: 2, limits: { ...limits, header_time_ms: 500 }, data_dir: folder } });
    await expect.poll(news).toContain('config reloaded');
    expect(await rawExchange(gateway.port, 'GET /health/live HTTP/1.1\r\nhost: loc')).toMatch(/^HTTP\/1\.1 408/);
  });

  test('another start with workers refuses the port in use', async ({ expect }) => {
    writeFileSync(join(folder, 'gateway.config.yaml'), JSON.stringify(config()));
    const { code, stderr } = await run(['start', '--config', join(folder, 'gateway.config.yaml'), '--port', String(gateway.port)]);
    expect([code, stderr]).toEqual([3, expect.stringContaining(`Port ${gateway.port} on 127.0.0.1 is in use`)]);
  });

  test('the parent waits only a few seconds for a hanging worker after the second signal', async ({ expect }) => {
    freeze(workersOf(gateway)[0] as number);
    const ended = gateway.stop('SIGTERM');
    await expect.poll(() => isOpen(gateway.port)).toBe(false);
    // two signals within a second count as one
    await pause(1600);
    gateway.child.kill('SIGTERM');
    await ended;
  });
});

describe.concurrent('a start with workers', () => {
  /** The place of the entry of the plugin in the config, which is one line. */
  const placeIn = (file: string): string => `${file}:1:${readFileSync(file, 'utf8').indexOf('"./full.mjs"') + 1}`;

  test('ends with the message and the exit code of the first worker that refuses, once', async ({ expect }) => {
    const folder = mkdtempSync(join(tmpdir(), 'gateway-workers-'));
    writeFileSync(
      join(folder, 'full.mjs'),
      `export default { name: 'log/full', summary: 'refuses every start', apply({ hooks }) { hooks.boot.tap(() => { throw Object.assign(new Error('no room here'), { exitCode: 4 }); }); } };`,
    );
    const file = join(folder, 'gateway.config.yaml');
    const plugins = ['endpoints/chat-completions', 'auth/keys', 'stream/mock', './full.mjs'];
    writeFileSync(file, JSON.stringify(config({}, { plugins })));
    const refused = await run(['start', '--config', file, '--port', '0']);
    expect([refused.code, refused.stdout, refused.stderr]).toEqual([
      4,
      '',
      `${placeIn(file)} The plugin "log/full" refuses to start: no room here\n`,
    ]);
    writeFileSync(file, JSON.stringify(config({ worker: 3 })));
    const faulty = await run(['start', '--config', file, '--port', '0']);
    expect([faulty.code, times(faulty.stderr, 'server.worker')]).toEqual([1, 1]);
    rmSync(folder, { recursive: true, force: true });
  });

  test.for([
    ['throws', 'throw new Error("no room here")', 'no room here'],
    ['returns nothing that answers', 'return {}', 'atParent() must return { answer }'],
  ])('ends with the name of the plugin whose atParent %s', async ([, body, words], { expect }) => {
    const folder = mkdtempSync(join(tmpdir(), 'gateway-workers-'));
    writeFileSync(
      join(folder, 'full.mjs'),
      `export default { name: 'log/full', summary: 'refuses in the parent', apply() {}, atParent() { ${body} } };`,
    );
    const file = join(folder, 'gateway.config.yaml');
    writeFileSync(file, JSON.stringify(config({}, { plugins: ['endpoints/chat-completions', 'auth/keys', 'stream/mock', './full.mjs'] })));
    const { code, stdout, stderr } = await run(['start', '--config', file, '--port', '0']);
    expect([code, stdout, stderr]).toEqual([1, '', `${placeIn(file)} The plugin "log/full" refuses to start: ${words}\n`]);
    rmSync(folder, { recursive: true, force: true });
  });
});

describe('workers under a shell', () => {
  // cost: one gateway for these tests, before and after its restart. The last test ends it.
  // the shell stays alive when the parent ends: otherwise the stdin of the test and all workers would end
  const lent = new Lent(async () => {
    const gateway = await start(config({}, logged), {}, { by: underShell });
    return { gateway, parent: workersOf(gateway)[0] ?? 0 };
  });

  test('are restarted as one gateway, and no client notices', async ({ expect }) => {
    const { gateway, parent } = await lent.take();
    const { url } = gateway;
    const old = [parent, ...childrenOf(parent)];
    expect(old).toHaveLength(3);
    const long = chat(url, '[[words:100]] [[pace:30]]', { stream: true });
    const clients = new Clients(url);
    await clients.more();
    const { code, stdout, stderr } = await run(['restart', '--config', gateway.file]);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toContain(`process ${parent} takes no more connections`);
    await clients.more();
    await clients.stop();
    expect(clients.faults).toEqual([]);
    expect((await long).text).toContain('[DONE]');
    await expect.poll(() => old.filter(isAlive)).toEqual([]);
    const asked = [...clients.ids, idOf(await long)];
    await expect
      .poll(async () => {
        const outcomes = await outcomesAt(url);
        return asked.filter((id) => outcomes.get(id) !== 'answered');
      })
      .toEqual([]);
    expect(times(gateway.output().stdout, '"listening"')).toBe(2);
    lent.giveBack({ gateway, parent: Number(/process (\d+) serves/.exec(stdout)?.[1]) });
  });

  test('serve their requests and end when their parent is killed', async ({ expect }) => {
    const { gateway, parent } = await lent.take();
    const workers = childrenOf(parent);
    expect(workers).toHaveLength(2);
    const idle = new Agent({ keepAlive: true });
    const streams = await begun(gateway.url, '[[words:40]] [[pace:50]]');
    expect((await chat(gateway.url, 'hello', { agent: idle })).status).toBe(200);
    process.kill(parent, 'SIGKILL');
    expect((await Promise.all(streams.map((stream) => stream.text()))).map((text) => text.endsWith('data: [DONE]\n\n'))).toEqual([
      true,
      true,
      true,
      true,
    ]);
    await expect.poll(() => workers.filter(isAlive)).toEqual([]);
    expect(readdirSync(join(dirname(gateway.file), 'data/journal')), 'all is in the store').toEqual([]);
    idle.destroy();
    await gateway.stop();
  });
});

/** A connection to the worker with this process id, on which one request after the other is sent. */
async function connectionTo(pid: number, url: string): Promise<Agent> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  await ask(`${url}/health/live`, { agent });
  const [socket] = Object.values({ ...agent.sockets, ...agent.freeSockets }).flatMap((sockets) => sockets ?? []);
  if (hasConnection(pid, socket?.localPort ?? 0)) return agent;
  agent.destroy();
  return await connectionTo(pid, url);
}

describe('workers whose plugins share their state', () => {
  // cost: one gateway for these tests, each with a model or a key of its own. The last test ends it
  const model = (id: string): object => ({
    id,
    pricing: { prompt: '0.000001', completion: '0.000002' },
    providers: [{ providerId: 'mock', externalId: id }],
  });
  const passing = { id: 'mock/*', providers: [{ providerId: 'mock' }] };
  const lent = new Lent(() =>
    start(
      config(
        { limits: { lame_duck_ms: 3000 } },
        { plugins: [...measured.plugins, 'endpoints/dashboard'], models: [...['mock', 'shown', 'limited'].map(model), passing], keys },
      ),
    ),
  );

  // a record is there at once only where its worker answers the others within 300 ms
  test('show the whole machine, whichever worker answers: metrics, status and the live tail', { retry: 2 }, async ({ expect }) => {
    const gateway = await lent.take();
    const { url } = gateway;
    const tail = new AbortController();
    const live = await fetch(`${url}/api/logs/stream`, { headers: admin, signal: tail.signal });
    let seen = '';
    void (async () => {
      for await (const bytes of live.body ?? []) seen += Buffer.from(bytes).toString();
    })().catch(() => {});
    const replies: Reply[] = [];
    for (let at = 0; at < 10; at++) {
      const reply = await chat(url, 'hello', { model: 'shown' });
      replies.push(reply);
      if (at < 6) continue;
      // a reading within 100 ms of another one may show the same data
      await new Promise((resolve) => setTimeout(resolve, 120));
      const last = await chat(url, 'hello', { model: 'shown' });
      replies.push(last);
      expect((await ask(`${url}/api/logs/${idOf(last)}`, { headers: admin })).status, 'on record, at whichever worker').toBe(200);
    }
    await expect.poll(() => replies.filter((reply) => !seen.includes(`id: ${idOf(reply)}`))).toEqual([]);
    tail.abort();
    // the records of other workers are late: a client may have got the last record, and not yet the one before
    const [before, last] = replies.slice(-2).map(idOf);
    const back = await fetch(`${url}/api/logs/stream`, { headers: { ...admin, 'last-event-id': last ?? '' } });
    let missed = '';
    for await (const bytes of back.body ?? []) if ((missed += Buffer.from(bytes).toString()).includes(`id: ${before}`)) break;
    const scrape = async (): Promise<string> => (await ask(`${url}/metrics`, { headers: admin })).text;
    const requests = (text: string): number =>
      Number(/^gateway_requests_total\{[^}]*outcome="answered"[^}]*model="shown"[^}]*\} (\d+)$/m.exec(text)?.[1]);
    const costs = (text: string): string => /^gateway_cost_dollars_total\{[^}]*model="shown"[^}]*\} (\S+)$/m.exec(text)?.[1] ?? '';
    // where a worker does not answer within two seconds, the metrics show its former answer
    await expect.poll(async () => requests(await scrape())).toBe(14);
    const one = await scrape();
    const cost = costs(one);
    expect([requests(one), requests(await scrape()), requests(await scrape())]).toEqual([14, 14, 14]);
    expect(one.match(/^process_resident_memory_bytes\{worker="\d"\}/gm)).toHaveLength(2);
    expect(times(one, '# TYPE gateway_requests_total counter')).toBe(1);
    const [first = 0] = workersOf(gateway);
    process.kill(first, 'SIGKILL');
    const startsOf = (text: string): string[] => text.match(/^process_start_time_seconds\{.*$/gm) ?? [];
    await expect.poll(async () => startsOf(await scrape()).filter((start) => !startsOf(one).includes(start))).toHaveLength(1);
    const after = await scrape();
    expect([requests(after), costs(after)]).toEqual([14, cost]);
    expect(cost).toMatch(/^0\.0\d+$/);
    await expect
      .poll(
        async () =>
          (JSON.parse((await ask(`${url}/api/status`, { headers: admin })).text) as { log: { waitingRecords: number } }).log.waitingRecords,
      )
      .toBe(0);
    lent.giveBack(gateway);
  });

  test('slow guesses of the admin key that other workers saw, and know which sessions ended there', async ({ expect }) => {
    const gateway = await lent.take();
    const { url } = gateway;
    /** Sends a wrong key to a worker: its answer takes as long as the worker delays it, or longer. */
    const guess = async (agent: Agent): Promise<number> => {
      const began = performance.now();
      await ask(`${url}/api/status`, { headers: { authorization: 'Bearer wrong-wrong-wrong-wrong' }, agent });
      return performance.now() - began;
    };
    const [first = 0, second = 0] = workersOf(gateway);
    const [one, other] = [await connectionTo(first, url), await connectionTo(second, url)];
    for (let at = 0; at < 7; at++) await guess(one);
    // alone, the worker would answer its first five guesses at once
    const took: number[] = [];
    for (let at = 0; at < 5 && !took.some((ms) => ms > 400); at++) {
      // the news of the other worker's guesses may be on the way
      await pause(500);
      took.push(await guess(other));
    }
    expect(Math.max(...took)).toBeGreaterThan(400);
    one.destroy();
    other.destroy();
    const page = { 'sec-fetch-site': 'same-origin' };
    const signedIn = await ask(`${url}/api/session`, { body: { key: adminKey }, headers: page });
    const cookie = String(signedIn.headers['set-cookie']).split(';', 1)[0] ?? '';
    const statuses = async (): Promise<number[]> =>
      await Promise.all([1, 2, 3, 4].map(async () => (await ask(`${url}/api/status`, { headers: { cookie } })).status));
    expect(await statuses()).toEqual([200, 200, 200, 200]);
    await fetch(`${url}/api/session`, { method: 'DELETE', headers: { ...page, cookie, 'content-type': 'application/json' } });
    await expect.poll(statuses).toEqual([401, 401, 401, 401]);
    lent.giveBack(gateway);
  });

  // only calls of the last half minute count, and a pause of the machine may be longer
  test(
    'do not ask a target whose rate limit another worker got, until the target is woken at any worker',
    { retry: 2 },
    async ({ expect }) => {
      const gateway = await lent.take();
      const { url } = gateway;
      const statuses = async (): Promise<Set<number>> =>
        new Set((await Promise.all([1, 2, 3, 4].map(() => chat(url, 'hello', { model: 'limited' })))).map(({ status }) => status));
      expect(await statuses()).toEqual(new Set([200]));
      expect((await chat(url, '[[status:429 retry-after:3600]]', { model: 'limited' })).status).toBe(429);
      await expect.poll(statuses).toEqual(new Set([429]));
      const shownOf = async (name: string): Promise<object[]> =>
        (JSON.parse((await ask(`${url}/api/targets`, { headers: admin })).text) as { data: { target: string }[] }).data.filter(
          ({ target }) => target === name,
        );
      expect(await shownOf('mock/limited')).toEqual([expect.objectContaining({ state: 'resting', calls: 4 })]);
      expect((await ask(`${url}/api/targets/wake?name=mock/limited`, { body: {}, headers: admin })).status).toBe(200);
      await expect.poll(statuses).toEqual(new Set([200]));
      // only one worker knows a name that a wildcard allowed
      expect((await chat(url, 'hi', { model: 'mock/foo' })).status).toBe(200);
      expect(await Promise.all([1, 2, 3, 4].map(() => shownOf('mock/foo')))).toEqual(
        [1, 2, 3, 4].map(() => [expect.objectContaining({ calls: 1 })]),
      );
      const woken = await Promise.all(
        Array.from({ length: 4 }, () => ask(`${url}/api/targets/wake?name=mock/foo`, { body: {}, headers: admin })),
      );
      expect(woken.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
      lent.giveBack(gateway);
    },
  );

  // a worker that gets no answer of the parent within half a second counts alone: a pause of the machine may cause this
  test(
    'know a key of the store as soon as another worker has made it, count it with the others, and know its end',
    { retry: 3 },
    async ({ expect }) => {
      const gateway = await lent.take();
      const { url } = gateway;
      const made = JSON.parse(
        (await ask(`${url}/api/keys`, { body: { name: 'team', limits: { requests_per_minute: 6 } }, headers: admin })).text,
      ) as { key: string };
      const statuses = async (): Promise<number[]> =>
        (
          await Promise.all(
            Array.from({ length: 8 }, () =>
              ask(`${url}/v1/chat/completions`, {
                body: { model: 'mock', messages: [{ role: 'user', content: 'hi' }] },
                headers: { authorization: `Bearer ${made.key}` },
              }),
            ),
          )
        )
          .map(({ status }) => status)
          .sort((a, b) => a - b);
      expect(await statuses()).toEqual([200, 200, 200, 200, 200, 200, 429, 429]);
      await fetch(`${url}/api/keys/team`, {
        method: 'PATCH',
        headers: { ...admin, 'content-type': 'application/json' },
        body: '{"disabled": true}',
      });
      expect(new Set(await statuses())).toEqual(new Set([401]));
      lent.giveBack(gateway);
    },
  );

  // a pause of the machine that is longer than lame_duck_ms hides the effect
  test('end at SIGTERM after their running requests, and leave no process', { retry: 2 }, async ({ expect }) => {
    const gateway = await lent.take();
    const workers = workersOf(gateway);
    const streams = await begun(gateway.url, '[[words:80]] [[pace:50]]');
    const ended = gateway.stop('SIGTERM');
    await expect.poll(async () => (await ask(`${gateway.url}/health/ready`)).status).toBe(503);
    expect((await Promise.all(streams.map((stream) => stream.text()))).map((text) => text.endsWith('data: [DONE]\n\n'))).toEqual([
      true,
      true,
      true,
      true,
    ]);
    expect(await ended).toBe(0);
    expect(workers.filter(isAlive)).toEqual([]);
    await expect(ask(`${gateway.url}/health/live`)).rejects.toThrow(/ECONNREFUSED/);
  });
});
