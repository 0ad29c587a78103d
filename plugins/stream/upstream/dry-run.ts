/**
 * Finds the candidates of a dry run whose wire format cannot express the request.
 * A real request finds that out at each attempt, before anything is sent.
 */
import type { Candidate, Normalised } from '../../../core/pipeline/context.ts';
import { drop, stands } from '../../../core/pipeline/context.ts';
import { GatewayError } from '../../../core/errors.ts';
import { dialectNameOf } from '../../../core/wire/dialect.ts';
import type { Dialect } from '../../../core/wire/dialect.ts';
import { encodeBy } from '../../../core/wire/native.ts';
import { Images } from './images/images.ts';

/**
 * The candidates as a real request would ask them. A candidate whose format cannot express the request is dropped.
 * It comes before the candidates that were dropped already, because a real request would return its error.
 */
export function expressible(
  candidates: readonly Candidate[],
  context: Normalised,
  dialects: ReadonlyMap<string, Dialect>,
): readonly Candidate[] {
  const tried = candidates.map((candidate) => {
    const error = stands(candidate) ? refusalOf(candidate, context, dialects) : null;
    return error === null ? candidate : drop(candidate, { by: 'stream/upstream', reason: error.message, error });
  });
  const standing = tried.filter(stands);
  const refused = tried.filter((candidate, at) => candidate !== candidates[at]);
  return [...standing, ...refused, ...candidates.filter((candidate) => !stands(candidate))];
}

function refusalOf(candidate: Candidate, context: Normalised, dialects: ReadonlyMap<string, Dialect>): GatewayError | null {
  const { provider, model, mapping, reasoning, answeredBy } = candidate;
  const { request } = context;
  const dialect = dialects.get(dialectNameOf(candidate));
  if (dialect === undefined || answeredBy !== null || request.ask !== undefined) return null;
  const target = { provider, model, mapping, reasoning: reasoning ?? request.reasoning, form: request.form };
  // the images are not fetched in a dry run, so nobody knows whether the format can express them
  if (Images.areNeeded(context, dialect, target)) return null;
  try {
    encodeBy(dialect, request, target);
    return null;
  } catch (thrown) {
    // another error is no reason to drop the candidate: a real request would return it
    return GatewayError.is(thrown) && thrown.code === 'unsupported_value' ? thrown : null;
  }
}
