/** Turns the token counts of Converse into `Usage`. A count that the provider does not give stays null; reasoning always is null, because Converse does not count it. */
import type { Usage } from '../../../core/chat.ts';

type Fields = Readonly<Record<string, unknown>>;

const count = (value: unknown): number | null => (typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : null);

/** Adds a report to the earlier ones. wire: `inputTokens` does not include the cache (Amazon Bedrock: TokenUsage), and `cacheReadInputTokenCount` is a copy of `cacheReadInputTokens` (recorded traffic, as of 2026-11). */
export function toUsage(report: Fields, before: Usage | null): Usage {
  return {
    input: count(report['inputTokens']) ?? before?.input ?? null,
    cacheRead: count(report['cacheReadInputTokens']) ?? count(report['cacheReadInputTokenCount']) ?? before?.cacheRead ?? null,
    cacheWrite: count(report['cacheWriteInputTokens']) ?? count(report['cacheWriteInputTokenCount']) ?? before?.cacheWrite ?? null,
    cacheWrite1h: hourLong(report['cacheDetails']) ?? before?.cacheWrite1h ?? null,
    answer: count(report['outputTokens']) ?? before?.answer ?? null,
    reasoning: null,
  };
}

/** The written tokens that are kept for an hour. wire: `cacheDetails: [{ inputTokens, ttl }]` splits what was written (Amazon Bedrock: CacheDetail); `ttl` may be `1h` or have a form like `PT1H` (as of 2026-11). */
function hourLong(details: unknown): number | null {
  if (!Array.isArray(details)) return null;
  let total: number | null = null;
  for (const detail of details as unknown[]) {
    if (typeof detail !== 'object' || detail === null) continue;
    const { inputTokens, ttl } = detail as Fields;
    const tokens = count(inputTokens);
    if (tokens !== null && typeof ttl === 'string' && /^(?:1h|P?T?1H)$/i.test(ttl)) total = (total ?? 0) + tokens;
  }
  return total;
}
