/** Conditions on one dimension as rules on its values, so that kept sums can answer a query as the records would. */
import { filteredField } from '../../../../core/log/filters.ts';
import { isLike } from '../../../../core/log/match.ts';
import type { Condition } from '../../../../core/log/store.ts';
import { failed } from '../sql/where.ts';

export interface Rule {
  readonly dimension: string;
  keeps(this: void, value: string | null): boolean;
}

/** null: kept sums cannot answer the condition. */
export function ruleOf({ field, operator, values }: Condition): Rule | null {
  if ((operator !== 'in' && operator !== 'not in') || values.length === 0) return null;
  const rule = field === 'status' ? statusRule(values) : valueRule(field, values);
  return rule === null || operator === 'in' ? rule : { ...rule, keeps: (value) => !rule.keeps(value) };
}

function valueRule(field: string, values: readonly string[]): Rule | null {
  // sums by a dimension of attempts count attempts, not requests
  if (filteredField(field)?.filter.kind === 'any') return null;
  if (filteredField(field)?.filter.kind === 'glob') return globRule(field, values);
  if (filteredField(field)?.filter.kind === 'flag' && !values.every((value) => value === 'true' || value === 'false')) return null;
  return { dimension: field, keeps: (value) => (value === null ? values.includes('') : value !== '' && values.includes(value)) };
}

function globRule(field: string, values: readonly string[]): Rule {
  const likes = values.map(isLike);
  return { dimension: field, keeps: (value) => (value === null ? values.includes('') : likes.some((like) => like(value))) };
}

function statusRule(values: readonly string[]): Rule | null {
  if (values.every((value) => value === 'ok' || value === 'error')) {
    return { dimension: failed, keeps: (value) => values.includes(value === 'true' ? 'error' : 'ok') };
  }
  if (!values.every((value) => /^[1-5](?:\d\d|xx)$/i.test(value))) return null;
  return {
    dimension: 'status',
    keeps: (value) =>
      values.some((wanted) => (/x/i.test(wanted) ? value?.length === 3 && value.startsWith(wanted.slice(0, 1)) : wanted === value)),
  };
}
