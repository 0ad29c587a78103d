/**
 * Turns the token counts of the Messages API into `Usage`, whose classes
 * do not overlap. A count that the provider does not give stays null.
 */
import type { Usage } from '../../../core/chat.ts';
import { atMost, countOf, type Fields, fieldsOf, listOf, textOf } from '../../../core/wire/fields.ts';

/** wire: `input` excludes the cache counts, `output` includes thinking (Anthropic: Prompt caching; Extended thinking). */
interface Pass {
  readonly input: number | null;
  readonly cacheRead: number | null;
  readonly cacheWrite: number | null;
  readonly cacheWrite1h: number | null;
  readonly output: number | null;
  readonly thinking: number | null;
  readonly searches: number | null;
}

/** The counts of the reports so far. */
export interface Counts extends Pass {
  /** `fast` or `standard`; null: not said. */
  readonly speed: string | null;
  /** Where the model ran. */
  readonly place: string | null;
  /** All tokens of the passes of an advisor. */
  readonly advisor: number;
}

/**
 * Adds a report to the earlier ones.
 * wire: counts are cumulative (Anthropic: Streaming messages): a later count replaces an earlier one,
 * also for the input, and a missing count replaces nothing. Other servers end with zeros where they
 * have no counts (farion1231/cc-switch#2485, 2026-04), so a prompt of zero tokens replaces nothing either.
 */
export function readCounts(report: Fields, before: Counts | null): Counts {
  const own = countsOf(report);
  const iterations = listOf(report['iterations']).map(fieldsOf);
  const passes = passesOf(iterations);
  const later = passes.length > 0 ? { ...own, ...added(passes) } : own;
  const hasPrompt = (later.input ?? 0) + (later.cacheRead ?? 0) + (later.cacheWrite ?? 0) > 0;
  const [first, second] = hasPrompt ? [later, before] : [before, later];
  return {
    input: first?.input ?? second?.input ?? null,
    cacheRead: first?.cacheRead ?? second?.cacheRead ?? null,
    cacheWrite: first?.cacheWrite ?? second?.cacheWrite ?? null,
    cacheWrite1h: first?.cacheWrite1h ?? second?.cacheWrite1h ?? null,
    output: later.output ?? before?.output ?? null,
    thinking: later.thinking ?? before?.thinking ?? null,
    searches: later.searches ?? before?.searches ?? null,
    speed: textOf(report['speed']) ?? before?.speed ?? null,
    place: textOf(report['inference_geo']) ?? before?.place ?? null,
    advisor: advisorTokens(iterations) || (before?.advisor ?? 0),
  };
}

/**
 * The `Usage` of the counts. A part that is larger than its whole is cut to it, so no class is negative.
 * @param unsaid the number of searches where no report counts them; undefined: no search was asked for
 */
export function toUsage(counts: Counts, unsaid?: 0 | null): Usage {
  const { input, cacheRead, cacheWrite, cacheWrite1h, output, thinking, searches, speed, place, advisor } = counts;
  const webSearches = searches ?? unsaid;
  const reasoning = atMost(thinking, output);
  return {
    input,
    cacheRead,
    cacheWrite,
    cacheWrite1h: atMost(cacheWrite1h, cacheWrite),
    answer: output === null ? null : output - (reasoning ?? 0),
    reasoning,
    ...(webSearches !== undefined && { webSearches }),
    ...(speed !== null && { tier: speed }),
    ...(place !== null && !anywhere.has(place) && { isRegional: true }),
    ...(advisor > 0 && { details: { advisor } }),
  };
}

/** wire: places without a price of their own (Anthropic: Data residency); older models say `not_available`. */
const anywhere: ReadonlySet<string> = new Set(['global', 'not_available']);

const countsOf = (report: Fields): Pass => ({
  input: countOf(report['input_tokens']),
  cacheRead: countOf(report['cache_read_input_tokens']),
  cacheWrite: countOf(report['cache_creation_input_tokens']),
  cacheWrite1h: countOf(fieldsOf(report['cache_creation'])['ephemeral_1h_input_tokens']),
  output: countOf(report['output_tokens']),
  thinking: countOf(fieldsOf(report['output_tokens_details'])['thinking_tokens']),
  searches: countOf(fieldsOf(report['server_tool_use'])['web_search_requests']),
});

/**
 * wire: with compaction an answer takes several passes, and the counts at the top leave some of them out, so the passes in `iterations`
 * are summed (Anthropic: Compaction). If a fallback model answered, the counts at the top are right
 * (vercel/ai, packages/anthropic/src/convert-anthropic-usage.ts, 2026-11).
 */
function passesOf(iterations: readonly Fields[]): readonly Pass[] {
  if (iterations.some(({ type }) => type === 'fallback_message')) return [];
  return iterations.filter(({ type }) => type === 'compaction' || type === 'message').map(countsOf);
}

/** wire: an advisor runs on another model, whose prices count, and the counts at the top leave it out (Anthropic: Advisor tool). */
function advisorTokens(iterations: readonly Fields[]): number {
  const { input, cacheRead, cacheWrite, output } = added(iterations.filter(({ type }) => type === 'advisor_message').map(countsOf));
  return (input ?? 0) + (cacheRead ?? 0) + (cacheWrite ?? 0) + (output ?? 0);
}

/** The sums over all passes. A count that no pass gives is left out. */
function added(passes: readonly Pass[]): Partial<Pass> {
  const sums: Partial<Record<keyof Pass, number>> = {};
  for (const pass of passes) {
    for (const [name, value] of Object.entries(pass) as [keyof Pass, number | null][]) {
      if (value !== null) sums[name] = (sums[name] ?? 0) + value;
    }
  }
  return sums;
}
