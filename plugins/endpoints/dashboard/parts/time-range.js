/** Which time the page is about. A relative range stays relative in the address. */
import { html, useState } from './html.js';
import { exact, isUtc, moment } from './format.js';
import { go, hrefOf } from './location.js';
import { Menu } from './menu.js';
import { defaultSince, presets, rangeOf } from './query.js';

/** @param {URLSearchParams} params @param {{ since?: string, from?: string, to?: string }} range */
export function hrefOfRange(params, { since, from, to }) {
  const next = new URLSearchParams(params);
  for (const name of ['since', 'from', 'to', 'cursor']) next.delete(name);
  if (since !== undefined && since !== defaultSince) next.set('since', since);
  if (from !== undefined) next.set('from', from);
  if (to !== undefined) next.set('to', to);
  return hrefOf(location.pathname, next);
}

/** @param {URLSearchParams} params */
export function rangeLabel(params) {
  const { from, to, since, isRelative } = rangeOf(params);
  if (since !== null) return presets[/** @type {keyof typeof presets} */ (since)] ?? `Last ${since}`;
  return isRelative ? `Since ${moment(from)}` : `${moment(from)} to ${moment(to)}`;
}

/** @param {{ params: URLSearchParams }} props */
export function TimeRange({ params }) {
  const { from, to, since } = rangeOf(params);
  return html`<${Menu} name="time" icon="clock" label=${rangeLabel(params)} title=${`${exact(from)} to ${exact(to)} (t)`}>${(close) => html`
    <div class="menu-list">${Object.entries(presets).map(([name, label]) => html`<a key=${name} href=${hrefOfRange(params, { since: name })} aria-current=${since === name ? 'true' : undefined} onClick=${close}>${label}</a>`)}</div>
    <${Exact} from=${from} to=${to} params=${params} close=${close} />
    <${Zone} />`}<//>`;
}

/** For an input of the browser: local time without a zone, or UTC. @param {number} at */
function inputOf(at) {
  const shifted = isUtc() ? at : at - new Date(at).getTimezoneOffset() * 60_000;
  return new Date(shifted).toISOString().slice(0, 16);
}

function Exact({ from, to, params, close }) {
  const apply = (event) => {
    event.preventDefault();
    const data = new FormData(event.target);
    const iso = (name) => new Date(/** @type {string} */ (data.get(name)) + (isUtc() ? 'Z' : '')).toISOString();
    go(hrefOfRange(params, { from: iso('from'), to: iso('to') }));
    close();
  };
  return html`<form class="menu-form" onSubmit=${apply}>
    <label>From <input type="datetime-local" name="from" required value=${inputOf(from)} /></label>
    <label>To <input type="datetime-local" name="to" required value=${inputOf(to)} /></label>
    <button class="button">Show this time</button>
  </form>`;
}

function Zone() {
  const [utc, setUtc] = useState(isUtc());
  const choose = (value) => {
    localStorage.setItem('gateway.utc', value ? 'yes' : 'no');
    setUtc(value);
    dispatchEvent(new PopStateEvent('popstate'));
  };
  return html`<label class="menu-check"><input type="checkbox" checked=${utc} onChange=${(event) => choose(event.target.checked)} /> Times in UTC</label>`;
}
