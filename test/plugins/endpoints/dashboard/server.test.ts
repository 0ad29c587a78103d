/** The files and data of the dashboard: small, cacheable, closed to other sites, and without secrets. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { loadConfig } from '../../../../config/load.ts';
import type { Config } from '../../../../core/config.ts';
import { told } from '../../../../config/written.ts';
import { tellReload } from '../../../../core/host/reloads/history.ts';
import { tellWritten } from '../../../../core/host/reloads/written.ts';
import { States } from '../../../../core/host/state.ts';
import { Secret } from '../../../../core/secret.ts';
import { encoded, readStaticFiles } from '../../../../plugins/endpoints/dashboard/static-files.ts';
import { pluginContract } from '../../../contract/plugin.ts';
import { loadPlugin, oneUpstream, quietPlugins, testGateway } from '../../../_kit/gateway.ts';
import type { TestGateway } from '../../../_kit/gateway.ts';
import { keeping, memoryLog } from '../../../_kit/log.ts';
import type { MemoryLog } from '../../../_kit/log.ts';

pluginContract({ use: 'endpoints/dashboard' });

let gateway: TestGateway;
let log: MemoryLog;

async function begin(server: object = {}, more: object = {}, states?: States): Promise<void> {
  log = memoryLog();
  const config = oneUpstream('http://127.0.0.1:9/v1', {
    server,
    plugins: ['endpoints/health', 'endpoints/logs', 'endpoints/dashboard', 'auth/keys', 'dialects/openai-chat'],
    ...more,
  });
  gateway = await testGateway({ config, plugins: [keeping(log)], ...(states && { states }) });
}
afterEach(async () => {
  await gateway?.close();
});

const body = async (response: Response): Promise<any> => await response.json();
const local = { host: 'localhost:4000' };
const post = async (
  path: string,
  content: unknown,
  headers: Record<string, string> = {},
  method: 'POST' | 'DELETE' = 'POST',
): Promise<Response> =>
  await gateway.ask(path, {
    method,
    headers: { 'content-type': 'application/json', host: 'localhost:4000', ...headers },
    ...(method === 'POST' && { body: JSON.stringify(content) }),
  });

/** Compressed bytes of all files that a browser loads before it shows a page. */
function weightOf(page: string): number {
  const { files } = readStaticFiles();
  const textOf = (path: string): string => String(files.get(path)?.bytes);
  const bare: Readonly<Record<string, string>> = { preact: 'vendor/preact.js', 'preact/hooks': 'vendor/hooks.js', htm: 'vendor/htm.js' };
  const opening =
    textOf('app.js')
      .split('\n')
      .find((line) => line.includes(page)) ?? '';
  const loaded = new Set([
    'early.js',
    'styles.css',
    'styles/print.css',
    ...Array.from(opening.matchAll(/withStyles\('(\w+)'/g), ([, name]) => `styles/${name}.css`),
  ]);
  const load = (path: string): void => {
    if (loaded.has(path)) return;
    loaded.add(path);
    for (const [, specifier = ''] of textOf(path).matchAll(/^import .*from ['"]([^'"]+)['"];$/gm)) {
      load(bare[specifier] ?? new URL(specifier, `http://x/${path}`).pathname.slice(1));
    }
  };
  load('app.js');
  load(page);
  const parts = [...loaded].map((path) => files.get(path)).filter((file) => file !== undefined);
  expect(parts).toHaveLength(loaded.size);
  return parts.reduce((sum, file) => sum + encoded(file, 'gzip').length, 0);
}

describe('the page', () => {
  const pages = [...readStaticFiles().files.keys()].filter((path) => path.startsWith('pages/'));

  test.each(pages)('%s loads less than 60 kB, compressed', (page) => {
    expect(weightOf(page)).toBeLessThan(60_000);
  });

  test.each([
    ['', 'overview', 'metrics'],
    ['/logs', 'logs', 'log-table'],
    ['/logs/some-id', 'request', 'waterfall'],
    ['/models', 'models', 'sort'],
  ])('at /dashboard%s names all of its files', async (path, page, part) => {
    await begin();
    const fetched = Array.from(
      (await (await gateway.get(`/dashboard${path}`, local)).text()).matchAll(
        /modulepreload" href="[^"]*\/((?:pages|parts|vendor)\/[^"]+)/g,
      ),
      ([, file]) => file,
    );
    expect(fetched).toEqual(expect.arrayContaining([`pages/${page}.js`, `parts/${part}.js`, 'vendor/preact.js']));
    expect(fetched.filter((file) => file?.startsWith('pages/'))).toHaveLength(1);
  });

  test('allows nothing from other sites', async () => {
    await begin();
    const { headers } = await gateway.get('/dashboard', local);
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/unsafe|\*/);
    expect(Object.fromEntries(headers)).toMatchObject({
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'cache-control': 'no-store',
    });
  });

  test('makes no markup from text anywhere', () => {
    const own = [...readStaticFiles().files].filter(([path]) => !path.startsWith('vendor/') && path.endsWith('.js'));
    for (const [path, { bytes }] of own) {
      expect([path, /innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function/.test(String(bytes))]).toEqual([
        path,
        false,
      ]);
    }
  });

  test('keeps each of its files small', () => {
    for (const [path, { bytes }] of readStaticFiles().files) {
      if (!path.startsWith('vendor/')) expect([path, String(bytes).split('\n').length <= 300]).toEqual([path, true]);
    }
  });
});

describe('a file of the page', () => {
  test('is cached for ever, and not sent again', async () => {
    await begin();
    const path = /src="([^"]+app\.js)"/.exec(await (await gateway.get('/dashboard', local)).text())?.[1] as string;
    const first = await gateway.get(path, { 'accept-encoding': 'gzip, br' });
    expect(first.headers.get('cache-control')).toContain('immutable');
    expect(first.headers.get('content-encoding')).toBe('br');
    const plain = await (await gateway.get(path)).text();
    expect(String(brotliDecompressSync(Buffer.from(await first.arrayBuffer())))).toBe(plain);
    expect(String(gunzipSync(Buffer.from(await (await gateway.get(path, { 'accept-encoding': 'gzip, br;q=0' })).arrayBuffer())))).toBe(
      plain,
    );
    const again = await gateway.get(path, { 'accept-encoding': 'gzip, br', 'if-none-match': first.headers.get('etag') as string });
    expect([again.status, await again.text()]).toEqual([304, '']);
  });

  test('of another version is not cached, because a new gateway may have it soon', async () => {
    await begin();
    const response = await gateway.get('/dashboard/assets/another/app.js', local);
    expect([response.status, response.headers.get('cache-control')]).toEqual([404, 'no-store']);
  });

  test.each(['../index.ts', '..%2findex.ts', '%2e%2e/%2e%2e/package.json', 'parts/', 'index.ts', 'views.ts', '/etc/passwd'])(
    'is not found at %s',
    async (path) => {
      await begin();
      const response = await gateway.get(`/dashboard/assets/x/${path}`, local);
      const text = await response.text();
      expect(text).not.toMatch(/import \{|"name": "model-gateway"|root:/);
    },
  );
});

describe('access to the dashboard', () => {
  test.each([
    '/api/views/overview',
    '/api/views/logs',
    '/api/views/breakdown',
    '/api/views/spend',
    '/api/views/conversations',
    '/api/views/conversation?of=x',
    '/api/views/request/x',
    '/api/views/typical',
    '/api/providers',
    '/api/keys',
    '/api/models',
    '/api/config',
    '/api/config/file?name=x',
  ])('%s needs the admin key', async (path) => {
    await begin({ admin_key: 'the-admin-key-of-the-test' });
    expect((await gateway.get(path, local)).status).toBe(401);
    expect((await gateway.get(path, { ...local, authorization: 'Bearer wrong' })).status).toBe(401);
    expect((await gateway.get(path, { ...local, authorization: 'Bearer the-admin-key-of-the-test' })).status).not.toBe(401);
  });

  test('a browser signs in once, by a cookie that scripts cannot read', async () => {
    await begin({ admin_key: 'the-admin-key-of-the-test' });
    const response = await post('/api/session', { key: 'the-admin-key-of-the-test' }, { 'sec-fetch-site': 'same-origin' });
    const cookie = response.headers.get('set-cookie') ?? '';
    expect(response.status).toBe(200);
    expect(cookie).toMatch(/; Max-Age=43200; HttpOnly; SameSite=Strict$/);
    expect(cookie).not.toContain('the-admin-key-of-the-test');
    const session = cookie.split(';')[0] as string;
    expect((await gateway.get('/api/config', { ...local, cookie: session })).status).toBe(200);
    expect((await gateway.get('/api/config', { ...local, cookie: `${session}x` })).status).toBe(401);
    const out = await post('/api/session', null, { 'sec-fetch-site': 'same-origin' }, 'DELETE');
    expect(out.headers.get('set-cookie')).toContain('Max-Age=0');
  });

  test.each([
    ['another site', { 'sec-fetch-site': 'cross-site' }, 403],
    ['another origin', { origin: 'https://elsewhere.example' }, 403],
    ['a form', { 'content-type': 'text/plain', 'sec-fetch-site': 'same-origin' }, 415],
  ])('no browser can sign in from %s', async (_, headers, status) => {
    await begin({ admin_key: 'the-admin-key-of-the-test' });
    expect((await post('/api/session', { key: 'the-admin-key-of-the-test' }, headers)).status).toBe(status);
  });

  test('signing out ends the session for all copies of its cookie, and no other session', async () => {
    const states = new States();
    await begin({ admin_key: 'the-admin-key-of-the-test' }, {}, states);
    const signIn = async (): Promise<string> =>
      ((await post('/api/session', { key: 'the-admin-key-of-the-test' })).headers.get('set-cookie') ?? '').split(';')[0] as string;
    const [mine, other] = [await signIn(), await signIn()];
    expect((await post('/api/session', null, { cookie: mine }, 'DELETE')).status).toBe(200);
    const former = gateway;
    const statuses = async (): Promise<number[]> => [
      (await gateway.get('/api/config', { ...local, cookie: mine })).status,
      (await gateway.get('/api/config', { ...local, cookie: other })).status,
    ];
    expect(await statuses()).toEqual([401, 200]);
    await begin({ admin_key: 'the-admin-key-of-the-test' }, {}, states);
    expect(await statuses()).toEqual([401, 200]);
    await former.close();
  });

  test('a page at another port of the host cannot sign a user out, or keep a session from its end, by a cookie of the same name', async () => {
    await begin({ admin_key: 'the-admin-key-of-the-test' });
    const mine = ((await post('/api/session', { key: 'the-admin-key-of-the-test' })).headers.get('set-cookie') ?? '').split(
      ';',
    )[0] as string;
    // browsers send the cookie with the longer path first
    const cookie = `gateway_admin=made-up; ${mine}`;
    expect((await gateway.get('/api/config', { ...local, cookie })).status).toBe(200);
    await post('/api/session', null, { cookie }, 'DELETE');
    expect((await gateway.get('/api/config', { ...local, cookie: mine })).status).toBe(401);
  });

  test('another site cannot sign a user out', async () => {
    await begin({ admin_key: 'the-admin-key-of-the-test' });
    const cookie = ((await post('/api/session', { key: 'the-admin-key-of-the-test' })).headers.get('set-cookie') ?? '').split(
      ';',
    )[0] as string;
    expect((await post('/api/session', null, { cookie, 'sec-fetch-site': 'cross-site' }, 'DELETE')).status).toBe(403);
    expect((await gateway.get('/api/config', { ...local, cookie })).status).toBe(200);
  });
});

describe('the data of the dashboard', () => {
  test('show no secret', async () => {
    await begin(
      { admin_open: true },
      {
        keys: [{ name: 'web', key: 'a-very-secret-key', metadata: { team: 'web' } }],
        alerts: { webhook: 'https://hooks.example/hidden-password', rules: [{ provider_down: true }] },
      },
    );
    tellReload({ at: 1, problems: 'gateway.config.yaml:3:5 keys: wrong\n  3 | key: a-leaked-key\n    |      ^^^\n' });
    const texts = await Promise.all(
      ['/api/providers', '/api/keys', '/api/models', '/api/config'].map(async (path) => await (await gateway.get(path, local)).text()),
    );
    expect(texts.join('')).not.toMatch(/up-key|a-very-secret-key|hidden-password|a-leaked-key|[0-9a-f]{64}/);
    expect(texts.join('')).toContain('gateway.config.yaml:3:5 keys: wrong');
  });

  test('show no secret of a plugin, at any place', async () => {
    const plugins = [
      'endpoints/dashboard',
      'dialects/openai-chat',
      { use: 'normalise/continuity', with: { redis_url: 'redis://:hidden-password@127.0.0.1:1/3' } },
      {
        use: 'log/otel',
        with: { endpoint: 'http://who:hidden-password@127.0.0.1:1/otlp?key=hidden-token', headers: { 'x-team': 'hidden-token' } },
      },
    ];
    await begin({}, { plugins });
    const text = await (await gateway.get('/api/config', local)).text();
    expect(text).not.toMatch(/hidden/);
    expect(text).toContain('redis://127.0.0.1:1/3');
  });

  test('show no secret of the file, and only files of the config', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gateway-written-'));
    const file = join(folder, 'gateway.config.yaml');
    writeFileSync(
      file,
      'providers: { up: { dialect: openai-chat, base_url: "http://127.0.0.1:9/v1", api_key: up-key-in-the-file } } # up-key\nmodels: []\nplugnis: [sk-S3CRETK9]\n',
    );
    told(await loadConfig(file, { env: {}, loadPlugin, shippedPlugins: quietPlugins }));
    onTestFinished(() => (tellWritten(null), rmSync(folder, { recursive: true })));
    await begin();
    const { files, findings } = await body(await gateway.get('/api/config', local));
    expect(files).toEqual([file]);
    expect(findings).toMatchObject([{ line: 3, path: 'plugnis', isFault: true }]);
    const { text } = await body(await gateway.get(`/api/config/file?name=${encodeURIComponent(file)}`, local));
    // the running gateway has the key "up-key", and a comment of the file has it too
    expect(text).toBe(
      'providers: { up: { dialect: openai-chat, base_url: "http://127.0.0.1:9/v1", api_key: **** } } # ****\nmodels: []\nplugnis: [****]\n',
    );
    for (const name of ['/etc/passwd', join(folder, '.env'), `${file}/../.env`, '']) {
      expect((await gateway.get(`/api/config/file?name=${encodeURIComponent(name)}`, local)).status).toBe(400);
    }
  });

  test('have the changes of each reload, without a secret', async () => {
    await begin();
    onTestFinished(() => tellReload(null));
    tellReload(null);
    const configWith = (adminKey: Secret | null): Config => ({ hash: 'another', server: { adminKey }, keys: [] }) as unknown as Config;
    tellReload({ at: 1, problems: null }, { before: configWith(null), after: configWith(new Secret('a-leaked-key')) });
    tellReload({ at: 2, problems: 'f:1:1 providers.a.api_key: "sk-S3CRETK9" is wrong' });
    const answer = await (await gateway.get('/api/config', local)).text();
    expect(answer).not.toMatch(/a-leaked-key|S3CRET/);
    expect(JSON.parse(answer).reloads).toMatchObject([
      { at: 2, hash: null, changes: null, problems: expect.stringContaining('is wrong') },
      { at: 1, hash: 'another', changes: { shown: [{ path: 'server.adminKey', before: 'null', after: '"[redacted]"' }], more: 0 } },
    ]);
  });

  test.each(['providers.openai: expected map, got string "sk-S3CRETK9"', 'providers.a.base_url: "htp://S3CRETF/v1" does not fit'])(
    'show no value of a refused config: %s',
    async (line) => {
      await begin();
      tellReload({ at: 1, problems: `gateway.config.yaml:3:5 ${line}\n  hint: did you mean "models"?` });
      const { reload } = await body(await gateway.get('/api/config', local));
      expect(reload.problems).not.toMatch(/S3CRET/);
      expect(reload.problems).toMatch(/^gateway\.config\.yaml:3:5 providers\..*did you mean "models"\?$/s);
    },
  );

  test('have the results of a provider since the start, also after a change of the config', async () => {
    const states = new States();
    await begin({}, { plugins: [...quietPlugins, 'endpoints/dashboard'] }, states);
    await gateway.chat({ model: 'plain' });
    const former = gateway;
    await begin({}, {}, states);
    await former.close();
    expect((await body(await gateway.get('/api/providers', local))).data).toMatchObject([{ id: 'up', seen: { failures: 1 } }]);
  });

  test('have the config also while the store is away', async () => {
    await begin();
    log.fail(new Error('away'));
    expect((await body(await gateway.get('/api/providers', local))).data).toMatchObject([{ id: 'up', isOn: true, use: null }]);
    expect((await body(await gateway.get('/api/models', local))).data).toHaveLength(3);
  });

  test('the overview shows values of a metadata key that has a name, also where a key without one is used more', async () => {
    await begin();
    log.add({ metadata: { '': 'x', team: 'search' } });
    log.add({ metadata: { '': 'x' } });
    for (const query of ['', '?meta=']) {
      const view = await body(await gateway.get(`/api/views/overview${query}`, local));
      expect(view).toMatchObject({ meta: 'team' });
    }
  });

  test('have the number of hits of the cache, where it is in use', async () => {
    await begin();
    log.add({});
    expect((await body(await gateway.get('/api/views/overview', local))).cacheHits).toBeNull();
    for (const cache of ['hit', 'hit', 'miss']) log.add({ fields: { cache } });
    expect((await body(await gateway.get('/api/views/overview', local))).cacheHits).toBe(2);
  });

  test('have all parts of a view in one answer', async () => {
    await begin();
    for (let at = 0; at < 3; at++) {
      log.add({ metadata: { team: at === 0 ? 'a' : 'b' }, ...(at === 2 && { status: 500, outcome: 'failed' as const }) });
    }
    expect(await body(await gateway.get('/api/views/overview', local))).toMatchObject({
      total: { requests: 3, errors: 1 },
      earlier: { requests: 0 },
      faults: [],
      attempts: expect.any(Array),
    });
    expect(await body(await gateway.get('/api/views/overview', local))).toMatchObject({
      meta: 'team',
      values: [
        { value: 'b', requests: 2 },
        { value: 'a', requests: 1 },
      ],
    });
    expect(await body(await gateway.get('/api/views/logs?limit=2', local))).toMatchObject({ data: [{}, {}], total: { requests: 3 } });
    expect(await body(await gateway.get('/api/views/breakdown?by=meta.team', local))).toMatchObject({
      by: 'meta.team',
      rows: [
        { value: 'b', requests: 2 },
        { value: 'a', requests: 1 },
      ],
    });
    expect((await gateway.get('/api/views/logs?latency=soon', local)).status).toBe(400);
  });

  test('have the typical times of a model at a provider before a given time', async () => {
    await begin();
    const at = Date.now();
    const add = (many: number, durationMs: number, hoursBefore: number, more: object = {}): void => {
      for (let one = 0; one < many; one++) {
        log.add({ durationMs, createdAt: new Date(at - hoursBefore * 3_600_000 - one).toISOString(), ...more });
      }
    };
    const typical = async (): Promise<unknown> =>
      await body(await gateway.get(`/api/views/typical?model=plain&provider=up&at=${at}`, local));
    add(19, 100, 0.5);
    add(30, 9000, 2, { provider: 'other' });
    add(30, 9000, 2, { outcome: 'failed', status: 500 });
    add(30, 9000, 2, { attempts: [{ outcome: 'upstream_error' }, { outcome: 'answered' }] as never });
    add(30, 9000, 25);
    expect(await typical()).toMatchObject({ hours: 24, typical: null });
    add(2, 400, 23);
    expect(await typical()).toMatchObject({ hours: 24, typical: { requests: 21, latencyP50Ms: 100, latencyP95Ms: 400 } });
    add(900, 100, 0.6);
    expect(await typical()).toMatchObject({ hours: 6, typical: { requests: 919, latencyP95Ms: 100 } });
    expect((await gateway.get('/api/views/typical?model=plain', local)).status).toBe(400);
  });

  test('have a comparison with the time before only if the log has that time', async () => {
    await begin();
    log.add({});
    const earlier = async (view: string, since: string): Promise<unknown> =>
      (await body(await gateway.get(`/api/views/${view}?since=${since}`, local))).earlier;
    expect(await earlier('overview', '15d')).toMatchObject({ requests: 0 });
    expect([await earlier('overview', '20d'), await earlier('breakdown', '20d')]).toEqual([null, []]);
  });
});
