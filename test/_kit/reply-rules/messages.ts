/** What clients of the Messages API can read. */
import { isObject, listIn, pairs, repeated, type Rule, unless } from '../request-rules/rule.ts';
import { framed, type Heard, isCount, isJsonObject, placesOf } from './heard.ts';

export interface MessageReply {
  readonly body: any;
}

export interface MessageStream {
  readonly heard: Heard;
}

const blocksOf = ({ body }: MessageReply): readonly any[] => listIn(body.content);
const isCut = (reason: unknown): boolean => ['max_tokens', 'model_context_window_exceeded', 'refusal'].includes(String(reason));

const isSound = (block: any): boolean => {
  switch (block.type) {
    case 'text':
      return typeof block.text === 'string' && (block.citations === undefined || Array.isArray(block.citations));
    case 'thinking':
      return typeof block.thinking === 'string' && typeof block.signature === 'string' && block.signature !== '';
    case 'redacted_thinking':
      return typeof block.data === 'string' && block.data !== '';
    case 'tool_use':
      return (
        typeof block.id === 'string' && block.id !== '' && typeof block.name === 'string' && block.name !== '' && isObject(block.input)
      );
    default:
      return false;
  }
};

const reasons = [
  'end_turn',
  'max_tokens',
  'stop_sequence',
  'tool_use',
  'pause_turn',
  'compaction',
  'refusal',
  'model_context_window_exceeded',
];

const isUsage = (usage: any): boolean =>
  isCount(usage?.input_tokens) &&
  isCount(usage.output_tokens) &&
  [usage.cache_read_input_tokens, usage.cache_creation_input_tokens].every((count) => count === null || isCount(count));

/** The rules of a whole message, plain or added up from its events. */
export const messageReplyRules: readonly Rule<MessageReply>[] = [
  {
    rule: 'it is a message of the assistant, with an id and a model',
    source: 'anthropic-sdk-typescript: Message',
    offenders: ({ body }) =>
      unless(/^msg_./.test(body.id) && body.type === 'message' && body.role === 'assistant' && /.+\/.+/.test(body.model), body),
  },
  {
    rule: 'a block has the fields of its type',
    source: 'anthropic-sdk-typescript: ContentBlock',
    offenders: (reply) => blocksOf(reply).filter((block) => !isSound(block)),
  },
  {
    rule: 'no text is empty',
    source: 'Anthropic: Errors, "text content blocks must be non-empty": the client sends the message back as it came',
    offenders: (reply) => blocksOf(reply).filter(({ type, text }) => type === 'text' && text === ''),
  },
  {
    rule: 'each call has an id of its own',
    source: 'Anthropic: error text "`tool_use` ids must be unique"',
    offenders: (reply) => repeated(blocksOf(reply).flatMap(({ type, id }) => (type === 'tool_use' ? [id] : []))),
  },
  {
    rule: 'it stops for a known reason',
    source: 'anthropic-sdk-typescript: StopReason',
    offenders: ({ body }) => unless(reasons.includes(body.stop_reason) && 'stop_sequence' in body, body.stop_reason),
  },
  {
    rule: 'it stops for its calls where it has calls, and else not, unless it was cut',
    source: 'Anthropic: Handling stop reasons, tool_use',
    offenders: (reply) => {
      const hasCalls = blocksOf(reply).some(({ type }) => type === 'tool_use');
      const reason = reply.body.stop_reason;
      return unless(isCut(reason) || hasCalls === (reason === 'tool_use'), [reason, blocksOf(reply).map(({ type }) => type)]);
    },
  },
  {
    rule: 'the counts are numbers',
    source: 'anthropic-sdk-typescript: Usage',
    offenders: ({ body }) => unless(isUsage(body.usage), body.usage),
  },
];

const ofType = ({ heard }: MessageStream, type: string): readonly any[] => heard.events.filter((event) => event.type === type);
const isWhole = ({ heard }: MessageStream): boolean => heard.events.at(-1)?.type === 'message_stop';
const inBlock = ({ heard }: MessageStream): readonly any[] => heard.events.filter(({ type }) => type.startsWith('content_block_'));

/** The events of each block, by its number. */
const byBlock = (stream: MessageStream): readonly (readonly any[])[] => [...Map.groupBy(inBlock(stream), ({ index }) => index).values()];

/** The types of deltas that a block takes. */
const deltas: Readonly<Record<string, readonly string[]>> = {
  text: ['text_delta', 'citations_delta'],
  thinking: ['thinking_delta', 'signature_delta'],
  tool_use: ['input_json_delta'],
  redacted_thinking: [],
};

const deltaTypes = (ofBlock: readonly any[]): readonly string[] => ofBlock.flatMap(({ delta }) => delta?.type ?? []);

const inputIn = (ofBlock: readonly any[]): string => ofBlock.map(({ delta }) => delta?.partial_json ?? '').join('');

/** The rules of the events; what they add up to has the rules of a whole message. */
export const messageStreamRules: readonly Rule<MessageStream>[] = [
  framed,
  {
    rule: 'the name of an event is its type',
    source: 'Anthropic: Streaming messages, Event types',
    offenders: ({ heard }) => heard.frames.filter(({ name, data }) => JSON.parse(data).type !== name),
  },
  {
    rule: 'it begins once, with message_start, which has no content and no reason',
    source: 'Anthropic: Streaming messages, Event types',
    offenders: (stream) => {
      const { events } = stream.heard;
      const starts = ofType(stream, 'message_start');
      const { message } = starts[0] ?? {};
      const isFirst = events[0]?.type === 'message_start' || (events[0]?.type === 'error' && events.length === 1);
      const isEmpty = message === undefined || (message.content.length === 0 && message.stop_reason === null && isUsage(message.usage));
      return unless(isFirst && starts.length <= 1 && isEmpty, events.slice(0, 2));
    },
  },
  {
    rule: 'it ends once: with one message_delta and message_stop, or with an error and neither',
    source: 'Anthropic: Streaming messages, Event types and Error events',
    offenders: (stream) => {
      const ends = stream.heard.events
        .map(({ type }) => type)
        .flatMap((type, at, all) => (['message_delta', 'message_stop', 'error'].includes(type) ? [`${type} ${at - all.length}`] : []));
      return unless(['message_delta -2,message_stop -1', 'error -1'].includes(ends.join()), ends);
    },
  },
  {
    rule: 'no event is of an unknown type',
    source: 'anthropic-sdk-typescript: MessageStreamEvent',
    offenders: ({ heard }) =>
      heard.events.filter(({ type }) => !/^(?:message_(?:start|delta|stop)|content_block_(?:start|delta|stop)|ping|error)$/.test(type)),
  },
  {
    rule: 'the blocks come one after the other, numbered from 0',
    source:
      'Anthropic: Streaming messages, "a series of content blocks, each of which have a content_block_start, …, and a content_block_stop"',
    offenders: (stream) => {
      const numbers = inBlock(stream).map(({ index }) => index);
      return pairs(numbers)
        .filter(([one, next], at) => (at === 0 && one !== 0) || (next !== undefined && next !== one && next !== one + 1))
        .concat(byBlock(stream).some((ofBlock, at) => ofBlock[0].index !== at) ? [[numbers.at(0), numbers.at(-1)]] : []);
    },
  },
  {
    rule: 'a block starts once and first, and stops once and last',
    source: 'Anthropic: Streaming messages, Event types',
    offenders: (stream) =>
      byBlock(stream).filter((ofBlock, at, all) => {
        const starts = placesOf(ofBlock, ({ type }) => type === 'content_block_start');
        const stops = placesOf(ofBlock, ({ type }) => type === 'content_block_stop');
        const isOpen = !isWhole(stream) && at === all.length - 1 && stops.length === 0;
        return starts.join() !== '0' || (!isOpen && stops.join() !== String(ofBlock.length - 1));
      }),
  },
  {
    rule: 'a block starts empty',
    source: 'Anthropic: Streaming messages: clients add the deltas to what the start has',
    offenders: (stream) =>
      ofType(stream, 'content_block_start').filter(
        ({ content_block: { text = '', thinking = '', signature = '', input = {}, citations = [] } }) =>
          text + thinking + signature !== '' || Object.keys(input).length > 0 || citations.length > 0,
      ),
  },
  {
    rule: 'a delta is of a type that its block takes',
    source: 'anthropic-sdk-typescript: MessageStream, #accumulateMessage drops any other',
    offenders: (stream) =>
      byBlock(stream).filter(([start, ...rest]) => deltaTypes(rest).some((type) => !deltas[start.content_block?.type]?.includes(type))),
  },
  {
    rule: 'the piece in a delta is a text, and a citation is an object',
    source: 'anthropic-sdk-typescript: RawContentBlockDelta',
    offenders: (stream) =>
      ofType(stream, 'content_block_delta').filter(({ delta }) => {
        const { type: _, citation, ...text } = delta;
        return citation === undefined ? Object.values(text).some((piece) => typeof piece !== 'string') : !isObject(citation);
      }),
  },
  {
    rule: 'the signature of a thought comes once, before its stop and after its text',
    source: 'Anthropic: Streaming messages, Thinking delta, "signature_delta … just before the content_block_stop event"',
    offenders: (stream) =>
      byBlock(stream).filter((ofBlock) => {
        if (ofBlock[0].content_block?.type !== 'thinking') return false;
        const places = placesOf(ofBlock, ({ delta }) => delta?.type === 'signature_delta');
        const isStopped = ofBlock.at(-1).type === 'content_block_stop';
        return places.join() !== (isStopped ? String(ofBlock.length - 2) : '');
      }),
  },
  {
    rule: 'the input of a call is a whole JSON object, unless the answer was cut',
    source: 'Anthropic: Streaming messages, Input JSON delta',
    offenders: (stream) =>
      isWhole(stream) && !isCut(ofType(stream, 'message_delta')[0]?.delta.stop_reason)
        ? byBlock(stream)
            .filter(([start]) => start.content_block?.type === 'tool_use')
            .map(inputIn)
            .filter((input) => input !== '' && !isJsonObject(input))
        : [],
  },
  {
    rule: 'the counts grow',
    source: 'Anthropic: Streaming messages, "The token counts shown in the usage field of the message_delta event are cumulative."',
    offenders: (stream) => {
      const [start] = ofType(stream, 'message_start');
      return ofType(stream, 'message_delta').filter(
        ({ usage }) =>
          !isUsage(usage) ||
          usage.output_tokens < start.message.usage.output_tokens ||
          usage.input_tokens < start.message.usage.input_tokens,
      );
    },
  },
  {
    rule: 'an error has a type and a message',
    source: 'Anthropic: Streaming messages, Error events',
    offenders: (stream) =>
      ofType(stream, 'error').filter(({ error }) => typeof error?.type !== 'string' || typeof error.message !== 'string'),
  },
];

function blockOf([start, ...rest]: readonly any[]): any {
  const block = structuredClone(start.content_block);
  for (const { delta = {} } of rest) {
    if (delta.type === 'text_delta') block.text += delta.text;
    else if (delta.type === 'thinking_delta') block.thinking += delta.thinking;
    else if (delta.type === 'signature_delta') block.signature = delta.signature;
    else if (delta.type === 'citations_delta') (block.citations ??= []).push(delta.citation);
  }
  const input = inputIn(rest);
  return input === '' ? block : { ...block, input: isJsonObject(input) ? JSON.parse(input) : { arguments: input } };
}

/** The whole message that the events add up to. */
export function messageOf(stream: MessageStream): any {
  const { delta, usage } = ofType(stream, 'message_delta')[0] ?? {};
  const { message } = ofType(stream, 'message_start')[0] ?? {};
  return { ...message, ...delta, content: byBlock(stream).map(blockOf), usage: { ...message?.usage, ...usage } };
}
