/**
 * Carries thought signatures through the caller. A signature is opaque state on a part of an answer, and must go back on the same part
 * (wire: Gemini API: Thought signatures). A chat message has no parts, so a detail says which part its signature belongs to.
 */
import type { Message, ReasoningDetail, ToolCall } from '../../../core/chat.ts';

/** The `format` of the details of this dialect. */
const format = 'gemini';

/**
 * The part with a signature. `call`: the id of the tool call. `text`: where the part begins and ends in the text of the answer, in UTF-16
 * units (both are equal for an empty part), and how many calls come before it. `image`: the number of the image, from 0.
 */
export type SignedPlace =
  | { readonly part: 'call'; readonly id: string }
  | { readonly part: 'text'; readonly start: number; readonly end: number; readonly calls: number }
  | { readonly part: 'image'; readonly image: number };

/** Where a detail comes from: the id of the provider entry and the model that issued it, and its number in the answer. */
export interface DetailOrigin {
  readonly provider: string;
  readonly model: string;
  readonly index: number;
}

/** The `reasoning_details` entry of a signature. */
export const signatureDetail = ({ provider, model, index }: DetailOrigin, place: SignedPlace, data: string): ReasoningDetail => ({
  type: 'reasoning.encrypted',
  provider,
  format,
  model,
  index,
  ...place,
  data,
});

/**
 * The `reasoning_details` entry of a signed thought.
 * wire: the text belongs to what is signed, so the entry has it (Gemini API: Thought signatures).
 */
export const thoughtDetail = ({ provider, model, index }: DetailOrigin, text: string, signature: string): ReasoningDetail => ({
  type: 'reasoning.text',
  provider,
  format,
  model,
  index,
  text,
  signature,
});

/** The place and the signature of a text part. */
interface SignedText {
  readonly start: number;
  readonly end: number;
  readonly calls: number;
  readonly signature: string;
}

/** A thought and its signature. */
interface SignedThought {
  readonly text: string;
  readonly signature: string;
}

/** The signatures that one message brings back. */
interface Signatures {
  /** The signatures of tool calls, by the id of the call. */
  readonly calls: ReadonlyMap<string, string>;
  /** The signatures of images, by the number of the image. */
  readonly images: ReadonlyMap<number, string>;
  /** In the order of the answer. */
  readonly texts: readonly SignedText[];
  readonly thoughts: readonly SignedThought[];
}

/** Reads the signatures that this provider issued. Those of other providers, and incomplete ones, are left out. */
export function readSignatures({ reasoning_details: details }: Message, provider: string): Signatures {
  const calls = new Map<string, string>();
  const images = new Map<number, string>();
  const texts: SignedText[] = [];
  const thoughts: SignedThought[] = [];
  for (const detail of Array.isArray(details) ? (details as readonly ReasoningDetail[]) : []) {
    if (detail?.provider !== provider || detail['format'] !== format) continue;
    const { type, text, signature, data } = detail;
    if (type === 'reasoning.text') {
      if (typeof text === 'string' && typeof signature === 'string') thoughts.push({ text, signature });
    } else if (typeof data === 'string' && data !== '') {
      const { part, id, image, start, end, calls: before } = detail;
      if (part === 'call' && typeof id === 'string') calls.set(id, data);
      else if (part === 'image' && typeof image === 'number') images.set(image, data);
      else if (part === 'text' && typeof start === 'number' && typeof end === 'number') {
        texts.push({ start, end, calls: typeof before === 'number' ? before : 0, signature: data });
      }
    }
  }
  return { calls, images, texts, thoughts };
}

/** A piece of a message: some of its text, or a call. */
export type Piece = { readonly text: string; readonly signature: string | null } | { readonly call: ToolCall };

/** Cuts a message into the parts that the answer had. Each signed text is a part of its own, after the calls that came before it. */
export function inPieces(text: string, calls: readonly ToolCall[], signed: readonly SignedText[]): Piece[] {
  const pieces: Piece[] = [];
  let at = 0;
  let called = 0;
  const readTo = (end: number): string => {
    const start = at;
    at = Math.max(at, Math.min(end, text.length));
    return text.slice(start, at);
  };
  const callTo = (end: number): void => {
    for (; called < Math.min(end, calls.length); called++) pieces.push({ call: calls[called] as ToolCall });
  };
  for (const { start, end, calls: before, signature } of signed) {
    pieces.push({ text: readTo(start), signature: null });
    callTo(before);
    pieces.push({ text: readTo(end), signature });
  }
  pieces.push({ text: readTo(text.length), signature: null });
  callTo(calls.length);
  return pieces.filter((piece) => 'call' in piece || piece.text !== '' || piece.signature !== null);
}
