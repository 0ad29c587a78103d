/** Tools, the choice among them, and the form of the answer. */
import type { ChatRequest, ResponseFormat, Tool, ToolChoice } from '../../../../core/chat.ts';
import { boolean, type Check, listOf, object, optional, text, wrongValue } from '../../../../core/wire/checks.ts';
import type { Fields } from '../../../../core/wire/fields.ts';
import { shortToolName } from '../../../../core/names.ts';
import { ownName } from './names.ts';
import { markOf, nativeOf } from './parts.ts';

const tool: Check<Tool> = (param, value) => {
  const given = object(param, value);
  const type = optional(`${param}.type`, given['type'], text) ?? 'custom';
  if (type !== 'custom') {
    // wire: some tools of other types have no name: a set of tools, such as `mcp_toolset`
    // or `computer_toolset_20260801` (anthropic-sdk-typescript 1.14, ToolUnion)
    const name = optional(`${param}.name`, given['name'], text);
    const called = name === null ? `"${param}"` : `The tool "${name}"`;
    return {
      ...given,
      type,
      native: {
        fields: {},
        isAll: true,
        needed: { param, message: `${called} has the type "${type}", which this model's provider does not have.` },
      },
    };
  }
  const { type: _, name, description, input_schema: schema, strict, ...more } = given;
  const own = text(`${param}.name`, name);
  const described = {
    name: shortToolName(own),
    ...(typeof description === 'string' && { description }),
    parameters: object(`${param}.input_schema`, schema),
    ...(optional(`${param}.strict`, strict, boolean) === true && { strict: true }),
  };
  optional(`${param}.description`, description, text);
  return { type: 'function', function: described, ...markOf(more), ...ownName(own, nativeOf('tools', more).native) };
};

/** The tools; null where there are none. */
export function toolsOf(value: unknown): readonly Tool[] | null {
  const tools = optional('tools', value, listOf(tool)) ?? [];
  return tools.length === 0 ? null : tools;
}

type Choice = Pick<ChatRequest, 'toolChoice' | 'parallelToolCalls'>;

/** Which tools the model may or must call, and whether it may call several at one time. */
export function choiceOf(value: unknown): Choice {
  const given = optional('tool_choice', value, object);
  if (given === null) return { toolChoice: null, parallelToolCalls: null };
  const isSingle = optional('tool_choice.disable_parallel_tool_use', given['disable_parallel_tool_use'], boolean);
  return { toolChoice: choices(given), parallelToolCalls: isSingle === null ? null : !isSingle };
}

function choices(given: Fields): ToolChoice {
  switch (text('tool_choice.type', given['type'])) {
    case 'auto':
      return 'auto';
    case 'any':
      return 'required';
    case 'none':
      return 'none';
    case 'tool': {
      const name = text('tool_choice.name', given['name']);
      return { type: 'function', function: { name: shortToolName(name) }, ...ownName(name) };
    }
    default:
      throw wrongValue('tool_choice.type', 'must be "auto", "any", "tool" or "none"');
  }
}

/** The form of `output_config.format`. */
export function formatOf(value: unknown): ResponseFormat | null {
  const given = optional('output_config.format', value, object);
  if (given === null) return null;
  if (text('output_config.format.type', given['type']) !== 'json_schema') {
    throw wrongValue('output_config.format.type', 'must be "json_schema"');
  }
  return {
    type: 'json_schema',
    json_schema: { name: 'answer', schema: object('output_config.format.schema', given['schema']), strict: true },
  };
}
