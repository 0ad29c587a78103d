/** Budgets: dollars, and the period in LiteLLM's words (`30d`, `24h`, `1mo`). */
import type { Budget } from '../../../core/limits.ts';
import { budgetFault, dollarsOf } from '../../../core/money.ts';
import { bare } from '../../../core/wire/fields.ts';
import { numberOf, textOf } from '../foreign.ts';

type Found = Pick<Budget, 'dollars' | 'per'>;

const periods: Readonly<Record<string, Budget['per']>> = bare({
  '24h': 'day',
  '1d': 'day',
  daily: 'day',
  '7d': 'week',
  '1w': 'week',
  weekly: 'week',
  '30d': 'month',
  '31d': 'month',
  '1mo': 'month',
  monthly: 'month',
});

/** Null: no budget. A text: the reason why the budget has no counterpart. */
export function budgetOf(amount: unknown, duration: unknown): Found | string | null {
  const dollars = dollarsOf(numberOf(amount));
  if (dollars === undefined) return null;
  const fault = budgetFault(dollars);
  if (fault !== null) return `the budget ${fault}`;
  const period = textOf(duration);
  const per = period === null ? 'total' : periods[period];
  if (per === undefined) return `a budget is for a day, a week, a month or all time, not ${period}`;
  return { dollars, per };
}
