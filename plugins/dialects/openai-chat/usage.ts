/** Turns the token counts of chat servers into `Usage`, whose classes do not overlap. A count that the server does not give stays null. */
import type { Usage } from '../../../core/chat.ts';
import { atMost, countOf, type Fields, fieldsOf } from '../../../core/wire/fields.ts';
import { type Billed, billedOf } from '../families/billed.ts';

/** How a vendor counts. */
export interface UsageHabits {
  /** True if the vendor's `completion_tokens` does not include reasoning. If there is a total, the total decides. */
  readonly reasoningOutside?: boolean;
  /** True if some answers do not include cached tokens in `prompt_tokens`. These are the answers with more cached than prompt tokens. */
  readonly cachedOutside?: boolean;
  /** True if neither the vendor's `completion_tokens` nor its total includes reasoning. */
  readonly reasoningApart?: boolean;
  /** True if the vendor reports no reasoning count: reasoning is what the total has beyond prompt and completion. */
  readonly reasoningUnnamed?: boolean;
}

/** The counts of the reports so far. Vendors have them at different places. */
export interface Counts {
  readonly prompt: number | null;
  readonly completion: number | null;
  readonly total: number | null;
  readonly cached: number | null;
  readonly written: number | null;
  readonly reasoning: number | null;
  readonly billed: Billed;
}

/**
 * Adds a `usage` object to the earlier reports: a later count replaces an earlier one, a
 * missing count replaces nothing. Returns `before` if neither prompt nor completion is known.
 */
export function readCounts(report: Fields, before: Counts | null): Counts | null {
  const prompt = fieldsOf(report['prompt_tokens_details']);
  const completion = fieldsOf(report['completion_tokens_details']);
  // wire: mlx-vlm has the names of the Responses API (earendil-works/pi#2326, 2026-03)
  const said = countOf(report['prompt_tokens']) ?? countOf(report['input_tokens']);
  const answered = countOf(report['completion_tokens']) ?? countOf(report['output_tokens']);
  // wire: DeepSeek sends `prompt_cache_hit_tokens` (2025-12-02), Moonshot (2026-08-04)
  // and Together `cached_tokens` at the top, Mistral `num_cached_tokens`
  const cached =
    countOf(prompt['cached_tokens']) ??
    countOf(report['prompt_cache_hit_tokens']) ??
    countOf(report['cached_tokens']) ??
    countOf(report['num_cached_tokens']);
  // wire: no prompt is empty; servers without counts send zeros, others send them
  // with each piece until the last (router-for-me/CLIProxyAPI#3077, 2026-04)
  const isUncounted = said === 0 && (cached ?? 0) === 0;
  if (isUncounted && (answered ?? 0) === 0) return before;
  const counts: Counts = {
    prompt: (isUncounted ? null : said) ?? before?.prompt ?? null,
    completion: answered ?? before?.completion ?? null,
    total: (isUncounted ? null : countOf(report['total_tokens'])) ?? before?.total ?? null,
    cached: cached ?? before?.cached ?? null,
    // wire: Alibaba uses Anthropic's name, inside `prompt_tokens_details` (Alibaba Cloud Model Studio: Context cache)
    written: countOf(prompt['cache_write_tokens']) ?? countOf(prompt['cache_creation_input_tokens']) ?? before?.written ?? null,
    reasoning: countOf(completion['reasoning_tokens']) ?? countOf(report['reasoning_tokens']) ?? before?.reasoning ?? null,
    billed: { ...before?.billed, ...billedOf(report, prompt, completion) },
  };
  return counts.prompt === null && counts.completion === null ? before : counts;
}

/** The `Usage` of what was reported. A part that is larger than its whole is cut to it, so no class is negative. */
export function toUsage(reported: Counts, habits: UsageHabits): Usage {
  const counts = habits.reasoningUnnamed === true ? withRest(reported) : reported;
  const { prompt, completion } = counts;
  const isCachedOutside = habits.cachedOutside === true && prompt !== null && counts.cached !== null && counts.cached > prompt;
  const cacheRead = isCachedOutside ? counts.cached : atMost(counts.cached, prompt);
  const uncached = prompt === null ? null : prompt - (isCachedOutside ? 0 : (cacheRead ?? 0));
  const cacheWrite = atMost(counts.written, uncached);
  const isReasoningOutside = reasoningIsOutside(counts, habits);
  // wire: OpenRouter has reported 11 reasoning tokens of 10 completion tokens (recorded traffic, as of 2026-11)
  const reasoning = isReasoningOutside ? counts.reasoning : atMost(counts.reasoning, completion);
  return {
    input: uncached === null ? null : uncached - (cacheWrite ?? 0),
    cacheRead,
    cacheWrite,
    cacheWrite1h: null,
    answer: completion === null ? null : completion - (isReasoningOutside ? 0 : (reasoning ?? 0)),
    reasoning,
    ...counts.billed,
  };
}

function withRest(counts: Counts): Counts {
  const { prompt, total, reasoning } = counts;
  if (prompt === null || total === null || reasoning !== null) return counts;
  const completion = counts.completion ?? 0;
  const rest = total - prompt - completion;
  return rest > 0 ? { ...counts, completion, reasoning: rest } : counts;
}

/**
 * wire: xAI counts reasoning outside of `completion_tokens` on this API (12 + 320 + 2
 * = 334, recorded 2026-02-11), and inside on Responses. The total shows which it is.
 */
function reasoningIsOutside({ prompt, completion, total, reasoning }: Counts, habits: UsageHabits): boolean {
  if (habits.reasoningApart === true) return true;
  if (reasoning === null || prompt === null || completion === null) return habits.reasoningOutside === true;
  if (total === prompt + completion) return false;
  return total === prompt + completion + reasoning || habits.reasoningOutside === true;
}
