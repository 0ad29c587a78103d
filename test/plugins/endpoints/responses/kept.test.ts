/** Responses that are kept in the log: their uses, their owner and their end. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { createKeptResponses, lookUp } from '../../../../plugins/endpoints/responses/kept.ts';
import { oneUpstream, testGateway } from '../../../_kit/gateway.ts';
import type { TestGateway } from '../../../_kit/gateway.ts';
import { memoryLog } from '../../../_kit/log.ts';
import { answers, completion, event, startUpstream, streams } from '../../../_kit/upstream.ts';
import type { ScriptedUpstream, Step } from '../../../_kit/upstream.ts';
import { errorOf, gatewayOf, probe, provider } from '../../../core/scene.ts';
import { ask, nativeAnswer, nativeUpstream, respond, said, streamOf } from './stage.ts';

const keys = [
  { name: 'first', key: 'sk-first-0123456789abcdef' },
  { name: 'second', key: 'sk-second-0123456789abcdef' },
];
const as = (name: string): Record<string, string> => ({ authorization: `Bearer sk-${name}-0123456789abcdef` });
const withLog = (bodies: boolean) => [{ use: 'log/journal', with: { bodies } }];

// cost: a gateway with a log starts a thread, 60 ms of CPU. No test here changes
// the gateway, so they share one; those with other settings have their own
let folder: string;
let up: ScriptedUpstream;
let gateway: TestGateway;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gateway-kept-'));
  up = await startUpstream();
  const [plain, native] = [oneUpstream(up.url), nativeUpstream(up.url)] as { providers: object; models: object[] }[];
  const parts = {
    id: 'parts',
    free: true,
    providers: [{ providerId: 'two', externalId: 'gemini-2.5-flash', streaming: true, reasoning: { max_tokens: true } }],
  };
  gateway = await testGateway({
    config: {
      ...plain,
      server: { data_dir: folder },
      providers: { ...plain?.providers, ...native?.providers, two: { dialect: 'gemini', base_url: up.url, api_key: 'k' } },
      models: [...(plain?.models ?? []), ...(native?.models ?? []), parts],
    },
    use: withLog(true),
  });
});
afterAll(async () => {
  await gateway?.close();
  await up?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** The provider answers the requests of one test with these steps. */
function script(...steps: Step[]): void {
  up.asked.length = 0;
  up.script(...(steps.length === 0 ? [answers(completion('hello'))] : steps));
}

/** A gateway of one test. */
async function logging(config: Record<string, unknown>, bodies = true): Promise<TestGateway> {
  const own = mkdtempSync(join(tmpdir(), 'gateway-kept-'));
  onTestFinished(() => rmSync(own, { recursive: true, force: true }));
  return await gatewayOf({ ...config, server: { data_dir: own } }, { use: withLog(bodies) });
}

const get = async (gateway: TestGateway, id: string, headers: Record<string, string> = {}): Promise<Response> =>
  await gateway.get(`/v1/responses/${id}`, headers);
const remove = async (gateway: TestGateway, id: string, headers: Record<string, string> = {}): Promise<Response> =>
  await gateway.ask(`/responses/${id}`, { method: 'DELETE', headers });
/** The id of the response of a request. */
const responseOf = (request: string): string => `resp_${request.replaceAll('-', '')}`;
const weather = { type: 'function', name: 'weather', parameters: { type: 'object' } };
const calling = completion('Let me look.', {
  reasoning_content: 'I look.',
  tool_calls: [{ id: 'c1', type: 'function', function: { name: 'weather', arguments: '{"city":"Rome"}' } }],
});

describe('a kept response', () => {
  it('is returned as it was, plain and streamed', async () => {
    const stream = streams([
      event({ reasoning_content: 'I look.' }),
      event({ content: 'Let me ' }),
      event({ content: 'look.' }),
      event({ tool_calls: [{ index: 0, id: 'c1', type: 'function', function: { name: 'weather', arguments: '{}' } }] }),
      event({}, 'tool_calls'),
      'data: [DONE]\n\n',
    ]);
    script(answers({ ...calling, service_tier: 'default' }), stream);
    const asked = {
      model: 'thinker',
      instructions: 'Be terse.',
      tools: [weather],
      metadata: { job: '7' },
      reasoning: { effort: 'low', summary: 'auto' },
      include: ['reasoning.encrypted_content'],
    };
    const plain = await respond(gateway, { ...asked, store: true });
    expect(plain.store).toBe(true);
    expect(await (await get(gateway, plain.id)).json()).toEqual(plain);
    const { response } = await streamOf(gateway, asked);
    expect(response.store).toBe(true);
    expect(await (await get(gateway, response.id)).json()).toEqual({ ...response, usage: null });
  });

  it('that was cut at a limit is still incomplete', async () => {
    script(streams([event({ content: 'Once upon' }), event({}, 'length'), 'data: [DONE]\n\n']));
    const { response } = await streamOf(gateway, { max_output_tokens: 20 });
    expect(response).toMatchObject({ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } });
    expect(await (await get(gateway, response.id)).json()).toEqual({ ...response, usage: null });
  });

  it('is returned with a state after its text at its place, plain and streamed', async () => {
    const body = {
      candidates: [
        {
          content: {
            role: 'model',
            parts: [{ text: 'I look.', thought: true }, { text: 'Mild.' }, { text: '', thoughtSignature: 'sig-late' }],
          },
          finishReason: 'STOP',
        },
      ],
    };
    script(answers(body), streams([`data: ${JSON.stringify(body)}\n\n`]));
    const plain = await respond(gateway, { model: 'parts' });
    const { response } = await streamOf(gateway, { model: 'parts' });
    for (const given of [plain, response]) expect(await (await get(gateway, given.id)).json()).toMatchObject({ output: given.output });
  });

  it('is returned with items that only its provider knows', async () => {
    const search = { id: 'ws_1', type: 'web_search_call', status: 'completed', action: { type: 'search', query: 'q' } };
    script(
      nativeAnswer(
        [
          said('One.', { phase: 'commentary' }),
          search,
          {
            id: 'rs_1',
            type: 'reasoning',
            summary: [
              { type: 'summary_text', text: 'A.' },
              { type: 'summary_text', text: 'B.' },
            ],
            encrypted_content: 'sealed',
          },
          said('Two.'),
        ],
        { service_tier: 'flex' },
      ),
    );
    const response = await respond(gateway, { model: 'native', tools: [{ type: 'web_search' }] });
    expect(response.output.map(({ type }: any) => type)).toEqual(['message', 'web_search_call', 'reasoning', 'message']);
    expect(await (await get(gateway, response.id)).json()).toEqual(response);
  });

  it.each([
    ['absent', {}],
    ['null', { input: null }],
  ])('can be continued where the input is %s', async (_, input) => {
    script(answers(completion('Let me')), answers(completion(' look.')));
    const one = await respond(gateway, { input: 'Weather?' });
    await respond(gateway, { input: undefined, previous_response_id: one.id, ...input });
    expect(up.asked[1]?.json['messages'].map(({ content }: any) => content)).toEqual(['Weather?', 'Let me']);
  });

  it('can be continued: the whole conversation goes to the provider, without the instructions', async () => {
    script(answers(calling), answers(completion('It is mild.')), answers(completion('Yes.')));
    const one = await respond(gateway, { input: 'Weather?', instructions: 'Old.', tools: [weather] });
    const two = await respond(gateway, {
      previous_response_id: one.id,
      instructions: 'New.',
      input: [{ type: 'function_call_output', call_id: 'c1', output: '20' }],
      tools: [weather],
    });
    expect(two.previous_response_id).toBe(one.id);
    await respond(gateway, { previous_response_id: two.id, input: 'Sure?', store: false });
    expect(up.asked[1]?.json['messages'].map(({ role, content }: any) => [role, content])).toEqual([
      ['system', 'New.'],
      ['user', 'Weather?'],
      ['assistant', 'Let me look.'],
      ['tool', '20'],
    ]);
    expect(up.asked[2]?.json['messages']).toEqual([
      { role: 'user', content: 'Weather?' },
      {
        role: 'assistant',
        content: 'Let me look.',
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'weather', arguments: '{"city":"Rome"}' } }],
      },
      { role: 'tool', tool_call_id: 'c1', content: '20' },
      { role: 'assistant', content: 'It is mild.' },
      { role: 'user', content: 'Sure?' },
    ]);
  });

  it('can be continued with the tools of its conversation', async () => {
    script(answers(calling));
    const one = await respond(gateway, {
      input: [
        { type: 'additional_tools', role: 'developer', tools: [weather] },
        { role: 'user', content: 'Weather?' },
      ],
    });
    await respond(gateway, { previous_response_id: one.id, input: [{ type: 'function_call_output', call_id: 'c1', output: '20' }] });
    expect(up.asked.map(({ json }) => json['tools'].map((tool: any) => tool.function.name))).toEqual([['weather'], ['weather']]);
    expect(one.tools).toEqual([]);
  });

  it('can be continued with the tools that a search found', async () => {
    script(
      answers(
        completion('', { tool_calls: [{ id: 'c1', type: 'function', function: { name: 'tool_search', arguments: '{"query":"w"}' } }] }),
      ),
      answers(calling),
    );
    const search = { type: 'tool_search', execution: 'client' };
    const one = await respond(gateway, { input: 'Weather?', tools: [search] });
    const two = await respond(gateway, {
      previous_response_id: one.id,
      input: [{ type: 'tool_search_output', call_id: one.output[0].call_id, execution: 'client', tools: [weather] }],
      tools: [search],
    });
    await respond(gateway, {
      previous_response_id: two.id,
      input: [{ type: 'function_call_output', call_id: 'c1', output: '20' }],
      tools: [search],
    });
    expect(up.asked.map(({ json }) => json['tools'].map((tool: any) => tool.function.name))).toEqual([
      ['tool_search'],
      ['tool_search', 'weather'],
      ['tool_search', 'weather'],
    ]);
    const { output } = (await (await get(gateway, one.id)).json()) as any;
    expect(output).toEqual(one.output);
    expect(output).toMatchObject([{ type: 'tool_search_call', arguments: { query: 'w' } }]);
  });

  it('gives its items to a request that refers to them', async () => {
    script(answers(calling), answers(completion('It is mild.')));
    const { output } = await respond(gateway, { input: 'Weather?', tools: [weather] });
    const references = output.map(({ id }: any) => ({ type: 'item_reference', id }));
    await respond(gateway, {
      tools: [weather],
      input: [{ role: 'user', content: 'Weather?' }, ...references, { type: 'function_call_output', call_id: 'c1', output: '20' }],
    });
    expect(up.asked[1]?.json['messages'][1]).toMatchObject({ role: 'assistant', content: 'Let me look.', tool_calls: [{ id: 'c1' }] });
    const reply = await ask(gateway, { input: [{ type: 'item_reference', id: `msg_${'0'.repeat(36)}` }] });
    expect([reply.status, await errorOf(reply)]).toMatchObject([
      400,
      { param: 'input[0]', message: expect.stringContaining('Send the item itself') },
    ]);
  });

  // the AI SDK refers to each item of an answer, and a search has the id of its provider, which names no response
  it.each([
    ['begins', (search: object, text: object) => [search, text]],
    ['ends', (search: object, text: object) => [text, search]],
  ])('gives the search with which an answer %s to a request that refers to it', async (_, output) => {
    const search = (id: string): object => ({ id, type: 'web_search_call', status: 'completed', action: { type: 'search', query: id } });
    script(
      nativeAnswer(output(search('ws_1'), said('One.'))),
      nativeAnswer(output(search('ws_2'), said('Two.'))),
      nativeAnswer([said('Three.')]),
    );
    const input: object[] = [];
    for (const [at, found] of [[], ['ws_1'], ['ws_1', 'ws_2']].entries()) {
      input.push({ role: 'user', content: `Question ${at}` });
      const response = await respond(gateway, { model: 'native', input, tools: [{ type: 'web_search' }] });
      expect(up.asked[at]?.json['input'].filter(({ type }: any) => type === 'web_search_call')).toEqual(found.map(search));
      input.push(...response.output.map(({ id }: any) => ({ type: 'item_reference', id })));
    }
  });

  // the AI SDK refers to the call of its shell tool by the id alone, and nothing beside it need have an id that names the response
  it.each([
    ['shell_call', 'sh'],
    ['apply_patch_call', 'apc'],
  ])('gives an answer that is a %s alone to a request that refers to it', async (type, prefix) => {
    const call = { type, call_id: 'c1', status: 'completed', action: { commands: ['ls'] } };
    const upstream = nativeAnswer([{ id: `${prefix}_up`, ...call }]);
    const result = { type: `${type}_output`, call_id: 'c1', output: [] };
    script(upstream, nativeAnswer([said('Done.')]));
    const { id, output } = await respond(gateway, { model: 'native', input: 'List.', tools: [{ type: 'shell' }] });
    expect(output).toEqual([{ ...call, id: `${prefix}_${id.slice('resp_'.length)}0000` }]);
    await respond(gateway, { model: 'native', input: [{ type: 'item_reference', id: output[0].id }, result], tools: [{ type: 'shell' }] });
    expect(up.asked[1]?.json['input']).toEqual([call, result]);
  });

  it('is not returned as a stream, which a client would read as a response without events', async () => {
    script();
    const { id } = await respond(gateway, {});
    const reply = await get(gateway, `${id}?stream=true`);
    expect([reply.status, await errorOf(reply)]).toMatchObject([400, { param: 'stream', code: 'unsupported_value' }]);
    expect((await get(gateway, `${id}?stream=false`)).status).toBe(200);
  });

  it('is only for its own key', async () => {
    const up = await provider();
    const gateway = await logging({ ...oneUpstream(up.url), keys });
    const { id } = await respond(gateway, {}, as('first'));
    expect((await get(gateway, id, as('first'))).status).toBe(200);
    expect([
      (await get(gateway, id)).status,
      (await get(gateway, id, as('second'))).status,
      (await remove(gateway, id, as('second'))).status,
    ]).toEqual([401, 404, 404]);
    const reply = await ask(gateway, { previous_response_id: id }, as('second'));
    const wanted = { type: 'invalid_request_error', code: 'previous_response_not_found', param: 'previous_response_id' };
    expect([reply.status, await errorOf(reply)]).toMatchObject([400, wanted]);
    expect((await get(gateway, id, as('first'))).status).toBe(200);
  });

  it('is deleted with its texts, and its record stays', async () => {
    script(answers(completion('A secret.')));
    const { id } = await respond(gateway, {});
    const gone = await remove(gateway, id);
    expect([gone.status, await gone.json()]).toEqual([200, { id, object: 'response', deleted: true }]);
    expect([
      (await get(gateway, id)).status,
      (await remove(gateway, id)).status,
      (await ask(gateway, { previous_response_id: id })).status,
    ]).toEqual([404, 404, 400]);
    const { request, response, status } = (await (
      await gateway.get(`/api/logs/${gateway.records.find((record) => responseOf(record.id) === id)?.id}`)
    ).json()) as any;
    expect([request, response, status]).toEqual([null, null, 200]);
  });
});

describe('a response of another gateway', () => {
  const id = '01a20399-cca1-7000-8000-01a4003e59f2';
  const madeAt = 0x01a20399cca1;
  const record = {
    id,
    outcome: 'answered' as const,
    path: '/v1/responses',
    request: { messages: [], door: { store: true, previous_response_id: null, parameters: {} } },
    response: { choices: [{ text: 'Yes.', reasoning: '', finishReason: 'completed' }], outline: [['text', 4]] },
    key: null,
  };

  it.each([
    ['was made a moment ago', 10],
    ['took ten minutes', 600_000],
  ])('is waited for where it %s', async (_, ageMs) => {
    const log = memoryLog();
    const kept = createKeptResponses({ readerOf: () => log, clock: () => madeAt + ageMs });
    const asked = kept.find(`resp_${id.replaceAll('-', '')}`, { key: null });
    await log.catchUp();
    log.add(record);
    expect((await asked)?.response).toMatchObject({ output: [{ content: [{ text: 'Yes.' }] }] });
  });

  it('is not waited for where it is older', async () => {
    const log = memoryLog();
    const kept = createKeptResponses({ readerOf: () => log, clock: () => madeAt + 2 * 3_600_000 });
    const asked = kept.find(`resp_${id.replaceAll('-', '')}`, { key: null });
    await log.catchUp();
    log.add(record);
    expect(await asked).toBeNull();
  });
});

describe('references of one request', () => {
  /** The id of an item of a request of this moment: the log is asked again for a while if it does not have the item yet. */
  const itemOf = (at: number): string => `msg_${Date.now().toString(16).padStart(12, '0')}7${at.toString(16).padStart(19, '0')}0000`;
  const askWith = async (references: readonly string[]) => {
    const log = memoryLog();
    const get = vi.spyOn(log, 'get');
    const gateway = await gatewayOf(oneUpstream((await provider()).url), { plugins: [probe(({ log: tap }) => tap.provide(log))] });
    const reply = await ask(gateway, { input: references.map((id) => ({ type: 'item_reference', id })) });
    return { asked: get.mock.calls.map(([id]) => id), reply };
  };

  it('are looked up until one is missing, because a body may have a hundred thousand', async () => {
    const { asked, reply } = await askWith([1, 2, 3].map(itemOf));
    expect([new Set(asked).size, reply.status, (await errorOf(reply)).param]).toEqual([1, 400, 'input[0]']);
  });
});

it('a log that once failed to say whether it keeps bodies is asked again', async () => {
  const log = memoryLog();
  vi.spyOn(log, 'status').mockRejectedValueOnce(new Error('away'));
  const gateway = await gatewayOf(oneUpstream((await provider()).url), { plugins: [probe(({ log: tap }) => tap.provide(log))] });
  expect([(await ask(gateway, {})).status, (await ask(gateway, {})).status]).toEqual([500, 200]);
});

describe('a response is not kept', () => {
  it.each([
    ['where the request sets store to false', {}, { store: false }],
    ['where its body is kept out of the log', { 'x-log-bodies': 'off' }, {}],
  ])('%s', async (_, headers: Record<string, string>, body) => {
    script();
    const { id, store } = await respond(gateway, body, headers);
    expect([store, (await get(gateway, id)).status]).toEqual([false, 404]);
    const reply = await ask(gateway, { previous_response_id: id });
    expect([reply.status, (await errorOf(reply)).message]).toEqual([400, expect.stringContaining('is kept for this key')]);
  });

  it('where the log keeps no bodies, and it cannot be continued then', async () => {
    const gateway = await logging(oneUpstream((await provider()).url), false);
    const { id, store } = await respond(gateway, {});
    expect([store, (await get(gateway, id)).status]).toEqual([false, 404]);
    for (const [body, param] of [
      [{ store: true }, 'store'],
      [{ previous_response_id: id }, 'previous_response_id'],
      [{ input: [{ type: 'item_reference', id: 'msg_1' }] }, 'input'],
    ] as const) {
      const reply = await ask(gateway, body);
      expect([reply.status, (await errorOf(reply)).param]).toEqual([400, param]);
    }
  });

  it('where the request also keeps its body out of the log: that is a 400', async () => {
    script();
    const reply = await ask(gateway, { store: true }, { 'x-log-bodies': 'off' });
    expect([reply.status, (await errorOf(reply)).param]).toEqual([400, 'store']);
  });

  it('where its request came from another endpoint', async () => {
    script();
    const reply = await gateway.chat({});
    await reply.json();
    expect((await get(gateway, responseOf(reply.headers.get('x-request-id') ?? ''))).status).toBe(404);
  });

  it.each(['resp_0123456789abcdef', `resp_${'f'.repeat(32)}`, 'x'])('under the unknown id %s', async (id) => {
    script();
    expect([
      (await get(gateway, id)).status,
      (await remove(gateway, id)).status,
      (await ask(gateway, { previous_response_id: id })).status,
    ]).toEqual([404, 404, 400]);
  });
});

it('a kept response is searched once, however many references are to its items', async () => {
  const idOf = (at: number): string => `fc_01a215a98b4b7000800000dfc553b269${at.toString(16).padStart(4, '0')}`;
  const output = Array.from({ length: 60_000 }, (_, at) => ({ id: idOf(at), type: 'function_call' }));
  const kept = {
    keepsBodies: () => Promise.resolve(true),
    forget: () => Promise.resolve(false),
    find: () => Promise.resolve({ response: { output }, messages: [] }),
  };
  const items = Array.from({ length: 100_000 }, (_, at) => ({ type: 'item_reference', id: idOf(59_999 - (at % 10)) }));
  const { items: found } = await lookUp({ previous: null, items }, { key: null }, kept);
  expect([found.length, found[0], found[11]]).toEqual([100_000, output[59_999], output[59_998]]);
});

it('an item is found by its id wherever it is in its response, also behind 65,536 others', async () => {
  const [first, last] = ['fc_01a215a98b4b7000800000dfc553b2690000', 'fc_01a215a98b4b7000800000dfc553b26910000'].map((id) => ({ id }));
  const kept = {
    keepsBodies: () => Promise.resolve(true),
    forget: () => Promise.resolve(false),
    find: () => Promise.resolve({ response: { output: [first, last] }, messages: [] }),
  };
  const { items } = await lookUp({ previous: null, items: [{ type: 'item_reference', id: last?.id }] }, { key: null }, kept);
  expect(items).toEqual([last]);
});
