/** The items of one answer while it is read, and which of them an event is about. */
import { type Fields, fieldsOf, listOf, textOf } from '../../../core/wire/fields.ts';
import type { Target } from '../../../core/wire/dialect.ts';
import { invalidAnswer } from '../../../core/wire/upstream-error.ts';
import { type Call, type Calls, isCustomCall, newCall } from './calls.ts';
import { form } from './marks.ts';

export type ItemKind = 'message' | 'reasoning' | 'function_call' | 'other';

/** The types of items that a chat message has a place for. */
const itemKinds: ReadonlyMap<unknown, ItemKind> = new Map<unknown, ItemKind>([
  ['message', 'message'],
  ['reasoning', 'reasoning'],
  ['function_call', 'function_call'],
]);

/** An answer while it is read. */
interface OpenAnswer {
  readonly target: Target;
  readonly items: Items;
  readonly calls: Calls;
}

/** The kind of a wire item. A call of a custom tool is a call for callers of this API only; others declare no custom tools. */
export const kindOf = (item: Fields, { target, calls }: OpenAnswer): ItemKind =>
  itemKinds.get(item['type']) ?? (target.form === form && isCustomCall(item, calls.tools) ? 'function_call' : 'other');

/** An item of the answer while it is read. */
export interface OpenItem {
  readonly kind: ItemKind;
  /** Its place in the answer: its `output_index`, or the next free place where another item has that. */
  readonly at: number;
  /** The `output_index` of its events. */
  readonly index: unknown;
  readonly parts: Map<number, OpenPart>;
  readonly call: Call;
  /** The `call_id` of a call, as the provider first gave it. */
  callId: unknown;
  /** For reasoning: the voice that came first. The other voice repeats its text, and is not read. */
  voice: Voice | null;
  /** The complete item, from its `done` event or from the body. */
  whole: Fields | null;
}

/** One text of an item, and how much of it has been sent to the caller. */
export interface OpenPart {
  /** The place of its item. */
  readonly at: number;
  /** Its number among the parts of its item, in the order in which they began. */
  readonly place: number;
  readonly voice: Voice;
  sent: string;
  logprobs: number;
  annotations: number;
}

/** A kind of text: the type of its item, the index that its events have, and the chunk that it becomes. */
export interface Voice {
  readonly kind: ItemKind;
  readonly index: 'content_index' | 'summary_index';
  /** The field with the whole text. */
  readonly field: 'text' | 'refusal';
  readonly chunk: 'text-delta' | 'refusal-delta' | 'reasoning-delta';
  /** The type of its parts on the wire. */
  readonly part: string;
  /** Two voices of an item may use the same index; the slot keeps them apart. */
  readonly slot: 0 | 1;
}

/** safety: an item takes hundreds of bytes, and may say a single letter. */
const mostParts = 200_000;

/**
 * The items of one answer.
 * wire: they are found by `output_index`, because some hosts give an item a new id in each event (recorded
 * traffic, as of 2026-11). Other hosts give several items one index, often 0, or none (theopenco/llmgateway#2908,
 * tashfeenahmed/freellmapi#846, 2026-08), so an item is also told by its kind, and by what begins it.
 */
export class Items {
  readonly all: OpenItem[] = [];
  /** The newest item of each index, of each kind, and of each index and kind. */
  readonly #newest = new Map<number | string, OpenItem>();
  readonly #places = new Set<number>();
  #count = 0;

  /** Counts an item, or a part of one. Throws `upstream_invalid_response` where there are too many. */
  count(): void {
    if (++this.#count > mostParts) throw invalidAnswer(`an answer with more parts than ${mostParts}`);
  }

  /**
   * The newest item with this index and of this kind; without an index, the
   * newest of this kind. An item of the kind `other` fits each event of its index.
   */
  find(index: unknown, kind: ItemKind): OpenItem | undefined {
    if (typeof index !== 'number') return this.#newest.get(kind);
    const newest = this.#newest.get(index);
    return newest?.kind === 'other' || kind === 'other' ? newest : this.#newest.get(`${index} ${kind}`);
  }

  /** Adds an item. @param id the id of the answer, from which the ids of calls are made that the provider left out */
  add(index: unknown, kind: ItemKind, id: string): OpenItem {
    this.count();
    const at = typeof index === 'number' && !this.#places.has(index) ? index : this.#free();
    const item: OpenItem = { kind, at, index, parts: new Map(), call: newCall(`${id}/${at}`), callId: undefined, voice: null, whole: null };
    this.all.push(item);
    this.#places.add(at);
    this.#newest.set(kind, item);
    if (typeof index === 'number') this.#newest.set(index, item).set(`${index} ${kind}`, item);
    return item;
  }

  #free(): number {
    let place = this.all.length;
    while (this.#places.has(place)) place++;
    return place;
  }
}

/** Whether an event that begins or ends an item belongs to another item than the one that was found for it. */
export function isAnother(
  { kind, callId, whole }: OpenItem,
  event: { readonly kind: ItemKind; readonly item: Fields; readonly begins: boolean },
): boolean {
  const { call_id: id } = event.item;
  const hasEnded = whole !== null;
  const isOtherCall = kind === 'function_call' && id !== undefined && callId !== undefined && id !== callId;
  if (event.begins) return hasEnded || isOtherCall || kind !== event.kind;
  return hasEnded && (isOtherCall || (kind === 'message' && isOtherText(textIn(whole), textIn(event.item))));
}

const textIn = (message: Fields): string =>
  listOf(message['content'])
    .map(fieldsOf)
    .map(({ text, refusal }) => textOf(text) ?? textOf(refusal) ?? '')
    .join('');

/** The ids do not tell, because a host may end one message twice, under two ids. The second time it has the same text, or more of it. */
const isOtherText = (one: string, other: string): boolean => !one.startsWith(other) && !other.startsWith(one);

/**
 * The items whose end was not reported, each with its whole form from the final
 * output. They are matched by kind and order, if both lists have the same length.
 */
export function unended(answer: OpenAnswer, output: readonly unknown[]): readonly (readonly [OpenItem, Fields])[] {
  return Array.from(itemKinds.values()).flatMap((kind) => {
    const own = answer.items.all.filter((item) => item.kind === kind);
    if (own.every(({ whole }) => whole !== null)) return [];
    const told = output.map(fieldsOf).filter((item) => kindOf(item, answer) === kind);
    if (told.length !== own.length) return [];
    return own.map((item, at) => [item, told[at] as Fields] as const).filter(([{ whole }]) => whole === null);
  });
}
