/**
 * What a provider may see of a request. Fields that only the caller's wire format has are taken out for a provider of another format:
 * a field that has another form too is sent in that form; a field without one is left out and named; and a field without which the request
 * cannot be answered refuses the request.
 */
import type { Adjustment, ChatRequest, ContentPart, Message, Native, ReasoningDetail, Tool, ToolCall, ToolChoice } from '../chat.ts';
import { unsetReasoning } from '../chat.ts';
import { GatewayError } from '../errors.ts';
import { Adjustments } from './adjustments.ts';
import { type Fields, fieldsOf, isFields, listOf, thawed } from './fields.ts';
import { wellFormedJson } from './json.ts';
import type { Dialect, Target, WireRequest } from './dialect.ts';

/**
 * Encodes a request for a target, without the fields that only another wire format has, and without the reasoning state of other targets.
 */
export function encodeBy(dialect: Dialect, request: ChatRequest, target: Target): WireRequest {
  const { request: sent, adjustments } = withoutNative(request, dialect.form);
  const own = withOwnReasoning(sent, target);
  const { request: named, names } =
    dialect.toolName === undefined ? { request: own.request, names: noNames } : withWireNames(own.request, dialect.toolName);
  const wire = withWholeCharacters(encodeUnharmed(dialect, named, target));
  const left = [...adjustments, ...own.adjustments, ...(names.size > 0 ? [renamed] : [])];
  if (left.length === 0) return wire;
  return { ...wire, adjustments: [...left, ...wire.adjustments], ...(names.size > 0 && { toolNames: names }) };
}

const noNames: ReadonlyMap<string, string> = new Map();
const renamed: Adjustment = { parameter: 'tools.function.name', change: 'written as the provider takes it' };

/** The wire request without halves of characters, which providers refuse. Half of a character says nothing, so the request is still answered. */
export function withWholeCharacters(wire: WireRequest): WireRequest {
  // a dialect may be JavaScript, and `stream/upstream` refuses a body that is not a text
  const body = typeof wire?.body === 'string' ? wellFormedJson(wire.body) : wire?.body;
  if (body === wire?.body) return wire;
  return { ...wire, body, adjustments: [...wire.adjustments, { parameter: 'request', change: 'halves of characters replaced' }] };
}

/**
 * Encodes a request. An effort that the gateway chose is left out where the dialect
 * refuses it, or where the dialect changes another parameter only because of the effort.
 */
function encodeUnharmed(dialect: Dialect, request: ChatRequest, target: Target): WireRequest {
  // cost: a dialect reads the messages many times. It gets a list that is not frozen, and that nobody else has
  const encode = (by: Target): WireRequest => dialect.encode({ ...request, messages: thawed(request.messages) }, by);
  const { isAutomatic, effort } = target.reasoning;
  if (isAutomatic !== true || effort === null) return encode(target);
  const without = (): WireRequest => encode({ ...target, reasoning: unsetReasoning });
  const wire = unlessRefused(() => untold(encode(target), target));
  if (wire === null) return without();
  const changes = wire.adjustments.filter(({ parameter }) => !parameter.startsWith('reasoning')).map(changeOf);
  if (changes.length === 0) return wire;
  const plain = without();
  const anyhow = new Set(plain.adjustments.map(changeOf));
  return changes.every((change) => anyhow.has(change)) ? wire : plain;
}

/**
 * The wire request without a note about the effort, where the caller did not ask for reasoning: the caller's request is not changed then.
 */
function untold(wire: WireRequest, { reasoning: { field } }: Target): WireRequest {
  if (field !== undefined) return wire;
  return { ...wire, adjustments: wire.adjustments.filter(({ parameter }) => parameter !== 'reasoning_effort') };
}

const changeOf = ({ parameter, change }: Adjustment): string => `${parameter}: ${change}`;

function unlessRefused(encode: () => WireRequest): WireRequest | null {
  try {
    return encode();
  } catch (thrown) {
    // a request that is refused for another reason is refused again without the effort
    if (GatewayError.is(thrown)) return null;
    throw thrown;
  }
}

/**
 * The request as a provider of this format may see it. Throws `unsupported_value` for fields without which it cannot be answered.
 * @param form of the provider
 */
function withoutNative(
  request: ChatRequest,
  form: string | undefined,
): { readonly request: ChatRequest; readonly adjustments: readonly Adjustment[] } {
  if (request.form === undefined || request.form === form) return { request, adjustments: [] };
  const left = new Adjustments();
  const { native, ...others } = request;
  note(native, left);
  const messages = request.messages.flatMap((message) => messageOf(message, left));
  const toolChoice = choiceOf(request.toolChoice, left);
  const tools = request.tools?.flatMap((tool) => itemOf(tool, left)) ?? null;
  const isBare = tools !== null && tools.length === 0;
  return { request: { ...others, messages, tools: isBare ? null : tools, toolChoice: isBare ? null : toolChoice }, adjustments: left.list };
}

function note(native: Native | undefined, left: Adjustments): void {
  if (native?.needed !== undefined) throw new GatewayError('unsupported_value', native.needed.message, { param: native.needed.param });
  for (const parameter of native?.lost ?? []) left.add(parameter, 'dropped');
  for (const { parameter, change } of native?.changed ?? []) left.add(parameter, change);
}

function messageOf(message: Message, left: Adjustments): readonly Message[] {
  const { native, content, tool_calls: calls } = message;
  note(native, left);
  if (native?.isAll === true) return [];
  const hasParts = Array.isArray(content) && (content as readonly ContentPart[]).some(hasNative);
  if (native === undefined && !hasParts && calls?.some(hasNative) !== true) return [message];
  const { native: _, ...bare } = message;
  return [
    {
      ...bare,
      role: message.role,
      ...(hasParts && { content: (content as readonly ContentPart[]).flatMap((part) => itemOf(part, left)) }),
      ...(calls !== undefined && { tool_calls: calls.map((call) => callOf(call, left)) }),
    },
  ];
}

const hasNative = ({ native }: { readonly native?: Native }): boolean => native !== undefined;

/** A part or a tool without the fields that only the caller's format has; an empty list where nothing else is left. */
function itemOf<Item extends ContentPart | Tool>(item: Item, left: Adjustments): readonly Item[] {
  const { native, ...bare } = item;
  if (native === undefined) return [item];
  note(native, left);
  return native.isAll === true ? [] : [bare as Item];
}

function choiceOf(choice: ToolChoice | null, left: Adjustments): ToolChoice | null {
  if (typeof choice !== 'object' || choice === null) return choice;
  const { native, ...bare } = choice;
  note(native, left);
  return native === undefined ? choice : { ...bare, type: choice.type };
}

function callOf(call: ToolCall, left: Adjustments): ToolCall {
  const { native, ...bare } = call;
  note(native, left);
  return native === undefined ? call : { ...bare, id: call.id, type: call.type, function: call.function };
}

/** Reasoning state goes back only to the account and the model that issued it: others cannot read it, and some refuse the whole request. */
const leftOut: readonly Adjustment[] = [{ parameter: 'messages.reasoning', change: 'left out: issued by another provider or model' }];

/**
 * The request with no reasoning state but the target's own. A detail that names no
 * model belongs to the account. The text of the reasoning is not state, so it stays.
 */
export function withOwnReasoning(
  request: ChatRequest,
  target: Target,
): { readonly request: ChatRequest; readonly adjustments: readonly Adjustment[] } {
  if (!thawed(request.messages).some((message) => hasForeign(message, target))) return { request, adjustments: [] };
  return {
    request: {
      ...request,
      messages: request.messages.map((message) => (hasForeign(message, target) ? withOwn(message, target) : message)),
    },
    adjustments: leftOut,
  };
}

/** The details of a message; a caller may send anything in their place. */
export const detailsOf = ({ reasoning_details: details }: Message): readonly ReasoningDetail[] =>
  listOf(details) as readonly ReasoningDetail[];

const hasForeign = (message: Message, target: Target): boolean => detailsOf(message).some((detail) => !isOwn(detail, target));

/** Whether this account issued the detail, for this model. */
export const isOwn = (detail: ReasoningDetail, { provider, mapping }: Target): boolean =>
  isFields(detail) && detail.provider === provider.account && (detail['model'] ?? mapping.externalId) === mapping.externalId;

function withOwn(message: Message, target: Target): Message {
  const { reasoning_details: _, ...others } = message;
  const own = detailsOf(message).filter((detail) => isOwn(detail, target));
  return { ...others, role: message.role, ...(own.length > 0 && { reasoning_details: own }) };
}

/** The name on the wire for a name of the caller. */
type Written = (name: string) => string;

/**
 * The request with the names as the wire takes them: of its tools, of its choice, and of the calls in its history.
 * `names`: the caller's names that have changed, by the names on the wire.
 */
function withWireNames(
  request: ChatRequest,
  toolName: Written,
): { readonly request: ChatRequest; readonly names: ReadonlyMap<string, string> } {
  const wireNames = new Map<string, string>();
  for (const name of namesIn(request)) if (!wireNames.has(name)) wireNames.set(name, toolName(name));
  const names = new Map(Array.from(wireNames, ([own, wire]) => [wire, own] as const).filter(([wire, own]) => wire !== own));
  if (names.size === 0) return { request, names };
  const written: Written = (name) => wireNames.get(name) ?? name;
  const { messages, tools, toolChoice } = request;
  const renamed = {
    ...request,
    messages: messages.map((message) => messageWith(message, written)),
    tools: tools?.map((tool) => toolWith(tool, written)) ?? null,
    toolChoice: choiceWith(toolChoice, written),
  };
  return { request: renamed, names };
}

function* namesIn({ messages, tools, toolChoice }: ChatRequest): Generator<string> {
  const named = [...(tools ?? []), ...(typeof toolChoice === 'object' && toolChoice !== null ? [toolChoice] : [])];
  for (const { function: called } of named) if (typeof called?.name === 'string') yield called.name;
  for (const { role, name, tool_calls: calls } of messages) {
    if (role === 'tool' && typeof name === 'string') yield name;
    for (const { function: called } of calls ?? []) if (typeof called?.name === 'string') yield called.name;
  }
}

const isNamed = (called: unknown): called is { readonly name: string } => typeof fieldsOf(called)['name'] === 'string';

function messageWith(message: Message, written: Written): Message {
  const { role, name, tool_calls: calls } = message;
  if (role === 'tool') return typeof name === 'string' ? { ...message, name: written(name) } : message;
  return calls === undefined ? message : { ...message, tool_calls: calls.map((call) => toolWith(call, written)) };
}

const toolWith = <Named extends Pick<Tool, 'function'>>(tool: Named, written: Written): Named =>
  isNamed(tool.function) ? { ...tool, function: { ...tool.function, name: written(tool.function.name) } } : tool;

function choiceWith(choice: ToolChoice | null, written: Written): ToolChoice | null {
  if (typeof choice !== 'object' || choice === null) return choice;
  const { allowed_tools: allowed } = choice;
  if (!isFields(allowed) || !Array.isArray(allowed['tools'])) return toolWith(choice, written);
  const tools = (allowed['tools'] as readonly Fields[]).map((tool) =>
    isFields(tool) ? toolWith(tool as Pick<Tool, 'function'>, written) : tool,
  );
  return { ...choice, allowed_tools: { ...allowed, tools } };
}
