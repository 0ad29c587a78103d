/** Which candidates of a dry run a request cannot be said to. The request itself finds that out at each attempt, before anything is sent. */
import type { Candidate, Normalised } from '../../../core/pipeline/context.ts';
import { drop } from '../../../core/pipeline/context.ts';
import { GatewayError } from '../../../core/errors.ts';
import type { Dialect } from '../../../core/wire/dialect.ts';
import { encodeBy } from '../../../core/wire/native.ts';
import { Images } from './images/images.ts';

/** The candidates as they would be asked: those whose format cannot express the request are dropped, and stand before all that are dropped already, because the caller would be told why of them. */
export function sayable(candidates: readonly Candidate[], context: Normalised, dialects: ReadonlyMap<string, Dialect>): readonly Candidate[] {
  const tried = candidates.map((candidate) => {
    const error = candidate.dropped === null ? refusalOf(candidate, context, dialects) : null;
    return { candidate: error === null ? candidate : drop(candidate, { by: 'stream/upstream', reason: error.message, error }), isRefused: error !== null };
  });
  if (!tried.some(({ isRefused }) => isRefused)) return candidates;
  const of = (isRefused: boolean): Candidate[] => tried.filter((one) => one.isRefused === isRefused).map(({ candidate }) => candidate);
  return [...of(false).filter(({ dropped }) => dropped === null), ...of(true), ...of(false).filter(({ dropped }) => dropped !== null)];
}

function refusalOf({ provider, model, mapping, reasoning, answeredBy }: Candidate, context: Normalised, dialects: ReadonlyMap<string, Dialect>): GatewayError | null {
  const { request } = context;
  const dialect = dialects.get(mapping.dialect ?? provider.dialect);
  if (dialect === undefined || answeredBy !== null || request.ask !== undefined) return null;
  const target = { provider, model, mapping, reasoning: reasoning ?? request.reasoning, form: request.form };
  // what these images are is known only when they have been fetched
  if (Images.areNeeded(context, dialect, target)) return null;
  try {
    encodeBy(dialect, request, target);
    return null;
  } catch (thrown) {
    if (GatewayError.is(thrown) && thrown.code === 'unsupported_value') return thrown;
    // the request itself would be told
    return null;
  }
}
