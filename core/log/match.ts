/** Applies a query to one record in memory, for the live tail. A query means the same here and in a store. */
import { attemptValues } from './attempts.ts';
import type { AttemptDimension } from './attempts.ts';
import { filteredField, filteredText, filteredValue } from './filters.ts';
import { isError } from './outcome.ts';
import type { Condition, LoggedRequest, LogQuery } from './store.ts';
import { parseDollars } from '../money.ts';
import { patternOf } from '../names.ts';
import { hexOf } from './record-id.ts';

/** Whether the query selects the record. The text in bodies is not looked at: a listed record has no bodies. */
export function selects({ from, to, conditions }: LogQuery, record: LoggedRequest): boolean {
  const at = Date.parse(record.createdAt);
  const ofAttempt = conditions.filter(isOfOneAttempt);
  return (
    (from === null || at >= from) &&
    (to === null || at < to) &&
    conditions.every((condition) => ofAttempt.includes(condition) || fits(condition, record)) &&
    hasAttempt(record, ofAttempt)
  );
}

/**
 * Whether the condition must hold for the same attempt as the other conditions of this kind: "this
 * provider has timed out" is more than "this provider was asked" and "somebody has timed out".
 */
export const isOfOneAttempt = ({ field, operator }: Condition): boolean => operator === 'in' && filteredField(field)?.filter.kind === 'any';

/** An empty value asks for records without attempts. */
function hasAttempt({ attempts }: LoggedRequest, conditions: readonly Pick<Condition, 'field' | 'values'>[]): boolean {
  if (conditions.length === 0) return true;
  if (attempts.length === 0) return conditions.every(({ values }) => values.includes(''));
  return attempts.some((attempt) =>
    conditions.every(({ field, values }) => values.includes(attemptValues[filteredField(field)?.attempt as AttemptDimension](attempt))),
  );
}

function fits({ field, operator, values }: Condition, record: LoggedRequest): boolean {
  if (operator === 'in') return values.some((value) => has(record, field, value));
  if (operator === 'not in') return !values.some((value) => has(record, field, value));
  const isDollars = filteredField(field)?.kind === 'dollars';
  const amount = amountOf(record, field);
  const bound = isDollars ? parseDollars(values[0] ?? '') : Number(values[0]);
  if (amount === null || bound === undefined) return false;
  if (operator === '>') return amount > bound;
  if (operator === '<') return amount < bound;
  return operator === '>=' ? amount >= bound : amount <= bound;
}

/** An empty value asks for records that have none. */
function has(record: LoggedRequest, name: string, value: string): boolean {
  const field = filteredField(name);
  if (field?.filter.kind === 'status') return hasStatus(record, value);
  if (field?.filter.kind === 'some') return String(Number(field.read(record)) > 0) === value;
  if (field?.filter.kind === 'prefix') return hexOf(record.id).startsWith(hexOf(value));
  if (field?.filter.kind === 'any') return hasAttempt(record, [{ field: name, values: [value] }]);
  if (field?.filter.kind === 'glob' && value !== '') return isLike(value)(filteredText(record, name) ?? '');
  return filteredText(record, name) === (value === '' ? null : value);
}

/**
 * Whether a text matches a filter by a glob: a glob with a star ignores case; a glob without one must equal the text,
 * as written or in lower case. The gateway's own codes are in lower case; codes of providers may be in any case.
 */
export function isLike(glob: string): (text: string) => boolean {
  const small = glob.toLowerCase();
  if (!isGlob(glob)) return (text) => text === glob || text === small;
  const pattern = patternOf(small);
  return (text) => text !== '' && pattern.test(text.toLowerCase());
}

export const isGlob = (value: string): boolean => value.includes('*');

function hasStatus(record: LoggedRequest, value: string): boolean {
  const { status } = record;
  if (value === 'ok') return !isError(record);
  if (value === 'error') return isError(record);
  return value.endsWith('xx') ? Math.floor(status / 100) === Number(value[0]) : status === Number(value);
}

/** What a bound compares: a number, or for dollars 10^-12 dollar. null: the record has no number there. */
function amountOf(record: LoggedRequest, name: string): number | bigint | null {
  const found = filteredValue(record, name);
  if (filteredField(name)?.kind === 'dollars') return parseDollars(typeof found === 'string' ? found : '') ?? null;
  return typeof found === 'number' ? found : null;
}
