/** Requests of the Messages API, and the requests that providers of this API and of other APIs get for them. */
import { describe, expect, it } from 'vitest';
import { answers, completion } from '../../../_kit/upstream.ts';
import { type Fields, message, scene } from './scene.ts';

const say = (...content: unknown[]): Fields => ({
  messages: [{ role: 'user', content: content.length === 1 && typeof content[0] === 'string' ? content[0] : content }],
});
const openScene = async (): ReturnType<typeof scene> => await scene(answers(completion('Yes.')));
const weather = { name: 'weather', description: 'Tells it.', input_schema: { type: 'object', properties: { city: { type: 'string' } } } };
const mark = { type: 'ephemeral', ttl: '1h' };
const png = 'iVBORw0KGgo=';

describe('a provider of the same API', () => {
  it('gets all fields of the caller, except those that may hold the caller’s own key', async () => {
    const { ask } = await scene();
    const body = {
      max_tokens: 900,
      temperature: 0.3,
      top_k: 5,
      stop_sequences: ['END'],
      metadata: { user_id: 'u'.repeat(100), more: 1 },
      service_tier: 'standard_only',
      container: 'c1',
      cache_control: mark,
      system: [{ type: 'text', text: 'Be terse.', cache_control: mark }],
      tools: [
        { ...weather, cache_control: mark, defer_loading: true, strict: true },
        { type: 'web_search_20250305', name: 'web_search', max_uses: 3 },
        { type: 'tool_of_tomorrow', name: 'x', a: [1] },
        { type: 'mcp_toolset', mcp_server_name: 'm', cache_control: mark },
        { type: 'computer_toolset_20260801', configs: {} },
      ],
      tool_choice: { type: 'auto', disable_parallel_tool_use: true },
      output_config: { format: { type: 'json_schema', schema: { type: 'object', minProperties: 1 } }, task_budget: { total: 5 } },
      a_field_of_tomorrow: { deep: [1, 2] },
      ...say({ type: 'text', text: 'Hi', a_mark: 1, cache_control: mark }),
    };
    const settings = {
      api_key: 'sk-of-the-caller',
      api_base: 'http://else.example',
      base_url: 'http://else.example',
      extra_headers: { a: 'b' },
      headers: { authorization: 'Bearer sk-of-the-caller' },
      user_config: { model_list: [] },
    };
    const { sent, asked, status, headers } = await ask(
      { model: 'claude', ...body, ...settings },
      { 'anthropic-beta': 'one-2025-01-01, two' },
    );
    expect(status).toBe(200);
    expect(headers.get('x-adjusted')).toBe(
      Object.keys(settings)
        .map((field) => `${field}: dropped`)
        .join(', '),
    );
    expect(sent).toEqual({ ...body, model: 'claude-sonnet-4-5' });
    expect(asked.headers['anthropic-beta']).toBe('one-2025-01-01,two');
  });

  it.each<[string, Fields]>([
    ['an image', { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png }, extra: 1 }],
    ['an image by its address', { type: 'image', source: { type: 'url', url: 'https://x.example/a.png' } }],
    ['an image of a file', { type: 'image', source: { type: 'file', file_id: 'f1' } }],
    [
      'a PDF',
      {
        type: 'document',
        title: 'paper',
        context: 'of 1999',
        citations: { enabled: true },
        source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' },
      },
    ],
    ['a PDF without a title', { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' } }],
    ['a PDF by its address', { type: 'document', title: 'paper', source: { type: 'url', url: 'https://x.example/a.pdf' } }],
    [
      'a text document',
      {
        type: 'document',
        title: 'moon',
        citations: { enabled: true },
        source: { type: 'text', media_type: 'text/plain', data: 'The moon.' },
      },
    ],
    [
      'a document of blocks',
      {
        type: 'document',
        source: {
          type: 'content',
          content: [
            { type: 'text', text: 'a' },
            { type: 'text', text: 'b' },
          ],
        },
      },
    ],
    [
      'a document of blocks with an image',
      { type: 'document', source: { type: 'content', content: [{ type: 'image', source: { type: 'file', file_id: 'f' } }] } },
    ],
    ['a document that is a file', { type: 'document', source: { type: 'file', file_id: 'f1' } }],
    [
      'a search result',
      {
        type: 'search_result',
        source: 'https://x.example',
        title: 'X',
        content: [{ type: 'text', text: 'found' }],
        citations: { enabled: true },
      },
    ],
    ['a tool that a search found', { type: 'tool_reference', tool_name: 'weather' }],
    ['an upload', { type: 'container_upload', file_id: 'f1' }],
    ['a block of tomorrow', { type: 'hologram', data: { a: 1 } }],
  ])('gets %s unchanged, also inside a tool result', async (_, block) => {
    const { ask } = await scene();
    const marked = { ...block, cache_control: mark };
    const { sent, status } = await ask({
      model: 'claude',
      messages: [
        { role: 'user', content: [marked] },
        { role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: 'f', input: {}, caller: { type: 'direct' } }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content: [block], is_error: true, of_tomorrow: 1 }] },
      ],
    });
    expect(status).toBe(200);
    expect(sent['messages'][0].content).toEqual([marked]);
    expect(sent['messages'][1].content).toEqual([{ type: 'tool_use', id: 't1', name: 'f', input: {}, caller: { type: 'direct' } }]);
    expect(sent['messages'][2].content).toEqual([
      { type: 'tool_result', tool_use_id: 't1', content: [block], is_error: true, of_tomorrow: 1 },
    ]);
  });

  it.each([
    ['', {}],
    [' and a budget for thinking', { thinking: { type: 'enabled', budget_tokens: 2000 } }],
  ])('gets a limit of 0%s, by which a caller fills its cache without an answer', async (_, more) => {
    const usage = { input_tokens: 5, cache_creation_input_tokens: 2000, cache_read_input_tokens: 0, output_tokens: 0 };
    const { ask, gateway } = await scene(answers(message([], { stop_reason: 'max_tokens', usage })));
    const body = { max_tokens: 0, system: [{ type: 'text', text: 'Be terse.', cache_control: mark }], ...more };
    const { status, body: reply, sent } = await ask({ model: 'claude', ...body });
    expect(sent).toMatchObject(body);
    expect([status, reply]).toMatchObject([200, { content: [], stop_reason: 'max_tokens', usage }]);
    expect(gateway.records).toMatchObject([{ outcome: 'answered', usage: { cacheWriteTokens: 2000, completionTokens: 0 } }]);
  });

  it('gets the blocks of its own tools in their order', async () => {
    const { ask } = await scene();
    const content = [
      { type: 'text', text: 'I look.' },
      { type: 'server_tool_use', id: 's1', name: 'web_search', input: { query: 'x' } },
      { type: 'web_search_tool_result', tool_use_id: 's1', content: [] },
      { type: 'text', text: 'It is mild.', citations: [{ type: 'web_search_result_location', cited_text: 'mild' }] },
    ];
    const { sent } = await ask({
      model: 'claude',
      messages: [
        { role: 'user', content: 'Hi' },
        { role: 'assistant', content },
        { role: 'user', content: 'Go on' },
      ],
    });
    expect(sent['messages'][1].content).toEqual(content);
  });

  it('gets calls of the caller’s tools before and between these blocks at their places', async () => {
    const { ask } = await scene();
    const call = (id: string): Fields => ({ type: 'tool_use', id, name: 'weather', input: {} });
    const ran = (id: string): Fields[] => [
      { type: 'server_tool_use', id, name: 'web_search', input: {} },
      { type: 'web_search_tool_result', tool_use_id: id, content: [] },
    ];
    const content = [call('t1'), ...ran('s1'), { type: 'text', text: 'And there.' }, call('t2'), call('t3'), ...ran('s2'), call('t4')];
    const results = ['t1', 't2', 't3', 't4'].map((id) => ({ type: 'tool_result', tool_use_id: id, content: 'mild' }));
    const { sent } = await ask({
      model: 'claude',
      messages: [
        { role: 'user', content: 'Hi' },
        { role: 'assistant', content },
        { role: 'user', content: results },
      ],
    });
    expect(sent['messages'][1].content).toEqual(content);
  });

  it.each<[string, Fields]>([
    ['of a conversation', { type: 'compaction', content: 'They spoke of Rome.', encrypted_content: 'sealed', cache_control: mark }],
    ['that failed', { type: 'compaction', content: null }],
  ])('gets a summary %s unchanged', async (_, summary) => {
    const { ask } = await scene();
    const content = [summary, { type: 'text', text: 'Yes.' }];
    const { sent } = await ask({
      model: 'claude',
      messages: [
        { role: 'user', content: 'Hi' },
        { role: 'assistant', content },
        { role: 'user', content: 'Go on' },
      ],
    });
    expect(sent['messages'][1].content).toEqual(content);
  });

  it('gets instructions between turns at their places if the caller has the beta and the model takes them, otherwise as text of the user', async () => {
    const { ask } = await scene();
    const messages = [
      { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
      { role: 'system', content: [{ type: 'text', text: 'Be kind.' }] },
      { role: 'assistant', content: [{ type: 'text', text: 'Yes.' }] },
      { role: 'user', content: [{ type: 'text', text: 'And?' }] },
      { role: 'system', content: [{ type: 'text', text: 'Be brief.' }] },
    ];
    const beta = { 'anthropic-beta': 'mid-conversation-system-2026-04-07' };
    expect((await ask({ model: 'newest', system: 'S', messages }, beta)).sent['messages']).toEqual(messages);
    expect((await ask({ model: 'newest', messages }, beta)).sent['messages']).toEqual(messages);
    for (const { sent } of [
      await ask({ model: 'newest', system: 'S', messages }),
      await ask({ model: 'claude', system: 'S', messages }, beta),
    ]) {
      expect(sent['messages'].map(({ role, content }: Fields) => [role, content.map(({ text }: Fields) => text)])).toEqual([
        ['user', ['Hi', 'Be kind.']],
        ['assistant', ['Yes.']],
        ['user', ['And?', 'Be brief.']],
      ]);
    }
  });

  it('gets no fifth cache breakpoint, and the reply names it', async () => {
    const { ask } = await scene();
    const { sent, headers } = await ask({
      model: 'claude',
      ...say(...Array.from({ length: 5 }, (_, at) => ({ type: 'text', text: `t${at}`, cache_control: mark }))),
    });
    expect(sent['messages'][0].content.filter((block: Fields) => block['cache_control'] !== undefined)).toHaveLength(4);
    expect(headers.get('x-adjusted')).toContain('cache_control');
  });
});

describe('a provider of another API', () => {
  it('gets the fields that it supports, and the reply names the lost ones', async () => {
    const { ask } = await openScene();
    const { sent, headers } = await ask(
      {
        model: 'open',
        system: [{ type: 'text', text: 'Be terse.', cache_control: mark }],
        stop_sequences: ['END'],
        top_k: 5,
        metadata: { user_id: 'u-1', team: 'a' },
        context_management: { edits: [] },
        tools: [{ ...weather, cache_control: mark, defer_loading: true }],
        tool_choice: { type: 'any', disable_parallel_tool_use: true },
        messages: [
          {
            role: 'user',
            content: [{ type: 'document', title: 't', source: { type: 'text', media_type: 'text/plain', data: 'The moon.' } }],
          },
          {
            role: 'assistant',
            content: [
              { type: 'server_tool_use', id: 's', name: 'x', input: {} },
              { type: 'text', text: 'I look.' },
              { type: 'tool_use', id: 't1', name: 'weather', input: { city: 'Rome' } },
            ],
          },
          {
            role: 'user',
            content: [
              { type: 'text', text: 'And?' },
              { type: 'tool_result', tool_use_id: 't1', is_error: true, content: 'none' },
            ],
          },
        ],
      },
      { 'anthropic-beta': 'b1' },
    );
    expect(sent).toEqual({
      model: 'open-1',
      stream: false,
      max_tokens: 1000,
      stop: ['END'],
      user: 'u-1',
      parallel_tool_calls: false,
      tool_choice: 'required',
      tools: [{ type: 'function', function: { name: 'weather', description: 'Tells it.', parameters: weather.input_schema } }],
      messages: [
        { role: 'system', content: [{ type: 'text', text: 'Be terse.' }] },
        { role: 'user', content: [{ type: 'text', text: 'The moon.' }] },
        {
          role: 'assistant',
          content: [{ type: 'text', text: 'I look.' }],
          tool_calls: [{ id: 't1', type: 'function', function: { name: 'weather', arguments: '{"city":"Rome"}' } }],
        },
        { role: 'tool', tool_call_id: 't1', content: 'none' },
        { role: 'user', content: 'And?' },
      ],
    });
    for (const name of [
      'cache_control',
      'top_k',
      'metadata.team',
      'context_management',
      'tools.defer_loading',
      'messages.content.title',
      'messages.content.server_tool_use',
      'is_error',
      'anthropic-beta',
    ]) {
      expect(headers.get('x-adjusted')).toContain(name);
    }
  });

  it('is not asked with a limit of 0, because it has no such request', async () => {
    const { ask, up } = await openScene();
    expect(await ask({ model: 'open', max_tokens: 0 })).toMatchObject({
      status: 400,
      body: { error: { type: 'invalid_request_error', message: expect.stringContaining('"max_tokens" of 0') } },
    });
    expect(up.asked).toEqual([]);
  });

  it('gets images and files', async () => {
    const { ask } = await openScene();
    const { sent, headers } = await ask({
      model: 'open',
      ...say(
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } },
        { type: 'document', title: 'a paper', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' } },
        { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' } },
        { type: 'search_result', source: 'https://x.example', title: 'X', content: [{ type: 'text', text: 'found' }] },
      ),
    });
    expect(sent['messages'][0].content).toEqual([
      { type: 'image_url', image_url: { url: `data:image/png;base64,${png}` } },
      { type: 'file', file: { file_data: 'data:application/pdf;base64,JVBERi0=', filename: 'a paper' } },
      { type: 'file', file: { file_data: 'data:application/pdf;base64,JVBERi0=', filename: 'document.pdf' } },
      { type: 'text', text: 'X\nhttps://x.example\nfound' },
    ]);
    expect(headers.get('x-adjusted')).toBeNull();
  });

  it.each<[string, boolean, string | null]>([
    ['whose citations the caller asked for, and the reply says that there are none', true, 'messages.content.citations: dropped'],
    ['without citations', false, null],
  ])('gets a search result %s', async (_, enabled, adjusted) => {
    const { ask } = await openScene();
    const found = { type: 'search_result', source: 's', title: 't', content: [{ type: 'text', text: 'x' }], citations: { enabled } };
    const { sent, headers } = await ask({ model: 'open', ...say(found) });
    expect([sent['messages'][0].content, headers.get('x-adjusted')]).toEqual([[{ type: 'text', text: 't\ns\nx' }], adjusted]);
  });

  it('gets the summary of the earlier conversation as text', async () => {
    const { ask } = await openScene();
    const { sent, headers } = await ask({
      model: 'open',
      messages: [
        { role: 'user', content: 'Hi' },
        {
          role: 'assistant',
          content: [
            { type: 'compaction', content: 'They spoke of Rome.' },
            { type: 'text', text: 'Yes.' },
          ],
        },
        { role: 'user', content: 'Go on' },
      ],
    });
    expect(sent['messages'][1]).toEqual({
      role: 'assistant',
      content: [
        { type: 'text', text: 'They spoke of Rome.' },
        { type: 'text', text: 'Yes.' },
      ],
    });
    expect(headers.get('x-adjusted')).toBeNull();
  });

  it('gets the tools that a search found by name, as text, and their declarations', async () => {
    const { ask } = await openScene();
    const found = [
      { type: 'tool_reference', tool_name: 'weather' },
      { type: 'tool_reference', tool_name: 'tides', cache_control: mark },
    ];
    const { sent, status } = await ask({
      model: 'open',
      tools: [
        { name: 'ToolSearch', input_schema: { type: 'object' } },
        { ...weather, defer_loading: true },
      ],
      messages: [
        { role: 'user', content: 'Hi' },
        { role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: 'ToolSearch', input: {} }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content: found }] },
      ],
    });
    expect(status).toBe(200);
    expect(sent['messages'].at(-1)).toEqual({
      role: 'tool',
      tool_call_id: 't1',
      content: [
        { type: 'text', text: 'The tool "weather" can be called now.' },
        { type: 'text', text: 'The tool "tides" can be called now.' },
      ],
    });
    expect(sent['tools'].map((tool: Fields) => tool['function'].name)).toEqual(['ToolSearch', 'weather']);
  });

  it('gets the image of a tool in a user message, because its tool messages take text only', async () => {
    const { ask } = await openScene();
    const result = (id: string, content: unknown): Fields => ({ type: 'tool_result', tool_use_id: id, content });
    const call = (id: string): Fields => ({ type: 'tool_use', id, name: 'shot', input: {} });
    const { sent } = await ask({
      model: 'open',
      messages: [
        { role: 'user', content: 'Look.' },
        { role: 'assistant', content: [call('a'), call('b')] },
        {
          role: 'user',
          content: [
            result('a', [
              { type: 'text', text: 'done' },
              { type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } },
            ]),
            result('b', 'none'),
            { type: 'text', text: 'And?' },
          ],
        },
      ],
    });
    expect(sent['messages'].slice(2)).toEqual([
      { role: 'tool', tool_call_id: 'a', content: [{ type: 'text', text: 'done' }] },
      { role: 'tool', tool_call_id: 'b', content: 'none' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'The tool call a gave this:' },
          { type: 'image_url', image_url: { url: `data:image/png;base64,${png}` } },
        ],
      },
      { role: 'user', content: 'And?' },
    ]);
  });

  it('gets a name of a tool that is too long for it in a shorter form, the same one everywhere; a provider of the same API gets it whole', async () => {
    const names = ['read', 'write'].map((verb) => `mcp__plugin_a-plugin-of-a-long-name_a-server-of-a-long-name__${verb}_a_file`);
    const [read, write] = names;
    const body = {
      tools: [...names.map((name) => ({ ...weather, name })), weather],
      tool_choice: { type: 'tool', name: write },
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
        { role: 'assistant', content: [{ type: 'tool_use', id: 't1', name: read, input: {} }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content: [{ type: 'tool_reference', tool_name: write }] }] },
      ],
    };
    const other = await openScene();
    const { sent, headers } = await other.ask({ model: 'open', ...body });
    const short = sent['tools'].map((tool: Fields) => tool['function'].name as string) as string[];
    expect(short.map((name) => name.length)).toEqual([64, 64, 7]);
    expect(short[0]).not.toBe(short[1]);
    expect([sent['messages'][1].tool_calls[0].function.name, sent['tool_choice'].function.name]).toEqual([short[0], short[1]]);
    expect(sent['messages'][2].content[0].text).toContain(short[1]);
    expect(headers.get('x-adjusted')).toBe('tools.name: shortened to 64 characters');
    const same = await scene();
    expect((await same.ask({ model: 'claude', ...body })).sent).toMatchObject(body);
  });

  it('gets a long user id as a hash of 64 characters, always the same', async () => {
    const { ask } = await openScene();
    const users = [
      (await ask({ model: 'open', metadata: { user_id: 'u'.repeat(65) } })).sent['user'],
      (await ask({ model: 'open', metadata: { user_id: 'u'.repeat(65) } })).sent['user'],
    ];
    expect(users[0]).toMatch(/^[\da-f]{64}$/);
    expect(users[1]).toBe(users[0]);
  });

  it.each<[string, Fields]>([
    ['a tool that its provider runs', { tools: [{ type: 'web_search_20250305', name: 'web_search' }] }],
    ['a set of tools, which has no name', { tools: [{ type: 'mcp_toolset', mcp_server_name: 'm' }] }],
    ['content of a type that it does not have', say({ type: 'hologram', data: 'x' })],
    ['a file of another provider', say({ type: 'image', source: { type: 'file', file_id: 'f' } })],
    ['a document that is a file of another provider', say({ type: 'document', source: { type: 'file', file_id: 'f' } })],
    ['a search result with images', say({ type: 'search_result', source: 's', title: 't', content: [{ type: 'image' }] })],
  ])('is not sent %s', async (_, body) => {
    const { ask, up } = await openScene();
    const { status, body: reply } = await ask({ model: 'open', ...body });
    expect([status, reply['error'].type, up.asked.length]).toEqual([400, 'invalid_request_error', 0]);
  });
});

describe('a wrong request', () => {
  it.each<[string, Fields, string]>([
    ['messages that are no list', { messages: 7 }, 'messages'],
    ['no messages', { messages: [] }, 'messages'],
    ['a message that is no object', { messages: ['x'] }, 'messages[0]'],
    ['a message without a role', { messages: [{ content: 'x' }] }, 'messages[0].role'],
    ['an unknown role', { messages: [{ role: 'wizard', content: 'x' }] }, 'messages[0].role'],
    ['a message without content', { messages: [{ role: 'user' }] }, 'messages[0].content'],
    ['content that is a number', { messages: [{ role: 'assistant', content: 7 }] }, 'messages[0].content'],
    ['a block that is no object', say('x', 'y'), 'messages[0].content[0]'],
    ['a block without a type', say({ text: 'x' }), 'messages[0].content[0].type'],
    ['a text that is a number', say({ type: 'text', text: 7 }), 'messages[0].content[0].text'],
    ['an image without a source', say({ type: 'image' }), 'messages[0].content[0].source'],
    [
      'a document of blocks that are no list',
      say({ type: 'document', source: { type: 'content', content: 7 } }),
      'messages[0].content[0].source.content',
    ],
    ['a found tool without a name', say({ type: 'tool_reference' }), 'messages[0].content[0].tool_name'],
    ['a result without an id', say({ type: 'tool_result', content: 'x' }), 'messages[0].content[0].tool_use_id'],
    [
      'a call whose input is a text',
      { messages: [{ role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'f', input: '{}' }] }] },
      'messages[0].content[0].input',
    ],
    [
      'a call whose input is a list',
      { messages: [{ role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'f', input: [] }] }] },
      'messages[0].content[0].input',
    ],
    [
      'a thought that is no text',
      { messages: [{ role: 'assistant', content: [{ type: 'thinking', thinking: 7 }] }] },
      'messages[0].content[0].thinking',
    ],
    [
      'a sealed thought without data',
      { messages: [{ role: 'assistant', content: [{ type: 'redacted_thinking' }] }] },
      'messages[0].content[0].data',
    ],
    ['a system that is a number', { system: 7 }, 'system'],
    ['a limit below 0', { max_tokens: -1 }, 'max_tokens'],
    ['a temperature that is a text', { temperature: 'hot' }, 'temperature'],
    ['stop sequences that are no texts', { stop_sequences: [1] }, 'stop_sequences[0]'],
    ['a user id that is a number', { metadata: { user_id: 1 } }, 'metadata.user_id'],
    ['tools that are no list', { tools: 'f' }, 'tools'],
    ['a tool without a schema', { tools: [{ name: 'f' }] }, 'tools[0].input_schema'],
    ['a description that is no text', { tools: [{ name: 'f', description: 7, input_schema: {} }] }, 'tools[0].description'],
    ['a tool without a name', { tools: [{ input_schema: {} }] }, 'tools[0].name'],
    ['an unknown tool choice', { tool_choice: { type: 'some' } }, 'tool_choice.type'],
    ['a choice of a tool without a name', { tool_choice: { type: 'tool' } }, 'tool_choice.name'],
    ['an unknown format', { output_config: { format: { type: 'poem' } } }, 'output_config.format.type'],
    ['thinking of an unknown type', { thinking: { type: 'sideways' } }, 'thinking.type'],
    ['a budget that is a text', { thinking: { type: 'enabled', budget_tokens: 'many' } }, 'thinking.budget_tokens'],
    ['an unknown effort', { thinking: { type: 'adaptive' }, output_config: { effort: 'minimal' } }, 'output_config.effort'],
    ['a model that is a number', { model: 7 }, 'model'],
    ['a beta with a line break, which a header cannot have', { anthropic_beta: ['ok', 'a\r\nx-a: 1'] }, 'anthropic_beta[1]'],
    ['a beta with a character that a header cannot have', { anthropic_beta: ['a\u4e2d'] }, 'anthropic_beta[0]'],
  ])('is refused for %s', async (_, body, param) => {
    const { ask, up } = await openScene();
    const { status, body: reply, headers } = await ask({ model: 'open', ...body });
    expect([status, reply, up.asked.length]).toEqual([
      400,
      {
        type: 'error',
        error: { type: 'invalid_request_error', message: expect.stringContaining(`"${param}"`) },
        request_id: headers.get('x-request-id'),
      },
      0,
    ]);
  });
});
