/**
 * Ajv reports one fault as several errors. This file keeps one error for each fault. It removes: `if` and `propertyNames`,
 * which only say that another error exists; an `enum` error of a value whose type is already wrong; every branch of an
 * `anyOf` or `oneOf` except the likeliest one; and a missing key that the file has under a misspelt name, which is reported
 * as an unknown key.
 */
import type { ErrorObject } from 'ajv';
import { nearest } from '../../core/names.ts';

/** Takes all errors of one Ajv run and returns those that a person has to mend, in the same order. */
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

/** Identifies one schema applied to one value: errors with the same text here are about the same pair. */
const schemaAtValue = ({ instancePath, schemaPath }: ErrorObject): string =>
  `${instancePath} ${schemaPath.slice(0, schemaPath.lastIndexOf('/'))}`;

const missingKey = (error: ErrorObject): string => (error.params as { missingProperty: string }).missingProperty;

/** The path of the key that the author of an unknown key probably meant; it ends in `/` where no known key is near. */
function meantKey(error: ErrorObject): string {
  const { properties = {} } = (error.parentSchema ?? {}) as { properties?: object };
  const unknown = (error.params as { additionalProperty: string }).additionalProperty;
  return `${error.instancePath}/${nearest(unknown, Object.keys(properties)) ?? ''}`;
}

/** No branch of `choice` (an `anyOf` or `oneOf` error) fitted: keeps the errors of the likeliest branch, or else the choice's own error. */
function withLikeliestBranch(errors: readonly ErrorObject[], choice: ErrorObject): ErrorObject[] {
  const isInside = ({ schemaPath, instancePath }: ErrorObject): boolean =>
    schemaPath.startsWith(`${choice.schemaPath}/`) && instancePath.startsWith(choice.instancePath);
  const inside = errors.filter(isInside);
  const likeliest = likeliestBranch(inside, choice);
  const kept = errors.filter((error) => (inside.includes(error) ? likeliest.includes(error) : error !== choice || likeliest.length === 0));
  return kept.map((error) =>
    likeliest.includes(error) && error.instancePath === choice.instancePath ? describedBy(choice, error) : error,
  );
}

/** The error with the description of its choice where its branch has none. */
function describedBy(choice: ErrorObject, error: ErrorObject): ErrorObject {
  const { description } = (choice.parentSchema ?? {}) as { description?: string };
  return description === undefined ? error : { ...error, parentSchema: { description, ...error.parentSchema } };
}

/** The errors of the only branch that takes this type of value; an empty list where no branch takes it, or several do. */
function likeliestBranch(inside: readonly ErrorObject[], choice: ErrorObject): ErrorObject[] {
  const branches = Map.groupBy(inside, ({ schemaPath }) => schemaPath.slice(choice.schemaPath.length + 1).split('/')[0]);
  const isOfOtherKind = ({ keyword, instancePath }: ErrorObject): boolean =>
    keyword === 'const' || (keyword === 'type' && instancePath === choice.instancePath);
  const claiming = [...branches.values()].filter((branch) => !branch.some(isOfOtherKind));
  return claiming.length === 1 ? (claiming[0] ?? []) : [];
}
