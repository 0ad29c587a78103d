/** Billing data of vendors, each in its own wire format: the charged cost, the number of searches, and tokens with special prices. */
import { describe, expect, it } from 'vitest';
import type { Chunk, Usage } from '../../../core/chat.ts';
import type { AnyPlugin } from '../../../core/host/plugin.ts';
import type { Dialect } from '../../../core/wire/dialect.ts';
import anthropic from '../../../plugins/dialects/anthropic/index.ts';
import gemini from '../../../plugins/dialects/gemini/index.ts';
import openaiChat from '../../../plugins/dialects/openai-chat/index.ts';
import openaiResponses from '../../../plugins/dialects/openai-responses/index.ts';
import { targetOf } from '../../contract/dialect.ts';

const dialects = ([anthropic, gemini, openaiChat, openaiResponses] as readonly AnyPlugin[]).flatMap((plugin) => plugin.dialects ?? []);
const dialectOf = (name: string): Dialect => dialects.find((one) => one.name === name) as Dialect;

const lastUsage = (chunks: readonly Chunk[]): Usage | undefined =>
  chunks.flatMap((chunk) => (chunk.type === 'usage' ? [chunk.usage] : [])).at(-1);

interface Asked {
  readonly form?: string;
  readonly externalId?: string;
  readonly modelId?: string;
}

const bodyUsage = (name: string, body: object, { form, externalId = 'model-1' }: Asked = {}): Usage | undefined =>
  lastUsage(dialectOf(name).decodeBody(body, { ...targetOf(name, { externalId }), form }));

function streamUsage(name: string, events: readonly object[], { form, ...names }: Asked = {}): Usage | undefined {
  const decoder = dialectOf(name).decoder({ ...targetOf(name, names), form });
  return lastUsage(events.flatMap((event) => decoder.push({ data: JSON.stringify(event) })));
}

const counts = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
const chat = (usage: object, message: object = {}): object => ({
  choices: [{ index: 0, message: { content: 'a', ...message }, finish_reason: 'stop' }],
  usage: { ...counts, ...usage },
});

describe('the cost that a vendor charged', () => {
  it.each<[string, string, object, string | undefined]>([
    ['dollars', 'openrouter', { cost: 0.000669, is_byok: false, cost_details: { upstream_inference_cost: null } }, '0.000669'],
    [
      'the fee of OpenRouter and the cost at the vendor behind it, where the caller has a key of that vendor',
      'openrouter',
      { cost: 0.00003, is_byok: true, cost_details: { upstream_inference_cost: 0.0006 } },
      '0.00063',
    ],
    [
      'unknown where OpenRouter does not report the cost at the vendor behind it',
      'openrouter',
      { cost: 0.00003, is_byok: true, cost_details: {} },
      undefined,
    ],
    ['ticks', 'xai', { cost_in_usd_ticks: 1_641_500 }, '0.00016415'],
    ['an object with a total', 'perplexity', { cost: { input_tokens_cost: 0.00001, request_cost: 0.005, total_cost: 0.00526 } }, '0.00526'],
    ['unknown where it is not reported', 'openai', {}, undefined],
    ['unknown where it is not a number', 'openrouter', { cost: '0.1' }, undefined],
    ['unknown where it is negative', 'openrouter', { cost: -1 }, undefined],
  ])('is %s', (_, name, usage, charged) => expect(bodyUsage(name, chat(usage))?.charged).toBe(charged));

  it('is read from the Responses API too', () => {
    expect(bodyUsage('xai', chat({}))?.charged).toBeUndefined();
    const body = {
      status: 'completed',
      output: [],
      usage: {
        input_tokens: 3,
        output_tokens: 4,
        cost_in_usd_ticks: 20_000_000,
        server_side_tool_usage_details: { web_search_calls: 2, x_search_calls: 1 },
      },
    };
    expect(bodyUsage('openai-responses', body)).toMatchObject({ charged: '0.002', webSearches: 2 });
  });
});

describe('searches', () => {
  it.each<[string, string, object, object, number | null | undefined]>([
    ['are counted', 'openrouter', { server_tool_use: { web_search_requests: 2 } }, {}, 2],
    ['are counted as queries', 'perplexity', { num_search_queries: 18 }, {}, 18],
    [
      'are of an unknown number where a page is cited',
      'openai',
      {},
      { annotations: [{ type: 'url_citation', url_citation: { url: 'https://a.example' } }] },
      null,
    ],
    ['are not assumed where only a file is cited', 'openai', {}, { annotations: [{ type: 'file_citation' }] }, undefined],
    ['are not reported', 'openai', {}, {}, undefined],
  ])('%s in chat completions of %s', (_, name, usage, message, searches) =>
    expect(bodyUsage(name, chat(usage, message))?.webSearches).toBe(searches),
  );

  const call = (type?: string): object => ({
    type: 'web_search_call',
    id: `ws_${type}`,
    status: 'completed',
    ...(type !== undefined && { action: { type } }),
  });
  const response = (...output: object[]): object => ({ status: 'completed', output, usage: { input_tokens: 3, output_tokens: 4 } });

  it.each<[string, object, Asked, number | undefined]>([
    [
      'those that search, and not those that open a page',
      response(call('search'), call('open_page'), call('find_in_page'), call('search'), call()),
      {},
      3,
    ],
    ['zero, to a caller of the Responses API, who may have asked for some', response(), { form: 'responses' }, 0],
    ['not reported, to other callers', response(), {}, undefined],
  ])('of the Responses API are its calls: %s', (_, body, asked, searches) =>
    expect(bodyUsage('openai-responses', body, asked)?.webSearches).toBe(searches),
  );

  const start = { type: 'message_start', message: { id: 'm', usage: { input_tokens: 9, output_tokens: 1 } } };
  const search = {
    type: 'content_block_start',
    index: 0,
    content_block: { type: 'server_tool_use', id: 's', name: 'web_search', input: {} },
  };
  const run = {
    type: 'content_block_start',
    index: 0,
    content_block: { type: 'server_tool_use', id: 's', name: 'code_execution', input: {} },
  };
  const end = (server_tool_use?: object | null): object => ({
    type: 'message_delta',
    delta: { stop_reason: 'end_turn' },
    usage: { output_tokens: 5, server_tool_use },
  });

  it.each<[string, readonly object[], Asked, number | null | undefined]>([
    ['are those of the last report', [start, search, end({ web_search_requests: 3 })], {}, 3],
    ['are unknown where the stream breaks before its last report', [start, search], { form: 'messages' }, null],
    ['are unknown where the last report does not count them', [start, search, end()], {}, null],
    ['are none where no tool of the provider ran', [start, end(null)], { form: 'messages' }, 0],
    ['are none where another tool of the provider ran', [start, run, end()], { form: 'messages' }, 0],
    ['are not reported to callers of other APIs', [start, end()], {}, undefined],
  ])('of the Messages API %s', (_, events, asked, searches) => expect(streamUsage('anthropic', events, asked)?.webSearches).toBe(searches));

  const grounded = (...webSearchQueries: string[]): object => ({
    candidates: [{ content: { parts: [{ text: 'a' }] }, groundingMetadata: { webSearchQueries } }],
  });
  const usageMetadata = { promptTokenCount: 3, candidatesTokenCount: 4 };

  it.each<[string, string, readonly object[], number | undefined]>([
    ['each query once', 'gemini-3.1-pro', [grounded('a', '', 'b'), { ...grounded('b', 'c'), usageMetadata }], 3],
    ['the prompt, of older models', 'gemini-2.5-pro', [{ ...grounded('a', 'b'), usageMetadata }], 1],
    ['also those that come after the counts', 'gemini-3.1-pro', [{ candidates: [], usageMetadata }, grounded('a')], 1],
    ['nothing where it did not search', 'gemini-3.1-pro', [{ candidates: [], usageMetadata }], undefined],
  ])('of Gemini are %s', (_, externalId, events, searches) =>
    expect(streamUsage('gemini', events, { externalId })?.webSearches).toBe(searches),
  );

  it.each([
    ['gemini-2.5-flash', 1],
    ['gemini-3.1-pro', 2],
  ])('of an endpoint at Vertex AI follow its model: %s', (modelId, searches) => {
    expect(streamUsage('gemini', [{ ...grounded('a', 'b'), usageMetadata }], { externalId: 'endpoints/123', modelId })?.webSearches).toBe(
      searches,
    );
  });
});

describe('tokens with special prices', () => {
  it.each<[string, Usage | undefined, object | undefined]>([
    [
      'chat completions',
      bodyUsage(
        'openai',
        chat({
          prompt_tokens_details: { audio_tokens: 4, cached_tokens: 0 },
          completion_tokens_details: {
            reasoning_tokens: 0,
            audio_tokens: 3,
            image_tokens: 1,
            accepted_prediction_tokens: 2,
            rejected_prediction_tokens: 1,
          },
        }),
      ),
      { inputAudio: 4, outputAudio: 3, outputImage: 1, acceptedPrediction: 2, rejectedPrediction: 1 },
    ],
    ['none, of chat completions that report none', bodyUsage('openai', chat({})), undefined],
    ['cited sources, of Perplexity', bodyUsage('perplexity', chat({ citation_tokens: 20_000 })), { citations: 20_000 }],
    [
      'Gemini',
      bodyUsage('gemini', {
        candidates: [{ content: { parts: [{ text: 'a' }] }, finishReason: 'STOP' }],
        usageMetadata: {
          promptTokenCount: 30,
          promptTokensDetails: [
            { modality: 'TEXT', tokenCount: 5 },
            { modality: 'AUDIO', tokenCount: 25 },
          ],
          candidatesTokenCount: 9,
          candidatesTokensDetails: [{ modality: 'IMAGE', tokenCount: 8 }],
        },
      }),
      { inputAudio: 25, outputImage: 8 },
    ],
    [
      'the speech of Gemini',
      bodyUsage('gemini', {
        candidates: [{ content: { parts: [{ text: 'a' }] }, finishReason: 'STOP' }],
        usageMetadata: {
          promptTokenCount: 5,
          candidatesTokenCount: 9,
          candidatesTokensDetails: [
            { modality: 'TEXT', tokenCount: 2 },
            { modality: 'AUDIO', tokenCount: 7 },
          ],
        },
      }),
      { outputAudio: 7 },
    ],
  ])('are kept: %s', (_, usage, details) => expect(usage?.details).toEqual(details));

  it('are kept when a later report of the stream leaves them out', () => {
    const events = [
      { choices: [], usage: { ...counts, cost: 0.5, completion_tokens_details: { audio_tokens: 3 } } },
      { choices: [], usage: { ...counts, completion_tokens: 6 } },
    ];
    expect(streamUsage('openai', events)).toMatchObject({ answer: 6, charged: '0.5', details: { outputAudio: 3 } });
  });

  it('may be reasoning tokens that a vendor counts neither in the answer nor in the total', () => {
    const usage = { prompt_tokens: 33, completion_tokens: 7163, total_tokens: 7196, reasoning_tokens: 73_997 };
    expect(bodyUsage('perplexity', chat(usage))).toMatchObject({ answer: 7163, reasoning: 73_997 });
    expect(bodyUsage('openai', chat(usage))).toMatchObject({ answer: 0, reasoning: 7163 });
  });
});
