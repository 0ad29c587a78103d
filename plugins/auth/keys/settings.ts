/** The settings of a key that is kept in the store: those of an entry of `keys`, under their names in the YAML. */
import { momentOf } from '../../../core/api-key.ts';
import type { KeyEntry } from '../../../core/api-key.ts';
import type { ReasoningField } from '../../../core/chat.ts';
import { GatewayError } from '../../../core/errors.ts';
import type { Amounts, Budget } from '../../../core/limits.ts';
import { budgetFault } from '../../../core/money.ts';
import { didYouMean } from '../../../core/names.ts';
import { boolean, count, listOf, object, text, wrongValue } from '../../../core/wire/checks.ts';
import type { Check } from '../../../core/wire/checks.ts';
import type { Fields } from '../../../core/wire/fields.ts';

/** `limits` of a key, as in the YAML. */
export interface KeyLimits {
  readonly requests_per_minute?: number;
  readonly tokens_per_minute?: number;
  readonly concurrent?: number;
  readonly budget?: Budget;
}

export interface KeySettings {
  /** Null: all models. */
  readonly models: readonly string[] | null;
  readonly metadata: Readonly<Record<string, string>>;
  readonly log_bodies: boolean;
  readonly cache: boolean;
  /** Null: the names of the server. */
  readonly reasoning_fields: readonly ReasoningField[] | null;
  readonly limits: KeyLimits | null;
  /** A date or a time; null: never. */
  readonly expires: string | null;
  readonly disabled: boolean;
}

export const plainSettings: KeySettings = {
  models: null,
  metadata: {},
  log_bodies: true,
  cache: false,
  reasoning_fields: null,
  limits: null,
  expires: null,
  disabled: false,
};

const filled: Check<string> = (param, value) => {
  const checked = text(param, value);
  if (checked.trim() === '') throw wrongValue(param, 'must not be empty');
  return checked;
};

const oneOf =
  <Word extends string>(words: readonly Word[]): Check<Word> =>
  (param, value) => {
    const found = words.find((word) => word === value);
    if (found === undefined) throw wrongValue(param, `must be one of ${words.join(', ')}`);
    return found;
  };

/** @param meaning of null */
const atLeastOne =
  <T>(check: Check<T>, meaning: string): Check<T[]> =>
  (param, value) => {
    const items = listOf(check)(param, value);
    if (items.length === 0) throw wrongValue(param, `needs at least one entry; null means ${meaning}`);
    return items;
  };

/** Refuses unknown fields. */
export function onlyKnown(fields: Fields, known: readonly string[], path = ''): void {
  const unknown = Object.keys(fields).find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw new GatewayError('invalid_value', `There is no field "${path}${unknown.slice(0, 100)}".${didYouMean(unknown, known)}`, {
      param: `${path}${unknown.slice(0, 100)}`,
    });
  }
}

const budget: Check<Budget> = (param, value) => {
  const fields = object(param, value);
  onlyKnown(fields, ['dollars', 'per', 'unknown'], `${param}.`);
  const dollars = text(`${param}.dollars`, fields['dollars']);
  const fault = budgetFault(dollars);
  if (fault !== null) throw wrongValue(`${param}.dollars`, fault);
  return {
    dollars,
    per: oneOf<Budget['per']>(['day', 'week', 'month', 'total'])(`${param}.per`, fields['per']),
    unknown: oneOf<Budget['unknown']>(['admit', 'refuse'])(`${param}.unknown`, fields['unknown'] ?? 'admit'),
  };
};

const amountChecks = { requests_per_minute: count, tokens_per_minute: count, concurrent: count, budget } as const;

const limits: Check<KeyLimits> = (param, value) => {
  const fields = object(param, value);
  onlyKnown(fields, Object.keys(amountChecks), `${param}.`);
  const given = Object.entries(amountChecks).flatMap(([name, check]) =>
    fields[name] === undefined || fields[name] === null ? [] : [[name, check(`${param}.${name}`, fields[name])] as const],
  );
  if (given.length === 0) throw wrongValue(param, 'limits nothing; null means no limits');
  return Object.fromEntries(given);
};

const metadata: Check<Readonly<Record<string, string>>> = (param, value) => {
  const entries = Object.entries(object(param, value));
  if (entries.some(([name]) => name.trim() === '')) throw wrongValue(param, 'must have a name for each value');
  return Object.fromEntries(entries.map(([name, one]) => [name.toLowerCase(), text(`${param}.${name.slice(0, 100)}`, one)]));
};

const expires: Check<string> = (param, value) => {
  const written = text(param, value);
  if (momentOf(written) === null) throw wrongValue(param, 'must be a date such as 2027-01-31, or a time such as 2027-01-31T18:00:00Z');
  return written;
};

const checks: { readonly [Name in keyof KeySettings]: Check<NonNullable<KeySettings[Name]>> } = {
  models: atLeastOne(filled, 'all models'),
  metadata,
  log_bodies: boolean,
  cache: boolean,
  reasoning_fields: atLeastOne(oneOf<ReasoningField>(['reasoning', 'reasoning_content']), 'those of the server'),
  limits,
  expires,
  disabled: boolean,
};

export const settingNames = Object.keys(checks) as readonly (keyof KeySettings)[];

/** The settings in a body; null resets a setting to its default. */
export function givenSettings(fields: Fields): Partial<KeySettings> {
  return Object.fromEntries(
    settingNames.flatMap((name) =>
      fields[name] === undefined ? [] : [[name, fields[name] === null ? plainSettings[name] : checks[name](name, fields[name])]],
    ),
  );
}

const longestName = 100;
/**
 * Names that a key cannot have: the log names requests of the dashboard `dashboard`, `/api/keys/audit` is
 * the audit list, and clients remove `.` and `..` from an address, so such a key could never be changed.
 */
const reserved: ReadonlySet<string> = new Set(['dashboard', 'audit', '.', '..']);

/** The name of a new key. */
export const keyName: Check<string> = (param, value) => {
  const name = text(param, value);
  if (!/^[^\p{C}]+$/u.test(name) || name.trim() !== name || name.length > longestName) {
    throw wrongValue(param, `must have from 1 to ${longestName} characters, with no space at its ends and no control characters`);
  }
  if (reserved.has(name)) throw wrongValue(param, `must not be "${name}", which is a reserved name`);
  return name;
};

export const amountsOf = (given: KeyLimits | null): Amounts | null =>
  given === null
    ? null
    : {
        requestsPerMinute: given.requests_per_minute ?? null,
        tokensPerMinute: given.tokens_per_minute ?? null,
        concurrent: given.concurrent ?? null,
        budget: given.budget ?? null,
      };

/** Limits as they are written. */
export function limitsOf(amounts: KeyEntry['limits']): KeyLimits | null {
  if (amounts === null) return null;
  const { requestsPerMinute, tokensPerMinute, concurrent, budget: own } = amounts;
  return {
    ...(requestsPerMinute !== null && { requests_per_minute: requestsPerMinute }),
    ...(tokensPerMinute !== null && { tokens_per_minute: tokensPerMinute }),
    ...(concurrent !== null && { concurrent }),
    ...(own !== null && { budget: own }),
  };
}
