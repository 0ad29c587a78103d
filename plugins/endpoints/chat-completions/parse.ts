/** A caller's body, checked field by field. What nobody here knows stays in `rest`. */
import type { ChatRequest, Message, ResponseFormat, Tool, ToolChoice } from '../../../core/chat.ts';
import { GatewayError } from '../../../core/errors.ts';

type Fields = Record<string, unknown>;

const kindOf = (value: unknown): string => (value === null ? 'null' : Array.isArray(value) ? 'an array' : typeof value === 'object' ? 'an object' : `a ${typeof value}`);

const missing = (param: string, wanted: string): GatewayError => new GatewayError('missing_required_parameter', `"${param}" is required: ${wanted}.`, { param });
const wrongType = (param: string, wanted: string, value: unknown): GatewayError => new GatewayError('invalid_type', `"${param}" must be ${wanted}, not ${kindOf(value)}.`, { param });
const wrongValue = (param: string, text: string): GatewayError => new GatewayError('invalid_value', `"${param}" ${text}.`, { param });

const isObject = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);

export function parseChatRequest(body: unknown): ChatRequest {
  if (!isObject(body)) throw new GatewayError('invalid_type', `The request body must be a JSON object, not ${kindOf(body)}.`);
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
    seed: optional('seed', seed, number),
    n: optional('n', n, count),
    presencePenalty: optional('presence_penalty', presence_penalty, number),
    frequencyPenalty: optional('frequency_penalty', frequency_penalty, number),
    logitBias: optional('logit_bias', logit_bias, object) as ChatRequest['logitBias'],
    logprobs: optional('logprobs', logprobs, boolean),
    topLogprobs: optional('top_logprobs', top_logprobs, number),
    user: optional('user', user, text),
    rest,
  };
}

type Check<T> = (param: string, value: unknown) => T;

/** An explicit null is the same as nothing. */
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
  if (!Number.isFinite(value)) throw wrongValue(param, 'is larger than any number that can be sent on');
  return value;
};

const count: Check<number> = (param, value) => {
  const checked = number(param, value);
  if (!Number.isSafeInteger(checked) || checked < 1) throw wrongValue(param, 'must be a whole number of at least 1');
  return checked;
};

const object: Check<Fields> = (param, value) => {
  if (!isObject(value)) throw wrongType(param, 'an object', value);
  return value;
};

const list: Check<unknown[]> = (param, value) => {
  if (!Array.isArray(value)) throw wrongType(param, 'an array', value);
  return value;
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
  const messages = list('messages', value);
  if (messages.length === 0) throw wrongValue('messages', 'must hold at least one message');
  for (const [at, message] of messages.entries()) checkMessage(`messages[${at}]`, message);
  return messages as Message[];
}

function checkMessage(param: string, value: unknown): void {
  const message = object(param, value);
  const { role, content, tool_calls: calls } = message;
  if (role === undefined) throw missing(`${param}.role`, `one of ${[...roles].join(', ')}`);
  if (!roles.has(text(`${param}.role`, role))) throw wrongValue(`${param}.role`, `must be one of ${[...roles].join(', ')}`);
  if (Array.isArray(content)) {
    for (const [at, part] of content.entries()) text(`${param}.content[${at}].type`, object(`${param}.content[${at}]`, part)['type']);
  } else if (content === undefined || content === null) {
    if (role !== 'assistant') throw missing(`${param}.content`, 'a string, or an array of parts');
  } else if (typeof content !== 'string') throw wrongType(`${param}.content`, 'a string or an array of parts', content);
  if (role === 'tool') text(`${param}.tool_call_id`, message['tool_call_id'] ?? missingId(param));
  for (const [at, call] of (optional(`${param}.tool_calls`, calls, list) ?? []).entries()) checkToolCall(`${param}.tool_calls[${at}]`, call);
}

function missingId(param: string): never {
  throw missing(`${param}.tool_call_id`, 'the id of the call that this message answers');
}

function checkToolCall(param: string, value: unknown): void {
  const call = object(param, value);
  text(`${param}.id`, call['id']);
  const called = object(`${param}.function`, call['function']);
  text(`${param}.function.name`, called['name']);
  text(`${param}.function.arguments`, called['arguments']);
}

const toolList: Check<Tool[] | null> = (param, value) => {
  const tools = list(param, value);
  for (const [at, tool] of tools.entries()) {
    const place = `${param}[${at}]`;
    const { type, function: described } = object(place, tool);
    if (text(`${place}.type`, type) === 'function') text(`${place}.function.name`, object(`${place}.function`, described)['name']);
  }
  return tools.length === 0 ? null : (tools as Tool[]);
};

const toolChoice: Check<ToolChoice> = (param, value) => {
  if (typeof value !== 'string') return object(param, value) as unknown as ToolChoice;
  if (value !== 'auto' && value !== 'none' && value !== 'required') throw wrongValue(param, 'must be "auto", "none", "required", or an object that names a function');
  return value;
};

const responseFormat: Check<ResponseFormat> = (param, value) => {
  const format = object(param, value);
  if (text(`${param}.type`, format['type']) === 'json_schema') text(`${param}.json_schema.name`, object(`${param}.json_schema`, format['json_schema'])['name']);
  return format as unknown as ResponseFormat;
};

const stopSequences: Check<string | string[]> = (param, value) => {
  if (typeof value === 'string') return value;
  return list(param, value).map((item, at) => text(`${param}[${at}]`, item));
};
