/**
 * Checks of the fields of a request. Each returns the value with its type, or
 * throws a GatewayError with the path of the field at fault; null counts as absent.
 */
import { GatewayError } from '../errors.ts';
import { type Fields, isFields, kindOf } from './fields.ts';

/** @param param the path of the field, for the error: `messages[0].content` */
export type Check<T> = (param: string, value: unknown) => T;

export const missing = (param: string, wanted: string): GatewayError =>
  new GatewayError('missing_required_parameter', `"${param}" is required: ${wanted}.`, { param });
export const wrongType = (param: string, wanted: string, value: unknown): GatewayError =>
  new GatewayError('invalid_type', `"${param}" must be ${wanted}, not ${kindOf(value)}.`, { param });
export const wrongValue = (param: string, text: string): GatewayError =>
  new GatewayError('invalid_value', `"${param}" ${text}.`, { param });

/** The body of a request. */
export function bodyFields(body: unknown): Fields {
  if (!isFields(body)) throw new GatewayError('invalid_type', `The request body must be a JSON object, not ${kindOf(body)}.`);
  return body;
}

/** Throws where the headers of a request do not say that its body is JSON. */
export function requireJson({ 'content-type': type = '' }: Readonly<Record<string, string | undefined>>): void {
  if (!/^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(type)) {
    throw new GatewayError('unsupported_media_type', 'The content type must be application/json.');
  }
}

/** Checks a value that may be absent. */
export const optional = <T>(param: string, value: unknown, check: Check<T>): T | null =>
  value === undefined || value === null ? null : check(param, value);

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

/**
 * A whole number that a float holds exactly. A larger number would lose
 * digits, and the provider would get another number than the caller sent.
 */
export const integer: Check<number> = (param, value) => {
  const checked = number(param, value);
  if (!Number.isSafeInteger(checked)) {
    throw wrongValue(param, `must be a whole number from ${Number.MIN_SAFE_INTEGER} to ${Number.MAX_SAFE_INTEGER}`);
  }
  return checked;
};

export const count: Check<number> = (param, value) => {
  const checked = number(param, value);
  if (!Number.isSafeInteger(checked) || checked < 1) throw wrongValue(param, 'must be a whole number of at least 1');
  return checked;
};

export const object: Check<Fields> = (param, value) => {
  if (!isFields(value)) throw wrongType(param, 'an object', value);
  return value;
};

export const list: Check<unknown[]> = (param, value) => {
  if (!Array.isArray(value)) throw wrongType(param, 'an array', value);
  return value;
};

export const listOf =
  <T>(check: Check<T>): Check<T[]> =>
  (param, value) =>
    list(param, value).map((item, at) => check(`${param}[${at}]`, item));

/** The name in `model`. */
export function modelName(value: unknown): string {
  if (value === undefined || value === null) throw missing('model', 'the id of a model, see GET /v1/models');
  const name = text('model', value);
  if (name.trim() === '') throw wrongValue('model', 'must not be empty');
  return name;
}
