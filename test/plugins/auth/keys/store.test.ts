/**
 * Keys in the store, SQLite and PostgreSQL: they are made, changed and ended over
 * the API; other gateways see each change; known keys work without the store.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createApiKey } from '../../../../core/api-key.ts';
import { States } from '../../../../core/host/state.ts';
import { formatDollars, parseDollars } from '../../../../core/money.ts';
import { oneUpstream, testGateway } from '../../../_kit/gateway.ts';
import type { TestGateway } from '../../../_kit/gateway.ts';
import { startPostgres } from '../../../_kit/servers.ts';
import type { PostgresServer } from '../../../_kit/servers.ts';
import { answers, completion, startUpstream } from '../../../_kit/upstream.ts';
import type { ScriptedUpstream } from '../../../_kit/upstream.ts';
import { errorOf } from '../../../core/scene.ts';
import { folder } from '../../log/journal/scene.ts';

const admin = 'the-admin-key-of-the-test';
const yamlKey = 'key-in-the-yaml-0123456789';
let server: PostgresServer;
let up: ScriptedUpstream;
beforeAll(async () => {
  [server, up] = await Promise.all([startPostgres(), startUpstream(answers(completion('hello')))]);
});
afterAll(async () => void (await Promise.all([server.stop(), up.close()])));

interface Place {
  readonly dataDir: string;
  readonly url: string | null;
}

const start = (
  { dataDir, url }: Place,
  more: { server?: object; keys?: object[]; states?: States; clock?: () => number } = {},
): Promise<TestGateway> =>
  testGateway({
    config: oneUpstream(up.url, {
      server: { admin_key: admin, data_dir: dataDir, ...more.server },
      keys: more.keys ?? [{ name: 'yaml', key: yamlKey, limits: { budget: { dollars: '1000', per: 'day' } } }],
    }),
    use: [{ use: 'log/journal', with: url === null ? { store: 'sqlite' } : { store: 'postgres', url } }],
    ...(more.states && { states: more.states }),
    ...(more.clock && { clock: more.clock }),
  });

const asAdmin = { authorization: `Bearer ${admin}` };
/** Calls `/api/keys…`; returns the status and the body. */
async function api(
  { ask }: Pick<TestGateway, 'ask'>,
  method: NonNullable<Parameters<TestGateway['ask']>[1]>['method'],
  path = '',
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<{ status: number; body: any }> {
  const response = await ask(`/api/keys${path}`, {
    method,
    headers: { ...asAdmin, ...(method !== 'GET' && { 'content-type': 'application/json' }), ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: await response.json() };
}
const create = async (gateway: TestGateway, body: object): Promise<string> => (await api(gateway, 'POST', '', body)).body.key as string;
const chatWith = (gateway: TestGateway, key: string, more: object = {}): Promise<Response> =>
  gateway.chat(more, { authorization: `Bearer ${key}` });
const statusOf = async (gateway: TestGateway, key: string, more: object = {}): Promise<number> =>
  (await chatWith(gateway, key, more)).status;
const refusalOf = async (gateway: TestGateway, key: string): Promise<string> => {
  const { code, message } = await errorOf(await chatWith(gateway, key));
  return `${code}: ${message}`;
};
/** The cost of all records of a key, in dollars × 10⁻¹². */
const spentBy = ({ records }: TestGateway, name: string): bigint =>
  records.filter(({ key }) => key === name).reduce((sum, { cost }) => sum + (parseDollars(cost ?? '0') as bigint), 0n);
/** The count of a key's budget, in dollars × 10⁻¹². */
async function usedBy(gateway: TestGateway, name: string): Promise<bigint> {
  const { data } = (await (await gateway.get('/api/limits?by=key', asAdmin)).json()) as any;
  return parseDollars(data.find(({ value }: any) => value === name).used) as bigint;
}

describe.each(['sqlite', 'postgres'] as const)('keys in %s', (kind) => {
  const files = folder();
  let place: Place;
  let gateway: TestGateway;
  let now = Date.now();
  beforeAll(async () => {
    place = { dataDir: files.path, url: kind === 'postgres' ? server.database() : null };
    gateway = await start(place, { clock: () => now });
  });
  afterAll(async () => {
    await gateway.close();
    files.remove();
  });

  test('are made, shown once, and valid at once', async () => {
    const { status, body } = await api(gateway, 'POST', '', {
      name: 'team a/1',
      models: ['plain'],
      metadata: { Team: 'a' },
      log_bodies: false,
    });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      id: 'team a/1',
      name: 'team a/1',
      source: 'store',
      key: expect.stringMatching(/^gwk_/),
      prefix: body.key.slice(0, 16),
      models: ['plain'],
      metadata: { team: 'a' },
      log_bodies: false,
      limits: null,
      expires: null,
      disabled: false,
      writtenAt: null,
    });
    expect([
      await statusOf(gateway, body.key),
      await statusOf(gateway, body.key, { model: 'thinker' }),
      await statusOf(gateway, createApiKey().key),
    ]).toEqual([200, 403, 401]);
    expect(gateway.records.at(-3)).toMatchObject({ key: 'team a/1', metadata: { team: 'a' } });
    const shown = async (): Promise<any> => (await api(gateway, 'GET')).body.data.find(({ name }: any) => name === 'team a/1');
    await expect.poll(shown).toMatchObject({ lastUsedAt: expect.stringMatching(/^20/), use: { requests: 2 } });
    const dry = await gateway.chat({ model: 'thinker' }, { ...asAdmin, 'x-dry-run': 'true', 'x-dry-run-key': 'team a/1' });
    expect((await errorOf(dry)).code).toBe('model_not_allowed');
    const list = await api(gateway, 'GET');
    expect(list.body).toMatchObject({
      isOpen: false,
      store: 'good',
      data: [{ name: 'yaml', source: 'yaml', writtenAt: expect.stringMatching(/gateway\.config\.yaml:\d+$/) }, { name: 'team a/1' }],
    });
    expect(JSON.stringify(list.body)).not.toMatch(/gwk_\w{12}_|[0-9a-f]{64}/);
  });

  test.each(['constructor', 'toString', '__proto__'])('may have the name %s, which every object has', async (name) => {
    const { status, body } = await api(gateway, 'POST', '', { name, limits: { concurrent: 3, budget: { dollars: '3', per: 'day' } } });
    expect([status, await statusOf(gateway, body.key)]).toEqual([201, 200]);
    await expect
      .poll(async () => (await api(gateway, 'GET')).body.data.find((one: any) => one.name === name))
      .toMatchObject({ lastUsedAt: expect.stringMatching(/^20/) });
    expect((await api(gateway, 'DELETE', `/${name}`)).status).toBe(200);
  });

  test.each(['.', '..', 'audit'])('may not have the name %s, under which they could not be changed', async (name) => {
    expect(await api(gateway, 'POST', '', { name })).toMatchObject({ status: 400, body: { error: { param: 'name' } } });
  });

  test('made with a name alone may use all models, have their texts in the log, use no cache and no limits, and never expire', async () => {
    const { body } = await api(gateway, 'POST', '', { name: 'bare' });
    const bare = { models: null, metadata: {}, log_bodies: true, cache: false, reasoning_fields: null, limits: null, expires: null };
    expect(body).toMatchObject({ ...bare, disabled: false });
    const response = await chatWith(gateway, body.key);
    expect([response.status, response.headers.get('x-cache')]).toEqual([200, null]);
    await api(gateway, 'DELETE', '/bare');
  });

  test('have limits and budgets, which change while the gateway serves', async () => {
    const key = await create(gateway, { name: 'limited', limits: { requests_per_minute: 2, budget: { dollars: '0.000001', per: 'day' } } });
    expect(await refusalOf(gateway, key)).toContain('budget_exceeded');
    await api(gateway, 'PATCH', '/limited', { limits: { requests_per_minute: 2 } });
    const first = await chatWith(gateway, key);
    expect([first.status, first.headers.get('x-ratelimit-remaining-requests')]).toEqual([200, '1']);
    expect([await statusOf(gateway, key), await refusalOf(gateway, key)]).toEqual([200, expect.stringContaining('rate_limit_exceeded')]);
    await api(gateway, 'PATCH', '/limited', { limits: null });
    const free = await chatWith(gateway, key);
    expect([free.status, free.headers.get('x-ratelimit-limit-requests')]).toEqual([200, null]);
  });

  test('have in a new budget what they cost before it was set', async () => {
    const key = await create(gateway, { name: 'spender' });
    for (const _ of [1, 2, 3]) expect(await statusOf(gateway, key)).toBe(200);
    const spent = spentBy(gateway, 'spender');
    await api(gateway, 'PATCH', '/spender', { limits: { budget: { dollars: formatDollars(spent + 10_000_000_000n), per: 'day' } } });
    const reply = await chatWith(gateway, key, { max_tokens: 10 });
    expect([reply.status, Number(reply.headers.get('x-budget-remaining'))]).toEqual([200, expect.closeTo(0.01, 4)]);
    expect(await usedBy(gateway, 'spender')).toBeGreaterThanOrEqual(spent);
  });

  test('have in a budget that is set again what they cost while it was removed', async () => {
    const budget = { budget: { dollars: '1000', per: 'day' } };
    const key = await create(gateway, { name: 'freed', limits: budget });
    expect(await statusOf(gateway, key)).toBe(200);
    await api(gateway, 'PATCH', '/freed', { limits: null });
    for (const _ of [1, 2, 3]) expect(await statusOf(gateway, key)).toBe(200);
    await api(gateway, 'PATCH', '/freed', { limits: budget });
    await expect.poll(() => usedBy(gateway, 'freed')).toBe(spentBy(gateway, 'freed'));
  });

  test('are rotated with overlap, and without', async () => {
    const first = await create(gateway, { name: 'rotated' });
    const rotate = async (overlap?: string): Promise<any> =>
      (await api(gateway, 'POST', '/rotated/rotate', overlap === undefined ? undefined : { overlap })).body;
    const second = await rotate();
    expect(second.keys).toMatchObject([
      { prefix: second.key.slice(0, 16), expires: null },
      { prefix: first.slice(0, 16), expires: new Date(now + 86_400_000).toISOString() },
    ]);
    expect([await statusOf(gateway, first), await statusOf(gateway, second.key)]).toEqual([200, 200]);
    now += 86_400_000;
    expect([await refusalOf(gateway, first), await statusOf(gateway, second.key)]).toEqual([
      expect.stringMatching(/^invalid_api_key: The API key of "rotated" expired on /),
      200,
    ]);
    const third = await rotate('0');
    expect([await statusOf(gateway, second.key), await statusOf(gateway, third.key), third.keys.length]).toEqual([401, 200, 1]);
    expect((await api(gateway, 'POST', '/rotated/rotate', { overlap: 'long' })).body.error.param).toBe('overlap');
  });

  test('are disabled, enabled, ended by their date, and deleted', async () => {
    const key = await create(gateway, { name: 'ending' });
    const change = (more: object): Promise<unknown> => api(gateway, 'PATCH', '/ending', more);
    await change({ disabled: true });
    expect(await refusalOf(gateway, key)).toBe('invalid_api_key: The API key of "ending" is disabled.');
    await change({ disabled: false });
    expect(await statusOf(gateway, key)).toBe(200);
    await change({ expires: '2020-01-01' });
    expect(await refusalOf(gateway, key)).toBe('invalid_api_key: The API key of "ending" expired on 2020-01-01T00:00:00Z.');
    await change({ expires: null });
    expect(await statusOf(gateway, key)).toBe(200);
    expect(await api(gateway, 'DELETE', '/ending')).toEqual({ status: 200, body: { id: 'ending', deleted: true } });
    expect([await statusOf(gateway, key), (await api(gateway, 'DELETE', '/ending')).body.error.code]).toEqual([401, 'key_not_found']);
    expect(await statusOf(gateway, await create(gateway, { name: 'ending' }))).toBe(200);
  });

  test.each<[Parameters<typeof api>[1], string, unknown, number, string, string | null]>([
    ['POST', '', { name: 'yaml' }, 409, 'key_exists', 'name'],
    ['POST', '', { name: 'team a/1' }, 409, 'key_exists', 'name'],
    ['PATCH', '/yaml', { disabled: true }, 409, 'key_in_config', null],
    ['POST', '/yaml/rotate', {}, 409, 'key_in_config', null],
    ['DELETE', '/yaml', undefined, 409, 'key_in_config', null],
    ['PATCH', '/nobody', { disabled: true }, 404, 'key_not_found', null],
    ['PATCH', '/nobody', {}, 400, 'invalid_request', null],
    ['POST', '', { name: ' x' }, 400, 'invalid_value', 'name'],
    ['POST', '', { name: 'audit' }, 400, 'invalid_value', 'name'],
    ['POST', '', { name: 'x', model: ['plain'] }, 400, 'invalid_value', 'model'],
    ['POST', '', { name: 'x', models: [] }, 400, 'invalid_value', 'models'],
    ['POST', '', { name: 'x', metadata: { a: 1 } }, 400, 'invalid_type', 'metadata.a'],
    ['POST', '', { name: 'x', metadata: { ' ': 'a' } }, 400, 'invalid_value', 'metadata'],
    ['POST', '', { name: 'x', limits: {} }, 400, 'invalid_value', 'limits'],
    ['POST', '', { name: 'x', limits: { rpm: 3 } }, 400, 'invalid_value', 'limits.rpm'],
    ['POST', '', { name: 'x', limits: { concurrent: 0 } }, 400, 'invalid_value', 'limits.concurrent'],
    ['POST', '', { name: 'x', limits: { budget: { dollars: '1e9', per: 'day' } } }, 400, 'invalid_value', 'limits.budget.dollars'],
    ['POST', '', { name: 'x', limits: { budget: { dollars: '1', per: 'year' } } }, 400, 'invalid_value', 'limits.budget.per'],
    [
      'POST',
      '',
      { name: 'x', limits: { budget: { dollars: '1', per: 'day', unknwon: 'refuse' } } },
      400,
      'invalid_value',
      'limits.budget.unknwon',
    ],
    ['POST', '', { name: 'x', expires: '2027-02-30' }, 400, 'invalid_value', 'expires'],
    ['POST', '', { name: 'x', expires: '2027-01-31T25:00:00Z' }, 400, 'invalid_value', 'expires'],
    ['GET', '/audit?name=%00', undefined, 400, 'invalid_value', 'name'],
  ])('%s %s %j is refused with %d %s', async (method, path, body, status, code, param) => {
    const refused = await api(gateway, method, path, body);
    expect([refused.status, refused.body.error.code, refused.body.error.param]).toEqual([status, code, param]);
  });

  test.each([
    ['models', 'null means all models'],
    ['reasoning_fields', 'null means those of the server'],
  ])('an empty list of %s is refused, and the message says what null means', async (name, meaning) => {
    expect((await api(gateway, 'POST', '', { name: 'x', [name]: [] })).body.error.message).toContain(meaning);
  });

  test('are for the admin only, and are changed by JSON only', async () => {
    const own = { authorization: `Bearer ${yamlKey}` };
    expect([
      (await api(gateway, 'POST', '', { name: 'x' }, own)).status,
      (await api(gateway, 'GET', '', undefined, own)).status,
      (await gateway.get('/api/keys')).status,
    ]).toEqual([401, 401, 401]);
    expect((await api(gateway, 'POST', '', { name: 'x' }, { 'content-type': 'text/plain' })).body.error.code).toBe(
      'unsupported_media_type',
    );
    expect((await api(gateway, 'POST', '', { name: '' }, { 'content-type': 'application/vnd.api+json' })).body.error.param).toBe('name');
  });

  test('are on an audit list, with each change, its time, its address, and API, dashboard or command line', async () => {
    await create(gateway, { name: 'watched', limits: { concurrent: 3 } });
    await api(gateway, 'PATCH', '/watched', { disabled: true }, { 'sec-fetch-site': 'same-origin' });
    await api(gateway, 'PATCH', '/watched', { disabled: false, models: ['plain'] }, { 'user-agent': 'gateway/0.1.0' });
    await api(gateway, 'POST', '/watched/rotate', { overlap: '2h' });
    await api(gateway, 'DELETE', '/watched');
    const { data, next } = (await api(gateway, 'GET', '/audit?name=watched')).body;
    expect(data.map(({ action, by, details }: any) => [action, by, details])).toEqual([
      ['delete', 'api', {}],
      ['rotate', 'api', { prefix: expect.stringMatching(/^gwk_\w{12}$/), overlap_ms: 7_200_000 }],
      ['change', 'cli', { models: ['plain'], disabled: false }],
      ['disable', 'dashboard', { disabled: true }],
      ['create', 'api', { limits: { concurrent: 3 } }],
    ]);
    expect([data[0].at, data[0].address, next]).toEqual([new Date(now).toISOString(), '127.0.0.1', null]);
    const page = (await api(gateway, 'GET', `/audit?limit=2&before=${data[0].id}`)).body;
    expect([page.data.map(({ id }: any) => id), page.next]).toEqual([[data[1].id, data[2].id], data[2].id]);
  });

  test('are known to another gateway on the same store within seconds, and to a new gateway at once', async () => {
    const other = await start(place);
    const key = await create(gateway, { name: 'shared' });
    await expect.poll(() => statusOf(other, key)).toBe(200);
    await api(other, 'PATCH', '/shared', { disabled: true });
    expect(await statusOf(other, key)).toBe(401);
    // the list is read from the store, so a gateway that has read it knows every change
    await api(gateway, 'GET');
    expect(await statusOf(gateway, key)).toBe(401);
    // a gateway that does not know a change yet does not undo it
    await Promise.all([api(gateway, 'PATCH', '/shared', { disabled: false }), api(other, 'PATCH', '/shared', { models: ['plain'] })]);
    await other.close();
    const later = await start(place);
    expect((await api(later, 'GET')).body.data.find(({ name }: any) => name === 'shared')).toMatchObject({
      disabled: false,
      models: ['plain'],
    });
    expect(await statusOf(later, key)).toBe(200);
    await later.close();
  });

  test('are replaced by a key of the config with the same name', async () => {
    const key = await create(gateway, { name: 'twin' });
    const other = await start(place, { keys: [{ name: 'twin', key: 'twin-in-the-yaml-012345' }] });
    expect([await statusOf(other, key), await statusOf(other, 'twin-in-the-yaml-012345')]).toEqual([401, 200]);
    expect(
      (await api(other, 'GET')).body.data
        .filter(({ name }: any) => name === 'twin')
        .map(({ source, isShadowed }: any) => [source, isShadowed]),
    ).toEqual([
      ['yaml', false],
      ['store', true],
    ]);
    expect(other.lines.join('')).toContain('has the name of a key of the config');
    await other.close();
  });

  test('are enough for a gateway whose config has no keys', async () => {
    const own = { ...place, dataDir: kind === 'postgres' ? folder().path : place.dataDir };
    const guarded = await start(own, { keys: [], server: { require_keys: true, host: '0.0.0.0' } });
    const open = await start(own, { keys: [] });
    const key = await create(guarded, { name: 'only' });
    expect([(await guarded.chat({})).status, await statusOf(guarded, 'no-key-0123456789'), await statusOf(guarded, key)]).toEqual([
      401, 401, 200,
    ]);
    expect((await api(open, 'GET')).body.isOpen).toBe(true);
    await statusOf(open, key);
    expect(open.records.at(-1)?.key).toBe('only');
    expect([(await open.chat({})).status, open.records.at(-1)?.key]).toEqual([200, null]);
    await Promise.all([guarded.close(), open.close()]);
  });
});

test('known keys are valid while the store is away, over a reload too; no key can be made or changed, and an unknown key gets 503', async () => {
  const [files, others, states] = [folder(), folder(), new States()];
  // the gateways of the tests before have closed
  const url = server.database();
  // this key has no budget, because what was spent cannot be read while the store is away
  const keys = [{ name: 'yaml', key: yamlKey }];
  const gateway = await start({ dataDir: files.path, url }, { states, keys });
  const key = await create(gateway, { name: 'steady', limits: { requests_per_minute: 3 } });
  await server.kill();
  expect(await statusOf(gateway, key)).toBe(200);
  const reloaded = await start({ dataDir: files.path, url }, { states, keys });
  expect([await statusOf(reloaded, key), await statusOf(reloaded, key), await statusOf(reloaded, key)]).toEqual([200, 200, 429]);
  for (const [method, path, body] of [
    ['POST', '', '{"name":"x"}'],
    ['POST', '/steady/rotate', '{}'],
    ['PATCH', '/steady', '{"disabled":true}'],
    ['DELETE', '/steady', ''],
  ] as const) {
    const refused = await reloaded.ask(`/api/keys${path}`, { method, headers: { ...asAdmin, 'content-type': 'application/json' }, body });
    expect([refused.status, refused.headers.get('retry-after'), (await errorOf(refused)).code]).toEqual([503, '1', 'keys_unavailable']);
  }
  expect((await api(reloaded, 'GET')).body).toMatchObject({ store: 'away', data: [{ name: 'yaml' }, { name: 'steady' }] });
  const fresh = await start({ dataDir: others.path, url }, { keys });
  expect([await statusOf(fresh, yamlKey), await refusalOf(fresh, key), (await fresh.chat({})).status]).toEqual([
    200,
    expect.stringMatching(/^keys_unavailable: /),
    401,
  ]);
  await server.start();
  // a refused change was not made either
  await expect.poll(() => statusOf(fresh, key)).toBe(200);
  expect(await statusOf(fresh, createApiKey().key)).toBe(401);
  await Promise.all([gateway.close(), reloaded.close(), fresh.close()]);
  for (const one of [files, others]) one.remove();
});

test('a gateway that stops and has closed its store does not report the keys as unreadable', async () => {
  const files = folder();
  // the close comes between that of the log and that of the keys, and takes longer than the interval of the look-ups in the store
  writeFileSync(
    join(files.path, 'slow.mjs'),
    "export default { name: 'test/slow', summary: 'takes its time to close', apply: () => () => new Promise((resolve) => setTimeout(resolve, 2500)) };\n",
  );
  const config = oneUpstream(up.url, { server: { admin_key: admin, data_dir: files.path }, keys: [{ name: 'yaml', key: yamlKey }] });
  const gateway = await testGateway({ config, use: ['./slow.mjs', 'log/journal'], from: files.path });
  await gateway.close();
  expect(gateway.lines.filter((line) => line.includes('cannot be read'))).toEqual([]);
  files.remove();
});
