import { readdirSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { listen } from '../../../../core/http/listen.ts';
import type { AnyPlugin } from '../../../../core/host/plugin.ts';
import { States } from '../../../../core/host/state.ts';
import type { LoggedDetail, StatsRow } from '../../../../core/log/store.ts';
import type { Store } from '../../../../plugins/log/journal/store/store.ts';
import { pathOf } from '../../../../plugins/log/journal/write/segments.ts';
import { quietPlugins, testGateway } from '../../../_kit/gateway.ts';
import type { TestGateway } from '../../../_kit/gateway.ts';
import { oneUpstream } from '../../../_kit/gateway.ts';
import { answers, completion, hangs, pause, said, startUpstream, streams } from '../../../_kit/upstream.ts';
import type { ScriptedUpstream } from '../../../_kit/upstream.ts';
import { probe } from '../../../core/scene.ts';
import { everything, folder, storeIn } from './scene.ts';

let place: ReturnType<typeof folder>;
let upstream: ScriptedUpstream;
let gateway: TestGateway | null = null;

beforeEach(async () => {
  place = folder();
  upstream = await startUpstream(answers(completion('hello', { reasoning_content: 'hm' })));
});
afterEach(async () => {
  await gateway?.close();
  gateway = null;
  await upstream.close();
  place.remove();
});

async function begin(options: object = {}, more: Record<string, unknown> = {}, plugins: readonly AnyPlugin[] = []): Promise<TestGateway> {
  gateway = await testGateway({
    plugins,
    config: oneUpstream(upstream.url, {
      server: { data_dir: place.path },
      plugins: [...quietPlugins, { use: 'log/journal', with: options }],
      ...more,
    }),
  });
  return gateway;
}

/** Reads the store once the gateway has closed. */
async function read<Result>(what: (store: Store) => Promise<Result>): Promise<Result> {
  await gateway?.close();
  gateway = null;
  const store = await storeIn(place.path);
  const result = await what(store);
  await store.close();
  return result;
}

/** All records, oldest first. */
const stored = async (): Promise<readonly LoggedDetail[]> =>
  await read(async (store) => (await store.exportRows(everything, { limit: 100 })).data.toReversed());

const summedUp = async (): Promise<StatsRow | undefined> =>
  await read(async (store) => (await store.stats(everything, { by: null, limit: 1 }))[0]);

/** The folders of all journals. */
const journals = (): string[] =>
  readdirSync(join(place.path, 'journal'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => join(place.path, 'journal', name));

const files = (path: string): string[] =>
  readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));

describe('log/journal', () => {
  test('gives the record of an answer by its id as soon as the answer is sent, however often the log is read', async () => {
    const { post, get } = await begin();
    const seen: number[] = [];
    for (let turn = 0; turn < 10; turn++) {
      const reply = await post({ model: 'plain', messages: [{ role: 'user', content: 'hi' }] });
      await reply.text();
      const record = await get(`/api/logs/${reply.headers.get('x-request-id')}`);
      await record.text();
      seen.push(record.status);
    }
    expect(seen).toEqual(Array<number>(10).fill(200));
  });

  test('returns the reasoning of answers that have reasoning, and none where no answer has it', async () => {
    const { post, get, records } = await begin();
    const read = async (...thoughts: readonly string[]): Promise<readonly unknown[]> => {
      const choices = thoughts.map((thought, index) => ({
        index,
        message: { role: 'assistant', content: 'Yes.', ...(thought !== '' && { reasoning_content: thought }) },
        finish_reason: 'stop',
      }));
      upstream.script(answers({ ...completion('Yes.'), choices }));
      const reply = await post({ model: 'plain', n: choices.length, messages: [{ role: 'user', content: 'hi' }] });
      await reply.text();
      const record = (await (await get(`/api/logs/${reply.headers.get('x-request-id')}`)).json()) as LoggedDetail;
      return [record.reasoningContent, records.at(-1)?.reasoningContent];
    };
    expect([await read('', ''), await read('', 'hm'), await read('hm', 'so')]).toEqual([
      [null, null],
      ['hm', 'hm'],
      ['hm\n\nso', 'hm\n\nso'],
    ]);
  });

  test('stores only the beginning of a caller’s long texts, also of a request that was only dispatched', async () => {
    const dispatched = Promise.withResolvers<void>();
    upstream.script(() => dispatched.resolve());
    const long = 'x'.repeat(1_000_000);
    const { post } = await begin({ bodies: false }, { routing: { models: { [long]: { candidates: ['plain'] } } } });
    const client = new AbortController();
    const left = expect(post({ model: long, messages: [{ role: 'user', content: 'hi' }] }, { signal: client.signal })).rejects.toThrow(
      'abort',
    );
    await dispatched.promise;
    expect(
      journals()
        .flatMap(files)
        .reduce((sum, file) => sum + statSync(file).size, 0),
    ).toBeLessThan(100_000);
    client.abort();
    await left;
  });

  test('does not count a request of an unknown caller as an error', async () => {
    const { get, chat } = await begin({}, { keys: [{ name: 'team', key: 'the-only-key-1234' }] });
    await get('/nowhere');
    await chat({});
    await chat({ model: 'nothing' }, { 'x-api-key': 'the-only-key-1234' });
    expect(await summedUp()).toMatchObject({ requests: 3, errors: 1 });
  });

  test('does not count a dry run as a request without a price', async () => {
    const { chat } = await begin();
    await chat({}, { 'x-dry-run': 'true' });
    expect(await summedUp()).toMatchObject({ requests: 1, unpriced: 0 });
  });

  test('does not count a request whose client left before a provider was asked as one without a price', async () => {
    const [asked, gone] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const slow = probe(({ hooks }) => {
      hooks.normalise.tapPromise(async (request) => {
        asked.resolve();
        await gone.promise;
        return request;
      });
    });
    const { post, records } = await begin({}, {}, [slow]);
    const client = new AbortController();
    const left = expect(post({ model: 'plain', messages: [{ role: 'user', content: 'hi' }] }, { signal: client.signal })).rejects.toThrow(
      'abort',
    );
    await asked.promise;
    client.abort();
    await left;
    await expect.poll(() => records).toMatchObject([{ outcome: 'gone', provider: null }]);
    gone.resolve();
    expect(await summedUp()).toMatchObject({ requests: 1, unpriced: 0 });
  });

  test('counts a failed request without a known cost as one without a price only where its provider may charge for it', async () => {
    const models = [{ id: 'plain', pricing: { prompt: '1', completion: '2' }, providers: [{ providerId: 'up' }] }];
    const { chat } = await begin({}, { models, routing: { default: { timeout_ms: { total: 300 }, retry: { same_target: 0 } } } });
    upstream.script(answers({ error: { message: 'no' } }, { status: 503 }));
    await chat({});
    // the gateway leaves when the time is over, and the provider goes on
    upstream.script(hangs);
    await chat({});
    expect(await summedUp()).toMatchObject({ requests: 2, errors: 2, unpriced: 1 });
  });

  test('keeps the count of lost records over a reload', async () => {
    const states = new States();
    const config = oneUpstream(upstream.url, {
      server: { data_dir: place.path },
      plugins: [
        ...quietPlugins,
        { use: 'log/journal', with: { store: 'postgres', url: 'postgres://nobody@127.0.0.1:1/none', max_bytes: 65_536 } },
      ],
    });
    const former = await testGateway({ config, states });
    const lost = async ({ get }: TestGateway): Promise<(string | undefined)[]> => {
      const text = await (await get('/metrics', { host: 'localhost' })).text();
      return ['records', 'bodies'].map((what) => new RegExp(`^gateway_log_${what}_dropped_total (.+)$`, 'm').exec(text)?.[1]);
    };
    // wide records fill the journal with few requests
    const wide = Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`x-gateway-m${at}`, 'x'.repeat(250)]));
    while ((await lost(former))[0] === '0') await former.chat({}, wide);
    const before = await lost(former);
    gateway = await testGateway({ config, states });
    expect(await lost(gateway)).toEqual(before);
    await former.close();
    expect(await lost(gateway)).toEqual(before);
  });

  test('stores the answer that the caller saw', async () => {
    const { chat, records } = await begin();
    const reply = await chat(
      { model: 'thinker', reasoning_effort: 'low', temperature: 0.5, own_field: 1 },
      { 'x-gateway-tenant-id': 'acme' },
    );
    const { served: _served, sent: _sent, request: _request, response: _response, ...logged } = records[0] as any;
    expect(await stored()).toEqual([
      {
        ...logged,
        door: 'chat',
        promptStart: 'hi',
        // the kept record still gets the duration of the reply
        timings: expect.any(Object),
        id: reply.headers.get('x-request-id'),
        metadata: { 'tenant-id': 'acme' },
        reasoningContent: 'hm',
        request: { model: 'thinker', messages: [{ role: 'user', content: 'hi' }], reasoning_effort: 'low', temperature: 0.5, own_field: 1 },
        response: { choices: [{ text: 'hello', reasoning: 'hm', finishReason: 'completed' }] },
      },
    ]);
  });

  test('stores streams, refusals, failures and requests whose client left', async () => {
    const { chat, post, get } = await begin();
    const leaving = new AbortController();
    upstream.script(streams(said('one', 'two')), answers({ error: { message: 'bad' } }, { status: 400 }), () => leaving.abort());
    await (await chat({ stream: true })).text();
    await chat({});
    await post({ model: 'plain', messages: [{ role: 'user', content: 'hi' }] }, { signal: leaving.signal }).catch(() => {});
    await chat({ model: 'unknown' });
    await post('{"model":');
    await get('/nowhere');
    const rows = await stored();
    expect(rows.map(({ outcome, stream }) => [outcome, stream])).toEqual([
      ['answered', true],
      ['failed', false],
      ['gone', false],
      ['refused', false],
      ['refused', false],
      ['refused', false],
    ]);
    expect(rows[0]).toMatchObject({ response: { choices: [{ text: 'onetwo' }] }, usage: { totalTokens: 15 } });
  });

  test('keeps no bodies of a request that asks so', async () => {
    const told: (string | null)[] = [];
    const watching: AnyPlugin = {
      name: 'test/watching',
      summary: 'watches the live log',
      schema: {},
      apply: ({ hooks, log }) => hooks.boot.tap(() => void log.reader()?.onRecord(({ promptStart }) => told.push(promptStart))),
    };
    const { chat } = await begin({}, {}, [watching]);
    await chat({}, { 'x-log-bodies': 'off' });
    await chat({});
    expect(told).toEqual([null, 'hi']);
    const rows = await stored();
    expect(rows.map(({ request, promptStart }) => [request === null, promptStart])).toEqual([
      [true, null],
      [false, 'hi'],
    ]);
    expect(rows[0]).toMatchObject({ response: null, reasoningContent: null, usage: { totalTokens: 15 } });
  });

  test('keeps no bodies of a key that is set so, and no bodies at all where the option is off', async () => {
    const keys = [
      { name: 'silent', key: 'one', log_bodies: false },
      { name: 'open', key: 'two' },
    ];
    const { chat } = await begin({}, { keys });
    await chat({}, { authorization: 'Bearer one' });
    await chat({}, { authorization: 'Bearer two' });
    expect((await stored()).map(({ key, request }) => [key, request === null])).toEqual([
      ['silent', true],
      ['open', false],
    ]);
    const without = await begin({ bodies: false }, { keys });
    await without.chat({}, { authorization: 'Bearer two' });
    expect((await stored()).at(-1)).toMatchObject({ key: 'open', promptStart: null, request: null });
  });

  test('writes no key, no header and no secret, and makes its files readable for its owner only', async () => {
    const { chat } = await begin({}, { keys: [{ name: 'mine', key: 'canary-of-the-caller' }] });
    await chat({}, { authorization: 'Bearer canary-of-the-caller', cookie: 'canary-cookie', 'x-request-id': 'no word, a sentence' });
    const during = files(place.path);
    await stored();
    for (const file of [...new Set([...during, ...files(place.path)])].filter(
      (path) => statSync(path, { throwIfNoEntry: false }) !== undefined,
    )) {
      expect(readFileSync(file).includes('canary'), file).toBe(false);
      expect(readFileSync(file).includes('up-key'), file).toBe(false);
      expect(statSync(file).mode & 0o077, file).toBe(0);
    }
  });

  test('leaves records out when the journal is full, and keeps serving', async () => {
    const { chat, lines } = await begin({ store: 'postgres', url: 'postgres://nobody@127.0.0.1:1/none', max_bytes: 65_536 });
    for (let at = 0; at < 60; at++) expect((await chat({ messages: [{ role: 'user', content: 'x'.repeat(2000) }] })).status).toBe(200);
    await gateway?.close();
    expect(
      files(join(place.path, 'journal'))
        .filter((file) => file.endsWith('.seg'))
        .reduce((sum, file) => sum + statSync(file).size, 0),
    ).toBeLessThan(80_000);
    expect(lines.filter((line) => line.includes('does not take records'))).toHaveLength(1);
    const back = await begin();
    const { data } = await (async () => {
      await back.chat({});
      return { data: await stored() };
    })();
    expect(data.length).toBeLessThan(61);
    expect(data.some(({ request, outcome }) => outcome === 'answered' && request === null)).toBe(true);
  });

  test('stores a budget beside the caller’s other settings of reasoning', async () => {
    const { chat } = await begin();
    await chat({ model: 'budgeted', reasoning: { max_tokens: 2000, exclude: true } });
    expect((await stored())[0]?.request).toMatchObject({ reasoning: { max_tokens: 2000, exclude: true } });
  });

  test.each([
    ['disk', 1],
    ['os', 0],
  ])('waits for the device where durability is disk, and not where it is os: %s', async (durability, times) => {
    const { chat, lines } = await begin({ durability });
    // the kernel accepts writes to /dev/null, and refuses to sync it
    const segment = pathOf(journals()[0] as string, 1);
    rmSync(segment);
    symlinkSync('/dev/null', segment);
    expect((await chat({})).status).toBe(200);
    expect(lines.filter((line) => line.includes('the journal cannot be written'))).toHaveLength(times);
    expect(await stored()).toHaveLength(times);
  });

  test.each([false, true])('stores a request once if its client leaves while it ends (streamed: %s)', async (stream) => {
    const [ending, mayEnd] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const slow = probe(({ hooks }) =>
      hooks.log.tapPromise('test/probe', async () => {
        ending.resolve();
        await mayEnd.promise;
      }),
    );
    upstream.script(stream ? streams(said('one')) : answers(completion('one')));
    const { gateway: running, records } = await begin({}, {}, [slow]);
    const listening = await listen({ host: '127.0.0.1', port: 0, limits: running.config.server.limits, service: () => running });
    const leaving = new AbortController();
    const body = JSON.stringify({ model: 'plain', stream, messages: [{ role: 'user', content: 'hi' }] });
    const reply = fetch(`${listening.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
      signal: leaving.signal,
    }).then((response) => response.text());
    await ending.promise;
    const [exchange] = running.running;
    const left = new Promise<void>((resolve) => exchange?.cancellation.onCancel(resolve));
    leaving.abort();
    await expect(reply).rejects.toThrow();
    await left;
    mayEnd.resolve();
    await listening.drain(1000, []);
    expect(records.map(({ outcome }) => outcome)).toEqual(['answered']);
    expect((await stored()).map(({ outcome }) => outcome)).toEqual(['answered']);
  });

  test('reports the state of the store in the health report', async () => {
    const { get } = await begin();
    expect(((await (await get('/')).json()) as any).health).toMatchObject({ status: 'ok', database: { connected: true } });
    expect(((await (await get('/?skip=database')).json()) as any).health.database).toEqual({ connected: false, error: 'skipped' });
  });

  test('reports a disk that cannot be written, and is ok again when it can', async () => {
    const { chat, get } = await begin();
    const health = async (): Promise<any> => ((await (await get('/')).json()) as any).health;
    const [journal] = journals();
    renameSync(journal as string, `${journal}-away`);
    // the gateway would make a missing folder again
    writeFileSync(journal as string, '');
    await chat({});
    expect(await health()).toMatchObject({ status: 'degraded', database: { connected: false, error: 'journal_not_written' } });
    rmSync(journal as string);
    renameSync(`${journal}-away`, journal as string);
    while ((await health()).status !== 'ok') await pause(20);
    expect(await stored()).toHaveLength(1);
  });

  test('leaves out bodies for which the memory has no room, and keeps the records after them', async () => {
    const { chat } = await begin({ max_bytes: 200_000 });
    await chat({ messages: [{ role: 'user', content: 'x'.repeat(180_000) }] });
    await chat({});
    expect((await stored()).map(({ request }) => request === null)).toEqual([true, false]);
  });

  test('starts a new database beside a damaged one', async () => {
    writeFileSync(join(place.path, 'logs.db'), 'this is no database, and long enough to be told from one'.repeat(20));
    const { chat } = await begin();
    await chat({});
    expect(await stored()).toHaveLength(1);
    expect(readdirSync(place.path).some((name) => name.startsWith('logs.db.broken-'))).toBe(true);
  });

  test('refuses PostgreSQL without a valid address, and an impossible data directory', async () => {
    await expect(begin({ store: 'postgres' })).rejects.toThrow(/needs `url`/);
    await expect(begin({ store: 'postgres', url: 'postgres://user@db-1,db-2/logs' })).rejects.toThrow(/`url` names several hosts/);
    const secret = 'p@ss:w/rd#1';
    const refusal = await begin({ store: 'postgres', url: `postgres://user:${secret}@127.0.0.1/logs` }).then(() => '', String);
    expect(refusal).toMatch(/`url` is no address of PostgreSQL: write postgres:.*%2F for \//);
    expect(refusal).not.toContain(secret);
    writeFileSync(join(place.path, 'file'), '');
    await expect(begin({}, { server: { data_dir: join(place.path, 'file') } })).rejects.toMatchObject({
      exitCode: 4,
      message: expect.stringContaining('data_dir'),
    });
  });

  test('lets two gateways of one process share a data directory, as at a reload', async () => {
    const first = await begin();
    await first.chat({});
    const second = await begin();
    await second.chat({});
    await first.chat({});
    await first.close();
    expect(await stored()).toHaveLength(3);
  });
});
