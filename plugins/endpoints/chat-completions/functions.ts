/**
 * Functions as they were before tools (`functions`, `function_call`, messages of the role `function`): they become tools, so that every
 * provider is asked in one form. A caller who sends `functions` gets calls back in the old form, one in an answer.
 */
import type { ChatRequest } from '../../../core/chat.ts';
import { GatewayError } from '../../../core/errors.ts';
import { list, listOf, missing, object, optional, text, wrongValue } from '../../../core/wire/checks.ts';
import { type Fields, isFields } from '../../../core/wire/fields.ts';

/** The body with tools in place of functions; the same body where it has no functions. */
export function withTools(body: Fields): Fields {
  const given = body['messages'];
  const messages = Array.isArray(given) && (given as unknown[]).some(isOld) ? { messages: messagesOf(list('messages', given)) } : null;
  const declared = optional('functions', body['functions'], listOf(toolOf));
  const wanted = optional('function_call', body['function_call'], choiceOf);
  if (declared === null && wanted === null) return messages === null ? body : { ...body, ...messages };
  const { functions: _, function_call: __, ...others } = body;
  for (const name of ['tools', 'tool_choice']) {
    if ((others[name] ?? null) !== null) {
      throw new GatewayError(
        'invalid_request',
        `Send either functions or tools, not both: leave out "${name}", or write the functions as "tools".`,
        { param: name },
      );
    }
  }
  // an answer of the old form has one call
  return {
    ...others,
    ...messages,
    ...(declared !== null && declared.length > 0 && { tools: declared, parallel_tool_calls: false }),
    ...(wanted !== null && { tool_choice: wanted }),
  };
}

/** Whether the caller declares functions, and so reads calls in the old form. */
export const declaresFunctions = (body: Fields): boolean => Array.isArray(body['functions']) && (body['functions'] as unknown[]).length > 0;

/** Whether the answer to a request has calls in the old form. */
export const readsFunctions = ({ door }: ChatRequest): boolean => door?.['functions'] === true;

const isOld = (message: unknown): boolean => isFields(message) && (message['role'] === 'function' || isFields(message['function_call']));

function toolOf(param: string, value: unknown): Fields {
  const described = object(param, value);
  text(`${param}.name`, described['name']);
  optional(`${param}.parameters`, described['parameters'], object);
  return { type: 'function', function: described };
}

function choiceOf(param: string, value: unknown): unknown {
  if (value === 'auto' || value === 'none') return value;
  if (!isFields(value)) throw wrongValue(param, 'must be "auto", "none", or {"name": "…"}');
  return { type: 'function', function: { name: text(`${param}.name`, value['name']) } };
}

/** The messages with calls and results in the form of tools. A call gets its id by its place, which stays the same from turn to turn. */
function messagesOf(messages: readonly unknown[]): unknown[] {
  const open = new Map<string, string>();
  return messages.map((message, at) => {
    if (!isFields(message)) return message;
    const param = `messages[${at}]`;
    const { function_call: call, ...others } = message;
    if (message['role'] === 'function') return resultOf(others, param, open);
    if (!isFields(call)) return message;
    const id = `call_function${at}`;
    open.set(text(`${param}.function_call.name`, call['name']), id);
    return {
      ...others,
      tool_calls: [
        { id, type: 'function', function: { name: call['name'], arguments: text(`${param}.function_call.arguments`, call['arguments']) } },
      ],
    };
  });
}

function resultOf({ name, content, ...others }: Fields, param: string, open: Map<string, string>): Fields {
  if (name === undefined || name === null) throw missing(`${param}.name`, 'the name of the function that gave this result');
  const called = text(`${param}.name`, name);
  const id = open.get(called);
  if (id === undefined) {
    throw wrongValue(`${param}.name`, 'must be the name in a "function_call" of an earlier message that has no result yet');
  }
  open.delete(called);
  return { ...others, role: 'tool', tool_call_id: id, content: content ?? '' };
}
