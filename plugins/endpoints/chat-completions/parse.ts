/**
 * Checks the body of a chat request field by field, so that later stages can trust the types of `core/chat.ts`. Fields that are not
 * known here are kept: those of the body in `rest`, all others at their own place.
 */
import { unsetReasoning } from '../../../core/chat.ts';
import type { ChatRequest, ContentPart, Message, ReasoningDetail, ResponseFormat, Tool, ToolCall, ToolChoice } from '../../../core/chat.ts';
import { unknownOptions } from '../../../core/wire/adjustments.ts';
import {
  bodyFields,
  boolean,
  type Check,
  count,
  integer,
  listOf,
  missing,
  modelName,
  number,
  object,
  optional,
  text,
  wrongType,
  wrongValue,
} from '../../../core/wire/checks.ts';
import type { Fields } from '../../../core/wire/fields.ts';
import { withoutCustomTools } from './custom-tools.ts';
import { declaresFunctions, withTools } from './functions.ts';
import { openedDetail } from '../../../core/wire/opaque.ts';

/**
 * The request that a JSON body describes. Throws a `GatewayError` with the `param` at fault: `missing_required_parameter`,
 * `invalid_type` or `invalid_value`.
 */
export function parseChatRequest(body: unknown): ChatRequest {
  const given = bodyFields(body);
  const { body: plain, names, adjustments: ofTools } = withoutCustomTools(withTools(given));
  const {
    model,
    messages,
    stream,
    stream_options,
    tools,
    tool_choice,
    parallel_tool_calls,
    response_format,
    max_tokens,
    max_completion_tokens,
    temperature,
    top_p,
    stop,
    seed,
    n,
    presence_penalty,
    frequency_penalty,
    logit_bias,
    logprobs,
    top_logprobs,
    user,
    ...rest
  } = plain;
  const hasFunctions = declaresFunctions(given);
  const streamOptions = optional('stream_options', stream_options, object);
  const adjustments = [...ofTools, ...unknownOptions(streamOptions)];
  return {
    model: modelName(model),
    messages: messageList(messages),
    stream: optional('stream', stream, boolean) ?? false,
    includeUsage: optional('stream_options.include_usage', streamOptions?.['include_usage'], boolean) ?? false,
    reasoning: unsetReasoning,
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
    ...(hasFunctions && given['parallel_tool_calls'] !== false && { implied: ['parallel_tool_calls'] }),
    ...((hasFunctions || names.length > 0) && {
      door: { ...(hasFunctions && { functions: true }), ...(names.length > 0 && { customs: names }) },
    }),
    ...(adjustments.length > 0 && { adjustments }),
  };
}

/**
 * An object inside the body, without its fields that are null, because null means
 * absent. `content` stays, because a message with tool calls has `content: null`.
 */
const fields: Check<Fields> = (param, value) => {
  const given = object(param, value);
  for (const field in given) if (given[field] === null) return withoutNulls(given);
  return given;
};

const withoutNulls = (given: Fields): Fields =>
  Object.fromEntries(Object.entries(given).filter(([field, inner]) => inner !== null || field === 'content'));

const numbers: Check<Record<string, number>> = (param, value) => {
  const given = object(param, value);
  for (const inner of Object.values(given)) if (typeof inner !== 'number') throw wrongType(param, 'an object of numbers', inner);
  return given as Record<string, number>;
};

const roles = new Set(['system', 'developer', 'user', 'assistant', 'tool']);

function messageList(value: unknown): Message[] {
  if (value === undefined || value === null) throw missing('messages', 'the conversation, an array of {role, content}');
  const messages = listOf(message)('messages', value);
  if (messages.length === 0) throw wrongValue('messages', 'must hold at least one message');
  return messages;
}

/** Fields of a message that are texts, besides its content. */
const texts = ['tool_call_id', 'reasoning', 'reasoning_content'] as const;

function message(param: string, value: unknown): Message {
  const given = fields(param, value);
  const { role, content, tool_calls: calls, tool_call_id: id, reasoning_details: details } = given;
  if (role === undefined) throw missing(`${param}.role`, `one of ${[...roles].join(', ')}`);
  if (!roles.has(text(`${param}.role`, role))) throw wrongValue(`${param}.role`, `must be one of ${[...roles].join(', ')}`);
  if (role === 'tool' && id === undefined) throw missing(`${param}.tool_call_id`, 'the id of the call that this message answers');
  for (const field of texts) if (given[field] !== undefined) text(`${param}.${field}`, given[field]);
  const checkedDetails = optional(`${param}.reasoning_details`, details, listOf(object));
  const parts = messageContent(`${param}.content`, content, role === 'assistant');
  const checkedCalls = optional(`${param}.tool_calls`, calls, listOf(toolCall));
  // wire: OpenAI and Qwen answer 400 to an empty list (openai/openai-python#2061,
  // smallmain/vscode-unify-chat-provider#65). Some SDKs add one to an answer without calls
  const ofCalls = checkedCalls !== null && { tool_calls: checkedCalls.length === 0 ? undefined : checkedCalls };
  if (parts === null && ofCalls === false && checkedDetails === null) return given as unknown as Message;
  return {
    ...given,
    ...(parts !== null && { content: parts }),
    ...ofCalls,
    ...(checkedDetails !== null && { reasoning_details: (checkedDetails as unknown as ReasoningDetail[]).map(openedDetail) }),
  } as Message;
}

/** The checked parts of a content that is a list; null for a text or an absent content. */
function messageContent(param: string, content: unknown, isOptional: boolean): ContentPart[] | null {
  if (Array.isArray(content)) return listOf(contentPart)(param, content);
  if ((content === undefined || content === null) && !isOptional) throw missing(param, 'a string, or an array of parts');
  if (content !== undefined && content !== null && typeof content !== 'string') {
    throw wrongType(param, 'a string or an array of parts', content);
  }
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
  return { type: 'function', ...call } as ToolCall;
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
    // wire: `any` is the word of other APIs for `required` (Mistral: Function calling; Anthropic: Tool use)
    const known = value === 'any' ? 'required' : value;
    if (known !== 'auto' && known !== 'none' && known !== 'required') {
      throw wrongValue(param, 'must be "auto", "none", "required", or an object that names a function');
    }
    return known;
  }
  const choice = fields(param, value);
  const type = text(`${param}.type`, choice['type']);
  const { name, ...more } = choice;
  // wire: the forms of other APIs for the same (Anthropic: Tool use; OpenAI: Responses)
  if (Object.keys(more).length === 1) {
    if (type === 'any' || type === 'required') return 'required';
    if (type === 'auto' || type === 'none') return type;
    if ((type === 'tool' || type === 'function') && typeof name === 'string') return { type: 'function', function: { name } };
  }
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
