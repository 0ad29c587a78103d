/** Conversations that clients send, the sound ones and the broken ones, and the settings beside them. */
import * as fc from 'fast-check';

export type Part = { readonly text: string } | { readonly image: string } | { readonly file: string };

export interface Call {
  readonly id: string;
  readonly name: string;
  /** JSON as text, which may be cut. */
  readonly input: string;
}

/** What a model thought. `signed`: it has a state of the provider that is asked. */
export interface Thought {
  readonly text: string;
  readonly signed: boolean;
}

/** One message, in no wire format. */
export type Said =
  | { readonly by: 'system'; readonly parts: readonly Part[] }
  | { readonly by: 'user'; readonly parts: readonly Part[] }
  | { readonly by: 'assistant'; readonly texts: readonly string[]; readonly calls: readonly Call[]; readonly thoughts: readonly Thought[] }
  | { readonly by: 'tool'; readonly id: string; readonly parts: readonly Part[]; readonly failed: boolean };

export interface Tool {
  readonly name: string;
  readonly schema?: object;
  readonly strict?: boolean;
}

export interface Settings {
  readonly tools: readonly Tool[];
  /** The name of a tool, or a word. */
  readonly choice?: string;
  readonly parallel?: boolean;
  readonly most?: number;
  readonly temperature?: number;
  readonly topP?: number;
  readonly topK?: number;
  readonly stop?: readonly string[];
  readonly effort?: string;
  readonly budget?: number;
  readonly format?: 'json_object' | 'json_schema';
  /** Places of cache breakpoints: the number of the message, and how long each lasts. */
  readonly marks: readonly { readonly at: number; readonly life: '5m' | '1h' }[];
  readonly stream: boolean;
}

export interface Conversation {
  readonly said: readonly Said[];
  readonly settings: Settings;
}

const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const long = 'mcp__a_server_with_a_long_name__a_tool_with_a_name_that_is_longer_than_sixty_four_characters';

const text = fc.constantFrom('Hello.', 'Go on.', 'Hello. ', '{"degrees":20}', '[1,2]', '', ' ', '\n', '…', '12345678901234567890');
const part: fc.Arbitrary<Part> = fc.oneof(
  { arbitrary: text.map((words) => ({ text: words })), weight: 8 },
  { arbitrary: fc.constantFrom('image/png', 'image/webp').map((type) => ({ image: `data:${type};base64,${png}` })), weight: 1 },
  { arbitrary: fc.constantFrom('a.pdf', 'a.pdf', 'my file (1)_x.pdf').map((name) => ({ file: name })), weight: 1 },
);
const onlyText = text.map((words): Part => ({ text: words }));
const parts = (of: fc.Arbitrary<Part>): fc.Arbitrary<readonly Part[]> => fc.array(of, { maxLength: 3 });

/** Few ids and names, so that many of them meet again. */
const id = fc.constantFrom('call_1', 'call_2', 'call_3', 'toolu_01', 'functions.weather:0', 'x'.repeat(70), 'constructor');
const name = fc.constantFrom('weather', 'weather', 'search', 'files/read', '1st', long);
const input = fc.constantFrom('{"city":"Rome"}', '{}', '', ' ', '{"city":"Ro', '[1]', 'null', '{"n":12345678901234567890}');
const call: fc.Arbitrary<Call> = fc.record({ id, name, input });
const thought: fc.Arbitrary<Thought> = fc.record({ text: fc.constantFrom('Hm.', '', ' '), signed: fc.boolean() });

const result = (of: fc.Arbitrary<string>): fc.Arbitrary<Said> =>
  fc.record({ by: fc.constant('tool' as const), id: of, parts: parts(part), failed: fc.boolean() });
const answer = (calls: fc.Arbitrary<readonly Call[]>): fc.Arbitrary<Said & { readonly by: 'assistant' }> =>
  fc.record({
    by: fc.constant('assistant' as const),
    texts: fc.array(text, { maxLength: 2 }),
    calls,
    thoughts: fc.array(thought, { maxLength: 2 }),
  });

const one: fc.Arbitrary<Said> = fc.oneof(
  { arbitrary: fc.record({ by: fc.constant('user' as const), parts: parts(part) }), weight: 4 },
  { arbitrary: answer(fc.constant([])), weight: 3 },
  { arbitrary: fc.record({ by: fc.constant('system' as const), parts: parts(onlyText) }), weight: 2 },
  { arbitrary: result(id), weight: 1 },
);

/** A step of a tool loop: calls, and their results in any order; some are missing, some are there twice. */
const step: fc.Arbitrary<readonly Said[]> = fc
  .tuple(
    answer(fc.array(call, { minLength: 1, maxLength: 3 })),
    fc.array(fc.record({ at: fc.nat(2), parts: parts(part), failed: fc.boolean() }), { maxLength: 4 }),
    fc.constantFrom('all', 'all', 'all', 'some'),
  )
  .map(([said, results, which]) => [
    said,
    ...(which === 'all'
      ? said.calls.map(({ id: of }, at) => ({
          by: 'tool' as const,
          id: of,
          parts: results[at]?.parts ?? [{ text: 'Sunny.' }],
          failed: false,
        }))
      : results.map(({ at, ...more }) => ({ by: 'tool' as const, id: said.calls[at % said.calls.length]?.id ?? '', ...more }))),
  ]);

/** Two neighbours that changed places, as clients do that run tools at once. */
const swapped = (all: readonly Said[], at: number): readonly Said[] => {
  const place = at % Math.max(1, all.length - 1);
  const [first, second] = all.slice(place, place + 2);
  return first === undefined || second === undefined ? all : [...all.slice(0, place), second, first, ...all.slice(place + 2)];
};

const said: fc.Arbitrary<readonly Said[]> = fc
  .tuple(
    fc.array(fc.oneof({ arbitrary: one.map((it) => [it]), weight: 3 }, { arbitrary: step, weight: 2 }), { minLength: 1, maxLength: 5 }),
    fc.option(fc.nat(20)),
  )
  .map(([all, at]) => (at === null ? all.flat() : swapped(all.flat(), at)));

const schemas: readonly (object | undefined)[] = [
  undefined,
  {},
  { type: 'object', properties: {} },
  {
    type: 'object',
    properties: {
      city: { type: ['string', 'null'], format: 'email', enum: ['Rome', null] },
      days: { $ref: '#/$defs/days' },
      tags: { type: 'array', items: { anyOf: [{ type: 'string' }, { const: 1 }] } },
      list: { type: 'array' },
    },
    required: ['city', 'absent'],
    additionalProperties: false,
    $defs: { days: { type: 'integer', minimum: 1, allOf: [{ description: 'How many.' }] } },
  },
  { $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'object', properties: { a: { type: 'number', exclusiveMinimum: 0 } } },
];

const tool: fc.Arbitrary<Tool> = fc
  .tuple(name, fc.constantFrom(...schemas), fc.constantFrom(undefined, undefined, false))
  .map(([of, schema, strict]) => ({ name: of, ...(schema !== undefined && { schema }), ...(strict !== undefined && { strict }) }));

const maybe = <Value>(...values: readonly Value[]): fc.Arbitrary<Value | undefined> =>
  fc.oneof({ arbitrary: fc.constant(undefined), weight: 3 }, { arbitrary: fc.constantFrom(...values), weight: 2 });

const settings: fc.Arbitrary<Settings> = fc
  .record({
    tools: fc.oneof(fc.constant([]), fc.array(tool, { minLength: 1, maxLength: 3 })),
    choice: maybe('auto', 'none', 'required', 'weather'),
    parallel: maybe(true, false),
    most: maybe(1, 15, 1024, 2000, 30_000),
    temperature: maybe(0, 0.7, 1, 1.4),
    topP: maybe(0.5, 1),
    topK: maybe(5),
    stop: maybe<readonly string[]>([], ['END'], [' ', '\n'], ['a', 'b', 'c', 'd', 'e']),
    effort: maybe('none', 'minimal', 'low', 'medium', 'high', 'xhigh'),
    budget: maybe(0, 1, 1024, 5000, 200_000),
    format: maybe('json_object' as const, 'json_schema' as const),
    marks: fc.oneof(
      { arbitrary: fc.constant([]), weight: 2 },
      {
        arbitrary: fc.array(fc.record({ at: fc.nat(9), life: fc.constantFrom('5m' as const, '1h' as const) }), { maxLength: 6 }),
        weight: 1,
      },
    ),
    stream: fc.boolean(),
  })
  .map((all) => (all.effort !== undefined ? { ...all, budget: undefined } : all))
  .map((all) => Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)) as unknown as Settings);

export const anyConversation: fc.Arbitrary<Conversation> = fc.record({ said, settings });
