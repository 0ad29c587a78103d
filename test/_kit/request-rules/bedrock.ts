/** What Converse refuses. */
import { isBlank, isObject, isSameSet, listIn, pairs, repeated, type Rule, type Sent, unknownFields, unless } from './rule.ts';

interface Message {
  readonly role: string;
  readonly content: readonly any[];
}

const messagesOf = ({ body }: Sent): readonly Message[] =>
  listIn(body.messages).map(({ role, content }) => ({ role, content: listIn(content) }));
const blocksOf = (sent: Sent): readonly any[] => messagesOf(sent).flatMap(({ content }) => content);
const having = (blocks: readonly any[], kind: string): readonly any[] => blocks.flatMap((block) => block[kind] ?? []);
const callsIn = (message: Message | undefined): readonly string[] =>
  having(message?.content ?? [], 'toolUse').map(({ toolUseId: id }) => id);
const answeredIn = (message: Message | undefined): readonly string[] =>
  having(message?.content ?? [], 'toolResult').map(({ toolUseId: id }) => id);
const toolsOf = ({ body }: Sent): readonly any[] => listIn(body.toolConfig?.tools);
const specsOf = (sent: Sent): readonly any[] => having(toolsOf(sent), 'toolSpec');
const inResults = (sent: Sent): readonly any[] => having(blocksOf(sent), 'toolResult').flatMap(({ content }) => listIn(content));
const additionalOf = ({ body }: Sent): Record<string, any> => body.additionalModelRequestFields ?? {};
const inferenceOf = ({ body }: Sent): Record<string, any> => body.inferenceConfig ?? {};

const isClaude = ({ model }: Sent): boolean => /claude/.test(model);
const noPrefill = /(?:opus|sonnet|haiku)-(?:4[-.][6-9]|5)|fable|mythos/;
const noSampling = /(?:opus|sonnet)-(?:4[-.][7-9]|5)|fable|mythos/;

/** Whether Claude is asked to think. */
const thinks = (sent: Sent): boolean => ['enabled', 'adaptive'].includes(additionalOf(sent)['thinking']?.type);

const ofConversation: readonly Rule[] = [
  {
    rule: 'the first message is of the user',
    source: 'Amazon Bedrock: error text "A conversation must start with a user message"',
    offenders: (sent) => unless(messagesOf(sent)[0]?.role === 'user', messagesOf(sent)[0]),
  },
  {
    rule: 'user and assistant alternate',
    source: 'Amazon Bedrock: error text "A conversation must alternate between user and assistant roles"',
    offenders: (sent) => pairs(messagesOf(sent)).filter(([one, next]) => one.role === next?.role),
  },
  {
    rule: 'each message has content',
    source: 'Amazon Bedrock: error text "The content field in the Message object ... is empty"',
    offenders: (sent) => messagesOf(sent).filter(({ content }) => content.length === 0),
  },
  {
    rule: 'each block has one key',
    source: 'Amazon Bedrock: ContentBlock, a union',
    offenders: (sent) =>
      [...blocksOf(sent), ...inResults(sent), ...listIn(sent.body.system)].filter((block) => Object.keys(block).length !== 1),
  },
  {
    rule: 'no text is blank',
    source: 'Amazon Bedrock: error text "The text field in the ContentBlock object ... is blank"',
    offenders: (sent) =>
      [...blocksOf(sent), ...inResults(sent), ...listIn(sent.body.system)].filter((block) => 'text' in block && isBlank(block.text)),
  },
  {
    rule: 'the last message of Claude 4.6 and later is of the user',
    source: 'Anthropic: What’s new in Claude 4.6, Prefill removal (Skyvern-AI/skyvern#4795 for Bedrock)',
    offenders: (sent) => unless(!noPrefill.test(sent.model) || messagesOf(sent).at(-1)?.role !== 'assistant', messagesOf(sent).at(-1)),
  },
  {
    rule: 'a last assistant text of Claude does not end with white space',
    source: 'Anthropic: Errors, "final assistant content cannot end with trailing whitespace"',
    offenders: (sent) => {
      const last = messagesOf(sent).at(-1);
      const text = isClaude(sent) && last?.role === 'assistant' ? (last.content.at(-1)?.text ?? '') : '';
      return unless(text === text.trimEnd(), text);
    },
  },
  {
    rule: 'images, documents and results are of the user',
    source: 'Amazon Bedrock: ImageBlock, DocumentBlock, ToolResultBlock',
    offenders: (sent) =>
      messagesOf(sent)
        .filter(({ role }) => role === 'assistant')
        .flatMap(({ content }) => content.filter((block) => ['image', 'document', 'toolResult'].some((kind) => kind in block))),
  },
  {
    rule: 'the format of an image is png, jpeg, gif or webp',
    source: 'Amazon Bedrock: ImageBlock',
    offenders: (sent) =>
      having([...blocksOf(sent), ...inResults(sent)], 'image').filter(({ format }) => !['png', 'jpeg', 'gif', 'webp'].includes(format)),
  },
  {
    rule: 'the name of a document is plain, and there once',
    source: 'Amazon Bedrock: DocumentBlock, name',
    offenders: (sent) => {
      const names = having([...blocksOf(sent), ...inResults(sent)], 'document').map(({ name }) => name);
      return [
        ...names.filter((name) => !/^[A-Za-z0-9()[\]-]+(?: [A-Za-z0-9()[\]-]+)*$/.test(name) || name.length > 200),
        ...repeated(names),
      ];
    },
  },
  {
    rule: 'a message with a document has a text',
    source: 'Amazon Bedrock: DocumentBlock',
    offenders: (sent) =>
      messagesOf(sent).filter(({ content }) => having(content, 'document').length > 0 && having(content, 'text').length === 0),
  },
];

const ofCalls: readonly Rule[] = [
  {
    rule: 'the results of a message are those of the calls before',
    source:
      'Amazon Bedrock: error texts "Expected toolResult blocks at ... for the following Ids" and "The number of toolResult blocks ... exceeds the number of toolUse blocks of previous turn"',
    offenders: (sent) => [
      ...answeredIn(messagesOf(sent)[0]),
      ...pairs(messagesOf(sent)).filter(([one, next]) => one.role === 'assistant' && !isSameSet(callsIn(one), answeredIn(next))),
    ],
  },
  {
    rule: 'no id of a call or a result is there twice in a message',
    source: 'Amazon Bedrock: error text "contain duplicate Ids" (BerriAI/litellm#20047)',
    offenders: (sent) => messagesOf(sent).flatMap((message) => [...repeated(callsIn(message)), ...repeated(answeredIn(message))]),
  },
  {
    rule: 'an id has at most 64 letters, digits, _ and -',
    source: 'Amazon Bedrock: ToolUseBlock, toolUseId',
    offenders: (sent) =>
      messagesOf(sent)
        .flatMap((message) => [...callsIn(message), ...answeredIn(message)])
        .filter((id) => !(/mistral/.test(sent.model) ? /^[a-zA-Z0-9]{9}$/ : /^[\w-]{1,64}$/).test(id)),
  },
  {
    rule: 'the input of a call is an object',
    source: 'Amazon Bedrock: ToolUseBlock, input',
    offenders: (sent) => having(blocksOf(sent), 'toolUse').filter(({ input }) => !isObject(input)),
  },
  {
    rule: 'calls and results need tools',
    source: 'Amazon Bedrock: error text "The toolConfig field must be defined when using toolUse and toolResult content blocks."',
    offenders: (sent) =>
      unless(toolsOf(sent).length > 0 || messagesOf(sent).every((one) => callsIn(one).length + answeredIn(one).length === 0)),
  },
  {
    rule: 'a failed call has content',
    source: 'Amazon Bedrock: error text "cannot be empty when status value is error"',
    offenders: (sent) => having(blocksOf(sent), 'toolResult').filter(({ status, content }) => status === 'error' && content.length === 0),
  },
  {
    rule: 'a tool has a name of 1 to 64 letters, digits, _ and -, and no blank description',
    source: 'Amazon Bedrock: ToolSpecification',
    offenders: (sent) =>
      [...specsOf(sent), ...having(blocksOf(sent), 'toolUse')].filter(
        ({ name, description = 'x' }) => !/^[\w-]{1,64}$/.test(name) || isBlank(description),
      ),
  },
  {
    rule: 'no name of a tool is there twice',
    source: 'Anthropic: error text "tools: Tool names must be unique.", at Bedrock too',
    offenders: (sent) => repeated(specsOf(sent).map(({ name }) => name)),
  },
  {
    rule: 'a list of tools is not empty, and a choice names one of them',
    source: 'Amazon Bedrock: ToolConfiguration',
    offenders: (sent) => {
      const { toolConfig } = sent.body;
      const named = toolConfig?.toolChoice?.tool?.name;
      return [
        ...unless(toolConfig === undefined || specsOf(sent).length > 0, toolConfig),
        ...unless(named === undefined || specsOf(sent).some(({ name }) => name === named), named),
      ];
    },
  },
  {
    rule: 'the schema of a tool is that of an object',
    source:
      'Amazon Bedrock: error text "The value at toolConfig.tools.0.toolSpec.inputSchema.json.type must be one of the following: object."',
    offenders: (sent) => specsOf(sent).filter(({ inputSchema: schema }) => schema?.json?.type !== 'object'),
  },
];

const known = [
  'messages',
  'system',
  'inferenceConfig',
  'toolConfig',
  'additionalModelRequestFields',
  'additionalModelResponseFieldPaths',
  'guardrailConfig',
  'requestMetadata',
  'performanceConfig',
  'serviceTier',
  'promptVariables',
  'outputConfig',
];

const ofParameters: readonly Rule[] = [
  {
    rule: 'no parameter is unknown',
    source: 'Amazon Bedrock: Converse',
    offenders: (sent) => [
      ...unknownFields(sent.body, known),
      ...unknownFields(inferenceOf(sent), ['maxTokens', 'temperature', 'topP', 'stopSequences']),
    ],
  },
  {
    rule: 'the temperature and topP are from 0 to 1',
    source: 'Amazon Bedrock: InferenceConfiguration',
    offenders: (sent) =>
      ['temperature', 'topP'].filter((field) => !((inferenceOf(sent)[field] ?? 0) >= 0 && (inferenceOf(sent)[field] ?? 0) <= 1)),
  },
  {
    rule: 'a stop sequence is not empty, and for Claude not blank',
    source: 'Amazon Bedrock: InferenceConfiguration, stopSequences; Anthropic: Messages',
    offenders: (sent) => listIn(inferenceOf(sent)['stopSequences']).filter((one) => one === '' || (isClaude(sent) && isBlank(one))),
  },
  {
    rule: 'at most four cache points, none at the beginning',
    source: 'Amazon Bedrock: Prompt caching',
    offenders: (sent) => {
      const lists = [toolsOf(sent), listIn(sent.body.system), ...messagesOf(sent).map(({ content }) => content)];
      return [...lists.filter((list) => 'cachePoint' in (list[0] ?? {})), ...having(lists.flat(), 'cachePoint').slice(4)];
    },
  },
  {
    rule: 'a cache point of an hour does not come after one of five minutes',
    source: 'Amazon Bedrock: Prompt caching ("Cache entries with longer TTL must appear before shorter TTLs")',
    offenders: (sent) => {
      const all = [...toolsOf(sent), ...listIn(sent.body.system), ...blocksOf(sent)];
      const lives = having(all, 'cachePoint').map(({ ttl = '5m' }) => ttl);
      return unless(lives.lastIndexOf('1h') < 0 || !lives.slice(0, lives.lastIndexOf('1h')).includes('5m'), lives);
    },
  },
];

const ofClaude: readonly Rule[] = [
  {
    rule: 'thinking of Claude has its signature',
    source: 'Amazon Bedrock: ReasoningTextBlock',
    offenders: (sent) =>
      having(blocksOf(sent), 'reasoningContent').filter(
        ({ reasoningText: said, redactedContent: data }) => isClaude(sent) && isBlank(said?.signature) && isBlank(data),
      ),
  },
  {
    rule: 'a budget is at least 1024, and below maxTokens',
    source: 'Anthropic: Extended thinking',
    offenders: (sent) => {
      const { type, budget_tokens: budget } = additionalOf(sent)['thinking'] ?? {};
      return unless(type !== 'enabled' || (budget >= 1024 && budget < inferenceOf(sent)['maxTokens']), additionalOf(sent)['thinking']);
    },
  },
  {
    rule: 'no tool is forced while Claude thinks',
    source: 'Anthropic: Extended thinking',
    offenders: (sent) => {
      const choice = sent.body.toolConfig?.toolChoice;
      return unless(!thinks(sent) || choice === undefined || 'auto' in choice, choice);
    },
  },
  {
    rule: 'no sampling parameter that Claude refuses',
    source: 'Anthropic: Extended thinking; Migration guide',
    offenders: (sent) => {
      const sampling = ['temperature', 'topP'].filter((field) => field in inferenceOf(sent));
      const refuses = isClaude(sent) && (thinks(sent) || noSampling.test(sent.model));
      return refuses ? [...sampling, ...unless(!('top_k' in additionalOf(sent)), 'top_k')] : [];
    },
  },
  {
    rule: 'a choice of Claude’s own does not stand beside toolChoice',
    source: 'Amazon Bedrock: Converse, as of 2026-11',
    offenders: (sent) => unless(!('tool_choice' in additionalOf(sent)) || sent.body.toolConfig?.toolChoice === undefined),
  },
];

/** Older models that take no message with tool blocks beside others. */
const ofOthers: readonly Rule[] = [
  {
    rule: 'Llama gets calls and results in messages of their own',
    source: 'Amazon Bedrock: error text "Conversation blocks and tool use blocks cannot be provided in the same turn"',
    offenders: (sent) =>
      messagesOf(sent).filter(({ content }) => {
        const ofTools = content.filter((block) => 'toolUse' in block || 'toolResult' in block).length;
        return /llama/.test(sent.model) && ofTools > 0 && ofTools < content.length;
      }),
  },
  {
    rule: 'only Claude and Nova get the status of a result',
    source: 'Amazon Bedrock: ToolResultBlock, status',
    offenders: (sent) => having(blocksOf(sent), 'toolResult').filter((result) => 'status' in result && !/claude|nova/.test(sent.model)),
  },
  {
    rule: 'OpenAI’s models get no sampling and no stop',
    source: 'Amazon Bedrock: error text "This model doesn\'t support the stopSequences field"',
    offenders: (sent) =>
      /openai\.gpt-[5-9]/.test(sent.model) ? ['temperature', 'topP', 'stopSequences'].filter((field) => field in inferenceOf(sent)) : [],
  },
];

export const bedrockRules: readonly Rule[] = [...ofConversation, ...ofCalls, ...ofParameters, ...ofClaude, ...ofOthers];
