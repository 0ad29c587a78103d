/** Joins the pieces of tool calls, and numbers the calls of one answer from 0, whichever numbers the provider uses. */
import type { Chunk } from '../../../core/chat.ts';
import { invalidAnswer } from '../../../core/wire/upstream-error.ts';
import type { Target } from '../../../core/wire/dialect.ts';
import { type Fields, fieldsOf, isFields, textOf } from '../../../core/wire/fields.ts';
import { objectIn } from '../../../core/wire/json.ts';
import { callIdFrom } from '../families/calls.ts';
import { detailBeside } from './details.ts';

interface Call {
  /** The provider's id, or an id made here if the call begins without one. */
  id: string | null;
  /** True if the id is the provider's. */
  hasOwnId: boolean;
  /** The provider's number of the call. */
  readonly wireIndex: number | null;
  /** The gateway's number of the call. Null until its name is known and its `tool-start` is sent. */
  index: number | null;
  /** The id that the caller has, once it has one. */
  given: string;
  name: string;
  /** Arguments that came before the name. */
  held: string;
  hasArguments: boolean;
}

/** The name and the text in a piece of a call. Null: it has no name. */
interface Said {
  readonly name: string | null;
  readonly text: string;
}

/** The calls of one choice, in the order of their first piece. */
export interface ToolCalls {
  readonly all: Call[];
  /** Null before the first call. */
  found: Found | null;
  last: Call | null;
  begun: number;
  /** Characters of the calls whose name has not come yet. */
  held: number;
}

/** The newest call of each id, each index, and each pair. cost: a look through all calls for each piece took a minute for 60,000 calls. */
interface Found {
  readonly byId: Map<string, Call>;
  readonly byIndex: Map<number, Call>;
  /** By the index and the id. */
  readonly byBoth: Map<string, Call>;
  /** The ids that callers have been given. */
  readonly given: Set<string>;
}

/** The choice of the calls, and the list that takes their chunks. Missing ids are made from `seed`, which is unique to the answer. */
interface ToolCallScope {
  readonly choice: number;
  readonly seed: string;
  readonly target: Target;
  readonly chunks: Chunk[];
}

/** safety: pieces of calls without a name give no chunks. If their events have text too, no other limit counts these pieces. */
const mostHeld = 1_048_576;
/** The size of a call besides its text and its id, in characters. */
const perCall = 200;

const heldBy = ({ id, held }: Call): number => perCall + (id?.length ?? 0) + held.length;

/** The empty state of a choice. */
export const newToolCalls = (): ToolCalls => ({ all: [], found: null, last: null, begun: 0, held: 0 });

const foundIn = (calls: ToolCalls): Found => (calls.found ??= { byId: new Map(), byIndex: new Map(), byBoth: new Map(), given: new Set() });

/** Reads the `tool_calls` of one delta or message. */
export function addToolCalls(calls: ToolCalls, wire: readonly unknown[], scope: ToolCallScope): void {
  for (const piece of wire) if (isFields(piece)) addPiece(calls, piece, scope);
}

/**
 * Ends all calls of a choice. A call without arguments gets `{}`. Throws if a call has no name.
 * safety: a call ends only with its answer. Arguments that parse may still be incomplete: `{}` may be followed by more.
 */
export function completeToolCalls(calls: ToolCalls, choice: number, chunks: Chunk[]): void {
  for (const call of calls.all) {
    if (call.index === null) throw invalidAnswer('a tool call without a name');
    if (!call.hasArguments) chunks.push({ type: 'tool-delta', choice, index: call.index, arguments: '{}' });
  }
}

function addPiece(calls: ToolCalls, piece: Fields, scope: ToolCallScope): void {
  const fields = fieldsOf(piece['function']);
  const name = textOf(fields['name']);
  const text = argumentsOf(fields['arguments']);
  // a server that fills in all fields gives an empty call beside a text
  if (name === null && text === '' && idOf(piece['id']) === null) return;
  const call = callOf(calls, piece, { name, text });
  calls.last = call;
  // wire: the name may come late, may be repeated, or may be "" in later pieces (Mistral, recorded 2026-08-20)
  if (call.name === '' && name !== null) call.name = name;
  if (call.index === null) {
    call.held += text;
    calls.held += text.length;
    if (call.name !== '') begin(calls, call, scope);
    else if (calls.held > mostHeld) throw invalidAnswer('tool calls without a name');
  } else if (text !== '') {
    addArguments(call, text, scope);
  }
  // safety: `extra_content` is not held for a call whose name has not come, because nothing would bound it
  if (call.index !== null && isFields(piece['extra_content'])) {
    scope.chunks.push({
      type: 'reasoning-detail',
      choice: scope.choice,
      detail: detailBeside(call.given, piece['extra_content'], scope.target),
    });
  }
}

/**
 * The call that a piece belongs to; a new one if none fits.
 * wire: servers number calls in different ways (recorded traffic, as of 2026-11). A piece with a known id belongs to that call. A piece
 * with an index belongs to the last call with this index, unless it brings a name and another id: that is a new call. Without an index
 * a new id is a new call. A piece without both belongs to the last call, unless it brings a name and that call has one.
 * wire: DeepSeek and GLM have given parallel calls one id (HKUDS/nanobot#3943, 2026-05), so a name with another index is a new call.
 */
function callOf(calls: ToolCalls, piece: Fields, said: Said): Call {
  const id = idOf(piece['id']);
  const hasName = said.name !== null;
  const index = typeof piece['index'] === 'number' ? piece['index'] : null;
  const found = foundIn(calls);
  const byId = id === null ? undefined : (found.byBoth.get(bothOf(index, id)) ?? found.byId.get(id));
  const isRepeated = hasName && index !== null && typeof byId?.wireIndex === 'number' && byId.wireIndex !== index;
  if (byId !== undefined && !isRepeated) return byId;
  const open = (index === null ? unnumbered(calls, id, hasName) : found.byIndex.get(index)) ?? null;
  if (open !== null && id === null && !isAnother(open, said)) return open;
  if (open !== null && id !== null && !(open.hasOwnId && hasName)) {
    if (open.id === null) {
      open.id = id;
      open.hasOwnId = true;
      calls.held += id.length;
      learn(found, open, id);
    }
    return open;
  }
  const call: Call = { id, hasOwnId: id !== null, wireIndex: index, index: null, given: '', name: '', held: '', hasArguments: false };
  calls.all.push(call);
  calls.held += heldBy(call);
  if (index !== null) found.byIndex.set(index, call);
  if (id !== null) learn(found, call, id);
  return call;
}

/**
 * wire: servers without ids have given parallel calls one index (huggingface/smolagents#1958, 2026-01; langchain-ai/langchain#40594,
 * 2026-09). Another name begins another call; so does a name with whole arguments, where the open call has some arguments.
 */
const isAnother = (open: Call, { name, text }: Said): boolean =>
  name !== null && !open.hasOwnId && open.name !== '' && (name !== open.name || (open.hasArguments && objectIn(text) !== null));

const bothOf = (index: number | null, id: string): string => `${index} ${id}`;

function learn({ byId, byBoth }: Found, call: Call, id: string): void {
  byId.set(id, call);
  byBoth.set(bothOf(call.wireIndex, id), call);
}

const unnumbered = ({ last }: ToolCalls, id: string | null, hasName: boolean): Call | null =>
  id === null && !(hasName && last?.name !== '') ? last : null;

/** wire: Mistral has sent the text "null" for no id (vercel/ai, packages/mistral, 2026-11). */
const idOf = (id: unknown): string | null => (typeof id === 'string' && id !== '' && id !== 'null' ? id : null);

/** The arguments as text. wire: some servers send an object (recorded traffic, as of 2026-11). */
function argumentsOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return isFields(value) ? JSON.stringify(value) : '';
}

function begin(calls: ToolCalls, call: Call, scope: ToolCallScope): void {
  const index = calls.begun++;
  calls.held -= heldBy(call);
  const { given } = foundIn(calls);
  const id = call.id === null || given.has(call.id) ? callIdFrom(`${scope.seed}/${scope.choice}/${index}`) : call.id;
  given.add(id);
  call.index = index;
  call.given = id;
  call.id ??= id;
  scope.chunks.push({ type: 'tool-start', choice: scope.choice, index, id, name: call.name });
  if (call.held !== '') addArguments(call, call.held, scope);
  call.held = '';
}

function addArguments(call: Call, text: string, { choice, chunks }: ToolCallScope): void {
  if (call.index === null) return;
  call.hasArguments = true;
  chunks.push({ type: 'tool-delta', choice, index: call.index, arguments: text });
}
