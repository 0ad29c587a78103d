/** Encodes a conversation as `systemInstruction` and `contents`, in which user and model alternate. */
import type { Adjust } from '../../../core/wire/adjustments.ts';
import { objectIn } from '../../../core/wire/json.ts';
import type { ContentPart, Message, ToolCall } from '../../../core/chat.ts';
import type { Target } from '../../../core/wire/dialect.ts';
import { GatewayError } from '../../../core/errors.ts';
import { partsOf, type Turn, turnsOf, withPairedResults } from '../../../core/wire/turns.ts';
import { listOf, textOf } from '../../../core/wire/fields.ts';
import { argumentsIn } from '../families/calls.ts';
import { isVertex } from '../families/vertex.ts';
import { type ModelClass, refusesPrefill } from './models.ts';
import { encodePart, type PartWays, type WirePart } from './parts.ts';
import { inPieces, readSignatures } from './signatures.ts';

/** A turn of the wire. */
export interface Content {
  readonly role: 'user' | 'model';
  readonly parts: readonly WirePart[];
}

/** An encoded conversation. */
export interface Conversation {
  readonly system: readonly WirePart[];
  readonly contents: readonly Content[];
}

/** What the encoding of a message depends on. */
interface ContentWays {
  readonly target: Target;
  readonly model: ModelClass;
  readonly adjust: Adjust;
}

/**
 * wire: this value is for calls whose signature does not exist: another provider made
 * the call, or the client dropped the signature (Gemini API: Thought signatures, FAQ).
 */
const noSignature = 'skip_thought_signature_validator';

/** Encodes the messages of a request. Throws a GatewayError with the path of what the API cannot carry. */
export function encodeConversation(given: readonly Message[], ways: ContentWays): Conversation {
  const messages = withPairedResults(given, ways.adjust);
  const encoder = new ContentEncoder(messages, ways);
  if (messages.some(({ role, name }) => role !== 'tool' && name !== undefined)) ways.adjust('messages.name', 'dropped');
  // wire: a turn without parts is a 400 (Gemini API: error text "must include
  // at least one parts field"). A blocked answer in the history is such a turn
  const { system, turns } = turnsOf(messages.filter((message) => !isEmptyAnswer(message, ways.target.provider.account)));
  const instruction = system.map((part) => encoder.instruction(part));
  const isFirst = ways.model.lacksSystem === true && instruction.length > 0;
  const contents = withUsers(
    turns.map((turn) => encoder.turn(turn)),
    { ...ways, isBegun: isFirst },
  );
  if (contents.length > 0 && ways.model.lacksSystem !== true) return { system: instruction, contents };
  const [first, ...others] = contents;
  if (first?.role === 'user') return { system: [], contents: [{ role: 'user', parts: [...instruction, ...first.parts] }, ...others] };
  if (instruction.length > 0) return { system: [], contents: [{ role: 'user', parts: instruction }, ...contents] };
  if (contents.length > 0) return { system: [], contents };
  // wire: a request without a turn is a 400 (Gemini API: error text "contents is not specified")
  ways.adjust('messages', 'an empty user message filled in');
  return { system: [], contents: [dots] };
}

const dots: Content = { role: 'user', parts: [{ text: '…' }] };

/**
 * The turns, with a turn of the user before the first or behind the last one where the model takes no other.
 * wire: a conversation that begins with a call is a 400 (Gemini API: error text "function call turn comes immediately after a user turn"),
 * and clients that drop old turns send such a conversation. So is a single turn of the model ("single turn requests end with a user role":
 * microsoft/semantic-kernel#13262, 2025-10). `isBegun`: the instructions will be the first turn.
 */
function withUsers(
  contents: readonly Content[],
  { adjust, target, isBegun: hasBegun }: ContentWays & { readonly isBegun: boolean },
): readonly Content[] {
  const [first, ...others] = contents;
  const isBegun = hasBegun || first?.role !== 'model' || (others.length > 0 && !first.parts.some((part) => 'functionCall' in part));
  if (!isBegun) adjust('messages', 'a user message put first');
  const isEnded = contents.at(-1)?.role !== 'model' || !refusesPrefill(target);
  if (!isEnded) adjust('messages', 'a user message put last');
  return [...(isBegun ? [] : [dots]), ...contents, ...(isEnded ? [] : [dots])];
}

function isEmptyAnswer(message: Message, provider: string): boolean {
  if (message.role !== 'assistant') return false;
  if (saidIn(message).length > 0 || (message.tool_calls ?? []).length > 0 || imagesOf(message).some(isInline)) return false;
  const { texts, thoughts } = readSignatures(message, provider);
  return texts.length === 0 && thoughts.length === 0;
}

/** The parts of an earlier answer. A refusal that stands beside them is what the assistant said, too. */
const saidIn = (message: Message): readonly ContentPart[] => [
  ...partsOf(message),
  ...(textOf(message['refusal']) === null ? [] : [{ type: 'refusal', refusal: message['refusal'] }]),
];

/** The images of an earlier answer of any provider. */
const imagesOf = ({ images }: Message): readonly unknown[] => listOf(images);

const isInline = (image: unknown): image is ContentPart => {
  const { type, image_url: inner } = (image ?? {}) as { readonly type?: unknown; readonly image_url?: { readonly url?: unknown } | null };
  return type === 'image_url' && typeof inner?.url === 'string' && inner.url.startsWith('data:');
};

const joinedText = (parts: readonly ContentPart[], separator: string): string =>
  parts
    .map(({ text, refusal }) => text ?? refusal)
    .filter((words) => typeof words === 'string')
    .join(separator);

const isText = ({ type }: ContentPart): boolean => type === 'text' || type === 'refusal';

/** Encodes the turns in their order, and remembers the calls, which later results name. */
class ContentEncoder {
  readonly #messages: readonly Message[];
  readonly #ways: ContentWays;
  readonly #vertex: boolean;
  readonly #calls = new Map<string, { readonly name: string; readonly order: number }>();
  #order = 0;

  constructor(messages: readonly Message[], ways: ContentWays) {
    this.#messages = messages;
    this.#ways = ways;
    this.#vertex = isVertex(ways.target.provider);
  }

  instruction(part: ContentPart): WirePart {
    if (isText(part)) return this.#part(part);
    const param = `${this.#pathOf(part)}.type`;
    throw new GatewayError('unsupported_value', `"${param}" must be text: this provider takes no "${part.type}" in a system message.`, {
      param,
    });
  }

  turn(turn: Turn): Content {
    if (turn.role === 'assistant') return { role: 'model', parts: turn.messages.flatMap((message) => this.#answer(message)) };
    const parts = [...this.#results(turn.results), ...turn.parts.map((part) => this.#part(part))];
    if (parts.length > 0) return { role: 'user', parts };
    // wire: a turn without parts is a 400, and so is an empty text at many models (Gemini API: error text "it has an empty text parameter")
    this.#ways.adjust('messages', 'an empty user message filled in');
    return dots;
  }

  #part(part: ContentPart): WirePart {
    const ways: PartWays = {
      pathOf: () => this.#pathOf(part),
      isVertex: this.#vertex,
      adjust: this.#ways.adjust,
    };
    return encodePart(part, ways);
  }

  /** cost: the path is searched only for an error message. */
  #pathOf(part: ContentPart): string {
    for (const [at, { content }] of this.#messages.entries()) {
      const place = Array.isArray(content) ? content.indexOf(part) : -1;
      if (place >= 0) return `messages[${at}].content[${place}]`;
    }
    return 'messages';
  }

  #pathOfMessage(message: Message): string {
    return `messages[${this.#messages.indexOf(message)}]`;
  }

  /**
   * wire: results without an id are matched with calls by name, and by order if a name
   * repeats (Gemini API: Function calling). So results go out in the order of the calls.
   */
  #results(results: readonly Message[]): WirePart[] {
    const answers = results
      .map((message) => ({ message, call: this.#callOf(message) }))
      .sort((one, other) => one.call.order - other.call.order);
    const responses = answers.map(({ message, call }) => this.#response(message, call.name));
    // wire: `response` is a JSON object (Gemini API: Function calling), so images of a tool go after the responses, in the same turn
    const images = answers.flatMap(({ message }) => partsOf(message).filter((part) => !isText(part)));
    return [...responses, ...images.map((part) => this.#part(part))];
  }

  /** The call of a result. Each result has one: `withPairedResults` has made texts of the others. */
  #callOf({ tool_call_id: id = '' }: Message): { readonly name: string; readonly order: number } {
    return this.#calls.get(id) as { readonly name: string; readonly order: number };
  }

  #response(message: Message, name: string): WirePart {
    const text = joinedText(partsOf(message).filter(isText), '\n');
    const result = resultIn(text);
    // wire: the result of a failed call has the key `error` (Gemini API: FunctionResponse)
    const response = message['is_error'] === true ? { error: result ?? text } : (result ?? { output: text });
    return { functionResponse: { ...this.#id(message.tool_call_id), name, response } };
  }

  /**
   * wire: AI Studio matches calls and results by id if there is one (Gemini API:
   * generateContent); older versions of Vertex AI refuse the field (as of 2026-11).
   */
  #id(id: string | undefined): { readonly id?: string } {
    return this.#vertex || id === undefined ? {} : { id };
  }

  #answer(message: Message): WirePart[] {
    const { target, model } = this.#ways;
    const calls = message.tool_calls ?? [];
    const content = saidIn(message);
    const signed = readSignatures(message, target.provider.account);
    const thoughts = signed.thoughts.map(({ text, signature }): WirePart => ({ text, thought: true, thoughtSignature: signature }));
    const pieces = inPieces(joinedText(content, ''), calls, signed.texts).map((piece): WirePart => {
      if (!('call' in piece)) return withSignature({ text: piece.text }, piece.signature);
      const needed = model.needsSignatures === true && piece.call === calls[0] ? noSignature : null;
      return withSignature(this.#call(message, piece.call), signed.calls.get(piece.call.id) ?? needed);
    });
    const given = imagesOf(message);
    const inline = given.filter(isInline);
    if (inline.length < given.length) this.#ways.adjust('messages.images', 'dropped');
    const shown = [...content.filter((part) => !isText(part)), ...inline];
    const images = shown.map((part, at) => withSignature(this.#part(part), signed.images.get(at) ?? null));
    const firstCall = pieces.findIndex((piece) => 'functionCall' in piece);
    const lead = firstCall < 0 ? pieces : pieces.slice(0, firstCall);
    return [...thoughts, ...lead, ...images, ...pieces.slice(lead.length)];
  }

  #call(message: Message, call: ToolCall): WirePart {
    if (call.type !== 'function') {
      const param = `${this.#pathOfMessage(message)}.tool_calls[${(message.tool_calls ?? []).indexOf(call)}].type`;
      throw new GatewayError('unsupported_value', `"${param}" must be "function": this provider knows no other tool calls.`, { param });
    }
    const { name, arguments: text } = call.function;
    this.#calls.set(call.id, { name, order: this.#order++ });
    // wire: `args` is a google.protobuf.Struct (Gemini API: FunctionCall)
    return { functionCall: { ...this.#id(call.id), name, args: argumentsIn(text, this.#ways.adjust) } };
  }
}

const withSignature = (part: WirePart, thoughtSignature: string | null): WirePart =>
  thoughtSignature === null ? part : { ...part, thoughtSignature };

/**
 * The object in a tool's result, or null if the result must go out as text.
 * wire: `response` is a google.protobuf.Struct, whose numbers are doubles. A number of sixteen or more digits may lose some. A
 * `$ref` in it names a file beside it, and any other name is a 400: "does not match to a display_name" (vercel/ai#14369,
 * 2026-07). A tool gives one where it reads a JSON Schema or an OpenAPI document.
 */
const resultIn = (text: string): object | null => (/\d{16}|"\$ref"\s*:/.test(text) ? null : objectIn(text));
