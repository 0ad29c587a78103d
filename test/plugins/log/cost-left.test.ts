/**
 * log/cost: the cost of answers that the gateway did not read to their
 * end. Some providers stop generating then, others go on; over sockets.
 */
import { describe, expect, it } from 'vitest';
import type { RequestRecord } from '../../../core/pipeline/context.ts';
import { definePlugin } from '../../../core/host/plugin.ts';
import { answers, completion, event, hangs, streams } from '../../_kit/upstream.ts';
import type { Step } from '../../_kit/upstream.ts';
import { readEvents, type TestGateway } from '../../_kit/gateway.ts';
import { gatewayOf, provider } from '../../core/scene.ts';

// the provider reports ten tokens of the prompt at once
const counted = `data: ${JSON.stringify({ id: 'c', choices: [], usage: { prompt_tokens: 10, completion_tokens: 0, total_tokens: 10 } })}\n\n`;
const begun = streams([counted, event({ content: 'four words of it' })], { end: 'hang' });
const begunAtOnce = streams([counted + event({ content: 'four words of it' })], { end: 'hang' });
const whole = answers({ ...completion('whole'), usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 } });
const pricing = { prompt: '1', completion: '2' };

interface Scene {
  readonly model?: object;
  readonly mapping?: object;
  readonly policy?: object;
  /** One endpoint for each provider. */
  readonly prices?: readonly object[];
}

async function scene(steps: readonly Step[], { model = {}, mapping = {}, policy = {}, prices = [] }: Scene = {}): Promise<TestGateway> {
  const names = steps.map((_, at) => `up${at}`);
  const urls = await Promise.all(steps.map(async (step) => (await provider(step)).url));
  return await gatewayOf({
    providers: Object.fromEntries(names.map((name, at) => [name, { dialect: 'openai-chat', base_url: urls[at], api_key: 'k' }])),
    models: [
      {
        id: 'plain',
        pricing,
        providers: names.map((providerId, at) => ({ providerId, ...mapping, ...(prices[at] !== undefined && { pricing: prices[at] }) })),
        ...model,
      },
    ],
    routing: { default: { strategy: 'ordered', retry: { same_target: 0 }, ...policy } },
  });
}

/** The record of a request whose client leaves after the first piece, or once its provider was asked. */
async function left({ post, records }: TestGateway, more: object, asked?: Promise<void>): Promise<RequestRecord> {
  const leaving = new AbortController();
  const reply = post({ model: 'plain', messages: [{ role: 'user', content: 'hi' }], stream: true, ...more }, { signal: leaving.signal });
  await (asked ?? (await reply).body?.getReader().read());
  leaving.abort();
  await reply.catch(() => {});
  await expect.poll(() => records).toHaveLength(1);
  return records[0] as RequestRecord;
}

describe('the cost of an answer whose client has left', () => {
  it('is that of the usage so far, where the provider stops', async () => {
    const record = await left(await scene([begun], { mapping: { cancellation: true } }), { max_tokens: 100 });
    expect(record).toMatchObject({ outcome: 'gone', usageEstimated: false, costIsUpperBound: false, cost: '10' });
  });

  it.each<[string, object, object, string | null]>([
    ['the limit of the request', { max_tokens: 100 }, {}, '210'],
    ['the limit of the model', {}, { max_output_tokens: 50 }, '110'],
    ['the lower of the two', { max_tokens: 100 }, { max_output_tokens: 50 }, '110'],
    ['as many answers as were asked for', { max_tokens: 100, n: 3 }, {}, '610'],
    ['the context of the model, where nothing else limits the answer', {}, { context_length: 40 }, '90'],
    ['the limit of the request, where the context is smaller too', { max_tokens: 100 }, { context_length: 40 }, '210'],
    ['unknown where nothing limits it', {}, {}, null],
    ['0 for a model that is free', { max_tokens: 100 }, { free: true }, '0'],
    ['0 for a model that is free, also where nothing limits the answer', {}, { free: true }, '0'],
    ['0 where each price is 0, also where nothing limits the answer', {}, { pricing: { prompt: '0', completion: '0' } }, '0'],
    [
      'unknown where nothing limits it and a price is not 0',
      {},
      { pricing: { prompt: '0', completion: '0', internal_reasoning: '1' } },
      null,
    ],
    ['thinking where that is dearer', { max_tokens: 100 }, { pricing: { ...pricing, internal_reasoning: '3' } }, '310'],
    [
      'the dearer of the two in its tier',
      { max_tokens: 100 },
      { pricing: { ...pricing, internal_reasoning: '3', tiers: [{ above: 5, prompt: '1', completion: '9' }] } },
      '910',
    ],
    ['unknown where it may have searched', { max_tokens: 100, web_search_options: {} }, { pricing: { ...pricing, web_search: '1' } }, null],
  ])('is that of the longest possible answer, where the provider goes on: %s', async (_, more, model, cost) => {
    const record = await left(await scene([begun], { model }), more);
    expect(record).toMatchObject({ outcome: 'gone', costIsUpperBound: cost !== null && cost !== '0', cost });
  });

  it('is bounded by the model alone where a budget for thinking is added to the limit', async () => {
    const record = await left(
      await scene([begun], { model: { max_output_tokens: 50 }, mapping: { reasoning: { max_tokens: true, auto_effort: null } } }),
      { max_tokens: 10 },
    );
    expect(record).toMatchObject({ cost: '110', costIsUpperBound: true });
  });

  it('is at least that of the tokens that the provider has counted, also beyond the limit', async () => {
    const beyond = streams([counted.replace('"completion_tokens":0', '"completion_tokens":30'), event({ content: 'words' })], {
      end: 'hang',
    });
    expect(await left(await scene([beyond]), { max_tokens: 5 })).toMatchObject({ cost: '70', costIsUpperBound: true });
  });

  it('has an upper bound also before the first piece', async () => {
    const asked = Promise.withResolvers<void>();
    const record = await left(await scene([() => asked.resolve()]), { max_tokens: 100 }, asked.promise);
    expect(record).toMatchObject({ outcome: 'gone', costIsUpperBound: true });
    expect(Number(record.cost)).toBeGreaterThan(200);
  });

  it('is an upper bound where some of several answers are missing', async () => {
    const one = streams([counted + event({ content: 'one' }) + event({}, 'stop')], { end: 'hang' });
    expect(await left(await scene([one]), { max_tokens: 100, n: 2 })).toMatchObject({
      outcome: 'gone',
      costIsUpperBound: true,
      cost: '410',
    });
  });

  it('is the sum of both where two providers were asked at once, each at its own price', async () => {
    const asked = Promise.withResolvers<void>();
    const gateway = await scene([hangs, () => asked.resolve()], {
      policy: { hedge_ms: 20 },
      prices: [
        { prompt: '1', completion: '1' },
        { prompt: '100', completion: '100' },
      ],
    });
    const record = await left(gateway, { max_tokens: 10 }, asked.promise);
    // the prompt and ten tokens, at 1 and at 100
    expect([Number(record.cost) % 101, record.provider]).toEqual([0, 'up1']);
    expect(Number(record.cost)).toBeGreaterThan(101 * 10);
  });

  it('is exact where the provider had finished', async () => {
    const finished = streams([event({ content: 'all' }) + event({}, 'stop')], { end: 'hang' });
    const record = await left(await scene([finished]), { max_tokens: 100 });
    expect(record.costIsUpperBound).toBe(false);
  });
});

describe('the cost of a record', () => {
  const timeouts = { timeout_ms: { first_byte: 800, idle: 800 } };
  const torn = streams([event({ content: 'four words of it' })], { end: 'reset', everyMs: 5 });
  const refused = answers({ error: { message: 'no' } }, { status: 500 });

  it.each([
    ['first', [torn, refused]],
    ['last', [refused, torn]],
  ])('is that of the attempt with usage, which came %s, where none answered', async (_, steps) => {
    const { chat, records } = await scene(steps);
    expect((await chat({})).status).toBe(502);
    expect(Number(records[0]?.cost)).toBeGreaterThan(5);
    expect(records[0]?.costIsUpperBound).toBe(false);
  });

  it('is the sum of its attempts, also of one that was given up before its first piece', async () => {
    const { chat, records } = await scene([hangs, whole], { policy: timeouts });
    expect((await chat({ max_tokens: 100 })).status).toBe(200);
    const used = records[0]?.attempts[0]?.used;
    expect(records[0]?.attempts[0]).toMatchObject({ outcome: 'upstream_timeout', used: { costIsUpperBound: true } });
    expect(Number(used?.cost)).toBeGreaterThan(200);
    expect(records[0]).toMatchObject({ costIsUpperBound: true, cost: String(Number(used?.cost) + 20) });
  });

  it('excludes an attempt that was given up before its first piece, where the provider stops generating', async () => {
    const { chat, records } = await scene([hangs, whole], { policy: timeouts, mapping: { cancellation: true } });
    await chat({ max_tokens: 100 });
    expect(records[0]).toMatchObject({ costIsUpperBound: false, cost: '20' });
  });

  it('is unknown where the cost of one attempt is unknown', async () => {
    const { chat, records } = await scene([hangs, whole], { policy: timeouts });
    await chat({});
    expect(records[0]?.attempts[0]?.used).toMatchObject({ cost: null, costIsUpperBound: false });
    expect(records[0]).toMatchObject({ costIsUpperBound: false, cost: null, prices: pricing });
  });

  it('is that of the usage, where the provider itself broke the answer', async () => {
    const { chat, records } = await scene([streams([event({ content: 'four words of it' })])]);
    await readEvents(await chat({ stream: true, max_tokens: 100 }));
    expect(records[0]).toMatchObject({ outcome: 'cut', usageEstimated: true, costIsUpperBound: false });
    expect(Number(records[0]?.cost)).toBeLessThan(50);
  });

  it.each([
    ['in two pieces', begun],
    ['in one piece', begunAtOnce],
  ])('is an upper bound where a plugin breaks an answer that came %s', async (_, step) => {
    const plugin = definePlugin({
      name: 'test/breaks',
      summary: 'breaks answers',
      schema: {},
      apply: ({ hooks }) =>
        hooks.chunk.tap((chunk) => {
          if (chunk.type === 'text-delta') throw new Error('no');
          return chunk;
        }),
    });
    const up = await provider(step);
    const { chat, records } = await gatewayOf(
      {
        providers: { up: { dialect: 'openai-chat', base_url: up.url, api_key: 'k' } },
        models: [{ id: 'plain', pricing, providers: [{ providerId: 'up' }] }],
      },
      { plugins: [plugin] },
    );
    await (await chat({ stream: true, max_tokens: 100 })).text();
    expect(records[0]).toMatchObject({ costIsUpperBound: true, cost: '210', error: { code: 'plugin_error' } });
  });

  it.each([
    ['is no JSON', '{oops}', 'upstream_invalid_response'],
    ['is too large', 'x'.repeat(1_100_000), 'upstream_event_too_large'],
  ])(
    'has an upper bound for an answer of which an event %s: the gateway stops reading, and the provider goes on',
    async (_, data, code) => {
      const { chat, records } = await scene([
        streams([counted, event({ content: 'four words of it' }), `data: ${data}\n\n`], { end: 'hang', everyMs: 5 }),
      ]);
      await readEvents(await chat({ stream: true, max_tokens: 100 }));
      expect(records[0]).toMatchObject({ outcome: 'cut', costIsUpperBound: true, cost: '210', error: { code } });
    },
  );

  it('excludes an answer that is not JSON from its beginning, such as the page of a proxy', async () => {
    const { chat, records } = await scene([answers('<html>', { headers: { 'content-type': 'text/html' } }), whole]);
    expect((await chat({ max_tokens: 100 })).status).toBe(200);
    expect(records[0]).toMatchObject({ costIsUpperBound: false, cost: '20' });
  });

  it('has an upper bound for an answer that stops without its end', async () => {
    const { chat, records } = await scene([begun], { policy: timeouts });
    await readEvents(await chat({ stream: true, max_tokens: 100 }));
    expect(records[0]).toMatchObject({ outcome: 'cut', costIsUpperBound: true, cost: '210' });
  });
});
