/** A whole answer as a message: its pieces, in their order, as blocks. */
import type { Chunk, ReasoningDetail } from '../../../../core/chat.ts';
import type { ReplyHead } from '../../../../core/pipeline/door.ts';
import type { FoldedToolCall, Reply } from '../../../../core/pipeline/reply.ts';
import { fieldsOf } from '../../../../core/wire/fields.ts';
import { objectIn } from '../../../../core/wire/json.ts';
import { toOpaque } from '../../../../core/wire/opaque.ts';
import { ownNames } from '../parse/names.ts';
import { CallFields, Ending, idOf, isOurs } from './ending.ts';
import { Thought } from './thought.ts';

/** The JSON body of a plain reply. */
export function encodeMessage(reply: Reply, head: ReplyHead): string {
  const { finish, native, toolCalls } = reply.choice(0);
  const ending = new Ending();
  const content = new Content(toolCalls, ownNames(head.request));
  for (const piece of reply.pieces(0)) if (!ending.take(piece)) content.add(piece);
  ending.usage = reply.usage;
  ending.finish(finish, native);
  return JSON.stringify({
    id: idOf(head),
    type: 'message',
    role: 'assistant',
    model: head.model,
    content: content.blocks(),
    ...ending.delta,
    usage: ending.counts,
  });
}

interface Text {
  readonly type: 'text';
  text: string;
  citations?: unknown[];
}

/** The blocks of an answer. The last one may still grow. */
class Content {
  readonly #blocks: object[] = [];
  readonly #calls: readonly FoldedToolCall[];
  readonly #names: ReadonlyMap<string, string>;
  #thought: Thought | null = null;
  #text: Text | null = null;
  readonly #callFields = new CallFields();
  /**
   * State that came after a text.
   * wire: the last block of a message cannot be thinking (Anthropic: error text), so the state goes before the text where nothing follows.
   */
  #late: object[] = [];

  constructor(calls: readonly FoldedToolCall[], names: ReadonlyMap<string, string>) {
    this.#calls = calls;
    this.#names = names;
  }

  add(piece: Chunk): void {
    switch (piece.type) {
      case 'text-delta':
      case 'refusal-delta':
        this.#openText().text += piece.text;
        break;
      case 'reasoning-delta':
        this.#openThought().text += piece.text;
        break;
      case 'reasoning-detail':
        this.#addDetail(piece.detail);
        break;
      case 'tool-start':
        this.#push({
          type: 'tool_use',
          id: piece.id,
          name: this.#names.get(piece.name) ?? piece.name,
          input: inputOf(this.#calls[piece.index]?.arguments ?? ''),
          ...this.#callFields.of(piece.index),
        });
        break;
      default:
        if (isOurs(piece)) this.#addNative(piece.name, piece.value);
    }
  }

  blocks(): readonly object[] {
    this.#close();
    const last = this.#blocks.at(-1);
    // safety: a provider may send any number of signatures; as arguments of one call, some 120,000 overflow the stack
    return last === undefined || this.#late.length === 0 ? this.#blocks : [...this.#blocks.slice(0, -1), ...this.#late, last];
  }

  #openText(): Text {
    if (this.#text !== null) return this.#text;
    const text: Text = { type: 'text', text: '' };
    this.#push(text);
    this.#text = text;
    return text;
  }

  #openThought(): Thought {
    if (this.#thought !== null) return this.#thought;
    this.#close();
    this.#thought = new Thought();
    return this.#thought;
  }

  /** Adds the state of a thought: to the open thought, or, where no open thought takes it, as a block of its own without a text. */
  #addDetail(detail: ReasoningDetail): void {
    if (this.#thought?.takes(detail) !== true) this.#addState({ type: 'redacted_thinking', data: toOpaque(detail) });
    else if (this.#thought.take(detail)) this.#close();
  }

  #addState(block: object): void {
    const isAfterText = fieldsOf(this.#blocks.at(-1))['type'] === 'text';
    if (!isAfterText) return this.#push(block);
    this.#text = null;
    this.#late.push(block);
  }

  #addNative(name: string, value: unknown): void {
    if (name === 'block') this.#push(fieldsOf(value));
    else if (name === 'break') this.#close();
    else if (name === 'citation') (this.#openText().citations ??= []).push(value);
    else if (name === 'call') this.#callFields.take(value);
  }

  #push(block: object): void {
    this.#close();
    for (const late of this.#late) this.#blocks.push(late);
    this.#blocks.push(block);
    this.#late = [];
  }

  #close(): void {
    const thought = this.#thought;
    this.#thought = null;
    this.#text = null;
    if (thought !== null) this.#push({ type: 'thinking', thinking: thought.text, signature: thought.signature });
  }
}

/**
 * The input of a call is an object in this API. Any other text is wrapped:
 * for an empty object the client would run the tool without arguments.
 */
const inputOf = (text: string): object => (text.trim() === '' ? {} : (objectIn(text) ?? { arguments: text }));
