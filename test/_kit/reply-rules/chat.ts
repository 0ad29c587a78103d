/** What clients of the chat completions API can read. */
import { isObject, lacking, listIn, repeated, type Rule, unknownFields, unless } from '../request-rules/rule.ts';
import { framed, type Heard, isCount, isJsonObject, placesOf } from './heard.ts';

export interface ChatAsked {
  /** `stream_options.include_usage` */
  readonly wantsUsage: boolean;
  /** The client is openai-java. */
  readonly isJava: boolean;
  /** How the caller declares its tools. */
  readonly tools: 'tools' | 'custom' | 'functions';
}

export interface ChatReply {
  readonly body: any;
  readonly asked: ChatAsked;
}

export interface ChatStream {
  readonly heard: Heard;
  readonly asked: ChatAsked;
}

const choicesOf = ({ body }: ChatReply): readonly any[] => listIn(body.choices);
const messagesOf = (reply: ChatReply): readonly any[] => choicesOf(reply).map(({ message }) => message);
const callsOf = (message: any): readonly any[] => listIn(message?.tool_calls);

const messageFields = [
  'role',
  'content',
  'refusal',
  'reasoning',
  'reasoning_content',
  'reasoning_details',
  'tool_calls',
  'function_call',
  'annotations',
  'images',
];

const finishes = ['stop', 'length', 'tool_calls', 'content_filter', 'function_call'];

/** The rules of a whole completion, plain or added up from its chunks. */
export const chatReplyRules: readonly Rule<ChatReply>[] = [
  {
    rule: 'it names itself, its time and its model',
    source: 'openai-node: ChatCompletion',
    offenders: ({ body }) =>
      unless(/^chatcmpl-./.test(body.id) && isCount(body.created) && /^.+\/.+/.test(body.model) && body.object === 'chat.completion', body),
  },
  {
    rule: 'choices are numbered from 0',
    source: 'openai-node: ChatCompletion.Choice.index, "The index of the choice in the list of choices."',
    offenders: (reply) => (choicesOf(reply).length === 0 ? [reply.body] : choicesOf(reply).filter(({ index }, at) => index !== at)),
  },
  {
    rule: 'a message is of the assistant, and its content is a text or null',
    source: 'openai-node: ChatCompletionMessage',
    offenders: (reply) =>
      messagesOf(reply).filter(({ role, content }) => role !== 'assistant' || (content !== null && typeof content !== 'string')),
  },
  {
    rule: 'no field of a message is unknown',
    source: 'openai-node: ChatCompletionMessage; OpenRouter: API reference',
    offenders: (reply) => messagesOf(reply).flatMap((message) => unknownFields(message, messageFields)),
  },
  {
    rule: 'a choice ends for a known reason',
    source: 'openai-node: ChatCompletion.Choice.finish_reason',
    offenders: (reply) => choicesOf(reply).filter(({ finish_reason: finish }) => !finishes.includes(finish)),
  },
  {
    rule: 'a choice ends with calls where it has calls, or else with a text, unless it was cut',
    source: 'OpenAI: Function calling; clients run tools by this reason',
    offenders: (reply) =>
      choicesOf(reply).filter(({ finish_reason: finish, message }) => {
        if (finish === 'length' || finish === 'content_filter') return false;
        if (message.function_call !== undefined) return finish !== 'function_call';
        return finish !== (callsOf(message).length > 0 ? 'tool_calls' : 'stop');
      }),
  },
  {
    rule: 'each call has an id of its own',
    source: 'openai-node: ChatCompletionMessageFunctionToolCall.id',
    offenders: (reply) =>
      messagesOf(reply).flatMap((message) => {
        const ids = callsOf(message).map(({ id }) => id);
        return [...repeated(ids), ...ids.filter((id) => typeof id !== 'string' || id === '')];
      }),
  },
  {
    rule: 'a call has the form that was declared',
    source: 'openai-node: ChatCompletionMessageToolCall',
    offenders: (reply) =>
      messagesOf(reply).flatMap((message) =>
        reply.asked.tools === 'functions'
          ? callsOf(message)
          : callsOf(message).filter(({ type, function: called, custom }) =>
              reply.asked.tools === 'custom' && custom !== undefined
                ? type !== 'custom' || typeof custom.name !== 'string' || typeof custom.input !== 'string'
                : type !== 'function' || typeof called?.name !== 'string' || called.name === '',
            ),
      ),
  },
  {
    rule: 'the arguments are whole JSON, unless the answer was cut',
    source: 'openai-node: ChatCompletionMessageFunctionToolCall.Function.arguments',
    offenders: (reply) =>
      choicesOf(reply).flatMap(({ finish_reason: finish, message }) =>
        finish === 'length'
          ? []
          : [...callsOf(message).map(({ function: called }) => called), message.function_call].filter(
              (called) => called !== undefined && !isJsonObject(called.arguments),
            ),
      ),
  },
  {
    rule: 'the thinking is the same text in both fields, and is not empty',
    source: 'spec: choices[].message.reasoning; README: Reasoning',
    offenders: (reply) =>
      messagesOf(reply).filter(
        ({ reasoning, reasoning_content: other }) =>
          reasoning !== other || (reasoning !== undefined && (reasoning === '' || typeof reasoning !== 'string')),
      ),
  },
  {
    rule: 'the state of the thinking is a list of objects with a type',
    source: 'OpenRouter: Reasoning tokens, reasoning_details',
    offenders: (reply) =>
      messagesOf(reply).filter(
        ({ reasoning_details: details = [{ type: 'reasoning.text' }] }) =>
          !Array.isArray(details) ||
          details.length === 0 ||
          details.some((one) => !/^reasoning\.(?:text|summary|encrypted)$/.test(one?.type)),
      ),
  },
  {
    rule: 'the counts are numbers, and the total is their sum',
    source: 'openai-node: CompletionUsage',
    offenders: ({ body: { usage } }) =>
      unless(
        usage === undefined ||
          (isCount(usage.prompt_tokens) &&
            isCount(usage.completion_tokens) &&
            usage.total_tokens === usage.prompt_tokens + usage.completion_tokens &&
            (usage.reasoning_tokens ?? 0) <= usage.completion_tokens),
        usage,
      ),
  },
];

const isError = (event: any): boolean => 'error' in event;
const chunksOf = ({ heard }: ChatStream): readonly any[] => heard.events.filter((event) => !isError(event));
const isWhole = ({ heard }: ChatStream): boolean => heard.frames.at(-1)?.data === '[DONE]';

/** The events of each choice, by its number. */
const byChoice = (stream: ChatStream): ReadonlyMap<number, readonly any[]> =>
  Map.groupBy(
    chunksOf(stream).flatMap(({ choices }) => listIn(choices)),
    ({ index }) => index,
  );

const deltasOf = (choices: readonly any[]): readonly any[] => choices.map(({ delta }) => delta);
const pieces = (choices: readonly any[]): readonly any[] => deltasOf(choices).flatMap((delta) => listIn(delta?.tool_calls));
const isNoText = (value: unknown): boolean => typeof value !== 'string';
const isEmpty = (value: object): boolean => Object.keys(value).length === 0;

/** The rules of the chunks; what they add up to has the rules of a whole completion. */
export const chatStreamRules: readonly Rule<ChatStream>[] = [
  framed,
  {
    rule: 'no event has a name',
    source: 'OpenAI: Chat completions, streaming (data-only server-sent events)',
    offenders: ({ heard }) => heard.frames.filter(({ name }) => name !== null),
  },
  {
    rule: 'it ends once: with [DONE], or with an error and no [DONE]',
    source: 'OpenAI: Chat completions, stream; plugins/endpoints/chat-completions/README.md',
    offenders: ({ heard: { frames, events } }) => {
      const marks = frames.flatMap(({ data }, at) => (data === '[DONE]' ? [at] : []));
      const errors = placesOf(events, isError);
      return unless(marks.length + errors.length === 1 && (marks[0] ?? errors[0]) === frames.length - 1, frames.slice(-2));
    },
  },
  {
    rule: 'all chunks have the same id, time and model',
    source: 'openai-node: ChatCompletionChunk.id, "Each chunk has the same ID.", and created, "Each chunk has the same timestamp."',
    offenders: (stream) => {
      const heads = chunksOf(stream).map(({ id, created, model, object }) => JSON.stringify([id, created, model, object]));
      return heads.filter((head) => head !== heads[0] || !head.endsWith('"chat.completion.chunk"]'));
    },
  },
  {
    rule: 'a chunk has choices; only the last one may have none, with counts that were asked for',
    source: 'openai-node: ChatCompletionChunk.choices, "Can also be empty for the last chunk if you set stream_options"',
    offenders: (stream) =>
      chunksOf(stream).filter(({ choices, usage }, at, all) =>
        Array.isArray(choices) && choices.length > 0
          ? false
          : !Array.isArray(choices) || !stream.asked.wantsUsage || usage === undefined || at < all.length - 1,
      ),
  },
  {
    rule: 'counts come once, in the last chunk',
    source: 'plugins/endpoints/chat-completions/README.md, "Where a stream has its token counts"',
    offenders: (stream) =>
      chunksOf(stream).filter(
        ({ usage, choices }, at, all) =>
          (usage ?? null) !== null && (at < all.length - 1 || (stream.asked.wantsUsage && listIn(choices).length > 0)),
      ),
  },
  {
    rule: 'the first chunk of a choice has the role, and no other has it',
    source: 'OpenAI: Chat completions, streaming',
    offenders: (stream) =>
      [...byChoice(stream).values()].filter((choices) =>
        deltasOf(choices).some(({ role }, at) => role !== (at === 0 ? 'assistant' : undefined)),
      ),
  },
  {
    rule: 'the choices are numbered from 0',
    source: 'openai-node: ChatCompletionChunk.Choice.index',
    offenders: (stream) => {
      const numbers = [...byChoice(stream).keys()];
      return isWhole(stream) ? lacking(numbers, Array.from(numbers.keys())) : [];
    },
  },
  {
    rule: 'a choice ends once, and nothing of it follows but counts',
    source: 'openai-node: ChatCompletionChunk.Choice.finish_reason',
    offenders: (stream) =>
      [...byChoice(stream).values()].filter((choices) => {
        const ends = placesOf(choices, ({ finish_reason: finish }) => finish !== null);
        const after = ends[0] === undefined ? [] : deltasOf(choices.slice(ends[0] + 1));
        return ends.length !== (isWhole(stream) ? 1 : 0) || (after.length > 0 && !(stream.asked.isJava && after.every(isEmpty)));
      }),
  },
  {
    rule: 'the calls are numbered from 0, in the order in which they begin',
    source: 'openai-node: ChatCompletionStream takes the number as a place in a list',
    offenders: (stream) =>
      [...byChoice(stream).values()].filter((choices) => {
        const numbers = [...new Set(pieces(choices).map(({ index }) => index))];
        return numbers.some((number, at) => number !== at);
      }),
  },
  {
    rule: 'only the first piece of a call has its id and its name',
    source: 'openai-python: accumulate_delta joins texts, so a name that comes twice is doubled',
    offenders: (stream) =>
      [...byChoice(stream).values()].flatMap((choices) =>
        [...Map.groupBy(pieces(choices), ({ index }) => index).values()].filter((ofCall) =>
          ofCall.some(
            ({ id, type, function: called, custom }, at) =>
              (at === 0) !== (id !== undefined) ||
              (at === 0) !== (type !== undefined) ||
              (at === 0) !== ((called ?? custom).name !== undefined),
          ),
        ),
      ),
  },
  {
    rule: 'a piece is a text',
    source: 'openai-node: ChatCompletionChunk.Choice.Delta',
    offenders: (stream) =>
      [...byChoice(stream).values()].flatMap((choices) => [
        ...deltasOf(choices).filter((delta) =>
          [delta.content ?? '', delta.reasoning ?? '', delta.refusal ?? '', delta.function_call?.arguments ?? ''].some(isNoText),
        ),
        ...pieces(choices).filter(({ function: called, custom }) =>
          isNoText((called ?? custom)[custom === undefined ? 'arguments' : 'input']),
        ),
      ]),
  },
  {
    rule: 'no field of a delta is unknown',
    source: 'openai-node: ChatCompletionChunk.Choice.Delta',
    offenders: (stream) => [...byChoice(stream).values()].flatMap(deltasOf).flatMap((delta) => unknownFields(delta, messageFields)),
  },
  {
    rule: 'an error has a message, a type and a code',
    source: 'spec: Errors',
    offenders: ({ heard }) =>
      heard.events.filter((event) => isError(event) && ['message', 'type', 'code'].some((field) => typeof event.error[field] !== 'string')),
  },
];

/** A value with another added to it, as the clients add up deltas. */
function added(before: any, value: any): any {
  if (before === undefined || before === null) return value;
  if (value === null) return before;
  if (typeof before === 'string' && typeof value === 'string') return before + value;
  if (isObject(before) && isObject(value)) {
    return Object.entries(value).reduce((sum, [field, one]) => ({ ...sum, [field]: added(sum[field], one) }), before);
  }
  return Array.isArray(before) && Array.isArray(value) ? [...before, ...value] : value;
}

function addedCalls(deltas: readonly any[]): readonly any[] {
  const calls: any[] = [];
  for (const { index, ...piece } of deltas.flatMap((delta) => listIn(delta.tool_calls))) calls[index] = added(calls[index], piece);
  return calls;
}

/** The whole completion that the chunks add up to. */
export function chatOf(stream: ChatStream): any {
  const chunks = chunksOf(stream);
  const { object: _, usage: __, ...head } = chunks.at(-1) ?? {};
  const usage = chunks.findLast((chunk) => chunk.usage)?.usage;
  return {
    ...head,
    object: 'chat.completion',
    choices: [...byChoice(stream)]
      .toSorted(([one], [other]) => one - other)
      .map(([index, choices]) => {
        const deltas = deltasOf(choices);
        const { tool_calls: calls, content = null, ...message } = deltas.reduce(added, {});
        return {
          index,
          message: { ...message, content, ...(calls !== undefined && { tool_calls: addedCalls(deltas) }) },
          finish_reason: choices.find(({ finish_reason: finish }) => finish !== null)?.finish_reason ?? null,
        };
      }),
    ...(usage && { usage }),
  };
}
