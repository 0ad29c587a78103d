/** Token counts as chat servers print them → the classes of the core, which do not overlap. What is not said stays null. */
import type { Usage } from '../../../core/chat.ts';

export interface UsageHabits {
  /** The vendor's `completion_tokens` leaves reasoning out. Its total, where there is one, is asked first. */
  readonly reasoningOutside?: boolean;
  /** Some of its answers count cached tokens beside `prompt_tokens`: those with more cached than prompt tokens. */
  readonly cachedOutside?: boolean;
}

/** The numbers of one report, from whichever place the vendor prints them at. */
export interface Counts {
  readonly prompt: number | null;
  readonly completion: number | null;
  readonly total: number | null;
  readonly cached: number | null;
  readonly written: number | null;
  readonly reasoning: number | null;
}

type Fields = Readonly<Record<string, unknown>>;

const count = (value: unknown): number | null => (typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : null);

const fieldsOf = (value: unknown): Fields | null => (typeof value === 'object' && value !== null ? (value as Fields) : null);

/** Reads a `usage` object over what earlier reports said: a later number replaces, a missing one does not erase. */
export function readCounts(report: Fields, before: Counts | null): Counts | null {
  const prompt = fieldsOf(report['prompt_tokens_details']);
  const completion = fieldsOf(report['completion_tokens_details']);
  const counts: Counts = {
    prompt: count(report['prompt_tokens']) ?? before?.prompt ?? null,
    completion: count(report['completion_tokens']) ?? before?.completion ?? null,
    total: count(report['total_tokens']) ?? before?.total ?? null,
    // wire: DeepSeek prints prompt_cache_hit_tokens, Moonshot and Together cached_tokens at the top, Mistral num_cached_tokens.
    cached:
      count(prompt?.['cached_tokens']) ??
      count(report['prompt_cache_hit_tokens']) ??
      count(report['cached_tokens']) ??
      count(report['num_cached_tokens']) ??
      before?.cached ??
      null,
    written: count(prompt?.['cache_write_tokens']) ?? before?.written ?? null,
    reasoning: count(completion?.['reasoning_tokens']) ?? count(report['reasoning_tokens']) ?? before?.reasoning ?? null,
  };
  return counts.prompt === null && counts.completion === null ? before : counts;
}

/** The disjoint classes. A part that exceeds its whole is cut to it, so that no class is ever negative. */
export function toUsage(counts: Counts, habits: UsageHabits): Usage {
  const { prompt, completion } = counts;
  const isCachedOutside = habits.cachedOutside === true && prompt !== null && counts.cached !== null && counts.cached > prompt;
  const cacheRead = isCachedOutside ? counts.cached : atMost(counts.cached, prompt);
  const uncached = prompt === null ? null : prompt - (isCachedOutside ? 0 : (cacheRead ?? 0));
  const cacheWrite = atMost(counts.written, uncached);
  const isReasoningOutside = reasoningIsOutside(counts, habits);
  // wire: OpenRouter has reported 11 reasoning tokens of 10 completion tokens.
  const reasoning = isReasoningOutside ? counts.reasoning : atMost(counts.reasoning, completion);
  return {
    input: uncached === null ? null : uncached - (cacheWrite ?? 0),
    cacheRead,
    cacheWrite,
    cacheWrite1h: null,
    answer: completion === null ? null : completion - (isReasoningOutside ? 0 : (reasoning ?? 0)),
    reasoning,
  };
}

const atMost = (part: number | null, whole: number | null): number | null => (part === null || whole === null ? part : Math.min(part, whole));

/** wire: 2 + 320 + 12 = 334 is how xAI counts on this API; on Responses its output contains reasoning. The total tells. */
function reasoningIsOutside({ prompt, completion, total, reasoning }: Counts, habits: UsageHabits): boolean {
  if (reasoning === null || prompt === null || completion === null) return habits.reasoningOutside === true;
  if (total === prompt + completion) return false;
  return total === prompt + completion + reasoning || habits.reasoningOutside === true;
}
