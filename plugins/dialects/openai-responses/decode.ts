/**
 * Decodes answers of the Responses API into chunks. There is one record of state for each answer and one function for each type of
 * event. A whole body goes through the same functions, item by item. wire: events as in OpenAI: Responses, Streaming events.
 */
import type { Chunk, FinishReason } from '../../../core/chat.ts';
import type { Decoder, Target } from '../../../core/wire/dialect.ts';
import { GatewayError } from '../../../core/errors.ts';
import { type Fields, fieldsOf, isFields, listOf } from '../../../core/wire/fields.ts';
import { billed, eventIn, invalidAnswer } from '../../../core/wire/upstream-error.ts';
import { Calls, inputJson, inputPiece } from './calls.ts';
import { detailOf, type NextItem } from './details.ts';
import { isAnother, type ItemKind, Items, kindOf, type OpenItem, type OpenPart, unended, type Voice } from './items.ts';
import { form, Marks } from './marks.ts';
import { decodeAnswerError } from './error.ts';
import { isSearch, readUsage } from './usage.ts';

/** The state of one answer while it is read. */
interface AnswerState {
  readonly target: Target;
  readonly items: Items;
  readonly calls: Calls;
  readonly marks: Marks;
  id: string;
  hasReasoned: boolean;
  isOver: boolean;
  /** Chunks of the event that is being read. */
  out: Chunk[];
}

const text: Voice = { kind: 'message', index: 'content_index', field: 'text', chunk: 'text-delta', part: 'output_text', slot: 0 };
const refusal: Voice = { kind: 'message', index: 'content_index', field: 'refusal', chunk: 'refusal-delta', part: 'refusal', slot: 1 };
const summary: Voice = {
  kind: 'reasoning',
  index: 'summary_index',
  field: 'text',
  chunk: 'reasoning-delta',
  part: 'summary_text',
  slot: 0,
};
/** Open models send the thought itself, not a summary. */
const thought: Voice = {
  kind: 'reasoning',
  index: 'content_index',
  field: 'text',
  chunk: 'reasoning-delta',
  part: 'reasoning_text',
  slot: 1,
};

const noChunks: readonly Chunk[] = [];
const newAnswer = (target: Target): AnswerState => ({
  target,
  items: new Items(),
  calls: new Calls(),
  marks: new Marks(target.form),
  id: '',
  hasReasoned: false,
  isOver: false,
  out: [],
});

/** Makes the decoder of one stream. */
export function createDecoder(target: Target): Decoder {
  const answer = newAnswer(target);
  return {
    push(event) {
      // wire: OpenAI sends no `[DONE]` here, but some compatible servers do (OpenRouter: Responses API)
      if (answer.isOver || event.data === '' || event.data.startsWith('[DONE]')) return noChunks;
      const fields = eventIn(event, target, decodeAnswerError);
      const type = typeof fields['type'] === 'string' ? fields['type'] : event.event;
      if (type === 'error' || (type === undefined && fields['error'])) throw decodeAnswerError(fields, target);
      answer.out = [];
      (readers.get(type) ?? addEvent)(answer, fields);
      return answer.marks.released(answer.out);
    },
    end: () => noChunks,
    get done() {
      return answer.isOver;
    },
  };
}

/** Decodes a whole answer. Throws if the body is an error, which may come with status 200, or has no output, or is not finished. */
export function decodeBody(body: unknown, target: Target): readonly Chunk[] {
  if (!isFields(body)) throw invalidAnswer('a body that is not a JSON object');
  if (body['type'] === 'error') throw decodeAnswerError(body, target);
  if (!Array.isArray(body['output']) && !hasFailed(body)) throw invalidAnswer('an answer without output');
  if (body['status'] === 'in_progress' || body['status'] === 'queued') throw invalidAnswer('an answer that is not finished');
  const answer = newAnswer(target);
  addResponse(answer, body, 'completed');
  return answer.out;
}

type EventReader = (answer: AnswerState, event: Fields) => void;

const speak =
  (voice: Voice): EventReader =>
  (answer, event) => {
    const part = partOf(answer, event, voice);
    if (part === null) return;
    if (typeof event['delta'] === 'string') say(answer, part, event['delta']);
    addLogprobs(answer, part, event['logprobs']);
  };

/**
 * Reads the event at the end of a text, which has the whole text, and sends what has not been sent.
 * wire: the deltas of a short text may be missing (recorded traffic, as of 2026-11).
 */
const conclude =
  (voice: Voice): EventReader =>
  (answer, event) => {
    const part = partOf(answer, event, voice);
    if (part !== null) sayRest(answer, part, event);
  };

const readers = new Map<unknown, EventReader>([
  ['response.created', addHead],
  ['response.in_progress', addHead],
  ['response.output_item.added', (answer, event) => openItem(answer, event, { begins: true })],
  [
    'response.output_item.done',
    (answer, event) => completeItem(answer, openItem(answer, event, { begins: false }), fieldsOf(event['item'])),
  ],
  ['response.output_text.delta', speak(text)],
  ['response.output_text.done', conclude(text)],
  ['response.output_text.annotation.added', addAnnotation],
  ['response.refusal.delta', speak(refusal)],
  ['response.refusal.done', conclude(refusal)],
  ['response.reasoning_summary_text.delta', speak(summary)],
  ['response.reasoning_summary_text.done', conclude(summary)],
  ['response.reasoning_text.delta', speak(thought)],
  ['response.reasoning_text.done', conclude(thought)],
  // wire: the older name, which OpenRouter and early servers of gpt-oss use (recorded traffic, as of 2026-11)
  ['response.reasoning.delta', speak(thought)],
  ['response.function_call_arguments.delta', addCallPiece],
  ['response.function_call_arguments.done', addCallRest],
  ['response.custom_tool_call_input.delta', addInputPiece],
  ['response.custom_tool_call_input.done', addCallRest],
  ['response.completed', (answer, event) => addResponse(answer, fieldsOf(event['response']), 'completed')],
  // wire: xAI's name for the same event (vercel/ai, packages/xai, 2026-11)
  ['response.done', (answer, event) => addResponse(answer, fieldsOf(event['response']), 'completed')],
  ['response.incomplete', (answer, event) => addResponse(answer, fieldsOf(event['response']), 'incomplete')],
  ['response.failed', (answer, event) => addResponse(answer, fieldsOf(event['response']), 'failed')],
  ['response.cancelled', (answer, event) => addResponse(answer, fieldsOf(event['response']), 'cancelled')],
]);

function addHead(answer: AnswerState, event: Fields): void {
  const { id, tools } = fieldsOf(event['response']);
  if (typeof id === 'string') answer.id = id;
  if (tools !== undefined) answer.calls.tools = tools;
}

/** The kind of an item that is not known yet, as far as the event shows it. */
interface Kinded {
  readonly kind: ItemKind;
  readonly item?: Fields;
}

/** The item of an event. It is made if it is not known yet, because some hosts leave `output_item.added` out. */
const itemOf = (answer: AnswerState, { output_index: index }: Fields, wire: Kinded): OpenItem =>
  answer.items.find(index, wire.kind) ?? newItem(answer, index, wire);

function newItem(answer: AnswerState, index: unknown, wire: Kinded): OpenItem {
  const item = answer.items.add(index, wire.kind, answer.id);
  answer.marks.begin(item.at, wire.item ?? { type: wire.kind }, { isForeign: wire.kind === 'other', out: answer.out });
  return item;
}

function openItem(answer: AnswerState, event: Fields, { begins }: { readonly begins: boolean }): OpenItem {
  const wire = fieldsOf(event['item']);
  const kind = kindOf(wire, answer);
  const { output_index: index } = event;
  const found = answer.items.find(index, kind);
  const item = found === undefined || isAnother(found, { kind, item: wire, begins }) ? newItem(answer, index, { kind, item: wire }) : found;
  if (item.kind === 'function_call') {
    item.callId ??= wire['call_id'];
    answer.calls.describe(item.call, wire, answer.out);
  }
  return item;
}

/** Takes a complete item, and sends what has not come in pieces. */
function completeItem(answer: AnswerState, item: OpenItem, wire: Fields): void {
  item.whole = wire;
  switch (item.kind) {
    case 'message':
      for (const [at, content] of listOf(wire['content']).entries()) {
        if (isFields(content)) {
          sayRest(answer, partAt(answer, item, { index: at, voice: content['type'] === 'refusal' ? refusal : text }), content);
        }
      }
      break;
    case 'reasoning':
      addThoughts(answer, item, wire);
      break;
    case 'function_call':
      answer.calls.addRest(item.call, wire['arguments'] ?? inputJson(wire['input']), answer.out);
      answer.calls.close(item.call, answer.out);
      break;
    case 'other':
      // a tool that ran at the provider; the caller must not see it as a call
      break;
    default:
      item.kind satisfies never;
  }
  const detail = item.kind === 'reasoning' ? detailOf(wire, answer.target, { index: item.at }) : null;
  answer.marks.done(item.at, wire, { isForeign: item.kind === 'other', detail, out: answer.out });
}

function addThoughts(answer: AnswerState, item: OpenItem, wire: Fields): void {
  const parts = listOf(wire['summary']);
  const voice = item.voice ?? (parts.length > 0 ? summary : thought);
  item.voice = voice;
  for (const [at, part] of (voice === summary ? parts : listOf(wire['content'])).entries()) {
    if (isFields(part)) sayRest(answer, partAt(answer, item, { index: at, voice }), part);
  }
}

/** The text that an event belongs to. Null if the same reasoning is already sent in the other voice, or the item is of another kind. */
function partOf(answer: AnswerState, event: Fields, voice: Voice): OpenPart | null {
  const item = itemOf(answer, event, voice);
  if (item.kind !== voice.kind) return null;
  if (voice.kind === 'reasoning') {
    item.voice ??= voice;
    if (item.voice !== voice) return null;
  }
  const index = event[voice.index];
  return partAt(answer, item, { index: typeof index === 'number' ? index : 0, voice });
}

function partAt(
  answer: AnswerState,
  { parts, at }: OpenItem,
  { index, voice }: { readonly index: number; readonly voice: Voice },
): OpenPart {
  const key = index * 2 + voice.slot;
  const known = parts.get(key);
  if (known !== undefined) return known;
  answer.items.count();
  const part: OpenPart = { at, place: parts.size, voice, sent: '', logprobs: 0, annotations: 0 };
  parts.set(key, part);
  answer.marks.part(at, voice.part, answer.out);
  return part;
}

function say(answer: AnswerState, part: OpenPart, piece: string): void {
  if (piece === '') return;
  const type = part.voice.chunk;
  let said = piece;
  if (type === 'reasoning-delta') {
    // the parts of a summary are paragraphs, and the wire has no line breaks between them
    if (part.sent === '' && answer.hasReasoned) said = `\n\n${piece}`;
    answer.hasReasoned = true;
  }
  part.sent += piece;
  answer.marks.focus(part.at, answer.out);
  answer.out.push({ type, choice: 0, text: said });
}

function sayRest(answer: AnswerState, part: OpenPart, whole: Fields): void {
  const said = whole[part.voice.field];
  if (typeof said === 'string' && said.length > part.sent.length && said.startsWith(part.sent)) {
    say(answer, part, said.slice(part.sent.length));
  }
  addLogprobs(answer, part, listOf(whole['logprobs']).slice(part.logprobs));
  // wire: xAI sends annotations only with the whole text (vercel/ai, packages/xai, 2026-11)
  for (const annotation of listOf(whole['annotations']).slice(part.annotations)) annotate(answer, part, annotation);
}

function addLogprobs(answer: AnswerState, part: OpenPart, list: unknown): void {
  if (!Array.isArray(list) || list.length === 0) return;
  part.logprobs += list.length;
  answer.marks.logprobs(part, list as unknown[], answer.out);
  answer.out.push({ type: 'extra', choice: 0, on: 'choice', field: 'logprobs', value: { content: list as unknown[] } });
}

function addAnnotation(answer: AnswerState, event: Fields): void {
  const part = partOf(answer, event, text);
  if (part !== null) annotate(answer, part, event['annotation']);
}

/**
 * Sends an annotation. On chat completions a `url_citation` has its fields in
 * an object of its own; the other types exist only here, and go out unchanged.
 */
function annotate(answer: AnswerState, part: OpenPart, annotation: unknown): void {
  if (!isFields(annotation)) return;
  part.annotations++;
  const { type, ...fields } = annotation;
  const value = [type === 'url_citation' ? { type, url_citation: fields } : annotation];
  answer.marks.annotation(part, annotation, answer.out);
  answer.out.push({ type: 'extra', choice: 0, on: 'message', field: 'annotations', value });
}

function addCallPiece(answer: AnswerState, event: Fields): void {
  const item = itemOf(answer, event, { kind: 'function_call' });
  if (item.kind === 'function_call' && typeof event['delta'] === 'string') answer.calls.add(item.call, event['delta'], answer.out);
}

function addCallRest(answer: AnswerState, event: Fields): void {
  const item = itemOf(answer, event, { kind: 'function_call' });
  if (item.kind !== 'function_call') return;
  answer.calls.describe(item.call, event, answer.out);
  answer.calls.addRest(item.call, event['arguments'] ?? inputJson(event['input']), answer.out);
}

function addInputPiece(answer: AnswerState, event: Fields): void {
  const item = itemOf(answer, event, { kind: 'function_call', item: { type: 'custom_tool_call' } });
  if (item.kind !== 'function_call' || typeof event['delta'] !== 'string') return;
  answer.calls.add(item.call, inputPiece(item.call, event['delta']), answer.out);
}

/** An event about an item that only this API knows. */
function addEvent(answer: AnswerState, event: Fields): void {
  const { output_index: at } = event;
  const item = typeof at === 'number' ? answer.items.find(at, 'other') : undefined;
  if (item?.kind === 'other') answer.marks.event(item.at, event, answer.out);
}

const isFailed = (status: unknown): boolean => status === 'failed' || status === 'cancelled';

const hasFailed = ({ status, error }: Fields): boolean => isFailed(status) || Boolean(error);

/** Reads a whole response: the body of a plain answer, or the last event of a stream. `event` is the last word of the event's name. */
function addResponse(answer: AnswerState, response: Fields, event: string): void {
  const { status, output } = response;
  if (isFailed(event) || hasFailed(response)) throw billed(failureOf(response, answer.target), usageOf(answer, response));
  addHead(answer, { response });
  // wire: the final object may have other ids, and may leave items out (recorded traffic, as of
  // 2026-11). Its items are read only if no items came before, or for items that did not end
  if (answer.items.all.length === 0) {
    for (const [at, wire] of listOf(output).entries()) {
      completeItem(answer, openItem(answer, { output_index: at, item: wire }, { begins: true }), fieldsOf(wire));
    }
  } else for (const [item, wire] of unended(answer, listOf(output))) completeItem(answer, item, wire);
  for (const item of answer.items.all) if (item.kind === 'function_call') answer.calls.close(item.call, answer.out);
  addDetails(answer);
  answer.marks.response(response, answer.out);
  answer.out.push(...usageOf(answer, response));
  if (typeof response['service_tier'] === 'string') {
    answer.out.push({ type: 'extra', choice: 0, on: 'reply', field: 'service_tier', value: response['service_tier'] });
  }
  answer.isOver = true;
  const isCut = status === 'incomplete' || event === 'incomplete';
  const native = isCut ? incompleteWord(response) : 'completed';
  answer.out.push({ type: 'finish', choice: 0, reason: isCut ? reasonOfCut(native) : reasonOfWhole(answer), native });
}

const reasonOfWhole = ({ calls }: AnswerState): FinishReason => (calls.begun > 0 ? 'tool_calls' : 'completed');

/**
 * The usage that a response reports, with its searches. Nothing has read the items
 * of a whole body that has failed, so its searches are counted in its `output`.
 */
function usageOf({ items, target }: AnswerState, { usage: report, output }: Fields): Chunk[] {
  const wholes = items.all.length > 0 ? items.all.map(({ whole }) => whole) : listOf(output).map(fieldsOf);
  const searches = wholes.filter(isSearch).length;
  const usage = readUsage(fieldsOf(report), searches > 0 || target.form === form ? searches : undefined);
  return usage === null ? [] : [{ type: 'usage', usage }];
}

function failureOf(response: Fields, target: Target): GatewayError {
  if (response['error']) return decodeAnswerError(response, target);
  return new GatewayError('upstream_error', 'The provider ended its answer as failed and did not say why.');
}

function incompleteWord(response: Fields): string {
  const { reason } = fieldsOf(response['incomplete_details']);
  return typeof reason === 'string' ? reason : 'incomplete';
}

/** The reason of an incomplete answer. A word that no documentation lists counts as a length limit. */
const reasonOfCut = (native: string): FinishReason => (/filter|safety|policy|moderat/i.test(native) ? 'content_filter' : 'length_limit');

/**
 * Sends the reasoning items for the caller to keep. This happens at the end of the answer, because items may finish in another order, so
 * the item after each is not known before. Reasoning that no item follows is left out, because the provider would refuse it.
 */
function addDetails({ target, items, out }: AnswerState): void {
  const backwards = items.all.toSorted((first, second) => second.at - first.at);
  const kept: [whole: Fields, next: NextItem][] = [];
  let next: NextItem | null = null;
  for (const item of backwards) {
    if (item.kind !== 'reasoning') next = nextItemOf(item) ?? next;
    else if (item.whole !== null && next !== null) kept.push([item.whole, next]);
  }
  let index = 0;
  for (const [whole, next] of kept.toReversed()) {
    const detail = detailOf(whole, target, { index, ...next });
    if (detail === null) continue;
    index++;
    out.push({ type: 'reasoning-detail', choice: 0, detail });
  }
}

/**
 * How the message that the caller keeps names an item. Null if the message does not hold the item, such as a search that the provider made.
 */
function nextItemOf({ kind, call, parts, whole }: OpenItem): NextItem | null {
  if (kind === 'function_call') return { before: call.id };
  if (kind !== 'message' || ![...parts.values()].some(({ sent }) => sent !== '')) return null;
  const phase = whole?.['phase'];
  return { before: 'message', phase: typeof phase === 'string' ? phase : undefined };
}
