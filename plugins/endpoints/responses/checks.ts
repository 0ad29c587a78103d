/** Checks of this door that other doors do not need. */
import { GatewayError } from '../../../core/errors.ts';
import { type Check, object } from '../../../core/wire/checks.ts';
import type { Fields } from '../../../core/wire/fields.ts';

export const unsupported = (param: string, message: string): GatewayError => new GatewayError('unsupported_value', message, { param });

/** An object without its fields that are null, because null means absent. */
export const fields: Check<Fields> = (param, value) => {
  const given = object(param, value);
  return Object.values(given).includes(null) ? Object.fromEntries(Object.entries(given).filter(([, inner]) => inner !== null)) : given;
};

/** The fields without those of these names. */
export const without = (given: Fields, ...names: readonly string[]): Fields =>
  Object.fromEntries(Object.entries(given).filter(([name]) => !names.includes(name)));

/** The fields; undefined where there are none. */
export const someFields = (given: Fields): Fields | undefined => (Object.keys(given).length === 0 ? undefined : given);
