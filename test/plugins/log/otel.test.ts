/** log/otel: requests as spans of the GenAI conventions, at a collector that others run. */
import { describe, expect, it } from 'vitest';
import type { TestGateway } from '../../_kit/gateway.ts';
import { oneUpstream, quietPlugins, twoUpstreams } from '../../_kit/gateway.ts';
import { answers, completion, said, streams } from '../../_kit/upstream.ts';
import { contentOf, gatewayOf, provider } from '../../core/scene.ts';
import { plain, startCollector } from './otel-collector.ts';
import type { Collector, ReceivedSpan } from './otel-collector.ts';

const CLIENT = 3;
const ERROR = 2;

const exporting = (endpoint: string, more: object = {}): { plugins: unknown[] } => ({ plugins: quietPlugins.map((use) => (use === 'log/otel' ? { use, with: { endpoint, interval_ms: 1, ...more } } : use)) });

/** A gateway that exports, and what its collector has when the gateway is closed. */
async function exporter(config: Record<string, unknown>, more: object = {}): Promise<{ gateway: TestGateway; collector: Collector; spans(): Promise<ReceivedSpan[]> }> {
  const collector = await startCollector();
  const gateway = await gatewayOf({ ...config, ...exporting(collector.url, more) });
  const spans = async (): Promise<ReceivedSpan[]> => {
    await gateway.close();
    return collector.spans();
  };
  return { gateway, collector, spans };
}

const first = ([span]: readonly ReceivedSpan[]): ReceivedSpan => span as ReceivedSpan;

describe('a request', () => {
  it('is a client span that says what was asked, who answered, and what it used', async () => {
    const usage = { prompt_tokens: 100, completion_tokens: 50, total_tokens: 150, prompt_tokens_details: { cached_tokens: 30 }, completion_tokens_details: { reasoning_tokens: 20 } };
    const { gateway, spans } = await exporter(oneUpstream((await provider(answers({ ...completion('a'), usage }))).url));
    await gateway.chat({ temperature: 1, max_tokens: 64, seed: 7 });
    const { name, kind, status, attributes } = first(await spans());
    expect({ name, kind, status }).toEqual({ name: 'chat plain', kind: CLIENT, status: {} });
    expect(attributes).toEqual({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'up',
      'gen_ai.request.model': 'plain',
      'gen_ai.request.max_tokens': 64,
      'gen_ai.request.seed': 7,
      'gen_ai.request.temperature': 1,
      'gen_ai.response.id': `chatcmpl-${gateway.records[0]?.id}`,
      'gen_ai.response.model': 'plain-1',
      'gen_ai.response.finish_reasons': ['stop'],
      'gen_ai.usage.input_tokens': 100,
      'gen_ai.usage.output_tokens': 50,
      'gen_ai.usage.reasoning.output_tokens': 20,
      'gen_ai.usage.cache_read.input_tokens': 30,
      'http.response.status_code': 200,
      'gateway.request.id': gateway.records[0]?.id,
      'gateway.outcome': 'answered',
      'gateway.model': 'plain',
      'gateway.provider': 'up',
      'gateway.cost_dollars': 0.0002,
    });
  });

  it('says who asked, and that its usage is an estimate where it is', async () => {
    const { gateway, spans } = await exporter(oneUpstream((await provider(answers({ ...completion('a'), usage: undefined }))).url));
    await gateway.chat({}, { 'user-agent': 'OpenAI/Python 2.1.0' });
    expect(first(await spans()).attributes).toMatchObject({ 'user_agent.original': 'OpenAI/Python 2.1.0', 'gen_ai.usage.output_tokens': 1, 'gateway.usage_estimated': true });
  });

  it('lasts as long as its record says, and a stream says when its first piece came', async () => {
    const { gateway, spans } = await exporter(oneUpstream((await provider(streams(said('a', 'b')))).url));
    await (await gateway.chat({ stream: true })).text();
    const { startTimeUnixNano, endTimeUnixNano, attributes } = first(await spans());
    const record = gateway.records[0]!;
    expect(BigInt(startTimeUnixNano)).toBe(BigInt(Date.parse(record.createdAt)) * 1_000_000n);
    expect(BigInt(endTimeUnixNano) - BigInt(startTimeUnixNano)).toBe(BigInt(record.durationMs) * 1_000_000n);
    expect(attributes['gen_ai.request.stream']).toBe(true);
    expect(attributes['gen_ai.response.time_to_first_chunk']).toBe((record.timeToFirstTokenMs as number) / 1000);
  });

  it('has a span below it for each attempt, one after the other, and usage on none of them', async () => {
    const one = await provider(answers({ error: { message: 'a secret of the prompt' } }, { status: 503 }));
    const two = await provider();
    const { gateway, spans } = await exporter(twoUpstreams(one.url, two.url));
    await gateway.chat({});
    const [request, failed, answered] = (await spans()) as [ReceivedSpan, ReceivedSpan, ReceivedSpan];
    for (const attempt of [failed, answered]) expect(attempt).toMatchObject({ traceId: request.traceId, parentSpanId: request.spanId, kind: CLIENT, name: 'chat plain-1' });
    expect(new Set([request, failed, answered].map(({ spanId }) => spanId)).size).toBe(3);
    for (const { spanId } of [request, failed, answered]) expect(spanId).toMatch(/^[\da-f]{16}$/);
    expect(failed.status).toEqual({ code: ERROR });
    expect(failed.attributes).toMatchObject({ 'gateway.attempt': 1, 'gateway.provider': 'one', 'http.response.status_code': 503, 'error.type': gateway.records[0]?.attempts[0]?.outcome });
    expect(answered.attributes).toMatchObject({ 'gateway.attempt': 2, 'gateway.provider': 'two', 'http.response.status_code': 200 });
    expect(Object.keys(answered.attributes).filter((key) => key.startsWith('gen_ai.usage'))).toEqual([]);
    expect(BigInt(failed.endTimeUnixNano)).toBeLessThanOrEqual(BigInt(request.endTimeUnixNano));
    expect(BigInt(failed.startTimeUnixNano)).toBeLessThanOrEqual(BigInt(answered.startTimeUnixNano));
    expect(BigInt(answered.endTimeUnixNano)).toBeLessThanOrEqual(BigInt(request.endTimeUnixNano));
  });

  it('that is refused is an error with its code, under a name that no caller made up', async () => {
    const { gateway, spans } = await exporter(oneUpstream((await provider()).url));
    await gateway.chat({ model: 'made-up' });
    const { name, status, attributes } = first(await spans());
    expect({ name, status }).toEqual({ name: 'chat', status: { code: ERROR } });
    expect(attributes).toMatchObject({ 'error.type': 'model_not_found', 'gen_ai.request.model': 'made-up', 'http.response.status_code': 404, 'gateway.outcome': 'refused' });
  });

  it('for an address that there is not is no span', async () => {
    const { gateway, spans } = await exporter(oneUpstream((await provider()).url));
    await gateway.get('/nowhere');
    expect(await spans()).toEqual([]);
  });

  it('names vendors as the conventions do', async () => {
    const up = await provider();
    const config = { ...oneUpstream(up.url), providers: { up: { dialect: 'mistral', base_url: up.url, api_key: 'k' } } };
    const { gateway, spans } = await exporter(config);
    await gateway.chat({});
    const all = await spans();
    expect(all.map(({ attributes }) => [attributes['gen_ai.provider.name'], attributes['gateway.provider']])).toEqual([['mistral_ai', 'up'], ['mistral_ai', 'up']]);
  });

  it('has the metadata that was asked for, and no other', async () => {
    const { gateway, spans } = await exporter(oneUpstream((await provider()).url), { metadata: ['tenant-id'] });
    await gateway.chat({}, { 'x-gateway-tenant-id': 'acme', 'x-gateway-user-id': 'u-1' });
    const { attributes } = first(await spans());
    expect(attributes['gateway.metadata.tenant-id']).toBe('acme');
    expect(JSON.stringify(attributes)).not.toContain('u-1');
  });
});

const parent = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' };
const traced = async (headers: Record<string, string>, more: object = {}): Promise<{ id: string; all: ReceivedSpan[] }> => {
  const { gateway, spans } = await exporter(oneUpstream((await provider()).url), more);
  await gateway.chat({}, headers);
  return { id: gateway.records[0]!.id.replaceAll('-', ''), all: await spans() };
};

describe('the trace', () => {
  it('is the caller’s, where there is one', async () => {
    const { all } = await traced({ traceparent: `00-${parent.traceId}-${parent.spanId}-01`, tracestate: 'vendor=value' });
    expect(first(all)).toMatchObject({ traceId: parent.traceId, parentSpanId: parent.spanId, traceState: 'vendor=value' });
    expect(all[1]).toMatchObject({ traceId: parent.traceId, parentSpanId: first(all).spanId });
  });

  it('is else the id of the request, so that the log finds it', async () => {
    const { id, all } = await traced({});
    expect(first(all)).toMatchObject({ traceId: id, spanId: id.slice(16) });
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
  ])('does not begin at %j', async (traceparent) => {
    const { id, all } = await traced({ traceparent });
    expect(first(all).traceId).toBe(id);
  });

  it('of a later version is understood as far as it is known', async () => {
    const { all } = await traced({ traceparent: `cc-${parent.traceId}-${parent.spanId}-01-what-comes-later` });
    expect(first(all).traceId).toBe(parent.traceId);
  });

  it('is recorded when the caller records it, and not when the caller does not', async () => {
    expect((await traced({ traceparent: `00-${parent.traceId}-${parent.spanId}-00` })).all).toEqual([]);
    expect((await traced({ traceparent: `00-${parent.traceId}-${parent.spanId}-01` }, { sample_ratio: 0 })).all).toHaveLength(2);
  });

  it('is sampled by its ratio where the caller says nothing', async () => {
    expect((await traced({}, { sample_ratio: 0 })).all).toEqual([]);
    const { gateway, spans } = await exporter(oneUpstream((await provider()).url), { sample_ratio: 0.5 });
    for (let at = 0; at < 60; at++) await gateway.chat({});
    const requests = (await spans()).filter(({ parentSpanId }) => parentSpanId === undefined).length;
    // 60 tosses of a coin: outside of these bounds once in ten million runs
    expect(requests).toBeGreaterThan(9);
    expect(requests).toBeLessThan(51);
  });
});

const refusedSpan = async (more: object): Promise<ReceivedSpan> => {
  const { gateway, spans } = await exporter(oneUpstream((await provider(answers({ error: { message: 'you said: pineapple' } }, { status: 400 }))).url), more);
  await gateway.chat({});
  return first(await spans());
};

describe('what was said', () => {
  const question = 'the question text';
  const messages = [
    { role: 'system', content: 'be brief' },
    { role: 'user', content: [{ type: 'text', text: question }, { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }] },
    { role: 'assistant', content: null, tool_calls: [{ id: 'call-1', type: 'function', function: { name: 'look', arguments: '{"at":1}' } }] },
    { role: 'tool', tool_call_id: 'call-1', content: 'seen' },
  ];
  const talked = async (more: object, headers: Record<string, string> = {}): Promise<ReceivedSpan> => {
    const up = await provider(answers(completion('the answer text', { reasoning_content: 'the thought' })));
    const { gateway, spans } = await exporter(oneUpstream(up.url), more);
    await contentOf(await gateway.chat({ messages }, headers));
    return first(await spans());
  };

  it('does not leave the gateway', async () => {
    const span = await talked({});
    expect(JSON.stringify(span)).not.toMatch(/question|answer text|thought|brief|seen|messages/);
  });

  it('leaves it where the operator opted in, without images', async () => {
    const { attributes } = await talked({ capture_content: true });
    expect(JSON.parse(attributes['gen_ai.input.messages'])).toEqual([
      { role: 'system', parts: [{ type: 'text', content: 'be brief' }] },
      { role: 'user', parts: [{ type: 'text', content: question }, { type: 'image_url' }] },
      { role: 'assistant', parts: [{ type: 'tool_call', id: 'call-1', name: 'look', arguments: '{"at":1}' }] },
      { role: 'tool', parts: [{ type: 'tool_call_response', id: 'call-1', response: 'seen' }] },
    ]);
    expect(JSON.parse(attributes['gen_ai.output.messages'])).toEqual([{ role: 'assistant', parts: [{ type: 'reasoning', content: 'the thought' }, { type: 'text', content: 'the answer text' }], finish_reason: 'stop' }]);
  });

  it('stays where the request asks that its bodies be not stored', async () => {
    expect(JSON.stringify(await talked({ capture_content: true }, { 'x-log-bodies': 'off' }))).not.toMatch(/question|answer text/);
  });

  it('stays where its key says so', async () => {
    const up = await provider(answers(completion('the answer text')));
    const { gateway, spans } = await exporter({ ...oneUpstream(up.url), keys: [{ name: 'discreet', key: 'sk-discreet-key-of-the-test', log_bodies: false }] }, { capture_content: true });
    await gateway.chat({ messages }, { authorization: 'Bearer sk-discreet-key-of-the-test' });
    const span = first(await spans());
    expect(span.attributes['gateway.key']).toBe('discreet');
    expect(JSON.stringify(span)).not.toMatch(/question|answer text|sk-/);
  });

  it('is cut at its beginning where it is very long, and half a character is none', async () => {
    const up = await provider();
    const { gateway, spans } = await exporter(oneUpstream(up.url), { capture_content: true });
    const long = Array.from({ length: 100 }, (_, at) => ({ role: 'user', content: `${at} ${'x'.repeat(20_000)}` }));
    await gateway.chat({ messages: [...long, { role: 'user', content: 'last \ud83d' }] });
    const text = first(await spans()).attributes['gen_ai.input.messages'] as string;
    const kept = JSON.parse(text) as { parts: { content: string }[] }[];
    expect(text.length).toBeLessThan(140_000);
    expect(kept.length).toBeGreaterThan(3);
    expect(kept.at(-1)?.parts[0]?.content).toBe('last \ufffd');
    expect(kept[0]?.parts[0]?.content).toMatch(/x…$/);
  });

  it('includes the words of an error only where the operator opted in', async () => {
    expect(JSON.stringify(await refusedSpan({}))).not.toContain('pineapple');
    expect((await refusedSpan({ capture_content: true })).status).toEqual({ code: ERROR, message: expect.stringContaining('pineapple') });
  });
});

describe('an export', () => {
  it('goes to the address of traces, with the headers and the name that were set', async () => {
    const collector = await startCollector();
    const gateway = await gatewayOf({ ...oneUpstream((await provider()).url), ...exporting(`${collector.url}/base/`, { headers: { 'x-token': 'secret' }, service_name: 'gateway-eu' }) });
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
    expect({ asked, timings: [...gateway.gateway.timings.keys()].filter((key) => key.endsWith('log/otel')), collector: collector.asked.length }).toEqual({ asked: 0, timings: [], collector: 0 });
  });
});
