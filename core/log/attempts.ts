/** What the attempts of a request say of the providers that were asked. */
import type { AttemptResult } from '../pipeline/context.ts';
import type { LoggedRequest } from './store.ts';

/** Outcomes of an attempt that say nothing against its provider: it answered, another one was quicker, or the client left. */
const faultless: ReadonlySet<string> = new Set(['answered', 'outrun', 'client_closed']);

export const isFault = ({ outcome }: Pick<AttemptResult, 'outcome'>): boolean => !faultless.has(outcome);

/** Whether a request was answered although an attempt had failed: its caller noticed nothing. */
export const isRescued = ({ outcome, attempts }: Pick<LoggedRequest, 'outcome' | 'attempts'>): boolean =>
  outcome === 'answered' && attempts.some(isFault);

/** The name of the target that was asked: `openai/gpt-5`, or `openai#2/gpt-5` where the provider has several keys. */
export const targetOf = ({ target, provider, externalId }: Pick<AttemptResult, 'target' | 'provider' | 'externalId'>): string =>
  target ?? `${provider}/${externalId}`;

/** The dimensions by which attempts are summed up, and the value of an attempt in each. */
export const attemptValues = {
  'attempt.provider': ({ provider }) => provider,
  'attempt.model': ({ model }) => model,
  'attempt.code': ({ outcome }) => outcome,
  'attempt.target': targetOf,
} as const satisfies Readonly<Record<string, (attempt: AttemptResult) => string>>;
export type AttemptDimension = keyof typeof attemptValues;

/**
 * The target of a request that was answered by the first one that was asked, as most are; undefined for every other request.
 * cost: the row of such a request serves as the row of its attempt, so the store needs no second row.
 */
export function onlyTargetOf({ outcome, attempts }: Pick<LoggedRequest, 'outcome' | 'attempts'>): string | undefined {
  const [first] = attempts;
  return first !== undefined && attempts.length === 1 && outcome === 'answered' && first.outcome === 'answered'
    ? targetOf(first)
    : undefined;
}
