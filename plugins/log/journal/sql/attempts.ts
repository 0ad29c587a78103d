/**
 * Attempts as rows. A request that was answered by the first target that was asked, as most are, needs no row for its attempt: its own row
 * has the target. The attempts of every other request are rows of `gateway_attempts`.
 */
import type { AttemptDimension } from '../../../../core/log/attempts.ts';
import { isFault, isRescued, onlyTargetOf, targetOf } from '../../../../core/log/attempts.ts';
import type { FieldKind } from '../../../../core/log/fields.ts';
import type { LoggedRequest } from '../../../../core/log/store.ts';
import { count, longestText, text } from './clean.ts';

/** Columns of `gateway_requests` that serve queries only. No record is read from them. */
export const askedColumns = [
  { column: 'attempts', kind: 'number' },
  { column: 'target', kind: 'text' },
  { column: 'rescued', kind: 'flag' },
  { column: 'error_code', kind: 'text' },
  { column: 'used', kind: 'flag' },
] as const satisfies readonly { readonly column: string; readonly kind: FieldKind }[];

/** The values of these columns. */
export interface Asked {
  readonly attempts: number;
  /** null: the attempts of the request have rows of their own. */
  readonly target: string | null;
  readonly rescued: boolean;
  readonly error_code: string | null;
  /** Whether a provider may charge for a request that was not answered. */
  readonly used: boolean;
}

/** A row of `gateway_attempts`. */
export interface AttemptRow {
  readonly id: string;
  /** From 1. */
  readonly number: number;
  readonly provider: string | null;
  readonly model: string | null;
  readonly target: string | null;
  /** How it ended: `answered`, `outrun`, or the code of the error. */
  readonly code: string | null;
  readonly failed: boolean;
  readonly rescued: boolean;
  readonly duration_ms: number | null;
}

/** The columns of `gateway_attempts` with their types in PostgreSQL. */
export const attemptColumns: Readonly<Record<keyof AttemptRow, string>> = {
  id: 'uuid',
  number: 'integer',
  provider: 'text',
  model: 'text',
  target: 'text',
  code: 'text',
  failed: 'boolean',
  rescued: 'boolean',
  duration_ms: 'integer',
};

/**
 * The columns of `gateway_attempts` by which attempts are queried, and the expressions
 * for the same values in the row of a request whose only attempt has no row.
 */
export const attemptSql: Readonly<Record<AttemptDimension, readonly [attempt: string, request: string]>> = {
  'attempt.provider': ['a.provider', 'r.provider'],
  'attempt.model': ['a.model', 'r.model'],
  'attempt.code': ['a.code', "cast('answered' as text)"],
  'attempt.target': ['a.target', 'r.target'],
};

type Told = Pick<LoggedRequest, 'id' | 'outcome'> & { readonly target?: string | undefined; readonly used?: true | undefined };
type More = Pick<LoggedRequest, 'attempts' | 'error'>;

/** @param more JSON of the fields without a column. cost: it is parsed only where the attempts need rows of their own */
export function attemptsOf(
  { id, outcome, target, used }: Told,
  more: string,
): { readonly asked: Asked; readonly attempts: readonly AttemptRow[] } {
  if (typeof target === 'string') {
    return { asked: { attempts: 1, target: text(target, longestText), rescued: false, error_code: null, used: false }, attempts: [] };
  }
  const { attempts: told, error } = JSON.parse(more) as Partial<More>;
  const attempts = Array.isArray(told) ? (told as LoggedRequest['attempts']) : [];
  const only = onlyTargetOf({ outcome, attempts });
  const rescued = isRescued({ outcome, attempts });
  const asked = {
    attempts: attempts.length,
    target: only === undefined ? null : text(only, longestText),
    rescued,
    error_code: text(error?.code, longestText),
    used: used ?? false,
  };
  return { asked, attempts: only === undefined ? attempts.map((attempt, at) => rowOf(attempt, { id, number: at + 1, rescued })) : [] };
}

function rowOf(
  attempt: LoggedRequest['attempts'][number],
  { id, number, rescued }: Pick<AttemptRow, 'id' | 'number' | 'rescued'>,
): AttemptRow {
  const failed = isFault(attempt);
  return {
    id,
    number,
    provider: text(attempt.provider, longestText),
    model: text(attempt.model, longestText),
    target: text(targetOf(attempt), longestText),
    code: text(attempt.outcome, longestText),
    failed,
    rescued: rescued && failed,
    duration_ms: count(attempt.durationMs),
  };
}
