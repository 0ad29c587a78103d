/** Values in the log with their counts. A click on a value filters by it; Alt-click excludes it. */
import { html, useState } from './html.js';
import { compact, count as whole } from './format.js';
import { Icon } from './icons.js';
import { fields } from './fields.js';
import { go, hrefOf } from './location.js';
import { addFilter, filtersOf, isKeyed, keyOf, removeFilter } from './query.js';

/** Labels by name of the filter. */
const labels = Object.fromEntries(fields.filter(({ isFacet }) => isFacet).map(({ filter, label }) => [filter, label]));
const shownFirst = 6;
/** The server counts the values of at most so many records. */
const mostCounted = 10_000;

/**
 * Which records the counts leave out, in words.
 * @param {Record<string, { count: number }[]>} facets
 * @param {{ requests: number } | null | undefined} total of all that match, where it is known @param {boolean} hasText
 */
export function leftOut(facets, total, hasText) {
  const counted = (facets['status'] ?? []).reduce((sum, { count }) => sum + count, 0);
  // the two counts are made one after the other, and requests may end in between
  const isPart = counted >= mostCounted && (hasText || counted < (total?.requests ?? 0));
  return [isPart && `of the newest ${whole(counted)} requests`, hasText && 'without the text filter'].filter(Boolean).join(', ');
}

/**
 * @param {{ facets: Record<string, { value: string, count: number }[]>, total?: { requests: number } | null,
 *   params: URLSearchParams }} props
 */
export function Facets({ facets, total, params }) {
  const known = [...Object.keys(labels), ...Object.keys(facets).filter(isKeyed)].filter((field) => (facets[field]?.length ?? 0) > 0);
  const words = leftOut(facets, total, params.has('q'));
  return html`<div class="facets">
    ${words !== '' && html`<p class="soft">Counts ${words}</p>`}
    ${known.map((field) => html`<${Facet} key=${field} field=${field} values=${facets[field]} params=${params} />`)}
  </div>`;
}

function Facet({ field, values, params }) {
  const [all, setAll] = useState(false);
  const chosen = filtersOf(params).filter((filter) => filter.field === field);
  const most = Math.max(...values.map(({ count }) => count));
  const shown = all ? values : values.slice(0, shownFirst);
  const label = labels[field] ?? keyOf(field);
  const more = all ? 'fewer' : `${values.length - shownFirst} more`;
  return html`<details class="facet" open>
    <summary>
      <${Icon} name="right" />
      <span>${label}</span>
      ${isKeyed(field) && html`<span class="facet-kind">${field.startsWith('meta.') ? 'metadata' : 'field'}</span>`}
    </summary>
    <ul>${shown.map(
      ({ value, count }) => html`<${Value}
        key=${value}
        field=${field}
        value=${value}
        count=${count}
        share=${count / most}
        chosen=${chosen.find((filter) => filter.value === value)}
        params=${params}
      />`,
    )}</ul>
    ${values.length > shownFirst && html`<button type="button" class="link" onClick=${() => setAll(!all)}>${more}</button>`}
  </details>`;
}

function Value({ field, value, count, share, chosen, params }) {
  const bar = html`<span class="facet-count">${compact(count)}</span>
    <span class="facet-bar" style=${`width:${Math.max(2, share * 100)}%`} />`;
  // a filter with an empty value means "none", so an empty value cannot be filtered by
  if (value === '') return html`<li><span class="facet-value"><span class="facet-name soft">(empty)</span>${bar}</span></li>`;
  const next = (not) =>
    hrefOf('/dashboard/logs', chosen === undefined ? addFilter(params, { field, value, not }) : removeFilter(params, chosen));
  const click = (event) => {
    if (!event.altKey) return;
    event.preventDefault();
    go(next(true));
  };
  return html`<li>
    <a
      class="facet-value ${chosen === undefined ? '' : chosen.not ? 'is-not' : 'is-on'}"
      href=${next(false)}
      onClick=${click}
      aria-current=${chosen === undefined ? undefined : 'true'}
      title=${`${value}\nAlt-click excludes`}
    >
      <span class="facet-name">${chosen?.not && html`<span class="not">not </span>`}${value}</span>
      ${bar}
    </a>
  </li>`;
}
