/** The items that a kept response was asked, and the operations of this API that the gateway does not have. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Message, ReasoningDetail } from '../../../../core/chat.ts';
import { toOpaque } from '../../../../core/wire/opaque.ts';
import { inputItems } from '../../../../plugins/endpoints/responses/input.ts';
import { messagesOf } from '../../../../plugins/endpoints/responses/items.ts';
import { cpuMsOf } from '../../../_kit/cpu.ts';
import { oneUpstream, testGateway } from '../../../_kit/gateway.ts';
import type { TestGateway } from '../../../_kit/gateway.ts';
import { answers, completion, startUpstream } from '../../../_kit/upstream.ts';
import type { ScriptedUpstream, Step } from '../../../_kit/upstream.ts';
import { errorOf } from '../../../core/scene.ts';
import { ask, nativeAnswer, nativeUpstream, respond, said } from './stage.ts';

const keys = [
  { name: 'first', key: 'sk-first-0123456789abcdef' },
  { name: 'second', key: 'sk-second-0123456789abcdef' },
];
const first = { authorization: 'Bearer sk-first-0123456789abcdef' };
const second = { authorization: 'Bearer sk-second-0123456789abcdef' };

let folder: string;
let up: ScriptedUpstream;
let gateway: TestGateway;
let client: OpenAI;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gateway-input-'));
  up = await startUpstream();
  const [plain, native] = [oneUpstream(up.url), nativeUpstream(up.url)] as { providers: object; models: object[] }[];
  const providers = { ...plain?.providers, ...native?.providers };
  const models = [...(plain?.models ?? []), ...(native?.models ?? [])];
  gateway = await testGateway({
    config: { ...plain, server: { data_dir: folder }, providers, models, keys },
    use: ['log/journal'],
  });
  client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: keys[0]?.key ?? '', maxRetries: 0 });
});
afterAll(async () => {
  await gateway?.close();
  await up?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** The id of a response, to a provider that answers with these steps. */
async function asked(body: object, ...steps: Step[]): Promise<string> {
  up.asked.length = 0;
  up.script(...(steps.length === 0 ? [answers(completion('hello'))] : steps));
  return (await respond(gateway, body, first)).id as string;
}

const pageAt = async (id: string, query = '', headers: Record<string, string> = first): Promise<Response> =>
  await gateway.get(`/v1/responses/${id}/input_items${query}`, headers);
const itemsOf = async (id: string, query = '?order=asc&limit=100'): Promise<any[]> =>
  ((await (await pageAt(id, query)).json()) as any).data;

const png = 'data:image/png;base64,iVBORw0KGgo=';
const parts = [
  { type: 'input_text', text: 'What is this?' },
  { type: 'input_image', image_url: png, detail: 'low' },
];
const patch = { type: 'custom', name: 'patch', format: { type: 'text' } };
const user = (text: string): object => ({ role: 'user', content: text });
const turn = [
  { role: 'developer', content: 'Be kind.' },
  { role: 'user', content: [...parts, { type: 'input_file', file_url: 'http://files.test/a.pdf' }] },
  said('One.', { phase: 'commentary' }),
  { id: 'ws_1', type: 'web_search_call', status: 'completed', action: { type: 'search', query: 'q' } },
  said('Two.'),
  { type: 'function_call', call_id: 'c1', name: 'weather', namespace: 'home', arguments: '{"city":"Rome"}' },
  { type: 'custom_tool_call', call_id: 'c2', name: 'patch', input: '*** "Begin"' },
  { type: 'function_call_output', call_id: 'c1', output: '20' },
  { type: 'custom_tool_call_output', call_id: 'c2', output: parts },
  { type: 'tool_search_call', call_id: 'c3', execution: 'client', arguments: { query: 'w' } },
  { type: 'tool_search_output', call_id: 'c3', execution: 'client', tools: [{ type: 'function', name: 'rain', parameters: {} }] },
  { type: 'shell_call_output', call_id: 'c4', output: [] },
  user('Now?'),
];

describe('the input items of a response', () => {
  it('are those of the request, each with an id, and mean the same when they are sent again', async () => {
    const id = await asked({ model: 'native', input: turn, instructions: 'Be terse.' }, nativeAnswer([said('Yes.')]));
    const items = await itemsOf(id);
    expect(items).toMatchObject([
      { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Be kind.' }] },
      { type: 'message', role: 'user', content: [...parts, { type: 'input_file', file_url: 'http://files.test/a.pdf' }] },
      { type: 'message', role: 'assistant', phase: 'commentary', content: [{ type: 'output_text', text: 'One.', annotations: [] }] },
      turn[3],
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Two.' }] },
      ...turn.slice(5, 12),
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Now?' }] },
    ]);
    expect(new Set(items.map((item) => item.id)).size).toBe(turn.length);
    const sent = up.asked[0]?.json['input'];
    await asked({ model: 'native', input: items }, nativeAnswer([said('Yes.')]));
    expect(up.asked[0]?.json['input']).toEqual(sent);
  });

  it('have the detail of an image as it was given, and `auto` where none was given', async () => {
    const images = [
      { type: 'input_image', image_url: png, detail: 'original' },
      { type: 'input_image', image_url: png },
      { type: 'input_image', file_id: 'file_1', detail: 'low' },
      { type: 'input_image', file_id: 'file_1' },
    ];
    const input = [{ role: 'user', content: images }, call, { type: 'function_call_output', call_id: 'c1', output: images }];
    const id = await asked({ model: 'native', input }, nativeAnswer([said('Yes.')]));
    const [question, , result] = await itemsOf(id);
    const wanted = images.map((image) => ({ detail: 'auto', ...image }));
    expect([question.content, result.output]).toEqual([wanted, wanted]);
  });

  it('are the whole conversation where the response went on from another, with the thoughts', async () => {
    const call = { id: 'c1', type: 'function', function: { name: 'patch', arguments: '{"input":"a"}' } };
    const one = await asked(
      { input: 'Patch it.', instructions: 'Old.', tools: [patch] },
      answers(completion('Let me.', { reasoning_content: 'I look.', tool_calls: [call] })),
    );
    const output = [{ type: 'input_image', image_url: png }];
    const two = await asked({
      previous_response_id: one,
      instructions: 'New.',
      tools: [patch],
      input: [{ type: 'custom_tool_call_output', call_id: 'c1', output }],
    });
    const items = await itemsOf(two);
    expect(items).toMatchObject([
      { type: 'message', role: 'user' },
      { type: 'reasoning', summary: [{ type: 'summary_text', text: 'I look.' }] },
      { type: 'message', role: 'assistant', content: [{ text: 'Let me.' }] },
      { type: 'custom_tool_call', call_id: 'c1', name: 'patch', input: 'a' },
      { type: 'custom_tool_call_output', call_id: 'c1', output },
    ]);
    expect(items[1]).not.toHaveProperty('encrypted_content');
    expect(await itemsOf(one)).toMatchObject([{ content: [{ text: 'Patch it.' }] }]);
    // the image reaches a provider of chat completions, which has no custom tools
    expect(JSON.stringify(up.asked[0]?.json['messages'])).toContain(png);
  });

  it('have the state of their thoughts where the query asks for it', async () => {
    const thought = { type: 'reasoning', summary: [{ type: 'summary_text', text: 'A.' }] };
    const sealed = { id: 'rs_up', ...thought, encrypted_content: 'sealed' };
    const one = await asked({ model: 'native', include: ['reasoning.encrypted_content'] }, nativeAnswer([sealed, said('One.')]));
    const two = await asked({ model: 'native', previous_response_id: one }, nativeAnswer([said('Two.')]));
    const sent = up.asked[0]?.json['input'];
    expect(sent[1]).toMatchObject({ encrypted_content: 'sealed' });
    for (const name of ['include', 'include[]']) {
      const items = await itemsOf(two, `?order=asc&${name}=reasoning.encrypted_content`);
      await asked({ model: 'native', input: items }, nativeAnswer([said('Yes.')]));
      expect(up.asked[0]?.json['input']).toEqual(sent);
    }
    expect(await itemsOf(two)).toMatchObject([{}, thought, {}, {}]);
    expect((await itemsOf(two))[1]).not.toHaveProperty('encrypted_content');
  });

  it('come in pages, the newest first, which the SDK reads to their end', async () => {
    // the same search twice: a page that began behind an id that is there twice would come again and again
    const input = [...Array.from({ length: 45 }, (_, at) => user(`${at}`)), turn[3], user('45'), turn[3], user('46')];
    const id = await asked({ model: 'native', input }, nativeAnswer([said('Yes.')]));
    const textOf = (item: any): string => item.content?.[0].text ?? item.type;
    const all = (await itemsOf(id)).map(textOf);
    expect(all).toHaveLength(input.length);
    for (const limit of [1, 7, 20, 100]) {
      const read: string[] = [];
      for await (const item of client.responses.inputItems.list(id, { limit, order: 'asc' })) read.push(textOf(item));
      expect(read).toEqual(all);
    }
    const newest: string[] = [];
    for await (const item of client.responses.inputItems.list(id)) newest.push(textOf(item));
    expect(newest).toEqual(all.toReversed());
    const page = (await (await pageAt(id)).json()) as any;
    expect(page).toMatchObject({ object: 'list', has_more: true, first_id: page.data[0].id, last_id: page.data[19].id });
    expect(await (await pageAt(id, `?limit=${input.length}`)).json()).toMatchObject({ has_more: false });
  });

  it.each([
    ['limit', 'limit=0'],
    ['limit', 'limit=101'],
    ['limit', 'limit=x'],
    ['order', 'order=up'],
    ['after', 'after=item_1'],
  ])('are refused with a wrong %s', async (param, query) => {
    const reply = await pageAt(await asked({}), `?${query}`);
    expect([reply.status, await errorOf(reply)]).toMatchObject([400, { param, code: 'invalid_value' }]);
  });

  it('are without the credentials of the tools that they declare', async () => {
    const tools = [{ type: 'mcp', server_label: 's', server_url: 'http://mcp.test', authorization: 'hidden', headers: { a: 'hidden' } }];
    const input = [{ type: 'additional_tools', role: 'developer', tools }, user('hi')];
    const id = await asked({ model: 'native', input }, nativeAnswer([said('Yes.')]));
    const items = await itemsOf(id);
    expect(items[0]).toMatchObject({ type: 'additional_tools', tools: [{ type: 'mcp', server_label: 's' }] });
    expect(JSON.stringify(items)).not.toContain('hidden');
  });

  it('are only for the key of the response, and gone with it', async () => {
    const id = await asked({});
    for (const query of ['', `?after=item_${id.slice(5)}_0`]) expect((await pageAt(id, query, second)).status).toBe(404);
    expect([(await pageAt(id, '', {})).status, (await pageAt(id)).status, (await pageAt('resp_1')).status]).toEqual([401, 200, 404]);
    const [{ id: item }] = (await itemsOf(id)) as [{ id: string }];
    for (const headers of [first, second]) {
      const reply = await ask(gateway, { input: [{ type: 'item_reference', id: item }] }, headers);
      expect([reply.status, (await errorOf(reply)).param]).toEqual([400, 'input[0]']);
    }
    await client.responses.delete(id);
    expect((await pageAt(id)).status).toBe(404);
    expect((await pageAt(await asked({ store: false }))).status).toBe(404);
  });
});

const thought = (text: string, more: object = {}): object => ({ type: 'reasoning', summary: [{ type: 'summary_text', text }], ...more });
const stateOf = (detail: object, text = ''): object => ({ encrypted_content: toOpaque(detail as ReasoningDetail, text) });
const call = { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' };

it.each<[string, object[]]>([
  ['texts, calls and a thought without a state', [thought('A.'), said('One.'), call, { ...call, call_id: 'c2' }]],
  ['a call before the text', [call, said('One.')]],
  [
    'two thoughts, of which one has no text',
    [
      thought('A.', stateOf({ type: 'reasoning.text', provider: 'p', index: 0, text: 'A.', signature: 's' }, 'A.')),
      call,
      { type: 'reasoning', summary: [], ...stateOf({ type: 'reasoning.encrypted', provider: 'p', index: 1, data: 'd' }) },
      said('One.'),
    ],
  ],
  [
    'a summary in several texts',
    [
      {
        type: 'reasoning',
        summary: [
          { type: 'summary_text', text: 'A.' },
          { type: 'summary_text', text: 'B.' },
        ],
        ...stateOf({ type: 'reasoning.summary', provider: 'p', summary: 2, data: 'd' }),
      },
      said('One.'),
    ],
  ],
  [
    'a thought with a state and its text beside it',
    [thought('A.', stateOf({ type: 'reasoning.encrypted', provider: 'p', data: 'd' })), said('One.')],
  ],
  ['a custom call without an output', [{ type: 'custom_tool_call', call_id: 'c1', name: 'f', input: 'x' }, said('One.')]],
  ['drawn images', [said('One.'), said('', { content: [], images: [{ type: 'image_url', image_url: { url: png } }] })]],
  ['drawn images alone', [said('', { content: [], images: [{ type: 'image_url', image_url: { url: png } }] })]],
  [
    'a refusal, and a text with citations',
    [
      said('', {
        content: [
          { type: 'refusal', refusal: 'No.' },
          { type: 'output_text', text: 'But.', annotations: [{ type: 'url_citation', url: 'http://a.test' }] },
        ],
      }),
    ],
  ],
  [
    'files, sounds, pictures and parts that are not known',
    [
      {
        role: 'user',
        content: [
          { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERg==' },
          { type: 'input_file', file_id: 'file_1' },
          { type: 'input_image', file_id: 'file_2', detail: 'low' },
          { type: 'input_image', image_url: png, detail: 'high', prompt_cache_breakpoint: { mode: 'explicit' } },
          { type: 'input_audio', input_audio: { data: 'QQ==', format: 'wav' } },
          { type: 'new_part', value: 1 },
        ],
      },
    ],
  ],
  ['an item that is not known', [{ type: 'new_item', tools: ['a', { type: 'b' }] }]],
  [
    'a message with fields of its own',
    [
      { role: 'user', content: 'hi', phase: 'x' },
      { role: 'system', content: [] },
    ],
  ],
])('the listed items of a request with %s are read as the request was', (_, items) => {
  const { messages } = messagesOf(items);
  const listed = inputItems(messages, '0'.repeat(32), true);
  expect(listed).toHaveLength(items.length);
  const texts = (message: Message): Message =>
    message.role !== 'assistant' && typeof message.content === 'string'
      ? { ...message, content: [{ type: 'text', text: message.content }] }
      : message;
  expect(messagesOf(JSON.parse(JSON.stringify(listed))).messages).toEqual(messages.map(texts));
});

it('a turn of two hundred thousand thoughts and calls is listed in linear time', () => {
  const ids = Array.from({ length: 100_000 }, (_, at) => `${at}`);
  const order = ids.flatMap((id) => [{ type: 'reasoning' }, { type: 'call', id }]);
  const turn: Message = {
    role: 'assistant',
    content: null,
    reasoning_details: ids.map((id) => ({ type: 'reasoning.text', text: id })),
    tool_calls: ids.map((id) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } })),
    native: { fields: { order } },
  };
  let items: readonly unknown[] = [];
  expect(cpuMsOf(() => (items = inputItems([turn], '0'.repeat(32), false)))).toBeLessThan(4000);
  expect([items.length, items[199_998], items[199_999]]).toMatchObject([
    200_000,
    { summary: [{ text: '99999' }] },
    { type: 'function_call', call_id: '99999' },
  ]);
});

describe('an operation that the gateway does not have says what to do instead', () => {
  it('cancel', async () => {
    const cancelled = client.responses.cancel(await asked({}));
    await expect(cancelled).rejects.toMatchObject({ status: 400, message: expect.stringContaining('close its connection') });
  });

  it.each([
    ['create', () => client.conversations.create()],
    ['retrieve', () => client.conversations.retrieve('conv_1')],
    ['delete', () => client.conversations.delete('conv_1')],
    ['update', () => client.conversations.update('conv_1', { metadata: {} })],
    ['list the items', () => client.conversations.items.list('conv_1')],
    ['delete an item', () => client.conversations.items.delete('msg_1', { conversation_id: 'conv_1' })],
  ])('%s a conversation', async (_, run) => {
    await expect(run()).rejects.toMatchObject({ status: 404, message: expect.stringContaining('"previous_response_id"') });
  });
});
