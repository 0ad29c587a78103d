/** Checks for the fields of a request. Each throws a GatewayError with the path of the field at fault; null counts as absent. */
import { GatewayError } from '../../../core/errors.ts';
import { kindOf } from '../../../core/taps/returns.ts';
import { type Fields, isFields } from '../../../core/wire/fields.ts';

export type Check<T> = (param: string, value: unknown) => T;

export const missing = (param: string, wanted: string): GatewayError => new GatewayError('missing_required_parameter', `"${param}" is required: ${wanted}.`, { param });
export const wrongType = (param: string, wanted: string, value: unknown): GatewayError => new GatewayError('invalid_type', `"${param}" must be ${wanted}, not ${value === undefined ? 'nothing' : kindOf(value)}.`, { param });
export const wrongValue = (param: string, text: string): GatewayError => new GatewayError('invalid_value', `"${param}" ${text}.`, { param });
export const unsupported = (param: string, message: string): GatewayError => new GatewayError('unsupported_value', message, { param });

export const optional = <T>(param: string, value: unknown, check: Check<T>): T | null => (value === undefined || value === null ? null : check(param, value));

export const text: Check<string> = (param, value) => {
  if (typeof value !== 'string') throw wrongType(param, 'a string', value);
  return value;
};

export const boolean: Check<boolean> = (param, value) => {
  if (typeof value !== 'boolean') throw wrongType(param, 'a boolean', value);
  return value;
};

export const number: Check<number> = (param, value) => {
  if (typeof value !== 'number') throw wrongType(param, 'a number', value);
  return value;
};

export const count: Check<number> = (param, value) => {
  const checked = number(param, value);
  if (!Number.isSafeInteger(checked) || checked < 0) throw wrongValue(param, 'must be a whole number of at least 0');
  return checked;
};

export const limit: Check<number> = (param, value) => {
  const checked = number(param, value);
  if (!Number.isSafeInteger(checked) || checked < 1) throw wrongValue(param, 'must be a whole number of at least 1');
  return checked;
};

/** The object without its fields that are null, because null means absent. */
export const fields: Check<Fields> = (param, value) => {
  if (!isFields(value)) throw wrongType(param, 'an object', value);
  if (!Object.values(value).includes(null)) return value;
  return Object.fromEntries(Object.entries(value).filter(([, inner]) => inner !== null));
};

export const list: Check<readonly unknown[]> = (param, value) => {
  if (!Array.isArray(value)) throw wrongType(param, 'an array', value);
  return value as unknown[];
};

export const listOf = <T>(check: Check<T>): Check<T[]> => (param, value) => list(param, value).map((item, at) => check(`${param}[${at}]`, item));

/** The fields without those of these names. */
export const without = (given: Fields, ...names: readonly string[]): Fields => Object.fromEntries(Object.entries(given).filter(([name]) => !names.includes(name)));

/** An object with these fields, or undefined where there are none. */
export const someFields = (given: Fields): Fields | undefined => (Object.keys(given).length === 0 ? undefined : given);
