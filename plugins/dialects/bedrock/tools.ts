/** Encodes tools, the tool choice, and the tool that carries a structured answer. */
import type { Adjust } from '../../../core/wire/adjustments.ts';
import type { ChatRequest, Tool } from '../../../core/chat.ts';
import type { Target } from '../../../core/wire/dialect.ts';
import { fieldsOf } from '../../../core/wire/fields.ts';
import { answerTool, refuseReserved } from '../families/answer-tool.ts';
import type { ClaudeAsk } from '../families/claude.ts';
import { claudeSchema } from '../families/claude-schema.ts';
import type { CachePoints } from './cache-points.ts';
import { type Block, unsupported } from './media.ts';
import { modelClassOf, takesSchemasHere } from './models.ts';

/** Which tool the model may or must call. */
export type Choice = { readonly type: 'auto' | 'any' } | { readonly type: 'tool'; readonly name: string };

/** The tools of a request. */
export interface ToolPlan {
  /** `toolConfig.tools`. If the list is empty, `toolConfig` is left out. */
  readonly tools: readonly Block[];
  readonly choice: Choice;
  /** Whether the model must call a tool, and why; see `ClaudeAsk`. */
  readonly forced: ClaudeAsk['forcedTool'];
}

/** What the encoding of tools depends on. */
interface ToolWays {
  readonly target: Target;
  /** The structured answer for which the answer tool is needed. Null if none is. */
  readonly answer: { readonly schema: object; readonly forced: 'json' | 'schema' } | null;
  readonly cachePoints: CachePoints;
  readonly adjust: Adjust;
}

/**
 * Plans the tools of a request. If the caller forces one of its own tools, the
 * answer tool is left out, and the structured answer comes in a later turn.
 */
export function planTools({ tools, toolChoice }: ChatRequest, ways: ToolWays): ToolPlan {
  const wish = wishOf(toolChoice);
  const offered = wish === null ? [] : toolBlocks(tools ?? [], ways);
  const isForced = offered.length > 0 && wish !== null && wish.type !== 'auto';
  if (isForced) return { tools: offered, choice: wish, forced: 'required' };
  if (ways.answer === null) return { tools: offered, choice: { type: 'auto' }, forced: 'none' };
  const description = 'Gives the answer. Call it once, with the whole answer as its input, in place of writing the answer as text.';
  const answer = { toolSpec: { name: answerTool, description, inputSchema: { json: { type: 'object', ...ways.answer.schema } } } };
  return { tools: [...offered, answer], choice: { type: 'any' }, forced: ways.answer.forced };
}

/** The caller's choice. Null for `none`. wire: Converse has no `none` (Amazon Bedrock: ToolChoice), so the tools are then not declared. */
function wishOf(choice: ChatRequest['toolChoice']): Choice | null {
  if (choice === null || choice === 'auto') return { type: 'auto' };
  if (choice === 'none') return null;
  if (choice === 'required') return { type: 'any' };
  const { type, function: named } = choice;
  if (type === 'function' && typeof named?.name === 'string') return { type: 'tool', name: named.name };
  throw unsupported('tool_choice', `Bedrock takes no tool_choice of type "${type}". Send "auto", "none", "required" or one function.`);
}

function toolBlocks(tools: readonly Tool[], ways: ToolWays): readonly Block[] {
  const blocks: Block[] = [];
  for (const [at, tool] of tools.entries()) {
    const { function: described } = tool;
    if (tool.type !== 'function' || described === undefined) {
      throw unsupported(`tools[${at}].type`, `Bedrock takes tools of type "function", not "${tool.type}".`);
    }
    const { name, description = '' } = described;
    refuseReserved(name, `tools[${at}].function.name`);
    // wire: a description has at least one character (Amazon Bedrock: ToolSpecification)
    blocks.push({ toolSpec: { name, ...(description.trim() !== '' && { description }), ...schemaOf(described, ways) } });
    ways.cachePoints.after(blocks, tool['cache_control'] ?? fieldsOf(described)['cache_control']);
  }
  return blocks;
}

function schemaOf({ parameters, strict }: NonNullable<Tool['function']>, { target, adjust }: ToolWays): Block {
  const schema = { type: 'object', ...(parameters ?? { properties: {} }) };
  if (strict !== true) return { inputSchema: { json: schema } };
  if (!takesSchemasHere(target)) {
    adjust('tools.function.strict', 'dropped');
    return { inputSchema: { json: schema } };
  }
  const { schema: cleaned, dropped } = claudeSchema(schema);
  if (dropped.length > 0) adjust('tools.function.parameters', `not enforced: ${dropped.join(', ')}`);
  return { strict: true, inputSchema: { json: cleaned } };
}

/**
 * `toolConfig`, and the fields that belong to it in `additionalModelRequestFields`. `isSerial`: the caller wants no parallel calls.
 * wire: Converse has no field for parallel calls. Claude's own `tool_choice` has one, but is a 400 together with `toolConfig.toolChoice`
 * (Amazon Bedrock, as of 2026-11).
 */
export function toolFields(
  { tools, choice }: ToolPlan,
  isSerial: boolean,
  { target, adjust }: Pick<ToolWays, 'target' | 'adjust'>,
): { readonly toolConfig?: Block; readonly additional: Block } {
  if (tools.length === 0) return { additional: {} };
  if (!isSerial) return { toolConfig: { tools, ...choiceField(choice) }, additional: {} };
  if (modelClassOf(target).family === 'claude') {
    return { toolConfig: { tools }, additional: { tool_choice: { ...choice, disable_parallel_tool_use: true } } };
  }
  adjust('parallel_tool_calls', 'dropped');
  return { toolConfig: { tools, ...choiceField(choice) }, additional: {} };
}

/** wire: only some models take `toolChoice` (Amazon Bedrock: ToolChoice). Without it the choice is `auto`, so `auto` is left out. */
function choiceField(choice: Choice): Block {
  if (choice.type === 'tool') return { toolChoice: { tool: { name: choice.name } } };
  return choice.type === 'any' ? { toolChoice: { any: {} } } : {};
}
