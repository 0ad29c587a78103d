/** Joins the pieces of function calls, numbers the calls of one answer from 0, and takes calls out of the wrapper that some come in. */
import type { Chunk } from '../../../core/chat.ts';
import { invalidAnswer } from '../../../core/wire/upstream-error.ts';
import { type Fields, fieldsOf, isFields, listOf } from '../../../core/wire/fields.ts';
import { fieldsIn } from '../../../core/wire/json.ts';
import { callIdFrom } from '../families/calls.ts';

/** One `function_call` item. */
export interface Call {
  /** The provider's `call_id`, or an id made from `seed`. The id of the item is another value, which tool results must not name. */
  id: string;
  name: string;
  /** The arguments so far. */
  text: string;
  /** The gateway's number of the call, from 0. Null until its `tool-start` is sent: when its name is known, for a wrapper at its end. */
  index: number | null;
  isClosed: boolean;
  /** Unique to the item. An id that the provider left out is made from it. */
  readonly seed: string;
}

/** A call before anything is known of it. */
export const newCall = (seed: string): Call => ({ id: '', name: '', text: '', index: null, isClosed: false, seed });

/**
 * Whether an item is a call of a custom tool of the caller's. wire: xAI reports the steps of its own tools as calls of custom tools that
 * nobody declared (recorded traffic, as of 2026-11). @param tools of the request, which the response repeats
 */
export const isCustomCall = ({ type, name }: Fields, tools: unknown): boolean =>
  type === 'custom_tool_call' &&
  (!Array.isArray(tools) || listOf(tools).some((tool) => fieldsOf(tool)['type'] === 'custom' && fieldsOf(tool)['name'] === name));

/**
 * Adds a piece of a custom tool's input, which is plain text. Inside the gateway the
 * tool is a function with one parameter, so a piece of text becomes a piece of JSON.
 */
export const inputPiece = ({ text }: Call, piece: string): string =>
  `${text === '' ? inputStart : ''}${JSON.stringify(piece).slice(1, -1)}`;

/** The whole input as JSON; undefined where there is none. */
export const inputJson = (input: unknown): string | undefined => (typeof input === 'string' ? JSON.stringify({ input }) : undefined);

const inputStart = '{"input":"';

/** The calls of one answer. Each method adds its chunks to `out`. */
export class Calls {
  /** How many calls have begun. */
  begun = 0;
  /** The `tools` of the request, which the response repeats. */
  tools: unknown = null;
  readonly #ids = new Set<string>();

  /** Takes the id and the name of a call from an item or an event, if they are in it. */
  describe(call: Call, { call_id: id, name }: Fields, out: Chunk[]): void {
    if (call.index !== null) return;
    if (call.id === '' && typeof id === 'string') call.id = id;
    if (call.name === '' && typeof name === 'string') call.name = name;
    if (call.name !== '' && !isWrapperName(call.name, this.tools)) this.#begin(call, out);
  }

  /** Adds a piece of the arguments. */
  add(call: Call, piece: string, out: Chunk[]): void {
    if (piece === '' || call.isClosed) return;
    call.text += piece;
    if (call.index !== null) out.push({ type: 'tool-delta', choice: 0, index: call.index, arguments: piece });
  }

  /** Takes the whole arguments, and adds the part that has not come in pieces. */
  addRest(call: Call, whole: unknown, out: Chunk[]): void {
    const text = isFields(whole) ? JSON.stringify(whole) : whole;
    if (typeof text !== 'string') return;
    if (text.startsWith(call.text)) this.add(call, text.slice(call.text.length), out);
    // the two halves of a surrogate pair came in two pieces, and the whole text escapes them in another way
    else if (call.text.startsWith(inputStart) && !isJson(call.text)) this.add(call, '"}', out);
  }

  /** Ends a call. A wrapper becomes the calls inside it, and a call without arguments gets `{}`. Throws if the call has no name. */
  close(call: Call, out: Chunk[]): void {
    if (call.isClosed) return;
    if (call.name === '') throw invalidAnswer('a function call without a name');
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
    if (call.id === '' || this.#ids.has(call.id)) call.id = callIdFrom(`${call.seed}/${index}`);
    this.#ids.add(call.id);
    call.index = index;
    out.push({ type: 'tool-start', choice: 0, index, id: call.id, name: call.name });
    if (call.text !== '') out.push({ type: 'tool-delta', choice: 0, index, arguments: call.text });
  }
}

/**
 * True for a wrapper around several calls. wire: models like gpt-5.4 sometimes call a tool `parallel` that the caller did not declare, and
 * its arguments hold the real calls: `{"tool_uses": [{"recipient_name": "functions.weather", "parameters": {…}}]}`
 * (vercel/ai, packages/openai/src/responses/expand-parallel-tool-call.ts, 2026-11).
 */
const isWrapperName = (name: string, tools: unknown): boolean => name === 'parallel' && !namesOf(tools).has('parallel');

const prefix = 'functions.';

/** The calls inside a wrapper. Null if it does not have the form of one; the caller then gets it unchanged. */
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

/** Empty where the arguments were cut by the length limit: then no call can be read. */
const usesOf = (text: string): readonly unknown[] => listOf(fieldsIn(text)?.['tool_uses']);

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    // the text is not a whole JSON value
    return false;
  }
}

const namesOf = (tools: unknown): Set<unknown> => new Set(listOf(tools).map((tool) => fieldsOf(tool)['name']));
