/** log/otel: requests as spans of the HTTP and GenAI conventions, at a collector. */
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createRequestId } from '../../../core/request-id.ts';
import { idsOf, samplerOf } from '../../../plugins/log/otel/ids.ts';
import { Notes } from '../../../plugins/log/otel/notes.ts';
import type { TestGateway } from '../../_kit/gateway.ts';
import { oneUpstream, quietPlugins, twoUpstreams } from '../../_kit/gateway.ts';
import { answers, completion, said, streams } from '../../_kit/upstream.ts';
import { contentOf, gatewayOf, provider } from '../../core/scene.ts';
import { plain, startCollector } from './otel-collector.ts';
import type { Collector, ReceivedSpan } from './otel-collector.ts';

const SERVER = 2;
const CLIENT = 3;
const ERROR = 2;

const exporting = (endpoint: string, more: object = {}): { plugins: unknown[] } => ({
  plugins: quietPlugins.map((use) => (use === 'log/otel' ? { use, with: { endpoint, interval_ms: 1, ...more } } : use)),
});

/** A gateway that exports, and the spans of its collector when the gateway is closed. */
async function exporter(
  config: Record<string, unknown>,
  more: object = {},
): Promise<{ gateway: TestGateway; collector: Collector; spans(): Promise<ReceivedSpan[]> }> {
  const collector = await startCollector();
  const gateway = await gatewayOf({ ...config, ...exporting(collector.url, more) });
  const spans = async (): Promise<ReceivedSpan[]> => {
    await gateway.close();
    return collector.spans();
  };
  return { gateway, collector, spans };
}

const first = ([span]: readonly ReceivedSpan[]): ReceivedSpan => span as ReceivedSpan;
const last = (spans: readonly ReceivedSpan[]): ReceivedSpan => spans.at(-1) as ReceivedSpan;

describe('a request', () => {
  const usage = {
    prompt_tokens: 100,
    completion_tokens: 50,
    total_tokens: 150,
    prompt_tokens_details: { cached_tokens: 30, cache_write_tokens: 10 },
    completion_tokens_details: { reasoning_tokens: 20 },
  };

  it('at the path of a deployment has its route and its own path', async () => {
    const { gateway, spans } = await exporter(oneUpstream((await provider()).url));
    const asked = await gateway.ask('/openai/deployments/plain/chat/completions?api-version=2024-10-21', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"messages":[{"role":"user","content":"hi"}]}',
    });
    expect(asked.status).toBe(200);
    const { name, attributes } = first(await spans());
    expect([name, attributes['http.route'], attributes['url.path']]).toEqual([
      'POST /:host/deployments/:model/chat/completions',
      '/:host/deployments/:model/chat/completions',
      undefined,
    ]);
  });

  it('is a server span with the result of the gateway', async () => {
    const { gateway, spans } = await exporter(oneUpstream((await provider(answers({ ...completion('a'), usage }))).url));
    await gateway.chat({}, { 'user-agent': 'OpenAI/Python 2.1.0' });
    const { name, kind, status, attributes } = first(await spans());
    expect({ name, kind, status }).toEqual({ name: 'POST /v1/chat/completions', kind: SERVER, status: {} });
    expect(attributes).toEqual({
      'client.address': '127.0.0.0',
      'http.request.method': 'POST',
      'http.route': '/v1/chat/completions',
      'http.response.status_code': 200,
      'url.path': '/v1/chat/completions',
      'url.scheme': 'http',
      'user_agent.original': 'OpenAI/Python 2.1.0',
      'gateway.request.id': gateway.records[0]?.id,
      'gateway.outcome': 'answered',
      'gateway.requested_model': 'plain',
      'gateway.model': 'plain',
      'gateway.provider': 'up',
      'gateway.cost_dollars': 0.0002,
    });
  });

  it('has a child span of the client kind with the request to the provider and the usage of its answer', async () => {
    const up = await provider(answers({ ...completion('a'), usage }));
    const { gateway, spans } = await exporter(oneUpstream(up.url));
    await gateway.chat({ temperature: 1, max_tokens: 64, seed: 7, stop: ['###', 'END'] });
    const { name, kind, status, attributes } = last(await spans());
    expect({ name, kind, status }).toEqual({ name: 'chat plain-1', kind: CLIENT, status: {} });
    expect(attributes).toEqual({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'up',
      'gen_ai.request.model': 'plain-1',
      'gen_ai.request.max_tokens': 64,
      'gen_ai.request.seed': 7,
      'gen_ai.request.stop_sequences': ['###', 'END'],
      'gen_ai.request.temperature': 1,
      'gen_ai.response.id': `chatcmpl-${gateway.records[0]?.id}`,
      'gen_ai.response.model': 'plain-1',
      'gen_ai.response.finish_reasons': ['stop'],
      'gen_ai.usage.input_tokens': 100,
      'gen_ai.usage.output_tokens': 50,
      'gen_ai.usage.reasoning.output_tokens': 20,
      'gen_ai.usage.cache_read.input_tokens': 30,
      'gen_ai.usage.cache_write.input_tokens': 10,
      'http.response.status_code': 200,
      'server.address': '127.0.0.1',
      'server.port': Number(new URL(up.url).port),
      'gateway.attempt': 1,
      'gateway.model': 'plain',
      'gateway.provider': 'up',
    });
  });

  it.each([
    ['/v1/messages', { max_tokens: 9, messages: [{ role: 'user', content: 'a' }] }],
    ['/v1/responses', { input: 'a' }],
    ['/v1/completions', { prompt: 'a' }],
  ])('at %s has no id of chat completions, because its reply has another one', async (path, body) => {
    const { gateway, spans } = await exporter(oneUpstream((await provider(answers({ ...completion('a'), usage }))).url));
    expect((await gateway.post({ model: 'plain', ...body }, { path })).status).toBe(200);
    const { attributes } = last(await spans());
    expect(attributes).toMatchObject({ 'gen_ai.response.model': 'plain-1', 'gen_ai.usage.input_tokens': 100 });
    expect(attributes).not.toHaveProperty('gen_ai.response.id');
  });

  it('has the parameters that the caller set', async () => {
    const { gateway, spans } = await exporter(oneUpstream((await provider()).url));
    const set = { model: 'thinker', reasoning_effort: 'high', n: 2, top_p: 0.9, frequency_penalty: 0.5, presence_penalty: 0.25 };
    expect((await gateway.chat({ ...set, response_format: { type: 'json_object' } })).status).toBe(200);
    expect((await gateway.chat({ response_format: { type: 'text' } })).status).toBe(200);
    const [one, other] = (await spans()).filter(({ kind }) => kind === CLIENT);
    expect(one?.attributes).toMatchObject({
      'gen_ai.output.type': 'json',
      'gen_ai.request.choice.count': 2,
      'gen_ai.request.reasoning.level': 'high',
      'gen_ai.request.top_p': 0.9,
      'gen_ai.request.frequency_penalty': 0.5,
      'gen_ai.request.presence_penalty': 0.25,
    });
    expect(other?.attributes).toMatchObject({ 'gen_ai.output.type': 'text' });
  });

  it('has no cost where the price of its model is not known, because a cost of 0 would be added up', async () => {
    const { url } = await provider();
    const models = [{ id: 'plain', providers: [{ providerId: 'up', externalId: 'plain-1' }] }];
    const { gateway, spans } = await exporter(oneUpstream(url, { models }));
    expect((await gateway.chat({})).status).toBe(200);
    expect(first(await spans()).attributes).not.toHaveProperty('gateway.cost_dollars');
  });

  it('marks its usage as an estimate where it is one', async () => {
    const { gateway, spans } = await exporter(oneUpstream((await provider(answers({ ...completion('a'), usage: undefined }))).url));
    await gateway.chat({});
    const all = await spans();
    expect(all.map(({ attributes }) => attributes['gateway.usage_estimated'])).toEqual([true, true]);
    expect(last(all).attributes['gen_ai.usage.output_tokens']).toBe(1);
  });

  it('marks only its reasoning tokens as an estimate where only they are one', async () => {
    const { gateway, spans } = await exporter(oneUpstream((await provider(answers(completion('a', { reasoning_content: 'hm' })))).url));
    await gateway.chat({});
    expect(gateway.records[0]).toMatchObject({ usageEstimated: false, reasoningEstimated: true });
    expect((await spans()).map(({ attributes }) => attributes['gateway.reasoning_estimated'])).toEqual([true, true]);
  });

  it('has the duration of its record, and the attempt of a stream has the time of its first piece', async () => {
    const { gateway, spans } = await exporter(oneUpstream((await provider(streams(said('a', 'b')))).url));
    await (await gateway.chat({ stream: true })).text();
    const [{ startTimeUnixNano, endTimeUnixNano }, { attributes }] = (await spans()) as [ReceivedSpan, ReceivedSpan];
    const record = gateway.records[0]!;
    expect(BigInt(startTimeUnixNano)).toBe(BigInt(Date.parse(record.createdAt)) * 1_000_000n);
    expect(BigInt(endTimeUnixNano) - BigInt(startTimeUnixNano)).toBe(BigInt(record.durationMs) * 1_000_000n);
    expect(attributes['gen_ai.request.stream']).toBe(true);
    expect(attributes['gen_ai.response.time_to_first_chunk']).toBe((record.attempts[0]?.timeToFirstTokenMs as number) / 1000);
  });

  it('has a child span for each attempt, one after the other, and usage only on the attempt that answered', async () => {
    const one = await provider(answers({ error: { message: 'a secret of the prompt' } }, { status: 503 }));
    const two = await provider();
    const { gateway, spans } = await exporter(twoUpstreams(one.url, two.url));
    await gateway.chat({});
    const [request, failed, answered] = (await spans()) as [ReceivedSpan, ReceivedSpan, ReceivedSpan];
    for (const attempt of [failed, answered]) {
      expect(attempt).toMatchObject({ traceId: request.traceId, parentSpanId: request.spanId, kind: CLIENT, name: 'chat plain-1' });
    }
    expect(new Set([request, failed, answered].map(({ spanId }) => spanId)).size).toBe(3);
    for (const { spanId } of [request, failed, answered]) expect(spanId).toMatch(/^[\da-f]{16}$/);
    expect([request.status, failed.status, answered.status]).toEqual([{}, { code: ERROR }, {}]);
    expect(failed.attributes).toMatchObject({
      'gateway.attempt': 1,
      'gateway.provider': 'one',
      'http.response.status_code': 503,
      'error.type': gateway.records[0]?.attempts[0]?.outcome,
    });
    expect(answered.attributes).toMatchObject({ 'gateway.attempt': 2, 'gateway.provider': 'two', 'http.response.status_code': 200 });
    const withUsage = [request, failed, answered].filter(({ attributes }) =>
      Object.keys(attributes).some((key) => /^gen_ai\.(?:usage|response)/.test(key)),
    );
    expect(withUsage).toEqual([answered]);
    expect(BigInt(failed.endTimeUnixNano)).toBeLessThanOrEqual(BigInt(request.endTimeUnixNano));
    expect(BigInt(failed.startTimeUnixNano)).toBeLessThanOrEqual(BigInt(answered.startTimeUnixNano));
    expect(BigInt(answered.endTimeUnixNano)).toBeLessThanOrEqual(BigInt(request.endTimeUnixNano));
  });

  it('for an unknown URL is not a span', async () => {
    const { gateway, spans } = await exporter(oneUpstream((await provider()).url));
    await gateway.get('/nowhere');
    expect(await spans()).toEqual([]);
  });

  it('for an unknown URL, or with a wrong method, is not a span either where its key is known: callers could make up any number of names', async () => {
    const keys = [{ name: 'team', key: 'sk-0123456789abcdef0123456789abcdef' }];
    const { gateway, spans } = await exporter(oneUpstream((await provider()).url, { keys }));
    const headers = { authorization: `Bearer ${keys[0]?.key}` };
    await gateway.get('/v1/orders/12345', headers);
    await gateway.get('/v1/chat/completions', headers);
    expect([gateway.records.map(({ error }) => error?.code), await spans()]).toEqual([['unknown_url', 'method_not_allowed'], []]);
  });

  it('has its spans where it is the provider that answers with the code unknown_url', async () => {
    const up = await provider(answers({ error: { message: 'Unknown request URL', code: 'unknown_url' } }, { status: 400 }));
    const { gateway, spans } = await exporter(oneUpstream(up.url));
    await gateway.chat({});
    expect([gateway.records[0]?.error?.code, (await spans()).length]).toEqual(['unknown_url', 2]);
  });

  it('has the vendor names of the conventions', async () => {
    const up = await provider();
    const config = { ...oneUpstream(up.url), providers: { up: { dialect: 'mistral', base_url: up.url, api_key: 'k' } } };
    const { gateway, spans } = await exporter(config);
    await gateway.chat({});
    const { attributes } = last(await spans());
    expect([attributes['gen_ai.provider.name'], attributes['gateway.provider']]).toEqual(['mistral_ai', 'up']);
  });

  it('has the usual port of the scheme where the address of a provider names none', async () => {
    const { gateway, spans } = await exporter(twoUpstreams('https://127.0.0.1/v1', 'http://127.0.0.1/v1'));
    await gateway.chat({});
    const [, ...attempts] = await spans();
    expect(attempts.map(({ attributes }) => attributes['server.port'])).toEqual([443, 80]);
  });

  it('has no server address where a provider has none', async () => {
    const config = { ...oneUpstream('http://127.0.0.1'), providers: { up: { dialect: 'mock' } } };
    const { gateway, spans } = await exporter(config);
    expect((await gateway.chat({})).status).toBe(200);
    expect(Object.keys(last(await spans()).attributes).filter((key) => key.startsWith('server.'))).toEqual([]);
  });

  it('for embeddings has the operation of the conventions, and no attributes of a chat', async () => {
    const up = await provider(answers({ data: [{ index: 0, embedding: [1, 0] }], usage: { prompt_tokens: 3, total_tokens: 3 } }));
    const models = [
      {
        id: 'vectors',
        free: true,
        architecture: { output_modalities: ['embeddings'] },
        providers: [{ providerId: 'up', externalId: 'v-1', streaming: false }],
      },
    ];
    const { gateway, spans } = await exporter({ ...oneUpstream(up.url), models }, { capture_content: true });
    expect((await gateway.post({ model: 'vectors', input: 'one' }, { path: '/v1/embeddings' })).status).toBe(200);
    const { name, attributes } = last(await spans());
    expect(name).toBe('embeddings v-1');
    expect(Object.fromEntries(Object.entries(attributes).filter(([key]) => key.startsWith('gen_ai.')))).toEqual({
      'gen_ai.operation.name': 'embeddings',
      'gen_ai.provider.name': 'up',
      'gen_ai.request.model': 'v-1',
      'gen_ai.response.model': 'v-1',
      'gen_ai.usage.input_tokens': 3,
    });
  });

  it('cannot have metadata under an impossible name: the config is refused', async () => {
    await expect(exporter(oneUpstream('http://127.0.0.1'), { metadata: ['Tenant-ID'] })).rejects.toThrow(
      /metadata\[0\]: "Tenant-ID" is not valid here/,
    );
  });

  it('has the metadata of the option, and no other', async () => {
    const { gateway, spans } = await exporter(oneUpstream((await provider()).url), { metadata: ['tenant-id'] });
    await gateway.chat({}, { 'x-gateway-tenant-id': 'acme', 'x-gateway-user-id': 'u-1' });
    const { attributes } = first(await spans());
    expect(attributes['gateway.metadata.tenant-id']).toBe('acme');
    expect(JSON.stringify(attributes)).not.toContain('u-1');
  });
});

describe('an error', () => {
  const about = (span: ReceivedSpan): unknown[] => [
    span.status,
    span.attributes['http.response.status_code'],
    span.attributes['error.type'],
  ];

  it('of the caller is named, by a known code, and is not a failure of the gateway', async () => {
    const { gateway, spans } = await exporter(oneUpstream((await provider()).url));
    await gateway.chat({ model: 'made-up' });
    const all = await spans();
    expect(all.map(({ name }) => name)).toEqual(['POST /v1/chat/completions']);
    expect(about(first(all))).toEqual([{}, 404, 'model_not_found']);
    expect(first(all).attributes).toMatchObject({ 'gateway.requested_model': 'made-up', 'gateway.outcome': 'refused' });
  });

  it('that a provider finds in a request is the caller’s error, and a failure of the attempt', async () => {
    const { gateway, spans } = await exporter(
      oneUpstream((await provider(answers({ error: { message: 'no', code: 'too_odd' } }, { status: 400 }))).url),
    );
    await gateway.chat({});
    expect((await spans()).map(about)).toEqual([
      [{}, 400, 'too_odd'],
      [{ code: ERROR }, 400, 'too_odd'],
    ]);
  });

  it('of the provider is a failure of the request and of the attempt', async () => {
    const { gateway, spans } = await exporter(oneUpstream((await provider(answers({}, { status: 500 }))).url));
    await gateway.chat({});
    expect((await spans()).map(about)).toEqual([
      [{ code: ERROR }, 502, 'upstream_error'],
      [{ code: ERROR }, 500, 'upstream_error'],
    ]);
  });

  it('in the middle of a stream is a failure, although its status is 200', async () => {
    const { gateway, spans } = await exporter(oneUpstream((await provider(streams(said('a', 'b').slice(0, 2)))).url));
    await (await gateway.chat({ stream: true })).text();
    const all = await spans();
    expect(about(first(all))).toEqual([{ code: ERROR }, 200, 'upstream_truncated']);
    expect(last(all)).toMatchObject({ status: { code: ERROR }, attributes: { 'gen_ai.response.finish_reasons': ['error'] } });
  });

  it('is named client_closed where the caller leaves, and is not a failure', async () => {
    const leaving = new AbortController();
    const { gateway, spans } = await exporter(oneUpstream((await provider(() => leaving.abort())).url));
    await expect(
      gateway.post({ model: 'plain', messages: [{ role: 'user', content: 'hi' }] }, { signal: leaving.signal }),
    ).rejects.toThrow();
    await expect.poll(() => gateway.records).toHaveLength(1);
    const all = await spans();
    expect(all.map(about)).toEqual([
      [{}, undefined, 'client_closed'],
      [{}, undefined, 'client_closed'],
    ]);
    expect(first(all).attributes['gateway.outcome']).toBe('gone');
  });

  it('is no failure either where the caller leaves in the middle of a stream, although its status is 200', async () => {
    const leaving = new AbortController();
    const endless = (await provider(streams(said('a', 'b').slice(0, 2), { end: 'hang' }))).url;
    const { gateway, spans } = await exporter(oneUpstream(endless));
    const reply = await gateway.post(
      { model: 'plain', messages: [{ role: 'user', content: 'hi' }], stream: true },
      { signal: leaving.signal },
    );
    await reply.body?.getReader().read();
    leaving.abort();
    await expect.poll(() => gateway.records).toHaveLength(1);
    expect(about(first(await spans()))).toEqual([{}, 200, 'client_closed']);
  });
});

const parent = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' };
const traced = async (headers: Record<string, string>, more: object = {}): Promise<{ id: string; all: ReceivedSpan[] }> => {
  const { gateway, spans } = await exporter(oneUpstream((await provider()).url), more);
  await gateway.chat({}, headers);
  return { id: createHash('sha256').update(gateway.records[0]!.id).digest('hex'), all: await spans() };
};

describe('the trace', () => {
  it('is that of the caller, if there is one', async () => {
    const { all } = await traced({ traceparent: `00-${parent.traceId}-${parent.spanId}-01`, tracestate: 'vendor=value' });
    expect(first(all)).toMatchObject({ traceId: parent.traceId, parentSpanId: parent.spanId, traceState: 'vendor=value', flags: 1 });
    expect(all[1]).toMatchObject({ traceId: parent.traceId, parentSpanId: first(all).spanId });
  });

  it.each([
    ['with a letter of another alphabet', 'vendor=\u00e4'],
    ['of more than 512 characters', `vendor=${'v'.repeat(512)}`],
  ])('is taken without a state %s, which other tracers would not read', async (_, tracestate) => {
    const { all } = await traced({ traceparent: `00-${parent.traceId}-${parent.spanId}-01`, tracestate });
    expect(first(all).traceId).toBe(parent.traceId);
    expect(first(all)).not.toHaveProperty('traceState');
  });

  it('is otherwise made from the id of the request, so that the log finds it', async () => {
    const { id, all } = await traced({});
    expect(first(all)).toMatchObject({ traceId: id.slice(0, 32), spanId: id.slice(32, 48), flags: 3 });
    expect(first(all).parentSpanId).toBeUndefined();
  });

  it.each([
    'nonsense',
    `00-${'0'.repeat(32)}-${parent.spanId}-01`,
    `00-${parent.traceId}-${'0'.repeat(16)}-01`,
    `ff-${parent.traceId}-${parent.spanId}-01`,
    `00-${parent.traceId}-${parent.spanId}-01-more`,
    `00-${parent.traceId.toUpperCase()}-${parent.spanId}-01`,
    `00-${parent.traceId}-${parent.spanId}-01, 00-${parent.traceId}-${parent.spanId}-01`,
  ])('is not taken from %j', async (traceparent) => {
    const { id, all } = await traced({ traceparent });
    expect(first(all).traceId).toBe(id.slice(0, 32));
  });

  it('of a later version is read as far as it is known', async () => {
    const { all } = await traced({ traceparent: `cc-${parent.traceId}-${parent.spanId}-01-what-comes-later` });
    expect(first(all).traceId).toBe(parent.traceId);
  });

  it('is recorded if the caller records it, and not otherwise', async () => {
    expect((await traced({ traceparent: `00-${parent.traceId}-${parent.spanId}-00` })).all).toEqual([]);
    expect((await traced({ traceparent: `00-${parent.traceId}-${parent.spanId}-01` }, { sample_ratio: 0 })).all).toHaveLength(2);
  });

  it('is sampled by the ratio if the caller does not decide', async () => {
    expect((await traced({}, { sample_ratio: 0 })).all).toEqual([]);
    expect((await traced({}, { sample_ratio: 1 })).all).toHaveLength(2);
  });
});

describe('ids of traces', () => {
  const now = Date.UTC(2026, 10, 21);
  const ids = Array.from({ length: 20_000 }, (_, at) => idsOf(createRequestId(now + at * 3)).traceId);
  const last56Bits = (id: string): bigint => BigInt(`0x${id}`) & (2n ** 56n - 1n);
  const maxThreshold = 2n ** 56n;
  /** Within six standard deviations. */
  const isShare = (count: number, share: number): boolean =>
    Math.abs(count - ids.length * share) < 6 * Math.sqrt(ids.length * share * (1 - share));

  it('are evenly spread over the numbers that samplers read', () => {
    const tenths = Array.from({ length: 10 }, () => 0);
    for (const id of ids) tenths[Number((last56Bits(id) * 10n) / maxThreshold)]!++;
    expect(tenths.filter((count) => !isShare(count, 0.1))).toEqual([]);
  });

  it.each([0.001, 0.1, 0.5, 0.9])('are sampled by the rule of the standard at a ratio of %d', (ratio) => {
    const threshold = BigInt(Math.round((1 - ratio) * Number(maxThreshold)));
    const kept = ids.filter(samplerOf(ratio));
    expect(kept).toEqual(ids.filter((id) => last56Bits(id) >= threshold));
    expect(isShare(kept.length, ratio)).toBe(true);
  });

  it('are all sampled at a ratio of 1, and none at 0 or close to 0', () => {
    expect([1, 0, 1e-20].map((ratio) => ids.filter(samplerOf(ratio)).length)).toEqual([20_000, 0, 0]);
  });
});

const refusedSpan = async (more: object): Promise<ReceivedSpan> => {
  const { gateway, spans } = await exporter(
    oneUpstream((await provider(answers({ error: { message: 'you said: pineapple' } }, { status: 400 }))).url),
    more,
  );
  await gateway.chat({});
  return last(await spans());
};

describe('the text of a conversation', () => {
  const question = 'the question text';
  const messages = [
    { role: 'system', content: 'be brief' },
    {
      role: 'user',
      content: [
        { type: 'text', text: question },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
      ],
    },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'call-1', type: 'function', function: { name: 'look', arguments: '{"at":1}' } }],
    },
    { role: 'tool', tool_call_id: 'call-1', content: 'seen' },
  ];
  const talked = async (more: object, headers: Record<string, string> = {}): Promise<ReceivedSpan[]> => {
    const up = await provider(answers(completion('the answer text', { reasoning_content: 'the thought' })));
    const { gateway, spans } = await exporter(oneUpstream(up.url), more);
    await contentOf(await gateway.chat({ messages, stop: 'a stop of the caller' }, headers));
    return await spans();
  };

  it('does not leave the gateway', async () => {
    expect(JSON.stringify(await talked({}))).not.toMatch(/question|answer text|thought|brief|seen|messages/);
  });

  it('leaves it if the operator opted in, without images, on the attempt that answered', async () => {
    const [request, { attributes }] = (await talked({ capture_content: true })) as [ReceivedSpan, ReceivedSpan];
    expect(Object.keys(request.attributes).filter((key) => key.startsWith('gen_ai.'))).toEqual([]);
    expect(JSON.parse(attributes['gen_ai.input.messages'])).toEqual([
      { role: 'system', parts: [{ type: 'text', content: 'be brief' }] },
      { role: 'user', parts: [{ type: 'text', content: question }, { type: 'image_url' }] },
      { role: 'assistant', parts: [{ type: 'tool_call', id: 'call-1', name: 'look', arguments: '{"at":1}' }] },
      { role: 'tool', parts: [{ type: 'tool_call_response', id: 'call-1', response: 'seen' }] },
    ]);
    expect(JSON.parse(attributes['gen_ai.output.messages'])).toEqual([
      {
        role: 'assistant',
        parts: [
          { type: 'reasoning', content: 'the thought' },
          { type: 'text', content: 'the answer text' },
        ],
        finish_reason: 'stop',
      },
    ]);
  });

  it('has earlier thinking, a refusal and the parts of what a tool gave', async () => {
    const up = await provider(answers(completion('', { refusal: 'not this' })));
    const { gateway, spans } = await exporter(oneUpstream(up.url), { capture_content: true });
    const earlier = [
      { role: 'assistant', content: 'so', reasoning_content: 'the first thought' },
      { role: 'tool', tool_call_id: 'call-1', content: [{ type: 'text', text: 'seen' }] },
    ];
    await gateway.chat({ messages: [...messages.slice(0, 3), earlier[1], earlier[0], { role: 'user', content: 'and?' }] });
    const { attributes } = last(await spans());
    expect(JSON.parse(attributes['gen_ai.input.messages']).slice(3, 5)).toEqual([
      { role: 'tool', parts: [{ type: 'tool_call_response', id: 'call-1', response: [{ type: 'text', content: 'seen' }] }] },
      {
        role: 'assistant',
        parts: [
          { type: 'reasoning', content: 'the first thought' },
          { type: 'text', content: 'so' },
        ],
      },
    ]);
    expect(JSON.parse(attributes['gen_ai.output.messages'])[0].parts).toEqual([{ type: 'text', content: 'not this' }]);
  });

  it('stays if the request asks that its bodies are not stored', async () => {
    expect(JSON.stringify(await talked({ capture_content: true }, { 'x-log-bodies': 'off' }))).not.toMatch(
      /question|answer text|a stop of the caller/,
    );
  });

  it('stays if its key is set so', async () => {
    const up = await provider(answers(completion('the answer text')));
    const { gateway, spans } = await exporter(
      { ...oneUpstream(up.url), keys: [{ name: 'discreet', key: 'sk-discreet-key-of-the-test', log_bodies: false }] },
      { capture_content: true },
    );
    await gateway.chat({ messages }, { authorization: 'Bearer sk-discreet-key-of-the-test' });
    const all = await spans();
    expect(first(all).attributes['gateway.key']).toBe('discreet');
    expect(JSON.stringify(all)).not.toMatch(/question|answer text|sk-/);
  });

  it('has the last parts of a message that is very long by itself', async () => {
    const up = await provider(answers(completion('Hi.')));
    const { gateway, spans } = await exporter(oneUpstream(up.url), { capture_content: true });
    const documents = Array.from({ length: 20 }, (_, at) => ({ type: 'text', text: `${at} ${'x'.repeat(15_000)}` }));
    await gateway.chat({ messages: [{ role: 'user', content: [...documents, { type: 'text', text: 'Which is it?' }] }] });
    const [, { attributes }] = (await spans()) as [ReceivedSpan, ReceivedSpan];
    const [{ role, parts }] = JSON.parse(String(attributes['gen_ai.input.messages'])) as [{ role: string; parts: { content: string }[] }];
    expect(role).toBe('user');
    expect(parts.length).toBeGreaterThan(5);
    expect(parts.at(-1)?.content).toBe('Which is it?');
  });

  it('is cut at its beginning if it is very long, and half a character of the caller is replaced', async () => {
    const up = await provider();
    const { gateway, spans } = await exporter(oneUpstream(up.url), { capture_content: true });
    const long = Array.from({ length: 100 }, (_, at) => ({ role: 'user', content: `${at} ${'x'.repeat(20_000)}` }));
    await gateway.chat({ messages: [...long, { role: 'user', content: 'last \ud83d' }] });
    const text = last(await spans()).attributes['gen_ai.input.messages'] as string;
    const kept = JSON.parse(text) as { parts: { content: string }[] }[];
    expect(text.length).toBeLessThan(140_000);
    expect(kept.length).toBeGreaterThan(3);
    expect(kept.at(-1)?.parts[0]?.content).toBe('last \ufffd');
    expect(kept[0]?.parts[0]?.content).toMatch(/x…$/);
  });

  it('and the message of an error have no half of a character, because a collector may refuse the whole batch', async () => {
    const up = await provider(answers({ error: { message: 'a half: \ud83d' } }, { status: 400 }));
    const { gateway, spans } = await exporter(oneUpstream(up.url), { capture_content: true });
    await gateway.chat({});
    await gateway.chat({ model: 'plain\ud83d' });
    const all = JSON.stringify(await spans());
    expect(all).toContain('plain\ufffd');
    expect(all).toContain('a half: \ufffd');
    // JSON.stringify writes the half of a character as an escape
    expect(all).not.toMatch(/\\ud83d/);
  });

  it('includes the message of an error only if the operator opted in', async () => {
    expect(JSON.stringify(await refusedSpan({}))).not.toContain('pineapple');
    expect((await refusedSpan({ capture_content: true })).status).toEqual({ code: ERROR, message: expect.stringContaining('pineapple') });
  });
});

describe('an export', () => {
  it('goes to the address of traces, with the configured headers and name', async () => {
    const collector = await startCollector();
    const gateway = await gatewayOf({
      ...oneUpstream((await provider()).url),
      ...exporting(`${collector.url}/base/`, { headers: { 'x-token': 'secret' }, service_name: 'gateway-eu' }),
    });
    await gateway.chat({});
    await gateway.close();
    const { url, method, headers, json } = collector.asked[0]!;
    expect({ url, method }).toEqual({ url: '/base/v1/traces', method: 'POST' });
    expect(headers).toMatchObject({ 'content-type': 'application/json', 'x-token': 'secret' });
    expect(plain(json['resourceSpans'][0].resource.attributes)).toMatchObject({ 'service.name': 'gateway-eu' });
    expect(json['resourceSpans'][0].scopeSpans[0].scope.name).toBe('model-gateway');
  });

  it('does not happen without an endpoint', async () => {
    let asked = 0;
    const gateway = await gatewayOf({ ...oneUpstream((await provider()).url), ...exporting('') });
    const collector = await startCollector(() => void asked++);
    await gateway.chat({});
    await gateway.close();
    expect([asked, collector.asked.length, Object.keys(gateway.records[0]?.timings ?? {})]).toEqual([
      0,
      0,
      expect.not.arrayContaining(['log/otel']),
    ]);
  });
});

describe('notes of requests in flight', () => {
  const note = { parent: null, isPrivate: false };

  it('stay although many requests of unknown callers are refused, which have no record', () => {
    const notes = new Notes(2);
    notes.arrived('runs', note);
    notes.known('runs', true);
    for (const id of ['a', 'b', 'c']) notes.arrived(id, note);
    expect(notes.take('runs')).toEqual({ parent: null, isPrivate: true });
    expect(['runs', 'a', 'b', 'c'].map((id) => notes.take(id))).toEqual([undefined, undefined, note, note]);
  });

  it('are dropped, the oldest first, if more requests run than the limit', () => {
    const notes = new Notes(1);
    for (const id of ['a', 'b']) {
      notes.arrived(id, note);
      notes.known(id, false);
    }
    expect(['a', 'b'].map((id) => notes.take(id))).toEqual([undefined, note]);
  });
});
