/**
 * Tools and the tool choice. A custom tool, whose input is plain text, is a function with one parameter for providers of another form,
 * a search for tools that the caller runs is a function too, and the tools of a namespace are functions with longer names; the encoder
 * maps their calls back. A tool that a provider runs itself has no other form: other providers do not get it, and the reply says so.
 */
import type { Message, Tool, ToolChoice } from '../../../core/chat.ts';
import { shortToolName } from '../../../core/names.ts';
import { boolean, type Check, listOf, optional, text, wrongValue } from '../../../core/wire/checks.ts';
import { inputSchema, isFreeText } from '../../../core/wire/custom-tools/input.ts';
import type { Fields } from '../../../core/wire/fields.ts';
import { fieldsOf, listOf as entriesOf, textOf } from '../../../core/wire/fields.ts';
import { fields, someFields, unsupported, without } from './checks.ts';

export const toolList: Check<Tool[] | null> = (param, value) => {
  const tools = listOf(toolsOf)(param, value).flat();
  return tools.length === 0 ? null : tools;
};

const toolsOf: Check<readonly Tool[]> = (param, value) => {
  const given = fields(param, value);
  const type = text(`${param}.type`, given['type']);
  if (type === 'function') return [functionOf(param, given)];
  if (type === 'custom') return [customOf(param, given)];
  if (type === search.tool && given['execution'] === 'client') return [searchOf(param, given)];
  if (type === 'namespace') return membersOf(param, given);
  return [{ type, native: { fields: given, isAll: true, lost: [`tools.${type}`] } }];
};

function functionOf(param: string, given: Fields): Tool {
  const { name, description, parameters, strict } = given;
  const described = {
    name: text(`${param}.name`, name),
    ...optionalField('description', optional(`${param}.description`, description, text)),
    ...optionalField('parameters', optional(`${param}.parameters`, parameters, fields)),
    ...optionalField('strict', optional(`${param}.strict`, strict, boolean)),
  };
  const own = someFields(without(given, 'type', 'name', 'description', 'parameters', 'strict'));
  return {
    type: 'function',
    function: described,
    ...(own !== undefined && { native: { fields: own, lost: Object.keys(own).map((field) => `tools.${field}`) } }),
  };
}

const optionalField = (field: string, value: unknown): Fields => (value === null ? {} : { [field]: value });

function customOf(param: string, given: Fields): Tool {
  const description = optional(`${param}.description`, given['description'], text);
  return {
    type: 'function',
    function: {
      name: text(`${param}.name`, given['name']),
      ...optionalField('description', description),
      parameters: inputSchema(given['format']),
    },
    native: { fields: given, lost: isFreeText(given['format']) ? [] : ['tools.format'] },
  };
}

/**
 * The tool that searches for tools, and the types of its items. wire: Codex 0.171 runs the search itself
 * where the tool says so, and finds the tools of MCP servers by this search (OpenAI: Tool search)
 */
export const search = { tool: 'tool_search', call: 'tool_search_call', output: 'tool_search_output' } as const;

/** Whether the caller ran the search of this item. wire: one that the provider ran has no `call_id` (OpenAI: Tool search) */
export const isCallersSearch = ({ execution, call_id: id }: Fields): boolean => execution !== 'server' && typeof id === 'string';

function searchOf(param: string, given: Fields): Tool {
  const described = {
    name: search.tool,
    ...optionalField('description', optional(`${param}.description`, given['description'], text)),
    ...optionalField('parameters', optional(`${param}.parameters`, given['parameters'], fields)),
  };
  return { type: 'function', function: described, native: { fields: given } };
}

/** The tools of a namespace. The first of them carries the namespace as the caller declared it, for a provider of the same form. */
function membersOf(param: string, given: Fields): readonly Tool[] {
  const namespace = text(`${param}.name`, given['name']);
  const inner = listOf(toolsOf)(`${param}.tools`, given['tools']).flat();
  const members = inner.flatMap((tool, at): readonly Tool[] => {
    const { function: described, native } = tool;
    if (described === undefined) return [tool];
    const own = { namespace: at === 0 ? given : namespace, member: described.name, ...(isCustom(tool) && { type: 'custom' }) };
    return [
      {
        ...tool,
        function: { ...described, name: memberName(namespace, described.name) },
        native: { fields: own, lost: native?.lost ?? [] },
      },
    ];
  });
  return members.length === 0 ? [{ type: 'namespace', native: { fields: given, isAll: true } }] : members;
}

const isCustom = ({ native }: Tool): boolean => native?.fields['type'] === 'custom';

/** The name of a namespace's tool at providers that know no namespaces. */
export const memberName = (namespace: string, name: string): string => shortToolName(`${namespace}__${name}`);

/** wire: Codex 0.171 declares its tools in items of this type in the conversation, and none in the request (openai/codex, as of 2026-11) */
export const additional = 'additional_tools';

/**
 * The tools of a request, with the tools that its conversation declares or has found. Where several tools have the same name, the
 * tool of the request wins, and otherwise the last one. A provider of the same form gets the tools of the conversation at their places.
 */
export function withAdditional(tools: readonly Tool[] | null, messages: readonly Message[]): readonly Tool[] | null {
  const found = messages.flatMap(toolsIn);
  if (found.length === 0) return tools;
  const declaredNames = new Set<unknown>(tools?.map((tool) => tool.function?.name));
  const last = new Map(
    found
      .filter((tool) => tool.function === undefined || !declaredNames.has(tool.function.name))
      .map((tool, at) => [tool.function?.name ?? at, tool]),
  );
  return [...(tools ?? []), ...Array.from(last.values(), asAdditional)];
}

function toolsIn({ native }: Message): readonly Tool[] {
  const items = [native?.fields['item'], ...entriesOf(native?.fields['order']).map((entry) => fieldsOf(entry)['item'])].map(fieldsOf);
  return items.flatMap((item) => {
    const isFound = item['type'] === search.output && isCallersSearch(item);
    if (!isFound && item['type'] !== additional) return [];
    const tools = optional(`input.${item['type'] as string}.tools`, item['tools'], toolList) ?? [];
    return isFound ? tools.map(asLoaded) : tools;
  });
}

/** A tool that was waiting for a search, and is available now. */
const asLoaded = ({ native, ...tool }: Tool): Tool => ({
  ...tool,
  type: tool.type,
  ...(native !== undefined && { native: { ...native, lost: (native.lost ?? []).filter((field) => field !== 'tools.defer_loading') } }),
});

const asAdditional = (tool: Tool): Tool => ({ ...tool, native: { ...tool.native, fields: { ...tool.native?.fields, additional: true } } });

/**
 * Items with calls of tools that a provider declares and the caller runs, and how their ids begin. They get ids of the gateway's own,
 * because a caller may refer to such a call alone, and the id must name its response. A provider takes them without an id
 * (wire: openai-node 7.57, ResponseInputItem).
 */
export const runByCaller: ReadonlyMap<unknown, string> = new Map([
  ['shell_call', 'sh'],
  ['apply_patch_call', 'apc'],
]);

/** The types of items for calls of a caller's tools. */
type CallType = 'function_call' | 'custom_tool_call' | 'tool_search_call';

const callTypes: ReadonlyMap<unknown, CallType> = new Map<unknown, CallType>([
  ['custom', 'custom_tool_call'],
  [search.tool, search.call],
]);

/** How this API names the calls of a tool. */
export interface CallName {
  readonly type: CallType;
  readonly name: string;
  readonly namespace: string | null;
}

/** The tools whose calls this API shows in another way, by the name of the function. */
export function callNames(tools: readonly Tool[] | null): ReadonlyMap<string, CallName> {
  const names = new Map<string, CallName>();
  for (const tool of tools ?? []) {
    const { function: described, native } = tool;
    if (described === undefined || native === undefined) continue;
    const { namespace, member, type: declaredAs } = native.fields;
    const type = callTypes.get(declaredAs) ?? 'function_call';
    const of = textOf(namespace) ?? textOf(fieldsOf(namespace)['name']);
    if (of !== null || type !== 'function_call') names.set(described.name, { type, name: textOf(member) ?? described.name, namespace: of });
  }
  return names;
}

/** wire: a response does not repeat the credentials of an MCP server (OpenAI: Remote MCP), nor those of one in a namespace. */
export const shown = (tool: Fields): Fields => {
  if (tool['type'] === 'namespace') {
    return { ...without(tool, 'headers', 'authorization'), tools: entriesOf(tool['tools']).map((inner) => shown(fieldsOf(inner))) };
  }
  return tool['type'] === 'mcp' ? without(tool, 'headers', 'authorization') : tool;
};

/** The tools of the request as the caller declared them. */
export const declared = (tools: readonly Tool[] | null): readonly Fields[] =>
  (tools ?? []).flatMap(({ type, native, function: described, ...more }): readonly Fields[] => {
    if (native?.fields['additional'] === true) return [];
    if (described === undefined) return [shown(native?.fields ?? { type, ...more })];
    const { namespace } = native?.fields ?? {};
    if (namespace !== undefined) return typeof namespace === 'string' ? [] : [shown(fieldsOf(namespace))];
    if (native?.fields['type'] !== undefined) return [native.fields];
    return [
      {
        type,
        name: described.name,
        description: described.description ?? null,
        parameters: described.parameters ?? null,
        strict: described.strict ?? null,
        ...native?.fields,
      },
    ];
  });

export const toolChoice: Check<ToolChoice> = (param, value) => {
  if (typeof value === 'string') {
    if (value !== 'auto' && value !== 'none' && value !== 'required') {
      throw wrongValue(param, 'must be "auto", "none", "required", or an object that names a tool');
    }
    return value;
  }
  const given = fields(param, value);
  const type = text(`${param}.type`, given['type']);
  if (type === 'function' || type === 'custom') return { type: 'function', function: { name: text(`${param}.name`, given['name']) } };
  if (type === 'allowed_tools') return allowedOf(param, given);
  return {
    type,
    native: {
      fields: given,
      needed: { param, message: `No provider of this model has the tool "${type.slice(0, 64)}", which "tool_choice" asks for.` },
    },
  };
};

function allowedOf(param: string, given: Fields): ToolChoice {
  const { mode, tools } = given;
  if (mode !== 'auto' && mode !== 'required') throw wrongValue(`${param}.mode`, 'must be "auto" or "required"');
  if (!Array.isArray(tools)) throw unsupported(`${param}.tools`, '"tool_choice.tools" must list the tools that are allowed.');
  const named = entriesOf(tools).map((one) => {
    const { type, name } = fieldsOf(one);
    // the tool of an MCP server, which the provider calls, is not a function
    return type === 'mcp' || textOf(name) === null ? one : { type: 'function', function: { name } };
  });
  return { type: 'allowed_tools', allowed_tools: { mode, tools: named }, native: { fields: given } };
}
