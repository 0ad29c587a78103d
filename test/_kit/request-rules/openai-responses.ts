/** What OpenAI refuses on Responses. */
import { lacking, listIn, pairs, repeated, type Rule, type Sent, unknownFields, unless } from './rule.ts';

const itemsOf = ({ body }: Sent): readonly any[] => listIn(body.input);
const ofType = (sent: Sent, type: string): readonly any[] => itemsOf(sent).filter((item) => item.type === type);
const callsOf = (sent: Sent): readonly any[] => ofType(sent, 'function_call');
const outputsOf = (sent: Sent): readonly any[] => ofType(sent, 'function_call_output');
const idsOf = (items: readonly any[]): readonly string[] => items.map(({ call_id: id }) => id);
const messagesOf = (sent: Sent): readonly any[] => itemsOf(sent).filter(({ type = 'message' }) => type === 'message');
const partsOf = ({ content }: any): readonly any[] => listIn(content);
const toolsOf = ({ body }: Sent): readonly any[] => listIn(body.tools);

const reasons = ({ model }: Sent): boolean => /^(?:o\d|gpt-(?:[5-9]|1\d)(?!-chat))/.test(model);
const mayRest = ({ model }: Sent): boolean => /^gpt-(?:5\.\d|[6-9])/.test(model);
const restsUnasked = ({ model }: Sent): boolean => /^gpt-5\.[124](?:-\d{4}-|$)/.test(model);

const ofInput: readonly Rule[] = [
  {
    rule: 'there is an item',
    source: 'OpenAI: error text "One of \\"input\\" or \\"previous_response_id\\" must be provided"',
    offenders: (sent) => unless(itemsOf(sent).length > 0),
  },
  {
    rule: 'each call has its output after it',
    source: 'OpenAI: error text "No tool output found for function call"',
    offenders: (sent) =>
      itemsOf(sent).filter(
        (item, at) =>
          item.type === 'function_call' &&
          !idsOf(
            itemsOf(sent)
              .slice(at)
              .filter(({ type }) => type === 'function_call_output'),
          ).includes(item.call_id),
      ),
  },
  {
    rule: 'each output has its call before it',
    source: 'OpenAI: error text "No tool call found for function call output"',
    offenders: (sent) =>
      itemsOf(sent).filter(
        (item, at) =>
          item.type === 'function_call_output' &&
          !idsOf(
            itemsOf(sent)
              .slice(0, at)
              .filter(({ type }) => type === 'function_call'),
          ).includes(item.call_id),
      ),
  },
  {
    rule: 'no id of a call or of an output is there twice',
    source: 'OpenAI: error text "Duplicate \'call_id\'" (earendil-works/pi#9057)',
    offenders: (sent) => [...repeated(idsOf(callsOf(sent))), ...repeated(idsOf(outputsOf(sent)))],
  },
  {
    rule: 'an id of a call has at most 64 characters',
    source: 'OpenAI: error text of `input[].call_id`, "string too long"',
    offenders: (sent) => idsOf([...callsOf(sent), ...outputsOf(sent)]).filter((id) => id === '' || id.length > 64),
  },
  {
    rule: 'no id of an item is there twice',
    source: 'OpenAI: error text "Duplicate item found with id" (vercel/ai#13307)',
    offenders: (sent) => repeated(itemsOf(sent).flatMap(({ id }) => id ?? [])),
  },
  {
    rule: 'reasoning is followed by what it led to',
    source: 'OpenAI: error text "Item of type \'reasoning\' was provided without its required following item."',
    offenders: (sent) =>
      pairs(itemsOf(sent))
        .filter(
          ([item, next]) =>
            item.type === 'reasoning' && next?.type !== 'reasoning' && next?.type !== 'function_call' && next?.role !== 'assistant',
        )
        .map(([item]) => item),
  },
  {
    rule: 'reasoning only for a model that reasons',
    source: 'OpenAI: error text "Reasoning input items can only be provided to a reasoning or computer use model"',
    offenders: (sent) => (reasons(sent) ? [] : ofType(sent, 'reasoning')),
  },
  {
    rule: 'a part is of a type that its role takes',
    source: "OpenAI: error text \"Invalid value: 'input_text'. Supported values are: 'output_text' and 'refusal'.\"",
    offenders: (sent) =>
      messagesOf(sent).flatMap((message) =>
        partsOf(message).filter(({ type }) =>
          message.role === 'assistant'
            ? !['output_text', 'refusal'].includes(type)
            : !['input_text', 'input_image', 'input_file'].includes(type),
        ),
      ),
  },
  {
    rule: 'images are of the user',
    source: 'OpenAI: error text "Image inputs are only allowed for role \'user\'"',
    offenders: (sent) =>
      messagesOf(sent).flatMap((message) => (message.role === 'user' ? [] : partsOf(message).filter(({ type }) => type === 'input_image'))),
  },
  {
    rule: 'an image has its address as a text',
    source: 'OpenAI: Responses, input_image',
    offenders: (sent) =>
      messagesOf(sent)
        .flatMap(partsOf)
        .filter(({ type, image_url: url, file_id: id }) => type === 'input_image' && typeof (url ?? id) !== 'string'),
  },
];

const ofTools: readonly Rule[] = [
  {
    rule: 'the name of a function has 1 to 64 letters, digits, _ and -',
    source: 'OpenAI: error text of `tools[].name`',
    offenders: (sent) =>
      [...toolsOf(sent).filter(({ type }) => type === 'function'), ...callsOf(sent)].filter(({ name }) => !/^[\w-]{1,64}$/.test(name)),
  },
  {
    rule: 'a list of tools is not empty',
    source: 'OpenAI: error text "empty_array"',
    offenders: (sent) => unless(sent.body.tools === undefined || toolsOf(sent).length > 0, sent.body.tools),
  },
  {
    rule: 'a choice names a tool of the list',
    source: "OpenAI: error text \"Tool choice 'function' not found in 'tools' parameter\"",
    offenders: (sent) => {
      const { type, name } = sent.body.tool_choice ?? {};
      // where there is no tool at all, the choice goes out on purpose: the caller gets the refusal of the provider
      if (toolsOf(sent).length === 0) return [];
      return lacking(
        toolsOf(sent).map((tool) => tool.name),
        type === 'function' ? [name] : [],
      );
    },
  },
];

const known = [
  'model',
  'input',
  'instructions',
  'stream',
  'store',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'text',
  'max_output_tokens',
  'temperature',
  'top_p',
  'top_logprobs',
  'user',
  'reasoning',
  'metadata',
  'service_tier',
  'include',
  'prompt_cache_key',
  'safety_identifier',
  'truncation',
  'max_tool_calls',
  'prompt_cache_retention',
  'prompt_cache_options',
  'background',
  'conversation',
  'previous_response_id',
  'prompt',
];

const ofParameters: readonly Rule[] = [
  {
    rule: 'no parameter is unknown',
    source: 'OpenAI: error text "Unknown parameter"',
    offenders: ({ body }) => unknownFields(body, known),
  },
  {
    rule: 'max_output_tokens is at least 16',
    source: 'OpenAI: error text "Expected a value >= 16"',
    offenders: ({ body: { max_output_tokens: most = 16 } }) => unless(most >= 16, most),
  },
  {
    rule: 'a reasoning model gets no sampling parameter while it thinks',
    source: 'OpenAI: Reasoning models; Using GPT-5.2, Parameter compatibility',
    offenders: (sent) => {
      const effort = sent.body.reasoning?.effort;
      const rests = mayRest(sent) && (effort === 'none' || (effort === undefined && restsUnasked(sent)));
      return reasons(sent) && !rests ? ['temperature', 'top_p', 'top_logprobs'].filter((field) => field in sent.body) : [];
    },
  },
  {
    rule: 'reasoning is asked of a model that reasons',
    source: 'OpenAI: error text "Unsupported parameter: \'reasoning.effort\' is not supported with this model"',
    offenders: (sent) => unless(reasons(sent) || !('reasoning' in sent.body), sent.body.reasoning),
  },
  {
    rule: 'encrypted reasoning is asked of a model that reasons',
    source: 'OpenAI: error text "Encrypted content is not supported with this model"',
    offenders: (sent) => unless(reasons(sent) || !listIn(sent.body.include).includes('reasoning.encrypted_content')),
  },
  {
    rule: 'a schema has a plain name',
    source: 'OpenAI: Structured outputs, text.format.name',
    offenders: ({ body: { text } }) => unless(text?.format?.type !== 'json_schema' || /^[\w-]{1,64}$/.test(text.format.name), text),
  },
];

export const openaiResponsesRules: readonly Rule[] = [...ofInput, ...ofTools, ...ofParameters];
