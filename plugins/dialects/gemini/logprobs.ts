/** Turns the probabilities of tokens, which are two parallel lists in this API, into the one list of chat completions. */
import { type Fields, isFields, listOf } from '../../../core/wire/fields.ts';

const fieldsIn = (value: unknown): readonly Fields[] => listOf(value).filter(isFields);

/** Turns `logprobsResult` into `logprobs` of a choice. Null if it has no tokens. */
export function toLogprobs(result: Fields): object | null {
  const chosen = fieldsIn(result['chosenCandidates']);
  const rivals = fieldsIn(result['topCandidates']);
  if (chosen.length === 0) return null;
  return {
    content: chosen.map((candidate, at) => ({ ...tokenOf(candidate), top_logprobs: fieldsIn(rivals[at]?.['candidates']).map(tokenOf) })),
  };
}

function tokenOf({ token, logProbability }: Fields): object {
  const text = typeof token === 'string' ? token : '';
  return { token: text, logprob: logProbability ?? null, bytes: [...Buffer.from(text)] };
}
