/**
 * Turns the token counts of Converse into `Usage`. A count that the provider does
 * not give stays null; reasoning always is null, because Converse does not count it.
 */
import type { Usage } from '../../../core/chat.ts';
import { atMost, countOf, type Fields, fieldsOf, listOf, textOf } from '../../../core/wire/fields.ts';

/**
 * Adds a report to the earlier ones. A part that is larger than its whole is cut to it.
 * wire: `inputTokens` does not include the cache (Amazon Bedrock: TokenUsage), and
 * `cacheReadInputTokenCount` is a copy of `cacheReadInputTokens` (recorded traffic, as of 2026-11).
 * @param served the tier that served the request, `{ type }` (Amazon Bedrock: ServiceTier)
 */
export function toUsage(report: Fields, before: Usage | null, served?: unknown): Usage {
  const tier = textOf(fieldsOf(served)['type']) ?? before?.tier;
  const cacheWrite = countOf(report['cacheWriteInputTokens']) ?? countOf(report['cacheWriteInputTokenCount']) ?? before?.cacheWrite ?? null;
  return {
    input: countOf(report['inputTokens']) ?? before?.input ?? null,
    cacheRead: countOf(report['cacheReadInputTokens']) ?? countOf(report['cacheReadInputTokenCount']) ?? before?.cacheRead ?? null,
    cacheWrite,
    cacheWrite1h: atMost(hourLong(report['cacheDetails']) ?? before?.cacheWrite1h ?? null, cacheWrite),
    answer: countOf(report['outputTokens']) ?? before?.answer ?? null,
    reasoning: null,
    ...(tier !== undefined && { tier }),
  };
}

/**
 * The written tokens that are kept for an hour.
 * wire: `cacheDetails: [{ inputTokens, ttl }]` splits what was written (Amazon
 * Bedrock: CacheDetail); `ttl` may be `1h` or have a form like `PT1H` (as of 2026-11).
 */
function hourLong(details: unknown): number | null {
  let total: number | null = null;
  for (const detail of listOf(details)) {
    const { inputTokens, ttl } = fieldsOf(detail);
    const tokens = countOf(inputTokens);
    if (tokens !== null && typeof ttl === 'string' && /^(?:1h|P?T?1H)$/i.test(ttl)) total = (total ?? 0) + tokens;
  }
  return total;
}
