import { expect, it } from 'vitest';
import type { Chunk } from '../../../../core/chat.ts';
import type { Dialect } from '../../../../core/wire/dialect.ts';
import { Reply } from '../../../../core/pipeline/reply.ts';
import plugin from '../../../../plugins/dialects/openai-chat/index.ts';
import { requestOf, targetOf } from '../../../contract/dialect.ts';

const deepseek = plugin.dialects?.find(({ name }) => name === 'deepseek') as Dialect;
const target = targetOf('deepseek');

const call = (input: string, index?: number): object => ({
  ...(index !== undefined && { index }),
  id: 'call_0',
  type: 'function',
  function: { name: 'search', arguments: input },
});

function callsIn(chunks: readonly Chunk[]): readonly { readonly id: string; readonly name: string; readonly arguments: string }[] {
  const reply = new Reply();
  for (const chunk of chunks) reply.add(chunk);
  return reply.choice(0).toolCalls;
}

const streamed = (...pieces: readonly object[]): readonly Chunk[] => {
  const decoder = deepseek.decoder(target);
  const events = [...pieces.map((piece) => ({ delta: { tool_calls: [piece] } })), { delta: {}, finish_reason: 'tool_calls' }];
  return events.flatMap((choice) => decoder.push({ data: JSON.stringify({ id: 'x', choices: [{ index: 0, ...choice }] }) }));
};

it.each<[string, readonly Chunk[]]>([
  [
    'a stream',
    streamed(call('', 0), { index: 0, id: 'call_0', function: { arguments: '{"q":1}' } }, call('', 1), {
      index: 1,
      id: 'call_0',
      function: { arguments: '{"q":2}' },
    }),
  ],
  [
    'a stream whose pieces alternate',
    streamed(
      call('', 0),
      call('', 1),
      { index: 0, id: 'call_0', function: { arguments: '{"q":1}' } },
      { index: 1, id: 'call_0', function: { arguments: '{"q":2}' } },
    ),
  ],
  [
    'a whole answer',
    deepseek.decodeBody(
      { id: 'x', choices: [{ index: 0, message: { tool_calls: [call('{"q":1}'), call('{"q":2}')] }, finish_reason: 'tool_calls' }] },
      target,
    ),
  ],
])('parallel calls with the same id of a server are two calls with two ids, in %s', (_, chunks) => {
  const calls = callsIn(chunks);
  expect(calls.map(({ arguments: input }) => input)).toEqual(['{"q":1}', '{"q":2}']);
  expect(new Set(calls.map(({ id }) => id)).size).toBe(2);
});

it('a call whose pieces all have its id and its name is one call', () => {
  expect(callsIn(streamed(call('{"q"', 0), call(':1}', 0)))).toMatchObject([{ id: 'call_0', arguments: '{"q":1}' }]);
});

const nameless = (input: string): object => ({ function: { arguments: input } });
const named = (name: string): object => ({ function: { name, arguments: '' } });

it.each<[string, object[], string[]]>([
  [
    'pieces without an index and an id belong to the newest call',
    [{ id: 'a', ...named('search') }, nameless('{"q"'), nameless(':1}'), { id: 'b', ...named('read') }, nameless('{"p":2}')],
    ['a search {"q":1}', 'b read {"p":2}'],
  ],
  ['a name may come after the id', [{ id: 'a', ...nameless('{"q"') }, named('search'), nameless(':1}')], ['a search {"q":1}']],
  [
    'an id may come before the name, and other pieces may have the id only',
    [
      { index: 0, ...nameless('{"q"') },
      { index: 0, id: 'a' },
      { index: 1, id: 'b', ...named('read') },
      { id: 'a', ...nameless(':1}') },
      { index: 0, ...named('search') },
    ],
    ['b read {}', 'a search {"q":1}'],
  ],
])('%s', (_, pieces, wanted) => {
  expect(callsIn(streamed(...pieces)).map(({ id, name, arguments: input }) => `${id} ${name} ${input}`)).toEqual(wanted);
});

it('two names without an index and an id begin two calls', () => {
  const calls = callsIn(streamed(named('search'), nameless('{"q":1}'), named('search'), nameless('{"q":2}')));
  expect(calls.map(({ arguments: input }) => input)).toEqual(['{"q":1}', '{"q":2}']);
});

const unnamed = (name: string, input: string): object => ({ index: 0, id: '', type: 'function', function: { name, arguments: input } });

it.each<[string, object[], string[]]>([
  [
    'of two tools',
    [unnamed('search', '{"q":1}'), unnamed('read', ''), { index: 0, function: { arguments: '{"p":2}' } }],
    ['search {"q":1}', 'read {"p":2}'],
  ],
  ['of one tool, each whole', [unnamed('search', '{"q":1}'), unnamed('search', '{"q":2}')], ['search {"q":1}', 'search {"q":2}']],
])('parallel calls without ids and with the same index are two calls: %s', (_, pieces, wanted) => {
  const calls = callsIn(streamed(...pieces));
  expect(calls.map(({ name, arguments: input }) => `${name} ${input}`)).toEqual(wanted);
  expect(new Set(calls.map(({ id }) => id)).size).toBe(2);
});

it('a call without an id whose pieces all have its name is one call', () => {
  expect(
    callsIn(streamed(unnamed('search', ''), unnamed('search', '{"q"'), unnamed('search', ':{"a"'), unnamed('search', ':1}}'))),
  ).toMatchObject([{ arguments: '{"q":{"a":1}}' }]);
});

it.each<[string, object]>([
  ['an empty entry', { tool_calls: [{ index: 0, id: null, type: 'function', function: { name: null, arguments: null } }] }],
  ['an empty object', { tool_calls: [{}] }],
  ['an empty call of the older form', { function_call: { name: '', arguments: '' } }],
])('a text beside %s is a text', (_, beside) => {
  expect(
    deepseek.decodeBody({ id: 'x', choices: [{ index: 0, message: { content: 'Hi.', ...beside }, finish_reason: 'stop' }] }, target),
  ).toEqual([
    { type: 'text-delta', choice: 0, text: 'Hi.' },
    { type: 'finish', choice: 0, reason: 'completed', native: 'stop' },
  ]);
});

it('an answer that ends with tool_calls, and has none, is complete', () => {
  const chunks = deepseek.decodeBody(
    { id: 'x', choices: [{ index: 0, message: { content: 'Hi.', tool_calls: [] }, finish_reason: 'tool_calls' }] },
    target,
  );
  expect(chunks.at(-1)).toEqual({ type: 'finish', choice: 0, reason: 'completed', native: 'tool_calls' });
});

it('any number of calls is read, without a look at all of them for each piece', () => {
  const wire = Array.from({ length: 100_000 }, (_, index) => ({ ...call('{}', index), id: `call_${index}` }));
  const chunks = deepseek.decodeBody(
    { id: 'x', choices: [{ index: 0, message: { tool_calls: wire }, finish_reason: 'tool_calls' }] },
    target,
  );
  expect(chunks.filter(({ type }) => type === 'tool-start')).toHaveLength(100_000);
});

it.each<[string, (at: number) => object]>([
  ['pieces of one call', () => ({ index: 0, function: { arguments: 'x'.repeat(1000) } })],
  ['new calls', (at) => ({ index: at, id: `call_${at}`, function: { arguments: '' } })],
  [
    'calls with long ids that come later',
    (at) => (at % 2 === 0 ? { index: at, ...nameless('x') } : { index: at - 1, id: `call_${at}${'x'.repeat(1000)}` }),
  ],
  ['new calls with long ids', (at) => ({ index: at, id: `call_${at}${'x'.repeat(1000)}`, function: { arguments: '' } })],
])('calls without a name are held up to a limit, also with text between them: %s', (_, piece) => {
  const decoder = deepseek.decoder(target);
  let pushed = 0;
  const push = (at: number): void => {
    const data = JSON.stringify({ id: 'x', choices: [{ index: 0, delta: { content: 'a', tool_calls: [piece(at)] } }] });
    pushed += data.length;
    decoder.push({ data });
  };
  expect(() => {
    for (let at = 0; at < 20_000; at++) push(at);
  }).toThrow('tool calls without a name');
  expect(pushed).toBeLessThan(2_000_000);
});

it('calls whose names come late have all of their arguments', () => {
  const late = (index: number): object[] => [
    ...Array.from({ length: 8000 }, () => ({ index, id: `call_${index}`, function: { arguments: 'x'.repeat(100) } })),
    { index, id: `call_${index}`, ...named('search') },
  ];
  const calls = callsIn(streamed(...late(0), ...late(1)));
  expect(calls.map(({ arguments: input }) => input.length)).toEqual([800_000, 800_000]);
});

const beside = (signature: string): object => ({ extra_content: { google: { thought_signature: signature } } });

it('fields beside a call go back beside it, to the provider that sent them only', () => {
  const chunks = streamed(
    { ...call('{}', 0), ...beside('c2ln') },
    { ...call('{}', 1), ...beside('dHdv') },
    { index: 2, id: 'b', function: { name: 'read', arguments: '{}' } },
  );
  const reply = new Reply();
  for (const chunk of chunks) reply.add(chunk);
  const { toolCalls, details } = reply.choice(0);
  const calls = toolCalls.map(({ id, name, arguments: input }) => ({
    id,
    type: 'function' as const,
    function: { name, arguments: input },
  }));
  const sentTo = (provider: string): unknown => {
    const wire = deepseek.encode(
      requestOf({ messages: [{ role: 'assistant', content: null, tool_calls: calls, reasoning_details: details }] }),
      targetOf(provider),
    );
    return (JSON.parse(wire.body) as { messages: { tool_calls: object[] }[] }).messages[0]?.tool_calls;
  };
  expect(sentTo('deepseek')).toEqual([{ ...calls[0], ...beside('c2ln') }, { ...calls[1], ...beside('dHdv') }, calls[2]]);
  expect(sentTo('mistral')).toEqual(calls);
});

it('fields beside a call may come in a later piece', () => {
  const chunks = streamed(
    { index: 0, id: 'a', function: { name: 'search', arguments: '' } },
    { index: 0, ...beside('c2ln'), function: { arguments: '{}' } },
  );
  expect(chunks.flatMap((chunk) => (chunk.type === 'reasoning-detail' ? [chunk.detail] : []))).toMatchObject([
    { id: 'a', data: JSON.stringify({ google: { thought_signature: 'c2ln' } }) },
  ]);
});

it('each result goes out behind the message that called its tool, also where two messages called tools in a row', () => {
  const calling = (id: string) => ({
    role: 'assistant' as const,
    content: null,
    tool_calls: [{ id, type: 'function' as const, function: { name: 'search', arguments: '{}' } }],
  });
  const result = (id: string) => ({ role: 'tool' as const, tool_call_id: id, content: id });
  const messages = [{ role: 'user' as const, content: 'Hi.' }, calling('a'), calling('b'), result('a'), result('b')];
  const { body, adjustments } = deepseek.encode(requestOf({ messages }), target);
  const sent = (JSON.parse(body) as { messages: { role: string; tool_calls?: { id: string }[]; tool_call_id?: string }[] }).messages;
  expect(sent.map(({ role, tool_calls: calls, tool_call_id: id }) => [role, calls?.[0]?.id ?? id])).toEqual([
    ['user', undefined],
    ['assistant', 'a'],
    ['tool', 'a'],
    ['assistant', 'b'],
    ['tool', 'b'],
  ]);
  expect(adjustments).toContainEqual({ parameter: 'messages', change: 'results of tools put behind their calls' });
});
