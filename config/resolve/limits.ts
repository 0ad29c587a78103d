/** Resolves `limits`, and the limits of keys. */
import type { Amounts, Limit } from '../../core/limits.ts';
import { fitsSome } from '../../core/names.ts';
import type { Askable } from '../../core/names.ts';
import { budgetFault } from '../../core/money.ts';
import { listOf } from '../../core/wire/fields.ts';
import type { KeyLimitsBlock, LimitBlock } from '../../schemas/limits.ts';
import type { Findings, Place } from '../problems.ts';
import type { Reading } from '../read.ts';
import type { Path } from '../source.ts';

/** The values that `match` may name. */
interface KnownValues {
  readonly keys: readonly string[];
  /** The ids of models, and the prefixes that wildcards let through. */
  readonly models: () => Askable;
  readonly providers: readonly string[];
}

/**
 * Resolves the entries of the main file that have passed the schema. An entry
 * that limits nothing, or limits what it cannot, is reported to `findings`.
 */
export function resolveLimits(main: Reading, known: KnownValues, findings: Findings): Limit[] {
  const blocks = listOf(main.value['limits']) as readonly LimitBlock[];
  return blocks.flatMap((block, index) => {
    const place = (...inside: Path): Place => ({ source: main.source, path: ['limits', index, ...inside] });
    if (!findings.isSound(place())) return [];
    const { by, match = null } = block;
    const amounts = resolveAmounts(block, place, findings);
    if (match !== null && by === 'all') {
      findings.error({ ...place('match'), at: 'key' }, '`by: all` counts all requests, so there is no value to match', 'leave `match` out');
    }
    if (by === 'key' && known.keys.length === 0) findings.warn(place('by'), 'there are no `keys`, so this limits nobody');
    else if (match !== null && !mayMatch(match, valuesOf(by, known))) findings.warn(place('match'), `"${match}" matches no ${by}`);
    return [{ by, match, ...amounts }];
  });
}

/** Resolves the amounts of a limit, or of a key. A limit without any amount is reported to `findings`. */
export function resolveAmounts(
  { requests_per_minute: requests, tokens_per_minute: tokens, concurrent, budget }: KeyLimitsBlock,
  place: (...inside: Path) => Place,
  findings: Findings,
): Amounts {
  if (budget !== undefined) checkDollars(budget.dollars, place('budget', 'dollars'), findings);
  if (requests === undefined && tokens === undefined && concurrent === undefined && budget === undefined) {
    findings.error(place(), 'limits nothing', 'add requests_per_minute, tokens_per_minute, concurrent or budget');
  }
  return { requestsPerMinute: requests ?? null, tokensPerMinute: tokens ?? null, concurrent: concurrent ?? null, budget: budget ?? null };
}

function checkDollars(dollars: string, place: Place, findings: Findings): void {
  const fault = budgetFault(dollars);
  if (fault !== null) findings.error(place, fault, fault.startsWith('is finer') ? 'leave the last digits out' : null);
}

/** Null: callers choose the values. */
function valuesOf(by: string, { keys, models, providers }: KnownValues): Askable | null {
  if (by === 'model') return models();
  if (by === 'key') return listed(keys);
  return by === 'provider' ? listed(providers) : null;
}

const listed = (names: readonly string[]): Askable => ({ names: new Set(names), beginnings: [] });

const mayMatch = (glob: string, values: Askable | null): boolean => values === null || fitsSome(glob, values);
