/** The largest values of one dimension with their share. A row links to its requests. */
import { html } from './html.js';
import { aboutSum } from './estimate.js';
import { compact, count, duration, failsMuch, money, percent, plural } from './format.js';
import { cut, nameOf } from './value-name.js';

/** What a list may rank by: `size` reads it from a row. */
export const ranks = /** @type {Record<string, { label: string, size: (row: any) => number }>} */ ({
  requests: { label: 'Requests', size: ({ requests }) => requests },
  cost: { label: 'Cost', size: ({ cost }) => Number(cost ?? 0) },
  errors: { label: 'Errors', size: ({ errors }) => errors },
  latency: { label: 'Latency', size: ({ latencyP95Ms }) => latencyP95Ms ?? 0 },
});

/**
 * The figures of a row: the one that the list is ranked by, its share of the whole, and another one.
 * @param {any} row @param {any} total @param {string} rank
 */
function figuresOf(row, total, rank) {
  const { size } = /** @type {{ size: (row: any) => number }} */ (ranks[rank]);
  const cost = aboutSum(money(row.cost), row);
  const share = size(total) === 0 ? '' : percent(size(row), size(total));
  if (rank === 'cost') return [compact(row.requests), share, cost];
  if (rank === 'errors') {
    return [compact(row.requests), share, html`<span class=${failsMuch(row) ? 'is-bad' : ''}>${count(row.errors)}</span>`];
  }
  if (rank === 'latency') return [compact(row.requests), '', html`p95 ${duration(row.latencyP95Ms)}`];
  return [compact(row.requests), share, cost];
}

const strangers =
  'The list behind this row also has requests that were refused before their key and their model were known. ' +
  'Such requests do not count as errors of the service.';

/** The tooltip of a row. @param {any} row @param {string} none */
export const aboutRow = (row, none) =>
  [
    nameOf(row.value, none),
    `${plural(row.requests, 'request')}, ${percent(row.errors, row.requests)} errors, p95 ${duration(row.latencyP95Ms)}`,
    ...(row.value === null ? [strangers] : []),
  ].join('\n');

/**
 * @param {{ title: any, rows: any[], total: any, rank: string, link: (value: string | null) => string, more: string, none?: string }} props
 */
export function TopList({ title, rows, total, rank, link, more, none = '(none)' }) {
  const { size } = /** @type {{ size: (row: any) => number }} */ (ranks[rank]);
  const most = Math.max(...rows.map(size)) || 1;
  const rowOf = (row) => {
    const failed = html`<i style=${`width:${(100 * row.errors) / Math.max(1, row.requests)}%`} />`;
    const figures = figuresOf(row, total, rank);
    return html`<li key=${row.value}><a href=${row.value === '' ? undefined : link(row.value)} title=${aboutRow(row, none)}>
      <span class="top-name">${cut(nameOf(row.value, none))}</span>
      ${figures.map((figure, at) => html`<span key=${at} class="top-num ${at === 1 ? 'top-share' : ''}">${figure}</span>`)}
      <span class="top-bar" style=${`width:${(100 * size(row)) / most}%`}>${rank === 'requests' && failed}</span>
    </a></li>`;
  };
  return html`<section class="card top">
    <header><h2>${title}</h2><a href=${more}>Breakdown</a></header>
    ${rows.length === 0 ? html`<p class="soft">Nothing in this time.</p>` : html`<ol>${rows.map(rowOf)}</ol>`}
  </section>`;
}
