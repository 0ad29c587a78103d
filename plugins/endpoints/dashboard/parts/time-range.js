/** The choice of the page's range of time. A relative range, such as the last hour, stays relative in the address. */
import { html } from './html.js';
import { calendarRanges } from './calendar.js';
import { exact, minute, plural, span, yearOf } from './format.js';
import { Later } from './later.js';
import { hrefOf } from './location.js';
import { Menu } from './menu.js';
import { defaultSince, presets, rangeOf } from './query.js';
import { timeNow } from './time-now.js';

/** The present address with another range. @param {URLSearchParams} params @param {{ since?: string, from?: string, to?: string }} range */
export function hrefOfRange(params, { since, from, to }) {
  const next = new URLSearchParams(params);
  for (const name of ['since', 'from', 'to', 'cursor']) next.delete(name);
  if (since !== undefined && since !== defaultSince) next.set('since', since);
  if (from !== undefined) next.set('from', from);
  if (to !== undefined) next.set('to', to);
  return hrefOf(location.pathname, next);
}

const units = { s: ['s', 's'], m: ['min', 'min'], h: ['h', 'h'], d: ['day', 'days'], w: ['week', 'weeks'] };

/** @param {string} since */
function sinceLabel(since) {
  if (Object.hasOwn(presets, since)) return presets[/** @type {keyof typeof presets} */ (since)];
  const [, amount, unit] = /^([\d.]+)([smhdw])$/.exec(since) ?? [];
  return `Last ${unit === undefined ? since : plural(Number(amount), ...units[/** @type {keyof typeof units} */ (unit)])}`;
}

/** Whether the address has just this range. */
const isChosen = (params, { from, to = null }) => params.get('from') === from && params.get('to') === to;

/** The name of the range, for example `Last 24 hours`. @param {URLSearchParams} params */
export function rangeLabel(params) {
  const { from, to, since, isRelative } = rangeOf(params);
  const named = calendarRanges(timeNow()).find((range) => isChosen(params, range));
  if (named !== undefined) return named.label;
  if (since !== null) return sinceLabel(since);
  // where the range is not in the present year only, both ends show their year
  const how = { isWhole: [from, to].some((at) => yearOf(at) !== yearOf(timeNow())) };
  return isRelative ? `Since ${minute(from, how)}` : span(from, to, how);
}

const exactTime = () => import('./exact-time.js').then((part) => part.ExactTime);

/** @param {{ params: URLSearchParams }} props */
export function TimeRange({ params }) {
  const { from, to, since } = rangeOf(params);
  const content = (close) => {
    const entryOf = (label, range, isCurrent) =>
      html`<a key=${label} href=${hrefOfRange(params, range)} aria-current=${isCurrent ? 'true' : undefined} onClick=${close}>${label}</a>`;
    const relative = Object.entries(presets).map(([name, label]) => entryOf(label, { since: name }, since === name));
    const calendar = calendarRanges(timeNow()).map(({ label, ...range }) => entryOf(label, range, isChosen(params, range)));
    return html`<div class="menu-list">${relative}</div>
      <div class="menu-list menu-calendar">${calendar}</div>
      <${Later} load=${exactTime} from=${from} to=${to} params=${params} close=${close} />`;
  };
  const title = `${exact(from)} to ${exact(to)} (t)`;
  return html`<${Menu} name="time" icon="clock" label=${rangeLabel(params)} title=${title}>${content}<//>`;
}
