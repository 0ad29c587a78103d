/** Sorts tables by a click on a column head. The address has the order. */
import { html } from './html.js';
import { withParams } from './location.js';

const compare = (a, b) => (typeof a === 'string' ? a.localeCompare(b) : a - b);

/**
 * @param {any[]} rows
 * @param {Record<string, { of: ((row: any) => any) | null }>} columns
 * @param {string} order a column's name, `-` before it for the largest first
 */
export function sorted(rows, columns, order) {
  const down = order.startsWith('-');
  const of = columns[order.replace(/^-/, '')]?.of;
  if (!of) return rows;
  return rows.toSorted((first, second) => {
    const [a, b] = [of(first), of(second)];
    // unknown values come last in both directions
    if (a === null || b === null) return a === b ? 0 : a === null ? 1 : -1;
    return down ? compare(b, a) : compare(a, b);
  });
}

/** @param {{ columns: Record<string, { label: string, num?: boolean, of: any }>, params: URLSearchParams, usual: string }} props */
export function SortHead({ columns, params, usual }) {
  const order = params.get('sort') ?? usual;
  return html`<thead><tr>${Object.entries(columns).map(([name, { label, num, of }]) => {
    const state = order === name ? 'ascending' : order === `-${name}` ? 'descending' : undefined;
    const next = order === `-${name}` ? name : `-${name}`;
    return html`<th scope="col" key=${name} class=${num ? 'num' : ''} aria-sort=${state}>${
      of === null
        ? label
        : html`<a href=${withParams({ sort: next === usual ? null : next })}>
          ${label}
          ${state && html`<span aria-hidden="true">${state === 'ascending' ? ' ↑' : ' ↓'}</span>`}
        </a>`
    }</th>`;
  })}</tr></thead>`;
}
