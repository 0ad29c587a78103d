/** A choice among some of the tools (`allowed_tools`), for APIs without it: only these tools are sent to the model. */
import type { ChatRequest } from '../../../core/chat.ts';
import { GatewayError } from '../../../core/errors.ts';
import { type Fields, fieldsOf } from '../../../core/wire/fields.ts';

/**
 * The request with the tools that the caller allows, and `auto` or `required`
 * as the choice. Throws a GatewayError for a choice that cannot be kept.
 */
export function withAllowedTools(request: ChatRequest): ChatRequest {
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
