/** Token counts of Converse → the classes of the core. What is not said stays null; reasoning never is. */
import type { Usage } from '../../../core/chat.ts';

type Fields = Readonly<Record<string, unknown>>;

const count = (value: unknown): number | null => (typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : null);

/** wire: `inputTokens` leaves the cache out, and `cacheReadInputTokenCount` repeats `cacheReadInputTokens`. */
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

/** wire: `cacheDetails: [{ inputTokens, ttl }]` splits what was written; the hour has been spelt `1h` and like `T5M`. */
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
