/**
 * Thought signatures: opaque state that sits on parts of an answer and must go back on those very parts. A detail says which
 * part it belongs to, so that the parts can be made again of a message's text and tool calls.
 */
import type { Message, ReasoningDetail, ToolCall } from '../../../core/chat.ts';

/** The word by which details of this wire know each other. */
const format = 'gemini';

/**
 * The part that a signature sits on. `call`: by the tool call's id. `text`: where it began and ended in the answer's text
 * (nowhere but at one place, if it was empty) and how many calls came before it. `image`: by its number.
 */
export type SignedPlace =
  | { readonly part: 'call'; readonly id: string }
  | { readonly part: 'text'; readonly start: number; readonly end: number; readonly calls: number }
  | { readonly part: 'image'; readonly image: number };

/** The issuer of a detail and its number within the answer. */
export interface Issue {
  readonly provider: string;
  readonly index: number;
}

export const signatureDetail = ({ provider, index }: Issue, place: SignedPlace, data: string): ReasoningDetail => ({ type: 'reasoning.encrypted', provider, format, index, ...place, data });

/** wire: a thought may be signed too; its text is part of what is signed. */
export const thoughtDetail = ({ provider, index }: Issue, text: string, signature: string): ReasoningDetail => ({ type: 'reasoning.text', provider, format, index, text, signature });

export interface SignedText {
  readonly start: number;
  readonly end: number;
  readonly calls: number;
  readonly signature: string;
}

export interface SignedThought {
  readonly text: string;
  readonly signature: string;
}

/** What one message brings back. */
export interface Signatures {
  readonly calls: ReadonlyMap<string, string>;
  readonly images: ReadonlyMap<number, string>;
  /** In the order of the answer. */
  readonly texts: readonly SignedText[];
  readonly thoughts: readonly SignedThought[];
}

/** Signatures that this provider issued; those of others, and what is not whole, stay behind. */
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
      else if (part === 'text' && typeof start === 'number' && typeof end === 'number') texts.push({ start, end, calls: typeof before === 'number' ? before : 0, signature: data });
    }
  }
  return { calls, images, texts, thoughts };
}

/** A piece of a message in the order of the answer: some of its text, or a call. */
export type Piece =
  | { readonly text: string; readonly signature: string | null }
  | { readonly call: ToolCall };

/** Cuts a message where its answer was cut: a signed text stands alone, with the calls that came before it in front. */
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
