/**
 * Decodes answers of the chat completions API into chunks. There is one record of state for each stream. A whole body goes through the
 * same functions, as one event that has everything. wire: notes with a date are from recorded traffic of that day.
 */
import { randomUUID } from 'node:crypto';
import { mostChoices } from '../../../core/chat.ts';
import type { Chunk, FinishReason, ReasoningDetail } from '../../../core/chat.ts';
import type { Decoder, Target } from '../../../core/wire/dialect.ts';
import { GatewayError } from '../../../core/errors.ts';
import { type Fields, fieldsOf, isFields, listOf } from '../../../core/wire/fields.ts';
import { billed, eventIn, invalidAnswer } from '../../../core/wire/upstream-error.ts';
import { decodeAnswerError, isError } from './error.ts';
import { habitsOf, type Vendor } from './habits.ts';
import { createThinkTags, type Split, type ThinkTags } from './think-tags.ts';
import { addToolCalls, completeToolCalls, newToolCalls, type ToolCalls } from './tool-calls.ts';
import { type Counts, readCounts, toUsage } from './usage.ts';

/** The state of one answer while it is read. */
interface AnswerState {
  readonly vendor: Vendor;
  readonly target: Target;
  readonly hasThinkTags: boolean;
  readonly choices: (Choice | undefined)[];
  counts: Counts | null;
  /** The id of the answer. If the provider gives a tool call no id, one is made from this. */
  id: string;
  sources: Fields;
  /** True if the answer cites web pages, so the provider has searched. */
  hasSearched: boolean;
  /** Fields of the whole reply that the caller gets unchanged. */
  readonly top: Record<string, unknown>;
  /** The names of the fields with sources that the caller has got. */
  readonly givenSources: Set<string>;
  isOver: boolean;
  /**
   * The error with which the answer or a choice ended. It is thrown when the usage has come, which may be in a later event, or at the end.
   */
  fault: GatewayError | null;
  /** Chunks of the event that is being read. */
  out: Chunk[];
}

interface Choice {
  readonly at: number;
  readonly calls: ToolCalls;
  thinkTags: ThinkTags | null;
  /** True if reasoning came in a field of its own. The text in `reasoning_details` is then the same, and is not read. */
  hasReasoningField: boolean;
  hasBegun: boolean;
  isFinished: boolean;
}

const noChunks: readonly Chunk[] = [];

/** Makes the decoder of one stream. */
export function createDecoder(vendor: Vendor, target: Target): Decoder {
  const answer = newAnswer(vendor, target);
  return {
    get done() {
      return answer.isOver || (answer.fault !== null && answer.counts !== null);
    },
    get fault() {
      return answer.fault;
    },
    push(event) {
      // wire: Vertex AI writes a comment as data, `: keepalive`, while a model of
      // another maker thinks (anomalyco/opencode#50871, 2026-09). No JSON begins with a colon
      if (answer.isOver || event.data === '' || event.data.startsWith(':')) return noChunks;
      // wire: `[DONE]` ends the stream (OpenAI: Chat completions, Streaming); whatever a server writes after it is ignored
      if (event.data.startsWith('[DONE]')) {
        answer.isOver = true;
        return noChunks;
      }
      answer.out = [];
      const value = eventIn(event, target, decodeAnswerError);
      if (answer.fault !== null) addUsages(answer, value);
      else {
        if (isError(value)) addError(answer, value);
        addEvent(answer, value);
      }
      return answer.out;
    },
    end() {
      if (answer.fault !== null) throw answer.fault;
      answer.out = [];
      for (const choice of answer.choices) if (choice !== undefined && !choice.isFinished) addHeldText(answer, choice);
      return answer.out;
    },
  };
}

/** Decodes a whole answer. Throws if the body is an error, which some servers send with status 200, or has no choices. */
export function decodeBody(vendor: Vendor, body: unknown, target: Target): readonly Chunk[] {
  if (!isFields(body)) throw invalidAnswer('a body that is not a JSON object');
  const answer = newAnswer(vendor, target);
  const choices = body['choices'];
  if (isError(body)) answer.fault = decodeAnswerError(body, target);
  else if (!Array.isArray(choices) || choices.length === 0) throw invalidAnswer('an answer without choices');
  addEvent(answer, body);
  if (answer.fault !== null) throw billed(answer.fault, answer.out);
  // a whole body is complete, even if the server leaves `finish_reason` out
  for (const choice of answer.choices) if (choice !== undefined && !choice.isFinished) addFinish(answer, choice, null);
  return answer.out;
}

function newAnswer(vendor: Vendor, target: Target): AnswerState {
  const hasThinkTags = habitsOf(vendor, target).thinkTags || target.mapping.reasoning?.think_tags === true;
  return {
    vendor,
    target,
    hasThinkTags,
    choices: [],
    counts: null,
    id: '',
    top: {},
    sources: {},
    givenSources: new Set(),
    hasSearched: false,
    isOver: false,
    fault: null,
    out: [],
  };
}

/**
 * wire: Groq sends `event: error`. Other servers send `error` in place of `choices`, or
 * beside them, and such an event may have `usage` too (OpenRouter: Errors, vLLM).
 */
function addError(answer: AnswerState, event: Fields): void {
  answer.fault = decodeAnswerError(event, answer.target);
  if (Array.isArray(event['choices'])) return;
  addUsages(answer, event);
  throw billed(answer.fault, answer.out);
}

function addEvent(answer: AnswerState, event: Fields): void {
  if (answer.id === '' && typeof event['id'] === 'string') answer.id = event['id'];
  readTop(answer, event);
  if (event['citations'] !== undefined || event['search_results'] !== undefined) readSources(answer, event);
  const choices = event['choices'];
  if (Array.isArray(choices)) for (let at = 0; at < choices.length; at++) addChoice(answer, (choices as unknown[])[at], at);
  addUsages(answer, event);
}

function addUsages(answer: AnswerState, event: Fields): void {
  const usage = event['usage'];
  if (isFields(usage)) addUsage(answer, usage);
  // wire: Groq sends usage in `x_groq`, and in some streams also at the top (2026-02-11)
  else if (isFields(event['x_groq']) && isFields(event['x_groq']['usage'])) addUsage(answer, event['x_groq']['usage']);
}

/** Fields of the whole reply that the caller gets unchanged. They come with each event, and are given on once, with the finish. */
const replyExtras = ['system_fingerprint', 'service_tier'];

function readTop(answer: AnswerState, event: Fields): void {
  for (const field of replyExtras) if (typeof event[field] === 'string') answer.top[field] = event[field];
}

function addUsage(answer: AnswerState, report: Fields): void {
  const counts = readCounts(report, answer.counts);
  if (counts === null || counts === answer.counts) return;
  answer.counts = counts;
  const usage = toUsage(counts, habitsOf(answer.vendor, answer.target).usage);
  answer.out.push({
    type: 'usage',
    usage: answer.hasSearched && usage.webSearches === undefined ? { ...usage, webSearches: null } : usage,
  });
}

function addChoice(answer: AnswerState, wire: unknown, at: number): void {
  if (!isFields(wire)) return;
  const index = wire['index'];
  const choice = choiceOf(answer, typeof index === 'number' ? index : at);
  // wire: older models of Moonshot send usage inside the choice (Moonshot: Chat)
  if (isFields(wire['usage'])) addUsage(answer, wire['usage']);
  // safety: nothing may follow a finish. Perplexity repeats the whole answer in its last event, and other servers repeat the finish
  if (choice.isFinished) return addVerdict(answer, choice, wire['finish_reason']);
  const delta = deltaOf(choice, wire);
  if (delta !== null) addSaid(answer, choice, delta);
  // they come directly behind their text, and before the calls, which end the text
  if (isFields(wire['logprobs'])) {
    answer.out.push({ type: 'extra', choice: choice.at, on: 'choice', field: 'logprobs', value: wire['logprobs'] });
  }
  if (delta !== null) addBeside(answer, choice, delta);
  // wire: the choice of a provider that failed may hold the error (OpenRouter: API reference, choice types)
  if (wire['error']) answer.fault ??= decodeAnswerError({ error: wire['error'] }, answer.target);
  if (answer.fault !== null) return;
  const finish = finishOf(wire);
  // wire: sglang has sent "", and KoboldCpp the text "null", with each piece (sgl-project/sglang#3912, PowerShell/AIShell#350, 2025)
  if (typeof finish === 'string' && finish !== '' && finish !== 'null') addFinish(answer, choice, finish);
}

/** What a choice adds to the answer: a delta, or a whole message. */
function deltaOf({ hasBegun }: Choice, { delta, message }: Fields): Fields | null {
  if (isFields(delta)) return delta;
  return !hasBegun && isFields(message) ? withNumberedCalls(message) : null;
}

/**
 * wire: OpenRouter has said `stop` where the vendor behind it failed: only
 * the native reason named the failure (earendil-works/pi#8511, 2026-08).
 */
function finishOf({ finish_reason: finish, native_finish_reason: native }: Fields): unknown {
  return typeof finish === 'string' && typeof native === 'string' && reasons.get(native) === 'error' ? native : finish;
}

/**
 * wire: Azure's asynchronous filter judges text that was sent before, so that
 * its verdict may come after the finish (Azure OpenAI: Content streaming).
 */
function addVerdict(answer: AnswerState, { at }: Choice, finish: unknown): void {
  if (finish === 'content_filter') answer.out.push({ type: 'finish', choice: at, reason: 'content_filter', native: finish });
}

/** The calls of a whole message are complete, so each is one by itself, whatever its id and its index. */
function withNumberedCalls(message: Fields): Fields {
  const { tool_calls: calls } = message;
  return Array.isArray(calls)
    ? { ...message, tool_calls: (calls as unknown[]).map((call, index) => (isFields(call) ? { ...call, index } : call)) }
    : message;
}

function choiceOf(answer: AnswerState, at: number): Choice {
  const known = answer.choices[at];
  if (known !== undefined) return known;
  if (!Number.isInteger(at) || at < 0 || at >= mostChoices) throw invalidAnswer(`a choice with the index ${at}`);
  const choice: Choice = {
    at,
    calls: newToolCalls(),
    thinkTags: answer.hasThinkTags ? createThinkTags() : null,
    hasReasoningField: false,
    hasBegun: false,
    isFinished: false,
  };
  answer.choices[at] = choice;
  return choice;
}

function addSaid(answer: AnswerState, choice: Choice, delta: Fields): void {
  const content = delta['content'];
  choice.hasBegun = true;
  addReasoning(answer, choice, delta);
  if (typeof content === 'string') addText(answer, choice, content);
  else if (Array.isArray(content)) for (const part of content as unknown[]) addPart(answer, choice, part);
  const refusal = delta['refusal'];
  if (typeof refusal === 'string' && refusal !== '') answer.out.push({ type: 'refusal-delta', choice: choice.at, text: refusal });
}

/** Lists beside the text of a delta, its sound, and its calls. */
function addBeside(answer: AnswerState, choice: Choice, delta: Fields): void {
  if (listOf(delta['annotations']).some((one) => fieldsOf(one)['type'] === 'url_citation')) answer.hasSearched = true;
  for (const field of messageExtras) {
    const value = delta[field];
    if (Array.isArray(value) && value.length > 0) answer.out.push({ type: 'extra', choice: choice.at, on: 'message', field, value });
  }
  if (isFields(delta['audio'])) answer.out.push({ type: 'extra', choice: choice.at, on: 'message', field: 'audio', value: delta['audio'] });
  const calls = callsIn(delta);
  if (calls.length > 0) {
    addToolCalls(choice.calls, calls, { choice: choice.at, seed: seedOf(answer), target: answer.target, chunks: answer.out });
  }
}

const noCalls: readonly unknown[] = [];

/** wire: `function_call` is the older form, for one call in a message; some servers still send it (OpenAI: Chat, deprecated). */
function callsIn({ tool_calls: calls, function_call: call }: Fields): readonly unknown[] {
  if (Array.isArray(calls)) return calls;
  return isFields(call) ? [{ index: 0, type: 'function', function: call }] : noCalls;
}

/** Lists of a message that the caller gets unchanged. */
const messageExtras = ['annotations', 'images'];

/** Reads the reasoning of a delta. Several fields may have the same text, so only the first field with a text is read. */
function addReasoning(answer: AnswerState, choice: Choice, delta: Fields): void {
  const { reasoning_content: content, reasoning, reasoning_details: details } = delta;
  const text = typeof content === 'string' && content !== '' ? content : reasoning;
  if (typeof text === 'string' && text !== '') {
    // a server that has a field for reasoning does not use tags too, so a `<think>` in its answer is text
    if (choice.thinkTags !== null) {
      addHeldText(answer, choice);
      choice.thinkTags = null;
    }
    choice.hasReasoningField = true;
    give(answer, { type: 'reasoning-delta', choice: choice.at, text });
  }
  if (!Array.isArray(details)) return;
  for (const detail of details as unknown[]) if (isFields(detail)) addDetail(answer, choice, detail);
}

function addDetail(answer: AnswerState, choice: Choice, detail: Fields): void {
  const text = detail['type'] === 'reasoning.summary' ? detail['summary'] : detail['text'];
  if (!choice.hasReasoningField && typeof text === 'string' && text !== '') {
    answer.out.push({ type: 'reasoning-delta', choice: choice.at, text });
  }
  answer.out.push({
    type: 'reasoning-detail',
    choice: choice.at,
    detail: { ...detail, provider: answer.target.provider.account, model: answer.target.mapping.externalId } as unknown as ReasoningDetail,
  });
}

/** Adds a piece of text. cost: most events give one chunk, and an empty list takes memory for 17 at its first `push`. */
function give(answer: AnswerState, chunk: Chunk): void {
  if (answer.out.length === 0) answer.out = [chunk];
  else answer.out.push(chunk);
}

function addText(answer: AnswerState, choice: Choice, text: string): void {
  if (text === '') return;
  if (choice.thinkTags === null) give(answer, { type: 'text-delta', choice: choice.at, text });
  else addSplit(answer, choice, choice.thinkTags.push(text));
}

function addSplit(answer: AnswerState, choice: Choice, { reasoning, text }: Split): void {
  if (reasoning !== '') answer.out.push({ type: 'reasoning-delta', choice: choice.at, text: reasoning });
  if (text !== '') answer.out.push({ type: 'text-delta', choice: choice.at, text });
}

function addHeldText(answer: AnswerState, choice: Choice): void {
  if (choice.thinkTags !== null) addSplit(answer, choice, choice.thinkTags.end());
}

/**
 * wire: within one stream of Mistral, `content` is a string in some deltas and a list with thinking parts in others (2025-11-28).
 * wire: at Databricks the thinking of Claude is a part `reasoning` with the text in `summary` (Databricks: Query reasoning models).
 */
function addPart(answer: AnswerState, choice: Choice, part: unknown): void {
  if (!isFields(part)) return;
  if (part['type'] !== 'thinking' && part['type'] !== 'reasoning') {
    if (typeof part['text'] === 'string') addText(answer, choice, part['text']);
    return;
  }
  const thinking = part['thinking'] ?? part['summary'];
  for (const piece of Array.isArray(thinking) ? (thinking as unknown[]) : [thinking]) {
    const text = isFields(piece) ? piece['text'] : piece;
    if (typeof text === 'string' && text !== '') answer.out.push({ type: 'reasoning-delta', choice: choice.at, text });
  }
}

/**
 * wire: Perplexity repeats its sources in every event (Perplexity: Streaming), and xAI
 * sends them in the last one (xAI: Live search). So they go out once, before the finish.
 */
function readSources(answer: AnswerState, event: Fields): void {
  const { citations = answer.sources['citations'], search_results: results = answer.sources['search_results'] } = event;
  answer.sources = { citations, search_results: results };
  if (answer.choices[0]?.isFinished === true) addSources(answer);
}

function addSources(answer: AnswerState): void {
  for (const [field, value] of Object.entries(answer.sources)) {
    if (!Array.isArray(value) || value.length === 0 || answer.givenSources.has(field)) continue;
    // a server may repeat its sources after the finish: sent again, the lists would be joined, and the caller would get each source twice
    answer.givenSources.add(field);
    answer.out.push({ type: 'extra', choice: 0, on: 'message', field, value });
  }
  answer.sources = {};
}

function seedOf(answer: AnswerState): string {
  if (answer.id === '') answer.id = randomUUID();
  return answer.id;
}

function addFinish(answer: AnswerState, choice: Choice, native: string | null): void {
  const reason = reasonOf(native, choice.calls.begun > 0);
  addHeldText(answer, choice);
  if (reason === 'error') {
    answer.fault ??= new GatewayError('upstream_error', `The provider ended its answer with \`${(native ?? '').slice(0, 64)}\`.`);
    return;
  }
  completeToolCalls(choice.calls, choice.at, answer.out);
  if (choice.at === 0) {
    addSources(answer);
    for (const field in answer.top) answer.out.push({ type: 'extra', choice: 0, on: 'reply', field, value: answer.top[field] });
  }
  choice.isFinished = true;
  answer.out.push({ type: 'finish', choice: choice.at, reason, native });
}

const reasons = new Map<string, FinishReason | 'error'>([
  ['stop', 'completed'],
  ['eos', 'completed'],
  ['stop_sequence', 'completed'],
  ['length', 'length_limit'],
  ['model_length', 'length_limit'],
  // wire: what Z.ai says where the context is full (Z.ai: Chat completion; anomalyco/opencode#18813, 2026-03)
  ['model_context_window_exceeded', 'length_limit'],
  ['tool_calls', 'tool_calls'],
  ['function_call', 'tool_calls'],
  ['content_filter', 'content_filter'],
  ['sensitive', 'content_filter'],
  ['error', 'error'],
  ['network_error', 'error'],
  ['insufficient_system_resource', 'error'],
]);

/** What a word that no documentation lists probably means. */
const likely: readonly (readonly [RegExp, FinishReason | 'error'])[] = [
  [/error|fail|abort/i, 'error'],
  [/length|max|limit/i, 'length_limit'],
  [/filter|safety|sensitive|moderat|policy|block/i, 'content_filter'],
];

function reasonOf(native: string | null, hasCalls: boolean): FinishReason | 'error' {
  const word = native ?? 'stop';
  const reason = reasons.get(word) ?? likely.find(([pattern]) => pattern.test(word))?.[1] ?? 'completed';
  // wire: older versions of vLLM, Ollama and some routes of OpenRouter say `stop` after tool calls (recorded traffic, as of 2026-11);
  // vLLM says `tool_calls` where a required call was not made (vllm-project/vllm#53255, 2026-08)
  if (reason === 'completed' || reason === 'tool_calls') return hasCalls ? 'tool_calls' : 'completed';
  return reason;
}
