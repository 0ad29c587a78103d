/** What the Messages API refuses. */
import { isBlank, isObject, lacking, listIn, pairs, repeated, type Rule, type Sent, unknownFields, unless } from './rule.ts';

interface Message {
  readonly role: string;
  readonly content: readonly any[];
}

/** The messages, each with its content as a list of blocks. */
const messagesOf = ({ body }: Sent): readonly Message[] =>
  listIn(body.messages).map(({ role, content }) => ({
    role,
    content: typeof content === 'string' ? [{ type: 'text', text: content }] : listIn(content),
  }));

const blocksOf = (sent: Sent): readonly any[] => messagesOf(sent).flatMap(({ content }) => content);
const ofType = (blocks: readonly any[], ...types: string[]): readonly any[] => blocks.filter(({ type }) => types.includes(type));
const idsIn = ({ content }: Message): readonly string[] => ofType(content, 'tool_use').map(({ id }) => id);
const answeredIn = (message: Message | undefined): readonly string[] =>
  ofType(message?.content ?? [], 'tool_result').map(({ tool_use_id: id }) => id);

/** All blocks, those inside of results and those of the instructions too. */
const everyBlock = (sent: Sent): readonly any[] => {
  const own = [...listIn(sent.body.system), ...blocksOf(sent)];
  return [...own, ...own.flatMap(({ content }) => listIn(content))];
};

/** Everything that may have a breakpoint, in the order in which the API reads it. */
const breakpointsOf = (sent: Sent): readonly any[] =>
  [...listIn(sent.body.tools), ...listIn(sent.body.system), ...blocksOf(sent)].flatMap(({ cache_control: control }) => control ?? []);

/** A budget, or adaptive thinking. */
const thinks = ({ body }: Sent): boolean => ['enabled', 'adaptive'].includes(body.thinking?.type);
const isForced = ({ body }: Sent): boolean => ['any', 'tool'].includes(body.tool_choice?.type);
const samplingIn = ({ body }: Sent): readonly string[] => ['temperature', 'top_p', 'top_k'].filter((field) => field in body);

/** Models from which on something is refused. */
const since45 = /(?:opus|sonnet|haiku)-(?:4[-.][5-9]|5)|opus-4[-.]1|fable|mythos/;
const since46 = /(?:opus|sonnet|haiku)-(?:4[-.][6-9]|5)|fable|mythos/;
const since47 = /(?:opus|sonnet|haiku)-(?:4[-.][7-9]|5)|fable|mythos/;
const alwaysThinks = /fable|mythos|(?:opus|sonnet)-5[-.]5/;

const ofConversation: readonly Rule[] = [
  {
    rule: 'the first message is of the user',
    source: 'Anthropic: Errors, "first message must use the user role"',
    offenders: (sent) => unless(messagesOf(sent)[0]?.role === 'user', messagesOf(sent)[0]),
  },
  {
    rule: 'each message has content',
    source: 'Anthropic: Errors, "all messages must have non-empty content except for the optional final assistant message"',
    offenders: (sent) => messagesOf(sent).filter(({ content }) => content.length === 0),
  },
  {
    rule: 'no text is blank',
    source: 'Anthropic: Errors, "text content blocks must be non-empty" and "must contain non-whitespace text"',
    offenders: (sent) => ofType(everyBlock(sent), 'text').filter(({ text }) => isBlank(text)),
  },
  {
    rule: 'a last assistant text does not end with white space',
    source: 'Anthropic: Errors, "final assistant content cannot end with trailing whitespace"',
    offenders: (sent) => {
      const last = messagesOf(sent).at(-1);
      const text = last?.role === 'assistant' ? (last.content.at(-1)?.text ?? '') : '';
      return unless(text === text.trimEnd(), text);
    },
  },
  {
    rule: 'the last message is of the user',
    source: 'Anthropic: What’s new in Claude 4.6, Prefill removal ("This model does not support assistant message prefill")',
    offenders: (sent) => unless(!since46.test(sent.model) || messagesOf(sent).at(-1)?.role !== 'assistant', messagesOf(sent).at(-1)),
  },
  {
    rule: 'images and documents are of the user',
    source: 'Anthropic: Vision',
    offenders: (sent) =>
      messagesOf(sent)
        .filter(({ role }) => role === 'assistant')
        .flatMap(({ content }) => ofType(content, 'image', 'document')),
  },
];

const ofCalls: readonly Rule[] = [
  {
    rule: 'each call has its result in the next message',
    source: 'Anthropic: error text "`tool_use` ids were found without `tool_result` blocks immediately after"',
    offenders: (sent) => pairs(messagesOf(sent)).flatMap(([one, next]) => lacking(answeredIn(next), idsIn(one))),
  },
  {
    rule: 'each result has its call in the message before',
    source: 'Anthropic: error text "unexpected `tool_use_id` found in `tool_result` blocks"',
    offenders: (sent) => {
      const messages = messagesOf(sent);
      return messages.flatMap((one, at) => lacking(idsIn(messages[at - 1] ?? { role: '', content: [] }), answeredIn(one)));
    },
  },
  {
    rule: 'the results stand first in their message',
    source: 'Anthropic: Handle tool calls ("tool_result blocks must come first in the content array")',
    offenders: (sent) =>
      messagesOf(sent).filter(({ content }) =>
        content.some(({ type }, at) => type === 'tool_result' && at > 0 && content[at - 1].type !== type),
      ),
  },
  {
    rule: 'no id of a call is there twice',
    source: 'Anthropic: error text "`tool_use` ids must be unique" (NVIDIA-NeMo/Switchyard#502)',
    offenders: (sent) => repeated(messagesOf(sent).flatMap(idsIn)),
  },
  {
    rule: 'no call has two results',
    source: 'Anthropic: error text "each tool_use must have a single result" (BerriAI/litellm#20048)',
    offenders: (sent) => repeated(messagesOf(sent).flatMap(answeredIn)),
  },
  {
    rule: 'an id has letters, digits, _ and -',
    source: 'Anthropic: error text of `tool_use.id`, "String should match pattern"',
    offenders: (sent) => ofType(blocksOf(sent), 'tool_use').filter(({ id }) => !/^[\w-]+$/.test(id)),
  },
  {
    rule: 'the input of a call is an object',
    source: 'Anthropic: Messages, tool_use',
    offenders: (sent) => ofType(blocksOf(sent), 'tool_use').filter(({ input }) => !isObject(input)),
  },
  {
    rule: 'a failed call has content',
    source: 'Anthropic: error text "content cannot be empty if `is_error` is true"',
    offenders: (sent) =>
      ofType(blocksOf(sent), 'tool_result').filter(({ is_error: failed, content = '' }) => failed === true && content.length === 0),
  },
  {
    rule: 'the name of a tool has 1 to 128 letters, digits, _ and -',
    source: 'Anthropic: Tool use, name',
    offenders: (sent) =>
      [...listIn(sent.body.tools), ...ofType(blocksOf(sent), 'tool_use')].filter(({ name }) => !/^[\w-]{1,128}$/.test(name)),
  },
  {
    rule: 'no name of a tool is there twice',
    source: 'Anthropic: error text "tools: Tool names must be unique." (anthropics/claude-code#10687)',
    offenders: (sent) => repeated(listIn(sent.body.tools).map(({ name }) => name)),
  },
  {
    rule: 'the schema of a tool is that of an object',
    source: 'Anthropic: error text "tools.0.custom.input_schema.type: Field required"',
    offenders: (sent) =>
      listIn(sent.body.tools).filter(({ type, input_schema: schema }) => type === undefined && schema?.type !== 'object'),
  },
  {
    rule: 'a choice has tools, and names one of them',
    source: 'Anthropic: error text "tool_choice may only be specified while providing tools"',
    offenders: ({ body: { tool_choice: choice, tools } }) =>
      unless(
        choice === undefined ||
          (listIn(tools).length > 0 && (choice.type !== 'tool' || tools.some(({ name }: any) => name === choice.name))),
        choice,
      ),
  },
];

const ofThinking: readonly Rule[] = [
  {
    rule: 'thinking has its signature',
    source: 'Anthropic: Extended thinking, Preserving thinking blocks',
    offenders: (sent) =>
      ofType(blocksOf(sent), 'thinking', 'redacted_thinking').filter(({ signature, data }) => isBlank(signature) && isBlank(data)),
  },
  {
    rule: 'thinking has no breakpoint',
    source: 'Anthropic: error text "thinking.cache_control: Extra inputs are not permitted"',
    offenders: (sent) => ofType(blocksOf(sent), 'thinking', 'redacted_thinking').filter((block) => 'cache_control' in block),
  },
  {
    rule: 'a budget is at least 1024, and below max_tokens',
    source: 'Anthropic: Extended thinking',
    offenders: ({ body: { thinking, max_tokens: most } }) =>
      unless(thinking?.type !== 'enabled' || (thinking.budget_tokens >= 1024 && thinking.budget_tokens < most), thinking),
  },
  {
    rule: 'a turn that is continued with a budget begins with thinking',
    source: 'Anthropic: error text "Expected `thinking` or `redacted_thinking`, but found `tool_use`"',
    offenders: (sent) => {
      const messages = messagesOf(sent);
      const begin =
        messages.findLastIndex(({ role, content }) => role === 'user' && ofType(content, 'tool_result').length < content.length) + 1;
      const first = messages[begin]?.content[0];
      return unless(sent.body.thinking?.type !== 'enabled' || first === undefined || first.type.endsWith('thinking'), first);
    },
  },
  {
    rule: 'no tool is forced while the model thinks',
    source: 'Anthropic: Extended thinking ("Thinking may not be enabled when tool_choice forces tool use.")',
    offenders: (sent) => unless(!isForced(sent) || !(thinks(sent) || alwaysThinks.test(sent.model)), sent.body.tool_choice),
  },
  {
    rule: 'no sampling parameter beside thinking',
    source: 'Anthropic: Extended thinking',
    offenders: (sent) => (thinks(sent) ? samplingIn(sent) : []),
  },
  {
    rule: 'thinking is on, off, or a budget, as the model takes it',
    source: 'Anthropic: Adaptive thinking',
    offenders: ({ body: { thinking }, model }) => {
      const refused = since47.test(model) ? ['enabled'] : since46.test(model) ? [] : ['adaptive'];
      return unless(![...refused, ...(alwaysThinks.test(model) ? ['disabled'] : [])].includes(thinking?.type), thinking);
    },
  },
];

const known = [
  'model',
  'messages',
  'max_tokens',
  'system',
  'stream',
  'tools',
  'tool_choice',
  'thinking',
  'output_config',
  'stop_sequences',
  'temperature',
  'top_p',
  'top_k',
  'metadata',
  'service_tier',
  'cache_control',
  'container',
  'context_management',
  'mcp_servers',
];

const ofParameters: readonly Rule[] = [
  {
    rule: 'no parameter is unknown',
    source: 'Anthropic: error text "Extra inputs are not permitted"',
    offenders: ({ body }) => unknownFields(body, known),
  },
  {
    rule: 'max_tokens is there',
    source: 'Anthropic: Messages, max_tokens',
    offenders: ({ body: { max_tokens: most } }) => unless(Number.isInteger(most) && most > 0, most),
  },
  {
    rule: 'the temperature is from 0 to 1',
    source: 'Anthropic: Messages, temperature',
    offenders: ({ body: { temperature = 0 } }) => unless(temperature >= 0 && temperature <= 1, temperature),
  },
  {
    rule: 'the newest models get no sampling parameter',
    source: 'Anthropic: Migration guide, Claude Opus 4.7',
    offenders: (sent) => (since47.test(sent.model) && !/haiku/.test(sent.model) ? samplingIn(sent) : []),
  },
  {
    rule: 'temperature or top_p, not both',
    source: 'Anthropic: error text "`temperature` and `top_p` cannot both be specified for this model"',
    offenders: (sent) => unless(!since45.test(sent.model) || !('temperature' in sent.body && 'top_p' in sent.body)),
  },
  {
    rule: 'a stop sequence is not blank',
    source: 'Anthropic: Messages, "each stop sequence must contain non-whitespace"',
    offenders: ({ body }) => listIn(body.stop_sequences).filter(isBlank),
  },
  {
    rule: 'at most four breakpoints',
    source: 'Anthropic: Prompt caching',
    offenders: (sent) => [...breakpointsOf(sent), ...(sent.body.cache_control === undefined ? [] : [sent.body.cache_control])].slice(4),
  },
  {
    rule: 'a breakpoint of an hour does not come after one of five minutes',
    source: "Anthropic: error text \"a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block\"",
    offenders: (sent) => {
      const lives = breakpointsOf(sent).map(({ ttl = '5m' }) => ttl);
      return unless(lives.lastIndexOf('1h') < 0 || !lives.slice(0, lives.lastIndexOf('1h')).includes('5m'), lives);
    },
  },
];

export const anthropicRules: readonly Rule[] = [...ofConversation, ...ofCalls, ...ofThinking, ...ofParameters];
