/** Turns the token counts of the Responses API into `Usage`, whose classes do not overlap. A count that the provider does not give stays null. */
import type { Usage } from '../../../core/chat.ts';
import { countOf, type Fields, fieldsOf } from '../../../core/wire/fields.ts';

const atMost = (part: number | null, whole: number | null): number | null => (part === null || whole === null ? part : Math.min(part, whole));

/** Reads the `usage` of a response. Null if it names no tokens. A part that is larger than its whole is cut to it. */
export function readUsage(report: Fields): Usage | null {
  const input = countOf(report['input_tokens']);
  const output = countOf(report['output_tokens']);
  if (input === null && output === null) return null;
  const { cached_tokens: cached, cache_write_tokens: written } = fieldsOf(report['input_tokens_details']);
  const thought = countOf(fieldsOf(report['output_tokens_details'])['reasoning_tokens']);
  const cacheRead = atMost(countOf(cached), input);
  const uncached = input === null ? null : input - (cacheRead ?? 0);
  const cacheWrite = atMost(countOf(written), uncached);
  // wire: `output_tokens` includes reasoning (OpenAI: Responses), also at xAI, which counts it apart on chat completions. If the total is right only
  // with reasoning added, it is counted apart here too
  const isApart = thought !== null && thought > 0 && input !== null && output !== null && countOf(report['total_tokens']) === input + output + thought;
  const reasoning = isApart ? thought : atMost(thought, output);
  return {
    input: uncached === null ? null : uncached - (cacheWrite ?? 0),
    cacheRead,
    cacheWrite,
    cacheWrite1h: null,
    answer: output === null ? null : output - (isApart ? 0 : (reasoning ?? 0)),
    reasoning,
  };
}
