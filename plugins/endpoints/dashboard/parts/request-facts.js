/** Details of a request: model and provider, what routing ruled out, metadata, fields of plugins, adjustments, time in plugins. */
import { html } from './html.js';
import { duration, unknown } from './format.js';
import { hrefOf } from './location.js';
import { rangeHolding } from './query.js';
import { Text } from './text.js';

/** @param {{ data: any }} props */
export function RequestFacts({ data: { record } }) {
  const { requestedModel, model, provider, attempts, ruledOut, adjustments, metadata, fields, timings, outcome } = record;
  const last = attempts.at(-1);
  const namesRequests = attempts.some(({ providerRequestId }) => providerRequestId !== undefined);
  const alias = last?.externalId && last.externalId !== model ? `, as ${last.externalId}` : '';
  return html`<h3>Route</h3>
    <dl class="facts">
      <${Fact} name="Asked for">${requestedModel}<//>
      <${Fact} name=${outcome === 'failed' ? 'Asked last' : 'Served by'}>${model === null ? null : `${model} at ${provider}${alias}`}<//>
      <${Fact} name="Why">${whyOf(record)}<//>
    </dl>
    ${
      ruledOut.length > 0 &&
      html`<div class="table-scroll"><table class="table">
        <thead><tr><th scope="col">Ruled out</th><th scope="col">By</th><th scope="col">Why</th></tr></thead>
        <tbody>${ruledOut.map(
          (one, at) => html`<tr key=${at}>
            <td>${one.model} → ${one.provider}</td><td>${one.by}</td><td class="wrap">${one.reason}</td>
          </tr>`,
        )}</tbody>
      </table></div>`
    }
    ${
      attempts.length > 0 &&
      html`<div class="table-scroll"><table class="table">
        <thead><tr>
          <th scope="col">Attempt</th><th scope="col">Model</th><th scope="col">Outcome</th>
          <th scope="col" class="num">Status</th><th scope="col">Error</th>
          ${namesRequests && html`<th scope="col">Provider's request id</th>`}
        </tr></thead>
        <tbody>${attempts.map(
          (one, at) => html`<tr key=${at}>
            <td>${at + 1} ${one.provider}</td><td>${one.externalId}</td><td>${one.outcome}</td>
            <td class="num">${one.status ?? unknown}</td><td class="wrap">${one.error ?? unknown}</td>
            ${namesRequests && html`<td class="wrap">${one.providerRequestId ?? unknown}</td>`}
          </tr>`,
        )}</tbody>
      </table></div>`
    }
    <h3>Metadata</h3>
    ${
      Object.keys(metadata).length === 0
        ? html`<p class="soft">None. Headers that begin with <code>X-Gateway-</code> are kept here.</p>`
        : html`<${Values} values=${metadata} prefix="meta." record=${record} />`
    }
    ${Object.keys(fields).length > 0 && html`<h3>Fields of plugins</h3><${Values} values=${fields} prefix="field." record=${record} />`}
    <h3>What the gateway adjusted</h3>
    ${
      adjustments.length === 0
        ? html`<p class="soft">Nothing: no parameter of the request was changed.</p>`
        : html`<dl class="facts">${adjustments.map(
            ({ parameter, change }) => html`<${Fact} key=${parameter} name=${parameter}>${change}<//>`,
          )}</dl>`
    }
    ${Object.keys(timings).length > 0 && html`<h3>Time in plugins</h3><${Timings} timings=${timings} />`}
    <h3>Record</h3>
    <${Ends} record=${record} />`;
}

/** Metadata, or fields of plugins, each with a link to the requests that have the same value, and to a breakdown. */
function Values({ values, prefix, record }) {
  const asking = askingOf(record);
  return html`<table class="table"><tbody>${Object.entries(values).map(
    ([name, value]) => html`<tr key=${name}>
      <th scope="row">${name}</th><td class="wrap"><${Text} text=${String(value)} /></td>
      <td class="num">
        ${value !== '' && html`<a href=${asking('logs', prefix + name, String(value))}>Filter</a> · `}
        <a href=${asking('breakdown', 'by', prefix + name)}>Breakdown</a>
      </td>
    </tr>`,
  )}</tbody></table>`;
}

/** The slowest first. */
function Timings({ timings }) {
  const rows = Object.entries(timings).sort(([, a], [, b]) => b - a);
  return html`<table class="table"><tbody>${rows.map(
    ([plugin, ms]) => html`<tr key=${plugin}>
      <th scope="row">${plugin}</th><td class="num">${ms < 10 ? `${ms.toFixed(2)} ms` : duration(ms)}</td>
    </tr>`,
  )}</tbody></table>`;
}

/** Addresses of pages about requests like this one, in a range of time that holds it. */
function askingOf({ createdAt }) {
  const range = rangeHolding(Date.parse(createdAt), new URLSearchParams(location.search));
  return (page, name, value) => hrefOf(`/dashboard/${page}`, new URLSearchParams([...range, [name, value]]));
}

function Ends({ record }) {
  const { key, stream, finishReason, nativeFinishReason, clientRequestId, clientAddress, userAgent, path, configHash, outcome } = record;
  const native = nativeFinishReason && nativeFinishReason !== finishReason ? ` (the provider's word: ${nativeFinishReason})` : '';
  return html`<dl class="facts">
    <${Fact} name="Outcome">${outcome}<//>
    <${Fact} name="Finish reason">${finishReason === null ? null : `${finishReason}${native}`}<//>
    <${Fact} name="Key">${key ?? (outcome === 'refused' ? 'no known key' : 'none: the gateway is open')}<//>
    <${Fact} name="Streamed">${stream ? 'yes' : 'no'}<//>
    <${Fact} name="User agent">${userAgent && html`${userAgent} <a href=${askingOf(record)('logs', 'agent', userAgent)}>Filter</a>`}<//>
    <${Fact} name="Client's address">${clientAddress}<//>
    <${Fact} name="Caller's own id">${clientRequestId}<//>
    <${Fact} name="Path">${path}<//>
    <${Fact} name="Config">${configHash}<//>
  </dl>`;
}

const Fact = ({ name, children }) => html`<div><dt>${name}</dt><dd>${children ?? unknown}</dd></div>`;

function whyOf({ requestedModel, model, provider, attempts, ruledOut }) {
  if (model === null) return 'no provider was asked';
  const others = attempts.slice(0, -1);
  const failed = others.filter(({ outcome }) => outcome !== 'outrun');
  const outrun = others.filter(({ outcome }) => outcome === 'outrun');
  const words = [];
  if (requestedModel !== model) words.push(`"${requestedModel}" led to ${model}`);
  if (ruledOut.length > 0) words.push(`${ruledOut.length} ruled out`);
  if (failed.length > 0) words.push(`${failed.map((one) => `${one.provider} (${one.outcome})`).join(', ')} failed before`);
  if (outrun.length > 0) words.push(`${provider} was quicker than ${outrun.map((one) => one.provider).join(', ')}`);
  if (others.length === 0) words.push(`${provider} came first in the order of the policy`);
  return words.join('; ');
}
