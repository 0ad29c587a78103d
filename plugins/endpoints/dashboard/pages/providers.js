/** The page Providers: whether each is on, and why not; its figures of the last day; its last success and its last failure. */
import { html } from '../parts/html.js';
import { useData } from '../parts/api.js';
import { aboutSum } from '../parts/estimate.js';
import { ago, count, duration, failsMuch, money, percent, plural, unknown } from '../parts/format.js';
import { Icon } from '../parts/icons.js';
import { Availability, wordsOfTried, Worst } from '../parts/availability.js';
import { TrialMark, useProviderTest } from '../parts/provider-test.js';
import { Head } from '../parts/shell.js';
import { Unready } from '../parts/states.js';
import { RestingTargets } from '../parts/targets.js';

export function ProvidersPage() {
  const { data, error, reload } = useData('/api/providers', { everyMs: 10_000 });
  const on = data?.data.filter(({ isOn }) => isOn) ?? [];
  const off = data?.data.filter(({ isOn }) => !isOn) ?? [];
  return html`<${Head} title="Providers" />
    <${Unready} data=${data} error=${error} reload=${reload} rows=${8} />
    ${
      data !== null &&
      html`<div class="table-scroll"><table class="table providers">
          <thead><tr>
            <th scope="col">Provider</th><th scope="col">State</th><th scope="col"><span class="hidden">Test</span></th>
            <th scope="col">Attempts 24 h</th><th scope="col" class="num">Failed</th>
            <th scope="col" class="num">Answered 24 h</th><th scope="col" class="num">Models</th>
            <th scope="col" class="num">p50</th><th scope="col" class="num">p95</th>
            <th scope="col" class="num">First token</th><th scope="col" class="num">Spend 24 h</th>
            <th scope="col">Since the start</th><th scope="col">Trains on data</th>
          </tr></thead>
          <tbody>${on.map(
            (provider) => html`<${Row} key=${provider.id} provider=${provider} range=${data} bucketMs=${data.bucketMs} tested=${reload} />`,
          )}</tbody>
        </table></div>
        <${RestingTargets} />
        ${
          off.length > 0 &&
          html`<h2 class="section">Off</h2>
            <p class="soft">${whyOff} Set the variable and restart the gateway, or write it into .env.</p>
            <ul class="off-list">${off.map(
              ({ id, missing, models }) => html`<li key=${id}>
                <b>${id}</b>
                <code>${missing}</code>
                <span class="soft">${plural(models, 'model')}</span>
              </li>`,
            )}</ul>`
        }`
    }`;
}

const whyOff = 'A provider whose variable is not set is off; requests for its models go to other providers, or are answered with 503.';

function Row({ provider: { id, dialect, baseUrl, models, use, tried, seen, trainsOnData }, range, bucketMs, tested }) {
  const [trial, run] = useProviderTest(id);
  const isFailing = seen !== null && seen.lastFailedAt !== null && (seen.lastAnsweredAt ?? 0) < seen.lastFailedAt;
  const failed = tried === null ? null : percent(tried.errors, tried.requests);
  const answeredHref = `/dashboard/logs?provider=${encodeURIComponent(id)}&status=ok`;
  return html`<tr>
      <td title=${`${id}${baseUrl ? `\n${baseUrl}` : ''}`}>
        <span class="cell-name">${id}</span>
        <div class="soft">${dialect}${baseUrl && ` · ${baseUrl}`}</div>
      </td>
      <td>${
        isFailing
          ? html`<span class="mark mark-warn" title=${seen.lastFailure}><${Icon} name="alert" />last try failed</span>`
          : html`<span class="mark mark-ok"><${Icon} name="check" />on</span>`
      }</td>
      <td class="cell-tool">
        <button
          type="button"
          class="button"
          disabled=${trial?.isRunning}
          onClick=${() => run().then(tested)}
          aria-label=${`Test ${id}`}
          title="One small request"
        >Test</button>
      </td>
      <td class="cell-strip">${
        tried === null
          ? html`<span class="soft">none</span>`
          : html`<a href=${`/dashboard/logs?tried=${encodeURIComponent(id)}`} title=${wordsOfTried(tried)}>
              <${Availability} tried=${tried} range=${range} bucketMs=${bucketMs} />
            </a>
            <${Worst} tried=${tried} bucketMs=${bucketMs} />`
      }</td>
      <td class="num ${failed !== null && failsMuch(tried) ? 'is-bad' : ''}">${failed ?? unknown}</td>
      <td class="num">${use === null ? unknown : html`<a href=${answeredHref}>${count(use.requests - use.errors)}</a>`}</td>
      <td class="num">${count(models)}</td><td class="num">${duration(use?.latencyP50Ms)}</td>
      <td class="num">${duration(use?.latencyP95Ms)}</td><td class="num">${duration(use?.timeToFirstTokenP50Ms)}</td>
      <td class="num">${use === null ? unknown : aboutSum(money(use.cost), use)}</td>
      <td class="wrap">${
        seen === null
          ? html`<span class="soft">not tried yet</span>`
          : html`answered ${ago(seen.lastAnsweredAt)}
            ${seen.lastFailedAt !== null && html`, <span title=${seen.lastFailure}>failed ${ago(seen.lastFailedAt)}</span>`}`
      }</td>
      <td>${trainsOnData === null ? html`<span class="soft">not said</span>` : trainsOnData ? 'yes' : 'no'}</td>
    </tr>
    <tr class="opened trial ${trial === null ? 'is-empty' : ''}">
      <td colspan="13"><div role="status">${trial !== null && html`<${TrialMark} trial=${trial} />`}</div></td>
    </tr>`;
}
