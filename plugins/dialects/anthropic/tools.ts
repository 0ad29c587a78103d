/** Tools, the choice among them, and structured answers, which older models give by way of a tool. */
import type { ChatRequest, Tool, ToolChoice } from '../../../core/chat.ts';
import type { Target } from '../../../core/wire/dialect.ts';
import { GatewayError } from '../../../core/errors.ts';
import { type ClaudeAsk, takesSchemas } from '../families/claude.ts';
import { claudeSchema } from '../families/claude-schema.ts';
import { answerTool } from './answer-tool.ts';
import type { Block, Writing } from './content.ts';

/** How the answer is held to a form: by the API itself, by a tool that the model is made to call, or not at all. */
export interface AnswerForm {
  /** `output_config.format` */
  readonly format: Block | null;
  readonly tool: Block | null;
  /** A schema counts more than thinking; any JSON does not. */
  readonly isStrict: boolean;
}

const free: AnswerForm = { format: null, tool: null, isStrict: false };

/** Reads `response_format`. */
export function answerFormOf({ responseFormat }: ChatRequest, target: Target, writing: Writing): AnswerForm {
  switch (responseFormat?.type) {
    case undefined:
    case 'text':
      return free;
    case 'json_object':
      return { ...free, tool: answerToolOf({ type: 'object' }) };
    case 'json_schema': {
      const schema = responseFormat.json_schema?.schema ?? { type: 'object' };
      if (!takesSchemas(target)) return { format: null, tool: answerToolOf(schema), isStrict: true };
      return { format: { type: 'json_schema', schema: taken(schema, 'response_format', writing) }, tool: null, isStrict: true };
    }
    default:
      throw new GatewayError('unsupported_value', `This provider does not support the response format "${responseFormat?.type}".`, { param: 'response_format' });
  }
}

const answerToolOf = (schema: object): Block => ({
  name: answerTool,
  description: 'Gives the answer. Call it once, with the whole answer as its arguments, in place of writing the answer as text.',
  input_schema: { type: 'object', ...schema },
});

/** wire: keywords outside the subset are a 400. */
function taken(schema: object, parameter: string, writing: Writing): Block {
  const { schema: cleaned, dropped } = claudeSchema(schema);
  if (dropped.length > 0) writing.adjust(parameter, `not enforced: ${dropped.join(', ')}`);
  return cleaned;
}

/** The tools to declare; null for none. */
export function encodeTools({ tools }: ChatRequest, form: AnswerForm, { target, writing }: { target: Target; writing: Writing }): readonly Block[] | null {
  const declared = (tools ?? []).map((tool) => ({ ...encodeTool(tool, target, writing), ...writing.breakpoints.of({ cache_control: tool['cache_control'] ?? (tool.function as Block | undefined)?.['cache_control'] }) }));
  const all = form.tool === null ? declared : [...declared, form.tool];
  return all.length === 0 ? null : all;
}

function encodeTool(tool: Tool, target: Target, writing: Writing): Block {
  if (tool.type !== 'function' || tool.function === undefined) {
    // The provider's own tools have a date in their type.
    if (!/_\d{8}$/.test(tool.type)) throw new GatewayError('unsupported_value', `This provider does not support tools of the type "${tool.type}".`, { param: 'tools' });
    return Object.fromEntries(Object.entries(tool).filter(([field]) => field !== 'cache_control'));
  }
  const { name, description, parameters, strict } = tool.function;
  if (name === answerTool) throw new GatewayError('invalid_value', `The tool name "${answerTool}" is reserved. Choose another.`, { param: 'tools' });
  const isStrict = strict === true && takesSchemas(target);
  if (strict === true && !isStrict) writing.adjust('tools.function.strict', 'dropped');
  const schema = { type: 'object', ...(parameters ?? { properties: {} }) };
  return {
    name,
    ...(description === undefined ? {} : { description }),
    input_schema: isStrict ? taken(schema, 'tools.function.parameters', writing) : schema,
    ...(isStrict ? { strict: true } : {}),
  };
}

/** Whether the model is to be made to call a tool, and what for. */
export function forcedToolOf({ toolChoice, tools }: ChatRequest, form: AnswerForm): ClaudeAsk['forcedTool'] {
  if (form.tool !== null) return form.isStrict ? 'schema' : 'json';
  if (tools === null || tools.length === 0 || toolChoice === null) return 'none';
  return toolChoice === 'required' || typeof toolChoice === 'object' ? 'required' : 'none';
}

/** The choice to send; null: the provider's default, `auto`. */
export function encodeToolChoice(request: ChatRequest, form: AnswerForm, thinks: boolean): Block | null {
  const tools = request.tools ?? [];
  if (tools.length === 0 && form.tool === null) return null;
  const choice = form.tool === null ? choiceOf(request.toolChoice) : answerChoice(request);
  const isForced = choice?.['type'] === 'any' || choice?.['type'] === 'tool';
  const allowed = isForced && thinks ? { type: 'auto' } : choice;
  // Beside an answer no call can be meant, and none counts.
  const isSingle = (request.parallelToolCalls === false && tools.length > 0) || form.tool !== null;
  if (!isSingle || allowed?.['type'] === 'none') return allowed;
  return { type: 'auto', ...allowed, disable_parallel_tool_use: true };
}

/** The answer itself, or where the caller has tools, one of them or the answer. */
function answerChoice({ tools, toolChoice }: ChatRequest): Block {
  if (tools === null || tools.length === 0 || toolChoice === 'none') return { type: 'tool', name: answerTool };
  return typeof toolChoice === 'object' && toolChoice !== null ? (choiceOf(toolChoice) as Block) : { type: 'any' };
}

function choiceOf(choice: ToolChoice | null): Block | null {
  if (choice === null) return null;
  if (typeof choice === 'object') {
    const name = choice.function?.name;
    if (name === undefined) throw new GatewayError('unsupported_value', `This provider does not support the tool choice "${choice.type}".`, { param: 'tool_choice' });
    return { type: 'tool', name };
  }
  return { type: choice === 'required' ? 'any' : choice };
}
