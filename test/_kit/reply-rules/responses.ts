/** What clients of the Responses API can read. */
import { isDeepStrictEqual } from 'node:util';
import { isObject, listIn, repeated, type Rule, unless } from '../request-rules/rule.ts';
import { framed, type Heard, isCount, isJsonObject, placesOf } from './heard.ts';

export interface ResponseReply {
  readonly body: any;
}

export interface ResponseStream {
  readonly heard: Heard;
}

const itemsOf = ({ body }: ResponseReply): readonly any[] => listIn(body.output);
const partsOf = (item: any): readonly any[] => [...listIn(item.summary), ...listIn(item.content)];

const isPart = ({ type, text, refusal, annotations, logprobs }: any): boolean => {
  if (type === 'refusal') return typeof refusal === 'string';
  if (type === 'output_text') return typeof text === 'string' && Array.isArray(annotations) && Array.isArray(logprobs);
  return (type === 'summary_text' || type === 'reasoning_text') && typeof text === 'string';
};

const isSound = (item: any): boolean => {
  switch (item.type) {
    case 'message':
      return item.role === 'assistant' && Array.isArray(item.content);
    case 'reasoning':
      return Array.isArray(item.summary);
    case 'function_call':
      return [item.call_id, item.name].every((text) => typeof text === 'string' && text !== '') && typeof item.arguments === 'string';
    case 'custom_tool_call':
      return [item.call_id, item.name].every((text) => typeof text === 'string' && text !== '') && typeof item.input === 'string';
    default:
      return false;
  }
};

const isUsage = (usage: any): boolean =>
  isCount(usage.input_tokens) && isCount(usage.output_tokens) && usage.total_tokens === usage.input_tokens + usage.output_tokens;

/** The rules of a whole response, plain or at the end of a stream. */
export const responseReplyRules: readonly Rule<ResponseReply>[] = [
  {
    rule: 'it is a response with an id, a time and a model',
    source: 'openai-node: Response',
    offenders: ({ body }) =>
      unless(/^resp_./.test(body.id) && body.object === 'response' && isCount(body.created_at) && /.+\/.+/.test(body.model), body),
  },
  {
    rule: 'it is completed, or says why it is not',
    source: 'openai-node: Response.incomplete_details and error',
    offenders: ({ body: { status, error, incomplete_details: details } }) =>
      unless(
        (status === 'completed' && error === null && details === null) ||
          (status === 'incomplete' && error === null && ['max_output_tokens', 'content_filter'].includes(details?.reason)) ||
          (status === 'failed' && typeof error?.code === 'string' && typeof error.message === 'string'),
        [status, error, details],
      ),
  },
  {
    rule: 'an item has the fields of its type',
    source: 'openai-node: ResponseOutputItem',
    offenders: (reply) => itemsOf(reply).filter((item) => !isSound(item) || !partsOf(item).every(isPart)),
  },
  {
    rule: 'each item has an id of its own, which shows its type',
    source: 'openai-node: ResponseOutputMessage.id, "The unique ID of the output message."; OpenAI refuses an id with another prefix',
    offenders: (reply) => {
      const prefixes: Readonly<Record<string, RegExp>> = {
        message: /^msg_/,
        reasoning: /^rs_/,
        function_call: /^fc_/,
        custom_tool_call: /^ctc_/,
      };
      return [
        ...repeated(itemsOf(reply).map(({ id }) => id)),
        ...itemsOf(reply).filter(({ type, id }) => prefixes[type]?.test(id) !== true),
      ];
    },
  },
  {
    rule: 'each call has an id of its own',
    source: 'openai-node: ResponseFunctionToolCall.call_id',
    offenders: (reply) => repeated(itemsOf(reply).flatMap(({ call_id: id = [] }) => id)),
  },
  {
    rule: 'the items of a completed response are completed; only the last one of an incomplete one is not',
    source: 'openai-node: ResponseOutputMessage.status',
    offenders: (reply) => {
      const { status } = reply.body;
      if (status === 'failed') return [];
      const said = itemsOf(reply).filter(({ type }) => type !== 'reasoning');
      return said.filter(
        (item, at) => item.status !== 'completed' && !(item.status === 'incomplete' && status === 'incomplete' && at === said.length - 1),
      );
    },
  },
  {
    rule: 'the arguments of a completed call are whole JSON',
    source: 'openai-node: ResponseFunctionToolCall.arguments, "A JSON string of the arguments to pass to the function."',
    offenders: (reply) =>
      itemsOf(reply).filter(
        ({ type, status, arguments: text }) => type === 'function_call' && status === 'completed' && !isJsonObject(text),
      ),
  },
  {
    rule: 'the counts are numbers, and the total is their sum',
    source: 'openai-node: ResponseUsage',
    offenders: ({ body: { usage } }) => unless(usage === null || isUsage(usage), usage),
  },
];

const ofType = ({ heard }: ResponseStream, type: RegExp): readonly any[] => heard.events.filter((event) => type.test(event.type));
const ends = /^response\.(?:completed|incomplete|failed)$/;
const isWhole = ({ heard }: ResponseStream): boolean => /^response\.(?:completed|incomplete)$/.test(heard.events.at(-1)?.type);
const ofItem = ({ heard }: ResponseStream): readonly any[] => heard.events.filter(({ output_index: at }) => at !== undefined);

/** The events of each item, by its place. */
const byItem = (stream: ResponseStream): readonly (readonly any[])[] =>
  [...Map.groupBy(ofItem(stream), ({ output_index: at }) => at)].toSorted(([one], [other]) => one - other).map(([, events]) => events);

const partOf = ({ content_index: content, summary_index: summary }: any): string =>
  content === undefined ? `summary ${summary}` : `content ${content}`;

/** The events of each part of each item. */
const byPart = (stream: ResponseStream): readonly (readonly any[])[] =>
  byItem(stream).flatMap((events) => [
    ...Map.groupBy(
      events.filter((event) => 'content_index' in event || 'summary_index' in event),
      partOf,
    ).values(),
  ]);

const saidIn = (events: readonly any[]): string => events.map(({ type, delta }) => (type.endsWith('.delta') ? delta : '')).join('');
const wholeIn = ({ text, refusal, arguments: call, input }: any): string | undefined => text ?? refusal ?? call ?? input;

/** What a part may be made of: it begins, has its deltas, its whole text, and is done. A late annotation may follow. */
const ofPart =
  /^(?:content_part|reasoning_summary_part)\.added(?: (\w+)\.delta| output_text\.annotation\.added)*(?: (\w+)\.done (?:content_part|reasoning_summary_part)\.done(?: output_text\.annotation\.added)*)?$/;

const namesIn = (events: readonly any[]): string => events.map(({ type }) => type.replace('response.', '')).join(' ');

/** The families of the deltas of an item. */
const families: Readonly<Record<string, RegExp>> = {
  message: /^response\.(?:output_item|content_part|output_text|refusal)\./,
  reasoning: /^response\.(?:output_item|content_part|reasoning_text|reasoning_summary_part|reasoning_summary_text)\./,
  function_call: /^response\.(?:output_item|function_call_arguments)\./,
  custom_tool_call: /^response\.(?:output_item|custom_tool_call_input)\./,
};

const isAnnotation = ({ type }: any): boolean => type === 'response.output_text.annotation.added';

const ofOrder: readonly Rule<ResponseStream>[] = [
  framed,
  {
    rule: 'the name of an event is its type',
    source: 'OpenAI: Responses, Streaming events',
    offenders: ({ heard }) => heard.frames.filter(({ name, data }) => data === '[DONE]' || JSON.parse(data).type !== name),
  },
  {
    rule: 'the events are numbered from 0',
    source: 'openai-node: ResponseStreamEvent.sequence_number',
    offenders: ({ heard }) => heard.events.filter(({ sequence_number: number }, at) => number !== at),
  },
  {
    rule: 'it begins with created and in_progress, once each',
    source: 'OpenAI: Responses, Streaming events',
    offenders: ({ heard }) =>
      unless(
        placesOf(heard.events, ({ type }) => /^response\.(?:created|in_progress)$/.test(type)).join() === '0,1' &&
          heard.events[0].type === 'response.created' &&
          heard.events.slice(0, 2).every(({ response }) => response.status === 'in_progress' && response.output.length === 0),
        heard.events.slice(0, 2),
      ),
  },
  {
    rule: 'it ends once, and an error comes just before response.failed',
    source: 'OpenAI: Responses, Streaming events; plugins/endpoints/responses/README.md',
    offenders: ({ heard: { events } }) => {
      const last = placesOf(events, ({ type }) => ends.test(type));
      const errors = placesOf(events, ({ type }) => type === 'error');
      const isFailed = events.at(-1)?.type === 'response.failed';
      return unless(
        last.join() === String(events.length - 1) && errors.join() === (isFailed ? String(events.length - 2) : ''),
        events.slice(-2),
      );
    },
  },
  {
    rule: 'the response is the same in all events, and its status is the name of the event',
    source: 'openai-node: ResponseCompletedEvent',
    offenders: ({ heard }) => {
      const responses = heard.events.flatMap(({ type, response }) => (response === undefined ? [] : [{ type, response }]));
      const head = ({ id, created_at: created, model }: any): string => JSON.stringify([id, created, model]);
      return responses.filter(
        ({ type, response }, at) =>
          head(response) !== head(responses[0]?.response) || (at > 1 && type !== `response.${response.status as string}`),
      );
    },
  },
];

const ofItems: readonly Rule<ResponseStream>[] = [
  {
    rule: 'the items are numbered from 0, in the order in which they are added',
    source: 'openai-node: ResponseOutputItemAddedEvent.output_index',
    offenders: (stream) => ofType(stream, /^response\.output_item\.added$/).filter(({ output_index: number }, at) => number !== at),
  },
  {
    rule: 'an item is added once and first, and done once; only an annotation may follow',
    source: 'OpenAI: Responses, Streaming events',
    offenders: (stream) =>
      byItem(stream).filter((events) => {
        const added = placesOf(events, ({ type }) => type === 'response.output_item.added');
        const done = placesOf(events, ({ type }) => type === 'response.output_item.done');
        const isOpen = done.length === 0 && !isWhole(stream);
        return added.join() !== '0' || (!isOpen && (done.length !== 1 || !events.slice((done[0] ?? 0) + 1).every(isAnnotation)));
      }),
  },
  {
    rule: 'an event has the id of its item, and is of a kind that its item has',
    source: 'openai-node: ResponseTextDeltaEvent.item_id',
    offenders: (stream) =>
      byItem(stream).flatMap((events) =>
        events.filter(
          ({ type, item_id: id, item }) => (item?.id ?? id) !== events[0].item?.id || !families[events[0].item.type]?.test(type),
        ),
      ),
  },
  {
    rule: 'an item is added without its texts',
    source: 'openai-node: ResponseAccumulator: it adds the deltas to what the item has',
    offenders: (stream) =>
      ofType(stream, /^response\.output_item\.added$/).filter(
        ({ item }) => partsOf(item).length > 0 || (item.arguments ?? item.input ?? '') !== '',
      ),
  },
  {
    rule: 'the parts of an item are numbered from 0',
    source: 'openai-node: ResponseContentPartAddedEvent.content_index',
    offenders: (stream) =>
      byItem(stream).filter((events) => {
        const added = events.filter(({ type }) => type.endsWith('_part.added'));
        return [...Map.groupBy(added, (event) => 'content_index' in event).values()].some((parts) =>
          parts.some((event, at) => (event.content_index ?? event.summary_index) !== at),
        );
      }),
  },
  {
    rule: 'a part begins, is filled, and is done',
    source: 'OpenAI: Responses, Streaming events',
    offenders: (stream) =>
      byPart(stream)
        .map(namesIn)
        .filter((names) => {
          const [, delta, done] = ofPart.exec(names) ?? [null];
          return (
            !ofPart.test(names) || (done === undefined && isWhole(stream)) || (delta !== undefined && done !== undefined && delta !== done)
          );
        }),
  },
  {
    rule: 'a part is done before the next one of its item begins',
    source: 'OpenAI: Responses, Streaming events',
    offenders: (stream) =>
      byItem(stream).filter((events) => {
        const marks = events.filter(({ type }) => /_part\.(?:added|done)$/.test(type)).map(({ type }) => type.endsWith('.added'));
        return marks.some((isAdded, at) => isAdded !== (at % 2 === 0));
      }),
  },
  {
    rule: 'the deltas add up to the whole text of the part or the call',
    source: 'openai-node: ResponseTextDoneEvent.text, "The text content that is finalized."',
    offenders: (stream) =>
      [...byPart(stream), ...byItem(stream)].filter((events) => {
        const wholes = events.filter((event) => event.type.endsWith('.done') && wholeIn(event) !== undefined);
        return wholes.length === 1 && wholeIn(wholes[0]) !== saidIn(events);
      }),
  },
  {
    rule: 'the event at the end of a call comes once',
    source: 'openai-node: ResponseFunctionCallArgumentsDoneEvent',
    offenders: (stream) =>
      byItem(stream).filter((events) => {
        const isCall = events[0].item.type.endsWith('_call');
        const dones = events.filter(({ type }) => /(?:arguments|input)\.done$/.test(type)).length;
        const isDone = events.some(({ type }) => type === 'response.output_item.done');
        return dones !== (isCall && isDone ? 1 : 0);
      }),
  },
  {
    rule: 'the last response has the items that were streamed',
    source: 'openai-node: ResponseCompletedEvent.response',
    offenders: (stream) => {
      if (!isWhole(stream)) return [];
      const { response } = stream.heard.events.at(-1);
      const streamed = outputOf(stream);
      return unless(isDeepStrictEqual(listIn(response.output).map(early), streamed), [response.output, streamed]);
    },
  },
];

export const responseStreamRules: readonly Rule<ResponseStream>[] = [...ofOrder, ...ofItems];

/** Lists of a message that may grow after it is done, and have no events. */
const early = (item: any): any => ({ ...item, images: undefined });

/** The items put together from the events: each as it was done, with the annotations that came for it. */
function outputOf(stream: ResponseStream): readonly any[] {
  return byItem(stream).map((events) => {
    const { item } = events.findLast(({ type }) => type === 'response.output_item.done') ?? events[0];
    const content = structuredClone(item.content);
    for (const part of listIn(content)) if (isObject(part) && 'annotations' in part) part['annotations'] = [];
    for (const event of events.filter(isAnnotation)) content[event.content_index].annotations[event.annotation_index] = event.annotation;
    return early(content === undefined ? item : { ...item, content });
  });
}
