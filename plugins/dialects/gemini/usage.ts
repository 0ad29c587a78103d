/** Turns the token counts of the Gemini API into `Usage`, whose classes do not overlap. */
import type { Usage } from '../../../core/chat.ts';
import { countOf, type Fields } from '../../../core/wire/fields.ts';

/** The counts of the reports so far. */
export interface Counts {
  readonly prompt: number | null;
  /** Prompt tokens of tool use. wire: `prompt` does not include them (Gemini API: UsageMetadata). */
  readonly toolUse: number | null;
  readonly cached: number | null;
  readonly candidates: number | null;
  /** wire: `candidates` does not include them (Gemini API: UsageMetadata). */
  readonly thoughts: number | null;
}

const nothing: Counts = { prompt: null, toolUse: null, cached: null, candidates: null, thoughts: null };

/** Adds a report to the earlier ones; returns `before` if it changes nothing. wire: the counts of each event are for the answer so far, the last event may correct the count of the prompt, and events in the middle may have none (recorded traffic, as of 2026-11). */
export function readCounts(report: Fields, before: Counts | null): Counts | null {
  const counts: Counts = {
    prompt: countOf(report['promptTokenCount']) ?? before?.prompt ?? null,
    toolUse: countOf(report['toolUsePromptTokenCount']) ?? before?.toolUse ?? null,
    cached: countOf(report['cachedContentTokenCount']) ?? before?.cached ?? null,
    candidates: countOf(report['candidatesTokenCount']) ?? before?.candidates ?? null,
    thoughts: countOf(report['thoughtsTokenCount']) ?? before?.thoughts ?? null,
  };
  return isSame(counts, before ?? nothing) ? before : counts;
}

const isSame = (one: Counts, other: Counts): boolean =>
  one.prompt === other.prompt && one.toolUse === other.toolUse && one.cached === other.cached && one.candidates === other.candidates && one.thoughts === other.thoughts;

/** The `Usage` of the counts. wire: a count of zero is left out, as in all JSON of protocol buffers (ProtoJSON), so a missing count is 0. A prompt always has tokens, so a missing prompt count is unknown. */
export function toUsage({ prompt, toolUse, cached, candidates, thoughts }: Counts): Usage {
  const cacheRead = prompt === null ? (cached ?? 0) : Math.min(cached ?? 0, prompt);
  return {
    input: prompt === null ? null : prompt - cacheRead + (toolUse ?? 0),
    cacheRead,
    cacheWrite: null,
    cacheWrite1h: null,
    answer: candidates ?? 0,
    reasoning: thoughts ?? 0,
  };
}
