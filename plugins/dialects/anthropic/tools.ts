/** Encodes tools, the tool choice, and structured answers, for which older models need a tool. */
import type { ChatRequest, Tool, ToolChoice } from '../../../core/chat.ts';
import type { Target } from '../../../core/wire/dialect.ts';
import { GatewayError } from '../../../core/errors.ts';
import { answerSchema, answerTool, refuseReserved } from '../families/answer-tool.ts';
import { type ClaudeAsk, takesSchemas } from '../families/claude.ts';
import { claudeSchema, needsTool } from '../families/claude-schema.ts';
import type { Block, Writing } from './content.ts';
import { isSameForm, nativeOf } from './form.ts';

/** How the answer gets its form: by `output_config.format`, by a tool that the model must call, or not at all (both null). */
interface AnswerForm {
  /** `output_config.format` */
  readonly format: Block | null;
  /** The answer tool. */
  readonly tool: Block | null;
  /** True for a schema, which is more important than thinking. JSON without a schema is not. */
  readonly isStrict: boolean;
}

const free: AnswerForm = { format: null, tool: null, isStrict: false };

/** The form that `response_format` asks for. Throws `unsupported_value` for an unknown type. */
export function answerFormOf(request: ChatRequest, target: Target, writing: Writing): AnswerForm {
  const { responseFormat } = request;
  switch (responseFormat?.type) {
    case undefined:
    case 'text':
      return free;
    case 'json_object':
      return { ...free, tool: answerToolOf({ type: 'object' }) };
    case 'json_schema': {
      const schema = answerSchema(responseFormat) ?? { type: 'object' };
      const isOwn = isSameForm(request);
      if (!takesSchemas(target) || (!isOwn && needsTool(schema))) return { format: null, tool: answerToolOf(schema), isStrict: true };
      return {
        format: { type: 'json_schema', schema: isOwn ? schema : taken(schema, 'response_format', writing) },
        tool: null,
        isStrict: true,
      };
    }
    default:
      throw new GatewayError('unsupported_value', `This provider does not support the response format "${responseFormat?.type}".`, {
        param: 'response_format',
      });
  }
}

const answerToolOf = (schema: object): Block => ({
  name: answerTool,
  description: 'Gives the answer. Call it once, with the whole answer as its arguments, in place of writing the answer as text.',
  input_schema: { type: 'object', ...schema },
});

/** wire: schema keywords outside of Claude's subset are a 400 (Anthropic: Structured outputs). */
function taken(schema: object, parameter: string, writing: Writing): Block {
  const { schema: cleaned, dropped } = claudeSchema(schema);
  if (dropped.length > 0) writing.adjust(parameter, `not enforced: ${dropped.join(', ')}`);
  return cleaned;
}

/** The tools to declare; null if there are none. */
export function encodeTools(
  request: ChatRequest,
  form: AnswerForm,
  { target, writing }: { target: Target; writing: Writing },
): readonly Block[] | null {
  const encode = isSameForm(request) ? encodeOwnTool : (tool: Tool): Block => encodeTool(tool, target, writing);
  const declared = (request.tools ?? []).map((tool) => ({
    ...encode(tool),
    ...writing.breakpoints.of({ cache_control: tool['cache_control'] ?? (tool.function as Block | undefined)?.['cache_control'] }),
  }));
  const all = form.tool === null ? declared : [...declared, form.tool];
  return all.length === 0 ? null : all;
}

/** A tool of a caller of the Messages API goes out as the caller declared it. */
function encodeOwnTool(tool: Tool): Block {
  const { native: _, cache_control: __, function: described, ...declared } = tool;
  if (described === undefined) return declared;
  refuseReserved(described.name, 'tools');
  const { parameters, ...about } = described;
  return { ...about, input_schema: parameters, ...nativeOf(tool) };
}

function encodeTool(tool: Tool, target: Target, writing: Writing): Block {
  if (tool.type !== 'function' || tool.function === undefined) {
    // wire: types of Anthropic's own tools end with a date, such as `web_search_20250305`
    // (Anthropic: Tool use), but for the tools of `mcp_servers` (MCP connector)
    if (!/^mcp_toolset$|_\d{8}$/.test(tool.type)) {
      throw new GatewayError('unsupported_value', `This provider does not support tools of the type "${tool.type}".`, { param: 'tools' });
    }
    return Object.fromEntries(Object.entries(tool).filter(([field]) => field !== 'cache_control'));
  }
  const { name, description, parameters, strict } = tool.function;
  refuseReserved(name, 'tools');
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

/** Whether the model must call a tool, and why; see `ClaudeAsk`. */
export function forcedToolOf({ toolChoice, tools }: ChatRequest, form: AnswerForm): ClaudeAsk['forcedTool'] {
  if (form.tool !== null) return form.isStrict ? 'schema' : 'json';
  if (tools === null || tools.length === 0 || toolChoice === null) return 'none';
  return toolChoice === 'required' || typeof toolChoice === 'object' ? 'required' : 'none';
}

/** The `tool_choice` to send. Null if it is left out, which means `auto`. `thinks`: the model may think, so no tool is forced. */
export function encodeToolChoice(request: ChatRequest, form: AnswerForm, thinks: boolean): Block | null {
  const tools = request.tools ?? [];
  if (tools.length === 0 && form.tool === null) return null;
  const choice = form.tool === null ? choiceOf(request.toolChoice) : answerChoice(request);
  const isForced = choice?.['type'] === 'any' || choice?.['type'] === 'tool';
  const allowed = isForced && thinks ? { type: 'auto' } : choice;
  // an answer by the answer tool must be the only call
  const isSingle = (request.parallelToolCalls === false && tools.length > 0) || form.tool !== null;
  if (!isSingle || allowed?.['type'] === 'none') return allowed;
  return { type: 'auto', ...allowed, disable_parallel_tool_use: true };
}

/** The choice if the answer tool is declared: this tool, or any tool if the caller has tools too. */
function answerChoice({ tools, toolChoice }: ChatRequest): Block {
  if (tools === null || tools.length === 0 || toolChoice === 'none') return { type: 'tool', name: answerTool };
  return typeof toolChoice === 'object' && toolChoice !== null ? (choiceOf(toolChoice) as Block) : { type: 'any' };
}

function choiceOf(choice: ToolChoice | null): Block | null {
  if (choice === null) return null;
  if (typeof choice === 'object') {
    const name = choice.function?.name;
    if (name === undefined) {
      throw new GatewayError('unsupported_value', `This provider does not support the tool choice "${choice.type}".`, {
        param: 'tool_choice',
      });
    }
    return { type: 'tool', name, ...nativeOf(choice) };
  }
  return { type: choice === 'required' ? 'any' : choice };
}
