/** The log API: lists, single records, sums. */
import { afterEach, beforeEach, describe, expect, it, test } from 'vitest';
import { GatewayError } from '../../../../core/errors.ts';
import { tellReload } from '../../../../core/host/reloads/history.ts';
import { pluginContract } from '../../../contract/plugin.ts';
import { oneUpstream, testGateway } from '../../../_kit/gateway.ts';
import { at, logScene } from './scene.ts';
import type { Scene } from './scene.ts';

pluginContract({ use: 'endpoints/logs' });

let scene: Scene;
beforeEach(async () => {
  scene = await logScene();
});
afterEach(async () => await scene.close());

const ids = (body: { data: { id: string }[] }): string[] => body.data.map(({ id }) => id);

describe('the list', () => {
  it('has the newest first, without bodies', async () => {
    const [older, newer] = [scene.log.add({ createdAt: at(2) }), scene.log.add({ createdAt: at(1) })];
    const { status, body } = await scene.read('/api/logs');
    expect([status, ids(body), body.next]).toEqual([200, [newer.id, older.id], null]);
    expect(body.data[0]).not.toHaveProperty('request');
  });

  it('continues where a page ended', async () => {
    for (let minute = 5; minute > 0; minute--) scene.log.add({ createdAt: at(minute) });
    const first = (await scene.read('/api/logs?limit=3')).body;
    const rest = (await scene.read(`/api/logs?limit=3&cursor=${first.next}`)).body;
    expect([first.data.length, rest.data.length, rest.next]).toEqual([3, 2, null]);
    expect(new Set([...ids(first), ...ids(rest)]).size).toBe(5);
  });

  it('has 50 records by default', async () => {
    await scene.read('/api/logs');
    expect(scene.log.pages).toEqual([{ limit: 50, cursor: null }]);
  });

  it('accepts the filters of the grammar', async () => {
    scene.log.add({ createdAt: at(90) });
    scene.log.add({ createdAt: at(1), status: 429, outcome: 'failed', metadata: { 'tenant-id': 'acme' } });
    const slow = scene.log.add({ createdAt: at(1), durationMs: 3000, metadata: { 'tenant-id': 'acme' } });
    expect(ids((await scene.read('/api/logs?since=1h&meta.tenant-id=acme&status=ok&latency=%3E2s')).body)).toEqual([slow.id]);
  });

  it.each([
    ['/api/logs?limit=1&limit=3', 'limit'],
    ['/api/logs?sort=cost&sort=tokens', 'sort'],
    ['/api/stats?by=model&by=key', 'by'],
    ['/api/stats?format=csv&format=json', 'format'],
    ['/api/series?bucket=1h&bucket=1m', 'bucket'],
    ['/api/logs/export?format=csv&format=jsonl', 'format'],
  ])('refuses %s, because only one of its values would count', async (path, param) => {
    expect(await scene.read(path)).toMatchObject({
      status: 400,
      body: { error: { code: 'invalid_value', param, message: `"${param}" can be given once.` } },
    });
  });

  it.each(['limit=0', 'limit=1001', 'limit=many', 'limit='])('refuses %s', async (query) => {
    expect(await scene.read(`/api/logs?${query}`)).toMatchObject({
      status: 400,
      body: { error: { code: 'invalid_value', param: 'limit', message: expect.stringContaining('1 to 1000') } },
    });
  });

  it('names the wrong filter, and suggests a correction', async () => {
    expect(await scene.read('/api/logs?modle=x')).toMatchObject({
      status: 400,
      body: { error: { code: 'invalid_value', param: 'modle', message: expect.stringContaining('Did you mean "model"?') } },
    });
  });

  it('passes on the message of a store that cannot apply a filter', async () => {
    scene.log.fail(new GatewayError('invalid_value', 'That is too much.'));
    expect(await scene.read('/api/logs')).toMatchObject({
      status: 400,
      body: { error: { code: 'invalid_value', message: 'That is too much.' } },
    });
  });

  it('says when the store is away', async () => {
    scene.log.fail(new GatewayError('server_shutting_down', 'The store does not answer.'));
    expect(await scene.read('/api/logs')).toMatchObject({ status: 503, body: { error: { message: 'The store does not answer.' } } });
  });

  it('is not cached by browsers and proxies', async () => {
    expect((await scene.get('/api/logs')).headers.get('cache-control')).toBe('no-store');
  });
});

describe('one record', () => {
  it('has its bodies', async () => {
    const { id } = scene.log.add({ request: { model: 'plain' }, reasoningContent: 'because' });
    expect(await scene.read(`/api/logs/${id}`)).toMatchObject({
      status: 200,
      body: { id, request: { model: 'plain' }, reasoningContent: 'because' },
    });
  });

  it('is 404 where it does not exist', async () => {
    expect(await scene.read('/api/logs/0199')).toMatchObject({ status: 404, body: { error: { code: 'record_not_found' } } });
  });

  it('is the JSON of a log that has it as JSON, with a tag', async () => {
    const bytes = new TextEncoder().encode('{"id":"kept"}');
    Object.assign(scene.log, { getJson: async (id: string) => (id === 'kept' ? bytes : null) });
    const reply = await scene.get('/api/logs/kept');
    expect([await reply.text(), reply.headers.get('content-type')]).toEqual(['{"id":"kept"}', 'application/json']);
    const again = await scene.get('/api/logs/kept', { 'if-none-match': reply.headers.get('etag') ?? '' });
    expect(again.status).toBe(304);
    expect((await scene.get('/api/logs/lost')).status).toBe(404);
  });
});

describe('stats', () => {
  beforeEach(() => {
    scene.log.add({ createdAt: at(1), metadata: { team: 'a' }, cost: '0.5', durationMs: 100 });
    scene.log.add({ createdAt: at(2), metadata: { team: 'a' }, cost: '0.25', durationMs: 300 });
    scene.log.add({ createdAt: at(3), status: 502, outcome: 'failed', cost: null });
  });

  it('have one row for all requests', async () => {
    expect((await scene.read('/api/stats')).body.data).toMatchObject([{ value: null, requests: 3, errors: 1, cost: '0.75', unpriced: 1 }]);
  });

  it('are grouped by any metadata key, with a row for requests without it', async () => {
    expect((await scene.read('/api/stats?by=meta.team')).body.data).toMatchObject([
      { value: 'a', requests: 2, latencyP95Ms: 300 },
      { value: null, requests: 1 },
    ]);
  });

  it('accept the same filters', async () => {
    expect((await scene.read('/api/stats?by=model&status=error')).body.data).toMatchObject([{ value: 'plain', requests: 1 }]);
  });

  it('are a file for a spreadsheet, with the names of the JSON and without formulas', async () => {
    scene.log.add({ createdAt: at(4), metadata: { team: '=HYPERLINK("x")' }, usageEstimated: true });
    const { data } = (await scene.read('/api/stats?by=meta.team')).body;
    const response = await scene.get('/api/stats?by=meta.team&format=csv');
    expect([response.headers.get('content-type'), response.headers.get('content-disposition')]).toEqual([
      'text/csv; charset=utf-8; header=present',
      'attachment; filename="stats-2026-03-01T12-00-00.csv"',
    ]);
    const [head, ...rows] = (await response.text()).trimEnd().split('\r\n');
    expect(head).toBe(Object.keys(data[0]).join());
    expect(rows.map((row) => row.split(',').slice(0, 3).join()).sort()).toEqual([`"'=HYPERLINK(""x"")",1,0`, ',1,1', 'a,2,0']);
  });

  it('refuse an unknown format', async () => {
    expect(await scene.read('/api/stats?format=xlsx')).toMatchObject({
      status: 400,
      body: { error: { param: 'format', message: '"format" is json or csv.' } },
    });
  });

  it('refuse an unknown dimension', async () => {
    expect(await scene.read('/api/stats?by=modle')).toMatchObject({
      status: 400,
      body: { error: { param: 'by', message: expect.stringContaining('Did you mean "model"?') } },
    });
  });
});

describe('a series', () => {
  it('covers the last day by default', async () => {
    scene.log.add({ createdAt: at(60) });
    const { body } = await scene.read('/api/series');
    expect(body).toMatchObject({
      from: '2026-02-28T12:00:00.000Z',
      to: '2026-03-01T12:00:00.000Z',
      bucketMs: 900_000,
      data: [{ at: '2026-03-01T11:00:00.000Z', requests: 1 }],
    });
  });

  it('has buckets of the requested size', async () => {
    scene.log.add({ createdAt: at(10) });
    scene.log.add({ createdAt: at(20) });
    expect((await scene.read('/api/series?since=1h&bucket=1m&by=model')).body.data).toMatchObject([
      { at: at(20), value: 'plain' },
      { at: at(10), value: 'plain' },
    ]);
  });

  it('is a file for a spreadsheet, with the time of each point', async () => {
    scene.log.add({ createdAt: at(10) });
    const response = await scene.get('/api/series?since=1h&bucket=1m&format=csv');
    expect(response.headers.get('content-disposition')).toBe('attachment; filename="series-2026-03-01T12-00-00.csv"');
    expect(await response.text()).toMatch(/^at,value,requests,.*\r\n2026-03-01T11:50:00\.000Z,,1,.*\r\n$/);
  });

  it.each(['bucket=1s', 'bucket=soon', 'since=30d&bucket=1m'])('refuses %s', async (query) =>
    expect(await scene.read(`/api/series?${query}`)).toMatchObject({ status: 400, body: { error: { param: 'bucket' } } }),
  );
});

test('the metadata keys are listed, most used first', async () => {
  scene.log.add({ metadata: { team: 'a', country: 'de' } });
  scene.log.add({ metadata: { country: 'fr' } });
  expect((await scene.read('/api/metadata-keys')).body).toEqual({ data: ['country', 'team'] });
});

test('the facets list the values that a filter can have', async () => {
  scene.log.add({ model: 'plain' });
  expect((await scene.read('/api/facets')).body.data.model).toEqual([{ value: 'plain', count: 1 }]);
});

describe('the status', () => {
  it('shows the version and the state of the log', async () => {
    expect((await scene.read('/api/status')).body).toMatchObject({
      version: expect.any(String),
      health: { status: 'ok' },
      log: { connected: true, retentionDays: 30 },
      config: { models: 3, providers: [{ id: 'up', isOn: true }] },
    });
  });

  it('says that a change of the config is not used, but not why', async () => {
    const reload = async (): Promise<unknown> => (await scene.read('/api/status')).body.config.reload;
    tellReload(null);
    expect(await reload()).toBeNull();
    tellReload({ at: 5, problems: 'keys: a-secret' });
    const refused = await reload();
    tellReload({ at: 6, problems: null });
    const used = await reload();
    tellReload(null);
    expect([refused, used]).toEqual([
      { at: 5, isUsed: false },
      { at: 6, isUsed: true },
    ]);
  });

  it('shows no secret', async () => {
    const text = await (await scene.get('/api/status')).text();
    expect(text).not.toMatch(/up-key|a-caller-key|127\.0\.0\.1/);
  });
});

test('without a plugin that keeps a log, the API says so', async () => {
  const { get, close } = await testGateway({
    config: oneUpstream('http://127.0.0.1:9/v1', { plugins: ['endpoints/logs', 'dialects/openai-chat'] }),
  });
  const response = await get('/api/logs');
  expect([response.status, ((await response.json()) as any).error.message]).toEqual([404, expect.stringContaining('log/journal')]);
  expect(((await (await get('/api/status')).json()) as any).log).toBeNull();
  await close();
});
