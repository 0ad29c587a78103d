/** Encodes a chat request for Converse. `adjustments` names each parameter that is not sent as the caller set it. */
import { Adjustments } from '../../../core/wire/adjustments.ts';
import type { ChatRequest, Message } from '../../../core/chat.ts';
import { asGiven } from '../../../core/wire/json.ts';
import type { Target, WireRequest } from '../../../core/wire/dialect.ts';
import { isFields } from '../../../core/wire/fields.ts';
import { forcesNothing, withAllowedTools, withToolsOnce } from '../families/allowed-tools.ts';
import { answerSchema } from '../families/answer-tool.ts';
import { claudeSchema, needsTool } from '../families/claude-schema.ts';
import { claudeTerms } from '../families/claude.ts';
import { beganWithoutThinking } from '../families/thinking-blocks.ts';
import { asksBy, refuseSeveral, stopsOf } from '../families/missing.ts';
import { refuseNone, thinksAlways } from '../families/thinkers.ts';
import { CachePoints } from './cache-points.ts';
import { type Block, unsupported } from './media.ts';
import { type Conversation, encodeConversation, readConversation } from './messages.ts';
import { type ModelClass, modelClassOf, type Refused, takesSchemasHere } from './models.ts';
import { thoughtsOf } from './replay.ts';
import { planTools, toolFields, type ToolPlan } from './tools.ts';

/** Encodes a request, credentials not included. A pure function. Throws `unsupported_value` for what the API cannot carry. */
export function encode(request: ChatRequest, target: Target): WireRequest {
  const draft = new Draft(withAllowedTools(request), target);
  const body = draft.body();
  const isWhole = request.stream && 'toolConfig' in body && modelClassOf(target).streamsNoTools === true;
  if (isWhole) draft.adjustments.add('stream', 'the answer comes whole, because of the tools');
  const stream = request.stream && !isWhole;
  return {
    // wire: the model id is one segment of the path, so the colons and slashes of an ARN are encoded (Amazon Bedrock: Converse)
    path: `/model/${encodeURIComponent(target.mapping.externalId)}/${stream ? 'converse-stream' : 'converse'}`,
    headers: { 'content-type': 'application/json', accept: stream ? 'application/vnd.amazon.eventstream' : 'application/json' },
    body: asGiven(body),
    adjustments: draft.adjustments.list,
  };
}

/** The fields of `inferenceConfig`, and of `additionalModelRequestFields`. */
interface Terms {
  readonly inference: Block;
  readonly additional: Block;
  /** True if the model may think. */
  readonly thinks: boolean;
}

/** Parameters that this API does not have. */
const missing = ['seed', 'presence_penalty', 'frequency_penalty', 'logit_bias', 'logprobs', 'top_logprobs', 'user'] as const;

/** Fields of Converse that a caller may send; they go out unchanged. */
const ownFields = new Set([
  'guardrailConfig',
  'requestMetadata',
  'performanceConfig',
  'serviceTier',
  'additionalModelResponseFieldPaths',
  'promptVariables',
]);

/** One request while it is encoded, with its adjustments. */
class Draft {
  readonly adjustments = new Adjustments();
  readonly #request: ChatRequest;
  readonly #target: Target;
  readonly #model: ModelClass;

  constructor(request: ChatRequest, target: Target) {
    this.#request = withToolsOnce(request, this.adjustments.add);
    this.#target = target;
    this.#model = modelClassOf(target);
  }

  body(): Block {
    const request = this.#request;
    refuseSeveral(request.n, 'Bedrock');
    const { add: adjust } = this.adjustments;
    const cachePoints = new CachePoints(this.#target, adjust);
    const form = this.#form();
    const isNative = form?.forced === 'schema' && takesSchemasHere(this.#target) && !needsTool(form.schema);
    const plan = planTools(request, { target: this.#target, answer: isNative ? null : form, cachePoints, adjust });
    if (forcesNothing(request)) adjust('tool_choice', 'dropped');
    const conversation = readConversation(request.messages, adjust);
    const terms = this.#model.family === 'claude' ? this.#claude(plan, conversation) : this.#another();
    const { system, messages } = encodeConversation(conversation, {
      target: this.#target,
      hasTools: plan.tools.length > 0,
      thinks: terms.thinks,
      cachePoints,
      adjust,
    });
    const { toolConfig, additional } = toolFields(this.#permitted(plan, terms), request.parallelToolCalls === false, {
      target: this.#target,
      adjust,
    });
    const own = this.#rest();
    return {
      ...own.fields,
      messages,
      ...filled('system', system),
      ...filled('inferenceConfig', { ...terms.inference, ...this.#stop() }),
      ...(toolConfig !== undefined && { toolConfig }),
      ...filled(
        'additionalModelRequestFields',
        joined(own.additional, terms.additional, additional, isNative ? this.#nativeFormat(form.schema) : {}),
      ),
    };
  }

  /** The form that the answer must have. Null if the caller asks for none. */
  #form(): { readonly schema: object; readonly forced: 'json' | 'schema' } | null {
    const { responseFormat } = this.#request;
    switch (responseFormat?.type) {
      case undefined:
      case 'text':
        return null;
      case 'json_object':
        return { schema: { type: 'object' }, forced: 'json' };
      case 'json_schema':
        return { schema: answerSchema(responseFormat) ?? { type: 'object' }, forced: 'schema' };
      default:
        throw unsupported('response_format.type', `Bedrock takes no response_format of type "${responseFormat?.type}".`);
    }
  }

  #nativeFormat(schema: object): Block {
    const { schema: cleaned, dropped } = claudeSchema(schema);
    if (dropped.length > 0) this.adjustments.add('response_format', `not enforced: ${dropped.join(', ')}`);
    return { output_config: { format: { type: 'json_schema', schema: cleaned } } };
  }

  #claude(plan: ToolPlan, { turns }: Conversation): Terms {
    const hasThinking = (message: Message): boolean => thoughtsOf(message, this.#target).length > 0;
    const terms = claudeTerms(this.#request, this.#target, {
      forcedTool: plan.forced,
      beganWithoutThinking: beganWithoutThinking(turns, hasThinking),
    });
    for (const { parameter, change } of terms.adjustments) this.adjustments.add(parameter, change);
    const { thinking, effort, temperature, topP, topK } = terms;
    // wire: without `maxTokens` the answer may be as long as the model allows (Amazon Bedrock: InferenceConfiguration)
    const maxTokens = this.#request.maxTokens === null && thinking?.type !== 'enabled' ? null : terms.maxTokens;
    return {
      inference: given({ maxTokens, temperature, topP }),
      additional: {
        ...given({ thinking }),
        ...(effort !== null && { output_config: { effort } }),
        ...(topK !== null && this.#model.topK?.(topK)),
      },
      thinks: terms.thinks,
    };
  }

  #another(): Terms {
    const { maxTokens, topP, rest } = this.#request;
    const reasoning = this.#reasoning();
    const refuses = [...(this.#model.refuses ?? []), ...(reasoning.word === 'high' ? (this.#model.refusesAtHigh ?? []) : [])];
    const take = (parameter: Refused, value: number | null): number | null => {
      if (value === null || !refuses.includes(parameter)) return value;
      this.adjustments.add(parameter, 'dropped');
      return null;
    };
    const { top_k: asked = null } = rest;
    const topK = typeof asked === 'number' ? asked : null;
    if (asked !== topK || (topK !== null && this.#model.topK === undefined)) this.adjustments.add('top_k', 'dropped');
    return {
      inference: given({
        maxTokens: take('max_tokens', maxTokens),
        temperature: take('temperature', this.#temperature(refuses.includes('temperature'))),
        topP: take('top_p', topP),
      }),
      additional: joined(reasoning.fields, topK === null ? {} : (this.#model.topK?.(topK) ?? {})),
      // these models get their reasoning back whether they think in this request or not
      thinks: true,
    };
  }

  /** wire: the range is 0 to 1 for every model (Amazon Bedrock: InferenceConfiguration). */
  #temperature(isRefused: boolean): number | null {
    const { temperature } = this.#request;
    if (temperature === null || isRefused) return temperature;
    const clamped = Math.min(Math.max(temperature, 0), 1);
    if (clamped !== temperature) this.adjustments.add('temperature', `clamped to ${clamped}`);
    return clamped;
  }

  #reasoning(): { readonly word: string | null; readonly fields: Block } {
    const { effort, maxTokens } = this.#target.reasoning;
    const nothing = { word: null, fields: {} };
    if (maxTokens !== null) {
      this.adjustments.add('reasoning.max_tokens', 'dropped');
      return nothing;
    }
    if (effort === null) return nothing;
    const { mapping, model } = this.#target;
    if (effort === 'none' && (this.#model.alwaysThinks === true || thinksAlways(mapping.externalId, model.id))) refuseNone(this.#target);
    const said = this.#model.effort(effort);
    if (said === null) this.adjustments.add('reasoning_effort', 'dropped');
    else if (said.word !== effort) this.adjustments.add('reasoning_effort', `changed to ${said.word}`);
    return said ?? nothing;
  }

  #stop(): Block {
    const stopSequences = stopsOf(this.#request, this.adjustments.add);
    if (stopSequences.length === 0) return {};
    if (this.#model.refuses?.includes('stop') !== true) return { stopSequences };
    this.adjustments.add('stop', 'dropped');
    return {};
  }

  /** The plan, with the choice `auto` if the model cannot be forced to call a tool. */
  #permitted(plan: ToolPlan, { thinks }: Terms): ToolPlan {
    const isClaudeThinking = this.#model.family === 'claude' && thinks;
    if (plan.forced === 'none' || (!isClaudeThinking && this.#model.refusesForcing !== true)) return plan;
    // if thinking is the reason, `claudeTerms` has noted the adjustment
    if (!isClaudeThinking && plan.forced === 'required') this.adjustments.add('tool_choice', 'relaxed to auto');
    if (!isClaudeThinking && plan.forced !== 'required') this.adjustments.add('response_format', 'asked for, not enforced');
    return { ...plan, choice: { type: 'auto' } };
  }

  /** The fields of `rest`. Those that Converse has are sent; the others are dropped and noted. */
  #rest(): { readonly fields: Block; readonly additional: Block } {
    for (const parameter of missing) if (asksBy(parameter, this.#request)) this.adjustments.add(parameter, 'dropped');
    const fields: Record<string, unknown> = {};
    let additional: Block = {};
    for (const [field, value] of Object.entries(this.#request.rest)) {
      if (field === 'top_k' || value === null) continue;
      if (field === 'additionalModelRequestFields' && isFields(value)) additional = value;
      else if (ownFields.has(field)) fields[field] = value;
      else if (field === 'service_tier' && typeof value === 'string') {
        if (value !== 'auto') fields['serviceTier'] = { type: value };
      } else if (field === 'metadata' && isFields(value)) Object.assign(fields, filled('requestMetadata', this.#metadata(value)));
      else this.adjustments.dropField(field, value);
    }
    return { fields, additional };
  }

  /** wire: `requestMetadata` takes at most 16 entries, each a string of at most 256 of these characters (Amazon Bedrock: Converse). */
  #metadata(metadata: Block): Block {
    const plain = /^[\w\s:@$#=/+,.-]{0,256}$/;
    const sent = Object.entries(metadata)
      .filter(([name, value]) => name !== '' && plain.test(name) && typeof value === 'string' && plain.test(value))
      .slice(0, 16);
    if (sent.length < Object.keys(metadata).length) this.adjustments.add('metadata', `cut to ${sent.length} entries`);
    return Object.fromEntries(sent);
  }
}

/** The field with its value; nothing if the value is empty. */
const filled = (field: string, value: Block | readonly Block[]): Block => (Object.keys(value).length === 0 ? {} : { [field]: value });

const given = (fields: Block): Block => Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));

/** All fields in one object. Objects of one name are joined: `output_config` may get an effort and a format. */
function joined(...parts: readonly Block[]): Block {
  const all: Record<string, unknown> = {};
  for (const [field, value] of parts.flatMap((part) => Object.entries(part))) {
    const before = all[field];
    all[field] = isFields(before) && isFields(value) ? { ...before, ...value } : value;
  }
  return all;
}
