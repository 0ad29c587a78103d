import { describe, expect, it } from 'vitest';
import type { Dialect } from '../../../../core/wire/dialect.ts';
import { Reply } from '../../../../core/pipeline/reply.ts';
import plugin from '../../../../plugins/dialects/openai-responses/index.ts';
import { targetOf } from '../../../contract/dialect.ts';

const dialect = plugin.dialects?.[0] as Dialect;

type Event = Record<string, unknown>;

const message = { type: 'message', id: 'msg', content: [] as object[] };
const callItem = (id: string, input = ''): object => ({ type: 'function_call', id: `fc_${id}`, call_id: id, name: 'f', arguments: input });
const added = (item: object): Event => ({ type: 'response.output_item.added', item });
const done = (item: object): Event => ({ type: 'response.output_item.done', item });
const said = (delta: string): Event => ({ type: 'response.output_text.delta', delta });
const inputOf = (delta: string): Event => ({ type: 'response.function_call_arguments.delta', delta });
const calling = (id: string, input: string): Event[] => [added(callItem(id)), inputOf(input), done(callItem(id, input))];
const wholeMessage = { ...message, content: [{ type: 'output_text', text: 'Hi.' }] };

/** The parts of an answer: its reasoning, its text and its calls. */
function heard(events: readonly Event[], output: readonly object[] = []): unknown {
  const decoder = dialect.decoder(targetOf('openai-responses'));
  const reply = new Reply();
  for (const event of [...events, { type: 'response.completed', response: { id: 'r', status: 'completed', output } }]) {
    for (const chunk of decoder.push({ data: JSON.stringify(event) })) reply.add(chunk);
  }
  const { reasoning, text, toolCalls } = reply.choice(0);
  return { reasoning, text, calls: toolCalls.map(({ id, arguments: input }) => `${id} ${input}`) };
}

it('a call whose item is not in the stream has the id and the name from the end of its arguments', () => {
  const end = { type: 'response.function_call_arguments.done', output_index: 0, call_id: 'a', name: 'f', arguments: '{"n":1}' };
  expect(heard([end])).toEqual({ reasoning: '', text: '', calls: ['a {"n":1}'] });
});

it('two calls to which a server gave one id get two ids', () => {
  const output = [callItem('a', '{"n":1}'), callItem('a', '{"n":2}')];
  const chunks = dialect.decodeBody({ id: 'r', status: 'completed', output }, targetOf('openai-responses'));
  const ids = chunks.flatMap((chunk) => (chunk.type === 'tool-start' ? [chunk.id] : []));
  expect([ids[0], new Set(ids).size]).toEqual(['a', 2]);
});

it('a whole text comes with the probabilities of all its tokens', () => {
  const logprobs = ['Hi', '.'].map((token) => ({ token, logprob: -1, bytes: [], top_logprobs: [] }));
  const output = [{ ...message, content: [{ type: 'output_text', text: 'Hi.', logprobs }] }];
  const chunks = dialect.decodeBody({ id: 'r', status: 'completed', output }, targetOf('openai-responses'));
  expect(chunks.find(({ type }) => type === 'extra')).toMatchObject({ field: 'logprobs', value: { content: logprobs } });
});

it('an answer of any number of parts that comes whole at the end of a stream is held until then', () => {
  const content = Array.from({ length: 150_000 }, () => ({ type: 'output_text', text: 'a' }));
  const response = { id: 'r', status: 'completed', output: [{ ...message, content }] };
  const decoder = dialect.decoder({ ...targetOf('openai-responses'), form: 'responses' });
  const chunks = decoder.push({ data: JSON.stringify({ type: 'response.completed', response }) });
  expect(chunks.filter(({ type }) => type === 'text-delta')).toHaveLength(150_000);
});

const answers: [string, Event[], object][] = [
  [
    'a text after a thought',
    [
      added({ type: 'reasoning' }),
      { type: 'response.reasoning_text.delta', delta: 'Hm.' },
      done({ type: 'reasoning' }),
      added(message),
      said('Hi.'),
      done(wholeMessage),
    ],
    { reasoning: 'Hm.', text: 'Hi.', calls: [] },
  ],
  [
    'a call after a text',
    [added(message), said('Hi.'), done(wholeMessage), ...calling('a', '{"n":1}')],
    { reasoning: '', text: 'Hi.', calls: ['a {"n":1}'] },
  ],
  [
    'a call before the end of a text',
    [added(message), said('Hi.'), ...calling('a', '{"n":1}'), done(wholeMessage)],
    { reasoning: '', text: 'Hi.', calls: ['a {"n":1}'] },
  ],
  ['two calls', [...calling('a', '{"n":1}'), ...calling('b', '{"n":2}')], { reasoning: '', text: '', calls: ['a {"n":1}', 'b {"n":2}'] }],
  [
    'two calls that are only told whole',
    [done(callItem('a', '{"n":1}')), done(callItem('b', '{"n":2}'))],
    { reasoning: '', text: '', calls: ['a {"n":1}', 'b {"n":2}'] },
  ],
  [
    'two texts that are only told whole',
    [done(wholeMessage), done(callItem('a', '{"n":1}')), done({ ...message, content: [{ type: 'output_text', text: 'Bye.' }] })],
    { reasoning: '', text: 'Hi.Bye.', calls: ['a {"n":1}'] },
  ],
  [
    'a text that is told whole twice, each time with another id',
    [added(message), said('Hi'), done(wholeMessage), done({ ...wholeMessage, id: 'another' })],
    { reasoning: '', text: 'Hi.', calls: [] },
  ],
  [
    'a text of which more is told the second time',
    [done({ ...message, content: [{ type: 'output_text', text: 'H' }] }), done(wholeMessage)],
    { reasoning: '', text: 'Hi.', calls: [] },
  ],
  [
    'a call that is told whole twice',
    [...calling('a', '{"n":1}'), done(callItem('a', '{"n":1}'))],
    { reasoning: '', text: '', calls: ['a {"n":1}'] },
  ],
];

describe('items of one answer', () => {
  it.each(answers)('are all read where a host gives each the index 0: %s', (_, events, wanted) => {
    expect(heard(events.map((event) => ({ ...event, output_index: 0 })))).toEqual(wanted);
  });

  it.each(answers)('are all read where a host gives no index: %s', (_, events, wanted) => {
    expect(heard(events)).toEqual(wanted);
  });

  it('are whole where only the last event has them whole', () => {
    const events = [added(message), said('H'), added(callItem('a')), added(callItem('b')), inputOf('{"n"')].map((event, at) => ({
      ...event,
      output_index: [0, 0, 1, 2, 2][at],
    }));
    expect(heard(events, [wholeMessage, callItem('a', '{"n":1}'), callItem('b', '{"n":2}')])).toEqual({
      reasoning: '',
      text: 'Hi.',
      calls: ['a {"n":1}', 'b {"n":2}'],
    });
  });

  it('are whole where only the last event has them whole, and one is a call of a custom tool', () => {
    const tools = [{ type: 'custom', name: 'run_sql' }];
    const custom = { type: 'custom_tool_call', call_id: 'b', name: 'run_sql', input: 'select 1' };
    const whole = { id: 'r', status: 'completed', tools, output: [callItem('a', '{"n":1}'), custom] };
    const decoder = dialect.decoder({ ...targetOf('openai-responses'), form: 'responses' });
    const events = [
      { type: 'response.created', response: { id: 'r', tools } },
      { ...added(callItem('a')), output_index: 0 },
      { ...added({ ...custom, input: '' }), output_index: 1 },
      { type: 'response.completed', response: whole },
    ];
    const chunks = events.flatMap((event) => decoder.push({ data: JSON.stringify(event) }));
    expect(chunks.flatMap((chunk) => (chunk.type === 'tool-delta' ? [chunk.arguments] : []))).toEqual(['{"n":1}', '{"input":"select 1"}']);
  });

  it('may be many, without a look at all of them for each event', () => {
    const many = Array.from({ length: 100_000 }, (_, at) => done(callItem(`c${at}`, '{}')));
    const decoder = dialect.decoder(targetOf('openai-responses'));
    const chunks = [added(message), ...many, ...many.map(() => said('x'))].flatMap((event) =>
      decoder.push({ data: JSON.stringify(event) }),
    );
    expect(chunks.filter(({ type }) => type === 'text-delta')).toHaveLength(100_000);
  });

  it.each<[string, (at: number) => Event]>([
    ['texts', (at) => ({ ...said('x'), output_index: at })],
    ['parts of a text', (at) => ({ ...said('x'), content_index: at })],
    ['calls', (at) => ({ ...inputOf('x'), output_index: at })],
  ])('are limited in number, and their parts too, also empty ones: %s', (_, eventAt) => {
    const decoder = dialect.decoder(targetOf('openai-responses'));
    expect(() => {
      for (let at = 0; at < 300_000; at++) decoder.push({ data: JSON.stringify(eventAt(at)) });
    }).toThrow('more parts than');
  });

  it.each([0, 1])('keep their order, by which reasoning goes back before its call, where a host gives each the index %i', (index) => {
    const decoder = dialect.decoder(targetOf('openai-responses'));
    const sealed = { type: 'reasoning', id: 'rs', summary: [], encrypted_content: 'sealed' };
    const events = [done(sealed), ...calling('a', '{"n":1}'), { type: 'response.completed', response: { id: 'r', status: 'completed' } }];
    const chunks = events.flatMap((event) => decoder.push({ data: JSON.stringify({ ...event, output_index: index }) }));
    expect(chunks.flatMap((chunk) => (chunk.type === 'reasoning-detail' ? [chunk.detail] : []))).toMatchObject([
      { data: 'sealed', before: 'a' },
    ]);
  });

  it('that run at the provider are no calls of the caller, and their input is not read', () => {
    const ran = { type: 'custom_tool_call', call_id: 'x', name: 'x_search', input: 'tide' };
    const pieces = [added({ ...ran, input: '' }), { type: 'response.custom_tool_call_input.delta', delta: 'tide' }, done(ran)];
    const events = [...pieces.map((event) => ({ ...event, output_index: 0 })), { ...done(wholeMessage), output_index: 1 }];
    expect(heard(events)).toEqual({ reasoning: '', text: 'Hi.', calls: [] });
  });

  it.each(['{"tool_uses":[]}', '{"tool_uses":[{"rec'])('that look like a wrapper of calls, and hold none, are calls: %s', (input) => {
    const output = [{ ...callItem('a', input), name: 'parallel' }];
    const chunks = dialect.decodeBody({ id: 'r', status: 'completed', output }, targetOf('openai-responses'));
    expect(chunks.slice(0, 2)).toMatchObject([{ type: 'tool-start', name: 'parallel' }, { arguments: input }]);
  });

  it('stay as they came where the last event leaves some out', () => {
    const events = [added(callItem('a')), inputOf('{"n":1}'), added(callItem('b')), inputOf('{"n":2}')].map((event, at) => ({
      ...event,
      output_index: at >> 1,
    }));
    expect(heard(events, [callItem('b', '{"n":2}')])).toEqual({ reasoning: '', text: '', calls: ['a {"n":1}', 'b {"n":2}'] });
  });
});
