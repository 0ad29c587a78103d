/**
 * Says where the items of an answer begin and end, for a caller who speaks this API too: `native` chunks beside the pieces that all callers
 * get. Marks are held back until the first piece, because until then another provider may still be asked.
 */
import type { Chunk } from '../../../core/chat.ts';
import type { Fields } from '../../../core/wire/fields.ts';

/** The name of this wire format (`ChatRequest.form`). */
export const form = 'responses';

const mark = (name: string, value: Fields): Chunk => ({ type: 'native', choice: 0, form, name, value, isBoundary: true });

/** Fields with texts, which come as pieces, and with state, which comes as a detail. */
const inPieces: ReadonlySet<string> = new Set(['content', 'summary', 'arguments', 'input', 'encrypted_content']);

const withoutTexts = (item: Fields): Fields => Object.fromEntries(Object.entries(item).filter(([field]) => !inPieces.has(field)));

/** The place of an item, and of a text among the parts of the item: what belongs to a text may come after other texts have begun. */
interface PartPlace {
  readonly at: number;
  readonly place: number;
}

/** The marks of one answer. Each method adds its chunks to `out`. */
export class Marks {
  readonly #isRead: boolean;
  /** The item to which the next pieces belong. */
  #at: number | null = null;
  #hasBegun = false;
  readonly #held: Chunk[] = [];

  /** @param caller the wire format of the caller; a caller of another format needs no marks */
  constructor(caller: string | undefined) {
    this.#isRead = caller === form;
  }

  begin(at: number, item: Fields, { isForeign, out }: { isForeign: boolean; out: Chunk[] }): void {
    this.#at = at;
    if (this.#isRead) out.push(mark('item', { at, ...(isForeign ? { item, isForeign } : { item: withoutTexts(item) }) }));
  }

  focus(at: number, out: Chunk[]): void {
    if (this.#at === at || !this.#isRead) return;
    this.#at = at;
    out.push(mark('item', { at }));
  }

  part(at: number, voice: string, out: Chunk[]): void {
    this.focus(at, out);
    if (this.#isRead) out.push(mark('part', { voice }));
  }

  annotation({ at, place }: PartPlace, annotation: unknown, out: Chunk[]): void {
    this.focus(at, out);
    if (this.#isRead) out.push(mark('annotation', { at, place, annotation }));
  }

  logprobs({ at, place }: PartPlace, logprobs: readonly unknown[], out: Chunk[]): void {
    this.focus(at, out);
    if (this.#isRead) out.push(mark('logprobs', { at, place, logprobs }));
  }

  done(at: number, item: Fields, { isForeign, detail, out }: { isForeign: boolean; detail: unknown; out: Chunk[] }): void {
    if (this.#isRead) out.push(mark('done', { at, item: isForeign ? item : withoutTexts(item), ...(detail !== null && { detail }) }));
  }

  event(at: number, event: Fields, out: Chunk[]): void {
    if (this.#isRead) out.push(mark('event', { at, event }));
  }

  /** The fields of the whole response that the gateway does not write itself. */
  response(response: Fields, out: Chunk[]): void {
    if (!this.#isRead) return;
    const more = Object.fromEntries(Object.entries(response).filter(([field, value]) => !written.has(field) && value !== null));
    if (Object.keys(more).length > 0) out.push(mark('response', more));
  }

  /** The chunks of an event that may go out now: none before the first piece of the answer. */
  released(out: Chunk[]): readonly Chunk[] {
    if (this.#hasBegun || !this.#isRead) return out;
    // safety: `push(...out)` would overflow the stack where the answer is long
    for (const chunk of out) this.#held.push(chunk);
    if (!out.some(isPiece)) return [];
    this.#hasBegun = true;
    return this.#held;
  }
}

/** A tool that a provider runs counts as a piece too. */
const isPiece = (chunk: Chunk): boolean => chunk.type !== 'native' || (chunk.value as Fields)['isForeign'] === true;

/** Fields of a response that the gateway writes itself: the model, the request, and how the answer ended. */
const written: ReadonlySet<string> = new Set([
  'id',
  'object',
  'created_at',
  'completed_at',
  'model',
  'status',
  'error',
  'incomplete_details',
  'output',
  'output_text',
  'usage',
  'store',
  'previous_response_id',
  'background',
  'conversation',
  'instructions',
  'tools',
  'tool_choice',
  'metadata',
  'prompt',
  'user',
]);
