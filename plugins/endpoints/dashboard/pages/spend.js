/** The page Spend: this month compared with the month before, its expected total, who spends it, and how full the budgets are. */
import { html } from '../parts/html.js';
import { useData } from '../parts/api.js';
import { Legend } from '../parts/chart-words.js';
import { aboutSum, leftOut } from '../parts/estimate.js';
import { ExportMenu } from '../parts/export-menu.js';
import { count, duration, money, numberOf, percent, plural } from '../parts/format.js';
import { Limits } from '../parts/limits.js';
import { go, hrefOf, withParams } from '../parts/location.js';
import { changeOf } from '../parts/metrics.js';
import { apiParams } from '../parts/query.js';
import { Select } from '../parts/select.js';
import { Head } from '../parts/shell.js';
import { stackOf } from '../parts/stack.js';
import { Unready } from '../parts/states.js';
import { TimeChart } from '../parts/time-chart.js';
import { nameOf } from '../parts/value-name.js';

const dimensions = { model: 'Model', provider: 'Provider', key: 'Key' };
const day = 86_400_000;
/** The server answers with so many rows at most. */
const mostRows = 200;

const choose = (event) => go(withParams({ by: event.target.value }), { replace: true });

/** @param {{ params: URLSearchParams }} props */
export function SpendPage({ params }) {
  const by = params.get('by') ?? 'model';
  const { data, error, reload } = useData(`/api/views/spend?${apiParams(params, { by })}`, { everyMs: 60_000 });
  const names = [...new Set([...Object.keys(dimensions), by, ...(data?.metaKeys ?? []).map((key) => `meta.${key}`)])];
  const options = names.map((name) => [name, dimensions[/** @type {keyof typeof dimensions} */ (name)] ?? name]);
  return html`<${Head} title="Spend">
      <label class="head-pick">By <${Select} aria-label="By" value=${by} options=${options} onChange=${choose} /></label>
      ${data !== null && html`<${Export} data=${data} params=${params} />`}
    <//>
    <${Unready} data=${data} error=${error} reload=${reload} rows=${8} />
    ${data !== null && html`<${Figures} data=${data} /><${ByDay} data=${data} /><${Rows} data=${data} />`}
    <div hidden=${data === null && error === null}><${Limits} /></div>`;
}

const monthOf = (at) => new Intl.DateTimeFormat('en-GB', { month: 'long', timeZone: 'UTC' }).format(at);
const dateOf = (at) => new Date(at).toISOString().slice(0, 10);

/** The month before is offered where all of it is on record. */
function Export({ data: { by, from, to, lastFrom, lastMonth }, params }) {
  const file = (begin, end) => {
    const asked = new URLSearchParams(apiParams(params, { by, from: dateOf(begin), to: dateOf(end), format: 'csv', limit: '1000' }));
    asked.delete('since');
    return [`/api/stats?${asked}`, `CSV of ${monthOf(begin)}`, 'one row per value, with all figures'];
  };
  return html`<${ExportMenu} files=${lastMonth === null ? [file(from, to)] : [file(from, to), file(lastFrom, from)]} />`;
}

function Figures({ data }) {
  const { total, earlier, lastMonth, forecast, perDay, paceMs, yesterday, dayBefore, today, from, lastFrom, now, retentionDays, isWhole } =
    data;
  const whyNot = (month) => `The log keeps ${plural(retentionDays, 'day')}, so ${monthOf(month)} is not complete`;
  const days = Math.floor((now - from) / day) + 1;
  const figures = [
    {
      name: `${monthOf(from)} to date`,
      value: aboutSum(money(total.cost ?? 0), total),
      change: changeOf(numberOf(total.cost), numberOf(earlier?.cost), 'less'),
      than: `than the first ${plural(days, 'day')} of ${monthOf(lastFrom)}`,
      note: !isWhole
        ? whyNot(from)
        : earlier === null
          ? whyNot(lastFrom)
          : `${money(earlier.cost ?? 0)} at this time of ${monthOf(lastFrom)}`,
    },
    {
      name: `${monthOf(from)} forecast`,
      value: forecast === null ? '–' : money(forecast),
      change: changeOf(forecast, numberOf(lastMonth?.cost), 'less'),
      than: `than ${monthOf(lastFrom)}`,
      note: !isWhole
        ? whyNot(from)
        : perDay === null
          ? 'the forecast needs an hour of spending'
          : `with ${money(perDay)} a day, as in the last ${paceMs < 7 * day ? duration(paceMs) : 'week'}`,
    },
    {
      name: 'Yesterday',
      value: money(yesterday ?? 0),
      change: changeOf(numberOf(yesterday), numberOf(dayBefore), 'less'),
      than: 'than the day before',
      note: `${money(today ?? 0)} today so far`,
    },
    {
      name: monthOf(lastFrom),
      value: lastMonth === null ? '–' : money(lastMonth.cost ?? 0),
      change: null,
      than: '',
      note: lastMonth === null ? whyNot(lastFrom) : plural(lastMonth.requests, 'request'),
    },
  ];
  return html`<dl class="metrics spend-figures">${figures.map(
    ({ name, value, change, than, note }) => html`<div class="metric" key=${name}>
      <dt>${name}${change !== null && html` <span class="change change-${change.tone}" title=${than}>${change.text}</span>`}</dt>
      <dd class="metric-value">${value}</dd>
      <dd class="metric-note" title=${note}>${note}</dd>
    </div>`,
  )}</dl>
    <p class="soft spend-note">Days and months are by UTC, as those of budgets are. ${leftOut(total, ' of this month')}</p>`;
}

function ByDay({ data: { points, all, from, to, total } }) {
  const range = { from, to };
  const { times, lines } = stackOf(points, range, { all, bucketMs: day, of: ({ cost }) => Number(cost ?? 0), top: 8, isCounted: true });
  return html`<section class="card">
    <header><h2>By day</h2></header>
    <${TimeChart}
      title="Spending by day"
      summary=${`${money(total.cost ?? 0)} this month.`}
      times=${times}
      lines=${lines}
      range=${range}
      bucketMs=${day}
      format=${money}
      isByDay=${true}
    />
    <${Legend} lines=${lines} />
  </section>`;
}

function Rows({ data: { by, rows, total, from, lastFrom, earlier } }) {
  const all = Number(total.cost ?? 0);
  const most = Math.max(...rows.map(({ cost }) => Number(cost ?? 0)), 0);
  const href = (value) => hrefOf('/dashboard/logs', new URLSearchParams({ from: dateOf(from), [by]: value ?? '' }));
  return html`<div class="table-scroll spend-rows"><table class="table">
      <thead><tr>
        <th scope="col">${dimensions[by] ?? by}</th><th scope="col" class="num">${monthOf(from)}</th>
        <th scope="col" class="cell-bar"><span class="hidden">Bar</span></th><th scope="col" class="num">Share</th>
        <th scope="col" class="num">${monthOf(lastFrom)}, same days</th><th scope="col" class="num">Change</th>
        <th scope="col" class="num">Requests</th>
      </tr></thead>
      <tbody>${rows.map((row) => html`<${Row} key=${row.value} row=${row} href=${href(row.value)} all=${all} most=${most} />`)}</tbody>
      <tfoot><tr>
        <th scope="row">All</th><td class="num"><b>${aboutSum(money(total.cost ?? 0), total)}</b></td>
        <td class="cell-bar" /><td /><td class="num">${earlier === null ? '–' : money(earlier.cost ?? 0)}</td><td />
        <td class="num">${count(total.requests)}</td>
      </tr></tfoot>
    </table></div>
    ${rows.length >= mostRows && html`<p class="soft">The ${mostRows} that spend most.</p>`}`;
}

function Row({ row, href, all, most }) {
  const { value, cost, before, requests } = row;
  const change = changeOf(numberOf(cost), numberOf(before), 'less');
  return html`<tr>
    <td class="cell-name">${value === '' ? nameOf(value) : html`<a href=${href}>${nameOf(value)}</a>`}</td>
    <td class="num">${aboutSum(money(cost), row)}</td>
    <td class="cell-bar"><i style=${`width:${most === 0 ? 0 : (100 * Number(cost ?? 0)) / most}%`} /></td>
    <td class="num">${cost === null ? '' : percent(Number(cost), all)}</td><td class="num">${before === null ? '–' : money(before)}</td>
    <td class="num">${change === null ? '' : html`<span class="change-${change.tone}">${change.text}</span>`}</td>
    <td class="num">${count(requests)}</td>
  </tr>`;
}
