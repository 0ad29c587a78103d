/** `thinking: disabled` for models of all providers: each candidate is asked for as little thinking as it can do, and a model that does not reason is asked for nothing. */
import { efforts } from '../../../core/chat.ts';
import type { ChatRequest, Reasoning } from '../../../core/chat.ts';
import type { Candidate } from '../../../core/pipeline/context.ts';
import { fieldsOf } from '../../../core/wire/fields.ts';
import { form } from './parse/request.ts';

/** True if the caller wants no thinking. */
export const isUnthinking = ({ form: own, native }: ChatRequest): boolean => own === form && fieldsOf(native?.fields['thinking'])['type'] === 'disabled';

export const unthinking = (candidate: Candidate): Candidate => ({ ...candidate, reasoning: leastOf(candidate) });

/** The least effort that the model takes. Where nobody knows what it takes, that is `none`. */
function leastOf({ mapping: { reasoning } }: Candidate): Reasoning | null {
  if (reasoning === null) return null;
  const { efforts: taken } = reasoning;
  const effort = taken === null ? 'none' : efforts.find((known) => taken.includes(known));
  return effort === undefined ? null : { effort, maxTokens: null };
}
