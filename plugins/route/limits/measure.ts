/** How much a request may take, before anybody knows how much it takes. */
import type { ChatRequest, ContentPart, Message } from '../../../core/chat.ts';
import { circumstancesOf } from '../../../core/money.ts';
import { costsNothing, longestAnswer } from '../../../core/pipeline/explain.ts';
import type { Extent } from '../../../core/pipeline/explain.ts';

/** Tokens of an image, a sound or a file, which only the provider can count. wire: an image of a megapixel is 765 to 1,600 tokens for the large vendors, July 2025. */
const tokensPerPart = 1000;
/** Tokens of the role and the markers of a message. */
const tokensPerMessage = 4;

/**
 * About the tokens of a text: one for four characters, and more for those that take several bytes, such as Chinese ones with a token each.
 * cost: 0.1 µs, where the estimate that looks at each word takes 20 µs of each request with a prompt of 600 characters.
 */
const tokensIn = (text: string): number => Math.ceil(text.length / 4 + (Buffer.byteLength(text) - text.length) * 0.4);

function promptOf({ ask, messages, tools }: ChatRequest): number {
  // a count of them is no use of them
  if (ask?.kind === 'count') return 0;
  if (ask !== undefined) return ask.inputs.reduce((sum, input) => sum + (typeof input === 'string' ? tokensIn(input) : input.length), 0);
  let tokens = tools === undefined || tools === null ? 0 : tokensIn(JSON.stringify(tools));
  for (const message of messages) tokens += tokensPerMessage + contentOf(message) + callsOf(message);
  return tokens;
}

function contentOf({ content }: Message): number {
  if (typeof content === 'string') return tokensIn(content);
  let tokens = 0;
  for (const part of content ?? []) tokens += partOf(part);
  return tokens;
}

function partOf({ type, text, refusal }: ContentPart): number {
  const said = type === 'refusal' ? refusal : text;
  return typeof said === 'string' ? tokensIn(said) : tokensPerPart;
}

function callsOf({ tool_calls: calls }: Message): number {
  let tokens = 0;
  for (const { function: called } of calls ?? []) tokens += tokensIn(called.name) + tokensIn(called.arguments);
  return tokens;
}

/** What a request may take: tokens of its prompt, and of the longest answer. How often it will be searched, nobody knows. */
export interface Measure extends Extent {
  readonly prompt: number;
}

/** The request that was measured last. cost: an admission asks several times; a request is frozen, so its measure stays right. */
let last: { readonly request: ChatRequest; readonly measure: Measure } | null = null;

export function measureOf(request: ChatRequest): Measure {
  if (last?.request !== request) last = { request, measure: { prompt: promptOf(request), answer: longestAnswer(request), circumstances: { ...circumstancesOf(request, Date.now()), maySearch: false }, isFree: costsNothing(request) } };
  return last.measure;
}

/** The request is over: nothing keeps its texts. */
export function forgetMeasure(request: ChatRequest | null): void {
  if (last?.request === request) last = null;
}
