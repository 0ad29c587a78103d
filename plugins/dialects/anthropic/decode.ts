/**
 * Decodes answers of the Messages API into chunks. There is one record of state for each stream and one function for each type of
 * event. A whole body goes through the same functions, block by block.
 * wire: events and blocks as in Anthropic: Streaming messages.
 */
import type { Chunk, FinishReason, ReasoningDetail } from '../../../core/chat.ts';
import type { Decoder, Target, WireEvent } from '../../../core/wire/dialect.ts';
import { type Fields, fieldsOf, isFields, listOf, textOf } from '../../../core/wire/fields.ts';
import { eventIn, invalidAnswer } from '../../../core/wire/upstream-error.ts';
import { answerTool } from '../families/answer-tool.ts';
import { callIdFrom } from '../families/calls.ts';
import { type BlockPlace, detailOf } from '../families/thinking-blocks.ts';
import { decodeAnswerError } from './error.ts';
import { form } from './form.ts';
import { blockFrom, countChunks, type GrowingBlock, grow, type NativeName, Natives, nativeChunk } from './natives.ts';
import { format } from './thinking.ts';
import { type Counts, readCounts, toUsage } from './usage.ts';

/** The state of one answer while it is read. */
interface AnswerState {
  readonly target: Target;
  /** The open blocks by their index on the wire, which counts blocks of every type. */
  readonly blocks: Map<unknown, OpenBlock>;
  counts: Counts | null;
  /** The id of the answer. If the provider gives a tool call no id, one is made from this. */
  id: string;
  /** The numbers of characters, of tool calls and of details so far. */
  text: number;
  calls: number;
  readonly callIds: Set<string>;
  details: number;
  stopReason: string | null;
  /** The fields of the answer that only the Messages API has. */
  readonly natives: Natives;
  /** True if the last block that was opened is a text. */
  isAfterText: boolean;
  hasSearched: boolean;
  /** True if the answer tool was called. */
  hasAnswer: boolean;
  hasBegun: boolean;
  isOver: boolean;
  /** Chunks of the event that is being read. */
  out: Chunk[];
}

/** `answer`: the call of the answer tool, whose input is the caller's structured answer. `spare`: a second call of it, which is ignored. */
type OpenBlock =
  | { readonly kind: 'text' }
  | { readonly kind: 'native'; readonly block: GrowingBlock }
  | { readonly kind: 'thinking'; readonly place: BlockPlace; text: string; signature: string }
  | { readonly kind: 'call'; readonly index: number; readonly input: unknown; hasArguments: boolean }
  | { readonly kind: 'answer' | 'spare'; readonly input: unknown; hasArguments: boolean };

const noChunks: readonly Chunk[] = [];

const newAnswer = (target: Target): AnswerState => ({
  target,
  blocks: new Map(),
  counts: null,
  id: '',
  text: 0,
  calls: 0,
  callIds: new Set(),
  details: 0,
  stopReason: null,
  natives: new Natives(),
  isAfterText: false,
  hasSearched: false,
  hasAnswer: false,
  hasBegun: false,
  isOver: false,
  out: [],
});

/** Makes the decoder of one stream. */
export function createDecoder(target: Target): Decoder {
  const answer = newAnswer(target);
  return {
    get done() {
      return answer.isOver;
    },
    push(event) {
      if (answer.isOver || event.data === '') return noChunks;
      const fields = parseEvent(event, target);
      const read = readers.get(fields['type']);
      if (read === undefined) return noChunks;
      answer.out = [];
      read(answer, fields);
      if (!answer.hasBegun) begin(answer);
      return answer.out;
    },
    end() {
      answer.out = [];
      onSilence(answer);
      return answer.out;
    },
  };
}

/**
 * Puts the fields of the usage directly before the first piece: the SDKs read some of these fields only at the
 * start of a message, and until the first piece another provider may still be asked.
 */
function begin(answer: AnswerState): void {
  const { out, natives, target } = answer;
  const first = out.findIndex(({ type }) => type !== 'usage');
  if (first < 0) return;
  answer.hasBegun = true;
  if (target.form === form && Object.keys(natives.usage).length > 0) out.splice(first, 0, nativeChunk('usage', natives.usage));
}

/** Decodes a whole answer. Throws if the body is an error, which some hosts send with status 200, or has no content. */
export function decodeBody(body: unknown, target: Target): readonly Chunk[] {
  if (!isFields(body)) throw invalidAnswer('a body that is not a JSON object');
  if (isError(body)) throw decodeAnswerError(body, target);
  const content = body['content'];
  if (content === undefined && typeof body['input_tokens'] === 'number') return countChunks(body);
  if (!Array.isArray(content)) throw invalidAnswer('an answer without content');
  const answer = newAnswer(target);
  readId(answer, body);
  readUsage(answer, body);
  answer.natives.addMessage(body);
  const blocks = (content as unknown[]).map(fieldsOf);
  // a model that is not forced to call the answer tool may write text before it; this text together with the JSON would not be valid JSON
  const isByTool = blocks.some(({ type, name }) => type === 'tool_use' && name === answerTool);
  for (const block of blocks) {
    if (isByTool && block['type'] === 'text') continue;
    openBlock(answer, 0, block);
    closeBlock(answer, 0);
  }
  readStop(answer, body);
  // a whole body is complete, even if it has no stop reason
  finish(answer, answer.stopReason);
  return answer.out;
}

function parseEvent(event: WireEvent, target: Target): Fields {
  const value = eventIn(event, target, decodeAnswerError);
  if (isError(value)) throw decodeAnswerError(value, target);
  return value;
}

const isError = (value: Fields): boolean => value['type'] === 'error' || (value['type'] === undefined && Boolean(value['error']));

type EventReader = (answer: AnswerState, event: Fields) => void;

const readers: ReadonlyMap<unknown, EventReader> = new Map<string, EventReader>([
  ['message_start', onMessageStart],
  ['content_block_start', (answer, event) => openBlock(answer, event['index'], fieldsOf(event['content_block']))],
  ['content_block_delta', onDelta],
  ['content_block_stop', (answer, event) => closeBlock(answer, event['index'])],
  ['message_delta', onMessageDelta],
  ['message_stop', onMessageStop],
  ['ping', onSilence],
]);

/**
 * wire: some proxies send a second `message_start` within one answer, which must not restart it
 * (recorded traffic, as of 2026-11). Its `output_tokens` is a placeholder, so it is ignored.
 */
function onMessageStart(answer: AnswerState, event: Fields): void {
  const message = fieldsOf(event['message']);
  readId(answer, message);
  answer.natives.addMessage(message);
  if (isFields(message['usage'])) readUsage(answer, { usage: { ...message['usage'], output_tokens: null } });
}

function readId(answer: AnswerState, message: Fields): void {
  if (answer.id === '' && typeof message['id'] === 'string') answer.id = message['id'];
}

function onMessageDelta(answer: AnswerState, event: Fields): void {
  readStop(answer, fieldsOf(event['delta']));
  answer.natives.addMessage(fieldsOf(event['delta']));
  answer.natives.addMessage(event);
  readUsage(answer, event);
}

function onMessageStop(answer: AnswerState): void {
  for (const at of answer.blocks.keys()) closeBlock(answer, at);
  answer.isOver = true;
  // wire: an answer without a stop reason was cut at the provider (recorded
  // traffic, as of 2026-11). Without a finish chunk the pipeline treats it as cut
  if (answer.stopReason !== null) finish(answer, answer.stopReason);
}

/**
 * A stop reason without `message_stop` ends the answer too, where nothing
 * else or only pings come after it; without a stop reason the answer was cut.
 * wire: some servers leave `message_stop` out (esengine/DeepSeek-Reasonix#8756, 2026-08),
 * and Anthropic has sent pings alone in its place (tombii/better-ccflare#307, 2026-07)
 */
function onSilence(answer: AnswerState): void {
  if (!answer.isOver && answer.stopReason !== null) onMessageStop(answer);
}

function readUsage(answer: AnswerState, event: Fields): void {
  if (!isFields(event['usage'])) return;
  answer.counts = readCounts(event['usage'], answer.counts);
  answer.natives.addUsage(event['usage']);
  // wire: `server_tool_use` is absent or null where no tool of the provider ran (Anthropic: Messages, usage)
  answer.out.push({
    type: 'usage',
    usage: toUsage(answer.counts, answer.hasSearched ? null : answer.target.form === form ? 0 : undefined),
  });
}

function readStop(answer: AnswerState, said: Fields): void {
  if (typeof said['stop_reason'] === 'string' && said['stop_reason'] !== '') answer.stopReason = said['stop_reason'];
}

/**
 * wire: tools of `server_tool_use` and `*_tool_result` blocks run at the provider,
 * so the caller must not see them as tool calls (Anthropic: Web search tool).
 */
function openBlock(answer: AnswerState, at: unknown, wire: Fields): void {
  closeBlock(answer, at);
  const isAfterText = answer.isAfterText;
  answer.isAfterText = wire['type'] === 'text';
  switch (wire['type']) {
    case 'text':
      if (isAfterText) addNative(answer, 'break', null);
      answer.blocks.set(at, { kind: 'text' });
      addText(answer, wire['text']);
      addCitations(answer, listOf(wire['citations']));
      break;
    case 'thinking': {
      const block = { kind: 'thinking' as const, place: placeOf(answer), text: '', signature: textOf(wire['signature']) ?? '' };
      answer.blocks.set(at, block);
      addThinking(answer, block, wire['thinking']);
      break;
    }
    case 'redacted_thinking':
      if (typeof wire['data'] === 'string') addDetail(answer, placeOf(answer), { data: wire['data'] });
      break;
    case 'tool_use':
      openCall(answer, at, wire);
      break;
    default:
      if (typeof wire['type'] === 'string') answer.blocks.set(at, { kind: 'native', block: { wire, input: '' } });
      if (wire['type'] === 'server_tool_use' && wire['name'] === 'web_search') addSearch(answer);
  }
}

/** The count of searches comes at the end of the answer. For an answer that breaks before its end, the count is not known. */
function addSearch(answer: AnswerState): void {
  answer.hasSearched = true;
  if (answer.counts !== null) answer.out.push({ type: 'usage', usage: toUsage(answer.counts, null) });
}

function addCitations(answer: AnswerState, citations: readonly unknown[]): void {
  for (const citation of citations) addNative(answer, 'citation', citation);
}

/** Only callers of the same format get the value, and the log keeps it only for them. */
function addNative(answer: AnswerState, name: NativeName, value: unknown): void {
  if (answer.target.form === form) answer.out.push(nativeChunk(name, value));
}

const placeOf = ({ text, calls }: AnswerState): BlockPlace => ({ text, calls });

function openCall(answer: AnswerState, at: unknown, wire: Fields): void {
  const { type: _, id, name, input, ...more } = wire;
  if (typeof name !== 'string' || name === '') throw invalidAnswer('a tool call without a name');
  if (name === answerTool) {
    answer.blocks.set(at, { kind: answer.hasAnswer ? 'spare' : 'answer', input, hasArguments: false });
    answer.hasAnswer = true;
    return;
  }
  const index = answer.calls++;
  // wire: Kimi's server of this API has given parallel calls one id (HKUDS/nanobot#4473, 2026-06)
  const own = typeof id === 'string' && id !== '' && !answer.callIds.has(id) ? id : callIdFrom(`${answer.id}/${index}/${name}`, 'toolu');
  answer.callIds.add(own);
  answer.blocks.set(at, { kind: 'call', index, input, hasArguments: false });
  // wire: the call names its caller (`caller`) and the set of its tool (`toolset_name`); the
  // client needs both to answer, and sends them back (anthropic-sdk-typescript 1.14, ToolUseBlock)
  if (Object.keys(more).length > 0) addNative(answer, 'call', { index, fields: more });
  answer.out.push({ type: 'tool-start', choice: 0, index, id: own, name });
}

function onDelta(answer: AnswerState, event: Fields): void {
  const delta = fieldsOf(event['delta']);
  const block = answer.blocks.get(event['index']);
  if (block?.kind === 'native') return grow(block.block, delta);
  switch (delta['type']) {
    case 'text_delta':
      addText(answer, delta['text']);
      break;
    case 'thinking_delta':
      addThinking(answer, block, delta['thinking']);
      break;
    case 'signature_delta':
      if (block?.kind === 'thinking') block.signature += textOf(delta['signature']) ?? '';
      break;
    case 'citations_delta':
      if (block?.kind === 'text') addCitations(answer, [delta['citation']]);
      break;
    case 'input_json_delta':
      addArguments(answer, block, delta['partial_json']);
      break;
    default:
  }
}

function addText(answer: AnswerState, text: unknown): void {
  if (typeof text !== 'string' || text === '') return;
  answer.text += text.length;
  answer.out.push({ type: 'text-delta', choice: 0, text });
}

function addThinking(answer: AnswerState, block: OpenBlock | undefined, text: unknown): void {
  if (typeof text !== 'string' || text === '') return;
  if (block?.kind === 'thinking') block.text += text;
  answer.out.push({ type: 'reasoning-delta', choice: 0, text });
}

/**
 * wire: translating proxies send the input of a second call to a block that never began (Wei-Shaw/sub2api#4294, 2026-07),
 * or without the number of its block (decolua/9router#2218, 2026-06). The answer is refused: the call would go out without its input.
 */
function addArguments(answer: AnswerState, block: OpenBlock | undefined, text: unknown): void {
  if (typeof text !== 'string' || text === '') return;
  if (block === undefined) throw invalidAnswer('a part of a tool call that has not begun');
  if ('hasArguments' in block) block.hasArguments = true;
  if (block.kind === 'answer') addText(answer, text);
  else if (block.kind === 'call') answer.out.push({ type: 'tool-delta', choice: 0, index: block.index, arguments: text });
}

/** Closes a block. A thinking block becomes a detail. A call without any delta gets the input that came with its start, or `{}`. */
function closeBlock(answer: AnswerState, at: unknown): void {
  const block = answer.blocks.get(at);
  if (block === undefined) return;
  answer.blocks.delete(at);
  if (block.kind === 'text') return;
  if (block.kind === 'native') addNative(answer, 'block', blockFrom(block.block));
  else if (block.kind === 'thinking') {
    // wire: a thinking block without its signature is refused later (Anthropic: Extended thinking), so it is not given to the caller
    if (block.signature !== '') addDetail(answer, block.place, { text: block.text, signature: block.signature });
  } else if (!block.hasArguments) addArguments(answer, block, JSON.stringify(block.input ?? {}));
}

function addDetail(answer: AnswerState, place: BlockPlace, state: Pick<ReasoningDetail, 'text' | 'signature' | 'data'>): void {
  answer.out.push({
    type: 'reasoning-detail',
    choice: 0,
    detail: detailOf(answer.target, { format, index: answer.details++, place, state }),
  });
}

const reasons = new Map<string, FinishReason>([
  ['end_turn', 'completed'],
  ['stop_sequence', 'completed'],
  ['pause_turn', 'completed'],
  ['compaction', 'completed'],
  ['tool_use', 'tool_calls'],
  ['max_tokens', 'length_limit'],
  ['model_context_window_exceeded', 'length_limit'],
  ['refusal', 'content_filter'],
]);

function finish(answer: AnswerState, native: string | null): void {
  for (const [name, fields] of answer.natives.all()) addNative(answer, name, fields);
  answer.out.push({ type: 'finish', choice: 0, reason: reasonOf(native, answer), native });
}

function reasonOf(native: string | null, { calls }: AnswerState): FinishReason {
  const reason = reasons.get(native ?? '') ?? 'completed';
  // a structured answer ends with `tool_use` although the caller declared no tool; some hosts end with `end_turn` after tool calls
  if (reason === 'completed' || reason === 'tool_calls') return calls > 0 ? 'tool_calls' : 'completed';
  return reason;
}
