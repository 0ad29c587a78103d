/** What is asked of the log: a range and filters. One grammar for the address, the search bar and the API: that of `core/log/query.ts`. */

/** @typedef {{ field: string, value: string, not: boolean }} Filter */

const boundFields = ['latency', 'ttft', 'tokens', 'cost'];
const fields = ['model', 'provider', 'status', 'key', 'finish', 'outcome', 'stream', 'cached', 'reasoning', 'agent', ...boundFields];
const timeFields = ['since', 'from', 'to'];
/** What can be written in the search bar, metadata beside it. */
export const names = [...fields, ...timeFields, 'q'];
export const presets = /** @type {const} */ ({ '15m': 'Last 15 min', '1h': 'Last hour', '6h': 'Last 6 h', '24h': 'Last 24 h', '7d': 'Last 7 days', '30d': 'Last 30 days' });
export const defaultSince = '24h';

const day = 86_400_000;
const units = { s: 1000, m: 60_000, h: 3_600_000, d: day, w: 7 * day };

/** @param {string} text such as 24h */
function spanOf(text) {
  const [, amount, unit] = /^(\d{1,12}(?:\.\d{1,6})?)([smhdw])$/.exec(text) ?? [];
  return Math.round(Number(amount) * units[/** @type {keyof typeof units} */ (unit)]) || null;
}

const isoTime = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(Z|[+-]\d\d:?\d\d)?)?$/i;

/** A time without a zone is UTC: an address means the same in every browser, and to the server. @param {string | null} text */
function momentOf(text) {
  // a plus sign in an address is a blank where nobody encoded it
  const written = (text ?? '').replace(/ (\d\d:?\d\d)$/, '+$1');
  const match = isoTime.exec(written);
  const at = match === null ? Number.NaN : Date.parse(written.length > 10 && match[1] === undefined ? `${written}Z` : written);
  return Number.isNaN(at) ? null : at;
}

/** An excluded time too: the server says what is wrong with it. @param {string} name */
export function isFilter(name) {
  const field = name.replace(/^-/, '');
  return /^meta\.[^=]+$/.test(field) || (names.includes(field) && !timeFields.includes(name));
}

/** @param {URLSearchParams} params @returns {Filter[]} */
export const filtersOf = (params) => [...params].filter(([name]) => isFilter(name)).map(([name, value]) => ({ field: name.replace(/^-/, ''), value, not: name.startsWith('-') }));

/** The range as moments. A relative one ends now; an end alone ends the usual length of time. @param {URLSearchParams} params */
export function rangeOf(params, now = Date.now()) {
  const since = params.get('since') ?? defaultSince;
  const span = spanOf(since) ?? day;
  const [from, to] = [momentOf(params.get('from')), momentOf(params.get('to'))];
  if (from === null && to === null) return { from: now - span, to: now, isRelative: true, since };
  return { from: from ?? (params.has('since') ? now : (to ?? now)) - span, to: to ?? now, isRelative: to === null, since: null };
}

/** What of an address says its time, for another page that is to be about the same. @param {URLSearchParams} params */
export const timeOf = (params) => new URLSearchParams([...params].filter(([name]) => timeFields.includes(name)));

/** A usual range that holds all of this one and more; null where there is none. @param {URLSearchParams} params */
export function widerSince(params, now = Date.now()) {
  const { from } = rangeOf(params, now);
  return ['7d', '30d'].find((since) => now - (spanOf(since) ?? 0) < from) ?? null;
}

/** A range in which a moment is, and still is when somebody has read on for a while: the one of the address where it will do. @param {number} at @param {URLSearchParams} params @returns {URLSearchParams} */
export function rangeHolding(at, params, now = Date.now()) {
  const { from, to, isRelative } = rangeOf(params, now);
  if (at >= from + (isRelative ? (to - from) / 20 : 0) && (isRelative || at < to)) return timeOf(params);
  const since = ['24h', '7d', '30d'].find((name) => at > now - 0.95 * (spanOf(name) ?? 0));
  if (since === undefined) return new URLSearchParams({ from: new Date(at - day / 2).toISOString(), to: new Date(at + day / 2).toISOString() });
  return new URLSearchParams(since === defaultSince ? {} : { since });
}

/** Only what the API is to know: range and filters. @param {URLSearchParams} params @param {Record<string, string>} [more] */
export function apiParams(params, more = {}) {
  const asked = new URLSearchParams();
  for (const name of timeFields) if (params.has(name)) asked.set(name, params.get(name) ?? '');
  // for the server a range without a begin ends now
  if (momentOf(asked.get('to')) !== null && !asked.has('since') && !asked.has('from')) asked.set('from', new Date(rangeOf(params).from).toISOString());
  if (!asked.has('since') && !asked.has('from')) asked.set('since', defaultSince);
  for (const [name, value] of params) if (isFilter(name)) asked.append(name, value);
  for (const [name, value] of Object.entries(more)) asked.set(name, value);
  return String(asked);
}

/** Beside what is asked already. @param {URLSearchParams} params @param {Filter} filter */
export function addFilter(params, { field, value, not }) {
  const next = new URLSearchParams(params);
  const name = `${not ? '-' : ''}${field}`;
  next.delete('cursor');
  if (timeFields.includes(name)) return withTime(next, name, value);
  if (field === 'q') next.delete(name);
  // a lower and an upper one together are a range
  if (boundFields.includes(field)) for (const bound of next.getAll(name)) if (bound[0] === value[0]) next.delete(name, bound);
  if (!next.getAll(name).includes(value)) next.append(name, value);
  return next;
}

/** In the place of all that is asked of its field: a step further into what is shown never leads to more. @param {URLSearchParams} params @param {Filter} filter */
export function onlyFilter(params, filter) {
  const next = new URLSearchParams(params);
  if (!filter.not) for (const name of [filter.field, `-${filter.field}`]) next.delete(name);
  return addFilter(next, filter);
}

/** What contradicts the newest word gives way. */
function withTime(params, name, value) {
  const others = timeFields.filter((other) => other !== name);
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

const word = /(-?)(meta\.(?:"(?:[^"\\]|\\.)*"|[^\s=:<>"]+)|[a-z]+)(?:[:=]|(?=[<>]))(?:"((?:[^"\\]|\\.)*)"|((?!")\S*))|"((?:[^"\\]|\\.)*)"|\S+/g;
/** A value as it stands in a search bar. @param {string} value */
export const inBar = (value) => (value === '*' || /[\s"\\]/.test(value) ? `"${value.replaceAll(/["\\]/g, '\\$&')}"` : value);
/** The name of a field, too. @param {string} field */
export const fieldInBar = (field) => (/^meta\..*[\s=:<>"]/.test(field) ? `meta."${field.slice('meta.'.length).replaceAll(/["\\]/g, '\\$&')}"` : field);
const unescaped = (text) => text.replaceAll(/\\(.)/g, '$1');

/** `model:x -status:ok meta.team=a latency:>2s since:1h "words"`: the words of `core/log/search.ts`; what is none of them is looked for as text. @param {string} text @returns {Filter[]} */
export function parseBar(text) {
  const found = [];
  const words = [];
  for (const [whole, minus, name = '', quoted, plain, quotedText] of text.matchAll(word)) {
    const field = name.startsWith('meta."') ? `meta.${unescaped(name.slice('meta."'.length, -1))}` : name;
    const value = quoted === undefined ? plain : unescaped(quoted);
    if (value !== undefined && field === 'q' && minus === '') words.push(value);
    else if (value !== undefined && (field.startsWith('meta.') || names.includes(field))) {
      // any value at all: not none
      const isAny = plain === '*';
      found.push({ field, value: isAny ? '' : value, not: (minus === '-') !== isAny });
    } else words.push(quotedText === undefined ? whole : unescaped(quotedText));
  }
  return words.length === 0 ? found : [...found, { field: 'q', value: words.join(' '), not: false }];
}

/** Round spans of time. */
export const steps = [1, 5, 15, 30, 60, 300, 900, 1800, 3600, 10_800, 21_600, 86_400, 172_800, 604_800].map((seconds) => seconds * 1000);

/** A round width of about so many columns. @param {number} span @param {number} columns */
export const bucketOf = (span, columns = 60) => steps.find((step) => span / step <= columns) ?? 604_800_000;

/** @param {Filter} filter */
export const wordsOf = ({ field, value }) => (field === 'q' ? ['text', value] : [field.replace(/^meta\./, ''), value === '' ? 'none' : value]);
