/** What the log is ordered by: the newest first, or the largest or smallest of a number first. The address has the order. */
import { html } from './html.js';
import { withParams } from './location.js';

/** The sort of the server, by the column that shows it. */
const sorts = { total: 'duration', tokens: 'tokens', cost: 'cost' };
const columnFor = Object.fromEntries(Object.entries(sorts).map(([column, sort]) => [sort, column]));

/** null: the newest first. A search in bodies has no other order. @param {URLSearchParams} params */
export function orderOf(params) {
  const sort = params.get('sort') ?? '';
  return params.get('q') || !Object.hasOwn(columnFor, sort) ? null : { sort, isAscending: params.get('order') === 'asc' };
}

/** @typedef {ReturnType<typeof orderOf>} Order */

/** The order for the API. @param {Order} order @returns {Record<string, string>} */
export const orderParams = (order) => (order === null ? {} : { sort: order.sort, ...(order.isAscending && { order: 'asc' }) });

/** The columns with the one that the list is sorted by. @param {string[]} names @param {Order} order */
export function withSorted(names, order) {
  const name = order === null ? null : columnFor[order.sort];
  return name === null || names.includes(name) ? names : [...names, name];
}

/**
 * The head of a column. A click sorts by it, the largest first; a second click reverses the order; a click on the time sorts by time again.
 * @param {{ name: string, label: string, num?: boolean, params: URLSearchParams }} props
 */
export function OrderHead({ name, label, num, params }) {
  const order = orderOf(params);
  const isSorted = order === null ? name === 'time' : columnFor[order.sort] === name;
  const isAscending = isSorted && order?.isAscending === true;
  const sort = Object.hasOwn(sorts, name) ? sorts[name] : null;
  const isLink = name === 'time' ? order !== null : sort !== null && !params.get('q');
  const next = { sort, order: isSorted && !isAscending && sort !== null ? 'asc' : null, cursor: null, live: null };
  const shown = html`${label}${isSorted && html`<span aria-hidden="true">${isAscending ? ' ↑' : ' ↓'}</span>`}`;
  const title = name === 'time' ? 'The newest first' : next.order === null ? 'The largest first' : 'The smallest first';
  return html`<th scope="col" class=${num ? 'num' : ''} aria-sort=${isSorted ? (isAscending ? 'ascending' : 'descending') : undefined}>${
    isLink ? html`<a href=${withParams(next, params)} title=${title}>${shown}</a>` : shown
  }</th>`;
}
