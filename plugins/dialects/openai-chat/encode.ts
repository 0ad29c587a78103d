/** Encodes a chat request for one vendor. `adjustments` names each parameter that is not sent as the caller set it. */
import { Adjustments } from '../../../core/wire/adjustments.ts';
import { parameterNames, unsetReasoning } from '../../../core/chat.ts';
import type { ChatRequest, Reasoning, ResponseFormat, Tool, ToolChoice } from '../../../core/chat.ts';
import { asGiven } from '../../../core/wire/json.ts';
import type { Provider } from '../../../core/config.ts';
import { GatewayError } from '../../../core/errors.ts';
import type { Target, WireRequest } from '../../../core/wire/dialect.ts';
import { type Fields, fieldsOf, isFields } from '../../../core/wire/fields.ts';
import { refuseUnknownChoice, withAllowedTools } from '../families/allowed-tools.ts';
import { clampedBudget, isClaude } from '../families/claude.ts';
import { isClientSetting } from '../families/client-settings.ts';
import { asksFor, refuseManyStops, refuseSeveral } from '../families/missing.ts';
import { completeSchema, takes, withPossibleStrict } from '../families/openai-models.ts';
import { queryOf } from '../families/query.ts';
import { refuseNone } from '../families/thinkers.ts';
import { withoutForeign } from './foreign.ts';
import { type Habits, habitsOf, type Vendor } from './habits.ts';
import { encodeMessages, without } from './messages.ts';

/** Encodes a request, credentials not included. A pure function. Throws `unsupported_value` for what the vendor cannot do. */
export function encode(vendor: Vendor, request: ChatRequest, target: Target): WireRequest {
  const draft = new Draft(vendor, request, target);
  return {
    path: `/chat/completions${queryOf(vendor.query, target.provider)}`,
    headers: { 'content-type': 'application/json' },
    body: asGiven(draft.body()),
    adjustments: draft.adjustments.list,
  };
}

/** One request while it is encoded, with its adjustments. */
class Draft {
  readonly adjustments = new Adjustments();
  readonly #vendor: Vendor;
  readonly #habits: Habits;
  readonly #request: ChatRequest;
  readonly #target: Target;
  /** The target's reasoning, without an effort of the gateway that would change something which the caller asked for. */
  readonly #reasoning: Reasoning;
  /** The fields of cache breakpoints that the vendor refuses. */
  readonly #breakpoints: readonly string[];

  constructor(vendor: Vendor, request: ChatRequest, target: Target) {
    this.#vendor = vendor;
    this.#target = target;
    this.#habits = habitsOf(vendor, target);
    this.#breakpoints = vendor.messageDrops?.filter((field) => field === 'cache_control') ?? [];
    refuseUnknownChoice(request);
    const { add: adjust } = this.adjustments;
    const own = withPossibleStrict(withoutForeign(request, vendor, adjust), target, adjust);
    this.#request = this.#withTakenChoice(vendor.knowsAllowedTools === true ? own : withAllowedTools(own));
    const { reasoning } = target;
    const isChosen = reasoning.isAutomatic === true && reasoning.effort !== 'none';
    const isSpared = isChosen && this.#habits.spares.some((parameter) => isSent(parameter, this.#request));
    this.#reasoning = isSpared ? unsetReasoning : reasoning;
  }

  body(): Fields {
    const { maxTokens, responseFormat } = this.#request;
    refuseManyStops(this.#request.stop, this.#vendor.mostStops ?? Infinity);
    const stream = this.#request.stream || (maxTokens ?? 0) > (this.#vendor.longestPlain ?? Infinity);
    const body: Record<string, unknown> = {
      ...this.#habits.adds,
      ...this.#rest(),
      model: this.#target.mapping.externalId,
      messages: this.#messages(),
      stream,
    };
    if (stream && this.#vendor.refusesStreamOptions !== true) body['stream_options'] = { include_usage: true };
    if (maxTokens !== null) body[this.#habits.maxTokens] = maxTokens;
    // wire: `text` is the default everywhere, and Fireworks refuses it together with tools (tensorzero, providers/fireworks, 2026-11)
    if (responseFormat !== null && responseFormat.type !== 'text') body['response_format'] = this.#format(responseFormat);
    for (const [wire, field] of parameterNames) this.#set(body, wire, this.#request[field]);
    if (this.#vendor.countsLogprobs === true) countLogprobs(body);
    this.#setTools(body);
    this.#setReasoning(body);
    return body;
  }

  /**
   * A vendor that takes only schemas gets `json_object` as a schema that allows any object, which asks for the
   * same, so no adjustment is noted. Throws `unsupported_value` for a schema where the vendor takes none.
   */
  #format(format: ResponseFormat): ResponseFormat {
    const { takesNoSchemas, takesSchemasOnly } = this.#vendor;
    if (takesNoSchemas === true && format.type === 'json_schema') {
      throw new GatewayError(
        'unsupported_value',
        'This provider gives no answer by a JSON Schema. Ask for "json_object", and say in the prompt what the JSON has.',
        { param: 'response_format' },
      );
    }
    if (takesSchemasOnly !== true || format.type !== 'json_object') return format;
    return { type: 'json_schema', json_schema: { name: 'answer', schema: { type: 'object' } } };
  }

  #rest(): Fields {
    const sent: Record<string, unknown> = {};
    for (const [field, value] of Object.entries(this.#request.rest)) {
      if (this.#takesField(field)) sent[field] = value;
      else this.adjustments.dropField(field, value);
    }
    return sent;
  }

  #takesField(field: string): boolean {
    if (field === 'reasoning' && this.#vendor.takesReasoningFields !== true) return false;
    return !isClientSetting(field) && !this.#breakpoints.includes(field) && !this.#habits.drops.includes(field);
  }

  #messages(): unknown {
    return encodeMessages(this.#request.messages, {
      vendor: this.#vendor,
      habits: this.#habits,
      provider: this.#target.provider.account,
      adjust: this.adjustments.add,
    });
  }

  #set(body: Record<string, unknown>, wire: string, value: unknown): void {
    // wire: OpenAI answers 400 to an empty `stop` (langtail/langtail-node#42, 2024-07), its newer models too (sbintuitions/flexeval#218, 2025-08)
    if (value === null || value === undefined || (Array.isArray(value) && value.length === 0)) return;
    if (!this.#refuses(wire)) body[this.#vendor.renames?.[wire] ?? wire] = wire === 'temperature' ? this.#cooled(value) : value;
    else if (wire === 'n') refuseSeveral(Number(value));
    else if (asksFor(wire, value)) this.adjustments.add(wire, 'dropped');
  }

  #cooled(temperature: unknown): unknown {
    const { hottest } = this.#vendor;
    if (hottest === undefined || !(Number(temperature) > hottest)) return temperature;
    this.adjustments.add('temperature', `clamped to ${hottest}`);
    return hottest;
  }

  #refuses(wire: string): boolean {
    const { drops } = this.#habits;
    return drops.includes(wire) && !takes(wire, { ...this.#habits, refuses: drops }, this.#reasoning);
  }

  #setTools(body: Record<string, unknown>): void {
    const { tools, toolChoice, parallelToolCalls } = this.#request;
    // wire: OpenAI answers 400 `empty_array` to an empty list, and 400 to `tool_choice` and `parallel_tool_calls`
    // without tools, where the two ask for nothing (OpenAI: Chat completions, error texts)
    const hasTools = tools !== null && tools.length > 0;
    if (hasTools) {
      const declared = tools.map((tool) => withPlainSchema(this.#withoutBreakpoint(tool), this.#vendor));
      this.#set(body, 'tools', declared);
      this.#set(body, 'parallel_tool_calls', parallelToolCalls);
    }
    if (this.#mustChoose() && (this.#habits.efforts.none === null || this.#isAskedToThink)) {
      body['tool_choice'] = 'auto';
      this.adjustments.add('tool_choice', 'relaxed to auto');
    } else if (hasTools || isForced(toolChoice)) {
      this.#set(body, 'tool_choice', toolChoice === 'required' ? (this.#vendor.requiredWord ?? toolChoice) : toolChoice);
    }
  }

  /** The request with a choice among its tools that the vendor takes. */
  #withTakenChoice(request: ChatRequest): ChatRequest {
    const { tools, toolChoice } = request;
    if (toolChoice === null || toolChoice === 'auto') return request;
    const { forcesTools } = this.#vendor;
    const name = typeof toolChoice === 'object' ? toolChoice.function?.name : undefined;
    if (this.#habits.namesNoTool === true && name !== undefined) {
      const named = tools?.filter((tool) => tool.function?.name === name) ?? [];
      if (named.length === 0) return request;
      this.adjustments.add('tool_choice', 'changed to required');
      return { ...request, tools: named, toolChoice: 'required' };
    }
    // without tools the model cannot call any, which is what the caller asks for
    if (forcesTools === 'never' && toolChoice === 'none') return { ...request, tools: null, toolChoice: null };
    if (forcesTools === undefined || (forcesTools === 'by-name' && toolChoice !== 'required')) return request;
    const [only, ...others] = tools ?? [];
    if (forcesTools === 'by-name' && only?.function !== undefined && others.length === 0) {
      return { ...request, toolChoice: { type: 'function', function: { name: only.function.name } } };
    }
    this.adjustments.add('tool_choice', 'relaxed to auto');
    return { ...request, toolChoice: 'auto' };
  }

  /** wire: callers set cache breakpoints on a tool, or on its function. */
  #withoutBreakpoint(tool: Tool): Tool {
    const outer = without(tool, this.#breakpoints, (field) => this.adjustments.add(`tools.${field}`, 'dropped'));
    const inner =
      outer.function && without(outer.function, this.#breakpoints, (field) => this.adjustments.add(`tools.function.${field}`, 'dropped'));
    return inner === undefined || inner === outer.function ? outer : { ...outer, function: inner };
  }

  #setReasoning(body: Record<string, unknown>): void {
    const { effort, maxTokens } = this.#reasoning;
    const { efforts } = this.#habits;
    if (efforts.none !== null && effort === null && maxTokens === null && this.#mustChoose()) {
      merge(body, efforts.none.fields);
      this.adjustments.add('reasoning', 'turned off');
    } else if (maxTokens !== null) this.#setBudget(body, maxTokens);
    else if (effort !== null) {
      const said = efforts[effort];
      if (said === null && effort === 'none') refuseNone(this.#target);
      if (said === null) return this.adjustments.add('reasoning_effort', 'dropped');
      if (said.word !== effort) this.adjustments.add('reasoning_effort', `changed to ${said.word}`);
      merge(body, said.fields);
    }
  }

  get #isAskedToThink(): boolean {
    const { effort, maxTokens } = this.#reasoning;
    return maxTokens !== null || (effort !== null && effort !== 'none');
  }

  /** Whether the caller forces a tool on a model that thinks unasked, and takes no forced tool while it thinks. */
  #mustChoose(): boolean {
    return this.#habits.stopsForTool === true && this.#target.mapping.reasoning !== null && isSent('tool_choice', this.#request);
  }

  #setBudget(body: Record<string, unknown>, tokens: number): void {
    const { budget } = this.#habits;
    if (budget === null) return this.adjustments.add('reasoning.max_tokens', 'dropped');
    const { path, beside, least = 0 } = budget;
    const [field, inner] = path;
    const sent = isClaude(this.#target) ? clampedBudget(tokens) : Math.max(tokens, least);
    if (sent !== tokens) this.adjustments.add('reasoning.max_tokens', `clamped to ${sent}`);
    merge(body, beside);
    merge(body, { [field]: inner === undefined ? sent : { [inner]: sent } });
  }
}

/** wire: `allowed_tools` with the mode `auto` forces none, as `auto` does (OpenAI: Function calling, Tool choice). */
const isForced = (choice: ToolChoice | null): boolean =>
  choice === 'required' || (typeof choice === 'object' && choice !== null && fieldsOf(choice['allowed_tools'])['mode'] !== 'auto');

/** Whether the caller set a parameter. A temperature and a top_p of 1 change nothing. */
function isSent(parameter: string, { temperature, topP, maxTokens, tools, toolChoice, responseFormat, rest }: ChatRequest): boolean {
  if (parameter === 'temperature') return temperature !== null && temperature !== 1;
  if (parameter === 'top_p') return topP !== null && topP !== 1;
  if (parameter === 'max_tokens') return maxTokens !== null;
  if (parameter === 'tool_choice') return tools !== null && isForced(toolChoice);
  if (parameter === 'response_format') return responseFormat !== null && responseFormat.type !== 'text';
  return (rest[parameter] ?? null) !== null;
}

/**
 * Adds fields to the body. Objects of one name are joined, so that the caller's `chat_template_kwargs` stay beside the gateway's switch.
 */
function merge(body: Record<string, unknown>, fields: Fields): void {
  for (const [field, value] of Object.entries(fields)) {
    const before = body[field];
    body[field] = isFields(before) && isFields(value) ? { ...before, ...value } : value;
  }
}

/**
 * wire: `logprobs` is the number of alternatives at Fireworks (Fireworks: Chat
 * completions); at OpenAI it is a switch, and `top_logprobs` is the number.
 */
function countLogprobs(body: Record<string, unknown>): void {
  const { logprobs, top_logprobs: alternatives } = body;
  delete body['top_logprobs'];
  if (logprobs === true) body['logprobs'] = alternatives ?? 1;
  else delete body['logprobs'];
}

function withPlainSchema(tool: Tool, { schemaDrops, needsParameters }: Vendor): Tool {
  const given = tool.function?.parameters ?? (needsParameters === true ? {} : undefined);
  if (tool.function === undefined || given === undefined) return tool;
  const parameters = without(completeSchema(given), schemaDrops, () => undefined);
  return parameters === tool.function.parameters ? tool : { ...tool, function: { ...tool.function, parameters } };
}

/** The header with the API key; none if the provider entry has no key. */
export function authorise({ keyHeader }: Vendor, { apiKey, auth }: Provider): Readonly<Record<string, string>> {
  if (apiKey === null) return {};
  return keyHeader === undefined || auth !== null ? { authorization: `Bearer ${apiKey.reveal()}` } : { [keyHeader]: apiKey.reveal() };
}
