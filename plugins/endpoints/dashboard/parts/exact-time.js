/** A time from one moment to another, and the zone in which moments are shown. */
import { html, useState } from './html.js';
import { isUtc } from './format.js';
import { go } from './location.js';
import { hrefOfRange } from './time-range.js';

/** For an input of the browser: local time without a zone, or UTC. @param {number} at */
function inputOf(at) {
  const shifted = isUtc() ? at : at - new Date(at).getTimezoneOffset() * 60_000;
  return new Date(shifted).toISOString().slice(0, 16);
}

export function ExactTime({ from, to, params, close }) {
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
  </form><${Zone} />`;
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
