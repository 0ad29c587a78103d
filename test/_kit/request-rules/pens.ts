/** Writes a conversation as each of the three endpoints takes it. */
import type { Conversation, Part, Said, Settings, Thought, Tool } from './any-conversation.ts';

/** The model that is asked, and the state of its provider. */
export interface Issuer {
  readonly model: string;
  /** A signed thought as an entry of `reasoning_details`. */
  readonly detail: (thought: Thought, index: number) => object;
  /** The same as one text, for formats without such entries. */
  readonly opaque: (thought: Thought, index: number) => string;
}

export interface Written {
  readonly path: string;
  readonly body: object;
}

type Pen = (conversation: Conversation, issuer: Issuer) => Written;

const pdf = 'data:application/pdf;base64,JVBERi0xLjQK';

/** Fields without those that are not set. */
const given = (fields: Readonly<Record<string, unknown>>): object =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

const markAt = ({ marks }: Settings, at: number): object => {
  const mark = marks.find((one) => one.at === at);
  return mark === undefined ? {} : { cache_control: { type: 'ephemeral', ...(mark.life === '1h' && { ttl: mark.life }) } };
};

const schema = {
  type: 'object',
  properties: { answer: { type: 'string', maxLength: 9 } },
  required: ['answer'],
  additionalProperties: false,
};

const inChat = (part: Part): object => {
  if ('text' in part) return { type: 'text', text: part.text };
  return 'image' in part
    ? { type: 'image_url', image_url: { url: part.image } }
    : { type: 'file', file: { filename: part.file, file_data: pdf } };
};

/** A single text is a string, as most clients write it. */
const contentInChat = (parts: readonly Part[]): unknown => {
  const [only, ...more] = parts;
  return only !== undefined && more.length === 0 && 'text' in only ? only.text : parts.map(inChat);
};

const messageInChat = (said: Said, { detail }: Issuer): object => {
  switch (said.by) {
    case 'assistant': {
      const signed = said.thoughts.filter((thought) => thought.signed);
      return given({
        role: 'assistant',
        content: said.texts.length === 0 ? null : said.texts.join(''),
        tool_calls:
          said.calls.length === 0
            ? undefined
            : said.calls.map(({ id, name, input }) => ({ id, type: 'function', function: { name, arguments: input } })),
        reasoning: said.thoughts.map(({ text }) => text).join('') || undefined,
        reasoning_details: signed.length === 0 ? undefined : signed.map(detail),
      });
    }
    case 'tool':
      return { role: 'tool', tool_call_id: said.id, content: contentInChat(said.parts), ...(said.failed && { is_error: true }) };
    default:
      return { role: said.by, content: contentInChat(said.parts) };
  }
};

const toolInChat = ({ name, schema: parameters, strict }: Tool): object => ({
  type: 'function',
  function: given({ name, parameters, strict }),
});

const isWord = (choice: string): boolean => ['auto', 'none', 'required'].includes(choice);

const chat: Pen = ({ said, settings }, issuer) => ({
  path: '/v1/chat/completions',
  body: given({
    model: issuer.model,
    messages: said.map((one, at) => ({ ...messageInChat(one, issuer), ...markAt(settings, at) })),
    tools: settings.tools.length === 0 ? undefined : settings.tools.map((tool, at) => ({ ...toolInChat(tool), ...markAt(settings, at) })),
    tool_choice:
      settings.choice === undefined || isWord(settings.choice)
        ? settings.choice
        : { type: 'function', function: { name: settings.choice } },
    parallel_tool_calls: settings.parallel,
    max_tokens: settings.most,
    temperature: settings.temperature,
    top_p: settings.topP,
    top_k: settings.topK,
    stop: settings.stop,
    reasoning_effort: settings.effort,
    reasoning: settings.budget === undefined ? undefined : { max_tokens: settings.budget },
    response_format:
      settings.format === undefined
        ? undefined
        : { type: settings.format, ...(settings.format === 'json_schema' && { json_schema: { name: 'answer', schema } }) },
    stream: settings.stream || undefined,
  }),
});

const dataOf = (url: string): object => ({
  type: 'base64',
  media_type: url.slice(5, url.indexOf(';')),
  data: url.slice(url.indexOf(',') + 1),
});

const inMessages = (part: Part): object => {
  if ('text' in part) return { type: 'text', text: part.text };
  return 'image' in part ? { type: 'image', source: dataOf(part.image) } : { type: 'document', title: part.file, source: dataOf(pdf) };
};

const objectIn = (json: string): object => {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};
  } catch {
    return {};
  }
};

const messageInMessages = (said: Said, issuer: Issuer, mark: object): object => {
  switch (said.by) {
    case 'assistant':
      return {
        role: 'assistant',
        content: [
          ...said.thoughts.map((thought, at) => ({
            type: 'thinking',
            thinking: thought.text,
            signature: thought.signed ? issuer.opaque(thought, at) : '',
          })),
          ...said.texts.map((text) => ({ type: 'text', text, ...mark })),
          ...said.calls.map(({ id, name, input }) => ({ type: 'tool_use', id, name, input: objectIn(input), ...mark })),
        ],
      };
    case 'tool':
      return {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: said.id,
            content: said.parts.map(inMessages),
            ...(said.failed && { is_error: true }),
            ...mark,
          },
        ],
      };
    default:
      return { role: said.by, content: said.parts.map((part) => ({ ...inMessages(part), ...mark })) };
  }
};

const choiceInMessages = ({ choice, parallel }: Settings): object | undefined => {
  if (choice === undefined) return undefined;
  const single = parallel === false && choice !== 'none' ? { disable_parallel_tool_use: true } : {};
  if (!isWord(choice)) return { type: 'tool', name: choice, ...single };
  return { type: choice === 'required' ? 'any' : choice, ...single };
};

const messages: Pen = ({ said, settings }, issuer) => ({
  path: '/v1/messages',
  body: given({
    model: issuer.model,
    max_tokens: settings.most ?? 4096,
    messages: said.map((one, at) => messageInMessages(one, issuer, markAt(settings, at))),
    tools:
      settings.tools.length === 0
        ? undefined
        : settings.tools.map(({ name, schema: own }, at) => ({ name, input_schema: { type: 'object', ...own }, ...markAt(settings, at) })),
    tool_choice: settings.tools.length === 0 ? undefined : choiceInMessages(settings),
    temperature: settings.temperature,
    top_p: settings.topP,
    top_k: settings.topK,
    stop_sequences: settings.stop,
    thinking: thinkingIn(settings),
    output_config: given({
      effort: settings.effort === undefined || ['none', 'minimal'].includes(settings.effort) ? undefined : settings.effort,
      format: settings.format === 'json_schema' ? { type: 'json_schema', schema } : undefined,
    }),
    stream: settings.stream || undefined,
  }),
});

const thinkingIn = ({ effort, budget }: Settings): object | undefined => {
  if (budget !== undefined) return { type: 'enabled', budget_tokens: budget };
  if (effort === undefined) return undefined;
  return effort === 'none' ? { type: 'disabled' } : { type: 'adaptive' };
};

const inResponses = (part: Part): object => {
  if ('text' in part) return { type: 'input_text', text: part.text };
  return 'image' in part ? { type: 'input_image', image_url: part.image } : { type: 'input_file', filename: part.file, file_data: pdf };
};

const itemsOf = (said: Said, issuer: Issuer): readonly object[] => {
  switch (said.by) {
    case 'assistant':
      return [
        ...said.thoughts.map((thought, at) => ({
          type: 'reasoning',
          summary: thought.text === '' ? [] : [{ type: 'summary_text', text: thought.text }],
          ...(thought.signed && { encrypted_content: issuer.opaque(thought, at) }),
        })),
        ...said.texts.map((text) => ({ role: 'assistant', content: [{ type: 'output_text', text }] })),
        ...said.calls.map(({ id, name, input }) => ({ type: 'function_call', call_id: id, name, arguments: input })),
      ];
    case 'tool':
      return [{ type: 'function_call_output', call_id: said.id, output: said.parts.map(inResponses) }];
    default:
      return [{ role: said.by, content: said.parts.map(inResponses) }];
  }
};

const responses: Pen = ({ said, settings }, issuer) => ({
  path: '/v1/responses',
  body: given({
    model: issuer.model,
    input: said.flatMap((one) => itemsOf(one, issuer)),
    tools:
      settings.tools.length === 0
        ? undefined
        : settings.tools.map(({ name, schema: parameters = { type: 'object', properties: {} } }) => ({
            type: 'function',
            name,
            parameters,
            strict: false,
          })),
    tool_choice: settings.choice === undefined || isWord(settings.choice) ? settings.choice : { type: 'function', name: settings.choice },
    parallel_tool_calls: settings.parallel,
    max_output_tokens: settings.most,
    temperature: settings.temperature,
    top_p: settings.topP,
    reasoning: settings.effort === undefined ? undefined : { effort: settings.effort },
    text:
      settings.format === undefined
        ? undefined
        : { format: { type: settings.format, ...(settings.format === 'json_schema' && { name: 'answer', schema }) } },
    stream: settings.stream || undefined,
  }),
});

export const pens: Readonly<Record<'chat' | 'messages' | 'responses', Pen>> = { chat, messages, responses };
