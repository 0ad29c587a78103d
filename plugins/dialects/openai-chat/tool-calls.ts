/** Puts the pieces of tool calls together and counts the calls of one answer from 0, whatever numbers the provider uses. */
import { createHash } from 'node:crypto';
import type { Chunk } from '../../../core/chat.ts';
import { GatewayError } from '../../../core/errors.ts';

interface Call {
  /** The provider's, or made when the call began without one. */
  id: string | null;
  hasOwnId: boolean;
  /** The provider's number. */
  readonly wireIndex: number | null;
  /** Ours; null until the call has a name and has begun. */
  index: number | null;
  name: string;
  /** Arguments that came before the name. */
  held: string;
  hasArguments: boolean;
}

/** The calls of one choice, in the order of their first piece. */
export interface ToolCalls {
  readonly all: Call[];
  last: Call | null;
  begun: number;
}

/** Where pieces come from and go to. `seed` names the answer, for ids that the provider left out. */
export interface ToolCallScope {
  readonly choice: number;
  readonly seed: string;
  readonly chunks: Chunk[];
}

type Fields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);

export const newToolCalls = (): ToolCalls => ({ all: [], last: null, begun: 0 });

/** Reads the `tool_calls` of one delta or message. */
export function addToolCalls(calls: ToolCalls, wire: readonly unknown[], scope: ToolCallScope): void {
  for (const piece of wire) if (isFields(piece)) addPiece(calls, piece, scope);
}

/** safety: a call never ends because its arguments happen to parse; it ends with the answer. No arguments at all mean `{}`. */
export function completeToolCalls(calls: ToolCalls, choice: number, chunks: Chunk[]): void {
  for (const call of calls.all) {
    if (call.index === null) throw new GatewayError('upstream_invalid_response', 'The provider sent a tool call without a name.');
    if (!call.hasArguments) chunks.push({ type: 'tool-delta', choice, index: call.index, arguments: '{}' });
  }
}

function addPiece(calls: ToolCalls, piece: Fields, scope: ToolCallScope): void {
  const fields = isFields(piece['function']) ? piece['function'] : {};
  const { name } = fields;
  const call = callOf(calls, piece, typeof name === 'string' && name !== '');
  calls.last = call;
  // wire: the name may come late, be repeated, or be "" in later pieces.
  if (call.name === '' && typeof name === 'string') call.name = name;
  const text = argumentsOf(fields['arguments']);
  if (call.index === null) {
    call.held += text;
    if (call.name !== '') begin(calls, call, scope);
  } else if (text !== '') {
    addArguments(call, text, scope);
  }
}

/**
 * wire: a new id is a new call even under an old index; without an id the index counts, and without both the last call,
 * unless the piece brings a name. An id that is late, or that changes under a call without a new name, opens nothing.
 */
function callOf(calls: ToolCalls, piece: Fields, hasName: boolean): Call {
  const id = idOf(piece['id']);
  const index = typeof piece['index'] === 'number' ? piece['index'] : null;
  const byId = id === null ? undefined : calls.all.find((call) => call.id === id);
  if (byId !== undefined) return byId;
  const open = index === null ? unnumbered(calls, id, hasName) : calls.all.findLast((call) => call.wireIndex === index);
  if (open !== undefined && open !== null && (id === null || !open.hasOwnId || !hasName)) {
    if (open.id === null && id !== null) {
      open.id = id;
      open.hasOwnId = true;
    }
    return open;
  }
  const call: Call = { id, hasOwnId: id !== null, wireIndex: index, index: null, name: '', held: '', hasArguments: false };
  calls.all.push(call);
  return call;
}

const unnumbered = ({ last }: ToolCalls, id: string | null, hasName: boolean): Call | null => (id === null && !(hasName && last?.name !== '') ? last : null);

/** wire: Mistral has written "null" for no id. */
const idOf = (id: unknown): string | null => (typeof id === 'string' && id !== '' && id !== 'null' ? id : null);

/** wire: some servers send arguments as an object. */
function argumentsOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return isFields(value) ? JSON.stringify(value) : '';
}

function begin(calls: ToolCalls, call: Call, scope: ToolCallScope): void {
  const index = calls.begun++;
  call.index = index;
  call.id ??= idFrom(`${scope.seed}/${scope.choice}/${index}`);
  scope.chunks.push({ type: 'tool-start', choice: scope.choice, index, id: call.id, name: call.name });
  if (call.held !== '') addArguments(call, call.held, scope);
  call.held = '';
}

/** wire: OpenAI takes ids of at most 40 characters back. */
const idFrom = (seed: string): string => `call_${createHash('sha256').update(seed).digest('base64url').slice(0, 24)}`;

function addArguments(call: Call, text: string, { choice, chunks }: ToolCallScope): void {
  if (call.index === null) return;
  call.hasArguments = true;
  chunks.push({ type: 'tool-delta', choice, index: call.index, arguments: text });
}
