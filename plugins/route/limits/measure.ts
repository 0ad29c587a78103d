/** The most that a request may use, before its real usage is known. */
import { isUtf8 } from 'node:buffer';
import type { ChatRequest, ContentPart, Message } from '../../../core/chat.ts';
import { circumstancesOf } from '../../../core/money.ts';
import { costsNothing, longestAnswer } from '../../../core/pipeline/explain.ts';
import type { Extent } from '../../../core/pipeline/explain.ts';
import { parseDataUrl } from '../../../core/wire/data-url.ts';
import { schemaOf, textOfPart, tokensPerMessage } from '../../../core/wire/estimate.ts';
import { fieldsOf, textOf } from '../../../core/wire/fields.ts';

/**
 * Tokens of an image, a sound or a file without text, which only the provider can count.
 * wire: an image of a megapixel is 765 to 1,600 tokens for the large vendors, July 2025.
 */
const tokensPerPart = 1000;

/**
 * About the number of tokens of a text: one for four characters, and more for
 * characters of several bytes, such as Chinese ones, which are a token each.
 * cost: 0.1 µs, where the estimate that looks at each word takes 20 µs of each request with a prompt of 600 characters.
 */
const tokensIn = (text: string): number => Math.ceil(text.length / 4 + (Buffer.byteLength(text) - text.length) * 0.4);

function promptOf(request: ChatRequest): number {
  const { ask, messages, tools } = request;
  // a request for a count of tokens uses none
  if (ask?.kind === 'count') return 0;
  if (ask !== undefined) return ask.inputs.reduce((sum, input) => sum + (typeof input === 'string' ? tokensIn(input) : input.length), 0);
  let tokens = tools === undefined || tools === null ? 0 : tokensIn(JSON.stringify(tools));
  tokens += tokensIn(schemaOf(request) ?? '');
  for (const message of messages) tokens += tokensPerMessage + contentOf(message) + callsOf(message);
  return tokens;
}

function contentOf({ content }: Message): number {
  if (typeof content === 'string') return tokensIn(content);
  let tokens = 0;
  for (const part of content ?? []) tokens += partOf(part);
  return tokens;
}

function partOf(part: ContentPart): number {
  const text = textOfPart(part);
  return text === null ? Math.max(tokensPerPart, tokensIn(textOfFile(part))) : tokensIn(text);
}

/**
 * The text of a file that the request carries; empty for a file of another kind, and for every other part.
 * safety: a caller could write a long prompt into a file, and leave before the counts come
 */
function textOfFile(part: ContentPart): string {
  const data = textOf(fieldsOf(part['file'])['file_data']) ?? '';
  const bytes = Buffer.from(parseDataUrl(data)?.data ?? data, 'base64');
  return isUtf8(bytes) ? bytes.toString() : '';
}

function callsOf({ tool_calls: calls }: Message): number {
  let tokens = 0;
  for (const { function: called } of calls ?? []) tokens += tokensIn(called.name) + tokensIn(called.arguments);
  return tokens;
}

/** The most that a request may use: tokens of its prompt, and of the longest answer. The number of web searches is not known. */
export interface Measure extends Extent {
  readonly prompt: number;
}

/** The latest measured request. cost: an admission asks several times; a request is frozen, so its measure stays right. */
let last: { readonly request: ChatRequest; readonly measure: Measure } | null = null;

export function measureOf(request: ChatRequest): Measure {
  if (last?.request !== request) {
    last = {
      request,
      measure: {
        prompt: promptOf(request),
        answer: longestAnswer(request),
        circumstances: { ...circumstancesOf(request, Date.now()), maySearch: false },
        isFree: costsNothing(request),
      },
    };
  }
  return last.measure;
}

/** Called when the request is over, so that nothing keeps its texts. */
export function forgetMeasure(request: ChatRequest | null): void {
  if (last?.request === request) last = null;
}
