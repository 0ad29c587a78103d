/** The Responses API with a provider that has this API too: no field of either side is lost. */
import { describe, expect, it } from 'vitest';
import type { Chunk } from '../../../../core/chat.ts';
import { rewriteText } from '../../../../core/pipeline/rewrite-text.ts';
import { gatewayOf, probe, provider } from '../../../core/scene.ts';
import { oneUpstream, type TestGateway } from '../../../_kit/gateway.ts';
import type { ScriptedUpstream, Step } from '../../../_kit/upstream.ts';
import { ask, nativeAnswer, nativeBody, nativeStream, nativeUpstream, respond, said, streamOf } from './stage.ts';

async function behind(...steps: Step[]): Promise<{ gateway: TestGateway; up: ScriptedUpstream }> {
  const up = await provider(...steps);
  return { gateway: await gatewayOf(nativeUpstream(up.url)), up };
}

const flat = { type: 'function', name: 'weather', description: 'W', parameters: { type: 'object' }, strict: true };
const custom = { type: 'custom', name: 'run_sql', description: 'Runs SQL', format: { type: 'text' } };
const search = { id: 'ws_1', type: 'web_search_call', status: 'completed', action: { type: 'search', query: 'rome' } };
const citation = { type: 'url_citation', url: 'https://example.org/', title: 'T', start_index: 0, end_index: 4 };

describe('a request', () => {
  it('keeps the approvals of calls where they are, before and after the call has run', async () => {
    const { gateway, up } = await behind(nativeAnswer([said('Yes.')]));
    const approval = { type: 'mcp_approval_request', id: 'mcpr_1', server_label: 's', name: 'f', arguments: '{}' };
    const answered = { type: 'mcp_approval_response', approval_request_id: 'mcpr_1', approve: true };
    const called = { type: 'mcp_call', id: 'mcp_1', server_label: 's', name: 'f', arguments: '{}', output: 'Done.' };
    const asked = [{ role: 'user', content: [{ type: 'input_text', text: 'Hi' }] }, approval, answered];
    for (const input of [asked, [...asked, called]]) {
      await respond(gateway, { model: 'native', input });
      expect(up.asked.at(-1)?.json['input']).toEqual(input);
    }
  });

  it('reaches the provider with all fields', async () => {
    const { gateway, up } = await behind(nativeAnswer([said('Yes.')]));
    const body = {
      instructions: 'Be terse.',
      metadata: { job: '7' },
      truncation: 'auto',
      service_tier: 'flex',
      prompt_cache_key: 'k',
      safety_identifier: 's',
      max_tool_calls: 3,
      top_logprobs: 2,
      a_field_of_tomorrow: { deep: [1] },
      prompt: { id: 'p' },
      context_management: [{ type: 'compaction', compact_threshold: 1000 }],
      reasoning: { effort: 'low', summary: 'detailed', context: 'all' },
      text: { verbosity: 'low', format: { type: 'json_schema', name: 'n', schema: { type: 'object' }, strict: true }, more: 1 },
      tools: [
        flat,
        custom,
        { type: 'web_search', search_context_size: 'low' },
        { type: 'function', name: 'loose' },
        { type: 'namespace', name: 'mail', description: 'Mail.', tools: [{ ...flat, name: 'send' }] },
        {
          type: 'namespace',
          name: 'files',
          description: 'F',
          tools: [
            { type: 'function', name: 'read' },
            { type: 'function', name: 'write' },
          ],
        },
      ],
      tool_choice: {
        type: 'allowed_tools',
        mode: 'auto',
        tools: [
          { type: 'function', name: 'weather' },
          { type: 'custom', name: 'run_sql' },
          { type: 'web_search' },
          { type: 'mcp', server_label: 's', name: 'ask' },
          { type: 'namespace', name: 'files' },
        ],
      },
    };
    await respond(gateway, { ...body, model: 'native', include: ['web_search_call.action.sources'], api_key: 'sk-of-another' });
    const { model, input, store, stream, include, tools, ...sent } = up.asked[0]!.json;
    expect([model, store, stream]).toEqual(['native-1', false, false]);
    expect(new Set(include)).toEqual(
      new Set(['web_search_call.action.sources', 'reasoning.encrypted_content', 'message.output_text.logprobs']),
    );
    expect(input).toEqual([{ role: 'user', content: [{ type: 'input_text', text: 'hi' }] }]);
    expect(tools).toEqual(
      body.tools.map((tool) => (tool.name === 'loose' ? { ...tool, parameters: { type: 'object', properties: {} } } : tool)),
    );
    expect(sent).toEqual({ ...body, tools: undefined });
  });

  it('has the credentials of an MCP server, which the response does not repeat', async () => {
    const { gateway, up } = await behind(nativeAnswer([said('Yes.')]));
    const server = { type: 'mcp', server_label: 's', server_url: 'https://mcp.example/sse' };
    const tools = [{ ...server, headers: { Authorization: 'Bearer of-mcp' }, authorization: 'oauth-of-mcp' }];
    const response = await respond(gateway, { model: 'native', tools });
    expect([up.asked[0]?.json['tools'], response['tools']]).toEqual([tools, [server]]);
  });

  it('has the credentials of a namespace of tools, which the response does not repeat', async () => {
    const { gateway, up } = await behind(nativeAnswer([said('Yes.')]));
    const server = { type: 'mcp', server_label: 's', server_url: 'https://mcp.example/sse' };
    const namespace = { type: 'namespace', name: 'mail', tools: [{ type: 'function', name: 'send' }, server] };
    const secret = { headers: { Authorization: 'Bearer of-mcp' }, authorization: 'oauth-of-mcp' };
    const tools = [{ ...namespace, ...secret, tools: [namespace.tools[0], { ...server, ...secret }] }];
    const response = await respond(gateway, { model: 'native', tools });
    expect(JSON.stringify(up.asked[0]?.json['tools'])).toContain('of-mcp');
    expect(JSON.stringify(response)).not.toContain('of-mcp');
    expect(response['tools']).toContainEqual(namespace);
  });

  it('has the effort max, which other formats do not have', async () => {
    const { gateway, up } = await behind(nativeAnswer([said('Yes.')]));
    const reply = await ask(gateway, { model: 'native', reasoning: { effort: 'max' } });
    expect([up.asked[0]?.json['reasoning'], reply.headers.get('x-adjusted')]).toEqual([{ effort: 'max' }, null]);
  });

  it.each(['xai', 'openrouter'])('has the effort xhigh instead of max at %s, which does not support max', async (dialect) => {
    const up = await provider(nativeAnswer([said('Yes.')]));
    const native = nativeUpstream(up.url);
    const gateway = await gatewayOf({
      ...native,
      providers: { own: { dialect, base_url: up.url, api_key: 'k' } },
      models: [
        {
          id: 'native',
          free: true,
          providers: [{ providerId: 'own', externalId: 'grok-4.6', dialect: 'openai-responses', reasoning: true }],
        },
      ],
    });
    const reply = await ask(gateway, { model: 'native', reasoning: { effort: 'max' } });
    expect([up.asked[0]?.json['reasoning'], reply.headers.get('x-adjusted')]).toEqual([
      { effort: 'xhigh' },
      'reasoning_effort: taken as xhigh',
    ]);
  });

  it('has the effort xhigh instead of max at a provider of another format', async () => {
    const up = await provider();
    const gateway = await gatewayOf(oneUpstream(up.url));
    const reply = await ask(gateway, { model: 'thinker', reasoning: { effort: 'max' } });
    expect([up.asked[0]?.json['reasoning_effort'], reply.headers.get('x-adjusted')]).toEqual(['xhigh', 'reasoning_effort: taken as xhigh']);
  });

  it('has the tools of the conversation only in the conversation', async () => {
    const { gateway, up } = await behind(nativeAnswer([said('Yes.')]));
    const input = [
      {
        type: 'additional_tools',
        id: 'at_1',
        role: 'developer',
        tools: [flat, { type: 'web_search' }, { type: 'namespace', name: 'files', tools: [custom] }],
      },
      { role: 'user', content: 'hi' },
    ];
    await respond(gateway, { model: 'native', input });
    await respond(gateway, { model: 'native', input, tools: [flat] });
    expect(up.asked.map(({ json }) => [json['input'][0], json['tools']])).toEqual([
      [input[0], undefined],
      [input[0], [flat]],
    ]);
  });

  it('has its items with their order and their fields', async () => {
    const { gateway, up } = await behind(nativeAnswer([said('Yes.')]));
    const input = [
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'hi', prompt_cache_breakpoint: { mode: 'explicit' } },
          { type: 'input_image', file_id: 'file_1', detail: 'auto' },
          { type: 'input_file', file_id: 'file_2', detail: 'low' },
          { type: 'input_file', file_url: 'https://example.org/a.pdf', detail: 'high' },
          { type: 'input_audio', input_audio: { data: 'AA==', format: 'wav' } },
        ],
      },
      { role: 'assistant', content: 'Let me see.', phase: 'commentary' },
      search,
      { type: 'function_call', call_id: 'c1', name: 'read', namespace: 'files', arguments: '{}' },
      { role: 'assistant', content: 'It is mild.', phase: 'final_answer' },
      { type: 'custom_tool_call', call_id: 'c2', name: 'run_sql', input: 'select 1' },
      { type: 'function_call_output', call_id: 'c1', output: 'x' },
      { type: 'custom_tool_call_output', call_id: 'c2', output: '1 row' },
      { type: 'shell_call_output', call_id: 'c3', output: [{ stdout: 'a' }] },
    ];
    await respond(gateway, { model: 'native', input, tools: [custom] });
    expect(up.asked[0]?.json['input']).toEqual(input);
  });

  it('has the phase of a message that is all of its turn', async () => {
    const { gateway, up } = await behind(nativeAnswer([said('Yes.')]));
    const input = [
      { role: 'assistant', content: 'It is mild.', phase: 'final_answer' },
      { role: 'user', content: 'Sure?' },
    ];
    await respond(gateway, { model: 'native', input });
    expect(up.asked[0]?.json['input'][0]).toEqual(input[0]);
  });

  it.each([
    ['of the caller', { call_id: 'call_s', execution: 'client' }],
    ['of the provider', { execution: 'server' }],
    ['of the provider that has an id', { call_id: 'call_s', execution: 'server' }],
    ['of the caller that has no id to answer to', { execution: 'client' }],
  ])('has a search for tools %s unchanged', async (_, run) => {
    const { gateway, up } = await behind(nativeAnswer([said('Yes.')]));
    const tool = { type: 'tool_search', execution: run.execution, parameters: { type: 'object' } };
    const made = { type: 'tool_search_call', status: 'completed', arguments: { query: 'tide' }, ...run };
    const input = [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: 'Let me see.' },
      { ...made, id: 'tsc_1' },
      { type: 'tool_search_output', id: 'tso_1', status: 'completed', tools: [{ ...flat, defer_loading: true }], ...run },
    ];
    const { tools } = await respond(gateway, { model: 'native', input, tools: [tool] });
    expect([tools, up.asked[0]?.json['tools']]).toEqual([[tool], [tool]]);
    // the id of a call that the caller answers is left out, like those of all calls of the caller
    expect(up.asked[0]?.json['input'].slice(1)).toEqual([
      input[1],
      run.execution === 'client' && 'call_id' in run ? made : input[2],
      input[3],
    ]);
  });

  it('has the null fields of items that the gateway does not read', async () => {
    const { gateway, up } = await behind(nativeAnswer([said('Yes.')]));
    const input = [
      { type: 'code_interpreter_call', id: 'ci_1', status: 'completed', code: '1', container_id: 'cntr_1', outputs: null },
      { type: 'image_generation_call', id: 'ig_1', status: 'failed', result: null },
      { type: 'shell_call_output', call_id: 'c1', output: [], max_output_length: null },
    ];
    await respond(gateway, { model: 'native', input });
    expect(up.asked[0]!.json['input']).toEqual(input);
  });

  it('has a search for tools with an id that is short enough', async () => {
    const { gateway, up } = await behind(nativeAnswer([said('Yes.')]));
    const ran = { call_id: 'x'.repeat(65), execution: 'client' };
    await respond(gateway, {
      model: 'native',
      input: [
        { role: 'user', content: 'hi' },
        { type: 'tool_search_call', arguments: {}, ...ran },
        { type: 'tool_search_output', tools: [], ...ran },
      ],
    });
    const [one, other] = up.asked[0]!.json['input'].slice(1).map((item: any) => item.call_id);
    expect(one).toMatch(/^.{1,64}$/);
    expect(other).toBe(one);
  });

  it('can choose a custom tool', async () => {
    const { gateway, up } = await behind(nativeAnswer([said('Yes.')]));
    await respond(gateway, { model: 'native', tools: [custom], tool_choice: { type: 'custom', name: 'run_sql' } });
    expect(up.asked[0]?.json['tool_choice']).toEqual({ type: 'custom', name: 'run_sql' });
  });
});

const items = [
  {
    id: 'rs_1',
    type: 'reasoning',
    summary: [
      { type: 'summary_text', text: 'One.' },
      { type: 'summary_text', text: 'Two.' },
    ],
    encrypted_content: 'sealed-1',
  },
  said('Let me see.', { id: 'msg_1', phase: 'commentary' }),
  search,
  {
    id: 'fc_1',
    type: 'function_call',
    call_id: 'c1',
    name: 'weather',
    arguments: '{"city":"Rome"}',
    status: 'completed',
    caller: { type: 'direct' },
  },
  { id: 'rs_2', type: 'reasoning', summary: [], encrypted_content: 'sealed-2' },
  {
    id: 'msg_2',
    type: 'message',
    role: 'assistant',
    status: 'completed',
    phase: 'final_answer',
    content: [
      { type: 'output_text', text: 'Mild.', annotations: [citation], logprobs: [] },
      { type: 'output_text', text: ' Very.', annotations: [], logprobs: [] },
    ],
  },
  { id: 'ctc_1', type: 'custom_tool_call', call_id: 'c2', name: 'run_sql', input: 'select "1"', status: 'completed' },
];

const added = (at: number, item: object): object => ({ type: 'response.output_item.added', output_index: at, item });
const done = (at: number, item: object): object => ({ type: 'response.output_item.done', output_index: at, item });

const events = [
  added(0, { id: 'rs_1', type: 'reasoning', summary: [] }),
  ...['One.', 'Two.'].flatMap((text, at) =>
    [text.slice(0, 2), text.slice(2)].map((delta) => ({
      type: 'response.reasoning_summary_text.delta',
      output_index: 0,
      summary_index: at,
      delta,
    })),
  ),
  done(0, items[0] as object),
  added(1, { id: 'msg_1', type: 'message', role: 'assistant', phase: 'commentary', content: [] }),
  { type: 'response.output_text.delta', output_index: 1, content_index: 0, delta: 'Let me see.' },
  done(1, items[1] as object),
  added(2, { ...search, status: 'in_progress' }),
  { type: 'response.web_search_call.searching', output_index: 2, item_id: 'ws_1' },
  done(2, search),
  added(3, { id: 'fc_1', type: 'function_call', call_id: 'c1', name: 'weather', arguments: '' }),
  { type: 'response.function_call_arguments.delta', output_index: 3, delta: '{"city":' },
  done(3, items[3] as object),
  added(4, { id: 'rs_2', type: 'reasoning', summary: [] }),
  added(5, { id: 'msg_2', type: 'message', role: 'assistant', phase: 'final_answer', content: [] }),
  { type: 'response.output_text.delta', output_index: 5, content_index: 0, delta: 'Mild.' },
  { type: 'response.output_text.annotation.added', output_index: 5, content_index: 0, annotation_index: 0, annotation: citation },
  { type: 'response.output_text.delta', output_index: 5, content_index: 1, delta: ' Very.' },
  done(4, items[4] as object),
  done(5, items[5] as object),
  added(6, { id: 'ctc_1', type: 'custom_tool_call', call_id: 'c2', name: 'run_sql', input: '' }),
  { type: 'response.custom_tool_call_input.delta', output_index: 6, delta: 'select "' },
  { type: 'response.custom_tool_call_input.delta', output_index: 6, delta: '1"' },
  done(6, items[6] as object),
];

const more = { service_tier: 'flex', a_field_of_tomorrow: 1, tool_usage: { web_search: { num_requests: 1 } } };
/** The items without the gateway's own ids and opaque strings. */
const bare = (output: readonly any[]): object[] =>
  output.map((item) => ({ ...item, id: undefined, encrypted_content: item.encrypted_content === undefined ? undefined : 'present' }));

describe('an answer', () => {
  it('has all of its items, with their order and their fields', async () => {
    const { gateway } = await behind(nativeAnswer(items, more));
    const response = await respond(gateway, { model: 'native', tools: [flat, custom] });
    expect(bare(response.output)).toEqual(bare(items));
    expect(response).toMatchObject(more);
    expect(response.usage).toEqual({
      input_tokens: 9,
      input_tokens_details: { cached_tokens: 4 },
      output_tokens: 5,
      output_tokens_details: { reasoning_tokens: 2 },
      total_tokens: 14,
    });
    expect(new Set(response.output.map(({ id }: any) => id)).size).toBe(7);
    expect(response.output[2].id).toBe('ws_1');
  });

  it('is a stream with the same items, and with the events of tools that the provider runs', async () => {
    const { gateway } = await behind(nativeStream(events, nativeBody(items, more)));
    const { response, types, events: got } = await streamOf(gateway, { model: 'native', tools: [flat, custom] });
    expect(bare(response.output)).toEqual(bare(items));
    expect(response).toMatchObject(more);
    expect(got.find(({ type }) => type === 'response.web_search_call.searching')).toMatchObject({ output_index: 2, item_id: 'ws_1' });
    expect(types.filter((type) => type === 'response.reasoning_summary_part.added')).toHaveLength(2);
    expect(types.filter((type) => type === 'response.output_text.annotation.added')).toHaveLength(1);
  });

  it('has each piece in its own item where the provider streams two items at a time', async () => {
    const delta = (at: number, text: string): object => ({
      type: 'response.output_text.delta',
      output_index: at,
      content_index: 0,
      delta: text,
    });
    const { gateway } = await behind(
      nativeStream(
        [
          added(0, { type: 'message', id: 'a' }),
          delta(0, 'One '),
          added(1, { type: 'message', id: 'b' }),
          delta(1, 'two '),
          delta(0, 'three.'),
          delta(1, 'four.'),
          done(1, said('two four.')),
          done(0, said('One three.')),
        ],
        nativeBody([]),
      ),
    );
    const { response } = await streamOf(gateway, { model: 'native' });
    expect(response.output.map(({ content }: any) => content[0].text)).toEqual(['One three.', 'two four.']);
  });

  it('has citations, log probabilities and empty texts in their own items where the provider streams two items at a time', async () => {
    const likely = { token: 'Two.', logprob: -0.1, bytes: [1], top_logprobs: [] };
    const part = (text: string, more: object): object => ({ type: 'output_text', text, annotations: [], logprobs: [], ...more });
    const whole = [
      said('', { content: [part('One.', { annotations: [citation] }), part('', {})] }),
      said('', { content: [part('Two.', { logprobs: [likely] })] }),
    ] as const;
    const of = (at: number, type: string, more: object): object => ({
      type: `response.output_text.${type}`,
      output_index: at,
      content_index: 0,
      ...more,
    });
    const { gateway } = await behind(
      nativeStream(
        [
          added(0, said('', { content: [] })),
          of(0, 'delta', { delta: 'One.' }),
          added(1, said('', { content: [] })),
          of(1, 'delta', { delta: 'Two.' }),
          of(0, 'annotation.added', { annotation_index: 0, annotation: citation }),
          of(1, 'done', { text: 'Two.', logprobs: [likely] }),
          done(1, whole[1]),
          done(0, whole[0]),
        ],
        nativeBody(whole),
      ),
    );
    const { response } = await streamOf(gateway, { model: 'native', include: ['message.output_text.logprobs'] });
    expect(bare(response.output)).toEqual(bare(whole));
  });

  it.each(['while a later text of its message is open', 'after its message is done'])(
    'has a citation and log probabilities at their text where they come %s',
    async (when) => {
      const likely = { token: 'One.', logprob: -0.1, bytes: [1], top_logprobs: [] };
      const part = (text: string, more: object = {}): object => ({ type: 'output_text', text, annotations: [], logprobs: [], ...more });
      const whole = [
        said('', { content: [part('One.', { annotations: [citation], logprobs: [likely] }), part('Two.')] }),
        said('', { content: [part('Three.')] }),
      ] as const;
      const of = (at: number, content_index: number, type: string, more: object): object => ({
        type: `response.output_text.${type}`,
        output_index: at,
        content_index,
        ...more,
      });
      const late = [
        of(0, 0, 'annotation.added', { annotation_index: 0, annotation: citation }),
        of(0, 0, 'done', { text: 'One.', logprobs: [likely] }),
      ];
      const end = done(0, said('', { content: [part('One.'), part('Two.')] }));
      const begin = [added(1, said('', { content: [] })), of(1, 0, 'delta', { delta: 'Three.' })];
      const { gateway } = await behind(
        nativeStream(
          [
            added(0, said('', { content: [] })),
            of(0, 0, 'delta', { delta: 'One.' }),
            of(0, 1, 'delta', { delta: 'Two.' }),
            ...(when.startsWith('while') ? [...late, end, ...begin] : [end, ...begin, ...late]),
            done(1, whole[1]),
          ],
          nativeBody(whole),
        ),
      );
      const { response, events: got } = await streamOf(
        gateway,
        { model: 'native', include: ['message.output_text.logprobs'] },
        { isLate: true },
      );
      expect(bare(response.output)).toEqual(bare(whole));
      expect(got.find(({ type }) => type === 'response.output_text.annotation.added')).toMatchObject({ output_index: 0, content_index: 0 });
    },
  );

  it('has the log probabilities of each text', async () => {
    const likely = (token: string): object => ({ token, logprob: -0.1, bytes: [1], top_logprobs: [] });
    const told = (text: string, tokens: string[]): object =>
      said(text, { content: [{ type: 'output_text', text, annotations: [], logprobs: tokens.map(likely) }] });
    const texts = [told('See.', ['See', '.']), told('Mild.', ['Mild', '.'])];
    const delta = (at: number, token: string): object => ({
      type: 'response.output_text.delta',
      output_index: at,
      content_index: 0,
      delta: token,
      logprobs: [likely(token)],
    });
    const first = [added(0, said('', { content: [] })), delta(0, 'See'), delta(0, '.'), done(0, texts[0]!)];
    const { gateway } = await behind(
      nativeAnswer(texts),
      nativeStream([...first, added(1, said('', { content: [] })), delta(1, 'Mild'), done(1, texts[1]!)], nativeBody(texts)),
    );
    const asked = { model: 'native', include: ['message.output_text.logprobs'] };
    expect(bare((await respond(gateway, asked)).output)).toEqual(bare(texts));
    const { response, events: got } = await streamOf(gateway, asked);
    expect(bare(response.output)).toEqual(bare(texts));
    expect(got.flatMap(({ type, logprobs }) => (type === 'response.output_text.delta' ? [logprobs] : []))).toEqual([
      [likely('See')],
      [likely('.')],
      [likely('Mild')],
      [likely('.')],
    ]);
  });

  it('keeps the empty lines inside one text of a thought', async () => {
    const summary = [{ type: 'summary_text', text: 'One.\n\nTwo.' }];
    const delta = (text: string): object => ({
      type: 'response.reasoning_summary_text.delta',
      output_index: 0,
      summary_index: 0,
      delta: text,
    });
    const { gateway } = await behind(
      nativeStream(
        [added(0, { type: 'reasoning', summary: [] }), delta('One.'), delta('\n\nTwo.'), done(0, { type: 'reasoning', summary })],
        nativeBody([]),
      ),
    );
    expect((await streamOf(gateway, { model: 'native' })).response.output).toMatchObject([{ type: 'reasoning', summary }]);
  });

  it.each(['ws_1', ''])('has an id of its own for each item where the provider gives two searches the id "%s"', async (id) => {
    const { gateway } = await behind(nativeAnswer([{ ...search, id }, { ...search, id }, said('Yes.')]));
    const { output } = await respond(gateway, { model: 'native' });
    expect([new Set(output.map((item: any) => item.id)).size, output.every((item: any) => item.id !== '')]).toEqual([3, true]);
  });

  it('keeps full reasoning apart from a summary', async () => {
    const thought = {
      type: 'reasoning',
      summary: [],
      content: [
        { type: 'reasoning_text', text: 'Raw.' },
        { type: 'reasoning_text', text: 'More.' },
      ],
    };
    const { gateway } = await behind(
      nativeAnswer([thought, said('Yes.')]),
      nativeStream(
        [
          added(0, { type: 'reasoning', summary: [] }),
          { type: 'response.reasoning_text.delta', output_index: 0, content_index: 0, delta: 'Raw.' },
          done(0, thought),
        ],
        nativeBody([]),
      ),
    );
    expect(bare((await respond(gateway, { model: 'native' })).output)[0]).toMatchObject(thought);
    const { response, types } = await streamOf(gateway, { model: 'native' });
    expect(bare(response.output)[0]).toMatchObject(thought);
    expect(types.filter((type) => type === 'response.reasoning_text.done')).toHaveLength(2);
  });

  it('goes back as it came, with the state of each thought before its next item', async () => {
    const { gateway, up } = await behind(nativeAnswer(items), nativeAnswer([said('Fine.')]));
    const { output } = await respond(gateway, { model: 'native', tools: [flat, custom] });
    const results = [
      { type: 'function_call_output', call_id: 'c1', output: 'x' },
      { type: 'custom_tool_call_output', call_id: 'c2', output: '1 row' },
    ];
    await respond(gateway, { model: 'native', tools: [flat, custom], input: [{ role: 'user', content: 'hi' }, ...output, ...results] });
    expect(up.asked[1]?.json['input'].slice(1)).toEqual([
      items[0],
      { role: 'assistant', content: 'Let me see.', phase: 'commentary' },
      search,
      { type: 'function_call', call_id: 'c1', name: 'weather', arguments: '{"city":"Rome"}', caller: { type: 'direct' } },
      items[4],
      {
        role: 'assistant',
        content: [
          { type: 'output_text', text: 'Mild.', annotations: [citation] },
          { type: 'output_text', text: ' Very.' },
        ],
        phase: 'final_answer',
      },
      { type: 'custom_tool_call', call_id: 'c2', name: 'run_sql', input: 'select "1"' },
      ...results,
    ]);
  });

  it('is not retried at another provider because only the head of an item came', async () => {
    const [broken, other] = [
      await provider(nativeStream(events.slice(0, 1), {})),
      await provider(nativeStream([], nativeBody([said('Yes.')]))),
    ];
    broken.script(
      (response) =>
        void response
          .writeHead(200, { 'content-type': 'text/event-stream' })
          .end(`event: response.output_item.added\ndata: ${JSON.stringify(events[0])}\n\n`),
    );
    const config = nativeUpstream(broken.url) as any;
    config.providers.second = { ...config.providers.own, base_url: other.url };
    config.models[0].providers.push({ ...config.models[0].providers[0], providerId: 'second' });
    config.routing.default.strategy = 'ordered';
    const gateway = await gatewayOf(config);
    expect((await streamOf(gateway, { model: 'native' })).response.model).toBe('second/native');
  });

  it('has the text that a plugin delays and changes in the right items', async () => {
    const up = await provider(nativeStream(events, nativeBody(items)));
    const capitals = probe(({ hooks }) =>
      hooks.opened.tap((source) => rewriteText(source, ({ kind }) => (kind !== 'text' ? null : held()))),
    );
    const gateway = await gatewayOf(nativeUpstream(up.url), { plugins: [capitals] });
    const { response } = await streamOf(gateway, { model: 'native', tools: [flat, custom] });
    expect(
      response.output.filter(({ type }: any) => type === 'message').map(({ content }: any) => content.map(({ text }: any) => text)),
    ).toEqual([['LET ME SEE.'], ['MILD.', ' VERY.']]);
  });

  it("keeps steps of a provider's own tools that look like calls of custom tools", async () => {
    const step = { id: 'ctc_x', type: 'custom_tool_call', call_id: 'x1', name: 'x_search', input: '{}', status: 'completed' };
    const { gateway, up } = await behind(nativeAnswer([step, said('Yes.')], { tools: [{ type: 'x_search' }] }));
    const response = await respond(gateway, { model: 'native', tools: [{ type: 'x_search' }] });
    expect(response.output[0]).toEqual(step);
    expect(response.status).toBe('completed');
    await respond(gateway, { model: 'native', input: [...response.output, { role: 'user', content: 'Well?' }] });
    expect(up.asked[1]?.json['input'][0]).toEqual({ type: 'custom_tool_call', call_id: 'x1', name: 'x_search', input: '{}' });
  });

  it('has no markers of items for callers of other endpoints', async () => {
    const seen: Chunk[] = [];
    const up = await provider(nativeStream(events, nativeBody(items)));
    const watch = probe(({ hooks }) => hooks.chunk.tap((chunk) => (seen.push(chunk), chunk)));
    const gateway = await gatewayOf(nativeUpstream(up.url), { plugins: [watch] });
    const reply = await gateway.chat({ model: 'native', stream: true });
    await reply.text();
    expect(seen.map(({ type }) => type)).not.toContain('native');
    expect(seen.map(({ type }) => type)).toContain('text-delta');
  });
});

/** Holds a text back until its end, and gives it in capitals. */
function held(): { push(piece: string): string; end(): string } {
  let text = '';
  return { push: (piece) => ((text += piece), ''), end: () => text.toUpperCase() };
}
