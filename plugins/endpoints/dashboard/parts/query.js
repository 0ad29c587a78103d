/** What is asked of the log: a range and filters. One grammar for the address, the search bar and the API. */

/** @typedef {{ field: string, value: string, not: boolean }} Filter */

export const fields = ['model', 'provider', 'status', 'key', 'finish', 'outcome', 'stream', 'cached', 'reasoning', 'agent', 'latency', 'ttft', 'tokens', 'cost'];
export const presets = /** @type {const} */ ({ '15m': 'Last 15 min', '1h': 'Last hour', '6h': 'Last 6 h', '24h': 'Last 24 h', '7d': 'Last 7 days', '30d': 'Last 30 days' });
export const defaultSince = '24h';

const units = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** @param {string} text such as 24h */
export function spanOf(text) {
  const [, amount, unit] = /^(\d+)([smhd])$/.exec(text) ?? [];
  return unit === undefined ? null : Number(amount) * units[/** @type {keyof typeof units} */ (unit)];
}

/** @param {string} name */
export const isFilter = (name) => /^-?meta\.[^=]+$/.test(name) || fields.includes(name.replace(/^-/, '')) || name === 'q';

/** @param {URLSearchParams} params @returns {Filter[]} */
export const filtersOf = (params) => [...params].filter(([name]) => isFilter(name)).map(([name, value]) => ({ field: name.replace(/^-/, ''), value, not: name.startsWith('-') }));

/** The range as moments. A relative one ends now. @param {URLSearchParams} params */
export function rangeOf(params, now = Date.now()) {
  const from = Date.parse(params.get('from') ?? '');
  const to = Date.parse(params.get('to') ?? '');
  if (!Number.isNaN(from)) return { from, to: Number.isNaN(to) ? now : to, isRelative: Number.isNaN(to), since: null };
  const since = params.get('since') ?? defaultSince;
  return { from: now - (spanOf(since) ?? 86_400_000), to: now, isRelative: true, since };
}

/** Only what the API is to know: range and filters. @param {URLSearchParams} params @param {Record<string, string>} [more] */
export function apiParams(params, more = {}) {
  const asked = new URLSearchParams();
  for (const name of ['since', 'from', 'to']) if (params.has(name)) asked.set(name, params.get(name) ?? '');
  if (!asked.has('since') && !asked.has('from')) asked.set('since', defaultSince);
  for (const [name, value] of params) if (isFilter(name)) asked.append(name, value);
  for (const [name, value] of Object.entries(more)) asked.set(name, value);
  return String(asked);
}

/** @param {URLSearchParams} params @param {Filter} filter */
export function addFilter(params, { field, value, not }) {
  const next = new URLSearchParams(params);
  const name = `${not ? '-' : ''}${field}`;
  if (field === 'q' || /^[<>]/.test(value)) next.delete(name);
  if (!next.getAll(name).includes(value)) next.append(name, value);
  next.delete('cursor');
  return next;
}

/** @param {URLSearchParams} params @param {Filter} filter */
export function removeFilter(params, { field, value, not }) {
  const next = new URLSearchParams(params);
  next.delete(`${not ? '-' : ''}${field}`, value);
  next.delete('cursor');
  return next;
}

const word = /(-?)(meta\.(?:"[^"]*"|[^\s=:<>"]+)|[a-z]+)(?:[:=]|(?=[<>]))(?:"((?:[^"\\]|\\.)*)"|([^\s"]+))|"((?:[^"\\]|\\.)*)"|\S+/g;

/** `model:x -status:ok meta.team=a latency:>2s "words"`: the words of `core/log-search.ts`. @param {string} text @returns {Filter[]} */
export function parseBar(text) {
  const found = [];
  const words = [];
  for (const [whole, minus, name = '', quoted, plain, quotedText] of text.matchAll(word)) {
    const field = name.replaceAll('"', '');
    const value = quoted?.replaceAll(/\\(.)/g, '$1') ?? plain;
    if (value !== undefined && (field.startsWith('meta.') || fields.includes(field))) {
      // any value at all: not none
      const isAny = plain === '*';
      found.push({ field, value: isAny ? '' : value, not: (minus === '-') !== isAny });
    } else words.push(quotedText ?? whole);
  }
  return words.length === 0 ? found : [...found, { field: 'q', value: words.join(' '), not: false }];
}

/** Round spans of time. */
export const steps = [1, 5, 15, 30, 60, 300, 900, 1800, 3600, 10_800, 21_600, 86_400, 172_800, 604_800].map((seconds) => seconds * 1000);

/** A round width of about so many columns. @param {number} span @param {number} columns */
export const bucketOf = (span, columns = 60) => steps.find((step) => span / step <= columns) ?? 604_800_000;

/** @param {Filter} filter */
export const wordsOf = ({ field, value }) => (field === 'q' ? ['text', value] : [field.replace(/^meta\./, ''), value === '' ? 'none' : value]);
