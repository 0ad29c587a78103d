/** Function calls of one answer: put together from their pieces, counted from 0, and taken out of the wrapper some come in. */
import { createHash } from 'node:crypto';
import type { Chunk } from '../../../core/chat.ts';
import { GatewayError } from '../../../core/errors.ts';

type Fields = Readonly<Record<string, unknown>>;

/** One `function_call` item. */
export interface Call {
  /** The provider's `call_id`, or made of `seed`. Its item id is another value, and no result may name it. */
  id: string;
  name: string;
  /** Arguments so far. */
  text: string;
  /** Counted from 0; null until it has begun, which it does with its name, a wrapper with its end. */
  index: number | null;
  isClosed: boolean;
  /** Names the item, for an id that the provider left out. */
  readonly seed: string;
}

export const newCall = (seed: string): Call => ({ id: '', name: '', text: '', index: null, isClosed: false, seed });

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);

/** The calls of one answer. Each step puts its chunks into `out`. */
export class Calls {
  /** How many have begun. */
  begun = 0;
  /** `tools` as the response repeats them. */
  tools: unknown = null;
  readonly #ids = new Set<string>();

  /** What an item or an event says of a call: its id and name, when they come. */
  describe(call: Call, { call_id: id, name }: Fields, out: Chunk[]): void {
    if (call.index !== null) return;
    if (call.id === '' && typeof id === 'string') call.id = id;
    if (call.name === '' && typeof name === 'string') call.name = name;
    if (call.name !== '' && !isWrapperName(call.name, this.tools)) this.#begin(call, out);
  }

  /** A piece of the arguments. */
  add(call: Call, piece: string, out: Chunk[]): void {
    if (piece === '' || call.isClosed) return;
    call.text += piece;
    if (call.index !== null) out.push({ type: 'tool-delta', choice: 0, index: call.index, arguments: piece });
  }

  /** The arguments as a whole: what of them has not come in pieces. */
  addRest(call: Call, whole: unknown, out: Chunk[]): void {
    const text = isFields(whole) ? JSON.stringify(whole) : whole;
    if (typeof text === 'string' && text.startsWith(call.text)) this.add(call, text.slice(call.text.length), out);
  }

  /** The end of a call. A wrapper becomes the calls inside it; no arguments at all mean `{}`. */
  close(call: Call, out: Chunk[]): void {
    if (call.isClosed) return;
    if (call.name === '') throw new GatewayError('upstream_invalid_response', 'The provider sent a function call without a name.');
    const inner = call.index === null ? unwrapped(call, this.tools) : null;
    if (inner !== null) {
      for (const one of inner) this.#begin(one, out);
      call.id = inner[0]?.id ?? call.id;
    } else {
      if (call.index === null) this.#begin(call, out);
      if (call.text === '') this.add(call, '{}', out);
    }
    call.isClosed = true;
  }

  #begin(call: Call, out: Chunk[]): void {
    const index = this.begun++;
    if (call.id === '' || this.#ids.has(call.id)) call.id = idFrom(`${call.seed}/${index}`);
    this.#ids.add(call.id);
    call.index = index;
    out.push({ type: 'tool-start', choice: 0, index, id: call.id, name: call.name });
    if (call.text !== '') out.push({ type: 'tool-delta', choice: 0, index, arguments: call.text });
  }
}

/** wire: ids of at most 64 characters are taken back. */
const idFrom = (seed: string): string => `call_${createHash('sha256').update(seed).digest('base64url').slice(0, 24)}`;

/**
 * wire: gpt-5.4 and its like sometimes call a tool `parallel` that nobody declared, whose arguments hold the real calls:
 * `{"tool_uses": [{"recipient_name": "functions.weather", "parameters": {…}}]}`.
 */
const isWrapperName = (name: string, tools: unknown): boolean => name === 'parallel' && !namesOf(tools).has('parallel');

const prefix = 'functions.';

/** The calls inside a wrapper; null where it is none, and then it goes out as it came. */
function unwrapped({ id, text, seed }: Call, tools: unknown): Call[] | null {
  const uses = usesOf(text);
  const names = namesOf(tools);
  const inner: Call[] = [];
  for (const [at, use] of uses.entries()) {
    if (!isFields(use)) return null;
    const { recipient_name: recipient, parameters } = use;
    if (typeof recipient !== 'string' || !recipient.startsWith(prefix) || !isFields(parameters)) return null;
    const name = recipient.slice(prefix.length);
    if (name === '' || (names.size > 0 && !names.has(name))) return null;
    inner.push({ ...newCall(seed), id: id === '' ? '' : `${id}_${at}`, name, text: JSON.stringify(parameters) });
  }
  return inner.length === 0 ? null : inner;
}

function usesOf(text: string): readonly unknown[] {
  try {
    const value: unknown = JSON.parse(text);
    return isFields(value) && Array.isArray(value['tool_uses']) ? (value['tool_uses'] as unknown[]) : [];
  } catch {
    // cut off by the length limit: nothing in it can be called
    return [];
  }
}

const namesOf = (tools: unknown): Set<unknown> => new Set(Array.isArray(tools) ? (tools as unknown[]).map((tool) => (isFields(tool) ? tool['name'] : null)) : []);
