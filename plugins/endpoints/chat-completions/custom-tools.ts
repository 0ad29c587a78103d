/**
 * Custom tools, whose input is plain text: they become functions with one parameter, so that
 * every provider is asked in one form. The caller gets the calls of these functions as calls of custom tools.
 */
import type { Adjustment, ChatRequest, Chunk } from '../../../core/chat.ts';
import { list, object, optional, text } from '../../../core/wire/checks.ts';
import { CustomInput, inputSchema, isFreeText } from '../../../core/wire/custom-tools/input.ts';
import { type Fields, fieldsOf, isFields, listOf } from '../../../core/wire/fields.ts';

/** A body without custom tools, and the changes that were made to it. */
interface Uncustomised {
  readonly body: Fields;
  readonly names: readonly string[];
  readonly adjustments: readonly Adjustment[];
}

const isCustom = (value: unknown): value is Fields => isFields(value) && value['type'] === 'custom' && isFields(value['custom']);

/** The body with functions in place of custom tools, also in the tool choice and in calls. */
export function withoutCustomTools(body: Fields): Uncustomised {
  const { tools, tool_choice: choice, messages } = body;
  const customs = listOf(tools).filter(isCustom);
  const hasCalls = listOf(messages).some(hasCustomCall);
  // cost: most requests have no custom tool, no tool choice that is an object and no call of a custom tool: their body is not copied
  if (customs.length === 0 && !isFields(choice) && !hasCalls) return { body, names: [], adjustments: [] };
  const changed: Record<string, unknown> = {};
  if (customs.length > 0) {
    changed['tools'] = list('tools', tools).map((tool, at) => (isCustom(tool) ? functionOf(`tools[${at}]`, tool) : tool));
  }
  if (isFields(choice)) changed['tool_choice'] = choiceOf(choice);
  if (hasCalls) {
    changed['messages'] = listOf(messages).map((message, at) => (hasCustomCall(message) ? callsOf(`messages[${at}]`, message) : message));
  }
  const isHeld = customs.every((tool) => isFreeText(formatOf(tool)));
  return {
    body: { ...body, ...changed },
    names: customs.map((tool) => String(fieldsOf(tool['custom'])['name'])),
    adjustments: isHeld ? [] : [{ parameter: 'tools.custom.format', change: 'dropped' }],
  };
}

/** The format of a custom tool. In this API, the fields of a grammar are in an object of their own. */
function formatOf(tool: Fields): unknown {
  const { format } = fieldsOf(tool['custom']);
  return isFields(format) ? { ...format, ...fieldsOf(format['grammar']) } : undefined;
}

function functionOf(param: string, { custom, ...more }: Fields): Fields {
  const { name, description } = object(`${param}.custom`, custom);
  const about = optional(`${param}.custom.description`, description, text);
  return {
    ...more,
    type: 'function',
    function: {
      name: text(`${param}.custom.name`, name),
      ...(about !== null && { description: about }),
      parameters: inputSchema(formatOf({ custom })),
    },
  };
}

const namedOf = (tool: unknown): unknown => (isCustom(tool) ? { type: 'function', function: tool['custom'] } : tool);

function choiceOf(choice: Fields): unknown {
  const { allowed_tools: allowed } = choice;
  return isFields(allowed) && Array.isArray(allowed['tools'])
    ? { ...choice, allowed_tools: { ...allowed, tools: (allowed['tools'] as unknown[]).map(namedOf) } }
    : namedOf(choice);
}

const hasCustomCall = (message: unknown): message is Fields => isFields(message) && listOf(message['tool_calls']).some(isCustom);

const callsOf = (param: string, message: Fields): Fields => ({
  ...message,
  tool_calls: listOf(message['tool_calls']).map((call, at) => (isCustom(call) ? callOf(`${param}.tool_calls[${at}].custom`, call) : call)),
});

function callOf(param: string, { custom, ...more }: Fields): Fields {
  const { name, input } = object(param, custom);
  return {
    ...more,
    type: 'function',
    function: { name: text(`${param}.name`, name), arguments: JSON.stringify({ input: text(`${param}.input`, input) }) },
  };
}

/** The names of the custom tools of a request. */
export const customNames = ({ door }: ChatRequest): readonly unknown[] => listOf(door?.['customs']);

/** The whole input of a call. */
export function inputIn(whole: string): string {
  const input = new CustomInput();
  input.push(whole);
  input.end(whole);
  return input.text;
}

interface OpenCall {
  readonly index: number;
  readonly input: CustomInput;
  whole: string;
}

/** The calls of custom tools in a stream. */
export class CustomCalls {
  readonly #names: ReadonlySet<unknown>;
  readonly #open = new Map<number, Map<number, OpenCall>>();

  constructor(names: readonly unknown[]) {
    this.#names = new Set(names);
  }

  /** The fields of a delta, as JSON text; null: nothing is to be sent yet; undefined: the chunk belongs to no such call. */
  delta(chunk: Chunk): string | null | undefined {
    if (chunk.type === 'tool-start' && this.#names.has(chunk.name)) {
      this.#callsIn(chunk.choice).set(chunk.index, { index: chunk.index, input: new CustomInput(), whole: '' });
      return `"tool_calls":[{"index":${chunk.index},"id":${JSON.stringify(chunk.id)},"type":"custom","custom":{"name":${JSON.stringify(chunk.name)},"input":""}}]`;
    }
    const call = chunk.type === 'tool-delta' ? this.#open.get(chunk.choice)?.get(chunk.index) : undefined;
    if (call === undefined || chunk.type !== 'tool-delta') return undefined;
    call.whole += chunk.arguments;
    return said(call, call.input.push(chunk.arguments));
  }

  /** The input that was held back for the calls of a choice, as the fields of one delta for each call (JSON text). */
  rest(choice: number): readonly string[] {
    const calls = [...(this.#open.get(choice)?.values() ?? [])];
    return calls.map((call) => said(call, call.input.end(call.whole))).filter((delta) => delta !== null);
  }

  #callsIn(choice: number): Map<number, OpenCall> {
    const calls = this.#open.get(choice) ?? new Map<number, OpenCall>();
    this.#open.set(choice, calls);
    return calls;
  }
}

const said = ({ index }: OpenCall, piece: string): string | null =>
  piece === '' ? null : `"tool_calls":[{"index":${index},"custom":{"input":${JSON.stringify(piece)}}}]`;
