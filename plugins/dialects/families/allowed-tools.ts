/**
 * The tools that are sent, and the choice among them: for a choice of some (`allowed_tools`), in APIs without it, only these tools; of
 * several tools of one name the first; and no choice of a tool that is not there.
 */
import type { Adjust } from '../../../core/wire/adjustments.ts';
import type { ChatRequest, Tool } from '../../../core/chat.ts';
import { GatewayError } from '../../../core/errors.ts';
import { type Fields, fieldsOf } from '../../../core/wire/fields.ts';

/**
 * The request with the tools that the caller allows, and `auto` or `required`
 * as the choice. Throws a GatewayError for a choice that cannot be kept, of one tool or of several.
 */
export function withAllowedTools(request: ChatRequest): ChatRequest {
  refuseUnknownChoice(request);
  const { toolChoice } = request;
  if (typeof toolChoice !== 'object' || toolChoice?.type !== 'allowed_tools') return request;
  const { mode, tools: listed } = fieldsOf(toolChoice['allowed_tools']);
  if ((mode !== 'auto' && mode !== 'required') || !Array.isArray(listed)) {
    throw refusal('invalid_value', '"tool_choice.allowed_tools" must have a "mode", "auto" or "required", and a list "tools".');
  }
  const allowed = (listed as unknown[]).map(fieldsOf);
  const offered = request.tools ?? [];
  const known = new Set(offered.map(keyOf));
  // only an unknown function is a fault of the caller: a tool that another provider runs was left out of the request before
  const unknown = allowed.find((tool) => tool['function'] !== undefined && !known.has(keyOf(tool)));
  if (unknown !== undefined) {
    throw refusal(
      'unsupported_value',
      `"tool_choice" allows "${String(keyOf(unknown)).slice(0, 64)}", and no tool of this name can be sent to this provider.`,
    );
  }
  const keys = new Set(allowed.map(keyOf));
  const tools = offered.filter((tool) => keys.has(keyOf(tool)));
  if (tools.length === 0 && mode === 'required') {
    throw refusal('unsupported_value', 'None of the tools that "tool_choice" allows can be sent to this provider.');
  }
  return { ...request, tools: tools.length === 0 ? null : tools, toolChoice: tools.length === 0 ? null : mode };
}

/** Whether the caller forces a call where there is no tool. Such a choice is left out, and named. */
export const forcesNothing = ({ tools, toolChoice }: ChatRequest): boolean =>
  (tools ?? []).length === 0 && toolChoice !== null && toolChoice !== 'auto' && toolChoice !== 'none';

/** The name of a function, or the type of a tool of another kind. */
const keyOf = ({ type, function: described }: Fields): unknown => fieldsOf(described)['name'] ?? type;

const refusal = (kind: 'invalid_value' | 'unsupported_value', message: string): GatewayError =>
  new GatewayError(kind, message, { param: 'tool_choice' });

/** The name of a tool; undefined where it has none. */
const nameOf = (tool: Tool): unknown => fieldsOf(tool.function)['name'] ?? tool['name'];

/**
 * The request with the first tool of each name: clients join the lists of several servers.
 * wire: a second one is a 400 "tools: Tool names must be unique." (Anthropic, at Bedrock too: anthropics/claude-code#10687), and a
 * 400 "Duplicate function declaration found" (Gemini API: google-gemini/gemini-cli#22207). OpenAI takes it
 */
export function withToolsOnce(request: ChatRequest, adjust: Adjust): ChatRequest {
  const given = request.tools ?? [];
  const names = new Set<unknown>();
  const tools: Tool[] = [];
  for (const tool of given) {
    const name = nameOf(tool);
    if (name === undefined || !names.has(name)) tools.push(tool);
    else tools.push(markedAs(tool, tools.pop() as Tool));
    names.add(name);
  }
  if (tools.length === given.length) return request;
  adjust('tools', 'others of the same name dropped');
  return { ...request, tools };
}

const markOf = (tool: Tool): unknown => tool['cache_control'] ?? fieldsOf(tool.function)['cache_control'];

/** The tool before a dropped one, with the cache breakpoint of the dropped one: it marks the end of the tools that are cached. */
function markedAs(dropped: Tool, before: Tool): Tool {
  const mark = markOf(dropped);
  return (mark ?? null) === null || (markOf(before) ?? null) !== null ? before : { ...before, cache_control: mark };
}

/** Whether a tool is called so. A tool without a name may be a set, such as those of an MCP server, and have a tool of any name. */
function mayBeNamed(tool: Tool, name: string): boolean {
  const own = nameOf(tool);
  // a tool of a namespace has a name of its own there
  return own === undefined || own === name || tool.native?.fields['member'] === name;
}

/**
 * Throws `unsupported_value` for a choice that names none of the tools: no model could call it.
 * wire: such a choice is a 400 everywhere (OpenAI: error text "Tool choice 'function' not found in 'tools' parameter")
 */
export function refuseUnknownChoice({ tools, toolChoice }: ChatRequest): void {
  const name = typeof toolChoice === 'object' ? toolChoice?.function?.name : undefined;
  if (name === undefined || tools === null || tools.length === 0 || tools.some((tool) => mayBeNamed(tool, name))) return;
  throw refusal('unsupported_value', `"tool_choice" names "${name.slice(0, 64)}", and no tool of this name can be sent to this provider.`);
}
