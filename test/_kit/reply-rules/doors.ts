/** The endpoints, as clients ask them, and how they read what comes back. */
import { brokenBy } from '../request-rules/rule.ts';
import { type ChatAsked, chatOf, chatReplyRules, chatStreamRules } from './chat.ts';
import { type Heard, heardIn, isJsonObject } from './heard.ts';
import { messageOf, messageReplyRules, messageStreamRules } from './messages.ts';
import { responseReplyRules, responseStreamRules } from './responses.ts';

export interface Asked extends ChatAsked {
  /** The client wants the state of the thinking. */
  readonly wantsState: boolean;
  /** The client is Claude Code. */
  readonly isCli: boolean;
}

/** What was said, in no wire format: neighbours of one kind are one piece. */
export type Said = readonly (readonly [kind: string, text: string])[];

export interface Door {
  readonly path: string;
  readonly body: (asked: Asked) => object;
  readonly headers: (asked: Asked) => Record<string, string>;
  /** The rules that a plain answer breaks. */
  readonly brokenByBody: (body: any, asked: Asked) => readonly string[];
  /** The rules that a stream breaks, and the whole answer that it adds up to where it did not fail. */
  readonly brokenByStream: (heard: Heard, asked: Asked) => readonly string[];
  /** The whole answer of a stream; null: it failed. */
  readonly wholeOf: (heard: Heard, asked: Asked) => any;
  readonly saidIn: (whole: any) => Said;
  /** Why the answer ended, its counts, its lists, and the state of its thoughts. */
  readonly endOf: (whole: any, asked: Asked) => unknown;
}

const tools = ['weather', 'search'];
const parameters = { type: 'object', properties: { city: { type: 'string' } } };

const chatTools = ({ tools: form }: Asked): object => {
  if (form === 'functions') return { functions: tools.map((name) => ({ name, parameters })) };
  return {
    tools: tools.map((name) =>
      form === 'custom' && name === 'search' ? { type: 'custom', custom: { name } } : { type: 'function', function: { name, parameters } },
    ),
  };
};

const joined = (pieces: Said): Said =>
  pieces
    .filter(([kind, text]) => kind === 'call' || text !== '')
    .reduce<(readonly [string, string])[]>((all, [kind, text]) => {
      const last = all.at(-1);
      return last?.[0] === kind && kind !== 'call' ? [...all.slice(0, -1), [kind, last[1] + text]] : [...all, [kind, text]];
    }, []);

/** A call as it is compared. An id that a dialect made may be another one in a body. */
const called = (id: string, name: string, input: string): readonly [string, string] => [
  'call',
  `${/^[a-z]+_[\w-]{20,}$/.test(id) ? 'made' : id} ${name} ${isJsonObject(input) ? JSON.stringify(JSON.parse(input)) : input}`,
];

const chat: Door = {
  path: '/v1/chat/completions',
  headers: ({ isJava }): Record<string, string> => (isJava ? { 'x-stainless-lang': 'java' } : {}),
  body: (asked) => ({
    messages: [{ role: 'user', content: 'Hi' }],
    ...chatTools(asked),
    ...(asked.wantsUsage && { stream_options: { include_usage: true } }),
  }),
  brokenByBody: (body, asked) => brokenBy(chatReplyRules, { body, asked }),
  brokenByStream: (heard, asked) => {
    const whole = chat.wholeOf(heard, asked);
    return [...brokenBy(chatStreamRules, { heard, asked }), ...(whole === null ? [] : brokenBy(chatReplyRules, { body: whole, asked }))];
  },
  wholeOf: (heard, asked) => (heard.events.some((event) => 'error' in event) ? null : chatOf({ heard, asked })),
  saidIn: ({ choices }) =>
    joined(
      choices.flatMap(({ message, index }: any) => [
        ['choice', String(index)],
        ['thought', message.reasoning ?? ''],
        ['text', message.content ?? ''],
        ['refusal', message.refusal ?? ''],
        ['details', JSON.stringify(message.reasoning_details ?? [])],
        ['lists', JSON.stringify([message.annotations, message.images])],
        ...(message.tool_calls ?? []).map((call: any) =>
          called(call.id, (call.function ?? call.custom).name, call.function?.arguments ?? call.custom.input),
        ),
        ...(message.function_call === undefined ? [] : [called('', message.function_call.name, message.function_call.arguments)]),
      ]),
    ),
  endOf: ({ choices, usage, ...more }) => [choices.map((choice: any) => choice.finish_reason), usage, Object.keys(more).toSorted()],
};

/** The state that the provider gave, without the marks of thoughts that have none. */
const statesIn = (opaques: readonly string[]): readonly string[] =>
  opaques.filter((one) => Buffer.from(one.replace('gw1_', ''), 'base64url').includes('"provider"')).toSorted();

const messages: Door = {
  path: '/v1/messages',
  headers: ({ isCli }): Record<string, string> => ({ 'anthropic-version': '2023-06-01', ...(isCli && { 'x-app': 'cli' }) }),
  body: () => ({
    max_tokens: 1000,
    messages: [{ role: 'user', content: 'Hi' }],
    tools: tools.map((name) => ({ name, input_schema: parameters })),
  }),
  brokenByBody: (body) => brokenBy(messageReplyRules, { body }),
  brokenByStream: (heard, asked) => {
    const whole = messages.wholeOf(heard, asked);
    return [...brokenBy(messageStreamRules, { heard }), ...(whole === null ? [] : brokenBy(messageReplyRules, { body: whole }))];
  },
  wholeOf: (heard) => (heard.events.some(({ type }) => type === 'error') ? null : messageOf({ heard })),
  saidIn: ({ content }) =>
    joined(
      content.flatMap((block: any) => [
        ['thought', block.thinking ?? ''],
        ['text', block.text ?? ''],
        ...(block.type === 'tool_use' ? [called(block.id, block.name, JSON.stringify(block.input))] : []),
      ]),
    ),
  endOf: ({ stop_reason: reason, stop_sequence: sequence, usage, content }, { isCli }) => [
    reason,
    sequence,
    usage,
    content.flatMap(({ citations = [] }: any) => citations),
    // a stream for Claude Code leaves out state that comes last (plugins/endpoints/messages/README.md)
    isCli ? [] : statesIn(content.flatMap(({ signature = [], data = [] }: any) => [signature, data].flat())),
  ],
};

const responses: Door = {
  path: '/v1/responses',
  headers: () => ({}),
  body: ({ wantsState, tools: form }) => ({
    input: 'Hi',
    tools: tools.map((name) =>
      form === 'custom' && name === 'search' ? { type: 'custom', name } : { type: 'function', name, parameters },
    ),
    ...(wantsState && { include: ['reasoning.encrypted_content'] }),
  }),
  brokenByBody: (body) => brokenBy(responseReplyRules, { body }),
  brokenByStream: (heard) => [
    ...brokenBy(responseStreamRules, { heard }),
    ...brokenBy(responseReplyRules, { body: heard.events.at(-1)?.response ?? {} }),
  ],
  wholeOf: (heard) => (heard.events.at(-1)?.type === 'response.failed' ? null : heard.events.at(-1)?.response),
  saidIn: ({ output }) =>
    joined(
      output.flatMap((item: any) => [
        ...(item.summary ?? []).map(({ text }: any) => ['thought', text]),
        ...(item.content ?? []).map(({ text, refusal }: any) => (refusal === undefined ? ['text', text] : ['refusal', refusal])),
        ...(item.call_id === undefined ? [] : [called(item.call_id, item.name, item.arguments ?? item.input)]),
      ]),
    ),
  endOf: ({ status, incomplete_details: details, usage, output }) => [
    status,
    details,
    usage,
    output.flatMap(({ images = [] }: any) => images),
    statesIn(output.flatMap(({ encrypted_content: state = [] }: any) => state)),
    output.flatMap(({ content = [] }: any) => content.flatMap(({ annotations = [] }: any) => annotations)),
  ],
};

export const doors = { chat, messages, responses } as const;

export const heard = heardIn;
