/** The largest values of one dimension with their share. A row links to its requests. */
import { html } from './html.js';
import { aboutSum } from './estimate.js';
import { compact, count, duration, money, percent } from './format.js';

/** @param {{ title: any, rows: any[], total: { requests: number }, link: (value: string | null) => string, more: string, none?: string }} props */
export function TopList({ title, rows, total, link, more, none = '(none)' }) {
  const most = Math.max(1, ...rows.map(({ requests }) => requests));
  return html`<section class="card top"><header><h2>${title}</h2><a href=${more}>Breakdown</a></header>
    ${rows.length === 0 ? html`<p class="soft">Nothing in this time.</p>` : html`<ol>${rows.map((row) => html`<li key=${row.value}><a href=${link(row.value)} title=${`${row.value ?? none}\n${count(row.requests)} requests, ${percent(row.errors, row.requests)} errors, p95 ${duration(row.latencyP95Ms)}`}>
      <span class="top-name">${row.value ?? none}</span><span class="top-num">${compact(row.requests)}</span><span class="top-num top-share">${percent(row.requests, total.requests)}</span><span class="top-num top-cost">${aboutSum(money(row.cost), row)}</span>
      <span class="top-bar" style=${`width:${(100 * row.requests) / most}%`}><i style=${`width:${(100 * row.errors) / Math.max(1, row.requests)}%`} /></span>
    </a></li>`)}</ol>`}
  </section>`;
}
