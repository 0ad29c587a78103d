/** Encodes a chat request for generateContent. `adjustments` names each parameter that is not sent as the caller set it. */
import { Adjustments } from '../../../core/wire/adjustments.ts';
import type { ChatRequest, ResponseFormat, Tool, ToolChoice } from '../../../core/chat.ts';
import { asGiven } from '../../../core/wire/json.ts';
import type { Target, WireRequest } from '../../../core/wire/dialect.ts';
import { GatewayError } from '../../../core/errors.ts';
import { type Fields, fieldsOf, isFields } from '../../../core/wire/fields.ts';
import { forcesNothing, withAllowedTools, withToolsOnce } from '../families/allowed-tools.ts';
import { answerSchema, answerTool, refuseReserved } from '../families/answer-tool.ts';
import { asksBy, asksFor, refuseManyStops } from '../families/missing.ts';
import { isVertex } from '../families/vertex.ts';
import { pathOf } from './address.ts';
import { encodeConversation } from './contents.ts';
import { classOf, type ModelClass, planThinking } from './models.ts';
import { withLoneReferences } from './references.ts';
import { reduceSchema } from './schema.ts';

/** The names of parameters in `generationConfig`. */
const parameters = [
  ['maxOutputTokens', 'maxTokens'],
  ['temperature', 'temperature'],
  ['topP', 'topP'],
  ['seed', 'seed'],
  ['candidateCount', 'n'],
  ['responseLogprobs', 'logprobs'],
] as const satisfies readonly (readonly [wire: string, field: keyof ChatRequest])[];

/** Parameters that go out only to some models, or beside others: the name on the wire, the field, and its name in chat completions. */
const conditional = [
  ['presencePenalty', 'presencePenalty', 'presence_penalty'],
  ['frequencyPenalty', 'frequencyPenalty', 'frequency_penalty'],
  ['logprobs', 'topLogprobs', 'top_logprobs'],
] as const satisfies readonly (readonly [wire: string, field: keyof ChatRequest, parameter: string])[];

/**
 * wire: a sixth stop sequence is a 400 at AI Studio (continuedev/continue#2702,
 * 2024-10) and on Vertex AI (continuedev/continue#7849, 2025-09).
 */
const mostStops = 5;

/** Parameters that this API does not have. */
const missing = ['logit_bias', 'user'] as const;

/**
 * Fields of this API that a caller may send in either of its spellings: whether they go to the top of the body or into `generationConfig`.
 */
const own: Readonly<Record<string, readonly [place: 'top' | 'config', wire: string] | undefined>> = {
  safetySettings: ['top', 'safetySettings'],
  safety_settings: ['top', 'safetySettings'],
  cachedContent: ['top', 'cachedContent'],
  cached_content: ['top', 'cachedContent'],
  labels: ['top', 'labels'],
  topK: ['config', 'topK'],
  top_k: ['config', 'topK'],
  mediaResolution: ['config', 'mediaResolution'],
  media_resolution: ['config', 'mediaResolution'],
};

/** Encodes a request, credentials not included. A pure function. Throws `unsupported_value` for what the API cannot carry. */
export function encode(request: ChatRequest, target: Target): WireRequest {
  const draft = new Draft(withAllowedTools(request), target);
  return {
    path: pathOf(target, request.stream),
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
  readonly #model: ModelClass;
  readonly #place: FormPlace;

  constructor(request: ChatRequest, target: Target) {
    this.#request = withToolsOnce(request, this.adjustments.add);
    this.#target = target;
    this.#model = classOf(target);
    this.#place = this.#model.takesFormBesideTools === true ? 'field' : placeBesideTools(this.#request);
  }

  body(): Fields {
    const { messages, tools } = this.#request;
    const { add: adjust } = this.adjustments;
    const { system, contents } = encodeConversation(messages, { target: this.#target, model: this.#model, adjust });
    const body: Record<string, unknown> = { contents };
    if (system.length > 0) body['systemInstruction'] = { parts: system };
    // wire: an empty list of declarations is a 400, and so is a `toolConfig` without declarations (Gemini API, as of 2026-11)
    if (tools !== null && tools.length > 0) {
      body['tools'] = [{ functionDeclarations: [...tools.map((tool, at) => this.#declare(tool, at)), ...this.#answerTool()] }];
    }
    this.#setChoice(body);
    const config = this.#config();
    this.#setOwn(body, config);
    if (Object.keys(config).length > 0) body['generationConfig'] = config;
    return body;
  }

  #config(): Record<string, unknown> {
    const config: Record<string, unknown> = {};
    for (const [wire, field] of parameters) if (this.#request[field] !== null) config[wire] = this.#request[field];
    this.#setConditional(config);
    const { stop, responseFormat } = this.#request;
    refuseManyStops(stop, mostStops);
    // wire: an empty list is a 400 on Vertex AI (error text "a stopSequences value of 0"; google/generative-ai-go#233, 2024-11)
    if (stop !== null && stop.length > 0) config['stopSequences'] = typeof stop === 'string' ? [stop] : stop;
    if (responseFormat !== null && this.#place === 'field') this.#setFormat(config, responseFormat);
    const { config: thinking, adjustment } = planThinking(this.#target, this.#model, this.#request.maxTokens);
    if (thinking !== undefined) config['thinkingConfig'] = thinking;
    if (adjustment !== undefined) this.adjustments.add(adjustment.parameter, adjustment.change);
    return config;
  }

  #setConditional(config: Record<string, unknown>): void {
    const { refusesPenalties } = this.#model;
    const takesPenalties = refusesPenalties === undefined || (refusesPenalties === 'at-studio' && isVertex(this.#target.provider));
    for (const [wire, field, parameter] of conditional) {
      const value = this.#request[field];
      // wire: `logprobs` is for `responseLogprobs` only (Gemini API: GenerationConfig)
      const isTaken = field === 'topLogprobs' ? this.#request.logprobs === true : takesPenalties;
      if (value === null) continue;
      if (isTaken) config[wire] = value;
      else if (asksFor(parameter, value)) this.adjustments.add(parameter, 'dropped');
    }
  }

  #setOwn(body: Record<string, unknown>, config: Record<string, unknown>): void {
    const { parallelToolCalls, rest } = this.#request;
    for (const parameter of missing) if (asksBy(parameter, this.#request)) this.adjustments.add(parameter, 'dropped');
    if (parallelToolCalls === false) this.adjustments.add('parallel_tool_calls', 'dropped');
    for (const [field, value] of Object.entries(rest)) {
      if (value === null) continue;
      const known = Object.hasOwn(own, field) ? own[field] : undefined;
      if (known !== undefined) (known[0] === 'top' ? body : config)[known[1]] = value;
      else if (field === 'modalities' && isWords(value)) config['responseModalities'] = value.map((word) => word.toUpperCase());
      else this.adjustments.dropField(field, value);
    }
  }

  #declare(tool: Tool, at: number): Fields {
    const { type, function: called } = tool;
    if (type !== 'function' || called === undefined) {
      throw new GatewayError(
        'unsupported_value',
        `"tools[${at}].type" must be "function": this provider takes no tool of type "${type}".`,
        { param: `tools[${at}].type` },
      );
    }
    const { name, description, parameters: schema, strict } = called;
    refuseReserved(name, `tools[${at}].function.name`);
    if (strict === true) this.adjustments.add('tools.function.strict', 'dropped');
    if ('cache_control' in tool) this.adjustments.add('tools.cache_control', 'dropped');
    return {
      name,
      ...(typeof description === 'string' && { description }),
      ...(schema !== undefined && schema !== null && this.#parameters(schema)),
    };
  }

  #answerTool(): readonly Fields[] {
    const schema = answerSchema(this.#request.responseFormat);
    if (this.#place !== 'tool' || schema === undefined || schema === null) return [];
    const description = 'Gives the answer. Call it once, with the whole answer as its arguments, in place of writing the answer as text.';
    return [{ name: answerTool, description, ...this.#parameters(schema, 'response_format.json_schema') }];
  }

  #parameters(schema: object, parameter = 'tools.function.parameters'): Fields {
    if (this.#model.takesJsonSchema === true) return { parametersJsonSchema: withLoneReferences(schema) };
    const reduced = this.#reduced(schema, parameter);
    // wire: an object schema without properties is a 400 (Gemini API: error text
    // "should be non-empty for OBJECT type"); leaving it out means the same
    return 'properties' in reduced ? { parameters: reduced } : {};
  }

  #reduced(schema: object, parameter: string): Fields {
    const { schema: reduced, lost } = reduceSchema(schema);
    if (lost.length > 0) this.adjustments.add(parameter, `without ${lost.join(', ')}`);
    return reduced;
  }

  #setChoice(body: Record<string, unknown>): void {
    const { tools, toolChoice } = this.#request;
    if (this.#place === 'tool') {
      body['toolConfig'] = { functionCallingConfig: { mode: 'ANY', ...(toolChoice === 'none' && { allowedFunctionNames: [answerTool] }) } };
    }
    if (toolChoice === null || this.#place === 'tool') return;
    const functionCallingConfig = callingOf(toolChoice);
    if (tools !== null && tools.length > 0) body['toolConfig'] = { functionCallingConfig };
    else if (forcesNothing(this.#request)) this.adjustments.add('tool_choice', 'dropped');
  }

  #setFormat(config: Record<string, unknown>, format: ResponseFormat): void {
    const { type } = format;
    if (type === 'text') return;
    if (type !== 'json_object' && type !== 'json_schema') {
      throw new GatewayError(
        'unsupported_value',
        `"response_format.type" must be text, json_object or json_schema: this provider knows no "${type}".`,
        { param: 'response_format.type' },
      );
    }
    config['responseMimeType'] = 'application/json';
    const schema = answerSchema(format);
    if (type !== 'json_schema' || schema === undefined || schema === null) return;
    if (this.#model.takesJsonSchema === true) config['responseJsonSchema'] = withLoneReferences(schema);
    else config['responseSchema'] = this.#reduced(schema, 'response_format.json_schema');
  }
}

/**
 * How the model learns the form of its answer: by a field, by the input of the
 * answer tool, or not at all, because the answer is a call of the caller's tool.
 */
type FormPlace = 'field' | 'tool' | 'none';

/**
 * The place for models that take no response format together with tools. JSON without a schema stays a field, and these
 * models answer 400 to the field: the answer tool would not help, because a call of a tool without properties has no input.
 */
function placeBesideTools({ tools, toolChoice, responseFormat }: ChatRequest): FormPlace {
  const isAsked = tools !== null && tools.length > 0 && responseFormat !== null && responseFormat.type !== 'text';
  if (!isAsked) return 'field';
  if (toolChoice === 'required' || (typeof toolChoice === 'object' && toolChoice !== null)) return 'none';
  return isFields(fieldsOf(responseFormat.json_schema?.schema)['properties']) ? 'tool' : 'field';
}

const isWords = (value: unknown): value is readonly string[] => Array.isArray(value) && value.every((word) => typeof word === 'string');

const modes: Readonly<Record<string, string>> = { auto: 'AUTO', required: 'ANY', none: 'NONE' };

function callingOf(choice: ToolChoice): Fields {
  if (typeof choice === 'string' && modes[choice] !== undefined) return { mode: modes[choice] };
  const name = typeof choice === 'string' ? undefined : choice.function?.name;
  if (name === undefined) {
    throw new GatewayError(
      'unsupported_value',
      '"tool_choice" must be auto, required, none, or one function: this provider knows no other choice.',
      { param: 'tool_choice' },
    );
  }
  return { mode: 'ANY', allowedFunctionNames: [name] };
}
