/** Encodes a chat request for the Messages API. `adjustments` names each parameter that is not sent as the caller set it. */
import { Adjustments } from '../../../core/wire/adjustments.ts';
import type { ChatRequest, Message } from '../../../core/chat.ts';
import { asGiven } from '../../../core/wire/json.ts';
import type { Provider } from '../../../core/config.ts';
import type { Target, WireRequest } from '../../../core/wire/dialect.ts';
import { fieldsOf, isFields, listOf } from '../../../core/wire/fields.ts';
import { partsOf, turnsOf, withPairedResults } from '../../../core/wire/turns.ts';
import { forcesNothing, withAllowedTools, withToolsOnce } from '../families/allowed-tools.ts';
import { isVertex } from '../families/vertex.ts';
import { CallIds } from '../families/calls.ts';
import { claudeTerms, type ClaudeTerms } from '../families/claude.ts';
import { beganWithoutThinking } from '../families/thinking-blocks.ts';
import { asksBy, refuseSeveral, stopsOf } from '../families/missing.ts';
import { createBreakpoints } from './cache-control.ts';
import { type Block, blocksOf, type Writing } from './content.ts';
import { betasOf, bodyFieldsOf, effortField, mayInstructLater, thinkingField } from './form.ts';
import { callId, dots, encodeTurns, turnsWithInstructions } from './messages.ts';
import { thinkingOf } from './thinking.ts';
import { betasForVertex, breakpointForVertex, forVertex } from './vertex.ts';
import { answerFormOf, encodeToolChoice, encodeTools, forcedToolOf } from './tools.ts';

/** Parameters that the API does not have. */
const missing = ['seed', 'presence_penalty', 'frequency_penalty', 'logit_bias', 'logprobs', 'top_logprobs'] as const;

/** Fields of the Messages API that a caller may send under the same name. */
const shared = new Set(['container', 'context_management', 'inference_geo', 'mcp_servers']);

/** Fields of `rest` that other functions read. */
const readElsewhere = new Set(['cache_control', 'top_k', 'metadata', 'service_tier']);

/** Encodes a request, credentials not included. A pure function. Throws a GatewayError for what the API cannot carry. */
export function encode(request: ChatRequest, target: Target): WireRequest {
  refuseSeveral(request.n);
  const adjustments = new Adjustments();
  const isOnVertex = isVertex(target.provider);
  const asked = betasOf(request);
  const betas = new Set(isOnVertex ? betasForVertex(asked, (beta) => adjustments.add('anthropic-beta', `${beta} dropped`)) : asked);
  const writing: Writing = {
    adjust: adjustments.add,
    dropField: (field, value) => adjustments.dropField(field, value),
    needs: (beta) => betas.add(beta),
    callIds: new CallIds(callId),
    breakpoints: createBreakpoints(
      {
        dropped: () => adjustments.add('cache_control', 'dropped beyond 4'),
        shortened: () => adjustments.add('cache_control.ttl', 'dropped behind a shorter one'),
      },
      isOnVertex ? (control) => breakpointForVertex(control, () => adjustments.add('cache_control.scope', 'dropped')) : undefined,
    ),
  };
  const isCount = request.ask?.kind === 'count';
  const whole = bodyOf(withToolsOnce(withAllowedTools(request), writing.adjust), target, writing);
  const headers = headersOf(target.provider, betas);
  const own = isCount
    ? { path: '/messages/count_tokens', headers, body: withoutAnswerFields(whole) }
    : { path: '/messages', headers, body: whole };
  const wire = isOnVertex ? forVertex(own, target, { isCount, isStream: request.stream }) : own;
  return { ...wire, body: asGiven(wire.body), adjustments: adjustments.list };
}

/** wire: fields that say how to answer are a 400 where only a count is asked for (Anthropic: Count tokens) */
const answerFields = new Set([
  'max_tokens',
  'stream',
  'temperature',
  'top_p',
  'top_k',
  'stop_sequences',
  'metadata',
  'service_tier',
  'container',
  'inference_geo',
]);

const withoutAnswerFields = (body: Block): Block => Object.fromEntries(Object.entries(body).filter(([field]) => !answerFields.has(field)));

/** The header with the API key; none if the provider entry has no key. */
export const authorise = ({ apiKey }: Provider): Readonly<Record<string, string>> =>
  apiKey === null ? {} : { 'x-api-key': apiKey.reveal() };

/** Builds the body in the order in which the provider counts cache breakpoints: tools, system, messages. */
function bodyOf(request: ChatRequest, target: Target, writing: Writing): Block {
  const automatic = writing.breakpoints.take(request.rest);
  if (request.messages.some(({ role, name }) => role !== 'tool' && name !== undefined)) writing.adjust('messages.name', 'dropped');
  // wire: only a user message takes images (Anthropic: Vision), and the images of an answer are in an assistant message
  if (request.messages.some(({ images }) => listOf(images).length > 0)) writing.adjust('messages.images', 'dropped');
  const marked = withPairedResults(request.messages, writing.adjust).map(withMarkedPart);
  const conversation = turnsOf(marked);
  const form = answerFormOf(request, target, writing);
  const tools = encodeTools(request, form, { target, writing });
  const terms = claudeTerms(request, target, {
    forcedTool: forcedToolOf(request, form),
    beganWithoutThinking: beganWithoutThinking(conversation.turns, (message) => thinkingOf(message, target).length > 0),
  });
  for (const { parameter, change } of terms.adjustments) writing.adjust(parameter, change);
  if (forcesNothing(request)) writing.adjust('tool_choice', 'dropped');
  const system = blocksOf(conversation.system, writing);
  const messages = encodeTurns(mayInstructLater(request, target) ? turnsWithInstructions(marked) : conversation.turns, {
    target,
    writing,
    thinks: terms.thinks,
  });
  // wire: a request without a user message is a 400 (Anthropic: Messages), so instructions alone go out as a user message
  if (messages.length === 0 && system.length > 0) writing.adjust('messages', 'instructions sent as the user');
  if (messages.length === 0 && system.length === 0) writing.adjust('messages', 'an empty user message filled in');
  const stops = stopsOf(request, writing.adjust);
  const outputConfig = { ...effortField(request, terms), ...(form.format === null ? {} : { format: form.format }) };
  const fields = {
    model: target.mapping.externalId,
    max_tokens: terms.maxTokens,
    stream: request.stream ? true : null,
    system: system.length === 0 || messages.length === 0 ? null : system,
    messages: messages.length === 0 ? [{ role: 'user', content: system.length === 0 ? [dots] : system }] : messages,
    tools,
    tool_choice: encodeToolChoice(request, form, terms.thinks),
    thinking: thinkingField(request, terms),
    output_config: Object.keys(outputConfig).length === 0 ? null : outputConfig,
    stop_sequences: stops.length === 0 ? null : stops,
    ...samplingOf(terms),
    ...writing.breakpoints.inOrder(automatic),
    ...restOf(request, writing),
    ...bodyFieldsOf(request, writing.dropField),
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}

/** Moves a cache breakpoint from a whole message to its last call or part, because the API takes breakpoints on blocks only. */
function withMarkedPart(message: Message): Message {
  const { cache_control: control, ...rest } = message;
  if (message.role === 'tool' || control === undefined) return message;
  const calls = message.tool_calls ?? [];
  const lastCall = calls.at(-1);
  if (lastCall !== undefined) {
    return { ...rest, role: message.role, tool_calls: [...calls.slice(0, -1), { cache_control: control, ...lastCall }] };
  }
  const parts = partsOf(message);
  const last = parts.at(-1);
  return last === undefined
    ? message
    : { ...rest, role: message.role, content: [...parts.slice(0, -1), { cache_control: control, ...last }] };
}

const samplingOf = ({ temperature, topP, topK }: ClaudeTerms): Block => ({ temperature, top_p: topP, top_k: topK });

const tiers: ReadonlyMap<unknown, string> = new Map([
  ['auto', 'auto'],
  ['standard_only', 'standard_only'],
  ['default', 'standard_only'],
]);

function restOf(request: ChatRequest, { adjust, dropField }: Writing): Block {
  for (const parameter of missing) if (asksBy(parameter, request)) adjust(parameter, 'dropped');
  const sent: Record<string, unknown> = { metadata: userOf(request, adjust) };
  const { service_tier: tier = null } = request.rest;
  if (tiers.has(tier)) sent['service_tier'] = tiers.get(tier);
  else dropField('service_tier', tier);
  for (const [field, value] of Object.entries(request.rest)) {
    if (shared.has(field)) sent[field] = value;
    else if (!readElsewhere.has(field)) dropField(field, value);
  }
  return sent;
}

/** wire: `metadata` has one field, `user_id` (Anthropic: Messages). The caller's `user` is more important than `metadata.user_id`. */
function userOf({ user, rest }: ChatRequest, adjust: Writing['adjust']): Block | null {
  const { metadata = null } = rest;
  if (metadata !== null && !isFields(metadata)) adjust('metadata', 'dropped');
  const { user_id: own = null, ...others } = fieldsOf(metadata);
  for (const field of Object.keys(others)) adjust(`metadata.${field}`, 'dropped');
  const id = user ?? (typeof own === 'string' ? own : null);
  if (own !== null && own !== id) adjust('metadata.user_id', 'dropped');
  return id === null ? null : { user_id: id };
}

/** wire: betas are one list with commas (Anthropic: Beta headers). Betas that the provider entry sets in its headers stay on the list. */
function headersOf({ headers: own }: Provider, betas: ReadonlySet<string>): Record<string, string> {
  const headers: Record<string, string> = { 'content-type': 'application/json', 'anthropic-version': '2023-06-01' };
  if (betas.size === 0) return headers;
  const asked = (own['anthropic-beta'] ?? '').split(',').map((beta) => beta.trim());
  return { ...headers, 'anthropic-beta': [...new Set([...asked, ...betas])].filter((beta) => beta !== '').join(',') };
}
