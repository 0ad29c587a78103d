/** Encodes a chat request for the Responses API. `adjustments` names each parameter that is not sent as the caller set it. */
import { Adjustments } from '../../../core/wire/adjustments.ts';
import type { ChatRequest, Message, ResponseFormat, Tool, ToolChoice } from '../../../core/chat.ts';
import { asGiven } from '../../../core/wire/json.ts';
import type { Target, WireRequest } from '../../../core/wire/dialect.ts';
import { GatewayError } from '../../../core/errors.ts';
import { type Fields, fieldsOf, isFields, listOf } from '../../../core/wire/fields.ts';
import { clampedBudget, isClaude } from '../families/claude.ts';
import { isClientSetting } from '../families/client-settings.ts';
import { completeSchema, withPossibleStrict } from '../families/openai-models.ts';
import { queryOf } from '../families/query.ts';
import { asksBy, refuseSeveral } from '../families/missing.ts';
import { refuseNone } from '../families/thinkers.ts';
import { refuseUnknownChoice } from '../families/allowed-tools.ts';
import { type Habits, habitsOf, refuses } from './habits.ts';
import { encodeInput } from './input.ts';
import { form } from './marks.ts';

type Body = Record<string, unknown>;

/** Fields that have the same name and the same meaning in both APIs. */
const shared = [
  'metadata',
  'service_tier',
  'prompt_cache_key',
  'prompt_cache_retention',
  'prompt_cache_options',
  'safety_identifier',
  'truncation',
  'max_tool_calls',
  'instructions',
];

/** Parameters that this API does not have. */
const missing = ['stop', 'presence_penalty', 'frequency_penalty', 'logit_bias'] as const;

/** wire: the API answers 400 to fewer than 16 `max_output_tokens` (OpenAI: Responses); chat completions takes any number from 1. */
const leastTokens = 16;

/** Encodes a request, credentials not included. A pure function. Throws `unsupported_value` for what the API cannot carry. */
export function encode(request: ChatRequest, target: Target): WireRequest {
  refuseUnknownChoice(request);
  const habits = habitsOf(target);
  const draft = new Draft(request, target, habits);
  return {
    path: `/responses${queryOf(habits.query, target.provider)}`,
    headers: { 'content-type': 'application/json' },
    body: asGiven(draft.body()),
    adjustments: draft.adjustments.list,
  };
}

/** One request while it is encoded, with its adjustments. */
class Draft {
  readonly adjustments = new Adjustments();
  readonly #request: ChatRequest;
  readonly #target: Target;
  readonly #habits: Habits;
  /** The fields in this API's own words, where the caller spoke this API. */
  readonly #own: Fields;
  readonly #isOwn: boolean;

  constructor(request: ChatRequest, target: Target, habits: Habits) {
    this.#request = withPossibleStrict(request, target, this.adjustments.add);
    this.#isOwn = request.form === form;
    this.#own = request.native?.fields ?? {};
    this.#target = target;
    this.#habits = habits;
  }

  body(): Fields {
    const { messages, stream, user, parallelToolCalls } = this.#request;
    const instructions = instructionsIn(messages);
    const { text: _text, reasoning: _reasoning, include: _include, ...own } = this.#own;
    const body: Body = {
      ...own,
      ...this.#rest(),
      model: this.#target.mapping.externalId,
      ...(instructions !== null && { instructions: instructions.content }),
      input: encodeInput(instructions === null ? messages : messages.filter((message) => message !== instructions), {
        target: this.#target,
        habits: this.#habits,
        isOwn: this.#isOwn,
        adjust: this.adjustments.add,
      }),
      stream,
      // wire: without `store: false` OpenAI keeps each response for 30 days (OpenAI: Your data)
      store: false,
    };
    if (user !== null) body['user'] = user;
    if (parallelToolCalls !== null) body['parallel_tool_calls'] = parallelToolCalls;
    this.#setLimits(body);
    this.#setTools(body);
    this.#setText(body);
    this.#setReasoning(body);
    this.#setInclude(body);
    return body;
  }

  #rest(): Fields {
    const sent: Body = {};
    for (const [field, value] of Object.entries(this.#request.rest)) {
      if (value === null || setApart.has(field)) continue;
      if ((this.#isOwn && !isClientSetting(field)) || shared.includes(field) || this.#habits.passes.includes(field)) sent[field] = value;
      else this.adjustments.dropField(field, value);
    }
    const { store, include = null } = this.#request.rest;
    if (store === true) this.adjustments.add('store', 'changed to false');
    if (include !== null && !Array.isArray(include)) this.adjustments.add('include', 'dropped');
    return sent;
  }

  #setLimits(body: Body): void {
    const { maxTokens, temperature, topP, seed, n } = this.#request;
    refuseSeveral(n, 'The Responses API');
    if (maxTokens !== null) body['max_output_tokens'] = Math.max(maxTokens, leastTokens);
    if (maxTokens !== null && maxTokens < leastTokens) this.adjustments.add('max_tokens', `clamped to ${leastTokens}`);
    this.#setUnlessRefused(body, 'temperature', temperature);
    this.#setUnlessRefused(body, 'top_p', topP);
    if (seed !== null && this.#habits.takesSeed) body['seed'] = seed;
    else if (seed !== null) this.adjustments.add('seed', 'dropped');
    for (const parameter of missing) if (asksBy(parameter, this.#request)) this.adjustments.add(parameter, 'dropped');
  }

  #setUnlessRefused(body: Body, parameter: string, value: unknown): void {
    if (value === null) return;
    if (refuses(parameter, this.#target, this.#habits)) this.adjustments.add(parameter, 'dropped');
    else body[parameter] = value;
  }

  #setTools(body: Body): void {
    const { tools, toolChoice } = this.#request;
    const declared = (tools ?? []).flatMap((tool, at) => this.#tool(tool, at));
    if (declared.length > 0) body['tools'] = declared;
    if (toolChoice !== null) body['tool_choice'] = choiceOf(toolChoice, customNamesIn(tools));
  }

  #tool(tool: Tool, at: number): Fields | readonly Fields[] {
    const { type, function: described, native, ...more } = tool;
    // these tools are in the conversation, at the places where the caller put them
    if (native?.fields['additional'] === true) return [];
    // a namespace is one tool here and several in the gateway, and the first of them holds the whole namespace
    if (native?.fields['namespace'] !== undefined) return isFields(native.fields['namespace']) ? native.fields['namespace'] : [];
    if (native?.fields['type'] !== undefined) return withName(native.fields, described?.name);
    // wire: the input of a custom tool is plain text (OpenAI: Function calling, Custom tools), and the gateway's tool calls carry JSON
    if (type === 'custom') {
      throw new GatewayError('unsupported_value', 'The gateway cannot send custom tools to the Responses API. Declare a function.', {
        param: `tools[${at}].type`,
      });
    }
    // a tool that runs at the provider goes out unchanged
    if (type !== 'function' || described === undefined) return tool;
    for (const field of Object.keys(more)) this.adjustments.add(`tools.${field}`, 'dropped');
    const { name, description, parameters, strict } = described;
    // wire: `strict` is true by default here, and refuses schemas that chat completions takes (OpenAI: Migrate to the Responses API)
    return {
      type,
      name,
      ...(description !== undefined && { description }),
      parameters: this.#isOwn && parameters !== undefined ? parameters : completeSchema(parameters ?? {}),
      ...(!(this.#isOwn && strict === undefined) && { strict: strict ?? false }),
      ...native?.fields,
    };
  }

  #setText(body: Body): void {
    const { responseFormat, rest } = this.#request;
    const format = responseFormat === null ? undefined : formatOf(responseFormat);
    const verbosity = rest['verbosity'] ?? undefined;
    const own = fieldsOf(this.#own['text']);
    if (format !== undefined || verbosity !== undefined || Object.keys(own).length > 0) {
      body['text'] = { ...own, ...(format !== undefined && { format }), ...(verbosity !== undefined && { verbosity }) };
    }
  }

  #setReasoning(body: Body): void {
    const { effort, maxTokens } = this.#target.reasoning;
    const { externalId, reasoning: ability } = this.#target.mapping;
    const { effort: own, ...reasoning }: Body = fieldsOf(this.#own['reasoning']);
    if (maxTokens !== null && this.#habits.takesBudget) reasoning['max_tokens'] = this.#budget(maxTokens);
    else if (maxTokens !== null) this.adjustments.add('reasoning.max_tokens', 'dropped');
    else if (effort === 'xhigh' && own !== undefined && this.#habits.knowsMax) reasoning['effort'] = own;
    else if (effort !== null) {
      if (own !== undefined) this.adjustments.add('reasoning_effort', 'taken as xhigh');
      const word = this.#habits.effortWord(effort, externalId);
      if (effort === 'none' && word === null) refuseNone(this.#target);
      if (word !== effort) this.adjustments.add('reasoning_effort', word === null ? 'dropped' : `changed to ${word}`);
      if (word !== null) reasoning['effort'] = word;
    }
    // wire: `auto` asks for the most detailed summary that the model has; not
    // every model takes `concise` or `detailed` (OpenAI: Reasoning models)
    if (ability?.exposes === 'text' && effort !== 'none' && this.#habits.asksSummary && !this.#isOwn && !this.#mayNotReason) {
      reasoning['summary'] = 'auto';
    }
    if (Object.keys(reasoning).length > 0) body['reasoning'] = reasoning;
  }

  /** True: the model refused the effort that the gateway chose before. It probably does not reason at all, whatever its mapping says. */
  get #mayNotReason(): boolean {
    const { isAutomatic, effort } = this.#target.reasoning;
    return isAutomatic === true && effort === null;
  }

  #budget(tokens: number): number {
    const sent = isClaude(this.#target) ? clampedBudget(tokens) : tokens;
    if (sent !== tokens) this.adjustments.add('reasoning.max_tokens', `clamped to ${sent}`);
    return sent;
  }

  #setInclude(body: Body): void {
    const { logprobs, topLogprobs, rest } = this.#request;
    const include = new Set<unknown>([...listOf(rest['include']), ...listOf(this.#own['include'])]);
    // wire: a model that does not reason answers 400 "Encrypted content is not supported with this model" (OpenAI)
    if (this.#target.mapping.reasoning !== null && !this.#mayNotReason) include.add('reasoning.encrypted_content');
    if (logprobs === true) include.add(likelihoods);
    // the caller may have asked in the words of this API
    if (include.has(likelihoods) && refuses('logprobs', this.#target, this.#habits)) {
      include.delete(likelihoods);
      this.adjustments.add('logprobs', 'dropped');
    }
    if (topLogprobs !== null && include.has(likelihoods)) body['top_logprobs'] = topLogprobs;
    else if (asksBy('top_logprobs', this.#request)) this.adjustments.add('top_logprobs', 'dropped');
    if (include.size > 0) body['include'] = [...include];
  }
}

/** The entry of `include` that asks for log probabilities. */
const likelihoods = 'message.output_text.logprobs';

/** Fields of `rest` that are not copied into the body, because other methods write these fields. */
const setApart = new Set(['verbosity', 'include', 'store']);

/** wire: here the fields of a function are beside `type`, not in an object `function` (OpenAI: Migrate to the Responses API). */
function flat(tool: unknown): unknown {
  if (!isFields(tool) || !isFields(tool['function'])) return tool;
  const { function: named, ...more } = tool;
  return { ...more, ...named };
}

/** A tool in this API's own words, with the name that the wire takes. */
const withName = (own: Fields, name: unknown): Fields => (own['name'] === undefined || name === undefined ? own : { ...own, name });

function choiceOf(choice: ToolChoice, customNames: ReadonlySet<unknown>): unknown {
  if (typeof choice === 'string') return choice;
  const { allowed_tools: allowed } = choice;
  if (choice.native !== undefined) {
    const named = listOf(fieldsOf(allowed)['tools']).map((tool) => fieldsOf(fieldsOf(tool)['function'])['name']);
    const { tools } = choice.native.fields;
    const own = Array.isArray(tools) && { tools: tools.map((tool: unknown, at) => (isFields(tool) ? withName(tool, named[at]) : tool)) };
    return { ...choice.native.fields, ...own };
  }
  if (isFields(allowed)) {
    return {
      type: 'allowed_tools',
      mode: allowed['mode'],
      tools: Array.isArray(allowed['tools']) ? (allowed['tools'] as unknown[]).map(flat) : allowed['tools'],
    };
  }
  const named = flat(choice);
  return isFields(named) && customNames.has(named['name']) ? { ...named, type: 'custom' } : named;
}

/** The message that came in the field `instructions` of this API; null where there is none. */
const instructionsIn = (messages: readonly Message[]): Message | null =>
  messages.find(({ native }) => native?.fields['instructions'] === true) ?? null;

/** Names of tools whose input is plain text. For other APIs they are functions. */
const customNamesIn = (tools: readonly Tool[] | null): ReadonlySet<unknown> =>
  new Set((tools ?? []).flatMap(({ native, function: described }) => (native?.fields['type'] === 'custom' ? [described?.name] : [])));

function formatOf({ type, json_schema: described, ...more }: ResponseFormat): Fields | undefined {
  if (type === 'text') return undefined;
  if (described === undefined) return { type, ...more };
  return { type, ...described, strict: described.strict ?? false };
}
