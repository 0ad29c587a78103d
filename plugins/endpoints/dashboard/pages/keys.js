/**
 * The page Keys: every caller's key by name, what each was used for, and the limits and budgets
 * of all callers. Keys of the store are made and changed here; nobody can show a key again.
 */
import { html, useState } from '../parts/html.js';
import { useData } from '../parts/api.js';
import { Callers } from '../parts/callers.js';
import { Copy } from '../parts/copy.js';
import { aboutSum } from '../parts/estimate.js';
import { ago, compact, count, duration, failsMuch, minute, money, percent, plural } from '../parts/format.js';
import { Icon } from '../parts/icons.js';
import { KeyAudit } from '../parts/key-audit.js';
import { ChangeKey, NewKey, Shown } from '../parts/key-dialog.js';
import { endOf, whyRefused } from '../parts/key-state.js';
import { Limits } from '../parts/limits.js';
import { Head } from '../parts/shell.js';
import { Notice, Unready } from '../parts/states.js';
import { timeNow } from '../parts/time-now.js';

const mostShown = 300;

export function KeysPage() {
  const { data, error, reload } = useData('/api/keys', { everyMs: 30_000 });
  const [open, setOpen] = useState(/** @type {any} */ (null));
  const [made, setMade] = useState(/** @type {any} */ (null));
  const [times, setTimes] = useState(0);
  const [search, setSearch] = useState('');
  const changed = () => {
    reload();
    setTimes((before) => before + 1);
  };
  const close = () => setOpen(null);
  const found = data?.data.filter(({ name }) => name.toLowerCase().includes(search.toLowerCase())) ?? [];
  const hasStore = data !== null && data.store !== 'none';
  const newKey = html`<button type="button" class="button button-main" disabled=${data?.store !== 'good'} onClick=${() => setOpen('new')}>
    New key
  </button>`;
  return html`<${Head} title="Keys">${hasStore && newKey}<//>
    <${Unready} data=${data} error=${error} reload=${reload} rows=${6} />
    ${data?.store === 'away' && html`<${StoreAway} />`}
    ${data?.isOpen && html`<${OpenGateway} data=${data} />`}
    ${
      (data?.data.length > 20 || search !== '') &&
      html`<label class="search-line">
        <span class="hidden">Search keys</span>
        <input type="search" placeholder="Search by name" value=${search} onInput=${(event) => setSearch(event.target.value)} />
      </label>`
    }
    ${data?.data.length > 0 && html`<${Table} found=${found} store=${data.store} change=${setOpen} />`}
    ${open === 'new' && html`<${NewKey} close=${close} changed=${changed} show=${setMade} />`}
    ${open !== null && open !== 'new' && html`<${ChangeKey} of=${open} close=${close} changed=${changed} show=${setMade} />`}
    ${made !== null && html`<${Shown} made=${made} close=${() => setMade(null)} />`}
    <${Limits} />
    ${hasStore && html`<${KeyAudit} key=${times} />`}`;
}

function StoreAway() {
  const known = 'The keys below are good. Keys of the store may be missing, and the times of last use are not known.';
  return html`<${Notice} tone="warn" title="The store of the keys is away">${known} No key can be made or changed until the store is back.<//>`;
}

function OpenGateway({ data: { store, open } }) {
  const cost = open !== null && open.cost !== null && html`, ${aboutSum(money(open.cost), open)}`;
  const asked = open !== null && html` ${plural(open.requests, 'request')} in the last 30 days${cost}.`;
  return html`<${Notice} icon="keys" title="The gateway is open">
      The config lists no keys, so requests need no key. The gateway answers only under names such as localhost and those of server.allowed_hosts.${asked}
    <//>
    <div class="columns">
      <${FirstKey} canMake=${store === 'good'} />
      <${Callers} since="30d" during="in the last 30 days" />
    </div>`;
}

function Table({ found, store, change }) {
  const rowOf = (key) =>
    html`<${Row}
      key=${`${key.source} ${key.name}`}
      of=${key}
      isAway=${store !== 'good'}
      unused=${store === 'away' ? 'not known' : 'never'}
      change=${() => change(key)}
    />`;
  const more = html`<p class="soft">${count(mostShown)} of ${count(found.length)} keys. Search for the others by their names.</p>`;
  return html`<div class="table-scroll"><table class="table keys">
      <thead><tr>
        <th scope="col">Key</th><th scope="col"><span class="hidden">Change</span></th><th scope="col">State</th>
        <th scope="col">Limits</th><th scope="col">Models</th><th scope="col">Metadata</th>
        <th scope="col">Last used</th><th scope="col" class="num">Requests 30 d</th>
        <th scope="col" class="num">Errors</th><th scope="col" class="num">Tokens in, out</th>
        <th scope="col" class="num">p95</th><th scope="col" class="num">Spend 30 d</th>
      </tr></thead>
      <tbody>${found.slice(0, mostShown).map(rowOf)}</tbody>
    </table></div>
    ${found.length > mostShown && more}`;
}

const written = [
  'keys:',
  '  - name: search-team',
  '    key: "${SEARCH_KEY}"',
  '    metadata: { team: search }',
  '    limits: { budget: { dollars: "50", per: week } }',
].join('\n');

const requireKeys = html`<code>require_keys: true</code> under <code>server:</code>`;

/** The next steps where there is no key yet. @param {{ canMake: boolean }} props */
const FirstKey = ({ canMake }) => html`<section class="card steps">
  <header><h2>A key for each caller</h2></header>
  <ol>
    <li>
      <b>Make one.</b> ${canMake ? 'The button “New key” shows it once. Or write it into the config:' : 'Write it into the config:'}
      <div class="code">
        <pre tabindex="0" aria-label="A key in the config"><code>${written}</code></pre>
        <${Copy} text=${written} what="YAML" />
      </div>
    </li>
    <li>
      <b>Give it to its caller.</b> It is sent as a bearer token; <a href="/dashboard/connect">Connect</a> has a snippet for each client.
    </li>
    <li><b>Refuse requests without a key.</b> A key in the config does that by itself. For keys that are made here, set ${requireKeys}.</li>
  </ol>
  <p class="soft">From then on the log, budgets and limits know each caller by name.</p>
</section>`;

function Row({ of, isAway, unused, change }) {
  const { name, source, writtenAt, prefix, models, metadata, limits, lastUsedAt, use } = of;
  return html`<tr>
    <td title=${name}>
      <a class="cell-name" href=${`/dashboard/logs?since=30d&key=${encodeURIComponent(name)}`}>${name}</a>
      <div class="soft">${source === 'yaml' ? writtenAt?.split('/').at(-1) : `store${prefix === null ? '' : ` · ${prefix}…`}`}</div>
    </td>
    <td class="cell-tool">${
      source === 'store' &&
      html`<button type="button" class="button" disabled=${isAway} onClick=${change} aria-label=${`Change ${name}`}>Change</button>`
    }</td>
    <td><${State} of=${of} /></td><td class="wrap">${limitsText(limits)}</td>
    <td class="wrap">${models === null ? html`<span class="soft">all</span>` : models.join(', ')}</td>
    <td class="wrap">${Object.entries(metadata).map(([key, value]) => html`<span class="pill" key=${key}>${key} ${value}</span> `)}</td>
    <td>${lastUsedAt === null ? html`<span class="soft">${unused}</span>` : ago(Date.parse(lastUsedAt))}</td>
    <${Use} use=${use} />
  </tr>`;
}

const soonMs = 7 * 86_400_000;

function State({ of }) {
  const refused = whyRefused(of);
  if (refused === 'not taken') {
    return html`<span class="mark mark-bad" title="The config has a key of this name, and the key of the config counts">
      <${Icon} name="cross" />
      ${refused}
    </span>`;
  }
  if (refused !== null) {
    return html`<span class="mark ${refused === 'disabled' ? 'mark-off' : 'mark-bad'}"><${Icon} name="cross" />${refused}</span>`;
  }
  const end = endOf(of);
  const until = end === Infinity ? null : html` <span class="soft">until ${minute(end, { isWhole: true })}</span>`;
  if (end - timeNow() < soonMs) return html`<span class="mark mark-warn"><${Icon} name="alert" />ends soon</span>${until}`;
  return html`<span class="mark mark-ok"><${Icon} name="check" />${of.keys.length > 1 ? `${of.keys.length} keys` : 'good'}</span>${until}`;
}

function limitsText(limits) {
  if (limits === null) return html`<span class="soft">none</span>`;
  const { requests_per_minute: requests, tokens_per_minute: tokens, concurrent, budget } = limits;
  return [
    requests && `${count(requests)} requests/min`,
    tokens && `${compact(tokens)} tokens/min`,
    concurrent && `${count(concurrent)} requests at one time`,
    budget && `${money(budget.dollars)} per ${budget.per}`,
  ]
    .filter(Boolean)
    .join(', ');
}

const Use = ({ use }) =>
  use === null
    ? html`<td class="num" colspan="5"><span class="soft">not used</span></td>`
    : html`<td class="num">${count(use.requests)}</td>
      <td class="num ${failsMuch(use) ? 'is-bad' : ''}">${percent(use.errors, use.requests)}</td>
      <td class="num">
        ${aboutSum(compact(use.promptTokens), use)}
        <span class="soft">, </span>
        ${aboutSum(compact(use.completionTokens), use)}
      </td>
      <td class="num">${duration(use.latencyP95Ms)}</td><td class="num">${aboutSum(money(use.cost), use)}</td>`;
