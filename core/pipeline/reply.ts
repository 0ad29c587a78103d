/** A whole answer, added up from its chunks: the reply to a caller who did not ask for a stream, and what the record keeps. */
import { finishReasons, mostChoices, mostInputs, unknownUsage } from '../chat.ts';
import type { Chunk, FinishReason, ReasoningDetail, Usage } from '../chat.ts';
import { invalidAnswer } from '../wire/upstream-error.ts';
import { isFields, kindOf } from '../wire/fields.ts';
import { isTooDeep } from '../wire/json.ts';
import type { GatewayError } from '../errors.ts';

export interface FoldedToolCall {
  readonly id: string;
  readonly name: string;
  arguments: string;
}

export interface FoldedChoice {
  text: string;
  reasoning: string;
  refusal: string;
  readonly details: ReasoningDetail[];
  readonly toolCalls: FoldedToolCall[];
  readonly extras: { on: 'choice' | 'message' | 'reply'; field: string; value: unknown }[];
  finish: FinishReason | null;
  native: string | null;
}

const newChoice = (): FoldedChoice => ({
  text: '',
  reasoning: '',
  refusal: '',
  details: [],
  toolCalls: [],
  extras: [],
  finish: null,
  native: null,
});

/** The reasoning text of all choices; null where there is none. */
export const reasoningOf = (choices: readonly Pick<FoldedChoice, 'reasoning'>[]): string | null =>
  choices.flatMap(({ reasoning }) => reasoning || []).join('\n\n') || null;

/**
 * The size of a tool call or a native piece besides its text, in characters;
 * a reasoning detail or an extra field counts as at least this many.
 */
const notText = 200;

/** safety: a provider may put any field into a detail, and any length into a list that is joined with the lists before it. */
const weightOf = (value: unknown): number => Math.max(notText, lengthOf(value));

/** Characters of a value as JSON. Throws `upstream_invalid_response` for one that is nested deeper than 512 levels. */
function lengthOf(value: unknown): number {
  const json = written(value);
  if (isTooDeep(json)) throw tooDeep();
  return json.length;
}

function written(value: unknown): string {
  try {
    return JSON.stringify(value) ?? '';
  } catch (cause) {
    throw cause instanceof RangeError ? tooDeep(cause) : cause;
  }
}

const tooDeep = (cause?: RangeError): GatewayError => invalidAnswer('an answer that is nested too deep', cause);

/** No request has more tokens of one kind, and no store has room for more. */
const mostTokens = 2 ** 31 - 1;

/** safety: a negative count would pay the caller's budget, and a part of a token has no price. */
const isImpossible = (count: unknown): boolean =>
  typeof count === 'number' && !(Number.isInteger(count) && count >= 0 && count <= mostTokens);

/** The usage, with null for a count that cannot be true. The log, the metrics, the limits and the cost all use these counts. */
const believable = (usage: Usage): Usage =>
  Object.values(usage).some(isImpossible)
    ? (Object.fromEntries(Object.entries(usage).map(([name, count]) => [name, isImpossible(count) ? null : count])) as unknown as Usage)
    : usage;

const reasons: ReadonlySet<unknown> = new Set(finishReasons);

/**
 * safety: a plugin may be JavaScript. A chunk with a wrong text would reach the
 * caller as broken JSON, and a count that is a text could not be put on record.
 */
function charactersOf(text: unknown): number {
  if (typeof text !== 'string') throw new TypeError(`a chunk has ${kindOf(text)} in place of its text`);
  return text.length;
}

const counts = Object.keys(unknownUsage);
const isOfCounts = (usage: unknown): boolean => isFields(usage) && counts.every((name) => typeof (usage[name] ?? 0) === 'number');

export class Reply {
  readonly choices: FoldedChoice[] = [];
  /** Vectors, in the order of the inputs. */
  readonly vectors: (readonly number[])[] = [];
  usage: Usage = unknownUsage;
  /** Characters of the answer so far. */
  size = 0;
  readonly #runs: Run[] = [];
  #answeredAt: number | null = null;
  /** Lists and objects of extra fields that this class has made, so it may add to them in place; null: there are none. */
  #grown: Set<object> | null = null;

  /** `performance.now()` of the first piece that is not thinking; null: none has come. */
  get answeredAt(): number | null {
    return this.#answeredAt;
  }

  choice(at: number): FoldedChoice {
    if (!(at < mostChoices)) throw new TypeError(`a chunk has the choice ${JSON.stringify(at)}, and not a number below ${mostChoices}`);
    while (this.choices.length <= at) this.choices.push(newChoice());
    return this.choices[at] as FoldedChoice;
  }

  /** Whether every answer that has begun has ended. */
  get finished(): boolean {
    return this.choices.length > 0 && this.choices.every((choice) => choice.finish !== null);
  }

  get isEmpty(): boolean {
    return this.choices.length === 0;
  }

  /** The pieces of an answer in their order; neighbours of one text are one piece. For wire formats whose answers are lists of blocks. */
  pieces(choice: number): Chunk[] {
    const runs = this.#runs.filter(({ first }) => first.choice === choice);
    // cost: read backwards, the end of each text's run is known; a search for it would take quadratic time
    const ends = new Map<string | number, number>();
    const pieces = runs.toReversed().map(({ first, from }) => {
      const text = textOf(first, this.choice(choice));
      if (text === null) return first;
      const piece = withText(first, text.slice(from, ends.get(nameOf(first))));
      ends.set(nameOf(first), from);
      return piece;
    });
    return pieces.toReversed();
  }

  /** Keeps the first piece of each run. cost: no other piece is kept, and the text itself is kept once, in the choice. */
  #note(chunk: Piece, choice: FoldedChoice): void {
    const last = this.#runs.at(-1);
    if (last !== undefined && isSameText(last.first, chunk)) return;
    if (this.#answeredAt === null && !isThought(chunk)) this.#answeredAt = performance.now();
    const from = textOf(chunk, choice)?.length ?? 0;
    // safety: an answer that changes between two kinds with each character takes more memory than its text
    if (from > 0) this.size += notText;
    this.#runs.push({ first: chunk, from });
  }

  #place({ at, vector }: Chunk & { type: 'vector' }): void {
    if (!(Number.isInteger(at) && at >= 0 && at < mostInputs)) {
      throw new TypeError(`a vector has the place ${JSON.stringify(at)}, and not a whole number below ${mostInputs}`);
    }
    if (this.vectors[at] !== undefined) throw new TypeError(`there are two vectors with the place ${at}`);
    this.vectors[at] = vector;
  }

  add(chunk: Chunk): void {
    if (chunk.type === 'usage') {
      if (!isOfCounts(chunk.usage)) throw new TypeError('a usage chunk has no counts, or a count that is not a number');
      this.usage = believable(chunk.usage);
      return;
    }
    const choice = this.choice(chunk.choice);
    if (isPiece(chunk)) this.#note(chunk, choice);
    switch (chunk.type) {
      case 'text-delta':
        this.size += charactersOf(chunk.text);
        choice.text += chunk.text;
        break;
      case 'reasoning-delta':
        this.size += charactersOf(chunk.text);
        choice.reasoning += chunk.text;
        break;
      case 'refusal-delta':
        this.size += charactersOf(chunk.text);
        choice.refusal += chunk.text;
        break;
      case 'reasoning-detail':
        if (!isFields(chunk.detail)) throw new TypeError(`a chunk has ${kindOf(chunk.detail)} in place of its detail`);
        choice.details.push(chunk.detail);
        this.size += weightOf(chunk.detail);
        break;
      case 'tool-start':
        choice.toolCalls[chunk.index] = { id: chunk.id, name: chunk.name, arguments: '' };
        this.size += notText + charactersOf(chunk.id) + charactersOf(chunk.name);
        break;
      case 'tool-delta': {
        const call = choice.toolCalls[chunk.index];
        this.size += charactersOf(chunk.arguments);
        if (call !== undefined) call.arguments += chunk.arguments;
        break;
      }
      case 'native':
        this.size += notText + lengthOf(chunk.value);
        break;
      case 'extra':
        this.size += addExtra(choice, chunk, (this.#grown ??= new Set()));
        break;
      case 'vector':
        this.#place(chunk);
        this.size += 4 * chunk.vector.length;
        break;
      case 'finish':
        if (!reasons.has(chunk.reason)) {
          throw new TypeError(`a finish chunk has the reason ${JSON.stringify(chunk.reason)}, and not one of: ${finishReasons.join(', ')}`);
        }
        choice.finish = chunk.reason;
        choice.native = chunk.native;
        break;
      default:
        throw new TypeError(`there is no chunk of the type ${JSON.stringify((chunk satisfies never as Chunk).type)}`);
    }
  }
}

type CallChunk = Extract<Chunk, { type: 'tool-start' | 'tool-delta' }>;

const isOfCall = (chunk: Chunk): chunk is CallChunk => chunk.type === 'tool-start' || chunk.type === 'tool-delta';

/**
 * Numbers the calls of each answer from 0, in the order in which they begin. Clients
 * take a number as a place in a list, so a number that is missing loses calls.
 */
export class CallNumbers {
  /** By the answer, and then by the number that the source or a plugin has left. */
  #given: Map<number, Map<number, number>> | null = null;

  /** The chunks with these numbers. The arguments of a call that has not begun are left out: a plugin has dropped the call. */
  numbered(chunks: readonly Chunk[]): readonly Chunk[] {
    // cost: most reads have no piece of a call
    return chunks.some(isOfCall) ? chunks.flatMap((chunk) => (isOfCall(chunk) ? (this.#numbered(chunk) ?? []) : chunk)) : chunks;
  }

  #numbered(chunk: CallChunk): Chunk | null {
    const index = this.#numberOf(chunk);
    if (index === undefined) return null;
    return index === chunk.index ? chunk : { ...chunk, index };
  }

  #numberOf({ type, choice, index }: CallChunk): number | undefined {
    this.#given ??= new Map();
    const given = this.#given.get(choice) ?? new Map<number, number>();
    if (type === 'tool-delta' || given.has(index)) return given.get(index);
    this.#given.set(choice, given.set(index, given.size));
    return given.get(index);
  }
}

/** A piece that is a part of what the model says. An `extra` is one only if it is an image. */
type Piece = Extract<Chunk, { readonly type: (typeof pieceTypes)[number] | 'extra' }>;

const pieceTypes = ['text-delta', 'reasoning-delta', 'refusal-delta', 'reasoning-detail', 'tool-start', 'tool-delta', 'native'] as const;
const arePieces: ReadonlySet<string> = new Set(pieceTypes);

const isPiece = (chunk: Chunk): chunk is Piece => arePieces.has(chunk.type) || (chunk.type === 'extra' && chunk.field === 'images');

const isThought = ({ type }: Piece): boolean => type === 'reasoning-delta' || type === 'reasoning-detail';

/** Pieces of one text, up to the next piece of another kind. */
interface Run {
  readonly first: Piece;
  /** Where the text of the run begins in the whole text of its kind. */
  readonly from: number;
}

/** The text to which a piece is added; null for a piece that is complete by itself. */
function textOf(piece: Piece, { text, reasoning, refusal, toolCalls }: FoldedChoice): string | null {
  switch (piece.type) {
    case 'text-delta':
      return text;
    case 'reasoning-delta':
      return reasoning;
    case 'refusal-delta':
      return refusal;
    case 'tool-delta':
      return toolCalls[piece.index]?.arguments ?? '';
    default:
      return null;
  }
}

/** The name of the text to which a piece is added: its kind, or the number of the tool call. */
const nameOf = (piece: Piece): string | number => (piece.type === 'tool-delta' ? piece.index : piece.type);

const isSameText = (one: Piece, other: Piece): boolean =>
  one.choice === other.choice && nameOf(one) === nameOf(other) && one.type.endsWith('-delta');

const withText = (piece: Piece, text: string): Chunk =>
  piece.type === 'tool-delta' ? { ...piece, arguments: text } : ({ ...piece, text } as Chunk);

/** wire: the words of an audio come in pieces, as its sound does (OpenAI: Chat, streaming). They are the only text of such an answer. */
const transcript = 'transcript';

/**
 * A later value of a field replaces the earlier one; lists, the inside of `logprobs` and the words of an audio grow. Returns about how
 * many characters this adds.
 */
function addExtra(choice: FoldedChoice, { on, field, value }: Chunk & { type: 'extra' }, grown: Set<object>): number {
  const before = choice.extras.find((extra) => extra.on === on && extra.field === field);
  if (before === undefined) {
    choice.extras.push({ on, field, value });
    return weightOf(value);
  }
  const growth = lengthOf(value) - replacedBy(before.value, value);
  before.value = joined(before.value, value, grown);
  return Math.max(notText, growth);
}

/** The characters that are dropped when a value is joined with an earlier one, such as those of the last piece of audio. */
function replacedBy(first: unknown, second: unknown): number {
  if (Array.isArray(first) && Array.isArray(second)) return 0;
  if (!isFields(first) || !isFields(second)) return lengthOf(first);
  return Object.entries(second).reduce(
    (sum, [field, value]) => sum + (Object.hasOwn(first, field) && field !== transcript ? replacedBy(first[field], value) : 0),
    0,
  );
}

/**
 * cost: lists that this class has made grow in place. Copying the `logprobs`
 * so far for each token would take quadratic time, 8 s for 40,000 tokens.
 */
function joined(first: unknown, second: unknown, grown: Set<object>): unknown {
  if (Array.isArray(first) && Array.isArray(second)) {
    const both = grown.has(first) ? (first as unknown[]) : [...(first as unknown[])];
    for (const value of second as unknown[]) both.push(value);
    grown.add(both);
    return both;
  }
  if (isFields(first) && isFields(second)) {
    const both: Record<string, unknown> = grown.has(first) ? first : { ...first };
    for (const [field, value] of Object.entries(second)) {
      const before = both[field];
      if (field === transcript && typeof before === 'string' && typeof value === 'string') both[field] = before + value;
      else both[field] = field in both ? joined(before, value, grown) : value;
    }
    grown.add(both);
    return both;
  }
  return second;
}
