/** Numbers as people read them. What is not known is a dash, never a zero. */

export const unknown = '–';
const whole = new Intl.NumberFormat('en-GB');
const short = new Intl.NumberFormat('en-GB', { notation: 'compact', maximumFractionDigits: 1 });

/** @param {number | null | undefined} value */
export const count = (value) => (value === null || value === undefined ? unknown : whole.format(value));
/** @param {number | null | undefined} value */
export const compact = (value) => (value === null || value === undefined ? unknown : value < 10_000 ? whole.format(Math.round(value)) : short.format(value).replace(/[a-z]+$/, (unit) => ` ${unit.toUpperCase()}`.replace('K', 'k').replace('BN', 'G')));

/**
 * Dollars with four digits that count; a tooltip has all of them.
 * @param {string | number | null | undefined} dollars
 */
export function money(dollars) {
  if (dollars === null || dollars === undefined || dollars === '') return unknown;
  const value = Number(dollars);
  if (!Number.isFinite(value)) return unknown;
  if (value === 0) return '$0';
  const size = Math.abs(value);
  if (size >= 1000) return `$${whole.format(Math.round(value))}`;
  if (size >= 1) return `$${value.toFixed(2)}`;
  return `$${value.toFixed(Math.min(12, 3 - Math.floor(Math.log10(size)))).replace(/0+$/, '')}`;
}

/** A price per token as one per million. @param {string | undefined | null} perToken */
export function perMillion(perToken) {
  if (perToken === undefined || perToken === null) return unknown;
  const value = Number(perToken) * 1e6;
  const short = String(Number(value.toPrecision(6)));
  return value === 0 ? 'free' : `$${/\.\d\d/.test(short) ? short : value.toFixed(2)}`;
}

/** @param {number | null | undefined} ms */
export function duration(ms) {
  if (ms === null || ms === undefined) return unknown;
  if (ms < 1) return ms === 0 ? '0 ms' : '<1 ms';
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 10_000) return `${(ms / 1000).toFixed(2)} s`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  return `${Math.floor(ms / 60_000)} m ${String(Math.round((ms % 60_000) / 1000)).padStart(2, '0')} s`;
}

/** Tokens in a second. @param {number | null | undefined} value */
export const speed = (value) => (value === null || value === undefined ? unknown : value >= 100 || Number.isInteger(value) ? whole.format(Math.round(value)) : value.toFixed(1));

/** @param {number} part @param {number} all */
export function percent(part, all) {
  if (all === 0) return unknown;
  const share = (100 * part) / all;
  return share > 0 && share < 0.1 ? '<0.1 %' : `${share >= 10 ? share.toFixed(0) : share.toFixed(1)} %`;
}

/** More errors than one looks past. @param {{ errors: number, requests: number }} row */
export const failsMuch = ({ errors, requests }) => errors / requests >= 0.05;

/** @param {number | null | undefined} bytes */
export function size(bytes) {
  if (bytes === null || bytes === undefined) return unknown;
  const steps = ['B', 'kB', 'MB', 'GB'];
  const step = Math.min(steps.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3));
  return `${Number((bytes / 1000 ** step).toPrecision(3))} ${steps[step]}`;
}

export const isUtc = () => localStorage.getItem('gateway.utc') === 'yes';
const zone = () => (isUtc() ? { timeZone: 'UTC' } : {});

/** @param {string | number} at */
export function clock(at) {
  return new Date(at).toLocaleTimeString('en-GB', zone());
}

/** Today's by the clock alone, others with their day. @param {string | number} at */
export function moment(at) {
  const date = new Date(at);
  const day = date.toLocaleDateString('en-GB', { day: '2-digit', month: 'short', ...zone() });
  const today = new Date().toLocaleDateString('en-GB', { day: '2-digit', month: 'short', ...zone() });
  return day === today ? clock(at) : `${day} ${clock(at)}`;
}

/** To the millisecond, with its zone. @param {string | number} at */
export const exact = (at) => (isUtc() ? new Date(at).toISOString().replace('T', ' ') : `${new Date(at).toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'medium' })}.${String(new Date(at).getMilliseconds()).padStart(3, '0')}`);

/** @param {string | number | null} at */
export function ago(at) {
  if (at === null) return 'never';
  const seconds = Math.max(0, (Date.now() - Number(new Date(at))) / 1000);
  if (seconds < 5) return 'just now';
  if (seconds < 60) return `${Math.floor(seconds)} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`;
  return `${Math.floor(seconds / 86_400)} d ago`;
}

/** @param {number} n @param {string} one @param {string} [many] */
export const plural = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;
