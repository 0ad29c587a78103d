/** metadata/headers: the headers X-Gateway-* become metadata, within limits and without errors. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EARLY } from '../../../core/pipeline/hooks.ts';
import { withHeaders } from '../../../plugins/metadata/headers.ts';
import { oneUpstream, quietPlugins } from '../../_kit/gateway.ts';
import { answers } from '../../_kit/upstream.ts';
import { gatewayOf, probe, provider } from '../../core/scene.ts';

const limits = { max_entries: 32, max_length: 256 };
const read = (headers: Record<string, string>, key: Record<string, string> = {}): Record<string, string> => ({
  ...withHeaders(key, headers, limits).metadata,
});

describe('metadata/headers', () => {
  it.each<[string, Record<string, string>, Record<string, string>]>([
    ['takes what follows the prefix', { 'x-gateway-user-id': 'u1' }, { 'user-id': 'u1' }],
    ['leaves other headers alone', { 'x-gatewayuser': 'no', 'x-other': 'no', authorization: 'no' }, {}],
    ['leaves the bare prefix alone', { 'x-gateway-': 'no' }, {}],
    ['keeps an empty value', { 'x-gateway-a': '' }, { a: '' }],
    ['keeps the prefix inside a name', { 'x-gateway-x-gateway-a': '1' }, { 'x-gateway-a': '1' }],
  ])('%s', (_, headers, wanted) => expect(read(headers)).toEqual(wanted));

  it('treats __proto__ like any other name', () => {
    const { metadata } = withHeaders({}, { 'x-gateway-__proto__': 'x', 'x-gateway-constructor': 'y' }, limits);
    expect(Object.entries(metadata)).toEqual([
      ['__proto__', 'x'],
      ['constructor', 'y'],
    ]);
    expect(({} as Record<string, unknown>)['x']).toBe(undefined);
  });

  /** Node gives each byte of a header as one character. */
  const asBytes = (text: string): string => Buffer.from(text, 'utf8').toString('latin1');

  it.each<[string, string, string]>([
    ['UTF-8', asBytes('München 東京 😀'), 'München 東京 😀'],
    ['Latin-1', 'M\xfcnchen', 'München'],
    ['ASCII', 'Munich', 'Munich'],
    ['broken UTF-8', `${asBytes('ü')}\xff`, 'Ã¼ÿ'],
  ])('reads a value in %s', (_, sent, wanted) => expect(read({ 'x-gateway-city': sent })).toEqual({ city: wanted }));

  it('counts characters, and cuts none in half', () => {
    const { metadata, changes } = withHeaders({}, { 'x-gateway-a': asBytes('ü'.repeat(256)) }, limits);
    expect([metadata['a'], changes]).toEqual(['ü'.repeat(256), []]);
    expect(read({ 'x-gateway-a': asBytes(`${'x'.repeat(255)}😀`) })['a']).toBe('x'.repeat(255));
  });

  it('is found in the log by the text that the caller meant', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'metadata-test-'));
    const { chat, get, close } = await gatewayOf({
      ...oneUpstream((await provider()).url),
      plugins: [...quietPlugins, 'log/journal'],
      server: { data_dir: folder },
    });
    const id = (await chat({}, { 'x-gateway-city': asBytes('München') })).headers.get('x-request-id');
    const found = async (): Promise<unknown[]> =>
      ((await (await get(`/api/logs?meta.city=${encodeURIComponent('München')}`)).json()) as { data: { id: string }[] }).data.map(
        (record) => record.id,
      );
    await expect.poll(found).toEqual([id]);
    await close();
    rmSync(folder, { recursive: true });
  });

  it('returns the same object where there is no metadata', () => {
    const key = { team: 'search' };
    expect(withHeaders(key, {}, limits).metadata).toBe(key);
  });

  it('keeps any metadata within its limits, and says when it cuts', () => {
    const headers = fc.dictionary(
      fc.string({ maxLength: 300 }).map((name) => `x-gateway-${name}`),
      fc.string({ maxLength: 400 }),
      { maxKeys: 50 },
    );
    fc.assert(
      fc.property(headers, (sent) => {
        const { metadata, changes } = withHeaders({}, sent, limits);
        const entries = Object.entries(metadata);
        expect(entries.length).toBeLessThanOrEqual(32);
        for (const [name, value] of entries) expect(Math.max(name.length, value.length)).toBeLessThanOrEqual(256);
        const named = Object.entries(sent).filter(([name]) => name.length > 'x-gateway-'.length);
        expect(changes.length > 0).toBe(named.length > 32 || named.some(([name, value]) => name.length > 266 || value.length > 256));
      }),
    );
  });

  it('says that it cut, also where another plugin adds metadata', async () => {
    const adding = probe(({ hooks }) => hooks.metadata.tap((metadata) => ({ ...metadata, region: 'eu' })));
    const { chat, records } = await gatewayOf(oneUpstream((await provider()).url), { plugins: [adding] });
    await chat({}, { 'x-gateway-a': 'x'.repeat(300) });
    expect(records.map(({ metadata, adjustments }) => [metadata, adjustments])).toEqual([
      [{ a: 'x'.repeat(256), region: 'eu' }, [{ parameter: 'metadata', change: 'cut to 32 entries of 256 characters' }]],
    ]);
  });

  it('keeps what limits count by behind any number of other headers, so that no caller pushes it out and has no limit', async () => {
    const { chat } = await gatewayOf({
      ...oneUpstream((await provider()).url),
      limits: [{ by: 'meta.tenant-id', requests_per_minute: 1 }],
    });
    const others = Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`x-gateway-${at}`, 'v']));
    const asked = async (headers: object): Promise<number> => (await chat({}, { ...headers, 'x-gateway-tenant-id': 'acme' })).status;
    expect([await asked({}), await asked(others)]).toEqual([200, 429]);
  });

  it.each<[string, object]>([
    ['a rule', { routing: { models: { plain: { rules: [{ when: { 'meta.tenant-id': 'a*' }, candidates: ['plain'] }] } } } }],
    ['sticky routing', { routing: { default: { sticky: 'meta.tenant-id' } } }],
    ['an alert', { alerts: { rules: [{ errors_percent: 5, by: 'meta.tenant-id' }] } }],
  ])('keeps what %s reads behind any number of other headers, and no further one', async (_, config) => {
    const { chat, records } = await gatewayOf({ ...oneUpstream((await provider()).url), ...config });
    const others = Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`x-gateway-${at}`, 'v']));
    await chat({}, { ...others, 'x-gateway-tenant-id': 'acme', 'x-gateway-last': 'v' });
    const metadata = records[0]?.metadata ?? {};
    expect([Object.keys(metadata).length, metadata['tenant-id'], metadata['last']]).toEqual([33, 'acme', undefined]);
  });

  it('does not say that it cut where the only other entry is one that the key sets', () => {
    const own = Object.fromEntries(Array.from({ length: 32 }, (_, at) => [`x-gateway-${at}`, 'v']));
    const { changes } = withHeaders({ team: 'search' }, { ...own, 'x-gateway-team': 'x'.repeat(300) }, limits);
    expect(changes).toEqual(['team is what the key sets']);
  });

  it('keeps the values that the key of the caller sets, and says so of each', async () => {
    const { chat, records } = await gatewayOf({
      ...oneUpstream((await provider()).url),
      keys: [{ name: 'search', key: 'a-key-of-the-search-team', metadata: { Team: 'search', tier: 'gold' } }],
    });
    const authorization = 'Bearer a-key-of-the-search-team';
    await chat({}, { authorization, 'x-gateway-team': 'evil', 'x-gateway-user': 'ann', 'x-gateway-tier': 'free' });
    await chat({}, { authorization, 'x-gateway-team': 'search' });
    const ofKey = { team: 'search', tier: 'gold' };
    expect(records.map(({ metadata }) => metadata)).toEqual([{ ...ofKey, user: 'ann' }, ofKey]);
    const [changed, same] = records.map(({ adjustments }) => adjustments.map(({ change }) => change));
    expect(changed).toEqual(['team is what the key sets', 'tier is what the key sets']);
    expect(same).toEqual([]);
  });

  it.each<[string, Parameters<typeof probe>[0]]>([
    ['auth', ({ hooks }) => hooks.auth.tap({ stage: EARLY }, () => ({ key: 'search', models: null, metadata: { Team: 'search' } }))],
    ['metadata', ({ hooks }) => hooks.metadata.tap({ stage: EARLY }, (metadata) => ({ ...metadata, Team: 'search' }))],
  ])('keeps the value that a plugin sets at %s before it, also under a name with capitals', async (_, apply) => {
    const { chat, records } = await gatewayOf(oneUpstream((await provider()).url), { plugins: [probe(apply)] });
    await chat({}, { 'x-gateway-team': 'evil' });
    expect(records.map(({ metadata }) => ({ ...metadata }))).toEqual([{ team: 'search' }]);
  });

  it('may have a name with an underscore, by which limits and alerts count', async () => {
    const key = 'a-key-of-the-search-team';
    const by = 'meta.cost_center';
    const up = await provider(answers({ error: { message: 'no' } }, { status: 500 }));
    const { chat, get } = await gatewayOf({
      ...oneUpstream(up.url),
      keys: [{ name: 'search', key, metadata: { cost_center: 'search' } }],
      limits: [{ by, requests_per_minute: 1 }],
      alerts: { rules: [{ errors_percent: 5, min_requests: 1, by }] },
      server: { admin_key: 'the-admin-key-of-the-test' },
    });
    const statuses = [await chat({}, { authorization: `Bearer ${key}` }), await chat({}, { authorization: `Bearer ${key}` })].map(
      ({ status }) => status,
    );
    expect(statuses).toEqual([502, 429]);
    const alerts = await get('/api/alerts', { authorization: 'Bearer the-admin-key-of-the-test' });
    expect(await alerts.json()).toMatchObject({ data: [{ of: 'meta.cost_center search' }] });
  });

  it('may have a name with an underscore, by which requests stay on one target', async () => {
    const ids = ['a', 'b', 'c', 'd'];
    const { url } = await provider();
    const { chat } = await gatewayOf({
      providers: Object.fromEntries(ids.map((id) => [id, { dialect: 'openai-chat', base_url: url, api_key: 'k' }])),
      models: [{ id: 'plain', free: true, providers: ids.map((providerId) => ({ providerId })) }],
      routing: { default: { sticky: 'meta.cost_center' } },
    });
    const asked = async (values: string[]): Promise<number> =>
      new Set(
        await Promise.all(values.map(async (value) => (await chat({}, { 'x-gateway-cost_center': value })).headers.get('x-provider'))),
      ).size;
    const values = Array.from({ length: 20 }, (_, at) => `${at}`);
    expect([await asked(values), await asked(values.map(() => 'one'))]).toEqual([4, 1]);
  });

  it('flags a cut in the record, and answers the request', async () => {
    const { chat, records } = await gatewayOf(oneUpstream((await provider()).url));
    expect((await chat({}, { 'x-gateway-long': 'x'.repeat(300) })).status).toBe(200);
    expect(records[0]?.metadata['long']).toHaveLength(256);
    expect(records[0]?.adjustments).toEqual([{ parameter: 'metadata', change: 'cut to 32 entries of 256 characters' }]);
  });

  it('reads its limits from the config', async () => {
    const plugins = quietPlugins.map((use) => (use === 'metadata/headers' ? { use, with: { max_entries: 1, max_length: 3 } } : use));
    const { chat, records } = await gatewayOf({ ...oneUpstream((await provider()).url), plugins });
    await chat({}, { 'x-gateway-a': '12345', 'x-gateway-b': '1' });
    expect({ ...records[0]?.metadata }).toEqual({ a: '123' });
  });
});
