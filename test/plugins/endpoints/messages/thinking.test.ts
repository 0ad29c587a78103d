/** Thinking through the Messages API: its settings, and how its state goes back over turns. */
import { describe, expect, it } from 'vitest';
import { answers, completion, event, said, streams } from '../../../_kit/upstream.ts';
import { blocksOf, type Fields, message, opened, scene } from './scene.ts';

const yes = answers(completion('Yes.'));
const adaptive = (effort?: string): Fields => ({
  thinking: { type: 'adaptive' },
  ...(effort !== undefined && { output_config: { effort } }),
});
const enabled = (budget: number, more: Fields = {}): Fields => ({ thinking: { type: 'enabled', budget_tokens: budget, ...more } });
const disabled = { thinking: { type: 'disabled' } };
const between = { thinking: { type: 'between_tools' } };

describe('thinking', () => {
  it.each<[string, string, Fields, Fields]>([
    [
      'a budget',
      'claude',
      { max_tokens: 8000, ...enabled(2048) },
      { max_tokens: 8000, thinking: { type: 'enabled', budget_tokens: 2048 } },
    ],
    [
      'a budget with a field of this API',
      'claude',
      { max_tokens: 8000, ...enabled(2048, { display: 'omitted' }) },
      { thinking: { type: 'enabled', budget_tokens: 2048, display: 'omitted' } },
    ],
    [
      'a budget below the least',
      'claude',
      { max_tokens: 8000, ...enabled(500) },
      { max_tokens: 8000, thinking: { type: 'enabled', budget_tokens: 1024 } },
    ],
    [
      'a budget that fills the limit',
      'claude',
      { max_tokens: 3000, ...enabled(3000) },
      { max_tokens: 6000, thinking: { type: 'enabled', budget_tokens: 3000 } },
    ],
    ['an effort', 'newest', adaptive('low'), { thinking: { type: 'adaptive' }, output_config: { effort: 'low' } }],
    ['no effort', 'newest', adaptive(), { thinking: { type: 'adaptive' }, output_config: { effort: 'high' } }],
    ['the most effort', 'newest', adaptive('max'), { thinking: { type: 'adaptive' }, output_config: { effort: 'max' } }],
    [
      'an effort where the model takes budgets',
      'claude',
      { max_tokens: 20_000, ...adaptive('low') },
      { max_tokens: 20_000, thinking: { type: 'enabled', budget_tokens: 2048 } },
    ],
    [
      'the most effort where the model takes budgets',
      'claude',
      { max_tokens: 60_000, ...adaptive('max') },
      { thinking: { type: 'enabled', budget_tokens: 32_768 } },
    ],
    [
      'an effort and whether its text is shown',
      'newest',
      { thinking: { type: 'adaptive', display: 'omitted' } },
      { thinking: { type: 'adaptive', display: 'omitted' }, output_config: { effort: 'high' } },
    ],
    ['an effort without thinking', 'newest', { output_config: { effort: 'low' } }, { output_config: { effort: 'low' } }],
    ['none', 'newest', disabled, { thinking: { type: 'disabled' } }],
    [
      'thoughts between calls alone',
      'newest',
      { ...between, output_config: { effort: 'low' } },
      { ...between, output_config: { effort: 'low' } },
    ],
    [
      'a budget where the model takes efforts',
      'newest',
      { max_tokens: 9000, ...enabled(4000) },
      { thinking: { type: 'adaptive', display: 'summarized' }, output_config: { effort: 'medium' } },
    ],
  ])('with %s goes to a provider of the same API', async (_, model, body, wanted) => {
    const { ask } = await scene();
    const { sent } = await ask({ model, ...body });
    expect([sent['thinking'], sent['output_config'], wanted['max_tokens'] && sent['max_tokens']]).toEqual([
      wanted['thinking'],
      wanted['output_config'],
      wanted['max_tokens'],
    ]);
  });

  it.each<[string, Fields, Fields]>([
    ['an effort', adaptive('medium'), { reasoning_effort: 'medium' }],
    ['none', disabled, { reasoning_effort: 'minimal' }],
  ])('with %s goes to a provider of another API', async (_, body, wanted) => {
    const { ask } = await scene(yes);
    expect((await ask({ model: 'thinker', ...body })).sent).toMatchObject(wanted);
  });

  it('only between calls is left out at a provider of another API, and the reply names it', async () => {
    const { ask } = await scene(yes);
    const { status, headers, sent } = await ask({ model: 'thinker', ...between });
    expect([status, headers.get('x-adjusted'), sent['thinking']]).toEqual([200, 'thinking: dropped', undefined]);
  });

  it('is off by default at a provider of the same API, and has the effort of the mapping at others', async () => {
    const { ask } = await scene(answers(message([{ type: 'text', text: 'Yes.' }])), yes);
    const { sent } = await ask({ model: 'claude', temperature: 0.3 });
    expect([sent['thinking'], sent['temperature'], sent['max_tokens']]).toEqual([undefined, 0.3, 1000]);
    expect((await ask({ model: 'thinker' })).sent['reasoning_effort']).toBe('low');
  });

  it('that is disabled is dropped for a model that does not reason', async () => {
    const { ask, up } = await scene(yes, answers(message([{ type: 'text', text: 'Yes.' }])));
    expect((await ask({ model: 'open', ...disabled })).sent).not.toHaveProperty('reasoning_effort');
    expect((await ask({ model: 'dull', ...disabled })).sent).not.toHaveProperty('thinking');
    expect(up.asked).toHaveLength(2);
  });

  it.each([
    ['an effort', adaptive('low'), 'output_config.effort'],
    ['no effort', adaptive(), 'thinking'],
    ['a budget', enabled(2000), 'thinking.budget_tokens'],
  ])('with %s is refused for a model that does not reason, and the error names the field', async (_, body, field) => {
    const { ask, up } = await scene();
    const { status, body: refusal } = await ask({ model: 'dull', ...body });
    expect([status, refusal['error'].message, up.asked.length]).toEqual([400, expect.stringContaining(`(sent as "${field}")`), 0]);
  });
});

/** A request that goes on after an answer of these blocks. */
const continuing = (content: unknown): Fields => ({
  model: 'routed',
  messages: [
    { role: 'user', content: 'Hi' },
    { role: 'assistant', content },
    { role: 'user', content: 'And?' },
  ],
});

describe('the state of a thought', () => {
  const blocks = [
    { type: 'thinking', thinking: 'I look.', signature: 'SIG1==' },
    { type: 'redacted_thinking', data: 'SEALED' },
    { type: 'text', text: 'Let me look.' },
    { type: 'thinking', thinking: '', signature: 'SIG2' },
    { type: 'tool_use', id: 't1', name: 'weather', input: { city: 'Rome' } },
  ];
  const turn = (content: unknown): Fields[] => [
    { role: 'user', content: 'Weather?' },
    { role: 'assistant', content },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't1', content: '20' }] },
  ];
  const thinking = enabled(2048);

  it('goes back to its issuer byte for byte and at its place', async () => {
    const { ask } = await scene(answers(message(blocks, { stop_reason: 'tool_use' })));
    const { body } = await ask({ model: 'claude', ...thinking });
    const { sent, headers } = await ask({ model: 'claude', max_tokens: 9000, ...thinking, messages: turn(body['content']) });
    expect(sent['messages'][1].content).toEqual(blocks);
    expect(headers.get('x-adjusted')).toBeNull();
  });

  it('goes back at its place between blocks without text', async () => {
    const said = [
      { type: 'thinking', thinking: 'a', signature: 'S1' },
      { type: 'server_tool_use', id: 's', name: 'x', input: {} },
      { type: 'thinking', thinking: 'b', signature: 'S2' },
      { type: 'x_tool_result', tool_use_id: 's', content: [] },
      { type: 'thinking', thinking: 'c', signature: 'S3' },
      { type: 'text', text: 'Yes.' },
    ];
    const { ask } = await scene(answers(message(said)));
    const { body } = await ask({ model: 'claude', ...thinking });
    const { sent } = await ask({
      model: 'claude',
      max_tokens: 9000,
      ...thinking,
      messages: [...turn(body['content']).slice(0, 2), { role: 'user', content: 'And?' }],
    });
    expect(sent['messages'][1].content).toEqual(said);
  });

  it.each([
    ['another model of its provider', 'newest'],
    ['another provider', 'thinker'],
  ])('is left out for %s, and the reply names it', async (_, model) => {
    const { ask, up } = await scene(answers(message(blocks, { stop_reason: 'tool_use' })));
    const { body } = await ask({ model: 'claude', ...thinking });
    if (model === 'thinker') up.script(yes);
    const { asked, headers } = await ask({ model, messages: turn(body['content']) });
    expect(asked.text).not.toMatch(/SIG|SEALED|gw1_/);
    expect(headers.get('x-adjusted')).toContain('messages.reasoning: left out');
  });

  it.each<[string, Fields]>([
    ['a signature', { type: 'thinking', thinking: 'Hm.', signature: 'EqQBstrange' }],
    ['sealed data', { type: 'redacted_thinking', data: 'EqQBstrange' }],
  ])('of an unknown issuer is left out, and the reply names it: %s', async (_, block) => {
    const { ask } = await scene();
    const { sent, headers, asked } = await ask({ model: 'claude', messages: turn([block, ...blocks.slice(4)]) });
    expect(asked.text).not.toContain('strange');
    expect(sent['messages'][1].content).toEqual(blocks.slice(4));
    expect(headers.get('x-adjusted')).toContain('messages.reasoning: left out');
  });

  it('is a marker of the gateway where the provider gave none, and the text goes back', async () => {
    const { ask, up } = await scene(
      answers(
        completion('', {
          content: null,
          reasoning_content: 'Hm.',
          tool_calls: [{ id: 't1', type: 'function', function: { name: 'weather', arguments: '{}' } }],
        }),
      ),
    );
    const { body } = await ask({ model: 'thinker' });
    expect(opened(body['content'][0].signature)).toEqual({ type: 'reasoning.text' });
    up.script(answers(message([{ type: 'text', text: 'Yes.' }])), yes);
    const { headers } = await ask({ model: 'claude', messages: turn(body['content']) });
    expect(headers.get('x-adjusted')).toBeNull();
    await ask({ model: 'thinker', messages: turn(body['content']) });
    expect(up.asked.at(-1)?.json['messages'][1]).toMatchObject({ role: 'assistant' });
  });

  it.each([false, true])('goes back as two details where a provider gave a summary and its state (streamed: %s)', async (isStream) => {
    const details = [
      { type: 'reasoning.summary', summary: 'Hm.', index: 0 },
      { type: 'reasoning.encrypted', data: 'SEALED', id: 'rs_1', index: 0 },
    ];
    const { ask, stream, up } = await scene(
      isStream
        ? streams([event({ reasoning: 'Hm.', reasoning_details: details }), ...said('Yes.')])
        : answers(completion('Yes.', { reasoning: 'Hm.', reasoning_details: details })),
    );
    const content = isStream ? blocksOf(await stream({ model: 'routed' })) : (await ask({ model: 'routed' })).body['content'];
    up.script(answers(completion('Yes.')));
    const { sent } = await ask(continuing(content));
    expect(sent['messages'][1].reasoning_details).toEqual(details);
  });

  it('goes back as the two thoughts of a provider that numbers them, each from its pieces', async () => {
    const piece = (index: number, text: string, more: object = {}): string =>
      event({ reasoning: text, reasoning_details: [{ type: 'reasoning.text', text, index, ...more }] });
    const pieces = [piece(0, 'On'), piece(0, 'e.'), piece(1, 'Tw'), piece(1, 'o.', { signature: 'sig' })];
    const { ask, stream, up } = await scene(streams([...pieces, ...said('Yes.')]));
    const content = blocksOf(await stream({ model: 'routed' }));
    up.script(answers(completion('Yes.')));
    const { sent } = await ask(continuing(content));
    expect(sent['messages'][1].reasoning_details).toEqual([
      { type: 'reasoning.text', text: 'One.', index: 0 },
      { type: 'reasoning.text', text: 'Two.', index: 1, signature: 'sig' },
    ]);
  });

  it('goes back through chat completions too', async () => {
    const { ask, gateway, up } = await scene(answers(message(blocks, { stop_reason: 'tool_use' })));
    const { body } = await ask({ model: 'claude', ...thinking });
    const [first, second] = body['content'] as Fields[];
    await gateway.chat({
      model: 'claude',
      reasoning: { max_tokens: 2048 },
      messages: [
        { role: 'user', content: 'Weather?' },
        {
          role: 'assistant',
          content: 'Let me look.',
          reasoning_details: [
            { type: 'reasoning.text', text: first!['thinking'], signature: first!['signature'] },
            { type: 'reasoning.encrypted', data: second!['data'] },
          ],
        },
        { role: 'user', content: 'Go on.' },
      ],
    });
    expect(up.asked.at(-1)?.json['messages'][1].content).toEqual([...blocks.slice(0, 2), blocks[2]]);
  });
});

it('goes back to Bedrock between the same texts and calls', async () => {
  const thought = (text: string): Fields => ({ reasoningContent: { reasoningText: { text, signature: `of ${text}` } } });
  const content = [
    thought('One.'),
    { text: 'Let me see.' },
    thought('Two.'),
    { text: 'It is mild.' },
    { toolUse: { toolUseId: 'c1', name: 'weather', input: {} } },
  ];
  const { ask, up } = await scene(answers({ output: { message: { role: 'assistant', content } }, stopReason: 'tool_use' }));
  const asked = { model: 'mountain', tools: [{ name: 'weather', input_schema: { type: 'object' } }], max_tokens: 8000, ...enabled(2048) };
  const { body } = await ask(asked);
  await ask({
    ...asked,
    messages: [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: body['content'] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: '20' }] },
    ],
  });
  expect(up.asked[1]!.json['messages'][1].content).toEqual(content);
});

describe('state that a provider gives after the text', () => {
  const begun = (...parts: Fields[]): Fields => ({ candidates: [{ index: 0, content: { role: 'model', parts } }] });
  const call = { functionCall: { id: 'f1', name: 'weather', args: {} } };
  const ended = (...parts: Fields[]): Fields => ({ candidates: [{ index: 0, content: { role: 'model', parts }, finishReason: 'STOP' }] });
  const late = [{ text: 'Hm.', thought: true }, { text: 'Yes.' }, { text: '', thoughtSignature: 'LATE' }];
  const pieces = (...bodies: Fields[]): string[] => bodies.map((body) => `data: ${JSON.stringify(body)}\n\n`);
  const claudeCode = { 'x-app': 'cli' };

  it('is before the text in a plain answer, and goes back', async () => {
    const { ask, up } = await scene(answers(ended(...late)));
    const { body } = await ask({ model: 'late' });
    expect(body['content'].map(({ type }: Fields) => type)).toEqual(['thinking', 'redacted_thinking', 'text']);
    await ask({
      model: 'late',
      messages: [
        { role: 'user', content: 'Hi' },
        { role: 'assistant', content: body['content'] },
        { role: 'user', content: 'And?' },
      ],
    });
    expect(up.asked.at(-1)!.text).toContain('LATE');
  });

  it.each<[string, Fields, string[]]>([
    ['a call', call, ['text', 'redacted_thinking', 'tool_use']],
    ['more text', { text: ' Sure.' }, ['text', 'redacted_thinking', 'text']],
  ])('stays at its place in a plain answer where %s follows', async (_, next, kinds) => {
    const { ask } = await scene(answers(ended({ text: 'Yes.', thoughtSignature: 'LATE' }, next)));
    const { body } = await ask({ model: 'late', tools: [{ name: 'weather', input_schema: { type: 'object' } }] });
    expect(body['content'].map(({ type }: Fields) => type)).toEqual(kinds);
  });

  it.each<[string, Fields[]]>([
    ['ends', []],
    ['goes on with a call', [call]],
  ])('may be any number of signatures where the answer %s', async (_, next) => {
    const parts = [{ text: 'Yes.' }, ...Array.from({ length: 150_000 }, () => ({ text: '', thoughtSignature: 'TA' })), ...next];
    const { ask } = await scene(answers({ candidates: [{ index: 0, content: { role: 'model', parts }, finishReason: 'STOP' }] }));
    const { status, body } = await ask({ model: 'late', tools: [{ name: 'weather', input_schema: { type: 'object' } }] });
    expect([status, body['content']?.length]).toEqual([200, 150_001 + next.length]);
  });

  it('is the last block of a stream', async () => {
    const { stream } = await scene(streams(pieces(begun(late[0]!, late[1]!), ended(late[2]!))));
    expect(blocksOf(await stream({ model: 'late' })).map(({ type }) => type)).toEqual(['thinking', 'text', 'redacted_thinking']);
  });

  it('is left out for Claude Code, which reads the last block as its result', async () => {
    const { stream } = await scene(streams(pieces(begun(late[0]!, late[1]!), ended(late[2]!))));
    const events = await stream({ model: 'late' }, claudeCode);
    expect(blocksOf(events).map(({ type }) => type)).toEqual(['thinking', 'text']);
    expect(events.slice(-2).map(({ type }) => type)).toEqual(['message_delta', 'message_stop']);
  });

  it('goes to Claude Code too where a call follows', async () => {
    const { stream } = await scene(streams(pieces(begun({ text: 'Yes.', thoughtSignature: 'LATE' }), ended(call))));
    expect(
      blocksOf(await stream({ model: 'late', tools: [{ name: 'weather', input_schema: { type: 'object' } }] }, claudeCode)).map(
        ({ type }) => type,
      ),
    ).toEqual(['text', 'redacted_thinking', 'tool_use']);
  });

  it('goes to Claude Code too after a call', async () => {
    const { stream } = await scene(streams(pieces(begun({ text: 'Yes.' }), ended({ ...call, thoughtSignature: 'LATE' }))));
    expect(
      blocksOf(await stream({ model: 'late', tools: [{ name: 'weather', input_schema: { type: 'object' } }] }, claudeCode)).map(
        ({ type }) => type,
      ),
    ).toEqual(['text', 'tool_use', 'redacted_thinking']);
  });
});
