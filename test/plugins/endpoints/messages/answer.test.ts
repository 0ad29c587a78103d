/** Answers in the form of the Messages API, plain and streamed: the same blocks from every provider. */
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createEncoder } from '../../../../plugins/endpoints/messages/encode/stream.ts';
import type { Chunk } from '../../../../core/chat.ts';
import { GatewayError } from '../../../../core/errors.ts';
import type { ReplyHead } from '../../../../core/pipeline/door.ts';
import { answers, completion, event, streams } from '../../../_kit/upstream.ts';
import { blocksOf, type Fields, message, opened, scene } from './scene.ts';

const wire = (...events: Fields[]): string[] => events.map((one) => `event: ${one['type']}\ndata: ${JSON.stringify(one)}\n\n`);

/** The events with which a provider of the same API streams these blocks. */
function streamOf(
  blocks: Fields[],
  ending: Fields = { delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 7 } },
): string[] {
  const grown = blocks.flatMap((block, index) => {
    const delta = (fields: Fields): Fields => ({ type: 'content_block_delta', index, delta: fields });
    const { text, citations, thinking, signature, input, ...rest } = block;
    const begun = {
      ...rest,
      ...(text !== undefined && { text: '' }),
      ...(thinking !== undefined && { thinking: '', signature: '' }),
      ...(input !== undefined && { input: {} }),
    };
    return [
      { type: 'content_block_start', index, content_block: begun },
      ...(thinking === undefined ? [] : [delta({ type: 'thinking_delta', thinking }), delta({ type: 'signature_delta', signature })]),
      ...(citations ?? []).map((citation: Fields) => delta({ type: 'citations_delta', citation })),
      ...(text === undefined
        ? []
        : [delta({ type: 'text_delta', text: text.slice(0, 2) }), delta({ type: 'text_delta', text: text.slice(2) })]),
      ...(input === undefined ? [] : [delta({ type: 'input_json_delta', partial_json: JSON.stringify(input) })]),
      { type: 'content_block_stop', index },
    ];
  });
  return wire(
    {
      type: 'message_start',
      message: message([], {
        stop_reason: null,
        usage: { input_tokens: 5, cache_read_input_tokens: 2, cache_creation_input_tokens: 0, output_tokens: 1, service_tier: 'standard' },
      }),
    },
    ...grown,
    { type: 'message_delta', ...ending },
    { type: 'message_stop' },
  );
}

const everything: Fields[] = [
  { type: 'thinking', thinking: 'I look.', signature: 'SIG1' },
  { type: 'text', text: 'Let me look.' },
  { type: 'server_tool_use', id: 's1', name: 'web_search', input: { query: 'x' } },
  {
    type: 'web_search_tool_result',
    tool_use_id: 's1',
    content: [{ type: 'web_search_result', url: 'https://x.example', encrypted_content: 'Enc' }],
  },
  { type: 'redacted_thinking', data: 'SEALED' },
  { type: 'text', text: 'It is mild', citations: [{ type: 'web_search_result_location', cited_text: 'mild' }] },
  { type: 'text', text: ' and dry.' },
  { type: 'tool_use', id: 't1', name: 'weather', input: { city: 'Rome' }, caller: { type: 'code_execution_20250825', tool_id: 's1' } },
  { type: 'tool_use', id: 't2', name: 'none', input: {}, toolset_name: 'browser' },
  { type: 'tool_use', id: 't3', name: 'none', input: {} },
];

/** The blocks, with the state decoded from the gateway's own strings. */
const plain = (blocks: Fields[]): Fields[] =>
  blocks.map((block) => ({
    ...block,
    ...(block['signature'] && { signature: opened(block['signature'])['signature'] }),
    ...(block['type'] === 'redacted_thinking' && { data: opened(block['data'])['data'] }),
  }));

describe('an answer of a provider of the same API', () => {
  const ending = { container: { id: 'c1' }, stop_details: { type: 'x' } };

  it('is unchanged, plain', async () => {
    const usage = {
      input_tokens: 5,
      cache_read_input_tokens: 2,
      cache_creation_input_tokens: 0,
      output_tokens: 7,
      service_tier: 'standard',
      server_tool_use: { web_search_requests: 1 },
    };
    const { ask } = await scene(
      answers(
        message(everything, {
          stop_reason: 'stop_sequence',
          stop_sequence: 'END',
          usage,
          context_management: { applied_edits: [] },
          ...ending,
          content: everything.filter(({ type }) => type !== 'tool_use'),
        }),
      ),
    );
    const { body, headers } = await ask({ model: 'claude' });
    expect({ ...body, content: plain(body['content']) }).toEqual({
      id: `msg_${headers.get('x-request-id')}`,
      type: 'message',
      role: 'assistant',
      model: 'vendor/claude',
      content: everything.filter(({ type }) => type !== 'tool_use'),
      stop_reason: 'stop_sequence',
      stop_sequence: 'END',
      usage,
      context_management: { applied_edits: [] },
      ...ending,
    });
  });

  it('has all fields of its calls, plain', async () => {
    const { ask } = await scene(answers(message(everything, { stop_reason: 'tool_use' })));
    const { body } = await ask({ model: 'claude' });
    expect(plain(body['content'])).toEqual(everything);
  });

  it('is unchanged, streamed', async () => {
    const { stream } = await scene(
      streams(
        streamOf(everything, {
          delta: { stop_reason: 'tool_use', stop_sequence: null, ...ending },
          usage: { output_tokens: 7 },
          context_management: { applied_edits: [] },
        }),
      ),
    );
    const events = await stream({ model: 'claude' });
    expect(plain(blocksOf(events))).toEqual(everything);
    expect(events[0]).toMatchObject({
      type: 'message_start',
      message: {
        type: 'message',
        role: 'assistant',
        model: 'vendor/claude',
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { input_tokens: 5, cache_read_input_tokens: 2, output_tokens: 0 },
      },
    });
    expect(events.slice(-2)).toEqual([
      {
        type: 'message_delta',
        delta: { stop_reason: 'tool_use', stop_sequence: null, ...ending },
        context_management: { applied_edits: [] },
        usage: { input_tokens: 5, cache_creation_input_tokens: 0, cache_read_input_tokens: 2, output_tokens: 7, service_tier: 'standard' },
      },
      { type: 'message_stop' },
    ]);
  });

  it('has the service tier at its beginning too, where the SDKs read it', async () => {
    const { stream } = await scene(
      streams(
        streamOf([{ type: 'text', text: 'Yes.' }], {
          delta: { stop_reason: 'end_turn', stop_sequence: null },
          usage: { output_tokens: 7 },
        }),
      ),
    );
    expect((await stream({ model: 'claude' }))[0]?.['message'].usage).toMatchObject({
      input_tokens: 5,
      output_tokens: 0,
      service_tier: 'standard',
    });
  });

  it('has two thoughts in a row as two blocks, each with its state', async () => {
    const blocks = [
      { type: 'thinking', thinking: 'I look.', signature: 'SIG1' },
      { type: 'thinking', thinking: 'I see.', signature: 'SIG2' },
      { type: 'text', text: 'Yes.' },
    ];
    const { ask, stream } = await scene(answers(message(blocks)), streams(streamOf(blocks)));
    expect(plain((await ask({ model: 'claude' })).body['content'])).toEqual(blocks);
    expect(plain(blocksOf(await stream({ model: 'claude' })))).toEqual(blocks);
  });

  it('has its blocks in their order for Claude Code too, where a search follows the state of a thought', async () => {
    const blocks = [
      { type: 'text', text: 'Let me look.' },
      { type: 'redacted_thinking', data: 'SEALED' },
      { type: 'server_tool_use', id: 's1', name: 'web_search', input: { query: 'x' } },
      { type: 'text', text: 'Mild.' },
    ];
    const { stream } = await scene(streams(streamOf(blocks)));
    expect(plain(blocksOf(await stream({ model: 'claude' }, { 'x-app': 'cli' })))).toEqual(blocks);
  });

  it.each(['pause_turn', 'compaction', 'model_context_window_exceeded', 'refusal', 'max_tokens', 'stop_sequence'])(
    'keeps its stop reason %s',
    async (reason) => {
      const { ask } = await scene(answers(message([{ type: 'text', text: 'a' }], { stop_reason: reason })));
      expect((await ask({ model: 'claude' })).body['stop_reason']).toBe(reason);
    },
  );
});

describe('the input of a call', () => {
  it.each([
    ['an object', '{"city":"Rome"}', { city: 'Rome' }],
    ['nothing', '', {}],
    ['half an object', '{"city":', { arguments: '{"city":' }],
    ['a list', '["Rome"]', { arguments: '["Rome"]' }],
  ])('has the text of the model: %s', async (_, text, input) => {
    const { ask } = await scene(
      answers(
        completion('', { content: null, tool_calls: [{ id: 't1', type: 'function', function: { name: 'weather', arguments: text } }] }),
      ),
    );
    expect((await ask({ model: 'open' })).body['content']).toEqual([{ type: 'tool_use', id: 't1', name: 'weather', input }]);
  });

  // the Anthropic SDK throws for a text that is no JSON, and the next turn would be refused with an input that is no object
  it.each([
    ['a list', ['["Ro', 'me"]'], '["Rome"]'],
    ['a number', ['7'], '7'],
    ['words with a character in two halves', ['to "\ud83d', '\ude00"'], 'to "\u{1f600}"'],
    ['a list after a blank', [' ', '[1]'], '[1]'],
  ])('is an object in a stream too, where the model wrote %s', async (_, pieces, text) => {
    const call = (index: number, name: string, words: string): string =>
      event({
        tool_calls: [
          {
            index,
            ...(name !== '' && { id: `t${index}`, type: 'function' }),
            function: { ...(name !== '' && { name }), arguments: words },
          },
        ],
      });
    const { stream } = await scene(
      streams([
        call(0, 'weather', ''),
        ...pieces.map((piece) => call(0, '', piece)),
        call(1, 'time', '{"at":1}'),
        event({}, 'tool_calls'),
        'data: [DONE]\n\n',
      ]),
    );
    expect(blocksOf(await stream({ model: 'open' }))).toEqual([
      { type: 'tool_use', id: 't0', name: 'weather', input: { arguments: text } },
      { type: 'tool_use', id: 't1', name: 'time', input: { at: 1 } },
    ]);
  });
});

describe('a stop reason', () => {
  it('is tool_use where a server calls tools and says that its turn is over', async () => {
    const { ask } = await scene(answers(message([{ type: 'tool_use', id: 't', name: 'f', input: {} }], { stop_reason: 'end_turn' })));
    expect((await ask({ model: 'claude' })).body['stop_reason']).toBe('tool_use');
  });
});

describe('an answer of a provider of another API', () => {
  const calls = [{ index: 0, id: 'c1', type: 'function', function: { name: 'weather', arguments: '{"city":"Rome"}' } }];

  it('has its reasoning first, then its text, then its calls', async () => {
    const content = [
      { type: 'thinking', thinking: 'Hm.', signature: expect.stringMatching(/^gw1_/) },
      { type: 'text', text: 'Look.' },
      { type: 'tool_use', id: 'c1', name: 'weather', input: { city: 'Rome' } },
    ];
    const body = completion('Look.', { reasoning_content: 'Hm.', tool_calls: calls }) as Fields;
    body['choices'][0].finish_reason = 'tool_calls';
    const { ask, stream, up } = await scene(answers(body));
    expect((await ask({ model: 'thinker' })).body).toMatchObject({
      content,
      stop_reason: 'tool_use',
      stop_sequence: null,
      usage: { input_tokens: 10, output_tokens: 5 },
    });
    up.script(
      streams([
        event({ reasoning_content: 'Hm.' }),
        event({ content: 'Look.' }),
        event({ tool_calls: calls }),
        event({}, 'tool_calls'),
        'data: [DONE]\n\n',
      ]),
    );
    const events = await stream({ model: 'thinker' });
    expect(blocksOf(events)).toEqual(content);
    expect(events.at(-2)).toMatchObject({
      delta: { stop_reason: 'tool_use', stop_sequence: null },
      usage: { input_tokens: 0, cache_read_input_tokens: null, output_tokens: 0 },
    });
  });

  it('says how long the provider keeps what was written into its cache, where the provider says it', async () => {
    const said = (more: Fields): ReturnType<typeof answers> =>
      answers({
        output: { message: { role: 'assistant', content: [{ text: 'Yes.' }] } },
        stopReason: 'end_turn',
        usage: { inputTokens: 5, outputTokens: 3, cacheWriteInputTokens: 30, ...more },
      });
    const details = [
      { ttl: '1h', inputTokens: 10 },
      { ttl: '5m', inputTokens: 20 },
    ];
    const usage = { input_tokens: 5, cache_creation_input_tokens: 30, cache_read_input_tokens: null, output_tokens: 3 };
    const { ask, up } = await scene(said({ cacheDetails: details }));
    expect((await ask({ model: 'mountain' })).body['usage']).toEqual({
      ...usage,
      cache_creation: { ephemeral_5m_input_tokens: 20, ephemeral_1h_input_tokens: 10 },
    });
    up.script(said({}));
    expect((await ask({ model: 'mountain' })).body['usage']).toEqual(usage);
  });

  it.each<[string, number, unknown]>([
    ['has the number of web searches', 2, { web_search_requests: 2 }],
    ['does not speak of web searches where there was none', 0, undefined],
  ])('%s', async (_, searches, wanted) => {
    const usage = { prompt_tokens: 10, completion_tokens: 5, server_tool_use: { web_search_requests: searches } };
    const { ask } = await scene(answers({ ...completion('Yes.'), usage }));
    expect((await ask({ model: 'routed' })).body['usage'].server_tool_use).toEqual(wanted);
  });

  it('calls a tool by the caller’s name, where the provider got a shorter one', async () => {
    const name = `mcp__plugin_a-plugin-of-a-long-name_a-server-of-a-long-name__read_a_file`;
    const asked = { model: 'open', tools: [{ name, input_schema: { type: 'object', properties: {} } }] };
    const { ask, stream, up } = await scene(answers(completion('Yes.')));
    const short = (await ask(asked)).sent['tools'][0].function.name as string;
    expect(short).not.toBe(name);
    const called = [{ ...calls[0], function: { name: short, arguments: '{}' } }];
    const block = { type: 'tool_use', id: 'c1', name, input: {} };
    up.script(
      answers(completion('', { content: null, tool_calls: called })),
      streams([event({ tool_calls: called }), event({}, 'tool_calls'), 'data: [DONE]\n\n']),
    );
    expect((await ask(asked)).body['content']).toEqual([block]);
    expect(blocksOf(await stream(asked))).toEqual([block]);
  });

  it.each([
    ['stop', 'end_turn'],
    ['length', 'max_tokens'],
    ['content_filter', 'refusal'],
  ])('that ended with %s has %s', async (native, reason) => {
    const body = completion('a') as Fields;
    body['choices'][0].finish_reason = native;
    const { ask } = await scene(answers(body));
    expect((await ask({ model: 'open' })).body['stop_reason']).toBe(reason);
  });

  it('that is a refusal of another API is its text, with the stop reason by which the SDKs tell it from an answer', async () => {
    const body = completion('', { content: null, refusal: 'I cannot.' });
    const { ask, stream } = await scene(
      answers(body),
      streams([event({ refusal: 'I ' }), event({ refusal: 'cannot.' }), event({}, 'stop'), 'data: [DONE]\n\n']),
    );
    const text = [{ type: 'text', text: 'I cannot.' }];
    expect((await ask({ model: 'open' })).body).toMatchObject({ content: text, stop_reason: 'refusal' });
    const events = await stream({ model: 'open' });
    expect([blocksOf(events), events.at(-2)?.['delta'].stop_reason]).toEqual([text, 'refusal']);
  });

  it('gives one event for each piece, also of one read', async () => {
    const { stream } = await scene(
      streams([`${event({ content: 'a' })}${event({ content: 'b' })}`, event({}, 'stop'), 'data: [DONE]\n\n'], { everyMs: 5 }),
    );
    expect((await stream({ model: 'open' })).map(({ type }) => type)).toEqual([
      'message_start',
      'content_block_start',
      'content_block_delta',
      'content_block_delta',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ]);
  });
});

describe('a failure', () => {
  it('before the first piece is an error status in the form of the API', async () => {
    const { ask } = await scene(answers({ error: { message: 'slow down' } }, { status: 429, headers: { 'retry-after': '7' } }));
    const { status, body, headers } = await ask({ model: 'open', stream: true });
    expect([status, body, headers.get('retry-after')]).toEqual([
      429,
      {
        type: 'error',
        error: { type: 'rate_limit_error', message: expect.stringContaining('slow down') },
        request_id: headers.get('x-request-id'),
      },
      '7',
    ]);
  });

  it.each([
    [401, 502, 'api_error'],
    [500, 502, 'api_error'],
    [503, 503, 'overloaded_error'],
    [529, 503, 'overloaded_error'],
    [400, 400, 'invalid_request_error'],
    [413, 413, 'request_too_large'],
  ])('with status %i is %i %s', async (upstream, status, type) => {
    const { ask } = await scene(answers({ type: 'error', error: { type: 'x', message: 'broken' } }, { status: upstream }));
    const reply = await ask({ model: 'claude' });
    expect([reply.status, reply.body['error'].type]).toEqual([status, type]);
  });

  it.each([
    [
      'open',
      { error: { message: 'Your input exceeds the context window.', type: 'invalid_request_error', code: 'context_length_exceeded' } },
      'prompt is too long: Your input exceeds the context window.',
    ],
    [
      'claude',
      { type: 'error', error: { type: 'invalid_request_error', message: 'prompt is too long: 212000 tokens > 200000 maximum' } },
      'prompt is too long: 212000 tokens > 200000 maximum',
    ],
    [
      'claude',
      {
        type: 'error',
        error: {
          type: 'invalid_request_error',
          message:
            'input length and `max_tokens` exceed context limit: 190000 + 21333 > 200000, decrease input length or `max_tokens` and try again',
        },
      },
      'input length and `max_tokens` exceed context limit: 190000 + 21333 > 200000, decrease input length or `max_tokens` and try again',
    ],
  ])('of a prompt that is too long has the message of the API that clients recognise: %s', async (model, body, message) => {
    const { ask } = await scene(answers(body, { status: 400 }));
    expect(await ask({ model })).toMatchObject({ status: 400, body: { error: { type: 'invalid_request_error', message } } });
  });

  it('that a provider names by a code has the code where the SDKs look for it', async () => {
    const error = {
      type: 'invalid_request_error',
      message: 'At least one image is too large.',
      details: { error_code: 'image_dimensions_too_large' },
    };
    const { ask, gateway } = await scene(answers({ type: 'error', error }, { status: 400 }));
    expect(await ask({ model: 'claude' })).toMatchObject({ status: 400, body: { error } });
    expect(gateway.records).toMatchObject([{ error: { code: 'image_dimensions_too_large' } }]);
  });

  it('that has a code of the gateway alone has no details', async () => {
    const { ask } = await scene(
      answers({ type: 'error', error: { type: 'invalid_request_error', message: 'max_tokens: Field required' } }, { status: 400 }),
    );
    for (const body of [{ model: 'claude' }, { model: 'none' }]) expect((await ask(body)).body['error']).not.toHaveProperty('details');
  });

  it('of an unknown model is not_found_error', async () => {
    const { ask } = await scene();
    expect(await ask({ model: 'none' })).toMatchObject({ status: 404, body: { type: 'error', error: { type: 'not_found_error' } } });
  });

  it('in the middle of a stream is its last event, without an event of a normal end', async () => {
    const { stream } = await scene(
      streams([
        ...streamOf([{ type: 'text', text: 'Hello' }]).slice(0, 3),
        ...wire({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }),
      ]),
    );
    const events = await stream({ model: 'claude' });
    expect(events.map(({ type }) => type)).toEqual(['message_start', 'content_block_start', 'content_block_delta', 'error']);
    expect(events.at(-1)).toEqual({
      type: 'error',
      error: { type: 'overloaded_error', message: expect.stringContaining('Overloaded') },
      request_id: expect.any(String),
    });
  });

  it('to a wrong method has the form of this API too', async () => {
    const { gateway } = await scene();
    const response = await gateway.get('/v1/messages');
    expect([response.status, await response.json()]).toMatchObject([405, { type: 'error', error: { type: 'invalid_request_error' } }]);
  });

  it.each(['/v1/messages/batches', '/messages/batches', '/v1/messages/count_tokens/more'])(
    'to an unknown operation has the form of this API too: %s',
    async (path) => {
      const { ask } = await scene();
      const { status, body, headers } = await ask({}, {}, path);
      expect([status, body]).toEqual([
        404,
        {
          type: 'error',
          error: { type: 'not_found_error', message: expect.stringContaining(path) },
          request_id: headers.get('request-id'),
        },
      ]);
    },
  );

  it('beside the paths of this API has the form of the chat completions API', async () => {
    const { url } = (await scene()).gateway;
    const response = await fetch(`${url}/v1/messages-of-others`, { method: 'POST' });
    expect([response.status, await response.json()]).toMatchObject([404, { error: { code: 'unknown_url' } }]);
  });

  it.each(['/v1/files', '/v1/skills?beta=true', '/v1/models'])('to a client of this API has its form at %s too', async (path) => {
    const { ask } = await scene();
    const { status, body, headers } = await ask({}, {}, path);
    expect([status, body]).toEqual([
      path === '/v1/models' ? 405 : 404,
      {
        type: 'error',
        error: { type: expect.stringMatching(/^(?:not_found|invalid_request)_error$/), message: expect.any(String) },
        request_id: headers.get('request-id'),
      },
    ]);
  });
});

/** The events for chunks that come in these groups. */
function encoded(...groups: Chunk[][]): Fields[] {
  const encoder = createEncoder({ id: 'r1', model: 'p/m', request: { tools: null } } as unknown as ReplyHead);
  const text = `${groups.map((chunks) => encoder.chunks(chunks)).join('')}${encoder.end()}`;
  return text
    .split('\n\n')
    .filter((block) => block !== '')
    .map((block) => JSON.parse(/\ndata: (.*)$/.exec(block)?.[1] ?? 'null') as Fields);
}

describe('pieces of several blocks in any order', () => {
  const start = (index: number): Chunk => ({ type: 'tool-start', choice: 0, index, id: `c${index}`, name: `f${index}` });
  const input = (index: number, text: string): Chunk => ({ type: 'tool-delta', choice: 0, index, arguments: text });
  const said = (text: string): Chunk => ({ type: 'text-delta', choice: 0, text });
  const thought = (text: string): Chunk => ({ type: 'reasoning-delta', choice: 0, text });
  const state = (more: object): Chunk => ({
    type: 'reasoning-detail',
    choice: 0,
    detail: { type: 'reasoning.text', provider: 'p', ...more },
  });
  const end: Chunk = { type: 'finish', choice: 0, reason: 'tool_calls', native: null };
  const use = (index: number, value: Fields): Fields => ({ type: 'tool_use', id: `c${index}`, name: `f${index}`, input: value });

  it('become blocks one after the other', () => {
    expect(
      blocksOf(
        encoded([start(0), start(1), input(0, '{"a"'), input(1, '{"b":'), said('between'), input(0, ':1}'), input(1, '2}'), start(2), end]),
      ),
    ).toEqual([use(0, { a: 1 }), use(1, { b: 2 }), { type: 'text', text: 'between' }, use(2, {})]);
  });

  it('are sent at once if the call before them is complete', () => {
    const encoder = createEncoder({ id: 'r1', model: 'p/m', request: { tools: null } } as unknown as ReplyHead);
    encoder.chunks([start(0), input(0, '{"a":"}"}')]);
    expect(encoder.chunks([said('now')])).toContain('"text":"now"');
  });

  it('wait for a call whose arguments are not complete yet', () => {
    const encoder = createEncoder({ id: 'r1', model: 'p/m', request: { tools: null } } as unknown as ReplyHead);
    encoder.chunks([start(0), input(0, '{"a":"}')]);
    expect(encoder.chunks([said('now')])).toBe('');
    expect(encoder.chunks([input(0, '"}')])).toMatch(/partial_json.*content_block_stop.*"text":"now"/s);
  });

  it('do not cause a call to be read before its brackets are closed', () => {
    const encoder = createEncoder({ id: 'r1', model: 'p/m', request: { tools: null } } as unknown as ReplyHead);
    const read = vi.spyOn(JSON, 'parse');
    onTestFinished(() => read.mockRestore());
    encoder.chunks([
      start(0),
      input(0, '{"a":{"b":1},"c":"\\\\\\"'),
      start(1),
      ...Array.from({ length: 100 }, () => [input(0, '}'), input(1, 'x')]).flat(),
    ]);
    expect(read).not.toHaveBeenCalled();
    expect(encoder.chunks([input(0, '"}')])).toContain('"index":1');
    expect(read).toHaveBeenCalledTimes(1);
  });

  it('are each held once, however many calls before them are not whole', () => {
    let looks = 0;
    const seen = (chunk: Chunk): Chunk => new Proxy(chunk, { get: (of, name) => (looks++, Reflect.get(of, name) as unknown) });
    const many = 300;
    const events = encoded(
      [...Array.from({ length: many }, (_, at) => start(at)), ...Array.from({ length: many }, (_, at) => input(at, '{"a":')), said('x')]
        .map(seen)
        .concat(end),
    );
    expect(events.filter(({ type }) => type === 'content_block_start')).toHaveLength(many + 1);
    expect(looks).toBeLessThan(30 * many);
  });

  it('end a cut call, and none of the later pieces is lost', () => {
    const events = encoded([start(0), input(0, '{"a":'), start(1), input(1, '{"b":'), start(2), input(2, '{"c":'), said('x'), end]);
    expect(events.filter(({ type }) => type === 'content_block_start').map(({ content_block: block }) => block.type)).toEqual([
      'tool_use',
      'tool_use',
      'tool_use',
      'text',
    ]);
    expect(events.filter(({ delta }) => delta?.type === 'input_json_delta').map(({ index, delta }) => [index, delta.partial_json])).toEqual(
      [
        [0, '{"a":'],
        [1, '{"b":'],
        [2, '{"c":'],
      ],
    );
  });

  it('give a thought one signature, with all of its details', () => {
    const [block] = blocksOf(
      encoded([
        thought('a'),
        state({ text: 'a', index: 0 }),
        thought('b'),
        state({ text: 'b', index: 0 }),
        state({ text: '', signature: 'S', index: 0 }),
        said('x'),
        end,
      ]),
    );
    expect(block).toEqual({ type: 'thinking', thinking: 'ab', signature: expect.any(String) });
    expect(opened(block!['signature'])).toEqual({ type: 'reasoning.text', provider: 'p', index: 0, signature: 'S' });
  });

  it('become a block for a state without a thought before it, at any place', () => {
    const blocks = blocksOf(
      encoded([
        thought('a'),
        state({ signature: 'S' }),
        state({ type: 'reasoning.encrypted', data: 'D' }),
        start(0),
        input(0, '{}'),
        state({ type: 'reasoning.encrypted', data: 'E' }),
        end,
      ]),
    );
    expect(blocks.map(({ type }) => type)).toEqual(['thinking', 'redacted_thinking', 'tool_use', 'redacted_thinking']);
    expect([opened(blocks[1]!['data'])['data'], opened(blocks[3]!['data'])['data']]).toEqual(['D', 'E']);
  });

  it('have one answer where the provider gives several', () => {
    expect(blocksOf(encoded([said('Heads'), { type: 'text-delta', choice: 1, text: 'Tails' }, said('.'), end]))).toEqual([
      { type: 'text', text: 'Heads.' },
    ]);
  });

  it('open no block for an empty text', () => {
    expect(blocksOf(encoded([thought(''), said(''), said('x'), { type: 'finish', choice: 0, reason: 'completed', native: null }]))).toEqual(
      [{ type: 'text', text: 'x' }],
    );
  });

  it('are a complete stream where the answer is empty', () => {
    expect(encoded([end]).map(({ type }) => type)).toEqual(['message_start', 'message_delta', 'message_stop']);
  });

  it('end with one error event after a failure', () => {
    const encoder = createEncoder({ id: 'r1', model: 'p/m', request: { tools: null } } as unknown as ReplyHead);
    encoder.chunks([said('x')]);
    expect(encoder.error(new GatewayError('upstream_timeout', 'Too late.'))).toBe(
      'event: error\ndata: {"type":"error","error":{"type":"timeout_error","message":"Too late."},"request_id":"r1"}\n\n',
    );
  });
});
