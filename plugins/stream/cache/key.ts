/** The key of an answer: all that can change it, as a hash, so that the cache holds no prompt. */
import { hash } from 'node:crypto';
import type { Candidate, Normalised } from '../../../core/pipeline/context.ts';

/** Equal for requests of one caller that may have the same answer. Whether the answer is streamed is no part of it. */
export function keyOf({ principal, request }: Normalised, candidates: readonly Candidate[]): string {
  // safety: the caller's key comes first, so no caller gets an answer that another one asked for
  return hash('sha256', JSON.stringify([principal.key, modelsOf(candidates), { ...request, stream: undefined, includeUsage: undefined }]), 'base64url');
}

/** The models behind the name that the request asks for, whatever their order at this moment: a reload or a rule may put others there. */
function modelsOf(candidates: readonly Candidate[]): string[] {
  const models = new Set<string>();
  // cost: a model may have thousands of targets, which mostly stand together
  let last: Candidate | null = null;
  for (const candidate of candidates) {
    if (candidate.model === last?.model && candidate.reasoning === last.reasoning) continue;
    last = candidate;
    models.add(candidate.reasoning === null ? candidate.model.id : `${candidate.model.id} ${candidate.reasoning.effort} ${candidate.reasoning.maxTokens}`);
  }
  return [...models].sort();
}
