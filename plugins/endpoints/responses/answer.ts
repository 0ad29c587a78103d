/**
 * An answer as output items. The pieces come in the order of the provider. A provider of this
 * form also says where its items begin and end (`native` chunks); for all others an item ends
 * where another kind of piece begins. Calls may come side by side, so several are open at a time.
 */
import type { Chunk, FinishReason, ReasoningDetail, Usage } from '../../../core/chat.ts';
import { type Fields, fieldsOf, isFields, listOf } from '../../../core/wire/fields.ts';
import { CallItem, type Emit, ForeignItem, isEventName, type OutputItem, TextItem, type Voice } from './output.ts';
import { form } from './parse.ts';
import { opaqueOf } from './thoughts.ts';
import { type CallName, runByCaller } from './tools.ts';

export interface AnswerParts {
  /** The id of the response without its prefix: those of the items are made from it. */
  readonly hex: string;
  /** The names of calls that this API shows in another way. */
  readonly names: ReadonlyMap<string, CallName>;
  /** Whether the caller wants `encrypted_content`. */
  readonly wantsState: boolean;
  /** Null: nobody reads a stream. */
  readonly emit: Emit | null;
}

export class Answer {
  readonly items: OutputItem[] = [];
  reason: FinishReason | null = null;
  usage: Usage | null = null;
  /** Fields of the response that the provider sent and the gateway does not write itself. */
  more: Fields = {};
  readonly #parts: AnswerParts;
  readonly #ids = new Set<string>();
  /** The text item that is open. */
  #text: TextItem | null = null;
  /**
   * Lists that came while no message was open, for the message that begins next, or else for the last one: a provider
   * may name its sources before it says anything, or after its calls. Null: none has come.
   */
  #early: (Chunk & { type: 'extra' })[] | null = null;
  /** The messages, and where the text of each begins in the whole text of the answer. */
  readonly #messages: { readonly item: TextItem; readonly from: number }[] = [];
  /** Characters of the whole text so far. */
  #length = 0;
  /** The calls, by the index of their chunks. */
  readonly #calls: CallItem[] = [];
  /** The calls that are whole and open. cost: a look at all calls, each time another item begins, would take quadratic time. */
  readonly #whole = new Set<CallItem>();
  /** Items of a provider of this form, by its own numbers. */
  readonly #native = new Map<unknown, OutputItem>();
  /** A call of a provider of this form that has begun and has no name yet. */
  #coming: { readonly at: unknown; readonly item: Fields } | null = null;
  #isNative = false;
  /** The kind of text of the thought that is open: its summary, or the thought itself. */
  #voice: Voice = 'summary_text';
  /** True: a new paragraph of a thought begins. The empty line between two paragraphs is part of neither. */
  #isNewPart = false;
  /** Thoughts without a text, which came while a text was open. */
  readonly #waiting: ReasoningDetail[] = [];

  constructor(parts: AnswerParts) {
    this.#parts = parts;
  }

  /** @param next the chunk after this one: the log probabilities of a text come behind it */
  add(chunk: Chunk, next?: Chunk): void {
    // a provider may give several answers, unasked or because of a field that this API does not know; this API has one
    if ('choice' in chunk && chunk.choice !== 0) return undefined;
    switch (chunk.type) {
      case 'text-delta':
        if (chunk.text !== '') this.#opened('message').say('output_text', chunk.text, logprobsIn(next));
        this.#length += chunk.text.length;
        return undefined;
      case 'refusal-delta':
        return this.#say('message', 'refusal', chunk.text);
      case 'reasoning-delta':
        return this.#think(chunk.text);
      case 'reasoning-detail':
        return this.#keep(chunk.detail);
      case 'tool-start':
        return this.#call(chunk);
      case 'tool-delta':
        return this.#give(this.#calls[chunk.index], chunk.arguments);
      case 'extra':
        return this.#extra(chunk);
      case 'native':
        return chunk.form === form ? this.#mark(chunk.name, fieldsOf(chunk.value)) : undefined;
      case 'finish':
        this.reason = chunk.reason;
        return undefined;
      case 'usage':
        this.usage = chunk.usage;
        return undefined;
      case 'vector':
        return undefined;
      default:
        return chunk satisfies never;
    }
  }

  /** Closes all items that are open. @param isCut the answer broke off: the last item is not complete */
  end(isCut: boolean): void {
    this.#text = this.items.findLast((item): item is TextItem => item instanceof TextItem && item.type === 'message') ?? null;
    if (this.#text !== null) this.#giveEarly();
    const last = this.items.findLast((item) => !isThought(item));
    for (const item of this.items) if (!item.isClosed) item.close(isCut && item === last ? 'incomplete' : 'completed');
    this.#flush();
  }

  #say(type: 'message' | 'reasoning', voice: Voice, words: string): void {
    if (words !== '') this.#opened(type).say(voice, words);
  }

  #opened(type: 'message' | 'reasoning'): TextItem {
    return this.#text?.type === type ? this.#text : this.#begin(type);
  }

  #think(words: string): void {
    const said = this.#isNewPart && words.startsWith('\n\n') ? words.slice(2) : words;
    this.#isNewPart = false;
    this.#say('reasoning', this.#text?.type === 'reasoning' ? this.#voice : 'summary_text', said);
  }

  /** A text item begins; the one before it ends, and so do the calls that are whole. */
  #begin(type: 'message' | 'reasoning', more: Fields = {}): TextItem {
    if (!this.#isNative) this.#endOthers();
    this.#voice = 'summary_text';
    const item = new TextItem(type, { ...this.#placeOf(type === 'message' ? 'msg' : 'rs'), more }, this.#parts.wantsState);
    this.items.push(item);
    this.#text = item;
    if (type === 'message') {
      this.#messages.push({ item, from: this.#length });
      this.#giveEarly();
    }
    return item;
  }

  #giveEarly(): void {
    const early = this.#early;
    this.#early = null;
    if (early !== null) for (const extra of early) this.#extra(extra);
  }

  #placeOf(prefix: string, id: string | null = null): { index: number; id: string; emit: Emit | null } {
    const index = this.items.length;
    const own = id === null || id === '' || this.#ids.has(id) ? `${prefix}_${this.#parts.hex}${index.toString(16).padStart(4, '0')}` : id;
    this.#ids.add(own);
    return { index, id: own, emit: this.#parts.emit };
  }

  #endOthers(): void {
    this.#text?.close('completed');
    this.#text = null;
    for (const call of [...this.#whole].sort((one, other) => one.index - other.index)) call.close('completed');
    this.#whole.clear();
    this.#flush();
  }

  /** State of a thought: of the one that is open, or of one without a text. */
  #keep(detail: ReasoningDetail): void {
    // a provider of this format gave the state with the end of its item
    if (this.#isNative) return;
    const thought = this.#text?.type === 'reasoning' ? this.#text : null;
    if (thought?.detail.takes(detail) === true) {
      if (thought.detail.take(detail)) this.#endOthers();
      return;
    }
    this.#waiting.push(detail);
    // an open text stays one item, even if other pieces come in between
    if (this.#text === null || thought !== null) this.#endOthers();
  }

  #flush(): void {
    for (const detail of this.#waiting.splice(0)) {
      const item = new TextItem('reasoning', { ...this.#placeOf('rs'), more: {} });
      this.items.push(item);
      item.opaque = opaqueOf(detail, []);
      item.close('completed');
    }
  }

  #call({ index, id, name }: Chunk & { type: 'tool-start' }): void {
    if (!this.#isNative) {
      this.#text?.close('completed');
      this.#text = null;
      this.#flush();
    }
    const coming = this.#coming;
    this.#coming = null;
    // a provider of this format uses the caller's names
    const isNamed = coming?.item['type'] === 'custom_tool_call';
    const known = this.#parts.names.get(name) ?? { type: isNamed ? 'custom_tool_call' : 'function_call', name, namespace: null };
    const item = new CallItem(
      { id, ...known },
      {
        ...this.#placeOf(prefixes[known.type]),
        more: { ...(known.namespace !== null && { namespace: known.namespace }), ...(coming !== null && unknownFields(coming.item)) },
      },
    );
    this.items.push(item);
    this.#calls[index] = item;
    if (coming !== null) this.#native.set(coming.at, item);
  }

  /** A piece that comes after the end of its call was sent, such as a blank, is dropped. */
  #give(call: CallItem | undefined, piece: string): void {
    if (call === undefined || call.isClosed) return;
    call.give(piece);
    if (call.isWhole) this.#whole.add(call);
  }

  #extra(chunk: Chunk & { type: 'extra' }): void {
    const { on, field, value } = chunk;
    if (this.#isNative) return;
    // the tier that served the request, which may be another one than it asked for
    if (on === 'reply' && field === 'service_tier') this.more = { ...this.more, [field]: value };
    // an answer may be images alone
    if (field === 'images' && this.#text?.type !== 'message') this.#begin('message');
    if (this.#text?.type !== 'message') {
      // safety: pieces of audio would fill the memory, and nothing joins them here
      if (field === 'logprobs' || (on === 'message' && Array.isArray(value))) (this.#early ??= []).push(chunk);
    } else if (field === 'logprobs') this.#text.addLogprobs(listOf(fieldsOf(value)['content']));
    else if (field === 'annotations') for (const annotation of listOf(value)) this.#cite(this.#text, flat(annotation));
    else if (on === 'message') this.#text.extend(field, value);
  }

  /**
   * Adds a citation to the message that has its text; one without a place, to the open message.
   * wire: a citation of chat completions counts its place in the whole text of the answer, one of this API in its message
   */
  #cite(open: TextItem, annotation: unknown): void {
    const { start_index: start, end_index: end } = fieldsOf(annotation);
    const cited = typeof start === 'number' ? this.#messages.findLast(({ from }) => from <= start) : undefined;
    if (cited === undefined || cited.from === 0) return (cited?.item ?? open).annotate(annotation);
    const place = { start_index: (start as number) - cited.from, ...(typeof end === 'number' && { end_index: end - cited.from }) };
    cited.item.annotate({ ...fieldsOf(annotation), ...place });
  }

  /** Handles a mark of a provider of this format. */
  #mark(name: string, value: Fields): void {
    this.#isNative = true;
    const { at } = value;
    const item = this.#native.get(at);
    // records of older versions do not say to which text these belong
    const text = item instanceof TextItem ? item : this.#text;
    switch (name) {
      case 'item':
        return item === undefined ? this.#nativeItem(value) : this.#focus(item);
      case 'part':
        return this.#nativePart(value['voice']);
      case 'logprobs':
        return text?.addLogprobs(listOf(value['logprobs']), value['place']);
      case 'annotation':
        return text?.type === 'message' ? text.annotate(value['annotation'], value['place']) : undefined;
      case 'event':
        return this.#event(item, fieldsOf(value['event']));
      case 'done':
        return this.#done(item, value);
      case 'response':
        this.more = value;
        return undefined;
      default:
        return undefined;
    }
  }

  #focus(item: OutputItem): void {
    if (item instanceof TextItem && !item.isClosed) this.#text = item;
  }

  #nativeItem({ at, item: given, isForeign }: Fields): void {
    const item = fieldsOf(given);
    const { type, id } = item;
    if (isForeign === true) {
      const prefix = runByCaller.get(type);
      const made = new ForeignItem(item, this.#placeOf(prefix ?? 'item', prefix === undefined && typeof id === 'string' ? id : null));
      this.items.push(made);
      this.#native.set(at, made);
    } else if (type === 'message' || type === 'reasoning') this.#native.set(at, this.#begin(type, unknownFields(item)));
    else this.#coming = { at, item };
  }

  #nativePart(voice: unknown): void {
    if (this.#text === null) return;
    if (this.#text.type === 'reasoning') {
      this.#voice = voice === 'reasoning_text' ? 'reasoning_text' : 'summary_text';
      this.#isNewPart = true;
      this.#text.begin(this.#voice);
    } else this.#text.begin(voice === 'refusal' ? 'refusal' : 'output_text');
  }

  #event(item: OutputItem | undefined, event: Fields): void {
    if (item instanceof ForeignItem) item.tell(event);
    else if (item === undefined && !('output_index' in event)) {
      const { type, sequence_number: _, ...more } = event;
      if (isEventName(type)) this.#parts.emit?.(type, JSON.stringify(more).slice(1, -1));
    }
  }

  #done(item: OutputItem | undefined, { item: whole, detail }: Fields): void {
    if (item === undefined) return;
    const fields = fieldsOf(whole);
    if (item instanceof ForeignItem) item.replace(fields);
    else (item as TextItem | CallItem).add(unknownFields(fields));
    if (item instanceof TextItem && item.type === 'reasoning' && isFields(detail)) {
      item.opaque = opaqueOf(detail as unknown as ReasoningDetail, item.texts);
    }
    item.close(fields['status'] === 'incomplete' ? 'incomplete' : 'completed');
    if (this.#text === item) this.#text = null;
  }
}

/** How the ids of calls begin. */
const prefixes = { function_call: 'fc', custom_tool_call: 'ctc', tool_search_call: 'tsc' } as const;

function logprobsIn(chunk: Chunk | undefined): readonly unknown[] {
  if (chunk?.type === 'extra' && chunk.field === 'logprobs') return listOf(fieldsOf(chunk.value)['content']);
  return chunk?.type === 'native' && chunk.form === form && chunk.name === 'logprobs' ? listOf(fieldsOf(chunk.value)['logprobs']) : [];
}

const isThought = (item: OutputItem): boolean => item instanceof TextItem && item.type === 'reasoning';

/** Fields of an item that the gateway writes itself. */
const written: ReadonlySet<string> = new Set([
  'id',
  'type',
  'status',
  'role',
  'content',
  'summary',
  'encrypted_content',
  'call_id',
  'name',
  'arguments',
  'input',
]);

const unknownFields = (item: Fields): Fields => Object.fromEntries(Object.entries(item).filter(([field]) => !written.has(field)));

/** wire: in this API the fields of a `url_citation` stand beside its type; chat completions has them in an object. */
function flat(annotation: unknown): unknown {
  if (!isFields(annotation)) return annotation;
  const { type, ...more } = annotation;
  const inner = typeof type === 'string' ? more[type] : undefined;
  return isFields(inner) ? { type, ...inner } : annotation;
}
