/** The form for an exact range of time, and the choice of the zone in which times are shown. */
import { html, useState } from './html.js';
import { isUtc } from './format.js';
import { go, notify } from './location.js';
import { write } from './storage.js';
import { hrefOfRange } from './time-range.js';

/** A time in the form of a `datetime-local` input, without a zone: local time, or UTC where that is chosen. @param {number} at */
function inputOf(at) {
  const shifted = isUtc() ? at : at - new Date(at).getTimezoneOffset() * 60_000;
  return new Date(shifted).toISOString().slice(0, 19);
}

/** The two inputs and the choice of the zone. */
export function ExactTime({ from, to, params, close }) {
  // a range that ends now moves on; the form keeps the range of the moment when it was opened
  const [opened] = useState({ from, to });
  const [typed, setTyped] = useState(/** @type {{ from?: string, to?: string }} */ ({}));
  const field = (name) => ({
    name,
    // without it a year has six digits, and the digits of the hour go into the year
    max: '9999-12-31T23:59:59',
    value: typed[name] ?? inputOf(opened[name]),
    onInput: (event) => setTyped((before) => ({ ...before, [name]: event.target.value })),
  });
  // a time that nobody changed is not read from its field: where the clock goes back, two hours have the same name
  const at = (name) => (typed[name] === undefined ? opened[name] : typed[name] + (isUtc() ? 'Z' : ''));
  const iso = (name) => new Date(at(name)).toISOString();
  const apply = (event) => {
    event.preventDefault();
    go(hrefOfRange(params, { from: iso('from'), to: iso('to') }));
    close();
  };
  return html`<form class="menu-form" onSubmit=${apply}>
    <label>From <input type="datetime-local" step="1" required ...${field('from')} /></label>
    <label>To <input type="datetime-local" step="1" required ...${field('to')} /></label>
    <button class="button">Show this time</button>
  </form><${Zone} />`;
}

const choose = (isChosen) => {
  write('utc', isChosen ? 'yes' : 'no');
  notify();
};

const Zone = () =>
  html`<label class="menu-check">
    <input type="checkbox" checked=${isUtc()} onChange=${(event) => choose(event.target.checked)} /> Times in UTC
  </label>`;
