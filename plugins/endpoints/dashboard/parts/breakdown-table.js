/**
 * The ranking of a breakdown: for each value the measure, a bar, the share, and the other figures. A click on a column head sorts by it.
 */
import { html, useState } from './html.js';
import { useData } from './api.js';
import { leftOut } from './estimate.js';
import { count, failsMuch, percent } from './format.js';
import { Icon } from './icons.js';
import { hrefOf } from './location.js';
import { measures, measuresOf, rankOf, written } from './measures.js';
import { apiParams, onlyFilter } from './query.js';
import { SortHead, sorted } from './sort.js';
import { nameOf } from './value-name.js';

/** The server answers with so many rows at most. */
const mostRows = 1000;
/** Rows of the second level. */
const mostUnder = 10;

const beside = {
  requests: 'Requests',
  'error-rate': 'Errors',
  'tokens-in': 'Tokens in',
  'tokens-out': 'out',
  cost: 'Cost',
  'latency-p50': 'p50',
  'latency-p95': 'p95',
  'latency-p99': 'p99',
  'ttft-p50': 'First token',
  speed: 'Tokens/s',
};

const besideAttempts = {
  requests: 'Attempts',
  'error-rate': 'Failed',
  rescued: 'Rescued',
  'latency-p50': 'p50',
  'latency-p95': 'p95',
  'latency-p99': 'p99',
};

/** The columns beside the chosen measure. @param {string} metric @param {boolean} isTried */
const othersOf = (metric, isTried) =>
  Object.entries(isTried ? besideAttempts : beside)
    .filter(([name]) => name !== metric)
    .map(([name, label]) => ({ ...measuresOf(isTried ? 'attempt.' : '')[name], name, label, num: true }));

/** @param {{ data: any, name: string, metric: string, top: number, params: URLSearchParams }} props */
export function BreakdownTable({ data, name, metric, top, params }) {
  const measure = measuresOf(data.by)[metric];
  const isTried = data.by.startsWith('attempt.');
  const others = othersOf(metric, isTried);
  const whole = measure.isRate ? null : measure.of(data.total);
  const columns = {
    value: { label: name, of: ({ value }) => value },
    measure: { label: measure.label, num: true, of: measure.of },
    bar: { label: html`<span class="hidden">Bar</span>`, of: null },
    share: { label: whole === null ? html`<span class="hidden">Share</span>` : 'Share', num: true, of: null },
    before: { label: 'Before', num: true, of: null },
    ...Object.fromEntries(others.map((other) => [other.name, other])),
  };
  const rows = sorted(data.rows, columns, params.get('sort') ?? '-measure');
  const shown = rows.slice(0, top);
  const most = Math.max(...shown.map((row) => measure.of(row) ?? 0));
  const found = `${count(rows.length)}${rows.length >= mostRows ? ' or more' : ''}`;
  return html`<div class="table-scroll"><table class="table breakdown">
      <${SortHead} columns=${columns} params=${params} usual="-measure" />
      <tbody>${shown.map(
        (row) => html`<${Row}
          key=${row.value}
          row=${row}
          by=${data.by}
          metric=${metric}
          measure=${measure}
          others=${others}
          most=${most}
          whole=${whole}
          earlier=${data.earlier.find(({ value }) => value === row.value)}
          params=${params}
        />`,
      )}</tbody>
      <tfoot><tr>
        <th scope="row">${rows.length > shown.length ? `${shown.length} of ${found}` : 'All'}</th>
        <td class="num"><b>${written(measure, data.total)}</b></td><td /><td /><td />
        <${Numbers} row=${data.total} others=${others} />
      </tr></tfoot>
    </table></div>
    ${metric.startsWith('cost') && leftOut(data.total) !== '' && html`<p class="soft">${leftOut(data.total)}</p>`}`;
}

/** The name of a row whose value is an empty text. The row has no link and nothing below it: no filter finds its requests. */
const empty = html`<span class="soft">${nameOf('')}</span>`;

/** Parameters of the address for this page only: a link to the log leaves them out. */
const ofBreakdown = ['by', 'sub', 'metric', 'view', 'top', 'sort'];

function Row({ row, by, metric, measure, others, most, whole, earlier, params }) {
  const [isOpen, setOpen] = useState(false);
  const isTried = by.startsWith('attempt.');
  const sub = isTried || row.value === '' ? null : params.get('sub');
  const value = measure.of(row);
  const filters = new URLSearchParams([...params].filter(([name]) => !ofBreakdown.includes(name)));
  const own = { field: by === 'attempt.provider' ? 'tried' : by, value: row.value ?? '', not: false };
  const link = hrefOf('/dashboard/logs', onlyFilter(filters, own));
  return html`<tr>
      <td class="cell-name">
        ${
          sub &&
          html`<button
            type="button"
            class="fold"
            aria-expanded=${isOpen}
            aria-label=${`${nameOf(row.value)} by ${sub}`}
            onClick=${() => setOpen(!isOpen)}
          ><${Icon} name=${isOpen ? 'down' : 'right'} /></button>`
        }
        ${row.value === '' ? empty : html`<a href=${link} title=${row.value}>${nameOf(row.value)}</a>`}
      </td>
      <td class="num" title=${measure === measures.cost ? leftOut(row) : undefined}><b>${written(measure, row)}</b></td>
      <${Bar} value=${value} most=${most} />
      <td class="num">${whole === null || whole === 0 || value === null ? '' : percent(value, whole)}</td>
      <td class="num soft">${earlier === undefined ? '–' : written(measure, earlier)}</td>
      <${Numbers} row=${row} others=${others} />
    </tr>
    ${
      isOpen &&
      sub &&
      html`<${Under}
        by=${by}
        value=${row.value}
        sub=${sub}
        metric=${metric}
        measure=${measure}
        others=${others}
        most=${most}
        params=${params}
      />`
    }`;
}

function Under({ by, value, sub, metric, measure, others, most, params }) {
  const asked = apiParams(onlyFilter(params, { field: by, value: value ?? '', not: false }), { by: sub, rank: rankOf(metric) });
  const { data, error } = useData(`/api/views/breakdown?${asked}`);
  if (data === null) return html`<tr class="under"><td colspan="15">${error?.message ?? 'Loading'}</td></tr>`;
  return sorted(data.rows, { measure }, '-measure')
    .slice(0, mostUnder)
    .map(
      (row) =>
        html`<tr class="under" key=${row.value}>
          <td>${row.value === '' ? empty : nameOf(row.value)}</td><td class="num">${written(measure, row)}</td>
          <${Bar} value=${measure.of(row)} most=${most} />
          <td /><td />
          <${Numbers} row=${row} others=${others} />
        </tr>`,
    );
}

const Bar = ({ value, most }) => html`<td class="cell-bar"><i style=${`width:${most > 0 ? (100 * (value ?? 0)) / most : 0}%`} /></td>`;

const Numbers = ({ row, others }) =>
  others.map(
    (other) =>
      html`<td
        key=${other.name}
        class="num ${other.name === 'error-rate' && failsMuch(row) ? 'is-bad' : ''}"
        title=${other.name === 'cost' ? leftOut(row) : undefined}
      >${written(other, row)}</td>`,
  );
