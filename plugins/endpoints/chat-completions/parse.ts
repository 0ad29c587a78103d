/**
 * Checks the body of a chat request field by field, so that later stages can trust the types of `core/chat.ts`. Fields that are not
 * known here are kept: those of the body in `rest`, all others at their own place.
 */
import type { ChatRequest, ContentPart, Message, ResponseFormat, Tool, ToolCall, ToolChoice } from '../../../core/chat.ts';
import { GatewayError } from '../../../core/errors.ts';
import { isFields } from '../../../core/wire/fields.ts';
import type { Fields } from '../../../core/wire/fields.ts';

function kindOf(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  return Array.isArray(value) ? 'an array' : typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

const missing = (param: string, wanted: string): GatewayError => new GatewayError('missing_required_parameter', `"${param}" is required: ${wanted}.`, { param });
const wrongType = (param: string, wanted: string, value: unknown): GatewayError => new GatewayError('invalid_type', `"${param}" must be ${wanted}, not ${kindOf(value)}.`, { param });
const wrongValue = (param: string, text: string): GatewayError => new GatewayError('invalid_value', `"${param}" ${text}.`, { param });

/**
 * The request that a JSON body describes. Throws a `GatewayError` with the `param` at fault: `missing_required_parameter`,
 * `invalid_type` or `invalid_value`.
 */
export function parseChatRequest(body: unknown): ChatRequest {
  if (!isFields(body)) throw new GatewayError('invalid_type', `The request body must be a JSON object, not ${kindOf(body)}.`);
  const { model, messages, stream, stream_options, tools, tool_choice, parallel_tool_calls, response_format, max_tokens, max_completion_tokens, ...more } = body;
  const { temperature, top_p, stop, seed, n, presence_penalty, frequency_penalty, logit_bias, logprobs, top_logprobs, user, ...rest } = more;
  const streamOptions = optional('stream_options', stream_options, object);
  return {
    model: modelName(model),
    messages: messageList(messages),
    stream: optional('stream', stream, boolean) ?? false,
    includeUsage: optional('stream_options.include_usage', streamOptions?.['include_usage'], boolean) ?? false,
    reasoning: { effort: null, maxTokens: null },
    tools: optional('tools', tools, toolList),
    toolChoice: optional('tool_choice', tool_choice, toolChoice),
    parallelToolCalls: optional('parallel_tool_calls', parallel_tool_calls, boolean),
    responseFormat: optional('response_format', response_format, responseFormat),
    maxTokens: optional('max_completion_tokens', max_completion_tokens, count) ?? optional('max_tokens', max_tokens, count),
    temperature: optional('temperature', temperature, number),
    topP: optional('top_p', top_p, number),
    stop: optional('stop', stop, stopSequences),
    seed: optional('seed', seed, integer),
    n: optional('n', n, count),
    presencePenalty: optional('presence_penalty', presence_penalty, number),
    frequencyPenalty: optional('frequency_penalty', frequency_penalty, number),
    logitBias: optional('logit_bias', logit_bias, numbers),
    logprobs: optional('logprobs', logprobs, boolean),
    topLogprobs: optional('top_logprobs', top_logprobs, integer),
    user: optional('user', user, text),
    rest,
  };
}

type Check<T> = (param: string, value: unknown) => T;

/** Checks a value that may be absent; null counts as absent. */
const optional = <T>(param: string, value: unknown, check: Check<T>): T | null => (value === undefined || value === null ? null : check(param, value));

const text: Check<string> = (param, value) => {
  if (typeof value !== 'string') throw wrongType(param, 'a string', value);
  return value;
};

const boolean: Check<boolean> = (param, value) => {
  if (typeof value !== 'boolean') throw wrongType(param, 'a boolean', value);
  return value;
};

const number: Check<number> = (param, value) => {
  if (typeof value !== 'number') throw wrongType(param, 'a number', value);
  return value;
};

/** A whole number that a float holds exactly. A larger number would lose digits, and the provider would get another number than the caller sent. */
const integer: Check<number> = (param, value) => {
  const checked = number(param, value);
  if (!Number.isSafeInteger(checked)) throw wrongValue(param, `must be a whole number from ${Number.MIN_SAFE_INTEGER} to ${Number.MAX_SAFE_INTEGER}`);
  return checked;
};

const count: Check<number> = (param, value) => {
  const checked = number(param, value);
  if (!Number.isSafeInteger(checked) || checked < 1) throw wrongValue(param, 'must be a whole number of at least 1');
  return checked;
};

const object: Check<Fields> = (param, value) => {
  if (!isFields(value)) throw wrongType(param, 'an object', value);
  return value;
};

/** An object inside the body, without its fields that are null, because null means absent. `content` stays, because a message with tool calls has `content: null`. */
const fields: Check<Fields> = (param, value) => {
  const given = object(param, value);
  if (!Object.values(given).includes(null)) return given;
  return Object.fromEntries(Object.entries(given).filter(([field, inner]) => inner !== null || field === 'content'));
};

const list: Check<unknown[]> = (param, value) => {
  if (!Array.isArray(value)) throw wrongType(param, 'an array', value);
  return value;
};

const listOf = <T>(check: Check<T>): Check<T[]> => (param, value) => list(param, value).map((item, at) => check(`${param}[${at}]`, item));

const numbers: Check<Record<string, number>> = (param, value) => {
  const given = object(param, value);
  for (const inner of Object.values(given)) if (typeof inner !== 'number') throw wrongType(param, 'an object of numbers', inner);
  return given as Record<string, number>;
};

function modelName(value: unknown): string {
  if (value === undefined || value === null) throw missing('model', 'the id of a model, see GET /v1/models');
  const name = text('model', value);
  if (name.trim() === '') throw wrongValue('model', 'must not be empty');
  return name;
}

const roles = new Set(['system', 'developer', 'user', 'assistant', 'tool']);

function messageList(value: unknown): Message[] {
  if (value === undefined || value === null) throw missing('messages', 'the conversation, an array of {role, content}');
  const messages = listOf(message)('messages', value);
  if (messages.length === 0) throw wrongValue('messages', 'must hold at least one message');
  return messages;
}

function message(param: string, value: unknown): Message {
  const given = fields(param, value);
  const { role, content, tool_calls: calls, tool_call_id: id, reasoning_details: details } = given;
  if (role === undefined) throw missing(`${param}.role`, `one of ${[...roles].join(', ')}`);
  if (!roles.has(text(`${param}.role`, role))) throw wrongValue(`${param}.role`, `must be one of ${[...roles].join(', ')}`);
  if (role === 'tool' && id === undefined) throw missing(`${param}.tool_call_id`, 'the id of the call that this message answers');
  for (const field of ['tool_call_id', 'reasoning', 'reasoning_content']) optional(`${param}.${field}`, given[field], text);
  optional(`${param}.reasoning_details`, details, listOf(object));
  const parts = messageContent(`${param}.content`, content, role === 'assistant');
  const checkedCalls = optional(`${param}.tool_calls`, calls, listOf(toolCall));
  return { ...given, ...(parts !== null && { content: parts }), ...(checkedCalls !== null && { tool_calls: checkedCalls }) } as Message;
}

/** The checked parts of a content that is a list; null for a text or an absent content. */
function messageContent(param: string, content: unknown, isOptional: boolean): ContentPart[] | null {
  if (Array.isArray(content)) return listOf(contentPart)(param, content);
  if ((content === undefined || content === null) && !isOptional) throw missing(param, 'a string, or an array of parts');
  if (content !== undefined && content !== null && typeof content !== 'string') throw wrongType(param, 'a string or an array of parts', content);
  return null;
}

const contentPart: Check<ContentPart> = (param, value) => {
  const part = fields(param, value);
  text(`${param}.type`, part['type']);
  optional(`${param}.text`, part['text'], text);
  return part as ContentPart;
};

const toolCall: Check<ToolCall> = (param, value) => {
  const call = fields(param, value);
  text(`${param}.id`, call['id']);
  optional(`${param}.type`, call['type'], text);
  const called = object(`${param}.function`, call['function']);
  text(`${param}.function.name`, called['name']);
  text(`${param}.function.arguments`, called['arguments']);
  return call as ToolCall;
};

const toolList: Check<Tool[] | null> = (param, value) => {
  const tools = listOf(tool)(param, value);
  return tools.length === 0 ? null : tools;
};

const tool: Check<Tool> = (param, value) => {
  const given = fields(param, value);
  const type = text(`${param}.type`, given['type']);
  if (type !== 'function' && given['function'] === undefined) return given as Tool;
  const described = fields(`${param}.function`, given['function']);
  text(`${param}.function.name`, described['name']);
  optional(`${param}.function.description`, described['description'], text);
  optional(`${param}.function.parameters`, described['parameters'], object);
  optional(`${param}.function.strict`, described['strict'], boolean);
  return { ...given, function: described } as Tool;
};

const toolChoice: Check<ToolChoice> = (param, value) => {
  if (typeof value === 'string') {
    if (value !== 'auto' && value !== 'none' && value !== 'required') throw wrongValue(param, 'must be "auto", "none", "required", or an object that names a function');
    return value;
  }
  const choice = fields(param, value);
  text(`${param}.type`, choice['type']);
  const named = optional(`${param}.function`, choice['function'], object);
  if (named !== null) text(`${param}.function.name`, named['name']);
  return choice as Exclude<ToolChoice, string>;
};

const responseFormat: Check<ResponseFormat> = (param, value) => {
  const format = fields(param, value);
  const type = text(`${param}.type`, format['type']);
  if (type !== 'json_schema' && format['json_schema'] === undefined) return format as ResponseFormat;
  const described = fields(`${param}.json_schema`, format['json_schema']);
  text(`${param}.json_schema.name`, described['name']);
  optional(`${param}.json_schema.schema`, described['schema'], object);
  optional(`${param}.json_schema.strict`, described['strict'], boolean);
  return { ...format, json_schema: described } as ResponseFormat;
};

const stopSequences: Check<string | string[]> = (param, value) => (typeof value === 'string' ? value : listOf(text)(param, value));
