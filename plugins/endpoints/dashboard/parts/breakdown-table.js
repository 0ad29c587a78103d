/** The ranking: a bar, the share, and the other numbers beside it. */
import { html, useState } from './html.js';
import { useData } from './api.js';
import { compact, count, duration, money, percent } from './format.js';
import { Icon } from './icons.js';
import { hrefOf } from './location.js';
import { measures } from './measures.js';
import { addFilter, apiParams } from './query.js';

const order = (measure) => (a, b) => (measure.of(b) ?? -1) - (measure.of(a) ?? -1) || b.requests - a.requests;

/** @param {{ data: any, metric: string, top: number, params: URLSearchParams }} props */
export function BreakdownTable({ data, metric, top, params }) {
  const measure = measures[/** @type {keyof typeof measures} */ (metric)];
  const rows = [...data.rows].sort(order(measure));
  const shown = rows.slice(0, top);
  const most = Math.max(...shown.map((row) => measure.of(row) ?? 0));
  const whole = measure.isRate ? null : measure.of(data.total);
  const sub = params.get('sub');
  return html`<div class="table-scroll"><table class="table breakdown"><thead><tr>
      <th scope="col">${data.by.replace(/^meta\./, '')}</th><th scope="col" class="num" aria-sort="descending">${measure.label}</th><th scope="col"><span class="hidden">Bar</span></th><th scope="col" class="num">${whole === null ? '' : 'Share'}</th><th scope="col" class="num">Before</th>
      <th scope="col" class="num">Requests</th><th scope="col" class="num">Errors</th><th scope="col" class="num">Tokens in</th><th scope="col" class="num">out</th><th scope="col" class="num">Cost</th><th scope="col" class="num">p50</th><th scope="col" class="num">p95</th><th scope="col" class="num">First token</th>
    </tr></thead>
    <tbody>${shown.map((row) => html`<${Row} key=${row.value} row=${row} by=${data.by} measure=${measure} most=${most} whole=${whole} earlier=${data.earlier.find(({ value }) => value === row.value)} sub=${sub} params=${params} />`)}</tbody>
    <tfoot><tr><th scope="row">${rows.length > shown.length ? `${shown.length} of ${rows.length}` : 'All'}</th><td class="num"><b>${measure.format(measure.of(data.total))}</b></td><td /><td /><td /><${Numbers} row=${data.total} /></tr></tfoot>
  </table></div>`;
}

function Row({ row, by, measure, most, whole, earlier, sub, params }) {
  const [isOpen, setOpen] = useState(false);
  const value = measure.of(row);
  const link = hrefOf('/dashboard/logs', addFilter(new URLSearchParams([...params].filter(([name]) => !['by', 'sub', 'metric', 'view', 'top'].includes(name))), { field: by, value: row.value ?? '', not: false }));
  return html`<tr>
      <td class="cell-name">${sub && html`<button type="button" class="fold" aria-expanded=${isOpen} aria-label=${`${row.value ?? '(none)'} by ${sub}`} onClick=${() => setOpen(!isOpen)}><${Icon} name=${isOpen ? 'down' : 'right'} /></button>`}<a href=${link}>${row.value ?? '(none)'}</a></td>
      <td class="num"><b>${measure.format(value)}</b></td><td class="cell-bar"><i style=${`width:${most > 0 ? (100 * (value ?? 0)) / most : 0}%`} /></td><td class="num">${whole === null || whole === 0 || value === null ? '' : percent(value, whole)}</td><td class="num soft">${earlier === undefined ? '–' : measure.format(measure.of(earlier))}</td>
      <${Numbers} row=${row} />
    </tr>
    ${isOpen && sub && html`<${Under} by=${by} value=${row.value} sub=${sub} measure=${measure} most=${most} params=${params} />`}`;
}

function Under({ by, value, sub, measure, most, params }) {
  const asked = apiParams(addFilter(params, { field: by, value: value ?? '', not: false }), { by: sub, limit: '10' });
  const { data, error } = useData(`/api/stats?${asked}`);
  if (data === null) return html`<tr class="under"><td colspan="13">${error?.message ?? 'Loading'}</td></tr>`;
  return data.data.toSorted(order(measure)).map((row) => html`<tr class="under" key=${row.value}><td>${row.value ?? '(none)'}</td><td class="num">${measure.format(measure.of(row))}</td><td class="cell-bar"><i style=${`width:${most > 0 ? (100 * (measure.of(row) ?? 0)) / most : 0}%`} /></td><td /><td /><${Numbers} row=${row} /></tr>`);
}

const Numbers = ({ row }) => html`
  <td class="num">${count(row.requests)}</td><td class="num ${row.errors > 0 ? 'is-bad' : ''}">${percent(row.errors, row.requests)}</td><td class="num">${compact(row.promptTokens)}</td><td class="num">${compact(row.completionTokens)}</td>
  <td class="num" title=${row.unpriced > 0 ? `${count(row.unpriced)} without a price are left out` : undefined}>${money(row.cost)}</td><td class="num">${duration(row.latencyP50Ms)}</td><td class="num">${duration(row.latencyP95Ms)}</td><td class="num">${duration(row.timeToFirstTokenP50Ms)}</td>`;
