/** Streams and plain replies of the Responses API, with providers of chat completions. */
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Chunk } from '../../../../core/chat.ts';
import type { ReplyHead } from '../../../../core/pipeline/door.ts';
import { fromOpaque } from '../../../../core/wire/opaque.ts';
import { responseOf } from '../../../../plugins/endpoints/responses/encode.ts';
import { oneUpstream } from '../../../_kit/gateway.ts';
import type { TestGateway } from '../../../_kit/gateway.ts';
import { answers, completion, event, said, streams } from '../../../_kit/upstream.ts';
import type { ScriptedUpstream, Step } from '../../../_kit/upstream.ts';
import { errorOf, gatewayOf, provider } from '../../../core/scene.ts';
import { ask, readStream, respond, streamOf } from './stage.ts';

async function behind(...steps: Step[]): Promise<{ gateway: TestGateway; up: ScriptedUpstream }> {
  const up = await provider(...steps);
  return { gateway: await gatewayOf(oneUpstream(up.url)), up };
}

const chunks = (...events: string[]): Step => streams([...events, 'data: [DONE]\n\n']);
const call = (index: number, id: string, name: string, text = ''): string =>
  event({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: text } }] });
const more = (index: number, text: string): string => event({ tool_calls: [{ index, function: { arguments: text } }] });
const weather = { type: 'function', name: 'weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } };
const sql = {
  type: 'custom',
  name: 'run_sql',
  description: 'Runs SQL',
  format: { type: 'grammar', syntax: 'lark', definition: 'start: /.+/' },
};

describe('a stream', () => {
  it('has one answer where the provider gives several, like a plain reply', async () => {
    const second = (text: string): string => event({ content: text }).replace('"choices":[{"index":0', '"choices":[{"index":1');
    const { gateway } = await behind(chunks(event({ content: 'Heads' }), second('Tails'), event({ content: '.' }), event({}, 'stop')));
    expect((await streamOf(gateway, {})).response.output.map(({ content }: any) => content[0].text)).toEqual(['Heads.']);
  });

  it('has the events of a message from its beginning to its end', async () => {
    const { gateway } = await behind(streams(said('Hel', 'lo.')));
    const { types, deltas, response } = await streamOf(gateway, {});
    expect(types).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.completed',
    ]);
    expect(deltas('response.output_text.delta')).toBe('Hello.');
    expect(response).toMatchObject({
      id: expect.stringMatching(/^resp_[\da-f]{32}$/),
      object: 'response',
      status: 'completed',
      error: null,
      model: 'up/plain',
      output: [
        { type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text: 'Hello.', annotations: [] }] },
      ],
    });
    expect(response.usage).toEqual({
      input_tokens: 10,
      input_tokens_details: null,
      output_tokens: 5,
      output_tokens_details: null,
      total_tokens: 15,
    });
  });

  it('has the service tier that served it, like a plain reply, and not the one that was asked for', async () => {
    const served = event({ content: 'Hi' }).replace('"choices"', '"service_tier":"default","choices"');
    const { gateway } = await behind(chunks(served, event({}, 'stop')), answers({ ...completion('Hi'), service_tier: 'default' }));
    const { events, response } = await streamOf(gateway, { service_tier: 'auto' });
    expect([events[0].response.service_tier, response.service_tier]).toEqual(['auto', 'default']);
    expect((await respond(gateway, { service_tier: 'auto' })).service_tier).toBe('default');
  });

  it('has no service tier where the provider did not say which one served it, like a plain reply', async () => {
    const { gateway } = await behind(chunks(event({ content: 'Hi' }), event({}, 'stop')), answers(completion('Hi')));
    expect((await streamOf(gateway, { service_tier: 'flex' })).response.service_tier).toBeNull();
    expect((await respond(gateway, { service_tier: 'flex' })).service_tier).toBeNull();
  });

  it('has the summary of the reasoning before the answer, as a separate item', async () => {
    const { gateway } = await behind(
      chunks(event({ reasoning_content: 'I th' }), event({ reasoning_content: 'ink.' }), event({ content: 'Yes.' }), event({}, 'stop')),
    );
    const { response, types } = await streamOf(gateway, { model: 'thinker', reasoning: { effort: 'low', summary: 'auto' } });
    expect(response.output).toMatchObject([
      { type: 'reasoning', summary: [{ type: 'summary_text', text: 'I think.' }] },
      { type: 'message' },
    ]);
    expect(types.filter((type) => type.includes('reasoning'))).toEqual([
      'response.reasoning_summary_part.added',
      'response.reasoning_summary_text.delta',
      'response.reasoning_summary_text.delta',
      'response.reasoning_summary_text.done',
      'response.reasoning_summary_part.done',
    ]);
    expect(response.output[0]).not.toHaveProperty('encrypted_content');
  });

  it('has the log probabilities of each piece with it', async () => {
    const likely = (token: string): object => ({ token, logprob: -0.1, bytes: [1], top_logprobs: [] });
    const piece = (token: string): string =>
      event({ content: token }).replace(
        '"finish_reason":null',
        `"logprobs":${JSON.stringify({ content: [likely(token)], refusal: null })},"finish_reason":null`,
      );
    const { gateway } = await behind(chunks(piece('Yes'), piece('.'), event({}, 'stop')));
    const { events, response } = await streamOf(gateway, { include: ['message.output_text.logprobs'] });
    expect(events.flatMap(({ type, delta, logprobs }) => (type === 'response.output_text.delta' ? [[delta, logprobs]] : []))).toEqual([
      ['Yes', [likely('Yes')]],
      ['.', [likely('.')]],
    ]);
    expect(response.output[0].content[0].logprobs).toEqual([likely('Yes'), likely('.')]);
  });

  it('has one item for a thought that comes in pieces', async () => {
    const piece = (text: string): string => event({ reasoning: text, reasoning_details: [{ type: 'reasoning.text', text, index: 0 }] });
    const { gateway } = await behind(
      chunks(
        piece('I th'),
        piece('ink.'),
        event({ reasoning_details: [{ type: 'reasoning.text', signature: 'sig', index: 0 }] }),
        event({ content: 'Yes.' }),
        event({}, 'stop'),
      ),
    );
    const { response } = await streamOf(gateway, {
      model: 'thinker',
      reasoning: { effort: 'low', summary: 'auto' },
      include: ['reasoning.encrypted_content'],
    });
    expect(response.output).toMatchObject([{ type: 'reasoning', summary: [{ text: 'I think.' }] }, { type: 'message' }]);
    expect(fromOpaque(response.output[0].encrypted_content, 'I think.')).toMatchObject({ text: 'I think.', signature: 'sig' });
  });

  it('has an item for each of two thoughts that have their own numbers', async () => {
    const piece = (index: number, text: string, more: object = {}): string =>
      event({ reasoning: text, reasoning_details: [{ type: 'reasoning.text', text, index, ...more }] });
    const { gateway } = await behind(
      chunks(piece(0, 'One.'), piece(1, 'Two.', { signature: 'sig' }), event({ content: 'Yes.' }), event({}, 'stop')),
    );
    const { response } = await streamOf(gateway, { model: 'thinker', include: ['reasoning.encrypted_content'] });
    const thoughts = response.output.filter(({ type }: any) => type === 'reasoning');
    const details = thoughts.map(({ summary, encrypted_content: opaque }: any) => fromOpaque(opaque, summary[0]?.text));
    expect(details).toMatchObject([{ text: 'One.' }, { text: 'Two.', signature: 'sig' }]);
  });

  it('keeps parallel calls apart', async () => {
    const { gateway } = await behind(
      chunks(
        call(0, 'call_a', 'weather'),
        call(1, 'call_b', 'weather'),
        more(0, '{"city":'),
        more(1, '{"city":"Oslo"}'),
        more(0, '"Rome"}'),
        event({}, 'tool_calls'),
      ),
    );
    const { response } = await streamOf(gateway, { tools: [weather] });
    expect(response.output.map(({ type, call_id: id, name, arguments: text, status }: any) => [type, id, name, text, status])).toEqual([
      ['function_call', 'call_a', 'weather', '{"city":"Rome"}', 'completed'],
      ['function_call', 'call_b', 'weather', '{"city":"Oslo"}', 'completed'],
    ]);
  });

  it('ends a call when a text follows it, and a message when a call does', async () => {
    const { gateway } = await behind(
      chunks(
        event({ content: 'First.' }),
        call(0, 'call_a', 'weather', '{"city":"Rome"}'),
        event({ content: 'Last.' }),
        event({}, 'tool_calls'),
      ),
    );
    const { response, events } = await streamOf(gateway, { tools: [weather] });
    expect(response.output.map(({ type }: any) => type)).toEqual(['message', 'function_call', 'message']);
    expect(
      events.filter(({ type }) => type.startsWith('response.output_item')).map(({ type, output_index: at }) => [type.slice(21), at]),
    ).toEqual([
      ['added', 0],
      ['done', 0],
      ['added', 1],
      ['done', 1],
      ['added', 2],
      ['done', 2],
    ]);
  });

  it('has a refusal as a refusal', async () => {
    const { gateway } = await behind(chunks(event({ refusal: 'I ' }), event({ refusal: 'will not.' }), event({}, 'stop')));
    const { response, deltas } = await streamOf(gateway, {});
    expect(deltas('response.refusal.delta')).toBe('I will not.');
    expect(response.output[0].content).toEqual([{ type: 'refusal', refusal: 'I will not.' }]);
  });

  it('gives the calls of a custom tool as plain text, in pieces of any size', async () => {
    const text = 'select "a\\b"\n-- \u{1f600} ä';
    const json = JSON.stringify({ input: text });
    const { gateway, up } = await behind(
      chunks(call(0, 'call_a', 'run_sql'), ...Array.from(json, (sign) => more(0, sign)), event({}, 'tool_calls')),
    );
    const { response, deltas } = await streamOf(gateway, { tools: [sql] });
    expect(deltas('response.custom_tool_call_input.delta')).toBe(text);
    expect(response.output).toMatchObject([{ type: 'custom_tool_call', call_id: 'call_a', name: 'run_sql', input: text }]);
    expect(response.tools).toEqual([sql]);
    expect(up.asked[0]?.json['tools'][0].function).toMatchObject({
      name: 'run_sql',
      parameters: { required: ['input'], properties: { input: { type: 'string', description: expect.stringContaining('start: /.+/') } } },
    });
  });

  it('gives no half character, although a model may write one as two escapes', async () => {
    const { gateway } = await behind(
      chunks(call(0, 'call_a', 'run_sql', '{"input":"a\\ud83d'), more(0, '\\ude00b"}'), event({}, 'tool_calls')),
    );
    const { events } = await streamOf(gateway, { tools: [sql] });
    expect(events.filter(({ type }) => type === 'response.custom_tool_call_input.delta').map(({ delta }) => delta)).toEqual([
      'a',
      '\u{1f600}b',
    ]);
  });

  it.each(['{"input":"', '{"input":"\\u00'])('gives no input for a custom tool whose call is cut after %s', async (cut) => {
    const { gateway } = await behind(chunks(call(0, 'call_a', 'run_sql', cut), event({}, 'length')));
    expect((await streamOf(gateway, { tools: [sql] })).response.output[0].input).toBe('');
  });

  it('gives the text of a custom tool in a long other JSON form, in pieces of any size', async () => {
    const text = 'select '.repeat(100);
    const { gateway } = await behind(
      chunks(call(0, 'call_a', 'run_sql'), ...Array.from(JSON.stringify({ sql: text }), (sign) => more(0, sign)), event({}, 'tool_calls')),
    );
    expect((await streamOf(gateway, { tools: [sql] })).response.output).toMatchObject([{ input: text }]);
  });

  it('has no piece of a call after its end', async () => {
    const { gateway } = await behind(
      chunks(call(0, 'call_a', 'weather', '{"city":"Oslo"}'), event({ content: 'Hm.' }), more(0, '\n'), event({}, 'tool_calls')),
    );
    const { types } = await streamOf(gateway, { tools: [weather] });
    expect(types.lastIndexOf('response.function_call_arguments.delta')).toBeLessThan(types.indexOf('response.output_item.done'));
  });

  it('has calls of the tools of a namespace under their own names', async () => {
    const { gateway, up } = await behind(chunks(call(0, 'call_a', 'files__read', '{}'), event({}, 'tool_calls')));
    const namespace = {
      type: 'namespace',
      name: 'files',
      description: 'Files',
      tools: [
        { type: 'function', name: 'read', parameters: { type: 'object' } },
        { type: 'function', name: 'write' },
      ],
    };
    const { response } = await streamOf(gateway, { tools: [namespace] });
    expect(up.asked[0]?.json['tools'].map((tool: any) => tool.function.name)).toEqual(['files__read', 'files__write']);
    expect(response.output).toMatchObject([{ type: 'function_call', name: 'read', namespace: 'files', arguments: '{}' }]);
    expect(response.tools).toEqual([namespace]);
    const items = [{ role: 'user', content: 'hi' }, ...response.output, { type: 'function_call_output', call_id: 'call_a', output: 'x' }];
    await streamOf(gateway, { tools: [namespace], input: items });
    expect(up.asked[1]?.json['messages'][1].tool_calls[0].function.name).toBe('files__read');
  });

  it('has calls of tools that are declared in the conversation, as Codex does', async () => {
    const { gateway, up } = await behind(chunks(call(0, 'call_a', 'code__exec', '{"input":"ls"}'), event({}, 'tool_calls')));
    const added = (...tools: object[]): object => ({ type: 'additional_tools', role: 'developer', tools });
    const input = [
      added({
        type: 'namespace',
        name: 'code',
        tools: [
          { type: 'custom', name: 'exec' },
          { type: 'function', name: 'wait', description: 'Old.' },
        ],
      }),
      { role: 'user', content: 'hi' },
      added({ type: 'namespace', name: 'code', tools: [{ type: 'function', name: 'wait', description: 'New.' }] }),
    ];
    const weather = { type: 'function', name: 'weather', description: null, parameters: { type: 'object' }, strict: null };
    const reply = await ask(gateway, { tools: [weather], input, stream: true });
    expect(reply.headers.get('x-adjusted')).toBeNull();
    const { response } = readStream(await reply.text());
    expect(up.asked[0]?.json['tools'].map((tool: any) => [tool.function.name, tool.function.description])).toEqual([
      ['weather', undefined],
      ['code__exec', undefined],
      ['code__wait', 'New.'],
    ]);
    expect(response.output).toMatchObject([{ type: 'custom_tool_call', name: 'exec', namespace: 'code', input: 'ls' }]);
    expect(response.tools).toEqual([weather]);
    await streamOf(gateway, {
      tools: [weather],
      input: [...input, ...response.output, { type: 'custom_tool_call_output', call_id: 'call_a', output: 'a.txt' }],
    });
    expect(up.asked[1]?.json['messages'].slice(1)).toMatchObject([
      { tool_calls: [{ function: { name: 'code__exec', arguments: '{"input":"ls"}' } }] },
      { role: 'tool', content: 'a.txt' },
    ]);
  });

  it('has a search for tools that the caller runs, and calls of the found tools', async () => {
    const { gateway, up } = await behind(
      chunks(call(0, 'call_a', 'tool_search', '{"que'), more(0, 'ry":"tide"}'), event({}, 'tool_calls')),
      chunks(call(0, 'call_b', 'mcp__harbour__tide', '{}'), event({}, 'tool_calls')),
    );
    const search = {
      type: 'tool_search',
      execution: 'client',
      description: 'Finds tools.',
      parameters: { type: 'object', properties: { query: { type: 'string' } } },
    };
    const first = await streamOf(gateway, { tools: [search] });
    expect(up.asked[0]?.json['tools']).toEqual([
      { type: 'function', function: { name: 'tool_search', description: 'Finds tools.', parameters: search.parameters } },
    ]);
    expect(first.types.slice(2)).toEqual(['response.output_item.added', 'response.output_item.done', 'response.completed']);
    expect(first.response).toMatchObject({
      tools: [search],
      output: [
        {
          type: 'tool_search_call',
          id: expect.stringMatching(/^tsc_/),
          call_id: 'call_a',
          execution: 'client',
          status: 'completed',
          arguments: { query: 'tide' },
        },
      ],
    });
    expect(first.response.output[0]).not.toHaveProperty('name');

    const found = {
      type: 'tool_search_output',
      id: 'tso_1',
      call_id: 'call_a',
      status: 'completed',
      execution: 'client',
      tools: [
        {
          type: 'namespace',
          name: 'mcp__harbour',
          description: 'H',
          tools: [
            { type: 'function', name: 'tide', strict: false, defer_loading: true, parameters: { type: 'object' } },
            { type: 'function', name: 'boats' },
          ],
        },
      ],
    };
    const reply = await ask(gateway, {
      tools: [search],
      input: [{ role: 'user', content: 'hi' }, ...first.response.output, found],
      stream: true,
    });
    expect(reply.headers.get('x-adjusted')).toBeNull();
    const second = readStream(await reply.text());
    expect(up.asked[1]?.json['tools'].map((tool: any) => tool.function.name)).toEqual([
      'tool_search',
      'mcp__harbour__tide',
      'mcp__harbour__boats',
    ]);
    expect(up.asked[1]?.json['messages'].slice(1)).toEqual([
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'call_a', type: 'function', function: { name: 'tool_search', arguments: '{"query":"tide"}' } }],
      },
      {
        role: 'tool',
        tool_call_id: 'call_a',
        content: 'The tool "mcp__harbour__tide" can be called now.\nThe tool "mcp__harbour__boats" can be called now.',
      },
    ]);
    expect(second.response).toMatchObject({
      tools: [search],
      output: [{ type: 'function_call', namespace: 'mcp__harbour', name: 'tide', arguments: '{}' }],
    });
  });

  it.each([
    ['nothing', '', {}],
    ['a half', '{"query":"ti', '{"query":"ti'],
  ])('gives a search whose arguments are %s the text of the model', async (_, said, given) => {
    const { gateway } = await behind(chunks(call(0, 'call_a', 'tool_search', said), event({}, 'length')));
    expect((await streamOf(gateway, { tools: [{ type: 'tool_search', execution: 'client' }] })).response.output[0].arguments).toEqual(
      given,
    );
  });

  it('is incomplete where the answer was cut at a limit, like its last item', async () => {
    const { gateway } = await behind(chunks(event({ content: 'Once upon' }), event({}, 'length')));
    const { response, types } = await streamOf(gateway, { max_output_tokens: 20 });
    expect(types.at(-1)).toBe('response.incomplete');
    expect([response.status, response.incomplete_details, response.output[0].status]).toEqual([
      'incomplete',
      { reason: 'max_output_tokens' },
      'incomplete',
    ]);
  });

  it('ends with an error and a failed response where the provider breaks off', async () => {
    const { gateway } = await behind(streams([event({ content: 'Hel' })], { end: 'reset' }));
    const reply = await ask(gateway, { stream: true });
    expect(reply.status).toBe(200);
    const { events, types, response } = readStream(await reply.text());
    expect(types.slice(-2)).toEqual(['error', 'response.failed']);
    expect(events.at(-2)).toMatchObject({ code: 'upstream_truncated', message: expect.any(String), param: null });
    expect(response).toMatchObject({ status: 'failed', error: { code: 'upstream_truncated' }, output: [{ content: [{ text: 'Hel' }] }] });
  });

  it('is an error status where the provider fails before its first piece', async () => {
    const { gateway } = await behind(answers({ error: { message: 'down' } }, { status: 503 }));
    const reply = await ask(gateway, { stream: true });
    expect([reply.status, (await errorOf(reply)).code]).toEqual([503, 'upstream_unavailable']);
  });

  it('has the same content as the plain reply', async () => {
    const message = {
      reasoning_content: 'I think.',
      tool_calls: [{ id: 'call_a', type: 'function', function: { name: 'weather', arguments: '{"city":"Rome"}' } }],
    };
    const { gateway } = await behind(
      answers(completion('Let me look.', message)),
      chunks(
        event({ reasoning_content: 'I think.' }),
        event({ content: 'Let me look.' }),
        call(0, 'call_a', 'weather', '{"city":"Rome"}'),
        event({}, 'tool_calls'),
      ),
    );
    const plain = await respond(gateway, { model: 'thinker', tools: [weather] });
    const { response } = await streamOf(gateway, { model: 'thinker', tools: [weather] });
    const bare = (items: readonly any[]): object[] => items.map((item) => ({ ...item, id: item.id.split('_')[0] }));
    expect(bare(plain.output)).toEqual(bare(response.output));
    expect(bare(plain.output)).toMatchObject([{ id: 'rs' }, { id: 'msg' }, { id: 'fc' }]);
  });
});

describe('a response', () => {
  it('repeats the fields of the request', async () => {
    const { gateway } = await behind(answers(completion('Yes.')));
    const asked = {
      instructions: 'Be terse.',
      metadata: { job: '7' },
      temperature: 0.5,
      top_p: 0.9,
      max_output_tokens: 99,
      tools: [{ ...weather, strict: true, description: 'W' }],
      tool_choice: 'required',
      truncation: 'disabled',
      parallel_tool_calls: false,
      user: 'u',
      text: { verbosity: 'low' },
    };
    const response = await respond(gateway, asked);
    expect(response).toMatchObject({
      ...asked,
      text: { format: { type: 'text' }, verbosity: 'low' },
      previous_response_id: null,
      store: false,
    });
    expect(Object.keys(response)).toEqual(
      expect.arrayContaining(['id', 'created_at', 'error', 'incomplete_details', 'reasoning', 'background', 'usage', 'status']),
    );
  });

  it('has no counts that the provider did not give', async () => {
    const { gateway } = await behind(answers({ ...completion('Yes.'), usage: undefined }));
    expect((await respond(gateway, {})).usage).toBeNull();
  });

  it.each([
    [{ prompt_tokens: 7 }, { input_tokens: 7, output_tokens: 0, total_tokens: 7 }],
    [{ completion_tokens: 7 }, { input_tokens: 0, output_tokens: 7, total_tokens: 7 }],
  ])('has 0 for a sum that the provider did not give beside the other: %j', async (usage, sums) => {
    const { gateway } = await behind(answers({ ...completion('Yes.'), usage }));
    expect((await respond(gateway, {})).usage).toEqual({ ...sums, input_tokens_details: null, output_tokens_details: null });
  });

  it('has the log probabilities of any number of tokens', () => {
    const content = Array.from({ length: 200_000 }, () => ({ token: 'a', logprob: -1 }));
    const pieces: Chunk[] = [
      { type: 'text-delta', choice: 0, text: 'a' },
      { type: 'extra', choice: 0, on: 'choice', field: 'logprobs', value: { content } },
    ];
    const head = {
      id: '018f0000-0000-7000-8000-000000000000',
      created: 1,
      model: 'm',
      request: { rest: {}, native: { fields: {} }, door: { parameters: {} }, tools: null, messages: [] },
    } as unknown as ReplyHead;
    expect(responseOf(pieces, head)).toMatchObject({ output: [{ content: [{ text: 'a', logprobs: { length: 200_000 } }] }] });
  });

  it('is read once for each call, however many texts come while calls are not whole', () => {
    const head = {
      id: '018f0000-0000-7000-8000-000000000000',
      created: 1,
      model: 'm',
      request: { rest: {}, native: { fields: {} }, door: { parameters: {} }, tools: null, messages: [] },
    } as unknown as ReplyHead;
    const calls = Array.from({ length: 100 }, (_, index): Chunk[] => [
      { type: 'tool-start', choice: 0, index, id: `c${index}`, name: 'f' },
      { type: 'tool-delta', choice: 0, index, arguments: index % 2 === 0 ? '{}' : '{"a":"' },
    ]).flat();
    const texts = calls
      .map((_, at): Chunk[] => [
        { type: 'tool-delta', choice: 0, index: 1, arguments: '}' },
        { type: at % 2 === 0 ? 'text-delta' : 'reasoning-delta', choice: 0, text: 'a' },
      ])
      .flat();
    const read = vi.spyOn(JSON, 'parse');
    onTestFinished(() => read.mockRestore());
    expect(responseOf([...calls, ...texts], head)).toMatchObject({ output: { length: 300 } });
    expect(read).toHaveBeenCalledTimes(50);
  });

  it('has citations in the form of this API', async () => {
    const citation = { type: 'url_citation', url_citation: { url: 'https://example.org/', title: 'T', start_index: 0, end_index: 4 } };
    const { gateway } = await behind(answers(completion('Yes.', { annotations: [citation] })));
    expect((await respond(gateway, {})).output[0].content[0].annotations).toEqual([{ type: 'url_citation', ...citation.url_citation }]);
  });

  it('has the input of a custom tool also where the model used another form', async () => {
    const { gateway } = await behind(
      answers(
        completion('', {
          tool_calls: ['{"sql":"select 1"}', '"select 2"', 'select 3', '{}'].map((text, at) => ({
            id: `call_${at}`,
            type: 'function',
            function: { name: 'run_sql', arguments: text },
          })),
        }),
      ),
    );
    expect((await respond(gateway, { tools: [sql] })).output.map(({ input }: any) => input)).toEqual([
      'select 1',
      'select 2',
      'select 3',
      '',
    ]);
  });
});

describe('citations of a provider of chat completions', () => {
  const citation = { type: 'url_citation', url_citation: { url: 'https://example.org/', title: 'T', start_index: 0, end_index: 4 } };
  const cited = { annotations: [citation] };
  const toolCalls = [{ id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{}' } }];
  const thought = event({ reasoning_content: 'Hm.' });
  const end = event({}, 'tool_calls');
  it.each<[string, Step]>([
    ['before the thought', chunks(event(cited), thought, event({ content: 'Yes.' }), call(0, 'call_1', 'weather', '{}'), end)],
    ['after the text', chunks(thought, event({ content: 'Yes.' }), event(cited), call(0, 'call_1', 'weather', '{}'), end)],
    ['in a whole body', answers(completion('Yes.', { reasoning_content: 'Hm.', tool_calls: toolCalls, ...cited }))],
  ])('are in the response and in an event of a stream that has them %s', async (_, step) => {
    const { gateway } = await behind(step);
    const { events, response } = await streamOf(gateway, { tools: [weather] });
    const flat = { type: 'url_citation', ...citation.url_citation };
    expect(response.output.map(({ type }: any) => type)).toEqual(['reasoning', 'message', 'function_call']);
    expect(response.output[1].content).toEqual([{ type: 'output_text', text: 'Yes.', annotations: [flat], logprobs: [] }]);
    expect(events.filter(({ type }) => type === 'response.output_text.annotation.added')).toMatchObject([
      { output_index: 1, content_index: 0, annotation_index: 0, annotation: flat },
    ]);
  });
});
