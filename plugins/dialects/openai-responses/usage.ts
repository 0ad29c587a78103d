/**
 * Turns the token counts of the Responses API into `Usage`, whose classes
 * do not overlap. A count that the provider does not give stays null.
 */
import type { Usage } from '../../../core/chat.ts';
import { atMost, countOf, type Fields, fieldsOf } from '../../../core/wire/fields.ts';
import { billedOf } from '../families/billed.ts';

/**
 * Reads the `usage` of a response. Null if it names no tokens. A part that is larger than its whole is cut to it.
 * @param webSearches that the provider bills; undefined: nobody asked for any
 */
export function readUsage(report: Fields, webSearches?: number): Usage | null {
  const input = countOf(report['input_tokens']);
  const output = countOf(report['output_tokens']);
  if (input === null && output === null) return null;
  const { cached_tokens: cached, cache_write_tokens: written } = fieldsOf(report['input_tokens_details']);
  const thought = countOf(fieldsOf(report['output_tokens_details'])['reasoning_tokens']);
  const cacheRead = atMost(countOf(cached), input);
  const uncached = input === null ? null : input - (cacheRead ?? 0);
  const cacheWrite = atMost(countOf(written), uncached);
  // wire: `output_tokens` includes reasoning (OpenAI: Responses), also at xAI, which counts it apart
  // on chat completions. If the total is right only with reasoning added, it is counted apart here too
  const isApart =
    thought !== null && thought > 0 && input !== null && output !== null && countOf(report['total_tokens']) === input + output + thought;
  const reasoning = isApart ? thought : atMost(thought, output);
  return {
    input: uncached === null ? null : uncached - (cacheWrite ?? 0),
    cacheRead,
    cacheWrite,
    cacheWrite1h: null,
    answer: output === null ? null : output - (isApart ? 0 : (reasoning ?? 0)),
    reasoning,
    ...(webSearches !== undefined && { webSearches }),
    ...billedOf(report, fieldsOf(report['input_tokens_details']), fieldsOf(report['output_tokens_details'])),
  };
}

/**
 * wire: the calls that search are billed, not those that open a page or look for something
 * in it (OpenAI: Web search). Older models do not name the action, and only search.
 */
export function isSearch(item: Fields | null): boolean {
  if (item === null || item['type'] !== 'web_search_call') return false;
  const { type = 'search' } = fieldsOf(item['action']);
  return type === 'search';
}
