/**
 * Requests that ask for no thinking. With `thinking: disabled`, each candidate gets the least effort that it can do, and a model that does
 * not reason gets none. A request that does not mention thinking gets no thinking at a provider of the same format either.
 */
import { efforts } from '../../../core/chat.ts';
import type { ChatRequest, Reasoning } from '../../../core/chat.ts';
import type { Candidate } from '../../../core/pipeline/context.ts';
import { fieldsOf } from '../../../core/wire/fields.ts';
import { form } from './parse/request.ts';

/**
 * The candidates, each with the thinking that the caller means.
 * @param isSameForm whether the provider of a candidate speaks this format
 */
export function withThinking(
  candidates: readonly Candidate[],
  { form: own, native, reasoning }: ChatRequest,
  isSameForm: (candidate: Candidate) => boolean,
): readonly Candidate[] {
  if (own !== form || reasoning.effort !== null || reasoning.maxTokens !== null) return candidates;
  if (fieldsOf(native?.fields['thinking'])['type'] === 'disabled') {
    return candidates.map((candidate) => ({ ...candidate, reasoning: leastOf(candidate) }));
  }
  return candidates.map((candidate) =>
    candidate.reasoning !== null && isSameForm(candidate) ? { ...candidate, reasoning: null } : candidate,
  );
}

/** The least effort that the model takes: `none` where its efforts are not known. */
function leastOf({ mapping: { reasoning } }: Candidate): Reasoning | null {
  if (reasoning === null) return null;
  const { efforts: taken } = reasoning;
  const effort = taken === null ? 'none' : efforts.find((known) => taken.includes(known));
  return effort === undefined ? null : { effort, maxTokens: null, field: 'thinking', isAutomatic: true };
}
