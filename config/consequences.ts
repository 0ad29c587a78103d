/**
 * A validator tells one fault in many ways. What is left out here: `if` and `propertyNames`, which only say that another
 * error is there; an `enum` that a value of the wrong type cannot be in; all but the likeliest branch of an `anyOf` or
 * `oneOf`; and a missing key whose misspelling is told already.
 */
import type { ErrorObject } from 'ajv';
import { nearest } from '../core/suggest.ts';

/** The errors that are faults of their own. */
export function withoutConsequences(errors: readonly ErrorObject[]): ErrorObject[] {
  const ofWrongType = new Set(errors.filter(({ keyword }) => keyword === 'type').map(schemaAtValue));
  const isFollowing = (error: ErrorObject): boolean =>
    error.keyword === 'if' || error.keyword === 'propertyNames' || (error.keyword === 'enum' && ofWrongType.has(schemaAtValue(error)));
  let kept = errors.filter((error) => !isFollowing(error));
  for (const wrapper of kept.filter(isChoice)) kept = withLikeliestBranch(kept, wrapper);
  const misspelt = new Set(kept.filter(({ keyword }) => keyword === 'additionalProperties').map(meantKey));
  return kept.filter((error) => error.keyword !== 'required' || !misspelt.has(`${error.instancePath}/${missingKey(error)}`));
}

const isChoice = ({ keyword }: ErrorObject): boolean => keyword === 'anyOf' || keyword === 'oneOf';

/** One schema, applied to one value. */
const schemaAtValue = ({ instancePath, schemaPath }: ErrorObject): string => `${instancePath} ${schemaPath.slice(0, schemaPath.lastIndexOf('/'))}`;

const missingKey = (error: ErrorObject): string => (error.params as { missingProperty: string }).missingProperty;

/** The path of the key that an unknown one was probably meant to be. */
function meantKey(error: ErrorObject): string {
  const { properties = {} } = (error.parentSchema ?? {}) as { properties?: object };
  const unknown = (error.params as { additionalProperty: string }).additionalProperty;
  return `${error.instancePath}/${nearest(unknown, Object.keys(properties)) ?? ''}`;
}

/** Keeps, of a choice that nothing fitted, either the errors of the branch that was meant or the choice's own. */
function withLikeliestBranch(errors: readonly ErrorObject[], choice: ErrorObject): ErrorObject[] {
  const isInside = ({ schemaPath, instancePath }: ErrorObject): boolean => schemaPath.startsWith(`${choice.schemaPath}/`) && instancePath.startsWith(choice.instancePath);
  const inside = errors.filter(isInside);
  const likeliest = likeliestBranch(inside, choice);
  return errors.filter((error) => (inside.includes(error) ? likeliest.includes(error) : error !== choice || likeliest.length === 0));
}

/** The errors of the one branch whose kind of value it is; none where no branch, or more than one, can claim that. */
function likeliestBranch(inside: readonly ErrorObject[], choice: ErrorObject): ErrorObject[] {
  const branches = Map.groupBy(inside, ({ schemaPath }) => schemaPath.slice(choice.schemaPath.length + 1).split('/')[0]);
  const isOfOtherKind = ({ keyword, instancePath }: ErrorObject): boolean => keyword === 'const' || (keyword === 'type' && instancePath === choice.instancePath);
  const claiming = [...branches.values()].filter((branch) => !branch.some(isOfOtherKind));
  return claiming.length === 1 ? (claiming[0] ?? []) : [];
}
