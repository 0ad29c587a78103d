/** Answers of Converse → chunks: one record of state per stream, and a small function for each kind of event. */
import { createHash } from 'node:crypto';
import type { Chunk, FinishReason, Usage } from '../../../core/chat.ts';
import type { Decoder, Target, WireEvent } from '../../../core/wire/dialect.ts';
import { GatewayError } from '../../../core/errors.ts';
import { decodeException, noOutput } from './error.ts';
import { detailOf, type Place } from './replay.ts';
import { answerTool } from './tools.ts';
import { toUsage } from './usage.ts';

type Fields = Readonly<Record<string, unknown>>;

/** What is known of one answer. */
interface Answer {
  readonly target: Target;
  /** The text of the reasoning is shown. */
  readonly showsReasoning: boolean;
  readonly blocks: Map<unknown, Block>;
  /** Characters of text, tool calls and reasoning blocks so far. */
  text: number;
  calls: number;
  thoughts: number;
  hasAnswer: boolean;
  isFinished: boolean;
  usage: Usage | null;
  /** Characters of events so far: where in the stream an event stands. */
  heard: number;
  /** Chunks of the event that is being read. */
  out: Chunk[];
}

/** A block that is being read. Text needs no state. */
type Block = Call | Thinking;

interface Call {
  readonly kind: 'call';
  /** `answer`: its input is the answer's text. `spare`: the answer is there already. */
  readonly index: number | 'answer' | 'spare';
  hasInput: boolean;
}

interface Thinking {
  readonly kind: 'thinking';
  readonly place: Place;
  text: string;
  signature: string;
  readonly redacted: string[];
}

const noChunks: readonly Chunk[] = [];

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);

const fieldsOf = (value: unknown): Fields => (isFields(value) ? value : {});

const text = (value: unknown): string => (typeof value === 'string' ? value : '');

const invalid = (what: string): GatewayError => new GatewayError('upstream_invalid_response', `The provider sent ${what}.`);

/** A decoder for one stream. */
export function createDecoder(target: Target): Decoder {
  const answer = newAnswer(target);
  return {
    push(event) {
      const payload = parseEvent(event);
      const name = event.event ?? '';
      // wire: an exception is a frame of its own kind; what stands behind the mark is its type
      const mark = /^(?:exception|error):/.exec(name)?.[0];
      if (mark !== undefined) throw decodeException(name.slice(mark.length), payload, target);
      const read = readers.get(name);
      if (read === undefined) return noChunks;
      answer.out = [];
      read(answer, payload);
      answer.heard += event.data.length;
      return answer.out;
    },
    end: () => noChunks,
    // wire: usage normally comes behind `messageStop`, and sometimes before it
    get done() {
      return answer.isFinished && answer.usage !== null;
    },
  };
}

/** A whole answer. */
export function decodeBody(body: unknown, target: Target): readonly Chunk[] {
  const message = fieldsOf(fieldsOf(body)['output'])['message'];
  // wire: status 200 without an output happens, with an error or with nothing in it
  if (!isFields(body) || !isFields(message) || !Array.isArray(message['content'])) throw noOutput(body, target);
  const answer = newAnswer(target);
  for (const [at, block] of (message['content'] as unknown[]).entries()) if (isFields(block)) addWhole(answer, at, block);
  addFinish(answer, body['stopReason']);
  addUsage(answer, body['usage']);
  return answer.out;
}

const newAnswer = (target: Target): Answer => ({
  target,
  showsReasoning: target.mapping.reasoning?.exposes !== 'nothing',
  blocks: new Map(),
  text: 0,
  calls: 0,
  thoughts: 0,
  hasAnswer: false,
  isFinished: false,
  usage: null,
  heard: 0,
  out: [],
});

function parseEvent({ data }: WireEvent): Fields {
  let value: unknown;
  try {
    value = JSON.parse(data);
  } catch (cause) {
    throw new GatewayError('upstream_invalid_response', 'The provider sent an event that is not JSON.', { cause });
  }
  if (!isFields(value)) throw invalid('an event that is not a JSON object');
  return value;
}

const readers = new Map<string, (answer: Answer, event: Fields) => void>([
  ['contentBlockStart', startBlock],
  ['contentBlockDelta', addDelta],
  ['contentBlockStop', (answer, event) => endBlock(answer, event['contentBlockIndex'])],
  ['messageStop', (answer, event) => addFinish(answer, event['stopReason'])],
  ['metadata', (answer, event) => addUsage(answer, event['usage'])],
]);

/** wire: only tools have a start; text and reasoning begin with their first delta. */
function startBlock(answer: Answer, event: Fields): void {
  const { toolUse } = fieldsOf(event['start']);
  if (isFields(toolUse) && !answer.isFinished) startCall(answer, event['contentBlockIndex'], toolUse);
}

function startCall(answer: Answer, at: unknown, toolUse: Fields): Call {
  const name = text(toolUse['name']);
  if (name === '') throw invalid('a tool call without a name');
  if (name === answerTool) {
    const index = answer.hasAnswer ? 'spare' : 'answer';
    answer.hasAnswer = true;
    return open(answer, at, { kind: 'call', index, hasInput: false });
  }
  const index = answer.calls++;
  // an answer has no id of its own here: the place in the stream keeps calls apart
  const id = text(toolUse['toolUseId']) || `call_${createHash('sha256').update(`${answer.heard}/${index}/${JSON.stringify(toolUse)}`).digest('base64url').slice(0, 24)}`;
  answer.out.push({ type: 'tool-start', choice: 0, index, id, name });
  return open(answer, at, { kind: 'call', index, hasInput: false });
}

function open<Kind extends Block>({ blocks }: Answer, at: unknown, block: Kind): Kind {
  blocks.set(at, block);
  return block;
}

function addDelta(answer: Answer, { contentBlockIndex: at, delta }: Fields): void {
  if (!isFields(delta) || answer.isFinished) return;
  if (typeof delta['text'] === 'string') addText(answer, delta['text']);
  else if (isFields(delta['reasoningContent'])) addReasoning(answer, at, delta['reasoningContent']);
  else if (isFields(delta['toolUse'])) {
    const block = answer.blocks.get(at);
    if (block === undefined || block.kind === 'thinking') throw invalid('a part of a tool call that has not begun');
    addInput(answer, block, text(delta['toolUse']['input']));
  }
}

function addText(answer: Answer, piece: string): void {
  if (piece === '') return;
  answer.text += piece.length;
  answer.out.push({ type: 'text-delta', choice: 0, text: piece });
}

function addInput(answer: Answer, block: Call, piece: string): void {
  if (piece === '') return;
  block.hasInput = true;
  if (block.index === 'answer') addText(answer, piece);
  else if (block.index !== 'spare') answer.out.push({ type: 'tool-delta', choice: 0, index: block.index, arguments: piece });
}

/** wire: a redacted block's bytes are `redactedContent`, and `data` at some. */
function addReasoning(answer: Answer, at: unknown, reasoning: Fields): void {
  const known = answer.blocks.get(at);
  const block = known?.kind === 'thinking' ? known : open(answer, at, { kind: 'thinking', place: { text: answer.text, calls: answer.calls }, text: '', signature: '', redacted: [] });
  const piece = text(reasoning['text']);
  const redacted = text(reasoning['redactedContent']) || text(reasoning['data']);
  block.text += piece;
  block.signature += text(reasoning['signature']);
  if (redacted !== '') block.redacted.push(redacted);
  if (piece !== '' && answer.showsReasoning) answer.out.push({ type: 'reasoning-delta', choice: 0, text: piece });
}

/** What a block held back: opaque reasoning in one piece, `{}` for a call without input. */
function endBlock(answer: Answer, at: unknown): void {
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
  answer.out.push({ type: 'reasoning-detail', choice: 0, detail: detailOf(answer.target, { index: answer.thoughts++, place, state }) });
}

/** Pieces of one blob; where each was encoded by itself, padding stands between them. */
function joinedBase64(pieces: readonly string[]): string {
  if (!pieces.slice(0, -1).some((piece) => piece.endsWith('='))) return pieces.join('');
  return Buffer.concat(pieces.map((piece) => Buffer.from(piece, 'base64'))).toString('base64');
}

/** A block of a whole answer. */
function addWhole(answer: Answer, at: number, block: Fields): void {
  const { toolUse, reasoningContent, citationsContent } = block;
  if (typeof block['text'] === 'string') addText(answer, block['text']);
  else if (isFields(toolUse)) {
    const call = startCall(answer, at, toolUse);
    if (toolUse['input'] !== undefined) addInput(answer, call, JSON.stringify(toolUse['input']));
  } else if (isFields(reasoningContent)) {
    addReasoning(answer, at, { ...fieldsOf(reasoningContent['redactedReasoning']), ...reasoningContent, ...fieldsOf(reasoningContent['reasoningText']) });
  } else if (isFields(citationsContent) && Array.isArray(citationsContent['content'])) {
    // wire: an answer with citations has its text one level down
    for (const part of citationsContent['content'] as unknown[]) addText(answer, text(fieldsOf(part)['text']));
  }
  endBlock(answer, at);
}

function addUsage(answer: Answer, report: unknown): void {
  // wire: a second `metadata` may come without usage
  if (!isFields(report)) return;
  answer.usage = toUsage(report, answer.usage);
  answer.out.push({ type: 'usage', usage: answer.usage });
}

function addFinish(answer: Answer, stopReason: unknown): void {
  if (answer.isFinished) return;
  for (const at of answer.blocks.keys()) endBlock(answer, at);
  answer.isFinished = true;
  const native = typeof stopReason === 'string' && stopReason !== '' ? stopReason : null;
  answer.out.push({ type: 'finish', choice: 0, reason: reasonOf(native, answer), native });
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

/** What a word that nobody has written down is likely to say. */
const likely: readonly (readonly [RegExp, FinishReason | 'error'])[] = [
  [/length|max|limit|exceeded/i, 'length_limit'],
  [/filter|guard|refus|block|safety/i, 'content_filter'],
  [/malformed|error|fail/i, 'error'],
];

function reasonOf(native: string | null, { calls, hasAnswer }: Answer): FinishReason {
  const word = native ?? 'end_turn';
  const reason = reasons.get(word) ?? likely.find(([pattern]) => pattern.test(word))?.[1] ?? 'completed';
  if (reason === 'error') throw new GatewayError('upstream_error', `The provider ended its answer with "${word.slice(0, 64)}".`);
  if (reason === 'completed' && calls > 0) return 'tool_calls';
  // a call that is the structured answer is none to the caller
  return reason === 'tool_calls' && calls === 0 && hasAnswer ? 'completed' : reason;
}
