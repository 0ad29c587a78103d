/** Writes an answer as the providers of each wire format do: as one body, and as the events of a stream. */
import { eventFrame, exceptionFrame } from '../../plugins/dialects/bedrock/frame.ts';
import { type AnyAnswer, type Call, type Finish, grouped, inTurns, isCut, type Part, textOf } from './any-answer.ts';

export interface Wire {
  readonly dialect: string;
  readonly type: string;
  readonly body: (answer: AnyAnswer) => object;
  /** The events of the whole answer; `error` is one more that ends it. */
  readonly events: (answer: AnyAnswer) => readonly Uint8Array[];
  readonly error: Uint8Array;
  /** Whether a body has the parts in the order of the stream. */
  readonly keepsOrder: boolean;
}

interface Typed {
  readonly type: string;
  readonly [field: string]: unknown;
}

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const named = (data: Typed): Uint8Array => bytes(`event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`);
const unnamed = (data: object): Uint8Array => bytes(`data: ${JSON.stringify(data)}\n\n`);

const inputOf = (call: Part): unknown => {
  const text = textOf(call);
  return text === '' ? {} : JSON.parse(isCut(call) ? '{}' : text);
};

/** The parts of the choice that wire formats with one choice give. */
const firstOf = ({ choices: [parts = [] as readonly Part[]] }: AnyAnswer, ...kinds: readonly Part['kind'][]): readonly Numbered[] =>
  parts.filter(({ kind }) => kinds.includes(kind)).map((part, at) => ({ part, at }));

interface Numbered {
  readonly part: Part;
  readonly at: number;
}

/** The events of the parts; those of parallel calls come mixed where the answer says so. */
function inOrder<One extends Numbered, Event>(
  { mixed }: AnyAnswer,
  parts: readonly One[],
  eventsOf: (one: One) => readonly Event[],
): readonly Event[] {
  return grouped(parts).flatMap((group) => (mixed ? inTurns(group.map(eventsOf)) : group.flatMap(eventsOf)));
}

const given = (fields: Readonly<Record<string, unknown>>): object =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

const isAt = ({ usage }: AnyAnswer, ...places: readonly AnyAnswer['usage'][]): boolean => places.includes(usage);
/** The events as a server with this habit sends them. */
const habitual = <Event>({ habit }: AnyAnswer, events: readonly Event[], kinds: Habits<Event>): readonly Event[] => {
  if (habit === 'repeats') return events.flatMap((event) => (kinds.repeats(event) ? [event, event] : [event]));
  if (habit === 'skips') return events.filter((event) => !kinds.skips(event));
  return habit === 'late' ? events.flatMap((event) => (kinds.ends(event) ? [event, kinds.late] : [event])) : events;
};

interface Habits<Event> {
  readonly repeats: (event: Event) => boolean;
  readonly skips: (event: Event) => boolean;
  readonly ends: (event: Event) => boolean;
  /** What comes after the end. */
  readonly late: Event;
}

const hasUsage = ({ usage }: AnyAnswer): boolean => usage !== 'never';

const cite = { url: 'https://example.org/', title: 'A page', start_index: 0, end_index: 2 };
const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/* Chat completions */

const chatHead = { id: 'chatcmpl-up', object: 'chat.completion.chunk', created: 1_700_000_000, model: 'up-1' };
const chatCounts = {
  prompt_tokens: 10,
  completion_tokens: 7,
  total_tokens: 17,
  completion_tokens_details: { reasoning_tokens: 3 },
};
const chatImage = { type: 'image_url', image_url: { url: `data:image/png;base64,${png}` } };
const chatCitation = { type: 'url_citation', url_citation: cite };
const chatState = (at: number): object => ({
  type: 'reasoning.encrypted',
  format: 'other-v1',
  index: at,
  id: `rs_${at}`,
  data: `c2ln${at}`,
});

function chatDeltas({ part, at }: Numbered, calls: readonly Part[]): readonly object[] {
  const index = calls.indexOf(part);
  switch (part.kind) {
    case 'text':
      return [...part.pieces.map((content) => ({ content })), ...(part.cites ? [{ content: '', annotations: [chatCitation] }] : [])];
    case 'refusal':
      return part.pieces.map((refusal) => ({ refusal }));
    case 'thought':
      return [
        ...part.pieces.map((reasoning_content) => ({ reasoning_content })),
        ...(part.signed ? [{ reasoning_details: [chatState(at)] }] : []),
      ];
    case 'image':
      return [{ content: '', images: [chatImage] }];
    default:
      return part.pieces.map((text, piece) => ({
        tool_calls: [
          piece === 0
            ? { index, id: part.id, type: 'function', function: { name: part.name, arguments: text } }
            : { index, function: { arguments: text } },
        ],
      }));
  }
}

const callsOf = (parts: readonly Part[]): readonly Call[] => parts.filter((part): part is Call => part.kind === 'call');

const chatWord = (finish: Finish, parts: readonly Part[]): string | null =>
  ({ stop: callsOf(parts).length > 0 ? 'tool_calls' : 'stop', length: 'length', filter: 'content_filter', odd: 'wandered', none: null })[
    finish
  ];

function chatChoiceEvents(answer: AnyAnswer, parts: readonly Part[], index: number): readonly object[] {
  const calls = callsOf(parts);
  const numbered = parts.map((part, at) => ({ part, at }));
  const deltas = [{ role: 'assistant', content: '' }, ...inOrder(answer, numbered, (one) => chatDeltas(one, calls))];
  const finish = chatWord(answer.finish, parts);
  const isLast = index === answer.choices.length - 1;
  return [
    ...deltas.map((delta) => ({ ...chatHead, choices: [{ index, delta, finish_reason: null }] })),
    ...(finish === null
      ? []
      : [
          {
            ...chatHead,
            choices: [{ index, delta: {}, finish_reason: finish }],
            ...(isAt(answer, 'finish', 'twice') && isLast && { usage: chatCounts }),
          },
        ]),
  ];
}

const finishOf = ({ choices }: any): unknown => choices[0].finish_reason;

const chatHabits = (index: number): Habits<object> => ({
  repeats: (event: any) => finishOf(event) !== null || event.choices[0].delta.role !== undefined,
  skips: (event: any) => event.choices[0].delta.role !== undefined,
  ends: (event) => finishOf(event) !== null,
  late: { ...chatHead, choices: [{ index, delta: { content: 'late' }, finish_reason: null }] },
});

function chatEvents(answer: AnyAnswer): readonly Uint8Array[] {
  const lists = answer.choices.map((parts, index) => habitual(answer, chatChoiceEvents(answer, parts, index), chatHabits(index)));
  const events = answer.mixed ? inTurns(lists) : lists.flat();
  return [
    ...(isAt(answer, 'first') ? [unnamed({ ...chatHead, choices: [], usage: chatCounts })] : []),
    ...(answer.noise ? [bytes(': waiting\n\n'), unnamed({ object: 'event.of.tomorrow', value: 1 })] : []),
    ...events.map(unnamed),
    ...(isAt(answer, 'last', 'twice') ? [unnamed({ ...chatHead, choices: [], usage: chatCounts })] : []),
    ...(answer.habit === 'skips' ? [] : [bytes('data: [DONE]\n\n')]),
  ];
}

const sumOf = (parts: readonly Part[], kind: Part['kind']): string =>
  parts
    .filter((part) => part.kind === kind)
    .map(textOf)
    .join('');

const chatMessage = (parts: readonly Part[]): object => {
  const lists = (kind: Part['kind'], item: (part: Part, at: number) => object[]): object[] | undefined => {
    const all = parts.flatMap((part, at) => (part.kind === kind ? item(part, at) : []));
    return all.length === 0 ? undefined : all;
  };
  return given({
    role: 'assistant',
    content: sumOf(parts, 'text'),
    refusal: sumOf(parts, 'refusal') || undefined,
    reasoning_content: sumOf(parts, 'thought') || undefined,
    reasoning_details: lists('thought', (part, at) => ('signed' in part && part.signed ? [chatState(at)] : [])),
    annotations: lists('text', (part) => ('cites' in part && part.cites ? [chatCitation] : [])),
    images: lists('image', () => [chatImage]),
    tool_calls: lists('call', (part) =>
      'id' in part ? [{ id: part.id, type: 'function', function: { name: part.name, arguments: textOf(part) } }] : [],
    ),
  });
};

const chat: Wire = {
  dialect: 'openai-chat',
  type: 'text/event-stream',
  keepsOrder: false,
  events: chatEvents,
  error: unnamed({ error: { message: 'It broke.', type: 'server_error', code: 'broken' } }),
  body: (answer) => ({
    ...chatHead,
    object: 'chat.completion',
    choices: answer.choices.map((parts, index) => ({ index, message: chatMessage(parts), finish_reason: chatWord(answer.finish, parts) })),
    ...(hasUsage(answer) && { usage: chatCounts }),
  }),
};

/* Messages */

const messageCounts = { input_tokens: 10, cache_read_input_tokens: 4, output_tokens: 7 };
const messageCitation = {
  type: 'char_location',
  cited_text: 'Hello',
  document_index: 0,
  document_title: null,
  start_char_index: 0,
  end_char_index: 5,
};

const messageBlock = ({ part, at }: Numbered): object => {
  switch (part.kind) {
    case 'text':
      return { type: 'text', text: textOf(part), ...(part.cites && { citations: [messageCitation] }) };
    case 'thought':
      return { type: 'thinking', thinking: textOf(part), signature: part.signed ? `c2ln${at}` : '' };
    case 'call':
      return { type: 'tool_use', id: part.id, name: part.name, input: inputOf(part) };
    default:
      return { type: 'redacted_thinking', data: `cmVk${at}` };
  }
};

function messageDeltas({ part, at }: Numbered): readonly object[] {
  switch (part.kind) {
    case 'text':
      return [
        ...part.pieces.map((text) => ({ type: 'text_delta', text })),
        ...(part.cites ? [{ type: 'citations_delta', citation: messageCitation }] : []),
      ];
    case 'thought':
      return [
        ...part.pieces.map((thinking) => ({ type: 'thinking_delta', thinking })),
        ...(part.signed ? [{ type: 'signature_delta', signature: `c2ln${at}` }] : []),
      ];
    case 'call':
      return part.pieces.map((partial_json) => ({ type: 'input_json_delta', partial_json }));
    default:
      return [];
  }
}

const emptied = (block: object): object => ({
  ...block,
  ...('text' in block && { text: '', citations: undefined }),
  ...('thinking' in block && { thinking: '', signature: '' }),
  ...('input' in block && { input: {} }),
});

const messageEventsOf = (one: Numbered): readonly Typed[] => [
  { type: 'content_block_start', index: one.at, content_block: emptied(messageBlock(one)) },
  ...messageDeltas(one).map((delta) => ({ type: 'content_block_delta', index: one.at, delta })),
  { type: 'content_block_stop', index: one.at },
];

const messageHabits: Habits<Typed> = {
  repeats: ({ type }) => type.startsWith('message_'),
  skips: ({ type }) => type === 'message_stop',
  ends: ({ type }) => type === 'message_stop',
  late: { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'late' } },
};

const messageWord = ({ finish }: AnyAnswer, parts: readonly Numbered[]): string | null => {
  const calls = parts.some(({ part }) => part.kind === 'call');
  return { stop: calls ? 'tool_use' : 'end_turn', length: 'max_tokens', filter: 'refusal', odd: 'wandered', none: null }[finish];
};

const messageParts = (answer: AnyAnswer): readonly Numbered[] => firstOf(answer, 'text', 'thought', 'call', 'refusal');

const messageHead = { id: 'msg_up', type: 'message', role: 'assistant', model: 'up-1', stop_sequence: null };

function messageEvents(answer: AnyAnswer): readonly Uint8Array[] {
  const parts = messageParts(answer);
  const first = isAt(answer, 'first', 'twice', 'finish') ? { ...messageCounts, output_tokens: 1 } : undefined;
  const last = isAt(answer, 'last', 'twice', 'finish') ? messageCounts : isAt(answer, 'first') ? { output_tokens: 7 } : undefined;
  const events: readonly Typed[] = [
    { type: 'message_start', message: given({ ...messageHead, content: [], stop_reason: null, usage: first }) },
    ...(answer.noise ? [{ type: 'ping' }, { type: 'event_of_tomorrow' }] : []),
    ...inOrder(answer, parts, messageEventsOf),
    { type: 'message_delta', delta: { stop_reason: messageWord(answer, parts), stop_sequence: null }, ...(last && { usage: last }) },
    { type: 'message_stop' },
  ];
  return habitual(answer, events, messageHabits).map(named);
}

const messages: Wire = {
  dialect: 'anthropic',
  type: 'text/event-stream',
  keepsOrder: true,
  events: messageEvents,
  error: named({ type: 'error', error: { type: 'overloaded_error', message: 'It broke.' } }),
  body: (answer) => {
    const parts = messageParts(answer);
    return {
      ...messageHead,
      content: parts.map(messageBlock),
      stop_reason: messageWord(answer, parts),
      ...(hasUsage(answer) && { usage: messageCounts }),
    };
  },
};

/* Gemini */

const geminiCounts = { promptTokenCount: 10, candidatesTokenCount: 4, thoughtsTokenCount: 3, totalTokenCount: 17 };

const geminiParts = ({ part, at }: Numbered, pieces: readonly string[]): readonly object[] => {
  switch (part.kind) {
    case 'text':
      return pieces.map((text) => ({ text }));
    case 'thought':
      return pieces.map((text, piece) => ({
        text,
        thought: true,
        ...(part.signed && piece === pieces.length - 1 && { thoughtSignature: 'c2ln' }),
      }));
    case 'call':
      return [
        {
          functionCall: given({ id: part.id || undefined, name: part.name, args: inputOf(part) }),
          ...(at === 0 && { thoughtSignature: 'c2ln' }),
        },
      ];
    default:
      return [{ inlineData: { mimeType: 'image/png', data: png } }];
  }
};

const geminiWord = ({ finish }: AnyAnswer): string | undefined =>
  ({ stop: 'STOP', length: 'MAX_TOKENS', filter: 'SAFETY', odd: 'WANDERED', none: undefined })[finish];

const geminiChoices = ({ choices }: AnyAnswer): readonly (readonly Numbered[])[] =>
  choices.map((parts) => firstOf({ choices: [parts] } as unknown as AnyAnswer, 'text', 'thought', 'call', 'image'));

const geminiHabits = (index: number): Habits<Record<string, any>> => ({
  repeats: ({ candidates }) => candidates[0].finishReason !== undefined,
  skips: () => false,
  ends: ({ candidates }) => candidates[0].finishReason !== undefined,
  late: { responseId: 'up-1', candidates: [{ index, content: { role: 'model', parts: [{ text: 'late' }] } }] },
});

function geminiEvents(answer: AnyAnswer): readonly Uint8Array[] {
  const head = { responseId: 'up-1', modelVersion: 'up-1' };
  const lists = geminiChoices(answer).map((parts, index) =>
    habitual<Record<string, any>>(
      answer,
      [
        ...parts
          .flatMap((one) => geminiParts(one, 'pieces' in one.part ? one.part.pieces : []))
          .map((part) => ({ ...head, candidates: [{ index, content: { role: 'model', parts: [part] } }] })),
        { ...head, candidates: [given({ index, content: { role: 'model', parts: [{ text: '' }] }, finishReason: geminiWord(answer) })] },
      ],
      geminiHabits(index),
    ),
  );
  const events = answer.mixed ? inTurns(lists) : lists.flat();
  return events.map((event, at) => {
    const isCounted = (at === 0 && isAt(answer, 'first', 'twice')) || (at === events.length - 1 && isAt(answer, 'finish', 'last', 'twice'));
    return unnamed({ ...event, ...(isCounted && { usageMetadata: geminiCounts }), ...(answer.noise && { fieldOfTomorrow: at }) });
  });
}

const gemini: Wire = {
  dialect: 'gemini',
  type: 'text/event-stream',
  keepsOrder: true,
  events: geminiEvents,
  error: unnamed({ error: { code: 503, message: 'It broke.', status: 'UNAVAILABLE' } }),
  body: (answer) => ({
    responseId: 'up-1',
    candidates: geminiChoices(answer).map((parts, index) =>
      given({
        index,
        content: { role: 'model', parts: parts.flatMap((one) => geminiParts(one, 'pieces' in one.part ? one.part.pieces : [])) },
        finishReason: geminiWord(answer),
      }),
    ),
    ...(hasUsage(answer) && { usageMetadata: geminiCounts }),
  }),
};

/* Converse */

const converseCounts = { inputTokens: 10, outputTokens: 7, totalTokens: 17 };

const converseBlock = ({ part, at }: Numbered): object => {
  switch (part.kind) {
    case 'thought':
      return { reasoningContent: { reasoningText: { text: textOf(part), ...(part.signed && { signature: `c2ln${at}` }) } } };
    case 'call':
      return { toolUse: { toolUseId: part.id, name: part.name, input: inputOf(part) } };
    default:
      return { text: textOf(part) };
  }
};

type Named = readonly [name: string, payload: object];

function converseEventsOf({ part, at }: Numbered): readonly Named[] {
  const delta = (of: object): Named => ['contentBlockDelta', { contentBlockIndex: at, delta: of }];
  const deltas =
    part.kind === 'thought'
      ? [
          ...part.pieces.map((text) => delta({ reasoningContent: { text } })),
          ...(part.signed ? [delta({ reasoningContent: { signature: `c2ln${at}` } })] : []),
        ]
      : 'pieces' in part
        ? part.pieces.map((text) => delta(part.kind === 'call' ? { toolUse: { input: text } } : { text }))
        : [];
  return [
    ...(part.kind === 'call'
      ? [['contentBlockStart', { contentBlockIndex: at, start: { toolUse: { toolUseId: part.id, name: part.name } } }] as const]
      : []),
    ...deltas,
    ['contentBlockStop', { contentBlockIndex: at }],
  ];
}

const converseParts = (answer: AnyAnswer): readonly Numbered[] => firstOf(answer, 'text', 'thought', 'call');

const converseWord = (answer: AnyAnswer, parts: readonly Numbered[]): string | null => {
  const word = messageWord(answer, parts);
  return word === 'refusal' ? 'content_filtered' : word;
};

const converseHabits: Habits<Named> = {
  repeats: ([name]) => name.startsWith('message'),
  skips: ([name]) => name === 'messageStart',
  ends: ([name]) => name === 'messageStop',
  late: ['contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'late' } }],
};

const converse: Wire = {
  dialect: 'bedrock',
  type: 'application/vnd.amazon.eventstream',
  keepsOrder: true,
  events: (answer) => {
    const parts = converseParts(answer);
    const counts: Named = ['metadata', { usage: converseCounts }];
    const stop = converseWord(answer, parts);
    const events: readonly Named[] = [
      ['messageStart', { role: 'assistant' }],
      ...(isAt(answer, 'first', 'twice') ? [counts] : []),
      ...(answer.noise ? [['eventOfTomorrow', {}] as const] : []),
      ...inOrder(answer, parts, converseEventsOf),
      ...(stop === null ? [] : [['messageStop', { stopReason: stop }] as const]),
      ...(isAt(answer, 'finish', 'last', 'twice') ? [counts] : []),
    ];
    return habitual(answer, events, converseHabits).map(([name, payload]) => eventFrame(name, payload));
  },
  error: exceptionFrame('modelStreamErrorException', { message: 'It broke.' }),
  body: (answer) => {
    const parts = converseParts(answer);
    return {
      output: { message: { role: 'assistant', content: parts.map(converseBlock) } },
      stopReason: converseWord(answer, parts),
      ...(hasUsage(answer) && { usage: converseCounts }),
    };
  },
};

/* Responses */

const responseCounts = {
  input_tokens: 10,
  input_tokens_details: { cached_tokens: 4 },
  output_tokens: 7,
  output_tokens_details: { reasoning_tokens: 3 },
  total_tokens: 17,
};

/** Neighbours that share an item: the texts of a message, or the paragraphs of a thought. */
interface Item {
  readonly parts: readonly Part[];
  readonly at: number;
}

const itemKind = ({ kind }: Part): string => (kind === 'refusal' ? 'text' : kind);

function responseItems(answer: AnyAnswer): readonly Item[] {
  const lists: Part[][] = [];
  for (const { part } of firstOf(answer, 'text', 'thought', 'call', 'refusal')) {
    const [first] = lists.at(-1) ?? [];
    const isSame = first !== undefined && part.kind !== 'call' && itemKind(first) === itemKind(part);
    if (isSame && textOf(part) !== '' && textOf(first) !== '') lists.at(-1)?.push(part);
    else lists.push([part]);
  }
  return lists.map((parts, at) => ({ parts, at }));
}

const contentOf = (part: Part): object => {
  if (part.kind === 'refusal') return { type: 'refusal', refusal: textOf(part) };
  const cites = 'cites' in part && part.cites ? [{ type: 'url_citation', ...cite }] : [];
  return { type: 'output_text', text: textOf(part), annotations: cites, logprobs: [] };
};

const responseItem = ({ parts, at }: Item): Record<string, unknown> => {
  const [first] = parts as readonly [Part];
  if (first.kind === 'thought') {
    return {
      id: `rs_${at}`,
      type: 'reasoning',
      summary: parts.map(textOf).flatMap((text) => (text === '' ? [] : [{ type: 'summary_text', text }])),
      ...(first.signed && { encrypted_content: `c2ln${at}` }),
    };
  }
  if (first.kind !== 'call') {
    return { id: `msg_${at}`, type: 'message', role: 'assistant', status: 'completed', content: parts.map(contentOf) };
  }
  const { id, name } = first;
  const status = isCut(first) ? 'incomplete' : 'completed';
  return { id: `fc_${at}`, type: 'function_call', status, call_id: id, name, arguments: textOf(first) };
};

const voices = {
  text: ['response.output_text', 'text', 'content_index'],
  refusal: ['response.refusal', 'refusal', 'content_index'],
  thought: ['response.reasoning_summary_text', 'text', 'summary_index'],
  call: ['response.function_call_arguments', 'arguments', null],
} as const;

function responseEventsOf({ parts, at }: Item): readonly Typed[] {
  const item = responseItem({ parts, at });
  const empty = { ...item, ...('content' in item && { content: [] }), ...('summary' in item && { summary: [] }) };
  const begun = { ...empty, ...('arguments' in item && { arguments: '' }), encrypted_content: undefined };
  return [
    { type: 'response.output_item.added', output_index: at, item: begun },
    ...parts.flatMap((part, place) => responsePartEvents(part, place, { item_id: item['id'], output_index: at })),
    { type: 'response.output_item.done', output_index: at, item },
  ];
}

function responsePartEvents(part: Part, at: number, of: object): readonly Typed[] {
  const [family, field, index] = voices[part.kind === 'image' ? 'text' : part.kind];
  const place = { ...of, ...(index !== null && { [index]: at }) };
  const annotation = { type: 'url_citation', ...cite };
  return [
    ...('pieces' in part ? part.pieces.map((delta) => ({ type: `${family}.delta`, ...place, delta })) : []),
    ...('cites' in part && part.cites
      ? [{ type: 'response.output_text.annotation.added', ...place, annotation_index: 0, annotation }]
      : []),
    ...(textOf(part) === '' ? [] : [{ type: `${family}.done`, ...place, [field]: textOf(part) }]),
  ];
}

function responseBody(answer: AnyAnswer): { readonly status: string } {
  const { finish } = answer;
  const isCut = finish === 'length' || finish === 'filter';
  return {
    id: 'resp_up',
    object: 'response',
    created_at: 1,
    model: 'up-1',
    status: isCut ? 'incomplete' : 'completed',
    error: null,
    incomplete_details: isCut ? { reason: finish === 'length' ? 'max_output_tokens' : 'content_filter' } : null,
    output: responseItems(answer).map(responseItem),
    ...(hasUsage(answer) && { usage: responseCounts }),
  } as { status: string };
}

const responseHabits: Habits<Typed> = {
  repeats: ({ type }) => ['response.created', 'response.output_item.added', 'response.output_item.done'].includes(type),
  skips: ({ type }) => /^response\.(?:in_progress|output_item\.added|\w+\.done)$/.test(type) && type !== 'response.output_item.done',
  ends: ({ type }) => /^response\.(?:completed|incomplete)$/.test(type),
  late: { type: 'response.output_text.delta', item_id: 'late', output_index: 9, content_index: 0, delta: 'late' },
};

const responses: Wire = {
  dialect: 'openai-responses',
  type: 'text/event-stream',
  keepsOrder: true,
  events: (answer) => {
    const body = responseBody(answer);
    const events = [
      { type: 'response.created', response: { ...body, status: 'in_progress', output: [], usage: null } },
      ...(answer.noise ? [{ type: 'keepalive' }, { type: 'response.event_of_tomorrow' }] : []),
      ...inOrder(
        answer,
        responseItems(answer).map((item) => ({ part: item.parts[0] as Part, at: item.at, item })),
        ({ item }) => responseEventsOf(item),
      ),
      ...(answer.finish === 'none' ? [] : [{ type: `response.${body.status}`, response: body }]),
    ];
    return habitual<Typed>(answer, events, responseHabits).map((event, at) => named({ ...event, sequence_number: at }));
  },
  error: named({ type: 'error', code: 'server_error', message: 'It broke.', param: null }),
  body: responseBody,
};

export const wires: readonly Wire[] = [chat, messages, gemini, converse, responses];
