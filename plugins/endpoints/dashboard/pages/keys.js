/** The page Keys: the keys of the config by name, what each was used for, and the limits and budgets of all callers. The gateway does not keep the keys themselves. */
import { html } from '../parts/html.js';
import { useData } from '../parts/api.js';
import { aboutSum } from '../parts/estimate.js';
import { compact, count, duration, failsMuch, money, percent } from '../parts/format.js';
import { Limits } from '../parts/limits.js';
import { Head } from '../parts/shell.js';
import { Fault, Notice, Skeleton } from '../parts/states.js';

export function KeysPage() {
  const { data, error, reload } = useData('/api/keys', { everyMs: 30_000 });
  return html`<${Head} title="Keys" />
    ${error !== null && html`<${Fault} error=${error} retry=${reload} />`}
    ${data === null && error === null && html`<${Skeleton} rows=${6} />`}
    ${data?.isOpen && html`<${Notice} icon="keys" title="The gateway is open">The config lists no keys, so everybody who reaches this machine may ask.${data.open === null ? '' : html` ${count(data.open.requests)} requests in the last 30 days, ${aboutSum(money(data.open.cost), data.open)}.`} Keys are written under <code>keys:</code> in the config.<//>`}
    ${data !== null && !data.isOpen && html`<div class="table-scroll"><table class="table keys"><thead><tr><th scope="col">Key</th><th scope="col">Models</th><th scope="col">Metadata</th><th scope="col" class="num">Requests 30 d</th><th scope="col" class="num">Errors</th><th scope="col" class="num">Tokens in</th><th scope="col" class="num">out</th><th scope="col" class="num">p95</th><th scope="col" class="num">Spend 30 d</th><th scope="col" /></tr></thead>
      <tbody>${data.data.map(({ name, models, metadata, use }) => html`<tr key=${name}>
        <td class="cell-name" title=${name}>${name}</td><td class="wrap">${models === null ? html`<span class="soft">all</span>` : models.join(', ')}</td><td class="wrap">${Object.entries(metadata).map(([key, value]) => html`<span class="pill" key=${key}>${key} ${value}</span> `)}</td>
        <${Use} use=${use} />
        <td class="num"><a href=${`/dashboard/logs?since=30d&key=${encodeURIComponent(name)}`}>Logs</a></td></tr>`)}</tbody></table></div>`}
    <${Limits} />`;
}

const Use = ({ use }) => use === null ? html`<td class="num" colspan="6"><span class="soft">not used</span></td>` : html`<td class="num">${count(use.requests)}</td><td class="num ${failsMuch(use) ? 'is-bad' : ''}">${percent(use.errors, use.requests)}</td><td class="num">${aboutSum(compact(use.promptTokens), use)}</td><td class="num">${aboutSum(compact(use.completionTokens), use)}</td><td class="num">${duration(use.latencyP95Ms)}</td><td class="num">${aboutSum(money(use.cost), use)}</td>`;
