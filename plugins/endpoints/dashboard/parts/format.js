/** Formats numbers and times for people. An unknown value is a dash and never a zero. */
import { read } from './storage.js';
import { timeNow } from './time-now.js';

/** The text of an unknown value. */
export const unknown = '–';
const whole = new Intl.NumberFormat('en-GB');
const short = new Intl.NumberFormat('en-GB', { notation: 'compact', maximumFractionDigits: 1 });

/** A number that the API gives as text, such as a price. @param {string | undefined | null} text */
export const numberOf = (text) => (text === undefined || text === null ? null : Number(text));

/** @param {number | null | undefined} value */
export const count = (value) => (value === null || value === undefined ? unknown : whole.format(value));
/** @param {number | null | undefined} value */
export const compact = (value) =>
  value === null || value === undefined
    ? unknown
    : value < 10_000
      ? whole.format(Math.round(value))
      : short.format(value).replace(/[a-z]+$/, (unit) => ` ${unit.toUpperCase()}`.replace('K', 'k').replace('BN', 'G').replace('TN', 'T'));

/**
 * Dollars with four significant digits; a tooltip shows all digits.
 * @param {string | number | null | undefined} dollars
 */
export function money(dollars) {
  if (dollars === null || dollars === undefined || dollars === '') return unknown;
  const value = Number(dollars);
  if (!Number.isFinite(value)) return unknown;
  if (value === 0) return '$0';
  // an amount that rounds up to the next step has the format of that step
  const size = Math.abs(value);
  if (size >= 999.995) return `$${whole.format(Math.round(value))}`;
  if (size >= 0.99995) return `$${value.toFixed(2)}`;
  if (size < 1e-12) return '<$0.000000000001';
  return `$${value.toFixed(Math.min(12, 3 - Math.floor(Math.log10(size)))).replace(/(\.\d{2,}?)0+$/, '$1')}`;
}

/** A price per token as a price per million tokens. @param {string | undefined | null} perToken */
export function perMillion(perToken) {
  if (perToken === undefined || perToken === null) return unknown;
  const value = Number(perToken) * 1e6;
  const digits = String(Number(value.toPrecision(6)));
  return value === 0 ? 'free' : `$${/\.\d\d/.test(digits) ? digits : value.toFixed(2)}`;
}

/** @param {number | null | undefined} ms */
export function duration(ms) {
  if (ms === null || ms === undefined) return unknown;
  if (ms < 1) return ms === 0 ? '0 ms' : '<1 ms';
  // the bounds fit the rounded number, as in `money`: "1000 ms", "10.00 s" and "60.0 s" never appear
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 9995) return `${(ms / 1000).toFixed(2)} s`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return inTwo(seconds, 60, ['m', 's']);
  const minutes = Math.round(seconds / 60);
  return minutes < 1440 ? inTwo(minutes, 60, ['h', 'm']) : inTwo(Math.round(minutes / 60), 24, ['d', 'h']);
}

/** A time in two units, for example `1 m 05 s`. @param {number} size @param {number} many @param {[string, string]} units */
const inTwo = (size, many, [large, small]) => `${Math.floor(size / many)} ${large} ${String(size % many).padStart(2, '0')} ${small}`;

/** Tokens per second. @param {number | null | undefined} value */
export const speed = (value) =>
  value === null || value === undefined
    ? unknown
    : value >= 100 || Number.isInteger(value)
      ? whole.format(Math.round(value))
      : value.toFixed(1);

/** @param {number} part @param {number} all */
export function percent(part, all) {
  if (all === 0) return unknown;
  const share = (100 * part) / all;
  // "100 %" is shown only where the part is the whole
  if (share < 100 && share >= 99.5) return share < 99.95 ? `${share.toFixed(1)} %` : '>99.9 %';
  return share > 0 && share < 0.1 ? '<0.1 %' : `${share >= 10 ? share.toFixed(0) : share.toFixed(1)} %`;
}

/**
 * The average cost of a request, over the requests with a known cost; null where there are none.
 * @param {{ cost: string | null, requests: number, unpriced: number }} row
 */
export const costPerRequest = ({ cost, requests, unpriced }) =>
  cost === null || requests <= unpriced ? null : Number(cost) / (requests - unpriced);

/** Whether a row has so many errors that they are marked. @param {{ errors: number, requests: number }} row */
export const failsMuch = ({ errors, requests }) => errors / requests >= 0.05;

/** @param {number | null | undefined} bytes */
export function size(bytes) {
  if (bytes === null || bytes === undefined) return unknown;
  const steps = ['B', 'kB', 'MB', 'GB'];
  // the rounded number decides the unit, as in `money`: "1000 kB" never appears
  const rounded = Number(bytes.toPrecision(3));
  const step = Math.min(steps.length - 1, Math.floor(Math.log10(Math.max(1, rounded)) / 3));
  return `${Number((rounded / 1000 ** step).toPrecision(3))} ${steps[step]}`;
}

/** Whether times are shown in UTC. */
export const isUtc = () => read('utc') === 'yes';

/** @type {Record<string, Intl.DateTimeFormat>} */
const formats = {};
const day = /** @type {const} */ ({ day: '2-digit', month: 'short', year: 'numeric' });
const time = /** @type {const} */ ({ hour: '2-digit', minute: '2-digit', second: '2-digit' });

/**
 * A time in a format.
 * cost: making a format takes much longer than using it, and a log shows a thousand times, so formats are kept.
 * @param {string} name @param {Intl.DateTimeFormatOptions} options @param {string | number} at
 */
function formatted(name, options, at) {
  const zone = isUtc() ? 'UTC' : undefined;
  return (formats[`${name} ${zone}`] ??= new Intl.DateTimeFormat('en-GB', { ...options, timeZone: zone })).format(new Date(at));
}

/** @param {string | number} at */
export const clock = (at) => formatted('time', time, at);
/** The day with its year. @param {string | number} at */
export const dayOf = (at) => formatted('day', day, at);
/** @param {string | number} at */
export const yearOf = (at) => formatted('year', { year: 'numeric' }, at);

/** @param {string | number} at @param {boolean} [isWhole] whether the current year is written too */
const withDay = (at, isWhole = false) =>
  `${isWhole ? dayOf(at) : dayOf(at).replace(dayOf(timeNow()).slice(-' 2026'.length), '')} ${clock(at)}`;

/**
 * A time: today without the day, this year with the day, else with day and year.
 * @param {string | number} at @param {{ isWhole?: boolean }} [how] `isWhole` always shows day and year
 */
export const moment = (at, { isWhole = false } = {}) => (isWhole || dayOf(at) !== dayOf(timeNow()) ? withDay(at, isWhole) : clock(at));

/** Without seconds where they are 0. @param {string} text */
const toMinute = (text) => text.replace(/(:\d\d):00$/, '$1');

/**
 * A span as short as it is clear: `14:30 to 16:00`, `21 Nov 10:00 to 11:30`,
 * and with both days where they differ: `21 Nov 00:00 to 22 Nov 00:00`.
 * @param {number} from @param {number} to @param {{ isWhole?: boolean }} [how] as for `moment`
 */
export function span(from, to, how) {
  if (dayOf(from) === dayOf(to)) return `${toMinute(moment(from, how))} to ${toMinute(clock(to))}`;
  return `${toMinute(withDay(from, how?.isWhole))} to ${toMinute(withDay(to, how?.isWhole))}`;
}

/** A moment without seconds where they are 0. @param {number} at @param {{ isWhole?: boolean }} [how] as for `moment` */
export const minute = (at, how) => toMinute(moment(at, how));

/** A time with milliseconds and its zone. @param {string | number} at */
export const exact = (at) =>
  isUtc()
    ? new Date(at).toISOString().replace('T', ' ')
    : `${formatted('exact', { dateStyle: 'medium', timeStyle: 'medium' }, at)}.${String(new Date(at).getMilliseconds()).padStart(3, '0')}`;

/** @param {string | number | null} at */
export function ago(at) {
  if (at === null) return 'never';
  const seconds = Math.max(0, (timeNow() - Number(new Date(at))) / 1000);
  if (seconds < 5) return 'just now';
  if (seconds < 60) return `${Math.floor(seconds)} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`;
  return `${Math.floor(seconds / 86_400)} d ago`;
}

/** @param {number} n @param {string} one @param {string} [many] */
export const plural = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;
