/** log/metrics: a scrape is valid, agrees with the traffic, and does not grow with values that callers make up. */
import { gunzipSync } from 'node:zlib';
import * as fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { RequestRecord } from '../../../core/pipeline/context.ts';
import { tellReload } from '../../../core/host/reloads/history.ts';
import type { LogReader, StoreStatus } from '../../../core/log/store.ts';
import { version } from '../../../core/version.ts';
import { PluginMeters } from '../../../plugins/log/metrics/plugins.ts';
import { ProcessMeters } from '../../../plugins/log/metrics/process.ts';
import { RequestMeters } from '../../../plugins/log/metrics/requests.ts';
import { anyText } from '../../_kit/fuzz.ts';
import type { TestGateway } from '../../_kit/gateway.ts';
import { States } from '../../../core/host/state.ts';
import { oneUpstream, quietPlugins, testGateway, twoUpstreams } from '../../_kit/gateway.ts';
import { startRedis } from '../../_kit/servers.ts';
import { answers, completion, event, hangs, pause, said, standStill, streams } from '../../_kit/upstream.ts';
import type { Step } from '../../_kit/upstream.ts';
import { gatewayOf, probe, provider } from '../../core/scene.ts';
import { parseExposition, total } from './exposition.ts';
import type { Sample } from './exposition.ts';

const scrape = async ({ get }: TestGateway, headers: Record<string, string> = {}): Promise<Sample[]> =>
  parseExposition(await (await get('/metrics', headers)).text());

const withOptions = (options: object): { plugins: unknown[] } => ({
  plugins: quietPlugins.map((use) => (use === 'log/metrics' ? { use, with: options } : use)),
});

const waiting: StoreStatus = {
  connected: false,
  error: 'refused',
  waitingBytes: 4096,
  waitingRecords: 7,
  dropped: 2,
  bodiesDropped: 3,
  deadLettered: 1,
  lastDrainAt: null,
  retentionDays: 30,
  bodies: true,
};

/** A log whose store has this state. */
const keeping = (status: Partial<StoreStatus>) =>
  probe(({ log }) => log.provide({ status: async () => ({ ...waiting, ...status }) } as unknown as LogReader));

describe('a scrape', () => {
  it('is valid text of the exposition format, and no cache may keep it', async () => {
    const { get, chat } = await gatewayOf(oneUpstream((await provider()).url));
    await chat({});
    const response = await get('/metrics');
    expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(parseExposition(await response.text()).length).toBeGreaterThan(20);
  });

  it('has the state of the process', async () => {
    const samples = await scrape(await gatewayOf(oneUpstream((await provider()).url)));
    for (const name of [
      'process_cpu_seconds_total',
      'process_resident_memory_bytes',
      'process_virtual_memory_bytes',
      'process_start_time_seconds',
      'nodejs_heap_size_used_bytes',
    ]) {
      expect(total(samples, name)).toBeGreaterThan(0);
    }
    expect(total(samples, 'process_virtual_memory_bytes')).toBeGreaterThan(total(samples, 'process_resident_memory_bytes'));
    expect(total(samples, 'process_max_fds')).toBeGreaterThan(total(samples, 'process_open_fds'));
    expect(samples.filter(({ name }) => name.startsWith('nodejs_eventloop_lag_')).every(({ value }) => value >= 0)).toBe(true);
    expect(total(samples, 'gateway_build_info', { version })).toBe(1);
  });

  it('is compressed for clients that accept it', async () => {
    const { get } = await gatewayOf(oneUpstream((await provider()).url));
    for (const accepted of ['gzip', 'deflate, gzip;q=0.5', 'GZIP ; q=1.0']) {
      const response = await get('/metrics', { 'accept-encoding': accepted });
      expect(response.headers.get('content-encoding')).toBe('gzip');
      expect(total(parseExposition(String(gunzipSync(await response.bytes()))), 'gateway_build_info')).toBe(1);
    }
    for (const accepted of ['', 'br', 'gzip;q=0, identity', 'gzip; q=0.000']) {
      const response = await get('/metrics', { 'accept-encoding': accepted });
      expect(response.headers.get('content-encoding')).toBeNull();
      expect(total(parseExposition(await response.text()), 'gateway_build_info')).toBe(1);
    }
  });

  it('has the bytes that wait in the journal, if there is one', async () => {
    const samples = await scrape(
      await gatewayOf(oneUpstream((await provider()).url), { plugins: [keeping({ lastDrainAt: 1_700_000_000_500 })] }),
    );
    expect(total(samples, 'gateway_log_store_connected')).toBe(0);
    expect(total(samples, 'gateway_journal_bytes')).toBe(4096);
    expect(total(samples, 'gateway_journal_records')).toBe(7);
    expect(total(samples, 'gateway_journal_last_drain_timestamp_seconds')).toBe(1_700_000_000.5);
    expect(total(samples, 'gateway_log_records_dropped_total')).toBe(2);
    expect(total(samples, 'gateway_log_bodies_dropped_total')).toBe(3);
    expect(total(samples, 'gateway_log_records_dead_lettered_total')).toBe(1);
  });

  it('says whether Redis answers, where the config has one', async () => {
    const config = oneUpstream((await provider()).url);
    expect((await scrape(await gatewayOf(config))).some(({ name }) => name === 'gateway_redis_connected')).toBe(false);
    const redis = await startRedis();
    onTestFinished(() => redis.stop());
    const gateway = await gatewayOf({ ...config, redis: { url: redis.url } });
    const isConnected = async (): Promise<number> => total(await scrape(gateway), 'gateway_redis_connected');
    await expect.poll(isConnected).toBe(1);
    await redis.stop();
    await expect.poll(isConnected).toBe(0);
  });

  it('has no time of the last drain before the first drain', async () => {
    const samples = await scrape(await gatewayOf(oneUpstream((await provider()).url), { plugins: [keeping({ lastDrainAt: null })] }));
    expect(samples.some(({ name }) => name === 'gateway_journal_last_drain_timestamp_seconds')).toBe(false);
  });

  it('lists the providers that are on', async () => {
    const { url } = await provider();
    const config = oneUpstream(url, {
      providers: {
        up: { dialect: 'openai-chat', base_url: url, api_key: 'k' },
        away: { dialect: 'openai-chat', base_url: url, api_key: '${NOT_SET}' },
      },
    });
    const samples = await scrape(await gatewayOf(config));
    const on = samples.filter(({ name }) => name === 'gateway_provider_on').map(({ labels, value }) => [labels['provider'], value]);
    expect(Object.fromEntries(on)).toEqual({ up: 1, away: 0 });
  });

  it('says whether the last change of the config is used', async () => {
    // another test of this process may have changed a config
    tellReload(null);
    const gateway = await gatewayOf(oneUpstream((await provider()).url));
    const atStart = await scrape(gateway);
    expect(total(atStart, 'gateway_config_last_reload_successful')).toBe(1);
    expect(total(atStart, 'gateway_config_last_reload_timestamp_seconds')).toBe(total(atStart, 'process_start_time_seconds'));
    tellReload({ at: 1_700_000_000_000, problems: 'a fault' });
    const afterwards = await scrape(gateway);
    expect(total(afterwards, 'gateway_config_last_reload_successful')).toBe(0);
    expect(total(afterwards, 'gateway_config_last_reload_timestamp_seconds')).toBe(1_700_000_000);
    tellReload({ at: 1_700_000_060_000, problems: null });
    expect(total(await scrape(gateway), 'gateway_config_last_reload_successful')).toBe(1);
  });

  it('answers without the journal when the store does not answer', async () => {
    const journal = probe(({ log }) => log.provide({ status: () => Promise.reject(new Error('away')) } as unknown as LogReader));
    const samples = await scrape(await gatewayOf(oneUpstream((await provider()).url), { plugins: [journal] }));
    expect(samples.some(({ name }) => name.includes('journal'))).toBe(false);
  });
});

describe('the lag of the event loop', () => {
  it('shows in the next scrape how long a scrape blocked it', async () => {
    const meters = new ProcessMeters();
    meters.open();
    await pause(60);
    const longest = async (): Promise<number> => total(parseExposition(await meters.text()), 'nodejs_eventloop_lag_max_seconds');
    await longest();
    standStill(300);
    await pause(60);
    expect(await longest()).toBeGreaterThan(0.2);
    // a pause of this process counts too, until the next scrape
    await expect.poll(longest).toBeLessThan(0.2);
    meters.close();
  });
});

describe('the counters', () => {
  it('count answers, plain and streamed, with their tokens and their cost', async () => {
    const up = await provider(answers(completion('hello')), streams(said('he', 'llo')));
    const gateway = await gatewayOf(oneUpstream(up.url));
    await gateway.chat({});
    await (await gateway.chat({ stream: true })).text();
    const samples = await scrape(gateway);
    const of = { model: 'plain', provider: 'up' };
    expect(total(samples, 'gateway_requests_total', { ...of, status: '2xx', outcome: 'answered', stream: 'false' })).toBe(1);
    expect(total(samples, 'gateway_requests_total', { ...of, status: '2xx', outcome: 'answered', stream: 'true' })).toBe(1);
    expect(total(samples, 'gateway_request_duration_seconds_count', { model: 'plain', outcome: 'answered' })).toBe(2);
    expect(total(samples, 'gateway_time_to_first_token_seconds_count', { model: 'plain' })).toBe(1);
    expect(total(samples, 'gateway_attempt_duration_seconds_count', { provider: 'up', outcome: 'answered' })).toBe(2);
    expect(total(samples, 'gateway_attempt_time_to_first_token_seconds_count', { provider: 'up' })).toBe(1);
    expect(total(samples, 'gateway_tokens_total', { ...of, kind: 'prompt' })).toBe(20);
    expect(total(samples, 'gateway_tokens_total', { ...of, kind: 'completion' })).toBe(10);
    expect(total(samples, 'gateway_cost_dollars_total', of)).toBe(0.00004);
    expect(total(samples, 'gateway_attempts_total', { ...of, outcome: 'answered' })).toBe(2);
    expect(total(samples, 'gateway_requests_unpriced_total')).toBe(0);
    expect(total(samples, 'gateway_errors_total')).toBe(0);
  });

  it('count each caller by the name of its key', async () => {
    const keys = ['search', 'chat'].map((name) => ({ name, key: `the-key-of-${name}` }));
    const gateway = await gatewayOf(oneUpstream((await provider()).url, { keys, server: { admin_open: true } }));
    for (const name of ['search', 'chat', 'search']) await gateway.chat({}, { authorization: `Bearer the-key-of-${name}` });
    await gateway.chat({}, { authorization: 'Bearer made-up' });
    const samples = await scrape(gateway);
    expect(total(samples, 'gateway_requests_total', { key: 'search' })).toBe(2);
    expect(total(samples, 'gateway_tokens_total', { key: 'chat' })).toBe(15);
    expect(total(samples, 'gateway_cost_dollars_total', { key: 'chat' })).toBe(0.00002);
    expect(total(samples, 'gateway_requests_total', { key: '(none)' })).toBe(0);
    expect(total(samples, 'gateway_refused_total', { code: 'invalid_api_key' })).toBe(1);
  });

  it('count each token under one kind', async () => {
    const usage = {
      prompt_tokens: 100,
      completion_tokens: 50,
      total_tokens: 150,
      prompt_tokens_details: { cached_tokens: 30 },
      completion_tokens_details: { reasoning_tokens: 20 },
    };
    const gateway = await gatewayOf(oneUpstream((await provider(answers({ ...completion('a'), usage }))).url));
    await gateway.chat({});
    const samples = await scrape(gateway);
    const kinds = samples.filter(({ name }) => name === 'gateway_tokens_total').map(({ labels, value }) => [labels['kind'], value]);
    expect(Object.fromEntries(kinds)).toEqual({ prompt: 70, cached: 30, completion: 30, reasoning: 20 });
    expect(total(samples, 'gateway_tokens_total')).toBe(150);
  });

  it('count estimates apart from the provider’s counts', async () => {
    const up = await provider(answers({ ...completion('Half of an answer.'), usage: undefined }), answers(completion('a')));
    const gateway = await gatewayOf(oneUpstream(up.url));
    await gateway.chat({});
    await gateway.chat({});
    const samples = await scrape(gateway);
    const of = { model: 'plain', provider: 'up' };
    expect(total(samples, 'gateway_tokens_total', { ...of, kind: 'prompt', estimated: 'true' })).toBe(5);
    expect(total(samples, 'gateway_tokens_total', { ...of, kind: 'completion', estimated: 'true' })).toBe(5);
    expect(total(samples, 'gateway_tokens_total', { ...of, estimated: 'false' })).toBe(15);
    expect(total(samples, 'gateway_cost_dollars_total', { ...of, estimated: 'true' })).toBe(0.000015);
    expect(total(samples, 'gateway_cost_dollars_total', { ...of, estimated: 'false' })).toBe(0.00002);
  });

  it('mark a cost as estimated if it includes the estimate of a broken attempt', async () => {
    const torn = await provider(streams([event({ content: 'four words of it' })], { end: 'reset', everyMs: 5 }));
    const gateway = await gatewayOf(twoUpstreams(torn.url, (await provider()).url));
    await gateway.chat({});
    expect(gateway.records[0]).toMatchObject({
      outcome: 'answered',
      usageEstimated: false,
      attempts: [{ used: { usageEstimated: true } }, {}],
    });
    const samples = await scrape(gateway);
    expect(total(samples, 'gateway_cost_dollars_total', { estimated: 'true' })).toBe(Number(gateway.records[0]?.cost));
    expect(total(samples, 'gateway_cost_dollars_total', { estimated: 'false' })).toBe(0);
  });

  it('keep a cost with the estimate of a broken attempt apart from one without, whose other labels are the same', async () => {
    const torn = streams([event({ content: 'four words of it' })], { end: 'reset', everyMs: 5 });
    const down = answers({ error: { message: 'no' } }, { status: 503 });
    const gateway = await gatewayOf(twoUpstreams((await provider(torn, down)).url, (await provider()).url));
    await gateway.chat({});
    await gateway.chat({});
    const costs = gateway.records.map(({ cost }) => Number(cost));
    const samples = await scrape(gateway);
    expect(['true', 'false'].map((estimated) => total(samples, 'gateway_cost_dollars_total', { estimated }))).toEqual(costs);
  });

  it('count estimated thinking apart, and the rest of the completion', async () => {
    const gateway = await gatewayOf(oneUpstream((await provider(answers(completion('a', { reasoning_content: 'Hm.' })))).url));
    await gateway.chat({});
    const of = (await scrape(gateway))
      .filter(({ name }) => name === 'gateway_tokens_total')
      .map(({ labels, value }) => [labels['kind'], labels['estimated'], value]);
    expect(of).toEqual(
      expect.arrayContaining([
        ['prompt', 'false', 10],
        ['completion', 'true', 3],
        ['reasoning', 'true', 2],
      ]),
    );
  });

  it('count served requests without a known price apart from the cost', async () => {
    const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } };
    const gateway = await gatewayOf(oneUpstream((await provider(answers({ ...completion('a'), usage: undefined }))).url));
    await gateway.chat({ messages: [{ role: 'user', content: [image] }] });
    const samples = await scrape(gateway);
    expect(total(samples, 'gateway_requests_unpriced_total', { model: 'plain', provider: 'up' })).toBe(1);
    expect(samples.some(({ name }) => name === 'gateway_cost_dollars_total')).toBe(false);
  });

  it('count no answer without a provider as one without a known price', async () => {
    const canned = probe(({ hooks }) => hooks.settle.tap((record) => ({ ...record, provider: null, cost: null })));
    const gateway = await gatewayOf(oneUpstream((await provider()).url), { plugins: [canned] });
    await gateway.chat({});
    const samples = await scrape(gateway);
    expect(total(samples, 'gateway_requests_total', { outcome: 'answered', provider: '(none)' })).toBe(1);
    expect(total(samples, 'gateway_requests_unpriced_total')).toBe(0);
  });

  it('count a failed request for which its provider may charge an unknown amount as one without a known price', async () => {
    const models = [{ id: 'plain', pricing: { prompt: '1', completion: '2' }, providers: [{ providerId: 'up' }] }];
    const gateway = await gatewayOf({
      ...oneUpstream((await provider(hangs)).url),
      models,
      routing: { default: { timeout_ms: { total: 300 } } },
    });
    await gateway.chat({});
    expect(total(await scrape(gateway), 'gateway_requests_unpriced_total', { model: 'plain', provider: 'up' })).toBe(1);
  });

  it('count as one without a known price a failed request of which only an earlier provider may charge', async () => {
    const [one, two] = await Promise.all([provider(hangs), provider(answers({ error: { message: 'no' } }, { status: 503 }))]);
    const providers = ['one', 'two'].map((providerId) => ({ providerId }));
    const gateway = await gatewayOf({
      ...twoUpstreams(one.url, two.url),
      models: [{ id: 'plain', pricing: { prompt: '1', completion: '2' }, providers }],
      routing: { default: { strategy: 'ordered', retry: { same_target: 0 }, timeout_ms: { first_byte: 300 } } },
    });
    await gateway.chat({});
    expect(total(await scrape(gateway), 'gateway_requests_unpriced_total', { model: 'plain', provider: 'two' })).toBe(1);
  });

  it('count hits and misses of the cache, where it is in use', async () => {
    const gateway = await gatewayOf(oneUpstream((await provider()).url));
    await gateway.chat({});
    for (let asked = 0; asked < 3; asked++) await gateway.chat({}, { 'x-cache': 'on' });
    const samples = await scrape(gateway);
    expect(total(samples, 'gateway_cache_bytes')).toBeGreaterThan(200);
    expect([
      total(samples, 'gateway_cache_requests_total', { result: 'hit' }),
      total(samples, 'gateway_cache_requests_total', { result: 'miss' }),
      total(samples, 'gateway_attempts_total'),
    ]).toEqual([2, 1, 2]);
    expect(total(samples, 'gateway_cost_dollars_total')).toBeCloseTo(2 * 0.00002, 12);
  });

  it('count failures by code, and each attempt', async () => {
    const down = answers({ error: { message: 'no' } }, { status: 503 });
    const gateway = await gatewayOf(twoUpstreams((await provider(down)).url, (await provider(down, answers(completion('a')))).url));
    await gateway.chat({});
    await gateway.chat({});
    const samples = await scrape(gateway);
    expect(total(samples, 'gateway_requests_total', { outcome: 'failed', status: '5xx' })).toBe(1);
    expect(total(samples, 'gateway_requests_total', { outcome: 'answered', provider: 'two' })).toBe(1);
    expect(total(samples, 'gateway_errors_total', { model: 'plain', provider: 'two' })).toBe(1);
    expect(total(samples, 'gateway_attempts_total', { provider: 'one', model: 'plain' })).toBe(2);
    expect(total(samples, 'gateway_attempts_total', { provider: 'two', outcome: 'answered' })).toBe(1);
    expect(total(samples, 'gateway_requests_unpriced_total')).toBe(0);
  });

  // a pause of the machine makes both providers slow
  it('count the time of a slow provider for that provider, not for the one that answered after it', { retry: 2 }, async () => {
    const slowly: Step = async (response, asked) => {
      await pause(900);
      await answers({ error: { message: 'no' } }, { status: 503 })(response, asked);
    };
    const gateway = await gatewayOf(twoUpstreams((await provider(slowly)).url, (await provider(streams(said('hello')))).url));
    await (await gateway.chat({ stream: true })).text();
    const samples = await scrape(gateway);
    expect(total(samples, 'gateway_attempt_duration_seconds_sum', { provider: 'one', outcome: 'upstream_unavailable' })).toBeGreaterThan(
      0.89,
    );
    expect(total(samples, 'gateway_attempt_duration_seconds_sum', { provider: 'two', outcome: 'answered' })).toBeLessThan(0.8);
    expect(total(samples, 'gateway_attempt_time_to_first_token_seconds_sum', { provider: 'two' })).toBeLessThan(0.8);
    expect(total(samples, 'gateway_attempt_time_to_first_token_seconds_count')).toBe(1);
    expect(total(samples, 'gateway_time_to_first_token_seconds_sum', { model: 'plain' })).toBeGreaterThan(0.89);
    const byProvider = samples.filter(
      ({ name, labels }) => /^gateway_(?:request_duration|time_to_first_token)_seconds/.test(name) && 'provider' in labels,
    );
    expect(byProvider).toEqual([]);
  });

  it('count the slower one of two parallel attempts as outrun, not as failed', async () => {
    const gateway = await gatewayOf(
      twoUpstreams((await provider(hangs)).url, (await provider()).url, { routing: { default: { strategy: 'ordered', hedge_ms: 20 } } }),
    );
    expect((await gateway.chat({})).status).toBe(200);
    expect(total(await scrape(gateway), 'gateway_attempts_total', { provider: 'one', outcome: 'outrun' })).toBe(1);
  });

  it('leave out a provider’s counts that are too large to be true', async () => {
    const usage = { prompt_tokens: 1e308, completion_tokens: 1, total_tokens: 1e308 };
    const gateway = await gatewayOf(oneUpstream((await provider(answers({ ...completion('x'), usage }))).url));
    for (let at = 0; at < 2; at++) await gateway.chat({});
    expect(total(await scrape(gateway), 'gateway_tokens_total', { kind: 'completion' })).toBe(2);
    expect(total(await scrape(gateway), 'gateway_tokens_total')).toBeLessThan(100);
  });

  it('leave out a count that a plugin gives and that is too large to be exact', async () => {
    const generous = probe(({ hooks }) => hooks.settle.tap((record) => ({ ...record, usage: { ...record.usage, promptTokens: 2 ** 53 } })));
    const gateway = await gatewayOf(oneUpstream((await provider()).url), { plugins: [generous] });
    await gateway.chat({});
    expect(total(await scrape(gateway), 'gateway_tokens_total')).toBe(5);
  });

  it('count a failed attempt while its request still runs', async () => {
    const gateway = await gatewayOf(
      twoUpstreams((await provider(answers({ error: { message: 'no' } }, { status: 503 }))).url, (await provider(hangs)).url),
    );
    const leaving = new AbortController();
    const left = gateway.post({ model: 'plain', messages: [{ role: 'user', content: 'hi' }] }, { signal: leaving.signal }).catch(() => {});
    while (total(await scrape(gateway), 'gateway_attempts_total', { provider: 'one', outcome: 'upstream_unavailable' }) !== 1) {
      await pause(1);
    }
    expect(total(await scrape(gateway), 'gateway_requests_in_flight')).toBe(1);
    leaving.abort();
    await left;
  });

  it('have a bucket for the longest request that is allowed', async () => {
    const gateway = await gatewayOf(oneUpstream((await provider()).url));
    await gateway.chat({});
    const { total: longest } = gateway.gateway.config.routing.default.timeouts;
    const ends = (await scrape(gateway)).flatMap(({ name, labels }) =>
      name === 'gateway_request_duration_seconds_bucket' ? Number(labels['le']?.replace('+Inf', '0')) : [],
    );
    expect(Math.max(...ends) * 1000).toBeGreaterThan(longest);
  });

  it('count a refusal without the name of a model that the caller made up', async () => {
    const gateway = await gatewayOf(oneUpstream((await provider()).url));
    await gateway.chat({ model: 'made-up-by-a-caller' });
    await gateway.get('/nowhere');
    const response = await gateway.get('/metrics');
    const text = await response.text();
    const samples = parseExposition(text);
    expect(total(samples, 'gateway_errors_total', { code: 'model_not_found', model: '(none)', provider: '(none)' })).toBe(1);
    expect(total(samples, 'gateway_requests_total', { outcome: 'refused', status: '4xx' })).toBe(1);
    expect(text).not.toContain('made-up');
  });

  it('count all requests of unknown callers apart from the others', async () => {
    const gateway = await gatewayOf(oneUpstream((await provider()).url));
    for (let at = 0; at < 5; at++) await gateway.get('/nowhere');
    const samples = parseExposition(await (await gateway.get('/metrics')).text());
    expect(total(samples, 'gateway_refused_total', { code: 'unknown_url' })).toBe(5);
    expect([total(samples, 'gateway_errors_total', {}), total(samples, 'gateway_requests_total', {})]).toEqual([0, 0]);
  });

  it('count a code that only a provider knows as (other)', async () => {
    const up = await provider(
      answers({ error: { message: 'no', code: 'a_code_of_theirs', type: 'invalid_request_error' } }, { status: 400 }),
    );
    const gateway = await gatewayOf(oneUpstream(up.url));
    await gateway.chat({});
    const samples = await scrape(gateway);
    expect(gateway.records[0]?.error?.code).toBe('a_code_of_theirs');
    expect(total(samples, 'gateway_errors_total', { code: '(other)' })).toBe(1);
    expect(total(samples, 'gateway_attempts_total', { outcome: '(other)' })).toBe(1);
  });

  it('count requests in flight, and no more when the client has left', async () => {
    const gateway = await gatewayOf(oneUpstream((await provider(hangs)).url));
    const leaving = new AbortController();
    const left = gateway.post({ model: 'plain', messages: [{ role: 'user', content: 'hi' }] }, { signal: leaving.signal }).catch(() => {});
    while (total(await scrape(gateway), 'gateway_requests_in_flight') !== 1) await pause(1);
    leaving.abort();
    await left;
    while (total(await scrape(gateway), 'gateway_requests_in_flight') !== 0) await pause(1);
    expect(total(await scrape(gateway), 'gateway_requests_total', { outcome: 'gone', status: '4xx' })).toBe(1);
  });

  it('continue over a reload, with the requests that the old gateway still completes', async () => {
    const up = await provider();
    const states = new States();
    const old = await testGateway({ config: oneUpstream(up.url), states });
    await old.chat({});
    const next = await testGateway({ config: oneUpstream(up.url), states });
    await old.chat({});
    await next.chat({});
    expect(total(await scrape(next), 'gateway_requests_total')).toBe(3);
    await old.close();
    expect(total(await scrape(next), 'gateway_requests_total')).toBe(3);
    const spent = total(await scrape(next), 'gateway_plugin_seconds_total', { plugin: 'log/cost' });
    expect(spent).toBeGreaterThan(next.gateway.spentMs().get('log/cost')! / 1000);
    await next.close();
    const afresh = await testGateway({ config: oneUpstream(up.url), states });
    expect(total(await scrape(afresh), 'gateway_requests_total')).toBe(0);
    await afresh.close();
  });
});

it('the time of a plugin includes that of all gateways before, also after several reloads', () => {
  const meters = new PluginMeters();
  for (const ms of [1000, 2000]) meters.begin(() => new Map([['log/cost', ms]]))();
  meters.begin(() => new Map([['log/cost', 500]]));
  expect(total(parseExposition(meters.text()), 'gateway_plugin_seconds_total', { plugin: 'log/cost' })).toBe(3.5);
});

describe('labels of metadata', () => {
  it('are those of the config', async () => {
    const gateway = await gatewayOf({ ...oneUpstream((await provider()).url), ...withOptions({ metadata_labels: ['tenant-id'] }) });
    await gateway.chat({}, { 'x-gateway-tenant-id': 'acme "east"\\', 'x-gateway-user-id': 'u-1' });
    await gateway.chat({});
    await gateway.chat({}, { 'x-gateway-tenant-id': 'undefined' });
    const samples = await scrape(gateway);
    expect(total(samples, 'gateway_requests_total', { metadata_tenant_id: '(none)' })).toBe(1);
    for (const name of ['gateway_requests_total', 'gateway_tokens_total', 'gateway_cost_dollars_total']) {
      expect(total(samples, name, { metadata_tenant_id: 'acme "east"\\' })).toBeGreaterThan(0);
      expect(total(samples, name, { metadata_tenant_id: '(none)' })).toBeGreaterThan(0);
    }
    expect(samples.some(({ labels }) => Object.values(labels).includes('u-1'))).toBe(false);
  });

  it('are (none) where the value is empty, and one series where two values are the same text on the wire', async () => {
    const given = ['', 'a\ud83d', 'a\ufffd'];
    const cutting = probe(({ hooks }) => hooks.metadata.tap((metadata) => ({ ...metadata, team: given.shift() ?? '' })));
    const config = { ...oneUpstream((await provider()).url), ...withOptions({ metadata_labels: ['team'] }) };
    const gateway = await gatewayOf(config, { plugins: [cutting] });
    for (let at = 0; at < 3; at++) await gateway.chat({});
    const requests = (await scrape(gateway)).filter(({ name }) => name === 'gateway_requests_total');
    expect(requests.map(({ labels, value }) => [labels['metadata_team'], value])).toEqual([
      ['(none)', 1],
      ['a\ufffd', 2],
    ]);
  });

  it('must not share one metric label', async () => {
    const config = { ...oneUpstream('http://127.0.0.1:9/v1'), ...withOptions({ metadata_labels: ['tenant-id', 'tenant_id'] }) };
    await expect(testGateway({ config })).rejects.toThrow('"tenant-id" and "tenant_id" both become the label metadata_tenant_id');
  });

  it('are limited in number whatever callers send, and lose no request', async () => {
    const { chat, records } = await gatewayOf(oneUpstream((await provider()).url));
    await chat({});
    const base = records[0] as RequestRecord;
    fc.assert(
      fc.property(fc.array(fc.dictionary(fc.constantFrom('a', 'b'), anyText())), fc.integer({ min: 1, max: 5 }), (all, maxLabelValues) => {
        const meters = new RequestMeters({ metadataLabels: ['a', 'b'], maxLabelValues }, () => {});
        for (const metadata of all) meters.end({ ...base, metadata }, new Set());
        const samples = parseExposition([...meters.text()].join(''));
        expect(total(samples, 'gateway_requests_total')).toBe(all.length);
        for (const label of ['metadata_a', 'metadata_b']) {
          const values = new Set(samples.flatMap(({ labels }) => labels[label] ?? []));
          values.delete('(none)');
          values.delete('(other)');
          expect(values.size).toBeLessThanOrEqual(maxLabelValues);
        }
      }),
    );
  });
});

const statusOf = async (config: object, headers: Record<string, string> = {}): Promise<number> => {
  const { get } = await gatewayOf({ ...oneUpstream('http://127.0.0.1:9/v1'), ...config });
  return (await get('/metrics', headers)).status;
};

describe('access to a scrape', () => {
  const admin = { server: { admin_key: 'the-admin-key-of-this-test' } };

  it('needs the admin key', async () => {
    expect(await statusOf(admin)).toBe(401);
    expect(await statusOf(admin, { authorization: 'Bearer wrong' })).toBe(401);
    expect(await statusOf(admin, { authorization: 'Bearer the-admin-key-of-this-test' })).toBe(200);
  });

  it('is only for this machine where there is no admin key', async () => {
    expect(await statusOf({})).toBe(200);
    expect(await statusOf({}, { 'x-forwarded-for': '10.0.0.1' })).toBe(403);
  });

  it('is for everybody where the operator says so', async () => {
    expect(await statusOf({ ...admin, ...withOptions({ public: true }) })).toBe(200);
  });
});
