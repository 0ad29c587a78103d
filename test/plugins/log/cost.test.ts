/** log/cost: each token is priced once, in whole numbers; the cost is null where a part of it is unknown. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { unsetParameters } from '../../../core/chat.ts';
import type { ChatRequest, Usage } from '../../../core/chat.ts';
import type { Pricing } from '../../../core/config.ts';
import { circumstancesOf, costOf, dollarsOf, formatDollars, parseDollars, straddlesPeak } from '../../../core/money.ts';
import { oneUpstream, quietPlugins } from '../../_kit/gateway.ts';
import type { RequestRecord } from '../../../core/pipeline/context.ts';
import { answers, completion } from '../../_kit/upstream.ts';
import { gatewayOf, provider } from '../../core/scene.ts';

const nothing: Usage = { input: null, cacheRead: null, cacheWrite: null, cacheWrite1h: null, answer: null, reasoning: null };
const usage = (more: Partial<Usage>): Usage => ({ ...nothing, ...more });
const dollars = (used: Usage, pricing: Pricing): string | null => {
  const cost = costOf(used, pricing);
  return cost === null ? null : formatDollars(cost);
};

const simple: Pricing = { prompt: '0.001', completion: '0.01' };
const every: Pricing = {
  prompt: '1',
  completion: '10',
  input_cache_read: '100',
  input_cache_write: '1000',
  input_cache_write_1h: '10000',
  internal_reasoning: '100000',
  request: '1000000',
};

describe('the cost', () => {
  it.each<[string, Partial<Usage>, Pricing, string | null]>([
    ['is prompt and completion', { input: 3, answer: 2 }, simple, '0.023'],
    [
      'has each class at its own price',
      { input: 1, cacheRead: 1, cacheWrite: 2, cacheWrite1h: 1, answer: 1, reasoning: 1 },
      every,
      '1111111',
    ],
    [
      'prices cached tokens as prompt tokens where they have no price',
      { input: 1, cacheRead: 1, cacheWrite: 1, answer: 0 },
      simple,
      '0.003',
    ],
    ['prices reasoning as completion where it has no price', { input: 0, answer: 1, reasoning: 2 }, simple, '0.03'],
    [
      'prices a cache write for an hour as a usual write where it has no price',
      { input: 0, cacheWrite: 2, cacheWrite1h: 2, answer: 0 },
      { ...simple, input_cache_write: '1' },
      '2',
    ],
    ['adds the price of a request', { input: 1, answer: 0 }, { ...simple, request: '5' }, '5.001'],
    ['is zero for a model whose prices are zero', { input: 5, answer: 5 }, { prompt: '0', completion: '0' }, '0'],
    ['is not known without prices', { input: 5, answer: 5 }, {}, null],
    ['is not known without prices, even of nothing', { input: 0, answer: 0 }, {}, null],
    ['is not known where the answer has no price', { input: 5, answer: 5 }, { prompt: '1' }, null],
    ['is not known where the provider did not count the prompt', { answer: 5 }, simple, null],
    ['is not known where the provider did not count the answer', { input: 5 }, simple, null],
    ['is not known where nothing was counted', {}, simple, null],
    ['never counts more written for the hour than was written', { input: 0, cacheWrite: 1, cacheWrite1h: 5, answer: 0 }, every, '1010000'],
    [
      'does not lose the last digit',
      { input: 123_456_789, answer: 1 },
      { prompt: '0.000000000001', completion: '0.000000000001' },
      '0.00012345679',
    ],
  ])('%s', (_, used, pricing, wanted) => expect(dollars(usage(used), pricing)).toBe(wanted));

  it('prices each token once, like an oracle in whole numbers', () => {
    const tokens = fc.nat(10_000_000);
    const price = fc.bigInt(0n, 10n ** 9n);
    const prices = fc.record({
      prompt: price,
      completion: price,
      input_cache_read: price,
      input_cache_write: price,
      input_cache_write_1h: price,
      internal_reasoning: price,
      request: price,
    });
    fc.assert(
      fc.property(
        fc.record({
          input: tokens,
          cacheRead: tokens,
          cacheWrite: tokens,
          hourShare: fc.double({ min: 0, max: 1, noNaN: true }),
          answer: tokens,
          reasoning: tokens,
        }),
        prices,
        ({ hourShare, ...counts }, pico) => {
          const cacheWrite1h = Math.floor(counts.cacheWrite * hourShare);
          const pricing = Object.fromEntries(Object.entries(pico).map(([name, value]) => [name, formatDollars(value)])) as Pricing;
          const oracle =
            BigInt(counts.input) * pico.prompt +
            BigInt(counts.cacheRead) * pico.input_cache_read +
            BigInt(counts.cacheWrite - cacheWrite1h) * pico.input_cache_write +
            BigInt(cacheWrite1h) * pico.input_cache_write_1h +
            BigInt(counts.answer) * pico.completion +
            BigInt(counts.reasoning) * pico.internal_reasoning +
            pico.request;
          expect(costOf({ ...counts, cacheWrite1h }, pricing)).toBe(oracle);
        },
      ),
    );
  });

  it('of a single class is its tokens at its price', () => {
    const classes = [
      ['input', 'prompt'],
      ['cacheRead', 'input_cache_read'],
      ['cacheWrite', 'input_cache_write'],
      ['answer', 'completion'],
      ['reasoning', 'internal_reasoning'],
    ] as const;
    for (const [used, priced] of classes) {
      expect(costOf(usage({ input: 0, answer: 0, [used]: 7 }), { ...every, request: '0', [priced]: '0.5' })).toBe(parseDollars('3.5'));
    }
  });
});

const asked: ChatRequest = {
  model: 'plain',
  messages: [],
  stream: false,
  includeUsage: false,
  reasoning: { effort: null, maxTokens: null },
  ...unsetParameters,
  rest: {},
};
const picture = { type: 'image_url', image_url: { url: 'data:image/png;base64,AA' } };
const searching: Partial<ChatRequest> = { tools: [{ type: 'web_search_20250305', name: 'web_search' }] };

describe('the cost of other things than tokens', () => {
  const priced: Pricing = { prompt: '1', completion: '1', image: '0.002', web_search: '0.01' };

  it.each<[string, Partial<ChatRequest>, Partial<Usage>, Pricing, string | null]>([
    [
      'each image of the prompt',
      {
        messages: [
          { role: 'user', content: [picture, { type: 'text', text: 'and' }, picture] },
          { role: 'user', content: 'no list' },
        ],
      },
      {},
      priced,
      '2.004',
    ],
    ['no image where it has no price of its own', { messages: [{ role: 'user', content: [picture] }] }, {}, simple, '0.011'],
    ['each search that the provider counts', {}, { webSearches: 3 }, priced, '2.03'],
    ['nothing for searches that the provider counts and that have no price', searching, { webSearches: 3 }, simple, '0.011'],
    ['nothing for searches that nobody asked for', { tools: [{ type: 'function', function: { name: 'web_search' } }] }, {}, priced, '2'],
    ['nothing for searches that were asked for and not made', searching, { webSearches: 0 }, priced, '2'],
    ['unknown, where a search was asked for and the provider does not say how many it made', searching, {}, priced, null],
    ['unknown, where the provider searched and does not say how often', {}, { webSearches: null }, priced, null],
    ['unknown, where a field asks for a search', { rest: { web_search_options: {} } }, {}, priced, null],
    ['that of the tokens, where a search was asked for that has no price', searching, {}, simple, '0.011'],
    ['unknown for sound, which has another price than text', {}, { details: { inputAudio: 1 } }, priced, null],
    ['unknown for pictures in the answer', {}, { details: { outputImage: 1 } }, priced, null],
    ['unknown for sources that were read', {}, { details: { citations: 1 } }, priced, null],
    [
      'nothing more for predictions, which are billed as the answer',
      {},
      { details: { inputAudio: 0, acceptedPrediction: 4, rejectedPrediction: 5 } },
      priced,
      '2',
    ],
    [
      'nothing for anything of a model that is free',
      searching,
      { webSearches: 3, details: { outputAudio: 7 } },
      { prompt: '0', completion: '0' },
      '0',
    ],
  ])('is %s', (_, request, used, pricing, wanted) => {
    const cost = costOf(usage({ input: 1, answer: 1, ...used }), pricing, circumstancesOf({ ...asked, ...request }, 0));
    expect(cost === null ? null : formatDollars(cost)).toBe(wanted);
  });
});

describe('prices by the hour', () => {
  const hourly: Pricing = { prompt: '1', completion: '2', peak: { hours: ['01:00-04:00', '22:30-00:30'], weekdays: true, prompt: '10' } };
  const at = (from: string, to = from): string | null => {
    const cost = costOf(usage({ input: 1, answer: 1 }), hourly, {
      images: 0,
      maySearch: false,
      from: Date.parse(from),
      to: Date.parse(to),
    });
    return cost === null ? null : formatDollars(cost);
  };

  it.each([
    ['2026-11-23T00:59:59.999Z', '3'],
    ['2026-11-23T01:00:00Z', '12'],
    ['2026-11-23T03:59:59.999Z', '12'],
    ['2026-11-23T04:00:00Z', '3'],
    ['2026-11-23T22:30:00Z', '12'],
    ['2026-11-24T00:29:00Z', '12'],
    ['2026-11-24T00:30:00Z', '3'],
    ['2026-11-22T02:00:00Z', '3'],
    ['2026-11-21T02:00:00Z', '3'],
  ])('at %s, the cost is %s dollars', (time, wanted) => expect(at(time)).toBe(wanted));

  it('apply on every day by default', () => {
    const { weekdays: _, ...peak } = hourly.peak as NonNullable<Pricing['peak']>;
    expect(
      costOf(
        usage({ input: 1, answer: 0 }),
        { ...hourly, peak },
        { images: 0, maySearch: false, from: Date.parse('2026-11-22T02:00:00Z'), to: Date.parse('2026-11-22T02:00:00Z') },
      ),
    ).toBe(parseDollars('10'));
  });

  it('apply all day where the hours end when they begin', () => {
    const [from, to] = [Date.parse('2026-11-23T00:00:00Z'), Date.parse('2026-11-23T13:00:00Z')];
    const pricing: Pricing = { prompt: '1', completion: '2', peak: { hours: ['00:00-00:00'], prompt: '10' } };
    for (const at of [from, to]) {
      expect(costOf(usage({ input: 1, answer: 0 }), pricing, { images: 0, maySearch: false, from: at, to: at })).toBe(parseDollars('10'));
    }
  });

  it.each([
    ['2026-11-23T00:59:00Z', '2026-11-23T01:00:10Z'],
    ['2026-11-23T03:59:59Z', '2026-11-23T04:00:10Z'],
  ])('are the higher ones where they change between %s and %s, and the cost is an upper bound', (from, to) => {
    expect(at(from, to)).toBe('12');
    expect(straddlesPeak(hourly, { images: 0, maySearch: false, from: Date.parse(from), to: Date.parse(to) })).toBe(true);
    expect(straddlesPeak(hourly, { images: 0, maySearch: false, from: Date.parse(from), to: Date.parse(from) })).toBe(false);
  });

  it('are on record as they were applied', async () => {
    const up = await provider();
    const config = (prompt: string, hours: string[]): object => ({
      ...oneUpstream(up.url),
      models: [{ id: 'plain', pricing: { prompt: '1', completion: '2', peak: { hours, prompt } }, providers: [{ providerId: 'up' }] }],
    });
    const always = await gatewayOf(config('10', ['00:00-12:00', '12:00-00:00']) as Record<string, unknown>);
    await always.chat({});
    expect(always.records[0]).toMatchObject({ cost: '110', costIsUpperBound: false });
    expect(always.records[0]?.prices).toEqual({ prompt: '10', completion: '2' });
    const now = new Date();
    const other = new Date(now.getTime() + 3 * 3_600_000).toISOString().slice(11, 16);
    const later = new Date(now.getTime() + 4 * 3_600_000).toISOString().slice(11, 16);
    const never = await gatewayOf(config('10', [`${other}-${later}`]) as Record<string, unknown>);
    await never.chat({});
    expect(never.records[0]?.prices).toEqual({ prompt: '1', completion: '2' });
  });

  it('may not be combined with tiers', async () => {
    const up = await provider();
    const pricing = { ...hourly, tiers: [{ above: 1, prompt: '2' }] };
    await expect(
      gatewayOf({ ...oneUpstream(up.url), models: [{ id: 'plain', pricing, providers: [{ providerId: 'up' }] }] }),
    ).rejects.toThrow(/cannot stand beside/);
  });
});

describe('a figure of a provider', () => {
  it.each([
    [0.000669, '0.000669'],
    [1e-7, '0.0000001'],
    [0, '0'],
    [12.5, '12.5'],
    [-1, undefined],
    [NaN, undefined],
    [1e30, undefined],
    ['0.1', undefined],
  ])('%s is %s dollars', (figure, wanted) => expect(dollarsOf(figure)).toBe(wanted));
});

const chatOf = async (counts: object | undefined, pricing?: object) => {
  const up = await provider(answers({ ...completion('a'), usage: counts }));
  const base = oneUpstream(up.url) as { models: { id: string; pricing: object }[] };
  const models = pricing === undefined ? base.models : [{ ...base.models[0], ...pricing }];
  const { chat, records, lines } = await gatewayOf({ ...base, models, plugins: quietPlugins.filter((name) => name !== 'log/estimate') });
  await chat({});
  expect(lines).toEqual([]);
  return records[0];
};

describe('log/cost', () => {
  it('writes dollars into the record', async () =>
    expect((await chatOf({ prompt_tokens: 10, completion_tokens: 5 }))?.cost).toBe('0.00002'));

  it('prices at the mapping where it has prices of its own', async () => {
    const pricing = { prompt: '1', completion: '1' };
    expect(
      await chatOf({ prompt_tokens: 10, completion_tokens: 5 }, { providers: [{ providerId: 'up', externalId: 'x', pricing }] }),
    ).toMatchObject({ cost: '15', prices: pricing });
  });

  it.each<[string, object | undefined]>([
    ['missing', undefined],
    ['negative', { prompt_tokens: -1, completion_tokens: -5 }],
    ['text', { prompt_tokens: '10', completion_tokens: '5' }],
    ['half', { prompt_tokens: 10 }],
    ['fractions', { prompt_tokens: 1.5, completion_tokens: 2 }],
  ])('is null where the counts are %s', async (_, counts) => expect(await chatOf(counts)).toMatchObject({ cost: null, prices: null }));

  it.each([undefined, { prompt_tokens: 10, completion_tokens: 5 }])('is 0 for a free model, with the counts %j', async (counts) => {
    expect(await chatOf(counts, { pricing: undefined, free: true })).toMatchObject({ cost: '0', prices: { prompt: '0', completion: '0' } });
  });

  it('is null for a request that no provider served', async () => {
    const { chat, records } = await gatewayOf(oneUpstream((await provider()).url));
    await chat({ model: 'nothing' });
    expect(records[0]?.cost).toBe(null);
  });
});

describe('prices by the length of the prompt', () => {
  const tiered: Pricing = {
    prompt: '1',
    completion: '10',
    input_cache_read: '0.5',
    tiers: [
      { above: 200, prompt: '3' },
      { above: 100, prompt: '2', completion: '20' },
    ],
  };

  it.each<[string, Partial<Usage>, string]>([
    ['do not apply at the border', { input: 100, answer: 1 }, '110'],
    ['apply above the border, for all tokens', { input: 101, answer: 1 }, '222'],
    ['are those of the highest tier that is reached, and the usual ones where that tier has none', { input: 201, answer: 1 }, '613'],
    ['count cached tokens as a part of the prompt', { input: 90, cacheRead: 20, answer: 1 }, '210'],
  ])('%s', (_, used, cost) => {
    expect(dollars(usage(used), tiered)).toBe(cost);
  });

  it('are on record as they were applied', async () => {
    const up = await provider(answers({ ...completion('hello'), usage: { prompt_tokens: 150, completion_tokens: 1, total_tokens: 151 } }));
    const config = oneUpstream(up.url);
    const { chat, records } = await gatewayOf({ ...config, models: [{ id: 'plain', pricing: tiered, providers: [{ providerId: 'up' }] }] });
    await chat({});
    expect(records[0]).toMatchObject({ cost: '320', prices: { prompt: '2', completion: '20', input_cache_read: '0.5' } });
    expect(records[0]?.prices).not.toHaveProperty('tiers');
  });
});

describe('an unknown price', () => {
  const models = (pricing: unknown, mapped?: unknown): object[] => [
    {
      id: 'plain',
      ...(pricing !== undefined && { pricing }),
      providers: [{ providerId: 'up', ...(mapped !== undefined && { pricing: mapped }) }],
    },
  ];

  it.each<[string, unknown, unknown, string | null]>([
    ['of the model gives no cost', 'unknown', undefined, null],
    ['in each entry gives no cost', undefined, undefined, null],
    ['of the mapping gives no cost, although the model has a price', simple, 'unknown', null],
    ['of the model does not matter where the mapping has a price', 'unknown', simple, '0.06'],
  ])('%s', async (_, pricing, mapped, cost) => {
    const { chat, records } = await gatewayOf({ ...oneUpstream((await provider()).url), models: models(pricing, mapped) });
    expect((await chat({})).status).toBe(200);
    expect(records[0]?.cost).toBe(cost);
  });

  it('does not matter for a free model, whose cost is 0 whatever prices are written', async () => {
    const up = await provider();
    const { chat, records } = await gatewayOf({
      ...oneUpstream(up.url),
      models: [{ id: 'plain', free: true, pricing: simple, providers: [{ providerId: 'up', pricing: simple }] }],
    });
    await chat({});
    expect(records[0]?.cost).toBe('0');
  });
});

describe("a vendor's own figure of the cost", () => {
  const usage_ = {
    prompt_tokens: 10,
    completion_tokens: 5,
    total_tokens: 15,
    cost: 0.00123,
    server_tool_use: { web_search_requests: 2 },
    prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 0, audio_tokens: 0, accepted_prediction_tokens: 3, rejected_prediction_tokens: 1 },
  };
  const priced = { pricing: { ...simple, web_search: '0.01' } };

  it('is on record beside the computed cost, and in the reply', async () => {
    const up = await provider(answers({ ...completion('a'), usage: usage_ }));
    const { chat, records } = await gatewayOf({
      ...oneUpstream(up.url),
      models: [{ id: 'plain', ...priced, providers: [{ providerId: 'up' }] }],
    });
    expect(((await (await chat({})).json()) as { usage: unknown }).usage).toEqual({ ...usage_, reasoning_tokens: 0 });
    expect(records[0]).toMatchObject({
      cost: '0.08',
      providerCost: '0.00123',
      costIsUpperBound: false,
      usageDetails: { acceptedPrediction: 3, rejectedPrediction: 1, webSearches: 2 },
    });
  });

  it('is not on record where the vendor reports none', async () => {
    expect(await chatOf({ prompt_tokens: 10, completion_tokens: 5, completion_tokens_details: { audio_tokens: 0 } })).toMatchObject({
      providerCost: null,
      usageDetails: null,
    });
  });

  it('has the number of searches beside it, which is in the replies of the Messages API', async () => {
    const up = await provider(answers({ ...completion('a'), usage: usage_ }));
    const { post } = await gatewayOf(oneUpstream(up.url));
    const reply = await post({ model: 'plain', max_tokens: 5, messages: [{ role: 'user', content: 'hi' }] }, { path: '/v1/messages' });
    expect(await reply.json()).toMatchObject({
      usage: { input_tokens: 10, output_tokens: 5, server_tool_use: { web_search_requests: 2 } },
    });
  });
});

describe('input that the cache keeps for an hour', () => {
  it('has a price and a count of its own on record', async () => {
    const usage_ = {
      input_tokens: 10,
      cache_creation_input_tokens: 500,
      cache_creation: { ephemeral_5m_input_tokens: 100, ephemeral_1h_input_tokens: 400 },
      output_tokens: 5,
    };
    const up = await provider(
      answers({
        id: 'm',
        type: 'message',
        role: 'assistant',
        content: [{ type: 'text', text: 'a' }],
        stop_reason: 'end_turn',
        usage: usage_,
      }),
    );
    const pricing = { prompt: '0.001', completion: '0.01', input_cache_write: '0.002', input_cache_write_1h: '0.003' };
    const { chat, records } = await gatewayOf({
      providers: { up: { dialect: 'anthropic', base_url: up.url, api_key: 'k' } },
      models: [{ id: 'plain', pricing, providers: [{ providerId: 'up' }] }],
    });
    await chat({});
    expect(records[0]).toMatchObject({ cost: '1.46', usage: { cacheWriteTokens: 500 }, usageDetails: { cacheWrite1h: 400 } });
  });
});

describe('a search that the caller asked for', () => {
  const tools = [{ type: 'web_search_20250305', name: 'web_search' }];
  const searched = { ...simple, web_search: '0.01' };
  const message = { id: 'm', type: 'message', role: 'assistant', content: [{ type: 'text', text: 'a' }], stop_reason: 'end_turn' };

  async function asking(dialect: string, body: object): Promise<RequestRecord | undefined> {
    const up = await provider(answers(body));
    const { post, records } = await gatewayOf({
      providers: { up: { dialect, base_url: up.url, api_key: 'k' } },
      models: [{ id: 'plain', pricing: searched, providers: [{ providerId: 'up', tools: true }] }],
    });
    await post({ model: 'plain', max_tokens: 5, tools, messages: [{ role: 'user', content: 'hi' }] }, { path: '/v1/messages' });
    return records[0];
  }

  it('costs the counted searches, 0 where none was made, and is unknown where no count is given', async () => {
    const usage_ = { input_tokens: 1, output_tokens: 1 };
    expect(await asking('anthropic', { ...message, usage: { ...usage_, server_tool_use: { web_search_requests: 3 } } })).toMatchObject({
      cost: '0.041',
      usageDetails: { webSearches: 3 },
    });
    expect(await asking('anthropic', { ...message, usage: usage_ })).toMatchObject({ cost: '0.011', usageDetails: null });
    expect(
      await asking('anthropic', {
        ...message,
        content: [{ type: 'server_tool_use', id: 's', name: 'web_search', input: {} }, ...message.content],
        usage: usage_,
      }),
    ).toMatchObject({ cost: null, usageDetails: { webSearches: null } });
  });

  it('by a field of chat completions has an unknown cost, where the provider does not count it', async () => {
    const { chat, records } = await gatewayOf({
      ...oneUpstream((await provider()).url),
      models: [{ id: 'plain', pricing: searched, providers: [{ providerId: 'up' }] }],
    });
    await chat({ web_search_options: {} });
    await chat({});
    expect(records.map(({ cost }) => cost)).toEqual([null, '0.06']);
  });
});

describe('images', () => {
  const parts = [{ role: 'user', content: [picture, picture, { type: 'text', text: 'what is it?' }] }];

  it('are in the cost; before the answer, their tokens are unknown', async () => {
    const { chat, records } = await gatewayOf({
      ...oneUpstream((await provider()).url),
      models: [
        {
          id: 'plain',
          pricing: { ...simple, image: '2' },
          architecture: { input_modalities: ['text', 'image'] },
          providers: [{ providerId: 'up', vision: true }],
        },
      ],
    });
    await chat({ messages: parts });
    expect(records[0]?.cost).toBe('4.06');
    const plan = (await (await chat({ messages: parts }, { 'x-dry-run': 'true' })).json()) as {
      candidates: { estimatedCost: string | null }[];
    };
    expect(plan.candidates[0]?.estimatedCost).toBe(null);
  });
});
