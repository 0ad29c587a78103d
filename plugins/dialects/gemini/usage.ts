/** Token counts as this API prints them → the classes of the core, which do not overlap. */
import type { Usage } from '../../../core/chat.ts';

/** The numbers of all reports so far. */
export interface Counts {
  readonly prompt: number | null;
  /** Prompt tokens of tool use, which the prompt count leaves out. */
  readonly toolUse: number | null;
  readonly cached: number | null;
  readonly candidates: number | null;
  /** wire: outside of the candidates. */
  readonly thoughts: number | null;
}

type Fields = Readonly<Record<string, unknown>>;

const nothing: Counts = { prompt: null, toolUse: null, cached: null, candidates: null, thoughts: null };

const count = (value: unknown): number | null => (typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : null);

/** wire: every event has the numbers so far, the last may correct the prompt's, and events in the middle may have none. */
export function readCounts(report: Fields, before: Counts | null): Counts | null {
  const counts: Counts = {
    prompt: count(report['promptTokenCount']) ?? before?.prompt ?? null,
    toolUse: count(report['toolUsePromptTokenCount']) ?? before?.toolUse ?? null,
    cached: count(report['cachedContentTokenCount']) ?? before?.cached ?? null,
    candidates: count(report['candidatesTokenCount']) ?? before?.candidates ?? null,
    thoughts: count(report['thoughtsTokenCount']) ?? before?.thoughts ?? null,
  };
  return isSame(counts, before ?? nothing) ? before : counts;
}

const isSame = (one: Counts, other: Counts): boolean =>
  one.prompt === other.prompt && one.toolUse === other.toolUse && one.cached === other.cached && one.candidates === other.candidates && one.thoughts === other.thoughts;

/** wire: a count of zero is left out, as its protocol buffers leave out zeros; a prompt has tokens, so its absence is silence. */
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
