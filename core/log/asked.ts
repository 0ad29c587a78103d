/**
 * The body of a logged request, as its caller could have written it at its door. The log keeps
 * requests of all doors in the form of the chat completions API, with the fields that only one
 * door knows. Where a door takes several spellings of a field, the body has one of them.
 */
import { fieldsOf, isFields, listOf, textOf, type Fields } from '../wire/fields.ts';
import { objectIn } from '../wire/json.ts';
import { toOpaque } from '../wire/opaque.ts';
import type { ReasoningDetail } from '../chat.ts';

/** @param path of the door, as in the record @param request as the log has it */
export function askedBody(path: string, request: unknown): unknown {
  if (!isFields(request)) return request;
  if (/\/messages(?:\/count_tokens)?$/.test(path)) return messagesBody(request);
  if (path.endsWith('/responses')) return responsesBody(request);
  const { native: _, door: __, ...body } = request;
  if (!Array.isArray(body['messages'])) return body;
  if (path.endsWith('/completions') && !path.endsWith('/chat/completions')) return promptBody(body);
  return { ...body, messages: body['messages'].map((message) => without(fieldsOf(message), 'native')) };
}

const without = (fields: Fields, ...names: readonly string[]): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)));

const ownOf = ({ native }: Fields): Fields => fieldsOf(fieldsOf(native)['fields']);

/** Entries of a list of messages, parts, calls or details. */
const entriesOf = (value: unknown): readonly Fields[] => listOf(value).map(fieldsOf);

function promptBody({ messages, max_completion_tokens: most, ...body }: Fields): Fields {
  const [{ content } = {}] = entriesOf(messages);
  return { ...body, prompt: content, ...(most !== undefined && { max_tokens: most }) };
}

/** The fields that have other names in both of the other formats. */
const renamed = [
  'messages',
  'stream_options',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'response_format',
  'max_completion_tokens',
  'stop',
  'user',
  'reasoning',
  'reasoning_effort',
  'native',
  'door',
];

function messagesBody(request: Fields): Fields {
  const { messages, tools, max_completion_tokens: most, stop } = request;
  // the betas came in a header, and the id of the user is in the metadata
  const native = Object.fromEntries(Object.entries(fieldsOf(request['native'])).filter(([name]) => !name.endsWith('_beta')));
  const user = textOf(request['user']);
  const system = entriesOf(messages).find(({ role }) => role === 'system');
  return {
    ...without(request, ...renamed),
    ...(most !== undefined && { max_tokens: most }),
    ...(system !== undefined && { system: blocksOf(system['content']) }),
    messages: turnsOf(entriesOf(messages).filter((message) => message !== system)),
    ...(tools !== undefined && { tools: entriesOf(tools).map(toolWithSchema) }),
    ...choiceWithType(request),
    ...(stop !== undefined && { stop_sequences: Array.isArray(stop) ? stop : [stop] }),
    ...(user !== null && { metadata: { user_id: user } }),
    ...native,
    ...thinkingOf(request, native),
  };
}

/** How hard the model should think, and the form of the answer. */
function thinkingOf(
  { reasoning_effort: effort, reasoning, response_format: format }: Fields,
  { thinking, output_config: config }: Fields,
): Fields {
  const { max_tokens: budget } = fieldsOf(reasoning);
  const schema = fieldsOf(fieldsOf(format)['json_schema'])['schema'];
  const output = {
    ...(effort !== undefined && { effort }),
    ...(schema !== undefined && { format: { type: 'json_schema', schema } }),
    ...fieldsOf(config),
  };
  const how = {
    ...(effort !== undefined && { type: 'adaptive' }),
    ...(budget !== undefined && { type: 'enabled', budget_tokens: budget }),
    ...fieldsOf(thinking),
  };
  return {
    ...(Object.keys(how).length > 0 && { thinking: how }),
    ...(Object.keys(output).length > 0 && { output_config: output }),
  };
}

function toolWithSchema(tool: Fields): Fields {
  const { function: described, cache_control: mark } = tool;
  if (described === undefined) return without(tool, 'native');
  const { parameters, ...named } = fieldsOf(described);
  return { ...named, input_schema: parameters, ...ownOf(tool), ...(mark !== undefined && { cache_control: mark }) };
}

function choiceWithType({ tool_choice: choice, parallel_tool_calls: parallel }: Fields): Fields {
  if (choice === undefined) return {};
  const named = fieldsOf(fieldsOf(choice)['function'])['name'];
  const type =
    typeof choice === 'string'
      ? { type: choice === 'required' ? 'any' : choice }
      : { type: 'tool', name: named, ...ownOf(fieldsOf(choice)) };
  return { tool_choice: { ...type, ...(typeof parallel === 'boolean' && { disable_parallel_tool_use: !parallel }) } };
}

/** The messages, with results of tools and words of the user in one. */
function turnsOf(messages: readonly Fields[]): readonly Fields[] {
  const turns: { role: unknown; content: unknown; hasResults: boolean }[] = [];
  for (const message of messages) {
    const { role, content } = message;
    const last = turns.at(-1);
    if (role === 'tool') {
      if (last?.hasResults === true) (last.content as unknown[]).push(resultBlock(message));
      else turns.push({ role: 'user', content: [resultBlock(message)], hasResults: true });
    } else if (role === 'user' && last?.hasResults === true) {
      last.content = [...(last.content as unknown[]), ...listOfBlocks(content)];
      last.hasResults = false;
    } else turns.push({ role, content: role === 'assistant' ? saidBlocks(message) : blocksOf(content), hasResults: false });
  }
  return turns.map(({ role, content }) => ({ role, content }));
}

function resultBlock(message: Fields): Fields {
  const { tool_call_id: id, content, is_error: isError, cache_control: mark } = message;
  return {
    type: 'tool_result',
    tool_use_id: id,
    content: blocksOf(content),
    ...(isError !== undefined && { is_error: isError }),
    ...ownOf(message),
    ...(mark !== undefined && { cache_control: mark }),
  };
}

const blocksOf = (content: unknown): unknown => (Array.isArray(content) ? entriesOf(content).map(blockOf) : content);

/** The content for a place that takes only a list. A plugin may have taken the content away. */
const listOfBlocks = (content: unknown): readonly unknown[] =>
  typeof content === 'string' ? [{ type: 'text', text: content }] : listOf(blocksOf(content));

function blockOf(part: Fields): Fields {
  const { type, text, image_url: image, file, native, cache_control: mark } = part;
  const own = ownOf(part);
  const marked = mark === undefined ? {} : { cache_control: mark };
  if (fieldsOf(native)['isAll'] === true) return { type, ...own, ...marked };
  if (file !== undefined) return { type: 'document', ...own, source: sourceOf(fieldsOf(file)['file_data']), ...marked };
  if (image !== undefined) return { type: 'image', source: sourceOf(fieldsOf(image)['url']), ...own, ...marked };
  if (own['type'] === undefined) return { type, text, ...own, ...marked };
  // a document or a search result, which other formats carry as a text
  const source = fieldsOf(own['source']);
  return { ...own, ...(source['type'] === 'text' && { source: { ...source, data: text } }), ...marked };
}

function sourceOf(address: unknown): Fields {
  const [, media, data] = /^data:([^;,]*);base64,(.*)$/s.exec(textOf(address) ?? '') ?? [];
  return data === undefined ? { type: 'url', url: address } : { type: 'base64', media_type: media, data };
}

function saidBlocks(message: Fields): unknown {
  const { content, tool_calls: calls, reasoning, reasoning_details: details } = message;
  const states = entriesOf(details).map((detail) => without(detail, 'after') as unknown as ReasoningDetail);
  const thoughts = states.map((detail) =>
    detail.type === 'reasoning.text'
      ? { type: 'thinking', thinking: detail.text ?? '', signature: toOpaque(detail, detail.text) }
      : { type: 'redacted_thinking', data: toOpaque(detail) },
  );
  if (typeof reasoning === 'string' && !thoughts.some(({ type }) => type === 'thinking')) {
    thoughts.unshift({ type: 'thinking', thinking: reasoning, signature: toOpaque({ type: 'reasoning.text', text: '' }) });
  }
  if (thoughts.length === 0 && calls === undefined) return blocksOf(content);
  return [...thoughts, ...listOfBlocks(content), ...entriesOf(calls).map(useBlock)];
}

function useBlock(call: Fields): Fields {
  const { name, arguments: input } = fieldsOf(call['function']);
  return { type: 'tool_use', id: call['id'], name, input: objectIn(textOf(input) ?? '') ?? {}, ...ownOf(call) };
}

function responsesBody(request: Fields): Fields {
  const { model, messages, tools, stream, native, door } = request;
  const { store, previous_response_id: previous, parameters } = fieldsOf(door);
  const all = entriesOf(messages);
  const instructions = all.find((message) => ownOf(message)['instructions'] === true);
  return {
    model,
    ...(instructions !== undefined && { instructions: instructions['content'] }),
    input: all.filter((message) => message !== instructions).flatMap(itemsOf),
    ...fieldsOf(native),
    ...fieldsOf(parameters),
    ...(tools !== undefined && { tools: entriesOf(tools).map(flatTool) }),
    ...(stream !== undefined && { stream }),
    ...(typeof store === 'boolean' && { store }),
    // the input has the whole conversation
    ...(typeof previous === 'string' && { previous_response_id: null }),
  };
}

function flatTool(tool: Fields): Fields {
  const own = ownOf(tool);
  return own['type'] === undefined ? { type: 'function', ...fieldsOf(tool['function']), ...own } : own;
}

/** A message, and the thoughts and calls that it holds, as items. */
function itemsOf(message: Fields): readonly Fields[] {
  const { role, content, tool_call_id: id } = message;
  const { order, item, ...own } = ownOf(message);
  if (isFields(item)) return [item];
  if (role === 'tool') return [{ type: 'function_call_output', call_id: id, output: partsOf(content, 'input_text'), ...own }];
  if (role !== 'assistant') return [{ role, content: partsOf(content, 'input_text'), ...own }];
  const thoughts = thoughtItems(message);
  const calls = entriesOf(message['tool_calls']).map(callItem);
  if (order !== undefined) return orderedItems(entriesOf(order), { thoughts, content, calls });
  return [...thoughts, ...(content === null ? [] : [{ role, content: partsOf(content, 'output_text'), ...own }]), ...calls];
}

interface Said {
  readonly thoughts: readonly Fields[];
  readonly content: unknown;
  readonly calls: readonly Fields[];
}

/** The items of one turn as they followed each other. */
function orderedItems(order: readonly Fields[], { thoughts, content, calls }: Said): readonly Fields[] {
  let [thought, part] = [0, 0];
  const items = order.map((entry): Fields => {
    if (entry['type'] === 'reasoning') return thoughts[thought++] ?? {};
    if (entry['type'] === 'call') return calls.find(({ call_id: id }) => id === entry['id']) ?? {};
    if (entry['type'] === 'item') return fieldsOf(entry['item']);
    const from = part;
    part += Number(entry['parts']);
    return {
      role: 'assistant',
      ...fieldsOf(entry['fields']),
      content: partsOf(Array.isArray(content) ? content.slice(from, part) : content, 'output_text'),
    };
  });
  // thoughts without state have no place in the order, so they come first
  return [...thoughts.slice(thought), ...items];
}

/** The thoughts of a message. The log has one text for all thoughts, so the first item gets this text. */
function thoughtItems({ reasoning, reasoning_details: details }: Fields): readonly Fields[] {
  const summary = typeof reasoning === 'string' ? [{ type: 'summary_text', text: reasoning }] : [];
  const states = entriesOf(details);
  if (states.length === 0) return summary.length === 0 ? [] : [{ type: 'reasoning', summary }];
  return states.map((detail, at) => ({
    type: 'reasoning',
    summary: at === 0 ? summary : [],
    encrypted_content: toOpaque(detail as unknown as ReasoningDetail),
  }));
}

function callItem(call: Fields): Fields {
  const { name, arguments: input } = fieldsOf(call['function']);
  const own = ownOf(call);
  if (own['type'] === 'custom_tool_call') {
    return { call_id: call['id'], name, input: fieldsOf(objectIn(textOf(input) ?? ''))['input'] ?? '', ...own };
  }
  return { type: 'function_call', call_id: call['id'], name, arguments: input, ...own };
}

const partsOf = (content: unknown, type: string): unknown =>
  Array.isArray(content) ? entriesOf(content).map((part) => partOf(part, type)) : content;

function partOf(part: Fields, type: string): Fields {
  const { text, image_url: image, file, native } = part;
  const own = ownOf(part);
  if (fieldsOf(native)['isAll'] === true) return own;
  if (image !== undefined) return { type: 'input_image', image_url: fieldsOf(image)['url'], ...without(fieldsOf(image), 'url'), ...own };
  if (file !== undefined) return { type: 'input_file', ...fieldsOf(file), ...own };
  return text === undefined ? { ...without(part, 'native'), ...own } : { type, text, ...own };
}
