/** Turns the token counts of the Gemini API into `Usage`, whose classes do not overlap. */
import type { Usage, UsageDetails } from '../../../core/chat.ts';
import type { Target } from '../../../core/wire/dialect.ts';
import { countOf, type Fields, fieldsOf } from '../../../core/wire/fields.ts';

/** The counts of the reports so far. */
export interface Counts {
  readonly prompt: number | null;
  /** Prompt tokens of tool use. wire: `prompt` does not include them (Gemini API: UsageMetadata). */
  readonly toolUse: number | null;
  readonly cached: number | null;
  readonly candidates: number | null;
  /** wire: `candidates` does not include them (Gemini API: UsageMetadata). */
  readonly thoughts: number | null;
  /** Tokens of sound in the prompt, and of sound and of pictures in the answer. */
  readonly heard: number | null;
  readonly spoken: number | null;
  readonly images: number | null;
}

const nothing: Counts = {
  prompt: null,
  toolUse: null,
  cached: null,
  candidates: null,
  thoughts: null,
  heard: null,
  spoken: null,
  images: null,
};

/**
 * Adds a report to the earlier ones; returns `before` if it changes nothing.
 * wire: the counts of each event are for the answer so far, the last event may correct the count
 * of the prompt, and events in the middle may have none (recorded traffic, as of 2026-11).
 */
export function readCounts(report: Fields, before: Counts | null): Counts | null {
  const counts: Counts = {
    prompt: countOf(report['promptTokenCount']) ?? before?.prompt ?? null,
    toolUse: countOf(report['toolUsePromptTokenCount']) ?? before?.toolUse ?? null,
    cached: countOf(report['cachedContentTokenCount']) ?? before?.cached ?? null,
    candidates: countOf(report['candidatesTokenCount']) ?? before?.candidates ?? null,
    thoughts: countOf(report['thoughtsTokenCount']) ?? before?.thoughts ?? null,
    heard: tokensOf('AUDIO', report['promptTokensDetails']) ?? before?.heard ?? null,
    spoken: tokensOf('AUDIO', report['candidatesTokensDetails']) ?? before?.spoken ?? null,
    images: tokensOf('IMAGE', report['candidatesTokensDetails']) ?? before?.images ?? null,
  };
  return isSame(counts, before ?? nothing) ? before : counts;
}

/** wire: `[{ modality: "AUDIO", tokenCount: 12 }]` (Gemini API: ModalityTokenCount). */
function tokensOf(modality: string, details: unknown): number | null {
  if (!Array.isArray(details)) return null;
  const found = (details as unknown[]).map(fieldsOf).find((one) => one['modality'] === modality);
  return found === undefined ? null : countOf(found['tokenCount']);
}

const names = Object.keys(nothing) as readonly (keyof Counts)[];

const isSame = (one: Counts, other: Counts): boolean => names.every((name) => one[name] === other[name]);

/**
 * The number of billed searches. From Gemini 3 on each different query is billed. Before Gemini 3 a prompt is billed once, however many
 * queries it led to (Gemini API: Grounding with Google Search, Pricing; empty queries do not count).
 */
export function billedSearches(queries: ReadonlySet<string>, { mapping, model }: Target): number {
  // the name of an endpoint does not name the model behind it; the id in the catalogue does
  const named = [mapping.externalId, model.id].find((name) => /gemini-\d/.test(name)) ?? '';
  return /gemini-[12]/.test(named) ? Math.min(1, queries.size) : queries.size;
}

/**
 * The `Usage` of the counts.
 * wire: a count of zero is left out, as in all JSON of protocol buffers (ProtoJSON), so a
 * missing count is 0. A prompt always has tokens, so a missing prompt count is unknown.
 */
export function toUsage({ prompt, toolUse, cached, candidates, thoughts, heard, spoken, images }: Counts, webSearches = 0): Usage {
  const cacheRead = prompt === null ? (cached ?? 0) : Math.min(cached ?? 0, prompt);
  return {
    input: prompt === null ? null : prompt - cacheRead + (toolUse ?? 0),
    cacheRead,
    cacheWrite: null,
    cacheWrite1h: null,
    answer: candidates ?? 0,
    reasoning: thoughts ?? 0,
    ...(webSearches > 0 && { webSearches }),
    ...detailsOf({
      ...(heard !== null && { inputAudio: heard }),
      ...(spoken !== null && { outputAudio: spoken }),
      ...(images !== null && { outputImage: images }),
    }),
  };
}

const detailsOf = (details: UsageDetails): Pick<Usage, 'details'> => (Object.keys(details).length > 0 ? { details } : {});
