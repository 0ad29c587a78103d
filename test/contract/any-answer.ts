/** Answers that no provider sends. */
import * as fc from 'fast-check';

/** Random values with the keys and words that decoders look at. Some of them cannot be converted to a text or a number. */
const keys = [
  'choices',
  'delta',
  'message',
  'content',
  'tool_calls',
  'function',
  'name',
  'arguments',
  'index',
  'id',
  'type',
  'text',
  'error',
  'code',
  'usage',
  'finish_reason',
  'reasoning',
  'detail',
  'output',
  'item',
  'candidates',
  'parts',
  'metadata',
  'content_block',
  'thinking',
  'input',
  'partial_json',
  'response',
  'output_index',
  'item_id',
  'summary',
  'functionCall',
  'partialArgs',
  'promptFeedback',
  'status',
];
const words = [
  'content_block_start',
  'content_block_delta',
  'content_block_stop',
  'text',
  'thinking',
  'text_delta',
  'tool_use',
  'message_start',
  'message_delta',
  'response.output_item.added',
  'response.output_text.delta',
  'response.failed',
  'function_call',
];
export const { answerLike } = fc.letrec((tie) => ({
  answerLike: fc.oneof(
    { maxDepth: 6, withCrossShrink: true },
    fc.oneof(fc.constantFrom(null, true, 0, -1, 1e9, '', 'stop', '<think>', [], { toString: null }, ...words), fc.string({ maxLength: 8 })),
    fc.array(tie('answerLike'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...keys), tie('answerLike'), { maxKeys: 5 }),
  ),
}));

/** A value in place of an expected one. */
export const oddValue = fc.constantFrom<unknown>(null, true, -1, 1e21, '', 'odd', [], {}, [null], [{}], { toString: null });

type Part = Record<string, unknown>;

const isPart = (value: unknown): value is Part => typeof value === 'object' && value !== null;

/** Lists the places in a value, each as its object or list and its key, in the order in which JSON.parse completes them. */
function listPlaces(holder: Part, places: [Part, string][]): void {
  for (const [key, value] of Object.entries(holder)) {
    if (isPart(value)) listPlaces(value, places);
    places.push([holder, key]);
  }
}

/** The JSON with another value at one of its places. cost: a reviver of JSON.parse, called for each place, takes three times the CPU */
export function withOneReplaced(json: string, place: number, value: unknown): string {
  const root: Part = { '': JSON.parse(json) };
  const places: [Part, string][] = [];
  listPlaces(root, places);
  const [holder, key] = places[place % places.length] as [Part, string];
  Object.defineProperty(holder, key, { value });
  return JSON.stringify(root['']);
}
