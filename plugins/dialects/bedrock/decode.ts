/**
 * Decodes answers of Converse into chunks. There is one record of state for each stream and one function for each type of event.
 * wire: events as in Amazon Bedrock: ConverseStream.
 */
import type { Chunk, FinishReason, Usage } from '../../../core/chat.ts';
import type { Decoder, Target, WireEvent } from '../../../core/wire/dialect.ts';
import { GatewayError } from '../../../core/errors.ts';
import { joinedBase64 } from '../../../core/wire/data-url.ts';
import { type Fields, fieldsOf, isFields, textOf } from '../../../core/wire/fields.ts';
import { billed, invalidAnswer } from '../../../core/wire/upstream-error.ts';
import { answerTool } from '../families/answer-tool.ts';
import { callIdFrom } from '../families/calls.ts';
import { type BlockPlace, detailOf } from '../families/thinking-blocks.ts';
import { decodeException, noOutput } from './error.ts';
import { format } from './replay.ts';
import { toUsage } from './usage.ts';

/** The state of one answer while it is read. */
interface AnswerState {
  readonly target: Target;
  /** True if the caller gets the text of the reasoning. */
  readonly showsReasoning: boolean;
  readonly blocks: Map<unknown, OpenBlock>;
  /** The numbers of characters, of tool calls and of reasoning blocks so far. */
  text: number;
  calls: number;
  readonly callIds: Set<string>;
  thoughts: number;
  hasAnswer: boolean;
  isFinished: boolean;
  /** The error where the answer ended as a failure. The usage comes after the failure, so the error is thrown at the end. */
  fault: GatewayError | null;
  usage: Usage | null;
  /** The characters of all events so far, which is the place of the next event in the stream. */
  heard: number;
  /** Chunks of the event that is being read. */
  out: Chunk[];
}

/** A block of text needs no state. */
type OpenBlock = Call | Thinking;

interface Call {
  readonly kind: 'call';
  /**
   * The gateway's number of the call. `answer`: a call of the answer tool, whose
   * input is the text of the answer. `spare`: a second call of it, which is ignored.
   */
  readonly index: number | 'answer' | 'spare';
  /** The provider's id. */
  readonly id: string | null;
  hasInput: boolean;
}

interface Thinking {
  readonly kind: 'thinking';
  readonly place: BlockPlace;
  text: string;
  signature: string;
  readonly redacted: string[];
}

const noChunks: readonly Chunk[] = [];

/** Makes the decoder of one stream. */
export function createDecoder(target: Target): Decoder {
  const answer = newAnswer(target);
  return {
    push(event) {
      const name = event.event ?? '';
      // `frames.ts` marks an exception by `exception:` or `error:` before its type
      const mark = /^(?:exception|error):/.exec(name)?.[0];
      if (mark !== undefined) throw decodeException(name.slice(mark.length), payloadOf(event), target);
      const read = readers.get(name);
      // an unknown event may hold anything, but one without a name has to be JSON at least
      if (read === undefined && name !== '') return noChunks;
      const payload = parseEvent(event);
      if (read === undefined) return noChunks;
      answer.out = [];
      read(answer, payload);
      answer.heard += event.data.length;
      return answer.out;
    },
    end() {
      if (answer.fault !== null) throw answer.fault;
      return noChunks;
    },
    // wire: `metadata` with the usage comes after `messageStop` (Amazon Bedrock:
    // ConverseStream), but sometimes before it (recorded traffic, as of 2026-11)
    get done() {
      return answer.isFinished && answer.usage !== null;
    },
    get fault() {
      return answer.fault;
    },
  };
}

/** Decodes a whole answer. Throws if it has no output. */
export function decodeBody(body: unknown, target: Target): readonly Chunk[] {
  const message = fieldsOf(fieldsOf(body)['output'])['message'];
  // wire: a reply with status 200 may have no output, only an error or nothing (envoy ai-gateway, openai_awsbedrock.go, 2026-11)
  if (!isFields(body) || !isFields(message) || !Array.isArray(message['content'])) throw noOutput(body, target);
  const answer = newAnswer(target);
  const blocks = (message['content'] as unknown[]).filter(isFields);
  // wire: Nova writes its thoughts as text before a call (Amazon Nova: Tool use).
  // Such a text beside the input of the answer tool would make the answer invalid JSON
  const isByTool = blocks.some(({ toolUse }) => fieldsOf(toolUse)['name'] === answerTool);
  for (const [at, block] of blocks.entries()) if (!isByTool || block['text'] === undefined) addWhole(answer, at, block);
  addFinish(answer, body['stopReason']);
  addUsage(answer, body);
  if (answer.fault !== null) throw billed(answer.fault, answer.out);
  return answer.out;
}

const newAnswer = (target: Target): AnswerState => ({
  target,
  showsReasoning: target.mapping.reasoning?.exposes !== 'nothing',
  blocks: new Map(),
  text: 0,
  calls: 0,
  callIds: new Set(),
  thoughts: 0,
  hasAnswer: false,
  isFinished: false,
  fault: null,
  usage: null,
  heard: 0,
  out: [],
});

/** The payload of an exception; its text if it is not JSON. The type of the exception is in the mark, so the payload may be anything. */
function payloadOf({ data }: WireEvent): unknown {
  try {
    return JSON.parse(data);
  } catch {
    // the payload is not JSON, or is empty
    return data;
  }
}

function parseEvent({ data }: WireEvent): Fields {
  let value: unknown;
  try {
    value = JSON.parse(data);
  } catch (cause) {
    throw invalidAnswer('an event that is not JSON', cause);
  }
  if (!isFields(value)) throw invalidAnswer('an event that is not a JSON object');
  return value;
}

type EventReader = (answer: AnswerState, event: Fields) => void;

const readers = new Map<string, EventReader>([
  ['contentBlockStart', startBlock],
  ['contentBlockDelta', addDelta],
  ['contentBlockStop', (answer, event) => endBlock(answer, event['contentBlockIndex'])],
  ['messageStop', (answer, event) => addFinish(answer, event['stopReason'])],
  ['metadata', addUsage],
]);

/**
 * wire: only blocks of tools have a `contentBlockStart`; text and reasoning begin with their first delta (recorded traffic, as of 2026-11).
 * The event of an open call may be repeated. Another block ends the open one of its index, whose end has not come.
 */
function startBlock(answer: AnswerState, event: Fields): void {
  const { toolUse } = fieldsOf(event['start']);
  if (!isFields(toolUse) || answer.isFinished) return;
  const at = event['contentBlockIndex'];
  const open = answer.blocks.get(at);
  if (open?.kind === 'call' && open.id !== null && open.id === textOf(toolUse['toolUseId'])) return;
  endBlock(answer, at);
  startCall(answer, at, toolUse);
}

function startCall(answer: AnswerState, at: unknown, toolUse: Fields): Call {
  const name = textOf(toolUse['name']) ?? '';
  const given = textOf(toolUse['toolUseId']);
  if (name === '') throw invalidAnswer('a tool call without a name');
  if (name === answerTool) {
    const index = answer.hasAnswer ? 'spare' : 'answer';
    answer.hasAnswer = true;
    return open(answer, at, { kind: 'call', index, id: given, hasInput: false });
  }
  const index = answer.calls++;
  // an answer has no id here, so the place in the stream makes the id of a call unique.
  // wire: models have given parallel calls one id (HKUDS/nanobot#4473, 2026-06)
  const isNew = given !== null && !answer.callIds.has(given);
  const id = isNew ? given : callIdFrom(`${answer.heard}/${index}/${JSON.stringify(toolUse)}`);
  answer.callIds.add(id);
  answer.out.push({ type: 'tool-start', choice: 0, index, id, name });
  return open(answer, at, { kind: 'call', index, id: given, hasInput: false });
}

function open<Opened extends OpenBlock>({ blocks }: AnswerState, at: unknown, block: Opened): Opened {
  blocks.set(at, block);
  return block;
}

function addDelta(answer: AnswerState, { contentBlockIndex: at, delta }: Fields): void {
  if (!isFields(delta) || answer.isFinished) return;
  if (typeof delta['text'] === 'string') addText(answer, delta['text']);
  else if (isFields(delta['reasoningContent'])) addReasoning(answer, at, delta['reasoningContent']);
  else if (isFields(delta['toolUse'])) {
    const block = answer.blocks.get(at);
    if (block === undefined || block.kind === 'thinking') throw invalidAnswer('a part of a tool call that has not begun');
    addInput(answer, block, textOf(delta['toolUse']['input']) ?? '');
  }
}

function addText(answer: AnswerState, piece: string): void {
  if (piece === '') return;
  answer.text += piece.length;
  answer.out.push({ type: 'text-delta', choice: 0, text: piece });
}

function addInput(answer: AnswerState, block: Call, piece: string): void {
  if (piece === '') return;
  block.hasInput = true;
  if (block.index === 'answer') addText(answer, piece);
  else if (block.index !== 'spare') answer.out.push({ type: 'tool-delta', choice: 0, index: block.index, arguments: piece });
}

/**
 * wire: the bytes of a redacted block are in `redactedContent` (Amazon Bedrock:
 * ReasoningContentBlockDelta); some hosts call the field `data` (recorded traffic, as of 2026-11).
 */
function addReasoning(answer: AnswerState, at: unknown, reasoning: Fields): void {
  const known = answer.blocks.get(at);
  const block: Thinking =
    known?.kind === 'thinking'
      ? known
      : open(answer, at, { kind: 'thinking', place: { text: answer.text, calls: answer.calls }, text: '', signature: '', redacted: [] });
  const piece = textOf(reasoning['text']) ?? '';
  const redacted = textOf(reasoning['redactedContent']) ?? textOf(reasoning['data']) ?? '';
  block.text += piece;
  block.signature += textOf(reasoning['signature']) ?? '';
  if (redacted !== '') block.redacted.push(redacted);
  if (piece !== '' && answer.showsReasoning) answer.out.push({ type: 'reasoning-delta', choice: 0, text: piece });
}

/** Ends a block. A signed or redacted reasoning block becomes a detail, and a call without input gets `{}`. */
function endBlock(answer: AnswerState, at: unknown): void {
  const block = answer.blocks.get(at);
  if (block === undefined || answer.isFinished) return;
  answer.blocks.delete(at);
  if (block.kind !== 'thinking') {
    if (!block.hasInput) addInput(answer, block, '{}');
    return;
  }
  const { place, text: thought, signature, redacted } = block;
  if (signature === '' && redacted.length === 0) return;
  const state = redacted.length > 0 ? { data: joinedBase64(redacted) } : { text: thought, signature };
  answer.out.push({
    type: 'reasoning-detail',
    choice: 0,
    detail: detailOf(answer.target, { format, index: answer.thoughts++, place, state }),
  });
}

/** Reads a block of a whole answer. */
function addWhole(answer: AnswerState, at: number, block: Fields): void {
  const { toolUse, reasoningContent, citationsContent } = block;
  if (typeof block['text'] === 'string') addText(answer, block['text']);
  else if (isFields(toolUse)) {
    const call = startCall(answer, at, toolUse);
    addInput(answer, call, JSON.stringify(toolUse['input'] ?? {}));
  } else if (isFields(reasoningContent)) {
    addReasoning(answer, at, {
      ...fieldsOf(reasoningContent['redactedReasoning']),
      ...reasoningContent,
      ...fieldsOf(reasoningContent['reasoningText']),
    });
  } else if (isFields(citationsContent) && Array.isArray(citationsContent['content'])) {
    // wire: in an answer with citations the text is in `citationsContent.content` (Amazon Bedrock: CitationsContentBlock)
    for (const part of citationsContent['content'] as unknown[]) addText(answer, textOf(fieldsOf(part)['text']) ?? '');
  }
  endBlock(answer, at);
}

function addUsage(answer: AnswerState, { usage: report, serviceTier }: Fields): void {
  // wire: a second `metadata` may come without usage (recorded traffic, as of 2026-11)
  if (!isFields(report)) return;
  answer.usage = toUsage(report, answer.usage, serviceTier);
  answer.out.push({ type: 'usage', usage: answer.usage });
}

function addFinish(answer: AnswerState, stopReason: unknown): void {
  if (answer.isFinished) return;
  for (const at of answer.blocks.keys()) endBlock(answer, at);
  answer.isFinished = true;
  const native = typeof stopReason === 'string' && stopReason !== '' ? stopReason : null;
  const reason = reasonOf(native, answer);
  if (reason === 'error') {
    answer.fault = new GatewayError('upstream_error', `The provider ended its answer with "${(native ?? '').slice(0, 64)}".`);
  } else answer.out.push({ type: 'finish', choice: 0, reason, native });
}

const reasons = new Map<string, FinishReason | 'error'>([
  ['end_turn', 'completed'],
  ['stop_sequence', 'completed'],
  ['tool_use', 'tool_calls'],
  ['max_tokens', 'length_limit'],
  ['model_context_window_exceeded', 'length_limit'],
  ['guardrail_intervened', 'content_filter'],
  ['content_filtered', 'content_filter'],
  ['malformed_model_output', 'error'],
  ['malformed_tool_use', 'error'],
]);

/** What a word that no documentation lists probably means. */
const likely: readonly (readonly [RegExp, FinishReason | 'error'])[] = [
  [/length|max|limit|exceeded/i, 'length_limit'],
  [/filter|guard|refus|block|safety/i, 'content_filter'],
  [/malformed|error|fail/i, 'error'],
];

function reasonOf(native: string | null, { calls }: AnswerState): FinishReason | 'error' {
  const word = native ?? 'end_turn';
  const reason = reasons.get(word) ?? likely.find(([pattern]) => pattern.test(word))?.[1] ?? 'completed';
  // wire: `tool_use` comes without a call now and then (strands-rl/strands-env#252,
  // 2026-09). A call of the answer tool is the answer, and not a call for the caller
  if (reason === 'completed' || reason === 'tool_calls') return calls > 0 ? 'tool_calls' : 'completed';
  return reason;
}
