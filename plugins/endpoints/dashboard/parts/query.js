/** What is asked of the log: a range and filters. The address, the search bar and the API have one grammar: that of `core/log/query.ts`. */
import { fields, timeFilters } from './fields.js';
import { idAlone } from './record-id.js';
import { timeOf } from './time-of.js';
import { timeNow } from './time-now.js';

/** @typedef {{ field: string, value: string, not: boolean }} Filter */

const filtered = fields.filter(({ filter }) => filter !== undefined);
/** What can be written in the search bar, besides metadata and fields of plugins. */
export const names = [...filtered.map(({ filter }) => filter), ...timeFilters, 'q'];
/** Values that the search bar offers, by name of the filter. */
export const examples = Object.fromEntries(filtered.map(({ filter, examples = [] }) => [filter, examples]));

const keyed = /^(?:meta\.[^=]+|field\.[\w.-]+)$/;
/** Whether a name is `meta.<key>` or `field.<name>`. @param {string} field */
export const isKeyed = (field) => keyed.test(field);
/** @param {string} field */
export const keyOf = (field) => field.replace(/^(?:meta|field)\./, '');

const bounds = filtered.filter(({ asks }) => asks === 'bound' || asks === 'count').map(({ filter }) => filter);
/** @param {string} field @param {string} value */
const isBound = (field, value) =>
  /^[<>]/.test(value) && (bounds.includes(field) || (field.startsWith('field.') && /^[<>]=?\s*-?\d/.test(value)));

export const presets = /** @type {const} */ ({
  '15m': 'Last 15 min',
  '1h': 'Last hour',
  '6h': 'Last 6 h',
  '24h': 'Last 24 h',
  '7d': 'Last 7 days',
  '30d': 'Last 30 days',
});
export const defaultSince = '24h';

const day = 86_400_000;
const units = { s: 1000, m: 60_000, h: 3_600_000, d: day, w: 7 * day };

/** A hundred years: the server takes no more, and far beyond them no date can be written. */
const longestSpan = 100 * 365 * day;

/** @param {string} text such as 24h */
function spanOf(text) {
  const [, amount, unit] = /^(\d{1,12}(?:\.\d{1,6})?)([smhdw])$/.exec(text) ?? [];
  const span = Math.round(Number(amount) * units[/** @type {keyof typeof units} */ (unit)]);
  return span > 0 && span <= longestSpan ? span : null;
}

const isoTime = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(Z|[+-]\d\d:?\d\d)?)?$/i;

/** A time without a zone is UTC, so that an address means the same in every browser and to the server. @param {string | null} text */
function momentOf(text) {
  // an address that does not encode its plus sign arrives with a blank instead
  const written = (text ?? '').replace(/ (\d\d:?\d\d)$/, '+$1');
  const match = isoTime.exec(written);
  const at = match === null ? Number.NaN : Date.parse(written.length > 10 && match[1] === undefined ? `${written}Z` : written);
  return Number.isNaN(at) ? null : at;
}

/** Parameters of an address that are neither times nor filters: they say how a page shows its data. */
const ofPages = ['cols', 'cursor', 'live', 'log', 'tab', 'by', 'sub', 'metric', 'view', 'top', 'rank', 'sort', 'order', 'meta'];

/** Every name that is not of a page and not a time is a filter: the server reports an unknown filter. @param {string} name */
export const isFilter = (name) => !ofPages.includes(name) && !timeFilters.includes(name);

/** Whether there is such a filter. @param {string} name */
export function isKnown(name) {
  const field = name.replace(/^-/, '');
  return isKeyed(field) || names.includes(field);
}

/** @param {URLSearchParams} params @returns {Filter[]} */
export const filtersOf = (params) =>
  [...params]
    .filter(([name]) => isFilter(name))
    .map(([name, value]) => ({ field: name.replace(/^-/, ''), value, not: name.startsWith('-') }));

/**
 * The range as moments. A relative range ends now; an end without a start means the usual length of time before it.
 * @param {URLSearchParams} params
 */
export function rangeOf(params, now = timeNow()) {
  const since = params.get('since') ?? defaultSince;
  const span = spanOf(since) ?? day;
  const [from, to] = [momentOf(params.get('from')), momentOf(params.get('to'))];
  if (from === null && to === null) return { from: now - span, to: now, isRelative: true, since };
  return { from: from ?? (params.has('since') ? now : (to ?? now)) - span, to: to ?? now, isRelative: to === null, since: null };
}

/** A usual range that holds all of this one and more; null if there is none. @param {URLSearchParams} params */
export function widerSince(params, now = timeNow()) {
  const { from } = rangeOf(params, now);
  return ['7d', '30d'].find((since) => now - (spanOf(since) ?? 0) < from) ?? null;
}

/**
 * A range that holds a moment now and for some minutes more: the range of the address, if it does.
 * @param {number} at @param {URLSearchParams} params @returns {URLSearchParams}
 */
export function rangeHolding(at, params, now = timeNow()) {
  const { from, to, isRelative } = rangeOf(params, now);
  if (at >= from + (isRelative ? (to - from) / 20 : 0) && (isRelative || at < to)) return timeOf(params);
  const since = ['24h', '7d', '30d'].find((name) => at > now - 0.95 * (spanOf(name) ?? 0));
  if (since === undefined) {
    return new URLSearchParams({ from: new Date(at - day / 2).toISOString(), to: new Date(at + day / 2).toISOString() });
  }
  return new URLSearchParams(since === defaultSince ? {} : { since });
}

/** The parameters for the API: range and filters. @param {URLSearchParams} params @param {Record<string, string>} [more] */
export function apiParams(params, more = {}) {
  const asked = new URLSearchParams();
  for (const name of timeFilters) if (params.has(name)) asked.set(name, params.get(name) ?? '');
  // without `since` and `from`, the server starts the range a day before now, even if `to` is earlier
  if (momentOf(asked.get('to')) !== null && !asked.has('since') && !asked.has('from')) {
    asked.set('from', new Date(rangeOf(params).from).toISOString());
  }
  if (!asked.has('since') && !asked.has('from')) asked.set('since', defaultSince);
  for (const [name, value] of params) if (isFilter(name)) asked.append(name, value);
  for (const [name, value] of Object.entries(more)) asked.set(name, value);
  return String(asked);
}

/** Adds a filter to those of an address. @param {URLSearchParams} params @param {Filter} filter */
export function addFilter(params, { field, value, not }) {
  const next = new URLSearchParams(params);
  const name = `${not ? '-' : ''}${field}`;
  next.delete('cursor');
  if (timeFilters.includes(name)) return withTime(next, name, value);
  if (field === 'q') next.delete(name);
  // a lower and an upper bound together are a range; a new lower bound replaces the old lower bound
  if (isBound(field, value)) for (const bound of next.getAll(name)) if (bound[0] === value[0]) next.delete(name, bound);
  if (!next.getAll(name).includes(value)) next.append(name, value);
  return next;
}

/**
 * Replaces all filters of the same field, so that a click on a value never shows more than before.
 * @param {URLSearchParams} params @param {Filter} filter
 */
export function onlyFilter(params, filter) {
  const next = new URLSearchParams(params);
  if (!filter.not) for (const name of [filter.field, `-${filter.field}`]) next.delete(name);
  return addFilter(next, filter);
}

/** Sets `since`, `from` or `to`, and removes the parameters of time that contradict the new one. */
function withTime(params, name, value) {
  const others = timeFilters.filter((other) => other !== name);
  params.set(name, value);
  if (name === 'from') params.delete('since');
  const { from, to } = rangeOf(params);
  if (name === 'since' || from >= to) for (const other of others) params.delete(other);
  return params;
}

/** @param {URLSearchParams} params @param {Filter} filter */
export function removeFilter(params, { field, value, not }) {
  const next = new URLSearchParams(params);
  next.delete(`${not ? '-' : ''}${field}`, value);
  next.delete('cursor');
  return next;
}

const word =
  /(-?)(meta\."(?:[^"\\]|\\.)*"|[\w-]+(?:\.[^\s=:<>"]+)?)(?:[:=]|(?=[<>]))(?:"((?:[^"\\]|\\.)*)"|((?!")\S*))|"((?:[^"\\]|\\.)*)"|\S+/g;
/** A value as it is written in a search bar. @param {string} value */
export const inBar = (value) => (value === '*' || /[\s"\\]/.test(value) ? `"${value.replaceAll(/["\\]/g, '\\$&')}"` : value);
/** The name of a field as it is written in a search bar. @param {string} field */
export const fieldInBar = (field) =>
  /^meta\..*[\s=:<>"]/.test(field) ? `meta."${field.slice('meta.'.length).replaceAll(/["\\]/g, '\\$&')}"` : field;
const unescaped = (text) => text.replaceAll(/\\(.)/g, '$1');

/**
 * `model:x -status:ok meta.team=a latency:>2s since:1h "words"`: the grammar
 * of `core/log/search.ts`. A word without a field is searched for as text.
 * @param {string} text @returns {Filter[]}
 */
export function parseBar(text) {
  const id = idAlone(text);
  if (id !== null) return [{ field: 'id', value: id, not: false }];
  const found = [];
  const words = [];
  for (const [whole, minus, name = '', quoted, plain, quotedText] of text.matchAll(word)) {
    const field = name.startsWith('meta."') ? `meta.${unescaped(name.slice('meta."'.length, -1))}` : name;
    const value = quoted === undefined ? plain : unescaped(quoted);
    if (value !== undefined && field === 'q' && minus === '') words.push(value);
    else if (value !== undefined && name !== '') {
      // "any value" is written as "not none"
      const isAny = plain === '*';
      found.push({ field, value: isAny ? '' : value, not: (minus === '-') !== isAny });
    } else words.push(quotedText === undefined ? whole : unescaped(quotedText));
  }
  return words.length === 0 ? found : [...found, { field: 'q', value: words.join(' '), not: false }];
}

/** Round spans of time. */
export const steps = [1, 5, 15, 30, 60, 300, 900, 1800, 3600, 10_800, 21_600, 86_400, 172_800, 604_800].map((seconds) => seconds * 1000);

/** A round width that gives at most so many columns. @param {number} span @param {number} columns */
export const bucketOf = (span, columns = 60) => steps.find((step) => span / step <= columns) ?? 604_800_000;

/** @param {Filter} filter */
export const wordsOf = ({ field, value }) => (field === 'q' ? ['text', value] : [keyOf(field), value === '' ? 'none' : value]);
