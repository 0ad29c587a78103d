/** What is in the log, with counts: one click on a value filters by it, Alt-click excludes it. */
import { html, useState } from './html.js';
import { compact } from './format.js';
import { Icon } from './icons.js';
import { go, hrefOf } from './location.js';
import { addFilter, filtersOf, removeFilter } from './query.js';

const names = { status: 'Status', model: 'Model', provider: 'Provider', key: 'Key', finish: 'Finish reason' };
const shownFirst = 6;

/** @param {{ facets: Record<string, { value: string, count: number }[]>, params: URLSearchParams }} props */
export function Facets({ facets, params }) {
  const known = Object.keys(names).filter((field) => (facets[field]?.length ?? 0) > 0);
  const meta = Object.keys(facets).filter((field) => field.startsWith('meta.'));
  return html`<div class="facets">
    ${[...known, ...meta].map((field) => html`<${Facet} key=${field} field=${field} values=${facets[field]} params=${params} />`)}
  </div>`;
}

function Facet({ field, values, params }) {
  const [all, setAll] = useState(false);
  const chosen = filtersOf(params).filter((filter) => filter.field === field);
  const most = Math.max(...values.map(({ count }) => count));
  const shown = all ? values : values.slice(0, shownFirst);
  const label = names[/** @type {keyof typeof names} */ (field)] ?? field.slice(5);
  return html`<details class="facet" open><summary><${Icon} name="right" /><span>${label}</span>${field.startsWith('meta.') && html`<span class="facet-kind">metadata</span>`}</summary>
    <ul>${shown.map(({ value, count }) => html`<${Value} key=${value} field=${field} value=${value} count=${count} share=${count / most} chosen=${chosen.find((filter) => filter.value === value)} params=${params} />`)}</ul>
    ${values.length > shownFirst && html`<button type="button" class="link" onClick=${() => setAll(!all)}>${all ? 'fewer' : `${values.length - shownFirst} more`}</button>`}
  </details>`;
}

function Value({ field, value, count, share, chosen, params }) {
  const next = (not) => hrefOf('/dashboard/logs', chosen === undefined ? addFilter(params, { field, value, not }) : removeFilter(params, chosen));
  const click = (event) => {
    if (!event.altKey) return;
    event.preventDefault();
    go(next(true));
  };
  return html`<li><a class="facet-value ${chosen === undefined ? '' : chosen.not ? 'is-not' : 'is-on'}" href=${next(false)} onClick=${click} aria-current=${chosen === undefined ? undefined : 'true'} title="Alt-click excludes">
    <span class="facet-name">${chosen?.not && html`<span class="not">not </span>`}${value === '' ? '(none)' : value}</span><span class="facet-count">${compact(count)}</span><span class="facet-bar" style=${`width:${Math.max(2, share * 100)}%`} />
  </a></li>`;
}
