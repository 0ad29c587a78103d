/** Estimates token counts from text, before a provider has counted, or where none will count. */
import { estimateTokenCount } from 'tokenx';
import type { ChatRequest, ContentPart, Message } from '../chat.ts';
import { partsOf } from './turns.ts';

/** The tokens that a message takes besides its text: its role and its markers. */
export const tokensPerMessage = 4;

// cost: several plugins ask for the same prompt; a request is frozen, so the estimate stays right
const known = new WeakMap<ChatRequest, number | null>();

/**
 * The tokens of a prompt with its tools and the schema of its answer; null where it has a part that is no text:
 * only the provider knows how many tokens an image, a sound or a file takes.
 */
export function promptEstimate(request: ChatRequest): number | null {
  const before = known.get(request);
  if (before !== undefined) return before;
  const tokens = estimateOf(request);
  known.set(request, tokens);
  return tokens;
}

function estimateOf(request: ChatRequest): number | null {
  const { ask, messages } = request;
  if (ask?.kind === 'embeddings') {
    return ask.inputs.reduce((sum, input) => sum + (typeof input === 'string' ? tokensIn([input]) : input.length), 0);
  }
  const texts = messages.flatMap(partsOf).map(textOfPart);
  if (texts.includes(null)) return null;
  return tokensOf(request, texts);
}

const tokensOf = (request: ChatRequest, texts: readonly (string | null)[]): number =>
  tokensIn([
    ...texts,
    ...request.messages.flatMap(callsOf),
    ...(request.tools ?? []).map((tool) => JSON.stringify(tool)),
    schemaOf(request),
  ]) +
  tokensPerMessage * request.messages.length;

/**
 * The schema of the answer as text; null where there is none.
 * safety: a model reads it, so a caller could write the prompt there, and it would not be counted.
 */
export const schemaOf = ({ responseFormat }: Pick<ChatRequest, 'responseFormat'>): string | null =>
  responseFormat?.json_schema === undefined ? null : JSON.stringify(responseFormat.json_schema);

/** The tokens of a prompt without its images, sounds and files: the real count is this or more. */
export const textEstimate = (request: ChatRequest): number =>
  promptEstimate(request) ?? tokensOf(request, request.messages.flatMap(partsOf).map(textOfPart));

/** The text of a part; null where the part is not a text. */
export function textOfPart({ type, text, refusal }: ContentPart): string | null {
  const said = type === 'refusal' ? refusal : text;
  return typeof said === 'string' ? said : null;
}

const callsOf = ({ tool_calls: calls = [] }: Message): string[] =>
  calls.flatMap(({ function: { name: called, arguments: given } }) => [called, given]);

/** The number of characters of a long text that are counted, in pieces that are spread over the whole text. */
const mostCounted = 32_768;
const pieces = 16;

/** The tokens of texts. cost: counting a megabyte takes 100 ms; counting a part of a long text and multiplying takes 4 ms. */
export function tokensIn(texts: readonly (string | null)[]): number {
  const text = texts.join(' ');
  if (text.length <= mostCounted) return estimateTokenCount(text);
  const size = mostCounted / pieces;
  let tokens = 0;
  for (let piece = 0; piece < pieces; piece++) {
    const from = Math.floor((piece * (text.length - size)) / (pieces - 1));
    tokens += estimateTokenCount(text.slice(from, from + size));
  }
  return Math.round((tokens * text.length) / mostCounted);
}
