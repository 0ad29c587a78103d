/** The limits as people see them: in a dry run, in `GET /api/limits` and in `gateway limits`. */
import { formatDollars } from '../../../core/money.ts';
import { leftOf } from './refusal.ts';
import type { BudgetCap, BudgetLevel, Level, Subject } from './ledger.ts';

export interface ExplainedLimit {
  /** `all`, `key`, `model`, `provider` or `meta.<name>`. */
  readonly by: string;
  readonly value: string;
  readonly limit: 'requests_per_minute' | 'tokens_per_minute' | 'concurrent' | 'budget';
  /** The period of a budget; null: it is no budget. */
  readonly per: BudgetCap['per'] | null;
  /** A number, or dollars as a decimal. */
  readonly allowed: number | string;
  /** The amount that is used; of a budget, the dollars that were spent. Null: not known yet. */
  readonly used: number | string | null;
  /** Dollars that running requests may still cost; null: it is no budget. */
  readonly held: string | null;
  readonly remaining: number | string | null;
}

export function explainedLimits(subjects: readonly Subject[], levels: readonly Level[]): ExplainedLimit[] {
  return subjects.flatMap((subject, at) => ofSubject(subject, levels[at] as Level));
}

function ofSubject({ by, value, caps }: Subject, level: Level): ExplainedLimit[] {
  const counted = (limit: ExplainedLimit['limit'], allowed: number | null, used: number): ExplainedLimit[] =>
    allowed === null ? [] : [{ by, value, limit, per: null, allowed, used, held: null, remaining: Math.max(0, allowed - used) }];
  return [
    ...counted('requests_per_minute', caps.requests, level.requests),
    ...counted('tokens_per_minute', caps.tokens, level.tokens),
    ...counted('concurrent', caps.concurrent, level.running),
    ...caps.budgets.map((cap, index) => ofBudget({ by, value }, cap, level.budgets[index] as BudgetLevel)),
  ];
}

const ofBudget = ({ by, value }: Pick<Subject, 'by' | 'value'>, cap: BudgetCap, state: BudgetLevel): ExplainedLimit => ({
  by,
  value,
  limit: 'budget',
  per: cap.per,
  allowed: formatDollars(cap.pico),
  used: state.spent === null ? null : formatDollars(state.spent),
  held: formatDollars(state.held),
  remaining: state.spent === null ? null : formatDollars(leftOf(cap, state)),
});
