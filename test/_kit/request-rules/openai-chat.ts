/** What OpenAI refuses on chat completions. */
import { isSameSet, listIn, repeated, type Rule, type Sent, unknownFields, unless } from './rule.ts';

const messagesOf = ({ body }: Sent): readonly any[] => listIn(body.messages);
const callsOf = (message: any): readonly any[] => listIn(message?.tool_calls);
const idsOf = (message: any): readonly string[] => callsOf(message).map(({ id }) => id);
const toolsOf = ({ body }: Sent): readonly any[] => listIn(body.tools);
const partsOf = ({ content }: any): readonly any[] => listIn(content);

/** The results that stand directly after the message at this place. */
const resultsAfter = (sent: Sent, at: number): readonly string[] => {
  const rest = messagesOf(sent).slice(at + 1);
  const end = rest.findIndex(({ role }) => role !== 'tool');
  return (end < 0 ? rest : rest.slice(0, end)).map(({ tool_call_id: id }) => id);
};

const reasons = ({ model }: Sent): boolean => /^(?:o\d|gpt-(?:[5-9]|1\d)(?!-chat))/.test(model);
/** Models that take sampling parameters while they do not think. */
const mayRest = ({ model }: Sent): boolean => /^gpt-(?:5\.\d|[6-9])/.test(model);
const restsUnasked = ({ model }: Sent): boolean => /^gpt-5\.[124](?:-\d{4}-|$)/.test(model);

const partTypes: Readonly<Record<string, readonly string[]>> = {
  system: ['text'],
  developer: ['text'],
  user: ['text', 'image_url', 'input_audio', 'file'],
  assistant: ['text', 'refusal'],
  tool: ['text'],
};

const knownInMessage: Readonly<Record<string, readonly string[]>> = {
  system: ['role', 'content', 'name'],
  developer: ['role', 'content', 'name'],
  user: ['role', 'content', 'name'],
  assistant: ['role', 'content', 'name', 'tool_calls', 'refusal', 'audio', 'function_call', 'annotations'],
  tool: ['role', 'content', 'tool_call_id', 'name', 'is_error'],
};

const ofConversation: readonly Rule[] = [
  {
    rule: 'there is a message',
    source: 'OpenAI: error text "[] is too short - \'messages\'"',
    offenders: (sent) => unless(messagesOf(sent).length > 0),
  },
  {
    rule: 'a message has its role and no unknown field',
    source: 'OpenAI: Chat completions, messages ("Additional properties are not allowed")',
    offenders: (sent) => messagesOf(sent).flatMap((message) => unknownFields(message, knownInMessage[message.role] ?? [])),
  },
  {
    rule: 'the content is a text, or a list of parts that is not empty',
    source: 'OpenAI: error texts "empty array" and "expected a string, got null"',
    offenders: (sent) =>
      messagesOf(sent).filter(
        ({ content, tool_calls: calls, refusal }) =>
          typeof content !== 'string' &&
          !(Array.isArray(content) && content.length > 0) &&
          !((content ?? null) === null && (calls !== undefined || refusal !== undefined)),
      ),
  },
  {
    rule: 'a part is of a type that its role takes',
    source: 'OpenAI: error text "Image URLs are only allowed for messages with role \'user\'" (OpenHands/OpenHands#7700)',
    offenders: (sent) =>
      messagesOf(sent).flatMap((message) => partsOf(message).filter(({ type }) => !(partTypes[message.role] ?? []).includes(type))),
  },
  {
    rule: 'a part has no unknown field',
    source: 'OpenAI: Chat completions',
    offenders: (sent) =>
      messagesOf(sent).flatMap((message) => partsOf(message).flatMap((part) => unknownFields(part, ['type', part.type]))),
  },
];

const ofCalls: readonly Rule[] = [
  {
    rule: 'a list of calls is not empty',
    source: 'OpenAI: error text "[] is too short - \'messages.1.tool_calls\'" (openai/openai-python#2061)',
    offenders: (sent) =>
      messagesOf(sent).filter(({ tool_calls: calls }) => calls !== undefined && callsOf({ tool_calls: calls }).length === 0),
  },
  {
    rule: 'each call has its result before the next message, and each result its call',
    source:
      "OpenAI: error texts \"An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'\" and \"messages with role 'tool' must be a response to a preceeding message with 'tool_calls'\"",
    offenders: (sent) =>
      messagesOf(sent).flatMap((message, at) =>
        message.role === 'tool' || isSameSet(idsOf(message), resultsAfter(sent, at)) ? [] : [[idsOf(message), resultsAfter(sent, at)]],
      ),
  },
  {
    rule: 'the first message is no result',
    source: "OpenAI: error text \"messages with role 'tool' must be a response to a preceeding message with 'tool_calls'\"",
    offenders: (sent) => unless(messagesOf(sent)[0]?.role !== 'tool', messagesOf(sent)[0]),
  },
  {
    rule: 'a message has no id of a call twice',
    source: 'OpenAI: error text "Duplicate value for \'tool_call_id\'" (agno-agi/agno#5116, openclaw/openclaw#47136)',
    offenders: (sent) => messagesOf(sent).flatMap((message) => repeated(idsOf(message))),
  },
  {
    rule: 'an id has at most 40 characters',
    source: 'OpenAI: error text of `tool_calls[].id`, "string too long"',
    offenders: (sent) =>
      messagesOf(sent)
        .flatMap(idsOf)
        .filter((id) => id.length > 40 || id === ''),
  },
  {
    rule: 'the arguments of a call are JSON text',
    source: 'OpenAI: Chat completions, tool_calls',
    offenders: (sent) =>
      messagesOf(sent)
        .flatMap(callsOf)
        .filter(({ function: { arguments: text } }) => typeof text !== 'string' || text === ''),
  },
  {
    rule: 'the name of a function has 1 to 64 letters, digits, _ and -',
    source: 'OpenAI: error text of `tools[].function.name`, "Expected a string that matches the pattern"',
    offenders: (sent) =>
      [...toolsOf(sent), ...messagesOf(sent).flatMap(callsOf)].filter(({ function: { name } }) => !/^[\w-]{1,64}$/.test(name)),
  },
  {
    rule: 'the schema of arguments is an object with properties',
    source: 'OpenAI: error text "object schema missing properties"',
    offenders: (sent) =>
      toolsOf(sent).filter(
        ({ function: { parameters } }) => parameters !== undefined && !(parameters.type === 'object' && 'properties' in parameters),
      ),
  },
  {
    rule: 'a list of tools is not empty, and only beside it there is a choice',
    source: "OpenAI: error text \"'tool_choice' is only allowed when 'tools' are specified\"",
    offenders: (sent) => [
      ...unless(sent.body.tools === undefined || toolsOf(sent).length > 0, sent.body.tools),
      ...unless(toolsOf(sent).length > 0 || !('parallel_tool_calls' in sent.body), 'parallel_tool_calls'),
      // a choice that forces a tool where there is none goes out on purpose: the caller gets the refusal of the provider
      ...unless(toolsOf(sent).length > 0 || !['auto', 'none'].includes(sent.body.tool_choice), sent.body.tool_choice),
    ],
  },
  {
    rule: 'a choice names a tool of the list',
    source: "OpenAI: error text \"Tool choice 'function' not found in 'tools' parameter\"",
    offenders: (sent) => {
      const name = sent.body.tool_choice?.function?.name;
      return unless(name === undefined || toolsOf(sent).length === 0 || toolsOf(sent).some((tool) => tool.function.name === name), name);
    },
  },
];

/** `top_k` is here because the caller wrote it: a caller of this format gets OpenAI's own refusal of a field that OpenAI does not have. */
const known = [
  'top_k',
  'model',
  'messages',
  'stream',
  'stream_options',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'response_format',
  'max_tokens',
  'max_completion_tokens',
  'temperature',
  'top_p',
  'stop',
  'seed',
  'n',
  'presence_penalty',
  'frequency_penalty',
  'logit_bias',
  'logprobs',
  'top_logprobs',
  'user',
  'reasoning_effort',
  'verbosity',
  'metadata',
  'store',
  'service_tier',
  'prompt_cache_key',
  'safety_identifier',
  'modalities',
  'audio',
  'prediction',
  'web_search_options',
  'prompt_cache_retention',
];

const sampling = ['temperature', 'top_p', 'logprobs', 'top_logprobs'];
const penalties = ['presence_penalty', 'frequency_penalty', 'logit_bias'];

const ofParameters: readonly Rule[] = [
  {
    rule: 'no parameter is unknown',
    source: 'OpenAI: error text "Unrecognized request argument supplied"',
    offenders: ({ body }) => unknownFields(body, known),
  },
  {
    rule: 'one to four stop sequences',
    source: 'OpenAI: error text "Expected an array with maximum length 4"',
    offenders: ({ body: { stop } }) => unless(!Array.isArray(stop) || (stop.length > 0 && stop.length <= 4), stop),
  },
  {
    rule: 'a reasoning model gets max_completion_tokens',
    source: 'OpenAI: error text "Unsupported parameter: \'max_tokens\' is not supported with this model"',
    offenders: (sent) => unless(!reasons(sent) || !('max_tokens' in sent.body)),
  },
  {
    rule: 'a reasoning model gets no sampling parameter while it thinks',
    source: 'OpenAI: Reasoning models; Using GPT-5.2, Parameter compatibility',
    offenders: (sent) => {
      const { reasoning_effort: effort } = sent.body;
      const rests = mayRest(sent) && (effort === 'none' || (effort === undefined && restsUnasked(sent)));
      return reasons(sent) ? [...(rests ? [] : sampling), ...penalties].filter((field) => field in sent.body) : [];
    },
  },
  {
    rule: 'an effort only for a model that reasons',
    source: 'OpenAI: error text "Unrecognized request argument supplied: reasoning_effort"',
    offenders: (sent) => unless(reasons(sent) || !('reasoning_effort' in sent.body)),
  },
  {
    rule: 'the number of log probabilities only beside the switch',
    source: 'OpenAI: error text "top_logprobs is only allowed when logprobs is enabled"',
    offenders: ({ body }) => unless((body.top_logprobs ?? 0) === 0 || body.logprobs === true, body.top_logprobs),
  },
  {
    rule: 'the options of a stream only for a stream',
    source: "OpenAI: error text \"The 'stream_options' parameter is only allowed when 'stream' is enabled.\"",
    offenders: ({ body }) => unless(body.stream === true || !('stream_options' in body)),
  },
  {
    rule: 'a schema has a plain name',
    source: 'OpenAI: Structured outputs, json_schema.name',
    offenders: ({ body: { response_format: format } }) =>
      unless(format?.type !== 'json_schema' || /^[\w-]{1,64}$/.test(format.json_schema?.name), format),
  },
];

export const openaiChatRules: readonly Rule[] = [...ofConversation, ...ofCalls, ...ofParameters];
