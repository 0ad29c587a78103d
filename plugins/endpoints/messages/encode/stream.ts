/**
 * Encodes a stream. The format has one open block at a time, and its blocks have an order. The pieces of parallel tool calls may come
 * mixed: then what belongs to a later block is held back until the block before it is whole.
 */
import type { Chunk, ReasoningDetail } from '../../../../core/chat.ts';
import type { GatewayError } from '../../../../core/errors.ts';
import type { Encoder, ReplyHead } from '../../../../core/pipeline/door.ts';
import { fieldsOf } from '../../../../core/wire/fields.ts';
import { ObjectEnd, objectIn } from '../../../../core/wire/json.ts';
import { toOpaque } from '../../../../core/wire/opaque.ts';
import { ownNames } from '../parse/names.ts';
import { CallFields, Ending, errorBody, idOf, isOurs } from './ending.ts';
import { Thought } from './thought.ts';

const event = (type: string, data: string): string => `event: ${type}\ndata: ${data}\n\n`;

/**
 * The open block. `input`: the arguments of a call so far. `isWhole`: null where it was not
 * computed. `isObject`: whether the arguments begin as an object; null: they have not begun.
 */
type Open =
  | { readonly kind: 'text' }
  | { readonly kind: 'thinking'; readonly thought: Thought }
  | {
      readonly kind: 'call';
      readonly call: number;
      input: string;
      readonly end: ObjectEnd;
      isWhole: boolean | null;
      isObject: boolean | null;
    };

/** The type of a delta, and the field with its text. */
const deltas = {
  text: ['text_delta', 'text'],
  thinking: ['thinking_delta', 'thinking'],
  call: ['input_json_delta', 'partial_json'],
} as const;

class StreamEncoder implements Encoder {
  readonly #head: ReplyHead;
  readonly #names: ReadonlyMap<string, string>;
  readonly #ending = new Ending();
  #hasBegun = false;
  /** The number of the open block, or of the next one. */
  #index = 0;
  #open: Open | null = null;
  /** cost: the part of a delta event that is the same for the whole block, serialised once */
  #opening = '';
  /** The chunks that follow the open call, in their order, without the pieces of arguments, which wait in `#pieces`. */
  #held: Chunk[] = [];
  /**
   * The place in `#held` of the next chunk.
   * cost: the chunks before it stay, because taking the first one out of a long list moves all others.
   */
  #next = 0;
  /** The pieces of the arguments of each call that waits, by the index of the call. */
  readonly #pieces = new Map<number, string[]>();
  /** State after a text, for clients that want the text last. It is sent if another block follows. */
  #late: Readonly<Record<string, unknown>>[] = [];
  #isAfterText = false;
  readonly #callFields = new CallFields();
  #out = '';

  constructor(head: ReplyHead) {
    this.#head = head;
    this.#names = ownNames(head.request);
  }

  chunks(chunks: readonly Chunk[]): string {
    this.#out = '';
    for (const chunk of chunks) {
      // a provider may give several answers, unasked or because of a field that this API does not know; this API has one
      if ('choice' in chunk && chunk.choice !== 0) continue;
      if (!this.#ending.take(chunk)) this.#add(chunk);
    }
    return this.#out;
  }

  end(): string {
    this.#out = '';
    this.#begin();
    this.#close();
    while (this.#isHolding) {
      this.#release();
      this.#close();
    }
    const { delta: ending, counts: usage } = this.#ending;
    // wire: this field alone is beside the delta (anthropic-sdk-typescript 1.12, BetaRawMessageDeltaEvent)
    const { context_management, ...delta } = ending;
    this.#out += event('message_delta', JSON.stringify({ type: 'message_delta', delta, usage, context_management }));
    this.#out += event('message_stop', '{"type":"message_stop"}');
    return this.#out;
  }

  error(error: GatewayError): string {
    return event('error', errorBody(error, this.#head.id));
  }

  #begin(): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    const message = {
      id: idOf(this.#head),
      type: 'message',
      role: 'assistant',
      model: this.#head.model,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { ...this.#ending.counts, output_tokens: 0 },
    };
    this.#out += event('message_start', JSON.stringify({ type: 'message_start', message }));
  }

  #add(chunk: Chunk): void {
    const open = this.#open;
    if (open?.kind === 'call') {
      if (chunk.type === 'tool-delta' && chunk.index === open.call) {
        this.#delta(open, chunk.arguments);
        if (!this.#isHolding || !isWhole(open)) return;
        this.#close();
        return this.#release();
      }
      if (!isWhole(open)) return this.#hold(chunk);
    }
    this.#write(chunk);
  }

  get #isHolding(): boolean {
    return this.#next < this.#held.length;
  }

  #hold(chunk: Chunk): void {
    if (chunk.type === 'tool-delta') return void this.#pieces.get(chunk.index)?.push(chunk.arguments);
    if (chunk.type === 'tool-start') this.#pieces.set(chunk.index, this.#pieces.get(chunk.index) ?? []);
    this.#held.push(chunk);
  }

  /**
   * Writes what is held, up to a call that is not whole.
   * cost: each chunk is taken once; to hold the rest anew behind each call would take quadratic time.
   */
  #release(): void {
    for (; this.#isHolding; this.#next++) {
      if (this.#open?.kind === 'call' && !isWhole(this.#open)) return;
      const chunk = this.#held[this.#next] as Chunk;
      this.#write(chunk);
      if (chunk.type === 'tool-start') this.#writePieces(chunk.index);
    }
    this.#held = [];
    this.#next = 0;
  }

  #writePieces(call: number): void {
    for (const piece of this.#pieces.get(call) ?? []) this.#delta(this.#open as Open, piece);
    this.#pieces.delete(call);
  }

  #write(chunk: Chunk): void {
    switch (chunk.type) {
      case 'text-delta':
      case 'refusal-delta':
        if (chunk.text !== '') this.#delta(this.#opened('text'), chunk.text);
        return;
      case 'reasoning-delta':
        if (chunk.text !== '') this.#delta(this.#opened('thinking'), chunk.text);
        return;
      case 'reasoning-detail':
        return this.#addDetail(chunk.detail);
      case 'tool-start':
        return this.#start(
          { kind: 'call', call: chunk.index, input: '', end: new ObjectEnd(), isWhole: null, isObject: null },
          JSON.stringify({
            type: 'tool_use',
            id: chunk.id,
            name: this.#names.get(chunk.name) ?? chunk.name,
            input: {},
            ...this.#callFields.of(chunk.index),
          }),
        );
      default:
        if (isOurs(chunk)) this.#addNative(chunk.name, chunk.value);
    }
  }

  #opened(kind: 'text' | 'thinking'): Open {
    if (this.#open?.kind !== kind) {
      if (kind === 'text') this.#start({ kind }, '{"type":"text","text":""}');
      else this.#start({ kind, thought: new Thought() }, '{"type":"thinking","thinking":"","signature":""}');
    }
    return this.#open as Open;
  }

  #start(open: Open, block: string): void {
    this.#close();
    this.#sendLate();
    this.#isAfterText = open.kind === 'text';
    this.#begin();
    const [type, field] = deltas[open.kind];
    this.#open = open;
    this.#opening = `event: content_block_delta\ndata: {"type":"content_block_delta","index":${this.#index},"delta":{"type":"${type}","${field}":`;
    this.#out += event('content_block_start', `{"type":"content_block_start","index":${this.#index},"content_block":${block}}`);
  }

  #delta(open: Open, text: string): void {
    let piece = text;
    if (open.kind === 'thinking') open.thought.text += text;
    else if (open.kind === 'call') {
      open.input += text;
      open.end.look(text);
      piece = inputPiece(open, text);
    }
    this.#out += `${this.#opening}${JSON.stringify(piece)}}}\n\n`;
  }

  /** Adds the state of a thought: to the open thought, or, where no open thought takes it, as a block of its own without a text. */
  #addDetail(detail: ReasoningDetail): void {
    if (this.#open?.kind === 'thinking' && this.#open.thought.takes(detail)) {
      if (this.#open.thought.take(detail)) this.#close();
      return;
    }
    const block = { type: 'redacted_thinking', data: toOpaque(detail) };
    if (this.#isAfterText && this.#head.request.door?.['text_last'] === true) this.#late.push(block);
    else this.#addBlock(block);
  }

  #sendLate(): void {
    const late = this.#late;
    this.#late = [];
    for (const block of late) this.#addBlock(block);
  }

  #addNative(name: string, value: unknown): void {
    if (name === 'block') this.#addBlock(fieldsOf(value));
    else if (name === 'break') this.#close();
    else if (name === 'citation') {
      this.#opened('text');
      this.#other({ type: 'citations_delta', citation: value });
    } else if (name === 'call') this.#callFields.take(value);
  }

  /**
   * A block that is whole.
   * wire: the input of a call comes as a delta, also where the provider runs the tool (Anthropic: Streaming messages)
   */
  #addBlock(block: Readonly<Record<string, unknown>>): void {
    this.#close();
    this.#sendLate();
    this.#isAfterText = false;
    this.#begin();
    const { input } = block;
    const isCall = typeof input === 'object' && input !== null;
    this.#out += event(
      'content_block_start',
      JSON.stringify({ type: 'content_block_start', index: this.#index, content_block: isCall ? { ...block, input: {} } : block }),
    );
    if (isCall) this.#other({ type: 'input_json_delta', partial_json: JSON.stringify(input) });
    this.#stop();
  }

  #other(delta: object): void {
    this.#out += event('content_block_delta', JSON.stringify({ type: 'content_block_delta', index: this.#index, delta }));
  }

  #close(): void {
    const open = this.#open;
    if (open === null) return;
    this.#open = null;
    if (open.kind === 'thinking') this.#other({ type: 'signature_delta', signature: open.thought.signature });
    else if (open.kind === 'call' && open.isObject === false) this.#other({ type: 'input_json_delta', partial_json: '"}' });
    this.#stop();
  }

  #stop(): void {
    this.#out += `event: content_block_stop\ndata: {"type":"content_block_stop","index":${this.#index++}}\n\n`;
  }
}

type OpenCall = Open & { readonly kind: 'call' };

/** A piece of the arguments as the client gets it: text that does not begin as an object is wrapped, as in a whole message. */
function inputPiece(open: OpenCall, text: string): string {
  const hasBegun = open.isObject !== null;
  if (!hasBegun && text.trim() !== '') open.isObject = text.trimStart().startsWith('{');
  if (open.isObject !== false) return text;
  return `${hasBegun ? '' : '{"arguments":"'}${JSON.stringify(text).slice(1, -1)}`;
}

const isWhole = (open: OpenCall): boolean => open.end.isReached && (open.isWhole ??= objectIn(open.input) !== null);

/** Makes the encoder of one stream. */
export const createEncoder = (head: ReplyHead): Encoder => new StreamEncoder(head);
