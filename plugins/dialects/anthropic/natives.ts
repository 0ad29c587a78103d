/**
 * The parts of an answer that only the Messages API has, for callers who speak it:
 * blocks of tools that the provider runs, citations, and fields beside the content.
 */
import type { Chunk } from '../../../core/chat.ts';
import { unknownUsage } from '../../../core/chat.ts';
import type { Fields } from '../../../core/wire/fields.ts';
import { parseAnswer } from '../../../core/wire/json.ts';
import { form } from './form.ts';

/**
 * `block`: a whole content block. `citation`: of the text before it. `break`: the text before it and the text after it are two blocks.
 * `call`: fields of the call that follows.
 * `message`, `usage`: fields of the message and of its usage. `count`: the answer to a request that asks only for its number of tokens.
 */
export type NativeName = 'block' | 'citation' | 'break' | 'call' | 'message' | 'usage' | 'count';

const boundaries: ReadonlySet<NativeName> = new Set<NativeName>(['block', 'break']);

export const nativeChunk = (name: NativeName, value: unknown): Chunk => ({
  type: 'native',
  choice: 0,
  form,
  name,
  value,
  ...(boundaries.has(name) && { isBoundary: true as const }),
});

/** A block of a type that the gateway's chunks have no form for, while its deltas come. */
export interface GrowingBlock {
  wire: Fields;
  /** The input of a call so far, as JSON text. */
  input: string;
}

/** Adds a delta: its texts grow, and other values replace those before. */
export function grow(block: GrowingBlock, delta: Fields): void {
  const { type: _, partial_json: input, ...fields } = delta;
  if (typeof input === 'string') block.input += input;
  const grown = Object.entries(fields).map(([name, value]) => {
    const before = block.wire[name];
    return [name, typeof before === 'string' && typeof value === 'string' ? before + value : value] as const;
  });
  if (grown.length > 0) block.wire = { ...block.wire, ...Object.fromEntries(grown) };
}

/** The whole block. Input that is not JSON stays as it came at the start of the block. */
export function blockFrom({ wire, input }: GrowingBlock): Fields {
  if (input === '') return wire;
  try {
    return { ...wire, input: parseAnswer(input) };
  } catch {
    // the answer was cut inside the input
    return wire;
  }
}

/** Fields that the gateway's chunks have. */
const known = new Set(['id', 'type', 'role', 'model', 'content', 'stop_reason', 'usage', 'delta', 'index']);
const counted = new Set(['input_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens', 'output_tokens']);

const others = (fields: Fields, without: ReadonlySet<string>): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([name, value]) => !without.has(name) && value !== null));

/**
 * The fields beside the content. They are sent with the first piece and with
 * the end of the answer, because by themselves they do not begin an answer.
 */
export class Natives {
  #message: Fields = {};
  #usage: Fields = {};

  addMessage(fields: Fields): void {
    this.#message = { ...this.#message, ...others(fields, known) };
  }

  addUsage(report: Fields): void {
    this.#usage = { ...this.#usage, ...others(report, counted) };
  }

  get usage(): Fields {
    return this.#usage;
  }

  all(): readonly (readonly [NativeName, Fields])[] {
    const both = [
      ['message', this.#message],
      ['usage', this.#usage],
    ] as const;
    return both.filter(([, fields]) => Object.keys(fields).length > 0);
  }
}

/** The answer of the endpoint that counts tokens. The request costs nothing. */
export const countChunks = (body: Fields): readonly Chunk[] => [
  nativeChunk('count', body),
  { type: 'usage', usage: { ...unknownUsage, input: 0, answer: 0 } },
  { type: 'finish', choice: 0, reason: 'completed', native: null },
];
