import { describe, expect, it } from 'vitest';
import type { ChatRequest, Message } from '../../../../core/chat.ts';
import { type Body, bodyOf, call, changesOf, llama, nova, sonnet, tide, user } from './encoded.ts';

const mistral = 'mistral.mistral-large-2407-v1:0';
const palmyra = 'us.writer.palmyra-x5-v1:0';
const nemotron = 'nvidia.nemotron-nano-9b-v2';

describe('tool turns', () => {
  const turns: Message[] = [
    user('Tide and time?'),
    { role: 'assistant', content: 'Both.', tool_calls: [call('a', 'tide', '{"at":"noon"}'), call('b', 'now', '')] },
    { role: 'tool', tool_call_id: 'b', content: '12:00' },
    {
      role: 'tool',
      tool_call_id: 'a',
      content: [
        { type: 'text', text: 'High' },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
      ],
    },
    user('And?'),
  ];

  it('have all results first, in the one turn after the calls', () => {
    expect(bodyOf({ messages: turns, tools: [tide] })['messages'].slice(1)).toEqual([
      {
        role: 'assistant',
        content: [
          { text: 'Both.' },
          { toolUse: { toolUseId: 'a', name: 'tide', input: { at: 'noon' } } },
          { toolUse: { toolUseId: 'b', name: 'now', input: {} } },
        ],
      },
      {
        role: 'user',
        content: [
          { toolResult: { toolUseId: 'b', content: [{ text: '12:00' }] } },
          { toolResult: { toolUseId: 'a', content: [{ text: 'High' }, { image: { format: 'png', source: { bytes: 'AAAA' } } }] } },
          { text: 'And?' },
        ],
      },
    ]);
  });

  it.each([llama, mistral])('are separate from texts for %s, which takes no message with both', (externalId) => {
    const turns: Message[] = [
      user('Tide?'),
      { role: 'assistant', content: 'I look.', tool_calls: [call('D681PevKs', 'tide')] },
      { role: 'tool', tool_call_id: 'D681PevKs', content: 'High' },
      user('And?'),
    ];
    const said = { messages: turns, tools: [tide] };
    expect(bodyOf(said, externalId)['messages']).toEqual([
      { role: 'user', content: [{ text: 'Tide?' }] },
      { role: 'assistant', content: [{ text: 'I look.' }] },
      { role: 'user', content: [{ text: '…' }] },
      { role: 'assistant', content: [{ toolUse: { toolUseId: 'D681PevKs', name: 'tide', input: {} } }] },
      { role: 'user', content: [{ toolResult: { toolUseId: 'D681PevKs', content: [{ text: 'High' }] } }] },
      { role: 'assistant', content: [{ text: '…' }] },
      { role: 'user', content: [{ text: 'And?' }] },
    ]);
    expect(changesOf(said, externalId)).toEqual(['messages: texts set apart from tool calls and results']);
  });

  it.each([sonnet, 'mistral.devstral-2-123b'])('are beside texts for %s, which takes both in one message', (externalId) => {
    const turns: Message[] = [
      user('Tide?'),
      { role: 'assistant', content: 'I look.', tool_calls: [call('D681PevKs', 'tide')] },
      { role: 'tool', tool_call_id: 'D681PevKs', content: 'High' },
      user('And?'),
    ];
    expect(bodyOf({ messages: turns, tools: [tide] }, externalId)['messages'].map(({ content }: Body) => content.length as number)).toEqual(
      [1, 2, 2],
    );
  });

  it.each<[string, Partial<ChatRequest>]>([
    ['there are no tools', {}],
    ['no tool may be called', { tools: [tide], toolChoice: 'none' }],
  ])('are sent as text where %s', (_, said) => {
    const body = bodyOf({ messages: turns, ...said });
    expect(body).not.toHaveProperty('toolConfig');
    expect(body['messages'].slice(1)).toEqual([
      {
        role: 'assistant',
        content: [{ text: 'Both.' }, { text: 'Called the tool tide with {"at":"noon"}' }, { text: 'Called the tool now with {}' }],
      },
      {
        role: 'user',
        content: [
          { text: 'The tool now answered: 12:00' },
          { text: 'The tool tide answered: High' },
          { image: { format: 'png', source: { bytes: 'AAAA' } } },
          { text: 'And?' },
        ],
      },
    ]);
    expect(changesOf({ messages: turns, ...said })).toEqual(['messages: tool turns sent as text']);
  });

  it('have the broken arguments that the model wrote', () => {
    const messages: Message[] = [
      user('?'),
      { role: 'assistant', content: null, tool_calls: [call('a', 'tide', '{"at":')] },
      { role: 'tool', tool_call_id: 'a', content: 'No', is_error: true },
    ];
    const [, turn, results] = bodyOf({ messages, tools: [tide] })['messages'];
    expect(turn.content).toEqual([{ toolUse: { toolUseId: 'a', name: 'tide', input: { arguments: '{"at":' } } }]);
    expect(results.content).toEqual([{ toolResult: { toolUseId: 'a', content: [{ text: 'No' }], status: 'error' } }]);
    expect(changesOf({ messages, tools: [tide] })).toEqual(['messages.tool_calls.function.arguments: wrapped in an object']);
  });

  it.each([
    ['Claude', sonnet, { status: 'error' }, []],
    ['Nova', nova, { status: 'error' }, []],
    ['Writer', palmyra, {}, ['messages.is_error: dropped']],
    ['Llama', llama, {}, ['messages.is_error: dropped']],
  ])('mark a failed call where the model supports it: %s', (_, externalId, status, changes) => {
    const messages: Message[] = [
      user('?'),
      { role: 'assistant', content: null, tool_calls: [call('a', 'tide')] },
      { role: 'tool', tool_call_id: 'a', content: 'No such port', is_error: true },
    ];
    const said = { messages, tools: [tide] };
    expect(bodyOf(said, externalId)['messages'][2].content).toEqual([
      { toolResult: { toolUseId: 'a', content: [{ text: 'No such port' }], ...status } },
    ]);
    expect(changesOf(said, externalId)).toEqual(changes);
  });

  it.each([
    ['Claude', sonnet, []],
    ['Nemotron', nemotron, [{ text: '…' }]],
  ])('have a result without content in the form of %s', (_, externalId, content) => {
    const empty = (id: string, said: string): Message => ({ role: 'tool', tool_call_id: id, content: said });
    const said = {
      messages: [
        user('?'),
        { role: 'assistant' as const, content: null, tool_calls: [call('a', 'tide'), call('b', 'tide')] },
        empty('a', ''),
        empty('b', ' '),
      ],
      tools: [tide],
    };
    expect(bodyOf(said, externalId)['messages'][2].content).toEqual(
      ['a', 'b'].map((toolUseId) => ({ toolResult: { toolUseId, content } })),
    );
    expect(changesOf(said, externalId)).toEqual(content.length === 0 ? [] : ['messages: an empty tool result filled in']);
  });

  it('have an ellipsis in the empty result of a failed call, also for Claude', () => {
    const messages: Message[] = [
      user('?'),
      { role: 'assistant', content: null, tool_calls: [call('a', 'tide')] },
      { role: 'tool', tool_call_id: 'a', content: '', is_error: true },
    ];
    const said = { messages, tools: [tide] };
    expect(bodyOf(said, sonnet)['messages'][2].content).toEqual([
      { toolResult: { toolUseId: 'a', content: [{ text: '…' }], status: 'error' } },
    ]);
    expect(changesOf(said, sonnet)).toEqual(['messages: an empty tool result filled in']);
  });

  it.each(['us.openai.gpt-5.6-sol-v1:0', 'openai.gpt-5.5-v1:0'])(
    'have the images of results behind all results for %s, which takes none inside',
    (externalId) => {
      const seen: Message = {
        role: 'tool',
        tool_call_id: 'b',
        content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,BBBB' } }],
      };
      const said = { messages: [...turns.slice(0, 2), seen, ...turns.slice(3)], tools: [tide] };
      expect(bodyOf(said, externalId)['messages'][2].content).toEqual([
        { toolResult: { toolUseId: 'b', content: [{ text: 'See the image after the results.' }] } },
        { toolResult: { toolUseId: 'a', content: [{ text: 'High' }] } },
        { text: 'The tool call b gave this:' },
        { image: { format: 'png', source: { bytes: 'BBBB' } } },
        { text: 'The tool call a gave this:' },
        { image: { format: 'png', source: { bytes: 'AAAA' } } },
        { text: 'And?' },
      ]);
      expect(changesOf(said, externalId)).toEqual(['messages: images of tool results put behind the results']);
      const plain = ['b', 'a'].map((id): Message => ({ role: 'tool', tool_call_id: id, content: 'High' }));
      expect(changesOf({ ...said, messages: [...turns.slice(0, 2), ...plain] }, externalId)).toEqual([]);
    },
  );

  it('may have any number of images in a result for a model that takes none inside', () => {
    const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } };
    const result: Message = { role: 'tool', tool_call_id: 'b', content: Array.from({ length: 150_000 }, () => image) };
    const said = { messages: [...turns.slice(0, 2), result, { ...result, tool_call_id: 'a', content: 'High' }], tools: [tide] };
    expect(bodyOf(said, 'us.openai.gpt-5.6-sol-v1:0')['messages'][2].content).toHaveLength(150_003);
  });

  it.each([
    ['every model', nova, ['tooluse_Ab-1', 'functions.tide:0', 'x'.repeat(70)], /^[\w-]{1,64}$/],
    ['Mistral', mistral, ['tooluse_Ab-1', 'tooluse_Ab-2', 'D681PevKs'], /^[a-zA-Z0-9]{9}$/],
  ])('have ids that %s takes, distinct, the same for a call and its result', (_, externalId, ids, form) => {
    const messages: Message[] = [
      user('?'),
      { role: 'assistant', content: null, tool_calls: ids.map((id) => call(id, 'tide')) },
      ...ids.map((id): Message => ({ role: 'tool', tool_call_id: id, content: 'x' })),
    ];
    const [, turn, results] = bodyOf({ messages, tools: [tide] }, externalId)['messages'];
    const sent = turn.content.map((block: Body) => block['toolUse'].toolUseId) as string[];
    for (const id of sent) expect(id).toMatch(form);
    expect(new Set(sent).size).toBe(3);
    expect(results.content.map((block: Body) => block['toolResult'].toolUseId)).toEqual(sent);
  });

  it('have one result for each call, with all that a client sent for it', () => {
    const answer = (content: string): Message => ({ role: 'tool', tool_call_id: 'call_0', content });
    const messages: Message[] = [
      user('?'),
      { role: 'assistant', content: null, tool_calls: [call('call_0', 'tide')] },
      answer('Wait.'),
      answer('High'),
    ];
    expect(bodyOf({ messages, tools: [tide] })['messages'][2].content).toEqual([
      { toolResult: { toolUseId: 'call_0', content: [{ text: 'Wait.' }, { text: 'High' }] } },
    ]);
  });

  it.each([
    ['every model', nova],
    ['Mistral', mistral],
  ])('have each id once for %s, the same for a call and its result, where two calls of the history have one id', (_, externalId) => {
    const answer = (content: string): Message => ({ role: 'tool', tool_call_id: 'call_0', content });
    const messages: Message[] = [
      user('?'),
      { role: 'assistant', content: null, tool_calls: [call('call_0', 'tide'), call('call_0', 'now')] },
      answer('High'),
      answer('12:00'),
    ];
    const [, turn, results] = bodyOf({ messages, tools: [tide] }, externalId)['messages'];
    const sent = turn.content.map((block: Body) => block['toolUse'].toolUseId) as string[];
    expect(new Set(sent).size).toBe(2);
    expect(results.content.map((block: Body) => block['toolResult'].toolUseId)).toEqual(sent);
  });
});
