/**
 * Checks the body of a request for a response, and reads it as a chat request. Fields that other APIs have too
 * go to their place in it; fields that only this API has are kept as `native`, for providers that speak it.
 */
import { unsetReasoning } from '../../../core/chat.ts';
import type { ChatRequest, Message, Native, ResponseFormat } from '../../../core/chat.ts';
import { unknownOptions } from '../../../core/wire/adjustments.ts';
import {
  bodyFields,
  boolean,
  type Check,
  count,
  integer,
  list,
  listOf,
  modelName,
  number,
  object,
  optional,
  text,
  wrongValue,
} from '../../../core/wire/checks.ts';
import { type Fields, isFields, listOf as entriesOf } from '../../../core/wire/fields.ts';
import { fields, someFields, unsupported } from './checks.ts';
import { itemsOf, messagesOf, referenceOf } from './items.ts';
import type { Conversation } from './items.ts';
import { toolChoice, toolList, withAdditional } from './tools.ts';

/** The name of this wire format (`ChatRequest.form`). */
export const form = 'responses';

/** Data of the request that the door needs to write its answer. The log keeps it with the request. */
export interface Kept {
  /** Null: the caller did not say. */
  readonly store: boolean | null;
  readonly previous_response_id: string | null;
  /** Parameters that the answer repeats, as the caller sent them. */
  readonly parameters: Fields;
}

export const keptOf = ({ door }: Pick<ChatRequest, 'door'>): Kept => door as unknown as Kept;

/** Whether the message holds the instructions of the request, which count for this request alone. */
export const isInstructions = ({ native }: Message): boolean => native?.fields['instructions'] === true;

/** References that must be looked up before the items can be read: the previous response, and items that are only referenced. */
export interface Unread {
  readonly previous: string | null;
  readonly items: readonly unknown[];
}

export interface Parsed {
  readonly request: ChatRequest;
  /** Null: nothing must be looked up. */
  readonly unread: Unread | null;
}

/** Parameters that the answer repeats. */
const repeated = [
  'background',
  'max_output_tokens',
  'max_tool_calls',
  'metadata',
  'parallel_tool_calls',
  'prompt',
  'prompt_cache_key',
  'prompt_cache_retention',
  'reasoning',
  'safety_identifier',
  'service_tier',
  'temperature',
  'text',
  'tool_choice',
  'top_logprobs',
  'top_p',
  'truncation',
  'user',
];

export function parseResponseRequest(given: unknown): Parsed {
  const body = bodyFields(given);
  const { input, instructions, previous_response_id: previous, conversation, background, ...parameters } = body;
  refuseUnkept(conversation, background);
  refuseSeveral(parameters['n']);
  const said = optional('instructions', instructions, text);
  const previousId = optional('previous_response_id', previous, text);
  const items = itemsIn(input, previousId !== null || isFields(parameters['prompt']));
  const isUnread = previousId !== null || items.some((item) => referenceOf(item) !== null);
  const read = isUnread ? nothingRead : messagesOf(items);
  // wire: OpenAI answers 400 to an input without an item, and reasoning without the item that it led to is left out
  if (items.length > 0 && !isUnread && read.messages.length === 0) throw wrongValue('input', 'must hold more than reasoning');
  const request = requestOf(body, parameters, said === null ? read : withInstructions(said, read));
  return { request, unread: isUnread ? { previous: previousId, items } : null };
}

/** @param mayBeEmpty the conversation is elsewhere: in a previous response, or in a stored prompt */
function itemsIn(input: unknown, mayBeEmpty: boolean): readonly unknown[] {
  const items = (input ?? null) === null && mayBeEmpty ? [] : itemsOf(input);
  if (items.length === 0 && !mayBeEmpty) throw wrongValue('input', 'must hold at least one item');
  return items;
}

const nothingRead: Conversation = { messages: [], adjustments: [] };

const withInstructions = (said: string, { messages, adjustments }: Conversation): Conversation => ({
  messages: [{ role: 'system', content: said, native: { fields: { instructions: true } } }, ...messages],
  adjustments,
});

/** @param parameters the fields of the body without the conversation */
function requestOf(body: Fields, parameters: Fields, { messages, adjustments: ofItems }: Conversation): ChatRequest {
  const {
    model,
    stream,
    stream_options: streamOptions,
    store,
    tools,
    tool_choice: choice,
    parallel_tool_calls: parallel,
    max_output_tokens: most,
    temperature,
    top_p: topP,
    top_logprobs: alternatives,
    user,
    text: form_,
    include,
    reasoning,
    ...more
  } = parameters;
  const adjustments = [...unknownOptions(optional('stream_options', streamOptions, object)), ...ofItems];
  const wanted = optional('text', form_, fields) ?? none;
  const thinking = optional('reasoning', reasoning, fields) ?? none;
  const included = optional('include', include, listOf(text)) ?? [];
  // 0 alternatives is the default, and other APIs refuse the number without the probabilities
  const topLogprobs = optional('top_logprobs', alternatives, integer) || null;
  return {
    form,
    door: doorOf(body, optional('store', store, boolean)) as unknown as Fields,
    model: modelName(model),
    messages,
    stream: optional('stream', stream, boolean) ?? false,
    includeUsage: false,
    reasoning: unsetReasoning,
    tools: withAdditional(optional('tools', tools, toolList), messages),
    toolChoice: optional('tool_choice', choice, toolChoice),
    parallelToolCalls: optional('parallel_tool_calls', parallel, boolean),
    responseFormat: optional('text.format', wanted['format'], responseFormat),
    maxTokens: optional('max_output_tokens', most, count),
    temperature: optional('temperature', temperature, number),
    topP: optional('top_p', topP, number),
    logprobs: included.includes(logprobs) || (topLogprobs ?? 0) > 0 ? true : null,
    topLogprobs,
    user: optional('user', user, text),
    ...unknownHere,
    rest: restOf(more, wanted, thinking),
    ...nativeOf({ more, wanted, thinking, included }),
    ...(adjustments.length > 0 && { adjustments }),
  };
}

const none: Fields = {};

const doorOf = (body: Fields, store: boolean | null): Kept => ({
  store,
  previous_response_id: optional('previous_response_id', body['previous_response_id'], text),
  parameters: Object.fromEntries(repeated.flatMap((name) => ((body[name] ?? null) === null ? [] : [[name, body[name]]]))),
});

/** Parameters of other APIs. */
const unknownHere = { stop: null, seed: null, n: null, presencePenalty: null, frequencyPenalty: null, logitBias: null };

const logprobs = 'message.output_text.logprobs';

/** safety: a provider would keep a conversation or a background run, outside the gateway's control. */
function refuseUnkept(conversation: unknown, background: unknown): void {
  if (conversation !== undefined && conversation !== null) throw unsupported('conversation', noConversations);
  if (optional('background', background, boolean) === true) throw unsupported('background', noBackground);
}

const noConversations = 'The gateway keeps no conversations. Send "previous_response_id", or the items of the conversation in "input".';
const noBackground = 'The gateway answers no requests in the background. Leave out "background", or send it as false.';

/**
 * A response has no place for a second answer. A provider of chat completions would give it, and the caller would pay for what nobody sees.
 */
function refuseSeveral(n: unknown): void {
  if (typeof n === 'number' && n > 1) throw unsupported('n', 'A response is one answer. Leave out "n", or send it as 1.');
}

/** Top-level fields that only this API knows, and whether a value asks for something. */
const own: Readonly<Record<string, (value: unknown) => boolean>> = {
  truncation: (value) => value !== 'disabled',
  max_tool_calls: () => true,
  context_management: (value) => entriesOf(value).length > 0,
  prompt: () => true,
  image: () => true,
  access_programs: () => true,
  // a client's description of itself
  client_metadata: () => false,
};

/** wire: the highest effort of OpenAI's newest models (OpenAI: Reasoning models, GPT-5.6), for which no other format has a word */
const highest = 'max';

/** Fields that chat completions has too, and unknown fields, which a provider may know. */
function restOf(more: Fields, { verbosity }: Fields, { effort, max_tokens: budget }: Fields): Fields {
  const others = Object.entries(more).filter(([field, value]) => !Object.hasOwn(own, field) && value !== null);
  const thinking = {
    ...(effort !== undefined && { effort: effort === highest ? 'xhigh' : effort }),
    ...(budget !== undefined && { max_tokens: budget }),
  };
  return {
    ...Object.fromEntries(others),
    ...(verbosity !== undefined && { verbosity }),
    ...(someFields(thinking) !== undefined && { reasoning: thinking }),
  };
}

interface Asked {
  readonly more: Fields;
  readonly wanted: Fields;
  readonly thinking: Fields;
  readonly included: readonly string[];
}

function nativeOf({ more, wanted, thinking, included }: Asked): { native?: Native } {
  const { format: _, verbosity: _verbosity, ...textFields } = wanted;
  const { effort, max_tokens: _budget, ...others } = thinking;
  const reasoning = { ...others, ...(effort === highest && { effort }) };
  const given = Object.entries(more).filter(([field, value]) => Object.hasOwn(own, field) && value !== null);
  const lost = [
    ...given.filter(([field, value]) => own[field]?.(value)).map(([field]) => field),
    ...Object.keys(textFields).map((field) => `text.${field}`),
    ...Object.keys(others)
      .filter((field) => field !== 'summary' && field !== 'generate_summary')
      .map((field) => `reasoning.${field}`),
    ...included.filter((name) => name !== logprobs && name !== 'reasoning.encrypted_content').map((name) => `include.${name}`),
  ];
  const fields: Fields = {
    ...Object.fromEntries(given),
    ...(someFields(textFields) && { text: textFields }),
    ...(someFields(reasoning) && { reasoning }),
    ...(included.length > 0 && { include: included }),
  };
  if (someFields(fields) === undefined) return {};
  const native: Native = {
    fields,
    lost,
    ...(effort === highest && { changed: [{ parameter: 'reasoning_effort', change: 'taken as xhigh' }] }),
    ...(fields['prompt'] !== undefined && { needed: storedPrompt }),
  };
  return { native };
}

const storedPrompt = {
  param: 'prompt',
  message: 'No provider of this model knows stored prompts. Send the text in "instructions" or "input".',
};

const responseFormat: Check<ResponseFormat> = (param, value) => {
  const { type: given, ...described } = fields(param, value);
  const type = text(`${param}.type`, given);
  if (type === 'text' || type === 'json_object') return { type };
  if (type !== 'json_schema') throw wrongValue(`${param}.type`, 'must be "text", "json_object" or "json_schema"');
  const name = text(`${param}.name`, described['name']);
  optional(`${param}.schema`, described['schema'], fields);
  optional(`${param}.strict`, described['strict'], boolean);
  return { type, json_schema: { ...described, name } };
};

/** The same request with the messages that were looked up. */
export function withItems(request: ChatRequest, before: readonly Message[], items: readonly unknown[]): ChatRequest {
  const { messages, adjustments } = messagesOf(list('input', items));
  const conversation = [...before, ...messages];
  const all = [...(request.adjustments ?? []), ...adjustments];
  return {
    ...request,
    messages: [...request.messages.filter(isInstructions), ...conversation],
    tools: withAdditional(request.tools, conversation),
    ...(all.length > 0 && { adjustments: all }),
  };
}
