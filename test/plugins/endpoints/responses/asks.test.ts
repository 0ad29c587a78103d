/** The requests that providers of chat completions get for Responses requests, and the refused requests. */
import { describe, expect, it } from 'vitest';
import { parseResponseRequest, withItems } from '../../../../plugins/endpoints/responses/parse.ts';
import { oneUpstream, twoUpstreams } from '../../../_kit/gateway.ts';
import { errorOf, gatewayOf, provider } from '../../../core/scene.ts';
import { ask, nativeAnswer, respond, said } from './stage.ts';

/** The request of the provider for this body, and the header that names the dropped fields. */
async function asked(body: object): Promise<{ json: any; adjusted: string }> {
  const up = await provider();
  const gateway = await gatewayOf(oneUpstream(up.url));
  const reply = await ask(gateway, body);
  expect([reply.status, await reply.json()]).toMatchObject([200, { object: 'response' }]);
  return { json: up.asked[0]?.json, adjusted: reply.headers.get('x-adjusted') ?? '' };
}

describe('a provider of chat completions', () => {
  it('gets instructions first, and messages with their parts', async () => {
    const { json, adjusted } = await asked({
      instructions: 'Be terse.',
      input: [
        { role: 'developer', content: 'Be kind.' },
        {
          type: 'message',
          role: 'user',
          content: [
            { type: 'input_text', text: 'What is it?' },
            { type: 'input_image', image_url: 'https://example.org/cat.png', detail: 'low' },
            { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,AA==' },
            { type: 'input_file', file_url: 'https://example.org/b.pdf' },
          ],
        },
      ],
    });
    expect(json.messages).toEqual([
      { role: 'system', content: 'Be terse.' },
      { role: expect.stringMatching(/system|developer/), content: 'Be kind.' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'What is it?' },
          { type: 'image_url', image_url: { url: 'https://example.org/cat.png', detail: 'low' } },
          { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AA==' } },
          { type: 'file', file: { file_data: 'https://example.org/b.pdf' } },
        ],
      },
    ]);
    expect(adjusted).toBe('');
  });

  it('gets one assistant message for all items of a model between two turns', async () => {
    const { json } = await asked({
      model: 'thinker',
      input: [
        { role: 'user', content: 'Weather?' },
        { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'I look.' }] },
        {
          type: 'message',
          id: 'msg_1',
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: 'Let me look.', annotations: [], logprobs: [] }],
        },
        { type: 'function_call', id: 'fc_1', call_id: 'c1', name: 'weather', arguments: '{"city":"Rome"}', status: 'completed' },
        { type: 'function_call', call_id: 'c2', name: 'weather', arguments: '{"city":"Oslo"}' },
        { type: 'function_call_output', call_id: 'c1', output: '20' },
        { type: 'function_call_output', call_id: 'c2', output: [{ type: 'input_text', text: '5' }] },
      ],
    });
    expect(json.messages).toEqual([
      { role: 'user', content: 'Weather?' },
      {
        role: 'assistant',
        content: 'Let me look.',
        tool_calls: [
          { id: 'c1', type: 'function', function: { name: 'weather', arguments: '{"city":"Rome"}' } },
          { id: 'c2', type: 'function', function: { name: 'weather', arguments: '{"city":"Oslo"}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'c1', content: '20' },
      { role: 'tool', tool_call_id: 'c2', content: [{ type: 'text', text: '5' }] },
    ]);
  });

  it('gets outputs directly after their calls, although messages are between them', async () => {
    const call = (id: string): object => ({ type: 'function_call', call_id: id, name: 'weather', arguments: '{}' });
    const output = (id: string): object => ({ type: 'function_call_output', call_id: id, output: '20' });
    const { json, adjusted } = await asked({
      input: [
        call('c1'),
        call('c2'),
        { role: 'user', content: 'Quick!' },
        output('c1'),
        { role: 'assistant', content: 'One to go.' },
        output('c2'),
        call('c3'),
        output('c3'),
      ],
    });
    expect(json.messages.map(({ role, content, tool_call_id: id }: any) => [role, id ?? content])).toEqual([
      ['assistant', null],
      ['tool', 'c1'],
      ['tool', 'c2'],
      ['user', 'Quick!'],
      ['assistant', 'One to go.'],
      ['assistant', null],
      ['tool', 'c3'],
    ]);
    expect(adjusted).toBe('messages: results of tools put behind their calls');
  });

  it('gets no field of probabilities where the caller wants none', async () => {
    const { json, adjusted } = await asked({ model: 'thinker', input: 'hi', top_logprobs: 0 });
    expect([json.logprobs, json.top_logprobs, adjusted]).toEqual([undefined, undefined, '']);
  });

  it('gets parameters under its own names', async () => {
    const { json, adjusted } = await asked({
      model: 'thinker',
      reasoning: { effort: 'high', summary: 'detailed' },
      max_output_tokens: 77,
      temperature: 0.5,
      top_p: 0.9,
      parallel_tool_calls: false,
      user: 'u',
      top_logprobs: 2,
      repetition_penalty: 1.1,
      text: { verbosity: 'low', format: { type: 'json_schema', name: 'city', schema: { type: 'object' }, strict: true } },
      tools: [{ type: 'function', name: 'f', parameters: {}, strict: false }],
      tool_choice: { type: 'function', name: 'f' },
      include: ['reasoning.encrypted_content', 'message.output_text.logprobs'],
      store: false,
      truncation: 'disabled',
      client_metadata: { a: 'b' },
    });
    expect(json).toMatchObject({
      reasoning_effort: 'high',
      temperature: 0.5,
      top_p: 0.9,
      parallel_tool_calls: false,
      user: 'u',
      logprobs: true,
      top_logprobs: 2,
      repetition_penalty: 1.1,
      verbosity: 'low',
      response_format: { type: 'json_schema', json_schema: { name: 'city', schema: { type: 'object' }, strict: true } },
      tools: [{ type: 'function', function: { name: 'f', parameters: {}, strict: false } }],
      tool_choice: { type: 'function', function: { name: 'f' } },
    });
    expect([json.max_tokens, json.max_completion_tokens]).toContain(77);
    for (const field of [
      'store',
      'truncation',
      'include',
      'text',
      'reasoning',
      'input',
      'instructions',
      'native',
      'door',
      'form',
      'client_metadata',
    ]) {
      expect(json).not.toHaveProperty(field);
    }
    expect(adjusted).toBe('');
  });

  it('gets only the tools among which the model may choose', async () => {
    const tools = ['a', 'b'].map((name) => ({ type: 'function', name }));
    const { json, adjusted } = await asked({
      tools: [...tools, { type: 'custom', name: 'sql' }],
      tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [tools[1], { type: 'custom', name: 'sql' }] },
    });
    expect([json.tools.map((tool: any) => tool.function.name), json.tool_choice]).toEqual([['b', 'sql'], 'auto']);
    expect(adjusted).toBe('');
  });

  it('does not get the fields that only this API has, and the reply names them', async () => {
    const { json, adjusted } = await asked({
      truncation: 'auto',
      max_tool_calls: 3,
      include: ['web_search_call.action.sources'],
      tools: [{ type: 'web_search' }, { type: 'function', name: 'f', parameters: {}, defer_loading: true }],
      reasoning: { context: 'all' },
      input: [
        { role: 'user', content: [{ type: 'input_text', text: 'hi', prompt_cache_breakpoint: {} }] },
        { type: 'web_search_call', id: 'ws_1', status: 'completed' },
        { role: 'assistant', content: 'Yes.', phase: 'final_answer' },
        { role: 'user', content: 'And?' },
      ],
    });
    for (const name of [
      'truncation',
      'max_tool_calls',
      'include.web_search_call.action.sources',
      'tools.web_search',
      'tools.defer_loading',
      'reasoning.context',
      'input.content.prompt_cache_breakpoint',
      'input.web_search_call',
    ]) {
      expect(adjusted.split(', ')).toContain(`${name}: dropped`);
    }
    expect(adjusted.split(', ')).toHaveLength(8);
    expect(json.tools).toEqual([{ type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } }]);
    expect(json.messages).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'hi' }] },
      { role: 'assistant', content: 'Yes.' },
      { role: 'user', content: 'And?' },
    ]);
  });

  it('does not get the stream options of the caller, and the reply names them, also where the conversation is looked up', async () => {
    const up = await provider();
    const gateway = await gatewayOf(oneUpstream(up.url));
    const reply = await ask(gateway, { stream_options: { include_usage: true, include_obfuscation: true, other: false } });
    expect(reply.headers.get('x-adjusted')).toBe('stream_options.include_obfuscation: dropped');
    expect(up.asked[0]?.json).not.toHaveProperty('stream_options');
    const { request } = parseResponseRequest({
      model: 'plain',
      previous_response_id: 'resp_1',
      stream_options: { include_obfuscation: true },
    });
    expect(withItems(request, [], [{ role: 'user', content: 'hi' }]).adjustments).toEqual([
      { parameter: 'stream_options.include_obfuscation', change: 'dropped' },
    ]);
  });

  it('gets no tools and no tool choice where it supports none of them', async () => {
    const { json } = await asked({ tools: [{ type: 'web_search' }, { type: 'tool_search' }], tool_choice: 'auto' });
    expect(json).not.toHaveProperty('tools');
    expect(json).not.toHaveProperty('tool_choice');
  });

  it('does not get reasoning without a following item', async () => {
    const { json, adjusted } = await asked({
      input: [
        { role: 'user', content: 'hi' },
        { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm.' }] },
        { role: 'user', content: 'Well?' },
      ],
    });
    expect(json.messages.map(({ role }: any) => role)).toEqual(['user', 'user']);
    expect(adjusted).toContain('input.reasoning: dropped');
  });

  it('does not get a tool step of another provider, which looks like a call without output', async () => {
    const { json, adjusted } = await asked({
      input: [
        { role: 'user', content: 'hi' },
        { id: 'ctc_x', type: 'custom_tool_call', call_id: 'x1', name: 'x_search', input: '{}', status: 'completed' },
        { role: 'assistant', content: 'Yes.' },
        { role: 'user', content: 'Well?' },
      ],
    });
    expect(json.messages.slice(1, -1)).toEqual([{ role: 'assistant', content: 'Yes.' }]);
    expect(adjusted).toContain('input.custom_tool_call: dropped');
  });

  const approval = { type: 'mcp_approval_request', id: 'mcpr_1', server_label: 's', name: 'f', arguments: '{}' };
  const answered = (approve: boolean): object => ({ type: 'mcp_approval_response', approval_request_id: 'mcpr_1', approve });
  const called = { type: 'mcp_call', id: 'mcp_1', server_label: 's', name: 'f', arguments: '{}', output: 'Done.' };

  it.each<[string, boolean, object[]]>([
    ['has run', true, [called, { role: 'assistant', content: 'Yes.' }]],
    ['has run, and the answer was cut behind it', true, [called]],
    ['is told of without its item', true, [{ role: 'assistant', content: 'Yes.' }]],
    ['was refused', false, []],
  ])('does not get the approval of a call of a tool that %s, and the reply names it', async (_, approve, behind) => {
    const { json, adjusted } = await asked({
      input: [{ role: 'user', content: 'Hi' }, approval, answered(approve), ...behind, { role: 'user', content: 'Well?' }],
    });
    expect(json.messages.at(-1)).toEqual({ role: 'user', content: 'Well?' });
    expect(adjusted).toContain('input.mcp_approval_request: dropped, input.mcp_approval_response: dropped');
  });

  it.each<[string, object[], string]>([
    ['that waits for an answer', [approval], 'input[1].type'],
    ['that waits for its call', [approval, answered(true)], 'input[1].type'],
    ['whose call comes after another answer', [called, approval, answered(true)], 'input[2].type'],
  ])('is not asked in the middle of an approval %s', async (_, items, param) => {
    const up = await provider();
    const reply = await ask(await gatewayOf(oneUpstream(up.url)), { input: [{ role: 'user', content: 'Hi' }, ...items] });
    expect([reply.status, await errorOf(reply), up.asked.length]).toMatchObject([400, { code: 'unsupported_value', param }, 0]);
  });

  it('gets the call and the output of a custom tool as a function call', async () => {
    const { json } = await asked({
      tools: [{ type: 'custom', name: 'run_sql' }],
      input: [
        { role: 'user', content: 'hi' },
        { type: 'custom_tool_call', call_id: 'c1', name: 'run_sql', input: 'select "1"' },
        { type: 'custom_tool_call_output', call_id: 'c1', output: '1 row' },
      ],
    });
    expect(json.messages.slice(1)).toEqual([
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'run_sql', arguments: '{"input":"select \\"1\\""}' } }],
      },
      { role: 'tool', tool_call_id: 'c1', content: '1 row' },
    ]);
  });
});

describe('a request is refused', () => {
  const refusals: readonly [name: string, body: object | string, code: string, param: string | null][] = [
    ['without a model', { model: undefined }, 'missing_required_parameter', 'model'],
    ['without input', { input: undefined }, 'missing_required_parameter', 'input'],
    ['with an empty input', { input: [] }, 'invalid_value', 'input'],
    ['with an empty input and a prompt that is null', { input: [], prompt: null }, 'invalid_value', 'input'],
    ['with an input that is a number', { input: 7 }, 'invalid_type', 'input'],
    ['with an item that is a text', { input: ['hi'] }, 'invalid_type', 'input[0]'],
    ['with an unknown role', { input: [{ role: 'wizard', content: 'hi' }] }, 'invalid_value', 'input[0].role'],
    ['with a message without a role', { input: [{ content: 'hi' }] }, 'missing_required_parameter', 'input[0].role'],
    ['with a message without content', { input: [{ role: 'user' }] }, 'missing_required_parameter', 'input[0].content'],
    ['with content that is a number', { input: [{ role: 'user', content: 7 }] }, 'invalid_type', 'input[0].content'],
    [
      'with a part whose text is a number',
      { input: [{ role: 'user', content: [{ type: 'input_text', text: 7 }] }] },
      'invalid_type',
      'input[0].content[0].text',
    ],
    [
      'with an item that nobody knows',
      { input: [{ role: 'user', content: 'hi' }, { type: 'hologram' }] },
      'unsupported_value',
      'input[1].type',
    ],
    ['with an item named as a part of every object', { input: [{ type: 'toString' }] }, 'unsupported_value', 'input[0].type'],
    [
      'with a part that nobody knows',
      { input: [{ role: 'user', content: [{ type: 'hologram' }] }] },
      'unsupported_value',
      'input[0].content[0].type',
    ],
    [
      'with an image that is only a name',
      { input: [{ role: 'user', content: [{ type: 'input_image', file_id: 'f1' }] }] },
      'unsupported_value',
      'input[0].content[0].type',
    ],
    [
      'with arguments that are no text',
      { input: [{ type: 'function_call', call_id: 'c', name: 'f', arguments: {} }] },
      'invalid_type',
      'input[0].arguments',
    ],
    ['with a call without a name', { input: [{ type: 'function_call', call_id: 'c', arguments: '{}' }] }, 'invalid_type', 'input[0].name'],
    [
      'with a result without output',
      { input: [{ type: 'function_call_output', call_id: 'c' }] },
      'missing_required_parameter',
      'input[0].output',
    ],
    [
      'with a state that is a number',
      { input: [{ type: 'reasoning', summary: [], encrypted_content: 7 }] },
      'invalid_type',
      'input[0].encrypted_content',
    ],
    ['with a reference to an item', { input: [{ type: 'item_reference', id: 'msg_1' }] }, 'unsupported_value', 'input'],
    ['with a conversation', { conversation: 'conv_1' }, 'unsupported_value', 'conversation'],
    ['to run in the background', { background: true }, 'unsupported_value', 'background'],
    ['for several answers, of which the reply would have one', { n: 2 }, 'unsupported_value', 'n'],
    ['with a prompt of a provider', { prompt: { id: 'p1' } }, 'unsupported_value', 'prompt'],
    ['with an answer in an unknown form', { text: { format: { type: 'poem' } } }, 'invalid_value', 'text.format.type'],
    ['with a schema without a name', { text: { format: { type: 'json_schema', schema: {} } } }, 'invalid_type', 'text.format.name'],
    ['with tools that are no list', { tools: 'f' }, 'invalid_type', 'tools'],
    ['with a tool without a name', { tools: [{ type: 'function' }] }, 'invalid_type', 'tools[0].name'],
    [
      'with a search for tools that found no list',
      { input: [{ type: 'tool_search_output', call_id: 'c', tools: 7 }] },
      'invalid_type',
      'input[0].tools',
    ],
    [
      'with a choice of a tool that its provider does not have',
      { tools: [{ type: 'web_search' }], tool_choice: { type: 'web_search' } },
      'unsupported_value',
      'tool_choice',
    ],
    ['with an unknown choice', { tool_choice: 'maybe' }, 'invalid_value', 'tool_choice'],
    ['with an unknown effort', { model: 'thinker', reasoning: { effort: 'huge' } }, 'invalid_value', 'reasoning.effort'],
    ['with a limit of 0', { max_output_tokens: 0 }, 'invalid_value', 'max_output_tokens'],
    ['with a temperature that is a text', { temperature: 'hot' }, 'invalid_type', 'temperature'],
    ['with a stream that is a text', { stream: 'yes' }, 'invalid_type', 'stream'],
    ['to keep what is not logged', { store: true }, 'unsupported_value', 'store'],
    ['to go on where nothing is logged', { previous_response_id: 'resp_1' }, 'unsupported_value', 'previous_response_id'],
    ['as a list', '[]', 'invalid_type', null],
  ];
  it.each(refusals)('%s', async (_, body, code, param) => {
    const up = await provider();
    const gateway = await gatewayOf(oneUpstream(up.url));
    const reply = await ask(gateway, body);
    expect([reply.status, await errorOf(reply)]).toMatchObject([
      400,
      { type: 'invalid_request_error', code, param, message: expect.stringMatching(/\S/) },
    ]);
    expect(up.asked).toHaveLength(0);
  });

  it('only by a provider that does not support it, and goes to a later one that does', async () => {
    const [up, other] = [await provider(), await provider(nativeAnswer([said('Yes.')]))];
    const config = twoUpstreams(up.url, other.url) as any;
    config.providers.two.dialect = 'openai-responses';
    const gateway = await gatewayOf(config);
    const item = { type: 'shell_call_output', call_id: 'c1', output: [] };
    const response = await respond(gateway, { input: [{ role: 'user', content: 'hi' }, item] });
    expect(response.model).toBe('two/plain');
    expect([up.asked.length, other.asked[0]?.json['input'][1]]).toEqual([0, item]);
  });

  it.each([
    ['compact', 'Codex does so by itself'],
    ['input_tokens', '/v1/messages/count_tokens'],
  ])('where it is for %s, and says what to do instead', async (operation, instead) => {
    const gateway = await gatewayOf(oneUpstream((await provider()).url));
    for (const path of ['/v1/responses', '/responses']) {
      const reply = await gateway.post({ model: 'plain', input: 'hi' }, { path: `${path}/${operation}` });
      expect([reply.status, await errorOf(reply)]).toMatchObject([404, { code: 'unknown_url', message: expect.stringContaining(instead) }]);
    }
  });

  it('with another method', async () => {
    const gateway = await gatewayOf(oneUpstream((await provider()).url));
    const reply = await gateway.get('/v1/responses');
    expect([reply.status, (await errorOf(reply)).code]).toEqual([405, 'method_not_allowed']);
  });
});

describe('an answer of a model in the history', () => {
  const many = (part: object): object[] => Array.from({ length: 200_000 }, () => part);

  it('may have any number of texts', () => {
    const { request } = parseResponseRequest({
      model: 'm',
      store: false,
      input: [{ role: 'assistant', content: many({ type: 'output_text', text: 'a' }) }],
    });
    expect(request.messages).toMatchObject([{ role: 'assistant', content: { length: 200_000 } }]);
  });

  it('may have a thought with any number of texts', () => {
    const { request } = parseResponseRequest({
      model: 'm',
      store: false,
      input: [
        { type: 'reasoning', summary: many({ type: 'summary_text', text: 'a' }) },
        { role: 'assistant', content: 'Yes.' },
      ],
    });
    expect(request.messages[0]?.['reasoning']).toHaveLength(3 * 200_000 - 2);
  });
});
