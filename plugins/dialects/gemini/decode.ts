/**
 * Decodes answers of generateContent into chunks. There is one record of state for each stream. A whole body goes through the same
 * functions, as one event that has everything. wire: the stream has no end mark. A candidate ends with its `finishReason`, and the
 * stream ends with its body (Gemini API: generateContent).
 */
import { hash } from 'node:crypto';
import { mostChoices } from '../../../core/chat.ts';
import type { Chunk, FinishReason } from '../../../core/chat.ts';
import type { Decoder, Target } from '../../../core/wire/dialect.ts';
import { GatewayError } from '../../../core/errors.ts';
import { billed, invalidAnswer, sanitise } from '../../../core/wire/upstream-error.ts';
import { type Fields, fieldsOf, isFields, listOf } from '../../../core/wire/fields.ts';
import { parseAnswer } from '../../../core/wire/json.ts';
import { answerTool } from '../families/answer-tool.ts';
import { callIdFrom } from '../families/calls.ts';
import { decodeAnswerError, isError } from './error.ts';
import { toLogprobs } from './logprobs.ts';
import { createPartialArgs, type PartialArgs } from './partial-args.ts';
import { type DetailOrigin, type SignedPlace, signatureDetail, thoughtDetail } from './signatures.ts';
import { billedSearches, type Counts, readCounts, toUsage } from './usage.ts';

/** The state of one answer while it is read. */
interface AnswerState {
  readonly target: Target;
  readonly choices: (Choice | undefined)[];
  counts: Counts | null;
  /** What was searched for on the web, as hashes. */
  readonly queries: Set<string>;
  /** Characters of the arguments that came in pieces, in this answer. */
  readonly pieces: { length: number };
  /** The id of the answer. If the provider gives a tool call no id, one is made from this. */
  id: string;
  /** Set by a `finishReason` that is a fault. It is thrown after the chunks of the same event are handed on. */
  fault: GatewayError | null;
  /** Chunks of the event that is being read. */
  out: Chunk[];
}

interface Choice {
  readonly at: number;
  /** The number of characters of the answer so far. */
  length: number;
  readonly callIds: Set<string>;
  images: number;
  /** The answer has come by the answer tool. */
  isAnswered: boolean;
  /** The answer has sound. */
  isSpoken: boolean;
  /** The last image among the thoughts, which may be a draft. */
  draft: SignedImage | null;
  details: number;
  /** A call whose arguments come in pieces. */
  open: { readonly index: number; readonly id: string; readonly args: PartialArgs } | null;
  /** STOP came before any content. The choice stays open, because content may follow. */
  isStopped: boolean;
  isFinished: boolean;
}

const noChunks: readonly Chunk[] = [];

const newAnswer = (target: Target): AnswerState => ({
  target,
  choices: [],
  counts: null,
  queries: new Set(),
  pieces: { length: 0 },
  id: '',
  fault: null,
  out: [],
});

/** Makes the decoder of one stream. */
export function createDecoder(target: Target): Decoder {
  const answer = newAnswer(target);
  return {
    push({ data }) {
      if (answer.fault !== null) throw answer.fault;
      // wire: the API sends no end mark, but some proxies before it do (BerriAI/litellm#29201, 2026-05)
      if (data === '' || data === '[DONE]') return noChunks;
      answer.out = [];
      addEvent(answer, parse(data), data);
      if (answer.fault !== null && answer.out.length === 0) throw answer.fault;
      return answer.out;
    },
    end() {
      if (answer.fault !== null) throw answer.fault;
      answer.out = [];
      for (const choice of answer.choices) {
        if (choice?.isStopped === true && !choice.isFinished && isEmpty(choice)) finish(answer, choice, stop);
      }
      return answer.out;
    },
    get fault() {
      return answer.fault;
    },
  };
}

function parse(data: string): unknown {
  try {
    return parseAnswer(data);
  } catch (cause) {
    throw invalidAnswer('an event that is not valid JSON', cause);
  }
}

/**
 * Decodes a whole answer. Throws if the body is an error, which may come with status 200, or has no candidates.
 * wire: without `alt=sse` a stream is one list of its events (Gemini API: generateContent).
 */
export function decodeBody(body: unknown, target: Target): readonly Chunk[] {
  const answer = newAnswer(target);
  for (const event of Array.isArray(body) ? (body as unknown[]) : [body]) addEvent(answer, event, body);
  if (answer.fault !== null) throw billed(answer.fault, answer.out);
  if (answer.choices.length === 0) throw billed(invalidAnswer('an answer without candidates'), answer.out);
  for (const choice of answer.choices) if (choice !== undefined && !choice.isFinished) addUnsaidFinish(answer, choice);
  return answer.out;
}

/**
 * Ends a choice of a whole body that has no `finishReason`. A whole body is
 * complete, but a choice without content and without a reason is no answer.
 */
function addUnsaidFinish(answer: AnswerState, choice: Choice): void {
  if (choice.isStopped) return finish(answer, choice, stop);
  if (isEmpty(choice)) throw billed(invalidAnswer('an answer without content'), answer.out);
  finish(answer, choice, { reason: choice.callIds.size > 0 ? 'tool_calls' : 'completed', native: null });
}

const isEmpty = ({ length, callIds, images, isSpoken }: Choice): boolean => length === 0 && callIds.size === 0 && images === 0 && !isSpoken;

function addEvent(answer: AnswerState, event: unknown, source: unknown): void {
  if (isError(event)) throw decodeAnswerError(event, answer.target);
  if (!isFields(event)) return;
  const { candidates, promptFeedback, usageMetadata, responseId } = event;
  if (answer.id === '') answer.id = typeof responseId === 'string' && responseId !== '' ? responseId : '';
  const searched = answer.queries.size;
  if (Array.isArray(candidates)) {
    for (const [at, candidate] of (candidates as unknown[]).entries()) addCandidate(answer, { candidate, at, source });
  }
  if (isFields(promptFeedback)) addBlock(answer, promptFeedback);
  addUsage(answer, fieldsOf(usageMetadata), answer.queries.size > searched);
}

/**
 * wire: a blocked prompt is a reply with status 200 and no candidates (Gemini API:
 * Safety settings). A block that comes later ends the choices that are still open.
 */
function addBlock(answer: AnswerState, { blockReason }: Fields): void {
  if (!isSaid(blockReason)) return;
  if (answer.choices.length === 0) choiceOf(answer, 0);
  for (const choice of answer.choices) {
    if (choice !== undefined && !choice.isFinished) finish(answer, choice, { reason: 'content_filter', native: blockReason });
  }
}

/**
 * wire: servers that write the defaults of enums say FINISH_REASON_UNSPECIFIED with each piece
 * of an answer, and BLOCKED_REASON_UNSPECIFIED (googleapis/google-cloud-dotnet#15173, 2025-10).
 */
const isSaid = (reason: unknown): reason is string => typeof reason === 'string' && reason !== '' && !reason.endsWith('_UNSPECIFIED');

function addUsage(answer: AnswerState, report: Fields, hasSearched: boolean): void {
  const counts = readCounts(report, answer.counts);
  if (counts === null || (counts === answer.counts && !hasSearched)) return;
  answer.counts = counts;
  answer.out.push({ type: 'usage', usage: toUsage(counts, billedSearches(answer.queries, answer.target)) });
}

interface CandidatePlace {
  readonly candidate: unknown;
  readonly at: number;
  /** The event or the body with the candidate. */
  readonly source: unknown;
}

const mostQueries = 10_000;

/** safety: a query may be as long as an event, and nothing else bounds how many come. */
function addQuery(queries: Set<string>, query: string): void {
  if (queries.size < mostQueries) queries.add(hash('sha256', query, 'base64url'));
}

function addCandidate(answer: AnswerState, { candidate, at, source }: CandidatePlace): void {
  if (!isFields(candidate)) return;
  const { index, content, logprobsResult, finishReason, finishMessage, groundingMetadata } = candidate;
  for (const query of listOf(fieldsOf(groundingMetadata)['webSearchQueries'])) {
    if (typeof query === 'string' && query !== '') addQuery(answer.queries, query);
  }
  const choice = choiceOf(answer, typeof index === 'number' ? index : at);
  // safety: no chunk may follow the finish of its choice; the record and the reply would have text after their end
  if (choice.isFinished) return;
  const parts = listOf(fieldsOf(content)['parts']).filter(isFields);
  // the input of the answer tool is the answer; a text beside it would make the answer invalid JSON
  const isByTool = parts.some(isAnswer);
  for (const part of parts) {
    if (!isByTool || part['text'] === undefined || part['thought'] === true) addPart(answer, choice, { part, source });
  }
  const logprobs = isFields(logprobsResult) ? toLogprobs(logprobsResult) : null;
  if (logprobs !== null) answer.out.push({ type: 'extra', choice: choice.at, on: 'choice', field: 'logprobs', value: logprobs });
  if (isSaid(finishReason)) addFinish(answer, choice, { word: finishReason, message: finishMessage });
}

function choiceOf(answer: AnswerState, at: number): Choice {
  const known = answer.choices[at];
  if (known !== undefined) return known;
  if (!Number.isInteger(at) || at < 0 || at >= mostChoices) throw invalidAnswer(`a candidate with the index ${at}`);
  const choice: Choice = {
    at,
    length: 0,
    callIds: new Set(),
    images: 0,
    isAnswered: false,
    isSpoken: false,
    draft: null,
    details: 0,
    open: null,
    isStopped: false,
    isFinished: false,
  };
  answer.choices[at] = choice;
  return choice;
}

interface PartPlace {
  readonly part: Fields;
  readonly source: unknown;
}

/**
 * wire: parts of all kinds may be mixed in one event, and each may have a signature, also an empty text (Gemini API: Thought signatures).
 */
function addPart(answer: AnswerState, choice: Choice, place: PartPlace): void {
  const { functionCall, inlineData, text, thought, thoughtSignature } = place.part;
  const signature = typeof thoughtSignature === 'string' ? thoughtSignature : '';
  if (isAnswer(place.part)) addAnswer(answer, choice, fieldsOf(functionCall));
  else if (isFields(functionCall)) {
    const id = addCall(answer, choice, { call: functionCall, source: place.source });
    if (id !== null) addSignature(answer, choice, { signature, place: { part: 'call', id } });
  } else if (isFields(inlineData) && thought === true) choice.draft = { image: inlineData, signature };
  else if (isFields(inlineData)) addImage(answer, choice, { image: inlineData, signature });
  else if (thought === true) addThought(answer, choice, { text: typeof text === 'string' ? text : '', signature });
  else addText(answer, choice, { text: typeof text === 'string' ? text : '', signature });
}

const isAnswer = ({ functionCall }: Fields): boolean => fieldsOf(functionCall)['name'] === answerTool;

/** Sends the input of the answer tool as the text of the answer. A second call of it is ignored. */
function addAnswer(answer: AnswerState, choice: Choice, { args }: Fields): void {
  if (!choice.isAnswered) addText(answer, choice, { text: JSON.stringify(fieldsOf(args)), signature: '' });
  choice.isAnswered = true;
}

interface SignedWords {
  readonly text: string;
  readonly signature: string;
}

function addText(answer: AnswerState, choice: Choice, { text, signature }: SignedWords): void {
  const start = choice.length;
  choice.length += text.length;
  if (text !== '') answer.out.push({ type: 'text-delta', choice: choice.at, text });
  if (signature !== '') {
    addSignature(answer, choice, { signature, place: { part: 'text', start, end: choice.length, calls: choice.callIds.size } });
  }
}

function addThought(answer: AnswerState, choice: Choice, { text, signature }: SignedWords): void {
  if (text !== '') answer.out.push({ type: 'reasoning-delta', choice: choice.at, text });
  if (signature === '') return;
  answer.out.push({ type: 'reasoning-detail', choice: choice.at, detail: thoughtDetail(originOf(answer, choice), text, signature) });
}

function addSignature(
  answer: AnswerState,
  choice: Choice,
  { signature, place }: { readonly signature: string; readonly place: SignedPlace },
): void {
  if (signature === '') return;
  answer.out.push({ type: 'reasoning-detail', choice: choice.at, detail: signatureDetail(originOf(answer, choice), place, signature) });
}

interface SignedImage {
  readonly image: Fields;
  readonly signature: string;
}

/** Sends an image of the answer, in the form in which other vendors of chat completions send images; or its sound. */
function addImage(answer: AnswerState, choice: Choice, { image, signature }: SignedImage): void {
  const { mimeType, data } = image;
  if (typeof mimeType !== 'string' || typeof data !== 'string') return;
  if (mimeType.startsWith('audio/')) return addSound(answer, choice, { mimeType, data });
  const value = [{ type: 'image_url', image_url: { url: `data:${mimeType};base64,${data}` } }];
  answer.out.push({ type: 'extra', choice: choice.at, on: 'message', field: 'images', value });
  addSignature(answer, choice, { signature, place: { part: 'image', image: choice.images++ } });
}

/**
 * Sends the sound of a model that speaks, with its type, because this API takes no format.
 * wire: it is raw samples, such as `audio/L16;codec=pcm;rate=24000` (Gemini API: Speech generation).
 */
function addSound(answer: AnswerState, choice: Choice, { mimeType, data }: { readonly mimeType: string; readonly data: string }): void {
  choice.isSpoken = true;
  answer.out.push({ type: 'extra', choice: choice.at, on: 'message', field: 'audio', value: { id: answer.id, data, mime_type: mimeType } });
}

/** Reads a call or a piece of one. Returns the id of the call. */
function addCall(
  answer: AnswerState,
  choice: Choice,
  { call, source }: { readonly call: Fields; readonly source: unknown },
): string | null {
  const { id, name, args, partialArgs, willContinue } = call;
  const pieces = listOf(partialArgs);
  if (typeof name !== 'string' || name === '') return addToOpenCall(answer, choice, { args, pieces });
  closeCall(answer, choice);
  const index = choice.callIds.size;
  const callId =
    typeof id === 'string' && id !== '' && !choice.callIds.has(id) ? id : callIdFrom(`${seedOf(answer, source)}/${choice.at}/${index}`);
  choice.callIds.add(callId);
  answer.out.push({ type: 'tool-start', choice: choice.at, index, id: callId, name });
  const whole = fieldsOf(args);
  if (willContinue !== true && pieces.length === 0) {
    answer.out.push({ type: 'tool-delta', choice: choice.at, index, arguments: JSON.stringify(whole) });
  } else {
    choice.open = { index, id: callId, args: createPartialArgs(whole, answer.pieces) };
    for (const piece of pieces) choice.open.args.add(piece);
  }
  return callId;
}

/** wire: the pieces after the first have no name, and an empty piece ends the call (Vertex AI: Function calling). */
function addToOpenCall(
  answer: AnswerState,
  choice: Choice,
  { args, pieces }: { readonly args: unknown; readonly pieces: readonly unknown[] },
): string | null {
  const { open } = choice;
  if (open === null) {
    if (args !== undefined || pieces.length > 0) throw invalidAnswer('a tool call without a name');
    return null;
  }
  for (const piece of pieces) open.args.add(piece);
  if (pieces.length === 0) closeCall(answer, choice);
  return open.id;
}

function closeCall(answer: AnswerState, choice: Choice): void {
  if (choice.open === null) return;
  answer.out.push({ type: 'tool-delta', choice: choice.at, index: choice.open.index, arguments: choice.open.args.text() });
  choice.open = null;
}

/**
 * The seed for ids of calls. If the answer has no id, its event with the
 * first call is the seed; the token counts in it differ from turn to turn.
 */
function seedOf(answer: AnswerState, source: unknown): string {
  if (answer.id === '') answer.id = typeof source === 'string' ? source : JSON.stringify(source);
  return answer.id;
}

interface Ending {
  readonly reason: FinishReason;
  /** The provider's own word. */
  readonly native: string | null;
}

function finish(answer: AnswerState, choice: Choice, { reason, native }: Ending): void {
  closeCall(answer, choice);
  // wire: models that draw think in images, which are drafts of the one that follows (Gemini API: Image
  // generation, Thinking process). Some answers have the image among the thoughts alone (Lixpi/lixpi#135, 2026-04)
  if (reason === 'completed' && choice.draft !== null && isEmpty(choice)) addImage(answer, choice, choice.draft);
  choice.isFinished = true;
  answer.out.push({ type: 'finish', choice: choice.at, reason, native });
}

const stop: Ending = { reason: 'completed', native: 'STOP' };

const reasons = new Map<string, FinishReason | 'fault'>([
  ['STOP', 'completed'],
  ['MAX_TOKENS', 'length_limit'],
  ...['SAFETY', 'RECITATION', 'LANGUAGE', 'BLOCKLIST', 'PROHIBITED_CONTENT', 'SPII', 'MODEL_ARMOR'].map(
    (word) => [word, 'content_filter'] as const,
  ),
  ...[
    'MALFORMED_FUNCTION_CALL',
    'UNEXPECTED_TOOL_CALL',
    'TOO_MANY_TOOL_CALLS',
    'MALFORMED_RESPONSE',
    'MISSING_THOUGHT_SIGNATURE',
    'OTHER',
  ].map((word) => [word, 'fault'] as const),
]);

function addFinish(answer: AnswerState, choice: Choice, { word, message }: { readonly word: string; readonly message: unknown }): void {
  // wire: proxies have said STOP with each piece before the text (router-for-me/CLIProxyAPI#5651,
  // 2026-09), so an answer without content does not end before its body ends
  if (word === stop.native && isEmpty(choice) && choice.draft === null) {
    choice.isStopped = true;
    return;
  }
  const known = reasons.get(word) ?? (word.startsWith('IMAGE_') || isEmpty(choice) ? 'content_filter' : 'completed');
  if (known === 'fault') {
    const said = typeof message === 'string' && message !== '' ? `: ${message}` : '.';
    answer.fault ??= new GatewayError(
      'upstream_error',
      sanitise(`The provider ended its answer with ${word}${said}`, answer.target.provider),
    );
    return;
  }
  // wire: after tool calls the word is STOP too, and it may come in a later event (recorded traffic, as of 2026-11)
  finish(answer, choice, { reason: known === 'completed' && choice.callIds.size > 0 ? 'tool_calls' : known, native: word });
}

const originOf = ({ target: { provider, mapping } }: AnswerState, choice: Choice): DetailOrigin => ({
  provider: provider.account,
  model: mapping.externalId,
  index: choice.details++,
});
