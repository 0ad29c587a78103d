/** The items of an answer while it is written. Each piece adds to an open item; an item reports each of its changes to the stream. */
import { CustomInput } from '../../../core/wire/custom-tools/input.ts';
import { type Fields, textOf } from '../../../core/wire/fields.ts';
import { ObjectEnd } from '../../../core/wire/json.ts';
import { JoinedDetail } from '../../../core/wire/opaque.ts';
import { markOf, opaqueOf } from './thoughts.ts';
import type { CallName } from './tools.ts';

/** Writes an event of the stream. `fields` is JSON without its braces; the type and the number of the event are added. */
export type Emit = (type: string, fields: string) => void;

/** One item of the answer. */
export interface OutputItem {
  readonly index: number;
  readonly id: string;
  isClosed: boolean;
  /** The item as it is now; final once the item is closed. */
  readonly wire: Fields;
  /** Ends the item. @param status `completed`, or `incomplete` where the answer was cut */
  close(status: string): void;
}

/** Writes the event that an item has begun, or is done, with the item as it is now. */
function announce(emit: Emit | null, what: 'added' | 'done', item: OutputItem): void {
  emit?.(`response.output_item.${what}`, `"output_index":${item.index},"item":${JSON.stringify(item.wire)}`);
}

/** The fields that each event of an item has. */
const placeOf = (index: number, id: string): string => `"item_id":${JSON.stringify(id)},"output_index":${index}`;

interface Place {
  readonly index: number;
  readonly id: string;
  /** Null: nobody reads a stream. */
  readonly emit: Emit | null;
  /** Fields of the item that the provider sent and that are not known here. */
  readonly more: Fields;
}

/** The kinds of text in items, and the names of their events. */
const voices = {
  output_text: { field: 'text', at: 'content_index', list: 'content', part: 'response.content_part', text: 'response.output_text' },
  refusal: { field: 'refusal', at: 'content_index', list: 'content', part: 'response.content_part', text: 'response.refusal' },
  reasoning_text: { field: 'text', at: 'content_index', list: 'content', part: 'response.content_part', text: 'response.reasoning_text' },
  summary_text: {
    field: 'text',
    at: 'summary_index',
    list: 'summary',
    part: 'response.reasoning_summary_part',
    text: 'response.reasoning_summary_text',
  },
} as const;

export type Voice = keyof typeof voices;

interface OpenPart {
  readonly voice: Voice;
  readonly index: number;
  text: string;
  readonly annotations: unknown[];
  readonly logprobs: unknown[];
  /** cost: the part of each delta event that never changes, made once. */
  readonly opening: string;
}

const annotated = (voice: Voice): boolean => voice === 'output_text';

const wirePart = ({ voice, text, annotations, logprobs }: OpenPart): Fields => ({
  type: voice,
  ...(annotated(voice) && { annotations, logprobs }),
  [voices[voice].field]: text,
});

/** A message or a thought: a list of texts. */
export class TextItem implements OutputItem {
  readonly index: number;
  readonly id: string;
  readonly type: 'message' | 'reasoning';
  isClosed = false;
  /** `encrypted_content` of a thought. */
  opaque: string | null = null;
  /** The details of the thought so far. */
  readonly detail = new JoinedDetail();
  readonly #emit: Emit | null;
  readonly #place: string;
  readonly #marks: boolean;
  #more: Fields;
  #status = 'in_progress';
  #part: OpenPart | null = null;
  /** The last text of an answer that has begun. */
  #said: OpenPart | null = null;
  /** The texts of an answer, by their places. */
  readonly #saids = new Map<unknown, OpenPart>();
  /** Log probabilities that came before the text: of the tokens of a thought. Null: none. */
  #early: unknown[] | null = null;
  readonly #parts: { readonly list: 'content' | 'summary'; readonly part: Fields }[] = [];
  readonly #counts = { content: 0, summary: 0 };

  /** @param marks whether a thought without state gets a mark in place of the state */
  constructor(type: 'message' | 'reasoning', { index, id, emit, more }: Place, marks = false) {
    this.type = type;
    this.#marks = marks && type === 'reasoning';
    this.index = index;
    this.id = id;
    this.#emit = emit;
    this.#more = more;
    this.#place = placeOf(index, id);
    announce(emit, 'added', this);
  }

  get wire(): Fields {
    const open = this.#part === null ? [] : [{ list: voices[this.#part.voice].list, part: wirePart(this.#part) }];
    const listed = (list: 'content' | 'summary'): Fields[] =>
      [...this.#parts, ...open].flatMap((one) => (one.list === list ? [one.part] : []));
    if (this.type === 'message') {
      return { ...this.#more, id: this.id, type: 'message', status: this.#status, role: 'assistant', content: listed('content') };
    }
    const content = listed('content');
    return {
      ...this.#more,
      id: this.id,
      type: 'reasoning',
      summary: listed('summary'),
      ...(content.length > 0 && { content }),
      ...(this.opaque !== null && { encrypted_content: this.opaque }),
    };
  }

  /** The texts so far. */
  get texts(): readonly string[] {
    const done = this.#parts.map(({ part }) => textOf(part['text']));
    return [...done, textOf(this.#part?.text)].filter((text) => text !== null);
  }

  /**
   * Adds to the text of this kind; begins a part where none of the kind is open.
   * @param logprobs for the event of this piece; `addLogprobs` adds them to the part
   */
  say(voice: Voice, text: string, logprobs: readonly unknown[] = []): void {
    const part = this.#part?.voice === voice ? this.#part : this.begin(voice);
    part.text += text;
    if (this.#emit !== null) {
      this.#emit(
        `${voices[voice].text}.delta`,
        `${part.opening}${JSON.stringify(text)}${annotated(voice) ? `,"logprobs":${logprobs.length === 0 ? '[]' : JSON.stringify(logprobs)}` : ''}`,
      );
    }
  }

  begin(voice: Voice): OpenPart {
    this.#endPart();
    const { at, list, part: family } = voices[voice];
    const index = this.#counts[list]++;
    const isSaid = annotated(voice);
    const logprobs = (isSaid ? this.#early : null) ?? [];
    const part: OpenPart = { voice, index, text: '', annotations: [], logprobs, opening: `${this.#place},"${at}":${index},"delta":` };
    this.#part = part;
    if (isSaid) {
      [this.#said, this.#early] = [part, null];
      this.#saids.set(index, part);
    }
    this.#emit?.(`${family}.added`, `${this.#place},"${at}":${index},"part":${JSON.stringify(wirePart(part))}`);
    return part;
  }

  /** The text that is open; the last one of a closed message, because its lists may grow until the response ends. */
  get #open(): OpenPart | null {
    if (this.isClosed) return this.#said;
    return this.#part?.voice === 'output_text' ? this.#part : null;
  }

  /** Adds an annotation to the text at this place, or else to the open text; where no text is open, an empty one begins. */
  annotate(annotation: unknown, place?: unknown): void {
    const part = this.#saids.get(place) ?? this.#open ?? (this.isClosed ? null : this.begin('output_text'));
    if (part === null) return;
    this.#emit?.(
      'response.output_text.annotation.added',
      `${this.#place},"content_index":${part.index},"annotation_index":${part.annotations.length},"annotation":${JSON.stringify(annotation)}`,
    );
    part.annotations.push(annotation);
  }

  /** Adds log probabilities to the text at this place, or else to the open text. They come in a chunk of their own, behind the chunk with the text. */
  addLogprobs(logprobs: readonly unknown[], place?: unknown): void {
    const list = (this.#saids.get(place) ?? this.#open)?.logprobs ?? (this.#early ??= []);
    // safety: as arguments of one `push`, the log probabilities of a long answer would overflow the stack
    for (const one of logprobs) list.push(one);
  }

  /** Adds fields that are known when the item is complete. */
  add(more: Fields): void {
    this.#more = { ...this.#more, ...more };
  }

  /** A field that may come in several pieces: lists grow. */
  extend(field: string, value: unknown): void {
    const { [field]: before } = this.#more;
    if (!Array.isArray(value)) this.add({ [field]: value });
    // cost: the list is a copy of its own, and grows in place; a copy for each piece would take quadratic time
    else if (Array.isArray(before)) for (const one of value) before.push(one);
    else this.add({ [field]: Array.from(value) });
  }

  close(status: string): void {
    if (this.isClosed) return;
    this.#endPart();
    if (this.detail.whole !== null) this.opaque ??= opaqueOf(this.detail.whole, this.texts);
    if (this.#marks) this.opaque ??= markOf(this.texts);
    this.#status = status;
    this.isClosed = true;
    announce(this.#emit, 'done', this);
  }

  #endPart(): void {
    const part = this.#part;
    if (part === null) return;
    this.#part = null;
    const { at, field, list, part: family, text } = voices[part.voice];
    const whole = wirePart(part);
    this.#parts.push({ list, part: whole });
    const place = `${this.#place},"${at}":${part.index}`;
    this.#emit?.(
      `${text}.done`,
      `${place},"${field}":${JSON.stringify(part.text)}${annotated(part.voice) ? `,"logprobs":${JSON.stringify(part.logprobs)}` : ''}`,
    );
    this.#emit?.(`${family}.done`, `${place},"part":${JSON.stringify(whole)}`);
  }
}

type Call = Pick<CallName, 'type' | 'name'> & { readonly id: string };

/** The names of the events of a call's input, and the field with the whole input. A search has no such events. */
const inputs = {
  function_call: { event: 'response.function_call_arguments', field: 'arguments' },
  custom_tool_call: { event: 'response.custom_tool_call_input', field: 'input' },
  tool_search_call: null,
} as const;

/** A call of one of the caller's tools. */
export class CallItem implements OutputItem {
  readonly index: number;
  readonly id: string;
  isClosed = false;
  /** The arguments so far, as JSON. */
  arguments = '';
  readonly #end = new ObjectEnd();
  #isWhole: boolean | null = null;
  readonly #emit: Emit | null;
  readonly #call: Call;
  readonly #opening: string;
  readonly #place: string;
  #more: Fields;
  #status = 'in_progress';
  /** Null: the input is JSON. */
  readonly #custom: CustomInput | null;

  constructor(call: Call, { index, id, emit, more }: Place) {
    this.index = index;
    this.id = id;
    this.#call = call;
    this.#emit = emit;
    this.#more = more;
    this.#custom = call.type === 'custom_tool_call' ? new CustomInput() : null;
    this.#place = placeOf(index, id);
    this.#opening = `${this.#place},"delta":`;
    announce(emit, 'added', this);
  }

  get wire(): Fields {
    const { id: callId, name, type } = this.#call;
    const call = { ...this.#more, type, id: this.id, status: this.#status, call_id: callId };
    const input = inputs[type];
    if (input !== null) return { ...call, name, [input.field]: this.#custom?.text ?? this.arguments };
    return { ...call, execution: 'client', arguments: this.arguments === '' ? {} : (this.#value ?? this.arguments) };
  }

  /** The arguments; undefined where they are no whole JSON text. */
  get #value(): unknown {
    try {
      return JSON.parse(this.arguments);
    } catch {
      return undefined; // the rest has not come yet
    }
  }

  /** Whether the arguments are a complete JSON object, so that no more can come. */
  get isWhole(): boolean {
    return this.#end.isReached && (this.#isWhole ??= this.#value !== undefined);
  }

  give(piece: string): void {
    this.arguments += piece;
    this.#end.look(piece);
    const said = this.#custom === null ? piece : this.#custom.push(piece);
    if (said !== '') this.#delta(said);
  }

  add(more: Fields): void {
    this.#more = { ...this.#more, ...more };
  }

  close(status: string): void {
    if (this.isClosed) return;
    const last = this.#custom?.end(this.arguments) ?? '';
    if (last !== '') this.#delta(last);
    this.#status = status;
    this.isClosed = true;
    const input = inputs[this.#call.type];
    const name = this.#custom === null ? `"name":${JSON.stringify(this.#call.name)},` : '';
    if (input !== null) {
      this.#emit?.(`${input.event}.done`, `${this.#place},${name}"${input.field}":${JSON.stringify(this.#custom?.text ?? this.arguments)}`);
    }
    announce(this.#emit, 'done', this);
  }

  #delta(said: string): void {
    const input = inputs[this.#call.type];
    if (input !== null) this.#emit?.(`${input.event}.delta`, `${this.#opening}${JSON.stringify(said)}`);
  }
}

/** safety: the name of an event is written as it is, so it must hold no line break and no quote. */
export const isEventName = (type: unknown): type is string => typeof type === 'string' && /^[\w.]{1,128}$/.test(type);

/** An item that only a provider of this format makes, such as a search. It goes out unchanged, at its own place. */
export class ForeignItem implements OutputItem {
  readonly index: number;
  readonly id: string;
  isClosed = false;
  readonly #emit: Emit | null;
  #item: Fields;

  constructor(item: Fields, { index, id, emit }: Omit<Place, 'more'>) {
    this.index = index;
    this.id = id;
    this.#emit = emit;
    this.#item = item;
    announce(emit, 'added', this);
  }

  get wire(): Fields {
    return { ...this.#item, id: this.id };
  }

  /** Sends an event about the item, with the numbers that this stream uses for it. */
  tell(event: Fields): void {
    const { type, sequence_number: _, ...more } = event;
    if (isEventName(type)) {
      this.#emit?.(
        type,
        JSON.stringify({ ...more, output_index: this.index, ...('item_id' in more && { item_id: this.id }) }).slice(1, -1),
      );
    }
  }

  replace(item: Fields): void {
    this.#item = item;
  }

  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    announce(this.#emit, 'done', this);
  }
}
